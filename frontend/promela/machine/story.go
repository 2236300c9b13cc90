package machine

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cpor/frontend/promela/program"
	"cpor/system"
)

var (
	_ system.Narrating = (*Machine)(nil)
	_ system.Showing   = (*Machine)(nil)
)

// story is a machine's record, for users, of what a step did.
type story struct {
	on    bool
	deeds []system.Deed
	t     int // whose step it was
}

// Narrate implements system.Narrating.
func (m *Machine) Narrate(on bool) { m.story.on = on }

// Internal implements system.Narrating: the deeds show the content of channels, and the next
// statements the places of processes.
func (m *Machine) Internal(l system.Loc) bool {
	first := m.sys.locProcesses()
	if l < m.sys.locTrace() {
		return strings.HasPrefix(m.sys.globals.Scalars[l].Name, "len(")
	}
	if l <= first {
		return true
	}
	k := int(l - first - 1)
	t, i := k/m.sys.perProcess, k%m.sys.perProcess-1
	if i <= 0 || t >= m.n {
		return i <= 0
	}
	p := m.sys.procs[m.words[m.base[t]]&0xff]
	return i-1 < len(p.Scalars) && strings.HasPrefix(p.Scalars[i-1].Name, "len(")
}

// act records a deed in words.
func (m *Machine) act(format string, args ...any) {
	m.story.deeds = append(m.story.deeds, system.Deed{Text: fmt.Sprintf(format, args...)})
}

// printed returns what printf prints.
func (m *Machine) printed(format string, args []int32) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		c := format[i]
		if i+1 == len(format) || c != '%' && c != '\\' {
			b.WriteByte(c)
			continue
		}
		i++
		switch next := format[i]; {
		case c == '\\' && next == 'n':
			b.WriteByte('\n')
		case c == '\\' && next == 't':
			b.WriteByte('\t')
		case c == '\\' || next == '%':
			b.WriteByte(next)
		case len(args) == 0:
			b.WriteString(format[i-1 : i+1])
		default:
			b.WriteString(m.printedValue(next, args[0]))
			args = args[1:]
		}
	}
	return b.String()
}

func (m *Machine) printedValue(verb byte, v int32) string {
	switch verb {
	case 'c':
		return string([]byte{byte(v)})
	case 'e':
		names := m.sys.prog.Names
		for _, kind := range slices.Sorted(maps.Keys(names)) {
			if name := names[kind][int(v)]; name != "" {
				return name
			}
		}
	case 'o':
		return strconv.FormatUint(uint64(uint32(v)), 8)
	case 'u':
		return strconv.FormatUint(uint64(uint32(v)), 10)
	case 'x':
		return strconv.FormatUint(uint64(uint32(v)), 16)
	}
	return strconv.Itoa(int(v))
}

// spoken returns the message that is being sent or received.
func (m *Machine) spoken(c *inst) string {
	return m.message(c, func(f int) int32 {
		if f < len(m.msg) {
			return m.msg[f]
		}
		return 0
	})
}

// tellSent records a message that was put into a slot of a channel.
func (m *Machine) tellSent(c *inst, slot int) {
	if !m.story.on {
		return
	}
	v := m.spoken(c)
	m.story.deeds = append(m.story.deeds, system.Deed{Kind: system.Send, Channel: c.c.Name,
		Value: v, Place: slot,
		Text: fmt.Sprintf("send %s to %s (%d of %d)", v, c.c.Name, m.length(c), c.c.Cap)})
}

// tellLost records a message that a full channel has lost.
func (m *Machine) tellLost(c *inst) {
	if m.story.on {
		m.act("%s is lost: %s is full (%d of %d)", m.spoken(c), c.c.Name, c.c.Cap, c.c.Cap)
	}
}

