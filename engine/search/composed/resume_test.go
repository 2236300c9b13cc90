package composed_test

import (
	"bytes"
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/composed"
	"cpor/frontend/model"
	"cpor/testkit/fakeranks"
	"cpor/testkit/resumetest"
)

// TestResumeCuts interrupts searches that have cut moves off, and cut none off when they continue:
// that they did is not forgotten, since such a search is not a pass.
func TestResumeCuts(t *testing.T) {
	m, err := model.Parse("cuts.model", `
var x, y int
var z, w atomic int
mutex m
thread T() { lock(m); x++; y++; x++; y++; x++; y++; unlock(m); go U(); go V() }
thread U() { for range 20 { z = 1 - z } }
thread V() { for range 20 { w = 1 - w } }
init { go T() }
`, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	explore := func(o search.Options) (*search.Result, uint64, error) {
		cuts := new(atomic.Uint64)
		f, err := composed.Factory(m.System(), composed.Options{MaxInvisible: 3, Cuts: cuts})
		if err != nil {
			return nil, 0, err
		}
		o.Counts = []*atomic.Uint64{cuts}
		res, err := search.Run(context.Background(), m.System(), f, o)
		return res, cuts.Load(), err
	}
	whole, cuts, err := explore(search.Options{})
	if err != nil || !whole.Exhaustive || cuts == 0 {
		t.Fatalf("%v, %v, %d moves cut off", err, whole, cuts)
	}
	check := func(name string, res *search.Result, got uint64) {
		t.Helper()
		if !res.Exhaustive || res.States != whole.States || got != cuts {
			t.Errorf("%s: %s, %d states, %d moves cut off; without an interruption %d, %d", name,
				res.Reason, res.States, got, whole.States, cuts)
		}
	}
	for _, disk := range []string{"", filepath.Join(t.TempDir(), "disk")} {
		var file []byte
		o := search.Options{Options: engine.Options{MaxStates: whole.States / 2, Disk: disk}}.With(
			search.Sizes{SpillEvery: whole.States / 8})
		o.Checkpoint = resumetest.Last(t, &file)
		o.Checkpoint.Dir = t.TempDir()
		if res, _, err := explore(o); err != nil || res.Exhaustive || file == nil {
			t.Fatal(err, res)
		}
		o.MaxStates, o.Checkpoint.From = 0, bytes.NewReader(file)
		res, got, err := explore(o)
		if err != nil {
			t.Fatal(err)
		}
		check("one process with the disk "+disk, res, got)
	}
	s := new(resumetest.Shelf)
	for _, c := range []struct {
		ranks int
		most  uint64
	}{{3, whole.States / 3}, {2, whole.States * 2 / 3}, {4, 0}} {
		results, all := make([]*search.Result, c.ranks), make([]uint64, c.ranks)
		kept := make([]*engine.Checkpoint, c.ranks)
		for i := range kept {
			kept[i] = s.Checkpoint(0)
		}
		err := fakeranks.Run(c.ranks, fakeranks.Options{},
			func(rank int, comm engine.Comm) (err error) {
				results[rank], all[rank], err = explore(search.Options{
					Options: engine.Options{MaxStates: c.most, Ranks: comm,
						Checkpoint: kept[rank]}})
				return err
			})
		if err != nil {
			t.Fatal(err)
		}
		if c.most == 0 {
			for rank := range c.ranks {
				check("ranks", results[rank], all[rank])
			}
		}
	}
}
