package temporal_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cpor/testkit/sample"

	"cpor/engine"
	"cpor/engine/temporal"
	"cpor/frontend/model"
	"cpor/testkit/oracle"
)

var (
	first = flag.Uint64("first", 0, "the `seed` of the first random program")
)

// randomFormula writes a formula over atoms in the model language.
func randomFormula(r *rand.Rand, atoms []string, depth int) string {
	if depth == 0 || r.IntN(5) == 0 {
		a := atoms[r.IntN(len(atoms))]
		if r.IntN(3) == 0 {
			return "!(" + a + ")"
		}
		return "(" + a + ")"
	}
	sub := func() string { return randomFormula(r, atoms, depth-1) }
	switch r.IntN(10) {
	case 0:
		return "(" + sub() + " && " + sub() + ")"
	case 1:
		return "(" + sub() + " || " + sub() + ")"
	case 2:
		return "(" + sub() + " -> " + sub() + ")"
	case 3, 4:
		return "([] " + sub() + ")"
	case 5, 6:
		return "(<> " + sub() + ")"
	case 7:
		return "(" + sub() + " U " + sub() + ")"
	case 8:
		return "(" + sub() + " W " + sub() + ")"
	default:
		return "(" + sub() + " R " + sub() + ")"
	}
}

// atomsFor lists propositions that a generated model has the names for. Some cannot
// be evaluated everywhere, and some of those are guarded.
func atomsFor(text string) []string {
	atoms := []string{
		"x == 1", "x < 2", "y >= 2", "x != y", "z > A[0]", "A[1] == 0", "z == 3", "A[0] >= 1",
		"x < 0 || x > 1 || A[x] == 1", "y >= 0 && y < 2 -> A[y] != 1",
		"x >= 0 && x < 2 && (A[x] == 0 <-> y < 2)",
	}
	if len(text)%5 == 0 {
		atoms = append(atoms, "A[x] == 1")
	}
	if strings.Contains(text, "var p ") {
		atoms = append(atoms, "p != nil && *p == x")
		if len(text)%7 == 0 {
			atoms = append(atoms, "*p == x")
		}
	}
	for _, c := range []string{"c0", "c1"} {
		if strings.Contains(text, "var "+c+" ") {
			atoms = append(atoms, "full("+c+")", "empty("+c+")", "len("+c+") < 1",
				"len("+c+") >= 1")
		}
	}
	for _, th := range []string{"T0", "T1"} {
		if i := strings.Index(text, "thread "+th+"("); i >= 0 {
			body, _, _ := strings.Cut(text[i:], "\n}")
			here := strings.Contains(body, "here:")
			for k, v := range []string{"n == 2", "n > 0"} {
				if strings.Count(text, "go "+th+"(") <= k {
					continue // it never exists
				}
				atoms = append(atoms, fmt.Sprintf("%s[%d].%s", th, k, v))
				if here {
					atoms = append(atoms, fmt.Sprintf("%s[%d]@here", th, k))
				}
			}
		}
	}
	return atoms
}

// configs are the mixes of constructs of the random programs.
var configs = []oracle.Config{
	{Threads: 2, Statements: 4, Loops: true, Awaits: true, Atomic: true, Choices: true},
	{Threads: 3, Statements: 3, Loops: true, Channels: true, Selects: true},
	{Threads: 3, Statements: 2, Atomic: true, Channels: true, Selects: true, Choices: true,
		Awaits: true},
	{Threads: 2, Statements: 4, Loops: true, Locks: true, Pointers: true, Functions: true,
		Invariants: true},
	oracle.Everything,
}

