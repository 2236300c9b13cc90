package machine

import (
	"slices"
	"sync"

	"cpor/frontend/promela/program"
	"cpor/system"
)

// What a process may still access is computed once per system, for each control state of each
// process type, by joining the accesses of the edges on all paths from there. An element whose
// index is not a number may be any of its array. The package documentation says what an edge
// accesses.
//
// A process never changes its number. So in fork[(_pid + 1) % N] the index is a number for each
// process, and a type with such an index is analyzed for each of its processes, when that is first
// asked about. The processes that it starts have any number.
//
// A process is moved not only by its own transitions, but also by a rendezvous with another one;
// the paths include the edges that a rendezvous takes, so the result for a control state covers
// whatever the process does from there, whichever process moves it.

// reach is a set of locations that may be read, and one of those that may be written, as bits:
// first the globals' and the number of processes, by their location, then the following.
type reach struct{ reads, writes []uint64 }

// The bits after the number of processes.
const (
	// it attempts to send by rendezvous: it reads which processes are ready, and moves one
	bitMeets    = iota + 1
	bitReady    // it comes to or leaves a state in which it is ready for one itself
	bitChannels // it may touch a channel that belongs to a process
	bitRuns     // it starts processes
	bitNumber   // it reads how many processes there are
	bitClaims   // it may break a claim by xr or xs, or make one
	// and after it, for each process type: it reads where such a process is, or its locals
	bitLooks
)

// Then follow, as writes, the uses of channels that may be independent of others (ends.go): for
// each global channel, and for each of the first channel variables of the process itself.
const (
	useSend = iota // a send to the tail, and nothing hangs on whether it waits
	useRecv        // a receive from the head, likewise
	useAny         // of a variable: anything else
	uses
)

// maxVars is how many scalars of a process are examined as channel variables.
const maxVars = 16

type futures struct {
	first int // the location of the number of processes
	table
	quiet *table // while timeout is false, see asking.go

	chans  int          // the bit of the first global channel's first use
	vars   int          // that of the first channel variable's
	number []int32      // by location below first: that of a global channel, plus one; 0 for others
	plain  [][]bool     // by process type and control state: see ends.go
	ends   [][][]endUse // likewise
	props  []dependence

	width int // of a set, in words

	numbers numbers
}

// table has what processes may do.
type table struct {
	states       [][]reach // by process type and control state
	next, starts [][][]int // likewise: the states that follow, and the types started
	// By process type whose indices depend on _pid, and number of the process: its states.
	numbered [][]func() []reach
}

// maxNumbered is how many words the sets of a process may take that is analyzed by itself.
const maxNumbered = 1 << 13

// dependence is what a proposition depends on.
type dependence struct {
	locs []system.Loc // in ascending order
	open bool         // and of where processes are of which it is not known which they are
	// size is set if it depends on the number of processes, not only on whether one exists.
	size bool
}

func (r *reach) add(o *reach) (more bool) {
	for i, w := range o.reads {
		more = more || w&^r.reads[i] != 0
		r.reads[i] |= w
	}
	for i, w := range o.writes {
		more = more || w&^r.writes[i] != 0
		r.writes[i] |= w
	}
	return more
}

func (r *reach) read(bit int)       { r.reads[bit/64] |= 1 << (bit % 64) }
func (r *reach) write(bit int)      { r.writes[bit/64] |= 1 << (bit % 64) }
func (r *reach) reading(b int) bool { return r.reads[b/64]>>(b%64)&1 != 0 }
func (r *reach) writing(b int) bool { return r.writes[b/64]>>(b%64)&1 != 0 }

func (r *reach) touches(bit int, write bool) bool {
	return r.writing(bit) || write &&
		r.reading(bit)
}

// futuresOf returns the analysis, which is made on first use.
func (s *System) futuresOf() *futures {
	s.analysis.Do(func() { s.future = s.analyse() })
	return s.future
}

