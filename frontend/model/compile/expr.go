package compile

import (
	"fmt"
	"slices"

	"cpor/frontend/model/resolve"
	"cpor/frontend/model/syntax"
	"cpor/testkit/sabotage"
)

// isPure reports whether an expression is local computation without an effect: it can be
// evaluated on either side of a point.
func (g *gen) isPure(e syntax.Expr) bool {
	if _, ok := g.constant(e); ok {
		return true
	}
	if p, ok := g.pure[e]; ok {
		return p
	}
	p := g.computePure(e)
	g.pure[e] = p
	return p
}

func (g *gen) computePure(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return g.isPure(e.X)
	case *syntax.Ident:
		obj := g.r.Uses[e]
		if obj.Kind == resolve.SharedObj {
			return obj.Type.Kind == resolve.Chan // a reference to it
		}
		return true
	case *syntax.UnaryExpr:
		switch e.Op {
		case syntax.Arrow, syntax.Mul:
			return false
		case syntax.And:
			return g.purePlace(e.X)
		}
		return g.isPure(e.X)
	case *syntax.BinaryExpr:
		return g.isPure(e.X) && g.isPure(e.Y)
	case *syntax.IndexExpr, *syntax.SelectorExpr:
		if _, ok := g.r.Refs[e]; ok {
			return false
		}
		if g.typeOf(e).Kind == resolve.Chan && g.isShared(e) {
			return g.purePlace(e)
		}
		return !g.isShared(e) && g.purePlace(e)
	case *syntax.CallExpr:
		kind := g.r.Calls[e]
		if kind == resolve.CallFunc {
			return false
		}
		if kind == resolve.CallBuiltin {
			switch g.builtin(e) {
			case "min", "max":
			case "len", "cap":
				if g.typeOf(e.Args[0]).Kind == resolve.Chan && g.builtin(e) == "len" {
					return false
				}
				return true
			default:
				return false
			}
		}
		for _, a := range e.Args {
			if !g.isPure(a) {
				return false
			}
		}
		return true
	case *syntax.CompositeLit:
		for _, v := range e.Values {
			if !g.isPure(v) {
				return false
			}
		}
		return true
	case *syntax.QuantExpr, *syntax.FoldExpr:
		return false
	}
	return false
}

// purePlace reports whether the address of a variable, field or element is local computation.
func (g *gen) purePlace(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return g.purePlace(e.X)
	case *syntax.Ident:
		return true
	case *syntax.SelectorExpr:
		if g.typeOf(e.X).Kind == resolve.Pointer {
			return g.isPure(e.X)
		}
		return g.purePlace(e.X)
	case *syntax.IndexExpr:
		if !g.isPure(e.Index) {
			return false
		}
		if g.typeOf(e.X).Kind == resolve.Pointer {
			return g.isPure(e.X)
		}
		return g.purePlace(e.X)
	case *syntax.UnaryExpr: // *p
		return g.isPure(e.X)
	}
	return g.isPure(e)
}

// isShared reports whether a place is a shared location.
func (g *gen) isShared(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return g.isShared(e.X)
	case *syntax.Ident:
		obj := g.r.Uses[e]
		return obj != nil && obj.Kind == resolve.SharedObj
	case *syntax.SelectorExpr:
		return g.typeOf(e.X).Kind == resolve.Pointer || g.isShared(e.X)
	case *syntax.IndexExpr:
		return g.typeOf(e.X).Kind == resolve.Pointer || g.isShared(e.X)
	case *syntax.UnaryExpr:
		return e.Op == syntax.Mul
	}
	return false
}

func (g *gen) builtin(e *syntax.CallExpr) string {
	return unparen(e.Fun).(*syntax.Ident).Name
}

// place is the place of a variable, field or element, evaluated as far as
// effects and shared accesses go; addr computes the rest.
type place struct {
	e      syntax.Expr
	shared bool
	t      *resolve.Type
	vals   map[syntax.Expr]value // the parts that were not pure
	direct *binding              // a local variable or a field of one, in registers
	off    int                   // the first leaf in direct
}

func (g *gen) place(e syntax.Expr) *place {
	pl := &place{e: e, shared: g.isShared(e), t: g.typeOf(e), vals: map[syntax.Expr]value{}}
	if !pl.shared {
		pl.direct, pl.off = g.direct(e)
	}
	g.prepare(pl, e)
	return pl
}

// direct returns the binding of a local variable in registers, and the first leaf.
func (g *gen) direct(e syntax.Expr) (*binding, int) {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return g.direct(e.X)
	case *syntax.Ident:
		if b := g.env[g.r.Uses[e]]; b != nil && b.mem == nil {
			return b, 0
		}
	case *syntax.SelectorExpr:
		b, off := g.direct(e.X)
		if b == nil {
			return nil, 0
		}
		return b, off + g.fieldOff(e, leafCount)
	}
	return nil, 0
}

