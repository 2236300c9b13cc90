package stateless

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"cpor/engine"
	"cpor/engine/search/composed"
	"cpor/internal/human"
	"cpor/system"
	"cpor/trace"
	"cpor/workers"
)

const (
	defaultFirstDepth = 8
	maxWorkers        = 1 << 12
)

// Run searches the system sys without storing states. It ends when everything is explored, at
// the first violation (unless Options.All), at a limit, or when ctx is canceled, and in each
// case returns what it has found so far. An error is either an *engine.OptionError, with a nil
// result, or it means that the tool itself failed: a panic, or a trace that does not replay.
func Run(ctx context.Context, sys system.System, o Options) (*Result, error) {
	if err := o.combine(); err != nil {
		return nil, err
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
			return nil, optionError("invisible transitions can be explored first, or composed " +
				"with the preceding one, but not both")
		}
		c, err := composed.NewSystem(sys, composed.Options{})
		if err != nil {
			return nil, optionError("%v", err)
		}
		sys, single = c, c.Single
	}
	if o.FirstDepth == 0 {
		o.FirstDepth = defaultFirstDepth
	}
	watch, err := engine.NewWatch(ctx, &o.Options)
	if err != nil {
		return nil, err
	}
	defer watch.End()
	if o.Checkpoint != nil {
		if err := o.Checkpoint.Start(); err != nil {
			return nil, err
		}
	}
	e := &explorer{sys: sys, obs: system.ObserversOf(sys), o: o, initial: sys.Initial()[0],
		watch: watch, found: engine.NewCollector[engine.Raw](&o.Options)}
	res := &Result{Result: engine.Result{Workers: o.Workers}}
	err = e.search(res)
	var wrong *engine.OptionError
	if errors.As(err, &wrong) {
		return nil, err
	}
	res.Duration, res.PeakRSS = e.elapsed+watch.Elapsed(), watch.Memory().Peak()
	err = e.judge(res, err)
	if terr := e.traces(res, plain, single); err == nil {
		err = terr
	}
	return res, err
}

// combine refuses options that make no sense, alone or together.
func (o *Options) combine() error {
	switch {
	case o.Workers > maxWorkers:
		return optionError("%d workers", o.Workers)
	case int(o.Reduction) >= len(reductionNames):
		return optionError("reduction %d", o.Reduction)
	case o.FirstDepth < 0:
		return optionError("the bound on the depth is negative")
	case (o.MaxDepth > 0 || o.Deepen) && !o.Reduction.Bounded():
		return optionError("a search with a bound on the depth cannot use reduction %v: it "+
			"may miss violations within the bound; use sleep or none, which find them all",
			o.Reduction)
	case (o.MaxDepth > 0 || o.Deepen) && o.InvisibleFirst:
		return optionError("a search with a bound on the depth cannot explore invisible " +
			"transitions first, because it may miss violations within the bound")
	case o.Undo > Replay:
		return optionError("invalid undo mode %d", o.Undo)
	case o.InvisibleFirst && o.Reduction.dynamic():
		return optionError("a search that explores invisible transitions first has no " +
			"dynamic reduction: use none, sleep, persistent or persistent+sleep")
	}
	return nil
}

func optionError(format string, args ...any) error {
	return &engine.OptionError{Message: fmt.Sprintf(format, args...)}
}

// stopped is why a search ends.
func stopped(format string, args ...any) error {
	return &engine.Stop{Reason: fmt.Sprintf(format, args...)}
}

// explorer is one search.
type explorer struct {
	sys     system.System
	obs     system.Observers
	o       Options
	initial system.State
	which   int // the index of initial
	watch   *engine.Watch
	bound   int // on the depth, 0: none
	workers []*worker
	groups  []*group // of the workers, if they take turns
	rounds  int
	before  counts        // of the rounds before this one
	elapsed time.Duration // of the searches that this one continues

	tree     atomic.Pointer[tree] // that is explored
	stopping atomic.Bool
	found    *engine.Collector[engine.Raw]
}

