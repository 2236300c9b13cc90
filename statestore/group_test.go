package statestore

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestInsertAll compares with Insert, across the moment at which the shape is learned, with
// states of two lengths, and with known changes.
func TestInsertAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	all, _ := New(Options{Kind: Tree, Samples: 64})
	one, _ := New(Options{Kind: Tree, Samples: 64})
	x, y := all.NewSession().(Grouping), one.NewSession()
	random := func() []uint64 {
		s := make([]uint64, 2+rng.IntN(2))
		for i := range s {
			s[i] = uint64(rng.IntN(12))
		}
		return s
	}
	from := random()
	parent, _, _ := x.Insert(from, 0)
	if ref, _, _ := y.Insert(from, 0); ref != parent {
		t.Fatalf("the initial state: %v, want %v", parent, ref)
	}
	for range 2000 {
		from = x.Load(parent, nil)
		y.Load(parent, nil)
		n := rng.IntN(9)
		states, changed := make([][]uint64, n), make([][]int32, n)
		for i := range states {
			if states[i] = random(); rng.IntN(2) == 0 {
				w := rng.IntN(len(from))
				states[i] = slices.Clone(from)
				states[i][w] = uint64(rng.IntN(12))
				changed[i] = []int32{int32(w)}
			}
		}
		refs, err := x.InsertAll(parent, n, func(i int) ([]uint64, []int32) {
			return states[i], changed[i]
		}, []Ref{7})
		if err != nil || len(refs) != n+1 || refs[0] != 7 {
			t.Fatalf("InsertAll of %d states: %v, %v", n, refs, err)
		}
		for i, s := range states {
			ref, _, err := y.Insert(s, parent)
			got := x.Load(refs[i+1], nil)
			if err != nil || !slices.Equal(got, s) || ref != refs[i+1] {
				t.Fatalf("%v has the reference %v of %v, want %v (%v)", s, refs[i+1], got, ref, err)
			}
			x.Load(parent, nil)
		}
		if n > 0 {
			parent = refs[1+rng.IntN(n)]
		}
	}
	if a, b := all.Len(), one.Len(); a != b {
		t.Errorf("%d states, want %d", a, b)
	}
}
