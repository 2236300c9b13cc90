package cartesian

import (
	"slices"

	"cpor/system"
)

// Vector is the cartesian vector of a state.
type Vector struct {
	Start    system.State
	Prefixes []Prefix // in the order of the threads
}

// Prefix is one prefix of a vector: a path of transitions of one thread.
type Prefix struct {
	Thread int
	Alt    uint64 // the alternative of the first transition; the others have one only
	// Transitions are the transitions of the prefix, at least one. Only the
	// last can be the self-loop of a blocked or an ended thread.
	Transitions []Transition
	// Infinite means that nothing has to be explored from the end.
	Infinite bool
	End      system.State
}

// Transition is one transition of a prefix.
type Transition struct {
	Outcome  system.Outcome
	Accesses []system.Access
}

// Vector computes the cartesian vector of a state. The counters stay as they
// are.
func (e *Expander) Vector(s system.State) *Vector {
	counters := e.counters
	recording := e.recording
	e.visitor, e.recording = nil, true
	e.calc(s)
	e.counters, e.recording = counters, recording
	return e.vector(s)
}

// vector copies the vector that calc has left.
func (e *Expander) vector(s system.State) *Vector {
	v := &Vector{Start: slices.Clone(s)}
	for _, p := range e.prefixes {
		v.Prefixes = append(v.Prefixes, Prefix{
			Thread: int(p.thread), Alt: p.alt, Transitions: p.transitions,
			Infinite: p.infinite, End: slices.Clone(e.endState(p, s)),
		})
	}
	return v
}

// record keeps the last transition of a prefix.
func (p *prefix) record(out system.Outcome) {
	p.transitions = append(p.transitions,
		Transition{Outcome: out, Accesses: slices.Clone(p.accesses)})
}
