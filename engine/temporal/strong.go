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

// strongly searches for a reachable cycle of the product that is accepting and strongly fair:
// see the package documentation. It is the counterpart of run, with one worker. The product can
// be saved while it is built; a resumed search removes vertices from the beginning.
func (s *exploration) strongly(watch *engine.Watch) (err error) {
	return s.alone(watch, func() (whole bool) {
		if whole = s.whole.build(s); whole {
			s.strong = s.whole.fair(s)
		}
		return whole
	})
}

// alone runs a search of one worker. search returns false if it had to stop.
func (s *exploration) alone(watch *engine.Watch, search func() (whole bool)) (err error) {
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
	whole := search()
	release()
	if s.err == nil && !whole {
		return errPaused
	}
	return s.err
}

// build makes the product, or what is missing of it. It returns false if the search must stop.
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
			if x.ample >= ampleFirst {
				w.reduced++
			}
		}
		set := g.enabled(x.enabled)
		var err error
		if refs, err = x.insert(v.ref, refs[:0]); err != nil {
			w.refuse(err)
			return false
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

// fair returns a lasso whose loop is accepting and strongly fair; nil if there is none. It
// removes vertices that no such loop visits, until none is left or a component has a loop
// through all of it.
func (g *whole) fair(s *exploration) *execution {
	left := make([]bool, len(g.vertices))
	for v := range left {
		left[v] = true
	}
	for more := true; more && !s.stop.Load(); {
		more = false
		comp := g.components(func(v int) bool { return left[v] })
		sums := g.sum(comp)
		best := -1
		for c := range sums {
			if sums[c].hasLoop() && (best < 0 || sums[c].first < sums[best].first) {
				best = c
			}
		}
		if best >= 0 {
			return g.lasso(sums[best].first, comp)
		}
		for v, c := range comp {
			if c < 0 {
				continue
			}
			drop := !sums[c].cycle || !sums[c].accepts
			for t, is := range g.sets[g.on[v]] {
				drop = drop || is && !sums[c].takes.has(t)
			}
			if drop {
				left[v], more = false, true
			}
		}
	}
	return nil
}

// component describes a strongly connected component: whether it has a cycle and an accepting
// vertex, which threads are enabled somewhere in it, and which move within it.
type component struct {
	first          int // its first vertex
	cycle, accepts bool
	on, takes      threadSet
}

// hasLoop reports whether a loop through all of the component is accepting and strongly fair.
func (c *component) hasLoop() bool { return c.cycle && c.accepts && c.on.within(c.takes) }

// sum returns the components by their numbers; comp has those of vertices.
func (g *whole) sum(comp []int) []component {
	n := 0
	for _, c := range comp {
		n = max(n, c+1)
	}
	sums := make([]component, n)
	for v := len(comp) - 1; v >= 0; v-- {
		if comp[v] < 0 {
			continue
		}
		c := &sums[comp[v]]
		c.first = v
		c.accepts = c.accepts || g.accepting[v]
		c.on.addAll(g.sets[g.on[v]])
		for _, a := range g.arcs[v] {
			if comp[a.to] == comp[v] {
				c.cycle = true
				if a.thread >= 0 {
					c.takes.add(a.thread)
				}
			}
		}
	}
	return sums
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

// addAll adds the threads of which a list says so.
func (s *threadSet) addAll(list []bool) {
	for t, is := range list {
		if is {
			s.add(t)
		}
	}
}

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

// lasso returns an execution that reaches the component of a vertex on a shortest path and loops
// in it through an accepting vertex, so that every thread that is enabled anywhere in the
// component moves.
func (g *whole) lasso(v int, comp []int) *execution {
	r := &round{g: g, comp: comp, at: v, accepted: g.accepting[v]}
	var missing threadSet
	for u := range comp {
		if r.here(u) {
			missing.addAll(g.sets[g.on[u]])
		}
	}
	for t := range 64 * len(missing) {
		if missing.has(t) && !r.moved.has(t) {
			by := func(a arc) bool { return a.thread == t && r.here(a.to) }
			r.walk(func(u int) bool { return slices.ContainsFunc(g.arcs[u], by) })
			if !r.moved.has(t) {
				r.take(by)
			}
		}
	}
	if !r.accepted {
		r.walk(func(u int) bool { return g.accepting[u] })
	}
	if r.at == v && r.arcs == 0 {
		r.take(func(arc) bool { return true })
	}
	r.walk(func(u int) bool { return u == v })
	l := &execution{loop: r.steps}
	_, before, by := g.breadthFirst(g.initial, func(int) bool { return true })
	u := v
	for ; before[u] >= 0; u = before[u] {
		l.stem = stepOf(l.stem, g.arcs[before[u]][by[u]])
	}
	slices.Reverse(l.stem)
	l.initial = g.from[slices.Index(g.initial, u)]
	return l
}

// stepOf adds the step of an arc, if a thread makes one.
func stepOf(steps []trace.Step, a arc) []trace.Step {
	if a.thread >= 0 {
		steps = append(steps, trace.Step{Thread: a.thread, Alt: a.alt})
	}
	return steps
}

// round is a walk within a component.
type round struct {
	g        *whole
	comp     []int
	at       int // the vertex
	arcs     int // walked
	steps    []trace.Step
	moved    threadSet
	accepted bool // an accepting vertex was met
}

// here reports whether a vertex is in the component.
func (r *round) here(u int) bool { return r.comp[u] == r.comp[r.at] }

// along walks along an arc.
func (r *round) along(a arc) {
	r.steps, r.at, r.arcs = stepOf(r.steps, a), a.to, r.arcs+1
	r.accepted = r.accepted || r.g.accepting[r.at]
	if a.thread >= 0 {
		r.moved.add(a.thread)
	}
}

// walk walks to the nearest suitable vertex.
func (r *round) walk(will func(u int) bool) {
	dist, before, by := r.g.breadthFirst([]int{r.at}, r.here)
	to := -1
	for u := range dist {
		if dist[u] >= 0 && will(u) && (to < 0 || dist[u] < dist[to]) {
			to = u
		}
	}
	var way []arc
	for u := to; u != r.at; u = before[u] {
		way = append(way, r.g.arcs[before[u]][by[u]])
	}
	for _, a := range slices.Backward(way) {
		r.along(a)
	}
}

// take takes a suitable arc from here, within the component.
func (r *round) take(will func(a arc) bool) {
	arcs := r.g.arcs[r.at]
	r.along(arcs[slices.IndexFunc(arcs, func(a arc) bool { return r.here(a.to) && will(a) })])
}
