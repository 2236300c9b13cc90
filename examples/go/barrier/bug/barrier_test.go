package barrier

import (
	"sync"
	"testing"
)

func TestMeet(t *testing.T) {
	b := New(2)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			b.Meet()
			b.Meet()
		})
	}
	wg.Wait()
}
