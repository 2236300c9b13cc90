package temporal

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"cpor/statestore"
)

// colors holds some bits for each program state that a search has reached: what the cycle
// proviso must know about the state, and the colors of its vertices in the product. It is a hash
// table in shards with a lock each. An entry is a few 32-bit words: the state's reference in the
// lowest refBits bits, followed by the bits. So a state with one worker and a small automaton
// takes 8 or 12 bytes and a share of the table's free space, besides the store.
//
// Library maps take 16 bytes and more for the key alone, and cannot read and change an entry in one
// locked step without a pointer for each.
type colors struct {
	words  int // of an entry
	fields int // bits of the state itself
	each   int // bits of a vertex
	shards [colorShards]colorShard
	held   atomic.Int64 // bytes
}

const (
	refBits      = 58 // a reference of the Tree store is not longer
	colorShards  = 256
	colorGrowth  = 1.25
	colorMaxLoad = 0.88
	firstEntries = 8
)

type colorShard struct {
	mu    sync.Mutex
	slots []uint32
	size  uint64 // entries there is room for
	used  uint64
	limit uint64
	_     [8]byte
}

// newColors returns a table for states with so many bits, and so many vertices of that many
// bits each.
func newColors(fields, vertices, each int) *colors {
	c := &colors{fields: fields, each: each, words: (refBits + fields + vertices*each + 31) / 32}
	for i := range c.shards {
		// The shards have different sizes, so that they do not all grow at once.
		c.shards[i].alloc(c, firstEntries+firstEntries*uint64(i)/colorShards)
	}
	return c
}

func (s *colorShard) alloc(c *colors, size uint64) {
	s.size, s.limit = size, uint64(float64(size)*colorMaxLoad)
	s.slots = make([]uint32, size*uint64(c.words))
	c.held.Add(int64(4 * len(s.slots)))
}

// bytes returns the memory that the table holds.
func (c *colors) bytes() uint64 { return uint64(c.held.Load()) }

// entry is the locked entry of a state.
type entry struct {
	shard *colorShard
	words []uint32
	fresh bool // it was made just now
}

// lock returns the entry of a state, a new one if it has none. The caller
// unlocks it and uses it no more.
func (c *colors) lock(ref statestore.Ref) entry {
	s, e := c.find(ref)
	if e != nil {
		return entry{s, e, false}
	}
	if s.used >= s.limit {
		s.grow(c)
	}
	e = s.place(c, uint64(ref))
	e[0], e[1] = uint32(ref), uint32(ref>>32)
	s.used++
	return entry{s, e, true}
}

// look returns the locked entry of a state; if it has none, nothing is locked.
func (c *colors) look(ref statestore.Ref) (entry, bool) {
	s, e := c.find(ref)
	if e == nil {
		s.mu.Unlock()
		return entry{}, false
	}
	return entry{s, e, false}, true
}

func colorHash(ref uint64) uint64 {
	ref *= 0x9e3779b97f4a7c15
	ref ^= ref >> 32
	return ref * 0xd6e8feb86659fd93
}

const refMask = 1<<refBits - 1

// find locks the shard of a state and looks for the entry.
func (c *colors) find(ref statestore.Ref) (*colorShard, []uint32) {
	h := colorHash(uint64(ref))
	s := &c.shards[h>>56]
	s.mu.Lock()
	w := uint64(c.words)
	for i, _ := bits.Mul64(h<<8, s.size); ; {
		e := s.slots[i*w : i*w+w : i*w+w]
		switch key := (uint64(e[0]) | uint64(e[1])<<32) & refMask; key {
		case uint64(ref):
			return s, e
		case 0:
			return s, nil
		}
		if i++; i == s.size {
			i = 0
		}
	}
}

// place returns the free slot for a reference that is not there.
func (s *colorShard) place(c *colors, ref uint64) []uint32 {
	w := uint64(c.words)
	for i, _ := bits.Mul64(colorHash(ref)<<8, s.size); ; {
		e := s.slots[i*w : i*w+w : i*w+w]
		if (uint64(e[0])|uint64(e[1])<<32)&refMask == 0 {
			return e
		}
		if i++; i == s.size {
			i = 0
		}
	}
}

// grow moves the entries to a larger array.
func (s *colorShard) grow(c *colors) {
	old := s.slots
	s.alloc(c, uint64(float64(s.size)*colorGrowth)+2)
	for at := 0; at < len(old); at += c.words {
		e := old[at : at+c.words]
		if key := (uint64(e[0]) | uint64(e[1])<<32) & refMask; key != 0 {
			copy(s.place(c, key), e)
		}
	}
	c.held.Add(-int64(4 * len(old)))
}

// unlock releases the entry.
func (e *entry) unlock() { e.shard.mu.Unlock() }

// get returns a field of the entry, width bits from bit at on.
func (e *entry) get(at, width int) (v uint32) {
	for i := range width {
		b := refBits + at + i
		v |= e.words[b>>5] >> (b & 31) & 1 << i
	}
	return v
}

// set sets a field of the entry.
func (e *entry) set(at, width int, v uint32) {
	for i := range width {
		b := refBits + at + i
		e.words[b>>5] = e.words[b>>5]&^(1<<(b&31)) | v>>i&1<<(b&31)
	}
}

// has returns one bit.
func (e *entry) has(at int) bool {
	b := refBits + at
	return e.words[b>>5]>>(b&31)&1 != 0
}

// mark sets one bit.
func (e *entry) mark(at int) {
	b := refBits + at
	e.words[b>>5] |= 1 << (b & 31)
}

// erase clears one bit.
func (e *entry) erase(at int) {
	b := refBits + at
	e.words[b>>5] &^= 1 << (b & 31)
}
