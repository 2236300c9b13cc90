package lockset_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cpor/testkit/sample"

	"cpor/engine"
	"cpor/engine/lockset"
	"cpor/engine/search"
	"cpor/engine/search/composed"
	"cpor/engine/search/full"
	"cpor/engine/stateless"
	"cpor/frontend/model"
	"cpor/system"
	"cpor/testkit/oracle"
	"cpor/testkit/racetest"
	"cpor/testkit/resumetest"
)

// way is a way to search that a checkpoint has to keep.
type way struct {
	name   string
	o      lockset.Options
	c      *composed.Options // nil: full
	counts bool              // states and transitions do not depend on the order
	states bool              // the states do not
}

var ways = []way{
	{name: "ld", o: lockset.Options{Rule: lockset.LD}, counts: true},
	{name: "ld'", o: lockset.Options{Rule: lockset.LDPrime}},
	{name: "hb", o: lockset.Options{Rule: lockset.HB}, counts: true},
	{name: "locks", o: lockset.Options{Rule: lockset.LDPrime}, c: &composed.Options{}},
	{name: "invisible first", o: lockset.Options{Rule: lockset.LDPrime}, c: &composed.Options{
		InvisibleFirst: true}},
	{name: "persistent+sleep", o: lockset.Options{Rule: lockset.LDPrime, Dependences: true},
		c: &composed.Options{Persistent: true, Sleep: true}},
	{name: "sleep", o: lockset.Options{Rule: lockset.None}, c: &composed.Options{Sleep: true},
		states: true},
}

func (w way) factory(sys system.System) (search.Factory, error) {
	if w.c != nil {
		return composed.Factory(sys, *w.c)
	}
	return full.Factory(sys), nil
}

// told is what a search has to say of a program, however often it was interrupted.
// Which access of a race is the first one depends on the order.
func told(r *engine.Result, counts bool) string {
	var lines []string
	for _, v := range r.Violations {
		lines = append(lines, fmt.Sprintf("%s of %s; with a trace: %v", v.Kind, v.Object,
			v.Trace != nil))
	}
	slices.Sort(lines)
	head := fmt.Sprintf("%v %v\n", r.Verdict, r.Exhaustive)
	if counts {
		head += fmt.Sprintf("%d states, %d transitions, %d executions\n", r.States, r.Transitions,
			r.Executions)
	}
	return head + strings.Join(slices.Compact(lines), "\n")
}

