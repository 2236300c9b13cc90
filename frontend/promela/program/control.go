package program

import (
	"cmp"
	"slices"
	"strings"

	"cpor/frontend/promela/syntax"
	"cpor/internal/spell"
)

// node is a control state under construction, or a jump to one, which usually is not a step: a
// label, a goto, or the point where the options of a selection join.
type node struct {
	state  *State // nil for a jump
	jump   *node
	step   *State    // of a jump that is a step nevertheless
	via    *gotoStmt // of a jump that a goto makes
	join   bool      // it is the end of a selection, or the way to the head of a loop
	unless bool      // it is the way into an unless
	region int       // the outermost atomic that it stands in; 0: none
	last   bool      // it is the last of that atomic
	name   string    // of a label
	// for a jump: the number of its state if it is a step; 0: the next one
	seq int
	// escapes of the jump, if it is a step: outermost first.
	escapes []*node
}

type gotoStmt struct {
	pos syntax.Pos
	seq int // its number, see Edge.Seq
}

// draft is an edge whose target is still a node.
type draft struct {
	*Edge
	to      *node
	region  int
	last    bool // it ends the atomic
	escapes []*node
}

// builder makes the automaton of one process type.
type builder struct {
	*resolver
	p       *Proc
	labels  []*block     // outermost first
	defined []definition // in the order of the text
	used    []use
	drafts  map[*State][]*draft
	skipped []skipped
	gotos   []*node
	breaks  []*node               // outside of a d_step
	falls   map[*State]*node      // in a d_step
	first   map[syntax.Stmt]*Edge // in a d_step: the edge of a statement
	states  []*State
	made    int // states so far
	regions int
	end     *node
	circles bool // jumps that go round in circles were reported
}

// label is the meaning of a label's name in a block and those in it. As in SPIN, it belongs to
// the block in which it is first mentioned, and adjacent blocks, such as the calls of an inline,
// have their own labels. A goto goes to its last definition.
type label struct {
	in     *block
	at     *node // the last definition
	defs   []definition
	gotos  []*node
	inline int // the call of an inline in which the last definition stands
}

// block is a block with the names of labels that are its own.
type block struct {
	around *block // nil for a process type
	labels map[string]*label
}

// within reports whether o is b or around it.
func (b *block) within(o *block) bool {
	for ; b != nil; b = b.around {
		if b == o {
			return true
		}
	}
	return false
}

// definition is a label before a statement.
type definition struct {
	name string
	pos  syntax.Pos
	at   *node
	in   *block // the label's
}

// use is a goto's label.
type use struct {
	syntax.Name
	l *label
}

// context is the context of a statement.
type context struct {
	brk     *node // where break goes; nil outside of loops
	region  int
	escapes []*node // entries of the escapes around, outermost first
	last    bool    // the statement is the last of its atomic
	// In a d_step: the statement is the first of an option, and control goes to fall if
	// it is not executable; if that is nil, it blocks.
	guard bool
	fall  *node
}

func (r *resolver) process(p *Proc) {
	r.proc = p
	r.scopes = []map[string]*Sym{{}}
	for _, s := range p.Params {
		if r.scopes[0][s.Name.Text] != nil {
			r.fail(s.Name.Pos, len(s.Name.Text), "%s is a parameter already", s.Name.Text)
		}
		r.scopes[0][s.Name.Text] = s
	}
	b := &builder{resolver: r, p: p, labels: []*block{{labels: map[string]*label{}}},
		falls: map[*State]*node{}, first: map[syntax.Stmt]*Edge{}, drafts: map[*State][]*draft{}}
	b.end = b.node(p.Decl.End, context{})
	for _, s := range p.Params {
		b.shadows(s.Name)
	}
	if p.Decl.Provided != nil {
		r.p.UsesProvided = true
		p.Provided = r.full(p.Decl.Provided)
		indices := map[Expr]bool{} // SPIN does not look at them
		Each(p.Provided, func(x Expr) {
			l, ok := x.(*Load)
			if !ok {
				return
			}
			for _, i := range l.Place.Index {
				Each(i.X, func(x Expr) { indices[x] = true })
			}
			if !l.Place.Global && !indices[x] {
				r.fail(l.Place.Pos, len(l.Place.Name),
					"provided can read global variables and _pid, as in SPIN, and %s of "+
						"%s only in an index", l.Place.Name, p.Name)
			}
		})
	}
	start := b.body(p.Decl.Body.Stmts)
	b.element() // the end
	if p.Decl.Priority != nil {
		r.p.UsesPriority = true
		p.Priority = r.expr(p.Decl.Priority)
	}
	for _, u := range b.used {
		if len(u.l.defs) > 0 {
			continue
		}
		d := b.elsewhere(u)
		if d == nil {
			var names []string
			for _, d := range b.defined {
				names = append(names, d.name)
			}
			r.fail(u.Pos, len(u.Text), "there is no label %s in %s%s", u.Text, p.Name,
				spell.DidYouMean(u.Text, names, ""))
			return
		}
		u.l.at.jump, u.l.at.region = d.at, d.at.region
	}
	if len(r.errs) > 0 {
		return
	}
	b.finish(start)
}

func (b *builder) node(pos syntax.Pos, c context) *node {
	b.made++
	s := &State{ID: -1, Pos: pos, seq: b.made}
	b.states = append(b.states, s)
	return &node{state: s, region: c.region, last: c.last}
}

// element numbers a part of the process type as SPIN does when it has read it to its end:
// statements, blocks, selections and their ends.
func (b *builder) element() int {
	b.p.Elements++
	return b.p.Elements
}

func (b *builder) jump(to *node, c context) *node { return &node{jump: to, region: c.region} }

// join makes the point where the options of a selection join.
func (b *builder) join(to *node, c context) *node {
	return &node{jump: to, join: true, region: c.region, last: c.last}
}

// elsewhere finds the label of a goto whose block does not define it. As in SPIN, that is the
// first of those in the enclosing blocks, or otherwise the last one in the process type, even in
// a block that does not contain the goto.
func (b *builder) elsewhere(u use) *definition {
	var last *definition
	for i := range b.defined {
		switch d := &b.defined[i]; {
		case d.name != u.Text:
		case u.l.in.within(d.in):
			return d
		default:
			last = d
		}
	}
	return last
}

// label returns what a label means at the builder's position.
func (b *builder) label(name string) *label {
	for i := len(b.labels) - 1; i >= 0; i-- {
		if l := b.labels[i].labels[name]; l != nil {
			return l
		}
	}
	in := b.labels[len(b.labels)-1]
	l := &label{in: in, at: &node{name: name}}
	in.labels[name] = l
	return l
}

