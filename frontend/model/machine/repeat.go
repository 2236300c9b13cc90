package machine

import "cpor/system"

// maxTally is how many jumps a step may take whose counts are cached.
const maxTally = 32

var _ system.Repeating = (*Machine)(nil)

// Regime implements system.Repeating: how many threads there are. The length does not tell
// if several slots share a word.
func (m *Machine) Regime(s system.State) int { return m.sys.threadsIn(s) }

// Learn implements system.Repeating.
func (m *Machine) Learn(on bool) { m.Track(on) }

// Scope implements system.Repeating. A step depends on the slot of its thread and the locations
// that it touches, and changes nothing else. A buffer is a ring, which is moved as a whole when
// it is encoded.
func (m *Machine) Scope(t int, sc *system.Scope) bool {
	s := m.sys
	w, sh := s.slot(t)
	sc.At = system.Bits{Word: int32(w), Mask: s.pcMask << (sh + s.pcShift)}
	sc.Own = system.Bits{Word: int32(w), Mask: maskOf(min(64, s.p.SlotBits)) << sh}
	sc.Reads, sc.Writes, sc.Copies = s.slotBits(t, sc.Reads[:0]), sc.Writes[:0], sc.Copies[:0]
	if m.viol != nil || m.path.looked || m.created { // a new thread's slot is in no state before
		return false
	}
	for _, a := range m.acc {
		i := int(a.Loc) - len(s.locs)
		switch {
		case i < 0 && s.ringOf != nil && s.ringOf[a.Loc] != 0:
			sc.Reads = s.rings[s.ringOf[a.Loc]-1].bits(sc.Reads)
		case i < 0:
			l := &s.locs[a.Loc]
			sc.Reads = append(sc.Reads, system.Bits{Word: int32(l.word), Mask: l.mask})
		case i == 0: // the number of threads
			if !s.dynamic {
				return false
			}
			sc.Reads = append(sc.Reads, system.Bits{Word: int32(s.count), Mask: ^uint64(0)})
		default:
			u := (i - 1) / s.p.PerThread
			if u >= m.n {
				return false
			}
			sc.Reads = s.slotBits(u, sc.Reads)
		}
	}
	return true
}

// slotBits appends the bits of a thread's slot.
func (s *System) slotBits(t int, dst []system.Bits) []system.Bits {
	w, sh := s.slot(t)
	for i := range s.slotWords {
		dst = append(dst, system.Bits{Word: int32(w + i),
			Mask: maskOf(min(64, s.p.SlotBits-64*i)) << sh})
	}
	return dst
}

// bits appends the bits of a ring.
func (r *ring) bits(dst []system.Bits) []system.Bits {
	add := func(l *location) {
		if n := len(dst); n > 0 && dst[n-1].Word == int32(l.word) {
			dst[n-1].Mask |= l.mask
			return
		}
		dst = append(dst, system.Bits{Word: int32(l.word), Mask: l.mask})
	}
	add(&r.head)
	add(&r.tail)
	for _, slot := range r.slots {
		for i := range slot {
			add(&slot[i])
		}
	}
	return dst
}

// Tally implements system.Repeating.
func (m *Machine) Tally() (int, bool) {
	p := &m.path
	if p.committed && p.n > maxTally {
		return 0, false
	}
	if m.tallies == nil {
		m.tallies = &system.Tallies{}
		m.sys.CountLater(func() { m.tallies.AddTo(m.counts) })
	}
	m.tally = m.tally[:0]
	if p.committed {
		m.tally = append(append(m.tally, int32(p.counter)), p.last[:p.n]...)
	}
	return m.tallies.Number(m.tally)
}

// Repeat implements system.Repeating.
func (m *Machine) Repeat(tally int) {
	m.tellCounts()
	m.tallies.Repeat(tally)
}
