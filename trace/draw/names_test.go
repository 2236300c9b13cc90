package draw

import (
	"strings"
	"testing"
)

// TestClipNames: names are shortened so that they can be told apart.
func TestClipNames(t *testing.T) {
	for _, tt := range []struct {
		name  string
		names []string
		want  string
	}{
		{"short", []string{"P[0]", "Q"}, "P[0]|Q"},
		{"an index", []string{"Philosopher[0]", "Philosopher[1]"}, "Philoso~[0]|Philoso~[1]"},
		{"a number", []string{"handleConnection #2", "handleConversation #2.1"},
			"handleC~ #2|handl~ #2.1"},
		{"the same beginning", []string{"TestServer/first", "TestServer/second", "TestServer"},
			"TestServer/\nfirst|TestServer/\nsecond|TestServer"},
	} {
		names := map[int]string{}
		for i, n := range tt.names {
			names[i] = n
		}
		got := clipNames(names, 11)
		var all []string
		for i := range len(names) {
			all = append(all, got[i])
		}
		if g := strings.Join(all, "|"); g != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, g, tt.want)
		}
	}
}
