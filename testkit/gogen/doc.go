// Package gogen makes random Go programs for the tests of the Go front end.
//
// [Sequential] makes programs over the whole sequential language whose output
// is to be the same in the machine and compiled by the real compiler. They end
// by construction: loops are bounded and functions call only earlier ones.
//
// [NewConcurrent] makes small concurrent programs: goroutines, each a list of
// operations on channels, locks, atomics and plain variables. What they may do is
// known by [Concurrent.BruteForce], which explores a model of the operations that
// is written from the language's specification and shares nothing with the
// machine: the set of outcomes, and whether there is a data race.
//
// [NewTimed] does the same for tests with sleeps, timers and time-outs, in a bubble of
// testing/synctest or not.
package gogen
