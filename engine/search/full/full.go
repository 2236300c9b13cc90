// Package full is the expander of the full search: from a state it takes every
// transition of every thread, each alternative on its own, as a move of
// length 1. It reduces nothing, so that it is the oracle that every reduction
// is held to, and the yardstick that every reduction is measured by.
//
// What it counts follows the tables of Gueta et al. 2007: the self-loop of a
// blocked thread is a transition; the self-loop of an ended thread is counted
// apart, because the paper includes it in some rows only; those of observers,
// which the tool added by itself, are not counted at all. Self-loops are not
// sent to the visitor, because they could only find their own state again.
package full

import (
	"cpor/engine/search"
	"cpor/sabotage"
	"cpor/system"
)

// Expander is the expander of the full search. It is made by New.
type Expander struct {
	m        system.Machine
	changing system.Changing // m, if it knows what has changed
	changed  []int32
	obs      system.Observers
	end      system.State
	move     search.Move
	tail     [1]search.Step
	deadlock system.Violation
	counters search.Counters
}

// New returns an expander for one worker.
func New(sys system.System) *Expander {
	x := &Expander{m: sys.NewMachine(), obs: system.ObserversOf(sys)}
	x.move.Len = 1
	x.changing, _ = x.m.(system.Changing) // itself: what is around a machine can change more
	return x
}

// Factory returns the factory that gives every worker its own expander.
func Factory(sys system.System) search.Factory {
	return func() search.Expander { return New(sys) }
}

// Counters returns the counts since the expander was made.
func (x *Expander) Counters() search.Counters {
	c := x.counters
	c.Attempts = c.Transitions
	return c
}

// Expand sends v every transition from s, the violations of these transitions,
// and a deadlock if s is one: no thread is enabled, and one is blocked where
// it may not stay. Threads that ended and observers take no part in it.
func (x *Expander) Expand(s system.State, v search.Visitor) {
	m := x.m
	m.Load(s)
	mark := m.Mark()
	n := m.NumThreads()
	enabled, stuck := false, false
	stopper, _ := v.(search.Stopper)
	var transitions, ended, blocked uint64
	for t := 0; t < n; t++ {
		out := m.Step(t, 0)
		if out.Kind != system.Moved {
			switch {
			case x.obs.Has(t):
			case out.Kind == system.Ended:
				ended++
			default:
				transitions++
				blocked++
				stuck = stuck || !out.AtEnd || sabotage.Is("full/end")
			}
			continue
		}
		enabled = enabled || !x.obs.Has(t)
		alt := uint64(0)
		for {
			transitions++
			x.end = m.Encode(x.end)
			// Field by field, as in the machine: a copy of all waits for the stores of its parts.
			x.move.Thread, x.move.Alt, x.move.End = t, alt, x.end
			if x.changing != nil {
				if words, ok := x.changing.Changed(x.changed[:0]); ok {
					x.changed, x.move.Changed = words, words
				} else {
					x.move.Changed = nil
				}
			}
			m.Rewind(mark)
			v.Move(&x.move)
			if out.Violation != nil {
				x.tail[0] = search.Step{Thread: t, Alt: alt}
				v.Violation(out.Violation, x.tail[:])
			}
			if out.Next == 0 || sabotage.Is("full/alternatives") && alt != 0 {
				break
			}
			// A thread can have more alternatives than anybody can wait for, and each can
			// take long: an atomic sequence that does not end.
			if stopper != nil && stopper.Stopped() {
				return
			}
			alt = out.Next
			out = m.Step(t, alt)
		}
	}
	x.counters.Transitions += transitions
	x.counters.EndedLoops += ended
	x.counters.BlockedLoops += blocked
	if stuck && !enabled {
		x.deadlock = system.Violation{Kind: system.Deadlock, Message: "deadlock"}
		v.Violation(&x.deadlock, nil)
	}
}
