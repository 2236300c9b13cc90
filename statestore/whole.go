package statestore

import (
	"cmp"
	"errors"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sync/errgroup"
)

// Whole takes over the states of a Tree store for a while ([TakeOver], [Whole.Return]). It does not
// take states apart, so it covers them faster, in several times the memory.
//
// Of each word it keeps only the bits in which the states that it took over differ, and one more (a
// packing). A state that differs in other bits is kept as it is. Which of the two applies depends
// on the state alone, so equal states have equal records, whoever inserts them.
//
// Whole is not for checkpoints. Its methods and sessions are those of a [Store], and the sessions
// are [Deferring].
type Whole struct {
	ledger *ledger
	table  *table
	arena  arena

	tree    *treeStore // that it has taken over from
	origins []Ref      // there, of the states that it got from it

	packings atomic.Pointer[[]*packing] // by number
	lengths  sync.Map                   // length -> *length

	mu       sync.Mutex // guards adding packings and sessions
	sessions []*wholeSession
}

var _ Store = (*Whole)(nil)

// packing is a way to keep states of one length.
type packing struct {
	number uint64 // in Whole.packings
	n      int    // words of a state
	size   int    // words of a record without its head
	// nil if the states are kept as they are, or else: a state, the bits of each word in which the
	// others differ from it, and where these are kept.
	base, mask []uint64
	fields     []field // of the words with such bits, by field.to
}

// field is consecutive bits of a word of a state, and where they are in a record.
type field struct {
	word, to  int32
	shift, at uint8
	mask      uint64 // of so many bits
}

// length is how states of a length are kept.
type length struct {
	narrow *packing // for most states; may be nil
	wide   *packing // for the others
}

// The head of a record is the parent's address and the packing's number. With fromTree it has the
// index of the state's origin instead of the parent. With moved the state is in the Tree store
// (again), and the next word is its Ref there.
const (
	wholeHead   = 1
	fromTree    = 1 << 62
	moved       = 1 << 63
	addressMask = 1<<addressBits - 1
	// The table has fewer shards than that of a Tree store, and they grow faster: there is memory
	// for that, and a look-up is faster.
	wholeShards = 6
	wholeGrowth = 2
)

// packingOf returns the number of the packing of a record with a head.
func packingOf(head uint64) uint64 { return head &^ (fromTree | moved) >> addressBits }

// TakeOver returns a store with the states of a Tree store, which [Whole.Return] gives back later,
// and the function that maps the Refs of the one to those of the other. No session of the Tree
// store may be used meanwhile. The error is ErrFull, and then nothing has changed.
func TakeOver(tree Store, o Options) (*Whole, func(Ref) Ref, error) {
	t := tree.(*treeStore)
	p := &Whole{ledger: newLedger(o), tree: t}
	p.ledger.take(int(unsafe.Sizeof(*p)), true)
	p.table = newTable(wholeShards, addressBits, p.ledger)
	p.table.growth = wholeGrowth
	p.packings.Store(&[]*packing{})
	from := t.NewSession()
	all := map[int]*survey{}
	var s []uint64
	t.each(func(r Ref) {
		s = from.Load(r, s)
		y := all[len(s)]
		if y == nil {
			y = &survey{base: slices.Clone(s), mask: make([]uint64, len(s))}
			all[len(s)] = y
		}
		y.see(s)
		p.origins = append(p.origins, r)
	})
	for n, y := range all {
		l := p.lengthOf(n)
		l.narrow = y.packing()
		p.add(l.narrow)
	}
	p.ledger.take(8*cap(p.origins), true)
	to := p.NewSession().(*wholeSession)
	for i, r := range p.origins {
		s = from.Load(r, s)
		if _, _, err := to.Insert(s, Ref(i)|fromTree); err != nil {
			return nil, nil, err
		}
	}
	return p, p.renamer(), nil
}

// renamer returns a function that maps the Refs of the Tree store to those of p.
func (p *Whole) renamer() func(Ref) Ref {
	from, to := p.tree.NewSession(), p.NewSession()
	var s []uint64
	return func(r Ref) Ref {
		if r == 0 {
			return 0
		}
		s = from.Load(r, s)
		r, _ = to.Find(s)
		return r
	}
}

// each calls f for all states of the store. No session may be in use.
func (t *treeStore) each(f func(Ref)) {
	for shard := range uint64(1) << shardBits {
		t.table.scan(shard, 0, math.MaxUint64, func(e uint64) bool {
			key := unmix(shard<<restBits | e>>fragBits)
			ref := Ref(key)
			if e&fragMask == codeAside {
				ref = t.refOf(key)
			}
			f(ref)
			return true
		})
	}
	t.shapes.Range(func(_, s any) bool {
		if sh := s.(*shape); !sh.learned.Load() {
			for i := range sh.samples.parents {
				f(sampleRef(sh.n, i+1))
			}
		}
		return true
	})
}

