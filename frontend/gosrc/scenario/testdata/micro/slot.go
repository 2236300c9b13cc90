package micro

import "sync/atomic"

// Slot has room for one value. Two concurrent calls of Take may both get it.
type Slot struct{ full atomic.Bool }

func (s *Slot) Put() { s.full.Store(true) }

func (s *Slot) Take() bool {
	full := s.full.Load()
	if full {
		s.full.Store(false)
	}
	return full
}

// Wait waits until there is something.
func (s *Slot) Wait() int { return <-make(chan int) }
