package layout

import (
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	text := strings.Repeat("word ", 40)
	lines := strings.Split(Wrap(text, 6), "\n")
	if len(lines) != 3 {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
	for i, l := range lines {
		if indented := strings.HasPrefix(l, "      w"); indented != (i > 0) || len(l) > 80 ||
			strings.HasSuffix(l, " ") {
			t.Errorf("line %d: %q", i, l)
		}
	}
	if got := strings.Join(strings.Fields(strings.Join(lines, " ")), " ") + " "; got != text {
		t.Errorf("words are lost: %q", got)
	}
}
