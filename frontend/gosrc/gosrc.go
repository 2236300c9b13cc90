// Package gosrc turns Go programs into systems: each test of a package, and main packages. It is
// the entry point; package loader reads the sources.
//
//	pkgs, err := gosrc.Load(ctx, []string{"./..."}, gosrc.Options{Tests: true})
//	for _, p := range pkgs {
//		for _, t := range p.Tests() { fmt.Println(p.Path, t.Name) }
//		c, err := p.Compile()                          // once for all tests of a package
//		sys, err := c.Test("TestPool", gosrc.Explore{}) // a system.System
//	}
package gosrc

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"cpor/frontend/gosrc/loader"
	"cpor/system"
)

// Options say what to load.
type Options struct {
	Dir   string   // where patterns are relative to; empty: the working directory
	Tags  []string // build tags
	Flags []string // further ones of the go command, such as -mod=vendor
	Tests bool     // with the packages' tests
	// Overlay replaces or adds files, by absolute path.
	Overlay map[string][]byte
}

// Package is a package that was found.
type Package struct {
	Path, Name, Dir string
	// Errors say why it does not compile.
	Errors []error

	loaded *loader.Package
	tests  bool
	from   string // where the patterns are relative to
}

// TestFunc is a test function of a package.
type TestFunc struct {
	Name string
	Pos  system.Pos
	// External: it is in the package whose name ends in _test.
	External bool
}

// Load finds the packages that the patterns represent, as the go command does. An error means
// that the go command could not be used, or does not understand the patterns.
func Load(ctx context.Context, patterns []string, o Options) ([]*Package, error) {
	found, err := loader.Load(ctx, patterns, loader.Options{Dir: o.Dir, Tags: o.Tags,
		Flags: o.Flags, Tests: o.Tests, Overlay: o.Overlay})
	if err != nil {
		return nil, err
	}
	from, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	var out []*Package
	for _, l := range found {
		out = append(out, &Package{Path: l.Path, Name: l.Name, Dir: l.Dir, Errors: l.Errors,
			loaded: l, tests: o.Tests, from: from})
	}
	return out, nil
}

// Inputs writes to w whatever the meaning of the package and its tests depends on, except what
// they read when they run ([Explore.Seen]). Newest is when a file of that was last changed.
func (p *Package) Inputs(w io.Writer) (newest time.Time, err error) { return p.loaded.Inputs(w) }

// HasTests reports whether the package has test files.
func (p *Package) HasTests() bool { return p.loaded.HasTests() }

// Tests returns the test functions in the order in which go test runs them.
func (p *Package) Tests() []TestFunc {
	var out []TestFunc
	for _, external := range []bool{false, true} {
		for _, name := range p.loaded.TestFiles(external) {
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, name, p.loaded.Overlay(name),
				parser.SkipObjectResolution)
			if err != nil {
				continue // Compile says so
			}
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && isTest(fn) {
					at := fset.Position(fn.Pos())
					out = append(out, TestFunc{Name: fn.Name.Name, Pos: system.Pos{
						File: at.Filename, Line: at.Line, Col: at.Column}, External: external})
				}
			}
		}
	}
	return out
}

// isTest reports whether a function is a test for go test.
func isTest(fn *ast.FuncDecl) bool {
	rest, ok := strings.CutPrefix(fn.Name.Name, "Test")
	if !ok || fn.Recv != nil || fn.Type.TypeParams != nil || fn.Type.Results != nil &&
		len(fn.Type.Results.List) > 0 {
		return false
	}
	if r, _ := utf8.DecodeRuneInString(rest); rest != "" && unicode.IsLower(r) {
		return false
	}
	params := fn.Type.Params.List
	if len(params) != 1 || len(params[0].Names) > 1 {
		return false
	}
	star, ok := params[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	switch x := star.X.(type) {
	case *ast.SelectorExpr:
		return x.Sel.Name == "T"
	case *ast.Ident:
		return x.Name == "T"
	}
	return false
}
