package machine

import (
	"fmt"

	"cpor/frontend/promela/program"
)

// Irreducible implements system.Irreducible: it names what the model uses that depends on more
// than accesses, and where.
func (s *System) Irreducible(temporal bool) string {
	if why := s.unlocated(true); why != "" && (temporal || s.unseen()) {
		return why
	}
	if temporal {
		for _, q := range s.prog.Props {
			if why := global(q.X, true); why != "" {
				return "the formulas ask for " + q.Text + ": " + why
			}
		}
	}
	return ""
}

// unseen reports whether the model uses what no bound on what processes may still do takes into
// account, for a search for violations and deadlocks (asking.go).
func (s *System) unseen() bool {
	p := s.prog
	return s.claim != nil || p.UsesLast || s.sets || s.everywhere ||
		p.UsesTimeout && (p.UsesEnabled || p.UsesPriority)
}

// unlocated names what the model uses that no location represents, and where, including timeout
// if requested.
func (s *System) unlocated(timeout bool) string {
	p := s.prog
	switch {
	case s.claim != nil:
		return "a never claim depends on every state"
	case s.trace != nil:
		return "a trace assertion depends on the order of the messages"
	case s.strict:
		return "-empty-channels makes the end of a process depend on all channels"
	}
	for _, pr := range p.Procs {
		if pr.Priority != nil {
			return fmt.Sprintf("%s has a priority, and whether a process may move then depends "+
				"on all the others", pr.Name)
		}
		why := global(pr.Provided, timeout)
		at := pr.Decl.Pos
		for _, st := range pr.States {
			for _, e := range st.Edges {
				if why == "" {
					at = e.Pos
					eachExpr(e, func(x program.Expr) { why = first(why, global(x, timeout)) })
					if e.Kind == program.SetPrio {
						why = "set_priority, and whether a process may move then depends on all " +
							"the others"
					}
				}
			}
		}
		if why != "" {
			pos := position(at)
			return fmt.Sprintf("%s:%d: %s", pos.File, pos.Line, why)
		}
	}
	return ""
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// global returns the part of an expression, if any, that depends on the whole state.
func global(x program.Expr, timeout bool) (why string) {
	program.Each(x, func(x program.Expr) {
		switch x := x.(type) {
		case *program.Special:
			switch x.Name {
			case "timeout":
				if !timeout {
					break
				}
				why = "timeout is true only if no process can move, so it depends on all of them"
			case "_last":
				why = "_last depends on every step"
			case "np_":
				why = "np_ depends on where all processes are"
			}
		case *program.Call:
			switch x.Name {
			case "enabled":
				why = "enabled asks what another process can do"
			case "get_priority":
				why = "get_priority, and whether a process may move then depends on all the others"
			}
		case *program.Run:
			if x.Priority != nil {
				why = "a process with a priority, and whether a process may move then depends on " +
					"all the others"
			}
		}
	})
	return why
}

// eachExpr calls f for the expressions of an edge, not for those in them.
func eachExpr(e *program.Edge, f func(program.Expr)) {
	for _, x := range []program.Expr{e.X, e.Y, e.Ch} {
		if x != nil {
			f(x)
		}
	}
	for _, x := range e.Args {
		f(x)
	}
	place := func(pl *program.Place) {
		if pl != nil {
			for _, i := range pl.Index {
				f(i.X)
			}
		}
	}
	place(e.Place)
	for _, a := range e.Recv {
		place(a.Place)
		if a.Match != nil {
			f(a.Match)
		}
	}
}
