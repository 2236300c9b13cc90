package temporal

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"unsafe"

	"cpor/ltl"
	"cpor/system"
)

// A formula can hold because of a part that never changes, such as the left side of an
// implication that is never true, or a label of a thread that does not exist. Then the rest of
// the formula does not matter, and the pass says nothing about it (Beer, Ben-David, Eisner,
// Rodeh 2001: it is vacuous in the rest).
//
// The states that the search has met say of most parts that they change. Of the others, a separate
// search in the plain semantics finds out which never change, because a reduced graph lacks states,
// and a product lacks those after which the formula cannot be violated. It ends when each part has
// changed. If it reaches its bound first, nothing is reported.
const (
	vacuityStates = 1 << 17
	vacuityWords  = 1 << 22
)

// letters are those of states that a search has met: all of them while there are few.
type letters struct {
	last uint64
	all  map[uint64]bool
}

// mostLetters bounds how many letters are kept.
const mostLetters = 1 << 10

func (l *letters) add(letter uint64) {
	if letter == l.last && l.all != nil || len(l.all) == mostLetters {
		return
	}
	if l.all == nil {
		l.all = map[uint64]bool{}
	}
	l.last, l.all[letter] = letter, true
}

// met has the letters of one search, all workers together.
type met struct {
	bit map[string]int // by atom
	all map[uint64]bool
}

func (s *exploration) met() met {
	m := met{map[string]int{}, map[uint64]bool{}}
	for i, name := range s.a.Atoms {
		m.bit[name] = i
	}
	for _, w := range s.workers {
		maps.Copy(m.all, w.x.met.all)
	}
	return m
}

// changes reports whether a formula without temporal operators is false in a state that the search
// has met.
func (m *met) changes(f ltl.Formula) bool {
	for _, name := range f.Atoms() {
		if _, known := m.bit[name]; !known {
			return false
		}
	}
	for letter := range m.all {
		if !satisfies(f, func(name string) bool { return letter>>m.bit[name]&1 != 0 }) {
			return true
		}
	}
	return false
}

// constant is a part of a conjunct without temporal operators that makes the conjunct true if it
// always holds.
type constant struct {
	conjunct ltl.Formula
	part     ltl.Formula
}

// vacuous describes, for each conjunct of a formula that holds, whether it is vacuous. all
// reports whether the whole formula is. known has the letters of the searches that prove it.
func (c *checker) vacuous(known []met) (why []string, all bool) {
	var open []constant
	conjuncts := conjuncts(c.p.Formula)
	for _, f := range conjuncts {
		if f == ltl.True() {
			return []string{"it is true whatever the model does: its constants decide"}, true
		}
		for _, p := range deciding(f) {
			if !slices.ContainsFunc(known, func(m met) bool { return m.changes(p) }) {
				open = append(open, constant{f, p})
			}
		}
	}
	open = c.unchanging(open)
	told := map[ltl.Formula]bool{}
	for _, x := range open {
		if told[x.conjunct] {
			continue
		}
		told[x.conjunct] = true
		s := fmt.Sprintf("%s always holds, so the rest does not matter", x.part)
		if x.part.Op() == ltl.OpNot {
			s = fmt.Sprintf("%s never holds, so the rest does not matter", x.part.Operands()[0])
		} else if n := negation(x.part); n != (ltl.Formula{}) {
			s = fmt.Sprintf("%s never holds, so the rest does not matter", n)
		}
		if len(conjuncts) > 1 {
			s = fmt.Sprintf("%s: %s", x.conjunct, s)
		}
		why = append(why, strings.ReplaceAll(s, `"`, "")) // names that are expressions
	}
	return why, len(told) == len(conjuncts)
}

// negation returns the conjunction of which f is the negation, if f is a disjunction of
// negations; else the zero formula.
func negation(f ltl.Formula) ltl.Formula {
	if f.Op() != ltl.OpOr {
		return ltl.Formula{}
	}
	var fs []ltl.Formula
	for _, g := range f.Operands() {
		if g.Op() != ltl.OpNot {
			return ltl.Formula{}
		}
		fs = append(fs, g.Operands()[0])
	}
	return ltl.And(fs...)
}