func (g *gen) fieldOff(e *syntax.SelectorExpr, size func(*resolve.Type) int) int {
	t := g.typeOf(e.X)
	if t.Kind == resolve.Pointer {
		t = t.Elem
	}
	for i, f := range t.Fields {
		if f.Name == e.Sel.Name {
			return fieldOffset(t, i, size)
		}
	}
	return 0
}

// prepare evaluates what is not pure in a place: indices and pointers that
// read shared locations or call functions.
func (g *gen) prepare(pl *place, e syntax.Expr) {
	hold := func(x syntax.Expr) {
		if !g.isPure(x) {
			pl.vals[x] = g.held(x)
		}
	}
	switch e := e.(type) {
	case *syntax.ParenExpr:
		g.prepare(pl, e.X)
	case *syntax.SelectorExpr:
		if g.typeOf(e.X).Kind == resolve.Pointer {
			hold(e.X)
		} else {
			g.prepare(pl, e.X)
		}
	case *syntax.IndexExpr:
		if g.typeOf(e.X).Kind == resolve.Pointer {
			hold(e.X)
		} else {
			g.prepare(pl, e.X)
		}
		hold(e.Index)
	case *syntax.UnaryExpr:
		hold(e.X)
	}
}

// release drops the temporary values of a place.
func (g *gen) release(pl *place) {
	for _, v := range pl.vals {
		g.free(v)
	}
}

func (g *gen) part(pl *place, e syntax.Expr) value {
	if v, ok := pl.vals[e]; ok {
		return value{reg: v.reg}
	}
	return g.value(e)
}

// addr computes the address of a place: a location if it is shared, else an
// index into the fields of the thread type. The result is a constant off, or a
// register plus off.
func (g *gen) addr(pl *place, e syntax.Expr) (reg value, dynamic bool, off int) {
	size := leafCount
	if pl.shared {
		size = g.sharedSize
	}
	deref := func(x syntax.Expr) value {
		v := g.part(pl, x)
		t := g.temp(g.intVar())
		g.emit(Instr{Op: OpDeref, A: t.Reg, B: v.reg, Site: g.fault(x)})
		g.free(v)
		return value{t.Reg, t}
	}
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return g.addr(pl, e.X)
	case *syntax.Ident:
		obj := g.r.Uses[e]
		if obj.Kind == resolve.SharedObj {
			return value{}, false, g.shared[obj]
		}
		b := g.env[obj]
		return value{}, false, b.mem.Base
	case *syntax.SelectorExpr:
		f := g.fieldOff(e, size)
		if g.typeOf(e.X).Kind == resolve.Pointer {
			return deref(e.X), true, f
		}
		r, d, off := g.addr(pl, e.X)
		return r, d, off + f
	case *syntax.IndexExpr:
		var base value
		var dyn bool
		var o int
		at := g.typeOf(e.X)
		if at.Kind == resolve.Pointer {
			at = at.Elem
			base, dyn, o = deref(e.X), true, 0
		} else {
			base, dyn, o = g.addr(pl, e.X)
		}
		st := size(at.Elem)
		if i, ok := g.constant(e.Index); ok && at.Index != nil && i > 0 {
			return base, dyn, o + int(i-1)*st
		} else if ok && at.Index == nil && i >= 0 && i < int64(at.Len) {
			return base, dyn, o + int(i)*st
		}
		if !dyn {
			base = value{reg: g.constReg(int64(o))}
			o = 0
		}
		iv := g.part(pl, e.Index)
		if at.Index != nil { // nil is 0
			k := g.temp(g.intVar())
			g.op(OpOffset, k.Reg, iv.reg, -1)
			g.free(iv)
			iv = value{k.Reg, k}
		}
		t := g.temp(g.intVar())
		g.emit(Instr{Op: OpIndex, A: t.Reg, B: base.reg, C: iv.reg, T: g.strideIndex(at, st),
			Site: g.fault(e.Index)})
		g.free(iv, base)
		return value{t.Reg, t}, true, o
	case *syntax.UnaryExpr: // *p
		return deref(e.X), true, 0
	}
	return value{reg: g.constReg(0)}, true, 0
}

func (g *gen) strideIndex(t *resolve.Type, stride int) int32 {
	s := Stride{int64(t.Len), int64(stride), t.Index != nil}
	i, ok := g.stride[s]
	if !ok {
		i = int32(len(g.p.Strides))
		g.p.Strides = append(g.p.Strides, s)
		g.stride[s] = i
	}
	return i
}

// address returns a register with the address of leaf off of a place.
func (g *gen) address(pl *place, leaf int) value {
	r, dyn, off := g.addr(pl, pl.e)
	return g.plus(r, dyn, off+leaf)
}

func (g *gen) plus(r value, dyn bool, off int) value {
	if !dyn {
		return value{reg: g.constReg(int64(off))}
	}
	if off == 0 {
		return r
	}
	g.free(r)
	t := g.temp(g.intVar())
	g.op(OpOffset, t.Reg, r.reg, int32(off))
	return value{t.Reg, t}
}

// intVar is the type of addresses in registers: they never live at a point.
func (g *gen) intVar() *resolve.Type { return addressType }