func (s *System) analyse() *futures {
	f := &futures{first: int(s.locProcesses()), number: make([]int32, s.locProcesses()),
		numbers: s.numbers()}
	for i, c := range s.prog.Globals.Chans {
		if c.Cap > 0 {
			f.number[c.Base] = int32(i) + 1
		}
	}
	f.chans = f.first + bitLooks + len(s.procs)
	f.vars = f.chans + uses*len(s.prog.Globals.Chans)
	f.width = (f.vars+uses*maxVars)/64 + 1
	c := &coder{sys: s}
	for _, t := range s.procs {
		f.plain = append(f.plain, s.plainStates(t.Proc))
		f.ends = append(f.ends, c.endUses(f, t.Proc))
	}
	f.tabulate(s, &f.table)
	f.quiet = &f.table
	if s.waits || s.strict || s.trace != nil || s.prog.UsesPriority {
		f.quiet = new(table)
		f.tabulate(s, f.quiet)
	}
	for _, p := range s.prog.Props {
		f.props = append(f.props, s.dependence(c, p.X))
	}
	return f
}

// tabulate fills a table.
func (f *futures) tabulate(s *System, b *table) {
	b.next, b.starts = make([][][]int, len(s.procs)), make([][][]int, len(s.procs))
	b.numbered = make([][]func() []reach, len(s.procs))
	for _, t := range s.procs {
		a := f.accessor(s, b, t, anyPid)
		b.states = append(b.states, a.all())
		b.next[t.Index], b.starts[t.Index] = a.next, a.started
		if a.asksPid && len(t.states)*f.width <= maxNumbered {
			for pid := range program.MaxProcesses {
				b.numbered[t.Index] = append(b.numbered[t.Index], sync.OnceValue(
					func() []reach { return f.ofProcess(s, b, t, pid) }))
			}
		}
	}
	for more := true; more; {
		more = false
		for p := range b.states {
			more = f.join(s, b, p, b.states[p]) || more
		}
	}
}

// join adds to the sets of the states of a process type those of what follows, once.
func (f *futures) join(s *System, b *table, p int, list []reach) (more bool) {
	for i := len(list) - 1; i >= 0; i-- {
		for _, to := range b.next[p][i] {
			more = list[i].add(&list[to]) || more
		}
		for _, q := range b.starts[p][i] {
			more = list[i].add(f.asOther(&b.states[q][s.procs[q].Start])) || more
		}
	}
	return more
}

// ofProcess analyzes the process of a type with a number.
func (f *futures) ofProcess(s *System, b *table, t *proctype, pid int) []reach {
	list := f.accessor(s, b, t, pid).all()
	for f.join(s, b, t.Index, list) {
	}
	return list
}

// accessor returns what collects the accesses of a process type, or of its process with a number.
func (f *futures) accessor(s *System, b *table, t *proctype, pid int) *accessor {
	return &accessor{f: f, s: s, c: &coder{sys: s}, t: t, inside: s.inside(t.Proc), pid: pid,
		quiet: b != &f.table}
}

// all returns what happens at each control state itself, and keeps what follows.
func (a *accessor) all() []reach {
	list := make([]reach, len(a.t.states))
	a.next, a.started = make([][]int, len(list)), make([][]int, len(list))
	for i, st := range a.t.States {
		a.out = reach{make([]uint64, a.f.width), make([]uint64, a.f.width)}
		a.starts = nil
		a.state(st, i == a.t.End)
		list[i] = a.out
		a.started[i] = a.starts
		for _, e := range a.edges(st) {
			for _, to := range []*program.State{e.To, e.Inner} {
				if to != nil {
					a.next[i] = append(a.next[i], to.ID)
				}
			}
		}
		if st.Fall != nil {
			a.next[i] = append(a.next[i], st.Fall.ID)
		}
	}
	return list
}

// edgesOf returns the edges that may be taken at a state.
func edgesOf(s *program.State) []*program.Edge {
	out := slices.Clone(s.Edges)
	for _, x := range s.Escapes {
		out = append(out, x.Edge)
	}
	return out
}

// edges returns the edges that may be taken at a state.
func (a *accessor) edges(st *program.State) []*program.Edge {
	all := edgesOf(st)
	if a.quiet {
		all = slices.DeleteFunc(all, waitsForTimeout)
	}
	return all
}

