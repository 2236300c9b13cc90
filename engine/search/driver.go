package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cpor/engine/search/memory"
	"cpor/internal/human"
	"cpor/sabotage"
	"cpor/statestore"
	"cpor/system"
	"cpor/trace"
	"cpor/workers"
)

// Why a search ended before everything was covered.
var (
	errViolation = errors.New("a violation was found")
	errStates    = errors.New("the limit of states was reached")
	errTimeout   = errors.New("the time was up")
)

// defaultMaxViolations is Options.MaxViolations if that is 0.
const defaultMaxViolations = 100

// Run searches the system sys with the expanders that newExpander makes.
//
// It ends when everything is covered, at the first violation (unless
// Options.All), at a limit of the options, or when ctx is cancelled, and
// returns what it found out so far in each of these cases. An error is either
// an *OptionError, and the result is nil, or it means that the tool itself
// went wrong: a panic, or a trace that does not replay. The result then is what
// was known by then.
func Run(ctx context.Context, sys system.System, newExpander Factory, o Options) (res *Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &workers.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	start := time.Now()
	if o.Workers < 0 {
		return nil, &OptionError{fmt.Sprintf("%d workers", o.Workers)}
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	mem, err := memory.New(o.MaxMemory)
	if err != nil {
		return nil, &OptionError{err.Error()}
	}
	defer mem.Release()
	store, err := statestore.New(statestore.Options{Kind: o.Store, MaxBytes: mem.ForStores(), Workers: o.Workers})
	if err != nil {
		return nil, &OptionError{err.Error()}
	}
	r := &run{
		sys: sys, obs: system.ObserversOf(sys), o: o, newExpander: newExpander, start: start,
		store: store, ws: statestore.NewWorkSet(o.Workers), mem: mem,
		found: NewFindings[*finding](o.MaxViolations),
	}
	res = &Result{Workers: o.Workers}
	for id := range o.Workers {
		r.workers = append(r.workers, r.newWorker(id))
	}
	r.workers[0].prepare()
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.Timeout, errTimeout)
		defer cancel()
	}
	err = r.search(ctx)
	r.fill(res)
	err = r.judge(res, err)
	if terr := r.traces(res); err == nil {
		err = terr
	}
	res.PeakRSS = mem.Peak()
	return res, err
}

// run is one search.
type run struct {
	sys         system.System
	obs         system.Observers // left out of the states of deadlocks
	o           Options
	newExpander Factory
	start       time.Time
	store       statestore.Store
	ws          *statestore.WorkSet
	mem         *memory.Limit
	workers     []*worker
	pool        workers.Stats
	states      atomic.Uint64 // counted only if there is a limit

	mu    sync.Mutex
	found *Findings[*finding]

	making sync.Mutex // factories need not be safe for concurrent use

}

// finding is a violation and where it was found.
type finding struct {
	violation system.Violation
	ref       statestore.Ref
	trail     *statestore.Trail // of the state, if the store is not loadable
	state     system.State      // that was expanded
	tail      []Step            // from there to the violation
}

