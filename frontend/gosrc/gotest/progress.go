package gotest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"

	"cpor/engine"
	"cpor/engine/memory"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/machine"
	"cpor/frontend/gosrc/scenario"
	"cpor/internal/human"
	"cpor/system"
	"cpor/testkit/sabotage"
	"cpor/trace"
)

// check.LockFree and check.ObstructionFree are decided on the graph of all states of a scenario:
// each state is stored, and every step of every goroutine is executed from it,
// except for two kinds of steps that go before all others (below). A goroutine is in a call from
// before its first step on; suspending it is to give it no more steps.
//
// A type is lock-free if there is no infinite execution in which goroutines make steps in calls
// but only finitely many calls end, whoever is suspended. A scenario has finitely many calls. So
// with finitely many states that says: no cycle of the graph has a step in a call. Suspending
// goroutines adds nothing to that, because a cycle need not have steps of all. A depth-first
// search closes a cycle at a state on its path. How many steps can be made before a call ends
// follows for each state from its successors, in the order in which the search leaves them; it
// is compared with the bound. The path of the search alone may exceed the bound, which ends the
// search where states are infinitely many: then some path has infinitely many steps and finitely
// many ends of calls.
//
// A type is obstruction-free if in each state every goroutine that is in a call ends it alone.
// So for each goroutine the steps of that goroutine alone are searched in the same way, from
// every state.
//
// A goroutine in a call that cannot make its next step waits for another one, which may be
// suspended. So such a state violates both.
//
// The steps that go before all others: that the test starts a goroutine, and that a goroutine
// computes up to the first operation of its first call, depends on no step of others: in
// programs without races it reads what nobody else writes, and whoever waits for it at a channel
// is in a call and waits. So every execution has one in which that step comes first, with the
// same steps after it, and a step that is made once is on no cycle. The test itself, which
// waits until nobody can run, comes last.
//
// States do not say what happened before, which would multiply them. A race shows nevertheless, if
// there is one in any execution. Take one with as few steps as possible whose last one, B, makes a
// race with an earlier step A. Of the steps between them, those that do not happen after A can be
// moved before it, and the others do not happen before B and can be omitted, so that B follows A
// directly from some state, which the search has reached along an execution without races. Whether
// A happens before B depends on these two alone then. So after each step from each state that has
// accessed common memory without synchronization, the next steps of the other goroutines are tried
// (races). A step that has, does not go before all others (first).
//
// Steps outside calls (the test starts the goroutines, the type has goroutines of its own) lead
// to further states, but do not count. A cycle of them alone violates nothing. But then cycles
// are no longer found by the path alone, so the result is incomplete; and so it is if time
// passes, since a call that sleeps waits for earlier deadlines of suspended goroutines.

// anyone stands for all goroutines together.
const anyone = -1

// move is a transition between states.
type move struct {
	to     int32
	thread int32
	alt    uint64
	in     bool // the step belongs to a call
	ends   bool // a call ends
}

// stall is an execution after which calls need not end.
type stall struct {
	steps  []trace.Step
	cycle  []trace.Step
	thread int // that waits; anyone: calls go on without an end
	many   int // so many steps were made without one
}

// Longest of a state for which it is not known, and of one on the path of the search.
const (
	unknown = -1 - iota
	onPath
)

// progress is the graph of a scenario.
type progress struct {
	*graph
	ctx      context.Context
	bound    int
	limit    uint64 // of bytes
	states   int    // at most
	expanded []bool
	moves    [][]move
	// longest is, by goroutine and state, how many steps in calls can be made before a call ends.
	longest map[int][]int32
	path    []step // of the search
	linear  bool   // of check.Linearizable: no step counts as part of a call
	stall   *stall
	failing []trace.Step // to a step that violates something else, or a deadlock
	reason  string       // the search is not complete
	// unmerged tells that the histories must be kept.
	unmerged bool
	most     int32 // steps before a call ends
	steps    uint64
}

// step is a move from a state.
type step struct {
	from int32
	move
}

