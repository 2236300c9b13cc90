package temporal

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"

	"cpor/statestore"
	"cpor/testkit/sabotage"
)

// visit is a vertex on a worker's stack. Its unvisited successors are on top of the worker's
// pile.
type visit struct {
	ref statestore.Ref
	at  uint32
	// their number; leftUnsafe is set if one that was left out, or has been visited, is not safe,
	// and leftReduced if the state's transitions are an ample set
	left uint32
}

func (v *visit) vertex() vertex { return vertex{v.ref, v.at} }

// packed is a vertex in 12 bytes.
type packed [3]uint32

func pack(v vertex) packed { return packed{uint32(v.ref), uint32(v.ref >> 32), v.at} }

func (p packed) vertex() vertex {
	return vertex{statestore.Ref(uint64(p[0]) | uint64(p[1])<<32), p[2]}
}

const (
	leftUnsafe  = 1 << 31
	leftReduced = 1 << 30
	leftNumber  = leftReduced - 1
)

// seenBlue marks the vertices on a pile that became blue when they were seen.
const seenBlue = 1 << 31

// worker runs one nested depth-first search of a CNDFS (Evangelista et al. 2012, algorithm 2), or,
// if it is the only one, a search of the same kind without nested ones (components.go).
// Its whole position is in its fields, so it can stop wherever step says so, and continue later.
type worker struct {
	s   *exploration
	id  int
	x   *expander
	pcg *rand.PCG
	rng *rand.Rand

	begun    int  // initial states that it has looked at
	opening  bool // the vertex on top of the stack has not got its successors yet
	red      int  // where the current red search begins on the stack; -1: there is none
	stack    pile[visit]
	succ     pile[packed]
	prefix   *segment // the way to the stack's first vertex
	frozen   *segment // the way to the vertex below frozenAt on the stack
	frozenAt int

	// Of a search that the driver of the full search may take over: the states that have been
	// expanded, and the ends of their transitions.
	closed, ends []statestore.Ref

	parts components   // without nested searches
	pinks pile[packed] // R: the vertices of the red search at hand, with several workers
	next  []vertex
	refs  []statestore.Ref

	walker   *walker // nil if there are no walks
	executed uint64  // transitions, however often

	tick                       int
	transitions, full, reduced uint64
}

func newWorker(s *exploration, id int) *worker {
	pcg := rand.NewPCG(uint64(id), 0)
	w := &worker{s: s, id: id, x: newExpander(s), pcg: pcg, rng: rand.New(pcg), red: -1}
	if s.threads == 0 && !s.o.Strong && !sabotage.On { // what is broken is not to be hidden
		w.walker = newWalker(w)
	}
	return w
}

