package detect

import (
	"slices"

	"cpor/detect/computation"
)

// box is the set of consistent cuts whose local states are allowed: a conjunction of 1-local
// predicates. Entry i says for each local state of process i whether it is; nil allows all.
//
// # Patterns on boxes
//
// Boxes are regular predicates in the sense of Sen and Garg ("Detecting temporal logic
// predicates in distributed programs using computation slicing", OPODIS 2003; the class of
// conjunctive predicates is Garg and Waldecker's): with two cuts, a box B contains their join
// and their meet. Therefore it has a greatest cut W and
//
//	EF B = the cuts below W,
//	AG B = the cuts from which on each process has only allowed local states,
//	EG B = the cuts of B above m, which one reaches from the final cut, if that is in B, by
//	       removing one event after the other, within B, until that is no longer possible.
//
// AG: for each local state k of process i not before the cut c, the join of c with the clock
// of k is a cut after c whose local state of i is k.
//
// EG: if c is in B and above m, join c with each cut on the way down, read upwards: these are
// cuts of B from c to the final one, and each has at most one event more than its predecessor.
// Conversely, let a path from c to the final cut stay in B. Meet its cuts with m: these are cuts
// of B from the meet of c and m up to m, by at most one event each. If m is not below c, the
// last event on the way could have been removed from m.
//
// All three are boxes again, and so are intersections. A union of boxes is a list of them; EF
// distributes over it, AG and EG do not, unless their operand is a single box. The complement
// of a box is a union of boxes of one process each. So the time is polynomial in the number of
// local states as long as the lists stay short; beyond maxBoxes the search takes over.
type box [][]bool

// The limits of a union: the number of its boxes, and of their local states together.
const (
	maxBoxes = 256
	maxCells = 1 << 27
)

// box finds the boxes of a formula and of its parts, where that can be done.
func (t *pattern) box(f *formula) {
	if f.boxed || t.r.stopped.Load() {
		return
	}
	for _, k := range f.kids {
		t.box(k)
	}
	if f.dual != nil {
		t.box(f.dual)
	}
	if f.bound >= 0 && (f.op == existsFinally || f.op == existsGlobally) {
		return
	}
	switch f.op {
	case literal:
		f.boxes, f.boxed = t.literalBox(f)
	case and:
		f.boxes, f.boxed = t.product(f.kids)
	case or:
		f.boxes, f.boxed = t.union(f.kids)
	case existsFinally:
		f.boxes, f.boxed = t.below(f.kids[0])
	case existsGlobally:
		f.boxes, f.boxed = single(f, t.staying)
	case allGlobally:
		if f.boxes, f.boxed = single(f, t.onlyAllowed); !f.boxed {
			f.boxes, f.boxed = t.complement(f.dual)
		}
	case allFinally:
		f.boxes, f.boxed = t.complement(f.dual)
	}
	if t.tooMany(f.boxes) {
		f.boxes, f.boxed = nil, false
	}
}

// single applies an operator to the operand of a formula, if that is one box, or none.
func single(f *formula, operator func(box) []box) (boxes []box, ok bool) {
	if len(f.kids) != 1 || !f.kids[0].boxed || len(f.kids[0].boxes) > 1 {
		return nil, false
	}
	for _, b := range f.kids[0].boxes {
		boxes = operator(b)
	}
	return boxes, true
}

func (t *pattern) tooMany(boxes []box) bool {
	cells := 0
	for _, b := range boxes {
		for _, allowed := range b {
			cells += len(allowed)
		}
	}
	return len(boxes) > maxBoxes || cells > maxCells
}

func (t *pattern) literalBox(f *formula) ([]box, bool) {
	c := &t.p.clauses[f.clause]
	if len(c.support) != 1 {
		return nil, false
	}
	i := c.support[0]
	allowed := make([]bool, t.p.procs[i].last+1)
	for k := range allowed {
		allowed[k] = t.p.localHolds(f.clause, i, int32(k)) != f.neg
	}
	b := make(box, t.p.n)
	b[i] = allowed
	return []box{b}, true
}

// product returns the intersection of unions.
func (t *pattern) product(kids []*formula) ([]box, bool) {
	out := []box{make(box, t.p.n)}
	for _, k := range kids {
		if !k.boxed {
			return nil, false
		}
		var next []box
		for _, a := range out {
			for _, b := range k.boxes {
				next = append(next, a.meet(b))
			}
			if t.tooMany(next) {
				return nil, false
			}
		}
		out = next
	}
	return out, true
}

func (b box) meet(c box) box {
	out := make(box, len(b))
	for i := range b {
		switch {
		case b[i] == nil:
			out[i] = c[i]
		case c[i] == nil:
			out[i] = b[i]
		default:
			both := make([]bool, len(b[i]))
			for k := range both {
				both[k] = b[i][k] && c[i][k]
			}
			out[i] = both
		}
	}
	return out
}