// explore searches from an initial state. Then one of stall, failing and reason says what there
// is, or none if calls end as they have to.
func (x *progress) explore(from system.State, is scenario.Progress) {
	x.linear = is == scenario.AnyProgress
	x.m.Load(from)
	x.add(-1, trace.Step{})
	x.load(0)
	if is != scenario.ObstructionFree {
		x.search(0, anyone, 0, anyone)
		return
	}
	for id := int32(0); int(id) < len(x.keys); id++ {
		if x.load(id); !x.expand(id) {
			return
		}
		for t := range x.threads(id) {
			if x.search(id, t, 0, t); x.over() {
				return
			}
		}
	}
}

// over reports whether the search has to end.
func (x *progress) over() bool { return x.stall != nil || x.failing != nil || x.reason != "" }

// threads are the goroutines that can make a step in a call.
func (x *progress) threads(id int32) map[int]bool {
	out := map[int]bool{}
	for _, m := range x.moves[id] {
		if m.in {
			out[int(m.thread)] = true
		}
	}
	return out
}

// expand executes all steps from the live state, which is id; false if the search has to end.
func (x *progress) expand(id int32) bool {
	for len(x.expanded) <= int(id) {
		x.expanded, x.moves = append(x.expanded, false), append(x.moves, nil)
	}
	if x.expanded[id] || x.over() || x.interrupted(id) {
		return !x.over()
	}
	x.expanded[id] = true
	if !x.first(id) {
		x.all(id)
	}
	return !x.over()
}

// interrupted reports whether the search has to end for a reason of its own.
func (x *progress) interrupted(id int32) bool {
	switch {
	case id%64 == 0 && x.ctx.Err() != nil:
		x.reason = stopped
	case len(x.keys) > x.states:
		x.reason = fmt.Sprintf("more than %s states", humanize.Comma(int64(x.states)))
	case x.bytes > x.limit:
		x.reason = fmt.Sprintf("%s states fill the memory", humanize.Comma(int64(len(x.keys))))
	case x.p.Unsupported() != nil || x.p.GaveUp() != "":
		x.reason = cmp.Or(x.p.GaveUp(), "given up")
	}
	return x.reason != ""
}

// all executes the next steps of all goroutines.
func (x *progress) all(id int32) {
	stuck := false
	last := x.m.Settles(0)
	for t := range x.m.NumThreads() {
		if t > 0 || !last {
			stuck = x.thread(id, t) == waits || stuck
		}
		if x.over() {
			return
		}
	}
	if last && len(x.moves[id]) == 0 {
		stuck = x.thread(id, 0) == waits || stuck
	}
	if stuck && len(x.moves[id]) == 0 && !x.m.Over() && !x.over() {
		x.failing = x.graph.path(id)
	}
}

// first executes a step that goes before all others, if there is one.
func (x *progress) first(id int32) bool {
	for t := range x.m.NumThreads() {
		starts := t == 0 && x.m.Starts(0)
		if !starts && !x.m.Begins(t) {
			continue
		}
		mark := x.m.Mark()
		o := x.m.Step(t, 0)
		goes := o.Kind == system.Moved && o.Next == 0 && o.Violation == nil && !x.m.Met() &&
			(starts || x.m.Call(t) != "" || x.m.Invokes(t))
		x.m.Rewind(mark)
		if goes {
			return x.thread(id, t) == moves
		}
	}
	return false
}

// can says what a goroutine can do in a state.
type can int

const (
	nothing can = iota // it has ended, or nobody minds that it waits
	moves
	waits
)

// thread executes the next step of a goroutine from the live state, which is that of id.
func (x *progress) thread(id int32, t int) can {
	in, mark, done := x.m.Call(t) != "", x.m.Mark(), nothing
	for alt := uint64(0); ; {
		before := 0
		if in {
			before = x.m.Ended(t)
		}
		o := x.m.Step(t, alt)
		if o.Kind != system.Moved {
			if done == moves || o.Kind == system.Ended || o.AtEnd {
				return done
			}
			if in && !x.m.Sleeps(t) {
				x.stall = &stall{steps: x.graph.path(id), thread: t}
			}
			return waits
		}
		done = moves
		x.steps++
		if o.Violation != nil {
			x.failing = append(x.graph.path(id), trace.Step{Thread: t, Alt: alt})
			return moves
		}
		ends := in && x.m.Ended(t) > before
		to := x.add(id, trace.Step{Thread: t, Alt: alt})
		if x.m.Met() && !x.races(id, trace.Step{Thread: t, Alt: alt}) {
			return moves
		}
		x.m.Rewind(mark)
		x.moves[id] = append(x.moves[id], move{to, int32(t), alt, in, ends})
		x.bytes += 24
		if o.Next == 0 {
			return moves
		}
		alt = o.Next
	}
}

