package statestore

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
)

// TestDefer inserts the same states in several sessions, most of them deferred and
// in batches: each is reported once, and is there afterwards.
func TestDefer(t *testing.T) {
	st := mustNew(t, Options{Kind: Tree, Workers: 3})
	const n = 20000
	state := func(i int) []uint64 { return []uint64{uint64(i % 7), uint64(i / 7 % 50), uint64(i / 350), 5} }
	var mu sync.Mutex
	found := map[Ref]int{}
	deferred := 0
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			x := st.NewSession().(Deferring)
			r := rand.New(rand.NewPCG(uint64(w), 1))
			tell := func(ref Ref) error {
				mu.Lock()
				defer mu.Unlock()
				found[ref]++
				return nil
			}
			for k, i := range r.Perm(2 * n) {
				s := state(i % n)
				if ok, err := x.Defer(s, 0); err != nil {
					t.Error(err)
				} else if ok {
					mu.Lock()
					deferred++
					mu.Unlock()
				} else if ref, added, err := x.Insert(s, 0); err != nil {
					t.Error(err)
				} else if added {
					tell(ref)
				}
				if k%9 == 0 {
					if err := x.Settle(tell); err != nil {
						t.Error(err)
					}
				}
			}
			if err := x.Settle(tell); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if st.Len() != n || len(found) != n || deferred < 3*n {
		t.Errorf("%d states stored and %d reported of %d, %d insertions deferred", st.Len(), len(found), n, deferred)
	}
	x := st.NewSession()
	for i := range n {
		ref, ok := x.Find(state(i))
		if !ok || found[ref] != 1 {
			t.Fatalf("state %d: found %v, reported %d times", i, ok, found[ref])
		}
	}
}

// TestSettleStops: an error ends it, and what was not completed is dropped.
func TestSettleStops(t *testing.T) {
	st := mustNew(t, Options{Kind: Tree})
	x := st.NewSession().(Deferring)
	for i := range 5000 {
		if _, _, err := x.Insert([]uint64{uint64(i), 1, 2}, 0); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 4 {
		if ok, err := x.Defer([]uint64{uint64(i), 7, 2}, 0); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	stop := errors.New("stop")
	if err := x.Settle(func(Ref) error { return stop }); err != stop || st.Len() != 5001 {
		t.Errorf("%v, %d states", err, st.Len())
	}
	if err := x.Settle(func(Ref) error { return stop }); err != nil {
		t.Error(err)
	}
}
