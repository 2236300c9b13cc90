package unfolding

import (
	"encoding/binary"
	"iter"
	"sync/atomic"
)

// chunks is a long slice that grows without being copied. It grows in one
// goroutine, while no other looks.
type chunks[T any] struct {
	c []*[1 << chunkBits]T
	n uint32
}

const chunkBits = 8

func (x *chunks[T]) at(i uint32) *T { return &x.c[i>>chunkBits][i&(1<<chunkBits-1)] }

func (x *chunks[T]) add(v T) uint32 {
	i := x.n
	if i>>chunkBits == uint32(len(x.c)) {
		x.c = append(x.c, new([1 << chunkBits]T))
	}
	x.n++
	*x.at(i) = v
	return i
}

// shared is like chunks, but it can be read while it grows under a lock. A reader may look at an
// entry whose number it got, atomically, after the entry was made.
type shared[T any] struct {
	c atomic.Pointer[[]*[1 << chunkBits]T]
	n uint32
}

func (x *shared[T]) at(i uint32) *T { return &(*x.c.Load())[i>>chunkBits][i&(1<<chunkBits-1)] }

// add makes room for one more, which is zero.
func (x *shared[T]) add() (uint32, *T) {
	i := x.n
	if i&(1<<chunkBits-1) == 0 {
		var c []*[1 << chunkBits]T
		if old := x.c.Load(); old != nil {
			c = *old
		}
		c = append(c, new([1 << chunkBits]T))
		x.c.Store(&c)
	}
	x.n++
	return i, x.at(i)
}

// pieces is a long slice that is written in pieces; none is cut in two. Who may look at it
// when is as for shared.
type pieces[T byte | uint32] struct {
	c atomic.Pointer[[][]T]
	n uint32
}

const pieceBits = 10

// add appends a piece and returns where it begins.
func (x *pieces[T]) add(piece []T) uint32 {
	const size = 1 << pieceBits
	var c [][]T
	if old := x.c.Load(); old != nil {
		c = *old
	}
	if room := uint32(len(c))<<pieceBits - x.n; int(room) < max(1, len(piece)) {
		// A long piece gets more, in one go; one without anything has a place, too.
		more := make([]T, (max(1, len(piece))+size-1)/size*size)
		x.n = uint32(len(c)) << pieceBits
		for i := 0; i < len(more); i += size {
			c = append(c, more[i:])
		}
		x.c.Store(&c)
	}
	at := x.n
	copy(c[at>>pieceBits][at&(size-1):], piece)
	x.n += uint32(len(piece))
	return at
}

// from returns what begins at a place.
func (x *pieces[T]) from(at uint32) []T {
	return (*x.c.Load())[at>>pieceBits][at&(1<<pieceBits-1):]
}

// index finds numbers by hashes: a table with open addressing of hashes beside 1 + the
// numbers. It grows by an eighth, so that an entry takes about 10 bytes, where a map takes 20
// to 40.
type index struct {
	slots []uint64
	n     int
}

// all returns the numbers of a hash.
func (x *index) all(hash uint32) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		if x.n == 0 {
			return
		}
		for i := place(hash, len(x.slots)); x.slots[i] != 0; i = after(i, len(x.slots)) {
			if s := x.slots[i]; uint32(s>>32) == hash && !yield(uint32(s)-1) {
				return
			}
		}
	}
}

// add enters a number.
func (x *index) add(hash, number uint32) {
	if n := len(x.slots); crowded(x.n, n) {
		old := x.slots
		x.slots = make([]uint64, grown(n))
		for _, s := range old {
			if s != 0 {
				x.put(s)
			}
		}
	}
	x.put(uint64(hash)<<32 | uint64(number+1))
	x.n++
}

func (x *index) put(s uint64) {
	i := place(uint32(s>>32), len(x.slots))
	for x.slots[i] != 0 {
		i = after(i, len(x.slots))
	}
	x.slots[i] = s
}

// place is where the search for a hash begins: slots are in the order of hashes, nearly.
func place(hash uint32, slots int) int { return int(uint64(hash) * uint64(slots) >> 32) }

func after(i, slots int) int {
	if i++; i == slots {
		return 0
	}
	return i
}

// crowded reports whether there are too many of n entries for one more.
func crowded(n, slots int) bool { return 6*(n+1) > 5*slots }

func grown(slots int) int { return slots + slots/8 + 32 }

// list is an index without the hashes, which are made again when it grows: for what is looked up
// seldom and is at hand.
type list struct {
	slots []uint32
	n     int
}

// all returns the numbers of a hash, and others.
func (x *list) all(hash uint32) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		if x.n == 0 {
			return
		}
		for i := place(hash, len(x.slots)); x.slots[i] != 0; i = after(i, len(x.slots)) {
			if !yield(x.slots[i] - 1) {
				return
			}
		}
	}
}

// add enters a number; hash tells the hashes of all.
func (x *list) add(number uint32, hash func(uint32) uint32) {
	if n := len(x.slots); crowded(x.n, n) {
		old := x.slots
		x.slots = make([]uint32, grown(n))
		for _, s := range old {
			if s != 0 {
				x.put(s, hash(s-1))
			}
		}
	}
	x.put(number+1, hash(number))
	x.n++
}

func (x *list) put(s, hash uint32) {
	i := place(hash, len(x.slots))
	for x.slots[i] != 0 {
		i = after(i, len(x.slots))
	}
	x.slots[i] = s
}

// numbers is a list of numbers, as varints.
type numbers []byte

func (x *numbers) next() uint32 {
	v, n := binary.Uvarint(*x)
	*x = (*x)[n:]
	return uint32(v)
}

func (x *numbers) skip(n uint32) {
	for range n {
		x.next()
	}
}
