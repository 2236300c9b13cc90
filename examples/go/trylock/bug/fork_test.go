package fork

import (
	"sync"
	"testing"
)

func TestDine(t *testing.T) {
	var a, b Fork
	var wg sync.WaitGroup
	meals := 0
	eat := func() { meals++ }
	wg.Go(func() { Dine(&a, &b, eat) })
	wg.Go(func() { Dine(&b, &a, eat) })
	wg.Wait()
	if meals != 2 {
		t.Errorf("%d meals, want 2", meals)
	}
}
