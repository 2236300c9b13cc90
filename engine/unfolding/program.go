package unfolding

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"cpor/system"
)

// program is what was learnt of the system: its threads and locations by small
// numbers, the local states that were met, and for each of them what the next
// transition does, as a tree of questions for values of locations. A
// transition is executed once for each combination of values that it reads,
// however many events are its instances.
//
// Trees grow while workers look for events. Whoever reads one takes no lock;
// growing takes the program's.
type program struct {
	sys   system.System
	roots []system.State

	mu      sync.Mutex
	m       system.Machine // for values of the initial states
	pieces  system.Pieces
	numbers map[comp]uint32 // of threads and locations
	comps   atomic.Pointer[[]*component]
	locals  uint32
	byHash  map[uint64]*local // those of equal hash in a list
	leaves  atomic.Pointer[[]*leaf]
	fresh   []interest // found since the last settle
}

// comp names a component of the system: a thread or a location.
type comp struct {
	thread bool
	number uint32 // of the thread, or the Loc
}

// component is a thread or a location by its small number.
type component struct {
	comp
	index  uint32
	starts []start // in each initial state

	// The threads that may touch the location and those that may write it, as
	// far as is known, in the order of their numbers: changed by settle only.
	users, writers []uint32
}

// start is the condition of a component in an initial state.
type start struct {
	local *local // of a thread; nil if it does not exist
	value uint64 // of a location
	cond  cond
}

// interest says that a transition of a local state may access a location.
type interest struct {
	l     *local
	loc   uint32
	write bool
}

// local is a local state of a thread.
type local struct {
	id     uint32
	thread uint32 // component
	part   []uint64
	hash   uint64
	tree   node
	// What its transitions may access, as far as is known: changed by settle
	// only.
	uses []use
	same *local // another one of the same hash
}

// use says that a transition may touch a location: since when that is known,
// and since when that it may write it; 0 for not.
type use struct {
	loc           uint32
	touch, writes uint32
}

// node is a place in the tree of what an alternative does: unknown, a
// question for the value of a location, or the end of the transition.
type node struct {
	question atomic.Pointer[question]
	leaf     atomic.Pointer[leaf]
}

type question struct {
	loc uint32
	// The only value that is asked about, where an alternative is executed
	// that exists because of it.
	fixed bool
	value uint64
	edges atomic.Pointer[edge]
}

type edge struct {
	value uint64
	node  node
	next  *edge
}

// next returns the node that a value leads to; nil if it was not met yet.
func (q *question) next(v uint64) *node {
	for e := q.edges.Load(); e != nil; e = e.next {
		if e.value == v {
			return &e.node
		}
	}
	return nil
}

// leaf is a transition of a thread in all that it depends on: its local state,
// the alternative, the values of the locations that it touches.
type leaf struct {
	id     uint32
	kind   system.Kind
	atEnd  bool
	writes bool
	before *local
	after  *local
	acc    []access // in the order of the questions
	delta  uint64   // what it changes in the hash of a marking
	*extra
}

// extra is what few transitions have.
type extra struct {
	alt      uint64
	children []*local
	viol     *system.Violation
	// The next alternative, where there is one: its tree, in which values are
	// fixed that this alternative and the ones before have read.
	next    *node
	nextAlt uint64
	context []known
}

type access struct {
	loc      uint32
	write    bool
	old, new uint64
}

// known is a location with a value.
type known struct {
	loc   uint32
	value uint64
}

// nothing is the extra of most.
var nothing = &extra{}

// nobody is the local state of threads that do not exist.
const nobody = ^uint32(0)

func newProgram(sys system.System) (*program, error) {
	p := &program{sys: sys, roots: sys.Initial(), m: sys.NewMachine(), numbers: map[comp]uint32{}, byHash: map[uint64]*local{}}
	pieces, ok := system.As[system.Pieces](p.m)
	if !ok {
		return nil, errNoPieces
	}
	p.pieces = pieces
	p.m.Track(true)
	p.comps.Store(&[]*component{})
	p.leaves.Store(&[]*leaf{})
	threads := 0
	for _, r := range p.roots {
		p.m.Load(r)
		threads = max(threads, p.m.NumThreads())
	}
	for t := range threads {
		p.component(comp{true, uint32(t)})
	}
	return p, nil
}

