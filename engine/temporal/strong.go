package temporal

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	"cpor/engine"
	"cpor/statestore"
	"cpor/trace"
)

// whole is the whole reachable product of a program with an automaton, for strong fairness.
type whole struct {
	region   // arcs has those of the vertices that were expanded
	vertices []vertex
	before   []int32  // the vertex from which it was come to; -1 for an initial one
	on       []int32  // by vertex: which of sets
	sets     [][]bool // sets of threads that are enabled

	index map[vertex]int
	known map[string]int32 // the numbers of sets
}

func newWhole() *whole { return &whole{index: map[vertex]int{}, known: map[string]int32{}} }

// add returns the number of a vertex, a new one if it has none.
func (g *whole) add(s *exploration, v vertex, before int) int {
	i, ok := g.index[v]
	if !ok {
		i = len(g.vertices)
		g.index[v] = i
		g.vertices, g.before = append(g.vertices, v), append(g.before, int32(before))
		g.accepting = append(g.accepting, s.accepting(v.at))
	}
	return i
}

// enabled returns the number of a set of threads.
func (g *whole) enabled(set []bool) int32 {
	var key []byte
	for t, on := range set {
		if on {
			key = binary.AppendUvarint(key, uint64(t))
		}
	}
	k, ok := g.known[string(key)]
	if !ok {
		k = int32(len(g.sets))
		g.sets = append(g.sets, slices.Clone(set))
		g.known[string(key)] = k
	}
	return k
}

// expanded keeps the arcs of a vertex.
func (g *whole) expanded(s *exploration, out []arc) {
	g.arcs = append(g.arcs, out)
	s.hold(out)
}

// hold accounts for the memory of a vertex and its arcs.
func (s *exploration) hold(out []arc) {
	s.stacks.Add(int64(len(out))*int64(unsafe.Sizeof(arc{})) + 128)
}

// strongly searches for a reachable cycle of the product that is accepting and strongly
// fair: see the package documentation. It is the counterpart of run, with one worker. The product
// can be saved while it is built; to take vertices away begins again then.
func (s *exploration) strongly(watch *engine.Watch) (err error) {
	s.watch = watch
	ctx := watch.Context()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	release := s.heed(ctx)
	defer release()
	if err := watch.Err(); err != nil {
		s.fail(err)
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("internal error: %v", r)
		}
	}()
	s.pool.open(1)
	built := s.whole.build(s)
	if built {
		s.strong = s.whole.fair(s)
	}
	release()
	if s.err == nil && !built {
		return errPaused
	}
	return s.err
}

// build makes the product, or what is missing of it. It returns false if the search has to stop.
func (g *whole) build(s *exploration) bool {
	w := s.workers[0]
	x := w.x
	for i, st := range s.sys.Initial() {
		ref, _, err := x.session.Insert(st, 0)
		if err != nil {
			w.refuse(err)
			return false
		}
		if k := g.add(s, vertex{ref, uint32(s.a.Init)}, -1); k == len(g.initial) {
			g.initial, g.from = append(g.initial, k), append(g.from, i)
		}
	}
	var refs []statestore.Ref
	for i := len(g.arcs); i < len(g.vertices); i++ {
		v := g.vertices[i]
		w.opening = false
		if !w.step() {
			return false
		}
		w.opening = true
		if !x.claim(v, func() []statestore.Ref { return g.path(i) }) {
			return false
		}
		if x.mine {
			w.transitions += uint64(len(x.moves))
		}
		set := g.enabled(x.enabled)
		refs = refs[:0]
		for _, mv := range x.moves {
			ref, _, err := x.session.Insert(x.words[mv.from:mv.to], v.ref)
			if err != nil {
				w.refuse(err)
				return false
			}
			refs = append(refs, ref)
		}
		var out []arc
		x.arcs(v.at, func(to uint32, mv int) {
			if mv < 0 {
				out = append(out, arc{g.add(s, vertex{v.ref, to}, i), -1, 0})
			} else {
				out = append(out, arc{g.add(s, vertex{refs[mv], to}, i), x.moves[mv].thread,
					x.moves[mv].alt})
			}
		})
		g.on = append(g.on, set)
		g.expanded(s, out)
	}
	w.opening = false
	return true
}

// path returns the program states on the way to a vertex.
func (g *whole) path(v int) []statestore.Ref {
	var refs []statestore.Ref
	for ; v >= 0; v = int(g.before[v]) {
		if n := len(refs); n == 0 || refs[n-1] != g.vertices[v].ref {
			refs = append(refs, g.vertices[v].ref)
		}
	}
	slices.Reverse(refs)
	return refs
}

