package search_test

import (
	"testing"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/statestore"
	"cpor/system"
)

// wisher says what it wishes of the store: at first, and after some states.
type wisher struct {
	search.Expander
	states, changes int
	first, then     wish
}

type wish struct{ wants, refuses bool }

func (x *wisher) Expand(s system.State, v search.Visitor) {
	x.states++
	x.Expander.Expand(s, v)
}

func (x *wisher) Whole(bool) (wants, refuses bool) {
	w := x.first
	if x.states > x.changes {
		w = x.then
	}
	return w.wants, w.refuses
}

// TestWishes: one worker is enough for states to be stored whole. They stay so if the others do not
// know yet whether they gain from that, and not if one refuses.
func TestWishes(t *testing.T) {
	wants, refuses, unsure := wish{wants: true}, wish{refuses: true}, wish{}
	for _, test := range []struct {
		name             string
		first, then, own wish // own is that of the other worker
		kind             statestore.Kind
	}{
		{"both want", wants, wants, wants, statestore.Plain},
		{"one wants", wants, wants, unsure, statestore.Plain},
		{"none wants", unsure, unsure, unsure, statestore.Tree},
		{"one refuses later", wants, refuses, unsure, statestore.Tree},
	} {
		t.Run(test.name, func(t *testing.T) {
			sys := mustNew(t, counters(6, 5))
			made := 0
			factory := func() search.Expander {
				x := &wisher{full.New(sys), 0, 500, test.first, test.then}
				if made++; made > 1 {
					x.first, x.then = test.own, test.own
				}
				return x
			}
			r, err := search.Run(t.Context(), sys, factory,
				search.Options{Options: engine.Options{Workers: 2}})
			if err != nil || r.States != 46656 {
				t.Fatal(r.States, err)
			}
			if r.Store.Kind != test.kind {
				t.Errorf("the states are in a %v store, want %v", r.Store.Kind, test.kind)
			}
		})
	}
}
