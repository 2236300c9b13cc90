package full

import (
	"math/bits"

	"cpor/engine/search"
	"cpor/statestore"
	"cpor/system"
)

// localStep is an entry of the table of local transitions, which serves steps that read too much
// for a read set, such as one that searches a long channel. Its key is the numbers of all parts
// of the stored state that the step touches, so it hits less often than an effect. But these are
// few numbers, however large the parts are, and the entry contains the numbers of the end, too.
type localStep struct {
	from, to [statestore.MaxNumbers]uint32 // of the parts; 0 elsewhere
	thread   uint32                        // with its context; 0: the slot is free
	alt      uint32
	next     uint32
	tally    int32
	kind     system.Kind
	atEnd    bool
	parts    uint8 // that it touches
	changes  uint8
}

const (
	minLocal, maxLocal = 1 << 9, 1 << 15

	// The steps of a location are looked up as long as its budget lasts: a miss costs 1, since its
	// read set is recorded, and a hit adds hitBudget. A step that cannot be entered at all
	// costs failBudget.
	firstBudget, maxLocalBudget, hitBudget, failBudget = 1 << 8, 1 << 10, 2, 1 << 4
)

// localSlot returns the slot of a step of a thread that touches some parts; the table is
// direct-mapped.
func (y *stepCache) localSlot(thread, alt uint32, parts uint8,
	from *[statestore.MaxNumbers]uint32) *localStep {
	h := (uint64(thread) ^ uint64(alt)<<32 ^ uint64(parts)<<56) * mixer
	for i := 0; i < len(from); i += 2 {
		hi, lo := bits.Mul64(h^(uint64(from[i])|uint64(from[i+1])<<32), mixer)
		h = hi ^ lo
	}
	return &y.localSteps[h&uint64(len(y.localSteps)-1)]
}

// growLocal makes the table of local steps, or doubles it.
func (y *stepCache) growLocal() {
	old := y.localSteps
	y.localSteps, y.localEvictions = make([]localStep, max(minLocal, 2*len(old))), 0
	for i := range old {
		if e := &old[i]; e.thread != 0 {
			*y.localSlot(e.thread, e.alt, e.parts, &e.from) = *e
		}
	}
}

// selectParts returns the numbers of some parts, and 0 for the others.
func selectParts(numbers []uint32, parts uint8) (from [statestore.MaxNumbers]uint32) {
	for p := range numbers {
		if parts>>p&1 != 0 {
			from[p] = numbers[p]
		}
	}
	return from
}

// stepLocal takes a step that has no effect, from a location some of whose steps are found by
// parts.
func (x *Expander) stepLocal(last *inlineCache, thread uint32, t int, alt uint64,
	v search.Visitor) (kind system.Kind, next uint64) {
	y := x.cache
	loc := y.root(last.location)
	if loc.budget < 0 || alt>>32 != 0 {
		return x.execute(t, alt, v)
	}
	if loc.parts != 0 && len(x.numbers) > 0 {
		from := selectParts(x.numbers, loc.parts)
		e := y.localSlot(thread, uint32(alt), loc.parts, &from)
		if e.thread == thread && e.alt == uint32(alt) && e.parts == loc.parts && e.from == from {
			loc.budget = min(loc.budget+hitBudget, maxLocalBudget)
			x.repeating.Repeat(int(e.tally))
			x.count(t, e.kind, e.atEnd)
			if e.kind == system.Moved {
				x.numbered.MoveNumbers(uint32(e.changes), &e.to)
			}
			return e.kind, uint64(e.next)
		}
	}
	loc.budget--
	return x.learn(last, thread, t, alt, v)
}

// learnLocal enters the step that was taken last, an alternative of a thread at a location.
func (x *Expander) learnLocal(loc *location, thread uint32, alt uint64, out system.Outcome,
	tally int) {
	y := x.cache
	if len(x.numbers) == 0 {
		return
	}
	parts := uint32(loc.parts)
	for _, list := range [][]system.Bits{y.step.Reads, y.step.Writes} {
		for _, b := range list {
			parts |= x.numbered.Parts(b.Word, b.Mask)
		}
	}
	for i := range y.step.Copies {
		c := &y.step.Copies[i]
		from := c.Source()
		parts |= x.numbered.Parts(c.To.Word, c.To.Mask) | x.numbered.Parts(from.Word, from.Mask)
	}
	if parts == 0 || parts == 1<<len(x.numbers)-1 {
		// No other state has the same x.numbers.
		loc.budget = -1
		return
	}
	loc.parts = uint8(parts)
	e := localStep{
		thread: thread, alt: uint32(alt), next: uint32(out.Next), tally: int32(tally),
		kind: out.Kind, atEnd: out.AtEnd, parts: loc.parts, from: selectParts(x.numbers, loc.parts),
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
		if !x.numbered.Stays(x.changed) {
			return
		}
		end := x.numbered.Ended()
		if len(end) != len(x.numbers) {
			return
		}
		for p := range end {
			if end[p] == x.numbers[p] {
				continue
			}
			if loc.parts>>p&1 == 0 {
				return
			}
			e.changes |= 1 << p
			e.to[p] = end[p]
		}
	}
	if y.localSteps == nil {
		y.growLocal()
	}
	slot := y.localSlot(thread, uint32(alt), loc.parts, &e.from)
	if slot.thread != 0 {
		if y.localEvictions++; y.localEvictions > len(y.localSteps)/4 &&
			len(y.localSteps) < maxLocal {
			y.growLocal()
			slot = y.localSlot(thread, uint32(alt), loc.parts, &e.from)
		}
	}
	*slot = e
}
