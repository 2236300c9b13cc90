package treewalk

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"cpor/frontend/model/resolve"
	"cpor/frontend/model/syntax"
	"cpor/system"
)

// control says how a statement ended.
type control struct {
	jump    jump
	label   string  // of break, continue and goto; "" if they name none
	results []Value // of return
	from    string  // where the jump stands, which monitors are left for
}

type jump int

const (
	falls jump = iota // continues with what follows
	breaks
	continues
	gotos
	returns
	throughs // fallthrough
)

// block executes statements in a scope of their own.
func (r *run) block(list []syntax.Stmt) control {
	n := len(r.vars)
	c := r.statements(list)
	r.vars = r.vars[:n]
	return c
}

func (r *run) statements(list []syntax.Stmt) control {
	for i := 0; i < len(list); i++ {
		c := r.statement(list[i], "")
		if c.jump == gotos {
			if at := slices.IndexFunc(list, func(s syntax.Stmt) bool {
				return hasLabel(s, c.label)
			}); at >= 0 {
				r.outOfScope(list[at:])
				i = at - 1
				continue
			}
		}
		if c.jump != falls {
			return c
		}
	}
	return control{}
}

func hasLabel(s syntax.Stmt, name string) bool {
	l, ok := s.(*syntax.LabeledStmt)
	return ok && (l.Label.Name == name || hasLabel(l.Stmt, name))
}

// outOfScope ends the variables that statements to be executed again declare.
func (r *run) outOfScope(list []syntax.Stmt) {
	if len(list) == 0 {
		return
	}
	r.vars = slices.DeleteFunc(slices.Clone(r.vars), func(v variable) bool {
		return v.obj.Pos >= list[0].Pos() && v.obj.Pos < list[len(list)-1].End()
	})
}

// statement executes a statement; name is the label that is before it.
func (r *run) statement(s syntax.Stmt, name string) control {
	mark := len(r.held)
	r.held = append(r.held, fmt.Sprintf("%T %d", s, s.Pos()))
	c := r.execute(s, name)
	r.held = r.held[:mark]
	return c
}

func (r *run) execute(s syntax.Stmt, name string) control {
	switch s := s.(type) {
	case *syntax.EmptyStmt:
	case *syntax.Block:
		return r.block(s.Stmts)
	case *syntax.DeclStmt:
		if d, ok := s.Decl.(*syntax.VarDecl); ok {
			r.define(d.Names, d.Values)
		}
	case *syntax.ExprStmt:
		r.exprStmt(s.X)
	case *syntax.SendStmt:
		k := known{}
		r.operand(k, s.Chan)
		r.operand(k, s.Value)
		r.point(s, 0)
		r.communicate(s, []offer{{send: true, channel: r.use(k, s.Chan), value: r.use(k, s.Value),
			at: s}}, -1)
	case *syntax.AssignStmt:
		r.assign(s)
	case *syntax.IncDecStmt:
		op := syntax.Add
		if s.Dec {
			op = syntax.Sub
		}
		r.update(s, s.X, op, func() Value { return big.NewInt(1) })
	case *syntax.IfStmt:
		return r.ifStmt(s)
	case *syntax.ForStmt:
		return r.forStmt(s, name)
	case *syntax.RangeStmt:
		return r.rangeStmt(s, name)
	case *syntax.SwitchStmt:
		return r.switchStmt(s, name)
	case *syntax.SelectStmt:
		return r.selectStmt(s, name)
	case *syntax.ChooseStmt:
		r.point(s, 0)
		return r.block(s.Cases[r.choose(len(s.Cases))].Body)
	case *syntax.AtomicStmt:
		r.point(s, 0)
		r.quiet++
		c := r.block(s.Body.Stmts)
		r.quiet--
		return c
	case *syntax.SyncStmt:
		return r.syncStmt(s)
	case *syntax.GoStmt:
		k := known{}
		for _, a := range s.Args {
			r.operand(k, a)
		}
		r.point(s, 0)
		var args []Value
		for _, a := range s.Args {
			args = append(args, r.use(k, a))
		}
		r.create(s, r.p.r.Uses[s.Thread], args)
	case *syntax.ReturnStmt:
		c := control{jump: returns, from: strings.Join(r.held, ",")}
		if len(s.Results) == 1 {
			if call, ok := syntax.Unparen(s.Results[0]).(*syntax.CallExpr); ok &&
				r.p.r.Calls[call] == resolve.CallFunc {
				c.results = r.function(call)
				return c
			}
		}
		for _, e := range s.Results {
			v := r.eval(e)
			r.hold(v)
			c.results = append(c.results, v)
		}
		return c
	case *syntax.BranchStmt:
		c := control{jump: map[syntax.BranchToken]jump{
			syntax.Break: breaks, syntax.Continue: continues, syntax.Goto: gotos,
			syntax.Fallthrough: throughs,
		}[s.Tok], from: strings.Join(r.held, ",")}
		if s.Label != nil {
			c.label = s.Label.Name
		}
		if s.Tok == syntax.Goto {
			r.lap(s)
		}
		return c
	case *syntax.LabeledStmt:
		if r.quiet > 0 { // no transition begins here
			return r.statement(s.Stmt, s.Label.Name)
		}
		r.passes++
		l := label{s.Label.Name, r.inlined == 0, r.passes}
		r.labels = append(r.labels, l)
		c := r.statement(s.Stmt, s.Label.Name)
		r.labels = slices.DeleteFunc(r.labels, func(other label) bool { return other == l })
		return c
	case *syntax.AwaitStmt:
		r.point(s, 0)
		r.quiet++
		if !r.eval(s.Cond).(bool) {
			panic(blocked{})
		}
		r.quiet--
	case *syntax.AssertStmt:
		if !r.eval(s.Cond).(bool) {
			r.fail(system.Assertion, s)
		}
	case *syntax.SkipStmt:
		r.point(s, 0)
	}
	return control{}
}

