package resolve

import (
	"slices"

	"cpor/frontend/model/syntax"
	"cpor/frontend/source"
)

// A function has no effects if its calls change only its own variables, and neither wait nor
// choose. Then a call is an expression that reads, and is allowed where effects are not. It may
// loop, and it may fail.

// effect is something that a function does besides computing its results.
type effect struct {
	from, to source.Pos
	what     string // as in "f ..."
}

// guarded is a call where no effects are allowed.
type guarded struct {
	callee   *Object
	from, to source.Pos
	where    string
}

// harmless are the built-in functions without effects.
var harmless = []string{"len", "cap", "empty", "full", "poll", "match", "peek", "min", "max"}

// checkGuarded reports calls of functions with effects where none are allowed.
func (c *checker) checkGuarded() {
	found := map[*Object]*effect{}
	for _, g := range c.guarded {
		if e := c.effectOf(g.callee, found); e != nil {
			m := c.list.Add(g.from, g.to, "%s has an effect: it cannot be called in %s",
				g.callee.Name, g.where)
			m.Note(e.from, "it %s here", e.what)
		}
	}
}

// effectOf returns the first effect of a function, nil if it has none.
func (c *checker) effectOf(f *Object, found map[*Object]*effect) *effect {
	if e, ok := found[f]; ok {
		return e
	}
	found[f] = nil // of recursion it is told elsewhere
	if c.bodies[f] == nil {
		return nil // a body with syntax errors
	}
	var first *effect
	syntax.Walk(f.Body, func(n syntax.Node) bool {
		if what := c.does(n, found); what != "" && first == nil {
			first = &effect{n.Pos(), n.End(), what}
		}
		return first == nil
	})
	found[f] = first
	return first
}

// does returns the effect of a node itself, without those below it; "" if none.
func (c *checker) does(n syntax.Node, found map[*Object]*effect) string {
	writes := func(places ...syntax.Expr) string {
		for _, e := range places {
			if e != nil && c.isShared(e) {
				return "writes " + text(e)
			}
		}
		return ""
	}
	switch n := n.(type) {
	case *syntax.AssignStmt:
		if n.Op == syntax.Define {
			return ""
		}
		return writes(n.Lhs...)
	case *syntax.IncDecStmt:
		return writes(n.X)
	case *syntax.RangeStmt:
		if t := c.prog.Types[n.X]; t != nil && t.Kind == Chan {
			return "receives"
		}
		if n.Define {
			return ""
		}
		return writes(n.Key, n.Value)
	case *syntax.Block, *syntax.DeclStmt, *syntax.EmptyStmt, *syntax.ExprStmt, *syntax.IfStmt,
		*syntax.ForStmt, *syntax.SwitchStmt,
		*syntax.AtomicStmt, *syntax.ReturnStmt, *syntax.BranchStmt, *syntax.LabeledStmt,
		*syntax.AssertStmt, *syntax.SkipStmt, *syntax.BadStmt:
		return ""
	case *syntax.SendStmt:
		return "sends"
	case *syntax.AwaitStmt:
		return "waits"
	case *syntax.SelectStmt:
		return "has a select"
	case *syntax.ChooseStmt:
		return "chooses"
	case *syntax.GoStmt:
		return "starts a thread"
	case *syntax.SyncStmt:
		return "enters a monitor"
	case syntax.Stmt:
		return "has an effect"
	case *syntax.UnaryExpr:
		if n.Op == syntax.Arrow {
			return "receives"
		}
	case *syntax.CallExpr:
		id, ok := syntax.Unparen(n.Fun).(*syntax.Ident)
		if !ok {
			return ""
		}
		switch c.prog.Calls[n] {
		case CallBuiltin:
			if !slices.Contains(harmless, id.Name) {
				return "has a " + id.Name
			}
		case CallFunc:
			if f := c.prog.Uses[id]; f != nil && f.Kind == FuncObj && c.effectOf(f, found) != nil {
				return "calls " + f.Name
			}
		}
	}
	return ""
}

// isShared reports whether a place is a shared variable or a part of one.
func (c *checker) isShared(e syntax.Expr) bool {
	pointer := func(e syntax.Expr) bool {
		t := c.prog.Types[e]
		return t != nil && t.Kind == Pointer
	}
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return c.isShared(e.X)
	case *syntax.Ident:
		obj := c.prog.Uses[e]
		return obj != nil && obj.Kind == SharedObj
	case *syntax.SelectorExpr:
		return pointer(e.X) || c.isShared(e.X)
	case *syntax.IndexExpr:
		return pointer(e.X) || c.isShared(e.X)
	case *syntax.UnaryExpr:
		return e.Op == syntax.Mul
	}
	return true // no place that is known
}
