package code

import (
	"math"
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

// Stored pushes the flags of a write that stores a local of type i64 ([system.Store]).
func Stored(f *wasm.Func, v wasm.Local) {
	const least, most = int64(system.Sum + 1), math.MaxUint8
	zero := int64(system.Store(0))
	f.Get(v)
	f.I64(zero)
	f.Op(wasm.I64Add)
	f.I64(opShift)
	f.Op(wasm.I64Shl)
	f.I64(Flags(true, 0, system.Unlimited))
	f.Op(wasm.I64Or)
	f.I64(Flags(true, 0, 0))
	f.Get(v)
	f.I64(zero - least)
	f.Op(wasm.I64Add)
	f.I64(most - least)
	f.Op(wasm.I64LeU, wasm.Select)
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
	b.room(f)
	f.GetGlobal(b.To)
	f.Get(loc)
	f.Op(wasm.I64ExtendI32U)
	f.Get(flags)
	f.Op(wasm.I64Or)
	f.Mem(wasm.I64Store, 0)
	b.added(f)
	return f
}

// added makes the access at To one of the step.
func (b *Builder) added(f *wasm.Func) {
	f.GetGlobal(b.To)
	f.I32(accessBytes)
	f.Op(wasm.I32Add)
	f.SetGlobal(b.To)
}

// room returns from the function if there is no room for one more access.
func (b *Builder) room(f *wasm.Func) {
	f.GetGlobal(b.To)
	f.I32(accesses + accBytes)
	f.Op(wasm.I32GeU)
	f.If()
	f.I32(1)
	f.SetGlobal(b.crowded)
	f.Op(wasm.Return)
	f.End()
}

// Begin forgets the accesses of the step before.
func (b *Builder) Begin(f *wasm.Func) {
	f.GetGlobal(b.To)
	f.SetGlobal(b.From)
}

// Shared are the accesses that all alternatives of a step begin with: from the address of the first
// one to that behind the last one.
type Shared struct{ from, end wasm.Local }

// Shared makes the locals.
func (b *Builder) Shared(f *wasm.Func) Shared {
	return Shared{f.Local(wasm.I32), f.Local(wasm.I32)}
}

// Share has the alternatives of the step begin with the accesses so far.
func (b *Builder) Share(f *wasm.Func, s Shared) {
	f.GetGlobal(b.From)
	f.Set(s.from)
	f.GetGlobal(b.To)
	f.Set(s.end)
}

// Another begins the accesses of an alternative.
func (b *Builder) Another(f *wasm.Func, s Shared) {
	if b.another == nil {
		b.another = b.makeAnother()
	}
	f.Get(s.from)
	f.Get(s.end)
	f.Call(b.another)
}

// copyAccesses adds those from one address to another to those of the step, with only some of their
// bits. It changes the first of the two.
func (b *Builder) copyAccesses(f *wasm.Func, at, end wasm.Local, bits int64) {
	until(f, at, func() { f.Get(end) }, func() {
		b.room(f)
		f.GetGlobal(b.To)
		f.Get(at)
		f.Mem(wasm.I64Load, 0)
		if bits != -1 {
			f.I64(bits)
			f.Op(wasm.I64And)
		}
		f.Mem(wasm.I64Store, 0)
		b.added(f)
		addTo(f, at, accessBytes)
	})
}

func (b *Builder) makeAnother() *wasm.Func {
	f := b.Func([]wasm.Type{wasm.I32, wasm.I32}, nil)
	const from, end = wasm.Local(0), wasm.Local(1)
	b.Begin(f)
	b.copyAccesses(f, from, end, -1)
	return f
}

// Join gives all outcomes from an address on the accesses of the step, which become ordinary ones.
func (b *Builder) Join(f *wasm.Func, outcome wasm.Local) {
	if b.join == nil {
		b.join = b.makeJoin()
	}
	f.Get(outcome)
	f.Call(b.join)
}

func (b *Builder) makeJoin() *wasm.Func {
	f := b.Func([]wasm.Type{wasm.I32}, nil)
	const at = wasm.Local(0)
	until(f, at, func() { f.GetGlobal(b.Next) }, func() {
		f.Get(at)
		b.told(f)
		f.Mem(wasm.I64Store, atAccess)
		f.Get(at)
		b.behind(f, at)
		f.Set(at)
	})
	b.each(f, at, func() {
		f.Get(at)
		f.Get(at)
		f.Mem(wasm.I64Load, 0)
		f.I64(writeBit | (writeBit - 1))
		f.Op(wasm.I64And)
		f.Mem(wasm.I64Store, 0)
	})
	return f
}

// Retried is for steps of which each alternative reads whatever one of them has accessed, those
// that are blocked, too: from an address to where the step's accesses end. It gives that to all
// outcomes from another address on, beside their own accesses, which become ordinary ones. To the
// step itself it leaves the reads, in case that it has no outcome.
func (b *Builder) Retried(f *wasm.Func, outcome, from wasm.Local) {
	if b.retried == nil {
		b.retried = b.makeRetried()
	}
	f.Get(outcome)
	f.Get(from)
	f.Call(b.retried)
}

func (b *Builder) makeRetried() *wasm.Func {
	f := b.Func([]wasm.Type{wasm.I32, wasm.I32}, nil)
	const outcome, from = wasm.Local(0), wasm.Local(1)
	end, at, last := f.Local(wasm.I32), f.Local(wasm.I32), f.Local(wasm.I32)
	f.GetGlobal(b.To)
	f.Set(end)
	reads := func() {
		if sabotage.Is("code/retried") {
			return
		}
		f.Get(from)
		f.Set(at)
		until(f, at, func() { f.Get(end) }, func() {
			f.Get(at)
			f.Mem(wasm.I32Load, 0)
			f.I64(Flags(false, 0, 0))
			b.Access(f)
			addTo(f, at, accessBytes)
		})
	}
	until(f, outcome, func() { f.GetGlobal(b.Next) }, func() {
		b.Begin(f)
		f.Get(outcome)
		f.Mem(wasm.I32Load, atAccess)
		f.Set(at)
		f.Get(outcome)
		f.Mem(wasm.I32Load, atAccess+4)
		f.Set(last)
		b.copyAccesses(f, at, last, writeBit|(writeBit-1))
		reads()
		f.Get(outcome)
		b.told(f)
		f.Mem(wasm.I64Store, atAccess)
		f.Get(outcome)
		b.behind(f, outcome)
		f.Set(outcome)
	})
	b.Begin(f)
	reads()
	return f
}

// each does something for each access of the step, whose address it sets a local to.
func (b *Builder) each(f *wasm.Func, at wasm.Local, do func()) {
	f.GetGlobal(b.From)
	f.Set(at)
	until(f, at, func() { f.GetGlobal(b.To) }, func() {
		do()
		addTo(f, at, accessBytes)
	})
}

// Wrote makes the first access of the step a write.
func (b *Builder) Wrote(f *wasm.Func) {
	f.GetGlobal(b.From)
	f.I32(1)
	f.Mem(wasm.I32Store8, 4)
}

// Looked makes ordinary reads of the step's writes: it is blocked.
func (b *Builder) Looked(f *wasm.Func) {
	if sabotage.Is("code/looked") {
		return
	}
	if b.looked == nil {
		b.looked = b.makeLooked()
	}
	f.Call(b.looked)
}

func (b *Builder) makeLooked() *wasm.Func {
	f := b.Func(nil, nil)
	at := f.Local(wasm.I32)
	b.each(f, at, func() {
		f.Get(at)
		f.Mem(wasm.I64Load, 0)
		f.I64(writeBit)
		f.Op(wasm.I64And)
		f.I64(0)
		f.Op(wasm.I64Ne)
		f.If()
		f.Get(at)
		f.I32(0)
		f.Mem(wasm.I32Store, 4)
		f.End()
	})
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

// mark is a point in what the code has recorded, to which it can go back.
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

// ahead runs a thread on behind its only outcome, which is behind a mark, as far as its limit
// allows: the outcome becomes the state that is expanded, and its step goes to a label.
func (b *Builder) ahead(f *wasm.Func, state, count, limit wasm.Local, m mark, step wasm.Label) {
	end := f.Block()
	f.Get(count)
	f.I32(1)
	f.Op(wasm.I32Ne)
	f.Get(limit)
	f.Op(wasm.I32Eqz, wasm.I32Or)
	f.BrIf(end)
	f.Get(limit)
	f.I32(1)
	f.Op(wasm.I32Sub)
	f.Set(limit)
	f.Get(m.next)
	f.Set(state)
	skip := f.Loop()
	f.Get(state)
	f.Mem(wasm.I32Load8U, atKind)
	f.I32(int32(skipped))
	f.Op(wasm.I32Eq)
	f.If()
	f.Get(state)
	b.behind(f, state)
	f.Set(state)
	f.Br(skip)
	f.End()
	f.End()
	f.Get(state)
	f.SetGlobal(b.Cur)
	f.Br(step)
	f.End()
}

// several ends a thread that is run ahead where it has several alternatives.
func (b *Builder) several(f *wasm.Func, state, t, count wasm.Local, m mark, known wasm.Label) {
	f.Get(state)
	f.I32(Source)
	f.Op(wasm.I32Ne)
	f.Get(count)
	f.I32(1)
	f.Op(wasm.I32GtS, wasm.I32And)
	f.If()
	b.goBack(f, m)
	b.bare(f, t, several, nil)
	f.Br(known)
	f.End()
}
