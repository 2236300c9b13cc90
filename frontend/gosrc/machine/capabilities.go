package machine

import "cpor/system"

// Capabilities implements [system.System].
func (s *System) Capabilities() system.Capabilities {
	return system.Capabilities{
		Observing:   nil,
		Irreducible: nil,
		Symmetric:   nil,
		Beginning:   nil,
		Counting:    nil,
		Remembering: s,
		Interning:   nil,
		Portable:    nil,
		Merging:     nil,
		Learning:    nil,
	}
}

// Capabilities implements [system.Machine].
func (m *Machine) Capabilities() system.MachineCapabilities {
	return system.MachineCapabilities{
		Pieces:        nil, // local parts point to objects
		Renaming:      m,
		Futures:       nil,
		Shaped:        m,
		Locking:       nil,
		Synchronising: nil,
		Temporal:      nil,
		Unnumbered:    nil,
		Telling:       m,
		Narrating:     m,
		Showing:       nil,
		Changing:      nil,
		Repeating:     nil,
		Adding:        nil,
		Updating:      nil,
		Costly:        nil,
		Expanding:     nil,
	}
}
