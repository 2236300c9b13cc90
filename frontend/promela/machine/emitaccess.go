package machine

import (
	"cpor/frontend/code"
	"cpor/frontend/code/wasm"
	"cpor/frontend/promela/program"
	"cpor/system"
	"cpor/testkit/sabotage"
)

// Code that records accesses notes them where the machine does, so what each construct does to
// locations stands twice: in the machine, and in the emitter. What the emitter evaluates a second
// time for an option that it takes is noted once, when the option is found.
//
// All guards of a control state are evaluated before any of its options is taken, so each of these
// begins with their accesses. Where an atomic sequence continues behind a choice, each alternative
// shows the accesses of all ([Machine.stepProcess]): then they are one list. A choice at the end of
// a sequence is the only one of its step, and behind it nothing continues.
//
// A step that creates a process is left to the machine.

// records reports whether what is being emitted notes accesses.
func (x *fn) records() bool { return x.e.Accesses && x.quiet == 0 }

// quietly does f without noting accesses, which have been noted.
func (x *fn) quietly(f func()) {
	x.quiet++
	f()
	x.quiet--
}

var readFlags, writeFlags = code.Flags(false, 0, 0), code.Flags(true, 0, 0)

// touch notes an access to a location.
func (x *fn) touch(l system.Loc, flags int64) {
	if !x.records() || sabotage.Is("code/read") && flags == readFlags {
		return
	}
	x.I32(int32(l))
	x.I64(flags)
	x.e.Access(x.Func)
}

// touchOf notes an access to a location of a process, whose number is in a local: that of the first
// process is given.
func (x *fn) touchOf(who wasm.Local, first system.Loc, flags int64) {
	if x.records() {
		x.e.locationOf(x.Func, who, first)
		x.I64(flags)
		x.e.Access(x.Func)
	}
}

// locationOf pushes a location of a process, by that of the first process.
func (e *emitter) locationOf(f *wasm.Func, who wasm.Local, first system.Loc) {
	f.Get(who)
	f.I32(int32(e.sys.perProcess))
	f.Op(wasm.I32Mul)
	f.I32(int32(first))
	f.Op(wasm.I32Add)
}

// touchChannel notes an access to a channel of the globals.
func (x *fn) touchChannel(c *channel, flags int64) {
	if c.Cap > 0 && !(sabotage.Is("code/sent") && flags == writeFlags) {
		x.touch(system.Loc(c.Base), flags)
	}
}

// touchWhere notes an access to a scalar that others can see, with the flags that are pushed.
func (x *fn) touchWhere(w *where, flags func()) {
	if !x.records() || !w.shared {
		return
	}
	switch {
	case w.constant && w.owner == nil:
		x.I32(int32(w.n))
	case w.owner == nil:
		x.Get(w.k)
		if sabotage.Is("code/location") {
			x.Op(wasm.Drop)
			x.I32(int32(w.n))
		}
	default:
		x.e.locationOf(x.Func, *w.owner, x.e.sys.locLocal(0, 0))
		if w.constant {
			x.addConst(w.n)
		} else {
			x.Get(w.k)
			x.Op(wasm.I32Add)
		}
	}
	flags()
	x.e.Access(x.Func)
}

// reads notes that a scalar is read.
func (x *fn) reads(w *where) {
	if !sabotage.Is("code/read") {
		x.touchWhere(w, func() { x.I64(readFlags) })
	}
}

// stores notes that a local is stored in a scalar.
func (x *fn) stores(w *where, v wasm.Local) {
	if w.owner != nil || sabotage.Is("code/stored") {
		x.touchWhere(w, func() { x.I64(writeFlags) })
		return
	}
	x.touchWhere(w, func() {
		long := x.Temp(wasm.I64)
		x.Get(v)
		x.Op(wasm.I64ExtendI32S)
		x.Set(long)
		code.Stored(x.Func, long)
		x.Release(wasm.I64, long)
	})
}

// begin begins the accesses of a step of a process: it reads where the process is.
func (e *emitter) begin(f *wasm.Func, who wasm.Local) {
	if e.Accesses {
		e.Begin(f)
		e.locationOf(f, who, e.sys.locControl(0))
		f.I64(readFlags)
		e.Access(f)
	}
}

// leaves notes that the process takes an edge from its control state, as Machine.setPC does. The
// control state is still the old one.
func (x *fn) leaves(y *edge) {
	if !x.records() || sabotage.Is("code/control") {
		return
	}
	if x.first { // its first access is that one
		x.e.Wrote(x.Func)
	} else {
		x.touchOf(self, x.e.sys.locControl(0), writeFlags)
	}
	if !x.p.ready || sabotage.Is("code/ready") {
		return
	}
	ready := func() { x.touchOf(self, x.e.sys.locReady(0), writeFlags) }
	if x.p.states[y.to].ready {
		ready()
		return
	}
	x.Get(fb)
	x.Mem(wasm.I32Load16U, code.State+pcShift/8)
	x.I32(2)
	x.Op(wasm.I32Shl)
	x.Mem(wasm.I32Load, x.e.readyTable(x.p))
	x.If()
	ready()
	x.End()
}

