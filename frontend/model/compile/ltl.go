package compile

import (
	"fmt"
	"math"
	"slices"

	"cpor/frontend/model/resolve"
	"cpor/frontend/model/syntax"
	"cpor/frontend/source"
	"cpor/ltl"
)

// LTL is a property of the executions. The atoms of the formula are the names
// of propositions.
type LTL struct {
	Name    string
	Pos     source.Pos
	Text    string // of the formula, as it appears in the file
	Formula ltl.Formula
	// Modality says what the formula has to do with the executions.
	Modality ltl.Modality
	// Predicates are the state predicates of the formula that may fail to be
	// evaluated.
	Predicates []Predicate
}

// Predicate is a state predicate of a formula: a part without temporal operators
// that is not inside of a larger one. Its value is computed as an invariant's is, with
// the short circuits of && and || (and ->, which is an || of the negation).
type Predicate struct {
	Pos     source.Pos
	Prop    string   // the proposition that is the whole predicate
	Atoms   []string // the propositions of the formula that it is made of
	Initial bool     // it is under no temporal operator: only initial states matter
}

// Prop is an atomic proposition of the properties: an expression of type bool
// over a state. Its code ends in OpBound if it holds and in OpBlock if not, and
// has no points.
type Prop struct {
	Name   string // the expression, with the values of quantifiers' variables
	Pos    source.Pos
	Entry  int
	Thread *ThreadType // has the variables of functions that stay in a slot
	Bits   int         // of that slot
	Linear *Linear     // nil if it is not a comparison of linear terms
}

// Linear is a comparison: the sum of the terms with their coefficients, plus
// K, compared with 0.
type Linear struct {
	Terms []LinearTerm
	K     int64
	Op    syntax.Op // Eq, Ne, Gt or Ge
}

// LinearTerm is an index into Program.Terms with its coefficient.
type LinearTerm struct {
	Term int
	Coef int64
}

// TermKind says what the value of a Term is.
type TermKind uint8

// The kinds of terms.
const (
	TermLoc  TermKind = iota // the value of the location Index
	TermPeek                 // what Peeks[Index] names
	TermLen                  // the number of values in channel Index
)

// Term is a number in comparisons of propositions.
type Term struct {
	Kind     TermKind
	Index    int
	Min, Max int64 // its smallest and largest value
}

// props compiles the properties of the executions: each distinct proposition
// becomes a piece of code of its own.
func (g *gen) props() {
	g.propAt = map[string]int{}
	for _, p := range g.r.LTL {
		in := &formulaPart{under: -1}
		x, modality := p.Formula, ltl.Linear
		if t, ok := x.(*syntax.TemporalExpr); ok {
			switch t.Op {
			case syntax.Possible:
				x, modality = t.X, ltl.Possible
			case syntax.AlwaysPossible:
				x, modality = t.X, ltl.AlwaysPossible
			}
		}
		if modality != ltl.Linear {
			in.under++ // every state matters
		}
		f := g.formula(x, in)
		text := g.p.Source.Text[p.Formula.Pos():p.Formula.End()]
		g.p.LTL = append(g.p.LTL, LTL{Name: p.Name, Pos: p.Pos, Text: oneLine(text), Formula: f,
			Modality: modality, Predicates: in.predicates})
	}
}

// formulaPart is the translation's position in a formula.
type formulaPart struct {
	under      int // the number of temporal operators around, less 1
	inside     bool
	atoms      []string // of the predicate at hand
	predicates []Predicate
}

