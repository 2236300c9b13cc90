package resolve_test

import (
	"testing"

	"cpor/frontend/model/resolve"
	"cpor/frontend/model/syntax"
)

// checkProgram checks what the later stages rely on: every expression that is
// evaluated has a final type, every identifier an object, every constant fits.
func checkProgram(t *testing.T, p *resolve.Program) {
	t.Helper()
	at := func(n syntax.Node) string { return p.File.Source.At(n.Pos()) + " " + syntax.String(n) }

	var expr func(e syntax.Expr)
	typ := func(e syntax.Expr) *resolve.Type {
		ty := p.Types[e]
		if ty == nil {
			t.Errorf("%s: no type", at(e))
			return &resolve.Type{}
		}
		switch ty.Kind {
		case resolve.Invalid, resolve.UntypedBool, resolve.UntypedInt, resolve.UntypedNil:
			t.Errorf("%s: its type is %s", at(e), ty)
		}
		return ty
	}
	expr = func(e syntax.Expr) {
		if id, ok := e.(*syntax.Ident); ok && id.Name == "_" {
			return
		}
		if call, ok := e.(*syntax.CallExpr); ok {
			kind, ok := p.Calls[call]
			if !ok {
				t.Errorf("%s: what does this call?", at(e))
			}
			fun := syntax.Unparen(call.Fun).(*syntax.Ident)
			if p.Uses[fun] == nil {
				t.Errorf("%s: no object", at(fun))
			}
			for _, a := range call.Args {
				expr(a)
			}
			if kind == resolve.CallFunc && p.Uses[fun].Result.Kind == resolve.Void {
				return
			}
			switch fun.Name {
			case "lock", "unlock", "close", "wait", "notify", "notifyAll", "up", "down":
				return
			}
			typ(e)
			return
		}
		ty := typ(e)
		if v, ok := p.Const[e]; ok && ty.Kind == resolve.Int && ty.Bits < 64 {
			lo, hi := int64(0), int64(1)<<ty.Bits-1
			if ty.Signed {
				lo, hi = -1<<(ty.Bits-1), 1<<(ty.Bits-1)-1
			}
			if v < lo || v > hi {
				t.Errorf("%s: the constant %d is no %s", at(e), v, ty)
			}
		}
		if _, ok := p.Const[e]; ok {
			return // its parts are not evaluated
		}
		switch e := e.(type) {
		case *syntax.Ident:
			if p.Uses[e] == nil {
				t.Errorf("%s: no object", at(e))
			}
		case *syntax.ParenExpr:
			expr(e.X)
		case *syntax.UnaryExpr:
			expr(e.X)
		case *syntax.BinaryExpr:
			expr(e.X)
			expr(e.Y)
		case *syntax.IndexExpr:
			expr(e.X)
			expr(e.Index)
		case *syntax.SelectorExpr:
			if r := p.Refs[e]; r != nil {
				expr(r.Index)
			} else {
				expr(e.X)
			}
		case *syntax.AtExpr:
			if r := p.Refs[e]; r == nil {
				t.Errorf("%s: no reference", at(e))
			} else {
				expr(r.Index)
			}
		case *syntax.CompositeLit:
			for i, v := range e.Values {
				expr(v)
				if k := e.Keys[i]; k != nil && ty.Kind == resolve.Array {
					if _, ok := p.Const[k]; !ok {
						t.Errorf("%s: the key is not constant", at(k))
					}
				}
			}
		case *syntax.QuantExpr:
			if _, ok := p.Bounds[e]; !ok {
				t.Errorf("%s: the bounds are not known", at(e))
			}
			expr(e.Cond)
		case *syntax.FoldExpr:
			if _, ok := p.Bounds[e]; !ok {
				t.Errorf("%s: the bounds are not known", at(e))
			}
			expr(e.X)
		}
	}
	exprs := func(list []syntax.Expr) {
		for _, e := range list {
			expr(e)
		}
	}

	var stmt func(s syntax.Stmt, owner *resolve.Object)
	stmts := func(list []syntax.Stmt, owner *resolve.Object) {
		for _, s := range list {
			stmt(s, owner)
		}
	}
	local := func(id *syntax.Ident, owner *resolve.Object) {
		if id.Name == "_" {
			return
		}
		obj := p.Uses[id]
		if obj == nil || obj.Kind != resolve.LocalObj || obj.Owner != owner || obj.Type == nil {
			t.Errorf("%s: declares %+v", at(id), obj)
		}
	}
	stmt = func(s syntax.Stmt, owner *resolve.Object) {
		switch s := s.(type) {
		case nil:
		case *syntax.Block:
			stmts(s.Stmts, owner)
		case *syntax.DeclStmt:
			if d, ok := s.Decl.(*syntax.VarDecl); ok {
				exprs(d.Values)
				for _, n := range d.Names {
					local(n, owner)
				}
			}
		case *syntax.ExprStmt:
			expr(s.X)
		case *syntax.SendStmt:
			expr(s.Chan)
			expr(s.Value)
		case *syntax.AssignStmt:
			exprs(s.Rhs)
			for _, e := range s.Lhs {
				if id, ok := e.(*syntax.Ident); ok && s.Op == syntax.Define {
					local(id, owner)
				} else {
					expr(e)
				}
			}
		case *syntax.IncDecStmt:
			expr(s.X)
		case *syntax.IfStmt:
			stmt(s.Init, owner)
			expr(s.Cond)
			stmt(s.Then, owner)
			stmt(s.Else, owner)
		case *syntax.ForStmt:
			stmt(s.Init, owner)
			if s.Cond != nil {
				expr(s.Cond)
			}
			stmt(s.Post, owner)
			stmt(s.Body, owner)
		case *syntax.RangeStmt:
			expr(s.X)
			for _, e := range []syntax.Expr{s.Key, s.Value} {
				if id, ok := e.(*syntax.Ident); ok && s.Define {
					local(id, owner)
				} else if e != nil {
					expr(e)
				}
			}
			stmt(s.Body, owner)
		case *syntax.SwitchStmt:
			stmt(s.Init, owner)
			if s.Tag != nil {
				expr(s.Tag)
			}
			for _, k := range s.Cases {
				exprs(k.Values)
				stmts(k.Body, owner)
			}
		case *syntax.SelectStmt:
			for _, k := range s.Cases {
				stmt(k.Comm, owner)
				stmts(k.Body, owner)
			}
		case *syntax.ChooseStmt:
			for _, k := range s.Cases {
				stmts(k.Body, owner)
			}
		case *syntax.AtomicStmt:
			stmt(s.Body, owner)
		case *syntax.SyncStmt:
			expr(s.Monitor)
			stmt(s.Body, owner)
		case *syntax.GoStmt:
			if o := p.Uses[s.Thread]; o == nil || o.Kind != resolve.ThreadObj {
				t.Errorf("%s: starts %+v", at(s), o)
			}
			exprs(s.Args)
		case *syntax.ReturnStmt:
			exprs(s.Results)
		case *syntax.LabeledStmt:
			if p.Uses[s.Label] == nil {
				t.Errorf("%s: no label object", at(s))
			}
			stmt(s.Stmt, owner)
		case *syntax.AwaitStmt:
			expr(s.Cond)
		case *syntax.AssertStmt:
			expr(s.Cond)
		}
	}
	for _, obj := range append(append([]*resolve.Object(nil), p.Funcs...), p.Threads...) {
		stmt(obj.Body, obj)
		for _, l := range append(append([]*resolve.Object(nil), obj.Params...), obj.Locals...) {
			if l.Owner != obj || l.Type == nil {
				t.Errorf("local variable %s of %s: %+v", l.Name, obj.Name, l)
			}
		}
	}
	if p.Init != nil {
		stmt(p.Init.Body, nil)
	}
	for _, inv := range p.Invariants {
		expr(inv.Cond)
	}
	for _, obj := range p.Shared {
		if obj.Type == nil || obj.Type.Kind == resolve.Invalid {
			t.Errorf("shared variable %s: type %v", obj.Name, obj.Type)
		}
		if obj.Init != nil {
			if _, ok := obj.Init.(*syntax.MakeExpr); !ok {
				expr(obj.Init)
			}
		}
	}
}
