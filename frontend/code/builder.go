package code

import (
	"encoding/binary"

	"cpor/frontend/code/wasm"
)

// What the memory of a module holds, from address 0 on: numbers that functions pass to each
// other, the state being expanded, lists of a few words, notes, outcomes, and tables.
const (
	// Scratch is the address of 4 KiB that the functions of a language use as they like.
	Scratch = 64
	source  = 8 << 10 // the state that is expanded, of at most MaxWords
	// MaxWords is how many words a state may have; larger ones are left to the reference.
	MaxWords = 1 << 12
	// Lists is the address of LIST bytes of working memory.
	Lists = source + 8*MaxWords
	// ListBytes is how many there are.
	ListBytes = 256 << 10
	notes     = Lists + ListBytes
	noteBytes = 64 << 10
	outcomes  = notes + noteBytes
	outBytes  = 2 << 20
	accesses  = outcomes + outBytes
	accBytes  = 512 << 10
	tables    = accesses + accBytes

	limits = 5 << 10 // by thread, two bytes: see [system.Code].Ahead

	// reserve is room for a header for each thread, so that each can be left to the reference.
	reserve = MaxThreads * header
	// MaxThreads is how many threads a state may have.
	MaxThreads = 1 << 10
)

// An outcome in memory is a header, then the state. Offsets are from the state's first byte.
const (
	header    = 40
	atKind    = -40 // one byte: see kind
	atAtEnd   = -39 // one byte
	atThread  = -38 // two bytes
	atWords   = -36 // four bytes
	atAlt     = -32 // eight bytes
	atChanged = -24 // eight bytes, the same as system.Successor.Changed
	atNote    = -16 // eight bytes: a number that is noted once, plus one; 0 for none
	atAccess  = -8  // four bytes: the address of its first access; and four: behind the last one
)

// kind is what an outcome is.
type kind byte

const (
	skipped kind = iota // it was on the way to others
	moved
	blocked
	left
	ended
	several // of a thread that is run ahead: it has several alternatives
)

// Builder makes a module that expands states.
type Builder struct {
	*wasm.Module
	// Next is where the next outcome goes, Note where the next note. Cur is the address of the
	// state that is being expanded: Source, or, ahead, an outcome.
	Next, Note, Cur wasm.Global
	// Open is a function that begins an outcome: it copies a state of that many words, at an
	// address, behind a header without a kind, and returns the address of the copy. That is at
	// Next, which stays; 0 means that there is no room.
	Open *wasm.Func // (from, words i32) i32

	// Accesses is set if the code records what steps access. Those of the step that is being
	// executed are from From on, up to To.
	Accesses bool
	From, To wasm.Global

	crowded wasm.Global // some access was not kept
	access  *wasm.Func
	looked  *wasm.Func
	another *wasm.Func
	join    *wasm.Func
	at      int // the end of the tables
}

// NewBuilder returns a module with the functions that every language needs.
func NewBuilder() *Builder {
	b := &Builder{Module: wasm.NewModule(0), at: tables}
	b.Next, b.Note = b.Global(outcomes), b.Global(notes)
	b.Cur = b.Global(source)
	b.From, b.To, b.crowded = b.Global(accesses), b.Global(accesses), b.Global(0)
	b.Open = b.open()
	return b
}

// Source is the address of the state being expanded.
const Source = source