// formula translates a formula; quantifiers are unrolled.
func (g *gen) formula(e syntax.Expr, in *formulaPart) ltl.Formula {
	if c, ok := g.constant(e); ok {
		if c != 0 {
			return ltl.True()
		}
		return ltl.False()
	}
	if !in.inside && !temporal(e) {
		in.inside, in.atoms = true, nil
		f := g.formula(e, in)
		in.inside = false
		g.predicate(e, in)
		return f
	}
	switch x := e.(type) {
	case *syntax.ParenExpr:
		return g.formula(x.X, in)
	case *syntax.UnaryExpr:
		if x.Op == syntax.Not {
			return ltl.Not(g.formula(x.X, in))
		}
	case *syntax.BinaryExpr:
		switch x.Op {
		case syntax.LAnd:
			return ltl.And(g.formula(x.X, in), g.formula(x.Y, in))
		case syntax.LOr:
			return ltl.Or(g.formula(x.X, in), g.formula(x.Y, in))
		}
	case *syntax.TemporalExpr:
		if x.Op != syntax.Implies && x.Op != syntax.Iff {
			in.under++
			defer func() { in.under-- }()
		}
		a := g.formula(x.X, in)
		switch x.Op {
		case syntax.Always:
			return ltl.Always(a)
		case syntax.Eventually:
			return ltl.Eventually(a)
		}
		b := g.formula(x.Y, in)
		switch x.Op {
		case syntax.Until:
			return ltl.Until(a, b)
		case syntax.WeakUntil:
			return ltl.WeakUntil(a, b)
		case syntax.Release:
			return ltl.Release(a, b)
		case syntax.Implies:
			return ltl.Implies(a, b)
		case syntax.Iff:
			return ltl.Iff(a, b)
		}
	case *syntax.QuantExpr:
		var fs []ltl.Formula
		g.instances(x, x.Var, func(int) { fs = append(fs, g.formula(x.Cond, in)) })
		if x.Exists {
			return ltl.Or(fs...)
		}
		return ltl.And(fs...)
	}
	name := oneLine(syntax.String(g.instance(e)))
	in.atoms = append(in.atoms, name)
	if g.prop(name) < 0 {
		g.newProp(name, e, func(to int32) { g.condJump(e, to, true) })
		g.p.Props[len(g.p.Props)-1].Linear = g.comparison(e)
	}
	return ltl.Atom(name)
}

// temporal reports whether there is a temporal operator in a formula.
func temporal(e syntax.Expr) bool {
	_, ok := syntax.Find(e, func(x *syntax.TemporalExpr) bool {
		return x.Op != syntax.Implies && x.Op != syntax.Iff
	})
	return ok
}

// predicate records a state predicate, whose propositions are in in.atoms, if one of them may
// fail: sums of numbers cannot.
func (g *gen) predicate(e syntax.Expr, in *formulaPart) {
	if !slices.ContainsFunc(in.atoms, func(name string) bool {
		return g.p.Props[g.prop(name)].Linear == nil
	}) {
		return
	}
	for {
		if x, ok := e.(*syntax.ParenExpr); ok {
			e = x.X
		} else if x, ok := e.(*syntax.UnaryExpr); ok && x.Op == syntax.Not {
			e = x.X
		} else {
			break
		}
	}
	name := oneLine(syntax.String(g.plain(e)))
	if g.prop(name) < 0 {
		g.newProp(name, e, func(to int32) { g.stateJump(e, to, true) })
	}
	slices.Sort(in.atoms)
	p := Predicate{e.Pos(), name, slices.Compact(in.atoms), in.under < 0}
	if !slices.ContainsFunc(in.predicates, func(q Predicate) bool {
		return q.Prop == p.Prop && q.Initial == p.Initial
	}) {
		in.predicates = append(in.predicates, p)
	}
}

// prop returns the number of the proposition with a name, -1 if there is none.
func (g *gen) prop(name string) int {
	if i, ok := g.propAt[name]; ok {
		return i
	}
	return -1
}

// newProp compiles a proposition; jump compiles the jump that is taken if it holds.
func (g *gen) newProp(name string, e syntax.Expr, jump func(to int32)) {
	tt := &ThreadType{Name: "ltl"}
	g.begin(tt)
	g.quiet, g.uncounted = 1, 1
	g.at(e, e.Pos(), e.End())
	yes := g.label()
	jump(yes)
	g.op(OpBlock, 0, 0, 0)
	g.here(yes)
	g.op(OpBound, -1, 0, 0)
	g.uncounted = 0
	g.end(tt)
	g.propAt[name] = len(g.p.Props)
	g.p.Props = append(g.p.Props, Prop{Name: name, Pos: e.Pos(), Entry: tt.Entry, Thread: tt})
}

