package machine

import (
	"cpor/frontend/promela/program"
	"cpor/system"
	"cpor/testkit/sabotage"
)

// The numbers of processes depend on the order in which processes begin and end, so births and
// deaths are dependent on each other, and no process that will end is independent of another.
// Mostly nobody looks at these numbers. For example, a process starts another, receives its
// result, and starts the next:
//
//	proctype C(chan d) { d!0 }
//	init { chan d = [1] of { byte }; run C(d); d?0; run C(d); d?0 }
//
// The second C has number 1 if the first is gone, and 2 if it is not.
//
// Call two states alike if they have the same values of globals and channels, and the same
// processes but for their order and for ended ones: those at their end, of which only the death is
// left. If nothing in the model tells numbers of processes, two states that are alike can do the
// same: each transition of one is possible in the other, up to deaths, and leads to states that are
// alike. So whoever reaches a state that is like s finds what is behind s: each violation, each
// place of each process type, each deadlock but for the order of processes and for ended ones. (A
// deadlock has no ended process above all others, because that can die.)
//
// Up to that, a death commutes with everything, and disables nothing but itself. So do births with
// each other and with deaths. What remains:
//
//   - A birth changes who can receive by rendezvous. So it is dependent with those that
//     try to send by rendezvous, also because of an else or an escape where that fails.
//   - A death takes away the channels that were declared in the process. So it is dependent with
//     what uses these. Only processes of the initial state may have such channels; they keep their
//     numbers.
//
// A process may wait until there are only so many processes as at first: _nr_pr == 1. Whether
// states that are alike can do that at once differs, but where all processes that were started have
// ended, their deaths are all that is between. So a death does not disturb who waits for that: as
// long as the process is there, it waits in any case. A birth is dependent with it, and so is
// the death of a process of the initial state.
//
// An ample set whose transitions are independent of the others in this sense keeps what ample sets
// keep, up to likeness. The proof of package ample is about an execution w, its length, and how
// many justifications lead from a state to a full expansion. Here the length is that without
// deaths; w continues from each state that is like the one before, with deaths only directly before
// _nr_pr == 1 or before a deadlock. If the next transition of w but for deaths is of that kind, and
// all started processes have ended, the number of these counts after the length, and before the
// justifications: from there each expansion that is not reduced explores a death of them, or that
// transition, and a reduced one that has no transition of w starts and ends none of
// them, because it is independent of w. Everywhere else the argument is the same.
//
// One thing differs: "too many processes" is found if there are more than 255, those that have
// ended but could have died before not counted.

// numbers says what a model tells of the numbers of its processes.
type numbers struct {
	told   bool     // somewhere
	owners []bool   // by process type: it declares channels
	waits  [][]bool // by process type and control state: it waits for _nr_pr == 1
}

// numbers examines a model.
func (s *System) numbers() numbers {
	p := s.prog
	n := numbers{told: s.unlocated(false) != "" || s.everywhere || p.UsesPriority || p.UsesLast ||
		p.UsesEnabled || len(p.Claims) > 0 || p.Trace != nil, owners: make([]bool, len(p.Procs))}
	started, pids := make([]bool, len(p.Procs)), make([]bool, len(p.Procs))
	for _, pr := range p.Procs {
		look := func(x program.Expr) {
			program.Each(x, func(x program.Expr) {
				switch x := x.(type) {
				case *program.Run:
					started[x.Proc.Index] = true
				case *program.Special:
					pids[pr.Index] = pids[pr.Index] || x.Name == "_pid"
				case *program.Call, *program.At, *program.RemoteLoad:
					n.told = true
				}
			})
		}
		n.owners[pr.Index] = len(pr.Chans) > 0
		if pr.Provided != nil {
			look(pr.Provided)
			n.told = n.told || numbered(pr.Provided)
		}
		for _, v := range pr.Syms {
			for _, x := range append([]program.Expr{v.Init}, v.List...) {
				if x != nil {
					look(x)
					n.told = n.told || numbered(x)
				}
			}
		}
		n.waits = append(n.waits, n.edges(s, pr, look))
	}
	for i, is := range started {
		n.told = n.told || is && (pids[i] || n.owners[i])
	}
	return n
}

// edges examines the edges of a process type, and returns in which of its control states a process
// waits for _nr_pr == 1. look is called with all expressions.
func (n *numbers) edges(s *System, pr *program.Proc, look func(program.Expr)) []bool {
	inside := s.inside(pr)
	waits := make([]bool, len(pr.States))
	for _, st := range pr.States {
		for _, e := range edgesOf(st) {
			eachExpr(e, look)
			if _, alone := e.X.(*program.Run); alone && e.Kind == program.Cond {
				continue // the number of the process that was started is not used
			}
			if e.Kind == program.Cond && waitsForAll(e.X, len(s.prog.Actives)) &&
				(s.usesEnds(pr, st, inside) || sabotage.Is("numbers/end")) {
				waits[st.ID] = true
				continue
			}
			eachExpr(e, func(x program.Expr) { n.told = n.told || numbered(x) })
		}
	}
	return waits
}

// waitsForAll tells whether a condition is that there are as many processes as at first, or fewer.
func waitsForAll(x program.Expr, first int) bool {
	b, ok := x.(*program.Binary)
	if !ok || b.Op != "==" {
		return false
	}
	n, ok := b.X.(*program.Special)
	c, is := b.Y.(*program.Const)
	return ok && is && n.Name == "_nr_pr" && int(c.Value) <= first
}

// numbered tells whether an expression has a number of a process, or how many there are.
func numbered(x program.Expr) (is bool) {
	program.Each(x, func(x program.Expr) {
		switch x := x.(type) {
		case *program.Run:
			is = true
		case *program.Special:
			is = is || x.Name == "_nr_pr"
		}
	})
	return is
}

// ConflictsUnnumbered implements [system.Unnumbered].
func (m *Machine) ConflictsUnnumbered(t int, acc []system.Access, u int) bool {
	told := m.sys.futuresOf().numbers.told && !sabotage.Is("numbers/told")
	return m.conflicts(t, acc, u, !told)
}

// counts tells whether process u may do what depends on an access of t to the number of
// processes, if the numbers do not matter.
func (m *Machine) counts(t int, write bool, u int, r *reach) bool {
	a := m.sys.futuresOf()
	owner := func(p int) bool {
		return a.numbers.owners[m.types[p]] && !sabotage.Is("numbers/owners")
	}
	number := r.reading(a.first+bitNumber) && !sabotage.Is("numbers/waits")
	first := len(m.sys.prog.Actives) // processes of the initial state
	final := t < m.n && m.sys.procs[m.types[t]].states[m.pc(t)].final
	if t < m.n && a.numbers.waits[m.types[t]][m.pc(t)] && r.writing(a.first) &&
		!sabotage.Is("numbers/waits") {
		return true
	}
	switch {
	case final:
		return write && t < first && number ||
			write && owner(t) && (r.writing(a.first+bitChannels) || m.reliesOn(u, r))
	case write:
		return number // who can receive by rendezvous now, the accesses to what is ready tell
	}
	// It tries to send by rendezvous, or uses a channel that belongs to a process. Those below it
	// cannot die before it.
	return r.writing(a.first+bitRuns) || u > t && owner(u)
}
