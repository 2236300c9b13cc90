package resolve

import "cpor/model/syntax"

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

// structure reports temporal operators inside of propositions.
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
	switch e := e.(type) {
	case *syntax.ParenExpr:
		c.noTemporal(e.X, op)
	case *syntax.TemporalExpr:
		c.errorf(e, "%s is a formula and no operand of %s: temporal operators combine with ! && || -> <-> and each other", text(e), op)
	case *syntax.UnaryExpr:
		c.noTemporal(e.X, op)
	case *syntax.BinaryExpr:
		c.noTemporal(e.X, op)
		c.noTemporal(e.Y, op)
	case *syntax.QuantExpr:
		c.noTemporal(e.Cond, op)
	}
}
