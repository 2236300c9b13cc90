package replay

import (
	"errors"
	"slices"

	"cpor/frontend/gosrc/native"
	"cpor/system"
)

// script is what a run of the program has done, so that an engine that goes the same way need not
// look each step up.
type script struct {
	events []*event
	next   []*pending // by event: what its thread was about to do; nil: it was not told
	final  []*pending // by thread: what it is about to do at the end
	begun  int        // so many steps were asked for
	ended  bool       // the program has come to its end
	seen   bool       // and somebody has followed it to there
}

// plan is an execution that the engine has announced: the first steps of the path, and some more.
type plan struct{ depth, from, to int }

const (
	// perExchange is how many executions are run in one exchange with the process.
	perExchange = 16
	// maxAhead is how many may have been run before the engine asks for them.
	maxAhead = 256
)

// follow makes sc the script.
func (m *Machine) follow(sc *script) {
	if m.script != nil {
		m.drop(m.script)
	}
	m.script, m.along = sc, 0
	for m.along < min(len(m.path), len(sc.events)) && m.path[m.along] == sc.events[m.along] {
		m.along++
	}
}

// drop gives up a script.
func (m *Machine) drop(sc *script) {
	if sc.ended && !sc.seen {
		m.s.noteEnd(key(stateOf(sc.events)))
	}
	m.spare = append(m.spare, sc)
}

// newScript returns a script to be written.
func (m *Machine) newScript() *script {
	if n := len(m.spare); n > 0 {
		sc := m.spare[n-1]
		m.spare = m.spare[:n-1]
		return sc
	}
	return &script{}
}

// begin begins a script with the path.
func (sc *script) begin(path []*event) {
	sc.events, sc.next, sc.final = append(sc.events[:0], path...), sc.next[:0], sc.final[:0]
	for range path {
		sc.next = append(sc.next, nil)
	}
	sc.begun, sc.ended, sc.seen = len(path), false, false
}

// scripted returns what a thread is about to do, if it takes the next step of the script; nil if it
// does not, or that is not known. At the end of the script no thread takes one.
func (m *Machine) scripted(t int) *pending {
	sc, n := m.script, len(m.path)
	switch {
	case sc == nil || m.along != n:
	case n < len(sc.events):
		if int(sc.events[n].thread) == t {
			return sc.next[n]
		}
	case t < len(sc.final):
		return sc.final[t]
	}
	return nil
}

// comes returns the next event of the script; nil if there is none.
func (m *Machine) comes() *event {
	if n := len(m.path); m.script != nil && m.along == n && n < len(m.script.events) {
		return m.script.events[n]
	}
	return nil
}

// ran tells whether the script has led to its end, which is that of the program.
func (m *Machine) ran() bool {
	sc := m.script
	return sc != nil && m.along == len(m.path) && m.along == len(sc.events) && sc.ended
}

// begins tells whether a script was asked for with the path and the steps that are foreseen.
func (m *Machine) begins(sc *script) bool {
	if sc.begun != m.hintAt+len(m.hint) || len(sc.events) < sc.begun {
		return false
	}
	for i, c := range m.hint {
		if ev := sc.events[m.hintAt+i]; ev.thread != c.Thread || ev.alt != c.Alt {
			return false
		}
	}
	for i := m.hintAt - 1; i >= 0; i-- {
		if sc.events[i] != m.path[i] {
			return false
		}
	}
	return true
}

// Foresee implements [system.Costly].
func (m *Machine) Foresee(n int, step func(i int) (t int, alt uint64)) (more bool) {
	m.hint, m.hintAt = appendSteps(m.hint[:0], n, step), len(m.path)
	m.planned, m.plans = m.planned[:0], m.plans[:0]
	for i := len(m.ahead) - 1; i >= 0; i-- { // mostly it is one of the last ones
		if sc := m.ahead[i]; m.begins(sc) {
			m.ahead = slices.Delete(m.ahead, i, i+1)
			m.follow(sc)
			return false
		}
	}
	if len(m.ahead) > maxAhead-perExchange { // other workers explore what they are for
		for _, sc := range m.ahead[:maxAhead/2] {
			m.drop(sc)
		}
		m.ahead = slices.Delete(m.ahead, 0, maxAhead/2)
	}
	return true
}

// desk is where machines that are used in turns order executions.
type desk struct{ orders []*order }

