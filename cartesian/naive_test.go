package cartesian

import (
	"slices"

	"cpor/system"
)

// naive is CalcCV written down as the paper has it, without any table: states
// are compared by their encodings and transitions pair by pair.
func naive(sys system.System, s system.State) *Vector {
	type run struct {
		Prefix
		extendable, idle bool
		states           []system.State
	}
	m := sys.NewMachine()
	m.Track(true)
	var cv []*run
	dependent := func(a, b Transition) bool {
		for _, x := range a.Accesses {
			for _, y := range b.Accesses {
				if x.Orders(y) {
					return true
				}
			}
		}
		return false
	}
	last := func(r *run) Transition { return r.Transitions[len(r.Transitions)-1] }
	next := func(r *run) (Transition, system.State) {
		m.Load(r.End)
		alt := uint64(0)
		if len(r.Transitions) == 0 {
			alt = r.Alt
		}
		out := m.Step(r.Thread, alt)
		return Transition{out, slices.Clone(m.Accesses())}, m.Encode(nil)
	}

	m.Load(s)
	threads := m.NumThreads()
	for t := range threads {
		for alt, more := uint64(0), true; more; {
			r := &run{Prefix: Prefix{Thread: t, Alt: alt, End: s}, extendable: true,
				states: []system.State{s}}
			tr, target := next(r)
			r.Transitions = append(r.Transitions, tr)
			r.End = target
			r.idle = slices.Equal(s, target)
			if tr.Outcome.Created {
				r.extendable = false
			}
			cv = append(cv, r)
			alt, more = tr.Outcome.Next, tr.Outcome.Next != 0
		}
	}
	for _, r := range cv {
		for _, q := range cv {
			if r.Thread != q.Thread && dependent(last(r), last(q)) {
				r.extendable = false
			}
		}
	}
	for _, r := range cv {
		if r.extendable && r.idle {
			r.Infinite = true
			r.extendable = false
		}
		r.states = append(r.states, r.End)
	}
	for again := true; again; {
		again = false
		for _, r := range cv {
			if !r.extendable {
				continue
			}
			again = true
			tr, target := next(r)
			if tr.Outcome.Next != 0 {
				r.extendable = false
				continue
			}
			reject := false
			for _, q := range cv {
				if q.Thread != r.Thread {
					for k := range len(q.Transitions) - 1 {
						reject = reject || dependent(tr, q.Transitions[k])
					}
				}
			}
			if reject {
				r.extendable = false
				continue
			}
			for _, q := range cv {
				if q.Thread != r.Thread && dependent(tr, last(q)) {
					q.extendable = false
					r.extendable = false
				}
			}
			if tr.Outcome.Created {
				r.extendable = false
			}
			if r.extendable && slices.ContainsFunc(r.states, func(q system.State) bool {
				return slices.Equal(q, target)
			}) {
				r.Infinite = true
				r.extendable = false
			}
			r.Transitions = append(r.Transitions, tr)
			r.End = target
			r.states = append(r.states, target)
		}
	}
	v := &Vector{Start: s}
	for _, r := range cv {
		v.Prefixes = append(v.Prefixes, r.Prefix)
	}
	return v
}
