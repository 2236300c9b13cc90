package resolve

import (
	"fmt"

	"cpor/frontend/model/syntax"
)

// anInvariant names the place of an invariant's condition, for messages.
const anInvariant = "an invariant"

// threadsOf returns the numbers of the threads of a kind, over which a quantifier in a property
// ranges. Their number follows from init. If it is unknown before the run, an invariant counts
// them in each state; then there are no bounds.
func (c *checker) threadsOf(id *syntax.Ident, word string) (Bounds, bool) {
	obj := c.scope.find(id.Name)
	switch {
	case obj == nil:
		c.undefined(id, "thread", func(o *Object) bool { return o.Kind == ThreadObj })
		return Bounds{}, false
	case obj.Kind != ThreadObj:
		c.prog.Uses[id] = obj
		c.errorf(id, "%s is %s: a quantifier goes over the threads of a kind, or over the "+
			"numbers of a range, as in %s i in 0..N-1 { ... }", id.Name, kindName(obj.Kind), word)
		return Bounds{}, false
	}
	c.prog.Uses[id] = obj
	if !c.invariant {
		c.errorf(id, "only a property can go over threads: write an invariant")
		return Bounds{}, false
	}
	if len(c.file.Broken) > 0 || c.file.Lost {
		return Bounds{}, false // what could not be read may start some
	}
	k := &census{c: c, of: obj, starts: map[*Object]bool{}}
	n, why := k.threads()
	if why != "" && c.noEffects == anInvariant && word != "min" && word != "max" {
		return Bounds{}, false
	}
	if why != "" {
		if c.noEffects == anInvariant {
			why += ", and there may be none"
		}
		m := c.errorf(id, "how many threads of %s there are is not known before the run: %s; "+
			"write a range, as in %s i in 0..2 { ... }", id.Name, why, word)
		if k.at != nil {
			m.Note(k.at.Pos(), "here")
		}
		return Bounds{}, false
	}
	return Bounds{0, int64(n) - 1}, true
}

// census counts the threads of a kind that init starts.
type census struct {
	c      *checker
	of     *Object
	starts map[*Object]bool // functions, whether they start any
	at     syntax.Node      // where the number becomes unknown
}

// threads returns the number of threads of the kind; why is not empty if it varies between runs,
// or is unknown.
func (k *census) threads() (n int, why string) {
	for _, t := range k.c.prog.Threads {
		if k.any(t.Body) {
			return 0, fmt.Sprintf("%s starts some", t.Name)
		}
	}
	if k.c.prog.Init == nil {
		return 0, "there is no init"
	}
	return k.list(k.c.prog.Init.Body.Stmts)
}

// any reports whether something below a node may start a thread of the kind.
func (k *census) any(n syntax.Node) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.GoStmt:
			found = found || k.c.prog.Uses[n.Thread] == k.of
		case *syntax.CallExpr:
			found = found || k.callee(n) != nil
		}
		return !found
	})
	if found && k.at == nil {
		k.at = n
	}
	return found
}

// callee returns the function of a call if it may start threads of the kind.
func (k *census) callee(n *syntax.CallExpr) *Object {
	id, ok := syntax.Unparen(n.Fun).(*syntax.Ident)
	if !ok || k.c.prog.Uses[id] == nil || k.c.prog.Uses[id].Kind != FuncObj {
		return nil
	}
	f := k.c.prog.Uses[id]
	does, known := k.starts[f]
	if !known {
		k.starts[f] = false // recursion is refused elsewhere
		at := k.at
		does = k.any(f.Body)
		k.starts[f], k.at = does, at
	}
	if !does {
		return nil
	}
	return f
}

// jumps reports whether a statement can leave the statements around it.
func (k *census) jumps(n syntax.Node) bool {
	_, ok := syntax.Find(n, func(n syntax.Stmt) bool {
		switch n.(type) {
		case *syntax.ReturnStmt, *syntax.BranchStmt:
			return true
		}
		return false
	})
	return ok
}

func (k *census) unknown(n syntax.Node, why string) (int, string) {
	k.at = n
	return 0, why
}

func (k *census) list(list []syntax.Stmt) (n int, why string) {
	left := false        // a jump may have left out what follows
	var last syntax.Stmt // that starts some
	for i, s := range list {
		if !k.any(s) {
			if last != nil && k.back(s, last) {
				return k.unknown(s, "a jump goes back before where some are started")
			}
			_, ends := s.(*syntax.ReturnStmt)
			left = left || k.jumps(s) && !(ends && i == len(list)-1)
			continue
		}
		if left || k.jumps(s) {
			return k.unknown(s, "there is a jump around")
		}
		m, why := k.stmt(s)
		if why != "" {
			return 0, why
		}
		n += m
		last = s
	}
	k.at = nil
	return n, ""
}

