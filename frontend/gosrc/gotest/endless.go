package gotest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"cpor/engine"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/machine"
	"cpor/system"
	"cpor/trace"
)

// A program whose executions need not end is searched breadth first, with all states
// and the transitions between them in memory. Besides what every search finds, the
// graph shows:
//
//   - a set of states that cannot be left (a bottom component) with steps in it. A test
//     that has not ended there never ends, and goroutines that are left there are a
//     leak: they never end, although they do not wait;
//   - a cycle that even a fair run-time may go round forever: a test that has not ended
//     need not end. Fair is a cycle if each action that is possible again and again on
//     it is taken on it (strong fairness; the cases of a select and the goroutines are
//     actions of their own). Which components have such a cycle is found as in Emerson and
//     Lei, "Modalities for model checking" (1987): states where an action is possible that
//     the component does not take are left out, and what remains is looked at again.
//
// States that say what happened before, too, are more. So the graph is explored without that first;
// then once more with it, for data races. If only the second one does not end, races were looked
// for in the random schedules only.

// maxGraph is how many bytes of states are kept if the user gives no bound.
const maxGraph = 1 << 30

// edge is a transition.
type edge struct {
	to     int32
	thread int32
	alt    uint64
	action uint64
}

// graph is what has been explored of a program.
type graph struct {
	p      *gosrc.Program
	m      *machine.Machine
	ids    map[string]int32
	keys   []string
	parent []int32
	via    []trace.Step
	edges  [][]edge
	alive  []bool // the first goroutine has not ended
	others []bool // another one has not ended
	bytes  uint64
	next   int32 // the first state that has not been explored
	buf    system.State
	key    []byte
}

func newGraph(p *gosrc.Program) *graph {
	return &graph{p: p, m: p.NewMachine().(*machine.Machine), ids: map[string]int32{}}
}

// add returns the number of the live state.
func (g *graph) add(parent int32, via trace.Step) int32 {
	g.buf = g.m.Encode(g.buf)
	g.key = stateKey(g.buf, g.key)
	if id, ok := g.ids[string(g.key)]; ok {
		return id
	}
	id := int32(len(g.keys))
	k := string(g.key)
	g.ids[k] = id
	g.keys = append(g.keys, k)
	g.parent = append(g.parent, parent)
	g.via = append(g.via, via)
	g.alive = append(g.alive, g.m.Alive(0))
	others := false
	for t := 1; t < g.m.NumThreads(); t++ {
		others = others || g.m.Alive(t)
	}
	g.others = append(g.others, others)
	g.bytes += uint64(len(k)) + 64
	return id
}

// stateKey writes a state over key, shorter than it is.
func stateKey(s system.State, key []byte) []byte {
	key = key[:0]
	for _, w := range s {
		key = binary.AppendUvarint(key, w)
	}
	return key
}

// load makes a state the live one.
func (g *graph) load(id int32) {
	g.buf = g.buf[:0]
	for k := []byte(g.keys[id]); len(k) > 0; {
		w, n := binary.Uvarint(k)
		g.buf = append(g.buf, w)
		k = k[n:]
	}
	g.m.Load(g.buf)
}

// path returns the steps that lead to a state.
func (g *graph) path(id int32) []trace.Step {
	var steps []trace.Step
	for ; g.parent[id] >= 0; id = g.parent[id] {
		steps = append(steps, g.via[id])
	}
	slices.Reverse(steps)
	return steps
}

// stopped is why a graph is not complete whose time was over.
const stopped = "stopped"

// How much of the time that is left the graph of states gets before the search with a bound on
// timers, which has all bugs that need few of them to go off soon, and how much that one
// gets; in percent.
const (
	graphFirst = 20
	alarmsThen = 40
)

// lostEvery is how many states are explored before it is looked whether somebody waits forever
// in the next one: what follows such a state is such a state, too.
const lostEvery = 32

