package full

import (
	"math/bits"

	"cpor/engine/search"
	"cpor/statestore"
	"cpor/system"
)

// memory is what an expander remembers of the steps it has executed: threads do the same
// things again and again while the others are elsewhere.
//
// What a step does is a function of the bits in its scope ([system.Repeating]), so that it need
// not be executed where these bits are the same: that is an effect. Where states are stored
// as the numbers of their parts ([statestore.Numbering]), what an effect makes of a
// part is a function of the part's number, so that its end need not be taken apart either.
// LTSmin's caches of local transitions do both at once (Blom, van de Pol, Weber, CAV 2010). Apart
// they need room for the sum of what threads and parts can be, not for the product: with one
// table from the numbers of the touched parts to those afterwards a third of the steps of indexer
// with 8 threads were not found among 2^17.
//
// Which bits are in a scope is known when the step has been taken. So the first look-up is for
// the scope of the steps that the thread has taken from where it stands. It is a guess
// only: an effect is entered with bits that comprise its scope, and so is right wherever
// it is found. A place from where the steps of a thread touch too much together, as those that
// index an array do, is told apart by more of what is the thread's own.
type memory struct {
	contexts  map[context]*layout
	last      context
	layout    *layout // of last
	scopes    []scope // the first one is none
	guesses   []guess
	effects   []effect
	after     []values // by effect: the values of its scope afterwards
	ends      []made
	wides     []wideStep
	serial    uint32 // of the effect that was entered last
	most      int    // words of a scope
	lost      int    // effects that have taken the place of others
	replaced  int    // the same of ends
	widesLost int    // the same of wides
	credit    int
	pause     int           // so many states are expanded without it
	bits      []system.Bits // of the last step: where the thread stood, and its scope
	masks     []uint64      // scratch, 0
	values    values
	numbers   [statestore.MaxNumbers]uint32
	to        [statestore.MaxNumbers]uint32
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
	at     uint64         // of the first of them
	scope  int32          // of its steps from there; 0 if it is not known
	effect int32          // the place of that of its first alternative
}

// scope is bits of a state. Their values are packed: of each word what is from the lowest
// of the bits to the highest one.
type scope struct {
	n     int
	words [maxWords]scopeWord
}

// scopeWord is the bits that a scope has of a word, and where they go: at a bit of a value.
type scopeWord struct {
	mask       uint64
	word       int32
	shift      uint8
	value, bit uint8
}

// guess is the scope of the steps of a thread from one place.
type guess struct {
	at     uint64 // where it stands
	thread uint32 // with the number of the context; 0: none
	scope  int32  // 0 if it is not known, -1 if its steps are to be executed, or closer
	close  bool   // more of the thread's own bits are in at
	parts  uint8  // if scope is -1: in which its steps touch anything, see wideStep; 0 if it is not known
	luck   int16  // with these
}

// closer marks a place from where steps touch too much together, so that they are told
// apart by more bits.
const closer = -2

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
	parts  uint8 // that it changes; 0 if that is not known
}

// made is what an effect makes of a part.
type made struct {
	effect uint32 // its serial number; 0: none
	from   uint32 // the part's number
	to     uint32
	part   uint32
}

// values is what the bits of a scope are.
type values [maxValues]uint64

