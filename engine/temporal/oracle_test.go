package temporal_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cpor/engine"
	"cpor/engine/temporal"
	"cpor/frontend/model"
	"cpor/ltl"
	"cpor/oracle"
	"cpor/system"
)

var (
	programs = flag.Uint64("programs", 0, "check this `number` of random programs")
	first    = flag.Uint64("first", 0, "the `seed` of the first random program")
)

// bruteGraph is the full graph of a system, built as plainly as possible.
type bruteGraph struct {
	states  []system.State
	labels  [][]bool
	edges   [][]bruteEdge
	initial []int
	bad     [][]bool // by state and proposition: it cannot be evaluated
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
		var row, bad []bool
		for p := range m.NumProps() {
			v, err := m.Eval(p)
			row, bad = append(row, v), append(bad, err != nil)
		}
		g.labels, g.bad = append(g.labels, row), append(g.bad, bad)
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

// until is a formula of the kind a U b; the others are made of it.
type until struct{ a, b evaluator }

// evaluator evaluates a formula where the propositions and the untils have values.
type evaluator func(label []bool, untils uint) bool

// tableau translates formulas by the definition of the operators and nothing else:
// an until is true if b is, or if a is and the until is true next; and where it is
// true forever b must come again and again (Wolper 1983). It shares nothing with
// package buchi.
type tableau struct {
	number map[string]int // of the propositions
	untils []until
	known  map[string]evaluator
}

func (t *tableau) translate(f ltl.Formula) evaluator {
	if e, ok := t.known[f.String()]; ok {
		return e
	}
	var es []evaluator
	for _, g := range f.Operands() {
		es = append(es, t.translate(g))
	}
	not := func(e evaluator) evaluator {
		return func(l []bool, u uint) bool { return !e(l, u) }
	}
	both := func(a, b evaluator) evaluator {
		return func(l []bool, u uint) bool { return a(l, u) && b(l, u) }
	}
	truth := func([]bool, uint) bool { return true }
	newUntil := func(a, b evaluator) evaluator {
		i := len(t.untils)
		t.untils = append(t.untils, until{a, b})
		return func(_ []bool, u uint) bool { return u>>i&1 != 0 }
	}
	var e evaluator
	switch f.Op() {
	case ltl.OpTrue:
		e = truth
	case ltl.OpFalse:
		e = not(truth)
	case ltl.OpAtom:
		p := t.number[f.Name()]
		e = func(l []bool, _ uint) bool { return l[p] }
	case ltl.OpNot:
		e = not(es[0])
	case ltl.OpAnd:
		e = func(l []bool, u uint) bool {
			return !slices.ContainsFunc(es, func(e evaluator) bool { return !e(l, u) })
		}
	case ltl.OpOr:
		e = func(l []bool, u uint) bool {
			return slices.ContainsFunc(es, func(e evaluator) bool { return e(l, u) })
		}
	case ltl.OpImplies:
		e = func(l []bool, u uint) bool { return !es[0](l, u) || es[1](l, u) }
	case ltl.OpIff:
		e = func(l []bool, u uint) bool { return es[0](l, u) == es[1](l, u) }
	case ltl.OpEventually:
		e = newUntil(truth, es[0])
	case ltl.OpAlways:
		e = not(newUntil(truth, not(es[0])))
	case ltl.OpUntil:
		e = newUntil(es[0], es[1])
	case ltl.OpRelease:
		e = not(newUntil(not(es[0]), not(es[1])))
	case ltl.OpWeakUntil: // a holds until both fail, if ever, and that is not before b
		e = not(newUntil(not(es[1]), both(not(es[0]), not(es[1]))))
	default:
		panic("an operator that the oracle does not know: " + f.String())
	}
	t.known[f.String()] = e
	return e
}

// maxUntils bounds the formulas that the oracle decides.
const maxUntils = 5

// violated decides by strongly connected components of the product with the
// tableau of the negated formula, fairness as marks on components. ok is false if the
// formula is too large.
func (g *bruteGraph) violated(m system.Temporal, f ltl.Formula, fair bool) (violated, ok bool) {
	tab := &tableau{number: map[string]int{}, known: map[string]evaluator{}}
	for p := range m.NumProps() {
		tab.number[m.PropName(p)] = p
	}
	holds := tab.translate(f)
	n := len(tab.untils)
	if n > maxUntils {
		return false, false
	}
	nq := 1 << n
	threads := 0
	for _, es := range g.edges {
		for _, e := range es {
			threads = max(threads, e.thread+1)
		}
	}
	type arc struct{ to, thread int }
	succ := func(v int) []arc {
		s, u := v/nq, uint(v%nq)
		var out []arc
	next:
		for to := range uint(nq) {
			for i, w := range tab.untils {
				if (u>>i&1 != 0) != (w.b(g.labels[s], u) || w.a(g.labels[s], u) && to>>i&1 != 0) {
					continue next
				}
			}
			if len(g.edges[s]) == 0 {
				out = append(out, arc{s*nq + int(to), -1})
			}
			for _, e := range g.edges[s] {
				out = append(out, arc{e.to*nq + int(to), e.thread})
			}
		}
		return out
	}
	// Tarjan.
	size := len(g.states) * nq
	index, low, comp := make([]int, size), make([]int, size), make([]int, size)
	for v := range comp {
		comp[v] = -1
	}
	var stack []int
	comps, clock := 0, 0
	var visit func(v int)
	visit = func(v int) {
		clock++
		index[v], low[v] = clock, clock
		stack = append(stack, v)
		for _, e := range succ(v) {
			if index[e.to] == 0 {
				visit(e.to)
				low[v] = min(low[v], low[e.to])
			} else if comp[e.to] < 0 {
				low[v] = min(low[v], index[e.to])
			}
		}
		if low[v] == index[v] {
			for comp[v] < 0 {
				comp[stack[len(stack)-1]] = comps
				stack = stack[:len(stack)-1]
			}
			comps++
		}
	}
	for _, s := range g.initial {
		for u := range uint(nq) {
			if v := s*nq + int(u); index[v] == 0 && !holds(g.labels[s], u) {
				visit(v)
			}
		}
	}
	cycle, met, kept := make([]bool, comps), make([]uint64, comps), make([]uint, comps)
	for v, c := range comp {
		if c < 0 {
			continue
		}
		s, u := v/nq, uint(v%nq)
		for i, w := range tab.untils {
			if u>>i&1 == 0 || w.b(g.labels[s], u) {
				kept[c] |= 1 << i
			}
		}
		for t := range threads {
			if !slices.ContainsFunc(g.edges[s], func(e bruteEdge) bool { return e.thread == t }) {
				met[c] |= 1 << t
			}
		}
		for _, e := range succ(v) {
			if comp[e.to] == c {
				cycle[c] = true
				if e.thread >= 0 {
					met[c] |= 1 << e.thread
				}
			}
		}
	}
	for c := range comps {
		if cycle[c] && kept[c] == 1<<n-1 && (!fair || met[c] == 1<<threads-1) {
			return true, true
		}
	}
	return false, true
}

// undefined tells whether a predicate of a property cannot be evaluated in a state in
// which it has to be.
func (g *bruteGraph) undefined(m system.Temporal, p engine.Property) bool {
	for _, q := range p.Predicates {
		for i := range m.NumProps() {
			if m.PropName(i) != q.Prop {
				continue
			}
			for k := range g.states {
				if g.bad[k][i] && (!q.Initial || slices.Contains(g.initial, k)) {
					return true
				}
			}
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

// atomsFor lists propositions that a generated model has the names for. Some cannot
// be evaluated everywhere, and some of those are guarded.
func atomsFor(text string) []string {
	atoms := []string{
		"x == 1", "x < 2", "y >= 2", "x != y", "z > A[0]", "A[1] == 0", "z == 3", "A[0] >= 1",
		"x < 0 || x > 1 || A[x] == 1", "y >= 0 && y < 2 -> A[y] != 1", "x >= 0 && x < 2 && (A[x] == 0 <-> y < 2)",
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
			atoms = append(atoms, "full("+c+")", "empty("+c+")", "len("+c+") < 1", "len("+c+") >= 1")
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
	{Threads: 3, Statements: 2, Atomic: true, Channels: true, Selects: true, Choices: true, Awaits: true},
	{Threads: 2, Statements: 4, Loops: true, Locks: true, Pointers: true, Functions: true, Invariants: true},
	oracle.Everything,
}

// TestRandomPrograms holds every reduction, with one worker and with several, fair and
// not, to the verdict of the full graph.
func TestRandomPrograms(t *testing.T) {
	n := uint64(120)
	switch {
	case *programs > 0:
		n = *programs
	case testing.Short():
		n = 40
	}
	checked, runs, violations, reduced, undefined := 0, 0, 0, 0, 0
	for seed := *first; seed < *first+n; seed++ {
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
			if strings.Contains(err.Error(), "init") || strings.Contains(err.Error(), "constant") || strings.Contains(err.Error(), "overflow") {
				continue
			}
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		sys := m.System()
		props := sys.NewMachine().(system.Temporal)
		g, ok := brute(sys, 1000)
		if !ok {
			continue
		}
		checked++
		several := []int{2, 3, 8}[seed%3]
		for _, prop := range properties(m) {
			bad := g.undefined(props, prop)
			if bad {
				undefined++
			}
			for _, fair := range []bool{false, true} {
				want, ok := g.violated(props, prop.Formula, fair)
				if !ok {
					continue
				}
				if want {
					violations++
				}
				for _, red := range []temporal.Reduction{temporal.None, temporal.Invisible, temporal.Transparent} {
					if fair && red != temporal.None {
						continue
					}
					states, lasso := 0, ""
					for _, workers := range []int{1, several} {
						o := temporal.Options{Options: engine.Options{Workers: workers, Validate: len(g.states) < 100 && workers == 1}, Reduction: red, Fair: fair}
						res, err := temporal.Run(context.Background(), sys, []engine.Property{prop}, o)
						if err != nil {
							t.Fatalf("seed %d, %s, %v, %d workers: %v\n%s", seed, prop.Name, red, workers, err, text)
						}
						runs++
						got := res[0]
						here := fmt.Sprintf("seed %d, %s, %v, fair %v, %d workers: %s (%s)", seed, prop.Name, red, fair, workers, got.Verdict, got.Reason)
						switch {
						case bad && got.Verdict == engine.Pass:
							t.Fatalf("%s; there is a state without a value\n%s", here, text)
						case !bad && (got.Reason != "" || (got.Verdict == engine.Violated) != want):
							t.Fatalf("%s; want violated %v\n%s", here, want, text)
						case got.States > len(g.states):
							t.Fatalf("%s: more states than the full graph\n%s", here, text)
						}
						if got.States < len(g.states) {
							reduced++
						}
						// What is promised the same for any number of workers.
						if got.Verdict == engine.Pass && red == temporal.None {
							if states > 0 && states != got.States {
								t.Fatalf("%s: %d states, with one worker %d\n%s", here, got.States, states, text)
							}
							states = got.States
						}
						if x := got.Counterexample; x != nil && !bad {
							l := fmt.Sprint(x.Initial, x.Stem, x.Loop)
							if lasso != "" && lasso != l {
								t.Fatalf("%s: the counterexample %s, with one worker %s\n%s", here, l, lasso, text)
							}
							lasso = l
						}
					}
				}
			}
		}
	}
	t.Logf("%d programs, %d runs, %d violated, %d with states without a value, %d reduced graphs", checked, runs, violations, undefined, reduced)
	if checked < int(n)/4 || violations < checked/4 || reduced < checked/4 || undefined == 0 {
		t.Errorf("the random programs test too little")
	}
}

func TestOptionErrors(t *testing.T) {
	m, err := model.Parse("m.model", "var x bool\nthread T() { x = true }\ninit { go T() }\nltl f { <> x }\n", model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := m.Properties()[0]
	_, err = temporal.Run(context.Background(), m.System(), []engine.Property{{Name: p.Name, Formula: p.Formula}}, temporal.Options{Fair: true, Reduction: temporal.Transparent})
	var oe *engine.OptionError
	if !errors.As(err, &oe) || !strings.Contains(err.Error(), "do not go together") {
		t.Errorf("fair with a reduction: %v", err)
	}
}
