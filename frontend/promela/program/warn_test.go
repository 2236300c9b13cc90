package program

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"cpor/frontend/promela/syntax"
	"cpor/frontend/source"
)

var warning = regexp.MustCompile(
	`warning: (\S+) does not fit in (\S+), whose type is (.*): \S+ becomes (\S+)`)

// TestTruncated holds constants to the types of what they are assigned to: the values are those
// that SPIN 6.5.2 prints ("value (300->44 (8)) truncated in assignment").
func TestTruncated(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string // the warnings, shortened to what differs, behind mistakes
	}{
		{"byte x = 300; init { skip }", []string{"1:10: 300 x byte 44"}},
		{"byte x; init { x = 255; x = 0; x = 256 }", []string{"1:36: 256 x byte 0"}},
		{"byte x; init { x = 200 + 100; x = -1 }", []string{"1:20: 300 x byte 44",
			"1:35: -1 x byte 255"}},
		{"bool b = 2; bit c = true; init { c = 3 }", []string{"1:10: 2 b bool 0",
			"1:38: 3 c bit 1"}},
		{"short s = 32768, t = -32769, u = -32768; init { int i = 2147483647; i = -1 }",
			[]string{"1:11: 32768 s short -32768", "1:22: -32769 t short 32767"}},
		{"unsigned u : 3 = 9; init { u = 7 }", []string{"1:18: 9 u unsigned : 3 1"}},
		{"byte a[3] = 256, b[2] = { 1, 257 }; init { a[1] = 258 }",
			[]string{"1:13: 256 a byte 0", "1:30: 257 b[1] byte 1", "1:51: 258 a byte 2"}},
		// SPIN stores an array of bits in bytes.
		{"bool a[2] = 2; init { a[0] = 3; a[0] = 256 }", []string{"1:40: 256 a bool 0"}},
		{"typedef T { byte f = 300; byte g[2] }; T t, u; init { t.g[1] = 400; u.f = 1 }",
			[]string{"1:22: 300 f byte 44", "1:64: 400 t.g byte 144"}},
		{"mtype = { a }; mtype m = a; init { byte l = 400; atomic { m = 256 }; d_step { l = 1 } }",
			[]string{"1:45: 400 l byte 144", "1:63: 256 m mtype 0"}},
		{"byte x; inline set(v) { x = v } init { byte i; set(300); L: for (i : 1 .. 2) { x = 500 } }",
			[]string{"300 x byte 44", "500 x byte 244"}},
		{"byte x; init { int i = 300; x = i; x++; x = x + 300; _ = 300 }", nil},
		// beside mistakes
		{"byte x = 300; init { x = y; x = 301 }", []string{"1:26: undeclared variable: y",
			"1:10: 300 x byte 44", "1:33: 301 x byte 45"}},
	} {
		m, err := syntax.Parse(source.New("m.pml", c.text), nil)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		p, err := Resolve(m)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = p.Warnings.Error()
		}
		var lines []string
		for l := range strings.Lines(got) {
			l, is := strings.CutPrefix(strings.TrimSpace(l), "m.pml:")
			if !is {
				continue
			}
			lines = append(lines, warning.ReplaceAllString(l, "$1 $2 $3 $4"))
		}
		if !slices.EqualFunc(lines, c.want, strings.HasSuffix) {
			t.Errorf("%s: %q, want %q", c.text, lines, c.want)
		}
	}
}
