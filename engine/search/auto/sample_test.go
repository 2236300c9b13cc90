package auto

import (
	"math/rand/v2"
	"testing"

	"cpor/cartesian"
	"cpor/system"
	toy "cpor/system/toysystem"
)

// endless has no end of alternatives of each transition, which all do the same.
type endless struct{ system.System }

func (e endless) NewMachine() system.Machine { return endlessMachine{e.System.NewMachine()} }

type endlessMachine struct{ system.Machine }

func (m endlessMachine) Step(t int, alt uint64) system.Outcome {
	out := m.Machine.Step(t, 0)
	if out.Kind == system.Moved {
		out.Next = alt + 1
	}
	return out
}

// TestSampleStops: a sample of either kind ends when the search is to end, also within a state.
func TestSampleStops(t *testing.T) {
	inner, err := toy.New(toy.Random(rand.New(rand.NewPCG(1, 5)), toy.Config{NoLoops: true, Threads: 3, Nodes: 4}))
	if err != nil {
		t.Fatal(err)
	}
	sys := endless{inner}
	for _, vectors := range []*cartesian.Options{nil, {IgnoreDeadlocks: true}} {
		s, err := newSample(sys, vectors)
		if err != nil {
			t.Fatal(err)
		}
		s.put(sys.Initial()[0])
		asked := 0
		s.grow(1<<40, func() bool { asked++; return asked > 100 })
		if asked <= 100 {
			t.Errorf("it ended by itself")
		}
	}
}
