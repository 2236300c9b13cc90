package statestore

import (
	"fmt"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"

	"cpor/internal/probe"
)

// treeStore is the store of kind Tree. A state is a key (see shape), and a key is
// an entry in a table: mix makes of the key a number of the same size, from which
// the key can be recovered; its highest shardBits bits are the entry's shard, the
// rest is the entry's hash part. The low part of the entry tells the parent.
//
// # Parents
//
// A parent is identified by the highest fragBits bits of its own mixed key. Those of its key
// that have the same are the candidates, one in 1<<fragBits of all states; they stand together
// in the table. A position in the table would be exact, but positions change when a shard grows.
type treeStore struct {
	ledger *ledger
	most   int // samples of a length; see Options.Samples
	table  *table

	mu         probe.Mutex // guards what follows
	sessions   []*treeSession
	nextClass  uint64
	mergeNodes [maxParts - 1]*nodes
	whole      *nodes
	tables     int // how many nodes there are
	orphans    map[uint64]Ref

	// Set with mu locked, before the first shape gets learned.
	inner     *nodes
	partNodes [maxParts]*nodes

	shapes   sync.Map      // length -> *shape
	numbered atomic.Uint32 // numbers of shapes that have been given
	classes  [1 << classBits]atomic.Pointer[classInfo]
}

// The low parts of the entries. From codeFragment on it is a parent's fragment.
const (
	codeInitial  = 1
	codeAside    = 2 // the parent is a Ref in samples or in orphans
	codeFragment = 3
	fragMask     = 1<<fragBits - 1
	restBits     = keyBits - shardBits
	maxTables    = 2 + maxParts + maxParts - 1

	// hintCode marks a hint that is a parent's fragment; Refs are below it.
	hintCode = 1 << 62
)

// mix scatters the keys: a bijection of keyBits bits.
func mix(key uint64) uint64 {
	key ^= key >> (keyBits / 2)
	key = key * mix1 & keyMask
	key ^= key >> (keyBits / 2)
	return key * mix2 & keyMask
}

// unmix is the inverse of mix.
func unmix(h uint64) uint64 {
	h = h * unmix2 & keyMask
	h ^= h >> (keyBits / 2)
	h = h * unmix1 & keyMask
	return h ^ h>>(keyBits/2)
}

const (
	mix1 = 0x9E3779B97F4A7C15
	mix2 = 0xD6E8FEB86659FD93
)

var unmix1, unmix2 = inverse(mix1), inverse(mix2)

// inverse returns the number whose product with the odd number a is 1 modulo
// 1<<64, by Newton's iteration: each step doubles the number of right bits.
func inverse(a uint64) uint64 {
	x := a
	for range 6 {
		x *= 2 - a*x
	}
	return x
}

func newTree(o Options) *treeStore {
	t := &treeStore{nextClass: 1, ledger: newLedger(o), most: sampleStates}
	if o.Samples > 0 {
		t.most = o.Samples
	}
	t.ledger.take(int(unsafe.Sizeof(*t)), true)
	t.table = newTable(shardBits, fragBits, t.ledger)
	return t
}

func (t *treeStore) Exact() bool                  { return true }
func (t *treeStore) Loadable() bool               { return true }
func (t *treeStore) OmissionProbability() float64 { return 0 }
func (t *treeStore) Bytes() uint64                { return uint64(t.ledger.used.Load()) }

func (t *treeStore) Len() (n uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.sessions {
		n += x.added.Load()
	}
	return n
}

func (t *treeStore) Stats() Stats {
	s := Stats{Kind: Tree, States: t.Len(), Bytes: t.Bytes()}
	s.RootBytes = t.table.bytes()
	t.table.stats(&s)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range t.allNodes() {
		s.Nodes += uint64(n.count())
		s.NodeBytes += n.nodeBytes()
		s.IndexBytes += n.indexBytes()
	}
	if sum := s.RootBytes + s.NodeBytes + s.IndexBytes; sum < s.Bytes {
		s.OtherBytes = s.Bytes - sum
	}
	return s
}

// allNodes returns the tables of nodes there are; mu is locked.
func (t *treeStore) allNodes() (all []*nodes) {
	for _, n := range append(append([]*nodes{t.inner, t.whole}, t.partNodes[:]...),
		t.mergeNodes[:]...) {
		if n != nil {
			all = append(all, n)
		}
	}
	return all
}

// newNodes makes a table of nodes; mu is locked.
func (t *treeStore) newNodes() *nodes {
	n := newNodes(t.ledger)
	n.number = t.tables
	t.tables++
	return n
}

// shapeOf returns the shape for states of n words.
func (t *treeStore) shapeOf(n int) *shape {
	if sh, ok := t.shapes.Load(n); ok {
		return sh.(*shape)
	}
	sh := &shape{n: n, samples: newSamples(n, t.most)}
	sh.mu.Site, sh.profileMu.Site = probe.Samples, probe.Profiles
	if number := t.numbered.Add(1); number < 1<<16 && n < 1<<13 {
		sh.moves = number << 16
	}
	size := int(unsafe.Sizeof(*sh)) + sh.samples.bytes() // before others can add to it
	if got, loaded := t.shapes.LoadOrStore(n, sh); loaded {
		return got.(*shape)
	}
	t.ledger.take(size, true)
	return sh
}

