package detect

import (
	"fmt"
	"slices"

	"cpor/detect/computation"
	"cpor/detect/predicate"
)

// Run is an order of events, and what holds along it: the evidence for a pattern.
type Run struct {
	Order []computation.Event // an initial part of a linearization, or a whole one
	Marks []Mark              // by ascending After
}

// Mark is something that holds at a point of a Run, or from there on.
type Mark struct {
	After int // events of the order before it
	Text  string

	node  *predicate.Node // without temporal operators: what holds; nil if nothing to replay
	neg   bool            // it does not hold
	until int64           // how many events longer it holds: 0 at this point only, -1 to the end
}

// formula is a part of a pattern with negations pushed down to its literals. The same part is
// one formula, however often it occurs.
//
// AF f and AG f are evaluated as the negation of their duals, EG !f and EF !f.
type formula struct {
	op    formulaOp
	kids  []*formula
	dual  *formula
	bound int64 // EF, EG: within so many events; -1: without a bound

	clause int  // literal: a clause of the problem with this literal only
	neg    bool // literal
	bounds []int64

	node    *predicate.Node // of the pattern; nil for what lies between
	nodeNeg bool            // the formula is the negation of node
	shown   *predicate.Node // instead of node, for people
	pure    bool            // without temporal operators

	boxes []box // the cuts that satisfy it, if boxed
	boxed bool

	no, yes *keySet // of EF, EG, avoid: states that were decided
}

type formulaOp uint8

const (
	literal formulaOp = iota
	and
	or
	existsFinally  // EF
	existsGlobally // EG
	allFinally     // AF
	allGlobally    // AG
	avoid          // on some path, the sequence of the kids never completes
)

// pattern is a pattern together with the problem that it is evaluated on.
//
// # The restriction to relevant events
//
// Without bounds, the problem has only the events that change a literal (see problem). A cut
// and its restriction satisfy the same formulas: they satisfy the same literals, each path from
// the cut restricts to one from its restriction that stutters, paths are finite, and a path of
// restrictions is lifted by executing, before each relevant event, what it depends on. The
// operators cannot count steps, so they do not distinguish these. `within` does, and so a
// pattern with bounds is evaluated on all events.
type pattern struct {
	r       *run
	d       *psposs // the current state, what is enabled, and the truth of the clauses
	p       *problem
	conj    predicate.Conjunction
	clauses map[string]int
	made    map[madeKey]*formula
	bounded bool
	pack    *packer
	key     []uint64
	final   []int32
	tally
}

type madeKey struct {
	node *predicate.Node
	neg  bool
}

// pattern answers a pattern in the initial state.
func (r *run) pattern(c *computation.Computation, n *predicate.Node) {
	holds, evidence := r.decide(c, n)
	if r.stopped.Load() {
		return
	}
	r.res.Holds, r.res.Run = holds, evidence
}

// decide evaluates a Boolean combination of patterns, each on a problem of its own, with the
// evidence for the last one that mattered.
func (r *run) decide(c *computation.Computation, n *predicate.Node) (bool, *Run) {
	switch {
	case r.stopped.Load():
		return false, nil
	case !n.Temporal():
		holds := Holds(c, n, c.Initial())
		return holds, &Run{Marks: []Mark{{Text: reason(c, n, c.Initial()) +
			" in the initial state", node: n, neg: !holds}}}
	case n.Op == predicate.Not:
		holds, evidence := r.decide(c, n.Kids[0])
		return !holds, evidence
	case n.Op == predicate.And || n.Op == predicate.Or:
		decides := n.Op == predicate.Or
		var evidence *Run
		for _, k := range n.Kids {
			var holds bool
			if holds, evidence = r.decide(c, k); holds == decides || r.stopped.Load() {
				return holds, evidence
			}
		}
		if len(n.Kids) != 1 {
			evidence = nil // it would be about the last one only
		}
		return !decides, evidence
	}
	return r.decideOne(c, n)
}

