package bank

import (
	"sync"
	"testing"
)

func TestTransfer(t *testing.T) {
	a, b := New(1, 100), New(2, 100)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := Transfer(a, b, 30); err != nil {
			t.Error(err)
		}
	})
	wg.Go(func() {
		if err := Transfer(b, a, 50); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	if a.Balance() != 120 || b.Balance() != 80 {
		t.Errorf("balances %d and %d, want 120 and 80", a.Balance(), b.Balance())
	}
}
