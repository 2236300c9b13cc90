package resolve

import (
	"fmt"
	"math/big"

	"cpor/frontend/model/syntax"
	"cpor/frontend/source"
	"cpor/internal/human"
	"cpor/internal/spell"
)

// mode says what an expression is.
type mode uint8

const (
	mInvalid mode = iota // an error was reported
	mNone                // a call without result
	mConst
	mValue
	mVar   // a variable, or a part of one
	mTuple // a call with several results
	mType
	mBuiltin
	mFunc
	mThread
)

// operand is a checked expression.
type operand struct {
	mode   mode
	typ    *Type
	val    *big.Int // mConst; bools are 0 and 1
	expr   syntax.Expr
	obj    *Object // mType, mBuiltin, mFunc, mThread
	shared bool    // mVar: it is shared memory
	ref    bool    // mVar: it is a thread's local variable in an invariant, or a part of one
}

// maxBits bounds the constants that appear while others are computed.
const maxBits = 512

// expr checks an expression that has one value. hint is the type that it will
// take, if known: it is used only for literals without a type.
func (c *checker) expr(e syntax.Expr, hint *Type) operand {
	x := c.any(e, hint)
	switch x.mode {
	case mNone:
		c.errorf(e, "%s has no value", text(e))
	case mTuple:
		c.errorf(e, "%s has %d values; assign them to variables first", text(e), len(x.typ.Fields))
	case mType:
		c.errorf(e, "%s is a type, not a value", text(e))
	case mBuiltin, mFunc:
		c.errorf(e, "%s is a function: it must be called, %s(...)", x.obj.Name, x.obj.Name)
	case mThread:
		c.errorf(e, "%s is a thread: start it with go %s(...), or name a local variable or a "+
			"label of it in an invariant, as in %s[0]@label", x.obj.Name, x.obj.Name, x.obj.Name)
	default:
		return x
	}
	return operand{expr: e, typ: invalidType}
}

// any checks an expression and records its type.
func (c *checker) any(e syntax.Expr, hint *Type) operand {
	x := c.check(e, hint)
	x.expr = e
	if x.typ == nil {
		x.typ = invalidType
	}
	if x.typ.Kind == Invalid && (x.mode == mValue || x.mode == mVar || x.mode == mConst) {
		x.mode = mInvalid
	}
	switch x.mode {
	case mConst:
		c.big[e] = x.val
		fallthrough
	case mValue, mVar, mInvalid, mTuple:
		c.prog.Types[e] = x.typ
	}
	return x
}

func bad() operand { return operand{typ: invalidType} }

func value(t *Type) operand { return operand{mode: mValue, typ: t} }

func constOf(t *Type, v *big.Int) operand { return operand{mode: mConst, typ: t, val: v} }

func boolInt(b bool) *big.Int {
	if b {
		return big.NewInt(1)
	}
	return new(big.Int)
}

func (c *checker) check(e syntax.Expr, hint *Type) operand {
	switch e := e.(type) {
	case *syntax.Ident:
		return c.ident(e)
	case *syntax.IntLit:
		return c.intLit(e)
	case *syntax.StringLit:
		c.errorf(e, "there are no strings: a string is allowed only as the message of an assert, "+
			"or in a print")
		return bad()
	case *syntax.ParenExpr:
		return c.any(e.X, hint)
	case *syntax.UnaryExpr:
		return c.unary(e)
	case *syntax.BinaryExpr:
		if e.Op == syntax.LAnd || e.Op == syntax.LOr || e.Op.Prec() != 3 {
			x := c.expr(e.X, nil)
			y := c.expr(e.Y, nil)
			return c.binary(&x, &y, e.Op, e)
		}
		x := c.expr(e.X, nil)
		y := c.expr(e.Y, nil)
		return c.comparison(&x, &y, e.Op, e)
	case *syntax.IndexExpr:
		return c.index(e)
	case *syntax.SelectorExpr:
		return c.selector(e)
	case *syntax.AtExpr:
		return c.at(e)
	case *syntax.CallExpr:
		return c.call(e)
	case *syntax.CompositeLit:
		return c.literal(e, hint)
	case *syntax.MakeExpr:
		c.errorf(e, "make is allowed only as the initial value of a shared variable: var c = "+
			"make(chan T, n)")
		return bad()
	case *syntax.QuantExpr:
		return c.quantifier(e)
	case *syntax.FoldExpr:
		return c.fold(e)
	case *syntax.TemporalExpr:
		return c.temporal(e)
	}
	return bad()
}

func (c *checker) ident(e *syntax.Ident) operand {
	obj := c.scope.find(e.Name)
	if obj == nil {
		c.undefined(e, "", func(o *Object) bool {
			return o.Kind != TypeObj && o.Kind != ThreadObj && o.Kind != InvariantObj &&
				o.Kind != LTLObj
		})
		return bad()
	}
	c.prog.Uses[e] = obj
	if !c.complete(obj) {
		c.errorf(e, "the declaration of %s depends on itself", e.Name)
		return bad()
	}
	switch obj.Kind {
	case ConstObj:
		return c.namedConstant(e, obj)
	case TypeObj:
		return operand{mode: mType, typ: obj.Type, obj: obj}
	case SharedObj:
		return operand{mode: mVar, typ: obj.Type, shared: true}
	case LocalObj:
		return operand{mode: mVar, typ: obj.Type}
	case QuantObj:
		return value(obj.Type)
	case LostObj:
		return bad()
	case FuncObj:
		if c.broken(obj) && !c.file.Partial[obj.Decl.(syntax.Decl)] {
			return bad()
		}
		return operand{mode: mFunc, typ: invalidType, obj: obj}
	case ThreadObj:
		return operand{mode: mThread, typ: invalidType, obj: obj}
	case BuiltinObj:
		if c.file.Lost {
			return bad() // it may be the name of what could not be read
		}
		return operand{mode: mBuiltin, typ: invalidType, obj: obj}
	}
	c.errorf(e, "%s is %s, not a value", e.Name, kindName(obj.Kind))
	return bad()
}

