package statestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"unsafe"
)

// Save writes everything in a store except its states, for Restore; SaveStates writes the states.
// No session may run between the two calls.
//
// Save does not detect damage. The caller adds checksums where damage can happen.
func Save(s Store, w io.Writer) error {
	a := &archive{w: w}
	a.store(s.(saved))
	return a.err
}

// Restore reads what Save wrote into a store of that kind. The store is usable after RestoreStates.
// The options' memory limit applies from the beginning: ErrFull means that the store does not fit.
// A Bitstate store keeps its size.
func Restore(r io.Reader, o Options) (Store, error) {
	if o.Kind == Bitstate {
		o.MaxBytes = 8 // rebuilt below
	}
	s, err := New(o)
	if err != nil {
		return nil, err
	}
	a := &archive{r: r}
	a.store(s.(saved))
	return s, a.err
}

// saved is a store that can be saved.
type saved interface {
	Store
	// archive writes the store but for its states to a, or reads it from there if it is empty.
	archive(a *archive)
	// count adds a session that has added n states.
	count(n uint64)
	// writeStates writes the states that are not kept, or all.
	writeStates(w *stateWriter, all bool)
	// readStates reads the output of one or several calls of writeStates and completes the store.
	readStates(r *stateReader)
	// keep notes that all states are kept.
	keep()
}

// What Save writes is a sequence of numbers of 64 bits, little-endian:
//
//	saved = kind states rest .
//
// kind is a Kind, states the number of states, and rest what the method archive of the store
// visits, in its order.

// archive writes values or reads them. The same code determines for both which values there are and
// in which order. After an error it does nothing.
type archive struct {
	w   io.Writer // nil: it reads
	r   io.Reader
	err error
	buf [8]byte
}

func (a *archive) reading() bool { return a.w == nil }

func (a *archive) store(s saved) {
	kind := s.Stats().Kind
	k := uint64(kind)
	a.num(&k)
	if a.err == nil && Kind(k) != kind {
		a.err = fmt.Errorf("statestore: this is a %v store, not a %v one", Kind(k), kind)
		return
	}
	n := s.Len()
	a.num(&n)
	s.archive(a)
	if a.reading() && a.err == nil {
		s.count(n)
	}
}

// num is a number.
func (a *archive) num(p *uint64) {
	if a.err != nil {
		return
	}
	if a.reading() {
		if _, a.err = io.ReadFull(a.r, a.buf[:]); a.err == nil {
			*p = binary.LittleEndian.Uint64(a.buf[:])
		}
		return
	}
	binary.LittleEndian.PutUint64(a.buf[:], *p)
	_, a.err = a.w.Write(a.buf[:])
}

// number is a number of any size.
func number[T ~int | ~int32 | ~uint32 | ~uint8 | ~uint64](a *archive, p *T) {
	n := uint64(*p)
	a.num(&n)
	*p = T(n)
}

// boolean is a bool.
func (a *archive) boolean(p *bool) {
	n := uint64(0)
	if *p {
		n = 1
	}
	a.num(&n)
	*p = n == 1
}

// list is a slice of numbers, or of structs without pointers, stored as their bytes. The byte order
// is the machine's; all machines that cpor supports agree on it. l, if not nil, pays for the
// memory.
func list[T any](a *archive, p *[]T, l *ledger) {
	n := len(*p)
	number(a, &n)
	if a.err != nil {
		return
	}
	size := int(unsafe.Sizeof(*new(T)))
	if a.reading() {
		if n < 0 || n > 1<<40/size {
			a.err = errors.New("statestore: a length that cannot be")
			return
		}
		if l != nil && !l.take(n*size, false) {
			a.err = ErrFull
			return
		}
		*p = make([]T, n)
	}
	if n == 0 {
		return
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(*p))), n*size)
	if a.reading() {
		_, a.err = io.ReadFull(a.r, b)
	} else {
		_, a.err = a.w.Write(b)
	}
}