func (p *program) comp(i uint32) *component { return (*p.comps.Load())[i] }
func (p *program) leaf(i uint32) *leaf      { return (*p.leaves.Load())[i] }

// component returns a component by its name. The caller has the lock.
func (p *program) component(c comp) *component {
	if i, ok := p.numbers[c]; ok {
		return p.comp(i)
	}
	all := *p.comps.Load()
	x := &component{comp: c, index: uint32(len(all)), starts: make([]start, len(p.roots))}
	p.numbers[c] = x.index
	for r, s := range p.roots {
		p.m.Load(s)
		st := &x.starts[r]
		st.cond = cond{event: uint32(r), comp: x.index, value: uint64(nobody)}
		switch {
		case !c.thread:
			st.value = p.pieces.Value(system.Loc(c.number))
			st.cond.value = st.value
		case int(c.number) < p.m.NumThreads():
			st.local = p.local(x, p.pieces.Local(int(c.number), nil))
			st.cond.value = uint64(st.local.id)
		}
	}
	all = append(all, x)
	p.comps.Store(&all)
	return x
}

// local returns a local state. The caller has the lock.
func (p *program) local(c *component, part []uint64) *local {
	h := mix(uint64(c.index), 1)
	for i, w := range part {
		h ^= mix(w, uint64(c.number)<<20|uint64(i+2))
	}
	first := p.byHash[h]
	for l := first; l != nil; l = l.same {
		if l.thread == c.index && slices.Equal(l.part, part) {
			return l
		}
	}
	l := &local{id: p.locals, thread: c.index, part: slices.Clone(part), hash: h, same: first}
	p.locals++
	p.byHash[h] = l
	return l
}

