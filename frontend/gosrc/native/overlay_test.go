package native

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// TestRules: every rule finds what it changes in the installed Go.
func TestRules(t *testing.T) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := patched(strings.TrimSpace(string(out))+"/src", runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		if !r.optional && !strings.Contains(string(files[r.file]), r.code) {
			t.Errorf("%s: the rule for %s has changed nothing", r.file, r.name)
		}
	}
}
