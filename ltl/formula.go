package ltl

import (
	"slices"
	"strings"
	"unique"
)

// Op is the operator at the root of a formula.
type Op uint8

// The operators. OpNext exists for the translation and for formulas from the
// literature; a formula that uses it is not StutterInvariant.
const (
	OpFalse         Op = iota
	OpTrue             // true
	OpAtom             // an atomic proposition
	OpNot              // !f
	OpAnd              // f && g, two or more operands
	OpOr               // f || g, two or more operands
	OpImplies          // f -> g
	OpIff              // f <-> g
	OpNext             // X f
	OpEventually       // <> f
	OpAlways           // [] f
	OpUntil            // f U g: g comes, and f until then
	OpRelease          // f R g: g up to and including the first f, or forever
	OpWeakUntil        // f W g: f U g, or f forever
	OpStrongRelease    // f M g: f R g, and f comes
)

// Class is a set of syntactic facts about a formula. They are sufficient
// conditions only: a formula may be, say, a safety property without the bit.
type Class uint16

const (
	// Boolean: no temporal operator.
	Boolean Class = 1 << iota
	// NextFree: no X, hence the language is closed under stuttering
	// (Peled and Wilke 1997).
	NextFree
	// Eventual: F f is equivalent to f; adding a prefix to a word that
	// satisfies f gives one that does (Etessami and Holzmann 2000).
	Eventual
	// Universal: G f is equivalent to f; a suffix of a word that satisfies f
	// does, too.
	Universal
	// Safety, Guarantee, Obligation, Recurrence and Persistence are the classes of the
	// hierarchy of Manna and Pnueli (1990), by the grammar of Cerna and Pelanek (2003).
	Safety
	Guarantee
	Obligation
	Recurrence
	Persistence
)

// Formula is an immutable LTL formula. Formulas are hash-consed: two formulas
// that were built alike are equal under ==, so that Formula is a map key. The
// zero value is the formula false. All functions of this package may be called
// from several goroutines.
type Formula struct {
	h unique.Handle[node]
}

// node is what a Formula points to. && and || are kept as right-leaning lists
// with sorted operands, none of which is the same operator.
type node struct {
	op          Op
	class       Class
	name        string
	left, right Formula // a unary operator uses left
}

var (
	falseFormula = mk(OpFalse, "", Formula{}, Formula{})
	trueFormula  = mk(OpTrue, "", Formula{}, Formula{})
)

func (f Formula) node() node {
	if f == (Formula{}) {
		return node{op: OpFalse, class: classOf(OpFalse, 0, 0)}
	}
	return f.h.Value()
}

func mk(op Op, name string, left, right Formula) Formula {
	n := node{op: op, name: name, left: left, right: right}
	var l, r Class
	if op >= OpNot {
		l, r = left.Class(), right.Class()
	}
	n.class = classOf(op, l, r)
	return Formula{unique.Make(n)}
}

// Op returns the root operator.
func (f Formula) Op() Op { return f.node().op }

// Class returns the syntactic facts that are known about f.
func (f Formula) Class() Class { return f.node().class }

// Is reports whether all facts in c are known about f.
func (f Formula) Is(c Class) bool { return f.Class()&c == c }

// StutterInvariant reports whether f has no X, the condition under which
// partial-order reduction preserves it.
func (f Formula) StutterInvariant() bool { return f.Is(NextFree) }

// Name returns the name of an atom, and "" for any other formula.
func (f Formula) Name() string { return f.node().name }

// Operands returns the operands of the root operator: none for constants and
// atoms, one for unary and two for binary operators, two or more for && and
// ||. The slice is the caller's.
func (f Formula) Operands() []Formula {
	n := f.node()
	switch n.op {
	case OpFalse, OpTrue, OpAtom:
		return nil
	case OpNot, OpNext, OpEventually, OpAlways:
		return []Formula{n.left}
	case OpAnd, OpOr:
		list := []Formula{n.left}
		for m := n.right; ; {
			k := m.node()
			if k.op != n.op {
				return append(list, m)
			}
			list = append(list, k.left)
			m = k.right
		}
	default:
		return []Formula{n.left, n.right}
	}
}

// Atoms returns the names of the atoms in f, sorted, each once.
func (f Formula) Atoms() []string {
	var names []string
	seen := map[Formula]bool{}
	var walk func(Formula)
	walk = func(g Formula) {
		if seen[g] {
			return
		}
		seen[g] = true
		n := g.node()
		switch n.op {
		case OpFalse, OpTrue:
		case OpAtom:
			names = append(names, n.name)
		case OpNot, OpNext, OpEventually, OpAlways:
			walk(n.left)
		default:
			walk(n.left)
			walk(n.right)
		}
	}
	walk(f)
	slices.Sort(names)
	return slices.Compact(names)
}

