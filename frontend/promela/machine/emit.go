package machine

import (
	"slices"

	"cpor/frontend/code"
	"cpor/frontend/code/wasm"
	"cpor/frontend/promela/program"
	"cpor/system"
	"cpor/testkit/sabotage"
)

// The emitter compiles a system to a WebAssembly module (package code). It has for each control
// state a function that lists the enabled options of a process, as collectEdges does, and for each
// edge one that takes it on a copy of the state, as execute does; branch, chain and expand join
// them, as follow does. A process's variables are found from an address, so that one
// function serves all processes of a type, wherever they stand in the state.
//
// A function that does not know what to do, or meets what is an error, says so, and the thread is
// left to the machine. So does one for a construct that the emitter does not
// know: its place in the program is counted.
type emitter struct {
	*code.Builder
	sys *System

	gathers, receivers, executes, takes, expands wasm.Sig

	gather0, recv0, expand0 int32 // places in the table of the functions of control state 0

	edges  map[*edge]int32
	accept map[*edge]int32
	inits  map[*proctype]*wasm.Func
	todo   []func()
	left   map[*state]bool // what is left to the machine, wholly or in part
	of     *state

	first, words, atEnd int // tables: by type, by type, by control state
	tables              map[*scalar]int
	base, meet          *wasm.Func
	later               func(gather0 int32) // completes emitViaList's function
	branch              *wasm.Func

	// Only in code that records accesses: whether an atomic sequence continues behind an option
	// that has been found, and behind a choice.
	follows, chained wasm.Global
	readies          map[*proctype]int // see readyTable
}

// What functions of one step pass to each other in memory.
const (
	atFields  = code.Scratch     // how many fields the message has that is being sent
	atMessage = code.Scratch + 8 // and what they are
	maxFields = 64
)

// Bounds of what is compiled.
const (
	maxCandidates = 32      // channels that an expression may be
	maxElements   = 1 << 14 // of an array whose index is computed
	entry         = 8       // bytes of an option in a list
)

// beyond is what the emitter panics with at a construct that it does not know.
type beyond struct{}

// emit returns the system as a module that records accesses or not, nil if code cannot execute it.
func emit(s *System, accesses bool) *code.Program {
	p := s.prog
	if s.claim != nil || s.trace != nil || s.strict || p.UsesPriority || p.UsesEnabled ||
		s.claimed {
		return nil
	}
	if len(s.procs) == 0 || s.globals.words > code.MaxWords/2 {
		return nil
	}
	e := &emitter{
		Builder: code.NewBuilder(len(s.initial[0]), false), sys: s, edges: map[*edge]int32{},
		accept: map[*edge]int32{}, inits: map[*proctype]*wasm.Func{},
		left: map[*state]bool{}, tables: map[*scalar]int{},
		readies: map[*proctype]int{},
	}
	e.Accesses = accesses
	e.follows, e.chained = e.Global(0), e.Global(0)
	i32 := func(n int) []wasm.Type { return slices.Repeat([]wasm.Type{wasm.I32}, n) }
	e.gathers = e.Sig(i32(4), i32(1)) // state, process, its address, list: how many options; -1
	// state, process, its address, channel, list, sender: list; 0
	e.receivers = e.Sig(i32(6), i32(1))
	e.executes = e.Sig(i32(4), i32(1)) // state, process, its address, partner: see stepDone
	e.takes = e.Sig(i32(3), i32(1))    // state, process, its address: the same
	e.expands = e.Sig(i32(3), i32(1))  // state, process, its address: how many outcomes; -1
	e.branch = e.Func(slices.Concat(i32(4), []wasm.Type{wasm.I64, wasm.I64}, i32(2)), i32(1))

	var first, words []int32
	atEnd := make([]byte, (int(s.places)+3)&^3)
	for _, t := range s.procs {
		first = append(first, t.first)
		words = append(words, int32(8*t.lay.words))
		for i := range t.states {
			if t.states[i].final || t.states[i].end || sabotage.Is("code/end") {
				atEnd[int(t.first)+i] = 1
			}
		}
	}
	e.first, e.words = e.Table(first), e.Table(words)
	e.base = e.emitBase()
	packed := make([]int32, len(atEnd)/4)
	for i, b := range atEnd {
		packed[i/4] |= int32(b) << (8 * (i % 4))
	}
	e.atEnd = e.Table(packed)

	most, places := 1, 0
	var gathers, receivers, expands []*wasm.Func
	viaList := e.emitViaList()
	for _, t := range s.procs {
		inner := insides(t.Proc)
		for i := range t.states {
			st := &t.states[i]
			f := e.Func(i32(4), i32(1))
			g := e.Func(i32(6), i32(1))
			gathers, receivers = append(gathers, f), append(receivers, g)
			h := viaList
			if e.direct(t, st) && !inner[st.src] {
				h = e.Func(i32(3), i32(1))
			}
			expands = append(expands, h)
			if inner[st.src] {
				f.I32(code.IsLeft)
				g.I32(0)
				continue
			}
			places++
			n := len(st.edges) + len(st.escapes)
			if s.meets {
				n *= program.MaxProcesses * 4
			}
			most = max(most, n)
			e.todo = append(e.todo, func() {
				e.of = st
				e.emitGather(f, t, st)
				e.emitReceivers(g, t, st)
				if h != viaList {
					e.function(h, t, -1, func(x *fn) { x.direct(st) })
				}
			})
		}
	}
	if most*entry > code.ListBytes/4 {
		return nil
	}
	for _, f := range gathers {
		at := e.Elem(f)
		if f == gathers[0] {
			e.gather0 = at
		}
	}
	for _, f := range expands {
		at := e.Elem(f)
		if f == expands[0] && e.expand0 == 0 {
			e.expand0 = at
		}
	}
	for _, f := range receivers {
		at := e.Elem(f)
		if f == receivers[0] {
			e.recv0 = at
		}
	}
	e.later(e.gather0)
	e.meet = e.emitMeet()
	chain := e.emitChain(most)
	e.emitBranch(chain)
	expand := e.emitExpand()
	for len(e.todo) > 0 {
		f := e.todo[0]
		e.todo = e.todo[1:]
		f()
	}
	return e.Finish(expand, code.Info{Places: places, Left: len(e.left)})
}

// fn is a function of a process type that is being made: its first locals are the state's
// address, the process, and the address of its part of the state.
type fn struct {
	code.Values
	e       *emitter
	p       *proctype
	trouble wasm.Label // where to go if the machine has to do it

	// The words that have been written: of the globals, of the process, and others.
	mine, global uint64
	others       wasm.Local
	dynamic      bool // others is used

	quiet int  // not 0: no accesses are noted
	first bool // the process is that of the step
}

const (
	cur  = wasm.Local(0)
	self = wasm.Local(1)
	fb   = wasm.Local(2)
)

// function makes the body of a function, which ends with a return. If it is beyond the
// emitter, the function only returns failed.
func (e *emitter) function(f *wasm.Func, p *proctype, failed int32, body func(x *fn)) {
	of := e.of
	defer func() {
		if v := recover(); v != nil {
			if _, ok := v.(beyond); !ok {
				panic(v)
			}
			e.left[of] = true
			f.Reset()
			f.I32(failed)
		}
	}()
	x := &fn{Values: code.Values{Func: f, Type: wasm.I32}, e: e, p: p}
	x.others = f.Local(wasm.I64)
	e.Within(f, cur)
	e.Within(f, fb)
	x.trouble = f.Block()
	body(x)
	f.End()
	f.I32(failed)
}

// temp returns a local of type i32; done gives it back.
func (x *fn) temp() wasm.Local { return x.Temp(wasm.I32) }

func (x *fn) done(l ...wasm.Local) { x.Release(wasm.I32, l...) }

// fail goes to trouble.
func (x *fn) fail() { x.Br(x.trouble) }

// addConst adds a number to the top of the stack.
func (x *fn) addConst(v int) {
	if v != 0 {
		x.I32(int32(v))
		x.Op(wasm.I32Add)
	}
}

// field is where a scalar is.
func (l *scalar) field() code.Field {
	return code.Field{Word: int(l.word), Shift: int(l.shift), Bits: 64 - int(l.down),
		Signed: l.signed}
}

// load pushes a scalar of the region at an address.
func (x *fn) load(base wasm.Local, l *scalar) { x.Load(base, l.field()) }

// wrote notes that a word of a region has been written.
func (x *fn) wrote(base wasm.Local, word int32) {
	if word >= 64 {
		return // no state of that length has a set of its changed words
	}
	if base == cur {
		if sabotage.Is("code/changed") {
			return
		}
		x.global |= 1 << word
	} else {
		x.mine |= 1 << word
	}
}

// store stores a local in a scalar of the region at an address.
func (x *fn) store(base wasm.Local, l *scalar, v wasm.Local) {
	x.wrote(base, l.word)
	x.Store(base, l.field(), v)
}

