package gotest

import (
	"context"
	"fmt"
	"slices"

	"cpor/system"
	"cpor/trace"
)

// bounded explores every schedule with at most so many preemptions (Musuvathi and
// Qadeer, "Iterative context bounding", PLDI 2007): a preemption is that another
// thread continues though the last one could. It reduces nothing, because what a
// reduction leaves out may represent schedules with fewer preemptions.
type bounded struct {
	ctx    context.Context
	p      system.System
	broken func() bool // the search has to end
	m      system.Machine
	steps  []trace.Step
	nodes  uint64
	cut    bool // an execution was cut off
	found  bool // steps are a failing execution
	stop   bool

	violation *system.Violation // that was found
}

// explore explores with a bound. It returns whether it came to an end.
func (b *bounded) explore(preemptions int) bool {
	b.m.Load(b.p.Initial()[0])
	b.steps = b.steps[:0]
	b.node(-1, preemptions)
	return !b.stop && !b.found
}

// upward explores with growing bounds until the time is over. It returns the largest bound that
// was covered, -1 if none.
func (b *bounded) upward() (covered int) {
	covered = -1
	for n := 0; b.ctx.Err() == nil; n++ {
		if !b.explore(n) || b.cut {
			break
		}
		covered = n
	}
	return covered
}

// failing returns the execution that was found.
func (b *bounded) failing() *trace.Trace {
	return &trace.Trace{Steps: slices.Clone(b.steps), Violation: b.violation}
}

// preemptions says what a bound covers; empty if it is negative.
func preemptions(covered int) string {
	switch {
	case covered == 0:
		return "; every schedule without preemptions was covered"
	case covered == 1:
		return "; every schedule with at most 1 preemption was covered"
	case covered > 1:
		return fmt.Sprintf("; every schedule with at most %d preemptions was covered", covered)
	}
	return ""
}

// node explores what follows the live state, whose last step was one of thread
// last.
func (b *bounded) node(last, left int) {
	b.nodes++
	if b.broken() || b.nodes%64 == 0 && b.ctx.Err() != nil {
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
		for t := range b.m.NumThreads() {
			if out := b.m.Step(t, 0); out.Kind == system.Blocked && !out.AtEnd {
				b.found = true
				b.violation = &system.Violation{Kind: system.Deadlock, Message: "deadlock"}
				return
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
		if v := out.Violation; v != nil {
			found := *v
			found.Also = nil
			b.found, b.violation = true, &found
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
