package search

import (
	"errors"
	"slices"

	"cpor/engine"
	"cpor/statestore"
	"cpor/system"
	"cpor/trace"
)

// rebuilder rebuilds traces by re-execution, after the search.
type rebuilder struct {
	sys      system.System
	expander Expander
	session  history
	machine  system.Machine
}

// history is what the rebuilder needs from a session of a store, or from the disk.
type history interface {
	Find(s []uint64) (statestore.Ref, bool)
	Load(ref statestore.Ref, dst []uint64) []uint64
	Parents(ref statestore.Ref, yield func(statestore.Ref) bool)
}

// move is a move without its end.
type move struct {
	thread int
	alt    uint64
	length int
}

// rebuild returns the trace that leads to a finding, without its claim.
func (rb *rebuilder) rebuild(f *finding, loadable bool) (*trace.Trace, error) {
	var initial int
	var moves []move
	var err error
	if loadable {
		initial, moves, err = rb.backwards(f.ref)
	} else {
		initial, moves, err = rb.forwards(f)
	}
	if err != nil {
		return nil, err
	}
	return rb.trace(initial, moves, f)
}

// trace returns the trace of a path to the state of a finding, and of the
// finding's tail.
func (rb *rebuilder) trace(initial int, moves []move, f *finding) (*trace.Trace, error) {
	t := &trace.Trace{Initial: initial}
	m := rb.machine
	m.Load(rb.sys.Initial()[initial])
	// The self-loops of blocked and ended threads, with which paths can end, are not steps of an
	// execution.
	step := func(s Step) {
		if s.Thread < m.NumThreads() && m.Step(s.Thread, s.Alt).Kind == system.Moved {
			t.Steps = append(t.Steps, s)
		}
	}
	q, quotient := rb.sys.(Quotient)
	var parts [][]Step
	for _, mv := range moves {
		from := len(t.Steps)
		step(Step{Thread: mv.thread, Alt: mv.alt})
		for range mv.length - 1 {
			step(Step{Thread: mv.thread})
		}
		if quotient {
			parts = append(parts, t.Steps[from:])
			m.Load(m.Encode(nil))
		}
	}
	if !slices.Equal(m.Encode(nil), f.state) {
		return nil, errors.New("the rebuilt path leads to another state")
	}
	if quotient {
		t, v, err := q.Lift(initial, append(parts, f.tail), &f.violation)
		if err == nil {
			f.violation = *v
		}
		return t, err
	}
	for _, s := range f.tail {
		step(s)
	}
	return t, nil
}

// finder is a visitor that looks for the moves with a given end.
type finder struct {
	want  func(end system.State) bool
	found func(m *Move) // called for each
}

func (f *finder) Move(m *Move) {
	if !m.Infinite && f.want(m.End) {
		f.found(m)
	}
}

func (f *finder) Violation(*system.Violation, []Step) {}

// initials returns the index of each initial state by its encoding.
func (rb *rebuilder) initials() map[string]int {
	index := map[string]int{}
	for i, s := range rb.sys.Initial() {
		if _, ok := index[engine.StateString(s)]; !ok {
			index[engine.StateString(s)] = i
		}
	}
	return index
}

// backwards walks from a stored state over candidates for the parent to an
// initial state. It is a depth-first search with backtracking over checked
// edges only, and enters no state twice; so it ends, and what it returns is a
// path. The true parents are one: each was stored before its child, so their
// chain has no cycle and ends in an initial state.
func (rb *rebuilder) backwards(ref statestore.Ref) (initial int, moves []move, err error) {
	type frame struct {
		ref        statestore.Ref
		candidates []statestore.Ref
		down       move // from this state to the frame before it
	}
	index := rb.initials()
	entered := map[statestore.Ref]bool{}
	var stack []frame
	var child, parent system.State
	enter := func(r statestore.Ref, down move) bool {
		entered[r] = true
		f := frame{ref: r, down: down}
		child = rb.session.Load(r, child)
		if i, ok := index[engine.StateString(child)]; ok {
			initial = i
			stack = append(stack, f)
			return true
		}
		rb.session.Parents(r, func(p statestore.Ref) bool {
			f.candidates = append(f.candidates, p)
			return true
		})
		stack = append(stack, f)
		return false
	}
	done := enter(ref, move{})
	for !done {
		if len(stack) == 0 {
			return 0, nil, errors.New("no path from an initial state: the stored parents are wrong")
		}
		top := &stack[len(stack)-1]
		if len(top.candidates) == 0 {
			stack = stack[:len(stack)-1]
			continue
		}
		p := top.candidates[0]
		top.candidates = top.candidates[1:]
		if entered[p] {
			continue
		}
		child = rb.session.Load(top.ref, child)
		parent = rb.session.Load(p, parent)
		var down move
		ok := false
		rb.expander.Expand(parent, &finder{
			want: func(end system.State) bool { return !ok && slices.Equal(end, child) },
			found: func(m *Move) {
				down, ok = move{m.Thread, m.Alt, m.Len}, true
			},
		})
		if ok {
			done = enter(p, down)
		}
	}
	for i := len(stack) - 1; i > 0; i-- {
		moves = append(moves, stack[i].down)
	}
	return initial, moves, nil
}

// forwards follows the trail of a finding from the initial states: it takes moves whose ends
// have the next hash. If several states have that hash, it tries them in turn.
func (rb *rebuilder) forwards(f *finding) (initial int, moves []move, err error) {
	var refs []statestore.Ref
	for t := f.trail; t != nil; t = t.Parent {
		refs = append(refs, t.Ref)
	}
	slices.Reverse(refs)
	if len(refs) == 0 {
		return 0, nil, errors.New("the state has no trail")
	}
	is := func(s system.State, r statestore.Ref) bool {
		got, ok := rb.session.Find(s)
		return ok && got == r
	}
	type node struct {
		state system.State
		move  move
	}
	budget := 64*len(refs) + 1024 // expansions; wrong turns are very rare
	// for each step, the states still to try; the first is on the path
	var path [][]node
	for i, s := range rb.sys.Initial() {
		if !is(s, refs[0]) {
			continue
		}
		path = append(path[:0], []node{{state: s}})
		for len(path) > 0 {
			last := len(path) - 1
			if len(path[last]) == 0 {
				if path = path[:last]; len(path) > 0 {
					path[last-1] = path[last-1][1:]
				}
				continue
			}
			at := path[last][0]
			if last == len(refs)-1 {
				if slices.Equal(at.state, f.state) {
					for _, p := range path[1:] {
						moves = append(moves, p[0].move)
					}
					return i, moves, nil
				}
				path[last] = path[last][1:]
				continue
			}
			if budget--; budget < 0 {
				return 0, nil, engine.ErrOmitted
			}
			var next []node
			rb.expander.Expand(at.state, &finder{
				want: func(end system.State) bool { return is(end, refs[last+1]) },
				found: func(m *Move) {
					if !slices.ContainsFunc(next, func(n node) bool {
						return slices.Equal(n.state, m.End)
					}) {
						next = append(next, node{slices.Clone(m.End), move{m.Thread, m.Alt, m.Len}})
					}
				},
			})
			path = append(path, next)
		}
	}
	return 0, nil, engine.ErrOmitted
}
