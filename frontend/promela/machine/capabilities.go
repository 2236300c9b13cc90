package machine

import "cpor/system"

// Capabilities implements [system.System].
func (s *System) Capabilities() system.Capabilities {
	var merging system.Merging
	if s.apart != nil {
		merging = s
	}
	return system.Capabilities{
		Observing:   nil,
		Irreducible: s,
		Symmetric:   nil,
		Beginning:   nil,
		Counting:    s,
		Remembering: nil,
		Interning:   nil,
		Portable:    nil,
		Merging:     merging,
		Learning:    nil,
	}
}

// Capabilities implements [system.Machine].
func (m *Machine) Capabilities() system.MachineCapabilities {
	var repeating system.Repeating
	if m.sys.repeats {
		repeating = m
	}
	return system.MachineCapabilities{
		Pieces:        nil,
		Renaming:      nil,
		Futures:       m,
		Shaped:        nil,
		Locking:       nil,
		Synchronising: nil,
		Temporal:      m,
		Unnumbered:    m,
		Telling:       m,
		Narrating:     m,
		Showing:       m,
		Changing:      m,
		Repeating:     repeating,
		Adding:        nil,
		Updating:      nil,
		Costly:        nil,
		Expanding:     m,
	}
}