// takeClass takes a class for a profile. It returns false if none is left.
func (t *treeStore) takeClass() (uint64, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.nextClass == classWhole {
		return 0, false
	}
	t.nextClass++
	return t.nextClass - 1, true
}

// tableOf returns the table of the numbers in a slot of a shape.
func (t *treeStore) tableOf(sh *shape, l *layout, slot int) *nodes {
	if slot < len(sh.parts) {
		return t.partNodes[slot]
	}
	return l.merges[slot-len(sh.parts)].table
}

// addProfile adds a profile to a shape for a state with the given numbers, which
// fits into none of l's profiles. It does nothing if the shape has others by now.
func (t *treeStore) addProfile(sh *shape, l *layout, numbers *[maxSlots]uint32) {
	sh.profileMu.Lock()
	defer sh.profileMu.Unlock()
	if sh.layout.Load() != l {
		return
	}
	k := len(sh.parts)
	states := bits.Len64(t.Len()) + 1
	need := func(slot int) int {
		return bits.Len32(max(numbers[slot], t.tableOf(sh, l, slot).count()))
	}
	// The numbers in use: the parts' and, in place of merged ones, the merges'.
	var slots []openSlot
	for i := range k {
		slots = append(slots, openSlot{i, i, i + 1, need(i)})
	}
	nl := &layout{direct: l.direct, merges: l.merges, profiles: l.profiles}
	join := func(i, slot, need int) {
		slots[i] = openSlot{slot, slots[i].lo, slots[i+1].hi, need}
		slots = append(slots[:i+1], slots[i+2:]...)
	}
	for j, m := range l.merges {
		for i := range slots {
			if slots[i].slot == int(m.a) {
				join(i, k+j, need(k+j))
				break
			}
		}
	}
	class, ok := t.takeClass()
	if !ok {
		class = classWhole
	}
	for len(slots) > 1 {
		sum := 0
		for _, s := range slots {
			sum += s.need
		}
		// Each further profile wants more room to grow, so that they are few.
		if sum+len(l.profiles)/3 <= idsBits && ok {
			break
		}
		// Merge the two whose pairs will be the fewest, going by the examples.
		best, bestBits := 0, math.Inf(1)
		for i := range slots[1:] {
			a, b := slots[i], slots[i+1]
			ratio := 1.0
			if d := sh.sampled[a.lo][a.hi] * sh.sampled[b.lo][b.hi]; d > 0 {
				ratio = sh.sampled[a.lo][b.hi] / d
			}
			n := float64(a.need+b.need) + math.Log2(ratio)
			if n < bestBits {
				best, bestBits = i, n
			}
		}
		a, b := slots[best], slots[best+1]
		n := min(states, max(int(bestBits+1), a.need+1, b.need+1), a.need+b.need, 31)
		j := len(nl.merges)
		t.mu.Lock()
		if t.mergeNodes[j] == nil {
			t.mergeNodes[j] = t.newNodes()
		}
		table := t.mergeNodes[j]
		t.mu.Unlock()
		nl.merges = append(nl.merges[:j:j], merge{uint8(a.slot), uint8(b.slot), table})
		join(best, k+j, n)
	}
	p := profile{class: class << idsBits, merges: len(nl.merges)}
	if ok {
		p.spread(slots)
		p.place(k)
		p.room |= highBits
	} else {
		p.slots = append(p.slots, uint8(slots[0].slot))
		t.mu.Lock()
		if t.whole == nil {
			t.whole = t.newNodes()
		}
		t.mu.Unlock()
	}
	nl.profiles = append(nl.profiles[:len(nl.profiles):len(nl.profiles)], p)
	if ok {
		t.classes[class].Store(&classInfo{shape: sh, layout: nl,
			profile: &nl.profiles[len(nl.profiles)-1]})
	}
	sh.layout.Store(nl)
}

// openSlot is a slot of a profile that is being made.
type openSlot struct {
	slot   int
	lo, hi int // the parts that it comprises
	need   int // bits
}

// spread makes the slots those of a profile: the bits that are left are spread, more to those that
// have more already.
func (p *profile) spread(slots []openSlot) {
	left, weight := idsBits, 0
	for _, s := range slots {
		left -= s.need
		weight += s.need + 1
	}
	for i, s := range slots {
		more := left * (s.need + 1) / weight
		if i == len(slots)-1 {
			more = left
		}
		left -= more
		weight -= s.need + 1
		p.slots = append(p.slots, uint8(s.slot))
		p.widths = append(p.widths, uint8(min(s.need+more, 32)))
		p.room |= uint64(p.widths[i]) << (8 * i)
	}
}

// NewSession implements [Store].
func (t *treeStore) NewSession() Session {
	x := &treeSession{t: t, frames: map[int]*frame{}, room: allKnownWords}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sessions = append(t.sessions, x)
	return x
}

// treeSession is a session of a treeStore.
type treeSession struct {
	t          *treeStore
	cur        *frame // of the states inserted last
	frames     map[int]*frame
	spare      [maxTables]uint32
	scratch    *scratch // nil until a shape is learned
	parent     Ref      // the parent last inserted from, and its code
	parentCode uint64
	deferred   []deferred // insertions that Settle completes
	room       int        // words that the tables of known values may still get
	words      []uint64   // see DeferNumbers
	_          [64]byte
	added      atomic.Uint64 // read by others
	_          [56]byte
}

