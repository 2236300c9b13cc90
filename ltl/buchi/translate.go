package buchi

import (
	"cmp"
	"fmt"

	"cpor/ltl"
	"cpor/ltl/buchi/internal/bdd"
)

// DefaultMaxStates is the limit on states where Options says nothing.
const DefaultMaxStates = 10000

// Options of a translation. The zero value is the default.
type Options struct {
	// Atoms fixes the numbers of the atoms: the atom Atoms[i] gets bit i. It has to
	// contain those of the formula, and may have more. If nil, the atoms of the formula are
	// numbered in alphabetical order.
	Atoms []string

	// MaxStates limits the states of the result and of all automata on the
	// way to it, and indirectly memory. 0 means DefaultMaxStates.
	MaxStates int
}

// TooLargeError says that a translation was stopped at a limit.
type TooLargeError struct {
	Stage string // what was being built
	Limit int    // the limit that was exceeded
	Err   error  // the reason, if it was not the number of states
}

// Error says which limit was exceeded.
func (e *TooLargeError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("buchi: the automaton of the formula grows too large (%s: %v)", e.Stage, e.Err)
	}
	return fmt.Sprintf("buchi: the automaton of the formula grows too large (%s: more than %d)", e.Stage, e.Limit)
}

// Unwrap returns Err.
func (e *TooLargeError) Unwrap() error { return e.Err }

// AtomsError says that the atoms of a formula do not fit Options.Atoms or MaxAtoms.
type AtomsError struct {
	Msg string
}

// Error returns the message.
func (e *AtomsError) Error() string { return "buchi: " + e.Msg }

// Translate returns a Büchi automaton that accepts exactly the words that satisfy
// f. The same formula and options give the same automaton. Errors are of type
// *AtomsError and *TooLargeError.
func Translate(f ltl.Formula, o Options) (*Automaton, error) {
	t, err := newTranslation(f, o)
	if err != nil {
		return nil, err
	}
	g, err := t.stateBased()
	if err != nil {
		return nil, err
	}
	return t.automaton(g), nil
}

// TranslateGeneralised returns a transition-based generalised Büchi automaton for f: the stage
// before the degeneralisation. Errors as for Translate.
func TranslateGeneralised(f ltl.Formula, o Options) (*Generalised, error) {
	t, err := newTranslation(f, o)
	if err != nil {
		return nil, err
	}
	gs, err := t.generalised()
	if err != nil {
		return nil, err
	}
	best := gs[0]
	for _, g := range gs[1:] {
		if smaller(g, best) {
			best = g
		}
	}
	return t.export(best), nil
}

// translation is the state of one call of Translate.
type translation struct {
	atoms     []string
	f         ltl.Formula // simplified
	s         *ltl.Simplifier
	m         *bdd.Manager
	tableau   *tableau
	maxStates int
}

func newTranslation(f ltl.Formula, o Options) (*translation, error) {
	t := &translation{atoms: o.Atoms, maxStates: o.MaxStates, s: ltl.NewSimplifier()}
	if t.maxStates <= 0 {
		t.maxStates = DefaultMaxStates
	}
	used := f.Atoms()
	if t.atoms == nil {
		t.atoms = used
	}
	if len(t.atoms) > MaxAtoms {
		return nil, &AtomsError{fmt.Sprintf("%d atoms, at most %d are possible", len(t.atoms), MaxAtoms)}
	}
	known := map[string]bool{}
	for _, a := range t.atoms {
		if known[a] {
			return nil, &AtomsError{fmt.Sprintf("atom %q is listed twice", a)}
		}
		known[a] = true
	}
	for _, a := range used {
		if !known[a] {
			return nil, &AtomsError{fmt.Sprintf("atom %q of the formula is not listed", a)}
		}
	}
	t.f = t.s.Simplify(f)
	// A state of a tableau costs some hundred nodes.
	t.m = bdd.New(max(1<<16, 500*t.maxStates))
	t.tableau = newTableau(t.m, t.atoms)
	return t, nil
}

// styles are the ways to build the tableau that are tried; see style.
var styles = []style{{split: true, postpone: true}, {split: true}, {}}

