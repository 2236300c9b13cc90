package machine

import (
	"slices"

	"cpor/frontend/code"
	"cpor/frontend/code/wasm"
	"cpor/frontend/model/compile"
	"cpor/testkit/sabotage"
)

// The emitter compiles a system to a WebAssembly module (package code). It has for each point a
// function that executes the segment there: each alternative from the beginning, on a copy of
// the state. Registers become local variables, constant ones numbers, and the jumps of a
// segment branches ([code.Blocks]).
//
// Where an instruction is unknown to the emitter or fails, the thread is left to the machine.
type emitter struct {
	*code.Builder
	sys *System
	p   *compile.Program

	points wasm.Sig

	places, kinds     int // tables: of the places of locations in bits; and of their types
	loadAny, storeAny *wasm.Func
	following         *wasm.Func
	rotations         map[int]*wasm.Func
	left              bool // something of the point is left to the machine
}

const (
	// atChoices is the address of the choices of the alternative: digit and radix of each.
	atChoices  = code.Scratch
	maxChoices = 64
	// atMessages is the address of what is moved in a buffer.
	atMessages = atChoices + 8*maxChoices
	maxRing    = 256 // values in all slots together

	maxBlocks   = 1 << 11 // of a segment
	maxPasses   = 1 << 12 // of loops in a transition: the machine looks for those without end
	maxNumbers  = 1 << 14 // locations that an address is one of, to be distinguished
	maxChannels = 16      // that a reference may be
)

// emit returns the system as a module, nil if it is nothing that code can execute. With accesses,
// the code tells them (emitaccess.go).
func emit(s *System, accesses bool) *code.Program {
	p := s.p
	if s.length(1) > code.MaxWords/2 || s.maxThreads > code.MaxThreads || len(s.slots) == 0 {
		return nil
	}
	e := &emitter{Builder: code.NewBuilder(s.length(s.threads), !s.dynamic), sys: s, p: p,
		rotations: map[int]*wasm.Func{}}
	e.Accesses = accesses
	i32 := func(n int) []wasm.Type { return slices.Repeat([]wasm.Type{wasm.I32}, n) }
	e.points = e.Sig(i32(3), i32(1)) // thread, offset and shift of its slot: how many outcomes
	// By program counter.
	constant := func(v int32) *wasm.Func {
		f := e.Func(i32(3), i32(1))
		f.I32(v)
		return f
	}
	nobody, ended := constant(code.IsLeft), constant(code.IsEnded)
	e.Elem(nobody)
	ends := []int32{0}
	lefts, places := 0, 0
	for i := range p.Points {
		pt := &p.Points[i]
		end := int32(0)
		if pt.End || sabotage.Is("code/end") {
			end = 1
		}
		ends = append(ends, end)
		if pt.Ended {
			e.Elem(ended)
			continue
		}
		places++
		e.left = false
		f := e.Func(i32(3), i32(1))
		e.point(f, pt, i)
		e.Elem(f)
		if e.left {
			lefts++
		}
	}
	return e.Finish(e.expand(e.Table(ends)), code.Info{Places: places, Left: lefts})
}

// expand makes the function that expands a state.
func (e *emitter) expand(ends int) *wasm.Func {
	s := e.sys
	return e.Expand(func(f *wasm.Func, state, t wasm.Local) code.Threads {
		slot, shift, pc := f.Local(wasm.I32), f.Local(wasm.I32), f.Local(wasm.I32)
		return code.Threads{
			Count: func() {
				if s.dynamic {
					f.Get(state)
					f.Mem(wasm.I32Load, code.State+8*s.count)
				} else {
					f.I32(int32(s.threads))
				}
			},
			First: func() {
				f.I32(int32(8 * s.base))
				f.Set(slot)
			},
			Next: func() { e.nextSlot(f, slot, shift) },
			Expand: func() {
				e.counter(f, state, slot, shift)
				f.Tee(pc)
				f.I32(int32(len(e.p.Points)))
				f.Op(wasm.I32GtU)
				f.IfValue(wasm.I32)
				f.I32(code.IsEnded)
				f.Else()
				f.Get(t)
				f.Get(slot)
				f.Get(shift)
				f.Get(pc)
				f.CallIndirect(e.points)
				f.End()
			},
			AtEnd: func() {
				f.Get(pc)
				f.I32(2)
				f.Op(wasm.I32Shl)
				f.Mem(wasm.I32Load, ends)
			},
		}
	})
}

// nextSlot moves on to the slot of the next thread.
func (e *emitter) nextSlot(f *wasm.Func, slot, shift wasm.Local) {
	s := e.sys
	words := int32(8 * s.slotWords)
	if s.perWord > 1 {
		f.Get(shift)
		f.I32(int32(s.p.SlotBits))
		f.Op(wasm.I32Add)
		f.Tee(shift)
		f.I32(int32(s.perWord * s.p.SlotBits))
		f.Op(wasm.I32GeU)
		f.If()
		f.I32(0)
		f.Set(shift)
		words = 8
	}
	f.Get(slot)
	f.I32(words)
	f.Op(wasm.I32Add)
	f.Set(slot)
	if s.perWord > 1 {
		f.End()
	}
}

// counter pushes the program counter of the thread with a slot.
func (e *emitter) counter(f *wasm.Func, state, slot, shift wasm.Local) {
	s := e.sys
	f.Get(state)
	f.Get(slot)
	f.Op(wasm.I32Add)
	f.Mem(wasm.I64Load, code.State)
	f.Get(shift)
	f.I32(int32(s.pcShift))
	f.Op(wasm.I32Add, wasm.I64ExtendI32U, wasm.I64ShrU)
	f.I64(int64(s.pcMask))
	f.Op(wasm.I64And, wasm.I32WrapI64)
}

// locTable returns the address of the table of the places of locations in bits.
func (e *emitter) locTable() int {
	if e.places == 0 {
		list := make([]int32, len(e.sys.locs))
		for i := range list {
			list[i] = int32(e.location(i).At())
		}
		e.places = e.Table(list)
	}
	return e.places
}

// location is where a location is in the state.
func (e *emitter) location(i int) code.Field {
	l := &e.sys.locs[i]
	return code.Field{Word: int(l.word), Shift: int(l.shift), Bits: 64 - int(l.down),
		Signed: l.signed}
}

// slotField is where a field is in a slot.
func slotField(d compile.Field) code.Field {
	return code.Field{Word: int(d.Word), Shift: int(d.Shift), Bits: int(d.Bits), Signed: d.Signed}
}

// fn is the function of a point that is being made. Its parameters are the thread, and offset and
// shift of its slot.
type fn struct {
	code.Values
	e     *emitter
	pt    *compile.Point
	point int
	d     *code.Direct

	source  wasm.Local // the address of the state
	cur     wasm.Local // of its copy
	at      wasm.Local // of the slot there
	shift   wasm.Local // of the slot, as i64; unused if there is none
	own     wasm.Local // the bit of the slot's first word among those that have changed
	changed wasm.Local
	count   wasm.Local
	alt     wasm.Local // the number of the alternative
	rest    wasm.Local // what is left of it
	choices wasm.Local // how many there have been
	weight  wasm.Local // the product of their radices
	note    wasm.Local
	passes  wasm.Local
	trouble wasm.Label
	blocked wasm.Label
	over    wasm.Label // the alternative has been executed
	regs    map[int32]wasm.Local
	rings   map[int]bool // that the segment may change

	resumptions []*resumption
	choosing    *resumption // the instruction at hand; nil if alternatives cannot resume there
	resumed     wasm.Local  // the index of the one at which alternatives resume, or 0
	start       wasm.Local  // where what is noted begins
	shared      wasm.Local  // where what all alternatives note ends

	// Of the block that is being made:
	words  uint64          // that it writes for sure
	consts map[int32]int64 // registers whose values are known
	spans  map[int32][]int // registers with an address: what it can be
}

const self, slotAt, slotShift = wasm.Local(0), wasm.Local(1), wasm.Local(2)

