package stateless

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"cpor/engine/search"
	"cpor/engine/search/composed"
	"cpor/engine/search/memory"
	"cpor/internal/human"
	"cpor/system"
	"cpor/trace"
	"cpor/workers"
)

const (
	defaultFirstDepth = 8
	maxWorkers        = 1 << 12
)

// Run searches the system sys without storing states. It ends when everything
// is explored, at the first violation (unless Options.All), at a limit, or when
// ctx is cancelled, and returns what it found out so far in each of these
// cases. An error is either a *search.OptionError, and the result is nil, or it
// means that the tool itself went wrong: a panic, or a trace that does not
// replay.
func Run(ctx context.Context, sys system.System, o Options) (*Result, error) {
	start := time.Now()
	switch {
	case o.Workers < 0 || o.Workers > maxWorkers:
		return nil, optionError("%d workers", o.Workers)
	case int(o.Reduction) >= len(reductionNames):
		return nil, optionError("reduction %d", o.Reduction)
	case o.MaxDepth < 0 || o.FirstDepth < 0:
		return nil, optionError("a negative bound on the depth")
	case (o.MaxDepth > 0 || o.Deepen) && !o.Reduction.Bounded():
		return nil, optionError("a search with a bound on the depth has no reduction %v: a violation within the bound may be found only behind transitions that the reduction takes first; use sleep (or none), which find all that are within the bound", o.Reduction)
	case (o.MaxDepth > 0 || o.Deepen) && o.InvisibleFirst:
		return nil, optionError("a search with a bound on the depth cannot explore invisible transitions first: a violation within the bound may be found only behind them")
	case o.Undo > Replay:
		return nil, optionError("way to undo %d", o.Undo)
	case o.InvisibleFirst && o.Reduction.dynamic():
		return nil, optionError("a search that explores invisible transitions first has no dynamic reduction: use none, sleep, persistent or persistent+sleep")
	}
	if o.InvisibleFirst {
		if _, err := composed.NewVisibility(sys); err != nil {
			return nil, optionError("%v", err)
		}
	}
	plain := sys
	single := func(t *trace.Trace) (*trace.Trace, error) { return t, nil }
	if o.Composed {
		if o.InvisibleFirst {
			return nil, optionError("invisible transitions are explored first, or composed with the one before; not both")
		}
		c, err := composed.NewSystem(sys, composed.Options{})
		if err != nil {
			return nil, optionError("%v", err)
		}
		sys, single = c, c.Single
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.FirstDepth == 0 {
		o.FirstDepth = defaultFirstDepth
	}
	e := &engine{sys: sys, obs: system.ObserversOf(sys), o: o, initial: sys.Initial()[0], start: start, found: search.NewFindings[*finding](o.MaxViolations)}
	var err error
	if e.mem, err = memory.New(o.MaxMemory); err != nil {
		return nil, optionError("%v", err)
	}
	defer e.mem.Release()
	res := &Result{Workers: o.Workers}
	err = e.search(ctx, res)
	res.Duration = time.Since(start)
	e.judge(res, err)
	if terr := e.traces(res, plain, single); err == nil {
		err = terr
	}
	return res, err
}

func optionError(format string, args ...any) error {
	return &search.OptionError{Message: fmt.Sprintf(format, args...)}
}

// engine is one search.
type engine struct {
	sys     system.System
	obs     system.Observers
	o       Options
	initial system.State
	which   int // the index of initial
	start   time.Time
	bound   int // on the depth, 0: none
	workers []*worker
	before  counts // of the rounds before this one
	mem     *memory.Limit

	tree     atomic.Pointer[tree] // that is explored
	stopping atomic.Bool
	mu       sync.Mutex
	reason   string // why the search was stopped
	found    *search.Findings[*finding]
}

type finding struct {
	violation system.Violation
	trace     *trace.Trace
}

// stop ends the search; the first reason counts.
func (e *engine) stop(reason string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stopLocked(reason)
}

func (e *engine) stopLocked(reason string) {
	if e.reason == "" {
		e.reason = reason
	}
	e.stopping.Store(true)
	if t := e.tree.Load(); t != nil {
		t.stop() // those who wait for work
	}
}

// search explores the trees of all initial states, with iterative deepening
// again and again.
func (e *engine) search(ctx context.Context, res *Result) error {
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { e.watch(ctx, done) })
	defer watch.Wait()
	defer close(done)

	e.workers = make([]*worker, e.o.Workers)
	for i := range e.workers {
		e.workers[i] = newWorker(e)
	}
	e.bound = e.o.MaxDepth
	if e.o.Deepen {
		e.bound = e.o.FirstDepth
		if e.o.MaxDepth > 0 {
			e.bound = min(e.bound, e.o.MaxDepth)
		}
	}
	// The watch may come too late for short searches.
	switch {
	case ctx.Err() != nil:
		e.stop("interrupted")
	case e.o.Timeout > 0 && time.Since(e.start) >= e.o.Timeout:
		e.stop(fmt.Sprintf("time-out after %v", e.o.Timeout))
	}
	for {
		res.Rounds++
		for i, initial := range e.sys.Initial() {
			if e.stopping.Load() {
				break
			}
			e.initial, e.which = initial, i
			if err := e.explore(); err != nil {
				e.fill(res)
				return err
			}
		}
		e.fill(res)
		if !e.o.Deepen || res.CutExecutions == 0 || e.bound == e.o.MaxDepth || e.stopping.Load() {
			return nil
		}
		e.bound *= 2
		if e.o.MaxDepth > 0 {
			e.bound = min(e.bound, e.o.MaxDepth)
		}
		e.before.transitions = res.Transitions
		for _, w := range e.workers {
			w.counts = counts{}
		}
	}
}

