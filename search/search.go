package search

import (
	"cpor/system"
	"cpor/trace"
)

// Step names one transition; it is declared in package trace, which stands
// below this one.
type Step = trace.Step

// Move is what an expander offers to do from a state: a thread, a non-empty
// path of its transitions, the state at the path's end, and whether the path
// is infinite, so that nothing has to be explored from its end (Gueta et al.
// 2007, section 6, figure 7). Only the first transition of a path can have
// several alternatives.
type Move struct {
	Thread   int
	Alt      uint64       // the alternative of the first transition
	Len      int          // the number of transitions on the path, at least 1
	Infinite bool         // the end state is not to be explored
	End      system.State // valid only during the call of Visitor.Move; nil if Infinite
}

// Visitor receives what an expander finds in one state.
type Visitor interface {
	// Move receives one move.
	Move(m *Move)
	// Violation receives a violated property with the steps that lead to it
	// from the expanded state. tail is valid only during the call.
	Violation(v *system.Violation, tail []Step)
}

// Expander computes the moves of a state. One expander serves one worker; it
// owns its machines.
type Expander interface {
	// Expand calls v for every move of state s and for every violation on
	// the paths of the moves, deadlocks included. It keeps nothing of s.
	Expand(s system.State, v Visitor)
	// Counters returns the counts since the expander was made. It is called
	// by the expander's own worker only.
	Counters() Counters
}

// Counters are what an expander counts, in transitions.
type Counters struct {
	// Transitions counts the transitions added to paths; for a full search
	// the executed ones, self-loops of blocked threads included.
	Transitions uint64
	// Attempts counts the transitions that were tried, whether added or not.
	Attempts uint64
	// EndedLoops counts the self-loops of ended threads in a full search,
	// which some tables of the paper include; they are not in Transitions.
	EndedLoops uint64
}

// Factory makes the expander of one worker.
type Factory func() Expander
