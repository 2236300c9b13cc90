package temporal

import (
	"context"
	"errors"
	"slices"
	"sync"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/ltl/buchi"
	"cpor/statestore"
	"cpor/system"
	"cpor/testkit/sabotage"
	"cpor/trace"
)

var (
	// errBroad ends a search that the driver of the full search is to take over.
	errBroad = errors.New("the order no longer matters")
	// errBack ends the driver's search in favor of a whole one without it.
	errBack error = &engine.Stop{Reason: "the driver of the full search cannot decide"}
)

// reached is how the driver learns that a state is bad.
var reached = system.Violation{Kind: "ltl", Message: "reached"}

// longestTail bounds the steps after a bad state, at whose end a state repeats.
const longestTail = 1 << 16

// waits reports whether an automaton waits in its first state for something bad, and accepts
// whatever follows.
func waits(a *buchi.Automaton) bool {
	if a.Accepting[a.Init] {
		return false
	}
	for _, t := range a.Out[a.Init] {
		if t.Dst != a.Init && !universal(a, t.Dst) {
			return false
		}
	}
	return true
}

// universal reports whether a state of the automaton accepts everything.
func universal(a *buchi.Automaton, q int) bool {
	return a.Accepting[q] && slices.Contains(a.Out[q], buchi.Transition{Dst: q})
}

// mayReach reports whether the driver of the full search may take a search over.
func (c *checker) mayReach(s *exploration) bool {
	return c.keeping == nil && !c.o.heedsFairness() && !c.o.Validate && s.obs.None() && waits(s.a)
}

// watch reads the letter of a state. Bad says that whatever follows violates the formula, and
// stays that the automaton can wait on.
func (x *expander) watch(state system.State) (bad, stays bool, v *system.Violation) {
	if v := x.load(state, true); v != nil {
		return false, false, v
	}
	a := x.s.a
	for _, t := range a.Out[a.Init] {
		if t.Label.Matches(x.letter) {
			bad, stays = bad || t.Dst != a.Init, stays || t.Dst == a.Init
		}
	}
	return bad, stays, nil
}

// begun is a system in the middle of a search.
type begun struct {
	system.System
	open []system.State
}

// Initial returns the states that are still to be expanded.
func (b begun) Initial() []system.State { return b.open }

// Capabilities implements [system.System]. No choices lead to an open state.
func (b begun) Capabilities() system.Capabilities {
	inner := b.System.Capabilities()
	return system.Capabilities{
		Observing:   inner.Observing,
		Irreducible: inner.Irreducible,
		Symmetric:   inner.Symmetric,
		Beginning:   nil,
		Counting:    inner.Counting,
		Remembering: inner.Remembering,
		Interning:   inner.Interning,
		Portable:    inner.Portable,
		Merging:     inner.Merging,
		Learning:    inner.Learning,
	}
}

// reach continues a search with the driver of the full search.
func (c *checker) reach(from *exploration, p pass, workers int) (*exploration, error) {
	if from.fault != nil {
		return nil, errBack
	}
	covered, open := from.cover()
	var err error
	if c.store, err = statestore.New(c.storeOptions()); err != nil {
		return nil, err
	}
	s, err := c.newSearch(p, 0, workers)
	if err != nil {
		return nil, err
	}
	s.count.Store(int64(len(covered)))
	for i, w := range s.workers {
		w.transitions, w.reduced = from.workers[i].transitions, from.workers[i].reduced
		w.x.met, w.executed = from.workers[i].x.met, from.workers[i].executed
		w.walker = from.workers[i].walker
		if w.walker != nil {
			w.walker.s, w.walker.x, w.walker.on = s, nil, false
		}
	}
	c.current.Store(s)
	ctx, cancel := context.WithCancelCause(c.watch.Context())
	defer cancel(nil)
	o := search.Options{Options: c.o.Options, Covered: covered, Unproven: true}.With(
		search.Sizes{StoreBytes: c.watch.Memory().ForStores()})
	o.IgnoreDeadlocks, o.All, o.Dive = true, false, false
	o.Timeout, o.MaxMemory, o.Progress = 0, 0, nil // c.watch sees to these
	hired := 0
	res, err := search.Run(ctx, begun{c.sys, open}, func() search.Expander {
		r := &reacher{Expander: full.New(s.sys), back: sync.OnceFunc(func() { cancel(errBack) })}
		if hired < workers {
			r.w = s.workers[hired]
		} else {
			r.w = newWorker(s, 0) // for the trace
		}
		hired++
		r.before = r.w.executed
		return r
	}, o)
	if err != nil {
		return nil, err
	}
	s.count.Store(int64(res.States))
	s.workers[0].transitions += res.Transitions - res.BlockedLoops
	s.beside = res.StoreBytes
	switch {
	case s.lasso != nil: // of a random walk
		return s, nil
	case errors.Is(context.Cause(ctx), errBack):
		return nil, errBack
	case c.watch.Err() != nil:
		return s, c.watch.Err()
	case len(res.Violations) > 0:
		f := res.Violations[0]
		if *f.Violation != reached || f.Trace == nil {
			return nil, errBack
		}
		t := from.way(open[f.Trace.Initial])
		if t == nil {
			return nil, errBack
		}
		t.Steps = append(t.Steps, f.Trace.Steps...)
		if s.led = s.lead(t); s.led == nil {
			return nil, errBack
		}
	case c.o.MaxStates > 0 && res.States > c.o.MaxStates:
		s.atLimit.Store(true)
		return s, &engine.Stop{Reason: res.Reason}
	case res.Reason != "":
		return s, c.watch.OutOfMemory()
	}
	return s, nil
}

