package search_test

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"cpor/testkit/sample"

	"cpor/engine"
	"cpor/engine/checkpoint"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/statestore"
)

// watched is a directory for checkpoints of which is known what it takes.
type watched struct {
	t    *testing.T
	dir  *checkpoint.Dir
	path string

	mu      sync.Mutex
	peak    int64 // since the last checkpoint began
	most    int64 // ever
	log     int64 // at most in files that later checkpoints share
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

// checkpoint returns where a search keeps its checkpoints.
func (d *watched) checkpoint(every time.Duration) *engine.Checkpoint {
	return &engine.Checkpoint{
		Every: every, Write: func(save func(io.Writer) error) func(error) bool {
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
				d.mu.Lock()
				defer d.mu.Unlock()
				d.written++
				return err == nil
			}
		}}
}

// TestRoom looks all the time at the directory of a search that writes one checkpoint after the
// other, is interrupted in between, and continues: it never takes more than 1.3 times the store in
// memory. Where the states that wait to be expanded are in each checkpoint, which is so if the
// store cannot give them back, that holds for the rest.
func TestRoom(t *testing.T) {
	n, every := 12, 20*time.Millisecond
	switch {
	case sample.Race:
		n, every = 6, 200*time.Millisecond
	case !sample.Long():
		n = 8
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
			var got *search.Result
			const parts = 6
			ratio := 0.0 // of what the last checkpoint of a part took, and the store at that time
			for part := uint64(1); part <= parts; part++ {
				if d.dir, err = checkpoint.OpenDir(d.path); err != nil {
					t.Fatal(err)
				}
				o.Checkpoint = d.checkpoint(every)
				if part > 1 {
					r, err := checkpoint.Open(d.path, &struct{}{})
					if err != nil {
						t.Fatal(err)
					}
					defer r.Close()
					o.Checkpoint.From = r
				}
				if o.MaxStates = part * want.States / parts; part == parts {
					o.MaxStates = 0
				}
				if got, err = search.Run(context.Background(), sys, full.Factory(sys),
					o); err != nil {
					t.Fatal(err)
				}
				d.dir.Close()
				if part < parts && got.StoreBytes > 1<<19 {
					d.mu.Lock()
					ratio = max(ratio, float64(d.peak)/float64(got.StoreBytes))
					d.mu.Unlock()
				}
			}
			close(stop)
			<-done
			if shown(got) != shown(want) {
				t.Errorf("with checkpoints:\n%swithout:\n%s", shown(got), shown(want))
			}
			times := func(n int64) float64 { return float64(n) / float64(got.StoreBytes) }
			t.Logf("%d checkpoints; at most %.2f times the store in the end, %.2f times at its "+
				"time; %.2f times in what they share",
				d.written, times(d.most), ratio, times(d.log))
			if kind != statestore.Compact && max(times(d.most), ratio) > 1.3 || times(d.log) > 1 {
				t.Errorf("at most %.2f times the store in the end, %.2f times at its time; %.2f "+
					"times in what they share",
					times(d.most), ratio, times(d.log))
			}
			if d.written < parts-1 || ratio == 0 && !sample.Race {
				t.Errorf("%d checkpoints", d.written)
			}
		})
	}
}
