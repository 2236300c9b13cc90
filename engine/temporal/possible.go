package temporal

import (
	"errors"
	"fmt"
	"slices"

	"cpor/engine"
	"cpor/ltl"
	"cpor/ltl/buchi"
	"cpor/statestore"
	"cpor/system"
)

// backward is the graph of a program, as far as it was searched, with its transitions to go back
// along. The states are in the order of a breadth-first search.
//
// It decides EF p and AG EF p: the states from which p can be reached are found by going back from
// those that satisfy p. If the search was cut off, each state that it has not expanded counts as
// able to reach p. A state that cannot reach p then is certain: all that it leads to was expanded.
type backward struct {
	refs    []statestore.Ref
	parents []int32 // from which each was reached first; -1 for an initial state
	holds   []bool  // of those that were expanded
	index   map[statestore.Ref]int32
	from    []int32 // the transitions
	to      []int32
	initial int // the number of initial states
}

// What a state and a transition take in a backward, roughly.
const bytesOfState, bytesOfMove = 48, 8

// add returns the number of a state, a new one if it has none.
func (g *backward) add(s *exploration, ref statestore.Ref, parent int32) int32 {
	i, ok := g.index[ref]
	if !ok {
		i = int32(len(g.refs))
		g.index[ref] = i
		g.refs, g.parents = append(g.refs, ref), append(g.parents, parent)
		s.stacks.Add(bytesOfState)
	}
	return i
}

// path returns the states on the way to a state.
func (g *backward) path(i int32) []statestore.Ref {
	var refs []statestore.Ref
	for ; i >= 0; i = g.parents[i] {
		refs = append(refs, g.refs[i])
	}
	slices.Reverse(refs)
	return refs
}

// build searches all states, or until the only initial one is known to reach one that satisfies
// the formula, if that is enough. It returns false if it had to stop.
func (g *backward) build(s *exploration, f ltl.Formula, enough bool) bool {
	w := s.workers[0]
	x := w.x
	for _, st := range s.sys.Initial() {
		ref, _, err := x.session.Insert(st, 0)
		if err != nil {
			w.refuse(err)
			return false
		}
		g.add(s, ref, -1)
	}
	g.initial = len(g.refs)
	value := func(atom string) bool { return x.letter>>slices.Index(s.a.Atoms, atom)&1 != 0 }
	var refs []statestore.Ref
	var err error
	for i := int32(0); int(i) < len(g.refs); i++ {
		if !w.step() || !x.claim(vertex{g.refs[i], 0}, func() []statestore.Ref {
			return g.path(i)
		}) {
			return false
		}
		w.transitions += uint64(len(x.moves))
		g.holds = append(g.holds, satisfies(f, value))
		if g.holds[i] && enough && g.initial == 1 {
			return true
		}
		if refs, err = x.insert(g.refs[i], refs[:0]); err != nil {
			w.refuse(err)
			return false
		}
		for _, ref := range refs {
			g.from, g.to = append(g.from, i), append(g.to, g.add(s, ref, i))
		}
		s.stacks.Add(int64(len(refs)) * bytesOfMove)
	}
	return true
}

// satisfies evaluates a formula without temporal operators, from the values of its atoms.
func satisfies(f ltl.Formula, value func(atom string) bool) bool {
	at := func(g ltl.Formula) bool { return satisfies(g, value) }
	switch ops := f.Operands(); f.Op() {
	case ltl.OpTrue:
		return true
	case ltl.OpAtom:
		return value(f.Name())
	case ltl.OpNot:
		return !at(ops[0])
	case ltl.OpAnd:
		return !slices.ContainsFunc(ops, func(g ltl.Formula) bool { return !at(g) })
	case ltl.OpOr:
		return slices.ContainsFunc(ops, at)
	case ltl.OpImplies:
		return !at(ops[0]) || at(ops[1])
	case ltl.OpIff:
		return at(ops[0]) == at(ops[1])
	}
	return false
}

// distances returns by state how many transitions it is at least from one that satisfies the
// formula; -1 if none can be reached. If unknown, that includes the states not expanded.
func (g *backward) distances(unknown bool) []int32 {
	dist := make([]int32, len(g.refs))
	var queue []int32
	for i := range dist {
		dist[i] = -1
		if i < len(g.holds) && g.holds[i] || unknown && i >= len(g.holds) {
			dist[i] = 0
			queue = append(queue, int32(i))
		}
	}
	// The transitions by their ends.
	first := make([]int32, len(g.refs)+1)
	for _, t := range g.to {
		first[t+1]++
	}
	for i := range g.refs {
		first[i+1] += first[i]
	}
	next, sources := slices.Clone(first), make([]int32, len(g.to))
	for k, t := range g.to {
		sources[next[t]] = g.from[k]
		next[t]++
	}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		for _, j := range sources[first[i]:first[i+1]] {
			if dist[j] < 0 {
				dist[j] = dist[i] + 1
				queue = append(queue, j)
			}
		}
	}
	return dist
}

