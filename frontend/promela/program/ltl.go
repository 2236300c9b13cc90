package program

import (
	"fmt"
	"strings"

	"cpor/frontend/promela/syntax"
)

// ltl turns a formula into text for the formula parser, with propositions p0,
// p1, ... A subformula without temporal operators is one proposition, so that
// && and || are evaluated as in an expression.
func (r *resolver) ltl(l *syntax.LTL) {
	out := &LTL{Name: l.Name.Text, Pos: l.Pos}
	if out.Name == "" {
		out.Name = fmt.Sprintf("ltl_%d", len(r.p.LTLs))
	}
	for _, o := range r.p.LTLs {
		if o.Name == out.Name {
			r.fail(l.Name.Pos, len(l.Name.Text), "a second property with the name %s", out.Name)
		}
	}
	var b strings.Builder
	r.formula(l.Formula, out, &b)
	out.Formula = b.String()
	r.p.LTLs = append(r.p.LTLs, out)
}

func state(f *syntax.Formula) syntax.Expr {
	switch f.Op {
	case "":
		return f.Prop
	case "!":
		if x := state(f.X); x != nil {
			return &syntax.Unary{Pos: f.Pos, Op: "!", X: x}
		}
	case "&&", "||":
		x, y := state(f.X), state(f.Y)
		if x != nil && y != nil {
			return &syntax.Binary{Pos: f.Pos, Op: f.Op, X: x, Y: y}
		}
	}
	return nil
}

func (r *resolver) formula(f *syntax.Formula, out *LTL, b *strings.Builder) {
	if x := state(f); x != nil {
		fmt.Fprintf(b, "p%d", len(out.Props))
		out.Props = append(out.Props, r.expr(x))
		return
	}
	b.WriteByte('(')
	defer b.WriteByte(')')
	if f.Y == nil {
		b.WriteString(f.Op + " ")
		r.formula(f.X, out, b)
		return
	}
	r.formula(f.X, out, b)
	op := f.Op
	if op == "V" {
		op = "R"
	}
	b.WriteString(" " + op + " ")
	r.formula(f.Y, out, b)
}
