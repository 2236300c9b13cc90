package config

import (
	"sync"
	"testing"
)

func TestGet(t *testing.T) {
	var l Loader
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if c := l.Get(); c.Port != 8080 {
				t.Errorf("got %+v", c)
			}
		})
	}
	wg.Wait()
}
