package code

import (
	"unsafe"

	"cpor/frontend/code/wasm"
	"cpor/system"
	"cpor/testkit/sabotage"
)

// The accesses of steps are in memory as [system.Access] values are: the location, then a byte
// that is 1 for a write, the operation, and two bytes for its room.
const (
	accessBytes = 8
	writeBit    = 1 << 32
	opShift     = 40
	roomShift   = 48
)

// An Access in Go has to be what the code writes.
var _ = [1]struct{}{}[unsafe.Sizeof(system.Access{})-accessBytes]

// Flags are what an access is beside its location, as [Builder.Access] takes it.
func Flags(write bool, op system.Op, room uint16) int64 {
	v := uint64(op)<<opShift | uint64(room)<<roomShift
	if write {
		v |= writeBit
	}
	return int64(v)
}

// FlagsOf pushes the flags of an access with an operation and a room, which are in locals of type
// i64.
func FlagsOf(f *wasm.Func, write bool, op, room wasm.Local) {
	f.I64(Flags(write, 0, 0))
	f.Get(op)
	f.I64(opShift)
	f.Op(wasm.I64Shl, wasm.I64Or)
	f.Get(room)
	f.I64(roomShift)
	f.Op(wasm.I64Shl, wasm.I64Or)
}

// Access adds an access to those of the step: its location, of type i32, and its flags, of type
// i64, are on the stack. Several accesses to a location become an ordinary one.
func (b *Builder) Access(f *wasm.Func) {
	if b.access == nil {
		b.access = b.makeAccess()
	}
	f.Call(b.access)
}

func (b *Builder) makeAccess() *wasm.Func {
	f := b.Func([]wasm.Type{wasm.I32, wasm.I64}, nil)
	const loc, flags = wasm.Local(0), wasm.Local(1)
	at := f.Local(wasm.I32)
	f.GetGlobal(b.To)
	f.Set(at)
	if !sabotage.Is("code/twice") {
		found := f.Block()
		next := f.Loop()
		f.Get(at)
		f.GetGlobal(b.From)
		f.Op(wasm.I32LeU)
		f.BrIf(found)
		f.Get(at)
		f.I32(accessBytes)
		f.Op(wasm.I32Sub)
		f.Tee(at)
		f.Mem(wasm.I32Load, 0)
		f.Get(loc)
		f.Op(wasm.I32Ne)
		f.BrIf(next)
		f.Get(at)
		f.Get(at)
		f.Mem(wasm.I64Load, 0)
		f.Get(flags)
		f.Op(wasm.I64Or)
		f.I64(writeBit | (writeBit - 1))
		f.Op(wasm.I64And)
		f.Mem(wasm.I64Store, 0)
		f.Op(wasm.Return)
		f.End()
		f.End()
	}
	f.GetGlobal(b.To)
	f.I32(accesses + accBytes)
	f.Op(wasm.I32GeU)
	f.If()
	f.I32(1)
	f.SetGlobal(b.crowded)
	f.Op(wasm.Return)
	f.End()
	f.GetGlobal(b.To)
	f.Get(loc)
	f.Op(wasm.I64ExtendI32U)
	f.Get(flags)
	f.Op(wasm.I64Or)
	f.Mem(wasm.I64Store, 0)
	f.GetGlobal(b.To)
	f.I32(accessBytes)
	f.Op(wasm.I32Add)
	f.SetGlobal(b.To)
	return f
}

// Begin forgets the accesses of the step before.
func (b *Builder) Begin(f *wasm.Func) {
	f.GetGlobal(b.To)
	f.SetGlobal(b.From)
}

// Looked makes ordinary reads of the step's writes: it is blocked.
func (b *Builder) Looked(f *wasm.Func) {
	if sabotage.Is("code/looked") {
		return
	}
	if b.demoteFunc == nil {
		b.demoteFunc = b.makeLooked()
	}
	f.Call(b.demoteFunc)
}

func (b *Builder) makeLooked() *wasm.Func {
	f := b.Func(nil, nil)
	at := f.Local(wasm.I32)
	f.GetGlobal(b.From)
	f.Set(at)
	done := f.Block()
	next := f.Loop()
	f.Get(at)
	f.GetGlobal(b.To)
	f.Op(wasm.I32GeU)
	f.BrIf(done)
	f.Get(at)
	f.Mem(wasm.I64Load, 0)
	f.I64(writeBit)
	f.Op(wasm.I64And, wasm.I64Eqz)
	f.If()
	f.Else()
	f.Get(at)
	f.I32(0)
	f.Mem(wasm.I32Store, 4)
	f.End()
	f.Get(at)
	f.I32(accessBytes)
	f.Op(wasm.I32Add)
	f.Set(at)
	f.Br(next)
	f.End()
	f.End()
	return f
}

