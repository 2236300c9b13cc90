package scenario_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/gotest"
	"cpor/internal/human"
)

var porcupineFor = flag.Duration("porcupine", 0, "look so long for each fault of "+
	"testdata/structures natively, with random calls and porcupine; needs the module proxy")

// stresser builds the tests of testdata/structures with the package check of testdata/porcupine.
func stresser(t *testing.T, race bool) string {
	t.Helper()
	dir := t.TempDir()
	command := func(args ...string) string {
		c := exec.CommandContext(t.Context(), "go", args...)
		if args[0] != "list" {
			c.Dir = dir
		}
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	for _, to := range []string{"structures", "check"} {
		from := filepath.Join("testdata", strings.Replace(to, "check", "porcupine", 1))
		if err := os.CopyFS(filepath.Join(dir, to), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	text := "module " + command("list", "-m") + "\n\ngo " + command("list", "-m", "-f",
		"{{.GoVersion}}") + "\n\nrequire github.com/anishathalye/porcupine v1.0.0\n"
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	command("mod", "tidy")
	args := []string{"test", "-c", "-o", "stress", "./structures"}
	if race {
		args = append(args, "-race")
	}
	command(args...)
	return filepath.Join(dir, "stress")
}

// TestPorcupine makes the table of docs/linearizability.md: how many of the faults of
// testdata/structures are found within a time, natively by random calls and porcupine, with and
// without the race detector, and by exploring scenarios.
func TestPorcupine(t *testing.T) {
	if *porcupineFor == 0 {
		t.Skip("with -porcupine only")
	}
	natively := func(binary string) func(string) bool {
		return func(name string) bool {
			ctx, cancel := context.WithTimeout(t.Context(), *porcupineFor+5*time.Second)
			defer cancel()
			c := exec.CommandContext(ctx, binary, "-test.run", "^"+name+"$")
			c.Env = append(os.Environ(), "STRESS="+porcupineFor.String(),
				"GORACE=halt_on_error=1")
			out, err := c.CombinedOutput()
			if ctx.Err() != nil {
				return false // it hangs, which is not a history
			}
			if err != nil && !errors.As(err, new(*exec.ExitError)) {
				t.Fatalf("%s: %v\n%s", name, err, out)
			}
			for _, sign := range []string{"not linearizable", "DATA RACE", "panic:"} {
				if strings.Contains(string(out), sign) {
					return true
				}
			}
			return false // it has too many goroutines that wait, for example
		}
	}
	pkg, compiled := compiled(t, "structures")
	ways := []struct {
		name string
		find func(test string) bool
	}{
		{"natively", natively(stresser(t, false))},
		{"with the race detector", natively(stresser(t, true))},
		{"exploring", func(name string) bool {
			p, err := compiled.Test(name, gosrc.Explore{})
			if err != nil {
				t.Fatal(err)
			}
			res, err := gotest.Run(t.Context(), p, gotest.Options{Timeout: *porcupineFor})
			if err != nil {
				t.Fatal(err)
			}
			return res.Failure != nil
		}},
	}
	within := []time.Duration{*porcupineFor / 10, *porcupineFor}
	found := make([][]int, len(ways))
	for i := range found {
		found[i] = make([]int, len(within))
	}
	n := 0
	for _, f := range pkg.Tests() {
		if !strings.HasSuffix(f.Name, "Wrong") {
			continue
		}
		n++
		line := f.Name
		for i, w := range ways {
			begin := time.Now()
			ok := w.find(f.Name)
			took := time.Since(begin)
			line += ", " + w.name + " "
			if ok {
				line += took.Round(time.Millisecond).String()
			} else {
				line += "-"
			}
			for k, limit := range within {
				if ok && took <= limit {
					found[i][k]++
				}
			}
		}
		t.Log(line)
	}
	for i, w := range ways {
		for k, limit := range within {
			t.Logf("%s: %d of %s in %v each", w.name, found[i][k], human.Plural(uint64(n), "fault"),
				limit)
		}
	}
}
