package machine

import (
	"fmt"

	"cpor/frontend/model/compile"
	"cpor/system"
	"cpor/testkit/sabotage"
)

func rangeMessage(v int64, t *compile.IntType) string {
	return fmt.Sprintf("%d is out of range of %s (%d..%d)", v, t.Name, t.Min, t.Max)
}

// The mark of a rendezvous channel says which thread is parked at it: the state in its lowest
// bits, then the thread, then the case of its select.
const (
	free      = 0
	sender    = 1 // a parked sender, whose value is in the channel
	receiver  = 2 // a parked receiver
	delivered = 3 // a value for a receiver that was parked and has not woken

	parked = 1 // the wait field; 2 + k: matched with case k
)

func markOf(state, thread, k int) int64 {
	return int64(state | thread<<2 | k<<(2+compile.ThreadBits))
}

func unmark(v int64) (state, thread, k int) {
	return int(v & 3), int(v >> 2 & (1<<compile.ThreadBits - 1)), int(v >> (2 + compile.ThreadBits))
}

// chanOf returns the channel of a reference, nil if the reference is nil.
func (m *Machine) chanOf(ref int64) *compile.Chan {
	if ref == 0 {
		return nil
	}
	return &m.p.Chans[ref-1]
}

// slotLoc returns the location of the mark of a slot of a buffered channel.
func slotLoc(c *compile.Chan, i int) int { return c.Slots + i*(1+c.Leaves) }

func (m *Machine) closed(c *compile.Chan) bool { return c.Closed >= 0 && m.read(c.Closed) != 0 }

// offer is a case of a select that can be executed, and, of a receive from a buffer,
// the place of the message: 0 is the oldest one, or the first one in a bag; noMessage
// says that the channel is closed.
type offer struct{ k, place int }

const noMessage = -1

// matches reports whether a receive takes the message at a location.
func (m *Machine) matches(c *compile.SelectCase, regs []int64, from int) bool {
	for _, l := range c.Match {
		if m.read(from+l.Leaf) != regs[l.Reg] {
			return false
		}
	}
	return true
}

// equalMessages reports whether two messages are the same.
func (m *Machine) equalMessages(ch *compile.Chan, a, b int) bool {
	for i := range ch.Leaves {
		if m.read(a+i) != m.read(b+i) {
			return false
		}
	}
	return true
}

// messages calls f for the places of the messages that a receive may take: the oldest one that
// matches, or each different one in a bag that matches.
func (m *Machine) messages(c *compile.SelectCase, ch *compile.Chan, regs []int64,
	f func(place int)) {
	last := -1
	for i := range ch.Cap {
		slot := m.place(ch, i)
		if m.read(slot) == 0 {
			return
		}
		switch {
		case !m.matches(c, regs, slot+1):
		case !ch.Bag:
			if sabotage.Is("select/match") {
				i = 0
			}
			f(i)
			return
		case last < 0 || !m.equalMessages(ch, last+1, slot+1):
			f(i)
			last = slot
		}
	}
}

// place returns the location of the mark of the message at a place in a buffer.
func (m *Machine) place(ch *compile.Chan, i int) int {
	if !ch.Bag {
		i += int(m.read(ch.First))
	}
	return slotLoc(ch, i%ch.Cap)
}

// poll reports whether a receive would get a message.
func (m *Machine) poll(in *compile.Instr, regs []int64) (status, int) {
	c := &m.p.Selects[in.T][0]
	ch := m.chanOf(regs[c.Chan])
	regs[in.A] = 0
	if ch == nil {
		return reached, 0
	}
	if ch.Cap == 0 {
		return m.fault(in, "poll needs a channel with a buffer: %s never holds a message", ch.Name)
	}
	m.messages(c, ch, regs, func(int) { regs[in.A] = 1 })
	if m.story.on {
		m.tellPolled(c, ch, regs[in.A] != 0)
	}
	return reached, 0
}

// offers appends what a case can do at once. Everything it reads is an access of the step,
// whichever case is chosen.
func (m *Machine) offers(k int, c *compile.SelectCase, regs []int64) {
	if c.Kind == compile.SelRecv && (c.Bag || c.Keep || len(c.Match) > 0) {
		if ch := m.chanOf(regs[c.Chan]); ch != nil && ch.Cap > 0 {
			n := len(m.ready)
			m.messages(c, ch, regs, func(place int) { m.ready = append(m.ready, offer{k, place}) })
			if len(m.ready) == n && m.closed(ch) {
				m.ready = append(m.ready, offer{k, noMessage})
			}
			return
		}
	}
	if m.isReady(c, regs) {
		m.ready = append(m.ready, offer{k: k})
	}
}

