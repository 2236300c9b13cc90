package temporal

import (
	"errors"
	"fmt"
	"slices"

	"cpor/engine"
	"cpor/ltl"
	"cpor/ltl/buchi"
	"cpor/system"
	"cpor/trace"
)

// Counterexample is an execution that does not satisfy a formula: a stem and a
// loop that is repeated forever. With an empty loop no thread is enabled after
// the stem, and the execution stays there.
type Counterexample struct {
	Property engine.Property
	Part     ltl.Formula // the violated conjunct, or the whole formula
	Initial  int
	Stem     []trace.Step
	Loop     []trace.Step
	// Prefix: however the execution continues after the stem, it does not satisfy the formula.
	// Then there is no loop.
	Prefix bool

	// What the replay found.
	Record *trace.Record // of stem and loop
	Props  []string      // the propositions of Part
	// Values has for each state of the replay, the initial one first, the values
	// of Props: 1 + len(Stem) + len(Loop) rows.
	Values [][]bool
	states []itfState
	// undefined is a proposition that could not be evaluated.
	undefined *system.Violation
}

// Lasso implements engine.Looping.
func (x *Counterexample) Lasso() (p engine.Property, t *trace.Trace, loop int) {
	loop = len(x.Stem)
	if x.Prefix {
		loop = -1
	}
	return x.Property, &trace.Trace{Initial: x.Initial, Steps: slices.Concat(x.Stem, x.Loop)}, loop
}

// counterexample makes an execution of the cycle that a search has found, and verifies it.
func (c *checker) counterexample(s *exploration, parts []ltl.Formula) (*Counterexample, error) {
	e := s.strong
	if e == nil && !c.o.KeepTraces {
		e = s.nearby()
	}
	if e == nil {
		e = s.led
	}
	if e == nil {
		e, _ = s.induced(s.lasso).short()
	}
	if e == nil {
		return nil, fmt.Errorf("internal error: there is no cycle where the search has found one")
	}
	x := &Counterexample{Property: c.p, Initial: e.initial, Stem: e.stem, Loop: e.loop}
	var err error
	for _, x.Part = range parts {
		if err = x.replay(c.sys, &c.o); err == nil {
			break
		}
		if !errors.Is(err, errHolds) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("internal error: the counterexample of %s: %w", c.p.Name, err)
	}
	if !x.trim() {
		return x, nil
	}
	if err := x.replay(c.sys, &c.o); err != nil {
		return nil, fmt.Errorf("internal error: the counterexample of %s, shortened: %w", c.p.Name,
			err)
	}
	return x, nil
}

// unproven says why an execution, each of whose steps can be taken, is not a counterexample.
type unproven string

func (u unproven) Error() string { return string(u) }

// errHolds says that a formula holds on an execution.
var errHolds = unproven("the formula holds on it")

// trim moves steps from the end of the stem that the loop repeats into the
// loop: a b (c b)* is a (b c)*. It reports whether there were any.
func (x *Counterexample) trim() (any bool) {
	for len(x.Stem) > 0 && len(x.Loop) > 0 && x.Stem[len(x.Stem)-1] == x.Loop[len(x.Loop)-1] {
		// Only if the state before the step is the same both times.
		n := len(x.Stem)
		if !slices.Equal(x.states[n-1].encoded, x.states[n+len(x.Loop)-1].encoded) {
			return any
		}
		any = true
		last := x.Stem[n-1]
		x.Stem = x.Stem[:n-1]
		x.Loop = append([]trace.Step{last}, x.Loop[:len(x.Loop)-1]...)
		x.states = slices.Concat(x.states[:n], x.states[n:len(x.states)-1])
	}
	return any
}

