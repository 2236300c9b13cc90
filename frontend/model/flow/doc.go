// Package flow computes, without running a model, what each of its threads may
// do from each of its points on: a data-flow analysis of the compiled program.
//
// The values of registers are followed as small sets of numbers, and an unknown
// value (top) where a set grows too large or a shared location was read. The
// analysis begins at the local states that the threads have when they start, so
// that a parameter that selects a channel or an element is known, and follows
// the threads' own control flow; conditions on known values are decided, and
// those on registers narrow them. What others do is not looked at: each read of
// a shared location may give anything. So the result bounds every execution.
//
//	f := flow.Analyse(prog, starts)
//	ops := f.After(i, point) // what thread i may still do at a point
//
// Channels are kept apart from other locations, by what is done with them, since
// a send and a receive on the same channel are independent.
//
// It is written here because the analyses of golang.org/x/tools work on Go's
// SSA form only.
package flow
