// Package stateless searches without storing states: it runs executions from
// the initial state to their end, one after the other, and goes back to where
// another one branches off (Godefroid, POPL 1997; Stoller, "Model-Checking
// Multi-Threaded Distributed Java Programs", 2002, sections 4 and 8).
//
//	res, err := stateless.Run(ctx, sys, stateless.Options{Reduction: stateless.DPOR})
//	fmt.Println(res.Executions, res.BlockedExecutions, res.Transitions, res.MaxDepth)
//
// It is for acyclic systems: one that can go on for ever is noticed and the
// search given up, unless Options.MaxDepth bounds it or Options.Deepen makes
// it search with growing bounds. A search that cut something off is incomplete.
//
// # Reductions
//
// [None] explores every interleaving. [Sleep], [Persistent] and
// [PersistentSleep] are Stoller's state-less selective search with sleep sets
// and persistent sets, the latter computed from what each thread may access in
// its future ([system.Futures]). [DPOR] finds out about dependences while it
// runs: it looks at the races of each execution and inserts into the search
// tree what reverses them (Flanagan and Godefroid, POPL 2005), brought up to
// date as optimal dynamic partial-order reduction with wakeup trees (Abdulla,
// Aronis, Jonsson, Sagonas, Journal of the ACM 64 (4), 2017): it explores one
// execution of each Mazurkiewicz trace and none in vain. [SourceDPOR] is the
// simpler variant with source sets.
//
// What all of them preserve are the violated assertions and the deadlocked
// states; not the invariants of states in between, which are checked by
// observers, and not the local states that a thread passes through.
//
// # Where this differs from the literature
//
// The published algorithms have transitions with one access and no choices.
// Here a transition may have many accesses, be blocked by an arbitrary guard,
// and have alternatives:
//
//   - Dependence is dynamic: two transitions are dependent if they touched a
//     common location and one wrote. What a thread does when a race is reversed
//     can be something else than what it did, so it is executed there, on a
//     machine that looks ahead (races.go).
//   - A blocked thread reads its guard. If a thread is blocked where a race is
//     reversed, or at the end of an execution, those who wrote what it reads
//     are reversed in turn, until it is enabled (unblock in races.go). For locks
//     that is the known rule that acquiring races with acquiring, not with the
//     release in between.
//   - Each alternative is a transition of its own. Taking one is in a race, so
//     to say, with taking another: it is inserted behind all that does not
//     happen after the first.
//
// That this loses nothing and explores nothing twice is held to the set of all
// Mazurkiewicz traces of thousands of random programs (oracle_test.go).
//
// # Workers
//
// The search tree is shared: each worker takes a branch that nobody explores
// and runs one execution at a time (tree.go). Package workers has no part in
// it, because its unit of work is a batch of stored states, while a branch here
// is a node of a tree that grows to the right while others explore it, and that
// has to be forgotten as soon as nobody can insert into it any more. The number
// of executions is the same for any number of workers and for both ways to
// undo; the numbers of transitions and of blocked executions can differ with
// many workers under the dynamic reductions, because what is inserted where
// depends on which execution is run first.
package stateless
