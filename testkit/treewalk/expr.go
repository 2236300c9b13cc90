package treewalk

import (
	"fmt"
	"math/big"
	"slices"

	"cpor/frontend/model/resolve"
	"cpor/frontend/model/syntax"
)

func (r *run) typeOf(e syntax.Expr) *resolve.Type {
	if t := r.p.r.Types[e]; t != nil {
		return t
	}
	if id, ok := syntax.Unparen(e).(*syntax.Ident); ok {
		return r.p.r.Uses[id].Type
	}
	return &resolve.Type{}
}

// constant returns the value of a constant expression.
func (r *run) constant(e syntax.Expr) (Value, bool) {
	c, ok := r.p.r.Const[e]
	if !ok {
		return nil, false
	}
	switch t := r.typeOf(e); {
	case t.Kind == resolve.Bool || t.Kind == resolve.UntypedBool:
		return c != 0, true
	case t.Kind == resolve.Int && !t.Signed:
		return new(big.Int).SetUint64(uint64(c)), true
	}
	return big.NewInt(c), true
}

// pure reports whether an expression is local computation only. The language evaluates operands
// from left to right, but for those that are purely local: they come last, with the access that
// uses them.
func (r *run) pure(e syntax.Expr) bool {
	if _, ok := r.p.r.Const[e]; ok {
		return true
	}
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return r.pure(e.X)
	case *syntax.Ident:
		obj := r.p.r.Uses[e]
		return obj.Kind != resolve.SharedObj || obj.Type.Kind == resolve.Chan
	case *syntax.UnaryExpr:
		if e.Op == syntax.And {
			return r.purePlace(e.X)
		}
		return e.Op != syntax.Arrow && e.Op != syntax.Mul && r.pure(e.X)
	case *syntax.BinaryExpr:
		return r.pure(e.X) && r.pure(e.Y)
	case *syntax.IndexExpr, *syntax.SelectorExpr:
		if r.p.r.Refs[e] != nil || r.shared(e) && r.typeOf(e).Kind != resolve.Chan {
			return false
		}
		return r.purePlace(e)
	case *syntax.CallExpr:
		switch r.p.r.Calls[e] {
		case resolve.CallFunc:
			return false
		case resolve.CallBuiltin:
			switch r.builtin(e) {
			case "cap":
				return true
			case "min", "max":
			default:
				return false
			}
		}
		return !slices.ContainsFunc(e.Args, func(a syntax.Expr) bool { return !r.pure(a) })
	case *syntax.CompositeLit:
		return !slices.ContainsFunc(e.Values, func(a syntax.Expr) bool { return !r.pure(a) })
	}
	return false
}

// purePlace reports whether it is local computation to find out what a variable, field or
// element is.
func (r *run) purePlace(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return r.purePlace(e.X)
	case *syntax.Ident:
		return true
	case *syntax.SelectorExpr:
		if r.typeOf(e.X).Kind == resolve.Pointer {
			return r.pure(e.X)
		}
		return r.purePlace(e.X)
	case *syntax.IndexExpr:
		if r.typeOf(e.X).Kind == resolve.Pointer {
			return r.pure(e.X) && r.pure(e.Index)
		}
		return r.purePlace(e.X) && r.pure(e.Index)
	case *syntax.UnaryExpr:
		return r.pure(e.X)
	}
	return false
}

// shared reports whether an expression names a shared variable or a part of one.
func (r *run) shared(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return r.shared(e.X)
	case *syntax.Ident:
		return r.p.r.Uses[e].Kind == resolve.SharedObj
	case *syntax.SelectorExpr:
		return r.typeOf(e.X).Kind == resolve.Pointer || r.shared(e.X)
	case *syntax.IndexExpr:
		return r.typeOf(e.X).Kind == resolve.Pointer || r.shared(e.X)
	case *syntax.UnaryExpr:
		return e.Op == syntax.Mul
	}
	return false
}

func (r *run) builtin(e *syntax.CallExpr) string {
	return syntax.Unparen(e.Fun).(*syntax.Ident).Name
}

// known holds operands that were evaluated before they are used.
type known map[syntax.Expr]Value

// operand evaluates an operand unless it is purely local: then it waits for use.
func (r *run) operand(k known, e syntax.Expr) {
	if !r.pure(e) {
		k[e] = r.eval(e)
		r.hold(k[e])
	}
}

// use returns the value of an operand that waited, or was evaluated before.
func (r *run) use(k known, e syntax.Expr) Value {
	if v, ok := k[e]; ok {
		return v
	}
	return r.eval(e)
}

