package stateless

import (
	"fmt"

	"cpor/engine"
	"cpor/system"
)

// Reduction says which interleavings a search skips.
type Reduction uint8

// The reductions.
const (
	// None explores every interleaving.
	None Reduction = iota
	// Sleep keeps sleep sets (Godefroid 1996): it visits every state, and completes no two
	// interleavings that differ only in the order of independent transitions.
	Sleep
	// Persistent explores a persistent set of each state (Stoller 2002,
	// section 6, algorithm 2-LD), computed from bounds on what each thread
	// may access in its future ([system.Futures]).
	Persistent
	// PersistentSleep combines the two: Stoller's SSS.
	PersistentSleep
	// DPOR is optimal dynamic partial-order reduction with wakeup trees
	// (Abdulla, Aronis, Jonsson, Sagonas 2017, algorithm 2).
	DPOR
)

var reductionNames = []string{"none", "sleep", "persistent", "persistent+sleep", "dpor"}

// String returns the reduction's name, as a user gives it.
func (r Reduction) String() string {
	if int(r) < len(reductionNames) {
		return reductionNames[r]
	}
	return "unknown"
}

// Bounded reports whether the reduction is complete up to a bound on the depth: a search finds
// every violation that some execution reaches within the bound.
//
// Sleep sets skip only sequences that are equivalent to explored ones of the same length.
// Persistent sets and dynamic reduction let some threads go first, so what others can do at once
// may come too late.
func (r Reduction) Bounded() bool { return r == None || r == Sleep }

func (r Reduction) dynamic() bool { return r == DPOR }

func (r Reduction) sleeps() bool { return r != None && r != Persistent }

func (r Reduction) persistent() bool { return r == Persistent || r == PersistentSleep }

// Undo says how a search undoes transitions (Stoller 2002, section 8.4).
type Undo uint8

// The ways to undo transitions.
const (
	// Log uses the machine's undo log.
	Log Undo = iota
	// Replay loads the initial state and executes the earlier transitions again, as a system
	// without an undo log must.
	Replay
)

// String returns the name of the undo mode.
func (u Undo) String() string {
	if u == Replay {
		return "replay"
	}
	return "log"
}

// ParseUndo returns the undo mode of that name. The error lists the names.
func ParseUndo(s string) (Undo, error) {
	switch s {
	case "log":
		return Log, nil
	case "replay":
		return Replay, nil
	}
	return 0, fmt.Errorf("unknown undo mode; want log or replay")
}

// DefaultMaxDepth is the length of an execution at which a search without a
// bound gives up.
const DefaultMaxDepth = 1 << 20

// Options say how to search. The zero value explores every interleaving with a
// worker for each CPU until the first violation.
//
// MaxDepth bounds the length of executions. A search that cut something off is incomplete, but
// has covered everything within the bound, so it needs a reduction that is complete up to a
// bound (see [Reduction.Bounded]). MaxStates has no effect.
type Options struct {
	engine.Options
	Reduction Reduction
	Undo      Undo
	// InvisibleFirst explores, after a transition of a thread, only the invisible ones that
	// follow it in the same thread: Stoller's IF-SSS (2002, section 5.1). The system must
	// satisfy the locking discipline; package lockset wraps one so that a violation of LD' is
	// found while it is searched. Not with a dynamic reduction.
	InvisibleFirst bool
	// Composed searches the system C(M) of composed transitions instead
	// (Stoller 2002, section 5.2; package engine/search/composed, type System), under the same
	// condition, with any reduction. Counts and bounds are in composed
	// transitions; traces are in single ones. Not with InvisibleFirst.
	Composed bool
	// Deepen repeats the search with growing bounds, from FirstDepth (0 means
	// 8) on, each twice the one before, until no execution was cut or the
	// bound is MaxDepth: Stoller's SSS_cyc.
	Deepen     bool
	FirstDepth int

	// Executed, if not nil, is called at the end of every execution that is complete, with the
	// machine in its last state, which it must not change. It may be called from many goroutines
	// at once.
	Executed func(m system.Machine)

	// onExecution, for tests, is called at the end of every execution that
	// is complete, by the worker that ran it.
	onExecution func(w *worker)
	// onRound, for tests, is called when a round of Deepen begins.
	onRound func(e *explorer)
}

// Result is the result of a search. With a dynamic reduction, Executions are the Mazurkiewicz
// traces of the system, each once. Transitions counts the edges of the search tree: the
// transitions executed to explore, not those executed to go back or to look ahead. With
// iterative deepening it is the sum over all rounds, while the executions are those of the last
// round. MaxDepth is the longest execution, in transitions.
type Result struct {
	engine.Result
	Rounds int // of iterative deepening; 1 without
}
