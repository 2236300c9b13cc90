package machine

import (
	"slices"

	"cpor/frontend/gosrc/compile"
	"cpor/system"
)

// A channel's object is a header and the slots. A slot is a word that says whether
// it is full, and the value.
const (
	chanCap    = 0
	chanClosed = 1
	chanHead   = 2 // the slot that is received from next
	chanTail   = 3 // the slot that is sent to next
	chanTimer  = 4 // 1: a timer's channel, whose buffer programs do not see
	chanSlots  = 5
)

func (m *Machine) newChan(g *goroutine, elem *compile.Type, n int) uint64 {
	c := m.newObject(g, chanObj, elem, chanSlots+n*(1+elem.Size))
	m.mem[m.addr(c)+chanCap] = uint64(n)
	return c
}

func (m *Machine) slot(c uint64, i uint64) uint64 {
	return c + chanSlots + i*uint64(1+m.objs[c>>32].typ.Size)
}

func (m *Machine) eachSlot(id uint32, f func(v []uint64)) {
	o := m.objs[id]
	for i := range m.mem[o.base+chanCap] {
		a := m.addr(m.slot(uint64(id)<<32, i))
		if m.mem[a] != 0 {
			f(m.mem[a+1 : a+1+uint32(o.typ.Size)])
		}
	}
}

func (m *Machine) chanWord(c uint64, at uint64) uint64 { return m.mem[m.addr(c+at)] }

// waitLocs name the places of goroutines that wait at a channel.
func (m *Machine) waits(g int32, c uint64, send bool) system.Loc {
	o := &m.objs[c>>32]
	kind := waitLoc
	if send {
		kind = offerLoc
	}
	return m.loc(locName{kind: kind, a: g, b: o.creator, c: o.seq})
}

// scan records a read of the goroutines that wait at an unbuffered channel.
func (m *Machine) scan(g *goroutine, c uint64, send bool) {
	if !m.track {
		return
	}
	for _, x := range m.gors {
		if x.status == absent || x == g {
			continue
		}
		m.touch(m.waits(x.number, c, send), false)
		if n := m.sys.threads.Number(threadName{x.number, x.children}); int(n) != int(g.number) {
			m.touch(m.exists(int32(n)), false)
		}
	}
}

// pending returns the instruction that a goroutine executes next, nil if it has
// none.
func (g *goroutine) pending() *compile.Instr {
	if g.status != alive || len(g.frames) == 0 {
		return nil
	}
	f := g.top()
	return &f.fn.Code[f.pc]
}

// offers calls f for each place where a goroutine waits at an unbuffered channel for a partner.
func (m *Machine) offers(g *goroutine, f func(c uint64, send bool, which int)) {
	i := g.pending()
	if i == nil || g.unstarted || g.delivered || m.sys.polls && !g.parked {
		return
	}
	r := g.regs()
	unbuffered := func(c uint64) bool { return c != 0 && m.chanWord(c, chanCap) == 0 }
	switch i.Op {
	case compile.Send:
		if unbuffered(r[i.A]) {
			f(r[i.A], true, 0)
		}
	case compile.Recv:
		if unbuffered(r[i.B]) {
			f(r[i.B], false, 0)
		}
	case compile.SelectOp:
		s := &g.top().fn.Selects[i.N]
		if s.Default {
			return
		}
		for k, c := range s.Cases {
			if unbuffered(r[c.Chan]) {
				f(r[c.Chan], c.Send, k)
			}
		}
	}
}

// mayPark reports whether beginning to wait at unbuffered channels is a transition of its own.
// That is so only in programs that poll channels, by a select with a default: in others, waiting
// and being about to wait make no difference.
func (m *Machine) mayPark(g *goroutine, i *compile.Instr, r []uint64) bool {
	if !m.sys.polls || g.parked {
		return false
	}
	g.parked = true
	some := false
	m.offers(g, func(uint64, bool, int) { some = true })
	g.parked = false
	return some
}

// arrive records that a goroutine now waits, or no longer waits.
func (m *Machine) arrive(g *goroutine) {
	if !m.track {
		return
	}
	m.offers(g, func(c uint64, send bool, _ int) { m.touch(m.waits(g.number, c, send), true) })
}

// alternative is a way to take a transition.
type alternative struct {
	which   int // of a select, -1: the default
	partner int // the goroutine that waits, -1: nobody is needed
	place   int // the partner's case
}

