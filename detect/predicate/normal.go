package predicate

import (
	"math/bits"
	"slices"
	"sort"
	"strings"

	"cpor/detect/computation"
)

// Clause is a disjunction of literals: one of the conjuncts that the predicate
// was brought into. It holds in a state when at least one literal is true there.
type Clause struct {
	// Local holds, for each process that has one, the part of the disjunction
	// that depends on that process alone.
	Local map[int]*Node
	// Joint holds the literals that depend on several processes.
	Joint []*Node
	// Support is the set of processes that the clause depends on, ascending.
	Support []int
	text    string
}

// String prints the clause.
func (c *Clause) String() string { return c.text }

// IsLocal reports whether the clause is a 1-local predicate.
func (c *Clause) IsLocal() bool { return len(c.Support) == 1 }

// Conjunction is a predicate in the form that the searches use: it holds in a
// state when every clause does. Without clauses it is true everywhere.
type Conjunction struct {
	Clauses []*Clause
	text    string
}

// String prints the conjunction.
func (c *Conjunction) String() string { return c.text }

// IsLocal reports whether the conjunction is one of 1-local predicates, the
// class of Garg and Waldecker's algorithms.
func (c *Conjunction) IsLocal() bool {
	for _, cl := range c.Clauses {
		if len(cl.Support) > 1 {
			return false
		}
	}
	return true
}

// Support returns the processes that the conjunction depends on, ascending.
func (c *Conjunction) Support() []int {
	var s []int
	for _, cl := range c.Clauses {
		s = mergeSupport(s, cl.Support)
	}
	return s
}

// Bounds of the normal form. Distribution over more than maxClauses clauses is
// not tried, the disjunction is left as it is, with its parts as literals of
// one clause; that costs structure, not correctness.
const (
	maxClauses   = 512
	maxProduct   = 16384 // pairs of clauses to look at in one multiplication
	maxThreshold = 2000  // subsets that a count may be written out to
	maxDisjuncts = 4096
)

// Normalise brings a predicate into conjunctive normal form. The conjunction
// holds in exactly the states in which the predicate is true.
func Normalise(n *Node) *Conjunction {
	return conjunctionOf(nnf(n, false))
}

// Disjuncts splits a predicate into several, such that it is true in a state
// exactly when one of them is. Poss of a disjunction is the disjunction of the
// Posses, and each part depends on fewer processes than the whole; for Def
// there is no such law. A predicate that is not a disjunction, or whose parts
// are all 1-local, is returned whole.
func Disjuncts(n *Node) []*Conjunction {
	n = nnf(n, false)
	if n.Op != Or || len(n.Support()) <= 1 {
		return []*Conjunction{conjunctionOf(n)}
	}
	var local, parts []*Node
	seen := map[string]bool{}
	for _, k := range n.Kids {
		if seen[k.text] {
			continue
		}
		seen[k.text] = true
		if len(k.support) <= 1 {
			local = append(local, k)
		} else {
			parts = append(parts, k)
		}
	}
	if len(parts) == 0 || len(parts) > maxDisjuncts {
		return []*Conjunction{conjunctionOf(n)}
	}
	var out []*Conjunction
	if len(local) > 0 {
		out = append(out, conjunctionOf(newNode(Node{Op: Or, Kids: local})))
	}
	for _, k := range parts {
		out = append(out, conjunctionOf(k))
	}
	return out
}

func conjunctionOf(n *Node) *Conjunction {
	c := &Conjunction{}
	local := map[int][]*Node{} // 1-local conjuncts of a process become one
	var order []int
	for _, lits := range cnf(n) {
		cl := newClause(lits)
		if cl == nil {
			continue // true
		}
		if cl.IsLocal() {
			p := cl.Support[0]
			if local[p] == nil {
				order = append(order, p)
			}
			local[p] = append(local[p], cl.Local[p])
			continue
		}
		c.Clauses = append(c.Clauses, cl)
	}
	// The 1-local conjuncts come first: they are the cheapest to look at and
	// leave the search no choice.
	sort.Ints(order)
	var first []*Clause
	for _, p := range order {
		lit := local[p][0]
		if len(local[p]) > 1 {
			lit = newNode(Node{Op: And, Kids: flatten(And, local[p])})
		}
		first = append(first, newClause([]*Node{lit}))
	}
	c.Clauses = append(first, c.Clauses...)
	parts := make([]string, len(c.Clauses))
	for i, cl := range c.Clauses {
		parts[i] = cl.text
		if len(cl.Local)+len(cl.Joint) > 1 || len(parts) > 1 && strings.Contains(cl.text, " ") {
			parts[i] = "(" + cl.text + ")"
		}
	}
	c.text = strings.Join(parts, " && ")
	if len(parts) == 0 {
		c.text = "true"
	}
	return c
}

