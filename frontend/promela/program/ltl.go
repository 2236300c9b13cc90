package program

import (
	"fmt"

	"cpor/frontend/promela/syntax"
	"cpor/ltl"
)

// ltl resolves a property.
func (r *resolver) ltl(l *syntax.LTL) {
	out := &LTL{Name: l.Name.Text, Pos: l.Pos, Text: l.Formula.Text}
	if out.Name == "" {
		out.Name = fmt.Sprintf("ltl_%d", len(r.p.LTLs))
	}
	for _, o := range r.p.LTLs {
		if o.Name == out.Name {
			r.fail(l.Name.Pos, len(l.Name.Text), "a second property with the name %s", out.Name)
		}
	}
	f := l.Formula
	switch f.Op {
	case "EF":
		f, out.Modality = f.X, ltl.Possible
	case "AG EF":
		f, out.Modality = f.X, ltl.AlwaysPossible
	}
	out.Formula = r.formula(f)
	if out.Modality != ltl.Linear && !out.Formula.Is(ltl.Boolean) {
		r.fail(f.Pos, 1, "the operand of %s is a condition on a state, without temporal operators",
			out.Modality)
	}
	if l.NoValue != nil {
		out.Refused = syntax.Errors{l.NoValue}
	}
	r.p.LTLs = append(r.p.LTLs, out)
}

// predicate returns a formula without temporal operators as one expression, so
// that && and || are evaluated as everywhere; nil if there are such operators.
func predicate(f *syntax.Formula) syntax.Expr {
	switch f.Op {
	case "":
		return f.Prop
	case "!":
		if x := predicate(f.X); x != nil {
			return &syntax.Unary{Pos: f.Pos, Op: "!", X: x}
		}
	case "&&", "||":
		x, y := predicate(f.X), predicate(f.Y)
		if x != nil && y != nil {
			return &syntax.Binary{Pos: f.Pos, Op: f.Op, X: x, Y: y}
		}
	}
	return nil
}

func (r *resolver) formula(f *syntax.Formula) ltl.Formula {
	if x := predicate(f); x != nil {
		r.polls = anywhere
		y := r.expr(x)
		r.polls = nowhere
		return r.prop(f.Text, y)
	}
	x := r.formula(f.X)
	switch f.Op {
	case "!":
		return ltl.Not(x)
	case "[]":
		return ltl.Always(x)
	case "<>":
		return ltl.Eventually(x)
	case "X":
		return ltl.Next(x)
	}
	y := r.formula(f.Y)
	switch f.Op {
	case "&&":
		return ltl.And(x, y)
	case "||":
		return ltl.Or(x, y)
	case "->":
		return ltl.Implies(x, y)
	case "<->":
		return ltl.Iff(x, y)
	case "U":
		return ltl.Until(x, y)
	case "W":
		return ltl.WeakUntil(x, y)
	case "V":
		return ltl.Release(x, y)
	}
	panic("promela: temporal operator " + f.Op)
}

// prop enters a proposition, and returns it as an atom or a constant.
func (r *resolver) prop(text string, x Expr) ltl.Formula {
	if c, ok := x.(*Const); ok {
		if c.Value != 0 {
			return ltl.True()
		}
		return ltl.False()
	}
	for _, p := range r.p.Props {
		if p.Text == text {
			return ltl.Atom(text)
		}
	}
	r.p.Props = append(r.p.Props, Prop{text, x})
	return ltl.Atom(text)
}
