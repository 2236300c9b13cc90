package full

import (
	"math/bits"

	"cpor/engine/search"
	"cpor/statestore"
	"cpor/system"
)

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
	var numbered search.Numbered
	if d, ok := v.(search.Numbering); ok {
		numbered = d.Numbered()
	}
	var numbers []uint32
	if numbered != nil {
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
		thread := l.name(t)
		if st.place == 0 || x.state[st.by.Word]&st.by.Mask != st.at {
			y.locate(x.state, thread, st, false)
		}
		for alt := uint64(0); ; {
			kind, next := system.Moved, uint64(0)
			effect := -1
			if alt == 0 {
				effect = y.again(st, thread, x.state)
			}
			if effect < 0 && st.place > 0 && alt>>32 == 0 {
				effect = y.look(st, thread, uint32(alt), x.state)
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
			case st.place > 0 && y.whole(st.place).wide:
				kind, next = x.stepWide(st, thread, t, alt, v, numbered, numbers)
			default:
				if y.credit -= missCost; y.credit < 0 {
					y.pause, y.credit = pause, maxCredit/4
				}
				kind, next = x.learn(st, thread, t, alt, v, numbered, numbers)
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
func (x *Expander) repeat(effect, t int, alt uint64, v search.Visitor, numbered search.Numbered,
	numbers []uint32) {
	y := x.memory
	e := &y.effects[effect]
	if len(numbers) > 0 && (e.how == single || e.how == crossing) {
		known := true
		for set := e.parts; set != 0; set &= set - 1 {
			p := uint32(bits.TrailingZeros8(set)) % statestore.MaxNumbers
			id, from, other := e.serial<<partBits|p, y.numbers[p], uint32(0)
			if e.how == crossing {
				other = y.other(effect, p)
			}
			d := y.end(id, from, other)
			if d.effect != id || d.from != from || d.other != other {
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
	x.changed = x.changed[:0]
	r := &y.results[effect]
	ops := y.ops[r.first:][:r.n]
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
	if len(numbers) > 0 && e.how != byWords {
		x.note(effect, numbered, numbers)
	}
}

// note remembers what an effect has made of the parts of the state that is expanded.
func (x *Expander) note(effect int, numbered search.Numbered, numbers []uint32) {
	y := x.memory
	e := &y.effects[effect]
	end := numbered.Ended()
	if len(end) != len(numbers) {
		return
	}
	if e.how == unasked {
		if e.how = x.spread(effect, numbered); e.how == byWords {
			return
		}
	}
	for p := range uint32(len(end)) {
		if e.parts>>p&1 == 0 {
			continue
		}
		id, from, other := e.serial<<partBits|p, numbers[p], y.other(effect, p)
		d := y.end(id, from, other)
		if d.effect != 0 {
			if y.replaced++; y.replaced > len(y.ends)/4 && len(y.ends) < maxEnds {
				y.moreEnds()
				d = y.end(id, from, other)
			}
		}
		*d = made{effect: id, from: from, other: other, to: end[p]}
	}
}

// spread finds out which parts an effect can change, and what their numbers afterwards follow
// from.
func (x *Expander) spread(effect int, numbered search.Numbered) how {
	y := x.memory
	e, r := &y.effects[effect], &y.results[effect]
	ops := y.ops[r.first:][:r.n]
	x.changed = x.changed[:0]
	for i := range ops {
		x.changed = append(x.changed, ops[i].word)
	}
	if !numbered.Stays(x.changed) {
		return byWords
	}
	var parts uint32
	is := single
	r.other = [statestore.MaxNumbers]uint8{}
	for i := range ops {
		o := &ops[i]
		to := numbered.Parts(o.word, o.mask)
		parts |= to
		if o.from < 0 {
			continue
		}
		if from := numbered.Parts(o.from, bits.RotateLeft64(o.mask, -int(o.value))); from == to &&
			to&(to-1) == 0 {
			continue
		}
		for m := o.mask; m != 0; m &= m - 1 {
			bit := m & -m
			p := bits.TrailingZeros32(numbered.Parts(o.word, bit))
			q := bits.TrailingZeros32(numbered.Parts(o.from, bits.RotateLeft64(bit, -int(o.value))))
			switch {
			case p == q:
			case r.other[p] == 0 || r.other[p] == uint8(q+1):
				r.other[p], is = uint8(q+1), crossing
			default:
				return byWords
			}
		}
	}
	e.parts = uint8(parts)
	return is
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

// track takes a step with its scope, which is in y.step, and its tally; ok is false if it may not
// be remembered.
func (x *Expander) track(t int, alt uint64, v search.Visitor) (out system.Outcome, tally int,
	ok bool) {
	if !x.loaded {
		x.load()
	}
	y := x.memory
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

// learn executes a step and remembers it if it can be.
func (x *Expander) learn(st *standing, thread uint32, t int, alt uint64, v search.Visitor,
	numbered search.Numbered, numbers []uint32) (kind system.Kind, next uint64) {
	y := x.memory
	out, tally, ok := x.track(t, alt, v)
	kind, next = out.Kind, out.Next
	if y.step.At.Mask == 0 || thread == 0 || alt>>32 != 0 || next>>32 != 0 || out.Violation != nil {
		return kind, next
	}
	if len(y.lists) == maxLists || len(y.scopes) == maxScopes || y.serial == maxSerial ||
		len(y.ops) > maxOps {
		y.forget()
	}
	st.leads[0], st.leads[1] = y.step.At, y.step.Own
	p := y.locate(x.state, thread, st, true)
	if p == 0 {
		return kind, next
	}
	if !ok {
		pl := y.whole(p)
		pl.wide = true
		pl.luck -= badLuck
		return kind, next
	}
	scope := y.scopeFor(p, uint32(alt))
	if scope == 0 {
		pl := y.whole(p)
		pl.wide = true
		x.learnWide(pl, thread, alt, out, tally, numbered, numbers)
		return kind, next
	}
	if !y.compare(x.state, x.end) {
		return kind, next
	}
	y.scopes[scope].pack(x.state, &y.values)
	i := y.room(thread, uint32(alt), scope, &y.values)
	y.serial++
	y.effects[i] = effect{
		values: y.values, thread: thread, alt: uint32(alt), scope: scope, serial: y.serial,
		next: uint32(next), tally: int32(tally), kind: kind, atEnd: out.AtEnd,
	}
	r := &y.results[i]
	if r.n = int32(len(y.doing)); r.n > r.room {
		r.first, r.room = int32(len(y.ops)), r.n
		y.ops = append(y.ops, y.doing...)
	}
	copy(y.ops[r.first:], y.doing)
	return kind, next
}
