package lockset_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cpor/testkit/sample"

	"cpor/engine"
	"cpor/engine/lockset"
	"cpor/engine/search"
	"cpor/frontend/model"
	"cpor/system"
	"cpor/testkit/fakeranks"
	"cpor/testkit/resumetest"
)

// onRanks searches on n ranks over an unkind network, each with what own returns, and returns
// the result of rank 0. The others have to come to the same verdict and counts.
func onRanks(t *testing.T, n int, sys system.System, w way, o search.Options,
	own ...func() (system.System, *engine.Checkpoint)) *search.Result {
	t.Helper()
	results := make([]*search.Result, n)
	systems, kept := slices.Repeat([]system.System{sys}, n), make([]*engine.Checkpoint, n)
	for rank := range kept {
		if len(own) > 0 {
			systems[rank], kept[rank] = own[0]()
		}
	}
	err := fakeranks.Run(n, fakeranks.Options{Seed: uint64(n), MaxDelay: 100 * time.Microsecond},
		func(rank int, c engine.Comm) (err error) {
			o := o
			o.Ranks, o.Checkpoint = c, kept[rank]
			_, results[rank], err = lockset.Run(context.Background(), systems[rank], w.o, w.factory,
				o)
			return err
		})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Verdict != results[0].Verdict || r.Exhaustive != results[0].Exhaustive ||
			r.States != results[0].States || r.Transitions != results[0].Transitions {
			t.Errorf("rank %d: %v %v, %d states, %d transitions; rank 0: %v %v, %d, %d", i,
				r.Verdict, r.Exhaustive, r.States, r.Transitions,
				results[0].Verdict, results[0].Exhaustive, results[0].States,
				results[0].Transitions)
		}
	}
	return results[0]
}

// TestRanks holds searches that remember locks and orders on several ranks to those of one
// process: the same verdicts and violations, and where the order of the search does not
// matter, the same counts.
func TestRanks(t *testing.T) {
	seeds := sample.Of[uint64](2, 2, 40)
	compared, found, counted, again := 0, 0, 0, 0
	for seed := range seeds {
		sys := randomProgram(t, seed)
		if len(sys.Initial()) == 0 {
			continue
		}
		for _, w := range ways {
			if w.c != nil && (w.c.Sleep || w.c.Persistent) {
				continue // refused: what sleeps is stored with the states
			}
			o := engine.Options{Workers: 2, All: true, MaxViolations: 1000, KeepTraces: true,
				MaxStates: 20_000}
			wrapped, res, err := lockset.Run(context.Background(), sys, w.o, w.factory,
				search.Options{Options: o})
			if err != nil {
				t.Fatal(err)
			}
			if res.Reason != "" {
				continue // too large
			}
			// Which locations a search begins again with depends on its order.
			anew := !w.counts && len(wrapped.Initial()[0]) > len(sys.Initial()[0])
			counts := !anew
			want := told(&res.Result, counts)
			o.MaxStates = 0
			for _, n := range []int{2, 3, 5} {
				o := search.Options{Options: o}
				if n == 3 {
					o.Disk, o.Sizes().SpillEvery = filepath.Join(t.TempDir(), "disk"),
						max(res.States/8, 1)
				}
				if got := told(&onRanks(t, n, sys, w, o).Result, counts); got != want {
					t.Errorf("seed %d, %s, %d ranks:\n%s\nin one process\n%s", seed, w.name, n, got,
						want)
				}
			}
			compared++
			if len(res.Violations) > 0 {
				found++
			}
			if anew {
				again++
			}
			if counts && !w.counts {
				counted++
			}
		}
	}
	t.Logf("%d compared, %d with violations, %d begun anew, %d not", compared, found, again,
		counted)
	if compared < 3*int(seeds) || found < int(seeds)/2 || again < int(seeds)/2 ||
		counted < int(seeds)/4 {
		t.Errorf("only %d compared, %d with violations, %d begun anew, %d not", compared, found,
			again, counted)
	}
}

