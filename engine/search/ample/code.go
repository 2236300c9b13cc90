package ample

import (
	"sync/atomic"

	"cpor/engine/search"
	"cpor/system"
	"cpor/testkit/sabotage"
)

// Machine code ([system.Code]) executes what the machine would execute one by one. Each call takes
// the threads from the first one that is needed up to the one whose transitions were an ample set
// the last time: where sets are found early, the others are not executed. The code also runs each
// thread on as far as its moves went before. The machine stays at the expanded state, where it
// answers questions. It executes what the code leaves to it, and goes to the end of a move while
// that is being continued.

// code is what an expander knows of machine code.
type code struct {
	system.AwaitedCode
	used *atomic.Uint64 // the states that code expands are counted here, if not nil

	// Of the state that is expanded:
	on     bool // code executes it
	did    bool // it has executed some threads
	until  int  // the threads below were executed
	away   bool // the machine is elsewhere
	steps  []step
	ends   []uint64        // of steps
	behind []system.Access // of steps behind the first

	last int // the last thread of the last ample set
	// By thread: where it was run on the last time, it had several alternatives. The machine then
	// finds that out sooner, because it executes only one of them.
	several []bool
	next    system.Successor
}

// step is a transition that code has executed.
type step struct {
	alt      uint64
	kind     system.Kind
	behind   bool // it follows the step before it
	several  bool // the thread has several alternatives there
	left     bool // to the machine
	from, to int  // its end in ends
	// Its accesses in behind, if it follows another one.
	accessesFrom, accessesTo int
}

// patience is how many transitions are executed before code is compiled.
const patience = 1 << 14

// Coded is [Factory] for tests: every state is expanded by machine code, if there is any, and ample
// sets are always looked for. With lazy, moves are made only of threads of a set, as for [Sets].
func Coded(sys system.System, lazy bool) (search.Factory, error) {
	sets, err := Sets(sys, nil)
	if err != nil {
		return nil, err
	}
	return func() search.Expander {
		x := sets()
		x.code.Machine = x.m.Capabilities().Expanding
		x.code.Forced, x.lazy = true, lazy
		return x
	}, nil
}

// begin prepares the expansion of s.
func (c *code) begin(attempts uint64) {
	c.on = c.Ready(attempts >= patience)
	c.did, c.until, c.away = false, 0, false
	c.steps, c.ends, c.behind = c.steps[:0], c.ends[:0], c.behind[:0]
}

// end counts the state that was expanded.
func (c *code) end() {
	if c.did && c.used != nil {
		c.used.Add(1)
	}
}

// executed has the code execute thread t, if it has not, and others behind it. It is false if that
// is left to the machine.
func (x *Expander) executed(t int) bool {
	c := &x.code
	if !c.on {
		return false
	}
	if t >= c.until {
		c.until = len(x.threads)
		if t <= c.last {
			c.until = min(c.until, c.last+1)
		}
		c.Range(t, c.until)
		if c.on = c.Expand(x.state); !c.on {
			return false
		}
		c.did = true
		x.home() // where Late is asked
		for c.Next(&c.next) {
			x.keep(&c.next)
		}
	}
	y := &x.threads[t]
	if y.coded {
		y.looked = true
		x.charge(max(1, y.enabled))
	}
	return y.coded
}

// charge counts transitions as if the machine had executed them: what package auto decides by
// Effort must not depend on when code was ready.
func (x *Expander) charge(n int) {
	x.counters.Attempts += uint64(n)
	x.effort.Steps += n
}

