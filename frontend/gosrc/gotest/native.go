package gotest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cpor/engine"
	"cpor/engine/memory"
	"cpor/engine/stateless"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/machine"
	"cpor/frontend/gosrc/native"
	"cpor/frontend/gosrc/native/replay"
	"cpor/frontend/gosrc/scenario"
	"cpor/frontend/gosrc/std"
	"cpor/internal/human"
	"cpor/system"
	"cpor/trace"
	"cpor/workers"
)

// NativeSystem is a test that runs natively.
type NativeSystem struct {
	*replay.System
	names replay.Names
	test  string
	text  string
	// readings is Native.Readings.
	readings int
}

// Readings returns how often a goroutine reads the clock in one place before time passes for it;
// 0: as by default.
func (s *NativeSystem) Readings() int { return s.readings }

// Scenario returns the scenario of package check that the test runs; empty if there is none.
func (s *NativeSystem) Scenario() string { return s.text }

// Native says what is to run natively, and how.
type Native struct {
	Test string
	// Open starts a process that runs the test. It may be called from many goroutines at once.
	Open func() (native.Process, error)
	// Scenario starts a process for a scenario of package check; nil: scenarios are not explored.
	Scenario func(text string) (native.Process, error)
	Names    replay.Names
	// Time and NoLeaks are as in gosrc.Explore.
	Time    gosrc.Time
	NoLeaks bool
	// Readings is as in gosrc.Explore.
	Readings int

	text string // the scenario
}

// nativeSteps is how many steps an execution may take after those that were chosen; one that takes
// more counts as endless.
const nativeSteps = 50_000

// steps is nativeSteps, or more for loops that read the clock several thousand times.
func (n Native) steps() int {
	if n.Readings > 0 {
		return 20 * nativeSteps
	}
	return nativeSteps
}

// sampledFor is how long a test is sampled that cannot be covered.
const sampledFor = 2 * time.Second

// NeedsInterpreter is the error of [RunNative] for a test that only the interpreter can deal with:
// why, and what to do about it.
type NeedsInterpreter struct{ Why, Advice string }

func (e *NeedsInterpreter) Error() string { return e.Why + " (" + e.Advice + ")" }

// stores is the advice for what needs states to be stored.
const stores = "-machine interpreted can store states"

// RunNative explores a test that runs natively, as [Run] does one that is interpreted: optimal
// dynamic reduction, and random schedules beside it, unless only the search is asked for; growing
// bounds on timers and on preemptions for what is too large. The result is a pass only if the
// search has come to its end, all executions with equal choices were equal, and nothing was used
// that is not under control.
//
// With gosrc.AutoTime failures are judged as Run does. The error is a *[NeedsInterpreter], an
// *engine.OptionError, or that of a process.
//
// A test that calls check.Linearizable is explored again for each scenario.
func RunNative(ctx context.Context, n Native, o Options) (*Result, error) {
	start := cmp.Or(o.Start, time.Now())
	res, said, err := steadily(ctx, n, o)
	var described []string
	for line := range strings.Lines(said) {
		if d, ok := strings.CutPrefix(line, "cpor explores scenarios: "); ok {
			described = append(described, d)
		}
	}
	if err != nil || res.Verdict != engine.Pass || len(described) == 0 {
		return res, err
	}
	res.Release()
	res.Release, res.Native = nil, nil
	for _, text := range described {
		if d, err := scenario.Parse(text); err == nil && d.Progress != scenario.AnyProgress {
			return nil, &NeedsInterpreter{called(d.Progress) + " compares states", stores}
		}
	}
	if n.Scenario == nil || strings.Contains(strings.Join(described, ""), " waits") {
		return nil, &NeedsInterpreter{"check.Linearizable has calls that may wait forever",
			"-machine interpreted explores them"}
	}
	x := &exploring{ctx: ctx, o: o, start: start, total: res, run: func(ctx context.Context,
		_ scenario.Description, texts []string, o Options) (*Result, error) {
		return oneByOne(texts, o, func(text string, o Options) (*Result, error) {
			m := n
			m.Scenario, m.text = nil, text
			m.Open = func() (native.Process, error) { return n.Scenario(text) }
			r, _, err := runNative(ctx, m, o)
			return r, err
		})
	}}
	return x.scenarios(described)
}

