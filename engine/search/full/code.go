package full

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"

	"cpor/engine/search"
	"cpor/system"
)

// A state can be expanded in three ways, which send the visitor the same: the machine executes
// every step; it executes only those that are not cached; or machine code executes all of them
// in one call ([system.Expanding]), and the machine the rest. Which of the last two is faster
// depends on the model, by a factor of three either way: a cached step is found by a few words,
// and comes with the numbers of the stored parts; code is better for steps that rarely repeat,
// such as those that read arrays. So it is measured. The first way is for states where neither
// the cache nor code works.

// way is how a state is expanded.
type way uint8

const (
	byStep way = iota
	byCache
	byCode
	ways
)

// code is what an expander knows of machine code.
type code struct {
	machine system.Expanding // nil if there is no code, and will be none
	code    *system.Code     // nil if it is not ready
	next    system.Successor
	forced  bool // for tests: nothing else is used
	used    *atomic.Uint64

	// Before there is code:
	states uint          // that were expanded
	saved  time.Duration // a transition by code would have saved that, in the last window
	begun  bool          // compiling has begun
	due    bool          // it is time for code
	waited time.Duration // for the compiler

	now       way
	clear     bool    // code is much faster, by the last measurement that was clear
	whole     bool    // states are stored whole
	parts     float64 // what the faster way cost before
	loses     bool    // it costs more since
	left      int     // the states that are still expanded this way
	measuring bool    // how long they take is measured
	window    int     // the number of these states among those of a measurement
	cost      [ways]float64
	stay      int           // how many states one measurement decides about; it grows with each
	steps     uint64        // in the window that is measured
	spent     time.Duration // on them
}

const (
	// Code is compiled once it would have saved about what compiling takes, if each transition
	// so far took as long as they do now. Small models end earlier, and where cached steps are
	// found fast, code saves nothing. These are what compiling takes, and a transition by code.
	compiling, coded = 10 * time.Millisecond, 100 * time.Nanosecond
	// Compiling begins before that, in the background, when code would have saved this share of it,
	// and code is used once it is ready. The models that end before that are few and small.
	ahead = 4
	// A worker waits at most this long for the compiler, and looks again after each glance. Without
	// code a transition takes several times as long, so it would get little done meanwhile.
	patience, glance = 30 * time.Millisecond, time.Millisecond
	// One state in sampling is measured. Two windows decide, each of this many transitions or this
	// long. If a state takes longer than longestState, the process was interrupted, and no more
	// counts.
	sampling, window      = 16, 256
	longestWindow         = 100 * time.Microsecond
	longest, longestState = 4 * time.Microsecond, 16 * time.Microsecond
	// A measurement expands windows of states in both ways, in turns. The best window of each
	// way counts, because a process is interrupted now and then. The first few windows fill
	// caches.
	windowStates, windows, warming = 96, 16, 4
	// A measurement ends early where one way takes far longer than the other: after early windows
	// if it takes more than much times as long, after soon windows more than veryMuch.
	early, much    = 10, 1.4
	soon, veryMuch = 8, 3
	// The decision holds for firstStay states, and each time for longer times as many.
	firstStay, longer, lastStay = 1 << 13, 4, 1 << 19
	// Code gains from states that are stored whole, and cached steps from the numbers of parts. So
	// code has to take less than this share of the other way's time for states to be stored whole.
	wholeGain = 0.9
	// If the faster way takes more than so many times as long as before, they are not stored whole
	// any more. What a store does later is not measured, and takes longer for states in parts.
	wholeLoss = 1.2
)

// Whole implements [search.Whole].
func (x *Expander) Whole(are bool) (wants, refuses bool) {
	c := &x.code
	c.whole = are
	return c.clear || c.forced && c.code != nil, c.loses
}

// Coded is Factory for tests: every state is expanded by machine code, as soon as there is any.
func Coded(sys system.System) search.Factory {
	return func() search.Expander {
		x := New(sys)
		x.code.forced = true
		return x
	}
}

// otherwise is the way without code.
func (x *Expander) otherwise() way {
	if x.repeating != nil {
		return byCache
	}
	return byStep
}

