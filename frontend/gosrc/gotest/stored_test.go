package gotest

import (
	"testing"
	"time"

	"cpor/engine"
	"cpor/frontend/gosrc"
)

const stored = `package m

import (
	"sync"
	"testing"
)

func TestPipeline(t *testing.T) {
	in, out := make(chan int), make(chan int)
	var wg sync.WaitGroup
	for range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for x := range in {
				out <- x * x
			}
		}()
	}
	go func() {
		for i := range 3 {
			in <- i
		}
		close(in)
	}()
	go func() { wg.Wait(); close(out) }()
	sum := 0
	for x := range out {
		sum += x
	}
	if sum != 5 {
		t.Error(sum)
	}
}

func TestLocks(t *testing.T) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 5 {
				mu.Lock()
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
}
`

// TestStoredStates: what has too many executions, and few states, is covered by default.
func TestStoredStates(t *testing.T) {
	c := load(t, stored)
	for _, name := range []string{"TestPipeline", "TestLocks"} {
		p, err := c.Test(name, gosrc.Explore{})
		if err != nil {
			t.Fatal(err)
		}
		res, err := Run(t.Context(), p, Options{Timeout: 2 * time.Minute, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		if res.Verdict != engine.Pass {
			t.Errorf("%s: %v, %s", name, res.Verdict, res.Reason)
		}
	}
}
