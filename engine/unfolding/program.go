package unfolding

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"cpor/system"
)

// program is what has been learned about the system: its threads and locations by small numbers,
// the local states that were met, and for each of them what the next transition does, as a tree of
// questions for values of locations. A transition is executed once for each combination of values
// that it reads, however many events are its instances.
//
// Whatever can be as numerous as events is in tables without pointers, and has numbers.
//
// Trees grow while workers look for events. Readers take no lock; growing takes the program's.
type program struct {
	sys   system.System
	roots []system.State

	mu      sync.Mutex
	m       system.Machine // for values of the initial states
	pieces  system.Pieces
	numbers map[comp]uint32 // of threads and locations
	comps   atomic.Pointer[[]*component]
	fresh   []interest // found since the last settle

	locals    shared[local]
	coded     pieces[byte] // parts of local states, and values of leaves, as varints
	localsAt  list         // local states by their hashes
	leaves    shared[leaf]
	shapes    pieces[uint32]
	shapesAt  list
	branches  shared[branch]
	extras    shared[extra]
	large     shared[uint64] // the values that are not their own numbers
	largeNums map[uint64]uint32
	uses      chunks[use]

	recent map[interest]bool // what became known when settle was called last

	bytes []byte // space for encoding
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
	starts []cond // in each initial state

	// The threads that may touch the location and those that may write it, as far as is known, in
	// the order of their numbers. Only settle changes it.
	users, writers []uint32
}

// interest says that a transition of a local state may access a location.
type interest struct {
	local, loc uint32
	write      bool
}

// local is a local state of a thread.
type local struct {
	thread uint32 // component
	part   uint32 // where its words are in coded, after their number
	tree   node
	// What its transitions may access, as far as is known: a list in uses, changed by
	// settle only.
	uses uint32
}

// use says that a transition may touch a location, or write it.
type use struct {
	access access
	next   uint32
}

// access is that of a location: its number twice, and one more for writing.
type access = uint32

func accessOf(loc uint32, write bool) access {
	if write {
		return loc<<1 | 1
	}
	return loc << 1
}

func isWrite(a access) bool { return a&1 != 0 }

// node is a place in the tree of what an alternative does: 0 if it is unknown, a
// question for the value of a location (the number of its first branch), or the end of
// the transition (the number of a leaf, and the highest bit).
type node struct{ atomic.Uint32 }

const atLeaf = 1 << 31

// branch is a question for the value of a location with one of the answers that were met.
type branch struct {
	loc   uint32 // twice, and 1 more if the value is the only one that is asked about
	value uint32 // its number
	node  node
	next  atomic.Uint32 // of the branches of the same question; 0 for none
}

// answer returns the node that a value leads to from a question; nil if it was not met yet.
func (p *program) answer(question, value uint32) *node {
	for question != 0 {
		b := p.branches.at(question)
		if b.value == value {
			return &b.node
		}
		question = b.next.Load()
	}
	return nil
}

// leaf is a transition of a thread in all that it depends on: its local state (which is that of
// the conditions that it takes), the alternative, the values of the locations that it touches.
type leaf struct {
	after uint32 // the local state; nobody if it did not move
	shape uint32 // see shape
	// Where it is in coded: the number of what few have, if it has it; the local states of the
	// threads that it creates; the numbers of the values of each access before, and after if it
	// writes.
	values uint32
	delta  uint32 // what it changes in the hash of a marking
}

// shape is what a leaf shares with others: the thread; the kind and some bits, with the number of
// accesses; the accesses, in the order of the questions; and the number of threads that it creates,
// and these threads.
type shape []uint32

const (
	kindBits  = 3 // the bits of a shape that hold the kind
	atEnd     = 1 << 2
	anyWrites = 1 << 3
	extraBit  = 4 // whether there is something that few have
	creates   = 1 << 5
	shapeBits = 6 // before the number of accesses
)

func (s shape) thread() uint32    { return s[0] }
func (s shape) kind() system.Kind { return system.Kind(s[1] & kindBits) }
func (s shape) atEnd() bool       { return s[1]&atEnd != 0 }
func (s shape) writes() bool      { return s[1]&anyWrites != 0 }
func (s shape) extras() uint32    { return s[1] >> extraBit & 1 }
func (s shape) acc() []access     { return s[2 : 2+s[1]>>shapeBits] }
func (s shape) kids() []uint32 {
	if s[1]&creates == 0 {
		return nil
	}
	s = s[2+s[1]>>shapeBits:]
	return s[1 : 1+s[0]]
}

