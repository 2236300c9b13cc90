package limit

import (
	"sync"
	"testing"
)

func TestAdmit(t *testing.T) {
	l := Limiter{Max: 1}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { l.Admit() })
	}
	wg.Wait()
	if n := l.Inside(); n != 1 {
		t.Errorf("%d inside, want 1", n)
	}
}