// scratch is what a session remembers of its latest look-ups.
type scratch struct {
	recent [1 << recentBits]recent
	moves  [1 << moveBits]move
	// keys that the session has deferred: most ends of moves that are covered are ends
	// of moves of neighbors, which are expanded soon after each other.
	keys [1 << keptBits]uint64
}

// frame is a session's scratch for states of one length: the base, a state with
// all its numbers. Other states are compared with it word by word, and only the
// vertices above different words are looked up.
type frame struct {
	sh    *shape
	valid bool   // there is a base
	base  Ref    // of the base if it was loaded, otherwise 0
	key   uint64 // of the base if it was loaded
	ready bool   // the shape is learned, and the slices have its size
	words []uint64
	codes []uint32 // of the vertices; those of the tops are not used
	ids   [maxSlots]uint32
	size  uint64 // the lengths of the parts' numbers in bits, one in each byte

	// Of the state that is compared with the base:
	now     [maxSlots]uint32 // its numbers
	nowSize uint64
	changed uint32 // the parts and merges with other numbers than in the base
	// now, or ids if the state has been made the base; nil if it has no numbers
	latest *[maxSlots]uint32
	leaves []int32  // the leaves with other values
	dirty  []uint64 // vertices that are to be looked up
	undo   []change // of codes
	known  []*known // by part; nil for those that are not found by their value
	missed []missed
}

// missed is a part whose number was not found: by its value, or, if the part is long, by what
// has changed.
type missed struct {
	place int // for the value
	at    *move
	key   move
	part  uint8
}

// change is a code that has been replaced.
type change struct {
	vertex int32
	code   uint32
}

// immediate marks a code that is a leaf's value itself.
const immediate = 1 << 31

// frameOf returns the frame for states of n words.
func (x *treeSession) frameOf(n int) *frame {
	if x.cur != nil && x.cur.sh.n == n {
		return x.cur
	}
	f := x.frames[n]
	if f == nil {
		f = &frame{sh: x.t.shapeOf(n)}
		x.frames[n] = f
	}
	x.cur = f
	return f
}

// prepare gives the frame its size; the shape has its vertices.
func (x *treeSession) prepare(f *frame) {
	if x.scratch == nil {
		x.scratch = new(scratch)
	}
	f.ready = true
	f.words = make([]uint64, f.sh.n)
	f.codes = make([]uint32, len(f.sh.vertex))
	f.dirty = make([]uint64, (len(f.sh.vertex)+63)/64)
	for p := range f.sh.parts {
		f.known = append(f.known, newKnown(f.sh, p, &x.room))
	}
}

// number returns the number of v in table n, 0 if it has none and create is not
// set or there is no memory.
func (x *treeSession) number(n *nodes, v uint64, create bool) uint32 {
	// The high bits of a product depend on all bits of its factors.
	r := &x.scratch.recent[((v+uint64(n.number))*recentMix)>>(64-recentBits)]
	if r.value == v && r.table == uint32(n.number) && r.id != 0 {
		return r.id
	}
	return x.lookUp(n, v, create, r)
}

// lookUp is number for a node that is not at its place r in x.recent.
func (x *treeSession) lookUp(n *nodes, v uint64, create bool, r *recent) (id uint32) {
	h := hashNode(v)
	if create {
		id = n.intern(v, h, &x.spare[n.number])
	} else {
		id = n.find(v, h)
	}
	if id != 0 {
		*r = recent{v, id, uint32(n.number)}
	}
	return id
}

// recent is a node that the session has looked up. Most moves change a state in a
// way in which others have changed before, so most nodes are found here, in the
// worker's own cache.
type recent struct {
	value uint64
	id    uint32 // 0: none
	table uint32
}

const (
	// recentBits is the number of bits of a place in a session's recent nodes.
	recentBits = 10
	// moveBits is the same for its recent moves.
	moveBits = 12
	// keptBits is the same for its recent keys.
	keptBits  = 13
	recentMix = 0x9E3779B97F4A7C15
)

// key returns the key of s, whose shape has its vertices. changed, if not nil, are the
// words in which s can differ from the base. ok is false if a part of s has no number,
// and gets none because create is not set or there is no memory.
func (x *treeSession) key(f *frame, s []uint64, changed []int32, create bool) (key uint64,
	ok bool) {
	sh := f.sh
	f.latest = nil
	l := sh.layout.Load()
	if l.direct != 0 && (len(s) == 0 || s[0] <= idsMask) {
		if len(s) == 0 {
			return l.direct, true
		}
		return l.direct | s[0], true
	}
	if !f.ready {
		x.prepare(f)
	}
	near := f.valid
	if near {
		near, ok = x.differ(f, s, changed, create)
	}
	base := &f.now
	if !near {
		if ok = x.rebase(f, s, create); ok {
			base = &f.ids // numbers of merges are the base's, too
			f.nowSize = f.size
			f.changed = 1<<len(sh.parts) - 1
		}
	}
	if !ok {
		return 0, false
	}
	f.latest = base
	return x.join(f, l, base, create)
}

