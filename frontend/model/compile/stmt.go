package compile

import (
	"fmt"
	"slices"
	"strings"

	"cpor/frontend/model/resolve"
	"cpor/frontend/model/syntax"
	"cpor/frontend/source"
	"cpor/system"
)

// declare makes the variables of a local variable or parameter.
func (g *gen) declare(obj *resolve.Object) *binding {
	b := &binding{obj: obj}
	if hasArray(obj.Type) {
		b.mem = g.newVar(obj.Name, obj.Type, true)
		b.mem.obj = obj
	} else {
		names := leafNames(nil, obj.Name, obj.Type)
		for i, t := range leafTypes(nil, obj.Type) {
			v := g.newVar(names[i], t, false)
			v.obj = obj
			b.vars = append(b.vars, v)
		}
	}
	g.env[obj] = b
	return b
}

// setLeaves stores values into a new local variable; nil means zero.
func (g *gen) setLeaves(b *binding, vs []value) {
	n := leafCount(b.obj.Type)
	for i := range n {
		v := value{reg: g.constReg(0)}
		if vs != nil {
			v = vs[i]
		}
		if b.mem != nil {
			g.op(OpStoreLocal, g.constReg(int64(b.mem.Base+i)), v.reg, 0)
		} else {
			g.move(b.vars[i].Reg, v.reg)
		}
		g.free(v)
	}
}

func (g *gen) block(stmts []syntax.Stmt) {
	n := len(g.alive)
	for _, s := range stmts {
		g.statement(s)
	}
	g.alive = g.alive[:n]
}

func (g *gen) statement(s syntax.Stmt) {
	stmt, text, waits, from := g.stmt, g.text, g.waits, len(g.p.Code)
	g.waits = -1
	g.at(s, s.Pos(), s.End())
	g.compileStmt(s, "")
	g.covered(s, from)
	g.stmt, g.text, g.waits = stmt, text, waits
}

// header makes points describe the first part of a statement only.
func (g *gen) header(s syntax.Node, end source.Pos) { g.at(s, s.Pos(), end) }

func (g *gen) compileStmt(s syntax.Stmt, label string) {
	switch s := s.(type) {
	case *syntax.EmptyStmt:
	case *syntax.Block:
		g.block(s.Stmts)
	case *syntax.DeclStmt:
		if d, ok := s.Decl.(*syntax.VarDecl); ok {
			g.localVar(d)
		}
	case *syntax.ExprStmt:
		g.exprStmt(s.X)
	case *syntax.SendStmt:
		g.send(s)
	case *syntax.AssignStmt:
		g.assign(s)
	case *syntax.IncDecStmt:
		op := syntax.Add
		if s.Dec {
			op = syntax.Sub
		}
		g.update(s, s.X, op, nil)
	case *syntax.IfStmt:
		g.ifStmt(s)
	case *syntax.ForStmt:
		g.forStmt(s, label)
	case *syntax.RangeStmt:
		g.rangeStmt(s, label)
	case *syntax.SwitchStmt:
		g.switchStmt(s, label)
	case *syntax.SelectStmt:
		g.selectStmt(s, label)
	case *syntax.ChooseStmt:
		g.chooseStmt(s)
	case *syntax.AtomicStmt:
		g.point()
		if g.quiet == 0 {
			g.p.Points[len(g.p.Points)-1].Atomic = true
		}
		g.quiet++
		g.block(s.Body.Stmts)
		g.quiet--
	case *syntax.SyncStmt:
		g.syncStmt(s)
	case *syntax.GoStmt:
		g.goStmt(s)
	case *syntax.ReturnStmt:
		g.returnStmt(s)
	case *syntax.BranchStmt:
		g.branch(s)
	case *syntax.LabeledStmt:
		g.labeled(s)
	case *syntax.AwaitStmt:
		g.point()
		g.canWait()
		ok := g.label()
		g.guard(func() { g.condJump(s.Cond, ok, true) })
		g.op(OpBlock, 0, 0, 0)
		g.here(ok)
	case *syntax.AssertStmt:
		ok := g.label()
		msg := s.Message
		if msg == "" {
			msg = "assertion failed: " + Shorten(g.p.Source.Text[s.Cond.Pos():s.Cond.End()])
		}
		g.asserted(s.Cond, ok,
			Instr{Op: OpFail, Site: g.site(s.Pos(), system.Assertion, msg)})
		g.here(ok)
	case *syntax.SkipStmt:
		g.point()
	}
}

// guard compiles a condition that a thread waits for. It reads everything in one step, and its
// coverage counts only when it holds; see cover.
func (g *gen) guard(compile func()) {
	g.quiet++
	g.uncounted++
	compile()
	g.uncounted--
	g.quiet--
}

func (g *gen) localVar(d *syntax.VarDecl) {
	g.define(d.Names, d.Values)
}

// define declares local variables with their initial values; a name that is
// declared already (as := allows) is assigned, and _ is dropped.
func (g *gen) define(names []*syntax.Ident, values []syntax.Expr) {
	if len(names) == 1 && len(values) == 1 && g.isDef(names[0]) {
		if obj := g.r.Uses[names[0]]; obj.Type.Kind != resolve.Struct &&
			obj.Type.Kind != resolve.Array {
			// The common case needs no temporary value. The variable comes
			// to life with its value: it is not alive at the points before.
			n := len(g.alive)
			v := g.declare(obj).vars[0]
			g.alive = g.alive[:n]
			if g.isPure(values[0]) {
				g.exprTo(values[0], v.Reg)
			} else {
				x := g.value(values[0])
				g.move(v.Reg, x.reg)
				g.free(x)
			}
			g.alive = append(g.alive, v)
			return
		}
	}
	vals := make([][]value, len(names))
	if len(values) == len(names) {
		for i, e := range values {
			vals[i] = g.leaves(e)
		}
	} else if len(values) == 1 {
		vals = g.several(values[0], len(names))
	}
	for i, id := range names {
		switch obj := g.r.Uses[id]; {
		case id.Name == "_":
			g.free(vals[i]...)
		case g.isDef(id):
			g.setLeaves(g.declare(obj), vals[i])
		default:
			g.setLeaves(g.env[obj], vals[i])
		}
	}
}

