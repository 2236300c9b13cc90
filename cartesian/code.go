package cartesian

import (
	"math/bits"
	"slices"
	"sync/atomic"

	"cpor/system"
)

// Machine code ([system.Expanding]) executes the first transitions of all threads in one call, and
// runs each thread on as far as its prefix will probably go: as far as the last one went, and
// twice as far if that was not enough. What was executed in vain costs little. Where the code
// leaves something to the machine, or has not run far enough, a prefix continues on a machine of
// its own.

// code is what an expander knows of machine code.
type code struct {
	system.AwaitedCode
	steps []step         // of the expanded state, by thread
	used  *atomic.Uint64 // the states that code expands are counted here, if not nil
}

// step is a transition that code has executed.
type step struct {
	system.Successor
	hash uint64 // of the state behind it, once its prefix has it
}

const (
	// patience is how many transitions are taken before code is compiled. Small models end
	// earlier.
	patience = 1 << 16
	// mostAhead is how far a thread is run ahead.
	mostAhead = 1 << 10
)

// Coded is New for tests: every state is expanded by machine code, if there is any.
func Coded(sys system.System, o Options) *Expander {
	e := New(sys, o)
	e.code.Forced = true
	return e
}

// CountCode implements [reduction.Compiling].
func (e *Expander) CountCode(states *atomic.Uint64) { e.code.used = states }

// executed has the code execute s, if that is possible.
func (e *Expander) executed(s system.State) bool {
	c := &e.code
	if !c.Ready(e.counters.Attempts >= patience) || !c.Expand(s) {
		return false
	}
	if c.used != nil {
		c.used.Add(1)
	}
	for n := 0; ; n++ {
		if n == cap(c.steps) {
			c.steps = append(c.steps[:n], step{})
		}
		c.steps = c.steps[:n+1]
		if !c.Next(&c.steps[n].Successor) {
			c.steps = c.steps[:n]
			return true
		}
	}
}

// encode returns the encoding of the state behind a step that code has executed, in a buffer if it
// is not encoded.
func (e *Expander) encode(x *step, buf *system.State) system.State {
	if e.code.Encode == nil {
		return x.End
	}
	*buf = e.code.Encode(*buf, x.End)
	return *buf
}

// difference is by what a step changes the hash of the state, as a machine does. changed are the
// words that it has changed, 0 if that is not known.
func difference(from, to system.State, changed uint64) (h uint64) {
	for i := len(to); i < len(from); i++ { // a process has died
		h ^= system.HashWord(int32(i), from[i]) ^ system.HashWord(int32(i), 0)
	}
	if changed == 0 || len(to) > 64 || len(to) < len(from) {
		for i, w := range to {
			if w != from[i] {
				h ^= system.HashWord(int32(i), from[i]) ^ system.HashWord(int32(i), w)
			}
		}
		return h
	}
	for ; changed != 0; changed &= changed - 1 {
		i := bits.TrailingZeros64(changed)
		if from[i] != to[i] {
			h ^= system.HashWord(int32(i), from[i]) ^ system.HashWord(int32(i), to[i])
		}
	}
	return h
}

// firsts is first for all threads, by what the code has executed of s.
func (e *Expander) firsts(s system.State) {
	steps := e.code.steps
	for i := 0; i < len(steps) && !e.stopped; {
		t, begin := steps[i].Thread, len(e.prefixes)
		if steps[i].Left {
			e.load()
			e.first(int32(t), s)
			i++
			continue
		}
		for i < len(steps) && steps[i].Thread == t {
			e.startByCode(&i)
			if n := len(e.prefixes) - begin; n%stopInterval == 0 && e.stopper != nil &&
				e.stopper.Stopped() {
				e.stopped = true
				return
			}
		}
		e.limitWidth(begin)
	}
}

// startByCode starts the prefix that begins with step i of the code, and moves i behind what the
// code has executed of it.
func (e *Expander) startByCode(i *int) {
	x := &e.code.steps[*i]
	alt := uint64(0)
	if x.Kind == system.Moved {
		alt = x.Alt
	}
	p := e.newPrefix(int32(x.Thread), alt)
	p.from, p.next = *i, *i+1
	p.short = x.Thread < len(e.short) && e.short[x.Thread]
	for *i++; *i < len(e.code.steps) && e.code.steps[*i].Behind; *i++ {
	}
	p.to = *i
	e.effort.Steps++
	e.effort.FullSteps++
	x.hash, p.idle = 0, true
	out := system.Outcome{Kind: x.Kind}
	if x.Kind == system.Moved {
		e.effort.FullEnds++
		x.hash = difference(e.start, x.End, x.Changed)
		p.idle = x.hash == 0 && slices.Equal(x.End, e.start)
	} else {
		out.AtEnd = x.AtEnd
	}
	p.states.add(0)
	e.prefixes = append(e.prefixes, p)
	p.accesses = x.Accesses
	e.add(int32(len(e.prefixes)-1), out, x.hash)
}

// extendByCode tries to extend prefix i by the next transition that the code has executed.
func (e *Expander) extendByCode(i int32) {
	p := e.prefixes[i]
	x, before := &e.code.steps[p.next], &e.code.steps[p.next-1]
	switch {
	case x.Left:
		p.to = p.next // the machine continues
		e.effort.Steps--
		e.extend(i, e.start)
		return
	case x.Several:
		p.extendable = false
		return
	}
	out := system.Outcome{Kind: x.Kind}
	if !e.fits(p, out, x.Accesses) {
		return
	}
	x.hash = before.hash
	if x.Kind == system.Moved {
		x.hash ^= difference(before.End, x.End, x.Changed)
	} else {
		out.AtEnd = x.AtEnd
	}
	p.next++
	p.accesses = x.Accesses
	e.add(i, out, x.hash)
}

// remember decides from a prefix how far its thread is run ahead the next time.
func (c *code) remember(p *prefix) {
	next := int(p.length)
	if p.machine != nil {
		next *= 2
	}
	if t := int(p.thread); t < len(c.Ahead) {
		c.Ahead[t] = uint16(min(next, mostAhead))
	}
}
