package gotest

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cpor/testkit/sample"

	"golang.org/x/tools/txtar"

	"cpor/frontend/gosrc"
)

var (
	everyKernel = flag.Int("every", 0, "take every n-th kernel only")
	kernelFiles = flag.String("kernels", "*.txtar",
		"take the kernels of the files that match `pattern` only")
)

// version returns the lines of a kernel that are in one of its two versions.
func version(text, with, without string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if strings.HasSuffix(trimmed, "//"+without) {
			continue
		}
		b.WriteString(strings.TrimSuffix(strings.TrimRight(line, "\n"), "//"+with) + "\n")
	}
	return b.String()
}

// writeModule writes what makes a folder of kernels a module; some of them use golang.org/x/sync,
// in the version of this module.
func writeModule(t *testing.T, write func(name, text string)) {
	of, err := exec.Command("go", "list", "-m", "-f", "{{.GoVersion}} {{.Path}} {{.Version}}",
		"golang.org/x/sync").Output()
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join("..", "..", "..", "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	goVersion, sync, _ := strings.Cut(strings.TrimSpace(string(of)), " ")
	write("go.mod", "module k\n\ngo "+goVersion+"\n\nrequire "+sync+"\n")
	write("go.sum", string(sums))
}

// TestKernels explores the faulty and the mended version of each kernel.
func TestKernels(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("..", "testdata", "kernels", *kernelFiles))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	var files []txtar.File
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, a.Files...)
	}
	dir := t.TempDir()
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
	step := *everyKernel
	if step == 0 {
		switch step = 120; {
		case testing.Short():
			step = 240
		case sample.Long():
			step = 10
		}
	}
	want := map[string][]string{}
	for i, f := range files {
		if i%step != 0 {
			continue
		}
		name, text := strings.TrimSuffix(f.Name, ".go"), string(f.Data)
		first, _, _ := strings.Cut(text, "\n")
		kinds, ok := strings.CutPrefix(first, "// bug: ")
		if !ok {
			t.Fatalf("%s: the first line is %q", name, first)
		}
		want["k/"+name+"/bug"] = strings.Split(kinds, "|")
		want["k/"+name+"/fix"] = []string{""}
		write(name+"/bug/k_test.go", version(text, "bug", "fix"))
		write(name+"/fix/k_test.go", version(text, "fix", "bug"))
	}
	pkgs, err := gosrc.Load(t.Context(), []string{"./..."}, gosrc.Options{Dir: dir, Tests: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) != len(want) {
		t.Fatalf("%d packages, want %d", len(pkgs), len(want))
	}
	for _, p := range pkgs {
		t.Run(strings.TrimPrefix(p.Path, "k/"), func(t *testing.T) {
			c, err := p.Compile()
			if err != nil {
				t.Fatal(err)
			}
			prog, err := c.Test("TestK", gosrc.Explore{})
			if err != nil {
				t.Fatal(err)
			}
			limit := 20 * time.Second // more than a bug takes on a busy machine
			if want[p.Path][0] == "" {
				limit = 3 * time.Second
			}
			res, err := Run(t.Context(), prog, Options{Timeout: limit})
			if err != nil {
				t.Fatal(err)
			}
			got, message := "", res.Reason
			if res.Failure != nil {
				got, message = string(res.Failure.Kind), res.Failure.Message
				if res.Program == nil {
					t.Error("the failure's trace belongs to no program")
				}
			}
			t.Logf("%s after %.2f s, %d executions: %s %s", res.Verdict, res.Duration.Seconds(),
				res.Executions, got, message)
			if !slices.Contains(want[p.Path], got) {
				t.Errorf("%s: %q (%s), want %q", res.Verdict, got, message, want[p.Path])
			}
		})
	}
}
