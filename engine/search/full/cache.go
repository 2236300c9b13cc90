package full

import (
	"math/bits"

	"cpor/statestore"
	"cpor/system"
)

// stepCache remembers what steps do, so that they need not be executed again. For example:
//
//	Thread 1 executes x = y + 1 in a state with y = 3: it has read its program counter and y,
//	and has written x = 4 and the next program counter. This is entered as an effect, under the
//	values of what was read. In the next state only thread 2 has moved. If y is still 3, the
//	effect is found, and its two writes are applied to the state.
//	In a state with y = 5 it is not found: the step is executed, and a second effect is entered.
//
// That is right because a step is a function of the bits that it reads ([system.Repeating]), its
// read set. Which bits these are is known only when the step has been executed. But what is read
// first is the same for all steps of a thread at a location, and what is read next follows from
// the values. So few read sets occur at a location. A lookup probes the table of effects, a hash
// table, with each of them; the one that hit last comes first. Where that misses often, as where
// steps index an array, the location is split by the values of more of the thread's own bits.
//
// Where states are stored as the numbers of their parts ([statestore.Numbering]), a second table
// maps an effect and the number of a part to the number of the part afterwards, so that the end
// of the step need not be taken apart either. If bits are copied from another part, the number of
// that part is in the key, too.
//
// LTSmin's caches of local transitions are one table, from the numbers of all touched parts to
// those afterwards (Blom, van de Pol, Weber, CAV 2010). Two tables need room for the sum of what
// threads and parts can be, not for the product: with one, a third of the steps of indexer with 8
// threads were not found among 2^17 entries. Steps that read too much for a read set use such a
// table all the same (local.go).
//
// A cache that rarely hits costs time. Each hit adds to a budget, each miss takes from it, and when
// it is used up the cache is bypassed for a while.
type stepCache struct {
	contexts    map[context]*contextEntry
	last        context
	lastEntry   *contextEntry // of last
	locations   []location    // 0 is nil
	index       []int32       // hash index of locations, open addressing; 0 is free
	chains      []link        // singly linked lists of read sets; 0 is nil
	readSets    []readSet     // 0 is nil
	effects     []effect
	updates     []update // by effect
	writes      []write  // of all of them
	partUpdates []partUpdate
	localSteps  []localStep
	version     uint32 // of the effect that was entered last; each has its own

	maxWords       int // limit of the words of a read set
	evictions      int // of part updates by others, since the table grew
	localEvictions int // of local steps
	budget         int // see missCost
	bypass         int // the number of states that are still expanded without the cache

	numbers [statestore.MaxNumbers]uint32
	to      [statestore.MaxNumbers]uint32
	values  values

	// Scratch: of the last step, and by word, all 0.
	step                 system.Scope
	lastWrites           []write
	masks, known, copied []uint64
}

// context is what has to be equal for bits to mean the same.
type context struct{ length, regime int }

// contextEntry holds the inline caches of the threads in states of one context.
type contextEntry struct {
	number  uint32 // from 1
	threads []inlineCache
}

// inlineCache is the result of the last lookup of a thread. Mostly the thread has not moved since,
// and its first alternative does the same again.
type inlineCache struct {
	keys     [2]system.Bits // the program counter, and more of the thread's own bits
	keyBits  system.Bits    // that of the two which determined the location
	key      uint64         // its value
	location int32          // 0 if it is not known
	readSet  int32          // of the first alternative, at the last lookup; 0 if it missed
	effect   int32          // the hit
}

// location is where a thread stands: the value of its program counter, or of more of its own bits.
type location struct {
	key     uint64
	thread  uint32 // with the number of the context
	budget  int16  // of lookups by parts, see firstBudget
	parts   uint8  // that steps from here touch, if they are found by parts; 0 if not known
	byParts bool   // a step from here read too much for a read set
	split   bool   // there are locations for more of the thread's own bits
	parent  int32  // the location that this one was split from; 0 if none
	chains  [keptAlternatives]int32
	lookups uint16 // since the last decision whether to split
	misses  uint16 // of these, by read set
}

// link is an element of a chain of read sets.
type link struct{ readSet, next int32 }

// keptAlternatives is the number of chains of a location: one for each of the first alternatives,
// the last for all others, too.
const keptAlternatives = 3