// anyPid stands for the number of a process where that is not known.
const anyPid = -1

// accessor collects what happens at one control state after the other.
type accessor struct {
	f      *futures
	s      *System
	c      *coder
	t      *proctype
	out    reach
	starts []int // process types that are started
	inside map[*program.State]bool
	ends   bool // sends and receives of the state use ends of channels
	quiet  bool // timeout is false, and no deadlock is near: see asking.go

	pid           int // the number of the process, or anyPid
	asksPid       bool
	next, started [][]int // by control state: see futures
}

func (a *accessor) state(st *program.State, final bool) {
	a.ends = a.s.usesEnds(a.t.Proc, st, a.inside)
	if a.t.states[st.ID].ready {
		a.out.write(a.f.first + bitReady)
	}
	if a.t.Provided != nil {
		a.expr(a.t.Provided)
	}
	if final {
		a.out.read(a.f.first)
		a.out.write(a.f.first)
	}
	if a.s.prog.UsesPriority {
		a.outranked()
		if final {
			a.out.write(int(a.s.locAbove()))
		}
	}
	if !a.quiet && (final || a.t.states[st.ID].end) {
		a.ending()
	}
	for _, e := range a.edges(st) {
		a.edge(e)
		for _, g := range e.Guards {
			a.ends = false
			a.edge(g)
		}
		if e.To != nil && a.t.states[e.To.ID].ready {
			a.out.write(a.f.first + bitReady)
		}
	}
}

func (a *accessor) edge(e *program.Edge) {
	eachExpr(e, a.expr)
	if a.s.events(e) {
		at := int(a.s.locTrace())
		a.out.read(at)
		a.out.write(at)
	}
	if e.Place != nil {
		a.store(e.Place)
	}
	for _, x := range e.Recv {
		if x.Place != nil {
			a.store(x.Place)
		}
	}
	if a.s.checks(a.t.Proc, e.Ch, e.Kind == program.Send, e.Kind == program.Recv) {
		a.checked()
	}
	switch e.Kind {
	case program.Send:
		if !a.ends || e.Sorted || !a.end(e.Ch, useSend) {
			a.channel(e.Ch, true)
		}
		if a.c.rendezvous(e.Ch) {
			a.out.read(a.f.first)
			a.out.write(a.f.first + bitMeets)
		}
	case program.Recv:
		if !a.ends || e.Random || e.Peek || !a.end(e.Ch, useRecv) {
			a.channel(e.Ch, true)
		}
	}
}

func (a *accessor) store(pl *program.Place) {
	if pl.Global {
		first, last := a.extent(pl)
		for k := first; k <= last; k++ {
			a.out.write(k)
		}
	}
}

// extent returns the scalars that a place may be.
func extent(pl *program.Place) (first, last int) {
	return (&accessor{pid: anyPid}).extent(pl)
}

func (a *accessor) extent(pl *program.Place) (first, last int) {
	first, last = pl.Base, pl.Base+max(1, pl.Count)-1
	for _, i := range pl.Index {
		if v, ok := a.value(i.X); ok && v >= 0 && int(v) < i.Len {
			first += int(v) * i.Stride
			last += int(v) * i.Stride
			continue
		}
		last += (i.Len - 1) * i.Stride
	}
	return first, last
}

// value returns the value that an expression has whenever the process evaluates it.
func (a *accessor) value(x program.Expr) (v int32, ok bool) {
	switch x := x.(type) {
	case *program.Const:
		return x.Value, true
	case *program.Special:
		if x.Name == "_pid" {
			a.asksPid = true
			return int32(a.pid), a.pid != anyPid
		}
	case *program.Binary:
		y, okY := a.value(x.X)
		z, okZ := a.value(x.Y)
		if okY && okZ {
			return program.EvalBinary(x.Op, y, z)
		}
	}
	return 0, false
}

