package resolve

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"cpor/frontend/model/syntax"
	"cpor/internal/human"
)

// charValue returns the value of a character literal that the scanner accepted.
func charValue(text string) rune {
	r, _, _, err := strconv.UnquoteChar(text[1:], '\'')
	if err != nil {
		return 0
	}
	return r
}

// instead says what to write for methods that are functions here, and which declaration the
// variable needs.
var instead = map[string]struct {
	write string
	kind  TypeKind
	typ   string
}{
	"Unlock":         {write: "write unlock(%s)"},
	"TryLock":        {write: "write trylock(%s)"},
	"RLock":          {"write rlock(%s)", RWMutex, "rwmutex"},
	"TryRLock":       {"write tryrlock(%s)", RWMutex, "rwmutex"},
	"RUnlock":        {"write runlock(%s)", RWMutex, "rwmutex"},
	"Done":           {"write done(%s)", WaitGroup, "waitgroup"},
	"Signal":         {"write signal(%s)", Cond, "cond"},
	"Broadcast":      {"write broadcast(%s)", Cond, "cond"},
	"Load":           {write: "write %s, with var %[1]s atomic T: reading it is one step"},
	"CompareAndSwap": {write: "write cas(%s, old, new)"},
}

// kindOf returns the kind of the variable that an expression names, Invalid if it names none.
func (c *checker) kindOf(e syntax.Expr) TypeKind {
	id, ok := syntax.Unparen(e).(*syntax.Ident)
	if !ok {
		return Invalid
	}
	obj := c.scope.find(id.Name)
	if obj != nil && (obj.Kind == SharedObj || obj.Kind == LocalObj) && c.complete(obj) &&
		obj.Type != nil {
		return obj.Type.Kind
	}
	return Invalid
}

// insteadOf says what to write instead of a method call, mainly those of Go's packages sync and
// sync/atomic. It names the declaration that this needs if the variable has another one.
func (c *checker) insteadOf(s *syntax.SelectorExpr, args []syntax.Expr) string {
	x, first := text(s.X), "n"
	if len(args) > 0 {
		first = text(args[0])
	}
	kind := c.kindOf(s.X)
	// with says how to write it, and with which declaration unless it stands there.
	with := func(write string, declared TypeKind, typ string) string {
		if kind == declared {
			return write
		}
		return fmt.Sprintf("%s, with var %s %s", write, x, typ)
	}
	if in, ok := instead[s.Sel.Name]; ok && in.typ == "" {
		return fmt.Sprintf(in.write, x)
	} else if ok {
		return with(fmt.Sprintf(in.write, x), in.kind, in.typ)
	}
	switch s.Sel.Name {
	case "Lock":
		if kind == RWMutex {
			return fmt.Sprintf("write lock(%s)", x)
		}
		return with(fmt.Sprintf("write lock(%s)", x), Mutex, "mutex")
	case "Add":
		switch kind {
		case WaitGroup:
			return fmt.Sprintf("write add(%s, %s)", x, first)
		case Int:
			return fmt.Sprintf("write atomic { %s += %s }, with its result as atomic { %[1]s += "+
				"%[2]s; y = %[1]s }", x, first)
		}
		return fmt.Sprintf("write add(%s, %s), with var %[1]s waitgroup; or atomic { %[1]s += "+
			"%[2]s }, with var %[1]s atomic int", x, first)
	case "Wait":
		switch kind {
		case WaitGroup:
			return fmt.Sprintf("write wait(%s)", x)
		case Cond:
			return fmt.Sprintf("write wait(%s, m), with the mutex m", x)
		}
		return fmt.Sprintf("write wait(%s), with var %[1]s waitgroup; wait(%[1]s, m), with var "+
			"%[1]s cond and the mutex m", x)
	case "Store":
		return fmt.Sprintf("write %s = %s, with var %[1]s atomic T: writing it is one step", x,
			first)
	case "Swap":
		return fmt.Sprintf("write atomic { y = %s; %[1]s = %s }", x, first)
	}
	if s.Sel.Name == "Do" {
		return "do something once with a variable: if cas(done, false, true) { ... }"
	}
	return fmt.Sprintf("write a function and call it with %s as an argument", x)
}

