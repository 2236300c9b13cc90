package machine

import (
	"fmt"
	"sort"
	"strings"

	"cpor/frontend/model/compile"
	"cpor/frontend/model/resolve"
	"cpor/system"
)

var (
	_ system.Narrating = (*Machine)(nil)
	_ system.Showing   = (*Machine)(nil)
	_ system.Beginning = (*System)(nil)
)

// story is a machine's record, for users, of what a step did. A search turns it off; then it
// costs one test per operation on an object.
type story struct {
	on    bool
	pt    *compile.Point
	deeds []system.Deed
	waits []string // of all alternatives that were tried, each once
	// chosen are the choices of the step, for init.
	chosen  []string
	witness *compile.Witness // of the assertion that is being evaluated
}

func (s *story) begin(p *compile.Program, pt *compile.Point) {
	if s.on {
		s.pt, s.deeds, s.chosen = pt, s.deeds[:0], s.chosen[:0]
		// The step may begin in the middle of a condition: at the note before it.
		s.witness = nil
		if i := sort.Search(len(p.Notes), func(i int) bool {
			return p.Notes[i].At > pt.Entry
		}); i > 0 {
			s.witness = p.Notes[i-1].Witness
		}
	}
}

// clear forgets what earlier steps waited for.
func (s *story) clear() {
	if s.on {
		s.pt, s.deeds, s.waits = nil, s.deeds[:0], s.waits[:0]
	}
}

// Narrate implements system.Narrating.
func (m *Machine) Narrate(on bool) {
	m.story.on, m.code = on, m.p.Code
	if on {
		m.code = m.sys.notedCode()
	}
}

// Story implements system.Narrating.
func (m *Machine) Story() system.Story {
	s := system.Story{Deeds: m.story.deeds, Waits: m.story.waits}
	if pt := m.story.pt; pt != nil {
		for _, c := range pt.Calls {
			s.Calls = append(s.Calls, system.Call{Func: c.Func, Pos: m.sys.pos(c.Pos)})
		}
	}
	return s
}

// Internal implements system.Narrating: only variables need to be shown.
func (m *Machine) Internal(l system.Loc) bool {
	return int(l) >= len(m.p.Locs) || m.p.Locs[l].Mutex || m.p.Locs[l].Role != compile.Plain
}

// act records a deed in words.
func (m *Machine) act(format string, args ...any) {
	m.story.deeds = append(m.story.deeds, system.Deed{Text: fmt.Sprintf(format, args...)})
}

// tell records a deed about an object.
func (m *Machine) tell(verb string, l int) {
	if m.story.on {
		m.act("%s%s", verb, m.p.Locs[l].Name)
	}
}

// chose records a choice, or a print in init, with its place.
func (m *Machine) chose(in *compile.Instr, what string) {
	m.act("%s", what)
	p := m.sys.pos(m.p.Sites[in.Site].Pos)
	m.story.chosen = append(m.story.chosen, fmt.Sprintf("%s at %d:%d", what, p.Line, p.Col))
}

// print records what a print says; in init with its place, as a choice.
func (m *Machine) print(in *compile.Instr, regs []int64) {
	site := &m.p.Prints[in.T]
	var parts []string
	at := 0
	for _, p := range site.Parts {
		if p.Type == nil {
			parts = append(parts, p.Text)
			continue
		}
		from := at
		parts = append(parts, m.show(p.Type, func(i int) int64 { return regs[site.Regs[from+i]] }))
		at += len(compile.Leaves(p.Type))
	}
	what := fmt.Sprintf("print %q", strings.Join(parts, " "))
	if m.scratch != nil {
		m.chose(in, what)
		return
	}
	m.story.deeds = append(m.story.deeds, system.Deed{Kind: system.Print, Text: what,
		Value: strings.Join(parts, " ") + "\n"})
}

func (m *Machine) wait1(what string) {
	for _, w := range m.story.waits {
		if w == what {
			return
		}
	}
	m.story.waits = append(m.story.waits, what)
}

// held returns the value of a location without an access.
func (m *Machine) held(l int) int64 { return m.sys.locs[l].load(m.words) }

