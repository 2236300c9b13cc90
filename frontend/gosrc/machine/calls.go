package machine

import (
	"fmt"
	"slices"

	"cpor/frontend/gosrc/compile"
	"cpor/internal/human"
	"cpor/system"
)

// panicRec is an active panic or Goexit. It is immutable.
type panicRec struct {
	next      *panicRec // the one before
	value     [2]uint64
	goexit    bool
	recovered bool
	frame     int // whose deferred calls run
	stack     []token
}

// callValue calls a function value or an interface's method. It returns false if it
// panicked instead.
func (m *Machine) callValue(g *goroutine, sort compile.Kind, c *compile.Call, v []uint64,
	args []uint64, dst int32) bool {
	if sort == compile.Kind(compile.CallM-compile.CallF) {
		if v[0] == 0 {
			m.throw(g, nilDereference)
			return false
		}
		t := m.p.TypeByID(v[0])
		fn := m.p.MethodOf(t, c.Method)
		if fn == nil {
			m.fault("%v has no method %s", t, c.Method.Name())
		}
		x := m.push(g, fn, dst)
		switch t.Size {
		case 0:
		case 1:
			x[0] = v[1]
		default:
			a := m.addr(v[1])
			copy(x, m.mem[a:a+uint32(t.Size)])
		}
		copy(x[t.Size:], args)
		return true
	}
	w := v[0]
	if w == 0 {
		m.throw(g, nilDereference)
		return false
	}
	m.callFunc(g, w, args, dst)
	return true
}

// callFunc calls a function value that is not nil.
func (m *Machine) callFunc(g *goroutine, w uint64, args []uint64, dst int32) {
	if w&compile.StaticFunc != 0 {
		x := m.push(g, m.p.FuncByIndex(w&^compile.StaticFunc), dst)
		copy(x, args)
		return
	}
	o := m.objs[w>>32]
	x := m.push(g, o.fn, dst)
	copy(x, args)
	copy(x[o.fn.Params:], m.mem[o.base+1:o.base+o.size])
}

// ret returns from the function on top. It returns false if the goroutine has
// violated a property.
func (m *Machine) ret(g *goroutine, moves []compile.Move) bool {
	f := g.frames[len(g.frames)-1]
	g.frames = g.frames[:len(g.frames)-1]
	if len(g.frames) == 0 {
		return true
	}
	m.saveFrame(g)
	caller := g.top()
	if f.deferred {
		return m.unwind(g) || g.status == alive
	}
	if f.dst >= 0 {
		from, to := g.stack[f.base:], g.stack[caller.base+f.dst:]
		for _, mv := range moves {
			copy(to[mv.To:], from[mv.From:mv.From+mv.Size])
		}
	}
	caller.pc++
	return true
}

// A deferred call's object has the next one, the call (the function of the statement, and the
// number of the call in it), the sort of call, the called value, and the arguments.
const (
	deferNext  = 0
	deferWhere = 1
	deferSort  = 2
	deferValue = 3
	deferArgs  = 5
)

// deferCell returns the pointer to the word that refers to the first of a frame's
// deferred calls.
func (m *Machine) deferCell(g *goroutine, f *frame, r []uint64) uint64 {
	at := f.fn.Defers
	if r[at] == 0 {
		r[at] = m.newObject(g, deferObj, nil, 1)
	}
	return r[at]
}

// deferCall executes a defer statement. It returns false if that panicked instead.
func (m *Machine) deferCall(g *goroutine, f *frame, i *compile.Instr, r []uint64) bool {
	var cell uint64
	if i.B >= 0 {
		cell = r[i.B]
	} else {
		cell = m.deferCell(g, f, r)
	}
	c := &f.fn.Calls[i.N]
	rec := m.newObject(g, deferObj, nil, deferArgs+c.Words)
	a := m.addr(rec)
	m.mem[a+deferNext] = m.mem[m.addr(cell)]
	m.mem[a+deferWhere] = uint64(f.fn.Index)<<32 | uint64(i.N)
	m.mem[a+deferSort] = uint64(i.K)
	switch i.K {
	case compile.Kind(compile.CallV - compile.CallF):
		m.mem[a+deferValue] = r[c.Value]
	case compile.Kind(compile.CallM - compile.CallF):
		m.mem[a+deferValue], m.mem[a+deferValue+1] = r[c.Value], r[c.Value+1]
		if r[c.Value] == 0 {
			m.throw(g, nilDereference)
			return false
		}
	}
	for _, mv := range c.Args {
		copy(m.mem[a+deferArgs+uint32(mv.To):], r[mv.From:mv.From+mv.Size])
	}
	m.set(m.addr(cell), rec)
	return true
}