// readSet is the bits of a state that a step reads. Their values are packed: of each word, what is
// between the lowest and the highest of these bits.
type readSet struct {
	n, values int32
	words     [maxWords]readWord
}

// readWord is the bits of one word of a read set, and the bit of the packed value that they go to.
type readWord struct {
	mask       uint64
	word       int32
	shift      uint8
	value, bit uint8
}

// effect is an entry of the hash table of steps: its key, and what the step does.
type effect struct {
	values     values // of the read set
	thread     uint32 // with the number of the context; 0: none
	alt        uint32 // its alternative
	readSet    int32
	version    uint32
	next       uint32 // the next alternative
	tally      int32
	kind       system.Kind // Moved, Blocked or Ended
	atEnd      bool
	parts      uint8 // that the effect can change
	dependence dependence
}

// dependence is what the number of a part after an effect depends on.
type dependence uint8

const (
	unclassified dependence = iota
	ownPart                 // on the number of the same part before
	twoParts                // on that and on the number of another part
	wholeState              // on more than that
)

// update is how an effect changes a state.
type update struct {
	first, n, room int32 // of the writes; room is the capacity
	// by part: 1 + the part from which bits are copied to it; 0 if none
	source [statestore.MaxNumbers]uint8
}

// write assigns to some bits of a word.
type write struct {
	mask  uint64
	value uint64 // if they are copied: by how much they are rotated to the left
	word  int32
	from  int32 // the word from which they are copied; -1: none, they get the value
}

// partUpdate is an entry of the table of parts: the number of a part after an effect.
type partUpdate struct {
	effect uint32 // its version, and the part; 0: the slot is free
	from   uint32 // the part's number
	source uint32 // the number of the part from which bits are copied to it; 0 if none
	to     uint32
}

// values is the packed values of the bits of a read set.
type values [maxValues]uint64

const (
	// Limits of a read set: words of the state, and words of packed values.
	maxWords, maxValues = 12, 4
	// A location is split if this number of lookups has had more than this number of misses.
	splitLookups, splitMisses = 1 << 8, 1 << 9

	minIndex, maxLocations         = 1 << 8, 1 << 13
	minEffects, maxEffects         = 1 << 9, 1 << 14
	minPartUpdates, maxPartUpdates = 1 << 10, 1 << 15
	maxLinks, maxReadSets          = 1 << 15, 1 << 14
	// maxWrites bounds the writes of all effects together. Most have two or three.
	maxWrites = 1 << 16
	// maxProbes is the length of a probe sequence in the table of effects.
	maxProbes = 4

	// partBits is the number of bits of the part in partUpdate.effect.
	partBits   = 3
	maxVersion = 1<<(32-partBits) - 1

	maxContexts = 1 << 12 // below 1<<16, see id

	// A miss costs as much of the budget as this number of hits adds. When the budget is used up,
	// the cache is bypassed for some states.
	missCost  = 8
	maxBudget = 1 << 15
	bypassed  = 1 << 12 // states

	mixer = 0x9E3779B97F4A7C15
)

// newStepCache returns an empty cache whose read sets have no more than this number of words.
func newStepCache(most int) *stepCache {
	return &stepCache{
		maxWords: most, contexts: map[context]*contextEntry{}, budget: maxBudget,
		locations: make([]location, 1), index: make([]int32, minIndex), chains: make([]link, 1),
		readSets: make([]readSet, 1),
		effects:  make([]effect, minEffects), updates: make([]update, minEffects),
		partUpdates: make([]partUpdate, minPartUpdates),
	}
}

// entryOf returns the entry of a context; nil if there is none yet.
func (y *stepCache) entryOf(c context) *contextEntry {
	if y.lastEntry == nil || y.last != c {
		y.last, y.lastEntry = c, y.contexts[c]
	}
	return y.lastEntry
}

// addContext makes the entry of a new context.
func (y *stepCache) addContext(c context, threads int) *contextEntry {
	l := &contextEntry{number: uint32(len(y.contexts) + 1), threads: make([]inlineCache, threads)}
	y.contexts[c], y.last, y.lastEntry = l, c, l
	return l
}

// id identifies a thread in the keys of the tables, with its context; 0 if its number is too large.
func (l *contextEntry) id(t int) uint32 {
	if t >= 1<<16 {
		return 0
	}
	return l.number<<16 | uint32(t)
}

