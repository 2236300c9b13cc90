package native

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpor/testkit/sample"
)

//go:embed testdata/shadow_test.go.txt
var shadowTest []byte

// clocks are the functions that TestShadow takes from runtime_clocks.go.txt.
var clocks = []string{"cporNewClock", "cporJoin", "cporSnapshot", "cporLearn", "cporTick",
	"cporNewEra", "cporAcquire", "cporRelease"}

// TestShadow holds the shadow memory and the epochs, as a package of its own, to vector clocks for
// each byte in which each access has a time of its own.
func TestShadow(t *testing.T) {
	text, err := ourFile("runtime_shadow.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	source := strings.NewReplacer("//go:build race\n", "", "package runtime", "package shadow").
		Replace(string(text))
	if text, err = ourFile("runtime_clocks.go.txt"); err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && slices.Contains(clocks, f.Name.Name) {
			source += "\n" + string(text[f.Pos()-1:f.End()-1]) + "\n"
			n++
		}
	}
	if n != len(clocks) {
		t.Fatalf("%d functions of %d", n, len(clocks))
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{"go.mod": []byte("module shadow\n\ngo 1.25\n"),
		"shadow.go": []byte(source), "shadow_test.go": shadowTest} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("go", "test", "-vet=off", "-v", ".", "-runs",
		fmt.Sprint(sample.Of(5_000, 20_000, 300_000)))
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
