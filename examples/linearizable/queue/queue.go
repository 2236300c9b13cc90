// Package queue has the queue of Michael and Scott without the help that makes it lock-free.
package queue

import "sync/atomic"

type node struct {
	v    int
	next atomic.Pointer[node]
}

// Queue is a queue without a lock.
type Queue struct{ head, tail atomic.Pointer[node] }

// New returns an empty queue.
func New() *Queue {
	q, n := &Queue{}, &node{}
	q.head.Store(n)
	q.tail.Store(n)
	return q
}

// Put appends v.
func (q *Queue) Put(v int) {
	n := &node{v: v}
	for {
		tail := q.tail.Load()
		if tail.next.Load() != nil {
			continue // somebody else is about to move the tail
		}
		if tail.next.CompareAndSwap(nil, n) {
			q.tail.Store(n)
			return
		}
	}
}

// Take removes the first value; ok is false if there is none.
func (q *Queue) Take() (v int, ok bool) {
	for {
		head := q.head.Load()
		next := head.next.Load()
		if next == nil {
			return 0, false
		}
		if q.head.CompareAndSwap(head, next) {
			return next.v, true
		}
	}
}
