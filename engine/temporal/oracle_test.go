package temporal_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cpor/testkit/sample"

	"cpor/engine"
	"cpor/engine/temporal"
	"cpor/frontend/model"
	"cpor/system"
	"cpor/testkit/oracle"
	"cpor/testkit/sabotage"
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

// tally counts what the random programs have tested.
type tally struct{ checked, runs, violations, reduced, fairly, undefined int }

// TestRandomPrograms holds every reduction, with one worker and with several, fair and
// not, to the verdict of the full graph.
func TestRandomPrograms(t *testing.T) {
	n := sample.Of[uint64](15, 40, 400)
	var c tally
	for seed := *first; seed < *first+n; seed++ {
		if diff := compare(seed, &c); diff != "" {
			t.Fatal(diff)
		}
	}
	t.Logf("%+v", c)
	if c.checked < int(n)/4 || c.violations < c.checked/4 || c.reduced < c.checked/4 ||
		c.fairly < c.checked/4 || c.undefined == 0 && !testing.Short() {
		t.Errorf("the random programs test too little")
	}
}

// randomProgram returns the program of a seed with some formulas; nil if there is none.
func randomProgram(seed uint64) (*model.Model, string, error) {
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
	if err != nil && (strings.Contains(err.Error(), "init") || oracle.LabelRefused(err) ||
		strings.Contains(err.Error(), "constant") || strings.Contains(err.Error(), "overflow")) {
		return nil, text, nil
	}
	return m, text, err
}

// compare says how the verdict on a property of a seed's program differs from that of brute force;
// it is empty if none does.
func compare(seed uint64, c *tally) string {
	temporal.Hurry(seed%2 == 1)
	defer temporal.Hurry(false)
	m, text, err := randomProgram(seed)
	if err != nil {
		return fmt.Sprintf("seed %d: %v\n%s", seed, err, text)
	}
	if m == nil {
		return ""
	}
	g, ok := oracle.NewGraph(m.System(), 1000)
	if !ok {
		return ""
	}
	c.checked++
	for _, prop := range properties(m) {
		if g.Undefined(prop) {
			c.undefined++
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
				c.violations++
			}
			for _, red := range []temporal.Reduction{temporal.None, temporal.Invisible,
				temporal.Transparent} {
				one := run{g: g, sys: m.System(), prop: prop, want: want, fair: fair, red: red}
				if diff := one.differ([]int{1, []int{2, 3, 8}[seed%3]}, c); diff != "" {
					return fmt.Sprintf("seed %d, %s, %v, %s fair, %s\n%s", seed, prop.Name, red,
						fair, diff, text)
				}
			}
		}
	}
	return ""
}

// run is a check of one property.
type run struct {
	g    *oracle.Graph
	sys  system.System
	prop engine.Property
	want bool // it is violated
	fair string
	red  temporal.Reduction
}

// differ says how the answers with certain numbers of workers differ from what is wanted.
func (r *run) differ(workers []int, c *tally) string {
	states, lasso := 0, ""
	bad := r.g.Undefined(r.prop)
	for _, n := range workers {
		o := temporal.Options{Options: engine.Options{Workers: n,
			Validate: r.g.States() < 100 && n == 1 && r.red != temporal.None && !sabotage.On},
			Reduction: r.red, Fair: r.fair == "weakly", Strong: r.fair == "strongly"}
		res, err := temporal.Run(context.Background(), r.sys, []engine.Property{r.prop}, o)
		if err != nil {
			return fmt.Sprintf("%d workers: %v", n, err)
		}
		c.runs++
		got := res[0]
		here := fmt.Sprintf("%d workers: %s (%s)", n, got.Verdict, got.Reason)
		if diff := r.judge(got, c); diff != "" {
			return here + diff
		}
		// What is promised the same for any number of workers.
		if got.Verdict == engine.Pass && r.red == temporal.None {
			if states > 0 && states != got.States {
				return fmt.Sprintf("%s: %d states, with one worker %d", here, got.States, states)
			}
			states = got.States
		}
		if x := got.Counterexample; x != nil && !bad {
			l := fmt.Sprint(x.Initial, x.Stem, x.Loop)
			if lasso != "" && lasso != l {
				return fmt.Sprintf("%s: the counterexample %s, with one worker %s", here, l, lasso)
			}
			lasso = l
		}
	}
	return ""
}

// judge says what is wrong with a result.
func (r *run) judge(got *temporal.Result, c *tally) string {
	bad := r.g.Undefined(r.prop)
	switch {
	case bad && got.Verdict == engine.Pass:
		return "; there is a state without a value"
	case !bad && (got.Reason != "" || (got.Verdict == engine.Violated) != r.want):
		return fmt.Sprintf("; want violated %v", r.want)
	case got.States > r.g.States():
		return ": more states than the full graph"
	}
	if got.States < r.g.States() {
		c.reduced++
	}
	if got.Reduced > 0 && r.fair != "" {
		c.fairly++
	}
	return ""
}

// unfair are models in which fairness matters, with the verdicts for weak and for strong fairness.
var unfair = []struct {
	name, text   string
	weak, strong engine.Verdict
}{
	// Thread V can take each message before U does, so that the channel is empty again and again
	// and U is not enabled all the time, which weak fairness permits. If sends came first, the
	// channel would never be empty.
	{"wakes", `var c chan(2) bool
		thread T() { for { c <- true } }
		thread V() { for { <-c } }
		thread U() { <-c; got: skip }
		init { go T(); go V(); go U() }
		ltl f { <> U[0]@got }`, engine.Violated, engine.Pass},
	// In one of the two states only T is explored, but U is enabled there, too.
	{"known", `var x, y bool
		thread T() { for { y = !y } }
		thread U() { x = true }
		init { go T(); go U() }
		ltl f { <> x }`, engine.Pass, engine.Pass},
}

// unfairly says in which of these models a check with a reduction is wrong.
func unfairly(red temporal.Reduction) string {
	for _, u := range unfair {
		m, err := model.Parse("m.model", u.text, model.Options{})
		if err != nil {
			return err.Error()
		}
		for _, strong := range []bool{false, true} {
			o := temporal.Options{Options: engine.Options{Workers: 1}, Reduction: red,
				Fair: !strong, Strong: strong}
			res, err := temporal.Run(context.Background(), m.System(), properties(m), o)
			if err != nil {
				return err.Error()
			}
			want := u.weak
			if strong {
				want = u.strong
			}
			if res[0].Verdict != want {
				return fmt.Sprintf("%s, %v, strong %v: %v, want %v", u.name, red, strong,
					res[0].Verdict, want)
			}
		}
	}
	return ""
}

func TestUnfair(t *testing.T) {
	for red := range temporal.Transparent + 1 {
		if diff := unfairly(red); diff != "" {
			t.Error(diff)
		}
	}
}

// TestValidate holds that a set is accepted though its step gives a case of a select of another
// thread another number.
func TestValidate(t *testing.T) {
	m, err := model.Parse("m.model", `var c chan(1) bool
		var x bool = true
		var y bool = true
		thread T() { for { select {
			case <-c:
			case await(x):
		} } }
		thread U() { for { c <- true } }
		init { go T(); go U() }
		ltl f { [] y }`, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := temporal.Run(context.Background(), m.System(), properties(m), temporal.Options{
		Options: engine.Options{Workers: 1, Validate: true}, Reduction: temporal.Invisible})
	if err != nil {
		t.Fatal(err)
	}
	if res[0].Verdict != engine.Pass || res[0].Reduced == 0 {
		t.Errorf("%v, %d states with an ample set", res[0].Verdict, res[0].Reduced)
	}
}