// open makes Open.
func (b *Builder) open() *wasm.Func {
	f := b.Func([]wasm.Type{wasm.I32, wasm.I32}, []wasm.Type{wasm.I32})
	const from, words = wasm.Local(0), wasm.Local(1)
	to, end, out := f.Local(wasm.I32), f.Local(wasm.I32), f.Local(wasm.I32)
	f.GetGlobal(b.Next)
	f.I32(header)
	f.Op(wasm.I32Add)
	f.Tee(out)
	f.Tee(to)
	f.Get(words)
	f.I32(3)
	f.Op(wasm.I32Shl, wasm.I32Add)
	f.Tee(end)
	f.I32(outcomes + outBytes - reserve)
	f.Op(wasm.I32GtU)
	f.If()
	f.I32(0)
	f.Op(wasm.Return)
	f.End()
	f.Get(out)
	f.I32(header)
	f.Op(wasm.I32Sub)
	f.I64(0)
	f.Mem(wasm.I64Store, header+atChanged)
	f.Get(out)
	f.I32(header)
	f.Op(wasm.I32Sub)
	f.I64(0)
	f.Mem(wasm.I64Store, header+atNote)
	f.Get(out)
	f.I32(header)
	f.Op(wasm.I32Sub)
	f.Get(words)
	f.Mem(wasm.I32Store, header+atWords)
	copyWords(f, to, from, end)
	f.Get(out)
	return f
}

// copyWords copies words to an address up to another one. It changes the locals, and may copy
// up to seven words too many: there is room.
func copyWords(f *wasm.Func, to, from, end wasm.Local) {
	loop := f.Loop()
	// The last first: where it is within the memory, so are the others, which wazero knows.
	for at := 48; at >= 0; at -= 16 {
		f.Copy16(to, from, at)
	}
	for _, l := range []wasm.Local{from, to} {
		f.Get(l)
		f.I32(64)
		f.Op(wasm.I32Add)
		f.Set(l)
	}
	f.Get(to)
	f.Get(end)
	f.Op(wasm.I32LtU)
	f.BrIf(loop)
	f.End()
}

// Direct is an outcome that one function opens and closes, of the state at Cur.
type Direct struct {
	b         *Builder
	f         *wasm.Func
	end, from wasm.Local
}

// Direct makes the locals for outcomes of a function.
func (b *Builder) Direct(f *wasm.Func) *Direct {
	return &Direct{b: b, f: f, end: f.Local(wasm.I32), from: f.Local(wasm.I32)}
}

// Open copies the state at Cur behind a header, and sets a local to the address of the
// copy. It goes to a label if there is no room.
func (d *Direct) Open(state wasm.Local, full wasm.Label) {
	f := d.f
	f.GetGlobal(d.b.Next)
	f.I32(header)
	f.Op(wasm.I32Add)
	f.Tee(state)
	f.GetGlobal(d.b.Cur)
	f.Tee(d.from)
	f.I32(-atWords)
	f.Op(wasm.I32Sub)
	f.Mem(wasm.I32Load, 0)
	f.I32(3)
	f.Op(wasm.I32Shl, wasm.I32Add)
	f.Tee(d.end)
	f.I32(outcomes + outBytes - reserve)
	f.Op(wasm.I32GtU)
	f.BrIf(full)
	copyWords(f, state, d.from, d.end)
	f.GetGlobal(d.b.Next)
	f.I32(header)
	f.Op(wasm.I32Add)
	f.Set(state)
}

// Close ends the outcome: a step of a thread by alternative alt, with the words that have
// changed and a number that is noted.
func (d *Direct) Close(state, thread, alt wasm.Local, changed func(), note int32) {
	f := d.f
	head := func(at int, push func()) {
		f.GetGlobal(d.b.Next)
		push()
		f.Mem(wasm.I64Store, header+at)
	}
	head(atKind, func() {
		f.Get(d.end)
		f.Get(state)
		f.Op(wasm.I32Sub)
		f.I32(3)
		f.Op(wasm.I32ShrU, wasm.I64ExtendI32U)
		f.I64(32)
		f.Op(wasm.I64Shl)
		f.Get(thread)
		f.I32(16)
		f.Op(wasm.I32Shl)
		f.I32(int32(moved))
		f.Op(wasm.I32Or, wasm.I64ExtendI32U, wasm.I64Or)
	})
	head(atAlt, func() {
		f.Get(alt)
		f.Op(wasm.I64ExtendI32U)
	})
	head(atChanged, changed)
	head(atNote, func() { f.I64(int64(note) + 1) })
	if d.b.Accesses {
		head(atAccess, func() { d.b.told(f) })
	}
	f.Get(d.end)
	f.SetGlobal(d.b.Next)
}

