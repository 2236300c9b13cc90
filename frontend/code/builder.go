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
	noteBytes = 128 << 10
	outcomes  = notes + noteBytes
	outBytes  = 2 << 20
	accesses  = outcomes + outBytes
	accBytes  = 512 << 10
	tables    = accesses + accBytes

	limits = 5 << 10 // by thread, two bytes: see [system.Code].Ahead
	// The threads that are expanded: the number of the first, and behind it, of four bytes, the
	// number behind the last. They are not looked at without accesses.
	wanted = limits + 2*MaxThreads

	// reserve is room for a header for each thread, so that each can be left to the reference.
	reserve = MaxThreads * header
	// MaxThreads is how many threads a state may have.
	MaxThreads = 1 << 10
)

// An outcome in memory is a header, then the state. The address of a state is that of its header,
// so that all offsets are positive: wazero has to check an address only once ([Builder.Within]).
const (
	// State is where the first word of a state is, from its address.
	State  = header
	header = 40

	atKind    = 0  // one byte: see kind
	atAtEnd   = 1  // one byte
	atThread  = 2  // two bytes
	atWords   = 4  // four bytes
	atAlt     = 8  // eight bytes
	atChanged = 16 // eight bytes, the same as system.Successor.Changed
	atNote    = 24 // eight bytes: a number that is noted once, plus one; 0 for none
	atAccess  = 32 // four bytes: the address of its first access; four: behind the last one

	// reach is how far the words of a state are from its address at most.
	reach = State + 8*MaxWords
	// full is where no outcome may begin of which the state ends beyond it.
	full = outcomes + outBytes - reserve - State
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

	// Accesses is set if the code records what steps access. Those of the step that is being
	// executed are from From on, up to To.
	Accesses bool
	From, To wasm.Global

	crowded wasm.Global // some access was not kept
	open    *wasm.Func
	rest    *wasm.Func
	access  *wasm.Func
	looked  *wasm.Func
	another *wasm.Func
	join    *wasm.Func
	retried *wasm.Func
	at      int // the end of the tables
	// How many words a state has that is typical, and whether each one has as many.
	words int
	exact bool
}

// NewBuilder returns a module for states that mostly have so many words, or all of them if that is
// exact.
func NewBuilder(words int, exact bool) *Builder {
	b := &Builder{Module: wasm.NewModule(0), at: tables, words: words, exact: exact}
	b.Next, b.Note = b.Global(outcomes), b.Global(notes)
	b.Cur = b.Global(Source)
	b.From, b.To, b.crowded = b.Global(accesses), b.Global(accesses), b.Global(0)
	return b
}

// Source is the address of the state being expanded.
const Source = source - State

// Within has wazero know that all offsets within a state are safe from the address in a local, as
// long as that does not change. The value that is loaded is not needed, so only the check is left.
func (b *Builder) Within(f *wasm.Func, state wasm.Local) {
	f.Get(state)
	f.Mem(wasm.I32Load8U, reach-1)
	f.Op(wasm.Drop)
}

// begun is how many bytes of a state are copied at once, before it is asked how many there are.
func (b *Builder) begun() int { return min(16*((b.words+1)/2), 256) }

// copyState copies a state, of so many bytes, from an address to another one. It may copy some
// words too many: there is room.
func (b *Builder) copyState(f *wasm.Func, to, from, bytes wasm.Local) {
	n := b.begun()
	for at := 0; at < n; at += 16 {
		f.Copy16(to, from, State+at)
	}
	if b.exact && 8*b.words <= n {
		return
	}
	if b.rest == nil {
		b.rest = b.copyRest()
	}
	f.Get(bytes)
	f.I32(int32(n))
	f.Op(wasm.I32GtU)
	f.If()
	f.Get(to)
	f.Get(from)
	f.Get(bytes)
	f.Call(b.rest)
	f.End()
}

// copyRest makes the function that copies what is left of a state: to, from, its bytes.
func (b *Builder) copyRest() *wasm.Func {
	f := b.Func([]wasm.Type{wasm.I32, wasm.I32, wasm.I32}, nil)
	const to, from, bytes = wasm.Local(0), wasm.Local(1), wasm.Local(2)
	n := int32(b.begun())
	for _, l := range []wasm.Local{to, from} {
		addTo(f, l, n)
	}
	addTo(f, bytes, -n)
	loop := f.Loop()
	// The last first: where it is within the memory, so are the others, which wazero knows.
	for at := 48; at >= 0; at -= 16 {
		f.Copy16(to, from, State+at)
	}
	for _, l := range []wasm.Local{to, from} {
		addTo(f, l, 64)
	}
	f.Get(bytes)
	f.I32(64)
	f.Op(wasm.I32Sub)
	f.Tee(bytes)
	f.I32(0)
	f.Op(wasm.I32GtS)
	f.BrIf(loop)
	f.End()
	return f
}

