package resolve

import (
	"fmt"
	"math"
	"slices"

	"cpor/frontend/model/syntax"
	"cpor/frontend/source"
	"cpor/internal/human"
)

// body is the function, thread or init whose statements are being checked, and what is known
// about it.
type body struct {
	obj     *Object // nil for init
	atomic  int     // the atomic blocks around the statement at hand
	calls   []call
	meets   source.Pos  // an operation on an unbuffered channel outside of atomic blocks, or NoPos
	gos     bool        // it starts threads
	assumes syntax.Node // an assume, or nil
	locals  []*Object
	cells   int
	targets []target // the statements that break and continue can leave
	label   string   // of the statement at hand, "" if it has none
	labels  map[string]*label
	unnamed bool // a statement with a syntax error declares nobody knows what
	bad     bool // there are statements with syntax errors in it
}

// call is a call of a function.
type call struct {
	callee   *Object
	from, to source.Pos
	atomic   bool
	quiet    bool // no transition begins in it: atomic, or in a condition
}

// target is a for, switch or select around a statement.
type target struct {
	label string
	loop  bool
}

// checkBody checks the statements of a function or thread, or of init (obj nil).
func (c *checker) checkBody(obj *Object, block *syntax.Block) {
	b := &body{obj: obj, meets: source.NoPos, bad: obj != nil && c.broken(obj) || obj == nil &&
		c.file.Broken[c.prog.Init]}
	c.body = b
	c.scope = newScope(c.top)
	if obj == nil {
		c.init = b
	} else {
		c.bodies[obj] = b
		for _, p := range obj.Params {
			if p.Name != "_" && c.scope.names[p.Name] == nil {
				c.scope.names[p.Name] = p
			}
			c.grow(p.Type)
		}
		c.tooLarge(block)
	}
	c.collectLabels(block)
	c.stmts(block.Stmts)
	if obj != nil && obj.Kind == FuncObj && obj.Result.Kind != Void && !b.bad &&
		!terminates(block) {
		c.list.Add(block.End()-1, block.End(), "missing return at the end of %s", obj.Name)
	}
	if obj == nil {
		c.prog.InitLocals = b.locals
	} else {
		obj.Locals = b.locals
	}
	c.scope, c.body = c.top, nil
}

// grow counts a local variable.
func (c *checker) grow(t *Type) {
	if n := t.cells(); n <= maxCells { // else it is told where the type is written
		c.body.cells += n
	}
}

// tooLarge reports local variables that are too large together.
func (c *checker) tooLarge(n syntax.Node) {
	b := c.body
	if b.cells > maxCells && b.cells < math.MaxInt/2 {
		c.list.Add(n.Pos(), n.Pos(), "the state is too large: the local variables have more than "+
			"%d elements", maxCells)
		b.cells = math.MaxInt / 2 // once is enough
	}
}

// local declares a local variable.
func (c *checker) local(id *syntax.Ident, t *Type, d syntax.Node) *Object {
	if id.Name == "_" {
		return nil
	}
	obj := &Object{Kind: LocalObj, Name: id.Name, Pos: id.Pos(), Type: t, Decl: d,
		Owner: c.body.obj}
	c.declare(id, obj)
	c.body.locals = append(c.body.locals, obj)
	c.grow(t)
	c.tooLarge(id)
	return obj
}

// declare puts an object into the current scope.
func (c *checker) declare(id *syntax.Ident, obj *Object) {
	c.prog.Uses[id] = obj
	if id.Name == "_" {
		return
	}
	if old := c.scope.names[id.Name]; old != nil && old.Kind != LostObj {
		c.errorf(id, "%s is declared twice in this block", id.Name).Note(old.Pos,
			"the other declaration")
	}
	c.scope.names[id.Name] = obj
}

// block checks statements in a scope of their own.
func (c *checker) block(list []syntax.Stmt) {
	c.scoped(func() { c.stmts(list) })
}