// define makes the node of a label before a statement.
func (b *builder) define(s *syntax.Labeled) *node {
	l := b.label(s.Label.Text)
	if n := len(l.defs); n > 0 {
		if l.inline == s.Inline {
			line, _ := l.defs[n-1].pos.Line()
			b.fail(s.Label.Pos, len(s.Label.Text),
				"label %s is redefined; it was defined in line %d", s.Label.Text, line)
		}
		l.at = &node{name: s.Label.Text}
		for _, g := range l.gotos {
			g.jump = l.at
		}
	}
	l.inline = s.Inline
	d := definition{s.Label.Text, s.Label.Pos, l.at, l.in}
	l.defs = append(l.defs, d)
	b.defined = append(b.defined, d)
	return l.at
}

// edge adds a step to a node.
func (b *builder) edge(n *node, e *Edge, to *node, c context) *draft {
	e.From = n.state
	if !e.Pos.IsValid() && e.Stmt != nil {
		e.Pos = e.Stmt.At()
	}
	if e.Text == "" {
		e.Text = b.resolver.p.Model.Text(e.Stmt, e.Pos)
	}
	d := &draft{Edge: e, to: to, region: c.region, last: c.last, escapes: c.escapes}
	b.drafts[n.state] = append(b.drafts[n.state], d)
	return d
}

// body builds the body of a process type: declarations before the first
// statement are initialized when the process is created.
func (b *builder) body(stmts []syntax.Stmt) *node {
	for ; len(stmts) > 0; stmts = stmts[1:] {
		switch s := stmts[0].(type) {
		case *syntax.DeclStmt:
			for _, v := range s.Vars {
				b.local(s.VarDecl, v, true)
			}
			continue
		case *syntax.Exclusive: // no statement: declarations may follow
			b.exclusive(s)
			continue
		}
		break
	}
	return b.seq(stmts, b.end, context{})
}

// exclusive checks xr or xs, which is not a step: it only says which process uses the channel.
func (b *builder) exclusive(s *syntax.Exclusive) {
	for _, ref := range s.Refs {
		b.p.Exclusive = append(b.p.Exclusive, Exclusive{b.chanExpr(ref), s.Send, s.Pos})
		if v := b.lookup(ref); v != nil && (ref.Index != nil || v.Len > 0) {
			b.fail(ref.Pos, len(ref.Name), "xr and xs are about a channel, as in SPIN, and not "+
				"about an array of channels or one of its elements")
		}
	}
}

func (b *builder) local(d *syntax.VarDecl, v *syntax.Var, first bool) *Sym {
	name := v.Name.Text
	for _, sc := range b.scopes {
		if old := sc[name]; old != nil {
			line, _ := old.Name.Pos.Line()
			b.fail(v.Name.Pos, len(name), "redeclaration of %s; it was declared in line %d", name,
				line)
			return nil
		}
	}
	if b.shadows(v.Name) {
		return nil
	}
	for _, in := range b.labels {
		if in.labels[name] != nil {
			b.fail(v.Name.Pos, len(name), "%s is a label and cannot be a variable, too", name)
		}
	}
	s := b.declare(&b.p.Region, d, v, first)
	if s == nil {
		return nil
	}
	if d.Hidden {
		b.fail(d.Pos, 6, "only a global variable can be hidden")
	}
	b.scopes[len(b.scopes)-1][name] = s
	b.p.Syms = append(b.p.Syms, s)
	return s
}

// shadows refuses a local variable with the name of a global one that is declared
// before the process type.
func (b *builder) shadows(n syntax.Name) bool {
	g := b.globals[n.Text]
	if g == nil || g.Order >= b.p.Decl.Known {
		return false
	}
	line, _ := g.Name.Pos.Line()
	b.fail(n.Pos, len(n.Text), "redeclaration of %s; it is a global variable, declared in line %d",
		n.Text, line)
	return true
}

// seq builds statements that continue at next, and returns where they begin. Names must be
// declared before they are used, so statements are built from the first to the last, each with a
// jump that is later bent to the next one.
func (b *builder) seq(stmts []syntax.Stmt, next *node, c context) *node {
	if len(stmts) == 0 {
		return next
	}
	var first *node
	var link *node // the jump with which the statement before continues
	for i := 0; i < len(stmts); i++ {
		s := stmts[i]
		if start, loop := b.counting(s); start != nil {
			stmts = slices.Replace(slices.Clone(stmts), i, i+1, start, loop)
			s = start
		}
		to := next
		var l *node
		if i < len(stmts)-1 {
			l = b.jump(nil, c)
			to = l
		}
		in := c
		in.last = c.last && i == len(stmts)-1
		at := b.stmt(s, to, in)
		if c.guard && single(s) {
			// SPIN treats everything before the first single statement as the guard.
			c.guard, c.fall = false, nil
		}
		if link != nil {
			link.jump = at
		} else {
			first = at
		}
		link = l
	}
	return first
}

// block builds statements with their own scope and labels. An option has no braces, and so
// neither.
func (b *builder) block(stmts []syntax.Stmt, next *node, c context) *node {
	b.labels = append(
		b.labels,
		&block{around: b.labels[len(b.labels)-1], labels: map[string]*label{}},
	)
	b.scopes = append(b.scopes, map[string]*Sym{})
	n := b.seq(stmts, next, c)
	b.labels, b.scopes = b.labels[:len(b.labels)-1], b.scopes[:len(b.scopes)-1]
	return n
}

// simple builds a state with one edge.
func (b *builder) simple(e *Edge, next *node, c context) *node {
	n := b.node(e.Stmt.At(), c)
	e.Seq = b.element()
	b.edge(n, e, next, c)
	if c.region < 0 {
		b.first[e.Stmt] = e
		if c.guard {
			b.falls[n.state] = c.fall
		}
	}
	return n
}

// single reports whether a statement is not a block, selection or jump.
func single(s syntax.Stmt) bool {
	switch s := s.(type) {
	case *syntax.Labeled:
		return single(s.Stmt)
	case *syntax.Block, plain, *syntax.If, *syntax.Atomic, *syntax.Goto, *syntax.Break,
		*syntax.Exclusive:
		return false
	}
	return true
}

