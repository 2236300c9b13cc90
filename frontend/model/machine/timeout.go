package machine

import (
	"fmt"

	"cpor/system"
)

var _ system.Irreducible = (*System)(nil)

// Irreducible implements system.Irreducible.
func (s *System) Irreducible(bool) string {
	if s.p.Timeout != 0 {
		at := s.pos(s.p.Timeout)
		return fmt.Sprintf("%s:%d: ", at.File, at.Line) + "timeout() is true only if no thread " +
			"can move, so it depends on all of them"
	}
	return ""
}

// moves reports whether any thread can move in the live state while all timeouts are false. It
// uses a machine of its own, whose steps are neither recorded nor counted.
func (m *Machine) moves() bool {
	if m.probe == nil {
		m.probe = newMachine(m.sys, make([]uint64, len(m.counts)))
		m.probe.path.probing = true
	}
	m.probeAt = m.Encode(m.probeAt)
	m.probe.Load(m.probeAt)
	for t := m.sys.observers; t < m.probe.n; t++ {
		if m.probe.Step(t, 0).Kind == system.Moved {
			return true
		}
	}
	return false
}
