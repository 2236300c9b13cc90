// Package progress has types whose calls make progress when other goroutines are suspended, or
// only if they are not.
package progress

import (
	"sync"
	"sync/atomic"
)

type node struct {
	v    int
	next atomic.Pointer[node]
}

// Stack is Treiber's.
type Stack struct{ top atomic.Pointer[node] }

func (s *Stack) Push(v int) {
	n := &node{v: v}
	for {
		top := s.top.Load()
		n.next.Store(top)
		if s.top.CompareAndSwap(top, n) {
			return
		}
	}
}

func (s *Stack) Pop() int {
	for {
		top := s.top.Load()
		if top == nil {
			return 0
		}
		if s.top.CompareAndSwap(top, top.next.Load()) {
			return top.v
		}
	}
}

// Queue is that of Michael and Scott. With forget, nobody helps an Enq that has linked its node and
// not yet moved the tail: others wait for it.
type Queue struct {
	forget     bool
	head, tail atomic.Pointer[node]
}

func newQueue(forget bool) *Queue {
	q := &Queue{forget: forget}
	n := &node{}
	q.head.Store(n)
	q.tail.Store(n)
	return q
}

func (q *Queue) Enq(v int) {
	n := &node{v: v}
	for {
		tail := q.tail.Load()
		if next := tail.next.Load(); next != nil {
			if !q.forget {
				q.tail.CompareAndSwap(tail, next)
			}
			continue
		}
		if tail.next.CompareAndSwap(nil, n) {
			q.tail.CompareAndSwap(tail, n)
			return
		}
	}
}

func (q *Queue) Deq() int {
	for {
		head, tail := q.head.Load(), q.tail.Load()
		next := head.next.Load()
		if next == nil {
			return 0
		}
		if head == tail {
			if !q.forget {
				q.tail.CompareAndSwap(tail, next)
			}
			continue
		}
		if q.head.CompareAndSwap(head, next) {
			return next.v
		}
	}
}

// Counter adds with compare-and-swap.
type Counter struct{ n atomic.Int64 }

func (c *Counter) Inc() int64 {
	for {
		n := c.n.Load()
		if c.n.CompareAndSwap(n, n+1) {
			return n + 1
		}
	}
}

func (c *Counter) Add() int64 { return c.n.Add(1) }

// Ring is a bounded queue for two elements in one word: how many there are, and their values in two
// bits each.
type Ring struct{ word atomic.Uint64 }

func (r *Ring) Put(v int) bool {
	for {
		w := r.word.Load()
		n := w >> 8
		if n == 2 {
			return false
		}
		if r.word.CompareAndSwap(w, (n+1)<<8|w&255|uint64(v)<<(2*n)) {
			return true
		}
	}
}

func (r *Ring) Take() int {
	for {
		w := r.word.Load()
		n := w >> 8
		if n == 0 {
			return 0
		}
		if r.word.CompareAndSwap(w, (n-1)<<8|w&255>>2) {
			return int(w & 3)
		}
	}
}

// Vyukov is the bounded queue by Dmitry Vyukov. It is not linearizable, but nobody waits: a Take of
// a place whose Put is suspended finds the queue empty, and a Put finds it full.
type Vyukov struct {
	cells      [2]struct{ seq, v atomic.Int64 }
	head, tail atomic.Int64
}

func newVyukov() *Vyukov {
	r := &Vyukov{}
	for i := range r.cells {
		r.cells[i].seq.Store(int64(i))
	}
	return r
}

func (r *Vyukov) Put(v int) bool {
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

func (r *Vyukov) Take() int {
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

// Locked is a queue with a mutex.
type Locked struct {
	mu sync.Mutex
	l  []int
}

func (q *Locked) Put(v int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.l = append(q.l, v)
}

func (q *Locked) Take() (v int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.l) > 0 {
		v, q.l = q.l[0], q.l[1:]
	}
	return v
}

// Spin is a counter with a spin lock.
type Spin struct {
	lock atomic.Bool
	n    int
}

func (s *Spin) Inc() int {
	for !s.lock.CompareAndSwap(false, true) {
	}
	s.n++
	n := s.n
	s.lock.Store(false)
	return n
}

// Counting is Spin that counts how often it waits: no state comes twice.
type Counting struct {
	lock  atomic.Bool
	spins atomic.Int64
	n     int
}

func (s *Counting) Inc() int {
	for !s.lock.CompareAndSwap(false, true) {
		s.spins.Add(1)
	}
	s.n++
	n := s.n
	s.lock.Store(false)
	return n
}

// Abort is a counter whose goroutines abort each other: each becomes the owner and begins again if
// another one has become it meanwhile.
type Abort struct {
	owner atomic.Int64
	n     atomic.Int64
}

func (a *Abort) IncBy(me int64) {
	for {
		a.owner.Store(me)
		if a.owner.CompareAndSwap(me, 0) {
			a.n.Add(1)
			return
		}
	}
}

// Wait waits for what Set sets.
type Wait struct {
	set atomic.Bool
	c   chan struct{}
}

func newWait() *Wait { return &Wait{c: make(chan struct{})} }

func (w *Wait) Set() {
	if !w.set.Swap(true) {
		close(w.c)
	}
}

func (w *Wait) Wait() { <-w.c }

// Served is a counter that a goroutine of its own serves.
type Served struct{ ask chan chan int }

func newServed() *Served {
	s := &Served{ask: make(chan chan int)}
	go func() {
		n := 0
		for c := range s.ask {
			n++
			c <- n
		}
	}()
	return s
}

func (s *Served) Next() int {
	c := make(chan int, 1)
	s.ask <- c
	return <-c
}

// Tiny has programs for calls: its digits to the base 8, the last one first. See do.
type Tiny struct {
	a  atomic.Int64
	mu sync.Mutex
}

func (x *Tiny) Do(code int) {
	held := false
	for left := code; left > 0; {
		digit := left % 8
		left /= 8
		again := false
		switch digit {
		case 1, 2:
			x.a.Store(int64(digit))
		case 3:
			again = !x.a.CompareAndSwap(0, 1)
		case 4:
			again = !x.a.CompareAndSwap(1, 2)
		case 5:
			again = x.a.Load() == 1
		case 6:
			if !held {
				x.mu.Lock()
				held = true
			}
		case 7:
			if held {
				x.mu.Unlock()
				held = false
			}
		}
		if again {
			left = code
		}
	}
	if held {
		x.mu.Unlock()
	}
}