// Size returns the number of operators, atoms and constants in f as a tree;
// an n-ary && or || counts n-1. It saturates at 1<<30.
func (f Formula) Size() int {
	memo := map[Formula]int{}
	var walk func(Formula) int
	walk = func(g Formula) int {
		if s, ok := memo[g]; ok {
			return s
		}
		s := 1
		n := g.node()
		switch n.op {
		case OpFalse, OpTrue, OpAtom:
		case OpNot, OpNext, OpEventually, OpAlways:
			s += walk(n.left)
		default:
			s += walk(n.left) + walk(n.right)
		}
		s = min(s, 1<<30)
		memo[g] = s
		return s
	}
	return walk(f)
}

// Compare orders formulas: constants, then literals by name, then the rest by
// operator and operands. It does not depend on the order of construction.
func Compare(f, g Formula) int {
	for f != g {
		a, b := f.node(), g.node()
		// A literal sorts with its atom, the positive one first.
		fa, fn := literal(f)
		ga, gn := literal(g)
		switch {
		case fa != "" && ga != "":
			if c := strings.Compare(fa, ga); c != 0 {
				return c
			}
			if fn == gn {
				return 0
			}
			if gn {
				return -1
			}
			return 1
		case a.op <= OpTrue || b.op <= OpTrue:
			return int(a.op) - int(b.op)
		case fa != "":
			return -1
		case ga != "":
			return 1
		case a.op != b.op:
			return int(a.op) - int(b.op)
		case a.op == OpAtom: // only the atom with the empty name comes here
			return 0
		}
		// Equality costs one comparison of handles, so this descends one
		// path only and shared subformulas cause no blow-up.
		if a.left != b.left {
			f, g = a.left, b.left
		} else {
			f, g = a.right, b.right
		}
	}
	return 0
}

// literal returns the atom's name of a literal with a non-empty name, and whether it is negated.
func literal(f Formula) (name string, negated bool) {
	n := f.node()
	if n.op == OpNot {
		n = n.left.node()
		negated = true
	}
	if n.op == OpAtom {
		return n.name, negated
	}
	return "", false
}

// True is the formula that every word satisfies.
func True() Formula { return trueFormula }

// False is the formula that no word satisfies.
func False() Formula { return falseFormula }

// Atom is the atomic proposition with the given name. Any string is a name;
// one that is not an identifier is printed in quotes.
func Atom(name string) Formula { return mk(OpAtom, name, Formula{}, Formula{}) }

// Not is !f. Double negations and negated constants are folded.
func Not(f Formula) Formula {
	switch n := f.node(); n.op {
	case OpFalse:
		return trueFormula
	case OpTrue:
		return falseFormula
	case OpNot:
		return n.left
	}
	return mk(OpNot, "", f, Formula{})
}

// And is the conjunction of fs, true for none. It is flat, sorted and free of
// duplicates and of complementary operands.
func And(fs ...Formula) Formula { return nary(OpAnd, fs) }

// Or is the disjunction of fs, false for none; see And.
func Or(fs ...Formula) Formula { return nary(OpOr, fs) }

func nary(op Op, fs []Formula) Formula {
	neutral, absorbing := trueFormula, falseFormula
	if op == OpOr {
		neutral, absorbing = falseFormula, trueFormula
	}
	list := make([]Formula, 0, len(fs))
	for _, f := range fs {
		if f == (Formula{}) {
			f = falseFormula
		}
		switch {
		case f == absorbing:
			return absorbing
		case f == neutral:
		case f.Op() == op:
			list = append(list, f.Operands()...)
		default:
			list = append(list, f)
		}
	}
	slices.SortFunc(list, Compare)
	list = slices.Compact(list)
	if len(list) == 0 {
		return neutral
	}
	for _, f := range list {
		if n := f.node(); n.op == OpNot {
			if _, found := slices.BinarySearchFunc(list, n.left, Compare); found {
				return absorbing
			}
		}
	}
	f := list[len(list)-1]
	for i := len(list) - 2; i >= 0; i-- {
		f = mk(op, "", list[i], f)
	}
	return f
}

// Implies is f -> g.
func Implies(f, g Formula) Formula {
	switch {
	case f.isFalse() || g.isTrue() || f == g:
		return trueFormula
	case f.isTrue():
		return g
	case g.isFalse():
		return Not(f)
	}
	return mk(OpImplies, "", f, g)
}

// Iff is f <-> g.
func Iff(f, g Formula) Formula {
	switch {
	case f == g:
		return trueFormula
	case f.isTrue():
		return g
	case g.isTrue():
		return f
	case f.isFalse():
		return Not(g)
	case g.isFalse():
		return Not(f)
	}
	if Compare(f, g) > 0 {
		f, g = g, f
	}
	return mk(OpIff, "", f, g)
}

// Next is X f.
func Next(f Formula) Formula {
	if f.isTrue() || f.isFalse() {
		return f
	}
	return mk(OpNext, "", f, Formula{})
}

// Eventually is <> f.
func Eventually(f Formula) Formula {
	if f.isTrue() || f.isFalse() || f.Op() == OpEventually {
		return f
	}
	return mk(OpEventually, "", f, Formula{})
}

