package program

import (
	"strings"

	"cpor/frontend/promela/syntax"
	"cpor/internal/spell"
)

// node is a control state in the making, or a jump to one: a label, a goto or
// the end of a loop, none of which is a step.
type node struct {
	state   *State // nil for a jump
	jump    *node
	via     *gotoStmt // of a jump that a goto makes
	region  int       // the outermost atomic that it stands in; 0: none
	name    string    // of a label
	escapes []*escape
}

// escape is the second part of an unless.
type escape struct {
	entry  *node
	loop   bool // it begins with a do
	region int
}

type gotoStmt struct{ pos syntax.Pos }

// draft is an edge whose target is still a node.
type draft struct {
	*Edge
	to      *node
	region  int
	last    bool // it ends the atomic
	escapes []*escape
}

// builder makes the automaton of one process type.
type builder struct {
	*resolver
	p       *Proc
	labels  map[string]*node
	defined map[string]syntax.Pos
	used    []syntax.Name
	drafts  map[*State][]*draft
	states  []*State
	regions int
	end     *node
}

// context is where a statement stands.
type context struct {
	brk     *node // where break goes; nil outside of loops
	region  int
	escapes []*escape // those around, outermost first
	last    bool      // the statement is the last of its atomic
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
	b := &builder{resolver: r, p: p, labels: map[string]*node{}, defined: map[string]syntax.Pos{}, drafts: map[*State][]*draft{}}
	b.end = b.node(p.Decl.End, context{})
	start := b.body(p.Decl.Body.Stmts)
	if p.Decl.Provided != nil {
		r.p.UsesProvided = true
		p.Provided = r.expr(p.Decl.Provided)
	}
	if p.Decl.Priority != nil {
		r.p.UsesPriority = true
		p.Priority = r.expr(p.Decl.Priority)
	}
	for _, l := range b.used {
		if _, ok := b.defined[l.Text]; !ok {
			var names []string
			for n := range b.defined {
				names = append(names, n)
			}
			r.fail(l.Pos, len(l.Text), "there is no label %s in %s%s", l.Text, p.Name, spell.DidYouMean(l.Text, names, ""))
			return
		}
	}
	if len(r.errs) > 0 {
		return
	}
	b.finish(start)
}

func (b *builder) node(pos syntax.Pos, c context) *node {
	s := &State{ID: -1, Pos: pos}
	b.states = append(b.states, s)
	return &node{state: s, region: c.region, escapes: c.escapes}
}

func (b *builder) jump(to *node, c context) *node { return &node{jump: to, region: c.region} }

func (b *builder) label(name string) *node {
	n := b.labels[name]
	if n == nil {
		n = &node{name: name}
		b.labels[name] = n
	}
	return n
}

// edge adds a step to a node.
func (b *builder) edge(n *node, e *Edge, to *node, c context) *draft {
	e.From = n.state
	if !e.Pos.IsValid() && e.Stmt != nil {
		e.Pos = e.Stmt.At()
	}
	if e.Text == "" {
		e.Text = b.resolver.p.Model.Text(e.Pos)
	}
	d := &draft{Edge: e, to: to, region: c.region, last: c.last, escapes: c.escapes}
	b.drafts[n.state] = append(b.drafts[n.state], d)
	return d
}

// body builds the body of a process type: declarations before the first
// statement are initialised when the process is created.
func (b *builder) body(stmts []syntax.Stmt) *node {
	for len(stmts) > 0 {
		d, ok := stmts[0].(*syntax.DeclStmt)
		if !ok {
			break
		}
		for _, v := range d.Vars {
			b.local(d.VarDecl, v, true)
		}
		stmts = stmts[1:]
	}
	return b.seq(stmts, b.end, context{})
}