// readyTable says for the control states of a process type whether the process can receive by
// rendezvous there.
func (e *emitter) readyTable(p *proctype) int {
	if at, ok := e.readies[p]; ok {
		return at
	}
	table := make([]int32, len(p.states))
	for i := range p.states {
		if p.states[i].ready {
			table[i] = 1
		}
	}
	e.readies[p] = e.Table(table)
	return e.readies[p]
}

// continues notes that an option is found behind which an atomic sequence continues.
func (x *fn) continues(y *edge) {
	if x.e.Accesses && y.atomic {
		x.I32(1)
		x.SetGlobal(x.e.follows)
	}
}

// unfollowed forgets the options that have been found.
func (e *emitter) unfollowed(f *wasm.Func) {
	if e.Accesses {
		f.I32(0)
		f.SetGlobal(e.follows)
	}
}

// choose begins the accesses at the choice between options, which have been found.
func (e *emitter) choose(f *wasm.Func, count wasm.Local, shared code.Shared) {
	if !e.Accesses {
		return
	}
	e.Share(f, shared)
	f.Get(count)
	f.I32(1)
	f.Op(wasm.I32GtS)
	f.If()
	f.GetGlobal(e.chained)
	f.GetGlobal(e.follows)
	f.Op(wasm.I32Or)
	f.SetGlobal(e.chained)
	f.End()
}

// chosen begins the accesses of an option of a choice.
func (e *emitter) chosen(f *wasm.Func, count wasm.Local, shared code.Shared) {
	if !e.Accesses || sabotage.Is("code/shared") {
		return
	}
	f.Get(count)
	f.I32(1)
	f.Op(wasm.I32GtS)
	f.GetGlobal(e.chained)
	f.Op(wasm.I32Eqz, wasm.I32And)
	f.If()
	e.Another(f, shared)
	f.End()
}

// unchained begins a step.
func (e *emitter) unchained(f *wasm.Func, outcome, note wasm.Local) {
	if !e.Accesses {
		return
	}
	f.I32(0)
	f.SetGlobal(e.chained)
	f.GetGlobal(e.Next)
	f.Set(outcome)
	f.GetGlobal(e.Note)
	f.Set(note)
}

// joined ends a step: where it continues behind a choice, each alternative gets the accesses of
// all. Where there are so many that the machine does not look at all, the step is left to it.
func (e *emitter) joined(f *wasm.Func, count, outcome, note wasm.Local) {
	if !e.Accesses || sabotage.Is("code/joined") {
		return
	}
	f.GetGlobal(e.chained)
	f.If()
	f.GetGlobal(e.Note)
	f.Get(note)
	f.Op(wasm.I32Sub)
	f.I32(3)
	f.Op(wasm.I32ShrU)
	f.Get(count)
	f.Op(wasm.I32Mul)
	f.I32(maxTracked)
	f.Op(wasm.I32GtU)
	f.If()
	f.I32(code.IsLeft)
	f.Op(wasm.Return)
	f.End()
	e.Join(f, outcome)
	f.End()
}

// takeEach takes each edge of a control state that can be taken. All guards are evaluated before
// the first one is taken.
func (x *fn) takeEach(s *state, take func(y *edge)) {
	can, several, shared := x.Local(wasm.I64), x.Local(wasm.I32), x.e.Shared(x.Func)
	x.I64(0)
	x.Set(can)
	for i, y := range s.edges {
		x.can(y, func() {
			x.Get(can)
			x.Op(wasm.I64Eqz)
		}, func() {
			x.Get(can)
			x.I64(1 << i)
			x.Op(wasm.I64Or)
			x.Set(can)
		})
	}
	x.e.Share(x.Func, shared)
	x.Get(can)
	x.Get(can)
	x.I64(1)
	x.Op(wasm.I64Sub, wasm.I64And)
	x.I64(0)
	x.Op(wasm.I64Ne)
	x.Set(several)
	for i, y := range s.edges {
		x.Get(can)
		x.I64(1 << i)
		x.Op(wasm.I64And)
		x.I64(0)
		x.Op(wasm.I64Ne)
		x.If()
		x.Get(several)
		x.If()
		x.e.Another(x.Func, shared)
		x.End()
		take(y)
		x.End()
	}
}

// notReceived evaluates the channel of an edge that is not a receive of a rendezvous, as the
// machine does before it compares.
func (x *fn) notReceived(y *edge) {
	if l, ok := y.src.Ch.(*program.Load); ok && y.kind == program.Recv {
		if _, is := fixed(l.Place); !is {
			x.channelID(y.src.Ch)
			x.Op(wasm.Drop)
		}
	}
}
