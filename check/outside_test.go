package check_test

import (
	"errors"
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

// TestOutsideTutorial does what docs/linearizability.md says, in an empty folder: the cache fails,
// and passes with the function that mends it.
func TestOutsideTutorial(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "linearizability.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Five minutes")
	section, _, _ = strings.Cut(section, "\n## ")
	var sources, commands []string
	fence := regexp.MustCompile("(?s)```(\\w*)[^\n]*\n(.*?)```\n")
	for _, block := range fence.FindAllStringSubmatch(section, -1) {
		if block[1] == "go" {
			sources = append(sources, block[2])
		} else if !strings.Contains(block[2], "$ cpor") {
			commands = append(commands, strings.Split(strings.TrimSpace(block[2]), "\n")...)
		}
	}
	if len(sources) != 3 || len(commands) != 4 {
		t.Fatalf("%d files and the commands %q, want 3 and 4", len(sources), commands)
	}
	if !*outside {
		t.Skip("with -outside only")
	}
	here, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mine := filepath.Join(dir, "cache")
	if err := errors.Join(os.Mkdir(mine, 0o777),
		os.Symlink(here, filepath.Join(dir, "cpor"))); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(mine, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("cache.go", sources[0])
	write("cache_test.go", sources[1])
	run := func(line string) (string, error) {
		args := strings.Fields(strings.TrimPrefix(line, "$ "))
		c := exec.Command(args[0], args[1:]...)
		c.Dir = mine
		out, err := c.CombinedOutput()
		return string(out), err
	}
	for _, line := range commands[:3] {
		if out, err := run(line); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	if out, err := run(commands[3]); err == nil ||
		!strings.Contains(out, "*cache.Cache is not linearizable") {
		t.Fatalf("%s: %v\n%s", commands[3], err, out)
	}
	i := strings.Index(sources[0], "func (c *Cache) PutIfAbsent")
	write("cache.go", sources[0][:i]+sources[2])
	if out, err := run(commands[3] + " -v"); err != nil ||
		!strings.Contains(out, "every schedule of") {
		t.Fatalf("fixed: %v\n%s", err, out)
	}
}
