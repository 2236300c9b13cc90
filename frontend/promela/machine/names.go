package machine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cpor/frontend/promela/program"
	"cpor/frontend/promela/syntax"
	"cpor/system"
)

// ThreadName implements system.Machine: the process type and the process number,
// as a remote reference names it.
func (m *Machine) ThreadName(t int) string {
	if m.sys.claim != nil && t == m.alone() {
		return "claim " + m.sys.claim.Name
	}
	if t >= m.n {
		return fmt.Sprintf("process %d", t)
	}
	return fmt.Sprintf("%s[%d]", m.sys.procs[m.words[m.base[t]]&0xff].Name, t)
}

// Next implements system.Machine.
func (m *Machine) Next(t int) (system.Pos, string, bool) {
	if t >= m.n {
		return system.Pos{}, "", false
	}
	p := m.sys.procs[m.words[m.base[t]]&0xff]
	s := &p.states[m.pc(t)]
	unfinished := ""
	if (s.final || s.end) && !m.traced() {
		unfinished = " (the event trace is at no end label)"
	}
	if s.final {
		return position(p.Decl.End), "end of " + p.Name + unfinished, true
	}
	var texts []string
	pos := position(s.src.Pos)
	for _, e := range s.edges {
		if len(texts) == 0 {
			pos = position(e.src.Pos)
		}
		texts = append(texts, e.src.Text)
	}
	return pos, strings.Join(texts, " :: ") + unfinished, true
}

// told is an edge that the last step took.
type told struct {
	e    *edge
	t    int
	proc *proctype // of t
	// The message that was sent or received: its channel, nil if there is none, and
	// where its fields are in Machine.said.
	c    *channel
	from int
}

// Told implements system.Telling: the statements of the step, those of another
// process (the receiver of a rendezvous) with its name.
func (m *Machine) Told() (system.Pos, string) {
	if len(m.told) == 0 {
		if m.viol != nil {
			return m.viol.Pos, "(a guard is looked at)"
		}
		if m.sys.claim != nil {
			pos := m.sys.claim.Decl.Pos
			if !pos.IsValid() {
				pos = m.sys.procs[0].Decl.Pos
			}
			return position(pos), "(no process can move)"
		}
		return system.Pos{}, ""
	}
	var texts []string
	var pos system.Pos
	at := m.told[0].t
	for _, d := range m.told {
		text := "end"
		if d.e != death {
			text = d.e.src.Text + m.chosen(d)
			if pos.Line == 0 {
				pos = position(d.e.src.Pos)
			}
		}
		if d.t != at {
			at = d.t
			text = m.ThreadName(at) + ": " + text
		}
		if text != "" { // a jump that the text of the model does not show
			texts = append(texts, text)
		}
	}
	if pos.Line == 0 {
		pos = m.diedAt
	}
	return pos, strings.Join(rounds(texts), "; ")
}

// rounds writes repetitions in an atomic sequence once, with their number.
func rounds(texts []string) []string {
	const longest, fewest = 4, 3
	var out []string
	for i := 0; i < len(texts); {
		took := 0
		for n := 1; n <= longest && i+n <= len(texts) && took == 0; n++ {
			times := 1
			for j := i + n; j+n <= len(texts) && slices.Equal(texts[i:i+n], texts[j:j+n]); j += n {
				times++
			}
			if times < fewest {
				continue
			}
			once := strings.Join(texts[i:i+n], "; ")
			if n > 1 {
				once = "(" + once + ")"
			}
			out = append(out, fmt.Sprintf("%d × %s", times, once))
			took = n * times
		}
		if took == 0 {
			out = append(out, texts[i])
			took = 1
		}
		i += took
	}
	return out
}

// say records the message that is being sent or received with the last n recorded edges. A
// d_step is recorded as a whole.
func (m *Machine) say(c *inst, n int) {
	if !m.track {
		return
	}
	from := len(m.said)
	m.said = append(m.said, m.msg...)
	for i := range m.told[len(m.told)-n:] {
		if d := &m.told[len(m.told)-n+i]; d.e.kind == program.Send || d.e.kind == program.Recv {
			d.c, d.from = c.c, from
		}
	}
}

