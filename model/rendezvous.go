package model

import (
	"fmt"

	"cpor/system"
)

// A channel without a buffer does what Go's run time does, and the model language: the side that
// comes first offers, the second completes the exchange for both, and then the first continues.
// These are three transitions.
//
//	A: c.Send(5); x.Set(1)      offers 5
//	B: v := c.Receive()         takes it, and goes to its next step
//	A:                          Send returns; x = 1
//
// So the step of the first side is executed twice: up to where it waits, which is undone except for
// the offer, and again as a whole when the other side was there. Both times it must come to the
// same operation. So nothing shared may be used before it.
//
// A process that waits at a Select offers in all its cases, and withdraws the other offers when
// one was taken. One process at a time offers on a channel; others on its side wait
// until it is free, which makes no difference to the other side.
//
// # State
//
// A channel has a mark (state, process, case) and room for a value. Each process has a shared
// location, which says which case the other side has completed, and, as part of its own state, on
// which channels it offers.

// meeting is a channel without a buffer, without the type of its values.
type meeting struct {
	name   string
	number int
	loc    system.Loc // of the first cell, which begins with the mark
	cells  []cell
	mark   cell
}

// The states in marks.
const (
	free      = iota
	sending   // there is a value
	receiving // there is none
	delivered // there is one for a receiver that has not continued
)

const (
	stateBits = 2
	markBits  = stateBits + ownerBits + caseBits
)

// offer is one that a process can make.
type offer struct {
	at    *meeting
	send  bool
	value []uint64 // cells
	which int      // case
	text  string
}

func marked(state, thread, which int) uint64 {
	return uint64(state | thread<<stateBits | which<<(stateBits+ownerBits))
}

// marks returns what the mark says.
func (m *machine) marks(c *meeting) (state, thread, which int) {
	v := int(c.mark.get(m.words))
	return v & (1<<stateBits - 1), v >> stateBits & (1<<ownerBits - 1), v >> (stateBits + ownerBits)
}

// watch records an access to all of a channel. It does not count as one by the body of the step.
func (m *machine) watch(c *meeting, write bool) {
	if m.watching {
		for i := range c.cells {
			m.access(c.loc+system.Loc(i), write)
		}
	}
}

// fill writes the mark and the value.
func (m *machine) fill(c *meeting, mark uint64, value []uint64) {
	m.watch(c, true)
	for i, cl := range c.cells {
		v := uint64(0)
		if value != nil {
			v = value[i]
		}
		if i == 0 {
			v |= mark
		}
		m.put(cl, v)
	}
}

// meet is what Send and Receive have in common: it returns when the exchange is possible, with the
// process on the other side, or -1 if that was here before and has completed it. try says not
// to wait: ok is false then.
func (m *machine) meet(c *meeting, send, try bool, offered func() offer) (with int, ok bool) {
	m.stepping()
	if m.touched {
		panic(m.misuse("an operation on %s, which has no buffer, must be the first thing in its "+
			"step that is shared: the process waits at it, and continues the step later", c.name))
	}
	m.touched, m.used = true, true
	if m.matched >= 0 {
		if m.offersOn(m.procs[m.cur], c) && !try && (send || m.delivers(c)) {
			m.woken = true
			return -1, true
		}
		panic(m.misuse("the step waited at a channel without a buffer, and then used %s: what "+
			"comes before that operation must not depend on anything that changes", c.name))
	}
	m.watch(c, false)
	state, who, which := m.marks(c)
	ready := (send && state == receiving || !send && state == sending) && who != m.cur &&
		m.completion(m.procs[who]) < 0
	m.decide()
	if ready {
		m.completes(who, which+1)
		return who, true
	}
	if try {
		return 0, false
	}
	if state == free {
		m.offers = append(m.offers, offered())
	}
	if m.narrate {
		m.waits = c.name + ", where nobody receives"
		if !send {
			m.waits = c.name + ", where nobody sends"
		}
	}
	panic(blockedStep)
}

// delivers reports whether there is a value for the current process.
func (m *machine) delivers(c *meeting) bool {
	m.watch(c, false)
	state, who, _ := m.marks(c)
	return state == delivered && who == m.cur
}

// completes says to a process which of its cases, plus 1, was completed; 0 that none is any more.
func (m *machine) completes(thread, which int) {
	p := m.procs[thread]
	if m.watching {
		m.access(p.done, true)
	}
	m.put(m.locs[p.done].cell, uint64(which))
}

// offersOn reports whether a process offers on a channel, or has until that was completed.
func (m *machine) offersOn(p *Process, c *meeting) bool {
	at := p.offers[c.number/64]
	return at.get(m.words)>>(c.number%64)&1 != 0
}

// waiting reports whether the process offers anywhere.
func (m *machine) waiting(p *Process) bool {
	for _, c := range p.offers {
		if c.get(m.words) != 0 {
			return true
		}
	}
	return false
}

// completed returns which case of a process was completed, -1 if none.
func (m *machine) completed(p *Process) int {
	if len(p.offers) == 0 || !m.waiting(p) {
		return -1
	}
	return m.completion(p)
}

// completion is completed for a process that offers somewhere.
func (m *machine) completion(p *Process) int {
	if m.watching {
		m.access(p.done, false)
	}
	return int(m.locs[p.done].cell.get(m.words)) - 1
}