func (r *run) decideOne(c *computation.Computation, n *predicate.Node) (bool, *Run) {
	t := &pattern{r: r, clauses: map[string]int{}, made: map[madeKey]*formula{}}
	root := t.make(n, false)
	t.p = compile(c, &t.conj, !r.opt.Full && !t.bounded, r.stopped.Load)
	if t.p == nil {
		return false, nil
	}
	r.res.SearchedBound += t.p.size()
	t.d = newPSPoss(r, t.p)
	t.pack = newPacker(t.p)
	t.key = make([]uint64, t.pack.words+maxStages+1)
	t.final = t.p.lastState()
	defer func() { r.add(&t.tally) }()
	if r.opt.Algorithm != Search {
		t.box(root)
		decided := root.boxed || root.dual != nil && root.dual.boxed
		switch {
		case decided:
		case r.opt.Algorithm == Slice:
			r.bug = fmt.Errorf("%w: %s", ErrNotSliceable, n)
			r.halt("")
			return false, nil
		case isModality(n):
			return r.delegate(c, n)
		default:
			r.res.Algorithm = Search
		}
	}
	holds := t.sat(root)
	if r.stopped.Load() {
		return false, nil
	}
	if root.op >= existsFinally && (root.dual != nil) == holds {
		return holds, nil // it is about every path
	}
	w := &writer{t: t}
	w.explain(root, holds)
	if r.stopped.Load() {
		return false, nil
	}
	return holds, w.run()
}

// isModality reports whether a pattern is EF p, AF p, EG p or AG p of a predicate p.
func isModality(n *predicate.Node) bool {
	return n.Op >= predicate.EF && n.Op < predicate.LeadsTo && !n.Kids[0].Temporal() &&
		n.Bounds[0] < 0
}

// delegate answers EF p, AG p, AF p and EG p of a predicate p by Poss and Def: EF p is Poss p,
// AF p is Def p, and the other two are their duals.
func (r *run) delegate(c *computation.Computation, n *predicate.Node) (bool, *Run) {
	p, m, negated := n.Kids[0], Poss, false
	if n.Op == predicate.AF || n.Op == predicate.EG {
		m = Def
	}
	if n.Op == predicate.AG || n.Op == predicate.EG {
		p, negated = predicate.Negation(p), true
	}
	opt := *r.opt
	opt.Algorithm, opt.Progress = Auto, nil
	res, err := Detect(r.ctx, c, p, m, opt)
	if err != nil {
		r.bug = err
		r.halt("")
		return false, nil
	}
	r.add(&tally{states: res.Stats.States, transitions: res.Stats.Transitions,
		events: res.Stats.Events})
	r.bytes.Store(max(r.bytes.Load(), res.Stats.StoreBytes))
	r.res.Algorithm = res.Algorithm
	if !res.Exhaustive {
		r.halt(res.Reason)
		return false, nil
	}
	var evidence *Run
	switch {
	case res.Witness != nil:
		order := c.Linearise(c.Initial(), res.Witness)
		evidence = &Run{order, []Mark{{After: len(order), Text: reason(c, n.Kids[0], res.Witness),
			node: p}}}
	case res.Observation != nil:
		evidence = &Run{res.Observation, []Mark{{Text: always(n.Kids[0], !negated, -1),
			node: p, neg: true, until: -1}}}
	}
	return res.Holds != negated, evidence
}

// make returns the formula of a node, or of its negation.
func (t *pattern) make(n *predicate.Node, neg bool) *formula {
	if f := t.made[madeKey{n, neg}]; f != nil {
		return f
	}
	var f *formula
	if n.Temporal() {
		f = t.makeTemporal(n, neg)
	} else {
		f = t.makePure(n, neg)
		f.pure = true
	}
	f.node, f.shown, f.nodeNeg = n, n, neg
	t.made[madeKey{n, neg}] = f
	return f
}