// chosen returns what the text of a step does not show: the values of a message, and the choice
// of a select; empty if nothing.
func (m *Machine) chosen(d told) string {
	if d.e == death {
		return ""
	}
	src := d.e.src
	if k, ok := src.X.(*program.Const); ok && src.Kind == program.Assign {
		if _, ok := src.Stmt.(*syntax.Select); ok {
			return fmt.Sprintf(" = %d", k.Value)
		}
	}
	if d.c == nil || m.story.on { // then the deeds say it
		return ""
	}
	open := func(x program.Expr) bool {
		_, ok := x.(*program.Const)
		return !ok
	}
	sign := ""
	if src.Kind == program.Send && slices.ContainsFunc(src.Args, open) {
		sign = " → "
	} else if src.Kind == program.Recv && slices.ContainsFunc(src.Recv,
		func(a program.RecvArg) bool { return a.Match == nil || open(a.Match) }) {
		sign = " ← "
	}
	if sign == "" {
		return ""
	}
	return sign + m.message(&inst{c: d.c}, func(f int) int32 { return m.said[d.from+f] })
}

// value prints a value of a type.
func (m *Machine) value(t *program.Type, v int32) string {
	switch t.Name {
	case "bool":
		return strconv.FormatBool(v != 0)
	case "mtype":
		if name := m.sys.prog.Names[t.Kind][int(v)]; name != "" {
			return name
		}
	case "chan":
		if q := m.channel(v); q != nil {
			return q.c.Name
		}
		if v == 0 {
			return "no channel"
		}
	}
	return strconv.Itoa(int(v))
}

// symbol prints a variable whose region begins at base.
func (m *Machine) symbol(s *program.Sym, list []scalar, names []program.Scalar,
	base int32) []system.Binding {
	var out []system.Binding
	for i := range s.Scalars() {
		l := &list[s.Base+i]
		out = append(out, system.Binding{Name: names[s.Base+i].Name,
			Value: m.value(names[s.Base+i].Type, l.get(m.words[base+l.word]))})
	}
	return out
}

// Locals implements system.Machine.
func (m *Machine) Locals(t int) []system.Binding {
	if t >= m.n {
		return nil
	}
	p := m.sys.procs[m.words[m.base[t]]&0xff]
	var out []system.Binding
	for _, s := range p.Syms {
		if s.Chans == nil {
			out = append(out, m.symbol(s, p.lay.scalars, p.Scalars, m.base[t])...)
		}
	}
	for _, c := range p.chans {
		if c.Cap > 0 {
			q := &inst{c, m.base[t]}
			out = append(out, system.Binding{Name: c.Name, Value: m.contents(q)})
		}
	}
	return out
}

// contents prints the messages in a channel.
func (m *Machine) contents(q *inst) string {
	var b strings.Builder
	b.WriteByte('[')
	for slot := range m.length(q) {
		if slot > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(m.message(q, func(f int) int32 { return m.field(q, slot, f) }))
	}
	b.WriteByte(']')
	return b.String()
}

