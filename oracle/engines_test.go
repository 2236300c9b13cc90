package oracle_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"cpor/cartesian"
	"cpor/engine"
	_ "cpor/engine/all" // the engines
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/engine/stateless"
	"cpor/oracle"
	"cpor/statestore"
	"cpor/system"
)

// subject is a way to explore a system that is held to brute force.
type subject struct {
	name string
	// most is the number of interleavings up to which it takes a program.
	most float64
	// run returns what was reached, or why the program is passed over.
	run func(sys system.System, most uint64) (r *oracle.Reach, over string, err error)
}

// always is for engines whose work does not grow with the interleavings.
var always = math.Inf(1)

// engines is the table of all engines: below those with options that only tests
// set or of which also the local states are compared, and behind them everything
// else that is registered.
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

func init() {
	inTable := []string{"stateful none", "stateful cartesian"}
	for _, name := range stateless.ReductionNames() {
		inTable = append(inTable, "stateless "+name)
	}
	for _, e := range engine.Entries("") {
		finds := engine.Violations | engine.Deadlocks
		if e.Preserves&finds == finds && !slices.Contains(inTable, e.Mode+" "+e.Name) {
			engines = append(engines, registered(e))
		}
	}
}

// registered is an engine as the registry has it.
func registered(e *engine.Entry) subject {
	return subject{e.Mode + " " + e.Name, 1e6, func(sys system.System, most uint64) (*oracle.Reach, string, error) {
		if err := e.Unmet(sys); err != nil {
			return nil, err.Error(), nil
		}
		o := engine.Options{Workers: 1, All: true, KeepTraces: true, MaxViolations: 1 << 20, MaxStates: most, MaxTransitions: most}
		t := &engine.Task{System: sys, Options: o, Flags: new(engine.Values)}
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
		return oracle.Violated(sys, res.Violations), "", nil
	}}
}

// reduced makes factories of cartesian expanders.
func reduced(o cartesian.Options) func(system.System) search.Factory {
	return func(sys system.System) search.Factory {
		return func() search.Expander { return cartesian.New(sys, o) }
	}
}

func stateful(name string, factory func(system.System) search.Factory, o search.Options) subject {
	return subject{name, always, func(sys system.System, _ uint64) (*oracle.Reach, string, error) {
		o.Workers = crowd(o.Workers)
		r, res, err := oracle.ExploreWith(sys, factory(sys), o)
		if err == nil && !res.Exhaustive && (o.Store == statestore.Tree || o.Store == statestore.Plain) {
			err = fmt.Errorf("the search is not exhaustive: %s", res.Reason)
		}
		return r, "", err
	}}
}

const (
	// maxWork bounds the transitions of one state-less search; a program that
	// needs more is passed over by that engine.
	maxWork = 200_000
	// maxWorkUnknown is the same if it is not known how many interleavings there are.
	maxWorkUnknown = 10_000
	// maxReference bounds the states of the full search that takes the place of
	// brute force where that is too much.
	maxReference = 20_000
)

func unstored(name string, most float64, o stateless.Options) subject {
	return subject{name, most, func(sys system.System, most uint64) (*oracle.Reach, string, error) {
		o.Workers = crowd(o.Workers)
		o.All, o.KeepTraces, o.MaxViolations, o.MaxTransitions = true, true, 1<<20, most
		res, err := stateless.Run(context.Background(), sys, o)
		if err != nil {
			return nil, "", err
		}
		if !res.Exhaustive {
			return nil, fmt.Sprintf("more than %d transitions", most), nil
		}
		return oracle.Violated(sys, res.Violations), "", nil
	}}
}

// crowd returns a number of workers: those of the flag where there is more than one.
func crowd(n int) int {
	if n > 1 && *many > 0 {
		return *many
	}
	return n
}

// hold compares engines with brute force on one model. The first result is
// empty if they agree; the second says why the model was passed over.
func hold(engines []subject, text string, c *tally) (diff, over string) {
	want, diff, err := oracle.Lockstep("generated.model", text, lockstepPairs)
	switch {
	case diff != "":
		return diff, ""
	case err != nil:
		return "", refusal(err)
	}
	return against(engines, want, c)
}

// against compares engines with what brute force says of a model. If that was
// too much, the plain full search is what they are held to.
func against(engines []subject, want *oracle.Semantics, c *tally) (diff, over string) {
	reach, work := want.Reach, uint64(maxWork)
	if !want.Complete {
		r, res, err := oracle.Explore(want.System, full.Factory(want.System), 1, maxReference)
		switch {
		case err != nil:
			return "full search: " + err.Error(), ""
		case !res.Exhaustive:
			return "", fmt.Sprintf("more than %d states", maxReference)
		}
		for k := range want.Violations {
			if !r.Violations[k] {
				return "full search: the walker has violation " + k, ""
			}
		}
		c.note("brute force incomplete, the full search in its place")
		reach, work = r, maxWorkUnknown
	}
	for _, e := range engines {
		if want.Interleavings > e.most {
			c.note("%s: more than %g interleavings", e.name, e.most)
			continue
		}
		got, over, err := e.run(want.System, work)
		if err != nil {
			return fmt.Sprintf("%s: %v", e.name, err), ""
		}
		if over != "" {
			c.note("%s: %s", e.name, over)
			continue
		}
		if d := oracle.Diff(reach, got); d != "" {
			return fmt.Sprintf("%s: %s", e.name, d), ""
		}
	}
	return "", ""
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
	c, of := &tally{}, sizes(t)
	campaign(t, n, c, func(seed uint64) (string, string) {
		text := program(seed, of)
		d, over := hold(list, text, c)
		if d != "" && c.room() {
			d += "\n" + oracle.Report(*failures, fmt.Sprintf("engines-%d.model", seed), text, func(text string) bool {
				d, _ := hold(list, text, &tally{})
				return d != ""
			})
		}
		return d, over
	})
}

// TestShrink shrinks models with a known fault to the few lines that matter.
func TestShrink(t *testing.T) {
	found := 0
	for seed := uint64(1); seed < 400 && found < 5; seed++ {
		text := program(seed, oracle.Sizes)
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