// storeConst stores a number in a scalar.
func (x *fn) storeConst(base wasm.Local, l *scalar, v int32) {
	t := x.temp()
	x.I32(v)
	x.Set(t)
	x.store(base, l, t)
	x.done(t)
}

// element describes the scalars of a list with some numbers; the number is in a local.
func (x *fn) element(base wasm.Local, list []scalar, k wasm.Local, numbers []int) code.Element {
	place := func(i int) code.Field { return list[i].field() }
	d, ok := x.Element(base, k, numbers, place, func() int {
		at, ok := x.e.tables[&list[0]]
		if !ok {
			places := make([]int32, len(list))
			for i := range list {
				places[i] = int32(place(i).At())
			}
			at = x.e.Table(places)
			x.e.tables[&list[0]] = at
		}
		return at
	})
	if !ok {
		panic(beyond{})
	}
	return d
}

// loadElement pushes an element.
func (x *fn) loadElement(d *code.Element) {
	word, shift := x.temp(), x.temp()
	x.LoadElement(d, word, shift)
	x.done(word, shift)
}

// storeElement stores a local in an element of the region at an address.
func (x *fn) storeElement(base wasm.Local, d *code.Element, v wasm.Local) {
	word, shift := x.temp(), x.temp()
	x.StoreElement(d, v, word, shift)
	if w, ok := d.Word(); ok {
		x.wrote(base, int32(w))
		x.done(word, shift)
		return
	}
	x.dynamic = true
	x.Get(x.others)
	x.WordBit(word, cur)
	x.Op(wasm.I64Or)
	x.Set(x.others)
	x.done(word, shift)
}

// flush tells which words the function has changed.
func (x *fn) flush() {
	if x.mine|x.global == 0 && !x.dynamic {
		return
	}
	x.e.Changed(x.Func, cur, x.changes)
}

// changes pushes the set of these words.
func (x *fn) changes() {
	x.I64(int64(x.global))
	if x.mine != 0 {
		x.I64(int64(x.mine))
		x.Get(fb)
		x.Get(cur)
		x.Op(wasm.I32Sub)
		x.I32(3)
		x.Op(wasm.I32ShrU, wasm.I64ExtendI32U, wasm.I64Shl, wasm.I64Or)
	}
	if x.dynamic {
		x.Get(x.others)
		x.Op(wasm.I64Or)
	}
}

// where is a scalar of a variable: a constant one, or one whose number is in a local.
type where struct {
	constant bool
	base     wasm.Local
	l        *scalar
	d        code.Element
	k        wasm.Local // of d

	shared bool        // others can see it
	owner  *wasm.Local // its process; nil for a global variable
	n      int         // its number in the region, if it is constant
}

// index sets a local to the number of a place's scalar in its region, with the indices
// checked. numbers are all that it can be.
func (x *fn) index(pl *program.Place) (k wasm.Local, numbers []int) {
	numbers = []int{pl.Base}
	k = x.temp()
	x.I32(int32(pl.Base))
	v := x.temp()
	for _, i := range pl.Index {
		if len(numbers)*i.Len > maxElements {
			panic(beyond{})
		}
		var next []int
		for _, n := range numbers {
			for j := range i.Len {
				next = append(next, n+j*i.Stride)
			}
		}
		numbers = next
		x.expr(i.X)
		x.Tee(v)
		x.I32(int32(i.Len))
		if sabotage.Is("code/index") {
			x.Op(wasm.I32GtU)
		} else {
			x.Op(wasm.I32GeU)
		}
		x.If()
		x.Br(x.trouble)
		x.End()
		x.Get(v)
		if i.Stride != 1 {
			x.I32(int32(i.Stride))
			x.Op(wasm.I32Mul)
		}
		x.Op(wasm.I32Add)
	}
	x.done(v)
	x.Set(k)
	slices.Sort(numbers)
	return k, numbers
}

// fixed returns the number of a place's scalar if its indices are constants.
func fixed(pl *program.Place) (k int, ok bool) {
	k = pl.Base
	for _, i := range pl.Index {
		c, is := i.X.(*program.Const)
		if !is || c.Value < 0 || int(c.Value) >= i.Len {
			return 0, false
		}
		k += int(c.Value) * i.Stride
	}
	return k, true
}

// at finds a place in a region at an address.
func (x *fn) at(pl *program.Place, base wasm.Local, list []scalar) where {
	shared := pl.Global || pl.Sym.Remote
	if k, ok := fixed(pl); ok {
		return where{constant: true, base: base, l: &list[k], shared: shared, n: k}
	}
	k, numbers := x.index(pl)
	return where{base: base, d: x.element(base, list, k, numbers), k: k, shared: shared, n: pl.Base}
}

// place finds a place of the globals or of the process.
func (x *fn) place(pl *program.Place) where {
	if pl.Count > 1 {
		panic(beyond{})
	}
	if pl.Global {
		return x.at(pl, cur, x.e.sys.globals.scalars)
	}
	w, owner := x.at(pl, fb, x.p.lay.scalars), self
	w.owner = &owner
	return w
}

func (x *fn) read(w where) {
	x.reads(&w)
	if w.constant {
		x.load(w.base, w.l)
		return
	}
	x.loadElement(&w.d)
	x.done(w.k)
}

func (x *fn) write(w where, v wasm.Local) {
	x.stores(&w, v)
	if w.constant {
		x.store(w.base, w.l, v)
		return
	}
	x.storeElement(w.base, &w.d, v)
	x.done(w.k)
}

// assign stores a local in a place.
func (x *fn) assign(pl *program.Place, v wasm.Local) { x.write(x.place(pl), v) }

var binaries = map[string]wasm.Op{
	"+": wasm.I32Add, "-": wasm.I32Sub, "*": wasm.I32Mul, "&": wasm.I32And, "|": wasm.I32Or,
	"^":  wasm.I32Xor,
	"==": wasm.I32Eq, "!=": wasm.I32Ne, "<": wasm.I32LtS, ">": wasm.I32GtS, "<=": wasm.I32LeS,
	">=": wasm.I32GeS,
	"<<": wasm.I32Shl, ">>": wasm.I32ShrS,
}

// expr pushes the value of an expression.
func (x *fn) expr(y program.Expr) {
	switch y := y.(type) {
	case *program.Const:
		x.I32(y.Value)
	case *program.Load:
		x.read(x.place(y.Place))
	case *program.Unary:
		switch y.Op {
		case "!":
			x.expr(y.X)
			x.Op(wasm.I32Eqz)
		case "-":
			x.I32(0)
			x.expr(y.X)
			x.Op(wasm.I32Sub)
		case "~":
			x.expr(y.X)
			x.I32(-1)
			x.Op(wasm.I32Xor)
		default:
			panic(beyond{})
		}
	case *program.Binary:
		x.binary(y)
	case *program.If:
		x.expr(y.C)
		x.IfValue(wasm.I32)
		x.expr(y.X)
		x.Else()
		x.expr(y.Y)
		x.End()
	case *program.Run:
		x.create(y)
	case *program.ChanOp:
		x.chanOp(y)
	case *program.Poll:
		v := x.temp()
		x.onChannel(y.Ch, func(c *channel) {
			if c.Cap == 0 {
				x.fail()
				return
			}
			x.match(c, y.Args, y.Random, v)
		})
		x.Get(v)
		x.I32(0)
		x.Op(wasm.I32GeS)
		x.done(v)
	case *program.At:
		x.remote(y.Proc, y.Pid, func(who wasm.Local) {
			x.touchOf(who, x.e.sys.locControl(0), readFlags)
		}, func(at, who wasm.Local) {
			id := -1
			if y.State != nil {
				id = y.State.ID
			}
			x.Get(at)
			x.Mem(wasm.I32Load16U, code.State+pcShift/8)
			x.I32(int32(id))
			x.Op(wasm.I32Eq)
		})
	case *program.RemoteLoad:
		x.remote(y.Proc, y.Pid, func(wasm.Local) {}, func(at, who wasm.Local) {
			w := x.at(y.Place, at, x.e.sys.procs[y.Proc.Index].lay.scalars)
			w.shared, w.owner = true, &who
			x.read(w)
		})
	case *program.Special:
		switch y.Name {
		case "timeout":
			x.I32(0) // where it decides anything, the machine is asked
		case "_pid":
			x.Get(self)
		case "_nr_pr":
			x.touch(x.e.sys.locProcesses(), readFlags)
			x.Get(cur)
			x.Mem(wasm.I32Load8U, code.State+nprocShift/8)
			x.addConst(int(x.e.sys.claims))
		case "_last":
			x.Get(cur)
			x.Mem(wasm.I32Load8U, code.State+lastShift/8)
		default:
			panic(beyond{})
		}
	default:
		panic(beyond{})
	}
}

