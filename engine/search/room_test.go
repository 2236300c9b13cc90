package search_test

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cpor/engine"
	"cpor/engine/checkpoint"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/statestore"
)

// watched is a directory for checkpoints of which is known what it takes.
type watched struct {
	t     *testing.T
	dir   *checkpoint.Dir
	path  string
	store atomic.Uint64 // bytes in memory, as reported last
	told  atomic.Uint64 // how often they were reported

	mu      sync.Mutex
	peak    int64   // since the last checkpoint began
	most    int64   // ever
	log     int64   // at most in files that later checkpoints share
	ratio   float64 // the largest one of a checkpoint's peak and the store in memory
	written int
}

// look notes how much there is.
func (d *watched) look() {
	files, err := os.ReadDir(d.path)
	if err != nil {
		return
	}
	n, log := int64(0), int64(0)
	for _, f := range files {
		st, err := f.Info()
		if err != nil {
			continue // it is just removed
		}
		if n += st.Size(); strings.HasPrefix(f.Name(), "states-") {
			log += st.Size()
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.peak, d.most, d.log = max(d.peak, n), max(d.most, n), max(d.log, log)
}

// atLastSize waits until the search has told the size of its store after a checkpoint, or is at its end.
func (d *watched) atLastSize() uint64 {
	for told, i := d.told.Load(), 0; i < 30 && d.told.Load() < told+2; i++ {
		time.Sleep(time.Millisecond)
	}
	return d.store.Load()
}

// checkpoint returns where a search keeps its checkpoints.
func (d *watched) checkpoint(every time.Duration) *engine.Checkpoint {
	return &engine.Checkpoint{Every: every, Write: func(save func(io.Writer) error) func(error) bool {
		d.mu.Lock()
		d.peak = 0
		d.mu.Unlock()
		p, err := d.dir.Begin(struct{}{}, save)
		if err != nil {
			d.t.Error(err)
			return func(error) bool { return false }
		}
		d.look()
		return func(err error) bool {
			if err == nil {
				err = p.Commit()
			}
			d.look()
			if err == nil {
				err = p.Sweep()
			}
			if err != nil {
				d.t.Error(err)
			}
			store := d.atLastSize()
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.written++; store > 1<<20 {
				d.ratio = max(d.ratio, float64(d.peak)/float64(store))
			}
			return err == nil
		}
	}}
}

// TestRoom looks all the time at the directory of a search that writes one checkpoint after the other, is
// interrupted in between, and goes on: it never takes more than 1.3 times the store in memory. Where the states that
// wait to be expanded stand in each checkpoint, which is so if the store cannot give them back, that holds for the rest.
func TestRoom(t *testing.T) {
	n := 12
	if testing.Short() {
		n = 9
	}
	sys := mustNew(t, counters(5, n))
	for _, kind := range []statestore.Kind{statestore.Tree, statestore.Plain, statestore.Compact} {
		t.Run(kind.String(), func(t *testing.T) {
			o := search.Options{Store: kind, Options: engine.Options{Workers: 2}}
			want, err := search.Run(context.Background(), sys, full.Factory(sys), o)
			if err != nil {
				t.Fatal(err)
			}
			d := &watched{t: t, path: t.TempDir()}
			stop, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				for {
					select {
					case <-stop:
						return
					case <-time.After(time.Millisecond):
						d.look()
					}
				}
			}()
			o.Progress = func(p engine.Progress) {
				d.store.Store(p.StoreBytes)
				d.told.Add(1)
			}
			o.ProgressInterval = time.Millisecond
			var got *search.Result
			for part := uint64(1); part <= 3; part++ {
				if d.dir, err = checkpoint.OpenDir(d.path); err != nil {
					t.Fatal(err)
				}
				o.Checkpoint = d.checkpoint(20 * time.Millisecond)
				if part > 1 {
					r, err := checkpoint.Open(d.path, &struct{}{})
					if err != nil {
						t.Fatal(err)
					}
					defer r.Close()
					o.Checkpoint.From = r
				}
				if o.MaxStates = part * want.States / 3; part == 3 {
					o.MaxStates = 0
				}
				if got, err = search.Run(context.Background(), sys, full.Factory(sys), o); err != nil {
					t.Fatal(err)
				}
				d.store.Store(got.StoreBytes)
				d.dir.Close()
			}
			close(stop)
			<-done
			if shown(got) != shown(want) {
				t.Errorf("with checkpoints:\n%swithout:\n%s", shown(got), shown(want))
			}
			times := func(n int64) float64 { return float64(n) / float64(got.StoreBytes) }
			t.Logf("%d checkpoints; at most %.2f times the store in the end, %.2f times at its time; %.2f times in what they share",
				d.written, times(d.most), d.ratio, times(d.log))
			if kind != statestore.Compact && max(times(d.most), d.ratio) > 1.3 || times(d.log) > 1 {
				t.Errorf("at most %.2f times the store in the end, %.2f times at its time; %.2f times in what they share",
					times(d.most), d.ratio, times(d.log))
			}
			if d.written < 3 || d.ratio == 0 {
				t.Errorf("%d checkpoints", d.written)
			}
		})
	}
}
