package buchi

import (
	"fmt"
	"math/bits"
	"strings"

	"cpor/ltl"
)

// MaxAtoms is the largest number of atoms of an automaton: a letter is a
// 64-bit word.
const MaxAtoms = 64

// A Label is a conjunction of literals. Bit i of Pos or Neg is set if the atom
// with index i occurs in it as it is or negated. The zero Label is true.
type Label struct {
	Pos, Neg uint64
}

// Matches reports whether a letter (bit i is the value of atom i) satisfies l.
func (l Label) Matches(letter uint64) bool { return letter&l.Pos == l.Pos && letter&l.Neg == 0 }

// literals writes l with the given format of a literal, joined by " && ", or "true".
func (l Label) literals(join string, literal func(atom int) string) string {
	if l == (Label{}) {
		return "true"
	}
	var parts []string
	for set := l.Pos | l.Neg; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		s := literal(i)
		if l.Neg>>i&1 == 1 {
			s = "!" + s
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, join)
}

// A Transition reads a letter that its label matches.
type Transition struct {
	Label Label
	Dst   int
}

// Automaton is a nondeterministic Büchi automaton with state-based acceptance: it accepts an
// infinite word if one of its runs visits accepting states infinitely often. States are 0 to
// len(Out)-1. A state may have no transition for a letter; such a run dies.
//
// Every state of an automaton from Translate is reachable and has an accepting
// run for some word, except that an automaton with empty language is one state without transitions.
type Automaton struct {
	Atoms     []string // the name of the atom with index i
	Init      int
	Accepting []bool
	Out       [][]Transition
}

// States returns the number of states.
func (a *Automaton) States() int { return len(a.Out) }

// Transitions returns the number of transitions; one that is labeled with a
// disjunction counts once for each disjunct.
func (a *Automaton) Transitions() int {
	n := 0
	for _, ts := range a.Out {
		n += len(ts)
	}
	return n
}

// Empty reports whether a accepts no word.
func (a *Automaton) Empty() bool {
	return !acceptingCycle(len(a.Out), []int{a.Init}, 1, func(q int, yield func(int, uint64)) {
		for _, t := range a.Out[q] {
			yield(t.Dst, mark(a.Accepting[q], 1))
		}
	})
}

// Deterministic reports whether every word has at most one run.
func (a *Automaton) Deterministic() bool {
	for _, ts := range a.Out {
		for i, t := range ts {
			for _, u := range ts[:i] {
				if t.Dst != u.Dst && (t.Label.Pos|u.Label.Pos)&(t.Label.Neg|u.Label.Neg) == 0 {
					return false
				}
			}
		}
	}
	return true
}

// Accepts reports whether a accepts the word w. Errors: those of w.Check, and an
// atom of a that w does not have.
func (a *Automaton) Accepts(w ltl.Lasso) (bool, error) {
	letters, err := translateLetters(w, a.Atoms)
	if err != nil {
		return false, err
	}
	n := len(letters)
	return acceptingCycle(len(a.Out)*n, []int{a.Init * n}, 1, func(v int, yield func(int, uint64)) {
		q, i := v/n, v%n
		for _, t := range a.Out[q] {
			if t.Label.Matches(letters[i]) {
				yield(t.Dst*n+lassoSuccessor(i, w), mark(a.Accepting[q], 1))
			}
		}
	}), nil
}

// String lists the states with their transitions, one a line; the initial state
// comes first and accepting ones have a star.
func (a *Automaton) String() string {
	var b strings.Builder
	for i := range a.Out {
		q := i
		if i == 0 { // the initial state first
			q = a.Init
		} else if i <= a.Init {
			q = i - 1
		}
		fmt.Fprintf(&b, "%d%s:\n", q, map[bool]string{true: "*"}[a.Accepting[q]])
		for _, t := range a.Out[q] {
			fmt.Fprintf(&b, "\t%s -> %d\n", t.Label.literals(" && ", a.atomText), t.Dst)
		}
	}
	return b.String()
}

func (a *Automaton) atomText(i int) string { return ltl.Atom(a.Atoms[i]).String() }

func allSets(n int) uint64 { return 1<<n - 1 }

func mark(set bool, m uint64) uint64 {
	if set {
		return m
	}
	return 0
}

// translateLetters returns stem and loop of w as letters over the given atoms.
func translateLetters(w ltl.Lasso, atoms []string) ([]uint64, error) {
	if err := w.Check(); err != nil {
		return nil, err
	}
	from := make([]int, len(atoms))
	for i, name := range atoms {
		from[i] = -1
		for j, other := range w.Atoms {
			if name == other {
				from[i] = j
			}
		}
		if from[i] < 0 {
			return nil, fmt.Errorf("buchi: the word has no value for the atom %q", name)
		}
	}
	var letters []uint64
	for _, part := range [][]uint64{w.Stem, w.Loop} {
		for _, letter := range part {
			var l uint64
			for i, j := range from {
				l |= letter >> j & 1 << i
			}
			letters = append(letters, l)
		}
	}
	return letters, nil
}

func lassoSuccessor(i int, w ltl.Lasso) int {
	if i == len(w.Stem)+len(w.Loop)-1 {
		return len(w.Stem)
	}
	return i + 1
}