// isReady reports whether a case can be executed at once; a receive from a buffer takes the
// oldest message.
func (m *Machine) isReady(c *compile.SelectCase, regs []int64) bool {
	if c.Kind == compile.SelGuard {
		return regs[c.Cond] != 0
	}
	if c.Kind == compile.SelDefault {
		return false
	}
	ch := m.chanOf(regs[c.Chan])
	if ch == nil {
		return false
	}
	recv := c.Kind == compile.SelRecv
	if ch.Cap == 0 {
		if m.closed(ch) {
			return true
		}
		state, who, _ := unmark(m.read(ch.Slots))
		want := sender
		if !recv {
			want = receiver
		}
		return state == want && who != m.thread && m.wait(who) == parked
	}
	if recv {
		if m.read(slotLoc(ch, int(m.read(ch.First)))) != 0 {
			return true
		}
		return m.closed(ch)
	}
	if ch.Bag {
		return m.closed(ch) || m.read(slotLoc(ch, ch.Cap-1)) == 0
	}
	return m.closed(ch) || m.read(slotLoc(ch, int(m.read(ch.First+1)))) == 0
}

// fire executes a case that is ready.
func (m *Machine) fire(c *compile.SelectCase, regs []int64, place int) (status, int) {
	if c.Kind == compile.SelGuard {
		return reached, 0
	}
	ch := m.chanOf(regs[c.Chan])
	send := c.Kind == compile.SelSend
	if m.story.on {
		m.tellFire(c, ch, regs, place)
	}
	if send && m.closed(ch) {
		return m.faultAt(c.Site, "send on closed channel %s", ch.Name)
	}
	if ch.Cap == 0 {
		_, who, k := unmark(m.read(ch.Slots))
		switch {
		case send:
			for i, r := range c.Vals {
				m.write(ch.Values+i, regs[r])
			}
			m.write(ch.Slots, markOf(delivered, who, k))
			m.setWait(who, 2+k)
			m.syncs.thread(system.Meet, who)
		case m.closed(ch):
			m.receive(c, regs, ch, -1)
			m.syncs.add(system.Acquire, ch.Closed)
		default:
			m.receive(c, regs, ch, ch.Values)
			m.write(ch.Slots, free)
			m.setWait(who, 2+k)
			m.syncs.thread(system.Meet, who)
		}
		return reached, 0
	}
	if send && ch.Bag {
		m.add(c, ch, regs)
		return reached, 0
	}
	if send {
		tail := int(m.read(ch.First + 1))
		slot := slotLoc(ch, tail)
		for i, r := range c.Vals {
			m.write(slot+1+i, regs[r])
		}
		m.write(slot, 1)
		m.write(ch.First+1, int64((tail+1)%ch.Cap))
		place := (tail - int(m.sys.locs[ch.First].load(m.words)) + ch.Cap) % ch.Cap
		if sabotage.Is("order/slot") {
			place = 0
		}
		m.syncs.slot(ch, place)
		return reached, 0
	}
	if place != noMessage {
		slot := m.place(ch, place)
		if m.read(slot) != 0 {
			m.take(c, ch, regs, place, slot)
			return reached, 0
		}
	}
	m.receive(c, regs, ch, -1)
	if !sabotage.Is("order/closed") {
		m.syncs.add(system.Acquire, ch.Closed)
	}
	return reached, 0
}

// take receives the message at a place of a buffer, whose slot's mark is at a location.
func (m *Machine) take(c *compile.SelectCase, ch *compile.Chan, regs []int64, place, slot int) {
	if c.Keep {
		for i, r := range c.Vals {
			regs[r] = m.read(slot + 1 + i)
		}
		if c.OK >= 0 {
			regs[c.OK] = 1
		}
		m.syncs.seen(ch, place)
		return
	}
	m.receive(c, regs, ch, slot+1)
	m.syncs.slot(ch, place)
	m.syncs.shift(ch, place, ch.Cap-1)
	if ch.Bag { // those after it come forward
		for i := place + 1; i < ch.Cap && m.read(slotLoc(ch, i)) != 0; i++ {
			m.moveMessage(ch, slotLoc(ch, i)+1, slotLoc(ch, i-1)+1)
			place = i
		}
		m.clear(ch, slotLoc(ch, place))
		return
	}
	for i := place; i > 0; i-- { // those before it go back
		m.moveMessage(ch, m.place(ch, i-1)+1, m.place(ch, i)+1)
	}
	head := int(m.read(ch.First))
	m.clear(ch, slotLoc(ch, head))
	m.write(ch.First, int64((head+1)%ch.Cap))
}

