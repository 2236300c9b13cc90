package resolve

import (
	"fmt"
	"strings"

	"cpor/frontend/model/syntax"
)

// typePlace is where a type is written, which decides what chan T means there.
type typePlace uint8

const (
	sharedPlace typePlace = iota // of a shared variable: chan T is an unbuffered channel
	localPlace                   // of a local variable, parameter, result or constant: a reference
	fieldPlace                   // of a field: chan T is a reference, chan(n) T a channel
	elemPlace                    // of a channel's elements: a reference
	declPlace                    // of a type declaration, or an array in one
	ptrPlace                     // what a pointer points to
)

// canonical returns the one type of a structure, made by t if it is new.
func (c *checker) canonical(t Type) *Type {
	var key strings.Builder
	id := func(t *Type) int {
		if _, ok := c.ids[t]; !ok {
			c.ids[t] = len(c.ids) + 1
		}
		return c.ids[t]
	}
	switch t.Kind {
	case Array:
		fmt.Fprintf(&key, "[%d]%d", t.Len, id(t.Elem))
		if t.Index != nil {
			fmt.Fprintf(&key, " %d", id(t.Index))
		}
	case Pointer:
		fmt.Fprintf(&key, "*%d", id(t.Elem))
	case Chan:
		fmt.Fprintf(&key, "<%d %v>%d", t.Cap, t.Bag, id(t.Elem))
	case Struct:
		for _, f := range t.Fields {
			fmt.Fprintf(&key, "%s %d %v;", f.Name, id(f.Type), f.Atomic)
		}
	}
	if old := c.intern[key.String()]; old != nil {
		return old
	}
	c.intern[key.String()] = &t
	return &t
}

// typ resolves a type.
func (c *checker) typ(e syntax.TypeExpr, at typePlace) *Type {
	t := c.typeExpr(e, at)
	c.prog.TypeOf[e] = t
	return t
}

// whenKnown runs a check now, or later if types are still being resolved.
func (c *checker) whenKnown(f func()) {
	if c.delay {
		c.later = append(c.later, f)
	} else {
		f()
	}
}

func (c *checker) typeExpr(e syntax.TypeExpr, at typePlace) *Type {
	switch e := e.(type) {
	case *syntax.NamedType:
		return c.namedType(e.Name, at)

	case *syntax.PointerType:
		elem := c.typ(e.Elem, ptrPlace)
		if _, ok := e.Elem.(*syntax.ChanType); ok {
			c.errorf(e, "there are no pointers to channels: chan T is a reference already")
			return invalidType
		}
		return c.canonical(Type{Kind: Pointer, Elem: elem})

	case *syntax.ArrayType:
		return c.arrayType(e, at)

	case *syntax.StructType:
		return c.structType(e)

	case *syntax.ChanType:
		return c.chanType(e, at)

	case *syntax.SymmetricType:
		c.constInt(e.Len, "the number of names")
		c.errorf(e,
			"symmetric(%s) is allowed only in a type declaration, type Pid symmetric(%[1]s)",
			text(e.Len))
		return invalidType

	case *syntax.AtomicType:
		c.typ(e.Elem, at)
		hint := ""
		if at == localPlace {
			hint = "; only its thread accesses a local variable"
		}
		c.errorf(e, "atomic goes before the whole type of a shared variable or of a field%s",
			hint)
	}
	return invalidType
}

func (c *checker) arrayType(e *syntax.ArrayType, at typePlace) *Type {
	if e.Len == nil {
		c.typ(e.Elem, at)
		c.errorf(e, "[...] is allowed only in a literal: [...]int{1, 2, 3}")
		return invalidType
	}
	var n int64
	ok := true
	index := c.namesOf(e.Len)
	if index != nil {
		n = int64(index.Len)
	} else {
		n, ok = c.constInt(e.Len, "the length of an array")
	}
	inner := at
	if at == elemPlace || at == ptrPlace {
		inner = fieldPlace
	}
	elem := c.typ(e.Elem, inner)
	if !ok {
		return invalidType
	}
	if n < 1 {
		c.errorf(e.Len, "the length of an array is at least 1, not %d", n)
		return invalidType
	}
	if n > maxCells {
		c.errorf(e, "the state is too large: this array has more than %d elements", maxCells)
		return invalidType
	}
	t := c.canonical(Type{Kind: Array, Elem: elem, Len: int(n), Index: index})
	c.whenKnown(func() {
		if elem.cells() <= maxCells && t.cells() > maxCells {
			c.errorf(e, "the state is too large: this array has more than %d elements",
				maxCells)
		}
	})
	return t
}

