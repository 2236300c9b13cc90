package statestore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// TestDefer inserts the same states in several sessions, most of them deferred and
// in batches: each is reported once, and is there afterwards.
func TestDefer(t *testing.T) {
	st := mustNew(t, Options{Kind: Tree, Workers: 3})
	const n = 20000
	state := func(i int) []uint64 {
		return []uint64{uint64(i % 7), uint64(i / 7 % 50),
			uint64(i / 350), 5}
	}
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
				if ok, err := x.Defer(s, 0, nil); err != nil {
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
		t.Errorf("%d states stored and %d reported of %d, %d insertions deferred", st.Len(),
			len(found), n, deferred)
	}
	x := st.NewSession()
	for i := range n {
		ref, ok := x.Find(state(i))
		if !ok || found[ref] != 1 {
			t.Fatalf("state %d: found %v, reported %d times", i, ok, found[ref])
		}
	}
}

// TestSettleStops: an error ends it, and what was not completed is dropped, so it can be inserted
// again.
func TestSettleStops(t *testing.T) {
	tree := mustNew(t, Options{Kind: Tree})
	x := tree.NewSession()
	for i := range 5000 {
		if _, _, err := x.Insert([]uint64{uint64(i), 1, 2}, 0); err != nil {
			t.Fatal(err)
		}
	}
	whole, _, err := TakeOver(tree, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range []Store{tree, whole} {
		x := st.NewSession().(Deferring)
		for _, want := range []error{errors.New("stop"), nil} {
			for i := range 4 {
				if ok, err := x.Defer([]uint64{uint64(i), 7, 2}, 0, nil); !ok || err != nil {
					t.Fatal(ok, err)
				}
			}
			if err := x.Settle(func(Ref) error { return want }); err != want {
				t.Errorf("%v, want %v", err, want)
			}
		}
		if st.Len() != 5004 {
			t.Errorf("%d states", st.Len())
		}
	}
}

// TestChanged defers states with the words that a move has changed, which are named twice and
// together with others now and then, while other states are inserted in between: each
// state is found by a session that compares whole states.
func TestChanged(t *testing.T) {
	st := mustNew(t, Options{Kind: Tree})
	x := st.NewSession().(Deferring)
	r := rand.New(rand.NewPCG(3, 4))
	var refs []Ref
	add := func(ref Ref) error {
		refs = append(refs, ref)
		return nil
	}
	first := make([]uint64, 12)
	ref, _, err := x.Insert(first, 0)
	if err != nil {
		t.Fatal(err)
	}
	refs = append(refs, ref)
	want := map[string]bool{fmt.Sprint(first): true}
	var s, end []uint64
	for i := 0; len(refs) < 20000; i++ {
		parent := refs[r.IntN(len(refs))]
		s = x.Load(parent, s)
		for range 4 {
			end = append(end[:0], s...)
			var changed []int32
			for range 1 + r.IntN(3) {
				w := r.IntN(len(end))
				end[w] = uint64(r.IntN(9)) << (w * 4)
				changed = append(changed, int32(w), int32(r.IntN(len(end))), int32(w))
			}
			want[fmt.Sprint(end)] = true
			switch ok, err := x.Defer(end, parent, changed); {
			case err != nil:
				t.Fatal(err)
			case !ok || i%7 == 0: // the second time it is there, but for a store of samples
				if err := x.Settle(add); err != nil {
					t.Fatal(err)
				}
				if ref, added, err := x.Insert(end, parent); err != nil || added && ok {
					t.Fatal(added, ok, err)
				} else if added {
					refs = append(refs, ref)
				}
			case i%5 == 0: // makes another state the base
				other := slices.Clone(end)
				for w := range other {
					other[w] ^= 1 << (w * 4)
				}
				x.Find(other)
			}
		}
		if i%3 == 0 {
			if err := x.Settle(add); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := x.Settle(add); err != nil {
		t.Fatal(err)
	}
	y := st.NewSession()
	for _, ref := range refs {
		if s = y.Load(ref, s); !want[fmt.Sprint(s)] {
			t.Fatalf("state %v is stored, and was not inserted", s)
		}
	}
	if len(refs) != len(want) || st.Len() != uint64(len(want)) {
		t.Errorf("%d states reported, %d stored, %d inserted", len(refs), st.Len(), len(want))
	}
}