// newClause groups the literals by process; nil means a clause that is
// true everywhere.
func newClause(lits []*Node) *Clause {
	cl := &Clause{Local: map[int]*Node{}}
	for _, l := range lits {
		cl.Support = mergeSupport(cl.Support, l.support)
		switch len(l.support) {
		case 0:
			if l.Op == Const && l.Val.IsTrue() {
				return nil
			}
			// false or undefined: adds nothing
		case 1:
			p := l.support[0]
			if old := cl.Local[p]; old != nil {
				l = newNode(Node{Op: Or, Kids: flatten(Or, []*Node{old, l})})
			}
			cl.Local[p] = l
		default:
			cl.Joint = append(cl.Joint, l)
		}
	}
	var parts []string
	for _, p := range cl.Support {
		if l := cl.Local[p]; l != nil {
			parts = append(parts, l.operandOf(Or))
		}
	}
	for _, l := range cl.Joint {
		parts = append(parts, l.operandOf(Or))
	}
	cl.text = strings.Join(parts, " || ")
	if len(parts) == 1 {
		cl.text = strings.TrimSuffix(strings.TrimPrefix(cl.text, "("), ")")
		for _, l := range cl.Local {
			cl.text = l.text
		}
		for _, l := range cl.Joint {
			cl.text = l.text
		}
	}
	if len(parts) == 0 {
		cl.text = "false"
	}
	return cl
}

func (n *Node) operandOf(op Op) string {
	switch n.Op {
	case And, Or, Iff:
		if n.Op != op {
			return "(" + n.text + ")"
		}
	}
	return n.text
}

var complement = map[Op]Op{Eq: Ne, Ne: Eq, Lt: Ge, Ge: Lt, Le: Gt, Gt: Le, In: NotIn, NotIn: In,
	Match: NoMatch, NoMatch: Match}

// nnf pushes negations inwards, down to the comparisons (each has an opposite
// that is undefined where it is) and the boolean variables.
func nnf(n *Node, negate bool) *Node {
	switch n.Op {
	case Not:
		return nnf(n.Kids[0], !negate)
	case And, Or:
		op := n.Op
		if negate {
			op = And + Or - op
		}
		return connective(op, n.Kids, negate)
	case Iff:
		if len(n.support) > 1 {
			return nnfIff(n, negate)
		}
	case IsTrue:
		// It goes through the connectives, and its operand is never undefined then.
		if k := n.Kids[0]; len(n.support) > 1 && (k.Op == And || k.Op == Or) {
			return nnf(newNode(Node{Op: k.Op, Kids: areTrue(k.Kids)}), negate)
		}
	case Const:
		if negate {
			return newNode(Node{Op: Not, Kids: []*Node{n}})
		}
		return n
	}
	if op, ok := complement[n.Op]; ok && negate {
		n = newNode(Node{Op: op, Kids: n.Kids, Re: n.Re})
		negate = false
	}
	if t := threshold(n); t != nil {
		return nnf(t, negate)
	}
	if (n.Op == Eq || n.Op == Ne) && n.Kids[0].text > n.Kids[1].text && n.Kids[1].Op != Const {
		n = newNode(Node{Op: n.Op, Kids: []*Node{n.Kids[1], n.Kids[0]}})
	}
	if negate {
		return newNode(Node{Op: Not, Kids: []*Node{n}})
	}
	return n
}

