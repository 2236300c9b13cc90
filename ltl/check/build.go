package check

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cpor/ltl"
	"cpor/statestore"
	"cpor/system"
	"cpor/workers"
)

var (
	errStates = errors.New("limit of states")
	errFault  = errors.New("a proposition cannot be evaluated")
)

// builder builds the reduced graph of a system for a set of propositions.
type builder struct {
	sys   system.System
	t     system.Temporal // for the names of the propositions
	obs   system.Observers
	o     *Options
	graph *Graph
	store statestore.Store
	start time.Time

	props []int // the propositions of the formula
	pos   []bool
	neg   []bool // by proposition of the system: how it occurs

	mu    sync.Mutex
	fault *fault

	full, reduced []uint64 // by worker: states
	err           error    // why the graph is not complete
}

// fault is an error met in a state, by a step or in a proposition.
type fault struct {
	node      uint32
	thread    int // -1 if the state itself has it
	alt       uint64
	violation system.Violation
}

// newBuilder prepares the graph for formulas: it is reduced for all of them.
func newBuilder(sys system.System, fs []ltl.Formula, o *Options) (*builder, error) {
	t, err := temporal(sys)
	if err != nil {
		return nil, err
	}
	b := &builder{sys: sys, t: t, obs: system.ObserversOf(sys), o: o, start: time.Now(), pos: make([]bool, t.NumProps()), neg: make([]bool, t.NumProps())}
	pol := map[string]ltl.Polarity{}
	for _, f := range fs {
		for name, p := range f.Polarities() {
			pol[name] |= p
		}
	}
	for i := range t.NumProps() {
		p := pol[t.PropName(i)]
		if p == 0 {
			continue
		}
		delete(pol, t.PropName(i))
		b.props = append(b.props, i)
		b.pos[i], b.neg[i] = p&ltl.Positive != 0, p&ltl.Negative != 0
	}
	for name := range pol {
		return nil, fmt.Errorf("the system has no proposition %q", name)
	}
	b.graph = newGraph((t.NumProps() + 63) / 64)
	b.store, err = statestore.New(statestore.Options{Kind: statestore.Tree, Workers: o.Workers, MaxBytes: o.MaxMemory})
	b.full, b.reduced = make([]uint64, o.Workers), make([]uint64, o.Workers)
	return b, err
}

// move is an enabled transition from the state that is expanded.
type move struct {
	thread   int
	alt      uint64
	from, to int // its end state in the expander's words
}

// candidate is a thread with enabled transitions.
type candidate struct {
	first, last            int // its moves
	acc                    []system.Access
	possible               bool // nothing but C1 and C3 is left to decide
	invisible, transparent bool
	late                   bool
	conflict               int8 // 0: not known yet; 1: C1 holds; 2: it does not
}

// expander computes the ample set of a state, for one worker.
type expander struct {
	b       *builder
	id      int
	m       system.Temporal
	session statestore.Session
	val     *validator

	words         []uint64
	moves         []move
	cands         []candidate
	before, after []int64
	end           system.State
	edges         []edge // a block from which nodes take theirs
}

func (b *builder) newExpander(id int) *expander {
	m, _ := temporal(b.sys)
	x := &expander{b: b, id: id, m: m, session: b.store.NewSession()}
	if b.o.Validate {
		x.val = &validator{obs: &b.obs, m: b.sys.NewMachine()}
	}
	return x
}

// expand executes all enabled transitions of a state and chooses those that
// belong to the reduced graph. closed tells whether a state ends cycles (C3).
func (x *expander) expand(id uint32, s system.State, closed func(ref statestore.Ref) bool) ([]move, error) {
	b, m := x.b, x.m
	reduce := b.o.Reduction != None
	m.Track(reduce)
	m.Load(s)
	mark := m.Mark()
	if err := x.evaluate(id); err != nil {
		return nil, err
	}
	if reduce {
		x.before = m.Terms(x.before)
	}
	n := m.NumThreads()
	x.words, x.moves = x.words[:0], x.moves[:0]
	for len(x.cands) < n {
		x.cands = append(x.cands, candidate{})
	}
	enabled := 0
	for t := range n {
		c := &x.cands[t]
		*c = candidate{first: len(x.moves), acc: c.acc[:0]}
		if !b.obs.Has(t) {
			x.alternatives(id, t, c, mark, reduce)
		}
		c.last = len(x.moves)
		if c.last > c.first {
			enabled++
		}
	}
	if reduce && enabled > 1 {
		if c := x.choose(n, closed); c != nil {
			b.reduced[x.id]++
			if x.val != nil {
				if err := x.val.check(s, x.moves[c.first].thread); err != nil {
					return nil, err
				}
			}
			return x.moves[c.first:c.last], nil
		}
	}
	b.full[x.id]++
	return x.moves, nil
}