// reset empties all tables but that of the contexts.
func (y *stepCache) reset() {
	for _, l := range y.contexts {
		for t := range l.threads {
			l.threads[t].location, l.threads[t].readSet = 0, 0
		}
	}
	y.locations, y.chains, y.readSets, y.writes, y.version = y.locations[:1], y.chains[:1],
		y.readSets[:1],
		y.writes[:0], 0
	clear(y.index)
	clear(y.effects)
	clear(y.updates)
	clear(y.partUpdates)
}

// findLocation returns the location with a key, or 0 and the free slot of the index for it.
func (y *stepCache) findLocation(thread uint32, at uint64, parent int32) (p int32, slot uint64) {
	mask := uint64(len(y.index) - 1)
	for slot = (uint64(thread)<<40 ^ at ^ at>>32) * mixer >> 20 & mask; ; slot = (slot + 1) & mask {
		p := y.index[slot]
		if p == 0 {
			return 0, slot
		}
		if loc := &y.locations[p]; loc.thread == thread && loc.key == at && loc.parent == parent {
			return p, slot
		}
	}
}

// locate sets and returns the location of a thread in a state; 0 if it is not known. If create is
// set, a new location is entered, if there is room.
func (y *stepCache) locate(s system.State, thread uint32, last *inlineCache, create bool) int32 {
	parent := int32(0)
	for _, lead := range last.keys {
		at := s[lead.Word] & lead.Mask
		p, slot := y.findLocation(thread, at, parent)
		if p == 0 && (create || parent != 0) && len(y.locations) < maxLocations {
			p = int32(len(y.locations))
			y.locations = append(
				y.locations,
				location{key: at, thread: thread, parent: parent, budget: firstBudget},
			)
			y.index[slot] = p
			if 2*len(y.locations) > len(y.index) {
				y.growIndex()
			}
		}
		if p == 0 {
			p = parent
		}
		last.keyBits, last.key, last.location, last.readSet = lead, at, p, 0
		if p == 0 || !y.locations[p].split {
			break
		}
		parent = p
	}
	return last.location
}

// root returns the location that a location was split from, or the location itself.
func (y *stepCache) root(p int32) *location {
	loc := &y.locations[p]
	if loc.parent != 0 {
		return &y.locations[loc.parent]
	}
	return loc
}

// growIndex doubles the index.
func (y *stepCache) growIndex() {
	y.index = make([]int32, 2*len(y.index))
	for p := 1; p < len(y.locations); p++ {
		loc := &y.locations[p]
		_, slot := y.findLocation(loc.thread, loc.key, loc.parent)
		y.index[slot] = int32(p)
	}
}

// lookupLast returns the effect of a thread's first alternative if it is that of the last lookup,
// and otherwise -1.
func (y *stepCache) lookupLast(last *inlineCache, thread uint32, s system.State) int {
	if last.readSet != 0 {
		y.readSets[last.readSet].pack(s, &y.values)
		if i := int(last.effect) & (len(y.effects) - 1); y.matches(
			&y.effects[i],
			thread,
			0,
			last.readSet,
		) {
			return i
		}
	}
	return -1
}

// lookup returns the effect of a thread's alternative in a state; -1 if it is not known.
func (y *stepCache) lookup(last *inlineCache, thread, alt uint32, s system.State) int {
	loc := &y.locations[last.location]
	list := &loc.chains[min(alt, keptAlternatives-1)]
	if loc.lookups++; loc.lookups == splitLookups {
		loc.split = loc.split || loc.parent == 0 && loc.misses > splitMisses
		loc.lookups, loc.misses = 0, 0
	}
	before := int32(0)
	for n := *list; n != 0; n = y.chains[n].next {
		if i := y.probe(y.chains[n].readSet, thread, alt, s); i >= 0 {
			if alt == 0 {
				last.readSet, last.effect = y.chains[n].readSet, int32(i)
			}
			if before != 0 { // it goes to the front
				y.chains[before].next, y.chains[n].next, *list = y.chains[n].next, *list, n
			}
			return i
		}
		before = n
		loc.misses++
	}
	if loc.parent != 0 {
		for n := y.locations[loc.parent].chains[min(alt,
			keptAlternatives-1)]; n != 0; n = y.chains[n].next {
			if i := y.probe(y.chains[n].readSet, thread, alt, s); i >= 0 {
				if len(y.chains) < maxLinks {
					y.chains = append(y.chains, link{y.chains[n].readSet, *list})
					*list = int32(len(y.chains) - 1)
				}
				return i
			}
		}
	}
	return -1
}