// search runs the pool. It returns nil if everything was covered, otherwise
// why not.
func (r *run) search(ctx context.Context) error {
	w := r.workers[0]
	b := r.ws.Get(0)
	for _, s := range r.sys.Initial() {
		ref, added, err := w.session.Insert(s, 0)
		if err != nil {
			return err
		}
		if !added {
			continue
		}
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
	r.ws.Push(0, b)
	// The pool would look at the context only now and then.
	if err := context.Cause(ctx); err != nil {
		return err
	}
	// Where the work items carry their states, the frontier must be small.
	po := workers.Options{Workers: r.o.Workers, ReportEvery: r.o.ProgressInterval, DepthFirst: !r.store.Loadable()}
	if r.mem.Limited() {
		po.Check, po.CheckEvery = r.mem.Check, memory.CheckEvery
	}
	if r.o.Progress != nil {
		po.Report = func(queued int) { r.o.Progress(r.progress(queued)) }
	}
	var err error
	r.pool, err = workers.Run(ctx, r.ws, po, func(id int) workers.Worker { return r.workers[id] })
	return err
}

// countState counts a new state against the limit.
func (r *run) countState() error {
	if r.o.MaxStates > 0 && r.states.Add(1) > r.o.MaxStates {
		return errStates
	}
	return nil
}

func (r *run) progress(queued int) Progress {
	p := Progress{
		Elapsed:    time.Since(r.start),
		States:     r.store.Len(),
		Queued:     uint64(queued),
		StoreBytes: r.store.Bytes(),
		Memory:     memory.Resident(),
	}
	for _, w := range r.workers {
		p.Transitions += w.public.transitions.Load()
		p.Attempts += w.public.attempts.Load()
		p.MaxDepth = max(p.MaxDepth, int(w.public.depth.Load()))
	}
	r.mu.Lock()
	p.Violations = r.found.Len()
	r.mu.Unlock()
	return p
}

// fill writes the figures of a search that has ended into res.
func (r *run) fill(res *Result) {
	res.Duration = time.Since(r.start)
	for _, w := range r.workers {
		if w.expander == nil {
			continue
		}
		c := w.expander.Counters()
		res.Transitions += c.Transitions
		res.Attempts += c.Attempts
		res.EndedLoops += c.EndedLoops
		res.BlockedLoops += c.BlockedLoops
		res.MaxDepth = max(res.MaxDepth, w.maxDepth)
	}
	res.States = r.store.Len()
	res.Store = r.store.Stats()
	res.StoreBytes = r.store.Bytes()
	if res.States > 0 {
		res.BytesPerState = float64(res.StoreBytes) / float64(res.States)
	}
	res.OmissionProbability = r.store.OmissionProbability()
	res.FailedCAS = res.Store.FailedCAS
	res.Pool = r.pool
	res.Steals = r.pool.Steals
	res.IdleShare = r.pool.IdleShare
	res.MoreViolations = r.found.More
}

// judge decides on the verdict of a search that ended with err, and returns the
// error that the tool itself made.
func (r *run) judge(res *Result, err error) error {
	res.Exhaustive = err == nil && r.store.Exact()
	switch {
	case err == nil && !r.store.Exact():
		res.Reason = fmt.Sprintf("the %v store can take a new state for a covered one", r.o.Store)
		err = nil
	case err == nil:
	case errors.Is(err, errViolation):
		res.Reason = "stopped at the first violation"
		err = nil
	case errors.Is(err, errStates):
		res.Reason = fmt.Sprintf("limit of %s states", human.Count(r.o.MaxStates))
		err = nil
	case errors.Is(err, memory.ErrReached), errors.Is(err, statestore.ErrFull):
		res.Reason = "out of memory in the store"
		if r.o.MaxMemory > 0 {
			res.Reason = r.mem.Reason()
		}
		err = nil
	case errors.Is(err, errTimeout):
		res.Reason = fmt.Sprintf("time-out after %v", r.o.Timeout)
		err = nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		res.Reason = "interrupted"
		err = nil
	default:
		res.Reason = "internal error"
	}
	switch {
	case r.found.Len() > 0:
		res.Verdict = Violated
	case res.Exhaustive:
		res.Verdict = Pass
	default:
		res.Verdict = Incomplete
	}
	return err
}

// traces rebuilds, checks and minimises the traces of the violations found.
func (r *run) traces(res *Result) error {
	if r.found.Len() == 0 {
		return nil
	}
	rb := &rebuilder{sys: r.sys, obs: r.obs, expander: r.newExpander(), session: r.workers[0].session, machine: r.sys.NewMachine()}
	var first error
	for f := range r.found.All() {
		v := f.violation
		t, err := rb.rebuild(f, r.store.Loadable())
		if err == nil {
			t.Violation = &v
			err = t.Replay(r.sys)
		}
		out := Violation{Violation: &v}
		if err != nil {
			out.TraceMissing = err.Error()
			if first == nil && !errors.Is(err, errOmitted) {
				first = fmt.Errorf("internal error: the trace of a violation (%s: %s): %w", v.Kind, v.Message, err)
			}
		} else {
			if !r.o.KeepTraces {
				t = t.Minimise(r.sys, trace.DefaultBudget/r.found.Len())
			}
			out.Trace = t
			if v.Kind == system.Deadlock {
				v.Message = rb.describeDeadlock(t)
			}
		}
		res.Violations = append(res.Violations, out)
	}
	slices.SortStableFunc(res.Violations, func(a, b Violation) int {
		length := func(v Violation) int {
			if v.Trace == nil {
				return 0
			}
			return len(v.Trace.Steps)
		}
		return cmp.Or(
			cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Object, b.Object), cmp.Compare(length(a), length(b)), cmp.Compare(a.Message, b.Message))
	})
	return first
}

// worker searches on one goroutine; it is the pool's worker and its expander's
// visitor.
type worker struct {
	run      *run
	expander Expander
	session  statestore.Session
	loadable bool
	hook     Hook

	// The state that is expanded.
	state  system.State
	ref    statestore.Ref
	parent *statestore.Trail // if the store is not loadable
	trail  *statestore.Trail // the same with the state itself, made on demand
	depth  int               // of its successors
	out    *workers.Out
	err    error // why the search has to end
	broken bool  // the expander was told to break off

	buf      system.State
	maxDepth int
	seen     map[key]struct{} // violations that need not be looked at again
	machine  system.Machine   // for the deadlocked states, made on demand

	_      [128]byte // keeps what the reporter reads away from the rest
	public struct{ transitions, attempts, depth atomic.Uint64 }
	_      [128]byte
}

func (r *run) newWorker(id int) *worker {
	w := &worker{run: r, loadable: r.store.Loadable()}
	if r.o.Hook != nil {
		w.hook = r.o.Hook(id)
	}
	return w
}

// prepare makes the worker's expander and session. A worker gets them with its
// first state, because of many more workers than CPUs most never get any.
func (w *worker) prepare() {
	w.run.making.Lock()
	defer w.run.making.Unlock()
	w.expander, w.session = w.run.newExpander(), w.run.store.NewSession()
}

