package statestore

import (
	"math"
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
	shards[uint32]

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

// shortLineOf returns the line of an entry.
func shortLineOf(s *slab[uint32], e uint32) uint64 { return uint64(e) * s.lines() >> 32 }

func newCompact(o Options) *compactStore {
	c := &compactStore{}
	c.shards = newShards(compactShards, newLedger(o), fillShort)
	c.ledger.take(int(unsafe.Sizeof(*c)), true)
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
	s.Slots, s.RootBytes = c.slots(), c.bytes()-uint64(8*len(c.dir))
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

// insert adds e to a shard; see [table.insert].
func (c *compactStore) insert(shard uint64, e uint32) (added, full bool) {
	s := c.slabOf(shard, false)
	if s == nil {
		return false, true
	}
	for {
		i := shortLineOf(s, e)
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
						// The high bits place the entry, so sample by the lowest.
						if e&s.mask == 0 {
							c.counted(shard, s)
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

// fillShort is the store's [shards.fill].
func fillShort(s, ns *slab[uint32]) (n int64) {
	for i := range s.slots {
		if atomic.LoadUint32(&s.slots[i]) == 0 {
			atomic.CompareAndSwapUint32(&s.slots[i], 0, shortFrozen)
		}
	}
	for k := range s.slots {
		e := atomic.LoadUint32(&s.slots[k])
		if e == shortFrozen {
			continue
		}
		at := shortLineOf(ns, e) * shortLine
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
	return n
}

// find reports whether e is in a shard.
func (c *compactStore) find(shard uint64, e uint32) bool {
	for s := c.dir[shard].Load(); s != nil; s = s.next.Load() {
		i := shortLineOf(s, e)
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