// define declares variables with their values; a name that is declared already
// is assigned.
func (r *run) define(names []*syntax.Ident, values []syntax.Expr) {
	var vals []Value
	if len(values) == 1 && len(names) > 1 {
		vals = r.several(values[0])
	} else {
		for _, e := range values {
			v := r.eval(e)
			r.hold(v)
			vals = append(vals, v)
		}
	}
	for i, id := range names {
		if id.Name == "_" {
			continue
		}
		obj := r.p.r.Uses[id]
		v := zero(obj.Type)
		if vals != nil {
			v = vals[i]
		}
		if obj.Pos == id.Pos() {
			r.vars = append(r.vars, variable{obj, v})
		} else {
			r.local(obj).value = v
		}
	}
}

// several evaluates a call or a receive with more than one result.
func (r *run) several(e syntax.Expr) []Value {
	switch e := syntax.Unparen(e).(type) {
	case *syntax.CallExpr:
		return r.function(e)
	case *syntax.UnaryExpr:
		v, ok := r.receive(e)
		return []Value{v, ok}
	}
	panic("no expression with several values")
}

func (r *run) receive(e *syntax.UnaryExpr) (Value, bool) {
	k := known{}
	o := r.looking(k, e.X)
	r.point(e, 0)
	r.look(k, o)
	done := r.communicate(e, []offer{*o}, -1)
	return done.value, done.ok
}

func isBlank(e syntax.Expr) bool {
	id, ok := e.(*syntax.Ident)
	return ok && id.Name == "_"
}

func isAggregate(t *resolve.Type) bool {
	return t.Kind == resolve.Array || t.Kind == resolve.Struct
}

func (r *run) assign(s *syntax.AssignStmt) {
	switch {
	case s.Op == syntax.Define:
		var names []*syntax.Ident
		for _, e := range s.Lhs {
			names = append(names, e.(*syntax.Ident))
		}
		r.define(names, s.Rhs)
	case s.Op != syntax.Assign:
		r.update(s, s.Lhs[0], s.Op, func() Value { return r.eval(s.Rhs[0]) })
	case len(s.Lhs) == 1 && len(s.Rhs) == 1:
		lhs, rhs := s.Lhs[0], s.Rhs[0]
		if isBlank(lhs) {
			r.eval(rhs)
			return
		}
		k := known{}
		whole := isAggregate(r.typeOf(lhs))
		r.parts(k, lhs, whole)
		if whole {
			k[rhs] = r.eval(rhs)
			r.hold(k[rhs])
		} else {
			r.operand(k, rhs)
		}
		r.store(lhs, k, func() Value { return r.use(k, rhs) })
	default:
		k := known{}
		for _, e := range s.Lhs {
			if !isBlank(e) {
				r.parts(k, e, true)
			}
		}
		var vals []Value
		if len(s.Rhs) == len(s.Lhs) {
			for _, e := range s.Rhs {
				v := r.eval(e)
				r.hold(v)
				vals = append(vals, v)
			}
		} else {
			vals = r.several(s.Rhs[0])
			r.hold(aggregate(vals))
		}
		for i, e := range s.Lhs {
			if !isBlank(e) {
				r.store(e, k, func() Value { return vals[i] })
			}
		}
	}
}

