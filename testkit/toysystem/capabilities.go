package toysystem

import "cpor/system"

// Capabilities implements [system.System].
func (s *toy) Capabilities() system.Capabilities {
	return system.Capabilities{
		Observing:   s,
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
func (m *machine) Capabilities() system.MachineCapabilities {
	return system.MachineCapabilities{
		Pieces:        m,
		Renaming:      nil,
		Futures:       nil,
		Shaped:        m,
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
		Costly:        nil,
		Expanding:     nil,
	}
}

// Capabilities implements [system.System].
func (s *heap) Capabilities() system.Capabilities { return system.Capabilities{} }

// Capabilities implements [system.Machine].
func (m *heapMachine) Capabilities() system.MachineCapabilities {
	return system.MachineCapabilities{
		Pieces:        nil, // local parts point to objects
		Renaming:      m,
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
		Costly:        nil,
		Expanding:     nil,
	}
}

// Capabilities implements [system.System]: what the alternatives do is what it was.
func (e Endless) Capabilities() system.Capabilities { return system.Capabilities{} }

// Capabilities implements [system.Machine].
func (m endlessMachine) Capabilities() system.MachineCapabilities {
	return system.MachineCapabilities{}
}
