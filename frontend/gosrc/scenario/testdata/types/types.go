// Package types has a type whose operations are generated, with what they should do: TestTypes of
// package scenario compares what is found out about it with all interleavings.
package types

import (
	"sync"
	"sync/atomic"
)

// T is a state, 0 to 2. Some operations use it under the lock only.
type T struct {
	mu      sync.Mutex
	changed sync.Cond
	s       atomic.Int64
}

func New() *T {
	t := new(T)
	t.changed.L = &t.mu
	return t
}

// An operation is a number: its kind, and a digit for each state. 9 means that it waits there;
// otherwise the digit is the next state times 3, plus the result.
const (
	locked     = iota // right, also with waits
	compared          // right among its like
	torn              // reads and writes without the lock
	twice             // looks and acts in two critical sections
	looksAgain        // has its result from a second look
	noWakeup          // does not wake those that wait for another state
	noLoop            // does not look again when it is woken
)

func digit(code int, s int64) int64 {
	for ; s > 0; s-- {
		code /= 10
	}
	return int64(code % 10)
}

// after returns what an operation does in a state if it does not wait.
func after(code int, s int64) (next, result int64) {
	d := digit(code, s)
	if d == 9 {
		return s, 0
	}
	return d / 3, d % 3
}

// Run executes an operation.
func (t *T) Run(code int) int64 {
	switch code / 1000 {
	case compared:
		for {
			s := t.s.Load()
			if next, result := after(code, s); t.s.CompareAndSwap(s, next) {
				return result
			}
		}
	case torn:
		next, result := after(code, t.s.Load())
		t.s.Store(next)
		return result
	case twice:
		t.mu.Lock()
		next, result := after(code, t.s.Load())
		t.mu.Unlock()
		t.mu.Lock()
		t.s.Store(next)
		t.changed.Broadcast()
		t.mu.Unlock()
		return result
	}
	t.mu.Lock()
	s := t.s.Load()
	for digit(code, s) == 9 {
		t.changed.Wait()
		s = t.s.Load()
		if code/1000 == noLoop {
			break
		}
	}
	next, result := after(code, s)
	t.s.Store(next)
	if code/1000 != noWakeup {
		t.changed.Broadcast()
	}
	t.mu.Unlock()
	if code/1000 == looksAgain {
		t.mu.Lock()
		if t.s.Load() != next {
			result = (result + 1) % 3
		}
		t.mu.Unlock()
	}
	return result
}

// Get returns the state.
func (t *T) Get() int64 { return t.s.Load() }

// Spec is the specification.
type Spec struct{ s int64 }

func (m *Spec) Run(code int) int64 {
	if digit(code, m.s) == 9 {
		select {}
	}
	next, result := after(code, m.s)
	m.s = next
	return result
}
