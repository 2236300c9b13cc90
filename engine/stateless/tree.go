package stateless

import (
	"slices"
	"sync"
	"sync/atomic"

	"cpor/system"
	"cpor/testkit/sabotage"
)

// status says how far the exploration of a node has come.
type status uint8

const (
	pending status = iota // nobody explores it yet, or new work was put below it
	running               // somebody explores it or something below it
	done                  // everything below it is explored
)

// node is a node of the search tree: the transition that leads to it, and what is, was or will
// be explored after it. Its children are in the order of exploration. A child's sleep set
// contains its left siblings.
//
// With dynamic partial-order reduction the pending children of a node are its
// wakeup tree (Abdulla, Aronis, Jonsson, Sagonas 2017, section 6).
//
// What insert looks at comes first, so that it is mostly in one cache line.
type node struct {
	first, next *node // the first child, and the sibling to the right
	// free: after this node the search chose freely; it is not an inner node of a wakeup tree.
	// Nothing is inserted through it from outside.
	free      bool
	status    status
	executed  bool  // its transition has been counted
	announced bool  // to a machine, as the end of a branch
	depth     int32 // transitions from the root
	step
	parent  *node
	last    *node // child
	open    int32 // children that are not done
	pending int32 // children that are pending
}

// tree is the search tree that the workers share, as far as it is still needed. With one worker,
// that is the path of the depth-first search and its siblings.
//
// A worker extends the tree on its own while it runs one execution; the rest
// happens under the lock, once for each execution.
type tree struct {
	mu      sync.Mutex
	wake    *sync.Cond
	shared  bool // more than one worker, now or before a checkpoint
	root    *node
	workers []*worker
	idle    int
	stopped atomic.Bool
	paused  atomic.Bool // nobody takes a node
}

// newTree returns a tree in which nothing is explored.
func newTree(workers []*worker) *tree {
	t := &tree{root: &node{free: true}, workers: workers, shared: len(workers) > 1}
	t.wake = sync.NewCond(&t.mu)
	return t
}

// pool keeps the nodes that one worker released for new ones, chained by their next.
type pool struct{ free *node }

func (p *pool) get() *node {
	x := p.free
	if x == nil {
		return &node{}
	}
	p.free = x.next
	*x = node{step: step{touched: touched{acc: x.acc[:0]}}}
	return x
}

// of returns a node for a step.
func (p *pool) of(s *step) *node {
	n := p.get()
	acc := append(n.acc, s.acc...)
	n.step = *s
	n.acc = acc
	return n
}

// releaseChildren removes everything below x from the tree.
func (p *pool) releaseChildren(x *node) {
	for c := x.first; c != nil; {
		next := c.next
		p.releaseChildren(c)
		c.next, p.free = p.free, c
		c = next
	}
	x.first, x.last = nil, nil
}

// add appends a pending child.
func (x *node) add(c *node) {
	c.parent, c.depth = x, x.depth+1
	if x.last == nil {
		x.first = c
	} else {
		x.last.next = c
	}
	x.last = c
	x.open++
	x.pending++
}

// reopen makes a node pending again that got a new child.
func (x *node) reopen() {
	for x.status == done {
		x.status = pending
		x.parent.open++
		x.parent.pending++
		x = x.parent
	}
}

// takeChild takes the first pending child; nil if there is none.
func (x *node) takeChild() *node {
	c := x.firstPending()
	if c != nil {
		c.status = running
		x.pending--
	}
	return c
}

// firstPending returns the child that takeChild would take.
func (x *node) firstPending() *node {
	for c := x.first; c != nil && x.pending > 0; c = c.next {
		if c.status == pending {
			return c
		}
	}
	return nil
}

// stop ends the exploration: workers take no more nodes.
func (t *tree) stop() {
	t.mu.Lock()
	t.stopped.Store(true)
	t.wake.Broadcast()
	t.mu.Unlock()
}

// lock and unlock guard the tree if there are several workers.
func (t *tree) lock() {
	if t.shared {
		t.mu.Lock()
	}
}

func (t *tree) unlock() {
	if t.shared {
		t.mu.Unlock()
	}
}