// parts evaluates the operands in a place: indices, and pointers that are
// followed. With all, the purely local ones too.
func (r *run) parts(k known, e syntax.Expr, all bool) {
	add := func(e syntax.Expr) {
		if _, done := k[e]; !done && (all || !r.pure(e)) {
			k[e] = r.eval(e)
			r.hold(k[e])
		}
	}
	switch e := e.(type) {
	case *syntax.ParenExpr:
		r.parts(k, e.X, all)
	case *syntax.SelectorExpr:
		if r.typeOf(e.X).Kind == resolve.Pointer {
			add(e.X)
		} else {
			r.parts(k, e.X, all)
		}
	case *syntax.IndexExpr:
		if r.typeOf(e.X).Kind == resolve.Pointer {
			add(e.X)
		} else {
			r.parts(k, e.X, all)
		}
		add(e.Index)
	case *syntax.UnaryExpr:
		add(e.X)
	}
}

// follow returns the name of what a pointer points to.
func (r *run) follow(k known, e syntax.Expr) string {
	p := r.use(k, e).(pointer)
	if p == "" {
		r.fault(e)
	}
	return string(p)
}

func (r *run) index(k known, e syntax.Expr, n int) int {
	v := r.use(k, e)
	if who, ok := v.(ident); ok {
		if who.n == 0 {
			r.fault(e)
		}
		return who.n - 1
	}
	i := v.(*big.Int)
	if i.Sign() < 0 || i.Cmp(big.NewInt(int64(n))) >= 0 {
		r.fault(e)
	}
	return int(i.Int64())
}

// address returns the name of a shared variable, field or element.
func (r *run) address(e syntax.Expr, k known) string {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return r.address(e.X, k)
	case *syntax.Ident:
		return r.p.r.Uses[e].Name
	case *syntax.SelectorExpr:
		if r.typeOf(e.X).Kind == resolve.Pointer {
			return r.follow(k, e.X) + "." + e.Sel.Name
		}
		return r.address(e.X, k) + "." + e.Sel.Name
	case *syntax.IndexExpr:
		t := r.typeOf(e.X)
		var base string
		if t.Kind == resolve.Pointer {
			t = t.Elem
			base = r.follow(k, e.X)
		} else {
			base = r.address(e.X, k)
		}
		return fmt.Sprintf("%s[%d]", base, r.index(k, e.Index, t.Len))
	case *syntax.UnaryExpr:
		return r.follow(k, e.X)
	}
	panic(fmt.Sprintf("no place: %s", syntax.String(e)))
}

// loadShared reads a shared variable: each scalar in it is an access, for
// which the place is found again.
func (r *run) loadShared(e syntax.Expr, k known) Value {
	part := 0
	mark := len(r.held)
	var load func(t *resolve.Type, suffix string) Value
	load = func(t *resolve.Type, suffix string) Value {
		switch t.Kind {
		case resolve.Array:
			a := make(aggregate, t.Len)
			for i := range a {
				a[i] = load(t.Elem, fmt.Sprintf("%s[%d]", suffix, i))
			}
			return a
		case resolve.Struct:
			a := make(aggregate, len(t.Fields))
			for i, f := range t.Fields {
				a[i] = load(f.Type, suffix+"."+f.Name)
			}
			return a
		}
		r.point(e, part)
		part++
		v := r.read(r.address(e, k) + suffix)
		r.hold(v)
		return v
	}
	v := load(r.typeOf(e), "")
	r.held = r.held[:mark]
	return v
}

// storeShared writes a shared variable, scalar by scalar; value is asked for
// when the first transition has begun.
func (r *run) storeShared(e syntax.Expr, k known, value func() Value) {
	part := 0
	var v Value
	var store func(t *resolve.Type, suffix string, get func(Value) Value)
	store = func(t *resolve.Type, suffix string, get func(Value) Value) {
		switch t.Kind {
		case resolve.Array:
			for i := range t.Len {
				store(t.Elem, fmt.Sprintf("%s[%d]", suffix, i), func(v Value) Value {
					return get(v).(aggregate)[i]
				})
			}
		case resolve.Struct:
			for i, f := range t.Fields {
				store(f.Type, suffix+"."+f.Name, func(v Value) Value {
					return get(v).(aggregate)[i]
				})
			}
		default:
			r.point(e, -1-part)
			if part == 0 {
				v = value()
			}
			part++
			r.write(r.address(e, k)+suffix, get(v))
		}
	}
	store(r.typeOf(e), "", func(v Value) Value { return v })
}