func (b *builder) stmt(s syntax.Stmt, next *node, c context) *node {
	if b.p.Decl == b.resolver.p.Model.Trace {
		switch s.(type) {
		case *syntax.Block, *syntax.Atomic, *syntax.Unless:
			b.fail(s.At(), 1, "this is not an event: a trace assertion is made of sends and "+
				"receives, if, do and goto")
		}
	}
	switch s := s.(type) {
	case *syntax.Block:
		c.guard, c.fall = false, nil
		at := b.block(s.Stmts, next, c)
		b.element()
		return b.entry(at, s, c)
	case plain:
		c.guard, c.fall = false, nil
		return b.block(s.Stmts, next, c)
	case *syntax.DeclStmt:
		return b.declSteps(s, next, c)
	case *syntax.Labeled:
		if b.variable(s.Label.Text) {
			b.fail(s.Label.Pos, len(s.Label.Text), "%s is a variable and cannot be a label, too",
				s.Label.Text)
		}
		l := b.define(s)
		l.region = c.region
		l.jump = b.stmt(s.Stmt, next, c)
		watched := special(s.Label.Text) || b.resolver.p.Model.Watched[b.p.Name+"@"+s.Label.Text]
		if at := l.jump; at.via != nil && watched {
			// A goto with such a label has a step before it.
			e := &Edge{Kind: Cond, X: &Const{1}, Stmt: s, Text: "skip"}
			l.jump = b.simple(e, at, c)
			if !special(s.Label.Text) {
				// SPIN replaces the goto by the step at the first reference, and numbers the
				// goto there.
				b.p.Elements--
				e.Seq = at.via.seq
				if b.p.moved == nil {
					b.p.moved = map[string]bool{}
				}
				b.p.moved[s.Label.Text] = true
			}
		} else if at.join && at.jump.state != nil && at.jump.state.Pos == s.Stmt.At() {
			l.jump = at.jump // the head of a loop
		}
		return l
	case *syntax.Goto:
		if b.variable(s.Label.Text) {
			b.fail(s.Label.Pos, len(s.Label.Text), "%s is a variable and cannot be a label, too",
				s.Label.Text)
		}
		l := b.label(s.Label.Text)
		b.used = append(b.used, use{s.Label, l})
		g := b.jump(l.at, c)
		l.gotos = append(l.gotos, g)
		g.via, g.escapes = &gotoStmt{s.Pos, b.element()}, c.escapes
		b.made++
		g.seq = b.made
		b.gotos = append(b.gotos, g)
		return g
	case *syntax.Break:
		if c.brk == nil {
			b.fail(s.Pos, 5, "break outside of a loop")
			return next
		}
		g := b.jump(c.brk, c)
		g.via, g.escapes = &gotoStmt{s.Pos, b.element()}, c.escapes
		b.made++
		g.seq = b.made
		if c.region >= 0 {
			b.breaks = append(b.breaks, g)
			g.last = c.last
		}
		return g
	case passed:
		b.element()
		return next
	case *syntax.Else:
		return b.simple(&Edge{Kind: Else, Stmt: s, Text: "else"}, next, c)
	case *syntax.ExprStmt:
		x := b.full(s.X)
		b.starts(x, s.X.At())
		b.looks(x, s.X.At())
		return b.simple(&Edge{Kind: Cond, Stmt: s, X: x}, next, c)
	case *syntax.Assign:
		if s.Ref.Name == "_" && s.Ref.Index == nil && s.Ref.Field == nil {
			// The variable that cannot be read: the value is only computed.
			return b.simple(&Edge{Kind: Print, Stmt: s, Args: []Expr{b.full(s.X)}}, next, c)
		}
		pl := b.scalar(s.Ref)
		x := b.full(s.X)
		if pl == nil {
			return next
		}
		if constant(s.X) && pl.Type.Name == "chan" && s.Ref.Field == nil {
			b.fail(s.X.At(), 1,
				"a number cannot be assigned to the channel %s; another channel can", s.Ref.Name)
		}
		b.selfIndexed(pl)
		b.fits(pl.Name, pl.Type, s.X, x)
		b.noChannel(pl.Sym, s.X, true)
		if s.Ref.Field == nil && pl.Sym.Type.Kind != "" {
			b.sameKind(s.X, pl.Sym)
		}
		return b.simple(&Edge{Kind: Assign, Stmt: s, Place: pl, X: x}, next, c)
	case *syntax.Assert:
		x := b.full(s.X)
		b.looks(x, s.X.At())
		return b.simple(&Edge{Kind: Assert, Stmt: s, X: x}, next, c)
	case *syntax.Print:
		e := &Edge{Kind: Print, Stmt: s, Format: s.Format}
		for _, x := range s.Args {
			y := b.expr(x)
			b.looks(y, x.At())
			e.Args = append(e.Args, y)
		}
		return b.simple(e, next, c)
	case *syntax.Send:
		e := &Edge{Kind: Send, Stmt: s, Ch: b.chanExpr(s.Ch), Sorted: s.Sorted}
		for _, x := range s.Args {
			if ref, ok := x.(*syntax.Ref); ok && ref.Name == "_" &&
				b.p.Decl == b.resolver.p.Model.Trace {
				e.Args = append(e.Args, &Special{Name: "_"}) // any value
				continue
			}
			if ref, ok := x.(*syntax.Ref); ok && b.lookup(ref) != nil {
				if pl := b.place(ref); pl != nil {
					for i := range pl.Count {
						e.Args = append(e.Args, &Load{pl.scalar(i)})
					}
				}
				continue
			}
			e.Args = append(e.Args, b.expr(x))
		}
		for _, x := range e.Args {
			if Runs(x) > 0 {
				b.fail(s.Pos, 1, "run is not allowed in a send, as in SPIN; assign the number of "+
					"the process to a variable first")
			}
		}
		b.late = append(b.late, func() {
			if len(e.Args) > b.widest {
				b.fail(s.Pos, len(s.Ch.Name), "this send has %d fields, and no channel of the "+
					"model has messages of more than %d", len(e.Args), b.widest)
			}
		})
		return b.simple(e, next, c)
	case *syntax.Recv:
		e := &Edge{Kind: Recv, Stmt: s, Ch: b.chanExpr(s.Ch), Random: s.Random, Peek: s.Peek,
			Recv: b.recvArgs(s.Args, false)}
		seen := map[string]bool{}
		for _, a := range s.Args {
			ref, ok := a.X.(*syntax.Ref)
			if !ok || a.Eval || ref.Index != nil || ref.Field != nil || ref.Name == "_" ||
				b.lookup(ref) == nil {
				continue
			}
			if seen[ref.Name] {
				b.fail(ref.Pos, len(ref.Name), "%s takes two fields of this message", ref.Name)
			}
			seen[ref.Name] = true
		}
		return b.simple(e, next, c)
	case *syntax.If:
		at := b.choice(s, next, c)
		b.element() // of the selection, and of where it ends
		b.element()
		if s.Loop {
			b.element() // where break leads
		}
		return at
	case *syntax.For:
		start, loop := b.loop(s)
		if start == nil {
			return next
		}
		return b.seq([]syntax.Stmt{start, loop}, next, c)
	case *syntax.Select:
		return b.selection(s, next, c)
	case *syntax.Atomic:
		if s.DStep {
			return b.dstep(s, next, c)
		}
		in := c
		in.guard, in.fall = false, nil
		if in.region == 0 {
			b.regions++
			in.region, in.last = b.regions, true
		}
		at := b.block(s.Body.Stmts, next, in)
		b.element()
		return b.entry(at, s.Body, c)
	case *syntax.Unless:
		if c.region < 0 {
			return b.either(s, next, c)
		}
		in := c
		after := b.join(next, c)
		in.last, c.last = false, false
		esc := b.jump(nil, c)
		in.escapes = append(in.escapes[:len(in.escapes):len(in.escapes)], esc)
		main := b.sides(s.Main, after, in)
		esc.jump = b.sides(s.Escape, after, c)
		b.element() // of the unless, and of where it ends
		b.element()
		return &node{jump: main, unless: true, region: c.region}
	case *syntax.Exclusive:
		b.exclusive(s)
		return next
	case *syntax.SetPriority:
		b.resolver.p.UsesPriority = true
		return b.simple(&Edge{Kind: SetPrio, Stmt: s, X: b.expr(s.Pid), Y: b.expr(s.X)}, next, c)
	}
	panic("promela: statement")
}

