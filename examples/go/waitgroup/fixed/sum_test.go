package sum

import "testing"

func TestParallel(t *testing.T) {
	square := func(x int) int { return x * x }
	if got := Parallel([]int{2, 3}, square); got != 13 {
		t.Errorf("got %d, want 13", got)
	}
}
