// Package classic is dynamic partial-order reduction as it was first published: Flanagan and
// Godefroid, "Dynamic Partial-Order Reduction for Model Checking Software", POPL 2005, figure 3,
// with or without sleep sets. It is what Gueta et al. (2007, section 7) compare with.
//
// It exists for that comparison (cpor bench dpor) and is not an engine of cpor: package stateless
// has optimal dynamic reduction, which never explores two executions of one Mazurkiewicz trace. It
// is written for one thing only: to explore what the figure says. So its clocks are compared with
// every event of the execution, and no attempt is made to be fast.
//
// The paper's transitions are deterministic and access one object. Here a thread can have several
// alternatives, which are explored together: wherever a thread is in a backtracking set, all its
// alternatives are. A transition, enabled or not, is represented by all that its alternatives
// touch in the state at hand. Two transitions are dependent if they touch a common location and
// one of them writes.
package classic

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"cpor/system"
)

// Options say how to explore.
type Options struct {
	// Sleep adds sleep sets.
	Sleep bool
	// MaxDepth is the number of transitions after which an execution is taken for endless; 0
	// means 100,000.
	MaxDepth int
	// Final, if not nil, is called at the end of each execution, with the machine in its last
	// state, which it must not change.
	Final func(m system.Machine)
	// Violation, if not nil, is called for each violation of a transition.
	Violation func(v *system.Violation)
}

// Result counts what was explored.
type Result struct {
	Executions  uint64 // that came to an end
	Blocked     uint64 // that sleep sets ended early
	Transitions uint64 // executed to explore, each as often as an execution comes through it
}

// Explore explores a system from its first initial state. The system must be acyclic, without
// observers. The error is that of ctx, or says why the system cannot be explored; the result is
// what was explored until then.
func Explore(ctx context.Context, sys system.System, o Options) (Result, error) {
	obs := system.ObserversOf(sys)
	e := &explorer{ctx: ctx, o: o, m: sys.NewMachine()}
	e.m.Load(sys.Initial()[0])
	for t := range e.m.NumThreads() {
		if obs.Has(t) {
			return Result{}, fmt.Errorf("classic dynamic reduction does not preserve invariants")
		}
	}
	if e.o.MaxDepth == 0 {
		e.o.MaxDepth = 100_000
	}
	e.m.Track(true)
	err := e.explore(nil)
	return e.res, err
}

type explorer struct {
	ctx   context.Context
	o     Options
	m     system.Machine
	stack []*state
	res   Result
}

// state is a state of the current execution, with the transition that is executed from it.
type state struct {
	next      []pending // by thread
	backtrack map[int]bool

	thread int
	acc    []system.Access
	index  int   // which of its thread's transitions it is, from 1
	clock  []int // by thread: how many of its transitions happen before this one, or are it
}

// pending is what a thread does next in a state.
type pending struct {
	alts []uint64 // the enabled alternatives
	acc  []system.Access
	gone bool // the thread has ended
}

func dependent(a, b []system.Access) bool {
	for i := range a {
		for j := range b {
			if a[i].Loc == b[j].Loc && (a[i].Write || b[j].Write) {
				return true
			}
		}
	}
	return false
}

// pending executes the alternatives of a thread and takes them back.
func (e *explorer) pending(t int) (p pending) {
	mark := e.m.Mark()
	for alt := uint64(0); ; {
		out := e.m.Step(t, alt)
		p.acc = append(p.acc, e.m.Accesses()...)
		if out.Kind != system.Moved {
			p.gone = out.Kind == system.Ended
			return p
		}
		p.alts = append(p.alts, alt)
		e.m.Rewind(mark)
		if alt = out.Next; alt == 0 {
			return p
		}
	}
}

// last returns the clock of a thread's last transition, nil if it has none.
func (e *explorer) last(t int) []int {
	for i := len(e.stack) - 1; i >= 0; i-- {
		if e.stack[i].thread == t {
			return e.stack[i].clock
		}
	}
	return nil
}

// before reports whether the i-th transition happens before what has a clock.
func (e *explorer) before(i int, clock []int) bool {
	s := e.stack[i]
	return s.thread < len(clock) && clock[s.thread] >= s.index
}

