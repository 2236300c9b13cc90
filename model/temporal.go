package model

import (
	"math/bits"

	"cpor/system"
)

// NumProps implements [system.Temporal].
func (m *machine) NumProps() int { return len(m.props) }

// PropName implements [system.Temporal].
func (m *machine) PropName(i int) string { return m.props[i].name }

// Eval implements [system.Temporal].
func (m *machine) Eval(i int) (bool, *system.Violation) {
	track := m.track
	m.track = false
	m.cur = len(m.procs) // no process: it may not use their variables
	m.place = m.firstProp() + i
	ok, st := m.evaluate(m.props[i].holds, m.props[i].pos)
	m.cur, m.place = -1, -1
	m.track = track
	if st == failed {
		return false, m.viol
	}
	return ok, nil
}

// Terms implements [system.Temporal]: what propositions are, as far as anybody needs it.
func (m *machine) Terms(dst []int64) []int64 {
	dst = dst[:0]
	for i := range m.props {
		v := int64(0)
		if m.bound != nil {
			switch holds, fault := m.Eval(i); {
			case fault != nil:
				v = undefined
			case holds:
				v = 1
			}
		}
		dst = append(dst, v)
	}
	return dst
}

// undefined is the term of a proposition that cannot be evaluated.
const undefined = 2

// Change implements [system.Temporal]. A proposition can change if the transition writes something
// that it reads. If the transition accesses all of that, it changes it as it does here.
func (m *machine) Change(i int, acc []system.Access, before, after []int64) (rise, fall bool) {
	if m.bound == nil {
		for _, a := range acc {
			if a.Write {
				return true, true
			}
		}
		return false, false
	}
	reads := m.bound.did[reading][m.firstProp()+i]
	touched, left := false, 0
	for _, w := range reads {
		left += bits.OnesCount64(w)
	}
	for _, a := range acc {
		if reads.has(int(a.Loc)) {
			left--
			touched = touched || a.Write
		}
	}
	switch {
	case !touched:
		return false, false
	case left > 0 || before[i] == undefined || after[i] == undefined:
		return true, true
	}
	return before[i] < after[i], before[i] > after[i]
}

// Conflicts implements [system.Temporal]. A send and a receive are independent where both can be
// done, so an enabled send conflicts with senders and with those that look at the channel, and a
// receive with receivers and these.
func (m *machine) Conflicts(t int, acc []system.Access, u int) bool {
	place := m.placeOf(u)
	if u < len(m.procs) && (place == m.procs[u].place || !m.exists(m.procs[u])) {
		return false // it has ended; or somebody has to start it, whose bounds are its own, too
	}
	if m.bound == nil {
		return true
	}
	future, theirs := m.bound.future[place], m.bound.futureUses[place]
	mine := m.bound.did[using][m.placeOf(t)]
	for _, a := range acc {
		q := m.byLoc[a.Loc]
		if q == nil {
			if future.MayWrite(a.Loc) || a.Write && future.MayRead(a.Loc) {
				return true
			}
			continue
		}
		if q.disturbs(mine, theirs) || q.waits(m, mine) && theirs.any(q) {
			return true
		}
	}
	return false
}

// Clash implements [system.Temporal]: the bounds are known.
func (m *machine) Clash(_, _ []system.Access) bool { return false }

// disturbs reports whether what one process does next to a channel may be dependent on what
// another one may do to it, if sends and receives are possible.
func (q *queue) disturbs(mine, theirs set) bool {
	do := func(s set, use int) bool { return s.has(q.number*uses + use) }
	switch {
	case do(mine, looks) && (do(theirs, sends) || do(theirs, receives)),
		do(theirs, looks) && (do(mine, sends) || do(mine, receives)):
		return true
	}
	return do(mine, sends) && do(theirs, sends) || do(mine, receives) && do(theirs, receives)
}

// waits reports whether a send or receive among uses is not possible now.
func (q *queue) waits(m *machine, mine set) bool {
	n := m.count(q)
	return mine.has(q.number*uses+sends) && n == q.n || mine.has(q.number*uses+receives) && n == 0
}

// any reports whether there is a use of a channel.
func (s set) any(q *queue) bool {
	for use := range uses {
		if s.has(q.number*uses + use) {
			return true
		}
	}
	return false
}

// Late implements [system.Temporal]: sends are late.
func (m *machine) Late(t int, acc []system.Access) bool {
	if m.bound == nil || t >= len(m.procs) {
		return false
	}
	for _, a := range acc {
		if q := m.byLoc[a.Loc]; a.Write && q != nil &&
			m.bound.did[using][m.placeOf(t)].has(q.number*uses+sends) {
			return true
		}
	}
	return false
}