// waitsFor records what a thread waits for at a mutex, a monitor or a semaphore.
func (m *Machine) waitsFor(l int) {
	if !m.story.on {
		return
	}
	info := &m.p.Locs[l]
	v := m.held(l)
	switch {
	case info.Role == compile.SemaphoreCount:
		m.wait1(info.Name + ", which is 0")
	case info.Role == compile.GroupCount:
		m.wait1(fmt.Sprintf("%s, which is %d", info.Name, v))
	case info.Role == compile.CondWaiters:
		m.wait1("a signal of " + info.Name)
	case info.Role == compile.RWWriter && v == 0:
		m.wait1(fmt.Sprintf("%s, locked by %d for reading", info.Name, m.held(l+rwReaders)))
	case info.Role == compile.MonitorOwner && uint64(m.held(l+monitorWaiters))>>m.thread&1 != 0:
		m.wait1("a notification of " + info.Name)
	case v == int64(m.thread+1):
		m.wait1(info.Name + ", which it holds itself")
	default:
		m.wait1(info.Name + ", held by " + m.ThreadName(int(v-1)))
	}
}

func (m *Machine) tellCas(l int, done bool) {
	if done {
		m.act("cas succeeds")
		return
	}
	m.act("cas fails: %s is %s", m.p.Locs[l].Name, m.ValueString(system.Loc(l)))
}

// tellNotified records which threads a notification or a signal woke.
func (m *Machine) tellNotified(verb, name string, woken uint64) {
	if woken == 0 {
		m.act("%s no thread: none waits for %s", verb, name)
		return
	}
	m.act("%s %s, waiting for %s", verb, strings.Join(m.threadNames(woken), " and "), name)
}

func (m *Machine) threadNames(set uint64) []string {
	var who []string
	for t := range maxWaiters {
		if set>>t&1 != 0 {
			who = append(who, m.ThreadName(t))
		}
	}
	return who
}

// tellStart records a new thread.
func (m *Machine) tellStart(t int, g *compile.GoSite, regs []int64) {
	if m.scratch != nil {
		return // init's threads are there from the beginning
	}
	var with []string
	k := 0
	for _, v := range g.Thread.Params {
		n := max(1, v.N)
		if v.Name != "" {
			if v.N == 0 {
				with = append(with, v.Name+" = "+m.format(v.Type, regs[g.Args[k]]))
			} else {
				from := k
				with = append(with, v.Name+" = "+m.show(v.Type, func(i int) int64 {
					return regs[g.Args[from+i]]
				}))
			}
		}
		k += n
	}
	text := "start " + m.ThreadName(t)
	if len(with) > 0 {
		text += " with " + strings.Join(with, ", ")
	}
	m.act("%s", text)
}

// show prints a value of any type, whose scalars leaf returns.
func (m *Machine) show(t *resolve.Type, leaf func(i int) int64) string {
	at := 0
	var b strings.Builder
	var write func(t *resolve.Type)
	write = func(t *resolve.Type) {
		switch t.Kind {
		case resolve.Array:
			b.WriteByte('[')
			for i := range t.Len {
				if i > 0 {
					b.WriteByte(' ')
				}
				write(t.Elem)
			}
			b.WriteByte(']')
		case resolve.Struct:
			b.WriteString(t.Name + "{")
			for i, f := range t.Fields {
				if i > 0 {
					b.WriteString(", ")
				}
				b.WriteString(f.Name + ": ")
				write(f.Type)
			}
			b.WriteByte('}')
		default:
			b.WriteString(m.format(t, leaf(at)))
			at++
		}
	}
	write(t)
	return b.String()
}

// message returns the message that begins at a location.
func (m *Machine) message(ch *compile.Chan, from int) string {
	return m.show(ch.Elem, func(i int) int64 { return m.held(from + i) })
}

// sent returns the message that a case sends.
func (m *Machine) sent(c *compile.SelectCase, ch *compile.Chan, regs []int64) string {
	return m.show(ch.Elem, func(i int) int64 { return regs[c.Vals[i]] })
}

// filling returns how many messages are in a channel's buffer.
func (m *Machine) filling(ch *compile.Chan) int {
	n := 0
	for i := range ch.Cap {
		n += int(m.held(slotLoc(ch, i)))
	}
	return n
}

func (m *Machine) tellFilling(ch *compile.Chan) {
	if m.story.on {
		m.act("%s holds %d of %d", ch.Name, m.filling(ch), ch.Cap)
	}
}

