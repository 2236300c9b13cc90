package coherence

import (
	"bytes"
	"context"
	"testing"
	"time"

	"cpor/benchmarks"
	"cpor/engine"
	"cpor/engine/search/reduction"
	"cpor/frontend"
	"cpor/system"
)

// stepTime is how long each step takes in TestLocalWork.
const stepTime = 100 * time.Nanosecond

// timed is a system whose steps let a clock run.
type timed struct {
	system.System
	now *time.Duration
}

func (s timed) NewMachine() system.Machine { return timedMachine{s.System.NewMachine(), s.now} }
func (s timed) Capabilities() system.Capabilities {
	return system.Capabilities{}
}

type timedMachine struct {
	system.Machine
	now *time.Duration
}

func (m timedMachine) Step(t int, alt uint64) system.Outcome {
	*m.now += stepTime
	return m.Machine.Step(t, alt)
}

func (m timedMachine) Capabilities() system.MachineCapabilities {
	return system.MachineCapabilities{}
}

// TestLocalWork checks that any number of workers is charged the same local work, if the search
// does the same. Only steps take time here. How often the workers look into the shared tables
// between them depends on who finds which state.
func TestLocalWork(t *testing.T) {
	e, err := engine.Lookup(reduction.Mode, "cartesian")
	if err != nil {
		t.Fatal(err)
	}
	text, err := benchmarks.Model("indexer")
	if err != nil {
		t.Fatal(err)
	}
	p, err := frontend.Read("indexer.model", bytes.NewReader(text),
		frontend.Options{Params: map[string]string{"N": "15"}})
	if err != nil {
		t.Fatal(err)
	}
	var now time.Duration
	run := func(workers int) {
		now = 0
		res, err := e.Run(context.Background(), &engine.Task{System: timed{p.System, &now},
			Flags: &engine.Values{}, Options: engine.Options{Workers: workers}})
		if err != nil || !res.Exhaustive {
			t.Fatalf("%d workers: %v, %v", workers, res, err)
		}
	}
	meter := newMeter(func() time.Duration { return now })
	meter.Watch(func() { run(1) })
	segments, _ := meter.Segments()
	one := time.Duration(0)
	for _, n := range []int{1, 2, 8} {
		sim := NewSimulation(n, testCosts, segments)
		sim.Watch(func() { run(n) })
		if n == 1 {
			one = sim.local
		}
		if ratio := float64(sim.local) / float64(now); ratio < 0.9 || ratio > 1.1 {
			t.Errorf("%d workers: the steps take %v, and %v of local work are charged", n, now,
				sim.local)
		}
		if ratio := float64(sim.local) / float64(one); ratio < 0.99 || ratio > 1.01 {
			t.Errorf("%d workers are charged %v of local work, and one %v", n, sim.local, one)
		}
	}
}
