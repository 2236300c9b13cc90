package search

import (
	"sync/atomic"

	"cpor/engine"
	"cpor/engine/cluster"
	"cpor/statestore"
	"cpor/system"
	"cpor/workers"
)

// Options are those of every engine, and those that only stored states need.
type Options struct {
	engine.Options
	// Store selects how the covered states are stored; the default is exact.
	Store statestore.Kind
	// Hook, if not nil, is called once for each worker before the search
	// starts. The hook that it returns (nil for none) is called by that worker
	// only.
	Hook func(worker int) Hook
	// Counts are what expanders count besides their Counters. A search on several ranks sets
	// them, on each rank, to the sum of those of all when it ends.
	Counts []*atomic.Uint64
	// Learning, if not nil, combines what the ranks of a search have learned besides its states.
	// A search in one process does not call it.
	Learning Learning
	// Covered are states that count as covered and expanded already.
	Covered []system.State
	// Unproven leaves the traces of violations as they were rebuilt: they lead to the states in
	// which an expander has found them, and the caller knows what that means.
	Unproven bool

	sizes Sizes
}

// Sizes replace sizes that a search chooses itself: for a search that is a part of another one, and
// for tests that bring a small search into situations that only large ones meet. Zero leaves the
// choice to the search.
type Sizes struct {
	// Samples is [statestore.Options.Samples], and on ranks [division.Options.Examples].
	Samples int
	// StoreBytes is [statestore.Options.MaxBytes].
	StoreBytes uint64
	// MostNumbers is how many numbers of each part of states a rank tells other ranks.
	MostNumbers uint32
	// SpillEvery drops what is in memory after so many new states if there is an Options.Disk,
	// even without a limit of memory, and on ranks treats some arriving states as if there were
	// no room.
	SpillEvery uint64
	// WholeBytes is how much memory states may take while they are stored whole (see [Whole]). If
	// only other sizes are set, they are not.
	WholeBytes uint64
}

// Sizes returns the sizes that are set, to be read and changed.
func (o *Options) Sizes() *Sizes { return &o.sizes }

// With returns the options with other sizes.
func (o Options) With(s Sizes) Options {
	o.sizes = s
	return o
}

// Learning collects what each rank of a search learns besides its states, and combines it at the
// end.
type Learning interface {
	// Learned returns what this rank has learned. No worker is running.
	Learned() []byte
	// Join is called on rank 0 with what all ranks have learned, by rank, and returns what is
	// sent to all. over says that the search has found a violation that ends it, or that a rank
	// failed. The error ends the job.
	Join(all [][]byte, over bool) ([]byte, error)
	// Told receives that, on every rank.
	Told(m []byte) error
}

// Hook observes a worker's search, for tests and for checking modes. It slows the search down
// and must not change its arguments.
type Hook interface {
	// Expand is called before state s is expanded. s is valid until the next
	// call of Expand.
	Expand(s system.State)
	// Move is called for each move from the state of the last Expand.
	Move(m *Move)
	// Violation is called for each violation found while the state of the last Expand is
	// expanded, including those that the options ignore or that were seen before.
	Violation(v *system.Violation, tail []Step)
}

// Result is the result of a search. A search with an inexact store is incomplete even if it ran
// to its end. MaxDepth is the longest path of moves in the search's tree.
type Result struct {
	engine.Result

	BytesPerState float64
	// OmissionProbability estimates how likely it is that the store left out
	// at least one state; 0 for exact stores.
	OmissionProbability float64

	Steals    uint64  // batches that workers took from each other
	IdleShare float64 // of the time that the workers could have worked, 0 to 1
	FailedCAS uint64  // compare-and-swaps in the store lost to another worker
	Pool      workers.Stats
	Store     statestore.Stats
	Traffic   cluster.Traffic // with other ranks
	Disk      *DiskStats      // nil if all is in memory
}