// namedConstant is the use of a declared constant.
func (c *checker) namedConstant(e *syntax.Ident, obj *Object) operand {
	switch {
	case obj.Type == untypedNil:
		return value(untypedNil)
	case obj == c.universe.names["iota"]:
		if c.iota == nil {
			c.errorf(e, "iota is allowed only in a constant declaration")
			return bad()
		}
		return constOf(untypedInt, c.iota)
	case c.value[obj] == nil:
		return bad()
	}
	return constOf(obj.Type, c.value[obj])
}

func (c *checker) intLit(e *syntax.IntLit) operand {
	v := new(big.Int)
	if e.Text[0] == '\'' {
		r := charValue(e.Text)
		v.SetInt64(int64(r))
	} else if _, ok := v.SetString(e.Text, 0); !ok {
		c.errorf(e, "invalid number %s", e.Text)
		return bad()
	}
	return c.limit(e, constOf(untypedInt, v))
}

// limit reports constants that are absurdly large.
func (c *checker) limit(e syntax.Node, x operand) operand {
	if x.mode == mConst && x.val.BitLen() > maxBits {
		c.errorf(e, "this constant is too large: it has more than %d bits", maxBits)
		return bad()
	}
	return x
}

// fitting checks that the value of a typed constant is one of its type.
func (c *checker) fitting(e syntax.Node, x operand) operand {
	if x.mode == mConst && x.typ.Kind == Int && !x.typ.fits(x.val) {
		c.errorf(e, "the constant %s is out of range of %s", short(x.val), x.typ.limits())
		return bad()
	}
	return c.limit(e, x)
}

// short prints a constant, shortened if it is long.
func short(v *big.Int) string {
	s := v.String()
	if len(s) > 40 {
		return fmt.Sprintf("%s... (%d digits)", s[:20], len(s))
	}
	return s
}

// ---------------------------------------------------------------- conversion and assignment

// convert gives an untyped operand a type of its kind.
func (c *checker) convert(x *operand, t *Type) {
	if x.mode == mInvalid || !x.typ.untyped() || t.Kind == Invalid {
		return
	}
	if x.mode == mConst && t.Kind == Int && !t.fits(x.val) {
		c.errorf(x.expr, "the constant %s is out of range of %s", short(x.val), t.limits())
		*x = operand{expr: x.expr, typ: invalidType}
		return
	}
	if !t.untyped() {
		c.settle(x.expr, t)
	}
	x.typ = t
}

// show describes an operand in messages: its text and its type.
func (c *checker) show(x *operand) string {
	s := text(x.expr)
	switch {
	case x.typ.Kind == UntypedNil:
		return "nil"
	case x.mode == mConst && x.typ.Kind == UntypedInt:
		if v := short(x.val); v != s {
			return fmt.Sprintf("%s (the integer %s)", s, v)
		}
		return s
	case x.typ.Kind == UntypedBool:
		return s + " (bool)"
	case x.typ.Kind == UntypedInt:
		return s + " (integer)"
	}
	return fmt.Sprintf("%s (%s)", s, x.typ)
}

// settle records the final type of an untyped expression and of the parts that inherit it.
func (c *checker) settle(e syntax.Expr, t *Type) {
	old := c.prog.Types[e]
	if old == nil || !old.untyped() {
		return
	}
	switch x := e.(type) {
	case *syntax.ParenExpr:
		c.settle(x.X, t)
	case *syntax.UnaryExpr:
		c.settle(x.X, t)
	case *syntax.BinaryExpr:
		switch x.Op {
		case syntax.Shl, syntax.Shr:
			c.settle(x.X, t)
		case syntax.Eq, syntax.Ne, syntax.Lt, syntax.Le, syntax.Gt, syntax.Ge:
			// The operands have a type of their own.
		default:
			c.settle(x.X, t)
			c.settle(x.Y, t)
		}
		if c.big[e] == nil { // 1 << n: the constants in it take the type
			for _, p := range []syntax.Expr{x.X, x.Y} {
				if v := c.big[p]; v != nil && c.prog.Types[p] == t && t.Kind == Int && !t.fits(v) {
					c.errorf(p, "the constant %s is out of range of %s", short(v), t.limits())
				}
			}
		}
	case *syntax.CallExpr:
		for _, a := range x.Args { // min and max of constants
			c.settle(a, t)
		}
	}
	c.prog.Types[e] = t
}

// defaultType gives an untyped operand its default type, and returns the type of a variable with
// this value.
func (c *checker) defaultType(x *operand) *Type {
	switch x.typ.Kind {
	case UntypedBool:
		c.convert(x, boolType)
	case UntypedInt:
		c.convert(x, intType)
	case UntypedNil:
		c.errorf(x.expr, "nil alone has no type: declare the variable with a pointer type")
		*x = operand{expr: x.expr, typ: invalidType}
	case Chan:
		if x.mode != mInvalid {
			return c.canonical(Type{Kind: Chan, Elem: x.typ.Elem, Cap: -1})
		}
	}
	return x.typ
}

// assign checks that an operand can be assigned to a variable of type t, and
// gives it that type. where names the assignment.
func (c *checker) assign(x *operand, t *Type, where string) {
	if x.mode == mInvalid || t.Kind == Invalid {
		if x.mode != mInvalid && x.typ.untyped() && x.typ != untypedNil {
			c.defaultType(x)
		}
		x.mode = mInvalid
		return
	}
	fail := func(format string, args ...any) {
		c.errorf(x.expr, format, args...)
		*x = operand{expr: x.expr, typ: invalidType}
	}
	if x.typ.Kind == Chan && t.Kind == Chan && t.Cap < 0 && x.typ.Elem == t.Elem {
		return // a channel becomes a reference to it
	}
	c.wholeArray(x.expr, t)
	_, lit := syntax.Unparen(x.expr).(*syntax.CompositeLit)
	if o := t.object(); o != "" && !(lit && c.sharedInit) {
		fail("%s cannot be assigned or copied", holder(t, o))
		return
	}
	if x.typ.untyped() {
		if !c.convertible(x, t) {
			fail("cannot use %s as %s in %s%s", c.show(x), t, where, assignHint(x, t))
			return
		}
		c.convert(x, t)
		return
	}
	if x.typ == t || x.typ.Underlying() == t.Underlying() && (x.typ.Name == "" || t.Name == "") {
		return
	}
	fail("cannot use %s as %s in %s%s", c.show(x), t, where, assignHint(x, t))
}

