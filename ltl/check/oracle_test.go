package check_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cpor/ltl"
	"cpor/ltl/buchi"
	"cpor/ltl/check"
	"cpor/model"
	"cpor/oracle"
	"cpor/system"
)

var long = flag.Bool("long", false, "check many more random programs")

// bruteGraph is the full graph of a system, built as plainly as possible.
type bruteGraph struct {
	states  []system.State
	labels  [][]bool
	edges   [][]bruteEdge
	initial []int
	fault   bool // a proposition cannot be evaluated
}

type bruteEdge struct{ to, thread int }

func brute(sys system.System, limit int) (*bruteGraph, bool) {
	g := &bruteGraph{}
	number := map[string]int{}
	m := sys.NewMachine().(system.Temporal)
	obs := system.ObserversOf(sys)
	add := func(s system.State) int {
		k := fmt.Sprint(s)
		if i, ok := number[k]; ok {
			return i
		}
		number[k] = len(g.states)
		g.states = append(g.states, slices.Clone(s))
		return len(g.states) - 1
	}
	for _, s := range sys.Initial() {
		g.initial = append(g.initial, add(s))
	}
	for i := 0; i < len(g.states); i++ {
		if i > limit {
			return nil, false
		}
		m.Load(g.states[i])
		var row []bool
		for p := range m.NumProps() {
			v, bad := m.Eval(p)
			g.fault = g.fault || bad != nil
			row = append(row, v)
		}
		g.labels = append(g.labels, row)
		var es []bruteEdge
		n := m.NumThreads()
		for t := range n {
			if obs.Has(t) {
				continue
			}
			for alt := uint64(0); ; {
				m.Load(g.states[i])
				out := m.Step(t, alt)
				if out.Kind != system.Moved {
					break
				}
				es = append(es, bruteEdge{add(m.Encode(nil)), t})
				if out.Next == 0 {
					break
				}
				alt = out.Next
			}
		}
		g.edges = append(g.edges, es)
	}
	return g, true
}

// violated decides by strongly connected components of the product with the
// automaton of the whole negated formula, fairness as marks on components.
func (g *bruteGraph) violated(t *testing.T, m system.Temporal, f ltl.Formula, fair bool) bool {
	a, err := buchi.Translate(ltl.Not(f), buchi.Options{})
	if err != nil {
		t.Fatal(err)
	}
	bit := make([]int, len(a.Atoms))
	for i, name := range a.Atoms {
		for p := range m.NumProps() {
			if m.PropName(p) == name {
				bit[i] = p
			}
		}
	}
	nq := a.States()
	threads := 0
	for _, es := range g.edges {
		for _, e := range es {
			threads = max(threads, e.thread+1)
		}
	}
	type arc struct{ to, thread int }
	succ := func(v int) []arc {
		s, q := v/nq, v%nq
		letter := uint64(0)
		for i, p := range bit {
			if g.labels[s][p] {
				letter |= 1 << i
			}
		}
		var out []arc
		for _, tr := range a.Out[q] {
			if !tr.Label.Matches(letter) {
				continue
			}
			if len(g.edges[s]) == 0 {
				out = append(out, arc{s*nq + tr.Dst, -1})
			}
			for _, e := range g.edges[s] {
				out = append(out, arc{e.to*nq + tr.Dst, e.thread})
			}
		}
		return out
	}
	// Tarjan.
	index, low, onStack := map[int]int{}, map[int]int{}, map[int]bool{}
	comp := map[int]int{}
	var stack []int
	comps := 0
	var visit func(v int)
	visit = func(v int) {
		index[v], low[v] = len(index)+1, len(index)+1
		stack, onStack[v] = append(stack, v), true
		for _, e := range succ(v) {
			if index[e.to] == 0 {
				visit(e.to)
				low[v] = min(low[v], low[e.to])
			} else if onStack[e.to] {
				low[v] = min(low[v], index[e.to])
			}
		}
		if low[v] == index[v] {
			for {
				w := stack[len(stack)-1]
				stack, onStack[w] = stack[:len(stack)-1], false
				comp[w] = comps
				if w == v {
					break
				}
			}
			comps++
		}
	}
	for _, s := range g.initial {
		if v := s*nq + a.Init; index[v] == 0 {
			visit(v)
		}
	}
	cycle, accept := make([]bool, comps), make([]bool, comps)
	met := make([]map[int]bool, comps)
	for v, c := range comp {
		if met[c] == nil {
			met[c] = map[int]bool{}
		}
		accept[c] = accept[c] || a.Accepting[v%nq]
		for u := range threads {
			if !slices.ContainsFunc(g.edges[v/nq], func(e bruteEdge) bool { return e.thread == u }) {
				met[c][u] = true
			}
		}
		for _, e := range succ(v) {
			if comp[e.to] == c {
				cycle[c] = true
				if e.thread >= 0 {
					met[c][e.thread] = true
				}
			}
		}
	}
	for c := range comps {
		if cycle[c] && accept[c] && (!fair || len(met[c]) == threads) {
			return true
		}
	}
	return false
}

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