// complete marks a node done that has nothing left below it, and with it the ancestors that are
// finished, too. It returns the first that is not done, nil if the whole tree is.
func (t *tree) complete(x *node, p *pool) *node {
	for {
		x.status = done
		if !t.shared || x.free || reachedByNobody(x) {
			p.releaseChildren(x)
		}
		if t.shared {
			for r := x.next; r != nil; r = r.next {
				if r.status == done && r.first != nil && reachedByNobody(r) {
					p.releaseChildren(r)
				}
			}
		}
		if x.parent == nil {
			return nil
		}
		x = x.parent
		if x.open--; x.open > 0 {
			return x
		}
	}
}

// reachedByNobody reports whether no later execution can insert anything below x, which is done.
// Insertions come through the left siblings of x and of its ancestors up to the next free one
// (see insert).
func reachedByNobody(x *node) bool {
	for ; x.parent != nil; x = x.parent {
		for l := x.parent.first; l != x; l = l.next {
			if l.status != done {
				return false
			}
		}
		if x.parent.free {
			return true
		}
	}
	return true
}

// step is a transition of the tree, of an execution or of a sequence to be inserted.
type step struct {
	alt    uint64
	thread int32
	multi  bool // the thread has more than one alternative here
	shape  system.Shape
	gone   bool // from a sequence: it is in the tree already (see insert)
	touched
}

// touched is what a transition accesses, with a summary that mostly shows at once that two of
// them have nothing to do with each other.
type touched struct {
	all, written uint64 // the locations, by their lowest bits
	acc          []system.Access
	operates     bool // there is an operation that commutes
}

// touch returns accesses with their summary. It keeps acc.
func touch(acc []system.Access) touched {
	t := touched{acc: acc}
	for i := range acc {
		bit := uint64(1) << (acc[i].Loc % 64)
		t.all |= bit
		if acc[i].Write {
			t.written |= bit
		}
		t.operates = t.operates || acc[i].Op != 0
	}
	return t
}

// apart reports whether the summaries show that no location that one of the two touches is
// written by the other.
func (t *touched) apart(u *touched) bool { return t.all&u.written|t.written&u.all == 0 }

// relation is the relation of a transition to a sequence from the same state.
type relation uint8

const (
	dependent relation = iota // neither of the others
	// it is in the sequence, and nothing before it there conflicts with it
	initial
	unrelated // it is not in the sequence and conflicts with nothing there
)

// sequence is a sequence of steps, with a summary of those that are there or have been.
type sequence struct {
	steps        []step
	threads      uint64 // by their lowest bits
	all, written uint64 // the locations, by their lowest bits
}

func (v *sequence) add(s *step) {
	v.steps = append(v.steps, *s)
	v.threads |= 1 << (uint(s.thread) % 64)
	v.all |= s.all
	v.written |= s.written
}

// relate returns the relation of c's transition to v. If it is an initial or unrelated, it is a
// weak initial of v: an execution that begins with v can also begin with it.
func relate(c *node, v *sequence) relation {
	thread, all, written := c.thread, c.all, c.written
	if v.threads&(1<<(uint(thread)%64)) == 0 {
		// It is not in the sequence. What it depends on is mostly near the end, where the
		// sequence differs from the execution.
		if v.all&written|v.written&all != 0 && clashes(&c.touched, v.steps) ||
			c.operates && !fits(&c.touched, v.steps) {
			return dependent
		}
		return unrelated
	}
	for i := range v.steps {
		s := &v.steps[i]
		if s.gone {
			continue
		}
		if s.thread == thread {
			if s.alt != c.alt || c.operates && dependsOn(s, v.steps[:i]) {
				return dependent
			}
			return initial
		}
		// apart, which the compiler would not inline here.
		if s.all&written|s.written&all != 0 && ordered(s.acc, c.acc) {
			return dependent
		}
	}
	if c.operates && !fits(&c.touched, v.steps) {
		return dependent
	}
	return unrelated
}

// clashes reports whether a transition depends on a step of other threads, the last ones first.
func clashes(t *touched, v []step) bool {
	for i := len(v) - 1; i >= 0; i-- {
		s := &v[i]
		if s.all&t.written|s.written&t.all != 0 && !s.gone && ordered(s.acc, t.acc) {
			return true
		}
	}
	return false
}

// dependsOn reports whether a step depends on one of those before it.
func dependsOn(s *step, before []step) bool {
	for i := range before {
		if !before[i].gone && orders(&before[i].touched, &s.touched) {
			return true
		}
	}
	return false
}

