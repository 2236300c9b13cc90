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
// table in shards with a lock each. The hash of a state's reference is as long as the reference,
// which could be recovered from it. Its highest bits are the number of the shard. An entry is a
// few 32-bit words: the other bits of the hash (the key), followed by the state's bits, and by
// numbers where components are sought (components.go). So a state with one worker and a small
// automaton takes 8 bytes, or 4 more for each number, and a share of the table's free space,
// besides the store.
//
// An entry that is 0 is free, or equally the entry of a state that has no bit yet and the key 0.
//
// An entry is changed with its shard locked, and may be read without ([colors.peek]), because
// most successors of a state are finished and nothing else matters about them.
//
// Library maps take 16 bytes and more for the key alone, and cannot read and change an entry in one
// locked step without a pointer for each.
type colors struct {
	words  int // of an entry
	bits   int // of them: those before the numbers
	fields int // bits of the state itself
	each   int // bits of a vertex
	tables [colorShards]atomic.Pointer[colorTable]
	shards [colorShards]colorShard
	held   atomic.Int64 // bytes
}

const (
	refBits      = 58 // a reference of the Tree store is not longer
	colorShards  = 1 << shardBits
	shardBits    = 8
	keyBits      = refBits - shardBits
	keyMask      = 1<<keyBits - 1
	colorGrowth  = 1.25
	colorMaxLoad = 0.88
	firstEntries = 8

	// A shard with fewer entries is small. All small shards together take a few megabytes, so time
	// matters more than memory.
	smallEntries = 1 << 10
	smallGrowth  = 2
	smallMaxLoad = 0.6
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

// newColors returns a table for states with so many bits, so many vertices of that many bits each,
// and so many numbers.
func newColors(fields, vertices, each, numbers int) *colors {
	c := &colors{fields: fields, each: each, bits: (keyBits + fields + vertices*each + 31) / 32}
	c.words = c.bits + numbers
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
	c.shards[shard].limit = limitOf(size)
	c.tables[shard].Store(t)
	return t
}

// limitOf returns how many of a shard's entries may be used.
func limitOf(size uint64) uint64 {
	if size < smallEntries {
		return uint64(float64(size) * smallMaxLoad)
	}
	return uint64(float64(size) * colorMaxLoad)
}

// bytes returns the memory that the table holds.
func (c *colors) bytes() uint64 { return uint64(c.held.Load()) }

// entry is the entry of a state: locked, or from peek.
type entry struct {
	shard *colorShard // nil from peek
	words []uint32
}

// lock returns the entry of a state, a new one if it has none. The caller sets a bit in a new one,
// unlocks it and uses it no more.
func (c *colors) lock(ref statestore.Ref) entry { return c.lockHash(colorHash(ref)) }

// lockHash is lock of the state whose reference has a hash.
func (c *colors) lockHash(h uint64) entry {
	shard := h >> keyBits
	s := &c.shards[shard]
	s.mu.Lock()
	t := c.tables[shard].Load()
	e, found := c.find(t, h&keyMask)
	if found {
		return entry{s, e}
	}
	if s.used >= s.limit {
		t = c.grow(int(shard), t)
		e, _ = c.find(t, h&keyMask)
	}
	atomic.StoreUint32(&e[0], uint32(h))
	atomic.StoreUint32(&e[1], uint32(h&keyMask>>32))
	s.used++
	return entry{s, e}
}

// look returns the locked entry of a state; if it has none, nothing is locked.
func (c *colors) look(ref statestore.Ref) (entry, bool) {
	h := colorHash(ref)
	s := &c.shards[h>>keyBits]
	s.mu.Lock()
	e, found := c.find(c.tables[h>>keyBits].Load(), h&keyMask)
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
	h := colorHash(ref)
	e, found := c.find(c.tables[h>>keyBits].Load(), h&keyMask)
	return entry{nil, e}, found
}

// same reports whether an entry from peek is the state's. While another one is being made, half
// of its key can look like this one; it has no bits then.
func (e *entry) same(ref statestore.Ref) bool { return keyOf(e.words) == colorHash(ref)&keyMask }

// fetch asks for the memory of a state's entry.
func (c *colors) fetch(ref statestore.Ref) {
	h := colorHash(ref)
	t := c.tables[h>>keyBits].Load()
	prefetch.Line(unsafe.Pointer(&t.slots[t.place(h&keyMask)*uint64(c.words)]))
}

// colorHash scatters references: a bijection of refBits bits.
func colorHash(ref statestore.Ref) uint64 {
	const mask = 1<<refBits - 1
	h := uint64(ref) * 0x9e3779b97f4a7c15 & mask
	h ^= h >> (refBits / 2)
	return h * 0xd6e8feb86659fd93 & mask
}

// keyOf returns the key in an entry.
func keyOf(e []uint32) uint64 {
	return (uint64(atomic.LoadUint32(&e[0])) | uint64(atomic.LoadUint32(&e[1]))<<32) & keyMask
}

// free reports whether an entry whose key is 0 is free.
func free(e []uint32) bool {
	for i := range e {
		if atomic.LoadUint32(&e[i]) != 0 {
			return false
		}
	}
	return true
}

// place returns where the search for a key begins.
func (t *colorTable) place(key uint64) uint64 {
	i, _ := bits.Mul64(key<<(64-keyBits), t.size)
	return i
}

// find looks for the entry with a key. If there is none, it returns the free one where it belongs.
func (c *colors) find(t *colorTable, key uint64) (e []uint32, found bool) {
	w := uint64(c.words)
	for i := t.place(key); ; {
		e := t.slots[i*w : i*w+w : i*w+w]
		switch k := keyOf(e); {
		case k == 0 && free(e):
			return e, false
		case k == key:
			return e, true
		}
		if i++; i == t.size {
			i = 0
		}
	}
}

// grow moves the entries of a locked shard to a larger table.
func (c *colors) grow(shard int, old *colorTable) *colorTable {
	growth := colorGrowth
	if old.size < smallEntries {
		growth = smallGrowth
	}
	t := c.newTable(uint64(float64(old.size)*growth) + 2)
	for at := 0; at < len(old.slots); at += c.words {
		if e := old.slots[at : at+c.words]; !free(e) {
			to, _ := c.find(t, keyOf(e))
			copy(to, e)
		}
	}
	c.shards[shard].limit = limitOf(t.size)
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
	b := keyBits + at
	return atomic.LoadUint32(&e.words[b>>5])>>(b&31)&1 != 0
}

// mark sets one bit.
func (e *entry) mark(at int) {
	b := keyBits + at
	w := &e.words[b>>5]
	if v := atomic.LoadUint32(w); v>>(b&31)&1 == 0 {
		atomic.StoreUint32(w, v|1<<(b&31))
	}
}

// erase clears one bit.
func (e *entry) erase(at int) {
	b := keyBits + at
	w := &e.words[b>>5]
	if v := atomic.LoadUint32(w); v>>(b&31)&1 != 0 {
		atomic.StoreUint32(w, v&^(1<<(b&31)))
	}
}
