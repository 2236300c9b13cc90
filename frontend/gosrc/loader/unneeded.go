package loader

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// dropUnneeded removes the initializers of variables that only benchmarks, examples and fuzz
// tests use, which never run, if the initializers only compute a value: that makes no
// difference. Benchmarks often have long inputs, whose construction would take longer than the
// tests.
func (x *unit) dropUnneeded(fset *token.FileSet) {
	r := &reach{info: x.info, pkg: x.types, decls: map[types.Object]ast.Node{},
		seen: map[types.Object]bool{}}
	roots := x.roots(fset, r.decls)
	for _, n := range roots {
		r.from(n)
	}
	computes := map[*types.Initializer]bool{}
	for _, i := range x.info.InitOrder {
		p := &purity{x: x, decls: r.decls, seen: map[types.Object]bool{}}
		computes[i] = !slices.ContainsFunc(i.Lhs, func(v *types.Var) bool {
			return r.decls[v] == nil
		}) && p.computes(i.Rhs)
	}
	unneeded := func(i *types.Initializer) bool {
		return computes[i] && !slices.ContainsFunc(i.Lhs, func(v *types.Var) bool {
			return r.seen[v]
		})
	}
	for more := true; more; { // what stays needs others
		more = false
		for _, i := range x.info.InitOrder {
			if unneeded(i) {
				continue
			}
			before := len(r.seen)
			r.from(i.Rhs)
			more = more || len(r.seen) > before
		}
	}
	x.info.InitOrder = slices.DeleteFunc(x.info.InitOrder, unneeded)
}

// roots returns the declarations of test files that are used without being named: functions that
// run, and what others can name. It adds all declarations of test files to decls.
func (x *unit) roots(fset *token.FileSet, decls map[types.Object]ast.Node) (roots []ast.Node) {
	for _, f := range x.files {
		if !strings.HasSuffix(fset.Position(f.Pos()).Filename, "_test.go") {
			continue // knows nothing of the test files
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				decls[x.info.Defs[d.Name]] = d
				if d.Recv != nil || d.Name.Name == "init" || d.Name.IsExported() && !neverRun(d) {
					roots = append(roots, d)
				}
			case *ast.GenDecl:
				if d.Tok != token.VAR {
					continue
				}
				for _, s := range d.Specs {
					s := s.(*ast.ValueSpec)
					for _, n := range s.Names {
						if o := x.info.Defs[n]; o != nil && n.Name != "_" {
							decls[o] = s
						}
						if n.Name == "_" || n.IsExported() {
							roots = append(roots, s)
						}
					}
				}
			}
		}
	}
	return roots
}

// neverRun reports whether a function of a test file is a benchmark, an example or a fuzz test.
func neverRun(d *ast.FuncDecl) bool {
	for _, prefix := range []string{"Benchmark", "Example", "Fuzz"} {
		rest, ok := strings.CutPrefix(d.Name.Name, prefix)
		if r, _ := utf8.DecodeRuneInString(rest); !ok || rest != "" && unicode.IsLower(r) {
			continue
		}
		if n := d.Type.Params.NumFields(); prefix == "Example" && n == 0 || prefix != "Example" &&
			n == 1 {
			return true
		}
	}
	return false
}

// reach finds the declarations that others name.
type reach struct {
	info  *types.Info
	pkg   *types.Package
	decls map[types.Object]ast.Node
	seen  map[types.Object]bool
}

func (r *reach) from(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		o := r.info.Uses[id]
		if o == nil {
			o = r.info.Defs[id] // a root itself
		}
		if d := r.decls[o]; d != nil && !r.seen[o] {
			r.seen[o] = true
			r.from(d)
		}
		return true
	})
}

// computing are packages whose functions and methods only compute, if their arguments do.
var computing = strings.Fields("bytes math math/big math/bits math/rand math/rand/v2 slices sort " +
	"strconv strings unicode unicode/utf16 unicode/utf8")

