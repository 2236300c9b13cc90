package model

import (
	"slices"

	"cpor/system"
)

// Step implements [system.Machine].
func (m *machine) Step(t int, alt uint64) system.Outcome {
	m.acc = m.acc[:0]
	if m.narrate {
		m.deeds, m.waits = m.deeds[:0], ""
	}
	m.chosen = nil
	if m.words[m.size+t] != 0 {
		return system.Outcome{Kind: system.Ended}
	}
	if t >= len(m.procs) {
		return m.observe(t)
	}
	p := m.procs[t]
	n := m.at(p)
	if n == nil {
		return system.Outcome{Kind: system.Ended}
	}
	m.offers = m.offers[:0]
	if len(n.cases) == 1 && alt == 0 {
		st := m.attempt(p, n, 0, 0)
		switch {
		case st == blocked && m.park(p, n):
			return system.Outcome{Kind: system.Moved}
		case len(m.choices) == 0:
			m.counted(st)
			return m.outcome(n, st, 0)
		}
		m.offers = m.offers[:0]
		// The step chooses: whether another alternative blocks can matter.
		m.revert(st)
		m.acc = m.acc[:0]
	}
	return m.alternatives(p, n, alt)
}

// outcome ends a step.
func (m *machine) outcome(n *node, st status, next uint64) system.Outcome {
	switch st {
	case blocked:
		for i := range m.acc {
			a := &m.acc[i] // what it would have done
			a.Write, a.Op, a.Room = false, 0, 0
		}
		return system.Outcome{Kind: system.Blocked, AtEnd: n.mayEnd || m.dormant}
	case failed:
		return system.Outcome{Kind: system.Moved, Violation: m.viol, Next: next}
	}
	return system.Outcome{Kind: system.Moved, Next: next}
}

// revert undoes an attempt that is not the step's outcome.
func (m *machine) revert(st status) {
	if st != blocked {
		m.Rewind(m.from)
	}
}

// attempt executes one case of a step with the choices that digits says. If it is blocked, it has
// changed nothing.
func (m *machine) attempt(p *Process, n *node, c int, digits uint64) status {
	m.from = system.Mark(len(m.log))
	m.cur, m.alt, m.jump = p.thread, digits, -1
	m.choices = m.choices[:0]
	m.touched, m.woken, m.trying, m.done = false, false, c, 0
	m.place, m.inUse = m.placeOf(p.thread), m.inUse[:0]
	m.dormant, m.matched = !m.started(p), m.completed(p)
	m.decided = len(m.acc)
	if m.dormant || m.matched >= 0 && m.matched != c {
		m.cur, m.place = -1, -1
		return blocked
	}
	cs := &n.cases[c]
	m.used, m.learning = false, nil
	if !cs.learned {
		m.learning = cs
	}
	labels := n.labels
	st := m.execute(p, n, cs)
	cs.learned = true
	m.learning = nil
	m.setMode(idle)
	m.cur = -1
	switch st {
	case blocked:
		m.decided = len(m.acc)
		m.Rewind(m.from)
		m.place = -1
		return st
	case failed:
		m.withdraw(p)
		for i, c := range p.slot {
			if m.put(c, 0); i == 0 {
				m.set(p.fail, m.failWord(m.viol.Kind, m.viol.Pos))
			}
		}
	}
	m.chosen = cs
	if m.watching && len(p.labels) > 0 {
		m.relabel(p, labels)
	}
	if m.bound != nil {
		m.does(going, m.placeOf(p.thread))
	}
	m.place = -1
	return st
}

// relabel records the labels that the process has left or come to.
func (m *machine) relabel(p *Process, before []int) {
	var after []int
	if n := m.at(p); n != nil {
		after = n.labels
	}
	for _, i := range before {
		if !slices.Contains(after, i) {
			m.access(p.labels[i].loc, true)
		}
	}
	for _, i := range after {
		if !slices.Contains(before, i) {
			m.access(p.labels[i].loc, true)
		}
	}
}

// execute runs the functions of a case and goes to the next step. A panic in them ends it.
func (m *machine) execute(p *Process, n *node, c *Case) (st status) {
	defer m.recovered(&st, c.pos)
	if c.guard != nil && m.matched < 0 {
		m.setMode(asking)
		ok := c.guard()
		m.used = true
		m.decide()
		if !ok {
			return blocked
		}
	}
	m.setMode(stepping)
	m.touched = false
	if c.learned && c.first.known() && !m.narrate && !c.first.open(m) {
		m.decide()
		return blocked
	}
	c.body()
	if m.matched >= 0 && !m.woken {
		panic(m.misuse("the step waited at a channel without a buffer, and did not come there " +
			"again: what comes before that operation must not depend on anything that changes"))
	}
	m.withdraw(p)
	to := c.next
	if m.jump >= 0 {
		to = m.jump
	}
	m.arrive(p, n.scope, to)
	return moved
}

