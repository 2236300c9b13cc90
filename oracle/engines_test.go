package oracle_test

import (
	"context"
	"fmt"
	"testing"

	"cpor/cartesian"
	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/engine/stateless"
	"cpor/frontend/model"
	"cpor/oracle"
	"cpor/statestore"
	"cpor/system"
)

// subject is a way to explore a system that is held to brute force.
type subject struct {
	name string
	// most is the number of interleavings up to which it takes a program.
	most float64
	run  func(sys system.System) (*oracle.Reach, error)
}

// always is for engines whose work does not grow with the interleavings.
const always = 1e300

// engines is the table of all engines; a new one is one line.
var engines = []subject{
	stateful("full, 1 worker", full.Factory, search.Options{Options: engine.Options{Workers: 1}}),
	stateful("full, 4 workers", full.Factory, search.Options{Options: engine.Options{Workers: 4}}),
	stateful("full, plain store", full.Factory, search.Options{Options: engine.Options{Workers: 2}, Store: statestore.Plain}),
	stateful("full, compact store", full.Factory, search.Options{Options: engine.Options{Workers: 1}, Store: statestore.Compact}),
	stateful("cartesian, 1 worker", reduced(cartesian.Options{}), search.Options{Options: engine.Options{Workers: 1}}),
	stateful("cartesian, 4 workers", reduced(cartesian.Options{}), search.Options{Options: engine.Options{Workers: 4}}),
	stateful("cartesian, short prefixes", reduced(cartesian.Options{MaxLength: 2}), search.Options{Options: engine.Options{Workers: 1}}),
	stateful("cartesian, reverse", reduced(cartesian.Options{Order: cartesian.Reverse}), search.Options{Options: engine.Options{Workers: 1}}),
	stateful("cartesian, depth first", reduced(cartesian.Options{Order: cartesian.DepthFirst}), search.Options{Options: engine.Options{Workers: 1}}),
	stateful("cartesian, reverse depth first", reduced(cartesian.Options{Order: cartesian.ReverseDepthFirst}), search.Options{Options: engine.Options{Workers: 1}}),
	stateful("cartesian, random", reduced(cartesian.Options{Order: cartesian.Random, Seed: 7}), search.Options{Options: engine.Options{Workers: 2}}),
	stateful("cartesian, plain store", reduced(cartesian.Options{}), search.Options{Options: engine.Options{Workers: 1}, Store: statestore.Plain}),
	unstored("stateless none", 2e3, stateless.Options{Options: engine.Options{Workers: 1}, Reduction: stateless.None}),
	unstored("stateless sleep", 1e6, stateless.Options{Options: engine.Options{Workers: 1}, Reduction: stateless.Sleep}),
	unstored("stateless sleep, 3 workers", 1e6, stateless.Options{Options: engine.Options{Workers: 3}, Reduction: stateless.Sleep}),
	unstored("stateless sleep by replay", 1e4, stateless.Options{Options: engine.Options{Workers: 1}, Reduction: stateless.Sleep, Undo: stateless.Replay}),
	unstored("stateless dpor", 1e6, stateless.Options{Options: engine.Options{Workers: 1}, Reduction: stateless.DPOR}),
	unstored("stateless dpor, 3 workers", 1e6, stateless.Options{Options: engine.Options{Workers: 3}, Reduction: stateless.DPOR}),
	unstored("stateless dpor, 16 workers", 1e4, stateless.Options{Options: engine.Options{Workers: 16}, Reduction: stateless.DPOR}),
	unstored("stateless persistent", 2e3, stateless.Options{Options: engine.Options{Workers: 1}, Reduction: stateless.Persistent}),
	unstored("stateless persistent+sleep", 1e6, stateless.Options{Options: engine.Options{Workers: 1}, Reduction: stateless.PersistentSleep}),
}

// reduced makes factories of cartesian expanders.
func reduced(o cartesian.Options) func(system.System) search.Factory {
	return func(sys system.System) search.Factory {
		return func() search.Expander { return cartesian.New(sys, o) }
	}
}

