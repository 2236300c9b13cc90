package search_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"cpor/engine"
	"cpor/engine/cluster"
	"cpor/engine/cluster/fake"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/statestore"
	"cpor/system"
	toy "cpor/system/toysystem"
)

// onRanks runs a search on n ranks over an unkind network, and returns the
// result of rank 0. The others have to come to the same verdict and counts.
func onRanks(t *testing.T, n int, sys system.System, newExpander func() search.Factory, o search.Options) *search.Result {
	t.Helper()
	results := make([]*search.Result, n)
	err := fake.Run(n, fake.Options{Seed: uint64(n), MaxDelay: 100 * time.Microsecond}, func(rank int, c cluster.Comm) (err error) {
		o := o
		o.Ranks = c
		results[rank], err = search.Run(context.Background(), sys, newExpander(), o)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Verdict != results[0].Verdict || r.Reason != results[0].Reason || r.States != results[0].States || r.Transitions != results[0].Transitions {
			t.Errorf("rank %d: %v, %d states, %d transitions (%s); rank 0: %v, %d, %d (%s)", i, r.Verdict, r.States, r.Transitions, r.Reason,
				results[0].Verdict, results[0].States, results[0].Transitions, results[0].Reason)
		}
	}
	return results[0]
}

// TestRanks holds the search on several ranks to that of one process: the same
// counts, verdicts and violations, each with a trace that replays.
func TestRanks(t *testing.T) {
	systems := map[string]system.System{
		"philosophers": mustNew(t, philosophers(5)),
		"counters":     mustNew(t, counters(4, 4)),
		"one state":    mustNew(t, counters(1, 1)),
	}
	seeds := uint64(60)
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 11))
		systems[fmt.Sprintf("random %d", seed)] = mustNew(t, toy.Random(r, toy.Config{Observer: seed%2 == 0}))
	}
	for name, sys := range systems {
		for reduction := range factories(sys) {
			factory := func() search.Factory { return factories(sys)[reduction] }
			o := search.Options{Options: engine.Options{Workers: 2, All: true, MaxViolations: 1000}}
			want, err := search.Run(context.Background(), sys, factory(), o)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range []int{1, 2, 3, 8} {
				t.Run(fmt.Sprintf("%s/%s/%d", name, reduction, n), func(t *testing.T) {
					got := onRanks(t, n, sys, factory, o)
					if got.Verdict != want.Verdict || got.Exhaustive != want.Exhaustive || got.States != want.States || got.Transitions != want.Transitions || got.EndedLoops != want.EndedLoops {
						t.Errorf("%v, %d states, %d transitions, %d loops of ended threads; in one process %v, %d, %d, %d",
							got.Verdict, got.States, got.Transitions, got.EndedLoops, want.Verdict, want.States, want.Transitions, want.EndedLoops)
					}
					if len(got.Violations) != len(want.Violations) {
						t.Fatalf("%d violations, want %d", len(got.Violations), len(want.Violations))
					}
					for i, v := range got.Violations {
						if w := want.Violations[i]; v.Kind != w.Kind || v.Pos != w.Pos || v.Object != w.Object {
							t.Errorf("violation %d: %v at %v, want %v at %v", i, v.Kind, v.Pos, w.Kind, w.Pos)
						}
						if v.Trace == nil {
							t.Errorf("violation %d has no trace: %s", i, v.TraceMissing)
						}
					}
				})
			}
		}
	}
}

// TestRanksStop ends searches early: at a violation, a limit, a time-out. All
// ranks end, with the same reason, and none calls it a pass.
func TestRanksStop(t *testing.T) {
	sys := mustNew(t, counters(6, 6))
	factory := func() search.Factory { return full.Factory(sys) }
	o := search.Options{Options: engine.Options{Workers: 2, MaxStates: 1000}}
	if r := onRanks(t, 3, sys, factory, o); r.Verdict != engine.Incomplete || r.Reason != "limit of 1,000 states" {
		t.Errorf("%v: %s", r.Verdict, r.Reason)
	}
	big := mustNew(t, counters(8, 12))
	factory = func() search.Factory { return full.Factory(big) }
	o = search.Options{Options: engine.Options{Workers: 2, Timeout: 200 * time.Millisecond}}
	if r := onRanks(t, 3, big, factory, o); r.Verdict != engine.Incomplete || r.Reason != "time-out after 200ms" {
		t.Errorf("%v: %s", r.Verdict, r.Reason)
	}
	bad := mustNew(t, philosophers(7))
	factory = func() search.Factory { return full.Factory(bad) }
	o = search.Options{Options: engine.Options{Workers: 2}}
	if r := onRanks(t, 3, bad, factory, o); r.Verdict != engine.Violated || len(r.Violations) != 1 || r.Violations[0].Trace == nil {
		t.Errorf("%v: %s: %v", r.Verdict, r.Reason, r.Violations)
	}
}

// TestRanksRefuse asks for what a search on several ranks cannot do.
func TestRanksRefuse(t *testing.T) {
	sys := mustNew(t, counters(2, 2))
	for _, kind := range []statestore.Kind{statestore.Plain, statestore.Compact, statestore.Bitstate} {
		o := search.Options{Store: kind}
		o.Ranks = fake.New(2, fake.Options{})[0]
		_, err := search.Run(context.Background(), sys, full.Factory(sys), o)
		var wrong *engine.OptionError
		if !errors.As(err, &wrong) {
			t.Errorf("%v: %v", kind, err)
		}
	}
}
