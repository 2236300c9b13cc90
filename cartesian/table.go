package cartesian

import (
	"math"

	"cpor/system"
	"cpor/testkit/sabotage"
)

// owner says which threads did something: nobody, one thread, or several.
// That is all that a conflict check asks, since a thread's prefixes are never
// compared with each other.
type owner int32

const (
	nobody  owner = 0
	several owner = -1
)

func ownedBy(thread int32) owner { return owner(thread + 1) }

// with adds a thread to the owner.
func (o owner) with(thread int32) owner {
	switch one := ownedBy(thread); o {
	case nobody, one:
		return one
	default:
		return several
	}
}

// other reports whether some other thread than the given one is in the owner.
func (o owner) other(thread int32) bool { return o != nobody && o != ownedBy(thread) }

// location is what the vector under construction did to one shared location, by kinds of accesses
// (a location that a transition both reads and writes stands as a write). It is a cache line.
type location struct {
	generation uint32
	commuting  int32     // an index into table.commuting; 0 if there is no addition with bounds
	by         owner     // of all accesses
	other      system.Op // that sums or stores; 0 if there is none
	uses       [falls]uses
}

// commuting is what a vector did to a location by additions with bounds ([system.Op]), and by
// those that look whether they have been done.
type commuting struct {
	uses [kinds - falls]uses
	// By direction: those that lower the value and those that raise it.
	amounts [2]amount
}

// amount is how much is added in one direction.
type amount struct {
	by       owner
	used     int // by all of the vector
	room     int // that the others leave, while there is one thread
	limit    int // how much each of them allows altogether, with several threads
	patience int // how much those that look allow
}

// put adds an operation of a thread.
func (m *amount) put(thread int32, a system.Access) {
	size := a.Op.Size()
	switch m.by {
	case nobody, ownedBy(thread):
		m.room = min(m.room, int(a.Room))
	case several:
		m.limit = min(m.limit, int(a.Room)+size)
	default:
		m.limit = min(m.used+m.room, int(a.Room)+size)
	}
	m.by = m.by.with(thread)
	m.used += size
}

// exceeds reports whether an operation of a thread is too much for the others, or they for it.
func (m *amount) exceeds(thread int32, a system.Access) bool {
	size := a.Op.Size()
	switch m.by {
	case nobody, ownedBy(thread):
		return false
	case several:
		return m.used+size > min(m.limit, int(a.Room)+size)
	}
	return !sabotage.Is("cartesian/amount") && (size > m.room || m.used > int(a.Room))
}

// uses are the accesses of one kind to one location.
type uses struct {
	inner owner // by transitions that are not their prefix's last
	fixed owner // by last transitions of prefixes that have ended for good
	last  owner // of the nodes in the list
	list  int32 // last transitions, newest first: an index into table.nodes; 0 is the end
}

// node is an element of the list of the prefixes whose last transition makes a
// certain access. A node stays in the list when its prefix grows beyond that
// transition; then the access is also an inner one, and whoever conflicts with
// it is turned away before the list is looked at.
type node struct {
	prefix int32
	next   int32
}

// table finds the conflicts of a transition with the vector. It is indexed by
// location and emptied by incrementing a generation, so neither costs more than
// the accesses that are made.
type table struct {
	generation uint32
	locations  []location
	nodes      []node      // nodes[0] is not used
	commuting  []commuting // so is its first element
}

func (t *table) reset() {
	t.generation++
	if t.generation == 0 { // wrapped around: old stamps would look new
		clear(t.locations)
		t.generation = 1
	}
	if len(t.nodes) == 0 {
		t.nodes = append(t.nodes, node{})
	}
	t.nodes = t.nodes[:1]
	if len(t.commuting) == 0 {
		t.commuting = append(t.commuting, commuting{})
	}
	t.commuting = t.commuting[:1]
}

// additions returns what a vector did to a location by additions with bounds. It is valid until
// the next call.
func (t *table) additions(l *location) *commuting {
	if l.commuting == 0 {
		l.commuting = int32(len(t.commuting))
		unlimited := amount{room: math.MaxInt, patience: math.MaxInt}
		t.commuting = append(t.commuting, commuting{amounts: [2]amount{unlimited, unlimited}})
	}
	return &t.commuting[l.commuting]
}

// at returns the entry of a location. It is valid until the next call of at.
func (t *table) at(l system.Loc) *location {
	if int(l) >= len(t.locations) {
		t.locations = append(t.locations, make([]location, int(l)+1-len(t.locations))...)
	}
	loc := &t.locations[l]
	if loc.generation != t.generation {
		*loc = location{generation: t.generation}
	}
	return loc
}

// kind is a kind of accesses.
type kind uint8

const (
	reads kind = iota
	writes
	others    // sums, or stores of one number
	falls     // additions that lower the value
	fallLooks // transitions that look whether there were any
	rises
	riseLooks
	kinds
)

// clashes are, by kind, the kinds whose accesses all conflict with those of the kind, as a set.
// Where additions meet additions, it depends on the numbers.
var clashes = [kinds]uint8{
	reads:     1<<writes | 1<<others | 1<<falls | 1<<rises,
	writes:    1<<kinds - 1,
	others:    1<<kinds - 1 - 1<<others,
	falls:     1<<reads | 1<<writes | 1<<others,
	fallLooks: 1<<writes | 1<<others,
	rises:     1<<reads | 1<<writes | 1<<others,
	riseLooks: 1<<writes | 1<<others,
}