func (t *pattern) makeTemporal(n *predicate.Node, neg bool) *formula {
	kid := func(i int, neg bool) *formula { return t.make(n.Kids[i], neg) }
	bound := int64(-1)
	if len(n.Bounds) > 0 {
		bound = n.Bounds[0]
	}
	t.bounded = t.bounded || slices.ContainsFunc(n.Bounds, func(b int64) bool { return b >= 0 })
	switch n.Op {
	case predicate.Not:
		f := *kid(0, !neg)
		return &f
	case predicate.And, predicate.Or:
		f := &formula{op: and}
		if (n.Op == predicate.Or) != neg {
			f.op = or
		}
		for i := range n.Kids {
			f.kids = append(f.kids, kid(i, neg))
		}
		return f
	case predicate.Iff: // a && b || !a && !b; its negation is a && !b || !a && b
		same := &formula{op: and, kids: []*formula{kid(0, false), kid(1, neg)}}
		other := &formula{op: and, kids: []*formula{kid(0, true), kid(1, !neg)}}
		return &formula{op: or, kids: []*formula{same, other}}
	case predicate.LeadsTo: // AG (p => AF q)
		late := t.finally(kid(1, false), kid(1, true), bound, false)
		late.node, late.shown = n.Kids[1], n.Kids[1]
		met := &formula{op: or, kids: []*formula{kid(0, true), late}}
		unmet := &formula{op: and, kids: []*formula{kid(0, false), late.dual}}
		return t.globally(met, unmet, neg)
	}
	if n.Kids[0].Op == predicate.Sequence {
		return t.sequence(n, neg)
	}
	operand := n.Kids[0]
	if (n.Op == predicate.AG || n.Op == predicate.EG) && !operand.Temporal() {
		operand = predicate.NotFalse(operand)
	}
	f, not := t.make(operand, false), t.make(operand, true)
	f.shown, not.shown = n.Kids[0], n.Kids[0]
	switch n.Op {
	case predicate.EF: // its negation is AG !f
		f, not = not, f
		if bound >= 0 {
			return t.negated(&formula{op: existsFinally, kids: []*formula{not}, bound: bound}, neg)
		}
		return t.globally(f, not, !neg)
	case predicate.AG:
		return t.globally(f, not, neg)
	case predicate.AF:
		return t.finally(f, not, bound, neg)
	}
	return t.finally(not, f, -1, !neg) // EG
}

// negated returns the existential formula, or its negation, which has it as its dual.
func (t *pattern) negated(f *formula, neg bool) *formula {
	if !neg {
		return f
	}
	not := &formula{op: allGlobally, dual: f, bound: -1}
	if f.op == existsGlobally || f.op == avoid {
		not.op = allFinally
	}
	return not
}

// globally returns AG f, or its negation EF not.
func (t *pattern) globally(f, not *formula, neg bool) *formula {
	dual := &formula{op: existsFinally, kids: []*formula{not}, bound: -1}
	if neg {
		return dual
	}
	return &formula{op: allGlobally, kids: []*formula{f}, dual: dual, bound: -1}
}

// finally returns AF f, or its negation EG not.
func (t *pattern) finally(f, not *formula, bound int64, neg bool) *formula {
	dual := &formula{op: existsGlobally, kids: []*formula{not}, bound: bound}
	if neg {
		return dual
	}
	return &formula{op: allFinally, kids: []*formula{f}, dual: dual, bound: bound}
}

// maxStages bounds the length of a sequence under AF.
const maxStages = 16

// sequence returns EF (p; q; ...), which is EF (p && EF (q && ...)), or AF of it.
func (t *pattern) sequence(n *predicate.Node, neg bool) *formula {
	seq := n.Kids[0]
	t.bounded = t.bounded || slices.ContainsFunc(seq.Bounds, func(b int64) bool { return b >= 0 })
	if n.Op == predicate.EF {
		var f *formula
		for i := len(seq.Kids) - 1; i >= 0; i-- {
			here := t.make(seq.Kids[i], false)
			if f != nil {
				here = &formula{op: and, kids: []*formula{here, f}}
			}
			f = &formula{op: existsFinally, kids: []*formula{here}, bound: seq.Bounds[i]}
		}
		return t.negated(f, neg)
	}
	if len(seq.Kids) > maxStages {
		t.r.bug = fmt.Errorf("a sequence under AF has at most %d parts: %s", maxStages, seq)
		t.r.halt("")
	}
	f := &formula{op: avoid, bounds: seq.Bounds, bound: -1, node: n, shown: n, nodeNeg: true}
	for _, k := range seq.Kids {
		f.kids = append(f.kids, t.make(k, false))
	}
	return t.negated(f, !neg)
}