// told pushes, as i64, where the step's accesses are, for its header.
func (b *Builder) told(f *wasm.Func) {
	f.GetGlobal(b.To)
	f.Op(wasm.I64ExtendI32U)
	f.I64(32)
	f.Op(wasm.I64Shl)
	f.GetGlobal(b.From)
	f.Op(wasm.I64ExtendI32U, wasm.I64Or)
}

// mark is a point in what the code has told, to which it can go back.
type mark struct{ next, note, access wasm.Local }

func (b *Builder) newMark(f *wasm.Func) mark {
	return mark{f.Local(wasm.I32), f.Local(wasm.I32), f.Local(wasm.I32)}
}

func (b *Builder) setMark(f *wasm.Func, m mark) {
	f.GetGlobal(b.Next)
	f.Set(m.next)
	f.GetGlobal(b.Note)
	f.Set(m.note)
	f.GetGlobal(b.To)
	f.Set(m.access)
}

func (b *Builder) goBack(f *wasm.Func, m mark) {
	f.Get(m.next)
	f.SetGlobal(b.Next)
	f.Get(m.note)
	f.SetGlobal(b.Note)
	f.Get(m.access)
	f.SetGlobal(b.To)
	f.I32(0)
	f.SetGlobal(b.crowded)
}

// ahead runs thread t on behind its first step, which is behind a mark, as far as its limit allows:
// each next step is one behind the last outcome. It ends at a step that has several alternatives.
// at is the local with the address of the state that is expanded.
func (b *Builder) ahead(f *wasm.Func, of Threads, at, t, count wasm.Local, m mark) {
	limit := f.Local(wasm.I32)
	f.Get(t)
	f.I32(1)
	f.Op(wasm.I32Shl)
	f.Mem(wasm.I32Load16U, limits)
	f.Set(limit)
	end := f.Block()
	f.Get(count)
	f.I32(1)
	f.Op(wasm.I32Ne)
	f.Get(limit)
	f.Op(wasm.I32Eqz, wasm.I32Or)
	f.BrIf(end)
	stop := f.Block()
	step := f.Loop()
	// The outcome behind the mark becomes the state that is expanded.
	f.Get(m.next)
	f.I32(header)
	f.Op(wasm.I32Add)
	f.Set(at)
	skip := f.Loop()
	field(f, at, atKind)
	f.Mem(wasm.I32Load8U, 0)
	f.I32(int32(skipped))
	f.Op(wasm.I32Eq)
	f.If()
	f.Get(at)
	f.I32(header)
	f.Op(wasm.I32Add)
	b.Words(f, at)
	f.I32(3)
	f.Op(wasm.I32Shl, wasm.I32Add)
	f.Set(at)
	f.Br(skip)
	f.End()
	f.End()
	f.Get(at)
	f.SetGlobal(b.Cur)
	b.setMark(f, m)
	trouble := f.Block()
	b.Crowded(f)
	f.BrIf(trouble)
	of.Expand()
	f.Set(count)
	f.GetGlobal(b.crowded)
	f.BrIf(trouble)
	f.Get(limit)
	f.I32(1)
	f.Op(wasm.I32Sub)
	f.Set(limit)
	f.Get(count)
	f.I32(1)
	f.Op(wasm.I32Eq)
	f.If()
	f.Get(limit)
	f.BrIf(step)
	f.Br(stop)
	f.End()
	f.Get(count)
	f.Op(wasm.I32Eqz)
	f.If()
	b.Blocked(f, t, of.AtEnd)
	f.Br(stop)
	f.End()
	f.Get(count)
	f.I32(IsEnded)
	f.Op(wasm.I32Eq)
	f.If()
	b.Ended(f, t)
	f.Br(stop)
	f.End()
	f.Get(count)
	f.I32(1)
	f.Op(wasm.I32GtS)
	f.If()
	b.goBack(f, m)
	b.bare(f, t, several, nil)
	f.Br(stop)
	f.End()
	f.End()
	b.left(f, t, m)
	f.End()
	f.End()
	f.I32(source)
	f.Tee(at)
	f.SetGlobal(b.Cur)
	f.End()
}