// add gives a packing its number.
func (p *Whole) add(k *packing) {
	all := *p.packings.Load()
	k.number = uint64(len(all))
	all = append(all[:len(all):len(all)], k)
	p.packings.Store(&all)
}

// lengthOf returns how states of n words are kept.
func (p *Whole) lengthOf(n int) *length {
	if l, ok := p.lengths.Load(n); ok {
		return l.(*length)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if l, ok := p.lengths.Load(n); ok {
		return l.(*length)
	}
	l := &length{wide: &packing{n: n, size: max(n, 1)}}
	p.add(l.wide)
	p.lengths.Store(n, l)
	return l
}

// survey is in which bits states of a length differ.
type survey struct {
	base, mask []uint64
}

// see adds a state.
func (y *survey) see(s []uint64) {
	for i, w := range s {
		y.mask[i] |= w ^ y.base[i]
	}
}

// packing makes a packing for such states.
func (y *survey) packing() *packing {
	k := &packing{n: len(y.base), base: y.base, mask: make([]uint64, len(y.base))}
	var free []int // bits that are free in each word of a record
	for i, m := range y.mask {
		if m == 0 {
			continue
		}
		low, high := bits.TrailingZeros64(m), min(bits.Len64(m)+1, 64)
		width := high - low
		to := 0
		for to < len(free) && free[to] < width {
			to++
		}
		if to == len(free) {
			free = append(free, 64)
		}
		f := field{word: int32(i), to: int32(to), shift: uint8(low), at: uint8(64 - free[to]),
			mask: 1<<width - 1}
		free[to] -= width
		k.mask[i] = f.mask << low
		k.fields = append(k.fields, f)
	}
	k.size = max(len(free), 1)
	slices.SortFunc(k.fields, func(a, b field) int { return cmp.Compare(a.to, b.to) })
	return k
}

// pack appends a state as it is kept, and returns false if it cannot be kept so.
func (k *packing) pack(dst, s []uint64) ([]uint64, bool) {
	if k.base == nil {
		dst = append(dst, s...)
		if len(s) == 0 {
			dst = append(dst, 0)
		}
		return dst, true
	}
	other := uint64(0)
	for i, w := range s[:len(k.mask)] {
		other |= (w ^ k.base[i]) &^ k.mask[i]
	}
	if other != 0 {
		return dst, false
	}
	to, packed := int32(0), uint64(0)
	for i := range k.fields {
		f := &k.fields[i]
		if f.to != to {
			dst = append(dst, packed)
			to, packed = f.to, 0
		}
		packed |= s[f.word] >> (f.shift & 63) & f.mask << (f.at & 63)
	}
	return append(dst, packed), true
}

// unpack returns the state of a record, over dst.
func (p *Whole) unpack(r, dst []uint64) []uint64 {
	k := (*p.packings.Load())[packingOf(r[0])]
	if k.base == nil {
		return append(dst[:0], r[wholeHead:][:k.n]...)
	}
	dst = append(dst[:0], k.base...)
	r = r[wholeHead:]
	for i := range k.fields {
		f := &k.fields[i]
		w := &dst[f.word]
		shift := f.shift & 63
		*w = *w&^(f.mask<<shift) | r[f.to]>>(f.at&63)&f.mask<<shift
	}
	return dst
}

// hash is the hash of a kept state.
func (k *packing) hash(r []uint64) uint64 {
	// As in wyhash: the product of two numbers depends on all bits of both.
	h := k.number ^ 0xA0761D6478BD642F
	for _, w := range r {
		high, low := bits.Mul64(w^0xE7037ED1A0B428DB, h^recentMix)
		h = high ^ low
	}
	high, low := bits.Mul64(h^0x8EBC6AF09C88C6E3, recentMix)
	return high ^ low
}

// Exact implements [Store].
func (p *Whole) Exact() bool { return true }

// Loadable implements [Store].
func (p *Whole) Loadable() bool { return true }

// OmissionProbability implements [Store].
func (p *Whole) OmissionProbability() float64 { return 0 }

// Bytes implements [Store]. The Tree store counts, too.
func (p *Whole) Bytes() uint64 { return uint64(p.ledger.used.Load()) + p.tree.Bytes() }

// Len implements [Store].
func (p *Whole) Len() (n uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.sessions {
		n += x.added.Load()
	}
	return n
}

// Stats implements [Store].
func (p *Whole) Stats() Stats {
	s := Stats{Kind: Plain, States: p.Len(), Bytes: p.Bytes()}
	s.RootBytes = p.table.bytes()
	s.NodeBytes = p.arena.words.Load() * 8
	s.OtherBytes = s.Bytes - min(s.Bytes, s.RootBytes+s.NodeBytes)
	p.table.stats(&s)
	return s
}

// NewSession implements [Store].
func (p *Whole) NewSession() Session {
	x := &wholeSession{p: p, writer: writer{arena: &p.arena, ledger: p.ledger}}
	x.matcher = matcher{w: &x.writer, heads: wholeHead}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sessions = append(p.sessions, x)
	return x
}

// wholeSession is a session of a Whole store.
type wholeSession struct {
	p *Whole
	writer
	matcher matcher
	length  *length         // that was asked for last
	open    []openInsertion // that Settle completes
	kept    []uint64        // their states as they are kept, one after the other
	// A session of the Tree store, and what maps its Refs to those of p; nil if not needed yet.
	older Session
	name  func(Ref) Ref
	_     [64]byte
	added atomic.Uint64 // read by others
	_     [56]byte
}

// openInsertion is an insertion that has begun: what is left is to look into the table.
type openInsertion struct {
	shard, entry uint64
	head         uint64
	end          int // of the state in wholeSession.kept
}

// lengthOf is [Whole.lengthOf].
func (x *wholeSession) lengthOf(n int) *length {
	if x.length == nil || x.length.wide.n != n {
		x.length = x.p.lengthOf(n)
	}
	return x.length
}

// begin appends a state to x.kept, and the insertion to x.open.
func (x *wholeSession) begin(s []uint64, parent Ref) *openInsertion {
	l := x.lengthOf(len(s))
	k, n, done := l.narrow, len(x.kept), false
	if k != nil {
		x.kept, done = k.pack(x.kept, s)
	}
	if !done {
		k = l.wide
		x.kept, _ = k.pack(x.kept[:n], s)
	}
	h := k.hash(x.kept[n:])
	x.open = append(x.open, openInsertion{h >> (64 - wholeShards),
		h << wholeShards &^ x.p.table.low, uint64(parent) | k.number<<addressBits, len(x.kept)})
	return &x.open[len(x.open)-1]
}

// Insert implements [Session].
func (x *wholeSession) Insert(s []uint64, parent Ref) (Ref, bool, error) {
	n, open := len(x.kept), len(x.open)
	d := *x.begin(s, parent)
	ref, added, err := x.complete(x.kept[n:], &d)
	x.kept, x.open = x.kept[:n], x.open[:open]
	return ref, added, err
}

// complete does the rest of an insertion.
func (x *wholeSession) complete(kept []uint64, d *openInsertion) (Ref, bool, error) {
	m := &x.matcher
	m.head[0], m.s, m.written = d.head, kept, false
	need := wholeHead + len(kept)
	t := x.p.table
	if !x.room(need) {
		if e, ok := t.find(d.shard, d.entry, m); ok {
			return Ref(e & t.low), false, nil
		}
		return 0, false, ErrFull
	}
	old, full := t.insert(d.shard, d.entry|x.address, false, m)
	switch {
	case full:
		return 0, false, ErrFull
	case old != 0:
		return Ref(old & t.low), false, nil
	}
	x.added.Add(1)
	return Ref(x.commit(need)), true, nil
}

// Defer implements [Deferring].
func (x *wholeSession) Defer(s []uint64, parent Ref, _ []int32) (bool, error) {
	d := x.begin(s, parent)
	x.p.table.touch(d.shard, d.entry)
	return true, nil
}

// Settle implements [Deferring].
func (x *wholeSession) Settle(added func(Ref) error) error {
	open, kept := x.open, x.kept
	x.open, x.kept = open[:0], kept[:0]
	begin := 0
	for i := range open {
		d := &open[i]
		ref, isNew, err := x.complete(kept[begin:d.end], d)
		begin = d.end
		if err == nil && isNew {
			err = added(ref)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Find implements [Session].
func (x *wholeSession) Find(s []uint64) (Ref, bool) {
	n, open := len(x.kept), len(x.open)
	d := *x.begin(s, 0)
	m := &x.matcher
	m.head[0], m.s = d.head, x.kept[n:]
	t := x.p.table
	e, ok := t.find(d.shard, d.entry, m)
	x.kept, x.open = x.kept[:n], x.open[:open]
	return Ref(e & t.low), ok
}

// Load implements [Session].
func (x *wholeSession) Load(ref Ref, dst []uint64) []uint64 {
	return x.p.unpack(x.p.arena.from(uint64(ref)), dst)
}

// Parents implements [Session]. There is one candidate, the true parent, unless the state is from
// the Tree store.
func (x *wholeSession) Parents(ref Ref, yield func(Ref) bool) {
	head := x.p.arena.from(uint64(ref))[0]
	from := head & addressMask
	switch {
	case head&fromTree != 0:
		if x.older == nil {
			x.older, x.name = x.p.tree.NewSession(), x.p.renamer()
		}
		x.older.Parents(x.p.origins[from], func(r Ref) bool { return yield(x.name(r)) })
	case from != 0:
		yield(Ref(from))
	}
}

// each calls f for the records of a session, in the order in which they were made, until it returns
// an error. No session may be in use.
func (p *Whole) each(x *wholeSession, f func(r []uint64) error) error {
	x.leave()
	all := *p.packings.Load()
	for _, n := range x.chunks {
		for at := uint64(0); at < uint64(p.arena.used[n-1]); {
			r := p.arena.from(n<<chunkShift | at)
			at += wholeHead + uint64(all[packingOf(r[0])].size)
			if err := f(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// Return gives the states back to the Tree store, and returns the function that maps the Refs of p
// to those there. No session of either may be used meanwhile, and none of p afterwards. The error
// is ErrFull, and then both stores are lost.
//
// The states of each session are moved by a goroutine of its own, in the order in which they were
// inserted. A parent was inserted before its children, so waiting for a parent that another
// goroutine has to move cannot be circular.
func (p *Whole) Return() (Store, func(Ref) Ref, error) {
	var failed atomic.Bool
	var g errgroup.Group
	for _, x := range p.sessions {
		if len(x.chunks) == 0 {
			continue
		}
		m := &mover{p: p, to: p.tree.NewSession().(Deferring), failed: &failed}
		g.Go(func() error {
			err := p.each(x, m.move)
			if err == nil {
				err = m.settle()
			}
			if err != nil {
				failed.Store(true)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	return p.tree, func(r Ref) Ref {
		if r == 0 {
			return 0
		}
		return Ref(p.arena.from(uint64(r))[1])
	}, nil
}

// mover moves the states of one session.
type mover struct {
	p      *Whole
	to     Deferring
	failed *atomic.Bool // another mover has failed
	buf    []uint64
	open   [][]uint64 // records whose states to has deferred
	done   int        // how many of them are settled
}

// moveTogether is how many states are moved together.
const moveTogether = 32

var errTwice = errors.New("statestore: a state was stored twice")

// move moves the state of a record.
func (m *mover) move(r []uint64) error {
	if r[0]&fromTree != 0 {
		m.mark(r, m.p.origins[r[0]&addressMask])
		return nil
	}
	parent, err := m.parent(r[0] & addressMask)
	if err != nil {
		return err
	}
	m.buf = m.p.unpack(r, m.buf)
	deferred, err := m.to.Defer(m.buf, parent, nil)
	switch {
	case err != nil:
	case deferred:
		if m.open = append(m.open, r); len(m.open) >= moveTogether {
			err = m.settle()
		}
	default:
		var ref Ref
		var added bool
		if ref, added, err = m.to.Insert(m.buf, parent); err == nil && !added {
			err = errTwice
		}
		m.mark(r, ref)
	}
	return err
}

// parent returns what has become of the parent of a state, when it has been moved.
func (m *mover) parent(address uint64) (Ref, error) {
	if address == 0 {
		return 0, nil
	}
	r := m.p.arena.from(address)
	for n := 0; atomic.LoadUint64(&r[0])&moved == 0; n++ {
		if err := m.settle(); err != nil { // it may be one of these
			return 0, err
		}
		if n > 0 {
			if m.failed.Load() {
				return 0, ErrFull
			}
			runtime.Gosched()
		}
	}
	return Ref(r[1]), nil
}

// settle completes the insertions that were deferred.
func (m *mover) settle() error {
	if len(m.open) == 0 {
		return nil
	}
	m.done = 0
	err := m.to.Settle(func(ref Ref) error {
		m.mark(m.open[m.done], ref)
		m.done++
		return nil
	})
	if err == nil && m.done < len(m.open) {
		err = errTwice
	}
	m.open = m.open[:0]
	return err
}

// mark enters in a record what has become of its state.
func (m *mover) mark(r []uint64, ref Ref) {
	r[1] = uint64(ref)
	atomic.StoreUint64(&r[0], r[0]|moved)
}
