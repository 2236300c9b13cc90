package oracle_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"cpor/engine"
	"cpor/frontend"
	"cpor/frontend/model"
	"cpor/testkit/oracle"
)

// neverExecuted is what a complete search by an engine has not executed of a model: all
// of it, or what is known without engine.Waits. The second result says why there is no
// such search.
func neverExecuted(e *engine.Entry, text string, waits bool) (never []string, over string,
	err error) {
	m, err := model.Parse("generated.model", text, model.Options{})
	if err != nil {
		return nil, "", err
	}
	if err := e.Unmet(m.System()); err != nil {
		return nil, err.Error(), nil
	}
	t := &engine.Task{
		System: m.System(),
		Options: engine.Options{Workers: 2, All: true, KeepTraces: true, MaxViolations: 1 << 20,
			MaxTransitions: maxWorkUnknown, MaxStates: maxWorkUnknown},
		Flags: new(engine.Values),
	}
	if e.Check != nil {
		if err := e.Check(t.Flags, &t.Options); err != nil {
			return nil, "", err
		}
	}
	res, err := e.Run(context.Background(), t)
	var no *engine.Refusal
	switch {
	case errors.As(err, &no):
		return nil, err.Error(), nil
	case err != nil:
		return nil, "", err
	case !res.Exhaustive:
		return nil, res.Reason, nil
	}
	for _, n := range m.Coverage().Never {
		if waits || !n.Waiting {
			never = append(never, describe(n))
		}
	}
	return never, "", nil
}

func describe(n frontend.Never) string {
	return fmt.Sprintf("%d:%d: %s: %s %s", n.Pos.Line, n.Pos.Col, n.Of, n.Text, n.What)
}

// TestExecuted compares engines that promise to execute everything executable with the full search:
// what they never executed must be the same.
func TestExecuted(t *testing.T) {
	var full *engine.Entry
	var others []*engine.Entry
	for _, e := range engine.Entries("") {
		switch {
		case e.Preserves&engine.Steps == 0:
		case e.Preserves&engine.States != 0 && e.Counts&engine.CountStates != 0:
			full = e
		default:
			others = append(others, e)
		}
	}
	if full == nil || len(others) < 7 {
		t.Fatalf("only %d engines promise to execute everything", len(others))
	}
	n := models(35, 35, 140)
	compared, found := make([]int, len(others)), 0
	for seed := uint64(1); seed <= uint64(n); seed++ {
		text := oracle.Generate(seed, configs[seed%uint64(len(configs))])
		want := map[bool][]string{}
		over := ""
		for _, waits := range []bool{false, true} {
			var err error
			if want[waits], over, err = neverExecuted(full, text, waits); err != nil {
				over = err.Error() // the front end refuses it
			}
		}
		if over != "" {
			continue
		}
		if len(want[true]) > 0 {
			found++
		}
		for i, e := range others {
			waits := e.Preserves&engine.Waits != 0
			got, over, err := neverExecuted(e, text, waits)
			switch {
			case err != nil:
				t.Fatalf("seed %d, %s %s: %v", seed, e.Mode, e.Name, err)
			case over != "":
			case !slices.Equal(got, want[waits]):
				t.Fatalf("seed %d: %s %s has never executed\n%q\nthe full search\n%q\n%s", seed,
					e.Mode, e.Name, got, want[waits], text)
			default:
				compared[i]++
			}
		}
	}
	for i, e := range others {
		if compared[i] < int(n)/20 {
			t.Errorf("%s %s was compared on only %d of %d models", e.Mode, e.Name, compared[i], n)
		}
	}
	if found < int(n)/4 {
		t.Errorf("something is never executed in only %d of %d models", found, n)
	}
}