var addressType = &resolve.Type{Kind: resolve.Int, Bits: 64, Signed: true, Name: "int64"}

// load reads leaf i of a place into dst.
func (g *gen) load(pl *place, i int, dst int32) {
	switch {
	case pl.direct != nil:
		g.move(dst, pl.direct.vars[pl.off+i].Reg)
	case pl.shared:
		g.point()
		a := g.address(pl, i)
		g.op(OpLoad, dst, a.reg, 0)
		g.free(a)
	default:
		a := g.address(pl, i)
		g.op(OpLoadLocal, dst, a.reg, 0)
		g.free(a)
	}
}

// store writes leaf i of a place; v is called when the transition has begun.
func (g *gen) store(pl *place, i int, v func() value) {
	switch {
	case pl.direct != nil:
		x := v()
		g.move(pl.direct.vars[pl.off+i].Reg, x.reg)
		g.free(x)
	case pl.shared:
		g.point()
		x := v()
		a := g.address(pl, i)
		g.op(OpStore, a.reg, x.reg, 0)
		g.free(a, x)
	default:
		x := v()
		a := g.address(pl, i)
		g.op(OpStoreLocal, a.reg, x.reg, 0)
		g.free(a, x)
	}
}

func (g *gen) move(dst, src int32) {
	if dst != src {
		g.op(OpMov, dst, src, 0)
	}
}

// value evaluates a scalar expression into some register.
func (g *gen) value(e syntax.Expr) value {
	if c, ok := g.constant(e); ok {
		return value{reg: g.constReg(c)}
	}
	switch x := e.(type) {
	case *syntax.ParenExpr:
		return g.value(x.X)
	case *syntax.Ident:
		if b := g.env[g.r.Uses[x]]; b != nil && b.mem == nil && len(b.vars) == 1 {
			return value{reg: b.vars[0].Reg}
		}
	case *syntax.SelectorExpr:
		if !g.isShared(x) {
			if b, off := g.direct(x); b != nil && g.r.Refs[x] == nil {
				return value{reg: b.vars[off].Reg}
			}
		}
	}
	t := g.temp(g.typeOf(e))
	g.exprTo(e, t.Reg)
	return value{t.Reg, t}
}

// held evaluates a scalar expression into a register that later statements do
// not change.
func (g *gen) held(e syntax.Expr) value {
	v := g.value(e)
	if v.tmp == nil && v.reg >= 0 {
		t := g.temp(g.typeOf(e))
		g.move(t.Reg, v.reg)
		return value{t.Reg, t}
	}
	return v
}

// operandPair evaluates two operands; a pure one waits for the other's shared
// accesses, so that its value need not be kept across them.
func (g *gen) operandPair(x, y syntax.Expr) (a, b value) {
	if g.isPure(x) && !g.isPure(y) {
		b = g.value(y)
		return g.value(x), b
	}
	a = g.value(x)
	return a, g.value(y)
}

var arithOps = map[syntax.Op]Op{syntax.Add: OpAdd, syntax.Sub: OpSub, syntax.Mul: OpMul}

// The operators of OpArith: its D operand, to which UnsignedShift may be added.
const (
	ArithAdd int32 = iota
	ArithSub
	ArithMul
	ArithDiv
	ArithRem
	ArithAnd
	ArithOr
	ArithXor
	ArithAndNot
	ArithShl
	ArithShr
)

// ArithOps are the operators of OpArith by their numbers.
var ArithOps = [...]syntax.Op{
	ArithAdd: syntax.Add, ArithSub: syntax.Sub, ArithMul: syntax.Mul, ArithDiv: syntax.Div,
	ArithRem: syntax.Rem,
	ArithAnd: syntax.And, ArithOr: syntax.Or, ArithXor: syntax.Xor, ArithAndNot: syntax.AndNot,
	ArithShl: syntax.Shl, ArithShr: syntax.Shr,
}

func (g *gen) arith(e syntax.Node, op syntax.Op, t, shift *resolve.Type, dst, a, b int32) {
	in := Instr{A: dst, B: a, C: b, T: g.typeIndex(t), Site: g.fault(e)}
	if o, ok := arithOps[op]; ok && g.bitsOf(t) <= 32 {
		in.Op = o
		g.emit(in)
		return
	}
	in.Op = OpArith
	for i, o := range ArithOps {
		if o == op {
			in.D = int32(i)
		}
	}
	if shift != nil && !shift.Signed {
		in.D |= UnsignedShift
	}
	g.emit(in)
}

// UnsignedShift is set in the D operand of an OpArith whose shift count is unsigned.
const UnsignedShift = 1 << 8

func unsigned64(t *resolve.Type) bool {
	return t.Kind == resolve.Int && !t.Signed && t.Bits == 64
}

