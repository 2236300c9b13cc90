package compile

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"math"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"cpor/frontend/gosrc/std"
)

func sortedMembers(pkg *ssa.Package) []ssa.Member {
	var names []string
	for n := range pkg.Members {
		names = append(names, n)
	}
	slices.Sort(names)
	var out []ssa.Member
	for _, n := range names {
		out = append(out, pkg.Members[n])
	}
	return out
}

// Ready compiles a function if that has not been done. It must be called before any of the
// function's instructions are read.
func (p *Program) Ready(f *Func) {
	if !f.ready.Load() {
		p.make(f)
	}
}

func (p *Program) make(f *Func) {
	f.once.Do(func() {
		c := &compiler{p: p, f: f, ssa: f.SSA, slot: map[ssa.Value]int32{},
			constant: map[string]int32{}}
		if f.emit != nil {
			c.synthesise()
		} else {
			c.function()
		}
		f.ready.Store(true)
	})
}

type compiler struct {
	p        *Program
	f        *Func
	ssa      *ssa.Function
	slot     map[ssa.Value]int32
	next     int32
	constant map[string]int32 // by what it is: its place among the constants
	consts   []uint64
	pos      token.Pos
	block    *ssa.BasicBlock
	start    []int32 // of blocks
	patches  []patch
	current  ssa.Instruction
	late     bool // returns run the deferred calls
}

// patch is a target to be filled in.
type patch struct {
	instr int32
	block int
}

// constBase is added to constants' registers until the number of registers is known.
const constBase = 1 << 28

func (c *compiler) typ(t types.Type) *Type { return c.p.TypeOf(t) }

func (c *compiler) emit(i Instr) int32 {
	if c.current != nil && !c.f.Untracked {
		// The operation is the first one of its SSA instruction, or everything that the
		// instruction has computed before is in live registers.
		if a, b := i.accesses(); a >= 0 &&
			(c.p.Memory && (i.Op != ToString || c.f.Types[i.N].Kind == Slice) || c.movesLocks(i)) {
			c.pause(a, b)
		}
	}
	c.f.Code = append(c.f.Code, i)
	c.f.Pos = append(c.f.Pos, c.pos)
	if c.current != nil && (i.Op.Synchronises() || i.Op >= CallF && i.Op <= CallM ||
		i.Op == RunDefers || i.Op == Panic) {
		c.f.points[int32(len(c.f.Code)-1)] = c.current
	}
	switch i.Op {
	case Alloc, MakeChan, MakeMap, MakeSlice, MakeFunc:
		if v, ok := c.current.(ssa.Value); ok {
			if c.f.made == nil {
				c.f.made = map[int32]ssa.Value{}
			}
			c.f.made[int32(len(c.f.Code)-1)] = v
		}
	}
	return int32(len(c.f.Code) - 1)
}

// movesLocks reports whether an operation copies or overwrites locks: it is a step of its own,
// so that it is ordered with uses of the lock before and after it.
func (c *compiler) movesLocks(i Instr) bool {
	switch i.Op {
	case Load, Store:
		return len(c.f.Types[i.N].Locks) > 0
	case Append, Copy:
		return len(c.f.Types[i.N].Elem.Locks) > 0
	}
	return false
}

// pause ends a transition before the next instruction.
func (c *compiler) pause(a, b int32) {
	at := c.emit(Instr{Op: Pause, A: a, B: b})
	if c.current != nil {
		c.f.points[at+1] = c.current
	}
}

func (c *compiler) typeIndex(t *Type) int32 {
	for i, x := range c.f.Types {
		if x == t {
			return int32(i)
		}
	}
	c.f.Types = append(c.f.Types, t)
	return int32(len(c.f.Types) - 1)
}

func (c *compiler) alloc(words int) int32 {
	s := c.next
	c.next += int32(words)
	return s
}

func (c *compiler) refuse(format string, args ...any) {
	c.f.Texts = append(c.f.Texts, fmt.Sprintf(format, args...))
	c.emit(Instr{Op: Refuse, N: int32(len(c.f.Texts) - 1)})
}

func (c *compiler) function() {
	f := c.f
	f.points = map[int32]ssa.Instruction{}
	fn := c.ssa
	name := fn.String()
	if o := fn.Origin(); o != nil {
		name = o.String()
	}
	linked := linkname(fn)
	if _, _, ok := c.p.native(linked); !ok {
		linked = ""
	}
	if linked != "" {
		name = linked
	}
	if pkg := packageOf(fn); pkg != nil && (c.p.Standard(pkg) || c.p.Replaced(pkg) ||
		linked != "") {
		if n, sync, ok := c.p.native(name); ok {
			c.next = int32(f.Params + f.Results)
			op := Native
			if sync {
				op = Sync
			}
			c.pos = fn.Pos()
			if c.p.Memory && !sync && !f.Untracked {
				c.pauseNative()
			}
			c.emit(Instr{Op: op, N: int32(n)})
			c.retWords(int32(f.Params), f.Results)
			c.finish()
			return
		}
	}
	if fn.Pkg != nil {
		fn.Pkg.Build()
	}
	if o := fn.Origin(); o != nil && o.Pkg != nil {
		o.Pkg.Build()
	}
	if len(fn.Blocks) == 0 && fn.Synthetic != "" && fn.Name() == "init" {
		c.retWords(0, 0) // of package unsafe
		c.finish()
		return
	}
	if len(fn.Blocks) == 0 {
		c.next = int32(f.Params + f.Results)
		c.pos = fn.Pos()
		c.refuse("%s", why(packageOf(fn), f.Name, f.Hidden))
		c.finish()
		return
	}
	for _, v := range fn.Params {
		c.slot[v] = c.alloc(c.typ(v.Type()).Size)
	}
	for _, v := range fn.FreeVars {
		c.slot[v] = c.alloc(c.typ(v.Type()).Size)
	}
	deferring := fn.Recover != nil
	runs := false
	for _, b := range fn.Blocks {
		for _, i := range b.Instrs {
			if v, ok := i.(ssa.Value); ok {
				c.slot[v] = c.alloc(c.valueSize(v))
			}
			switch i := i.(type) {
			case *ssa.Defer:
				deferring = true
			case *ssa.RunDefers:
				deferring, runs = true, true
			case *ssa.Call:
				if b, ok := i.Call.Value.(*ssa.Builtin); ok && b.Name() == "ssa:deferstack" {
					deferring, c.late = true, true
				}
			}
		}
	}
	c.late = c.late && !runs
	if deferring {
		f.Defers = c.alloc(1)
	}
	c.start = make([]int32, len(fn.Blocks))
	for _, b := range fn.Blocks {
		c.block = b
		c.start[b.Index] = int32(len(f.Code))
		for _, i := range b.Instrs {
			if i.Pos().IsValid() {
				c.pos = i.Pos()
			}
			c.current = i
			c.instruction(i)
		}
	}
	for _, p := range c.patches {
		f.Code[p.instr].N = c.start[p.block]
	}
	// A computation may be interrupted where blocks begin.
	for _, b := range fn.Blocks {
		if _, ok := f.points[c.start[b.Index]]; ok {
			continue
		}
		for _, i := range b.Instrs {
			if _, phi := i.(*ssa.Phi); !phi {
				f.points[c.start[b.Index]] = i
				break
			}
		}
	}
	if fn.Recover != nil {
		f.Recover = c.start[fn.Recover.Index]
	}
	for v, s := range c.slot {
		if t := c.valueType(v); t.Size > 0 {
			f.values = append(f.values, valueSlot{v, s, t})
		}
	}
	c.finish()
}