// moveMessage copies a message to the location of another one.
func (m *Machine) moveMessage(ch *compile.Chan, from, to int) {
	for i := range ch.Leaves {
		m.write(to+i, m.read(from+i))
	}
}

// clear empties a slot.
func (m *Machine) clear(ch *compile.Chan, slot int) {
	for i := range ch.Leaves {
		m.write(slot+1+i, 0)
	}
	m.write(slot, 0)
}

// add puts a message into a bag, after those that are not greater.
func (m *Machine) add(c *compile.SelectCase, ch *compile.Chan, regs []int64) {
	greater := func(slot int) bool {
		for i, r := range c.Vals {
			if v := m.read(slot + 1 + i); v != regs[r] {
				return v > regs[r]
			}
		}
		return false
	}
	at := 0
	for m.read(slotLoc(ch, at)) != 0 && (sabotage.Is("bag/unsorted") || !greater(slotLoc(ch, at))) {
		at++
	}
	last := at
	for m.read(slotLoc(ch, last)) != 0 {
		last++
	}
	for i := last; i > at; i-- {
		m.moveMessage(ch, slotLoc(ch, i-1)+1, slotLoc(ch, i)+1)
	}
	for i, r := range c.Vals {
		m.write(slotLoc(ch, at)+1+i, regs[r])
	}
	m.write(slotLoc(ch, last), 1)
	m.syncs.slot(ch, last)
	m.syncs.shift(ch, last, at)
}

// receive moves a value from its locations (-1: the channel is closed, the
// value is zero) into the registers of a case, and clears the locations.
func (m *Machine) receive(c *compile.SelectCase, regs []int64, ch *compile.Chan, from int) {
	for i := range ch.Leaves {
		v := int64(0)
		if from >= 0 {
			v = m.read(from + i)
			m.write(from+i, 0)
		}
		if i < len(c.Vals) {
			regs[c.Vals[i]] = v
		}
	}
	if c.OK >= 0 {
		regs[c.OK] = b2i(from >= 0 || sabotage.Is("eval/received"))
	}
}

// selectCase executes a select, a send or a receive. With status reached, the
// number is the case that was executed.
//
// On unbuffered channels it does what Go's run time does. If no thread waits on the other side,
// the thread parks at its channels (a transition after which it is at the same point). A thread
// that reaches a channel where another is parked on the other side completes the exchange for
// both, and the parked one then wakes by a transition of its own. One thread at a time is parked
// at a channel; others on its side wait until the place is free, which makes no difference to
// the other side.
func (m *Machine) selectCase(in *compile.Instr, regs []int64) (status, int) {
	cases := m.p.Selects[in.T]
	rendezvous := false
	if m.p.Rendezvous {
		for i := range cases {
			if ch := m.rendezvous(&cases[i], regs); ch != nil {
				rendezvous = true
				if c := &cases[i]; c.Keep || c.Pattern != "" {
					return m.fault(in, "match and peek need a channel with a buffer: %s never "+
						"holds a message", ch.Name)
				}
			}
		}
	}
	wait := 0
	if rendezvous {
		if in.D != 0 {
			return m.fault(in, "a channel without a buffer cannot be used in an atomic block or "+
				"in init: it needs the other side to take a step")
		}
		wait = m.wait(m.thread)
		if wait > parked {
			k := wait - 2
			c := &cases[k]
			if m.story.on {
				m.tellWoken(cases, k, regs)
			}
			if c.Kind == compile.SelRecv {
				ch := m.chanOf(regs[c.Chan])
				m.receive(c, regs, ch, ch.Values)
				m.write(ch.Slots, free)
			}
			m.retract(cases, regs)
			return reached, k
		}
	}
	m.ready = m.ready[:0]
	def := -1
	for i := range cases {
		if cases[i].Kind == compile.SelDefault {
			def = i
		} else {
			m.offers(i, &cases[i], regs)
		}
	}
	if len(m.ready) == 0 {
		if m.story.on {
			m.tellNotReady(cases, def, regs)
		}
		switch {
		case def >= 0:
			return reached, def
		case rendezvous && m.park(cases, regs):
			return stay, 0
		}
		return blocked, 0
	}
	taken := m.ready[0]
	if len(m.ready) > 1 && !sabotage.Is("select/first") {
		d, ok := m.choose(uint64(len(m.ready)))
		if !ok {
			return m.fault(in, "too many alternatives in one transition")
		}
		taken = m.ready[d]
	}
	k := taken.k
	if m.story.on {
		m.tellCase(cases, k)
		if len(m.ready) > 1 {
			m.chose(in, m.chosenCase(&cases[k], regs, taken.place))
			m.story.deeds = m.story.deeds[:len(m.story.deeds)-1]
		}
	}
	if wait == parked {
		m.retract(cases, regs)
	}
	if st, site := m.fire(&cases[k], regs, taken.place); st != reached {
		return st, site
	}
	return reached, k
}