// holder describes a value of type t that contains an object o.
func holder(t *Type, o string) string {
	if t.isLock() || t.Kind == Chan {
		return o
	}
	return fmt.Sprintf("%s contains %s, which", t, o)
}

// assignHint says how to write what an assignment to a variable of type t was probably meant to
// do; "" if unknown.
func assignHint(x *operand, t *Type) string {
	switch {
	case x.typ.Kind == UntypedInt && t.Kind == Bool:
		return "; write true or false"
	case x.typ.untyped():
		return ""
	case x.typ.Kind == Int && t.Kind == Int:
		return fmt.Sprintf("; convert it: %s(%s)", t, text(syntax.Unparen(x.expr)))
	case t.Kind == Pointer && t.Elem == x.typ && x.mode == mVar && x.shared:
		return "; did you mean &" + text(x.expr) + "?"
	case x.typ.Kind == Pointer && x.typ.Elem == t:
		return "; did you mean *" + text(x.expr) + "?"
	case x.typ.Kind == Chan && x.typ.Elem == t:
		return "; did you mean <-" + text(x.expr) + "?"
	case x.typ.isInt() && t.Kind == Bool:
		return "; compare it: " + text(x.expr) + " != 0"
	}
	return ""
}

// copies reports an operand whose value cannot be copied into a new variable.
func (c *checker) copies(x *operand) {
	if x.mode == mInvalid || x.typ.Kind == Chan {
		return
	}
	c.wholeArray(x.expr, x.typ)
	if o := x.typ.object(); o != "" {
		if x.typ.isLock() {
			c.errorf(x.expr, "a %s cannot be assigned or copied; use a pointer, &%s", x.typ,
				text(x.expr))
		} else {
			c.errorf(x.expr, "%s contains %s, which cannot be assigned or copied; use a pointer, "+
				"&%s", x.typ, o, text(x.expr))
		}
		*x = operand{expr: x.expr, typ: invalidType}
	}
}

// condition checks an expression that must be a bool.
func (c *checker) condition(e syntax.Expr, what string) {
	x := c.expr(e, nil)
	if x.mode == mInvalid {
		return
	}
	if !x.typ.isBool() {
		hint := ""
		if x.typ.isInt() {
			hint = "; compare it: " + text(e) + " != 0"
		}
		c.errorf(e, "%s must be a bool; %s is not%s", what, c.show(&x), hint)
		return
	}
	c.defaultType(&x)
}

// ---------------------------------------------------------------- operators

func (c *checker) unary(e *syntax.UnaryExpr) operand {
	switch e.Op {
	case syntax.And:
		return c.address(e)
	case syntax.Arrow:
		return c.receive(e)
	}
	x := c.expr(e.X, nil)
	if x.mode == mInvalid {
		return bad()
	}
	switch e.Op {
	case syntax.Mul:
		if x.typ.Kind != Pointer {
			c.errorf(e, "%s is not a pointer", c.show(&x))
			return bad()
		}
		return operand{mode: mVar, typ: x.typ.Elem, shared: true}
	case syntax.Not:
		if !x.typ.isBool() {
			c.errorf(e, "! needs a bool; %s is not", c.show(&x))
			return bad()
		}
		if x.mode == mConst {
			return constOf(x.typ, boolInt(x.val.Sign() == 0))
		}
		return value(x.typ)
	}
	if !x.typ.isInt() {
		c.errorf(e, "%s needs an integer; %s is not", e.Op, c.show(&x))
		return bad()
	}
	if x.mode != mConst {
		return value(x.typ)
	}
	v := new(big.Int)
	switch e.Op {
	case syntax.Add:
		v.Set(x.val)
	case syntax.Sub:
		v.Neg(x.val)
	case syntax.Xor:
		v.Not(x.val)
		if x.typ.Kind == Int && !x.typ.Signed {
			_, hi := x.typ.bounds()
			v.And(v, hi)
		}
	}
	return c.fitting(e, constOf(x.typ, v))
}

func (c *checker) address(e *syntax.UnaryExpr) operand {
	if _, ok := syntax.Unparen(e.X).(*syntax.CompositeLit); ok {
		c.any(e.X, nil)
		c.errorf(e, "there is no heap: declare a shared variable and point to it")
		return bad()
	}
	x := c.expr(e.X, nil)
	switch {
	case x.mode == mInvalid:
		return bad()
	case x.mode == mVar && x.ref:
		c.errorf(e, "a thread's local variable has no address")
		return bad()
	case x.mode == mVar && !x.shared:
		c.errorf(e, "the local variable %s has no address: only shared variables have one",
			text(e.X))
		return bad()
	case x.mode != mVar:
		c.errorf(e, "%s is not a variable and has no address", text(e.X))
		return bad()
	case x.typ.Kind == Chan:
		c.errorf(e, "there are no pointers to channels: pass %s itself, as chan %s", text(e.X),
			x.typ.Elem)
		return bad()
	}
	return value(c.canonical(Type{Kind: Pointer, Elem: x.typ}))
}

// channel checks an operand that must be a channel.
func (c *checker) channel(e syntax.Expr, what string) *Type {
	x := c.expr(e, nil)
	if x.mode == mInvalid {
		return nil
	}
	if x.typ.Kind != Chan {
		c.errorf(e, "%s needs a channel; %s is not", what, c.show(&x))
		return nil
	}
	return x.typ
}