// join returns the key of the state whose numbers are in base, which are f.now or the
// base's own; ok is false if a merge has no number.
func (x *treeSession) join(f *frame, l *layout, base *[maxSlots]uint32, create bool) (key uint64,
	ok bool) {
	sh := f.sh
	k, done := len(sh.parts), 0
	var have uint64 // lengths of the numbers in use after so many merges:
	after := -1
	for {
		for i := range l.profiles {
			p := &l.profiles[i]
			if after != p.merges {
				after = p.merges
				for ; done < after; done++ {
					m := &l.merges[done]
					slot := k + done
					if base[slot] == 0 || f.changed>>m.a&1 != 0 || f.changed>>m.b&1 != 0 {
						id := x.number(m.table, uint64(base[m.a])<<32|uint64(base[m.b]), create)
						if id == 0 {
							f.valid = f.valid && base != &f.ids
							return 0, false
						}
						base[slot] = id
						f.changed |= 1 << slot
					}
				}
				if have = f.nowSize; after > 0 {
					have = lengths(p.slots, base)
				}
			}
			if p.class == classWhole<<idsBits {
				id := x.number(x.t.whole, uint64(sh.n)<<32|uint64(base[p.slots[0]]), create)
				return p.class | uint64(id), id != 0
			}
			if (p.room-have)&highBits != highBits {
				continue
			}
			key, shift := p.class, uint8(0)
			for j, slot := range p.slots {
				key |= uint64(base[slot]) << (shift & 63)
				shift += p.widths[j]
			}
			return key, true
		}
		if !create {
			return 0, false // no state with such numbers has been inserted
		}
		x.t.addProfile(sh, l, base)
		l = sh.layout.Load()
	}
}

// differ computes the numbers of s from those of the base. changed, if not nil, are the
// words in which they can differ. near is false, and nothing is computed, if s differs so much
// from the base that it is better made the base itself: not if states that are near to each
// other were loaded. ok is false if a number is missing.
func (x *treeSession) differ(f *frame, s []uint64, changed []int32, create bool) (near, ok bool) {
	sh := f.sh
	f.now, f.nowSize, f.changed = f.ids, f.size, 0
	once, twice, near := f.compare(s, changed)
	if !near {
		return false, true
	}
	unknown := x.findParts(f, s, once, twice)
	if unknown == 0 {
		return true, true
	}
	ok = true
	slow := false
	for _, v := range f.leaves {
		vx := &sh.vertex[v]
		part := uint32(1) << (vx.part & 31)
		if unknown&part == 0 {
			continue
		}
		value := s[vx.word] & vx.mask >> vx.shift
		if twice&part == 0 && sh.moves != 0 && f.known[vx.part].byMove() {
			key := move{value: value, from: f.ids[vx.part], leaf: sh.moves | uint32(v)}
			at := x.moveAt(&key)
			if at.value == key.value && at.from == key.from && at.leaf == key.leaf {
				f.setPart(vx.part, at.to)
				continue
			}
			f.missed = append(f.missed, missed{at: at, key: key, part: vx.part})
		}
		slow = true
		ok = ok && x.set(f, v, vx, value, value < immediate, create)
	}
	if slow {
		ok = x.climb(f, s, ok, create)
	}
	return true, ok
}

// compare sets f.leaves to those of s with other values than in the base, and returns the parts
// with some of them, and with several. near is that of differ.
func (f *frame) compare(s []uint64, changed []int32) (once, twice uint32, near bool) {
	sh := f.sh
	leaves := f.leaves[:0]
	total := 0
	for i0 := 0; i0 < len(s); i0 += 64 {
		var diff uint64
		if changed != nil && len(s) <= 64 {
			for _, i := range changed {
				diff |= 1 << (i & 63)
			}
		} else {
			diff = differing(s[i0:min(i0+64, len(s))], f.words[i0:])
		}
		if total += bits.OnesCount64(diff); f.base == 0 && total > 4 && 2*total > len(s) {
			return 0, 0, false
		}
		for ; diff != 0; diff &= diff - 1 {
			i := i0 + bits.TrailingZeros64(diff)
			d := s[i] ^ f.words[i]
			for v := sh.leafOf[i]; v < sh.leafOf[i+1]; v++ {
				if vx := &sh.vertex[v]; d&vx.mask != 0 {
					leaves = append(leaves, v)
					part := uint32(1) << (vx.part & 31)
					twice |= once & part
					once |= part
				}
			}
		}
	}
	f.leaves = leaves
	return once, twice, true
}

// findParts sets the numbers of some parts of s that are known by their values, and returns
// the other parts. Those in twice have several changes.
func (x *treeSession) findParts(f *frame, s []uint64, parts, twice uint32) (unknown uint32) {
	for ; parts != 0; parts &= parts - 1 {
		p := bits.TrailingZeros32(parts)
		k := f.known[p]
		if k == nil || twice>>p&1 == 0 && k.byMove() && f.sh.moves != 0 {
			unknown |= 1 << p
			continue
		}
		id, place := k.find(s)
		if id != 0 {
			f.setPart(uint8(p), id)
			continue
		}
		unknown |= 1 << p
		f.missed = append(f.missed, missed{place: place, part: uint8(p)})
	}
	return unknown
}