// stateJump is condJump for state predicates, which may contain -> and <->.
func (g *gen) stateJump(e syntax.Expr, to int32, when bool) {
	either := func(x, y func(to int32, when bool), or bool) {
		if or == when {
			x(to, when)
			y(to, when)
			return
		}
		skip := g.label()
		x(skip, !when)
		y(to, when)
		g.here(skip)
	}
	operand := func(e syntax.Expr, negated bool) func(to int32, when bool) {
		return func(to int32, when bool) { g.stateJump(e, to, when != negated) }
	}
	if _, ok := g.constant(e); !ok {
		switch x := e.(type) {
		case *syntax.ParenExpr:
			g.stateJump(x.X, to, when)
			return
		case *syntax.UnaryExpr:
			if x.Op == syntax.Not {
				g.stateJump(x.X, to, !when)
				return
			}
		case *syntax.BinaryExpr:
			if x.Op == syntax.LAnd || x.Op == syntax.LOr {
				either(operand(x.X, false), operand(x.Y, false), x.Op == syntax.LOr)
				return
			}
		case *syntax.QuantExpr:
			skip := g.label()
			g.instances(x, x.Var, func(int) {
				if x.Exists == when {
					g.stateJump(x.Cond, to, when)
				} else {
					g.stateJump(x.Cond, skip, !when)
				}
			})
			if x.Exists != when {
				g.jump(to)
			}
			g.here(skip)
			return
		case *syntax.TemporalExpr:
			if x.Op == syntax.Implies {
				either(operand(x.X, true), operand(x.Y, false), true)
				return
			}
			holds, skip := g.label(), g.label()
			g.stateJump(x.X, holds, true)
			g.stateJump(x.Y, to, !when)
			g.jump(skip)
			g.here(holds)
			g.stateJump(x.Y, to, when)
			g.here(skip)
			return
		}
	}
	g.condJump(e, to, when)
}

// plain returns a state predicate without quantifiers, -> and <->, with values in place of the
// variables of quantifiers: a condition as in invariants.
func (g *gen) plain(e syntax.Expr) syntax.Expr {
	truth := func(v bool) syntax.Expr { return &syntax.Ident{Name: fmt.Sprint(v)} }
	not := func(e syntax.Expr) syntax.Expr { return &syntax.UnaryExpr{Op: syntax.Not, X: e} }
	join := func(op syntax.Op, x, y syntax.Expr) syntax.Expr {
		return &syntax.BinaryExpr{Op: op, X: x, Y: y}
	}
	if v, ok := g.constant(e); ok {
		return truth(v != 0)
	}
	switch x := e.(type) {
	case *syntax.ParenExpr:
		return g.plain(x.X)
	case *syntax.UnaryExpr:
		if x.Op == syntax.Not {
			return not(g.plain(x.X))
		}
	case *syntax.BinaryExpr:
		if x.Op == syntax.LAnd || x.Op == syntax.LOr {
			return join(x.Op, g.plain(x.X), g.plain(x.Y))
		}
	case *syntax.QuantExpr:
		op := syntax.LAnd
		if x.Exists {
			op = syntax.LOr
		}
		var all syntax.Expr
		g.instances(x, x.Var, func(int) {
			if p := g.plain(x.Cond); all == nil {
				all = p
			} else {
				all = join(op, all, p)
			}
		})
		if all == nil {
			return truth(!x.Exists)
		}
		return all
	case *syntax.TemporalExpr:
		a, b := g.plain(x.X), g.plain(x.Y)
		if x.Op == syntax.Implies {
			return join(syntax.LOr, not(a), b)
		}
		return join(syntax.LOr, join(syntax.LAnd, a, b), join(syntax.LAnd, not(a), not(b)))
	}
	return g.instance(e)
}