// valueSize returns the words of a value.
func (c *compiler) valueSize(v ssa.Value) int { return c.valueType(v).Size }

// valueType returns the type of a register.
func (c *compiler) valueType(v ssa.Value) *Type {
	switch v := v.(type) {
	case *ssa.Next: // parts that are not used have an invalid type
		return c.nextType(v)
	case *ssa.Range:
		if b, ok := v.X.Type().Underlying().(*types.Basic); ok && b.Info()&types.IsString != 0 {
			return c.typ(types.NewArray(types.Typ[types.Int], 2)) // refers to nothing
		}
		if c.anyOrder(v) { // the keys that are left, and how many these are
			return c.typ(types.NewStruct([]*types.Var{
				types.NewField(token.NoPos, nil, "keys", types.Typ[types.UnsafePointer], false),
				types.NewField(token.NoPos, nil, "left", types.Typ[types.Int], false)}, nil))
		}
		return c.p.iterator
	}
	return c.typ(v.Type())
}

// anyOrder reports whether a loop over a map continues with any remaining key: those of
// programs, and of package maps.
func (c *compiler) anyOrder(r *ssa.Range) bool {
	if _, ok := r.X.Type().Underlying().(*types.Map); !ok || !c.p.AnyOrder {
		return false
	}
	pkg := packageOf(c.ssa)
	return !c.f.Hidden || pkg != nil && pkg.Path() == "maps"
}

// nextType returns the type of what Next returns, with the key's and the value's
// real types.
func (c *compiler) nextType(n *ssa.Next) *Type {
	if n.IsString {
		return c.typ(types.NewTuple(types.NewVar(0, nil, "ok", types.Typ[types.Bool]),
			types.NewVar(0, nil, "k", types.Typ[types.Int]),
			types.NewVar(0, nil, "v", types.Typ[types.Rune])))
	}
	m := n.Iter.(*ssa.Range).X.Type().Underlying().(*types.Map)
	return c.typ(types.NewTuple(types.NewVar(0, nil, "ok", types.Typ[types.Bool]),
		types.NewVar(0, nil, "k", m.Key()), types.NewVar(0, nil, "v", m.Elem())))
}

// finish gives the constants their registers.
func (c *compiler) finish() {
	f := c.f
	f.Regs = int(c.next)
	f.Consts = c.consts
	fix := func(r *int32) {
		if *r >= constBase {
			*r += c.next - constBase
		}
	}
	for i := range f.Code {
		x := &f.Code[i]
		fix(&x.A)
		fix(&x.B)
		fix(&x.C)
	}
	for i := range f.Calls {
		for j := range f.Calls[i].Args {
			fix(&f.Calls[i].Args[j].From)
		}
		fix(&f.Calls[i].Value)
	}
	for i := range f.Moves {
		for j := range f.Moves[i] {
			fix(&f.Moves[i][j].From)
		}
	}
	for i := range f.Selects {
		for j := range f.Selects[i].Cases {
			fix(&f.Selects[i].Cases[j].Chan)
			fix(&f.Selects[i].Cases[j].Value)
		}
	}
}

// pauseNative is the pause before a function that the machine performs, if it gets pointers.
func (c *compiler) pauseNative() {
	pointers := []int32{-1, -1}
	n, off := 0, int32(0)
	for _, t := range c.f.ParamTypes {
		for _, r := range t.Refs {
			if r.Kind == RefPointer && n < len(pointers) {
				pointers[n] = off + int32(r.Off)
				n++
			}
		}
		off += int32(t.Size)
	}
	if n > 0 {
		c.pause(pointers[0], pointers[1])
	}
}

func (c *compiler) retWords(from int32, words int) {
	var moves []Move
	if words > 0 {
		moves = []Move{{from, 0, int32(words)}}
	}
	c.f.Moves = append(c.f.Moves, moves)
	c.emit(Instr{Op: Return, N: int32(len(c.f.Moves) - 1)})
}

// words returns the register of a constant sequence of words.
func (c *compiler) words(ws ...uint64) int32 {
	key := fmt.Sprint(ws)
	if r, ok := c.constant[key]; ok {
		return r
	}
	r := constBase + int32(len(c.consts))
	c.consts = append(c.consts, ws...)
	c.constant[key] = r
	return r
}

// reg returns the register of a value.
func (c *compiler) reg(v ssa.Value) int32 {
	if s, ok := c.slot[v]; ok {
		return s
	}
	switch v := v.(type) {
	case *ssa.Const:
		return c.words(c.constWords(v)...)
	case *ssa.Global:
		i, ok := c.p.globals[v]
		if !ok || i < 0 {
			c.refuse("uses %s, a variable of a package that cannot be explored", v.String())
			return c.words(0)
		}
		return c.words(uint64(i+1) << 32)
	case *ssa.Function:
		return c.words(StaticFunc | uint64(c.p.FuncOf(v).Index))
	}
	panic(fmt.Sprintf("%s: no register for %s (%T)", c.ssa, v, v))
}