// nnfIff is nnf of a <=> b: (!a || b) && (a || !b); its negation is (a || b) && (!a || !b).
func nnfIff(n *Node, negate bool) *Node {
	a, b := n.Kids[0], n.Kids[1]
	first := newNode(Node{Op: Or, Kids: flatten(Or, []*Node{nnf(a, !negate), nnf(b, false)})})
	second := newNode(Node{Op: Or, Kids: flatten(Or, []*Node{nnf(a, negate), nnf(b, true)})})
	return newNode(Node{Op: And, Kids: flatten(And, []*Node{first, second})})
}

// areTrue returns IsTrue of each.
func areTrue(nodes []*Node) []*Node {
	out := make([]*Node, len(nodes))
	for i, x := range nodes {
		out[i] = newNode(Node{Op: IsTrue, Kids: []*Node{x}})
	}
	return out
}

func connective(op Op, nodes []*Node, negate bool) *Node {
	kids := make([]*Node, 0, len(nodes))
	seen := map[string]bool{}
	for _, k := range nodes {
		for _, x := range flatten(op, []*Node{nnf(k, negate)}) {
			if x.Op == Const && x.Val.Kind() == computation.Bool {
				if x.Val.IsTrue() == (op == Or) {
					return x // decides
				}
				continue // changes nothing
			}
			if !seen[x.text] {
				seen[x.text] = true
				kids = append(kids, x)
			}
		}
	}
	if len(kids) == 1 {
		return kids[0]
	}
	return newNode(Node{Op: op, Kids: kids})
}

// threshold writes a comparison of a count with a constant as a disjunction
// over the subsets that are large enough, or a conjunction over those that must
// not all be true, when there are not too many; else it returns nil.
func threshold(n *Node) *Node {
	if _, ok := complement[n.Op]; !ok || len(n.Kids) != 2 {
		return nil
	}
	count, limit, op := n.Kids[0], n.Kids[1], n.Op
	if count.Op != Count {
		count, limit = limit, count
		switch op {
		case Lt:
			op = Gt
		case Le:
			op = Ge
		case Gt:
			op = Lt
		case Ge:
			op = Le
		}
	}
	if count.Op != Count || limit.Op != Const || limit.Val.Kind() != computation.Int {
		return nil
	}
	k := limit.Val.Int()
	const big = 1 << 30
	k = max(min(k, big), -big)
	atLeast := func(k int64) *Node { return subsets(count.Kids, k, true) }
	atMost := func(k int64) *Node { return subsets(count.Kids, k+1, false) }
	both := func(op Op, a, b *Node) *Node {
		if a == nil || b == nil {
			return nil
		}
		return newNode(Node{Op: op, Kids: []*Node{a, b}})
	}
	switch op {
	case Ge:
		return atLeast(k)
	case Gt:
		return atLeast(k + 1)
	case Le:
		return atMost(k)
	case Lt:
		return atMost(k - 1)
	case Eq:
		return both(And, atLeast(k), atMost(k))
	case Ne:
		return both(Or, atLeast(k+1), atMost(k-1))
	}
	return nil
}

// subsets returns "some k of the nodes are all true" (positive), or "no k of
// them are", as an Or of Ands or an And of Ors; nil if there are too many.
func subsets(nodes []*Node, k int64, positive bool) *Node {
	n := int64(len(nodes))
	switch {
	case k <= 0:
		return newNode(Node{Op: Const, Val: computation.BoolValue(positive)})
	case k > n:
		return newNode(Node{Op: Const, Val: computation.BoolValue(!positive)})
	}
	ways := int64(1)
	for i := int64(0); i < k; i++ {
		if ways = ways * (n - i) / (i + 1); ways > maxThreshold {
			return nil
		}
	}
	lits := make([]*Node, n)
	for i, x := range nodes {
		lits[i] = newNode(Node{Op: IsTrue, Kids: []*Node{x}})
		if !positive {
			lits[i] = newNode(Node{Op: Not, Kids: []*Node{lits[i]}})
		}
	}
	inner, outer := And, Or
	if !positive {
		inner, outer = Or, And
	}
	var all []*Node
	pick := make([]*Node, 0, k)
	var rec func(from int64)
	rec = func(from int64) {
		if int64(len(pick)) == k {
			all = append(all, newNode(Node{Op: inner, Kids: slices.Clone(pick)}))
			return
		}
		for i := from; i < n; i++ {
			pick = append(pick, lits[i])
			rec(i + 1)
			pick = pick[:len(pick)-1]
		}
	}
	rec(0)
	return newNode(Node{Op: outer, Kids: all})
}

