package gotest

import (
	"testing"

	"cpor/engine"
	"cpor/frontend/gosrc"
)

const libraryPrograms = `package m

import (
	"encoding/json"
	"sync"
	"testing"
)

type point struct{ X, Y int }

func TestMarshal(t *testing.T) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	sum := 0
	for i := range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			b, err := json.Marshal(point{i, 1})
			var p point
			if err == nil {
				err = json.Unmarshal(b, &p)
			}
			same(t, nil, err)
			mu.Lock()
			defer mu.Unlock()
			sum += p.X
		}()
	}
	wg.Wait()
	same(t, 3, sum)
}

func TestRace(t *testing.T) {
	p := &point{}
	done := make(chan bool)
	go func() { p.X = 1; close(done) }()
	json.Marshal(p)
	<-done
}

func TestHelper(t *testing.T) {
	same(t, 1, 2)
}

func same(t *testing.T, want, got any) {
	t.Helper()
	if want != got {
		t.Errorf("%v, not %v", got, want)
	}
}
`

// TestLibrary: calls of the library do not depend on each other by what it keeps for
// itself, what they read of the program's memory is seen, and the failures of helpers
// are their callers'.
func TestLibrary(t *testing.T) {
	c := load(t, libraryPrograms)
	run := func(name string) *Result {
		t.Helper()
		p, err := c.Test(name, gosrc.Explore{})
		if err != nil {
			t.Fatal(err)
		}
		res, err := Run(t.Context(), p, Options{Engine: DPOR})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	// The orders in which three goroutines take the lock.
	if res := run("TestMarshal"); res.Verdict != engine.Pass || res.Executions != 6 {
		t.Errorf("%+v, %+v", res, res.Failure)
	}
	if res := run("TestRace"); res.Failure == nil || res.Failure.Kind != Race {
		t.Errorf("%+v", res)
	}
	if f := run("TestHelper").Failure; f == nil || f.Kind != Failed || f.Pos.Line != 43 {
		t.Errorf("%+v", f)
	}
}