// steadily is RunNative without scenarios; said is what the first execution has printed. Like
// [Run], it explores a test anew that fails because time has passed for a loop which reads the
// clock.
func steadily(ctx context.Context, n Native, o Options) (res *Result, said string, err error) {
	start := cmp.Or(o.Start, time.Now())
	res, said, err = runNative(ctx, n, o)
	if err != nil || res.Failure == nil || res.Failure.Kind != Failed ||
		n.Time != "" && n.Time != gosrc.AutoTime || !slices.Contains(res.Fixed, machine.Waits) {
		return res, said, err
	}
	n.Readings = gosrc.ManyReadings
	if o.asked = cmp.Or(o.asked, o.Timeout); o.Timeout > 0 {
		o.Timeout, o.Start = max(time.Millisecond, o.Timeout-time.Since(start)), time.Time{}
	}
	again, said, err := runNative(ctx, n, o)
	if err != nil {
		res.Release()
		return nil, said, err
	}
	again.Samples += res.Samples
	again.Runs += res.Runs
	again.Tests = union(res.Tests, again.Tests)
	again.Duration = time.Since(start)
	if again.Failure != nil || again.Slow != nil || again.Once != nil {
		res.Release()
		return again, said, nil
	}
	again.Slow, again.Native = res.Failure, res.Native
	again.Slow.Note = cmp.Or(again.Slow.Note, readings)
	first, second := res.Release, again.Release
	again.Release = func() { first(); second() }
	return again, said, nil
}

// runNative is steadily without that; said is what the first execution has printed.
func runNative(ctx context.Context, n Native, o Options) (res *Result, said string, err error) {
	r := &nativeRun{n: n, o: o, start: o.Start, res: &Result{}}
	if r.start.IsZero() {
		r.start = time.Now()
	}
	switch o.Engine {
	case "", Auto, DPOR, Random:
	default:
		return nil, "", &NeedsInterpreter{fmt.Sprintf("-search %s stores states", o.Engine), stores}
	}
	if o.Workers < 0 {
		return nil, "", mistake("%d workers", o.Workers)
	}
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, r.start.Add(o.Timeout))
		defer cancel()
	}
	ctx, full := context.WithCancelCause(ctx)
	defer full(nil)
	go limited(ctx, o.MaxMemory, full)
	// Failures are explained a little beyond the end of the time.
	processes, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(overtime, func() {
			if !r.explaining.Load() || errors.Is(context.Cause(ctx), errFull) {
				stop()
			}
		})
		time.AfterFunc(o.grace(), stop)
	})()
	sys, err := r.open(processes)
	if err != nil {
		stop()
		res, err = r.ended(ctx, err)
		return res, "", err
	}
	r.sys = sys
	defer func() {
		release := func() {
			_ = sys.Close() // the processes have nothing to say any more
			stop()
		}
		if res == nil {
			release()
		} else {
			res.Release = release
		}
	}()
	if n := sys.Alone(); n > 0 {
		r.res.Verdict, r.res.Executions, r.res.Transitions = engine.Pass, 1, n
	} else {
		if err = r.judge(ctx); errors.Is(err, replay.ErrEndless) && r.boundable() {
			r.res.Ticks = true
			err = r.judge(ctx)
		}
	}
	r.res.Runs, r.res.Mode = sys.Counts().Runs, sys.Mode()
	r.res.Duration = time.Since(r.start)
	res, err = r.ended(ctx, err)
	return res, sys.Said(), err
}

// open returns the system of the test.
func (r *nativeRun) open(ctx context.Context) (*replay.System, error) {
	o := replay.Options{Processes: max(1, r.o.Workers) + 1, MaxSteps: r.n.steps(),
		Readings: r.n.Readings}
	sys, err := replay.New(ctx, r.n.Open, r.n.Names, o)
	if errors.Is(err, replay.ErrEndless) && r.boundable() {
		r.res.Ticks, o.Alarms = true, 1
		sys, err = replay.New(ctx, r.n.Open, r.n.Names, o)
	}
	return sys, err
}

// boundable tells whether a test whose executions do not end may be explored with bounds on the
// timers that go off.
func (r *nativeRun) boundable() bool {
	return !r.res.Ticks && r.o.Timeout > 0 && (r.o.Engine == "" || r.o.Engine == Auto)
}

// errFull is why an exploration ended at its limit of memory.
var errFull = errors.New("limit of memory")

// limited ends an exploration when this process and its children come near the limit of memory.
func limited(ctx context.Context, limit uint64, full context.CancelCauseFunc) {
	if limit == 0 {
		return
	}
	if memory.Resident() > limit/4 {
		// What other tests or the interpreter have left behind does not count. Collecting it may
		// take long on a busy machine, so nobody waits for that.
		debug.FreeOSMemory()
	}
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if memory.Tree() > limit/8*7 {
				full(errFull)
			}
		}
	}
}

// watchEvery is how often it is looked how much memory the processes take.
const watchEvery = 50 * time.Millisecond

// nativeRun is one exploration.
type nativeRun struct {
	n     Native
	o     Options
	start time.Time
	sys   *replay.System
	res   *Result
	mu    sync.Mutex
	// explaining tells that a failure was found, so that some more executions are needed.
	explaining atomic.Bool
	once       *Failure // Result.Once
}