// search continues where the worker is, then searches from the initial vertices, and then from
// those that other workers hand over.
func (w *worker) search() {
	s := w.s
	w.awake()
	defer w.asleep()
	if w.stack.n > 0 && !w.goOn() {
		return
	}
	if w.surplus() {
		s.pool.retire()
		return
	}
	initial := s.sys.Initial()
	for w.begun < len(initial) {
		ref, _, err := w.x.session.Insert(initial[w.begun], 0)
		if err != nil {
			w.refuse(err)
			return
		}
		w.begun++
		v := vertex{ref, uint32(s.a.Init) * s.levels}
		if entered, _ := w.enter(v); entered && !w.dfsBlue(v) {
			return
		}
	}
	for {
		w.asleep()
		root, ok := s.pool.take()
		w.awake()
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

// surplus reports whether the worker comes from an interrupted search with more workers: it
// finishes what it has begun.
func (w *worker) surplus() bool { return w.id >= w.s.o.Workers }

// awake waits until the worker may run, if there are more of them than wanted.
func (w *worker) awake() {
	if w.s.slots != nil {
		w.s.slots <- struct{}{}
	}
}

// asleep lets another worker run.
func (w *worker) asleep() {
	if w.s.slots != nil {
		<-w.s.slots
	}
}

// refuse ends the search because the store is full.
func (w *worker) refuse(err error) {
	if errors.Is(err, statestore.ErrFull) {
		err = w.s.watch.OutOfMemory()
	}
	w.s.fail(err)
}

// step reports whether the worker may continue.
func (w *worker) step() bool {
	s := w.s
	if w.tick++; w.tick%256 == 0 && (s.budget > 0 && s.bytes() > s.budget ||
		w.parts.live.n > mostLive) {
		s.fail(s.watch.OutOfMemory())
	}
	if w.walker != nil && !w.walker.walk(w.executed) {
		return false
	}
	return !s.stop.Load() && !s.pool.paused.Load()
}

// path returns the program states on the path to the vertex on top of the stack.
func (w *worker) path() []statestore.Ref {
	var refs []statestore.Ref
	for _, v := range w.vertices() {
		if len(refs) == 0 || refs[len(refs)-1] != v.ref {
			refs = append(refs, v.ref)
		}
	}
	return refs
}

// vertices returns the path to the vertex on top of the stack. The first frame of a red search
// represents the same vertex as the one below.
func (w *worker) vertices() []vertex {
	vs := w.prefix.vertices()
	for i := range w.stack.n {
		if i != w.red {
			vs = append(vs, w.stack.at(i).vertex())
		}
	}
	return vs
}

// successors puts the successors of a vertex, whose state has been claimed, into w.next. It
// returns false if the search must stop.
func (w *worker) successors(v vertex) bool {
	x := w.x
	w.next, w.refs = w.next[:0], w.refs[:0]
	if !x.follows(v.at) {
		return true
	}
	var err error
	if w.refs, err = x.insert(v.ref, w.refs); err != nil {
		w.refuse(err)
		return false
	}
	if w.s.broad {
		w.ends = append(w.ends, w.refs...)
	}
	for _, ref := range w.refs {
		w.s.colors.fetch(ref)
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

// push pushes a vertex's successors, which are in w.next. The first worker visits the last one
// first: those to later components of the automaton come first, where the cycle must be that it
// looks for, and among them the moves of the last threads. Properties often say what the first
// threads wait for, and it is others that keep them waiting. Other workers use other orders, so
// they search different parts.
func (w *worker) push() {
	switch {
	case w.id == 1:
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

// closes reports whether a transition of the product to a vertex on the stack closes an
// accepting cycle for certain (Schwoon, Esparza 2005).
func (s *exploration) closes(from, to uint32) bool {
	return s.accepting(from) || s.accepting(to) || s.weak[to/s.levels]
}

// found ends the search with a cycle: the stack, of which the uppermost has a transition to a
// vertex further down, perhaps by way of others.
func (w *worker) found(others ...vertex) {
	s := w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop.Store(true)
	s.pool.close()
	if s.lasso == nil && s.err == nil {
		s.lasso = &lasso{path: append(w.vertices(), others...)}
	}
}

// enter visits a vertex in the blue search unless it is blue, and takes its state for the claim.
// safe reports whether its state is safe if it was not entered.
func (w *worker) enter(v vertex) (entered, safe bool) {
	s := w.s
	e := s.colors.lock(v.ref)
	defer e.unlock()
	b := s.bit(v.at)
	safe = s.reduction == None || e.has(bitSafe)
	if e.has(b + blue) {
		return false, safe
	}
	switch slot := s.slot(v.at); {
	case slot >= 0:
		e.mark(b + blue)
		w.begin(v, &e, slot)
	case s.loose[v.at/s.levels]:
		e.mark(b + blue)
	default:
		e.mark(b + s.cyan(w.id))
	}
	w.x.take(&e)
	return true, safe
}

// open puts a vertex that was entered on the stack and expands it. It returns false if the
// search must stop.
func (w *worker) open(v vertex) bool {
	w.grown(w.stack.push(visit{ref: v.ref, at: v.at}))
	w.opening = true
	return w.expand()
}

// expand expands the vertex on top of the stack.
func (w *worker) expand() bool {
	v, x := w.stack.top().vertex(), w.x
	if !x.claim(v, w.path) {
		return false
	}
	w.executed += uint64(len(x.moves))
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
	sift := w.siftBlue
	if w.red >= 0 {
		sift = w.siftRed
	}
	if !sift(v) {
		return false
	}
	w.opening = false
	if w.s.broad && v.at == uint32(w.s.a.Init) {
		w.closed = append(w.closed, v.ref)
	}
	return true
}

// siftBlue puts the successors that the blue search must visit on the pile.
func (w *worker) siftBlue(v vertex) bool {
	s, x := w.s, w.x
	reduced := s.reduction != None && x.ample >= ampleFirst
	unsafe := reduced && len(w.next) == 0
	left := w.next[:0]
	for _, to := range w.next {
		if !reduced && s.early(to) {
			// No worker needs to visit it again.
			b := s.bit(to.at) + blue
			if e, ok := s.colors.peek(to.ref); ok && e.has(b) && e.same(to.ref) {
				continue
			}
			e := s.colors.lock(to.ref)
			if !e.has(b) {
				e.mark(b)
				left = append(left, vertex{to.ref, to.at | seenBlue})
			}
			e.unlock()
			continue
		}
		visit, safe, ok := w.meet(v, to)
		if !ok {
			return false
		}
		if visit {
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
	if reduced {
		w.stack.top().left |= leftReduced
	}
	return true
}

// meet reports whether the blue search must visit a successor of the vertex on top of the stack, or
// else whether its state is safe. ok is false if the search is over.
func (w *worker) meet(v, to vertex) (visit, safe, ok bool) {
	s := w.s
	// Nothing is set before it is true, and what is not set yet is seen when the vertex is
	// entered.
	e, known := s.colors.peek(to.ref)
	if !known {
		return true, false, true
	}
	b := s.bit(to.at)
	done, safe := e.has(b+blue), s.reduction == None || e.has(bitSafe)
	cyan := s.slot(to.at) < 0 && e.has(b+s.cyan(w.id))
	switch {
	case !e.same(to.ref):
		return true, false, true
	case cyan && s.closes(v.at, to.at):
		w.found()
		return false, safe, false
	case done && !w.join(to):
		return false, safe, false
	}
	return !cyan && !done, safe, true
}

// dfsBlue visits the vertices below one that was entered, in depth-first order. It returns false
// if the search must stop.
func (w *worker) dfsBlue(root vertex) bool { return w.open(root) && w.goOn() }

// goOn processes the stack. It returns false if the search must stop.
func (w *worker) goOn() bool {
	s := w.s
	if w.opening && !w.expand() {
		return false
	}
	for w.stack.n > 0 {
		if w.red >= 0 {
			if !w.dfsRed() {
				return false
			}
			continue
		}
		if !w.step() {
			return false
		}
		top := w.stack.top()
		if top.left&leftNumber > 0 {
			top.left--
			to := w.succ.pop().vertex()
			early := to.at&seenBlue != 0
			to.at &^= seenBlue
			if s.pool.hungry() && (s.loose[to.at/s.levels] || s.loose[top.at/s.levels]) {
				s.pool.give(handed{to, early, w.freeze()})
				top.left |= leftUnsafe
				continue
			}
			fresh, safe := early, true
			if !early {
				fresh, safe = w.enter(to)
			}
			if fresh {
				if !w.open(to) {
					return false
				}
				continue
			}
			if !safe {
				top.left |= leftUnsafe
			}
			if !w.join(to) {
				return false
			}
			continue
		}
		if !w.leave(*top) {
			return false
		}
	}
	return true
}

// leave finishes the vertex on top of the stack, or begins its red search, after which it
// is left.
func (w *worker) leave(v visit) bool {
	s := w.s
	if q := v.at / s.levels; s.slot(v.at) >= 0 {
		w.finish()
	} else if !s.loose[q] {
		e := s.colors.lock(v.ref)
		e.mark(s.bit(v.at) + blue)
		e.unlock()
		if s.accepting(v.at) && !s.weak[q] {
			w.red = w.stack.n
			w.enterRed(v.vertex(), true)
			return w.open(v.vertex())
		}
	}
	w.left(v)
	return true
}

// left pops a finished vertex from the stack.
func (w *worker) left(v visit) {
	s := w.s
	q := v.at / s.levels
	b := s.bit(v.at)
	safe, reduced := true, v.left&leftReduced != 0
	colored := !s.loose[q] && s.slot(v.at) < 0
	if colored || reduced {
		e := s.colors.lock(v.ref)
		if colored {
			e.erase(b + s.cyan(w.id))
		}
		if reduced {
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
}

// enterRed visits a vertex in the red search unless it is red or pink. The seed
// of the search is always visited.
func (w *worker) enterRed(v vertex, seed bool) bool {
	s := w.s
	e := s.colors.lock(v.ref)
	b := s.bit(v.at)
	if !seed && (e.has(b+s.red()) || e.has(b+s.pink(w.id))) {
		e.unlock()
		return false
	}
	e.mark(b + s.pink(w.id))
	e.unlock()
	if s.pinks {
		w.grown(w.pinks.push(pack(v)))
	}
	return true
}

// siftRed puts the successors that the red search must visit on the pile.
func (w *worker) siftRed(vertex) bool {
	s := w.s
	left := w.next[:0]
	for _, to := range w.next {
		if s.loose[to.at/s.levels] {
			continue // there is no path back
		}
		e, ok := s.colors.peek(to.ref)
		if !ok {
			left = append(left, to)
			continue
		}
		b := s.bit(to.at)
		cyan, done := e.has(b+s.cyan(w.id)), e.has(b+s.red()) || e.has(b+s.pink(w.id))
		if !e.same(to.ref) {
			left = append(left, to)
			continue
		}
		if cyan {
			w.found()
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

// dfsRed looks for a path from an accepting vertex back to the stack of the blue search, then
// colors what it visited red, and leaves the vertex. It returns false if the search must stop.
func (w *worker) dfsRed() bool {
	s := w.s
	for w.stack.n > w.red {
		if !w.step() {
			return false
		}
		top := w.stack.top()
		if top.left == 0 {
			w.stack.pop()
			continue
		}
		top.left--
		if to := w.succ.pop().vertex(); w.enterRed(to, false) && !w.open(to) {
			return false
		}
	}
	seed := w.stack.top()
	// Vertices that this search is about to make red may have hidden a cycle from another
	// worker's red search. So it waits for the accepting ones among them.
	for i := range w.pinks.n {
		v := w.pinks.at(i).vertex()
		if v == seed.vertex() || !s.accepting(v.at) {
			continue
		}
		for !s.isRed(v) {
			if s.stop.Load() || s.pool.paused.Load() {
				return false
			}
			w.asleep()
			runtime.Gosched()
			w.awake()
		}
	}
	for w.pinks.n > 0 {
		v := w.pinks.pop().vertex()
		e := s.colors.lock(v.ref)
		b := s.bit(v.at)
		e.mark(b + s.red())
		e.erase(b + s.pink(w.id))
		e.unlock()
	}
	w.red = -1
	w.left(*seed)
	return true
}

func (s *exploration) isRed(v vertex) bool {
	e := s.colors.lock(v.ref)
	defer e.unlock()
	return e.has(s.bit(v.at) + s.red())
}
