package machine

import (
	"fmt"
	"slices"
	"strings"

	"cpor/frontend/promela/program"
	"cpor/frontend/promela/syntax"
	"cpor/system"
	"cpor/testkit/sabotage"
)

// coder compiles expressions and edges to functions.
type coder struct {
	sys  *System
	proc *proctype
}

func (c *coder) expr(x program.Expr) eval {
	switch x := x.(type) {
	case *program.Const:
		v := x.Value
		return func(*Machine) int32 { return v }
	case *program.Load:
		return c.load(x.Place)
	case *program.Unary:
		y := c.expr(x.X)
		switch x.Op {
		case "!":
			return func(m *Machine) int32 { return b2i(y(m) == 0) }
		case "-":
			return func(m *Machine) int32 { return -y(m) }
		}
		return func(m *Machine) int32 { return ^y(m) }
	case *program.Binary:
		return c.binary(x)
	case *program.If:
		i, a, b := c.expr(x.C), c.expr(x.X), c.expr(x.Y)
		return func(m *Machine) int32 {
			if i(m) != 0 {
				return a(m)
			}
			return b(m)
		}
	case *program.Run:
		return c.run(x)
	case *program.ChanOp:
		return c.chanOp(x)
	case *program.Poll:
		ch := c.chanExpr(x.Ch)
		r := &receiver{ch: ch, args: c.recvArgs(x.Args), random: x.Random}
		pos, checks := x.Pos, c.sys.checks(c.owner(), x.Ch, true, true)
		return func(m *Machine) int32 {
			q := m.mustChannel(ch(m), pos, false)
			if q == nil {
				return 0
			}
			if checks {
				m.check(ch(m), true, true, pos)
			}
			if q.c.Cap == 0 {
				m.fail(system.Runtime, pos, false,
					"%s is a rendezvous channel and cannot be polled", q.c.Name)
				return 0
			}
			return b2i(m.match(q, r) >= 0)
		}
	case *program.Call:
		y := c.expr(x.X)
		if x.Name == "enabled" {
			pos, process := x.Pos, slices.Contains(c.sys.procs, c.proc)
			return func(m *Machine) int32 {
				u := int(y(m))
				if process && u == m.t && m.depth == 0 {
					m.fail(system.Runtime, pos, true,
						"enabled(%d) asks about the process that asks, %s", u, m.proc.Name)
					return 0
				}
				return m.askEnabled(u)
			}
		}
		return func(m *Machine) int32 {
			if t := int(y(m)); t >= 0 && t < m.n {
				m.touch(m.sys.locControl(t), false)
				return int32(m.words[m.base[t]] >> prioShift & 0xff)
			}
			m.touch(m.sys.locProcesses(), false)
			return 0
		}
	case *program.At:
		pid := c.pid(x.Proc, x.Pid)
		index := x.Proc.Index
		id := -1
		if x.State != nil {
			id = x.State.ID
		}
		return func(m *Machine) int32 {
			t := pid(m)
			if t >= 0 {
				m.touch(m.sys.locControl(int(t)), false)
				m.saw(m.base[t], pcMask)
			}
			return b2i(t >= 0 && int(m.words[m.base[t]]&0xff) == index && m.pc(int(t)) == id)
		}
	case *program.RemoteLoad:
		pid := c.pid(x.Proc, x.Pid)
		p := c.sys.procs[x.Proc.Index]
		index := x.Proc.Index
		at := c.index(x.Place)
		return func(m *Machine) int32 {
			t := pid(m)
			if t < 0 || int(m.words[m.base[t]]&0xff) != index {
				return 0
			}
			i := at(m)
			m.touch(m.sys.locLocal(int(t), int(i)), false)
			l := &p.lay.scalars[i]
			m.saw(m.base[t]+l.word, l.mask)
			return l.get(m.words[m.base[t]+l.word])
		}
	case *program.Special:
		switch x.Name {
		case "timeout":
			return func(m *Machine) int32 { return b2i(m.timeout) }
		case "np_":
			return func(m *Machine) int32 { return b2i(m.nonProgress()) }
		case "_last":
			return func(m *Machine) int32 { return int32(m.words[0] >> lastShift & 0xff) }
		case "_pid":
			return func(m *Machine) int32 { return int32(m.t) }
		}
		return func(m *Machine) int32 {
			m.touch(m.sys.locProcesses(), false)
			return int32(m.n) + m.sys.claims
		}
	}
	panic(fmt.Sprintf("promela: expression %T", x))
}

