package structures

import (
	"sync"
	"sync/atomic"
)

type node struct {
	v    int
	next atomic.Pointer[node]
}

// MSQueue is the queue of Michael and Scott. The bad one links a node without looking whether
// another has been faster.
type MSQueue struct {
	bad        bool
	head, tail atomic.Pointer[node]
}

func newMSQueue(bad bool) *MSQueue {
	q := &MSQueue{bad: bad}
	n := &node{}
	q.head.Store(n)
	q.tail.Store(n)
	return q
}

func (q *MSQueue) Enq(v int) {
	n := &node{v: v}
	for {
		tail := q.tail.Load()
		next := tail.next.Load()
		if next != nil {
			q.tail.CompareAndSwap(tail, next)
			continue
		}
		if q.bad {
			tail.next.Store(n)
		} else if !tail.next.CompareAndSwap(nil, n) {
			continue
		}
		q.tail.CompareAndSwap(tail, n)
		return
	}
}

func (q *MSQueue) Deq() (int, bool) {
	for {
		head, tail := q.head.Load(), q.tail.Load()
		next := head.next.Load()
		if next == nil {
			return 0, false
		}
		if head == tail {
			q.tail.CompareAndSwap(tail, next)
			continue
		}
		if q.head.CompareAndSwap(head, next) {
			return next.v, true
		}
	}
}

// Ring is a bounded queue for two elements with a lock. The bad one is Vyukov's: an element whose
// Put has returned cannot be taken while another Put with the place before it has not written
// its own.
type Ring struct {
	bad        bool
	mu         sync.Mutex
	cells      [2]cell
	head, tail atomic.Int64
}

type cell struct {
	seq atomic.Int64
	v   atomic.Int64
}

func newRing(bad bool) *Ring {
	r := &Ring{bad: bad}
	for i := range r.cells {
		r.cells[i].seq.Store(int64(i))
	}
	return r
}

func (r *Ring) Put(v int) bool {
	if !r.bad {
		r.mu.Lock()
		defer r.mu.Unlock()
	}
	for {
		at := r.tail.Load()
		c := &r.cells[at%2]
		switch seq := c.seq.Load(); {
		case seq == at:
			if r.tail.CompareAndSwap(at, at+1) {
				c.v.Store(int64(v))
				c.seq.Store(at + 1)
				return true
			}
		case seq < at && r.tail.Load() == at:
			return false
		}
	}
}

func (r *Ring) Take() int {
	if !r.bad {
		r.mu.Lock()
		defer r.mu.Unlock()
	}
	for {
		at := r.head.Load()
		c := &r.cells[at%2]
		switch seq := c.seq.Load(); {
		case seq == at+1:
			if r.head.CompareAndSwap(at, at+1) {
				v := c.v.Load()
				c.seq.Store(at + 2)
				return int(v)
			}
		case seq < at+1 && r.head.Load() == at:
			return 0
		}
	}
}

// Chan is a queue in a channel. The bad one looks whether it is empty, and waits if it is by
// then.
type Chan struct {
	bad bool
	c   chan int
}

func newChan(bad bool) *Chan { return &Chan{bad: bad, c: make(chan int, 2)} }

func (q *Chan) Put(v int) bool {
	select {
	case q.c <- v:
		return true
	default:
		return false
	}
}

func (q *Chan) Take() int {
	if q.bad {
		if len(q.c) == 0 {
			return 0
		}
		return <-q.c
	}
	select {
	case v := <-q.c:
		return v
	default:
		return 0
	}
}

// Blocking is a queue whose Take waits. The bad one wakes somebody only if the queue was empty.
type Blocking struct {
	bad  bool
	mu   sync.Mutex
	some sync.Cond
	l    []int
}

func newBlocking(bad bool) *Blocking {
	q := &Blocking{bad: bad}
	q.some.L = &q.mu
	return q
}

func (q *Blocking) Put(v int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.l = append(q.l, v)
	if !q.bad || len(q.l) == 1 {
		q.some.Signal()
	}
}

func (q *Blocking) Take() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.l) == 0 {
		q.some.Wait()
	}
	v := q.l[0]
	q.l = q.l[1:]
	return v
}

// Priority is a queue by priority. The bad one looks for the least and removes it in two steps.
type Priority struct {
	bad bool
	mu  sync.Mutex
	l   []int
}

func newPriority(bad bool) *Priority { return &Priority{bad: bad} }

func (q *Priority) Put(v int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.l = append(q.l, v)
}

func (q *Priority) Min() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.l) == 0 {
		return 0
	}
	least := q.l[0]
	for _, v := range q.l {
		least = min(least, v)
	}
	if q.bad {
		q.mu.Unlock()
		q.mu.Lock()
	}
	for i, v := range q.l {
		if v == least {
			q.l = append(q.l[:i:i], q.l[i+1:]...)
			break
		}
	}
	return least
}

// Treiber is Treiber's stack. The bad one uses nodes again, so that a node may be the same and
// its successor another (ABA).
type Treiber struct {
	bad       bool
	top, free atomic.Pointer[node]
}

func newTreiber(bad bool) *Treiber { return &Treiber{bad: bad} }

func (s *Treiber) Push(v int) {
	var n *node
	if s.bad {
		if n = s.free.Load(); n != nil && !s.free.CompareAndSwap(n, nil) {
			n = nil
		}
	}
	if n == nil {
		n = &node{}
	}
	n.v = v
	for {
		top := s.top.Load()
		n.next.Store(top)
		if s.top.CompareAndSwap(top, n) {
			return
		}
	}
}

func (s *Treiber) Pop() int {
	for {
		top := s.top.Load()
		if top == nil {
			return 0
		}
		next := top.next.Load()
		if s.top.CompareAndSwap(top, next) {
			v := top.v
			if s.bad {
				s.free.CompareAndSwap(nil, top)
			}
			return v
		}
	}
}

// Locked is a stack with a lock. The bad one's Top reads without it, through an atomic copy.
type Locked struct {
	bad bool
	mu  sync.Mutex
	l   []int
	top atomic.Int64
}

func newLocked(bad bool) *Locked { return &Locked{bad: bad} }

func (s *Locked) Push(v int) {
	s.mu.Lock()
	s.l = append(s.l, v)
	s.mu.Unlock()
	s.top.Store(int64(v))
}

func (s *Locked) Pop() (v int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	top := 0
	if n := len(s.l); n > 0 {
		v, s.l = s.l[n-1], s.l[:n-1]
	}
	if n := len(s.l); n > 0 {
		top = s.l[n-1]
	}
	s.top.Store(int64(top))
	return v
}

func (s *Locked) Top() int {
	if s.bad {
		return int(s.top.Load())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.l) == 0 {
		return 0
	}
	return s.l[len(s.l)-1]
}