// ended makes the result of an exploration that ended with an error or without.
func (r *nativeRun) ended(ctx context.Context, err error) (*Result, error) {
	res := r.res
	res.Duration = time.Since(r.start)
	res.Tests = []machine.TestRun{{Name: r.n.Test}}
	if r.sys != nil {
		res.Outside, res.Fixed = r.sys.Outside(), r.sys.Fixed()
		var tests []replay.TestRun
		tests, res.Parallel = r.sys.Tests()
		for _, t := range tests {
			res.Tests = union(res.Tests, []machine.TestRun{machine.TestRun(t)})
		}
	}
	var diverged *native.Diverged
	var broken *native.RuntimeFailed
	switch {
	case res.Failure != nil:
		return res, nil
	case errors.As(err, &broken):
		return nil, &NeedsInterpreter{broken.Error(),
			"-machine interpreted may explore it"}
	case res.Late:
		res.Verdict, res.Once = engine.Incomplete, r.once
		res.Reason = "a failure was seen when the time was over: " + r.once.Message
		return res, nil
	case r.once != nil:
		res.Verdict, res.Once, res.Diverges = engine.Incomplete, r.once, len(res.Outside) == 0
		res.Reason = "a failure was seen, and did not come again: " + r.once.Message
		return res, nil
	case errors.As(err, &diverged):
		res.Verdict, res.Diverges = engine.Incomplete, len(res.Outside) == 0
		if res.Reason = r.outside(); res.Reason == "" {
			res.Reason = fmt.Sprintf("sampled only, because equal choices do not lead to equal "+
				"executions (step %d: %s)", diverged.At+1, diverged.What)
		}
		return res, nil
	case errors.Is(err, replay.ErrTooLarge):
		res.Verdict, res.Reason = engine.Incomplete, tooLarge
		return res, nil
	case errors.Is(err, replay.ErrEndless):
		return nil, &NeedsInterpreter{fmt.Sprintf("an execution takes more than %d steps",
			r.n.steps()), stores}
	case ctx.Err() != nil && (err != nil || res.Verdict != engine.Pass):
		res.Verdict, res.Reason = engine.Incomplete, r.stoppedBecause(ctx)
		return res, nil
	case err != nil:
		return nil, err
	}
	switch {
	case len(res.Outside) > 0 && res.Verdict != engine.Violated:
		res.Verdict, res.Reason = engine.Incomplete, r.outside()
	case res.Verdict == engine.Pass && r.sys.Cut():
		res.Verdict, res.Reason = engine.Incomplete, tooLarge
	}
	return res, nil
}

// stoppedBecause returns why an exploration did not come to its end, with what is missing besides.
func (r *nativeRun) stoppedBecause(ctx context.Context) string {
	reason := r.res.Reason
	if reason == "" {
		reason = r.over(ctx)
	}
	if r.sys != nil && r.sys.Cut() {
		reason += "; " + tooLarge
	}
	if out := r.outside(); out != "" {
		reason += "; " + out
	}
	return reason
}

// outside says that the test was sampled with the outside world; empty if it was not.
func (r *nativeRun) outside() string {
	if len(r.res.Outside) == 0 {
		return ""
	}
	s := "sampled, with the outside world: what it does with " +
		strings.Join(r.res.Outside, ", ") + " is not controlled"
	if r.patient() {
		s += ", so that time passed only when nobody could run"
	}
	return s
}

// uncontrolled tells whether it is known that the test cannot be covered.
func (r *nativeRun) uncontrolled() bool { return r.sys.Broken() != nil || len(r.sys.Outside()) > 0 }

// patient tells whether time passes only when nobody can run, because otherwise it could not be
// told what is the fault of a test.
func (r *nativeRun) patient() bool {
	return r.uncontrolled() && (r.n.Time == "" || r.n.Time == gosrc.AutoTime)
}

// tooLarge says that an execution was broken off.
var tooLarge = replay.ErrTooLarge.Error()

// over says why an exploration ended early.
func (r *nativeRun) over(ctx context.Context) string {
	if errors.Is(context.Cause(ctx), errFull) {
		return fmt.Sprintf("limit of %s of memory", human.Size(r.o.MaxMemory))
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Sprintf("time-out after %v", cmp.Or(r.o.asked, r.o.Timeout))
	}
	return "interrupted"
}