// explore explores the tree of one initial state.
func (e *engine) explore() error {
	t := &tree{root: &node{free: true}, workers: e.workers, shared: len(e.workers) > 1}
	t.wake = sync.NewCond(&t.mu)
	for _, w := range e.workers {
		w.prepare(t, e.initial)
	}
	e.tree.Store(t)
	if e.stopping.Load() {
		return nil
	}
	var g errgroup.Group
	for _, w := range e.workers {
		g.Go(func() (err error) {
			defer func() {
				if v := recover(); v != nil {
					err = &workers.PanicError{Value: v, Stack: debug.Stack()}
					e.stop("internal error")
					t.stop()
				}
			}()
			w.run()
			w.publish()
			return nil
		})
	}
	return g.Wait()
}

// askEvery is after how many transitions a worker asks whether to go on, unless
// a limit of transitions is near that.
const askEvery = 64

// goOn tells whether the search is to go on; it is asked now and then.
func (e *engine) goOn(w *worker) bool {
	if e.stopping.Load() {
		return false
	}
	if e.o.MaxTransitions > 0 {
		w.publish()
		if n := e.transitions(); n >= e.o.MaxTransitions {
			e.stop(fmt.Sprintf("limit of %s transitions", human.Count(e.o.MaxTransitions)))
			return false
		}
	}
	return true
}

func (e *engine) transitions() uint64 {
	n := e.before.transitions
	for _, w := range e.workers {
		n += w.public.transitions.Load()
	}
	return n
}

// watch ends the search when the context, the time or the memory says so, and
// reports progress.
func (e *engine) watch(ctx context.Context, done chan struct{}) {
	var timeout <-chan time.Time
	if e.o.Timeout > 0 {
		t := time.NewTimer(e.o.Timeout - time.Since(e.start))
		defer t.Stop()
		timeout = t.C
	}
	var check, report <-chan time.Time
	if e.mem.Limited() {
		t := time.NewTicker(memory.CheckEvery)
		defer t.Stop()
		check = t.C
	}
	if e.o.Progress != nil {
		t := time.NewTicker(cmp.Or(e.o.ProgressInterval, time.Second))
		defer t.Stop()
		report = t.C
	}
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			e.stop("interrupted")
			return
		case <-timeout:
			e.stop(fmt.Sprintf("time-out after %v", e.o.Timeout))
			return
		case <-check:
			if e.mem.Check() != nil {
				e.stop(e.mem.Reason())
				return
			}
		case <-report:
			e.o.Progress(e.progress())
		}
	}
}

func (e *engine) progress() Progress {
	p := Progress{Elapsed: time.Since(e.start), Transitions: e.transitions(), Memory: memory.Resident()}
	for _, w := range e.workers {
		p.Executions += w.public.executions.Load()
		p.BlockedExecutions += w.public.blocked.Load()
		p.MaxDepth = max(p.MaxDepth, int(w.public.depth.Load()))
	}
	e.mu.Lock()
	p.Violations = e.found.Len()
	e.mu.Unlock()
	return p
}

// violation records the violations at the end of steps. It returns false if the
// search is to end.
func (e *engine) violation(v *system.Violation, steps []trace.Step, state string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for ; v != nil; v = v.Also {
		if !e.o.All && e.found.Len() > 0 {
			break
		}
		e.found.Add(v, state, func() *finding {
			single := *v
			single.Also = nil
			return &finding{single, &trace.Trace{Initial: e.which, Steps: slices.Clone(steps)}}
		})
	}
	if !e.o.All {
		e.stopLocked("stopped at the first violation")
		return false
	}
	return true
}

