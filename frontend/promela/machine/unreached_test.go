package machine

import (
	"fmt"
	"strings"
	"testing"
)

// TestUnreached holds the statements that no process comes to, those that nothing leads to among
// them, to the lines that SPIN's verifier lists.
func TestUnreached(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"byte x;\nactive proctype P() {\n\tdo\n\t:: x < 2 -> x++\n\t:: x == 2 -> x = " +
			"0\n\tod;\n\tassert(x == 3);\n\td_step {\n\t\tx = 1;\n\t\tx = 2\n\t}\n}",
			"7: assert 8: d_step 12: -end-"},
		{"byte x;\nactive proctype P() {\n\tgoto L;\n\tif\n\t:: x == 1 -> x = 2\n\t:: else -> " +
			"skip\n\tfi;\n\tassert(x == 1);\nL:\tx = 3;\n\tif\n\t:: x == 4 -> " +
			"assert(false)\n\t:: else\n\tfi\n}", "5: x == 1 5: x = 2 8: assert 11: assert"},
		{"byte x;\ninline f(a, b) {\n\tif\n\t:: a == 5 ->\n\t\ta = 7;\n\t\tb++\n\t:: " +
			"else\n\tfi;\n\tb = 2\n}\nactive proctype P() {\n\tf(x, x);\n\tx == 2\n}",
			"5: x = 7 6: x++"},
	} {
		s := parse(t, c.text)
		count(s)
		var got []string
		for _, u := range s.Unreached() {
			what := u.Text
			if u.Assertion {
				what = "assert"
			}
			got = append(got, fmt.Sprintf("%d: %s", u.Pos.Line, what))
		}
		if g := strings.Join(got, " "); g != c.want {
			t.Errorf("%s: %s, want %s", c.text, g, c.want)
		}
	}
}
