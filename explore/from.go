package explore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cpor/engine"
	"cpor/frontend"
	"cpor/internal/human"
	"cpor/ltl"
	"cpor/system"
	"cpor/trace"
)

// from is a system whose only initial state is one of another system.
type from struct {
	system.System
	state system.State
}

// From returns the program's system with the state at the end of a path as its only
// initial state, for engines that are to search from there.
func (x *Explorer) From(p Path) (system.System, error) {
	m, err := x.at(p)
	if err != nil {
		return nil, err
	}
	return &from{x.Program.System, m.Encode(nil)}, nil
}

// Initial implements system.System.
func (f *from) Initial() []system.State { return []system.State{f.state} }

// NewMachine implements system.System.
func (f *from) NewMachine() system.Machine {
	m := f.System.NewMachine()
	m.Load(f.state)
	return m
}

// Capabilities implements system.System.
func (f *from) Capabilities() system.Capabilities {
	inner := f.System.Capabilities()
	c := system.Capabilities{
		Observing:   inner.Observing,
		Irreducible: inner.Irreducible,
		Symmetric:   inner.Symmetric,
		Beginning:   nil, // nobody chose this state
		Counting:    inner.Counting,
		Remembering: inner.Remembering,
		Interning:   inner.Interning,
		Portable:    inner.Portable,
		Merging:     nil, // the page shows plain steps only
		Learning:    nil,
	}
	if inner.Learning != nil {
		c.Learning = f
	}
	return c
}

// Begin implements [system.Learning].
func (f *from) Begin(fixed bool, stop func()) (system.System, func() (void bool)) {
	sys, end := f.System.Capabilities().Learning.Begin(fixed, stop)
	return &from{sys, f.state}, end
}

// MaxJump is how many states Jump looks at.
const MaxJump = 1_000_000

// jumpName is the name of the property that a predicate becomes for a moment.
const jumpName = "the_predicate_of_the_page"

// Jump returns a shortest path, in steps, from the state at the end of p on to one in
// which a predicate holds; the state itself counts. The predicate is an expression as
// in the program's own ltl properties. The error says that it makes no sense, that
// no such state can be reached, or that none was among the first limit states, and
// in how many states the predicate cannot be evaluated.
func (x *Explorer) Jump(ctx context.Context, p Path, predicate string, limit int) (Path, error) {
	holds, err := x.predicate(predicate)
	if err != nil {
		return Path{}, err
	}
	return x.nearest(ctx, p, holds, limit)
}

// predicate compiles a predicate.
func (x *Explorer) predicate(text string) (*predicate, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("no condition given: write one, such as counter == 2 && Lock@held")
	}
	if x.Reload == nil {
		return nil, errors.New("conditions on states cannot be evaluated for this program: its " +
			"language has no temporal properties")
	}
	if strings.ContainsAny(text, "{};\n\r\\") || strings.Contains(text, "//") ||
		strings.Contains(text, "/*") {
		return nil, errors.New("a condition is a single expression on one line, without " +
			"braces, semicolons and comments")
	}
	file, ok := x.Source(x.File)
	if !ok {
		return nil, errors.New("the program's source is no longer available")
	}
	prog, err := x.Reload(file + "\nltl " + jumpName + " { " + text + " }\n")
	if err != nil {
		return nil, fmt.Errorf("the condition %s: %s", text, inWords(err))
	}
	for _, q := range prog.Properties {
		if q.Name != jumpName {
			continue
		}
		if !q.Formula.Is(ltl.Boolean) {
			return nil, errors.New("a condition on one state has no temporal operators")
		}
		sys := prog.System
		if q.System != nil {
			sys = q.System
		}
		return newPredicate(sys, &q)
	}
	return nil, errors.New("conditions on states cannot be evaluated for this program")
}

// place is a place in front of a message, and the lines behind it show the source.
var place = regexp.MustCompile(`^\S+:\d+:\d+: `)

// inWords returns the first message of an error about a predicate, whose place is in a
// line that the user has not written.
func inWords(err error) string {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return place.ReplaceAllString(first, "")
}

// predicate is a state formula over the propositions of a system.
type predicate struct {
	sys     system.System
	formula ltl.Formula
	atoms   []string
	props   []int // the propositions that the atoms are
	whole   int   // the proposition that the whole formula is; -1 for none
}