// keep keeps an outcome that the code tells.
func (x *Expander) keep(n *system.Successor) {
	c, y := &x.code, &x.threads[n.Thread]
	if n.Left && !n.Behind {
		return
	}
	s := step{alt: n.Alt, kind: n.Kind, behind: n.Behind, several: n.Several, left: n.Left,
		from: len(c.ends), accessesFrom: len(c.behind)}
	if !n.Left && !n.Several && n.Kind == system.Moved {
		c.ends = append(c.ends, n.End...)
		if n.Behind {
			c.behind = append(c.behind, n.Accesses...)
		}
	}
	s.to, s.accessesTo = len(c.ends), len(c.behind)
	if !n.Behind {
		if !y.coded {
			*y = thread{coded: true, from: len(x.accesses), steps: len(c.steps)}
		}
		if n.Kind == system.Moved || !sabotage.Is("ample/blocked") {
			x.accesses = append(x.accesses, n.Accesses...)
		}
		y.to = len(x.accesses)
		if n.Kind == system.Moved {
			y.enabled++
			y.late = y.late || x.bounds.Late(n.Thread, n.Accesses)
		} else {
			y.kind, y.atEnd = n.Kind, n.AtEnd
		}
	}
	c.steps = append(c.steps, s)
	y.stepsTo = len(c.steps)
}

// moved makes the moves of a thread that code has executed.
func (x *Expander) moved(t int) {
	c, y := &x.code, &x.threads[t]
	y.first = len(x.moves)
	if x.lazy {
		x.charge(max(1, y.enabled)) // again
	}
	for i := y.steps; i < y.stepsTo; {
		s := &c.steps[i]
		if s.kind != system.Moved {
			break // the only one
		}
		from := i + 1
		for i++; i < y.stepsTo && c.steps[i].behind; i++ {
		}
		mv := taken{thread: t, alt: s.alt, length: 1, from: len(x.words)}
		end := c.ends[s.from:s.to]
		if x.obs.Has(t) {
			end = x.encoded(end)
		} else {
			end = x.continued(&mv, end, c.steps[from:i])
			c.Ahead[t] = uint16(mv.length) // as far the next time
		}
		x.words = append(x.words, end...)
		mv.to = len(x.words)
		x.moves = append(x.moves, mv)
	}
	y.last, y.taken = len(x.moves), true
}

// encoded is the encoding of a state that code tells.
func (x *Expander) encoded(end system.State) system.State {
	if x.code.Encode == nil {
		return end
	}
	x.end = x.code.Encode(x.end, end)
	return x.end
}

// continued continues a move, which has come to a state, as [Expander.follow] does, and returns
// its end. steps are those of its thread from there on, as far as code has run it ahead.
func (x *Expander) continued(mv *taken, end system.State, steps []step) system.State {
	c := &x.code
	for i := range steps {
		s := &steps[i]
		if s.left {
			break
		}
		x.charge(1)
		if s.several || s.kind != system.Moved {
			return x.encoded(end)
		}
		x.load(end)
		if x.disturbed(mv.thread, c.behind[s.accessesFrom:s.accessesTo]) {
			return x.encoded(end)
		}
		mv.length++
		if end = c.ends[s.from:s.to]; mv.length == maxLength {
			return x.encoded(end)
		}
	}
	return x.further(mv, end)
}

// further continues a move from a state up to which code has run its thread.
func (x *Expander) further(mv *taken, end system.State) system.State {
	c, t := &x.code, mv.thread
	c.Range(t, t+1)
	c.Ahead[t] = 0
	for len(c.several) <= t {
		c.several = append(c.several, false)
	}
	for mv.length < maxLength && !c.several[t] && c.Expand(end) && c.Next(&c.next) &&
		!c.next.Left {
		x.charge(1)
		accesses, next := c.next.Accesses, c.next.End // in the memory of the code
		if c.next.Kind != system.Moved {
			return x.encoded(end)
		}
		c.several[t] = c.Next(&c.next) && !sabotage.Is("code/several")
		if c.several[t] {
			return x.encoded(end)
		}
		x.load(end)
		if x.disturbed(t, accesses) {
			return x.encoded(end)
		}
		mv.length++
		from := len(c.ends)
		c.ends = append(c.ends, next...)
		end = c.ends[from:]
	}
	x.load(end)
	c.several[t] = x.follow(mv)
	x.end = x.m.Encode(x.end)
	return x.end
}

// load has the machine at another state than the expanded one.
func (x *Expander) load(s system.State) {
	x.m.Load(s)
	x.code.away = true
}

// home has the machine at the expanded state.
func (x *Expander) home() {
	if x.code.away && !sabotage.Is("code/home") {
		x.m.Load(x.state)
		x.code.away = false
	}
}
