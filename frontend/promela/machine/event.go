package machine

import (
	"fmt"

	"cpor/frontend/promela/program"
	"cpor/frontend/promela/syntax"
	"cpor/system"
	"cpor/testkit/sabotage"
)

// A trace or notrace assertion is an automaton of events, sends and receives. It moves with each
// event on a channel and of a direction that occurs in it, and is a part of the state. A trace
// assertion fails where it has no such move, a notrace assertion where it reaches its end.

// events is a trace assertion, compiled.
type events struct {
	proc         *proctype
	not          bool // it is a notrace
	sends, recvs []eval
}

// message returns a field of the message that an event is about.
type fields func(f int) int32

// event moves the automaton with a send or a receive on a channel.
func (m *Machine) event(kind program.Kind, id int32, field fields, pos syntax.Pos) {
	t := m.sys.trace
	scope := t.sends
	if kind == program.Recv {
		scope = t.recvs
	}
	in := false
	for _, ch := range scope {
		in = in || ch(m) == id
	}
	if !in {
		return
	}
	m.touch(m.sys.locTrace(), !sabotage.Is("trace/place"))
	at := int(m.words[0] >> traceShift & 0xffff)
	var taken *edge
	for _, e := range t.proc.states[at].edges {
		if e.kind != kind || !m.matches(e, id, field) {
			continue
		}
		if taken != nil {
			m.fail(system.Runtime, e.src.Pos, true, "two moves of this event trace match one event")
			return
		}
		taken = e
		if t.not && int(e.to) == t.proc.End {
			break
		}
	}
	switch {
	case taken != nil:
		m.setBits(0, traceShift, 16, uint64(taken.to))
		if t.not && int(taken.to) == t.proc.End {
			m.fail(system.Invariant, pos, false, "the notrace assertion is violated: all its "+
				"events have happened")
		}
	case t.not:
		m.setBits(0, traceShift, 16, uint64(t.proc.End)) // it cannot match any more
	default:
		m.fail(system.Invariant, pos, false, "the trace assertion is violated: it has no "+
			"matching event here")
	}
}

// matches reports whether an edge of the automaton is about an event. Only constants are
// compared.
func (m *Machine) matches(e *edge, id int32, field fields) bool {
	if e.kind == program.Send {
		if e.send.ch(m) != id {
			return false
		}
		for f, x := range e.src.Args {
			if c, ok := x.(*program.Const); ok && c.Value != field(f) {
				return false
			}
		}
		return true
	}
	if e.recv.ch(m) != id {
		return false
	}
	for f, x := range e.src.Recv {
		if c, ok := x.Match.(*program.Const); ok && c.Value != field(f) {
			return false
		}
	}
	return true
}

// traced reports whether the event trace, if there is one, may end here.
func (m *Machine) traced() bool {
	if m.sys.trace == nil {
		return true
	}
	s := &m.sys.trace.proc.states[m.words[0]>>traceShift&0xffff]
	return s.end || s.final
}

// addTrace compiles the trace assertion.
func (s *System) addTrace(c *coder, p *program.Proc, not bool) error {
	name := "trace"
	if not {
		name = "notrace"
	}
	if len(p.Syms) > 0 {
		v := p.Syms[0]
		return syntax.Errors{{Pos: v.Name.Pos, Len: len(v.Name.Text), Text: "a " + name +
			" assertion has no variables"}}
	}
	s.trace = &events{proc: &proctype{Proc: p, states: make([]state, len(p.States))}, not: not}
	for _, st := range p.States {
		for _, e := range st.Edges {
			if e.Kind == program.Skip && e.Stmt == nil {
				continue // a jump
			}
			if e.Kind != program.Send && e.Kind != program.Recv || e.Sorted || e.Random || e.Peek ||
				e.Escapes != nil || e.Atomic {
				return syntax.Errors{
					{Pos: e.Pos, Len: max(1, len(e.Text)),
						Text: fmt.Sprintf("this is not an event: a %s assertion is made of sends "+
							"and receives (! and ?), if, do and goto", name)}}
			}
		}
	}
	s.trace.proc.lay = layOut(&p.Region, processBit)
	c.compile(s.trace.proc)
	for i := range s.trace.proc.states {
		for _, e := range s.trace.proc.states[i].edges {
			switch e.kind {
			case program.Send:
				s.trace.sends = append(s.trace.sends, e.send.ch)
			case program.Recv:
				s.trace.recvs = append(s.trace.recvs, e.recv.ch)
			}
		}
	}
	return nil
}