// instance returns an expression with values in place of the variables of quantifiers.
func (g *gen) instance(e syntax.Expr) syntax.Expr {
	switch x := e.(type) {
	case *syntax.ParenExpr:
		return g.instance(x.X)
	case *syntax.Ident:
		if obj := g.r.Uses[x]; obj == nil || obj.Kind != resolve.QuantObj {
			return x
		}
	case *syntax.IntLit:
		return x
	}
	if v, ok := g.constant(e); ok {
		if _, always := g.r.Const[e]; !always {
			return &syntax.IntLit{Text: fmt.Sprint(v)}
		}
	}
	switch x := e.(type) {
	case *syntax.UnaryExpr:
		return &syntax.UnaryExpr{Op: x.Op, X: g.instance(x.X)}
	case *syntax.BinaryExpr:
		return &syntax.BinaryExpr{Op: x.Op, X: g.instance(x.X), Y: g.instance(x.Y)}
	case *syntax.IndexExpr:
		return &syntax.IndexExpr{X: g.instance(x.X), Index: g.instance(x.Index)}
	case *syntax.SelectorExpr:
		return &syntax.SelectorExpr{X: g.instance(x.X), Sel: x.Sel}
	case *syntax.AtExpr:
		return &syntax.AtExpr{X: g.instance(x.X), Label: x.Label}
	case *syntax.QuantExpr:
		return &syntax.QuantExpr{Exists: x.Exists, Var: x.Var, Domain: x.Domain,
			Cond: g.instance(x.Cond)}
	case *syntax.FoldExpr:
		return &syntax.FoldExpr{Op: x.Op, Var: x.Var, Domain: x.Domain, X: g.instance(x.X)}
	case *syntax.CallExpr:
		c := &syntax.CallExpr{Fun: x.Fun}
		for _, a := range x.Args {
			c.Args = append(c.Args, g.instance(a))
		}
		return c
	}
	return e
}

// sum is a linear expression under construction.
type sum struct {
	coef map[int]int64 // by term
	k    int64
}

func (s *sum) add(o *sum, by int64) {
	for t, c := range o.coef {
		s.coef[t] += c * by
	}
	s.k += o.k * by
}

// fits reports whether every value of a sum is one of its expression's type, so that the
// expression always has a value.
func (g *gen) fits(s *sum, e syntax.Expr) bool {
	lo, hi := s.k, s.k
	for t, c := range s.coef {
		a, b := c*g.p.Terms[t].Min, c*g.p.Terms[t].Max
		lo, hi = lo+min(a, b), hi+max(a, b)
	}
	least, most := bounds(g.typeOf(e))
	return least <= lo && hi <= most
}

// bounds returns the smallest and the largest value of a bool or an integer type.
func bounds(t *resolve.Type) (least, most int64) {
	switch {
	case t.Kind == resolve.Bool:
		return 0, 1
	case t.Signed:
		return -1 << (t.Bits - 1), 1<<(t.Bits-1) - 1
	case t.Bits >= 63:
		return 0, math.MaxInt64
	}
	return 0, 1<<t.Bits - 1
}

// comparison finds the linear form of a proposition, nil if it has none or if it
// may have no value because a number is out of range.
func (g *gen) comparison(e syntax.Expr) *Linear {
	s := &sum{coef: map[int]int64{}}
	op := syntax.Ge
	switch x := e.(type) {
	case *syntax.ParenExpr:
		return g.comparison(x.X)
	case *syntax.BinaryExpr:
		a, b := g.linear(x.X), g.linear(x.Y)
		if a == nil || b == nil {
			return nil
		}
		by := int64(1) // x - y op 0
		op = x.Op
		switch x.Op {
		case syntax.Eq, syntax.Ne, syntax.Gt, syntax.Ge:
		case syntax.Lt:
			op, by = syntax.Gt, -1
		case syntax.Le:
			op, by = syntax.Ge, -1
		default:
			return nil
		}
		s.add(a, by)
		s.add(b, -by)
	default:
		a := g.linear(e)
		if a == nil {
			return nil
		}
		s.add(a, 1)
		s.k--
	}
	l := &Linear{K: s.k, Op: op}
	for t, c := range s.coef {
		if c != 0 {
			l.Terms = append(l.Terms, LinearTerm{t, c})
		}
	}
	slices.SortFunc(l.Terms, func(a, b LinearTerm) int { return a.Term - b.Term })
	return l
}

