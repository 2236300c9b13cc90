package search_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cpor/testkit/sample"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/statestore"
	"cpor/system"
)

// spilled returns a directory for a search, and lets the test fail if it is there
// afterwards.
func spilled(t testing.TB) string {
	dir := filepath.Join(t.TempDir(), "spilled")
	t.Cleanup(func() {
		if files, err := os.ReadDir(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("left on the disk: %v, %v", files, err)
		}
	})
	return dir
}

// TestDisk searches with next to no memory: the result is that of a search in memory, with
// traces, with every reduction and any number of workers.
func TestDisk(t *testing.T) {
	seeds := sample.Of[uint64](4, 4, 100)
	drops, looks := 0, 0
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 13))
		sys := randomSystem(t, seed, r)
		for reduction, factory := range factories(sys) {
			o := search.Options{Options: engine.Options{Workers: 1, All: true, MaxViolations: 1000,
				KeepTraces: true}}
			want, err := search.Run(t.Context(), sys, factory, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, kind := range []statestore.Kind{statestore.Tree, statestore.Plain} {
				o := o
				o.Store, o.Disk = kind, spilled(t)
				o.Workers = 1 + r.IntN(4)
				o.Sizes().SpillEvery = 1 + r.Uint64N(1+want.States/2)
				got, err := search.Run(t.Context(), sys, factory, o)
				if err != nil {
					t.Fatalf("seed %d, %s: %v", seed, reduction, err)
				}
				if shown(got) != shown(want) {
					t.Errorf("seed %d, %s, %v, %d workers, dropped after %d: on disk:\n%swant\n%s",
						seed, reduction, kind, o.Workers, o.Sizes().SpillEvery, shown(got),
						shown(want))
				}
				drops, looks = drops+got.Disk.Drops, looks+got.Disk.Looks
			}
		}
	}
	if drops < int(seeds) || looks < 2*int(seeds) {
		t.Errorf("only %d times dropped, %d times looked", drops, looks)
	}
}

