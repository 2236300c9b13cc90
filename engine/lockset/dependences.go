package lockset

import (
	"slices"

	"cpor/system"
)

// What LD and LD' make of an execution depends on more than the order of
// dependent transitions:
//
//   - what the guards of blocked transitions read in each state. A guard may
//     read x only while another variable is true, and whether it is evaluated
//     then depends on the order of a step that comes to it and one that changes
//     that variable;
//   - with LD, and for a location with an initThread, which thread's access came
//     first, even if both read.
//
// So that equivalent executions have the same verdict, a step says that it
// accesses more. Where order counts, an access to data counts as a write. For
// guards, think of the system in which each location l has a second part, the
// set W(l) of the threads that are at a guard which read l when it was evaluated
// last, and in which this is what steps do:
//
//   - a step that comes to a guard evaluates it: it reads what the guard reads,
//     and puts its thread into W(l) for each location l of that;
//   - a step that leaves a guard takes its thread out of these sets again;
//   - a step that writes l reads W(l), and evaluates the guards of its threads
//     anew: it reads what they read before and read now, and where the two
//     differ it changes the sets.
//
// In this system what a step does is a function of the values that it accesses,
// as package system promises, and what guards read is what steps have read, so
// that two orders of independent steps have read the same with the same locks
// held. The rule has one verdict for each Mazurkiewicz trace, and any reduction
// that keeps the traces decides it. Operations that commute ([system.Op]) still do, unless a guard
// reads the location: then each of them evaluates the guard. A step of the machine says that it
// accesses what the step of that system accesses: l represents both parts, so that to
// change W(l) is to write l. That a step reads W(l) need not be said, because it
// writes l.

// guard is what the guard of a thread's next transition reads.
type guard struct {
	thread        int
	before, after []system.Access
}

// readGuards evaluates the guards of all threads, and keeps what they read as
// that before a step or after it.
func (m *Machine) readGuards(before bool) {
	if before {
		m.guards = m.guards[:0]
	}
	for u, n := 0, m.inner.NumThreads(); u < n; u++ {
		if m.locks.Blocking(u) != system.BlocksOnGuard || m.sys.obs.Has(u) {
			continue
		}
		at := slices.IndexFunc(m.guards, func(g guard) bool { return g.thread == u })
		if at < 0 {
			at = len(m.guards)
			m.guards = append(m.guards, guard{thread: u})
		}
		g := &m.guards[at]
		mark := m.inner.Mark()
		for alt, more := uint64(0), true; more; {
			out := m.inner.Step(u, alt)
			if before {
				g.before = append(g.before, m.inner.Accesses()...)
			} else {
				g.after = append(g.after, m.inner.Accesses()...)
			}
			m.inner.Rewind(mark)
			alt, more = out.Next, out.Next != 0
		}
	}
}

// inSequence reports whether the order of all accesses to a location counts.
func (m *Machine) inSequence(l system.Loc) bool {
	if int(l) >= len(m.sys.slot) || m.sys.slot[l] < 0 {
		return false
	}
	return m.sys.rule == LD || m.sys.init[m.sys.slot[l]] != noInitThread
}

// dependences adds to m.acc, the accesses of the last step, which thread t took
// when there were so many threads.
func (m *Machine) dependences(t, threads int) {
	if m.sys.guards {
		m.readGuards(false)
	}
	own := len(m.acc)
	for _, g := range m.guards {
		switch {
		case g.thread == t || g.thread >= threads: // a thread that was created may be at a guard
			m.add(g.before, nil)
			m.add(g.after, nil)
		case slices.ContainsFunc(m.acc[:own], func(a system.Access) bool {
			return (a.Write || m.inSequence(a.Loc)) && has(g.before, a.Loc)
		}):
			m.add(g.before, g.after)
			m.add(g.after, g.before)
		}
	}
	for i := range m.acc {
		m.acc[i].Write = m.acc[i].Write || m.inSequence(m.acc[i].Loc)
	}
}

func has(accesses []system.Access, l system.Loc) bool {
	return slices.ContainsFunc(accesses, func(a system.Access) bool { return a.Loc == l })
}

// add adds what a guard reads to m.acc; what is not among the others as a write.
func (m *Machine) add(guard, others []system.Access) {
	for _, a := range guard {
		write := !has(others, a.Loc)
		if i := slices.IndexFunc(m.acc, func(b system.Access) bool {
			return a.Loc == b.Loc
		}); i >= 0 {
			m.acc[i] = system.Access{Loc: a.Loc, Write: m.acc[i].Write || write}
			continue
		}
		m.acc = append(m.acc, system.Access{Loc: a.Loc, Write: write})
	}
}

// Shape implements [system.Shaped].
func (m *Machine) Shape(t int) system.Shape {
	s := m.shaped.Shape(t)
	if m.sys.dependences && m.sys.guards {
		s |= system.MayVary
	}
	return s
}

// Future implements [system.Futures]: it bounds what Accesses says.
func (m *Machine) Future(t int) *system.Footprint {
	f := m.futures.Future(t)
	if f == nil || !m.sys.dependences || m.sys.rule == HB || m.sys.rule == None {
		return f
	}
	reads := slices.Clone(f.Reads)
	if m.sys.guards {
		for u := range m.inner.NumThreads() {
			g := m.futures.Future(u)
			if g == nil {
				return nil
			}
			reads = append(reads, g.Reads...)
		}
	}
	writes := slices.Clone(f.Writes)
	if m.sys.guards {
		writes = append(writes, reads...)
	}
	for _, r := range reads {
		for l := r.First; l <= r.Last && int(l) < len(m.sys.slot); l++ {
			if m.inSequence(l) {
				writes = append(writes, system.LocRange{First: l, Last: l})
			}
		}
	}
	return &system.Footprint{Reads: system.JoinRanges(reads), Writes: system.JoinRanges(writes)}
}
