package buchi

import "cpor/ltl/buchi/internal/bdd"

// Strength says what a search has to look for among the runs that stay in the strongly
// connected component of a state.
type Strength uint8

const (
	// Rejecting: no run that stays here is accepting.
	Rejecting Strength = iota
	// Strong: some cycles have an accepting state and some do not.
	Strong
	// Weak: every run that stays here is accepting, any cycle of the product will do.
	Weak
	// Terminal: weak, and there is a transition for every letter inside the component, so that all
	// continuations are accepted. A finite path to it is a counterexample.
	Terminal
)

// String is the name in lower case.
func (s Strength) String() string {
	return [...]string{"rejecting", "strong", "weak", "terminal"}[min(s, Terminal)]
}

// Strengths returns the strength of each state's component.
func (a *Automaton) Strengths() []Strength {
	m := bdd.New(1 << 16)
	g := &graph{m: m, init: a.Init, out: make([][]edge, len(a.Out)), final: a.Accepting}
	for q, ts := range a.Out {
		for _, t := range ts {
			label := bdd.True
			for i := range a.Atoms {
				v := m.Var(i)
				if t.Label.Pos>>i&1 == 1 {
					label = m.And(label, v)
				}
				if t.Label.Neg>>i&1 == 1 {
					label = m.Diff(label, v)
				}
			}
			g.out[q] = append(g.out[q], edge{label: label, dst: t.Dst})
		}
	}
	s := g.structure()
	kind := make([]Strength, s.count)
	for c := range kind {
		if s.accepting[c] {
			kind[c] = Terminal
		}
	}
	for q := range g.out {
		c := s.comp[q]
		if c < 0 || !s.accepting[c] {
			continue
		}
		inside := bdd.False
		for _, e := range g.out[q] {
			if s.comp[e.dst] == c {
				inside = m.Or(inside, e.label)
			}
		}
		if inside != bdd.True {
			kind[c] = min(kind[c], Weak)
		}
		if !a.Accepting[q] && g.onRejectingCycle(q, s) {
			kind[c] = Strong
		}
	}
	out := make([]Strength, len(a.Out))
	for q := range out {
		if c := s.comp[q]; c >= 0 {
			out[q] = kind[c]
		}
	}
	return out
}
