// Package barrier lets a group of goroutines meet again and again.
package barrier

import "sync"

// Barrier is for n goroutines.
type Barrier struct {
	mu      sync.Mutex
	cond    *sync.Cond
	n       int
	arrived int
	meeting int // its number
}

// New returns a barrier for n goroutines.
func New(n int) *Barrier {
	b := &Barrier{n: n}
	b.cond = sync.NewCond(&b.mu)
	return b
}

// Meet waits until n goroutines have called it for this meeting.
func (b *Barrier) Meet() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.arrived++
	if b.arrived == b.n {
		b.arrived = 0
		b.meeting++
		b.cond.Broadcast()
		return
	}
	for mine := b.meeting; b.meeting == mine; {
		b.cond.Wait()
	}
}