// adds reports whether an assignment adds a number to a global scalar. The sum wraps around: only
// the low bits are stored, whatever the type, so such assignments commute.
func adds(e *program.Edge) bool {
	b, ok := e.X.(*program.Binary)
	if !ok || b.Op != "+" && b.Op != "-" || !e.Place.Global || len(e.Place.Index) > 0 {
		return false
	}
	x, ok := b.X.(*program.Load)
	_, number := b.Y.(*program.Const)
	return ok && number && x.Place.Global && len(x.Place.Index) == 0 &&
		x.Place.Base == e.Place.Base
}

// chanExpr compiles an expression that is a channel. A global without assignments need not be
// looked up.
func (c *coder) chanExpr(x program.Expr) eval {
	l, ok := x.(*program.Load)
	if !ok || !l.Place.Global || l.Place.Sym.Chans == nil || c.sys.stored[l.Place.Sym] {
		return c.expr(x)
	}
	ids := l.Place.Sym.Chans
	first := int32(l.Place.Sym.Base)
	if len(l.Place.Index) == 0 {
		id := int32(ids[l.Place.Base-int(first)]) + 1
		return func(*Machine) int32 { return id }
	}
	at := c.index(l.Place)
	return func(m *Machine) int32 { return int32(ids[at(m)-first]) + 1 }
}

// stored returns the variables that something stores into after they were initialized.
func stored(p *program.Program) map[*program.Sym]bool {
	out := map[*program.Sym]bool{}
	for _, pr := range slices.Concat(p.Procs, p.Claims) {
		for _, s := range pr.States {
			for _, e := range s.Edges {
				if e.Place != nil {
					out[e.Place.Sym] = true
				}
				for _, a := range e.Recv {
					if a.Place != nil {
						out[a.Place.Sym] = true
					}
				}
			}
		}
	}
	return out
}

