package auto

import (
	"math/rand/v2"
	"testing"

	toy "cpor/testkit/toysystem"
)

// TestSampleStops: a sample of either kind ends when the search is to end, also within a state.
func TestSampleStops(t *testing.T) {
	inner, err := toy.New(toy.Random(rand.New(rand.NewPCG(1, 5)),
		toy.Config{NoLoops: true, Threads: 3, Nodes: 4}))
	if err != nil {
		t.Fatal(err)
	}
	sys := toy.Endless{System: inner}
	p := newPolicy(sys, Options{})
	for _, reduces := range []bool{false, true} {
		s := p.empty(reduces)
		s.put(sys.Initial()[0])
		asked := 0
		s.grow(1<<40, func() bool { asked++; return asked > 100 })
		if asked <= 100 {
			t.Errorf("it ended by itself")
		}
	}
}