func (m *Machine) message(q *inst, field func(f int) int32) string {
	var parts []string
	for f, t := range q.c.Fields {
		parts = append(parts, m.value(t, field(f)))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return "(" + strings.Join(parts, ",") + ")"
}

// Locations: the scalars of the globals (a channel is its length), the number
// of processes, and for each process number its control state, whether it is
// ready for a rendezvous, and its locals.

func (s *System) locProcesses() system.Loc {
	if s.prog.UsesPriority {
		return s.locAbove() + 1
	}
	return s.locAbove()
}

// locAbove is the location of who there is with a priority above the lowest one, if there are
// priorities: each step reads it, and births and deaths of such processes write it.
func (s *System) locAbove() system.Loc {
	if s.prog.Trace != nil {
		return s.locTrace() + 1
	}
	return s.locTrace()
}

// locTrace is the location of the automaton of a trace assertion, if there is one.
func (s *System) locTrace() system.Loc { return system.Loc(len(s.globals.scalars)) }

func (s *System) locControl(t int) system.Loc {
	return s.locProcesses() + 1 + system.Loc(t*s.perProcess)
}

func (s *System) locReady(t int) system.Loc { return s.locControl(t) + 1 }

func (s *System) locLocal(t, i int) system.Loc { return s.locControl(t) + 2 + system.Loc(i) }

// LocName implements system.Machine.
func (m *Machine) LocName(l system.Loc) string {
	first := m.sys.locProcesses()
	switch {
	case m.sys.prog.Trace != nil && l == m.sys.locTrace():
		return "the event trace"
	case m.sys.prog.UsesPriority && l == m.sys.locAbove():
		return "priorities"
	case l < first:
		name := m.sys.globals.Scalars[l].Name
		if inner, ok := strings.CutPrefix(name, "len("); ok {
			return strings.TrimSuffix(inner, ")")
		}
		return name
	case l == first:
		return "_nr_pr"
	}
	k := int(l - first - 1)
	t, i := k/m.sys.perProcess, k%m.sys.perProcess-1
	if i <= 0 {
		return "" // where a process is
	}
	if t < m.n {
		p := m.sys.procs[m.words[m.base[t]]&0xff]
		if i-1 < len(p.Scalars) {
			return m.ThreadName(t) + ":" + p.Scalars[i-1].Name
		}
	}
	return fmt.Sprintf("a local of process %d", t)
}

// ValueString implements system.Machine.
func (m *Machine) ValueString(l system.Loc) string {
	first := m.sys.locProcesses()
	switch {
	case m.sys.prog.Trace != nil && l == m.sys.locTrace():
		return strconv.Itoa(int(m.words[0] >> traceShift & 0xffff))
	case m.sys.prog.UsesPriority && l == m.sys.locAbove():
		return ""
	case l < first:
		for _, q := range m.sys.chans {
			if q.c.Base == int(l) && q.c.Cap > 0 {
				return m.contents(&q)
			}
		}
		s := &m.sys.globals.scalars[l]
		return m.value(m.sys.globals.Scalars[l].Type, s.get(m.words[s.word]))
	case l == first:
		return strconv.Itoa(m.n)
	}
	k := int(l - first - 1)
	t, i := k/m.sys.perProcess, k%m.sys.perProcess-1
	if t >= m.n {
		return "ended"
	}
	p := m.sys.procs[m.words[m.base[t]]&0xff]
	if i <= 0 {
		_, text, _ := m.Next(t)
		return text
	}
	if i-1 < len(p.Scalars) {
		for _, c := range p.chans {
			if c.Base == i-1 && c.Cap > 0 {
				return m.contents(&inst{c, m.base[t]})
			}
		}
		s := &p.lay.scalars[i-1]
		return m.value(p.Scalars[i-1].Type, s.get(m.words[m.base[t]+s.word]))
	}
	return "0"
}

// touch records an access of the step.
func (m *Machine) touch(l system.Loc, write bool) {
	if !m.track {
		return
	}
	m.acc = addAccess(m.acc, l, write)
}

func addAccess(acc []system.Access, l system.Loc, write bool) []system.Access {
	for i := len(acc) - 1; i >= 0; i-- {
		if acc[i].Loc == l {
			acc[i] = system.Access{Loc: l, Write: acc[i].Write || write}
			return acc
		}
	}
	return append(acc, system.Access{Loc: l, Write: write})
}

// operate records an unlimited operation on a location. If the step has another access to it, or
// op is 0, it records an ordinary write.
func (m *Machine) operate(l system.Loc, op system.Op) {
	n := len(m.acc)
	if m.touch(l, true); len(m.acc) > n && op != 0 {
		m.acc[n].Op, m.acc[n].Room = op, system.Unlimited
	}
}

// touchChannel records an access to a buffered channel.
func (m *Machine) touchChannel(q *inst, write bool) {
	if !m.track || q.c.Cap == 0 {
		return
	}
	if q.base == 0 {
		m.touch(system.Loc(q.c.Base), write)
		return
	}
	for t := m.n - 1; t >= 0; t-- {
		if m.base[t] == q.base {
			m.touch(m.sys.locLocal(t, q.c.Base), write)
			return
		}
	}
}