func (c *checker) scoped(f func()) {
	outer := c.scope
	c.scope = newScope(outer)
	f()
	c.scope = outer
}

func (c *checker) stmts(list []syntax.Stmt) {
	for _, s := range list {
		c.stmt(s)
	}
}

func (c *checker) stmt(s syntax.Stmt) {
	label := c.body.label
	c.body.label = ""
	switch s := s.(type) {
	case *syntax.EmptyStmt, *syntax.SkipStmt:
	case *syntax.Block:
		c.block(s.Stmts)
	case *syntax.DeclStmt:
		c.declStmt(s.Decl)
	case *syntax.ExprStmt:
		c.exprStmt(s)
	case *syntax.SendStmt:
		c.send(s)
	case *syntax.AssignStmt:
		c.assignStmt(s)
	case *syntax.IncDecStmt:
		c.incDec(s)
	case *syntax.IfStmt:
		c.scoped(func() {
			if s.Init != nil {
				c.stmt(s.Init)
			}
			c.condition(s.Cond, "the condition of an if")
			c.block(s.Then.Stmts)
			if s.Else != nil {
				c.stmt(s.Else)
			}
		})
	case *syntax.ForStmt:
		c.scoped(func() {
			if s.Init != nil {
				c.stmt(s.Init)
			}
			if s.Cond != nil {
				c.condition(s.Cond, "the condition of a for")
			}
			if s.Post != nil {
				c.stmt(s.Post)
			}
			c.inside(target{label, true}, func() { c.block(s.Body.Stmts) })
		})
	case *syntax.RangeStmt:
		c.scoped(func() {
			c.rangeClause(s)
			c.inside(target{label, true}, func() { c.block(s.Body.Stmts) })
		})
	case *syntax.SwitchStmt:
		c.scoped(func() {
			c.inside(target{label, false}, func() { c.switchStmt(s) })
		})
	case *syntax.SelectStmt:
		c.inside(target{label, false}, func() { c.selectStmt(s) })
	case *syntax.ChooseStmt:
		for _, k := range s.Cases {
			c.block(k.Body)
		}
	case *syntax.SyncStmt:
		x := c.expr(s.Monitor, nil)
		if x.mode != mInvalid {
			c.lockOperand(&x, "synchronized")
		}
		c.block(s.Body.Stmts)
	case *syntax.AtomicStmt:
		c.body.atomic++
		c.block(s.Body.Stmts)
		c.body.atomic--
	case *syntax.GoStmt:
		c.goStmt(s)
	case *syntax.ReturnStmt:
		c.returnStmt(s)
	case *syntax.BranchStmt:
		c.branch(s)
	case *syntax.LabeledStmt:
		c.body.label = s.Label.Name
		c.stmt(s.Stmt)
		c.body.label = ""
	case *syntax.AwaitStmt:
		old := c.noEffects
		c.noEffects = awaited
		c.condition(s.Cond, "the condition of an await")
		c.noEffects = old
	case *syntax.AssertStmt:
		c.condition(s.Cond, "the condition of an assert")
	case *syntax.BadStmt:
		c.badStmt(s)
	}
}

// incDec checks x++ and x--.
func (c *checker) incDec(s *syntax.IncDecStmt) {
	x := c.lvalue(s.X)
	switch {
	case x.mode == mInvalid:
	case x.typ == nil:
		c.errorf(s.X, "_ has no value")
	case x.typ.Kind != Int:
		c.errorf(s, "++ and -- need an integer; %s is not", c.show(&x))
	}
}

func (c *checker) selectStmt(s *syntax.SelectStmt) {
	for _, k := range s.Cases {
		c.scoped(func() {
			c.eachCase(k)
			if k.Comm != nil {
				c.stmt(k.Comm)
			}
			c.stmts(k.Body)
		})
	}
}

