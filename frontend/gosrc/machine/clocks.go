package machine

// Vector clocks, and races by happens-before (Flanagan and Freund, "FastTrack: efficient and
// precise dynamic race detection", PLDI 2009). A goroutine's own component is its tick, which
// counts its steps. The other components are in the array m.clocks, which only grows, so undoing
// a step truncates the array.
//
// An epoch is a goroutine's number plus one and its tick at an access; the zero word
// is none. The last reads of a word are an epoch, or, if they are not ordered, the
// handle of a vector clock with the bit manyReads.
//
// The clocks are a part of encoded states only where states are stored, see history.go.

const manyReads = 1 << 63

// accessCost is what an access to shared memory takes from the budget of a step: a computation
// with many of them may be waiting for another goroutine, and lets it continue.
const accessCost = stepBudget / 5000

func epoch(g *goroutine) uint64 { return uint64(g.number+1)<<32 | uint64(g.tick) }

// newClock makes room for a vector clock.
func (m *Machine) newClock(n int) (handle uint32, c []uint32) {
	if len(m.clocks) == 0 {
		m.clocks = append(m.clocks, 0)
	}
	handle = uint32(len(m.clocks))
	m.clocks = append(m.clocks, uint32(n))
	for range n {
		m.clocks = append(m.clocks, 0)
	}
	return handle, m.clocks[handle+1:]
}

func (m *Machine) clock(handle uint32) []uint32 {
	if handle == 0 {
		return nil
	}
	n := m.clocks[handle]
	return m.clocks[handle+1 : handle+1+n]
}

// before reports whether an epoch happens before g's current step.
func (m *Machine) before(e uint64, g *goroutine) bool {
	t := int32(e>>32) - 1
	if t == g.number {
		return true
	}
	c := m.clock(g.clock)
	return int(t) < len(c) && uint32(e) <= c[t]
}

// unordered returns one of the epochs of last reads that does not happen before g's current
// step; zero if there is none.
func (m *Machine) unordered(r uint64, g *goroutine) uint64 {
	if r&manyReads == 0 {
		if r == 0 || m.before(r, g) {
			return 0
		}
		return r
	}
	c := m.clock(g.clock)
	for t, x := range m.clock(uint32(r)) {
		if x > 0 && int32(t) != g.number && (t >= len(c) || c[t] < x) {
			return uint64(t+1)<<32 | uint64(x)
		}
	}
	return 0
}

// join makes clock h happen before g's next steps.
func (m *Machine) join(g *goroutine, h uint32) {
	if h == 0 {
		return
	}
	c, d := m.clock(g.clock), m.clock(h)
	less := true
	for i, x := range d {
		if int32(i) != g.number && x > 0 && (i >= len(c) || c[i] < x) {
			less = false
			break
		}
	}
	if less {
		return
	}
	n, r := m.newClock(max(len(c), len(d)))
	c, d = m.clock(g.clock), m.clock(h) // the array may have moved
	copy(r, c)
	for i, x := range d {
		r[i] = max(r[i], x)
	}
	g.gstate.clock = n
}

// snapshot returns the handle of g's whole clock, and begins a new tick.
func (m *Machine) snapshot(g *goroutine) uint32 {
	c := m.clock(g.clock)
	h, r := m.newClock(max(len(c), int(g.number)+1))
	copy(r, m.clock(g.clock))
	r[g.number] = g.tick
	g.tick++
	return h
}

// joinAll makes all past steps of the others happen before g's next steps. The others wait, and
// their next action is a step of its own.
func (m *Machine) joinAll(g *goroutine) {
	for _, x := range m.gors {
		if x == g || x.status == absent {
			continue
		}
		h, r := m.newClock(max(len(m.clock(x.clock)), int(x.number)+1))
		copy(r, m.clock(x.clock))
		r[x.number] = x.tick
		m.join(g, h)
	}
}

// acquire orders what released the synchronization object at p before g.
func (m *Machine) acquire(g *goroutine, p uint64) { m.join(g, m.shadow[m.addr(p)].s) }

// release orders what g has done before those who acquire the object at p.
func (m *Machine) release(g *goroutine, p uint64) {
	a := m.addr(p)
	old := m.shadow[a].s
	h := m.snapshot(g)
	if o := m.clock(old); o != nil {
		r := m.clock(h)
		fits := len(o) <= len(r)
		if fits {
			for i, x := range o {
				r[i] = max(r[i], x)
			}
		} else {
			n, s := m.newClock(len(o))
			copy(s, m.clock(old))
			for i, x := range m.clock(h) {
				s[i] = max(s[i], x)
			}
			h = n
		}
	}
	m.setSync(a, h)
}

func (m *Machine) setSync(a uint32, h uint32) {
	m.remember(a)
	if a < m.fresh {
		m.log = append(m.log, undo{undoShadowS, a, uint64(m.shadow[a].s)})
	}
	m.shadow[a].s = h
}

// access records that g reads or writes n words at p, and looks for races.
func (m *Machine) access(g *goroutine, p uint64, n int, write bool) {
	if m.objs[p>>32].poisoned {
		m.touchesPoison(g, p)
	}
	m.budget -= accessCost
	m.met = true
	e := epoch(g)
	a := m.addr(p)
	races := m.sys.races
	for i := range uint32(n) {
		m.goesOn(int(i))
		s := &m.shadow[a+i]
		if s.w == e || !write && s.r == e {
			continue
		}
		if races {
			if s.w != 0 && !m.before(s.w, g) {
				m.race(g, p+uint64(i), s.w, true, write)
			} else if write && s.r != 0 {
				if r := m.unordered(s.r, g); r != 0 {
					m.race(g, p+uint64(i), r, false, write)
				}
			}
		}
		m.remember(a + i)
		if write {
			if a+i < m.fresh {
				m.log = append(m.log, undo{undoShadowW, a + i, s.w}, undo{undoShadowR, a + i, s.r})
			}
			s.w, s.r = e, 0
		} else {
			r := e
			if races && s.r != 0 && (s.r&manyReads != 0 || !m.before(s.r, g)) {
				r = m.addReader(s.r, g)
				s = &m.shadow[a+i]
			}
			if a+i < m.fresh {
				m.log = append(m.log, undo{undoShadowR, a + i, s.r})
			}
			s.r = r
		}
		if m.track {
			m.touch(m.word(p+uint64(i)), write)
		}
		if m.report != nil {
			m.report.note(m, g, p+uint64(i), write)
		}
	}
}

// Met reports whether the last step has accessed memory that several goroutines can reach, other
// than by synchronization.
func (m *Machine) Met() bool { return m.met }

// addReader adds g to the readers of a word. Those whose reads happen before g's are dropped:
// what races with one of them also races with g's read.
func (m *Machine) addReader(r uint64, g *goroutine) uint64 {
	if r&manyReads == 0 {
		if m.before(r, g) {
			return epoch(g)
		}
		h, c := m.newClock(max(int(g.number)+1, int(r>>32)))
		c[r>>32-1], c[g.number] = uint32(r), g.tick
		return manyReads | uint64(h)
	}
	if c := m.clock(uint32(r)); int(g.number) < len(c) && c[g.number] == g.tick {
		return r
	}
	if m.unordered(r, g) == 0 {
		return epoch(g)
	}
	h, c := m.newClock(max(int(g.number)+1, len(m.clock(uint32(r)))))
	now := m.clock(g.clock)
	for t, x := range m.clock(uint32(r)) {
		if t >= len(now) || now[t] < x {
			c[t] = x
		}
	}
	c[g.number] = g.tick
	return manyReads | uint64(h)
}
