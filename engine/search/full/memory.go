package full

import (
	"math/bits"

	"cpor/statestore"
	"cpor/system"
)

// memory is what an expander remembers of the steps it has executed: threads do the same
// things again and again while the others are elsewhere.
//
// What a step does is a function of the bits that it reads ([system.Repeating]), so that it need
// not be executed where these bits are the same: that is an effect. Where states are stored
// as the numbers of their parts ([statestore.Numbering]), what an effect makes of a
// part is a function of the part's number, and of that of another part if bits are copied
// from there, so that its end need not be taken apart either.
// LTSmin's caches of local transitions do both at once (Blom, van de Pol, Weber, CAV 2010). Apart
// they need room for the sum of what threads and parts can be, not for the product: with one
// table from the numbers of the touched parts to those afterwards a third of the steps of indexer
// with 8 threads were not found among 2^17.
//
// Which bits a step reads is known when it has been taken. But what is read first is the same
// for all steps that a thread takes from a place, and what is read next follows from its
// values. So there are few scopes for a place, sets of bits that a step from there has read, and
// the effect is found with one of them or is not known. The scope that was right last is tried
// first. Where that is often wrong, as where steps index an array, it is kept apart for the
// values of more of what is the thread's own.
type memory struct {
	contexts map[context]*layout
	last     context
	layout   *layout  // of last
	places   []place  // the first one is none
	index    []int32  // of the places, open addressing; 0 is free
	lists    []listed // the first one is none
	scopes   []scope  // the first one is none
	effects  []effect
	results  []result // by effect
	ops      []op     // of all of them
	ends     []made
	wides    []wideStep
	serial   uint32 // of the effect that was entered last

	most      int // words of a scope
	replaced  int // ends whose places others have taken
	widesLost int // the same of wides
	credit    int
	pause     int // so many states are expanded without it

	numbers [statestore.MaxNumbers]uint32
	to      [statestore.MaxNumbers]uint32
	values  values

	// Scratch: of the last step, and by word, all 0.
	step                 system.Scope
	doing                []op
	masks, known, copied []uint64
}

// context is what has to be equal for bits to mean the same.
type context struct{ length, regime int }

// layout is what is known of the states of a context.
type layout struct {
	number  uint32 // from 1
	threads []standing
}

// standing is where a thread stood when it was looked at last. In the state that is expanded next
// it mostly stands there still, and does the same.
type standing struct {
	leads  [2]system.Bits // bits that tell where it stands, and more of its own
	by     system.Bits    // that of the two which told the place
	at     uint64         // their values
	place  int32          // 0 if it is not known
	scope  int32          // of its first alternative there, the last time; 0 if that is not known
	effect int32          // what that did
}

// place is where a thread stands.
type place struct {
	at     uint64
	thread uint32 // with the number of the context
	luck   int16  // with wide steps, see there
	parts  uint8  // in which these touch anything; 0 if it is not known
	wide   bool   // it has such steps
	closer bool   // there are places for more of the thread's own bits
	of     int32  // one of these: the place that comprises it
	lists  [few]int32
	looks  uint16 // how often its scopes were tried
	wrong  uint16 // scopes that were not right
}

// listed is a scope in the list of a place.
type listed struct{ scope, next int32 }

// few is for so many alternatives of a place scopes are kept apart; the last has those of all
// others, too.
const few = 3

// scope is bits of a state. Their values are packed: of each word what is from the lowest
// of the bits to the highest one.
type scope struct {
	n, values int32
	words     [maxWords]scopeWord
}

// scopeWord is the bits that a scope has of a word, and where they go: at a bit of a value.
type scopeWord struct {
	mask       uint64
	word       int32
	shift      uint8
	value, bit uint8
}

// effect is what a step does.
type effect struct {
	values values // of the scope
	thread uint32 // with the number of the context; 0: none
	alt    uint32 // its alternative
	scope  int32
	serial uint32
	next   uint32 // the next alternative
	tally  int32
	kind   system.Kind // Moved, Blocked or Ended
	atEnd  bool
	parts  uint8 // that it can change
	how    how
}

// how is what an effect makes of the numbers of parts.
type how uint8

const (
	unasked  how = iota
	single       // each that it can change becomes what follows from its number
	crossing     // or from that of another one, too
	byWords      // more is needed
)

// result is what an effect changes.
type result struct {
	first, n, room int32 // which of the ops; there is room for some
	// by part: the one from which bits are copied to it, from 1; 0 if none are
	other [statestore.MaxNumbers]uint8
}

