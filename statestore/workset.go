package statestore

import (
	"sync/atomic"
	"unsafe"

	"cpor/internal/probe"
)

// BatchSize is the number of items that a full Batch holds.
const BatchSize = 128

// Trail is the path that leads to a state, for stores that are not Loadable: a work item's chain of
// hashes back to an initial state. To replay it, start in the initial state and always take the
// move whose end state has the next hash. Trails form a tree; the garbage collector frees the
// branches that no work item needs any more.
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

	words  []uint64 // the items' encoded states, concatenated
	ends   []int    // where each ends in words
	trails []*Trail

	counted int // bytes counted in the WorkSet
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
	if b.words == nil {
		b.words = make([]uint64, 0, len(s)*BatchSize)
	}
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
	b.Depth, b.Refs, b.words, b.ends, b.trails = 0, b.Refs[:0], b.words[:0], b.ends[:0],
		b.trails[:0]
}

// WorkSet is the work set of a search: a queue of batches for each worker. A worker takes its own
// batches first in, first out, so the search is nearly breadth-first. A worker without batches
// steals from the others.
//
// A queue is a ring with its own lock, held for a few instructions per BatchSize items. The queues
// of xsync are bounded, but the frontier of a breadth-first search is not. The lock-free unbounded
// queues allocate for every element.
type WorkSet struct {
	queues []queue

	// Free batches in excess of those that the workers keep.
	mu   probe.Mutex
	free []*Batch

	bytes atomic.Int64 // of all batches that have been made and not dropped
}

const (
	cacheLine = 64
	// ownFree is how many free batches a worker keeps, and sharedFree how many
	// there are for all. Others are left to the garbage collector, so that a
	// frontier that has shrunk does not keep its memory.
	ownFree    = 8
	sharedFree = 256
)

// queue is one worker's.
type queue struct {
	mu    probe.Mutex
	ring  []*Batch // a power of two
	head  uint     // of the oldest batch
	n     uint     // batches
	items atomic.Int64
	_     [cacheLine]byte

	free []*Batch // used by the worker only
	_    [cacheLine]byte
}

// NewWorkSet returns an empty work set for workers numbered from 0 to workers-1.
// There is room for at least one.
func NewWorkSet(workers int) *WorkSet {
	w := &WorkSet{queues: make([]queue, max(workers, 1))}
	w.mu.Site = probe.Free
	for i := range w.queues {
		w.queues[i].mu.Site = probe.Queue
	}
	return w
}

// Push gives a batch to a worker's queue, which need not be the caller's. The caller must not use
// the batch afterwards. An empty batch is dropped.
func (w *WorkSet) Push(worker int, b *Batch) {
	w.account(b)
	if b.Len() == 0 {
		w.bytes.Add(-int64(b.counted))
		return
	}
	q := &w.queues[worker]
	if probe.On {
		b.observe(true)
	}
	q.mu.Lock()
	if q.n == uint(len(q.ring)) {
		ring := make([]*Batch, max(8, 2*len(q.ring)))
		for i := range q.n {
			ring[i] = q.ring[(q.head+i)&(q.n-1)]
		}
		w.bytes.Add(int64(8 * (len(ring) - len(q.ring))))
		q.ring, q.head = ring, 0
	}
	q.ring[(q.head+q.n)&uint(len(q.ring)-1)] = b
	q.n++
	q.items.Add(int64(b.Len()))
	q.mu.Unlock()
}

// observe announces that a worker has filled the batch, or takes it.
func (b *Batch) observe(write bool) {
	const perLine = cacheLine / 8
	for i := 0; i < len(b.Refs); i += perLine {
		if !write {
			probe.Touch(probe.Items, unsafe.Pointer(&b.Refs[i])) // processors fetch ahead
		}
	}
	for i := 0; i < len(b.Refs); i += perLine {
		if write {
			probe.Write(probe.Items, unsafe.Pointer(&b.Refs[i]))
		} else {
			probe.Read(probe.Items, unsafe.Pointer(&b.Refs[i]))
		}
	}
}