// mix hashes a value at a place.
func mix(v, place uint64) uint64 {
	h := v*0x9e3779b97f4a7c15 + (place+1)*0xd1b54a32d192ed03
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

func valueHash(loc system.Loc, v uint64) uint64 { return mix(v, uint64(loc)<<1|1) }

// runner executes transitions for one worker.
type runner struct {
	p      *program
	m      system.Machine
	pieces system.Pieces
}

func newRunner(p *program) *runner {
	m := p.sys.NewMachine()
	m.Track(true)
	pieces, _ := system.As[system.Pieces](m)
	return &runner{p: p, m: m, pieces: pieces}
}

// run executes an alternative of a local state, and adds it to the tree whose
// root is given. path are the values that are known, context those of the
// alternatives before; value tells all others.
func (r *runner) run(l *local, root *node, alt uint64, context, path []known, value func(loc uint32) uint64) {
	p := r.p
	t := int(p.comp(l.thread).number)
	var asked []known
	var names []system.Loc
	answer := func(loc system.Loc) uint64 {
		p.mu.Lock()
		c := p.component(comp{false, uint32(loc)})
		p.mu.Unlock()
		k := known{c.index, 0}
		if i := find(path, c.index); i >= 0 {
			k.value = path[i].value
		} else if i := find(context, c.index); i >= 0 {
			k.value = context[i].value
		} else {
			k.value = value(c.index)
		}
		asked = append(asked, k)
		names = append(names, loc)
		return k.value
	}
	r.m.Load(p.roots[0])
	out := r.pieces.StepOn(t, alt, l.part, answer)
	for _, a := range r.pieces.Accesses() { // what was written without a look
		if !slices.Contains(names, a.Loc) {
			answer(a.Loc)
		}
	}
	lf := &leaf{kind: out.Kind, atEnd: out.AtEnd, before: l, extra: nothing}
	if alt != 0 || out.Violation != nil || out.Next != 0 || out.Created {
		lf.extra = &extra{alt: alt, viol: out.Violation, nextAlt: out.Next}
	}
	lf.acc = make([]access, len(asked))
	for i, k := range asked {
		lf.acc[i] = access{loc: k.loc, old: k.value, new: k.value}
	}
	var after []uint64
	if out.Kind == system.Moved {
		after = r.pieces.Local(t, nil)
		for _, a := range r.pieces.Accesses() {
			if a.Write {
				x := &lf.acc[slices.Index(names, a.Loc)]
				x.write, x.new = true, r.pieces.Value(a.Loc)
				lf.writes = true
			}
		}
	}
	type child struct {
		t    int
		part []uint64
	}
	var children []child
	if out.Created {
		var parts [][]uint64
		n := r.m.NumThreads()
		for u := range n {
			parts = append(parts, r.pieces.Local(u, nil))
		}
		// As many threads as there were before.
		r.m.Load(p.roots[0])
		for i, k := range asked {
			r.pieces.SetValue(names[i], k.value)
		}
		for u := r.m.NumThreads(); u < n; u++ {
			children = append(children, child{u, parts[u]})
		}
		if len(children) == 0 {
			panic("unfolding: a transition created a thread that is not to be found")
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if out.Kind == system.Moved {
		lf.after = p.local(p.comp(l.thread), after)
		lf.delta = l.hash ^ lf.after.hash
		for i, a := range lf.acc {
			if a.write {
				lf.delta ^= valueHash(names[i], a.old) ^ valueHash(names[i], a.new)
			}
		}
		for _, c := range children {
			x := p.local(p.component(comp{true, uint32(c.t)}), c.part)
			lf.children = append(lf.children, x)
			lf.delta ^= x.hash
		}
		if out.Next != 0 {
			lf.next = &node{}
			lf.context = slices.Clone(context)
			for _, k := range asked {
				if find(context, k.loc) < 0 {
					lf.context = append(lf.context, k)
				}
			}
		}
	}
	n := root
	for i, k := range asked {
		q := n.question.Load()
		if n.leaf.Load() != nil || q != nil && q.loc != k.loc {
			panic(fmt.Sprintf("unfolding: thread %d asks for another location when the same values were read", t))
		}
		if q == nil {
			q = &question{loc: k.loc}
			if j := find(context, k.loc); j >= 0 {
				q.fixed, q.value = true, context[j].value
			}
			n.question.Store(q)
			p.fresh = append(p.fresh, interest{l, k.loc, false})
		}
		next := q.next(k.value)
		if next == nil {
			e := &edge{value: k.value, next: q.edges.Load()}
			q.edges.Store(e)
			next = &e.node
		}
		n = next
		if lf.acc[i].write {
			p.fresh = append(p.fresh, interest{l, k.loc, true})
		}
	}
	if n.leaf.Load() == nil {
		all := *p.leaves.Load()
		lf.id = uint32(len(all))
		all = append(all, lf)
		p.leaves.Store(&all)
		n.leaf.Store(lf)
	}
}

func find(ks []known, loc uint32) int {
	for i, k := range ks {
		if k.loc == loc {
			return i
		}
	}
	return -1
}

// settle makes the interests known that were found since it was called last,
// and returns how many there were. No worker runs.
func (p *program) settle(round uint32) int {
	n := 0
	for _, f := range p.fresh {
		i := slices.IndexFunc(f.l.uses, func(u use) bool { return u.loc == f.loc })
		if i < 0 {
			i = len(f.l.uses)
			f.l.uses = append(f.l.uses, use{loc: f.loc, touch: round})
			n++
		}
		if u := &f.l.uses[i]; f.write && u.writes == 0 {
			u.writes = round
			n++
		}
		c := p.comp(f.loc)
		c.users = p.include(c.users, f.l.thread)
		if f.write {
			c.writers = p.include(c.writers, f.l.thread)
		}
	}
	p.fresh = p.fresh[:0]
	return n
}

// include adds a thread to a list that is in the order of their numbers.
func (p *program) include(list []uint32, thread uint32) []uint32 {
	i, ok := slices.BinarySearchFunc(list, p.comp(thread).number, func(x, n uint32) int { return cmp.Compare(p.comp(x).number, n) })
	if ok {
		return list
	}
	return slices.Insert(list, i, thread)
}