// judge explores, and decides whether a failure that needs time to pass early is one, as [Run]
// does.
func (r *nativeRun) judge(ctx context.Context) error {
	v := replay.View{NoLeaks: r.n.NoLeaks}
	if r.n.Time == gosrc.IdleTime || r.patient() {
		v.Time = replay.Idle
	}
	err := r.explore(ctx, v)
	f := r.res.Failure
	if err != nil || f == nil || v.Time == replay.Idle ||
		r.n.Time != "" && r.n.Time != gosrc.AutoTime {
		return err
	}
	if f.Slept.Func != "" {
		if err := r.again(ctx, replay.View{Time: replay.Patient, NoLeaks: r.n.NoLeaks},
			f); err != nil || r.res.Failure == nil {
			return err
		}
		if f = r.res.Failure; f.Slept.Func != "" {
			return nil
		}
	}
	if !f.late && (f.Kind != Failed || f.Note == "") {
		return nil
	}
	idle, cancel := part(ctx, 40)
	defer cancel()
	if err := r.again(idle, replay.View{Time: replay.Idle, NoLeaks: r.n.NoLeaks}, f); err != nil ||
		r.res.Failure != nil {
		return err
	}
	return r.again(ctx, replay.View{NoFailed: true, NoLeaks: r.n.NoLeaks}, f)
}

// again explores another view because of a failure, which is a note if there is none there.
func (r *nativeRun) again(ctx context.Context, v replay.View, f *Failure) error {
	of, samples, slow := r.res.Native, r.res.Samples, r.res.Slow
	r.res = &Result{Samples: samples, Slow: cmp.Or(slow, f), Native: of, Ticks: r.res.Ticks}
	err := r.explore(ctx, v)
	if r.res.Failure != nil {
		r.res.Slow = nil
	}
	return err
}

// explore explores one view.
func (r *nativeRun) explore(ctx context.Context, v replay.View) error {
	sys := r.sys.With(v)
	r.res.Verdict, r.res.Reason, r.res.Failure = engine.Incomplete, "", nil
	if r.o.Engine == Random {
		return r.randomly(ctx, sys, v)
	}
	if r.res.Ticks {
		return r.ticking(ctx, v)
	}
	if r.o.Engine != DPOR {
		if stop, err := r.sampling(ctx, sys, v, 100); stop || err != nil {
			return err
		}
	}
	searching, cancel := part(ctx, 60)
	defer cancel()
	if r.o.Timeout == 0 || r.o.Engine == DPOR {
		searching = ctx
	}
	if r.uncontrolled() {
		searching, cancel = context.WithTimeout(ctx, sampledFor)
		defer cancel()
	}
	err := r.search(searching, sys, v)
	if errors.As(err, new(*native.Diverged)) && r.sampled(ctx, sys, v) {
		return nil
	}
	if r.uncontrolled() {
		return err
	}
	if err != nil || r.res.Failure != nil ||
		r.res.Verdict == engine.Pass || ctx.Err() != nil || r.o.Engine == DPOR || r.o.Timeout == 0 {
		return err
	}
	return r.beside(ctx, sys, v, func(ctx context.Context) error { return r.bounds(ctx, v) })
}

// sampled runs random schedules of a view that cannot be covered. It tells whether a failure is the
// result.
func (r *nativeRun) sampled(ctx context.Context, sys *replay.System, v replay.View) bool {
	if r.res.Failure != nil || ctx.Err() != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, sampledFor)
	defer cancel()
	stop, _ := r.sampling(ctx, sys, v, 0)
	return stop && r.res.Failure != nil
}

// mostAlarms is how many timers go off at most in a random schedule of a test whose executions do
// not end while they do.
const mostAlarms = 32

// ticking explores a view of a test whose executions do not end while timers go off: with growing
// bounds on these, and random schedules beside.
func (r *nativeRun) ticking(ctx context.Context, v replay.View) error {
	share := r.o.Share
	if r.uncontrolled() {
		share = sampledFor
	}
	if share > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, share)
		defer cancel()
	}
	some := v
	some.Alarms = mostAlarms
	return r.beside(ctx, r.sys.With(some), some, func(ctx context.Context) error {
		covered, all, err := r.timers(ctx, v)
		if err == nil && r.res.Failure == nil && !all {
			r.res.Verdict = engine.Incomplete
			r.res.Reason = fmt.Sprintf("executions need not end: one takes more than %d steps%s",
				r.n.steps(), covered)
		}
		return err
	})
}

// search searches a view, with random schedules beside unless only the search is asked for.
func (r *nativeRun) search(ctx context.Context, sys *replay.System, v replay.View) error {
	switch why := r.sys.Broken(); {
	case why != nil:
		return why
	case r.o.Engine == DPOR && !r.uncontrolled():
		return r.dpor(ctx, sys)
	}
	return r.beside(ctx, sys, v, func(ctx context.Context) error { return r.dpor(ctx, sys) })
}

// randomly runs random schedules until the time is over.
func (r *nativeRun) randomly(ctx context.Context, sys *replay.System, v replay.View) error {
	if _, ok := ctx.Deadline(); !ok {
		return mistake("random schedules never end: set -timeout")
	}
	_, err := r.sampling(ctx, sys, v, 0)
	if err == nil && r.res.Failure == nil {
		r.res.Reason = "random schedules cover nothing"
	}
	return err
}

