package full

import (
	"math/bits"

	"cpor/engine/search"
	"cpor/statestore"
	"cpor/system"
)

// expandCached is expand that executes only steps that are not cached.
func (x *Expander) expandCached(v search.Visitor, stopper search.Stopper) (stopped bool) {
	y := x.cache
	if y == nil {
		y = newStepCache(x.words)
		x.cache = y
	}
	if y.bypass > 0 {
		y.bypass--
		return x.expand(v, stopper)
	}
	x.number(v)
	c := context{len(x.state), x.repeating.Regime(x.state)}
	entry := y.entryOf(c)
	if entry == nil {
		if len(y.contexts) == maxContexts {
			x.cache, x.repeating = nil, nil // hardly any state is like another one
			return x.expand(v, stopper)
		}
		x.load()
		entry = y.addContext(c, x.m.NumThreads())
	}
	return x.stepsCached(entry, v, stopper)
}

// number sets the numbers of the parts of the expanded state, if v has them.
func (x *Expander) number(v search.Visitor) {
	x.numbered, x.numbers = nil, nil
	if d, ok := v.(search.Numbering); ok {
		if x.numbered = d.Numbered(); x.numbered != nil {
			x.numbers = x.cache.numbers[:copy(x.cache.numbers[:], x.numbered.Numbers())]
		}
	}
}

