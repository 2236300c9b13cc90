// Package flow computes, without running a model, what a thread may still do
// from where it is: a data-flow analysis of the compiled program by abstract
// interpretation (Cousot and Cousot 1977).
//
// What is known of a register is a set of numbers, or, where that would grow too
// large, an interval. What each instruction accesses and where control goes
// comes from the table of effects of package compile, which has an entry for
// every operation; this package adds what values come out. Addresses are numbers
// like others, so an index or a pointer that is not known is a range of
// locations. Conditions on known values are decided, and others narrow what is
// known. Other threads are ignored: a read of a shared location may
// return any value of its type. So the result bounds every execution.
//
// There are two ways to ask, which only differ in cost:
//
//   - once for a program: [Analyse] begins with what the threads are when they
//     start, keeps sets, and follows up to 64 combinations of values apart, so
//     that it is known which values of several variables belong together (the
//     stage and the distance in a loop over both). The answer is kept for each
//     point (Peled's ample sets for temporal properties);
//   - for a local state: [Analysis.From] begins with the values that a thread's
//     variables really have, so that a philosopher's future is its own two forks,
//     and continues with intervals, which costs microseconds (Stoller 2002, section
//     6: persistent sets).
//
// Channels are distinguished from other locations, by operation, since
// a send and a receive on the same channel are independent.
//
// It is written here because the analyses of golang.org/x/tools work on Go's
// SSA form only.
package flow