// TestRanksSuspects has programs in which a variable has different locks: where these differ
// between executions it breaks no rule, and the ranks have to begin again to see that.
func TestRanksSuspects(t *testing.T) {
	const text = `
var c, x, y int
mutex m, k
thread T() {
	if c == 0 {
		lock(m); x++; unlock(m)
		lock(k); y++; unlock(k)
	} else {
		lock(k); x++; unlock(k)
		lock(m); y++; unlock(m)
	}
}
init { c = choose(0, 1); go T(); go T() }
`
	for _, c := range []struct {
		name, text string
		verdict    engine.Verdict
	}{
		{"executions", text, engine.Pass},
		{"threads", strings.Replace(text, "if c == 0", "if choose(0, 1) == 0", 1), engine.Violated},
	} {
		m, err := model.Parse("locks.model", c.text, model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range ways {
			if w.o.Rule != lockset.LDPrime || w.c != nil && w.c.Sleep {
				continue
			}
			for _, all := range []bool{false, true} {
				for _, n := range []int{2, 5} {
					res := onRanks(t, n, m.System(), w, search.Options{
						Options: engine.Options{Workers: 2, All: all}})
					if res.Verdict != c.verdict ||
						res.Exhaustive != (all || c.verdict == engine.Pass) {
						t.Errorf("%s, %s, %d ranks: %v, %v: %s", c.name, w.name, n, res.Verdict,
							res.Exhaustive, res.Reason)
					}
				}
			}
		}
	}
}

// TestRanksStop ends searches that remember locks early: all ranks end, and none calls it
// a pass, whether or not they were about to begin again.
func TestRanksStop(t *testing.T) {
	for seed := range uint64(6) {
		sys := randomProgram(t, seed)
		if len(sys.Initial()) == 0 {
			continue
		}
		for _, w := range ways[1:4] {
			o := engine.Options{Workers: 2, All: true, MaxStates: 2}
			if res := onRanks(t, 3, sys, w, search.Options{
				Options: o}); res.Verdict == engine.Pass || res.Exhaustive {
				t.Errorf("seed %d, %s: %v with two states", seed, w.name, res.Verdict)
			}
			o = engine.Options{Workers: 2, All: true, Timeout: time.Nanosecond}
			if res := onRanks(t, 3, sys, w, search.Options{
				Options: o}); res.Verdict == engine.Pass || res.Exhaustive {
				t.Errorf("seed %d, %s: %v in no time", seed, w.name, res.Verdict)
			}
		}
	}
}

// TestRanksResume interrupts searches that remember locks and orders on ranks, while they keep
// checkpoints, and continues on other numbers of ranks or in one process. There the numbers in the
// states mean something else: the result is that of a search that was never interrupted.
func TestRanksResume(t *testing.T) {
	seeds := sample.Of[uint64](2, 2, 40)
	interrupted, split, joined, again, refused := 0, 0, 0, 0, 0
	for seed := range seeds {
		sys := randomProgram(t, seed)
		if len(sys.Initial()) == 0 {
			continue
		}
		for _, w := range ways {
			if w.c != nil && (w.c.Sleep || w.c.Persistent) {
				continue // refused: what sleeps is stored with the states
			}
			r := rand.New(rand.NewPCG(seed, 22))
			o := engine.Options{Workers: 2, All: true, MaxViolations: 1000, KeepTraces: true,
				MaxStates: 20_000}
			wrapped, want, err := lockset.Run(context.Background(), sys, w.o, w.factory,
				search.Options{Options: o})
			if err != nil {
				t.Fatal(err)
			}
			if want.Reason != "" {
				continue // too large
			}
			anew := !w.counts && len(wrapped.Initial()[0]) > len(sys.Initial()[0])
			s, limit, times := new(resumetest.Shelf), uint64(0), 0
			onDisk := seed%5 == 4
			if onDisk {
				s.Dir = t.TempDir()
			}
			for {
				o := search.Options{Options: o}
				o.Workers, o.MaxStates = 1+r.IntN(3), 0
				n := r.IntN(6)
				if onDisk {
					// The files of several ranks have numbers of each.
					if n = 1 + r.IntN(2); s.Parts > 0 {
						n = min(n*s.Parts, max(s.Parts, 6/s.Parts*s.Parts))
					}
					o.Disk, o.Sizes().SpillEvery = filepath.Join(t.TempDir(), "disk"),
						max(want.States/4, 1)
				}
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
				every := time.Duration(r.IntN(3)) * time.Millisecond
				got := new(search.Result)
				if n > 0 {
					got = onRanks(t, n, sys, w, o, func() (system.System, *engine.Checkpoint) {
						return randomProgram(t, seed), s.Checkpoint(every)
					})
				} else {
					o.Checkpoint = s.Checkpoint(every)
					if _, got, err = lockset.Run(context.Background(), sys, w.o, w.factory,
						o); err != nil {
						t.Fatalf("seed %d, %s, interrupted %d times: %v", seed, w.name, times, err)
					}
				}
				if got.Reason != "" {
					times++
					if got.Verdict == engine.Pass || s.Said != nil || times > 10_000 {
						t.Fatalf("seed %d, %s, %d ranks, interrupted %d times: %v, %s, %v", seed,
							w.name, n, times, got.Verdict, got.Reason, s.Said)
					}
					continue
				}
				if got, want := told(&got.Result, !anew), told(&want.Result, !anew); got != want {
					t.Errorf(
						"seed %d, %s, at last on %d ranks, interrupted %d times:\n%s\nwant\n%s",
						seed, w.name, n, times, got, want)
				}
				break
			}
			if onDisk && s.Parts > 1 {
				o := search.Options{Options: engine.Options{Workers: 1, All: true,
					Disk: filepath.Join(t.TempDir(), "disk"), Checkpoint: s.Checkpoint(0)}}.With(
					search.Sizes{SpillEvery: 100})
				_, _, err := lockset.Run(context.Background(), sys, w.o, w.factory, o)
				if wrong := new(engine.OptionError); err != nil &&
					!(errors.As(err, &wrong) && strings.Contains(err.Error(),
						fmt.Sprintf("resume on %d ranks", s.Parts))) {
					t.Errorf("seed %d, %s: %d disks in one process: %v", seed, w.name, s.Parts, err)
				} else if err != nil {
					refused++
				}
			}
			if interrupted += times; times > 0 && anew {
				again++
			}
		}
	}
	t.Logf("%d times interrupted, %d went on on more ranks than there were parts, %d on fewer; "+
		"%d began anew; %d times the disks were refused", interrupted, split, joined, again,
		refused)
	if sample.Long() && (interrupted < 2*int(seeds) || split == 0 || joined == 0 || again == 0 ||
		refused == 0) {
		t.Errorf("only %d times interrupted, %d on more ranks, %d on fewer; %d began anew",
			interrupted, split, joined, again)
	}
}

// TestRanksResumeDamage has parts of other searches, cut off, or without what the numbers mean: all
// ranks refuse them.
func TestRanksResumeDamage(t *testing.T) {
	for _, seed := range []uint64{4, 12} {
		sys := randomProgram(t, seed)
		for _, w := range ways[:3] {
			s := new(resumetest.Shelf)
			begin := func() map[int][]byte {
				*s = resumetest.Shelf{}
				o := search.Options{Options: engine.Options{Workers: 1, MaxStates: 5, All: true}}
				if res := onRanks(t, 3, sys, w, o, func() (system.System, *engine.Checkpoint) {
					return randomProgram(t, seed), s.Checkpoint(0)
				}); s.Parts != 3 {
					t.Fatalf("seed %d, %s: %v: %s", seed, w.name, res.Verdict, res.Reason)
				}
				return s.Now
			}
			parts := begin()
			for name, damage := range map[string][]byte{
				"cut off": parts[1][:len(parts[1])/2], "of another rank": parts[2],
				"too long": append(slices.Clone(parts[1]), 0), "empty": {},
				"a record": parts[1][:200],
			} {
				for at := range 3 {
					if name == "of another rank" && at == 2 {
						continue
					}
					s.Now = map[int][]byte{0: parts[0], 1: parts[1], 2: parts[2]}
					s.Now[at] = damage
					for _, n := range []int{1, 2, 3, 4} {
						var wrong *engine.OptionError
						systems := make([]system.System, n)
						for rank := range systems {
							systems[rank] = randomProgram(t, seed)
						}
						err := fakeranks.Run(n, fakeranks.Options{Seed: uint64(n)},
							func(rank int, c engine.Comm) error {
								o := search.Options{Options: engine.Options{Workers: 1, All: true,
									Ranks: c, Checkpoint: s.Checkpoint(0)}}
								_, _, err := lockset.Run(context.Background(), systems[rank], w.o,
									w.factory, o)
								return err
							})
						if !errors.As(err, &wrong) {
							t.Errorf("seed %d, %s, part %d %s, %d ranks: %v", seed, w.name, at,
								name, n, err)
						}
					}
				}
			}
		}
	}
}