// isDef reports whether an identifier is the declaration of its variable.
func (g *gen) isDef(id *syntax.Ident) bool {
	obj := g.r.Uses[id]
	return obj != nil && obj.Kind == resolve.LocalObj && obj.Pos == id.Pos()
}

// several evaluates a call or receive with more than one result.
func (g *gen) several(e syntax.Expr, n int) [][]value {
	e = unparen(e)
	switch e := e.(type) {
	case *syntax.CallExpr:
		leaves := values(g.inline(e))
		vs := make([][]value, n)
		for i, f := range g.typeOf(e).Fields {
			k := leafCount(f.Type)
			vs[i], leaves = leaves[:k:k], leaves[k:]
		}
		return vs
	case *syntax.UnaryExpr: // v, ok := <-c
		types := leafTypes(nil, g.typeOf(e.X).Elem)
		regs := make([]int32, len(types))
		vs := make([]value, len(types))
		for i, t := range types {
			v := g.temp(t)
			regs[i], vs[i] = v.Reg, value{v.Reg, v}
		}
		ok := g.temp(boolType)
		g.receiveLeaves(e, regs, ok.Reg)
		return [][]value{vs, {{ok.Reg, ok}}}
	}
	g.errorf(e, "this expression has one value, not %d", n)
	return make([][]value, n)
}

var boolType = &resolve.Type{Kind: resolve.Bool, Name: "bool"}

func (g *gen) assign(s *syntax.AssignStmt) {
	switch {
	case s.Op == syntax.Define:
		names := make([]*syntax.Ident, len(s.Lhs))
		for i, e := range s.Lhs {
			names[i] = e.(*syntax.Ident)
		}
		g.define(names, s.Rhs)
	case s.Op != syntax.Assign:
		g.update(s, s.Lhs[0], s.Op, s.Rhs[0])
	case len(s.Lhs) == 1 && len(s.Rhs) == 1:
		g.assignOne(s.Lhs[0], s.Rhs[0])
	default:
		places := make([]*place, len(s.Lhs))
		for i, e := range s.Lhs {
			if id, ok := e.(*syntax.Ident); !ok || id.Name != "_" {
				places[i] = g.heldPlace(e)
			}
		}
		var vals [][]value
		if len(s.Rhs) == len(s.Lhs) {
			for _, e := range s.Rhs {
				vals = append(vals, g.leaves(e))
			}
		} else {
			vals = g.several(s.Rhs[0], len(s.Lhs))
		}
		for i, pl := range places {
			g.storeLeaves(pl, vals[i])
		}
	}
}

// heldPlace evaluates a place whose parts later statements do not change.
func (g *gen) heldPlace(e syntax.Expr) *place {
	pl := g.place(e)
	var hold func(e syntax.Expr)
	add := func(x syntax.Expr) {
		if _, ok := pl.vals[x]; !ok {
			if _, c := g.constant(x); !c {
				pl.vals[x] = g.held(x)
			}
		}
	}
	hold = func(e syntax.Expr) {
		switch e := e.(type) {
		case *syntax.ParenExpr:
			hold(e.X)
		case *syntax.SelectorExpr:
			if g.typeOf(e.X).Kind == resolve.Pointer {
				add(e.X)
			} else {
				hold(e.X)
			}
		case *syntax.IndexExpr:
			if g.typeOf(e.X).Kind == resolve.Pointer {
				add(e.X)
			} else {
				hold(e.X)
			}
			add(e.Index)
		case *syntax.UnaryExpr:
			add(e.X)
		}
	}
	hold(e)
	return pl
}

// storeLeaves stores values into a place (nil for _) and drops both.
func (g *gen) storeLeaves(pl *place, vs []value) {
	for i, v := range vs {
		if pl == nil {
			g.free(v)
			continue
		}
		g.store(pl, i, func() value { return v })
	}
	if pl != nil {
		g.release(pl)
	}
}

func (g *gen) assignOne(lhs, rhs syntax.Expr) {
	if id, ok := lhs.(*syntax.Ident); ok && id.Name == "_" {
		g.free(g.leaves(rhs)...)
		return
	}
	t := g.typeOf(lhs)
	if t.Kind == resolve.Struct || t.Kind == resolve.Array {
		pl := g.heldPlace(lhs)
		g.storeLeaves(pl, g.leaves(rhs))
		return
	}
	pl := g.place(lhs)
	switch {
	case pl.direct != nil:
		dst := pl.direct.vars[pl.off]
		if g.isPure(rhs) {
			g.exprTo(rhs, dst.Reg)
		} else {
			v := g.value(rhs)
			g.move(dst.Reg, v.reg)
			g.free(v)
		}
	case g.isPure(rhs):
		g.store(pl, 0, func() value { return g.value(rhs) })
	default:
		v := g.value(rhs)
		g.store(pl, 0, func() value { return v })
	}
	g.release(pl)
}