// explore explores all states that can be reached from one. It returns a failing execution
// from there, or why it did not end; if it was stopped it can continue.
func (g *graph) explore(ctx context.Context, from system.State, limit uint64) (failing []trace.Step,
	reason string) {
	if len(g.keys) == 0 {
		g.m.Load(from)
		g.add(-1, trace.Step{})
	}
	for ; int(g.next) < len(g.keys); g.next++ {
		id := g.next
		switch {
		case id%64 == 0 && ctx.Err() != nil:
			return nil, stopped
		case g.bytes > limit:
			return nil, fmt.Sprintf("%s states fill the memory", humanize.Comma(int64(len(g.keys))))
		case g.p.Unsupported() != nil || g.p.GaveUp() != "":
			return nil, "given up"
		}
		g.load(id)
		if id%lostEvery == 0 && lost(g.m) != nil {
			return g.path(id), ""
		}
		if g.m.Over() { // goroutines of initializers may run forever
			g.edges = append(g.edges, nil)
			continue
		}
		mark := g.m.Mark()
		var out []edge
		stuck := false
		for t := range g.m.NumThreads() {
			for alt := uint64(0); ; {
				o := g.m.Step(t, alt)
				if o.Kind != system.Moved {
					stuck = stuck || o.Kind == system.Blocked && !o.AtEnd
					break
				}
				step := trace.Step{Thread: t, Alt: alt}
				if o.Violation != nil {
					return append(g.path(id), step), ""
				}
				out = append(out, edge{to: g.add(id, step), thread: int32(t), alt: alt,
					action: g.m.Action()})
				g.bytes += 24
				g.m.Rewind(mark)
				if o.Next == 0 {
					break
				}
				alt = o.Next
			}
		}
		if len(out) == 0 && stuck {
			return g.path(id), ""
		}
		g.edges = append(g.edges, out)
	}
	return nil, ""
}

// components returns the strongly connected components of the states that in admits,
// those first that lead to no other one (Tarjan).
func (g *graph) components(nodes []int32, in []bool) [][]int32 {
	index := map[int32]int32{}
	low := map[int32]int32{}
	on := map[int32]bool{}
	var stack []int32
	var out [][]int32
	type call struct {
		v int32
		e int
	}
	for _, root := range nodes {
		if _, ok := index[root]; ok {
			continue
		}
		calls := []call{{root, 0}}
		for len(calls) > 0 {
			c := &calls[len(calls)-1]
			v := c.v
			if c.e == 0 {
				index[v] = int32(len(index))
				low[v] = index[v]
				stack = append(stack, v)
				on[v] = true
			}
			deeper := false
			for c.e < len(g.edges[v]) {
				w := g.edges[v][c.e].to
				c.e++
				if !in[w] {
					continue
				}
				if _, ok := index[w]; !ok {
					calls = append(calls, call{w, 0})
					deeper = true
					break
				}
				if on[w] {
					low[v] = min(low[v], index[w])
				}
			}
			if deeper {
				continue
			}
			if low[v] == index[v] {
				var scc []int32
				for {
					w := stack[len(stack)-1]
					stack = stack[:len(stack)-1]
					on[w] = false
					scc = append(scc, w)
					if w == v {
						break
					}
				}
				out = append(out, scc)
			}
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				u := calls[len(calls)-1].v
				low[u] = min(low[u], low[v])
			}
		}
	}
	return out
}

// lasting is a component of a graph in which goroutines never end.
type lasting struct {
	at     int32 // the first state of it that was found
	states []int32
	kind   FailureKind
	what   string // what to say of it
}