// only returns the only process that the box restricts, -1 for none or several.
func (b box) only() int {
	i := -1
	for j := range b {
		if b[j] != nil {
			if i >= 0 {
				return -1
			}
			i = j
		}
	}
	return i
}

// union collects the boxes; those that restrict the same process only become one.
func (t *pattern) union(kids []*formula) ([]box, bool) {
	var all []box
	for _, k := range kids {
		if !k.boxed {
			return nil, false
		}
		all = append(all, k.boxes...)
	}
	return merge(all), true
}

func merge(all []box) []box {
	var out []box
	at := map[int]int{}
	for _, b := range all {
		i := b.only()
		if i < 0 {
			out = append(out, b)
			continue
		}
		x, ok := at[i]
		if !ok {
			at[i] = len(out)
			out = append(out, b)
			continue
		}
		either := make([]bool, len(b[i]))
		for k := range either {
			either[k] = b[i][k] || out[x][i][k]
		}
		merged := make(box, len(b))
		merged[i] = either
		out[x] = merged
	}
	return out
}

// complement returns the cuts that are in none of the formula's boxes.
func (t *pattern) complement(f *formula) ([]box, bool) {
	if !f.boxed {
		return nil, false
	}
	out := []box{make(box, t.p.n)}
	for _, b := range f.boxes {
		var outside []box
		for i, allowed := range b {
			if allowed == nil {
				continue
			}
			other := make(box, len(b))
			other[i] = make([]bool, len(allowed))
			for k, ok := range allowed {
				other[i][k] = !ok
			}
			outside = append(outside, other)
		}
		var next []box
		for _, a := range out {
			for _, c := range outside {
				next = append(next, a.meet(c))
			}
		}
		if out = merge(next); t.tooMany(out) {
			return nil, false
		}
	}
	return out, true
}

// within returns the box of the cuts from..to.
func (t *pattern) within(from, to []int32) box {
	b := make(box, t.p.n)
	for i := range b {
		if from[i] == 0 && to[i] == t.final[i] {
			continue
		}
		b[i] = make([]bool, t.final[i]+1)
		for k := from[i]; k <= to[i]; k++ {
			b[i][k] = true
		}
	}
	return b
}

// below returns EF: the cuts below the greatest cut of a box.
func (t *pattern) below(f *formula) ([]box, bool) {
	if !f.boxed {
		return nil, false
	}
	initial := make([]int32, t.p.n)
	var out []box
	for _, b := range f.boxes {
		if w := t.greatest(b); w != nil {
			out = append(out, t.within(initial, w))
		}
	}
	return out, true
}

// greatest returns the greatest cut of a box, nil if it is empty.
func (t *pattern) greatest(b box) []int32 {
	w := slices.Clone(t.final)
	for changed := true; changed; {
		changed = false
		for i := range w {
			before := w[i]
			for w[i] >= 0 && (b[i] != nil && !b[i][w[i]] ||
				!computation.Cut(t.p.row(i, w[i])).Leq(w)) {
				w[i]--
			}
			if w[i] < 0 || t.r.stopped.Load() {
				return nil
			}
			changed = changed || w[i] != before
		}
	}
	return w
}

// onlyAllowed returns AG of a box.
func (t *pattern) onlyAllowed(b box) []box {
	from := make([]int32, t.p.n)
	for i, allowed := range b {
		if allowed == nil {
			continue
		}
		k := t.final[i]
		for k >= 0 && allowed[k] {
			k--
		}
		if k == t.final[i] {
			return nil
		}
		from[i] = k + 1
	}
	return []box{t.within(from, t.final)}
}

// staying returns EG of a box.
func (t *pattern) staying(b box) []box {
	allowed := func(i int, k int32) bool { return b[i] == nil || b[i][k] }
	for i, k := range t.final {
		if !allowed(i, k) {
			return nil
		}
	}
	m := slices.Clone(t.final)
	for changed := true; changed; {
		changed = false
		for i := range m {
			for m[i] > 0 && allowed(i, m[i]-1) && t.isLast(i, m) {
				m[i]--
				changed = true
			}
		}
		if t.r.stopped.Load() {
			return nil
		}
	}
	return []box{b.meet(t.within(m, t.final))}
}

// isLast reports whether no event of the cut depends on the last one of process i.
func (t *pattern) isLast(i int, cut []int32) bool {
	for j, k := range cut {
		if j != i && t.p.row(j, k)[i] >= cut[i] {
			return false
		}
	}
	return true
}

// inside reports whether the cut is in one of the boxes.
func inside(boxes []box, cut []int32) bool {
next:
	for _, b := range boxes {
		for i, allowed := range b {
			if allowed != nil && !allowed[cut[i]] {
				continue next
			}
		}
		return true
	}
	return false
}