// beside runs a search, and random schedules beside it.
func (r *nativeRun) beside(ctx context.Context, sys *replay.System, v replay.View,
	search func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var g sync.WaitGroup
	var sampled error
	g.Go(func() {
		var stop bool
		if stop, sampled = r.sampling(ctx, sys, v, 0); stop {
			cancel()
		}
	})
	err := search(ctx)
	cancel()
	g.Wait()
	if r.res.Failure != nil {
		r.res.Verdict, r.res.Reason = engine.Violated, ""
		return nil
	}
	if err == nil && !errors.Is(sampled, context.Canceled) &&
		!errors.Is(sampled, context.DeadlineExceeded) {
		err = sampled
	}
	return err
}

// sampling runs random schedules, by PCT, by POS and by SURW until one fails, or until the time is
// over; a number bounds them, and how long they may take. Views that leave executions out are not
// sampled.
func (r *nativeRun) sampling(ctx context.Context, sys *replay.System, v replay.View, most int) (
	stop bool, err error,
) {
	if v.Time == replay.Patient || v.NoFailed {
		return false, nil
	}
	until := time.Now().Add(20 * time.Millisecond)
	length := 10
	selections := &selecting{r: r}
	for i := 0; ctx.Err() == nil && (most == 0 || i < most && time.Now().Before(until)); i++ {
		p := native.Policy{Kind: native.Random, Seed: r.o.Seed + uint64(i) + 1, Brief: true,
			MaxSteps: nativeSteps, Quiet: v.Time == replay.Idle}
		if v.Alarms > 0 {
			p.Alarms = min(1<<(i/4%8), v.Alarms)
		}
		switch i % 4 {
		case 1:
			p.Kind, p.Depth, p.Length = native.PCT, 1+i/4%3, length
		case 2:
			p.Kind = native.POS
		case 3:
			selections.policy(&p, i/4)
		}
		var seen *Failure
		steps, failed, ended, err := sys.Sample(p, func(x *native.Execution, failed bool) {
			if failed {
				seen = r.system(sys).seen(x)
			} else if !p.Brief {
				selections.look(x)
			}
		})
		if err != nil {
			return false, err
		}
		if ended {
			length = max(length, len(steps))
		}
		r.mu.Lock()
		r.res.Samples++
		r.mu.Unlock()
		if failed && !(v.NoLeaks && seen != nil && seen.Kind == Leak) {
			return true, r.fail(sys, &trace.Trace{Steps: steps}, seen)
		}
	}
	return false, nil
}

// profileEvery is how many schedules by SURW follow the counts of one execution.
const profileEvery = 64

// selecting is what SURW selects, in turns.
type selecting struct {
	r   *nativeRun
	all []native.Selection
}

// policy makes a policy that of the n-th schedule by SURW, or one that counts steps for it. Every
// other one selects all steps, the others those of one object.
func (s *selecting) policy(p *native.Policy, n int) {
	if n%profileEvery == 0 || len(s.all) == 0 {
		p.Brief = false
		return
	}
	p.Kind, p.Select = native.SURW, s.all[0]
	if objects := s.all[1:]; n%2 == 0 && len(objects) > 0 {
		p.Select = objects[n/2%len(objects)]
	}
}

// look notes what can be selected, by an execution.
func (s *selecting) look(x *native.Execution) {
	b, ok := s.r.n.Names.(interface {
		Selections(x *native.Execution) []native.Selection
	})
	if ok {
		s.all = b.Selections(x)
	}
}

func (r *nativeRun) system(sys *replay.System) *NativeSystem {
	return &NativeSystem{sys, r.n.Names, r.n.Test, r.n.text, r.n.Readings}
}

// dpor searches a view by optimal dynamic reduction.
func (r *nativeRun) dpor(ctx context.Context, sys *replay.System) error {
	o := engine.Options{Workers: r.o.Workers, MaxMemory: r.o.MaxMemory, KeepTraces: true}
	if d, ok := ctx.Deadline(); ok {
		o.Timeout = max(time.Until(d), time.Millisecond)
	}
	var out *stateless.Result
	var err error
	if stopped := caught(func() {
		out, err = stateless.Run(ctx, sys, stateless.Options{Options: o, Reduction: stateless.DPOR,
			Executed: func(m system.Machine) { m.(*replay.Machine).Verify() }})
	}); stopped != nil {
		return stopped
	}
	var stop *replay.Stop
	var broken *workers.PanicError
	if errors.As(err, &broken) && errors.As(broken.Unwrap(), &stop) {
		err = stop.Err
	}
	var found *replay.Found
	switch {
	case stop == nil && broken != nil:
		// What it told does not fit together, so it is not a verdict.
		first, _, _ := strings.Cut(fmt.Sprint(broken.Value), "\n")
		return &native.Diverged{What: first}
	case errors.As(err, &found):
		return r.fail(sys, &trace.Trace{Steps: found.Steps, Violation: found.Violation}, nil)
	}
	if out == nil {
		return err
	}
	r.mu.Lock()
	r.res.Verdict, r.res.Reason = out.Verdict, out.Reason
	r.res.Executions += out.Executions
	r.res.Transitions += out.Transitions
	r.mu.Unlock()
	if err == nil && len(out.Violations) > 0 && out.Violations[0].Trace != nil {
		return r.fail(sys, out.Violations[0].Trace, nil)
	}
	if ctx.Err() != nil && (err != nil || out.Verdict == engine.Incomplete) {
		var diverged *native.Diverged
		if err != nil && !errors.As(err, &diverged) {
			err = nil
		}
		r.res.Verdict, r.res.Reason = engine.Incomplete, r.over(ctx)
	}
	return err
}

