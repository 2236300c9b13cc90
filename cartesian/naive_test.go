package cartesian

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"cpor/system"
	"cpor/testkit/sample"
)

// naive is CalcCV written down as the paper has it, without any table: states
// are compared by their encodings and transitions pair by pair.
func naive(sys system.System, s system.State) *Vector {
	return naiveOrder(sys, s, func() bool { return true })
}

// naiveOrder is naive with another order of extension: in each round, only the prefixes whose
// turn it is are extended.
func naiveOrder(sys system.System, s system.State, turn func() bool) *Vector {
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
			if !turn() {
				continue
			}
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

// TestOrders: the order in which prefixes are extended decides how many states the search
// stores. Table 1 of the paper has 10 for FileSystem with 14 threads; round robin has 5, other
// orders have more.
func TestOrders(t *testing.T) {
	sys := build(t, fileSystem(14))
	stored := func(turn func() bool) int {
		seen := map[string]bool{}
		for todo := []system.State{sys.Initial()[0]}; len(todo) > 0; {
			s := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if seen[fmt.Sprint(s)] {
				continue
			}
			seen[fmt.Sprint(s)] = true
			for _, p := range naiveOrder(sys, s, turn).Prefixes {
				if !p.Infinite {
					todo = append(todo, p.End)
				}
			}
		}
		return len(seen)
	}
	if got := stored(func() bool { return true }); got != 5 {
		t.Errorf("round robin: %d states", got)
	}
	least, most := 14, 0
	for seed := range sample.Of(uint64(12), 16, 600) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := stored(func() bool { return rng.IntN(8) == 0 })
		least, most = min(least, n), max(most, n)
	}
	if least != 5 || most < 7 || sample.Long() && most < 9 {
		t.Errorf("random orders have %d to %d states", least, most)
	}
}
