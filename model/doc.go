// Package model is for models of concurrent systems written in Go. The engines of cpor explore
// every interleaving of their steps that matters.
//
//	var counter = model.New("counter", func(b *model.Builder) {
//		x := model.NewVar(b, "x", int8(0))
//		done := model.NewVars(b, "done", 2, false)
//		b.Processes("Worker", 2, func(p *model.Process, me int) {
//			read := model.NewLocal(p, "read", int8(0))
//			p.Step(func() { read.Set(x.Get()) })
//			p.Step(func() { x.Set(read.Get() + 1) })
//			p.Step(func() { done[me].Set(true) })
//		})
//		b.Invariant("none is lost", func() bool {
//			return !done[0].Get() || !done[1].Get() || x.Get() == 2
//		})
//	})
//
//	func TestCounter(t *testing.T) { model.Check(t, counter) }
//
// The test fails, and shows an execution in which both workers read x before either writes it.
// docs/models-in-go.md is the introduction.
//
// # Building and stepping
//
// The function given to [New] builds the model: it declares variables, processes and properties. It
// runs once for each worker of a search, and must build the same every time. A process is
// straight-line Go code: each [Process.Step] in it adds a transition, and a for loop of Go around
// it adds one for each pass. The function of a step runs later, once each time that a search takes
// the step, in any order and on any state. So it may only use variables of the model: [Var],
// [Local], [Chan], [Mutex], and what does not change after the build. A variable of Go that steps
// change is not part of the state; [Check] executes some steps twice and refuses the model if they
// differ.
//
// A step is indivisible. What it reads and writes is recorded, and tells the reductions
// which steps of different processes commute. Fewer and smaller accesses in a step mean more
// reduction: a variable for each element ([NewVars]) is better than one with an array.
//
// [Builder.Spawned] declares processes that steps start ([Process.Go]). A channel with capacity 0
// is a rendezvous ([NewChan]).
//
// # Types of values
//
// A value of a variable is of any comparable type without pointers: Booleans, integers, arrays and
// structs of these. Reflection lays it out once, with 1 bit for a Boolean and the size of its type
// for an integer. Small types make small states. A type with a String method is shown by it.
//
// # Weight
//
// The package imports the parts of cpor that [Check] needs. The command with all of cpor's flags
// is in package model/cli, and every other engine in engine/all.
package model
