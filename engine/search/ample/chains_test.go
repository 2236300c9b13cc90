package ample

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"

	"cpor/statestore"
)

// TestChains decides about the states of random graphs with several workers, and sees that every
// state that is not expanded fully leads to one that is.
func TestChains(t *testing.T) {
	justified := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		n := 2 + r.IntN(60)
		next := make([][]statestore.Ref, n+1) // by state
		for i := 1; i <= n; i++ {
			for range 1 + r.IntN(2) {
				next[i] = append(next[i], statestore.Ref(1+r.IntN(n)))
			}
		}
		c := newChains()
		by := make([]bool, n+1) // by state: it is justified
		work := make(chan statestore.Ref, n)
		for _, i := range r.Perm(n) {
			work <- statestore.Ref(i + 1)
		}
		close(work)
		var wg sync.WaitGroup
		for range 1 + seed%4 {
			wg.Go(func() {
				for s := range work {
					if by[s] = c.justify(s, next[s]); !by[s] {
						c.expanded(s)
					}
				}
			})
		}
		wg.Wait()
		// The states that are expanded fully, and those that can lead there.
		ends := make([]bool, n+1)
		for more := true; more; {
			more = false
			for s := 1; s <= n; s++ {
				ok := !by[s]
				for _, to := range next[s] {
					ok = ok || ends[to]
				}
				more = more || ok && !ends[s]
				ends[s] = ends[s] || ok
			}
		}
		for s := 1; s <= n; s++ {
			if by[s] {
				justified++
			}
			if !ends[s] || !c.decided(statestore.Ref(s)) || c.root(c.of(s)) != complete {
				t.Fatalf("seed %d: state %d of %d is put off forever", seed, s, n)
			}
		}
		var b bytes.Buffer
		if err := c.save(&b); err != nil {
			t.Fatal(err)
		}
		b.WriteString("behind")
		again := newChains()
		if err := again.restore(&b); err != nil || b.String() != "behind" {
			t.Fatal(err, b.String())
		}
		for s := 1; s <= n; s++ {
			if again.of(s) != c.of(s) {
				t.Fatalf("seed %d: state %d is in chain %d, before %d", seed, s, again.of(s),
					c.of(s))
			}
		}
		if err := newChains().restore(bytes.NewReader([]byte{9, 0, 0, 0, 0, 0, 0, 0})); err == nil {
			t.Fatal("a damaged memory is restored")
		}
	}
	if justified < 2000 {
		t.Errorf("only %d states are justified", justified)
	}
}

// of returns the chain of a state.
func (c *chains) of(s int) uint32 {
	ref := statestore.Ref(s)
	return c.shard(ref).of[ref] >> 1
}