// makePure takes a predicate apart into literals: the disjunction of conjunctions of clauses
// that the searches for Poss use.
func (t *pattern) makePure(n *predicate.Node, neg bool) *formula {
	outer, inner := or, and
	if neg {
		outer, inner = and, or
	}
	f := &formula{op: outer}
	for _, conj := range predicate.Disjuncts(n) {
		part := &formula{op: inner}
		for _, cl := range conj.Clauses {
			clause := &formula{op: outer}
			for _, i := range cl.Support {
				if l := cl.Local[i]; l != nil {
					clause.kids = append(clause.kids, t.literal(l, neg))
				}
			}
			for _, l := range cl.Joint {
				clause.kids = append(clause.kids, t.literal(l, neg))
			}
			part.kids = append(part.kids, clause.simple())
		}
		f.kids = append(f.kids, part.simple())
	}
	return f.simple()
}

// simple returns a copy of the only operand, if there is only one.
func (f *formula) simple() *formula {
	if len(f.kids) == 1 {
		only := *f.kids[0]
		return &only
	}
	return f
}

func (t *pattern) literal(n *predicate.Node, neg bool) *formula {
	x, ok := t.clauses[n.String()]
	if !ok {
		x = len(t.conj.Clauses)
		t.clauses[n.String()] = x
		cl := &predicate.Clause{Support: n.Support()}
		if len(cl.Support) == 1 {
			cl.Local = map[int]*predicate.Node{cl.Support[0]: n}
		} else {
			cl.Joint = []*predicate.Node{n}
		}
		t.conj.Clauses = append(t.conj.Clauses, cl)
	}
	return &formula{op: literal, clause: x, neg: neg, pure: true}
}

// signed prints a predicate that holds, or does not.
func signed(n *predicate.Node, neg bool) string {
	if neg {
		return "not true: " + n.String()
	}
	return n.String()
}

// reason says whether the predicate is true in the cut, by the part of it that decides.
func reason(c *computation.Computation, n *predicate.Node, cut computation.Cut) string {
	for {
		holds := Holds(c, n, cut)
		part := n
		switch {
		case n.Op == predicate.Not && Holds(c, n.Kids[0], cut):
			part = n.Kids[0]
		case n.Op == predicate.And && !holds || n.Op == predicate.Or && holds:
			for _, k := range n.Kids {
				if Holds(c, k, cut) == holds {
					part = k
					break
				}
			}
		}
		if part == n {
			return signed(n, !holds)
		}
		n = part
	}
}

// always says that a predicate holds from a point on, or never does.
func always(n *predicate.Node, neg bool, bound int64) string {
	text := "from here on always: "
	if neg {
		text = "from here on never: "
	}
	text += n.String()
	if bound >= 0 {
		text += fmt.Sprintf(" (for %d events)", bound)
	}
	return text
}

// verifyRun replays the evidence: the order is one of the computation, and the predicates of
// the marks are as the marks say.
func verifyRun(c *computation.Computation, res *Result) error {
	if res.Run == nil {
		return nil
	}
	cut := c.Initial()
	for at := 0; ; at++ {
		for _, m := range res.Run.Marks {
			if m.node == nil || m.After > at || m.until >= 0 && int64(at-m.After) > m.until {
				continue
			}
			if Holds(c, m.node, cut) == m.neg {
				return fmt.Errorf("internal error: %s: %q is wrong at %s", res.Algorithm, m.Text,
					c.Describe(cut))
			}
		}
		if at == len(res.Run.Order) {
			return nil
		}
		e := res.Run.Order[at]
		if cut[e.Process]+1 != e.Index || !c.Enabled(cut, e.Process) {
			return fmt.Errorf("internal error: %s: event %d of %s is not enabled at %s",
				res.Algorithm, e.Index, c.Name(e.Process), c.Describe(cut))
		}
		cut[e.Process]++
	}
}