// generalised returns the reduced tableaux of all styles that stay below the limit.
func (t *translation) generalised() ([]*graph, error) {
	var gs []*graph
	var first error
	for _, st := range styles {
		g, err := t.tableau.build(t.f, st, t.maxStates)
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		g = g.trim()
		g.dropSets()
		g = g.reduce()
		g.dropSetsPerComponent()
		gs = append(gs, g.reduce())
	}
	if len(gs) == 0 {
		return nil, first
	}
	return gs, t.full("simulation")
}

func (t *translation) full(stage string) error {
	if err := t.m.Err(); err != nil {
		return &TooLargeError{Stage: stage, Limit: t.maxStates, Err: err}
	}
	return nil
}

// smaller orders by states, then edges.
func smaller(g, h *graph) bool {
	return cmp.Or(cmp.Compare(len(g.out), len(h.out)), cmp.Compare(g.edges(), h.edges())) < 0
}

// stateBased returns the smallest automaton with state-based acceptance that it finds.
func (t *translation) stateBased() (*graph, error) {
	gs, err := t.generalised()
	if err != nil {
		return nil, err
	}
	best := t.weak(gs)
	try := func(g *graph) {
		if best == nil || smaller(g, best) {
			best = g
		}
	}
	for _, g := range gs {
		for mode := range markModes {
			moved := g.clone()
			moved.moveMarks(mode)
			for _, most := range []bool{true, false} {
				for _, transient := range []bool{true, false} {
					d := moved.degeneralise()
					d.setFinals(most)
					d.markTransientStates(transient)
					try(d.reduceFinal(most, transient))
				}
			}
		}
	}
	if len(best.out) > t.maxStates {
		return nil, &TooLargeError{Stage: "states", Limit: t.maxStates}
	}
	return best, t.full("degeneralisation")
}

// reduceFinal reduces a state-based automaton; the final marks that make no
// difference to the language are chosen anew after each step.
func (g *graph) reduceFinal(most, transient bool) *graph {
	for {
		states, edges := len(g.out), g.edges()
		g = g.reduceBySimulation(false)
		g.setFinals(most)
		g.markTransientStates(transient)
		g = g.reduceBySimulation(true)
		g.setFinals(most)
		g.markTransientStates(transient)
		if len(g.out) == states && g.edges() >= edges {
			return g.trim()
		}
	}
}

// weak returns the minimal weak deterministic automaton if the language is an obligation, else nil.
func (t *translation) weak(gs []*graph) *graph {
	g := gs[0]
	for _, h := range gs[1:] {
		if smaller(h, g) {
			g = h
		}
	}
	limit := min(t.maxStates, 50+20*len(g.out))
	w := g.minimalWeak(limit)
	if w == nil {
		return nil
	}
	if !t.f.Is(ltl.Obligation) {
		if !g.disjoint(w.complement()) {
			return nil
		}
		negation, err := t.tableau.build(t.s.Simplify(ltl.Not(t.f)), styles[0], t.maxStates)
		if err != nil || !negation.trim().disjoint(w) {
			return nil
		}
	}
	return w.trim()
}

// automaton converts to the exported form.
func (t *translation) automaton(g *graph) *Automaton {
	a := &Automaton{Atoms: t.atoms, Init: g.init, Accepting: g.final, Out: make([][]Transition, len(g.out))}
	for q, es := range g.out {
		for _, e := range es {
			for _, cube := range t.m.SumOfProducts(e.label) {
				a.Out[q] = append(a.Out[q], Transition{labelOf(cube), e.dst})
			}
		}
	}
	return a
}

func (t *translation) export(g *graph) *Generalised {
	a := &Generalised{Atoms: t.atoms, Init: g.init, Sets: g.sets, Out: make([][]GeneralisedTransition, len(g.out))}
	for q, es := range g.out {
		for _, e := range es {
			for _, cube := range t.m.SumOfProducts(e.label) {
				a.Out[q] = append(a.Out[q], GeneralisedTransition{labelOf(cube), e.acc, e.dst})
			}
		}
	}
	return a
}

func labelOf(c bdd.Cube) Label {
	var l Label
	for _, lit := range c {
		if lit.Neg {
			l.Neg |= 1 << lit.Var
		} else {
			l.Pos |= 1 << lit.Var
		}
	}
	return l
}
