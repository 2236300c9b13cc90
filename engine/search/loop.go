package search

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"cpor/engine"
	"cpor/engine/memory"
	"cpor/internal/probe"
	"cpor/statestore"
	"cpor/system"
	"cpor/testkit/sabotage"
	"cpor/workers"
)

// run is one search.
type run struct {
	sys         system.System
	obs         system.Observers // left out of the states of deadlocks
	o           Options
	newExpander Factory
	watch       *engine.Watch
	store       statestore.Store
	whole       *whole // nil if states stay as they are stored
	ws          *statestore.WorkSet
	workers     []*worker
	place       place // of all that is covered
	pool        workers.Stats
	states      atomic.Uint64 // counted only if there is a limit
	found       *engine.Collector[*finding]

	before   saved  // by the searches that this one resumes
	copies   uint64 // states of the store that count elsewhere
	most     uint64 // how many states this process may cover by itself; 0 for any number
	again    bool   // a state that was not expanded to its end will be expanded again
	unstored bool   // an item of the work set may be a state that is still to be stored

	setup
	making probe.Mutex // factories need not be safe for concurrent use
}

// finding is a violation and where it was found.
type finding struct {
	violation system.Violation
	ref       statestore.Ref
	trail     *statestore.Trail // of the state, if the store is not loadable
	state     system.State      // that was expanded
	tail      []Step            // from there to the violation
}

// newRun returns a search with an empty work set.
func newRun(
	sys system.System, newExpander Factory, o Options, watch *engine.Watch, store statestore.Store,
) *run {
	return &run{
		sys: sys, obs: system.ObserversOf(sys), o: o, newExpander: newExpander, watch: watch,
		// the last queue is for what comes from elsewhere
		store: store, ws: statestore.NewWorkSet(o.Workers + 1),
		found: engine.NewCollector[*finding](&o.Options),
	}
}

// hire makes the workers.
func (r *run) hire() {
	for id := range r.o.Workers {
		r.workers = append(r.workers, r.newWorker(id))
	}
	r.workers[0].prepare()
}

// alone searches in this process. explore processes the work set; it returns nil if everything
// was covered, and otherwise the reason why not.
func (r *run) alone(
	res *Result, fresh bool, explore func(report func(queued int)) error,
) (_ *Result, err error) {
	if fresh {
		err = r.begin()
	}
	if err == nil {
		var report func(queued int)
		if r.o.Progress != nil {
			report = func(queued int) { r.watch.Report(r.progress(queued)) }
		}
		err = explore(report)
	}
	return r.end(res, err)
}

// begin stores and queues the initial states of this process.
func (r *run) begin() error {
	w := r.workers[0]
	for _, s := range r.o.Covered {
		if _, what, err := w.to.Initial(s); what == isFull {
			return r.full(err)
		}
	}
	b := r.ws.Get(0)
	var full error
	for _, s := range r.sys.Initial() {
		ref, what, err := w.to.Initial(s)
		switch what {
		case isFull:
			if full = err; r.unstored {
				kept := r.ws.Get(0)
				kept.AddState(0, s, nil)
				r.ws.Push(0, kept)
				continue
			}
			return r.full(err)
		case isNew:
			if err := r.countState(); err != nil {
				return err
			}
			if b.Full() {
				r.ws.Push(0, b)
				b = r.ws.Get(0)
			}
			if r.store.Loadable() {
				b.Add(ref)
			} else {
				b.AddState(ref, s, nil)
			}
		}
	}
	r.ws.Push(0, b)
	if full != nil {
		return r.full(full)
	}
	// The pool would look at the context only now and then.
	return r.watch.Err()
}

// work runs the pool. It returns nil if everything was covered, and otherwise the reason why
// not.
func (r *run) work(ctx context.Context, po workers.Options) error {
	if r.watch.Memory().Limited() {
		po.Check, po.CheckEvery = r.watch.CheckMemory, memory.CheckEvery
	}
	return r.full(r.pools(ctx, po))
}

// pools runs the pool and adds up its figures.
func (r *run) pools(ctx context.Context, po workers.Options) error {
	// Where the work items carry their states, the frontier must be small.
	po.Workers, po.ReportEvery, po.DepthFirst = r.o.Workers, r.o.ProgressInterval,
		!r.store.Loadable()
	pool, err := workers.Run(ctx, r.ws, po, func(id int) workers.Worker { return r.workers[id] })
	r.pool.Add(pool)
	return err
}