// badStmt handles a statement with a syntax error: it may have declared names, so uses of them
// are not reported.
func (c *checker) badStmt(s *syntax.BadStmt) {
	c.body.unnamed = c.body.unnamed || s.Unnamed
	mayDeclare := func() {
		for _, name := range s.Names {
			if c.scope.find(name) == nil || slices.Contains(s.Declared, name) {
				c.scope.names[name] = &Object{Kind: LostObj, Name: name, Pos: s.Pos(),
					Type: invalidType, Decl: s, Owner: c.body.obj}
			}
		}
	}
	if len(s.Blocks) == 0 {
		mayDeclare()
		return
	}
	c.scoped(func() { // they are declared in a header
		mayDeclare()
		for _, b := range s.Blocks {
			if s.Loop {
				c.inside(target{loop: true}, func() { c.block(b.Stmts) })
			} else {
				c.block(b.Stmts)
			}
		}
	})
}

// lost reports whether a name occurs in a node that a statement with a syntax error may have
// declared.
func (c *checker) lost(n syntax.Node) bool {
	if id, ok := n.(*syntax.Ident); ok {
		obj := c.scope.find(id.Name)
		return obj != nil && obj.Kind == LostObj
	}
	return slices.ContainsFunc(syntax.Children(n), c.lost)
}

// inside checks statements that break or continue can leave.
func (c *checker) inside(t target, f func()) {
	c.body.targets = append(c.body.targets, t)
	f()
	c.body.targets = c.body.targets[:len(c.body.targets)-1]
}

func (c *checker) declStmt(d syntax.Decl) {
	switch d := d.(type) {
	case *syntax.ConstDecl:
		obj := &Object{Kind: ConstObj, Name: d.Name.Name, Pos: d.Name.Pos(), Decl: d}
		c.constant(obj, d, false)
		c.declare(d.Name, obj)
	case *syntax.TypeDecl:
		obj := &Object{Kind: TypeObj, Name: d.Name.Name, Pos: d.Name.Pos(), Decl: d,
			Type: &Type{Kind: Invalid, Name: d.Name.Name}}
		c.declare(d.Name, obj)
		in := &info{state: pending}
		c.info[obj] = in
		c.delay = true
		c.declaredType(obj, d)
		c.delay = false
		in.state = known
		for i := 0; i < len(c.later); i++ {
			c.later[i]()
		}
		c.later = nil
	case *syntax.VarDecl:
		c.varStmt(d)
	}
}

func (c *checker) varStmt(d *syntax.VarDecl) {
	var t *Type
	if d.Type != nil {
		t = c.typ(d.Type, localPlace)
		c.localType(d.Type, t, "a local variable")
	}
	types := make([]*Type, len(d.Names))
	for i := range types {
		types[i] = t
	}
	if len(d.Values) > 0 {
		xs := c.values(d.Values, len(d.Names), t)
		for i := range d.Names {
			x := &xs[i]
			if t != nil {
				c.assign(x, t, "the declaration of "+d.Names[i].Name)
			} else {
				types[i] = c.newVarType(x)
			}
		}
	}
	for i, n := range d.Names {
		c.local(n, types[i], d)
	}
}

// newVarType returns the type of a variable that is declared with a value.
func (c *checker) newVarType(x *operand) *Type {
	if x.mode == mInvalid {
		return invalidType
	}
	t := c.defaultType(x)
	c.copies(x)
	if x.mode == mInvalid {
		return invalidType
	}
	return t
}

