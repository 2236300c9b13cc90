package statestore

import (
	"sync"
	"sync/atomic"
)

// BatchSize is the number of items that a full Batch holds.
const BatchSize = 128

// Trail is the path that leads to a state, for stores that are not Loadable: a
// work item's chain of hashes back to an initial state. It is replayed
// forwards: from the initial state, always taking the move whose end state has
// the next hash. Trails form a tree; the garbage collector frees the branches
// that no work item needs any more.
type Trail struct {
	Parent *Trail
	Ref    Ref // the state's Ref, as its Insert returned it
}

// Batch is a group of work items of one depth, handed over between workers as a
// whole. An item is a Ref; if the store is not Loadable, an item is a Ref, an
// encoded state and a trail. Only the worker that holds a batch may use it.
type Batch struct {
	// Depth is the number of moves from an initial state to the items.
	Depth int
	// Refs names the items' states.
	Refs []Ref

	words  []uint64 // the items' encoded states, one after the other
	ends   []int    // where each ends in words
	trails []*Trail
}

// Len returns the number of items.
func (b *Batch) Len() int { return len(b.Refs) }

// Full reports whether the batch has BatchSize items. Adding more is allowed
// but makes the batch grow.
func (b *Batch) Full() bool { return len(b.Refs) >= BatchSize }

// Add adds an item that is a Ref only.
func (b *Batch) Add(ref Ref) { b.Refs = append(b.Refs, ref) }

// AddState adds an item with its encoded state, which is copied, and its trail.
// A batch must not hold items of both sorts.
func (b *Batch) AddState(ref Ref, s []uint64, t *Trail) {
	b.Refs = append(b.Refs, ref)
	b.words = append(b.words, s...)
	b.ends = append(b.ends, len(b.words))
	b.trails = append(b.trails, t)
}

// State returns the encoded state of item i, valid as long as the batch is held,
// or nil if the item is a Ref only.
func (b *Batch) State(i int) []uint64 {
	if i >= len(b.ends) {
		return nil
	}
	start := 0
	if i > 0 {
		start = b.ends[i-1]
	}
	return b.words[start:b.ends[i]:b.ends[i]]
}

// Trail returns the trail of item i, or nil if the item is a Ref only.
func (b *Batch) Trail(i int) *Trail {
	if i >= len(b.trails) {
		return nil
	}
	return b.trails[i]
}

func (b *Batch) reset() {
	clear(b.trails)
	b.Depth, b.Refs, b.words, b.ends, b.trails = 0, b.Refs[:0], b.words[:0], b.ends[:0], b.trails[:0]
}

// WorkSet is the work set of a search: a queue of batches for each worker. A
// worker takes its own batches first in, first out, so that the search is
// nearly breadth-first, and steals from the others when it has none.
type WorkSet struct {
	mu     sync.Mutex
	queues [][]*Batch
	free   []*Batch
	items  atomic.Int64
}

// NewWorkSet returns an empty work set for workers numbered from 0 to workers-1.
func NewWorkSet(workers int) *WorkSet { return &WorkSet{queues: make([][]*Batch, workers)} }

// Push gives a batch to a worker's queue. The caller holds the batch no more.
// The worker need not be the caller's own.
func (w *WorkSet) Push(worker int, b *Batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queues[worker] = append(w.queues[worker], b)
	w.items.Add(int64(b.Len()))
}

// Pop takes the worker's own oldest batch, nil if it has none.
func (w *WorkSet) Pop(worker int) *Batch {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.queues[worker]
	if len(q) == 0 {
		return nil
	}
	w.queues[worker] = q[1:]
	w.items.Add(-int64(q[0].Len()))
	return q[0]
}

// Steal takes a batch of another worker, nil if none has any.
func (w *WorkSet) Steal(worker int) *Batch {
	for i := range w.queues {
		if b := w.Pop((worker + i) % len(w.queues)); b != nil {
			return b
		}
	}
	return nil
}

// Len returns the number of items in the queues, exact when no worker pushes or
// takes. It can lag behind but is never 0 for good while batches are queued.
func (w *WorkSet) Len() int { return int(w.items.Load()) }

// Bytes returns the memory held by queued and free batches, in bytes.
func (w *WorkSet) Bytes() uint64 { return uint64(w.Len()) * 8 }

// Get returns an empty batch for worker to fill, recycled if there is one.
func (w *WorkSet) Get(worker int) *Batch {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.free); n > 0 {
		b := w.free[n-1]
		w.free = w.free[:n-1]
		return b
	}
	return &Batch{Refs: make([]Ref, 0, BatchSize)}
}

// Put gives back a batch that has been worked through.
func (w *WorkSet) Put(worker int, b *Batch) {
	b.reset()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.free = append(w.free, b)
}