// full turns the error of a full store into what ends an exploration.
func (r *run) full(err error) error {
	if errors.Is(err, statestore.ErrFull) {
		return r.watch.OutOfMemory()
	}
	return err
}

// countState counts a new state against the limit.
func (r *run) countState() error {
	if r.most > 0 && r.states.Add(1) > r.most {
		return engine.StateLimit(r.most)
	}
	return nil
}

// violated tells apart violations that are not deadlocks.
type violated struct {
	kind   system.ViolationKind
	pos    system.Pos
	object string
}

// worker searches on one goroutine; it is the pool's worker and its expander's
// visitor.
type worker struct {
	run      *run
	id       int
	expander Expander
	to       destination
	numbered Numbered // of to
	hook     Hook

	// The state that is expanded.
	state system.State
	ref   statestore.Ref
	depth int // of its successors
	out   *workers.Out
	err   error // why the search has to end
	// broken: the expander was told to stop early.
	broken bool
	// unturned counts the states expanded since the last call of Options.Turn.
	unturned int

	buf      system.State
	redone   Counters // of states that were not expanded to the end
	maxDepth int
	seen     map[violated]struct{} // violations that need not be looked at again
	machine  system.Machine        // for the deadlocked states, made on demand

	_      [128]byte // keeps what the reporter reads away from the rest
	public struct{ transitions, attempts, depth atomic.Uint64 }
	_      [128]byte
}

func (r *run) newWorker(id int) *worker {
	w := &worker{run: r, id: id}
	if r.o.Hook != nil {
		w.hook = r.o.Hook(id)
	}
	return w
}

// prepare makes the worker's expander and destination. A worker gets them with its first state,
// because with many more workers than CPUs, most never get a state.
func (w *worker) prepare() {
	w.run.making.Lock()
	defer w.run.making.Unlock()
	w.expander = w.run.newExpander()
	if w.id == 0 {
		w.run.mayStoreWhole(w.expander)
	}
	w.join()
}

// join connects the worker with the place of all that is covered.
func (w *worker) join() {
	w.to = w.run.place.join(w)
	w.numbered = w.to.Numbered()
}

// publishEvery is how many states of a batch a worker expands before it
// publishes its counters again. It always does at a batch's end.
const publishEvery = 16

// Process expands item i of a batch.
func (w *worker) Process(b *statestore.Batch, i int, out *workers.Out) error {
	if w.expander == nil {
		w.prepare()
	}
	w.turn()
	w.ref, w.depth, w.out = b.Refs[i], b.Depth+1, out
	expand, err := w.to.Take(b, i)
	if !expand || err != nil {
		return err
	}
	w.maxDepth = max(w.maxDepth, b.Depth)
	if w.hook != nil {
		w.hook.Expand(w.state)
	}
	var before Counters
	if w.run.again {
		before = w.expander.Counters()
	}
	probe.Mark(probe.Expanding)
	w.expander.Expand(w.state, w)
	probe.Mark(probe.Covering)
	last := i == b.Len()-1
	w.fail(w.to.Flush(last))
	if last || i%publishEvery == publishEvery-1 {
		w.publish()
		if w.run.whole != nil && w.run.whole.due(w.expander, w.run.store) {
			w.run.whole.pause()
			out.Pause()
		}
	}
	if (w.err != nil || w.broken) && w.run.again {
		w.redone.Add(w.expander.Counters().minus(before))
	}
	if w.err == nil && w.broken {
		return workers.ErrStopped
	}
	return w.err
}

// turn calls Options.Turn now and then.
func (w *worker) turn() {
	turn := w.run.o.Turn
	if turn == nil {
		return
	}
	if w.unturned++; w.unturned == engine.TurnStates {
		w.unturned = 0
		turn()
	}
}

// publish reports the counts to the reporter.
func (w *worker) publish() {
	c := w.expander.Counters()
	w.public.transitions.Store(c.Transitions)
	w.public.attempts.Store(c.Attempts)
	w.public.depth.Store(uint64(w.maxDepth))
}

// fail ends the search with an error, unless it is ending already or err is nil.
func (w *worker) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Idle implements [workers.Idler].
func (w *worker) Idle() {
	if w.to != nil {
		w.to.Idle()
	}
}