// update compiles x op= e, x++ and x-- (e is nil).
func (g *gen) update(s syntax.Node, lhs syntax.Expr, op syntax.Op, rhs syntax.Expr) {
	pl := g.place(lhs)
	t := g.typeOf(lhs)
	operand := func() value {
		if rhs == nil {
			return value{reg: g.constReg(1)}
		}
		return g.value(rhs)
	}
	var shift *resolve.Type
	if op == syntax.Shl || op == syntax.Shr {
		shift = g.typeOf(rhs)
	}
	if pl.direct != nil {
		dst := pl.direct.vars[pl.off].Reg
		v := operand()
		g.arith(s, op, t, shift, dst, dst, v.reg)
		g.free(v)
		return
	}
	adds := pl.shared && (op == syntax.Add || op == syntax.Sub) && g.bitsOf(t) <= 32 &&
		(rhs == nil || g.ready(rhs))
	if adds && g.quiet > 0 {
		a := g.address(pl, 0)
		v := operand()
		in := Instr{Op: OpBump, B: a.reg, C: v.reg, T: g.typeIndex(t), Site: g.fault(s)}
		if op == syntax.Sub {
			in.D = 1
		}
		g.emit(in)
		g.free(a, v)
		g.release(pl)
		return
	}
	x := g.temp(t)
	g.load(pl, 0, x.Reg)
	v := operand()
	g.arith(s, op, t, shift, x.Reg, x.Reg, v.reg)
	g.free(v)
	g.store(pl, 0, func() value { return value{x.Reg, x} })
	if in := &g.p.Code[len(g.p.Code)-1]; adds && in.Op == OpStore {
		in.D, in.T = 1, g.typeIndex(t)
	}
	g.release(pl)
}

// ready reports whether an expression is a constant or a local variable in a register: its value
// is available without any effect.
func (g *gen) ready(e syntax.Expr) bool {
	if _, ok := g.constant(e); ok {
		return true
	}
	id, ok := unparen(e).(*syntax.Ident)
	if !ok {
		return false
	}
	b := g.env[g.r.Uses[id]]
	return b != nil && b.mem == nil && len(b.vars) == 1
}

func (g *gen) exprStmt(e syntax.Expr) {
	e = unparen(e)
	switch e := e.(type) {
	case *syntax.UnaryExpr:
		if e.Op == syntax.Arrow {
			g.receiveLeaves(e, nil, -1)
			g.canWait()
			return
		}
	case *syntax.CallExpr:
		switch g.r.Calls[e] {
		case resolve.CallFunc:
			g.dropAll(g.inline(e))
			return
		case resolve.CallBuiltin:
			switch name := g.builtin(e); name {
			case "lock", "unlock", "rlock", "runlock", "up", "down", "add", "done", "notify",
				"notifyAll", "wait", "signal", "broadcast":
				g.lockOp(name, e)
				return
			case "assume":
				ok := g.label()
				g.guard(func() { g.condJump(e.Args[0], ok, true) })
				g.op(OpDrop, 0, 0, 0)
				g.here(ok)
				return
			case "print":
				g.print(e)
				return
			case "close":
				c := g.valueUnlessPure(e.Args[0])
				g.point()
				c = g.now(c, e.Args[0])
				g.emit(Instr{Op: OpClose, B: c.reg, Site: g.fault(e)})
				g.free(c)
				return
			}
		}
	}
	g.free(g.leaves(e)...)
}

// print compiles print(...). It belongs to the transition that has read its last operand.
func (g *gen) print(e *syntax.CallExpr) {
	var site PrintSite
	var vals []value
	for _, a := range e.Args {
		if s, ok := unparen(a).(*syntax.StringLit); ok {
			site.Parts = append(site.Parts, PrintPart{Text: s.Value})
			continue
		}
		site.Parts = append(site.Parts, PrintPart{Type: g.typeOf(a)})
		vals = append(vals, g.leaves(a)...)
	}
	site.Regs = regs(vals)
	g.p.Prints = append(g.p.Prints, site)
	g.emit(Instr{Op: OpPrint, T: int32(len(g.p.Prints) - 1), Site: g.fault(e)})
	g.free(vals...)
}

// object is a mutex, monitor, semaphore or array that a statement names,
// evaluated as far as shared accesses go.
type object struct {
	quiet   int // of a monitor that was entered: gen.quiet then
	alive   int // and how many variables were alive
	e       syntax.Expr
	pl      *place // nil if a pointer names it
	pointer value
}

func (g *gen) object(e syntax.Expr) *object {
	if g.typeOf(e).Kind == resolve.Pointer {
		return &object{e: e, pointer: g.valueUnlessPure(e)}
	}
	return &object{e: e, pl: g.place(e)}
}

// location computes the address of an object after the point of the access.
func (g *gen) location(o *object) value {
	if o.pl != nil {
		return g.address(o.pl, 0)
	}
	p := g.now(o.pointer, o.e)
	t := g.temp(addressType)
	g.emit(Instr{Op: OpDeref, A: t.Reg, B: p.reg, Site: g.fault(o.e)})
	if o.pointer.reg == noReg {
		g.free(p)
	}
	return value{t.Reg, t}
}

func (g *gen) releaseObject(o *object) {
	if o.pl != nil {
		g.release(o.pl)
	} else if o.pointer.reg != noReg {
		g.free(o.pointer)
	}
}

