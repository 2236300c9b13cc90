package statestore

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// compactStore is the store of kind Compact: hash compaction (Stern and Dill,
// CHARME 1995). Of each state it keeps a hash of compactBits bits in a slot of 32:
// the highest compactShards bits are known from the shard that the slot is in.
//
// The table is a [table] of 32-bit entries that are hash part only: read there how
// it is used and grows without locks. A Ref is the hash.
type compactStore struct {
	ledger *ledger
	dir    []atomic.Pointer[shortSlab]

	mu       sync.Mutex // guards sessions
	sessions []*compactSession
}

const (
	compactShards = 14
	compactBits   = 32 + compactShards
	shortLine     = 16 // slots, one cache line

	// The hashes that mean something else are taken for others.
	shortFrozen = 1
	shortFirst  = 2
)

// shortSlab is the storage of one shard.
type shortSlab struct {
	slots   []uint32
	limit   int64
	count   atomic.Int64
	next    atomic.Pointer[shortSlab]
	growing atomic.Bool
	kept    *[]uint8 // see slab
}

func (s *shortSlab) bytes() int {
	return cap(s.slots)*4 + int(unsafe.Sizeof(*s)) + keptBytes(s.kept)
}

func (s *shortSlab) lines() uint64 { return uint64(len(s.slots)) / shortLine }

// line returns the line of an entry.
func (s *shortSlab) line(e uint32) uint64 { return uint64(e) * s.lines() >> 32 }

func newShortSlab(lines int) *shortSlab {
	slots := append([]uint32(nil), make([]uint32, lines*shortLine)...)
	slots = slots[:cap(slots)/shortLine*shortLine]
	return &shortSlab{slots: slots, limit: int64(maxLoad * float64(len(slots)))}
}

func newCompact(o Options) *compactStore {
	c := &compactStore{dir: make([]atomic.Pointer[shortSlab], 1<<compactShards),
		ledger: newLedger(o)}
	c.ledger.take(8*len(c.dir)+int(unsafe.Sizeof(*c)), true)
	return c
}

func (c *compactStore) Exact() bool    { return false }
func (c *compactStore) Loadable() bool { return false }
func (c *compactStore) Bytes() uint64  { return uint64(c.ledger.used.Load()) }

func (c *compactStore) Len() (n uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.sessions {
		n += x.added.Load()
	}
	return n
}

// OmissionProbability is the probability that a new state has the same hash as a
// stored one: with n states stored, at most n in 1<<compactBits (Stern and Dill
// 1995, section 3, for a table that finds every stored hash). What is returned is
// the mean of that over the search.
func (c *compactStore) OmissionProbability() float64 {
	return float64(c.Len()) / 2 / math.Exp2(compactBits)
}

func (c *compactStore) Stats() Stats {
	s := Stats{Kind: Compact, States: c.Len(), Bytes: c.Bytes()}
	for i := range c.dir {
		if b := c.dir[i].Load(); b != nil {
			s.Slots += uint64(len(b.slots))
			s.RootBytes += uint64(b.bytes())
		}
	}
	s.OtherBytes = s.Bytes - min(s.Bytes, s.RootBytes)
	if s.Slots > 0 {
		s.Load = float64(s.States) / float64(s.Slots)
	}
	c.ledger.events(&s)
	s.ExpectedOmissions = expectedOmissions(s.States, c.OmissionProbability())
	return s
}

// expectedOmissions returns how many of the states that were new were omitted if
// each was with probability p and stored states were not.
func expectedOmissions(stored uint64, p float64) float64 {
	return float64(stored) * p / max(1-p, 1e-9)
}

// slabOf returns the shard's slab, which it makes if there is none. It returns
// nil if there is no memory for one.
func (c *compactStore) slabOf(shard uint64) *shortSlab {
	if s := c.dir[shard].Load(); s != nil {
		return s
	}
	s := newShortSlab(1)
	if c.ledger.take(s.bytes(), false) && !c.dir[shard].CompareAndSwap(nil, s) {
		c.ledger.give(s.bytes())
	}
	return c.dir[shard].Load()
}