// op is a change of some bits of a word.
type op struct {
	mask  uint64
	value uint64 // if they are copied: by how much they are rotated to the left
	word  int32
	from  int32 // the word from which they are copied; -1: none, they get the value
}

// made is what an effect makes of a part.
type made struct {
	effect uint32 // its serial number, and the part; 0: none
	from   uint32 // the part's number
	other  uint32 // that of the part from which bits are copied to it; 0 if none are
	to     uint32
}

// values is what the bits of a scope are.
type values [maxValues]uint64

const (
	// A scope may have bits of so many words, and so many of them, by the span in each word.
	maxWords, maxValues = 12, 4
	// The scopes of a place are kept apart for more of the thread's own bits if of so many
	// looks so many go to a wrong one.
	manyLooks, manyWrong = 1 << 8, 1 << 9

	minIndex, maxPlaces    = 1 << 8, 1 << 13
	minEffects, maxEffects = 1 << 9, 1 << 14
	minEnds, maxEnds       = 1 << 10, 1 << 15
	maxLists, maxScopes    = 1 << 15, 1 << 14
	// maxOps bounds how many all effects have together. Most have two or three.
	maxOps = 1 << 16
	// maxProbes is at how many places behind each other an effect can be.
	maxProbes = 4

	// partBits is how many bits the part has in made.effect.
	partBits  = 3
	maxSerial = 1<<(32-partBits) - 1

	maxContexts = 1 << 12 // below 1<<16, see name

	// A step that is not remembered costs so many that are: when the credit is used up,
	// nothing is looked up for a while.
	missCost  = 8
	maxCredit = 1 << 15
	pause     = 1 << 12 // states

	mixer = 0x9E3779B97F4A7C15
)

// newMemory returns a memory whose scopes have so many words at most.
func newMemory(most int) *memory {
	return &memory{
		most: most, contexts: map[context]*layout{}, credit: maxCredit,
		places: make([]place, 1), index: make([]int32, minIndex), lists: make([]listed, 1),
		scopes:  make([]scope, 1),
		effects: make([]effect, minEffects), results: make([]result, minEffects),
		ends: make([]made, minEnds),
	}
}

// of returns the layout for states of a context; nil if it is new.
func (y *memory) of(c context) *layout {
	if y.layout == nil || y.last != c {
		y.last, y.layout = c, y.contexts[c]
	}
	return y.layout
}

// enter makes the layout of a new context.
func (y *memory) enter(c context, threads int) *layout {
	l := &layout{number: uint32(len(y.contexts) + 1), threads: make([]standing, threads)}
	y.contexts[c], y.last, y.layout = l, c, l
	return l
}

// name is what a thread is called in the tables; 0 if it cannot be.
func (l *layout) name(t int) uint32 {
	if t >= 1<<16 {
		return 0
	}
	return l.number<<16 | uint32(t)
}

// forget forgets all but the contexts.
func (y *memory) forget() {
	for _, l := range y.contexts {
		for t := range l.threads {
			l.threads[t].place, l.threads[t].scope = 0, 0
		}
	}
	y.places, y.lists, y.scopes, y.ops, y.serial = y.places[:1], y.lists[:1], y.scopes[:1],
		y.ops[:0], 0
	clear(y.index)
	clear(y.effects)
	clear(y.results)
	clear(y.ends)
}

// find returns the place with some name, 0 if there is none, and then where it would be in the
// index.
func (y *memory) find(thread uint32, at uint64, of int32) (p int32, slot uint64) {
	mask := uint64(len(y.index) - 1)
	for slot = (uint64(thread)<<40 ^ at ^ at>>32) * mixer >> 20 & mask; ; slot = (slot + 1) & mask {
		p := y.index[slot]
		if p == 0 {
			return 0, slot
		}
		if pl := &y.places[p]; pl.thread == thread && pl.at == at && pl.of == of {
			return p, slot
		}
	}
}

