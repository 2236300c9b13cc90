// Package stateless searches without storing states: it runs executions from the initial state
// to their end, one after another, and backtracks to where another one branches off (Godefroid,
// POPL 1997; Stoller, "Model-Checking Multi-Threaded Distributed Java Programs", 2002, sections
// 4 and 8).
//
//	res, err := stateless.Run(ctx, sys, stateless.Options{Reduction: stateless.DPOR})
//	fmt.Println(res.Executions, res.BlockedExecutions, res.Transitions, res.MaxDepth)
//
// It is for acyclic systems. It detects a system that can run forever and gives up, unless
// Options.MaxDepth bounds executions or Options.Deepen searches with growing bounds. A search
// that cut an execution off is incomplete.
//
// # Reductions
//
// [None] explores every interleaving. [Sleep], [Persistent] and [PersistentSleep] are Stoller's
// stateless selective search with sleep sets and persistent sets, the latter computed from what
// each thread may access in its future ([system.Futures]). [DPOR] finds dependences while it
// runs: it looks at the races of each execution and inserts into the search tree what reverses
// them (Flanagan and Godefroid, POPL 2005), as optimal dynamic partial-order reduction with
// wakeup trees (Abdulla, Aronis, Jonsson, Sagonas, Journal of the ACM 64 (4), 2017): it explores
// one execution of each Mazurkiewicz trace and no redundant ones.
//
// All of them preserve the violated assertions and the deadlocks. They do not preserve
// invariants of states in between, which observers check, or the local states that a thread
// passes through.
//
// A bound on the depth requires None or Sleep, which find every violation within it. The others
// let some threads go first, which may exhaust it.
//
// # Dynamic reduction
//
// In the published algorithms, transitions have one access, are always enabled, and have no
// choices. Here a transition touches many locations, which depend on what it reads. A guard over
// several locations may block it, and others may make the guard true and false again. It has
// alternatives. Two transitions of different threads are dependent if they touch a common
// location and one writes, unless both apply like operations for which there is room (below).
// Executing shows which transitions a race requires: T(Z) represents what thread q does next
// after the events of Z, a part of an execution that has with each event all that happens before
// it. T(Z) is enabled or blocked, and has accesses; a blocked one reads. (L1) If T(Z) conflicts
// with an event p that can follow Z, then T(Zp) conflicts with p: both read the same up to the
// first value that p wrote. (L2) If T(Z) and T(Z'), Z' part of Z, differ, then T(Z) reads a
// location that an event of Z not in Z' wrote last: follow both up to the first value that
// differs. Both need that T is a function of the values that it shows as read, which package
// system promises, also of alternatives.
//
// Alarms of Go programs do not keep that promise. An alarm goes off only if no earlier one is set,
// and it does not show this as read; but it writes the clock, which whoever sets an alarm reads. So
// T(Z) may also depend on events of Z that read what it writes. The proof holds: such events are
// not in C, because those of C are independent of e. Only evaluatePast has to look for them.
//
// reversal.search (races.go) begins, for each race of events f and e of an
// execution, with Z = all but f, e and what happens after f, and base = the
// accesses of e, and does this:
//
//   - Evaluate T(Z) for e's thread q. If it is enabled, insert Z and T(Z) at the
//     node before the first event left out, unless a transition that sleeps there
//     or was explored earlier is a weak initial of that.
//   - For each location that T(Z) touches, let g be the event of Z that wrote it last (if not
//     before q's own last event). If T(Z) is enabled, only those g count that write nothing in
//     base. Of these take each that does not happen before another, and continue without it and
//     what happens after it. The base stays the same; but if T(Z) is blocked, the new base is
//     the accesses of T(Z) if g writes something in base, and otherwise what both have in
//     common.
//
// For a thread that is blocked at the end of an execution, it begins with Z = the execution and
// base = the accesses of its guard, and inserts nothing there. For an event with alternatives it
// begins with all that does not happen after the event. If the transition of q may have
// alternatives, base is empty throughout: a missing alternative is like a blocked transition,
// even if there are others.
//
// # Why that is enough
//
// Whatever is inserted, no exploration is redundant and no trace is explored twice: a sequence
// is inserted only where no sleeping transition is a weak initial of it, so at the end of its
// branch nothing sleeps, and an execution that continues freely from there is never blocked by a
// sleep set (Abdulla et al., theorem 7.7). For the same reason no node that chose freely has
// anything asleep. So inserting more than needed is harmless.
//
// Claim: below each node E every maximal sequence w is explored, up to the order of independent
// events, unless a transition that sleeps at E is a weak initial of w. The proof is by induction
// along the tree, later nodes first. It is enough that some child of E is a weak initial of w:
// by induction, the first such child explores w. Suppose none is. For p among the children and
// what sleeps at E let w(p) be the longest beginning of w of which p is a weak initial; take p
// with the longest, the earliest of those, u = w(p), and q the thread that continues in w, with
// T(u). It conflicts with p (or is another alternative of p's thread). By the choice of p no
// transition that sleeps behind p covers an extension of pu, so that all of these are explored
// behind p. (If p sleeps at E, it was explored at an ancestor, and the argument holds there:
// what is inserted there has the path to E as a beginning, so that on the way it meets neither
// an earlier branch, whose transition would sleep at E and be a better p, nor a node that chose
// freely, because p sleeps.)
//
// It is enough to find Z with u in it and p not, such that T(Z) = T(u) and no
// event of Z outside u writes what T(u) touches, and to insert Z T(Z). Let x be
// the child that is then a weak initial of it. Either it is one of uT(u), a
// longer beginning of w; or w(x) = u and x only reads what T(u) writes, so that
// T(xu) = T(u). Then everything that extends xuT(u) is explored behind x, since
// what covers it and sleeps there would be a weak initial of uT(u). In such an
// execution x and q's event race, and the search begins with Z = all that does
// not happen after x. There T(Z) = T(u) by L2, since what Z has outside u is
// independent of that event, and inserting it contradicts the choice of p.
//
// (a) Let T(pu) be enabled, e that event, z an explored execution with it. The race of p and e
// begins with Z that has u in it, and C = Z without u is independent of e. As long as T(Z)
// touches something that an event of C wrote last, that event is among the g, because it writes
// nothing in base; so is any of the g that happens after it, and neither is in u. Leaving it out
// makes progress. In the end nothing of C wrote anything that T(Z) touches: T(Z) = T(u) by L2.
//
// (b) Let T(pu) be blocked. Let Y be an extension of pu with as few events as
// possible such that q is enabled after it, e = T(Y), z an explored execution
// that extends Y and e, and C what else does not happen after e in z. C writes
// nothing that e touches. Some g outside pu wrote what e touches last, and
// without it q is blocked after what is left of Y. Now as in (a) the events of C
// go that wrote what T(Z) touches last, until T(Z) is what it is after the rest
// of Y alone: blocked. Throughout, C writes nothing in base, which is what the
// rules for the new base keep up. Then the next g of Y, and so on, until T(Z) =
// T(pu) and nothing of Z outside pu wrote what it touches. Then p is one of the
// g, and without it we are in (a) with the accesses of T(pu) as base. If q is
// enabled in no extension of pu, the same holds from the end of any execution
// that extends pu, where q is blocked. With alternatives, "enabled" means the
// alternative that continues in w; since it is not known, nothing is kept for
// the sake of base.
//
// # Operations that commute
//
// A transition may do to a location an operation that commutes with those like it ([system.Op]):
// ten workers that end with done(wg), and one that waits for them, are one trace. What that
// changes:
//
// Events of one execution are independent if they did like operations, whatever room there was
// ([system.Access.Orders]), and so is what blocked, and would have in spite of more of them.
// This is a dependence of events, by which happens-before and races are computed; events that
// are neighbors and independent can be exchanged. The last write of a location becomes a row:
// all events that did the like operations that came last, without another access between them.
// They are unordered, and each is "the event that wrote it last" (path.candidates,
// worker.lastWrites). Where T(Z) itself has the operation of the last row, it depends on the row
// before that.
//
// L1 holds, with a conflict of T(Z) and p being one of the state behind Z
// ([system.Access.Conflicts]): if they conflict by what they do, then as before, for an access
// that has looked in any other way is not an operation. If they conflict for want of room, T(Zp) is
// not T(Z), so by the promise of an operation it blocks or fails, which is an ordinary read of
// what p wrote, or has the operation and no room.
//
// L2 holds with rows. Let T(Z) and T(Z') differ, Z' part of Z, and suppose that all writes of
// the last row on which T(Z) depends are in Z', for each location that T(Z) touches. What
// precedes the row, and depends on it, happens before it and is in Z'. So at each location Z has
// more than Z' only of operations that are like that of T(Z), and stand behind the row. By
// the promise Fewer T does the same without them.
//
// The proof above speaks of what conflicts, and goes through with these words: "wrote last" is
// the last row, "writes nothing in base" is no write that depends on base, and meet keeps of an
// operation and an ordinary access the operation, because base may be too small and not too
// large: it only keeps events from being left out. That a transition p which is in no part of w
// is a weak initial of it needs room: p has room for all operations of w, and each of w for that
// of p (fits). That p, which is in w, is an initial needs none, because it did the same behind
// what precedes it; but if that made another transition of it, one that failed say, it depends
// on it (dependsOn). What sleeps loses room with each operation that passes by, and wakes when
// it has none (path.sleepOn). What is inserted has the room that it has where it is inserted
// (measure), less what goes before it in the tree (spend).
//
// covers is the one place where more than a pair matters: that nothing behind an event can
// matter to T(Z). With room that ends, like operations there can, so that such a T(Z) is
// evaluated with them.
//
// Additions of opposite signs are dependent, though two that are enabled in one state commute
// there. After up and up, down needs one of the two, and no partial order of the three events says
// which; everything above presumes that what happens before an event is what the event needs. A
// queue of tokens would fix it, and then two up would be dependent.
//
// Persistent sets take operations for writes, because futures do not know them; a set that is
// persistent with more dependence is so with less. A composed transition keeps its additions
// (package composed). Where a discipline is checked, accesses have operations only with LD',
// and not where it matters who came first.
//
// The proof uses five parts that may not be necessary: continuing when T(Z) is enabled; changing
// the base when T(Z) is blocked; the meet in it; treating missing alternatives like a blocked
// transition; and (below) leaving an insertion undecided because of an independent node to the
// right. Without any one of them, no trace was lost on tens of thousands of generated models
// like those of decisions_test.go: a race of another execution inserted the same. No program
// that needs one has been found, so no test fails without it.
//
// # What is saved
//
// A transition whose accesses are the same everywhere and that is never blocked
// ([system.Shape]), or that read nothing from f, needs no evaluation and no
// search.
//
// To evaluate T(Z), Z' is executed first, if it is much shorter: what precedes the first event
// left out, and what of Z happens before the thread's last event in it. Let all that T(Z')
// touches be last written in Z by an event of Z', or never. Then T(Z) = T(Z'), and the rest of Z
// is not executed: follow both up to the first value that differs. T(Z') touches its location
// too, so both read what the same event wrote. Without that condition a thread that the rest of Z
// enables would count as blocked, and traces would be lost (elsewhere in testdata/hard.models).
// If one of them is an operation, Z is executed, because room depends on all of Z. What is
// inserted is Z in any case.
//
// A machine whose steps cost much may know T(Z) without executing Z, from the thread's last event
// in Z and those that wrote last what it reads ([system.Costly]); that is L2. It also hears which
// branches come next. Each of them is explored, so what it does ahead is not done in vain.
//
// A race is looked at in the first execution that has it. If T(Z) touches nothing but what e, or
// an event left out before e, touches (and writes only what these write), then what follows e
// and belongs to Z is independent of it, and T(Z) is the same however the execution continues.
// What follows e is then left out of the insertion, unless something that sleeps or is in the
// tree is independent of everything before e and of T(Z), so that only what follows can decide.
// Such races are examined again in each execution that has them. All others are examined once,
// because the insertion, or what makes it superfluous, is an initial of every sequence that
// would be inserted.
//
// Tests compare all this with brute force on generated programs (oracle_test.go).
//
// # Locks
//
// Where locks protect the data, Options.InvisibleFirst and Options.Composed explore fewer
// interleavings (Stoller 2002, sections 5.1 and 5.2); package lockset wraps a system so that the
// search checks whether they do. The composed system is an ordinary system
// (engine/search/composed, type System), so every reduction works on it. Its transitions end
// before a visible one, contain a bounded number of single ones, and access their net effect: a
// function of the thread's local part and of what they read, as the reductions require.
//
// # Workers
//
// The search tree is shared: each worker takes an unexplored branch and runs one execution at a
// time (tree.go). Package workers does not fit, because its unit of work is a batch of stored
// states. Here it is a node of a tree that grows while workers explore it, and that must be
// freed as soon as nothing more can be inserted into it. The number of executions is the same
// for any number of workers and for both ways to undo; the number of transitions can differ with
// many workers under the dynamic reduction, because insertions depend on which execution runs
// first.
//
// With a costly machine ([system.Costly]) each goroutine has several workers, which take turns
// (group.go): what one of them needs is done together with what the others need. That is an order
// in which workers can run in any case.
package stateless