// choose chooses how the next state is expanded.
func (x *Expander) choose() way {
	c := &x.code
	switch {
	case c.code != nil:
	case c.machine == nil || !c.due && !c.forced:
		return x.otherwise()
	default:
		c.compile()
		if c.code == nil {
			return x.otherwise()
		}
	}
	if c.forced {
		return byCode
	}
	if c.left == 0 {
		c.turn(x.otherwise())
	}
	c.left--
	if c.now != byCode {
		return x.otherwise() // nothing may be cached any more
	}
	return byCode
}

// measured reports whether the time is measured that it takes to expand the next state.
func (c *code) measured() bool {
	if c.code == nil {
		c.states++
		return c.machine != nil && c.states%sampling == 0
	}
	return c.measuring
}

// took notes how long a state with so many transitions took; all is how many there were.
func (c *code) took(d time.Duration, transitions, all uint64) {
	if c.code == nil {
		d = min(d, longestState+time.Duration(transitions)*longest)
	}
	c.spent += d
	c.steps += transitions
	if c.code == nil && (c.steps >= window || c.spent >= longestWindow) && c.steps > 0 {
		saved := c.spent/time.Duration(c.steps) - coded
		if saved, c.saved = min(saved, c.saved), saved; saved > 0 {
			c.due = c.due || all >= uint64(compiling/saved)
			if c.begun = c.begun || all >= uint64(compiling/ahead/saved); c.begun {
				c.request()
			}
		}
		c.steps, c.spent = 0, 0
	}
}

// request requests the code.
func (c *code) request() {
	code, gone := c.machine.Compiled(false)
	if c.code = code; gone {
		c.machine = nil
	}
	c.measuring, c.window, c.stay = true, 0, firstStay
}

// compile requests the code, and waits for it.
func (c *code) compile() {
	for c.request(); c.code == nil && c.machine != nil && (c.forced || c.waited < patience); {
		if !c.forced {
			c.waited += glance
		}
		time.Sleep(glance)
		c.request()
	}
}

// turn decides how the next states are expanded, when the last decision has expired.
func (c *code) turn(other way) {
	if !c.measuring {
		c.measuring, c.window = true, 0
	} else if c.window > warming && c.steps > 0 {
		c.cost[c.now] = min(c.cost[c.now], float64(c.spent)/float64(c.steps))
	}
	if c.window == 0 {
		c.cost = [ways]float64{math.Inf(1), math.Inf(1), math.Inf(1)}
	}
	c.steps, c.spent = 0, 0
	a, b := c.cost[other], c.cost[byCode]
	if ratio := max(a, b) / min(a, b); c.window == windows || c.window == early && ratio > much ||
		c.window == soon && ratio > veryMuch {
		c.measuring = false
		if c.now = byCode; a < b {
			c.now = other
		}
		switch {
		case c.whole:
			c.loses = c.parts > 0 && min(a, b) > wholeLoss*c.parts
		case b < wholeGain*a:
			c.clear, c.parts = true, b
		default:
			c.clear, c.parts = c.clear && b*wholeGain < a, min(a, b)
		}
		c.left = c.stay
		c.stay = min(longer*c.stay, lastStay)
		return
	}
	if c.now = byCode; c.window%2 == 1 {
		c.now = other
	}
	c.window++
	c.left = windowStates
}

// expandByCode is expand by machine code. The machine executes the rest.
func (x *Expander) expandByCode(v search.Visitor, stopper search.Stopper) (stopped bool) {
	c := &x.code
	if !c.code.Expand(x.state) {
		return x.expand(v, stopper)
	}
	if c.used != nil {
		c.used.Add(1)
	}
	n := &c.next
	for c.code.Next(n) {
		if n.Left {
			if !x.loaded {
				x.load()
			}
			if x.steps(n.Thread, v, stopper) {
				return true
			}
			continue
		}
		x.count(n.Thread, n.Kind, n.AtEnd)
		if n.Kind != system.Moved {
			continue
		}
		x.move.Thread, x.move.Alt, x.move.End, x.move.Changed = n.Thread, n.Alt, n.End, nil
		if n.Changed != 0 && len(n.End) == len(x.state) && len(n.End) <= 64 {
			words := x.changed[:0]
			for set := n.Changed; set != 0; set &= set - 1 {
				words = append(words, int32(bits.TrailingZeros64(set)))
			}
			x.changed, x.move.Changed = words, words
		}
		v.Move(&x.move)
		if n.Alt != 0 && stopper != nil && stopper.Stopped() {
			return true
		}
	}
	return false
}