// bounds explores with growing bounds on the timers that go off, and then on preemptions.
func (r *nativeRun) bounds(ctx context.Context, v replay.View) error {
	reason := r.over(ctx)
	if r.o.Timeout > 0 {
		reason = fmt.Sprintf("time-out after %v", r.o.Timeout)
	}
	timing, cancel := part(ctx, alarmShare)
	defer cancel()
	covered, all, err := r.timers(timing, v)
	if err != nil || all || r.res.Failure != nil {
		return err
	}
	sys := r.sys.With(v)
	b := &bounded{ctx: ctx, p: sys, broken: func() bool { return false }, m: sys.NewMachine()}
	most := -1
	err = caught(func() { most = b.upward() })
	if b.found {
		return r.fail(sys, b.failing(), nil)
	}
	r.res.Verdict, r.res.Reason = engine.Incomplete, reason+covered+preemptions(most)
	if ctx.Err() != nil {
		err = nil
	}
	return err
}

// timers explores with growing bounds on the timers that go off, and says which were covered; all:
// the last one has kept no timer from going off.
func (r *nativeRun) timers(ctx context.Context, v replay.View) (covered string, all bool,
	err error,
) {
	for n := 1; ctx.Err() == nil; n++ {
		bound := v
		bound.Alarms = n
		sys := r.sys.With(bound)
		sys.ForgetSpent()
		if err := r.dpor(ctx, sys); err != nil || r.res.Failure != nil {
			return covered, false, err
		}
		if r.res.Verdict != engine.Pass {
			break
		}
		if !sys.Spent() {
			return covered, true, nil
		}
		r.res.Verdict = engine.Incomplete
		timers := fmt.Sprintf("%d timers go", n)
		if n == 1 {
			timers = "1 timer goes"
		}
		covered = fmt.Sprintf("; every schedule in which at most %s off was covered", timers)
	}
	return covered, false, nil
}

// caught calls f, and returns the error with which a machine has stopped it.
func caught(f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			stop, ok := v.(*replay.Stop)
			if !ok {
				panic(v)
			}
			err = stop.Err
		}
	}()
	f()
	return nil
}

// repetitions is how often an execution is repeated whose failure did not come again.
const repetitions = 3

// fail makes a failing execution the result, unless there is one. If its failure does not come
// again, it is not a result; what was seen of it is kept in r.once.
func (r *nativeRun) fail(sys *replay.System, t *trace.Trace, seen *Failure) error {
	r.explaining.Store(true)
	until := time.Now().Add(shortening)
	end := r.start.Add(r.o.Timeout + r.o.grace())
	expired := func() bool {
		now := time.Now()
		// It takes up to three executions more to say what happens in what was found.
		return !now.Before(until) || r.o.Timeout > 0 && now.After(end.Add(-3*sys.Longest()))
	}
	s := r.system(sys)
	f, err := s.explain(t, seen, expired)
	if errors.Is(err, context.Canceled) {
		r.tooLate(t, seen)
		return nil
	}
	if err != nil && seen != nil && (errors.As(err, new(*native.Diverged)) || s.Broken() != nil) {
		for range repetitions {
			if f = s.told(t); f != nil {
				err = nil
				break
			}
		}
		if f == nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			seen.Note = "the test depends on more than its schedule"
			r.once = seen
			return nil
		}
	}
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.res.Failure == nil {
		r.res.Verdict, r.res.Failure, r.res.Native, r.res.Reason = engine.Violated, f, s, ""
	}
	return nil
}

// tooLate notes a failure that could not be repeated before the time was over. seen is what is
// known of it; nil if that is only that a step of the trace fails.
func (r *nativeRun) tooLate(t *trace.Trace, seen *Failure) {
	if seen == nil && t.Violation != nil {
		v := t.Violation
		seen = &Failure{Kind: FailureKind(v.Kind), Message: v.Message, Pos: v.Pos}
	}
	if seen == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	seen.Note = "the time was over before its execution could be repeated"
	r.once, r.res.Late = seen, true
}

