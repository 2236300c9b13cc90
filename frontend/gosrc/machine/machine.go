// Package machine executes Go programs and implements system.System for them.
//
// # Transitions
//
// A transition is one synchronization operation with the computation that follows it, up to the
// next one. That is enough for programs without data races, which the memory model promises
// sequential consistency: between two synchronization operations a goroutine reads only what it
// wrote itself or what happened before, so the moment of its computation makes no difference.
// Every execution is checked for races ([clocks.go], for stored states [history.go]); the only
// verdict of a program with a race is that race. The first race is found although no computation
// is interrupted: take an execution with as few transitions as possible whose last one, B, makes
// a race with an earlier one, A. Without B nothing races, so exchanging independent transitions
// changes nothing before it, and some explored execution has the same transitions before B, in
// an equivalent order. There B computes the same up to its first access that races, and the
// clocks, which depend only on the equivalence class, show the race. Accesses to memory that
// several goroutines can reach are also shown as accesses of the transition. In a program
// without races that adds no dependence: two that conflict are ordered by synchronization
// already. With races it keeps the contract of package system.
//
// # Transitions for each access
//
// A program that was compiled with compile.Mode.Memory has an instruction before each access to
// memory, [compile.Pause], where a transition ends if others can reach that memory. So a
// transition is one synchronization operation or one access, with the computation that follows
// it, which touches nothing that others can reach; no argument about races is needed, and a race
// is not a failure. The access of one instruction (a value of any size, an operation on a map,
// append, copy) is indivisible.
//
// # Locations
//
// A word of an object that several goroutines can reach is a location: its name is
// that of the object (who allocated it, and how many it had before) and an offset. So
// are the parts of a channel (its head, its tail, its closing, each slot), the
// existence of a goroutine, the clock, the alarm of a goroutine, and whether a
// goroutine waits at a channel without a buffer (sending and receiving apart).
//
// An exchange at an unbuffered channel is a transition of the goroutine that comes second: a
// sender that finds a receiver, or a select with a default. The other one continues in a
// transition of its own, which depends on nothing else. The transition reads, of all goroutines
// and of those that may be created next, whether they wait, because an access that decides
// whether a transition is enabled belongs to it.
//
// # Time
//
// The clock advances only when an alarm goes off: a sleeping goroutine, or the goroutine that
// represents a timer, continues when no armed alarm is due earlier, and sets the clock to its
// deadline. Arming an alarm reads the clock, going off writes it.
//
// With [Options.Alarms] = n, at most n alarms go off: whether one can go off is then a read of
// the clock. That is an ordinary program, whose executions are those of the original with at
// most n alarms: the alarms of an execution are dependent already, so a reduction explores no
// more of them, and one of each class. At the end a goroutine may wait for an alarm that would
// still go off; that is not a deadlock.
package machine

import (
	"fmt"
	"runtime/debug"
	"strings"
	"unsafe"

	"cpor/engine/memory"
	"cpor/frontend/gosrc/compile"
	"cpor/system"
)

// objKind is how an object's words are laid out.
type objKind uint8

const (
	plainObj   objKind = iota // count values of type typ
	chanObj                   // see sync.go
	mapObj                    // see maps.go
	closureObj                // a function's number, and what it captured
	deferObj                  // see calls.go
)

// object is a piece of memory.
type object struct {
	base   uint32 // in mem
	size   uint32 // words
	typ    *compile.Type
	fn     *compile.Func // of a closure
	kind   objKind
	shared bool // several goroutines can reach it
	// An abandoned initializer would have set it; then it is shared.
	poisoned bool
	creator  int32 // a thread, or loadedBy
	seq      int32
	pc       int32 // where it was made: an instruction of made
	made     *compile.Func
}

// Creators that are not goroutines.
const (
	loadedBy = -1 // an object of the state that was loaded, or of the beginning
	nobody   = -2 // the number is free
)

