package native

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"cpor/frontend/gosrc/std"
)

var goroots = flag.String("goroots", "", "further Go distributions whose files the rules are "+
	"tried on, with a comma between them")

// TestRules: every rule finds what it changes in the installed Go.
func TestRules(t *testing.T) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	roots := []string{strings.TrimSpace(string(out))}
	if *goroots != "" {
		roots = append(roots, strings.Split(*goroots, ",")...)
	}
	for _, root := range roots {
		files, err := patched(root+"/src", runtime.GOARCH)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rules {
			if !r.optional && !strings.Contains(string(files[r.file]), r.code) {
				t.Errorf("%s: %s: the rule for %s has changed nothing", root, r.file, r.name)
			}
		}
	}
}

// TestMissing: a rule that finds nothing is an error that names what is missing.
func TestMissing(t *testing.T) {
	for _, r := range []rule{
		{file: "a.go", name: "gone", code: "return"},
		{file: "a.go", name: "(*T).gone", code: "return"},
		{file: "a.go", name: "gone", kind: toValue, code: "1"},
		{file: "a.go", name: "here", code: "return )"},
	} {
		_, err := apply("a.go", []byte("package a\n\nfunc here() {}\n"), []rule{r})
		if u, ok := err.(*Unsupported); !ok || !strings.Contains(u.Error(), "a.go") {
			t.Errorf("%s: %v", r.name, err)
		}
	}
	text, err := apply("a.go", []byte("package a\n\nconst c = 1\n\nfunc here() {\n}\n"), []rule{
		{file: "a.go", name: "here", code: "_ = unsafe.Pointer(nil)"},
		{file: "a.go", name: "c", kind: toValue, code: "2"},
		{file: "a.go", name: "gone", code: "return", optional: true}})
	if want := "package a; import \"unsafe\"\n\nconst c = 2\n\nfunc here() { _ = " +
		"unsafe.Pointer(nil); \n}\n"; err != nil || string(text) != want {
		t.Errorf("%q, %v, want %q", text, err, want)
	}
}

// TestWithCheck: package check is found in a folder whose name has spaces, and the files of it that
// explored tests share stay.
func TestWithCheck(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a folder")
	write := func(name, text string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777),
			os.WriteFile(name, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	module := strings.TrimSuffix(std.Check, "/check")
	write("go.mod", "module "+module+"\n\ngo 1.25\n")
	write("a_test.go", "package a\n\nimport _ \""+std.Check+"\"\n")
	shared := write("check/linearizable.go", "package check\n")
	replaced := write("check/real.go", "package check\n")
	empty := write("empty.json", `{"Replace": {}}`)
	deps, err := dependencies(t.Context(), BuildOptions{Package: ".", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	file, err := withCheck(deps, empty, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	var all struct{ Replace map[string]string }
	if err := errors.Join(err, json.Unmarshal(text, &all)); err != nil {
		t.Fatal(err)
	}
	if to, ok := all.Replace[replaced]; !ok || to != "" {
		t.Errorf("%s stays: %s", replaced, text)
	}
	if _, ok := all.Replace[shared]; ok || len(all.Replace) != 2 {
		t.Errorf("want two files replaced, but not %s: %s", shared, text)
	}
}

// TestPolls: a package polls if it has a select with a default, or what is one in package reflect.
func TestPolls(t *testing.T) {
	for text, want := range map[string]bool{
		"select { case <-c: default: }":                   true,
		"select { case <-c: case c <- 1: }":               false,
		"select { default: }":                             false,
		"switch { default: }":                             false,
		"reflect.ValueOf(c).TryRecv()":                    true,
		"v.TrySend(w)":                                    true,
		"reflect.Select([]reflect.SelectCase{{}, {}})":    true,
		"var s []r.SelectCase":                            true,
		"reflect.ValueOf(c).Recv(); db.Select(\"names\")": false,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.go"),
			[]byte("package a\n\nfunc f() { "+text+" }\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := polls([]dependency{{dir: dir, files: []string{"a.go"}}})
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}