// withdraw takes back all offers of a process, which continues.
func (m *machine) withdraw(p *Process) {
	if len(p.offers) == 0 || !m.waiting(p) {
		return
	}
	for _, c := range m.meetings {
		if !m.offersOn(p, c) {
			continue
		}
		m.watch(c, false)
		if state, who, _ := m.marks(c); who == p.thread && (state == sending ||
			state == receiving) {
			if m.narrate {
				m.act("withdraw the offer on %s", c.name)
			}
			m.fill(c, free, nil)
		}
	}
	for _, c := range p.offers {
		m.put(c, 0)
	}
	if m.matched >= 0 {
		m.completes(p.thread, 0)
	}
}

func (m *machine) act(format string, args ...any) {
	m.tell(system.Deed{Kind: system.Act, Text: fmt.Sprintf(format, args...)})
}

// park makes the offers that the cases of a step have come to, if no case is possible. It reports
// whether there was one.
func (m *machine) park(p *Process, n *node) bool {
	if len(m.offers) == 0 {
		return false
	}
	m.place = m.placeOf(p.thread)
	m.waits = ""
	for _, o := range m.offers {
		if state, _, _ := m.marks(o.at); state != free { // another case of this step
			continue
		}
		state := receiving
		if o.send {
			state = sending
		}
		m.fill(o.at, marked(state, p.thread, o.which), o.value)
		at := p.offers[o.at.number/64]
		m.put(at, at.get(m.words)|1<<(o.at.number%64))
		if m.narrate {
			m.act("%s", o.text)
		}
	}
	m.chosen = &n.cases[m.offers[0].which]
	if m.bound != nil {
		m.does(going, m.place)
	}
	m.place = -1
	return true
}

// layOutMeetings gives processes what they need for channels without buffers, if there are any. It
// is called before everything has its place.
func (m *machine) layOutMeetings() {
	if len(m.meetings) == 0 {
		return
	}
	for _, p := range m.procs {
		p.done = m.declare("", []int{caseBits + 1}, nil)
		at := 0
		for n := len(m.meetings); n > 0; n -= 64 {
			at = p.reserve([]int{min(n, 64)})
		}
		m.lay = append(m.lay, func() {
			p.offers = p.cells[at-(len(m.meetings)-1)/64 : at+1]
		})
	}
}

// sendNow is Send on a channel without a buffer.
func (c *Chan[T]) sendNow(value T, try bool) bool {
	m, s := c.m, &c.slots[0]
	cells := func() []uint64 {
		v := make([]uint64, len(s.cells))
		for i := range v {
			v[i] = raw(s.codec, &value, i)
		}
		return v
	}
	with, ok := m.meet(c.meeting, true, try, func() offer {
		return offer{c.meeting, true, cells(), m.trying,
			fmt.Sprintf("offer %s on %s", show(value), c.name)}
	})
	if !ok {
		return false
	}
	if with < 0 {
		if m.narrate {
			m.act("%s was received from %s", show(value), c.name)
		}
		return true
	}
	_, _, which := m.marks(c.meeting)
	m.fill(c.meeting, marked(delivered, with, which), cells())
	if m.narrate {
		m.tell(system.Deed{Kind: system.Send, Channel: c.name, Value: show(value),
			Text:   fmt.Sprintf("send %s to %s by %s", show(value), m.procs[with].name, c.name),
			Object: uint64(c.meeting.loc), Direct: true, With: with})
	}
	return true
}

// receiveNow is Receive on a channel without a buffer.
func (c *Chan[T]) receiveNow(try bool) (value T, ok bool) {
	m, s := c.m, &c.slots[0]
	with, ok := m.meet(c.meeting, false, try, func() offer {
		return offer{c.meeting, false, nil, m.trying, "wait to receive from " + c.name}
	})
	if !ok {
		return value, false
	}
	m.watch(c.meeting, false)
	value = load[T](m.words, s)
	m.fill(c.meeting, free, nil)
	switch {
	case !m.narrate:
	case with < 0:
		m.act("%s has come from %s", show(value), c.name)
	default:
		m.tell(system.Deed{Kind: system.Receive, Channel: c.name, Value: show(value),
			Text: fmt.Sprintf("receive %s from %s by %s", show(value), m.procs[with].name,
				c.name),
			Object: uint64(c.meeting.loc), Direct: true, With: with})
	}
	return value, true
}

// meetingText says what happens at a channel without a buffer.
func (c *Chan[T]) meetingText() string {
	m := c.m
	state, who, _ := m.marks(c.meeting)
	switch state {
	case sending:
		return fmt.Sprintf("[%s offers %s]", m.procs[who].name, show(load[T](m.words, &c.slots[0])))
	case receiving:
		return fmt.Sprintf("[%s waits]", m.procs[who].name)
	case delivered:
		return fmt.Sprintf("[%s for %s]", show(load[T](m.words, &c.slots[0])), m.procs[who].name)
	}
	return "[]"
}

func newMeeting[T comparable](m *machine, name string) *Chan[T] {
	c := &Chan[T]{m: m, queue: queue{name: name}, slots: make([]place, 1),
		meeting: &meeting{name: name, number: len(m.meetings)}}
	s, at := &c.slots[0], c.meeting
	s.codec = codecOf[T](m, name, markBits)
	at.loc = m.declare(name, s.widths, func([]uint64) string { return c.meetingText() })
	m.lay = append(m.lay, func() {
		at.cells = m.cellsOf(at.loc, len(s.widths))
		at.mark = cell{at.cells[0].word, at.cells[0].shift, ones(markBits)}
		s.locate(m, at.cells, &at.mark)
	})
	m.meetings = append(m.meetings, at)
	m.contents = append(m.contents, contents{name, at.loc, c.meetingText})
	return c
}