// randomProgram returns a program with races, or one with locks that mostly protect.
func randomProgram(t *testing.T, seed uint64) system.System {
	t.Helper()
	text := racetest.Generate(seed, 2+int(seed%2), 4).Text()
	if seed%2 == 1 {
		text = oracle.GenerateLocks(seed, oracle.LockConfig{Threads: 3, Statements: 4, Awaits: true,
			Choices: true, Breach: 10})
	}
	m, err := model.Parse("random.model", text, model.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return m.System()
}

// TestResume interrupts searches that remember locks and orders: the result is that of a
// search that was never interrupted.
func TestResume(t *testing.T) {
	seeds := sample.Of[uint64](8, 8, 300)
	interrupted, again := 0, 0
	for seed := range seeds {
		sys := randomProgram(t, seed)
		if len(sys.Initial()) == 0 {
			continue
		}
		for _, w := range ways {
			r := rand.New(rand.NewPCG(seed, 14))
			explore := func(ctx context.Context, e engine.Options) (*engine.Result, error) {
				_, res, err := lockset.Run(ctx, sys, w.o, w.factory, search.Options{Options: e})
				if err != nil {
					return nil, err
				}
				return &res.Result, nil
			}
			o := engine.Options{Workers: 2, All: true, MaxViolations: 1000, KeepTraces: true,
				MaxStates: 20_000}
			want, err := explore(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			if want.Reason != "" {
				continue // too large
			}
			c := resumetest.Chain{R: r, Options: o, Workers: 3}
			c.Options.MaxStates = 0
			limit := uint64(0)
			c.Limit = func(e *engine.Options) {
				limit += 1 + r.Uint64N(1+want.States/2)
				e.MaxStates = limit
			}
			var got *engine.Result
			c.Run = func(ctx context.Context, e engine.Options) (*engine.Result, error) {
				var err error
				got, err = explore(ctx, e)
				return got, err
			}
			n := c.Explore(t)
			interrupted += n
			if len(want.Violations) > 0 && n > 0 {
				again++
			}
			if w.states && got.States != want.States {
				t.Errorf("seed %d, %s, interrupted %d times: %d states, want %d", seed, w.name, n,
					got.States, want.States)
			}
			if got, want := told(got, w.counts), told(want, w.counts); got != want {
				t.Errorf("seed %d, %s, interrupted %d times:\n%s\nwant\n%s", seed, w.name, n, got,
					want)
			}
		}
	}
	t.Logf("%d times interrupted, %d searches with violations", interrupted, again)
	if interrupted < 2*int(seeds) || again < int(seeds)/4 {
		t.Errorf("only %d times interrupted, %d searches with violations", interrupted, again)
	}
}

// TestResumeUnstored is TestResume for searches that store no states.
func TestResumeUnstored(t *testing.T) {
	seeds := sample.Of[uint64](8, 8, 300)
	interrupted, compared := 0, 0
	for seed := range seeds {
		plain := randomProgram(t, seed)
		if len(plain.Initial()) == 0 {
			continue
		}
		r := rand.New(rand.NewPCG(seed, 15))
		rule, so := lockset.LDPrime, stateless.Options{Reduction: stateless.DPOR}
		switch seed / 2 % 4 {
		case 0:
			rule = lockset.HB
		case 1:
			so.Composed = true
		case 2:
			so.InvisibleFirst, so.Reduction = true, stateless.PersistentSleep
		case 3:
			rule, so.Reduction = lockset.LD, stateless.Sleep
		}
		sys, err := lockset.New(plain, lockset.Options{Rule: rule, Dependences: true})
		if err != nil {
			t.Fatal(err)
		}
		so.Options = engine.Options{Workers: 1, All: true, MaxViolations: 1000, KeepTraces: true,
			MaxTransitions: 20_000}
		want, err := stateless.Run(context.Background(), sys, so)
		if err != nil {
			t.Fatal(err)
		}
		if want.Reason != "" {
			continue // too large
		}
		c := resumetest.Chain{R: r, Options: so.Options}
		c.Options.MaxTransitions = 0
		limit := uint64(0)
		c.Limit = func(e *engine.Options) {
			limit += 1 + r.Uint64N(1+want.Transitions/4)
			e.MaxTransitions = limit
		}
		var got *stateless.Result
		c.Run = func(ctx context.Context, e engine.Options) (*engine.Result, error) {
			// As in another process: nothing is known of the numbers of before.
			sys, err := lockset.New(plain, lockset.Options{Rule: rule, Dependences: true})
			if err != nil {
				return nil, err
			}
			so := so
			so.Options = e
			if got, err = stateless.Run(ctx, sys, so); err != nil {
				return nil, err
			}
			return &got.Result, nil
		}
		interrupted += c.Explore(t)
		compared++
		if got, want := told(&got.Result, true), told(&want.Result, true); got != want {
			t.Errorf("seed %d, %+v: interrupted:\n%s\nwant\n%s", seed, so, got, want)
		}
	}
	t.Logf("%d times interrupted, %d compared", interrupted, compared)
	if compared < int(seeds)/3 || interrupted < compared/4 {
		t.Errorf("only %d times interrupted, %d compared", interrupted, compared)
	}
}

// TestResumeDamage gives a search that remembers locks what is cut off.
func TestResumeDamage(t *testing.T) {
	sys := randomProgram(t, 4)
	var file []byte
	o := search.Options{Options: engine.Options{Workers: 1, MaxStates: 5, All: true}}
	o.Checkpoint = resumetest.Last(t, &file)
	explore := func() error {
		_, _, err := lockset.Run(t.Context(), sys, lockset.Options{Rule: lockset.HB},
			func(sys system.System) (search.Factory, error) { return full.Factory(sys), nil }, o)
		return err
	}
	if err := explore(); err != nil || file == nil {
		t.Fatal(err)
	}
	whole := slices.Clone(file)
	resumetest.Refuses(t, whole, func(from io.Reader) error {
		o.Checkpoint.From = from
		return explore()
	})
}
