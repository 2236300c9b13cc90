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

// Terms implements system.Temporal. There are none: no reduction asks for them.
func (m *Machine) Terms(dst []int64) []int64 { return dst[:0] }

// Change implements system.Temporal: every transition may change everything.
func (m *Machine) Change(int, []system.Access, []int64, []int64) (rise, fall bool) {
	return true, true
}

// Conflicts implements system.Temporal: every other process may be in the way.
func (m *Machine) Conflicts(int, []system.Access, int) bool { return true }

// Late implements system.Temporal.
func (m *Machine) Late(int, []system.Access) bool { return false }

var _ system.Temporal = (*Machine)(nil)