// exprTo evaluates a scalar expression into a register.
func (g *gen) exprTo(e syntax.Expr, dst int32) {
	if c, ok := g.constant(e); ok {
		g.move(dst, g.constReg(c))
		return
	}
	switch e := e.(type) {
	case *syntax.ParenExpr:
		g.exprTo(e.X, dst)
	case *syntax.Ident:
		obj := g.r.Uses[e]
		if obj.Kind == resolve.SharedObj && obj.Type.Kind == resolve.Chan {
			g.move(dst, g.constReg(int64(g.p.ChanAt[g.shared[obj]]+1)))
			return
		}
		if e.Name == "nil" && g.env[obj] == nil && obj.Kind != resolve.SharedObj {
			g.move(dst, g.constReg(0))
			return
		}
		g.loadExpr(e, dst)
	case *syntax.SelectorExpr, *syntax.IndexExpr:
		if ref := g.ref(e); ref != nil {
			g.peek(e, ref, dst)
			return
		}
		if g.typeOf(e).Kind == resolve.Chan && g.isShared(e) {
			pl := g.place(e)
			a := g.address(pl, 0)
			g.op(OpChanRef, dst, a.reg, 0)
			g.free(a)
			g.release(pl)
			return
		}
		g.loadExpr(e, dst)
	case *syntax.AtExpr:
		g.peek(e, g.r.Refs[e], dst)
	case *syntax.UnaryExpr:
		g.unary(e, dst)
	case *syntax.BinaryExpr:
		switch e.Op {
		case syntax.LAnd, syntax.LOr:
			g.boolTo(e, dst)
		case syntax.Eq, syntax.Ne, syntax.Lt, syntax.Le, syntax.Gt, syntax.Ge:
			g.compare(e, dst)
		case syntax.Shl, syntax.Shr:
			a, b := g.operandPair(e.X, e.Y)
			g.arith(e, e.Op, g.typeOf(e), g.typeOf(e.Y), dst, a.reg, b.reg)
			g.free(a, b)
		default:
			a, b := g.operandPair(e.X, e.Y)
			g.arith(e, e.Op, g.typeOf(e), nil, dst, a.reg, b.reg)
			g.free(a, b)
		}
	case *syntax.QuantExpr:
		g.boolTo(e, dst)
	case *syntax.FoldExpr:
		g.fold(e, dst)
	case *syntax.CallExpr:
		g.callTo(e, dst)
	default:
		g.errorf(e, "this expression has no single value here")
	}
}

func (g *gen) loadExpr(e syntax.Expr, dst int32) {
	pl := g.place(e)
	g.load(pl, 0, dst)
	g.release(pl)
}

func (g *gen) compare(e *syntax.BinaryExpr, dst int32) {
	a, b := g.operandPair(e.X, e.Y)
	x, y := a.reg, b.reg
	op := e.Op
	if op == syntax.Gt || op == syntax.Ge {
		x, y = y, x
		op = map[syntax.Op]syntax.Op{syntax.Gt: syntax.Lt, syntax.Ge: syntax.Le}[op]
	}
	o := map[syntax.Op]Op{syntax.Eq: OpEq, syntax.Ne: OpNe, syntax.Lt: OpLt, syntax.Le: OpLe}[op]
	if unsigned64(g.typeOf(e.X)) {
		switch o {
		case OpLt:
			o = OpLtU
		case OpLe:
			o = OpLeU
		}
	}
	g.op(o, dst, x, y)
	g.free(a, b)
}

// boolTo evaluates a condition into a register.
func (g *gen) boolTo(e syntax.Expr, dst int32) {
	yes, end := g.label(), g.label()
	g.condJump(e, yes, true)
	g.move(dst, g.constReg(0))
	g.jump(end)
	g.here(yes)
	g.move(dst, g.constReg(1))
	g.here(end)
}

// condJump jumps to a label if the condition equals when, and falls through otherwise.
func (g *gen) condJump(e syntax.Expr, to int32, when bool) {
	if c, ok := g.constant(e); ok {
		if (c != 0) == when {
			g.jump(to)
		}
		return
	}
	defer g.apart(e)()
	switch x := e.(type) {
	case *syntax.ParenExpr:
		g.condJump(x.X, to, when)
		return
	case *syntax.UnaryExpr:
		if x.Op == syntax.Not {
			g.condJump(x.X, to, !when)
			return
		}
	case *syntax.QuantExpr:
		g.quantifier(x, to, when)
		return
	case *syntax.BinaryExpr:
		switch x.Op {
		case syntax.LAnd, syntax.LOr:
			if (x.Op == syntax.LOr) == when {
				g.condJump(x.X, to, when)
				g.note(g.noting.in)
				leave := g.operand(x)
				g.condJump(x.Y, to, when)
				leave()
			} else {
				skip := g.label()
				g.condJump(x.X, skip, !when)
				g.note(g.noting.in)
				leave := g.operand(x)
				g.condJump(x.Y, to, when)
				leave()
				g.here(skip)
			}
			return
		case syntax.Eq, syntax.Ne, syntax.Lt, syntax.Le, syntax.Gt, syntax.Ge:
			if unsigned64(g.typeOf(x.X)) && x.Op != syntax.Eq && x.Op != syntax.Ne {
				break
			}
			a, b := g.operandPair(x.X, x.Y)
			op, l, r := x.Op, a.reg, b.reg
			if !when {
				op = negated[op]
			}
			switch op {
			case syntax.Eq:
				g.op(OpJeq, to, l, r)
			case syntax.Ne:
				g.op(OpJne, to, l, r)
			case syntax.Lt:
				g.op(OpJlt, to, l, r)
			case syntax.Le:
				g.op(OpJle, to, l, r)
			case syntax.Gt:
				g.op(OpJlt, to, r, l)
			case syntax.Ge:
				g.op(OpJle, to, r, l)
			}
			g.free(a, b)
			return
		}
	}
	v := g.value(e)
	if when {
		g.op(OpJt, to, v.reg, 0)
	} else {
		g.op(OpJf, to, v.reg, 0)
	}
	g.free(v)
}