// alternatives executes the enabled transitions of a thread and finds out what
// they change.
func (x *expander) alternatives(id uint32, t int, c *candidate, mark system.Mark, reduce bool) {
	b, m := x.b, x.m
	c.possible, c.invisible, c.transparent = true, true, true
	for alt := uint64(0); ; {
		out := m.Step(t, alt)
		if out.Kind != system.Moved {
			return
		}
		if out.Violation != nil {
			b.report(fault{node: id, thread: t, alt: alt, violation: *out.Violation})
			c.possible = false
		}
		from := len(x.words)
		x.end = m.Encode(x.end)
		x.words = append(x.words, x.end...)
		x.moves = append(x.moves, move{t, alt, from, len(x.words)})
		if reduce {
			if out.Created {
				c.possible = false
			}
			acc := m.Accesses()
			c.acc = append(c.acc, acc...)
			c.late = c.late || m.Late(t, acc)
			if c.possible && c.transparent {
				x.after = m.Terms(x.after)
				for _, p := range b.props {
					rise, fall := m.Change(p, acc, x.before, x.after)
					if rise || fall {
						c.invisible = false
					}
					if rise && b.pos[p] || fall && b.neg[p] {
						c.transparent = false
					}
				}
			}
		}
		m.Rewind(mark)
		if out.Next == 0 {
			return
		}
		alt = out.Next
	}
}

// choose returns the first candidate, in the paper's order, that is an ample set.
func (x *expander) choose(n int, closed func(ref statestore.Ref) bool) *candidate {
	for pass := range 4 {
		if pass == 2 && x.b.o.Reduction != Transparent {
			break
		}
		for t := range n {
			c := &x.cands[t]
			if c.first == c.last || !c.possible || c.late != (pass%2 == 1) {
				continue
			}
			if pass < 2 && !c.invisible || pass >= 2 && (c.invisible || !c.transparent) {
				continue
			}
			if c.conflict == 0 {
				c.conflict = 1
				for u := range n {
					if u != t && !x.b.obs.Has(u) && x.m.Conflicts(t, c.acc, u) {
						c.conflict = 2
						break
					}
				}
			}
			if c.conflict == 2 || x.closes(c, closed) {
				continue
			}
			return c
		}
	}
	return nil
}

// closes tells whether a candidate may close a cycle.
func (x *expander) closes(c *candidate, closed func(ref statestore.Ref) bool) bool {
	for _, mv := range x.moves[c.first:c.last] {
		if ref, ok := x.session.Find(x.words[mv.from:mv.to]); ok && closed(ref) {
			return true
		}
	}
	return false
}

// evaluate writes the label of the live state.
func (x *expander) evaluate(id uint32) error {
	label := x.b.graph.label(id)
	for _, p := range x.b.props {
		holds, v := x.m.Eval(p)
		if v != nil {
			v.Message = fmt.Sprintf("the proposition %s: %s", x.b.t.PropName(p), v.Message)
			x.b.report(fault{node: id, thread: -1, violation: *v})
			return errFault
		}
		if holds {
			label[p/64] |= 1 << (p % 64)
		}
	}
	return nil
}

// report keeps the first fault.
func (b *builder) report(f fault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fault == nil {
		b.fault = &f
	}
}

// take stores the end states of moves and makes the node's edges.
func (x *expander) take(id uint32, ref statestore.Ref, moves []move, fresh func(id uint32, ref statestore.Ref)) error {
	if cap(x.edges)-len(x.edges) < len(moves) {
		x.edges = make([]edge, 0, max(4096, len(moves)))
	}
	at := len(x.edges)
	for _, mv := range moves {
		to, added, err := x.session.Insert(x.words[mv.from:mv.to], ref)
		if err != nil {
			return err
		}
		k := x.b.graph.add(to)
		x.edges = append(x.edges, edge{k, uint32(mv.thread), mv.alt})
		if added {
			if max := x.b.o.MaxStates; max > 0 && uint64(x.b.graph.States()) > max || x.b.graph.States() > maxNodes {
				return errStates
			}
			fresh(k, to)
		}
	}
	nd := x.b.graph.node(id)
	nd.edges = x.edges[at:len(x.edges):len(x.edges)]
	nd.expanded = true
	return nil
}

// run builds the graph. The error says why it is not complete.
func (b *builder) run(ctx context.Context) error {
	var err error
	if b.o.Workers == 1 {
		err = b.sequential(ctx)
	} else {
		err = b.parallel(ctx)
	}
	b.graph.complete = err == nil
	return err
}