// field pushes the address of a header's field, which Mem then has the offset 0 for.
func field(f *wasm.Func, state wasm.Local, at int) {
	f.Get(state)
	f.I32(int32(at))
	f.Op(wasm.I32Add)
}

// Words pushes how many words the state of an outcome has.
func (b *Builder) Words(f *wasm.Func, state wasm.Local) {
	field(f, state, atWords)
	f.Mem(wasm.I32Load, 0)
}

// SetWords gives an outcome's state another number of words.
func (b *Builder) SetWords(f *wasm.Func, state wasm.Local, words func()) {
	field(f, state, atWords)
	words()
	f.Mem(wasm.I32Store, 0)
}

// Grow gives the outcome that is open at Next n words more, which are 0, and sets a local to the
// address of the first. It goes to a label if there is no room.
func (b *Builder) Grow(f *wasm.Func, state wasm.Local, n int, at wasm.Local, full wasm.Label) {
	f.Get(state)
	b.Words(f, state)
	f.I32(3)
	f.Op(wasm.I32Shl, wasm.I32Add)
	f.Tee(at)
	f.I32(int32(outcomes + outBytes - reserve - 8*n))
	f.Op(wasm.I32GtU)
	f.BrIf(full)
	for w := range n {
		f.Get(at)
		f.I64(0)
		f.Mem(wasm.I64Store, 8*w)
	}
	b.SetWords(f, state, func() {
		b.Words(f, state)
		f.I32(int32(n))
		f.Op(wasm.I32Add)
	})
}

// Changed adds to the words of an outcome that may have changed those whose bits mask
// pushes.
func (b *Builder) Changed(f *wasm.Func, state wasm.Local, mask func()) {
	field(f, state, atChanged)
	field(f, state, atChanged)
	f.Mem(wasm.I64Load, 0)
	mask()
	f.Op(wasm.I64Or)
	f.Mem(wasm.I64Store, 0)
}

// Inherit gives an outcome the changes of another one.
func (b *Builder) Inherit(f *wasm.Func, state, from wasm.Local) {
	field(f, state, atChanged)
	field(f, from, atChanged)
	f.Mem(wasm.I64Load, 0)
	f.Mem(wasm.I64Store, 0)
}

// Close ends the outcome that has been opened at Next: a step of a thread by an
// alternative.
func (b *Builder) Close(f *wasm.Func, state, thread wasm.Local, alt func()) {
	field(f, state, atKind)
	f.Get(thread)
	f.I32(16)
	f.Op(wasm.I32Shl)
	f.I32(int32(moved))
	f.Op(wasm.I32Or)
	f.Mem(wasm.I32Store, 0)
	field(f, state, atAlt)
	alt()
	f.Mem(wasm.I64Store, 0)
	if b.Accesses {
		field(f, state, atAccess)
		b.told(f)
		f.Mem(wasm.I64Store, 0)
	}
	b.advance(f, state)
}

// Skip keeps an open outcome in memory as one that is not reported.
func (b *Builder) Skip(f *wasm.Func, state wasm.Local) {
	field(f, state, atKind)
	f.I32(int32(skipped))
	f.Mem(wasm.I32Store, 0)
	b.advance(f, state)
}

func (b *Builder) advance(f *wasm.Func, state wasm.Local) {
	b.Words(f, state)
	f.I32(3)
	f.Op(wasm.I32Shl)
	f.Get(state)
	f.Op(wasm.I32Add)
	f.SetGlobal(b.Next)
}

