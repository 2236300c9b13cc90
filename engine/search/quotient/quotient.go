// Package quotient turns a system with symmetries into the system of its orbits (Ip, Dill,
// Better verification through symmetry, Formal Methods in System Design 9, 1996; Clarke, Enders,
// Filkorn, Jha, Exploiting symmetry in temporal logic model checking, same issue). It is the
// same system, except that a state is encoded as the representative of its orbit, so a search
// with stored states covers each orbit once.
//
// # Why the verdict is exact
//
// Let G be the group of the system's symmetries ([system.Symmetric]). Each g in G is an
// automorphism: thread t has a transition from s to s', with or without a violation, if and only
// if thread g(t) has one from g(s) to g(s'), with a violation of the same kind and place. So if
// a state is reachable from s in n transitions, a state of its orbit is reachable in n
// transitions from any element of the orbit of s. By induction over n, a full search that
// replaces each state by the representative of its orbit covers exactly the orbits of the
// reachable states. Violations and deadlocks are the same throughout an orbit. The initial
// states need not be symmetric, since what is reached from one of them is compared only with
// what is reached from its own orbit.
//
// Cartesian vectors can be combined with it. Theorem 1 of Gueta et al. (2007) rests on one step:
// from a state s, a path to a local state, a violation or a deadlock that is not in the vector
// of s can be rearranged so that it begins with a prefix of the vector and is shorter from that
// prefix's end e. The step holds for the vector of any state by itself, whichever other states
// are expanded. Here e is replaced by g(e). From g(e), the image of the rest of the path, which
// has the same length, leads to the image of its end. So the induction over the path's length
// holds, and the vectors preserve the same up to G: every violation by kind and place, and every
// deadlock up to its orbit. A vector contains no representatives: its prefixes run on one live
// state.
//
// # Traces
//
// A path of the quotient is not a path of the system: from one step to the next, threads change
// places. [System.Lift] finds the execution that it represents. Whatever the quotient does, the
// system does in some state of the same orbit, by a transition that leads to the same orbit as
// well. The representative identifies the orbit.
package quotient

import (
	"errors"
	"slices"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/system"
	"cpor/trace"
)

// System is the quotient of a system. It implements [search.Quotient].
type System struct {
	plain   system.System
	sym     system.Symmetric
	initial []system.State
	from    []int // by initial state: the plain system's
}

var _ search.Quotient = (*System)(nil)

// New returns the quotient of a system. The error says that the system has no symmetry.
func New(sys system.System) (*System, error) {
	can := sys.Capabilities()
	sym := can.Symmetric
	if can.Symmetry() == "" {
		return nil, &engine.OptionError{
			Message: "-symmetry on needs a usable symmetry: declare one with symmetric thread, " +
				"or with type Pid symmetric(N); in a model with monitors or conditions, no " +
				"thread may create threads"}
	}
	q := &System{plain: sys, sym: sym}
	known := map[string]bool{}
	represent := sym.Representatives()
	for i, s := range sys.Initial() {
		s = slices.Clone(s)
		represent(s)
		if k := engine.StateString(s); !known[k] {
			known[k] = true
			q.initial, q.from = append(q.initial, s), append(q.from, i)
		}
	}
	return q, nil
}

// Initial implements [system.System]: the representatives.
func (q *System) Initial() []system.State { return q.initial }

// Capabilities implements [system.System]: a representative is a state of the plain system.
func (q *System) Capabilities() system.Capabilities {
	plain := q.plain.Capabilities()
	return system.Capabilities{
		Observing:   plain.Observing,
		Irreducible: plain.Irreducible,
		Symmetric:   plain.Symmetric,
		Beginning:   nil, // there are fewer initial states
		Counting:    plain.Counting,
		Remembering: plain.Remembering,
		Interning:   plain.Interning,
		Portable:    plain.Portable,
		Merging:     nil, // traces are those of the wrapped system
		Learning:    nil, // of the system it wraps, before
	}
}

// Plain implements [search.Quotient].
func (q *System) Plain() system.System { return q.plain }

// NewMachine implements [system.System].
func (q *System) NewMachine() system.Machine {
	m := &machine{q.plain.NewMachine(), q.sym.Representatives()}
	m.Load(q.initial[0])
	return m
}

// machine encodes representatives. Its live state is the state of the plain machine.
type machine struct {
	system.Machine
	represent func(system.State)
}

// Capabilities implements [system.Machine]: its live state is one of the plain machine.
func (m *machine) Capabilities() system.MachineCapabilities {
	plain := m.Machine.Capabilities()
	return system.MachineCapabilities{
		Pieces:        plain.Pieces,
		Renaming:      plain.Renaming,
		Futures:       plain.Futures,
		Shaped:        nil,
		Locking:       plain.Locking,
		Synchronising: plain.Synchronising,
		Temporal:      plain.Temporal,
		Unnumbered:    nil,
		Telling:       plain.Telling,
		Narrating:     plain.Narrating,
		Showing:       plain.Showing,
		Changing:      nil, // the representative can differ elsewhere
		Repeating:     nil, // likewise
		Adding:        plain.Adding,
		Updating:      plain.Updating,
		Costly:        nil,
		Expanding:     nil,
	}
}

// Encode implements [system.Machine].
func (m *machine) Encode(dst system.State) system.State {
	dst = m.Machine.Encode(dst)
	m.represent(dst)
	return dst
}

// Lift implements [search.Quotient].
func (q *System) Lift(initial int, parts [][]search.Step, wanted *system.Violation) (*trace.Trace,
	*system.Violation, error) {
	t := &trace.Trace{Initial: q.from[initial]}
	orbits, m := q.NewMachine(), q.NewMachine()
	orbits.Load(q.initial[initial])
	m.Load(q.plain.Initial()[t.Initial])
	var end, got system.State
	last := wanted
	for i, part := range parts {
		for j, st := range part {
			// The self-loops of blocked and ended threads are not steps of an execution.
			if st.Thread >= orbits.NumThreads() ||
				orbits.Step(st.Thread, st.Alt).Kind != system.Moved {
				continue
			}
			end = orbits.Encode(end)
			must := wanted
			if i < len(parts)-1 || j < len(part)-1 || wanted.Kind == system.Deadlock {
				must = nil
			}
			step, v, ok := find(m, end, must, &got)
			if !ok {
				return nil, nil, errors.New("no transition leads to the orbit that comes next")
			}
			t.Steps = append(t.Steps, step)
			if v != nil {
				last = v
			}
		}
		end = orbits.Encode(end)
		orbits.Load(end)
	}
	return t, last, nil
}

// find takes a transition that leads into the orbit with the representative end, with a
// violation like the wanted one if that is not nil.
func find(m system.Machine, end system.State, wanted *system.Violation,
	got *system.State) (step search.Step, v *system.Violation, ok bool) {
	mark := m.Mark()
	for t := range m.NumThreads() {
		for alt, more := uint64(0), true; more; {
			out := m.Step(t, alt)
			if wanted != nil {
				v = out.Violation.Find(wanted)
			}
			if out.Kind == system.Moved && (wanted == nil || v != nil) {
				*got = m.Encode(*got)
				if slices.Equal(*got, end) {
					return search.Step{Thread: t, Alt: alt}, v, true
				}
			}
			m.Rewind(mark)
			alt, more = out.Next, out.Kind == system.Moved && out.Next != 0
		}
	}
	return step, nil, false
}
