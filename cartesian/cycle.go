package cartesian

import (
	"slices"

	"cpor/system"
)

// hashSet holds the hashes of the states on one prefix, in their order. Short
// prefixes, which are most, are searched from end to end; longer ones have a
// table with open addressing, emptied by a generation.
type hashSet struct {
	hashes     []uint64
	slots      []slot // nil or a power of two in length, at most half full
	generation uint32
	indexed    int // so many hashes are in the slots
}

type slot struct {
	generation uint32
	index      uint32
}

// scanned is the length up to which a search from end to end is as fast as a
// probe: two cache lines of hashes.
const scanned = 16

func (s *hashSet) reset() {
	s.hashes = s.hashes[:0]
	s.indexed = 0
	s.generation++
	if s.generation == 0 {
		clear(s.slots)
		s.generation = 1
	}
}

func (s *hashSet) add(h uint64) { s.hashes = append(s.hashes, h) }

// find returns the place of a state with hash h for which same holds, or -1.
func (s *hashSet) find(h uint64, same func(index int) bool) int {
	if len(s.hashes) <= scanned {
		for i, x := range s.hashes {
			if x == h && same(i) {
				return i
			}
		}
		return -1
	}
	s.index()
	mask := uint64(len(s.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		sl := s.slots[i]
		if sl.generation != s.generation {
			return -1
		}
		if s.hashes[sl.index] == h && same(int(sl.index)) {
			return int(sl.index)
		}
	}
}

// index puts the hashes that came since the last search into the slots.
func (s *hashSet) index() {
	if 2*len(s.hashes) > len(s.slots) {
		n := max(4*scanned, len(s.slots))
		for n < 2*len(s.hashes) {
			n *= 2
		}
		s.slots = make([]slot, n)
		s.indexed = 0
	}
	mask := uint64(len(s.slots) - 1)
	for ; s.indexed < len(s.hashes); s.indexed++ {
		i := s.hashes[s.indexed] & mask
		for s.slots[i].generation == s.generation {
			i = (i + 1) & mask
		}
		s.slots[i] = slot{s.generation, uint32(s.indexed)}
	}
}

// onPrefix reports whether the current state of prefix p's machine is on the prefix already.
// Equal hashes are only a hint: the earlier state is executed again and the encodings are
// compared.
func (e *Expander) onPrefix(p *prefix, hash uint64) bool {
	e.cyclic = p
	return p.states.find(hash, e.same) >= 0
}

// isSame reports whether the state after so many transitions of the prefix e.cyclic is that behind
// all of them.
func (e *Expander) isSame(index int) bool {
	p := e.cyclic
	return slices.Equal(e.stateOn(p, index, &e.encoded[0]),
		e.stateOn(p, int(p.length), &e.encoded[1]))
}

// stateOn returns the state after so many transitions of a prefix, which have moved its thread.
func (e *Expander) stateOn(p *prefix, index int, buf *system.State) system.State {
	switch {
	case index == 0:
		return e.start
	case index <= p.next-p.from:
		return e.encode(&e.code.steps[p.from+index-1], buf)
	case index == int(p.length):
		*buf = p.machine.Encode(*buf)
		return *buf
	}
	e.load()
	mark := e.base.Mark()
	for k, alt := 0, p.alt; k < index; k, alt = k+1, 0 {
		e.base.Step(int(p.thread), alt)
	}
	*buf = e.base.Encode(*buf)
	e.base.Rewind(mark)
	return *buf
}