var negated = map[syntax.Op]syntax.Op{
	syntax.Eq: syntax.Ne, syntax.Ne: syntax.Eq, syntax.Lt: syntax.Ge,
	syntax.Ge: syntax.Lt, syntax.Gt: syntax.Le, syntax.Le: syntax.Gt,
}

// quantifier unrolls forall and exists.
func (g *gen) quantifier(e *syntax.QuantExpr, to int32, when bool) {
	// forall jumps on the first instance that is false, exists on the first
	// that is true: to the label if that is the wanted outcome.
	g.quantified(e)
	if g.r.Alike(&e.Domain) {
		g.before(e.Cond)
		g.allOf(e, to, when)
		return
	}
	skip := g.label()
	g.each(e, e.Var, &e.Domain, func(int) {
		defer g.instanceOf(e)()
		if e.Exists == when {
			g.condJump(e.Cond, to, when)
		} else {
			g.condJump(e.Cond, skip, !when)
		}
	})
	if e.Exists != when {
		g.jump(to)
	}
	g.here(skip)
}

// allOf compiles a quantifier over symmetric threads or over names, all of whose instances are
// evaluated: if evaluation stopped at the first one that decides, the coverage of the invariant
// would depend on which thread is which.
func (g *gen) allOf(e *syntax.QuantExpr, to int32, when bool) {
	truth := map[bool]int64{true: 1}
	acc := g.temp(boolType)
	g.move(acc.Reg, g.constReg(truth[!e.Exists]))
	g.each(e, e.Var, &e.Domain, func(int) {
		next := g.label()
		on := g.noting.on
		g.noting.on = false
		g.condJump(e.Cond, next, !e.Exists)
		g.noting.on = on
		leave := g.instanceOf(e)
		defer leave()
		g.move(acc.Reg, g.constReg(truth[e.Exists]))
		g.here(next)
	})
	op := OpJf
	if when {
		op = OpJt
	}
	g.op(op, to, acc.Reg, 0)
	g.drop(acc)
}

// before compiles what is evaluated before a quantifier over names or symmetric threads.
func (g *gen) before(inside syntax.Expr) {
	for _, e := range g.r.Before(inside) {
		at := g.typeOf(e.X)
		i := g.value(e.Index)
		if at.Index != nil { // nil is 0
			k := g.temp(g.intVar())
			g.op(OpOffset, k.Reg, i.reg, -1)
			g.free(i)
			i = value{k.Reg, k}
		}
		t := g.temp(g.intVar())
		g.emit(Instr{Op: OpIndex, A: t.Reg, B: g.constReg(0), C: i.reg, T: g.strideIndex(at, 1),
			Site: g.fault(e.Index)})
		g.free(i)
		g.drop(t)
	}
}

// each compiles f for each value of the variable of a quantifier: unrolled, or, over
// threads whose number is not known, as a loop.
func (g *gen) each(e syntax.Expr, v *syntax.Ident, d *syntax.Domain, f func(i int)) {
	if _, ok := g.r.Bounds[e]; ok || d.Of == nil {
		g.instances(e, v, f)
		return
	}
	alive := len(g.alive)
	n := g.temp(intType32)
	g.emit(Instr{Op: OpThreads, A: n.Reg,
		T: int32(slices.Index(g.p.Threads, g.ttypes[g.r.Uses[d.Of]])), Site: -1})
	i := g.declare(g.r.Uses[v])
	g.setLeaves(i, []value{{reg: g.constReg(0)}})
	top, end := g.label(), g.label()
	g.here(top)
	g.op(OpJle, end, n.Reg, i.vars[0].Reg)
	clear(g.pure)
	f(1)
	g.op(OpOffset, i.vars[0].Reg, i.vars[0].Reg, 1)
	g.jump(top)
	g.here(end)
	g.alive = g.alive[:alive]
}

// instances calls f for each value of the variable of a quantifier, with its index.
func (g *gen) instances(e syntax.Expr, v *syntax.Ident, f func(i int)) {
	b, ok := g.r.Bounds[e]
	if !ok {
		g.errorf(e, "the bounds of a quantifier must be constant")
		return
	}
	obj := g.r.Uses[v]
	for i := b.Lo; i <= b.Hi && len(g.p.Code) < MaxCode; i++ {
		g.quant[obj] = i
		clear(g.pure)
		f(int(i - b.Lo))
	}
	delete(g.quant, obj)
	clear(g.pure)
}