func (c *compiler) constWords(v *ssa.Const) []uint64 {
	t := c.typ(v.Type())
	if v.Value == nil {
		return make([]uint64, max(1, t.Size))
	}
	switch {
	case t.Kind == Bool:
		if constant.BoolVal(v.Value) {
			return []uint64{1}
		}
		return []uint64{0}
	case t.Kind == String:
		if v.Value.Kind() == constant.String {
			return []uint64{c.p.String(constant.StringVal(v.Value))}
		}
		return []uint64{c.p.String(string(rune(v.Int64())))}
	case t.Kind.Integer() && t.Kind.Signed():
		return []uint64{uint64(v.Int64())}
	case t.Kind.Integer():
		return []uint64{v.Uint64()}
	case t.Kind == Pointer:
		return []uint64{v.Uint64()}
	case t.Kind == Float32:
		return []uint64{uint64(math.Float32bits(float32(v.Float64())))}
	case t.Kind == Float64:
		return []uint64{math.Float64bits(v.Float64())}
	case t.Kind == Complex64:
		x := v.Complex128()
		return []uint64{uint64(math.Float32bits(float32(real(x)))),
			uint64(math.Float32bits(float32(imag(x))))}
	case t.Kind == Complex128:
		x := v.Complex128()
		return []uint64{math.Float64bits(real(x)), math.Float64bits(imag(x))}
	}
	panic(fmt.Sprintf("constant %v of type %v", v, t))
}

// move copies a value; one of size 0 needs nothing.
func (c *compiler) move(to, from int32, size int) {
	switch {
	case size == 0 || to == from:
	case size == 1:
		c.emit(Instr{Op: Move1, A: to, B: from})
	default:
		c.emit(Instr{Op: MoveN, A: to, B: from, N: int32(size)})
	}
}

// edge emits the moves for the phis of a successor.
func (c *compiler) edge(to *ssa.BasicBlock) {
	pred := slices.Index(to.Preds, c.block)
	c.phis(to, pred)
}

func (c *compiler) phis(to *ssa.BasicBlock, pred int) {
	type mv struct {
		to, from int32
		size     int
	}
	var moves []mv
	for _, i := range to.Instrs {
		phi, ok := i.(*ssa.Phi)
		if !ok {
			break
		}
		size := c.typ(phi.Type()).Size
		dst, src := c.slot[phi], c.reg(phi.Edges[pred])
		if size > 0 && dst != src {
			moves = append(moves, mv{dst, src, size})
		}
	}
	// They are simultaneous: first those whose target no other one reads.
	for len(moves) > 0 {
		free := -1
		for i, m := range moves {
			read := false
			for j, o := range moves {
				if i != j && o.from < m.to+int32(m.size) && m.to < o.from+int32(o.size) {
					read = true
				}
			}
			if !read {
				free = i
				break
			}
		}
		if free >= 0 {
			m := moves[free]
			c.move(m.to, m.from, m.size)
			moves = slices.Delete(moves, free, free+1)
			continue
		}
		// A cycle: one of the sources is saved.
		m := &moves[0]
		tmp := c.alloc(m.size)
		c.move(tmp, m.from, m.size)
		m.from = tmp
		// Others that read the same source still read it; only m is freed.
	}
}

func hasPhis(b *ssa.BasicBlock) bool {
	_, ok := b.Instrs[0].(*ssa.Phi)
	return ok
}

func (c *compiler) jump(b *ssa.BasicBlock) {
	if b.Index == c.block.Index+1 {
		return
	}
	c.patches = append(c.patches, patch{c.emit(Instr{Op: Jump}), b.Index})
}

