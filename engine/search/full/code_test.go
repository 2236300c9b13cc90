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

// TestDecided: which way is chosen after measurements in which a transition takes so long, and
// whether states are stored whole then. Storing them whole is tried if code is not much slower.
func TestDecided(t *testing.T) {
	for _, test := range []struct {
		name               string
		other, code, whole float64
		now                way
		stored, tried      bool
		windows            int // at most
	}{
		{"code is far better", 1000, 200, 150, byCode, true, false, soon},
		{"code is better", 200, 130, 100, byCode, true, false, early},
		{"a little better", 105, 100, 70, byCode, true, true, windows + trial},
		{"better when states are whole", 100, 130, 80, byCode, true, true, windows + trial},
		{"not even then", 100, 130, 120, byCache, false, true, windows + trial},
		{"worse", 100, 160, 50, byCache, false, false, early},
		{"far worse", 100, 500, 50, byCache, false, false, soon},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, n := &code{measuring: true}, 0
			c.cost[byCache], c.cost[byCode] = test.other, test.code
			for ; !c.decided(byCache); n++ {
				if c.window++; c.trying {
					c.cost[byCode] = test.whole
				}
			}
			if c.now != test.now || c.clear != test.stored || c.tried != test.tried ||
				n > test.windows {
				t.Errorf("way %d, stored whole: %v, tried: %v, after %d windows", c.now, c.clear,
					c.tried, n)
			}
		})
	}
}
