package systemtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"cpor/cartesian"
	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/composed"
	"cpor/engine/search/full"
	"cpor/engine/stateless"
	"cpor/lockset"
	"cpor/system"
)

// Outcome is what an engine found out about a system, as far as it promises
// that others find out the same.
type Outcome struct {
	Verdict    engine.Verdict
	Violations []string // kind and place, without deadlocks, in order
	Deadlocks  int      // different ones
	// Counts are the figures that the engine promises to be the same with
	// any number of workers.
	Counts map[string]uint64
}

// Engine is a way to explore systems that promises a verdict.
type Engine struct {
	Name string
	// Finite engines need systems whose executions end.
	Finite bool
	// Run explores a system and collects all violations. limit bounds the work,
	// so that an outcome may be incomplete. The error is errors.ErrUnsupported
	// if the engine refuses the system.
	Run func(sys system.System, workers int, limit uint64) (*Outcome, error)
}

// Engines returns the engines that promise verdicts. The first is the one that
// reduces nothing.
func Engines() []Engine {
	es := []Engine{
		{Name: "full", Run: func(sys system.System, workers int, limit uint64) (*Outcome, error) {
			return stateful(sys, full.Factory(sys), workers, limit)
		}},
	}
	for _, name := range cartesian.OrderNames() {
		order, _ := cartesian.ParseOrder(name)
		es = append(es, Engine{Name: "cartesian " + name, Run: func(sys system.System, workers int, limit uint64) (*Outcome, error) {
			return stateful(sys, func() search.Expander {
				return cartesian.New(sys, cartesian.Options{Order: order, Seed: 1})
			}, workers, limit)
		}})
	}
	es = append(es, Engine{Name: "locks", Finite: true, Run: locks})
	for _, name := range stateless.ReductionNames() {
		reduction, _ := stateless.ParseReduction(name)
		for _, undo := range []stateless.Undo{stateless.Log, stateless.Replay} {
			es = append(es, Engine{Name: fmt.Sprintf("stateless %s, undo by %s", name, undo), Finite: true, Run: func(sys system.System, workers int, limit uint64) (*Outcome, error) {
				return stateLess(sys, reduction, undo, workers, limit)
			}})
		}
	}
	return es
}

func stateful(sys system.System, f search.Factory, workers int, limit uint64) (*Outcome, error) {
	res, err := search.Run(context.Background(), sys, f, search.Options{Options: engine.Options{Workers: workers, All: true, MaxViolations: 1 << 20, MaxStates: limit}})
	if err != nil {
		return nil, err
	}
	out := outcome(res.Verdict, res.Violations)
	if res.Exhaustive {
		out.Counts["states"], out.Counts["transitions"] = res.States, res.Transitions
	} else {
		out.Verdict = engine.Incomplete
	}
	return out, nil
}

// locks is the lock-based reduction. It promises something about systems that
// keep the locking discipline, which it checks.
func locks(sys system.System, workers int, limit uint64) (*Outcome, error) {
	factory := func(s system.System) (search.Factory, error) { return composed.Factory(s, composed.Options{}) }
	if _, err := lockset.New(sys, lockset.Options{Rule: lockset.LDPrime}); err != nil {
		return nil, errors.ErrUnsupported
	}
	if _, err := factory(sys); err != nil {
		return nil, errors.ErrUnsupported
	}
	_, res, err := lockset.Run(context.Background(), sys, lockset.Options{Rule: lockset.LDPrime}, factory, search.Options{Options: engine.Options{Workers: workers, All: true, MaxViolations: 1 << 20, MaxStates: limit}})
	if err != nil {
		return nil, err
	}
	for _, v := range res.Violations {
		if v.Kind == lockset.Discipline {
			return nil, errors.ErrUnsupported
		}
	}
	out := outcome(res.Verdict, res.Violations)
	if !res.Exhaustive {
		out.Verdict = engine.Incomplete
	}
	return out, nil
}

func stateLess(sys system.System, r stateless.Reduction, undo stateless.Undo, workers int, limit uint64) (*Outcome, error) {
	res, err := stateless.Run(context.Background(), sys, stateless.Options{Options: engine.Options{Workers: workers, All: true, MaxViolations: 1 << 20, MaxTransitions: 100 * limit}, Reduction: r, Undo: undo})
	if err != nil {
		return nil, err
	}
	out := outcome(res.Verdict, res.Violations)
	switch {
	case !res.Exhaustive:
		out.Verdict = engine.Incomplete
	case r == stateless.None || r == stateless.DPOR:
		out.Counts["executions"] = res.Executions
	}
	return out, nil
}

func outcome(v engine.Verdict, vs []engine.Finding) *Outcome {
	out := &Outcome{Verdict: v, Counts: map[string]uint64{}}
	for _, v := range vs {
		if v.Kind == system.Deadlock {
			out.Deadlocks++
			continue
		}
		out.Violations = append(out.Violations, fmt.Sprintf("%s %s:%d:%d", v.Kind, v.Pos.File, v.Pos.Line, v.Pos.Col))
	}
	slices.Sort(out.Violations)
	return out
}

// Agree runs the engines on a system, each with every one of the numbers of
// workers, and compares verdicts, violations, the number of deadlocks, and for
// each engine its counts. limit bounds the states of one run; a run that meets
// it is compared with nothing. finite says that the system's executions end.
// It returns how many runs were compared with the first engine's.
func Agree(t testing.TB, sys system.System, engines []Engine, finite bool, limit uint64, workers ...int) int {
	t.Helper()
	var want *Outcome
	compared := 0
	for _, e := range engines {
		if e.Finite && !finite {
			continue
		}
		var counts map[string]uint64
		for _, n := range workers {
			got, err := e.Run(sys, n, limit)
			switch {
			case errors.Is(err, errors.ErrUnsupported):
				continue
			case err != nil:
				t.Errorf("%s with %d workers: %v", e.Name, n, err)
				continue
			case got.Verdict == engine.Incomplete:
				continue
			}
			if want == nil {
				if e.Name != engines[0].Name {
					return 0 // nothing to compare with
				}
				want = got
			}
			compared++
			if got.Verdict != want.Verdict || !slices.Equal(got.Violations, want.Violations) || got.Deadlocks != want.Deadlocks {
				t.Errorf("%s with %d workers: %v, violations %v, %d deadlocks; %s: %v, violations %v, %d deadlocks",
					e.Name, n, got.Verdict, got.Violations, got.Deadlocks, engines[0].Name, want.Verdict, want.Violations, want.Deadlocks)
			}
			if counts == nil {
				counts = got.Counts
			} else if !maps.Equal(counts, got.Counts) {
				t.Errorf("%s: %v with %d workers, before %v", e.Name, got.Counts, n, counts)
			}
		}
	}
	return compared
}
