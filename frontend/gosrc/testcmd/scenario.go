package testcmd

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"

	"cpor/frontend/gosrc/gotest"
)

// AddTest enters a test of the failing scenario, if check.Linearizable has found one: the test
// function with the option check.Only, for people to paste. Dir is the directory of the package.
// Nothing is entered if the function does not call Linearizable itself, because then it is not
// known where the option belongs.
func AddTest(f *gotest.Failure, dir, test string) {
	if f.History == nil {
		return
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*_test.go")) // the pattern is right
	for _, name := range names {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == test && fn.Recv == nil {
				f.History.Test = only(files, fn, f.History.Scenario, f.Pos.Line)
			}
		}
	}
}

// only returns a test function whose call of Linearizable has a further option; empty if it is
// not clear which call. Line is that of the failing one.
func only(files *token.FileSet, fn *ast.FuncDecl, scenario string, line int) string {
	var calls []*ast.CallExpr
	ast.Inspect(fn, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok && linearizable(c.Fun) {
			calls = append(calls, c)
		}
		return true
	})
	var call *ast.CallExpr
	for _, c := range calls {
		from, to := files.Position(c.Pos()).Line, files.Position(c.End()).Line
		if len(calls) == 1 || from <= line && line <= to {
			call = c
		}
	}
	if call == nil || strings.Contains(scenario, "`") {
		return ""
	}
	for _, a := range call.Args { // already the only scenario
		if c, ok := a.(*ast.CallExpr); ok && strings.HasSuffix(source(files, c.Fun), "Only") {
			return ""
		}
	}
	pkg, _, _ := strings.Cut(source(files, call.Fun), "Linearizable")
	call.Args = append(call.Args, &ast.BasicLit{Kind: token.STRING,
		Value: "\n" + pkg + "Only(`" + scenario + "`)"})
	fn.Name.Name += "Scenario"
	fn.Doc = nil
	text, err := format.Source([]byte(source(files, fn)))
	if err != nil {
		return ""
	}
	return string(text)
}

// linearizable reports whether the function is check.Linearizable, by its name; it may have type
// arguments.
func linearizable(f ast.Expr) bool {
	switch f := f.(type) {
	case *ast.IndexExpr:
		return linearizable(f.X)
	case *ast.SelectorExpr:
		return f.Sel.Name == "Linearizable"
	case *ast.Ident:
		return f.Name == "Linearizable"
	}
	return false
}

func source(files *token.FileSet, n ast.Node) string {
	var b bytes.Buffer
	if err := format.Node(&b, files, n); err != nil {
		return ""
	}
	return b.String()
}
