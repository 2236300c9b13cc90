// Package lockset checks, while a system is searched, that its threads access
// data as its declarations claim (Stoller, "Model-Checking Multi-Threaded
// Distributed Java Programs", FMSD 2002, sections 3.4 and 7).
//
// [New] wraps a [system.Locking] in a system that behaves the same, and whose
// steps report a violation where they break the chosen [Rule]. Every driver,
// expander, store and trace works on the wrapped system as on any other:
//
//	sys, err := lockset.New(m.System(), lockset.Options{Rule: lockset.LDPrime})
//	res, err := search.Run(ctx, sys, full.Factory(sys), search.Options{})
//	for _, v := range res.Violations {
//		text := lockset.Explain(sys, v.Trace) // both accesses, threads, locks
//	}
//
// # The rules
//
// LD is the locking discipline of Eraser (Savage et al., TOCS 1997): from the
// first access by a second thread on, a lock-protected location is only read,
// or one and the same lock is held at each access. It depends on the order of
// the accesses, so it is exact in a full search only.
//
// LDPrime is the stricter discipline of section 7, which a reduced search
// checks exactly: what counts is only which accesses an execution makes, with
// which locks, and not in which order. An execution satisfies it if for each
// lock-protected location
//
//   - all accesses hold a common lock, or
//   - all accesses are reads, or
//   - all accesses are by one thread.
//
// The paper has the third case for objects declared unshared only. Leaving the
// declaration to the search is as sound: whether the case applies depends on
// the set of accesses, and two accesses of different threads that could conflict
// are in neither case without a common lock, which is all that the proofs of
// theorems 2 and 7 use. It spares a declaration for each variable that belongs
// to a thread. As in the paper, Options.InitThread may name the thread whose
// first access to a location, which must be the first of all, is exempt; what
// the model's init does is not an access at all.
//
// With both rules, a location declared unshared must have accesses of one
// thread only. Guards count: in each state, what a blocked transition's guard
// read is an access, too. A step is indivisible: a lock that it takes or
// releases counts as held for all of it.
//
// HB reports two conflicting accesses of different threads in one execution of
// which neither happens before the other. What happens before what follows from
// how the steps synchronize ([system.Synchronising]); docs/locks.md says what
// that is in the model language, and what it means that two indivisible steps
// are not in a race. It is a property of executions, so it needs all
// interleavings, or one of each Mazurkiewicz trace: each synchronization is
// between dependent steps, so that equivalent executions have the same
// happens-before.
//
// # State
//
// The state of the lockset algorithm is part of the state of the wrapped
// system, 32 bits for each location of data, as in the paper: a state that two
// executions reach with different histories of accesses is two states, because
// what follows may violate the discipline after one of them only. The same
// holds for HB, which keeps for each location the accesses that later ones may
// be in a race with, and for each which threads and objects know of it (Elmas,
// Qadeer, Tasiran, "Goldilocks", PLDI 2007). These sets do not grow with the
// execution, as vector clocks do, and have one form, so that states can be
// compared. order.go has the details.
//
// # Ranks
//
// On several ranks ([search.Options].Ranks) each has a table of its own, so a number in a
// state means nothing to the others. [System.Export] writes the sets in place of their
// numbers. Sets are in order and so are the histories of HB, so that equal states are
// equal words whoever exports them: a state has one owner, and the states of all
// ranks are in number those of one process.
//
// The histories that [Run] merges are joined when an attempt has ended, on rank 0. Each
// transition is explored on some rank, which has merged its accesses by then. What
// LDPrime makes of a set of accesses (without an initThread, whose locations are never
// merged) depends on whether several threads made them, on the intersection of their
// locks, and on whether one writes: each of these is had of a union from the two parts,
// in any order. So the joined history is that of the accesses of all executions, and if it
// keeps the discipline, each execution does. If it does not, or if some rank saw that
// sooner and ended the attempt, all ranks hear of the same locations and begin the same
// attempt again, with the same locations in the state. Whether there is another
// attempt is rank 0's decision, from what all ranks say: it is over where a violation
// ended it, where any rank has been told to end, and where any went wrong. A search that
// does not begin again although it should is never exhaustive.
//
// # Checkpoints
//
// A checkpoint of one process has what the numbers mean, the merged histories, and how far [Run]
// is (save.go). On ranks each part has that: what the numbers in its states mean is the search's
// to keep ([system.Portable]), which translates the states of a part with other numbers than
// those of the process; the histories of all parts are joined when they are read, so that
// together the ranks know what they knew. An attempt that was to end is ended at once by whoever
// reads a part that says so. As the attempts are searches of their own, their checkpoints are
// numbered together.
//
// # Searches without stored states
//
// A search that executes one order of independent steps needs
// Options.Dependences for LD and LDPrime: see dependences.go. HB works as it is.
//
// Locksets are interned, and their intersections memoized, as Eraser does; both
// in one [Table] for all machines of a system with a cache in each machine. This
// is our own, because what a library offers as a set is not a small number.
package lockset