// channel records the access to the channels that an expression may be.
func (a *accessor) channel(ch program.Expr, write bool) {
	if v, ok := a.s.variable(ch); ok {
		a.out.write(a.f.vars + uses*v + useAny)
		return
	}
	ids, other := a.channelsOf(ch)
	for _, k := range ids {
		a.out.read(k)
		if write {
			a.out.write(k)
		}
	}
	if other {
		a.out.read(a.f.first)
		a.out.write(a.f.first + bitChannels)
	}
}

// channelsOf is that of coder for the process.
func (a *accessor) channelsOf(ch program.Expr) (locs []int, other bool) {
	l, ok := ch.(*program.Load)
	if !ok || !l.Place.Global || l.Place.Sym.Chans == nil || a.s.stored[l.Place.Sym] {
		return a.c.channelsOf(ch)
	}
	first, last := a.extent(l.Place)
	if last-l.Place.Sym.Base >= len(l.Place.Sym.Chans) {
		return a.c.channelsOf(ch)
	}
	for k := first; k <= last; k++ {
		if c := a.s.prog.Globals.Chans[l.Place.Sym.Chans[k-l.Place.Sym.Base]]; c.Cap > 0 {
			locs = append(locs, c.Base)
		}
	}
	return locs, false
}

// channelsOf returns the locations of the globals' channels that an expression may be, and
// whether it may be one of a process.
func (c *coder) channelsOf(ch program.Expr) (locs []int, other bool) {
	list := c.sys.prog.Globals.Chans
	if l, ok := ch.(*program.Load); ok && l.Place.Global && l.Place.Sym.Chans != nil &&
		!c.sys.stored[l.Place.Sym] {
		for _, k := range l.Place.Sym.Chans {
			if list[k].Cap > 0 {
				locs = append(locs, list[k].Base)
			}
		}
		return locs, false
	}
	for _, q := range list {
		if q.Cap > 0 {
			locs = append(locs, q.Base)
		}
	}
	return locs, true
}

func (a *accessor) expr(x program.Expr) {
	program.Each(x, func(x program.Expr) {
		switch x := x.(type) {
		case *program.Load:
			if x.Place.Global {
				first, last := a.extent(x.Place)
				for k := first; k <= last; k++ {
					a.out.read(k)
				}
			}
		case *program.Run:
			a.out.read(a.f.first)
			a.out.write(a.f.first)
			a.out.write(a.f.first + bitRuns)
			if x.Priority != nil || x.Proc.Priority != nil {
				a.out.write(int(a.s.locAbove()))
			}
			if len(x.Proc.Exclusive) > 0 {
				a.checked()
			}
			a.starts = append(a.starts, x.Proc.Index)
			for _, v := range x.Proc.Syms {
				a.expr(v.Init)
				for _, y := range v.List {
					a.expr(y)
				}
			}
		case *program.ChanOp:
			send, receive := asksEnds(x.Op)
			a.polled(x.Ch, send, receive)
		case *program.Poll:
			a.polled(x.Ch, true, true)
		case *program.Call:
			a.looksAround()
		case *program.At:
			a.out.read(a.f.first)
			a.out.read(a.f.first + bitLooks + x.Proc.Index)
		case *program.RemoteLoad:
			a.out.read(a.f.first)
			a.out.read(a.f.first + bitLooks + x.Proc.Index)
		case *program.Special:
			switch {
			case x.Name == "_nr_pr":
				a.out.read(a.f.first)
				a.out.read(a.f.first + bitNumber)
			case x.Name == "timeout" && !a.quiet:
				a.looksAround()
			}
		}
	})
}

// polled records that a process asks how full a channel is.
func (a *accessor) polled(ch program.Expr, send, receive bool) {
	a.channel(ch, false)
	if a.s.checks(a.t.Proc, ch, send, receive) {
		a.checked()
	}
}

// ahead returns what thread t of the live state may still access.
func (m *Machine) ahead(b *table, t int) *reach {
	if of := b.numbered[m.types[t]]; of != nil {
		return &of[t]()[m.pc(t)]
	}
	return &b.states[m.types[t]][m.pc(t)]
}

