package search_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"cpor/testkit/sample"

	"cpor/cartesian"
	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/auto"
	"cpor/engine/search/full"
	"cpor/statestore"
	"cpor/system"
	"cpor/testkit/resumetest"
	toy "cpor/testkit/toysystem"
)

// shown is what a search has to say of a system, however often it was interrupted.
func shown(r *search.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %v: %d states, %d transitions, %d attempts, %d and %d loops\n", r.Verdict,
		r.Exhaustive,
		r.States, r.Transitions, r.Attempts, r.EndedLoops, r.BlockedLoops)
	for _, v := range r.Violations {
		fmt.Fprintf(&b, "%s at %v, %s; with a trace: %v\n", v.Kind, v.Pos, v.Object, v.Trace != nil)
	}
	return b.String()
}

// TestResume interrupts searches again and again, by a limit, a time-out or the
// context, while they keep checkpoints every few microseconds, and continues with
// other numbers of workers: the result is that of a search that was never
// interrupted.
func TestResume(t *testing.T) {
	seeds := sample.Of[uint64](4, 5, 80)
	interrupted := 0
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 12))
		sys := randomSystem(t, seed, r)
		for reduction, factory := range factories(sys) {
			for _, kind := range []statestore.Kind{statestore.Tree, statestore.Plain,
				statestore.Compact} {
				o := search.Options{Store: kind, Options: engine.Options{Workers: 2, All: true,
					MaxViolations: 1000}}
				res, err := search.Run(context.Background(), sys, factory, o)
				if err != nil {
					t.Fatal(err)
				}
				c := resumetest.Chain{R: r, Options: o.Options, Reason: res.Reason, Workers: 4}
				limit := uint64(0)
				c.Limit = func(e *engine.Options) {
					limit += 1 + r.Uint64N(1+res.States/2)
					e.MaxStates = limit
				}
				var got *search.Result
				c.Run = func(ctx context.Context, e engine.Options) (*engine.Result, error) {
					o := o
					o.Options = e
					var err error
					if got, err = search.Run(ctx, sys, factory, o); err != nil {
						return nil, err
					}
					return &got.Result, nil
				}
				interrupted += c.Explore(t)
				if shown(got) != shown(res) {
					t.Errorf("seed %d, %s, %v: interrupted:\n%swant\n%s", seed, reduction, kind,
						shown(got), shown(res))
				}
			}
		}
	}
	if interrupted < 2*int(seeds) {
		t.Errorf("only %d searches were interrupted", interrupted)
	}
}

// TestResumeDamage gives a search what was cut off, and what is of another store:
// it refuses both.
func TestResumeDamage(t *testing.T) {
	sys := mustNew(t, counters(3, 4))
	var file []byte
	o := search.Options{Options: engine.Options{Workers: 1, MaxStates: 50}}
	o.Checkpoint = resumetest.Last(t, &file)
	if _, err := search.Run(context.Background(), sys, full.Factory(sys), o); err != nil ||
		file == nil {
		t.Fatal(err)
	}
	o.MaxStates = 0
	resume := func(from io.Reader) error {
		o.Checkpoint.From = from
		_, err := search.Run(context.Background(), sys, full.Factory(sys), o)
		return err
	}
	resumetest.Refuses(t, file, resume)
	o.Store = statestore.Plain
	var wrong *engine.OptionError
	if err := resume(bytes.NewReader(file)); !errors.As(err, &wrong) {
		t.Errorf("another store: %v", err)
	}
}

// randomSystem returns one of the systems of these tests, with sizes that r chooses.
func randomSystem(t *testing.T, seed uint64, r *rand.Rand) system.System {
	t.Helper()
	switch seed % 4 {
	case 0:
		return mustNew(t, counters(2+r.IntN(3), 3+r.IntN(6)))
	case 1:
		return mustNew(t, philosophers(3+r.IntN(4)))
	}
	return mustNew(t, toy.Random(r, toy.Config{Observer: seed%2 == 0}))
}

// factories returns the ways to expand states, by name.
func factories(sys system.System) map[string]search.Factory {
	return map[string]search.Factory{
		"full":      full.Factory(sys),
		"cartesian": func() search.Expander { return cartesian.New(sys, cartesian.Options{}) },
		"mixed":     mixed(sys),
	}
}

// mixed expands about half of the states by vectors.
func mixed(sys system.System) search.Factory {
	f, _ := auto.Factory(sys, auto.Options{Choice: 1})
	return f
}
