package check_test

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
	"do what docs/go.md says about other modules; needs the module proxy")

// TestOutside makes a module beside this one by the steps of docs/go.md, and runs its test:
// as it stands there, and without the lock.
func TestOutside(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "go.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "**In your own module.**")
	block := regexp.MustCompile("(?s)```(\\w*)\n(.*?)```\n").FindAllStringSubmatch(section, 3)
	if !ok || len(block) < 3 || block[0][1] != "" || block[1][1] != "go" ||
		block[2][1] != "console" {
		t.Fatal("docs/go.md no longer says how another module imports this package")
	}
	replace, source, commands := block[0][2], block[1][2], block[2][2]
	if strings.Count(replace, "\n") != 1 {
		t.Errorf("it is not one line: %q", replace)
	}
	if !*outside {
		t.Skip("with -outside only")
	}
	here, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mine := filepath.Join(dir, "pool")
	_, beside, _ := strings.Cut(strings.TrimSpace(replace), " => ")
	if err := os.Mkdir(mine, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(here, filepath.Join(mine, beside)); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(mine, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := func() (string, error) {
		var all strings.Builder
		for _, line := range strings.Split(strings.TrimSpace(commands), "\n") {
			args := strings.Fields(strings.TrimPrefix(line, "$ "))
			c := exec.Command(args[0], args[1:]...)
			c.Dir = mine
			out, err := c.CombinedOutput()
			all.Write(out)
			if err != nil {
				return all.String(), err
			}
		}
		return all.String(), nil
	}
	write("go.mod", "module example.com/pool\n\ngo 1.26.0\n\n"+replace)
	write("pool_test.go", source)
	if out, err := run(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	unlocked := strings.NewReplacer("mu.Lock()", "", "mu.Unlock()", "", "var mu sync.Mutex", "")
	write("pool_test.go", unlocked.Replace(source))
	if out, err := run(); err == nil || !strings.Contains(out, "data race") {
		t.Fatalf("without the lock: %v\n%s", err, out)
	}
}
