// Package micro has a type whose operations are small programs: TestMicro of package scenario
// compares what is found out about it with all interleavings.
package micro

import (
	"sync"
	"sync/atomic"
)

// T is two atomic numbers, and one with a lock.
type T struct {
	a, b atomic.Int64
	mu   sync.Mutex
	n    int64
}

// Run executes the digits of a number to the base 8, the last one first.
func (t *T) Run(code int) int {
	acc := int64(0)
	for ; code > 0; code /= 8 {
		switch code % 8 {
		case 1:
			acc = t.a.Load()
		case 2:
			t.a.Store(acc + 1)
		case 3:
			acc += t.b.Load()
		case 4:
			t.b.Store(acc)
		case 5:
			if t.a.CompareAndSwap(acc, acc+1) {
				acc += 10
			}
		case 6:
			t.a.Add(1) // its result is not used
		case 7:
			t.mu.Lock()
			t.n += acc + 1
			acc = t.n
			t.mu.Unlock()
		}
	}
	return int(acc)
}
