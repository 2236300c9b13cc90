package conform

import (
	"context"
	"fmt"
	"hash/maphash"
	"math"

	"cpor/detect/computation"
	"cpor/system"
	"cpor/testkit/sabotage"
	"cpor/trace"
)

// Verdict is the answer of [Check].
type Verdict string

// The verdicts.
const (
	Accepted   Verdict = "accepted"   // the model has an execution that shows the log
	Rejected   Verdict = "rejected"   // it has none
	Incomplete Verdict = "incomplete" // a limit or an interruption came first
)

// Options configure [Check].
type Options struct {
	// Lost reports whether the log of a host may lack its end: the host may have done more than
	// the log shows. Nil means that no host has.
	Lost func(host string) bool
	// MaxNodes bounds the stored nodes; 0 means [DefaultNodes]. A node takes about 50 bytes.
	MaxNodes int
	// NoReduction explores all steps at every node.
	NoReduction bool
}

// DefaultNodes is Options.MaxNodes if that is 0.
const DefaultNodes = 10_000_000

// Result is what [Check] found out.
type Result struct {
	Verdict Verdict
	// Why says why it is Incomplete.
	Why string
	// Events are the events of the log that the mapping maps, Unmapped how many others there are.
	Events, Unmapped int
	// FirstUnmapped is the text of one that the mapping does not map.
	FirstUnmapped string
	Place         // of the longest prefix of the log that the search could follow
	// Trace is an execution of the model that shows this prefix, and At for each event of it, in
	// the order of the execution, the step that shows it, counted from 0.
	Trace *trace.Trace
	At    []Match
	// Violations are the properties that the model violates in Trace. Other executions that show
	// the same events may violate others, or none.
	Violations []Violated
	// Nodes are the stored nodes, and Steps the executed steps of the model.
	Nodes, Steps int
}

// Match is an event and the step that shows it.
type Match struct {
	Event computation.Event
	Step  int
}

// Violated is a property that an execution violates.
type Violated struct {
	Steps     int // after how many steps
	Violation *system.Violation
}

// Check decides whether the model has an execution that shows the log. The error is a mistake in
// the mapping or a system whose steps do not say what they do.
func Check(ctx context.Context, sys system.System, c *computation.Computation, mp *Mapping,
	o Options) (*Result, error) {
	s, err := newSearch(sys, c, mp, o)
	if err != nil {
		return nil, err
	}
	for _, bound := range silences {
		if s.silence = bound; s.round(ctx) || s.why != "" || !s.cutOff {
			break
		}
	}
	return s.result(), nil
}

// silences bound the silent steps between two events, one round of the search after the other. In
// a model that can do much in silence, a search without a bound would get lost there.
var silences = []int32{6, 20, 100, math.MaxInt32}

// round searches from all initial states with the present bound.
func (s *search) round(ctx context.Context) bool {
	s.cutOff = false
	clear(s.seen)
	for i := range s.sys.Initial() {
		if s.run(ctx, i) {
			return true
		}
		if s.why != "" {
			break
		}
	}
	return false
}

// search is a depth-first search for a node whose cut is the whole log.
type search struct {
	*walker
	sys      system.System
	c        *computation.Computation
	o        Options
	unmapped int
	first    string // the text of the first unmapped event

	initial int           // of the present run
	seen    map[key]int32 // with the fewest silent steps since the last event
	seeds   [2]maphash.Seed
	frames  []frame

	silence int32 // the bound of this round
	cutOff  bool  // it kept a step from being taken

	asked int // how often the search has asked whether to stop
	best  *reached
	why   string
}

// reached is a node with a cut that no other one exceeded.
type reached struct {
	*node
	initial int
	path    *path
}

// path is the way to a node, the last step first.
type path struct {
	before *path
	step   trace.Step
	silent int32   // how many steps since the last event
	hosts  []int32 // of the events that the step showed
}

// frame is a node on the way to the present one.
type frame struct {
	mark   system.Mark
	moves  []move
	next   int
	single bool // the moves are those of one thread
	fresh  bool // one of them has led to a new node
	last   int  // the thread that stepped here
	path   *path
	took   taking
}

