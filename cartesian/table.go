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

// location is what the vector under construction did to one shared location,
// once for the reads and once for the writes (a location that a transition
// both reads and writes stands as a write), and likewise for one commuting operation
// and for those that look whether it has been done ([system.Op]).
type location struct {
	generation uint32
	uses       [4]uses // reads, writes, operations, looks
	op         system.Op
	used       int // operations in the vector
	room       int // for how many operations each of them leaves room
	patience   int // for how many each of those that look does
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
	nodes      []node // nodes[0] is not used
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

const (
	reads      = 0
	writes     = 1
	operations = 2
	looks      = 3
)

// use tells as what an access counts. Of the operations of a location it is the first one that
// counts as one.
func (l *location) use(a system.Access) int {
	if a.Op != 0 && a.Op == l.op {
		if a.Write {
			return operations
		}
		return looks
	}
	if a.Write {
		return writes
	}
	return reads
}

// conflicts tells with how many of the accesses of a kind an access conflicts: all, none, or, of
// who looks, as many of the operations as are too many for it.
func (l *location) conflicts(a system.Access, kind int) int {
	const all, none = math.MaxInt, 0
	use := l.use(a)
	count := 0
	switch {
	case kind == writes || kind <= writes && a.Write || use <= writes &&
		(a.Write || kind == operations):
		return all
	case use <= writes || kind <= writes || use == looks && kind == looks ||
		sabotage.Is("cartesian/room"):
		return none
	case use == looks:
		count = max(0, l.used-int(a.Room))
	case kind == operations && l.used+1 > min(l.room, int(a.Room)+1), kind == looks &&
		l.used+1 > l.patience:
		count = all
	}
	return count
}

// inside reports whether an access of the thread conflicts with a transition of another thread
// that is not its prefix's last.
func (t *table) inside(thread int32, a system.Access) bool {
	loc := t.at(a.Loc)
	for kind := range loc.uses {
		if loc.uses[kind].inner.other(thread) && loc.conflicts(a, kind) > 0 &&
			!(kind == reads && sabotage.Is("cartesian/inside")) {
			return true
		}
	}
	return false
}

// bury notes that a transition of the thread with this access is not its
// prefix's last any more.
func (t *table) bury(thread int32, a system.Access) {
	loc := t.at(a.Loc)
	u := &loc.uses[loc.use(a)]
	u.inner = u.inner.with(thread)
}

// clash ends the prefixes of other threads whose last transition conflicts with an access of the
// thread, and reports whether there are any. The access conflicts with nothing inside.
func (e *Expander) clash(thread int32, a system.Access) bool {
	loc := e.table.at(a.Loc)
	any := false
	for kind := range loc.uses {
		if n := loc.conflicts(a, kind); n > 0 &&
			!(kind == reads && sabotage.Is("cartesian/clash")) && e.end(&loc.uses[kind], thread,
			n) {
			any = true
		}
	}
	return any
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
func (e *Expander) enter(i int32, a system.Access) {
	thread := e.prefixes[i].thread
	loc := e.table.at(a.Loc)
	if a.Op != 0 && loc.op == 0 {
		loc.op, loc.room, loc.patience = a.Op, math.MaxInt, math.MaxInt
	}
	use := loc.use(a)
	switch use {
	case operations:
		loc.used++
		loc.room = min(loc.room, int(a.Room)+1)
	case looks:
		loc.patience = min(loc.patience, int(a.Room))
	}
	u := &loc.uses[use]
	if u.inner.with(thread) == u.inner {
		return
	}
	u.last = u.last.with(thread)
	e.table.nodes = append(e.table.nodes, node{i, u.list})
	u.list = int32(len(e.table.nodes) - 1)
}
