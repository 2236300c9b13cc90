package temporal

import "cpor/testkit/sabotage"

// components is what one worker knows of the strongly connected components of the product, in
// strong components of the automaton. It needs no nested searches: see the package documentation.
type components struct {
	// live are the vertices whose component may still grow, in the order in which they were
	// entered. A vertex's number is its place here, kept with its colors: it is live if it is
	// there.
	live  pile[packed]
	roots pile[root] // of their components, in the same order
}

// root is the first vertex of a component that may still grow: its numbers among the live vertices
// and on the stack. A component with several of them has no accepting vertex, or the search would
// have ended.
type root struct{ live, depth uint32 }

const (
	// mostLive bounds the number of live vertices.
	mostLive = 1<<32 - 1<<16
	// mostSlots bounds the numbers of a state, which take memory; nested searches need two bits.
	mostSlots = 4
)

// assign decides which vertices of a state have a number, and returns how many there are. It is 0
// if there will be nested searches.
func (s *exploration) assign() int {
	n := 0
	places := make([]int, s.a.States())
	for q := range places {
		places[q] = -1
		if !s.loose[q] && !s.weak[q] {
			places[q] = n
			n++
		}
	}
	if n > mostSlots {
		return 0
	}
	s.places, s.nested = places, false
	return n
}

// slot returns which number of a state belongs to a vertex; -1 if it has none.
func (s *exploration) slot(at uint32) int {
	if s.places == nil {
		return -1
	}
	return s.places[at/s.levels]
}

// number is a vertex's number, in the entry of its state.
func (s *exploration) number(e *entry, slot int) *uint32 { return &e.words[s.colors.bits+slot] }

// begin makes a vertex that is about to be put on the stack a component of its own.
func (w *worker) begin(v vertex, e *entry, slot int) {
	p := &w.parts
	*w.s.number(e, slot) = uint32(p.live.n)
	w.grown(p.roots.push(root{uint32(p.live.n), uint32(w.stack.n)}))
	w.grown(p.live.push(pack(v)))
}

// alive returns the number of a vertex that is live.
func (w *worker) alive(v vertex) (n uint32, ok bool) {
	slot := w.s.slot(v.at)
	if slot < 0 {
		return 0, false
	}
	e, ok := w.s.colors.peek(v.ref)
	if !ok || !e.has(w.s.bit(v.at)+blue) {
		return 0, false
	}
	n = *w.s.number(&e, slot)
	return n, int(n) < w.parts.live.n && *w.parts.live.at(int(n)) == pack(v)
}

// join makes one component of those that a transition connects, from the vertex on top of the stack
// to one that has been entered. It returns false if that closes an accepting cycle.
func (w *worker) join(to vertex) bool {
	p := &w.parts
	n, ok := w.alive(to)
	if !ok || sabotage.Is("components/join") && int(n) < p.live.n/2 {
		return true
	}
	end, accepting := uint32(p.live.n), false
	for {
		top := p.roots.top()
		accepting = accepting || w.s.accepting(w.stack.at(int(top.depth)).at)
		if top.live <= n {
			break
		}
		end = top.live
		p.roots.pop()
	}
	if accepting {
		w.found(w.back(to, p.roots.top().live, end)...)
		return false
	}
	return true
}

// finish ends the component of which the vertex on top of the stack is the root, if it is one.
func (w *worker) finish() {
	p := &w.parts
	if top := p.roots.top(); int(top.depth) == w.stack.n-1 {
		p.live.n = int(top.live)
		p.roots.pop()
	}
}

// back returns a way from a live vertex to one on the stack, through live vertices with numbers
// from first to end.
func (w *worker) back(from vertex, first, end uint32) (way []vertex) {
	on := map[vertex]bool{}
	for i := range w.stack.n {
		on[w.stack.at(i).vertex()] = true
	}
	before := map[vertex]vertex{from: from}
	for queue := []vertex{from}; len(queue) > 0; queue = queue[1:] {
		v := queue[0]
		if on[v] {
			for ; v != from; v = before[v] {
				way = append(way, v)
			}
			return append(way, from)
		}
		if !w.x.claim(v, w.path) || !w.successors(v) {
			return nil // the search has been interrupted
		}
		for _, to := range w.next {
			_, met := before[to]
			if n, ok := w.alive(to); ok && !met && n >= first && n < end {
				before[to] = v
				queue = append(queue, to)
			}
		}
	}
	return nil
}