// lockOp compiles an operation on a mutex, a monitor, a semaphore, a waitgroup or a condition.
func (g *gen) lockOp(name string, e *syntax.CallExpr) {
	kind := g.typeOf(e.Args[0])
	if kind.Kind == resolve.Pointer {
		kind = kind.Elem
	}
	o := g.object(e.Args[0])
	n := value{reg: g.constReg(-1)}
	if name == "add" {
		n = g.valueUnlessPure(e.Args[1])
	}
	if kind.Kind == resolve.Cond && name == "wait" {
		g.condWait(e, o)
		return
	}
	g.point()
	l := g.location(o)
	in := Instr{B: l.reg, Site: g.fault(e)}
	switch name {
	case "lock":
		in.Op = OpLock
		if kind.Kind == resolve.RWMutex {
			in.Op = OpWLock
		}
		g.canWait()
	case "unlock":
		in.Op = OpUnlock
		if kind.Kind == resolve.RWMutex {
			in.Op = OpWUnlock
		}
	case "rlock":
		in.Op = OpRLock
		g.canWait()
	case "runlock":
		in.Op = OpRUnlock
	case "add", "done":
		if name == "add" {
			n = g.now(n, e.Args[1])
		}
		in.Op, in.C = OpGroupAdd, n.reg
	case "up":
		in.Op = OpUp
	case "down":
		in.Op = OpDown
		g.canWait()
	case "signal":
		in.Op = OpSignal
	case "broadcast":
		in.Op, in.C = OpSignal, 1
	case "notify":
		in.Op = OpNotify
	case "notifyAll":
		in.Op, in.C = OpNotify, 1
	case "wait":
		if kind.Kind == resolve.WaitGroup {
			in.Op = OpGroupWait
			g.canWait()
			break
		}
		if g.quiet > 0 {
			g.errorf(e, "wait is not allowed in an atomic block or in init: it gives the monitor "+
				"up until another thread notifies")
		}
		depth := g.temp(depthType)
		in.Op, in.A = OpWait, depth.Reg
		g.emit(in)
		g.free(l)
		g.point()
		l = g.location(o)
		in = Instr{Op: OpWake, B: l.reg, C: depth.Reg, Site: g.fault(e)}
		g.canWait()
		g.drop(depth)
	}
	g.emit(in)
	g.free(l, n)
	g.releaseObject(o)
}

// condWait compiles wait(c, m): in one transition the thread waits for c and unlocks m; in the
// next, once signaled, it locks m again.
func (g *gen) condWait(e *syntax.CallExpr, c *object) {
	if g.quiet > 0 {
		g.errorf(e, "wait is not allowed in an atomic block or in init: it gives the mutex up "+
			"until another thread signals")
	}
	m := g.object(e.Args[1])
	for _, ops := range [][2]Op{{OpCondWait, OpUnlock}, {OpCondWoken, OpLock}} {
		g.point()
		l := g.location(c)
		g.emit(Instr{Op: ops[0], B: l.reg, Site: g.fault(e)})
		g.free(l)
		l = g.location(m)
		g.emit(Instr{Op: ops[1], B: l.reg, Site: g.fault(e)})
		g.free(l)
	}
	g.canWait()
	g.releaseObject(m)
	g.releaseObject(c)
}

var depthType = &resolve.Type{Kind: resolve.Int, Bits: 8, Name: "uint8"}

// syncStmt compiles synchronized (m) { }: the monitor is entered, and left on every exit. The
// beginning decides which monitor it is.
func (g *gen) syncStmt(s *syntax.SyncStmt) {
	g.header(s, s.Body.Pos())
	n := len(g.alive)
	o := &object{e: s.Monitor}
	if g.typeOf(s.Monitor).Kind == resolve.Pointer {
		o.pointer = g.held(s.Monitor)
	} else {
		o.pl = g.heldPlace(s.Monitor)
	}
	g.point()
	l := g.location(o)
	g.emit(Instr{Op: OpEnter, B: l.reg, Site: g.fault(s)})
	g.canWait()
	g.free(l)
	o.quiet, o.alive = g.quiet, len(g.alive)
	g.syncs = append(g.syncs, o)
	g.block(s.Body.Stmts)
	g.at(s, max(s.Pos(), s.End()-1), s.End())
	g.leaveMonitors(len(g.syncs) - 1)
	g.syncs = g.syncs[:len(g.syncs)-1]
	g.releaseObject(o)
	g.alive = g.alive[:n]
}

// leaveMonitors leaves the monitors that were entered after the first n. A return or a break out
// of an atomic block ends the block before it leaves a monitor that was entered around it. The
// scopes inside a monitor end before it is left.
func (g *gen) leaveMonitors(n int) {
	defer func(quiet int, alive []*Var) { g.quiet, g.alive = quiet, alive }(g.quiet, g.alive)
	for i := len(g.syncs) - 1; i >= n; i-- {
		o := g.syncs[i]
		g.quiet, g.alive = o.quiet, slices.Clone(g.alive[:o.alive])
		g.point()
		l := g.location(o)
		g.emit(Instr{Op: OpExit, B: l.reg, Site: g.fault(o.e)})
		g.free(l)
	}
}

// pureLeaves evaluates a value to send: what is pure is evaluated after the point.
func (g *gen) pureLeaves(e syntax.Expr) (vs []value, later bool) {
	if g.isPure(e) {
		return nil, true
	}
	return g.leaves(e), false
}

func (g *gen) send(s *syntax.SendStmt) {
	g.noRendezvousInAtomic(s, s.Chan)
	c := g.valueUnlessPure(s.Chan)
	vs, later := g.pureLeaves(s.Value)
	g.point()
	c = g.now(c, s.Chan)
	if later {
		vs = g.leaves(s.Value)
	}
	g.canWait()
	g.selectOp(s, []SelectCase{{Kind: SelSend, Chan: c.reg, OK: -1, Vals: regs(vs),
		Site: g.fault(s)}})
	g.free(vs...)
	g.free(c)
}

