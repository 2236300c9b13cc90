package lockset

import "cpor/system"

// Future implements [system.Futures]: what the rule remembers is none of the
// system's locations.
func (m *Machine) Future(t int) *system.Footprint {
	if f, ok := m.inner.(system.Futures); ok {
		return f.Future(t)
	}
	return nil
}
