// Package lincheck has counterparts in Go of examples in the tests of Lincheck that package
// structures has not.
package lincheck

import "sync/atomic"

// Plain is a counter without synchronization.
type Plain struct{ n int }

func (c *Plain) Inc() int {
	c.n++
	return c.n
}

// Table is a map without synchronization.
type Table struct{ m map[int]int }

func newTable() *Table { return &Table{map[int]int{}} }

func (t *Table) Put(k, v int)  { t.m[k] = v }
func (t *Table) Get(k int) int { return t.m[k] }

// Switches fails only if the two calls take turns four times: each opens a door for a moment, and
// passes through the one that the other has open.
type Switches struct{ doors [5]atomic.Bool }

func (s *Switches) flash(i int) {
	s.doors[i].Store(true)
	s.doors[i].Store(false)
}

func (s *Switches) Odd() {
	s.flash(0)
	if s.doors[1].Load() {
		s.flash(2)
		if s.doors[3].Load() {
			s.flash(4)
		}
	}
}

func (s *Switches) Even() (inside bool) {
	if s.doors[0].Load() {
		s.flash(1)
		if s.doors[2].Load() {
			s.flash(3)
			return s.doors[4].Load()
		}
	}
	return false
}

// Clocks violates the order in real time between goroutines: Late, which begins after Begin has
// returned because Await waits for Signal, does not see Begin.
type Clocks struct{ signal chan struct{} }

func newClocks() *Clocks { return &Clocks{make(chan struct{}, 9)} }

func (c *Clocks) Begin()    {}
func (c *Clocks) Signal()   { c.signal <- struct{}{} }
func (c *Clocks) Await()    { <-c.signal }
func (c *Clocks) Late() int { return 0 }

// clocksModel is what Clocks should do.
type clocksModel struct{ begun, signals int }

// Segments is a queue on arrays of two slots, in which enqueuers and dequeuers take slots by
// adding to an index. The bad one does not look whether the last segment has a successor, and it
// may add one to another segment than the full one, so that values overtake others.
type Segments struct {
	bad        bool
	head, tail atomic.Pointer[segment]
}

const (
	slots = 2
	taken = -1
)

type segment struct {
	next     atomic.Pointer[segment]
	enq, deq atomic.Int64
	values   [slots]atomic.Int64 // 0: none yet
}

func newSegments(bad bool) *Segments {
	q := &Segments{bad: bad}
	s := new(segment)
	q.head.Store(s)
	q.tail.Store(s)
	return q
}

func (q *Segments) Enqueue(v int) {
	for {
		tail := q.tail.Load()
		if next := tail.next.Load(); next != nil && !q.bad {
			q.tail.CompareAndSwap(tail, next)
			continue
		}
		if i := tail.enq.Add(1) - 1; i < slots {
			if tail.values[i].CompareAndSwap(0, int64(v)) {
				return
			}
			continue
		}
		fresh := new(segment)
		fresh.enq.Store(1)
		fresh.values[0].Store(int64(v))
		next := tail.next.Load()
		if next != nil {
			q.tail.CompareAndSwap(tail, next)
			continue
		}
		if q.bad {
			tail = q.tail.Load()
		}
		if tail.next.CompareAndSwap(nil, fresh) {
			return
		}
	}
}

func (q *Segments) Dequeue() int {
	for {
		head := q.head.Load()
		if head.deq.Load() >= slots {
			next := head.next.Load()
			if next == nil {
				return 0
			}
			q.head.CompareAndSwap(head, next)
			continue
		}
		i := head.deq.Add(1) - 1
		if i >= slots {
			continue
		}
		if v := head.values[i].Swap(taken); v > 0 {
			return int(v)
		}
	}
}