// localPath returns the local variable of a place, and the indices in it.
func (r *run) localPath(e syntax.Expr, k known) (*variable, []int) {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return r.localPath(e.X, k)
	case *syntax.Ident:
		return r.local(r.p.r.Uses[e]), nil
	case *syntax.SelectorExpr:
		v, path := r.localPath(e.X, k)
		i := slices.IndexFunc(r.typeOf(e.X).Fields, func(f resolve.Field) bool {
			return f.Name == e.Sel.Name
		})
		return v, append(path, i)
	case *syntax.IndexExpr:
		v, path := r.localPath(e.X, k)
		return v, append(path, r.index(k, e.Index, r.typeOf(e.X).Len))
	}
	panic(fmt.Sprintf("no local place: %s", syntax.String(e)))
}

func replace(v Value, path []int, x Value) Value {
	if len(path) == 0 {
		return x
	}
	a := slices.Clone(v.(aggregate))
	a[path[0]] = replace(a[path[0]], path[1:], x)
	return a
}

// store assigns to a place whose parts are known as far as they were evaluated.
func (r *run) store(e syntax.Expr, k known, value func() Value) {
	if r.shared(e) {
		r.storeShared(e, k, value)
		return
	}
	x := value()
	v, path := r.localPath(e, k)
	v.value = replace(v.value, path, x)
}

// eval evaluates an expression with one value.
func (r *run) eval(e syntax.Expr) Value {
	mark := len(r.held)
	v := r.evalHere(e)
	r.held = r.held[:mark]
	return v
}

func (r *run) evalHere(e syntax.Expr) Value {
	if v, ok := r.constant(e); ok {
		return v
	}
	if ref := r.reference(e); ref != nil {
		return r.peek(e, ref)
	}
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return r.evalHere(e.X)
	case *syntax.Ident, *syntax.IndexExpr, *syntax.SelectorExpr:
		return r.variable(e)
	case *syntax.UnaryExpr:
		return r.unary(e)
	case *syntax.BinaryExpr:
		switch e.Op {
		case syntax.LAnd:
			return r.eval(e.X).(bool) && r.eval(e.Y).(bool)
		case syntax.LOr:
			return r.eval(e.X).(bool) || r.eval(e.Y).(bool)
		}
		k := known{}
		r.operand(k, e.X)
		r.operand(k, e.Y)
		return r.binary(e, e.Op, r.typeOf(e), r.use(k, e.X), r.use(k, e.Y))
	case *syntax.CallExpr:
		return r.call(e)
	case *syntax.CompositeLit:
		t := r.typeOf(e)
		a := slices.Clone(zero(t).(aggregate))
		r.p.elements(e, t, func(i int, v syntax.Expr) {
			a[i] = r.eval(v)
			r.hold(a[i])
		})
		return a
	case *syntax.QuantExpr:
		found := !e.Exists
		r.before(&e.Domain, e.Cond)
		r.over(e.Var, &e.Domain, func() bool {
			if r.eval(e.Cond).(bool) == e.Exists {
				found = e.Exists
			}
			// Of symmetric threads all are looked at.
			return found != e.Exists || r.p.r.Alike(&e.Domain)
		})
		return found
	case *syntax.FoldExpr:
		return r.fold(e)
	}
	panic(fmt.Sprintf("no expression: %T", e))
}

// before evaluates what comes before a quantifier over names or symmetric threads: the
// indices in it that are variables.
func (r *run) before(d *syntax.Domain, inside syntax.Expr) {
	if !r.p.r.Alike(d) {
		return
	}
	for _, e := range r.p.r.Before(inside) {
		k := known{}
		mark := len(r.held)
		r.operand(k, e.Index)
		r.index(k, e.Index, r.typeOf(e.X).Len)
		r.held = r.held[:mark]
	}
}

// over calls f with each value of a quantifier's variable, until f returns false.
func (r *run) over(v *syntax.Ident, d *syntax.Domain, f func() bool) {
	lo, hi := int64(0), int64(-1)
	var names *resolve.Type
	if d.Of != nil && r.p.r.Uses[d.Of].Kind == resolve.TypeObj {
		names = r.p.r.Uses[d.Of].Type
		lo, hi = 1, int64(names.Len)
	} else if d.Of != nil {
		for _, th := range r.s.threads {
			if th.kind == r.p.r.Uses[d.Of] {
				hi++
			}
		}
	} else {
		lo, hi = r.eval(d.Lo).(*big.Int).Int64(), r.eval(d.Hi).(*big.Int).Int64()
	}
	n := len(r.vars)
	for i := lo; i <= hi; i++ {
		var x Value = big.NewInt(i)
		if names != nil {
			x = ident{names.Name, int(i)}
		}
		r.vars = append(r.vars, variable{r.p.r.Uses[v], x})
		on := f()
		r.vars = r.vars[:n]
		if !on {
			return
		}
	}
}

