package detect

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"cpor/detect/computation"
	"cpor/detect/predicate"
)

// linear is a joint literal of the form f1 + f2 + ... + constant OP 0, where each
// f depends on the local state of one process: sums, differences and comparisons
// of two hosts are of that form. Unlike the truth of the literal, the ranges of
// the f can be read off an interval of the lattice: if no sum of values from
// them satisfies the literal, no state of the interval does, and a local state
// whose value is outside of what the others' ranges leave is in no state that
// does.
//
// Only integers are bounded, small enough that nothing overflows: sums of other
// numbers depend on the order. A literal with other values is searched without.
type linear struct {
	op       predicate.Op
	constant int64
	parts    []linearPart // by process, in the order of the clause's support
}

type linearPart struct {
	process int
	tree    *rangeTree // of f, by local state; literals with the same f share it
}

// maxLinear bounds the absolute values of f, so that sums stay exact.
const maxLinear = 1 << 48

// term is a part of a sum: a factor times a node.
type term struct {
	factor int64
	node   *predicate.Node
}

// terms takes a numeric node apart into a sum of nodes of at most one process
// each; ok is unset if it is none.
func terms(n *predicate.Node, factor int64, out []term) (_ []term, ok bool) {
	if factor > maxLinear>>16 || factor < -(maxLinear>>16) {
		return nil, false
	}
	if len(n.Support()) <= 1 {
		return append(out, term{factor, n}), true
	}
	switch n.Op {
	case predicate.Add, predicate.Sum:
		for _, k := range n.Kids {
			if out, ok = terms(k, factor, out); !ok {
				return nil, false
			}
		}
		return out, true
	case predicate.Sub:
		if out, ok = terms(n.Kids[0], factor, out); !ok {
			return nil, false
		}
		return terms(n.Kids[1], -factor, out)
	case predicate.Neg:
		return terms(n.Kids[0], -factor, out)
	case predicate.Mul:
		for x, k := range n.Kids {
			if k.Op == predicate.Const && k.Val.Kind() == computation.Int && len(n.Kids) == 2 {
				if c := k.Val.Int(); c <= maxLinear>>16 && c >= -(maxLinear>>16) {
					return terms(n.Kids[1-x], factor*c, out)
				}
			}
		}
	}
	return nil, false
}

// linearTerms returns the sum that a literal compares with 0, if it has that
// form.
func linearTerms(n *predicate.Node) (sum []term, ok bool) {
	switch n.Op {
	case predicate.Eq, predicate.Lt, predicate.Le, predicate.Gt, predicate.Ge:
	default:
		return nil, false
	}
	if sum, ok = terms(n.Kids[0], 1, nil); ok {
		sum, ok = terms(n.Kids[1], -1, sum)
	}
	return sum, ok
}

// isLinear reports whether the literal has the form of a linear one.
func isLinear(n *predicate.Node) bool {
	_, ok := linearTerms(n)
	return ok
}

// compileLinear finds the linear form of the only literal of clause x; nil if it
// has none. It returns nil, too, when stop says so.
func (p *problem) compileLinear(x int, cl *predicate.Clause, at map[int]int, tuples []tupleTable,
	stop func() bool) *linear {
	if len(cl.Joint) != 1 || len(cl.Local) > 0 {
		return nil
	}
	n := cl.Joint[0]
	l := &linear{op: n.Op}
	sum, ok := linearTerms(n)
	if !ok {
		return nil
	}
	byProcess := map[int][]term{}
	for _, t := range sum {
		if support := t.node.Support(); len(support) == 1 {
			byProcess[at[support[0]]] = append(byProcess[at[support[0]]], t)
			continue
		}
		v := t.node.Eval(nil)
		if v.Kind() != computation.Int || v.Int() > maxLinear>>16 || v.Int() < -(maxLinear>>16) {
			return nil
		}
		if l.constant += t.factor * v.Int(); l.constant > maxLinear || l.constant < -maxLinear {
			return nil
		}
	}
	for _, i := range p.clauses[x].support {
		if byProcess[i] == nil || stop() {
			return nil
		}
		tree := p.rangeTree(i, byProcess[i], tuples[i])
		if tree == nil {
			return nil
		}
		l.parts = append(l.parts, linearPart{i, tree})
	}
	if len(l.parts) > 1<<10 {
		return nil
	}
	return l
}