// races looks for a race of a step, which was made from id, with the next one of another goroutine;
// false if there is one.
func (x *progress) races(id int32, first trace.Step) bool {
	for t := range x.m.NumThreads() {
		if t == first.Thread || sabotage.Is("histories/adjacent") {
			continue
		}
		for alt, mark := uint64(0), x.m.Mark(); ; {
			o := x.m.Step(t, alt)
			if o.Kind != system.Moved {
				break
			}
			if o.Violation != nil {
				x.failing = append(x.graph.path(id), first, trace.Step{Thread: t, Alt: alt})
				return false
			}
			x.m.Rewind(mark)
			if alt = o.Next; alt == 0 {
				break
			}
		}
	}
	return true
}

// known returns what is known about the steps of who from a state.
func (x *progress) known(who int, id int32) *int32 {
	l := x.longest[who]
	for len(l) <= int(id) {
		l = append(l, unknown)
	}
	x.longest[who] = l
	return &l[id]
}

// search finds out how many steps of who can be made from the live state, id, before a call ends.
// Made is how many were made on the way there, the last one by the goroutine last.
func (x *progress) search(id int32, who, made, last int) {
	if *x.known(who, id) != unknown || !x.expand(id) {
		return
	}
	*x.known(who, id) = onPath
	next := slices.Clone(x.moves[id])
	// The goroutine that made the last step continues first, so that loops come early.
	slices.SortStableFunc(next, func(a, b move) int {
		first := func(m move) int {
			if int(m.thread) == last {
				return 0
			}
			return 1
		}
		return first(a) - first(b)
	})
	longest := int32(0)
	for _, m := range next {
		if who != anyone && int(m.thread) != who {
			continue
		}
		n, ok := x.follow(step{id, m}, who, made)
		if !ok {
			return
		}
		longest = max(longest, n)
	}
	*x.known(who, id) = longest
	x.most = max(x.most, longest)
	if int(longest) > x.bound {
		x.tooMany(id, who)
	}
}

// follow returns how many steps of who can be made before a call ends if the first one is s, so
// many were made before; not ok if the search has to end.
func (x *progress) follow(s step, who, made int) (n int32, ok bool) {
	x.path = append(x.path, s)
	defer func() { x.path = x.path[:len(x.path)-1] }()
	switch {
	case s.ends:
		made = 0
	case s.in:
		made++
	}
	if made > x.bound {
		x.stall = &stall{thread: anyone, many: made}
		x.stall.steps = append(x.graph.path(x.path[0].from), stepsOf(x.path)...)
		return 0, false
	}
	if s.ends && who != anyone {
		return 1, true
	}
	if *x.known(who, s.to) == onPath {
		return 0, x.closes(s.to)
	}
	if *x.known(who, s.to) == unknown {
		mark := x.m.Mark()
		x.m.Step(int(s.thread), s.alt)
		x.search(s.to, who, made, int(s.thread))
		x.m.Rewind(mark)
	}
	if x.over() {
		return 0, false
	}
	if !s.ends {
		n = *x.known(who, s.to)
	}
	if s.in {
		n++
	}
	return n, true
}

func stepsOf(path []step) (out []trace.Step) {
	for _, s := range path {
		out = append(out, trace.Step{Thread: int(s.thread), Alt: s.alt})
	}
	return out
}