// fold unrolls count, sum, min and max.
func (g *gen) fold(e *syntax.FoldExpr, dst int32) {
	if g.r.Alike(&e.Domain) {
		g.before(e.X)
	}
	acc := g.temp(g.typeOf(e))
	if e.Op == syntax.Count || e.Op == syntax.Sum {
		g.move(acc.Reg, g.constReg(0))
	}
	g.each(e, e.Var, &e.Domain, func(i int) {
		switch {
		case e.Op == syntax.Count:
			no := g.label()
			g.condJump(e.X, no, false)
			g.op(OpOffset, acc.Reg, acc.Reg, 1)
			g.here(no)
		case e.Op == syntax.Sum:
			v := g.value(e.X)
			g.arith(e, syntax.Add, g.typeOf(e), nil, acc.Reg, acc.Reg, v.reg)
			g.free(v)
		case i == 0:
			g.exprTo(e.X, acc.Reg)
		default:
			v := g.value(e.X)
			g.extreme(e.Op == syntax.Max, g.typeOf(e), acc, v)
			g.free(v)
		}
	})
	g.move(dst, acc.Reg)
	g.drop(acc)
}

// extreme keeps the smaller or the greater one of acc and v in acc.
func (g *gen) extreme(greatest bool, t *resolve.Type, acc *Var, v value) {
	c := g.temp(addressType)
	keep := g.label()
	x, y := acc.Reg, v.reg // the result stays if x <= y
	if greatest {
		x, y = y, x
	}
	le := OpLe
	if unsigned64(t) {
		le = OpLeU
	}
	g.op(le, c.Reg, x, y)
	g.op(OpJt, keep, c.Reg, 0)
	g.move(acc.Reg, v.reg)
	g.here(keep)
	g.drop(c)
}

func (g *gen) unary(e *syntax.UnaryExpr, dst int32) {
	switch e.Op {
	case syntax.Add:
		g.exprTo(e.X, dst)
	case syntax.Arrow:
		g.receive(e, dst, -1)
	case syntax.Mul:
		g.loadExpr(e, dst)
	case syntax.And:
		pl := g.place(e.X)
		a := g.address(pl, 0)
		g.op(OpRef, dst, a.reg, 0)
		g.free(a)
		g.release(pl)
	case syntax.Not:
		v := g.value(e.X)
		g.op(OpNot, dst, v.reg, 0)
		g.free(v)
	case syntax.Sub:
		v := g.value(e.X)
		g.emit(Instr{Op: OpNeg, A: dst, B: v.reg, T: g.typeIndex(g.typeOf(e)), Site: g.fault(e)})
		g.free(v)
	case syntax.Xor:
		v := g.value(e.X)
		g.emit(Instr{Op: OpCom, A: dst, B: v.reg, T: g.typeIndex(g.typeOf(e)), Site: -1})
		g.free(v)
	}
}

// ref returns what a property's expression names of a thread, if anything.
func (g *gen) ref(e syntax.Expr) *resolve.ThreadRef {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return g.ref(e.X)
	case *syntax.SelectorExpr:
		if r := g.r.Refs[e]; r != nil {
			return r
		}
		return g.ref(e.X)
	case *syntax.IndexExpr:
		return g.ref(e.X)
	}
	return nil
}

// refPath returns the name of the leaf that a property's expression names.
func (g *gen) refPath(e syntax.Expr) string {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return g.refPath(e.X)
	case *syntax.SelectorExpr:
		if r := g.r.Refs[e]; r != nil {
			return r.Local.Name
		}
		return g.refPath(e.X) + "." + e.Sel.Name
	}
	g.errorf(e, "an invariant can name scalar variables of a thread and their fields, not "+
		"elements of its arrays; make the array shared")
	return ""
}

func (g *gen) peek(e syntax.Expr, ref *resolve.ThreadRef, dst int32) {
	i, ok := g.constant(ref.Index)
	if !ok {
		i = -1
	}
	name := ""
	if ref.Label != nil {
		name = "@" + ref.Label.Name
	} else {
		name = g.refPath(e)
	}
	g.peeks = append(g.peeks, pendingPeek{name, e})
	g.p.Peeks = append(g.p.Peeks, Peek{Thread: g.ttypes[ref.Thread], Index: int(i), Pos: e.Pos()})
	at := int32(len(g.p.Peeks) - 1)
	if !ok {
		v := g.value(ref.Index)
		g.emit(Instr{Op: OpPeekAt, A: dst, B: v.reg, T: at, Site: -1})
		g.free(v)
		return
	}
	if g.tt != nil && g.tt.Observer {
		s := g.spot(SpotThreadOf, ref.Index, fmt.Sprintf("%s[%d]", ref.Thread.Name, i), e.Pos(),
			e.End())
		s.counts = append(s.counts, len(g.p.Peeks)-1)
	}
	g.emit(Instr{Op: OpPeek, A: dst, T: at, Site: -1})
}

