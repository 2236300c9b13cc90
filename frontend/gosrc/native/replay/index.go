package replay

import (
	"slices"
	"sync/atomic"

	"cpor/system"
)

// index finds what fits the live state among all that was seen after one event. There may be as
// many entries as executions: a goroutine that waits for many others continues after each of them.
// So it is a hash table. Readers need no lock; whoever adds holds the lock of the graph. (A
// sync.Map would allocate a key for each lookup.)
type index[T seen[T]] struct{ first atomic.Pointer[shelf[T]] }

// seen is what an index holds.
type seen[T any] interface {
	// like reports whether another one depends on the same locations.
	like(other T) bool
	// fits reports whether what it depends on is the same in the live state as it was then. Hash
	// is a hash of what that is in the live state.
	fits(m *Machine) bool
	hash(m *Machine) uint64
}

// shelf holds those that depend on the same locations.
type shelf[T seen[T]] struct {
	one   T // the first of them
	hash  uint64
	alt   int32
	n     int
	table atomic.Pointer[[]atomic.Pointer[element[T]]] // of a power of two; nil: there is only one
	more  *shelf[T]
}

type element[T seen[T]] struct {
	it   T
	hash uint64
	more *element[T]
}

// perBucket is how many elements a bucket may have before the table grows.
const perBucket = 1

// find returns the one of an alternative that fits.
func (x *index[T]) find(m *Machine, alt int32) (found T, ok bool) {
	for s := x.first.Load(); s != nil; s = s.more {
		if s.alt != alt {
			continue
		}
		if found, ok := s.find(m); ok {
			return found, true
		}
	}
	return found, false
}

// find returns the one that fits.
func (s *shelf[T]) find(m *Machine) (found T, ok bool) {
	p := s.table.Load()
	if p == nil {
		return s.one, s.one.fits(m)
	}
	t := *p
	h, at := uint64(0), 0
	if len(t) > 1 {
		h = s.one.hash(m)
		at = int(h) & (len(t) - 1)
	}
	for e := t[at].Load(); e != nil; e = e.more {
		if (len(t) == 1 || e.hash == h) && e.it.fits(m) {
			return e.it, true
		}
	}
	return found, false
}

// add adds one that fits the live state.
func (x *index[T]) add(m *Machine, it T, alt int32) {
	s := x.first.Load()
	for s != nil && (s.alt != alt || !s.one.like(it)) {
		s = s.more
	}
	if s == nil {
		x.first.Store(&shelf[T]{one: it, hash: it.hash(m), alt: alt, n: 1, more: x.first.Load()})
		return
	}
	s.n++
	if s.n == 2 {
		table := make([]atomic.Pointer[element[T]], 1)
		put(table, s.one, s.hash)
		put(table, it, it.hash(m))
		s.table.Store(&table)
		return
	}
	t := *s.table.Load()
	if s.n > perBucket*len(t) {
		grown := make([]atomic.Pointer[element[T]], 4*len(t))
		for i := range t {
			for e := t[i].Load(); e != nil; e = e.more {
				put(grown, e.it, e.hash)
			}
		}
		t = grown
		s.table.Store(&grown)
	}
	put(t, it, it.hash(m))
}

func put[T seen[T]](t []atomic.Pointer[element[T]], it T, hash uint64) {
	b := &t[int(hash)&(len(t)-1)]
	b.Store(&element[T]{it, hash, b.Load()})
}

// sameLocations reports whether two lists of accesses are to the same locations.
func sameLocations(a, b []system.Access) bool {
	return slices.EqualFunc(a, b, func(x, y system.Access) bool { return x.Loc == y.Loc })
}

func (p *pending) like(q *pending) bool {
	return p.alarm == q.alarm && p.scans == q.scans && sameLocations(p.acc, q.acc)
}

func (p *pending) fits(m *Machine) bool {
	if p.alarm && p.alarms != m.alarms || p.scans && p.there != m.there {
		return false
	}
	for i := range p.acc {
		if m.versionOf(p.acc[i].Loc) != p.seen[i] {
			return false
		}
	}
	return true
}

func (p *pending) hash(m *Machine) (h uint64) {
	for i := range p.acc {
		h = mixed(h ^ m.versionOf(p.acc[i].Loc).id)
	}
	return m.hashed(h, p.alarm, p.scans)
}

func (ev *event) like(other *event) bool {
	return alarm(ev.op) == alarm(other.op) && ev.scans == other.scans &&
		sameLocations(ev.acc, other.acc)
}

func (ev *event) fits(m *Machine) bool {
	if alarm(ev.op) && ev.alarms != m.alarms || ev.scans && ev.there != m.there {
		return false
	}
	for i := range ev.acc {
		if m.writerOf(ev.acc[i].Loc) != ev.from[i] {
			return false
		}
	}
	return true
}

func (ev *event) hash(m *Machine) (h uint64) {
	for i := range ev.acc {
		if w := m.writerOf(ev.acc[i].Loc); w != nil {
			h ^= w.id
		}
		h = mixed(h)
	}
	return m.hashed(h, alarm(ev.op), ev.scans)
}

// hashed adds to a hash what is not a location.
func (m *Machine) hashed(h uint64, alarms, scans bool) uint64 {
	if alarms {
		h = mixed(h ^ m.alarms)
	}
	if scans {
		h = mixed(h ^ m.there)
	}
	return h
}