// values checks the right side of an assignment to n variables: n expressions, or a call or a
// receive with n values.
func (c *checker) values(list []syntax.Expr, n int, hint *Type) []operand {
	if len(list) == 1 && n > 1 {
		e := list[0]
		switch x := syntax.Unparen(e).(type) {
		case *syntax.CallExpr:
			r := c.any(e, nil)
			if r.mode == mInvalid {
				return make([]operand, n)
			}
			if r.mode == mTuple && len(r.typ.Fields) == n {
				xs := make([]operand, n)
				for i, f := range r.typ.Fields {
					xs[i] = operand{mode: mValue, typ: f.Type, expr: e}
				}
				return xs
			}
			got := 1
			if r.mode == mTuple {
				got = len(r.typ.Fields)
			} else if r.mode == mNone {
				got = 0
			}
			c.errorf(e, "%s has %s, not %d", text(e), human.Plural(got, "value"), n)
			return make([]operand, n)
		case *syntax.UnaryExpr:
			if x.Op == syntax.Arrow && n == 2 {
				r := c.expr(e, nil)
				if r.mode == mInvalid {
					return make([]operand, n)
				}
				return []operand{r, {mode: mValue, typ: boolType, expr: e}}
			}
		}
	}
	if len(list) != n {
		for _, e := range list {
			c.any(e, hint)
		}
		c.list.Add(list[0].Pos(), list[len(list)-1].End(), "%s for %s",
			human.Plural(len(list), "value"), human.Plural(n, "variable"))
		return make([]operand, n)
	}
	xs := make([]operand, n)
	for i, e := range list {
		xs[i] = c.expr(e, hint)
	}
	return xs
}

// awaited names the place of an await's condition, for messages.
const awaited = "the condition of an await"

func (c *checker) exprStmt(s *syntax.ExprStmt) {
	switch e := syntax.Unparen(s.X).(type) {
	case *syntax.CallExpr:
		x := c.any(s.X, nil)
		if c.prog.Calls[e] == CallFunc || x.mode == mInvalid || x.mode == mNone {
			return
		}
		if id, ok := syntax.Unparen(e.Fun).(*syntax.Ident); ok &&
			(id.Name == "cas" || id.Name == "trylock" || id.Name == "tryrlock") {
			return
		}
	case *syntax.UnaryExpr:
		if x := c.expr(s.X, nil); e.Op == syntax.Arrow || x.mode == mInvalid {
			return
		}
	default:
		x := c.expr(s.X, nil)
		if x.mode == mInvalid {
			return
		}
		if b, ok := e.(*syntax.BinaryExpr); ok && b.Op.Prec() <= 3 {
			hint := ""
			if b.Op == syntax.Eq {
				hint = fmt.Sprintf("; to assign write =, to wait for it await(%s)", text(s.X))
			} else {
				hint = fmt.Sprintf("; to wait for it write await(%s)", text(s.X))
			}
			c.errorf(s, "%s is computed but not used%s", text(s.X), hint)
			return
		}
	}
	c.errorf(s, "%s is computed but not used", text(s.X))
}

func (c *checker) send(s *syntax.SendStmt) {
	t := c.channel(s.Chan, "<-")
	var hint *Type
	if t != nil {
		hint = t.Elem
	}
	x := c.expr(s.Value, hint)
	if t == nil {
		return
	}
	c.assign(&x, t.Elem, "the send")
	c.meet(s, t)
}

// lvalue checks an expression that is assigned to; the type of _ is nil.
func (c *checker) lvalue(e syntax.Expr) operand {
	if id, ok := e.(*syntax.Ident); ok && id.Name == "_" {
		return operand{mode: mVar, expr: e}
	}
	x := c.any(e, nil)
	if x.mode == mInvalid {
		return x
	}
	name := text(e)
	switch {
	case x.mode == mConst:
		c.errorf(e, "%s is constant: it cannot be assigned", name)
	case x.mode == mVar && x.typ.Kind == Chan && x.typ.Cap >= 0:
		c.errorf(e, "the channel %s cannot be assigned: it is one for the whole run; a local "+
			"variable of type chan %s can refer to different channels", name, x.typ.Elem)
	case x.mode == mVar && x.typ.isLock():
		c.errorf(e, "the %s %s cannot be assigned", x.typ, name)
	case x.mode == mVar && x.typ.object() != "":
		c.errorf(e, "%s contains %s, which cannot be assigned or copied", x.typ, x.typ.object())
	case x.mode == mVar:
		return x
	default:
		if id, ok := syntax.Unparen(e).(*syntax.Ident); ok {
			if obj := c.prog.Uses[id]; obj != nil {
				c.errorf(e, "%s is %s: it cannot be assigned", name, kindName(obj.Kind))
				break
			}
		}
		c.errorf(e, "%s is not a variable: it cannot be assigned", name)
	}
	return operand{expr: e, typ: invalidType}
}

