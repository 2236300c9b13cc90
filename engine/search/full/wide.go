package full

import (
	"math/bits"

	"cpor/engine/search"
	"cpor/statestore"
	"cpor/system"
)

// wideStep is what a step does that touches too much for a scope, as one does that takes a
// message out of a long channel. It is found by the numbers of all parts of the stored state in
// which it touches anything, and so more seldom than by its scope; but these
// are few numbers, however much stands in the parts, and those of the end are in
// it, too.
type wideStep struct {
	from, to [statestore.MaxNumbers]uint32 // of the parts; 0 elsewhere
	thread   uint32                        // with the number of the context; 0: none
	alt      uint32
	next     uint32
	tally    int32
	kind     system.Kind
	atEnd    bool
	parts    uint8 // that it touches
	changes  uint8
}

const (
	minWides, maxWides = 1 << 9, 1 << 15

	// The steps of a place are looked up as long as its luck lasts: one that is found
	// pays for so many that are executed with their accesses recorded.
	firstLuck, maxLuck, hitLuck = 1 << 8, 1 << 10, 2
)

// wideAt returns the place for a step of a thread that touches some parts.
func (y *memory) wideAt(thread, alt uint32, parts uint8, from *[statestore.MaxNumbers]uint32) *wideStep {
	h := (uint64(thread) ^ uint64(alt)<<32 ^ uint64(parts)<<56) * mixer
	for i := 0; i < len(from); i += 2 {
		hi, lo := bits.Mul64(h^(uint64(from[i])|uint64(from[i+1])<<32), mixer)
		h = hi ^ lo
	}
	return &y.wides[h&uint64(len(y.wides)-1)]
}

// moreWides makes the table of wide steps, or doubles it.
func (y *memory) moreWides() {
	old := y.wides
	y.wides, y.widesLost = make([]wideStep, max(minWides, 2*len(old))), 0
	for i := range old {
		if e := &old[i]; e.thread != 0 {
			*y.wideAt(e.thread, e.alt, e.parts, &e.from) = *e
		}
	}
}

// stepWide takes a step whose scope is too wide, or which must be executed each time.
func (x *Expander) stepWide(st *standing, thread uint32, t int, alt uint64, v search.Visitor, numbered search.Numbered, numbers []uint32) (kind system.Kind, next uint64) {
	y := x.memory
	g := y.guessed(x.state, thread, &st.leads)
	if len(numbers) == 0 || g == nil || g.scope != -1 || g.luck < 0 || alt>>32 != 0 {
		return x.execute(t, alt, v)
	}
	var from [statestore.MaxNumbers]uint32
	if g.parts != 0 {
		if y.wides == nil {
			y.moreWides()
		}
		for p := range numbers {
			if g.parts>>p&1 != 0 {
				from[p] = numbers[p]
			}
		}
		e := y.wideAt(thread, uint32(alt), g.parts, &from)
		if e.thread == thread && e.alt == uint32(alt) && e.parts == g.parts && e.from == from {
			g.luck = min(g.luck+hitLuck, maxLuck)
			x.repeating.Repeat(int(e.tally))
			x.count(t, e.kind, e.atEnd)
			if e.kind == system.Moved {
				numbered.MoveNumbers(uint32(e.changes), &e.to)
			}
			return e.kind, uint64(e.next)
		}
	}
	g.luck--
	out, tally, ok := x.track(t, alt, v)
	if !ok {
		g.luck = -1
		return out.Kind, out.Next
	}
	if out.Next>>32 != 0 || out.Violation != nil {
		return out.Kind, out.Next
	}
	parts := uint32(g.parts)
	for _, b := range y.bits[2:] {
		parts |= numbered.Parts(b.Word, b.Mask)
	}
	if parts == 0 || parts == 1<<len(numbers)-1 {
		// No other state has the same numbers.
		g.luck = -1
		return out.Kind, out.Next
	}
	g.parts = uint8(parts)
	e := wideStep{
		thread: thread, alt: uint32(alt), next: uint32(out.Next), tally: int32(tally),
		kind: out.Kind, atEnd: out.AtEnd, parts: g.parts,
	}
	for p := range numbers {
		if g.parts>>p&1 != 0 {
			e.from[p] = numbers[p]
		}
	}
	if out.Kind == system.Moved {
		if len(x.end) != len(x.state) {
			return out.Kind, out.Next
		}
		x.changed = x.changed[:0]
		for w := range x.end {
			if x.end[w] != x.state[w] {
				x.changed = append(x.changed, int32(w))
			}
		}
		if !numbered.Stays(x.changed) {
			return out.Kind, out.Next
		}
		end := numbered.Ended()
		if len(end) != len(numbers) {
			return out.Kind, out.Next
		}
		for p := range end {
			if end[p] == numbers[p] {
				continue
			}
			if g.parts>>p&1 == 0 {
				return out.Kind, out.Next
			}
			e.changes |= 1 << p
			e.to[p] = end[p]
		}
	}
	if y.wides == nil {
		y.moreWides()
	}
	place := y.wideAt(thread, uint32(alt), g.parts, &e.from)
	if place.thread != 0 {
		if y.widesLost++; y.widesLost > len(y.wides)/4 && len(y.wides) < maxWides {
			y.moreWides()
			place = y.wideAt(thread, uint32(alt), g.parts, &e.from)
		}
	}
	*place = e
	return out.Kind, out.Next
}