// replay executes the steps by the plain semantics and checks that the
// execution is one, that its loop is a loop, that the formula does not hold on
// it, and that it is fair if it must be.
func (x *Counterexample) replay(sys system.System, o *Options) error {
	t := &trace.Trace{Initial: x.Initial, Steps: slices.Concat(x.Stem, x.Loop)}
	rec, err := t.Record(sys)
	if err != nil {
		return err
	}
	x.Record = rec
	m, labels, err := temporal(sys)
	if err != nil {
		return err
	}
	obs := system.ObserversOf(sys)
	number := numbers(labels)
	x.Props = x.Part.Atoms()
	m.Load(sys.Initial()[x.Initial])
	m.Track(true)
	x.Values, x.states = nil, nil
	word := ltl.Lasso{Atoms: x.Props}
	// The threads that moved or were disabled in the loop, those that moved, and those that were
	// enabled.
	var met, moved, on map[int]bool
	look := func() {
		letter := x.look(labels, number)
		x.states = append(x.states, observe(&obs, m))
		switch k := len(x.Values) - 1; {
		case k < len(x.Stem):
			word.Stem = append(word.Stem, letter)
		case k < len(x.Stem)+max(1, len(x.Loop)):
			word.Loop = append(word.Loop, letter)
			if met == nil {
				met, moved, on = map[int]bool{}, map[int]bool{}, map[int]bool{}
			}
			enabled(&obs, m, met, on)
		}
	}
	look()
	for i, s := range t.Steps {
		if out := m.Step(s.Thread, s.Alt); out.Kind != system.Moved {
			return fmt.Errorf("step %d is not enabled", i+1)
		}
		if i >= len(x.Stem) {
			met[s.Thread], moved[s.Thread] = true, true
		}
		look()
	}
	switch {
	case x.Property.Modality != ltl.Linear:
		return x.unreachable(&obs, m, labels, number)
	case x.Prefix:
		return x.excluded(word)
	}
	if len(x.Loop) == 0 {
		if len(met) != running(&obs, m) {
			return unproven("the execution ends where a thread is enabled")
		}
	} else if !slices.Equal(x.states[len(x.Stem)].encoded, x.states[len(x.states)-1].encoded) {
		return unproven("the loop does not end where it begins")
	}
	if o.Fair && len(met) != running(&obs, m) {
		return unproven("the loop is not fair")
	}
	if o.Strong && len(moved) < len(on) { // who moved was enabled
		return unproven("the loop is not strongly fair")
	}
	if holds, err := x.Part.Holds(word); err != nil || !holds {
		return err
	}
	return errHolds
}

// look appends the values of the atoms in the live state, and returns them as a letter.
func (x *Counterexample) look(labels system.Temporal, number map[string]int) (letter uint64) {
	var row []bool
	for i, name := range x.Props {
		// One that cannot be evaluated does not matter here: the search has ensured that.
		holds, fault := labels.Eval(number[name])
		if fault != nil && x.undefined == nil {
			x.undefined = fault
		}
		row = append(row, holds)
		if holds {
			letter |= 1 << i
		}
	}
	x.Values = append(x.Values, row)
	return letter
}

// running counts the threads that are not observers.
func running(obs *system.Observers, m system.Machine) (threads int) {
	for u := range m.NumThreads() {
		if !obs.Has(u) {
			threads++
		}
	}
	return threads
}

// enabled adds the threads that are not enabled in the live state to off, the others to on.
func enabled(obs *system.Observers, m system.Machine, off, on map[int]bool) {
	for u := range m.NumThreads() {
		if obs.Has(u) {
			continue
		}
		mark := m.Mark()
		if out := m.Step(u, 0); out.Kind != system.Moved {
			off[u] = true
		} else {
			on[u] = true
		}
		m.Rewind(mark)
	}
}

// excluded checks that no continuation of the stem, whose letters are all but the last of the
// word's, satisfies the formula: no run of its automaton is left behind them.
func (x *Counterexample) excluded(word ltl.Lasso) error {
	a, err := buchi.Translate(x.Part, buchi.Options{})
	if err != nil {
		return err
	}
	bit := map[string]int{}
	for i, name := range word.Atoms {
		bit[name] = i
	}
	at := map[int]bool{}
	if !a.Empty() {
		at[a.Init] = true
	}
	for _, letter := range slices.Concat(word.Stem, word.Loop) {
		own := uint64(0)
		for i, name := range a.Atoms {
			own |= letter >> bit[name] & 1 << i
		}
		next := map[int]bool{}
		for q := range at {
			for _, t := range a.Out[q] {
				if t.Label.Matches(own) {
					next[t.Dst] = true
				}
			}
		}
		at = next
	}
	if len(at) > 0 {
		return unproven("the steps can go on in a way that satisfies the formula")
	}
	return nil
}

// Judge reports whether an execution of t's only property violates it. Loop is the index of the
// first step of those that are repeated forever, the number of steps if the last state is, and
// -1 if the execution is the beginning of all those that continue so. The account shows the
// execution in any case; why explains why it is not a violation, and is empty if it is one. A
// fault is a part of the formula that cannot be evaluated in a state of the execution.
func Judge(t *engine.Task, execution *trace.Trace, loop int) (account *Counterexample, why string,
	fault *system.Violation, err error) {
	p := t.Properties[0]
	if p.Modality != ltl.Linear {
		return nil, judgedAlone(&p).Error(), nil, nil
	}
	sys := t.System
	if p.System != nil {
		sys = p.System
	}
	stem := loop
	if loop < 0 {
		stem = len(execution.Steps)
	}
	x := &Counterexample{Property: p, Part: p.Formula, Initial: execution.Initial,
		Stem: execution.Steps[:stem], Loop: execution.Steps[stem:], Prefix: loop < 0}
	err = x.replay(sys, &Options{Options: t.Options, Fair: fair.Of(t.Flags),
		Strong: strong.Of(t.Flags)})
	var no unproven
	switch {
	case errors.As(err, &no):
		why, err = no.Error(), nil
		if no == errHolds {
			why = p.Called() + " holds on it"
		}
	case err != nil:
		return nil, "", nil, err
	}
	return x, why, x.undefined, nil
}