// shadow is what is known about a word of memory besides its value.
type shadow struct {
	w, r uint64 // the last write and read, see clocks.go
	s    uint32 // the clock of a synchronization object
	loc  uint32 // the location's number plus one, if it was asked for
}

// frame is a call.
type frame struct {
	fn       *compile.Func
	pc       int32 // what it executes next, or the call that it waits for
	base     int32 // of its registers in the stack
	dst      int32 // the caller's register for the results, -1: nobody wants them
	mode     mode
	deferred bool // called by its caller's defers
	told     bool // a step in this call was narrated
}

// mode is how a frame handles its deferred calls.
type mode uint8

const (
	running   mode = iota
	returning      // runs them before it returns
	panicking      // runs them because of a panic or Goexit
	recovered      // runs the others after a panic was recovered
)

// status of a goroutine.
type status uint8

const (
	absent status = iota // it does not exist
	alive
	ended
	failed // it violated a property
)

// gstate is the part of a goroutine that the undo log saves as a whole.
type gstate struct {
	status    status
	unstarted bool
	daemon    bool // a timer: may wait forever
	// an initializer has started it, or one that did: the end of the test does not wait for it
	behind    bool
	parked    bool // it waits where polls can see it
	delivered bool // a partner has completed what it waits for
	timeout   bool // of a timer: it is a time-out that a test has set for itself
	late      bool // its own time-out has expired, or its maker's had; only with NoFailed
	bubble    bool // it runs in a bubble of testing/synctest
	armed     bool
	children  int32
	allocs    int32
	rands     int32 // random numbers
	frames    int32
	tick      uint32
	clock     uint32 // handle of its vector clock
	reset     uint32 // of a timer: the clock of who has armed it again
	which     int32  // the case that was completed, with delivered
	deadline  int64
	calm      bool // its synchronization is part of one transition, see calmly
	// A call of a scenario that has yet to be invoked: where the responses are counted, where
	// it notes them, and of how many goroutines; see scenarios.
	invokes, sees uint64
	words         int32
	// The call of a scenario of check.LockFree that it is in, 0: none; and how many have ended
	// since the state was loaded.
	call    uint64
	calls   int32
	reads   int32 // of the clock, at clockAt and nowhere else in between
	clockAt token
	busy    bool // it has done more since then than to look around
	panics  *panicRec
	failure *system.Violation
}

// goroutine is a thread.
type goroutine struct {
	gstate
	number int32
	stack  []uint64
	frames []frame
	saved  int // frames from here on are in the undo log, or new
	made   token
}

// userToken returns where a goroutine is: in the innermost call of a function outside the
// standard library, if there is one.
func (g *goroutine) userToken() token {
	for i := len(g.frames) - 1; i >= 0; i-- {
		if f := &g.frames[i]; !f.fn.Hidden {
			return token{f.fn, f.pc}
		}
	}
	f := g.top()
	return token{f.fn, f.pc}
}

// token is a place: an instruction of a function.
type token struct {
	fn *compile.Func
	pc int32
}

// undo records.
type undoKind uint8

const (
	undoWord undoKind = iota
	undoShadowW
	undoShadowR
	undoShadowS
	undoShared
	undoFrame // a frame and its registers
	undoState // a goroutine's gstate
	undoMade  // a goroutine that was created
	undoTop   // lengths, at the beginning of a step
	undoReuse // the number of an object was free
	undoNothing
)

type undo struct {
	kind undoKind
	a    uint32
	b    uint64
}

type top struct {
	objs, mem, clocks, out int
	marked                 int
	outText                uint64
	now                    int64
	fired                  int32
	exited, clockRead      bool
	clockBegan             int64
	monitor                uint32
}

