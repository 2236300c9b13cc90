package check

import (
	"fmt"
	"slices"

	"cpor/ltl"
	"cpor/system"
	"cpor/trace"
)

// Counterexample is an execution that does not satisfy a formula: a stem and a
// loop that is repeated forever. With an empty loop no thread is enabled after
// the stem, and the execution stays there.
type Counterexample struct {
	Property Property
	Part     ltl.Formula // the conjunct that is violated; the whole formula if it is none
	Initial  int
	Stem     []trace.Step
	Loop     []trace.Step

	// What the replay found.
	Record *trace.Record // of stem and loop
	Props  []string      // the propositions of Part
	// Values has for each state of the replay, the initial one first, the values
	// of Props: 1 + len(Stem) + len(Loop) rows.
	Values [][]bool
	states []itfState
}

// stemTo returns the shortest way to a node, and the initial state where it begins.
func (c *checker) stemTo(target uint32) ([]trace.Step, int, error) {
	g := c.b.graph
	type origin struct {
		id   uint32
		edge int
	}
	parent := map[uint32]origin{}
	var queue []uint32
	for _, id := range g.initial {
		parent[id] = origin{id, stutter}
		queue = append(queue, id)
	}
	for i := 0; i < len(queue); i++ {
		id := queue[i]
		if id == target {
			var steps []trace.Step
			for parent[id].edge != stutter {
				o := parent[id]
				e := g.node(o.id).edges[o.edge]
				steps = append(steps, trace.Step{Thread: int(e.thread), Alt: e.alt})
				id = o.id
			}
			slices.Reverse(steps)
			initial, err := c.initialIndex(id)
			return steps, initial, err
		}
		for k, e := range g.node(id).edges {
			if _, ok := parent[e.to]; !ok {
				parent[e.to] = origin{id, k}
				queue = append(queue, e.to)
			}
		}
	}
	return nil, 0, fmt.Errorf("internal error: there is no way to a state of the graph")
}

// initialIndex returns which initial state of the system a node is.
func (c *checker) initialIndex(id uint32) (int, error) {
	s := c.b.store.NewSession()
	for i, st := range c.sys.Initial() {
		if ref, ok := s.Find(st); ok {
			if k, ok := c.b.graph.ids.find(ref); ok && k == id {
				return i, nil
			}
		}
	}
	return 0, fmt.Errorf("internal error: a path does not begin in an initial state")
}

// counterexample makes the execution through an accepting vertex that lies on
// a cycle, and convinces itself that it is one.
func (c *checker) counterexample(p *product, v uint64, part ltl.Formula) (*Counterexample, error) {
	stem, first, err := p.path(p.initial(), v, true)
	if err != nil {
		return nil, err
	}
	loop, _, err := p.path([]uint64{v}, v, false)
	if err != nil {
		return nil, err
	}
	x := &Counterexample{Property: c.p, Part: part}
	id, _, _ := p.split(first)
	if x.Initial, err = c.initialIndex(id); err != nil {
		return nil, err
	}
	steps := func(path []step) []trace.Step {
		var out []trace.Step
		for _, s := range path {
			if s.edge != stutter {
				e := p.g.node(s.id).edges[s.edge]
				out = append(out, trace.Step{Thread: int(e.thread), Alt: e.alt})
			}
		}
		return out
	}
	x.Stem, x.Loop = steps(stem), steps(loop)
	if err := x.replay(c.sys, c.o.Fair); err != nil {
		return nil, fmt.Errorf("internal error: the counterexample of %s: %w", c.p.Name, err)
	}
	x.trim()
	if err := x.replay(c.sys, c.o.Fair); err != nil {
		return nil, fmt.Errorf("internal error: the counterexample of %s, shortened: %w", c.p.Name, err)
	}
	return x, nil
}

