package compile

import (
	"fmt"

	"cpor/frontend/model/syntax"
)

// Witness says which instance decided a quantifier of an assertion or an invariant that failed:
// forall i in 0..3 { a[i] == 0 } fails at i = 2. The code has a copy of the condition for each
// instance, so where it was executed last tells the instance.
type Witness struct {
	Outer *Witness // of the quantifier around it; nil if there is none
	quant *syntax.QuantExpr
	value string // of its variable; empty if no single instance decided
}

// String returns the witnesses in words, the outermost first.
func (w *Witness) String() string {
	word, what := "forall", "holds for every"
	switch {
	case w.value != "" && w.quant.Exists:
		what = "holds at"
	case w.value != "":
		what = "fails at"
	case w.quant.Exists:
		what = "holds for no"
	}
	if w.quant.Exists {
		word = "exists"
	}
	v := w.quant.Var.Name
	s := fmt.Sprintf("%s %s %s %s", word, v, what, v)
	if w.value != "" {
		s += " = " + w.value
	}
	if w.Outer != nil {
		s = w.Outer.String() + ", where " + s
	}
	return s
}

// Note is a place in the code of an assertion or an invariant. If it fails and this is the last
// note that was executed, the instances of Witness decided; nil means none.
type Note struct {
	At      int // address
	Witness *Witness
}

// noting is what the generator knows while it compiles the condition of an assertion.
//
// The operators stop at the first operand that decides, and quantifiers at the first instance.
// So what is evaluated last has decided everything around it, and what each quantifier around it
// amounts to follows from the negations alone.
type noting struct {
	on    bool
	truth bool // of the expression that is being compiled, if it decides
	in    *Witness
}

// asserted compiles a condition, jumps to a label if it holds, and emits fail otherwise.
func (g *gen) asserted(cond syntax.Expr, holds int32, fail Instr) {
	if _, ok := syntax.Find(cond, func(*syntax.QuantExpr) bool { return true }); !ok {
		g.condJump(cond, holds, true)
		g.emit(fail)
		return
	}
	outer := g.noting
	g.noting = noting{on: true}
	from := len(g.p.Notes)
	g.note(nil)
	g.condJump(cond, holds, true)
	// What has no code has decided nothing.
	for n := len(g.p.Notes); n > from && g.p.Notes[n-1].At == len(g.p.Code); n-- {
		g.p.Notes = g.p.Notes[:n-1]
	}
	if len(g.p.Notes) == from {
		g.note(nil)
	}
	g.emit(fail)
	g.noting = noting{on: true, in: outer.in}
	g.note(outer.in)
	g.noting = outer
}

// note notes that the code from here on belongs to the instances of w.
func (g *gen) note(w *Witness) {
	if !g.noting.on {
		return
	}
	if n := len(g.p.Notes); n > 0 && g.p.Notes[n-1].At == len(g.p.Code) {
		g.p.Notes = g.p.Notes[:n-1]
	}
	g.p.Notes = append(g.p.Notes, Note{len(g.p.Code), w})
}

// apart switches notes off, up to a call of the function that it returns, unless an expression
// consists of conditions whose last one decides.
func (g *gen) apart(e syntax.Expr) (leave func()) {
	old := g.noting
	switch x := e.(type) {
	case *syntax.ParenExpr, *syntax.QuantExpr:
	case *syntax.UnaryExpr:
		g.noting.on = old.on && x.Op == syntax.Not
		g.noting.truth = !old.truth
	case *syntax.BinaryExpr:
		g.noting.on = old.on && (x.Op == syntax.LAnd || x.Op == syntax.LOr)
	default:
		g.noting.on = false
	}
	return func() { g.noting = old }
}

// instanceOf notes that an instance of a quantifier begins, up to a call of the function that it
// returns. Where no single instance decides, there are no notes within.
func (g *gen) instanceOf(e *syntax.QuantExpr) (leave func()) {
	old := g.noting
	if w := g.decider(e); w != nil {
		g.noting.in = w
		g.note(w)
	} else {
		g.noting.on = false
	}
	return func() { g.noting = old }
}

// decider returns the witness that the instance being compiled is if it decides. It is nil if all
// instances together decide, or if the number of the instance is not constant.
func (g *gen) decider(e *syntax.QuantExpr) *Witness {
	obj := g.r.Uses[e.Var]
	v, ok := g.quant[obj]
	if !ok || g.noting.truth != e.Exists {
		return nil
	}
	value := fmt.Sprint(v)
	if t := obj.Type; t != nil && t.Names[v] != "" {
		value = t.Names[v]
	}
	return &Witness{Outer: g.noting.in, quant: e, value: value}
}

// quantified notes that a quantifier begins: that all its instances together decide, if they do.
func (g *gen) quantified(e *syntax.QuantExpr) {
	w := g.noting.in
	if g.noting.truth != e.Exists {
		w = &Witness{Outer: w, quant: e}
	}
	g.note(w)
}