// point makes the function of a point.
func (e *emitter) point(f *wasm.Func, pt *compile.Point, number int) {
	blocks, cyclic := e.blocks(pt.Entry)
	resumptions := e.resumptions(pt, blocks)
	if resumptions != nil {
		blocks, cyclic = e.withResumptions(pt, resumptions)
	}
	if pt.Timeout || blocks == nil || e.notes(blocks) > code.MaxNotes {
		e.left = true
		f.I32(code.IsLeft)
		return
	}
	x := &fn{Values: code.Values{Func: f, Type: wasm.I64}, e: e, pt: pt, point: number,
		regs: map[int32]wasm.Local{}, rings: map[int]bool{}, resumptions: resumptions}
	for _, l := range []*wasm.Local{&x.source, &x.cur, &x.at, &x.count, &x.alt, &x.rest,
		&x.choices, &x.note, &x.passes, &x.resumed, &x.start, &x.shared} {
		*l = f.Local(wasm.I32)
	}
	for _, l := range []*wasm.Local{&x.shift, &x.own, &x.changed, &x.weight} {
		*l = f.Local(wasm.I64)
	}
	x.GetGlobal(e.Cur)
	x.Set(x.source)
	e.Within(f, x.source)
	x.d = e.Direct(f, x.source)
	if x.packed() {
		x.Get(slotShift)
		x.Op(wasm.I64ExtendI32U)
		x.Set(x.shift)
	}
	x.I64(1)
	x.Get(slotAt)
	x.I32(3)
	x.Op(wasm.I32ShrU, wasm.I64ExtendI32U, wasm.I64Shl)
	x.Set(x.own)
	if cyclic {
		x.I32(maxPasses)
		x.Set(x.passes)
	}
	x.trouble = f.Block()
	x.GetGlobal(e.Note)
	x.Set(x.start)
	retried := x.retries()
	var again wasm.Label
	if pt.Choice {
		again = f.Loop()
		e.Crowded(f)
		x.BrIf(x.trouble)
		x.Get(x.alt)
		x.Set(x.rest)
		x.I32(0)
		x.Set(x.choices)
		x.I64(1)
		x.Set(x.weight)
	}
	x.GetGlobal(e.Note)
	x.Set(x.note)
	x.d.Open(x.cur, x.trouble)
	x.Get(x.cur)
	x.Get(slotAt)
	x.Op(wasm.I32Add)
	x.Set(x.at)
	e.Within(f, x.at)
	x.I64(0)
	x.Set(x.changed)
	x.begin()
	x.unlessResumed(x.loads)
	x.over = f.Block()
	x.blocked = f.Block()
	succ := make([][]int, len(blocks))
	for i := range blocks {
		succ[i] = blocks[i].succ
	}
	pass := func() {
		e.Within(f, x.cur)
		e.Within(f, x.at)
	}
	if !code.Blocks(f, succ, pass, func(i int, jump func(to int)) { x.block(blocks, i, jump) }) {
		x.beyond()
	}
	f.End()
	if e.Accesses {
		e.Looked(f)
	}
	if pt.Thread.Observer { // it has looked, and the invariant holds
		e.Tell(f, int32(number))
	} else if !sabotage.Is("code/blocked") {
		x.Get(x.note)
		x.SetGlobal(e.Note)
	}
	f.End()
	if pt.Choice {
		x.Get(x.choices)
		x.Call(e.followingAlt())
		x.Tee(x.alt)
		x.BrIf(again)
		f.End()
	}
	retried()
	x.multiply()
	x.Get(x.count)
	x.Op(wasm.Return)
	f.End()
	x.I32(code.IsLeft)
}

// packed tells whether several slots share a word.
func (x *fn) packed() bool { return x.e.sys.perWord > 1 }

// temp returns a local of type i32, and temp64 one of type i64; done gives them back.
func (x *fn) temp() wasm.Local   { return x.Temp(wasm.I32) }
func (x *fn) temp64() wasm.Local { return x.Temp(wasm.I64) }

func (x *fn) done(l ...wasm.Local)   { x.Release(wasm.I32, l...) }
func (x *fn) done64(l ...wasm.Local) { x.Release(wasm.I64, l...) }

// fail leaves the thread to the machine.
func (x *fn) fail() { x.Br(x.trouble) }

// beyond is fail at something that the emitter does not know.
func (x *fn) beyond() {
	x.e.left = true
	x.fail()
}

// segment is a block of a segment: instructions that are executed one after the other.
type segment struct {
	from, to int   // addresses; the last is at to-1
	succ     []int // the blocks that can follow, as the last instruction names them; then the next
}

// blocks returns the blocks of the code that begins at an address, in an order in which all
// jumps are forward but those of loops; nil if there are too many. cyclic tells whether there is a
// loop. At other addresses, blocks begin, too.
func (e *emitter) blocks(entry int, others ...int) (list []segment, cyclic bool) {
	ends := func(op compile.Op) bool {
		switch op {
		case compile.OpJmp, compile.OpJt, compile.OpJf, compile.OpJeq, compile.OpJne,
			compile.OpJlt, compile.OpJle, compile.OpTable, compile.OpBlock, compile.OpDrop,
			compile.OpFail, compile.OpBound:
			return true
		}
		return false
	}
	leaders := map[int]bool{entry: true}
	for _, at := range others {
		leaders[at] = true
	}
	todo := []int{entry}
	succ := func(at int) (to []int) {
		switch in := &e.p.Code[at]; in.Op {
		case compile.OpJmp:
			return []int{int(in.A)}
		case compile.OpTable:
			for _, k := range e.p.Jumps[in.T] {
				to = append(to, int(k))
			}
			return to
		case compile.OpBlock, compile.OpDrop, compile.OpFail, compile.OpBound:
			return nil
		default:
			return []int{int(in.A), at + 1}
		}
	}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for !ends(e.p.Code[at].Op) {
			at++
		}
		for _, to := range succ(at) {
			if !leaders[to] {
				leaders[to] = true
				todo = append(todo, to)
			}
		}
		if len(leaders) > maxBlocks {
			return nil, false
		}
	}
	// Depth first, in post-order.
	number := map[int]int{}
	open := map[int]bool{}
	var order []segment
	var visit func(from int)
	visit = func(from int) {
		open[from] = true
		b := segment{from: from, to: from}
		for !ends(e.p.Code[b.to].Op) && (b.to == from || !leaders[b.to]) {
			b.to++
		}
		if b.to > from && leaders[b.to] {
			b.succ = []int{b.to}
		} else {
			b.succ = succ(b.to)
			b.to++
		}
		for _, to := range b.succ {
			if open[to] {
				cyclic = true
			} else if _, ok := number[to]; !ok {
				visit(to)
			}
		}
		open[from] = false
		number[from] = len(order)
		order = append(order, b)
	}
	visit(entry)
	slices.Reverse(order)
	for i := range order {
		for k, to := range order[i].succ {
			order[i].succ[k] = len(order) - 1 - number[to]
		}
	}
	return order, cyclic
}

// notes is how many notes one way through the blocks takes at most, without loops.
func (e *emitter) notes(blocks []segment) (n int) {
	for _, b := range blocks {
		n += 1
		for at := b.from; at < b.to; at++ {
			if op := e.p.Code[at].Op; op == compile.OpPeek || op == compile.OpPeekAt ||
				op == compile.OpGo {
				n += 8
			}
		}
	}
	return n
}

// block makes one of the blocks.
func (x *fn) block(blocks []segment, i int, jump func(to int)) {
	b := &blocks[i]
	x.words, x.consts, x.spans = 0, map[int32]int64{}, map[int32][]int{}
	if b.from == dispatch {
		x.resume(b.succ, jump)
		return
	}
	x.choosing = x.resumption(b.from)
	for at := b.from; at < b.to; at++ {
		in := &x.e.p.Code[at]
		if x.jumps(in, b.succ, i, jump) {
			return
		}
		x.instr(in)
		x.choosing = nil
	}
	x.flush()
	x.pass(b.succ[0] <= i)
	jump(b.succ[0])
}

// flush tells which words the block has changed.
func (x *fn) flush() {
	if x.words != 0 {
		x.Get(x.changed)
		x.I64(int64(x.words))
		x.Op(wasm.I64Or)
		x.Set(x.changed)
		x.words = 0
	}
}

// took notes a jump that is taken.
func (x *fn) took(counter int32) {
	if !sabotage.Is("code/note") {
		x.e.Tell(x.Func, counter)
	}
}

// jumps makes an instruction with which a block ends; it returns false for any other.
func (x *fn) jumps(in *compile.Instr, succ []int, i int, jump func(to int)) bool {
	compare := func(op wasm.Op) {
		x.get(in.B)
		x.get(in.C)
		x.Op(op)
	}
	if in.Op == compile.OpBound {
		x.exit(in.A)
		return true
	}
	x.flush()
	switch in.Op {
	case compile.OpJmp:
		if in.T >= 0 {
			x.pass(succ[0] <= i)
			x.took(in.T)
		}
		jump(succ[0])
		return true
	case compile.OpTable:
		labels := make([]wasm.Label, len(succ)+1)
		labels[len(succ)] = x.trouble
		for k := range succ {
			labels[len(succ)-1-k] = x.Block()
		}
		x.get(in.B)
		x.Op(wasm.I32WrapI64)
		x.BrTable(labels...)
		for k, to := range succ {
			x.End()
			x.pass(to <= i)
			x.took(in.C + int32(k))
			jump(to)
		}
		return true
	case compile.OpBlock:
		x.Br(x.blocked)
		return true
	case compile.OpDrop:
		x.beyond()
		return true
	case compile.OpFail:
		x.fail()
		return true
	case compile.OpJt:
		x.get(in.B)
		x.I64(0)
		x.Op(wasm.I64Ne)
	case compile.OpJf:
		x.get(in.B)
		x.Op(wasm.I64Eqz)
	case compile.OpJeq:
		compare(wasm.I64Eq)
	case compile.OpJne:
		compare(wasm.I64Ne)
	case compile.OpJlt:
		if sabotage.Is("code/branch") {
			compare(wasm.I64LeS)
		} else {
			compare(wasm.I64LtS)
		}
	case compile.OpJle:
		compare(wasm.I64LeS)
	default:
		return false
	}
	x.If()
	x.pass(succ[0] <= i)
	x.took(in.T)
	jump(succ[0])
	x.End()
	x.pass(succ[1] <= i)
	jump(succ[1])
	return true
}

// pass counts a jump backward.
func (x *fn) pass(back bool) {
	if !back {
		return
	}
	x.Get(x.passes)
	x.I32(1)
	x.Op(wasm.I32Sub)
	x.Tee(x.passes)
	x.Op(wasm.I32Eqz)
	x.BrIf(x.trouble)
	x.e.Noted(x.Func)
	x.BrIf(x.trouble)
}

