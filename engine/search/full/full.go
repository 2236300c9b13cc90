// Package full is the expander of the full search: from a state it takes every transition of
// every thread, each alternative on its own, as a move of length 1. It reduces nothing, so every
// reduction is tested and measured against it.
//
// What it counts follows the tables of Gueta et al. 2007: the self-loop of a blocked thread is a
// transition; the self-loop of an ended thread is counted separately, because the paper includes
// it in some rows only; those of observers, which the tool adds, are not counted. Self-loops are
// not sent to the visitor, because they lead to their own state.
package full

import (
	"sync/atomic"
	"time"

	"cpor/engine/search"
	"cpor/system"
	"cpor/testkit/sabotage"
)

// Expander is the expander of the full search. Make it with New.
type Expander struct {
	m         system.Machine
	changing  system.Changing  // m, if it knows what has changed
	repeating system.Repeating // m, if it knows what its steps depend on
	cache     *stepCache       // nil if it is of no use, or not yet
	words     int              // limit of the words of a read set there
	changed   []int32
	obs       system.Observers
	end       system.State
	move      search.Move
	tail      [1]search.Step
	deadlock  system.Violation
	counters  search.Counters
	code      code

	// About the state being expanded:
	state          system.State
	loaded         bool // into m
	mark           system.Mark
	enabled, stuck bool // a thread that counts can move, and one may not stay
	numbered       search.Numbered
	numbers        []uint32 // of its parts, if numbered is not nil
}

// New returns an expander for one worker.
func New(sys system.System) *Expander {
	x := &Expander{m: sys.NewMachine(), obs: system.ObserversOf(sys), words: maxWords}
	x.move.Len = 1
	can := x.m.Capabilities()
	x.changing = can.Changing
	if !sabotage.On { // what is broken on purpose is not to be hidden
		x.repeating = can.Repeating
		x.code.machine = can.Expanding
	}
	return x
}

// Factory returns the factory that gives every worker its own expander.
func Factory(sys system.System) search.Factory {
	return func() search.Expander { return New(sys) }
}

// Narrow is Factory for tests: nearly every step reads more than fits into a read set.
func Narrow(sys system.System) search.Factory {
	return func() search.Expander {
		x := New(sys)
		x.words = 1
		return x
	}
}

// CountCode implements [reduction.Compiling].
func (x *Expander) CountCode(states *atomic.Uint64) { x.code.used = states }

// Counters returns the counts since the expander was made.
func (x *Expander) Counters() search.Counters {
	c := x.counters
	c.Attempts = c.Transitions
	return c
}

// Expand sends v every transition from s, the violations of these transitions, and a deadlock if
// s is one: no thread is enabled, and one is blocked where it may not stay. Threads that ended
// and observers do not matter.
func (x *Expander) Expand(s system.State, v search.Visitor) {
	x.state, x.loaded, x.enabled, x.stuck = s, false, false, false
	stopper, _ := v.(search.Stopper)
	stopped := false
	how := x.choose()
	measured, began, steps := x.code.measured(), time.Time{}, x.counters.Transitions
	if measured {
		began = time.Now()
	}
	switch how {
	case byCode:
		stopped = x.expandByCode(v, stopper)
	case byCache:
		stopped = x.expandCached(v, stopper)
	default:
		stopped = x.expand(v, stopper)
	}
	if measured {
		x.code.took(time.Since(began), x.counters.Transitions-steps, x.counters.Transitions)
	}
	if x.stuck && !x.enabled && !stopped {
		x.deadlock = system.Violation{Kind: system.Deadlock, Message: "deadlock"}
		v.Violation(&x.deadlock, nil)
	}
}

// load loads the state being expanded.
func (x *Expander) load() {
	x.m.Load(x.state)
	x.mark, x.loaded = x.m.Mark(), true
}

// expand is Expand by executing every step. It reports whether it stopped early.
func (x *Expander) expand(v search.Visitor, stopper search.Stopper) (stopped bool) {
	x.load()
	for t := range x.m.NumThreads() {
		if x.steps(t, v, stopper) {
			return true
		}
	}
	return false
}

// steps executes every step of a thread of the loaded state. It reports whether it stopped
// early.
func (x *Expander) steps(t int, v search.Visitor, stopper search.Stopper) (stopped bool) {
	for alt := uint64(0); ; {
		out := x.m.Step(t, alt)
		x.count(t, out.Kind, out.AtEnd)
		if out.Kind != system.Moved {
			return false
		}
		x.tell(t, alt, out.Violation, v)
		if out.Next == 0 || sabotage.Is("full/alternatives") && alt != 0 {
			return false
		}
		// A thread can have very many alternatives, and each can take long, such as an endless
		// atomic sequence.
		if stopper != nil && stopper.Stopped() {
			return true
		}
		alt = out.Next
	}
}

// count counts a step.
func (x *Expander) count(t int, kind system.Kind, atEnd bool) {
	switch {
	case kind == system.Moved:
		x.counters.Transitions++
		x.enabled = x.enabled || !x.obs.Has(t)
	case x.obs.Has(t):
	case kind == system.Ended:
		x.counters.EndedLoops++
	default:
		x.counters.Transitions++
		x.counters.BlockedLoops++
		x.stuck = x.stuck || !atEnd || sabotage.Is("full/end")
	}
}

// tell sends v the transition that the machine has just taken, and undoes it.
func (x *Expander) tell(t int, alt uint64, violation *system.Violation, v search.Visitor) {
	x.end = x.m.Encode(x.end)
	// Field by field, as in the machine: a wide copy would wait for the stores of its parts.
	x.move.Thread, x.move.Alt, x.move.End = t, alt, x.end
	x.move.Changed = nil
	if x.changing != nil {
		if words, ok := x.changing.Changed(x.changed[:0]); ok {
			x.changed, x.move.Changed = words, words
		}
	}
	x.m.Rewind(x.mark)
	v.Move(&x.move)
	if violation != nil {
		x.tail[0] = search.Step{Thread: t, Alt: alt}
		v.Violation(violation, x.tail[:])
	}
}