// pendingPeek is a Peek whose thread type has not been compiled yet.
type pendingPeek struct {
	name string
	e    syntax.Expr
}

// callTo evaluates a call with one result.
func (g *gen) callTo(e *syntax.CallExpr, dst int32) {
	switch g.r.Calls[e] {
	case resolve.CallConversion:
		v := g.value(e.Args[0])
		if g.typeOf(e).Kind == resolve.Int {
			g.emit(Instr{Op: OpConv, A: dst, B: v.reg, T: g.typeIndex(g.typeOf(e)), Site: -1})
		} else {
			g.move(dst, v.reg)
		}
		g.free(v)
	case resolve.CallFunc:
		res := g.inline(e)
		g.move(dst, res[0].Reg)
		g.dropAll(res)
	default:
		g.builtinTo(e, dst)
	}
}

func (g *gen) dropAll(vs []*Var) {
	for _, v := range vs {
		g.drop(v)
	}
}

func (g *gen) builtinTo(e *syntax.CallExpr, dst int32) {
	name := g.builtin(e)
	switch name {
	case "min", "max":
		acc := g.temp(g.typeOf(e))
		g.exprTo(e.Args[0], acc.Reg)
		for _, a := range e.Args[1:] {
			v := g.value(a)
			g.extreme(name == "max", g.typeOf(e), acc, v)
			g.free(v)
		}
		g.move(dst, acc.Reg)
		g.drop(acc)
	case "poll":
		v := g.view(e.Args[0])
		g.point()
		c := g.viewed(v, SelectCase{Kind: SelRecv, OK: -1})
		g.p.Selects = append(g.p.Selects, []SelectCase{c})
		g.emit(Instr{Op: OpPoll, A: dst, T: int32(len(g.p.Selects) - 1), Site: g.fault(e)})
		g.freeView(v)
	case "len", "cap", "empty", "full":
		if name == "cap" {
			v := g.value(e.Args[0])
			g.emit(Instr{Op: OpChanCap, A: dst, B: v.reg, Site: g.fault(e)})
			g.free(v)
			return
		}
		v := g.valueUnlessPure(e.Args[0])
		g.point()
		v = g.now(v, e.Args[0])
		op := OpChanLen
		if name == "full" {
			op = OpChanFull
		}
		g.emit(Instr{Op: op, A: dst, B: v.reg, Site: g.fault(e)})
		if name == "empty" { // a number: OpNot is for bools only
			if sabotage.Is("eval/empty") {
				g.op(OpNot, dst, dst, 0)
			} else {
				g.op(OpEq, dst, dst, g.constReg(0))
			}
		}
		g.free(v)
	case "cas":
		if t := g.typeOf(e.Args[0]); t.Kind == resolve.Struct || t.Kind == resolve.Array {
			g.casLeaves(e, dst)
			return
		}
		pl := g.place(e.Args[0])
		old := g.valueUnlessPure(e.Args[1])
		val := g.valueUnlessPure(e.Args[2])
		g.point()
		old, val = g.now(old, e.Args[1]), g.now(val, e.Args[2])
		if pl.shared {
			a := g.address(pl, 0)
			g.emit(Instr{Op: OpCas, A: dst, B: a.reg, C: old.reg, D: val.reg, Site: -1})
			g.free(a)
		}
		g.free(old, val)
		g.release(pl)
	case "timeout":
		g.p.Timeout = e.Pos()
		g.op(OpTimeout, dst, 0, 0)
	case "trylock", "tryrlock":
		o := g.object(e.Args[0])
		kind := g.typeOf(e.Args[0])
		if kind.Kind == resolve.Pointer {
			kind = kind.Elem
		}
		g.point()
		l := g.location(o)
		in := Instr{Op: OpTryRLock, A: dst, B: l.reg, Site: g.fault(e)}
		switch {
		case name == "trylock" && kind.Kind == resolve.RWMutex:
			in.Op = OpTryWLock
		case name == "trylock":
			in.Op, g.p.Tries = OpTryLock, true
		}
		g.emit(in)
		g.free(l)
		g.releaseObject(o)
	case "choose":
		if len(e.Args) == 1 { // any name
			g.point()
			g.emit(Instr{Op: OpChoose, A: dst, B: g.constReg(1),
				C: g.constReg(int64(g.typeOf(e).Len)), D: int32(g.set(g.typeOf(e)) + 1),
				Site: g.fault(e)})
			return
		}
		lo := g.valueUnlessPure(e.Args[0])
		hi := g.valueUnlessPure(e.Args[1])
		g.point()
		lo, hi = g.now(lo, e.Args[0]), g.now(hi, e.Args[1])
		g.emit(Instr{Op: OpChoose, A: dst, B: lo.reg, C: hi.reg, Site: g.fault(e)})
		g.free(lo, hi)
	default:
		g.errorf(e, "%s has no value", name)
	}
}

