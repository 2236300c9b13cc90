package resolve

import (
	"fmt"
	"slices"

	"cpor/frontend/model/syntax"
)

// Threads of a kind that is declared symmetric can be exchanged: no thread can see
// its own number or that of another one. Properties can, so they must treat all
// threads of such a kind alike (the rules for scalarsets of Ip and Dill 1996): their numbers come
// from quantifiers over the kind, and are only used to name threads and compared
// for equality. The instances of a quantifier are evaluated in some order, so
// nothing in it may fail, or the order would matter.

// checkSymmetry checks the invariants. Temporal properties need no check: the engines
// that use symmetry check none.
func (c *checker) checkSymmetry() {
	for _, t := range c.prog.Threads {
		if t.Symmetric {
			for _, i := range c.prog.Invariants {
				c.symmetric(i.Cond, false)
			}
			return
		}
	}
}

// exchanged returns the kind of symmetric threads over which a domain ranges, nil if it is
// another domain.
func (c *checker) exchanged(d *syntax.Domain) *Object {
	if d.Of == nil {
		return nil
	}
	if t := c.prog.Uses[d.Of]; t != nil && t.Kind == ThreadObj && t.Symmetric {
		return t
	}
	return nil
}

// numbered returns the kind of symmetric threads that an expression is a number of, nil if it is
// something else.
func (c *checker) numbered(e syntax.Expr) *Object {
	id, ok := syntax.Unparen(e).(*syntax.Ident)
	if !ok {
		return nil
	}
	obj := c.prog.Uses[id]
	if obj == nil || obj.Kind != QuantObj {
		return nil
	}
	switch q := obj.Decl.(type) {
	case *syntax.QuantExpr:
		return c.exchanged(&q.Domain)
	case *syntax.FoldExpr:
		return c.exchanged(&q.Domain)
	}
	return nil
}

// symmetric checks an expression in an invariant; inside reports whether it is in a quantifier
// over symmetric threads.
func (c *checker) symmetric(e syntax.Node, inside bool) {
	syntax.Walk(e, func(n syntax.Node) bool {
		x, ok := n.(syntax.Expr)
		if !ok {
			return true
		}
		if c.big[x] != nil {
			return false
		}
		if r := c.prog.Refs[x]; r != nil {
			if r.Thread.Symmetric && c.numbered(r.Index) != r.Thread {
				c.errorf(x, "%s is symmetric: an invariant speaks of all its threads alike, as "+
					"in forall i in %[1]s { ... %[1]s[i] ... }", r.Thread.Name)
			} else if !r.Thread.Symmetric {
				c.symmetric(r.Index, inside)
			}
			return false
		}
		if why := c.mayFail(x); inside && why != "" {
			c.errorf(x, "%s can fail: in a quantifier over symmetric threads nothing can, "+
				"because it would depend on their order whether it does", why)
			return false
		}
		switch x := x.(type) {
		case *syntax.Ident:
			if t := c.numbered(x); t != nil {
				c.errorf(x, "%s is the number of a thread of %s, which is symmetric: it is "+
					"allowed only in %[2]s[%[1]s], and in comparisons with another such number, "+
					"%[1]s == j", x.Name, t.Name)
			}
		case *syntax.BinaryExpr:
			if t := c.numbered(x.X); t != nil && (x.Op == syntax.Eq || x.Op == syntax.Ne) &&
				c.numbered(x.Y) == t {
				return false
			}
		case *syntax.QuantExpr:
			if c.exchanged(&x.Domain) != nil {
				c.symmetric(x.Cond, true)
				return false
			}
		case *syntax.FoldExpr:
			return !c.symmetricFold(x)
		}
		return true
	})
}

// symmetricFold checks a sum or the like over symmetric threads, and reports whether it is one.
func (c *checker) symmetricFold(x *syntax.FoldExpr) bool {
	if c.exchanged(&x.Domain) == nil {
		return false
	}
	if t := c.prog.Types[x]; x.Op == syntax.Sum && t != nil && t.Signed {
		c.errorf(x, "whether a sum of numbers that can be negative gets too large "+
			"depends on the order of the threads, which are symmetric: convert to an "+
			"unsigned type")
	}
	c.symmetric(x.X, true)
	return true
}

// scalarset returns a new type of exchangeable names.
func (c *checker) scalarset(e *syntax.SymmetricType, name string) *Type {
	n, ok := c.constInt(e.Len, "the number of names")
	switch {
	case !ok:
		n = 1
	case n < 1:
		c.errorf(e.Len, "there is at least 1 name, not %d", n)
		n = 1
	case n > maxNames:
		c.errorf(e.Len, "there are at most %d names, not %d", maxNames, n)
		n = 1
	}
	t := &Type{Kind: Scalarset, Name: name, Len: int(n), Names: map[int64]string{0: "nil"}}
	for i := range n {
		t.Names[i+1] = fmt.Sprintf("%s#%d", name, i)
	}
	return t
}

// maxNames bounds the names of a type: the search examines pairs of them in each state.
const maxNames = 255

// namesOf returns the Scalarset that an expression names, nil if it is something else.
func (c *checker) namesOf(e syntax.Expr) *Type {
	id, ok := syntax.Unparen(e).(*syntax.Ident)
	if !ok {
		return nil
	}
	obj := c.scope.find(id.Name)
	if obj == nil || obj.Kind != TypeObj || !c.complete(obj) || obj.Type.Kind != Scalarset {
		return nil
	}
	c.prog.Uses[id] = obj
	return obj.Type
}

