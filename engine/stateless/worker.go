package stateless

import (
	"slices"
	"sync/atomic"

	"cpor/engine"
	"cpor/engine/search/composed"
	"cpor/system"
	"cpor/trace"
)

// end says how an execution ended.
type end uint8

const (
	maximal end = iota // no thread is enabled
	asleep             // all that is enabled is asleep
	cut                // by the bound
	aborted            // the search is to end
)

// counts are what the workers count.
type counts struct {
	executions, blocked, cut, transitions uint64
	depth                                 int
}

// worker explores executions: it takes a pending node, brings its machine there, runs one
// execution to its end, finds out what else must be explored because of it, and takes the next
// node, on its own path or another worker's.
type worker struct {
	e *explorer
	r *runner
	path
	tree *tree
	pool pool
	// open holds the nodes of the path that others may take children of. It
	// belongs to the tree's lock.
	open []*node

	member *member // nil: it has a goroutine to itself

	counts
	public struct{ executions, blocked, transitions, depth atomic.Uint64 }

	moving bool           // the path has to be brought to the last node of open
	taken  bool           // the machine has executed the transition to be advanced by
	out    system.Outcome // of it

	threads int // in the initial state
	last    int // the thread of the last transition
	// stuck holds the threads that are blocked at the end of a maximal
	// execution, observers included.
	stuck []int

	ahead   *runner // looks ahead, for races
	aheadAt []uint64
	same    int // how much of it was the same as the path when lookAhead was called last
	rev     reversal
	rest    rest
	some    system.Some // that of rest
	v       sequence
	past    []step // by evaluatePast
	root    [1]int32
	memo    memo
	// What lasts until the end of a reversal.
	accs   []system.Access
	ints   []int32
	alts   []alternative // of glimpse
	key    []byte
	writes []int32

	static    staticChoice
	visible   *composed.Visibility // nil unless invisible transitions come first
	coming    []trace.Step         // by foresee
	comes     func(i int) (t int, alt uint64)
	nextCheck int // the depth at which to look for a cycle
	buf       system.State
}

func newWorker(e *explorer) *worker {
	w := &worker{e: e}
	w.comes = func(i int) (t int, alt uint64) { return w.coming[i].Thread, w.coming[i].Alt }
	w.r = newRunner(e.sys, e.initial, e.o.Undo == Replay, e.tracks())
	if e.o.InvisibleFirst {
		w.visible, _ = composed.NewVisibility(e.sys) // Run has tried it
	}
	return w
}

// prepare makes the worker ready to explore a tree from an initial state.
func (w *worker) prepare(t *tree, initial system.State) {
	w.tree = t
	w.r.initial = initial
	w.r.m.Load(initial)
	w.threads = w.r.m.NumThreads()
	w.r.steps, w.r.marks = w.r.steps[:0], w.r.marks[:0]
	if w.ahead != nil {
		w.ahead.initial = initial
		w.ahead.m.Load(initial)
		w.ahead.steps, w.ahead.marks = w.ahead.steps[:0], w.ahead.marks[:0]
		w.aheadAt = w.aheadAt[:0]
	}
	w.path.reset(t.root, w.e.o.Reduction.dynamic())
	w.open = w.open[:0]
	w.nextCheck = firstCheck
}

// run explores until nothing is left.
func (w *worker) run() {
	for n := w.begin(); n != nil; {
		if w.moving {
			w.moving = false
			w.move()
		} else {
			w.backTo(max(0, int(n.depth)-1)) // the root has no parent
		}
		end := w.execute(n)
		if end == aborted {
			w.tree.stop()
			return
		}
		n = w.finish(end)
	}
}

// begin returns the first node to explore.
func (w *worker) begin() *node {
	w.tree.lock()
	defer w.tree.unlock()
	return w.take()
}

// take returns the next node to explore, nil if there is none. The path must go back to its
// parent, or, if moving is set, move there. The lock has been held since the last execution was
// completed, because a worker's open nodes stay in the tree only as long as it explores
// something below.
func (w *worker) take() *node {
	t := w.tree
	if t.paused.Load() {
		return nil
	}
	for k := len(w.open) - 1; k >= 0; k-- {
		if c := w.open[k].takeChild(); c != nil {
			w.open = w.open[:k+1]
			return c
		}
	}
	w.open = w.open[:0]
	for {
		if t.stopped.Load() || t.paused.Load() || t.root.status == done {
			return nil
		}
		if t.root.status == pending {
			t.root.status = running
			return t.root
		}
		for _, o := range t.workers {
			for _, x := range o.open {
				if c := x.takeChild(); c != nil {
					for n := x; n != nil; n = n.parent {
						w.open = append(w.open, n)
					}
					slices.Reverse(w.open)
					w.moving = true
					return c
				}
			}
		}
		t.idle++
		w.await()
		t.idle--
	}
}