func (c *checker) assignStmt(s *syntax.AssignStmt) {
	switch s.Op {
	case syntax.Define:
		c.define(s)
	case syntax.Assign:
		c.assignAll(s)
	default:
		x := c.lvalue(s.Lhs[0])
		y := c.expr(s.Rhs[0], nil)
		if x.mode == mInvalid {
			return
		}
		if x.typ == nil {
			c.errorf(s.Lhs[0], "_ has no value")
			return
		}
		c.binary(&x, &y, s.Op, s)
	}
}

func (c *checker) assignAll(s *syntax.AssignStmt) {
	lhs := make([]operand, len(s.Lhs))
	for i, e := range s.Lhs {
		lhs[i] = c.lvalue(e)
	}
	var hint *Type
	if len(lhs) == 1 {
		hint = lhs[0].typ
	}
	rhs := c.values(s.Rhs, len(s.Lhs), hint)
	for i := range lhs {
		c.store(&lhs[i], &rhs[i], i == 1 && len(s.Rhs) == 1)
	}
}

// store checks the assignment of a value to what lvalue returned. isOK says that
// it is the second result of a receive, which fits every bool type.
func (c *checker) store(to, x *operand, isOK bool) {
	switch {
	case x.mode == mInvalid || x.typ == nil:
	case to.mode == mInvalid:
		if x.typ.untyped() && x.typ != untypedNil {
			c.defaultType(x)
		}
	case to.typ == nil: // _
		c.newVarType(x)
	case isOK && x.typ == boolType && to.typ.Kind == Bool && c.isReceive(x.expr):
	default:
		c.assign(x, to.typ, "the assignment to "+text(to.expr))
	}
}

func (c *checker) isReceive(e syntax.Expr) bool {
	u, ok := syntax.Unparen(e).(*syntax.UnaryExpr)
	return ok && u.Op == syntax.Arrow
}

// define checks :=.
func (c *checker) define(s *syntax.AssignStmt) {
	xs := c.values(s.Rhs, len(s.Lhs), nil)
	fresh := 0
	var declared []*syntax.Ident
	var types []*Type
	for i, e := range s.Lhs {
		id, ok := e.(*syntax.Ident)
		if !ok {
			continue // the parser refuses it
		}
		if id.Name == "_" {
			if xs[i].mode != mInvalid {
				c.newVarType(&xs[i])
			}
			continue
		}
		if slices.ContainsFunc(declared, func(d *syntax.Ident) bool { return d.Name == id.Name }) {
			c.errorf(id, "%s appears twice on the left of ':='", id.Name)
			continue
		}
		if old := c.scope.names[id.Name]; old != nil && old.Kind == LocalObj {
			x := c.lvalue(id)
			c.store(&x, &xs[i], i == 1 && len(s.Rhs) == 1)
			continue
		}
		fresh++
		declared = append(declared, id)
		types = append(types, c.newVarType(&xs[i]))
	}
	if fresh == 0 {
		c.errorf(s, "no new variable on the left of ':='; use '='")
	}
	for i, id := range declared {
		c.local(id, types[i], s)
	}
}