// constant returns the value of a register if it is known.
func (x *fn) constant(r int32) (int64, bool) {
	if int(r) < len(x.e.p.Consts) {
		return x.e.p.Consts[r], true
	}
	v, ok := x.consts[r]
	return v, ok
}

// get pushes a register.
func (x *fn) get(r int32) {
	if v, ok := x.constant(r); ok {
		x.I64(v)
		return
	}
	x.Get(x.local(r))
}

// local is the local variable of a register.
func (x *fn) local(r int32) wasm.Local {
	l, ok := x.regs[r]
	if !ok {
		l = x.Local(wasm.I64)
		x.regs[r] = l
	}
	return l
}

// set pops a register.
func (x *fn) set(r int32) {
	delete(x.consts, r)
	delete(x.spans, r)
	x.Set(x.local(r))
}

// held returns a local with the value of a register: that of the register, or t.
func (x *fn) held(r int32, t wasm.Local) wasm.Local {
	if v, ok := x.constant(r); ok {
		x.I64(v)
		x.Set(t)
		return t
	}
	return x.local(r)
}

// loads loads the variables from the slot.
func (x *fn) loads() {
	for _, l := range x.pt.Loads {
		if l.Zero {
			x.I64(0)
		} else {
			x.loadSlot(code.Field{Word: int(l.Word), Shift: int(l.Shift), Bits: int(l.Bits),
				Signed: l.Signed})
		}
		x.Set(x.local(l.Reg))
	}
}

// loadSlot pushes a field of the thread's slot.
func (x *fn) loadSlot(d code.Field) {
	if !x.packed() {
		x.Load(x.at, d)
		return
	}
	x.Get(x.at)
	x.Mem(wasm.I64Load, code.State)
	x.Get(x.shift)
	if d.Shift > 0 {
		x.I64(int64(d.Shift))
		x.Op(wasm.I64Add)
	}
	x.Op(wasm.I64ShrU)
	x.Narrow(d.Bits, d.Signed)
}

// storeSlot replaces the bits of a mask in a word of the thread's slot by those of a value, which
// are in a local and have their place in it.
func (x *fn) storeSlot(word int, mask uint64, v wasm.Local) {
	x.Get(x.at)
	if !x.packed() {
		x.Get(x.at)
		x.Mem(wasm.I64Load, code.State+8*word)
		x.I64(int64(^mask))
		x.Op(wasm.I64And)
		x.Get(v)
		x.Op(wasm.I64Or)
		x.Mem(wasm.I64Store, code.State+8*word)
		return
	}
	x.Get(x.at)
	x.Mem(wasm.I64Load, code.State)
	x.I64(int64(mask))
	x.Get(x.shift)
	x.Op(wasm.I64Shl)
	x.I64(-1)
	x.Op(wasm.I64Xor, wasm.I64And)
	x.Get(v)
	x.Get(x.shift)
	x.Op(wasm.I64Shl, wasm.I64Or)
	x.Mem(wasm.I64Store, code.State)
}

// exit ends an outcome before a point.
func (x *fn) exit(to int32) {
	i := slices.IndexFunc(x.pt.Exits, func(e compile.Exit) bool { return e.To == to })
	if i < 0 {
		x.beyond()
		return
	}
	v := x.temp64()
	words := x.pt.Exits[i].Words
	for _, w := range words {
		x.I64(int64(w.PC))
		for _, st := range w.Stores {
			x.get(st.Reg)
			if st.Bits < 64 {
				x.I64(int64(maskOf(int(st.Bits))))
				x.Op(wasm.I64And)
			}
			x.I64(int64(st.Shift))
			x.Op(wasm.I64Shl, wasm.I64Or)
		}
		x.Set(v)
		x.storeSlot(int(w.Word), w.Clear, v)
	}
	x.done64(v)
	for r := range x.e.sys.rings {
		if x.rings[r] && !sabotage.Is("code/rotate") {
			x.Get(x.cur)
			x.Call(x.e.rotation(r))
		}
	}
	x.moved(to)
	alt := x.alt
	if x.pt.Retry { // the first that is enabled is 0
		alt = x.temp()
		x.I32(0)
		x.Get(x.alt)
		x.Get(x.count)
		x.Op(wasm.I32Eqz, wasm.Select)
		x.Set(alt)
		x.done(alt)
	}
	x.d.Close(x.cur, self, alt, func() {
		x.Get(x.changed)
		if x.words != 0 {
			x.I64(int64(x.words))
			x.Op(wasm.I64Or)
		}
		for _, w := range words {
			x.Get(x.own)
			if w.Word > 0 {
				x.I64(int64(w.Word))
				x.Op(wasm.I64Shl)
			}
			x.Op(wasm.I64Or)
		}
	}, int32(x.point))
	x.words = 0
	x.Get(x.count)
	x.I32(1)
	x.Op(wasm.I32Add)
	x.Set(x.count)
	x.Br(x.over)
}

// binaries are the instructions A = B op C that cannot fail.
var binaries = map[compile.Op]wasm.Op{
	compile.OpEq: wasm.I64Eq, compile.OpNe: wasm.I64Ne, compile.OpLt: wasm.I64LtS,
	compile.OpLe: wasm.I64LeS, compile.OpLtU: wasm.I64LtU, compile.OpLeU: wasm.I64LeU,
}

// instr makes an instruction that is not a jump.
func (x *fn) instr(in *compile.Instr) {
	if op, ok := binaries[in.Op]; ok {
		x.get(in.B)
		x.get(in.C)
		x.Op(op, wasm.I64ExtendI32U)
		x.set(in.A)
		return
	}
	switch in.Op {
	case compile.OpMov:
		v, ok := x.constant(in.B)
		span := x.spans[in.B]
		x.get(in.B)
		x.set(in.A)
		if ok {
			x.consts[in.A] = v
		}
		if span != nil {
			x.spans[in.A] = span
		}
	case compile.OpAdd, compile.OpSub, compile.OpMul:
		x.get(in.B)
		x.get(in.C)
		x.Op(map[compile.Op]wasm.Op{compile.OpAdd: wasm.I64Add, compile.OpSub: wasm.I64Sub,
			compile.OpMul: wasm.I64Mul}[in.Op])
		x.ranged(&x.e.p.Types[in.T])
		x.set(in.A)
	case compile.OpArith:
		x.arith(in)
	case compile.OpNeg:
		x.neg(in)
	case compile.OpCom:
		t := &x.e.p.Types[in.T]
		x.get(in.B)
		x.I64(-1)
		x.Op(wasm.I64Xor)
		x.Narrow(t.Bits, t.Signed)
		x.set(in.A)
	case compile.OpConv:
		t := &x.e.p.Types[in.T]
		x.get(in.B)
		x.Narrow(t.Bits, t.Signed)
		x.set(in.A)
	case compile.OpNot:
		x.get(in.B)
		x.I64(1)
		x.Op(wasm.I64Xor)
		x.set(in.A)
	case compile.OpIndex, compile.OpOffset, compile.OpDeref, compile.OpRef:
		x.address(in)
	case compile.OpLoad:
		x.read(x.loc(in.B))
		x.set(in.A)
	case compile.OpStore:
		t := x.temp64()
		l, v := x.loc(in.A), x.held(in.B, t)
		x.stores(l, in.B, v)
		x.put(l, v)
		x.done64(t)
	case compile.OpBump:
		x.bump(in)
	case compile.OpCas:
		x.cas(in)
	case compile.OpLoadLocal:
		x.element(in.B, func(d code.Field) { x.loadSlot(d) }, func(e *code.Element) {
			w, s := x.temp(), x.temp()
			x.LoadElement(e, w, s)
			x.done(w, s)
		})
		x.set(in.A)
	case compile.OpStoreLocal:
		x.storeLocal(in)
	case compile.OpChanRef:
		x.chanRef(in)
	case compile.OpChoose:
		x.first(x.choosing, func() {})
		x.choose(in)
	case compile.OpChoice:
		x.first(x.choosing, func() {})
		if d := x.temp(); true {
			x.I32(in.C)
			x.Set(d)
			x.choice(d)
			x.Op(wasm.I64ExtendI32U)
			x.set(in.A)
			x.done(d)
		}
	case compile.OpPrint:
	case compile.OpSelect:
		x.selectCase(in)
	case compile.OpClose, compile.OpChanLen, compile.OpChanCap, compile.OpChanFull:
		x.chanOp(in)
	case compile.OpPeek:
		x.peek(in)
	case compile.OpLock, compile.OpUnlock, compile.OpUp, compile.OpDown, compile.OpWLock,
		compile.OpWUnlock, compile.OpRLock, compile.OpRUnlock, compile.OpTryLock,
		compile.OpTryWLock, compile.OpTryRLock, compile.OpGroupAdd, compile.OpGroupWait,
		compile.OpEnter, compile.OpExit:
		x.sync(in)
	default:
		x.beyond()
	}
}

// ranged fails if the value on the stack is not of a type of less than 64 bits.
func (x *fn) ranged(t *compile.IntType) {
	v := x.temp64()
	x.Tee(v)
	if t.Min != 0 {
		x.I64(t.Min)
		x.Op(wasm.I64Sub)
	}
	x.I64(t.Max - t.Min)
	x.Op(wasm.I64GtU)
	if sabotage.Is("code/range") {
		x.Op(wasm.Drop)
	} else {
		x.BrIf(x.trouble)
	}
	x.Get(v)
	x.done64(v)
}