func (c *compiler) instruction(i ssa.Instruction) {
	switch i := i.(type) {
	case *ssa.DebugRef, *ssa.Phi:
	case *ssa.Alloc:
		t := c.typ(i.Type().Underlying().(*types.Pointer).Elem())
		c.emit(Instr{Op: Alloc, A: c.slot[i], N: c.typeIndex(t)})
	case *ssa.BinOp:
		c.binary(i)
	case *ssa.UnOp:
		c.unary(i)
	case *ssa.Call:
		c.call(i)
	case *ssa.ChangeType:
		c.move(c.slot[i], c.reg(i.X), c.typ(i.Type()).Size)
	case *ssa.ChangeInterface:
		c.move(c.slot[i], c.reg(i.X), 2)
	case *ssa.Convert:
		c.convert(i)
	case *ssa.MultiConvert:
		c.refuse("converts between type parameters")
	case *ssa.SliceToArrayPointer:
		n := i.Type().Underlying().(*types.Pointer).Elem().Underlying().(*types.Array).Len()
		c.emit(Instr{Op: ToArrPtr, A: c.slot[i], B: c.reg(i.X), N: int32(n)})
	case *ssa.MakeInterface:
		c.emit(Instr{Op: MakeIface, A: c.slot[i], B: c.reg(i.X), N: c.typeIndex(c.typ(i.X.Type()))})
	case *ssa.Extract:
		t := c.typ(i.Tuple.Type())
		if n, ok := i.Tuple.(*ssa.Next); ok {
			t = c.nextType(n)
		}
		f := t.Fields[i.Index]
		c.move(c.slot[i], c.reg(i.Tuple)+int32(f.Off), f.Type.Size)
	case *ssa.Field:
		f := c.typ(i.X.Type()).Fields[i.Field]
		c.move(c.slot[i], c.reg(i.X)+int32(f.Off), f.Type.Size)
	case *ssa.FieldAddr:
		f := c.typ(i.X.Type()).Elem.Fields[i.Field]
		c.emit(Instr{Op: FieldAddr, A: c.slot[i], B: c.reg(i.X), N: int32(f.Off)})
	case *ssa.IndexAddr:
		switch t := c.typ(i.X.Type()); t.Kind {
		case Slice:
			c.emit(Instr{Op: SliceAddr, A: c.slot[i], B: c.reg(i.X), C: c.reg(i.Index),
				N: int32(t.Elem.Size), K: c.sign(i.Index)})
		default:
			c.emit(Instr{Op: ElemAddr, A: c.slot[i], B: c.reg(i.X), C: c.reg(i.Index),
				N: c.typeIndex(t.Elem), K: c.sign(i.Index)})
		}
	case *ssa.Index:
		if t := c.typ(i.X.Type()); t.Kind == String {
			c.emit(Instr{Op: StrIndex, A: c.slot[i], B: c.reg(i.X), C: c.reg(i.Index),
				K: c.sign(i.Index)})
		} else {
			c.emit(Instr{Op: ElemOf, A: c.slot[i], B: c.reg(i.X), C: c.reg(i.Index),
				N: c.typeIndex(t), K: c.sign(i.Index)})
		}
	case *ssa.Lookup:
		t := c.typ(i.X.Type())
		if t.Kind == String {
			c.emit(Instr{Op: StrIndex, A: c.slot[i], B: c.reg(i.X), C: c.reg(i.Index),
				K: c.sign(i.Index)})
			return
		}
		k := Kind(0)
		if i.CommaOk {
			k = 1
		}
		c.emit(Instr{Op: MapGet, A: c.slot[i], B: c.reg(i.X), C: c.reg(i.Index), N: c.typeIndex(t),
			K: k})
	case *ssa.MapUpdate:
		c.emit(Instr{Op: MapSet, A: c.reg(i.Map), B: c.reg(i.Key), C: c.reg(i.Value),
			N: c.typeIndex(c.typ(i.Map.Type()))})
	case *ssa.Range:
		op := RangeOf
		if c.anyOrder(i) {
			op = RangeAny
		}
		c.emit(Instr{Op: op, A: c.slot[i], B: c.reg(i.X), N: c.typeIndex(c.typ(i.X.Type()))})
	case *ssa.Next:
		if i.IsString {
			c.emit(Instr{Op: NextStr, A: c.slot[i], B: c.reg(i.Iter)})
		} else {
			op := NextMap
			if c.anyOrder(i.Iter.(*ssa.Range)) {
				op = PickMap
			}
			c.emit(Instr{Op: op, A: c.slot[i], B: c.reg(i.Iter),
				N: c.typeIndex(c.typ(i.Iter.(*ssa.Range).X.Type()))})
		}
	case *ssa.TypeAssert:
		ok := int32(0)
		if i.CommaOk {
			ok = 1
		}
		c.emit(Instr{Op: Assert, A: c.slot[i], B: c.reg(i.X),
			C: ok | c.typeIndex(c.typ(i.X.Type()))<<1, N: c.typeIndex(c.typ(i.AssertedType))})
	case *ssa.MakeClosure:
		fn := c.p.FuncOf(i.Fn.(*ssa.Function))
		call := Call{Func: fn}
		at := int32(1)
		for _, b := range i.Bindings {
			t := c.typ(b.Type())
			call.Args = append(call.Args, Move{c.reg(b), at, int32(t.Size)})
			at += int32(t.Size)
		}
		call.Words = int(at)
		c.emit(Instr{Op: MakeFunc, A: c.slot[i], N: c.addCall(call)})
	case *ssa.MakeSlice:
		c.emit(Instr{Op: MakeSlice, A: c.slot[i], B: c.reg(i.Len), C: c.reg(i.Cap),
			N: c.typeIndex(c.typ(i.Type()))})
	case *ssa.MakeMap:
		c.emit(Instr{Op: MakeMap, A: c.slot[i], N: c.typeIndex(c.typ(i.Type()))})
	case *ssa.MakeChan:
		c.emit(Instr{Op: MakeChan, A: c.slot[i], B: c.reg(i.Size), N: c.typeIndex(c.typ(i.Type()))})
	case *ssa.Slice:
		c.slice(i)
	case *ssa.Store:
		if !returnsItself(i) {
			c.store(c.reg(i.Addr), c.reg(i.Val), c.typ(i.Val.Type()))
		}
	case *ssa.Send:
		c.emit(Instr{Op: Send, A: c.reg(i.Chan), B: c.reg(i.X), N: c.typeIndex(c.typ(i.X.Type()))})
	case *ssa.Select:
		c.selectStmt(i)
	case *ssa.Go:
		call, kind := c.common(&i.Call, false)
		c.emit(Instr{Op: Go, K: kind, N: call})
	case *ssa.Defer:
		call, kind := c.common(&i.Call, false)
		stack := int32(-1)
		if i.DeferStack != nil {
			stack = c.reg(i.DeferStack)
		}
		c.emit(Instr{Op: Defer, K: kind, N: call, B: stack})
	case *ssa.RunDefers:
		c.emit(Instr{Op: RunDefers})
	case *ssa.Panic:
		if m, ok := i.X.(*ssa.MakeInterface); ok {
			if k, ok := m.X.(*ssa.Const); ok && k.Value != nil &&
				k.Value.Kind() == constant.String &&
				rangePanics[constant.StringVal(k.Value)] != "" && !c.fromSource(i) {
				c.f.Texts = append(c.f.Texts, rangePanics[constant.StringVal(k.Value)])
				c.emit(Instr{Op: Throw, N: int32(len(c.f.Texts) - 1)})
				return
			}
		}
		c.emit(Instr{Op: Panic, A: c.reg(i.X)})
	case *ssa.Return:
		if c.late && c.block != c.ssa.Recover {
			// The builder omits RunDefers where all defer statements are in the bodies of ranges
			// over functions.
			c.emit(Instr{Op: RunDefers})
			for _, r := range i.Results {
				if u := resultLoad(r); u != nil {
					c.unary(u)
				}
			}
		}
		var moves []Move
		at := int32(0)
		for _, r := range i.Results {
			if n := c.typ(r.Type()).Size; n > 0 {
				moves = append(moves, Move{c.reg(r), at, int32(n)})
				at += int32(n)
			}
		}
		c.f.Moves = append(c.f.Moves, moves)
		c.emit(Instr{Op: Return, N: int32(len(c.f.Moves) - 1)})
	case *ssa.Jump:
		c.edge(c.block.Succs[0])
		c.jump(c.block.Succs[0])
	case *ssa.If:
		c.branch(i)
	default:
		c.refuse("has an instruction %T", i)
	}
}

// rangePanics are the run-time errors that the builder's panics in ranges over functions
// represent.
var rangePanics = map[string]string{
	"yield function called after range loop exit": "range function continued iteration after " +
		"function for loop body returned false",
	"iterator call did not preserve panic": "range function recovered a loop body panic " +
		"and did not resume panicking",
}

// fromSource reports whether a panic is in the program's source.
func (c *compiler) fromSource(i *ssa.Panic) bool {
	return i.Pos().IsValid() &&
		c.ssa.Synthetic == ""
}

// resultLoad returns the load of a result's variable.
func resultLoad(v ssa.Value) *ssa.UnOp {
	if u, ok := v.(*ssa.UnOp); ok && u.Op == token.MUL {
		if _, ok := u.X.(*ssa.Alloc); ok {
			return u
		}
	}
	return nil
}