func (x *fn) binary(y *program.Binary) {
	switch y.Op {
	case "&&", "||":
		if sabotage.Is("code/and") && y.Op == "&&" {
			x.expr(y.Y)
			return
		}
		x.expr(y.X)
		x.IfValue(wasm.I32)
		if y.Op == "&&" {
			x.expr(y.Y)
			x.I32(0)
			x.Op(wasm.I32Ne)
			x.Else()
			x.I32(0)
		} else {
			x.I32(1)
			x.Else()
			x.expr(y.Y)
			x.I32(0)
			x.Op(wasm.I32Ne)
		}
		x.End()
		return
	case "/", "%":
		a, b := x.temp(), x.temp()
		x.expr(y.X)
		x.Set(a)
		x.expr(y.Y)
		x.Tee(b)
		x.Op(wasm.I32Eqz)
		if sabotage.Is("code/divisor") {
			x.Get(b)
			x.Op(wasm.I32Or)
			x.Set(b)
		} else {
			x.BrIf(x.trouble)
		}
		// The quotient of the smallest number and -1 is none to the processor.
		x.Get(b)
		x.I32(-1)
		x.Op(wasm.I32Eq)
		x.IfValue(wasm.I32)
		x.I32(0)
		if y.Op == "/" {
			x.Get(a)
			x.Op(wasm.I32Sub)
		}
		x.Else()
		x.Get(a)
		x.Get(b)
		if y.Op == "/" {
			x.Op(wasm.I32DivS)
		} else {
			x.Op(wasm.I32RemS)
		}
		x.End()
		x.done(a, b)
		return
	}
	op, ok := binaries[y.Op]
	if !ok {
		panic(beyond{})
	}
	if sabotage.Is("code/branch") && op == wasm.I32LtS {
		op = wasm.I32LeS
	}
	x.expr(y.X)
	x.expr(y.Y)
	x.Op(op)
}

// remote pushes what f pushes of another process, from its address and its number; 0 if there is no
// such process. exists notes what is read once there is any process with that number.
func (x *fn) remote(p *program.Proc, pid program.Expr, exists func(who wasm.Local),
	f func(at, who wasm.Local)) {
	at := x.temp()
	if pid == nil {
		panic(beyond{})
	}
	u := x.temp()
	x.touch(x.e.sys.locProcesses(), readFlags)
	x.expr(pid)
	x.Tee(u)
	x.Get(cur)
	x.Mem(wasm.I32Load8U, code.State+nprocShift/8)
	x.Op(wasm.I32LtU)
	x.IfValue(wasm.I32)
	if !sabotage.Is("code/remote") {
		exists(u)
	}
	x.Get(cur)
	x.Get(u)
	x.Call(x.e.base)
	x.Tee(at)
	x.Mem(wasm.I32Load8U, code.State+procShift/8)
	x.I32(int32(p.Index))
	x.Op(wasm.I32Eq)
	x.IfValue(wasm.I32)
	f(at, u)
	x.Else()
	x.I32(0)
	x.End()
	x.Else()
	x.I32(0)
	x.End()
	x.done(at, u)
}

// known returns the channel that an expression always is, or for a variable that keeps the
// channels of its declaration those that it can be.
func (e *emitter) known(ch program.Expr) (ids []int, ok bool) {
	l, is := ch.(*program.Load)
	if !is || !l.Place.Global || l.Place.Sym.Chans == nil || e.sys.stored[l.Place.Sym] {
		return nil, false
	}
	return l.Place.Sym.Chans, true
}

// channelID pushes the number of the channel that an expression is.
func (x *fn) channelID(ch program.Expr) {
	l, _ := ch.(*program.Load)
	ids, ok := x.e.known(ch)
	if !ok {
		x.expr(ch)
		return
	}
	first := l.Place.Sym.Base
	if k, is := fixed(l.Place); is {
		x.I32(int32(ids[k-first]) + 1)
		return
	}
	k, _ := x.index(l.Place)
	table := make([]int32, len(ids))
	for i, id := range ids {
		table[i] = int32(id) + 1
	}
	at := x.e.Table(table)
	x.Get(k)
	x.I32(int32(first))
	x.Op(wasm.I32Sub)
	x.I32(2)
	x.Op(wasm.I32Shl)
	x.Mem(wasm.I32Load, at)
	x.done(k)
}

// onChannel does f with the channel that an expression is: f is called for each that it can be.
func (x *fn) onChannel(ch program.Expr, f func(c *channel)) {
	all := x.e.sys.chans
	var can []int
	if ids, ok := x.e.known(ch); ok {
		if k, is := fixed(ch.(*program.Load).Place); is {
			f(all[ids[k-ch.(*program.Load).Place.Sym.Base]].c)
			return
		}
		can = slices.Clone(ids)
		slices.Sort(can)
		can = slices.Compact(can)
	} else {
		for i := range all {
			can = append(can, i)
		}
	}
	if len(can) > maxCandidates || len(can) == 0 {
		panic(beyond{})
	}
	id := x.temp()
	x.channelID(ch)
	x.Set(id)
	end := x.Block()
	bad := x.Block()
	labels := make([]wasm.Label, len(can))
	for i := range can {
		labels[len(can)-1-i] = x.Block()
	}
	targets := slices.Repeat([]wasm.Label{bad}, len(all)+2)
	for i, c := range can {
		targets[c+1] = labels[i]
	}
	x.Get(id)
	x.BrTable(targets...)
	for _, c := range can {
		x.End()
		f(all[c].c)
		x.Br(end)
	}
	x.End()
	x.fail()
	x.End()
	x.done(id)
}

func (x *fn) chanOp(y *program.ChanOp) {
	v := x.temp()
	x.onChannel(y.Ch, func(c *channel) {
		if c.Cap == 0 {
			r := int32(1) // empty, nfull
			if y.Op == "len" || y.Op == "nempty" || y.Op == "full" {
				r = 0
			}
			x.I32(r)
			x.Set(v)
			return
		}
		x.length(c)
		switch y.Op {
		case "len":
		case "nempty":
			x.I32(0)
			x.Op(wasm.I32GtS)
		case "full":
			x.I32(int32(c.Cap))
			x.Op(wasm.I32GeS)
		case "nfull":
			x.I32(int32(c.Cap))
			x.Op(wasm.I32LtS)
		case "empty":
			x.Op(wasm.I32Eqz)
		default:
			panic(beyond{})
		}
		x.Set(v)
	})
	x.Get(v)
	x.done(v)
}

// length pushes how many messages a channel with a buffer holds.
func (x *fn) length(c *channel) {
	x.touchChannel(c, readFlags)
	x.load(cur, &c.scalars[0])
}

// message describes field f of the message in a slot of a channel, whose number is in a
// local. k is a local to use.
func (x *fn) message(c *channel, f int, slot, k wasm.Local) code.Element {
	n := len(c.Fields)
	numbers := make([]int, c.Cap)
	for s := range c.Cap {
		numbers[s] = 1 + s*n + f
	}
	x.Get(slot)
	if n > 1 {
		x.I32(int32(n))
		x.Op(wasm.I32Mul)
	}
	x.addConst(1 + f)
	x.Set(k)
	return x.element(cur, c.scalars, k, numbers)
}

// match sets a local to the slot of the message that a receive takes from a channel with a
// buffer, -1 if none.
func (x *fn) match(c *channel, args []program.RecvArg, random bool, slot wasm.Local) {
	n, k := x.temp(), x.temp()
	x.length(c)
	x.Set(n)
	x.I32(0)
	x.Set(slot)
	found := x.Block()
	var next wasm.Label
	if random {
		next = x.Loop()
	}
	none := x.Block()
	x.Get(slot)
	x.Get(n)
	x.Op(wasm.I32GeS)
	x.BrIf(none)
	differs := x.Block()
	for f, a := range args {
		if a.Match == nil {
			continue
		}
		x.expr(a.Match)
		switch {
		case f >= len(c.Fields):
			x.I32(0)
		case random:
			d := x.message(c, f, slot, k)
			x.loadElement(&d)
		default:
			x.load(cur, &c.scalars[1+f])
		}
		x.Op(wasm.I32Ne)
		if sabotage.Is("code/match") {
			x.Op(wasm.Drop)
			continue
		}
		x.BrIf(differs)
	}
	x.Br(found)
	x.End()
	if random {
		x.Get(slot)
		x.I32(1)
		x.Op(wasm.I32Add)
		x.Set(slot)
		x.Br(next)
	}
	x.End()
	x.I32(-1)
	x.Set(slot)
	if random {
		x.End() // next
	}
	x.End()
	x.done(n, k)
}

// move copies the message in slot from to slot to.
func (x *fn) move(c *channel, to, from wasm.Local) {
	k, v := x.temp(), x.temp()
	for f := range c.Fields {
		d := x.message(c, f, from, k)
		x.loadElement(&d)
		x.Set(v)
		d = x.message(c, f, to, k)
		x.storeElement(cur, &d, v)
	}
	x.done(k, v)
}

// truncated gives the value on the stack a type.
func (x *fn) truncated(t *program.Type) { x.Narrow(t.Bits, t.Signed) }