func (c *checker) rangeClause(s *syntax.RangeStmt) {
	if names := c.namesOf(s.X); names != nil {
		c.rangeNames(s, names)
		return
	}
	x := c.expr(s.X, nil)
	key, val := invalidType, invalidType
	t := x.typ
	if t != nil && t.Kind == Pointer && t.Elem.Kind == Array {
		t = t.Elem
	}
	one := func(what string) {
		if s.Value != nil {
			c.errorf(s.Value, "a range over %s has one variable", what)
		}
	}
	switch {
	case x.mode == mInvalid:
	case t.isInt():
		one("an integer")
		if t.untyped() && !s.Define && s.Key != nil {
			if k := c.rangeTarget(s.Key); k != nil && k.Kind == Int {
				c.convert(&x, k)
			}
		}
		c.defaultType(&x)
		key = x.typ
	case t.Kind == Array:
		if x.mode != mVar && x.typ.Kind != Pointer {
			c.isPlace(&x)
			break
		}
		if t.Index != nil {
			c.errorf(s.X, "the indices of %s are names in no order: in init, range over these, "+
				"for p := range %s", text(s.X), t.Index)
			break
		}
		key, val = intType, t.Elem
	case t.Kind == Chan:
		one("a channel")
		key = t.Elem
		c.meet(s.X, t)
	default:
		c.errorf(s.X, "cannot range over %s: only over an integer, an array or a channel",
			c.show(&x))
	}
	c.rangeVar(s, s.Key, key, &x)
	if s.Value != nil {
		c.rangeVar(s, s.Value, val, &x)
	}
}

// rangeNames checks a range over a type of interchangeable names.
func (c *checker) rangeNames(s *syntax.RangeStmt, names *Type) {
	if s.Value != nil {
		c.errorf(s.Value, "a range over %s has one variable", names)
	}
	if c.body != c.init {
		c.errorf(s.X, "a range over %s would distinguish the names by its order: it is "+
			"allowed only in init; a thread takes any of them with choose(%[1]s), or all in "+
			"await(forall p in %[1]s { ... })", names)
	}
	over := operand{mode: mType, typ: names, expr: s.X}
	c.rangeVar(s, s.Key, names, &over)
	c.rangeVar(s, s.Value, invalidType, &over)
}

// rangeTarget returns the type of the variable that a range assigns.
func (c *checker) rangeTarget(e syntax.Expr) *Type {
	if id, ok := e.(*syntax.Ident); ok && id.Name == "_" {
		return nil
	}
	n := c.list.Len()
	x := c.any(e, nil)
	c.list.Messages = c.list.Messages[:n] // rangeVar reports them
	if x.mode != mVar {
		return nil
	}
	return x.typ
}

// rangeVar declares or assigns a variable of a range clause.
func (c *checker) rangeVar(s *syntax.RangeStmt, e syntax.Expr, t *Type, over *operand) {
	if e == nil {
		return
	}
	x := operand{mode: mValue, typ: t, expr: s.X}
	if t.Kind == Invalid {
		x.mode = mInvalid
	}
	if id, ok := e.(*syntax.Ident); ok && id.Name == "_" {
		return
	}
	if s.Define {
		id, ok := e.(*syntax.Ident)
		if !ok {
			return // the parser refuses it
		}
		if o := t.object(); o != "" && t.Kind != Chan {
			c.errorf(e, "the elements of %s are or contain %s, which cannot be copied: range "+
				"over the indices, for i := range %s", text(s.X), o, text(s.X))
			x.mode, x.typ = mInvalid, invalidType
		}
		c.local(id, c.newVarType(&x), s)
		return
	}
	to := c.lvalue(e)
	if to.mode != mInvalid && x.mode != mInvalid && to.typ != x.typ {
		c.assign(&x, to.typ, "the variable of the range")
	}
}

