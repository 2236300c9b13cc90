package temporal_test

import (
	"context"
	"fmt"
	"testing"

	"cpor/engine"
	"cpor/engine/temporal"
	"cpor/frontend/model"
)

// Small searches end before the driver of the full search takes over; with Hurry it does so after
// a few states. Both must say the same.
func TestReach(t *testing.T) {
	for _, c := range []struct {
		name, formula, more string
		want                engine.Verdict
		fault               bool
	}{
		{"holds", "[] (x + y < 11)", "", engine.Pass, false},
		{"deep", "[] (x + y < 10)", "", engine.Violated, false},
		{"waits", "(x < 3) W (y == 2)", "", engine.Violated, false},
		{"ends", "(x < 4 || y < 4) W (y == 2 || x == 2)", "", engine.Pass, false},
		{"stuck", "[] !(x == 5 && y == 5 && done)", "", engine.Violated, false},
		{"fault", "[] (x < 6)", "assert(x + y < 9)", engine.Pass, true},
		{"faulty", "[] (x + y < 10)", "assert(x + y < 9)", engine.Violated, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer temporal.Hurry(false)
			m, err := model.Parse(c.name, fmt.Sprintf(`
var x, y int
var done bool
thread P() {
	for x < 5 { x++ }
	done = true
}
thread Q() {
	for y < 5 { y++; %s }
}
init { go P(); go Q() }
ltl p { %s }
`, c.more, c.formula), model.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, red := range []temporal.Reduction{temporal.None, temporal.Transparent} {
				for _, workers := range []int{1, 2} {
					var rs []*temporal.Result
					for _, hurry := range []bool{false, true} {
						temporal.Hurry(hurry)
						r, err := temporal.Run(context.Background(), m.System(), properties(m),
							temporal.Options{Options: engine.Options{Workers: workers},
								Reduction: red})
						if err != nil {
							t.Fatal(err)
						}
						if r[0].Verdict != c.want || c.fault && r[0].Fault == nil {
							t.Errorf("%v, %d workers, hurry %v: %+v", red, workers, hurry, r[0])
						}
						rs = append(rs, r[0])
					}
					if red == temporal.None && c.want == engine.Pass &&
						(rs[0].States != rs[1].States || rs[0].Transitions != rs[1].Transitions) {
						t.Errorf("%d workers: %d states, %d transitions, and %d, %d", workers,
							rs[0].States, rs[0].Transitions, rs[1].States, rs[1].Transitions)
					}
				}
			}
		})
	}
}