// Machine is a live state.
type Machine struct {
	sys    *System
	p      *compile.Program
	mem    []uint64
	shadow []shadow
	objs   []object // by number; 0 is nil
	naming naming
	gors   []*goroutine
	clocks []uint32 // vector clocks: a length, then the components

	now    int64 // nanoseconds
	fired  int32 // alarms that have gone off, if that is bounded
	exited bool  // main has returned, or os.Exit
	// clockWasRead: the program has read the clock, so its time belongs to the state. Before
	// that it makes no difference, so the clock begins at its first reading, at the time
	// clockBegan.
	clockWasRead bool
	clockBegan   int64

	log    []undo
	words  []uint64 // saved registers
	frames []frame  // saved frames
	states []gstate
	// The number of the scenario of the execution, from 1 on; 0: none.
	scenario uint32
	monitor  uint32 // what matters of its history, see spec
	rules    *rules // if the specification of the scenario is executed
	tops     []top

	track    bool
	accesses []system.Access
	touched  []uint32 // for each location where it may be in accesses, if these are many
	out      system.Outcome
	fresh    uint32 // memory from here on was allocated in this step
	freshObj int
	began    int    // where this step begins in the log
	outText  uint64 // what was printed, if it is part of the state
	output   []byte // what was printed, if it is collected
	collect  bool
	budget   int64   // instructions until it is asked whether to continue
	left     int64   // those after them
	reserved int64   // bytes that the memory is about to grow by
	met      bool    // this step has come to memory that others can reach
	setup    bool    // the initializers run
	refused  []frame // of the initializer that was refused last
	told     told
	story    story
	encodes  *encoder // what Encode uses again
	action   uint64
	report   *Report // what to find out about a race, on replay
	buf      system.State
	cur      *goroutine
	scratch  []alternative
	known    [locKinds][]uint32 // see loc: numbers plus one, by goroutine

	beginning
	collector
	// Where clocks are part of states: the addresses in the initial memory whose shadows are
	// set.
	marked []uint32
}

// Mark implements [system.Machine].
func (m *Machine) Mark() system.Mark { return system.Mark(len(m.log)) }

// Bytes returns about how much memory the live state takes, which grows with an
// execution's length.
func (m *Machine) Bytes() uint64 {
	return uint64(len(m.mem))*8 + uint64(len(m.shadow))*24 + uint64(len(m.clocks))*4 + uint64(
		len(m.objs))*56
}

// Forget drops the undo log: earlier steps cannot be undone.
func (m *Machine) Forget() {
	m.log, m.words, m.frames, m.states, m.tops = m.log[:0], m.words[:0], m.frames[:0], m.states[:0],
		m.tops[:0]
	for _, g := range m.gors {
		g.saved = len(g.frames)
	}
}

// Rewind implements [system.Machine].
func (m *Machine) Rewind(mark system.Mark) {
	for len(m.log) > int(mark) {
		u := m.log[len(m.log)-1]
		m.log = m.log[:len(m.log)-1]
		switch u.kind {
		case undoWord:
			m.mem[u.a] = u.b
		case undoShadowW:
			m.shadow[u.a].w = u.b
		case undoShadowR:
			m.shadow[u.a].r = u.b
		case undoShadowS:
			m.shadow[u.a].s = uint32(u.b)
		case undoShared:
			m.objs[u.a].shared = false
		case undoFrame:
			g := m.gors[u.a]
			f := m.frames[len(m.frames)-1]
			m.frames = m.frames[:len(m.frames)-1]
			i := int(u.b)
			// Frames that were cut off as a whole are still in the array.
			g.frames = g.frames[:max(len(g.frames), i+1)]
			g.frames[i] = f
			n := f.fn.Regs
			from := m.words[len(m.words)-n:]
			g.grow(int(f.base) + n + len(f.fn.Consts))
			copy(g.stack[f.base:], from)
			copy(g.stack[int(f.base)+n:], f.fn.Consts)
			m.words = m.words[:len(m.words)-n]
		case undoState:
			g := m.gors[u.a]
			g.gstate = m.states[len(m.states)-1]
			m.states = m.states[:len(m.states)-1]
			g.frames = g.frames[:g.gstate.frames]
			g.saved = len(g.frames)
		case undoMade:
			g := m.gors[u.a]
			g.gstate = gstate{}
			g.frames = g.frames[:0]
			for n := len(m.gors); n > 0 && m.gors[n-1].status == absent; n-- {
				m.gors = m.gors[:n-1]
			}
		case undoTop:
			t := m.tops[len(m.tops)-1]
			m.tops = m.tops[:len(m.tops)-1]
			if len(m.free) > 0 && t.objs < len(m.objs) {
				m.forget(t.objs)
			}
			m.objs, m.mem, m.shadow, m.clocks = m.objs[:t.objs], m.mem[:t.mem], m.shadow[:t.mem],
				m.clocks[:t.clocks]
			m.naming.forget(t.objs)
			m.fired = t.fired
			m.now, m.exited, m.clockWasRead, m.outText = t.now, t.exited, t.clockRead, t.outText
			m.clockBegan, m.monitor = t.clockBegan, t.monitor
			m.output = m.output[:t.out]
			m.marked = m.marked[:t.marked]
		case undoReuse:
			if m.objs[u.a].creator != nobody { // else it was freed once more
				m.objs[u.a] = dead
				m.naming.replaced(u.a, &dead)
				m.free = append(m.free, u.a)
			}
		}
	}
}