// deciding returns the parts of a conjunct without temporal operators that make it true if
// they always hold, where there is more to it.
func deciding(f ltl.Formula) []ltl.Formula {
	var parts []ltl.Formula
	add := func(p ltl.Formula) {
		if !slices.Contains(parts, p) && assume(f, p) == ltl.True() {
			parts = append(parts, p)
		}
	}
	var walk func(g ltl.Formula)
	walk = func(g ltl.Formula) {
		// A right side of -> that always holds is not suspicious: [] (ended -> !failed).
		if g.Op() == ltl.OpImplies && g.Operands()[0].Is(ltl.Boolean) {
			if left := g.Operands()[0]; left.Op() == ltl.OpAnd {
				for _, o := range left.Operands() {
					add(ltl.Not(o))
				}
			}
			add(ltl.Not(g.Operands()[0]))
		}
		if g.Op() == ltl.OpOr {
			var boolean []ltl.Formula
			for _, o := range g.Operands() {
				if o.Is(ltl.Boolean) {
					boolean = append(boolean, o)
					add(o)
				}
			}
			if n := len(boolean); n > 1 && n < len(g.Operands()) {
				add(ltl.Or(boolean...))
			}
		}
		if g.Op() == ltl.OpNot && g.Operands()[0].Op() == ltl.OpAnd {
			for _, o := range g.Operands()[0].Operands() {
				if o.Is(ltl.Boolean) {
					add(ltl.Not(o))
				}
			}
		}
		for _, o := range g.Operands() {
			walk(o)
		}
	}
	walk(f)
	return parts
}

// assume returns f with true in the place of p, and false in that of its negation.
func assume(f, p ltl.Formula) ltl.Formula {
	switch {
	case f == p:
		return ltl.True()
	case f == ltl.Not(p):
		return ltl.False()
	}
	var fs []ltl.Formula
	for _, o := range f.Operands() {
		fs = append(fs, assume(o, p))
	}
	switch f.Op() {
	case ltl.OpNot:
		return ltl.Not(fs[0])
	case ltl.OpAnd:
		return ltl.And(fs...)
	case ltl.OpOr:
		if p.Op() == ltl.OpOr { // a part of the operands
			rest := f.Operands()
			n := len(rest)
			rest = slices.DeleteFunc(rest, func(o ltl.Formula) bool {
				return slices.Contains(p.Operands(), o)
			})
			if n-len(rest) == len(p.Operands()) {
				return ltl.True()
			}
		}
		return ltl.Or(fs...)
	case ltl.OpImplies:
		return ltl.Implies(fs[0], fs[1])
	case ltl.OpIff:
		return ltl.Iff(fs[0], fs[1])
	case ltl.OpNext:
		return ltl.Next(fs[0])
	case ltl.OpEventually:
		return ltl.Eventually(fs[0])
	case ltl.OpAlways:
		return ltl.Always(fs[0])
	case ltl.OpUntil:
		return ltl.Until(fs[0], fs[1])
	case ltl.OpRelease:
		return ltl.Release(fs[0], fs[1])
	case ltl.OpWeakUntil:
		return ltl.WeakUntil(fs[0], fs[1])
	case ltl.OpStrongRelease:
		return ltl.StrongRelease(fs[0], fs[1])
	}
	return f
}

// unchanging returns the parts that hold in every reachable state; none if that is unknown.
func (c *checker) unchanging(open []constant) []constant {
	seen := map[[2]uint64]bool{}
	seeds := [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	var queue []system.State
	words := 0
	visit := func(s system.State) {
		b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), 8*len(s))
		k := [2]uint64{maphash.Bytes(seeds[0], b), maphash.Bytes(seeds[1], b)}
		if !seen[k] {
			seen[k] = true
			queue = append(queue, slices.Clone(s))
			words += len(s)
		}
	}
	for _, s := range c.sys.Initial() {
		visit(s)
	}
	own := c.sys.NewMachine()
	m, labels, err := temporal(c.sys)
	if err != nil {
		return nil
	}
	var buf system.State
	for n := 0; len(queue) > 0 && len(open) > 0; n++ {
		if len(seen) > vacuityStates || words > vacuityWords || n&255 == 0 &&
			ended(c.watch.Context()) {
			return nil
		}
		s := queue[0]
		queue[0], queue = nil, queue[1:]
		words -= len(s)
		m.Load(s)
		open = slices.DeleteFunc(open, func(x constant) bool { return !c.holds(labels, x.part) })
		own.Load(s)
		mark := own.Mark()
		for t := range own.NumThreads() {
			for alt, more := uint64(0), true; more; {
				out := own.Step(t, alt)
				if out.Kind == system.Moved {
					buf = own.Encode(buf)
					visit(buf)
				}
				own.Rewind(mark)
				if alt, more = out.Next, out.Next != 0; more && ended(c.watch.Context()) {
					return nil
				}
			}
		}
	}
	return open
}

func ended(ctx context.Context) bool { return ctx.Err() != nil }

// holds evaluates a part in the live state. A part that cannot be evaluated counts as changing.
func (c *checker) holds(labels system.Temporal, f ltl.Formula) bool {
	values := map[string]bool{}
	for _, name := range f.Atoms() {
		i, known := c.number[name]
		if !known {
			return false
		}
		v, fault := labels.Eval(i)
		if fault != nil {
			return false
		}
		values[name] = v
	}
	return satisfies(f, func(name string) bool { return values[name] })
}