// closes notes the cycle of the path that ends in a state. It violates nothing if no step belongs
// to a call.
func (x *progress) closes(id int32) (ok bool) {
	i := slices.IndexFunc(x.path, func(s step) bool { return s.from == id })
	cycle := x.path[i:]
	if !slices.ContainsFunc(cycle, func(s step) bool { return s.in }) {
		x.reason = "a goroutine can run forever"
		if !x.linear {
			x.reason = "a goroutine that is in no call can run forever, so cycles of the calls " +
				"cannot be recognized"
		}
		return false
	}
	x.stall = &stall{steps: x.shortest(id), cycle: stepsOf(cycle), thread: anyone}
	return false
}

// shortest returns the shortest way to a state that is known.
func (x *progress) shortest(id int32) []trace.Step {
	from := map[int32]step{0: {from: -1}}
	for queue := []int32{0}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at == id {
			var way []step
			for s := from[at]; s.from >= 0; s = from[s.from] {
				way = append(way, s)
			}
			slices.Reverse(way)
			return stepsOf(way)
		}
		if int(at) >= len(x.moves) {
			continue
		}
		for _, m := range x.moves[at] {
			if _, ok := from[m.to]; !ok {
				from[m.to] = step{at, m}
				queue = append(queue, m.to)
			}
		}
	}
	return x.graph.path(id)
}

// tooMany notes an execution with more steps than the bound from a state on.
func (x *progress) tooMany(id int32, who int) {
	s := &stall{steps: x.shortest(id), thread: anyone}
	for s.many <= x.bound {
		var best *move
		for i, m := range x.moves[id] {
			n := *x.known(who, m.to)
			if (who == anyone || int(m.thread) == who) && !m.ends && n >= 0 &&
				(best == nil || n > *x.known(who, best.to)) {
				best = &x.moves[id][i]
			}
		}
		if best == nil {
			break
		}
		s.steps = append(s.steps, trace.Step{Thread: int(best.thread), Alt: best.alt})
		if best.in {
			s.many++
		}
		id = best.to
	}
	x.stall = s
}

// advances explores scenarios of check.LockFree or check.ObstructionFree, or those of
// check.Linearizable, on a program of [gosrc.Program.StatesAlone]. With Options.merge, the states
// of the latter do not contain the histories, but what matters of them.
func advances(ctx context.Context, p *gosrc.Program, texts []string, d scenario.Description,
	o Options) (*Result, error) {
	start := time.Now()
	if e := cmp.Or(o.Engine, Auto); e != Auto && e != Full && e != DPOR {
		return nil, mistake("the engine %s does not store all states, which %s needs", e,
			called(d.Progress))
	}
	if o.Workers < 0 {
		return nil, mistake("%d workers", o.Workers)
	}
	p = p.WithScenarios(texts)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.Timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	limit, err := memory.New(o.MaxMemory)
	if err != nil {
		return nil, err
	}
	defer limit.Release()
	r := &run{p: p, o: o, start: start, res: &Result{}}
	r.program = p
	defer p.Halt(false)
	var watching sync.WaitGroup
	full := false
	watching.Go(func() {
		full = watch(ctx, p, limit, cancel)
		r.halt()
	})
	s := &advancing{run: r, texts: texts, d: d}
	err = s.all(ctx)
	r.stop(p)
	cancel()
	watching.Wait()
	r.res.Duration, r.res.Tests = time.Since(start), p.Tests()
	r.res.Fixed, r.res.Raced = p.Fixed(), p.Raced()
	switch u := p.Unsupported(); {
	case u != nil:
		return nil, u
	case err != nil || r.res.Failure != nil:
	case p.GaveUp() != "":
		r.res.Verdict, r.res.Reason = engine.Incomplete, p.GaveUp()
	case full && r.res.Verdict == engine.Incomplete:
		r.res.Reason = limit.Reason()
	}
	return r.res, err
}

// called is the function of package check that asks for it.
func called(p scenario.Progress) string {
	return map[scenario.Progress]string{scenario.LockFree: "check.LockFree",
		scenario.ObstructionFree: "check.ObstructionFree"}[p]
}

// advancing explores several scenarios.
type advancing struct {
	*run
	texts []string
	d     scenario.Description

	mu    sync.Mutex
	first int       // the first scenario that has not passed
	found *progress // its graph
}

