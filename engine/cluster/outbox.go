package cluster

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"cpor/engine/cluster/division"
	"cpor/statestore"
)

// Outbox is one worker's way out. It is not safe for concurrent use.
//
// A state is sent as its words, or as the numbers that the sender's store has for its parts
// ([statestore.Sharing]). What a number means is sent to each rank once by each outbox, before the
// first state with it, and the rank remembers what number it has for that part itself.
type Outbox struct {
	x      *Exchange
	open   []*buffer // the buffer that is filled, by destination; nil if empty
	full   []int     // at how many bytes it is sent, by destination
	words  []bool    // that decide about the owner; nil are all
	cache  []uint64  // states that were sent, each behind its length+1
	stride int       // from one to the next
	spared uint64

	announced   map[int][]announced // by the length of states: by rank, the numbers that it knows
	announcedOf []announced         // of the length that states had last
	length      int                 // that
	numbered    []numberedState     // states that were sent by numbers
	value       []uint64
	byNumbers   uint64 // states that were sent so
}

// announced is the numbers of each part that a rank knows, a bit for each.
type announced [statestore.MaxNumbers][]uint64

// numberedState is a state as the numbers of its parts, two in each word, and its length.
type numberedState [statestore.MaxNumbers/2 + 1]uint64

// MostNumbers is how many numbers of a part can be sent: the tables that say what they mean have
// room for all below the largest one, on each worker for each other rank. Nor is a part with so
// many values sent often as the same one.
const MostNumbers = 1 << 20

// Parts is what an outbox asks for the parts of states; it is a [statestore.Sharing].
type Parts interface {
	Part(dst []uint64, length, part int, number uint32) []uint64
}

// How many states an outbox remembers to have sent, and in how many words at most. A
// state is the end of several moves, and those are often tried one soon after the
// other; see docs/cluster.md for what it saves.
const (
	cacheBits  = 12
	cacheSize  = 1 << cacheBits
	cacheWords = 1 << 20
)

// Owner returns the rank that a state belongs to.
func (o *Outbox) Owner(s []uint64) int {
	return o.x.o.Division.Part(s, o.x.o.Parts) % o.x.comm.Size()
}

// OwnerOf is Owner for a state by the sum of the terms of the division's fields, if there are as
// many parts as ranks and that tells.
func (o *Outbox) OwnerOf(sum uint64) int { return o.x.o.Division.PartOf(sum) }

// Stays reports whether a state has the owner of another one from which it differs in these
// words at most. It may also say that it has not.
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
	if o.duplicate(s) {
		o.spared++
		return
	}
	b := o.buffer(to)
	b.m = b.last.append(b.m, depth, parent, s)
	o.sendIfFull(b)
}

// buffer returns the buffer that is filled for a rank.
func (o *Outbox) buffer(to int) *buffer {
	b := o.open[to]
	if b == nil {
		b = o.x.get(to)
		o.open[to] = b
	}
	return b
}

// sendIfFull counts a state that was added to a buffer, and sends the buffer if it is full.
func (o *Outbox) sendIfFull(b *buffer) {
	b.states++
	if len(b.m) >= o.full[b.to] {
		// Where few states are under way, the receiver would wait for what is collected here. So a
		// message is not much more than a 32nd of what was sent before it.
		o.full[b.to] = min(o.full[b.to]+len(b.m)/32, o.x.o.BufferBytes)
		o.open[b.to] = nil
		o.x.queue <- b
	}
}

