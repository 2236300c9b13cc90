package temporal

import (
	"slices"
	"unsafe"

	"cpor/system"
	"cpor/trace"
)

// An accepting cycle found by a depth-first search is as long as its stack happened to be, and
// with several workers it depends on timing. So another one is shown: a short one among the
// first vertices of the unreduced product in breadth-first order, which depends only on the program
// and the automaton. They are firstVertices, and more until nothing shorter can be among the
// others, but at most shortVertices. If there is none, it is the shortest one that uses only
// vertices of the one found.
const shortVertices = 20000

var firstVertices = 500 // tests have others

// execution is a lasso as steps.
type execution struct {
	initial    int
	stem, loop []trace.Step
}

// loops bounds the number of accepting vertices whose shortest cycle is sought.
const loops = 32

// arc is a stored transition of the product; thread is -1 if the state is repeated.
type arc struct {
	to     int
	thread int
	alt    uint64
}

// region is a part of the unreduced product.
type region struct {
	initial   []int // vertices
	from      []int // their initial states
	arcs      [][]arc
	accepting []bool
	inner     int // the vertices before this one have all their arcs
}

// nearby returns a short lasso among the first vertices, nil if there is none. With fairness it
// counts the threads met there, not those of the search.
func (s *exploration) nearby() *execution {
	if s.threads == 0 {
		e, _ := s.shortest()
		return e
	}
	threads, levels := s.threads, s.levels
	defer func() { s.threads, s.levels = threads, levels }()
	for n := s.least; ; n = moreThreads(n) {
		s.threads, s.levels = n, uint32(n)+2
		if e, ok := s.shortest(); ok {
			return e
		}
	}
}

// shortest looks for a lasso among more and more vertices. ok is false if there are more threads
// than fairness counts.
func (s *exploration) shortest() (e *execution, ok bool) {
	b := newBreadth(s)
	for limit := firstVertices; ; limit *= 4 {
		limit = min(limit, shortVertices)
		if !b.grow(limit) {
			return nil, false
		}
		e, sure := b.short()
		if sure || limit == shortVertices {
			return e, true
		}
	}
}

// breadth is a region that grows in breadth-first order.
type breadth struct {
	region
	s       *exploration
	states  []system.State
	numbers map[string]int // of states
	keys    []place        // by vertex
	index   map[place]int
	ends    []int
}

// place is a vertex of the product whose state has a number.
type place struct {
	state int
	at    uint32
}

func newBreadth(s *exploration) *breadth {
	b := &breadth{s: s, numbers: map[string]int{}, index: map[place]int{}}
	for i, st := range s.sys.Initial() {
		k := place{b.number(st), uint32(s.a.Init) * s.levels}
		if _, ok := b.index[k]; !ok {
			b.initial, b.from = append(b.initial, b.add(k)), append(b.from, i)
		}
	}
	return b
}

// number returns the number of a state.
func (b *breadth) number(st system.State) int {
	k := unsafe.String((*byte)(unsafe.Pointer(unsafe.SliceData(st))), 8*len(st))
	i, ok := b.numbers[k]
	if !ok {
		own := slices.Clone(st)
		i = len(b.states)
		b.states = append(b.states, own)
		b.numbers[unsafe.String((*byte)(unsafe.Pointer(unsafe.SliceData(own))), 8*len(own))] = i
	}
	return i
}

// add returns the number of a vertex.
func (b *breadth) add(k place) int {
	i, ok := b.index[k]
	if !ok {
		i = len(b.keys)
		b.index[k] = i
		b.keys = append(b.keys, k)
		b.accepting = append(b.accepting, b.s.accepting(k.at))
	}
	return i
}