func (b *builder) local(d *syntax.VarDecl, v *syntax.Var, first bool) *Sym {
	name := v.Name.Text
	for _, sc := range b.scopes {
		if old := sc[name]; old != nil {
			line, _ := old.Name.Pos.Line()
			b.fail(v.Name.Pos, len(name), "redeclaration of %s; it was declared in line %d", name, line)
			return nil
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

// seq builds statements that go on at next, and returns where they begin.
// Names have to be declared before they are used, so statements are taken from
// the first to the last, and each is told a jump that is bent to the next one.
func (b *builder) seq(stmts []syntax.Stmt, next *node, c context) *node {
	if len(stmts) == 0 {
		return next
	}
	var first *node
	var link *node // the jump that the statement before goes on with
	for i, s := range stmts {
		to := next
		var l *node
		if i < len(stmts)-1 {
			l = b.jump(nil, c)
			to = l
		}
		in := c
		in.last = c.last && i == len(stmts)-1
		at := b.stmt(s, to, in)
		if link != nil {
			link.jump = at
		} else {
			first = at
		}
		link = l
	}
	return first
}

// block builds statements with a scope of their own.
func (b *builder) block(stmts []syntax.Stmt, next *node, c context) *node {
	b.scopes = append(b.scopes, map[string]*Sym{})
	n := b.seq(stmts, next, c)
	b.scopes = b.scopes[:len(b.scopes)-1]
	return n
}

// simple builds a state with one edge.
func (b *builder) simple(e *Edge, next *node, c context) *node {
	n := b.node(e.Stmt.At(), c)
	b.edge(n, e, next, c)
	return n
}

func (b *builder) stmt(s syntax.Stmt, next *node, c context) *node {
	switch s := s.(type) {
	case *syntax.Block:
		return b.entry(b.block(s.Stmts, next, c), s, c)
	case plain:
		return b.block(s.Stmts, next, c)
	case *syntax.DeclStmt:
		return b.declSteps(s, next, c)
	case *syntax.Labeled:
		if _, ok := b.p2sym(s.Label.Text); ok {
			b.fail(s.Label.Pos, len(s.Label.Text), "%s is a variable and cannot be a label, too", s.Label.Text)
		}
		if old, ok := b.defined[s.Label.Text]; ok {
			line, _ := old.Line()
			b.fail(s.Label.Pos, len(s.Label.Text), "label %s is defined again; it was in line %d", s.Label.Text, line)
		}
		b.defined[s.Label.Text] = s.Label.Pos
		l := b.label(s.Label.Text)
		l.region = c.region
		l.jump = b.stmt(s.Stmt, next, c)
		return l
	case *syntax.Goto:
		b.used = append(b.used, s.Label)
		g := b.jump(b.label(s.Label.Text), c)
		g.via, g.escapes = &gotoStmt{s.Pos}, c.escapes
		return g
	case *syntax.Break:
		if c.brk == nil {
			b.fail(s.Pos, 5, "break stands in no loop")
			return next
		}
		g := b.jump(c.brk, c)
		g.via, g.escapes = &gotoStmt{s.Pos}, c.escapes
		return g
	case *syntax.Else:
		return b.simple(&Edge{Kind: Else, Stmt: s, Text: "else"}, next, c)
	case *syntax.ExprStmt:
		return b.simple(&Edge{Kind: Cond, Stmt: s, X: b.expr(s.X)}, next, c)
	case *syntax.Assign:
		pl := b.scalar(s.Ref)
		x := b.expr(s.X)
		if pl == nil {
			return next
		}
		return b.simple(&Edge{Kind: Assign, Stmt: s, Place: pl, X: x}, next, c)
	case *syntax.Assert:
		return b.simple(&Edge{Kind: Assert, Stmt: s, X: b.expr(s.X)}, next, c)
	case *syntax.Print:
		e := &Edge{Kind: Print, Stmt: s, Format: s.Format}
		for _, x := range s.Args {
			e.Args = append(e.Args, b.expr(x))
		}
		return b.simple(e, next, c)
	case *syntax.Send:
		e := &Edge{Kind: Send, Stmt: s, Ch: b.chanExpr(s.Ch), Sorted: s.Sorted}
		for _, x := range s.Args {
			if ref, ok := x.(*syntax.Ref); ok && b.lookup(ref.Name) != nil {
				if pl := b.place(ref); pl != nil {
					for i := range pl.Count {
						e.Args = append(e.Args, &Load{pl.scalar(i)})
					}
				}
				continue
			}
			e.Args = append(e.Args, b.expr(x))
		}
		b.arity(s.Pos, e.Ch, len(e.Args), true)
		return b.simple(e, next, c)
	case *syntax.Recv:
		e := &Edge{Kind: Recv, Stmt: s, Ch: b.chanExpr(s.Ch), Random: s.Random, Peek: s.Peek, Recv: b.recvArgs(s.Args, false)}
		b.arity(s.Pos, e.Ch, len(e.Recv), false)
		return b.simple(e, next, c)
	case *syntax.If:
		return b.choice(s, next, c)
	case *syntax.For:
		return b.loop(s, next, c)
	case *syntax.Select:
		return b.selection(s, next, c)
	case *syntax.Atomic:
		if s.DStep {
			return b.dstep(s, next, c)
		}
		in := c
		if in.region == 0 {
			b.regions++
			in.region, in.last = b.regions, true
		}
		return b.entry(b.block(s.Body.Stmts, next, in), s.Body, c)
	case *syntax.Unless:
		in := c
		in.last, c.last = false, false
		esc := &escape{entry: b.jump(nil, c), loop: beginsWithLoop(s.Escape), region: c.region}
		in.escapes = append(in.escapes[:len(in.escapes):len(in.escapes)], esc)
		main := b.sides(s.Main, next, in)
		esc.entry.jump = b.sides(s.Escape, next, c)
		return main
	case *syntax.Exclusive:
		for _, ref := range s.Refs {
			b.chanExpr(ref)
		}
		return next // no step: it only says who uses the channel
	case *syntax.SetPriority:
		b.resolver.p.UsesPriority = true
		return b.simple(&Edge{Kind: SetPrio, Stmt: s, X: b.expr(s.Pid), Y: b.expr(s.X)}, next, c)
	}
	panic("promela: statement")
}

// plain is a block without an entry of its own, as the body of a for has none.
type plain struct{ *syntax.Block }

func (b *builder) p2sym(name string) (*Sym, bool) {
	s := b.lookup(name)
	return s, s != nil
}

// arity checks the number of fields where the channel is known.
func (b *builder) arity(pos syntax.Pos, ch Expr, n int, send bool) {
	l, ok := ch.(*Load)
	if !ok || l.Place.Sym == nil || l.Place.Sym.Chans == nil {
		return
	}
	reg := &b.p.Region
	if l.Place.Global {
		reg = &b.resolver.p.Globals
	}
	c := reg.Chans[l.Place.Sym.Chans[0]]
	if n > len(c.Fields) {
		what := "receive"
		if send {
			what = "send"
		}
		b.fail(pos, len(l.Place.Name), "this %s has %d fields, but the messages of %s have %d", what, n, c.Name, len(c.Fields))
	}
}

// declSteps builds a declaration among statements: each variable is assigned
// its initial value when control comes by, an array only its first element.
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
		pl := &Place{Sym: sym, Pos: v.Name.Pos, Base: sym.Base, Name: v.Name.Text, Type: sym.Type, Count: 1}
		stmts = append(stmts, &Edge{Kind: Assign, Stmt: s, Place: pl, X: x})
	}
	first := next
	for i := len(stmts) - 1; i >= 0; i-- {
		first = b.simple(stmts[i], first, c)
	}
	return first
}

// choice builds if and do: a state whose edges are the first edges of the
// options.
func (b *builder) choice(s *syntax.If, next *node, c context) *node {
	head := b.node(s.Pos, c)
	in := c
	in.last = false
	after := next
	if s.Loop {
		in.brk = next
		after = head
	}
	// else is the last within its own selection; in a selection around it, only
	// the edges before it count.
	type option struct {
		at   *node
		body *syntax.Block
	}
	var list, elses []option
	for _, o := range s.Options {
		at := b.block(o.Stmts, after, in)
		if _, ok := o.Stmts[0].(*syntax.Else); ok {
			elses = append(elses, option{at, o})
		} else {
			list = append(list, option{at, o})
		}
	}
	for _, o := range append(list, elses...) {
		b.option(head, o.at, o.body, in)
	}
	return head
}

// sides builds one side of an unless: a block there has no entry of its own.
func (b *builder) sides(s syntax.Stmt, next *node, c context) *node {
	if block, ok := s.(*syntax.Block); ok {
		return b.block(block.Stmts, next, c)
	}
	return b.block([]syntax.Stmt{s}, next, c)
}

// entry makes the state in which control is before a block, with the first edges
// of the block: it is another one than a loop at the beginning of the block comes
// back to.
func (b *builder) entry(at *node, s *syntax.Block, c context) *node {
	if len(s.Stmts) == 0 {
		return at
	}
	n := b.node(s.Pos, c)
	b.option(n, at, s, c)
	return n
}

// option adds the first edges of an option to a head.
func (b *builder) option(head, at *node, o *syntax.Block, c context) {
	for at.state == nil {
		switch {
		case at.via != nil: // goto or break as a guard is a step
			b.edge(head, &Edge{Kind: Skip, Stmt: o.Stmts[0], Pos: at.via.pos}, at, c)
			return
		case at.jump == nil:
			// A label that is defined around: nothing but labels here.
			b.edge(head, &Edge{Kind: Skip, Stmt: o.Stmts[0]}, at, c)
			return
		}
		at = at.jump
	}
	if at == head || len(b.drafts[at.state]) == 0 {
		b.edge(head, &Edge{Kind: Skip, Stmt: o.Stmts[0], Text: "skip"}, at, c)
		return
	}
	b.drafts[head.state] = append(b.drafts[head.state], b.drafts[at.state]...)
}

func (b *builder) loop(s *syntax.For, next *node, c context) *node {
	from, to := s.From, s.To
	body := &syntax.Block{Pos: s.Body.Pos}
	if s.In != nil {
		pl := b.place(s.In)
		if pl == nil {
			return next
		}
		n := pl.Sym.Len
		if s.In.Field != nil || s.In.Index != nil {
			n = 0
		}
		if n == 0 {
			b.fail(s.In.Pos, len(s.In.Name), "for wants an array after in, and %s is none", s.In.Name)
			return next
		}
		from, to = &syntax.Const{Pos: s.Pos}, &syntax.Const{Pos: s.Pos, Value: int32(n - 1)}
	}
	body.Stmts = append(body.Stmts, &syntax.ExprStmt{Pos: s.Pos, X: &syntax.Binary{Pos: s.Var.Pos, Op: "<=", X: s.Var, Y: to}}, plain{s.Body},
		&syntax.Assign{Pos: s.Var.Pos, Ref: s.Var, X: &syntax.Binary{Pos: s.Var.Pos, Op: "+", X: s.Var, Y: &syntax.Const{Pos: s.Pos, Value: 1}}})
	done := &syntax.Block{Pos: s.Pos, Stmts: []syntax.Stmt{&syntax.Else{Pos: s.Pos}, &syntax.Break{Pos: s.Pos}}}
	return b.seq([]syntax.Stmt{
		&syntax.Assign{Pos: s.Pos, Ref: s.Var, X: from},
		&syntax.If{Pos: s.Pos, Loop: true, Options: []*syntax.Block{body, done}},
	}, next, c)
}

// maxSelect is the widest range that SPIN makes one step of.
const maxSelect = 32

func (b *builder) selection(s *syntax.Select, next *node, c context) *node {
	pl := b.scalar(s.Var)
	from, to := b.expr(s.From), b.expr(s.To)
	if pl == nil {
		return next
	}
	lo, ok1 := from.(*Const)
	hi, ok2 := to.(*Const)
	_, lit1 := s.From.(*syntax.Const)
	_, lit2 := s.To.(*syntax.Const)
	if ok1 && ok2 && hi.Value < lo.Value {
		b.fail(s.Pos, 6, "select from %d to %d chooses from nothing", lo.Value, hi.Value)
		return next
	}
	if ok1 && ok2 && lit1 && lit2 && hi.Value-lo.Value <= maxSelect && !s.Inlined() {
		n := b.node(s.Pos, c)
		for v := lo.Value; v <= hi.Value; v++ {
			b.edge(n, &Edge{Kind: Assign, Stmt: s, Place: pl, X: &Const{v}}, next, c)
		}
		return n
	}
	up := &syntax.Block{Pos: s.Pos, Stmts: []syntax.Stmt{
		&syntax.ExprStmt{Pos: s.Pos, X: &syntax.Binary{Pos: s.Var.Pos, Op: "<", X: s.Var, Y: s.To}},
		&syntax.Assign{Pos: s.Var.Pos, Ref: s.Var, X: &syntax.Binary{Pos: s.Var.Pos, Op: "+", X: s.Var, Y: &syntax.Const{Pos: s.Pos, Value: 1}}},
	}}
	stop := &syntax.Block{Pos: s.Pos, Stmts: []syntax.Stmt{&syntax.Break{Pos: s.Pos}}}
	return b.seq([]syntax.Stmt{
		&syntax.Assign{Pos: s.Pos, Ref: s.Var, X: s.From},
		&syntax.If{Pos: s.Pos, Loop: true, Options: []*syntax.Block{up, stop}},
	}, next, c)
}

// dstep builds a sequence that is one edge.
func (b *builder) dstep(s *syntax.Atomic, next *node, c context) *node {
	if b.inDStep > 0 {
		return b.block(s.Body.Stmts, next, c)
	}
	b.inDStep++
	b.regions++
	in := context{region: -b.regions}
	out := &node{region: in.region} // behind the d_step
	first := b.block(s.Body.Stmts, out, in)
	b.inDStep--
	e := &Edge{Kind: DStep, Stmt: s, Text: "d_step"}
	n := b.simple(e, next, c)
	for first.state == nil && first.jump != nil {
		first = first.jump
	}
	if first.state == nil {
		e.Kind = Skip // an empty d_step
		return n
	}
	e.Inner = first.state
	return n
}

// beginsWithLoop tells whether one side of an unless begins with a do.
func beginsWithLoop(s syntax.Stmt) bool {
	if block, ok := s.(*syntax.Block); ok {
		if len(block.Stmts) == 0 {
			return false
		}
		s = block.Stmts[0]
	}
	x, ok := s.(*syntax.If)
	return ok && x.Loop
}

// target follows jumps. atomic tells whether all on the way stood in the region,
// or a goto led from one atomic into another.
func target(n *node, region int) (s *State, end *node, atomic bool) {
	atomic = region != 0
	for i := 0; i < 1<<16; i++ {
		atomic = atomic && n.region == region
		if n.state != nil {
			return n.state, n, atomic
		}
		if n.jump == nil {
			return nil, n, false
		}
		if n.via != nil && atomic && n.jump.region > 0 {
			region = n.jump.region
		}
		n = n.jump
	}
	return nil, nil, false
}

// leaving returns the goto with escapes that the way to a draft's target takes out
// of an atomic, nil if there is none.
func leaving(d *draft) *node {
	if d.region <= 0 || d.last || d.Kind == Skip && d.to.via != nil {
		return nil
	}
	for i, n := 0, d.to; i < 1<<16 && n != nil && n.state == nil && n.region == d.region; i++ {
		if n.via != nil && len(n.escapes) > 0 && n.jump != nil && n.jump.region != d.region {
			return n
		}
		n = n.jump
	}
	return nil
}

// finish turns drafts into edges and numbers the states that can be reached.
func (b *builder) finish(start *node) {
	ok := true
	resolve := func(n *node, region int, pos syntax.Pos) (*State, bool) {
		s, end, atomic := target(n, region)
		if end == nil && ok {
			b.fail(pos, 1, "this goto goes round in circles and never reaches a statement")
			ok = false
		}
		return s, atomic
	}
	for name, l := range b.labels {
		if s, _ := resolve(l, 0, b.defined[name]); s != nil {
			s.Labels = append(s.Labels, name)
			b.p.Labels[name] = s
		}
	}
	for i := 0; i < len(b.states); i++ {
		s := b.states[i]
		for _, d := range b.drafts[s] {
			if d.From == s {
				d.Edge.To, d.Edge.Atomic = resolve(d.to, d.region, d.Pos)
				if g := leaving(d); g != nil && !d.Edge.Atomic {
					// A goto out of an atomic is a place where escapes
					// are looked at.
					if g.state == nil {
						g.state = &State{ID: -1, Pos: g.via.pos}
						out := &draft{Edge: &Edge{Kind: Skip, Pos: g.via.pos, From: g.state, Text: b.resolver.p.Model.Text(g.via.pos)}, to: g.jump, region: d.region, last: true, escapes: g.escapes}
						b.drafts[g.state] = []*draft{out}
						b.states = append(b.states, g.state)
					}
					d.Edge.To, d.Edge.Atomic = g.state, true
				}
				if _, end, _ := target(d.to, 0); end != nil && end.region != d.region && (end.region < 0 || d.region < 0) {
					b.fail(d.Pos, 4, "a goto cannot lead into a d_step or out of one")
				}
				for _, e := range d.escapes {
					t, _ := resolve(e.entry, 0, d.Pos)
					if t == nil {
						continue
					}
					if e.loop && e.region == 0 && d.region > 0 && !d.last && !(d.Kind == Skip && !d.Edge.Atomic) {
						// SPIN's automaton has a step before the loop here,
						// so that the escape is always executable.
						t = &State{ID: -1, Pos: t.Pos, Edges: []*Edge{{Kind: Skip, Pos: t.Pos, To: t, Text: "goto"}}}
						t.Edges[0].From = t
					}
					d.Edge.Escapes = append(d.Edge.Escapes, t)
				}
			}
			s.Edges = append(s.Edges, d.Edge)
		}
	}
	first, _ := resolve(start, 0, b.p.Decl.Pos)
	if !ok || first == nil {
		return
	}
	var visit func(s *State)
	var order []*State
	visit = func(s *State) {
		if s == nil || s.ID >= 0 {
			return
		}
		s.ID = 0
		order = append(order, s)
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
			for _, esc := range e.Escapes {
				visit(esc)
			}
		}
		if len(elses) > 1 {
			b.fail(elses[1].Pos, 4, "two else in one state: the selection at the beginning of this option has an else, and the selection around it, too")
			return
		}
		for _, l := range s.Labels {
			s.End = s.End || strings.HasPrefix(l, "end")
			s.Accept = s.Accept || strings.HasPrefix(l, "accept")
			s.Progress = s.Progress || strings.HasPrefix(l, "progress")
		}
		if len(order) > maxStates {
			b.fail(b.p.Decl.Pos, 1, "%s has more than %d control states", b.p.Name, maxStates)
			return
		}
	}
	for i, s := range order {
		s.ID = i
	}
	b.p.States = order
	b.p.Start, b.p.End = first.ID, b.end.state.ID
}