func regs(vs []value) []int32 {
	rs := make([]int32, len(vs))
	for i, v := range vs {
		rs[i] = v.reg
	}
	return rs
}

func (g *gen) ifStmt(s *syntax.IfStmt) {
	n := len(g.alive)
	if s.Init != nil {
		g.statement(s.Init)
	}
	g.header(s, s.Cond.End())
	els, end := g.label(), g.label()
	_, constant := g.constant(s.Cond)
	g.condJump(s.Cond, els, false)
	leave := func() {}
	if len(s.Then.Stmts) > 0 {
		leave = g.inBranch(s, "is never true", s.Pos(), s.Cond.End(), constant)
	}
	g.block(s.Then.Stmts)
	leave()
	if s.Else != nil {
		g.jump(end)
		g.here(els)
		if b, ok := s.Else.(*syntax.Block); !ok || len(b.Stmts) > 0 {
			leave = g.inBranch(s, "is never false", s.Pos(), s.Cond.End(), constant)
		}
		g.statement(s.Else)
		leave()
		g.here(end)
	} else {
		g.here(els)
	}
	g.alive = g.alive[:n]
}

func (g *gen) enter(label string, loop bool) *target {
	t := &target{label: label, brk: g.label(), cont: -1, syncs: len(g.syncs)}
	if loop {
		t.cont = g.label()
	}
	g.loops = append(g.loops, t)
	return t
}

func (g *gen) leave(t *target) {
	g.loops = g.loops[:len(g.loops)-1]
	g.here(t.brk)
}

func (g *gen) forStmt(s *syntax.ForStmt, label string) {
	n := len(g.alive)
	if s.Init != nil {
		g.statement(s.Init)
	}
	t := g.enter(label, true)
	top := g.label()
	g.here(top)
	if s.Cond != nil {
		g.header(s, s.Cond.End())
		g.condJump(s.Cond, t.brk, false)
	}
	g.block(s.Body.Stmts)
	g.here(t.cont)
	if s.Post != nil {
		g.statement(s.Post)
	}
	g.again(top, s)
	g.leave(t)
	g.alive = g.alive[:n]
}

// rangeStmt compiles for k, v := range x, where x is a number, an array or a channel, as the
// equivalent loop.
func (g *gen) rangeStmt(s *syntax.RangeStmt, label string) {
	n := len(g.alive)
	g.header(s, s.X.End())
	xt := g.typeOf(s.X)
	set := func(e syntax.Expr, vs []value) {
		if e == nil {
			g.free(vs...)
			return
		}
		if id, ok := e.(*syntax.Ident); ok && (id.Name == "_" || s.Define) {
			if id.Name == "_" {
				g.free(vs...)
			} else {
				g.setLeaves(g.declare(g.r.Uses[id]), vs)
			}
			return
		}
		g.storeLeaves(g.heldPlace(e), vs)
	}
	t := g.enter(label, true)
	top := g.label()
	switch xt.Kind {
	case resolve.Chan:
		c := g.held(s.X)
		g.here(top)
		inner := len(g.alive)
		types := leafTypes(nil, xt.Elem)
		rs := make([]int32, len(types))
		vs := make([]value, len(types))
		for i, lt := range types {
			v := g.temp(lt)
			rs[i], vs[i] = v.Reg, value{v.Reg, v}
		}
		ok := g.temp(boolType)
		if g.quiet > 0 && xt.Cap == 0 {
			g.noRendezvousInAtomic(s.X, s.X)
		}
		g.point()
		g.selectOp(s, []SelectCase{{Kind: SelRecv, Chan: c.reg, OK: ok.Reg, Vals: rs,
			Bag: g.maybeBag(xt)}})
		g.op(OpJf, t.brk, ok.Reg, 0)
		g.drop(ok)
		set(s.Key, vs)
		g.block(s.Body.Stmts)
		g.alive = g.alive[:inner]
		g.here(t.cont)
	default:
		// The counter is a variable of its own: assignments to the key do
		// not change the number of iterations.
		kt := xt
		first := int64(0)
		var limit value
		if id, ok := unparen(s.X).(*syntax.Ident); ok && g.r.Uses[id].Kind == resolve.TypeObj {
			kt = g.r.Uses[id].Type
			first = 1
			limit = value{reg: g.constReg(int64(kt.Len) + 1)}
		} else if xt.Kind == resolve.Array || xt.Kind == resolve.Pointer {
			at := xt
			if xt.Kind == resolve.Pointer {
				at = xt.Elem
			}
			kt = intType32
			limit = value{reg: g.constReg(int64(at.Len))}
		} else {
			limit = g.held(s.X)
			if s.Key != nil {
				if k := g.typeOf(s.Key); k != nil && k.Kind == resolve.Int {
					kt = k
				} else if id, ok := s.Key.(*syntax.Ident); ok && g.r.Uses[id] != nil &&
					g.r.Uses[id].Type != nil && g.r.Uses[id].Type.Kind == resolve.Int {
					kt = g.r.Uses[id].Type
				}
			}
			if kt.Kind != resolve.Int {
				kt = intType32
			}
		}
		// The beginning decides which array it is.
		elements := false
		if s.Value != nil {
			id, ok := s.Value.(*syntax.Ident)
			elements = !ok || id.Name != "_"
		}
		var array *object
		if elements && xt.Kind == resolve.Pointer {
			array = &object{e: s.X, pointer: g.held(s.X)}
		} else if elements {
			array = &object{e: s.X, pl: g.heldPlace(s.X)}
		}
		i := g.temp(kt)
		g.move(i.Reg, g.constReg(first))
		g.here(top)
		if unsigned64(kt) {
			c := g.temp(addressType)
			g.op(OpLeU, c.Reg, limit.reg, i.Reg)
			g.op(OpJt, t.brk, c.Reg, 0)
			g.drop(c)
		} else {
			g.op(OpJle, t.brk, limit.reg, i.Reg)
		}
		inner := len(g.alive)
		if s.Key != nil {
			set(s.Key, []value{{reg: i.Reg}})
		}
		if elements {
			set(s.Value, g.element(array, i))
		}
		g.block(s.Body.Stmts)
		g.alive = g.alive[:inner]
		g.here(t.cont)
		// i < limit, so that i+1 cannot leave the type.
		g.op(OpOffset, i.Reg, i.Reg, 1)
	}
	g.again(top, s)
	g.leave(t)
	g.alive = g.alive[:n]
}

