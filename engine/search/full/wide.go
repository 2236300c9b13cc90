package full

import (
	"math/bits"

	"cpor/engine/search"
	"cpor/statestore"
	"cpor/system"
)

// wideStep is what a step does that reads too much for a scope, as one does that looks through a
// long channel. It is found by the numbers of all parts of the stored state in
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
	// pays for so many that are executed with their scope noted. One that cannot be
	// remembered at all costs more.
	firstLuck, maxLuck, hitLuck, badLuck = 1 << 8, 1 << 10, 2, 1 << 4
)

// wideAt returns the place for a step of a thread that touches some parts.
func (y *memory) wideAt(thread, alt uint32, parts uint8,
	from *[statestore.MaxNumbers]uint32) *wideStep {
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

// parted returns the numbers of some parts.
func parted(numbers []uint32, parts uint8) (from [statestore.MaxNumbers]uint32) {
	for p := range numbers {
		if parts>>p&1 != 0 {
			from[p] = numbers[p]
		}
	}
	return from
}

// stepWide takes a step that has no effect, from a place with wide steps.
func (x *Expander) stepWide(st *standing, thread uint32, t int, alt uint64, v search.Visitor,
	numbered search.Numbered, numbers []uint32) (kind system.Kind, next uint64) {
	y := x.memory
	pl := y.whole(st.place)
	if pl.luck < 0 || alt>>32 != 0 {
		return x.execute(t, alt, v)
	}
	if pl.parts != 0 && len(numbers) > 0 {
		from := parted(numbers, pl.parts)
		e := y.wideAt(thread, uint32(alt), pl.parts, &from)
		if e.thread == thread && e.alt == uint32(alt) && e.parts == pl.parts && e.from == from {
			pl.luck = min(pl.luck+hitLuck, maxLuck)
			x.repeating.Repeat(int(e.tally))
			x.count(t, e.kind, e.atEnd)
			if e.kind == system.Moved {
				numbered.MoveNumbers(uint32(e.changes), &e.to)
			}
			return e.kind, uint64(e.next)
		}
	}
	pl.luck--
	return x.learn(st, thread, t, alt, v, numbered, numbers)
}

// learnWide remembers the step that was taken last, an alternative of a thread from a place.
func (x *Expander) learnWide(pl *place, thread uint32, alt uint64, out system.Outcome, tally int,
	numbered search.Numbered, numbers []uint32) {
	y := x.memory
	if len(numbers) == 0 {
		return
	}
	parts := uint32(pl.parts)
	for _, list := range [][]system.Bits{y.step.Reads, y.step.Writes} {
		for _, b := range list {
			parts |= numbered.Parts(b.Word, b.Mask)
		}
	}
	for i := range y.step.Copies {
		c := &y.step.Copies[i]
		from := c.Source()
		parts |= numbered.Parts(c.To.Word, c.To.Mask) | numbered.Parts(from.Word, from.Mask)
	}
	if parts == 0 || parts == 1<<len(numbers)-1 {
		// No other state has the same numbers.
		pl.luck = -1
		return
	}
	pl.parts = uint8(parts)
	e := wideStep{
		thread: thread, alt: uint32(alt), next: uint32(out.Next), tally: int32(tally),
		kind: out.Kind, atEnd: out.AtEnd, parts: pl.parts, from: parted(numbers, pl.parts),
	}
	if out.Kind == system.Moved {
		if len(x.end) != len(x.state) {
			return
		}
		x.changed = x.changed[:0]
		for w := range x.end {
			if x.end[w] != x.state[w] {
				x.changed = append(x.changed, int32(w))
			}
		}
		if !numbered.Stays(x.changed) {
			return
		}
		end := numbered.Ended()
		if len(end) != len(numbers) {
			return
		}
		for p := range end {
			if end[p] == numbers[p] {
				continue
			}
			if pl.parts>>p&1 == 0 {
				return
			}
			e.changes |= 1 << p
			e.to[p] = end[p]
		}
	}
	if y.wides == nil {
		y.moreWides()
	}
	place := y.wideAt(thread, uint32(alt), pl.parts, &e.from)
	if place.thread != 0 {
		if y.widesLost++; y.widesLost > len(y.wides)/4 && len(y.wides) < maxWides {
			y.moreWides()
			place = y.wideAt(thread, uint32(alt), pl.parts, &e.from)
		}
	}
	*place = e
}
