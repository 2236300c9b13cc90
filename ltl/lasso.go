package ltl

import (
	"errors"
	"fmt"
)

// ErrNoLoop is returned for a lasso without a loop: it is not an infinite word.
var ErrNoLoop = errors.New("ltl: a lasso word needs a loop of at least one letter")

// A Lasso is the infinite word Stem Loop Loop Loop ... A letter is a valuation:
// its bit i is the value of the atom Atoms[i].
type Lasso struct {
	Atoms []string // at most 64, without repetitions
	Stem  []uint64 // may be empty
	Loop  []uint64 // at least one letter
}

// Check returns an error if the lasso has no loop, more than 64 atoms or an atom twice.
func (w Lasso) Check() error {
	if len(w.Loop) == 0 {
		return ErrNoLoop
	}
	if len(w.Atoms) > 64 {
		return fmt.Errorf("ltl: %d atoms, a letter has room for 64", len(w.Atoms))
	}
	seen := map[string]bool{}
	for _, a := range w.Atoms {
		if seen[a] {
			return fmt.Errorf("ltl: atom %q is listed twice", a)
		}
		seen[a] = true
	}
	return nil
}

// Holds evaluates f at the first letter of w, directly by the semantics of the
// operators: it is the oracle for the translations. Errors: those of w.Check,
// and an atom of f that w does not have.
func (f Formula) Holds(w Lasso) (bool, error) {
	if err := w.Check(); err != nil {
		return false, err
	}
	bit := map[string]int{}
	for i, a := range w.Atoms {
		bit[a] = i
	}
	for _, a := range f.Atoms() {
		if _, ok := bit[a]; !ok {
			return false, fmt.Errorf("ltl: the word has no value for the atom %q", a)
		}
	}
	word := append(append([]uint64(nil), w.Stem...), w.Loop...)
	e := evaluator{word: word, back: len(w.Stem), bit: bit, memo: map[Formula][]bool{}}
	return e.eval(f)[0], nil
}

type evaluator struct {
	word []uint64
	back int // the position after the last one
	bit  map[string]int
	memo map[Formula][]bool
}

func (e *evaluator) succ(i int) int {
	if i == len(e.word)-1 {
		return e.back
	}
	return i + 1
}

// fix computes the least (start false) or greatest (start true) solution of
// v[i] = now[i] || (stay[i] && v[succ(i)]). Two rounds backwards reach it: after
// the first the value at the loop's start is final.
func (e *evaluator) fix(now, stay []bool, start bool) []bool {
	v := make([]bool, len(e.word))
	for i := range v {
		v[i] = start
	}
	for range 2 {
		for i := len(v) - 1; i >= 0; i-- {
			v[i] = now[i] || stay[i] && v[e.succ(i)]
		}
	}
	return v
}

// eval returns the truth value of f at each position.
func (e *evaluator) eval(f Formula) []bool {
	if v, ok := e.memo[f]; ok {
		return v
	}
	n := f.node()
	var l, r []bool
	v := make([]bool, len(e.word))
	each := func(value func(i int) bool) {
		for i := range v {
			v[i] = value(i)
		}
	}
	constant := func(b bool) []bool {
		c := make([]bool, len(e.word))
		for i := range c {
			c[i] = b
		}
		return c
	}
	switch n.op {
	case OpFalse, OpTrue, OpAtom:
	case OpNot, OpNext, OpEventually, OpAlways:
		l = e.eval(n.left)
	default:
		l, r = e.eval(n.left), e.eval(n.right)
	}
	switch n.op {
	case OpFalse:
	case OpTrue:
		v = constant(true)
	case OpAtom:
		b := e.bit[n.name]
		each(func(i int) bool { return e.word[i]>>b&1 == 1 })
	case OpNot:
		each(func(i int) bool { return !l[i] })
	case OpAnd:
		each(func(i int) bool { return l[i] && r[i] })
	case OpOr:
		each(func(i int) bool { return l[i] || r[i] })
	case OpImplies:
		each(func(i int) bool { return !l[i] || r[i] })
	case OpIff:
		each(func(i int) bool { return l[i] == r[i] })
	case OpNext:
		each(func(i int) bool { return l[e.succ(i)] })
	case OpEventually:
		v = e.fix(l, constant(true), false)
	case OpAlways:
		v = e.fix(constant(false), l, true)
	case OpUntil:
		v = e.fix(r, l, false)
	case OpWeakUntil:
		v = e.fix(r, l, true)
	case OpRelease, OpStrongRelease: // r W (l && r), r U (l && r)
		both := constant(false)
		for i := range both {
			both[i] = l[i] && r[i]
		}
		v = e.fix(both, r, n.op == OpRelease)
	}
	e.memo[f] = v
	return v
}
