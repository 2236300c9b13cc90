package ltl

import "slices"

// A Simplifier rewrites formulas to equivalent ones that translate to smaller
// automata. It remembers its results; it is not safe for concurrent use. The rules:
//
//   - trivial identities (most are applied when a formula is built), lifting of X,
//     merging of operators with a common operand;
//   - eventual and universal formulas (Etessami and Holzmann 2000): an operator
//     that has no effect on them disappears, and they move out of its scope;
//   - syntactic implication (Somenzi and Bloem 2000): absorbed and contradictory operands;
//   - what a universal operand of && implies is replaced in the other operands.
//
// Spot's document "Spot's Temporal Logic Formulas" (Duret-Lutz) lists most of them.
type Simplifier struct {
	implied map[pair]bool
	nnfs    map[nnfKey]Formula
	done    map[Formula]Formula
	fuel    int
}

// NewSimplifier returns a Simplifier with an empty memory.
func NewSimplifier() *Simplifier {
	return &Simplifier{implied: map[pair]bool{}, nnfs: map[nnfKey]Formula{},
		done: map[Formula]Formula{}}
}

// Simplify returns f simplified, in negation normal form.
func (f Formula) Simplify() Formula { return NewSimplifier().Simplify(f) }

// Simplify returns f simplified, in negation normal form.
func (s *Simplifier) Simplify(f Formula) Formula {
	// Each rule makes progress in some measure, but not all in the same one:
	// the fuel turns a cycle among them, if there should be one, into a stop.
	s.fuel = 1000 + 20*min(f.Size(), 10000)
	return s.simplify(nnf(f, false, s.nnfs))
}

// Implies reports whether f -> g is known to be valid from the syntax of f and
// g alone; false means only that it is not.
func (s *Simplifier) Implies(f, g Formula) bool {
	return s.implies(nnf(f, false, s.nnfs), nnf(g, false, s.nnfs))
}

func (s *Simplifier) not(f Formula) Formula { return nnf(f, true, s.nnfs) }

// simplify expects negation normal form and keeps it.
func (s *Simplifier) simplify(f Formula) Formula {
	if g, ok := s.done[f]; ok {
		return g
	}
	operands := f.Operands()
	for i, g := range operands {
		operands[i] = s.simplify(g)
	}
	g := f
	if len(operands) > 0 {
		g = build(f.Op(), operands)
	}
	if h := s.rewrite(g); h != g && s.fuel > 0 {
		s.fuel--
		g = s.simplify(h)
	}
	s.done[f] = g
	s.done[g] = g
	return g
}

// rewrite applies one rule at the root of f, whose operands are simplified. A
// rule is written for one of two dual operators and serves the other through negation.
func (s *Simplifier) rewrite(f Formula) Formula {
	rule, dual := s.ruleOf(f.Op()), s.ruleOf(dualOp[f.Op()])
	switch {
	case rule != nil:
		return rule(f)
	case dual != nil:
		g := s.not(f)
		if h := dual(g); h != g {
			return s.not(h)
		}
	}
	return f
}

func (s *Simplifier) ruleOf(op Op) func(Formula) Formula {
	switch op {
	case OpNext:
		return s.rewriteNext
	case OpEventually:
		return s.rewriteEventually
	case OpUntil:
		return s.rewriteUntil
	case OpStrongRelease:
		return s.rewriteStrongRelease
	case OpAnd:
		return s.rewriteAnd
	}
	return nil
}

// split divides the operands of f, if its operator is op, into those that
// satisfy take and the rest.
func split(f Formula, op Op, take func(Formula) bool) (taken, rest []Formula) {
	if f.Op() != op {
		return nil, nil
	}
	for _, x := range f.Operands() {
		if take(x) {
			taken = append(taken, x)
		} else {
			rest = append(rest, x)
		}
	}
	return taken, rest
}

func isClass(c Class) func(Formula) bool { return func(f Formula) bool { return f.Is(c) } }

func isOp(op Op) func(Formula) bool { return func(f Formula) bool { return f.Op() == op } }

const pure = Eventual | Universal // such a formula says something about the word's tail only

func (s *Simplifier) rewriteNext(f Formula) Formula {
	if a := f.node().left; a.Is(pure) {
		return a
	}
	return f
}