func (c *compiler) branch(i *ssa.If) {
	yes, no := c.block.Succs[0], c.block.Succs[1]
	cond := c.reg(i.Cond)
	if yes == no { // both edges may have other phis
		p := c.emit(Instr{Op: IfNot, A: cond})
		c.phis(yes, slices.Index(yes.Preds, c.block))
		c.patches = append(c.patches, patch{c.emit(Instr{Op: Jump}), yes.Index})
		c.f.Code[p].N = int32(len(c.f.Code))
		last := len(yes.Preds) - 1 - slices.Index(reversed(yes.Preds), c.block)
		c.phis(yes, last)
		c.jump(no)
		return
	}
	if !hasPhis(yes) {
		c.patches = append(c.patches, patch{c.emit(Instr{Op: If, A: cond}), yes.Index})
		c.edge(no)
		c.jump(no)
		return
	}
	if !hasPhis(no) {
		c.patches = append(c.patches, patch{c.emit(Instr{Op: IfNot, A: cond}), no.Index})
		c.edge(yes)
		c.jump(yes)
		return
	}
	p := c.emit(Instr{Op: IfNot, A: cond})
	c.edge(yes)
	c.patches = append(c.patches, patch{c.emit(Instr{Op: Jump}), yes.Index})
	c.f.Code[p].N = int32(len(c.f.Code))
	c.edge(no)
	c.jump(no)
}

func reversed(bs []*ssa.BasicBlock) []*ssa.BasicBlock {
	bs = slices.Clone(bs)
	slices.Reverse(bs)
	return bs
}

// index returns the register of an index or length, as a signed 64-bit integer:
// an unsigned one that does not fit is negative, and out of range like it.
// sign returns 1 for an index without a sign: the message of a panic says what it is.
func (c *compiler) sign(v ssa.Value) Kind {
	if c.typ(v.Type()).Kind.Signed() {
		return 0
	}
	return 1
}

func (c *compiler) store(addr, val int32, t *Type) {
	if t.Size == 1 && len(t.Refs) == 0 && len(t.Locks) == 0 {
		c.emit(Instr{Op: StoreW, A: addr, B: val})
		return
	}
	if t.Size == 0 {
		c.emit(Instr{Op: CheckNil, A: addr})
		return
	}
	c.emit(Instr{Op: Store, A: addr, B: val, N: c.typeIndex(t)})
}

func (c *compiler) load(to, addr int32, t *Type) {
	switch {
	case t.Size == 0:
		c.emit(Instr{Op: CheckNil, A: addr})
	case t.Size == 1 && len(t.Locks) == 0:
		c.emit(Instr{Op: LoadW, A: to, B: addr})
	default:
		c.emit(Instr{Op: Load, A: to, B: addr, N: c.typeIndex(t)})
	}
}

func (c *compiler) addCall(call Call) int32 {
	c.f.Calls = append(c.f.Calls, call)
	return int32(len(c.f.Calls) - 1)
}

// common compiles the operands of a call, go or defer; used says whether the result may be used.
// The sort of call is CallF, CallV or CallM, less CallF.
func (c *compiler) common(cc *ssa.CallCommon, used bool) (call int32, sort Kind) {
	x := Call{Result: c.typ(cc.Signature().Results()).Size}
	at := int32(0)
	arg := func(v ssa.Value) {
		t := c.typ(v.Type())
		if t.Size > 0 {
			x.Args = append(x.Args, Move{c.reg(v), at, int32(t.Size)})
		}
		x.Types = append(x.Types, t)
		at += int32(t.Size)
	}
	switch v := cc.Value.(type) {
	case *ssa.Builtin:
		return c.builtinCall(cc, v), 0
	case *ssa.Function:
		if blind := c.blindAdd(v); blind != nil && !used {
			v, x.Result = blind, 0
		}
		x.Func = c.p.FuncOf(v)
		x.Name = x.Func.Name
		sort = 0
	default:
		x.Value = c.reg(cc.Value)
		sort = Kind(CallV - CallF)
		x.Name = cc.Value.Name()
		if cc.IsInvoke() {
			sort = Kind(CallM - CallF)
			x.Method = cc.Method
			x.Name = cc.Method.Name()
		}
	}
	for _, a := range cc.Args {
		arg(a)
	}
	x.Words = int(at)
	return c.addCall(x), sort
}

// blindAdd returns the variant without a result of a function or method Add of package
// sync/atomic; nil if fn is not one. The receiver of a method has the address of its only field.
func (c *compiler) blindAdd(fn *ssa.Function) *ssa.Function {
	pkg := fn.Pkg
	if pkg == nil || pkg.Pkg.Path() != "sync/atomic" || !c.p.Standard(pkg.Pkg) {
		return nil
	}
	name := strings.TrimPrefix(fn.Name(), "Add")
	if recv := fn.Signature.Recv(); recv != nil && name == "" {
		if p, ok := recv.Type().(*types.Pointer); ok {
			if n, ok := p.Elem().(*types.Named); ok {
				return pkg.Func("add" + n.Obj().Name())
			}
		}
	}
	if name == fn.Name() {
		return nil
	}
	return pkg.Func("add" + name)
}

// lookedAt reports whether a value may be used.
func lookedAt(v ssa.Value) bool {
	return slices.ContainsFunc(*v.Referrers(), func(i ssa.Instruction) bool {
		_, debug := i.(*ssa.DebugRef)
		return !debug
	})
}

// builtinCall compiles a built-in function after go or defer: as a function, because operands
// are evaluated now.
func (c *compiler) builtinCall(cc *ssa.CallCommon, b *ssa.Builtin) int32 {
	x := Call{Name: b.Name(), Result: c.typ(cc.Signature().Results()).Size}
	f := &Func{SSA: c.ssa, Name: b.Name(), Recover: -1, Defers: -1, Hidden: true,
		points: map[int32]ssa.Instruction{}}
	at := int32(0)
	inner := &compiler{p: c.p, f: f, ssa: c.ssa, slot: map[ssa.Value]int32{},
		constant: map[string]int32{}, pos: c.pos}
	for _, a := range cc.Args {
		t := c.typ(a.Type())
		if _, done := inner.slot[a]; !done {
			inner.slot[a] = at
		}
		if t.Size > 0 {
			x.Args = append(x.Args, Move{c.reg(a), at, int32(t.Size)})
		}
		x.Types = append(x.Types, t)
		f.ParamTypes = append(f.ParamTypes, t)
		at += int32(t.Size)
	}
	x.Words = int(at)
	f.Params = int(at)
	inner.next = at
	result := inner.alloc(x.Result)
	inner.builtin(cc, b, result)
	inner.retWords(result, 0)
	inner.finish()
	f.once.Do(func() {})
	c.p.mu.Lock()
	old := *c.p.funcs.Load()
	f.Index = len(old)
	list := append(old, f)
	c.p.funcs.Store(&list)
	c.p.mu.Unlock()
	x.Func = f
	return c.addCall(x)
}

func (c *compiler) call(i *ssa.Call) {
	if b, ok := i.Call.Value.(*ssa.Builtin); ok {
		c.builtin(&i.Call, b, c.slot[i])
		return
	}
	call, sort := c.common(&i.Call, lookedAt(i))
	c.emit(Instr{Op: CallF + Op(sort), A: c.slot[i], N: call})
}