// TestDiskLimits: what ends a search early leaves nothing behind and is not a pass.
func TestDiskLimits(t *testing.T) {
	sys := mustNew(t, counters(4, 6))
	for name, set := range map[string]func(o *search.Options, cancel func()){
		"of 500 states": func(o *search.Options, _ func()) { o.MaxStates = 500 },
		"interrupted": func(o *search.Options, cancel func()) {
			n := 0
			o.Hook = func(int) search.Hook {
				return watching(func(system.State) {
					if n++; n == 700 {
						cancel()
					}
				})
			}
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		o := search.Options{Options: engine.Options{Workers: 1, Disk: spilled(t)}}.With(
			search.Sizes{SpillEvery: 100})
		set(&o, cancel)
		r, err := search.Run(ctx, sys, full.Factory(sys), o)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != engine.Incomplete || !strings.Contains(r.Reason, name) || r.States < 300 ||
			r.States > 1500 || r.Disk.Drops == 0 {
			t.Errorf("%s: %s, %s, %d states, %+v", name, r.Verdict, r.Reason, r.States, r.Disk)
		}
	}
}

// watching is a Hook that sees the states.
type watching func(system.State)

func (h watching) Expand(s system.State)                    { h(s) }
func (watching) Move(*search.Move)                          {}
func (watching) Violation(*system.Violation, []search.Step) {}

// TestDiskFails damages the files of a search that runs, and takes its directory
// away: it ends as incomplete and says why, with the name of the file.
func TestDiskFails(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	found, n := 0, sample.Of(8, 8, 20)
	for i := range n {
		sys := mustNew(t, counters(3, 6)) // 343 states
		dir := filepath.Join(t.TempDir(), "spilled")
		after, seen := 50+r.IntN(200), 0
		o := search.Options{Options: engine.Options{Workers: 1, Disk: dir}}.With(search.Sizes{
			SpillEvery: 30})
		o.Hook = func(int) search.Hook {
			return watching(func(system.State) {
				if seen++; seen < after {
					return
				}
				if i%2 == 0 {
					after = 1 << 30
					if err := os.RemoveAll(dir); err != nil {
						t.Error(err)
					}
					return
				}
				files, err := filepath.Glob(filepath.Join(dir, "*.spill"))
				if err != nil {
					t.Error(err)
				}
				if len(files) > 0 {
					after = 1 << 30
				}
				for _, name := range files {
					if b, err := os.ReadFile(name); err == nil && len(b) > 0 {
						b[r.IntN(len(b))] ^= 4
						if err := os.WriteFile(name, b, 0o666); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		res, err := search.Run(t.Context(), sys, full.Factory(sys), o)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case res.Verdict == engine.Pass && i%2 == 1 && res.States == 343:
			// No block with a damage was needed.
		case res.Verdict != engine.Incomplete || !strings.Contains(res.Reason,
			filepath.Join(dir, "cpor-")):
			t.Errorf("%d: %s, %d states, %s", i, res.Verdict, res.States, res.Reason)
		default:
			found++
		}
	}
	if found < n*3/4 {
		t.Errorf("only %d failures were noticed", found)
	}
}

// TestDiskRefusals: what a disk cannot go with.
func TestDiskRefusals(t *testing.T) {
	sys := mustNew(t, counters(2, 2))
	for want, o := range map[string]search.Options{
		"-max-memory": {},
		"-store compact": search.Options{Store: statestore.Compact}.With(search.Sizes{
			SpillEvery: 1}),
		"another search has it": search.Options{}.With(search.Sizes{SpillEvery: 1}),
	} {
		o.Disk = spilled(t)
		if want == "another search has it" {
			want = "not a directory"
			o.Disk = filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(o.Disk, nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		_, err := search.Run(t.Context(), sys, full.Factory(sys), o)
		var no *engine.OptionError
		if !errors.As(err, &no) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestDiskMemory is TestMemoryLimit for a search with a disk, which covers everything.
func TestDiskMemory(t *testing.T) {
	const env = "CPOR_TEST_DISK"
	if v := os.Getenv(env); v != "" {
		var limit uint64
		var workers int
		var dir string
		if _, err := fmt.Sscan(v, &limit, &workers, &dir); err != nil {
			t.Fatal(err)
		}
		r := run(t, mustNew(t, counters(6, 7)), search.Options{Store: statestore.Plain,
			Options: engine.Options{Workers: workers, MaxMemory: limit, Disk: dir}})
		fmt.Printf("result: %s %d %d %d %.1f %d %d\n", r.Verdict, r.States, r.PeakRSS, r.Disk.Drops,
			r.Duration.Seconds(), r.Disk.Most, r.Disk.Read)
		return
	}
	if testing.Short() || sample.Race {
		t.Skip("takes seconds, and the race detector's own memory counts as the process's")
	}
	limits := []uint64{45e6}
	if sample.Long() {
		limits = []uint64{40e6, 45e6, 50e6, 60e6, 100e6}
	}
	for _, limit := range limits {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestDiskMemory$")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d 2 %s", env, limit, spilled(t)))
		out, err := cmd.CombinedOutput()
		_, line, ok := strings.Cut(string(out), "result: ")
		if err != nil || !ok {
			t.Fatalf("%v\n%s", err, out)
		}
		var verdict string
		var states, peak, drops, most, read uint64
		var seconds float64
		if _, err := fmt.Sscan(line, &verdict, &states, &peak, &drops, &seconds, &most,
			&read); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		t.Logf("%d MB: peak %d kB, %d drops, %.1f s, %d kB on disk, %d kB read", limit/1e6,
			peak/1000, drops, seconds, most/1000, read/1000)
		if verdict != "pass" || states != 262144 || drops == 0 && limit <= 60e6 {
			t.Errorf("%d MB: %s", limit/1e6, line)
		}
		if float64(peak) > 1.05*float64(limit) {
			t.Errorf("peak %d at a limit of %d", peak, limit)
		}
	}
}

// BenchmarkDisk is the same search in memory, on disk with all in memory too, and with
// memory for a part of the states.
func BenchmarkDisk(b *testing.B) {
	sys := mustNew(b, counters(5, 9))
	for _, tt := range []struct {
		name string
		most uint64
	}{{"memory", 0}, {"kept", 1 << 40}, {"half", 50_000}, {"tenth", 10_000}} {
		b.Run(tt.name, func(b *testing.B) {
			o := search.Options{Options: engine.Options{Workers: 1}}.With(search.Sizes{
				SpillEvery: tt.most})
			if tt.most > 0 {
				o.Disk = spilled(b)
			}
			for b.Loop() {
				if r := run(b, sys, o); r.States != 1e5 {
					b.Fatal(r.States)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e5, "ns/state")
		})
	}
}
