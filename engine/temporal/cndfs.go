package temporal

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"

	"cpor/statestore"
)

// visit is a vertex on a worker's stack. Of its successors those that are left to
// visit are the uppermost on the worker's pile of them.
type visit struct {
	ref  statestore.Ref
	at   uint32
	left uint32 // their number; leftUnsafe is set if one that was left out, or has been visited, is not safe
}

func (v *visit) vertex() vertex { return vertex{v.ref, v.at} }

// packed is a vertex in 12 bytes.
type packed [3]uint32

func pack(v vertex) packed { return packed{uint32(v.ref), uint32(v.ref >> 32), v.at} }

func (p packed) vertex() vertex {
	return vertex{statestore.Ref(uint64(p[0]) | uint64(p[1])<<32), p[2]}
}

const leftUnsafe = 1 << 31

// worker runs one nested depth-first search of a CNDFS (Evangelista et al. 2012,
// algorithm 2).
type worker struct {
	s   *exploration
	id  int
	x   *expander
	rng *rand.Rand

	stack    pile[visit]
	succ     pile[packed]
	prefix   *segment // the way to the stack's first vertex
	frozen   *segment // the way to the vertex below frozenAt on the stack
	frozenAt int

	pinks pile[packed] // R: the vertices of the red search at hand, with several workers
	next  []vertex
	refs  []statestore.Ref

	tick                       int
	transitions, full, reduced uint64
}

func newWorker(s *exploration, id int) *worker {
	return &worker{s: s, id: id, x: newExpander(s), rng: rand.New(rand.NewPCG(uint64(id), 0))}
}

// search searches from the initial vertices, and then from those that other
// workers hand over.
func (w *worker) search() {
	s := w.s
	for _, st := range s.sys.Initial() {
		ref, _, err := w.x.session.Insert(st, 0)
		if err != nil {
			w.refuse(err)
			return
		}
		v := vertex{ref, uint32(s.a.Init) * s.levels}
		if entered, _ := w.enter(v); entered && !w.dfsBlue(v) {
			return
		}
	}
	for {
		root, ok := s.pool.take()
		if !ok {
			return
		}
		w.prefix, w.frozen, w.frozenAt = root.prefix, nil, 0
		entered := root.entered
		if !entered {
			entered, _ = w.enter(root.v)
		}
		if entered && !w.dfsBlue(root.v) {
			return
		}
	}
}

// refuse ends the search because the store takes no more.
func (w *worker) refuse(err error) {
	if errors.Is(err, statestore.ErrFull) {
		err = w.s.watch.OutOfMemory()
	}
	w.s.fail(err)
}

// step tells, now and then, whether the search has to stop.
func (w *worker) step() bool {
	s := w.s
	if w.tick++; w.tick%256 == 0 && s.budget > 0 && s.bytes() > s.budget {
		s.fail(s.watch.OutOfMemory())
	}
	return !s.stop.Load()
}

// path returns the program states on the way to the vertex on top of the stack.
func (w *worker) path() []statestore.Ref {
	var refs []statestore.Ref
	for _, v := range w.vertices(-1) {
		if len(refs) == 0 || refs[len(refs)-1] != v.ref {
			refs = append(refs, v.ref)
		}
	}
	return refs
}

// vertices returns the way to the vertex on top of the stack, without the frame
// seed if that is not -1.
func (w *worker) vertices(seed int) []vertex {
	vs := w.prefix.vertices()
	for i := range w.stack.n {
		if i != seed {
			vs = append(vs, w.stack.at(i).vertex())
		}
	}
	return vs
}

// successors puts the successors of a vertex, whose state has been claimed, into
// w.next. It returns false if the search has to stop.
func (w *worker) successors(v vertex) bool {
	x := w.x
	w.next, w.refs = w.next[:0], w.refs[:0]
	matches := false
	x.arcs(v.at, func(uint32, int) { matches = true })
	if !matches {
		return true
	}
	for i := range x.moves {
		ref, _, err := x.session.Insert(x.words[x.moves[i].from:x.moves[i].to], v.ref)
		if err != nil {
			w.refuse(err)
			return false
		}
		w.refs = append(w.refs, ref)
	}
	x.arcs(v.at, func(to uint32, mv int) {
		ref := v.ref
		if mv >= 0 {
			ref = w.refs[mv]
		}
		w.next = append(w.next, vertex{ref, to})
	})
	return true
}