func (c *checker) structType(e *syntax.StructType) *Type {
	var fields []Field
	seen := map[string]*syntax.Ident{}
	ok := true
	for _, f := range e.Fields {
		t, atomic := c.atomic(f.Type, fieldPlace)
		if f.Name.Name == "_" {
			c.errorf(f.Name, "a field needs a name")
			ok = false
			continue
		}
		if old := seen[f.Name.Name]; old != nil {
			c.errorf(f.Name, "the field %s is declared twice", f.Name.Name).Note(old.Pos(),
				"the other declaration")
			ok = false
			continue
		}
		seen[f.Name.Name] = f.Name
		fields = append(fields, Field{f.Name.Name, t, atomic})
	}
	if !ok {
		return invalidType
	}
	t := c.canonical(Type{Kind: Struct, Fields: fields})
	c.whenKnown(func() {
		for _, f := range fields {
			if f.Type.cells() > maxCells {
				return // told there
			}
		}
		if t.cells() > maxCells {
			c.errorf(e, "the state is too large: this struct has more than %d elements",
				maxCells)
		}
	})
	return t
}

// atomic resolves the type of a shared variable or of a field, which may be atomic T.
func (c *checker) atomic(e syntax.TypeExpr, at typePlace) (t *Type, atomic bool) {
	a, ok := e.(*syntax.AtomicType)
	if !ok {
		return c.typ(e, at), false
	}
	t = c.typ(a.Elem, at)
	c.prog.TypeOf[a] = t
	c.whenKnown(func() {
		if o := t.object(); o != "" {
			c.errorf(e, "atomic says nothing about %s, which synchronizes anyway; remove it", o)
		}
	})
	return t, true
}

func (c *checker) chanType(e *syntax.ChanType, at typePlace) *Type {
	elem := c.typ(e.Elem, elemPlace)
	size := int64(-1)
	if at == sharedPlace {
		size = 0
	}
	if e.Cap != nil {
		n, ok := c.constInt(e.Cap, "the capacity of a channel")
		switch {
		case !ok:
			return invalidType
		case n < 0:
			c.errorf(e.Cap, "the capacity of a channel is at least 0, not %d", n)
			return invalidType
		case n > maxCells:
			c.errorf(e.Cap, "the state is too large: this channel has more than %d slots", maxCells)
			return invalidType
		}
		if n == 0 && e.Bag {
			c.errorf(e.Cap, "the capacity of a bag is at least 1")
			return invalidType
		}
		size = n
		switch at {
		case localPlace:
			c.errorf(e, "a local variable or parameter is a reference to a channel of any "+
				"capacity: write chan %s", elem)
			return invalidType
		case elemPlace:
			c.errorf(e, "a channel carries references to channels of any capacity: write chan %s",
				elem)
			return invalidType
		}
	} else if at == declPlace {
		c.errorf(e, "in a declared type a channel has a capacity: write chan(0) %s for an "+
			"unbuffered one", elem)
		return invalidType
	}
	t := c.canonical(Type{Kind: Chan, Elem: elem, Cap: int(size), Bag: e.Bag})
	c.whenKnown(func() {
		c.element(e.Elem, elem)
		if elem.cells() <= maxCells && t.cells() > maxCells {
			c.errorf(e, "the state is too large: this channel has more than %d elements", maxCells)
		}
	})
	return t
}

// element checks that a channel can carry values of the type.
func (c *checker) element(e syntax.TypeExpr, t *Type) {
	seen := map[*Type]bool{}
	var bad func(t *Type) *Type
	bad = func(t *Type) *Type {
		if seen[t] {
			return nil
		}
		seen[t] = true
		switch t.Kind {
		case Array, Mutex, Monitor, Semaphore, RWMutex, WaitGroup, Cond:
			return t
		case Chan:
			if t.Cap >= 0 {
				return t
			}
		case Struct:
			for _, f := range t.Fields {
				if b := bad(f.Type); b != nil {
					return b
				}
			}
		}
		return nil
	}
	if b := bad(t); b != nil {
		c.errorf(e, "a channel cannot carry %s: its elements are bools, integers, pointers, "+
			"references to channels, and structs of these", c.describe(b))
	}
}

// describe names a type for messages.
func (c *checker) describe(t *Type) string {
	switch t.Kind {
	case Mutex, Monitor, Semaphore, RWMutex, WaitGroup, Cond:
		return "a " + t.Name
	case Array:
		return "an array (" + t.String() + ")"
	case Struct:
		return "a struct (" + t.String() + ")"
	case Chan:
		return "a channel (" + t.String() + ")"
	}
	return t.String()
}

