package model_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var outside = flag.Bool("outside", false,
	"check a model in another module; needs the module proxy")

// TestOutside checks the first model of docs/models-in-go.md in a module beside this one.
func TestOutside(t *testing.T) {
	read := func(page, pattern string) string {
		text, err := os.ReadFile(filepath.Join("..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(pattern).FindStringSubmatch(string(text))
		if m == nil {
			t.Fatalf("%s has no %s", page, pattern)
		}
		return m[1]
	}
	source := read("models-in-go.md", "(?s)```go\n(.*?)```")
	replace := read("go.md", "\n(replace .*)\n")
	if !*outside {
		t.Skip("with -outside only")
	}
	here, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "counter")
	_, beside, _ := strings.Cut(replace, " => ")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(here, filepath.Join(dir, beside)); err != nil {
		t.Fatal(err)
	}
	name := strings.Fields(replace)[1]
	for file, text := range map[string]string{
		"go.mod": "module example.com/counter\n\ngo 1.26.0\n\n" + replace + "\n",
		"counter_test.go": "package counter\n\nimport (\n\t\"testing\"\n\n\t\"" + name +
			"/model\"\n)\n\n" + source,
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{"mod tidy", "test -v ."} {
		c := exec.Command("go", strings.Fields(args)...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if err != nil || strings.HasPrefix(args, "test") && !strings.Contains(string(out),
			"no violation: ") {
			t.Fatalf("go %s: %v\n%s", args, err, out)
		}
	}
}