// neg is arith's -.
func (x *fn) neg(in *compile.Instr) {
	t := &x.e.p.Types[in.T]
	v := x.temp64()
	x.I64(0)
	x.get(in.B)
	x.Op(wasm.I64Sub)
	x.Tee(v)
	switch {
	case !t.Signed:
		x.I64(0)
		x.Op(wasm.I64Ne)
	case t.Bits < 64:
		x.I64(t.Max)
		x.Op(wasm.I64GtS)
	default:
		x.I64(-1 << 63)
		x.Op(wasm.I64Eq)
	}
	x.BrIf(x.trouble)
	x.Get(v)
	x.set(in.A)
	x.done64(v)
}

// arith is the machine's: an operation of any type. Products and sums of 64 bits that may be out of
// range are left to the machine.
func (x *fn) arith(in *compile.Instr) {
	t := &x.e.p.Types[in.T]
	op := in.D &^ compile.UnsignedShift
	u64 := !t.Signed && t.Bits == 64
	ta, tb, v := x.temp64(), x.temp64(), x.temp64()
	a, b := x.held(in.B, ta), x.held(in.C, tb)
	get := func(ops ...wasm.Op) {
		x.Get(a)
		x.Get(b)
		x.Op(ops...)
	}
	// small fails if a local has not so many bits, with or without a sign.
	small := func(l wasm.Local) {
		x.Get(l)
		if !u64 {
			x.I64(1 << 31)
			x.Op(wasm.I64Add)
		}
		x.I64(32)
		x.Op(wasm.I64ShrU)
		x.I64(0)
		x.Op(wasm.I64Ne)
		x.BrIf(x.trouble)
	}
	switch op {
	case compile.ArithAdd:
		get(wasm.I64Add)
		x.Set(v)
		if u64 {
			x.Get(v)
			x.Get(a)
			x.Op(wasm.I64LtU)
		} else { // (a^v) & (b^v) < 0
			x.Get(a)
			x.Get(v)
			x.Op(wasm.I64Xor)
			x.Get(b)
			x.Get(v)
			x.Op(wasm.I64Xor, wasm.I64And)
			x.I64(0)
			x.Op(wasm.I64LtS)
		}
		x.BrIf(x.trouble)
	case compile.ArithSub:
		get(wasm.I64Sub)
		x.Set(v)
		if u64 {
			get(wasm.I64LtU)
		} else {
			get(wasm.I64Xor)
			x.Get(a)
			x.Get(v)
			x.Op(wasm.I64Xor, wasm.I64And)
			x.I64(0)
			x.Op(wasm.I64LtS)
		}
		x.BrIf(x.trouble)
	case compile.ArithMul:
		small(a)
		small(b)
		get(wasm.I64Mul)
		x.Set(v)
	case compile.ArithDiv, compile.ArithRem:
		x.Get(b)
		x.Op(wasm.I64Eqz)
		if sabotage.Is("code/divisor") {
			x.If()
			x.I64(1)
			x.Set(tb)
			b = tb
			x.Else()
			x.get(in.C)
			x.Set(tb)
			x.End()
		} else {
			x.BrIf(x.trouble)
		}
		if u64 {
			get(map[int32]wasm.Op{compile.ArithDiv: wasm.I64DivU,
				compile.ArithRem: wasm.I64RemU}[op])
			x.Set(v)
			break
		}
		x.Get(b)
		x.I64(-1)
		x.Op(wasm.I64Eq)
		x.If()
		if op == compile.ArithDiv {
			x.Get(a)
			x.I64(-1 << 63)
			x.Op(wasm.I64Eq)
			x.BrIf(x.trouble)
			x.I64(0)
			x.Get(a)
			x.Op(wasm.I64Sub)
		} else {
			x.I64(0)
		}
		x.Set(v)
		x.Else()
		get(map[int32]wasm.Op{compile.ArithDiv: wasm.I64DivS,
			compile.ArithRem: wasm.I64RemS}[op])
		x.Set(v)
		x.End()
	case compile.ArithAnd:
		get(wasm.I64And)
		x.Set(v)
	case compile.ArithOr:
		get(wasm.I64Or)
		x.Set(v)
	case compile.ArithXor:
		get(wasm.I64Xor)
		x.Set(v)
	case compile.ArithAndNot:
		x.Get(a)
		x.Get(b)
		x.I64(-1)
		x.Op(wasm.I64Xor, wasm.I64And)
		x.Set(v)
	case compile.ArithShl, compile.ArithShr:
		x.shift64(in, t, op, a, b, v)
	default:
		x.beyond()
	}
	x.Get(v)
	if t.Bits < 64 {
		x.ranged(t)
	}
	x.set(in.A)
	x.done64(ta, tb, v)
}

// shift64 is arith's << and >>.
func (x *fn) shift64(in *compile.Instr, t *compile.IntType, op int32, a, b, v wasm.Local) {
	if in.D&compile.UnsignedShift == 0 {
		x.Get(b)
		x.I64(0)
		x.Op(wasm.I64LtS)
		x.BrIf(x.trouble)
	}
	right := wasm.I64ShrU
	if t.Signed {
		right = wasm.I64ShrS
	}
	x.Get(b)
	x.I64(63)
	x.Op(wasm.I64GtU)
	x.If()
	switch {
	case op == compile.ArithShl:
		x.Get(a)
		x.I64(0)
		x.Op(wasm.I64Ne)
		x.BrIf(x.trouble)
		x.I64(0)
	case t.Signed:
		x.Get(a)
		x.I64(63)
		x.Op(wasm.I64ShrS)
	default:
		x.I64(0)
	}
	x.Set(v)
	x.Else()
	x.Get(a)
	x.Get(b)
	if op == compile.ArithShr {
		x.Op(right)
		x.Set(v)
	} else {
		if !(!t.Signed && t.Bits == 64) {
			right = wasm.I64ShrS
		}
		x.Op(wasm.I64Shl)
		x.Tee(v)
		x.Get(b)
		x.Op(right)
		x.Get(a)
		x.Op(wasm.I64Ne)
		x.BrIf(x.trouble)
	}
	x.End()
}

// address makes the instructions that compute addresses, and keeps what they can be.
func (x *fn) address(in *compile.Instr) {
	var span []int
	base := x.spans[in.B]
	if v, ok := x.constant(in.B); ok && v >= 0 && v < 1<<30 {
		base = []int{int(v)}
	}
	x.get(in.B)
	switch in.Op {
	case compile.OpIndex:
		s := &x.e.p.Strides[in.T]
		if len(base)*int(s.Len) <= maxNumbers {
			for _, b := range base {
				for i := range int(s.Len) {
					span = append(span, b+i*int(s.Stride))
				}
			}
		}
		x.get(in.C)
		x.I64(s.Len)
		if sabotage.Is("code/index") {
			x.Op(wasm.I64GtU)
		} else {
			x.Op(wasm.I64GeU)
		}
		x.BrIf(x.trouble)
		x.get(in.C)
		if s.Stride != 1 {
			x.I64(s.Stride)
			x.Op(wasm.I64Mul)
		}
		x.Op(wasm.I64Add)
	case compile.OpOffset:
		for _, b := range base {
			span = append(span, b+int(in.C))
		}
		x.I64(int64(in.C))
		x.Op(wasm.I64Add)
	case compile.OpDeref:
		v := x.temp64()
		x.Tee(v)
		x.Op(wasm.I64Eqz)
		x.BrIf(x.trouble)
		x.Get(v)
		x.I64(1)
		x.Op(wasm.I64Sub)
		x.done64(v)
	case compile.OpRef:
		x.I64(1)
		x.Op(wasm.I64Add)
	}
	x.set(in.A)
	slices.Sort(span)
	switch span = slices.Compact(span); len(span) {
	case 0:
	case 1:
		x.consts[in.A] = int64(span[0])
	default:
		x.spans[in.A] = span
	}
}

// loc is a shared location: a certain one, or one that is known at run time only.
type loc struct {
	certain bool
	n       int   // its number
	numbers []int // what the number can be; nil if that is not known
	reg     int32 // the register with the number, to which plus is added
	plus    int
}

// loc returns the location whose number is in a register.
func (x *fn) loc(r int32) loc {
	if v, ok := x.constant(r); ok {
		return loc{certain: true, n: int(v)}
	}
	return loc{numbers: x.spans[r], reg: r}
}

// and returns the location so many farther.
func (l loc) and(d int) loc {
	l.n += d
	l.plus += d
	l.numbers = slices.Clone(l.numbers)
	for i := range l.numbers {
		l.numbers[i] += d
	}
	return l
}

// number pushes the number of a location as i32.
func (x *fn) number(l loc) {
	x.get(l.reg)
	x.Op(wasm.I32WrapI64)
	if l.plus != 0 {
		x.I32(int32(l.plus))
		x.Op(wasm.I32Add)
	}
}

// read pushes the value of a location, which the step reads.
func (x *fn) read(l loc) {
	x.touch(l, code.Flags(false, 0, 0))
	x.value(l)
}

// value pushes the value of a location.
func (x *fn) value(l loc) {
	if l.certain {
		x.Load(x.cur, x.e.location(l.n))
		return
	}
	k := x.temp()
	if l.numbers != nil {
		if e, ok := x.Element(x.cur, k, l.numbers, x.e.location, x.e.locTable); ok {
			x.number(l)
			x.Set(k)
			x.loadElement(&e)
			x.done(k)
			return
		}
	}
	x.Get(x.cur)
	x.number(l)
	x.Call(x.e.loader())
	x.done(k)
}

