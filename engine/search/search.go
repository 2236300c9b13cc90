// Package search is the driver of every stateful search, and the interface of its expanders.
//
// A stateful search is always the same loop (Gueta, Flanagan, Yahav, Sagiv, SPIN 2007, figure
// 6): take a state from the work set, ask an [Expander] for its moves, insert the end states of
// the moves into the covered set, and put the new ones into the work set. [Run] does it with any
// number of workers, until everything is covered, a violation is found, or a limit is reached:
//
//	r, err := search.Run(ctx, sys, full.Factory(sys), search.Options{Workers: 4})
//	for _, v := range r.Violations {
//		rec, err := v.Trace.Record(sys)
//		...
//	}
//
// Searches differ only in the expander. Package search/full returns every transition; package
// cartesian returns the prefixes of a Cartesian vector. A new reduction needs only a new
// Expander. The pool (package workers), the stores (package statestore), limits, progress and
// traces exist already.
//
// # Traces
//
// A state is stored with its parent, without the path between them. A trace is rebuilt backwards
// by re-execution: each candidate for the parent is expanded again, and one of its moves must
// end in the child. If a store cannot recover states, work items carry the hashes of their
// ancestors, and the trace is rebuilt forward along these. Either way, each step of a complete
// trace has been executed, and the trace is replayed in the plain semantics and minimized
// (package trace) before it is shown.
//
// # Memory
//
// Options.MaxMemory holds for the whole process. The store gets what the process does not use
// yet, a soft limit keeps garbage low, and the resident set is watched while the search runs.
package search

import (
	"io"

	"cpor/statestore"
	"cpor/system"
	"cpor/trace"
)

// Step names one transition. It is declared in package trace.
type Step = trace.Step

// Move is what an expander offers to do from a state: a thread, a non-empty path of its
// transitions, the state at the path's end, and whether the path is infinite, so nothing needs
// to be explored from its end (Gueta et al. 2007, section 6, figure 7). Only the first
// transition of a path can have several alternatives.
type Move struct {
	Thread   int
	Alt      uint64       // the alternative of the first transition
	Len      int          // the number of transitions on the path, at least 1
	Infinite bool         // the end state is not to be explored
	End      system.State // valid only during the call of Visitor.Move; nil if Infinite
	// Changed, if not nil, contains the indices of all words in which End differs from the
	// expanded state. It is valid as long as End, and may contain further indices and
	// duplicates.
	Changed []int32
}

// Visitor receives what an expander finds in one state. The driver's visitor also has a method
// Stopped (see [Stopper]). An expander that can take long over one state calls it now and then,
// and returns early if the search should end. The state then counts as not expanded.
type Visitor interface {
	// Move receives one move.
	Move(m *Move)
	// Violation receives a violated property with the steps that lead to it
	// from the expanded state. tail is valid only during the call.
	Violation(v *system.Violation, tail []Step)
}

// Coverer is implemented by the driver's visitor, for expanders that remember something for each
// covered state, such as its sleep set, and must return to a state when that changes. A visitor
// that does not implement it is rebuilding a trace: the expander shows all moves that it may
// ever have sent from the state.
type Coverer interface {
	// Expanded returns the reference of the state being expanded. initial says that it is
	// expanded because it is an initial state.
	Expanded() (ref statestore.Ref, initial bool)
	// Cover receives a move as Visitor.Move does. It covers the move's end and calls arrive with
	// its reference, and whether it was not covered before; if that returns true, the state will
	// be expanded, for the first time or again. A new state must be expanded unless an earlier
	// arrival has asked for it. If the search should end, arrive is not called.
	Cover(m *Move, arrive func(ref statestore.Ref, fresh bool) bool)
}

// Numbering is implemented by the driver's visitor.
type Numbering interface {
	// Numbered returns nil if moves cannot be given as numbers. It always returns the same.
	Numbered() Numbered
}

// Numbered takes moves by numbers, for expanders that remember what a step does to a part of a
// state. It applies only to the state being expanded, and not while a hook observes the search.
type Numbered interface {
	// Numbers returns the numbers that the covered set has for the parts of the expanded
	// state (see [statestore.Numbering]). They are valid until the next move. It returns nil
	// if there are none, and then the other methods must not be called.
	Numbers() []uint32
	// Parts returns the set of parts that contain some bits of a word of the expanded state.
	Parts(word int32, mask uint64) uint32
	// Ended returns the numbers of the end of the last move, nil if there are none or its length
	// differs.
	Ended() []uint32
	// Stays reports whether MoveNumbers accepts moves that change at most these words. It is the
	// same for all states with numbers.
	Stays(changed []int32) bool
	// MoveNumbers receives a move as Visitor.Move does: its end differs from the expanded state
	// in some parts, whose numbers are at their places in numbers.
	MoveNumbers(parts uint32, numbers *[statestore.MaxNumbers]uint32)
}

// Covers is implemented by the driver's visitor, for expanders that measure what they skip.
type Covers interface {
	// Covered reports whether a state is covered. The answer is unknown for states that belong
	// to other ranks. It must not be called between two calls of Move for one state.
	Covered(s system.State) (is, known bool)
}

// Remembering is implemented by expanders that share a memory which a checkpoint must contain.
// No expander runs meanwhile.
type Remembering interface {
	// SaveMemory writes what all expanders of a search remember.
	SaveMemory(w io.Writer) error
	// RestoreMemory reads it, before any expander runs.
	RestoreMemory(r io.Reader) error
}

// Whole is implemented by expanders that can be faster when states are stored whole, not as
// numbers of their parts (see [Numbered]).
type Whole interface {
	// Whole reports whether the expander wants that, and whether it has become slower by it. are
	// says whether states are stored whole now. It is called between two states.
	Whole(are bool) (wants, refuses bool)
}

// Stopper is implemented by visitors that can tell whether the search should end.
type Stopper interface{ Stopped() bool }

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
	// EndedLoops counts the self-loops of ended threads that a full search
	// meets, or that a cartesian one adds to prefixes; some tables of the
	// paper include them. They are not in Transitions or Attempts.
	EndedLoops uint64
	// BlockedLoops counts the self-loops of blocked threads that are in
	// Transitions. Checkers that do not count them (SPIN) have fewer.
	BlockedLoops uint64
}

// Add adds the counts of d.
func (c *Counters) Add(d Counters) {
	c.Transitions += d.Transitions
	c.Attempts += d.Attempts
	c.EndedLoops += d.EndedLoops
	c.BlockedLoops += d.BlockedLoops
}

// Quotient is implemented by a system that represents another one up to symmetry: each of its
// states stands for several. Its traces are lifted to the other system, which users know.
type Quotient interface {
	system.System
	// Plain returns the other system.
	Plain() system.System
	// Lift returns an execution of the plain system that does what the quotient does: parts are
	// paths, each of which begins in the encoding of the state at the end of the previous one. v
	// is the violation of the last step, or a deadlock; the result is the same violation in the
	// plain system.
	Lift(initial int, parts [][]Step, v *system.Violation) (*trace.Trace, *system.Violation, error)
}

// plain returns the system whose traces are shown.
func plain(sys system.System) system.System {
	if q, ok := sys.(Quotient); ok {
		return q.Plain()
	}
	return sys
}

// Factory makes the expander of one worker. The driver calls it once at a time.
type Factory func() Expander
