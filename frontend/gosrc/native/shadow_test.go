package native

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cpor/testkit/sample"
)

//go:embed testdata/shadow_test.go.txt
var shadowTest []byte

// TestShadow holds the shadow memory, as a package of its own, to vector clocks for each byte.
func TestShadow(t *testing.T) {
	text, err := ourFile("runtime_shadow.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	source := strings.NewReplacer("//go:build race\n", "", "package runtime", "package shadow").
		Replace(string(text))
	dir := t.TempDir()
	for name, text := range map[string][]byte{"go.mod": []byte("module shadow\n\ngo 1.25\n"),
		"shadow.go": []byte(source), "shadow_test.go": shadowTest} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("go", "test", "-vet=off", "-v", ".", "-runs",
		fmt.Sprint(sample.Of(5_000, 20_000, 300_000)))
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