func (c *checker) receive(e *syntax.UnaryExpr) operand {
	t := c.view(e.X, "<-")
	if c.noEffects != "" {
		c.errorf(e, "a receive has an effect: it is not allowed in %s", c.noEffects)
		return bad()
	}
	if t == nil {
		return bad()
	}
	c.meet(e, t)
	return value(t.Elem)
}

// binary checks x op y, where op is not a comparison. For x op= y it is the right side.
func (c *checker) binary(x, y *operand, op syntax.Op, e syntax.Node) operand {
	if x.mode == mInvalid || y.mode == mInvalid {
		return bad()
	}
	if op == syntax.Shl || op == syntax.Shr {
		return c.shift(x, y, op, e)
	}
	if !c.match(x, y, op, e) {
		return bad()
	}
	if op == syntax.LAnd || op == syntax.LOr {
		return c.logical(x, y, op, e)
	}
	if !x.typ.isInt() {
		c.operands(x, y, op, "integers", e)
		return bad()
	}
	if (op == syntax.Div || op == syntax.Rem) && y.mode == mConst && y.val.Sign() == 0 {
		c.errorf(y.expr, "division by zero")
		return bad()
	}
	if x.mode != mConst || y.mode != mConst {
		return value(x.typ)
	}
	return c.fitting(e, constOf(x.typ, arithmetic(op, x.val, y.val)))
}

// logical checks x && y and x || y.
func (c *checker) logical(x, y *operand, op syntax.Op, e syntax.Node) operand {
	if !x.typ.isBool() {
		c.operands(x, y, op, "bools", e)
		return bad()
	}
	if x.mode == mConst && y.mode == mConst {
		a, b := x.val.Sign() != 0, y.val.Sign() != 0
		if op == syntax.LAnd {
			return constOf(x.typ, boolInt(a && b))
		}
		return constOf(x.typ, boolInt(a || b))
	}
	return value(x.typ)
}

// arithmetic computes a op b, where b is not 0 if op divides.
func arithmetic(op syntax.Op, a, b *big.Int) *big.Int {
	v := new(big.Int)
	switch op {
	case syntax.Add:
		v.Add(a, b)
	case syntax.Sub:
		v.Sub(a, b)
	case syntax.Mul:
		v.Mul(a, b)
	case syntax.Div:
		v.Quo(a, b)
	case syntax.Rem:
		v.Rem(a, b)
	case syntax.And:
		v.And(a, b)
	case syntax.Or:
		v.Or(a, b)
	case syntax.Xor:
		v.Xor(a, b)
	case syntax.AndNot:
		v.AndNot(a, b)
	}
	return v
}

// operands reports operands of the wrong type.
func (c *checker) operands(x, y *operand, op syntax.Op, want string, e syntax.Node) {
	hint := ""
	if x.typ.isInt() && want == "bools" {
		hint = map[syntax.Op]string{syntax.LAnd: "; for the bits use &",
			syntax.LOr: "; for the bits use |"}[op]
	}
	if x.typ.isBool() {
		hint = map[syntax.Op]string{
			syntax.And: "; for bools use &&", syntax.Or: "; for bools use ||",
			syntax.Xor: "; for bools use !=",
		}[op]
	}
	c.errorf(e, "%s needs %s; %s and %s are not%s", op, want, c.show(x), c.show(y), hint)
}

// match gives two operands the same type.
func (c *checker) match(x, y *operand, op syntax.Op, e syntax.Node) bool {
	switch {
	case x.typ.untyped() && y.typ.untyped():
		if x.typ.Kind == y.typ.Kind {
			return true
		}
	case x.typ.untyped():
		if c.convertible(x, y.typ) {
			c.convert(x, y.typ)
			return x.mode != mInvalid
		}
	case y.typ.untyped():
		if c.convertible(y, x.typ) {
			c.convert(y, x.typ)
			return y.mode != mInvalid
		}
	case x.typ == y.typ:
		return true
	}
	if x.typ.Kind == Int && y.typ.Kind == Int {
		c.errorf(e, "mismatched types: %s and %s; convert one of them", c.show(x), c.show(y))
	} else {
		c.errorf(e, "mismatched types: %s and %s", c.show(x), c.show(y))
	}
	return false
}

// convertible reports whether an untyped operand can take a type, ignoring its value.
func (c *checker) convertible(x *operand, t *Type) bool {
	switch x.typ.Kind {
	case UntypedBool:
		return t.Kind == Bool
	case UntypedInt:
		return t.Kind == Int
	case UntypedNil:
		return t.Kind == Pointer || t.Kind == Scalarset
	}
	return false
}

func (c *checker) shift(x, y *operand, op syntax.Op, e syntax.Node) operand {
	if !x.typ.isInt() || !y.typ.isInt() {
		c.operands(x, y, op, "integers", e)
		return bad()
	}
	if y.mode == mConst && y.val.Sign() < 0 {
		c.errorf(y.expr, "the shift count %s is negative", short(y.val))
		return bad()
	}
	if y.typ.untyped() {
		c.convert(y, intType)
		if y.mode == mInvalid {
			return bad()
		}
	}
	if x.mode == mConst && y.mode == mConst {
		if !y.val.IsInt64() || y.val.Int64() > maxBits {
			if op == syntax.Shl && x.val.Sign() != 0 {
				c.errorf(e, "this constant is too large: it has more than %d bits", maxBits)
				return bad()
			}
			y.val = big.NewInt(maxBits)
		}
		n := uint(y.val.Int64())
		v := new(big.Int)
		if op == syntax.Shl {
			v.Lsh(x.val, n)
		} else {
			v.Rsh(x.val, n)
		}
		return c.fitting(e, constOf(x.typ, v))
	}
	return value(x.typ)
}

