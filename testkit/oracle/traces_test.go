package oracle_test

import (
	"context"
	"strings"
	"testing"

	"cpor/testkit/sample"

	"cpor/engine"
	"cpor/engine/lockset"
	"cpor/frontend/model"
	"cpor/testkit/oracle"
	"cpor/trace"
	"cpor/trace/draw"
)

// tables returns the tables of the traces that a search by an engine has found, and how
// many of them depend on what it met. The second result says why there is no search.
func tables(t *testing.T, e *engine.Entry, text string, o engine.Options) (tables []string,
	local int, over string) {
	m, err := model.Parse("generated.model", text, model.Options{})
	if err != nil {
		return nil, 0, err.Error()
	}
	if err := e.Unmet(m.System()); err != nil {
		return nil, 0, err.Error()
	}
	task := &engine.Task{System: m.System(), Options: o, Flags: new(engine.Values)}
	if e.Check != nil {
		if err := e.Check(task.Flags, &task.Options); err != nil {
			return nil, 0, err.Error()
		}
	}
	res, err := e.Run(context.Background(), task)
	switch {
	case err != nil:
		return nil, 0, err.Error()
	case o.All && (!res.Exhaustive || res.MoreViolations > 0):
		return nil, 0, "not everything was found"
	}
	sys := m.System()
	if res.System != nil {
		sys = res.System
	}
	for _, v := range res.Violations {
		if v.Trace == nil || v.Account != nil {
			return nil, 0, "no trace of its own"
		}
		if v.Kind == lockset.Discipline {
			return nil, 0, "the other engines do not look for it, and several workers may meet " +
				"it before what they do"
		}
		rec, err := v.Trace.Record(sys)
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", e.Mode, e.Name, err, text)
		}
		if v.Minimal < trace.FewestSwitches {
			local++
		}
		var b strings.Builder
		if err := draw.Table(&b, rec, trace.TableOptions{Width: 80}); err != nil {
			t.Fatal(err)
		}
		tables = append(tables, b.String())
	}
	return tables, local, ""
}

// TestSameTraces: what engines print of the violations of generated models is the same
// with any number of workers, and for those that promise to find every violation, the
// same as with the full search. With All every violation has to have the same trace.
func TestSameTraces(t *testing.T) {
	n := sample.Of[uint64](5, 5, 20)
	var es []*engine.Entry
	for _, e := range engine.Entries("") {
		if e.Preserves&engine.Violations != 0 && e.Preserves&engine.Deadlocks != 0 &&
			e.Takes&engine.TakesAll != 0 {
			es = append(es, e)
		}
	}
	if len(es) < 5 {
		t.Fatalf("only %d engines", len(es))
	}
	compared, of := 0, 0
	for seed := uint64(1); seed <= n; seed++ {
		text := oracle.Generate(seed, configs[seed%uint64(len(configs))])
		for _, all := range []bool{false, true} {
			var want []string
			first := ""
			for i, e := range es {
				for _, workers := range []int{1, 2, 8, 64}[:1+3*int((seed+uint64(i))%2)] {
					o := engine.Options{Workers: workers, All: all, MaxStates: 3000,
						MaxTransitions: 30_000}
					got, local, over := tables(t, e, text, o)
					if over != "" || local > 0 || !all && len(got) == 0 {
						continue
					}
					if first == "" {
						first, want = e.Mode+" "+e.Name, got
						of += len(got)
						continue
					}
					if a, b := strings.Join(want, "\n"), strings.Join(got, "\n"); a != b {
						t.Fatalf("seed %d, all %v: %s:\n%s\n%s %s with %d workers:\n%s\n%s", seed,
							all, first, a, e.Mode, e.Name, workers, b, text)
					}
					compared++
				}
			}
		}
	}
	t.Logf("%d searches compared, of %d traces", compared, of)
	if of < int(n) {
		t.Errorf("only %d traces were compared", of)
	}
}