// partners appends the goroutines that wait at c for the opposite of send.
func (m *Machine) partners(g *goroutine, c uint64, send bool, which int,
	alts []alternative) []alternative {
	m.scan(g, c, !send)
	for _, x := range m.gors {
		if x == g || x.status != alive || x.delivered {
			continue
		}
		m.offers(x, func(d uint64, s bool, place int) {
			if d == c && s != send {
				alts = append(alts, alternative{which, int(x.number), place})
			}
		})
	}
	return alts
}

// sendAlts appends the ways to send on c.
func (m *Machine) sendAlts(g *goroutine, c uint64, which int, alts []alternative) []alternative {
	if c == 0 {
		return alts
	}
	m.touchWord(c+chanClosed, false)
	if m.chanWord(c, chanClosed) != 0 {
		return append(alts, alternative{which, -1, 0})
	}
	if m.chanWord(c, chanCap) == 0 {
		return m.partners(g, c, true, which, alts)
	}
	m.touchWord(c+chanTail, false)
	s := m.slot(c, m.chanWord(c, chanTail))
	m.touchWord(s, false)
	if m.mem[m.addr(s)] != 0 {
		return alts
	}
	return append(alts, alternative{which, -1, 0})
}

// recvAlts appends the ways to receive on c; active reports whether to look for senders that
// wait.
func (m *Machine) recvAlts(g *goroutine, c uint64, which int, active bool,
	alts []alternative) []alternative {
	if c == 0 {
		return alts
	}
	if m.chanWord(c, chanCap) == 0 {
		m.touchWord(c+chanClosed, false)
		if m.chanWord(c, chanClosed) != 0 {
			return append(alts, alternative{which, -1, 0})
		}
		if active {
			return m.partners(g, c, false, which, alts)
		}
		m.touch(m.waits(g.number, c, false), false)
		return alts
	}
	m.touchWord(c+chanHead, false)
	s := m.slot(c, m.chanWord(c, chanHead))
	m.touchWord(s, false)
	if m.mem[m.addr(s)] != 0 {
		return append(alts, alternative{which, -1, 0})
	}
	m.touchWord(c+chanClosed, false)
	if m.chanWord(c, chanClosed) != 0 {
		return append(alts, alternative{which, -1, 0})
	}
	return alts
}

func (m *Machine) touchWord(p uint64, write bool) {
	if m.track {
		m.touch(m.word(p), write)
	}
}

// alternatives returns the ways in which a goroutine can continue now, in m.scratch.
func (m *Machine) alternatives(g *goroutine, i *compile.Instr, r []uint64) []alternative {
	alts := m.scratch[:0]
	switch i.Op {
	case compile.Send:
		alts = m.sendAlts(g, r[i.A], 0, alts)
	case compile.Recv:
		alts = m.recvAlts(g, r[i.B], 0, false, alts)
	case compile.SelectOp:
		s := &g.top().fn.Selects[i.N]
		for k, c := range s.Cases {
			if c.Send {
				alts = m.sendAlts(g, r[c.Chan], k, alts)
			} else {
				alts = m.recvAlts(g, r[c.Chan], k, s.Default, alts)
			}
		}
		if s.Default && len(alts) == 0 {
			alts = append(alts, alternative{-1, -1, 0})
		}
	case compile.PickMap:
		n := m.keysLeft(g.top().fn.Types[i.N], r[i.B:])
		for k := range max(1, n) {
			alts = append(alts, alternative{k, -1, 0})
		}
	case compile.Sync:
		n := natives[i.N].alts(m, g, r)
		for k := range n {
			alts = append(alts, alternative{k, -1, 0})
		}
	default:
		alts = append(alts, alternative{0, -1, 0})
	}
	return alts
}