// push enters a vertex's successors, which are in w.next, so that the first is
// visited first. Other workers than the first take them in other orders, so
// that they search different parts.
func (w *worker) push() {
	switch {
	case w.id == 0:
		slices.Reverse(w.next)
	case w.id > 1:
		w.rng.Shuffle(len(w.next), func(i, j int) { w.next[i], w.next[j] = w.next[j], w.next[i] })
	}
	for _, v := range w.next {
		w.grown(w.succ.push(pack(v)))
	}
	w.stack.top().left += uint32(len(w.next))
}

// grown accounts for memory.
func (w *worker) grown(n int) {
	if n > 0 {
		w.s.stacks.Add(int64(n))
	}
}

// closes tells whether a transition of the product to a vertex on the stack closes
// an accepting cycle for certain (Schwoon, Esparza 2005).
func (s *exploration) closes(from, to uint32) bool {
	return s.accepting(from) || s.accepting(to) || s.weak[to/s.levels]
}

// found ends the search with a cycle: the stack, of which the uppermost has a
// transition to a vertex further down. The frame seed, if any, stands for the same vertex
// as the one below.
func (w *worker) found(to vertex, seed int) {
	s := w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop.Store(true)
	s.pool.close()
	if s.lasso != nil || s.err != nil {
		return
	}
	l := &lasso{path: w.vertices(seed)}
	before := len(l.path) - w.stack.n // what is not on the stack
	if seed >= 0 {
		before++
	}
	for i := range w.stack.n {
		if (seed < 0 || i < seed) && w.stack.at(i).vertex() == to {
			l.loop = before + i
		}
	}
	s.lasso = l
}

// enter visits a vertex in the blue search unless it is blue. safe tells whether
// its state is safe.
func (w *worker) enter(v vertex) (entered, safe bool) {
	s := w.s
	e := s.colours.lock(v.ref)
	defer e.unlock()
	b := s.bit(v.at)
	safe = s.reduction == None || e.has(bitSafe)
	if e.has(b + blue) {
		return false, safe
	}
	if s.loose[v.at/s.levels] {
		e.mark(b + blue)
	} else {
		e.mark(b + s.cyan(w.id))
	}
	return true, safe
}

// openBlue expands a vertex that was entered.
func (w *worker) openBlue(v vertex) bool {
	s, x := w.s, w.x
	w.grown(w.stack.push(visit{ref: v.ref, at: v.at}))
	if !x.claim(v.ref, w.path) {
		return false
	}
	if x.mine {
		w.transitions += uint64(len(x.moves))
		if x.ample >= ampleFirst {
			w.reduced++
		} else {
			w.full++
		}
	}
	if !w.successors(v) {
		return false
	}
	unsafe := s.reduction != None && x.ample >= ampleFirst && len(w.next) == 0
	left := w.next[:0]
	for _, to := range w.next {
		if s.early(to) {
			// Nobody else need come here, and nobody again.
			e := s.colours.lock(to.ref)
			if b := s.bit(to.at); !e.has(b + blue) {
				e.mark(b + blue)
				left = append(left, to)
			}
			e.unlock()
			continue
		}
		e, ok := s.colours.look(to.ref)
		if !ok {
			left = append(left, to)
			continue
		}
		b := s.bit(to.at)
		cyan, done := e.has(b+s.cyan(w.id)), e.has(b+blue)
		safe := s.reduction == None || e.has(bitSafe)
		e.unlock()
		if cyan && s.closes(v.at, to.at) {
			w.found(to, -1)
			return false
		}
		if !cyan && !done {
			left = append(left, to)
		} else if !safe {
			unsafe = true
		}
	}
	w.next = left
	w.push()
	if unsafe {
		w.stack.top().left |= leftUnsafe
	}
	return true
}

// dfsBlue visits the vertices below one that was entered, in depth-first order. It
// returns false if the search has to stop.
func (w *worker) dfsBlue(root vertex) bool {
	s := w.s
	if !w.openBlue(root) {
		return false
	}
	for w.stack.n > 0 {
		if !w.step() {
			return false
		}
		top := w.stack.top()
		if top.left&^leftUnsafe > 0 {
			top.left--
			to := w.succ.pop().vertex()
			early := s.early(to)
			if s.pool.hungry() && (s.loose[to.at/s.levels] || s.loose[top.at/s.levels]) {
				s.pool.give(handed{to, early, w.freeze()})
				top.left |= leftUnsafe
				continue
			}
			entered, safe := early, true
			if !early {
				entered, safe = w.enter(to)
			}
			if entered {
				if !w.openBlue(to) {
					return false
				}
			} else if !safe {
				top.left |= leftUnsafe
			}
			continue
		}
		if !w.leave(*top) {
			return false
		}
	}
	return true
}

