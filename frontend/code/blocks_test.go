package code

import (
	"math/rand/v2"
	"slices"
	"testing"

	"cpor/frontend/code/wasm"
)

// TestBlocks goes random ways through random graphs of blocks, by code and without. Blocks makes no
// code of a graph if and only if it is not reducible.
func TestBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	made, refused := 0, 0
	for range 200 {
		succ := graph(r)
		want := reducible(succ)
		b := NewBuilder(2, true)
		walk, ok := walker(b, succ)
		if ok != want {
			t.Fatalf("%v: code %v, reducible %v", succ, ok, want)
		}
		if !ok {
			refused++
			continue
		}
		made++
		step := stepOf(t, b, walk)
		for range 20 {
			way := r.Uint64()
			if got, want := step([]uint64{way, 0})[1], walked(succ, way); got != want {
				t.Fatalf("%v, way %x: %x, want %x", succ, way, got, want)
			}
		}
	}
	if made < 100 || refused < 20 {
		t.Errorf("%d graphs were made, and %d refused", made, refused)
	}
}

// graph returns a random graph of blocks that can all be reached, in reverse post-order.
func graph(r *rand.Rand) (succ [][]int) {
	n := 1 + r.IntN(12)
	all := make([][]int, n)
	for i := range all {
		for range r.IntN(5) {
			to := r.IntN(n)
			if r.IntN(2) == 0 { // often to somewhere near
				to = min(max(i-2+r.IntN(6), 0), n-1)
			}
			all[i] = append(all[i], to)
		}
	}
	var order []int
	seen := make([]bool, n)
	var visit func(i int)
	visit = func(i int) {
		seen[i] = true
		for _, to := range all[i] {
			if !seen[to] {
				visit(to)
			}
		}
		order = append(order, i)
	}
	visit(0)
	slices.Reverse(order)
	for _, i := range order {
		var to []int
		for _, j := range all[i] {
			to = append(to, slices.Index(order, j))
		}
		succ = append(succ, to)
	}
	return succ
}

// reducible reports whether a graph can be reduced to one node by removing jumps of a node to
// itself, and by making one node of a node and its only predecessor (Hecht and Ullman 1972).
func reducible(succ [][]int) bool {
	to := map[int]map[int]bool{}
	for i, list := range succ {
		to[i] = map[int]bool{}
		for _, j := range list {
			to[i][j] = true
		}
	}
	for again := true; again; {
		again = false
		for i := range to {
			delete(to[i], i)
		}
		for j := range to {
			var from []int
			for i := range to {
				if to[i][j] {
					from = append(from, i)
				}
			}
			if j != 0 && len(from) == 1 {
				i := from[0]
				delete(to[i], j)
				for k := range to[j] {
					to[i][k] = true
				}
				delete(to, j)
				again = true
				break
			}
		}
	}
	return len(to) == 1
}

// most is how many blocks a walk goes through.
const most = 40

// walked returns what a walk adds up; way says where it goes.
func walked(succ [][]int, way uint64) (sum uint64) {
	for i, n := 0, 0; n < most; n++ {
		sum = sum*31 + uint64(i+1)
		if len(succ[i]) == 0 {
			break
		}
		k := way % uint64(len(succ[i]))
		way = way/3 + sum
		i = succ[i][k]
	}
	return sum
}

// walker makes a function whose step walks through the blocks.
func walker(b *Builder, succ [][]int) (walk *wasm.Func, ok bool) {
	walk = stepper(b, func(f *wasm.Func, state wasm.Local) {
		n := f.Local(wasm.I32)
		way, sum, k := f.Local(wasm.I64), f.Local(wasm.I64), f.Local(wasm.I64)
		f.Get(state)
		f.Mem(wasm.I64Load, State)
		f.Set(way)
		over := f.Block()
		ok = Blocks(f, succ, func() { b.Within(f, state) }, func(i int, jump func(to int)) {
			f.Get(sum)
			f.I64(31)
			f.Op(wasm.I64Mul)
			f.I64(int64(i + 1))
			f.Op(wasm.I64Add)
			f.Set(sum)
			f.Get(n)
			f.I32(1)
			f.Op(wasm.I32Add)
			f.Tee(n)
			f.I32(most)
			f.Op(wasm.I32GeU)
			f.BrIf(over)
			if len(succ[i]) == 0 {
				f.Br(over)
				return
			}
			f.Get(way)
			f.I64(int64(len(succ[i])))
			f.Op(wasm.I64RemU)
			f.Set(k)
			f.Get(way)
			f.I64(3)
			f.Op(wasm.I64DivU)
			f.Get(sum)
			f.Op(wasm.I64Add)
			f.Set(way)
			for j, to := range succ[i][1:] {
				f.Get(k)
				f.I64(int64(j + 1))
				f.Op(wasm.I64Eq)
				f.If()
				jump(to)
				f.End()
			}
			jump(succ[i][0])
		})
		f.End()
		f.Get(state)
		f.Get(sum)
		f.Mem(wasm.I64Store, State+8)
	})
	return walk, ok
}