func stateful(name string, factory func(system.System) search.Factory, o search.Options) subject {
	return subject{name, always, func(sys system.System) (*oracle.Reach, error) {
		r, res, err := oracle.ExploreWith(sys, factory(sys), o)
		if err == nil && !res.Exhaustive && (o.Store == statestore.Tree || o.Store == statestore.Plain) {
			err = fmt.Errorf("the search is not exhaustive: %s", res.Reason)
		}
		return r, err
	}}
}

// maxWork bounds the transitions of one state-less search; a program that needs
// more is passed over by that engine.
const maxWork = 200_000

func unstored(name string, most float64, o stateless.Options) subject {
	return subject{name, most, func(sys system.System) (*oracle.Reach, error) {
		o.All, o.KeepTraces, o.MaxViolations, o.MaxTransitions = true, true, 1<<20, maxWork
		res, err := stateless.Run(context.Background(), sys, o)
		if err != nil {
			return nil, err
		}
		if !res.Exhaustive {
			return nil, nil
		}
		return oracle.Violated(sys, res.Violations), nil
	}}
}

// hold compares engines with brute force on one model. The first result is
// empty if they agree; ok is false if the model was passed over.
func hold(engines []subject, text string) (diff string, ok bool) {
	want, diff, err := oracle.Lockstep("generated.model", text, lockstepPairs)
	if diff != "" {
		return diff, true
	}
	if err != nil || !want.Complete {
		return "", false
	}
	return against(engines, want, text), true
}

// against compares engines with what brute force says of a model.
func against(engines []subject, want *oracle.Semantics, text string) (diff string) {
	m, err := model.Parse("generated.model", text, model.Options{})
	if err != nil {
		return err.Error()
	}
	for _, e := range engines {
		if want.Interleavings > e.most {
			continue
		}
		got, err := e.run(m.System())
		if err != nil {
			return fmt.Sprintf("%s: %v", e.name, err)
		}
		if got == nil {
			continue
		}
		if d := oracle.Diff(want.Reach, got); d != "" {
			return fmt.Sprintf("%s: %s", e.name, d)
		}
	}
	return ""
}

// TestEngines holds every engine to brute force over the tree walker, on
// programs over the whole grammar.
func TestEngines(t *testing.T) {
	n := *count / 5
	if testing.Short() {
		n = *count / 50
	}
	list := engines
	if *only != "" {
		list = nil
		for _, e := range engines {
			if e.name == *only {
				list = append(list, e)
			}
		}
		if list == nil {
			t.Fatalf("there is no engine %q", *only)
		}
	}
	parallel(t, n, func(seed uint64) (string, bool) {
		text := program(seed)
		d, ok := hold(list, text)
		if d != "" {
			d += "\n" + oracle.Report(*failures, fmt.Sprintf("engines-%d.model", seed), text, func(text string) bool {
				d, ok := hold(list, text)
				return ok && d != ""
			})
		}
		return d, ok
	})
}

// TestShrink shrinks models with a known fault to the few lines that matter.
func TestShrink(t *testing.T) {
	found := 0
	for seed := uint64(1); seed < 400 && found < 5; seed++ {
		text := program(seed)
		fails := func(text string) bool {
			sem, diff, err := oracle.Lockstep("generated.model", text, 300)
			return err == nil && diff == "" && len(sem.Deadlocks) > 0 && len(sem.Violations) > 0
		}
		if !fails(text) {
			continue
		}
		found++
		small := oracle.Shrink(text, fails)
		if !fails(small) || len(small) > len(text) {
			t.Errorf("seed %d: shrunk to what does not fail:\n%s", seed, small)
		}
		if len(small) > 400 {
			t.Errorf("seed %d: still %d bytes:\n%s", seed, len(small), small)
		}
		if again := oracle.Shrink(small, fails); again != small {
			t.Errorf("seed %d: not minimal:\n%s\n%s", seed, small, again)
		}
	}
	if found < 5 {
		t.Errorf("only %d models to shrink", found)
	}
}
