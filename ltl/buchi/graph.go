package buchi

import (
	"cmp"
	"slices"

	"cpor/ltl/buchi/internal/bdd"
)

// graph is an automaton during the translation: a label is any Boolean function of
// the atoms. If final is nil, acceptance is generalized and on the edges; else it is
// on the states, sets is 0 and all edges have acc 0.
type graph struct {
	m     *bdd.Manager
	init  int
	sets  int
	out   [][]edge
	final []bool
}

type edge struct {
	label bdd.Node
	acc   uint64
	dst   int
}

// emptyGraph has one state and accepts nothing.
func emptyGraph(m *bdd.Manager) *graph { return &graph{m: m, sets: 1, out: [][]edge{nil}} }

func (g *graph) clone() *graph {
	c := *g
	c.out = make([][]edge, len(g.out))
	for q, es := range g.out {
		c.out[q] = slices.Clone(es)
	}
	c.final = slices.Clone(g.final)
	return &c
}

// equal reports whether two graphs are the same, numbers included.
func (g *graph) equal(h *graph) bool {
	return g.init == h.init && g.sets == h.sets && slices.Equal(g.final, h.final) &&
		slices.EqualFunc(g.out, h.out, slices.Equal[[]edge])
}

func (g *graph) isFinal(q int) bool { return g.final != nil && g.final[q] }

func (g *graph) edges() int {
	n := 0
	for _, es := range g.out {
		n += len(es)
	}
	return n
}

func (g *graph) components() (comp []int, count int) {
	return components(len(g.out), []int{g.init}, func(v int) []int {
		list := make([]int, len(g.out[v]))
		for i, e := range g.out[v] {
			list[i] = e.dst
		}
		return list
	})
}

// mergeEdges joins the edges of a state that have the same target: those with equal marks become
// one, and what an edge with more marks reads is taken from one with fewer. The result is
// sorted.
func (g *graph) mergeEdges() {
	for q, es := range g.out {
		slices.SortFunc(es, func(a, b edge) int {
			return cmp.Or(cmp.Compare(a.dst, b.dst), cmp.Compare(a.acc, b.acc),
				cmp.Compare(a.label, b.label))
		})
		var merged []edge
		for _, e := range es {
			if n := len(merged); n > 0 && merged[n-1].dst == e.dst && merged[n-1].acc == e.acc {
				merged[n-1].label = g.m.Or(merged[n-1].label, e.label)
			} else {
				merged = append(merged, e)
			}
		}
		kept := merged[:0:0]
		for i, e := range merged {
			for j, f := range merged {
				if i != j && e.dst == f.dst && e.acc&^f.acc == 0 {
					e.label = g.m.Diff(e.label, f.label)
				}
			}
			if e.label != bdd.False {
				kept = append(kept, e)
			}
		}
		g.out[q] = kept
	}
}

// structure is what the strongly connected components say about a graph.
type structure struct {
	comp      []int
	count     int
	cyclic    []bool // the component has an edge inside
	accepting []bool // ... and an accepting cycle
}

func (g *graph) structure() structure {
	s := structure{}
	s.comp, s.count = g.components()
	s.cyclic = make([]bool, s.count)
	s.accepting = make([]bool, s.count)
	seen := make([]uint64, s.count)
	for q, es := range g.out {
		c := s.comp[q]
		if c < 0 {
			continue
		}
		for _, e := range es {
			if s.comp[e.dst] == c {
				s.cyclic[c] = true
				seen[c] |= e.acc
				if g.final != nil && g.final[q] {
					s.accepting[c] = true
				}
			}
		}
	}
	if g.final == nil {
		for c := range s.count {
			s.accepting[c] = s.cyclic[c] && seen[c] == allSets(g.sets)
		}
	}
	return s
}

// upwards returns the reachable states, those of a component after those of the
// components below it.
func (s *structure) upwards() []int {
	var order []int
	for q, c := range s.comp {
		if c >= 0 {
			order = append(order, q)
		}
	}
	slices.SortStableFunc(order, func(p, q int) int { return cmp.Compare(s.comp[p], s.comp[q]) })
	return order
}

// trim returns g without the states that are unreachable or have no accepting
// run, numbered in breadth-first order. Marks on edges that no accepting cycle has are removed, as
// are final states outside accepting components.
func (g *graph) trim() *graph {
	s := g.structure()
	useful := slices.Clone(s.accepting)
	for _, q := range s.upwards() {
		for _, e := range g.out[q] {
			useful[s.comp[q]] = useful[s.comp[q]] || useful[s.comp[e.dst]]
		}
	}
	if !useful[s.comp[g.init]] {
		r := emptyGraph(g.m)
		if g.final != nil {
			r.final, r.sets = []bool{false}, 0
		}
		return r
	}
	number := make([]int, len(g.out))
	for q := range number {
		number[q] = -1
	}
	number[g.init] = 0
	order := []int{g.init}
	r := &graph{m: g.m, sets: g.sets}
	for i := 0; i < len(order); i++ {
		q := order[i]
		var out []edge
		for _, e := range g.out[q] {
			if !useful[s.comp[e.dst]] {
				continue
			}
			if number[e.dst] < 0 {
				number[e.dst] = len(order)
				order = append(order, e.dst)
			}
			if s.comp[q] != s.comp[e.dst] || !s.accepting[s.comp[q]] {
				e.acc = 0
			}
			e.dst = number[e.dst]
			out = append(out, e)
		}
		r.out = append(r.out, out)
		if g.final != nil {
			r.final = append(r.final, g.final[q] && s.accepting[s.comp[q]])
		}
	}
	r.mergeEdges()
	return r
}
