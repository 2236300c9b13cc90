package search_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"cpor/testkit/sample"

	"golang.org/x/sync/errgroup"

	"cpor/cartesian"
	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/system"
	"cpor/testkit/fakeranks"
	"cpor/testkit/resumetest"
	toy "cpor/testkit/toysystem"
)

// searchOn searches on n ranks, or in a process of its own if n is 0, and returns what
// rank 0 does.
func searchOn(n int, s *resumetest.Shelf, every time.Duration, sys system.System,
	factory func() search.Factory, o search.Options) (*search.Result, error) {
	if n == 0 {
		o.Checkpoint = s.Checkpoint(every)
		return search.Run(context.Background(), sys, factory(), o)
	}
	var g errgroup.Group
	results, errs := make([]*search.Result, n), make([]error, n)
	for i, c := range fakeranks.New(n, fakeranks.Options{Seed: uint64(n),
		MaxDelay: 100 * time.Microsecond}) {
		o := o
		o.Ranks, o.Checkpoint = c, s.Checkpoint(every)
		g.Go(func() error {
			results[i], errs[i] = search.Run(context.Background(), sys, factory(), o)
			return nil
		})
	}
	g.Wait()
	for i := range errs {
		if fmt.Sprint(errs[i]) != fmt.Sprint(errs[0]) {
			return nil, fmt.Errorf("rank %d: %v; rank 0: %v", i, errs[i], errs[0])
		}
	}
	return results[0], errs[0]
}

// TestRanksResume interrupts searches on ranks again and again, while they keep checkpoints,
// and continues with other numbers of ranks, in one process, too: the result is that of
// a search that was never interrupted, and each violation has a trace that replays.
func TestRanksResume(t *testing.T) {
	seeds := sample.Of[uint64](3, 4, 80)
	interrupted, split, joined := 0, 0, 0
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 21))
		var sys system.System
		switch seed % 3 {
		case 0:
			sys = mustNew(t, counters(2+r.IntN(3), 3+r.IntN(6)))
		case 1:
			sys = mustNew(t, philosophers(4+r.IntN(3)))
		default:
			sys = mustNew(t, toy.Random(r, toy.Config{Observer: seed%2 == 0}))
		}
		for name, factory := range map[string]func() search.Factory{
			"full": func() search.Factory { return full.Factory(sys) },
			"cartesian": func() search.Factory {
				return func() search.Expander { return cartesian.New(sys, cartesian.Options{}) }
			},
		} {
			o := search.Options{Options: engine.Options{Workers: 2, All: true, MaxViolations: 1000}}
			want, err := search.Run(context.Background(), sys, factory(), o)
			if err != nil {
				t.Fatal(err)
			}
			s := new(resumetest.Shelf)
			limit := uint64(0)
			for {
				o := o
				o.Workers = 1 + r.IntN(3)
				if seed%2 == 0 { // states are told by numbers from early on
					o.Sizes().Samples = 4
				}
				n := r.IntN(6)
				switch {
				case s.Parts > 0 && n > s.Parts:
					split++
				case s.Parts > max(n, 1):
					joined++
				}
				if r.IntN(3) > 0 {
					limit += 1 + r.Uint64N(1+want.States/2)
					o.MaxStates = limit
				} else {
					o.Timeout = time.Duration(1+r.IntN(3000)) * time.Microsecond
				}
				got, err := searchOn(n, s, time.Duration(r.IntN(3))*time.Millisecond, sys, factory,
					o)
				if err != nil {
					t.Fatalf("seed %d, %s, %d ranks: %v", seed, name, n, err)
				}
				if got.Reason != "" {
					interrupted++
					if got.Verdict == engine.Pass {
						t.Fatalf("an interrupted search passed: %s", got.Reason)
					}
					if s.Parts == 0 && got.Transitions > 0 || s.Said != nil {
						t.Fatalf("seed %d, %s, %d ranks: no checkpoint of a search that was "+
							"interrupted: %v", seed, name, n, s.Said)
					}
					continue
				}
				if g, w := shown(got), shown(want); g != w {
					t.Errorf("seed %d, %s, %d ranks, interrupted:\n%swant\n%s", seed, name, n, g, w)
				}
				break
			}
		}
	}
	t.Logf("%d searches were interrupted, %d went on on more ranks than there were parts, %d on "+
		"fewer", interrupted, split, joined)
	if interrupted < int(seeds) || split == 0 || joined == 0 {
		t.Errorf("only %d searches were interrupted, %d went on on more ranks than there were "+
			"parts, %d on fewer", interrupted, split, joined)
	}
}

// TestRanksDamage has checkpoints that cannot be written on one rank, and such that
// cannot be read on one: every rank says so, and none waits.
func TestRanksDamage(t *testing.T) {
	sys := mustNew(t, counters(4, 5))
	factory := func() search.Factory { return full.Factory(sys) }
	o := search.Options{Options: engine.Options{Workers: 1, MaxStates: 100}}
	s := new(resumetest.Shelf)
	if _, err := searchOn(3, s, 0, sys, factory, o); err != nil || s.Parts != 3 {
		t.Fatal(err, s.Parts)
	}
	before := s.Now
	o.MaxStates = 200
	s.Fail = func(part int) error {
		if part == 1 {
			return errors.New("no space left")
		}
		return nil
	}
	if _, err := searchOn(3, s, 0, sys, factory, o); err != nil || s.Said == nil ||
		fmt.Sprint(s.Said) != "rank 1: no space left" {
		t.Errorf("%v, %v", err, s.Said)
	}
	for part, b := range before {
		if !bytes.Equal(s.Now[part], b) {
			t.Errorf("part %d of a checkpoint was overwritten by one that failed", part)
		}
	}
	var wrong *engine.OptionError
	for name, damage := range map[string][]byte{"cut off": before[1][:len(before[1])/2],
		"of another rank": before[2], "too long": append(bytes.Clone(before[1]), 0)} {
		s.Now = map[int][]byte{0: before[0], 1: damage, 2: before[2]}
		for _, n := range []int{0, 2, 3, 4} {
			if _, err := searchOn(n, s, 0, sys, factory, o); !errors.As(err, &wrong) {
				t.Errorf("%s, %d ranks: %v", name, n, err)
			}
		}
	}
	s.Now = map[int][]byte{0: before[0], 2: before[2]}
	if _, err := searchOn(3, s, 0, sys, factory, o); !errors.As(err, &wrong) {
		t.Errorf("a missing part: %v", err)
	}
	s.Parts = 40
	if _, err := searchOn(2, s, 0, sys, factory, o); !errors.As(err, &wrong) ||
		fmt.Sprint(
			err) != "the checkpoint has 40 parts and a rank can take 16: use 3 ranks or more" {
		t.Errorf("too many parts: %v", err)
	}
}
