package store

import "testing"

func TestUpdate(t *testing.T) {
	s := New()
	failed := make(chan error)
	go func() {
		failed <- s.Update("a", func(n int) int { return 1 / n })
	}()
	if err := s.Update("b", func(n int) int { return n + 1 }); err != nil {
		t.Error(err)
	}
	if err := <-failed; err == nil {
		t.Error("no error from a division by zero")
	}
}