// atomsFor lists propositions that a generated model has the names for.
func atomsFor(text string) []string {
	atoms := []string{"x == 1", "x < 2", "y >= 2", "x != y", "z > A[0]", "A[1] == 0", "z == 3", "A[0] >= 1", "*p == x"}
	if !strings.Contains(text, "var p ") {
		atoms = atoms[:len(atoms)-1]
	}
	for _, c := range []string{"c0", "c1"} {
		if strings.Contains(text, "var "+c+" ") {
			atoms = append(atoms, "full("+c+")", "empty("+c+")", "len("+c+") < 1", "len("+c+") >= 1")
		}
	}
	for _, th := range []string{"T0", "T1"} {
		if i := strings.Index(text, "thread "+th+"("); i >= 0 {
			atoms = append(atoms, th+"[0].n == 2", th+"[1].n > 0")
			body, _, _ := strings.Cut(text[i:], "\n}")
			if strings.Contains(body, "here:") {
				atoms = append(atoms, th+"[0]@here", th+"[1]@here")
			}
		}
	}
	return atoms
}

// configs are the mixes of constructs of the random programs.
var configs = []oracle.Config{
	{Threads: 2, Statements: 4, Loops: true, Awaits: true, Atomic: true, Choices: true},
	{Threads: 3, Statements: 3, Loops: true, Channels: true, Selects: true},
	{Threads: 3, Statements: 2, Atomic: true, Channels: true, Selects: true, Choices: true, Awaits: true},
	{Threads: 2, Statements: 4, Loops: true, Locks: true, Pointers: true, Functions: true, Invariants: true},
	oracle.Everything,
}

// TestRandomPrograms holds every reduction, with one worker and with four, to
// the verdict of the full graph.
func TestRandomPrograms(t *testing.T) {
	n := uint64(250)
	if *long {
		n = 10000
	}
	checked, violations, reduced := 0, 0, 0
	for seed := range n {
		c := configs[seed%uint64(len(configs))]
		if seed%uint64(len(configs)) == 4 {
			c.Threads, c.Statements = 2, 3
		}
		text := oracle.Generate(seed, c)
		r := rand.New(rand.NewPCG(seed, 5))
		atoms := atomsFor(text)
		f := randomFormula(r, atoms, 1+r.IntN(3))
		text += "\nltl prop { " + f + " }\n"
		m, err := model.Parse("random.model", text, model.Options{})
		if err != nil {
			if strings.Contains(err.Error(), "init") || strings.Contains(err.Error(), "constant") || strings.Contains(err.Error(), "overflow") || strings.Contains(err.Error(), "no thread") {
				continue
			}
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		sys := m.System()
		props := sys.NewMachine().(system.Temporal)
		g, ok := brute(sys, 1500)
		if !ok || g.fault {
			continue
		}
		p := m.Properties()[0]
		prop := check.Property{Name: p.Name, Formula: p.Formula, Pos: p.Pos, Text: p.Text}
		for _, fair := range []bool{false, true} {
			want := g.violated(t, props, p.Formula, fair)
			for _, red := range []check.Reduction{check.None, check.Invisible, check.Transparent} {
				for _, workers := range []int{1, 4} {
					if fair && red != check.None {
						continue
					}
					o := check.Options{Reduction: red, Workers: workers, Fair: fair, Validate: len(g.states) < 200 && workers == 1}
					res, err := check.Run(context.Background(), sys, []check.Property{prop}, o)
					if err != nil {
						t.Fatalf("seed %d, %v, %d workers: %v\n%s", seed, red, workers, err, text)
					}
					got := res[0]
					if got.Reason != "" || (got.Verdict == check.Violated) != want {
						t.Fatalf("seed %d, %v, fair %v, %d workers: %s (%s), want violated %v\n%s", seed, red, fair, workers, got.Verdict, got.Reason, want, text)
					}
					if red == check.None && got.States > len(g.states) {
						t.Fatalf("seed %d: %d states, of %d\n%s", seed, got.States, len(g.states), text)
					}
					if got.States < len(g.states) {
						reduced++
					}
					if got.States > len(g.states) {
						t.Fatalf("seed %d, %v, %d workers: more states than the full graph\n%s", seed, red, workers, text)
					}
				}
			}
			if want {
				violations++
			}
		}
		checked++
	}
	t.Logf("%d programs, %d violated verdicts, %d reduced graphs", checked, violations, reduced)
	if checked < int(n)/4 || violations < checked/4 || reduced < checked/4 {
		t.Errorf("the random programs test too little")
	}
}

func TestOptionErrors(t *testing.T) {
	m, err := model.Parse("m.model", "var x bool\nthread T() { x = true }\ninit { go T() }\nltl f { <> x }\n", model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := m.Properties()[0]
	_, err = check.Run(context.Background(), m.System(), []check.Property{{Name: p.Name, Formula: p.Formula}}, check.Options{Fair: true, Reduction: check.Transparent})
	var oe *check.OptionError
	if !errors.As(err, &oe) || !strings.Contains(err.Error(), "do not go together") {
		t.Errorf("fair with a reduction: %v", err)
	}
}