// addInitial stores the initial states.
func (b *builder) addInitial(s statestore.Session, f func(id uint32, ref statestore.Ref)) error {
	for _, st := range b.sys.Initial() {
		ref, added, err := s.Insert(st, 0)
		if err != nil {
			return err
		}
		if added {
			id := b.graph.add(ref)
			b.graph.initial = append(b.graph.initial, id)
			f(id, ref)
		}
	}
	return nil
}

// sequential builds the graph depth-first.
func (b *builder) sequential(ctx context.Context) error {
	x := b.newExpander(0)
	type item struct {
		id  uint32
		ref statestore.Ref
	}
	type frame struct {
		item
		next int
	}
	refs := map[uint32]statestore.Ref{} // of states that wait to be expanded
	closed := func(ref statestore.Ref) bool {
		id, ok := b.graph.ids.find(ref)
		return ok && b.graph.node(id).condition.Load() == claimed
	}
	var stack []frame
	var state system.State
	push := func(it item) error {
		nd := b.graph.node(it.id)
		nd.condition.Store(claimed)
		state = x.session.Load(it.ref, state)
		moves, err := x.expand(it.id, state, closed)
		if err != nil {
			return err
		}
		stack = append(stack, frame{item: it})
		return x.take(it.id, it.ref, moves, func(id uint32, ref statestore.Ref) { refs[id] = ref })
	}
	var roots []item
	if err := b.addInitial(x.session, func(id uint32, ref statestore.Ref) { roots = append(roots, item{id, ref}) }); err != nil {
		return err
	}
	tick := 0
	last := time.Now()
	for _, r := range roots {
		if b.graph.node(r.id).condition.Load() != unclaimed {
			continue
		}
		if err := push(r); err != nil {
			return err
		}
		for len(stack) > 0 {
			if tick++; tick%1024 == 0 {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if b.o.Progress != nil && time.Since(last) > b.o.interval() {
					last = time.Now()
					b.o.Progress(b.progress(0))
				}
			}
			top := &stack[len(stack)-1]
			nd := b.graph.node(top.id)
			if top.next == len(nd.edges) {
				nd.condition.Store(finished)
				stack = stack[:len(stack)-1]
				continue
			}
			to := nd.edges[top.next].to
			top.next++
			if b.graph.node(to).condition.Load() != unclaimed {
				continue
			}
			ref := refs[to]
			delete(refs, to)
			if ref == 0 { // a further initial state
				for _, o := range roots {
					if o.id == to {
						ref = o.ref
					}
				}
			}
			if err := push(item{to, ref}); err != nil {
				return err
			}
		}
	}
	return nil
}

// parallel builds the graph with a pool of workers.
func (b *builder) parallel(ctx context.Context) error {
	ws := statestore.NewWorkSet(b.o.Workers)
	all := make([]*graphWorker, b.o.Workers)
	for i := range all {
		all[i] = &graphWorker{x: b.newExpander(i)}
	}
	batch := ws.Get(0)
	if err := b.addInitial(all[0].x.session, func(_ uint32, ref statestore.Ref) { batch.Add(ref) }); err != nil {
		return err
	}
	ws.Push(0, batch)
	po := workers.Options{Workers: b.o.Workers, ReportEvery: b.o.interval()}
	if b.o.Progress != nil {
		po.Report = func(queued int) { b.o.Progress(b.progress(queued)) }
	}
	_, err := workers.Run(ctx, ws, po, func(id int) workers.Worker { return all[id] })
	return err
}

type graphWorker struct {
	x     *expander
	state system.State
}

// Process implements workers.Worker: it claims a state and expands it.
func (w *graphWorker) Process(batch *statestore.Batch, i int, out *workers.Out) error {
	x := w.x
	ref := batch.Refs[i]
	g := x.b.graph
	id := g.add(ref)
	// From here on whoever asks finds the state claimed; what was claimed
	// before is found by the look-ups below.
	g.node(id).condition.Store(claimed)
	w.state = x.session.Load(ref, w.state)
	moves, err := x.expand(id, w.state, func(ref statestore.Ref) bool {
		to, ok := g.ids.find(ref)
		return ok && g.node(to).condition.Load() == claimed
	})
	if err != nil {
		return err
	}
	return x.take(id, ref, moves, func(_ uint32, ref statestore.Ref) { out.Add(batch.Depth+1, ref) })
}

func (b *builder) progress(queued int) Progress {
	return Progress{Elapsed: time.Since(b.start), States: uint64(b.graph.States()), Queued: uint64(queued), StoreBytes: b.store.Bytes()}
}