func (x *fn) loadElement(e *code.Element) {
	w, s := x.temp(), x.temp()
	x.LoadElement(e, w, s)
	x.done(w, s)
}

// storeElement stores a local in an element, of the thread's slot if it is local.
func (x *fn) storeElement(e *code.Element, v wasm.Local, local bool) {
	w, s := x.temp(), x.temp()
	x.StoreElement(e, v, w, s)
	word, known := e.Word()
	switch {
	case known && local:
		x.Get(x.changed)
		x.Get(x.own)
		x.I64(int64(word))
		x.Op(wasm.I64Shl, wasm.I64Or)
		x.Set(x.changed)
	case known:
		x.writes(word)
	default:
		x.Get(x.changed)
		x.WordBit(w, x.cur)
		x.Op(wasm.I64Or)
		x.Set(x.changed)
	}
	x.done(w, s)
}

// write stores a local in a location, which the step writes.
func (x *fn) write(l loc, v wasm.Local) {
	x.touch(l, code.Flags(true, 0, 0))
	x.put(l, v)
}

// put stores a local in a location.
func (x *fn) put(l loc, v wasm.Local) {
	if l.certain {
		d := x.e.location(l.n)
		x.Store(x.cur, d, v)
		x.writes(d.Word)
		return
	}
	k := x.temp()
	x.number(l)
	x.Set(k)
	if l.numbers != nil {
		if e, ok := x.Element(x.cur, k, l.numbers, x.e.location, x.e.locTable); ok {
			x.storeElement(&e, v, false)
			x.done(k)
			return
		}
	}
	x.Get(x.cur)
	x.Get(k)
	x.Get(v)
	x.Call(x.e.storer())
	x.Get(x.changed)
	x.I64(1)
	x.Get(k)
	x.I32(2)
	x.Op(wasm.I32Shl)
	x.Mem(wasm.I32Load, x.e.kindTable())
	x.I32(14)
	x.Op(wasm.I32ShrU, wasm.I64ExtendI32U, wasm.I64Shl, wasm.I64Or)
	x.Set(x.changed)
	x.done(k)
}

// writes notes that the block writes a word.
func (x *fn) writes(word int) {
	if word < 64 && !sabotage.Is("code/changed") {
		x.words |= 1 << word
	}
}

// kindTable returns the address of the table of the locations: the place in bits, then 7 bits: 64
// less the width; the lowest bit is the sign.
func (e *emitter) kindTable() int {
	if e.kinds == 0 {
		list := make([]int32, len(e.sys.locs))
		for i := range list {
			d := e.location(i)
			list[i] = int32(d.At())<<8 | int32(64-d.Bits)<<1
			if d.Signed && !sabotage.Is("code/pointer") {
				list[i] |= 1
			}
		}
		e.kinds = e.Table(list)
	}
	return e.kinds
}

// kind makes what loader and storer begin with: word is the address of the location's word, shift
// its place there, and up how far its value is moved to the top.
func (e *emitter) kind(f *wasm.Func, kind, word wasm.Local, shift, up wasm.Local) {
	f.Get(1)
	f.I32(2)
	f.Op(wasm.I32Shl)
	f.Mem(wasm.I32Load, e.kindTable())
	f.Set(kind)
	f.Get(kind)
	f.I32(14)
	f.Op(wasm.I32ShrU)
	f.I32(3)
	f.Op(wasm.I32Shl)
	f.Get(0)
	f.Op(wasm.I32Add)
	f.Set(word)
	f.Get(kind)
	f.I32(8)
	f.Op(wasm.I32ShrU)
	f.I32(63)
	f.Op(wasm.I32And, wasm.I64ExtendI32U)
	f.Set(shift)
	f.Get(kind)
	f.I32(1)
	f.Op(wasm.I32ShrU)
	f.I32(63)
	f.Op(wasm.I32And, wasm.I64ExtendI32U)
	f.Set(up)
}

// loader makes the function that returns the value of any location: state, number.
func (e *emitter) loader() *wasm.Func {
	if e.loadAny != nil {
		return e.loadAny
	}
	f := e.Func([]wasm.Type{wasm.I32, wasm.I32}, []wasm.Type{wasm.I64})
	e.loadAny = f
	kind, word, shift, up := f.Local(wasm.I32), f.Local(wasm.I32), f.Local(wasm.I64),
		f.Local(wasm.I64)
	e.kind(f, kind, word, shift, up)
	v := f.Local(wasm.I64)
	f.Get(word)
	f.Mem(wasm.I64Load, code.State)
	f.Get(shift)
	f.Op(wasm.I64ShrU)
	f.Get(up)
	f.Op(wasm.I64Shl)
	f.Set(v)
	f.Get(v)
	f.Get(up)
	f.Op(wasm.I64ShrS)
	f.Get(v)
	f.Get(up)
	f.Op(wasm.I64ShrU)
	f.Get(kind)
	f.I32(1)
	f.Op(wasm.I32And, wasm.Select)
	return f
}

// storer makes the function that stores a value in any location: state, number, value.
func (e *emitter) storer() *wasm.Func {
	if e.storeAny != nil {
		return e.storeAny
	}
	f := e.Func([]wasm.Type{wasm.I32, wasm.I32, wasm.I64}, nil)
	e.storeAny = f
	kind, word, shift, up := f.Local(wasm.I32), f.Local(wasm.I32), f.Local(wasm.I64),
		f.Local(wasm.I64)
	e.kind(f, kind, word, shift, up)
	mask := f.Local(wasm.I64)
	f.I64(-1)
	f.Get(up)
	f.Op(wasm.I64ShrU)
	f.Get(shift)
	f.Op(wasm.I64Shl)
	f.Set(mask)
	f.Get(word)
	f.Get(word)
	f.Mem(wasm.I64Load, code.State)
	f.Get(mask)
	f.I64(-1)
	f.Op(wasm.I64Xor, wasm.I64And)
	f.Get(2)
	f.Get(shift)
	f.Op(wasm.I64Shl)
	f.Get(mask)
	f.Op(wasm.I64And, wasm.I64Or)
	f.Mem(wasm.I64Store, code.State)
	return f
}

// bump adds a number to a location.
func (x *fn) bump(in *compile.Instr) {
	t := &x.e.p.Types[in.T]
	if t.Bits == 64 {
		x.beyond()
		return
	}
	l, v := x.loc(in.B), x.temp64()
	x.value(l)
	x.get(in.C)
	if in.D != 0 {
		x.Op(wasm.I64Sub)
	} else {
		x.Op(wasm.I64Add)
	}
	x.ranged(t)
	x.Set(v)
	x.adds(l, v, t.Min, t.Max)
	x.put(l, v)
	x.done64(v)
}

// cas compares a location with a value and replaces it.
func (x *fn) cas(in *compile.Instr) {
	l, t := x.loc(in.B), x.temp64()
	r := x.temp64()
	x.read(l)
	x.get(in.C)
	x.Op(wasm.I64Eq, wasm.I64ExtendI32U)
	x.Tee(r)
	x.Op(wasm.I32WrapI64)
	x.If()
	x.write(l, x.held(in.D, t))
	x.End()
	x.Get(r)
	x.set(in.A)
	x.done64(t, r)
}

// element does one of two things with the variable of the slot whose number is in a register.
func (x *fn) element(r int32, field func(d code.Field), element func(e *code.Element)) {
	fields := x.pt.Thread.Fields
	if v, ok := x.constant(r); ok {
		field(slotField(fields[v]))
		return
	}
	span := x.spans[r]
	if span == nil {
		for i := range fields {
			span = append(span, i)
		}
	}
	k := x.temp()
	x.get(r)
	x.Op(wasm.I32WrapI64)
	x.Set(k)
	place := func(i int) code.Field { return slotField(fields[i]) }
	e, ok := x.Element(x.at, k, span, place, func() int {
		list := make([]int32, len(fields))
		for i := range list {
			list[i] = int32(64*int(fields[i].Word) + int(fields[i].Shift))
		}
		return x.e.Table(list)
	})
	if x.packed() {
		e = e.Plus(slotShift)
	}
	if !ok {
		x.beyond() // what is behind is never executed
	}
	element(&e)
	x.done(k)
}

// storeLocal stores a value in a variable that is in the slot.
func (x *fn) storeLocal(in *compile.Instr) {
	t := x.temp64()
	x.element(in.A, func(d code.Field) {
		v := x.temp64()
		mask := maskOf(d.Bits) << d.Shift
		x.get(in.B)
		x.I64(int64(d.Shift))
		x.Op(wasm.I64Shl)
		x.I64(int64(mask))
		x.Op(wasm.I64And)
		x.Set(v)
		x.storeSlot(d.Word, mask, v)
		x.done64(v)
		x.Get(x.changed)
		x.Get(x.own)
		x.I64(int64(d.Word))
		x.Op(wasm.I64Shl, wasm.I64Or)
		x.Set(x.changed)
	}, func(e *code.Element) { x.storeElement(e, x.held(in.B, t), true) })
	x.done64(t)
}

