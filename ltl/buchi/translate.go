package buchi

import (
	"cmp"
	"fmt"
	"slices"

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
		return fmt.Sprintf("buchi: the automaton of the formula grows too large (%s: %v)", e.Stage,
			e.Err)
	}
	return fmt.Sprintf("buchi: the automaton of the formula grows too large (%s: more than %d)",
		e.Stage, e.Limit)
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
	return t.automaton(g)
}

// translation is the state of one call of Translate.
type translation struct {
	atoms     []string
	f         ltl.Formula // simplified
	s         *ltl.Simplifier
	m         *bdd.Manager
	vars      *variables
	maxStates int

	negated       *graph // see negation
	triedNegation bool
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
		return nil, &AtomsError{fmt.Sprintf("%d atoms, at most %d are possible", len(t.atoms),
			MaxAtoms)}
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
	t.vars = newVariables(t.f, t.atoms)
	t.m = bdd.New(0)
	return t, nil
}

// build makes a tableau for f and brings it into shape.
func (t *translation) build(f ltl.Formula, st style, limit bounds) (*graph, error) {
	// Each stage has its own share of nodes, so that one which fails and can be
	// done without takes nothing from the next.
	t.m.Allow(limit.nodes)
	g, err := newTableau(t.m, t.vars, st).build(f, limit)
	t.allow()
	if err != nil {
		return nil, err
	}
	g = g.trim()
	g.dropSets()
	g = g.reduce()
	g.dropSetsPerComponent()
	g = g.reduce()
	return g, t.full("simulation")
}

func (t *translation) allow() { t.m.Allow(t.nodes()) }

// nodes is the share of a stage. A state of a tableau costs some dozens.
func (t *translation) nodes() int { return max(1<<16, 50*t.maxStates) }

// small is the number of edges up to which all alternatives are tried, and
// smallNodes the nodes that an alternative may cost.
const (
	small      = 300
	smallNodes = 1 << 14
)

// generalised returns the reduced tableaux of all styles that stay small, at least that
// of the plain style.
func (t *translation) generalised(f ltl.Formula) ([]*graph, error) {
	g, err := t.build(f, style{}, bounds{t.maxStates, 20 * t.maxStates, t.nodes()})
	if err != nil {
		return nil, err
	}
	gs := []*graph{g}
	if g.edges() > small {
		return gs, nil
	}
	limit := bounds{min(t.maxStates, 20+4*len(g.out)), 10 * small, smallNodes}
	for _, st := range []style{{split: true}, {split: true, postpone: true}} {
		if g, err := t.build(f, st, limit); err == nil && g.edges() <= small {
			gs = append(gs, g)
		}
	}
	return gs, nil
}

func (t *translation) full(stage string) error {
	if err := t.m.Err(); err != nil {
		return &TooLargeError{Stage: stage, Err: err}
	}
	return nil
}

// smaller orders by states, then states with a choice, then edges.
func smaller(g, h *graph) bool {
	return cmp.Or(cmp.Compare(len(g.out), len(h.out)), cmp.Compare(g.nondeterministic(),
		h.nondeterministic()),
		cmp.Compare(g.edges(), h.edges())) < 0
}

// stateBased returns the smallest automaton with state-based acceptance that it finds.
func (t *translation) stateBased() (*graph, error) {
	f, recurring := suspend(t.f)
	gs, err := t.generalised(f)
	if err != nil {
		return nil, err
	}
	t.allow()
	var conditions []bdd.Node
	for _, g := range recurring {
		conditions = append(conditions, newTableau(t.m, t.vars, style{}).expand(g, false))
	}
	var best *graph
	if len(conditions) == 0 {
		best = t.weak(gs)
	}
	var tried []*graph // small formulas have the same graph in several ways
	try := func(g *graph, modes []markMode, choices []bool) {
		for _, mode := range modes {
			moved := g.clone()
			moved.moveMarks(mode)
			if slices.ContainsFunc(tried, moved.equal) {
				continue
			}
			tried = append(tried, moved)
			t.allow()
			flat := moved.degeneralise(conditions)
			for _, most := range choices {
				for _, transient := range choices {
					t.allow()
					d := flat.clone()
					d.setFinals(most)
					d.markTransientStates(transient)
					d = d.reduceFinal(most, transient)
					if t.m.Err() == nil && (best == nil || smaller(d, best)) {
						best = d
					}
				}
			}
		}
	}
	for _, g := range gs {
		if g.edges() <= small {
			try(g, []markMode{marksAsTheyAre, marksSaturated, marksPulled, marksPushed},
				[]bool{true, false})
		} else {
			try(g, []markMode{marksPulled}, []bool{true})
		}
	}
	if best == nil {
		return nil, &TooLargeError{Stage: "degeneralisation", Err: bdd.ErrTooLarge}
	}
	t.allow()
	if n := t.negation(); n != nil && best.edges() <= small {
		for {
			merged := best.mergeStates(n)
			if merged == best || t.m.Err() != nil {
				break
			}
			if merged = merged.reduceFinal(true, true); t.m.Err() != nil {
				break
			}
			best = merged
		}
	}
	if len(best.out) > t.maxStates {
		return nil, &TooLargeError{Stage: "states", Limit: t.maxStates}
	}
	return best, nil
}

