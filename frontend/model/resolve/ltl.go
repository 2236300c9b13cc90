package resolve

import "cpor/frontend/model/syntax"

// ltl checks the properties of the executions. Their propositions are typed
// like invariants.
func (c *checker) ltl() {
	for _, d := range c.file.Decls {
		d, ok := d.(*syntax.LTLDecl)
		if !ok || c.file.Broken[d] {
			continue
		}
		c.invariant, c.noEffects = true, "an ltl property"
		c.condition(d.Formula, "the formula of an ltl property")
		c.invariant, c.noEffects = false, ""
		c.structure(d.Formula)
		c.possibility(d.Formula)
		c.prog.LTL = append(c.prog.LTL, &LTL{d.Name.Name, d.Pos(), d.Formula})
	}
}

// temporal checks a temporal operator; its operands are formulas.
func (c *checker) temporal(e *syntax.TemporalExpr) operand {
	what := "the operand of " + e.Op.String()
	c.condition(e.X, what)
	if e.Y != nil {
		c.condition(e.Y, what)
	}
	return value(untypedBool)
}

// possibility reports temporal operators in the operand of EF and AG EF.
func (c *checker) possibility(e syntax.Expr) {
	p, ok := e.(*syntax.TemporalExpr)
	if !ok || p.Op != syntax.Possible && p.Op != syntax.AlwaysPossible {
		return
	}
	if t, ok := syntax.Find(p.X, func(x *syntax.TemporalExpr) bool {
		return x.Op != syntax.Implies && x.Op != syntax.Iff
	}); ok {
		c.errorf(t, "%s is a formula about executions, and the operand of %s is a condition on "+
			"a state", text(t), p.Op)
	}
}

// structure reports temporal operators inside propositions.
func (c *checker) structure(e syntax.Expr) {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		c.structure(e.X)
	case *syntax.TemporalExpr:
		c.structure(e.X)
		if e.Y != nil {
			c.structure(e.Y)
		}
	case *syntax.QuantExpr:
		c.structure(e.Cond)
	case *syntax.CallExpr:
		for _, a := range e.Args {
			if t, ok := syntax.Find(a, func(*syntax.TemporalExpr) bool { return true }); ok {
				c.errorf(t, "%s is a formula, not a value that can be passed to %s", text(t),
					text(e.Fun))
			}
		}
	case *syntax.UnaryExpr:
		if e.Op == syntax.Not {
			c.structure(e.X)
			return
		}
		c.noTemporal(e.X, e.Op)
	case *syntax.BinaryExpr:
		if e.Op == syntax.LAnd || e.Op == syntax.LOr {
			c.structure(e.X)
			c.structure(e.Y)
			return
		}
		c.noTemporal(e.X, e.Op)
		c.noTemporal(e.Y, e.Op)
	}
}

// noTemporal reports a temporal operator in an operand of another operator.
func (c *checker) noTemporal(e syntax.Expr, op syntax.Op) {
	syntax.Walk(e, func(n syntax.Node) bool {
		t, ok := n.(*syntax.TemporalExpr)
		if ok {
			c.errorf(t, "%s is a formula, not an operand of %s: temporal operators combine with ! "+
				"&& || -> <-> and each other", text(t), op)
		}
		return !ok
	})
}

// maxEach bounds the cases that one case of a select represents.
const maxEach = 250

// eachCase checks the head of a case that represents several and declares its
// variable, which is a constant in each of them.
func (c *checker) eachCase(k *syntax.SelectCase) {
	if k.Each == nil {
		return
	}
	e := k.Each
	lo, ok1 := c.constInt(e.Lo, "the bound of a case")
	hi, ok2 := c.constInt(e.Hi, "the bound of a case")
	if ok1 && ok2 && (hi-lo >= maxEach || lo < -1<<30 || hi > 1<<30) {
		c.errorf(e.Hi, "this case is repeated too often: a select has at most %d cases", maxEach)
	}
	obj := &Object{Kind: QuantObj, Name: e.Var.Name, Pos: e.Var.Pos(), Type: intType, Decl: k}
	c.prog.Uses[e.Var] = obj
	if e.Var.Name != "_" {
		c.scope.names[e.Var.Name] = obj
	}
	for _, s := range k.Body {
		if l := firstLabel(s); l != nil {
			c.errorf(l.Label, "a label is not allowed in a case that is repeated for each %s",
				e.Var.Name)
		}
	}
}

// firstLabel finds a labeled statement.
func firstLabel(s syntax.Stmt) *syntax.LabeledStmt {
	l, _ := syntax.Find(s, func(*syntax.LabeledStmt) bool { return true })
	return l
}
