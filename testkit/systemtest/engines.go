package systemtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"cpor/engine"
	_ "cpor/engine/all" // the engines
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

// Engine is a way to explore systems that promises to find every violation and
// every deadlock.
type Engine struct {
	Name string
	// Finite engines need systems whose executions end.
	Finite bool
	// Run explores a system and collects all violations. limit bounds the work,
	// so that an outcome may be incomplete. The error is errors.ErrUnsupported
	// if the engine refuses the system.
	Run func(sys system.System, workers int, limit uint64) (*Outcome, error)
}

// Engines returns every registered engine and reduction that promises to find all
// violations and deadlocks, each also with each of the values that its flags are to
// be tried with. The first is the one that reduces nothing and stores states.
func Engines() []Engine {
	var es []Engine
	for _, e := range engine.Entries("") {
		if e.Preserves&engine.Violations == 0 || e.Preserves&engine.Deadlocks == 0 {
			continue
		}
		with := []Engine{tried(e, nil, "")}
		for _, f := range e.Flags {
			for _, s := range f.About().Try {
				with = append(with, tried(e, f, s))
			}
		}
		if !e.Reduces && engine.LookupMode(e.Mode).Default {
			es = append(with, es...)
		} else {
			es = append(es, with...)
		}
	}
	return es
}

// tried returns an engine with a flag, or without one for nil.
func tried(e *engine.Entry, f engine.Flag, s string) Engine {
	name := e.Mode + " " + e.Name
	if f != nil {
		name += " -" + f.About().Name + " " + s
	}
	return Engine{Name: name, Finite: e.Needed(engine.FiniteExecutions),
		Run: func(sys system.System, workers int, limit uint64) (*Outcome, error) {
			if e.Reduces && system.WhyIrreducible(sys, false) != "" || e.Unmet(sys) != nil {
				return nil, errors.ErrUnsupported
			}
			t := &engine.Task{System: sys, Flags: new(engine.Values)}
			t.Options = engine.Options{Workers: workers, All: true, MaxViolations: 1 << 20,
				MaxStates: limit, MaxTransitions: 100 * limit}
			if f != nil {
				if err := t.Flags.Set(f, s); err != nil {
					return nil, err
				}
			}
			if e.Check != nil {
				if err := e.Check(t.Flags, &t.Options); err != nil {
					if f != nil { // it refuses the flag
						err = errors.ErrUnsupported
					}
					return nil, err
				}
			}
			res, err := e.Run(context.Background(), t)
			var no *engine.Refusal
			if errors.As(err, &no) {
				return nil, errors.ErrUnsupported
			}
			if err != nil {
				return nil, err
			}
			return outcome(e, res), nil
		}}
}

func outcome(e *engine.Entry, res *engine.Result) *Outcome {
	out := &Outcome{Verdict: res.Verdict, Counts: map[string]uint64{}}
	if !res.Exhaustive {
		out.Verdict = engine.Incomplete
		return out
	}
	for _, v := range res.Violations {
		if v.Kind == system.Deadlock {
			out.Deadlocks++
			continue
		}
		out.Violations = append(out.Violations, fmt.Sprintf("%s %s:%d:%d", v.Kind, v.Pos.File,
			v.Pos.Line, v.Pos.Col))
	}
	slices.Sort(out.Violations)
	for _, c := range []struct {
		name  string
		set   engine.CounterSet
		count uint64
	}{
		{"states", engine.CountStates, res.States},
		{"transitions", engine.CountTransitions, res.Transitions},
		{"attempts", engine.CountAttempts, res.Attempts},
		{"ended loops", engine.CountLoops, res.EndedLoops},
		{"blocked loops", engine.CountLoops, res.BlockedLoops},
		{"executions", engine.CountExecutions, res.Executions},
	} {
		if e.Stable&c.set != 0 {
			out.Counts[c.name] = c.count
		}
	}
	return out
}

// Agree runs the engines on a system, each with every one of the numbers of
// workers, and compares verdicts, violations, the number of deadlocks, and for
// each engine its counts. limit bounds the states of one run; a run that meets
// it is compared with nothing. finite says that the system's executions end.
// It returns how many runs were compared with the first engine's.
func Agree(t testing.TB, sys system.System, engines []Engine, finite bool, limit uint64,
	workers ...int) int {
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
			deadlocks := got.Deadlocks == want.Deadlocks ||
				unnumbered(sys, e) && 0 < got.Deadlocks && got.Deadlocks < want.Deadlocks
			if got.Verdict != want.Verdict || !slices.Equal(got.Violations, want.Violations) ||
				!deadlocks {
				t.Errorf("%s with %d workers: %v, violations %v, %d deadlocks; %s: %v, "+
					"violations %v, %d deadlocks",
					e.Name, n, got.Verdict, got.Violations, got.Deadlocks, engines[0].Name,
					want.Verdict, want.Violations, want.Deadlocks)
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

// unnumbered tells whether an engine finds only one of several deadlocks that differ in the numbers
// of threads, and in threads that have ended ([system.Unnumbered]).
func unnumbered(sys system.System, e Engine) bool {
	sets := strings.HasPrefix(e.Name, "stateful ample") ||
		strings.HasPrefix(e.Name, "stateful auto") || strings.HasPrefix(e.Name, "auto ")
	return sets && sys.NewMachine().Capabilities().Unnumbered != nil
}
