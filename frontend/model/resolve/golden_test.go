package resolve_test

import (
	"os"
	"strings"
	"testing"

	"cpor/frontend/model/resolve"
	"cpor/frontend/source"
)

// TestRendering compares the whole text that the user sees.
func TestRendering(t *testing.T) {
	tests := []struct {
		name, text string
		params     map[string]string
	}{
		{"syntax and meaning in one run", `
const N = 2
var x int
func f(a int) int { return y }
thread T(id int) {
	x = = 3
	undefined = 4 // told, too
}
thread U() {
	x = tru
	f(1, 2)
	x = T[0].id
}
init { go T(1); go U(); go V() }
invariant i { T[0].idd == 0 }
`, nil},
		{"names that a syntax error has lost", `
var 3x, count int
thread T() {
	count++ // may be what could not be read
	x := true + 1
}
init { go T() }
`, nil},
		{"notes", `
var x int
var x bool
func f() { g() }
func g() { h(1) }
func h(a int) { f(); a := 1; goto l; b := 2; _ = b; l: skip }
thread T(i int) { go T(); switch i { case 1: case 2, 1: } }
init { go T(1) }
invariant x { true }
`, nil},
		{"tabs and wide characters", "\nvar größe int\nthread T() {\n\tif größe > 0\t{\tgröße " +
			"=\tgrösse\t}\n}\ninit { go T() }\n", nil},
		{"parameters", "\nconst Robots, Size = 1, true\nthread T() { skip }\ninit { go T() }\n",
			map[string]string{"robots": "3", "Size": "7", "Robots": "x", "T": "1", "Speed": "2"}},
		{"an empty file", "", nil},
		{"only a comment", "// nothing\n", nil},
		{"a binary file", "\x7fELF\x02\x01\x01\x00", nil},
		{"a long expression", "var x int\nthread T() {\n\tx = " + strings.Repeat("(x + x) * ", 50) +
			"x + true\n}\ninit { go T() }\n", nil},
	}
	var b strings.Builder
	for _, test := range tests {
		b.WriteString("--- " + test.name + "\n")
		_, err := resolve.Check(source.New("f.model", test.text), resolve.Options{
			Params: test.params})
		if err == nil {
			t.Errorf("%s: no error", test.name)
			continue
		}
		b.WriteString(err.Error() + "\n")
	}
	const name = "testdata/rendering.golden"
	if *update {
		if err := os.WriteFile(name, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("%s differs (go test -update rewrites it); got:\n%s", name, b.String())
	}
}

// TestSameMessages checks that the messages do not depend on the order of maps.
func TestSameMessages(t *testing.T) {
	text := "var a, b, c, d int\nthread T() {\n\te = 1\n\tgoto m\nl: skip\nk: skip\n}\ninit { go " +
		"T() }\n"
	first := ""
	for range 50 {
		_, err := resolve.Check(source.New("f.model", text), resolve.Options{
			Params: map[string]string{"X": "1", "Y": "2", "Z": "3"}})
		if first == "" {
			first = err.Error()
		}
		if err.Error() != first {
			t.Fatalf("first\n%s\nthen\n%v", first, err)
		}
	}
}
