package cluster

import (
	"encoding/binary"
	"math/bits"
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
const cacheSize = 1 << 14

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
	b.m = b.last.append(b.m, depth, parent, s)
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

// sent is what stands in a message of states. Each state is told by what is new beside the
// one before it, which often is the end of another move from the same state.
type sent struct {
	depth  int
	parent uint64
	state  []uint64
}

// What the first byte of a state says, besides.
const (
	otherParent = 1 << iota // depth and parent follow
	otherLength             // the number of words follows
)

// append appends a state, which becomes the one before the next.
func (p *sent) append(m []byte, depth int, parent uint64, s []uint64) []byte {
	head := len(m)
	m = append(m, 0)
	if depth != p.depth || parent != p.parent {
		m[head] |= otherParent
		m = binary.AppendUvarint(m, uint64(depth))
		m = appendChange(m, parent^p.parent)
		p.depth, p.parent = depth, parent
	}
	if len(s) != len(p.state) {
		m[head] |= otherLength
		m = binary.AppendUvarint(m, uint64(len(s)))
		p.resize(len(s))
	}
	for i, w := range s {
		m = appendChange(m, w^p.state[i])
		p.state[i] = w
	}
	return m
}

// appendChange appends the bits in which a word has changed: which bytes have any, and these.
func appendChange(m []byte, x uint64) []byte {
	at := len(m)
	m = append(m, 0)
	for bit := byte(1); x != 0; x, bit = x>>8, bit<<1 {
		if byte(x) != 0 {
			m[at] |= bit
			m = append(m, byte(x))
		}
	}
	return m
}

// change is the inverse of appendChange.
func change(m []byte) (x uint64, rest []byte, ok bool) {
	if len(m) == 0 || bits.OnesCount8(m[0]) >= len(m) {
		return 0, nil, false
	}
	mask, rest := m[0], m[1:]
	for shift := 0; mask != 0; mask, shift = mask>>1, shift+8 {
		if mask&1 != 0 {
			x |= uint64(rest[0]) << shift
			rest = rest[1:]
		}
	}
	return x, rest, true
}

func (p *sent) resize(n int) {
	for len(p.state) < n {
		p.state = append(p.state, 0)
	}
	p.state = p.state[:n]
}

// next takes the next state from a message that is not empty, and returns the rest of it.
func (p *sent) next(m []byte) (rest []byte, ok bool) {
	head, m := m[0], m[1:]
	if head >= otherLength<<1 {
		return nil, false
	}
	if head&otherParent != 0 {
		depth, n := binary.Uvarint(m)
		if n <= 0 {
			return nil, false
		}
		x, rest, ok := change(m[n:])
		if !ok {
			return nil, false
		}
		p.depth, p.parent, m = int(depth), p.parent^x, rest
	}
	if head&otherLength != 0 {
		length, n := binary.Uvarint(m)
		if n <= 0 || length > uint64(len(m)) { // each word has a byte
			return nil, false
		}
		p.resize(int(length))
		m = m[n:]
	}
	for i := range p.state {
		x, rest, ok := change(m)
		if !ok {
			return nil, false
		}
		p.state[i] ^= x
		m = rest
	}
	return m, true
}

// get returns an empty buffer for a rank.
func (x *Exchange) get(to int) *buffer {
	var b *buffer
	select {
	case b = <-x.free:
		b.m, b.states, b.last = b.m[:0], 0, sent{state: b.last.state[:0]}
	default:
		b = &buffer{m: make([]byte, 0, x.o.BufferBytes+x.o.BufferBytes/4)}
	}
	b.to = to
	b.m = append(b.m, kindStates)
	return b
}
