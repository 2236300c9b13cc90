package buchi

import (
	"cmp"
	"slices"

	"cpor/ltl"
	"cpor/ltl/buchi/internal/bdd"
)

// tableau translates formulas to generalized automata after Couvreur (FM 1999).
//
// A formula f in negation normal form is expanded to a Boolean function over
// three kinds of variables: the atoms, now; Next[g], "g holds at the next letter"; and
// promise[g], "g has been put off". For instance
//
//	f U g  is  g || f && promise[g] && Next[f U g]
//
// A state is a monotone function over Next variables, what has to hold from here on;
// its expansion replaces each Next[g] in it by the expansion of g. A cube of the
// expansion is a transition: its atoms are the label, its Next variables the
// target, and it belongs to the acceptance set of g unless it has promise[g].
//
// Next and promise variables occur without negation only, since the formula is in negation
// normal form.
type tableau struct {
	m       *bdd.Manager
	vars    *variables
	style   style
	nvars   int // the Next and promise variables
	next    map[ltl.Formula]int
	nexts   map[int]ltl.Formula // the inverse of next
	promise map[ltl.Formula]int
	sets    map[int]int // variable of a promise -> number of the acceptance set
	memo    map[expandKey]bdd.Node
	states  map[bdd.Node]bdd.Node // state -> its expansion
}

type expandKey struct {
	f       ltl.Formula
	renewed bool
}

// variables numbers the variables of the diagrams. The order decides on their size: in f1 || f2
// || ... each fi should have its atoms, its Next and promise variables side by side. So the
// atoms are ordered by their first occurrence, and a Next or promise variable comes
// after the last atom of its formula.
type variables struct {
	rank map[string]int      // of an atom
	bit  []int               // rank -> index of the atom in a letter
	last map[ltl.Formula]int // see lastRank
}

// gap is the distance of the variables of two atoms.
const gap = 1 << 20

// newVariables ranks the atoms of f; atoms gives their indices.
func newVariables(f ltl.Formula, atoms []string) *variables {
	v := &variables{rank: map[string]int{}, last: map[ltl.Formula]int{}}
	index := map[string]int{}
	for i, a := range atoms {
		index[a] = i
	}
	seen := map[ltl.Formula]bool{}
	var walk func(ltl.Formula)
	walk = func(f ltl.Formula) {
		if seen[f] {
			return
		}
		seen[f] = true
		if f.Op() == ltl.OpAtom {
			v.rank[f.Name()] = len(v.bit)
			v.bit = append(v.bit, index[f.Name()])
		}
		for _, g := range f.Operands() {
			walk(g)
		}
	}
	walk(f)
	return v
}

func (v *variables) atom(name string) int { return v.rank[name] * gap }

// lastRank returns the largest rank of the atoms of f, 0 if there are none.
func (v *variables) lastRank(f ltl.Formula) int {
	if r, ok := v.last[f]; ok {
		return r
	}
	r := v.rank[f.Name()] // 0 if f is not an atom
	for _, g := range f.Operands() {
		r = max(r, v.lastRank(g))
	}
	v.last[f] = r
	return r
}

// atomBit returns the index of the atom with variable x, and whether x is that of an atom.
func (v *variables) atomBit(x int) (bit int, ok bool) {
	if x%gap != 0 || x/gap >= len(v.bit) {
		return 0, false
	}
	return v.bit[x/gap], true
}

// afterAtoms is smaller than the variables that come after all atoms, and larger than those of
// atoms.
func (v *variables) afterAtoms() int { return len(v.bit) * gap }

func newTableau(m *bdd.Manager, vars *variables, st style) *tableau {
	return &tableau{
		m: m, vars: vars, style: st,
		next: map[ltl.Formula]int{}, nexts: map[int]ltl.Formula{},
		promise: map[ltl.Formula]int{}, sets: map[int]int{},
		memo: map[expandKey]bdd.Node{}, states: map[bdd.Node]bdd.Node{},
	}
}

// variable makes a Next or promise variable that belongs to f. There are fewer
// than gap of them, because the diagrams have fewer nodes.
func (t *tableau) variable(f ltl.Formula) int {
	t.nvars++
	if t.style.split {
		return t.vars.afterAtoms() + t.nvars
	}
	return t.vars.lastRank(f)*gap + t.nvars
}

func (t *tableau) promiseOf(f ltl.Formula) bdd.Node {
	v, ok := t.promise[f]
	if !ok {
		v = t.variable(f)
		t.promise[f] = v
		t.sets[v] = len(t.sets)
	}
	return t.m.Var(v)
}

