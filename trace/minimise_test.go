package trace

import (
	"math/rand/v2"
	"testing"
)

// TestSchedules compares the exact schedule with the best of all linear
// extensions of random orders, and checks that the greedy ones are linear
// extensions, too.
func TestSchedules(t *testing.T) {
	for seed := range 500 {
		r := rand.New(rand.NewPCG(uint64(seed), 17))
		n, threads := 1+r.IntN(8), 1+r.IntN(4)
		steps := make([]Step, n)
		preds := make(order, n)
		lastOf := map[int]int32{}
		for i := range steps {
			steps[i].Thread = r.IntN(threads)
			if p, ok := lastOf[steps[i].Thread]; ok {
				preds[i] = append(preds[i], p)
			}
			lastOf[steps[i].Thread] = int32(i)
			for p := range i {
				if r.IntN(4) == 0 {
					preds[i] = append(preds[i], int32(p))
				}
			}
		}
		count := func(perm []int32) int {
			t.Helper()
			if len(perm) != n {
				t.Fatalf("seed %d: a schedule of %d steps of %d", seed, len(perm), n)
			}
			done := make([]bool, n)
			c := make([]Step, 0, n)
			for _, i := range perm {
				for _, p := range preds[i] {
					if !done[p] {
						t.Fatalf("seed %d: %v is not a linear extension", seed, perm)
					}
				}
				if done[i] {
					t.Fatalf("seed %d: %v takes %d twice", seed, perm, i)
				}
				done[i] = true
				c = append(c, steps[i])
			}
			return switches(c)
		}
		best := n
		done := make([]bool, n)
		var try func(k, last, sw int)
		try = func(k, last, sw int) {
			if sw >= best {
				return
			}
			if k == n {
				best = sw
				return
			}
		next:
			for i := range n {
				if done[i] {
					continue
				}
				for _, p := range preds[i] {
					if !done[p] {
						continue next
					}
				}
				done[i] = true
				d := 0
				if k > 0 && steps[i].Thread != last {
					d = 1
				}
				try(k+1, steps[i].Thread, sw+d)
				done[i] = false
			}
		}
		try(0, 0, 0)
		g := newGrid(steps, preds)
		if got := count(g.exact()); got != best {
			t.Fatalf("seed %d: %d switches, the best has %d", seed, got, best)
		}
		for first := range g.rows {
			for _, back := range []bool{false, true} {
				for _, longest := range []bool{false, true} {
					if got := count(g.greedy(first, back, longest)); got < best {
						t.Fatalf("seed %d: greedy has %d switches, the best %d", seed, got, best)
					}
				}
			}
		}
	}
}