func (s *Simplifier) rewriteEventually(f Formula) Formula {
	a := f.node().left
	if a.Is(Eventual) {
		return a
	}
	n := a.node()
	switch n.op {
	case OpNext:
		return Next(Eventually(n.left))
	case OpUntil:
		return Eventually(n.right)
	case OpStrongRelease:
		return Eventually(And(n.left, n.right))
	case OpOr:
		if e, rest := split(a, OpOr, isClass(Eventual)); e != nil {
			return Or(append(e, Eventually(Or(rest...)))...)
		}
		// F of each operand alone is simpler for X u (u universal: F X u is F u) and may be for G
		// y.
		for _, x := range a.Operands() {
			alone := Formula{}
			switch m := x.node(); {
			case m.op == OpNext && m.left.Is(Universal):
				alone = Eventually(m.left)
			case m.op == OpAlways:
				alone = s.simplify(Eventually(x))
			default:
				continue
			}
			if alone != Eventually(x) {
				_, rest := split(a, OpOr, func(y Formula) bool { return x == y })
				return Or(Eventually(Or(rest...)), alone)
			}
		}
	case OpAnd:
		if q, rest := split(a, OpAnd, isClass(pure)); q != nil {
			return And(append(q, Eventually(And(rest...)))...)
		}
	case OpAlways: // F G b
		b := n.left
		m := b.node()
		switch m.op {
		case OpUntil:
			return And(Always(Eventually(m.right)), Eventually(Always(Or(m.left, m.right))))
		case OpStrongRelease:
			return And(Always(Eventually(m.left)), Eventually(Always(m.right)))
		case OpAnd:
			if next, rest := split(b, OpAnd, isOp(OpNext)); next != nil {
				for i := range next {
					next[i] = next[i].node().left
				}
				return Eventually(Always(And(append(rest, next...)...)))
			}
			if e, rest := split(b, OpAnd, isClass(Eventual)); e != nil {
				return And(Always(And(e...)), Eventually(Always(And(rest...))))
			}
		case OpOr:
			if u, rest := split(b, OpOr, isClass(Universal)); u != nil {
				return Or(Eventually(Or(u...)), Eventually(Always(Or(rest...))))
			}
		}
	}
	return f
}

func (s *Simplifier) rewriteUntil(f Formula) Formula {
	a, b := f.node().left, f.node().right
	an, bn := a.node(), b.node()
	switch {
	case b.Is(Eventual) || s.implies(a, b) || b == Always(a):
		return b
	case s.notImplies(a, b):
		return Eventually(b)
	case an.op == OpNext && bn.op == OpNext:
		return Next(Until(an.left, bn.left))
	}
	if g, ok := s.untilByRight(a, b); ok {
		return g
	}
	if g, ok := s.untilByLeft(a, b); ok {
		return g
	}
	return f
}

// untilByRight rewrites a U b by the rules that look at b's root.
func (s *Simplifier) untilByRight(a, b Formula) (Formula, bool) {
	bn := b.node()
	switch bn.op {
	case OpOr:
		if e, rest := split(b, OpOr, isClass(Eventual)); e != nil {
			return Or(append(e, Until(a, Or(rest...)))...), true
		}
		if g, rest := split(b, OpOr, func(x Formula) bool { return x == Always(a) }); g != nil {
			return WeakUntil(a, Or(rest...)), true
		}
	case OpAnd:
		if q, rest := split(b, OpAnd, isClass(pure)); q != nil {
			return And(append(q, Until(a, And(rest...)))...), true
		}
		if same, rest := split(b, OpAnd, func(x Formula) bool { return x == a }); same != nil {
			return StrongRelease(And(rest...), a), true
		}
	case OpUntil:
		if s.implies(a, bn.left) {
			return b, true
		}
		if s.implies(bn.left, a) {
			return Until(a, bn.right), true
		}
	case OpWeakUntil:
		if s.implies(a, bn.left) {
			return b, true
		}
	case OpRelease, OpStrongRelease:
		if s.implies(a, bn.right) {
			return b, true
		}
	}
	return b, false
}