// insert adds e to a shard; see [table.insert].
func (c *compactStore) insert(shard uint64, e uint32) (added, full bool) {
	s := c.slabOf(shard)
	if s == nil {
		return false, true
	}
	for {
		i := s.line(e)
	path:
		for n := uint64(0); ; n++ {
			if n == farLines || n == s.lines() {
				if c.enlarge(shard, s, false) {
					break path
				}
				return false, !c.find(shard, e)
			}
			line := (*[shortLine]uint32)(s.slots[i*shortLine:])
			for j := range line {
				v := atomic.LoadUint32(&line[j])
				if v == 0 {
					if atomic.CompareAndSwapUint32(&line[j], 0, e) {
						if s.count.Add(1) > s.limit && s.growing.CompareAndSwap(false, true) {
							if !c.enlarge(shard, s, false) {
								s.growing.Store(false)
							}
						}
						return true, false
					}
					c.ledger.failedCAS.Inc()
					v = atomic.LoadUint32(&line[j])
				}
				if v == e {
					return false, false
				}
				if v == shortFrozen {
					c.await(shard, s)
					break path
				}
			}
			if i++; i == s.lines() {
				i = 0
			}
		}
		s = s.next.Load()
	}
}

// await is [table.await].
func (c *compactStore) await(shard uint64, s *shortSlab) {
	c.ledger.waits.Inc()
	for range patience + len(s.slots)/64 {
		if s.next.Load() != nil {
			return
		}
		runtime.Gosched()
	}
	c.enlarge(shard, s, true)
}

// enlarge is [table.enlarge].
func (c *compactStore) enlarge(shard uint64, s *shortSlab, force bool) bool {
	if s.next.Load() != nil {
		return true
	}
	ns := newShortSlab(nextLines(float64(shard)/(1<<compactShards), s.lines()))
	if s.kept != nil {
		ns.kept = newKept(int(ns.lines()))
	}
	if !c.ledger.take(ns.bytes(), force) {
		return false
	}
	for i := range s.slots {
		if atomic.LoadUint32(&s.slots[i]) == 0 {
			atomic.CompareAndSwapUint32(&s.slots[i], 0, shortFrozen)
		}
	}
	n := int64(0)
	for k := range s.slots {
		e := atomic.LoadUint32(&s.slots[k])
		if e == shortFrozen {
			continue
		}
		at := ns.line(e) * shortLine
		for ns.slots[at] != 0 {
			if at++; at == uint64(len(ns.slots)) {
				at = 0
			}
		}
		if s.kept != nil && k%shortLine < int((*s.kept)[k/shortLine]) {
			at = keepFirst(ns.slots, ns.kept, at/shortLine, shortLine, at)
		}
		ns.slots[at] = e
		n++
	}
	ns.count.Store(n)
	if !s.next.CompareAndSwap(nil, ns) {
		c.ledger.give(ns.bytes())
		return true
	}
	c.ledger.grows.Inc()
	for {
		s := c.dir[shard].Load()
		next := s.next.Load()
		if next == nil {
			return true
		}
		if c.dir[shard].CompareAndSwap(s, next) {
			c.ledger.give(s.bytes())
		}
	}
}

// find reports whether e is in a shard.
func (c *compactStore) find(shard uint64, e uint32) bool {
	for s := c.dir[shard].Load(); s != nil; s = s.next.Load() {
		i := s.line(e)
	path:
		for n := uint64(0); n < s.lines(); n++ {
			line := (*[shortLine]uint32)(s.slots[i*shortLine:])
			for j := range line {
				switch atomic.LoadUint32(&line[j]) {
				case 0:
					return false
				case e:
					return true
				case shortFrozen:
					break path
				}
			}
			if i++; i == s.lines() {
				i = 0
			}
		}
	}
	return false
}

// NewSession implements [Store].
func (c *compactStore) NewSession() Session {
	x := &compactSession{c: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions = append(c.sessions, x)
	return x
}

// compactSession is a session of a compactStore.
type compactSession struct {
	c     *compactStore
	_     [64]byte
	added atomic.Uint64
	_     [56]byte
}

// compactEntry returns the shard of a state, its entry there and its Ref.
func compactEntry(s []uint64) (shard uint64, e uint32, ref Ref) {
	h := hashWords(s) >> (64 - compactBits)
	shard, e = h>>32, uint32(h)
	if e < shortFirst {
		e += shortFirst
	}
	return shard, e, Ref(shard<<32 | uint64(e))
}

// Insert implements [Session].
func (x *compactSession) Insert(s []uint64, _ Ref) (Ref, bool, error) {
	shard, e, ref := compactEntry(s)
	added, full := x.c.insert(shard, e)
	if full {
		return 0, false, ErrFull
	}
	if added {
		x.added.Add(1)
	}
	return ref, added, nil
}

// Find implements [Session].
func (x *compactSession) Find(s []uint64) (Ref, bool) {
	shard, e, ref := compactEntry(s)
	if !x.c.find(shard, e) {
		return 0, false
	}
	return ref, true
}

// Load implements [Session].
func (x *compactSession) Load(Ref, []uint64) []uint64 { return nil }

// Parents implements [Session].
func (x *compactSession) Parents(Ref, func(Ref) bool) {}