// climb looks up the vertices that are marked, and what is above them, unless ok is
// false already. It gives the base its codes back.
func (x *treeSession) climb(f *frame, s []uint64, ok, create bool) bool {
	// Children come before their parents, so the lowest first is the right order.
	for w := 0; w < len(f.dirty) && ok; w++ {
		for f.dirty[w] != 0 && ok {
			v := int32(w<<6 | bits.TrailingZeros64(f.dirty[w]))
			f.dirty[w] &= f.dirty[w] - 1
			vx := &f.sh.vertex[v]
			ok = x.set(f, v, vx, uint64(f.codes[vx.left])<<32|uint64(f.codes[vx.right]), false,
				create)
		}
	}
	if ok {
		for i := range f.missed {
			m := &f.missed[i]
			if m.at == nil {
				f.known[m.part].enter(s, f.now[m.part], m.place)
				continue
			}
			*m.at = m.key
			m.at.to = f.now[m.part]
		}
	} else {
		clear(f.dirty)
	}
	f.missed = f.missed[:0]
	for _, c := range f.undo {
		f.codes[c.vertex] = c.code
	}
	f.undo = f.undo[:0]
	return ok
}

// move is a change of one leaf of a part that the session has seen: if the part
// has the number from, and the leaf gets the value, the part has the number to.
// Threads do the same things again and again while the others are elsewhere, so
// this saves most of the ways up the trees.
type move struct {
	value uint64
	from  uint32
	to    uint32 // 0: no move
	leaf  uint32 // the shape's number << 16 | the leaf; 0 is the leaf of no shape
}

// moveAt returns the place for a move among the session's recent ones.
func (x *treeSession) moveAt(m *move) *move {
	h := (m.value ^ uint64(m.from)<<40 ^ uint64(m.from)>>24 ^ uint64(m.leaf)<<20) * recentMix
	return &x.scratch.moves[h>>(64-moveBits)]
}

// differing returns the set of the at most 64 words in which a and b differ. There
// is no branch in it, because nothing here is harder to predict.
func differing(a, b []uint64) (set uint64) {
	b = b[:len(a)]
	for i := len(a) - 1; i >= 0; i-- {
		d := a[i] ^ b[i]
		set = set<<1 | (d|-d)>>63
	}
	return set
}

// set gives a vertex another value, and marks its parent. If inline is set, the
// value is the code.
func (x *treeSession) set(f *frame, v int32, vx *vertex, value uint64, inline, create bool) bool {
	if vx.parent < 0 {
		id := x.number(x.t.partNodes[vx.part], value, create)
		f.setPart(vx.part, id)
		return id != 0
	}
	code := immediate | uint32(value)
	if !inline {
		if code = x.number(x.t.inner, value, create); code == 0 {
			return false
		}
	}
	f.undo = append(f.undo, change{v, f.codes[v]})
	f.codes[v] = code
	f.dirty[vx.parent>>6] |= 1 << (vx.parent & 63)
	return true
}

// setPart gives a part another number than it has in the base.
func (f *frame) setPart(part uint8, id uint32) {
	f.now[part] = id
	at := 8 * part & 63
	f.nowSize = f.nowSize&^(0xff<<at) | uint64(bits.Len32(id))<<at
	f.changed |= 1 << (part & 31)
}

// resize brings the lengths of the base's numbers up to date.
func (f *frame) resize() {
	f.size = 0
	for p := range f.sh.parts {
		f.size |= uint64(bits.Len32(f.ids[p])) << (8 * p)
	}
}

// rebase makes s the base.
func (x *treeSession) rebase(f *frame, s []uint64, create bool) bool {
	sh := f.sh
	t := x.t
	f.valid, f.base = false, 0
	f.ids = [maxSlots]uint32{}
	for v := range sh.vertex {
		vx := &sh.vertex[v]
		var value uint64
		leaf := v < sh.leaves
		if leaf {
			value = s[vx.word] & vx.mask >> vx.shift
		} else {
			value = uint64(f.codes[vx.left])<<32 | uint64(f.codes[vx.right])
		}
		var code uint32
		switch {
		case vx.parent < 0:
			code = x.number(t.partNodes[vx.part], value, create)
			f.ids[vx.part] = code
		case leaf && value < immediate:
			code = immediate | uint32(value)
		default:
			code = x.number(t.inner, value, create)
		}
		if code == 0 {
			return false
		}
		f.codes[v] = code
	}
	copy(f.words, s)
	f.valid = true
	f.resize()
	return true
}

// Insert implements [Session].
func (x *treeSession) Insert(s []uint64, parent Ref) (ref Ref, added bool, err error) {
	f := x.frameOf(len(s))
	if !f.sh.learned.Load() {
		if ref, added, err = x.insertSample(f, s, parent); ref != 0 || err != nil {
			return ref, added, err
		}
	}
	if err := x.begin(f, s, parent, nil); err != nil {
		return 0, false, err
	}
	last := len(x.deferred) - 1
	d := x.deferred[last]
	x.deferred = x.deferred[:last]
	return x.complete(&d)
}

// deferred is an insertion that has begun: what is left is to look into the table
// of states.
type deferred struct {
	sh   *shape
	key  uint64
	hash uint64 // the key, mixed
	code uint64
}

// begin is the part of an insertion that is done without the table of states, which it
// adds to x.deferred; the shape is learned. changed is that of Defer.
func (x *treeSession) begin(f *frame, s []uint64, parent Ref, changed []int32) error {
	if f.base != parent {
		changed = nil
	}
	key, ok := x.key(f, s, changed, true)
	if !ok {
		return ErrFull
	}
	x.push(f, key, parent)
	return nil
}

// push adds an insertion of the state with a key to x.deferred.
func (x *treeSession) push(f *frame, key uint64, parent Ref) {
	if parent != x.parent || x.parentCode == 0 {
		x.parentCode = x.t.codeOf(parent)
		x.parent = parent
	}
	code := x.parentCode
	if code == 0 {
		x.t.addOrphan(key, parent)
		code = codeAside
	}
	x.deferred = append(x.deferred, deferred{sh: f.sh, key: key, hash: mix(key), code: code})
}