// reduceFinal reduces a state-based automaton; the final marks that make no
// difference to the language are chosen again after each step.
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

// minSuspended is the number of recurring conditions from which on they are kept out of the
// tableau, which needs 2^n edges for n of them. With fewer the automata are smaller if they are
// not.
const minSuspended = 5

// suspend takes from f = g && []<>p1 && []<>p2 && ... the Boolean formulas p1, p2, ... , as many
// fairness assumptions have it, and returns g and them.
func suspend(f ltl.Formula) (g ltl.Formula, recurring []ltl.Formula) {
	parts := []ltl.Formula{f}
	if f.Op() == ltl.OpAnd {
		parts = f.Operands()
	}
	var rest []ltl.Formula
	for _, p := range parts {
		if p.Op() != ltl.OpAlways {
			rest = append(rest, p)
			continue
		}
		always := p.Operands()[0]
		body := []ltl.Formula{always}
		if always.Op() == ltl.OpAnd {
			body = always.Operands()
		}
		var keep []ltl.Formula
		for _, b := range body {
			if b.Op() == ltl.OpEventually && b.Operands()[0].Is(ltl.Boolean) {
				recurring = append(recurring, b.Operands()[0])
			} else {
				keep = append(keep, b)
			}
		}
		rest = append(rest, ltl.Always(ltl.And(keep...)))
	}
	if len(recurring) < minSuspended {
		return f, nil
	}
	return ltl.And(rest...), recurring
}

// weak returns the minimal weak deterministic automaton if the language is an obligation, else nil.
func (t *translation) weak(gs []*graph) *graph {
	g := gs[0]
	for _, h := range gs[1:] {
		if smaller(h, g) {
			g = h
		}
	}
	limit := min(t.maxStates, 50+20*len(g.out), maxSubsets)
	w := g.minimalWeak(limit)
	if w == nil || t.m.Err() != nil {
		return nil
	}
	if !t.f.Is(ltl.Obligation) {
		if !g.disjoint(w.complement()) {
			return nil
		}
		if n := t.negation(); n == nil || !n.disjoint(w) {
			return nil
		}
	}
	return w.trim()
}

// negation returns an automaton for the words that do not satisfy the formula,
// nil if that is too large.
func (t *translation) negation() *graph {
	if t.negated == nil && !t.triedNegation {
		t.triedNegation = true
		f := t.s.Simplify(ltl.Not(t.f))
		if _, recurring := suspend(f); recurring != nil {
			return nil // it would be too large
		}
		g, err := t.build(f, style{}, bounds{t.maxStates, 10 * small, smallNodes})
		if err == nil && g.edges() <= small {
			t.negated = g
		}
	}
	return t.negated
}

// automaton converts to the exported form.
func (t *translation) automaton(g *graph) (*Automaton, error) {
	a := &Automaton{Atoms: t.atoms, Init: g.init, Accepting: g.final,
		Out: make([][]Transition, len(g.out))}
	t.allow()
	for q, es := range g.out {
		for _, e := range es {
			for _, cube := range t.m.SumOfProducts(e.label) {
				a.Out[q] = append(a.Out[q], Transition{t.label(cube), e.dst})
			}
		}
	}
	return a, t.full("labels")
}

func (t *translation) label(c bdd.Cube) Label {
	var l Label
	for _, lit := range c {
		if bit, _ := t.vars.atomBit(lit.Var); lit.Neg {
			l.Neg |= 1 << bit
		} else {
			l.Pos |= 1 << bit
		}
	}
	return l
}