func (m *Machine) deferSite(a uint32) *compile.Call {
	w := m.mem[a+deferWhere]
	return &m.p.FuncByIndex(w >> 32).Calls[uint32(w)]
}

func (m *Machine) deferRefs(id uint32, f func(uint64)) {
	o := m.objs[id]
	if p := m.mem[o.base]; p != 0 {
		f(p)
	}
	if o.size < deferArgs {
		return // the cell
	}
	c := m.deferSite(o.base)
	v := m.mem[o.base+deferValue:]
	switch compile.Kind(m.mem[o.base+deferSort]) {
	case compile.Kind(compile.CallV - compile.CallF):
		if v[0] != 0 && v[0]&compile.StaticFunc == 0 {
			f(v[0])
		}
	case compile.Kind(compile.CallM - compile.CallF):
		if v[0] != 0 {
			m.ifaceRef(m.p.TypeByID(v[0]), v[1], f)
		}
	}
	at := o.base + deferArgs
	for _, t := range c.Types {
		m.refsOf(t, m.mem[at:], f)
		at += uint32(t.Size)
	}
}

// unwind makes the next deferred call of the top frame, or continues as the frame's mode says.
// It returns false if the goroutine cannot continue.
func (m *Machine) unwind(g *goroutine) bool {
	for {
		f := g.top()
		if f.mode == panicking && g.panics.recovered {
			p := g.panics
			g.panics = p.next
			f.mode = recovered
			if p.next != nil && p.next.goexit && p.next.frame >= len(g.frames)-1 {
				// A panic during Goexit that was recovered: Goexit continues.
				f.mode = panicking
			}
		}
		if f.mode == panicking {
			m.dropPanics(g)
			if g.panics.frame != len(g.frames)-1 {
				p := *g.panics
				p.frame = len(g.frames) - 1
				g.panics = &p
			}
		}
		if m.callDeferred(g, f) {
			return true
		}
		switch f.mode {
		case returning:
			f.mode = running
			f.pc++
			return true
		case recovered:
			f.mode = running
			if f.fn.Recover >= 0 {
				f.pc = f.fn.Recover
				return true
			}
			// It returns zeroes.
			x := *f
			g.frames = g.frames[:len(g.frames)-1]
			if len(g.frames) == 0 {
				return true
			}
			m.saveFrame(g)
			if x.deferred {
				continue
			}
			caller := g.top()
			if x.dst >= 0 {
				to := g.stack[caller.base+x.dst:]
				clear(to[:x.fn.Results])
			}
			caller.pc++
			return true
		case panicking:
			g.frames = g.frames[:len(g.frames)-1]
			if len(g.frames) == 0 {
				return m.uncaught(g)
			}
			m.saveFrame(g)
			g.top().mode = panicking
		default:
			m.fault("%s: unwinds while it runs", f.fn.Name)
		}
	}
}

// callDeferred makes the next deferred call of a frame, if there is one.
func (m *Machine) callDeferred(g *goroutine, f *frame) bool {
	at := f.fn.Defers
	if at < 0 || g.stack[f.base+at] == 0 {
		return false
	}
	cell := m.addr(g.stack[f.base+at])
	rec := m.mem[cell]
	if rec == 0 {
		return false
	}
	a := m.addr(rec)
	m.set(cell, m.mem[a+deferNext])
	c := m.deferSite(a)
	// a call changes no memory
	args := m.mem[a+deferArgs : a+deferArgs+uint32(c.Words)]
	v := m.mem[a+deferValue : a+deferValue+2]
	sort := compile.Kind(m.mem[a+deferSort])
	n := len(g.frames)
	if sort == 0 {
		x := m.push(g, c.Func, -1)
		copy(x, args)
	} else {
		m.callValue(g, sort, c, v, args, -1)
	}
	if len(g.frames) == n+1 {
		g.top().deferred = true
	}
	return true
}

// dropPanics drops the panics that a later one has overtaken: it unwinds the frame whose
// deferred calls ran because of them. A Goexit stays, and continues if the panic is recovered.
func (m *Machine) dropPanics(g *goroutine) {
	depth := len(g.frames) - 1
	for {
		p := g.panics
		if p.next == nil || p.next.frame < depth || p.next.goexit && !p.goexit {
			return
		}
		q := *p
		q.next = p.next.next
		g.panics = &q
	}
}