// bare adds an outcome without a state. flags pushes what comes with its kind.
func (b *Builder) bare(f *wasm.Func, thread wasm.Local, k kind, flags func()) {
	f.GetGlobal(b.Next)
	f.Get(thread)
	f.I32(16)
	f.Op(wasm.I32Shl)
	f.I32(int32(k))
	f.Op(wasm.I32Or)
	if flags != nil {
		flags()
		f.I32(8)
		f.Op(wasm.I32Shl, wasm.I32Or)
	}
	f.Mem(wasm.I32Store, 0)
	f.GetGlobal(b.Next)
	f.I32(0)
	f.Mem(wasm.I32Store, header+atWords)
	if b.Accesses && k == blocked {
		f.GetGlobal(b.Next)
		b.told(f)
		f.Mem(wasm.I64Store, header+atAccess)
	}
	f.GetGlobal(b.Next)
	f.I32(header)
	f.Op(wasm.I32Add)
	f.SetGlobal(b.Next)
}

// Blocked adds the outcome of a blocked thread; atEnd pushes 1 if it may wait forever, else 0.
func (b *Builder) Blocked(f *wasm.Func, thread wasm.Local, atEnd func()) {
	b.bare(f, thread, blocked, atEnd)
}

// left leaves a thread to the reference: what is behind a mark is taken back. There has to be
// room for a header, which Open leaves.
func (b *Builder) left(f *wasm.Func, thread wasm.Local, m mark) {
	b.goBack(f, m)
	b.bare(f, thread, left, nil)
}

// Ended adds the outcome of a thread that has ended.
func (b *Builder) Ended(f *wasm.Func, thread wasm.Local) { b.bare(f, thread, ended, nil) }

// MaxNotes is how many notes there is room for unless it is crowded.
const MaxNotes = 512

// Crowded pushes 1 if there may be no room for what one more thread adds beside its steps.
func (b *Builder) Crowded(f *wasm.Func) {
	f.GetGlobal(b.Next)
	f.I32(outcomes + outBytes - reserve)
	f.Op(wasm.I32GtU)
	f.GetGlobal(b.Note)
	f.I32(notes + noteBytes - 8*MaxNotes)
	f.Op(wasm.I32GtU, wasm.I32Or)
}

// Tell adds a note: a number that whoever runs the module is told, unless the thread is left to
// the reference.
func (b *Builder) Tell(f *wasm.Func, note func()) {
	f.GetGlobal(b.Note)
	note()
	f.Mem(wasm.I32Store, 0)
	f.GetGlobal(b.Note)
	f.I32(1)
	f.Mem(wasm.I32Store, 4)
	f.GetGlobal(b.Note)
	f.I32(8)
	f.Op(wasm.I32Add)
	f.SetGlobal(b.Note)
}

// Multiply has each note from an address, which it changes, to another one count so many times.
func (b *Builder) Multiply(f *wasm.Func, from, to, times wasm.Local) {
	until(f, from, func() { f.Get(to) }, func() {
		f.Get(from)
		f.Get(times)
		f.Mem(wasm.I32Store, 4)
		addTo(f, from, 8)
	})
}

// until does something, which changes an address, until that has reached the end.
func until(f *wasm.Func, at wasm.Local, end, do func()) {
	done := f.Block()
	next := f.Loop()
	f.Get(at)
	end()
	f.Op(wasm.I32GeU)
	f.BrIf(done)
	do()
	f.Br(next)
	f.End()
	f.End()
}

// addTo adds to an address.
func addTo(f *wasm.Func, at wasm.Local, n int32) {
	f.Get(at)
	f.I32(n)
	f.Op(wasm.I32Add)
	f.Set(at)
}

// Table puts numbers into the memory and returns the address of the first.
func (b *Builder) Table(numbers []int32) int {
	at := b.at
	var bytes []byte
	for _, n := range numbers {
		bytes = binary.LittleEndian.AppendUint32(bytes, uint32(n))
	}
	b.Data(at, bytes)
	b.at += (len(bytes) + 7) &^ 7
	return at
}

// What the function that expands a thread returns if it is not the number of its outcomes. 0 means
// that the thread is blocked.
const (
	IsLeft  = -1 // to the reference
	IsEnded = -2
)