// cnfClause is a clause under construction: the numbers of its literals as a
// bit set.
type cnfClause []uint64

// distributor brings a node into conjunctive normal form. It numbers the
// literals, so that clauses are sets of bits.
type distributor struct {
	literals []*Node
	number   map[string]int
}

func cnf(n *Node) [][]*Node {
	d := &distributor{number: map[string]int{}}
	var out [][]*Node
	for _, c := range d.clauses(n) {
		var lits []*Node
		for w, m := range c {
			for ; m != 0; m &= m - 1 {
				lits = append(lits, d.literals[w*64+bits.TrailingZeros64(m)])
			}
		}
		out = append(out, lits)
	}
	return out
}

func (d *distributor) literal(n *Node) cnfClause {
	x, ok := d.number[n.text]
	if !ok {
		x = len(d.literals)
		d.literals = append(d.literals, n)
		d.number[n.text] = x
	}
	c := make(cnfClause, x/64+1)
	c[x/64] = 1 << (x % 64)
	return c
}

// clauses returns the clauses of a node in negation normal form.
func (d *distributor) clauses(n *Node) []cnfClause {
	if len(n.support) <= 1 && n.Op != And {
		return []cnfClause{d.literal(n)}
	}
	switch n.Op {
	case And:
		var out []cnfClause
		for _, k := range n.Kids {
			out = append(out, d.clauses(k)...)
		}
		return absorb(out)
	case Or:
		product := []cnfClause{nil}
		for _, k := range n.Kids {
			factor := []cnfClause{nil}
			if len(k.support) <= 1 {
				factor[0] = d.literal(k)
			} else {
				factor = d.clauses(k)
			}
			if product = multiply(product, factor); product == nil {
				var whole cnfClause
				for _, k := range n.Kids {
					whole = union(whole, d.literal(k))
				}
				return []cnfClause{whole}
			}
		}
		return product
	}
	return []cnfClause{d.literal(n)}
}

func union(a, b cnfClause) cnfClause {
	if len(a) < len(b) {
		a, b = b, a
	}
	c := slices.Clone(a)
	for w, m := range b {
		c[w] |= m
	}
	return c
}

// contains reports whether every literal of b is in a.
func (a cnfClause) contains(b cnfClause) bool {
	for w, m := range b {
		if w >= len(a) {
			if m != 0 {
				return false
			}
		} else if m&^a[w] != 0 {
			return false
		}
	}
	return true
}

// multiply distributes a disjunction over two conjunctions; nil if the result
// would be too large.
func multiply(a, b []cnfClause) []cnfClause {
	if len(a)*len(b) > maxProduct {
		return nil
	}
	out := make([]cnfClause, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			out = append(out, union(x, y))
		}
	}
	out = absorb(out)
	if len(out) > maxClauses {
		return nil
	}
	return out
}

// absorb drops clauses that contain another clause, so that only the strongest
// remain, in their order.
func absorb(clauses []cnfClause) []cnfClause {
	if len(clauses) < 2 {
		return clauses
	}
	size := make([]int, len(clauses))
	order := make([]int, len(clauses))
	for i, c := range clauses {
		order[i] = i
		for _, m := range c {
			size[i] += bits.OnesCount64(m)
		}
	}
	sort.SliceStable(order, func(i, j int) bool { return size[order[i]] < size[order[j]] })
	var kept []int
next:
	for _, i := range order {
		for _, j := range kept {
			if clauses[i].contains(clauses[j]) {
				continue next
			}
		}
		kept = append(kept, i)
	}
	sort.Ints(kept)
	out := make([]cnfClause, len(kept))
	for x, i := range kept {
		out[x] = clauses[i]
	}
	return out
}
