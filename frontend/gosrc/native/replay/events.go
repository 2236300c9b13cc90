package replay

import (
	"slices"
	"sync"
	"sync/atomic"

	"cpor/frontend/gosrc/native"
	"cpor/system"
)

// event is a transition with its causal past: what its thread did before, and who wrote last
// what it touches. Two executions that have an event in common did the same up to there, as
// far as its thread can tell.
type event struct {
	id     uint64
	thread int32
	alt    int32
	op     native.Op
	prev   *event            // of the thread; nil: it is its first
	acc    []system.Access   // in the numbering of the engines
	from   []*event          // by access: who wrote the location last; nil: nobody
	wrote  []*version        // by access: what the location is behind the event; nil: it was read
	births []int32           // the threads that it has created
	now    int64             // what the clock shows behind it, if it lets time pass; else 0
	fault  *system.Violation // nil for a data race, which is none of the event's alone
	crash  bool              // nothing can happen behind it
	// timeout: what it has created is a time-out that the test has set.
	timeout bool
	pos     system.Pos
	told    uint64 // native.Step.Hash
	alarms  uint64 // of an alarm: as pending.alarms
	scans   bool   // it was looked which threads there are:
	there   uint64 // Machine.there
	// checked is the last pending that is known to have told the accesses, if all have so far.
	checked atomic.Pointer[pending]

	known
}

// known is what is known of a thread behind one of its events: what it is about to do, and what
// it did, for each past of what it touches that some execution had.
type known struct {
	pending index[*pending]
	next    index[*event]
}

// version is what a location is, as far as it decides what threads can do. Versions are equal
// if and only if they are the same.
type version struct{ id uint64 }

// pending is what a thread is about to do.
type pending struct {
	acc     []system.Access // of all alternatives
	seen    []*version      // by access: what it depends on
	alts    [][]system.Access
	enabled int32
	atEnd   bool
	ended   bool
	alarm   bool  // it goes on when time has passed
	sleeps  bool  // the test itself sleeps
	due     int64 // of an alarm: when
	// alarms is Machine.alarms: whether an alarm may go off depends on which others there are.
	// A step that sets one and a step that lets one go off both access the clock, so none of this
	// is a further access.
	alarms uint64
	scans  bool // it was looked which threads there are: Machine.there
	there  uint64
	op     native.Op
	pos    system.Pos
	text   string
}

// graph is what all executions so far have shown. An event is made under the lock.
type graph struct {
	mu      sync.Mutex
	serial  uint64
	made    atomic.Uint64 // changes whenever an event is made
	version uint64
	values  map[uint64]*version // by value, for processes that tell values
	threads atomic.Pointer[[]*known]
	places  map[string][]*event // by encoded state: what leads there
	// races are the data races of executions, by the encoded state behind the second access.
	// Whether there is one there is no function of that access's past.
	races map[string]*system.Violation
	// complete are the encoded states at the end of executions that were run not long ago; recent
	// are their keys in the order in which they came.
	complete map[string]bool
	recent   []string
	slabs    slabs
}

// slabs are where the parts of events lie that are kept until the end of the search: each is
// allocated with many others.
type slabs struct {
	events   []event
	pendings []pending
	versions []version
	from     []*event
	wrote    []*version
	accesses []system.Access
	alts     [][]system.Access
}

// perSlab is how many are allocated at once.
const perSlab = 256

// one returns the next free place of a slab.
func one[T any](slab *[]T) *T {
	if len(*slab) == cap(*slab) {
		*slab = make([]T, 0, perSlab)
	}
	n := len(*slab)
	*slab = (*slab)[:n+1]
	return &(*slab)[n]
}

// keep returns a copy of a list in a slab.
func keep[T any](slab *[]T, list []T) []T {
	if len(list) == 0 {
		return nil
	}
	if len(*slab)+len(list) > cap(*slab) {
		*slab = make([]T, 0, max(4*perSlab, len(list)))
	}
	n := len(*slab)
	*slab = append(*slab, list...)
	return (*slab)[n:len(*slab):len(*slab)]
}

// zero is the version of a location that nobody has written.
var zero = &version{}

// root is what is known of a thread before its first event.
func (g *graph) root(t int) *known {
	if ts := g.threads.Load(); ts != nil && t < len(*ts) {
		return (*ts)[t]
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var old []*known
	if ts := g.threads.Load(); ts != nil {
		old = *ts
	}
	if t < len(old) {
		return old[t]
	}
	grown := slices.Clone(old)
	for len(grown) <= t {
		grown = append(grown, &known{})
	}
	g.threads.Store(&grown)
	return grown[t]
}

// versionOf returns the version of a value.
func (g *graph) versionOf(v uint64) *version {
	if v == 0 {
		return zero
	}
	if g.values == nil {
		g.values = map[uint64]*version{}
	}
	x := g.values[v]
	if x == nil {
		x = g.newVersion()
		g.values[v] = x
	}
	return x
}

// newVersion returns a version that equals no other.
func (g *graph) newVersion() *version {
	g.version++
	v := one(&g.slabs.versions)
	v.id = g.version
	return v
}

// Locations of engines: those of the program, the existence of threads, and what a view adds.
func located(l system.Loc) system.Loc { return 3 * (l + 1) }
func exists(t int32) system.Loc       { return 3*system.Loc(t) + 1 }
func awake(t int32) system.Loc        { return 3*system.Loc(t) + 5 }

const (
	alive system.Loc = 0 // whether the execution goes on
	clock system.Loc = 2
)

// told tells whether a location is one of the program, and which.
func told(l system.Loc) (system.Loc, bool) { return l/3 - 1, l%3 == 0 && l > 0 }

func relocated(acc []system.Access) []system.Access {
	return relocate(make([]system.Access, 0, len(acc)+1), acc)
}

// relocate appends accesses in the numbering of the engines.
func relocate(dst, acc []system.Access) []system.Access {
	for _, a := range acc {
		dst = append(dst, system.Access{Loc: located(a.Loc), Write: a.Write})
	}
	return dst
}

// join appends the accesses of b that are not in a; a write counts more than a read.
func join(a, b []system.Access) []system.Access {
	for _, x := range b {
		if i := slices.IndexFunc(a, func(y system.Access) bool { return y.Loc == x.Loc }); i >= 0 {
			a[i].Write = a[i].Write || x.Write
		} else {
			a = append(a, x)
		}
	}
	return a
}
