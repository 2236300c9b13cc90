package search_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cpor/testkit/sample"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/statestore/spill"
	"cpor/testkit/resumetest"
)

// keepsFiles returns a shelf for checkpoints that name files.
func keepsFiles(t *testing.T) *resumetest.Shelf {
	t.Helper()
	s := &resumetest.Shelf{Dir: t.TempDir()}
	if mem, err := os.MkdirTemp("/dev/shm", "cpor"); err == nil {
		// There a sync takes no time. As it is another file system, files are copied.
		t.Cleanup(func() { os.RemoveAll(mem) })
		s.Dir = mem
	}
	return s
}

// TestRanksResumeDisk interrupts searches with a disk on ranks, while they keep checkpoints and
// are short of memory all the time, and continues on other numbers of ranks or in one process: the
// result is that of a search in memory that was never interrupted.
func TestRanksResumeDisk(t *testing.T) {
	seeds := sample.Of[uint64](2, 2, 40)
	interrupted, split, joined, drops := 0, 0, 0, 0
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 23))
		sys := randomSystem(t, seed, r)
		for reduction, factory := range factories(sys) {
			o := search.Options{Options: engine.Options{Workers: 2, All: true, MaxViolations: 1000,
				KeepTraces: true}}
			want, err := search.Run(t.Context(), sys, factory, o)
			if err != nil {
				t.Fatal(err)
			}
			s, limit, times := keepsFiles(t), uint64(0), 0
			for {
				o := o
				o.Workers, o.Disk, o.Sizes().SpillEvery = 1+r.IntN(3), spilled(t),
					1+r.Uint64N(1+want.States)
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
					o.Timeout = time.Duration(1+r.IntN(5000)) * time.Microsecond
				}
				got, err := searchOn(n, s, time.Duration(r.IntN(3))*time.Millisecond, sys,
					func() search.Factory { return factories(sys)[reduction] }, o)
				if err != nil {
					t.Fatalf("seed %d, %s, %d ranks, interrupted %d times: %v", seed, reduction, n,
						times, err)
				}
				if got.Reason != want.Reason {
					if times++; got.Verdict == engine.Pass || s.Said != nil || times > 1000 {
						t.Fatalf("seed %d, %s, %d ranks, interrupted %d times: %v, %s, %v", seed,
							reduction, n, times, got.Verdict, got.Reason, s.Said)
					}
					continue
				}
				drops += got.Disk.Drops
				if shown(got) != shown(want) {
					t.Errorf("seed %d, %s, at last on %d ranks, interrupted %d times:\n%swant\n%s",
						seed, reduction, n, times, shown(got), shown(want))
				}
				break
			}
			interrupted += times
		}
	}
	t.Logf(
		"%d interruptions, %d went on on more ranks than there were parts, %d on fewer; %d drops",
		interrupted, split, joined, drops)
	if interrupted < int(seeds) || split == 0 || joined == 0 || drops < int(seeds) {
		t.Errorf("%d interruptions, %d on more ranks, %d on fewer, and %d drops test too little",
			interrupted, split, joined, drops)
	}
}

// TestRanksResumeDiskDamage has files of a disk that are missing, cut off or changed: all ranks
// refuse them by name, on any number of ranks, and remove nothing.
func TestRanksResumeDiskDamage(t *testing.T) {
	sys := mustNew(t, counters(4, 5))
	factory := func() search.Factory { return full.Factory(sys) }
	s := keepsFiles(t)
	o := search.Options{Options: engine.Options{Workers: 1, MaxStates: 600, Disk: spilled(t)}}.With(
		search.Sizes{SpillEvery: 100})
	if _, err := searchOn(3, s, 0, sys, factory, o); err != nil || s.Parts != 3 {
		t.Fatal(err, s.Parts)
	}
	parts := s.Now
	o.MaxStates = 0
	for rank := range 3 {
		kept, err := filepath.Glob(filepath.Join(spill.RankDir(s.Dir, rank), "*.spill"))
		if err != nil || len(kept) < 5 {
			t.Fatalf("%v, %v", kept, err)
		}
		name := kept[rank]
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for what, spoil := range map[string]func(b []byte) []byte{
			"missing": nil,
			"cut off": func(b []byte) []byte { return b[:len(b)-1] },
			"a byte":  func(b []byte) []byte { b[len(b)/2] ^= 4; return b },
		} {
			os.Remove(name)
			if spoil != nil {
				if err := os.WriteFile(name, spoil([]byte(string(whole))), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			for _, n := range []int{0, 2, 3, 4} {
				var wrong *engine.OptionError
				o.Disk = spilled(t)
				if _, err := searchOn(n, s, 0, sys, factory, o); !errors.As(err, &wrong) ||
					!strings.Contains(err.Error(), filepath.Base(name)) {
					t.Errorf("rank %d, %s, %d ranks: %v", rank, what, n, err)
				}
			}
		}
		if err := os.WriteFile(name, whole, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for part, b := range parts {
		s.Now[part] = b[:len(b)-3]
		var wrong *engine.OptionError
		o.Disk = spilled(t)
		if _, err := searchOn(2, s, 0, sys, factory, o); !errors.As(err, &wrong) {
			t.Errorf("part %d cut off: %v", part, err)
		}
		s.Now[part] = b
	}
	o.Disk = spilled(t)
	if res, err := searchOn(2, s, 0, sys, factory, o); err != nil || !res.Exhaustive {
		t.Errorf("what is whole again: %v", err)
	}
}