// leave finishes the vertex on top of the stack.
func (w *worker) leave(v visit) bool {
	s := w.s
	q := v.at / s.levels
	b := s.bit(v.at)
	if !s.loose[q] {
		e := s.colours.lock(v.ref)
		e.mark(b + blue)
		e.unlock()
		if s.accepting(v.at) && !s.weak[q] && !w.dfsRed(v.vertex()) {
			return false
		}
	}
	safe := true
	if !s.loose[q] || s.reduction != None {
		e := s.colours.lock(v.ref)
		if !s.loose[q] {
			e.erase(b + s.cyan(w.id))
		}
		if s.reduction != None {
			if v.left&leftUnsafe == 0 {
				e.mark(bitSafe)
			}
			safe = e.has(bitSafe)
		}
		e.unlock()
	}
	w.stack.pop()
	if w.frozenAt > w.stack.n {
		w.thaw()
	}
	if !safe && w.stack.n > 0 {
		w.stack.top().left |= leftUnsafe
	}
	return true
}

// enterRed visits a vertex in the red search unless it is red or pink. The seed
// of the search is always visited.
func (w *worker) enterRed(v vertex, seed bool) bool {
	s := w.s
	e := s.colours.lock(v.ref)
	b := s.bit(v.at)
	if !seed && (e.has(b+s.red()) || e.has(b+s.pink(w.id))) {
		e.unlock()
		return false
	}
	e.mark(b + s.pink(w.id))
	e.unlock()
	if len(s.workers) > 1 {
		w.grown(w.pinks.push(pack(v)))
	}
	return true
}

// openRed expands a vertex of the red search, whose first frame is seed.
func (w *worker) openRed(v vertex, seed int) bool {
	s := w.s
	w.grown(w.stack.push(visit{ref: v.ref, at: v.at}))
	if !w.x.claim(v.ref, w.path) {
		return false
	}
	if w.x.mine {
		w.transitions += uint64(len(w.x.moves))
		if w.x.ample >= ampleFirst {
			w.reduced++
		} else {
			w.full++
		}
	}
	if !w.successors(v) {
		return false
	}
	left := w.next[:0]
	for _, to := range w.next {
		if s.loose[to.at/s.levels] {
			continue // there is no way back
		}
		e, ok := s.colours.look(to.ref)
		if !ok {
			left = append(left, to)
			continue
		}
		b := s.bit(to.at)
		cyan, done := e.has(b+s.cyan(w.id)), e.has(b+s.red()) || e.has(b+s.pink(w.id))
		e.unlock()
		if cyan {
			w.found(to, seed)
			return false
		}
		if !done {
			left = append(left, to)
		}
	}
	w.next = left
	w.push()
	return true
}

// dfsRed looks for a way from an accepting vertex back to the stack of the blue
// search, then makes what it visited red. It returns false if the search has to
// stop.
func (w *worker) dfsRed(seed vertex) bool {
	s := w.s
	base := w.stack.n
	w.enterRed(seed, true)
	if !w.openRed(seed, base) {
		return false
	}
	for w.stack.n > base {
		if !w.step() {
			return false
		}
		top := w.stack.top()
		if top.left == 0 {
			w.stack.pop()
			continue
		}
		top.left--
		if to := w.succ.pop().vertex(); w.enterRed(to, false) && !w.openRed(to, base) {
			return false
		}
	}
	if len(s.workers) == 1 {
		return true
	}
	// Another worker's red search may have been kept from a cycle by what this
	// one is about to make red; it waits for the accepting ones of it.
	for i := range w.pinks.n {
		v := w.pinks.at(i).vertex()
		if v == seed || !s.accepting(v.at) {
			continue
		}
		for !s.isRed(v) {
			if s.stop.Load() {
				return false
			}
			runtime.Gosched()
		}
	}
	for w.pinks.n > 0 {
		v := w.pinks.pop().vertex()
		e := s.colours.lock(v.ref)
		b := s.bit(v.at)
		e.mark(b + s.red())
		e.erase(b + s.pink(w.id))
		e.unlock()
	}
	return true
}

func (s *exploration) isRed(v vertex) bool {
	e := s.colours.lock(v.ref)
	defer e.unlock()
	return e.has(s.bit(v.at) + s.red())
}
