package machine

import (
	"cpor/frontend/model/compile"
	"cpor/frontend/model/syntax"
	"cpor/system"
)

// Machine knows its locks.
var (
	_ system.Locking  = (*Machine)(nil)
	_ system.Renaming = (*Machine)(nil)
)

// Class implements system.Locking.
func (m *Machine) Class(l system.Loc) system.Class { return m.sys.class(l) }

// class returns the class of a location. Channels and semaphores are
// communication objects whatever their declaration says.
func (s *System) class(l system.Loc) system.Class {
	if int(l) >= len(s.p.Locs) {
		if i := int(l) - int(s.p.Loc(0, 0)); i >= 0 && s.p.PerThread > 0 && i%s.p.PerThread == 0 {
			return system.Existence
		}
		return system.Communication
	}
	info := &s.p.Locs[l]
	switch {
	case info.Mutex && s.p.Tries:
		return system.TriedLock
	case info.Mutex || info.Role == compile.MonitorOwner:
		return system.Lock
	case info.Role == compile.MonitorDepth || info.Role == compile.MonitorWaiters:
		return system.LockState
	case info.Role != compile.Plain:
		return system.Communication
	}
	switch info.Class {
	case syntax.LockProtected:
		return system.LockProtected
	case syntax.Unshared:
		return system.Unshared
	}
	return system.Communication
}

// NumClassified implements system.Locking.
func (m *Machine) NumClassified() int { return len(m.p.Locs) }

// HasGuards implements system.Locking.
func (m *Machine) HasGuards() bool {
	for i := range m.p.Points {
		if m.p.Points[i].Blocks == system.BlocksOnGuard {
			return true
		}
	}
	return false
}

// Held implements system.Locking.
func (m *Machine) Held(t int, dst []system.Loc) []system.Loc {
	dst = dst[:0]
	for _, l := range m.sys.locks {
		if m.sys.locs[l].load(m.words) == int64(t+1) {
			dst = append(dst, l)
		}
	}
	return dst
}

// Blocking implements system.Locking.
func (m *Machine) Blocking(t int) system.Blocking {
	pc := m.pc(t)
	if pc == 0 || pc > len(m.p.Points) {
		return system.Nonblocking
	}
	return m.p.Points[pc-1].Blocks
}

// findLocks finds the locations of mutexes and monitors.
func (s *System) findLocks() {
	for l := range s.p.Locs {
		if s.class(system.Loc(l)).Owned() {
			s.locks = append(s.locks, system.Loc(l))
			if s.p.Locs[l].Role == compile.MonitorOwner {
				s.monitors = append(s.monitors, system.Loc(l))
			}
		}
	}
}

// Shape implements system.Shaped.
func (m *Machine) Shape(t int) system.Shape {
	pc := m.pc(t)
	if pc == 0 || pc > len(m.p.Points) || m.p.Points[pc-1].Ended {
		return 0
	}
	return m.p.Points[pc-1].Shape
}
