package statestore

import (
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"

	"cpor/internal/probe"
)

// nodes interns 64-bit values: it gives equal values the same number, counting
// from 1, and returns the value of a number. Numbers are dense and stay.
//
// # Values
//
// The values are in the order of their numbers in chunks that never move. The
// chunks grow with the table, eight to each doubling of it, so at most an eighth
// of the memory is unused (see place).
//
// # Index
//
// The index is an open-addressing table of 32-bit entries in lines of sixteen,
// one cache line. The low bits of an entry are a number, just as many as a table
// of that size can need, and the others are a tag of the value's hash, so that a
// number is hardly ever looked up in vain. The hash's high bits choose one of
// indexShards shards and the line in it. Paths, insertion and growth are those of
// a [table], step for step; see there for why they are correct. What differs: a
// number is taken, and the value written, before the compare-and-swap that
// publishes them; a worker that loses it keeps the number for its next value (see
// spare).
type nodes struct {
	index  [indexShards]atomic.Pointer[index]
	last   atomic.Uint32 // the last number taken
	room   atomic.Uint32 // the last number that has a chunk
	chunks [chunkCount][]uint64
	mu     probe.Mutex // guards making chunks
	ledger *ledger
	number int // among the tables of a store

	// The numbers that were taken and represent no value: they are in no entry of the index, and
	// never will be. Guarded by mu.
	lost []uint32
	kept uint32 // the last number that is in a log (see SaveStates)
}

const (
	chunkBits      = 6 // the first chunk holds the numbers below 1<<chunkBits
	maxNode        = 1<<31 - 2
	chunkCount     = 1 + 8*(31-chunkBits)
	indexSlots     = 16
	indexShards    = 1 << indexShardBits
	indexShardBits = 4
	// An index grows by half when it is nearly six sevenths full. It is much
	// smaller than the table of states, so copying less wins over memory.
	indexMaxLoad = 0.85
)

// index is the storage of one shard of the index.
type index struct {
	slots   []uint32
	limit   int64
	count   atomic.Int64
	next    atomic.Pointer[index]
	idBits  uint8
	growing atomic.Bool
}

func (x *index) bytes() int { return cap(x.slots)*4 + int(unsafe.Sizeof(*x)) }

func (x *index) lines() uint64 { return uint64(len(x.slots)) / indexSlots }

// line returns the line of a value with hash h.
func (x *index) line(h uint64) uint64 {
	i, _ := bits.Mul64(h*indexShards, x.lines())
	return i
}

// newIndex returns the storage for a shard of which the numbers are below
// 1<<idBits.
func newIndex(lines int, idBits uint8) *index {
	slots := append([]uint32(nil), make([]uint32, lines*indexSlots)...)
	slots = slots[:cap(slots)/indexSlots*indexSlots]
	return &index{slots: slots, idBits: idBits, limit: int64(indexMaxLoad * float64(len(slots)))}
}

func newNodes(l *ledger) *nodes {
	n := &nodes{ledger: l}
	l.take(int(unsafe.Sizeof(*n)), true)
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

// observe announces that the value of a number is read.
func (n *nodes) observe(id uint32) {
	c, o := place(id)
	probe.Read(probe.NodeChunks, unsafe.Pointer(&n.chunks[c]))
	probe.Read(probe.Node, unsafe.Pointer(&n.chunks[c][o]))
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
	probe.Write(probe.NodeLast, unsafe.Pointer(&n.last))
	probe.Read(probe.NodeChunks, unsafe.Pointer(&n.room))
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
			if !n.ledger.take(int(size)*8, first == 0) {
				// The number is lost, but so is the search.
				n.lost = append(n.lost, id)
				n.mu.Unlock()
				return 0
			}
			n.chunks[c] = make([]uint64, size)
			n.room.Store(first + size - 1)
		}
		n.mu.Unlock()
	}
	return id
}

// shard returns a shard of the index, which it makes if there is none; nil if
// there is no memory for it.
func (n *nodes) shard(h uint64) *index {
	dir := &n.index[h>>(64-indexShardBits)]
	if x := dir.Load(); x != nil {
		return x
	}
	x := newIndex(1, 10)
	if n.ledger.take(x.bytes(), false) && !dir.CompareAndSwap(nil, x) {
		n.ledger.give(x.bytes())
	}
	return dir.Load()
}

