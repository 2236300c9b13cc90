package machine

import (
	"sync"
	"sync/atomic"

	"cpor/frontend/model/compile"
	"cpor/frontend/model/flow"
	"cpor/frontend/model/syntax"
	"cpor/system"
)

// Machine knows the propositions of temporal properties.
var _ system.Temporal = (*Machine)(nil)

// temporal is what only the check of temporal properties needs. Each part is computed on first use.
type temporal struct {
	future   func() *flow.Future
	analyzed atomic.Bool        // what threads may do has been analyzed
	simple   func() []bool      // by point
	reads    func() []*flow.Ops // by proposition
	chanOf   func() []int32     // by location: the channel's number plus one
}

func newTemporal(s *System) *temporal {
	p := s.p
	t := &temporal{
		future: sync.OnceValue(func() *flow.Future { return flow.Analyse(p, s.starts()) }),
		chanOf: sync.OnceValue(func() []int32 { return channelsOf(p) }),
	}
	t.simple = sync.OnceValue(func() []bool {
		simple := make([]bool, len(p.Points))
		for i := range p.Points {
			simple[i] = !p.Points[i].Ended && flow.Simple(p, i)
		}
		return simple
	})
	t.reads = sync.OnceValue(func() (reads []*flow.Ops) {
		for i := range p.Props {
			reads = append(reads, t.future().Reads(p.Props[i].Entry))
		}
		return reads
	})
	return t
}

// after returns what a thread may do from a point on, as flow.Future does.
func (t *temporal) after(i, point int) *flow.Ops {
	if !t.analyzed.Load() {
		t.analyzed.Store(true)
	}
	return t.future().After(i, point)
}

// channelsOf returns by location the number of the channel it belongs to plus one.
func channelsOf(p *compile.Program) []int32 {
	of := make([]int32, len(p.Locs))
	for c := range p.Chans {
		end := len(p.Locs)
		if c+1 < len(p.Chans) {
			end = p.Chans[c+1].First
		}
		for l := p.Chans[c].First; l < end; l++ {
			if r := p.Locs[l].Role; r < compile.ChanHead || r > compile.ChanClosed {
				break
			}
			of[l] = int32(c + 1)
		}
	}
	return of
}

// starts returns where the threads begin: at the points and with the variables
// of the initial state, or, where threads are created later, their types.
func (s *System) starts() []flow.Start {
	if s.dynamic {
		var st []flow.Start
		for _, tt := range s.p.Threads {
			st = append(st, flow.Start{Type: tt, Point: -1})
		}
		return st
	}
	m := newMachine(s, s.CountMachine())
	m.Load(s.initial[0])
	var st []flow.Start
	for t := range m.n {
		point := m.pc(t) - 1
		w, sh := s.slot(t)
		regs := map[int32]int64{}
		for _, v := range s.p.Points[point].Alive() {
			if v.N == 0 {
				regs[v.Reg] = fieldValue(m.words[w:], v.Field, sh)
			}
		}
		st = append(st, flow.Start{Type: s.types[t], Point: point, Regs: regs})
	}
	return st
}

// NumProps implements system.Temporal.
func (m *Machine) NumProps() int { return len(m.p.Props) }

// PropName implements system.Temporal.
func (m *Machine) PropName(i int) string { return m.p.Props[i].Name }

// Properties returns the temporal properties of the model.
func (s *System) Properties() []compile.LTL { return s.p.LTL }

// PropertyPos returns the place of a temporal property in the model.
func (s *System) PropertyPos(i int) system.Pos { return s.pos(s.p.LTL[i].Pos) }

// PredicatePos returns the place of a predicate of a temporal property.
func (s *System) PredicatePos(i, k int) system.Pos { return s.pos(s.p.LTL[i].Predicates[k].Pos) }