func (c *checker) switchStmt(s *syntax.SwitchStmt) {
	if s.Init != nil {
		c.stmt(s.Init)
	}
	var tag operand
	if s.Tag != nil {
		tag = c.expr(s.Tag, nil)
		if tag.mode != mInvalid {
			c.defaultType(&tag)
		}
		if tag.mode != mInvalid && !tag.typ.IsScalar() {
			c.errorf(s.Tag, "%s cannot be compared; compare the parts", c.describe(tag.typ))
			tag.mode = mInvalid
		}
	}
	seen := map[string]syntax.Expr{}
	for i, k := range s.Cases {
		for _, v := range k.Values {
			if s.Tag == nil {
				c.condition(v, "a case of a switch without a value")
				continue
			}
			y := c.expr(v, nil)
			x := tag
			if r := c.comparison(&x, &y, syntax.Eq, v); r.mode == mInvalid || y.mode != mConst {
				continue
			}
			if old := seen[y.val.String()]; old != nil {
				c.errorf(v, "the case %s appears twice in this switch", text(v)).Note(old.Pos(),
					"the other one")
			} else {
				seen[y.val.String()] = v
			}
		}
		list := k.Body
		if n := len(list); n > 0 {
			if b, ok := list[n-1].(*syntax.BranchStmt); ok && b.Tok == syntax.Fallthrough {
				list = list[:n-1]
				if i == len(s.Cases)-1 {
					c.errorf(b, "the last case of a switch has no case to fall through to")
				}
			}
		}
		c.block(list)
	}
}

func (c *checker) goStmt(s *syntax.GoStmt) {
	c.body.gos = true
	obj := c.scope.find(s.Thread.Name)
	if obj == nil || obj.Kind != ThreadObj {
		for _, a := range s.Args {
			c.expr(a, nil)
		}
		if obj != nil {
			c.prog.Uses[s.Thread] = obj
			c.errorf(s.Thread, "%s is %s, not a thread: declare thread %s(...) { ... }", obj.Name,
				kindName(obj.Kind), obj.Name)
			return
		}
		if a := advice[s.Thread.Name]; a != "" {
			c.errorf(s.Thread, "undefined: %s; %s", s.Thread.Name, a)
			return
		}
		c.undefined(s.Thread, "thread", func(o *Object) bool { return o.Kind == ThreadObj })
		return
	}
	c.prog.Uses[s.Thread] = obj
	c.passed(s, s.Args, obj)
}

func (c *checker) returnStmt(s *syntax.ReturnStmt) {
	obj := c.body.obj
	if obj == nil || obj.Kind != FuncObj {
		if len(s.Results) > 0 {
			for _, e := range s.Results {
				c.any(e, nil)
			}
			what := "a thread"
			if obj == nil {
				what = "init"
			}
			c.errorf(s, "%s returns no value", what)
		}
		return
	}
	var want []*Type
	switch r := obj.Result; r.Kind {
	case Void:
	case Tuple:
		for _, f := range r.Fields {
			want = append(want, f.Type)
		}
	default:
		want = []*Type{r}
	}
	if len(want) > 1 && len(s.Results) == 1 {
		if _, ok := syntax.Unparen(s.Results[0]).(*syntax.CallExpr); ok {
			xs := c.values(s.Results, len(want), nil)
			for i := range xs {
				if xs[i].mode != mInvalid {
					c.assign(&xs[i], want[i], "the return")
				}
			}
			return
		}
	}
	for i, e := range s.Results {
		x := c.expr(e, nil)
		if i < len(want) {
			c.assign(&x, want[i], "the return")
		}
	}
	if len(s.Results) != len(want) {
		c.errorf(s, "%s returns %s, and this return has %d", obj.Name,
			human.Plural(len(want), "value"), len(s.Results)).
			Note(obj.Pos, "the declaration of %s", obj.Name)
	}
}