// begin saves in the undo log what a step of a goroutine may change.
func (m *Machine) begin(g *goroutine) {
	m.tops = append(m.tops, top{len(m.objs), len(m.mem), len(m.clocks), len(m.output),
		len(m.marked), m.outText, m.now, m.fired, m.exited, m.clockWasRead, m.clockBegan,
		m.monitor})
	m.log = append(m.log, undo{kind: undoTop})
	m.fresh, m.freshObj, m.began = uint32(len(m.mem)), len(m.objs), len(m.log)
	m.saveState(g)
	g.tick++
	if m.sys.o.Idle || m.sys.o.Patient || m.sys.bubbles {
		m.touch(m.loc(locName{kind: awakeLoc, a: g.number}), true)
	}
	if g.words > 0 {
		m.invoke(g)
	}
}

// saveState saves a goroutine's state and its top frame in the undo log.
func (m *Machine) saveState(g *goroutine) {
	g.gstate.frames = int32(len(g.frames))
	m.states = append(m.states, g.gstate)
	m.log = append(m.log, undo{kind: undoState, a: uint32(g.number)})
	g.saved = len(g.frames)
	m.saveFrame(g)
}

// saveFrame saves the top frame in the undo log unless it is there.
func (m *Machine) saveFrame(g *goroutine) {
	i := len(g.frames) - 1
	if i < 0 || i >= g.saved {
		return
	}
	g.saved = i
	f := g.frames[i]
	m.frames = append(m.frames, f)
	m.words = append(m.words, g.stack[f.base:int(f.base)+f.fn.Regs]...)
	m.log = append(m.log, undo{kind: undoFrame, a: uint32(g.number), b: uint64(i)})
}

func (g *goroutine) grow(n int) {
	if n > len(g.stack) {
		g.stack = append(g.stack, make([]uint64, max(64, n+n/2)-len(g.stack))...)
	}
}

// top returns the frame on top.
func (g *goroutine) top() *frame { return &g.frames[len(g.frames)-1] }

// regs returns the registers of the frame on top.
func (g *goroutine) regs() []uint64 {
	f := g.top()
	return g.stack[f.base : int(f.base)+f.fn.Regs+len(f.fn.Consts)]
}