func (c *compiler) builtin(cc *ssa.CallCommon, b *ssa.Builtin, to int32) {
	arg := func(i int) int32 { return c.reg(cc.Args[i]) }
	typ := func(i int) *Type { return c.typ(cc.Args[i].Type()) }
	switch b.Name() {
	case "append":
		if len(cc.Args) == 1 {
			c.move(to, arg(0), 3)
			return
		}
		op := Append
		if typ(1).Kind == String {
			op = AppendStr
		}
		c.emit(Instr{Op: op, A: to, B: arg(0), C: arg(1), N: c.typeIndex(typ(0))})
	case "copy":
		op := Copy
		if typ(1).Kind == String {
			op = CopyStr
		}
		c.emit(Instr{Op: op, A: to, B: arg(0), C: arg(1), N: c.typeIndex(typ(0))})
	case "close":
		c.emit(Instr{Op: Close, A: arg(0)})
	case "delete":
		c.emit(Instr{Op: MapDelete, A: arg(0), B: arg(1), N: c.typeIndex(typ(0))})
	case "clear":
		if typ(0).Kind == Map {
			c.emit(Instr{Op: MapClear, A: arg(0), N: c.typeIndex(typ(0))})
		} else {
			c.emit(Instr{Op: Clear, A: arg(0), N: c.typeIndex(typ(0))})
		}
	case "print", "println":
		c.print(cc, b.Name() == "println")
	case "len", "cap":
		switch t := typ(0); t.Kind {
		case String:
			c.emit(Instr{Op: LenStr, A: to, B: arg(0)})
		case Slice:
			off := int32(1)
			if b.Name() == "cap" {
				off = 2
			}
			c.move(to, arg(0)+off, 1)
		case Map:
			c.emit(Instr{Op: LenMap, A: to, B: arg(0)})
		case Chan:
			if b.Name() == "cap" {
				c.emit(Instr{Op: CapChan, A: to, B: arg(0)})
			} else {
				c.emit(Instr{Op: LenChan, A: to, B: arg(0)})
			}
		case Array:
			c.move(to, c.words(uint64(t.Len)), 1)
		case Pointer:
			c.move(to, c.words(uint64(t.Elem.Len)), 1)
		default:
			c.refuse("uses %s of %v", b.Name(), t)
		}
	case "real", "imag":
		op := Real
		if b.Name() == "imag" {
			op = Imag
		}
		c.emit(Instr{Op: op, A: to, B: arg(0)})
	case "complex":
		c.emit(Instr{Op: CMake, A: to, B: arg(0), C: arg(1)})
	case "panic":
		c.emit(Instr{Op: Panic, A: arg(0)})
	case "recover":
		c.emit(Instr{Op: Recover, A: to})
	case "min", "max":
		var moves []Move
		for i := range cc.Args {
			moves = append(moves, Move{arg(i), 0, 1})
		}
		c.f.Moves = append(c.f.Moves, moves)
		which := int32(0)
		if b.Name() == "max" {
			which = 1
		}
		c.emit(Instr{Op: MinMax, A: to, C: which, N: int32(len(c.f.Moves) - 1), K: typ(0).Kind})
	case "ssa:wrapnilchk":
		c.emit(Instr{Op: CheckNil, A: arg(0)})
		c.move(to, arg(0), 1)
	case "ssa:deferstack":
		c.emit(Instr{Op: Stack, A: to})
	case "String": // unsafe.String
		c.emit(Instr{Op: StrFrom, A: to, B: arg(0), C: arg(1)})
	case "Sizeof":
		c.move(to, c.words(uint64(typ(0).Bytes())), 1)
	case "Alignof":
		c.move(to, c.words(uint64(typ(0).Align())), 1)
	case "Offsetof":
		if off, ok := c.offsetof(cc); ok {
			c.move(to, c.words(uint64(off)), 1)
		} else {
			c.refuse("uses unsafe.Offsetof of something that is not a field")
		}
	case "SliceData":
		c.move(to, arg(0), 1)
	case "StringData":
		bytes := c.alloc(3)
		c.emit(Instr{Op: FromStr, A: bytes, B: arg(0),
			N: c.typeIndex(c.typ(types.NewSlice(types.Typ[types.Uint8])))})
		c.move(to, bytes, 1)
	case "Slice":
		c.emit(Instr{Op: SliceOf, A: to, B: arg(0), C: arg(1), N: c.typeIndex(typ(0).Elem)})
	case "Add":
		at := c.alloc(1)
		c.emit(Instr{Op: ToNumber, A: at, B: arg(0)})
		c.emit(Instr{Op: Add, A: at, B: at, C: arg(1)})
		c.emit(Instr{Op: ToPointer, A: to, B: at})
	default:
		c.refuse("uses %s", b.Name())
	}
}

// offsetof returns what unsafe.Offsetof gives in a generic function; elsewhere it is a constant.
// Embedded fields that the selector omits count, too: they are at the place where the selector
// begins.
func (c *compiler) offsetof(cc *ssa.CallCommon) (off int, ok bool) {
	begin := token.NoPos
	if body := c.ssa.Syntax(); body != nil {
		ast.Inspect(body, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && call.Lparen == cc.Pos() && len(call.Args) == 1 {
				begin = call.Args[0].Pos()
			}
			return true
		})
	}
	v := cc.Args[0]
	if load, ok := v.(*ssa.UnOp); ok && load.Op == token.MUL {
		v = load.X
	}
	for first := true; ; first = false {
		var t *Type
		var x ssa.Value
		field := 0
		switch f := v.(type) {
		case *ssa.FieldAddr:
			x, t, field = f.X, c.typ(f.X.Type()).Elem, f.Field
		case *ssa.Field:
			x, t, field = f.X, c.typ(f.X.Type()), f.Field
		default:
			return off, !first
		}
		if !first && v.Pos() != begin {
			return off, true
		}
		off += t.FieldOffset(field)
		v = x
	}
}