func (c *checker) call(e *syntax.CallExpr) operand {
	id, ok := syntax.Unparen(e.Fun).(*syntax.Ident)
	if !ok {
		if s, ok := e.Fun.(*syntax.SelectorExpr); ok {
			if x, ok := s.X.(*syntax.Ident); ok && c.scope.find(x.Name) == nil &&
				advice[x.Name] != "" {
				c.errorf(e, "undefined: %s; %s", x.Name, advice[x.Name])
				return bad()
			}
			c.errorf(e, "there are no methods: %s", c.insteadOf(s, e.Args))
			return bad()
		}
		c.errorf(e, "%s is not a function", text(e.Fun))
		return bad()
	}
	obj := c.scope.find(id.Name)
	if obj == nil {
		c.undefined(id, "function", func(o *Object) bool {
			return o.Kind == FuncObj || o.Kind == BuiltinObj || o.Kind == TypeObj &&
				!sizedOdd(o.Name)
		})
		c.arguments(e)
		return bad()
	}
	c.prog.Uses[id] = obj
	switch obj.Kind {
	case TypeObj:
		c.prog.Calls[e] = CallConversion
		if !c.complete(obj) {
			c.errorf(id, "the declaration of %s depends on itself", id.Name)
			return bad()
		}
		return c.conversion(e, obj)
	case BuiltinObj:
		c.prog.Calls[e] = CallBuiltin
		return c.builtin(e, obj.Name)
	case FuncObj:
		c.prog.Calls[e] = CallFunc
		return c.function(e, obj)
	case ThreadObj:
		c.arguments(e)
		c.errorf(e, "%s is a thread: start it with go %s", obj.Name, text(e))
		return bad()
	}
	c.arguments(e)
	c.errorf(e, "%s is %s, not a function", obj.Name, kindName(obj.Kind))
	return bad()
}

// arguments checks the arguments of an incorrect call.
func (c *checker) arguments(e *syntax.CallExpr) {
	for _, a := range e.Args {
		// printf("...") is meant differently
		if _, ok := a.(*syntax.StringLit); !ok {
			c.any(a, nil)
		}
	}
}

func (c *checker) function(e *syntax.CallExpr, obj *Object) operand {
	if c.noEffects != "" {
		c.guarded = append(c.guarded, guarded{obj, e.Pos(), e.End(), c.noEffects})
	}
	if c.body == nil && !c.invariant {
		c.arguments(e)
		c.errorf(e, "the function %s cannot be called here: only threads, init and functions run",
			obj.Name)
		return bad()
	}
	if c.body != nil {
		atomic := c.body.atomic > 0 || c.body == c.init
		c.body.calls = append(c.body.calls, call{obj, e.Pos(), e.End(), atomic, atomic ||
			c.noEffects != ""})
	}
	// its signature may be incomplete
	if c.broken(obj) && !c.file.Partial[obj.Decl.(syntax.Decl)] {
		c.arguments(e)
		return bad()
	}
	c.passed(e, e.Args, obj)
	if obj.Result == nil || obj.Result.Kind == Invalid {
		return bad()
	}
	switch obj.Result.Kind {
	case Void:
		return operand{mode: mNone, typ: voidType}
	case Tuple:
		return operand{mode: mTuple, typ: obj.Result}
	}
	return value(obj.Result)
}

// passed checks the arguments for a function or a thread.
func (c *checker) passed(n syntax.Node, args []syntax.Expr, obj *Object) {
	if !c.broken(obj) && len(args) != len(obj.Params) {
		m := c.errorf(n, "%s has %s, but got %d", obj.Name, human.Plural(len(obj.Params),
			"parameter"), len(args))
		m.Note(obj.Pos, "the declaration of %s", obj.Name)
	}
	for i, a := range args {
		var t *Type
		if i < len(obj.Params) {
			t = obj.Params[i].Type
		}
		x := c.expr(a, t)
		if t == nil || c.broken(obj) {
			continue
		}
		c.assign(&x, t, fmt.Sprintf("the parameter %s of %s", obj.Params[i].Name, obj.Name))
	}
}