// Step implements [system.Machine].
func (m *Machine) Step(t int, alt uint64) (out system.Outcome) {
	defer m.caught(&out)
	if m.overdue && !m.sys.halted() {
		m.reclaim()
	}
	m.accesses = m.accesses[:0]
	m.out = system.Outcome{}
	if t >= len(m.gors) || m.gors[t].status == absent {
		m.touch(m.exists(int32(t)), false)
		return system.Outcome{Kind: system.Blocked, AtEnd: true}
	}
	g := m.gors[t]
	if g.status != alive {
		m.story.waits = nil
		return system.Outcome{Kind: system.Ended}
	}
	m.foretell(g)
	if m.sys.ends || m.sys.o.NoFailed {
		m.touch(m.loc(locName{kind: aliveLoc}), false)
		if m.exited {
			return system.Outcome{Kind: system.Blocked, AtEnd: true}
		}
	}
	m.cur = g
	m.budget, m.left, m.met = slice, m.stepBudget()-slice, false
	m.action = uint64(t) << 48
	if g.unstarted {
		m.touch(m.exists(g.number), false)
		m.begin(g)
		g.unstarted = false
		return m.finish(g)
	}
	i := g.pending()
	r := g.regs()
	if g.delivered {
		m.begin(g)
		m.resume(g, i, r)
		return m.finish(g)
	}
	if !i.Op.Synchronises() { // it was interrupted
		if alt > 0 {
			return system.Outcome{Kind: system.Blocked}
		}
		m.begin(g)
		return m.finish(g)
	}
	if m.sys.poison != nil && m.poisons(i, r) {
		m.begin(g)
		m.touchesPoison(g, r[0])
	}
	alts := m.alternatives(g, i, r)
	m.scratch = alts
	if alt > 0 && len(alts) == 1 && drawsRandom(i) {
		alts[0].which, alt = int(alt), 0
	}
	if len(alts) == 0 && m.track {
		// It waits for a partner, too.
		waits := false
		m.offers(g, func(uint64, bool, int) { waits = true })
		if waits {
			m.touch(m.loc(locName{kind: metLoc, a: g.number}), false)
		}
	}
	if len(alts) == 0 && alt == 0 && m.mayPark(g, i, r) {
		// With polls it matters whether a goroutine waits or is about to.
		m.begin(g)
		g.parked = true
		m.arrive(g)
		m.out.Kind = system.Moved
		return m.out
	}
	if alt >= uint64(len(alts)) {
		m.story.waits = g
		return system.Outcome{Kind: system.Blocked, AtEnd: g.daemon || g.behind || m.sys.noLeaks &&
			m.gors[0].status == ended && t != 0 || m.cutShort()}
	}
	if m.report != nil {
		m.report.synchronises(m, g, i, r)
	}
	m.action |= uint64(g.top().fn.Index)<<28 | uint64(g.top().pc)<<8 | uint64(
		alts[alt].which+1)&0xff
	m.told.which, m.told.partner = alts[alt].which, alts[alt].partner
	m.tellMessage(g, i, r, alts[alt])
	m.arrive(g) // it leaves
	m.begin(g)
	g.parked = false
	g.busy = g.busy || m.sys.readsClock && !looksAround(i) && alts[alt].which >= 0
	m.execute(g, i, r, alts[alt])
	out = m.finish(g)
	if alt+1 < uint64(len(alts)) {
		out.Next = alt + 1
	}
	return out
}

// Draws reports whether a goroutine draws a random number next. Each alternative of that step
// gives a number, though Step announces only the first one.
func (m *Machine) Draws(t int) bool {
	g := m.gors[t]
	i := g.pending()
	return i != nil && !g.unstarted && drawsRandom(i)
}

// Action identifies what a thread did in the last step: the instruction, and the case taken. A
// fair run-time does not postpone an action forever.
func (m *Machine) Action() uint64 { return m.action }

// finish computes up to the next synchronization.
func (m *Machine) finish(g *goroutine) system.Outcome {
	m.out.Kind = system.Moved
	why := atFault
	m.story.calm = g.calm
	if g.status == alive {
		why = m.run(g)
		for why == atSync && g.calm && m.calmly(g) {
			why = m.run(g)
		}
	}
	if m.budget < outOfMemory/2 && why != atFault {
		m.exhausted(g)
		why = atFault
	}
	switch why {
	case atSync:
		m.arrive(g)
	case atEnd:
		g.status = ended
		g.frames = g.frames[:0]
		if m.sys.counts {
			m.touch(m.loc(locName{kind: countLoc}), true)
		}
	case atFault:
		g.frames = g.frames[:0]
	}
	return m.out
}

// resume completes an operation that a partner has done.
func (m *Machine) resume(g *goroutine, i *compile.Instr, r []uint64) {
	m.touch(m.loc(locName{kind: metLoc, a: g.number}), false)
	g.delivered, g.parked = false, false
	g.busy = g.busy || m.sys.readsClock
	g.top().pc++
}