// probe looks for an effect with one read set.
func (y *stepCache) probe(set int32, thread, alt uint32, s system.State) int {
	sc := &y.readSets[set]
	sc.pack(s, &y.values)
	return y.findEffect(thread, alt, set, sc.values)
}

// hash returns the hash of a key, of whose values the first n count.
func (y *stepCache) hash(thread, alt uint32, set, n int32, values *values) int {
	h := (uint64(thread) ^ uint64(alt)<<32 ^ uint64(set)<<16) * mixer
	for _, v := range values[:n&(2*maxValues-1)] {
		hi, lo := bits.Mul64(h^v, mixer)
		h = hi ^ lo
	}
	return int(h)
}

// findEffect returns the effect for y.values, of which the first n count; -1 if there is none.
func (y *stepCache) findEffect(thread, alt uint32, set, n int32) int {
	mask := len(y.effects) - 1
	h := y.hash(thread, alt, set, n, &y.values)
	for i := range maxProbes {
		at := (h + i) & mask
		switch e := &y.effects[at]; {
		case y.matches(e, thread, alt, set):
			return at
		case e.thread == 0:
			return -1
		}
	}
	return -1
}

// effectSlot returns the slot for a new effect, which may evict another one.
func (y *stepCache) effectSlot(thread, alt uint32, set int32, values *values) int {
	for {
		mask := len(y.effects) - 1
		h := y.hash(thread, alt, set, y.readSets[set].values, values)
		for i := range maxProbes {
			if at := (h + i) & mask; y.effects[at].thread == 0 {
				return at
			}
		}
		if len(y.effects) == maxEffects {
			return h & mask
		}
		y.growEffects()
	}
}

// growEffects doubles the table of effects.
func (y *stepCache) growEffects() {
	effects, results := y.effects, y.updates
	y.effects, y.updates = make([]effect, 2*len(effects)), make([]update, 2*len(effects))
	mask := len(y.effects) - 1
	for i := range effects {
		e := &effects[i]
		if e.thread == 0 {
			continue
		}
		h := y.hash(e.thread, e.alt, e.readSet, y.readSets[e.readSet].values, &e.values)
		// if the probe sequence is full, which is rare, the last slot is overwritten
		for k := range maxProbes {
			if at := (h + k) & mask; y.effects[at].thread == 0 || k == maxProbes-1 {
				y.effects[at], y.updates[at] = *e, results[i]
				break
			}
		}
	}
}

// matches reports whether an effect has this key, with y.values.
func (y *stepCache) matches(e *effect, thread, alt uint32, set int32) bool {
	return e.values == y.values && e.thread == thread && e.alt == alt && e.readSet == set
}

// pack gathers the values of the read set in a state.
func (sc *readSet) pack(s system.State, v *values) {
	*v = values{}
	for i := range sc.words[:sc.n%(maxWords+1)] {
		w := &sc.words[i]
		v[w.value%maxValues] |= s[w.word] & w.mask >> (w.shift & 63) << (w.bit & 63)
	}
}

// make makes the read set of some bits, each word once. ok is false if they are too many.
func (sc *readSet) make(list []system.Bits, most int) (ok bool) {
	if len(list) > min(most, maxWords) {
		return false
	}
	*sc = readSet{n: int32(len(list))}
	value, bit := 0, 0
	for i, b := range list {
		w := readWord{mask: b.Mask, word: b.Word, shift: uint8(bits.TrailingZeros64(b.Mask))}
		span := bits.Len64(w.mask >> w.shift)
		if bit+span > 64 {
			value, bit = value+1, 0
		}
		if value == maxValues {
			return false
		}
		w.value, w.bit = uint8(value), uint8(bit)
		bit += span
		sc.words[i] = w
	}
	sc.values = int32(value + 1)
	return true
}

// has reports whether these are the bits of the read set, each word once.
func (sc *readSet) has(list []system.Bits) bool {
	if len(list) != int(sc.n) {
		return false
	}
next:
	for _, b := range list {
		for i := range sc.words[:sc.n] {
			if w := &sc.words[i]; w.word == b.Word && w.mask == b.Mask {
				continue next
			}
		}
		return false
	}
	return true
}

