package gotest

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"cpor/testkit/sample"

	"golang.org/x/tools/txtar"

	"cpor/engine"
	"cpor/frontend/gosrc"
)

var (
	mutants     = flag.Int("mutants", 0, "explore this many mutants of the kernels")
	firstMutant = flag.Uint64("first-mutant", 1, "the first seed of a mutant")
)

// kernels returns all kernels, in both versions.
func kernels(t testing.TB) []string {
	names, err := filepath.Glob(filepath.Join("..", "testdata", "kernels", "*.txtar"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	var out []string
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			out = append(out, version(string(f.Data), "bug", "fix"), version(string(f.Data), "fix",
				"bug"))
		}
	}
	return out
}

// mutate changes a few places of a program: statements are left out, doubled, exchanged or
// taken from elsewhere, and so are expressions. Many of the results do not compile.
func mutate(r *rand.Rand, text string) (string, error) {
	for range 1 + r.IntN(3) {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "k.go", text, parser.SkipObjectResolution)
		if err != nil {
			return "", err
		}
		var stmts, exprs []ast.Node
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
			case ast.Stmt:
				stmts = append(stmts, n)
			case ast.Expr:
				exprs = append(exprs, n)
			}
			return true
		})
		span := func(n ast.Node) (from, to int) {
			return fset.Position(n.Pos()).Offset,
				fset.Position(n.End()).Offset
		}
		put := func(from, to int, with string) { text = text[:from] + with + text[to:] }
		if r.IntN(5) == 0 {
			from, to := span(exprs[r.IntN(len(exprs))])
			a, b := span(exprs[r.IntN(len(exprs))])
			put(from, to, text[a:b])
			continue
		}
		from, to := span(stmts[r.IntN(len(stmts))])
		a, b := span(stmts[r.IntN(len(stmts))])
		switch r.IntN(4) {
		case 0:
			put(from, to, "")
		case 1:
			put(from, to, text[a:b])
		case 2:
			put(to, to, "\n"+text[a:b]+"\n")
		case 3: // exchange, if neither is within the other
			if to <= a {
				put(from, b, text[a:b]+text[to:a]+text[from:to])
			}
		}
	}
	return text, nil
}

// TestMutants holds that whatever compiles gets a verdict or is refused, and in time.
func TestMutants(t *testing.T) {
	n := cmp.Or(*mutants, sample.Of(2, 2, 60))
	all := kernels(t)
	dir := t.TempDir()
	texts := map[string]string{}
	write := func(name, text string) {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	writeModule(t, write)
	for i := range n {
		seed := *firstMutant + uint64(i)
		r := rand.New(rand.NewPCG(seed, 7))
		text, err := mutate(r, all[r.IntN(len(all))])
		if err != nil || !strings.Contains(text, "func TestK(") { // it may have another name now
			continue
		}
		name := fmt.Sprintf("m%d", seed)
		texts["k/"+name] = text
		write(name+"/k_test.go", text)
	}
	pkgs, err := gosrc.Load(t.Context(), []string{"./..."}, gosrc.Options{Dir: dir, Tests: true})
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]int{}
	for _, p := range pkgs {
		verdicts[exploreMutant(t, p, texts[p.Path])]++
	}
	t.Log(verdicts)
}

// exploreMutant explores the test of a package and says what became of it.
func exploreMutant(t *testing.T, p *gosrc.Package, text string) (verdict string) {
	defer func() {
		if v := recover(); v != nil {
			t.Errorf("%s panics: %v\n%s\n%s", p.Path, v, debug.Stack(), text)
			verdict = "panic"
		}
	}()
	if len(p.Errors) > 0 {
		return "does not compile"
	}
	c, err := p.Compile()
	if err != nil {
		return "does not compile"
	}
	var no *gosrc.Unsupported
	prog, err := c.Test("TestK", gosrc.Explore{})
	if errors.As(err, &no) {
		return "refused"
	}
	if err != nil {
		if !strings.Contains(err.Error(), "initialiser") {
			t.Errorf("%s: %v\n%s", p.Path, err, text)
		}
		return "error"
	}
	start := time.Now()
	const limit = 300 * time.Millisecond
	res, err := Run(t.Context(), prog, Options{Timeout: limit, MaxMemory: 2 << 30})
	if d := time.Since(start); d > limit+time.Minute { // on a busy machine
		t.Errorf("%s took %v\n%s", p.Path, d, text)
	}
	switch {
	case errors.As(err, &no):
		return "refused"
	case err != nil:
		t.Errorf("%s: %v\n%s", p.Path, err, text)
		return "error"
	case res.Failure != nil:
		return string(res.Failure.Kind)
	case res.Verdict == engine.Violated:
		t.Errorf("%s: a violation without a failure: %s\n%s", p.Path, res.Reason, text)
	}
	return fmt.Sprint(res.Verdict)
}