const (
	// A scope may have bits of so many words, and so many of them, by the span in each word.
	maxWords, maxValues = 12, 4
	// Where it has more than these, it is known by more of the thread's own bits.
	fewWords = 8

	guessBits              = 12
	minEffects, maxEffects = 1 << 9, 1 << 13
	minEnds, maxEnds       = 1 << 10, 1 << 15

	maxContexts = 1 << 12 // below 1<<16, see name
	// maxScopes bounds how many there are; most threads have a few for each place.
	maxScopes = 1 << 14

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
		most:     most,
		contexts: map[context]*layout{}, credit: maxCredit,
		scopes: make([]scope, 1), guesses: make([]guess, 1<<guessBits), effects: make([]effect, minEffects), after: make([]values, minEffects), ends: make([]made, minEnds),
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

// guess returns the place for the guess of a thread at some place.
func (y *memory) guess(thread uint32, at uint64, close bool) (g *guess, is bool) {
	g = &y.guesses[(uint64(thread)<<40^at^at>>32)*mixer>>(64-guessBits)]
	return g, g.thread == thread && g.at == at && g.close == close
}

// guessed returns the guess for a thread in a state, nil if there is none.
func (y *memory) guessed(s system.State, thread uint32, leads *[2]system.Bits) *guess {
	for i, lead := range leads {
		g, is := y.guess(thread, s[lead.Word]&lead.Mask, i > 0)
		if !is {
			return nil
		}
		if g.scope != closer {
			return g
		}
	}
	return nil
}

// guessing is guessed with a guess made where there is none.
func (y *memory) guessing(s system.State, thread uint32, leads *[2]system.Bits) *guess {
	copy(leads[:], y.bits)
	for i, lead := range leads {
		at := s[lead.Word] & lead.Mask
		g, is := y.guess(thread, at, i > 0)
		if !is {
			*g = guess{at: at, thread: thread, close: i > 0, luck: firstLuck}
		}
		if g.scope != closer || i > 0 {
			return g
		}
	}
	return nil
}

// place returns the place for an effect with the values.
func (y *memory) place(thread, alt uint32) (at int) { return y.placeOf(thread, alt, &y.values) }

func (y *memory) placeOf(thread, alt uint32, values *values) (at int) {
	h := (uint64(thread) ^ uint64(alt)<<32) * mixer
	for _, v := range values {
		hi, lo := bits.Mul64(h^v, mixer)
		h = hi ^ lo
	}
	return int(h & uint64(len(y.effects)-1))
}

// pack gathers the values of the scope in a state.
func (sc *scope) pack(s system.State, v *values) {
	*v = values{}
	for i := range sc.words[:sc.n%(maxWords+1)] {
		w := &sc.words[i]
		v[w.value%maxValues] |= s[w.word] & w.mask >> (w.shift & 63) << (w.bit & 63)
	}
}

// add adds bits to the scope. ok is false if it has too many then.
func (sc *scope) add(b system.Bits) (ok bool) {
	i := 0
	for i < sc.n && sc.words[i].word != b.Word {
		i++
	}
	if i == maxWords {
		return false
	}
	if i == sc.n {
		sc.words[i] = scopeWord{word: b.Word}
		sc.n++
	}
	if sc.words[i].mask|b.Mask == sc.words[i].mask {
		return true
	}
	sc.words[i].mask |= b.Mask
	// Place all of them anew.
	value, bit := 0, 0
	for i := range sc.words[:sc.n] {
		w := &sc.words[i]
		w.shift = uint8(bits.TrailingZeros64(w.mask))
		span := bits.Len64(w.mask >> w.shift)
		if bit+span > 64 {
			value, bit = value+1, 0
		}
		if value == maxValues {
			return false
		}
		w.value, w.bit = uint8(value), uint8(bit)
		bit += span
	}
	return true
}

// has tells whether some bits are in the scope.
func (sc *scope) has(list []system.Bits) bool {
	if len(list) == 0 || len(list) > sc.n {
		return false
	}
next:
	for _, b := range list {
		for i := range sc.words[:sc.n] {
			if w := &sc.words[i]; w.word == b.Word {
				if b.Mask&^w.mask != 0 {
					return false
				}
				continue next
			}
		}
		return false
	}
	return true
}

// is tells whether an effect is that of a step, for which its place was looked up.
func (y *memory) is(e *effect, thread, alt uint32, scope int32) bool {
	return e.thread == thread && e.alt == alt && e.scope == scope && e.values == y.values
}

// end returns the place for what an effect makes of a part.
func (y *memory) end(effect, part, from uint32) *made {
	h := (uint64(effect)<<32 ^ uint64(part)<<29 ^ uint64(from)) * mixer
	return &y.ends[h>>40&uint64(len(y.ends)-1)]
}

// expandRemembering is expand with the steps that are remembered not executed.
func (x *Expander) expandRemembering(v search.Visitor, stopper search.Stopper) (stopped bool) {
	y := x.memory
	if y == nil {
		y = newMemory(x.words)
		x.memory = y
	}
	if y.pause > 0 {
		y.pause--
		return x.expand(v, stopper)
	}
	numbered, ok := v.(search.Numbered)
	var numbers []uint32
	if ok {
		numbers = y.numbers[:copy(y.numbers[:], numbered.Numbers())]
	}
	c := context{len(x.state), x.repeating.Regime(x.state)}
	l := y.of(c)
	if l == nil {
		if len(y.contexts) == maxContexts {
			x.memory, x.repeating = nil, nil // hardly any state is like another one
			return x.expand(v, stopper)
		}
		x.load()
		l = y.enter(c, x.m.NumThreads())
	}
	for t := range l.threads {
		st := &l.threads[t]
		thread, scope := l.name(t), st.scope
		if at := x.state[st.leads[0].Word] & st.leads[0].Mask; scope == 0 || at != st.at {
			scope, st.scope = 0, 0
			if g := y.guessed(x.state, thread, &st.leads); g != nil {
				if scope = g.scope; !g.close {
					st.at, st.scope = at, scope
				}
			}
		}
		for alt := uint64(0); ; {
			kind, next := system.Moved, uint64(0)
			effect := -1
			if scope > 0 && alt>>32 == 0 {
				y.scopes[scope].pack(x.state, &y.values)
				effect = int(st.effect) & (len(y.effects) - 1)
				if !y.is(&y.effects[effect], thread, uint32(alt), scope) {
					if effect = y.place(thread, uint32(alt)); !y.is(&y.effects[effect], thread, uint32(alt), scope) {
						effect = -1
					}
				}
				if alt == 0 {
					st.effect = int32(effect)
				}
			}
			switch {
			case effect >= 0:
				e := &y.effects[effect]
				if y.credit < maxCredit {
					y.credit++
				}
				x.repeating.Repeat(int(e.tally))
				kind, next = e.kind, uint64(e.next)
				x.count(t, kind, e.atEnd)
				if kind == system.Moved {
					x.repeat(effect, t, alt, v, numbered, numbers)
				}
			case scope < 0:
				kind, next = x.stepWide(st, thread, t, alt, v, numbered, numbers)
			default:
				kind, next, scope = x.learn(l, thread, t, alt, scope, v)
			}
			if kind != system.Moved || next == 0 {
				break
			}
			if stopper != nil && stopper.Stopped() {
				return true
			}
			alt = next
		}
	}
	return false
}

// repeat sends v a transition whose effect is known.
func (x *Expander) repeat(effect, t int, alt uint64, v search.Visitor, numbered search.Numbered, numbers []uint32) {
	y := x.memory
	e, after := &y.effects[effect], &y.after[effect]
	if len(numbers) > 0 && e.parts != 0 {
		known := true
		for set := e.parts; set != 0; set &= set - 1 {
			p := uint32(bits.TrailingZeros8(set)) % statestore.MaxNumbers
			d := y.end(e.serial, p, y.numbers[p])
			if d.effect != e.serial || d.part != p || d.from != y.numbers[p] {
				known = false
				break
			}
			y.to[p] = d.to
		}
		if known {
			numbered.MoveNumbers(uint32(e.parts), &y.to)
			return
		}
	}
	x.end = append(x.end[:0], x.state...)
	sc := &y.scopes[e.scope]
	x.changed = x.changed[:0]
	for i := range sc.words[:sc.n] {
		w := &sc.words[i]
		now := after[w.value] >> w.bit << w.shift & w.mask
		if old := x.end[w.word]; old&w.mask != now {
			x.end[w.word] = old&^w.mask | now
			x.changed = append(x.changed, w.word)
		}
	}
	x.move.Thread, x.move.Alt, x.move.End, x.move.Changed = t, alt, x.end, x.changed
	v.Move(&x.move)
	if len(numbers) > 0 && numbered.Stays(x.changed) {
		x.note(e, numbered.Ended(), numbers)
	}
}

// note remembers what an effect has made of the parts of the state that is expanded.
func (x *Expander) note(e *effect, end, numbers []uint32) {
	y := x.memory
	if len(end) != len(numbers) {
		return
	}
	e.parts = 0
	for p := range end {
		if end[p] == numbers[p] {
			continue
		}
		e.parts |= 1 << p
		d := y.end(e.serial, uint32(p), numbers[p])
		if d.effect != 0 {
			if y.replaced++; y.replaced > len(y.ends)/4 && len(y.ends) < maxEnds {
				y.moreEnds()
				d = y.end(e.serial, uint32(p), numbers[p])
			}
		}
		*d = made{effect: e.serial, part: uint32(p), from: numbers[p], to: end[p]}
	}
}

// execute takes a step that is not remembered.
func (x *Expander) execute(t int, alt uint64, v search.Visitor) (kind system.Kind, next uint64) {
	if !x.loaded {
		x.load()
	}
	out := x.m.Step(t, alt)
	kind, next = out.Kind, out.Next
	x.count(t, kind, out.AtEnd)
	if kind == system.Moved {
		x.tell(t, alt, out.Violation, v)
	}
	return kind, next
}

// track takes a step with its scope, which is in y.bits, and its tally; ok is false if it may not
// be remembered.
func (x *Expander) track(t int, alt uint64, v search.Visitor) (out system.Outcome, tally int, ok bool) {
	if !x.loaded {
		x.load()
	}
	y := x.memory
	x.m.Track(true)
	out = x.m.Step(t, alt)
	if y.bits, ok = x.repeating.Scope(t, y.bits[:0]); ok {
		tally, ok = x.repeating.Tally()
		y.gather(len(x.state))
	}
	x.count(t, out.Kind, out.AtEnd)
	if out.Kind == system.Moved {
		x.tell(t, alt, out.Violation, v)
	}
	x.m.Track(false)
	return out, tally, ok
}

// gather joins the bits of the last step that stand in one word of a state of so many.
func (y *memory) gather(words int) {
	if len(y.masks) < words {
		y.masks = make([]uint64, words)
	}
	n := 2
	for _, b := range y.bits[2:] {
		if y.masks[b.Word] == 0 {
			y.bits[n].Word = b.Word
			n++
		}
		y.masks[b.Word] |= b.Mask
	}
	y.bits = y.bits[:n]
	for i := range y.bits[2:] {
		b := &y.bits[2+i]
		b.Mask, y.masks[b.Word] = y.masks[b.Word], 0
	}
}

// learn executes a step and remembers it if it can be. scope is where it was looked up; that of
// the next alternative comes back.
func (x *Expander) learn(l *layout, thread uint32, t int, alt uint64, scope int32, v search.Visitor) (kind system.Kind, next uint64, _ int32) {
	y := x.memory
	if y.credit -= missCost; y.credit < 0 {
		y.pause, y.credit = pause, maxCredit/4
	}
	out, tally, ok := x.track(t, alt, v)
	if out.Kind != system.Moved {
		x.end = append(x.end[:0], x.state...)
	}
	if len(y.bits) < 2 || thread == 0 || alt>>32 != 0 || out.Next>>32 != 0 || out.Violation != nil {
		return out.Kind, out.Next, scope
	}
	st := &l.threads[t]
	st.scope = 0 // it changes
	g := y.guessing(x.state, thread, &st.leads)
	if ok && !g.close && g.scope >= 0 && y.widen(g.scope, min(fewWords, y.most)) < 0 {
		g.scope = closer
		g = y.guessing(x.state, thread, &st.leads)
	}
	switch {
	case !ok:
		g.scope = -1
	case g.scope >= 0:
		g.scope = y.widen(g.scope, y.most)
	}
	if g.scope > 0 && !y.within(g.scope, x.state, x.end) {
		g.scope = -1
	}
	if g.scope < 0 {
		return out.Kind, out.Next, g.scope
	}
	y.scopes[g.scope].pack(x.state, &y.values)
	place := y.place(thread, uint32(alt))
	if y.effects[place].thread != 0 {
		if y.lost++; y.lost > len(y.effects)/4 && len(y.effects) < maxEffects {
			y.moreEffects()
			place = y.place(thread, uint32(alt))
		}
	}
	if y.serial++; y.serial == 0 {
		clear(y.ends)
		y.serial = 1
	}
	y.effects[place] = effect{
		values: y.values, thread: thread, alt: uint32(alt), scope: g.scope, serial: y.serial,
		next: uint32(out.Next), tally: int32(tally), kind: out.Kind, atEnd: out.AtEnd,
	}
	y.scopes[g.scope].pack(x.end, &y.after[place])
	return out.Kind, out.Next, g.scope
}

// moreEffects doubles the table of effects.
func (y *memory) moreEffects() {
	effects, after := y.effects, y.after
	n := 2 * len(effects)
	y.effects, y.after, y.lost = make([]effect, n), make([]values, n), 0
	for i := range effects {
		if e := &effects[i]; e.thread != 0 {
			place := y.placeOf(e.thread, e.alt, &e.values)
			y.effects[place], y.after[place] = *e, after[i]
		}
	}
}

// moreEnds doubles the table of what effects make of parts.
func (y *memory) moreEnds() {
	ends := y.ends
	y.ends, y.replaced = make([]made, 2*len(ends)), 0
	for i := range ends {
		if d := &ends[i]; d.effect != 0 {
			*y.end(d.effect, d.part, d.from) = *d
		}
	}
}

// widen returns a scope that has the bits of another one and those of the last step, -1 if
// there are too many.
func (y *memory) widen(scope int32, words int) int32 {
	if sc := &y.scopes[scope]; sc.n <= words && sc.has(y.bits[2:]) {
		return scope
	}
	sc := y.scopes[scope]
	for _, b := range y.bits[2:] {
		if !sc.add(b) || sc.n > words {
			return -1
		}
	}
	if len(y.scopes) == maxScopes {
		return -1
	}
	y.scopes = append(y.scopes, sc)
	return int32(len(y.scopes) - 1)
}

// within tells whether two states differ in a scope only.
func (y *memory) within(scope int32, a, b system.State) bool {
	if len(a) != len(b) {
		return false
	}
	sc := &y.scopes[scope]
	for w := range a {
		if d := a[w] ^ b[w]; d != 0 {
			for i := range sc.words[:sc.n] {
				if sc.words[i].word == int32(w) {
					d &^= sc.words[i].mask
				}
			}
			if d != 0 {
				return false
			}
		}
	}
	return true
}