// execute performs a synchronization operation.
func (m *Machine) execute(g *goroutine, i *compile.Instr, r []uint64, a alternative) {
	switch i.Op {
	case compile.Go:
		m.spawn(g, i, r)
		return
	case compile.Send:
		m.send(g, r[i.A], r[i.B:], a)
	case compile.Recv:
		t := g.top().fn.Types[i.N]
		ok := m.recv(g, r[i.B], r[i.A:], a)
		if i.C == 1 {
			r[int(i.A)+t.Size] = flag(ok)
		}
	case compile.SelectOp:
		s := &g.top().fn.Selects[i.N]
		clear(r[i.A : i.A+i.B])
		r[i.A] = uint64(int64(a.which))
		if a.which >= 0 {
			c := s.Cases[a.which]
			if c.Send {
				m.send(g, r[c.Chan], r[c.Value:], a)
			} else {
				to := []uint64{}
				if at := s.Recv[a.which]; at >= 0 {
					to = r[i.A+at:]
				}
				r[i.A+1] = flag(m.recv(g, r[c.Chan], to, a))
			}
		}
	case compile.Close:
		m.closeChan(g, r[i.A])
	case compile.LenChan:
		n := uint64(0)
		if c := r[i.B]; c != 0 && m.chanWord(c, chanTimer) == 0 {
			m.touchWord(c+chanHead, false)
			m.touchWord(c+chanTail, false)
			for k := range m.chanWord(c, chanCap) {
				if m.mem[m.addr(m.slot(c, k))] != 0 {
					n++
				}
			}
		}
		r[i.A] = n
	case compile.PickMap:
		m.pickKey(g, g.top().fn.Types[i.N], r[i.B:], r[i.A:], a.which)
	case compile.Sync:
		depth := len(g.frames)
		natives[i.N].sync(m, g, r, a.which)
		if g.status != alive || len(g.frames) != depth || g.top().mode != running {
			return
		}
	}
	if g.status == alive && len(g.frames) > 0 && &g.top().fn.Code[g.top().pc] == i &&
		g.top().mode == running {
		g.top().pc++
	}
}

// send sends a value.
func (m *Machine) send(g *goroutine, c uint64, v []uint64, a alternative) {
	if m.chanWord(c, chanClosed) != 0 {
		m.acquire(g, c+chanClosed)
		m.throwPlain(g, "send on closed channel")
		return
	}
	t := m.objs[c>>32].typ
	v = v[:t.Size]
	if a.partner >= 0 {
		x := m.gors[a.partner]
		m.deliver(g, x, c, a.place, v)
		return
	}
	n := m.chanWord(c, chanCap)
	at := m.chanWord(c, chanTail)
	s := m.slot(c, at)
	m.touchWord(c+chanTail, true)
	m.touchWord(s, true)
	m.set(m.addr(c+chanTail), (at+1)%n)
	m.set(m.addr(s), 1)
	if m.objs[c>>32].shared && len(t.Refs) > 0 {
		m.publishValue(t, v)
	}
	for k, w := range v {
		m.set(m.addr(s)+1+uint32(k), w)
	}
	m.acquire(g, s)
	m.release(g, s)
}

// deliver completes the receive of x with a value.
func (m *Machine) deliver(g, x *goroutine, c uint64, place int, v []uint64) {
	t := m.objs[c>>32].typ
	m.saveState(x)
	if x.words > 0 {
		m.invoke(x)
	}
	m.arrive(x) // it leaves all places where it waits
	m.touch(m.loc(locName{kind: metLoc, a: x.number}), true)
	// The value may refer to what only g could reach.
	if len(t.Refs) > 0 {
		m.publishValue(t, v)
	}
	i, r := x.pending(), x.regs()
	switch i.Op {
	case compile.Recv:
		copy(r[i.A:], v)
		if i.C == 1 {
			r[int(i.A)+t.Size] = 1
		}
	case compile.SelectOp:
		s := &x.top().fn.Selects[i.N]
		clear(r[i.A : i.A+i.B])
		r[i.A], r[i.A+1] = uint64(place), 1
		if at := s.Recv[place]; at >= 0 {
			copy(r[i.A+at:], v)
		}
	}
	x.delivered, x.parked, x.which = true, false, int32(place)
	m.meet(g, x)
}

// meet orders what both have done before what both will do.
func (m *Machine) meet(g, x *goroutine) {
	x.tick++
	a, b := m.snapshot(g), m.snapshot(x)
	m.join(g, b)
	m.join(x, a)
}