// locate returns where a thread stands in a state, 0 if it has never stood there. If create is set,
// it gets a place then, if there is room.
func (y *memory) locate(s system.State, thread uint32, st *standing, create bool) int32 {
	of := int32(0)
	for _, lead := range st.leads {
		at := s[lead.Word] & lead.Mask
		p, slot := y.find(thread, at, of)
		if p == 0 && (create || of != 0) && len(y.places) < maxPlaces {
			p = int32(len(y.places))
			y.places = append(y.places, place{at: at, thread: thread, of: of, luck: firstLuck})
			y.index[slot] = p
			if 2*len(y.places) > len(y.index) {
				y.moreIndex()
			}
		}
		if p == 0 {
			p = of
		}
		st.by, st.at, st.place, st.scope = lead, at, p, 0
		if p == 0 || !y.places[p].closer {
			break
		}
		of = p
	}
	return st.place
}

// whole returns the place that comprises a place: itself or the one that it is of.
func (y *memory) whole(p int32) *place {
	pl := &y.places[p]
	if pl.of != 0 {
		return &y.places[pl.of]
	}
	return pl
}

// moreIndex doubles the index.
func (y *memory) moreIndex() {
	y.index = make([]int32, 2*len(y.index))
	for p := 1; p < len(y.places); p++ {
		pl := &y.places[p]
		_, slot := y.find(pl.thread, pl.at, pl.of)
		y.index[slot] = int32(p)
	}
}

// again returns the effect of a thread's first alternative in a state if it is what it was the last
// time, otherwise -1.
func (y *memory) again(st *standing, thread uint32, s system.State) int {
	if st.scope != 0 {
		y.scopes[st.scope].pack(s, &y.values)
		if i := int(st.effect) & (len(y.effects) - 1); y.is(&y.effects[i], thread, 0, st.scope) {
			return i
		}
	}
	return -1
}

// look returns the effect of a thread's alternative in a state, -1 if it is not known.
func (y *memory) look(st *standing, thread, alt uint32, s system.State) int {
	pl := &y.places[st.place]
	list := &pl.lists[min(alt, few-1)]
	if pl.looks++; pl.looks == manyLooks {
		pl.closer = pl.closer || pl.of == 0 && pl.wrong > manyWrong
		pl.looks, pl.wrong = 0, 0
	}
	before := int32(0)
	for n := *list; n != 0; n = y.lists[n].next {
		if i := y.try(y.lists[n].scope, thread, alt, s); i >= 0 {
			if alt == 0 {
				st.scope, st.effect = y.lists[n].scope, int32(i)
			}
			if before != 0 { // it goes to the front
				y.lists[before].next, y.lists[n].next, *list = y.lists[n].next, *list, n
			}
			return i
		}
		before = n
		pl.wrong++
	}
	if pl.of != 0 {
		for n := y.places[pl.of].lists[min(alt, few-1)]; n != 0; n = y.lists[n].next {
			if i := y.try(y.lists[n].scope, thread, alt, s); i >= 0 {
				if len(y.lists) < maxLists {
					y.lists = append(y.lists, listed{y.lists[n].scope, *list})
					*list = int32(len(y.lists) - 1)
				}
				return i
			}
		}
	}
	return -1
}

// try looks for an effect with a scope.
func (y *memory) try(scope int32, thread, alt uint32, s system.State) int {
	sc := &y.scopes[scope]
	sc.pack(s, &y.values)
	return y.seek(thread, alt, scope, sc.values)
}

// hash returns where an effect with the n values is if nothing is in the way.
func (y *memory) hash(thread, alt uint32, scope, n int32, values *values) int {
	h := (uint64(thread) ^ uint64(alt)<<32 ^ uint64(scope)<<16) * mixer
	for _, v := range values[:n&(2*maxValues-1)] {
		hi, lo := bits.Mul64(h^v, mixer)
		h = hi ^ lo
	}
	return int(h)
}

// seek returns the effect with the n values, -1 if there is none.
func (y *memory) seek(thread, alt uint32, scope, n int32) int {
	mask := len(y.effects) - 1
	h := y.hash(thread, alt, scope, n, &y.values)
	for i := range maxProbes {
		at := (h + i) & mask
		switch e := &y.effects[at]; {
		case y.is(e, thread, alt, scope):
			return at
		case e.thread == 0:
			return -1
		}
	}
	return -1
}

// room returns a place for a new effect with the values, which may be another's so far.
func (y *memory) room(thread, alt uint32, scope int32, values *values) int {
	for {
		mask := len(y.effects) - 1
		h := y.hash(thread, alt, scope, y.scopes[scope].values, values)
		for i := range maxProbes {
			if at := (h + i) & mask; y.effects[at].thread == 0 {
				return at
			}
		}
		if len(y.effects) == maxEffects {
			return h & mask
		}
		y.moreEffects()
	}
}