// cover returns the states that a search has expanded, and the other ones that it has met.
func (s *exploration) cover() (covered, open []system.State) {
	session := s.workers[0].x.session
	done := map[statestore.Ref]bool{}
	for _, w := range s.workers {
		for _, ref := range w.closed {
			if !done[ref] {
				done[ref] = true
				covered = append(covered, session.Load(ref, nil))
			}
		}
	}
	for _, st := range s.sys.Initial() {
		ref, ok := session.Find(st)
		if !ok || !done[ref] {
			open = append(open, st)
		}
		if ok {
			done[ref] = true
		}
	}
	for _, w := range s.workers {
		for _, ref := range w.ends {
			if !done[ref] {
				done[ref] = true
				open = append(open, session.Load(ref, nil))
			}
		}
	}
	if sabotage.Is("reach/open") && len(open) > 1 {
		open = open[1:]
	}
	return covered, open
}

// way returns steps that lead through the states in which the automaton waits, and which the
// search has met, to one of them.
func (s *exploration) way(to system.State) *trace.Trace {
	type node struct {
		state system.State
		from  int // another node, or the initial state's number less than 0
		step  trace.Step
	}
	x := s.workers[0].x
	var nodes []node
	known := map[statestore.Ref]bool{}
	for i, st := range s.sys.Initial() {
		nodes = append(nodes, node{state: st, from: -1 - i})
	}
	for i := 0; i < len(nodes); i++ {
		at := nodes[i].state
		if slices.Equal(at, to) {
			t := &trace.Trace{}
			for ; i >= 0; i = nodes[i].from {
				if nodes[i].from < 0 {
					t.Initial = -1 - nodes[i].from
					break
				}
				t.Steps = append(t.Steps, nodes[i].step)
			}
			slices.Reverse(t.Steps)
			return t
		}
		if _, stays, v := x.watch(at); !stays || v != nil {
			continue
		}
		x.all(-1, func() bool { return false })
		for _, mv := range x.moves {
			end := x.words[mv.from:mv.to]
			if ref, ok := x.session.Find(end); ok && !known[ref] {
				known[ref] = true
				nodes = append(nodes, node{slices.Clone(end), i, trace.Step{Thread: mv.thread,
					Alt: mv.alt}})
			}
		}
	}
	return nil
}

// lead makes an execution that begins with a trace and continues in some way, nil if no state
// repeats soon.
func (s *exploration) lead(t *trace.Trace) *execution {
	m := s.workers[0].x.m
	m.Track(false)
	m.Load(s.sys.Initial()[t.Initial])
	for _, step := range t.Steps {
		m.Step(step.Thread, step.Alt)
	}
	e := &execution{initial: t.Initial, stem: t.Steps}
	seen := map[string]int{}
	for range longestTail {
		key := engine.StateString(m.Encode(nil))
		if k, ok := seen[key]; ok {
			e.stem, e.loop = e.stem[:k:k], e.stem[k:]
			return e
		}
		seen[key] = len(e.stem)
		thread, ok := s.some(m)
		switch {
		case !ok:
			return nil
		case thread < 0:
			return e
		}
		e.stem = append(e.stem, trace.Step{Thread: thread})
	}
	return nil
}

// some takes a step of the live state. It returns the thread, -1 if none is enabled; ok is false
// if each step has a violation.
func (s *exploration) some(m system.Machine) (thread int, ok bool) {
	ok = true
	mark := m.Mark()
	for t := range m.NumThreads() {
		out := m.Step(t, 0)
		if out.Kind != system.Moved {
			continue
		}
		if out.Violation == nil {
			return t, true
		}
		ok = false
		m.Rewind(mark)
	}
	return -1, ok
}

// reacher expands the states in which the automaton waits, for one worker of the driver.
type reacher struct {
	*full.Expander
	w      *worker
	before uint64 // transitions that the worker executed before
	back   func() // ends the search
}

// Expand implements [search.Expander].
func (r *reacher) Expand(state system.State, v search.Visitor) {
	x := r.w.x
	bad, stays, fault := x.watch(state)
	if fault != nil {
		r.back()
		return
	}
	x.met.add(x.letter)
	if bad {
		v.Violation(&reached, nil)
		return
	}
	r.w.s.count.Add(1)
	if !stays {
		return
	}
	r.Expander.Expand(state, v)
	r.w.executed = r.before + r.Counters().Transitions
	if r.w.walker != nil && !r.w.walker.walk(r.w.executed) {
		r.back()
	}
}