// Always is [] f.
func Always(f Formula) Formula {
	if f.isTrue() || f.isFalse() || f.Op() == OpAlways {
		return f
	}
	return mk(OpAlways, "", f, Formula{})
}

// Until is f U g.
func Until(f, g Formula) Formula {
	switch {
	case g.isTrue() || g.isFalse() || f.isFalse() || f == g:
		return g
	case f.isTrue():
		return Eventually(g)
	}
	return mk(OpUntil, "", f, g)
}

// Release is f R g.
func Release(f, g Formula) Formula {
	switch {
	case g.isTrue() || g.isFalse() || f.isTrue() || f == g:
		return g
	case f.isFalse():
		return Always(g)
	}
	return mk(OpRelease, "", f, g)
}

// WeakUntil is f W g.
func WeakUntil(f, g Formula) Formula {
	switch {
	case f.isTrue() || g.isTrue():
		return trueFormula
	case f.isFalse() || f == g:
		return g
	case g.isFalse():
		return Always(f)
	}
	return mk(OpWeakUntil, "", f, g)
}

// StrongRelease is f M g.
func StrongRelease(f, g Formula) Formula {
	switch {
	case f.isFalse() || g.isFalse():
		return falseFormula
	case f.isTrue() || f == g:
		return g
	case g.isTrue():
		return Eventually(f)
	}
	return mk(OpStrongRelease, "", f, g)
}

func (f Formula) isTrue() bool  { return f == trueFormula }
func (f Formula) isFalse() bool { return f == falseFormula || f == Formula{} }

// binary builds the formula with the binary (or n-ary) operator op.
func binary(op Op, f, g Formula) Formula {
	switch op {
	case OpAnd:
		return And(f, g)
	case OpOr:
		return Or(f, g)
	case OpImplies:
		return Implies(f, g)
	case OpIff:
		return Iff(f, g)
	case OpUntil:
		return Until(f, g)
	case OpRelease:
		return Release(f, g)
	case OpWeakUntil:
		return WeakUntil(f, g)
	default:
		return StrongRelease(f, g)
	}
}

// negated gives the classes of !f from those of f.
func negated(c Class) Class {
	n := c & (Boolean | NextFree | Obligation)
	swap := func(a, b Class) {
		if c&a != 0 {
			n |= b
		}
		if c&b != 0 {
			n |= a
		}
	}
	swap(Eventual, Universal)
	swap(Safety, Guarantee)
	swap(Recurrence, Persistence)
	return n
}

// given is the class then, if l has the class a and r the class b.
func given(l, a, r, b, then Class) Class {
	if l&a != 0 && r&b != 0 {
		return then
	}
	return 0
}

// classOf gives the classes of a formula from those of its operands: Etessami and
// Holzmann (2000) for Eventual and Universal, the grammars of Cerna and Pelanek
// (2003) for the hierarchy.
func classOf(op Op, l, r Class) Class {
	const hierarchy = Safety | Guarantee | Obligation | Recurrence | Persistence
	switch op {
	case OpFalse, OpTrue:
		return Boolean | NextFree | Eventual | Universal | hierarchy
	case OpAtom:
		return Boolean | NextFree | hierarchy
	case OpNot:
		return negated(l)
	case OpAnd, OpOr:
		return l & r
	case OpImplies:
		return negated(l) & r
	case OpIff:
		return l & r & negated(l) & negated(r)
	case OpNext:
		return l &^ (Boolean | NextFree)
	}
	both := l & r
	var c Class
	switch op {
	case OpEventually:
		both = l
		c = Eventual | l&(Universal|Guarantee|Persistence)
	case OpAlways:
		both = l
		c = Universal | l&(Eventual|Safety|Recurrence)
	case OpUntil:
		c = r&(Eventual|Universal) | both&(Guarantee|Persistence)
		c |= given(l, Obligation, r, Guarantee, Obligation)
		c |= given(l, Recurrence, r, Guarantee, Recurrence)
	case OpStrongRelease:
		c = r&Eventual | both&(Universal|Guarantee|Persistence)
		c |= given(l, Guarantee, r, Obligation, Obligation)
		c |= given(l, Guarantee, r, Recurrence, Recurrence)
	case OpRelease:
		c = r&(Eventual|Universal) | both&(Safety|Recurrence)
		c |= given(l, Obligation, r, Safety, Obligation)
		c |= given(l, Persistence, r, Safety, Persistence)
	case OpWeakUntil:
		c = r&Universal | both&(Eventual|Safety|Recurrence)
		c |= given(l, Safety, r, Obligation, Obligation)
		c |= given(l, Safety, r, Persistence, Persistence)
	}
	c |= both & NextFree
	// Each class of the hierarchy contains those below it.
	if c&(Safety|Guarantee) != 0 {
		c |= Obligation
	}
	if c&Obligation != 0 {
		c |= Recurrence | Persistence
	}
	return c
}
