package temporal

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"

	"cpor/internal/prefetch"
	"cpor/statestore"
)

// colors holds some bits for each program state that a search has reached: what the cycle
// proviso must know about the state, and the colors of its vertices in the product. It is a hash
// table in shards with a lock each. An entry is a few 32-bit words: the state's reference in the
// lowest refBits bits, followed by the bits. So a state with one worker and a small automaton
// takes 8 or 12 bytes and a share of the table's free space, besides the store.
//
// An entry is changed with its shard locked, and may be read without ([colors.peek]), because
// most successors of a state are finished and nothing else matters about them.
//
// Library maps take 16 bytes and more for the key alone, and cannot read and change an entry in one
// locked step without a pointer for each.
type colors struct {
	words  int // of an entry
	fields int // bits of the state itself
	each   int // bits of a vertex
	tables [colorShards]atomic.Pointer[colorTable]
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

// colorTable has the entries of a shard. When the shard grows, another one takes its place.
type colorTable struct {
	slots []uint32
	size  uint64 // entries there is room for
}

// colorShard is what only who has locked a shard needs.
type colorShard struct {
	mu    sync.Mutex
	used  uint64
	limit uint64
	_     [40]byte // shards share no cache line
}

// newColors returns a table for states with so many bits, and so many vertices of that many
// bits each.
func newColors(fields, vertices, each int) *colors {
	c := &colors{fields: fields, each: each, words: (refBits + fields + vertices*each + 31) / 32}
	for i := range c.shards {
		// The shards have different sizes, so that they do not all grow at once.
		c.alloc(i, firstEntries+firstEntries*uint64(i)/colorShards)
	}
	return c
}

// newTable returns an empty table.
func (c *colors) newTable(size uint64) *colorTable {
	t := &colorTable{size: size, slots: make([]uint32, size*uint64(c.words))}
	c.held.Add(int64(4 * len(t.slots)))
	return t
}

// alloc gives a shard an empty table.
func (c *colors) alloc(shard int, size uint64) *colorTable {
	t := c.newTable(size)
	c.shards[shard].limit = uint64(float64(size) * colorMaxLoad)
	c.tables[shard].Store(t)
	return t
}

// bytes returns the memory that the table holds.
func (c *colors) bytes() uint64 { return uint64(c.held.Load()) }

// entry is the entry of a state: locked, or from peek.
type entry struct {
	shard *colorShard // nil from peek
	words []uint32
}

// lock returns the entry of a state, a new one if it has none. The caller
// unlocks it and uses it no more.
func (c *colors) lock(ref statestore.Ref) entry {
	h := colorHash(uint64(ref))
	s := &c.shards[h>>56]
	s.mu.Lock()
	t := c.tables[h>>56].Load()
	e, found := c.find(t, h, ref)
	if found {
		return entry{s, e}
	}
	if s.used >= s.limit {
		t = c.grow(int(h>>56), t)
		e, _ = c.find(t, h, ref)
	}
	atomic.StoreUint32(&e[0], uint32(ref))
	atomic.StoreUint32(&e[1], uint32(ref>>32))
	s.used++
	return entry{s, e}
}

// look returns the locked entry of a state; if it has none, nothing is locked.
func (c *colors) look(ref statestore.Ref) (entry, bool) {
	h := colorHash(uint64(ref))
	s := &c.shards[h>>56]
	s.mu.Lock()
	e, found := c.find(c.tables[h>>56].Load(), h, ref)
	if !found {
		s.mu.Unlock()
		return entry{}, false
	}
	return entry{s, e}, true
}

// peek returns the entry of a state without locking it. What it says may have changed, and a
// fresh entry may be missing. But a bit that this worker alone sets and clears is right, and one
// that is never cleared is set if it appears so. The caller asks same when it has read what it
// wanted.
func (c *colors) peek(ref statestore.Ref) (entry, bool) {
	h := colorHash(uint64(ref))
	e, found := c.find(c.tables[h>>56].Load(), h, ref)
	return entry{nil, e}, found
}

// same reports whether an entry from peek is the state's. While another one is being made, half
// of its reference can look like this one; it has no bits then.
func (e *entry) same(ref statestore.Ref) bool { return keyOf(e.words) == uint64(ref) }

// fetch asks for the memory of a state's entry.
func (c *colors) fetch(ref statestore.Ref) {
	h := colorHash(uint64(ref))
	t := c.tables[h>>56].Load()
	i, _ := bits.Mul64(h<<8, t.size)
	prefetch.Line(unsafe.Pointer(&t.slots[i*uint64(c.words)]))
}

func colorHash(ref uint64) uint64 {
	ref *= 0x9e3779b97f4a7c15
	ref ^= ref >> 32
	return ref * 0xd6e8feb86659fd93
}

const refMask = 1<<refBits - 1

// keyOf returns the reference in an entry, 0 if it is free.
func keyOf(e []uint32) uint64 {
	return (uint64(atomic.LoadUint32(&e[0])) | uint64(atomic.LoadUint32(&e[1]))<<32) & refMask
}

// find looks for the entry of a state, whose hash is h. If there is none, it returns the free
// one where it belongs.
func (c *colors) find(t *colorTable, h uint64, ref statestore.Ref) (e []uint32, found bool) {
	w := uint64(c.words)
	for i, _ := bits.Mul64(h<<8, t.size); ; {
		e := t.slots[i*w : i*w+w : i*w+w]
		switch keyOf(e) {
		case uint64(ref):
			return e, true
		case 0:
			return e, false
		}
		if i++; i == t.size {
			i = 0
		}
	}
}

// grow moves the entries of a locked shard to a larger table.
func (c *colors) grow(shard int, old *colorTable) *colorTable {
	t := c.newTable(uint64(float64(old.size)*colorGrowth) + 2)
	for at := 0; at < len(old.slots); at += c.words {
		e := old.slots[at : at+c.words]
		if key := keyOf(e); key != 0 {
			to, _ := c.find(t, colorHash(key), statestore.Ref(key))
			copy(to, e)
		}
	}
	c.shards[shard].limit = uint64(float64(t.size) * colorMaxLoad)
	c.tables[shard].Store(t)
	c.held.Add(-int64(4 * len(old.slots)))
	return t
}

// unlock releases the entry.
func (e *entry) unlock() { e.shard.mu.Unlock() }

// get returns a field of the entry, width bits from bit at on.
func (e *entry) get(at, width int) (v uint32) {
	for i := range width {
		if e.has(at + i) {
			v |= 1 << i
		}
	}
	return v
}

// set sets a field of the entry.
func (e *entry) set(at, width int, v uint32) {
	for i := range width {
		if v>>i&1 != 0 {
			e.mark(at + i)
		} else {
			e.erase(at + i)
		}
	}
}

// has returns one bit.
func (e *entry) has(at int) bool {
	b := refBits + at
	return atomic.LoadUint32(&e.words[b>>5])>>(b&31)&1 != 0
}

// mark sets one bit.
func (e *entry) mark(at int) {
	b := refBits + at
	w := &e.words[b>>5]
	if v := atomic.LoadUint32(w); v>>(b&31)&1 == 0 {
		atomic.StoreUint32(w, v|1<<(b&31))
	}
}

// erase clears one bit.
func (e *entry) erase(at int) {
	b := refBits + at
	w := &e.words[b>>5]
	if v := atomic.LoadUint32(w); v>>(b&31)&1 != 0 {
		atomic.StoreUint32(w, v&^(1<<(b&31)))
	}
}