// fits reports whether there is room for all operations of v before a transition, and for its
// own operation before each step of v. Nothing else makes it dependent on one of them.
func fits(t *touched, v []step) bool {
	for _, a := range t.acc {
		if a.Op == 0 {
			continue
		}
		n := 0
		for i := range v {
			if v[i].gone || v[i].all&t.all == 0 {
				continue
			}
			for _, b := range v[i].acc {
				if b.Loc != a.Loc {
					continue
				}
				if a.Write && !b.Admits(a.Op) && !sabotage.Is("commuting/room") {
					return false
				}
				if b.Write {
					n += b.Op.Size()
				}
			}
		}
		if a.Room != system.Unlimited && n > int(a.Room) && !sabotage.Is("commuting/room") {
			return false
		}
	}
	return true
}

// spend subtracts the room that the operations of a transition take from steps that now come
// after it.
func spend(t *touched, v []step) {
	if !t.operates {
		return
	}
	for i := range v {
		if v[i].operates && v[i].all&t.written != 0 {
			v[i].acc = spent(v[i].acc, t.acc)
		}
	}
}

// spent returns acc with the room that is left when a transition with accesses first comes before.
func spent(acc, first []system.Access) []system.Access {
	cloned := false
	for _, f := range first {
		if f.Op == 0 || !f.Write {
			continue
		}
		for i := range acc {
			if acc[i].Loc != f.Loc || !acc[i].Op.Like(f.Op) || acc[i].Room == 0 ||
				acc[i].Room == system.Unlimited {
				continue
			}
			if !cloned {
				acc, cloned = slices.Clone(acc), true
			}
			acc[i].Room -= min(acc[i].Room, uint16(f.Op.Size()))
		}
	}
	return acc
}

// insert puts the sequence v into the wakeup tree of node e, whose child cur leads to the
// execution in which v was found. The caller ensures that no transition asleep at e, and neither
// cur nor a left sibling of it, is a weak initial of v. It consumes v.
//
// It walks to the right of cur: v belongs below the first child that is a weak initial of the
// rest of v. A leaf of a wakeup tree (or a node that was one before it was explored freely)
// covers v already.
//
// If v may be followed by more, it matters what a child is unrelated to: then nothing is
// inserted and the result is false.
func insert(e, cur *node, v *sequence, more bool, p *pool) bool {
	x := e
	c := cur.next
	for {
		r := dependent
		for ; c != nil; c = c.next {
			if next := &v.steps[0]; next.thread != c.thread {
				r = relate(c, v)
			} else if next.alt == c.alt { // as mostly
				r = initial
			}
			if r != dependent {
				break
			}
		}
		if c == nil {
			break
		}
		if r == unrelated && more {
			return false
		}
		if c.free || c.first == nil {
			return true
		}
		if r == unrelated {
			spend(&c.touched, v.steps)
		}
		if r == initial && !v.remove(c) {
			return true
		}
		x, c = c, c.first
	}
	first := true
	for i := range v.steps {
		if v.steps[i].gone {
			continue
		}
		n := p.of(&v.steps[i])
		x.add(n)
		if first {
			x.reopen()
			first = false
		}
		x = n
	}
	return true
}

// remove removes the transition of c, an initial. It returns false if nothing is left. The first
// step is never one that is gone.
func (v *sequence) remove(c *node) bool {
	i := 0
	for v.steps[i].gone || v.steps[i].thread != c.thread {
		i++
	}
	if i > 0 {
		spend(&c.touched, v.steps[:i])
		v.steps[i].gone = true
		return true
	}
	for i = 1; i < len(v.steps) && v.steps[i].gone; i++ {
	}
	v.steps = v.steps[i:]
	return len(v.steps) > 0
}

// conflict reports whether two transitions of different threads and the same state are
// dependent: if they conflict there, or if they would as events (additions of opposite signs).
func conflict(t, u *touched) bool {
	if t.apart(u) {
		return false
	}
	for _, a := range t.acc {
		for _, b := range u.acc {
			if a.Loc == b.Loc && (a.Conflicts(b) || a.Orders(b)) {
				return true
			}
		}
	}
	return false
}

// orders reports whether two transitions of different threads, executed one after the other, are
// dependent.
func orders(t, u *touched) bool { return !t.apart(u) && ordered(t.acc, u.acc) }

// ordered is orders where the summaries decide nothing.
func ordered(t, u []system.Access) bool {
	for _, a := range t {
		for _, b := range u {
			if a.Loc == b.Loc && a.Orders(b) &&
				!(a.Op.Opposes(b.Op) && sabotage.Is("commuting/opposite")) {
				return true
			}
		}
	}
	return false
}
