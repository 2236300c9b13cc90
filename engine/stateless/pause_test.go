package stateless

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cpor/engine"
	"cpor/system"
	"cpor/testkit/resumetest"
	"cpor/testkit/sample"
)

// stepping calls a function before each step of its machines, those of searches and those that look
// ahead.
type stepping struct {
	system.System
	before func()
}

func (s *stepping) Capabilities() system.Capabilities { return s.System.Capabilities() }

func (s *stepping) NewMachine() system.Machine {
	return &steppingMachine{s.System.NewMachine(), s}
}

type steppingMachine struct {
	system.Machine
	sys *stepping
}

func (m *steppingMachine) Capabilities() system.MachineCapabilities {
	return m.Machine.Capabilities()
}

func (m *steppingMachine) Step(t int, alt uint64) system.Outcome {
	m.sys.before()
	return m.Machine.Step(t, alt)
}

// TestPauseAtEachStep pauses a search for a checkpoint at its first step, or its second, and so on,
// at all of them, and interrupts it there and continues with another number of workers. Threads
// that write different numbers have as many executions as there are orders of their writes, and
// each search ends with that number. In half of the searches, goroutines yield at many steps, so
// that workers take work from each other at different moments.
func TestPauseAtEachStep(t *testing.T) {
	for _, tt := range []struct {
		threads, writes int
		executions      uint64
		every           int // how many steps are between two that are tried
	}{
		{2, 2, 6, 1},
		{2, 3, 20, sample.Of(31, 7, 1)},
		{3, 2, 90, sample.Of(211, 67, 1)},
		{3, 3, 1680, sample.Of(0, 0, 997)},
	} {
		if tt.every == 0 {
			continue
		}
		var text strings.Builder
		fmt.Fprintf(&text, "var x uint8\nthread T(i uint8) { for range %d { x = i } }\ninit {\n",
			tt.writes)
		for i := range tt.threads {
			fmt.Fprintf(&text, "go T(%d)\n", i)
		}
		text.WriteString("}\n")
		plain, err := parse(text.String())
		if err != nil {
			t.Fatal(err)
		}
		steps := atomic.Uint64{}
		_, err = Run(t.Context(), &stepping{plain, func() { steps.Add(1) }},
			Options{Options: engine.Options{Workers: 1}, Reduction: DPOR})
		if err != nil {
			t.Fatal(err)
		}
		last := int(steps.Load())
		workers := []int{1, 2, 5}
		for k, n := 0, 0; n <= last; k, n = k+1, n+tt.every {
			for i, w := range workers {
				for _, how := range []string{"pause", "interrupt"} {
					p := &pausing{sys: plain, at: uint64(n), workers: w,
						next: workers[(i+k)%len(workers)], interrupt: how == "interrupt",
						yield: k%2 == 1}
					if n == 0 && p.interrupt {
						continue // at each step: it never gets anywhere
					}
					res := p.run(t)
					if res.Verdict != engine.Pass || !res.Exhaustive ||
						res.Executions != tt.executions {
						t.Errorf("%d threads with %d writes, %d workers, %s at step %d of %d: "+
							"%v (%s) after %d executions, want a pass after %d", tt.threads,
							tt.writes, w, how, n, last, res.Verdict, res.Reason, res.Executions,
							tt.executions)
					}
				}
			}
		}
	}
}

// pausing is a search that is paused or interrupted at a step, or paused at all of them if at is 0.
type pausing struct {
	sys           system.System
	at            uint64
	workers, next int // workers, and those that continue after the interruption
	interrupt     bool
	yield         bool
}

// run returns the result in the end.
func (p *pausing) run(t *testing.T) *Result {
	t.Helper()
	var n atomic.Uint64
	var e atomic.Pointer[explorer]
	sys := &stepping{p.sys, func() {
		e := e.Load()
		if e == nil {
			return
		}
		k := n.Add(1)
		switch {
		case k == p.at && p.interrupt:
			e.stop(context.Canceled)
		case k == p.at || p.at == 0:
			e.tree.Load().pause()
		}
		if p.yield && k%3 == 0 {
			runtime.Gosched()
		}
	}}
	var file []byte
	o := Options{Options: engine.Options{Workers: p.workers}, Reduction: DPOR,
		onRound: func(x *explorer) { e.Store(x) }}
	o.Checkpoint = resumetest.Last(t, &file)
	o.Checkpoint.Every = time.Hour
	res, err := Run(t.Context(), sys, o)
	if err == nil && res.Verdict == engine.Incomplete && p.interrupt {
		o.Workers = p.next
		o.Checkpoint = resumetest.Last(t, &[]byte{})
		o.Checkpoint.From = bytes.NewReader(file)
		res, err = Run(t.Context(), sys, o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return res
}