// archive implements saved.
func (t *treeStore) archive(a *archive) {
	t.table.archive(a)
	number(a, &t.nextClass)
	// The tables of nodes, by their numbers.
	all := make([]*nodes, maxTables)
	for _, n := range t.allNodes() {
		all[n.number] = n
	}
	number(a, &t.tables)
	if a.err != nil || t.tables > maxTables {
		a.fail("tables of nodes")
		return
	}
	for i := range t.tables {
		if a.reading() {
			all[i] = newNodes(t.ledger)
			all[i].number = i
		}
		a.nodes(all[i])
	}
	a.nodesRef(all, &t.inner)
	a.nodesRef(all, &t.whole)
	for i := range t.partNodes {
		a.nodesRef(all, &t.partNodes[i])
	}
	for i := range t.mergeNodes {
		a.nodesRef(all, &t.mergeNodes[i])
	}
	a.shapes(t, all)
	a.orphans(t)
}

// count implements saved.
func (t *treeStore) count(n uint64) { t.NewSession().(*treeSession).added.Store(n) }

func (a *archive) fail(what string) {
	if a.err == nil {
		a.err = fmt.Errorf("statestore: %s that cannot be", what)
	}
}

// size is a number of slots, in lines of that many.
func (a *archive) size(n, line int) int {
	number(a, &n)
	if a.reading() && a.err == nil && (n < 0 || n > 1<<37 || n%line != 0) {
		a.fail("a table")
		return 0
	}
	return n
}

// nodes is a table of nodes, without these.
func (a *archive) nodes(n *nodes) {
	last := n.end()
	number(a, &last)
	if a.err != nil || last > maxNode {
		a.fail("a number of nodes")
		return
	}
	if a.reading() {
		// take makes the chunks.
		for n.room.Load() < last {
			n.last.Store(n.room.Load())
			if n.take() == 0 {
				a.err = ErrFull
				return
			}
		}
		n.last.Store(last)
	}
	for i := range n.index {
		slots := 0
		var idBits uint8
		if x := n.latest(i); x != nil {
			slots, idBits = len(x.slots), x.idBits
		}
		number(a, &idBits)
		slots = a.size(slots, indexSlots)
		if !a.reading() || a.err != nil || slots == 0 {
			continue
		}
		if idBits > 31 {
			a.fail("an index")
			return
		}
		x := &index{idBits: idBits, limit: int64(indexMaxLoad * float64(slots))}
		if !n.ledger.take(4*slots+x.bytes(), false) {
			a.err = ErrFull
			return
		}
		x.slots = make([]uint32, slots)
		n.index[i].Store(x)
	}
}

// nodesRef is one of the tables of nodes, or nil.
func (a *archive) nodesRef(all []*nodes, p **nodes) {
	n := 0
	if *p != nil {
		n = (*p).number + 1
	}
	number(a, &n)
	if a.reading() && a.err == nil {
		*p = nil
		if n < 0 || n > len(all) {
			a.fail("a table of nodes")
		} else if n > 0 {
			*p = all[n-1]
		}
	}
}

// shapes are the shapes of states, in the order of their lengths, and the classes
// of keys.
func (a *archive) shapes(t *treeStore, all []*nodes) {
	var lengths []int
	t.shapes.Range(func(n, _ any) bool {
		lengths = append(lengths, n.(int))
		return true
	})
	slices.Sort(lengths)
	n := len(lengths)
	number(a, &n)
	for i := 0; i < n && a.err == nil; i++ {
		length := 0
		if !a.reading() {
			length = lengths[i]
		}
		number(a, &length)
		if a.err != nil || length < 0 || length > maxLength {
			a.fail("the length of a state")
			return
		}
		a.shape(t, t.shapeOf(length), all)
	}
	if !a.reading() {
		return
	}
	// A class is in one profile of one shape.
	t.shapes.Range(func(_, s any) bool {
		sh := s.(*shape)
		l := sh.layout.Load()
		if l == nil {
			return true
		}
		if l.direct != 0 {
			t.classes[l.direct>>idsBits].Store(&classInfo{shape: sh, direct: true})
		}
		for i := range l.profiles {
			if c := l.profiles[i].class >> idsBits; c != classWhole {
				t.classes[c].Store(&classInfo{shape: sh, layout: l, profile: &l.profiles[i]})
			}
		}
		return true
	})
}

