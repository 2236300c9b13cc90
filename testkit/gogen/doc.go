// Package gogen makes random Go programs for the tests of the Go front end.
//
// [Sequential] makes programs over the whole sequential language whose output must be the same in
// the machine and compiled by the real compiler. They end by construction: loops are bounded, and
// functions only call earlier ones.
//
// [NewConcurrent] makes small concurrent programs: goroutines, each a list of operations on
// channels, locks, atomics and plain variables. [Concurrent.BruteForce] computes the set of
// outcomes, and whether there is a data race. It explores a model of the operations that was
// written from the language specification and shares nothing with the machine.
//
// [NewTimed] does the same for tests with sleeps, timers and time-outs, in a bubble of
// testing/synctest or not.
package gogen
