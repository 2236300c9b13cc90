package stateless

import (
	"context"
	"fmt"
	"testing"

	"cpor/benchmarks"
	"cpor/engine"
	"cpor/frontend/model"
	"cpor/system"
)

// load returns a benchmark's model with parameters as -D has them.
func load(t testing.TB, name, params string) system.System {
	t.Helper()
	text, err := benchmarks.DPORModel(name)
	if err != nil {
		text, err = benchmarks.Model(name)
	}
	if err != nil {
		t.Fatal(err)
	}
	ps, err := benchmarks.ParseParams(params)
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.Parse(name+".model", string(text), model.Options{Params: ps.Map()})
	if err != nil {
		t.Fatal(err)
	}
	return m.System()
}

func explore(t testing.TB, sys system.System, o Options) *Result {
	t.Helper()
	res, err := Run(context.Background(), sys, o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestKnownCounts pins the numbers of Mazurkiewicz traces that are known from
// the literature or by counting (Abdulla et al. 2017, section 10; Flanagan and
// Godefroid 2005, figure 2, for indexer). Optimal DPOR explores each once, and
// nothing in vain.
func TestKnownCounts(t *testing.T) {
	tests := []struct {
		name, params string
		want         uint64
	}{
		{"readers", "N=2", 4},
		{"readers", "N=8", 256},
		{"readers", "N=13", 8192},
		{"lastzero", "N=5", 64},
		{"lastzero", "N=10", 3328},
		{"indexer", "N=11", 1},
		{"indexer", "N=12", 8},
		{"indexer", "N=15", 4096},
		{"increments", "N=2 ATOMIC=true", 2},
		{"increments", "N=3 ATOMIC=true", 6},
		{"increments", "N=4 ATOMIC=true", 24},
		{"increments", "N=5 ATOMIC=true", 120},
		{"increments", "N=6 ATOMIC=true", 720},
		{"increments", "N=7 ATOMIC=true", 5040},
		// Of (N!)² orders, those that differ by more than the order of equal stores:
		{"increments", "N=2", 3},
		{"increments", "N=3", 25},
		{"increments", "N=4", 363},
	}
	for _, tt := range tests {
		sys := load(t, tt.name, tt.params)
		for _, workers := range []int{1, 4} {
			for _, red := range []Reduction{DPOR} {
				t.Run(fmt.Sprintf("%s/%s/%v/workers=%d", tt.name, tt.params, red, workers),
					func(t *testing.T) {
						res := explore(t, sys, Options{Options: engine.Options{Workers: workers},
							Reduction: red})
						if res.Executions != tt.want || res.Verdict != engine.Pass {
							t.Errorf("%d executions, want %d; %s %s", res.Executions, tt.want,
								res.Verdict, res.Reason)
						}
						if res.BlockedExecutions != 0 {
							if red == DPOR {
								t.Errorf("%d executions blocked by their sleep set",
									res.BlockedExecutions)
							}
							t.Logf("%d executions blocked by their sleep set",
								res.BlockedExecutions)
						}
					})
			}
		}
	}
}