// push calls a function: its frame has room for the arguments, which come first.
func (m *Machine) push(g *goroutine, fn *compile.Func, dst int32) []uint64 {
	m.p.Ready(fn)
	base := int32(0)
	if n := len(g.frames); n > 0 {
		f := &g.frames[n-1]
		base = f.base + int32(f.fn.Regs+len(f.fn.Consts))
	}
	n := fn.Regs + len(fn.Consts)
	g.grow(int(base) + n)
	g.frames = append(g.frames, frame{fn: fn, base: base, dst: dst})
	r := g.stack[base : int(base)+n]
	copy(r[fn.Regs:], fn.Consts)
	if fn.Defers >= 0 {
		r[fn.Defers] = 0
	}
	return r
}

// addr returns where in memory a pointer points to.
func (m *Machine) addr(p uint64) uint32 { return m.objs[p>>32].base + uint32(p) }

// set writes a word that the running step may change.
func (m *Machine) set(a uint32, v uint64) {
	if a < m.fresh && !m.setup { // initializers are not taken back
		m.log = append(m.log, undo{undoWord, a, m.mem[a]})
		m.soil(a)
	}
	m.mem[a] = v
}

// initialises returns where a goroutine is in the initializer of a package of the standard
// library, if the innermost one is that of such a package; else nil.
func (g *goroutine) initialises() (*compile.Func, int32) {
	for i := len(g.frames) - 1; i >= 0; i-- {
		if f := &g.frames[i]; strings.HasSuffix(f.fn.Name, ".init") {
			if f.fn.Hidden {
				return f.fn, f.pc
			}
			break
		}
	}
	return nil, 0
}

// newObject allocates memory, all zero.
func (m *Machine) newObject(g *goroutine, kind objKind, typ *compile.Type, size int) uint64 {
	words := max(1, size)
	base := m.extend(words)
	o := object{base: uint32(base), size: uint32(words), typ: typ, kind: kind, creator: loadedBy,
		seq: int32(len(m.objs))}
	if g != nil && !m.setup {
		o.creator, o.seq = g.number, g.allocs
		g.allocs++
		if len(g.frames) > 0 {
			t := g.userToken()
			o.made, o.pc = t.fn, t.pc
		}
	} else if g != nil {
		o.made, o.pc = g.initialises()
	}
	return uint64(m.number(o)) << 32
}

// extend makes room for that many words, all zero, and returns where they begin. If there is no
// memory left, or the computation must end, it panics, see [aborted].
func (m *Machine) extend(words int) int {
	m.allocated(words)
	base := len(m.mem)
	if base+words > cap(m.mem) && !m.mayGrow(words) {
		m.sys.growing.Add(-m.reserved)
		m.reserved = 0
		m.budget = outOfMemory
		panic(aborted{})
	}
	halted := m.sys.halted
	mem := grown(m.mem, words, halted)
	m.shadow = grown(m.shadow[:base], words, halted)
	m.mem = mem
	if m.reserved > 0 {
		m.sys.growing.Add(-m.reserved)
		m.reserved = 0
	}
	return base
}

// load makes room for words of a state that is loaded, and returns where they begin.
func (m *Machine) load(words int) int {
	base := len(m.mem)
	never := func() bool { return false }
	m.mem = grown(m.mem, words, never)
	m.shadow = grown(m.shadow[:base], words, never)
	return base
}

// wordBytes is the size of a word of memory, including its shadow.
const wordBytes = 8 + int(unsafe.Sizeof(shadow{}))

// mayGrow reports whether the memory may grow by that many words: neither the program nor the
// process may exceed its limit.
func (m *Machine) mayGrow(words int) bool {
	n := len(m.mem) + words
	if n < 1<<20 {
		return true
	}
	if n > maxWords || m.sys.halted() {
		return false
	}
	limit := m.sys.o.MaxMemory
	if limit == 0 {
		return true
	}
	// The slices grow by a quarter, and the old ones exist until they are copied. Other machines
	// of the program may grow at the same time.
	m.reserved = int64(n+n/4) * int64(wordBytes)
	fits := func() bool { return memory.Resident()+uint64(m.sys.growing.Load()) <= limit }
	m.sys.growing.Add(m.reserved)
	if fits() {
		return true
	}
	debug.FreeOSMemory()
	if fits() {
		return true
	}
	m.sys.full.Store(true)
	return false
}