// Eval implements system.Temporal.
func (m *Machine) Eval(i int) (bool, *system.Violation) {
	track := m.track
	m.track, m.budget, m.sample, m.viol = false, Budget, sampled, nil
	m.choices = m.choices[:0]
	p := &m.p.Props[i]
	if p.Bits > 0 {
		n := (p.Bits + 63) / 64
		m.spare = append(m.spare, make([]uint64, max(0, n-len(m.spare)))...)
		m.scratch, m.scratchOf = m.spare[:n], p.Thread
	}
	st, _ := m.run(p.Entry, m.regs, p.Thread, 0, 0)
	m.track, m.scratch = track, nil
	if st == failed {
		v := m.viol
		m.viol = nil
		return false, v
	}
	return st == reached, nil
}

// Terms implements system.Temporal.
func (m *Machine) Terms(dst []int64) []int64 {
	track := m.track
	m.track = false
	dst = dst[:0]
	for _, t := range m.p.Terms {
		v := int64(0)
		switch t.Kind {
		case compile.TermLoc:
			v = m.read(t.Index)
		case compile.TermPeek:
			v = m.peek(t.Index)
		case compile.TermLen:
			v = m.chanLen(&m.p.Chans[t.Index])
		}
		dst = append(dst, v)
	}
	m.track = track
	return dst
}

// chanLen returns the number of values in a channel.
func (m *Machine) chanLen(ch *compile.Chan) int64 {
	n := int64(0)
	if ch.Cap > 0 {
		for i := range ch.Cap {
			n += m.read(slotLoc(ch, i))
		}
	}
	return n
}

// Change implements system.Temporal.
//
// The effect of a transition on a term is a fixed difference: the transition accesses the term's
// location, so no other thread writes it before, and it always writes the same value; for a
// channel's length the difference is fixed, though the length is not. So a comparison of a sum
// can only become true if the sum moves upwards. If all terms are fixed numbers, the values
// before and after decide.
func (m *Machine) Change(i int, acc []system.Access, before, after []int64) (rise, fall bool) {
	s := m.sys
	p := &s.p.Props[i]
	if p.Linear == nil {
		both := s.touches(i, acc)
		return both, both
	}
	delta, was := int64(0), p.Linear.K
	fixed := true
	for _, t := range p.Linear.Terms {
		d := after[t.Term] - before[t.Term]
		delta += t.Coef * d
		was += t.Coef * before[t.Term]
		switch term := s.p.Terms[t.Term]; term.Kind {
		case compile.TermLoc:
			fixed = fixed && accessed(acc, term.Index)
		case compile.TermPeek:
			fixed = fixed && d != 0
		case compile.TermLen:
			fixed = false
		}
	}
	if delta == 0 {
		return false, false
	}
	holds := func(v int64) bool {
		switch p.Linear.Op {
		case syntax.Eq:
			return v == 0
		case syntax.Ne:
			return v != 0
		case syntax.Gt:
			return v > 0
		}
		return v >= 0
	}
	if fixed {
		a, b := holds(was), holds(was+delta)
		return !a && b, a && !b
	}
	if p.Linear.Op == syntax.Eq || p.Linear.Op == syntax.Ne {
		return true, true
	}
	return delta > 0, delta < 0
}

func accessed(acc []system.Access, l int) bool {
	for _, a := range acc {
		if int(a.Loc) == l {
			return true
		}
	}
	return false
}

// touches reports whether a transition writes anything that a proposition may read.
func (s *System) touches(i int, acc []system.Access) bool {
	late := s.temporal
	reads, chanOf := late.reads()[i], late.chanOf()
	for _, a := range acc {
		if !a.Write {
			continue
		}
		l := int(a.Loc)
		if s.isPlace(l) {
			continue // propositions do not ask for timeout()
		}
		if l >= len(s.p.Locs) {
			// Existence, or something that properties watch of a thread.
			return s.p.Props[i].Linear == nil
		}
		if c := chanOf[l]; c > 0 {
			if reads.Chans[c-1] != 0 {
				return true
			}
			continue
		}
		if reads.Reads.Has(l) {
			return true
		}
	}
	return false
}

// Late implements system.Temporal: what sends is late.
func (m *Machine) Late(t int, acc []system.Access) bool {
	s := m.sys
	for _, a := range acc {
		if l := int(a.Loc); a.Write && l < len(s.p.Locs) && s.p.Locs[l].Role == compile.ChanTail {
			return true
		}
	}
	return false
}