func (c *checker) conversion(e *syntax.CallExpr, obj *Object) operand {
	t := obj.Type
	if len(e.Args) != 1 {
		c.arguments(e)
		c.errorf(e, "the conversion %s(x) has one operand, not %d", obj.Name, len(e.Args))
		return bad()
	}
	x := c.expr(e.Args[0], t)
	if x.mode == mInvalid || t.Kind == Invalid {
		return bad()
	}
	from := x.typ
	ok := false
	switch {
	case t.object() != "":
		c.errorf(e, "%s cannot be copied, and so not converted", c.describe(t))
		return bad()
	case from.isInt() && t.Kind == Int:
		if x.mode == mConst {
			if !t.fits(x.val) {
				c.errorf(e, "the constant %s is out of range of %s", short(x.val), t.limits())
				return bad()
			}
			c.convert(&x, t)
			return constOf(t, x.val)
		}
		ok = true
	case from.isBool() && t.Kind == Bool:
		if x.mode == mConst {
			c.convert(&x, t)
			return constOf(t, x.val)
		}
		ok = true
	case from == untypedNil:
		ok = t.Kind == Pointer || t.Kind == Scalarset
	default:
		ok = from.Underlying() == t.Underlying() ||
			from.Kind == Pointer && t.Kind == Pointer &&
				from.Elem.Underlying() == t.Elem.Underlying()
	}
	if !ok {
		c.errorf(e, "cannot convert %s to %s%s", c.show(&x), t, conversionHint(from, t, e.Args[0]))
		return bad()
	}
	c.convert(&x, t)
	return value(t)
}

func conversionHint(from, t *Type, e syntax.Expr) string {
	switch {
	case from.isBool() && t.Kind == Int:
		return "; write if"
	case from.Kind == Scalarset || t.Kind == Scalarset:
		return "; the names are interchangeable, so they have no numbers"
	case from.isInt() && t.Kind == Bool:
		return "; compare it: " + text(e) + " != 0"
	}
	return ""
}

func (c *checker) builtin(e *syntax.CallExpr, name string) operand {
	if !c.arity(e, name) {
		return bad()
	}
	switch name {
	case "len", "cap":
		return c.length(e, name)
	case "poll":
		return c.poll(e)
	case "match", "peek":
		c.arguments(e)
		c.errorf(e, "%s says which message is received: it is allowed only in a receive, <-%s, "+
			"and in poll(%[2]s)", name, text(e))
		return bad()
	case "empty", "full":
		if c.channel(e.Args[0], name) == nil {
			return bad()
		}
		return value(boolType)
	case "min", "max":
		return c.extreme(e, name)
	case "cas":
		return c.cas(e)
	case "choose":
		return c.choose(e)
	case "assume":
		return c.assume(e)
	case "print":
		return c.print(e)
	case "timeout":
		if c.noEffects != awaited || c.body == nil {
			c.errorf(e, "timeout() is allowed only in the condition of an await, which can be a "+
				"case of a select")
		} else if c.body == c.init {
			c.errorf(e, "timeout() is never true in init: no thread can move before it has ended")
		}
		return value(boolType)
	case "close":
		c.channel(e.Args[0], name)
		c.effect(e, name)
		return operand{mode: mNone, typ: voidType}
	}
	return c.lock(e, name)
}

// arity checks the number of operands of a builtin function.
func (c *checker) arity(e *syntax.CallExpr, name string) bool {
	want, n := builtins[name], len(e.Args)
	if n >= want.min && (want.max < 0 || n <= want.max) {
		return true
	}
	c.arguments(e)
	switch {
	case want.max < 0:
		c.errorf(e, "%s needs an operand", name)
	case name == "choose" && n == 0:
		c.errorf(e, "choose has two operands, the bounds: choose(lo, hi)")
	case want.max > want.min:
		c.errorf(e, "%s has %d or %d operands, but got %d", name, want.min, want.max, n)
	default:
		c.errorf(e, "%s has %s, but got %d", name, human.Plural(want.min, "operand"), n)
	}
	return false
}

// effect reports an operation with an effect where none is allowed.
func (c *checker) effect(e syntax.Node, name string) bool {
	if c.noEffects == "" {
		return true
	}
	c.errorf(e, "%s has an effect: it is not allowed in %s", name, c.noEffects)
	return false
}