// stateKey returns the live state of a worker as a string, without what became
// of the observers, who take no part in a deadlock.
func (e *engine) stateKey(w *worker) string {
	m := w.r.m
	mark := m.Mark()
	e.obs.Reset(m)
	w.buf = m.Encode(w.buf)
	m.Rewind(mark)
	bare := system.Bare(e.sys, w.buf)
	b := make([]byte, 0, 8*len(bare))
	for _, x := range bare {
		for i := 0; i < 64; i += 8 {
			b = append(b, byte(x>>i))
		}
	}
	return string(b)
}

// fill writes the figures into res.
func (e *engine) fill(res *Result) {
	res.Executions, res.BlockedExecutions, res.CutExecutions = 0, 0, 0
	res.Transitions = e.before.transitions
	for _, w := range e.workers {
		res.Executions += w.executions
		res.BlockedExecutions += w.blocked
		res.CutExecutions += w.cut
		res.Transitions += w.transitions
		res.MaxDepth = max(res.MaxDepth, w.depth)
	}
	res.Bound = e.bound
	res.MoreViolations = e.found.More
}

// judge decides on the verdict.
func (e *engine) judge(res *Result, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err != nil:
		res.Reason = "internal error"
	case e.reason != "":
		res.Reason = e.reason
	case res.CutExecutions > 0:
		what := "executions were"
		if res.CutExecutions == 1 {
			what = "execution was"
		}
		res.Reason = fmt.Sprintf("%s %s cut off after %s transitions", human.Count(res.CutExecutions), what, human.Count(res.Bound))
	}
	res.Exhaustive = res.Reason == ""
	switch {
	case e.found.Len() > 0:
		res.Verdict = search.Violated
	case res.Exhaustive:
		res.Verdict = search.Pass
	default:
		res.Verdict = search.Incomplete
	}
}

// traces checks and minimises the traces of the violations, as traces of the
// plain system; single makes them that.
func (e *engine) traces(res *Result, plain system.System, single func(*trace.Trace) (*trace.Trace, error)) error {
	var errs []error
	for f := range e.found.All() {
		v := f.violation
		t := f.trace
		t.Violation = &v
		out := search.Violation{Violation: &v}
		t, err := single(t)
		if err == nil {
			err = t.Replay(plain)
		}
		if err != nil {
			out.TraceMissing = err.Error()
			errs = append(errs, fmt.Errorf("internal error: the trace of a violation (%s: %s): %w", v.Kind, v.Message, err))
		} else {
			if !e.o.KeepTraces {
				t = t.Minimise(plain, trace.DefaultBudget/e.found.Len())
			}
			out.Trace = t
			if v.Kind == system.Deadlock {
				v.Message = e.describeDeadlock(plain, t)
			}
		}
		res.Violations = append(res.Violations, out)
	}
	slices.SortStableFunc(res.Violations, func(a, b search.Violation) int {
		return cmp.Or(
			cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Object, b.Object), cmp.Compare(length(a), length(b)), cmp.Compare(a.Message, b.Message))
	})
	return errors.Join(errs...)
}

func length(v search.Violation) int {
	if v.Trace == nil {
		return 0
	}
	return len(v.Trace.Steps)
}

// maxNames is how many blocked threads a message names.
const maxNames = 4

// describeDeadlock says which threads cannot go on at the end of t.
func (e *engine) describeDeadlock(sys system.System, t *trace.Trace) string {
	m := sys.NewMachine()
	m.Load(sys.Initial()[t.Initial])
	for _, s := range t.Steps {
		m.Step(s.Thread, s.Alt)
	}
	var names []string
	for i := range m.NumThreads() {
		if e.obs.Has(i) {
			continue
		}
		mark := m.Mark()
		out := m.Step(i, 0)
		m.Rewind(mark)
		if out.Kind == system.Blocked && !out.AtEnd {
			names = append(names, m.ThreadName(i))
		}
	}
	switch n := len(names); {
	case n == 1:
		return fmt.Sprintf("deadlock: %s is blocked", names[0])
	case n > maxNames:
		return fmt.Sprintf("deadlock: %s and %d more are blocked", strings.Join(names[:maxNames], ", "), n-maxNames)
	case n > 1:
		return fmt.Sprintf("deadlock: %s and %s are blocked", strings.Join(names[:n-1], ", "), names[n-1])
	}
	return "deadlock"
}