// SendNumbers is Send for a state of a length that is sent as the numbers of its k parts,
// numbers[:k], all below MostNumbers. from knows what they mean.
func (o *Outbox) SendNumbers(to int, depth int, parent uint64, length, k int,
	numbers *[statestore.MaxNumbers]uint32, from Parts) {
	if length != o.length {
		if o.announced == nil {
			o.announced, o.numbered = map[int][]announced{}, make([]numberedState, cacheSize)
		}
		if o.announced[length] == nil {
			o.announced[length] = make([]announced, o.x.comm.Size())
		}
		o.announcedOf, o.length = o.announced[length], length
	}
	now := numberedState{statestore.MaxNumbers / 2: uint64(length)}
	h := uint64(0)
	for i := range statestore.MaxNumbers / 2 {
		now[i] = uint64(numbers[2*i])<<32 | uint64(numbers[2*i+1])
		h = bits.RotateLeft64(h^now[i], 29) * mixer
	}
	// The state itself is compared, as in duplicate; word by word, which is faster than all at
	// once.
	last := &o.numbered[h>>(64-cacheBits)]
	if last[0] == now[0] && last[1] == now[1] && last[2] == now[2] && last[3] == now[3] {
		o.spared++
		return
	}
	*last = now
	b := o.buffer(to)
	for p, known := range o.announcedOf[to][:k] {
		n := numbers[p]
		if at := int(n / 64); at >= len(known) || known[at]>>(n%64)&1 == 0 {
			if at >= len(known) {
				known = append(known, make([]uint64, max(at+1-len(known), len(known)))...)
				o.announcedOf[to][p] = known
			}
			known[at] |= 1 << (n % 64)
			o.value = from.Part(o.value[:0], length, p, n)
			b.m = appendPart(b.m, length, p, n, o.value)
		}
	}
	b.m = b.last.appendNumbers(b.m, depth, parent, length, numbers)
	o.byNumbers++
	o.sendIfFull(b)
}

const mixer = 0x9E3779B97F4A7C15

// The four words of a numbered state that are compared are all.
var _ = [1]struct{}{}[statestore.MaxNumbers/2+1-4]

// duplicate reports whether a state is known to have been sent, and remembers it.
func (o *Outbox) duplicate(s []uint64) bool {
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
			o.x.queue <- b
		}
	}
}

// record is the last record of a message of states, written or read. Each state is encoded as the
// difference from the one before it, which often is the end of another move from the same state.
type record struct {
	depth  int
	parent uint64
	state  []uint64

	length  int // of the states that are sent as numbers
	numbers [statestore.MaxNumbers]uint32

	// What the record that was read last is.
	kind   byte
	of     int // byPart: the length of states
	part   int
	number uint32
	value  []uint64
}

// The records of a message of states. For example, behind a state of two words, another one from
// the same parent that differs from it in the lowest byte of word 1, which is 5 instead of 4, is
// told by
//
//	00          the same parent and the same length
//	02 01 01    word 1 has changed; its lowest byte has; by 5 xor 4
//
//	record  = words | numbers | meaning .
//	words   = flags [ parent ] [ length ] { group } .     one group for eight words, or fewer
//	group   = mask { change } .           a change for each bit of the mask: words that differ
//	numbers = flags [ parent ] [ length ] mask { uvarint } .      the numbers that differ
//	meaning = 0x08 length part number size { change } .           size words; all uvarints
//	flags   = byte .                      bit 0: parent follows; 1: length; 2: it is numbers
//	parent  = depth change .              depth is a uvarint
//	change  = mask { byte } .             a byte for each bit of the mask: those that differ
//	mask    = byte .
//
// All differences, but those of depth, length and numbers, are by exclusive or, and are from the
// record before; a meaning's from 0.

// What the first byte of a record says.
const (
	otherParent = 1 << iota // depth and parent follow
	otherLength             // the number of words follows
	byNumbers               // a state by numbers
	meaning                 // no state: what a number of a part means
)