// take takes the oldest batch.
func (q *queue) take() *Batch {
	probe.Read(probe.QueueItems, unsafe.Pointer(&q.items))
	if q.items.Load() == 0 {
		return nil
	}
	b := q.first()
	if probe.On && b != nil {
		b.observe(false)
	}
	return b
}

// first is take for a queue that is probably not empty.
func (q *queue) first() *Batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.n == 0 {
		return nil
	}
	i := q.head & uint(len(q.ring)-1)
	b := q.ring[i]
	q.ring[i] = nil
	q.head++
	q.n--
	q.items.Add(-int64(b.Len()))
	return b
}

// Pop takes the worker's own oldest batch, nil if it has none.
func (w *WorkSet) Pop(worker int) *Batch { return w.queues[worker].take() }

// Steal takes the oldest batch of the next worker that has any, nil if none has.
func (w *WorkSet) Steal(worker int) *Batch {
	for i := 1; i < len(w.queues); i++ {
		if b := w.queues[(worker+i)%len(w.queues)].take(); b != nil {
			return b
		}
	}
	return nil
}

// Len returns the number of items in the queues, exact when no worker pushes or
// takes. An item that is in a queue all the while that Len runs is counted.
func (w *WorkSet) Len() int {
	n := int64(0)
	for i := range w.queues {
		probe.Read(probe.QueueItems, unsafe.Pointer(&w.queues[i].items))
		n += w.queues[i].items.Load()
	}
	return int(n)
}

// Rename replaces the Refs of all items in the queues. No worker may use the work set meanwhile.
func (w *WorkSet) Rename(name func(Ref) Ref) {
	for i := range w.queues {
		q := &w.queues[i]
		for j := range q.n {
			b := q.ring[(q.head+j)&uint(len(q.ring)-1)]
			for k, r := range b.Refs {
				b.Refs[k] = name(r)
			}
		}
	}
}

// Queued returns the number of items in a worker's queue.
func (w *WorkSet) Queued(worker int) int { return int(w.queues[worker].items.Load()) }

// Bytes returns the memory of the queues and of all batches, queued, held by
// workers, or free, in bytes. Trails do not count.
func (w *WorkSet) Bytes() uint64 { return uint64(w.bytes.Load()) }

// Get returns an empty batch for worker to fill, recycled if there is one.
func (w *WorkSet) Get(worker int) *Batch {
	q := &w.queues[worker]
	if n := len(q.free); n > 0 {
		b := q.free[n-1]
		q.free = q.free[:n-1]
		return b
	}
	w.mu.Lock()
	if n := len(w.free); n > 0 {
		b := w.free[n-1]
		w.free = w.free[:n-1]
		w.mu.Unlock()
		return b
	}
	w.mu.Unlock()
	b := &Batch{Refs: make([]Ref, 0, BatchSize)}
	w.account(b)
	return b
}

// Put returns a batch that worker has finished.
func (w *WorkSet) Put(worker int, b *Batch) {
	b.reset()
	w.account(b)
	q := &w.queues[worker]
	if len(q.free) < ownFree {
		q.free = append(q.free, b)
		return
	}
	w.mu.Lock()
	if len(w.free) < sharedFree {
		w.free = append(w.free, b)
		b = nil
	}
	w.mu.Unlock()
	if b != nil {
		w.bytes.Add(-int64(b.counted))
	}
}

// account brings the sum of the batches' bytes up to date with b.
func (w *WorkSet) account(b *Batch) {
	n := int(unsafe.Sizeof(*b)) + 8*(cap(b.Refs)+cap(b.words)+cap(b.ends)+cap(b.trails))
	if n != b.counted {
		probe.Write(probe.BatchBytes, unsafe.Pointer(&w.bytes))
		w.bytes.Add(int64(n - b.counted))
		b.counted = n
	}
}
