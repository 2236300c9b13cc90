package machine

import (
	"cpor/frontend/code"
	"cpor/frontend/code/wasm"
	"cpor/frontend/model/compile"
	"cpor/system"
	"cpor/testkit/sabotage"
)

// Code that records accesses notes them where the machine does, so what each instruction does to
// locations stands twice: in the machine, and in the emitter.
//
// The oldest message of a buffer stays in its slot, as in the machine, and does not move to the
// first one as in encoded states: a prefix needs the locations that the expanded state has, as
// other threads do. So what is run ahead begins in a live state, and whoever needs its encoding
// asks for it ([system.Code].Encode).

// retries returns what has all alternatives of a step in which one may block read what any of them
// touches ([Machine.retry]). It is to be called where the first alternative begins, and the result
// behind the last one.
func (x *fn) retries() func() {
	if !x.e.Accesses || !x.pt.Retry {
		return func() {}
	}
	outcome, access := x.Local(wasm.I32), x.Local(wasm.I32)
	x.GetGlobal(x.e.Next)
	x.Set(outcome)
	x.GetGlobal(x.e.To)
	x.Set(access)
	return func() { x.e.Retried(x.Func, outcome, access) }
}

// begin begins the accesses of an alternative.
func (x *fn) begin() {
	if !x.e.Accesses {
		return
	}
	x.e.Begin(x.Func)
	if x.e.sys.dynamic {
		x.mine(0, code.Flags(false, 0, 0))
	}
}

// moved ends the accesses of a step that has come to a point ([Machine.writeOwn]).
func (x *fn) moved(to int32) {
	if !x.e.Accesses {
		return
	}
	if x.e.p.Place > 0 {
		x.mine(x.e.p.Place, code.Flags(true, 0, 0))
	}
	if !x.e.p.Observed || sabotage.Is("code/observed") {
		return
	}
	for k := range x.pt.Thread.Watched {
		w := &x.pt.Thread.Watched[k]
		before, after := w.Points[x.point], w.Points[to]
		switch {
		case !before && !after:
		case w.Var != nil:
			x.watched(x.source, before, w.Var)
			x.watched(x.cur, after, w.Var)
			x.Op(wasm.I64Ne)
			x.If()
			x.mine(2+k, code.Flags(true, 0, 0))
			x.End()
		case before != after:
			x.mine(2+k, code.Flags(true, 0, 0))
		}
	}
}

// watched pushes the value of a variable in the state at an address, 0 if it is not alive.
func (x *fn) watched(state wasm.Local, alive bool, v *compile.Var) {
	if !alive {
		x.I64(0)
		return
	}
	at := x.at
	x.at = x.temp()
	x.Get(state)
	x.Get(slotAt)
	x.Op(wasm.I32Add)
	x.Set(x.at)
	x.loadSlot(slotField(v.Field))
	x.done(x.at)
	x.at = at
}

// mine notes an access to the thread's own location k ([compile.Program.Loc]).
func (x *fn) mine(k int, flags int64) {
	x.Get(self)
	x.I32(int32(x.e.p.PerThread))
	x.Op(wasm.I32Mul)
	x.I32(int32(x.e.p.Loc(0, k)))
	x.Op(wasm.I32Add)
	x.I64(flags)
	x.e.Access(x.Func)
}

// touch notes an access to a location.
func (x *fn) touch(l loc, flags int64) {
	if x.e.Accesses && !(sabotage.Is("code/read") && flags == code.Flags(false, 0, 0)) {
		x.touches(l, func() { x.I64(flags) })
	}
}

// touches notes an access with the flags that are pushed.
func (x *fn) touches(l loc, flags func()) {
	if sabotage.Is("code/object") && l.n > 0 {
		l.n--
	}
	if l.certain {
		x.I32(int32(l.n))
	} else {
		x.number(l)
		if sabotage.Is("code/location") {
			x.Op(wasm.Drop)
			x.I32(int32(l.plus))
		}
	}
	flags()
	x.e.Access(x.Func)
}

// touchAt notes an access to the location whose number is in a local.
func (x *fn) touchAt(k wasm.Local, flags int64) {
	if x.e.Accesses && !sabotage.Is("code/slot") {
		x.Get(k)
		x.I64(flags)
		x.e.Access(x.Func)
	}
}

// stores notes that a register, whose value is in a local, is stored in a location.
func (x *fn) stores(l loc, r int32, v wasm.Local) {
	if !x.e.Accesses {
		return
	}
	if n, ok := x.constant(r); ok {
		if op := system.Store(n); op != 0 {
			x.touch(l, code.Flags(true, op, system.Unlimited))
		} else {
			x.touch(l, code.Flags(true, 0, 0))
		}
		return
	}
	x.touches(l, func() { code.Stored(x.Func, v) })
}

// adds notes that a location, which stays from lo to hi, gets a value that is in a local by an
// addition ([Machine.bump]).
func (x *fn) adds(l loc, v wasm.Local, lo, hi int64) {
	if !x.e.Accesses {
		return
	}
	d, op, room := x.temp64(), x.temp64(), x.temp64()
	x.Get(v)
	x.value(l)
	x.Op(wasm.I64Sub)
	x.Set(d)
	x.Get(d)
	x.I64(int64(system.Addition(1)) - 1)
	x.Op(wasm.I64Add)
	x.I64(0)
	x.Get(d)
	x.I64(0)
	x.Op(wasm.I64Ne, wasm.Select)
	x.Set(op)
	x.Get(op)
	x.I64(0)
	x.Get(op)
	x.I64(1)
	x.Op(wasm.I64Sub)
	x.I64(int64(system.Sum - 2))
	x.Op(wasm.I64LeU, wasm.Select)
	x.Set(op)
	x.Get(v)
	x.I64(lo)
	x.Op(wasm.I64Sub)
	x.I64(hi)
	x.Get(v)
	x.Op(wasm.I64Sub)
	x.Get(d)
	x.I64(0)
	x.Op(wasm.I64LtS, wasm.Select)
	x.Set(room)
	x.bounded(op, room)
	x.touches(l, func() { code.FlagsOf(x.Func, true, op, room) })
	x.done64(d, op, room)
}

// waits notes that a thread waits until additions have brought a location to 0.
func (x *fn) waits(l loc) {
	if !x.e.Accesses {
		return
	}
	op, room := x.temp64(), x.temp64()
	x.I64(int64(system.Addition(-1)))
	x.Set(op)
	x.value(l)
	x.I64(1)
	x.Op(wasm.I64Sub)
	x.Set(room)
	x.bounded(op, room)
	x.touches(l, func() { code.FlagsOf(x.Func, false, op, room) })
	x.done64(op, room)
}

// bounded makes [system.Room] of a local, 0 if there is no operation.
func (x *fn) bounded(op, room wasm.Local) {
	most := int64(system.Unlimited - 1)
	if sabotage.Is("code/room") {
		most = 0
	}
	x.Get(room)
	x.I64(most)
	x.Get(room)
	x.I64(most)
	x.Op(wasm.I64LtU, wasm.Select)
	x.I64(0)
	x.Get(op)
	x.I64(0)
	x.Op(wasm.I64Ne, wasm.Select)
	x.Set(room)
}
