package full

import (
	"testing"
	"time"
)

// TestDue: code is compiled early if transitions take long, late if they take little longer than by
// code, and never if they take no longer. That the process was interrupted makes no difference.
func TestDue(t *testing.T) {
	for _, test := range []struct {
		name       string
		transition time.Duration
		interrupts bool
		due        int // the transition at which code is compiled; 0 for never
	}{
		{"slow", 5 * coded, false, int(compiling / (4 * coded))},
		{"rather slow", 2 * coded, false, int(compiling / coded)},
		{"quick", coded, false, 0},
		{"interrupted", coded / 2, true, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			const branching = 4
			c, all := &code{}, uint64(0)
			for all < 1<<20 && !c.due {
				all += branching
				d := branching * test.transition
				if test.interrupts && all/branching%(1<<15) == 0 {
					d = time.Second
				}
				if all/branching%sampling == 0 {
					c.took(d, branching, all)
				}
			}
			if !c.due {
				all = 0
			}
			// A decision is made each window, the first after two.
			last := max(test.due, sampling*window) + sampling*window + branching
			if test.due == 0 {
				last = 0
			}
			if int(all) < test.due || int(all) > last {
				t.Errorf("due at transition %d, want about %d", all, test.due)
			}
		})
	}
}