// untilByLeft rewrites a U b by the rules that look at a's root.
func (s *Simplifier) untilByLeft(a, b Formula) (Formula, bool) {
	an := a.node()
	switch an.op {
	case OpUntil, OpWeakUntil:
		switch {
		case s.implies(an.left, b):
			return Until(an.right, b), true
		case s.implies(b, a):
			return Until(Or(an.left, an.right), b), true
		}
	case OpRelease, OpStrongRelease:
		if s.implies(b, a) {
			return Until(an.right, b), true
		}
	case OpAlways:
		if s.implies(b, a) {
			return Until(an.left, b), true
		}
	case OpAnd: // only the letters before the first b matter
		if drop, rest := split(a, OpAnd, func(x Formula) bool {
			return s.notImplies(b, x)
		}); drop != nil {
			return Until(And(rest...), b), true
		}
	case OpOr:
		if drop, rest := split(a, OpOr, func(x Formula) bool {
			return s.implies(x, b)
		}); drop != nil {
			return Until(Or(rest...), b), true
		}
	}
	return b, false
}

func (s *Simplifier) rewriteStrongRelease(f Formula) Formula {
	a, b := f.node().left, f.node().right
	an, bn := a.node(), b.node()
	switch {
	case a.Is(Eventual):
		return And(a, b)
	case s.implies(b, a):
		return b
	case s.impliesNot(b, a):
		return False()
	case an.op == OpNext && bn.op == OpNext:
		return Next(StrongRelease(an.left, bn.left))
	}
	switch bn.op {
	case OpAnd:
		if q, rest := split(b, OpAnd, isClass(pure)); q != nil {
			return And(append(q, StrongRelease(a, And(rest...)))...)
		}
		drop, rest := split(b, OpAnd, func(x Formula) bool {
			return x.Is(Eventual) && s.implies(a, x)
		})
		if drop != nil {
			return StrongRelease(a, And(rest...))
		}
	case OpOr:
		if same, rest := split(b, OpOr, func(x Formula) bool { return x == a }); same != nil {
			return Until(Or(rest...), a)
		}
	case OpStrongRelease:
		if s.implies(bn.left, a) {
			return b
		}
		if s.implies(a, bn.left) {
			return StrongRelease(a, bn.right)
		}
	case OpUntil:
		if s.implies(bn.right, a) {
			return b
		}
	}
	switch an.op {
	case OpStrongRelease, OpRelease:
		if s.implies(b, an.left) {
			return StrongRelease(an.right, b)
		}
		if an.op == OpStrongRelease && s.implies(a, b) {
			return StrongRelease(And(an.left, an.right), b)
		}
	case OpUntil:
		if s.implies(a, b) {
			return StrongRelease(an.right, b)
		}
	case OpAnd:
		if q, rest := split(a, OpAnd, isClass(pure)); q != nil {
			return And(append(q, StrongRelease(And(rest...), b))...)
		}
		if drop, rest := split(a, OpAnd, func(x Formula) bool {
			return s.implies(b, x)
		}); drop != nil {
			return StrongRelease(And(rest...), b)
		}
	case OpOr:
		if drop, rest := split(a, OpOr, func(x Formula) bool {
			return s.impliesNot(x, b)
		}); drop != nil {
			return StrongRelease(Or(rest...), b)
		}
	}
	return f
}

// maxBoolean is the number of operands up to which Boolean ones are compared. Diagrams
// do that better when there are many.
const maxBoolean = 32

func (s *Simplifier) rewriteAnd(f Formula) Formula {
	ops := f.Operands()
	if merged := mergedAnd(ops); len(merged) < len(ops) {
		return And(merged...)
	}
	without := func(i int) []Formula { return slices.Delete(slices.Clone(ops), i, i+1) }
	comparable := func(x, y Formula) bool {
		return x != y && (len(ops) <= maxBoolean || !x.Is(Boolean) || !y.Is(Boolean))
	}
	for i, x := range ops {
		for j, y := range ops {
			if !comparable(x, y) {
				continue
			}
			if s.implies(x, y) {
				return And(without(j)...)
			}
			if i < j && s.impliesNot(x, y) {
				return False()
			}
		}
	}
	if g, ok := refold(ops); ok {
		return g
	}
	for _, x := range ops {
		for j, y := range ops {
			if !comparable(x, y) {
				continue
			}
			// Unit resolution.
			if drop, rest := split(y, OpOr, func(z Formula) bool {
				return s.impliesNot(x, z)
			}); drop != nil {
				return And(append(without(j), Or(rest...))...)
			}
			if x.Is(Universal) {
				if z := s.given(x, y, map[Formula]Formula{}); z != y {
					return And(append(without(j), z)...)
				}
			}
		}
	}
	return f
}