// comparison checks x op y, op one of == != < <= > >=.
func (c *checker) comparison(x, y *operand, op syntax.Op, e syntax.Node) operand {
	if x.mode == mInvalid || y.mode == mInvalid {
		return bad()
	}
	for _, o := range []*operand{x, y} {
		if !o.typ.IsScalar() {
			hint := ""
			if o.typ.Kind == Array || o.typ.Kind == Struct {
				hint = "; compare the parts"
			}
			c.errorf(e, "%s cannot be compared%s", c.describe(o.typ), hint)
			return bad()
		}
	}
	if !c.match(x, y, op, e) {
		return bad()
	}
	t := x.typ
	switch {
	case t.Kind == UntypedNil:
		c.errorf(e, "nil cannot be compared with nil")
		return bad()
	case op != syntax.Eq && op != syntax.Ne && !t.isInt():
		c.operands(x, y, op, "integers", e)
		return bad()
	}
	if x.mode == mConst && y.mode == mConst {
		d := x.val.Cmp(y.val)
		r := map[syntax.Op]bool{
			syntax.Eq: d == 0, syntax.Ne: d != 0, syntax.Lt: d < 0,
			syntax.Le: d <= 0, syntax.Gt: d > 0, syntax.Ge: d >= 0,
		}[op]
		// The operands are not computed at run time, but they have types.
		c.defaultQuietly(x)
		c.defaultQuietly(y)
		return constOf(untypedBool, boolInt(r))
	}
	c.defaultType(x)
	c.defaultType(y)
	return value(untypedBool)
}

// defaultQuietly gives an untyped constant its own type, whether it fits or not.
func (c *checker) defaultQuietly(x *operand) {
	switch x.typ.Kind {
	case UntypedBool:
		c.settle(x.expr, boolType)
	case UntypedInt:
		c.settle(x.expr, intType)
	}
}

// ---------------------------------------------------------------- parts of variables

// threadIndex returns the thread type and the index of Thread[i].
func (c *checker) threadIndex(e syntax.Expr) (*Object, *syntax.IndexExpr) {
	ix, ok := syntax.Unparen(e).(*syntax.IndexExpr)
	if !ok {
		return nil, nil
	}
	id, ok := syntax.Unparen(ix.X).(*syntax.Ident)
	if !ok {
		return nil, nil
	}
	obj := c.scope.find(id.Name)
	if obj == nil || obj.Kind != ThreadObj {
		return nil, nil
	}
	c.prog.Uses[id] = obj
	return obj, ix
}

// threadRef checks Thread[i].x and Thread[i]@label up to the index.
func (c *checker) threadRef(e syntax.Expr, obj *Object, ix *syntax.IndexExpr) *ThreadRef {
	if !c.invariant {
		c.errorf(e, "only an invariant can look into a thread; share the variable, or write an "+
			"invariant")
		return nil
	}
	x := c.expr(ix.Index, nil)
	if x.mode == mInvalid {
		return nil
	}
	if !x.typ.isInt() {
		c.errorf(ix.Index, "the number of a thread must be an integer; %s is not", c.show(&x))
		return nil
	}
	if !c.quantConst(ix.Index) {
		c.errorf(ix.Index, "the number of a thread must be constant, or made of constants and "+
			"the variables of quantifiers")
		return nil
	}
	if x.mode == mConst && x.val.Sign() < 0 {
		c.errorf(ix.Index, "the number of a thread is negative: threads are numbered from 0")
		return nil
	}
	c.defaultType(&x)
	return &ThreadRef{Thread: obj, Index: ix.Index}
}

// quantConst reports whether an expression consists of constants and variables of quantifiers.
func (c *checker) quantConst(e syntax.Expr) bool {
	if c.big[e] != nil {
		return true
	}
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return c.quantConst(e.X)
	case *syntax.Ident:
		obj := c.prog.Uses[e]
		return obj != nil && obj.Kind == QuantObj
	case *syntax.UnaryExpr:
		return e.Op == syntax.Sub && c.quantConst(e.X)
	case *syntax.BinaryExpr:
		switch e.Op {
		case syntax.Add, syntax.Sub, syntax.Mul, syntax.Div, syntax.Rem:
			return c.quantConst(e.X) && c.quantConst(e.Y)
		}
	}
	return false
}

func (c *checker) index(e *syntax.IndexExpr) operand {
	if obj, ix := c.threadIndex(e); obj != nil {
		c.threadRef(e, obj, ix)
		if c.invariant {
			c.errorf(e, "a thread is not a value: name a local variable or a label of it, as in "+
				"%s.x or %s@label", text(e), text(e))
		}
		return bad()
	}
	x := c.expr(e.X, nil)
	i := c.expr(e.Index, nil)
	if x.mode == mInvalid || i.mode == mInvalid {
		return bad()
	}
	t, shared := x.typ, x.shared
	if t.Kind == Pointer && t.Elem.Kind == Array {
		t, shared = t.Elem, true
	} else if t.Kind == Array && !c.isPlace(&x) {
		return bad()
	}
	if t.Kind != Array {
		hint := ""
		if t.Kind == Int || t.Kind == UntypedInt {
			hint = "; for bit i write x>>i&1"
		}
		c.errorf(e, "%s is not an array%s", c.show(&x), hint)
		return bad()
	}
	if x.ref {
		c.errorf(e, "an invariant can name scalar local variables of a thread and their fields, "+
			"not elements of its arrays; make the array shared")
		return bad()
	}
	if t.Index != nil {
		if i.typ == t.Index {
			return operand{mode: mVar, typ: t.Elem, shared: shared}
		}
		if i.typ == untypedNil {
			c.errorf(e.Index, "nil is not a valid index")
		} else {
			c.errorf(e.Index, "%s is indexed by %s; %s is not one", text(e.X), t.Index, c.show(&i))
		}
		return bad()
	}
	if !c.indexNumber(e, &x, &i, t) {
		return bad()
	}
	c.defaultType(&i)
	return operand{mode: mVar, typ: t.Elem, shared: shared}
}

