package lockset

import "cpor/system"

// Capabilities implements [system.System]. A state has the words of the wrapped system, and
// behind them what the rule remembers.
func (s *System) Capabilities() system.Capabilities {
	inner := s.inner.Capabilities()
	return system.Capabilities{
		Observing:   inner.Observing,
		Irreducible: inner.Irreducible,
		Symmetric:   inner.Symmetric,
		Beginning:   inner.Beginning,
		Counting:    inner.Counting,
		Remembering: s,
		Interning:   s,
		Portable:    s,
		Merging:     nil, // traces show what the wrapper adds
		Learning:    nil, // of the system it wraps, before
	}
}

// Capabilities implements [system.Machine]. A step of the whole is a step of the wrapped machine
// and may access more; what it remembers is in no piece, so that steps on pieces check nothing.
func (m *Machine) Capabilities() system.MachineCapabilities {
	inner := m.inner.Capabilities()
	c := system.MachineCapabilities{
		Pieces:        inner.Pieces,
		Renaming:      inner.Renaming,
		Futures:       nil, // see below
		Shaped:        nil,
		Locking:       inner.Locking,
		Synchronising: inner.Synchronising,
		Temporal:      inner.Temporal,
		Unnumbered:    nil,
		Telling:       inner.Telling,
		Narrating:     nil,
		Showing:       inner.Showing,
		Changing:      nil, // the words of the rule change as well
		Repeating:     nil, // and a step depends on them
		Adding:        m,
		Updating:      nil,
		Costly:        nil,
		Expanding:     nil,
	}
	if inner.Updating != nil {
		c.Updating = m
	}
	if inner.Futures != nil {
		c.Futures = m
	}
	if inner.Shaped != nil {
		c.Shaped = m
	}
	if inner.Narrating != nil {
		c.Narrating = m
	}
	return c
}