// inSteps reports an iteration over the names of a type in some order that takes several steps:
// between two of them, finished names differ from the others.
func (c *checker) inSteps(n syntax.Node, what string) {
	if c.body == nil || c.body == c.init || c.body.atomic > 0 || c.noEffects == awaited {
		return
	}
	c.errorf(n, "%s takes several steps, and their order would distinguish the names; put it "+
		"into an atomic block", what)
}

// alike checks the body of a quantifier over names: it is evaluated in some order, so nothing in
// it may fail.
func (c *checker) alike(e syntax.Expr, t *Type) {
	var inside syntax.Expr
	switch e := e.(type) {
	case *syntax.QuantExpr:
		inside = e.Cond
	case *syntax.FoldExpr:
		inside = e.X
		if t := c.prog.Types[e.X]; e.Op == syntax.Sum && t != nil &&
			(t.Signed || t.Kind == UntypedInt) {
			c.errorf(e, "whether a sum of numbers that can be negative gets too large depends on "+
				"the order of the names, which are symmetric: convert to an unsigned type")
		}
	}
	syntax.Walk(inside, func(n syntax.Node) bool {
		x, ok := n.(syntax.Expr)
		if !ok {
			return true
		}
		if c.big[x] != nil {
			return false
		}
		if why := c.mayFail(x); why != "" {
			c.errorf(x, "%s can fail: in a quantifier over %s nothing can, because it would "+
				"depend on the order of the names whether it does", why, t)
			return false
		}
		return true
	})
}

// steady reports whether an expression is a variable, or a field of one, whose value does not
// depend on a quantifier's variable.
func (p *Program) steady(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return p.steady(e.X)
	case *syntax.Ident:
		obj := p.Uses[e]
		return obj != nil && (obj.Kind == SharedObj || obj.Kind == LocalObj)
	case *syntax.SelectorExpr:
		t := p.Types[e.X]
		return p.Refs[e] == nil && t != nil && t.Kind == Struct && p.steady(e.X)
	}
	return false
}

// Alike reports whether a quantifier ranges over names or symmetric threads.
func (p *Program) Alike(d *syntax.Domain) bool {
	return d.Of != nil && (p.Uses[d.Of].Symmetric || p.Uses[d.Of].Kind == TypeObj)
}

// Before returns what is evaluated before a quantifier, or count, sum, min or max, over names or
// symmetric threads: indices in its body that are variables. Whether they are within their
// arrays does not depend on the quantifier, so their order of evaluation must not decide which
// one fails.
func (p *Program) Before(inside syntax.Expr) []*syntax.IndexExpr {
	var list []*syntax.IndexExpr
	syntax.Walk(inside, func(n syntax.Node) bool {
		x, ok := n.(syntax.Expr)
		if !ok {
			return true
		}
		if _, constant := p.Const[x]; constant || p.Refs[x] != nil {
			return false
		}
		if i, ok := x.(*syntax.IndexExpr); ok {
			if _, constant := p.Const[i.Index]; !constant && p.steady(i.Index) {
				list = append(list, i)
			}
		}
		return true
	})
	return list
}

// anyName reports whether an expression is the variable of a quantifier over names.
func (c *checker) anyName(e syntax.Expr) bool {
	id, ok := syntax.Unparen(e).(*syntax.Ident)
	if !ok {
		return false
	}
	obj := c.prog.Uses[id]
	return obj != nil && obj.Kind == QuantObj && obj.Type.Kind == Scalarset
}

// byNames reports whether values of the type contain an array whose indices are names.
func (t *Type) byNames() bool {
	switch t.Kind {
	case Array:
		return t.Index != nil || t.Elem.byNames()
	case Struct:
		return slices.ContainsFunc(t.Fields, func(f Field) bool { return f.Type.byNames() })
	}
	return false
}

// wholeArray reports the copy of a value that contains an array whose indices are names:
// it is accessed element by element.
func (c *checker) wholeArray(n syntax.Node, t *Type) {
	if t.byNames() {
		c.inSteps(n, "copying "+t.String())
	}
}

// mayFail describes what in a non-constant expression can fail at run time; "" if nothing.
func (c *checker) mayFail(e syntax.Expr) string {
	switch e := e.(type) {
	case *syntax.BinaryExpr:
		switch e.Op {
		case syntax.Add, syntax.Sub, syntax.Mul, syntax.Div, syntax.Rem, syntax.Shl, syntax.Shr:
			return "arithmetic"
		}
	case *syntax.UnaryExpr:
		switch e.Op {
		case syntax.Sub:
			return "arithmetic"
		case syntax.Mul:
			return "following a pointer"
		}
	case *syntax.SelectorExpr:
		if t := c.prog.Types[e.X]; t != nil && t.Kind == Pointer {
			return "following a pointer"
		}
	case *syntax.IndexExpr:
		t := c.prog.Types[e.X]
		if t != nil && t.Kind == Pointer {
			return "following a pointer"
		}
		if c.big[e.Index] == nil && !c.anyName(e.Index) && (t == nil || t.Kind != Array ||
			!c.prog.steady(e.Index)) {
			return "an index that is neither constant nor a variable"
		}
	case *syntax.FoldExpr:
		if e.Op == syntax.Sum {
			return "a sum"
		}
	case *syntax.CallExpr:
		if c.prog.Calls[e] == CallFunc {
			return "a function"
		}
	}
	return ""
}
