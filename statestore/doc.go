// Package statestore holds the two shared data structures of a parallel
// stateful search: the covered set, a [Store], and the work set, a [WorkSet]
// (Gueta, Flanagan, Yahav, Sagiv, SPIN 2007, figure 6).
//
// # Using it
//
// Each worker opens a [Session] of the store and works like this:
//
//	for b := work.Pop(w); b != nil; b = work.Pop(w) {
//		for _, ref := range b.Refs {
//			state = session.Load(ref, state)
//			... for every successor s of state:
//			child, added, err := session.Insert(s, ref)
//			... if added, out.Add(child)
//		}
//		work.Put(w, b)
//	}
//
// If several workers insert equal states, exactly one of them adds the state.
// A work item is a [Ref], eight bytes, because the store can recover the state. Paths to a state
// are rebuilt through [Session.Parents], which names candidates
// that are checked by executing from them.
//
// # Kinds
//
// There are four stores, all lock-free for the workers once they are past the
// first states:
//
//	kind      exact  loadable  bytes a state
//	Tree      yes    yes       10 to 12, parent included; see docs/design/statestore.md
//	Plain     yes    yes       8 for each word + 26, parent included
//	Compact   no     no        5, for millions of states
//	Bitstate  no     no        what it is given
//
// Compact and Bitstate keep less than a state, so they can neither load it nor name its parent.
// There a work item carries the encoded state, and a [Trail]: the chain of the hashes that lead
// to it.
// Trails form a tree with shared stems; the garbage collector frees branches without work. A
// trace is rebuilt by replaying the
// hashes forwards.
//
// # Reading it
//
// table.go holds the growing lock-free table, the basis of the rest; its comment explains the
// concurrency step by step. nodes.go numbers the shared parts of states. shape.go explains how a
// state is split and packed into eight bytes, and tree.go is the store that does it. samples.go is
// how it learns where to cut, crew.go how all workers do that together, numbering.go how a state is
// stored by the numbers of its parts, and shared.go how stores of several processes tell each other
// what these mean. archive.go and log.go keep a store in files: the states in a log that only
// grows.
//
// # Why not a library
//
// xsync's maps, and all others we know, take 16 bytes or more for a key, double when they grow,
// and have no room for a state's parent. A search mostly waits for memory accesses to this set,
// so its size determines its speed. xsync's striped counters
// are used for counting events. Its queues are bounded, and a frontier is not; see
// [WorkSet]. Whole states are hashed with xxhash, single words with two
// multiplications (see hashNode).
package statestore
