package gotest

import (
	"context"

	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/machine"
	"cpor/system"
	"cpor/trace"
)

// bounded explores every schedule with at most so many preemptions (Musuvathi and
// Qadeer, "Iterative context bounding", PLDI 2007): a preemption is that another
// thread goes on though the last one could. It reduces nothing, because what a
// reduction leaves out may stand for schedules with fewer preemptions.
type bounded struct {
	ctx   context.Context
	p     *gosrc.Program
	m     system.Machine
	steps []trace.Step
	nodes uint64
	cut   bool // an execution was cut off
	found bool // steps are a failing execution
	stop  bool
}

// explore explores with a bound. It returns whether it came to an end.
func (b *bounded) explore(preemptions int) bool {
	b.m.Load(b.p.Initial()[0])
	b.steps = b.steps[:0]
	b.node(-1, preemptions)
	return !b.stop && !b.found
}

// node explores what follows the live state, whose last step was one of thread
// last.
func (b *bounded) node(last, left int) {
	b.nodes++
	if b.p.Unsupported() != nil || b.p.GaveUp() != "" || b.nodes%64 == 0 && b.ctx.Err() != nil {
		b.stop = true
		return
	}
	if len(b.steps) >= maxSteps {
		b.cut = true
		return
	}
	// The last thread first: its steps are free.
	goes := last >= 0 && b.thread(last, left)
	if b.stop || b.found || goes && left == 0 {
		return
	}
	after := left
	if goes {
		after--
	}
	any := goes
	for t := range b.m.NumThreads() {
		if t != last && b.thread(t, after) {
			any = true
		}
		if b.stop || b.found {
			return
		}
	}
	if !any {
		if some, _ := b.m.(*machine.Machine).Stuck(); some {
			for t := range b.m.NumThreads() {
				if out := b.m.Step(t, 0); out.Kind == system.Blocked && !out.AtEnd {
					b.found = true
					return
				}
			}
		}
	}
}

// thread explores all alternatives of a thread's next step; it returns whether there
// are any.
func (b *bounded) thread(t, left int) bool {
	mark := b.m.Mark()
	moved := false
	for alt := uint64(0); ; {
		out := b.m.Step(t, alt)
		if out.Kind != system.Moved {
			return moved
		}
		moved = true
		b.steps = append(b.steps, trace.Step{Thread: t, Alt: alt})
		if out.Violation != nil {
			b.found = true
			return true
		}
		b.node(t, left)
		if b.found || b.stop {
			return true
		}
		b.steps = b.steps[:len(b.steps)-1]
		b.m.Rewind(mark)
		if out.Next == 0 {
			return true
		}
		alt = out.Next
	}
}