// fold computes count, sum, min and max.
func (r *run) fold(e *syntax.FoldExpr) Value {
	r.before(&e.Domain, e.X)
	result := new(big.Int)
	mark, first := len(r.held), true
	r.hold(result)
	r.over(e.Var, &e.Domain, func() bool {
		switch v := r.eval(e.X); e.Op {
		case syntax.Count:
			if v.(bool) {
				result = new(big.Int).Add(result, big.NewInt(1))
			}
		case syntax.Sum:
			result = r.inRange(e, r.typeOf(e), new(big.Int).Add(result, v.(*big.Int))).(*big.Int)
		case syntax.Min:
			if n := v.(*big.Int); first || n.Cmp(result) < 0 {
				result = n
			}
		case syntax.Max:
			if n := v.(*big.Int); first || n.Cmp(result) > 0 {
				result = n
			}
		}
		first = false
		r.held = r.held[:mark]
		r.hold(result)
		return true
	})
	r.held = r.held[:mark]
	return result
}

// variable reads a variable, field or element.
func (r *run) variable(e syntax.Expr) Value {
	if id, ok := e.(*syntax.Ident); ok {
		switch obj := r.p.r.Uses[id]; obj.Kind {
		case resolve.ConstObj: // nil
			return zero(r.typeOf(e))
		case resolve.QuantObj:
			return r.local(obj).value
		}
	}
	k := known{}
	r.parts(k, e, false)
	if !r.shared(e) {
		v, path := r.localPath(e, k)
		x := v.value
		for _, i := range path {
			x = x.(aggregate)[i]
		}
		return x
	}
	if t := r.typeOf(e); t.Kind == resolve.Chan && t.Cap >= 0 {
		return reference(r.address(e, k))
	}
	return r.loadShared(e, k)
}

func (r *run) unary(e *syntax.UnaryExpr) Value {
	switch e.Op {
	case syntax.Arrow:
		v, _ := r.receive(e)
		return v
	case syntax.Mul:
		k := known{}
		r.parts(k, e, false)
		return r.loadShared(e, k)
	case syntax.And:
		k := known{}
		r.parts(k, e.X, false)
		return pointer(r.address(e.X, k))
	}
	x := r.eval(e.X)
	switch e.Op {
	case syntax.Not:
		return !x.(bool)
	case syntax.Sub:
		return r.inRange(e, r.typeOf(e), new(big.Int).Neg(x.(*big.Int)))
	case syntax.Xor:
		return truncate(r.typeOf(e), new(big.Int).Not(x.(*big.Int)))
	}
	return x // +x
}

// bounds returns the least and the greatest value of an integer type.
func bounds(t *resolve.Type) (lo, hi *big.Int) {
	one := big.NewInt(1)
	if t.Signed {
		hi = new(big.Int).Lsh(one, uint(t.Bits-1))
		return new(big.Int).Neg(hi), hi.Sub(hi, one)
	}
	hi = new(big.Int).Lsh(one, uint(t.Bits))
	return new(big.Int), hi.Sub(hi, one)
}

func (r *run) inRange(n syntax.Node, t *resolve.Type, v *big.Int) Value {
	if lo, hi := bounds(t); v.Cmp(lo) < 0 || v.Cmp(hi) > 0 {
		r.fault(n)
	}
	return v
}

// truncate converts to an integer type as Go does.
func truncate(t *resolve.Type, v *big.Int) Value {
	mod := new(big.Int).Lsh(big.NewInt(1), uint(t.Bits))
	v = new(big.Int).Mod(v, mod)
	if _, hi := bounds(t); v.Cmp(hi) > 0 {
		v.Sub(v, mod)
	}
	return v
}