// tellReceived records a message that was taken out of a slot, or only read.
func (m *Machine) tellReceived(c *inst, slot int, peek bool) {
	if !m.story.on {
		return
	}
	v := m.spoken(c)
	if peek {
		m.act("look at %s in %s", v, c.c.Name)
		return
	}
	text := fmt.Sprintf("receive %s from %s", v, c.c.Name)
	if slot > 0 {
		text += fmt.Sprintf(", behind %d others", slot)
	}
	m.story.deeds = append(m.story.deeds, system.Deed{Kind: system.Receive, Channel: c.c.Name,
		Value: v, Place: slot, Text: text})
}

// tellHandshake tells of a message that goes to another process without a buffer.
func (m *Machine) tellHandshake(c *inst, to int) {
	if !m.story.on {
		return
	}
	v := m.spoken(c)
	m.story.deeds = append(m.story.deeds, system.Deed{Kind: system.Send, Channel: c.c.Name,
		Value: v, Direct: true, With: to,
		Text: fmt.Sprintf("send %s to %s, received by %s", v, c.c.Name, m.ThreadName(to))})
}

// tellStart tells of a new process, the last one.
func (m *Machine) tellStart(p *proctype, args []int32) {
	if !m.story.on {
		return
	}
	text := "start " + m.ThreadName(m.n-1)
	var with []string
	for i, v := range args {
		with = append(with, p.Scalars[i].Name+" = "+m.value(p.Scalars[i].Type, v))
	}
	if len(with) > 0 {
		text += " with " + strings.Join(with, ", ")
	}
	m.act("%s", text)
}

// Story implements system.Narrating.
func (m *Machine) Story() system.Story {
	s := system.Story{Deeds: m.story.deeds}
	t := m.story.t
	if len(m.told) > 0 || t >= m.n || !m.story.on {
		return s
	}
	m.enter(t)
	at := &m.proc.states[m.pc(t)]
	wait := func(format string, args ...any) {
		if w := fmt.Sprintf(format, args...); !slices.Contains(s.Waits, w) {
			s.Waits = append(s.Waits, w)
		}
	}
	if at.final {
		wait("the end of %s: processes end in the reverse order of their creation",
			m.ThreadName(m.n-1))
		return s
	}
	for _, e := range at.edges {
		m.waitsAt(e, wait)
	}
	return s
}

// waitsAt says what the entered process waits for at an edge, unless it is a condition.
func (m *Machine) waitsAt(e *edge, wait func(format string, args ...any)) {
	switch e.kind {
	case program.Send:
		c := m.channel(e.send.ch(m))
		switch {
		case c == nil:
		case c.c.Cap == 0:
			wait("a receiver from %s", c.c.Name)
		case m.length(c) >= c.c.Cap:
			wait("room in %s, which is full (%d of %d)", c.c.Name, c.c.Cap, c.c.Cap)
		}
	case program.Recv:
		c := m.channel(e.recv.ch(m))
		switch {
		case c == nil:
		case c.c.Cap == 0:
			wait("a sender to %s", c.c.Name)
		case m.length(c) == 0:
			wait("a message in %s, which is empty", c.c.Name)
		case m.match(c, e.recv) < 0:
			wait("another message in %s, which holds %s", c.c.Name, m.contents(c))
		}
	case program.DStep:
		for _, g := range e.guards {
			m.waitsAt(g, wait)
		}
	}
}

// Variables implements system.Showing: the global variables, a channel with its messages.
func (m *Machine) Variables() []system.Binding {
	var bs []system.Binding
	for l := 0; l < len(m.sys.globals.scalars); l++ {
		b := system.Binding{Name: m.LocName(system.Loc(l)), Value: m.ValueString(system.Loc(l))}
		if m.sys.globals.Scalars[l].Type.Name == "chan" && b.Value == b.Name {
			continue // the channel that has the variable's name
		}
		bs = append(bs, b)
		for _, q := range m.sys.chans {
			if q.c.Base == l && q.c.Cap > 0 {
				l += len(q.c.scalars) - 1
				break
			}
		}
	}
	return bs
}