// nextOf is the state in which f has to hold. && and || are taken apart, so
// that states with the same meaning meet more often, but for their Boolean operands.
func (t *tableau) nextOf(f ltl.Formula) bdd.Node {
	op := f.Op()
	switch {
	case op == ltl.OpTrue:
		return bdd.True
	case op == ltl.OpFalse:
		return bdd.False
	case (op == ltl.OpAnd || op == ltl.OpOr) && !f.Is(ltl.Boolean):
		var now []ltl.Formula
		var parts []bdd.Node
		for _, g := range f.Operands() {
			if g.Is(ltl.Boolean) {
				now = append(now, g)
			} else {
				parts = append(parts, t.nextOf(g))
			}
		}
		if op == ltl.OpAnd {
			r := t.nextOf(ltl.And(now...))
			for _, p := range parts {
				r = t.m.And(r, p)
			}
			return r
		}
		r := t.nextOf(ltl.Or(now...))
		for _, p := range parts {
			r = t.m.Or(r, p)
		}
		return r
	}
	v, ok := t.next[f]
	if !ok {
		v = t.variable(f)
		t.next[f] = v
		t.nexts[v] = f
	}
	return t.m.Var(v)
}

// expand returns the expansion of f. If renewed, f is an operand of an enclosing G
// that demands f at the next letter anyway, so that Next[f] need not be repeated.
func (t *tableau) expand(f ltl.Formula, renewed bool) bdd.Node {
	key := expandKey{f, renewed}
	if r, ok := t.memo[key]; ok {
		return r
	}
	m := t.m
	ops := f.Operands()
	again := func() bdd.Node {
		if renewed {
			return bdd.True
		}
		return t.nextOf(f)
	}
	now := func(i int) bdd.Node { return t.expand(ops[i], false) }
	var r bdd.Node
	switch f.Op() {
	case ltl.OpTrue:
		r = bdd.True
	case ltl.OpFalse:
		r = bdd.False
	case ltl.OpAtom:
		r = m.Var(t.vars.atom(f.Name()))
	case ltl.OpNot:
		r = m.Not(m.Var(t.vars.atom(ops[0].Name())))
	case ltl.OpAnd:
		r = bdd.True
		for _, g := range ops {
			r = m.And(r, t.expand(g, renewed))
		}
	case ltl.OpOr:
		r = bdd.False
		for i := range ops {
			r = m.Or(r, now(i))
		}
	case ltl.OpNext:
		r = t.nextOf(ops[0])
	case ltl.OpEventually:
		r = m.Or(now(0), m.And(t.promiseOf(ops[0]), again()))
	case ltl.OpAlways:
		r = m.And(t.expand(ops[0], true), again())
	case ltl.OpUntil:
		r = m.Or(now(1), m.And(now(0), m.And(t.promiseOf(ops[1]), again())))
	case ltl.OpWeakUntil:
		r = m.Or(now(1), m.And(now(0), again()))
	case ltl.OpRelease:
		r = m.And(now(1), m.Or(now(0), again()))
	case ltl.OpStrongRelease:
		r = m.And(now(1), m.Or(now(0), m.And(t.promiseOf(ltl.And(ops...)), again())))
	}
	t.memo[key] = r
	return r
}

// expandState returns the expansion of a state.
func (t *tableau) expandState(s bdd.Node) bdd.Node {
	if s == bdd.True || s == bdd.False {
		return s
	}
	if r, ok := t.states[s]; ok {
		return r
	}
	// A monotone function is (v && high) || low.
	g := t.nexts[t.m.Level(s)]
	r := t.m.Or(t.m.And(t.expand(g, false), t.expandState(t.m.High(s))), t.expandState(t.m.Low(s)))
	t.states[s] = r
	return r
}

// A style says how the tableau makes transitions from an expansion.
type style struct {
	// split: a transition for each of the sets of letters that have the same
	// residual, rather than for each cube; gives more deterministic automata.
	split bool
	// postpone: cubes with equal labels and promises become one transition to
	// the disjunction of their targets.
	postpone bool
}

// bounds are limits for a construction; nodes are those of the diagrams.
type bounds struct{ states, edges, nodes int }

