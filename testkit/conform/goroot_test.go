package conform

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"go/build"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpor/frontend/gosrc"
	"cpor/testkit/gotable"
)

var (
	goroot = flag.Int("goroot", 0, "take every n-th of the programs in GOROOT/test that run "+
		"by themselves")
	gorootPart = flag.Int("part", 0, "with -goroot n: which of the n parts")
)

// TestGoroot runs the tests of the Go compiler that are one file and run by themselves,
// under one schedule: they end quietly, or print what is in a file beside them. Those
// that are known to be refused or to end in another way are in testdata/goroot.txt.
func TestGoroot(t *testing.T) {
	if testing.Short() {
		t.Skip("loads many programs")
	}
	dir := filepath.Join(build.Default.GOROOT, "test")
	var files []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".go") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Skipf("this Go has no tests of its compiler: %v", err)
	}
	known := readList(t, "testdata/goroot.txt")
	sources, want := map[string]string{}, map[string]string{}
	n, every := 0, cmp.Or(*goroot, thin(240, 240, 40))
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "// run\n") && !strings.Contains(string(text),
			"\n// run\n") || strings.Contains(string(text), "\n//go:build") {
			continue
		}
		if n++; n%every != *gorootPart {
			continue
		}
		name, err := filepath.Rel(dir, f)
		if err != nil {
			t.Fatal(err)
		}
		name = filepath.ToSlash(name)
		sources[name] = string(text)
		if out, err := os.ReadFile(strings.TrimSuffix(f, ".go") + ".out"); err == nil {
			want[name] = gotable.NewOutcome(string(out), "").Output
		}
	}
	count := map[string]int{}
	// more would take much memory
	for names := range slices.Chunk(slices.Sorted(maps.Keys(sources)), 20) {
		part := map[string]string{}
		for _, name := range names {
			part[name] = sources[name]
		}
		loaded, err := Load(t.Context(), t.TempDir(), gotable.DefaultGoVersion, part)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			verdict := goroot1(loaded[name], want[name])
			kind, _, _ := strings.Cut(verdict, ":")
			count[kind]++
			if testing.Verbose() {
				t.Logf("%s %s", name, verdict)
			}
			if why, ok := known[name]; verdict != "passes" && !ok {
				t.Errorf("%s %s", name, verdict)
			} else if verdict == "passes" && ok {
				t.Errorf("%s passes: take it out of testdata/goroot.txt (%s)", name, why)
			}
		}
	}
	t.Logf("%d programs: %v", len(sources), count)
}

func goroot1(p *Program, want string) (verdict string) {
	defer func() {
		if r := recover(); r != nil {
			verdict = fmt.Sprint("cpor panics: ", r)
		}
	}()
	got, err := p.Once(2_000_000)
	switch no := new(gosrc.Unsupported); {
	case errors.As(err, &no):
		return "refused: " + no.What
	case err != nil:
		return "error: " + strings.ReplaceAll(err.Error(), "\n", " ")
	case got.Ending != "":
		return "differs: " + got.String()
	case want != "" && got.Output != want:
		return "differs: " + difference(got, gotable.Outcome{Output: want})
	}
	return "passes"
}