// backTo shortens the path.
func (w *worker) backTo(depth int) {
	w.path.truncate(depth)
	w.r.truncate(depth)
	if depth > 0 {
		w.last = int(w.node(depth).thread)
	}
}

// move brings the path to the last node of open, which was another worker's.
// The nodes on the way there stay as long as this worker explores below.
func (w *worker) move() {
	w.backTo(0)
	for _, n := range w.open[1:] {
		w.r.step(int(n.thread), n.alt)
		w.push(n, w.e.o.Reduction.sleeps())
		w.last = int(n.thread)
	}
}

// execute runs one execution that begins with the node n to its end.
func (w *worker) execute(n *node) end {
	if w.r.costly != nil {
		w.foresee(n)
	}
	c := n
	for {
		if c != w.tree.root {
			if !w.advance(c) {
				return aborted
			}
		}
		if b := w.e.bound; b > 0 && w.path.len() >= b {
			w.tree.lock()
			c.free = true
			w.tree.unlock()
			if w.quiet() {
				return maximal
			}
			return cut
		}
		if w.path.len() >= w.nextCheck && !w.checkEndless() {
			return aborted
		}
		next, end := w.choose(c)
		if next == nil {
			return end
		}
		c = next
	}
}

// foresee announces to the machine which steps come first: n, and the first branch below it. Then
// it announces the branches that come next, if the machine wants to know.
func (w *worker) foresee(n *node) {
	w.coming = w.coming[:0]
	w.tree.lock()
	defer w.tree.unlock()
	if n == w.tree.root {
		n = n.firstPending()
	}
	leaf := n
	for x := n; x != nil; x = x.firstPending() {
		w.coming, leaf = append(w.coming, trace.Step{Thread: int(x.thread), Alt: x.alt}), x
	}
	if !w.r.costly.Foresee(len(w.coming), w.comes) || n == nil {
		return
	}
	leaf.announced = true
	near := nearby
	for x, below := n, true; x != nil && near > 0; x, below = x.parent, false {
		depth := int(x.depth)
		if w.coming = w.coming[:0]; below {
			depth--
			w.coming = append(w.coming, trace.Step{Thread: int(x.thread), Alt: x.alt})
		}
		w.announce(x, depth, &near)
	}
}

// nearby is how many branches foresee looks at.
const nearby = 32

// announce announces the branches that begin with pending children of x, behind what is coming. It
// counts them down, and has no more to look at when the machine does not want to know.
func (w *worker) announce(x *node, depth int, near *int) {
	n := len(w.coming)
	for c := x.first; c != nil && *near > 0; c = c.next {
		if c.status != pending {
			continue
		}
		w.coming = append(w.coming[:n], trace.Step{Thread: int(c.thread), Alt: c.alt})
		if c.pending > 0 {
			w.announce(c, depth, near)
			continue
		}
		if *near--; c.announced {
			continue
		}
		c.announced = true
		if !w.r.costly.Announce(depth, len(w.coming), w.comes) {
			*near = 0
		}
	}
	w.coming = w.coming[:n]
}

// advance executes the transition of c. It returns false if the search should end.
func (w *worker) advance(c *node) bool {
	out := w.out
	if !w.taken {
		out = w.r.step(int(c.thread), c.alt)
	}
	w.taken = false
	w.push(c, w.e.o.Reduction.sleeps())
	w.last = int(c.thread)
	if c.executed {
		return true
	}
	c.executed = true
	w.transitions++
	w.depth = max(w.depth, w.path.len())
	if out.Violation != nil && !w.e.violation(out.Violation, w.r.steps, "") {
		return false
	}
	return w.transitions%askEvery != 0 && (w.e.o.MaxTransitions == 0 ||
		w.e.o.MaxTransitions > 16*askEvery) || w.e.goOn(w)
}

// choose returns the node with which the execution continues after c: along the
// wakeup tree, or else as the reduction chooses.
func (w *worker) choose(c *node) (*node, end) {
	w.tree.lock()
	next := c.takeChild()
	if next == nil {
		c.free = true
	}
	w.tree.unlock()
	if next != nil {
		return next, 0
	}
	if w.e.o.Reduction.dynamic() {
		return w.chooseFree(c)
	}
	return w.chooseStatic(c)
}