// mergedAnd joins operands of && into one where it can.
func mergedAnd(ops []Formula) []Formula {
	var merged []Formula
next:
	for _, x := range ops {
		for j, y := range merged {
			if m, ok := mergeAnd(x, y); ok {
				merged[j] = m
				continue next
			}
		}
		merged = append(merged, x)
	}
	return merged
}

// refold undoes an expansion: a && X G a, and b && (a || X(a R b)).
func refold(ops []Formula) (Formula, bool) {
	for i, x := range ops {
		folded, parts, ok := fold(x)
		if !ok || !contains(ops, parts) {
			continue
		}
		rest := []Formula{folded}
		for j, y := range ops {
			if j != i && !slices.Contains(parts, y) {
				rest = append(rest, y)
			}
		}
		return And(rest...), true
	}
	return Formula{}, false
}

func contains(set, subset []Formula) bool {
	for _, x := range subset {
		if !slices.Contains(set, x) {
			return false
		}
	}
	return true
}

func conjuncts(f Formula) []Formula {
	if f.Op() == OpAnd {
		return f.Operands()
	}
	return []Formula{f}
}

// fold recognizes one operand of an expanded G, R or M: together with parts it
// is equivalent to folded.
func fold(f Formula) (folded Formula, parts []Formula, ok bool) {
	n := f.node()
	switch n.op {
	case OpNext:
		if m := n.left.node(); m.op == OpAlways {
			return n.left, conjuncts(m.left), true
		}
	case OpOr:
		next, rest := split(f, OpOr, isOp(OpNext))
		if len(next) != 1 {
			return Formula{}, nil, false
		}
		g := next[0].node().left
		m := g.node()
		if (m.op == OpRelease || m.op == OpStrongRelease) && Or(rest...) == m.left {
			return g, conjuncts(m.right), true
		}
	}
	return Formula{}, nil, false
}

// mergeAnd joins two operands of && into one.
func mergeAnd(f, g Formula) (Formula, bool) {
	a, b := f.node(), g.node()
	either := func(op Op) bool { return a.op == op || b.op == op }
	both := func(p, q Op) bool { return (a.op == p || a.op == q) && (b.op == p || b.op == q) }
	switch {
	case both(OpNext, OpNext):
		return Next(And(a.left, b.left)), true
	case both(OpAlways, OpAlways):
		return Always(And(a.left, b.left)), true
	case both(OpEventually, OpEventually):
		if x, y := a.left.node(), b.left.node(); x.op == OpAlways && y.op == OpAlways {
			return Eventually(Always(And(x.left, y.left))), true
		}
	case both(OpUntil, OpWeakUntil) && a.right == b.right:
		if either(OpUntil) {
			return Until(And(a.left, b.left), a.right), true
		}
		return WeakUntil(And(a.left, b.left), a.right), true
	case both(OpRelease, OpStrongRelease) && a.left == b.left:
		if either(OpStrongRelease) {
			return StrongRelease(a.left, And(a.right, b.right)), true
		}
		return Release(a.left, And(a.right, b.right)), true
	case either(OpEventually):
		if b.op == OpEventually {
			a, b = b, a
		}
		if b.op == OpRelease && a.left == b.left {
			return StrongRelease(b.left, b.right), true
		}
		if b.op == OpWeakUntil && a.left == b.right {
			return Until(b.left, b.right), true
		}
	}
	return Formula{}, false
}

// given simplifies f under the assumption that the universal formula u holds:
// u then holds at every later position, too.
func (s *Simplifier) given(u, f Formula, memo map[Formula]Formula) Formula {
	if g, ok := memo[f]; ok {
		return g
	}
	var g Formula
	switch operands := f.Operands(); {
	case s.implies(u, f):
		g = True()
	case s.impliesNot(u, f):
		g = False()
	case len(operands) == 0 || f.Op() == OpNot:
		g = f
	default:
		for i, x := range operands {
			operands[i] = s.given(u, x, memo)
		}
		g = build(f.Op(), operands)
	}
	memo[f] = g
	return g
}
