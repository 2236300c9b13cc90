package stateless

import (
	"fmt"
	"slices"

	"cpor/system"
	"cpor/trace"
)

// runner is a machine with the steps executed on it, which it can undo: with the machine's undo
// log, or by loading the initial state and executing the remaining steps again (Stoller 2002,
// section 8.4).
type runner struct {
	m       system.Machine
	can     system.MachineCapabilities // of m
	costly  system.Costly              // of m, if its steps cost much; else nil
	initial system.State
	replay  bool
	steps   []trace.Step
	marks   []system.Mark // before each step
}

func newRunner(sys system.System, initial system.State, replay, track bool) *runner {
	r := &runner{m: sys.NewMachine(), initial: initial, replay: replay}
	r.can = r.m.Capabilities()
	r.costly = r.can.Costly
	r.m.Track(track)
	r.m.Load(initial)
	return r
}

// try executes an alternative of a thread's next transition. If it moved, it is now the last
// step; undo takes it back.
func (r *runner) try(t int, alt uint64) system.Outcome {
	mark := r.m.Mark()
	out := r.m.Step(t, alt)
	if out.Kind == system.Moved {
		r.steps = append(r.steps, trace.Step{Thread: t, Alt: alt})
		r.marks = append(r.marks, mark)
	}
	return out
}

// peek returns the outcome of a step, without violations, and what it would access.
func (r *runner) peek(t int, alt uint64) (system.Outcome, []system.Access) {
	if r.costly != nil {
		out := r.costly.Peek(t, alt)
		return out, slices.Clone(r.m.Accesses())
	}
	out := r.try(t, alt)
	acc := slices.Clone(r.m.Accesses())
	if out.Kind == system.Moved {
		r.undo()
	}
	return out, acc
}

// undo undoes the last step.
func (r *runner) undo() { r.truncate(len(r.steps) - 1) }

// step executes a transition that is known to be enabled.
func (r *runner) step(t int, alt uint64) system.Outcome {
	out := r.try(t, alt)
	if out.Kind != system.Moved {
		panic(fmt.Sprintf("stateless: thread %d, alternative %d, was enabled and is %v", t, alt,
			out.Kind))
	}
	return out
}

// truncate undoes all but the first n steps.
func (r *runner) truncate(n int) {
	if n == len(r.steps) {
		return
	}
	if !r.replay {
		r.m.Rewind(r.marks[n])
	} else {
		r.m.Load(r.initial)
		for _, s := range r.steps[:n] {
			r.m.Step(s.Thread, s.Alt)
		}
	}
	r.steps = r.steps[:n]
	r.marks = r.marks[:n]
}
