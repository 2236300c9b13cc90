package machine

import (
	"fmt"

	"cpor/frontend/model/compile"
	"cpor/system"
)

// findPeeks finds the threads that properties name. Naming a thread that init does not create
// and that cannot be created later is a mistake. Where threads create threads, or init has
// several outcomes, it may be created.
func (s *System) findPeeks() error {
	s.peeks = make([]int, len(s.p.Peeks))
	for i := range s.peeks {
		s.peeks[i] = -1
		pk := &s.p.Peeks[i]
		if pk.Index < 0 {
			continue
		}
		k := 0
		for t, tt := range s.types {
			if tt == pk.Thread {
				if k == pk.Index {
					s.peeks[i] = t
				}
				k++
			}
		}
		if s.peeks[i] < 0 && !s.dynamic {
			return &InitError{s.pos(pk.Pos), fmt.Sprintf("%s[%d] never exists: %s", pk.Thread.Name,
				pk.Index, created(pk.Thread.Name, k))}
		}
	}
	return nil
}

// created returns how many threads of a kind init creates.
func created(name string, n int) string {
	switch n {
	case 0:
		return "init creates no " + name
	case 1:
		return "init creates one " + name + ", which has the number 0"
	}
	return fmt.Sprintf("init creates %d %s, numbered from 0 to %d", n, name, n-1)
}

// peek reads what a property names of a thread; everything of a thread that does not exist is
// zero.
func (m *Machine) peek(i int) int64 {
	pk := &m.p.Peeks[i]
	if !m.sys.dynamic {
		return m.peekThread(i, m.sys.peeks[i])
	}
	return m.peekAt(i, int64(pk.Index))
}

// peekAt is peek for the thread of a number among those of its kind.
func (m *Machine) peekAt(i int, number int64) int64 {
	t := -1
	m.eachThread(m.p.Peeks[i].Thread, func(u int) {
		if number == 0 {
			t = u
		}
		number--
	})
	return m.peekThread(i, t)
}

// threadsOf returns how many threads of a kind there are.
func (m *Machine) threadsOf(tt *compile.ThreadType) int64 {
	n := int64(0)
	m.eachThread(tt, func(int) { n++ })
	return n
}

// eachThread calls f for the threads of a kind, in the order of their creation.
func (m *Machine) eachThread(tt *compile.ThreadType, f func(t int)) {
	if m.sys.dynamic && m.track {
		m.access(m.p.CountLoc(), false)
	}
	for t := m.sys.observers; t < m.n; t++ {
		if m.sys.dynamic && m.track {
			m.access(m.p.Loc(t, 0), false) // says what kind it is
		}
		if m.sys.threadType(m, t) == tt {
			f(t)
		}
	}
}

// peekThread reads what a Peek names of a thread; t is -1 if there is none.
func (m *Machine) peekThread(i, t int) int64 {
	if t < 0 {
		return 0
	}
	pk := &m.p.Peeks[i]
	m.took(int32(m.p.Cover.Peeks + i))
	l := m.p.Loc(t, 2+pk.Watch)
	if m.track {
		m.access(l, false)
		if m.ask != nil {
			return int64(m.asked[l])
		}
	}
	return int64(m.peekWatch(t, pk.Thread, pk.Watch))
}

func (m *Machine) setThreads(n int) {
	if !m.sys.dynamic {
		return
	}
	m.n = n
	m.grow(n)
	m.set(m.sys.count, uint64(n))
}

// clearFrom clears the slots of threads that do not exist. The loaded state may have had more
// threads, and a creation expects an empty slot.
func (m *Machine) clearFrom(n int) {
	if !m.sys.dynamic {
		return
	}
	for i := m.sys.length(n); i < len(m.words); i++ {
		m.set(i, 0)
	}
	if per := m.sys.perWord; per > 1 && n%per > 0 && n < len(m.sys.slots) {
		w, sh := m.sys.slot(n)
		m.set(w, m.words[w]&maskOf(int(sh)))
	}
}

// grow makes room for the slots of n threads.
func (m *Machine) grow(n int) {
	for len(m.words) < m.sys.length(n) {
		m.words = append(m.words, 0)
	}
}

// localMask returns the bits of word i of a slot that are the thread's own:
// all but the wait field, which is a shared location.
func (s *System) localMask(i int) uint64 {
	m := maskOf(min(64, s.p.SlotBits-64*i))
	if i == 0 {
		m &^= maskOf(s.p.WaitBits)
	}
	return m
}