// Open pushes the address of the outcome at Next, which stays, to which the state at an address is
// copied: without a kind. 0 means that there is no room.
func (b *Builder) Open(f *wasm.Func, from wasm.Local) {
	if b.open == nil {
		b.open = b.makeOpen()
	}
	f.Get(from)
	f.Call(b.open)
}

func (b *Builder) makeOpen() *wasm.Func {
	f := b.Func([]wasm.Type{wasm.I32}, []wasm.Type{wasm.I32})
	const from = wasm.Local(0)
	out, bytes := f.Local(wasm.I32), f.Local(wasm.I32)
	f.GetGlobal(b.Next)
	f.Set(out)
	b.Within(f, from)
	b.Within(f, out)
	f.Get(out)
	b.bytes(f, from)
	f.Tee(bytes)
	f.Op(wasm.I32Add)
	f.I32(full)
	f.Op(wasm.I32GtU)
	f.If()
	f.I32(0)
	f.Op(wasm.Return)
	f.End()
	for _, at := range []int{atChanged, atNote} {
		f.Get(out)
		f.I64(0)
		f.Mem(wasm.I64Store, at)
	}
	b.SetWords(f, out, func() { b.Words(f, from) })
	b.copyState(f, out, from, bytes)
	f.Get(out)
	return f
}

// bytes pushes how many bytes the words of a state have.
func (b *Builder) bytes(f *wasm.Func, state wasm.Local) {
	b.Words(f, state)
	f.I32(3)
	f.Op(wasm.I32Shl)
}

// Direct is an outcome that one function opens and closes, of the state at an address.
type Direct struct {
	b           *Builder
	f           *wasm.Func
	from, bytes wasm.Local
}

// Direct returns the outcomes of a function from the state at the address in a local, which does
// not change and for which Within has been called.
func (b *Builder) Direct(f *wasm.Func, from wasm.Local) *Direct {
	return &Direct{b: b, f: f, from: from, bytes: f.Local(wasm.I32)}
}

// Open copies the state, and sets a local to the address of the copy. It goes to a label if there
// is no room.
func (d *Direct) Open(state wasm.Local, none wasm.Label) {
	f := d.f
	f.GetGlobal(d.b.Next)
	f.Set(state)
	f.Get(state)
	if d.b.exact {
		f.I32(int32(8 * d.b.words))
		f.Set(d.bytes)
		f.I32(int32(full - 8*d.b.words))
	} else {
		d.b.bytes(f, d.from)
		f.Tee(d.bytes)
		f.Op(wasm.I32Add)
		f.I32(full)
	}
	f.Op(wasm.I32GtU)
	f.BrIf(none)
	d.b.Within(f, state)
	d.b.copyState(f, state, d.from, d.bytes)
}

