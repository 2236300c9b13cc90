package composed

import (
	"errors"
	"slices"

	"cpor/system"
	"cpor/trace"
)

// System is C(M): the system whose transitions are composed ones, for searches that are not
// expanders. Its machine behaves like one of the wrapped system, but a step of a thread also
// takes the invisible transitions that follow. The step's accesses are its net effect: a lock
// that it has acquired and released counts as read.
//
// So a method that holds a lock throughout is one operation, and if all it does to a location is an
// addition, so is the access: two deposits commute. All conditions of [system.Op] hold for the
// composed transition, too. Only the parts that add access the location, each with an operation of
// its own or in two halves ([system.Updating]), between which no other thread runs; so each does
// the same behind fewer or more additions of other threads, and what the parts between them
// do does not depend on the location. Additions of one sign add up, and the one with the least room
// decides. Where the transition ends depends on the next one as well: what decides that is
// among the accesses, as ordinary reads. A limit or a cycle ends a transition in a state that can
// depend on everything; then all its accesses are ordinary. Other operations become ordinary, too:
// after two stores of a number, a cycle depends on what was there before. A queue by hand that is
// neither empty nor full counts with both signs, which the dynamic reduction does not exchange;
// channels it does.
//
// A composed transition ends before the next visible one, so no other thread misses a turn. It
// also ends after MaxInvisible transitions or in a cycle, so it always ends. A system with a
// cycle of invisible transitions stays cyclic. A step can violate several properties, since a
// thread continues after a violation of the locking discipline: they are chained
// (system.Violation.Also).
//
// Of what the wrapped machine offers besides the core, everything about a state, about how a
// thread blocks and about its future accesses holds for composed transitions, too. StepOn takes
// a single transition.
type System struct {
	system.System
	o Options
}

// NewSystem wraps sys. The error is ErrObservers, ErrNoLocks or ErrSingle.
func NewSystem(sys system.System, o Options) (*System, error) {
	if o.InvisibleFirst || o.Persistent || o.Sleep {
		return nil, ErrSingle
	}
	if _, err := newExpander(sys, o, nil); err != nil {
		return nil, err
	}
	return &System{sys, o}, nil
}

// Capabilities implements [system.System]: the states are those of the wrapped system.
func (s *System) Capabilities() system.Capabilities {
	inner := s.System.Capabilities()
	return system.Capabilities{
		Observing:   inner.Observing,
		Irreducible: inner.Irreducible,
		Symmetric:   inner.Symmetric,
		Beginning:   inner.Beginning,
		Counting:    inner.Counting,
		Remembering: inner.Remembering,
		Interning:   inner.Interning,
		Portable:    inner.Portable,
		Merging:     nil, // its own steps are composed
		Learning:    nil, // of the system it wraps, before
	}
}

// NewMachine implements [system.System].
func (s *System) NewMachine() system.Machine { return s.newMachine() }

func (s *System) newMachine() *machine {
	x, _ := newExpander(s.System, s.o, nil) // the same system is as good as before
	c := x.m.Capabilities()
	return &machine{Machine: x.m, x: x, updating: c.Updating}
}

// Single returns a trace of the wrapped system that takes the transitions of a trace of this
// one. It ends where the property of t's claim is violated.
func (s *System) Single(t *trace.Trace) (*trace.Trace, error) {
	single := &trace.Trace{Initial: t.Initial, Violation: t.Violation}
	m := s.newMachine()
	m.Load(s.Initial()[t.Initial])
	for i, st := range t.Steps {
		mark := m.Mark()
		if out := m.Step(st.Thread, st.Alt); out.Kind != system.Moved {
			return nil, errors.New("a composed transition of the trace is not enabled")
		}
		steps := slices.Clone(m.x.tail)
		if i < len(t.Steps)-1 || t.Violation == nil || t.Violation.Kind == system.Deadlock {
			single.Steps = append(single.Steps, steps...)
			continue
		}
		m.Rewind(mark)
		for _, last := range steps {
			single.Steps = append(single.Steps, last)
			if out := m.Machine.Step(last.Thread, last.Alt); out.Violation.Find(
				t.Violation) != nil {
				break
			}
		}
	}
	return single, nil
}

// machine takes composed transitions.
type machine struct {
	system.Machine
	x        *Expander
	updating system.Updating // of Machine; nil if no operation takes two transitions
	accesses []system.Access
	parts    []part // what each of accesses is so far
}