// forever looks for goroutines that never end: the component with the smallest state, or nil.
func (g *graph) forever() *lasting {
	in := make([]bool, len(g.keys))
	nodes := make([]int32, len(g.keys))
	for i := range nodes {
		nodes[i], in[i] = int32(i), true
	}
	var found *lasting
	note := func(scc []int32, kind FailureKind, what string) {
		if id := slices.Min(scc); found == nil || id < found.at {
			found = &lasting{id, scc, kind, what}
		}
	}
	inside := make([]bool, len(g.keys))
	for _, scc := range g.components(nodes, in) {
		for _, v := range scc {
			inside[v] = true
		}
		steps, leaves := false, false
		for _, v := range scc {
			for _, e := range g.edges[v] {
				steps = steps || inside[e.to]
				leaves = leaves || !inside[e.to]
			}
		}
		v := scc[0]
		switch {
		case !steps:
		case !leaves && g.alive[v]:
			note(scc, Livelock, "livelock: the test never ends")
		case !leaves && g.others[v]:
			note(scc, Leak, "leak: the test has ended, and other goroutines run forever")
		case g.alive[v]:
			if cycle := g.fair(scc); cycle != nil {
				note(cycle, Livelock, "livelock: the test need not end, even if every goroutine "+
					"gets its turn")
			}
		}
		for _, v := range scc {
			inside[v] = false
		}
	}
	return found
}

// cycle returns a way from a state back to it that stays in a component: one on which
// each thread that moves in the component moves, found by going to the nearest step of one
// that has not moved, again and again.
func (g *graph) cycle(at int32, scc []int32) []trace.Step {
	inside := map[int32]bool{}
	for _, v := range scc {
		inside[v] = true
	}
	moves := map[int32]bool{}
	for _, v := range scc {
		for _, e := range g.edges[v] {
			if inside[e.to] {
				moves[e.thread] = true
			}
		}
	}
	var steps []trace.Step
	v := at
	// walk goes on to the end of the nearest edge that is wanted.
	walk := func(wanted func(e edge) bool) {
		type visit struct {
			from int32
			via  edge
		}
		seen := map[int32]visit{v: {from: -1}}
		for queue := []int32{v}; len(queue) > 0; queue = queue[1:] {
			x := queue[0]
			for _, e := range g.edges[x] {
				if !inside[e.to] {
					continue
				}
				if wanted(e) {
					way := []trace.Step{{Thread: int(e.thread), Alt: e.alt}}
					for ; seen[x].from >= 0; x = seen[x].from {
						way = append(way, trace.Step{Thread: int(seen[x].via.thread),
							Alt: seen[x].via.alt})
					}
					slices.Reverse(way)
					steps = append(steps, way...)
					for _, s := range way {
						delete(moves, int32(s.Thread))
					}
					v = e.to
					return
				}
				if _, ok := seen[e.to]; !ok {
					seen[e.to] = visit{x, e}
					queue = append(queue, e.to)
				}
			}
		}
		moves = nil // it cannot be
	}
	for len(moves) > 0 {
		walk(func(e edge) bool { return moves[e.thread] })
	}
	if v != at || len(steps) == 0 {
		walk(func(e edge) bool { return e.to == at })
	}
	return steps
}

// fair returns a part of a component that a fair run-time need not leave, or nil.
func (g *graph) fair(scc []int32) []int32 {
	in := make([]bool, len(g.keys))
	for _, v := range scc {
		in[v] = true
	}
	todo := [][]int32{scc}
	for len(todo) > 0 {
		nodes := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		inside := make([]bool, len(g.keys))
		for _, v := range nodes {
			inside[v] = in[v]
		}
		for _, c := range g.components(nodes, inside) {
			member := map[int32]bool{}
			for _, v := range c {
				member[v] = true
			}
			taken, steps := map[uint64]bool{}, false
			for _, v := range c {
				for _, e := range g.edges[v] {
					if member[e.to] {
						taken[e.action], steps = true, true
					}
				}
			}
			if !steps {
				continue
			}
			var rest []int32
			for _, v := range c {
				if !slices.ContainsFunc(g.edges[v], func(e edge) bool { return !taken[e.action] }) {
					rest = append(rest, v)
				}
			}
			if len(rest) == len(c) {
				return c
			}
			if len(rest) > 0 {
				todo = append(todo, rest)
			}
		}
	}
	return nil
}