// tellPolled records whether there is a message.
func (m *Machine) tellPolled(c *compile.SelectCase, ch *compile.Chan, found bool) {
	what := "no message in " + ch.Name
	if found {
		what = "a message in " + ch.Name
	}
	if c.Pattern != "" {
		what += " matches " + c.Pattern
	}
	m.act("%s", what)
}

// tellCase records which case of a select is taken.
func (m *Machine) tellCase(cases []compile.SelectCase, k int) {
	if cases[k].Text != "" {
		m.act("%s", cases[k].Text)
	}
}

// heldPlace is place without an access.
func (m *Machine) heldPlace(ch *compile.Chan, i int) int {
	if !ch.Bag {
		i += int(m.held(ch.First))
	}
	return slotLoc(ch, i%ch.Cap)
}

// sortedPlace returns the place in a bag of the message that a case sends.
func (m *Machine) sortedPlace(c *compile.SelectCase, ch *compile.Chan, regs []int64) int {
	at := 0
	for at < m.filling(ch) {
		slot := m.heldPlace(ch, at)
		i := 0
		for i < len(c.Vals)-1 && m.held(slot+1+i) == regs[c.Vals[i]] {
			i++
		}
		if len(c.Vals) > 0 && m.held(slot+1+i) > regs[c.Vals[i]] {
			break
		}
		at++
	}
	return at
}

// chosenCase says which case of a select was chosen, and which message of a bag.
func (m *Machine) chosenCase(c *compile.SelectCase, regs []int64, place int) string {
	text := c.Text
	if c.Kind != compile.SelRecv || place == noMessage {
		return text // an await has no channel
	}
	if ch := m.chanOf(regs[c.Chan]); ch != nil && ch.Bag {
		if text != "" {
			text += " with "
		}
		text += m.message(ch, m.heldPlace(ch, place)+1) + " from " + ch.Name
	}
	return text
}

// tellFire records a send or receive that is about to happen.
func (m *Machine) tellFire(c *compile.SelectCase, ch *compile.Chan, regs []int64, place int) {
	closed := ch.Closed >= 0 && m.held(ch.Closed) != 0
	d := system.Deed{Channel: ch.Name}
	_, who, _ := unmark(m.held(ch.Slots))
	switch {
	case c.Kind == compile.SelSend && closed:
		return // a violation, whose message tells
	case c.Kind == compile.SelSend:
		d.Kind, d.Value = system.Send, m.sent(c, ch, regs)
		if ch.Cap == 0 {
			d.Text = fmt.Sprintf("send %s to %s, for %s", d.Value, ch.Name, m.ThreadName(who))
			break
		}
		d.Place = m.filling(ch)
		if ch.Bag {
			d.Place = m.sortedPlace(c, ch, regs)
		}
		d.Text = fmt.Sprintf("send %s to %s (%d of %d)", d.Value, ch.Name, m.filling(ch)+1, ch.Cap)
	default:
		from := ch.Values
		if ch.Cap > 0 {
			closed = place == noMessage
			if !closed {
				slot := m.heldPlace(ch, place)
				from = slot + 1
				closed = m.held(slot) == 0
			}
		}
		switch {
		case closed && c.Pattern != "":
			m.act("receive from %s: it is closed, and no message matches %s", ch.Name, c.Pattern)
			return
		case closed:
			m.act("receive from %s: it is closed and empty", ch.Name)
			return
		case c.Keep:
			m.act("see %s in %s", m.message(ch, from), ch.Name)
			return
		}
		d.Kind, d.Value, d.Place = system.Receive, m.message(ch, from), max(place, 0)
		d.Text = fmt.Sprintf("receive %s from %s", d.Value, ch.Name)
		if ch.Cap == 0 {
			d.Text += ", sent by " + m.ThreadName(who)
		}
	}
	m.story.deeds = append(m.story.deeds, d)
}

// tellParked records that a thread waits at an unbuffered channel.
func (m *Machine) tellParked(c *compile.SelectCase, ch *compile.Chan, regs []int64) {
	if c.Kind != compile.SelSend {
		m.act("wait to receive from %s", ch.Name)
		return
	}
	v := m.sent(c, ch, regs)
	m.story.deeds = append(m.story.deeds, system.Deed{
		Kind: system.Send, Text: fmt.Sprintf("wait to send %s to %s", v, ch.Name), Channel: ch.Name,
		Value: v})
}

