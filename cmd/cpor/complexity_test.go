package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fzipp/gocyclo"
)

const (
	// mostComplex is the cyclomatic complexity of functions that no table below names.
	mostComplex = 30
	// complexFrom is the complexity that only mostOverComplex functions may exceed.
	complexFrom, mostOverComplex = 20, 100
)

// dispatchers are the functions over mostComplex, by the package and the kind of things for which
// they have a case each.
var dispatchers = map[string]string{
	"detect/logs.clockScanner.scanAt":             "characters",
	"frontend/gosrc/compile.compiler.binary":      "operators",
	"frontend/gosrc/compile.compiler.builtin":     "builtin functions",
	"frontend/gosrc/compile.compiler.convert":     "types",
	"frontend/gosrc/compile.compiler.function":    "instructions",
	"frontend/gosrc/compile.compiler.instruction": "instructions",
	"frontend/gosrc/machine.Machine.Step":         "reasons not to move",
	"frontend/gosrc/machine.Machine.run":          "instructions",
	"frontend/gosrc/native.process.read":          "messages",
	"frontend/model/compile.gen.linearParts":      "temporal operators",
	"frontend/model/compile.gen.rangeStmt":        "types",
	"frontend/model/compile.gen.selectStmt":       "cases",
	"frontend/model/flow.Analysis.step":           "instructions",
	"frontend/model/machine.Machine.monitor":      "instructions",
	"frontend/model/machine.Machine.run":          "instructions",
	"frontend/model/machine.arith":                "operators",
	"frontend/promela/machine.Machine.follow":     "kinds of edges",
	"frontend/promela/machine.coder.expr":         "expressions",
	"frontend/promela/machine.emit":               "kinds of edges",
	"frontend/promela/program.builder.stmt":       "statements",
	"frontend/promela/program.resolver.expr":      "expressions",
	"frontend/promela/syntax.parser.simple":       "statements",
	"frontend/promela/syntax.preprocessor.expand": "tokens",
	"frontend/promela/syntax.scanner.next":        "characters",
	"testkit/gogen.Concurrent.random":             "statements",
	"testkit/gogen.Concurrent.successors":         "statements",
	"testkit/gogen.Timed.successors":              "statements",
	"testkit/gogen.gen.expr":                      "expressions",
	"testkit/oracle.collector.expr":               "expressions",
	"testkit/oracle.collector.stmt":               "statements",
	"testkit/oracle.generator.tryStatement":       "statements",
	"testkit/oracle.init":                         "productions",
	"testkit/oracle.writer.integer":               "expressions",
	"testkit/racetest.explorer.step":              "statements",
	"testkit/racetest.generator.block":            "statements",
	"testkit/treewalk.run.call":                   "builtin functions",
	"testkit/treewalk.run.execute":                "statements",
	"testkit/treewalk.run.lockOp":                 "operations on locks",
}

// TestComplexity holds functions to a cyclomatic complexity. Interpreters, scanners, parsers,
// compilers and generators may have a case for each construct; in others, name a step, give a type
// methods, or make a switch a table.
func TestComplexity(t *testing.T) {
	over := 0
	unseen := map[string]bool{}
	for name := range dispatchers {
		unseen[name] = true
	}
	err := goFiles(func(path string) error {
		if strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil || ast.IsGenerated(f) {
			return err
		}
		if f, err = parser.ParseFile(files, path, nil, parser.SkipObjectResolution); err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, fn := range gocyclo.AnalyzeASTFile(f, files, nil) {
			if fn.Complexity > complexFrom {
				over++
			}
			name := filepath.ToSlash(dir) + "." + strings.Trim(fn.FuncName, "(*)")
			name = strings.Replace(name, ").", ".", 1)
			delete(unseen, name)
			if fn.Complexity > mostComplex && dispatchers[name] == "" {
				t.Errorf("%v: %s has a complexity of %d, and at most %d is allowed", fn.Pos, name,
					fn.Complexity, mostComplex)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range unseen {
		t.Errorf("the table names %s, which does not exist", name)
	}
	if over > mostOverComplex {
		t.Errorf("%d functions have a complexity over %d, and at most %d may; go run "+
			"github.com/fzipp/gocyclo/cmd/gocyclo -over %[2]d . lists them", over, complexFrom,
			mostOverComplex)
	}
}