// intern returns the number of v, whose hash is h, 0 if v has none and there is no
// memory for a new one. spare is the caller's: a number that it has taken and not
// used.
func (n *nodes) intern(v, h uint64, spare *uint32) uint32 {
	x := n.shard(h)
	if x == nil {
		return 0
	}
	for {
		probe.Read(probe.IndexHead, unsafe.Pointer(x))
		i := x.line(h)
		mask := uint32(1)<<x.idBits - 1
		frozen := mask + 1
		tag := uint32(h) &^ mask
	path:
		for k := uint64(0); ; k++ {
			if k == farLines || k == x.lines() {
				if n.enlarge(h, x, false) {
					break path
				}
				return n.find(v, h)
			}
			line := (*[indexSlots]uint32)(x.slots[i*indexSlots:])
			probe.Read(probe.Index, unsafe.Pointer(line))
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
					probe.Read(probe.NodeChunks, unsafe.Pointer(&n.chunks[c]))
					probe.Write(probe.Node, unsafe.Pointer(&n.chunks[c][o]))
					probe.Write(probe.Index, unsafe.Pointer(line))
					n.chunks[c][o] = v
					if id > mask {
						// Too big for the entries of this slab.
						if !n.enlarge(h, x, false) {
							return 0
						}
						break path
					}
					if atomic.CompareAndSwapUint32(&line[j], 0, tag|id) {
						*spare = 0
						probe.Write(probe.IndexCount, unsafe.Pointer(&x.count))
						if x.count.Add(1) > x.limit && x.growing.CompareAndSwap(false, true) {
							if !n.enlarge(h, x, false) {
								x.growing.Store(false)
							}
						}
						return id
					}
					n.ledger.failedCAS.Inc()
					e = atomic.LoadUint32(&line[j])
				}
				if e == frozen {
					n.await(h, x)
					break path
				}
				if (e^tag)&^mask == 0 {
					id := e & mask
					if probe.On {
						n.observe(id)
					}
					if n.value(id) == v {
						return id
					}
				}
			}
			if i++; i == x.lines() {
				i = 0
			}
		}
		x = x.next.Load()
	}
}

// find returns the number of v, whose hash is h, 0 if it has none.
func (n *nodes) find(v, h uint64) uint32 {
	for x := n.index[h>>(64-indexShardBits)].Load(); x != nil; x = x.next.Load() {
		i := x.line(h)
		mask := uint32(1)<<x.idBits - 1
		tag := uint32(h) &^ mask
	path:
		for k := uint64(0); k < x.lines(); k++ {
			line := (*[indexSlots]uint32)(x.slots[i*indexSlots:])
			for j := range line {
				e := atomic.LoadUint32(&line[j])
				if e == 0 {
					return 0
				}
				if e == mask+1 {
					break path
				}
				if (e^tag)&^mask == 0 {
					if id := e & mask; n.value(id) == v {
						return id
					}
				}
			}
			if i++; i == x.lines() {
				i = 0
			}
		}
	}
	return 0
}

// await is [table.await], for the shard of the hash h.
func (n *nodes) await(h uint64, x *index) {
	n.ledger.waits.Inc()
	for range patience + len(x.slots)/16 {
		if x.next.Load() != nil {
			return
		}
		probe.Pause()
		runtime.Gosched()
	}
	n.enlarge(h, x, true)
}

// enlarge is [table.enlarge], for the shard of the hash h.
func (n *nodes) enlarge(h uint64, x *index, force bool) bool {
	if x.next.Load() != nil {
		return true
	}
	// All numbers that are taken have to fit in, and some that are taken until
	// this slab grows again.
	idBits := uint8(min(31, bits.Len32(2*n.last.Load())))
	nx := newIndex(int(x.lines())*3/2+1, max(idBits, x.idBits))
	if !n.ledger.take(nx.bytes(), force) {
		return false
	}
	nx.count.Store(n.move(x, nx))
	if !x.next.CompareAndSwap(nil, nx) {
		n.ledger.give(nx.bytes())
		return true
	}
	n.ledger.grows.Inc()
	dir := &n.index[h>>(64-indexShardBits)]
	for {
		x := dir.Load()
		next := x.next.Load()
		if next == nil {
			return true
		}
		if dir.CompareAndSwap(x, next) {
			n.ledger.give(x.bytes())
		}
	}
}

// move is [table.move].
func (n *nodes) move(x, nx *index) (count int64) {
	mask, mask2 := uint32(1)<<x.idBits-1, uint32(1)<<nx.idBits-1
	taken := make([]uint8, nx.lines())
	for k := 0; k < len(x.slots); k += indexSlots {
		line := (*[indexSlots]uint32)(x.slots[k:])
		probe.Write(probe.Index, unsafe.Pointer(line))
		for j := range line {
			e := atomic.LoadUint32(&line[j])
			if e == 0 && !atomic.CompareAndSwapUint32(&line[j], 0, mask+1) {
				e = atomic.LoadUint32(&line[j])
			}
			if e == 0 || e == mask+1 {
				break
			}
			id := e & mask
			h := hashNode(n.value(id))
			i := nx.line(h)
			for taken[i] == indexSlots {
				if i++; i == nx.lines() {
					i = 0
				}
			}
			nx.slots[i*indexSlots+uint64(taken[i])] = uint32(h)&^mask2 | id
			taken[i]++
			count++
		}
	}
	return count
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

func (n *nodes) indexBytes() (b uint64) {
	for i := range n.index {
		if x := n.index[i].Load(); x != nil {
			b += uint64(x.bytes())
		}
	}
	return b
}