// shape is a shape of states.
func (a *archive) shape(t *treeStore, sh *shape, all []*nodes) {
	before := sh.samples.bytes()
	y := sh.samples
	var words []uint64 // until the shape is learned
	if v := y.view.Load(); v != nil {
		words = v.words[:len(y.parents)*y.n]
	}
	list(a, &words, nil)
	list(a, &y.parents, nil)
	list(a, &y.keys, nil)
	list(a, &y.index, nil)
	list(a, &sh.vertex, nil)
	list(a, &sh.leafOf, nil)
	number(a, &sh.leaves)
	list(a, &sh.parts, nil)
	for i := range sh.sampled {
		row := sh.sampled[i][:]
		list(a, &row, nil)
		copy(sh.sampled[i][:], row)
	}
	if a.reading() && len(sh.vertex) > 0 {
		t.payShape(sh)
	}
	l := sh.layout.Load()
	there := l != nil
	a.boolean(&there)
	if there {
		if a.reading() {
			l = &layout{}
		}
		a.layout(l, len(sh.parts), all)
		if a.reading() {
			sh.layout.Store(l)
		}
	}
	learned := sh.learned.Load()
	a.boolean(&learned)
	sh.learned.Store(learned)
	switch {
	case learned:
		y.view.Store(nil)
	case a.reading() && !y.restore(words):
		a.fail("the first states")
	}
	if a.reading() {
		t.ledger.take(y.bytes()-before, true)
	}
}

// layout is the layout of a shape of k parts.
func (a *archive) layout(l *layout, k int, all []*nodes) {
	number(a, &l.direct)
	n := len(l.merges)
	number(a, &n)
	if a.err != nil || n < 0 || n >= maxParts {
		a.fail("a number of merges")
		return
	}
	if a.reading() {
		l.merges = make([]merge, n)
	}
	for i := range l.merges {
		m := &l.merges[i]
		number(a, &m.a)
		number(a, &m.b)
		a.nodesRef(all, &m.table)
	}
	n = len(l.profiles)
	number(a, &n)
	if a.err != nil || n < 0 || n > 1<<classBits {
		a.fail("a number of profiles")
		return
	}
	if a.reading() {
		l.profiles = make([]profile, n)
	}
	for i := range l.profiles {
		p := &l.profiles[i]
		number(a, &p.class)
		number(a, &p.merges)
		list(a, &p.slots, nil)
		list(a, &p.widths, nil)
		number(a, &p.room)
		if p.class>>idsBits >= 1<<classBits || p.merges > len(l.merges) ||
			len(p.widths) > len(p.slots) || k > maxParts {
			a.fail("a profile")
			return
		}
		if a.reading() {
			p.place(k)
		}
	}
}

// orphans are the parents that stand aside, in the order of the keys.
func (a *archive) orphans(t *treeStore) {
	var keys []uint64
	var parents []Ref
	for key := range t.orphans {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		parents = append(parents, t.orphans[key])
	}
	list(a, &keys, nil)
	list(a, &parents, nil)
	if !a.reading() || a.err != nil || len(keys) == 0 {
		return
	}
	if len(keys) != len(parents) {
		a.fail("a number of parents")
		return
	}
	t.orphans = make(map[uint64]Ref, len(keys))
	for i, key := range keys {
		t.orphans[key] = parents[i]
	}
	t.ledger.take(orphanBytes*len(keys), true)
}

// archive implements saved.
func (p *plainStore) archive(a *archive) {
	p.table.archive(a)
	var used []uint32
	if !a.reading() {
		used = p.leave()
	}
	list(a, &used, nil)
	if !a.reading() || a.err != nil || len(used) == 0 {
		return
	}
	if uint64(len(used))<<chunkShift >= 1<<addressBits {
		a.fail("a number of chunks")
		return
	}
	chunks := make([][]uint64, len(used))
	words := uint64(0)
	for i, n := range used {
		if !p.ledger.take(8*int(n)+chunkHeader, false) {
			a.err = ErrFull
			return
		}
		chunks[i] = make([]uint64, n)
		words += uint64(n)
	}
	p.arena.used = used
	p.arena.chunks.Store(&chunks)
	p.arena.words.Store(words)
}

// count implements saved.
func (p *plainStore) count(n uint64) { p.NewSession().(*plainSession).added.Store(n) }

// count implements saved.
func (c *compactStore) count(n uint64) { c.NewSession().(*compactSession).added.Store(n) }

// archive implements saved.
func (b *bitstateStore) archive(a *archive) { list(a, &b.words, nil) }

// count implements saved.
func (b *bitstateStore) count(n uint64) { b.NewSession().(*bitstateSession).added.Store(n) }

