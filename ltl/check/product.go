package check

import (
	"fmt"
	"slices"

	"cpor/ltl/buchi"
)

// product is the product of a program graph and an automaton, explored on
// demand. A vertex is (node, state of the automaton, level) as one number; the
// levels are those of the fairness counter, one without fairness.
//
// The automaton reads the label of the node that it leaves.
type product struct {
	g       *Graph
	a       *buchi.Automaton
	letters []uint64 // by node
	threads int      // whose fairness counts; 0 without fairness
	levels  uint64
	states  uint64 // of the automaton
}

// newProduct prepares the product. threads is 0 without fairness. atoms gives the
// number of the proposition for each atom of the automaton.
func newProduct(g *Graph, a *buchi.Automaton, atoms []int, threads int) *product {
	p := &product{g: g, a: a, threads: threads, levels: 1, states: uint64(a.States())}
	if threads > 0 {
		p.levels = uint64(threads) + 2
	}
	p.letters = make([]uint64, g.States())
	for id := range p.letters {
		label := g.label(uint32(id))
		for i, at := range atoms {
			p.letters[id] |= label[at/64] >> (at % 64) & 1 << i
		}
	}
	return p
}

// size returns the number of vertices, reachable or not.
func (p *product) size() uint64 { return uint64(len(p.letters)) * p.states * p.levels }

func (p *product) vertex(id uint32, q int, level uint64) uint64 {
	return (uint64(id)*p.states+uint64(q))*p.levels + level
}

func (p *product) split(v uint64) (id uint32, q int, level uint64) {
	level = v % p.levels
	v /= p.levels
	return uint32(v / p.states), int(v % p.states), level
}

func (p *product) initial() []uint64 {
	var vs []uint64
	for _, id := range p.g.initial {
		vs = append(vs, p.vertex(id, p.a.Init, 0))
	}
	return vs
}

// accepting tells whether a vertex is accepting. With fairness the last level
// is: it is reached when the automaton's condition and that of each thread, in
// this order, have been met since the last time.
func (p *product) accepting(v uint64) bool {
	_, q, level := p.split(v)
	if p.threads == 0 {
		return p.a.Accepting[q]
	}
	return level == p.levels-1
}

// stutter is the number of the edge that a state without enabled threads has
// to itself.
const stutter = -1

// successors calls yield for the successors of a vertex with the number of the
// program edge that leads there.
func (p *product) successors(v uint64, yield func(to uint64, edge int)) {
	id, q, level := p.split(v)
	nd := p.g.node(id)
	if !nd.expanded {
		return
	}
	for _, t := range p.a.Out[q] {
		if !t.Label.Matches(p.letters[id]) {
			continue
		}
		if len(nd.edges) == 0 {
			yield(p.vertex(id, t.Dst, p.nextLevel(nd, q, level, stutter)), stutter)
			continue
		}
		for i := range nd.edges {
			yield(p.vertex(nd.edges[i].to, t.Dst, p.nextLevel(nd, q, level, i)), i)
		}
	}
}

// nextLevel moves the fairness counter past all conditions that are met: level
// 0 waits for the automaton, level i for thread i-1 to move or be disabled.
func (p *product) nextLevel(nd *node, q int, level uint64, e int) uint64 {
	if p.threads == 0 {
		return 0
	}
	if level == p.levels-1 {
		level = 0
	}
	for level < p.levels-1 {
		if level == 0 {
			if !p.a.Accepting[q] {
				break
			}
		} else if t := uint32(level - 1); e != stutter && nd.edges[e].thread != t && nd.enabled(t) {
			break
		}
		level++
	}
	return level
}

// enabled tells whether a thread is enabled in a state of an unreduced graph.
func (n *node) enabled(t uint32) bool {
	return slices.ContainsFunc(n.edges, func(e edge) bool { return e.thread == t })
}

// step is a step of a path in the product: an edge of a node.
type step struct {
	id   uint32
	edge int
}

// path returns the steps of a shortest path, of at least one step, from one of
// some vertices to another one, and the vertex where it starts.
func (p *product) path(from []uint64, to uint64, empty bool) ([]step, uint64, error) {
	type origin struct {
		v    uint64
		edge int
	}
	parent := map[uint64]origin{}
	var queue []uint64
	const root = -2
	for _, v := range from {
		if empty && v == to {
			return nil, v, nil
		}
		if empty {
			parent[v] = origin{v, root}
		}
		queue = append(queue, v)
	}
	found := false
	for i := 0; i < len(queue) && !found; i++ {
		v := queue[i]
		p.successors(v, func(w uint64, e int) {
			if _, ok := parent[w]; ok || found {
				return
			}
			parent[w] = origin{v, e}
			queue = append(queue, w)
			found = w == to
		})
	}
	if !found {
		return nil, 0, fmt.Errorf("internal error: there is no way to the vertex that the search found")
	}
	var steps []step
	for v := to; ; {
		o := parent[v]
		if o.edge == root {
			slices.Reverse(steps)
			return steps, v, nil
		}
		id, _, _ := p.split(o.v)
		steps = append(steps, step{id, o.edge})
		v = o.v
		if !empty && slices.Contains(from, v) {
			slices.Reverse(steps)
			return steps, v, nil
		}
	}
}
