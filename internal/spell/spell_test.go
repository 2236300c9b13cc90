package spell

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	for _, tt := range []struct{ name, candidates, want string }{
		{"redy", "ready total", "ready"},
		{"totl", "ready total", "total"},
		{"Ready", "ready", "ready"},
		{"pro", "por order", "por"},
		{"x", "y z", ""},
		{"ab", "abc", "abc"},
		{"wrkrs", "workers", "workers"},
		{"zebra", "workers", ""},
		{"aac", "aab aad", "aab"},
		{"aac", "aad aab", "aab"},
		{"same", "same", ""},
		{strings.Repeat("x", 70), strings.Repeat("x", 69), ""},
		{"", "a", ""},
	} {
		if got := Nearest(tt.name, strings.Fields(tt.candidates)); got != tt.want {
			t.Errorf("Nearest(%q, %s) = %q, want %q", tt.name, tt.candidates, got, tt.want)
		}
	}
	if got := DidYouMean("prefx", []string{"prefix"}, "-"); got != "; did you mean -prefix?" {
		t.Error(got)
	}
}