// indexNumber checks the index of an array whose indices are numbers.
func (c *checker) indexNumber(e *syntax.IndexExpr, x, i *operand, t *Type) bool {
	switch {
	case i.typ.Kind == Scalarset:
		c.errorf(e.Index, "%s is not a number: declare an array that it indexes as [%s]%s",
			c.show(i), i.typ, t.Elem)
	case !i.typ.isInt():
		c.errorf(e.Index, "an index must be an integer; %s is not", c.show(i))
	case i.mode == mConst && (i.val.Sign() < 0 || i.val.Cmp(big.NewInt(int64(t.Len))) >= 0):
		c.errorf(e.Index, "the index %s is out of bounds: %s has %d elements, 0 to %d",
			short(i.val), text(e.X), t.Len, t.Len-1)
	default:
		return true
	}
	return false
}

// isPlace reports a struct or array that is not in a variable, so that its
// parts cannot be named.
func (c *checker) isPlace(x *operand) bool {
	if x.mode == mVar {
		return true
	}
	c.errorf(x.expr, "%s is not a variable: assign it to one to use a part of it", text(x.expr))
	return false
}

func (c *checker) selector(e *syntax.SelectorExpr) operand {
	if obj, ix := c.threadIndex(e.X); obj != nil {
		return c.threadLocal(e, obj, ix)
	}
	if id, ok := e.X.(*syntax.Ident); ok {
		obj := c.scope.find(id.Name)
		if obj == nil && advice[id.Name] != "" || obj != nil && obj.Kind == ThreadObj {
			if obj != nil {
				c.errorf(e, "%s has any number of instances: write %s[0].%s for the first one",
					id.Name, id.Name, e.Sel.Name)
			} else {
				c.errorf(e, "undefined: %s; %s", id.Name, advice[id.Name])
			}
			return bad()
		}
	}
	x := c.expr(e.X, nil)
	if x.mode == mInvalid {
		return bad()
	}
	t, shared := x.typ, x.shared
	if t.Kind == Pointer && t.Elem.Kind == Struct {
		if x.ref {
			c.errorf(e, "an invariant cannot follow a thread's pointer this way: write (*%s).%s",
				text(e.X), e.Sel.Name)
			return bad()
		}
		t, shared = t.Elem, true
	} else if t.Kind == Struct && !c.isPlace(&x) {
		return bad()
	}
	if t.Kind != Struct {
		c.errorf(e, "%s is not a struct: it has no field %s", c.show(&x), e.Sel.Name)
		return bad()
	}
	names := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		if f.Name == e.Sel.Name {
			return operand{mode: mVar, typ: f.Type, shared: shared, ref: x.ref}
		}
		names[i] = f.Name
	}
	if s := spell.Nearest(e.Sel.Name, names); s != "" {
		c.errorf(e.Sel, "%s has no field %s; did you mean %s?", t, e.Sel.Name, s)
	} else {
		c.errorf(e.Sel, "%s has no field %s", t, e.Sel.Name)
	}
	return bad()
}

func (c *checker) threadLocal(e *syntax.SelectorExpr, obj *Object, ix *syntax.IndexExpr) operand {
	ref := c.threadRef(e, obj, ix)
	if ref == nil || c.broken(obj) {
		return bad()
	}
	var names []string
	var found []*Object
	for _, l := range append(append([]*Object(nil), obj.Params...), obj.Locals...) {
		names = append(names, l.Name)
		if l.Name == e.Sel.Name {
			found = append(found, l)
		}
	}
	switch {
	case len(found) == 0:
		m := fmt.Sprintf("the thread %s has no local variable %s", obj.Name, e.Sel.Name)
		if s := spell.Nearest(e.Sel.Name, names); s != "" {
			m += "; did you mean " + s + "?"
		} else if c.hasLabel(obj, e.Sel.Name) {
			m += fmt.Sprintf("; for the label write %s@%s", text(e.X), e.Sel.Name)
		}
		c.errorf(e.Sel, "%s", m)
		return bad()
	case len(found) > 1:
		m := c.errorf(e.Sel, "the thread %s declares %s more than once: rename one of them",
			obj.Name, e.Sel.Name)
		for _, l := range found {
			m.Note(l.Pos, "a declaration of %s", l.Name)
		}
		return bad()
	}
	ref.Local = found[0]
	obj.Used[ref.Local.Name] = true
	c.prog.Refs[e] = ref
	c.prog.Uses[e.Sel] = ref.Local
	return operand{mode: mVar, typ: ref.Local.Type, ref: true}
}

func (c *checker) hasLabel(obj *Object, name string) bool {
	for _, l := range obj.Labels {
		if l.Name == name {
			return true
		}
	}
	return false
}

// broken reports whether the declaration of a function or thread had syntax errors.
func (c *checker) broken(obj *Object) bool {
	d, ok := obj.Decl.(syntax.Decl)
	return ok && c.file.Broken[d]
}