// panic begins a panic.
func (m *Machine) panic(g *goroutine, t, w uint64) {
	if t == 0 && !m.sys.nilPanics {
		t, w = uint64(m.sys.nilPanic.ID), m.newObject(g, plainObj, m.sys.nilPanic.Elem, 0)
	}
	m.start(g, &panicRec{value: [2]uint64{t, w}})
}

func (m *Machine) start(g *goroutine, p *panicRec) {
	p.next = g.panics
	p.frame = len(g.frames) - 1
	p.stack = m.stackOf(g)
	g.panics = p
	g.top().mode = panicking
	m.unwind(g)
}

// throw panics with a runtime error.
func (m *Machine) throw(g *goroutine, msg string) {
	m.panic(g, uint64(m.sys.runtimeError.ID), m.str(msg))
}

// throwIndex panics because of an index.
func (m *Machine) throwIndex(g *goroutine, i uint64, unsigned bool, length int) {
	if int64(i) < 0 && !unsigned {
		m.throw(g, fmt.Sprintf("index out of range [%d]", int64(i)))
		return
	}
	m.throw(g, fmt.Sprintf("index out of range [%d] with length %d", i, length))
}

// throwPlain panics with a runtime error whose text does not begin with "runtime
// error".
func (m *Machine) throwPlain(g *goroutine, msg string) {
	m.panic(g, uint64(m.sys.plainError.ID), m.str(msg))
}

func (m *Machine) throwAssert(g *goroutine, from, t *compile.Type, id uint64) {
	have := "nil"
	if id != 0 {
		have = typeString(m.p.TypeByID(id))
	}
	msg := fmt.Sprintf("interface conversion: %s is %s, not %s", typeString(from), have,
		typeString(t))
	if t.Kind == compile.Interface && id != 0 {
		msg = fmt.Sprintf("interface conversion: %s is not %v: missing method %s", have, t,
			m.p.MissingMethod(m.p.TypeByID(id), t))
	} else if t.Kind == compile.Interface {
		msg = fmt.Sprintf("interface conversion: interface is nil, not %v", t)
	}
	if id != 0 && t.Kind != compile.Interface && have == typeString(t) {
		msg += " (types from different scopes)"
	}
	m.panic(g, uint64(m.sys.assertError.ID), m.str(msg))
}

// recoverPanic is recover().
func (m *Machine) recoverPanic(g *goroutine) (t, w uint64) {
	p := g.panics
	i := len(g.frames) - 1
	if g.frames[i].fn.Name == "recover" && i > 0 {
		i-- // defer recover(): its function is that of the statement
	}
	for i > 0 && !g.frames[i].deferred && g.frames[i-1].fn.SSA.Synthetic != "" {
		i-- // called by a wrapper
	}
	if p == nil || p.recovered || p.goexit || i < 1 || !g.frames[i].deferred || p.frame != i-1 ||
		g.frames[i-1].mode != panicking {
		return 0, 0
	}
	q := *p
	q.recovered = true
	g.panics = &q
	return p.value[0], p.value[1]
}

// uncaught handles a panic that was not recovered, when no frame is left. It returns false if
// the goroutine cannot continue.
func (m *Machine) uncaught(g *goroutine) bool {
	p := g.panics
	if p.goexit {
		g.panics = nil
		return true // it has ended
	}
	if m.sys.crash == nil || g.status != alive {
		m.violate(g, Panicked, "panic", p.stack)
		return false
	}
	x := m.push(g, m.sys.crash, -1)
	x[0], x[1] = p.value[0], p.value[1]
	return true
}

// stackOf returns where a goroutine is, the innermost call first.
func (m *Machine) stackOf(g *goroutine) []token {
	var s []token
	for i := len(g.frames) - 1; i >= 0; i-- {
		s = append(s, token{g.frames[i].fn, g.frames[i].pc})
	}
	return s
}

// caller returns the place of a call in the stack, as package runtime counts: 0 is the caller
// itself. As in Go, the last one is the one that runs a test. After a function that a panic has
// called comes that of the run-time, and then what has panicked, whose frames are gone here.
func (m *Machine) caller(g *goroutine, depth int) token {
	found := token{}
	// visit reports whether the search ends at t.
	visit := func(t token) bool {
		switch {
		case t.fn.Wraps():
		case depth == 0:
			found = t
			return true
		case t.fn.Name == "testing.tRunner":
			return true
		default:
			depth--
		}
		return false
	}
	p := g.panics
	for i := len(g.frames) - 2; i >= 0; i-- { // the native function has a frame
		f := &g.frames[i]
		if visit(token{f.fn, f.pc}) {
			return found
		}
		for p != nil && p.frame > i-1 {
			p = p.next
		}
		if p == nil || !f.deferred || p.frame != i-1 || g.frames[i-1].mode != panicking {
			continue
		}
		by := m.sys.gopanic
		if p.goexit {
			by = m.sys.goexit
		}
		if visit(token{fn: by}) {
			return found
		}
		for _, t := range p.stack[:max(0, len(p.stack)-i)] {
			if visit(t) {
				return found
			}
		}
	}
	return found
}

