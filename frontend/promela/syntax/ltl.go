package syntax

// temporal gives each binary operator its precedence; all associate to the
// right but && and ||.
var temporal = map[string]int{"<->": 1, "->": 2, "||": 3, "&&": 4, "U": 5, "W": 5, "V": 5}

var temporalWords = map[string]string{
	"always": "[]", "eventually": "<>", "next": "X", "X": "X",
	"until": "U", "stronguntil": "U", "weakuntil": "W", "release": "V", "implies": "->", "equivalent": "<->",
	"U": "U", "W": "W", "V": "V",
}

// temporalOp returns the operator that stands here and how many tokens it has.
func (p *parser) temporalOp() (string, int) {
	t, n := p.tok(), p.peek(1)
	switch {
	case t.is("[") && n.is("]"):
		return "[]", 2
	case t.is("<") && n.is(">"):
		return "<>", 2
	case t.is("<") && n.is("->"):
		return "<->", 2
	case t.is("->"), t.is("&&"), t.is("||"), t.is("!"):
		return t.Text, 1
	case t.Kind == Ident && temporalWords[t.Text] != "":
		return temporalWords[t.Text], 1
	}
	return "", 0
}

func (p *parser) formula(min int) *Formula {
	p.enter()
	defer func() { p.depth-- }()
	first := p.i
	x := p.unaryFormula()
	for {
		pos := p.tok().Pos
		op, n := p.temporalOp()
		prec := temporal[op]
		if prec == 0 || prec <= min {
			return x
		}
		p.i += n
		next := prec - 1 // to the right
		if op == "&&" || op == "||" {
			next = prec
		}
		x = &Formula{Pos: pos, Op: op, X: x, Y: p.formula(next)}
		x.Text = p.textFrom(first)
	}
}

func (p *parser) unaryFormula() *Formula {
	p.enter()
	defer func() { p.depth-- }()
	t := p.tok()
	switch op, n := p.temporalOp(); op {
	case "!", "[]", "<>", "X":
		first := p.i
		p.i += n
		f := &Formula{Pos: t.Pos, Op: op, X: p.unaryFormula()}
		f.Text = p.textFrom(first)
		return f
	}
	if t.is("(") {
		if f := p.parenthesised(); f != nil {
			return f
		}
	}
	// A proposition binds tighter than && and ||.
	first := p.i
	f := &Formula{Pos: t.Pos, Prop: p.binary(2)}
	f.Text = p.textFrom(first)
	return f
}

// textFrom returns the text of the tokens from the i-th to the present one.
func (p *parser) textFrom(i int) string { return joined(p.in[i:p.i]) }

// parenthesised parses ( formula ), or returns nil if what stands in the
// parentheses is the beginning of a longer expression.
func (p *parser) parenthesised() (f *Formula) {
	save, errs := p.i, len(p.errs)
	depth := p.depth
	if p.noFormula[save] {
		return nil
	}
	defer func() {
		// Nested parentheses are tried once each.
		if f == nil {
			if p.noFormula == nil {
				p.noFormula = map[int]bool{}
			}
			p.noFormula[save] = true
		}
	}()
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(giveUp); !ok {
				panic(r)
			}
			p.i, p.errs, p.depth, f = save, p.errs[:errs], depth, nil
		}
	}()
	p.i++
	f = p.formula(0)
	p.want(")", "a formula in parentheses")
	if t := p.tok(); t.Kind == Op && precedence[t.Text] > 2 && !p.startsTemporal() {
		p.i = save
		return nil
	}
	return f
}

// startsTemporal tells whether < begins <-> here.
func (p *parser) startsTemporal() bool {
	_, n := p.temporalOp()
	return n > 0
}