// grow adds vertices until there are so many. It returns false if there are more threads than
// fairness counts.
func (b *breadth) grow(limit int) bool {
	s := b.s
	x := s.workers[0].x
	b.arcs = b.arcs[:b.inner]
	for ; b.inner < len(b.keys) && len(b.keys) < limit; b.inner++ {
		k := b.keys[b.inner]
		var out []arc
		if v := x.load(b.states[k.state], true); v == nil && x.follows(k.at) {
			x.all(-1, s.gaveUp.Load)
			if s.threads > 0 && x.enabledFrom(s.threads) >= 0 {
				return false
			}
			b.ends = b.ends[:0]
			for _, mv := range x.moves {
				b.ends = append(b.ends, b.number(x.words[mv.from:mv.to]))
			}
			x.arcs(k.at, func(to uint32, mv int) {
				if mv < 0 {
					out = append(out, arc{b.add(place{k.state, to}), -1, 0})
				} else {
					out = append(out, arc{b.add(place{b.ends[mv], to}), x.moves[mv].thread,
						x.moves[mv].alt})
				}
			})
		}
		b.arcs = append(b.arcs, out)
	}
	b.arcs = append(b.arcs, make([][]arc, len(b.keys)-b.inner)...)
	return true
}

// induced returns the part of the unreduced product that has a lasso's vertices.
func (s *exploration) induced(l *lasso) *region {
	x := s.workers[0].x
	g := &region{}
	index := map[vertex]int{}
	var vs []vertex
	for _, v := range l.path {
		if _, ok := index[v]; !ok {
			index[v] = len(vs)
			vs = append(vs, v)
			g.accepting = append(g.accepting, s.accepting(v.at))
		}
	}
	for i, st := range s.sys.Initial() {
		if ref, ok := x.session.Find(st); ok {
			if k, ok := index[vertex{ref, uint32(s.a.Init) * s.levels}]; ok &&
				!slices.Contains(g.initial, k) {
				g.initial, g.from = append(g.initial, k), append(g.from, i)
			}
		}
	}
	for _, v := range vs {
		x.state = x.session.Load(v.ref, x.state)
		x.load(x.state, false)
		x.all(-1, s.gaveUp.Load)
		var out []arc
		x.arcs(v.at, func(to uint32, mv int) {
			ref := v.ref
			a := arc{thread: -1}
			if mv >= 0 {
				m := x.moves[mv]
				ref, _ = x.session.Find(x.words[m.from:m.to])
				a = arc{0, m.thread, m.alt}
			}
			if k, ok := index[vertex{ref, to}]; ok {
				a.to = k
				out = append(out, a)
			}
		})
		g.arcs = append(g.arcs, out)
	}
	return g
}

// breadthFirst returns the distances from some vertices, -1 for those out of reach, and for each
// vertex its predecessor on a shortest path and the number of the arc. It visits only vertices
// that are inside.
func (g *region) breadthFirst(from []int, inside func(v int) bool) (dist, before, by []int) {
	dist, before, by = make([]int, len(g.arcs)), make([]int, len(g.arcs)), make([]int, len(g.arcs))
	for i := range dist {
		dist[i], before[i] = -1, -1
	}
	queue := slices.Clone(from)
	for _, v := range from {
		dist[v] = 0
	}
	for i := 0; i < len(queue); i++ {
		v := queue[i]
		for k, a := range g.arcs[v] {
			if dist[a.to] < 0 && inside(a.to) {
				dist[a.to], before[a.to], by[a.to] = dist[v]+1, v, k
				queue = append(queue, a.to)
			}
		}
	}
	return dist, before, by
}

