package cache

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestGet(t *testing.T) {
	var loads atomic.Int32
	c := New(func(key string) string {
		loads.Add(1)
		return strings.ToUpper(key)
	})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if got := c.Get("go"); got != "GO" {
				t.Errorf("got %q", got)
			}
		})
	}
	wg.Wait()
	if n := loads.Load(); n != 1 {
		t.Errorf("loaded %d times, want once", n)
	}
}
