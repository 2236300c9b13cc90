package machine

import (
	"slices"

	"cpor/frontend/promela/program"
)

// A hidden global is not part of the state that SPIN's verifier stores. If a state depends on
// its value, the verifier misses behavior, so here such a variable stays part of the state. But
// usually nothing reads it, or each step writes it before reading it: then it is set to 0 after
// each transition, and the states are SPIN's.

// passing returns the scalars of hidden globals through which no transition passes a value to
// another one.
func passing(p *program.Program) []int {
	var out []int
	for _, v := range p.Globals.Syms {
		if v.Hidden && v.Type.Name != "chan" && passes(p, v) {
			for i := range v.Scalars() {
				out = append(out, v.Base+i)
			}
		}
	}
	return out
}

// passes reports whether no transition reads what another one has written to a variable.
func passes(p *program.Program, v *program.Sym) bool {
	f := &flow{v: v}
	for _, x := range p.Props {
		if f.in(x.X) {
			return false
		}
	}
	watchers := p.Claims
	if p.Trace != nil {
		watchers = append(watchers[:len(watchers):len(watchers)], p.Trace)
	}
	for _, pr := range watchers {
		for _, s := range pr.States {
			if slices.ContainsFunc(s.Edges, func(e *program.Edge) bool {
				return f.reads(e) || f.writes(e)
			}) {
				return false
			}
		}
	}
	for _, pr := range p.Procs {
		if f.in(pr.Provided) || f.in(pr.Priority) {
			return false
		}
		for _, s := range pr.Syms {
			if f.in(s.Init) || slices.ContainsFunc(s.List, f.in) {
				return false
			}
		}
		between := rests(p, pr)
		for _, s := range pr.States {
			f.seen = map[place]bool{}
			if between[s] && f.from(s, nil) {
				return false
			}
		}
	}
	return true
}

// rests returns the states of a process type in which a process may be between two
// transitions.
func rests(p *program.Program, pr *program.Proc) map[*program.State]bool {
	out := map[*program.State]bool{pr.States[pr.Start]: true}
	inner := insides(pr)
	for _, s := range pr.States {
		if inner[s] {
			continue
		}
		edges := slices.Clone(s.Edges)
		for _, x := range s.Escapes {
			edges = append(edges, x.Edge)
		}
		for _, e := range edges {
			if e.To != nil && !e.Atomic {
				out[e.To] = true
			}
		}
		// An atomic sequence that blocks is interrupted.
		never := slices.ContainsFunc(s.Edges, func(e *program.Edge) bool {
			switch e.Kind {
			case program.Skip, program.Else, program.Assign, program.Clear, program.Assert,
				program.Print:
				return true
			}
			return false
		})
		if !never || pr.Provided != nil || p.UsesPriority {
			out[s] = true
		}
	}
	return out
}

// insides returns the states of a process type that are inside a d_step.
func insides(pr *program.Proc) map[*program.State]bool {
	inner := map[*program.State]bool{}
	for _, s := range pr.States {
		for _, e := range s.Edges {
			within(e.Inner, inner)
		}
	}
	return inner
}

// within adds a state inside a d_step, and those that the d_step continues to.
func within(s *program.State, inner map[*program.State]bool) {
	if s == nil || inner[s] {
		return
	}
	inner[s] = true
	within(s.Fall, inner)
	for _, e := range s.Edges {
		within(e.To, inner)
	}
}

// flow looks for paths on which a variable is read before it is written.
type flow struct {
	v    *program.Sym
	seen map[place]bool
}

// place is a state, and the d_step that it is in.
type place struct {
	s    *program.State
	step *program.Edge
}

// from reports whether a transition that continues at a state may read the variable before it
// writes it. step is the d_step that the state is in, nil if it is in none.
func (f *flow) from(s *program.State, step *program.Edge) bool {
	at := place{s, step}
	if s == nil || f.seen[at] {
		return false
	}
	f.seen[at] = true
	edges := slices.Clone(s.Edges)
	for _, x := range s.Escapes {
		edges = append(edges, x.Edge)
	}
	for _, e := range edges {
		switch {
		case f.reads(e) || slices.ContainsFunc(e.Guards, f.reads):
			return true
		case e.Inner != nil:
			if f.from(e.Inner, e) {
				return true
			}
		case f.writes(e):
		case e.To == nil:
			if step != nil && step.Atomic && f.from(step.To, nil) {
				return true
			}
		case step != nil || e.Atomic:
			if f.from(e.To, step) {
				return true
			}
		}
	}
	return f.from(s.Fall, step)
}

// in reports whether an expression reads the variable.
func (f *flow) in(x program.Expr) bool {
	is := false
	program.Each(x, func(x program.Expr) {
		if l, ok := x.(*program.Load); ok {
			is = is || l.Place.Sym == f.v
		}
	})
	return is
}

// reads reports whether an edge reads the variable in a way that matters: printing does not, and
// storing it in the variable itself matters only if that is read.
func (f *flow) reads(e *program.Edge) bool {
	if e.Kind == program.Print {
		return false
	}
	is := false
	eachExpr(e, func(x program.Expr) {
		is = is || f.in(x) && !(f.updates(e) && x == e.X)
	})
	return is
}

// updates reports whether an edge computes the variable from itself, and cannot fail.
func (f *flow) updates(e *program.Edge) bool {
	if e.Kind != program.Assign || e.Place.Sym != f.v || !f.in(e.X) {
		return false
	}
	fails := false
	program.Each(e.X, func(x program.Expr) {
		switch x := x.(type) {
		case *program.Binary:
			fails = fails || x.Op == "/" || x.Op == "%"
		case *program.Load:
			fails = fails || len(x.Place.Index) > 0
		case *program.Const, *program.Unary, *program.If:
		default:
			fails = true
		}
	})
	return !fails
}

// writes reports whether an edge overwrites the whole variable. No edge overwrites an array or a
// structure.
func (f *flow) writes(e *program.Edge) bool {
	is := func(pl *program.Place) bool {
		return pl != nil && pl.Sym == f.v && f.v.Len == 0 && !f.v.Type.IsStruct()
	}
	return e.Kind == program.Assign && is(e.Place) && !f.in(e.X) ||
		e.Kind == program.Recv && slices.ContainsFunc(e.Recv, func(a program.RecvArg) bool {
			return is(a.Place)
		})
}

// forget sets the passing scalars to 0.
func (m *Machine) forget() {
	for _, k := range m.sys.passing {
		m.put(0, &m.sys.globals.scalars[k], 0)
	}
}
