package search_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cpor/testkit/sample"

	"cpor/engine"
	"cpor/engine/cluster"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/statestore"
	"cpor/system"
	"cpor/testkit/fakeranks"
	"cpor/testkit/resumetest"
	toy "cpor/testkit/toysystem"
)

// onRanks runs a search on n ranks over an unkind network, and returns the
// result of rank 0. The others have to come to the same verdict and counts.
func onRanks(t *testing.T, n int, sys system.System, newExpander func() search.Factory,
	o search.Options) *search.Result {
	t.Helper()
	results := make([]*search.Result, n)
	err := fakeranks.Run(n, fakeranks.Options{Seed: uint64(n), MaxDelay: 100 * time.Microsecond},
		func(rank int, c engine.Comm) (err error) {
			o := o
			o.Ranks = c
			results[rank], err = search.Run(context.Background(), sys, newExpander(), o)
			return err
		})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Verdict != results[0].Verdict || r.Reason != results[0].Reason ||
			r.States != results[0].States || r.Transitions != results[0].Transitions {
			t.Errorf("rank %d: %v, %d states, %d transitions (%s); rank 0: %v, %d, %d (%s)", i,
				r.Verdict, r.States, r.Transitions, r.Reason,
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
	seeds := sample.Of[uint64](2, 2, 60)
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 11))
		systems[fmt.Sprintf("random %d", seed)] = mustNew(t,
			toy.Random(r, toy.Config{Observer: seed%2 == 0}))
		// States of several lengths.
		heap, err := toy.NewHeap(toy.RandomHeap(r, seed%2 == 0))
		if err != nil {
			t.Fatal(err)
		}
		systems[fmt.Sprintf("heap %d", seed)] = heap
	}
	byNumbers := uint64(0)
	for name, sys := range systems {
		for reduction := range factories(sys) {
			factory := func() search.Factory { return factories(sys)[reduction] }
			o := search.Options{Options: engine.Options{Workers: 2, All: true, MaxViolations: 1000}}
			want, err := search.Run(context.Background(), sys, factory(), o)
			if err != nil {
				t.Fatal(err)
			}
			for i, n := range []int{1, 3, 8, 2, 2, 3} {
				t.Run(fmt.Sprintf("%s/%s/%d", name, reduction, n), func(t *testing.T) {
					if i > 2 { // states are told by numbers from early on
						o.Sizes().Samples = 4
					}
					if i > 3 { // some of them
						o.Sizes().MostNumbers = 4
					}
					got := onRanks(t, n, sys, factory, o)
					byNumbers += got.Traffic.ByNumbers
					if got.Verdict != want.Verdict || got.Exhaustive != want.Exhaustive ||
						got.States != want.States || got.Transitions != want.Transitions ||
						got.EndedLoops != want.EndedLoops {
						t.Errorf("%v, %d states, %d transitions, %d loops of ended threads; in "+
							"one process %v, %d, %d, %d",
							got.Verdict, got.States, got.Transitions, got.EndedLoops, want.Verdict,
							want.States, want.Transitions, want.EndedLoops)
					}
					if len(got.Violations) != len(want.Violations) {
						t.Fatalf("%d violations, want %d", len(got.Violations),
							len(want.Violations))
					}
					for i, v := range got.Violations {
						if w := want.Violations[i]; v.Kind != w.Kind || v.Pos != w.Pos ||
							v.Object != w.Object {
							t.Errorf("violation %d: %v at %v, want %v at %v", i, v.Kind, v.Pos,
								w.Kind, w.Pos)
						}
						if v.Trace == nil {
							t.Errorf("violation %d has no trace: %s", i, v.TraceMissing)
						}
					}
				})
			}
		}
	}
	t.Logf("%d states were told by numbers", byNumbers)
	if byNumbers < 1000 {
		t.Errorf("only %d states were told by numbers", byNumbers)
	}
}