// stop ends the search; the first reason counts.
func (e *explorer) stop(why error) {
	e.watch.Stop(why)
	e.stopping.Store(true)
	if t := e.tree.Load(); t != nil { // else it has not begun
		t.stop() // those who wait for work
	}
}

// search explores the trees of all initial states, repeatedly with iterative deepening.
func (e *explorer) search(res *Result) error {
	e.hire()
	e.bound = e.o.MaxDepth
	if e.o.Deepen {
		e.bound = e.o.FirstDepth
		if e.o.MaxDepth > 0 {
			e.bound = min(e.bound, e.o.MaxDepth)
		}
	}
	if e.o.Checkpoint != nil && e.o.Checkpoint.From != nil {
		if err := e.restore(e.o.Checkpoint.From); err != nil {
			return err
		}
	} else {
		e.begin()
	}
	if err := e.watch.Err(); err != nil {
		e.stop(err)
	}
	defer context.AfterFunc(
		e.watch.Context(),
		func() { e.stop(context.Cause(e.watch.Context())) },
	)()
	e.watch.Go(e.progress)
	var keep *engine.Keeper
	if e.o.Checkpoint != nil {
		keep = e.o.Checkpoint.NewKeeper()
		defer keep.Wait()
	}
	for {
		if e.o.onRound != nil {
			e.o.onRound(e)
		}
		res.Rounds = e.rounds
		for i, initial := range e.sys.Initial() {
			if e.stopping.Load() {
				break
			}
			if i < e.which {
				continue // a checkpoint is further than that
			}
			t := e.tree.Load()
			if i > e.which {
				t = newTree(e.workers)
			}
			e.initial, e.which = initial, i
			if err := e.explore(t, keep); err != nil {
				e.fill(res)
				return err
			}
		}
		e.fill(res)
		if keep != nil && e.stopping.Load() &&
			engine.Interrupted(context.Cause(e.watch.Context())) {
			e.tree.Load().unclaim()
			keep.Write(e.save)
		}
		if !e.deepen(res) {
			return nil
		}
		e.begin()
	}
}

// hire makes the workers, in groups if their machines are costly.
func (e *explorer) hire() {
	for i := range e.o.Workers {
		w := newWorker(e)
		e.workers = append(e.workers, w)
		if w.r.costly == nil {
			continue
		}
		for range groupSize - 1 {
			e.workers = append(e.workers, newWorker(e))
		}
		e.groups = append(e.groups, newGroup(e, e.workers[i*groupSize:]))
	}
}

// deepen prepares the next round with twice the bound. It reports whether there is one.
func (e *explorer) deepen(res *Result) bool {
	if !e.o.Deepen || res.CutExecutions == 0 || e.bound == e.o.MaxDepth || e.stopping.Load() {
		return false
	}
	e.bound *= 2
	if e.o.MaxDepth > 0 {
		e.bound = min(e.bound, e.o.MaxDepth)
	}
	e.before.transitions = res.Transitions
	for _, w := range e.workers {
		w.counts = counts{}
	}
	return true
}

// begin begins a round with nothing explored: a search that is stopped at once must not be saved
// with the tree of the previous round.
func (e *explorer) begin() {
	e.rounds++
	e.which, e.initial = 0, e.sys.Initial()[0]
	e.tree.Store(newTree(e.workers))
}

// tracks reports whether machines must record what transitions access.
func (e *explorer) tracks() bool { return e.o.Reduction != None || e.o.InvisibleFirst }

// explore explores the tree of one initial state. It pauses for checkpoints.
func (e *explorer) explore(t *tree, keep *engine.Keeper) error {
	e.tree.Store(t)
	for {
		for _, w := range e.workers {
			w.prepare(t, e.initial)
		}
		if e.stopping.Load() {
			return nil
		}
		stop := func() bool { return true }
		if keep != nil && e.o.Checkpoint.Every > 0 {
			stop = time.AfterFunc(e.o.Checkpoint.Every, t.pause).Stop
		}
		err := e.runWorkers(t)
		stop()
		if err != nil || e.stopping.Load() || t.root.status == done {
			return err
		}
		t.unclaim()
		keep.Write(e.save)
	}
}

