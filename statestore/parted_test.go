package statestore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"cpor/testkit/sample"
)

// TestParted inserts chains of states into three stores at a time, as the ranks
// of a cluster do, and looks for every parent in all of them: samples and
// other states, parents of the same store and of others.
func TestParted(t *testing.T) {
	const stores = 3
	var all [stores]Session
	for i := range all {
		s, err := New(Options{Kind: Tree})
		if err != nil {
			t.Fatal(err)
		}
		all[i] = s.NewSession()
	}
	type at struct {
		store  int
		ref    Ref
		parent int // the state's number
	}
	n := sample.Of(8_000, 8_000, 60_000)
	state := func(i int) []uint64 {
		s := []uint64{uint64(i), uint64(i % 7), uint64(i / 11),
			uint64(i) * 0x9E3779B97F4A7C15 >> 50}
		return s[:2+i%3] // three lengths
	}
	var states []at
	for i := range n {
		me := at{store: int(uint64(i) * 0xD6E8FEB86659FD93 >> 33 % stores), parent: -1}
		var parent Ref
		if i > 0 {
			me.parent = i * 3 / 4
			p := states[me.parent]
			parent = p.ref
			if p.store != me.store {
				parent = Away(parent)
			}
		}
		ref, added, err := all[me.store].Insert(state(i), parent)
		if err != nil || !added {
			t.Fatalf("state %d: added %v, %v", i, added, err)
		}
		me.ref = ref
		states = append(states, me)
	}
	for i, me := range states {
		hint := all[me.store].(Parted).Hint(me.ref)
		if i == 0 {
			if hint != 0 {
				t.Errorf("the initial state has the hint %#x", hint)
			}
			continue
		}
		want := states[me.parent]
		found := false
		for j := range all {
			h := hint
			if j != me.store {
				h = Foreign(h)
			}
			all[j].(Parted).Candidates(h, func(r Ref) bool {
				s := all[j].Load(r, nil)
				if j == want.store && slices.Equal(s, state(me.parent)) {
					found = true
				}
				return !found
			})
		}
		if !found {
			t.Fatalf("state %d of store %d: its parent %d of store %d is not among the "+
				"candidates of %#x", i, me.store, me.parent, want.store, hint)
		}
	}
}

// otherwise is a placing by which states stand otherwise in parts of odd numbers.
type otherwise struct {
	of  func([]uint64) int
	buf []uint64
}

func (x *otherwise) Place(s []uint64) (int, []uint64) {
	i := x.of(s)
	x.buf = x.Here(i, x.buf, s)
	return i, x.buf
}

func (x *otherwise) Here(i int, dst, s []uint64) []uint64 {
	dst = append(dst[:0], s...)
	if i%2 == 1 {
		dst[len(dst)-1] = ^dst[len(dst)-1]
	}
	return dst
}