// enabled pushes whether an edge can be taken, a rendezvous and else aside.
func (x *fn) enabled(e *edge) {
	src := e.src
	switch src.Kind {
	case program.Skip, program.Assign, program.Assert, program.Print, program.Clear:
		x.I32(1)
	case program.Cond:
		if program.Runs(src.X) > 0 {
			panic(beyond{})
		}
		x.expr(src.X)
	case program.Send:
		v := x.temp()
		x.onChannel(src.Ch, func(c *channel) {
			switch {
			case c.Cap == 0:
				x.fail()
				return
			case x.e.sys.lossy:
				x.I32(1)
			default:
				x.length(c)
				x.I32(int32(c.Cap))
				if sabotage.Is("code/full") {
					x.Op(wasm.I32LeS)
				} else {
					x.Op(wasm.I32LtS)
				}
			}
			x.Set(v)
		})
		x.Get(v)
		x.done(v)
	case program.Recv:
		v := x.temp()
		x.onChannel(src.Ch, func(c *channel) {
			if c.Cap == 0 {
				x.I32(-1)
				x.Set(v)
				return
			}
			x.match(c, src.Recv, src.Random, v)
		})
		x.Get(v)
		x.I32(0)
		x.Op(wasm.I32GeS)
		x.done(v)
	default:
		panic(beyond{})
	}
}

// emitGather makes the function that lists the options of a process in a control state.
func (e *emitter) emitGather(f *wasm.Func, p *proctype, s *state) {
	e.function(f, p, -1, func(x *fn) {
		const list = wasm.Local(3)
		end := x.Local(wasm.I32)
		x.permitted(s, func() {
			x.I32(0)
			x.Op(wasm.Return)
		})
		x.Get(list)
		x.Set(end)
		add := func(exec int32) {
			x.Get(end)
			x.I64(int64(exec))
			x.Mem(wasm.I64Store, 0)
			x.Get(end)
			x.I32(entry)
			x.Op(wasm.I32Add)
			x.Set(end)
		}
		count := func() {
			x.Get(end)
			x.Get(list)
			x.Op(wasm.I32Sub)
			x.I32(3)
			x.Op(wasm.I32ShrU)
			if p.Decl.Deterministic { // a choice may be an error
				n := x.temp()
				x.Tee(n)
				x.I32(1)
				x.Op(wasm.I32GtU)
				x.BrIf(x.trouble)
				x.Get(n)
				x.done(n)
			}
		}
		if s.final {
			x.touch(x.e.sys.locProcesses(), readFlags)
			x.Get(self)
			x.Get(cur)
			x.Mem(wasm.I32Load8U, code.State+nprocShift/8)
			x.I32(1)
			x.Op(wasm.I32Sub, wasm.I32Eq)
			x.If()
			add(e.edge(p, death))
			x.End()
			count()
			x.Op(wasm.Return)
			return
		}
		try := func(y *edge) {
			if y.kind == program.Send && x.e.mayMeet(y.src.Ch) {
				x.onChannel(y.src.Ch, func(c *channel) {
					if c.Cap > 0 {
						if !e.sys.lossy {
							x.length(c)
							x.I32(int32(c.Cap))
							x.Op(wasm.I32LtS)
							x.If()
						}
						add(e.edge(p, y))
						x.continues(y)
						if !e.sys.lossy {
							x.End()
						}
						return
					}
					x.evaluate(c, y)
					x.touch(e.sys.locProcesses(), readFlags)
					old := x.temp()
					x.Get(cur)
					x.Get(self)
					x.channelID(y.src.Ch)
					x.Get(end)
					x.Tee(old)
					x.I32(e.edge(p, y))
					x.Call(e.meet)
					x.Tee(end)
					x.Op(wasm.I32Eqz)
					x.BrIf(x.trouble)
					x.Get(end)
					x.Get(old)
					x.Op(wasm.I32Ne)
					x.If()
					x.continues(y)
					x.End()
					x.done(old)
				})
				return
			}
			x.can(y, func() {
				x.Get(end)
				x.Get(list)
				x.Op(wasm.I32Eq)
			}, func() {
				add(e.edge(p, y))
				x.continues(y)
			})
		}
		for i, y := range s.escapes {
			if y.e.kind == program.Send && x.e.mayMeet(y.e.src.Ch) {
				panic(beyond{})
			}
			if i > 0 && y.from != s.escapes[i-1].from {
				if slices.ContainsFunc(s.escapes[:i], func(z escape) bool {
					return z.from == y.from
				}) {
					panic(beyond{})
				}
				x.settle(end, list, count)
			}
			try(y.e)
		}
		if len(s.escapes) > 0 {
			x.settle(end, list, count)
		}
		for _, y := range s.edges {
			try(y)
		}
		if s.waits {
			x.Get(end)
			x.Get(list)
			x.Op(wasm.I32Eq)
			x.BrIf(x.trouble)
		}
		count()
		x.Op(wasm.Return)
	})
}

// permitted returns from the function, by what refuse does, if the provided clause of the process
// does not hold.
func (x *fn) permitted(s *state, refuse func()) {
	if x.p.Provided == nil || sabotage.Is("code/provided") {
		return
	}
	x.expr(x.p.Provided)
	x.Op(wasm.I32Eqz)
	x.If()
	if s.waits { // whether timeout is true is asked of the machine
		x.fail()
	}
	refuse()
	x.End()
}

// settle returns what has been listed if anything has.
func (x *fn) settle(end, list wasm.Local, count func()) {
	x.Get(end)
	x.Get(list)
	x.Op(wasm.I32Ne)
	x.If()
	count()
	x.Op(wasm.Return)
	x.End()
}

// mayMeet tells whether an expression may be a channel without capacity.
func (e *emitter) mayMeet(ch program.Expr) bool {
	ids, ok := e.known(ch)
	if !ok {
		return e.sys.meets
	}
	return slices.ContainsFunc(ids, func(id int) bool { return e.sys.chans[id].c.Cap == 0 })
}

// evaluate puts the message that an edge sends to a channel where the receivers look for it.
func (x *fn) evaluate(c *channel, e *edge) {
	if len(c.Fields) > maxFields || len(e.src.Args) != len(c.Fields) {
		x.fail()
		return
	}
	v := x.temp()
	for i, t := range c.Fields {
		x.expr(e.src.Args[i])
		x.truncated(t)
		x.Set(v)
		x.I32(0)
		x.Get(v)
		x.Mem(wasm.I32Store, atMessage+4*i)
	}
	x.I32(0)
	x.I32(int32(len(c.Fields)))
	x.Mem(wasm.I32Store, atFields)
	x.done(v)
}

// emitReceivers makes the function that lists what a process in a control state does with a
// message that is being sent to a channel without capacity.
func (e *emitter) emitReceivers(f *wasm.Func, p *proctype, s *state) {
	const id, list, sender = wasm.Local(3), wasm.Local(4), wasm.Local(5)
	if !s.ready && !(p.ready && e.Accesses) {
		f.Get(list)
		return
	}
	e.function(f, p, 0, func(x *fn) {
		x.touchOf(self, e.sys.locReady(0), readFlags)
		if !s.ready {
			x.Get(list)
			x.Op(wasm.Return)
			return
		}
		if len(s.escapes) > 0 {
			panic(beyond{})
		}
		end := x.Local(wasm.I32)
		x.permitted(s, func() {
			x.Get(list)
			x.Op(wasm.Return)
		})
		x.Get(list)
		x.Set(end)
		for _, y := range s.edges {
			if y.kind == program.DStep && y.src.Inner != nil &&
				slices.ContainsFunc(y.src.Inner.Edges, (&coder{sys: e.sys}).receives) {
				panic(beyond{})
			}
			if y.kind != program.Recv || !x.e.mayMeet(y.src.Ch) {
				x.notReceived(y)
				continue
			}
			no := x.Block()
			x.channelID(y.src.Ch)
			x.Get(id)
			x.Op(wasm.I32Ne)
			x.BrIf(no)
			// The number of fields must be right, or it is an error, which the machine tells.
			x.I32(0)
			x.Mem(wasm.I32Load, atFields)
			x.I32(int32(len(y.src.Recv)))
			x.Op(wasm.I32Ne)
			x.BrIf(x.trouble)
			for i, a := range y.src.Recv {
				if a.Match == nil {
					continue
				}
				x.expr(a.Match)
				x.I32(0)
				x.Mem(wasm.I32Load, atMessage+4*i)
				x.Op(wasm.I32Ne)
				x.BrIf(no)
			}
			x.Get(end)
			x.Get(sender)
			x.Mem(wasm.I32Store, 0)
			x.Get(end)
			x.Get(self)
			x.I32(16)
			x.Op(wasm.I32Shl)
			x.I32(e.take(p, y))
			x.Op(wasm.I32Or)
			x.Mem(wasm.I32Store, 4)
			x.Get(end)
			x.I32(entry)
			x.Op(wasm.I32Add)
			x.Set(end)
			x.continues(y)
			x.End()
		}
		x.Get(end)
		x.Op(wasm.Return)
	})
}