// tellWoken records which case another thread has completed for this one.
func (m *Machine) tellWoken(cases []compile.SelectCase, k int, regs []int64) {
	m.tellCase(cases, k)
	c := &cases[k]
	ch := m.chanOf(regs[c.Chan])
	if c.Kind != compile.SelRecv {
		m.act("%s has been received from %s", m.sent(c, ch, regs), ch.Name)
		return
	}
	v := m.message(ch, ch.Values)
	m.story.deeds = append(m.story.deeds, system.Deed{
		Kind: system.Receive, Text: fmt.Sprintf("receive %s from %s", v, ch.Name), Channel: ch.Name,
		Value: v})
}

// tellNotReady records that the default of a select is taken, or if it has none, what each of
// its cases waits for.
func (m *Machine) tellNotReady(cases []compile.SelectCase, def int, regs []int64) {
	if def >= 0 {
		m.act("default")
		return
	}
	for i := range cases {
		c := &cases[i]
		if c.Kind == compile.SelGuard {
			m.wait1(strings.TrimPrefix(c.Text, "case "))
			continue
		}
		ch := m.chanOf(regs[c.Chan])
		recv := c.Kind == compile.SelRecv
		switch {
		case ch == nil:
			m.wait1("a channel that is nil, forever")
		case recv && c.Pattern != "":
			m.wait1(fmt.Sprintf("a message in %s that matches %s", ch.Name, c.Pattern))
		case recv && ch.Cap > 0:
			m.wait1("a message in " + ch.Name + ", which is empty")
		case recv:
			m.wait1("a sender to " + ch.Name)
		case ch.Cap > 0:
			m.wait1(fmt.Sprintf("room in %s, which is full (%d of %d)", ch.Name, ch.Cap, ch.Cap))
		default:
			m.wait1("a receiver from " + ch.Name)
		}
	}
	if len(cases) == 0 {
		m.wait1("nothing: it has no case")
	}
}

// Choices implements system.Beginning.
func (s *System) Choices(initial int) []string {
	if !s.p.InitChoose && len(s.p.Prints) == 0 {
		return nil
	}
	m := newMachine(s, s.CountMachine())
	m.story.on = true
	s.initialise(m, s.chosen[initial])
	return m.story.chosen
}

// Variables implements system.Showing.
func (m *Machine) Variables() []system.Binding {
	var bs []system.Binding
	for l := 0; l < len(m.p.Locs); l++ {
		info := &m.p.Locs[l]
		if n, ok := m.p.ChanAt[l]; ok {
			ch := &m.p.Chans[n]
			bs = append(bs, system.Binding{Name: ch.Name, Value: m.contents(ch)})
			l += ch.Size() - 1
			continue
		}
		b := system.Binding{Name: info.Name, Value: m.ValueString(system.Loc(l))}
		if info.Role == compile.MonitorOwner {
			if who := uint64(m.held(l + monitorWaiters)); who != 0 {
				b.Value += ", waited for by " + strings.Join(m.threadNames(who), " and ")
			}
			l += monitorWaiters
		}
		bs = append(bs, b)
	}
	return bs
}

// contents returns what is in a channel, the oldest message first.
func (m *Machine) contents(ch *compile.Chan) string {
	closed := ""
	if ch.Closed >= 0 && m.held(ch.Closed) != 0 {
		closed = " closed"
	}
	if ch.Cap == 0 {
		switch state, who, _ := unmark(m.held(ch.Slots)); state {
		case sender:
			return m.ThreadName(who) + " sends " + m.message(ch, ch.Values)
		case receiver:
			return m.ThreadName(who) + " receives"
		case delivered:
			return m.message(ch, ch.Values) + " for " + m.ThreadName(who)
		}
		return "nobody" + closed
	}
	var vs []string
	for i := range m.filling(ch) {
		vs = append(vs, m.message(ch, m.heldPlace(ch, i)+1))
	}
	if ch.Bag {
		return "{" + strings.Join(vs, ", ") + "}" + closed
	}
	return "[" + strings.Join(vs, ", ") + "]" + closed
}