// rangeTree returns the tree of a sum of terms that depend on process i, nil if
// it has values that cannot be bounded.
func (p *problem) rangeTree(i int, sum []term, table tupleTable) *rangeTree {
	key := strconv.Itoa(i)
	for _, t := range sum {
		key += fmt.Sprintf(" %d*%s", t.factor, t.node)
	}
	if t, ok := p.trees[key]; ok {
		return t
	}
	if p.trees == nil {
		p.trees = map[string]*rangeTree{}
	}
	p.trees[key] = nil
	ofTuple := make([]int64, len(table.tuples))
	for t, values := range table.tuples {
		total := int64(0)
		for _, term := range sum {
			v := term.node.Eval(func(n *predicate.Node) computation.Value {
				return p.c.Values().Value(values[slices.Index(table.names, n.Name)])
			})
			if !v.Defined() {
				total = undefinedPart
				break
			}
			if v.Kind() != computation.Int || v.Int() > maxLinear>>16 ||
				v.Int() < -(maxLinear>>16) {
				return nil
			}
			if total += term.factor * v.Int(); total > maxLinear || total < -maxLinear {
				return nil
			}
		}
		ofTuple[t] = total
	}
	pr := &p.procs[i]
	values := make([]int64, pr.last+1)
	for k := range values {
		values[k] = ofTuple[pr.tuple[pr.class[k]]]
	}
	p.trees[key] = newRangeTree(values)
	return p.trees[key]
}

// undefinedPart is the value of f where it has none.
const undefinedPart = math.MinInt64

// rangeTree answers questions about ranges of a sequence of numbers, some of
// them undefined, each in logarithmic time: a segment tree with the least and
// the greatest defined number of each segment.
type rangeTree struct {
	n        int
	leaves   int // a power of two
	min, max []int64
}

func newRangeTree(values []int64) *rangeTree {
	t := &rangeTree{n: len(values), leaves: 1}
	for t.leaves < t.n {
		t.leaves *= 2
	}
	t.min, t.max = make([]int64, 2*t.leaves), make([]int64, 2*t.leaves)
	for x := range t.leaves {
		t.min[t.leaves+x], t.max[t.leaves+x] = math.MaxInt64, math.MinInt64
		if x < t.n && values[x] != undefinedPart {
			t.min[t.leaves+x], t.max[t.leaves+x] = values[x], values[x]
		}
	}
	for x := t.leaves - 1; x > 0; x-- {
		t.min[x], t.max[x] = min(t.min[2*x], t.min[2*x+1]), max(t.max[2*x], t.max[2*x+1])
	}
	return t
}

// at returns the number at position k; ok is unset if it is undefined.
func (t *rangeTree) at(k int32) (v int64, ok bool) {
	v = t.min[t.leaves+int(k)]
	return v, v != math.MaxInt64
}

// bounds returns the least and the greatest number at the positions from..to-1;
// ok is unset if all are undefined.
func (t *rangeTree) bounds(from, to int32) (least, greatest int64, ok bool) {
	least, greatest = math.MaxInt64, math.MinInt64
	for a, b := int(from)+t.leaves, int(to)+t.leaves; a < b; a, b = a/2, b/2 {
		if a&1 == 1 {
			least, greatest = min(least, t.min[a]), max(greatest, t.max[a])
			a++
		}
		if b&1 == 1 {
			b--
			least, greatest = min(least, t.min[b]), max(greatest, t.max[b])
		}
	}
	return least, greatest, least <= greatest
}

// first returns the first position from..to-1 whose number is in lo..hi, to if
// there is none.
func (t *rangeTree) first(from, to int32, lo, hi int64) int32 {
	for k := from; k < to; {
		// Up to the largest segment that begins at k and has nothing in the range,
		// then on behind it.
		x := t.leaves + int(k)
		if t.min[x] <= hi && t.max[x] >= lo {
			return k
		}
		size := int32(1)
		for x&1 == 0 && x > 1 && !(t.min[x/2] <= hi && t.max[x/2] >= lo) {
			x /= 2
			size *= 2
		}
		k += size
	}
	return to
}