// fair returns a lasso whose loop is accepting and strongly fair; nil if there is none.
// It takes away vertices through which no such loop leads, until none is left or a
// component has one that leads through all of it.
func (g *whole) fair(s *exploration) *strongLasso {
	left := make([]bool, len(g.vertices))
	for v := range left {
		left[v] = true
	}
	for more := true; more && !s.stop.Load(); {
		more = false
		comp := g.components(func(v int) bool { return left[v] })
		n := 0
		for _, c := range comp {
			n = max(n, c+1)
		}
		// Of each component: whether it has a cycle, an accepting vertex, which threads
		// are enabled somewhere in it, and which move within it.
		cycle, accepts := make([]bool, n), make([]bool, n)
		on, takes := make([]threadSet, n), make([]threadSet, n)
		first := make([]int, n)
		for v := len(comp) - 1; v >= 0; v-- {
			c := comp[v]
			if c < 0 {
				continue
			}
			first[c] = v
			accepts[c] = accepts[c] || g.accepting[v]
			for t, is := range g.sets[g.on[v]] {
				if is {
					on[c].add(t)
				}
			}
			for _, a := range g.arcs[v] {
				if comp[a.to] == c {
					cycle[c] = true
					if a.thread >= 0 {
						takes[c].add(a.thread)
					}
				}
			}
		}
		best := -1
		for c := range n {
			if cycle[c] && accepts[c] && on[c].within(takes[c]) &&
				(best < 0 || first[c] < first[best]) {
				best = c
			}
		}
		if best >= 0 {
			return g.lasso(first[best], comp)
		}
		for v, c := range comp {
			if c < 0 {
				continue
			}
			drop := !cycle[c] || !accepts[c]
			for t, is := range g.sets[g.on[v]] {
				drop = drop || is && !takes[c].has(t)
			}
			if drop {
				left[v], more = false, true
			}
		}
	}
	return nil
}

// threadSet is a set of threads.
type threadSet []uint64

func (s *threadSet) add(t int) {
	for len(*s) <= t/64 {
		*s = append(*s, 0)
	}
	(*s)[t/64] |= 1 << (t % 64)
}

func (s threadSet) has(t int) bool { return t/64 < len(s) && s[t/64]>>(t%64)&1 != 0 }

func (s threadSet) within(o threadSet) bool {
	for i, w := range s {
		if i >= len(o) {
			if w != 0 {
				return false
			}
		} else if w&^o[i] != 0 {
			return false
		}
	}
	return true
}

// strongLasso is an execution that a search for strong fairness has found.
type strongLasso struct {
	initial    int
	stem, loop []trace.Step
}

// lasso returns an execution that comes to the component of a vertex on a shortest way and
// goes round in it, past an accepting vertex, so that every thread moves that is enabled
// anywhere in the component.
func (g *whole) lasso(v int, comp []int) *strongLasso {
	l := &strongLasso{}
	step := func(steps []trace.Step, a arc) []trace.Step {
		if a.thread >= 0 {
			steps = append(steps, trace.Step{Thread: a.thread, Alt: a.alt})
		}
		return steps
	}
	here := func(u int) bool { return comp[u] == comp[v] }
	var missing, moved threadSet
	for u := range comp {
		if here(u) {
			for t, is := range g.sets[g.on[u]] {
				if is {
					missing.add(t)
				}
			}
		}
	}
	at, accepted, arcs := v, g.accepting[v], 0
	// walk goes on to the nearest vertex that will do.
	walk := func(will func(u int) bool) {
		dist, before, by := g.breadthFirst([]int{at}, here)
		to := -1
		for u := range dist {
			if dist[u] >= 0 && will(u) && (to < 0 || dist[u] < dist[to]) {
				to = u
			}
		}
		var way []arc
		for u := to; u != at; u = before[u] {
			way = append(way, g.arcs[before[u]][by[u]])
		}
		slices.Reverse(way)
		for _, a := range way {
			l.loop, at, arcs = step(l.loop, a), a.to, arcs+1
			accepted = accepted || g.accepting[at]
			if a.thread >= 0 {
				moved.add(a.thread)
			}
		}
	}
	// take takes an arc from here that will do.
	take := func(will func(a arc) bool) {
		k := slices.IndexFunc(g.arcs[at], func(a arc) bool { return here(a.to) && will(a) })
		a := g.arcs[at][k]
		l.loop, at, arcs = step(l.loop, a), a.to, arcs+1
		accepted = accepted || g.accepting[at]
		if a.thread >= 0 {
			moved.add(a.thread)
		}
	}
	for t := range 64 * len(missing) {
		if missing.has(t) && !moved.has(t) {
			by := func(a arc) bool { return a.thread == t && here(a.to) }
			walk(func(u int) bool { return slices.ContainsFunc(g.arcs[u], by) })
			if !moved.has(t) {
				take(by)
			}
		}
	}
	if !accepted {
		walk(func(u int) bool { return g.accepting[u] })
	}
	if at == v && arcs == 0 {
		take(func(arc) bool { return true })
	}
	walk(func(u int) bool { return u == v })
	_, before, by := g.breadthFirst(g.initial, func(int) bool { return true })
	u := v
	for ; before[u] >= 0; u = before[u] {
		l.stem = step(l.stem, g.arcs[before[u]][by[u]])
	}
	slices.Reverse(l.stem)
	l.initial = g.from[slices.Index(g.initial, u)]
	return l
}
