package stack

import (
	"sync"
	"testing"
)

func TestPop(t *testing.T) {
	s := New()
	var wg sync.WaitGroup
	var a, b int
	wg.Go(func() { a = s.Pop() })
	wg.Go(func() { b = s.Pop() })
	s.Push(1)
	s.Push(2)
	wg.Wait()
	if a+b != 3 {
		t.Errorf("popped %d and %d, want 1 and 2", a, b)
	}
}