// constant reports whether an expression is a number or a symbolic constant, and not computed
// from them.
func constant(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.Const:
		return x.Value >= 0 // SPIN has no negative numbers, only a minus before them
	case *syntax.Ref:
		return x.Symbolic
	}
	return false
}

// starts refuses a condition that starts a process and does more than that, as SPIN does: it
// might be evaluated more than once.
func (b *builder) starts(x Expr, pos syntax.Pos) {
	n := Runs(x)
	if _, alone := x.(*Run); n > 1 || n == 1 && !alone {
		b.fail(pos, 1, "run is a part of a condition here, which SPIN refuses; assign the number "+
			"of the process to a variable first")
	}
}

// looks refuses in a d_step a condition, an assertion or a printf that reads a variable of
// another process, as SPIN does.
func (b *builder) looks(x Expr, pos syntax.Pos) {
	Each(x, func(x Expr) {
		if _, ok := x.(*RemoteLoad); ok && b.inDStep > 0 {
			b.fail(pos, 1, "a d_step cannot read a variable of another process here, as in "+
				"SPIN; assign it to a variable, or write atomic")
		}
	})
}

// selfIndexed refuses an assignment to an element whose index reads the same array, as SPIN
// does.
func (b *builder) selfIndexed(pl *Place) {
	if len(pl.Index) == 0 {
		return
	}
	last := pl.Index[len(pl.Index)-1]
	Each(last.X, func(x Expr) {
		if l, ok := x.(*Load); ok && l.Place.Sym == pl.Sym && l.Place.Name == pl.Name {
			b.fail(l.Place.Pos, len(pl.Name), "%s is indexed with one of its own elements in an "+
				"assignment to it, which SPIN refuses; use a variable for the index", pl.Name)
		}
	})
}

// plain is a block without an entry of its own, as the body of a for has none.
type plain struct{ *syntax.Block }

// variable reports whether a name is that of a variable declared above.
func (b *builder) variable(name string) bool {
	if g := b.globals[name]; g != nil && g.Order < b.p.Decl.Known {
		return true
	}
	return b.inner(name) != nil
}

// declSteps builds a declaration among statements: each variable is assigned its initial value
// when control gets there, an array only its first element.
func (b *builder) declSteps(s *syntax.DeclStmt, next *node, c context) *node {
	var stmts []*Edge
	for _, v := range s.Vars {
		sym := b.local(s.VarDecl, v, false)
		if sym == nil {
			continue
		}
		if sym.Type.IsStruct() {
			stmts = append(stmts, &Edge{Kind: Clear, Stmt: s})
			continue
		}
		x := sym.Init
		if x == nil {
			x = zero
		}
		sym.Init = nil
		pl := &Place{Sym: sym, Pos: v.Name.Pos, Base: sym.Base, Name: v.Name.Text, Type: sym.Type,
			Count: 1}
		stmts = append(stmts, &Edge{Kind: Assign, Stmt: s, Place: pl, X: x})
	}
	first := next
	for i := len(stmts) - 1; i >= 0; i-- {
		first = b.simple(stmts[i], first, c)
	}
	for i, e := range stmts {
		e.Seq = b.p.Elements - len(stmts) + i + 1
	}
	return first
}

// choice builds if and do: a state whose edges are the first edges of the
// options.
func (b *builder) choice(s *syntax.If, next *node, c context) *node {
	if c.region < 0 {
		return b.chain(s, next, c)
	}
	after := b.join(next, c)
	out := after
	in := c
	in.last = false
	head := b.node(s.Pos, in)
	first := head
	if s.Loop {
		after.escapes = c.escapes
		in.brk = after
		after = b.join(head, in)
		first = after
	}
	// else is the last within its own selection; in a selection around it, only
	// the edges before it count.
	type option struct {
		at   *node
		body *syntax.Block
	}
	var list, elses []option
	b.oneElse(s)
	for _, o := range s.Options {
		at := b.seq(passOver(o.Stmts), after, in)
		if _, ok := o.Stmts[0].(*syntax.Else); ok {
			elses = append(elses, option{at, o})
		} else {
			list = append(list, option{at, o})
		}
	}
	if s.Climbs {
		slices.Reverse(list)
	}
	for _, o := range append(list, elses...) {
		b.option(head, o.at, o.body, in)
	}
	b.made++
	head.state.seq = b.made
	b.made++
	out.seq = b.made
	return first
}

// oneElse refuses a second else in a selection.
func (b *builder) oneElse(s *syntax.If) {
	n := 0
	for _, o := range s.Options {
		if _, ok := o.Stmts[0].(*syntax.Else); ok {
			if n++; n == 2 {
				b.fail(o.Stmts[0].At(), len("else"), "a second else in this selection")
			}
		}
	}
}

// passed is a statement that is not a step.
type passed struct{ syntax.Stmt }

// passOver marks what SPIN removes from an option: a skip right after another one or after
// printf, unless it has a label or is the last.
func passOver(stmts []syntax.Stmt) []syntax.Stmt {
	out := slices.Clone(stmts)
	after := false
	for i, s := range stmts {
		skip := false
		switch s := s.(type) {
		case *syntax.ExprStmt:
			c, ok := s.X.(*syntax.Const)
			skip = ok && c.Value == 1
			if skip && after && i < len(stmts)-1 {
				out[i] = passed{s}
			}
			after = skip
		case *syntax.Print:
			after = true
		default:
			after = false
		}
	}
	return out
}