// publishEvery is how many states of a batch a worker expands before it
// publishes its counters again. It always does at a batch's end.
const publishEvery = 16

// Process expands item i of a batch.
func (w *worker) Process(b *statestore.Batch, i int, out *workers.Out) error {
	if w.expander == nil {
		w.prepare()
	}
	w.ref, w.depth, w.out = b.Refs[i], b.Depth+1, out
	if w.loadable {
		w.buf = w.session.Load(w.ref, w.buf)
		w.state = w.buf
	} else {
		w.state, w.parent, w.trail = b.State(i), b.Trail(i), nil
	}
	w.maxDepth = max(w.maxDepth, b.Depth)
	if w.hook != nil {
		w.hook.Expand(w.state)
	}
	w.expander.Expand(w.state, w)
	if i%publishEvery == publishEvery-1 || i == b.Len()-1 {
		c := w.expander.Counters()
		w.public.transitions.Store(c.Transitions)
		w.public.attempts.Store(c.Attempts)
		w.public.depth.Store(uint64(w.maxDepth))
	}
	if w.err == nil && w.broken {
		return workers.ErrStopped
	}
	return w.err
}

// Stopped tells whether the search is to end.
func (w *worker) Stopped() bool {
	if w.err != nil || w.out.Stopped() {
		w.broken = true
	}
	return w.broken
}

// Move inserts the end of a move, and queues it if it is new.
func (w *worker) Move(m *Move) {
	if w.hook != nil {
		w.hook.Move(m)
	}
	if m.Infinite || w.err != nil || sabotage.Is("search/infinite") && w.depth > 3 && m.Len > 1 {
		return
	}
	ref, added, err := w.session.Insert(m.End, w.ref)
	if err != nil {
		w.err = err
		return
	}
	if added && sabotage.Is("search/queue") && w.depth%5 == 4 && m.Thread == 0 {
		return
	}
	if added {
		w.queue(ref, m)
		w.count()
	}
}

// queue puts the end of a move into the work set.
func (w *worker) queue(ref statestore.Ref, m *Move) {
	w.maxDepth = max(w.maxDepth, w.depth)
	if w.loadable {
		w.out.Add(w.depth, ref)
	} else {
		w.out.AddState(w.depth, ref, m.End, w.ownTrail())
	}
}

// count counts a new state against the limit.
func (w *worker) count() {
	if w.run.o.MaxStates > 0 {
		w.err = w.run.countState()
	}
}

// Expanded implements [Coverer].
func (w *worker) Expanded() (ref statestore.Ref, initial bool) { return w.ref, w.depth == 1 }

// Cover implements [Coverer].
func (w *worker) Cover(m *Move, arrive func(statestore.Ref) bool) {
	if w.hook != nil {
		w.hook.Move(m)
	}
	if w.err != nil {
		return
	}
	ref, added, err := w.session.Insert(m.End, w.ref)
	if err != nil {
		w.err = err
		return
	}
	if arrive(ref) {
		w.queue(ref, m)
	}
	if added {
		w.count()
	}
}

// ownTrail returns the trail of the state that is expanded, itself included.
func (w *worker) ownTrail() *statestore.Trail {
	if w.trail == nil {
		w.trail = &statestore.Trail{Parent: w.parent, Ref: w.ref}
	}
	return w.trail
}

// Violation records the violations of a transition if they are to be kept.
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
	if w.err != nil || r.o.IgnoreDeadlocks && v.Kind == system.Deadlock {
		return
	}
	k := key{kind: v.Kind, pos: v.Pos, object: v.Object}
	if v.Kind == system.Deadlock {
		if r.o.All {
			k.state = w.stateKey(tail)
		}
	} else if _, ok := w.seen[k]; ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.o.All || r.found.Len() == 0 { // else another worker was faster
		r.found.Add(v, k.state, func() *finding {
			f := &finding{violation: alone(v), ref: w.ref, state: slices.Clone(w.state), tail: slices.Clone(tail)}
			if !w.loadable {
				f.trail = w.ownTrail()
			}
			return f
		})
	}
	if !r.o.All {
		w.err = errViolation
		return
	}
	if v.Kind != system.Deadlock {
		if w.seen == nil {
			w.seen = map[key]struct{}{}
		}
		w.seen[k] = struct{}{}
	}
}

// alone returns a violation without the others of its transition.
func alone(v *system.Violation) system.Violation {
	s := *v
	s.Also = nil
	return s
}

// stateKey returns the state behind tail as a string. What became of the
// observers is left out of it: they take no part in a deadlock.
func (w *worker) stateKey(tail []Step) string {
	if w.machine == nil {
		w.machine = w.run.sys.NewMachine()
	}
	m := w.machine
	m.Load(w.state)
	for _, t := range tail {
		m.Step(t.Thread, t.Alt)
	}
	w.run.obs.Reset(m)
	return stateString(system.Bare(w.run.sys, m.Encode(nil)))
}

func stateString(s system.State) string {
	b := make([]byte, 0, 8*len(s))
	for _, x := range s {
		for i := 0; i < 64; i += 8 {
			b = append(b, byte(x>>i))
		}
	}
	return string(b)
}
