// Package gen makes numbers in a goroutine.
package gen

import "context"

// Squares sends the squares of 0, 1, 2, ... until the context is done.
func Squares(ctx context.Context) <-chan int {
	out := make(chan int)
	go func() {
		defer close(out)
		for i := 0; ; i++ {
			select {
			case out <- i * i:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// First returns the first square that is at least min.
func First(min int) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for s := range Squares(ctx) {
		if s >= min {
			return s
		}
	}
	return -1
}
