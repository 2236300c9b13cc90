package full

import (
	"testing"
	"time"

	"cpor/system"
)

// compiler counts how often code is requested. It is ready after some requests, unless that is 0.
type compiler struct{ requests, ready int }

func (c *compiler) Compiled(bool) (*system.Code, bool) {
	if c.requests++; c.requests == c.ready {
		return &system.Code{}, false
	}
	return nil, false
}

// TestDue: code is due early if transitions take long, late if they take little longer than by
// code, and never if they take no longer. That the process was interrupted makes no difference.
// Compiling begins before the code is due.
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
			compiler := &compiler{}
			c, all, begun := &code{machine: compiler}, uint64(0), uint64(0)
			for all < 1<<20 && !c.due {
				if compiler.requests == 0 {
					begun = all
				}
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
				all, begun = 0, 0
			}
			if (compiler.requests > 0) != (test.due > 0) {
				t.Errorf("code was requested %d times", compiler.requests)
			}
			if most := max(test.due/ahead, sampling*window) + sampling*window; int(begun) > most {
				t.Errorf("compiling begins at transition %d, want %d at most", begun, most)
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

// TestEarly: code is used once it is ready, though it is not due yet.
func TestEarly(t *testing.T) {
	compiler := &compiler{ready: 2}
	c, all := &code{machine: compiler}, uint64(0)
	for !c.due && c.code == nil {
		all += window
		c.took(window*2*coded, window, all)
	}
	if c.due || c.code == nil || !c.measured() {
		t.Errorf("after %d requests, code is not used", compiler.requests)
	}
}

// TestWhole: states are stored whole where code is clearly faster than cached steps. Then they stay
// so, whichever way is faster there, unless both are slower than the faster one was before.
func TestWhole(t *testing.T) {
	type costs struct{ cache, code time.Duration } // of a transition
	for _, test := range []struct {
		name           string
		parts, whole   costs
		wants, refuses bool
	}{
		{"code gains", costs{300, 200}, costs{300, 100}, true, false},
		{"cached steps gain more", costs{300, 200}, costs{100, 150}, true, false},
		{"about equal", costs{210, 200}, costs{200, 100}, false, false},
		{"cached steps are faster", costs{100, 200}, costs{100, 90}, false, false},
		{"both lose", costs{300, 200}, costs{350, 270}, true, true},
		{"little is lost", costs{300, 200}, costs{350, 220}, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			x := &Expander{}
			c := &x.code
			c.measuring, c.stay = true, firstStay
			decide := func(of costs) {
				for c.turn(byCache); c.measuring; c.turn(byCache) {
					d := of.cache
					if c.now == byCode {
						d = of.code
					}
					if c.window%5 == 2 {
						d *= 40 // interrupted
					}
					c.steps, c.spent = 1000, 1000*d
				}
			}
			decide(test.parts)
			wants, refuses := x.Whole(false)
			if wants != test.wants || refuses {
				t.Fatalf("wants %v, refuses %v", wants, refuses)
			}
			if !wants {
				return
			}
			x.Whole(true)
			decide(test.whole)
			if _, refuses = x.Whole(true); refuses != test.refuses {
				t.Errorf("refuses %v", refuses)
			}
		})
	}
}