// possibly checks EF p and AG EF p, with all transitions and one worker. Fairness makes no
// difference: a path to a state is the beginning of a fair execution.
func (c *checker) possibly() error {
	if c.keeping != nil {
		return &engine.OptionError{Message: fmt.Sprintf("%s: a check of %s cannot be saved; "+
			"remove -checkpoint", c.p.Called(), c.p.Modality)}
	}
	c.o.Reduction, c.o.Fair, c.o.Strong = None, false, false
	a := &buchi.Automaton{Atoms: c.p.Formula.Atoms(), Accepting: []bool{false},
		Out: [][]buchi.Transition{{{}}}}
	if len(a.Atoms) > 64 {
		return &FormulaError{c.p.Called(), c.p.Pos, "there are more than 64 propositions", false}
	}
	defer func() { c.r.Time = c.spent() }()
	if over, err := c.openStore(nil); err != nil || over {
		return err
	}
	s, err := c.newSearch(pass{a, []ltl.Formula{c.p.Formula}, nil}, 0, 1)
	if err != nil {
		return err
	}
	c.current.Store(s)
	g := &backward{index: map[statestore.Ref]int32{}}
	initially := c.p.Modality == ltl.Possible
	err = s.alone(c.watch, func() bool { return g.build(s, c.p.Formula, initially) })
	c.count(s)
	c.r.Reason = ""
	if err := c.explain(err); err != nil {
		return err
	}
	if err := c.findFault(s); err != nil {
		return err
	}
	whole := err == nil
	c.r.Verdict = engine.Incomplete
	if errors.Is(err, errFault) {
		return nil
	}
	known := len(g.refs)
	if initially {
		known = g.initial
	}
	dist := g.distances(true)[:known]
	for i, d := range dist {
		if d < 0 { // the first one is the nearest
			c.r.Counterexample, err = c.lost(s, g.path(int32(i)))
			c.r.Verdict, c.r.Reason = engine.Violated, ""
			return err
		}
	}
	if len(g.holds) < len(g.refs) {
		dist = g.distances(false)[:known]
	}
	if c.r.Farthest = int(slices.Max(dist)); whole || initially && slices.Min(dist) >= 0 {
		c.r.Verdict, c.r.Reason = engine.Pass, ""
	}
	return nil
}

// lost makes a counterexample of the path to a state from which none is reached that satisfies
// the formula, and verifies it.
func (c *checker) lost(s *exploration, path []statestore.Ref) (*Counterexample, error) {
	t, err := s.trace(path)
	if err != nil {
		return nil, err
	}
	x := &Counterexample{Property: c.p, Part: c.p.Formula, Initial: t.Initial, Stem: t.Steps,
		Prefix: true}
	if err := x.replay(c.sys, &c.o); err != nil {
		return nil, fmt.Errorf("internal error: the counterexample of %s: %w", c.p.Name, err)
	}
	return x, nil
}

// mostLost is how many states are searched again to verify a counterexample.
const mostLost = 100_000

// unreachable verifies that no state satisfies the formula from the live state of a machine on, by
// a search of its own, of at most mostLost states.
func (x *Counterexample) unreachable(obs *system.Observers, m system.Machine,
	labels system.Temporal, number map[string]int) error {
	value := func(atom string) bool {
		holds, _ := labels.Eval(number[atom])
		return holds
	}
	key := func() string { return fmt.Sprint(m.Encode(nil)) }
	seen := map[string]bool{key(): true}
	queue := []system.State{m.Encode(nil)}
	for len(queue) > 0 && len(seen) < mostLost {
		st := queue[0]
		queue = queue[1:]
		m.Load(st)
		if satisfies(x.Part, value) {
			return unproven("a state that satisfies the formula can be reached")
		}
		mark := m.Mark()
		for t := range m.NumThreads() {
			for alt := uint64(0); !obs.Has(t); {
				out := m.Step(t, alt)
				if out.Kind != system.Moved {
					break
				}
				if k := key(); !seen[k] {
					seen[k] = true
					queue = append(queue, m.Encode(nil))
				}
				m.Rewind(mark)
				if alt = out.Next; alt == 0 {
					break
				}
			}
		}
	}
	return nil
}

// judgedAlone says why an execution alone is not a counterexample.
func judgedAlone(p *engine.Property) unproven {
	return unproven(fmt.Sprintf("%s is about what can be reached, which no execution alone shows; "+
		"run the search", p.Called()))
}
