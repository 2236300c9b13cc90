package machine

import "cpor/system"

// NumProps implements system.Temporal.
func (m *Machine) NumProps() int { return len(m.sys.props) + 1 }

// PropName implements system.Temporal.
func (m *Machine) PropName(i int) string {
	if i == len(m.sys.props) {
		return m.sys.Accepting()
	}
	return m.sys.prog.Props[i].Text
}

// Eval implements system.Temporal.
func (m *Machine) Eval(i int) (bool, *system.Violation) {
	m.viol, m.at = nil, nil
	if i == len(m.sys.props) {
		return m.accepting(), nil
	}
	v := m.sys.props[i](m) != 0
	if m.viol != nil && m.viol.Pos.Line == 0 {
		m.viol.Pos = position(m.sys.prog.LTLs[0].Pos)
	}
	return v, m.viol
}

// failed is the term of a proposition that cannot be evaluated.
const failed = 2

// Terms implements system.Temporal: the propositions themselves, and how many processes are
// at an accept label.
func (m *Machine) Terms(dst []int64) []int64 {
	dst = dst[:0]
	track, acc := m.track, len(m.acc)
	m.Track(false)
	for i := range m.sys.props {
		holds, v := m.Eval(i)
		switch {
		case v != nil:
			dst = append(dst, failed)
		case holds:
			dst = append(dst, 1)
		default:
			dst = append(dst, 0)
		}
	}
	n := int64(0)
	for t := range m.n {
		if m.sys.procs[m.types[t]].states[m.pc(t)].accept {
			n++
		}
	}
	m.Track(track)
	m.acc = m.acc[:acc]
	return append(dst, n)
}

// Change implements system.Temporal. Accept labels: moving and other processes are counted
// together, and the transition does not change the number of the latter. So an unchanged count
// means an unchanged proposition, in whichever state it is taken.
func (m *Machine) Change(i int, acc []system.Access, before, after []int64) (rise, fall bool) {
	if i == len(m.sys.props) {
		return before[i] < after[i], after[i] < before[i]
	}
	return m.effect(&m.sys.futuresOf().props[i], acc, before[i], after[i])
}

var _ system.Temporal = (*Machine)(nil)
