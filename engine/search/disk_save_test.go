package search_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpor/testkit/sample"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/statestore"
	"cpor/testkit/resumetest"
)

// TestResumeDisk interrupts searches with a disk again and again, while they keep checkpoints
// every few microseconds and are short of memory all the time, and continues in another directory
// with other numbers of workers: the result is that of a search in memory.
func TestResumeDisk(t *testing.T) {
	seeds := sample.Of[uint64](2, 3, 50)
	interrupted, drops := 0, 0
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 14))
		sys := randomSystem(t, seed, r)
		for reduction, factory := range factories(sys) {
			o := search.Options{Options: engine.Options{Workers: 1, All: true, MaxViolations: 1000,
				KeepTraces: true}}
			want, err := search.Run(t.Context(), sys, factory, o)
			if err != nil {
				t.Fatal(err)
			}
			o.Store = []statestore.Kind{statestore.Tree, statestore.Plain}[r.IntN(2)]
			dir := t.TempDir()
			if mem, err := os.MkdirTemp("/dev/shm", "cpor"); err == nil {
				// There a sync takes no time. As it is another file system, files are copied.
				t.Cleanup(func() { os.RemoveAll(mem) })
				dir = mem
			}
			c := resumetest.Chain{R: r, Options: o.Options, Reason: want.Reason, Workers: 4,
				Dir: dir}
			limit := uint64(0)
			c.Limit = func(e *engine.Options) {
				limit += 1 + r.Uint64N(1+want.States/2)
				e.MaxStates = limit
			}
			var got *search.Result
			c.Run = func(ctx context.Context, e engine.Options) (*engine.Result, error) {
				o := o
				o.Options = e
				o.Disk = spilled(t)
				o.Sizes().SpillEvery = 1 + r.Uint64N(1+want.States)
				var err error
				if got, err = search.Run(ctx, sys, factory, o); err != nil {
					return nil, err
				}
				return &got.Result, nil
			}
			interrupted += c.Explore(t)
			drops += got.Disk.Drops
			if shown(got) != shown(want) {
				t.Errorf("seed %d, %s, %v: interrupted:\n%swant\n%s", seed, reduction, o.Store,
					shown(got), shown(want))
			}
		}
	}
	t.Logf("%d interruptions, %d drops", interrupted, drops)
	if interrupted < int(seeds) || drops < int(seeds) {
		t.Errorf("%d interruptions and %d drops test too little", interrupted, drops)
	}
}

// TestResumeDiskDamage gives a search with a disk a checkpoint that is cut off, and files that
// are missing, cut off, changed, or of another search: it refuses each by name.
func TestResumeDiskDamage(t *testing.T) {
	sys := mustNew(t, counters(4, 5))
	dir := t.TempDir()
	var file []byte
	o := search.Options{Options: engine.Options{Workers: 1, MaxStates: 600, Disk: spilled(t)}}.With(
		search.Sizes{SpillEvery: 100})
	interrupt := func(dir string) (kept []string) {
		o := o
		o.Checkpoint = resumetest.Last(t, &file)
		o.Checkpoint.Dir = dir
		if _, err := search.Run(t.Context(), sys, full.Factory(sys), o); err != nil || file == nil {
			t.Fatal(err)
		}
		kept, err := filepath.Glob(filepath.Join(dir, "*.spill"))
		if err != nil || len(kept) < 5 {
			t.Fatalf("%v, %v", kept, err)
		}
		return kept
	}
	kept := interrupt(dir)
	resume := func(from io.Reader) error {
		o := o
		o.MaxStates = 0
		o.Checkpoint = resumetest.Last(t, new([]byte))
		o.Checkpoint.From, o.Checkpoint.Dir = from, dir
		_, err := search.Run(t.Context(), sys, full.Factory(sys), o)
		return err
	}
	resumetest.Refuses(t, file, resume)
	// The refusals above have removed nothing.
	var wrong *engine.OptionError
	for what, spoil := range map[string]func(b []byte) []byte{
		"missing":   nil,
		"cut off":   func(b []byte) []byte { return b[:len(b)-1] },
		"longer":    func(b []byte) []byte { return append(b, 0) },
		"a byte":    func(b []byte) []byte { b[len(b)/2] ^= 4; return b },
		"a header":  func(b []byte) []byte { b[9]++; return b },
		"its start": func(b []byte) []byte { b[0]++; return b },
	} {
		for _, name := range []string{kept[0], kept[len(kept)-1]} {
			whole, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			os.Remove(name)
			if spoil != nil {
				if err := os.WriteFile(name, spoil(bytes.Clone(whole)), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if err := resume(bytes.NewReader(file)); !errors.As(err, &wrong) ||
				!strings.Contains(err.Error(), filepath.Base(name)) {
				t.Errorf("%s: %v", what, err)
			}
			if err := os.WriteFile(name, whole, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	// A file of a search that has gone on otherwise, under the name of this one.
	o.MaxStates = 300
	before := bytes.Clone(file)
	other := interrupt(t.TempDir())
	for _, name := range other {
		number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(name), "cpor-"), "-")
		if same, _ := filepath.Glob(filepath.Join(dir, "cpor-"+number+"-*")); len(same) == 1 &&
			filepath.Base(same[0]) != filepath.Base(name) {
			whole, err := os.ReadFile(same[0])
			if err != nil {
				t.Fatal(err)
			}
			foreign, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(same[0], foreign, 0o666); err != nil {
				t.Fatal(err)
			}
			if err := resume(bytes.NewReader(before)); !errors.As(err, &wrong) ||
				!strings.Contains(err.Error(), filepath.Base(same[0])) {
				t.Errorf("a foreign file: %v", err)
			}
			if err := os.WriteFile(same[0], whole, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	o.MaxStates = 0
	if err := resume(bytes.NewReader(before)); err != nil {
		t.Errorf("what is whole again: %v", err)
	}
}
