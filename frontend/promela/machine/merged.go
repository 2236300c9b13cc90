package machine

import (
	"slices"

	"cpor/frontend/promela/program"
	"cpor/testkit/sabotage"
)

// Merged semantics ([Options].Merged) has fewer states than the plain one, by two optimizations
// of what happens inside one process. Both are like SPIN's, but the counts differ: SPIN's
// merging also handles blocks and inlines, and it finds fewer dead variables.
//
// # Merging
//
// For example, a process sends a message and then counts a local up. The second step is executed
// together with the first one, as in an atomic sequence. That is done with each step c of a process
// that touches only its locals, is always enabled, cannot fail, and is the only one of its control
// state. It is not done to the first step of a process, and in a cycle of such steps one is left
// out.
//
// Claim: the same statements are executed, with the same values, and the same violations and
// deadlocks are reachable. Let w be an execution of the plain system in which a process takes step
// a, then c, and others take steps b in between. Then a, c, b are an execution, too, with the same
// violations and the same end, because no b can tell whether c has been executed:
//
//   - c changes locals. Those that a remote reference names do not count as local here.
//   - c changes the place of its process. Another process sees that through P@L. So if such a
//     reference names the process type, c has no label, nor has the state behind c. Nothing is
//     merged in models that use enabled, priorities or _last, nor in processes with a provided
//     clause.
//   - b is not a timeout, because c could move.
//   - A claim by xr or xs holds until its process has come to its end. So in such processes, c
//     does not lead there.
//   - b is not a rendezvous with the process, because it cannot receive before c. It can be
//     possible only because of that: the else of a process that tries to send, or what an unless
//     escape would interrupt. So if there is such a process in the model, the process must not be
//     able to receive by rendezvous behind c.
//
// Moving all such c forward, w becomes an execution of the merged system, and each execution of
// that is one of the plain system. If w ends before c, it is continued with c. In a deadlock, no
// process is before a c.
//
// So atomic sequences of others, and the processes that check assertions, see values that they can
// see without merging, and all of those. A property over time can tell the difference, because
// states are left out: with -ltl, nothing is merged. Traces are shown in steps of the plain
// system (separate.go).
//
// # Dead variables
//
// A local that no path from a control state reads before writing it is 0 there. No step can
// distinguish its values, so setting it to 0 is a bisimulation, which preserves assertions, end
// states and the other errors, and never adds states. Channels, structures that contain them,
// and what is read from outside the process are not changed.

// merge finds what is merged and what is dead.
func (s *System) merge() {
	s.chain, s.dead, s.unused = map[*program.State]bool{}, map[*program.Edge][]int{},
		map[*program.Proc][]int{}
	ok, placed := mergeable(s.prog)
	tried := s.triesToSend()
	for _, pr := range s.prog.Procs {
		inner := insides(pr)
		if ok && pr.Provided == nil {
			s.mergeSteps(pr, func(st *program.State) bool {
				return !inner[st] && alone(pr, st) && (!placed[pr] || unlabeled(st)) &&
					(len(pr.Exclusive) == 0 || st.Edges[0].To.ID != pr.End) &&
					(!tried || !s.receives(st.Edges[0].To) || sabotage.Is("merged/ready"))
			})
		}
		s.findDead(pr, inner)
	}
}

// unlabeled reports whether neither a state with a single step nor the state behind it has a label.
func unlabeled(st *program.State) bool {
	return len(st.Labels)+len(st.Edges[0].To.Labels) == 0 || sabotage.Is("merged/label")
}

// receives reports whether a process can receive by rendezvous in a state.
func (s *System) receives(st *program.State) bool {
	c := &coder{sys: s}
	return slices.ContainsFunc(edgesOf(st), c.receives)
}

// triesToSend reports whether a process may try to send by rendezvous where it matters that this is
// not possible.
func (s *System) triesToSend() bool {
	c := &coder{sys: s}
	sends := func(e *program.Edge) bool { return e.Kind == program.Send && c.rendezvous(e.Ch) }
	for _, pr := range s.prog.Procs {
		inside := s.inside(pr)
		for _, st := range pr.States {
			for _, e := range edgesOf(st) {
				if (sends(e) || slices.ContainsFunc(e.Guards, sends)) &&
					!s.usesEnds(pr, st, inside) {
					return true
				}
			}
		}
	}
	return false
}