// ThreadNames returns who the first n threads are, as machine.System does.
func (s *NativeSystem) ThreadNames(n int) [][2]int32 {
	if p, ok := s.names.(interface{ Threads(n int) [][2]int32 }); ok {
		return p.Threads(n)
	}
	return nil
}

// manySteps: an execution of more steps is not repeated to be recorded when the time is over.
const manySteps = 1000

// RepeatNative repeats a failing execution of a test, and says what happened. The system has to
// be closed.
func RepeatNative(ctx context.Context, n Native, t *trace.Trace, kind string) (*NativeSystem,
	*Failure, error) {
	v := replay.View{NoLeaks: n.NoLeaks}
	o := replay.Options{Readings: n.Readings, MaxSteps: n.steps()}
	sys, err := replay.New(ctx, n.Open, n.Names, o)
	if errors.Is(err, replay.ErrEndless) {
		v.Alarms, o.Alarms = mostAlarms, mostAlarms
		sys, err = replay.New(ctx, n.Open, n.Names, o)
	}
	if err != nil {
		return nil, nil, err
	}
	s := &NativeSystem{sys.With(v), n.Names, n.Test, n.text, n.Readings}
	if k := FailureKind(kind); k == Deadlock || k == Leak {
		t.Violation = &system.Violation{Kind: system.Deadlock, Message: "deadlock"}
	}
	f, err := s.Repeat(t)
	if err != nil {
		return nil, nil, errors.Join(err, sys.Close())
	}
	return s, f, nil
}

// Record writes down what people want to see of an execution of a program that is interpreted or
// runs natively. Once hurry returns true, it only executes all but the last steps; if that is so
// from the beginning and there are more than manySteps, it fails. A nil hurry never returns true.
func Record(sys system.System, t *trace.Trace, hurry func() bool) (rec *trace.Record, err error) {
	if hurry != nil && len(t.Steps) > manySteps && hurry() {
		return nil, fmt.Errorf("it has %d steps, and the time was over", len(t.Steps))
	}
	stopped := caught(func() { rec, err = t.RecordInTime(sys, hurry) })
	return rec, errors.Join(stopped, err)
}

// explain looks for a shorter execution that fails in the same way, until expired returns true, and
// says what happens in it. seen is what is known of the failure, and may be nil.
func (s *NativeSystem) explain(t *trace.Trace, seen *Failure, expired func() bool) (f *Failure,
	err error,
) {
	stopped := caught(func() {
		if t.Violation == nil && seen != nil && expired() {
			t.Violation = seen.violation()
		}
		if t.Violation == nil {
			t.Violation = violationOf(s, t)
		}
		if !expired() {
			short := trace.Shorten(s, []*trace.Trace{t}, trace.Shortening{Scale: nativeScale,
				Expired: expired})[0].Trace
			t = &trace.Trace{Initial: short.Initial, Steps: short.Steps, Violation: short.Violation}
		}
		f, err = s.Repeat(t)
	})
	if found := (*replay.Found)(nil); errors.As(stopped, &found) {
		// On the way there is a data race.
		stopped = caught(func() {
			f, err = s.Repeat(&trace.Trace{Steps: found.Steps, Violation: found.Violation})
		})
	}
	if err = errors.Join(err, stopped); errors.As(err, new(*native.Diverged)) ||
		errors.Is(err, replay.ErrTooLarge) {
		if g := s.told(t); g != nil {
			return g, nil
		}
	}
	return f, err
}

// once says that a failure may not come again.
const once = "the test depends on more than its schedule, so this may not happen again"

// violation is what a failure is for an engine.
func (f *Failure) violation() *system.Violation {
	if f.Kind == Deadlock || f.Kind == Leak {
		return &system.Violation{Kind: system.Deadlock, Message: "deadlock"}
	}
	return &system.Violation{Kind: system.ViolationKind(f.Kind), Message: f.Message, Pos: f.Pos}
}

// told repeats a failing execution of a test that depends on more than its schedule, and returns
// what the process tells of it; nil if nothing fails now.
func (s *NativeSystem) told(t *trace.Trace) (f *Failure) {
	err := s.System.Repeat(t.Steps, 1, func(x *native.Execution) { f = s.seen(x) })
	if err != nil || f == nil {
		return nil
	}
	f.Trace, f.Note = t, once
	return f
}