// numPre returns how many conditions an event touches.
func (s shape) numPre() uint32 { return 1 + uint32(len(s.kids())) + s[1]>>shapeBits }

// extra is what few transitions have.
type extra struct {
	alt  uint64
	viol *system.Violation
	// The next alternative, where there is one: its tree, in which values are
	// fixed that this alternative and the ones before have read.
	next    *node
	nextAlt uint64
	context []known
}

// known is a location with the number of a value.
type known struct {
	loc, value uint32
}

// nothing is the extra of most.
var nothing = &extra{}

// nobody is the local state of threads that do not exist.
const nobody = ^uint32(0)

func newProgram(sys system.System) (*program, error) {
	p := &program{sys: sys, roots: sys.Initial(), m: sys.NewMachine(), numbers: map[comp]uint32{},
		largeNums: map[uint64]uint32{}}
	pieces := p.m.Capabilities().Pieces
	if pieces == nil {
		return nil, errNoPieces
	}
	p.pieces = pieces
	p.m.Track(true)
	p.comps.Store(&[]*component{})
	// The number 0 is that of nothing.
	p.branches.add()
	p.uses.add(use{})
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
func (p *program) leaf(i uint32) *leaf      { return p.leaves.at(i) }
func (p *program) local(i uint32) *local    { return p.locals.at(i) }
func (p *program) shape(l *leaf) shape      { return p.shapes.from(l.shape) }

// kids returns the local states of the threads that a leaf creates.
func (p *program) kids(l *leaf) []uint32 {
	s := p.shape(l)
	if s[1]&creates == 0 {
		return nil
	}
	x := numbers(p.coded.from(l.values))
	x.skip(s.extras())
	kids := make([]uint32, len(s.kids()))
	for i := range kids {
		kids[i] = x.next()
	}
	return kids
}

// known returns the values of a leaf's accesses: each one before, and after if it writes.
func (p *program) known(l *leaf) numbers {
	s := p.shape(l)
	x := numbers(p.coded.from(l.values))
	x.skip(s.extras() + uint32(len(s.kids())))
	return x
}

func (p *program) extra(l *leaf) *extra {
	if p.shape(l).extras() == 0 {
		return nothing
	}
	x := numbers(p.coded.from(l.values))
	return p.extras.at(x.next())
}

// big marks numbers of values that do not fit.
const big = 1 << 31

// number returns the number of a value. The caller has the lock.
func (p *program) number(v uint64) uint32 {
	if v < big {
		return uint32(v)
	}
	n, ok := p.largeNums[v]
	if !ok {
		i, x := p.large.add()
		*x = v
		n = big | i
		p.largeNums[v] = n
	}
	return n
}

// value returns the value of a number.
func (p *program) value(n uint32) uint64 {
	if n < big {
		return uint64(n)
	}
	return *p.large.at(n &^ big)
}

// component returns a component by its name. The caller has the lock.
func (p *program) component(c comp) *component {
	if i, ok := p.numbers[c]; ok {
		return p.comp(i)
	}
	all := *p.comps.Load()
	x := &component{comp: c, index: uint32(len(all)), starts: make([]cond, len(p.roots))}
	p.numbers[c] = x.index
	for r, s := range p.roots {
		p.m.Load(s)
		st := &x.starts[r]
		*st = cond{event: uint32(r), value: nobody}
		switch {
		case !c.thread:
			st.value = p.number(p.pieces.Value(system.Loc(c.number)))
		case int(c.number) < p.m.NumThreads():
			st.value = p.localOf(x, p.pieces.Local(int(c.number), nil))
		}
	}
	all = append(all, x)
	p.comps.Store(&all)
	return x
}

// localHash is a local state's contribution to the hash of a marking.
func localHash(c *component, part []uint64) uint32 {
	h := mix(uint64(c.index), 1)
	for i, w := range part {
		h ^= mix(w, uint64(c.number)<<20|uint64(i+2))
	}
	return uint32(h)
}

// localOf returns the number of a local state. The caller has the lock.
func (p *program) localOf(c *component, part []uint64) uint32 {
	p.bytes = binary.AppendUvarint(p.bytes[:0], uint64(len(part)))
	for _, w := range part {
		p.bytes = binary.AppendUvarint(p.bytes, w)
	}
	for n := range p.localsAt.all(localHash(c, part)) {
		if l := p.local(n); l.thread == c.index && bytes.HasPrefix(p.coded.from(l.part), p.bytes) {
			return n
		}
	}
	n, l := p.locals.add()
	l.thread, l.part = c.index, p.coded.add(p.bytes)
	var room []uint64
	p.localsAt.add(n, func(n uint32) uint32 {
		l := p.local(n)
		room = p.partOf(l, room)
		if l.thread == c.index {
			return localHash(c, room) // which may be about to be added
		}
		return localHash(p.comp(l.thread), room)
	})
	return n
}

// partOf writes a local state as the system knows it over dst.
func (p *program) partOf(l *local, dst []uint64) []uint64 {
	b := p.coded.from(l.part)
	n, at := binary.Uvarint(b)
	dst = dst[:0]
	for range n {
		v, k := binary.Uvarint(b[at:])
		at += k
		dst = append(dst, v)
	}
	return dst
}

// mix hashes a value at a place.
func mix(v, place uint64) uint64 {
	h := v*0x9e3779b97f4a7c15 + (place+1)*0xd1b54a32d192ed03
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

func valueHash(loc system.Loc, v uint64) uint32 { return uint32(mix(v, uint64(loc)<<1|1)) }

// runner executes transitions for one worker.
type runner struct {
	p      *program
	m      system.Machine
	pieces system.Pieces
	before []uint64
	asked  []asked
}

// asked is a location that a transition has read.
type asked struct {
	known
	name  system.Loc
	write bool
	after uint64 // what it is afterwards
}

func newRunner(p *program) *runner {
	m := p.sys.NewMachine()
	m.Track(true)
	pieces := m.Capabilities().Pieces
	return &runner{p: p, m: m, pieces: pieces}
}

// run executes an alternative of a local state, and adds it to the tree whose
// root is given. path are the values that are known, context those of the
// alternatives before; value tells the numbers of all others.
func (r *runner) run(local uint32, root *node, alt uint64, context, path []known,
	value func(loc uint32) uint32) {
	p := r.p
	l := p.local(local)
	thread := p.comp(l.thread)
	t := int(thread.number)
	r.before = p.partOf(l, r.before)
	r.asked = r.asked[:0]
	answer := func(loc system.Loc) uint64 {
		p.mu.Lock()
		c := p.component(comp{false, uint32(loc)})
		p.mu.Unlock()
		k := known{loc: c.index}
		if i := find(path, c.index); i >= 0 {
			k.value = path[i].value
		} else if i := find(context, c.index); i >= 0 {
			k.value = context[i].value
		} else {
			k.value = value(c.index)
		}
		r.asked = append(r.asked, asked{known: k, name: loc})
		return p.value(k.value)
	}
	named := func(loc system.Loc) int {
		return slices.IndexFunc(r.asked, func(a asked) bool { return a.name == loc })
	}
	r.m.Load(p.roots[0])
	out := r.pieces.StepOn(t, alt, r.before, answer)
	for _, a := range r.pieces.Accesses() { // what was written blindly
		if named(a.Loc) < 0 {
			answer(a.Loc)
		}
	}
	bits := uint32(out.Kind)
	if out.AtEnd {
		bits |= atEnd
	}
	var after []uint64
	if out.Kind == system.Moved {
		after = r.pieces.Local(t, nil)
		for _, a := range r.pieces.Accesses() {
			if a.Write {
				x := &r.asked[named(a.Loc)]
				x.write, x.after = true, r.pieces.Value(a.Loc)
				bits |= anyWrites
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
		for _, a := range r.asked {
			r.pieces.SetValue(a.name, p.value(a.value))
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
	n := root
	for _, a := range r.asked {
		n = p.grow(n, local, t, a, context)
	}
	if n.Load() != 0 {
		return // another worker was faster
	}
	number, lf := p.leaves.add()
	lf.after = nobody
	var x *extra
	var values []byte
	put := func(n uint32) { values = binary.AppendUvarint(values, uint64(n)) }
	if alt != 0 || out.Violation != nil || out.Kind == system.Moved && out.Next != 0 {
		bits |= 1 << extraBit
		var i uint32
		i, x = p.extras.add()
		*x = extra{alt: alt, viol: out.Violation}
		put(i)
	}
	form := make(shape, 2, 8)
	for _, a := range r.asked {
		form = append(form, accessOf(a.loc, a.write))
	}
	if out.Kind == system.Moved {
		lf.after = p.localOf(thread, after)
		lf.delta = localHash(thread, r.before) ^ localHash(thread, after)
		if len(children) > 0 {
			bits |= creates
			form = append(form, uint32(len(children)))
		}
		for _, c := range children {
			y := p.component(comp{true, uint32(c.t)})
			form = append(form, y.index)
			put(p.localOf(y, c.part))
			lf.delta ^= localHash(y, c.part)
		}
		if out.Next != 0 {
			x.next, x.nextAlt = &node{}, out.Next
			x.context = slices.Clone(context)
			for _, a := range r.asked {
				if find(context, a.loc) < 0 {
					x.context = append(x.context, a.known)
				}
			}
		}
	}
	form[0], form[1] = l.thread, bits|uint32(len(r.asked))<<shapeBits
	for _, a := range r.asked {
		put(a.value)
		if a.write {
			put(p.number(a.after))
			lf.delta ^= valueHash(a.name, p.value(a.value)) ^ valueHash(a.name, a.after)
		}
	}
	lf.shape, lf.values = p.shapeOf(form), p.coded.add(values)
	n.Store(atLeaf | number)
}

// grow continues from a node with an answer, which it enters if it is new. The caller has the lock.
func (p *program) grow(n *node, local uint32, thread int, a asked, context []known) *node {
	first := n.Load()
	fixed := uint32(0)
	if first != 0 {
		if first >= atLeaf || p.branches.at(first).loc>>1 != a.loc {
			panic(fmt.Sprintf("unfolding: thread %d asks for another location when the same "+
				"values were read", thread))
		}
	} else {
		if find(context, a.loc) >= 0 {
			fixed = 1
		}
		p.fresh = append(p.fresh, interest{local, a.loc, false})
	}
	if a.write {
		p.fresh = append(p.fresh, interest{local, a.loc, true})
	}
	if next := p.answer(first, a.value); next != nil {
		return next
	}
	i, b := p.branches.add()
	b.loc, b.value = a.loc<<1|fixed, a.value
	if first == 0 {
		n.Store(i)
	} else {
		f := p.branches.at(first)
		b.next.Store(f.next.Load())
		f.next.Store(i)
	}
	return &b.node
}

// shapeOf returns where a shape stands. The caller has the lock.
func (p *program) shapeOf(s shape) uint32 {
	for at := range p.shapesAt.all(s.hash()) {
		if x := p.shapes.from(at); len(x) >= len(s) && slices.Equal(x[:len(s)], s) {
			return at
		}
	}
	at := p.shapes.add(s)
	p.shapesAt.add(at, func(at uint32) uint32 { return shape(p.shapes.from(at)).hash() })
	return at
}

func (s shape) hash() uint32 {
	h := mix(uint64(s[0])<<32|uint64(s[1]), 0)
	for i, a := range s.acc() {
		h ^= mix(uint64(a), uint64(i+1))
	}
	return uint32(h)
}

func find(ks []known, loc uint32) int {
	for i, k := range ks {
		if k.loc == loc {
			return i
		}
	}
	return -1
}

// settle makes the interests known that were found since it was called last, and reports whether
// there were any. No worker runs.
func (p *program) settle() bool {
	p.recent = nil
	for _, f := range p.fresh {
		l := p.local(f.local)
		u := l.uses
		for u != 0 && p.uses.at(u).access>>1 != f.loc {
			u = p.uses.at(u).next
		}
		switch {
		case u == 0:
			u = p.uses.add(use{accessOf(f.loc, f.write), l.uses})
			l.uses = u
		case f.write && !isWrite(p.uses.at(u).access):
			p.uses.at(u).access |= 1
		default:
			continue
		}
		if p.recent == nil {
			p.recent = map[interest]bool{}
		}
		p.recent[f] = true
		c := p.comp(f.loc)
		c.users = p.include(c.users, l.thread)
		if f.write {
			c.writers = p.include(c.writers, l.thread)
		}
	}
	p.fresh = p.fresh[:0]
	return p.recent != nil
}

// include adds a thread to a list that is in the order of their numbers.
func (p *program) include(list []uint32, thread uint32) []uint32 {
	i, ok := slices.BinarySearchFunc(list, p.comp(thread).number, func(x, n uint32) int {
		return cmp.Compare(p.comp(x).number, n)
	})
	if ok {
		return list
	}
	return slices.Insert(list, i, thread)
}

// learnt returns what all of this occupies.
func (p *program) learnt() uint64 {
	n := uint64(p.locals.n)*16 + uint64(p.coded.n) + uint64(
		len(p.localsAt.slots)+len(p.shapesAt.slots))*4 +
		uint64(p.leaves.n)*16 + uint64(p.shapes.n)*4 +
		uint64(p.branches.n)*16 + uint64(p.extras.n)*64 + uint64(p.large.n)*32 + uint64(p.uses.n)*8
	for _, c := range *p.comps.Load() {
		n += 96 + uint64(len(c.starts))*24 + uint64(cap(c.users)+cap(c.writers))*4
	}
	return n
}
