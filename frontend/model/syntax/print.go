package syntax

import (
	"fmt"
	"strings"

	"cpor/frontend/source"
)

// String returns the text of an expression, a type or a simple statement, in the layout of
// gofmt, on one line. Of a statement with a body it is only the head. Messages and traces use
// it.
func String(n Node) string {
	var p printer
	p.node(n)
	return p.String()
}

type printer struct {
	strings.Builder
	// mark, if not nil, is called with the blanks around each operator: none, or one after it
	// although there would be none.
	mark func(at source.Pos, tight, gap bool)
}

// String returns the operator as it is written.
func (op Op) String() string {
	return [...]string{
		NoOp: "", Assign: "=", Define: ":=", Add: "+", Sub: "-", Mul: "*", Div: "/", Rem: "%",
		And: "&", Or: "|", Xor: "^", Shl: "<<", Shr: ">>", AndNot: "&^", LAnd: "&&", LOr: "||",
		Eq: "==", Ne: "!=", Lt: "<", Le: "<=", Gt: ">", Ge: ">=", Not: "!", Arrow: "<-",
	}[op]
}

// String returns the keyword.
func (t BranchToken) String() string {
	return [...]string{"break", "continue", "goto", "fallthrough"}[t]
}

func (p *printer) exprs(list []Expr, depth int) {
	for i, x := range list {
		if i > 0 {
			p.WriteString(", ")
		}
		p.expr(x, 0, depth)
	}
}

// expr prints x inside an operator of precedence prec; depth is gofmt's: from 2
// on operators stand closer to their operands.
func (p *printer) expr(x Expr, prec, depth int) {
	switch x := x.(type) {
	case *Ident:
		p.WriteString(x.Name)
	case *IntLit:
		p.WriteString(x.Text)
	case *StringLit:
		fmt.Fprintf(p, "%q", x.Value)
	case *ParenExpr:
		p.WriteByte('(')
		p.expr(x.X, 0, max(depth-1, 1))
		p.WriteByte(')')
	case *UnaryExpr:
		const unaryPrec = 6
		if unaryPrec < prec {
			p.WriteByte('(')
			defer p.WriteByte(')')
		}
		p.WriteString(x.Op.String())
		u, ok := x.X.(*UnaryExpr)
		gap := ok && needGap(x.Op, u.Op)
		if gap {
			p.WriteByte(' ')
		}
		if p.mark != nil {
			p.mark(x.From, true, gap)
		}
		p.expr(x.X, unaryPrec, depth)
	case *BinaryExpr:
		p.binary(x, prec, depth)
	case *IndexExpr:
		p.expr(x.X, highPrec, 1)
		p.WriteByte('[')
		p.expr(x.Index, 0, depth+1)
		p.WriteByte(']')
	case *SelectorExpr:
		p.expr(x.X, highPrec, depth)
		p.WriteByte('.')
		p.WriteString(x.Sel.Name)
	case *AtExpr:
		p.expr(x.X, highPrec, depth)
		p.WriteByte('@')
		p.WriteString(x.Label.Name)
	case *CallExpr:
		p.expr(x.Fun, highPrec, depth)
		p.WriteByte('(')
		if len(x.Args) > 1 {
			depth++ // as gofmt: f(a+b, c)
		}
		p.exprs(x.Args, depth)
		p.WriteByte(')')
	case *CompositeLit:
		if x.Type != nil {
			p.node(x.Type)
		}
		p.WriteByte('{')
		for i, v := range x.Values {
			if i > 0 {
				p.WriteString(", ")
			}
			if k := x.Keys[i]; k != nil {
				p.expr(k, 0, 1)
				p.WriteString(": ")
			}
			p.expr(v, 0, 1)
		}
		p.WriteByte('}')
	case *MakeExpr:
		p.WriteString("make(")
		p.node(x.Type)
		if x.Cap != nil {
			p.WriteString(", ")
			p.expr(x.Cap, 0, 2)
		}
		p.WriteByte(')')
	case *TemporalExpr:
		p.temporal(x, prec)
	case *QuantExpr:
		if x.Exists {
			p.WriteString("exists ")
		} else {
			p.WriteString("forall ")
		}
		p.over(x.Var, x.Domain, x.Cond)
	case *FoldExpr:
		p.WriteString(x.Op.String() + " ")
		p.over(x.Var, x.Domain, x.X)
	}
}

// over prints a quantifier's domain and body.
func (p *printer) over(v *Ident, d Domain, x Expr) {
	p.WriteString(v.Name)
	p.WriteString(" in ")
	if d.Of != nil {
		p.WriteString(d.Of.Name)
	} else {
		p.expr(d.Lo, 0, 2)
		p.WriteString("..")
		p.expr(d.Hi, 0, 2)
	}
	p.WriteString(" { ")
	p.expr(x, 0, 1)
	p.WriteString(" }")
}

// highPrec is above every operator: an operand of an index, a selector or a call.
const highPrec = 7

// needGap reports whether op directly before inner would read as another token.
func needGap(op, inner Op) bool {
	return op == inner && (op == And || op == Add || op == Sub) || op == And && inner == Xor
}

// binary follows go/printer: at the top all operators have blanks, except that
// those of higher precedence lose them when there are two levels.
func (p *printer) binary(x *BinaryExpr, prec, depth int) {
	q := x.Op.Prec()
	if q < prec {
		p.WriteByte('(')
		defer p.WriteByte(')')
		depth = max(depth-1, 1)
	}
	blank := q < cutoff(x, depth) || braced(x, q)
	p.binaryIn(x, q, blank, depth)
}