// valueUnlessPure evaluates an operand that has effects before the point of
// the access that uses it; a pure one is evaluated by now, after it.
func (g *gen) valueUnlessPure(e syntax.Expr) value {
	if g.isPure(e) {
		return value{reg: noReg}
	}
	return g.held(e)
}

const noReg = 1 << 30

func (g *gen) now(v value, e syntax.Expr) value {
	if v.reg == noReg {
		return g.value(e)
	}
	return v
}

// leaves evaluates an expression of any type into a register for each leaf.
// The values stay as they are while other expressions are evaluated.
func (g *gen) leaves(e syntax.Expr) []value {
	t := g.typeOf(e)
	if t.Kind != resolve.Array && t.Kind != resolve.Struct {
		return []value{g.held(e)}
	}
	x := unparen(e)
	n := leafCount(t)
	types := leafTypes(nil, t)
	switch x := x.(type) {
	case *syntax.CompositeLit:
		vs := make([]value, n)
		for i := range vs {
			vs[i] = value{reg: g.constReg(0)}
		}
		g.eachElem(x, t, leafCount, func(off int, et *resolve.Type, v syntax.Expr) {
			copy(vs[off:], g.leaves(v))
		})
		return vs
	case *syntax.UnaryExpr:
		if x.Op == syntax.Arrow {
			regs := make([]int32, n)
			vs := make([]value, n)
			for i := range regs {
				tmp := g.temp(types[i])
				regs[i], vs[i] = tmp.Reg, value{tmp.Reg, tmp}
			}
			g.receiveLeaves(x, regs, -1)
			return vs
		}
	case *syntax.CallExpr:
		switch g.r.Calls[x] {
		case resolve.CallConversion:
			return g.leaves(x.Args[0])
		case resolve.CallFunc:
			return values(g.inline(x))
		}
	}
	pl := g.place(e)
	vs := make([]value, n)
	for i := range vs {
		tmp := g.temp(types[i])
		g.load(pl, i, tmp.Reg)
		vs[i] = value{tmp.Reg, tmp}
	}
	g.release(pl)
	return vs
}

func (g *gen) receive(e *syntax.UnaryExpr, dst, ok int32) { g.receiveLeaves(e, []int32{dst}, ok) }

// receiveLeaves compiles <-c.
func (g *gen) receiveLeaves(e *syntax.UnaryExpr, dst []int32, ok int32) {
	g.noRendezvousInAtomic(e, e.X)
	v := g.view(e.X)
	g.point()
	g.selectOp(e, []SelectCase{g.viewed(v, SelectCase{Kind: SelRecv, OK: ok, Vals: dst})})
	if s, ok := g.stmt.(*syntax.AssignStmt); ok && unparen(s.Rhs[0]) == e {
		g.canWait()
	}
	g.freeView(v)
}

// selectOp emits a select and returns the register with the case's index.
func (g *gen) selectOp(n syntax.Node, cases []SelectCase) *Var {
	if len(cases) > 250 {
		g.errorf(n, "a select can have at most 250 cases")
		cases = cases[:250]
	}
	g.p.Selects = append(g.p.Selects, cases)
	t := g.temp(addressType)
	in := Instr{Op: OpSelect, A: t.Reg, T: int32(len(g.p.Selects) - 1), Site: g.fault(n)}
	if g.quiet > 0 {
		in.D = 1
	}
	g.emit(in)
	g.drop(t)
	return t
}

func (g *gen) noRendezvousInAtomic(n syntax.Node, c syntax.Expr) {
	if t := g.typeOf(c); g.quiet > 0 && t != nil && t.Kind == resolve.Chan && t.Cap == 0 {
		g.errorf(n, "an operation on a channel without a buffer is not allowed in an atomic "+
			"block or in init: it needs the other side to take a step")
	}
}

// casLeaves compiles cas of a struct or an array: one transition that compares its scalars and,
// if all are equal, sets them.
func (g *gen) casLeaves(e *syntax.CallExpr, dst int32) {
	pl := g.place(e.Args[0])
	var vals [2][]value // the old ones and the new ones
	for i, a := range e.Args[1:] {
		if !g.isPure(a) {
			vals[i] = g.leaves(a)
		}
	}
	g.point()
	if g.quiet == 0 {
		g.p.Points[len(g.p.Points)-1].Atomic = true
	}
	for i, a := range e.Args[1:] {
		if vals[i] == nil {
			vals[i] = g.leaves(a)
		}
	}
	differs, end := g.label(), g.label()
	t := g.temp(addressType)
	for i, old := range vals[0] {
		a := g.address(pl, i)
		g.op(OpLoad, t.Reg, a.reg, 0)
		g.free(a)
		g.op(OpJne, differs, t.Reg, old.reg)
	}
	g.drop(t)
	for i, v := range vals[1] {
		a := g.address(pl, i)
		g.op(OpStore, a.reg, v.reg, 0)
		g.free(a)
	}
	g.move(dst, g.constReg(1))
	g.jump(end)
	g.here(differs)
	g.move(dst, g.constReg(0))
	g.here(end)
	g.free(vals[0]...)
	g.free(vals[1]...)
	g.release(pl)
}
