package statestore

import (
	"slices"
	"testing"
)

// TestParted inserts chains of states into three stores at a time, as the ranks
// of a cluster do, and looks for every parent in all of them: young and old
// states, parents of the same store and of others.
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
	n := 60_000
	if testing.Short() {
		n = 8_000
	}
	state := func(i int) []uint64 {
		s := []uint64{uint64(i), uint64(i % 7), uint64(i / 11), uint64(i) * 0x9E3779B97F4A7C15 >> 50}
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
			t.Fatalf("state %d of store %d: its parent %d of store %d is not among the candidates of %#x", i, me.store, me.parent, want.store, hint)
		}
	}
}
