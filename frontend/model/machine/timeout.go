package machine

import (
	"fmt"

	"cpor/system"
	"cpor/testkit/sabotage"
)

// A step that asks for timeout() shows in its accesses what it has seen of the others, as in
// Promela (frontend/promela/machine/asking.go). Each step of a thread writes the thread's place.
//
//   - If the asking thread can move while timeout() is false, then timeout() is false, whatever the
//     others do. The step looks at nothing else.
//   - If another thread can move, the asking thread reads the places of the first such thread and
//     of those before it, and what their steps touch. The first alone keeps timeout() false. But if
//     one before it could move later, the accesses would be different ones, although nothing that
//     was read has changed.
//   - If no thread can move, it reads the places of all, also of those that have ended, and what
//     their guards read, and, if threads create threads, how many there are.
//
// So two steps that do not conflict commute, and all proofs that rest on accesses apply. What a
// thread may still do ([Machine.Future]) reads everything if it may ask.
//
// # Ample sets
//
// Let T be a set of threads of which one can move in s, with timeout() false, and w an execution
// from s in which none of T takes a step. If all steps of w are independent of those of T in s,
// that thread can move in each state of w, so timeout() is false there. So the bounds for
// [Machine.Conflicts] follow the others with timeout() false: what a thread does only if it is
// true, and what comes after, is not part of w. A step of w is one that its thread can take while
// timeout() is false, so it reads no places. It still is one if a step of T comes before it, even
// if no other thread can move then.
//
// If no thread of T can move with timeout() false, those that can move otherwise read the places of
// all threads. Then each thread that has not ended conflicts, and T is an ample set only if it has
// all of them.

// Whole implements [system.Pieces].
func (m *Machine) Whole() string {
	if m.p.Timeout == 0 {
		return ""
	}
	at := m.sys.pos(m.p.Timeout)
	return fmt.Sprintf("%s:%d: timeout() looks at all threads", at.File, at.Line)
}

// moves reports whether any thread can move in the live state while all timeouts are false, and
// notes what decides that if accesses are wanted. It uses a machine of its own, whose steps are
// neither recorded nor counted. Thread t asks.
func (m *Machine) moves(t int) bool {
	if m.probe == nil {
		m.probe = newMachine(m.sys, make([]uint64, len(m.counts)))
		m.probe.path.probing = true
	}
	m.heard = m.heard[:0]
	m.probe.Track(m.track)
	m.probeAt = m.Encode(m.probeAt)
	m.probe.Load(m.probeAt)
	if m.probe.Step(t, 0).Kind == system.Moved {
		return true
	}
	m.hear(t)
	for u := m.sys.observers; u < m.probe.n; u++ {
		if u == t {
			continue
		}
		moved := m.probe.Step(u, 0).Kind == system.Moved
		m.hear(u)
		if moved {
			return true
		}
	}
	if m.sys.dynamic && m.track {
		m.heard = append(m.heard, m.p.CountLoc())
	}
	return false
}

// hear notes what the probe's attempt at a step of thread u has looked at, and where the thread is.
func (m *Machine) hear(u int) {
	if !m.track {
		return
	}
	m.heard = append(m.heard, m.p.Loc(u, m.p.Place))
	for _, a := range m.probe.acc {
		m.heard = append(m.heard, a.Loc)
	}
}

// heed adds to the accesses of a step what it has heard about timeout().
func (m *Machine) heed() {
	if !m.track || !m.asks || m.path.probing || sabotage.Is("asking/blind") {
		return
	}
	on := m.syncs.on
	m.syncs.on = false // looking does not synchronize
	for _, l := range m.heard {
		m.access(l, false)
	}
	m.syncs.on = on
}