func (c *checker) namedType(id *syntax.Ident, at typePlace) *Type {
	obj := c.scope.find(id.Name)
	if obj == nil {
		c.badIntType(id)
		return invalidType
	}
	c.prog.Uses[id] = obj
	if obj.Kind != TypeObj {
		c.errorf(id, "%s is %s, not a type", id.Name, kindName(obj.Kind))
		return invalidType
	}
	if at == ptrPlace || at == elemPlace {
		return obj.Type // it may refer to itself
	}
	if !c.complete(obj) {
		c.errorf(id, "the type %s contains itself; use a pointer, *%s", id.Name, id.Name)
		return invalidType
	}
	return obj.Type
}

// badIntType reports an unknown type.
func (c *checker) badIntType(id *syntax.Ident) {
	for _, base := range []string{"uint", "int"} {
		if n := strings.TrimPrefix(id.Name, base); n != id.Name &&
			strings.Trim(n, "0123456789") == "" {
			c.errorf(id, "undefined: %s; the integer types are int2 to int64 and uint1 to uint64",
				id.Name)
			return
		}
	}
	c.undefined(id, "type", func(o *Object) bool {
		return o.Kind == TypeObj && len(o.Name) > 1 &&
			!sizedOdd(o.Name)
	})
}

// sizedOdd reports whether a name is one of the many integer types that would only confuse in a
// suggestion.
func sizedOdd(name string) bool {
	switch name {
	case "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64":
		return false
	}
	return sized()[name] != nil
}

// declaredType fills in a declared type.
func (c *checker) declaredType(obj *Object, d *syntax.TypeDecl) {
	at := declPlace
	if _, ok := d.Type.(*syntax.ChanType); ok {
		c.typ(d.Type, fieldPlace)
		c.errorf(d.Type, "a declared type cannot be a channel: write the channel type where it "+
			"is used")
		return
	}
	var t *Type
	if sym, ok := d.Type.(*syntax.SymmetricType); ok {
		t = c.scalarset(sym, obj.Name)
		c.prog.TypeOf[d.Type] = t
	} else {
		t = c.typ(d.Type, at)
	}
	if t.isLock() {
		c.errorf(d.Type, "a declared type cannot be a %s: write %s where it is used", t, t)
		return
	}
	if t.Kind == Invalid {
		return
	}
	name := obj.Type.Name
	*obj.Type = *t
	obj.Type.Name, obj.Type.facts = name, nil
	obj.Type.under = t.Underlying()
}

// localType checks that a local variable or parameter can have a type.
func (c *checker) localType(n syntax.Node, t *Type, what string) {
	c.whenKnown(func() {
		if o := t.object(); o != "" {
			hint := "a channel is passed as chan T"
			if o != "a channel" {
				hint = o + " is passed as *" + strings.TrimPrefix(o, "a ")
			}
			if !t.isLock() && t.Kind != Chan {
				c.errorf(n, "%s cannot have the type %s, which contains %s: declare it as a "+
					"shared variable and use a pointer to it", what, t, o)
			} else {
				c.errorf(n, "%s cannot be %s: declare it as a shared variable; %s", what, o, hint)
			}
		}
	})
}

// shared resolves the type of a shared variable, and its initial value once
// all types are known.
func (c *checker) shared(obj *Object, d *syntax.VarDecl, i int) {
	obj.Type = invalidType
	var init syntax.Expr
	switch {
	case len(d.Values) == 0:
	case len(d.Values) != len(d.Names):
		c.badInitial(d.Values[0])
		return
	default:
		init = d.Values[i]
	}
	obj.Init = init
	if d.Type != nil {
		var atomic bool
		if obj.Type, atomic = c.atomic(d.Type, sharedPlace); atomic {
			if obj.Class == syntax.Unshared {
				c.errorf(d.Type, "unshared contradicts atomic: several threads access what is "+
					"atomic; leave one of them out")
			}
			obj.Class = syntax.Communication
		}
	}
	if m, ok := syntax.Unparen(init).(*syntax.MakeExpr); init != nil && ok {
		c.makeChan(obj, d, m)
		return
	}
	if d.Type == nil {
		c.sharedInit = true
		x := c.expr(init, nil)
		c.sharedInit = false
		obj.Type = c.defaultType(&x)
		if x.mode == mInvalid || !c.constantInit(init) {
			return
		}
	} else if init != nil {
		t := obj.Type
		c.whenKnown(func() {
			if t.Kind == Semaphore {
				c.semaphore(obj, init)
				return
			}
			c.sharedInit = true
			x := c.expr(init, t)
			c.sharedInit = false
			if x.mode != mInvalid && c.constantInit(init) {
				c.assign(&x, t, "the initial value of "+obj.Name)
			}
		})
	}
	c.whenKnown(func() {
		if path, ok := obj.Type.reference(); ok {
			id := d.Names[i]
			c.errorf(id, "%s%s is a reference to a channel, which only local variables and "+
				"messages can hold; for a channel of its own write its capacity, chan(0) T if it "+
				"has no buffer", obj.Name, path)
		}
	})
}