// The kinds of violations of Go programs, besides a deadlock.
const (
	Panicked system.ViolationKind = "panic"
	Failed   system.ViolationKind = "failed"
	Fatal    system.ViolationKind = "fatal"
	Exited   system.ViolationKind = "exit"
	Raced    system.ViolationKind = "race"
)

// violate ends the goroutine with a violation.
func (m *Machine) violate(g *goroutine, kind system.ViolationKind, msg string, stack []token) {
	m.fail(g, &system.Violation{Kind: kind, Message: msg, Pos: m.blamed(g, stack)})
}

// blamed returns the place of a violation with this stack.
func (m *Machine) blamed(g *goroutine, stack []token) system.Pos {
	p := m.userPos(stack)
	if p.Line == 0 && g.made.fn != nil { // it runs a function of the library
		p = m.posOf(g.made)
	}
	return p
}

func (m *Machine) fail(g *goroutine, v *system.Violation) {
	m.addViolation(v)
	g.status = failed
	g.failure = v
	if m.report != nil {
		m.report.failed(m, g)
	}
}

func (m *Machine) addViolation(v *system.Violation) {
	if m.out.Violation == nil {
		m.out.Violation = v
		return
	}
	last := m.out.Violation
	for last.Also != nil {
		last = last.Also
	}
	last.Also = v
}

// fatal ends the program: an error that cannot be recovered.
func (m *Machine) fatal(g *goroutine, msg string) {
	m.violate(g, Fatal, "fatal error: "+msg, m.stackOf(g))
}

// race reports (or, with a transition for each access, records) a race of g's access at p with
// an earlier one.
func (m *Machine) race(g *goroutine, p uint64, earlier uint64, wrote, writes bool) {
	if m.p.Memory { // a race on purpose
		if l := m.word(p); m.report == nil {
			m.sys.raced.LoadOrCompute(l, func() string { return m.describeWord(p) })
		}
		return
	}
	what := m.describeWord(p)
	verb := func(w bool) string {
		if w {
			return "write"
		}
		return "read"
	}
	stack := m.stackOf(g)
	v := &system.Violation{Kind: Raced, Pos: m.userPos(stack), Object: what,
		Message: fmt.Sprintf(
			"data race on %s: nothing orders the %s by %s and the earlier %s by %s", what,
			verb(writes), m.ThreadName(int(g.number)), verb(wrote),
			m.ThreadName(int(earlier>>32)-1))}
	for w := m.out.Violation; w != nil; w = w.Also {
		if w.Same(v) {
			return
		}
	}
	m.addViolation(v)
	if m.report != nil {
		m.report.raced(m, g, p, earlier, wrote, writes)
	}
}

// exhausted abandons an endless computation.
func (m *Machine) exhausted(g *goroutine) {
	pos := m.userPos(m.stackOf(g))
	if m.sys.halted() { // whoever has said so knows why
		g.status = failed
		g.failure = &system.Violation{Kind: "halted", Pos: pos}
		return
	}
	what := fmt.Sprintf("computes for more than %d million instructions without synchronizing",
		m.stepBudget()/1_000_000)
	if m.budget < outOfMemory/2 {
		what = fmt.Sprintf("takes more than %d million words of memory, of which an execution "+
			"frees none,", maxWords/1_000_000)
	}
	if m.sys.full.Load() {
		what = fmt.Sprintf("needs more memory than the limit of %s allows (-max-memory)",
			human.Size(m.sys.o.MaxMemory))
	}
	m.sys.giveUp(fmt.Sprintf("%s %s at %s:%d", m.ThreadName(int(g.number)), what, pos.File,
		pos.Line))
	g.status = failed
	g.failure = &system.Violation{Kind: "endless", Pos: pos}
}

// refuse records that the program does what cannot be explored.
func (m *Machine) refuse(g *goroutine, what string) {
	if m.setup {
		m.refused = slices.Clone(g.frames)
	}
	m.sys.refuse(what, m.stackOf(g), m)
	g.status = failed
	g.failure = &system.Violation{Kind: "unsupported", Message: what, Pos: m.userPos(m.stackOf(g))}
}
