// Package persistent computes persistent sets by algorithm 2-LD of Stoller
// ("Model-Checking Multi-Threaded Distributed Java Programs", FMSD 2002, section
// 6), a variant of Overman's algorithm (Godefroid 1996, algorithm 2).
//
// A set of threads is persistent in a state if nothing that the other threads
// can do, while those of the set do nothing, is dependent with what the threads
// of the set do next. Then it is enough to explore from this state the
// transitions of these threads. The algorithm begins with an enabled thread and
// takes in each thread that might be the first to interfere with what a thread
// of the set does next, or waits for:
//
//   - what a thread does next is a list of accesses ([Thread]);
//   - what the others may ever do is bounded by their futures
//     ([system.Futures], the paper's ops);
//   - who owns a lock need not fear the others at its locations, and who waits
//     for the lock has to fear its owner only: figure 3 of the paper. The
//     others would have to take the lock first, so they are not the first.
//
// # What a thread does next
//
// The paper cannot execute a transition to see which objects its invisible part
// accesses, so it bounds them by what the locking discipline allows:
// pendInvisOps from the history of the accesses under LD, and pendInvisOps' from
// the one under LD', which is stricter about initialization. These are
// algorithms 2-LD and 2-LD'; [Bounded] computes their lists. Here a transition
// can be executed and taken back, so that callers usually know the list exactly
// and need neither. Theorem 6 says that with 2-LD the set is persistent if the
// system satisfies LD. Theorem 10 says that with 2-LD' it is, or contains a
// transition that violates LD': only that lets a search check the discipline
// while it relies on it.
package persistent

import "cpor/system"

// Thread says what a thread of a state does next.
type Thread struct {
	// Accesses are those of its next transition, of all alternatives, the
	// reads of the failing guards included. They can be more.
	Accesses []system.Access
	// Weight is how many transitions it costs to have the thread in the set;
	// the set that costs least is chosen. A set begins with a thread that
	// costs something, so 0 means a blocked or ended thread, or for one
	// that need not be explored.
	Weight int
}

// Chooser chooses persistent sets. It serves one worker.
type Chooser struct {
	observers    system.Observers
	of           system.Machine             // the last one that was asked
	can          system.MachineCapabilities // of it
	chosen, best []bool
	work         []int
	owner        map[system.Loc]int // by location of a lock
	locks        []system.Loc
}

// NewChooser returns a chooser for states of sys.
func NewChooser(sys system.System) *Chooser {
	return &Chooser{observers: system.ObserversOf(sys), owner: map[system.Loc]int{}}
}

// Choose returns for each thread whether it belongs to a persistent set of the
// live state of m. There is such a thread with a weight above 0 if any thread
// has one. Without bounds on the futures all threads belong to the set. The
// result is valid until the next call.
func (c *Chooser) Choose(m system.Machine, threads []Thread) []bool {
	n := len(threads)
	if cap(c.chosen) < n {
		c.chosen, c.best = make([]bool, 2*n), make([]bool, 2*n)
	}
	c.chosen, c.best = c.chosen[:n], c.best[:n]
	if c.of != m {
		c.of, c.can = m, m.Capabilities()
	}
	futures := c.can.Futures
	if futures == nil {
		for t := range c.best {
			c.best[t] = true
		}
		return c.best
	}
	c.findOwners(n)
	clear(c.best)
	least := 0
	for seed := range threads {
		if threads[seed].Weight == 0 {
			continue
		}
		clear(c.chosen)
		c.chosen[seed] = true
		c.work = append(c.work[:0], seed)
		cost := threads[seed].Weight
		for len(c.work) > 0 && (least == 0 || cost < least) {
			t := c.work[len(c.work)-1]
			c.work = c.work[:len(c.work)-1]
			for u := range threads {
				if c.chosen[u] || !c.interferes(futures.Future(u), u, threads[t].Accesses) {
					continue
				}
				c.chosen[u] = true
				cost += threads[u].Weight
				c.work = append(c.work, u)
			}
		}
		if least == 0 || cost < least {
			least = cost
			c.chosen, c.best = c.best, c.chosen
		}
	}
	return c.best
}

// findOwners finds out who owns which locks.
func (c *Chooser) findOwners(threads int) {
	clear(c.owner)
	locking := c.can.Locking
	if locking == nil {
		return
	}
	for t := range threads {
		c.locks = locking.Held(t, c.locks)
		for _, at := range c.locks {
			if locking.Class(at) == system.TriedLock {
				continue // others can see who owns it
			}
			c.owner[at] = t
		}
	}
}

// ownerOf returns who owns the synchronization object that a location belongs
// to; ok is false if nobody does, or it belongs to none.
func (c *Chooser) ownerOf(l system.Loc) (owner int, ok bool) {
	if len(c.owner) == 0 {
		return 0, false
	}
	for l > 0 && c.can.Locking.Class(l) == system.LockState {
		l--
	}
	owner, ok = c.owner[l]
	return owner, ok
}

// interferes reports whether thread u, whose future is f, might be the first to do something
// that depends on one of the accesses.
func (c *Chooser) interferes(f *system.Footprint, u int, accesses []system.Access) bool {
	for _, a := range accesses {
		if !f.MayWrite(a.Loc) && !(a.Write && f.MayRead(a.Loc)) {
			continue
		}
		if owner, ok := c.ownerOf(a.Loc); ok && owner != u && !c.observers.Has(u) {
			continue
		}
		return true
	}
	return false
}