// chooseFree takes any transition that is enabled and not asleep: the last
// thread's if possible.
func (w *worker) chooseFree(c *node) (*node, end) {
	sleep := w.asleep(w.path.len())
	threads := w.r.m.NumThreads()
	w.stuck = w.stuck[:0]
	slept := false
	first := w.last
	if w.r.costly != nil {
		if t := w.r.costly.Cheapest(); t >= 0 {
			first = t
		}
	}
	for i := -1; i < threads; i++ {
		t := i
		switch {
		case i < 0:
			if t = first; t >= threads {
				continue
			}
		case i == first:
			continue
		}
		shape := w.r.can.Shape(t)
		for alt := uint64(0); ; {
			x := sleeping(sleep, t, alt)
			if x != nil && !x.multi {
				slept = true
				break
			}
			out := w.r.try(t, alt)
			if out.Kind != system.Moved {
				if out.Kind == system.Blocked {
					w.stuck = append(w.stuck, t)
				}
				break
			}
			if x == nil {
				n := w.newNode(t, alt, alt != 0 || out.Next != 0)
				n.shape = shape
				c.add(n)
				w.taken, w.out = true, out
				return c.takeChild(), 0
			}
			slept = true
			w.r.undo()
			if out.Next == 0 {
				break
			}
			alt = out.Next
		}
	}
	if slept {
		return nil, asleep
	}
	return nil, maximal
}

// newNode returns a node for the transition that the machine took last.
func (w *worker) newNode(t int, alt uint64, multi bool) *node {
	n := w.pool.get()
	n.thread, n.alt, n.multi = int32(t), alt, multi
	n.touched = touch(append(n.acc, w.r.m.Accesses()...))
	return n
}

// sleeping returns the entry of a sleep set for an alternative of a thread.
func sleeping(sleep []*node, t int, alt uint64) *node {
	for _, x := range sleep {
		if int(x.thread) == t && x.alt == alt {
			return x
		}
	}
	return nil
}

// quiet reports whether no thread is enabled, and finds those that are blocked.
func (w *worker) quiet() bool {
	w.stuck = w.stuck[:0]
	for t := range w.r.m.NumThreads() {
		switch w.r.try(t, 0).Kind {
		case system.Moved:
			w.r.undo()
			return false
		case system.Blocked:
			w.stuck = append(w.stuck, t)
		}
	}
	return true
}

// finish completes an execution and returns the next node to explore, as take does.
func (w *worker) finish(end end) *node {
	switch end {
	case maximal:
		w.executions++
		if w.e.o.Executed != nil {
			w.e.o.Executed(w.r.m)
		}
		if w.e.o.onExecution != nil {
			w.e.o.onExecution(w)
		}
		if !w.deadlock() {
			w.tree.stop()
			return nil
		}
	case asleep:
		w.blocked++
	case cut:
		w.cut++
	}
	if w.e.o.Reduction.dynamic() {
		w.races(end)
		if w.e.o.Checkpoint != nil && w.e.stopping.Load() {
			// Perhaps not all races were handled: a later search repeats the execution, as if it
			// had not ended.
			if end == maximal {
				w.executions--
			} else {
				w.blocked--
			}
			return nil
		}
	}
	w.publish()
	t := w.tree
	t.lock()
	defer t.unlock()
	y := t.complete(w.node(w.path.len()), &w.pool)
	if y == nil {
		w.open = w.open[:0]
	} else {
		// What remains open on the path, for this worker and for others.
		for k := len(w.open); k <= int(y.depth); k++ {
			w.open = append(w.open, w.node(k))
		}
		w.open = w.open[:y.depth+1]
	}
	if t.shared && t.idle > 0 {
		t.wake.Broadcast()
	}
	return w.take()
}

// deadlock reports the end of a maximal execution if it is a deadlock: some thread is blocked
// where it may not stay. It returns false if the search should end.
func (w *worker) deadlock() bool {
	if w.e.o.IgnoreDeadlocks {
		return true
	}
	for _, t := range w.stuck {
		if w.e.obs.Has(t) {
			continue
		}
		if out := w.r.m.Step(t, 0); out.AtEnd {
			continue
		}
		v := &system.Violation{Kind: system.Deadlock, Message: "deadlock"}
		return w.e.violation(v, w.r.steps, engine.StateKey(w.e.sys, &w.e.obs, w.r.m))
	}
	return true
}

// publish lets the reporter see the counters.
func (w *worker) publish() {
	w.public.executions.Store(w.executions)
	w.public.blocked.Store(w.blocked)
	w.public.transitions.Store(w.transitions)
	w.public.depth.Store(uint64(w.depth))
}