// update executes x op= y.
func (r *run) update(s syntax.Node, x syntax.Expr, op syntax.Op, y func() Value) {
	k := known{}
	r.parts(k, x, false)
	t := r.typeOf(x)
	if !r.shared(x) {
		v, path := r.localPath(x, k)
		old := v.value
		for _, i := range path {
			old = old.(aggregate)[i]
		}
		r.hold(old)
		n := r.binary(s, op, t, old, y())
		v, path = r.localPath(x, k)
		v.value = replace(v.value, path, n)
		return
	}
	old := r.loadShared(x, k)
	r.hold(old)
	n := r.binary(s, op, t, old, y())
	r.hold(n)
	r.storeShared(x, k, func() Value { return n })
}

func (r *run) exprStmt(e syntax.Expr) {
	e = syntax.Unparen(e)
	c, ok := e.(*syntax.CallExpr)
	if !ok {
		r.eval(e)
		return
	}
	switch r.p.r.Calls[c] {
	case resolve.CallFunc:
		r.function(c)
		return
	case resolve.CallBuiltin:
		switch name := r.builtin(c); name {
		case "lock", "unlock", "rlock", "runlock", "up", "down", "add", "done", "notify",
			"notifyAll", "wait", "signal", "broadcast":
			r.lockOp(name, c)
			return
		case "assume":
			r.quiet++
			if !r.eval(c.Args[0]).(bool) {
				panic(dropped{})
			}
			r.quiet--
			return
		case "print":
			mark := len(r.held)
			for _, a := range c.Args {
				if _, ok := syntax.Unparen(a).(*syntax.StringLit); !ok {
					r.hold(r.eval(a))
				}
			}
			r.held = r.held[:mark]
			return
		case "close":
			k := known{}
			r.operand(k, c.Args[0])
			r.point(c, 0)
			r.close(c, r.use(k, c.Args[0]))
			return
		}
	}
	r.eval(e)
}

func (r *run) ifStmt(s *syntax.IfStmt) control {
	n := len(r.vars)
	defer func() { r.vars = r.vars[:min(n, len(r.vars))] }()
	if s.Init != nil {
		r.statement(s.Init, "")
	}
	if r.eval(s.Cond).(bool) {
		return r.block(s.Then.Stmts)
	}
	if s.Else != nil {
		return r.statement(s.Else, "")
	}
	return control{}
}

// iterate reports whether a loop ends after a pass of its body, and how.
func iterate(c control, name string) (end bool, how control) {
	mine := c.label == "" || c.label == name
	switch {
	case c.jump == falls || c.jump == continues && mine:
		return false, control{}
	case c.jump == breaks && mine:
		return true, control{}
	}
	return true, c
}

func (r *run) forStmt(s *syntax.ForStmt, name string) control {
	n := len(r.vars)
	defer func() { r.vars = r.vars[:min(n, len(r.vars))] }()
	if s.Init != nil {
		r.statement(s.Init, "")
	}
	r.loops++
	defer func() { r.loops-- }()
	first := slices.Clone(r.labels)
	for {
		r.again(first)
		if s.Cond != nil && !r.eval(s.Cond).(bool) {
			return control{}
		}
		if end, c := iterate(r.block(s.Body.Stmts), name); end {
			return c
		}
		if s.Post != nil {
			r.statement(s.Post, "")
		}
		r.lap(s)
	}
}