// print compiles print and println: a call of our formatter.
func (c *compiler) print(cc *ssa.CallCommon, line bool) {
	name := "print"
	if line {
		name = "println"
	}
	any := c.typ(types.Universe.Lookup("any").Type())
	fn := c.p.Lookup("internal/cpor", name)
	// The arguments become a slice of interfaces.
	n := len(cc.Args)
	slice := c.alloc(3)
	length := c.words(uint64(n))
	c.emit(Instr{Op: MakeSlice, A: slice, B: length, C: length,
		N: c.typeIndex(c.typ(types.NewSlice(any.T)))})
	iface, addr := c.alloc(2), c.alloc(1)
	for i, a := range cc.Args {
		if _, ok := a.Type().Underlying().(*types.Interface); ok {
			c.move(iface, c.reg(a), 2)
		} else {
			c.emit(Instr{Op: MakeIface, A: iface, B: c.reg(a), N: c.typeIndex(c.typ(a.Type()))})
		}
		c.emit(Instr{Op: SliceAddr, A: addr, B: slice, C: c.words(uint64(i)), N: 2})
		c.emit(Instr{Op: Store, A: addr, B: iface, N: c.typeIndex(any)})
	}
	call := Call{Func: fn, Args: []Move{{slice, 0, 3}}, Words: 3, Types: fn.ParamTypes, Name: name}
	c.emit(Instr{Op: CallF, A: 0, N: c.addCall(call)})
}

func (c *compiler) binary(i *ssa.BinOp) {
	a, b, d := c.slot[i], c.reg(i.X), c.reg(i.Y)
	t := c.typ(i.X.Type())
	k := t.Kind
	op3 := func(op Op) { c.emit(Instr{Op: op, A: a, B: b, C: d, K: k}) }
	wide := k == Int64 || k == Uint64 || k == Uintptr
	number := func(w, n, cx Op) {
		switch {
		case k == Complex64 || k == Complex128:
			op3(cx)
		case wide:
			op3(w)
		default:
			op3(n)
		}
	}
	switch i.Op {
	case token.ADD:
		if k == String {
			op3(Concat)
			return
		}
		number(Add, AddK, CAdd)
	case token.SUB:
		number(Sub, SubK, CSub)
	case token.MUL:
		number(Mul, MulK, CMul)
	case token.QUO:
		number(DivK, DivK, CDiv)
	case token.REM:
		op3(RemK)
	case token.AND:
		op3(And)
	case token.OR:
		op3(Or)
	case token.XOR:
		op3(Xor)
	case token.AND_NOT:
		op3(AndNot)
	case token.SHL, token.SHR:
		op := Shl
		if i.Op == token.SHR {
			op = Shr
		}
		c.emit(Instr{Op: op, A: a, B: b, C: d, K: k, N: int32(c.typ(i.Y.Type()).Kind)})
	case token.EQL, token.NEQ:
		ne := i.Op == token.NEQ
		switch {
		case k == Slice || k == Function || k == Map: // with nil
			if k == Slice {
				if _, ok := i.X.(*ssa.Const); ok {
					b, d = d, b
				}
				d = c.words(0)
			}
			op3(pick(ne, NeW, EqW))
		case t.Plain && t.Size == 1:
			op3(pick(ne, NeW, EqW))
		default:
			c.emit(Instr{Op: pick(ne, NeT, EqT), A: a, B: b, C: d, N: c.typeIndex(t)})
		}
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		if i.Op == token.GTR || i.Op == token.GEQ {
			b, d = d, b
		}
		le := i.Op == token.LEQ || i.Op == token.GEQ
		switch {
		case k == String:
			op3(pick(le, LeStr, LtStr))
		case k.Float():
			op3(pick(le, LeF, LtF))
		case k.Signed():
			op3(pick(le, LeS, LtS))
		default:
			op3(pick(le, LeU, LtU))
		}
	default:
		c.refuse("uses the operator %v", i.Op)
	}
}

func pick(b bool, yes, no Op) Op {
	if b {
		return yes
	}
	return no
}

func (c *compiler) unary(i *ssa.UnOp) {
	a, t := c.slot[i], c.typ(i.X.Type())
	switch i.Op {
	case token.NOT:
		c.emit(Instr{Op: Not, A: a, B: c.reg(i.X)})
	case token.SUB:
		op := NegK
		if t.Kind == Complex64 || t.Kind == Complex128 {
			op = CNeg
		}
		c.emit(Instr{Op: op, A: a, B: c.reg(i.X), K: t.Kind})
	case token.XOR:
		c.emit(Instr{Op: ComK, A: a, B: c.reg(i.X), K: t.Kind})
	case token.MUL:
		c.load(a, c.reg(i.X), c.typ(i.Type()))
	case token.ARROW:
		ok := int32(0)
		if i.CommaOk {
			ok = 1
		}
		c.emit(Instr{Op: Recv, A: a, B: c.reg(i.X), C: ok, N: c.typeIndex(t.Elem)})
	default:
		c.refuse("uses the operator %v", i.Op)
	}
}

func (c *compiler) convert(i *ssa.Convert) {
	from, to := c.typ(i.X.Type()), c.typ(i.Type())
	a, b := c.slot[i], c.reg(i.X)
	switch {
	case to.Kind == String && from.Kind == String, to.Kind == Pointer && from.Kind == Pointer,
		to.Kind == Slice && from.Kind == Slice:
		if to.Kind == Pointer && from.Kind == Pointer {
			if why := c.cast(i.X, to); why != "" {
				c.refuse("%s", why)
				return
			}
		}
		if to.Kind == Pointer && from.Kind == Pointer && to.Elem != nil && from.Elem == nil &&
			!c.p.Ours(c.ssa.Pos()) {
			c.emit(Instr{Op: CheckCast, A: b, N: c.typeIndex(to.Elem)})
		}
		c.move(a, b, to.Size)
	case to.Kind == Uintptr && from.Kind == Pointer:
		c.emit(Instr{Op: ToNumber, A: a, B: b})
	case to.Kind == Pointer && from.Kind == Uintptr:
		c.emit(Instr{Op: ToPointer, A: a, B: b})
	case to.Kind == String:
		c.emit(Instr{Op: ToString, A: a, B: b, N: c.typeIndex(from)})
	case from.Kind == String:
		c.emit(Instr{Op: FromStr, A: a, B: b, N: c.typeIndex(to)})
	case (from.Kind.Integer() || from.Kind.Float()) && (to.Kind.Integer() || to.Kind.Float()),
		from.Kind == Complex64 || from.Kind == Complex128:
		c.emit(Instr{Op: Convert, A: a, B: b, C: int32(from.Kind), K: to.Kind})
	default:
		c.refuse("converts %v to %v", from, to)
	}
}