var intType32 = &resolve.Type{Kind: resolve.Int, Bits: 32, Signed: true, Name: "int"}

// element loads element i of an array, which a range has evaluated, into
// temporary values.
func (g *gen) element(array *object, i *Var) []value {
	at := g.typeOf(array.e)
	shared := array.pl == nil || array.pl.shared
	if at.Kind == resolve.Pointer {
		at = at.Elem
	}
	size := leafCount
	if shared {
		size = g.sharedSize
	}
	types := leafTypes(nil, at.Elem)
	vs := make([]value, len(types))
	for k, lt := range types {
		v := g.temp(lt)
		vs[k] = value{v.Reg, v}
		if shared {
			g.point()
		}
		base := g.location(array)
		a := g.temp(addressType)
		g.emit(Instr{Op: OpIndex, A: a.Reg, B: base.reg, C: i.Reg,
			T: g.strideIndex(at, size(at.Elem)), Site: g.fault(array.e)})
		g.free(base)
		addr := g.plus(value{a.Reg, a}, true, k)
		if shared {
			g.op(OpLoad, v.Reg, addr.reg, 0)
		} else {
			g.op(OpLoadLocal, v.Reg, addr.reg, 0)
		}
		g.free(addr)
	}
	return vs
}

func (g *gen) switchStmt(s *syntax.SwitchStmt, label string) {
	n := len(g.alive)
	if s.Init != nil {
		g.statement(s.Init)
	}
	t := g.enter(label, false)
	bodies := make([]int32, len(s.Cases))
	for i := range bodies {
		bodies[i] = g.label()
	}
	def := t.brk
	if s.Tag != nil {
		g.header(s, s.Tag.End())
		tag := g.held(s.Tag)
		for i, c := range s.Cases {
			if c.Default {
				def = bodies[i]
			}
			for _, e := range c.Values {
				v := g.value(e)
				g.op(OpJeq, bodies[i], tag.reg, v.reg)
				g.free(v)
			}
		}
		g.free(tag)
	} else {
		for i, c := range s.Cases {
			if c.Default {
				def = bodies[i]
			}
			for _, e := range c.Values {
				g.header(c, e.End())
				g.condJump(e, bodies[i], true)
			}
		}
	}
	g.jump(def)
	for i, c := range s.Cases {
		g.here(bodies[i])
		leave := g.inBranch(c, "is never taken", c.Pos(), caseEnd(c, c.Body), false)
		stmts := c.Body
		through := false
		if k := len(stmts); k > 0 {
			if b, ok := stmts[k-1].(*syntax.BranchStmt); ok && b.Tok == syntax.Fallthrough {
				stmts, through = stmts[:k-1], true
			}
		}
		g.block(stmts)
		switch {
		case through && i+1 < len(bodies):
			g.jump(bodies[i+1])
		default:
			g.jump(t.brk)
		}
		leave()
	}
	g.leave(t)
	g.alive = g.alive[:n]
}