// Local implements system.Pieces.
func (m *Machine) Local(t int, dst []uint64) []uint64 {
	w, sh := m.sys.slot(t)
	dst = dst[:0]
	for i := range m.sys.slotWords {
		dst = append(dst, m.words[w+i]>>sh&m.sys.localMask(i))
	}
	return dst
}

// SetLocal implements system.Pieces.
func (m *Machine) SetLocal(t int, part []uint64) {
	m.grow(t + 1)
	w, sh := m.sys.slot(t)
	for i := range m.sys.slotWords {
		mask := m.sys.localMask(i)
		m.set(w+i, m.words[w+i]&^(mask<<sh)|part[i]&mask<<sh)
	}
}

// perThread splits a per-thread location; ok is false for every other one.
func (m *Machine) perThread(l system.Loc) (t, k int, ok bool) {
	i := int(l) - len(m.p.Locs) - 1
	if i < 0 {
		return 0, 0, false
	}
	return i / m.p.PerThread, i % m.p.PerThread, true
}

// Value implements system.Pieces. The location of a thread's existence has
// the number of its type plus 1 if it exists.
func (m *Machine) Value(l system.Loc) uint64 {
	if int(l) < len(m.p.Locs) {
		return m.sys.locs[l].get(m.words)
	}
	t, k, ok := m.perThread(l)
	switch {
	case !ok:
		return uint64(m.n)
	case k == 1: // in a step on pieces also of a thread whose existence was not asked for
		w, sh := m.sys.slot(t)
		if w >= len(m.words) {
			return 0
		}
		return m.words[w] >> sh & maskOf(m.p.WaitBits)
	case t >= m.n:
		return 0
	case k == 0 && m.p.TypeBits > 0:
		return 1 + uint64(m.sys.typeIndex[m.sys.threadType(m, t)])
	case k == 0:
		return 1
	}
	tt := m.sys.threadType(m, t)
	if k-2 >= len(tt.Watched) {
		return 0
	}
	return m.peekWatch(t, tt, k-2)
}

// SetValue implements system.Pieces. What properties watch of a thread
// belongs to its local part and is set with that.
func (m *Machine) SetValue(l system.Loc, v uint64) {
	if int(l) < len(m.p.Locs) {
		f := &m.sys.locs[l]
		m.set(int(f.word), m.words[f.word]&^f.mask|v<<f.shift&f.mask)
		return
	}
	t, k, ok := m.perThread(l)
	switch {
	case !ok:
		m.setThreads(int(v))
		m.clearFrom(int(v))
	case k == 0 && v != 0:
		m.setThreads(max(m.n, t+1))
		if m.p.TypeBits > 0 {
			w, sh := m.sys.slot(t)
			sh += uint(m.p.WaitBits)
			m.set(w, m.words[w]&^(maskOf(m.p.TypeBits)<<sh)|(v-1)<<sh)
		}
	case k == 1:
		m.grow(t + 1)
		w, sh := m.sys.slot(t)
		mask := maskOf(m.p.WaitBits)
		m.set(w, m.words[w]&^(mask<<sh)|v&mask<<sh)
	}
}

// StepOn implements system.Pieces.
func (m *Machine) StepOn(t int, alt uint64, local []uint64,
	ask func(system.Loc) uint64) system.Outcome {
	m.SetLocal(t, local)
	m.ask = ask
	if m.asked == nil {
		m.asked = map[system.Loc]uint64{}
	}
	clear(m.asked)
	out := m.Step(t, alt)
	m.ask = nil
	return out
}

// Renamed implements system.Renaming: an encoding has the oldest value of a
// channel in slot 0.
func (m *Machine) Renamed(l system.Loc) (system.Loc, bool) {
	for i := range m.p.Chans {
		c := &m.p.Chans[i]
		first, size := system.Loc(slotLoc(c, 0)), system.Loc(1+c.Leaves)
		if c.Cap < 2 || c.Bag || l < first || l >= first+size*system.Loc(c.Cap) {
			continue
		}
		head := system.Loc(m.sys.locs[c.First].get(m.words))
		slot := (l-first)/size + system.Loc(c.Cap) - head
		return first + slot%system.Loc(c.Cap)*size + (l-first)%size, true
	}
	return l, true
}