func (c *checker) at(e *syntax.AtExpr) operand {
	obj, ix := c.threadIndex(e.X)
	if obj == nil {
		if id, ok := syntax.Unparen(e.X).(*syntax.Ident); ok {
			if t := c.scope.find(id.Name); t != nil && t.Kind == ThreadObj {
				c.errorf(e, "%s has any number of instances: write %s[0]@%s for the first one",
					id.Name, id.Name, e.Label.Name)
				return bad()
			}
		}
		if ix, ok := syntax.Unparen(e.X).(*syntax.IndexExpr); ok {
			if id, ok := syntax.Unparen(ix.X).(*syntax.Ident); ok && c.scope.find(id.Name) == nil {
				c.undefined(id, "thread", func(o *Object) bool { return o.Kind == ThreadObj })
				return bad()
			}
		}
		c.errorf(e, "@ asks whether a thread is at a label: write Thread[0]@%s", e.Label.Name)
		return bad()
	}
	ref := c.threadRef(e, obj, ix)
	if ref == nil || c.broken(obj) {
		return bad()
	}
	var names []string
	for _, l := range obj.Labels {
		if l.Name == e.Label.Name {
			ref.Label = l
		}
		names = append(names, l.Name)
	}
	if ref.Label == nil {
		var quiet *Object
		if ref.Label, quiet = c.calledLabel(obj, e.Label.Name, &names); ref.Label == nil &&
			quiet != nil {
			c.errorf(e.Label, "%s is a label of the function %s, which %s calls only in atomic "+
				"blocks and conditions: no transition begins there", e.Label.Name, quiet.Owner.Name,
				obj.Name).
				Note(quiet.Pos, "the label")
			return bad()
		}
	}
	if ref.Label == nil {
		if s := spell.Nearest(e.Label.Name, names); s != "" {
			c.errorf(e.Label, "the thread %s has no label %s; did you mean %s?", obj.Name,
				e.Label.Name, s)
		} else {
			hint := ""
			if f := c.scope.find(e.Label.Name); f != nil && f.Kind == FuncObj {
				hint = fmt.Sprintf("; %s is a function, and its labels are written without it, "+
					"as in %s@label", f.Name, text(e.X))
			}
			c.errorf(e.Label, "the thread %s has no label %s%s", obj.Name, e.Label.Name, hint)
		}
		return bad()
	}
	if c.atomics[ref.Label] {
		c.errorf(e.Label, "%s is inside an atomic block, where no transition begins: put the "+
			"label before the block", e.Label.Name).
			Note(ref.Label.Pos, "the label")
		return bad()
	}
	obj.Used["@"+ref.Label.Name] = true
	c.prog.Refs[e] = ref
	c.prog.Uses[e.Label] = ref.Label
	return value(boolType)
}

// calledLabel finds a label in the functions that a thread calls, and adds their labels to
// names. A label at which no transition begins is quiet.
func (c *checker) calledLabel(thread *Object, name string, names *[]string) (found, quiet *Object) {
	type visit struct {
		f     *Object
		quiet bool
	}
	seen := map[visit]bool{}
	var look func(b *body, in bool)
	look = func(b *body, in bool) {
		if b == nil {
			return
		}
		for _, call := range b.calls {
			v := visit{call.callee, in || call.quiet}
			if seen[v] {
				continue
			}
			seen[v] = true
			for _, l := range v.f.Labels {
				*names = append(*names, l.Name)
				switch {
				case l.Name != name:
				case v.quiet:
					quiet = l
				case found == nil || c.atomics[found]:
					found = l
				}
			}
			look(c.bodies[v.f], v.quiet)
		}
	}
	look(c.bodies[thread], false)
	return found, quiet
}

// maxUnrolled bounds the copies of its condition that a quantifier makes.
const maxUnrolled = 1 << 16

func (c *checker) quantifier(e *syntax.QuantExpr) operand {
	word := "forall"
	if e.Exists {
		word = "exists"
	}
	c.over(e, word, "a quantifier", e.Var, &e.Domain, func() {
		c.condition(e.Cond, "the condition of "+word)
	})
	return value(boolType)
}

// fold checks count, sum, min and max over a variable.
func (c *checker) fold(e *syntax.FoldExpr) operand {
	word := e.Op.String()
	t := intType
	c.over(e, word, "a "+word, e.Var, &e.Domain, func() {
		if e.Op == syntax.Count {
			c.condition(e.X, "the condition of count")
			return
		}
		x := c.expr(e.X, nil)
		if x.mode != mInvalid && !x.typ.isInt() {
			hint := ""
			if x.typ.isBool() {
				hint = "; count " + e.Var.Name + " in ... { " + text(e.X) +
					" } counts how often it is true"
			}
			c.errorf(e.X, "%s needs an integer; %s is not%s", word, c.show(&x), hint)
			x.mode = mInvalid
		}
		if x.mode == mInvalid {
			t = invalidType
			return
		}
		t = c.defaultType(&x)
	})
	if t.Kind == Invalid {
		return bad()
	}
	if b, ok := c.prog.Bounds[e]; ok && b.Hi < b.Lo && (e.Op == syntax.Min || e.Op == syntax.Max) {
		c.errorf(e, "%s of nothing: there is no number from %d to %d", word, b.Lo, b.Hi)
	}
	return value(t)
}

// over checks a quantifier's domain and body.
func (c *checker) over(e syntax.Expr, word, where string, id *syntax.Ident, d *syntax.Domain,
	inside func()) {
	var b Bounds
	ok := false
	var names *Type
	if d.Of != nil {
		names = c.namesOf(d.Of)
	}
	if names != nil {
		b, ok = Bounds{1, int64(names.Len)}, true
		c.inSteps(e, word+" over "+names.String())
	} else if d.Of != nil {
		b, ok = c.threadsOf(d.Of, word)
	} else {
		var ok1, ok2 bool
		b.Lo, ok1 = c.constInt(d.Lo, "the bound of a quantifier")
		b.Hi, ok2 = c.constInt(d.Hi, "the bound of a quantifier")
		ok = ok1 && ok2
		for _, x := range []struct {
			v int64
			e syntax.Expr
		}{{b.Lo, d.Lo}, {b.Hi, d.Hi}} {
			if ok1 && ok2 && !intType.fits(big.NewInt(x.v)) {
				c.errorf(x.e, "the constant %d is out of range of %s", x.v, intType.limits())
				ok = false
			}
		}
	}
	obj := &Object{Kind: QuantObj, Name: id.Name, Pos: id.Pos(), Type: intType, Decl: e}
	if names != nil {
		obj.Type = names
	}
	c.prog.Uses[id] = obj
	outer, unrolled, noEffects := c.scope, c.unrolled, c.noEffects
	c.scope = newScope(outer)
	if id.Name != "_" {
		c.scope.names[id.Name] = obj
	}
	if ok {
		n := max(b.Hi-b.Lo+1, 0)
		c.unrolled = max(unrolled, 1) * int(n)
		if c.unrolled > maxUnrolled {
			c.errorf(e, "this %s is too large: its condition would be checked for %d values, at "+
				"most %d are possible", word, c.unrolled, maxUnrolled)
			c.unrolled = 1
		}
		c.prog.Bounds[e] = b
	}
	if c.noEffects == "" {
		c.noEffects = where
	}
	inside()
	c.scope, c.unrolled, c.noEffects = outer, unrolled, noEffects
	if names != nil {
		c.alike(e, names)
	}
}