// maxCoef bounds constants and coefficients, and maxTermBits the terms, so that
// sums of terms cannot leave 64 bits.
const (
	maxCoef     = 1 << 24
	maxTermBits = 32
)

// linear finds the linear form of an expression, nil if it has none or may have no
// value. A bool is 0 or 1.
func (g *gen) linear(e syntax.Expr) *sum {
	s := g.linearParts(e)
	switch x := e.(type) {
	case *syntax.UnaryExpr, *syntax.BinaryExpr:
		if _, constant := g.constant(e); s != nil && !constant && !g.fits(s, x) {
			return nil
		}
	}
	return s
}

// linearParts is linear without checking the range of the whole.
func (g *gen) linearParts(e syntax.Expr) *sum {
	s := &sum{coef: map[int]int64{}}
	if v, ok := g.constant(e); ok {
		if v < -maxCoef || v > maxCoef {
			return nil
		}
		s.k = v
		return s
	}
	switch x := e.(type) {
	case *syntax.ParenExpr:
		return g.linear(x.X)
	case *syntax.UnaryExpr:
		if x.Op == syntax.Sub || x.Op == syntax.Add {
			if a := g.linear(x.X); a != nil {
				s.add(a, map[syntax.Op]int64{syntax.Sub: -1, syntax.Add: 1}[x.Op])
				return s
			}
		}
		return nil
	case *syntax.BinaryExpr:
		switch x.Op {
		case syntax.Add, syntax.Sub:
			a, b := g.linear(x.X), g.linear(x.Y)
			if a == nil || b == nil {
				return nil
			}
			s.add(a, 1)
			s.add(b, map[syntax.Op]int64{syntax.Sub: -1, syntax.Add: 1}[x.Op])
			return s
		case syntax.Mul:
			a, b := g.linear(x.X), g.linear(x.Y)
			if a == nil || b == nil {
				return nil
			}
			if len(a.coef) > 0 {
				a, b = b, a
			}
			if len(a.coef) > 0 {
				return nil
			}
			s.add(b, a.k)
			for _, c := range s.coef {
				if c < -maxCoef || c > maxCoef {
					return nil
				}
			}
			if s.k < -maxCoef || s.k > maxCoef {
				return nil
			}
			return s
		}
		return nil
	case *syntax.CallExpr:
		if g.r.Calls[x] != resolve.CallBuiltin {
			return nil
		}
		name := g.builtin(x)
		if name != "len" && name != "empty" && name != "full" {
			return nil
		}
		l, ok := g.knownLoc(x.Args[0])
		if !ok {
			return nil
		}
		c, ok := g.p.ChanAt[l]
		if !ok {
			return nil
		}
		t := g.term(Term{TermLen, c, 0, int64(g.p.Chans[c].Cap)})
		switch name {
		case "len":
			s.coef[t] = 1
		case "empty": // 1 - len > 0 as a bool, with the comparison >= 1
			s.coef[t], s.k = -1, 1
		case "full":
			s.coef[t], s.k = 1, 1-int64(g.p.Chans[c].Cap)
		}
		if name != "len" && !g.wholeAtom(x) {
			return nil
		}
		return s
	}
	if ref := g.ref(e); ref != nil && g.small(e) {
		if _, ok := g.constant(ref.Index); ok {
			least, most := bounds(g.typeOf(e))
			s.coef[g.term(Term{TermPeek, g.newPeek(e, ref), least, most})] = 1
			return s
		}
		return nil
	}
	if at, ok := e.(*syntax.AtExpr); ok {
		ref := g.r.Refs[at]
		if _, ok := g.constant(ref.Index); ok {
			s.coef[g.term(Term{TermPeek, g.newPeek(e, ref), 0, 1})] = 1
			return s
		}
		return nil
	}
	if l, ok := g.knownLoc(e); ok && g.small(e) {
		least, most := bounds(g.typeOf(e))
		s.coef[g.term(Term{TermLoc, l, least, most})] = 1
		return s
	}
	return nil
}

// wholeAtom reports whether empty or full stand alone, so that the bound of its value to 0 and 1
// does not matter.
func (g *gen) wholeAtom(x *syntax.CallExpr) bool {
	e, ok := g.stmt.(syntax.Expr)
	return ok && unparen(e) == syntax.Expr(x)
}