// TestRanksMemory gives ranks hardly any memory, so that there is none for what other ranks tell
// them, continues with the last checkpoint and a little more, until it is enough: nothing is lost.
func TestRanksMemory(t *testing.T) {
	ended, out := 0, 0
	seeds := sample.Of(2, 3, 12)
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 35))
		sys := mustNew(t, counters(3+r.IntN(2), 4+r.IntN(4)))
		factory := func() search.Factory { return full.Factory(sys) }
		o := search.Options{Options: engine.Options{Workers: 1, All: true,
			MaxViolations: 1000}}.With(search.Sizes{Samples: 4})
		want, err := search.Run(t.Context(), sys, factory(), o)
		if err != nil {
			t.Fatal(err)
		}
		s := &resumetest.Shelf{}
		o.Sizes().StoreBytes = 40_000
		for ; ; o.Sizes().StoreBytes += 500 + r.Uint64N(4000) {
			got, err := searchOn(2+int(seed%2), s, time.Hour, sys, factory, o)
			if no := new(engine.OptionError); errors.As(err, &no) {
				continue // the checkpoint alone needs more
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Reason != "" {
				out++
				continue
			}
			if g, w := shown(got), shown(want); g != w {
				t.Errorf("seed %d:\n%swant\n%s", seed, g, w)
			}
			ended++
			break
		}
	}
	t.Logf("%d times without memory", out)
	if out < 2*seeds || ended != seeds {
		t.Errorf("%d times without memory, %d searches ended", out, ended)
	}
}

// TestRanksStay has the states of a search that stay where they are: most of them, where with a
// hash of the whole state half of the ends of moves would be another rank's; and both ranks have
// about the same number.
func TestRanksStay(t *testing.T) {
	for name, sys := range map[string]system.System{"philosophers": mustNew(t, philosophers(7)),
		"counters": mustNew(t, counters(4, 9))} {
		o := search.Options{Options: engine.Options{Workers: 1, All: true, MaxViolations: 1000}}
		r := onRanks(t, 2, sys, func() search.Factory { return full.Factory(sys) }, o)
		tr := r.Traffic
		t.Logf("%s: %d states, %d transitions, %d sent, %d spared, largest %.3f", name, r.States,
			r.Transitions, tr.States, tr.Spared, tr.Largest)
		if tr.States == 0 || tr.States+tr.Spared > r.Transitions/4 || tr.Largest < 1 ||
			tr.Largest > 1.3 {
			t.Errorf("%s: %d of %d transitions lead to another rank; the larger one has %.3f "+
				"times the mean", name, tr.States+tr.Spared, r.Transitions, tr.Largest)
		}
	}
}

// TestRanksStop ends searches early: at a violation, a limit, a time-out. All
// ranks end, with the same reason, and none calls it a pass.
func TestRanksStop(t *testing.T) {
	sys := mustNew(t, counters(6, 6))
	factory := func() search.Factory { return full.Factory(sys) }
	o := search.Options{Options: engine.Options{Workers: 2, MaxStates: 1000}}
	if r := onRanks(t, 3, sys, factory, o); r.Verdict != engine.Incomplete ||
		r.Reason != "limit of 1,000 states" {
		t.Errorf("%v: %s", r.Verdict, r.Reason)
	}
	big := mustNew(t, counters(8, 12))
	factory = func() search.Factory { return full.Factory(big) }
	o = search.Options{Options: engine.Options{Workers: 2, Timeout: 200 * time.Millisecond}}
	if r := onRanks(t, 3, big, factory, o); r.Verdict != engine.Incomplete ||
		r.Reason != "time-out after 200ms" {
		t.Errorf("%v: %s", r.Verdict, r.Reason)
	}
	bad := mustNew(t, philosophers(7))
	factory = func() search.Factory { return full.Factory(bad) }
	o = search.Options{Options: engine.Options{Workers: 2}}
	if r := onRanks(t, 3, bad, factory, o); r.Verdict != engine.Violated ||
		len(r.Violations) != 1 || r.Violations[0].Trace == nil {
		t.Errorf("%v: %s: %v", r.Verdict, r.Reason, r.Violations)
	}
}