// complete does the rest of an insertion.
func (x *treeSession) complete(d *deferred) (ref Ref, added bool, err error) {
	old, full := x.t.table.insert(d.hash>>restBits, d.hash<<fragBits|d.code, false, nil)
	if full {
		return 0, false, ErrFull
	}
	if old == 0 {
		x.added.Add(1)
		return Ref(d.key), true, nil
	}
	if old&fragMask == codeAside {
		return d.sh.refOf(d.key), false, nil
	}
	return Ref(d.key), false, nil
}

// Defer implements [Deferring].
func (x *treeSession) Defer(s []uint64, parent Ref, changed []int32) (bool, error) {
	f := x.frameOf(len(s))
	if !f.sh.learned.Load() {
		return false, nil
	}
	if err := x.begin(f, s, parent, changed); err != nil {
		return true, err
	}
	x.ask()
	return true, nil
}

// ask asks for the memory that the insertion deferred last needs, or drops it if the
// state is known to be covered.
func (x *treeSession) ask() {
	n := len(x.deferred)
	d := &x.deferred[n-1]
	if x.scratch != nil {
		kept := &x.scratch.keys[d.hash>>(restBits-keptBits)&(1<<keptBits-1)]
		if *kept == d.key {
			x.deferred = x.deferred[:n-1]
			return
		}
		*kept = d.key
	}
	x.fetch()
}

// Settle implements [Deferring].
func (x *treeSession) Settle(added func(Ref) error) error {
	todo := x.deferred
	x.deferred = todo[:0]
	x.fetchRest(todo)
	for i := range todo {
		ref, isNew, err := x.complete(&todo[i])
		if err == nil && isNew {
			err = added(ref)
		}
		if err != nil {
			x.drop()
			return err
		}
	}
	return nil
}

// drop forgets the insertions that were deferred and are not complete.
func (x *treeSession) drop() {
	x.deferred = x.deferred[:0]
	if x.scratch != nil {
		clear(x.scratch.keys[:]) // some are of those that are dropped
	}
}

// refOf returns the Ref of the state with a key whose entry has codeAside.
func (sh *shape) refOf(key uint64) Ref {
	if n := sh.samples.withKey(key); n != 0 {
		return sampleRef(sh.n, n)
	}
	return Ref(key)
}

// Find implements [Session].
func (x *treeSession) Find(s []uint64) (Ref, bool) {
	f := x.frameOf(len(s))
	sh := f.sh
	if !sh.learned.Load() {
		h := hashWords(s)
		n := sh.samples.find(s, h)
		if n == 0 {
			sh.mu.Lock() // somebody may be adding it
			n = sh.samples.find(s, h)
			learned := sh.learned.Load()
			sh.mu.Unlock()
			if !learned && n == 0 {
				return 0, false
			}
		}
		if n != 0 {
			return sampleRef(sh.n, n), true
		}
	}
	key, ok := x.key(f, s, nil, false)
	if !ok {
		return 0, false
	}
	h := mix(key)
	e, ok := x.t.table.find(h>>restBits, h<<fragBits|codeInitial, nil)
	if !ok {
		return 0, false
	}
	if e&fragMask == codeAside {
		return sh.refOf(key), true
	}
	return Ref(key), true
}

// insertSample is Insert for a shape that is not learned. It returns 0 and no error if
// the shape is learned by now.
func (x *treeSession) insertSample(f *frame, s []uint64, parent Ref) (ref Ref, added bool,
	err error) {
	sh := f.sh
	if sh.n > maxLength {
		return 0, false, fmt.Errorf("statestore: a state of %d words, more than %d", sh.n,
			maxLength)
	}
	// Most states are known, and the lock is not needed to find them.
	y, h := sh.samples, hashWords(s)
	if n := y.find(s, h); n != 0 {
		return sampleRef(sh.n, n), false, nil
	}
	for {
		sh.mu.Lock()
		c := sh.crew.Load()
		switch {
		case sh.learned.Load():
			sh.mu.Unlock()
			return 0, false, nil
		case c != nil:
			sh.mu.Unlock()
			x.help(sh, c)
		case sh.n == 0 || y.full() && y.find(s, h) == 0:
			c = &crew{}
			sh.crew.Store(c)
			sh.mu.Unlock()
			return 0, false, x.learn(f, c)
		default:
			ref, added, err = x.addSample(sh, s, parent, h)
			sh.mu.Unlock()
			return ref, added, err
		}
	}
}

// addSample adds a state, whose hash is h, to a shape's samples if it is not there. The shape's
// mutex is locked.
func (x *treeSession) addSample(sh *shape, s []uint64, parent Ref, h uint64) (ref Ref, added bool,
	err error) {
	y := sh.samples
	if n := y.find(s, h); n != 0 {
		return sampleRef(sh.n, n), false, nil
	}
	before := y.bytes()
	if !x.t.ledger.allow(8*(sh.n+1) + 4) {
		return 0, false, ErrFull
	}
	n := y.add(s, parent, h)
	x.t.ledger.take(y.bytes()-before, true)
	x.added.Add(1)
	return sampleRef(sh.n, n), true, nil
}