func (p *printer) binaryIn(x *BinaryExpr, q int, blank bool, depth int) {
	if l, ok := x.X.(*BinaryExpr); ok && l.Op.Prec() == q {
		p.binaryIn(l, q, blank, depth) // the same level: the same layout
	} else {
		p.expr(x.X, q, depth+diffPrec(x.X, q))
	}
	if blank {
		p.WriteByte(' ')
	}
	p.WriteString(x.Op.String())
	u, ok := x.Y.(*UnaryExpr)
	gap := ok && (needGap(x.Op, u.Op) || x.Op == Div && u.Op == Mul || x.Op == Lt && u.Op == Sub)
	if blank || gap {
		p.WriteByte(' ')
	}
	if p.mark != nil {
		p.mark(x.OpPos, !blank, gap)
	}
	p.expr(x.Y, q+1, depth+1)
}

func diffPrec(x Expr, prec int) int {
	if b, ok := x.(*BinaryExpr); ok && b.Op.Prec() == prec {
		return 0
	}
	return 1
}

// braced reports whether an operand of the operators of one level ends in a brace, which is
// always followed by a blank.
func braced(x *BinaryExpr, q int) bool {
	for y := Expr(x); ; {
		switch z := y.(type) {
		case *QuantExpr, *FoldExpr:
			return true
		case *BinaryExpr:
			if z.Op.Prec() != q {
				return false
			}
			switch z.Y.(type) {
			case *QuantExpr, *FoldExpr:
				return true
			}
			y = z.X
		default:
			return false
		}
	}
}

// cutoff returns the precedence from which on operators have no blanks.
func cutoff(x *BinaryExpr, depth int) int {
	has4, has5 := false, false
	var walk func(x Expr)
	walk = func(x Expr) {
		for {
			b, ok := x.(*BinaryExpr)
			if !ok {
				return
			}
			switch b.Op.Prec() {
			case 4:
				has4 = true
			case 5:
				has5 = true
			}
			// An operand that will be put into parentheses does not count.
			if y, ok := b.Y.(*BinaryExpr); ok && y.Op.Prec() > b.Op.Prec() {
				walk(y)
			}
			x = b.X
			if l, ok := x.(*BinaryExpr); ok && l.Op.Prec() < b.Op.Prec() {
				return
			}
		}
	}
	walk(x)
	switch {
	case has4 && has5 && depth == 1:
		return 5
	case has4 && has5:
		return 4
	case depth == 1:
		return 6
	}
	return 4
}

// node prints a node, if there is one.
func (p *printer) node(n Node) {
	if n != nil {
		n.print(p)
	}
}

// whole prints an expression that stands alone.
func (p *printer) whole(x Expr) { p.expr(x, 0, 1) }

func (p *printer) quote(s string) { fmt.Fprintf(p, "%q", s) }

// printList prints nodes with a separator between them.
func printList[T Node](p *printer, list []T, separator string) {
	for i, n := range list {
		if i > 0 {
			p.WriteString(separator)
		}
		n.print(p)
	}
}

func (p *printer) assignment(s *AssignStmt) {
	depth := 1
	if len(s.Lhs) > 1 && len(s.Rhs) > 1 {
		depth = 2
	}
	p.exprs(s.Lhs, depth)
	p.WriteByte(' ')
	p.WriteString(s.Op.String())
	if s.Op != Assign && s.Op != Define {
		p.WriteByte('=')
	}
	p.WriteByte(' ')
	p.exprs(s.Rhs, depth)
}

// clauses prints what is between for and the body.
func (p *printer) clauses(s *ForStmt) {
	if s.Init == nil && s.Post == nil {
		if s.Cond != nil {
			p.WriteByte(' ')
			p.node(s.Cond)
		}
		return
	}
	p.WriteByte(' ')
	p.node(s.Init)
	p.WriteString("; ")
	p.node(s.Cond)
	p.WriteString(";")
	if s.Post != nil {
		p.WriteByte(' ')
		p.node(s.Post)
	}
}

// arguments prints those of a thread that starts.
func (p *printer) arguments(s *GoStmt) {
	depth := 1
	if len(s.Args) > 1 {
		depth = 2
	}
	p.exprs(s.Args, depth)
}

// results prints the types of the results of a function, in parentheses if there are several.
func (p *printer) results(d *FuncDecl) {
	switch len(d.Results) {
	case 0:
	case 1:
		p.WriteByte(' ')
		p.node(d.Results[0])
	default:
		p.WriteString(" (")
		printList(p, d.Results, ", ")
		p.WriteByte(')')
	}
}

// temporal prints an operator of a formula, with more parentheses than needed.
func (p *printer) temporal(x *TemporalExpr, prec int) {
	if prec > 0 {
		p.WriteByte('(')
		defer p.WriteByte(')')
	}
	if x.Y == nil {
		p.WriteString(x.Op.String())
		p.WriteByte(' ')
		p.operand(x.X)
		return
	}
	p.operand(x.X)
	p.WriteByte(' ')
	p.WriteString(x.Op.String())
	p.WriteByte(' ')
	p.operand(x.Y)
}

// operand prints an operand of a temporal operator.
func (p *printer) operand(x Expr) {
	prec := Eq.Prec()
	if t, ok := x.(*TemporalExpr); ok && t.Y == nil {
		prec = 0
	}
	p.expr(x, prec, 1)
}
