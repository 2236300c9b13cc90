package syntax

import "fmt"

// temporal gives each binary operator of an ltl block its precedence, those of expressions
// included; all associate to the left, as in SPIN's grammar.
var temporal = map[string]int{"->": 1, "<->": 1, "||": 2, "&&": 3, "U": 4, "W": 4, "V": 4}

var temporalWords = map[string]string{
	"always": "[]", "eventually": "<>", "next": "X", "X": "X",
	"until": "U", "stronguntil": "U", "weakuntil": "W", "release": "V", "implies": "->",
	"equivalent": "<->",
	"U":          "U", "W": "W", "V": "V",
}

// temporalOp returns the operator here and its number of tokens.
func (p *parser) temporalOp() (string, int) {
	t, n := p.tok(), p.peek(1)
	joined := !n.Space && !n.Newline
	switch {
	case t.is("[") && n.is("]") && joined:
		return "[]", 2
	case t.is("<") && n.is(">") && joined:
		return "<>", 2
	case t.is("<") && n.is("->") && joined:
		return "<->", 2
	case t.is("->"), t.is("!"):
		return t.Text, 1
	case t.Kind == Ident && temporalWords[t.Text] != "":
		return temporalWords[t.Text], 1
	}
	if t.Kind == Op && (temporal[t.Text] > 0 || precedence[t.Text] > 0) {
		return t.Text, 1
	}
	return "", 0
}

// binds returns the precedence of a binary operator in an ltl block; 0 if it is none.
func binds(op string) int {
	if n := temporal[op]; n > 0 {
		return n
	}
	if n := precedence[op]; n > 0 {
		return n + len(temporal)
	}
	return 0
}

// formula parses operators that bind more tightly than min, temporal ones and those of expressions
// in one, as SPIN's grammar has them.
func (p *parser) formula(min int) *Formula {
	p.enter()
	defer func() { p.depth-- }()
	first := p.i
	x := p.unaryFormula()
	for {
		t := p.tok()
		op, n := p.temporalOp()
		prec := binds(op)
		if prec == 0 || prec <= min {
			return x
		}
		p.i += n
		y := p.formula(prec)
		if temporal[op] > 0 {
			x = &Formula{Pos: t.Pos, Op: op, X: x, Y: y}
		} else {
			x = &Formula{Pos: x.Pos, Prop: &Binary{t.Pos, op, p.value(x, op), p.value(y, op)}}
		}
		x.Text = p.textFrom(first)
	}
}

// value returns a formula without temporal operators as an expression that an operator computes
// with.
func (p *parser) value(f *Formula, op string) Expr {
	switch f.Op {
	case "":
		return f.Prop
	case "!":
		return &Unary{f.Pos, "!", p.value(f.X, op)}
	case "&&", "||":
		return &Binary{f.Pos, f.Op, p.value(f.X, op), p.value(f.Y, op)}
	case "->":
		return &Binary{f.Pos, "||", &Unary{f.Pos, "!", p.value(f.X, op)}, p.value(f.Y, op)}
	}
	if p.noValue == nil {
		p.noValue = &Error{f.Pos, len(f.Op),
			fmt.Sprintf("%s binds more tightly than %s, as in SPIN, and a formula has no value "+
				"to compute with; put the operand in parentheses: %s (... %s ...)", f.Op, op, f.Op,
				op)}
	}
	return &Const{Pos: f.Pos}
}

// possibility parses a formula, or EF or AG EF and an expression, which SPIN does not have.
func (p *parser) possibility() *Formula {
	t, first := p.tok(), p.i
	n := p.peek(1)
	if !t.isIdent("EF") && !t.isIdent("AG") || n.is("}") || n.Kind == Op && !n.is("(") &&
		!n.is("!") { // a variable
		return p.formula(0)
	}
	f := &Formula{Pos: t.Pos, Op: "EF"}
	if p.i++; t.isIdent("AG") {
		f.Op = "AG EF"
		if !p.tok().isIdent("EF") {
			p.fail(p.tok(), "AG is allowed only in AG EF p; that p always holds is written [] p")
		}
		p.i++
	}
	f.X = p.formula(temporal["U"]) // comparisons bind more tightly
	if op, _ := p.temporalOp(); op != "" {
		p.fail(p.tok(), f.Op+" is the whole property, with one condition: write "+f.Op+
			" (p && q)")
	}
	f.Text = p.textFrom(first)
	return f
}

func (p *parser) unaryFormula() *Formula {
	p.enter()
	defer func() { p.depth-- }()
	t, first := p.tok(), p.i
	switch op, n := p.temporalOp(); {
	case op == "!", op == "[]", op == "<>", op == "X":
		p.i += n
		f := &Formula{Pos: t.Pos, Op: op, X: p.unaryFormula()}
		f.Text = p.textFrom(first)
		return f
	case op == "-", t.is("~"):
		p.i++
		x := p.value(p.unaryFormula(), t.Text)
		f := &Formula{Pos: t.Pos, Prop: &Unary{t.Pos, t.Text, x}}
		if c, ok := x.(*Const); ok && op == "-" {
			f.Prop = &Const{t.Pos, -c.Value}
		}
		f.Text = p.textFrom(first)
		return f
	case t.is("("):
		p.i++
		f := p.formula(0)
		p.want(")", "a formula in parentheses")
		return f
	}
	if t.isIdent("run") {
		p.fail(t, "run is not allowed in an ltl block")
	}
	f := &Formula{Pos: t.Pos, Prop: p.primary()}
	f.Text = p.textFrom(first)
	return f
}

// textFrom returns the text of the tokens from the i-th to the present one.
func (p *parser) textFrom(i int) string { return joined(p.in[i:p.i]) }
