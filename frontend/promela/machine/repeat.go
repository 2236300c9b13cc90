package machine

import "cpor/system"

var _ system.Repeating = (*Machine)(nil)

// repeat is what a machine knows for system.Repeating.
type repeat struct {
	regimes map[string]int // by the types of all processes
	types   []uint8        // of the state that was asked for last
	base    []int32        // where the processes begin there
	regime  int            // its number
	tallies *system.Tallies
}

// Repeats implements system.Repeating: what no location stands for is not in the scope of a
// step. A step that asks for timeout tells so by itself.
func (m *Machine) Repeats() bool {
	return m.sys.repeats
}

// Regime implements system.Repeating: where the variables of a process stand follows from
// the types of those before it.
func (m *Machine) Regime(s system.State) int {
	r := &m.repeat
	if n := int(s[0] & 0xff); n == len(r.types) && n > 0 {
		same := true
		for t, at := range r.base {
			same = same && uint8(s[at]) == r.types[t]
		}
		if same {
			return r.regime
		}
	}
	r.types, r.base = r.types[:0], r.base[:0]
	at := m.sys.globals.words
	for range s[0] & 0xff {
		r.types, r.base = append(r.types, uint8(s[at])), append(r.base, int32(at))
		at += m.sys.procs[uint8(s[at])].lay.words
	}
	n, ok := r.regimes[string(r.types)]
	if !ok {
		if r.regimes == nil {
			r.regimes = map[string]int{}
		}
		n = len(r.regimes)
		r.regimes[string(r.types)] = n
	}
	r.regime = n
	return n
}

// use records that the step uses a local of its process.
func (m *Machine) use(l *scalar) {
	m.used = append(m.used, system.Bits{Word: m.fb + l.word, Mask: l.mask})
}

// maxUsed bounds what is looked through of a step that is long.
const maxUsed = 1 << 8

// Scope implements system.Repeating.
func (m *Machine) Scope(t int, dst []system.Bits) ([]system.Bits, bool) {
	s := m.sys
	if t >= m.n {
		return dst, false // not there, or not any more
	}
	at := m.base[t]
	dst = append(dst,
		system.Bits{Word: at, Mask: 0xffff << pcShift},
		system.Bits{Word: at, Mask: ^uint64(0)})
	if m.looked || m.viol != nil || len(m.used) > maxUsed {
		return dst, false
	}
	dst = append(append(dst, dst[0]), m.used...)
	first := s.locProcesses()
	region := func(r *region, chans []*channel, base int32, k int) {
		for _, c := range chans {
			if c.Base == k && c.Cap > 0 {
				dst = addBits(dst, base, c.scalars)
				return
			}
		}
		dst = addBits(dst, base, r.scalars[k:k+1])
	}
	for _, a := range m.acc {
		switch {
		case a.Loc < first:
			k := int(a.Loc)
			if q := s.channelAt[k]; q != nil {
				dst = addBits(dst, 0, q.scalars)
			} else {
				dst = addBits(dst, 0, s.globals.scalars[k:k+1])
			}
		case a.Loc == first: // which processes there are is a matter of the regime
			if a.Write {
				return dst, false
			}
		default:
			k := int(a.Loc - first - 1)
			u, i := k/s.perProcess, k%s.perProcess-2
			if u >= m.n {
				if a.Write {
					return dst, false
				}
				continue // it is not there
			}
			if i < 0 {
				dst = append(dst, system.Bits{Word: m.base[u], Mask: 0xffff << pcShift})
				continue
			}
			p := s.procs[m.types[u]]
			if i >= len(p.lay.scalars) {
				return dst, false
			}
			region(&p.lay, p.chans, m.base[u], i)
		}
	}
	return dst, true
}

// addBits appends the bits of some scalars.
func addBits(dst []system.Bits, base int32, list []scalar) []system.Bits {
	for i := range list {
		l := &list[i]
		if n := len(dst) - 1; n > 1 && dst[n].Word == base+l.word {
			dst[n].Mask |= l.mask
			continue
		}
		dst = append(dst, system.Bits{Word: base + l.word, Mask: l.mask})
	}
	return dst
}

// Tally implements system.Repeating.
func (m *Machine) Tally() (int, bool) {
	if len(m.came) > maxUsed {
		return 0, false
	}
	r := &m.repeat
	if r.tallies == nil {
		r.tallies = &system.Tallies{}
		m.sys.CountLater(func() { r.tallies.AddTo(m.seen) })
	}
	return r.tallies.Number(m.came)
}

// Repeat implements system.Repeating.
func (m *Machine) Repeat(tally int) {
	m.tellSeen()
	m.repeat.tallies.Repeat(tally)
}

// tellSeen tells what has been counted if it was asked for.
func (m *Machine) tellSeen() {
	if r := m.sys.Round(); r != m.round {
		m.round = r
		m.repeat.tallies.AddTo(m.seen)
		m.sys.Tell(m.seen)
	}
}
