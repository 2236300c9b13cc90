package search

import (
	"cpor/statestore"
	"cpor/system"
)

// outcome is what became of the end of a move.
type outcome uint8

const (
	// wasKnown: it was covered before.
	wasKnown outcome = iota
	// isNew: it is covered now, and is to be expanded.
	isNew
	// isElsewhere: it is not for the caller to say. Another rank decides, or Flush does.
	isElsewhere
	// isFull: there is no room for it, which ends the search, or the pool.
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
//   - deferred inserts many together, so that the memory has been asked for a while ago
//   - onDisk takes what the store does not have for a candidate, which is looked for on the disk
//   - abroad sends it to the rank that it belongs to, and asks another destination if that is this
//     one
//
// [place] makes them.
type destination interface {
	// Take makes item i of a batch the state that is expanded. It returns false if there is
	// nothing to expand.
	Take(b *statestore.Batch, i int) (expand bool, err error)
	// Cover brings the end of a move from that state to where it belongs. The reference is that
	// of a state that is known or new. The error is not nil if it is full.
	Cover(m *Move) (statestore.Ref, outcome, error)
	// CoverNow is Cover for expanders that remember covered states by their references. The
	// error says that there are none here.
	CoverNow(m *Move) (statestore.Ref, outcome, error)
	// Initial is Cover for an initial state. No state is expanded.
	Initial(s system.State) (statestore.Ref, outcome, error)
	// Flush decides about the ends of moves that were put off, and calls worker.arrived for
	// those that are new, unless they can wait. last tells that nothing else of the batch comes.
	Flush(last bool) error
	// Queue queues a new state, the end of a move.
	Queue(ref statestore.Ref, m *Move)
	// Idle is called before a worker that has nothing to do waits.
	Idle()
	// Find tells whether a state is covered, and whether that is known.
	Find(s system.State) (is, known bool)
	// Parent names the state that is expanded for others.
	Parent() uint64
	// Trail returns the ancestors of that state, itself included; nil if the store knows them.
	Trail() *statestore.Trail
	// Numbered returns the destination for moves that are passed as numbers; nil if there is none.
	Numbered() Numbered
}

// place is where all that a search covers is. It makes the destinations of its workers.
// [Run] chooses it, before the search begins.
type place interface {
	// join returns the destination of a worker. One worker joins at a time.
	join(w *worker) destination
	// search searches: from the initial states if it is fresh, else from what stands in the work
	// set. The result has the figures and violations also if there is an error.
	search(res *Result, fresh bool) (*Result, error)
	// covered returns how many states this process has covered.
	covered() uint64
	// waiting returns how many states wait beside the work set.
	waiting() int
	// figures adds to the result what only this place has.
	figures(res *Result)
	// past returns what knows the parents of states, which is valid for the findings that
	// find was called with. failed says after that why it cannot be believed; nil if it can.
	past() (from history, find func(*finding), failed func() error)
}