// all explores the scenarios on all workers, each one on one of them. What the first of them that
// does not pass says is the result.
func (s *advancing) all(ctx context.Context) error {
	n := min(cmp.Or(s.o.Workers, runtime.GOMAXPROCS(0)), len(s.texts))
	limit := uint64(maxGraph)
	if s.o.MaxMemory > 0 {
		limit = min(limit, s.o.MaxMemory/2)
	}
	s.first = len(s.texts)
	var next atomic.Int64
	var g sync.WaitGroup
	var broken error
	for range n {
		g.Go(func() {
			defer func() {
				if v := recover(); v != nil && !s.p.Halted() {
					s.mu.Lock()
					broken = fmt.Errorf("internal error: %v", v)
					s.first = -1
					s.mu.Unlock()
				}
			}()
			m := s.p.NewMachine().(*machine.Machine)
			for {
				i := int(next.Add(1)) - 1
				s.mu.Lock()
				over := i >= s.first
				s.mu.Unlock()
				if over {
					return
				}
				s.one(ctx, m, i, limit/uint64(n))
			}
		})
	}
	g.Wait()
	switch {
	case broken != nil:
		return broken
	case s.first < len(s.texts):
		s.res.done = s.first
		return s.judge(ctx)
	}
	s.res.Verdict, s.res.Reason = engine.Pass, ""
	return nil
}

// manyStates is how many states a scenario of check.Linearizable may have. If there are more, the
// search without them may be better after all.
const manyStates = 100_000

