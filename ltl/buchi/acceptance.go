package buchi

import (
	"math/bits"
	"slices"
)

// dropSets removes acceptance sets that follow from another one: set i is superfluous if
// every edge in some set j is in i, too. It does so for the whole graph; the components
// keep their numbering in common, which helps simulation to compare them.
func (g *graph) dropSets() {
	s := g.structure()
	var marks []uint64
	for q, es := range g.out {
		for _, e := range es {
			if c := s.comp[q]; c >= 0 && c == s.comp[e.dst] && s.accepting[c] {
				marks = append(marks, e.acc)
			}
		}
	}
	keep := irredundant(marks, g.sets)
	g.renumberSets(func(int) []int { return keep }, max(1, len(keep)), s)
}

// dropSetsPerComponent does the same within each component, and renumbers: the number
// of sets becomes that of the component with the most.
func (g *graph) dropSetsPerComponent() {
	s := g.structure()
	marks := make([][]uint64, s.count)
	for q, es := range g.out {
		for _, e := range es {
			if c := s.comp[q]; c >= 0 && c == s.comp[e.dst] {
				marks[c] = append(marks[c], e.acc)
			}
		}
	}
	keep := make([][]int, s.count)
	most := 1
	for c := range keep {
		if s.accepting[c] {
			keep[c] = irredundant(marks[c], g.sets)
			most = max(most, len(keep[c]))
		}
	}
	g.renumberSets(func(c int) []int { return keep[c] }, most, s)
}

// renumberSets keeps the sets that keep gives for each accepting component, in that
// order, and puts its edges in all of the others, up to n.
func (g *graph) renumberSets(keep func(component int) []int, n int, s structure) {
	for q, es := range g.out {
		c := s.comp[q]
		for i := range es {
			e := &es[i]
			if c < 0 || c != s.comp[e.dst] || !s.accepting[c] {
				e.acc = 0
				continue
			}
			kept := keep(c)
			acc := allSets(n) &^ allSets(len(kept))
			for j, old := range kept {
				acc |= e.acc >> old & 1 << j
			}
			e.acc = acc
		}
	}
	g.sets = n
	g.mergeEdges()
}

// irredundant returns the sets that remain when the implied ones are removed,
// given the marks of the edges of accepting components.
func irredundant(marks []uint64, sets int) []int {
	gone := uint64(0)
	for i := range sets {
		for j := -1; j < sets; j++ { // -1 is the set of all edges
			if j == i || j >= 0 && gone>>j&1 == 1 {
				continue
			}
			implied := true
			for _, m := range marks {
				if (j < 0 || m>>j&1 == 1) && m>>i&1 == 0 {
					implied = false
					break
				}
			}
			if implied {
				gone |= 1 << i
				break
			}
		}
	}
	var keep []int
	for rest := allSets(sets) &^ gone; rest != 0; rest &= rest - 1 {
		keep = append(keep, bits.TrailingZeros64(rest))
	}
	return keep
}

// A mode of moving marks through states within a component. A run that takes
// one edge into a state infinitely often takes one out of it infinitely often, so a mark
// on all edges on one side may be on the other side as well, or instead.
type markMode int

const (
	marksAsTheyAre markMode = iota
	marksSaturated          // on both sides
	marksPulled             // from the outgoing to the incoming edges
	marksPushed             // from the incoming to the outgoing edges
)

// moveMarks changes the marks on the edges inside components according to the mode.
func (g *graph) moveMarks(mode markMode) {
	if mode == marksAsTheyAre {
		return
	}
	s := g.structure()
	inside := func(q int, e edge) bool { return s.comp[q] >= 0 && s.comp[q] == s.comp[e.dst] }
	n := len(g.out)
	all := allSets(g.sets)
	for changed := true; changed; {
		changed = false
		in, out := make([]uint64, n), make([]uint64, n)
		for q := range n {
			in[q], out[q] = all, all
		}
		for q, es := range g.out {
			for _, e := range es {
				if inside(q, e) {
					in[e.dst] &= e.acc
					out[q] &= e.acc
				}
			}
		}
		for q, es := range g.out {
			for i := range es {
				if e := &es[i]; inside(q, *e) {
					if acc := e.acc | in[q] | out[e.dst]; acc != e.acc {
						e.acc = acc
						changed = true
					}
				}
			}
		}
		if changed || mode == marksSaturated {
			continue
		}
		// Saturated. A mark that all edges on one side of a state have stays there
		// only for the sake of the other side, unless that side's other end needs it.
		for q, es := range g.out {
			for i := range es {
				if e := &es[i]; inside(q, *e) {
					if mode == marksPulled {
						e.acc = e.acc&^out[q] | out[e.dst]
					} else {
						e.acc = e.acc&^in[e.dst] | in[q]
					}
				}
			}
		}
	}
}

// setFinals gives the states in accepting components as many (most) or as few final marks as the
// language allows. A state may be final if all cycles through it have a final state.
func (g *graph) setFinals(most bool) {
	s := g.structure()
	if !most {
		// Remove marks one by one where every cycle through the state keeps another one.
		for q := range g.out {
			if s.comp[q] >= 0 && g.final[q] {
				g.final[q] = false
				if g.onRejectingCycle(q, s) {
					g.final[q] = true
				}
			}
		}
		return
	}
	// The cycles without a final state are those of the components without final states.
	n := len(g.out)
	var roots []int
	for q := range n {
		if s.comp[q] >= 0 {
			roots = append(roots, q)
		}
	}
	inner := make([][]int, n)
	for q, es := range g.out {
		if g.final[q] {
			continue
		}
		for _, e := range es {
			if s.comp[q] == s.comp[e.dst] && !g.final[e.dst] {
				inner[q] = append(inner[q], e.dst)
			}
		}
	}
	comp, count := components(n, roots, func(v int) []int { return inner[v] })
	cyclic := make([]bool, count)
	for q := range n {
		for _, w := range inner[q] {
			cyclic[comp[q]] = cyclic[comp[q]] || comp[q] == comp[w]
		}
	}
	for q := range n {
		if s.comp[q] >= 0 && s.accepting[s.comp[q]] && !cyclic[comp[q]] {
			g.final[q] = true
		}
	}
}

// onRejectingCycle reports whether a cycle through q has no final state.
func (g *graph) onRejectingCycle(q int, s structure) bool {
	seen := make([]bool, len(g.out))
	todo := []int{q}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, e := range g.out[p] {
			if s.comp[e.dst] != s.comp[q] || g.final[e.dst] {
				continue
			}
			if e.dst == q {
				return true
			}
			if !seen[e.dst] {
				seen[e.dst] = true
				todo = append(todo, e.dst)
			}
		}
	}
	return false
}

// markTransientStates sets final on the states that no cycle contains, to which it makes no
// difference.
func (g *graph) markTransientStates(final bool) {
	s := g.structure()
	for q := range g.out {
		if c := s.comp[q]; c >= 0 && !s.cyclic[c] {
			g.final[q] = final
		}
	}
}

// permutations calls yield with each order of 0..n-1 until it returns false.
func permutations(n int, yield func([]int) bool) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	for {
		if !yield(order) {
			return
		}
		// The next one in lexicographic order.
		i := n - 2
		for i >= 0 && order[i] > order[i+1] {
			i--
		}
		if i < 0 {
			return
		}
		j := n - 1
		for order[j] < order[i] {
			j--
		}
		order[i], order[j] = order[j], order[i]
		slices.Reverse(order[i+1:])
	}
}
