package ltl

type pair struct{ f, g Formula }

// implies reports whether f => g follows from the syntax of f and g, both in
// negation normal form. False means "not known". The rules are those of Somenzi and
// Bloem (2000, section 4) with the ones that Spot adds for eventual and universal formulas.
func (s *Simplifier) implies(f, g Formula) bool {
	if f == g || f.isFalse() || g.isTrue() {
		return true
	}
	if f.isTrue() || g.isFalse() {
		return false
	}
	key := pair{f, g}
	if v, ok := s.implied[key]; ok {
		return v
	}
	// Every rule descends in f or g, so there is no recursion to the same pair;
	// the value set here only keeps a slip from becoming an endless loop.
	s.implied[key] = false
	v := s.impliesLeft(f, g) || s.impliesRight(f, g)
	s.implied[key] = v
	return v
}

// impliesNot reports whether f => !g is known.
func (s *Simplifier) impliesNot(f, g Formula) bool { return s.implies(f, s.not(g)) }

// notImplies reports whether !f => g is known.
func (s *Simplifier) notImplies(f, g Formula) bool { return s.implies(s.not(f), g) }

// impliesLeft holds the rules that look at f's root first.
func (s *Simplifier) impliesLeft(f, g Formula) bool {
	n := f.node()
	a, b := n.left, n.right
	switch n.op {
	case OpAnd:
		for _, x := range f.Operands() {
			if s.implies(x, g) {
				return true
			}
		}
	case OpOr:
		for _, x := range f.Operands() {
			if !s.implies(x, g) {
				return false
			}
		}
		return true
	case OpNext:
		return g.Is(Eventual) && s.implies(a, g)
	case OpEventually:
		return g.Is(Eventual) && s.implies(a, g)
	case OpAlways:
		return s.implies(a, g)
	case OpUntil:
		return s.implies(b, g) && (g.Is(Eventual) || s.implies(a, g))
	case OpWeakUntil:
		return s.implies(a, g) && s.implies(b, g)
	case OpRelease:
		return s.implies(b, g)
	case OpStrongRelease:
		return s.implies(b, g) || g.Is(Eventual) && s.implies(a, g)
	}
	return false
}

// impliesRight holds the rules that look at g's root first.
func (s *Simplifier) impliesRight(f, g Formula) bool {
	switch n := g.node(); n.op {
	case OpAnd:
		for _, h := range g.Operands() {
			if !s.implies(f, h) {
				return false
			}
		}
		return true
	case OpOr:
		for _, h := range g.Operands() {
			if s.implies(f, h) {
				return true
			}
		}
	case OpNext:
		fn := f.node()
		return fn.op == OpNext && s.implies(fn.left, n.left) ||
			f.Is(Universal) && s.implies(f, n.left)
	case OpEventually:
		return s.implies(f, n.left)
	case OpAlways:
		return f.Is(Universal) && s.implies(f, n.left)
	case OpUntil:
		return s.impliesUntil(f, g)
	case OpWeakUntil:
		return s.impliesWeakUntil(f, g)
	case OpRelease:
		return s.impliesRelease(f, g)
	case OpStrongRelease:
		return s.impliesStrongRelease(f, g)
	}
	return false
}

// In the rules below, f is x op y, and g is a op b.

func (s *Simplifier) impliesUntil(f, g Formula) bool {
	x, y, a, b := f.node().left, f.node().right, g.node().left, g.node().right
	if s.implies(f, b) {
		return true
	}
	switch f.node().op {
	case OpUntil:
		return s.implies(x, a) && s.implies(y, g)
	case OpStrongRelease:
		return s.implies(y, a) && (s.implies(x, b) || s.implies(y, b))
	}
	return false
}

func (s *Simplifier) impliesWeakUntil(f, g Formula) bool {
	x, y, a, b := f.node().left, f.node().right, g.node().left, g.node().right
	if s.implies(f, b) || f.Is(Universal) && s.implies(f, a) {
		return true
	}
	switch f.node().op {
	case OpUntil, OpWeakUntil:
		return s.implies(x, a) && s.implies(y, g)
	case OpRelease, OpStrongRelease:
		return s.implies(y, a) && (s.implies(x, b) || s.implies(y, b))
	}
	return false
}

func (s *Simplifier) impliesRelease(f, g Formula) bool {
	x, y, a, b := f.node().left, f.node().right, g.node().left, g.node().right
	if s.implies(f, b) && (f.Is(Universal) || s.implies(f, a)) {
		return true
	}
	switch f.node().op {
	case OpRelease, OpStrongRelease:
		return s.implies(y, b) && s.implies(x, a)
	case OpUntil, OpWeakUntil:
		return s.implies(x, b) && s.implies(y, g)
	}
	return false
}

func (s *Simplifier) impliesStrongRelease(f, g Formula) bool {
	x, y, a, b := f.node().left, f.node().right, g.node().left, g.node().right
	if s.implies(f, a) && s.implies(f, b) {
		return true
	}
	switch f.node().op {
	case OpStrongRelease:
		return s.implies(y, b) && s.implies(x, a)
	case OpUntil:
		return s.implies(x, b) && s.implies(y, g)
	}
	return false
}
