package latch

import (
	"sync"
	"testing"
)

func TestRelease(t *testing.T) {
	l := New()
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(l.Await)
	}
	l.Release()
	wg.Wait()
}