// endless searches a program whose executions need not end.
func (r *run) endless(ctx context.Context) error {
	p, err := r.p.WithoutRaces()
	if err != nil {
		return err
	}
	if !p.IsMain() {
		if err := r.tails(ctx, p); err != nil || r.res.Verdict == engine.Violated {
			return err
		}
	}
	g, err := r.states(ctx, p)
	if g == nil {
		return err
	}
	if !p.IsMain() {
		if l := g.forever(); l != nil && (l.kind != Leak || p.Leaks()) {
			return r.lasts(p, g.path(l.at), g.cycle(l.at, l.states), l)
		}
	}
	without := r.res.States
	if r.p.Races() {
		if p, err = r.p.Stored(); err != nil {
			return err
		}
		*g = graph{} // its memory is needed
		if g, err = r.states(ctx, p); err != nil || r.res.Verdict == engine.Violated {
			return err
		}
		if g == nil {
			r.res.Reason = fmt.Sprintf("executions need not end: every state was covered (%s), "+
				"but data races were checked in random schedules only: with happens-before %s",
				humanize.Comma(int64(without)), r.res.Reason)
			return nil
		}
	}
	r.res.Verdict, r.res.Reason = engine.Pass, ""
	return nil
}

// covered is what the graph of all states shows.
type covered struct {
	p       *gosrc.Program // whose steps these are
	states  int
	failing []trace.Step
	lasting *lasting
	cycle   []trace.Step
}

// cover explores the graph of all states of a program whose executions end, beside the search
// without them: where many executions come to the same states it ends long before that one. It
// returns nil if the graph shows nothing new, because it was not finished or time plays a part,
// which states do not know of.
func (r *run) cover(ctx context.Context) (c *covered) {
	defer func() {
		if recover() != nil {
			c = nil // the search says so
		}
	}()
	p, err := r.p.WithoutRaces()
	if err != nil {
		return nil
	}
	limit := uint64(maxGraph)
	if r.o.MaxMemory > 0 {
		limit = r.o.MaxMemory / 4
	}
	explored := func() *graph {
		g := newGraph(p)
		c = &covered{p: p}
		var reason string
		c.failing, reason = g.explore(ctx, p.Initial()[0], limit)
		c.states = len(g.keys)
		if reason != "" || p.Timed() || p.Halted() || p.Unsupported() != nil || p.GaveUp() != "" {
			return nil
		}
		return g
	}
	g := explored()
	if g == nil {
		return nil
	}
	if c.failing == nil && !p.IsMain() {
		if l := g.forever(); l != nil && (l.kind != Leak || p.Leaks()) {
			c.lasting, c.failing, c.cycle = l, g.path(l.at), g.cycle(l.at, l.states)
		}
	}
	if c.failing != nil || !r.p.Races() {
		return c
	}
	if p, err = r.p.Stored(); err != nil {
		return nil
	}
	*g = graph{} // its memory is needed
	if explored() == nil {
		return nil
	}
	return c
}

// settle makes it the result what the graph of all states has shown.
func (r *run) settle(c *covered) error {
	r.res.States, r.res.Executions, r.res.Tests = uint64(c.states), 0, c.p.Tests()
	switch {
	case c.lasting != nil:
		return r.lasts(c.p, c.failing, c.cycle, c.lasting)
	case c.failing != nil:
		return r.failIn(c.p, &trace.Trace{Steps: c.failing})
	}
	r.res.Verdict, r.res.Reason = engine.Pass, ""
	return nil
}

// lasts makes it the result that goroutines never end.
func (r *run) lasts(p *gosrc.Program, steps, cycle []trace.Step, l *lasting) error {
	f, err := ExplainCycle(p, &trace.Trace{Steps: steps}, cycle, l.kind)
	if err != nil {
		return err
	}
	f.Message = l.what + ": " + f.Message
	r.res.Verdict, r.res.Failure, r.res.Reason, r.res.Program = engine.Violated, f, "", p
	return nil
}