// move is a step, and the hosts that get their players by it: those of the threads that do
// something visible for the first time, in this order.
type move struct {
	trace.Step
	hosts []int32
}

func newSearch(sys system.System, c *computation.Computation, mp *Mapping,
	o Options) (*search, error) {
	s := &search{sys: sys, c: c, o: o, seen: map[key]int32{}, seeds: newSeeds()}
	var log *history
	log, s.unmapped, s.first = mp.history(c, o.Lost)
	if log.total == 0 {
		return nil, fmt.Errorf("none of the %d events of the log is mapped (the first is %q): see "+
			"the lines that begin with %s", s.unmapped, s.first, directive)
	}
	if o.MaxNodes == 0 {
		s.o.MaxNodes = DefaultNodes
	}
	var err error
	s.walker, err = newWalker(sys, log, mp, o.NoReduction)
	return s, err
}

// run searches from an initial state and reports whether the whole log was found.
func (s *search) run(ctx context.Context, initial int) bool {
	s.initial = initial
	s.begin(s.sys.Initial()[initial])
	s.frames = s.frames[:0]
	s.enter(0, nil, taking{})
	for len(s.frames) > 0 {
		if s.taken == s.log.total {
			return true
		}
		if s.stop(ctx) {
			return false
		}
		f := &s.frames[len(s.frames)-1]
		if f.next == len(f.moves) && f.single && !f.fresh && !sabotage.Is("conform/proviso") {
			f.moves, f.single = s.all(f.moves[:0], f.last, f.moves[0].Thread)
			f.next = 0
		}
		if f.next == len(f.moves) {
			s.leave()
			continue
		}
		f.next++
		s.step(f.path, f.moves[f.next-1])
	}
	return s.taken == s.log.total
}

// stop reports whether a limit was met.
func (s *search) stop(ctx context.Context) bool {
	if len(s.seen) >= s.o.MaxNodes {
		s.why = fmt.Sprintf("the limit of %d nodes was reached", s.o.MaxNodes)
		return true
	}
	if s.asked++; s.asked%64 == 0 && ctx.Err() != nil {
		s.why = context.Cause(ctx).Error()
		return true
	}
	return false
}

// step executes a move from the present node, and enters the node that it leads to if that is new.
func (s *search) step(before *path, mv move) {
	mark := s.m.Mark()
	p := &path{before: before, step: mv.Step, silent: 1}
	if before != nil {
		p.silent = before.silent + 1
	}
	t, ok := s.take(mv)
	if p.hosts = t.hosts; len(t.hosts) > 0 {
		p.silent = 0
	}
	if p.silent > s.silence {
		ok, s.cutOff = false, true
	}
	if ok && s.enter(mv.Thread, p, t) {
		n := len(s.frames)
		s.frames[n-2].fresh = true
		s.frames[n-1].mark = mark
		return
	}
	s.retreat(t)
	s.m.Rewind(mark)
}

// leave returns to the node before.
func (s *search) leave() {
	f := &s.frames[len(s.frames)-1]
	if f.path != nil {
		s.retreat(f.took)
		s.m.Rewind(f.mark)
	}
	s.frames = s.frames[:len(s.frames)-1]
}

// enter makes the live state a node, unless it is known.
func (s *search) enter(last int, p *path, t taking) bool {
	silent := int32(0)
	if p != nil && s.silence < math.MaxInt32 {
		silent = p.silent
	}
	if !s.add(silent) {
		return false
	}
	if s.best == nil || s.taken > s.best.taken {
		s.best = &reached{s.save(), s.initial, p}
	}
	n := len(s.frames)
	var moves []move
	if n < cap(s.frames) {
		moves = s.frames[:n+1][n].moves[:0] // of a node that was left
	}
	moves, single := s.expand(moves, last)
	s.frames = append(s.frames, frame{moves: moves, single: single, last: last, path: p,
		took: t})
	return true
}

// add stores the present node and reports whether it is new, or was reached only by more silent
// steps.
func (s *search) add(silent int32) bool {
	key := s.key(&s.seeds)
	if before, ok := s.seen[key]; ok && before <= silent {
		return false
	}
	s.seen[key] = silent
	return true
}
