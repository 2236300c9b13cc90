// Package search is the driver of every stateful search, and the interface of its expanders.
//
// A stateful search is always the same loop (Gueta, Flanagan, Yahav, Sagiv,
// SPIN 2007, figure 6): take a state from the work set, ask an [Expander] for
// its moves, insert the end states of the moves into the covered set, and put
// the new ones into the work set. [Run] does it with any number of workers,
// until everything is covered, a violation is found or a limit is reached:
//
//	r, err := search.Run(ctx, sys, full.Factory(sys), search.Options{Workers: 4})
//	for _, v := range r.Violations {
//		rec, err := v.Trace.Record(sys)
//		...
//	}
//
// Searches differ only in the expander. Package search/full returns every transition; package
// cartesian returns the prefixes of a Cartesian vector. A new reduction is only a new Expander:
// the pool (package workers), the stores (package statestore), limits, progress and traces exist
// already.
//
// # Traces
//
// A state is stored with its parent, not with the path from there. A trace is
// rebuilt backwards by re-execution: each candidate for the parent is expanded
// again, and one of its moves must end in the child. If a store cannot recover states, work
// items carry the hashes of their ancestors, and the trace is rebuilt forward along these.
// Either way each step has been executed
// when the trace is complete, and it is replayed through the plain semantics
// and minimized (package trace) before it is shown.
//
// # Memory
//
// Options.MaxMemory is kept by the process as a whole: the store gets what is
// left of it beside the process as it is, a soft limit keeps the garbage low,
// and the resident set is watched while the search runs.
package search

import (
	"io"

	"cpor/statestore"
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
	// Changed, if not nil, are the indices of all words in which End differs from the
	// expanded state, valid as long; there may be others among them, and some twice.
	Changed []int32
}

// Visitor receives what an expander finds in one state. The driver's visitor
// also has a method Stopped() bool that tells whether the search is to end;
// an expander that can take long over one state asks it now and then (see
// [Stopper]) and returns early if so: its state then counts as not expanded.
type Visitor interface {
	// Move receives one move.
	Move(m *Move)
	// Violation receives a violated property with the steps that lead to it
	// from the expanded state. tail is valid only during the call.
	Violation(v *system.Violation, tail []Step)
}

// Coverer is implemented by the driver's visitor, for expanders that remember
// something for each covered state, as sleep sets have to be, and want to come
// back to a state when that changes. A visitor that is not one does not search:
// a trace is being rebuilt, and the expander shows all moves that it may ever
// have sent from the state.
type Coverer interface {
	// Expanded returns the reference of the state that is expanded. initial
	// tells whether it is expanded because it is an initial state.
	Expanded() (ref statestore.Ref, initial bool)
	// Cover receives a move as Visitor.Move does. It covers the move's end and
	// calls arrive with its reference, and whether it was not covered before; if
	// that returns true, the state will be expanded, for the first time or again.
	// A new state has to be expanded if nobody else who arrived there has said so.
	// If the search is to end, arrive is not called.
	Cover(m *Move, arrive func(ref statestore.Ref, fresh bool) bool)
}

// Numbering is implemented by the driver's visitor.
type Numbering interface {
	// Numbered returns nil if moves cannot be told by numbers. It is always the same.
	Numbered() Numbered
}

// Numbered takes moves by numbers, for expanders that remember what a step
// does to a part of a state. It may be asked of the state that is expanded only, and not
// while a hook looks on.
type Numbered interface {
	// Numbers returns the numbers that the covered set has for the parts of the expanded
	// state (see [statestore.Numbering]). They are valid until the next move. It returns nil
	// if there are none, and then the other methods must not be called.
	Numbers() []uint32
	// Parts returns the set of the parts in which some bits of a word of the expanded state
	// stand.
	Parts(word int32, mask uint64) uint32
	// Ended returns the numbers of the end of the move that was told last, nil if there are
	// none or it is of another length.
	Ended() []uint32
	// Stays tells whether MoveNumbers may be told of moves that change these words at most. It
	// is the same for all states with numbers.
	Stays(changed []int32) bool
	// MoveNumbers receives a move as Visitor.Move does: its end differs from the
	// expanded state in some parts, which have the numbers at their places in numbers.
	MoveNumbers(parts uint32, numbers *[statestore.MaxNumbers]uint32)
}

// Covers is implemented by the driver's visitor, for expanders that measure what
// they leave out.
type Covers interface {
	// Covered tells whether a state is covered. It is not known of states that belong
	// to other ranks. It is not to be called between two calls of Move for one state.
	Covered(s system.State) (is, known bool)
}

// Remembering is implemented by expanders that share a memory which a checkpoint has to
// keep. No expander works meanwhile.
type Remembering interface {
	// SaveMemory writes what all expanders of a search remember.
	SaveMemory(w io.Writer) error
	// RestoreMemory reads it, before any of them has worked.
	RestoreMemory(r io.Reader) error
}

// Stopper is implemented by visitors that can tell whether the search is to
// end.
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

// Quotient is implemented by a system that is another one up to symmetry: its states
// are encoded as representatives of several states. Its traces are lifted to the
// other system, which people know.
type Quotient interface {
	system.System
	// Plain returns the other system.
	Plain() system.System
	// Lift returns an execution of the plain system that does what the quotient does:
	// parts are paths, each of which begins in the encoding of the state at the end of
	// the one before. v is the violation of the last step, or a deadlock; what comes
	// back is the same as the plain system tells it.
	Lift(initial int, parts [][]Step, v *system.Violation) (*trace.Trace, *system.Violation, error)
}

// plain returns the system whose traces people are shown.
func plain(sys system.System) system.System {
	if q, ok := sys.(Quotient); ok {
		return q.Plain()
	}
	return sys
}

// Factory makes the expander of one worker. The driver calls it once at a time.
type Factory func() Expander
