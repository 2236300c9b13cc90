package temporal_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cpor/engine"
	"cpor/engine/temporal"
	"cpor/frontend/model"
	"cpor/ltl"
	"cpor/testkit/oracle"
	"cpor/testkit/sample"
)

// randomCondition writes a formula without temporal operators.
func randomCondition(r *rand.Rand, atoms []string, depth int) string {
	if depth == 0 {
		return randomFormula(r, atoms, 0)
	}
	op := []string{"&&", "||", "->", "<->"}[r.IntN(4)]
	return "(" + randomCondition(r, atoms, depth-1) + " " + op + " " + randomCondition(r, atoms,
		depth-1) + ")"
}

// TestPossible holds EF p and AG EF p to brute force, on random programs. A search that is cut
// off must not answer wrongly.
func TestPossible(t *testing.T) {
	n := sample.Of[uint64](30, 50, 2000)
	checked, violated, cut := 0, 0, 0
	for seed := *first; seed < *first+n; seed++ {
		c := configs[seed%4]
		text := oracle.Generate(seed, c)
		r := rand.New(rand.NewPCG(seed, 6))
		atoms := atomsFor(text)
		for i := range 4 {
			text += fmt.Sprintf("\nltl prop%d { %s %s }\n", i, []string{"EF", "AG EF"}[i%2],
				randomCondition(r, atoms, r.IntN(3)))
		}
		m, err := model.Parse("random.model", text, model.Options{})
		if err != nil {
			if strings.Contains(err.Error(), "init") || oracle.LabelRefused(err) ||
				strings.Contains(err.Error(), "constant") || strings.Contains(err.Error(),
				"overflow") {
				continue
			}
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		g, ok := oracle.NewGraph(m.System(), 1000)
		if !ok {
			continue
		}
		for _, prop := range properties(m) {
			if prop.Modality == ltl.Linear || !prop.Formula.Is(ltl.Boolean) {
				t.Fatalf("%s is %v %v", prop.Text, prop.Modality, prop.Formula)
			}
			want, bad := g.Impossible(prop.Formula, prop.Modality), g.Undefined(prop)
			for _, limit := range []uint64{0, 1 + r.Uint64N(uint64(g.States()))} {
				res, err := temporal.Run(context.Background(), m.System(), []engine.Property{prop},
					temporal.Options{Options: engine.Options{Workers: 2, MaxStates: limit},
						Reduction: temporal.Transparent})
				if err != nil {
					t.Fatalf("seed %d, %s, limit %d: %v\n%s", seed, prop.Text, limit, err, text)
				}
				got := res[0]
				here := fmt.Sprintf("seed %d, %s, limit %d: %s (%s)", seed, prop.Text, limit,
					got.Verdict, got.Reason)
				switch {
				case got.Verdict == engine.Incomplete && (limit > 0 || bad):
					cut++
				case bad && got.Verdict == engine.Pass && prop.Modality == ltl.AlwaysPossible:
					t.Fatalf("%s; there is a state without a value\n%s", here, text)
				case !bad && (got.Verdict == engine.Violated) != want:
					t.Fatalf("%s; want violated %v\n%s", here, want, text)
				}
				if x := got.Counterexample; x != nil {
					violated++
					if prop.Modality == ltl.Possible && len(x.Stem) > 0 {
						t.Fatalf("%s: it does not fail in an initial state\n%s", here, text)
					}
				}
				checked++
			}
		}
	}
	t.Logf("%d checked, %d violated, %d incomplete", checked, violated, cut)
	if checked < int(n) || violated < checked/10 || cut == 0 {
		t.Errorf("the random programs test too little")
	}
}
