package lockset

import "cpor/system"

var _ system.Narrating = (*Machine)(nil)

// Narrate implements system.Narrating.
func (m *Machine) Narrate(on bool) {
	m.narrating.Narrate(on)
	m.narrate = on
}

// again makes the step that m has just made the last one of the machine below, which
// was asked since what other threads would do: so that it tells of the step.
func (m *Machine) again(mark system.Mark, t int, alt uint64) {
	if m.narrate {
		m.inner.Rewind(mark)
		m.inner.Step(t, alt)
	}
}

// Story implements system.Narrating.
func (m *Machine) Story() system.Story { return m.narrating.Story() }

// Internal implements system.Narrating.
func (m *Machine) Internal(l system.Loc) bool { return m.narrating.Internal(l) }
