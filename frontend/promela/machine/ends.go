package machine

import (
	"cpor/frontend/promela/program"
	"cpor/system"
	"cpor/testkit/sabotage"
)

// An enabled send and an enabled receive on one channel commute: the send adds its message after
// the last one, the receive takes the first one, and the receive compares its arguments with the
// first message in either order. So a process that is about to send does not depend on those
// that will receive, if no other one may send or read the number of messages. In SPIN, users
// declare this with xs and xr. Here it is found automatically, in each state.
//
// Let t be at a send to channel c in state s, and c not full. Whatever others do while t
// waits, if they only receive from c:
//
//   - the send stays enabled, because c only gets emptier, and it does the same: t's locals
//     after it do not depend on c;
//   - it commutes with each receive that takes place: c was not empty, so the receive does not
//     take t's message, and the remaining messages are the same in both orders;
//   - it may enable receives, but none of these occurs in such an execution.
//
// The same with t at a receive from c, c not empty, and others that only send: the first message
// stays the same, so each enabled receive of t stays enabled, and each that does not match still
// does not; and a send that takes place had room.
//
// It must not matter to the others that a receive or a send of theirs is disabled, because t
// might have enabled it. It matters where that leads to else, to an unless escape, to the end of
// an atomic sequence, or out of a guard of a d_step, and in a D_proctype, where two steps must
// not be enabled at the same time. Uses there count as any use, as do a receive from anywhere
// (??), one that leaves the message, and a sorted send. With -lossy a send to a full channel
// does not wait, so none of this applies.
//
// A channel is known from the variable that holds it: a global one without assignments, or a
// local one, such as a parameter, whose value in s is read. Processes started later may use
// every channel.

// inside returns the states of a process type that it reaches only within a transition.
func (s *System) inside(pr *program.Proc) map[*program.State]bool {
	in := map[*program.State]bool{}
	for st, is := range insides(pr) {
		in[st] = is
	}
	for _, st := range pr.States {
		for _, e := range edgesOf(st) {
			if e.Atomic && e.To != nil {
				in[e.To] = true
			}
		}
		if s.chain[st] {
			in[st] = true
		}
	}
	return in
}

// usesEnds reports whether it does not matter that a send or receive of a state is disabled.
func (s *System) usesEnds(pr *program.Proc, st *program.State,
	inside map[*program.State]bool) bool {
	if sabotage.Is("ends/else") {
		return true
	}
	if s.lossy || pr.Decl.Deterministic || inside[st] || len(st.Escapes) > 0 || st.Fall != nil {
		return false
	}
	for _, e := range st.Edges {
		if e.Kind == program.Else || e.Kind == program.DStep {
			return false
		}
	}
	return true
}

// plainStates returns, for each state of a process type, whether each of its transitions is a
// single statement that reads no channel.
func (s *System) plainStates(pr *program.Proc) []bool {
	plain := make([]bool, len(pr.States))
	for i, st := range pr.States {
		ok := !s.lossy && len(st.Escapes) == 0 && st.Fall == nil && pr.Provided == nil
		for _, e := range st.Edges {
			ok = ok && !e.Atomic && e.Kind != program.DStep && !e.Sorted && !e.Random && !e.Peek
			eachExpr(e, func(x program.Expr) {
				program.Each(x, func(x program.Expr) {
					switch x.(type) {
					case *program.ChanOp, *program.Poll, *program.Run:
						ok = false
					}
				})
			})
		}
		plain[i] = ok
	}
	return plain
}

// variable returns the scalar of a process that holds the channel of an expression as long as
// the process exists.
func (s *System) variable(x program.Expr) (scalar int, ok bool) {
	l, is := x.(*program.Load)
	if !is || l.Place.Global || len(l.Place.Index) > 0 || s.stored[l.Place.Sym] ||
		l.Place.Base >= maxVars {
		return 0, false
	}
	return l.Place.Base, true
}

// end records the use of an end of a channel. It returns false if the channel is unknown.
func (a *accessor) end(ch program.Expr, use int) bool {
	if v, ok := a.s.variable(ch); ok {
		a.out.write(a.f.vars + uses*v + use)
		return true
	}
	ids, other := a.channelsOf(ch)
	if other {
		return false
	}
	for _, k := range ids {
		a.out.write(a.f.chans + uses*int(a.f.number[k]-1) + use)
	}
	return true
}

// located returns a reach with all uses of ends as accesses to locations.
func (f *futures) located(r *reach) *reach {
	out := reach{append([]uint64(nil), r.reads...), append([]uint64(nil), r.writes...)}
	any := false
	for v := f.vars; v < f.vars+uses*maxVars; v++ {
		any = any || r.writing(v)
	}
	for k, n := range f.number {
		if n == 0 {
			continue
		}
		first := f.chans + uses*int(n-1)
		if any || r.writing(first+useSend) || r.writing(first+useRecv) {
			out.read(k)
			out.write(k)
		}
	}
	if any {
		out.read(f.first)
		out.write(f.first + bitChannels)
	}
	return &out
}

