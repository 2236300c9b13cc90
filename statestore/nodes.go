package statestore

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"
)

// nodes interns 64-bit values: it gives equal values the same number, counting
// from 1, and returns the value of a number. Numbers are dense and stay.
//
// # Values
//
// The values stand in the order of their numbers in chunks that never move. The
// chunks grow with the table, eight to each doubling of it, so at most an eighth
// of the memory is unused (see place).
//
// # Index
//
// The index is an open-addressing table of 32-bit entries in lines of sixteen,
// one cache line. The low bits of an entry are a number, just as many as a table
// of that size can need, and the others are a tag of the value's hash, so that a
// number is hardly ever looked up in vain. The line depends on the hash's high
// bits. Paths, insertion and growth are those of a [table] of one shard, step for
// step; see there for why they are correct. What differs: a number is taken, and
// the value written, before the compare-and-swap that publishes them; a worker
// that loses it keeps the number for its next value (see spare).
type nodes struct {
	index  atomic.Pointer[index]
	last   atomic.Uint32 // the last number taken
	room   atomic.Uint32 // the last number that has a chunk
	chunks [chunkCount][]uint64
	mu     sync.Mutex // guards making chunks
	budget *budget
	number int // among the tables of a store

	grows     atomic.Uint64
	failedCAS atomic.Uint64
}

const (
	chunkBits  = 6 // the first chunk holds the numbers below 1<<chunkBits
	maxNode    = 1<<31 - 2
	chunkCount = 1 + 8*(31-chunkBits)
	indexSlots = 16
	// An index grows by half when it is nearly six sevenths full. It is much
	// smaller than the table of states, so copying less wins over memory.
	indexMaxLoad = 0.85
)

// index is the storage of the index.
type index struct {
	slots   []uint32
	lines   uint64
	idBits  uint
	idMask  uint32
	limit   int64
	next    atomic.Pointer[index]
	count   atomic.Int64
	growing atomic.Bool
	moved   atomic.Bool
}

func (x *index) bytes() int { return cap(x.slots)*4 + int(unsafe.Sizeof(*x)) }

// frozen is the entry that closes a free slot: no value has the number 0.
func (x *index) frozen() uint32 { return x.idMask + 1 }

func newIndex(lines int) *index {
	slots := append([]uint32(nil), make([]uint32, lines*indexSlots)...)
	slots = slots[:cap(slots)/indexSlots*indexSlots]
	x := &index{slots: slots, lines: uint64(len(slots) / indexSlots)}
	// Twice the numbers that fit in, because numbers can be taken that are not
	// in the index yet.
	x.idBits = uint(min(31, bits.Len(uint(2*len(slots)))))
	x.idMask = 1<<x.idBits - 1
	x.limit = int64(indexMaxLoad * float64(len(slots)))
	return x
}

func newNodes(b *budget) *nodes {
	n := &nodes{budget: b}
	x := newIndex(1)
	n.index.Store(x)
	b.take(x.bytes()+int(unsafe.Sizeof(*n)), true)
	return n
}

// place returns the chunk that holds a number, and where in it.
func place(id uint32) (chunk, offset uint32) {
	if id < 1<<chunkBits {
		return 0, id
	}
	e := uint32(bits.Len32(id)) - 4 // chunks of 1<<e numbers
	return (e-(chunkBits-3))*8 + id>>e - 8 + 1, id & (1<<e - 1)
}

// value returns the value of a number.
func (n *nodes) value(id uint32) uint64 {
	c, o := place(id)
	return n.chunks[c][o]
}

// hashNode mixes a value. xxhash is the choice for whole states, of any length;
// for one word two multiplications do, and they are inlined.
func hashNode(v uint64) uint64 {
	v *= 0x9E3779B97F4A7C15
	v ^= v >> 32
	v *= 0xD6E8FEB86659FD93
	return v ^ v>>32
}

// take returns an unused number, 0 if there is no memory for it.
func (n *nodes) take() uint32 {
	id := n.last.Add(1)
	if id > maxNode {
		n.last.Add(^uint32(0))
		return 0
	}
	for id > n.room.Load() || n.room.Load() == 0 {
		n.mu.Lock()
		if room := n.room.Load(); id > room || room == 0 {
			first := room + 1
			if room == 0 {
				first = 0
			}
			c, _ := place(first)
			size := uint32(1 << chunkBits)
			if first > 0 {
				size = 1 << (bits.Len32(first) - 4)
			}
			if !n.budget.take(int(size)*8, first == 0) {
				n.mu.Unlock()
				// The number is lost, but so is the search.
				return 0
			}
			n.chunks[c] = make([]uint64, size)
			n.room.Store(first + size - 1)
		}
		n.mu.Unlock()
	}
	return id
}