// TestRanksDisk is TestRanks for ranks that drop what they have in memory again and again.
func TestRanksDisk(t *testing.T) {
	seeds := sample.Of[uint64](2, 3, 60)
	drops, looks, found := 0, 0, 0
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 17))
		sys := randomSystem(t, seed, r)
		for reduction, factory := range factories(sys) {
			o := search.Options{Options: engine.Options{Workers: 1, All: true, MaxViolations: 1000,
				KeepTraces: true}}
			want, err := search.Run(t.Context(), sys, factory, o)
			if err != nil {
				t.Fatal(err)
			}
			n := 2 + int(seed%3)
			o.Disk, o.Workers = spilled(t), 1+r.IntN(3)
			o.Sizes().SpillEvery = 1 + r.Uint64N(1+want.States/uint64(n))
			got := onRanks(t, n, sys, func() search.Factory { return factories(sys)[reduction] }, o)
			if shown(got) != shown(want) {
				t.Errorf("seed %d, %s, %d ranks of %d workers, dropped after %d: on "+
					"disk:\n%swant\n%s", seed, reduction, n, o.Workers, o.Sizes().SpillEvery,
					shown(got), shown(want))
			}
			drops, looks = drops+got.Disk.Drops, looks+got.Disk.Looks
			if len(got.Violations) > 0 {
				found++
			}
		}
	}
	t.Logf("%d times dropped, %d times looked, %d with violations", drops, looks, found)
	if drops < int(seeds) || looks < 2*int(seeds) || found == 0 {
		t.Errorf("only %d times dropped, %d times looked, %d with violations", drops, looks, found)
	}
}

// breaking is an expander that does something before its n-th state.
type breaking struct {
	search.Expander
	n    int
	what func()
}

func (b *breaking) Expand(s system.State, v search.Visitor) {
	if b.n--; b.n == 0 {
		b.what()
	}
	b.Expander.Expand(s, v)
}

// TestRanksDiskFails takes the directory of one rank away: all end as incomplete, with the
// reason. What is wrong with it from the beginning is every rank's mistake; limits hold.
func TestRanksDiskFails(t *testing.T) {
	// Rank 1 still has to look for most of its states when its directory goes.
	sys := mustNew(t, counters(4, 7))
	dir := filepath.Join(t.TempDir(), "spilled")
	o := search.Options{Options: engine.Options{Workers: 1, Disk: dir}}.With(search.Sizes{
		SpillEvery: 20})
	var made atomic.Int32
	r := onRanks(t, 3, sys, func() search.Factory {
		mine := full.Factory(sys)
		return func() search.Expander {
			b := &breaking{Expander: mine(), n: -1}
			if made.Add(1) == 1 {
				b.n, b.what = 60, func() {
					if err := os.RemoveAll(filepath.Join(dir, "rank-1")); err != nil {
						t.Error(err)
					}
				}
			}
			return b
		}
	}, o)
	if r.Verdict != engine.Incomplete || !strings.Contains(r.Reason, filepath.Join(dir, "rank-1",
		"cpor-")) {
		t.Errorf("%v: %s", r.Verdict, r.Reason)
	}

	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "rank-1"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	wrong := 0
	err := fakeranks.Run(3, fakeranks.Options{}, func(rank int, c engine.Comm) error {
		o := o
		o.Ranks = c
		_, err := search.Run(t.Context(), sys, full.Factory(sys), o)
		if no := new(engine.OptionError); rank == 0 && errors.As(err, &no) &&
			strings.Contains(err.Error(), "rank-1") {
			wrong++
		}
		return nil
	})
	if err != nil || wrong == 0 {
		t.Errorf("%v, and rank 0 does not know that rank 1 has no directory", err)
	}

	o.Disk, o.MaxStates = spilled(t), 100
	if r := onRanks(t, 3, sys, func() search.Factory { return full.Factory(sys) },
		o); r.Verdict != engine.Incomplete || r.Reason != "limit of 100 states" {
		t.Errorf("%v: %s", r.Verdict, r.Reason)
	}
}

