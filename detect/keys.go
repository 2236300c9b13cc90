package detect

import (
	"math/bits"
	"slices"
)

// packer packs a global state, a vector of local state indices, into as few
// 64-bit words as its fields need. No field crosses a word.
type packer struct {
	words int
	word  []uint8
	shift []uint8
	mask  []uint64
}

func newPacker(p *problem) *packer {
	k := &packer{words: 1}
	used := 0
	for i := range p.procs {
		width := max(1, bits.Len32(uint32(p.procs[i].last)))
		if used+width > 64 {
			k.words++
			used = 0
		}
		k.word = append(k.word, uint8(k.words-1))
		k.shift = append(k.shift, uint8(used))
		k.mask = append(k.mask, 1<<width-1)
		used += width
	}
	return k
}

func (k *packer) pack(s []int32, key []uint64) {
	clear(key)
	for i, x := range s {
		key[k.word[i]] |= uint64(x) << k.shift[i]
	}
}

func (k *packer) unpack(key []uint64, s []int32) {
	for i := range s {
		s[i] = int32(key[k.word[i]] >> k.shift[i] & k.mask[i])
	}
}

// keySet is the set H of visited states: packed keys in an open-addressing
// table. The initial state packs to zero, which marks an empty place, so it is
// kept apart. The table is exact and belongs to one goroutine; package
// statestore's sets are for many goroutines and states of any length, and cost
// several times the time of a transition here.
type keySet struct {
	words   int
	table   []uint64
	limit   int // grow at this many
	n       int
	hasZero bool
}

func newKeySet(words int) *keySet {
	return &keySet{words: words, table: make([]uint64, 1024*words), limit: 512}
}

func hashKey(key []uint64) uint64 {
	h := uint64(0)
	for _, x := range key {
		// The finalizer of MurmurHash3 on each word.
		h ^= x
		h ^= h >> 33
		h *= 0xff51afd7ed558ccd
		h ^= h >> 33
		h *= 0xc4ceb9fe1a85ec53
		h ^= h >> 33
	}
	return h
}

// insert adds the key and reports whether it was new.
func (t *keySet) insert(key []uint64) bool {
	if isZero(key) {
		if t.hasZero {
			return false
		}
		t.hasZero = true
		t.n++
		return true
	}
	if t.n >= t.limit {
		t.grow()
	}
	if !t.put(key) {
		return false
	}
	t.n++
	return true
}

// has reports whether the key was added.
func (t *keySet) has(key []uint64) bool {
	if isZero(key) {
		return t.hasZero
	}
	places := len(t.table) / t.words
	for at := int(hashKey(key) & uint64(places-1)); ; at = (at + 1) & (places - 1) {
		place := t.table[at*t.words : (at+1)*t.words]
		if isZero(place) {
			return false
		}
		if slices.Equal(place, key) {
			return true
		}
	}
}

func isZero(key []uint64) bool {
	for _, x := range key {
		if x != 0 {
			return false
		}
	}
	return true
}

func (t *keySet) put(key []uint64) bool {
	places := len(t.table) / t.words
	for at := int(hashKey(key) & uint64(places-1)); ; at = (at + 1) & (places - 1) {
		place := t.table[at*t.words : (at+1)*t.words]
		if isZero(place) {
			copy(place, key)
			return true
		}
		if slices.Equal(place, key) {
			return false
		}
	}
}

func (t *keySet) grow() {
	old := t.table
	t.table = make([]uint64, 2*len(old))
	t.limit *= 2
	for at := 0; at < len(old); at += t.words {
		if key := old[at : at+t.words]; !isZero(key) {
			t.put(key)
		}
	}
}

// bytes returns the size of the table in memory.
func (t *keySet) bytes() int64 { return int64(len(t.table)) * 8 }
