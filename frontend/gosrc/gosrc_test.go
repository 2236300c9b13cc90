package gosrc

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// write makes a module with these files and returns its folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTests(t *testing.T) {
	dir := write(t, map[string]string{
		"go.mod": "module m\n\ngo 1.22\n",
		"a.go":   "package m\n",
		"a_test.go": "package m\nimport \"testing\"\nfunc TestA(t *testing.T) {}\nfunc Testb(t " +
			"*testing.T) {}\nfunc TestB(x int) {}\nfunc Test(*testing.T) {}\nfunc TestG[T any](t " +
			"*testing.T) {}\nfunc BenchmarkA(b *testing.B) {}\nfunc TestMain(m *testing.M) {}\n",
		"b_test.go": "package m_test\nimport \"testing\"\nfunc TestX(t *testing.T) {}\n",
	})
	pkgs, err := Load(t.Context(), []string{"./..."}, Options{Dir: dir, Tests: true})
	if err != nil || len(pkgs) != 1 {
		t.Fatal(pkgs, err)
	}
	var got []string
	for _, f := range pkgs[0].Tests() {
		got = append(got, f.Name)
	}
	if want := []string{"TestA", "Test", "TestX"}; !slices.Equal(got, want) {
		t.Errorf("tests %v, want %v", got, want)
	}
	if !pkgs[0].HasTests() || pkgs[0].Path != "m" || pkgs[0].Name != "m" {
		t.Errorf("package %+v", pkgs[0])
	}
}
