// Package cartesian implements Cartesian partial-order reduction (Gueta, Flanagan,
// Yahav, Sagiv, "Cartesian Partial-Order Reduction", SPIN 2007): an expander that returns the
// prefixes of a Cartesian vector of a state instead of single transitions.
//
// # The idea
//
// A Cartesian vector of a state s has a prefix for each thread: a path of
// transitions of that thread alone that begins in s, such that two transitions
// of different prefixes are dependent only if each is the last of its prefix
// (the paper's definition 2). A search that takes whole prefixes, and switches threads only at
// their ends, still reaches
// every local state of every thread (theorem 1), hence every violated
// assertion, and every deadlock. So the longer the prefixes, the fewer states.
//
// # CalcCV
//
// [Expander] computes the vector by the paper's CalcCV (section 5, figure 6),
// made precise for threads that block, end, choose and create:
//
//   - Every thread takes its first transition, each from its own copy of s. A
//     first transition with several alternatives starts a prefix for each; the
//     prefixes of one thread are never compared. Threads whose first
//     transitions are dependent are not extendable any more. A prefix whose
//     first transition leaves s unchanged and that is still extendable is
//     marked infinite and is done.
//   - Then the extendable prefixes are extended, by one transition each in
//     turn; t is the thread's next transition in its own run. If t has several
//     alternatives the prefix ends before it. If t is dependent with a
//     transition of another prefix that is not that prefix's last, t is not
//     added and the prefix ends. Otherwise t is added; if it is dependent with
//     the last transitions of other prefixes, those and its own prefix end. If
//     it is not, and t's target stands already on the prefix, the prefix has
//     run into a cycle: it is marked infinite and is done.
//   - The search continues from the ends of the prefixes that are not marked.
//
// The next transition of a blocked thread is a self-loop that reads what its
// guard read, and that of an ended thread a self-loop without access. Either is
// added like any other transition and is then its prefix's last. That matters. Without the
// self-loop, a prefix marked infinite because its thread has ended would end with its last real
// transition. Others could add a conflicting transition and continue from there, nothing would
// continue from its own end, and local states would be lost. A transition that creates a thread
// is dependent with the last transition of an implicit prefix, that of the blocked unborn child,
// so its prefix ends with it.
//
// # Operations that commute
//
// Definition 2 compares pairs. Of operations that commute as long as there is room ([system.Op])
// each pair may do so, and all together not: three done at 2. So the table adds up, for each
// direction, what the vector adds to a location. It must fit into the room of each addition, of
// which only what other threads add counts, and of each blocked thread that looks, which is still
// blocked then. An addition that is too much conflicts with all accesses that have no room for it,
// like a write. As it is added only if these are last transitions, whose prefixes end with that,
// and its own ends as well, and as all additions that come later are too much, too, those that are
// not the last of their prefixes have room for each other, and for any one that is. While only one
// thread adds, the table knows only how much room it leaves to others; from the second one on, what
// a thread adds counts against itself as well, which makes prefixes shorter than need be.
//
// Additions of opposite signs need no room. A producer that raises a semaphore and a consumer that
// lowers it run until the consumer is blocked: a blocked down reads the number, and conflicts with
// every up. Sums commute with sums, and stores of a number with stores of the same.
//
// That is what theorem 1 uses. Let a path from s execute the last transition of a prefix q for the
// first time. Until then, by induction along the path, every thread has done what its prefix does,
// and nothing that is the last of another one: behind any part of the other prefixes without their
// last transitions, a transition does what it does in its own run from s, by More for what moves
// the value in its direction, which fits into its room, and by Other for the rest. So q can come
// first, which is its own run; and the others do the same behind it, since they have room for q's,
// too. The same holds for a thread that is blocked. In "What is executed" and with deadlocks only
// transitions that are not the last are put together.
//
// So ten workers that end with done(wg), and one that waits, have a vector in which nine workers
// have come to their end, and only the done that would let the waiting one continue is dependent on
// it: 11 states.
//
// # Deadlocks
//
// If each thread has a prefix that ends in a self-loop, the effects of those
// prefixes compose to a state in which every thread is blocked or has ended.
// All deadlocks are found that way; deadlock.go has the argument.
//
// # What is executed
//
// A search executes every transition that some execution takes, with the values that it
// reads there, and every blocked one with all that its guard can read. So what it has
// never executed cannot be executed. Let t be such a transition, of thread p, and w a
// shortest path from a state s that the search expands to a state in which t is p's next
// one; by the theorem's induction there is one for s an initial state. Look at the vector
// of s. Either w, then t, executes the last transition of some prefix q; let q be the
// first for which it does. If that is t, then t was executed for the vector. Otherwise q
// can be moved to the front of w, as in deadlock.go, and the rest leads from q's end to t
// and is shorter; if q is infinite, its end is a state on q, and what follows the first
// visit of that state is a shorter path from s, against the choice of w, unless t is on
// q itself. Or no prefix is executed to its last transition. Then p's part of w, and t
// after it, are the beginning of p's prefix: the other threads' transitions in w are none
// that ends a prefix, so they are independent of it. The self-loops of blocked threads
// are transitions in all of this. A transition that is tried and not added is executed,
// too, in a state that the prefix before it leads to.
//
// # Cost
//
// One vector costs time linear in its length. A prefix gets its own machine when it is extended
// beyond its first transition. A
// table indexed by location knows who accessed a location inside a prefix, and
// whose last transition did, so that a transition is checked in time linear in
// its accesses (table.go). Cycles are found by the machine's incremental hash
// in a small set, and confirmed by re-execution: a hash alone never decides
// (cycle.go). Nothing allocates in the steady state. The table and the set are
// our own because both are cleared for each state by a generation stamp, which no library map
// offers.
//
// Other packages obtain the whole vector of a state by [Expander.Vector];
// [Options.Check] verifies definition 2 on every vector while a search runs.
package cartesian