// last returns the last position from..to-1 whose number is in lo..hi, from-1 if
// there is none.
func (t *rangeTree) last(from, to int32, lo, hi int64) int32 {
	for k := to - 1; k >= from; {
		x := t.leaves + int(k)
		if t.min[x] <= hi && t.max[x] >= lo {
			return k
		}
		size := int32(1)
		for x&1 == 1 && x > 1 && !(t.min[x/2] <= hi && t.max[x/2] >= lo) {
			x /= 2
			size *= 2
		}
		k -= size
	}
	return from - 1
}

// allowed returns which values of a part leave the literal possible, when the
// other parts together are between least and greatest.
func (l *linear) allowed(least, greatest int64) (lo, hi int64) {
	lo, hi = math.MinInt64+1, math.MaxInt64-1
	switch l.op {
	case predicate.Eq:
		lo, hi = -greatest, -least
	case predicate.Lt:
		hi = -least - 1
	case predicate.Le:
		hi = -least
	case predicate.Gt:
		lo = -greatest + 1
	case predicate.Ge:
		lo = -greatest
	}
	return lo, hi
}

// narrow shrinks the interval [s, ub) as far as the linear literals show that
// what it loses does not satisfy them: s grows, ub falls. It reports whether
// anything may be left.
//
// A state t of the interval that satisfies the literal has, for each process i
// of its support, a value of f_i that is allowed by the ranges of the others
// over the interval. So t[i] is not before the first such position; t, being
// consistent, is not before the join of s with its clock; nor is it after the
// last such position.
func (w *intervalWorker) narrow(p *problem, s, ub []int32, stopped func() bool) bool {
	for changed := true; changed; {
		changed = false
		for x := range p.clauses {
			l := p.clauses[x].linear
			if l == nil {
				continue
			}
			if stopped() {
				return true
			}
			least, greatest := l.constant, l.constant
			w.ranges = w.ranges[:0]
			for _, part := range l.parts {
				lo, hi, ok := part.tree.bounds(s[part.process], ub[part.process])
				if !ok {
					return false
				}
				w.ranges = append(w.ranges, [2]int64{lo, hi})
				least += lo
				greatest += hi
			}
			for y, part := range l.parts {
				i := part.process
				lo, hi := l.allowed(least-w.ranges[y][0], greatest-w.ranges[y][1])
				if lo <= w.ranges[y][0] && w.ranges[y][1] <= hi {
					// All its defined values are allowed.
					if _, ok := part.tree.at(s[i]); ok {
						continue
					}
				}
				first := part.tree.first(s[i], ub[i], lo, hi)
				if first == ub[i] {
					return false
				}
				if first > s[i] {
					w.join(s, p.row(i, first)) // the node moves, to no other one
					for j := range s {
						if s[j] >= ub[j] {
							return false
						}
					}
					changed = true
				}
				if last := part.tree.last(s[i], ub[i], lo, hi); last+1 < ub[i] {
					if last < s[i] {
						return false
					}
					ub[i] = last + 1
					changed = true
				}
				if changed {
					break // the ranges are others now
				}
			}
		}
	}
	return true
}

// nextLinear returns, for a literal that is false in s, the first position after
// s[i] within the bounds at which part y changes the sum in the direction in
// which it has to change, the bound if there is none. In a state in which no
// part does, the sum has not come nearer.
func (l *linear) nextLinear(y int, s, bounds []int32) int32 {
	total := l.constant
	for _, part := range l.parts {
		v, ok := part.tree.at(s[part.process])
		if !ok {
			return s[l.parts[y].process] + 1 // not after narrow
		}
		total += v
	}
	part := &l.parts[y]
	i := part.process
	now, _ := part.tree.at(s[i])
	up := l.op == predicate.Gt || l.op == predicate.Ge || l.op == predicate.Eq && total < 0
	if up {
		return part.tree.first(s[i]+1, bounds[i], now+1, math.MaxInt64-1)
	}
	return part.tree.first(s[i]+1, bounds[i], math.MinInt64+1, now-1)
}
