package buchi

import "cpor/ltl/buchi/internal/bdd"

// maxMerge bounds the states of an automaton times those of the one for the
// negation, up to which merging is tried.
const maxMerge = 2000

// mergeStates makes one state of two as long as the language stays the same. Simulation sees
// only states with much the same future. But, for instance, the initial state of <>[]a || []<>b
// may be that of []<>b, too. Merging adds words and removes none, so the language is the same if
// the result has no word in common with negation, an automaton for the rest of the words.
//
// Fewer states that need more guessing are no gain for a search of the product
// with a model, so neither the nondeterministic states nor the edges may become more.
func (g *graph) mergeStates(negation *graph) *graph {
	if len(g.out)*len(negation.out) > maxMerge {
		return g
	}
	for again := true; again; {
		again = false
	pairs:
		for p := range g.out {
			for q := range p {
				h := g.merged(p, q)
				if h.edges() > g.edges() || h.nondeterministic() > g.nondeterministic() ||
					!h.disjoint(negation) {
					continue
				}
				g, again = h, true
				break pairs
			}
		}
	}
	return g
}

// merged returns g with the states p and q as one.
func (g *graph) merged(p, q int) *graph {
	h := g.clone()
	h.out[p] = append(h.out[p], h.out[q]...)
	h.out[q] = nil
	h.final[p] = h.final[p] || h.final[q]
	for _, es := range h.out {
		for i := range es {
			if es[i].dst == q {
				es[i].dst = p
			}
		}
	}
	if h.init == q {
		h.init = p
	}
	return h.trim()
}

// nondeterministic returns the number of states that have two edges for some letter.
func (g *graph) nondeterministic() int {
	n := 0
	for _, es := range g.out {
		seen := bdd.False
		for _, e := range es {
			if g.m.And(seen, e.label) != bdd.False {
				n++
				break
			}
			seen = g.m.Or(seen, e.label)
		}
	}
	return n
}