// recv receives a value into to.
func (m *Machine) recv(g *goroutine, c uint64, to []uint64, a alternative) bool {
	t := m.objs[c>>32].typ
	if len(to) > t.Size {
		to = to[:t.Size]
	}
	if a.partner >= 0 { // a sender that waits
		x := m.gors[a.partner]
		m.saveState(x)
		if x.words > 0 {
			m.invoke(x)
		}
		m.arrive(x) // it leaves all places where it waits
		m.touch(m.loc(locName{kind: metLoc, a: x.number}), true)
		i, r := x.pending(), x.regs()
		var v []uint64
		if i.Op == compile.Send {
			v = r[i.B:]
		} else {
			s := &x.top().fn.Selects[i.N]
			v = r[s.Cases[a.place].Value:]
			v = slices.Clone(v[:t.Size])
			clear(r[i.A : i.A+i.B])
			r[i.A] = uint64(a.place)
		}
		v = v[:t.Size]
		copy(to, v)
		if len(t.Refs) > 0 {
			m.publishValue(t, v)
		}
		x.delivered, x.parked, x.which = true, false, int32(a.place)
		m.meet(g, x)
		return true
	}
	if n := m.chanWord(c, chanCap); n > 0 {
		at := m.chanWord(c, chanHead)
		s := m.slot(c, at)
		if m.mem[m.addr(s)] != 0 {
			m.touchWord(c+chanHead, true)
			m.touchWord(s, true)
			copy(to, m.mem[m.addr(s)+1:m.addr(s)+1+uint32(t.Size)])
			for k := range uint32(1 + t.Size) {
				m.set(m.addr(s)+k, 0)
			}
			m.set(m.addr(c+chanHead), (at+1)%n)
			m.acquire(g, s)
			m.release(g, s)
			return true
		}
	}
	m.acquire(g, c+chanClosed)
	clear(to)
	return false
}

func (m *Machine) closeChan(g *goroutine, c uint64) {
	if c == 0 {
		m.throwPlain(g, "close of nil channel")
		return
	}
	m.touchWord(c+chanClosed, true)
	if m.chanWord(c, chanClosed) != 0 {
		m.throwPlain(g, "close of closed channel")
		return
	}
	m.set(m.addr(c+chanClosed), 1)
	m.release(g, c+chanClosed)
}

// spawn executes a go statement.
func (m *Machine) spawn(g *goroutine, i *compile.Instr, r []uint64) {
	f := g.top()
	c := &f.fn.Calls[i.N]
	var words [24]uint64
	args := words[:0]
	for _, mv := range c.Args {
		args = append(args, r[mv.From:mv.From+mv.Size]...)
	}
	var v [2]uint64
	switch i.K {
	case compile.Kind(compile.CallV - compile.CallF):
		if v[0] = r[c.Value]; v[0] == 0 {
			m.fatal(g, "go of nil func value")
			return
		}
		if v[0]&compile.StaticFunc == 0 {
			m.publish(v[0])
		}
	case compile.Kind(compile.CallM - compile.CallF):
		v[0], v[1] = r[c.Value], r[c.Value+1]
		if v[0] == 0 {
			m.throw(g, nilDereference)
			return
		}
		m.ifaceRef(m.p.TypeByID(v[0]), v[1], m.publish)
	}
	at := 0
	for _, t := range c.Types {
		m.publishValue(t, args[at:])
		at += t.Size
	}
	x := m.create(g)
	x.made = g.userToken()
	if m.sys.o.NoFailed {
		m.touch(m.loc(locName{kind: clockLoc}), false) // fire makes a goroutine late
		x.late = g.late
	}
	if i.K == 0 {
		copy(m.push(x, c.Func, -1), args)
	} else {
		m.callValue(x, i.K, c, v[:], args, -1)
	}
	m.noteRun(x)
	f = g.top()
	f.pc++
}

// create makes a goroutine, a child of g.
func (m *Machine) create(g *goroutine) *goroutine {
	n := int32(m.sys.threads.Number(threadName{g.number, g.children}))
	g.children++
	m.touch(m.exists(n), true)
	if m.sys.counts {
		m.touch(m.loc(locName{kind: countLoc}), true)
	}
	m.out.Created = true
	x := m.goroutine(int(n))
	m.log = append(m.log, undo{kind: undoMade, a: uint32(n)})
	x.gstate = gstate{status: alive, unstarted: true, behind: m.setup || g.behind, bubble: g.bubble}
	x.frames = x.frames[:0]
	x.saved = 0
	x.gstate.clock = m.snapshot(g)
	x.tick = 1
	return x
}