// publish makes what a word refers to reachable for all goroutines.
func (m *Machine) publish(p uint64) {
	id := uint32(p >> 32)
	if id == 0 {
		return
	}
	o := &m.objs[id]
	if o.shared {
		return
	}
	o.shared = true
	if int(id) < m.freshObj {
		m.log = append(m.log, undo{kind: undoShared, a: id})
	}
	m.references(id, func(w uint64) { m.publish(w) })
}

// publishValue does that for all references of a value.
func (m *Machine) publishValue(t *compile.Type, v []uint64) {
	m.refsOf(t, v, func(w uint64) { m.publish(w) })
}

// refsOf calls f for the references of a value.
func (m *Machine) refsOf(t *compile.Type, v []uint64, f func(uint64)) {
	for _, r := range t.Refs {
		w := v[r.Off]
		switch r.Kind {
		case compile.RefPointer:
			if w>>32 != 0 {
				f(w)
			}
		case compile.RefFunc:
			if w != 0 && w&compile.StaticFunc == 0 {
				f(w)
			}
		case compile.RefInterface:
			if w != 0 {
				m.ifaceRef(m.p.TypeByID(w), v[r.Off+1], f)
			}
		}
	}
}

// ifaceRef calls f for what an interface's word refers to.
func (m *Machine) ifaceRef(t *compile.Type, w uint64, f func(uint64)) {
	switch {
	case t.Size > 1:
		f(w)
	case t.Size == 1 && len(t.Refs) == 1:
		if w != 0 && (t.Refs[0].Kind != compile.RefFunc || w&compile.StaticFunc == 0) {
			f(w)
		}
	}
}

// references calls f for all references of an object.
func (m *Machine) references(id uint32, f func(uint64)) {
	o := m.objs[id] // f may allocate
	words := func() []uint64 { return m.mem[o.base : o.base+o.size] }
	switch o.kind {
	case plainObj:
		if len(o.typ.Refs) == 0 {
			return
		}
		n := max(1, o.typ.Size)
		for at := 0; at+n <= int(o.size); at += n {
			m.refsOf(o.typ, words()[at:at+n], f)
		}
	case chanObj:
		if len(o.typ.Refs) > 0 {
			m.eachSlot(id, func(v []uint64) { m.refsOf(o.typ, v, f) })
		}
	case mapObj:
		m.mapRefs(id, f)
	case closureObj:
		at := 1
		for _, t := range o.fn.Captured {
			m.refsOf(t, words()[at:], f)
			at += t.Size
		}
	case deferObj:
		m.deferRefs(id, f)
	}
}

// touch records an access to a location.
func (m *Machine) touch(l system.Loc, write bool) {
	if !m.track || m.story.on && m.story.calm {
		return
	}
	n := len(m.accesses)
	if n <= fewAccesses {
		for i := range m.accesses {
			if a := &m.accesses[i]; a.Loc == l {
				*a = system.Access{Loc: l, Write: a.Write || write}
				return
			}
		}
	} else if int(l) < len(m.touched) {
		// Its content may be of an earlier step.
		if i := int(m.touched[l]); i < n && m.accesses[i].Loc == l {
			m.accesses[i] = system.Access{Loc: l, Write: m.accesses[i].Write || write}
			return
		}
	}
	m.accesses = append(m.accesses, system.Access{Loc: l, Write: write})
	from := n
	if n == fewAccesses {
		from = 0
	}
	if n >= fewAccesses {
		for i, a := range m.accesses[from:] {
			if need := int(a.Loc) + 1 - len(m.touched); need > 0 {
				m.touched = append(m.touched, make([]uint32, need)...)
			}
			m.touched[a.Loc] = uint32(from + i)
		}
	}
}

// fewAccesses is the number of accesses of a step up to which they are searched linearly.
const fewAccesses = 32