// build makes the automaton of f, in negation normal form. After
// an error the tableau's memory is not to be used any more.
func (t *tableau) build(f ltl.Formula, limit bounds) (*graph, error) {
	g := &graph{m: t.m}
	// States with equal expansions have equal transitions and are one state.
	index := map[bdd.Node]int{}
	var todo []bdd.Node
	state := func(s bdd.Node) int {
		e := t.expandState(s)
		if e == bdd.False {
			return -1
		}
		q, ok := index[e]
		if !ok {
			q = len(todo)
			index[e] = q
			todo = append(todo, e)
		}
		return q
	}
	first := state(t.nextOf(f))
	if err := t.m.Err(); err != nil {
		return nil, &TooLargeError{Stage: "tableau", Err: err}
	}
	if first < 0 {
		return emptyGraph(t.m), nil
	}
	edges := 0
	for q := 0; q < len(todo); q++ {
		if len(todo) > limit.states {
			return nil, &TooLargeError{Stage: "states of the tableau", Limit: limit.states}
		}
		var out []edge
		for _, part := range t.parts(todo[q]) {
			byPromise := map[uint64]bdd.Node{}
			var promises []uint64
			for _, cube := range t.m.SumOfProducts(part.residual) {
				label, promised, target := t.readCube(cube)
				label = t.m.And(label, part.label)
				if !t.style.postpone {
					if dst := state(target); dst >= 0 {
						out = append(out, edge{label, promised, dst})
					}
					continue
				}
				if _, ok := byPromise[promised]; !ok {
					byPromise[promised] = bdd.False
					promises = append(promises, promised)
				}
				byPromise[promised] = t.m.Or(byPromise[promised], target)
			}
			for _, promised := range promises {
				if dst := state(byPromise[promised]); dst >= 0 {
					out = append(out, edge{part.label, promised, dst})
				}
			}
		}
		if err := t.m.Err(); err != nil {
			return nil, &TooLargeError{Stage: "tableau", Err: err}
		}
		if edges += len(out); edges > limit.edges {
			return nil, &TooLargeError{Stage: "transitions of the tableau", Limit: limit.edges}
		}
		g.out = append(g.out, out)
	}
	if len(t.sets) > 64 {
		return nil, &TooLargeError{Stage: "acceptance sets", Limit: 64}
	}
	g.sets = len(t.sets)
	for _, es := range g.out {
		for i := range es {
			es[i].acc = allSets(g.sets) &^ es[i].acc
		}
	}
	g.mergeEdges()
	if err := t.m.Err(); err != nil {
		return nil, &TooLargeError{Stage: "tableau", Err: err}
	}
	return g, nil
}

type part struct{ label, residual bdd.Node }

// parts divides an expansion by letters, if the style says so; then Next and
// promise variables come after the atoms.
func (t *tableau) parts(e bdd.Node) []part {
	if !t.style.split {
		return []part{{bdd.True, e}}
	}
	// The residuals are the nodes just below the atoms. A node's letters are complete when all
	// nodes above it are done.
	labels := map[bdd.Node]bdd.Node{e: bdd.True}
	nodes := []bdd.Node{e}
	var out []part
	for len(nodes) > 0 {
		i := 0
		for j, n := range nodes {
			if t.m.Level(n) < t.m.Level(nodes[i]) {
				i = j
			}
		}
		n := nodes[i]
		nodes = slices.Delete(nodes, i, i+1)
		label := labels[n]
		v := t.m.Level(n)
		if v >= t.vars.afterAtoms() {
			if n != bdd.False {
				out = append(out, part{label, n})
			}
			continue
		}
		for _, child := range []struct{ node, cond bdd.Node }{
			{t.m.Low(n), t.m.Not(t.m.Var(v))}, {t.m.High(n), t.m.Var(v)},
		} {
			if _, ok := labels[child.node]; !ok {
				labels[child.node] = bdd.False
				nodes = append(nodes, child.node)
			}
			labels[child.node] = t.m.Or(labels[child.node], t.m.And(label, child.cond))
		}
	}
	slices.SortFunc(out, func(a, b part) int { return cmp.Compare(a.residual, b.residual) })
	return out
}

// readCube divides a cube into its label, its promises (as a set of acceptance
// sets) and its target.
func (t *tableau) readCube(c bdd.Cube) (label bdd.Node, promised uint64, target bdd.Node) {
	label, target = bdd.True, bdd.True
	for _, l := range c {
		v := t.m.Var(l.Var)
		if set, ok := t.sets[l.Var]; ok {
			promised |= 1 << min(set, 63) // more than 64 sets are refused at the end
			continue
		}
		if l.Neg {
			v = t.m.Not(v)
		}
		if _, ok := t.vars.atomBit(l.Var); ok {
			label = t.m.And(label, v)
		} else {
			target = t.m.And(target, v)
		}
	}
	return label, promised, target
}