func (c *checker) length(e *syntax.CallExpr, name string) operand {
	// The length of an array is constant and its operand is not evaluated.
	old := c.noEffects
	if old == "" {
		c.noEffects = name + "(...)"
	}
	x := c.expr(e.Args[0], nil)
	c.noEffects = old
	if x.mode == mInvalid {
		return bad()
	}
	t := x.typ
	if t.Kind == Pointer && t.Elem.Kind == Array {
		t = t.Elem
	}
	switch t.Kind {
	case Array:
		return constOf(intType, big.NewInt(int64(t.Len)))
	case Chan:
		return value(intType)
	}
	c.errorf(e, "%s needs an array or a channel; %s is not", name, c.show(&x))
	return bad()
}

// extreme checks min and max.
func (c *checker) extreme(e *syntax.CallExpr, name string) operand {
	acc := c.expr(e.Args[0], nil)
	if acc.mode != mInvalid && !acc.typ.isInt() {
		c.errorf(e.Args[0], "%s needs integers; %s is not", name, c.show(&acc))
		acc = bad()
	}
	rest := []operand{acc}
	for _, a := range e.Args[1:] {
		x := c.expr(a, nil)
		rest = append(rest, x)
		if x.mode == mInvalid || acc.mode == mInvalid {
			acc = bad()
			continue
		}
		if !x.typ.isInt() {
			c.errorf(a, "%s needs integers; %s is not", name, c.show(&x))
			acc = bad()
			continue
		}
		if !c.match(&acc, &x, syntax.NoOp, e) {
			acc = bad()
			continue
		}
		if acc.mode == mConst && x.mode == mConst {
			if (x.val.Cmp(acc.val) < 0) == (name == "min") {
				acc.val = x.val
			}
		} else {
			acc.mode, acc.val = mValue, nil
		}
		acc.expr = a // of the same type
	}
	if acc.mode == mInvalid {
		return bad()
	}
	// All operands take the type; that of the first typed one.
	for i := range rest {
		if rest[i].typ.untyped() && !acc.typ.untyped() {
			c.convert(&rest[i], acc.typ)
			if rest[i].mode == mInvalid {
				return bad()
			}
		}
	}
	if acc.mode == mConst {
		return constOf(acc.typ, acc.val)
	}
	return value(acc.typ)
}

func (c *checker) cas(e *syntax.CallExpr) operand {
	ok := c.effect(e, "cas")
	x := c.expr(e.Args[0], nil)
	if x.mode == mInvalid || !ok {
		c.expr(e.Args[1], nil)
		c.expr(e.Args[2], nil)
		return bad()
	}
	t := x.typ
	switch {
	case x.mode != mVar || !x.shared:
		hint := ""
		if t.Kind == Pointer {
			hint = "; for what it points to write *" + text(e.Args[0])
		}
		c.errorf(e.Args[0], "the first operand of cas must be a shared variable; %s is not%s",
			text(e.Args[0]), hint)
		t = nil
	case t.object() != "":
		c.errorf(e.Args[0], "cas compares and assigns values; %s is %s, which has none",
			text(e.Args[0]), t.object())
		t = nil
	}
	for _, a := range e.Args[1:] {
		y := c.expr(a, t)
		if t != nil {
			c.assign(&y, t, "cas")
		}
	}
	return value(boolType)
}

func (c *checker) choose(e *syntax.CallExpr) operand {
	c.effect(e, "choose")
	if len(e.Args) == 1 {
		if t := c.namesOf(e.Args[0]); t != nil {
			return value(t)
		}
		c.arguments(e)
		c.errorf(e, "choose has 2 operands, but got 1 that is not a type; any name of a "+
			"symmetric type is choose(Pid)")
		return bad()
	}
	var bound [2]operand
	for i, a := range e.Args {
		x := c.expr(a, intType)
		if x.mode != mInvalid && !x.typ.isInt() {
			c.errorf(a, "choose needs integers; %s is not", c.show(&x))
			x = bad()
		}
		c.assign(&x, intType, "choose")
		bound[i] = x
	}
	if lo, hi := bound[0], bound[1]; lo.mode == mConst && hi.mode == mConst &&
		lo.val.Cmp(hi.val) > 0 {
		c.errorf(e, "choose(%s, %s) has nothing to choose from", lo.val, hi.val)
		return bad()
	}
	return value(intType)
}