// moreEffects doubles the table of effects.
func (y *memory) moreEffects() {
	effects, results := y.effects, y.results
	y.effects, y.results = make([]effect, 2*len(effects)), make([]result, 2*len(effects))
	mask := len(y.effects) - 1
	for i := range effects {
		e := &effects[i]
		if e.thread == 0 {
			continue
		}
		h := y.hash(e.thread, e.alt, e.scope, y.scopes[e.scope].values, &e.values)
		// of those for whom there is no place, which are very few, one is lost
		for k := range maxProbes {
			if at := (h + k) & mask; y.effects[at].thread == 0 || k == maxProbes-1 {
				y.effects[at], y.results[at] = *e, results[i]
				break
			}
		}
	}
}

// is tells whether an effect is that of a step.
func (y *memory) is(e *effect, thread, alt uint32, scope int32) bool {
	return e.values == y.values && e.thread == thread && e.alt == alt && e.scope == scope
}

// pack gathers the values of the scope in a state.
func (sc *scope) pack(s system.State, v *values) {
	*v = values{}
	for i := range sc.words[:sc.n%(maxWords+1)] {
		w := &sc.words[i]
		v[w.value%maxValues] |= s[w.word] & w.mask >> (w.shift & 63) << (w.bit & 63)
	}
}

// make makes the scope of some bits, each word once. ok is false if they are too many.
func (sc *scope) make(list []system.Bits, most int) (ok bool) {
	if len(list) > min(most, maxWords) {
		return false
	}
	*sc = scope{n: int32(len(list))}
	value, bit := 0, 0
	for i, b := range list {
		w := scopeWord{mask: b.Mask, word: b.Word, shift: uint8(bits.TrailingZeros64(b.Mask))}
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

// has tells whether the scope is that of some bits, each word once.
func (sc *scope) has(list []system.Bits) bool {
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

// scopeFor returns the scope of the last step, which was an alternative from a place; 0 if
// it read too much.
func (y *memory) scopeFor(p int32, alt uint32) int32 {
	list := &y.whole(p).lists[min(alt, few-1)]
	for n := *list; n != 0; n = y.lists[n].next {
		if scope := y.lists[n].scope; y.scopes[scope].has(y.step.Reads) {
			return scope
		}
	}
	y.scopes = append(y.scopes, scope{})
	scope := int32(len(y.scopes) - 1)
	if !y.scopes[scope].make(y.step.Reads, y.most) {
		y.scopes = y.scopes[:scope]
		return 0
	}
	y.lists = append(y.lists, listed{scope, *list})
	*list = int32(len(y.lists) - 1)
	return scope
}

// end returns the place for what an effect makes of a part.
func (y *memory) end(effect, from, other uint32) *made {
	h := (uint64(effect)<<32 ^ uint64(other)<<20 ^ uint64(from)) * mixer
	return &y.ends[h>>40&uint64(len(y.ends)-1)]
}

// moreEnds doubles the table of what effects make of parts.
func (y *memory) moreEnds() {
	ends := y.ends
	y.ends, y.replaced = make([]made, 2*len(ends)), 0
	for i := range ends {
		if d := &ends[i]; d.effect != 0 {
			*y.end(d.effect, d.from, d.other) = *d
		}
	}
}

// other returns the number of the part from which an effect copies bits to part p, 0 if it does
// not.
func (y *memory) other(effect int, p uint32) uint32 {
	if q := y.results[effect].other[p]; q != 0 {
		return y.numbers[(q-1)%statestore.MaxNumbers]
	}
	return 0
}

// forWords makes scratch for states of so many words.
func (y *memory) forWords(words int) {
	if len(y.masks) < words {
		y.masks, y.known, y.copied = make([]uint64, words), make([]uint64, words),
			make([]uint64, words)
	}
}

// gather joins the bits that the last step read and that stand in one word of a state of so
// many.
func (y *memory) gather(words int) {
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

// compare makes the ops of the last step, which led from one state to another one, for the
// states in which the bits are the same that it read. It returns false if the step has
// changed more than it told.
func (y *memory) compare(s, end system.State) bool {
	y.doing = y.doing[:0]
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
			y.doing = append(y.doing, op{mask: is, value: uint64(c.Left & 63), word: c.To.Word,
				from: c.From})
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
			y.doing = append(y.doing, op{mask: m, value: end[w] & m, word: int32(w), from: -1})
		}
	}
	return true
}