// needNodes makes the tables of nodes of parts.
func (t *treeStore) needNodes() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.inner == nil {
		t.inner = t.newNodes()
		for i := range t.partNodes {
			t.partNodes[i] = t.newNodes()
		}
	}
}

// payShape takes the memory of a shape's vertices.
func (t *treeStore) payShape(sh *shape) {
	t.ledger.take(len(sh.vertex)*int(unsafe.Sizeof(vertex{}))+4*len(sh.leafOf), true)
}

// learn chooses the parts of a shape from the samples, and moves these into the table of states.
// The shape has the crew, so that no samples are added.
func (x *treeSession) learn(f *frame, c *crew) error {
	defer f.sh.crew.Store(nil)
	t, sh, y, v := x.t, f.sh, f.sh.samples, f.sh.samples.view.Load()
	t.needNodes()
	if sh.layout.Load() == nil {
		l := &layout{}
		if sh.n <= 1 {
			if c, ok := t.takeClass(); ok {
				l.direct = c << idsBits
				t.classes[c].Store(&classInfo{shape: sh, direct: true})
			}
		}
		examples := make([][]uint64, len(y.parents))
		for i := range examples {
			examples[i] = v.state(i + 1)
		}
		if sh.n > 0 {
			all := func(tasks int, do func(task int)) {
				c.all(x, tasks, func(_ *treeSession, task int) { do(task) })
			}
			cuts, distinct := learn(sh.n, examples, y.parent, all)
			sh.build(cuts, func(leaves []vertex) []int {
				return changes(leaves, examples, y.parent, all)
			})
			probe.Mark(probe.Covering) // what comes now is not the leader's work alone
			for i := range distinct {
				copy(sh.sampled[i][:], distinct[i])
			}
			t.payShape(sh)
		}
		sh.layout.Store(l)
	}
	keys := make([]uint64, len(y.parents))
	var full atomic.Bool
	const together = 64 // samples in a task
	c.all(x, (len(keys)+together-1)/together, func(x *treeSession, task int) {
		f := x.frameOf(sh.n)
		for i := task * together; i < min((task+1)*together, len(keys)) && !full.Load(); i++ {
			key, ok := x.key(f, v.state(i+1), nil, true)
			if !ok {
				full.Store(true)
				break
			}
			keys[i] = key
			h := mix(key)
			t.table.insert(h>>restBits, h<<fragBits|codeAside, true, nil)
		}
	})
	if full.Load() {
		return ErrFull
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	before := y.bytes()
	y.freeze(keys)
	sh.learned.Store(true)
	y.view.Store(nil)
	t.ledger.take(y.bytes()-before, true)
	return nil
}

// codeOf returns the low part of the entries of a parent's children, 0 if they
// have to be put into orphans.
func (t *treeStore) codeOf(parent Ref) uint64 {
	if parent == 0 {
		return codeInitial
	}
	key := uint64(parent &^ away)
	if key>>idsBits == classYoung {
		if parent&away != 0 {
			return 0 // only the store that it is of has its key
		}
		n, i := splitSampleRef(parent)
		sh := t.shapeOf(n)
		if !sh.learned.Load() {
			return 0
		}
		key = sh.samples.keys[i-1]
	}
	return min(mix(key)>>(keyBits-fragBits)+codeFragment, fragMask)
}

// orphanBytes is about what an orphan takes in a map.
const orphanBytes = 40

// addOrphan notes the parent of a state whose parent has no key yet. That is done
// before the state is inserted, so that whoever finds the state finds it, too. If
// two workers insert the state, either's parent is one.
func (t *treeStore) addOrphan(key uint64, parent Ref) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.orphans == nil {
		t.orphans = map[uint64]Ref{}
	}
	if _, ok := t.orphans[key]; !ok {
		t.orphans[key] = parent
		t.ledger.take(orphanBytes, true)
	}
}

// Load implements [Session].
func (x *treeSession) Load(ref Ref, dst []uint64) []uint64 {
	key := uint64(ref)
	if key>>idsBits == classYoung {
		n, i := splitSampleRef(ref)
		sh := x.t.shapeOf(n)
		if v := sh.samples.view.Load(); v != nil {
			return append(dst[:0], v.state(i)...)
		}
		key = sh.samples.keys[i-1]
	}
	f, ids, word, direct := x.unpack(key)
	if direct {
		if f.sh.n == 0 {
			return dst[:0]
		}
		return append(dst[:0], word)
	}
	x.decode(f, &ids)
	f.base, f.key = ref, key
	return append(dst[:0], f.words...)
}

// unpack takes a key apart: it returns the frame for the state's length and the
// numbers of its parts. If the class is direct, word is the state instead.
func (x *treeSession) unpack(key uint64) (f *frame, ids [maxSlots]uint32, word uint64,
	direct bool) {
	c := key >> idsBits
	rest := key & idsMask
	if c == classWhole {
		v := x.t.whole.value(uint32(rest))
		f = x.frameOf(int(v >> 32))
		merges := f.sh.layout.Load().merges
		ids[len(f.sh.parts)+len(merges)-1] = uint32(v)
		unmerge(&ids, len(f.sh.parts), merges)
		return f, ids, 0, false
	}
	info := x.t.classes[c].Load()
	f = x.frameOf(info.shape.n)
	if info.direct {
		return f, ids, rest, true
	}
	p := info.profile
	for i, slot := range p.slots {
		w := p.widths[i]
		ids[slot] = uint32(rest & (1<<w - 1))
		rest >>= w
	}
	unmerge(&ids, len(f.sh.parts), info.layout.merges[:p.merges])
	return f, ids, 0, false
}

