package search

import (
	"cpor/statestore"
	"cpor/system"
)

// outcome says what became of the end of a move.
type outcome uint8

const (
	// wasKnown: it was covered before.
	wasKnown outcome = iota
	// isNew: it is covered now, and must be expanded.
	isNew
	// isElsewhere: another rank decides, or Flush does.
	isElsewhere
	// isFull: there is no room for it. This ends the search, or the pool.
	isFull
)

// destination is where the states of one worker come from, and where the ends of its moves go.
// The worker expands a state like this:
//
//	expand, err := to.Take(b, i)         // the state is w.state now
//	expander.Expand(w.state, w)          // calls to.Cover for each move
//	err = to.Flush(i == b.Len()-1)
//
// There are these:
//
//   - inMemory inserts the end of a move into the store at once, and carrying does the same for
//     stores from which states cannot be loaded: the work items carry them
//   - deferred inserts many together, so that their memory has been prefetched
//   - onDisk treats what the store does not have as a candidate, and looks for it on the disk
//   - remote sends it to the rank that owns it, or passes it to another destination if this rank
//     does
//
// [place] makes them.
type destination interface {
	// Take makes item i of a batch the state being expanded. It returns false if there is
	// nothing to expand.
	Take(b *statestore.Batch, i int) (expand bool, err error)
	// Cover covers the end of a move from that state. It returns the reference of a state that
	// is known or new. The error is not nil if there is no room.
	Cover(m *Move) (statestore.Ref, outcome, error)
	// CoverNow is Cover for expanders that remember covered states by their references. The
	// error says that this destination has none.
	CoverNow(m *Move) (statestore.Ref, outcome, error)
	// Initial is Cover for an initial state. No state is being expanded.
	Initial(s system.State) (statestore.Ref, outcome, error)
	// Flush decides about the ends of moves that were deferred, and calls worker.arrived for
	// those that are new, unless they can wait. last says that the batch is finished.
	Flush(last bool) error
	// Queue queues a new state, the end of a move.
	Queue(ref statestore.Ref, m *Move)
	// Idle is called before an idle worker waits.
	Idle()
	// Find reports whether a state is covered, and whether the answer is known.
	Find(s system.State) (is, known bool)
	// Parent names the state being expanded for others.
	Parent() uint64
	// Trail returns the ancestors of that state, itself included; nil if the store knows them.
	Trail() *statestore.Trail
	// Numbered returns the destination for moves that are passed as numbers; nil if there is none.
	Numbered() Numbered
}

// place is where the covered states of a search are. It makes the destinations of its workers.
// [Run] chooses it, before the search begins.
type place interface {
	// join returns the destination of a worker. One worker joins at a time.
	join(w *worker) destination
	// search searches: from the initial states if it is fresh, and otherwise from the work set.
	// The result has the figures and violations even if there is an error.
	search(res *Result, fresh bool) (*Result, error)
	// covered returns how many states this process has covered.
	covered() uint64
	// waiting returns how many states wait outside the work set.
	waiting() int
	// figures adds to the result what only this place knows.
	figures(res *Result)
	// past returns the source of states' parents, which is valid for the findings that find was
	// called with. Afterwards, failed returns the reason why its answers are not reliable; nil
	// if they are.
	past() (from history, find func(*finding), failed func() error)
}
