package stateless

import (
	"iter"
	"runtime/debug"

	"cpor/workers"
)

const (
	// groupSize is how many workers take turns.
	groupSize = 4
	// aloneFirst is how many executions the first one makes before the others begin: most searches
	// are small.
	aloneFirst = 64
)

// group is workers that take turns on one goroutine, because their machine is costly
// ([system.Costly]): when one needs what costs less if it is done for several at once, the
// others go on until they need that, too. To the tree, each is a worker of its own.
type group struct {
	e       *explorer
	members []*member
}

// member is a worker of a group.
type member struct {
	w     *worker
	g     *group
	state memberState
	alone bool // none of the others can go on
	yield func(struct{}) bool
	next  func() (struct{}, bool)
}

// memberState says what a member can do.
type memberState uint8

const (
	goesOn memberState = iota
	waits              // for what its machine needs
	isIdle             // has found nothing to explore
	isEnded
)

// leave is the panic that ends a worker which is not to go on.
type leave struct{}

// newGroup makes a group of workers.
func newGroup(e *explorer, ws []*worker) *group {
	g := &group{e: e}
	for _, w := range ws {
		m := &member{w: w, g: g}
		w.member = m
		g.members = append(g.members, m)
		w.r.costly.Together(ws[0].r.costly, func() bool { return m.pause(waits) })
	}
	return g
}

// pause lets the others go on. It returns false if none of them can.
func (m *member) pause(s memberState) bool {
	m.state, m.alone = s, false
	if !m.yield(struct{}{}) {
		panic(leave{})
	}
	return !m.alone
}

// lonely tells whether all others have nothing to do.
func (m *member) lonely() bool {
	for _, x := range m.g.members {
		if x != m && x.state != isIdle && x.state != isEnded {
			return false
		}
	}
	return true
}

// run lets the workers explore until nothing is left, or they are to stop.
func (g *group) run() {
	for i, m := range g.members {
		m.state = goesOn
		if i > 0 {
			m.state = isIdle
		}
		next, stop := iter.Pull(m.explore)
		defer stop()
		m.next = next
	}
	for !g.e.stopping.Load() {
		moved := g.resume(goesOn)
		if first := g.members[0]; first.w.executions >= aloneFirst || first.state == isEnded {
			g.resume(isIdle)
		}
		if !moved && !g.serve() && !g.resume(isIdle) {
			break
		}
	}
	for _, m := range g.members {
		m.w.publish()
	}
}

// resume lets those go on that are in a state. It tells whether there are any.
func (g *group) resume(s memberState) (some bool) {
	for _, m := range g.members {
		if m.state == s {
			m.state = goesOn
			m.next()
			some = true
		}
	}
	return some
}

// serve lets one go on alone, if all wait; then the others can, too. It returns false if nobody
// waits.
func (g *group) serve() bool {
	served := false
	for _, m := range g.members {
		if m.state != waits {
			continue
		}
		m.state = goesOn
		if !served {
			served, m.alone = true, true
			m.next()
		}
	}
	return served
}

// explore is what a worker does, in turns.
func (m *member) explore(yield func(struct{}) bool) {
	m.yield = yield
	defer func() {
		m.state = isEnded
		if v := recover(); v != nil && v != any(leave{}) {
			panic(&workers.PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	m.w.run()
}

// await waits until there may be something to explore. The tree is locked.
func (w *worker) await() {
	if m := w.member; m == nil || m.lonely() {
		w.tree.wake.Wait()
	} else {
		w.tree.unlock()
		m.pause(isIdle)
		w.tree.lock()
	}
}