// runWorkers lets the workers explore until nothing is left, or they are stopped or paused.
func (e *explorer) runWorkers(t *tree) error {
	var g errgroup.Group
	begin := func(f func()) {
		g.Go(func() (err error) {
			defer func() {
				if v := recover(); v != nil {
					p, ok := v.(*workers.PanicError) // of a group
					if !ok {
						p = &workers.PanicError{Value: v, Stack: debug.Stack()}
					}
					err = p
					e.stop(err)
					t.stop()
				}
			}()
			f()
			return nil
		})
	}
	for _, g := range e.groups {
		begin(g.run)
	}
	for _, w := range e.workers {
		if w.member == nil {
			begin(func() {
				w.run()
				w.publish()
			})
		}
	}
	return g.Wait()
}

// askEvery is after how many transitions a worker checks whether to continue, unless a limit of
// transitions is near.
const askEvery = 64

// goOn reports whether the search should continue; it is called now and then.
func (e *explorer) goOn(w *worker) bool {
	if e.stopping.Load() {
		return false
	}
	if e.o.MaxTransitions > 0 {
		w.publish()
		if n := e.transitions(); n >= e.o.MaxTransitions {
			e.stop(engine.TransitionLimit(e.o.MaxTransitions))
			return false
		}
	}
	return true
}

func (e *explorer) transitions() uint64 {
	n := e.before.transitions
	for _, w := range e.workers {
		n += w.public.transitions.Load()
	}
	return n
}

func (e *explorer) progress() engine.Progress {
	p := engine.Progress{Counters: engine.Counters{Transitions: e.transitions()},
		Violations: e.found.Len()}
	for _, w := range e.workers {
		p.Executions += w.public.executions.Load()
		p.BlockedExecutions += w.public.blocked.Load()
		p.MaxDepth = max(p.MaxDepth, int(w.public.depth.Load()))
	}
	return p
}

// violation records the violations at the end of steps. It returns false if the search should
// end.
func (e *explorer) violation(v *system.Violation, steps []trace.Step, state string) bool {
	for ; v != nil; v = v.Also {
		if !e.found.Add(v, state, func(v system.Violation) engine.Raw {
			return engine.Raw{Violation: v, Trace: &trace.Trace{Initial: e.which,
				Steps: slices.Clone(steps)}}
		}) {
			e.stop(engine.AtViolation)
			return false
		}
	}
	return true
}

// fill writes the figures into res.
func (e *explorer) fill(res *Result) {
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

// judge decides the verdict, and returns an error of the tool itself.
func (e *explorer) judge(res *Result, err error) error {
	if err == nil && e.stopping.Load() {
		err = context.Cause(e.watch.Context())
	}
	gap := ""
	if res.CutExecutions > 0 {
		what := "executions were"
		if res.CutExecutions == 1 {
			what = "execution was"
		}
		gap = fmt.Sprintf("%s %s cut off after %s transitions", human.Count(res.CutExecutions),
			what, human.Count(res.Bound))
	}
	return res.Judge(err, gap, e.found.Len() > 0)
}

// traces checks and minimizes the traces of the violations, as traces of the plain system;
// single translates them.
func (e *explorer) traces(res *Result, plain system.System, single func(*trace.Trace) (*trace.Trace,
	error)) (err error) {
	var raws []engine.Raw
	for r := range e.found.All() {
		r.Trace.Violation = &r.Violation
		r.Trace, r.Missing = single(r.Trace)
		raws = append(raws, r)
	}
	res.Violations, err = engine.Finish(e.watch.From(), plain, raws, &e.o.Options)
	return err
}
