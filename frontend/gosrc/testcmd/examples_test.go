package testcmd

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cpor/engine"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/gotest"
)

var all = flag.Bool("all", false, "explore all examples, not only every sixth")

// TestExamples explores the tests of examples/go and compares the verdicts with those
// of its table.
func TestExamples(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "examples", "go")
	table, err := os.ReadFile(filepath.Join(dir, "verdicts.txt"))
	if err != nil {
		t.Fatal(err)
	}
	pkgs, err := gosrc.Load(t.Context(), []string{"./..."}, gosrc.Options{Dir: dir, Tests: true})
	if err != nil {
		t.Fatal(err)
	}
	byPath := map[string]*gosrc.Package{}
	for _, p := range pkgs {
		byPath[p.Path] = p
	}
	n := 0
	for line := range strings.Lines(string(table)) {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		n++
		if step := 12; testing.Short() && n%(4*step) != 1 || !*all && n%step != 1 {
			continue
		}
		t.Run(f[0], func(t *testing.T) {
			p := byPath["classic/"+f[0]]
			if p == nil {
				t.Fatal("no such package")
			}
			c, err := p.Compile()
			if err != nil {
				t.Fatal(err)
			}
			prog, err := c.Test(f[1], gosrc.Explore{})
			if err != nil {
				t.Fatal(err)
			}
			res, err := run(t, prog)
			if err != nil {
				t.Fatal(err)
			}
			got := string(res.Verdict)
			if res.Failure != nil {
				got = string(res.Failure.Kind)
			} else if res.Verdict == engine.Pass {
				got = "pass"
			}
			want := strings.Split(strings.ReplaceAll(f[2], "fail", "failed"), "|")
			if !slices.Contains(want, got) {
				t.Errorf("verdict %s (%s), want %s", got, res.Reason, f[2])
			}
		})
	}
	if n < 40 {
		t.Errorf("only %d tests", n)
	}
}

// run explores a program; a panic of cpor is an error.
func run(t *testing.T, prog *gosrc.Program) (res *gotest.Result, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("cpor panics: %v", r)
		}
	}()
	return gotest.Run(t.Context(), prog, gotest.Options{Timeout: time.Minute})
}
