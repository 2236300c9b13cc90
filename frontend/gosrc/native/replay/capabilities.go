package replay

import "cpor/system"

// Capabilities implements [system.System].
func (s *System) Capabilities() system.Capabilities {
	return system.Capabilities{
		Observing:   nil,
		Irreducible: nil,
		Symmetric:   nil,
		Beginning:   nil,
		Counting:    nil,
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
		Pieces:        nil,
		Renaming:      nil,
		Futures:       nil,
		Shaped:        nil,
		Locking:       nil,
		Synchronising: nil,
		Temporal:      nil,
		Unnumbered:    nil,
		Telling:       nil,
		Narrating:     nil,
		Showing:       nil,
		Changing:      nil,
		Repeating:     nil,
		Adding:        nil,
		Updating:      nil,
		Costly:        m,
		Expanding:     nil,
	}
}