// bind gives the variable of a range clause its value.
func (r *run) bind(s *syntax.RangeStmt, e syntax.Expr, v Value) {
	switch {
	case e == nil || isBlank(e):
	case s.Define:
		r.vars = append(r.vars, variable{r.p.r.Uses[e.(*syntax.Ident)], v})
	default:
		k := known{}
		r.hold(v)
		r.parts(k, e, true)
		r.store(e, k, func() Value { return v })
	}
}

func (r *run) rangeStmt(s *syntax.RangeStmt, name string) control {
	n, mark := len(r.vars), len(r.held)
	defer func() { r.vars = r.vars[:min(n, len(r.vars))] }()
	r.loops++
	defer func() { r.loops-- }()
	t := r.typeOf(s.X)
	pass := func() (bool, control) {
		end, c := iterate(r.block(s.Body.Stmts), name)
		r.vars, r.held = r.vars[:n], r.held[:mark]
		return end, c
	}
	if t.Kind == resolve.Chan {
		ref := r.eval(s.X)
		r.hold(ref)
		mark = len(r.held)
		first := slices.Clone(r.labels)
		for {
			r.again(first)
			r.point(s, 0)
			done := r.communicate(s, []offer{{channel: ref, elem: t.Elem}}, -1)
			if !done.ok {
				return control{}
			}
			r.bind(s, s.Key, done.value)
			if end, c := pass(); end {
				return c
			}
			r.lap(s)
		}
	}
	array := t
	if t.Kind == resolve.Pointer {
		array = t.Elem
	}
	limit, from := big.NewInt(int64(array.Len)), new(big.Int)
	k := known{}
	if t.Kind == resolve.Scalarset { // its names are from 1
		from.SetInt64(1)
		limit = big.NewInt(int64(t.Len) + 1)
	} else if array.Kind == resolve.Array {
		if s.Value != nil && !isBlank(s.Value) { // which array it is, is decided now
			r.object(k, s.X, true)
			mark = len(r.held)
		}
	} else {
		limit = r.eval(s.X).(*big.Int)
		r.hold(limit)
		mark = len(r.held)
	}
	first := slices.Clone(r.labels)
	for i := from; i.Cmp(limit) < 0; i = new(big.Int).Add(i, big.NewInt(1)) {
		r.hold(i)
		r.again(first)
		if t.Kind == resolve.Scalarset {
			r.bind(s, s.Key, ident{t.Name, int(i.Int64())})
		} else {
			r.bind(s, s.Key, i)
		}
		if s.Value != nil && !isBlank(s.Value) {
			r.bind(s, s.Value, r.element(s, array, k, int(i.Int64())))
		}
		if end, c := pass(); end {
			return c
		}
	}
	return control{}
}

// element reads an element of the array that a range goes through.
func (r *run) element(s *syntax.RangeStmt, array *resolve.Type, k known, i int) Value {
	isPointer := r.typeOf(s.X).Kind == resolve.Pointer
	if !isPointer && !r.shared(s.X) {
		v, path := r.localPath(s.X, k)
		x := v.value
		for _, j := range path {
			x = x.(aggregate)[j]
		}
		return x.(aggregate)[i]
	}
	mark, part := len(r.held), 0
	var load func(t *resolve.Type, suffix string) Value
	load = func(t *resolve.Type, suffix string) Value {
		switch t.Kind {
		case resolve.Array:
			a := make(aggregate, t.Len)
			for j := range a {
				a[j] = load(t.Elem, fmt.Sprintf("%s[%d]", suffix, j))
			}
			return a
		case resolve.Struct:
			a := make(aggregate, len(t.Fields))
			for j, f := range t.Fields {
				a[j] = load(f.Type, suffix+"."+f.Name)
			}
			return a
		}
		r.point(s, part)
		part++
		base := ""
		if isPointer {
			base = r.follow(k, s.X)
		} else {
			base = r.address(s.X, k)
		}
		v := r.read(base + suffix)
		r.hold(v)
		return v
	}
	v := load(array.Elem, fmt.Sprintf("[%d]", i))
	r.held = r.held[:mark]
	return v
}

