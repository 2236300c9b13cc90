package native

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cpor/frontend/gosrc/std"
)

// TestCheckFits compiles package check with the file that it has natively, which takes the place of
// those that explore.
func TestCheckFits(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "check", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{}
	for _, f := range files {
		if name := filepath.Base(f); !std.Shared(name) && !strings.HasSuffix(name, "_test.go") {
			replace[f] = ""
		}
	}
	if len(replace) == 0 {
		t.Fatal("check has no file that explores")
	}
	replace[filepath.Join(root, "check", "light.go")] = filepath.Join(root, "frontend", "gosrc",
		"native", "overlay", "check_cpor.go.txt")
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(overlay, text, 0o666); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("go", "build", "-overlay", overlay, "cpor/check")
	c.Dir = root
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