func (g *gen) selectStmt(s *syntax.SelectStmt, label string) {
	n := len(g.alive)
	g.header(s, min(s.End(), s.Pos()+source.Pos(len("select"))))
	t := g.enter(label, false)
	type arm struct {
		c     syntax.Expr // the channel
		ref   value
		send  syntax.Expr
		vals  []value
		later bool
		recv  *syntax.UnaryExpr
		view  *view
		guard syntax.Expr
	}
	list := g.eachCases(s)
	defer g.leaveCases(list)
	arms := make([]arm, len(list))
	for i, c := range list {
		a := &arms[i]
		g.enterCase(c)
		switch comm := c.Comm.(type) {
		case *syntax.SendStmt:
			a.c, a.send = comm.Chan, comm.Value
		case *syntax.ExprStmt:
			a.recv = unparen(comm.X).(*syntax.UnaryExpr)
		case *syntax.AssignStmt:
			a.recv = unparen(comm.Rhs[0]).(*syntax.UnaryExpr)
		case *syntax.AwaitStmt:
			a.guard = comm.Cond
		}
		if a.recv != nil {
			a.c = a.recv.X
		}
		if a.c != nil {
			g.noRendezvousInAtomic(c, a.c)
		}
		if a.recv != nil {
			a.view = g.view(a.c)
		} else if a.c != nil {
			a.ref = g.valueUnlessPure(a.c)
		}
		if a.send != nil {
			a.vals, a.later = g.pureLeaves(a.send)
		}
	}
	g.point()
	cases := make([]SelectCase, len(arms))
	oks := make([]*Var, len(arms))
	for i := range arms {
		a := &arms[i]
		g.enterCase(list[i])
		cases[i] = SelectCase{Kind: SelDefault, OK: -1, Text: g.caseText(list[i])}
		switch {
		case a.send != nil:
			a.ref = g.now(a.ref, a.c)
			cases[i].Chan = a.ref.reg
			if a.later {
				a.vals = g.leaves(a.send)
			}
			cases[i].Kind, cases[i].Vals, cases[i].Site = SelSend, regs(a.vals),
				g.fault(list[i].Comm)
		case a.recv != nil:
			cases[i].Kind = SelRecv
			cases[i] = g.viewed(a.view, cases[i])
			if as, ok := list[i].Comm.(*syntax.AssignStmt); ok {
				for _, lt := range leafTypes(nil, g.typeOf(a.c).Elem) {
					v := g.temp(lt)
					a.vals = append(a.vals, value{v.Reg, v})
				}
				cases[i].Vals = regs(a.vals)
				if len(as.Lhs) == 2 {
					oks[i] = g.temp(boolType)
					cases[i].OK = oks[i].Reg
				}
			}
		case a.guard != nil:
			v := g.temp(boolType)
			g.guard(func() { g.boolTo(a.guard, v.Reg) })
			a.vals = []value{{v.Reg, v}}
			cases[i].Kind, cases[i].Cond = SelGuard, v.Reg
		}
	}
	which := g.selectOp(s, cases)
	g.canWait()
	for i := range arms {
		if arms[i].recv != nil {
			g.freeView(arms[i].view)
		} else if arms[i].c != nil {
			g.free(arms[i].ref)
		}
		if arms[i].recv == nil {
			g.free(arms[i].vals...)
		}
	}
	var table []int32
	for range arms {
		table = append(table, g.label())
	}
	g.p.Jumps = append(g.p.Jumps, table)
	g.emit(Instr{Op: OpTable, B: which.Reg, T: int32(len(g.p.Jumps) - 1), Site: -1})
	// Each arm starts with its own received value alive, and no other's.
	for i := range arms {
		for _, v := range arms[i].vals {
			g.free(v)
		}
		if oks[i] != nil {
			g.drop(oks[i])
		}
	}
	base := len(g.alive)
	for i, c := range list {
		g.here(table[i])
		leave := g.inBranch(c, "is never taken", c.Pos(), caseEnd(c, c.Body), false)
		g.enterCase(c)
		if as, ok := c.Comm.(*syntax.AssignStmt); ok {
			for _, v := range arms[i].vals {
				g.alive = append(g.alive, v.tmp)
			}
			results := [][]value{arms[i].vals}
			if oks[i] != nil {
				g.alive = append(g.alive, oks[i])
				results = append(results, []value{{oks[i].Reg, oks[i]}})
			}
			for j, lhs := range as.Lhs {
				id, isID := lhs.(*syntax.Ident)
				switch {
				case isID && id.Name == "_":
					g.free(results[j]...)
				case as.Op == syntax.Define:
					g.setLeaves(g.declare(g.r.Uses[id]), results[j])
				default:
					g.storeLeaves(g.heldPlace(lhs), results[j])
				}
			}
		}
		for _, st := range c.Body {
			g.statement(st)
		}
		g.alive = g.alive[:base]
		g.jump(t.brk)
		leave()
	}
	g.leave(t)
	g.alive = g.alive[:n]
}

// caseText returns the head of a case of select for users; where it represents several cases,
// with the value of its variable.
func (g *gen) caseText(c eachCase) string {
	if c.Comm == nil {
		return "default"
	}
	text := "case " + g.source(c.Comm)
	if c.Each != nil {
		text += fmt.Sprintf(" with %s = %d", c.Each.Var.Name, c.value)
	}
	return text
}

func unparen(e syntax.Expr) syntax.Expr {
	for {
		p, ok := e.(*syntax.ParenExpr)
		if !ok {
			return e
		}
		e = p.X
	}
}

func (g *gen) chooseStmt(s *syntax.ChooseStmt) {
	g.header(s, min(s.End(), s.Pos()+source.Pos(len("choose"))))
	g.point()
	which := g.temp(addressType)
	texts := make([]string, len(s.Cases))
	for i, c := range s.Cases {
		if texts[i] = fmt.Sprintf("case %d", i+1); len(c.Body) > 0 {
			texts[i] += ": " + g.source(c.Body[0])
		}
	}
	g.p.Choices = append(g.p.Choices, texts)
	g.emit(Instr{Op: OpChoice, A: which.Reg, C: int32(len(s.Cases)), T: int32(len(g.p.Choices) - 1),
		Site: g.fault(s)})
	var table []int32
	for range s.Cases {
		table = append(table, g.label())
	}
	g.p.Jumps = append(g.p.Jumps, table)
	g.emit(Instr{Op: OpTable, B: which.Reg, T: int32(len(g.p.Jumps) - 1), Site: -1})
	g.drop(which)
	end := g.label()
	for i, c := range s.Cases {
		g.here(table[i])
		leave := g.inBranch(c, "is never taken", c.Pos(), caseEnd(c, c.Body), false)
		g.block(c.Body)
		g.jump(end)
		leave()
	}
	g.here(end)
}

func (g *gen) goStmt(s *syntax.GoStmt) {
	obj := g.r.Uses[s.Thread]
	impure := make([][]value, len(s.Args))
	for i, a := range s.Args {
		if !g.isPure(a) {
			impure[i] = g.leaves(a)
		}
	}
	g.point()
	var args []value
	for i, a := range s.Args {
		if impure[i] == nil {
			impure[i] = g.leaves(a)
		}
		args = append(args, impure[i]...)
	}
	g.p.Gos = append(g.p.Gos, GoSite{Thread: g.ttypes[obj], Args: regs(args)})
	g.emit(Instr{Op: OpGo, T: int32(len(g.p.Gos) - 1), Site: g.fault(s)})
	g.free(args...)
}