// trim moves steps from the end of the stem that the loop repeats into the
// loop: a b (c b)* is a (b c)*.
func (x *Counterexample) trim() {
	for len(x.Stem) > 0 && len(x.Loop) > 0 && x.Stem[len(x.Stem)-1] == x.Loop[len(x.Loop)-1] {
		// Only if the state before the step is the same both times.
		n := len(x.Stem)
		if !slices.Equal(x.states[n-1].encoded, x.states[n+len(x.Loop)-1].encoded) {
			return
		}
		last := x.Stem[n-1]
		x.Stem = x.Stem[:n-1]
		x.Loop = append([]trace.Step{last}, x.Loop[:len(x.Loop)-1]...)
		x.states = slices.Concat(x.states[:n], x.states[n:len(x.states)-1])
	}
}

// replay executes the steps by the plain semantics and checks that the
// execution is one, that its loop is a loop, that the formula does not hold on
// it, and that it is fair if it has to be.
func (x *Counterexample) replay(sys system.System, fair bool) error {
	t := &trace.Trace{Initial: x.Initial, Steps: slices.Concat(x.Stem, x.Loop)}
	rec, err := t.Record(sys)
	if err != nil {
		return err
	}
	x.Record = rec
	m, err := temporal(sys)
	if err != nil {
		return err
	}
	obs := system.ObserversOf(sys)
	number := map[string]int{}
	for i := range m.NumProps() {
		number[m.PropName(i)] = i
	}
	x.Props = x.Part.Atoms()
	m.Load(sys.Initial()[x.Initial])
	m.Track(true)
	x.Values, x.states = nil, nil
	word := ltl.Lasso{Atoms: x.Props}
	var met map[int]bool // the threads that moved or were disabled in the loop
	look := func() error {
		var row []bool
		letter := uint64(0)
		for i, name := range x.Props {
			holds, v := m.Eval(number[name])
			if v != nil {
				return fmt.Errorf("the proposition %s: %s", name, v.Message)
			}
			row = append(row, holds)
			if holds {
				letter |= 1 << i
			}
		}
		x.Values = append(x.Values, row)
		x.states = append(x.states, observe(&obs, m))
		switch k := len(x.Values) - 1; {
		case k < len(x.Stem):
			word.Stem = append(word.Stem, letter)
		case k < len(x.Stem)+max(1, len(x.Loop)):
			word.Loop = append(word.Loop, letter)
			if met == nil {
				met = map[int]bool{}
			}
			disabled(&obs, m, met)
		}
		return nil
	}
	if err := look(); err != nil {
		return err
	}
	for i, s := range t.Steps {
		if out := m.Step(s.Thread, s.Alt); out.Kind != system.Moved {
			return fmt.Errorf("step %d is not enabled", i+1)
		}
		if i >= len(x.Stem) {
			met[s.Thread] = true
		}
		if err := look(); err != nil {
			return err
		}
	}
	n := m.NumThreads()
	threads := 0
	for u := range n {
		if !obs.Has(u) {
			threads++
		}
	}
	if len(x.Loop) == 0 {
		if len(met) != threads {
			return fmt.Errorf("the execution ends where a thread is enabled")
		}
	} else if !slices.Equal(x.states[len(x.Stem)].encoded, x.states[len(x.states)-1].encoded) {
		return fmt.Errorf("the loop does not end where it begins")
	}
	if fair && len(met) != threads {
		return fmt.Errorf("the loop is not fair")
	}
	holds, err := x.Part.Holds(word)
	if err != nil {
		return err
	}
	if holds {
		return fmt.Errorf("the formula holds on it")
	}
	return nil
}

// disabled adds the threads that are not enabled in the live state.
func disabled(obs *system.Observers, m system.Machine, met map[int]bool) {
	for u := range m.NumThreads() {
		if obs.Has(u) {
			continue
		}
		mark := m.Mark()
		if out := m.Step(u, 0); out.Kind != system.Moved {
			met[u] = true
		}
		m.Rewind(mark)
	}
}
