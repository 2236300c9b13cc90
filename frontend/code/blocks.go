package code

import (
	"slices"

	"cpor/frontend/code/wasm"
)

// Blocks makes code of blocks that jump to each other. Execution begins with the first; succ has
// the blocks that each may jump to, and all jumps lead to later blocks but those of loops. body
// makes a block, and has to end it with a jump or a return. again makes code that is executed at
// the beginning of each pass of a loop.
//
// WebAssembly only has blocks and loops within each other, so each loop is to be entered at its
// first block only. Otherwise Blocks makes nothing and returns false.
//
// A loop becomes a loop of WebAssembly. In it, as in all that is outside of loops, its blocks and
// its inner loops follow each other such that jumps lead forward; each is reached by a branch out
// of a block of WebAssembly that ends there. See Ramsey, "Beyond Relooper" (ICFP 2022).
func Blocks(
	f *wasm.Func, succ [][]int, again func(), body func(i int, jump func(to int)),
) bool {
	g := newNest(succ)
	if g == nil {
		return false
	}
	b := blocks{f, g, again, body, make([]wasm.Label, len(succ)), make([]wasm.Label, len(succ))}
	b.region(outside)
	return true
}

// blocks is the code that Blocks makes.
type blocks struct {
	f      *wasm.Func
	nest   *nest
	again  func()
	body   func(i int, jump func(to int))
	labels []wasm.Label // of each block, to come to it from outside the loop that begins there
	loops  []wasm.Label // of the loop that begins with the block
}

// region makes the code of a loop, or of all that is outside of loops.
func (b *blocks) region(loop int) {
	items := b.nest.items[loop]
	for _, i := range slices.Backward(items[1:]) {
		b.labels[i] = b.f.Block()
	}
	for k, i := range items {
		if k > 0 {
			b.f.End()
		}
		if b.nest.items[i] == nil || i == loop {
			b.body(i, func(to int) { b.f.Br(b.label(i, to)) })
			continue
		}
		b.loops[i] = b.f.Loop()
		b.again()
		b.region(i)
		b.f.End()
	}
}

// label returns the label for a jump.
func (b *blocks) label(from, to int) wasm.Label {
	if b.nest.within(from, to) {
		return b.loops[to]
	}
	return b.labels[to]
}

// nest is how the loops of some blocks are within each other. A loop has the number of its first
// block; outside stands for what is in no loop.
type nest struct {
	loop  []int         // the innermost loop of each block
	outer map[int]int   // the loop around each loop
	items map[int][]int // of each loop: its blocks, and the loops in it, in the order of the code
}

const outside = -1

// newNest returns the loops; nil if one has several entries.
func newNest(succ [][]int) *nest {
	n := len(succ)
	from := make([][]int, n)
	for i, list := range succ {
		for _, to := range list {
			from[to] = append(from[to], i)
		}
	}
	g := &nest{slices.Repeat([]int{outside}, n), map[int]int{}, map[int][]int{}}
	// A block is in the last loop, by its number, in which it is.
	for first := range n {
		in := map[int]bool{first: true}
		var todo []int
		for _, i := range from[first] {
			if i >= first {
				todo = append(todo, i)
			}
		}
		if todo == nil {
			continue
		}
		g.outer[first] = g.loop[first]
		g.loop[first] = first
		for len(todo) > 0 {
			i := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if in[i] {
				continue
			}
			if i < first {
				return nil
			}
			in[i], g.loop[i] = true, first
			todo = append(todo, from[i]...)
		}
	}
	g.arrange(succ)
	return g
}

// within reports whether a block is in a loop.
func (g *nest) within(block, loop int) bool {
	if _, ok := g.outer[loop]; !ok {
		return false
	}
	in := g.loop[block]
	for in != outside && in != loop {
		in = g.outer[in]
	}
	return in == loop
}

// item returns the part of a loop that a block is, or is in; false if it is not in the loop.
func (g *nest) item(block, loop int) (int, bool) {
	item, in := block, g.loop[block]
	for in != loop {
		if in == outside {
			return 0, false
		}
		item, in = in, g.outer[in]
	}
	return item, true
}

// arrange finds the order of the items: of those that only jumps from earlier ones lead to, the
// first by number comes first.
func (g *nest) arrange(succ [][]int) {
	type place struct{ loop, item int }
	waits := map[place]int{} // how many jumps lead there from other items
	jumps := map[place][]int{}
	all := map[int][]int{}
	for i, list := range succ {
		loops := []int{outside}
		for in := g.loop[i]; in != outside; in = g.outer[in] {
			loops = append(loops, in)
		}
		for _, loop := range loops {
			item, _ := g.item(i, loop)
			if item == i {
				all[loop] = append(all[loop], i)
			}
			for _, to := range list {
				if next, ok := g.item(to, loop); ok && next != item && to != loop {
					waits[place{loop, next}]++
					jumps[place{loop, item}] = append(jumps[place{loop, item}], next)
				}
			}
		}
	}
	for loop, items := range all {
		var ready []int
		for _, i := range items {
			if waits[place{loop, i}] == 0 {
				ready = append(ready, i)
			}
		}
		for len(ready) > 0 {
			k := slices.Index(ready, slices.Min(ready))
			i := ready[k]
			ready = slices.Delete(ready, k, k+1)
			g.items[loop] = append(g.items[loop], i)
			for _, next := range jumps[place{loop, i}] {
				if waits[place{loop, next}]--; waits[place{loop, next}] == 0 {
					ready = append(ready, next)
				}
			}
		}
	}
}