// Future implements [system.Futures].
func (m *Machine) Future(t int) *system.Footprint {
	if t >= m.n {
		return nil // it may become anything
	}
	key := [3]int{t, int(m.types[t]), m.pc(t)}
	if f := m.footprints[key]; f != nil {
		return f
	}
	s := m.sys
	a := s.futuresOf()
	r := m.ahead(&a.table, t)
	if r.writing(a.first + bitMeets) {
		// Its transitions do what the receivers do then.
		all := reach{slices.Clone(r.reads), slices.Clone(r.writes)}
		for _, p := range s.procs {
			for i := range p.states {
				if p.ready {
					all.add(&a.states[p.Index][i])
				}
			}
		}
		r = &all
	}
	r = a.located(r)
	var f system.Footprint
	for k := 0; k <= a.first; k++ {
		at := system.LocRange{First: system.Loc(k), Last: system.Loc(k)}
		if r.reading(k) {
			f.Reads = append(f.Reads, at)
		}
		if r.writing(k) {
			f.Writes = append(f.Writes, at)
		}
	}
	own := system.LocRange{First: s.locControl(t), Last: s.locControl(t+1) - 1}
	others := system.LocRange{First: s.locControl(0), Last: s.locControl(program.MaxProcesses) - 1}
	for p := range s.procs {
		if r.reading(a.first + bitLooks + p) {
			f.Reads = append(f.Reads, others)
			break
		}
	}
	if r.writing(a.first+bitMeets) || r.writing(a.first+bitChannels) || r.writing(a.first+bitRuns) {
		own = others
	}
	f.Reads, f.Writes = system.JoinRanges(append(f.Reads, own)),
		system.JoinRanges(append(f.Writes, own))
	if m.footprints == nil {
		m.footprints = map[[3]int]*system.Footprint{}
	}
	m.footprints[key] = &f
	return &f
}

// Conflicts implements system.Temporal. It is sharper than the footprint of u: what the receiver
// of u's rendezvous does is computed for that process. If t is ready itself, its step writes
// that, and u reads it.
func (m *Machine) Conflicts(t int, acc []system.Access, u int) bool {
	return m.conflicts(t, acc, u, false)
}

// Clash implements system.Temporal: Change needs what Conflicts needs.
func (m *Machine) Clash(_, _ []system.Access) bool { return false }

// conflicts is Conflicts. If unnumbered, the numbers of processes do not matter (numbers.go).
func (m *Machine) conflicts(t int, acc []system.Access, u int, unnumbered bool) bool {
	if u >= m.n {
		return false // not there: who starts it may be
	}
	if m.sys.prog.UsesPriority && t < m.n && m.above(t, u) {
		return !m.below(u, t)
	}
	r := m.ahead(m.sys.futuresOf().quiet, u)
	first := m.sys.locProcesses()
	for _, x := range acc {
		id := m.channelAt(x.Loc)
		if id > 0 && m.disturbs(t, x, id, u, r) {
			return true
		}
		if x.Loc == first && unnumbered {
			if m.counts(t, x.Write, u, r) {
				return true
			}
			continue
		}
		if x.Loc <= first {
			if r.touches(int(x.Loc), x.Write) || x.Loc == first && x.Write && m.reliesOn(u, r) {
				return true
			}
			continue
		}
		if m.conflictsAt(x, id > 0, t, u, r) {
			return true
		}
	}
	return false
}

// conflictsAt is Conflicts for an access to what is stored with a process; channel reports
// whether that is of a channel.
func (m *Machine) conflictsAt(x system.Access, channel bool, t, u int, r *reach) bool {
	s := m.sys
	a := s.futuresOf()
	k := int(x.Loc - s.locProcesses() - 1)
	of, slot := k/s.perProcess, k%s.perProcess
	looks := false
	for p := range s.procs {
		looks = looks || (of >= m.n || int(m.types[of]) == p) && r.reading(a.first+bitLooks+p)
	}
	switch {
	case channel:
		return r.writing(a.first+bitChannels) || x.Write && looks
	case slot == 1: // whether it is ready
		return of == u && r.writing(a.first+bitReady) || x.Write && r.writing(a.first+bitMeets)
	case slot == 0 && of == t && r.writing(a.first+bitMeets) && m.awaits(t):
		return true // u may send to it
	case slot == 0 && of == t && x.Write && r.reading(a.first+bitClaims) && m.givesUp(t):
		return true
	}
	return of == u || x.Write && looks || slot > 1 && r.writing(a.first+bitChannels)
}

