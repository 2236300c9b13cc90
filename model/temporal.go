package model

import "cpor/system"

// NumProps implements [system.Temporal].
func (m *machine) NumProps() int { return len(m.props) }

// PropName implements [system.Temporal].
func (m *machine) PropName(i int) string { return m.props[i].name }

// Eval implements [system.Temporal].
func (m *machine) Eval(i int) (bool, *system.Violation) {
	track := m.track
	m.track = false
	m.cur = len(m.procs) // no process: it may not use their variables
	ok, st := m.evaluate(m.props[i].holds, m.props[i].pos)
	m.cur = -1
	m.track = track
	if st == failed {
		return false, m.viol
	}
	return ok, nil
}

// Terms implements [system.Temporal].
func (m *machine) Terms(dst []int64) []int64 { return dst[:0] }

// Change implements [system.Temporal]: what a proposition reads is not known, so any write can
// change it.
func (m *machine) Change(_ int, acc []system.Access, _, _ []int64) (rise, fall bool) {
	for _, a := range acc {
		if a.Write {
			return true, true
		}
	}
	return false, false
}

// Conflicts implements [system.Temporal]: what a process does later is not known, unless it has
// ended.
func (m *machine) Conflicts(_ int, _ []system.Access, u int) bool {
	return m.words[m.size+u] == 0 && (u >= len(m.procs) || m.procs[u].pc.get(m.words) != 0)
}

// Late implements [system.Temporal].
func (m *machine) Late(int, []system.Access) bool { return false }