// broken is a connection that fails, or panics, at its n-th message, or when the job is
// aborted.
type broken struct {
	engine.Comm
	n       int
	panic   bool
	aborted *atomic.Bool
}

func (b *broken) Receive() (int, []byte, error) {
	if b.aborted.Load() {
		return 0, nil, errors.New("broken")
	}
	from, m, err := b.Comm.Receive()
	if m == nil || err != nil {
		return from, m, err
	}
	switch b.n--; {
	case b.n > 0:
		return from, m, nil
	case b.panic:
		panic("broken")
	}
	return 0, nil, errors.New("broken")
}

// TestRanksLeft breaks the connections: each rank says that it has left the search.
func TestRanksLeft(t *testing.T) {
	sys := mustNew(t, counters(3, 6))
	for n := range 4 {
		var aborted atomic.Bool
		err := fakeranks.Run(2, fakeranks.Options{}, func(rank int, c engine.Comm) error {
			o := search.Options{
				Options: engine.Options{Workers: 2, Ranks: &broken{c, 1 + n, n%2 == 0, &aborted}}}
			_, err := search.Run(t.Context(), sys, full.Factory(sys), o)
			aborted.Store(true)
			if left := new(cluster.Left); !errors.As(err, &left) || !strings.Contains(err.Error(),
				"broken") {
				t.Errorf("after %d messages, rank %d: %v", n, rank, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestRanksMistake has a mistake on one rank that the others do not see: all hear of it.
func TestRanksMistake(t *testing.T) {
	sys := mustNew(t, counters(2, 2))
	err := fakeranks.Run(3, fakeranks.Options{}, func(rank int, c engine.Comm) error {
		o := search.Options{Options: engine.Options{Workers: 1, Ranks: c}}
		if rank == 1 {
			o.MaxMemory = 3 // a byte for each rank
		}
		_, err := search.Run(t.Context(), sys, full.Factory(sys), o)
		if no := new(engine.OptionError); !errors.As(err, &no) || !strings.Contains(err.Error(),
			"too small") || !strings.Contains(err.Error(), "divided among 3 ranks") {
			t.Errorf("rank %d: %v", rank, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRanksInterrupted has a user who wants no more.
func TestRanksInterrupted(t *testing.T) {
	sys := mustNew(t, counters(3, 6))
	err := fakeranks.Run(2, fakeranks.Options{}, func(rank int, c engine.Comm) error {
		ctx, cancel := context.WithCancel(t.Context())
		f := func() search.Expander {
			return &breaking{full.Factory(sys)(), 1 + 10*rank, cancel}
		}
		r, err := search.Run(ctx, sys, f, search.Options{
			Options: engine.Options{Workers: 1, Ranks: c}})
		if err == nil && (r.Verdict != engine.Incomplete || r.Reason != "interrupted") {
			t.Errorf("rank %d: %v: %s", rank, r.Verdict, r.Reason)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRanksRefuse asks for what a search on several ranks cannot do.
func TestRanksRefuse(t *testing.T) {
	sys := mustNew(t, counters(2, 2))
	for _, kind := range []statestore.Kind{statestore.Plain, statestore.Compact,
		statestore.Bitstate} {
		o := search.Options{Store: kind}
		o.Ranks = fakeranks.New(2, fakeranks.Options{})[0]
		_, err := search.Run(context.Background(), sys, full.Factory(sys), o)
		var wrong *engine.OptionError
		if !errors.As(err, &wrong) {
			t.Errorf("%v: %v", kind, err)
		}
	}
}
