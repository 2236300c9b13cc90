package loader

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/packages"
)

// Packages are found as with CGO_ENABLED=0, so the pure Go version is used where there is one.
// Other packages are loaded with the files that import "C", in which a function that names C has
// no body: it is refused where it is called. Variables and constants whose values C computes are
// omitted, and functions that name one have no body either.

// onlyC returns the packages whose only files without cgo are those of their tests.
func onlyC(found []*packages.Package) (only []*packages.Package) {
	isOwn := func(name string) bool {
		return strings.HasSuffix(name, ".go") &&
			!strings.HasSuffix(name, "_test.go")
	}
	packages.Visit(found, nil, func(p *packages.Package) {
		external := p.ForTest != "" && p.PkgPath != p.ForTest
		if !external && !slices.ContainsFunc(p.GoFiles, isOwn) &&
			slices.ContainsFunc(p.IgnoredFiles, isOwn) {
			only = append(only, p)
		}
	})
	return only
}

// retake gives packages that do not compile, or in which something needed elsewhere is missing,
// their cgo files; it reports whether there were such files.
func (p *Package) retake(u *universe) bool {
	var todo []*packages.Package
	add := func(x *unit) {
		if x.found != nil && !x.cgo && slices.ContainsFunc(x.found.IgnoredFiles, isC) &&
			!slices.Contains(todo, x.found) {
			todo = append(todo, x.found)
		}
	}
	for _, x := range u.order {
		for _, err := range x.errs {
			add(x)
			for _, y := range x.imports {
				if y.types != nil && strings.Contains(err.Error(), "undefined: "+y.types.Name()+
					".") {
					add(y)
				}
			}
		}
	}
	if len(todo) == 0 {
		return false
	}
	with, err := p.withC()
	if err != nil {
		return false
	}
	var found []*packages.Package
	for _, f := range []*packages.Package{p.plain, p.inTest, p.xTest} {
		if f != nil {
			found = append(found, f)
		}
	}
	return takeC(todo, found, with)
}

// isC reports whether a file imports "C".
func isC(name string) bool {
	if !strings.HasSuffix(name, ".go") {
		return false
	}
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	return err == nil && importsC(f)
}

// takeC gives packages their cgo files, as with has found them. Their imports come from found if
// they are there. It reports whether there were such files.
func takeC(only, found, with []*packages.Package) (some bool) {
	plain, byID := map[string]*packages.Package{}, map[string]*packages.Package{}
	packages.Visit(found, nil, func(p *packages.Package) { plain[p.ID] = p })
	packages.Visit(with, nil, func(p *packages.Package) { byID[p.ID] = p })
	for _, p := range only {
		q := byID[p.ID]
		if q == nil || len(q.GoFiles) == 0 {
			continue
		}
		some = some || !slices.Equal(p.GoFiles, q.GoFiles)
		p.Name, p.GoFiles, p.Errors, p.IgnoredFiles = q.Name, q.GoFiles, q.Errors, q.IgnoredFiles
		p.Imports = map[string]*packages.Package{}
		for path, g := range q.Imports {
			if x := plain[g.ID]; x != nil {
				g = x
			}
			p.Imports[path] = g
		}
	}
	return some
}

// goTypeOf are the types of C that a declaration may name, as cgo has them in Go. All others
// have no fields here, since Go code does not see those of a value that C has made.
var goTypeOf = map[string]string{
	"char": "int8", "schar": "int8", "uchar": "uint8", "short": "int16", "ushort": "uint16",
	"int": "int32", "uint": "uint32",
	"long": "int64", "ulong": "uint64", "longlong": "int64", "ulonglong": "uint64",
	"float": "float32", "double": "float64",
	"size_t": "uint64", "ssize_t": "int64", "uintptr_t": "uint64", "intptr_t": "int64",
	"int8_t": "int8", "uint8_t": "uint8", "int16_t": "int16", "uint16_t": "uint16",
	"int32_t": "int32", "uint32_t": "uint32", "int64_t": "int64", "uint64_t": "uint64",
}

// importsC reports whether a file uses cgo.
func importsC(f *ast.File) bool {
	return slices.ContainsFunc(f.Imports, func(s *ast.ImportSpec) bool {
		return s.Path.Value == `"C"`
	})
}

// namesC returns where C is named in n; no position if it is not.
func namesC(n ast.Node) (at token.Pos) {
	ast.Inspect(n, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "C" && !at.IsValid() {
				at = s.Pos()
			}
		}
		return !at.IsValid()
	})
	return at
}