// choice pushes, as i32, one of so many possibilities, whose number is in a local.
func (x *fn) choice(radix wasm.Local) {
	d := x.temp()
	if sabotage.Is("code/choice") {
		x.Get(radix)
		x.I32(1)
		x.Op(wasm.I32Sub)
		x.Set(radix)
	}
	x.Get(x.weight)
	x.Get(radix)
	x.Op(wasm.I64ExtendI32U, wasm.I64Mul)
	x.Tee(x.weight)
	x.I64(1 << 30)
	x.Op(wasm.I64GtU)
	x.Get(x.choices)
	x.I32(maxChoices)
	x.Op(wasm.I32GeU, wasm.I32Or)
	x.BrIf(x.trouble)
	x.Get(x.choices)
	x.I32(3)
	x.Op(wasm.I32Shl)
	x.Get(x.rest)
	x.Get(radix)
	x.Op(wasm.I32RemU)
	x.Tee(d)
	x.Mem(wasm.I32Store, atChoices)
	x.Get(x.choices)
	x.I32(3)
	x.Op(wasm.I32Shl)
	x.Get(radix)
	x.Mem(wasm.I32Store, atChoices+4)
	x.Get(x.choices)
	x.I32(1)
	x.Op(wasm.I32Add)
	x.Set(x.choices)
	x.Get(x.rest)
	x.Get(radix)
	x.Op(wasm.I32DivU)
	x.Set(x.rest)
	x.Get(d)
	x.done(d)
}

// choose chooses a number from an interval.
func (x *fn) choose(in *compile.Instr) {
	n := x.temp()
	x.get(in.B)
	x.get(in.C)
	x.Op(wasm.I64GtS)
	x.get(in.C)
	x.get(in.B)
	x.Op(wasm.I64Sub)
	x.I64(MaxChoice)
	x.Op(wasm.I64GeU, wasm.I32Or)
	x.BrIf(x.trouble)
	x.get(in.C)
	x.get(in.B)
	x.Op(wasm.I64Sub, wasm.I32WrapI64)
	x.I32(1)
	x.Op(wasm.I32Add)
	x.Set(n)
	x.choice(n)
	x.Op(wasm.I64ExtendI32U)
	x.get(in.B)
	x.Op(wasm.I64Add)
	x.set(in.A)
	x.done(n)
}

// followingAlt makes the function that returns the number of the next alternative, 0 if there is
// none, from how many choices there have been ([system.Digits.Next]).
func (e *emitter) followingAlt() *wasm.Func {
	if e.following != nil {
		return e.following
	}
	f := e.Func([]wasm.Type{wasm.I32}, []wasm.Type{wasm.I32})
	e.following = f
	const i = wasm.Local(0)
	at, end, alt, place := f.Local(wasm.I32), f.Local(wasm.I32), f.Local(wasm.I32),
		f.Local(wasm.I32)
	none := f.Block()
	last := f.Loop()
	f.Get(i)
	f.Op(wasm.I32Eqz)
	f.BrIf(none)
	f.Get(i)
	f.I32(1)
	f.Op(wasm.I32Sub)
	f.Tee(i)
	f.I32(3)
	f.Op(wasm.I32Shl)
	f.Tee(end)
	f.Mem(wasm.I32Load, atChoices)
	f.I32(1)
	f.Op(wasm.I32Add)
	f.Get(end)
	f.Mem(wasm.I32Load, atChoices+4)
	f.Op(wasm.I32GeU)
	f.BrIf(last)
	f.End()
	f.I32(1)
	f.Set(place)
	sum := f.Loop()
	f.Get(at)
	f.Mem(wasm.I32Load, atChoices)
	f.Get(at)
	f.Get(end)
	f.Op(wasm.I32Eq, wasm.I32Add)
	f.Get(place)
	f.Op(wasm.I32Mul)
	f.Get(alt)
	f.Op(wasm.I32Add)
	f.Set(alt)
	f.Get(place)
	f.Get(at)
	f.Mem(wasm.I32Load, atChoices+4)
	f.Op(wasm.I32Mul)
	f.Set(place)
	f.Get(at)
	f.I32(8)
	f.Op(wasm.I32Add)
	f.Tee(at)
	f.Get(end)
	f.Op(wasm.I32LeU)
	f.BrIf(sum)
	f.End()
	f.Get(alt)
	f.Op(wasm.Return)
	f.End()
	f.I32(0)
	return f
}

// peek is Machine.peek where the threads are known.
func (x *fn) peek(in *compile.Instr) {
	s := x.e.sys
	if s.dynamic {
		x.beyond()
		return
	}
	t := s.peeks[in.T]
	if t < 0 {
		x.I64(0)
		x.set(in.A)
		return
	}
	pk := &x.e.p.Peeks[in.T]
	w := &pk.Thread.Watched[pk.Watch]
	x.took(int32(x.e.p.Cover.Peeks) + in.T)
	x.touch(loc{certain: true, n: int(x.e.p.Loc(t, 2+pk.Watch))}, code.Flags(false, 0, 0))
	table := make([]int32, len(x.e.p.Points)+1)
	for i, is := range w.Points {
		if is {
			table[i+1] = 1
		}
	}
	word, shift := s.slot(t)
	pc := x.temp()
	x.Load(x.cur, code.Field{Word: word, Shift: int(shift + s.pcShift), Bits: x.e.p.PCBits})
	x.Op(wasm.I32WrapI64)
	x.Tee(pc)
	x.I32(int32(len(x.e.p.Points)))
	x.Op(wasm.I32GtU)
	x.IfValue(wasm.I64)
	x.I64(0)
	x.Else()
	x.Get(pc)
	x.I32(2)
	x.Op(wasm.I32Shl)
	x.Mem(wasm.I32Load, x.e.Table(table))
	x.IfValue(wasm.I64)
	if w.Var == nil {
		x.I64(1)
	} else {
		d := slotField(w.Var.Field)
		d.Word += word
		d.Shift += int(shift)
		x.Load(x.cur, d)
	}
	x.Else()
	x.I64(0)
	x.End()
	x.End()
	x.set(in.A)
	x.done(pc)
}

// sync makes an operation on a mutex, a semaphore, a rwmutex, a waitgroup or a monitor.
func (x *fn) sync(in *compile.Instr) {
	l, v := x.loc(in.B), x.temp64()
	defer x.done64(v)
	me := func() {
		x.Get(self)
		x.Op(wasm.I64ExtendI32U)
		x.I64(1)
		x.Op(wasm.I64Add)
	}
	put := func(l loc, push func()) {
		push()
		x.Set(v)
		x.write(l, v)
	}
	zero := func() { x.I64(0) }
	// must goes to a label unless the location has the value that is pushed.
	must := func(l loc, push func(), otherwise wasm.Label) {
		x.read(l)
		push()
		x.Op(wasm.I64Ne)
		x.BrIf(otherwise)
	}
	// bump adds d to a location that stays from 0 to max.
	bump := func(l loc, d func(), most int64) {
		x.read(l)
		d()
		x.Op(wasm.I64Add)
		x.Tee(v)
		x.I64(most)
		x.Op(wasm.I64GtU)
		x.BrIf(x.trouble)
		x.write(l, v)
	}
	// add is bump as an addition.
	add := func(l loc, d func(), most int64) {
		x.value(l)
		d()
		x.Op(wasm.I64Add)
		x.Tee(v)
		x.I64(most)
		x.Op(wasm.I64GtU)
		x.BrIf(x.trouble)
		x.adds(l, v, 0, most)
		x.put(l, v)
	}
	read := code.Flags(false, 0, 0)
	number := func(n int64) func() { return func() { x.I64(n) } }
	switch in.Op {
	case compile.OpLock:
		must(l, zero, x.blocked)
		put(l, me)
	case compile.OpUnlock, compile.OpWUnlock:
		must(l, me, x.trouble)
		put(l, zero)
	case compile.OpUp:
		add(l, number(1), maxSemaphore)
	case compile.OpDown:
		x.value(l)
		x.Op(wasm.I64Eqz)
		x.If()
		x.touch(l, read)
		x.Br(x.blocked)
		x.End()
		add(l, number(-1), maxSemaphore)
	case compile.OpWLock:
		x.touch(l, read)
		x.touch(l.and(rwReaders), read)
		must(l, zero, x.blocked)
		must(l.and(rwReaders), zero, x.blocked)
		put(l, me)
	case compile.OpRLock:
		must(l, zero, x.blocked)
		bump(l.and(rwReaders), number(1), maxReaders)
	case compile.OpRUnlock:
		bump(l.and(rwReaders), number(-1), maxReaders)
	case compile.OpGroupAdd:
		add(l, func() { x.get(in.C) }, maxGroup)
	case compile.OpGroupWait:
		x.value(l)
		x.Op(wasm.I64Eqz)
		x.If()
		x.touch(l, read)
		x.Else()
		x.waits(l)
		x.Br(x.blocked)
		x.End()
	case compile.OpTryLock, compile.OpTryWLock, compile.OpTryRLock:
		free := x.temp64()
		x.read(l)
		x.Op(wasm.I64Eqz)
		if in.Op == compile.OpTryWLock { // both are read, as by the machine
			x.read(l.and(rwReaders))
			x.Op(wasm.I64Eqz, wasm.I32And)
		}
		x.Op(wasm.I64ExtendI32U)
		x.Tee(free)
		x.Op(wasm.I32WrapI64)
		x.If()
		if in.Op == compile.OpTryRLock {
			bump(l.and(rwReaders), number(1), maxReaders)
		} else {
			put(l, me)
		}
		x.End()
		x.Get(free)
		x.set(in.A)
		x.done64(free)
	case compile.OpEnter:
		x.read(l)
		x.Op(wasm.I64Eqz)
		x.If()
		put(l, me)
		put(l.and(monitorDepth), number(1))
		x.Else()
		must(l, me, x.blocked)
		bump(l.and(monitorDepth), number(1), maxDepth)
		x.End()
	case compile.OpExit:
		must(l, me, x.trouble)
		x.read(l.and(monitorDepth))
		x.I64(1)
		x.Op(wasm.I64Sub)
		x.Set(v)
		x.write(l.and(monitorDepth), v)
		x.Get(v)
		x.Op(wasm.I64Eqz)
		x.If()
		put(l, zero)
		x.End()
	}
}

