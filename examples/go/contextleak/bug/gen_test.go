package gen

import "testing"

func TestFirst(t *testing.T) {
	if got := First(3); got != 4 {
		t.Errorf("got %d, want 4", got)
	}
}
