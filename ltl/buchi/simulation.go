package buchi

import "cpor/ltl/buchi/internal/bdd"

// maxSimulation is the largest number of edges for which simulation is
// computed: a round compares each with each.
const maxSimulation = 2500

// relation[p][q] says that q simulates p.
type relation [][]bool

// An arc is an edge as seen from one end: for direct simulation other is the
// target, for reverse simulation the source.
type arc struct {
	label bdd.Node
	acc   uint64
	other int
}

// simulation computes the greatest direct simulation: q simulates p if q is final when p
// is, and whatever p can read q can read, too, with at least the same marks, to a
// state that simulates p's target (Etessami and Holzmann 2000; Somenzi and
// Bloem 2000). With reverse it looks at incoming edges, and q has to be initial if p is.
func (g *graph) simulation(reverse bool) relation {
	n := len(g.out)
	arcs := make([][]arc, n)
	for q, es := range g.out {
		for _, e := range es {
			if reverse {
				arcs[e.dst] = append(arcs[e.dst], arc{e.label, e.acc, q})
			} else {
				arcs[q] = append(arcs[q], arc{e.label, e.acc, e.dst})
			}
		}
	}
	rel := make(relation, n)
	for p := range rel {
		rel[p] = make([]bool, n)
		for q := range rel[p] {
			rel[p][q] = (!g.isFinal(p) || g.isFinal(q)) && (!reverse || p != g.init || q == g.init)
		}
	}
	// States are numbered breadth first, so that this order goes mostly against
	// the direction of the arcs, and news travels far in one round.
	order := make([]int, n)
	for i := range order {
		order[i] = i
		if !reverse {
			order[i] = n - 1 - i
		}
	}
	for changed := true; changed; {
		changed = false
		for _, p := range order {
			for _, q := range order {
				if p != q && rel[p][q] && !g.matches(arcs[p], arcs[q], rel) {
					rel[p][q] = false
					changed = true
				}
			}
		}
	}
	return rel
}

// matches reports whether the arcs of q can answer all those of p.
func (g *graph) matches(p, q []arc, rel relation) bool {
	for _, a := range p {
		missing := a.label
		for _, b := range q {
			if missing == bdd.False {
				break
			}
			if a.acc&^b.acc == 0 && rel[a.other][b.other] {
				missing = g.m.Diff(missing, b.label)
			}
		}
		if missing != bdd.False {
			return false
		}
	}
	return true
}

// reduceBySimulation returns the quotient of g by simulation equivalence, without
// the edges that another edge makes superfluous.
func (g *graph) reduceBySimulation(reverse bool) *graph {
	n := len(g.out)
	if g.edges() > maxSimulation {
		return g
	}
	rel := g.simulation(reverse)
	class := g.representatives(rel, reverse)
	r := &graph{m: g.m, init: class[g.init], sets: g.sets, out: make([][]edge, n), final: g.final}
	for q, es := range g.out {
		for _, e := range es {
			switch {
			case reverse && class[e.dst] == e.dst:
				r.out[class[q]] = append(r.out[class[q]], e)
			case !reverse && class[q] == q:
				e.dst = class[e.dst]
				r.out[q] = append(r.out[q], e)
			}
		}
	}
	r.mergeEdges()
	// Remove dominated edges ("little brothers").
	if reverse {
		r.pruneReverse(rel)
	} else {
		for q, es := range r.out {
			pruned := make([]edge, len(es))
			for i, e := range es {
				for j, f := range es {
					if i != j && e.acc&^f.acc == 0 && rel[e.dst][f.dst] {
						e.label = r.m.Diff(e.label, f.label)
					}
				}
				pruned[i] = e
			}
			r.out[q] = withoutFalse(pruned)
		}
	}
	return r.trim()
}

// representatives returns one member of each class, by state. One is enough, since the classes that
// it does not reach it surpasses: the one with the fewest edges on the side that counts.
func (g *graph) representatives(rel [][]bool, reverse bool) []int {
	n := len(g.out)
	degree := make([]int, n)
	for q, es := range g.out {
		for _, e := range es {
			if reverse {
				degree[e.dst]++
			} else {
				degree[q]++
			}
		}
	}
	class := make([]int, n)
	for p := range n {
		best := p
		for q := range n {
			if rel[p][q] && rel[q][p] && (degree[q] < degree[best] || degree[q] == degree[best] &&
				q < best) {
				best = q
			}
		}
		class[p] = best
	}
	return class
}

// pruneReverse takes from each edge what a simulating state reads to the same target.
func (g *graph) pruneReverse(rel relation) {
	type incoming struct{ src, i int }
	in := make([][]incoming, len(g.out))
	for q, es := range g.out {
		for i, e := range es {
			in[e.dst] = append(in[e.dst], incoming{q, i})
		}
	}
	old := g.clone()
	for _, list := range in {
		for _, a := range list {
			for _, b := range list {
				e, f := &g.out[a.src][a.i], old.out[b.src][b.i]
				if a.src != b.src && e.acc&^f.acc == 0 && rel[a.src][b.src] {
					e.label = g.m.Diff(e.label, f.label)
				}
			}
		}
	}
	for q, es := range g.out {
		g.out[q] = withoutFalse(es)
	}
}

func withoutFalse(es []edge) []edge {
	kept := es[:0]
	for _, e := range es {
		if e.label != bdd.False {
			kept = append(kept, e)
		}
	}
	return kept
}

// reduce applies direct and reverse simulation until neither helps.
func (g *graph) reduce() *graph {
	for {
		states, edges := len(g.out), g.edges()
		g = g.reduceBySimulation(false)
		g = g.reduceBySimulation(true)
		if len(g.out) == states && g.edges() >= edges {
			return g
		}
	}
}