// Stopped reports whether the search should end.
func (w *worker) Stopped() bool {
	if w.err != nil || w.out.Stopped() {
		w.broken = true
	}
	return w.broken
}

// Covered implements [Covers].
func (w *worker) Covered(s system.State) (is, known bool) {
	probe.Mark(probe.Covering)
	is, known = w.to.Find(s)
	probe.Mark(probe.Expanding)
	return is, known
}

// Numbered implements [Numbering].
func (w *worker) Numbered() Numbered { return w.numbered }

// Move covers the end of a move, and queues it if it is new.
func (w *worker) Move(m *Move) {
	if w.hook != nil {
		w.hook.Move(m)
	}
	if m.Infinite || w.err != nil || sabotage.Is("search/infinite") && w.depth > 3 && m.Len > 1 {
		return
	}
	probe.Mark(probe.Covering)
	ref, what, err := w.to.Cover(m)
	switch what {
	case isFull:
		w.err = err
	case isNew:
		if sabotage.Is("search/queue") && w.depth%5 == 4 && m.Thread == 0 {
			return
		}
		w.queue(ref, m)
		w.count()
	}
	probe.Mark(probe.Expanding)
}

// queue puts the end of a move into the work set.
func (w *worker) queue(ref statestore.Ref, m *Move) {
	w.maxDepth = max(w.maxDepth, w.depth)
	w.to.Queue(ref, m)
}

// arrived queues a new state on which a destination decided late.
func (w *worker) arrived(ref statestore.Ref) error {
	w.maxDepth = max(w.maxDepth, w.depth)
	w.out.Add(w.depth, ref)
	w.count()
	return w.err
}

// count counts a new state against the limit.
func (w *worker) count() {
	if w.run.most > 0 {
		w.err = w.run.countState()
	}
}

// Expanded implements [Coverer].
func (w *worker) Expanded() (ref statestore.Ref, initial bool) { return w.ref, w.depth == 1 }

// Cover implements [Coverer].
func (w *worker) Cover(m *Move, arrive func(ref statestore.Ref, fresh bool) bool) {
	if w.hook != nil {
		w.hook.Move(m)
	}
	if w.err != nil {
		return
	}
	probe.Mark(probe.Covering)
	ref, what, err := w.to.CoverNow(m)
	probe.Mark(probe.Expanding)
	if what == isFull {
		w.err = err
		return
	}
	if arrive(ref, what == isNew) {
		w.queue(ref, m)
	}
	if what == isNew {
		w.count()
	}
}

// Violation records the violations of a transition if the options ask for them.
func (w *worker) Violation(v *system.Violation, tail []Step) {
	if w.hook != nil {
		w.hook.Violation(v, tail)
	}
	for ; v != nil; v = v.Also {
		w.violation(v, tail)
	}
}

func (w *worker) violation(v *system.Violation, tail []Step) {
	r := w.run
	if w.err != nil || r.found.Ignores(v) {
		return
	}
	state := ""
	k := violated{v.Kind, v.Pos, v.Object}
	if v.Kind == system.Deadlock {
		if r.o.All {
			state = w.stateKey(tail)
		}
	} else if _, ok := w.seen[k]; ok {
		return
	}
	goOn := r.found.Add(v, state, func(v system.Violation) *finding {
		return &finding{
			violation: v, ref: w.ref, trail: w.to.Trail(),
			state: slices.Clone(w.state), tail: slices.Clone(tail),
		}
	})
	switch {
	case !goOn:
		w.err = engine.AtViolation
	case v.Kind != system.Deadlock:
		if w.seen == nil {
			w.seen = map[violated]struct{}{}
		}
		w.seen[k] = struct{}{}
	}
}

// stateKey returns the key of the state behind tail.
func (w *worker) stateKey(tail []Step) string { return w.stateKeyOf(w.state, tail) }

// stateKeyOf returns the key of the state behind the steps from s.
func (w *worker) stateKeyOf(s system.State, tail []Step) string {
	if len(tail) == 0 && w.run.obs.None() {
		return engine.StateString(system.Bare(w.run.sys, s))
	}
	if w.machine == nil {
		w.machine = w.run.sys.NewMachine()
	}
	w.machine.Load(s)
	for _, t := range tail {
		w.machine.Step(t.Thread, t.Alt)
	}
	return engine.StateKey(w.run.sys, &w.run.obs, w.machine)
}