// awaits reports whether another process can send to a process by rendezvous.
func (m *Machine) awaits(t int) bool {
	return t < m.n && m.sys.procs[m.types[t]].states[m.pc(t)].ready
}

// Late implements system.Temporal: sends should wait. A transition that sends writes a channel from
// a control state that does not just receive from it, or, by rendezvous, moves another process.
func (m *Machine) Late(t int, acc []system.Access) bool {
	s := m.sys
	first := s.locProcesses()
	return slices.ContainsFunc(acc, func(x system.Access) bool {
		if !x.Write || x.Loc == first || t >= m.n {
			return false
		}
		if id := m.channelAt(x.Loc); id > 0 {
			sending, receiving := m.mayUse(t, id)
			return sending || !receiving
		}
		k := int(x.Loc) - int(first) - 1
		return k >= 0 && k%s.perProcess == 0 && k/s.perProcess != t
	})
}

// dependence returns what a proposition depends on.
func (s *System) dependence(c *coder, x program.Expr) dependence {
	var d dependence
	first := s.locProcesses()
	who := func(p *program.Proc, pid program.Expr, slots ...int) {
		d.locs = append(d.locs, first)
		k, ok := pid.(*program.Const)
		if !ok || k.Value < 0 || k.Value >= program.MaxProcesses {
			d.open = true
			return
		}
		for _, i := range slots {
			d.locs = append(d.locs, s.locControl(int(k.Value))+system.Loc(i))
		}
	}
	channel := func(ch program.Expr) {
		locs, other := c.channelsOf(ch)
		for _, k := range locs {
			d.locs = append(d.locs, system.Loc(k))
		}
		if other {
			d.open, d.locs = true, append(d.locs, first)
		}
	}
	program.Each(x, func(x program.Expr) {
		switch x := x.(type) {
		case *program.Load:
			lo, hi := extent(x.Place)
			for k := lo; k <= hi && x.Place.Global; k++ {
				d.locs = append(d.locs, system.Loc(k))
			}
		case *program.ChanOp:
			channel(x.Ch)
		case *program.Poll:
			channel(x.Ch)
		case *program.At:
			who(x.Proc, x.Pid, 0)
		case *program.RemoteLoad:
			var slots []int
			lo, hi := extent(x.Place)
			for k := lo; k <= hi; k++ {
				slots = append(slots, 2+k)
			}
			who(x.Proc, x.Pid, slots...)
		case *program.Call:
			d.open, d.size, d.locs = true, true, append(d.locs, first)
		case *program.Special:
			if x.Name == "_nr_pr" {
				d.size, d.locs = true, append(d.locs, first)
			}
		}
	})
	slices.Sort(d.locs)
	d.locs = slices.Compact(d.locs)
	return d
}

// effect returns how a transition can change a proposition with the values before and after.
//
// If it writes nothing that the proposition depends on, it does not change it. If it accesses
// all of that, the proposition has the same values before and after it in each state in which
// the transition does the same. The existence of a process is known where the transition moves
// it.
func (m *Machine) effect(d *dependence, acc []system.Access, before, after int64) (rise,
	fall bool) {
	first := m.sys.locProcesses()
	written, found, moved := false, 0, false
	for _, x := range acc {
		_, in := slices.BinarySearch(d.locs, x.Loc)
		if in && (x.Loc != first || d.size) {
			found++
		}
		moved = moved || in && x.Loc == first && x.Write
		if in && x.Write && m.channelAt(x.Loc) > 0 {
			return true, true // while it waits, others may use the other end
		}
		written = written || x.Write && (in || d.open && x.Loc > first)
	}
	if !written {
		return false, false
	}
	want := len(d.locs)
	if _, asks := slices.BinarySearch(d.locs, first); asks && !d.size {
		want--
	}
	if d.open || moved || found < want || before == failed || after == failed {
		return true, true
	}
	return before < after, after < before
}