// literal checks a composite literal.
func (c *checker) literal(e *syntax.CompositeLit, hint *Type) operand {
	t := hint
	open := false // [...]T
	if e.Type != nil {
		if a, ok := e.Type.(*syntax.ArrayType); ok && a.Len == nil {
			open = true
			elem := c.typ(a.Elem, fieldPlace)
			n := c.elements(e, elem, -1)
			if n < 1 {
				if n == 0 {
					c.errorf(e, "the length of an array is at least 1, not 0")
				}
				return bad()
			}
			if n > maxCells || n*elem.cells() > maxCells {
				c.errorf(e, "the state is too large: this array has more than %d elements",
					maxCells)
				return bad()
			}
			t = c.canonical(Type{Kind: Array, Elem: elem, Len: n})
			c.prog.TypeOf[a] = t
		} else {
			t = c.typ(e.Type, fieldPlace)
		}
	} else if hint == nil {
		c.errorf(e, "this literal needs a type before its '{'")
		return bad()
	}
	if o := t.object(); o != "" && !c.sharedInit {
		c.errorf(e, "%s contains %s: a literal of it is allowed only as the initial value of a "+
			"shared variable", t, o)
		return bad()
	}
	switch t.Kind {
	case Invalid:
		for _, v := range e.Values {
			c.expr(v, invalidType)
		}
		return bad()
	case Array:
		if t.Index != nil && len(e.Values) > 0 {
			c.errorf(e, "a literal of %s would distinguish the names: assign the elements in "+
				"init, for p := range %s { ... }", t, t.Index)
			return bad()
		}
		if !open && c.elements(e, t.Elem, t.Len) < 0 {
			return bad()
		}
	case Struct:
		c.fields(e, t)
	case Pointer:
		c.errorf(e, "there is no heap: a pointer points to a shared variable, as in &x")
		return bad()
	default:
		c.errorf(e, "%s has no literals with braces", c.describe(t))
		return bad()
	}
	return value(t)
}

// elements checks the elements of an array literal and returns its length, -1
// after an error; limit is the array's length, or -1.
func (c *checker) elements(e *syntax.CompositeLit, elem *Type, limit int) int {
	seen := map[int64]bool{}
	at, n := int64(0), int64(0)
	ok := true
	for i, v := range e.Values {
		if k := e.Keys[i]; k != nil {
			if _, isLit := k.(*syntax.CompositeLit); isLit {
				c.errorf(k, "the index in a literal must be constant")
				ok = false
				continue
			}
			j, good := c.constInt(k, "the index in a literal")
			if good && j < 0 {
				c.errorf(k, "the index %d is negative", j)
				good = false
			}
			if !good {
				ok = false
				continue
			}
			at = j
		}
		switch {
		case limit >= 0 && at >= int64(limit):
			c.errorf(v, "the index %d is out of bounds: the array has %d elements", at, limit)
			ok = false
		case at > maxCells:
			c.errorf(v, "the state is too large: this array has more than %d elements", maxCells)
			ok = false
		case seen[at]:
			c.errorf(v, "the element %d is given twice", at)
			ok = false
		}
		seen[at] = true
		x := c.expr(v, elem)
		c.assign(&x, elem, "a literal")
		at++
		n = max(n, at)
	}
	if !ok {
		return -1
	}
	return int(n)
}

// fields checks the fields of a struct literal.
func (c *checker) fields(e *syntax.CompositeLit, t *Type) {
	if len(e.Values) == 0 {
		return
	}
	keyed := 0
	for _, k := range e.Keys {
		if k != nil {
			keyed++
		}
	}
	if keyed == 0 {
		for i, v := range e.Values {
			if i >= len(t.Fields) {
				c.errorf(v, "too many values: %s has %s", t, human.Plural(len(t.Fields), "field"))
				return
			}
			x := c.expr(v, t.Fields[i].Type)
			c.assign(&x, t.Fields[i].Type, "the field "+t.Fields[i].Name)
		}
		if n := len(e.Values); n < len(t.Fields) {
			c.list.Add(e.End()-1, e.End(),
				"too few values: %s has %s; name the fields to omit some", t,
				human.Plural(len(t.Fields), "field"))
		}
		return
	}
	seen := map[string]bool{}
	for i, v := range e.Values {
		k := e.Keys[i]
		if k == nil {
			c.errorf(v, "either all fields of a literal have names or none")
			return
		}
		at := c.fieldOf(k, t)
		if at < 0 {
			if _, named := k.(*syntax.Ident); !named {
				return
			}
			c.expr(v, invalidType)
			continue
		}
		f := t.Fields[at]
		if seen[f.Name] {
			c.errorf(k, "the field %s is given twice", f.Name)
		}
		seen[f.Name] = true
		x := c.expr(v, f.Type)
		c.assign(&x, f.Type, "the field "+f.Name)
	}
}

// meet records an operation on a channel: one on an unbuffered channel cannot be in an atomic
// block, because it needs two threads.
func (c *checker) meet(n syntax.Node, t *Type) {
	if t.Cap != 0 || c.body == nil {
		return
	}
	switch {
	case c.body == c.init:
		c.errorf(n, "an operation on an unbuffered channel is not allowed in init, which runs "+
			"before the threads: there is no other side")
	case c.body.atomic > 0:
		c.errorf(n, "an operation on an unbuffered channel is not allowed in an atomic block: it "+
			"needs a step of another thread")
	case c.body.meets == source.NoPos:
		c.body.meets = n.Pos()
	}
}