// Capabilities implements [system.Machine]: everything about states, and about single
// transitions what holds for all that follow as well.
func (m *machine) Capabilities() system.MachineCapabilities {
	inner := m.Machine.Capabilities()
	return system.MachineCapabilities{
		Pieces:        inner.Pieces,
		Renaming:      inner.Renaming,
		Futures:       inner.Futures,
		Shaped:        nil, // a composed transition may access more
		Locking:       inner.Locking,
		Synchronising: inner.Synchronising,
		Temporal:      inner.Temporal,
		Unnumbered:    nil,
		Telling:       inner.Telling,
		Narrating:     inner.Narrating,
		Showing:       inner.Showing,
		Changing:      nil, // not asked for
		Repeating:     nil, // it tells of single transitions
		Adding:        nil, // likewise
		Updating:      nil, // one composed transition has both halves
		Costly:        nil,
		Expanding:     nil,
	}
}

// Track implements [system.Machine]. Accesses are always recorded, because they decide where a
// composed transition ends.
func (m *machine) Track(bool) {}

// Accesses implements [system.Machine].
func (m *machine) Accesses() []system.Access { return m.accesses }

// part is what the transitions of a composed one have done to a location so far.
type part uint8

const (
	ordinary     part = iota
	read              // once, which may be the first half of an addition
	addition          // alone
	additionRead      // an addition, and then a read
)

// gather adds the accesses of a transition to those of the composed one.
func (m *machine) gather(accesses []system.Access) {
	var updated system.Access
	if m.updating != nil {
		updated, _ = m.updating.Updated()
	}
	for _, a := range accesses {
		i := slices.IndexFunc(m.accesses, func(b system.Access) bool { return b.Loc == a.Loc })
		switch {
		case i >= 0:
			m.join(i, a, updated)
		case a.Op.Adds() != 0:
			m.accesses, m.parts = append(m.accesses, a), append(m.parts, addition)
		default:
			p := ordinary
			if !a.Write {
				p = read
			}
			m.accesses = append(m.accesses, system.Access{Loc: a.Loc, Write: a.Write})
			m.parts = append(m.parts, p)
		}
	}
}

// join adds an access to accesses[i], which has the same location.
func (m *machine) join(i int, a, updated system.Access) {
	b, p := &m.accesses[i], m.parts[i]
	if a.Write && updated.Op != 0 && a.Loc == updated.Loc {
		switch p {
		case read:
			*b, m.parts[i] = updated, addition
			return
		case additionRead:
			a, p = updated, addition
		}
	}
	if p == addition && !a.Write && a.Op == 0 {
		m.parts[i] = additionRead
		return
	}
	if p == addition && b.Op.Like(a.Op) && b.Write && a.Write {
		if both := system.Addition(int64(b.Op.Adds() + a.Op.Adds())); both != 0 {
			b.Op, b.Room, m.parts[i] = both, min(b.Room, a.Room), addition
			return
		}
	}
	m.parts[i] = ordinary
	b.Write = b.Write || a.Write
}

// Step implements [system.Machine].
func (m *machine) Step(t int, alt uint64) system.Outcome {
	inner := m.Machine
	start := inner.Mark()
	first := inner.Step(t, alt)
	m.accesses, m.parts = m.accesses[:0], m.parts[:0]
	if first.Kind != system.Moved {
		m.accesses = append(m.accesses, inner.Accesses()...)
		return first
	}
	var violations []system.Violation
	whole := m.x.follow(t, alt, first,
		func(v *system.Violation) {
			for ; v != nil; v = v.Also {
				violations = append(violations, *v)
			}
		},
		m.gather)
	for i := range m.accesses {
		if m.parts[i] != addition || !whole {
			m.accesses[i].Op, m.accesses[i].Room = 0, 0
		}
	}
	if len(m.x.tail) > 1 && slices.ContainsFunc(m.accesses, m.x.synchronises) {
		// Going back gives the earlier values.
		m.x.net(m.accesses, start)
		for _, s := range m.x.tail {
			inner.Step(s.Thread, s.Alt)
		}
	}
	out := first
	out.Violation = nil
	for i := len(violations) - 1; i >= 0; i-- {
		violations[i].Also = out.Violation
		out.Violation = &violations[i]
	}
	return out
}