// order is an execution that a machine needs, with those that it has planned.
type order struct {
	m      *Machine
	prefix []native.Choice
	known  int
	f      func(*native.Execution) error
	plans  []plan
	done   bool
	err    error
}

// Together implements [system.Costly].
func (m *Machine) Together(first system.Costly, wait func() bool) {
	f := first.(*Machine)
	if f.desk == nil {
		f.desk = &desk{}
	}
	m.desk, m.wait = f.desk, wait
}

// order runs the program once, and gives f what happened, and then as planned: together with what
// other machines need.
func (m *Machine) order(prefix []native.Choice, known int,
	f func(*native.Execution) error) error {
	o := &order{m: m, prefix: prefix, known: known, f: f, plans: m.plans}
	if m.desk == nil {
		m.s.deliver([]*order{o})
		return o.err
	}
	d := m.desk
	d.orders = append(d.orders, o)
	for !o.done {
		if !m.wait() {
			m.s.deliver(d.orders)
			d.orders = slices.DeleteFunc(d.orders, func(o *order) bool { return o.done })
		}
	}
	return o.err
}

// Announce implements [system.Costly].
func (m *Machine) Announce(depth, n int, step func(i int) (t int, alt uint64)) (more bool) {
	from := len(m.planned)
	m.planned = appendSteps(m.planned, n, step)
	if m.scoutTo(depth).knows(m.planned[from:]) {
		// Another machine has asked what happens then: all that follows may be known.
		m.planned = m.planned[:from]
		return true
	}
	m.plans = append(m.plans, plan{depth, from, len(m.planned)})
	return len(m.plans)+1 < perExchange
}

// knows tells whether the events of some steps from the live state on are known.
func (m *Machine) knows(steps []native.Choice) bool {
	mark := m.Mark()
	defer m.Rewind(mark)
	for _, c := range steps {
		ev := m.event(int(c.Thread), c.Alt)
		if ev == nil {
			return false
		}
		m.apply(ev)
	}
	return true
}

func appendSteps(dst []native.Choice, n int, step func(i int) (t int, alt uint64)) []native.Choice {
	for i := range n {
		t, alt := step(i)
		dst = append(dst, native.Choice{Thread: int32(t), Alt: int32(alt)})
	}
	return dst
}

// prefixOf returns the choices of a plan, valid until the next call.
func (m *Machine) prefixOf(p plan) []native.Choice {
	m.later = appendPath(m.later[:0], m.path[:p.depth])
	m.later = append(m.later, m.planned[p.from:p.to]...)
	return m.later
}

// absorbPlan makes what an execution of a plan did known. If it took too long, the engine will find
// out when it gets there.
func (m *Machine) absorbPlan(x *native.Execution, p plan) error {
	sc := m.newScript()
	err := m.scoutTo(p.depth).absorb(x, p.depth, sc)
	if err != nil {
		if errors.Is(err, ErrTooLarge) || errors.Is(err, ErrEndless) {
			return nil
		}
		return err
	}
	sc.begun = p.depth + p.to - p.from
	m.ahead = append(m.ahead, sc)
	return nil
}

// scoutTo returns another machine, in the state after the first steps of the path.
func (m *Machine) scoutTo(depth int) *Machine {
	if m.scout == nil {
		m.scout = &Machine{s: m.s, threads: len(m.s.first)}
	}
	c := m.scout
	k := 0
	for k < min(depth, len(c.path)) && c.path[k] == m.path[k] {
		k++
	}
	if k < len(c.path) {
		c.Rewind(m.scoutAt[k])
		m.scoutAt = m.scoutAt[:k]
	}
	for ; k < depth; k++ {
		m.scoutAt = append(m.scoutAt, c.Mark())
		c.apply(m.path[k])
	}
	return c
}

func appendPath(dst []native.Choice, path []*event) []native.Choice {
	for _, ev := range path {
		dst = append(dst, native.Choice{Thread: ev.thread, Alt: ev.alt})
	}
	return dst
}

// stateOf is what [Machine.Encode] writes behind events.
func stateOf(events []*event) system.State {
	s := system.State{0}
	for _, ev := range events {
		for int(ev.thread) >= len(s) {
			s = append(s, 0)
		}
		s[ev.thread] = ev.id
	}
	return s
}
