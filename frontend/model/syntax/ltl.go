package syntax

import "cpor/frontend/source"

type (
	// LTLDecl is ltl name { formula }: a property of the executions.
	//
	//node:decl "ltl " Name " { " Formula " }"
	LTLDecl struct {
		Span
		Name    *Ident
		Formula Expr
	}

	// TemporalExpr is an operator that occurs only in formulas of linear temporal logic: [] x,
	// <> x, or x op y; or, around all of it, EF x and AG EF x.
	//
	//node:expr
	TemporalExpr struct {
		Span
		Op   TemporalOp
		X, Y Expr // Y is nil for [], <>, EF and AG EF
	}
)

// TemporalOp is an operator of a TemporalExpr.
type TemporalOp uint8

// The operators that only formulas have.
const (
	Always TemporalOp = iota
	Eventually
	Until
	WeakUntil
	Release
	Implies
	Iff
	Possible       // the whole formula only
	AlwaysPossible // the same
)

// String returns the operator as it is written.
func (op TemporalOp) String() string {
	return [...]string{"[]", "<>", "U", "W", "R", "->", "<->", "EF", "AG EF"}[op]
}

// EachCase makes a case of a select represent one case for each value of a
// variable: case exists i in 0..N-1 { v := <-c[i] }: ...
//
//node:part
type EachCase struct {
	Var    *Ident
	Lo, Hi Expr
}

// eachCase parses the head of such a case.
func (p *parser) eachCase(c *SelectCase) {
	word := p.s.lit
	if p.s.tok == tForall {
		p.fail("a select takes one of its cases: write case exists i in ...")
	}
	p.next()
	e := &EachCase{Var: p.ident("a variable after " + word)}
	if p.s.tok != tName || p.s.lit != "in" {
		p.expected("'in' (as in case exists " + e.Var.Name + " in 0..N-1 { v := <-c[" + e.Var.Name +
			"] }:)")
	}
	p.next()
	lev := p.exprLev
	p.exprLev = -1
	e.Lo = p.binary(1)
	p.expect(tDotDot, "'..' and the upper bound")
	e.Hi = p.binary(1)
	p.exprLev = lev
	p.expect(tLbrace, "'{' and a channel operation")
	c.Each, c.Comm = e, p.comm()
	p.got(tSemi)
	p.expect(tRbrace, "'}' after the channel operation")
}

// ltlDecl parses ltl name { formula }. The formula is an expression with
// further operators; from the weakest to the strongest:
//
//	<->  ->      both associate to the right
//	||  &&
//	U W R        one level, associate to the right
//	== < + ...   as everywhere
//	! [] <>      prefix; [] and <> take a comparison without parentheses
func (p *parser) ltlDecl() {
	pos := p.pos()
	p.next()
	if p.s.tok == tLbrace {
		p.fail("an ltl property needs a name: ltl name { formula }")
	}
	d := &LTLDecl{Span: Span{pos, pos}, Name: p.ident("the property's name")}
	p.cur = d
	p.s.ltl, p.ltl = true, true
	defer func() { p.s.ltl, p.ltl = false, false }()
	p.expect(tLbrace, "'{'")
	d.Formula = p.property()
	p.got(tSemi)
	p.s.ltl, p.ltl = false, false
	p.expect(tRbrace, "'}' after the formula")
	d.Span = p.span(pos)
}

// property parses a formula, or EF or AG EF and a condition on a state.
func (p *parser) property() Expr {
	if p.s.tok != tName || p.s.lit != "EF" && p.s.lit != "AG" {
		return p.formula()
	}
	pos, op := p.pos(), Possible
	if p.s.lit == "AG" {
		op = AlwaysPossible
		p.next()
		if p.s.tok != tName || p.s.lit != "EF" {
			p.fail("AG is allowed only in AG EF p; that p always holds is written [] p")
		}
	}
	p.next()
	p.enter()
	defer p.leave()
	x := p.binaryNoTemporal(Eq.Prec())
	p.grow(p.height)
	if p.s.tok != tSemi && p.s.tok != tRbrace {
		p.fail("%s is the whole property, with one condition: write %s (p && q)", op, op)
	}
	return &TemporalExpr{p.span(pos), op, x, nil}
}

// formula parses a formula, or an expression where no formula is allowed.
func (p *parser) formula() Expr {
	if !p.ltl {
		return p.expr()
	}
	p.enter()
	defer p.leave()
	return p.implication(Iff)
}

// implication parses the level of <-> and the one of -> below it.
func (p *parser) implication(op TemporalOp) Expr {
	pos := p.pos()
	operand := func() Expr {
		if op == Iff {
			return p.implication(Implies)
		}
		return p.binary(1)
	}
	x := operand()
	if p.s.tok != tTemporal || p.s.temporal != op {
		return x
	}
	p.next()
	h := p.height
	p.enter()
	y := p.implication(op)
	p.leave()
	p.grow(max(h, p.height))
	return &TemporalExpr{p.span(pos), op, x, y}
}

// binaryTemporal parses the level of U, W and R, which is above that of &&.
func (p *parser) binaryTemporal(pos source.Pos, x Expr) Expr {
	if p.s.tok != tName {
		return x
	}
	var op TemporalOp
	switch p.s.lit {
	case "U":
		op = Until
	case "W":
		op = WeakUntil
	case "R":
		op = Release
	case "V":
		p.fail("the release operator is written R")
	case "M":
		p.fail("there is no strong release: p M q is q U (p && q)")
	case "until", "weakuntil", "release":
		p.fail("the binary temporal operators are U (until), W (weak until) and R (release)")
	case "and", "or", "implies", "equivalent":
		p.fail("the operators are && || -> <->")
	default:
		return x
	}
	p.next()
	if p.s.autoSemi && p.s.tok == tSemi {
		p.next() // the formula continues in the next line
	}
	h := p.height
	p.enter()
	y := p.binary(Eq.Prec())
	p.leave()
	p.grow(max(h, p.height))
	return &TemporalExpr{p.span(pos), op, x, y}
}

// prefixTemporal parses [] x and <> x.
func (p *parser) prefixTemporal(op TemporalOp) Expr {
	pos := p.pos()
	p.enter()
	defer p.leave()
	if op == Always {
		p.next() // '['
		p.expect(tRbrack, "']': [] is the temporal operator always")
	} else {
		p.next()
	}
	x := p.binaryNoTemporal(Eq.Prec())
	p.grow(p.height)
	return &TemporalExpr{p.span(pos), op, x, nil}
}

// temporalWord refuses names in the place of a prefix operator.
func (p *parser) temporalWord(name *Ident) {
	switch p.s.tok {
	case tName:
		switch p.s.lit {
		case "U", "W", "R", "V", "M", "until", "and", "or":
			return
		}
	case tLparen, tInt, tForall, tExists, tTemporal:
		if p.s.tok == tTemporal && p.s.temporal != Eventually {
			return
		}
	case tOp:
		if p.s.op != Not {
			return
		}
	case tLbrack:
		// [] after X; X[i] is an element of an array.
		if p.s.to < len(p.s.text) && p.s.text[p.s.to] != ']' {
			return
		}
	default:
		return
	}
	at := name.Span
	switch name.Name {
	case "X", "next", "Next":
		p.errorAt(at.From, at.To, "there is no next operator: what holds one transition later "+
			"depends on how finely the statements are split into transitions, and no "+
			"partial-order reduction preserves it")
	case "G", "always":
		p.errorAt(at.From, at.To, "the operator always is written []")
	case "F", "eventually":
		p.errorAt(at.From, at.To, "the operator eventually is written <>")
	default:
		return
	}
	panic(bailDecl{})
}