// binary computes x op y; n is where an error in it is reported.
func (r *run) binary(n syntax.Node, op syntax.Op, t *resolve.Type, x, y Value) Value {
	switch op {
	case syntax.Eq, syntax.Ne:
		same := x == y
		if a, ok := x.(*big.Int); ok {
			same = a.Cmp(y.(*big.Int)) == 0
		}
		return same == (op == syntax.Eq)
	}
	a, b := x.(*big.Int), y.(*big.Int)
	v := new(big.Int)
	switch op {
	case syntax.Lt:
		return a.Cmp(b) < 0
	case syntax.Le:
		return a.Cmp(b) <= 0
	case syntax.Gt:
		return a.Cmp(b) > 0
	case syntax.Ge:
		return a.Cmp(b) >= 0
	case syntax.Add:
		v.Add(a, b)
	case syntax.Sub:
		v.Sub(a, b)
	case syntax.Mul:
		v.Mul(a, b)
	case syntax.Div, syntax.Rem:
		if b.Sign() == 0 {
			r.fault(n)
		}
		if op == syntax.Div {
			v.Quo(a, b)
		} else {
			v.Rem(a, b)
		}
	case syntax.And:
		v.And(a, b)
	case syntax.Or:
		v.Or(a, b)
	case syntax.Xor:
		v.Xor(a, b)
	case syntax.AndNot:
		v.AndNot(a, b)
	case syntax.Shl, syntax.Shr:
		if b.Sign() < 0 {
			r.fault(n)
		}
		by := uint(128) // more than any type has
		if b.Cmp(big.NewInt(128)) < 0 {
			by = uint(b.Int64())
		}
		if op == syntax.Shl {
			v.Lsh(a, by)
		} else {
			v.Rsh(a, by)
		}
	}
	return r.inRange(n, t, v)
}

// reference returns what an expression in a property names of a thread.
func (r *run) reference(e syntax.Expr) *resolve.ThreadRef {
	if ref := r.p.r.Refs[e]; ref != nil {
		return ref
	}
	if s, ok := e.(*syntax.SelectorExpr); ok {
		return r.reference(s.X)
	}
	return nil
}

// peek looks at a thread: its i-th one of a kind, in the order of creation.
func (r *run) peek(e syntax.Expr, ref *resolve.ThreadRef) Value {
	i := r.eval(ref.Index).(*big.Int).Int64()
	var th *thread
	for t := range r.s.threads {
		if r.s.threads[t].kind == ref.Thread {
			if i == 0 {
				th = &r.s.threads[t]
			}
			i--
		}
	}
	if ref.Label != nil {
		return th != nil && slices.Contains(th.labels, ref.Label.Name)
	}
	v := zero(ref.Local.Type)
	if th != nil {
		for _, l := range th.vars {
			if l.obj == ref.Local {
				v = l.value
			}
		}
	}
	return r.field(e, v)
}

// field takes the fields that an expression in a property names from a value.
func (r *run) field(e syntax.Expr, v Value) Value {
	if r.p.r.Refs[e] != nil {
		return v
	}
	s := e.(*syntax.SelectorExpr)
	v = r.field(s.X, v)
	t := r.typeOf(s.X)
	return v.(aggregate)[slices.IndexFunc(t.Fields, func(f resolve.Field) bool {
		return f.Name == s.Sel.Name
	})]
}

// maxChoice is the language's limit.
const maxChoice = 1 << 20