// rendezvous returns the channel of a case if it has no buffer.
func (m *Machine) rendezvous(c *compile.SelectCase, regs []int64) *compile.Chan {
	if c.Kind > compile.SelSend {
		return nil
	}
	if ch := m.chanOf(regs[c.Chan]); ch != nil && ch.Cap == 0 {
		return ch
	}
	return nil
}

// park parks the thread at those of its channels where no thread is parked.
func (m *Machine) park(cases []compile.SelectCase, regs []int64) bool {
	any := false
	for k := range cases {
		c := &cases[k]
		ch := m.rendezvous(c, regs)
		if ch == nil || m.read(ch.Slots) != free {
			continue
		}
		state := receiver
		if c.Kind == compile.SelSend {
			state = sender
			for i, r := range c.Vals {
				m.write(ch.Values+i, regs[r])
			}
		}
		m.write(ch.Slots, markOf(state, m.thread, k))
		any = true
		if m.story.on {
			m.tellParked(c, ch, regs)
		}
	}
	if any {
		m.setWait(m.thread, parked)
	}
	return any
}

// retract removes the thread from where it is parked.
func (m *Machine) retract(cases []compile.SelectCase, regs []int64) {
	for k := range cases {
		ch := m.rendezvous(&cases[k], regs)
		if ch == nil {
			continue
		}
		state, who, _ := unmark(m.read(ch.Slots))
		if who != m.thread || state != sender && state != receiver ||
			sabotage.Is("select/retract") {
			continue
		}
		if state == sender {
			if m.story.on {
				m.story.deeds = append(m.story.deeds, system.Deed{Kind: system.Withdraw,
					Channel: ch.Name, Value: m.message(ch, ch.Values)})
			}
			for i := range ch.Leaves {
				m.write(ch.Values+i, 0)
			}
		}
		m.write(ch.Slots, free)
	}
	m.setWait(m.thread, 0)
}

// wait reads the wait field of a thread.
func (m *Machine) wait(t int) int {
	if m.track {
		m.access(m.p.Loc(t, 1), false)
	}
	w, sh := m.sys.slot(t)
	return int(m.words[w] >> sh & (1<<m.p.WaitBits - 1))
}

func (m *Machine) setWait(t, v int) {
	if m.track && !sabotage.Is("access/parked") {
		m.access(m.p.Loc(t, 1), true)
	}
	w, sh := m.sys.slot(t)
	m.set(w, m.words[w]&^(maskOf(m.p.WaitBits)<<sh)|uint64(v)<<sh)
}

// chanOp executes close, len, cap and full. The length of a buffer is read
// from its two indices and the mark of one slot; empty and full need one of
// the indices only.
func (m *Machine) chanOp(in *compile.Instr, regs []int64) (status, int) {
	ch := m.chanOf(regs[in.B])
	if ch == nil {
		if in.Op == compile.OpClose {
			return m.fault(in, "close of nil channel")
		}
		regs[in.A] = b2i(in.Op == compile.OpChanFull)
		return reached, 0
	}
	switch in.Op {
	case compile.OpClose:
		if m.read(ch.Closed) != 0 {
			return m.fault(in, "close of closed channel %s", ch.Name)
		}
		m.write(ch.Closed, 1)
		m.syncs.add(system.Release, ch.Closed)
		if m.story.on {
			m.act("close %s", ch.Name)
		}
	case compile.OpChanCap:
		regs[in.A] = int64(ch.Cap)
	case compile.OpChanFull:
		regs[in.A] = 1
		switch {
		case ch.Bag:
			regs[in.A] = m.read(slotLoc(ch, ch.Cap-1))
		case ch.Cap > 0:
			regs[in.A] = m.read(slotLoc(ch, int(m.read(ch.First+1))))
		}
		if m.story.on {
			m.tellFilling(ch)
		}
	case compile.OpChanLen:
		regs[in.A] = 0
		if m.story.on {
			m.tellFilling(ch)
		}
		if ch.Cap == 0 {
			break
		}
		if ch.Bag {
			for regs[in.A] < int64(ch.Cap) && m.read(slotLoc(ch, int(regs[in.A]))) != 0 {
				regs[in.A]++
			}
			break
		}
		head := int(m.read(ch.First))
		if m.read(slotLoc(ch, head)) == 0 {
			break
		}
		n := (int(m.read(ch.First+1)) - head + ch.Cap) % ch.Cap
		if n == 0 {
			n = ch.Cap
		}
		regs[in.A] = int64(n)
	}
	return reached, 0
}
