package machine

import (
	"math/bits"

	"cpor/frontend/gosrc/compile"
	"cpor/system"
)

// A counter of a WaitGroup, or of the readers of an RWMutex, is kept as shares: a goroutine that
// adds one puts a token into one of its 1024 places, and a goroutine that takes one takes a
// token from a place. So two goroutines that take tokens from different places do not touch the
// same location, and neither do two that add: their order is not explored, as it would be with a
// number that both write. Only the number of tokens can be observed.
//
// A goroutine puts a token at the place with the number that its next child will have, or the
// next free one. A goroutine looks first at the place with its own number among those of its
// creator: wg.Add(1); go f() and wg.Done() in f use the same place, and no other goroutine does.
//
// The shares are a slice of words in the object: for each goroutine that has ever added, in the
// order of their numbers, the number plus one, the places with a token, and those that had one
// at some time. The locations, for each goroutine: whether it has ever added (shareEntry; its
// first token writes it), that it has added (shareAdds; each of its tokens writes it), and each
// place.
const (
	shareMasks = 16 // words for the places of one goroutine
	places     = 64 * shareMasks
	shareWords = 1 + 2*shareMasks
)

func (m *Machine) shareLoc(kind locKind, g int32, p uint64, place int) system.Loc {
	o := &m.objs[p>>32]
	return m.loc(locName{kind: kind, a: g, b: o.creator, c: o.seq,
		d: int32(uint32(p))<<10 | int32(place)})
}

// entry returns where in memory the shares of a goroutine are; ok is false if it
// has none, and at is where they belong.
func (m *Machine) entry(g int32, p uint64) (at int, ok bool) {
	a := m.addr(p)
	n := int(m.mem[a+1])
	for i := 0; i < n; i += shareWords {
		w := int(m.addr(m.mem[a])) + i
		if k := m.mem[w]; k == uint64(g)+1 {
			return w, true
		} else if k > uint64(g)+1 {
			return i, false
		}
	}
	return n, false
}

// addShare adds a token; p is the address of the shares. It returns false if there
// are too many.
func (m *Machine) addShare(g *goroutine, p uint64) bool {
	at, ok := m.entry(g.number, p)
	m.touch(m.shareLoc(shareAdds, g.number, p, 0), true)
	if !ok {
		m.touch(m.shareLoc(shareEntry, g.number, p, 0), true)
		a := m.addr(p)
		n := int(m.mem[a+1])
		x := m.newObject(nil, plainObj, m.sys.wordType, n+shareWords)
		to := m.addr(x)
		if n > 0 {
			from := m.addr(m.mem[a])
			copy(m.mem[to:], m.mem[from:from+uint32(at)])
			copy(m.mem[int(to)+at+shareWords:], m.mem[int(from)+at:int(from)+n])
		}
		m.mem[int(to)+at] = uint64(g.number) + 1
		m.set(a, x)
		m.set(a+1, uint64(n+shareWords))
		m.set(a+2, uint64(n+shareWords))
		if m.objs[p>>32].shared {
			m.publish(x)
		}
		at += int(to)
	}
	for k := range places {
		place := (int(g.children) + k) % places
		full := m.full(at, place)
		m.touch(m.shareLoc(sharePlace, g.number, p, place), !full)
		if !full {
			w, b := uint32(at+1+place/64), uint64(1)<<(place%64)
			m.set(w, m.mem[w]|b)
			m.set(w+shareMasks, m.mem[w+shareMasks]|b)
			return true
		}
	}
	return false
}

// full reports whether there is a token at a place of the goroutine whose shares are at at.
func (m *Machine) full(at, place int) bool { return m.mem[at+1+place/64]>>(place%64)&1 == 1 }

// takeShare takes a token; false if there is none. own reports whether the goroutine's own
// tokens come first.
func (m *Machine) takeShare(g *goroutine, p uint64, own bool) bool {
	name := m.sys.threads.Name(uint32(g.number))
	try := func(x int32, start int) bool {
		if x < 0 {
			return false
		}
		m.touch(m.shareLoc(shareEntry, x, p, 0), false)
		at, ok := m.entry(x, p)
		if !ok {
			return false
		}
		take := func(place int) bool {
			full := m.full(at, place)
			m.touch(m.shareLoc(sharePlace, x, p, place), full)
			if full {
				w := uint32(at + 1 + place/64)
				m.set(w, m.mem[w]&^(1<<(place%64)))
			}
			return full
		}
		if take(start % places) {
			return true
		}
		// The others that ever had a token.
		m.touch(m.shareLoc(shareAdds, x, p, 0), false)
		for k := range places {
			place := (start + k) % places
			if m.mem[at+1+shareMasks+place/64]>>(place%64)&1 == 1 && take(place) {
				return true
			}
		}
		return false
	}
	if own && try(g.number, int(g.children)) || try(name.parent, int(name.n)) || !own &&
		try(g.number, int(g.children)) {
		return true
	}
	for _, x := range m.gors {
		if x.status != absent && x != g && x.number != name.parent && try(x.number, 0) {
			return true
		}
	}
	m.scanNew(g)
	return false
}

