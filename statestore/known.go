package statestore

import "math/bits"

// known is the values of one part, of the states of one length, that a session has looked up
// lately, with their numbers. A part takes few values, so most are found here, whatever the part
// was before the step and however many of its words have changed. It is a direct-mapped table of
// whole values, which grows as long as many are not found.
type known struct {
	first   int      // word of the states
	masks   []uint64 // the part's bits, from there on
	entries []uint64 // each is a number, 0 if there is none, and the words of its value
	shift   uint8    // from a hash to an entry
	misses  int      // since the table has had its size
	room    *int     // how many words more the tables of the session may have
}

const (
	// maxKnown is how many words a part may have to be found by its value. If it has more than
	// shortKnown, it is found by the change if only one leaf has changed (see move).
	maxKnown, shortKnown = 16, 6
	// The least and the greatest logarithm of the number of entries, the most words of a table,
	// and those of all tables of a session.
	minKnownBits, maxKnownBits, knownWords, allKnownWords = 6, 11, 1 << 13, maxParts << 13
)

// newKnown returns an empty table for part p of a shape; nil if the part has too many words, or
// there is no room.
func newKnown(sh *shape, p int, room *int) *known {
	k := &known{room: room}
	for v := range sh.leaves {
		vx := &sh.vertex[v]
		if int(vx.part) != p {
			continue
		}
		if k.masks == nil {
			k.first = int(vx.word)
		}
		k.masks = append(k.masks, vx.mask)
	}
	if len(k.masks) > maxKnown || !k.resize(minKnownBits) {
		return nil
	}
	return k
}

// resize gives the table 1<<bits entries, which are empty, if there is room.
func (k *known) resize(bits int) bool {
	k.misses = 0
	words := (len(k.masks) + 1) << bits
	more := words - len(k.entries)
	if bits > maxKnownBits || words > knownWords || more > *k.room {
		return false
	}
	*k.room -= more
	k.entries, k.shift = make([]uint64, words), uint8(64-bits)
	return true
}

// byMove reports whether the part is found by the change if only one leaf has changed. It may be
// called on nil.
func (k *known) byMove() bool { return k == nil || len(k.masks) > shortKnown }

// find returns the number of the part in a state, 0 if it is not there, and the place for it.
func (k *known) find(s []uint64) (number uint32, at int) {
	masks := k.masks
	s = s[k.first:][:len(masks)]
	var h uint64
	for i, m := range masks {
		h = (bits.RotateLeft64(h, 29) ^ s[i]&m) * recentMix
	}
	at = int(h>>(k.shift&63)) * (len(masks) + 1)
	e := k.entries[at:][:len(masks)+1]
	value := e[1:][:len(masks)]
	for i, m := range masks {
		if value[i] != s[i]&m {
			return 0, at
		}
	}
	return uint32(e[0]), at
}

// enter enters the number of the part in a state at the place for it.
func (k *known) enter(s []uint64, number uint32, at int) {
	k.misses++
	if k.misses > 2*len(k.entries)/(len(k.masks)+1) && k.resize(65-int(k.shift)) {
		_, at = k.find(s)
	}
	e := k.entries[at:][:len(k.masks)+1]
	e[0] = uint64(number)
	for i, m := range k.masks {
		e[i+1] = s[k.first+i] & m
	}
}