// TestRandomPrograms holds every reduction, with one worker and with several, fair and
// not, to the verdict of the full graph.
func TestRandomPrograms(t *testing.T) {
	n := sample.Of[uint64](15, 40, 400)
	checked, runs, violations, reduced, undefined := 0, 0, 0, 0, 0
	defer temporal.Hurry(false)
	for seed := *first; seed < *first+n; seed++ {
		temporal.Hurry(seed%2 == 1)
		c := configs[seed%uint64(len(configs))]
		if seed%uint64(len(configs)) == 4 {
			c.Threads, c.Statements = 2, 3
		}
		text := oracle.Generate(seed, c)
		r := rand.New(rand.NewPCG(seed, 5))
		atoms := atomsFor(text)
		const formulas = 3
		for i := range formulas {
			text += fmt.Sprintf("\nltl prop%d { %s }\n", i, randomFormula(r, atoms, 1+r.IntN(3)))
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
		sys := m.System()
		g, ok := oracle.NewGraph(sys, 1000)
		if !ok {
			continue
		}
		checked++
		several := []int{2, 3, 8}[seed%3]
		for _, prop := range properties(m) {
			bad := g.Undefined(prop)
			if bad {
				undefined++
			}
			for _, fair := range []string{"", "weakly", "strongly"} {
				want, ok := g.Violated(prop.Formula, fair != "")
				if fair == "strongly" {
					want, ok = g.ViolatedStrongly(prop.Formula)
				}
				if !ok {
					continue
				}
				if want {
					violations++
				}
				for _, red := range []temporal.Reduction{temporal.None, temporal.Invisible,
					temporal.Transparent} {
					if fair != "" && red != temporal.None {
						continue
					}
					states, lasso := 0, ""
					for _, workers := range []int{1, several} {
						o := temporal.Options{
							Options: engine.Options{Workers: workers, Validate: g.States() < 100 &&
								workers == 1}, Reduction: red, Fair: fair == "weakly",
							Strong: fair == "strongly"}
						res, err := temporal.Run(context.Background(), sys, []engine.Property{prop},
							o)
						if err != nil {
							t.Fatalf("seed %d, %s, %v, %d workers: %v\n%s", seed, prop.Name, red,
								workers, err, text)
						}
						runs++
						got := res[0]
						here := fmt.Sprintf("seed %d, %s, %v, %s fair, %d workers: %s (%s)", seed,
							prop.Name, red, fair, workers, got.Verdict, got.Reason)
						switch {
						case bad && got.Verdict == engine.Pass:
							t.Fatalf("%s; there is a state without a value\n%s", here, text)
						case !bad && (got.Reason != "" || (got.Verdict == engine.Violated) != want):
							t.Fatalf("%s; want violated %v\n%s", here, want, text)
						case got.States > g.States():
							t.Fatalf("%s: more states than the full graph\n%s", here, text)
						}
						if got.States < g.States() {
							reduced++
						}
						// What is promised the same for any number of workers.
						if got.Verdict == engine.Pass && red == temporal.None {
							if states > 0 && states != got.States {
								t.Fatalf("%s: %d states, with one worker %d\n%s", here, got.States,
									states, text)
							}
							states = got.States
						}
						if x := got.Counterexample; x != nil && !bad {
							l := fmt.Sprint(x.Initial, x.Stem, x.Loop)
							if lasso != "" && lasso != l {
								t.Fatalf("%s: the counterexample %s, with one worker %s\n%s", here,
									l, lasso, text)
							}
							lasso = l
						}
					}
				}
			}
		}
	}
	t.Logf("%d programs, %d runs, %d violated, %d with states without a value, %d reduced graphs",
		checked, runs, violations, undefined, reduced)
	if checked < int(n)/4 || violations < checked/4 || reduced < checked/4 || undefined == 0 &&
		!testing.Short() {
		t.Errorf("the random programs test too little")
	}
}

func TestOptionErrors(t *testing.T) {
	m, err := model.Parse("m.model", "var x bool\nthread T() { x = true }\ninit { go T() }\nltl "+
		"f { <> x }\n", model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := m.Properties()[0]
	_, err = temporal.Run(context.Background(), m.System(), []engine.Property{
		{Name: p.Name, Formula: p.Formula}}, temporal.Options{
		Fair: true, Reduction: temporal.Transparent})
	var oe *engine.OptionError
	if !errors.As(err, &oe) || !strings.Contains(err.Error(), "cannot be combined") {
		t.Errorf("fair with a reduction: %v", err)
	}
}