// Conflicts implements system.Temporal.
//
// Locations other than those of channels are compared one by one: u must not touch what t
// writes, nor write what t reads. A send and a receive on a buffered channel are independent:
// where both are enabled, neither disables the other, and the contents commute. So if the
// transition is only one send, receive or select (a simple point), an enabled send conflicts
// with other senders only, an enabled receive with other receivers; a case that is not enabled
// now, or any other use, conflicts with whatever changes the channel.
func (m *Machine) Conflicts(t int, acc []system.Access, u int) bool {
	s := m.sys
	pc := m.pc(u)
	if pc > len(s.p.Points) || s.p.Points[pc-1].Ended {
		return false
	}
	late := s.temporal
	i := u
	if s.dynamic {
		i = s.typeIndex[s.threadType(m, u)]
	}
	ops := late.after(i, pc-1)
	if ops == nil {
		return true
	}
	pc = m.pc(t)
	simple := func() bool { return pc <= len(s.p.Points) && late.simple()[pc-1] }
	chanOf := late.chanOf()
	for k, a := range acc {
		l := int(a.Loc)
		if l >= len(s.p.Locs) {
			if s.conflictsOwn(l, u, a, ops) {
				return true
			}
			continue
		}
		c := chanOf[l]
		if c == 0 {
			if ops.Writes.Has(l) || a.Write && ops.Reads.Has(l) {
				return true
			}
			continue
		}
		their := ops.Chans[c-1]
		switch {
		case their == 0:
		case !simple() || s.p.Chans[c-1].Cap == 0 || s.p.Chans[c-1].Bag:
			return true
		case their&(flow.Close|flow.Look|flow.Poll) != 0:
			return true
		default:
			// What all alternatives together do with the channel.
			mine := s.use(acc[k:], c, chanOf) | s.use(acc[:k], c, chanOf)
			if mine == 0 || their&mine != 0 {
				return true
			}
		}
	}
	return false
}

// Clash implements system.Temporal, as long as no future is known. Transitions that access the same
// location, which is not of a channel, conflict if one of them writes it.
func (m *Machine) Clash(mine, theirs []system.Access) bool {
	late := m.sys.temporal
	if late.analyzed.Load() {
		return false
	}
	chanOf := late.chanOf()
	for _, a := range mine {
		if int(a.Loc) >= len(chanOf) || chanOf[a.Loc] != 0 {
			continue
		}
		for _, b := range theirs {
			if a.Loc == b.Loc && (a.Write || b.Write) {
				return true
			}
		}
	}
	return false
}

// use returns which operations on a channel are enabled: those that moved its indices.
func (s *System) use(acc []system.Access, c int32, chanOf []int32) flow.ChanOps {
	var ops flow.ChanOps
	for _, a := range acc {
		if l := int(a.Loc); a.Write && l < len(s.p.Locs) && chanOf[l] == c {
			switch s.p.Locs[l].Role {
			case compile.ChanTail:
				ops |= flow.Send
			case compile.ChanHead:
				ops |= flow.Recv
			}
		}
	}
	return ops
}

// isPlace reports whether a location is where a thread is.
func (s *System) isPlace(l int) bool {
	i := l - int(s.p.Loc(0, 0))
	return s.p.Place > 0 && i >= 0 && i%s.p.PerThread == s.p.Place
}

// conflictsOwn compares an access to a location of a thread, or to the number
// of threads.
func (s *System) conflictsOwn(l, u int, a system.Access, ops *flow.Ops) bool {
	i := l - len(s.p.Locs) - 1
	if i < 0 { // the number of threads
		return ops.Creates
	}
	if s.isPlace(l) { // who reads it asks for timeout(), and u may move
		return !a.Write && i/s.p.PerThread == u
	}
	switch i % s.p.PerThread {
	case 0: // existence; the creator has made it
		return a.Write && ops.Creates
	case 1: // waiting at a channel without a buffer
		return ops.Rendezvous
	}
	return false // of interest to properties only
}