// append appends a state, which becomes the one before the next.
func (p *record) append(m []byte, depth int, parent uint64, s []uint64) []byte {
	head := len(m)
	m = p.appendHead(m, 0, depth, parent)
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

// appendHead appends what all records of states begin with.
func (p *record) appendHead(m []byte, head byte, depth int, parent uint64) []byte {
	if depth == p.depth && parent == p.parent {
		return append(m, head)
	}
	m = append(m, head|otherParent)
	m = binary.AppendUvarint(m, uint64(depth))
	m = appendChange(m, parent^p.parent)
	p.depth, p.parent = depth, parent
	return m
}

// appendNumbers is append for a state that is sent as numbers.
func (p *record) appendNumbers(m []byte, depth int, parent uint64, length int,
	numbers *[statestore.MaxNumbers]uint32) []byte {
	head := len(m)
	m = p.appendHead(m, byNumbers, depth, parent)
	if length != p.length {
		m[head] |= otherLength
		m = binary.AppendUvarint(m, uint64(length))
		p.length = length
	}
	at := len(m)
	m = append(m, 0)
	for i, n := range numbers {
		if n != p.numbers[i] {
			m[at] |= 1 << i
			m = binary.AppendUvarint(m, uint64(n))
			p.numbers[i] = n
		}
	}
	return m
}

// appendPart appends what a number of a part of states of a length means.
func appendPart(m []byte, length, part int, number uint32, value []uint64) []byte {
	m = append(m, meaning)
	for _, n := range [...]uint64{uint64(length), uint64(part), uint64(number),
		uint64(len(value))} {
		m = binary.AppendUvarint(m, n)
	}
	for _, x := range value {
		m = appendChange(m, x)
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

func (p *record) resize(n int) {
	for len(p.state) < n {
		p.state = append(p.state, 0)
	}
	p.state = p.state[:n]
}

// next takes the next record from a message that is not empty, and returns the rest of it.
func (p *record) next(m []byte) (rest []byte, ok bool) {
	head, m := m[0], m[1:]
	p.kind = head &^ (otherParent | otherLength)
	switch {
	case p.kind == meaning && head == meaning:
		return p.nextPart(m)
	case p.kind != 0 && p.kind != byNumbers:
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
	length := uint64(0)
	if head&otherLength != 0 {
		n := 0
		if length, n = binary.Uvarint(m); n <= 0 {
			return nil, false
		}
		m = m[n:]
	}
	if p.kind == byNumbers {
		if head&otherLength != 0 {
			p.length = int(length)
		}
		return p.nextNumbers(m)
	}
	if head&otherLength != 0 {
		if length > 8*uint64(len(m)) { // a byte tells which of eight words have changed
			return nil, false
		}
		p.resize(int(length))
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

// nextNumbers takes the numbers of a state.
func (p *record) nextNumbers(m []byte) (rest []byte, ok bool) {
	if len(m) == 0 || m[0] >= 1<<statestore.MaxNumbers {
		return nil, false
	}
	changed, m := m[0], m[1:]
	for ; changed != 0; changed &= changed - 1 {
		x, n := binary.Uvarint(m)
		if n <= 0 || x > math.MaxUint32 {
			return nil, false
		}
		p.numbers[bits.TrailingZeros8(changed)] = uint32(x)
		m = m[n:]
	}
	return m, true
}

// nextPart takes what a number of a part means: p.value.
func (p *record) nextPart(m []byte) (rest []byte, ok bool) {
	var head [4]uint64
	for i := range head {
		x, n := binary.Uvarint(m)
		if n <= 0 || x > math.MaxUint32 {
			return nil, false
		}
		head[i], m = x, m[n:]
	}
	if head[2] >= MostNumbers || head[3] > uint64(len(m)) {
		return nil, false
	}
	p.of, p.part, p.number, p.value = int(head[0]), int(head[1]), uint32(head[2]), p.value[:0]
	for range head[3] {
		x, rest, ok := change(m)
		if !ok {
			return nil, false
		}
		p.value, m = append(p.value, x), rest
	}
	return m, true
}

// get returns an empty buffer for a rank.
func (x *Exchange) get(to int) *buffer {
	var b *buffer
	select {
	case b = <-x.free:
		b.m, b.states, b.last = b.m[:0], 0, record{state: b.last.state[:0]}
	default:
		b = &buffer{m: make([]byte, 0, x.o.BufferBytes+x.o.BufferBytes/4)}
	}
	b.to = to
	b.m = append(b.m, kindStates)
	return b
}
