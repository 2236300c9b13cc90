package oracle

import (
	"fmt"
	"slices"

	"cpor/engine"
	"cpor/ltl"
	"cpor/system"
)

// Graph is the full graph of a system, built as plainly as possible, with the
// values of its propositions: temporal properties are decided on it by brute force.
type Graph struct {
	props   []string
	states  []system.State
	labels  [][]bool
	edges   [][]edge
	initial []int
	bad     [][]bool // by state and proposition: it cannot be evaluated
}

type edge struct{ to, thread int }

// NewGraph builds the graph of a system that has propositions (see
// [system.Temporal]). ok is false if it has more states than limit.
func NewGraph(sys system.System, limit int) (g *Graph, ok bool) {
	g = &Graph{}
	number := map[string]int{}
	m := sys.NewMachine()
	values := m.Capabilities().Temporal
	if values == nil {
		return nil, false
	}
	for p := range values.NumProps() {
		g.props = append(g.props, values.PropName(p))
	}
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
		for p := range g.props {
			v, err := values.Eval(p)
			row, bad = append(row, v), append(bad, err != nil)
		}
		g.labels, g.bad = append(g.labels, row), append(g.bad, bad)
		var es []edge
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
				es = append(es, edge{add(m.Encode(nil)), t})
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

// States is how many states the graph has.
func (g *Graph) States() int { return len(g.states) }

// Violated reports whether an infinite execution violates a formula; one that ends stays in its
// last state forever. fair leaves out executions in which a thread is enabled forever and never
// moves (weak fairness). It decides by strongly connected components of the product with the
// tableau of the negated formula, fairness as marks on components. ok is false if the formula is
// too large.
func (g *Graph) Violated(f ltl.Formula, fair bool) (violated, ok bool) {
	p, ok := g.product(f)
	if !ok {
		return false, false
	}
	nq, threads, n, succ, tab := p.nq, p.threads, p.untils, p.succ, p.tab
	comp, comps := g.strong(p, succ)
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
			if !slices.ContainsFunc(g.edges[s], func(e edge) bool { return e.thread == t }) {
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

// product is the product of a graph with the tableau of a formula's negation: a vertex is a state
// times nq plus the tableau's obligations.
type product struct {
	tab                 *tableau
	nq, untils, threads int
	start               []int
	succ                func(v int) []arc
}

// arc is a transition of a product; thread is -1 if the state is repeated.
type arc struct{ to, thread int }

func (g *Graph) product(f ltl.Formula) (p *product, ok bool) {
	tab := &tableau{number: map[string]int{}, known: map[string]evaluator{}}
	for p, name := range g.props {
		tab.number[name] = p
	}
	holds := tab.translate(f)
	n := len(tab.untils)
	if n > maxUntils {
		return nil, false
	}
	nq := 1 << n
	threads := 0
	for _, es := range g.edges {
		for _, e := range es {
			threads = max(threads, e.thread+1)
		}
	}
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
	p = &product{tab: tab, nq: nq, untils: n, threads: threads, succ: succ}
	for _, s := range g.initial {
		for u := range uint(nq) {
			if !holds(g.labels[s], u) {
				p.start = append(p.start, s*nq+int(u))
			}
		}
	}
	return p, true
}

// strong numbers the strongly connected components of what succ comes to from the start;
// all else has -1.
func (g *Graph) strong(p *product, succ func(v int) []arc) (comp []int, comps int) {
	size := len(g.states) * p.nq
	index, low := make([]int, size), make([]int, size)
	comp = make([]int, size)
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
	for _, v := range p.start {
		if index[v] == 0 {
			visit(v)
		}
	}
	return comp, comps
}

// ViolatedStrongly is Violated where executions do not count in which a thread is enabled
// again and again and does not move again and again (strong fairness). For every set of
// threads it looks for a component of the vertices in which no other thread is enabled
// where each of the set moves: the loop of an execution that counts has such a set. ok is
// false if there are too many threads for that.
func (g *Graph) ViolatedStrongly(f ltl.Formula) (violated, ok bool) {
	p, ok := g.product(f)
	if !ok || p.threads > 6 {
		return false, false
	}
	enabled := make([]uint, len(g.states))
	for s, es := range g.edges {
		for _, e := range es {
			enabled[s] |= 1 << e.thread
		}
	}
	reached, _ := g.strong(p, p.succ)
	for set := range uint(1) << p.threads {
		inside := func(v int) bool { return reached[v] >= 0 && enabled[v/p.nq]&^set == 0 }
		q := *p
		q.start = nil
		for v := range reached {
			if inside(v) {
				q.start = append(q.start, v)
			}
		}
		succ := func(v int) []arc {
			return slices.DeleteFunc(p.succ(v), func(a arc) bool { return !inside(a.to) })
		}
		comp, comps := g.strong(&q, succ)
		for _, c := range g.summary(p, comp, comps, succ) {
			if c.cycle && c.kept == 1<<p.untils-1 && c.moves == set {
				return true, true
			}
		}
	}
	return false, true
}

// component is what matters of a strongly connected component.
type component struct {
	cycle bool
	moves uint // the threads that move within it
	kept  uint // the untils that are kept somewhere in it
}

// summary returns the components by their numbers, which comp has of vertices.
func (g *Graph) summary(p *product, comp []int, n int, succ func(int) []arc) []component {
	out := make([]component, n)
	for v, k := range comp {
		if k < 0 {
			continue
		}
		c := &out[k]
		s, u := v/p.nq, uint(v%p.nq)
		for i, w := range p.tab.untils {
			if u>>i&1 == 0 || w.b(g.labels[s], u) {
				c.kept |= 1 << i
			}
		}
		for _, a := range succ(v) {
			if comp[a.to] == k {
				c.cycle = true
				if a.thread >= 0 {
					c.moves |= 1 << a.thread
				}
			}
		}
	}
	return out
}

// Impossible reports whether EF f, or AG EF f, does not hold, for a formula without temporal
// operators: whether from some initial state, or from some state, no state is reached that
// satisfies it.
func (g *Graph) Impossible(f ltl.Formula, m ltl.Modality) bool {
	tab := &tableau{number: map[string]int{}, known: map[string]evaluator{}}
	for p, name := range g.props {
		tab.number[name] = p
	}
	holds := tab.translate(f)
	for s := range g.states {
		if m == ltl.Possible && !slices.Contains(g.initial, s) {
			continue
		}
		seen, list, found := map[int]bool{s: true}, []int{s}, false
		for i := 0; i < len(list) && !found; i++ {
			found = holds(g.labels[list[i]], 0)
			for _, e := range g.edges[list[i]] {
				if !seen[e.to] {
					seen[e.to] = true
					list = append(list, e.to)
				}
			}
		}
		if !found {
			return true
		}
	}
	return false
}

// Undefined reports whether a predicate of a property cannot be evaluated in a state in which it
// must be.
func (g *Graph) Undefined(p engine.Property) bool {
	for _, q := range p.Predicates {
		for i, name := range g.props {
			if name != q.Prop {
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
