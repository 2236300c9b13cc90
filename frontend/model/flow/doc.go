// Package flow computes, without running a model, what a thread may still do from its current
// point: a data-flow analysis of the compiled program by abstract interpretation (Cousot and
// Cousot 1977).
//
// It represents the value of a register as a set of numbers, or, where that would grow too
// large, as an interval. The table of effects of package compile says for every operation what
// it accesses and where control goes; this package adds the resulting values. Addresses are
// numbers, too, so an unknown index or pointer is a range of locations. Conditions on known
// values are decided, and others narrow what is known. Other threads are ignored: a read of a
// shared location may return any value of its type. So the result bounds every execution.
//
// There are two ways to use it, which differ only in cost:
//
//   - once for a program: [Analyse] begins with the threads at their start, keeps sets, and
//     keeps up to 64 combinations of values apart, so it knows which values of several variables
//     belong together (the stage and the distance in a loop over both). The answer is kept for
//     each point (Peled's ample sets for temporal properties);
//   - for a local state: [Analysis.From] begins with the actual values of a thread's variables,
//     so a philosopher's future is its own two forks, and continues with intervals, which costs
//     microseconds (Stoller 2002, section 6: persistent sets).
//
// Channels are distinguished from other locations, by operation, since
// a send and a receive on the same channel are independent.
//
// It is written here because the analyses of golang.org/x/tools work on Go's
// SSA form only.
package flow
