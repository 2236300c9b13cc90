package machine

import (
	"cmp"
	"slices"

	"cpor/frontend/promela/program"
	"cpor/system"
)

// Statement is a statement of a process type.
type Statement struct {
	Proc string
	Pos  system.Pos
	Text string // -end- for the end of a process
	// Assertion: it is an assert.
	Assertion bool
}

// The system counts how often processes reach their control states.
var _ system.Counting = (*System)(nil)

// Arrivals calls f for every statement with how often a process reached it.
func (s *System) Arrivals(f func(at system.Pos, n uint64)) { s.arrivals(s.Counted(), f) }

// ArrivalsSoFar is Arrivals while machines are running ([system.Counters.CountedSoFar]).
func (s *System) ArrivalsSoFar(f func(at system.Pos, n uint64)) { s.arrivals(s.CountedSoFar(), f) }

func (s *System) arrivals(count []uint64, f func(at system.Pos, n uint64)) {
	for _, p := range s.procs {
		sum := map[*program.Edge]uint64{}
		var order []*program.Edge
		add := func(e *program.Edge, n uint64) {
			if _, ok := sum[e]; !ok {
				order = append(order, e)
			}
			sum[e] += n
		}
		for i, st := range p.States {
			for _, e := range st.Edges {
				add(e, count[int(p.first)+i])
			}
		}
		for _, e := range order {
			f(position(e.Pos), sum[e])
		}
		for _, e := range p.Cut {
			f(position(e.Pos), 0)
		}
	}
}

// Unreached returns the statements that no process has reached in any machine of the system so
// far, as SPIN's verifier lists them: by process type, without skip, else and goto; a d_step is
// one statement, and the end of a process is one, too. It must not be called while a machine is
// in use.
func (s *System) Unreached() []Statement {
	count := s.Counted()
	var out []Statement
	for _, p := range s.procs {
		seen := make([]bool, len(p.states))
		for i := range seen {
			seen[i] = count[int(p.first)+i] > 0
		}
		reached := map[*program.Edge]bool{}
		inner := map[*program.State]bool{}
		for i, st := range p.States {
			for _, e := range st.Edges {
				reached[e] = reached[e] || seen[i]
				if e.Inner != nil {
					inside(inner, e.Inner)
				}
			}
			for _, x := range st.Escapes {
				reached[x.Edge] = reached[x.Edge] || seen[i]
			}
		}
		from := len(out)
		list := func(edges []*program.Edge) {
			for _, e := range edges {
				if reached[e] || e.Kind == program.Skip || e.Kind == program.Else {
					continue
				}
				if x, ok := e.X.(*program.Const); e.Kind == program.Cond && ok && x.Value != 0 {
					continue // skip
				}
				reached[e] = true // once
				out = append(out, Statement{p.Name, position(e.Pos), e.Text,
					e.Kind == program.Assert})
			}
		}
		for _, st := range p.States {
			if !inner[st] {
				list(st.Edges)
			}
		}
		list(p.Cut)
		slices.SortStableFunc(out[from:], func(a, b Statement) int {
			return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
		})
		if !seen[p.End] {
			out = append(out, Statement{Proc: p.Name, Pos: position(p.Decl.End), Text: "-end-"})
		}
	}
	return out
}

// inside collects the states of a d_step.
func inside(set map[*program.State]bool, s *program.State) {
	if s == nil || set[s] {
		return
	}
	set[s] = true
	inside(set, s.Fall)
	for _, e := range s.Edges {
		inside(set, e.To)
	}
}