// stepsCached takes every step of every thread. Those that the cache has are not executed.
func (x *Expander) stepsCached(entry *contextEntry, v search.Visitor, stopper search.Stopper) (
	stopped bool) {
	y := x.cache
	for t := range entry.threads {
		last, thread := &entry.threads[t], entry.id(t)
		if last.location == 0 || x.state[last.keyBits.Word]&last.keyBits.Mask != last.key {
			y.locate(x.state, thread, last, false)
		}
		for alt := uint64(0); ; {
			kind, next := system.Moved, uint64(0)
			effect := -1
			if alt == 0 {
				effect = y.lookupLast(last, thread, x.state)
			}
			if effect < 0 && last.location > 0 && alt>>32 == 0 {
				effect = y.lookup(last, thread, uint32(alt), x.state)
			}
			switch {
			case effect >= 0:
				e := &y.effects[effect]
				if y.budget < maxBudget {
					y.budget++
				}
				x.repeating.Repeat(int(e.tally))
				kind, next = e.kind, uint64(e.next)
				x.count(t, kind, e.atEnd)
				if kind == system.Moved {
					x.replay(effect, t, alt, v)
				}
			case last.location > 0 && y.root(last.location).byParts:
				kind, next = x.stepLocal(last, thread, t, alt, v)
			default:
				if y.budget -= missCost; y.budget < 0 {
					y.bypass, y.budget = bypassed, maxBudget/4
				}
				kind, next = x.learn(last, thread, t, alt, v)
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

// replay sends v a transition whose effect is known.
func (x *Expander) replay(effect, t int, alt uint64, v search.Visitor) {
	y := x.cache
	e := &y.effects[effect]
	if len(x.numbers) > 0 && (e.dependence == ownPart || e.dependence == twoParts) &&
		x.replayNumbers(effect) {
		return
	}
	x.end = append(x.end[:0], x.state...)
	x.changed = x.changed[:0]
	r := &y.updates[effect]
	ops := y.writes[r.first:][:r.n]
	for i := range ops {
		o := &ops[i]
		now := o.value
		if o.from >= 0 {
			now = bits.RotateLeft64(x.state[o.from], int(o.value)) & o.mask
		}
		if old := x.end[o.word]; old&o.mask != now {
			x.end[o.word] = old&^o.mask | now
			x.changed = append(x.changed, o.word)
		}
	}
	x.move.Thread, x.move.Alt, x.move.End, x.move.Changed = t, alt, x.end, x.changed
	v.Move(&x.move)
	if len(x.numbers) > 0 && e.dependence != wholeState {
		x.rememberParts(effect)
	}
}

// replayNumbers sends a transition as the numbers of the parts afterwards, if all are known.
func (x *Expander) replayNumbers(effect int) bool {
	y := x.cache
	e := &y.effects[effect]
	for set := e.parts; set != 0; set &= set - 1 {
		p := uint32(bits.TrailingZeros8(set)) % statestore.MaxNumbers
		id, from, source := e.version<<partBits|p, y.numbers[p], uint32(0)
		if e.dependence == twoParts {
			source = y.sourceNumber(effect, p)
		}
		d := y.partSlot(id, from, source)
		if d.effect != id || d.from != from || d.source != source {
			return false
		}
		y.to[p] = d.to
	}
	x.numbered.MoveNumbers(uint32(e.parts), &y.to)
	return true
}

// rememberParts enters the numbers of the parts after an effect, in the state being expanded.
func (x *Expander) rememberParts(effect int) {
	y := x.cache
	e := &y.effects[effect]
	end := x.numbered.Ended()
	if len(end) != len(x.numbers) {
		return
	}
	if e.dependence == unclassified {
		if e.dependence = x.classify(effect); e.dependence == wholeState {
			return
		}
	}
	for p := range uint32(len(end)) {
		if e.parts>>p&1 == 0 {
			continue
		}
		id, from, other := e.version<<partBits|p, x.numbers[p], y.sourceNumber(effect, p)
		d := y.partSlot(id, from, other)
		if d.effect != 0 {
			if y.evictions++; y.evictions > len(y.partUpdates)/4 &&
				len(y.partUpdates) < maxPartUpdates {
				y.growParts()
				d = y.partSlot(id, from, other)
			}
		}
		*d = partUpdate{effect: id, from: from, source: other, to: end[p]}
	}
}

// classify finds the parts that an effect can change, and what their numbers afterwards depend on.
func (x *Expander) classify(effect int) dependence {
	y := x.cache
	e, r := &y.effects[effect], &y.updates[effect]
	ops := y.writes[r.first:][:r.n]
	x.changed = x.changed[:0]
	for i := range ops {
		x.changed = append(x.changed, ops[i].word)
	}
	if !x.numbered.Stays(x.changed) {
		return wholeState
	}
	var parts uint32
	is := ownPart
	r.source = [statestore.MaxNumbers]uint8{}
	for i := range ops {
		o := &ops[i]
		to := x.numbered.Parts(o.word, o.mask)
		parts |= to
		if o.from < 0 {
			continue
		}
		if from := x.numbered.Parts(o.from, bits.RotateLeft64(o.mask, -int(o.value))); from == to &&
			to&(to-1) == 0 {
			continue
		}
		for m := o.mask; m != 0; m &= m - 1 {
			bit := m & -m
			p := bits.TrailingZeros32(x.numbered.Parts(o.word, bit))
			q := bits.TrailingZeros32(
				x.numbered.Parts(o.from, bits.RotateLeft64(bit, -int(o.value))),
			)
			switch {
			case p == q:
			case r.source[p] == 0 || r.source[p] == uint8(q+1):
				r.source[p], is = uint8(q+1), twoParts
			default:
				return wholeState
			}
		}
	}
	e.parts = uint8(parts)
	return is
}

// execute takes a step that is not cached.
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

// track takes a step and records its scope, in y.step, and its tally; ok is false if it may not
// be cached.
func (x *Expander) track(t int, alt uint64, v search.Visitor) (out system.Outcome, tally int,
	ok bool) {
	if !x.loaded {
		x.load()
	}
	y := x.cache
	x.repeating.Learn(true)
	out = x.m.Step(t, alt)
	if ok = x.repeating.Scope(t, &y.step); ok {
		tally, ok = x.repeating.Tally()
		y.gather(len(x.state))
	}
	x.count(t, out.Kind, out.AtEnd)
	if out.Kind == system.Moved {
		x.tell(t, alt, out.Violation, v)
	} else {
		x.end = append(x.end[:0], x.state...)
	}
	x.repeating.Learn(false)
	return out, tally, ok
}

// learn executes a step and enters it if possible.
func (x *Expander) learn(last *inlineCache, thread uint32, t int, alt uint64,
	v search.Visitor) (kind system.Kind, next uint64) {
	y := x.cache
	out, tally, ok := x.track(t, alt, v)
	kind, next = out.Kind, out.Next
	if y.step.At.Mask == 0 || thread == 0 || alt>>32 != 0 || next>>32 != 0 || out.Violation != nil {
		return kind, next
	}
	if len(y.chains) == maxLinks || len(y.readSets) == maxReadSets || y.version == maxVersion ||
		len(y.writes) > maxWrites {
		y.reset()
	}
	last.keys[0], last.keys[1] = y.step.At, y.step.Own
	p := y.locate(x.state, thread, last, true)
	if p == 0 {
		return kind, next
	}
	if !ok {
		loc := y.root(p)
		loc.byParts = true
		loc.budget -= failBudget
		return kind, next
	}
	set := y.readSetFor(p, uint32(alt))
	if set == 0 {
		loc := y.root(p)
		loc.byParts = true
		x.learnLocal(loc, thread, alt, out, tally)
		return kind, next
	}
	if !y.diff(x.state, x.end) {
		return kind, next
	}
	y.readSets[set].pack(x.state, &y.values)
	i := y.effectSlot(thread, uint32(alt), set, &y.values)
	y.version++
	y.effects[i] = effect{
		values: y.values, thread: thread, alt: uint32(alt), readSet: set, version: y.version,
		next: uint32(next), tally: int32(tally), kind: kind, atEnd: out.AtEnd,
	}
	r := &y.updates[i]
	if r.n = int32(len(y.lastWrites)); r.n > r.room {
		r.first, r.room = int32(len(y.writes)), r.n
		y.writes = append(y.writes, y.lastWrites...)
	}
	copy(y.writes[r.first:], y.lastWrites)
	return kind, next
}
