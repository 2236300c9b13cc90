// Package ample is the expander with ample sets, SPIN's reduction: from a state it explores only
// the transitions of some threads, if nothing that the others can do before is dependent on them.
// For example, while one thread computes with variables that only it will ever touch, the others
// wait.
//
// # Which sets
//
// The candidates are the threads of the state, each with all its enabled transitions. Thread t is a
// candidate that holds if no other thread may, from where it is and as long as t does not move,
// take a transition that is dependent on one of t or enables a further one of t. What t accesses
// next is known, because its transitions are executed and taken back; the guards that fail are
// among it. What the others may still do is bounded by the system ([system.Temporal], Conflicts),
// which sees more than locations: a send and a receive on one channel can be independent.
//
// If no thread alone will do, sets of threads are tried: begin with an enabled thread and add every
// thread that may interfere with one of the set, until there is none. A thread of the set that is
// blocked accesses what its guard reads. Of these closures (Overman's algorithm; Godefroid 1996,
// algorithm 2) the one with the fewest transitions is taken. A closure that reaches a thread whose
// own closure is known contains that one, and is given up. Each such set is persistent: whatever
// the threads outside do while those inside do not move is independent of all that those inside can
// do next, and their next transitions stay enabled and the same.
//
// Operations that commute ([system.Op]) count as reads and writes here, though vectors use them.
// What others may still do is not known by operation; and an addition would be independent of all
// that the others may do only if nobody reads the sum any more.
//
// # Moves of several transitions
//
// A move continues with its thread as long as the next transition is the only one of the thread, is
// enabled, and is an ample set where it begins: no other thread may interfere with it. The states
// between are not stored. Each of them is one that is expanded by its ample set, with the state
// behind it as the justification (see below), and a move has at most 100 transitions, so that the
// justifications of the states between end in the stored state at its end.
//
// # The proviso
//
// A search that continues with one thread in every state of a cycle would ignore the others
// forever. A search with many workers has no stack that would show a cycle. So a state that is
// expanded by a set T needs a justification: one of the states that the moves of T lead to, such
// that justifications never lead round in a circle. If there is none, other sets are tried, and
// in the end the state is expanded fully.
//
// As a state has one justification at most, they are the edges of a forest, and it is enough to
// know for each state the end of its path: one union-find structure does that for any number of
// workers and any order of the search (chains.go). The condition is weaker than that on the stack
// of a depth-first search, and weaker than asking for a new or a waiting state (Bosnacki, Holzmann,
// "Improving Spin's partial-order reduction for breadth-first search", SPIN 2005; Evangelista,
// Pajault, "Solving the ignoring problem for partial order reduction", STTT 2010): their conditions
// imply that justifications form no circle.
//
// # What is preserved
//
// Claim: for every state s that is expanded and every execution w from s, the search explores a
// path from s that contains all transitions of w, in an order equivalent to w as far as they go:
// each of them with the same values read and written. By induction on the length of w, and for
// equal length on how many justifications lead from s to a state that is expanded fully. That
// number is finite, because there are finitely many states and no circles.
//
//   - w is empty: nothing is to be shown.
//   - s is expanded fully: the first transition of w is explored, and the rest is shorter.
//   - s is expanded by T, and w has a transition of a thread in T. The first such transition a is
//     enabled in s and independent of all before it, so it can come first. It is explored, and the
//     rest of w without a is shorter.
//   - s is expanded by T, and w has none. Then w is independent of the transitions of T. Let the
//     justification be the state s' behind transition b of T. From s' the execution w is possible
//     and does the same; w is as long, and s' is closer to a full expansion.
//
// So every transition of every execution is explored, with every violation, and every local state
// of every thread is reached. If w leads to a deadlock, the last case does not apply, since T has
// an enabled transition, which would be enabled in the deadlock, too. So the deadlock itself is
// reached. A transition includes the failed attempt of an observer, and what it reads. Invariants
// are the local properties of observers, which are threads like the others: whoever writes what an
// invariant reads conflicts with its observer.
//
// # Where sets are looked for
//
// Looking for a set takes several times as long as a plain expansion with machine code or
// remembered steps. So where fewer than 3 of 64 attempts find one, or a move of several
// transitions, an expander makes 64 attempts in up to 1,088 states, and expands the others plainly
// (package full). That is sound for any state: it is the second case of the proof. The first 1,024
// states of an expander are always tried.
//
// Orbits (package quotient) are not used: random models lost deadlocks with them, and nobody has
// proved the combination.
//
// Processes of Promela have numbers that depend on the order in which they begin and end. Where
// nobody looks at the numbers, a system may bound what its threads do up to these
// ([system.Unnumbered]). What is preserved then is preserved up to the numbers, too.
// frontend/promela/machine has the proof (numbers.go). While sets are checked by brute force, which
// compares states, it is not used.
//
// # What it needs
//
// The memory of the chains names states by their references, so the covered set is in this
// process's memory. A checkpoint keeps it. A state whose expansion was broken off after it had been
// decided is expanded fully when its turn comes again.
//
// Package auto expands the states without an ample set by cartesian vectors. It has the proof for
// that.
package ample