// seen returns what a process tells of a failing execution; nil if nothing fails.
func (s *NativeSystem) seen(x *native.Execution) *Failure {
	if x.End == native.TooLarge {
		return nil // that is a limit of ours
	}
	why, kind := x.Failure, FailureKind("")
	if why != nil {
		kind = FailureKind(why.Kind)
	}
	for i := range x.Steps {
		if g := x.Steps[i].Failure; g != nil {
			why, kind = g, FailureKind(g.Kind)
			break
		}
	}
	if x.End == native.Deadlock || x.End == native.Leak {
		kind = map[native.End]FailureKind{native.Deadlock: Deadlock, native.Leak: Leak}[x.End]
	}
	if why == nil {
		return nil
	}
	f := &Failure{Kind: kind, Message: why.Message, Pos: why.Pos, Stacks: s.stacks(why)}
	f.Output, f.History = trace.CutHistory(string(x.Output))
	f.called()
	if kind == Deadlock || kind == Leak {
		f.waits()
	}
	return f
}

// called gives what package check reports the place where the test calls it.
func (f *Failure) called() {
	if f.Kind != Failed || len(f.Stacks) == 0 {
		return
	}
	k := &f.Stacks[0]
	i := slices.IndexFunc(k.Frames, func(fr Frame) bool {
		return !strings.HasPrefix(fr.Func, std.Check+".")
	})
	if i > 0 {
		k.Frames = k.Frames[i:]
		f.Pos = k.Frames[0].Pos
	}
}

// stacks are those of a failure.
func (s *NativeSystem) stacks(why *native.Failure) (out []Stack) {
	for _, st := range why.Stacks {
		k := Stack{Goroutine: s.Title(st.Thread), What: st.What}
		for _, fr := range st.Frames {
			k.Frames = append(k.Frames, Frame{Func: fr.Func, Pos: fr.Pos})
		}
		out = append(out, k.cut())
	}
	return out
}

// waits gives a deadlock or a leak its place and message, from the stacks of those who wait.
func (f *Failure) waits() {
	var names []string
	for _, k := range f.Stacks {
		names = append(names, k.Goroutine)
	}
	if len(f.Stacks) > 0 && len(f.Stacks[0].Frames) > 0 {
		f.Pos = f.Stacks[0].Frames[0].Pos
	}
	f.Message = waitForEver(f.Kind, names)
}

// nativeScale divides the bounds of the search for a short failing schedule: each new step may be
// an execution.
const nativeScale = 256

// Repeat repeats a failing execution as it is, and says what happened. It is an error if a step
// cannot be taken, or if nothing fails.
func (s *NativeSystem) Repeat(t *trace.Trace) (*Failure, error) {
	f := &Failure{Trace: t}
	late := replay.Late{}
	var failed *system.Violation
	ended := false
	err := caught(func() {
		m := s.NewMachine().(*replay.Machine)
		trace.Foresee(m, t.Steps)
		for i, st := range t.Steps {
			if err := s.Stopped(); err != nil && i%256 == 255 {
				panic(&replay.Stop{Err: err})
			}
			f.early(m, st.Thread, late)
			out := m.Step(st.Thread, st.Alt)
			if out.Kind != system.Moved {
				panic(&replay.Stop{Err: &native.Diverged{At: i,
					What: fmt.Sprintf("the step is %v", out.Kind)}})
			}
			late.Behind(m)
			if failed = out.Violation; failed != nil {
				f.late = late[int32(st.Thread)] && replay.OfTest(failed)
			}
		}
		ended = m.Ended(0)
	})
	if err != nil {
		return nil, err
	}
	further, stuck := 0, false
	if failed == nil {
		further = 1 // that there is none shows who waits
	}
	err = s.System.Repeat(t.Steps, further, func(x *native.Execution) {
		f.Output, f.History = trace.CutHistory(string(x.Output))
		stuck = x.End == native.Deadlock || x.End == native.Leak
		why := x.Failure
		for i := range x.Steps {
			if x.Steps[i].Failure != nil {
				why = x.Steps[i].Failure
			}
		}
		if why == nil {
			return
		}
		f.Stacks = s.stacks(why)
	})
	if err != nil {
		return nil, err
	}
	if failed != nil {
		f.Kind, f.Message, f.Pos = FailureKind(failed.Kind), failed.Message, failed.Pos
		f.called()
		return f, nil
	}
	if t.Violation == nil || t.Violation.Kind != system.Deadlock {
		return nil, errors.New("nothing fails in this execution")
	}
	if !stuck {
		return nil, &native.Diverged{At: len(t.Steps), What: "nothing fails here now"}
	}
	f.Kind = Deadlock
	if ended {
		f.Kind = Leak
	}
	f.waits()
	return f, nil
}

// early notes what the next step of a thread does to time.
func (f *Failure) early(m *replay.Machine, t int, late replay.Late) {
	if early, sleeps := m.Early(t); early {
		f.Note = "it needs time to pass while a goroutine could run"
		if sleeps && f.Slept.Func == "" {
			pos, _, _ := m.Next(t)
			f.Slept = Frame{Func: "time.Sleep", Pos: pos}
		}
	}
	if f.Note != "" { // if not by this step then before
		late.Before(m, t)
	}
}