// components numbers the strongly connected components of the vertices that are inside
// (Tarjan 1972); the others have -1.
func (g *region) components(inside func(v int) bool) []int {
	n := len(g.arcs)
	index, low, comp := make([]int, n), make([]int, n), make([]int, n)
	for i := range comp {
		comp[i] = -1
	}
	type frame struct{ v, next int }
	var frames []frame
	var stack []int
	clock, comps := 0, 0
	for root := range n {
		if index[root] != 0 || !inside(root) {
			continue
		}
		frames = append(frames, frame{v: root})
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			v := f.v
			if f.next == 0 && index[v] == 0 {
				clock++
				index[v], low[v] = clock, clock
				stack = append(stack, v)
			}
			if f.next < len(g.arcs[v]) {
				to := g.arcs[v][f.next].to
				f.next++
				if !inside(to) {
					continue
				}
				if index[to] == 0 {
					frames = append(frames, frame{v: to})
				} else if comp[to] < 0 {
					low[v] = min(low[v], index[to])
				}
				continue
			}
			frames = frames[:len(frames)-1]
			if len(frames) > 0 {
				u := frames[len(frames)-1].v
				low[u] = min(low[u], low[v])
			}
			if low[v] == index[v] {
				for comp[v] < 0 {
					comp[stack[len(stack)-1]] = comps
					stack = stack[:len(stack)-1]
				}
				comps++
			}
		}
	}
	return comp
}

// cycle returns a shortest cycle through a vertex in its component: its vertices and
// the numbers of their arcs; nil if there is none.
func (g *region) cycle(v int, comp []int) (vs, by []int) {
	best := -1
	dist, before, arcs := g.breadthFirst([]int{v}, func(u int) bool { return comp[u] == comp[v] })
	last := -1
	for u := range dist {
		if dist[u] < 0 || best >= 0 && dist[u] >= best {
			continue
		}
		for k, a := range g.arcs[u] {
			if a.to == v {
				best, last = dist[u], k
				vs, by = []int{u}, []int{last}
				break
			}
		}
	}
	if best < 0 {
		return nil, nil
	}
	for u := vs[0]; u != v; u = before[u] {
		vs, by = append(vs, before[u]), append(by, arcs[u])
	}
	slices.Reverse(vs)
	slices.Reverse(by)
	return vs, by
}

// short returns a short lasso of the region, nil if there is none. sure says that there is no
// other one, or none that is better, in a larger region: the vertices of a better one would be
// nearer than the first one that lacks arcs.
func (g *region) short() (e *execution, sure bool) {
	dist, before, by := g.breadthFirst(g.initial, func(int) bool { return true })
	comp := g.components(func(int) bool { return true })
	var seeds []int
	for v := range g.arcs {
		if g.accepting[v] && dist[v] >= 0 {
			seeds = append(seeds, v)
		}
	}
	slices.SortStableFunc(seeds, func(a, b int) int { return dist[a] - dist[b] })
	size := make([]int, len(g.arcs))
	for _, c := range comp {
		size[c]++
	}
	tried, best := 0, -1
	var vs, arcs []int
	entry := 0
	for _, v := range seeds {
		if tried == loops || best >= 0 && dist[v] >= best {
			break
		}
		if size[comp[v]] == 1 && !slices.ContainsFunc(g.arcs[v], func(a arc) bool {
			return a.to == v
		}) {
			continue
		}
		tried++
		cv, ca := g.cycle(v, comp)
		if cv == nil {
			continue
		}
		at := 0 // the vertex of the cycle that is nearest
		for i, u := range cv {
			if dist[u] < dist[cv[at]] {
				at = i
			}
		}
		if total := dist[cv[at]] + len(cv); best < 0 || total < best {
			best, vs, arcs, entry = total, cv, ca, at
		}
	}
	all := g.inner == len(g.arcs)
	if best < 0 {
		return nil, all
	}
	e = &execution{}
	for i := range vs {
		k := (entry + i) % len(vs)
		e.loop = stepOf(e.loop, g.arcs[vs[k]][arcs[k]])
	}
	v := vs[entry]
	for ; before[v] >= 0; v = before[v] {
		e.stem = stepOf(e.stem, g.arcs[before[v]][by[v]])
	}
	slices.Reverse(e.stem)
	e.initial = g.from[slices.Index(g.initial, v)]
	return e, all || dist[g.inner] >= best
}