// noShares reports whether there is no token.
func (m *Machine) noShares(g *goroutine, p uint64) bool {
	for _, x := range m.gors {
		if x.status == absent {
			continue
		}
		m.touch(m.shareLoc(shareEntry, x.number, p, 0), false)
		at, ok := m.entry(x.number, p)
		if !ok {
			continue
		}
		for k := range shareMasks {
			if mask := m.mem[at+1+k]; mask != 0 {
				m.touch(m.shareLoc(sharePlace, x.number, p, 64*k+bits.TrailingZeros64(mask)), false)
				return false
			}
		}
		m.touch(m.shareLoc(shareAdds, x.number, p, 0), false)
		for k := range shareMasks {
			for used := m.mem[at+1+shareMasks+k]; used != 0; used &= used - 1 {
				m.touch(m.shareLoc(sharePlace, x.number, p, 64*k+bits.TrailingZeros64(used)), false)
			}
		}
	}
	m.scanNew(g)
	return true
}

// empty reports whether there is no token, for checks that must not change what the transition
// depends on.
func (m *Machine) empty(p uint64) bool {
	a := m.addr(p)
	n := int(m.mem[a+1])
	for i := 0; i < n; i += shareWords {
		at := int(m.addr(m.mem[a])) + i
		for k := range shareMasks {
			if m.mem[at+1+k] != 0 {
				return false
			}
		}
	}
	return true
}

// scanNew records a read of the set of goroutines.
func (m *Machine) scanNew(g *goroutine) {
	if !m.track {
		return
	}
	for _, x := range m.gors {
		if x.status == absent || x == g {
			continue
		}
		if n := m.sys.threads.Number(threadName{x.number, x.children}); int(n) != int(g.number) {
			m.touch(m.exists(int32(n)), false)
		}
	}
}

// Memory that programs can point to never shares the memory of a counter: loading a value from
// there makes a copy, and so does storing one. Values in registers, boxes, maps and buffers of
// channels are not changed, so they may share it.

// copyLocks gives a value loaded from p its own state of locks and counters: later operations on
// one do not affect the other.
func (m *Machine) copyLocks(g *goroutine, p uint64, t *compile.Type, v []uint64) {
	m.readLocks(g, p, t, 1)
	for _, l := range t.Locks {
		if l.Counter >= 0 && v[l.Counter] != 0 {
			v[l.Counter] = m.copyShares(v[l.Counter:])
		}
	}
}

// readLocks records that the state of locks and counters in n values at p was read.
func (m *Machine) readLocks(g *goroutine, p uint64, t *compile.Type, n int) {
	if len(t.Locks) == 0 {
		return
	}
	for ; n > 0; n-- {
		for _, l := range t.Locks {
			for i := range l.Size {
				m.touchWord(p+uint64(l.Off+i), false)
			}
			if l.Counter >= 0 {
				m.readShares(g, p+uint64(l.Counter))
			}
		}
		p += uint64(t.Size)
	}
}

// ownLocks gives counters in n values that were written to p memory of their own.
func (m *Machine) ownLocks(p uint64, t *compile.Type, n int) {
	if len(t.Locks) == 0 {
		return
	}
	for ; n > 0; n-- {
		for _, l := range t.Locks {
			if l.Counter < 0 {
				continue
			}
			at := p + uint64(l.Counter)
			if a := m.addr(at); m.mem[a] != 0 {
				m.set(a, m.copyShares(m.mem[a:]))
				if m.objs[p>>32].shared {
					m.publish(m.mem[m.addr(at)])
				}
			}
		}
		p += uint64(t.Size)
	}
}

// copyShares returns a copy of the memory of shares.
func (m *Machine) copyShares(v []uint64) uint64 {
	n := int(v[1])
	x := m.newObject(nil, plainObj, m.sys.wordType, n)
	to, from := m.addr(x), m.addr(v[0])
	copy(m.mem[to:int(to)+n], m.mem[from:int(from)+n])
	return x
}

// readShares records that all tokens were read.
func (m *Machine) readShares(g *goroutine, p uint64) {
	for _, x := range m.gors {
		if x.status == absent {
			continue
		}
		m.touch(m.shareLoc(shareEntry, x.number, p, 0), false)
		at, ok := m.entry(x.number, p)
		if !ok {
			continue
		}
		m.touch(m.shareLoc(shareAdds, x.number, p, 0), false)
		for k := range shareMasks {
			for used := m.mem[at+1+shareMasks+k]; used != 0; used &= used - 1 {
				m.touch(m.shareLoc(sharePlace, x.number, p, 64*k+bits.TrailingZeros64(used)), false)
			}
		}
	}
	m.scanNew(g)
}