// chanRef makes the reference to the channel at a location.
func (x *fn) chanRef(in *compile.Instr) {
	p := x.e.p
	if v, ok := x.constant(in.B); ok {
		n := int64(p.ChanAt[int(v)] + 1)
		x.I64(n)
		x.set(in.A)
		x.consts[in.A] = n
		return
	}
	table := make([]int32, len(p.Locs))
	for at, n := range p.ChanAt {
		if at < len(table) {
			table[at] = int32(n) + 1
		}
	}
	x.get(in.B)
	x.Op(wasm.I32WrapI64)
	x.I32(2)
	x.Op(wasm.I32Shl)
	x.Mem(wasm.I32Load, x.e.Table(table))
	x.Op(wasm.I64ExtendI32U)
	x.set(in.A)
}

// onChannel does something with the channel that a register refers to, for each that it can be,
// and something else if it is nil.
func (x *fn) onChannel(r int32, f func(c *compile.Chan, number int), none func()) {
	chans := x.e.p.Chans
	if v, ok := x.constant(r); ok {
		if v == 0 {
			none()
		} else {
			f(&chans[v-1], int(v-1))
		}
		return
	}
	if len(chans) > maxChannels {
		x.beyond()
		return
	}
	// What one of them makes known is not known for the others.
	end := x.Block()
	for i := range chans {
		x.get(r)
		x.I64(int64(i + 1))
		x.Op(wasm.I64Eq)
		x.If()
		f(&chans[i], i)
		x.Br(end)
		x.End()
	}
	none()
	x.End()
}

// slotOf returns a location of a buffer's slot: leaf -1 is the mark. The number of the slot is in
// a local.
func (x *fn) slotOf(c *compile.Chan, slot wasm.Local, leaf int) (k wasm.Local, e code.Element) {
	var numbers []int
	for i := range c.Cap {
		numbers = append(numbers, slotLoc(c, i)+1+leaf)
	}
	k = x.temp()
	x.Get(slot)
	if n := 1 + c.Leaves; n > 1 {
		x.I32(int32(n))
		x.Op(wasm.I32Mul)
	}
	x.I32(int32(c.Slots + 1 + leaf))
	x.Op(wasm.I32Add)
	x.Set(k)
	e, _ = x.Element(x.cur, k, numbers, x.e.location, x.e.locTable)
	return k, e
}

func (x *fn) loadOf(c *compile.Chan, slot wasm.Local, leaf int) {
	if c.Cap == 1 {
		x.read(loc{certain: true, n: slotLoc(c, 0) + 1 + leaf})
		return
	}
	k, e := x.slotOf(c, slot, leaf)
	x.touchAt(k, code.Flags(false, 0, 0))
	x.loadElement(&e)
	x.done(k)
}

func (x *fn) storeOf(c *compile.Chan, slot wasm.Local, leaf int, v wasm.Local) {
	if c.Cap == 1 {
		x.write(loc{certain: true, n: slotLoc(c, 0) + 1 + leaf}, v)
		return
	}
	k, e := x.slotOf(c, slot, leaf)
	x.touchAt(k, code.Flags(true, 0, 0))
	x.storeElement(&e, v, false)
	x.done(k)
}

// place pushes the number of the slot that head or tail of a buffer is at, as i32.
func (x *fn) placeOf(c *compile.Chan, tail int) {
	x.read(loc{certain: true, n: c.First + tail})
	x.Op(wasm.I32WrapI64)
}

// closed pushes whether a channel is closed, as i32.
func (x *fn) closed(c *compile.Chan) {
	if c.Closed < 0 {
		x.I32(0)
		return
	}
	x.read(loc{certain: true, n: c.Closed})
	x.I64(0)
	x.Op(wasm.I64Ne)
}

// plain tells whether code knows what a case does at a channel.
func plain(c *compile.SelectCase, ch *compile.Chan) bool {
	return ch.Cap > 0 && !ch.Bag && !c.Keep && len(c.Match) == 0 &&
		ch.Cap*(1+ch.Leaves) <= maxRing
}

// ready pushes whether a case can be executed at once, as i32.
func (x *fn) ready(c *compile.SelectCase) {
	if c.Kind == compile.SelGuard {
		x.get(c.Cond)
		x.I64(0)
		x.Op(wasm.I64Ne)
		return
	}
	v, slot := x.temp(), x.temp()
	x.onChannel(c.Chan, func(ch *compile.Chan, _ int) {
		switch {
		case !plain(c, ch):
			x.beyond()
			return
		case c.Kind == compile.SelRecv:
			x.placeOf(ch, 0)
			x.Set(slot)
			x.loadOf(ch, slot, -1)
			x.I64(0)
			x.Op(wasm.I64Ne)
			x.IfValue(wasm.I32)
			x.I32(1)
			x.Else()
			x.closed(ch)
			x.End()
		default:
			x.closed(ch)
			x.IfValue(wasm.I32)
			x.I32(1)
			x.Else()
			x.placeOf(ch, 1)
			x.Set(slot)
			x.loadOf(ch, slot, -1)
			x.Op(wasm.I64Eqz)
			if sabotage.Is("code/full") {
				x.Op(wasm.Drop)
				x.I32(1)
			}
			x.End()
		}
		x.Set(v)
	}, func() {
		x.I32(0)
		x.Set(v)
	})
	x.Get(v)
	x.done(v, slot)
}

// selectCase is Machine.selectCase for channels with buffers.
func (x *fn) selectCase(in *compile.Instr) {
	cases := x.e.p.Selects[in.T]
	// Bit sets of the cases that are ready, and how many these are.
	r, n := x.choosing, x.Local(wasm.I32)
	can := make([]wasm.Local, (len(cases)+63)/64)
	for i := range can {
		can[i] = x.Local(wasm.I64)
	}
	x.first(r, func() { x.ask(cases, can, n) })
	d, k := x.temp(), x.temp64()
	end := x.Block()
	x.Get(n)
	x.Op(wasm.I32Eqz)
	if def := slices.IndexFunc(cases, isDefault); def < 0 {
		x.BrIf(x.blocked)
	} else {
		x.If()
		x.I64(int64(def))
		x.Set(k)
		x.Br(end)
		x.End()
	}
	x.I32(0)
	x.Set(d)
	if len(cases) > 1 {
		x.Get(n)
		x.I32(1)
		x.Op(wasm.I32GtU)
		x.If()
		if x.pt.Choice {
			x.choice(n)
			x.Set(d)
		} else {
			x.fail()
		}
		x.End()
	}
	x.pick(can, d, k)
	x.fireAll(cases, k)
	x.End()
	// The registers that a case receives into are not known any more, nor those of another one.
	for i := range cases {
		for _, r := range append(slices.Clone(cases[i].Vals), cases[i].OK) {
			delete(x.consts, r)
			delete(x.spans, r)
		}
	}
	x.Get(k)
	x.set(in.A)
	if r == nil { // or else the alternatives that resume here need them
		x.done(n)
		x.done64(can...)
	}
	x.done(d)
	x.done64(k)
}

func isDefault(c compile.SelectCase) bool { return c.Kind == compile.SelDefault }

// ask sets bit sets to the cases that are ready, and n to how many they are.
func (x *fn) ask(cases []compile.SelectCase, can []wasm.Local, n wasm.Local) {
	for w, set := range can {
		always := int64(0)
		for i := w * 64; i < min(w*64+64, len(cases)); i++ {
			if c := &cases[i]; c.Kind == compile.SelGuard {
				if v, ok := x.constant(c.Cond); ok && v != 0 {
					always |= 1 << (i % 64)
				}
			}
		}
		x.I64(always)
		for i := w * 64; i < min(w*64+64, len(cases)); i++ {
			if isDefault(cases[i]) || always>>(i%64)&1 != 0 {
				continue
			}
			x.ready(&cases[i])
			x.Op(wasm.I64ExtendI32U)
			x.I64(int64(i % 64))
			x.Op(wasm.I64Shl, wasm.I64Or)
		}
		x.Tee(set)
		x.Op(wasm.I64Popcnt, wasm.I32WrapI64)
		if w > 0 {
			x.Get(n)
			x.Op(wasm.I32Add)
		}
		x.Set(n)
	}
}

// pick sets k to member number d of bit sets.
func (x *fn) pick(can []wasm.Local, d, k wasm.Local) {
	set := x.temp64()
	done := x.Block()
	for w, s := range can {
		x.Get(s)
		x.Set(set)
		if w < len(can)-1 {
			x.Get(d)
			x.Get(set)
			x.Op(wasm.I64Popcnt, wasm.I32WrapI64, wasm.I32LtU)
			x.If()
		}
		none := x.Block()
		next := x.Loop()
		x.Get(d)
		x.Op(wasm.I32Eqz)
		x.BrIf(none)
		x.Get(set)
		x.Get(set)
		x.I64(1)
		x.Op(wasm.I64Sub, wasm.I64And)
		x.Set(set)
		x.Get(d)
		x.I32(1)
		x.Op(wasm.I32Sub)
		x.Set(d)
		x.Br(next)
		x.End()
		x.End()
		x.Get(set)
		x.Op(wasm.I64Ctz)
		x.I64(int64(w * 64))
		x.Op(wasm.I64Add)
		x.Set(k)
		if w < len(can)-1 {
			x.Br(done)
			x.End()
			x.Get(d)
			x.Get(set)
			x.Op(wasm.I64Popcnt, wasm.I32WrapI64, wasm.I32Sub)
			x.Set(d)
		}
	}
	x.End()
	x.done64(set)
}