// purity finds out whether an expression only computes: it changes no variable of a package,
// reads none that can be changed through it, and neither waits nor panics by itself.
type purity struct {
	x     *unit
	decls map[types.Object]ast.Node
	// functions, and variables that hold them, that were or are being examined
	seen map[types.Object]bool
}

func (p *purity) computes(n ast.Node) bool {
	pure := true
	ast.Inspect(n, func(n ast.Node) bool {
		if !pure {
			return false
		}
		switch n := n.(type) {
		case *ast.GoStmt, *ast.SendStmt, *ast.SelectStmt:
			pure = false
		case *ast.UnaryExpr:
			pure = n.Op != token.ARROW && (n.Op != token.AND || !p.global(n.X))
		case *ast.IncDecStmt:
			pure = !p.global(n.X)
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				pure = pure && !p.global(l)
			}
		case *ast.RangeStmt:
			pure = !p.global(n.Key) && !p.global(n.Value)
			if t := p.x.info.TypeOf(n.X); t != nil {
				_, channel := t.Underlying().(*types.Chan)
				pure = pure && !channel
			}
		case *ast.Ident:
			pure = p.harmless(p.x.info.Uses[n])
		}
		return pure
	})
	return pure
}

// global reports whether an expression, which is nil or assigned to, is a variable of a package
// or a part of one.
func (p *purity) global(e ast.Expr) bool {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			if v, ok := p.x.info.Uses[x.Sel].(*types.Var); ok && !v.IsField() {
				return true // of another package
			}
			e = x.X
		case *ast.Ident:
			v, ok := p.x.info.Uses[x].(*types.Var)
			return ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope()
		default:
			return false
		}
	}
}

// assigned reports whether some function of the package assigns to a variable, or takes its
// address.
func (p *purity) assigned(v *types.Var) bool {
	found := false
	is := func(e ast.Expr) {
		if id, ok := ast.Unparen(e).(*ast.Ident); ok && p.x.info.Uses[id] == v {
			found = true
		}
	}
	for _, f := range p.x.files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, l := range n.Lhs {
					is(l)
				}
			case *ast.RangeStmt:
				is(n.Key)
				is(n.Value)
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					is(n.X)
				}
			}
			return !found
		})
	}
	return found
}

// harmless reports whether an expression that names an object still only computes.
func (p *purity) harmless(o types.Object) bool {
	switch o := o.(type) {
	case *types.Builtin:
		return !slices.Contains([]string{"panic", "print", "println", "close", "recover"}, o.Name())
	case *types.Var:
		return p.harmlessVar(o)
	case *types.Func:
		o = o.Origin()
		if r := o.Signature().Recv(); r != nil && types.IsInterface(r.Type()) || o.Pkg() == nil {
			return false
		}
		if o.Pkg() != p.x.types {
			return slices.Contains(computing, o.Pkg().Path())
		}
		if p.seen[o] {
			return true
		}
		p.seen[o] = true
		for _, f := range p.x.files {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && p.x.info.Defs[fn.Name] == o {
					return fn.Body != nil && p.computes(fn.Body)
				}
			}
		}
		return false
	}
	return true
}

// harmlessVar is harmless for a variable.
func (p *purity) harmlessVar(o *types.Var) bool {
	if o.IsField() || o.Pkg() == nil || o.Parent() != o.Pkg().Scope() {
		return true
	}
	switch o.Type().Underlying().(type) {
	case *types.Basic:
		return true
	case *types.Signature: // a function, if it stays the one that it is declared to be
		s, ok := p.decls[o].(*ast.ValueSpec)
		if !ok || len(s.Names) != len(s.Values) || p.assigned(o) {
			return false
		}
		if p.seen[o] {
			return true
		}
		p.seen[o] = true
		return p.computes(s.Values[slices.IndexFunc(s.Names, func(n *ast.Ident) bool {
			return p.x.info.Defs[n] == o
		})])
	}
	return false
}