// mergeable reports whether no step depends on where another process is, labels aside, or on which
// one moved last; and of which process types something asks whether they are at a label.
func mergeable(p *program.Program) (ok bool, placed map[*program.Proc]bool) {
	asks := p.UsesPriority || p.UsesLast
	placed = map[*program.Proc]bool{}
	look := func(x program.Expr) {
		program.Each(x, func(x program.Expr) {
			switch x := x.(type) {
			case *program.Call:
				asks = true
			case *program.At:
				placed[x.Proc] = true
			case *program.Run:
				asks = asks || x.Priority != nil
			}
		})
	}
	for _, pr := range p.Procs {
		asks = asks || pr.Priority != nil
		look(pr.Provided)
		for _, st := range pr.States {
			for _, e := range st.Edges {
				asks = asks || e.Kind == program.SetPrio
				eachExpr(e, look)
			}
		}
	}
	return !asks, placed
}

// mergeSteps finds the states in which a process type does not rest, among those that can be such.
func (s *System) mergeSteps(pr *program.Proc, can func(*program.State) bool) {
	const onPath, done = 1, 2
	seen := map[*program.State]int{}
	for _, st := range pr.States {
		var path []*program.State
		at := st
		for seen[at] == 0 && can(at) {
			seen[at] = onPath
			path = append(path, at)
			at = at.Edges[0].To
		}
		for _, p := range path {
			// The state that closes a cycle is not merged.
			s.chain[p] = p != at || seen[at] != onPath || sabotage.Is("merged/cycle")
		}
		for _, p := range path {
			seen[p] = done
		}
	}
}

// alone reports whether a state has a single step, which is always enabled, cannot fail, and
// touches only locals.
func alone(pr *program.Proc, st *program.State) bool {
	if len(st.Edges) != 1 || len(st.Escapes) > 0 || st.Fall != nil {
		return false
	}
	e := st.Edges[0]
	switch e.Kind {
	case program.Skip, program.Clear, program.Assign, program.Print:
	default:
		return false
	}
	// A step that begins an atomic sequence would join it, with all its choices, to the previous
	// step.
	local := e.To != nil && !e.Atomic && len(e.Escapes) == 0
	if e.Place != nil {
		local = local && owned(pr, e.Place)
	}
	eachExpr(e, func(x program.Expr) {
		program.Each(x, func(x program.Expr) {
			switch x := x.(type) {
			case *program.Const, *program.Unary, *program.If:
			case *program.Binary:
				local = local && x.Op != "/" && x.Op != "%"
			case *program.Load:
				local = local && owned(pr, x.Place)
			case *program.Special:
				local = local && x.Name == "_pid"
			default:
				local = false
			}
		})
	})
	return local
}

// owned reports whether only its process can see a place, and none of its indices can be out of
// range.
func owned(pr *program.Proc, pl *program.Place) bool {
	for _, i := range pl.Index {
		if k, ok := i.X.(*program.Const); !ok || k.Value < 0 || int(k.Value) >= i.Len {
			return false
		}
	}
	return !pl.Global && (!pl.Sym.Remote || sabotage.Is("merged/remote")) &&
		slices.Contains(pr.Syms, pl.Sym)
}

// findDead finds, for each edge of a process type, the scalars that are dead after it and need
// not be 0 yet, and those that are dead when a process starts: it may return to that state.
func (s *System) findDead(pr *program.Proc, inner map[*program.State]bool) {
	d := &deadness{pr: pr, inner: inner, index: map[*program.Sym]int{},
		uses: map[*program.Edge]*use{}, live: map[*program.State]set{}}
	for _, v := range pr.Syms {
		if !v.Remote && v.Type.Name != "chan" && !hasChannel(v.Type) {
			d.index[v] = len(d.index)
		}
	}
	d.findUses()
	d.findLive()
	start := pr.States[pr.Start]
	for _, v := range pr.Syms {
		if k, is := d.index[v]; is && !d.live[start][k] {
			for j := range v.Scalars() {
				s.unused[pr] = append(s.unused[pr], v.Base+j)
			}
		}
	}
	for _, st := range pr.States {
		if inner[st] {
			continue
		}
		for _, e := range edgesOf(st) {
			for _, v := range d.deadBehind(st, e) {
				for j := range v.Scalars() {
					if !slices.Contains(s.dead[e], v.Base+j) {
						s.dead[e] = append(s.dead[e], v.Base+j)
					}
				}
			}
		}
	}
}

