package machine

import "cpor/system"

// Capabilities implements [system.System].
func (s *System) Capabilities() system.Capabilities {
	return system.Capabilities{
		Observing:   s,
		Irreducible: nil,
		Symmetric:   s,
		Beginning:   s,
		Counting:    s,
		Remembering: nil,
		Interning:   nil,
		Portable:    nil,
		Merging:     nil,
		Learning:    nil,
	}
}

// Capabilities implements [system.Machine].
func (m *Machine) Capabilities() system.MachineCapabilities {
	return system.MachineCapabilities{
		Pieces:        m,
		Renaming:      m,
		Futures:       m,
		Shaped:        m,
		Locking:       m,
		Synchronising: m,
		Temporal:      m,
		Unnumbered:    nil,
		Telling:       nil, // what Next says is enough
		Narrating:     m,
		Showing:       m,
		Changing:      m,
		Repeating:     m,
		Adding:        nil,
		Updating:      m,
		Costly:        nil,
		Expanding:     m,
	}
}