// cast says why a pointer from unsafe.Pointer cannot be converted to another type; empty if it
// can.
func (c *compiler) cast(x ssa.Value, to *Type) string {
	if to.Elem == nil {
		return "" // to unsafe.Pointer
	}
	// What was it before?
	if i, ok := x.(*ssa.Convert); ok {
		if p, ok := i.X.Type().Underlying().(*types.Pointer); ok {
			if types.Identical(
				p.Elem().Underlying(),
				to.T.Underlying().(*types.Pointer).Elem().Underlying(),
			) {
				return ""
			}
			if castable(c.typ(p.Elem()), to.Elem) {
				return ""
			}
			return fmt.Sprintf("casts a *%v to a %v with unsafe.Pointer", p.Elem(), to)
		}
	}
	return ""
}

// castable reports whether a value of one type can be used as one of another: its words mean the
// same. Every pointer can be used as an unsafe.Pointer, as for atomic.LoadPointer.
func castable(from, to *Type) bool {
	if from.Kind == Pointer && to.Kind == Pointer && to.Elem == nil {
		return true
	}
	return from == to || types.Identical(from.T.Underlying(), to.T.Underlying()) ||
		sameWord[from.Kind] != 0 && sameWord[from.Kind] == sameWord[to.Kind]
}

// Holds reports whether a value of type to begins at the word w of n words that hold values of
// the type one after the other.
func (t *Type) Holds(w, n int, to *Type) bool {
	if w < 0 || t.Size == 0 || w+to.Size > n {
		return false
	}
	at := w % t.Size
	if at == 0 && (castable(t, to) || to.Kind == Array && castable(t, to.Elem)) {
		return true
	}
	switch t.Kind {
	case Array:
		return t.Elem.Holds(at, t.Size, to)
	case Struct:
		for _, f := range t.Fields {
			if at >= f.Off && f.Type.Holds(at-f.Off, f.Type.Size, to) {
				return true
			}
		}
	}
	return false
}

// sameWord are the numbers whose words are their bits, by their size.
var sameWord = map[Kind]int{Int64: 64, Uint64: 64, Uintptr: 64, Float64: 64, Uint32: 32,
	Float32: 32}

// slice compiles x[low:high:max]. The operands are in three consecutive registers after the
// result: B is what is sliced; the moves say which bounds there are, and, in To, whether these
// are unsigned.
func (c *compiler) slice(i *ssa.Slice) {
	t := c.typ(i.X.Type())
	bound := func(v ssa.Value) Move {
		if v == nil {
			return Move{-1, 0, 0}
		}
		return Move{c.reg(v), int32(c.sign(v)), 1}
	}
	c.f.Moves = append(c.f.Moves, []Move{bound(i.Low), bound(i.High), bound(i.Max)})
	c.emit(Instr{Op: SliceOp, A: c.slot[i], B: c.reg(i.X), C: c.typeIndex(t),
		N: int32(len(c.f.Moves) - 1)})
}

func (c *compiler) selectStmt(i *ssa.Select) {
	s := Select{Default: !i.Blocking}
	t := c.typ(i.Type())
	at := 2
	for _, st := range i.States {
		k := Case{Chan: c.reg(st.Chan), Type: c.typ(st.Chan.Type()).Elem, Pos: st.Pos, Value: -1}
		if !k.Pos.IsValid() {
			k.Pos = i.Pos()
		}
		recv := int32(-1)
		if st.Dir == types.SendOnly {
			k.Send, k.Value = true, c.reg(st.Send)
		} else {
			recv = int32(t.Fields[at].Off)
			at++
		}
		s.Cases = append(s.Cases, k)
		s.Recv = append(s.Recv, recv)
	}
	c.f.Selects = append(c.f.Selects, s)
	c.emit(Instr{Op: SelectOp, A: c.slot[i], B: int32(t.Size), N: int32(len(c.f.Selects) - 1)})
}

// linkname returns the name of the function of another package that a function without a body is
// linked to, by the directive above it; "" if there is none.
func linkname(fn *ssa.Function) string {
	d, ok := fn.Syntax().(*ast.FuncDecl)
	if !ok || d.Body != nil || d.Doc == nil {
		return ""
	}
	for _, line := range d.Doc.List {
		if f := strings.Fields(line.Text); len(f) == 3 && f[0] == "//go:linkname" &&
			f[1] == fn.Name() {
			return f[2]
		}
	}
	return ""
}

// why says why a function without a body cannot be explored.
func why(pkg *types.Package, name string, standard bool) string {
	if !standard {
		return fmt.Sprintf("calls %s, which needs C (cgo) or assembly, or is linked to the "+
			"runtime: that cannot be explored", name)
	}
	path := ""
	if pkg != nil {
		path = pkg.Path()
	}
	for _, w := range []struct{ prefix, reason string }{
		{"net", "programs that use the network cannot be explored; hide it behind an interface"},
		{"os/exec", "programs that start others cannot be explored; hide it behind an interface"},
		{"os/signal", "signals cannot be explored"},
		{"os", "this part of package os cannot be explored; hide it behind an interface"},
		{"syscall", "system calls cannot be explored"},
		{"reflect", "this part of reflect cannot be explored"},
		{"crypto", "cryptography cannot be explored"},
		{"testing", "this part of testing cannot be explored"},
	} {
		if path == w.prefix || strings.HasPrefix(path, w.prefix+"/") {
			return fmt.Sprintf("calls %s: %s", name, w.reason)
		}
	}
	if path != "" && std.ModeOf(path) == std.Stub {
		return fmt.Sprintf("calls %s: this package of the standard library cannot be explored",
			name)
	}
	return fmt.Sprintf("calls %s, which has no body in Go", name)
}

// returnsItself reports whether a store belongs to a return statement that names the results of
// its function, all and in their order. Go's compiler writes nothing there, so it does not count
// as a write for races.
func returnsItself(s *ssa.Store) bool {
	load, ok := s.Val.(*ssa.UnOp)
	if !ok || load.Op != token.MUL || load.X != s.Addr || !s.Pos().IsValid() {
		return false
	}
	var body *ast.BlockStmt
	var results []string
	fields := func(f *ast.FuncType) {
		if f.Results != nil {
			for _, field := range f.Results.List {
				for _, n := range field.Names {
					results = append(results, n.Name)
				}
			}
		}
	}
	switch f := s.Parent().Syntax().(type) {
	case *ast.FuncDecl:
		body = f.Body
		fields(f.Type)
	case *ast.FuncLit:
		body = f.Body
		fields(f.Type)
	}
	if body == nil || len(results) == 0 {
		return false
	}
	same := false
	ast.Inspect(body, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok && r.Return == s.Pos() &&
			len(r.Results) == len(results) {
			same = true
			for i, x := range r.Results {
				id, ok := x.(*ast.Ident)
				same = same && ok && id.Name == results[i]
			}
		}
		return true
	})
	return same
}