// What a function that takes an edge returns: 0 in trouble, stepDone, or goesOn with the process
// that goes on, times 4.
const (
	stepDone = 1
	goesOn   = 2
)

// take returns the place in the table of the function that takes the receiver's part of a
// rendezvous.
func (e *emitter) take(p *proctype, y *edge) int32 {
	if at, ok := e.accept[y]; ok {
		return at
	}
	f := e.Func(slices.Repeat([]wasm.Type{wasm.I32}, 3), []wasm.Type{wasm.I32})
	at := e.Elem(f)
	if at >= 1<<16 {
		panic(beyond{})
	}
	e.accept[y] = at
	of := e.of
	e.todo = append(e.todo, func() {
		e.of = of
		e.function(f, p, 0, func(x *fn) {
			v := x.temp()
			for i, a := range y.src.Recv {
				if a.Place == nil {
					continue
				}
				x.I32(0)
				x.Mem(wasm.I32Load, atMessage+4*i)
				x.Set(v)
				x.assign(a.Place, v)
			}
			x.arrive(y)
			x.flush()
			x.goOn(y, self)
		})
	})
	return at
}

// goOn returns from a function that has taken an edge.
func (x *fn) goOn(y *edge, who wasm.Local) {
	if y.atomic && !sabotage.Is("code/atomic") {
		x.Get(who)
		x.I32(2)
		x.Op(wasm.I32Shl)
		x.I32(goesOn)
		x.Op(wasm.I32Or)
	} else {
		x.I32(stepDone)
	}
	x.Op(wasm.Return)
}

// arrive moves the process to where an edge leads, as setPC and bury do.
func (x *fn) arrive(y *edge) {
	x.leaves(y)
	x.Get(fb)
	x.I32(y.to)
	x.Mem(wasm.I32Store16, code.State+pcShift/8)
	x.wrote(fb, 0)
	if !sabotage.Is("code/note") {
		x.e.Tell(x.Func, x.p.first+y.to)
	}
	for i := range y.dead {
		if sabotage.Is("code/dead") {
			break
		}
		x.storeConst(fb, &y.dead[i], 0)
	}
}

// edge returns the place in the table of the function that takes an edge.
func (e *emitter) edge(p *proctype, y *edge) int32 {
	if at, ok := e.edges[y]; ok {
		return at
	}
	f := e.Func(slices.Repeat([]wasm.Type{wasm.I32}, 4), []wasm.Type{wasm.I32})
	at := e.Elem(f)
	e.edges[y] = at
	of := e.of
	e.todo = append(e.todo, func() {
		e.of = of
		e.function(f, p, 0, func(x *fn) { x.execute(y) })
	})
	return at
}

// execute is Machine.execute.
func (x *fn) execute(y *edge) {
	const partner = wasm.Local(3)
	if y == death {
		e := x.e
		x.touchOf(self, e.sys.locControl(0), writeFlags)
		x.touch(e.sys.locProcesses(), writeFlags)
		e.SetWords(x.Func, cur, func() {
			x.Get(fb)
			x.Get(cur)
			x.Op(wasm.I32Sub)
			x.I32(3)
			x.Op(wasm.I32ShrU)
		})
		x.Get(cur)
		x.Get(self)
		x.Mem(wasm.I32Store8, code.State+nprocShift/8)
		x.last(self)
		x.I32(stepDone)
		x.Op(wasm.Return)
		return
	}
	if y.kind == program.Send && x.e.mayMeet(y.src.Ch) {
		x.onChannel(y.src.Ch, func(c *channel) {
			if c.Cap > 0 {
				x.send(c, y)
				return
			}
			x.quietly(func() { x.evaluate(c, y) })
			who, at := x.temp(), x.temp()
			x.Get(partner)
			x.I32(16)
			x.Op(wasm.I32ShrU)
			x.Set(who)
			// As setPC; what is dead dies when the receiver has got its message.
			x.leaves(y)
			x.Get(fb)
			x.I32(y.to)
			x.Mem(wasm.I32Store16, code.State+pcShift/8)
			x.wrote(fb, 0)
			x.e.Tell(x.Func, x.p.first+y.to)
			x.Get(cur)
			x.Get(who)
			x.Get(cur)
			x.Get(who)
			x.Call(x.e.base)
			x.Get(partner)
			x.I32(0xffff)
			x.Op(wasm.I32And)
			x.CallIndirect(x.e.takes)
			x.Tee(at)
			x.Op(wasm.I32Eqz)
			x.BrIf(x.trouble)
			for i := range y.dead {
				x.storeConst(fb, &y.dead[i], 0)
			}
			x.last(who)
			x.flush()
			x.Get(at)
			x.Op(wasm.Return)
			x.done(who, at)
		})
	} else {
		x.run(y)
	}
	x.arrive(y)
	x.last(self)
	x.flush()
	x.goOn(y, self)
}

// last sets _last.
func (x *fn) last(who wasm.Local) {
	if x.e.sys.prog.UsesLast {
		x.Get(cur)
		x.Get(who)
		x.Mem(wasm.I32Store8, code.State+lastShift/8)
		x.wrote(cur, 0)
	}
}

// run is Machine.run: what an edge does, without the move.
func (x *fn) run(y *edge) {
	src := y.src
	switch src.Kind {
	case program.Skip, program.Clear, program.Else:
	case program.Cond:
		if program.Runs(src.X) > 0 {
			x.expr(src.X)
			x.Op(wasm.Drop)
		}
	case program.Assign:
		x.assignment(src)
	case program.Assert:
		x.expr(src.X)
		x.Op(wasm.I32Eqz)
		x.BrIf(x.trouble)
	case program.Print:
		for _, a := range src.Args {
			x.expr(a)
			x.Op(wasm.Drop)
		}
	case program.Send:
		x.onChannel(src.Ch, func(c *channel) {
			if c.Cap == 0 {
				x.fail()
				return
			}
			x.send(c, y)
		})
	case program.Recv:
		x.onChannel(src.Ch, func(c *channel) {
			if c.Cap == 0 || len(c.Fields) != len(src.Recv) && !src.Peek {
				x.fail()
				return
			}
			x.receive(c, y)
		})
	case program.DStep:
		x.dstep(y)
	default:
		panic(beyond{})
	}
}

// assignment is an edge that is an assignment.
func (x *fn) assignment(src *program.Edge) {
	v := x.temp()
	if adds(src) && !sabotage.Is("code/sum") {
		x.quietly(func() {
			x.expr(src.X)
			x.Set(v)
			x.assign(src.Place, v)
		})
		x.touch(system.Loc(src.Place.Base), code.Flags(true, system.Sum, system.Unlimited))
	} else {
		x.expr(src.X)
		x.Set(v)
		x.assign(src.Place, v)
	}
	x.done(v)
}

// send is Machine.send to a channel with a buffer.
func (x *fn) send(c *channel, y *edge) {
	if len(y.src.Args) != len(c.Fields) {
		x.fail()
		return
	}
	var vals []wasm.Local
	for i, t := range c.Fields {
		v := x.temp()
		x.expr(y.src.Args[i])
		x.truncated(t)
		x.Set(v)
		vals = append(vals, v)
	}
	n, slot, k, to := x.temp(), x.temp(), x.temp(), x.temp()
	full := x.Block()
	if x.e.sys.lossy { // otherwise it was asked whether there is room
		x.touchChannel(c, readFlags)
	}
	x.load(cur, &c.scalars[0])
	x.Tee(n)
	x.Tee(slot)
	x.I32(int32(c.Cap))
	x.Op(wasm.I32GeS)
	x.BrIf(full)
	x.touchChannel(c, writeFlags)
	if y.src.Sorted {
		x.I32(0)
		x.Set(slot)
		found := x.Block()
		next := x.Loop()
		x.Get(slot)
		x.Get(n)
		x.Op(wasm.I32GeS)
		x.BrIf(found)
		// While the message there is not greater than the one that is being sent.
		less := x.Block()
		for f := range vals {
			d := x.message(c, f, slot, k)
			x.loadElement(&d)
			x.Tee(to)
			x.Get(vals[f])
			x.Op(wasm.I32LtS)
			x.BrIf(less)
			x.Get(to)
			x.Get(vals[f])
			x.Op(wasm.I32Ne)
			x.BrIf(found)
		}
		x.End()
		x.Get(slot)
		x.I32(1)
		x.Op(wasm.I32Add)
		x.Set(slot)
		x.Br(next)
		x.End()
		x.End()
		from := x.temp()
		x.Get(n)
		x.Set(to)
		moved := x.Block()
		again := x.Loop()
		x.Get(to)
		x.Get(slot)
		x.Op(wasm.I32LeS)
		x.BrIf(moved)
		x.Get(to)
		x.I32(1)
		x.Op(wasm.I32Sub)
		x.Set(from)
		x.move(c, to, from)
		x.Get(from)
		x.Set(to)
		x.Br(again)
		x.End()
		x.End()
		x.done(from)
	}
	for f := range vals {
		d := x.message(c, f, slot, k)
		x.storeElement(cur, &d, vals[f])
	}
	x.Get(n)
	x.I32(1)
	x.Op(wasm.I32Add)
	x.Set(n)
	x.store(cur, &c.scalars[0], n)
	x.End()
	x.done(vals...)
	x.done(n, slot, k, to)
}

