package drain

import (
	"slices"
	"testing"
)

func TestStop(t *testing.T) {
	q := New()
	q.Put(1)
	q.Put(2)
	if got := q.Stop(); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("got %v, want [1 2]", got)
	}
}