// chain builds a selection in a d_step: options are tried in order, and the first executable one
// is taken.
func (b *builder) chain(s *syntax.If, next *node, c context) *node {
	start := b.jump(nil, c)
	in := c
	after := next
	if s.Loop {
		in.brk, after = next, start
	}
	var options, elses []*syntax.Block
	b.oneElse(s)
	for _, o := range s.Options {
		if _, ok := o.Stmts[0].(*syntax.Else); ok {
			elses = append(elses, o)
		} else {
			options = append(options, o)
		}
	}
	if s.Climbs {
		slices.Reverse(options)
	}
	at := start
	options = append(options, elses...)
	for i, o := range options {
		in.guard, in.fall = true, nil
		if i < len(options)-1 {
			in.fall = b.jump(nil, c)
		}
		at.jump = b.seq(o.Stmts, after, in)
		at = in.fall
	}
	return start
}

// either builds an unless in a d_step: what it guards if that can begin, and otherwise the
// escape, as in SPIN's verifier.
func (b *builder) either(s *syntax.Unless, next *node, c context) *node {
	if c.guard {
		b.fail(s.Pos, len("unless"), "an unless cannot be the first of an option in a d_step, "+
			"where SPIN ignores a part of it; nothing interrupts a d_step")
	}
	side := func(s syntax.Stmt) *syntax.Block {
		if block, ok := s.(*syntax.Block); ok {
			return block
		}
		return &syntax.Block{Pos: s.At(), Stmts: []syntax.Stmt{s}}
	}
	n := b.chain(&syntax.If{Pos: s.Pos, Options: []*syntax.Block{side(s.Main), side(s.Escape)}},
		next, c)
	b.element() // of the unless, and of where it ends
	b.element()
	return n
}

// guards collects what must be executable for a d_step to begin, as SPIN does: the conditions,
// sends and receives that are first in the options of its initial selection. An option that
// begins with anything else is ignored, unless all do.
func (b *builder) guards(e *Edge, s syntax.Stmt, option bool) {
	switch s := s.(type) {
	case *syntax.Labeled:
		b.guards(e, s.Stmt, option)
	case *syntax.Block:
		b.blockGuards(e, s, option)
	case *syntax.Atomic:
		b.blockGuards(e, s.Body, option)
	case *syntax.If:
		if option && s.Loop {
			return // not even looked at
		}
		for _, o := range s.Options {
			b.guards(e, o.Stmts[0], true)
		}
	case *syntax.Else:
		if option {
			e.Always = true
		} else {
			e.Otherwise = true
		}
	case *syntax.ExprStmt, *syntax.Send, *syntax.Recv:
		if g := b.first[s]; g != nil {
			e.Guards = append(e.Guards, g)
		}
	}
}

func (b *builder) blockGuards(e *Edge, s *syntax.Block, option bool) {
	if len(s.Stmts) == 0 {
		return
	}
	first := s.Stmts[0]
	if x, ok := first.(*syntax.If); option && (!ok || x.Loop) {
		return // not even looked at
	}
	b.guards(e, first, option)
}

// special reports whether a label has a meaning of its own.
func special(label string) bool {
	return strings.HasPrefix(label, "end") || strings.HasPrefix(label, "accept") ||
		strings.HasPrefix(label, "progress")
}

// sides builds one side of an unless: a block there has no entry of its own.
func (b *builder) sides(s syntax.Stmt, next *node, c context) *node {
	if block, ok := s.(*syntax.Block); ok {
		return b.block(block.Stmts, next, c)
	}
	return b.block([]syntax.Stmt{s}, next, c)
}

// entry makes the state before a block, with the first edges of the block. It differs from the
// state to which a loop at the beginning of the block returns.
func (b *builder) entry(at *node, s *syntax.Block, c context) *node {
	if len(s.Stmts) == 0 || c.region < 0 {
		return at
	}
	in := c
	in.last = false
	n := b.node(s.Pos, in)
	b.option(n, at, s, c)
	return n
}

// option adds the first edges of an option to a head.
func (b *builder) option(head, at *node, o *syntax.Block, c context) {
	for i := 0; at.state == nil; i++ {
		switch {
		case i > 1<<16: // in circles, which is reported when the edges are set
			b.edge(head, &Edge{Kind: Skip, Stmt: o.Stmts[0]}, at, c)
			return
		case at.via != nil: // goto or break as a guard is a step
			b.edge(head, &Edge{Kind: Skip, Stmt: o.Stmts[0], Pos: at.via.pos, Seq: at.via.seq}, at,
				c)
			return
		case at.jump == nil:
			// A label of an enclosing block: only labels here.
			b.edge(head, &Edge{Kind: Skip, Stmt: o.Stmts[0]}, at, c)
			return
		}
		at = at.jump
	}
	if at == head || len(b.drafts[at.state]) == 0 {
		b.edge(head, &Edge{Kind: Skip, Stmt: o.Stmts[0], Text: "skip"}, at, c)
		return
	}
	b.skipped = append(b.skipped, skipped{head.state, at.state})
	b.drafts[head.state] = append(b.drafts[head.state], b.drafts[at.state]...)
}

// counts refuses what SPIN refuses as the variable of a for or a select: an element or a field.
func (b *builder) counts(ref *syntax.Ref, what string) {
	if ref.Index != nil || ref.Field != nil {
		b.fail(ref.Pos, len(ref.Name), "%s needs a plain variable here, no element and no field "+
			"of %s", what, ref.Name)
	}
}

// counting splits a for, or a select that is a loop, after a label or under an unless: in SPIN
// its first assignment precedes both, so a goto does not restart the count. It returns nil if
// there is none.
func (b *builder) counting(s syntax.Stmt) (start, rest syntax.Stmt) {
	var inside func(s syntax.Stmt) (start, rest syntax.Stmt)
	inside = func(s syntax.Stmt) (start, rest syntax.Stmt) {
		switch s := s.(type) {
		case *syntax.Labeled:
			l := *s
			start, l.Stmt = inside(s.Stmt)
			return start, &l
		case *syntax.Unless:
			u := *s
			start, u.Main = inside(s.Main)
			return start, &u
		case *syntax.For:
			return b.loop(s)
		case *syntax.Select:
			if lo, _ := b.literal(s); lo == nil {
				return b.climb(s)
			}
		}
		return nil, nil
	}
	switch s.(type) {
	case *syntax.Labeled, *syntax.Unless:
		return inside(s)
	}
	return nil, nil
}