func (r *run) switchStmt(s *syntax.SwitchStmt, name string) control {
	n := len(r.vars)
	defer func() { r.vars = r.vars[:min(n, len(r.vars))] }()
	if s.Init != nil {
		r.statement(s.Init, "")
	}
	var tag Value
	if s.Tag != nil {
		tag = r.eval(s.Tag)
		r.hold(tag)
	}
	taken := -1
	for i, c := range s.Cases {
		if c.Default && taken < 0 {
			taken = i
		}
	}
match:
	for i, c := range s.Cases {
		for _, e := range c.Values {
			v := r.eval(e)
			if tag == nil && v.(bool) || tag != nil && r.binary(e, syntax.Eq, nil, tag, v).(bool) {
				taken = i
				break match
			}
		}
	}
	for ; taken >= 0; taken++ {
		c := r.block(s.Cases[taken].Body)
		if c.jump == throughs {
			continue
		}
		if c.jump == breaks && (c.label == "" || c.label == name) {
			return control{}
		}
		return c
	}
	return control{}
}

// arm is a case of a select, with the value of the variable of one that represents several.
type arm struct {
	c    *syntax.SelectCase
	each []variable
	k    known
	o    *offer // of a receive
}

func (r *run) selectStmt(s *syntax.SelectStmt, name string) control {
	n, mark := len(r.vars), len(r.held)
	var arms []*arm
	for _, c := range s.Cases {
		if c.Each == nil {
			arms = append(arms, &arm{c: c, k: known{}})
			continue
		}
		lo, hi := r.eval(c.Each.Lo).(*big.Int).Int64(), r.eval(c.Each.Hi).(*big.Int).Int64()
		for i := lo; i <= hi; i++ {
			arms = append(arms,
				&arm{c: c, each: []variable{{r.p.r.Uses[c.Each.Var], big.NewInt(i)}}, k: known{}})
		}
	}
	in := func(a *arm, f func()) {
		r.vars = append(r.vars, a.each...)
		f()
		r.vars = r.vars[:n]
	}
	parts := func(a *arm) (channel, send, guard syntax.Expr) {
		switch c := a.c.Comm.(type) {
		case *syntax.SendStmt:
			return c.Chan, c.Value, nil
		case *syntax.ExprStmt:
			return syntax.Unparen(c.X).(*syntax.UnaryExpr).X, nil, nil
		case *syntax.AssignStmt:
			return syntax.Unparen(c.Rhs[0]).(*syntax.UnaryExpr).X, nil, nil
		case *syntax.AwaitStmt:
			return nil, nil, c.Cond
		}
		return nil, nil, nil
	}
	for _, a := range arms {
		in(a, func() {
			channel, send, _ := parts(a)
			switch {
			case send != nil:
				r.operand(a.k, channel)
				r.operand(a.k, send)
			case channel != nil:
				a.o = r.looking(a.k, channel)
			}
		})
	}
	r.point(s, 0)
	offers := make([]offer, len(arms))
	def := -1
	for i, a := range arms {
		in(a, func() {
			o := &offers[i]
			channel, send, guard := parts(a)
			switch {
			case send != nil:
				o.channel, o.elem = r.use(a.k, channel), r.typeOf(channel).Elem
				o.send, o.value, o.at = true, r.use(a.k, send), a.c.Comm
			case channel != nil:
				r.look(a.k, a.o)
				*o = *a.o
			case guard != nil:
				r.quiet++
				o.guard, o.open = true, r.eval(guard).(bool)
				r.quiet--
			default:
				o.guard, def = true, i
			}
		})
	}
	done := r.communicate(s, offers, def)
	r.held = append(r.held[:mark], fmt.Sprint("case ", done.k))
	a := arms[done.k]
	r.vars = append(r.vars, a.each...)
	if as, ok := a.c.Comm.(*syntax.AssignStmt); ok {
		vals := []Value{done.value, done.ok}
		r.hold(aggregate(vals))
		for i, lhs := range as.Lhs {
			switch {
			case isBlank(lhs):
			case as.Op == syntax.Define:
				r.vars = append(r.vars, variable{r.p.r.Uses[lhs.(*syntax.Ident)], vals[i]})
			default:
				k := known{}
				r.parts(k, lhs, true)
				r.store(lhs, k, func() Value { return vals[i] })
			}
		}
		r.held = r.held[:mark+1]
	}
	c := r.statements(a.c.Body)
	r.vars = r.vars[:n]
	if c.jump == breaks && (c.label == "" || c.label == name) {
		return control{}
	}
	return c
}