// fireAll executes case number k.
func (x *fn) fireAll(cases []compile.SelectCase, k wasm.Local) {
	if !slices.ContainsFunc(cases, func(c compile.SelectCase) bool {
		return c.Kind == compile.SelRecv || c.Kind == compile.SelSend
	}) {
		return // a guard does nothing
	}
	end := x.Block()
	labels := make([]wasm.Label, len(cases)+1)
	labels[len(cases)] = x.trouble
	for i := range slices.Backward(cases) {
		labels[i] = x.Block()
	}
	x.Get(k)
	x.Op(wasm.I32WrapI64)
	x.BrTable(labels...)
	for i := range cases {
		x.End()
		if !isDefault(cases[i]) {
			x.fire(&cases[i])
		}
		x.Br(end)
	}
	x.End()
}

// fire executes a case that is ready.
func (x *fn) fire(c *compile.SelectCase) {
	if c.Kind == compile.SelGuard {
		return
	}
	slot, v := x.temp(), x.temp64()
	// next moves head or tail.
	next := func(ch *compile.Chan, tail int) {
		x.Get(slot)
		x.I32(1)
		x.Op(wasm.I32Add)
		x.I32(int32(ch.Cap))
		x.Op(wasm.I32RemU, wasm.I64ExtendI32U)
		x.Set(v)
		x.write(loc{certain: true, n: ch.First + tail}, v)
	}
	receive := func(ch *compile.Chan, from bool) {
		for i := range ch.Leaves {
			if i < len(c.Vals) {
				if from {
					x.loadOf(ch, slot, i) // the write that follows makes it one
				} else {
					x.I64(0)
				}
				x.Set(x.local(c.Vals[i]))
			}
			if from {
				x.I64(0)
				x.Set(v)
				x.storeOf(ch, slot, i, v)
			}
		}
		if c.OK >= 0 {
			x.I64(b2i(from))
			x.Set(x.local(c.OK))
		}
	}
	x.onChannel(c.Chan, func(ch *compile.Chan, number int) {
		switch {
		case !plain(c, ch) || c.Kind == compile.SelSend && len(c.Vals) > ch.Leaves:
			x.fail()
			return
		case c.Kind == compile.SelSend:
			x.closed(ch)
			x.BrIf(x.trouble)
			x.placeOf(ch, 1)
			x.Set(slot)
			t := x.temp64()
			for i, r := range c.Vals {
				x.storeOf(ch, slot, i, x.held(r, t))
			}
			x.done64(t)
			x.I64(1)
			x.Set(v)
			x.storeOf(ch, slot, -1, v)
			next(ch, 1)
		default:
			x.placeOf(ch, 0)
			x.Set(slot)
			x.loadOf(ch, slot, -1)
			x.Op(wasm.I64Eqz)
			x.If()
			receive(ch, false)
			x.Else()
			receive(ch, true)
			x.I64(0)
			x.Set(v)
			x.storeOf(ch, slot, -1, v)
			next(ch, 0)
			x.End()
		}
		x.turned(ch)
	}, x.fail)
	x.done(slot)
	x.done64(v)
}

// turned keeps that the segment may move a buffer. With accesses it stays where it is.
func (x *fn) turned(ch *compile.Chan) {
	if x.e.Accesses {
		return
	}
	for r := range x.e.sys.rings {
		if x.e.sys.ringOf[ch.First] == int32(r+1) {
			x.rings[r] = true
			for _, l := range x.e.ring(r) {
				if w := x.e.location(l).Word; w < 64 {
					x.words |= 1 << w
				}
			}
		}
	}
}

// ring returns all locations of a ring: head, tail, then its slots one after the other.
func (e *emitter) ring(r int) (list []int) {
	for i := range e.p.Chans {
		if c := &e.p.Chans[i]; e.sys.ringOf[c.First] == int32(r+1) {
			list = append(list, c.First, c.First+1)
			for k := range c.Cap {
				for l := range 1 + c.Leaves {
					list = append(list, slotLoc(c, k)+l)
				}
			}
		}
	}
	return list
}

// rotation makes the function that moves the oldest message of a ring to its first slot.
func (e *emitter) rotation(r int) *wasm.Func {
	if f := e.rotations[r]; f != nil {
		return f
	}
	f := e.Func([]wasm.Type{wasm.I32}, nil)
	e.rotations[r] = f
	x := &fn{Values: code.Values{Func: f, Type: wasm.I64}, e: e}
	locs := e.ring(r)
	head, tail, slots := e.location(locs[0]), e.location(locs[1]), locs[2:]
	size := len(e.sys.rings[r].slots[0])
	caps := len(slots) / size
	h, v, t := f.Local(wasm.I64), f.Local(wasm.I64), f.Local(wasm.I32)
	k := f.Local(wasm.I32)
	x.changed = f.Local(wasm.I64)
	done := f.Block()
	x.Load(0, head)
	x.Tee(h)
	x.Op(wasm.I64Eqz)
	x.BrIf(done)
	// Mostly one message has been received: each slot gets what the next one has.
	x.Get(h)
	x.I64(1)
	x.Op(wasm.I64Eq)
	x.If()
	from, to := make([]code.Field, len(slots)), make([]code.Field, len(slots))
	for i := range slots {
		from[i], to[i] = e.location(slots[(i+size)%len(slots)]), e.location(slots[i])
	}
	if sabotage.Is("code/turn") {
		from = to
	}
	x.MoveFields(0, from, to)
	x.Else()
	for i, l := range slots {
		x.I32(int32(atMessages))
		x.Load(0, e.location(l))
		x.Mem(wasm.I64Store, 8*i)
	}
	for leaf := range size {
		var numbers []int
		for c := range caps {
			numbers = append(numbers, slots[c*size+leaf])
		}
		el, _ := x.Element(0, k, numbers, e.location, e.locTable)
		// Slot (c + caps - head) % caps gets what slot c has.
		for c := range caps {
			x.I64(int64(c + caps))
			x.Get(h)
			x.Op(wasm.I64Sub, wasm.I32WrapI64)
			x.I32(int32(caps))
			x.Op(wasm.I32RemU)
			x.I32(int32(size))
			x.Op(wasm.I32Mul)
			x.I32(int32(slots[leaf]))
			x.Op(wasm.I32Add)
			x.Set(k)
			x.I32(int32(atMessages))
			x.Mem(wasm.I64Load, 8*(c*size+leaf))
			x.Set(v)
			x.storeElement(&el, v, false)
		}
	}
	x.End()
	x.Load(0, tail)
	x.I64(int64(caps))
	x.Op(wasm.I64Add)
	x.Get(h)
	x.Op(wasm.I64Sub, wasm.I32WrapI64)
	x.I32(int32(caps))
	x.Op(wasm.I32RemU)
	x.Tee(t)
	x.Op(wasm.I64ExtendI32U)
	x.Set(v)
	x.Store(0, tail, v)
	x.I64(0)
	x.Set(v)
	x.Store(0, head, v)
	f.End()
	return f
}

// chanOp is Machine.chanOp for channels with buffers that are not bags.
func (x *fn) chanOp(in *compile.Instr) {
	v := x.temp64()
	slot := x.temp()
	x.onChannel(in.B, func(ch *compile.Chan, _ int) {
		switch {
		case in.Op == compile.OpClose:
			x.closed(ch)
			x.BrIf(x.trouble)
			x.I64(1)
			x.Set(v)
			x.write(loc{certain: true, n: ch.Closed}, v)
			return
		case in.Op == compile.OpChanCap:
			x.I64(int64(ch.Cap))
		case ch.Bag:
			x.beyond()
			return
		case ch.Cap == 0:
			x.I64(b2i(in.Op == compile.OpChanFull))
		case in.Op == compile.OpChanFull:
			x.placeOf(ch, 1)
			x.Set(slot)
			x.loadOf(ch, slot, -1)
		default:
			x.placeOf(ch, 0)
			x.Set(slot)
			x.loadOf(ch, slot, -1)
			x.Op(wasm.I64Eqz)
			x.IfValue(wasm.I64)
			x.I64(0)
			x.Else()
			// (tail - head - 1 + cap) % cap + 1
			x.placeOf(ch, 1)
			x.Get(slot)
			x.Op(wasm.I32Sub)
			x.I32(int32(ch.Cap - 1))
			x.Op(wasm.I32Add)
			x.I32(int32(ch.Cap))
			x.Op(wasm.I32RemU)
			x.I32(1)
			x.Op(wasm.I32Add, wasm.I64ExtendI32U)
			x.End()
		}
		x.Set(v)
	}, func() {
		if in.Op == compile.OpClose {
			x.fail()
			return
		}
		x.I64(b2i(in.Op == compile.OpChanFull))
		x.Set(v)
	})
	if in.Op != compile.OpClose {
		x.Get(v)
		x.set(in.A)
	}
	x.done64(v)
	x.done(slot)
}
