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
// A loop becomes a loop of WebAssembly. Its blocks and its inner loops follow each other, as do
// those outside of loops; each is reached by a branch out of a block of WebAssembly that ends
// there. See Ramsey, "Beyond Relooper" (ICFP 2022).
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
	outer []int         // the loop around each loop
	items map[int][]int // of each loop: its blocks, and the loops in it, by number
}

const outside = -1

// newNest returns the loops; nil if one has several entries.
func newNest(succ [][]int) *nest {
	from := make([][]int, len(succ))
	for i, list := range succ {
		for _, to := range list {
			from[to] = append(from[to], i)
		}
	}
	g := &nest{slices.Repeat([]int{outside}, len(succ)), make([]int, len(succ)), map[int][]int{}}
	for first := range succ {
		var todo []int // from these, jumps lead to the first block without leaving the loop
		for _, i := range from[first] {
			if i >= first {
				todo = append(todo, i)
			}
		}
		if todo == nil {
			continue
		}
		g.outer[first], g.loop[first] = g.loop[first], first
		for len(todo) > 0 {
			i := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if i < first {
				return nil
			}
			if g.loop[i] != first {
				g.loop[i] = first
				todo = append(todo, from[i]...)
			}
		}
	}
	// A loop is entered at its first block, so jumps between items lead to higher numbers.
	for i, loop := range g.loop {
		if loop == i {
			g.items[g.outer[i]] = append(g.items[g.outer[i]], i)
		}
		g.items[loop] = append(g.items[loop], i)
	}
	return g
}

// within reports whether a block is in a loop that begins with another one.
func (g *nest) within(block, first int) bool {
	if g.loop[first] != first {
		return false
	}
	in := g.loop[block]
	for in > first {
		in = g.outer[in]
	}
	return in == first
}