// arrive lets a process continue at a node, and passes what is not a step.
func (m *machine) arrive(p *Process, from *scope, at int) {
	// Passing nodes changes nothing but that locals get their first values, so who passes more of
	// them goes round forever.
	for range len(p.nodes) * (len(p.locals) + 1) {
		n := &p.nodes[at]
		switch n.kind {
		case stepNode:
			m.put(p.pc, n.number)
			if n.scope != from {
				for _, i := range n.dead {
					p.locals[i].reset()
				}
			}
			return
		case endNode:
			for _, c := range p.slot {
				m.put(c, 0)
			}
			return
		case jumpNode:
			if n.leave != nil {
				for i := range p.locals {
					if p.locals[i].scope.within(n.leave) {
						p.locals[i].reset()
					}
				}
			}
			at = n.next
		case branchNode:
			m.setMode(deciding)
			ok := n.cond()
			m.setMode(stepping)
			if at++; !ok {
				at = n.next
			}
		}
	}
	panic(m.misuse("%s is in a loop without a step, forever", p.name))
}

// alternatives executes a step that has several. What any of them reads before it is known to be
// enabled, or before a choice, decides which alternatives there are, so it belongs to each.
func (m *machine) alternatives(p *Process, n *node, alt uint64) system.Outcome {
	mark := system.Mark(len(m.log))
	x := &m.taken
	x.found, x.next, x.accesses, x.redo, x.deeds = false, 0, x.accesses[:0], x.redo[:0], x.deeds[:0]
	m.decisive, m.deeds = m.decisive[:0], m.deeds[:0]
	code, waits := uint64(0), ""
	if !m.track {
		code = alt // those before it do not matter
	}
	for more := true; more; {
		c := code & (maxCases - 1)
		m.acc = m.acc[:0]
		st := m.attempt(p, n, int(c), code>>caseBits)
		digits := m.choices.Next()
		if m.track {
			for _, a := range m.acc[:m.decided] {
				m.decisive = append(m.decisive, a.Loc)
			}
		}
		switch {
		case st == blocked:
			waits += m.waits
		case !x.found && (alt == 0 || code == alt):
			m.take(n, st, mark)
		case x.found && x.next == 0:
			x.next = code
			more = m.track
		}
		m.Rewind(mark)
		m.deeds, m.waits = m.deeds[:0], ""
		if digits == 0 {
			c++
		}
		code = c | digits<<caseBits
		more = more && int(c) < len(n.cases)
	}
	m.acc = append(m.acc[:0], x.accesses...)
	for _, l := range m.decisive {
		m.access(l, false)
	}
	m.waits = waits
	if !x.found && m.park(p, n) {
		return system.Outcome{Kind: system.Moved}
	}
	if !x.found {
		return m.outcome(n, blocked, 0)
	}
	for _, u := range x.redo {
		m.set(u.word, u.old)
	}
	m.deeds, m.chosen = append(m.deeds[:0], x.deeds...), x.chosen
	m.counted(moved)
	x.out.Next = x.next
	return x.out
}

// counted counts the case that was executed.
func (m *machine) counted(st status) {
	if m.counts != nil && st != blocked {
		m.counts[m.chosen.count]++
	}
}

// taken is the alternative that is executed, while others are tried.
type taken struct {
	found    bool
	next     uint64 // the enabled one after it
	out      system.Outcome
	chosen   *Case
	accesses []system.Access
	redo     []undo // what its words become
	deeds    []system.Deed
}

func (m *machine) take(n *node, st status, since system.Mark) {
	x := &m.taken
	x.found, x.out, x.chosen = true, m.outcome(n, st, 0), m.chosen
	x.accesses = append(x.accesses, m.acc...)
	x.deeds = append(x.deeds, m.deeds...)
	for _, u := range m.log[since:] {
		x.redo = append(x.redo, undo{u.word, m.words[u.word]})
	}
}

// observe is a step of an observer.
func (m *machine) observe(t int) system.Outcome {
	pr := m.observed(t)
	m.cur, m.place = t, m.placeOf(t)
	ok, st := m.evaluate(pr.holds, pr.pos)
	m.cur, m.place = -1, -1
	if st == failed {
		m.set(int32(m.size+t), m.failWord(m.viol.Kind, m.viol.Pos))
		return system.Outcome{Kind: system.Moved, Violation: m.viol}
	}
	if ok {
		return system.Outcome{Kind: system.Blocked}
	}
	m.set(int32(m.size+t), m.failWord(system.Invariant, pr.pos))
	return system.Outcome{Kind: system.Moved, Violation: &system.Violation{Kind: system.Invariant,
		Message: "invariant " + pr.name + " does not hold", Pos: pr.pos}}
}

// evaluate asks for a condition.
func (m *machine) evaluate(holds func() bool, pos system.Pos) (ok bool, st status) {
	defer m.setMode(idle)
	defer m.recovered(&st, pos)
	m.setMode(asking)
	m.done = 0
	return holds(), moved
}