// Threads is how a language expands the threads of the state at Source, in the function that
// [Builder.Expand] makes. Each field writes code.
type Threads struct {
	Count  func() // pushes how many there are
	First  func() // goes to the first thread
	Next   func() // goes to the next one
	Expand func() // adds the outcomes of the thread, and pushes their number, IsLeft or IsEnded
	AtEnd  func() // pushes 1 if the thread, which is blocked, may wait forever, else 0
}

// Expand makes the function for Finish. threads gets the locals that have the state's address
// and the thread's number.
func (b *Builder) Expand(threads func(f *wasm.Func, state, t wasm.Local) Threads) *wasm.Func {
	f := b.Func([]wasm.Type{wasm.I32}, nil)
	const words = wasm.Local(0)
	var l [5]wasm.Local
	for i := range l {
		l[i] = f.Local(wasm.I32)
	}
	state, t, n, count, limit := l[0], l[1], l[2], l[3], l[4]
	m := b.newMark(f)
	of := threads(f, state, t)
	f.I32(source)
	f.Set(state)
	b.SetWords(f, state, func() { f.Get(words) })
	of.Count()
	f.Set(n)
	of.First()
	done := f.Block()
	loop := f.Loop()
	f.Get(t)
	f.Get(n)
	f.Op(wasm.I32GeU)
	f.BrIf(done)
	if b.Accesses {
		f.Get(t)
		f.I32(1)
		f.Op(wasm.I32Shl)
		f.Mem(wasm.I32Load16U, limits)
		f.Set(limit)
	}
	step := f.Loop()
	b.setMark(f, m)
	known := f.Block()
	trouble := f.Block()
	b.Crowded(f)
	f.BrIf(trouble)
	of.Expand()
	f.Set(count)
	if b.Accesses {
		f.GetGlobal(b.crowded)
		f.BrIf(trouble)
		b.several(f, state, t, count, m, known)
	}
	f.Get(count)
	f.I32(0)
	f.Op(wasm.I32GtS)
	f.BrIf(known)
	f.Get(count)
	f.Op(wasm.I32Eqz)
	f.If()
	b.Blocked(f, t, of.AtEnd)
	f.Br(known)
	f.End()
	f.Get(count)
	f.I32(IsEnded)
	f.Op(wasm.I32Ne)
	f.BrIf(trouble)
	b.Ended(f, t)
	f.Br(known)
	f.End()
	b.left(f, t, m)
	f.I32(IsLeft)
	f.Set(count)
	f.End()
	if b.Accesses {
		b.ahead(f, state, count, limit, m, step)
	}
	f.End()
	if b.Accesses {
		f.I32(source)
		f.Tee(state)
		f.SetGlobal(b.Cur)
	}
	of.Next()
	f.Get(t)
	f.I32(1)
	f.Op(wasm.I32Add)
	f.Set(t)
	f.Br(loop)
	f.End()
	f.End()
	return f
}

// Finish makes a program of the module. expand(words i32) expands the state at Source.
func (b *Builder) Finish(expand *wasm.Func, info Info) *Program {
	f := b.Func([]wasm.Type{wasm.I32}, []wasm.Type{wasm.I64})
	f.I32(outcomes)
	f.SetGlobal(b.Next)
	f.I32(notes)
	f.SetGlobal(b.Note)
	f.I32(accesses)
	f.SetGlobal(b.To)
	f.Get(0)
	f.Call(expand)
	f.GetGlobal(b.Next)
	f.Op(wasm.I64ExtendI32U)
	f.GetGlobal(b.Note)
	f.Op(wasm.I64ExtendI32U)
	f.I64(32)
	f.Op(wasm.I64Shl, wasm.I64Or)
	b.Export("expand", f)
	b.SetPages((b.at + 64<<10 - 1) / (64 << 10))
	return &Program{Info: info, accesses: b.Accesses, module: b.Encode()}
}
