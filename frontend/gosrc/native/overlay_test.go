package native

import (
	"flag"
	"os/exec"
	"runtime"
	"strings"
	"testing"
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
