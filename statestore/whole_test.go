package statestore

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"cpor/testkit/sample"
)

// TestWhole inserts states into a Tree store, takes them over, inserts more with several sessions,
// and gives all back: at each stage the stores have the states that were inserted, once each, under
// the Refs that they name, with their parents.
func TestWhole(t *testing.T) {
	for seed := range sample.Of[uint64](2, 6, 100) {
		for _, n := range []struct{ samples, before, all int }{
			{50, 1, 400}, {50, 40, 400}, {50, 1000, 3000}, {0, 700, 2500},
		} {
			t.Run(fmt.Sprintf("%d/%d/%d", seed, n.samples, n.before), func(t *testing.T) {
				states, parents := someStates(n.all, seed)
				if seed%3 == 2 { // bits that no state before has
					for i := n.before; i < len(states); i++ {
						if s := states[i]; len(s) > 0 && i%5 == 0 {
							s[i%len(s)] |= 1 << (20 + i%44)
						}
					}
					states, parents = distinct(states, parents)
				}
				tree := mustNew(t, Options{Samples: n.samples, Workers: 4})
				refs := make([]Ref, len(states))
				x := tree.NewSession()
				for i := range n.before {
					refs[i], _, _ = x.Insert(states[i], refOfParent(refs, parents, i))
				}
				p, name, err := TakeOver(tree, Options{})
				if err != nil {
					t.Fatal(err)
				}
				for i := range n.before {
					refs[i] = name(refs[i])
				}
				checkStates(t, p, states[:n.before], parents, refs)
				deferTogether(t, p, states, parents, refs, n.before)
				checkStates(t, p, states, parents, refs)
				back, name, err := p.Return()
				if err != nil {
					t.Fatal(err)
				}
				for i := range refs {
					refs[i] = name(refs[i])
				}
				checkStates(t, back, states, parents, refs)
			})
		}
	}
}

// distinct drops states that are equal to earlier ones. Their children get the parents of these.
func distinct(states [][]uint64, parents []int) (all [][]uint64, of []int) {
	index := map[string]int{}
	at := make([]int, len(states))
	for i, s := range states {
		k := string(stateBytes(s))
		j, ok := index[k]
		if !ok {
			j = len(all)
			index[k] = j
			p := parents[i]
			if p >= 0 {
				p = at[p]
			}
			all, of = append(all, s), append(of, p)
		}
		at[i] = j
	}
	return all, of
}

func refOfParent(refs []Ref, parents []int, i int) Ref {
	if parents[i] < 0 {
		return 0
	}
	return refs[parents[i]]
}

// checkStates checks that a store has these states, and no others.
func checkStates(t *testing.T, st Store, states [][]uint64, parents []int, refs []Ref) {
	t.Helper()
	if st.Len() != uint64(len(states)) {
		t.Fatalf("%d states, want %d", st.Len(), len(states))
	}
	x := st.NewSession()
	for i, s := range states {
		if got := x.Load(refs[i], nil); !slices.Equal(got, s) {
			t.Fatalf("state %d is %x, want %x", i, got, s)
		}
		if r, ok := x.Find(s); !ok || r != refs[i] {
			t.Fatalf("state %d is found at %#x, %v, want %#x", i, r, ok, refs[i])
		}
		checkParent(t, x, refs[i], refOfParent(refs, parents, i))
		if len(s) > 0 {
			other := slices.Clone(s)
			other[0] ^= 1 << 63
			if _, ok := x.Find(other); ok {
				t.Fatalf("state %d is found with another bit", i)
			}
		}
	}
}

// deferTogether inserts the states from the first one on with several sessions at a time, which
// wait for each other before the states of the next generation. Every session inserts every state,
// some of them at once, the others deferred, with what has changed if it can tell.
func deferTogether(t *testing.T, st Store, states [][]uint64, parents []int, refs []Ref,
	first int) {
	t.Helper()
	const workers = 3
	sessions := make([]Deferring, workers)
	for w := range sessions {
		sessions[w] = st.NewSession().(Deferring)
	}
	for first < len(states) {
		end := first
		for end < len(states) && end < first+100 && parents[end] < first {
			end++
		}
		var wg sync.WaitGroup
		for w, x := range sessions {
			wg.Go(func() { insertSome(t, x, w, states[:end], parents, refs, first) })
		}
		wg.Wait()
		for i := first; i < end; i++ {
			var ok bool
			if refs[i], ok = sessions[0].Find(states[i]); !ok {
				t.Fatalf("state %d is not there", i)
			}
		}
		first = end
	}
}

// insertSome inserts the last states, and some earlier ones again.
func insertSome(t *testing.T, x Deferring, w int, states [][]uint64, parents []int, refs []Ref,
	first int) {
	settle := func() {
		if err := x.Settle(func(Ref) error { return nil }); err != nil {
			t.Error(err)
		}
	}
	insert := func(i int) {
		parent := refOfParent(refs, parents, i)
		if (i+w)%7 == 0 {
			if _, _, err := x.Insert(states[i], parent); err != nil {
				t.Error(err)
			}
			return
		}
		var changed []int32
		if parent != 0 && (i+w)%4 > 0 {
			if s := x.Load(parent, nil); len(s) == len(states[i]) {
				for j := range s {
					if s[j] != states[i][j] || (i+j)%5 == 0 {
						changed = append(changed, int32(j))
					}
				}
			}
		}
		if i%11 == 0 {
			x.Load(refs[(i+w)%first], nil) // changed is of no use then
		}
		if ok, err := x.Defer(states[i], parent, changed); !ok || err != nil {
			t.Error(ok, err)
		}
		if (i+w)%20 == 0 {
			settle()
		}
	}
	for i := first; i < len(states); i++ {
		insert(i)
		if i%3 == 0 {
			insert(i * 7 % len(states))
		}
	}
	settle()
}

// TestWholeFull checks that a Whole store without memory says so, and keeps what it has.
func TestWholeFull(t *testing.T) {
	states, parents := someStates(6000, 1)
	tree := mustNew(t, Options{})
	x := tree.NewSession()
	refs := make([]Ref, len(states))
	for i := range 100 {
		refs[i], _, _ = x.Insert(states[i], refOfParent(refs, parents, i))
	}
	if _, _, err := TakeOver(tree, Options{MaxBytes: 1}); err != ErrFull {
		t.Fatalf("TakeOver without memory: %v", err)
	}
	p, name, err := TakeOver(tree, Options{MaxBytes: 100 << 10})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		refs[i] = name(refs[i])
	}
	y := p.NewSession()
	had := 100
	for ; had < len(states) && err == nil; had++ {
		refs[had], _, err = y.Insert(states[had], refOfParent(refs, parents, had))
	}
	if had--; err != ErrFull || had < 200 {
		t.Fatalf("%d states, %v", had, err)
	}
	checkStates(t, p, states[:had], parents, refs)
}
