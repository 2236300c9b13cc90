package machine

import (
	"maps"

	"cpor/frontend/promela/program"
	"cpor/frontend/promela/syntax"
	"cpor/system"
	"cpor/testkit/sabotage"
)

// xs q says that only this process sends to a channel, xr q that only this one receives from it.
// No reduction relies on it (ends.go), but a wrong claim is an error, as in SPIN's verifier with
// its reduction:
//
//   - another process uses that end, or asks how full the channel is;
//   - two processes claim the same end;
//   - the channel has no capacity, or is used from the middle (?? and !!).
//
// A claim holds from the birth of the process until it has come to its end. So what checks a claim
// depends on births (it reads the number of processes), and, if there is a claim to the channel, on
// where the process is that has made it. Where claims are right, nothing depends on places. The
// bounds say who may still check claims (bitClaims); a process that claims something and is about
// to come to its end is dependent with those. Merged semantics does not join the step to that end.

// exclusive is a claim, compiled.
type exclusive struct {
	*program.Exclusive
	ch eval
}

// addClaims compiles the claims of all process types.
func (s *System) addClaims(c *coder) {
	for _, t := range s.procs {
		c.proc = t
		for i := range t.Exclusive {
			x := &t.Exclusive[i]
			t.claims = append(t.claims, exclusive{x, c.chanExpr(x.Ch)})
		}
	}
	c.proc = nil
}

// asksEnds returns which ends a question about a channel belongs to. Only the receiver makes
// nempty(q) false, and only the sender nfull(q), so they may ask.
func asksEnds(op string) (send, receive bool) { return op != "nempty", op != "nfull" }

// sources adds the declarations of the channels that an expression of a process type may be. It is
// false if that is not known.
func (s *System) sources(pr *program.Proc, x program.Expr, out map[*program.Sym]bool) bool {
	l, ok := x.(*program.Load)
	if !ok || s.stored[l.Place.Sym] {
		return false
	}
	v := l.Place.Sym
	if v.Chans != nil {
		out[v] = true
		return true
	}
	if l.Place.Global || v.Type.Name != "chan" || out[v] {
		return out[v]
	}
	if v.Base >= pr.Arity {
		return v.Init != nil && s.sources(pr, v.Init, out)
	}
	out[v] = true // a process may pass a parameter on to another one of its type
	known := true
	for _, from := range s.prog.Procs {
		for _, st := range from.States {
			for _, e := range edgesOf(st) {
				eachExpr(e, func(x program.Expr) {
					program.Each(x, func(x program.Expr) {
						if r, ok := x.(*program.Run); ok && r.Proc == pr && v.Base < len(r.Args) {
							known = known && s.sources(from, r.Args[v.Base], out)
						}
					})
				})
			}
		}
	}
	return known
}

// checks reports whether a process type that uses a channel may break a claim of another process;
// code of no process type (nil) breaks none. What the process type claims itself is checked where
// the other process is started.
func (s *System) checks(pr *program.Proc, ch program.Expr, send, receive bool) bool {
	if !s.claimed || pr == nil {
		return false
	}
	same := func(x program.Expr) bool {
		a, ok := x.(*program.Load)
		b, is := ch.(*program.Load)
		return ok && is && a.Place.Sym == b.Place.Sym && len(b.Place.Index) == 0 &&
			!s.stored[a.Place.Sym]
	}
	used := map[*program.Sym]bool{}
	known := s.sources(pr, ch, used)
	meet := func(t *program.Proc, x program.Expr) bool {
		claimed := map[*program.Sym]bool{}
		known := known && s.sources(t, x, claimed)
		maps.DeleteFunc(claimed, func(v *program.Sym, _ bool) bool { return !used[v] })
		return !known || len(claimed) > 0
	}
	need := func(send bool) bool {
		own, others := false, false
		for _, t := range s.prog.Procs {
			for i := range t.Exclusive {
				x := &t.Exclusive[i]
				if x.Send != send {
					continue
				}
				own = own || t == pr && same(x.Ch)
				others = others || meet(t, x.Ch)
			}
		}
		return others && !own
	}
	return send && need(true) || receive && need(false)
}

