package machine

import (
	"cpor/frontend/model/compile"
	"cpor/system"
)

var _ system.Synchronising = (*Machine)(nil)

// syncs is what a machine records of how a step synchronizes. docs/locks.md has the table: Go's
// memory model for what the language takes from Go, and Java's for monitors and semaphores.
type syncs struct {
	on          bool
	list        []system.Sync
	data        []system.Access
	indivisible bool
}

// RecordSyncs implements system.Synchronising.
func (m *Machine) RecordSyncs(on bool) { m.syncs.on = on }

// Syncs implements system.Synchronising.
func (m *Machine) Syncs() []system.Sync { return m.syncs.list }

// DataAccesses implements system.Synchronising.
func (m *Machine) DataAccesses() ([]system.Access, bool) {
	return m.syncs.data,
		m.syncs.indivisible
}

func (s *syncs) begin(indivisible bool) {
	s.list, s.data, s.indivisible = s.list[:0], s.data[:0], indivisible
}

func (s *syncs) add(kind system.SyncKind, object int) {
	if s.on {
		s.list = append(s.list, system.Sync{Kind: kind, Object: system.Loc(object)})
	}
}

func (s *syncs) thread(kind system.SyncKind, t int) {
	if s.on {
		s.list = append(s.list, system.Sync{Kind: kind, Thread: t})
	}
}

// slot records the use of a slot of a buffered channel: the k-th send happens
// before the k-th receive, and that before the k+C-th send.
func (s *syncs) slot(c *compile.Chan, i int) {
	if s.on {
		use := system.Sync{Kind: system.Acquire, Object: system.Loc(c.Slots), Slot: i, Slots: c.Cap}
		s.list = append(s.list, use)
		use.Kind = system.Release
		s.list = append(s.list, use)
	}
}

// seen records that the message in a slot was inspected.
func (s *syncs) seen(c *compile.Chan, i int) {
	if s.on {
		s.list = append(s.list, system.Sync{Kind: system.Acquire, Object: system.Loc(c.Slots),
			Slot: i, Slots: c.Cap})
	}
}

func (s *syncs) shift(c *compile.Chan, from, to int) {
	if s.on {
		s.list = append(s.list, system.Sync{Kind: system.Shift, Object: system.Loc(c.Slots),
			Slot: from, To: to, Slots: c.Cap})
	}
}

// observe records an access to a variable.
func (m *Machine) observe(l system.Loc, write bool) {
	s := &m.syncs
	if int(l) >= len(m.p.Locs) {
		return
	}
	info := &m.p.Locs[l]
	if info.Mutex || info.Role != compile.Plain {
		return
	}
	data := m.Class(l).Data()
	if !data || s.indivisible {
		kind := system.Acquire
		if write {
			kind = system.Release
		}
		s.add(kind, int(l))
	}
	if !data {
		return
	}
	for i := range s.data {
		if s.data[i].Loc == l {
			s.data[i].Write = s.data[i].Write || write
			return
		}
	}
	s.data = append(s.data, system.Access{Loc: l, Write: write})
}
