package system

// Observing is implemented by systems with observers. Their machines implement
// [Pieces].
type Observing interface {
	// Observer reports whether thread t is an observer: a thread that the tool added to check a
	// global property by one atomic step that reads what the property reads. An observer is
	// blocked while its property holds. Its self-loops do not count as transitions of the
	// system, and it takes no part in a deadlock. Observers exist from the beginning; which
	// numbers they have is not laid down.
	Observer(t int) bool
}

// Observers knows the observers of a system. The zero value has none.
type Observers struct {
	list []observer
	is   []bool // by thread
}

// observer is an observer's local part in the first initial state.
type observer struct {
	thread int
	local  []uint64
}

// None reports whether there are none.
func (o *Observers) None() bool { return len(o.list) == 0 }

// ObserversOf returns the observers of a system.
func ObserversOf(sys System) Observers {
	var o Observers
	s := sys.Capabilities().Observing
	if s == nil {
		return o
	}
	m := sys.NewMachine()
	pieces := m.Capabilities().Pieces
	for t := range m.NumThreads() {
		if !s.Observer(t) {
			continue
		}
		for len(o.is) <= t {
			o.is = append(o.is, false)
		}
		o.is[t] = true
		o.list = append(o.list, observer{t, pieces.Local(t, nil)})
	}
	return o
}

// Has reports whether thread t is an observer.
func (o *Observers) Has(t int) bool { return t < len(o.is) && o.is[t] }

// Any reports whether there are observers.
func (o *Observers) Any() bool { return len(o.list) > 0 }

// Reset gives the observers of the live state of m, a machine of the system,
// the local parts that they have in the beginning, so that deadlocks that
// differ only in what became of the observers are the same. It can be rewound.
func (o *Observers) Reset(m Machine) {
	if len(o.list) == 0 {
		return
	}
	pieces := m.Capabilities().Pieces
	for _, w := range o.list {
		pieces.SetLocal(w.thread, w.local)
	}
}

// Deadlock tells what keeps the threads of the live state of m, except observers, from moving:
// enabled is one that is enabled, -1 if there is none; blocked are those before it that are blocked
// where they must not stay. It is a deadlock if none is enabled and one is blocked. The live state
// does not change.
func (o *Observers) Deadlock(m Machine) (enabled int, blocked []int) {
	for t := range m.NumThreads() {
		if o.Has(t) {
			continue
		}
		mark := m.Mark()
		out := m.Step(t, 0)
		m.Rewind(mark)
		switch {
		case out.Kind == Moved:
			return t, blocked
		case out.Kind == Blocked && !out.AtEnd:
			blocked = append(blocked, t)
		}
	}
	return -1, blocked
}