// receive is Machine.receive from a channel with a buffer.
func (x *fn) receive(c *channel, y *edge) {
	src := y.src
	slot, n, k, next := x.temp(), x.temp(), x.temp(), x.temp()
	x.quietly(func() { x.match(c, src.Recv, src.Random, slot) })
	x.Get(slot)
	x.I32(0)
	x.Op(wasm.I32LtS)
	x.BrIf(x.trouble)
	var vals []wasm.Local
	for f := range c.Fields {
		v := x.temp()
		d := x.message(c, f, slot, k)
		x.loadElement(&d)
		x.Set(v)
		vals = append(vals, v)
	}
	if !src.Peek {
		x.touchChannel(c, writeFlags)
		x.load(cur, &c.scalars[0])
		x.I32(1)
		x.Op(wasm.I32Sub)
		x.Set(n)
		if c.Cap > 1 && !sabotage.Is("code/shift") {
			moved := x.Block()
			again := x.Loop()
			x.Get(slot)
			x.Get(n)
			x.Op(wasm.I32GeS)
			x.BrIf(moved)
			x.Get(slot)
			x.I32(1)
			x.Op(wasm.I32Add)
			x.Set(next)
			x.move(c, slot, next)
			x.Get(next)
			x.Set(slot)
			x.Br(again)
			x.End()
			x.End()
		}
		zero := x.temp()
		x.I32(0)
		x.Set(zero)
		for f := range c.Fields {
			d := x.message(c, f, n, k)
			x.storeElement(cur, &d, zero)
		}
		x.done(zero)
		x.store(cur, &c.scalars[0], n)
	}
	for i, a := range src.Recv {
		if a.Place != nil && i < len(vals) {
			x.assign(a.Place, vals[i])
		}
	}
	x.done(vals...)
	x.done(slot, n, k, next)
}

// dstep is Machine.dstep.
func (x *fn) dstep(y *edge) {
	list, inner, cyclic := x.within(y.inner)
	steps := x.temp()
	if cyclic {
		x.I32(code.ListBytes) // a d_step that takes longer is the machine's
		x.Set(steps)
	}
	succ := make([][]int, len(list))
	for i, s := range list {
		for _, f := range s.edges {
			if !f.leaves {
				succ[i] = append(succ[i], inner[&x.p.states[f.to]])
			}
		}
		if s.fall != nil {
			succ[i] = append(succ[i], inner[s.fall])
		}
	}
	again := func() {
		x.e.Within(x.Func, cur)
		x.e.Within(x.Func, fb)
	}
	over := x.Block()
	ok := code.Blocks(x.Func, succ, again, func(i int, jump func(to int)) {
		proceed := func(to *state) {
			if inner[to] <= i {
				x.Get(steps)
				x.I32(1)
				x.Op(wasm.I32Sub)
				x.Tee(steps)
				x.Op(wasm.I32Eqz)
				x.BrIf(x.trouble)
			}
			jump(inner[to])
		}
		for _, f := range list[i].edges {
			if f.kind == program.Send && x.e.mayMeet(f.src.Ch) {
				panic(beyond{})
			}
			certain := f.kind == program.Else || f.plain && f.can == nil
			if !certain {
				x.enabled(f)
				x.If()
			}
			x.run(f)
			if f.leaves {
				x.Br(over)
			} else {
				proceed(&x.p.states[f.to])
			}
			if certain {
				return
			}
			x.End()
		}
		if list[i].fall == nil {
			x.fail()
			return
		}
		proceed(list[i].fall)
	})
	if !ok {
		panic(beyond{})
	}
	x.End()
	x.done(steps)
}

// within returns the states of a d_step from one on, in an order in which all edges lead to later
// ones but those of loops, and their places in it. cyclic tells whether there are loops.
func (x *fn) within(from *state) (list []*state, places map[*state]int, cyclic bool) {
	open, done := map[*state]bool{}, map[*state]bool{}
	var visit func(s *state)
	visit = func(s *state) {
		if s == nil || done[s] {
			return
		}
		if open[s] {
			cyclic = true
			return
		}
		open[s] = true
		visit(s.fall)
		for _, f := range slices.Backward(s.edges) {
			if f.kind == program.DStep {
				panic(beyond{})
			}
			if !f.leaves {
				visit(&x.p.states[f.to])
			}
		}
		open[s], done[s] = false, true
		list = append(list, s)
	}
	visit(from)
	slices.Reverse(list)
	places = map[*state]int{}
	for i, s := range list {
		places[s] = i
	}
	return list, places, cyclic
}

// emitBase makes the function that finds a process.
func (e *emitter) emitBase() *wasm.Func {
	f := e.Func([]wasm.Type{wasm.I32, wasm.I32}, []wasm.Type{wasm.I32})
	const state, u = wasm.Local(0), wasm.Local(1)
	at := f.Local(wasm.I32)
	f.Get(state)
	f.I32(int32(8 * e.sys.globals.words))
	f.Op(wasm.I32Add)
	f.Set(at)
	done := f.Block()
	loop := f.Loop()
	f.Get(u)
	f.Op(wasm.I32Eqz)
	f.BrIf(done)
	e.step(f, at)
	f.Get(u)
	f.I32(1)
	f.Op(wasm.I32Sub)
	f.Set(u)
	f.Br(loop)
	f.End()
	f.End()
	f.Get(at)
	return f
}

// step advances the address of a process to the one behind it.
func (e *emitter) step(f *wasm.Func, at wasm.Local) {
	f.Get(at)
	f.Get(at)
	f.Mem(wasm.I32Load8U, code.State+procShift/8)
	f.I32(2)
	f.Op(wasm.I32Shl)
	f.Mem(wasm.I32Load, e.words)
	f.Op(wasm.I32Add)
	f.Set(at)
}

// controlState pushes the number among all of the control state of the process at an address.
func (e *emitter) controlState(f *wasm.Func, at wasm.Local) {
	f.Get(at)
	f.Mem(wasm.I32Load8U, code.State+procShift/8)
	f.I32(2)
	f.Op(wasm.I32Shl)
	f.Mem(wasm.I32Load, e.first)
	f.Get(at)
	f.Mem(wasm.I32Load16U, code.State+pcShift/8)
	f.Op(wasm.I32Add)
}

// emitMeet makes the function that lists the receivers of the message that is being sent: it
// takes the state, the sender, the channel, the list and the sender's function, and returns the
// end of the list; 0 in trouble.
func (e *emitter) emitMeet() *wasm.Func {
	f := e.Func(slices.Repeat([]wasm.Type{wasm.I32}, 5), []wasm.Type{wasm.I32})
	const state, t, id, list, sender = wasm.Local(0), wasm.Local(1), wasm.Local(2), wasm.Local(3),
		wasm.Local(4)
	u, at, n := f.Local(wasm.I32), f.Local(wasm.I32), f.Local(wasm.I32)
	f.Get(state)
	f.Mem(wasm.I32Load8U, code.State+nprocShift/8)
	f.Set(n)
	f.Get(state)
	f.I32(int32(8 * e.sys.globals.words))
	f.Op(wasm.I32Add)
	f.Set(at)
	done := f.Block()
	loop := f.Loop()
	f.Get(u)
	f.Get(n)
	f.Op(wasm.I32GeS)
	f.BrIf(done)
	f.Get(u)
	f.Get(t)
	f.Op(wasm.I32Ne)
	f.If()
	for _, l := range []wasm.Local{state, u, at, id, list, sender} {
		f.Get(l)
	}
	e.controlState(f, at)
	f.I32(e.recv0)
	f.Op(wasm.I32Add)
	f.CallIndirect(e.receivers)
	f.Tee(list)
	f.Op(wasm.I32Eqz)
	f.BrIf(done)
	f.End()
	e.step(f, at)
	f.Get(u)
	f.I32(1)
	f.Op(wasm.I32Add)
	f.Set(u)
	f.Br(loop)
	f.End()
	f.End()
	f.Get(list)
	return f
}

// maxDepth bounds the choices behind each other in one transition.
const maxDepth = 64