// race adds what the figure's lines 3 to 8 add because of a thread's next transition: a thread
// that is to be explored before the last transition that the thread's races with.
func (e *explorer) race(t int, p *pending) {
	clock := e.last(t)
	for i := len(e.stack) - 1; i >= 0; i-- {
		s := e.stack[i]
		if s.thread == t || !dependent(s.acc, p.acc) || e.before(i, clock) {
			continue
		}
		enabled := func(q int) bool { return q < len(s.next) && len(s.next[q].alts) > 0 }
		// Those that are enabled there, and lead to the thread's transition.
		lead := map[int]bool{}
		if enabled(t) {
			lead[t] = true
		}
		for j := i + 1; j < len(e.stack); j++ {
			if q := e.stack[j].thread; enabled(q) && e.before(j, clock) {
				lead[q] = true
			}
		}
		if len(lead) == 0 {
			for q := range s.next {
				if enabled(q) {
					s.backtrack[q] = true
				}
			}
			return
		}
		if lead[t] {
			s.backtrack[t] = true
			return
		}
		first := -1
		for q := range s.next {
			if lead[q] && s.backtrack[q] {
				return
			}
			if lead[q] && first < 0 {
				first = q
			}
		}
		s.backtrack[first] = true
		return
	}
}

// explore explores from the live state. asleep are the threads that sleep there.
func (e *explorer) explore(asleep map[int][]system.Access) error {
	if err := e.ctx.Err(); err != nil {
		return err
	}
	if len(e.stack) >= e.o.MaxDepth {
		return fmt.Errorf("an execution has %d transitions: the system is cyclic", len(e.stack))
	}
	s := &state{backtrack: map[int]bool{}}
	first, moves := -1, false
	for t := range e.m.NumThreads() {
		p := e.pending(t)
		s.next = append(s.next, p)
		if !p.gone {
			e.race(t, &p)
		}
		if len(p.alts) > 0 {
			moves = true
			if _, sleeps := asleep[t]; first < 0 && !sleeps {
				first = t
			}
		}
	}
	switch {
	case first >= 0:
		s.backtrack[first] = true
	case moves:
		e.res.Blocked++
		return nil
	default:
		e.res.Executions++
		if e.o.Final != nil {
			e.o.Final(e.m)
		}
		return nil
	}
	e.stack = append(e.stack, s)
	defer func() { e.stack = e.stack[:len(e.stack)-1] }()
	sleep := map[int][]system.Access{}
	maps.Copy(sleep, asleep)
	done := map[int]bool{}
	for {
		t := -1
		for q := range s.next {
			_, sleeps := sleep[q]
			if s.backtrack[q] && !done[q] && !sleeps && len(s.next[q].alts) > 0 {
				t = q
				break
			}
		}
		if t < 0 {
			return nil
		}
		done[t] = true
		for _, alt := range s.next[t].alts {
			if err := e.execute(s, t, alt, sleep); err != nil {
				return err
			}
		}
		if e.o.Sleep {
			sleep[t] = s.next[t].acc
		}
	}
}

// execute executes a transition from the state on top of the stack, and explores what follows.
func (e *explorer) execute(s *state, t int, alt uint64, sleep map[int][]system.Access) error {
	mark := e.m.Mark()
	out := e.m.Step(t, alt)
	e.res.Transitions++
	s.thread, s.acc = -1, slices.Clone(e.m.Accesses()) // not on the stack yet
	// The clock: all that the transition depends on happens before it.
	top := len(e.stack) - 1
	s.clock, s.index = make([]int, max(e.m.NumThreads(), len(s.next))), 1
	if clock := e.last(t); clock != nil {
		copy(s.clock, clock)
		s.index = clock[t] + 1
	}
	for i := range top {
		if x := e.stack[i]; dependent(x.acc, s.acc) {
			for u, n := range x.clock {
				s.clock[u] = max(s.clock[u], n)
			}
		}
	}
	s.thread, s.clock[t] = t, s.index
	if out.Violation != nil && e.o.Violation != nil {
		for v := out.Violation; v != nil; v = v.Also {
			e.o.Violation(v)
		}
	}
	rest := map[int][]system.Access{}
	for q, acc := range sleep {
		if q != t && !dependent(acc, s.acc) {
			rest[q] = acc
		}
	}
	err := e.explore(rest)
	e.m.Rewind(mark)
	return err
}
