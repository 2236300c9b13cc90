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
// accesses more. Where order counts, an access to data counts as a write. And a
// step that comes to a guard reads what the guard reads there; a step that
// writes what the guard of another thread has read reads all that this guard
// read before and reads now, because it makes it evaluated anew.
//
// Then independent steps e and f, in either order, make the same accesses and
// the same guards read the same. Let e write into what a guard g reads in s.
// Then f, independent of e, writes neither into what g reads in s nor into what
// it reads behind e, so f does not make g evaluated, before e or after it, and
// what g reads behind e stays. If e comes to g, f does not write into what g
// reads behind e, so that it reads the same behind f and e. Otherwise e is
// nothing to g.

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

// inSequence tells whether the order of all accesses to a location counts.
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
		came := g.thread == t || g.thread >= threads
		if came {
			m.read(g.after)
			continue
		}
		if slices.ContainsFunc(m.acc[:own], func(a system.Access) bool {
			return (a.Write || m.inSequence(a.Loc)) && slices.ContainsFunc(g.before, func(b system.Access) bool { return a.Loc == b.Loc })
		}) {
			m.read(g.before)
			m.read(g.after)
		}
	}
	for i := range m.acc {
		m.acc[i].Write = m.acc[i].Write || m.inSequence(m.acc[i].Loc)
	}
}

// read adds what a guard reads to m.acc.
func (m *Machine) read(guard []system.Access) {
	for _, a := range guard {
		if !slices.ContainsFunc(m.acc, func(b system.Access) bool { return a.Loc == b.Loc }) {
			m.acc = append(m.acc, system.Access{Loc: a.Loc})
		}
	}
}

// Future implements [system.Futures]: it bounds what Accesses says.
func (m *Machine) Future(t int) *system.Footprint {
	inner, ok := system.As[system.Futures](m.inner)
	if !ok {
		return nil
	}
	f := inner.Future(t)
	if f == nil || !m.sys.dependences || m.sys.rule == HB || m.sys.rule == None {
		return f
	}
	reads := slices.Clone(f.Reads)
	if m.sys.guards {
		for u := range m.inner.NumThreads() {
			g := inner.Future(u)
			if g == nil {
				return nil
			}
			reads = append(reads, g.Reads...)
		}
	}
	writes := slices.Clone(f.Writes)
	for _, r := range reads {
		for l := r.First; l <= r.Last && int(l) < len(m.sys.slot); l++ {
			if m.inSequence(l) {
				writes = append(writes, system.LocRange{First: l, Last: l})
			}
		}
	}
	return &system.Footprint{Reads: system.JoinRanges(reads), Writes: system.JoinRanges(writes)}
}