// emitBranch makes the function that takes each of some options from a state, and goes on behind
// it: state, process, its address, options, number and weight of the alternative, list,
// depth. It returns how many outcomes there are; 0 in trouble.
func (e *emitter) emitBranch(chain *wasm.Func) {
	f := e.branch
	const state, t, at, count, alt, weight, list, depth = wasm.Local(0), wasm.Local(1),
		wasm.Local(2), wasm.Local(3), wasm.Local(4), wasm.Local(5), wasm.Local(6), wasm.Local(7)
	k, to, r, item := f.Local(wasm.I32), f.Local(wasm.I32), f.Local(wasm.I32), f.Local(wasm.I32)
	number := f.Local(wasm.I64)
	ends, note, shared := f.Local(wasm.I32), f.Local(wasm.I32), e.Shared(f)
	e.choose(f, count, shared)
	trouble := f.Block()
	done := f.Block()
	f.Get(alt)
	f.Set(number)
	f.Get(list)
	f.Set(item)
	loop := f.Loop()
	f.Get(k)
	f.Get(count)
	f.Op(wasm.I32GeS)
	f.BrIf(done)
	e.Open(f, state)
	f.Tee(to)
	f.Op(wasm.I32Eqz)
	f.BrIf(trouble)
	e.chosen(f, count, shared)
	f.GetGlobal(e.Note)
	f.Set(note)
	f.Get(depth)
	f.If()
	e.Inherit(f, to, state)
	f.End()
	f.Get(to)
	f.Get(t)
	f.Get(at)
	f.Get(state)
	f.Op(wasm.I32Sub)
	f.Get(to)
	f.Op(wasm.I32Add)
	f.Get(item)
	f.Mem(wasm.I32Load, 4)
	f.Get(item)
	f.Mem(wasm.I32Load, 0)
	f.CallIndirect(e.executes)
	f.Tee(r)
	f.Op(wasm.I32Eqz)
	f.BrIf(trouble)
	f.Get(r)
	f.I32(stepDone)
	f.Op(wasm.I32Eq)
	f.If()
	e.close(f, to, number)
	f.I32(1)
	f.Set(r)
	f.Else()
	f.Get(to)
	f.Get(r)
	f.Get(number)
	f.Get(weight)
	f.Get(count)
	f.Op(wasm.I64ExtendI32U, wasm.I64Mul)
	f.Get(list)
	f.Get(count)
	f.I32(3)
	f.Op(wasm.I32Shl, wasm.I32Add)
	f.Get(depth)
	f.I32(1)
	f.Op(wasm.I32Add)
	f.Get(note)
	f.Call(chain)
	f.Tee(r)
	f.Op(wasm.I32Eqz)
	f.BrIf(trouble)
	f.End()
	f.Get(ends)
	f.Get(r)
	f.Op(wasm.I32Add)
	f.Set(ends)
	f.Get(number)
	f.Get(weight)
	f.Op(wasm.I64Add)
	f.Set(number)
	f.Get(item)
	f.I32(entry)
	f.Op(wasm.I32Add)
	f.Set(item)
	f.Get(k)
	f.I32(1)
	f.Op(wasm.I32Add)
	f.Set(k)
	f.Br(loop)
	f.End()
	f.End()
	f.Get(ends)
	f.Op(wasm.Return)
	f.End()
	f.I32(0)
}

// close ends an outcome: hidden variables that pass are 0, and the thread is that of the
// transition.
func (e *emitter) close(f *wasm.Func, state, number wasm.Local) {
	if len(e.sys.passing) > 0 {
		x := &fn{Values: code.Values{Func: f, Type: wasm.I32}, e: e, p: e.sys.procs[0]}
		v := f.Local(wasm.I32)
		var words uint64
		for _, k := range e.sys.passing {
			l := &e.sys.globals.scalars[k]
			x.store(state, l, v)
			if l.word < 64 {
				words |= 1 << l.word
			}
		}
		e.Changed(f, state, func() { f.I64(int64(words)) })
	}
	t := f.Local(wasm.I32)
	f.I32(0)
	f.Mem(wasm.I32Load, atThread)
	f.Set(t)
	e.Close(f, state, t, func() { f.Get(number) })
}

// atThread is where the thread stands whose steps are executed.
const atThread = code.Scratch + 4

// emitChain makes the function that goes on in an atomic sequence, in an outcome that is
// open: state, what the last step returned, number and weight of the alternative, list,
// depth, the first note of that step. It returns how many outcomes there are; 0 in trouble. A step
// counts once for each outcome behind it, as where the machine executes each way from the start.
func (e *emitter) emitChain(most int) *wasm.Func {
	f := e.Func([]wasm.Type{wasm.I32, wasm.I32, wasm.I64, wasm.I64, wasm.I32, wasm.I32, wasm.I32},
		[]wasm.Type{wasm.I32})
	const state, r, alt, weight, list, depth, note = wasm.Local(0), wasm.Local(1), wasm.Local(2),
		wasm.Local(3), wasm.Local(4), wasm.Local(5), wasm.Local(6)
	noted := f.Local(wasm.I32)
	t, at, count := f.Local(wasm.I32), f.Local(wasm.I32), f.Local(wasm.I32)
	trouble := f.Block()
	f.Get(depth)
	f.I32(maxDepth)
	f.Op(wasm.I32GtU)
	f.BrIf(trouble)
	f.Get(list)
	f.I32(int32(code.Lists + code.ListBytes - entry*most))
	f.Op(wasm.I32GtU)
	f.BrIf(trouble)
	f.Get(weight)
	f.I64(1 << 50)
	f.Op(wasm.I64GtU)
	f.BrIf(trouble)
	loop := f.Loop()
	e.Crowded(f)
	f.BrIf(trouble)
	f.Get(r)
	f.I32(2)
	f.Op(wasm.I32ShrU)
	f.Set(t)
	f.Get(state)
	f.Get(t)
	f.Call(e.base)
	f.Set(at)
	e.unfollowed(f)
	f.Get(state)
	f.Get(t)
	f.Get(at)
	f.Get(list)
	e.controlState(f, at)
	f.I32(e.gather0)
	f.Op(wasm.I32Add)
	f.CallIndirect(e.gathers)
	f.Tee(count)
	f.I32(0)
	f.Op(wasm.I32LtS)
	f.BrIf(trouble)
	f.Get(count)
	f.Op(wasm.I32Eqz)
	f.If() // atomicity is lost
	e.close(f, state, alt)
	f.I32(1)
	f.Op(wasm.Return)
	f.End()
	f.Get(count)
	f.I32(1)
	f.Op(wasm.I32Eq)
	f.If()
	f.Get(state)
	f.Get(t)
	f.Get(at)
	f.Get(list)
	f.Mem(wasm.I32Load, 4)
	f.Get(list)
	f.Mem(wasm.I32Load, 0)
	f.CallIndirect(e.executes)
	f.Tee(r)
	f.Op(wasm.I32Eqz)
	f.BrIf(trouble)
	f.Get(r)
	f.I32(stepDone)
	f.Op(wasm.I32Ne)
	f.BrIf(loop)
	e.close(f, state, alt)
	f.I32(1)
	f.Op(wasm.Return)
	f.End()
	e.Skip(f, state)
	f.GetGlobal(e.Note)
	f.Set(noted)
	for _, l := range []wasm.Local{state, t, at, count, alt, weight, list, depth} {
		f.Get(l)
	}
	f.Call(e.branch)
	f.Set(count)
	e.Multiply(f, note, noted, count)
	f.Get(count)
	f.Op(wasm.Return)
	f.End()
	f.End()
	f.I32(0)
	return f
}

// emitExpand makes the function that expands a state.
func (e *emitter) emitExpand() *wasm.Func {
	return e.Expand(func(f *wasm.Func, state, t wasm.Local) code.Threads {
		at, place, now := f.Local(wasm.I32), f.Local(wasm.I32), f.Local(wasm.I32)
		return code.Threads{
			Count: func() {
				f.Get(state)
				f.Mem(wasm.I32Load8U, code.State+nprocShift/8)
			},
			First: func() {
				f.I32(int32(code.Source + 8*e.sys.globals.words))
				f.Set(at)
			},
			Next: func() { e.step(f, at) },
			Expand: func() {
				f.I32(0)
				f.Get(t)
				f.Mem(wasm.I32Store, atThread)
				e.begin(f, t)
				f.Get(t)
				f.Get(state)
				f.Mem(wasm.I32Load8U, code.State+nprocShift/8)
				f.Op(wasm.I32LtU)
				f.IfValue(wasm.I32)
				f.Get(at)
				f.I32(code.Source)
				f.Op(wasm.I32Sub)
				f.Get(state)
				f.Op(wasm.I32Add)
				f.Set(now)
				f.Get(state)
				f.Get(t)
				f.Get(now)
				e.controlState(f, now)
				f.Tee(place)
				f.I32(e.expand0)
				f.Op(wasm.I32Add)
				f.CallIndirect(e.expands)
				f.Else()
				f.I32(0) // it has just died, and waits to be created again
				f.End()
			},
			AtEnd: func() {
				f.Get(place)
				f.Mem(wasm.I32Load8U, e.atEnd)
			},
		}
	})
}