// claims reports whether a process claims an end of a channel.
func (m *Machine) claims(u int, id int32, send bool) bool {
	is := false
	t, fb, proc := m.t, m.fb, m.proc
	m.enter(u)
	for i := range m.proc.claims {
		x := &m.proc.claims[i]
		is = is || x.Send == send && x.ch(m) == id
	}
	m.t, m.fb, m.proc = t, fb, proc
	return is
}

// ended reports whether a process is at its end.
func (m *Machine) ended(u int) bool {
	return m.sys.procs[m.types[u]].states[m.pc(u)].final
}

// check reports a violation if another process claims an end of a channel that the entered process
// uses.
func (m *Machine) check(id int32, send, receive bool, pos syntax.Pos) {
	m.notes.more = true
	m.touch(m.sys.locProcesses(), false)
	for u := range m.n {
		if u == m.t || len(m.sys.procs[m.types[u]].claims) == 0 {
			continue
		}
		for _, sends := range []bool{true, false} {
			if sends && !send || !sends && !receive || !m.claims(u, id, sends) {
				continue
			}
			m.touch(m.sys.locControl(u), false)
			if !m.ended(u) {
				m.fail(system.Runtime, pos, false, "%s claims with %s that no other process "+
					"does this", m.sys.procs[m.types[u]].Name, word(sends))
			}
		}
	}
}

// checkOrder reports a violation if the entered process claims an end of a channel that it does not
// use in order.
func (m *Machine) checkOrder(id int32, send bool, pos syntax.Pos) {
	if m.sys.claimed && m.claims(m.t, id, send) {
		m.fail(system.Runtime, pos, false, "%s claims the channel with %s, which allows neither "+
			"?? nor !!", m.proc.Name, word(send))
	}
}

func word(send bool) string {
	if send {
		return "xs"
	}
	return "xr"
}

// claim checks the claims of the entered process, which has just been started.
func (m *Machine) claim() {
	for i := range m.proc.claims {
		x := &m.proc.claims[i]
		id := x.ch(m)
		if id <= 0 || int(id) > len(m.chans) {
			m.fail(system.Runtime, x.Pos, false, "the channel of this %s has not been initialized",
				word(x.Send))
			continue
		}
		if m.chans[id-1].c.Cap == 0 {
			m.fail(system.Runtime, x.Pos, false, "%s is for channels with a capacity: no "+
				"third process can take part in a rendezvous anyway", word(x.Send))
		}
		for u := range m.n {
			if u == m.t || !m.claims(u, id, x.Send) {
				continue
			}
			m.touch(m.sys.locControl(u), false)
			if !m.ended(u) {
				m.fail(system.Runtime, x.Pos, false, "%s has claimed the same channel with %s",
					m.sys.procs[m.types[u]].Name, word(x.Send))
			}
		}
	}
}

// checked records that a claim may be checked.
func (a *accessor) checked() {
	if sabotage.Is("claims/bounds") {
		return
	}
	a.out.read(a.f.first)
	a.out.read(a.f.first + bitNumber)
	a.out.read(a.f.first + bitClaims)
	for p, t := range a.s.procs {
		if !a.quiet && len(t.Exclusive) > 0 {
			a.out.read(a.f.first + bitLooks + p)
		}
	}
}

// givesUp reports whether process t claims something and may come to its end with its next step.
func (m *Machine) givesUp(t int) bool {
	if t >= m.n || len(m.sys.procs[m.types[t]].claims) == 0 || m.ended(t) {
		return false
	}
	p := m.sys.procs[m.types[t]]
	for _, e := range edgesOf(p.States[m.pc(t)]) {
		if e.Atomic || e.To == nil || e.To.ID == p.End || m.sys.chain[e.To] {
			return true
		}
	}
	return false
}
