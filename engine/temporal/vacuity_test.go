package temporal_test

import (
	"slices"
	"strings"
	"testing"

	"cpor/engine"
	"cpor/engine/temporal"
	"cpor/frontend/model"
)

// TestVacuous: which properties that hold say nothing, and why.
func TestVacuous(t *testing.T) {
	const text = `
var want [2]bool
var turn int
var bad bool
thread P(me int) {
	for {
		want[me] = true
		await(!want[1-me])
		crit: skip
		want[me] = false
	}
}
thread Q() { await(turn == 5); after: skip }
init { go P(0); go P(1); go Q() }
`
	tests := []struct {
		formula string
		empty   bool
		why     []string
	}{
		{"[] !(P[0]@crit && Q[0]@after)", true,
			[]string{"Q[0]@after never holds, so the rest does not matter"}},
		{"[] !(P[0]@crit && P[1]@crit)", false, nil},
		{"[] (bad -> <> P[0]@crit)", true,
			[]string{"bad never holds, so the rest does not matter"}},
		{"[] (want[0] && turn == 1 -> <> P[0]@crit)", true,
			[]string{"turn == 1 never holds, so the rest does not matter"}},
		{"[] (want[0] && P[1]@crit && P[0]@crit -> <> bad)", true,
			[]string{"never holds, so the rest does not matter"}},
		{"[] (P[0]@crit -> want[0])", false, nil},
		{"[] (P[0]@crit -> !bad)", false, nil},
		{"[] !bad", false, nil},
		{"[] turn == 0", false, nil},
		{"[] !bad && [] (bad -> <> want[0])", false,
			[]string{"[]((bad) -> <>want[0]): bad never holds"}},
	}
	for _, tt := range tests {
		m, err := model.Parse("vacuous.model", text+"ltl p { "+tt.formula+" }\n", model.Options{})
		if err != nil {
			t.Fatalf("%s: %v", tt.formula, err)
		}
		p := m.Properties()[0]
		rs, err := temporal.Run(t.Context(), m.System(), []engine.Property{
			{Name: p.Name, Formula: p.Formula, Text: p.Text}}, temporal.Options{
			Options: engine.Options{Workers: 1}, Reduction: temporal.Transparent})
		if err != nil {
			t.Fatal(err)
		}
		r := rs[0]
		if r.Verdict != engine.Pass {
			t.Errorf("%s: %s", tt.formula, r.Verdict)
			continue
		}
		same := slices.EqualFunc(r.Vacuous, tt.why, func(got, want string) bool {
			_, reason, _ := strings.Cut(want, ": ")
			return strings.HasSuffix(got, want) || reason != "" && strings.Contains(got, reason) ||
				strings.Contains(got, want)
		})
		if r.Empty != tt.empty || !same {
			t.Errorf("%s: %v, %q; want %v, %q", tt.formula, r.Empty, r.Vacuous, tt.empty, tt.why)
		}
	}
}