// deadness is the liveness of the variables of a process type.
type deadness struct {
	pr    *program.Proc
	inner map[*program.State]bool // states within a step
	index map[*program.Sym]int    // of the variables in the sets
	uses  map[*program.Edge]*use
	live  map[*program.State]set
}

// use is what an edge does with variables: it kills those that it overwrites as a whole.
type use struct{ reads, kills, writes set }

// findUses finds what the edges do with variables.
func (d *deadness) findUses() {
	for _, st := range d.pr.States {
		if d.inner[st] {
			continue
		}
		for _, e := range edgesOf(st) {
			if d.uses[e] == nil {
				d.uses[e] = d.useOf(e)
			}
		}
	}
}

// useOf returns what an edge does with variables, with all that is within its step.
func (d *deadness) useOf(e *program.Edge) *use {
	n := len(d.index)
	u := &use{make(set, n), make(set, n), make(set, n)}
	u.reads.edge(d.index, e)
	u.writes.written(d.index, e)
	if e.Inner == nil {
		for v, k := range d.index {
			u.kills[k] = u.writes[k] && v.Scalars() == 1
		}
		return u
	}
	step := map[*program.State]bool{}
	within(e.Inner, step)
	for in := range step {
		for _, f := range in.Edges {
			u.reads.edge(d.index, f)
			u.writes.written(d.index, f)
		}
	}
	for _, g := range e.Guards {
		u.reads.edge(d.index, g)
	}
	return u
}

// findLive finds the variables that are live in each state, by iteration to a fixed point.
func (d *deadness) findLive() {
	provided := make(set, len(d.index))
	provided.reads(d.index, d.pr.Provided)
	for _, st := range d.pr.States {
		d.live[st] = slices.Clone(provided)
	}
	for again := true; again; {
		again = false
		for i := len(d.pr.States) - 1; i >= 0; i-- {
			st := d.pr.States[i]
			if d.inner[st] {
				continue
			}
			for _, e := range edgesOf(st) {
				u := d.uses[e]
				for k, is := range d.live[st] {
					if !is && (u.reads[k] || d.live[e.To][k] && !u.kills[k]) {
						d.live[st][k], again = true, true
					}
				}
			}
		}
	}
}

// deadBehind returns the variables that are dead after an edge of a state, and were not before
// it or are written by it.
func (d *deadness) deadBehind(st *program.State, e *program.Edge) []*program.Sym {
	var dead []*program.Sym
	for _, v := range d.pr.Syms {
		k, is := d.index[v]
		gone := is && (!d.live[e.To][k] || sabotage.Is("merged/dead"))
		if gone && (d.live[st][k] || d.uses[e].writes[k]) {
			dead = append(dead, v)
		}
	}
	return dead
}

func hasChannel(t *program.Type) bool {
	return slices.ContainsFunc(t.Fields, func(f *program.Sym) bool {
		return f.Type.Name == "chan" || hasChannel(f.Type)
	})
}

// set has a truth value for each local that may die.
type set []bool

// reads adds what an expression reads.
func (s set) reads(index map[*program.Sym]int, x program.Expr) {
	program.Each(x, func(x program.Expr) {
		if l, ok := x.(*program.Load); ok {
			if k, is := index[l.Place.Sym]; is {
				s[k] = true
			}
		}
	})
}

// edge adds everything an edge reads.
func (s set) edge(index map[*program.Sym]int, e *program.Edge) {
	eachExpr(e, func(x program.Expr) { s.reads(index, x) })
}

// written adds what an edge writes, wholly or in part.
func (s set) written(index map[*program.Sym]int, e *program.Edge) {
	add := func(pl *program.Place) {
		if pl == nil {
			return
		}
		if k, is := index[pl.Sym]; is {
			s[k] = true
		}
	}
	add(e.Place)
	for _, a := range e.Recv {
		add(a.Place)
	}
}

// bury sets to 0 what is dead after an edge that the entered process has taken.
func (m *Machine) bury(e *edge) {
	for i := range e.dead {
		m.put(m.fb, &e.dead[i], 0)
	}
}