// Close ends the outcome: a step of a thread by alternative alt, with the words that have
// changed and a number that is noted.
func (d *Direct) Close(state, thread, alt wasm.Local, changed func(), note int32) {
	f := d.f
	head := func(at int, push func()) {
		f.Get(state)
		push()
		f.Mem(wasm.I64Store, at)
	}
	head(atKind, func() {
		f.Get(thread)
		f.Op(wasm.I64ExtendI32U)
		f.I64(16)
		f.Op(wasm.I64Shl)
		if d.b.exact {
			f.I64(int64(d.b.words)<<32 | int64(moved))
			f.Op(wasm.I64Or)
			return
		}
		f.I64(int64(moved))
		f.Op(wasm.I64Or)
		f.Get(d.bytes)
		f.Op(wasm.I64ExtendI32U)
		f.I64(32 - 3)
		f.Op(wasm.I64Shl, wasm.I64Or)
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
	f.Get(state)
	if d.b.exact {
		f.I32(int32(header + 8*d.b.words))
	} else {
		f.Get(d.bytes)
		f.Op(wasm.I32Add)
		f.I32(header)
	}
	f.Op(wasm.I32Add)
	f.SetGlobal(d.b.Next)
}

// Words pushes how many words a state has.
func (b *Builder) Words(f *wasm.Func, state wasm.Local) {
	f.Get(state)
	f.Mem(wasm.I32Load, atWords)
}

// SetWords gives a state another number of words.
func (b *Builder) SetWords(f *wasm.Func, state wasm.Local, words func()) {
	f.Get(state)
	words()
	f.Mem(wasm.I32Store, atWords)
}

// Grow gives the outcome that is open at Next n words more, which are 0, and sets a local to the
// address from which the first is where that of a state is. It goes to a label if there is no room.
func (b *Builder) Grow(f *wasm.Func, state wasm.Local, n int, at wasm.Local, none wasm.Label) {
	f.Get(state)
	b.bytes(f, state)
	f.Op(wasm.I32Add)
	f.Tee(at)
	f.I32(int32(full - 8*n))
	f.Op(wasm.I32GtU)
	f.BrIf(none)
	b.Within(f, at)
	for w := range n {
		f.Get(at)
		f.I64(0)
		f.Mem(wasm.I64Store, State+8*w)
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
	f.Get(state)
	f.Get(state)
	f.Mem(wasm.I64Load, atChanged)
	mask()
	f.Op(wasm.I64Or)
	f.Mem(wasm.I64Store, atChanged)
}

// Inherit gives an outcome the changes of another one.
func (b *Builder) Inherit(f *wasm.Func, state, from wasm.Local) {
	f.Get(state)
	f.Get(from)
	f.Mem(wasm.I64Load, atChanged)
	f.Mem(wasm.I64Store, atChanged)
}

// Close ends the outcome that has been opened at Next: a step of a thread by an
// alternative.
func (b *Builder) Close(f *wasm.Func, state, thread wasm.Local, alt func()) {
	b.Within(f, state)
	f.Get(state)
	f.Get(thread)
	f.I32(16)
	f.Op(wasm.I32Shl)
	f.I32(int32(moved))
	f.Op(wasm.I32Or)
	f.Mem(wasm.I32Store, atKind)
	f.Get(state)
	alt()
	f.Mem(wasm.I64Store, atAlt)
	if b.Accesses {
		f.Get(state)
		b.told(f)
		f.Mem(wasm.I64Store, atAccess)
	}
	b.advance(f, state)
}

// Skip keeps an open outcome in memory as one that is not reported.
func (b *Builder) Skip(f *wasm.Func, state wasm.Local) {
	f.Get(state)
	f.I32(int32(skipped))
	f.Mem(wasm.I32Store, atKind)
	b.advance(f, state)
}

func (b *Builder) advance(f *wasm.Func, state wasm.Local) {
	f.Get(state)
	b.behind(f, state)
	f.SetGlobal(b.Next)
}

// behind adds to the number on the stack how many bytes an outcome has.
func (b *Builder) behind(f *wasm.Func, state wasm.Local) {
	b.bytes(f, state)
	f.Op(wasm.I32Add)
	f.I32(header)
	f.Op(wasm.I32Add)
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
	f.Op(wasm.I64ExtendI32U) // and no words
	f.Mem(wasm.I64Store, atKind)
	if b.Accesses && k == blocked {
		f.GetGlobal(b.Next)
		b.told(f)
		f.Mem(wasm.I64Store, atAccess)
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
const MaxNotes = 4096

// Crowded pushes 1 if there may be no room for what one more thread adds beside its steps.
func (b *Builder) Crowded(f *wasm.Func) {
	f.GetGlobal(b.Next)
	f.I32(outcomes + outBytes - reserve)
	f.Op(wasm.I32GtU)
	b.Noted(f)
	f.Op(wasm.I32Or)
}

// Noted pushes 1 if there may be no room for the notes of one more pass of a loop.
func (b *Builder) Noted(f *wasm.Func) {
	f.GetGlobal(b.Note)
	f.I32(notes + noteBytes - 8*MaxNotes)
	f.Op(wasm.I32GtU)
}

// Tell adds a note: a number that whoever runs the module is told, unless the thread is left to
// the reference.
func (b *Builder) Tell(f *wasm.Func, number int32) {
	f.GetGlobal(b.Note)
	f.I64(1<<32 | int64(uint32(number))) // once
	f.Mem(wasm.I64Store, 0)
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
	f.I32(Source)
	f.Set(state)
	b.SetWords(f, state, func() { f.Get(words) })
	of.Count()
	f.Set(n)
	if b.Accesses {
		atMost(f, n, wanted+4)
	}
	of.First()
	done := f.Block()
	loop := f.Loop()
	f.Get(t)
	f.Get(n)
	f.Op(wasm.I32GeU)
	f.BrIf(done)
	other := f.Block()
	if b.Accesses {
		f.Get(t)
		f.I32(0)
		f.Mem(wasm.I32Load, wanted)
		f.Op(wasm.I32LtU)
		f.BrIf(other)
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
		f.I32(Source)
		f.Tee(state)
		f.SetGlobal(b.Cur)
	}
	f.End()
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

// atMost lowers a number to one in memory, if it is larger.
func atMost(f *wasm.Func, n wasm.Local, address int) {
	limit := f.Local(wasm.I32)
	f.I32(0)
	f.Mem(wasm.I32Load, address)
	f.Set(limit)
	f.Get(n)
	f.Get(limit)
	f.Op(wasm.I32GtU)
	f.If()
	f.Get(limit)
	f.Set(n)
	f.End()
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
	b.SetPages((b.at + reach + 64<<10 - 1) / (64 << 10))
	return &Program{Info: info, accesses: b.Accesses, module: b.Encode()}
}
