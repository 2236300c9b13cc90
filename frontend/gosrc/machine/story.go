package machine

import (
	"fmt"
	"strings"

	"cpor/frontend/gosrc/compile"
	"cpor/system"
)

var _ system.Narrating = (*Machine)(nil)

// story is a machine's record, for users, of what a step did. A search turns it off, because
// describing a step takes longer than the step.
type story struct {
	on    bool
	deeds []system.Deed
	waits *goroutine // who was asked to step and is blocked; else nil
	// calm tells that the step computes what package check compares with: on values of its own,
	// which have the names of those that the calls have used.
	calm bool
}

// told is what the last step did, for users.
type told struct {
	thread, which, partner int
	child                  int // that a go statement makes
	pos                    system.Pos
	text                   string
	cases                  []string
	below                  uint64 // it picks a random number below this one; else 0
	stdlib                 bool   // the library does it in its own way
	within                 bool   // the call of the library that does it was told before
}

// Narrate implements system.Narrating.
func (m *Machine) Narrate(on bool) { m.story.on = on }

// Internal implements system.Narrating: the locations with names are those of the
// program.
func (m *Machine) Internal(system.Loc) bool { return false }

// foretell records what goroutine g does next, before it does so.
func (m *Machine) foretell(g *goroutine) {
	if m.story.on {
		m.story.deeds, m.story.waits, m.story.calm = m.story.deeds[:0], nil, false
		m.told = m.describe(g)
	}
}

// describe says what a goroutine does next.
func (m *Machine) describe(g *goroutine) told {
	d := told{thread: int(g.number), partner: -1, pos: m.userPos(m.stackOf(g)), text: m.doing(g)}
	if i := g.hidden(); i < len(g.frames) && !g.unstarted {
		d.stdlib = i == 0 || m.inLibrary(g) != ""
		if i > 0 {
			d.within, g.frames[i].told = g.frames[i].told, true
		}
	}
	if i := g.pending(); i != nil && i.Op == compile.SelectOp && !g.unstarted && !g.delivered {
		d.cases = m.cases(g, i)
	} else if i != nil && i.Op == compile.Sync && !g.unstarted &&
		natives[i.N].name == "internal/cpor.Pick" {
		d.below = g.regs()[0]
	} else if i != nil && i.Op == compile.Go && !g.unstarted {
		d.child = int(m.sys.threads.Number(threadName{g.number, g.children}))
	}
	return d
}

// tellMessage records the message that an alternative of the next instruction of g sends or
// receives.
func (m *Machine) tellMessage(g *goroutine, i *compile.Instr, r []uint64, a alternative) {
	if !m.story.on {
		return
	}
	switch i.Op {
	case compile.Send:
		m.tellTransfer(r[i.A], true, r[i.B:], a)
	case compile.Recv:
		m.tellTransfer(r[i.B], false, nil, a)
	case compile.SelectOp:
		if a.which >= 0 {
			c := g.top().fn.Selects[i.N].Cases[a.which]
			var v []uint64
			if c.Send {
				v = r[c.Value:]
			}
			m.tellTransfer(r[c.Chan], c.Send, v, a)
		}
	}
}

// tellTransfer records a message that goes into channel c or comes out of it.
func (m *Machine) tellTransfer(c uint64, send bool, v []uint64, a alternative) {
	if c == 0 || send && m.chanWord(c, chanClosed) != 0 {
		return
	}
	o := &m.objs[c>>32]
	d := system.Deed{Kind: system.Receive, Channel: m.chanName(c),
		Object: uint64(uint32(o.creator))<<32 | uint64(uint32(o.seq))}
	n := m.chanWord(c, chanCap)
	switch {
	case a.partner >= 0:
		d.Direct, d.With = true, a.partner
		if !send {
			x := m.gors[a.partner]
			if p, s := x.pending(), x.regs(); p.Op == compile.Send {
				v = s[p.B:]
			} else {
				v = s[x.top().fn.Selects[p.N].Cases[a.place].Value:]
			}
		}
	case send:
		d.Place = m.filled(c, n)
	default:
		s := uint64(0)
		if n > 0 {
			s = m.slot(c, m.chanWord(c, chanHead))
		}
		if n == 0 || m.mem[m.addr(s)] == 0 {
			m.story.deeds = append(m.story.deeds, system.Deed{Text: "it is closed and empty"})
			return
		}
		v = m.mem[m.addr(s)+1:]
	}
	d.Value = m.valueText(o.typ, v[:o.typ.Size])
	switch timer := m.chanWord(c, chanTimer) == 1; {
	case send:
		d.Kind = system.Send
		if n > 0 && !timer {
			d.Text = fmt.Sprintf("%s, with %d of %d", d.Value, d.Place+1, n)
		}
	case !timer:
		d.Text = "receive " + d.Value
	}
	m.story.deeds = append(m.story.deeds, d)
}

// filled returns how many messages are in a channel's buffer.
func (m *Machine) filled(c, n uint64) int {
	k := 0
	for i := range n {
		if m.mem[m.addr(m.slot(c, i))] != 0 {
			k++
		}
	}
	return k
}

// Story implements system.Narrating.
func (m *Machine) Story() system.Story {
	if m.told.stdlib {
		for i := range m.story.deeds {
			m.story.deeds[i].Text = ""
		}
		if m.told.child > 0 && m.out.Kind == system.Moved {
			m.story.deeds = append(m.story.deeds,
				system.Deed{Text: "go " + m.ThreadName(m.told.child)})
		}
	}
	s := system.Story{Deeds: m.story.deeds, Within: m.told.within}
	g := m.story.waits
	if g == nil {
		return s
	}
	for what := range strings.SplitSeq(m.waitsFor(g, &Report{}), "\n\t- ") {
		if w, ok := strings.CutPrefix(what, "waits for "); ok {
			s.Waits = append(s.Waits, w)
		} else if what, ok := strings.CutPrefix(strings.TrimPrefix(what, "waits "), "to "); ok {
			s.Waits = append(s.Waits, "a chance to "+what)
		}
	}
	return s
}
