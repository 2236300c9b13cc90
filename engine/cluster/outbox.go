package cluster

import (
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// Outbox is one worker's way out. It is not safe for concurrent use.
type Outbox struct {
	x      *Exchange
	open   []*buffer // the buffer that is filled, by destination; nil if empty
	bytes  []byte    // scratch
	cache  [][]uint64
	spared uint64
}

// cacheSize is the number of states that an outbox remembers to have sent. A
// state is the end of several moves, and those are often tried one soon after the
// other; see docs/cluster.md for what it saves.
const cacheSize = 1 << 12

// Owner returns the rank that a state belongs to, and the hash that it goes by.
func (o *Outbox) Owner(s []uint64) (rank int, hash uint64) {
	hash = Hash(s, &o.bytes)
	return int(hash % uint64(o.x.o.Parts) % uint64(o.x.comm.Size())), hash
}

// Hash returns the hash that a state goes by: modulo the number of parts it is the
// part of the covered set that the state belongs to. scratch is used again.
func Hash(s []uint64, scratch *[]byte) uint64 {
	b := (*scratch)[:0]
	for _, w := range s {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	*scratch = b
	return xxhash.Sum64(b)
}

// Send sends a state to its owner, with the number of moves that lead to it and
// the name of the state from which it was reached. It waits if too many
// messages are under way. hash is the one that Owner returned.
func (o *Outbox) Send(to int, hash uint64, depth int, parent uint64, s []uint64) {
	if o.cache == nil {
		o.cache = make([][]uint64, cacheSize)
	}
	// The low bits chose the rank.
	at := &o.cache[hash>>32%cacheSize]
	if slices.Equal(*at, s) {
		o.spared++
		return
	}
	*at = append((*at)[:0], s...)
	b := o.open[to]
	if b == nil {
		b = o.x.get(to)
		o.open[to] = b
	}
	b.m = binary.AppendUvarint(b.m, uint64(depth))
	b.m = binary.AppendUvarint(b.m, parent)
	b.m = binary.AppendUvarint(b.m, uint64(len(s)))
	for _, w := range s {
		b.m = binary.AppendUvarint(b.m, w)
	}
	b.states++
	if len(b.m) >= o.x.o.BufferBytes {
		o.open[to] = nil
		o.x.out <- b
	}
}

// Flush sends what has been collected. A worker calls it before it becomes
// idle.
func (o *Outbox) Flush() {
	for to, b := range o.open {
		if b != nil {
			o.open[to] = nil
			o.x.out <- b
		}
	}
}

// get returns an empty buffer for a rank.
func (x *Exchange) get(to int) *buffer {
	var b *buffer
	select {
	case b = <-x.free:
		b.m, b.states = b.m[:0], 0
	default:
		b = &buffer{m: make([]byte, 0, x.o.BufferBytes+x.o.BufferBytes/4)}
	}
	b.to = to
	b.m = append(b.m, kindStates)
	return b
}
