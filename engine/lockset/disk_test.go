package lockset_test

import (
	"context"
	"path/filepath"
	"testing"

	"cpor/testkit/sample"

	"cpor/engine"
	"cpor/engine/lockset"
	"cpor/engine/search"
)

// TestDisk drops what a search has in memory again and again, where it remembers locks
// and orders: the result is that of a search in memory.
func TestDisk(t *testing.T) {
	seeds := sample.Of[uint64](6, 6, 200)
	compared, found, drops := 0, 0, 0
	for seed := range seeds {
		sys := randomProgram(t, seed)
		if len(sys.Initial()) == 0 {
			continue
		}
		for _, w := range ways {
			if w.c != nil && (w.c.Sleep || w.c.Persistent) {
				continue // refused: these remember states by their references
			}
			explore := func(o search.Options) *search.Result {
				_, res, err := lockset.Run(context.Background(), sys, w.o, w.factory, o)
				if err != nil {
					t.Fatalf("seed %d, %s: %v", seed, w.name, err)
				}
				return res
			}
			o := engine.Options{Workers: 2, All: true, MaxViolations: 1000, KeepTraces: true,
				MaxStates: 20_000}
			want := explore(search.Options{Options: o})
			if want.Reason != "" {
				continue // too large
			}
			o.MaxStates, o.Disk = 0, filepath.Join(t.TempDir(), "disk")
			got := explore(search.Options{Options: o}.With(search.Sizes{
				SpillEvery: max(want.States/8, 1)}))
			if got, want := told(&got.Result, w.counts), told(&want.Result, w.counts); got != want {
				t.Errorf("seed %d, %s:\n%s\nin memory\n%s", seed, w.name, got, want)
			}
			compared++
			if len(want.Violations) > 0 {
				found++
			}
			drops += got.Disk.Drops
		}
	}
	t.Logf("%d compared, %d with violations, %d times out of memory", compared, found, drops)
	if compared < 3*int(seeds) || found < int(seeds)/2 || drops < compared {
		t.Errorf("only %d compared, %d with violations, %d times out of memory", compared, found,
			drops)
	}
}