// intern returns the number of v, whose hash is h, 0 if v has none and there is no
// memory for a new one. spare is the caller's: a number that it has taken and not
// used.
func (n *nodes) intern(v, h uint64, spare *uint32) uint32 {
	x := n.index.Load()
	for {
		i, _ := bits.Mul64(h, x.lines)
		tag := uint32(h) &^ x.idMask
	path:
		for k := uint64(0); ; k++ {
			if k == x.lines {
				if x.next.Load() == nil && !n.enlarge(x, false) {
					return 0
				}
				n.move(x)
				break path
			}
			line := (*[indexSlots]uint32)(x.slots[i*indexSlots:])
			for j := range line {
				e := atomic.LoadUint32(&line[j])
				if e == 0 {
					id := *spare
					if id == 0 {
						if id = n.take(); id == 0 {
							return 0
						}
						*spare = id
					}
					c, o := place(id)
					n.chunks[c][o] = v
					if id > x.idMask {
						// The number is too big for this index: go on in the next.
						if x.next.Load() == nil && !n.enlarge(x, false) {
							return 0
						}
						if e = atomic.LoadUint32(&line[j]); e == 0 {
							// Close the slot, for everybody, as move does.
							atomic.CompareAndSwapUint32(&line[j], 0, x.frozen())
							e = atomic.LoadUint32(&line[j])
						}
					} else if atomic.CompareAndSwapUint32(&line[j], 0, tag|id) {
						*spare = 0
						if x.count.Add(1) > x.limit && x.next.Load() == nil && x.growing.CompareAndSwap(false, true) {
							if !n.enlarge(x, false) {
								x.growing.Store(false)
							}
						}
						return id
					} else {
						n.failedCAS.Add(1)
						e = atomic.LoadUint32(&line[j])
					}
				}
				if e == x.frozen() {
					break path
				}
				if (e^tag)&^x.idMask == 0 {
					if id := e & x.idMask; n.value(id) == v {
						return id
					}
				}
			}
			if i++; i == x.lines {
				i = 0
			}
		}
		x = x.next.Load()
	}
}

// find returns the number of v, whose hash is h, 0 if it has none.
func (n *nodes) find(v, h uint64) uint32 {
	for x := n.index.Load(); x != nil; x = x.next.Load() {
		i, _ := bits.Mul64(h, x.lines)
		tag := uint32(h) &^ x.idMask
	path:
		for k := uint64(0); k < x.lines; k++ {
			line := (*[indexSlots]uint32)(x.slots[i*indexSlots:])
			for j := range line {
				e := atomic.LoadUint32(&line[j])
				if e == 0 {
					return 0
				}
				if e == x.frozen() {
					break path
				}
				if (e^tag)&^x.idMask == 0 {
					if id := e & x.idMask; n.value(id) == v {
						return id
					}
				}
			}
			if i++; i == x.lines {
				i = 0
			}
		}
	}
	return 0
}

// enlarge gives x a next index, if it has none yet, and moves the entries there.
// It returns false if there is no memory.
func (n *nodes) enlarge(x *index, force bool) bool {
	lines := int(x.lines)*3/2 + 1
	if !force && !n.budget.allow(lines*indexSlots*4) {
		return false
	}
	nx := newIndex(lines)
	if !n.budget.take(nx.bytes(), force) {
		return false
	}
	if !x.next.CompareAndSwap(nil, nx) {
		n.budget.give(nx.bytes())
		return true
	}
	n.grows.Add(1)
	n.move(x)
	return true
}

// move puts the entries of x into x.next and freezes its free slots.
func (n *nodes) move(x *index) {
	if !x.moved.Load() {
		next := x.next.Load()
		for i := range x.slots {
			e := atomic.LoadUint32(&x.slots[i])
			if e == 0 {
				if atomic.CompareAndSwapUint32(&x.slots[i], 0, x.frozen()) {
					continue
				}
				e = atomic.LoadUint32(&x.slots[i])
			}
			if e != x.frozen() {
				n.put(next, e&x.idMask)
			}
		}
		x.moved.Store(true)
	}
	for {
		x := n.index.Load()
		next := x.next.Load()
		if next == nil || !x.moved.Load() {
			return
		}
		if n.index.CompareAndSwap(x, next) {
			n.budget.give(x.bytes())
		}
	}
}

// put adds the number id, which is in an older index, to x or one behind it.
func (n *nodes) put(x *index, id uint32) {
	// A bigger index takes all numbers that a smaller one took.
	h := hashNode(n.value(id))
	for {
		i, _ := bits.Mul64(h, x.lines)
		e := uint32(h)&^x.idMask | id
	path:
		for k := uint64(0); ; k++ {
			if k == x.lines {
				if x.next.Load() == nil {
					n.enlarge(x, true)
				}
				break path
			}
			line := (*[indexSlots]uint32)(x.slots[i*indexSlots:])
			for j := range line {
				f := atomic.LoadUint32(&line[j])
				if f == 0 {
					if atomic.CompareAndSwapUint32(&line[j], 0, e) {
						x.count.Add(1)
						return
					}
					f = atomic.LoadUint32(&line[j])
				}
				if f == e {
					return
				}
				if f == x.frozen() {
					break path
				}
			}
			if i++; i == x.lines {
				i = 0
			}
		}
		x = x.next.Load()
	}
}

// count returns how many values have numbers, numbers taken but not used
// included.
func (n *nodes) count() uint32 { return n.last.Load() }

// nodeBytes returns the memory of the values; indexBytes that of the index.
func (n *nodes) nodeBytes() uint64 {
	room := uint64(n.room.Load())
	if room > 0 {
		room++
	}
	return room*8 + uint64(unsafe.Sizeof(*n))
}

func (n *nodes) indexBytes() uint64 { return uint64(n.index.Load().bytes()) }