func (c *checker) branch(s *syntax.BranchStmt) {
	switch s.Tok {
	case syntax.Goto:
		return // collectLabels has checked it
	case syntax.Fallthrough:
		c.errorf(s, "fallthrough is allowed only at the end of a switch case")
		return
	}
	for i := len(c.body.targets) - 1; i >= 0; i-- {
		t := c.body.targets[i]
		if s.Label != nil {
			if t.label != s.Label.Name {
				continue
			}
			c.prog.Uses[s.Label] = c.body.labels[s.Label.Name].obj
			if s.Tok == syntax.Continue && !t.loop {
				c.errorf(s, "%s is not a loop: continue needs a for", s.Label.Name)
			}
			return
		}
		if t.loop || s.Tok == syntax.Break {
			return
		}
	}
	switch {
	case s.Label == nil && s.Tok == syntax.Break:
		c.errorf(s, "break outside of for, switch and select")
	case s.Label == nil:
		c.errorf(s, "continue outside of a for loop")
	case c.body.labels[s.Label.Name] == nil:
		c.noLabel(s.Label)
	case s.Tok == syntax.Break:
		c.errorf(s, "%s is not the label of a for, switch or select around this break",
			s.Label.Name)
	default:
		c.errorf(s, "%s is not the label of a for around this continue", s.Label.Name)
	}
}

// terminates reports whether control never reaches the end of a statement, by Go's rules.
func terminates(s syntax.Stmt) bool {
	switch s := s.(type) {
	case *syntax.ReturnStmt:
		return true
	case *syntax.BranchStmt:
		return s.Tok == syntax.Goto
	case *syntax.Block:
		return listTerminates(s.Stmts)
	case *syntax.AtomicStmt:
		return terminates(s.Body)
	case *syntax.SyncStmt:
		return terminates(s.Body)
	case *syntax.LabeledStmt:
		return terminatesLabeled(s.Stmt, s.Label.Name)
	}
	return terminatesLabeled(s, "")
}

func terminatesLabeled(s syntax.Stmt, label string) bool {
	switch s := s.(type) {
	case *syntax.IfStmt:
		return s.Else != nil && terminates(s.Then) && terminates(s.Else)
	case *syntax.ForStmt:
		return s.Cond == nil && !breaks(s.Body.Stmts, label, true)
	case *syntax.SwitchStmt:
		return switchTerminates(s, label)
	case *syntax.SelectStmt:
		for _, k := range s.Cases {
			if !listTerminates(k.Body) || breaks(k.Body, label, true) {
				return false
			}
		}
		return true
	case *syntax.ChooseStmt:
		for _, k := range s.Cases {
			if !listTerminates(k.Body) {
				return false
			}
		}
		return true
	case *syntax.Block, *syntax.AtomicStmt, *syntax.SyncStmt, *syntax.LabeledStmt,
		*syntax.ReturnStmt, *syntax.BranchStmt:
		return terminates(s)
	}
	return false
}

func switchTerminates(s *syntax.SwitchStmt, label string) bool {
	hasDefault := false
	for _, k := range s.Cases {
		hasDefault = hasDefault || k.Default
		through := false
		if n := len(k.Body); n > 0 {
			b, ok := k.Body[n-1].(*syntax.BranchStmt)
			through = ok && b.Tok == syntax.Fallthrough
		}
		if !through && !listTerminates(k.Body) || breaks(k.Body, label, true) {
			return false
		}
	}
	return hasDefault
}

func listTerminates(list []syntax.Stmt) bool {
	for i := len(list) - 1; i >= 0; i-- {
		if _, empty := list[i].(*syntax.EmptyStmt); !empty {
			return terminates(list[i])
		}
	}
	return false
}

// breaks reports whether statements contain a break that leaves the statement around them: one
// without a label (direct says whether there is no other target in between), or one with its
// label.
func breaks[T syntax.Node](list []T, label string, direct bool) bool {
	return slices.ContainsFunc(list, func(n T) bool { return breaksNode(n, label, direct) })
}

func breaksNode(n syntax.Node, label string, direct bool) bool {
	switch n := n.(type) {
	case *syntax.BranchStmt:
		if n.Tok != syntax.Break {
			return false
		}
		if n.Label == nil {
			return direct
		}
		return label != "" && n.Label.Name == label
	case *syntax.ForStmt, *syntax.RangeStmt, *syntax.SwitchStmt, *syntax.SelectStmt:
		direct = false
	}
	return breaks(syntax.Children(n), label, direct)
}
