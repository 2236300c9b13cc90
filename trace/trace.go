// Package trace replays, minimizes, records and exports executions. Package trace/draw prints them.
//
// A [Trace] is a full interleaving from an initial state in which every step is
// one transition: the index of the initial state, and for each step the thread
// that took it and which alternative it chose. A search produces nothing more. Names, places and
// values are recomputed by running the steps in the plain semantics, one [system.Machine.Step]
// after another, so a reduction or a store cannot distort what is shown.
//
//	tr := &trace.Trace{Initial: 0, Steps: steps, Violation: v}
//	err := tr.Replay(sys)       // does it show what it claims?
//	tr = tr.Minimize(sys, trace.DefaultBudget) // fewer steps, few context switches
//	rec, err := tr.Record(sys)  // names, places, accesses, values
//	err = draw.Table(os.Stdout, rec, trace.TableOptions{Width: 80})
//
// Minimizing is our own, because it needs the independence of transitions (two transitions of
// different threads are dependent if they touch a common location and one writes), which no library
// knows.
package trace

import "cpor/system"

// Step names one transition: a thread, and which alternative of its next
// transition it takes (see [system.Machine.Step]).
type Step = system.Step

// Trace is an execution: an initial state, the transitions from there, and the
// violation that the last of them shows. A deadlock is shown by the state after
// the last step; every other violation is the outcome of the last step.
type Trace struct {
	Initial   int // index into System.Initial()
	Steps     []Step
	Violation *system.Violation // the claim; nil if the trace claims none
}