// asOther returns the reach of a process that will be started: its channels are unknown.
func (f *futures) asOther(r *reach) *reach {
	for v := f.vars; v < f.vars+uses*maxVars; v++ {
		if r.writing(v) {
			out := f.located(r)
			for v := f.vars; v < f.vars+uses*maxVars; v++ {
				out.writes[v/64] &^= 1 << (v % 64)
			}
			return out
		}
	}
	return r
}

// channelAt returns the number of the channel with a location, 0 if there is none.
func (m *Machine) channelAt(l system.Loc) int32 {
	a := m.sys.futuresOf()
	if int(l) < a.first {
		return a.number[l]
	}
	k := int(l) - a.first - 1
	if k < 0 || k/m.sys.perProcess >= m.n || k%m.sys.perProcess < 2 {
		return 0
	}
	base := m.base[k/m.sys.perProcess]
	for i := len(m.sys.chans); i < len(m.chans); i++ {
		if c := &m.chans[i]; c.base == base && c.c.Base == k%m.sys.perProcess-2 && c.c.Cap > 0 {
			return int32(i) + 1
		}
	}
	return 0
}

// holds returns the value of a scalar of a process.
func (m *Machine) holds(t, scalar int) int32 {
	p := m.sys.procs[m.types[t]]
	if scalar >= len(p.lay.scalars) {
		return 0
	}
	l := &p.lay.scalars[scalar]
	return l.get(m.words[m.base[t]+l.word])
}

// reliesOn reports whether process u may use a channel of a process after u. Those before u
// cannot die while u exists.
func (m *Machine) reliesOn(u int, r *reach) bool {
	a := m.sys.futuresOf()
	for k := range uses * maxVars {
		if !r.writing(a.vars + k) {
			continue
		}
		if id := int(m.holds(u, k/uses)); id > len(m.chans) ||
			id > 0 && m.chans[id-1].base > m.base[u] {
			return true
		}
	}
	return false
}

// disturbs reports whether process u's possible uses of the ends of a channel are dependent on
// t's access to it.
func (m *Machine) disturbs(t int, x system.Access, id int32, u int, r *reach) bool {
	a := m.sys.futuresOf()
	use := func(k int) bool {
		is := k != useAny && int(id) <= len(m.sys.chans) &&
			r.writing(a.chans+uses*(int(id)-1)+k)
		for v := range maxVars {
			is = is || r.writing(a.vars+uses*v+k) && m.holds(u, v) == id &&
				!sabotage.Is("ends/held")
		}
		return is
	}
	sends, receives := use(useSend), use(useRecv)
	switch {
	case use(useAny) && !sabotage.Is("ends/any"):
		return true
	case !sends && !receives:
		return false
	}
	if !x.Write || t >= m.n || !a.plain[m.types[t]][m.pc(t)] {
		return true
	}
	c := &m.chans[id-1]
	l := &c.c.scalars[0]
	n := int(l.get(m.words[c.base+l.word]))
	sending, receiving := m.mayUse(t, id)
	switch {
	case sending && !receiving && n < c.c.Cap:
		return sends && !sabotage.Is("ends/same")
	case receiving && !sending && n > 0:
		return receives && !sabotage.Is("ends/same")
	}
	return true
}

// endUse is the use of an end of a channel by a step from some control state.
type endUse struct {
	channel int32 // its number plus one; 0 if it is not fixed
	scalar  int32 // the scalar of the process that holds it; -1 if it may be any
	send    bool
}

// endUses returns the uses of ends by the steps of a process type, by control state.
func (c *coder) endUses(f *futures, pr *program.Proc) [][]endUse {
	all := make([][]endUse, len(pr.States))
	for i, st := range pr.States {
		for _, e := range st.Edges {
			if e.Kind != program.Send && e.Kind != program.Recv {
				continue
			}
			u := endUse{scalar: -1, send: e.Kind == program.Send}
			if v, ok := c.sys.variable(e.Ch); ok {
				u.scalar = int32(v)
			} else if ids, other := c.channelsOf(e.Ch); !other {
				for _, k := range ids {
					all[i] = append(all[i], endUse{channel: f.number[k], send: u.send})
				}
				continue
			}
			all[i] = append(all[i], u)
		}
	}
	return all
}

// mayUse reports whether a process has steps that may send to a channel, and steps that may
// receive.
func (m *Machine) mayUse(t int, id int32) (sending, receiving bool) {
	for _, u := range m.sys.futuresOf().ends[m.types[t]][m.pc(t)] {
		is := u.channel == id
		if u.channel == 0 {
			is = u.scalar < 0 || m.holds(t, int(u.scalar)) == id
		}
		sending = sending || is && u.send
		receiving = receiving || is && !u.send
	}
	return sending, receiving
}
