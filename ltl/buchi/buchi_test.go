package buchi

import (
	"math/rand/v2"
	"testing"

	"cpor/testkit/sample"

	"cpor/ltl"
)

var atomNames = []string{"a", "b", "c", "d"}

// randomFormula returns a formula with the given number of operators.
func randomFormula(r *rand.Rand, size, atoms int, next bool) ltl.Formula {
	if size == 0 {
		return ltl.Atom(atomNames[r.IntN(atoms)])
	}
	binary := []func(f, g ltl.Formula) ltl.Formula{
		func(f, g ltl.Formula) ltl.Formula { return ltl.And(f, g) },
		func(f, g ltl.Formula) ltl.Formula { return ltl.Or(f, g) },
		ltl.Implies, ltl.Until, ltl.Release, ltl.WeakUntil, ltl.StrongRelease, ltl.Iff,
	}
	unary := []func(ltl.Formula) ltl.Formula{ltl.Not, ltl.Eventually, ltl.Always}
	if next {
		unary = append(unary, ltl.Next)
	}
	if size == 1 || r.IntN(2) == 0 {
		return unary[r.IntN(len(unary))](randomFormula(r, size-1, atoms, next))
	}
	left := r.IntN(size)
	k := len(binary)
	if size > 5 {
		k-- // <-> doubles the formula
	}
	return binary[r.IntN(k)](randomFormula(r, left, atoms, next), randomFormula(r, size-1-left,
		atoms, next))
}

func randomWord(r *rand.Rand, atoms int) ltl.Lasso {
	w := ltl.Lasso{Atoms: atomNames[:atoms], Stem: make([]uint64, r.IntN(6)),
		Loop: make([]uint64, 1+r.IntN(5))}
	// Rarely changing letters reach states that random ones do not.
	letter, calm := r.Uint64N(1<<atoms), r.IntN(3)
	for _, part := range [][]uint64{w.Stem, w.Loop} {
		for i := range part {
			if calm == 0 || r.IntN(3) == 0 {
				letter = r.Uint64N(1 << atoms)
			}
			part[i] = letter
		}
	}
	return w
}

// The automaton accepts a word if and only if the formula holds on it, and no word is
// accepted by the automata of both a formula and its negation.
func TestRandomFormulas(t *testing.T) {
	n := sample.Of(60, 200, 4000)
	r := rand.New(rand.NewPCG(1, 2))
	words, accepted, states := 0, 0, 0
	for range n {
		atoms := 1 + r.IntN(4)
		f := randomFormula(r, 1+r.IntN(11), atoms, r.IntN(2) == 0)
		o := Options{Atoms: atomNames[:atoms]}
		a, b := mustTranslate(t, f, o), mustTranslate(t, ltl.Not(f), o)
		states += a.States()
		if apart, err := disjoint(a, b); !apart || err != nil {
			t.Fatalf("%s and its negation: disjoint %v, %v", f, apart, err)
		}
		for range 40 {
			w := randomWord(r, atoms)
			want, err := f.Holds(w)
			if err != nil {
				t.Fatal(err)
			}
			words++
			if want {
				accepted++
			}
			if got, err := a.Accepts(w); got != want || err != nil {
				t.Fatalf("%s is %v on %v, the automaton says %v, %v\n%s", f, want, w, got, err, a)
			}
			if got, err := b.Accepts(w); got == want || err != nil {
				t.Fatalf("!(%s) is %v on %v, the automaton says %v, %v\n%s", f, !want, w, got, err,
					b)
			}
		}
	}
	t.Logf("%d formulas, %d states, %d words, %d of them satisfy their formula", n, states, words,
		accepted)
	if accepted < words/10 || accepted > words*9/10 {
		t.Errorf("%d of %d words satisfy their formula: too one-sided to be a test", accepted,
			words)
	}
}

// The same for each formula of the literature.
func TestPatternsOnWords(t *testing.T) {
	words := sample.Of(20, 25, 100)
	r := rand.New(rand.NewPCG(3, 4))
	sections, formulas := patterns(t)
	for _, section := range sections {
		for _, f := range formulas[section] {
			a, b := mustTranslate(t, f, Options{}), mustTranslate(t, ltl.Not(f), Options{})
			if apart, err := disjoint(a, b); !apart || err != nil {
				t.Fatalf("%s and its negation: disjoint %v, %v", f, apart, err)
			}
			for range words {
				w := randomWord(r, 2)
				w.Atoms = f.Atoms()
				for _, part := range [][]uint64{w.Stem, w.Loop} {
					for i := range part {
						part[i] = r.Uint64() & r.Uint64()
					}
				}
				want, err := f.Holds(w)
				if err != nil {
					t.Fatal(err)
				}
				got, err := a.Accepts(w)
				gotb, errb := b.Accepts(w)
				if got != want || gotb == want || err != nil || errb != nil {
					t.Fatalf("%s is %v on %v; automata say %v and %v", f, want, w, got, gotb)
				}
			}
		}
	}
}