func (g *gen) returnStmt(s *syntax.ReturnStmt) {
	var vals [][]value
	if len(s.Results) == 1 && g.typeOf(s.Results[0]).Kind == resolve.Tuple {
		vals = g.several(s.Results[0], len(g.typeOf(s.Results[0]).Fields))
	} else {
		for _, e := range s.Results {
			vals = append(vals, g.leaves(e))
		}
	}
	at := 0
	for _, vs := range vals {
		for _, v := range vs {
			g.move(g.fn.results[at].Reg, v.reg)
			at++
		}
		g.free(vs...)
	}
	g.leaveMonitors(g.fn.syncs)
	g.jump(g.fn.end)
}

// values are variables as temporary values.
func values(vars []*Var) []value {
	vs := make([]value, len(vars))
	for i, v := range vars {
		vs[i] = value{v.Reg, v}
	}
	return vs
}

// inline compiles a call of a function by compiling its body here. The variables
// returned hold the scalars of the results; the caller drops them.
func (g *gen) inline(e *syntax.CallExpr) []*Var {
	obj := g.r.Uses[unparen(e.Fun).(*syntax.Ident)]
	before := slices.Clone(g.alive)
	// Impure arguments come first, so that pure ones need not be kept across their points.
	vals := make([][]value, len(e.Args))
	for i, a := range e.Args {
		if !g.isPure(a) {
			vals[i] = g.leaves(a)
		}
	}
	for i, a := range e.Args {
		if vals[i] == nil {
			vals[i] = g.leaves(a)
		}
	}
	var results []*Var
	switch obj.Result.Kind {
	case resolve.Void:
	case resolve.Tuple:
		for _, f := range obj.Result.Fields {
			for _, t := range leafTypes(nil, f.Type) {
				results = append(results, g.temp(t))
			}
		}
	default:
		for _, t := range leafTypes(nil, obj.Result) {
			results = append(results, g.temp(t))
		}
	}
	for i, prm := range obj.Params {
		g.setLeaves(g.declare(prm), vals[i])
	}
	fn, loops, marks, outer := g.fn, g.loops, g.marks, g.outer
	g.outer = g.loopsAround()
	g.fn = &inlined{results: results, end: g.label(), syncs: len(g.syncs), inlined: true}
	g.loops, g.marks = nil, map[string]int32{}
	g.calls = append(g.calls, Call{obj.Name, e.Pos()})
	g.called[obj] = true
	if len(g.p.Code) < MaxCode {
		region := g.region
		g.region = -1 // it may be called elsewhere, too
		s := g.spot(SpotFunc, obj.Body, obj.Name, obj.Pos, obj.Pos+source.Pos(len(obj.Name)))
		s.code = append(s.code, len(g.p.Code))
		g.within()
		for _, s := range obj.Body.Stmts {
			g.statement(s)
		}
		g.region = region
	}
	g.calls = g.calls[:len(g.calls)-1]
	g.here(g.fn.end)
	g.fn, g.loops, g.marks, g.outer = fn, loops, marks, outer
	g.alive = append(before, results...)
	return results
}

func (g *gen) branch(s *syntax.BranchStmt) {
	switch s.Tok {
	case syntax.Goto:
		g.again(g.codeLabel(s.Label.Name), s)
		return
	case syntax.Fallthrough:
		return // switchStmt has seen it
	}
	for i := len(g.loops) - 1; i >= 0; i-- {
		t := g.loops[i]
		if s.Label != nil && t.label != s.Label.Name {
			continue
		}
		if s.Tok == syntax.Continue {
			if t.cont < 0 {
				continue
			}
			g.leaveMonitors(t.syncs)
			g.jump(t.cont)
		} else {
			g.leaveMonitors(t.syncs)
			g.jump(t.brk)
		}
		return
	}
	g.errorf(s, "there is no loop to leave here")
}

// codeLabel returns the code label of a label in the source.
func (g *gen) codeLabel(name string) int32 {
	l, ok := g.marks[name]
	if !ok {
		l = g.label()
		g.marks[name] = l
	}
	return l
}

func (g *gen) labeled(s *syntax.LabeledStmt) {
	g.here(g.codeLabel(s.Label.Name))
	from := len(g.p.Code)
	g.at(s.Stmt, s.Stmt.Pos(), s.Stmt.End())
	g.compileStmt(s.Stmt, s.Label.Name)
	g.covered(s.Stmt, from)
	if g.quiet > 0 {
		return // no transition begins here
	}
	sp := g.spot(SpotLabel, s, s.Label.Name, s.Label.Pos(), s.Label.End())
	sp.code = append(sp.code, from)
	g.ends = append(g.ends, labelRange{s.Label, g.fn.inlined, g.made, from, len(g.p.Code)})
}

// resolvePeeks finds what the properties name of each thread type.
func (g *gen) resolvePeeks() {
	for i, pk := range g.peeks {
		p := &g.p.Peeks[i]
		p.Watch = -1
		for k, w := range p.Thread.Watched {
			if w.Name == pk.name {
				p.Watch = k
			}
		}
		if p.Watch >= 0 && p.Thread.Watched[p.Watch].Var == nil &&
			!slices.Contains(p.Thread.Watched[p.Watch].Points, true) {
			g.errorf(pk.e, "no thread %s is ever at %s: its statement has no transition; label a "+
				"statement that accesses what is shared", p.Thread.Name,
				strings.TrimPrefix(pk.name, "@"))
		}
		if p.Watch < 0 {
			g.errorf(pk.e, "a property cannot name %s of %s: it is not a scalar variable that "+
				"lives at any of its transitions", pk.name, p.Thread.Name)
		}
	}
}