func newPredicate(sys system.System, q *frontend.Property) (*predicate, error) {
	p := &predicate{sys: sys, formula: q.Formula, atoms: q.Formula.Atoms(), whole: -1}
	t := sys.NewMachine().Capabilities().Temporal
	if t == nil {
		return nil, errors.New("conditions on states cannot be evaluated for this program")
	}
	number := map[string]int{}
	for i := range t.NumProps() {
		number[t.PropName(i)] = i
	}
	if len(q.Predicates) > 0 { // it may fail: only as a whole it is evaluated as one expects
		p.whole = number[q.Predicates[0].Prop]
	}
	for _, a := range p.atoms {
		p.props = append(p.props, number[a])
	}
	if len(p.atoms) > 64 && p.whole < 0 {
		return nil, fmt.Errorf("the condition has %d parts, and at most 64 are possible",
			len(p.atoms))
	}
	return p, nil
}

// holds evaluates the predicate in the live state. The error says why it cannot be
// evaluated there, such as an index out of bounds.
func (p *predicate) holds(m system.Machine) (bool, error) {
	t := m.Capabilities().Temporal
	if p.whole >= 0 {
		v, bad := t.Eval(p.whole)
		if bad != nil {
			return false, errors.New(bad.Message)
		}
		return v, nil
	}
	letter := uint64(0)
	for k, i := range p.props {
		v, bad := t.Eval(i)
		if bad != nil {
			return false, errors.New(bad.Message)
		}
		if v {
			letter |= 1 << k
		}
	}
	return p.formula.Holds(ltl.Lasso{Atoms: p.atoms, Loop: []uint64{letter}})
}

// nearest searches breadth-first. It writes every state down, as package search would
// not do in the order of distances.
func (x *Explorer) nearest(ctx context.Context, p Path, pred *predicate, limit int) (Path, error) {
	t := p.trace()
	if err := t.Replay(pred.sys); err != nil {
		return Path{}, fmt.Errorf("the state cannot be reached when the condition is watched: %w",
			err)
	}
	m := pred.sys.NewMachine()
	obs := system.ObserversOf(pred.sys)
	m.Load(pred.sys.Initial()[t.Initial])
	for _, s := range t.Steps {
		m.Step(s.Thread, s.Alt)
	}
	type node struct {
		state  system.State
		parent int
		step   trace.Step
	}
	nodes := []node{{state: m.Encode(nil), parent: -1}}
	seen := map[string]bool{engine.StateKey(pred.sys, &obs, m): true}
	// The states in which the condition has no value are not witnesses, but they do not
	// count as states in which it is false, either.
	failed, reason := 0, error(nil)
	none := func(format string, args ...any) error {
		msg := fmt.Sprintf(format, args...)
		if failed > 0 {
			msg += fmt.Sprintf("; in %s it cannot be evaluated: %v", human.Plural(failed, "state"),
				reason)
		}
		return errors.New(msg)
	}
	for i := 0; i < len(nodes); i++ {
		if i%1024 == 0 && ctx.Err() != nil {
			return Path{}, errors.New("the search for such a state was stopped")
		}
		m.Load(nodes[i].state)
		ok, err := pred.holds(m)
		if err != nil {
			if failed++; failed == 1 {
				reason = err
			}
		}
		if ok && err == nil {
			var steps []trace.Step
			for k := i; nodes[k].parent >= 0; k = nodes[k].parent {
				steps = append(steps, nodes[k].step)
			}
			slices.Reverse(steps)
			found := pathOf(p.Initial, append(t.Steps, steps...))
			if err := found.trace().Replay(x.Program.System); err != nil {
				return Path{}, fmt.Errorf("the way there cannot be taken when the condition is "+
					"not watched: %w", err)
			}
			return found, nil
		}
		if len(nodes) > limit {
			return Path{}, none("none of the first %d states from here satisfies it; \"search "+
				"from here\" with an assertion looks further", limit)
		}
		eachMove(m, &obs, false, func(s trace.Step, _ system.Outcome) {
			if key := engine.StateKey(pred.sys, &obs, m); !seen[key] {
				seen[key] = true
				nodes = append(nodes, node{m.Encode(nil), i, s})
			}
		})
	}
	return Path{}, none("no state reachable from here satisfies it")
}

// eachMove calls visit after each transition of the live state, which stays as it is. With
// told, machines that are Telling can tell of it: some of them want to be asked for what
// comes next before.
func eachMove(m system.Machine, obs *system.Observers, told bool,
	visit func(s trace.Step, out system.Outcome)) {
	mark := m.Mark()
	for t := range m.NumThreads() {
		if obs.Has(t) {
			continue
		}
		for alt, more := uint64(0), true; more; {
			if told {
				m.Next(t)
			}
			out := m.Step(t, alt)
			if out.Kind == system.Moved {
				visit(trace.Step{Thread: t, Alt: alt}, out)
			}
			m.Rewind(mark)
			alt, more = out.Next, out.Next != 0
		}
	}
}