// loop returns the parts of a for: an assignment and a loop. They are nil after an error, which
// has been reported.
func (b *builder) loop(s *syntax.For) (start, again syntax.Stmt) {
	b.counts(s.Var, "for")
	from, to := s.From, s.To
	if s.In == nil && b.backwards(s.Pos, "for", from, to) {
		return nil, nil
	}
	var rest []syntax.Stmt
	body := &syntax.Block{Pos: s.Body.Pos}
	ref := s.Var // what counts
	if s.In != nil {
		b.whole = true
		pl := b.place(s.In)
		b.whole = false
		if pl == nil {
			return nil, nil
		}
		from = &syntax.Const{Pos: s.Pos}
		v := b.place(s.Var)
		switch {
		case v == nil:
			return nil, nil
		case pl.Type.Name == "chan" && v.Type.IsStruct():
			if ref = b.messages(s, pl, v); ref == nil {
				return nil, nil
			}
			to = &syntax.Binary{Pos: s.Pos, Op: "-", X: &syntax.ChanOp{Pos: s.Pos, Op: "len",
				Ch: s.In}, Y: &syntax.Const{Pos: s.Pos, Value: 1}}
			// The messages rotate: each is taken, read, and put back.
			args := []syntax.RecvArg{{X: s.Var}}
			rest = []syntax.Stmt{&syntax.Recv{Pos: s.Pos, Ch: s.In, Args: args},
				&syntax.Send{Pos: s.Pos, Ch: s.In, Args: []syntax.Expr{s.Var}}}
		case b.arrayOf(s.In) > 0:
			to = &syntax.Const{Pos: s.Pos, Value: int32(b.arrayOf(s.In) - 1)}
		default:
			b.fail(s.In.Pos, len(s.In.Name), "for needs an array after in, or a channel of "+
				"structures and a structure before it; %s is neither", s.In.Name)
			return nil, nil
		}
	}
	body.Stmts = append(body.Stmts, &syntax.ExprStmt{Pos: s.Pos, X: &syntax.Binary{Pos: s.Var.Pos,
		Op: "<=", X: ref, Y: to}})
	body.Stmts = append(append(body.Stmts, rest...), plain{s.Body},
		&syntax.Assign{Pos: s.Var.Pos, Ref: ref, X: &syntax.Binary{Pos: s.Var.Pos, Op: "+", X: ref,
			Y: &syntax.Const{Pos: s.Pos, Value: 1}}})
	done := &syntax.Block{Pos: s.Pos, Stmts: []syntax.Stmt{&syntax.Else{Pos: s.Pos}, &syntax.Break{
		Pos: s.Pos}}}
	return &syntax.Assign{Pos: s.Pos, Ref: ref, X: from}, &syntax.If{Pos: s.Pos, Loop: true,
		Options: []*syntax.Block{body, done}}
}

// arrayOf returns the length of the array that a for iterates over, as SPIN finds it: an index
// is ignored, and a field belongs to no array. It is 0 if there is none.
func (b *builder) arrayOf(ref *syntax.Ref) int {
	if s := b.lookup(ref); s != nil && ref.Field == nil {
		return s.Len
	}
	return 0
}

// counter is the name of the variable that counts the messages of a channel in a for. A
// name of the model cannot have a dot.
const counter = "for.count"

// messages returns the variable that counts the messages of a channel in a for: one for all in
// the same block, as in SPIN. It is nil if the channel cannot be iterated over.
func (b *builder) messages(s *syntax.For, ch, v *Place) *syntax.Ref {
	if len(ch.Sym.Chans) == 0 {
		b.fail(s.In.Pos, len(s.In.Name), "for goes through a channel that is declared with its "+
			"messages, and %s is not", s.In.Name)
		return nil
	}
	reg := &b.p.Region
	if ch.Global {
		reg = &b.resolver.p.Globals
	}
	c := reg.Chans[ch.Sym.Chans[0]]
	if c.Struct != v.Type {
		b.fail(s.Var.Pos, len(s.Var.Name), "for needs a variable here of the type of the "+
			"messages of %s, which must be a typedef alone", s.In.Name)
		return nil
	}
	scope := b.scopes[len(b.scopes)-1]
	if scope[counter] == nil {
		t := basic["byte"]
		scope[counter] = &Sym{Name: syntax.Name{Pos: s.Pos, Text: counter}, Type: t,
			Base: len(b.p.Scalars)}
		b.p.Scalars = append(b.p.Scalars, Scalar{Name: "messages of " + c.Name + " so far",
			Type: t})
		b.p.Syms = append(b.p.Syms, scope[counter])
	}
	return &syntax.Ref{Pos: s.Pos, Name: counter}
}

// maxSelect is the widest range that SPIN turns into one step.
const maxSelect = 32

// literal returns the bounds of a select that is one step; nil if it is a loop.
func (b *builder) literal(s *syntax.Select) (lo, hi *Const) {
	if !s.Literal || s.Inlined() {
		return nil, nil
	}
	lo, ok1 := b.expr(s.From).(*Const)
	hi, ok2 := b.expr(s.To).(*Const)
	if !ok1 || !ok2 || hi.Value-lo.Value > maxSelect {
		return nil, nil
	}
	return lo, hi
}

func (b *builder) selection(s *syntax.Select, next *node, c context) *node {
	lo, hi := b.literal(s)
	if lo == nil {
		start, loop := b.climb(s)
		if start == nil {
			return next
		}
		return b.seq([]syntax.Stmt{start, loop}, next, c)
	}
	b.counts(s.Var, "select")
	pl := b.scalar(s.Var)
	if pl == nil || b.backwards(s.Pos, "select", s.From, s.To) {
		return next
	}
	n := b.node(s.Pos, c)
	for v := lo.Value; v <= hi.Value; v++ {
		b.edge(n, &Edge{Kind: Assign, Stmt: s, Place: pl, X: &Const{v}, Seq: b.element()}, next, c)
	}
	b.element()
	b.element()
	return n
}

// backwards reports that two constants leave nothing between them.
func (b *builder) backwards(pos syntax.Pos, what string, from, to syntax.Expr) bool {
	if !constant(from) || !constant(to) {
		return false
	}
	lo, hi := b.expr(from).(*Const).Value, b.expr(to).(*Const).Value
	if hi < lo {
		b.fail(pos, len(what), "%s from %d to %d chooses from nothing", what, lo, hi)
	}
	return hi < lo
}