// readSetFor returns the read set of the last step, which was an alternative at a location, and
// enters it if it is new; 0 if the step read too much.
func (y *stepCache) readSetFor(p int32, alt uint32) int32 {
	list := &y.root(p).chains[min(alt, keptAlternatives-1)]
	for n := *list; n != 0; n = y.chains[n].next {
		if set := y.chains[n].readSet; y.readSets[set].has(y.step.Reads) {
			return set
		}
	}
	y.readSets = append(y.readSets, readSet{})
	set := int32(len(y.readSets) - 1)
	if !y.readSets[set].make(y.step.Reads, y.maxWords) {
		y.readSets = y.readSets[:set]
		return 0
	}
	y.chains = append(y.chains, link{set, *list})
	*list = int32(len(y.chains) - 1)
	return set
}

// partSlot returns the slot of a part, which an effect updates; the table is direct-mapped.
func (y *stepCache) partSlot(effect, from, other uint32) *partUpdate {
	h := (uint64(effect)<<32 ^ uint64(other)<<20 ^ uint64(from)) * mixer
	return &y.partUpdates[h>>40&uint64(len(y.partUpdates)-1)]
}

// growParts doubles the table of parts.
func (y *stepCache) growParts() {
	ends := y.partUpdates
	y.partUpdates, y.evictions = make([]partUpdate, 2*len(ends)), 0
	for i := range ends {
		if d := &ends[i]; d.effect != 0 {
			*y.partSlot(d.effect, d.from, d.source) = *d
		}
	}
}

// other returns the number of the part from which an effect copies bits to part p, 0 if it does
// not.
func (y *stepCache) sourceNumber(effect int, p uint32) uint32 {
	if q := y.updates[effect].source[p]; q != 0 {
		return y.numbers[(q-1)%statestore.MaxNumbers]
	}
	return 0
}

// forWords makes scratch for states of that many words.
func (y *stepCache) forWords(words int) {
	if len(y.masks) < words {
		y.masks, y.known, y.copied = make([]uint64, words), make([]uint64, words),
			make([]uint64, words)
	}
}

// gather joins the bits that the last step read and that stand in one word of a state of that
// many.
func (y *stepCache) gather(words int) {
	y.forWords(words)
	n := 0
	for _, b := range y.step.Reads {
		if y.masks[b.Word] == 0 {
			y.step.Reads[n].Word = b.Word
			n++
		}
		y.masks[b.Word] |= b.Mask
	}
	y.step.Reads = y.step.Reads[:n]
	for i := range y.step.Reads {
		b := &y.step.Reads[i]
		b.Mask, y.masks[b.Word] = y.masks[b.Word], 0
	}
}

// diff sets y.lastWrites to the writes of the last step, which led from s to end. They hold in all
// states with the same values of the bits that the step read. It returns false if the step
// changed more than its scope says.
func (y *stepCache) diff(s, end system.State) bool {
	y.lastWrites = y.lastWrites[:0]
	if len(s) != len(end) {
		return false
	}
	y.forWords(len(s))
	known, masks, copied := y.known[:len(s)], y.masks[:len(s)], y.copied[:len(s)]
	defer func() { clear(known); clear(masks); clear(copied) }()
	for _, b := range y.step.Reads {
		known[b.Word] = b.Mask
	}
	for _, b := range y.step.Writes {
		masks[b.Word] |= b.Mask
	}
	for i := range y.step.Copies {
		c := &y.step.Copies[i]
		if c.Of(s) != end[c.To.Word]&c.To.Mask {
			return false
		}
		// What is copied from known bits is known.
		from := c.Source()
		is := bits.RotateLeft64(known[from.Word]&from.Mask, c.Left)
		masks[c.To.Word] |= is
		if is = c.To.Mask &^ is; is != 0 {
			y.lastWrites = append(
				y.lastWrites,
				write{mask: is, value: uint64(c.Left & 63), word: c.To.Word,
					from: c.From},
			)
			copied[c.To.Word] |= is
		}
	}
	for w := range s {
		// Of known bits it is known whether they change.
		changed := (s[w] ^ end[w]) &^ copied[w]
		m := masks[w]&^known[w] | changed&known[w]
		if changed&^m != 0 {
			return false
		}
		if m != 0 {
			y.lastWrites = append(
				y.lastWrites,
				write{mask: m, value: end[w] & m, word: int32(w), from: -1},
			)
		}
	}
	return true
}