// looking reports whether accesses of a kind leave the location as it is.
func (k kind) looking() bool { return k == reads || k == fallLooks || k == riseLooks }

// amount returns the index of the amounts of the direction of an addition.
func (k kind) amount() int { return int(k-falls) / 2 }

// of returns the uses of a location of a kind.
func (t *table) of(l *location, k kind) *uses {
	if k < falls {
		return &l.uses[k]
	}
	return &t.commuting[l.commuting].uses[k-falls]
}

// kind returns how an access counts. Of the sums and stores of a location, only those that equal
// the first one count as others.
func (l *location) kind(a system.Access) kind {
	if a.Op != 0 {
		switch d := a.Op.Adds(); {
		case d < 0 && a.Write:
			return falls
		case d < 0:
			return fallLooks
		case d > 0 && a.Write:
			return rises
		case d > 0:
			return riseLooks
		case l.other == 0 || l.other == a.Op:
			return others
		}
	}
	if a.Write {
		return writes
	}
	return reads
}

// conflicts returns with how many of the accesses of a kind an access of a thread conflicts, which
// is of a kind itself: all, none, or, for one that looks, as many of the additions as are too much
// for it.
func (t *table) conflicts(thread int32, l *location, a system.Access, use, with kind) int {
	const all, none = math.MaxInt, 0
	switch {
	case clashes[use]>>with&1 != 0:
		return all
	case min(use, with) < falls || use.looking() && with.looking():
		return none
	case (use < rises) != (with < rises) || sabotage.Is("cartesian/room"):
		return none // one raises the value, and one lowers it
	}
	m := &t.commuting[l.commuting].amounts[with.amount()]
	switch {
	case use.looking():
		return max(0, m.used-int(a.Room))
	case with.looking() && m.used+a.Op.Size() > m.patience, with == use && m.exceeds(thread, a):
		return all
	}
	return none
}

// inside reports whether an access of the thread conflicts with a transition of another thread
// that is not its prefix's last.
func (t *table) inside(thread int32, a system.Access) bool {
	loc := t.at(a.Loc)
	if !loc.by.other(thread) {
		return false
	}
	use := loc.kind(a)
	for k := range loc.used() {
		if t.of(loc, k).inner.other(thread) && t.conflicts(thread, loc, a, use, k) > 0 &&
			!(k == reads && sabotage.Is("cartesian/inside")) {
			return true
		}
	}
	return false
}

// used returns how many kinds of accesses a location can have.
func (l *location) used() kind {
	if l.commuting == 0 {
		return falls
	}
	return kinds
}

// bury notes that a transition of the thread with this access is not its
// prefix's last any more.
func (t *table) bury(thread int32, a system.Access) {
	loc := t.at(a.Loc)
	u := t.of(loc, loc.kind(a))
	u.inner = u.inner.with(thread)
}

// touch makes an access one of the last transition of prefix i. It ends the prefixes of other
// threads whose last transition conflicts with it, and reports whether there are any. It conflicts
// with nothing inside.
func (e *Expander) touch(i int32, thread int32, a system.Access) (clash bool) {
	loc := e.table.at(a.Loc)
	use := loc.kind(a)
	if loc.by.other(thread) {
		for k := range loc.used() {
			u := e.table.of(loc, k)
			if (u.last | u.fixed) == nobody {
				continue
			}
			if n := e.table.conflicts(thread, loc, a, use, k); n > 0 &&
				!(k == reads && sabotage.Is("cartesian/clash")) && e.end(u, thread, n) {
				clash = true
			}
		}
	}
	e.enter(i, thread, loc, use, a)
	return clash
}

// end ends the prefixes of other threads whose last transition is in u, up to so many, and
// reports whether there are any, those that had ended before included. A prefix that has ended
// keeps its last transition, so its node leaves the list: each node is visited once, or belongs
// to the thread itself, which happens once until somebody else adds a node.
func (e *Expander) end(u *uses, thread int32, most int) bool {
	any := u.fixed.other(thread)
	if !u.last.other(thread) {
		return any
	}
	var kept int32
	u.last = nobody
	for n := u.list; n != 0; {
		nd := &e.table.nodes[n]
		next := nd.next
		if p := e.prefixes[nd.prefix]; p.thread == thread || most == 0 {
			nd.next, kept = kept, n
			u.last = u.last.with(p.thread)
		} else {
			most--
			p.extendable = false
			u.fixed = u.fixed.with(p.thread)
			any = true
		}
		n = next
	}
	u.list = kept
	return any
}

// enter notes an access of the last transition of prefix i. If the thread has
// the same access inside a prefix, that decides every conflict already.
func (e *Expander) enter(i, thread int32, loc *location, use kind, a system.Access) {
	loc.by = loc.by.with(thread)
	switch {
	case use == others:
		loc.other = a.Op
	case use >= falls:
		m := &e.table.additions(loc).amounts[use.amount()]
		if use.looking() {
			m.patience = min(m.patience, int(a.Room))
		} else {
			m.put(thread, a)
		}
	}
	u := e.table.of(loc, use)
	if u.inner.with(thread) == u.inner {
		return
	}
	u.last = u.last.with(thread)
	e.table.nodes = append(e.table.nodes, node{i, u.list})
	u.list = int32(len(e.table.nodes) - 1)
}
