// Package barrier lets a group of goroutines meet again and again.
package barrier

import "sync"

// Barrier is for n goroutines.
type Barrier struct {
	mu      sync.Mutex
	cond    *sync.Cond
	n       int
	arrived int
}

// New returns a barrier for n goroutines.
func New(n int) *Barrier {
	b := &Barrier{n: n}
	b.cond = sync.NewCond(&b.mu)
	return b
}

// Meet waits until n goroutines have called it. A fast one may come to the next
// meeting before a slow one has noticed that the last meeting is over: the slow
// one sees a new count and continues waiting.
func (b *Barrier) Meet() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.arrived++
	if b.arrived == b.n {
		b.arrived = 0
		b.cond.Broadcast()
		return
	}
	for b.arrived != 0 {
		b.cond.Wait()
	}
}