// assume checks assume(cond), which drops outcomes of init.
func (c *checker) assume(e *syntax.CallExpr) operand {
	switch {
	case !c.effect(e, "assume"):
	case c.body == nil:
		c.errorf(e, "assume is allowed only in init")
	case c.body.obj != nil && c.body.obj.Kind == ThreadObj:
		c.errorf(e, "assume is allowed only in init, where it drops outcomes of choices; a "+
			"thread waits with await(%s)", text(e.Args[0]))
	case c.body.assumes == nil:
		c.body.assumes = e
	}
	old := c.noEffects
	c.noEffects = "the condition of an assume"
	c.condition(e.Args[0], "the condition of an assume")
	c.noEffects = old
	return operand{mode: mNone, typ: voidType}
}

// print checks print(...), whose operands traces show.
func (c *checker) print(e *syntax.CallExpr) operand {
	c.effect(e, "print")
	for _, a := range e.Args {
		if _, ok := syntax.Unparen(a).(*syntax.StringLit); ok {
			continue
		}
		x := c.expr(a, nil)
		if x.mode == mInvalid {
			continue
		}
		c.wholeArray(a, x.typ)
		if t := c.defaultType(&x); t.Kind != Chan && t.object() != "" {
			c.errorf(a, "print shows values; %s is %s, which has none", text(a), t.object())
		}
	}
	return operand{mode: mNone, typ: voidType}
}

// lockTypes are what the operations on locks are for.
var lockTypes = map[string][]*Type{
	"lock": {mutexType, rwType}, "unlock": {mutexType, rwType}, "rlock": {rwType},
	"runlock": {rwType},
	"trylock": {mutexType, rwType}, "tryrlock": {rwType}, "signal": {condType}, "broadcast": {
		condType},
	"synchronized": {monitorType}, "wait": {monitorType, groupType, condType},
	"notify": {monitorType}, "notifyAll": {monitorType},
	"wait for a cond": {mutexType}, "up": {semaType}, "down": {semaType}, "add": {groupType},
	"done": {groupType},
}

// lock checks the operations on mutexes, monitors, semaphores, waitgroups and conditions.
func (c *checker) lock(e *syntax.CallExpr, name string) operand {
	ok := c.effect(e, name)
	x := c.expr(e.Args[0], nil)
	if name == "add" {
		n := c.expr(e.Args[1], intType)
		if n.mode != mInvalid && !n.typ.isInt() {
			c.errorf(e.Args[1], "add needs an integer; %s is not", c.show(&n))
			n.mode = mInvalid
		}
		c.assign(&n, intType, "add")
	}
	result := operand{mode: mNone, typ: voidType}
	if name == "trylock" || name == "tryrlock" {
		result = value(boolType)
	}
	var t *Type
	if x.mode != mInvalid {
		t = c.lockOperand(&x, name)
	}
	if name == "wait" {
		c.waitMutex(e, t)
	}
	if ok && name == "wait" && (t == monitorType || t == condType) && c.body != nil &&
		c.body.atomic > 0 {
		c.errorf(e, "wait is not allowed in an atomic block: it gives the %s up until another "+
			"thread %s", map[bool]string{true: "monitor", false: "mutex"}[t == monitorType],
			map[bool]string{true: "notifies", false: "signals"}[t == monitorType])
	}
	return result
}

// waitMutex checks the second operand of wait, which waiting for a condition has,
// where t is the type of the first one, or nil.
func (c *checker) waitMutex(e *syntax.CallExpr, t *Type) {
	switch {
	case len(e.Args) == 2:
		m := c.expr(e.Args[1], nil)
		if t == nil || m.mode == mInvalid {
			return
		}
		if t != condType {
			c.errorf(e.Args[1], "wait has 1 operand for a %s; the mutex is for a cond", t.Name)
			return
		}
		c.lockOperand(&m, "wait for a cond")
	case t == condType:
		c.errorf(e, "wait for a cond needs the mutex too, which it gives up: wait(%s, m)",
			text(e.Args[0]))
	}
}

// lockOperand checks that an operand is a lock of the right kind, or a pointer to one,
// and returns the type of the lock.
func (c *checker) lockOperand(x *operand, what string) *Type {
	t := x.typ
	if t.Kind == Pointer {
		t = t.Elem
	}
	var names []string
	for _, want := range lockTypes[what] {
		if t == want {
			return t
		}
		names = append(names, fmt.Sprintf("a %s or a *%[1]s", want.Name))
	}
	c.errorf(x.expr, "%s needs %s; %s is not", what, strings.Join(names, ", "), c.show(x))
	return nil
}