// withoutC removes C from a file that imports it, but not from the values of variables and
// constants.
func withoutC(f *ast.File) {
	f.Imports = slices.DeleteFunc(f.Imports, func(s *ast.ImportSpec) bool {
		return s.Path.Value == `"C"`
	})
	var decls []ast.Decl
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body == nil || !namesC(d.Body).IsValid() {
				break
			}
			if d.Recv != nil || d.Name.Name != "init" {
				d.Body = nil
				break
			}
			// An init needs a body: it calls one that has none.
			name := fmt.Sprintf("_cgo_init_%d", d.Pos())
			decls = append(decls, &ast.FuncDecl{Name: &ast.Ident{NamePos: d.Name.Pos(), Name: name},
				Type: &ast.FuncType{Func: d.Pos(), Params: &ast.FieldList{}}})
			call := &ast.CallExpr{Fun: &ast.Ident{NamePos: d.Body.Pos(), Name: name},
				Lparen: d.Body.Pos(), Rparen: d.Body.Pos()}
			d.Body.List = []ast.Stmt{&ast.ExprStmt{X: call}}
		case *ast.GenDecl:
			if d.Tok == token.IMPORT {
				d.Specs = slices.DeleteFunc(d.Specs, func(s ast.Spec) bool {
					return s.(*ast.ImportSpec).Path.Value == `"C"`
				})
				if len(d.Specs) == 0 {
					continue
				}
			}
		}
		decls = append(decls, d)
	}
	f.Decls = decls
	astutil.Apply(f, func(c *astutil.Cursor) bool {
		if _, ok := c.Parent().(*ast.ValueSpec); ok && c.Name() == "Values" {
			return false
		}
		s, ok := c.Node().(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := s.X.(*ast.Ident); !ok || x.Name != "C" {
			return true
		}
		if name, ok := goTypeOf[s.Sel.Name]; ok {
			c.Replace(&ast.Ident{NamePos: s.Pos(), Name: name})
		} else {
			c.Replace(&ast.StructType{Struct: s.Pos(), Fields: &ast.FieldList{Opening: s.Pos(),
				Closing: s.Pos()}})
		}
		return false
	}, nil)
}

// loseC removes the variables and constants whose values C computes, or depend on a removed one.
func (x *unit) loseC() {
	x.lost = map[string]bool{}
	lost := func(n ast.Node) bool {
		if namesC(n).IsValid() {
			return true
		}
		found := false
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				found = found || x.lost[id.Name]
			}
			return !found
		})
		return found
	}
	for more := true; more; {
		more = false
		for _, f := range x.files {
			for _, d := range f.Decls {
				g, ok := d.(*ast.GenDecl)
				if !ok || g.Tok != token.VAR && g.Tok != token.CONST {
					continue
				}
				repeats := false // the constants that follow without values have that of a lost one
				for _, s := range g.Specs {
					v := s.(*ast.ValueSpec)
					if len(v.Values) > 0 || g.Tok == token.VAR {
						repeats = slices.ContainsFunc(v.Values, func(e ast.Expr) bool {
							return lost(e)
						})
					}
					if !repeats || v.Names[0].Name == "_" {
						continue
					}
					more = true
					v.Type, v.Values = nil, nil
					for _, n := range v.Names {
						x.lost[n.Name] = true
						n.Name = "_"
						v.Values = append(v.Values, &ast.BasicLit{ValuePos: n.Pos(),
							Kind: token.INT, Value: "0"})
					}
				}
			}
		}
	}
}

// dropC removes the bodies of functions that do not compile without C, and their errors: those
// of declarations remain. In packages that import one with C, these are functions that name what
// is missing.
func (x *unit) dropC() {
	missing := map[string]bool{}
	for _, y := range x.imports {
		for name := range y.lost {
			missing["undefined: "+y.types.Name()+"."+name] = true
		}
	}
	if !x.cgo && len(missing) == 0 {
		return
	}
	var broken []*ast.FuncDecl
	x.errs = slices.DeleteFunc(x.errs, func(err error) bool {
		var te types.Error
		if !errors.As(err, &te) || !x.cgo && !missing[te.Msg] {
			return false
		}
		fn := x.funcAt(te.Pos)
		if fn != nil {
			broken = append(broken, fn)
		}
		return fn != nil || strings.Contains(te.Msg, "imported and not used")
	})
	for _, fn := range broken { // a function without a body is shorter
		fn.Body = nil
	}
}

// funcAt returns the function that a place is in; nil if it is in none.
func (x *unit) funcAt(at token.Pos) *ast.FuncDecl {
	for _, f := range x.files {
		if at < f.FileStart || at >= f.FileEnd {
			continue
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Pos() <= at && at < fn.End() {
				return fn
			}
		}
	}
	return nil
}