// word returns the location of a word of an object.
func (m *Machine) word(p uint64) system.Loc {
	a := m.addr(p)
	if l := m.shadow[a].loc; l != 0 {
		return system.Loc(l - 1)
	}
	o := &m.objs[p>>32]
	l := m.sys.locs.Number(locName{kind: wordLoc, a: o.creator, b: o.seq, c: int32(uint32(p))})
	m.shadow[a].loc = l + 1
	return system.Loc(l)
}

// Accesses implements [system.Machine].
func (m *Machine) Accesses() []system.Access { return m.accesses }

// Track implements [system.Machine].
func (m *Machine) Track(on bool) { m.track, m.accesses = on, m.accesses[:0] }

// NumThreads implements [system.Machine].
func (m *Machine) NumThreads() int { return len(m.gors) }

// locName is a location.
type locName struct {
	kind       locKind
	a, b, c, d int32
}

type locKind uint8

const (
	wordLoc    locKind = iota // a, b: the object; c: the offset
	existLoc                  // goroutine a
	clockLoc                  //
	alarmLoc                  // of goroutine a
	waitLoc                   // goroutine a waits at the channel b, c to receive
	offerLoc                  // the same to send
	aliveLoc                  // the program has not ended
	stdoutLoc                 //
	countLoc                  // how many goroutines there are
	metLoc                    // goroutine a has met a partner
	awakeLoc                  // goroutine a has done something, see quiet
	bubbleLoc                 // goroutine a is in a bubble
	shareEntry                // see shares.go
	shareAdds                 //
	sharePlace                //
	locKinds                  // how many there are
)

// Object is what has several locations, such as a channel: who has allocated it, and how many that
// goroutine had allocated before. It is the same in executions in which the same happens before.
type Object struct{ creator, seq int32 }

// Object returns the object that a location is a part of; false if that is nothing that operations
// name.
func (m *Machine) Object(l system.Loc) (Object, bool) {
	switch n := m.sys.locs.Name(uint32(l)); n.kind {
	case wordLoc:
		return Object{n.a, n.b}, true
	case waitLoc, offerLoc, shareEntry, shareAdds, sharePlace:
		return Object{n.b, n.c}, true
	}
	return Object{}, false
}

// threadName is the n-th child of a goroutine.
type threadName struct{ parent, n int32 }

// loc returns the number of a location. Those that a goroutine alone identifies, or nothing, are
// needed in nearly every step, so the machine caches them.
func (m *Machine) loc(n locName) system.Loc {
	switch n.kind {
	case wordLoc, waitLoc, offerLoc, shareEntry, shareAdds, sharePlace:
		return system.Loc(m.sys.locs.Number(n))
	}
	known := m.known[n.kind]
	if int(n.a) < len(known) && known[n.a] != 0 {
		return system.Loc(known[n.a] - 1)
	}
	l := m.sys.locs.Number(n)
	for len(known) <= int(n.a) {
		known = append(known, 0)
	}
	known[n.a] = l + 1
	m.known[n.kind] = known
	return system.Loc(l)
}

// goroutine returns the goroutine of a number, an absent one if necessary.
func (m *Machine) goroutine(n int) *goroutine {
	for len(m.gors) <= n {
		if len(m.gors) < cap(m.gors) {
			m.gors = m.gors[:len(m.gors)+1]
			if g := m.gors[len(m.gors)-1]; g != nil {
				g.gstate = gstate{}
				g.frames = g.frames[:0]
				continue
			}
			m.gors[len(m.gors)-1] = &goroutine{number: int32(len(m.gors) - 1)}
			continue
		}
		m.gors = append(m.gors, &goroutine{number: int32(len(m.gors))})
	}
	return m.gors[n]
}

// fault is a fault of cpor, not of the explored program.
func (m *Machine) fault(format string, args ...any) {
	panic(fmt.Sprintf("machine: "+format, args...))
}