// unmerge computes the numbers of k parts from those of merges.
func unmerge(ids *[maxSlots]uint32, k int, merges []merge) {
	for j := len(merges) - 1; j >= 0; j-- {
		m := &merges[j]
		v := m.table.value(ids[k+j])
		ids[m.a], ids[m.b] = uint32(v>>32), uint32(v)
	}
}

// decode makes the state with the given numbers the frame's base. It looks only at
// the vertices with other numbers than in the base so far.
func (x *treeSession) decode(f *frame, ids *[maxSlots]uint32) {
	if !f.ready {
		x.prepare(f)
	}
	sh := f.sh
	all := !f.valid
	for p := range sh.parts {
		if top := sh.parts[p].top; all || ids[p] != f.ids[p] {
			f.dirty[top>>6] |= 1 << (top & 63)
		}
	}
	f.ids = *ids
	// Parents come after their children, so the highest first is the right order.
	for w := len(f.dirty) - 1; w >= 0; w-- {
		for f.dirty[w] != 0 {
			b := bits.Len64(f.dirty[w]) - 1
			f.dirty[w] &^= 1 << b
			v := w<<6 | b
			vx := &sh.vertex[v]
			var value uint64
			n, id := x.t.inner, f.codes[v]
			if vx.parent < 0 {
				n, id = x.t.partNodes[vx.part], ids[vx.part]
			}
			if vx.parent >= 0 && id >= immediate {
				value = uint64(id &^ immediate)
			} else {
				if probe.On {
					n.observe(id)
				}
				value = n.value(id)
			}
			if v < sh.leaves {
				f.words[vx.word] = f.words[vx.word]&^vx.mask | value<<vx.shift
				continue
			}
			if c := uint32(value >> 32); all || c != f.codes[vx.left] {
				f.codes[vx.left] = c
				f.dirty[vx.left>>6] |= 1 << (vx.left & 63)
			}
			if c := uint32(value); all || c != f.codes[vx.right] {
				f.codes[vx.right] = c
				f.dirty[vx.right>>6] |= 1 << (vx.right & 63)
			}
		}
	}
	f.valid = true
	f.resize()
}

// Parents implements [Session].
func (x *treeSession) Parents(ref Ref, yield func(Ref) bool) { x.Candidates(x.Hint(ref), yield) }

// Hint implements [Parted]. A hint is a Ref, or hintCode and a parent's fragment.
func (x *treeSession) Hint(ref Ref) uint64 {
	t := x.t
	key := uint64(ref)
	if key>>idsBits == classYoung {
		n, i := splitSampleRef(ref)
		sh := t.shapeOf(n)
		sh.mu.Lock()
		defer sh.mu.Unlock()
		return uint64(sh.samples.parents[i-1])
	}
	h := mix(key)
	e, ok := t.table.find(h>>restBits, h<<fragBits|codeInitial, nil)
	if !ok {
		return 0
	}
	switch code := e & fragMask; code {
	case codeInitial:
		return 0
	case codeAside:
		t.mu.Lock()
		defer t.mu.Unlock()
		return uint64(t.orphans[key])
	default:
		return hintCode | code
	}
}

// Candidates implements [Parted].
func (x *treeSession) Candidates(hint uint64, yield func(Ref) bool) {
	t := x.t
	switch {
	case hint == 0:
	case hint&hintCode == 0:
		ref := Ref(hint) &^ away
		if Ref(hint)&away == 0 || x.has(ref) {
			yield(ref)
		}
	default:
		code := hint & fragMask
		first := code - codeFragment
		last := first
		if code == fragMask {
			last = fragMask
		}
		for frag := first; frag <= last; frag++ {
			shard := frag >> (fragBits - shardBits)
			lo := frag << (keyBits - fragBits) << fragBits // the shard's bits fall out
			hi := lo | (1<<(keyBits-fragBits)-1)<<fragBits
			more := true
			t.table.scan(shard, lo, hi, func(e uint64) bool {
				key := unmix(shard<<restBits | e>>fragBits)
				ref := Ref(key)
				if e&fragMask == codeAside {
					ref = t.refOf(key)
				}
				more = yield(ref)
				return more
			})
			if !more {
				return
			}
		}
	}
}

// has reports whether a Ref of a store is one of this store, too.
func (x *treeSession) has(ref Ref) bool {
	if uint64(ref)>>idsBits != classYoung {
		h := mix(uint64(ref))
		_, ok := x.t.table.find(h>>restBits, h<<fragBits|codeInitial, nil)
		return ok
	}
	n, i := splitSampleRef(ref)
	sh, ok := x.t.shapes.Load(n)
	if !ok {
		return false
	}
	s := sh.(*shape)
	s.mu.Lock()
	defer s.mu.Unlock()
	return i >= 1 && i <= len(s.samples.parents)
}

// refOf returns the Ref of the state with a key whose entry has codeAside.
func (t *treeStore) refOf(key uint64) Ref {
	if c := key >> idsBits; c != classWhole {
		return t.classes[c].Load().shape.refOf(key)
	}
	return t.shapeOf(int(t.whole.value(uint32(key&idsMask)) >> 32)).refOf(key)
}