// climb returns the parts of a select that is a loop, like [builder.loop].
func (b *builder) climb(s *syntax.Select) (start, rest syntax.Stmt) {
	b.counts(s.Var, "select")
	if b.scalar(s.Var) == nil {
		return nil, nil
	}
	if b.backwards(s.Pos, "select", s.From, s.To) {
		return nil, nil
	}
	up := &syntax.Block{Pos: s.Pos, Stmts: []syntax.Stmt{
		&syntax.ExprStmt{Pos: s.Pos, X: &syntax.Binary{Pos: s.Var.Pos, Op: "<", X: s.Var, Y: s.To}},
		&syntax.Assign{Pos: s.Var.Pos, Ref: s.Var, X: &syntax.Binary{Pos: s.Var.Pos, Op: "+",
			X: s.Var, Y: &syntax.Const{Pos: s.Pos, Value: 1}}},
	}}
	stop := &syntax.Block{Pos: s.Pos, Stmts: []syntax.Stmt{&syntax.Break{Pos: s.Pos}}}
	return &syntax.Assign{Pos: s.Pos, Ref: s.Var, X: s.From}, &syntax.If{Pos: s.Pos, Loop: true,
		Options: []*syntax.Block{up, stop}, Climbs: true}
}

// dstep builds a sequence that is one edge.
func (b *builder) dstep(s *syntax.Atomic, next *node, c context) *node {
	if b.inDStep > 0 {
		c.guard, c.fall = false, nil
		at := b.block(s.Body.Stmts, next, c)
		b.element()
		return at
	}
	first := s.Body.Stmts
	for len(first) > 0 {
		if u, ok := first[0].(*syntax.Unless); ok {
			b.fail(u.Pos, len("unless"), "a d_step cannot begin with an unless, as in SPIN; "+
				"nothing interrupts a d_step")
		}
		inner, ok := first[0].(*syntax.Block)
		if !ok {
			break
		}
		first = inner.Stmts
	}
	b.inDStep++
	b.regions++
	in := context{region: -b.regions}
	out := &node{region: in.region} // behind the d_step
	start := b.block(s.Body.Stmts, out, in)
	b.inDStep--
	e := &Edge{Kind: DStep, Stmt: s, Text: "d_step"}
	n := b.simple(e, next, c)
	for i := 0; start.state == nil && start.jump != nil; i++ {
		if i > 1<<16 {
			if len(b.errs) == 0 { // else statements are missing
				b.fail(s.Pos, 1, "this jump loops without reaching a statement")
			}
			return n
		}
		start = start.jump
	}
	if start.state == nil {
		e.Kind = Skip // an empty d_step
		return n
	}
	e.Inner = start.state
	b.guards(e, s.Body, false)
	e.Always = e.Always || len(e.Guards) == 0 && !e.Otherwise
	return n
}

// skipped is a state whose edges belong to an enclosing one.
type skipped struct{ head, at *State }

// element follows labels to a state, a goto or a join; nil if they form a cycle.
func element(n *node) *node {
	for range 1 << 16 {
		if n.state != nil || n.via != nil || n.join || n.jump == nil {
			return n
		}
		n = n.jump
	}
	return nil
}

// atomic reports whether control at an element continues without a state in between: not at the
// last of an atomic, but at a goto that leads into an atomic, even another one.
func atomic(n *node) bool {
	if n.via != nil {
		to := element(n.jump)
		return n.region > 0 && to != nil && to.region > 0
	}
	return n.region > 0 && !n.last
}

// lost reports whether SPIN's verifier loses an escape: one that begins with an unless of its
// own and leaves an atomic.
func lost(escape *node, from bool) bool {
	for n := escape; from && n != nil && n.state == nil && n.via == nil && !n.join; n = n.jump {
		if n.unless {
			to := hunt(n.jump, from)
			return to == nil || !atomic(to)
		}
	}
	return false
}

// hunt follows jumps to the element that control reaches. The result is a jump where control
// leaves an atomic: there it is a step of its own.
func hunt(n *node, from bool) *node {
	for range 1 << 16 {
		if n = element(n); n == nil || n.state != nil || n.jump == nil {
			return n
		}
		to := element(n.jump)
		if to == nil || from && !atomic(to) {
			return n
		}
		n = to
	}
	return nil
}

// finish turns drafts into edges and numbers the reachable states.
func (b *builder) finish(start *node) {
	for _, l := range b.defined {
		if s := b.at(hunt(l.at, false), l.pos); s != nil {
			s.Labels = append(s.Labels, l.name)
			if b.p.Labels[l.name] == nil { // what looks at the process means the first
				b.p.Labels[l.name] = s
			}
			s.mark()
		}
	}
	for _, s := range b.states {
		for _, d := range b.drafts[s] {
			if d.From == s {
				b.connect(d)
			}
			s.Edges = append(s.Edges, d.Edge)
		}
	}
	b.checkJumps()
	b.fallThrough()
	for i := len(b.skipped) - 1; i >= 0; i-- {
		b.inherit(b.skipped[i])
	}
	first := b.at(hunt(start, false), b.p.Decl.Pos)
	if b.circles || first == nil {
		return
	}
	b.late = append(b.late, func() { b.number(first) })
}

// at returns the state of an element. A jump that is a step gets one. It is nil, and reported
// once, if the element is nil: jumps form a cycle.
func (b *builder) at(n *node, pos syntax.Pos) *State {
	if n == nil {
		if !b.circles {
			b.fail(pos, 1, "this goto loops without reaching a statement")
			b.circles = true
		}
		return nil
	}
	if n.state != nil || n.step != nil || n.jump == nil {
		return cmp.Or(n.state, n.step)
	}
	seq := n.seq
	if seq == 0 {
		b.made++
		seq = b.made
	}
	n.step = &State{ID: -1, Pos: pos, seq: seq}
	e := &Edge{Kind: Skip, Pos: pos, From: n.step, Atomic: atomic(n), Text: "goto"}
	if n.via != nil {
		n.step.Pos, e.Pos = n.via.pos, n.via.pos
		e.Text = b.resolver.p.Model.Text(nil, e.Pos)
	}
	e.To = b.at(hunt(n.jump, e.Atomic), pos)
	b.addEscapes(e, n.escapes, pos)
	n.step.Edges = []*Edge{e}
	return n.step
}

// addEscapes gives an edge its escapes, without those that SPIN's verifier loses.
func (b *builder) addEscapes(e *Edge, escapes []*node, pos syntax.Pos) {
	for _, esc := range escapes {
		if lost(esc, e.Atomic) {
			continue
		}
		if s := b.at(hunt(esc, e.Atomic), pos); s != nil {
			e.Escapes = append(e.Escapes, s)
		}
	}
}