// maxSemaphore is the largest value of a semaphore.
const maxSemaphore = 65535

// semaphore checks the initial value of a semaphore.
func (c *checker) semaphore(obj *Object, init syntax.Expr) {
	n, ok := c.constInt(init, "the initial value of the semaphore "+obj.Name)
	if ok && (n < 0 || n > maxSemaphore) {
		c.errorf(init, "the initial value of a semaphore is from 0 to %d, not %d", maxSemaphore, n)
	}
}

// makeChan gives a shared variable the channel type of its make.
func (c *checker) makeChan(obj *Object, d *syntax.VarDecl, m *syntax.MakeExpr) {
	ct, ok := m.Type.(*syntax.ChanType)
	if !ok {
		c.typ(m.Type, sharedPlace)
		c.errorf(m, "make makes channels only: make(chan T, n)")
		return
	}
	t := c.typ(m.Type, sharedPlace)
	if m.Cap != nil {
		n, ok := c.constInt(m.Cap, "the capacity of a channel")
		switch {
		case !ok || t.Kind == Invalid:
			return
		case n < 0:
			c.errorf(m.Cap, "the capacity of a channel is at least 0, not %d", n)
			return
		case n > maxCells:
			c.errorf(m.Cap, "the state is too large: this channel has more than %d slots", maxCells)
			return
		case t.Bag:
			c.errorf(m, "a bag is declared with its type: var %s %s", obj.Name, t)
			return
		case ct.Cap != nil && int(n) != t.Cap:
			c.errorf(m, "two different capacities")
			return
		}
		t = c.canonical(Type{Kind: Chan, Elem: t.Elem, Cap: int(n)})
	}
	c.prog.Types[m] = t
	if d.Type == nil {
		obj.Type = t
		return
	}
	dt := obj.Type
	if dt.Kind == Invalid || t.Kind == Invalid {
		return
	}
	declared, isChan := d.Type.(*syntax.ChanType)
	if !isChan || dt.Kind != Chan || dt.Elem != t.Elem || declared.Cap != nil && dt.Cap != t.Cap ||
		dt.Bag {
		c.errorf(m, "%s makes a %s, not a %s", text(m), t, dt)
		return
	}
	obj.Type = t
}

func (c *checker) badInitial(e syntax.Expr) {
	c.errorf(e, "the initial value of a shared variable is a constant, &x of a shared variable, "+
		"nil, or a literal of these; assign %s in init", text(e))
}

// constantInit checks that a shared variable can begin with a value.
func (c *checker) constantInit(e syntax.Expr) bool {
	e = syntax.Unparen(e)
	if c.big[e] != nil {
		return true
	}
	switch x := e.(type) {
	case *syntax.Ident:
		if obj := c.prog.Uses[x]; obj != nil && obj.Type == untypedNil {
			return true
		}
	case *syntax.UnaryExpr:
		if x.Op == syntax.And && c.staticPlace(x.X) {
			return true
		}
	case *syntax.CompositeLit:
		for _, v := range x.Values {
			if !c.constantInit(v) {
				return false
			}
		}
		return true
	}
	if c.prog.Types[e] == nil || c.prog.Types[e].Kind != Invalid {
		c.badInitial(e)
	}
	return false
}

// staticPlace reports whether an expression is a shared variable or a part of one that is known
// without running the model.
func (c *checker) staticPlace(e syntax.Expr) bool {
	switch x := syntax.Unparen(e).(type) {
	case *syntax.Ident:
		obj := c.prog.Uses[x]
		return obj != nil && obj.Kind == SharedObj
	case *syntax.SelectorExpr:
		t := c.prog.Types[x.X]
		return t != nil && t.Kind == Struct && c.staticPlace(x.X)
	case *syntax.IndexExpr:
		t := c.prog.Types[x.X]
		return t != nil && t.Kind == Array && c.big[x.Index] != nil && c.staticPlace(x.X)
	}
	return false
}

// constInt evaluates a required constant integer.
func (c *checker) constInt(e syntax.Expr, what string) (int64, bool) {
	x := c.expr(e, nil)
	switch {
	case x.mode == mInvalid:
		return 0, false
	case x.mode != mConst:
		c.errorf(e, "%s must be constant", what)
		return 0, false
	case !x.typ.isInt():
		c.errorf(e, "%s must be an integer, not %s", what, x.typ)
		return 0, false
	}
	if x.typ.untyped() {
		c.convert(&x, intType)
		if x.mode == mInvalid {
			return 0, false
		}
	}
	if !x.val.IsInt64() {
		c.errorf(e, "%s is too large", what)
		return 0, false
	}
	return x.val.Int64(), true
}