// one explores one scenario, on a machine.
func (s *advancing) one(ctx context.Context, m *machine.Machine, i int, limit uint64) {
	x := &progress{graph: &graph{p: s.p, m: m, ids: map[string]int32{}}, ctx: ctx,
		bound: s.d.Steps, limit: limit,
		longest: map[int][]int32{}, states: math.MaxInt}
	why := ""
	switch {
	case s.o.merge:
		why = m.Specify(i)
	case s.d.Progress == scenario.AnyProgress:
		x.states = manyStates
	}
	if why == "" {
		x.explore(s.p.Initial()[i], s.d.Progress)
		why = s.p.Unmerged()
	}
	if x.unmerged = why != ""; x.unmerged {
		x.failing, x.reason = nil, "histories must be kept: "+why
	}
	if x.reason == "" && x.stall == nil && x.failing == nil && s.p.Timed() {
		x.reason = "time passes, so a call may wait for those that are suspended"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.res.States += uint64(len(x.keys))
	s.res.Transitions += x.steps
	if x.over() && i < s.first {
		s.first, s.found = i, x
	}
	if !x.over() {
		s.res.steps = max(s.res.steps, int(x.most))
	}
}

// judge makes what the first scenario has shown that did not pass the result.
func (s *advancing) judge(ctx context.Context) error {
	x := s.found
	p := s.p.WithScenarios(s.texts[s.first : s.first+1])
	s.stop(p)
	switch {
	case x.failing != nil:
		steps, fails := fails(p, x.failing)
		if !fails {
			s.res.Verdict, s.res.Reason = engine.Incomplete, unconfirmed
			return nil
		}
		return s.failIn(p, &trace.Trace{Steps: steps})
	case x.stall == nil:
		s.res.Verdict, s.res.Reason, s.res.unmerged = engine.Incomplete, x.reason, x.unmerged
		if x.reason == stopped {
			s.res.Reason = s.why(ctx, stopped)
		}
		return nil
	}
	f, err := explainStall(p, x.stall, s.d)
	if err != nil {
		return err
	}
	s.res.Verdict, s.res.Failure, s.res.Program = engine.Violated, f, p
	return nil
}

// unconfirmed is why a scenario is explored in another way whose specification seems to depend on
// more than the calls before.
const unconfirmed = "with its history, an execution that seemed to fail does not"

// fails continues an execution, whose history is kept now, until it fails. Then it returns all
// steps.
func fails(p *gosrc.Program, steps []trace.Step) (all []trace.Step, ok bool) {
	m := p.NewMachine().(*machine.Machine)
	m.Load(p.Initial()[0])
	failed := false
	step := func(s trace.Step) bool {
		o := m.Step(s.Thread, s.Alt)
		if o.Kind == system.Moved {
			all = append(all, s)
			failed = o.Violation != nil
		}
		return o.Kind == system.Moved
	}
	for _, s := range steps {
		if step(s); failed {
			return all, true
		}
	}
	for len(all) < len(steps)+maxSteps && !m.Over() {
		moved := false
		for t := range m.NumThreads() {
			if moved = step(trace.Step{Thread: t}) || moved; failed {
				return all, true
			}
		}
		if !moved {
			some, first := m.Stuck()
			return all, some || first
		}
	}
	return nil, false
}

// explainStall says what happens in an execution after which calls need not end.
func explainStall(p *gosrc.Program, x *stall, d scenario.Description) (*Failure, error) {
	f, who, err := stalled(p, x.steps, x.cycle)
	if err != nil {
		return nil, err
	}
	switch {
	case len(x.cycle) > 0:
		f.Message = who.running.verb("makes", "make") + " steps forever, and no call ends"
	case x.thread == anyone:
		f.Message = who.running.verb("makes", "make") + fmt.Sprintf(" %s, and no call ends",
			human.Plural(uint64(x.many), "step"))
	default:
		f.Message = who.waiting.verb("waits", "wait") + " for others"
	}
	if len(who.suspended) > 0 {
		f.Message += "; " + who.suspended.verb("is", "are") + " suspended"
	}
	f.Message = fmt.Sprintf("not %s: %s", d.Progress, f.Message)
	return f, nil
}

// names are calls with their places.
type names []string

// verb begins a sentence about them.
func (n names) verb(one, many string) string {
	if len(n) != 1 {
		one = many
	}
	return strings.Join(n, " and ") + " " + one
}

// callers are the calls at the end of an execution, by what their goroutines do.
type callers struct{ waiting, running, suspended names }

// stalled repeats an execution, and says what the goroutines in calls do at its end. A cycle must
// lead back there.
func stalled(p *gosrc.Program, steps, cycle []trace.Step) (*Failure, *callers, error) {
	if len(cycle) > 0 {
		if err := leadsBack(p, steps, cycle); err != nil {
			return nil, nil, err
		}
	}
	var ts []machine.TraceStep
	for _, s := range steps {
		ts = append(ts, machine.TraceStep{Thread: s.Thread, Alt: s.Alt})
	}
	e, err := p.Replay(ts)
	if err != nil {
		return nil, nil, err
	}
	f := &Failure{Kind: Progress, Trace: &trace.Trace{Steps: steps}, Cycle: cycle,
		Output: e.Output}
	who := &callers{}
	for _, c := range e.Calls {
		name := c.Call
		if len(c.Frames) > 0 {
			name += " at " + trace.PosString(c.Frames[0].Pos)
		}
		cycles := slices.ContainsFunc(cycle, func(s trace.Step) bool {
			return s.Thread == c.Thread
		})
		switch {
		case c.Does == machine.Blocked:
			who.waiting = append(who.waiting, name)
		case cycles || len(cycle) == 0 && c.Does == machine.Runs:
			who.running = append(who.running, name)
			c.What = "makes steps in " + c.Call
		default:
			who.suspended = append(who.suspended, name)
			c.What = "is suspended in " + c.Call
		}
		f.Stacks = append(f.Stacks, stackOf(c.Stack))
	}
	if len(f.Stacks) == 0 {
		return nil, nil, errors.New("no goroutine is in a call")
	}
	if len(f.Stacks[0].Frames) > 0 {
		f.Pos = f.Stacks[0].Frames[0].Pos
	}
	return f, who, nil
}

// ExplainStall says what the goroutines do after an execution that a failure of kind [Progress] has
// shown. The failure has no message.
func ExplainStall(p *gosrc.Program, t *trace.Trace, cycle []trace.Step) (*Failure, error) {
	f, _, err := stalled(p, t.Steps, cycle)
	return f, err
}