// connect gives the edge of a draft its end and its escapes.
func (b *builder) connect(d *draft) {
	from, to := d.region > 0 && !d.last, d.to
	if to.via != nil && d.Kind == Skip { // the goto is the step
		from, to = atomic(to), to.jump
	}
	end := hunt(to, from)
	d.Edge.To, d.Edge.Atomic = b.at(end, d.Pos), from
	b.addEscapes(d.Edge, d.escapes, d.Pos)
}

// checkJumps refuses jumps into a d_step or out of one.
func (b *builder) checkJumps() {
	for _, g := range b.gotos {
		if to := element(g.jump); to != nil && to.region != g.region &&
			(to.region < 0 || g.region < 0) {
			b.fail(g.via.pos, 4, "a goto cannot lead into a d_step or out of one")
		}
	}
	for _, g := range b.gotos {
		b.leads(g, element(g.jump), 4)
	}
	for _, g := range b.breaks {
		b.leads(g, hunt(g.jump, g.region > 0 && !g.last), 5)
	}
}

// fallThrough gives the states that a d_step falls through to.
func (b *builder) fallThrough() {
	for s, n := range b.falls {
		if n == nil {
			continue
		}
		end := hunt(n, false)
		if s.Fall = b.at(end, s.Pos); s.Fall == nil && end != nil {
			// A break that ends the d_step.
			s.Fall = &State{ID: -1, Pos: s.Pos}
			s.Fall.Edges = []*Edge{{Kind: Skip, Pos: s.Pos, From: s.Fall, Text: "break"}}
		}
	}
}

// leads refuses a jump to a d_step, as SPIN does.
func (b *builder) leads(jump, to *node, n int) {
	if to == nil || to.state == nil || len(b.drafts[to.state]) != 1 {
		return
	}
	d := b.drafts[to.state][0]
	if s, ok := d.Stmt.(*syntax.Atomic); ok && d.Kind == DStep && d.From == to.state &&
		!s.Inlined() {
		line, _ := s.Pos.Line()
		b.fail(jump.via.pos, n, "this jump leads to the d_step in line %d, which SPIN refuses; "+
			"put skip before the d_step", line)
	}
}

// number numbers the reachable states of a process type, once it is known what the whole model
// reads.
func (b *builder) number(first *State) {
	b.contract()
	var visit func(s *State)
	var order []*State
	visit = func(s *State) {
		if s == nil || s.ID >= 0 {
			return
		}
		s.ID = 0
		order = append(order, s)
		b.p.bySeq = append(b.p.bySeq, s)
	}
	visit(first)
	visit(b.end.state)
	for i := 0; i < len(order); i++ {
		s := order[i]
		var elses []*Edge
		for _, e := range s.Edges {
			if e.Kind == Else {
				elses = append(elses, e)
			}
			visit(e.To)
			visit(e.Inner)
			visit(s.Fall)
			for _, esc := range e.Escapes {
				visit(esc)
			}
		}
		if len(elses) > 1 {
			b.fail(elses[1].Pos, 4, "two else in one state: the selection at the beginning of "+
				"this option has an else, and the selection around it, too")
			return
		}
		if len(order) > maxStates {
			b.fail(b.p.Decl.Pos, 1, "%s has more than %d control states", b.p.Name, maxStates)
			return
		}
	}
	for i, s := range order {
		s.ID = i
	}
	slices.SortFunc(b.p.bySeq, func(x, y *State) int { return x.seq - y.seq })
	b.p.States = order
	led := map[*Edge]bool{}
	for _, s := range order {
		for _, e := range s.Edges {
			led[e] = true
		}
	}
	for _, s := range b.states {
		for _, d := range b.drafts[s] {
			if d.From == s && d.region >= 0 && !led[d.Edge] {
				b.p.Cut = append(b.p.Cut, d.Edge)
			}
		}
	}
	b.p.Start, b.p.End = first.ID, b.end.state.ID
}

// mark sets what the labels of a state mean.
func (s *State) mark() {
	for _, l := range s.Labels {
		s.End = s.End || strings.HasPrefix(l, "end")
		s.Accept = s.Accept || strings.HasPrefix(l, "accept")
		s.Progress = s.Progress || strings.HasPrefix(l, "progress")
	}
}

// inherit passes the labels of a state that control is never in, because it is the first of an
// option, to its successors, as SPIN does.
func (b *builder) inherit(k skipped) {
	if !k.at.End && !k.at.Accept && !k.at.Progress {
		return
	}
	for _, d := range b.drafts[k.at] {
		if to := d.Edge.To; to != nil {
			to.End, to.Accept, to.Progress = to.End || k.at.End, to.Accept || k.at.Accept,
				to.Progress || k.at.Progress
		}
	}
}

// contract lets edges skip jumps that are steps where that makes no difference: within an atomic
// that continues, without an escape.
func (b *builder) contract() {
	passes := func(e *Edge) bool {
		to := e.To
		return to != nil && e.Atomic && e.Kind != Send && len(to.Edges) == 1 &&
			to.Edges[0].Kind == Skip &&
			to.Edges[0].Escapes == nil && to.Edges[0].To != nil && to.Labels == nil
	}
	if b.p.Provided != nil || b.resolver.p.UsesPriority {
		return
	}
	for _, s := range b.states {
		for _, e := range s.Edges {
			for i := 0; i < 100 && passes(e); i++ {
				e.Atomic, e.To = e.To.Edges[0].Atomic, e.To.Edges[0].To
			}
		}
	}
}

// OrderEscapes puts the edges of escapes before those of the states that they guard,
// as the tables of SPIN's verifier have them: the edges of an outer escape before
// those of an inner one, or, with innerFirst, as pan -J does, the other way round.
func (p *Program) OrderEscapes(innerFirst bool) {
	procs := p.Procs
	procs = append(procs[:len(procs):len(procs)], p.Claims...)
	for _, pr := range procs {
		for _, s := range pr.bySeq {
			s.Escapes = nil
		}
		for _, s := range pr.bySeq {
			s.orderEscapes(innerFirst)
		}
	}
}

func (s *State) orderEscapes(innerFirst bool) {
	there := map[*Edge]bool{}
	for _, e := range s.Edges {
		there[e] = true
	}
	var list []Escape
	for _, e := range s.Edges {
		for k := len(e.Escapes) - 1; k >= 0; k-- {
			from := e.Escapes[k]
			// The ordered list of an escape already has those that guard it.
			var edges []*Edge
			for _, x := range from.Escapes {
				edges = append(edges, x.Edge)
			}
			for _, x := range append(edges, from.Edges...) {
				if there[x] {
					continue
				}
				there[x] = true
				if innerFirst {
					list = append(list, Escape{x, from})
				} else {
					list = slices.Insert(list, 0, Escape{x, from})
				}
			}
		}
	}
	s.Escapes = list
}