// failIn makes a failing execution of a program the result: the numbers of threads are that
// program's.
func (r *run) failIn(p *gosrc.Program, t *trace.Trace) error {
	old := r.p
	r.p = p
	defer func() { r.p = old }()
	return r.fail(t)
}

// states explores all states of a program. Without a graph the result says what was
// found, or why it is incomplete.
func (r *run) states(ctx context.Context, p *gosrc.Program) (*graph, error) {
	g := newGraph(p)
	limit := uint64(maxGraph)
	if r.o.MaxMemory > 0 {
		limit = r.o.MaxMemory / 2
	}
	first, cancel := ctx, context.CancelFunc(func() {})
	if !r.alarmed {
		first, cancel = part(ctx, graphFirst)
	}
	failing, reason := g.explore(first, p.Initial()[0], limit)
	cancel()
	if reason == stopped && ctx.Err() == nil {
		if err := r.alarms(ctx, alarmsThen); err != nil || r.res.Verdict != engine.Incomplete {
			return nil, err
		}
		failing, reason = g.explore(ctx, nil, limit)
	}
	r.res.States = uint64(len(g.keys))
	r.res.Verdict = engine.Incomplete
	if u := p.Unsupported(); u != nil {
		return nil, u
	}
	if why := p.GaveUp(); why != "" {
		r.res.Reason = why
		return nil, nil
	}
	if failing != nil {
		return nil, r.failIn(p, &trace.Trace{Steps: failing})
	}
	if reason != "" {
		r.res.Reason = r.why(ctx, reason)
		return nil, nil
	}
	return g, nil
}

// ExplainCycle says what continues forever behind an execution; the message names the
// goroutines. The error says that the cycle does not lead back to where it begins.
func ExplainCycle(p *gosrc.Program, t *trace.Trace, cycle []trace.Step, kind FailureKind) (*Failure,
	error) {
	if err := leadsBack(p, t.Steps, cycle); err != nil {
		return nil, err
	}
	var steps []machine.TraceStep
	for _, s := range t.Steps {
		steps = append(steps, machine.TraceStep{Thread: s.Thread, Alt: s.Alt})
	}
	e, err := p.Replay(steps)
	if err != nil {
		return nil, err
	}
	f := &Failure{Kind: kind, Trace: t, Cycle: cycle, Output: e.Output}
	var names []string
	for _, s := range slices.Concat(e.Running, e.Stacks) {
		f.Stacks = append(f.Stacks, stackOf(s))
		names = append(names, s.Goroutine)
	}
	if len(f.Stacks) > 0 && len(f.Stacks[0].Frames) > 0 {
		f.Pos = f.Stacks[0].Frames[0].Pos
	}
	f.Message = strings.Join(names, ", ")
	return f, nil
}

// leadsBack returns an error if the steps of a cycle do not lead back to where an execution ends.
func leadsBack(p *gosrc.Program, steps, cycle []trace.Step) error {
	m := p.NewMachine()
	walk := func(steps []trace.Step) (system.State, error) {
		for i, s := range steps {
			if s.Thread >= m.NumThreads() {
				return nil, fmt.Errorf("there is no goroutine for step %d", i+1)
			}
			if out := m.Step(s.Thread, s.Alt); out.Kind != system.Moved {
				return nil, fmt.Errorf("step %d is %v", i+1, out.Kind)
			}
		}
		return m.Encode(nil), nil
	}
	before, err := walk(steps)
	if err != nil {
		return err
	}
	after, err := walk(cycle)
	if err != nil {
		return err
	}
	if !slices.Equal(before, after) {
		return errors.New("the steps do not lead back to the same state")
	}
	return nil
}
