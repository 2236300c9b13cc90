package buchi

import "cpor/ltl/buchi/internal/bdd"

// maxOrders is the largest number of acceptance sets of a component for which all
// orders are tried (24 for 4).
const maxOrders = 4

// degeneralise returns an automaton with state-based acceptance for the words of g in which also
// each of the conditions, Boolean functions of the atoms, is true infinitely often. A condition
// is an acceptance set of its own. As a set of g it would cost twice the edges.
//
// In a component with k acceptance sets a state becomes pairs (state, level): level l waits for
// a mark of the set order[l], and level k is final and counts as level 0 afterwards. An edge may
// climb several levels (Giannakopoulou and Lerda 2002). This is done for one strongly connected
// component at a time (Babiak, Badie, Duret-Lutz, Kretinsky and Strejcek 2013): a word's fate is
// decided in the component where its run stays, so that every component has its own number and
// order of sets, and a run may enter it at any level. Of the pairs only a bottom component is
// needed, since that contains each state of the original one at some level. We take the smallest
// of all bottom components for all orders.
func (g *graph) degeneralise(conditions []bdd.Node) *graph {
	s := g.structure()
	// place[q] is a new state for q; expanded components have more.
	place := make([]int, len(g.out))
	r := &graph{m: g.m}
	add := func(final bool) int {
		r.out = append(r.out, nil)
		r.final = append(r.final, final)
		return len(r.out) - 1
	}
	members := make([][]int, s.count)
	for q := range g.out {
		if c := s.comp[q]; c >= 0 {
			members[c] = append(members[c], q)
		}
	}
	type pair struct{ q, level int }
	for c, qs := range members {
		l := levels{g: g, conditions: conditions, s: s, c: c, qs: qs, index: map[int]int{}}
		for i, q := range qs {
			l.index[q] = i
		}
		k := 0
		if s.accepting[c] {
			var marks []uint64
			for _, q := range qs {
				for _, e := range g.out[q] {
					if s.comp[e.dst] == c {
						marks = append(marks, e.acc)
					}
				}
			}
			l.sets = irredundant(marks, g.sets)
			for i := range conditions {
				l.sets = append(l.sets, g.sets+i)
			}
			k = len(l.sets)
		}
		if k == 0 { // all cycles accept, or none
			for _, q := range qs {
				place[q] = add(s.accepting[c])
			}
			for _, q := range qs {
				for _, e := range g.out[q] {
					r.out[place[q]] = append(r.out[place[q]], edge{e.label, 0, place[e.dst]})
				}
			}
			continue
		}
		chosen := l.smallest()
		number := map[pair]int{}
		for i := len(chosen.vertices) - 1; i >= 0; i-- { // the lowest level is the way in
			v := chosen.vertices[i]
			q, level := qs[v/(k+1)], v%(k+1)
			number[pair{q, level}] = add(level == k)
			place[q] = number[pair{q, level}]
		}
		for _, v := range chosen.vertices {
			q, level := qs[v/(k+1)], v%(k+1)
			from := number[pair{q, level}]
			for _, e := range g.out[q] {
				if s.comp[e.dst] != c {
					r.out[from] = append(r.out[from], edge{e.label, 0, place[e.dst]})
					continue
				}
				for _, up := range l.climb(level, e, chosen.order) {
					r.out[from] = append(r.out[from],
						edge{up.label, 0, number[pair{e.dst, up.level}]})
				}
			}
		}
	}
	r.init = place[g.init]
	return r.trim()
}

// levels is the search for the best expansion of one accepting component.
type levels struct {
	g          *graph
	conditions []bdd.Node
	s          structure
	c          int
	qs         []int
	index      map[int]int // state -> position in qs
	sets       []int       // from g.sets on they are conditions
}

// A step is what an edge does to the level when it reads a letter of its label.
type step struct {
	label bdd.Node
	level int
}

// climb divides an edge by the level that it leads to.
func (l *levels) climb(level int, e edge, order []int) []step {
	if level == len(order) {
		level = 0
	}
	var steps []step
	rest := e.label
	for ; level < len(order); level++ {
		i := order[level]
		if i < l.g.sets {
			if e.acc>>i&1 == 1 {
				continue
			}
			return append(steps, step{rest, level})
		}
		if stays := l.g.m.Diff(rest, l.conditions[i-l.g.sets]); stays != bdd.False {
			steps = append(steps, step{stays, level})
		}
		if rest = l.g.m.And(rest, l.conditions[i-l.g.sets]); rest == bdd.False {
			return steps
		}
	}
	return append(steps, step{rest, level})
}

type expansion struct {
	order    []int
	vertices []int // (position in qs) * (k+1) + level, increasing
}

func (l *levels) smallest() expansion {
	var best expansion
	permutations(len(l.sets), func(p []int) bool {
		order := make([]int, len(p))
		for i, j := range p {
			order[i] = l.sets[j]
		}
		if vs := l.bottom(order); best.vertices == nil || len(vs) < len(best.vertices) {
			best = expansion{order, vs}
		}
		return len(p) <= maxOrders
	})
	return best
}

// bottom returns the smallest bottom component of the pairs for one order of the sets.
func (l *levels) bottom(order []int) []int {
	k := len(order)
	n := len(l.qs) * (k + 1)
	succ := make([][]int, n)
	roots := make([]int, n)
	for v := range n {
		roots[v] = v
		for _, e := range l.g.out[l.qs[v/(k+1)]] {
			if l.s.comp[e.dst] == l.c {
				for _, up := range l.climb(v%(k+1), e, order) {
					succ[v] = append(succ[v], l.index[e.dst]*(k+1)+up.level)
				}
			}
		}
	}
	comp, count := components(n, roots, func(v int) []int { return succ[v] })
	members := make([][]int, count)
	leaves := make([]bool, count)
	for v := range n {
		members[comp[v]] = append(members[comp[v]], v)
		for _, w := range succ[v] {
			leaves[comp[v]] = leaves[comp[v]] || comp[w] != comp[v]
		}
	}
	var best []int
	for c := range count {
		if !leaves[c] && (best == nil || len(members[c]) < len(best)) {
			best = members[c]
		}
	}
	return best
}
