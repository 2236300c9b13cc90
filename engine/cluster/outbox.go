package cluster

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"cpor/engine/cluster/division"
)

// Outbox is one worker's way out. It is not safe for concurrent use.
type Outbox struct {
	x      *Exchange
	open   []*buffer // the buffer that is filled, by destination; nil if empty
	words  []bool    // that decide about the owner; nil are all
	cache  []uint64  // states that were sent, each behind its length+1
	stride int       // from one to the next
	spared uint64
}

// How many states an outbox remembers to have sent, and in how many words at most. A
// state is the end of several moves, and those are often tried one soon after the
// other; see docs/cluster.md for what it saves.
const cacheSize, cacheWords = 1 << 12, 1 << 20

// Owner returns the rank that a state belongs to.
func (o *Outbox) Owner(s []uint64) int {
	return o.x.o.Division.Part(s, o.x.o.Parts) % o.x.comm.Size()
}

// Stays tells whether a state has the owner of another one from which it differs in
// these words at most. It may also say that it has not.
func (o *Outbox) Stays(changed []int32) bool {
	if o.words == nil {
		return false
	}
	for _, i := range changed {
		if int(i) < len(o.words) && o.words[i] {
			return false
		}
	}
	return true
}

// Send sends a state to its owner, with the number of moves that lead to it and
// the name of the state from which it was reached. It waits if too many
// messages are under way.
func (o *Outbox) Send(to int, depth int, parent uint64, s []uint64) {
	if o.sent(s) {
		o.spared++
		return
	}
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

// sent tells whether a state is known to have been sent, and remembers it.
func (o *Outbox) sent(s []uint64) bool {
	if len(s) >= cacheWords {
		return false
	}
	if len(s) >= o.stride {
		o.stride = len(s) + 1
		o.cache = make([]uint64, min(cacheSize, cacheWords/o.stride)*o.stride)
	}
	// A hash that is the same proves nothing, so the words are compared.
	at, _ := bits.Mul64(division.Hash(s), uint64(len(o.cache)/o.stride))
	room := o.cache[int(at)*o.stride:][:len(s)+1]
	if room[0] == uint64(len(s))+1 && slices.Equal(room[1:], s) {
		return true
	}
	room[0] = uint64(len(s)) + 1
	copy(room[1:], s)
	return false
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

// What the first byte of a state says. Behind what it announces come the words, eight by eight: a
// byte that tells which of them have changed, and the changes.
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
	last := p.state[:len(s)]
	for i := 0; i < len(s); i += 8 {
		at := len(m)
		m = append(m, 0)
		for j := i; j < min(i+8, len(s)); j++ {
			if x := s[j] ^ last[j]; x != 0 {
				m[at] |= 1 << (j - i)
				m = appendChange(m, x)
				last[j] = s[j]
			}
		}
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
		if n <= 0 || length > 8*uint64(len(m)) { // a byte tells which of eight words have changed
			return nil, false
		}
		p.resize(int(length))
		m = m[n:]
	}
	for i := 0; i < len(p.state); i += 8 {
		if len(m) == 0 {
			return nil, false
		}
		changed := m[0]
		m = m[1:]
		for ; changed != 0; changed &= changed - 1 {
			j := i + bits.TrailingZeros8(changed)
			if j >= len(p.state) {
				return nil, false
			}
			x, rest, ok := change(m)
			if !ok {
				return nil, false
			}
			p.state[j] ^= x
			m = rest
		}
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