// joinedStore joins so many stores; of says which of them a state is in.
func joinedStore(t *testing.T, parts int) (store Store, all []Store, of func([]uint64) int) {
	t.Helper()
	of = func(s []uint64) int { return int(s[0] * 0xD6E8FEB86659FD93 >> 40 % uint64(parts)) }
	for range parts {
		s, err := New(Options{Kind: Tree})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	store, err := Join(all, func() Placing { return &otherwise{of: of} })
	if err != nil {
		t.Fatal(err)
	}
	return store, all, of
}

// TestJoined inserts random graphs of states into a joined store, and as much into its
// parts apart: the same states are new, each is loaded as it was, and its parent is among
// its candidates.
func TestJoined(t *testing.T) {
	n := sample.Of(6_000, 6_000, 40_000)
	for _, parts := range []int{1, 2, 5, MaxJoined} {
		t.Run(fmt.Sprint(parts), func(t *testing.T) {
			store, all, of := joinedStore(t, parts)
			x := store.NewSession()
			r := rand.New(rand.NewPCG(uint64(parts), 3))
			state := func(i int) []uint64 {
				return []uint64{uint64(i), uint64(i % 7), uint64(i / 11)}[:2+i%2]
			}
			refs, parents := []Ref{}, []int{}
			for i := range n {
				parent := -1
				var p Ref
				if i > 0 {
					parent = r.IntN(i)
					p = refs[parent]
				}
				ref, added, err := x.Insert(state(i), p)
				if err != nil || !added {
					t.Fatalf("state %d: added %v, %v", i, added, err)
				}
				if at, _ := Apart(ref); at != of(state(i)) {
					t.Fatalf("state %d is in part %d, want %d", i, at, of(state(i)))
				}
				refs, parents = append(refs, ref), append(parents, parent)
				old := r.IntN(i + 1)
				if _, added, _ := x.Insert(state(old), refs[0]); added {
					t.Fatalf("state %d is new again", old)
				}
			}
			if store.Len() != uint64(n) || store.Stats().States != uint64(n) {
				t.Errorf("%d states, want %d", store.Len(), n)
			}
			for i, parent := range parents {
				if got := x.Load(refs[i], nil); !slices.Equal(got, state(i)) {
					t.Fatalf("state %d is loaded as %v", i, got)
				}
				if at, ref := Apart(refs[i]); at%2 == 1 &&
					slices.Equal(all[at].NewSession().Load(ref, nil), state(i)) {
					t.Fatalf("state %d stands as it is in part %d", i, at)
				}
				if ref, ok := x.Find(state(i)); !ok {
					t.Fatalf("state %d is not found", i)
				} else if got := x.Load(ref, nil); !slices.Equal(got, state(i)) {
					t.Fatalf("state %d is found as %v", i, got)
				}
				found := parent < 0
				x.Parents(refs[i], func(ref Ref) bool {
					found = found || slices.Equal(x.Load(ref, nil), state(max(parent, 0)))
					return !found
				})
				if !found {
					t.Fatalf("state %d: its parent %d is not among the candidates", i, parent)
				}
			}
		})
	}
	if _, err := Join(make([]Store, MaxJoined+1), nil); err == nil {
		t.Error("too many stores are joined")
	}
}

// TestJoinedDeferring defers the insertions into a joined store, as a search does: each state is
// told to be new once, a part whose states stand otherwise is not misled by what has changed,
// and after an error no state is covered that was not told.
func TestJoinedDeferring(t *testing.T) {
	const n = 12_000
	for _, parts := range []int{1, 2, 5} {
		store, _, _ := joinedStore(t, parts)
		x := store.NewSession().(Deferring)
		r := rand.New(rand.NewPCG(uint64(parts), 5))
		state := func(i int) []uint64 { return []uint64{uint64(i), uint64(i % 7), uint64(i / 11)} }
		told := map[Ref]bool{}
		var refs []Ref
		added := func(ref Ref) error {
			if told[ref] {
				t.Fatalf("%d parts: the state %x is new again", parts, ref)
			}
			told[ref] = true
			refs = append(refs, ref)
			return nil
		}
		first, _, err := x.Insert(state(0), 0)
		if err != nil {
			t.Fatal(err)
		}
		added(first)
		insert := func(i int, parent Ref, changed []int32) {
			t.Helper()
			ok, err := x.Defer(state(i), parent, changed)
			if err == nil && !ok {
				var ref Ref
				if ref, ok, err = x.Insert(state(i), parent); ok {
					added(ref)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for len(refs) < n {
			parent := refs[r.IntN(len(refs))]
			from := x.Load(parent, nil)
			for range 1 + r.IntN(8) {
				i := r.IntN(n)
				var changed []int32
				for k, w := range state(i) {
					if w != from[k] {
						changed = append(changed, int32(k))
					}
				}
				insert(i, parent, changed)
			}
			if err := x.Settle(added); err != nil {
				t.Fatal(err)
			}
		}
		for i := range n {
			if ref, ok := x.Find(state(i)); !ok || !told[ref] || !slices.Equal(x.Load(ref, nil),
				state(i)) {
				t.Fatalf("%d parts: state %d is found as %x: %v", parts, i, ref, ok)
			}
		}
		// The third new state of sixty is refused.
		for i := n; i < n+60; i++ {
			insert(i, first, nil)
		}
		refused := errors.New("refused")
		before, left := store.Len(), 3
		if err := x.Settle(func(Ref) error {
			if left--; left == 0 {
				return refused
			}
			return nil
		}); err != refused || store.Len() != before+3 {
			t.Errorf("%d parts: %v after %d new states", parts, err, store.Len()-before)
		}
		count := uint64(0)
		for i := n; i < n+60; i++ {
			insert(i, first, nil)
		}
		if err := x.Settle(func(Ref) error { count++; return nil }); err != nil || count != 57 ||
			store.Len() != before+60 {
			t.Errorf("%d parts: %v, %d of 57 states that had been dropped are new", parts, err,
				count)
		}
	}
}