func b2i(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// nonProgress is np_: no process is at a progress label. It does not hold where no process can
// move: an execution that ends is not a cycle.
func (m *Machine) nonProgress() bool {
	if m.progress() || m.stutter {
		return false
	}
	return m.sys.claim != nil || !m.stuck()
}

// progress reports whether a process is at a progress label.
func (m *Machine) progress() bool {
	for t := range m.n {
		if m.sys.procs[m.words[m.base[t]]&0xff].states[m.pc(t)].prog {
			return true
		}
	}
	return false
}

// askEnabled is enabled(u) in an expression.
func (m *Machine) askEnabled(u int) int32 {
	if u < 0 || u >= m.n || m.depth > 0 {
		m.touch(m.sys.locProcesses(), false)
		return 0
	}
	if sabotage.Is("enabled/blind") {
		before := len(m.acc)
		defer func() { m.acc = m.acc[:before] }()
	}
	m.touch(m.sys.locControl(u), false)
	t, fb, proc, at := m.t, m.fb, m.proc, m.at
	opts := m.opts
	m.opts = nil
	m.depth++
	on := m.enabled(u)
	m.depth--
	m.opts = opts
	m.t, m.fb, m.proc, m.at = t, fb, proc, at
	return b2i(on)
}

// pid returns the function that finds the process of a remote reference; -1
// if there is none.
func (c *coder) pid(p *program.Proc, x program.Expr) eval {
	if x == nil {
		index := uint64(p.Index)
		return func(m *Machine) int32 {
			m.touch(m.sys.locProcesses(), false)
			for t := range m.n {
				if m.words[m.base[t]]&0xff == index {
					return int32(t)
				}
			}
			return -1
		}
	}
	y := c.expr(x)
	return func(m *Machine) int32 {
		m.touch(m.sys.locProcesses(), false)
		t := y(m)
		if t < 0 || int(t) >= m.n {
			return -1
		}
		return t
	}
}

// index returns the function that computes the number of a scalar in its region.
func (c *coder) index(pl *program.Place) func(m *Machine) int32 {
	base := int32(pl.Base)
	if len(pl.Index) == 0 {
		return func(*Machine) int32 { return base }
	}
	type term struct {
		x      eval
		n      int32
		stride int32
		pos    syntax.Pos
	}
	var terms []term
	for _, i := range pl.Index {
		terms = append(terms, term{c.expr(i.X), int32(i.Len), int32(i.Stride), i.Pos})
	}
	name := pl.Name
	if len(terms) == 1 {
		t := terms[0]
		return func(m *Machine) int32 {
			v := t.x(m)
			if uint32(v) >= uint32(t.n) {
				m.outOfRange(t.pos, name, v, t.n)
				v = 0
			}
			return base + v*t.stride
		}
	}
	return func(m *Machine) int32 {
		at := base
		for i := range terms {
			t := &terms[i]
			v := t.x(m)
			if uint32(v) >= uint32(t.n) {
				m.outOfRange(t.pos, name, v, t.n)
				v = 0
			}
			at += v * t.stride
		}
		return at
	}
}

func (m *Machine) outOfRange(pos syntax.Pos, name string, v, n int32) {
	m.fail(system.Assertion, pos, false, "invalid array index: %s has %d elements, the index is %d",
		name, n, v)
}

func (c *coder) load(pl *program.Place) eval {
	at := c.index(pl)
	constant := len(pl.Index) == 0
	k := pl.Base
	if pl.Global {
		list := c.sys.globals.scalars
		if constant {
			l := list[k]
			return func(m *Machine) int32 {
				if m.watch {
					m.touch(system.Loc(k), false)
					m.saw(l.word, l.mask)
				}
				return l.get(m.words[l.word])
			}
		}
		return func(m *Machine) int32 {
			i := at(m)
			l := &list[i]
			if m.watch {
				m.touch(system.Loc(i), false)
				m.saw(l.word, l.mask)
			}
			return l.get(m.words[l.word])
		}
	}
	list := c.proc.lay.scalars
	if constant {
		l := list[k]
		if pl.Sym.Remote {
			return func(m *Machine) int32 {
				if m.watch {
					m.touch(m.sys.locLocal(m.t, k), false)
					m.saw(m.fb+l.word, l.mask)
				}
				return l.get(m.words[m.fb+l.word])
			}
		}
		return func(m *Machine) int32 {
			if m.learn {
				m.saw(m.fb+l.word, l.mask)
			}
			return l.get(m.words[m.fb+l.word])
		}
	}
	remote := pl.Sym.Remote
	return func(m *Machine) int32 {
		i := at(m)
		if remote {
			m.touch(m.sys.locLocal(m.t, int(i)), false)
		}
		l := &list[i]
		if m.learn {
			m.saw(m.fb+l.word, l.mask)
		}
		return l.get(m.words[m.fb+l.word])
	}
}

func (c *coder) store(pl *program.Place) store {
	at := c.index(pl)
	constant := len(pl.Index) == 0
	if !constant {
		// SPIN computes the index of an assignment three times: for the old value, for the new
		// one, and when it undoes the step.
		once := at
		at = func(m *Machine) int32 {
			n := m.failed
			i := once(m)
			m.failed += 2 * (m.failed - n)
			return i
		}
	}
	k := pl.Base
	if pl.Global {
		list := c.sys.globals.scalars
		if constant {
			l := list[k]
			return func(m *Machine, v int32) {
				if m.track {
					m.operate(system.Loc(k), system.Store(int64(v)))
				}
				m.put(0, &l, v)
			}
		}
		return func(m *Machine, v int32) {
			i := at(m)
			if m.track {
				m.operate(system.Loc(i), system.Store(int64(v)))
			}
			m.put(0, &list[i], v)
		}
	}
	list := c.proc.lay.scalars
	remote := pl.Sym.Remote
	if constant && !remote {
		l := list[k]
		return func(m *Machine, v int32) {
			m.put(m.fb, &l, v)
		}
	}
	return func(m *Machine, v int32) {
		i := at(m)
		if remote {
			m.touch(m.sys.locLocal(m.t, int(i)), true)
		}
		m.put(m.fb, &list[i], v)
	}
}

func (c *coder) binary(x *program.Binary) eval {
	a, b := c.expr(x.X), c.expr(x.Y)
	if k, ok := x.Y.(*program.Const); ok {
		v := k.Value
		switch x.Op {
		case "==":
			return func(m *Machine) int32 { return b2i(a(m) == v) }
		case "!=":
			return func(m *Machine) int32 { return b2i(a(m) != v) }
		case "<":
			return func(m *Machine) int32 { return b2i(a(m) < v) }
		case ">":
			return func(m *Machine) int32 { return b2i(a(m) > v) }
		case "+":
			return func(m *Machine) int32 { return a(m) + v }
		case "-":
			return func(m *Machine) int32 { return a(m) - v }
		}
	}
	switch x.Op {
	case "&&":
		return func(m *Machine) int32 { return b2i(a(m) != 0 && b(m) != 0) }
	case "||":
		return func(m *Machine) int32 { return b2i(a(m) != 0 || b(m) != 0) }
	case "+":
		return func(m *Machine) int32 { return a(m) + b(m) }
	case "-":
		return func(m *Machine) int32 { return a(m) - b(m) }
	case "*":
		return func(m *Machine) int32 { return a(m) * b(m) }
	case "&":
		return func(m *Machine) int32 { return a(m) & b(m) }
	case "|":
		return func(m *Machine) int32 { return a(m) | b(m) }
	case "^":
		return func(m *Machine) int32 { return a(m) ^ b(m) }
	case "==":
		return func(m *Machine) int32 { return b2i(a(m) == b(m)) }
	case "!=":
		return func(m *Machine) int32 { return b2i(a(m) != b(m)) }
	case "<":
		return func(m *Machine) int32 { return b2i(a(m) < b(m)) }
	case ">":
		return func(m *Machine) int32 { return b2i(a(m) > b(m)) }
	case "<=":
		return func(m *Machine) int32 { return b2i(a(m) <= b(m)) }
	case ">=":
		return func(m *Machine) int32 { return b2i(a(m) >= b(m)) }
	}
	op, pos := x.Op, x.Pos
	return func(m *Machine) int32 {
		v, ok := program.EvalBinary(op, a(m), b(m))
		if !ok {
			m.fail(system.Runtime, pos, true, "division by zero")
		}
		return v
	}
}

func (c *coder) run(x *program.Run) eval {
	p := c.sys.procs[x.Proc.Index]
	var args []eval
	for _, a := range x.Args {
		args = append(args, c.expr(a))
	}
	prio := c.priority(x.Priority, p)
	pos := x.Pos
	return func(m *Machine) int32 {
		first := len(m.vals)
		for _, a := range args {
			v := a(m)
			m.vals = append(m.vals, v)
		}
		pid := m.create(p, m.vals[first:], prio(m), pos)
		m.vals = m.vals[:first]
		return pid
	}
}

func (c *coder) priority(x program.Expr, p *proctype) eval {
	if x == nil {
		x = p.Priority
	}
	if x == nil {
		return func(*Machine) int32 { return 1 }
	}
	return c.expr(x)
}

// mustChannel returns the channel with a number, or fails.
func (m *Machine) mustChannel(id int32, pos syntax.Pos, fatal bool) *inst {
	if id == 0 {
		m.fail(system.Runtime, pos, fatal, "this channel has not been initialized")
		return nil
	}
	q := m.channel(id)
	if q == nil {
		m.fail(system.Runtime, pos, true, "this channel is gone: the process that it belonged to "+
			"has ended")
	}
	return q
}

// owner returns the process type whose code is made; nil if it is the code of something else.
func (c *coder) owner() *program.Proc {
	if c.proc == nil || !slices.Contains(c.sys.procs, c.proc) {
		return nil
	}
	return c.proc.Proc
}

func (c *coder) chanOp(x *program.ChanOp) eval {
	ch := c.chanExpr(x.Ch)
	pos := x.Pos
	if send, receive := asksEnds(x.Op); c.sys.checks(c.owner(), x.Ch, send, receive) {
		plain := ch
		ch = func(m *Machine) int32 {
			id := plain(m)
			m.check(id, send, receive, pos)
			return id
		}
	}
	f := func(n, size int) bool { return n == 0 }
	switch x.Op {
	case "len":
		return func(m *Machine) int32 {
			q := m.mustChannel(ch(m), pos, false)
			if q == nil || q.c.Cap == 0 {
				return 0
			}
			return int32(m.length(q))
		}
	case "nempty":
		f = func(n, size int) bool { return n > 0 }
	case "full":
		f = func(n, size int) bool { return size > 0 && n >= size }
	case "nfull":
		f = func(n, size int) bool { return size == 0 || n < size }
	}
	return func(m *Machine) int32 {
		q := m.mustChannel(ch(m), pos, false)
		if q == nil {
			return 0
		}
		n := 0
		if q.c.Cap > 0 {
			n = m.length(q)
		}
		return b2i(f(n, q.c.Cap))
	}
}

func (c *coder) recvArgs(args []program.RecvArg) []recvArg {
	var out []recvArg
	for _, a := range args {
		var r recvArg
		if a.Match != nil {
			r.match = c.expr(a.Match)
		}
		if a.Place != nil {
			r.store = c.store(a.Place)
		}
		out = append(out, r)
	}
	return out
}

// edge compiles one edge.
func (c *coder) edge(e *program.Edge) *edge {
	out := &edge{kind: e.Kind, atomic: e.Atomic || c.sys.chain[e.To], src: e}
	for _, k := range c.sys.dead[e] {
		out.dead = append(out.dead, c.proc.lay.scalars[k])
	}
	switch e.Kind {
	case program.Else, program.Send, program.Recv, program.DStep:
	default:
		out.plain = true
	}
	if e.To == nil {
		out.leaves = true
	} else {
		out.to = int32(e.To.ID)
	}
	switch e.Kind {
	case program.Cond:
		x := c.expr(e.X)
		if k, ok := e.X.(*program.Const); ok && k.Value != 0 {
			break
		}
		if program.Runs(e.X) > 0 {
			out.do = func(m *Machine) { x(m) }
			break
		}
		out.can = func(m *Machine) bool { return x(m) != 0 }
	case program.Assign:
		x := c.expr(e.X)
		if adds(e) {
			k := e.Place.Base
			l := c.sys.globals.scalars[k]
			out.do = func(m *Machine) {
				// The value itself is not visible: arithmetic wraps around and cannot fail.
				track := m.track
				m.track = false
				v := x(m)
				m.track = track
				if track {
					m.operate(system.Loc(k), system.Sum)
				}
				m.put(0, &l, v)
			}
			break
		}
		st := c.store(e.Place)
		out.do = func(m *Machine) { st(m, x(m)) }
	case program.Assert:
		x, pos := c.expr(e.X), e.Pos
		text := strings.TrimSpace(strings.TrimPrefix(e.Text, "assert"))
		out.do = func(m *Machine) {
			if x(m) == 0 {
				m.fail(system.Assertion, pos, false, "%s", "assertion violated: "+text)
			}
		}
	case program.Print:
		var args []eval
		for _, a := range e.Args {
			args = append(args, c.expr(a))
		}
		format := e.Format
		if s, ok := e.Stmt.(*syntax.Print); ok && s.Mtype {
			format = "%e"
		}
		out.do = func(m *Machine) {
			var values []int32
			for _, a := range args {
				v := a(m)
				if m.story.on {
					values = append(values, v)
				}
			}
			if m.story.on {
				m.story.deeds = append(m.story.deeds, system.Deed{Kind: system.Print,
					Value: m.printed(format, values)})
			}
		}
	case program.Send:
		s := &message{ch: c.chanExpr(e.Ch), sorted: e.Sorted}
		for _, a := range e.Args {
			s.args = append(s.args, c.expr(a))
		}
		out.send = s
		out.checks = c.sys.checks(c.owner(), e.Ch, true, false)
	case program.Recv:
		out.recv = &receiver{ch: c.chanExpr(e.Ch), args: c.recvArgs(e.Recv), random: e.Random,
			peek: e.Peek}
		out.checks = c.sys.checks(c.owner(), e.Ch, false, true)
	case program.SetPrio:
		x, y := c.expr(e.X), c.expr(e.Y)
		own := e.Stmt.(*syntax.SetPriority).Own
		out.do = func(m *Machine) {
			if t := int(x(m)); t >= 0 && t < m.n {
				v := y(m)
				if !own && (v < 1 || v > 255) {
					m.fail(system.Runtime, e.Pos, true,
						"priority %d is out of range, it can be from 1 to 255", v)
				}
				m.setBits(m.base[t], prioShift, 8, uint64(uint32(v))&0xff)
			}
		}
	}
	return out
}

// compile compiles the automaton of a process type, whose states are already allocated.
func (c *coder) compile(p *proctype) {
	c.proc = p
	edges := map[*program.Edge]*edge{}
	for i, s := range p.States {
		st := &p.states[i]
		st.src = s
		st.end, st.accept, st.prog = s.End, s.Accept, s.Progress
		st.final = i == p.End
		for _, e := range s.Edges {
			if edges[e] == nil {
				edges[e] = c.edge(e)
			}
			st.edges = append(st.edges, edges[e])
			st.ready = st.ready || c.receives(e)
		}
		if s.Fall != nil {
			st.fall = &p.states[s.Fall.ID]
		}
		for _, x := range s.Escapes {
			if edges[x.Edge] == nil {
				edges[x.Edge] = c.edge(x.Edge)
			}
			st.escapes = append(st.escapes, escape{edges[x.Edge], x.From})
			st.ready = st.ready || c.receives(x.Edge)
		}
		p.ready = p.ready || st.ready
	}
	for src, e := range edges {
		if src.Inner != nil {
			e.inner = &p.states[src.Inner.ID]
			for _, g := range src.Guards {
				if edges[g] == nil { // it is only looked at
					edges[g] = c.edge(g)
				}
				e.guards = append(e.guards, edges[g])
			}
		}
	}
	if p.Provided != nil {
		p.provided = c.expr(p.Provided)
	}
	for _, s := range p.Syms[len(p.Params):] {
		c.initial(&p.lay, s, s.Base, false, &p.inits)
	}
}

// receives reports whether a rendezvous may take an edge as the receiver's.
func (c *coder) receives(e *program.Edge) bool {
	if e.Kind == program.DStep && e.Inner != nil {
		return slices.ContainsFunc(e.Inner.Edges, c.receives)
	}
	return e.Kind == program.Recv && c.rendezvous(e.Ch)
}

// rendezvous reports whether an expression may be a channel without capacity.
func (c *coder) rendezvous(ch program.Expr) bool {
	if l, ok := ch.(*program.Load); ok && l.Place.Global && l.Place.Sym.Chans != nil &&
		!c.sys.stored[l.Place.Sym] {
		return c.sys.prog.Globals.Chans[l.Place.Sym.Chans[0]].Cap == 0
	}
	return c.sys.meets
}

// initial compiles the initial values of a variable whose first scalar is base, or of a
// field.
func (c *coder) initial(r *region, s *program.Sym, base int, global bool, out *[]func(*Machine)) {
	if s.Type.IsStruct() {
		for i := range max(1, s.Len) {
			for _, f := range s.Type.Fields {
				c.initial(r, f, base+i*s.Type.Size+f.Base, global, out)
			}
		}
		return
	}
	if s.List != nil {
		for i, x := range s.List {
			y, l := c.expr(x), r.scalars[base+i]
			*out = append(*out, func(m *Machine) { m.put(baseOf(m, global), &l, y(m)) })
		}
		return
	}
	if s.Init == nil {
		return
	}
	y := c.expr(s.Init)
	list := r.scalars[base : base+s.Scalars()]
	*out = append(*out, func(m *Machine) {
		v := y(m)
		for i := range list {
			m.put(baseOf(m, global), &list[i], v)
		}
	})
}

func baseOf(m *Machine, global bool) int32 {
	if global {
		return 0
	}
	return m.fb
}
