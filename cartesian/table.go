package cartesian

import (
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

// other tells whether some other thread than the given one is in the owner.
func (o owner) other(thread int32) bool { return o != nobody && o != ownedBy(thread) }

// location is what the vector under construction did to one shared location,
// once for the reads and once for the writes (a location that a transition
// both reads and writes stands as a write).
type location struct {
	generation uint32
	uses       [2]uses // reads, writes
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
	reads  = 0
	writes = 1
)

func use(a system.Access) int {
	if a.Write {
		return writes
	}
	return reads
}

// inside tells whether an access of the thread conflicts with a transition of
// another thread that is not its prefix's last.
func (t *table) inside(thread int32, a system.Access) bool {
	loc := t.at(a.Loc)
	return loc.uses[writes].inner.other(thread) ||
		a.Write && !sabotage.Is("cartesian/inside") && loc.uses[reads].inner.other(thread)
}

// bury notes that a transition of the thread with this access is not its
// prefix's last any more.
func (t *table) bury(thread int32, a system.Access) {
	u := &t.at(a.Loc).uses[use(a)]
	u.inner = u.inner.with(thread)
}

// clash ends the prefixes of other threads whose last transition conflicts
// with an access of the thread, and tells whether there are any. The access
// conflicts with nothing inside.
func (e *Expander) clash(thread int32, a system.Access) bool {
	loc := e.table.at(a.Loc)
	any := e.end(&loc.uses[writes], thread)
	if a.Write && !sabotage.Is("cartesian/clash") && e.end(&loc.uses[reads], thread) {
		any = true
	}
	return any
}

// end ends the prefixes of other threads whose last transition is in u, and
// tells whether there are any, those that had ended before included. A prefix
// that has ended keeps its last transition, so its node leaves the list: each
// node is visited once, or belongs to the thread itself, which happens once
// until somebody else adds a node.
func (e *Expander) end(u *uses, thread int32) bool {
	any := u.fixed.other(thread)
	if !u.last.other(thread) {
		return any
	}
	var kept int32
	u.last = nobody
	for n := u.list; n != 0; {
		nd := &e.table.nodes[n]
		next := nd.next
		if p := e.prefixes[nd.prefix]; p.thread == thread {
			nd.next, kept = kept, n
			u.last = ownedBy(thread)
		} else {
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
	u := &e.table.at(a.Loc).uses[use(a)]
	if u.inner.with(thread) == u.inner {
		return
	}
	u.last = u.last.with(thread)
	e.table.nodes = append(e.table.nodes, node{i, u.list})
	u.list = int32(len(e.table.nodes) - 1)
}

// disturbs tells whether an access of the thread conflicts with the last
// transition of another thread's prefix that could still be extended.
func (e *Expander) disturbs(thread int32, a system.Access) bool {
	loc := e.table.at(a.Loc)
	return e.growing(&loc.uses[writes], thread) || a.Write && e.growing(&loc.uses[reads], thread)
}

func (e *Expander) growing(u *uses, thread int32) bool {
	if u.last.other(thread) {
		for n := u.list; n != 0; n = e.table.nodes[n].next {
			nd := e.table.nodes[n]
			p := e.prefixes[nd.prefix]
			if p.thread != thread && p.extendable {
				return true
			}
		}
	}
	return false
}