func (r *run) call(e *syntax.CallExpr) Value {
	switch r.p.r.Calls[e] {
	case resolve.CallConversion:
		v := r.eval(e.Args[0])
		if n, ok := v.(*big.Int); ok {
			return truncate(r.typeOf(e), n)
		}
		if n, ok := v.(ident); ok {
			return ident{r.typeOf(e).Name, n.n}
		}
		if r.typeOf(e).Kind == resolve.Scalarset { // nil
			return zero(r.typeOf(e))
		}
		return v
	case resolve.CallFunc:
		return r.function(e)[0]
	}
	switch name := r.builtin(e); name {
	case "min", "max":
		best := r.eval(e.Args[0]).(*big.Int)
		for _, a := range e.Args[1:] {
			r.hold(best)
			if v := r.eval(a).(*big.Int); (name == "min") == (v.Cmp(best) < 0) && v.Cmp(best) != 0 {
				best = v
			}
		}
		return best
	case "cap":
		return big.NewInt(int64(r.channel(r.eval(e.Args[0])).cap))
	case "poll":
		k := known{}
		o := r.looking(k, e.Args[0])
		r.point(e, 0)
		r.look(k, o)
		return r.world(func() any {
			if o.channel != reference("") && r.channel(o.channel).cap == 0 {
				r.fault(e)
			}
			return len(r.messages(o)) > 0
		})
	case "len", "empty", "full":
		k := known{}
		r.operand(k, e.Args[0])
		r.point(e, 0)
		c := r.use(k, e.Args[0])
		return r.world(func() any {
			ch := r.channel(c)
			switch name {
			case "len":
				return big.NewInt(int64(len(ch.buffer)))
			case "empty":
				return len(ch.buffer) == 0
			}
			return len(ch.buffer) == ch.cap && c != reference("")
		})
	case "cas":
		k := known{}
		r.parts(k, e.Args[0], false)
		r.operand(k, e.Args[1])
		r.operand(k, e.Args[2])
		r.point(e, 0)
		old, val := r.use(k, e.Args[1]), r.use(k, e.Args[2])
		name := r.address(e.Args[0], k)
		if set, ok := val.(aggregate); ok {
			return r.casParts(e.Args[0], name, old.(aggregate), set)
		}
		same := r.binary(e, syntax.Eq, nil, r.read(name), old).(bool)
		if same {
			r.write(name, val)
		}
		return same
	case "timeout":
		return r.world(func() any { return r.timeout != nil && r.timeout() }) // nil in init
	case "trylock", "tryrlock":
		k := known{}
		r.object(k, e.Args[0], false)
		r.point(e, 0)
		lock := r.lockName(k, e.Args[0])
		if _, ok := r.s.shared[lock].(mutex); ok {
			free := r.read(lock).(mutex) == 0
			if free {
				r.write(lock, mutex(r.self+1))
			}
			return free
		}
		return r.world(func() any {
			m := r.s.shared[lock].(rwmutex)
			switch {
			case m.writer != 0 || name == "trylock" && m.readers > 0:
				return false
			case name == "trylock":
				m.writer = r.self + 1
			default:
				m.readers++
			}
			r.s.shared[lock] = m
			return true
		})
	case "choose":
		if len(e.Args) == 1 { // any name
			r.point(e, 0)
			return ident{r.typeOf(e).Name, r.choose(r.typeOf(e).Len) + 1}
		}
		k := known{}
		r.operand(k, e.Args[0])
		r.operand(k, e.Args[1])
		r.point(e, 0)
		lo, hi := r.use(k, e.Args[0]).(*big.Int), r.use(k, e.Args[1]).(*big.Int)
		if lo.Cmp(hi) > 0 {
			r.fault(e)
		}
		n := new(big.Int).Sub(hi, lo).Int64() + 1
		if n > maxChoice {
			r.fault(e)
		}
		return new(big.Int).Add(lo, big.NewInt(int64(r.choose(int(n)))))
	default:
		panic("no value: " + name)
	}
}

// casParts compares the scalars of a shared struct or array, and assigns if they are
// the same.
func (r *run) casParts(e syntax.Expr, name string, old, val aggregate) bool {
	type part struct {
		name     string
		old, val Value
	}
	var parts []part
	var add func(t *resolve.Type, name string, old, val Value)
	add = func(t *resolve.Type, name string, old, val Value) {
		switch t.Kind {
		case resolve.Array:
			for i := range t.Len {
				add(t.Elem, fmt.Sprintf("%s[%d]", name, i), old.(aggregate)[i], val.(aggregate)[i])
			}
		case resolve.Struct:
			for i, f := range t.Fields {
				add(f.Type, name+"."+f.Name, old.(aggregate)[i], val.(aggregate)[i])
			}
		default:
			parts = append(parts, part{name, old, val})
		}
	}
	add(r.typeOf(e), name, old, val)
	for _, p := range parts {
		if Text(r.read(p.name)) != Text(p.old) {
			return false
		}
	}
	for _, p := range parts {
		r.write(p.name, p.val)
	}
	return true
}

// function calls a function and returns its results.
func (r *run) function(e *syntax.CallExpr) []Value {
	obj := r.p.r.Uses[syntax.Unparen(e.Fun).(*syntax.Ident)]
	mark, n := len(r.held), len(r.vars)
	k := known{}
	for _, a := range e.Args {
		r.operand(k, a)
	}
	var args []variable
	for i, a := range e.Args {
		args = append(args, variable{obj.Params[i], r.use(k, a)})
	}
	r.vars = append(r.vars, args...)
	r.held = append(r.held[:mark], fmt.Sprint("call ", e.Pos()))
	r.inlined++
	c := r.statements(obj.Body.Stmts)
	r.inlined--
	r.vars, r.held = r.vars[:n], r.held[:mark]
	return c.results
}
