// Package latch lets many goroutines wait for one event.
package latch

import "sync"

// Latch is shut until Release.
type Latch struct {
	mu       sync.Mutex
	cond     sync.Cond
	released bool
}

// New returns a latch that is shut.
func New() *Latch {
	l := &Latch{}
	l.cond.L = &l.mu
	return l
}

// Await waits for Release.
func (l *Latch) Await() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.released {
		l.cond.Wait()
	}
}

// Release lets everybody continue. Signal wakes only one of them.
func (l *Latch) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = true
	l.cond.Signal()
}