// small reports whether an expression is a bool or an integer that a sum may contain.
func (g *gen) small(e syntax.Expr) bool {
	t := g.typeOf(e)
	return t.Kind == resolve.Bool || t.Kind == resolve.Int && t.Bits <= maxTermBits
}

// term returns the number of a term.
func (g *gen) term(t Term) int {
	if i := slices.Index(g.p.Terms, t); i >= 0 {
		return i
	}
	g.p.Terms = append(g.p.Terms, t)
	return len(g.p.Terms) - 1
}

// newPeek returns the number of the Peek for what a property names of a thread.
func (g *gen) newPeek(e syntax.Expr, ref *resolve.ThreadRef) int {
	i, _ := g.constant(ref.Index)
	name := ""
	if ref.Label != nil {
		name = "@" + ref.Label.Name
	} else {
		name = g.refPath(e)
	}
	for k := range g.peeks {
		if g.peeks[k].name == name && g.p.Peeks[k].Thread == g.ttypes[ref.Thread] &&
			g.p.Peeks[k].Index == int(i) {
			return k
		}
	}
	g.peeks = append(g.peeks, pendingPeek{name, e})
	g.p.Peeks = append(g.p.Peeks, Peek{Thread: g.ttypes[ref.Thread], Index: int(i), Pos: e.Pos()})
	return len(g.p.Peeks) - 1
}

// knownLoc returns the location of a shared variable, field or element that is
// named with constant indices.
func (g *gen) knownLoc(e syntax.Expr) (int, bool) {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return g.knownLoc(e.X)
	case *syntax.Ident:
		if obj := g.r.Uses[e]; obj != nil && obj.Kind == resolve.SharedObj {
			l, ok := g.shared[obj]
			return l, ok
		}
	case *syntax.SelectorExpr:
		if t := g.typeOf(e.X); g.r.Refs[e] == nil && t.Kind == resolve.Struct {
			l, ok := g.knownLoc(e.X)
			return l + g.fieldOff(e, g.sharedSize), ok
		}
	case *syntax.IndexExpr:
		t := g.typeOf(e.X)
		i, ok := g.constant(e.Index)
		if !ok || t.Kind != resolve.Array || i < 0 || i >= int64(t.Len) {
			return 0, false
		}
		l, ok := g.knownLoc(e.X)
		return l + int(i)*g.sharedSize(t.Elem), ok
	}
	return 0, false
}

// oneLine makes a piece of source one line.
func oneLine(s string) string {
	out := make([]rune, 0, len(s))
	blank := false
	for _, r := range s {
		if r == ' ' || r == '\t' || r == '\n' || r == '\r' {
			blank = len(out) > 0
			continue
		}
		if blank {
			out, blank = append(out, ' '), false
		}
		out = append(out, r)
	}
	return string(out)
}

// eachCase is a case of a select with the value of its variable, if it has one.
type eachCase struct {
	*syntax.SelectCase
	value int64
}

// eachCases unrolls the cases of a select that represent several.
func (g *gen) eachCases(s *syntax.SelectStmt) []eachCase {
	var list []eachCase
	for _, c := range s.Cases {
		if c.Each == nil {
			list = append(list, eachCase{c, 0})
			continue
		}
		lo, ok1 := g.constant(c.Each.Lo)
		hi, ok2 := g.constant(c.Each.Hi)
		if !ok1 || !ok2 {
			g.errorf(c, "the bounds of a case must be constant")
			continue
		}
		for v := lo; v <= hi; v++ {
			list = append(list, eachCase{c, v})
		}
	}
	return list
}

// enterCase gives the case's variable its value.
func (g *gen) enterCase(c eachCase) {
	if c.Each != nil {
		g.quant[g.r.Uses[c.Each.Var]] = c.value
		clear(g.pure)
	}
}

// leaveCases removes the variables.
func (g *gen) leaveCases(list []eachCase) {
	for _, c := range list {
		if c.Each != nil {
			delete(g.quant, g.r.Uses[c.Each.Var])
			clear(g.pure)
		}
	}
}