// back reports whether a statement can jump back to or before another one of its list.
func (k *census) back(n, to syntax.Stmt) bool {
	_, ok := syntax.Find(n, func(b *syntax.BranchStmt) bool {
		if b.Tok != syntax.Goto {
			return false
		}
		label := k.c.prog.Uses[b.Label]
		return label == nil || label.Pos <= to.Pos()
	})
	return ok
}

// stmt counts the threads that a statement starts, which starts some.
func (k *census) stmt(s syntax.Stmt) (n int, why string) {
	switch s := s.(type) {
	case *syntax.GoStmt:
		return 1, ""
	case *syntax.Block:
		return k.list(s.Stmts)
	case *syntax.AtomicStmt:
		return k.list(s.Body.Stmts)
	case *syntax.SyncStmt:
		return k.list(s.Body.Stmts)
	case *syntax.LabeledStmt:
		return k.list([]syntax.Stmt{s.Stmt})
	case *syntax.ExprStmt:
		if call, ok := syntax.Unparen(s.X).(*syntax.CallExpr); ok {
			for _, a := range call.Args {
				if k.any(a) {
					return k.unknown(s,
						"a function that starts some is called within an expression")
				}
			}
			if f := k.callee(call); f != nil {
				return k.list(f.Body.Stmts)
			}
		}
	case *syntax.IfStmt:
		if v := k.c.big[s.Cond]; v != nil && s.Init == nil {
			switch {
			case v.Sign() != 0:
				return k.list(s.Then.Stmts)
			case s.Else != nil:
				return k.list([]syntax.Stmt{s.Else})
			}
			return 0, ""
		}
		return k.unknown(s, "a condition decides")
	case *syntax.RangeStmt:
		if k.any(s.X) {
			break
		}
		passes := int64(-1)
		if id, ok := syntax.Unparen(s.X).(*syntax.Ident); ok && k.c.prog.Uses[id] != nil &&
			k.c.prog.Uses[id].Kind == TypeObj && k.c.prog.Uses[id].Type.Kind == Scalarset {
			passes = int64(k.c.prog.Uses[id].Type.Len)
		} else if t := k.c.prog.Types[s.X]; t != nil && t.Kind == Array {
			passes = int64(t.Len)
		} else if v := k.c.big[s.X]; v != nil && v.IsInt64() {
			passes = max(v.Int64(), 0)
		}
		return k.times(s, s.Body, passes)
	case *syntax.ForStmt:
		return k.times(s, s.Body, k.passes(s))
	}
	return k.unknown(s, "the number of executions of this is known only at run time")
}

func (k *census) times(s syntax.Stmt, body *syntax.Block, passes int64) (n int, why string) {
	if passes < 0 {
		return k.unknown(s, "the number of iterations of the loop is not constant")
	}
	n, why = k.list(body.Stmts)
	if why != "" {
		return 0, why
	}
	if n > 0 && passes > 1<<20 {
		return k.unknown(s, "the loop has too many iterations")
	}
	return n * int(passes), ""
}

// passes returns the number of iterations of for i := a; i < b; i++ with constants and a body
// that does not change i; -1 if it is another loop.
func (k *census) passes(s *syntax.ForStmt) int64 {
	def, ok := s.Init.(*syntax.AssignStmt)
	if !ok || def.Op != syntax.Define || len(def.Lhs) != 1 || len(def.Rhs) != 1 {
		return -1
	}
	id := def.Lhs[0].(*syntax.Ident)
	is := func(e syntax.Expr) bool {
		x, ok := syntax.Unparen(e).(*syntax.Ident)
		return ok && k.c.prog.Uses[x] == k.c.prog.Uses[id]
	}
	cond, ok1 := s.Cond.(*syntax.BinaryExpr)
	post, ok2 := s.Post.(*syntax.IncDecStmt)
	if !ok1 || !ok2 || post.Dec || !is(post.X) || !is(cond.X) || cond.Op != syntax.Lt &&
		cond.Op != syntax.Le {
		return -1
	}
	from, to := k.c.big[def.Rhs[0]], k.c.big[cond.Y]
	if from == nil || to == nil || !from.IsInt64() || !to.IsInt64() {
		return -1
	}
	if assigns(s.Body, is) {
		return -1
	}
	n := to.Int64() - from.Int64()
	if cond.Op == syntax.Le {
		n++
	}
	return max(n, 0)
}

// assigns reports whether a statement assigns to an expression for which one returns true.
func assigns(body syntax.Stmt, is func(syntax.Expr) bool) bool {
	assigned := false
	syntax.Walk(body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.AssignStmt:
			for _, e := range n.Lhs {
				assigned = assigned || is(e)
			}
		case *syntax.IncDecStmt:
			assigned = assigned || is(n.X)
		case *syntax.RangeStmt:
			assigned = assigned || n.Key != nil && is(n.Key) || n.Value != nil && is(n.Value)
		}
		return true
	})
	return assigned
}