// SaveWork writes a work set, which no worker uses meanwhile, and besides it some
// trails. RestoreWork reads both.
func SaveWork(ws *WorkSet, trails []*Trail, w io.Writer) error {
	a := &archive{w: w}
	a.work(ws, &trails)
	return a.err
}

// RestoreWork reads what SaveWork has written into an empty work set, for any
// number of workers, and returns the trails.
func RestoreWork(ws *WorkSet, r io.Reader) ([]*Trail, error) {
	a := &archive{r: r}
	var trails []*Trail
	a.work(ws, &trails)
	return trails, a.err
}

// work is a work set, and some trails.
func (a *archive) work(ws *WorkSet, trails *[]*Trail) {
	batches := ws.batches()
	// The trails are a tree: each is written once, after its parent.
	tree := &trailTree{numbers: map[*Trail]uint64{nil: 0}, parents: []uint64{0}, refs: []Ref{0}}
	var wanted []uint64
	for _, t := range *trails {
		wanted = append(wanted, tree.number(t))
	}
	var ofItems [][]uint64
	for _, b := range batches {
		var ns []uint64
		for _, t := range b.trails {
			ns = append(ns, tree.number(t))
		}
		ofItems = append(ofItems, ns)
	}
	all := a.trails(tree)
	if a.err != nil {
		return
	}
	trail := func(n uint64) *Trail {
		if n >= uint64(len(all)) {
			a.fail("a trail")
			return nil
		}
		return all[n]
	}
	list(a, &wanted, nil)
	if a.reading() {
		for _, n := range wanted {
			*trails = append(*trails, trail(n))
		}
	}
	n := len(batches)
	number(a, &n)
	for i := 0; i < n && a.err == nil; i++ {
		b, ns := &Batch{}, []uint64(nil)
		if !a.reading() {
			b, ns = batches[i], ofItems[i]
		}
		number(a, &b.Depth)
		list(a, &b.Refs, nil)
		list(a, &b.words, nil)
		list(a, &b.ends, nil)
		list(a, &ns, nil)
		if !a.reading() || a.err != nil {
			continue
		}
		for _, n := range ns {
			b.trails = append(b.trails, trail(n))
		}
		if len(b.ends) > 0 && (len(b.ends) != len(b.Refs) || len(b.trails) != len(b.Refs) ||
			b.ends[len(b.ends)-1] != len(b.words)) || !slices.IsSorted(b.ends) {
			a.fail("a batch")
			return
		}
		if a.err == nil {
			ws.Push(i%len(ws.queues), b)
		}
	}
}

// trailTree numbers trails, each after its parent. Number 0 is no trail.
type trailTree struct {
	numbers map[*Trail]uint64
	parents []uint64 // by number
	refs    []Ref
	path    []*Trail // a buffer
}

// number returns the number of a trail, and gives one to it and to those before it that have none.
func (x *trailTree) number(t *Trail) uint64 {
	x.path = x.path[:0]
	for at := t; ; at = at.Parent {
		if _, ok := x.numbers[at]; ok {
			break
		}
		x.path = append(x.path, at)
	}
	for _, at := range slices.Backward(x.path) {
		x.numbers[at] = uint64(len(x.refs))
		x.parents, x.refs = append(x.parents, x.numbers[at.Parent]), append(x.refs, at.Ref)
	}
	return x.numbers[t]
}

// trails is a tree of trails. It returns them by number if it reads.
func (a *archive) trails(x *trailTree) []*Trail {
	list(a, &x.parents, nil)
	list(a, &x.refs, nil)
	if a.err != nil || len(x.parents) != len(x.refs) {
		a.fail("a number of trails")
		return nil
	}
	if !a.reading() {
		return nil
	}
	all := make([]*Trail, len(x.refs))
	for i := 1; i < len(x.refs); i++ {
		if x.parents[i] >= uint64(i) {
			a.fail("a trail")
			return nil
		}
		all[i] = &Trail{Parent: all[x.parents[i]], Ref: x.refs[i]}
	}
	return all
}

// batches returns the batches in the queues, queue by queue.
func (ws *WorkSet) batches() []*Batch {
	var batches []*Batch
	for i := range ws.queues {
		q := &ws.queues[i]
		for k := range q.n {
			batches = append(batches, q.ring[(q.head+k)&uint(len(q.ring)-1)])
		}
	}
	return batches
}
