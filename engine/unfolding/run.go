package unfolding

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"cpor/engine"
	"cpor/internal/human"
	"cpor/system"
	"cpor/trace"
)

// Result is what an unfolding found out. Transitions counts the events, and
// MaxDepth is the largest number of events in one history.
type Result struct {
	engine.Result
	Events, Cutoffs, Conditions uint64
	// Transitions that are different in what they read and do; each was
	// executed once.
	Leaves uint64

	b *builder
}

const (
	maxWorkers = 1 << 12
	maxInitial = 1 << 11
	maxEvents  = 1 << 30 // with their conditions, for which there are 2^31 numbers
)

// Run builds a complete finite prefix of the unfolding of a system and checks
// it. It ends when the prefix is complete, at the first violation (unless
// Options.All), at a limit, or when ctx is canceled, and returns what it found
// out so far in each of these cases. Options.MaxTransitions bounds the number
// of events. An error is either an *engine.OptionError or an *engine.Refusal,
// and the result is nil, or it means that the tool itself went wrong.
func Run(ctx context.Context, sys system.System, o engine.Options) (*Result, error) {
	if o.Workers > maxWorkers {
		return nil, &engine.OptionError{Message: fmt.Sprintf("%d workers", o.Workers)}
	}
	if n := len(sys.Initial()); n > maxInitial {
		return nil, &engine.Refusal{
			Err: fmt.Errorf("there are %d initial states, and an unfolding can begin with at "+
				"most %d: choose in a thread's first transition instead", n, maxInitial)}
	}
	watch, err := engine.NewWatch(ctx, &o)
	if err != nil {
		return nil, err
	}
	defer watch.End()
	b, err := newBuilder(sys, o.Workers)
	if err != nil {
		return nil, &engine.Refusal{Err: err}
	}
	u := &unfolder{sys: sys, o: &o, b: b, watch: watch, found: engine.NewCollector[engine.Raw](&o)}
	u.obs = system.ObserversOf(sys)
	res := &Result{Result: engine.Result{Workers: o.Workers}, b: b}
	err = u.run()
	res.Duration, res.PeakRSS = watch.Elapsed(), watch.Memory().Peak()
	res.Events, res.Cutoffs, res.Conditions = uint64(b.events.n)-uint64(len(b.roots)),
		uint64(b.cutoffs), uint64(b.conds.n-1)
	res.Leaves = uint64(b.leaves.n)
	res.Transitions, res.MaxDepth = res.Events, int(u.size.Load())
	res.StoreBytes = b.bytes()
	res.MoreViolations = u.found.More
	fault := res.Judge(err, "", u.found.Len() > 0)
	var raws []engine.Raw
	for r := range u.found.All() {
		raws = append(raws, r)
	}
	var ferr error
	res.Violations, ferr = engine.Finish(ctx, sys, raws, &o)
	if fault == nil {
		fault = ferr
	}
	return res, fault
}

// unfolder is one run.
type unfolder struct {
	sys   system.System
	obs   system.Observers
	o     *engine.Options
	b     *builder
	watch *engine.Watch
	found *engine.Collector[engine.Raw]

	// For the report of progress.
	size       atomic.Uint64
	violations atomic.Int64
}

// run builds the prefix and looks for deadlocks. The error says why it ended
// before it had done all of it.
func (u *unfolder) run() (err error) {
	b := u.b
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	defer context.AfterFunc(u.watch.Context(), func() { b.stopped.Store(true) })()
	u.watch.Go(func() engine.Progress {
		return engine.Progress{Counters: engine.Counters{Transitions: b.done.Load()},
			Queued: uint64(max(0, b.waiting.Load())), MaxDepth: int(u.size.Load()),
			Violations: int(u.violations.Load())}
	})
	if err := u.watch.Err(); err != nil {
		return err
	}
	limit := uint64(maxEvents)
	var stop error = &engine.Stop{Reason: "more events than numbers for them"}
	if u.o.MaxTransitions > 0 && u.o.MaxTransitions < limit {
		limit = u.o.MaxTransitions
		stop = &engine.Stop{Reason: fmt.Sprintf("limit of %s events", human.Count(limit))}
	}
	b.turn = u.o.Turn
	b.onEvent = func(e uint32) bool {
		n := uint64(e) + 1 - uint64(len(b.roots))
		for v := b.extra(b.leafOf(e)).viol; v != nil; v = v.Also {
			goOn := u.found.Add(v, "", func(v system.Violation) engine.Raw {
				c := b.workers[0].c2
				x := b.candidateOf(e)
				c.load(x)
				t := &trace.Trace{Initial: int(x.root), Steps: c.steps(b.leaf(x.leaf))}
				return engine.Raw{Violation: u.said(v, t), Trace: t}
			})
			u.violations.Store(int64(u.found.Len()))
			if !goOn {
				u.watch.Stop(engine.AtViolation)
				return false
			}
		}
		if n > limit || b.full() {
			u.watch.Stop(stop)
			return false
		}
		return true
	}
	b.onLevel = func(size uint32) {
		u.size.Store(uint64(size))
		if u.watch.Err() != nil {
			b.stopped.Store(true)
		}
	}
	b.build()
	if f := b.fault.Load(); f != nil {
		return *f
	}
	if err := u.watch.Err(); err != nil {
		return err
	}
	if !u.o.IgnoreDeadlocks {
		u.deadlocks()
	}
	return u.watch.Err()
}

// said is a violation with the words that it has at the end of its trace: an event
// knows only what its own thread looked at, and no other thread by name.
func (u *unfolder) said(v system.Violation, t *trace.Trace) system.Violation {
	m := u.sys.NewMachine()
	m.Load(u.b.roots[t.Initial])
	var out system.Outcome
	for _, s := range t.Steps {
		out = m.Step(s.Thread, s.Alt)
	}
	for w := out.Violation; w != nil; w = w.Also {
		if w.Kind == v.Kind && w.Pos == v.Pos && w.Object == v.Object {
			v.Message = w.Message
			break
		}
	}
	return v
}

// deadlocks looks for the deadlocks of a complete prefix.
func (u *unfolder) deadlocks() {
	m := u.sys.NewMachine()
	u.b.workers[0].searchDeadlocks(&u.obs, func(c *config) bool {
		t := &trace.Trace{Initial: int(c.root), Steps: c.steps(nil)}
		m.Load(u.b.roots[t.Initial])
		for _, s := range t.Steps {
			m.Step(s.Thread, s.Alt)
		}
		v := &system.Violation{Kind: system.Deadlock, Message: "deadlock"}
		goOn := u.found.Add(v, engine.StateKey(u.sys, &u.obs, m),
			func(v system.Violation) engine.Raw {
				return engine.Raw{Violation: v, Trace: t}
			})
		u.violations.Store(int64(u.found.Len()))
		if !goOn {
			u.watch.Stop(engine.AtViolation)
		}
		return goOn
	})
}