// emitViaList makes the function that expands a process in any control state: it lists the
// options and takes each.
func (e *emitter) emitViaList() *wasm.Func {
	f := e.Func(slices.Repeat([]wasm.Type{wasm.I32}, 3), []wasm.Type{wasm.I32})
	count, outcome, note := f.Local(wasm.I32), f.Local(wasm.I32), f.Local(wasm.I32)
	e.unchained(f, outcome, note)
	e.unfollowed(f)
	f.Get(cur)
	f.Get(self)
	f.Get(fb)
	f.I32(code.Lists)
	e.controlState(f, fb)
	e.later = func(gather0 int32) {
		f.I32(gather0)
		f.Op(wasm.I32Add)
		f.CallIndirect(e.gathers)
		f.Tee(count)
		f.I32(0)
		f.Op(wasm.I32LeS)
		f.If()
		f.Get(count)
		f.Op(wasm.Return)
		f.End()
		f.Get(cur)
		f.Get(self)
		f.Get(fb)
		f.Get(count)
		f.I64(0)
		f.I64(1)
		f.I32(code.Lists)
		f.I32(0)
		f.Call(e.branch)
		f.Tee(count)
		f.Op(wasm.I32Eqz)
		f.If()
		f.I32(code.IsLeft)
		f.Op(wasm.Return)
		f.End()
		e.joined(f, count, outcome, note)
		f.Get(count)
	}
	return f
}

// maxFrame is how many words a process may have that code creates.
const maxFrame = 32

// create is Machine.create: it pushes the number of a new process.
func (x *fn) create(y *program.Run) {
	e := x.e
	if e.Accesses {
		panic(beyond{})
	}
	p := e.sys.procs[y.Proc.Index]
	hasChannels := func(s *program.Sym) bool { return s.Chans != nil }
	if y.Priority != nil || p.Priority != nil || len(p.Fields) > 0 ||
		slices.ContainsFunc(p.Syms, hasChannels) || p.lay.words > maxFrame ||
		len(y.Args) > len(p.lay.scalars) {
		panic(beyond{})
	}
	var args []wasm.Local
	for _, a := range y.Args {
		v := x.temp()
		x.expr(a)
		x.Set(v)
		args = append(args, v)
	}
	pid, at := x.temp(), x.temp()
	x.Get(cur)
	x.Mem(wasm.I32Load8U, code.State+nprocShift/8)
	x.Tee(pid)
	x.I32(program.MaxProcesses)
	x.Op(wasm.I32GeS)
	x.BrIf(x.trouble)
	e.Grow(x.Func, cur, p.lay.words, at, x.trouble)
	x.Get(at)
	x.I64(int64(p.Index) | int64(p.Start)<<pcShift | 1<<prioShift)
	x.Mem(wasm.I64Store, code.State)
	x.Get(cur)
	x.Get(pid)
	x.I32(1)
	x.Op(wasm.I32Add)
	x.Mem(wasm.I32Store8, code.State+nprocShift/8)
	x.wrote(cur, 0)
	e.Tell(x.Func, p.first+int32(p.Start))
	for i, v := range args {
		x.store(at, &p.lay.scalars[i], v)
	}
	if f := e.locals(p); f != nil {
		x.Get(cur)
		x.Get(pid)
		x.Get(at)
		x.Call(f)
		x.Op(wasm.I32Eqz)
		x.BrIf(x.trouble)
	}
	for _, k := range e.sys.unused[p.Proc] {
		x.storeConst(at, &p.lay.scalars[k], 0)
	}
	x.Get(pid)
	x.done(args...)
	x.done(pid, at)
}

// locals returns the function that gives the local variables of a new process their initial
// values; nil if all are 0.
func (e *emitter) locals(p *proctype) *wasm.Func {
	if len(p.inits) == 0 || sabotage.Is("code/create") {
		return nil
	}
	if f := e.inits[p]; f != nil {
		return f
	}
	f := e.Func(slices.Repeat([]wasm.Type{wasm.I32}, 3), []wasm.Type{wasm.I32})
	e.inits[p] = f
	of := e.of
	e.todo = append(e.todo, func() {
		e.of = of
		e.function(f, p, 0, func(x *fn) {
			for _, s := range p.Syms[len(p.Params):] {
				x.initial(s, s.Base)
			}
			x.I32(1)
			x.Op(wasm.Return)
		})
	})
	return f
}

// initial is coder.initial for a local variable.
func (x *fn) initial(s *program.Sym, base int) {
	v := x.temp()
	defer x.done(v)
	switch {
	case s.Type.IsStruct():
		for i := range max(1, s.Len) {
			for _, f := range s.Type.Fields {
				x.initial(f, base+i*s.Type.Size+f.Base)
			}
		}
	case s.List != nil:
		for i, y := range s.List {
			x.expr(y)
			x.Set(v)
			x.store(fb, &x.p.lay.scalars[base+i], v)
		}
	case s.Init != nil:
		x.expr(s.Init)
		x.Set(v)
		for i := range s.Scalars() {
			x.store(fb, &x.p.lay.scalars[base+i], v)
		}
	}
}

// runs tells whether an edge of a process type creates a process, itself or in its d_step.
func (y *edge) runs(p *proctype) bool {
	switch src := y.src; src.Kind {
	case program.Cond, program.Assign:
		return program.Runs(src.X) > 0
	case program.DStep:
		seen := map[*state]bool{}
		var visit func(s *state) bool
		visit = func(s *state) bool {
			if s == nil || seen[s] {
				return false
			}
			seen[s] = true
			return visit(s.fall) || slices.ContainsFunc(s.edges, func(f *edge) bool {
				return f.kind != program.DStep && f.runs(p) ||
					!f.leaves && visit(&p.states[f.to])
			})
		}
		return visit(y.inner)
	}
	return false
}

// direct tells whether one function can take each step of a process in a control state as it finds
// it: none goes on, and none needs another process or makes one.
func (e *emitter) direct(p *proctype, s *state) bool {
	if s.final || len(s.escapes) > 0 || p.Decl.Deterministic || len(s.edges) > 64 {
		return false
	}
	return !slices.ContainsFunc(s.edges, func(y *edge) bool {
		return y.runs(p) || y.atomic || y.kind == program.Send && e.mayMeet(y.src.Ch)
	})
}

// direct makes the body of the function that expands a process in a control state.
func (x *fn) direct(s *state) {
	e := x.e
	x.permitted(s, func() {
		x.I32(0)
		x.Op(wasm.Return)
	})
	source, sourceFB, count := x.Local(wasm.I32), x.Local(wasm.I32), x.Local(wasm.I32)
	x.Get(cur)
	x.Set(source)
	d := e.Direct(x.Func, source)
	x.Get(fb)
	x.Set(sourceFB)
	take := func(y *edge) {
		d.Open(cur, x.trouble)
		x.Get(sourceFB)
		x.Get(source)
		x.Op(wasm.I32Sub)
		x.Get(cur)
		x.Op(wasm.I32Add)
		x.Set(fb)
		e.Within(x.Func, fb)
		x.mine, x.global, x.dynamic = 0, 0, false
		x.I64(0)
		x.Set(x.others)
		x.run(y)
		x.first = true
		x.leaves(y)
		x.Get(fb)
		x.I32(y.to)
		x.Mem(wasm.I32Store16, code.State+pcShift/8)
		x.wrote(fb, 0)
		for i := range y.dead {
			x.storeConst(fb, &y.dead[i], 0)
		}
		x.last(self)
		for _, k := range e.sys.passing {
			x.storeConst(cur, &e.sys.globals.scalars[k], 0)
		}
		d.Close(cur, self, count, x.changes, x.p.first+y.to)
		x.Get(source)
		x.Set(cur)
		x.Get(sourceFB)
		x.Set(fb)
		x.Get(count)
		x.I32(1)
		x.Op(wasm.I32Add)
		x.Set(count)
	}
	if e.Accesses && len(s.edges) > 1 {
		x.takeEach(s, take)
	} else {
		for _, y := range s.edges {
			x.can(y, func() {
				x.Get(count)
				x.Op(wasm.I32Eqz)
			}, func() { take(y) })
		}
	}
	if s.waits {
		x.Get(count)
		x.Op(wasm.I32Eqz)
		x.BrIf(x.trouble)
	}
	x.Get(count)
	x.Op(wasm.Return)
}

// can does something if an edge that is not a rendezvous can be taken. first pushes whether no
// edge before it can.
func (x *fn) can(y *edge, first, then func()) {
	switch {
	case y.kind == program.DStep && y.src.Always:
		then()
		return
	case sabotage.Is("code/else") && y.kind == program.Else:
		then()
		return
	case y.kind == program.Else, y.kind == program.DStep && y.src.Otherwise:
		first()
	case y.kind == program.DStep:
		if len(y.guards) == 0 {
			panic(beyond{})
		}
		// One of them is enough, and the others must not fail.
		v := x.temp()
		x.I32(1)
		x.Set(v)
		can := x.Block()
		for _, g := range y.guards {
			x.enabled(g)
			x.BrIf(can)
		}
		x.I32(0)
		x.Set(v)
		x.End()
		x.Get(v)
		x.done(v)
	case y.plain && y.can == nil:
		then()
		return
	default:
		x.enabled(y)
	}
	x.If()
	then()
	x.End()
}
