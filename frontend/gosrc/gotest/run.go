package gotest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"cpor/cartesian"
	"cpor/engine"
	"cpor/engine/memory"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/engine/stateless"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/machine"
	"cpor/system"
	"cpor/trace"
	"cpor/workers"
)

// Run explores a program. With [gosrc.AutoTime] these failures may be the fault of a test that
// does not wait long enough, or that measures how long a computation takes:
//
//   - any failure that needs a time.Sleep of the test itself to end early. It counts if it is found
//     as well when those sleeps, and only those, end when nobody else can run;
//   - t.Error and t.Fatal, which may be a time-out of the test itself that expires too early. They
//     count if they are found as well when time passes only when nobody can run;
//   - likewise a panic in a _test.go file, if a time-out has expired before that the test's
//     goroutine has set, itself or in a library which it calls, and that goroutine panics, or one
//     that it has started since. A panic in another file is one of the code under test, and so may
//     be one of a goroutine that was started before;
//   - t.Error and t.Fatal where time has passed because a loop has read the clock again and again.
//     They count if they are found as well when such a loop may read it [gosrc.ManyReadings] times.
//
// Otherwise the result's Slow tells of it, and the search goes on without it.
//
// A test that calls check.Linearizable is explored again for each size of scenarios.
func Run(ctx context.Context, p *gosrc.Program, o Options) (*Result, error) {
	return withScenarios(ctx, p, o, judged)
}

// judged is Run without scenarios.
func judged(ctx context.Context, p *gosrc.Program, o Options) (*Result, error) {
	start := o.Start
	if start.IsZero() {
		start = time.Now()
	}
	res, err := explore(ctx, p, o)
	if err != nil || !p.SlowAllowed() || res.Failure == nil {
		return res, err
	}
	slow, of := res.Failure, res.Program
	ways := []func() (*gosrc.Program, error){p.Idle, p.WithoutSlow}
	run := explore
	switch {
	case slow.Slept.Func != "":
		ways, run = []func() (*gosrc.Program, error){p.Patient}, judged
	case slow.Kind == Failed && p.Hurried():
		ways, run = []func() (*gosrc.Program, error){p.Steady}, judged
		slow.Note = cmp.Or(slow.Note, readings)
	case !slow.late && (slow.Kind != Failed || slow.Note == ""):
		return res, nil
	}
	left := func(share time.Duration) Options {
		l := o
		l.asked = cmp.Or(o.asked, o.Timeout)
		if o.Timeout > 0 {
			l.Timeout = max(time.Millisecond, (o.Timeout-time.Since(start))*share/100)
			l.Start = time.Time{}
		}
		return l
	}
	seen := res
	for i, with := range ways {
		q, err := with()
		if err != nil {
			return nil, err
		}
		share := time.Duration(100)
		if i < len(ways)-1 {
			share = 40
		}
		if res, err = run(ctx, q, left(share)); err != nil {
			return nil, err
		}
		res.Samples += seen.Samples
		res.Tests = union(seen.Tests, res.Tests)
		seen = res
		if res.Failure != nil {
			break
		}
	}
	res.Duration = time.Since(start)
	if res.Failure == nil && res.Slow == nil {
		res.Slow, res.SlowProgram = slow, of
	}
	return res, nil
}

// readings is the note of a failure that may need time to pass for a loop.
const readings = "it needs time to pass while a loop reads the clock"

// union is what is known of the tests of two explorations of the same program.
func union(a, b []machine.TestRun) []machine.TestRun {
	out := slices.Clone(a)
	for _, t := range b {
		i := slices.IndexFunc(out, func(x machine.TestRun) bool { return x.Name == t.Name })
		if i < 0 {
			out = append(out, t)
			continue
		}
		out[i].Ended, out[i].Skipped, out[i].Why = out[i].Ended || t.Ended, out[i].Skipped ||
			t.Skipped, cmp.Or(out[i].Why, t.Why)
	}
	return out
}

// explore explores a program as it is.
func explore(ctx context.Context, p *gosrc.Program, o Options) (*Result, error) {
	r := &run{p: p, o: o, start: o.Start, res: &Result{}}
	if r.start.IsZero() {
		r.start = time.Now()
	}
	r.o.Engine = cmp.Or(o.Engine, Auto)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.Timeout > 0 {
		ctx, cancel = context.WithDeadline(ctx, r.start.Add(o.Timeout))
		defer cancel()
	}
	r.program = p
	defer p.Halt(false)
	limit, err := memory.New(o.MaxMemory)
	if err != nil {
		return nil, mistake("%v", err)
	}
	defer limit.Release()
	var watching sync.WaitGroup
	full := false
	watching.Go(func() {
		full = watch(ctx, p, limit, cancel)
		r.halt()
	})
	defer watching.Wait()
	defer cancel()
	defer r.stop(nil)
	err = r.with(ctx, r.o.Engine)
	r.stop(nil)
	cancel()
	watching.Wait()
	r.res.Duration = time.Since(r.start)
	r.res.Fixed, r.res.Raced = p.Fixed(), p.Raced()
	r.res.Tests, r.res.Parallel = union(p.Tests(), r.res.Tests), p.Parallel()
	if u := p.Unsupported(); u != nil {
		return nil, u
	}
	if r.brokenOff || p.Halted() && (err != nil || r.res.Verdict == engine.Pass) {
		// An execution was broken off, or the replay of one, whatever the search thinks of it.
		err = nil
		r.res.Verdict, r.res.Reason = engine.Incomplete, r.why(ctx, "interrupted")
	}
	switch {
	case err != nil || r.res.Verdict == engine.Violated:
	case full && (r.res.Verdict == engine.Incomplete || p.GaveUp() != ""):
		r.res.Verdict, r.res.Reason = engine.Incomplete, limit.Reason()
	case p.GaveUp() != "":
		r.res.Verdict, r.res.Reason = engine.Incomplete, p.GaveUp()
	}
	return r.res, err
}

// with explores with one engine.
func (r *run) with(ctx context.Context, e Engine) (err error) {
	switch stateful := e == Full || e == Cartesian; {
	case r.o.Workers < 0:
		return mistake("%d workers", r.o.Workers)
	case stateful && r.p.Outcomes():
		return mistake("the engine %s does not collect outcomes; use dpor", e)
	case stateful:
		return r.stateful(ctx, e)
	}
	switch e {
	case Auto:
		return r.auto(ctx)
	case DPOR:
		_, err = r.dpor(ctx, r.p)
		return err
	case Random:
		return r.random(ctx)
	}
	return mistake("there is no engine %s", e)
}

// halting ends the computations of a program when the time is over, unless a failure is being
// explained.
type halting struct {
	mu      sync.Mutex
	over    bool // nothing is to be halted any more
	program *gosrc.Program
}

// halt ends the computations.
func (h *halting) halt() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.over {
		h.program.Halt(true)
	}
}

// stop makes halt do nothing from now on. Computations of p may run again, if it is not nil.
func (h *halting) stop(p *gosrc.Program) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	if p != nil {
		p.Halt(false)
	}
}

// watch ends the exploration when the program did what cannot be explored, or when the process has
// reached its limit of memory; full tells of the latter.
func watch(ctx context.Context, p *gosrc.Program, limit *memory.Limit,
	cancel context.CancelFunc) (full bool) {
	t := time.NewTicker(memory.CheckEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-t.C:
			full = limit.Check() != nil
			if full || p.Unsupported() != nil || p.GaveUp() != "" {
				cancel()
				return full
			}
		}
	}
}

func mistake(format string, args ...any) error {
	return &engine.OptionError{Message: fmt.Sprintf(format, args...)}
}

// run is one exploration.
type run struct {
	p     *gosrc.Program
	o     Options
	start time.Time
	res   *Result
	limit int // how long random schedules may be by now
	// brokenOff tells that all that failed was an execution that was broken off.
	brokenOff bool
	halting
	// covered says what the search with a bound on the timers has covered; alarmed tells
	// whether there was one.
	covered string
	alarmed bool
}

// options are what the engines of the kernel are asked for.
func (r *run) options(ctx context.Context) engine.Options {
	o := engine.Options{Workers: r.o.Workers, MaxMemory: r.o.MaxMemory, KeepTraces: true}
	if d, ok := ctx.Deadline(); ok {
		o.Timeout = max(time.Until(d), time.Millisecond)
	}
	return o
}

// auto runs a few random schedules, then the search with more of them beside it.
func (r *run) auto(ctx context.Context) error {
	if stop, err := r.warmUp(ctx); stop || err != nil {
		return err
	}
	s, err := r.searchBeside(ctx)
	switch {
	case err != nil || r.res.Verdict == engine.Violated || r.p.Unsupported() != nil ||
		r.p.GaveUp() != "":
		return err
	case s.hit != nil:
		return r.fail(s.hit)
	case r.res.Verdict == engine.Pass:
		return nil
	case s.covered != nil:
		return r.settle(s.covered)
	case ctx.Err() != nil:
		return nil
	}
	r.res.Endless = s.cyclic || s.goesOn == grows
	if !r.res.Endless && r.o.Share > 0 {
		return nil
	}
	if s.goesOn == grows {
		r.res.Reason = "executions need not end, and no state repeats"
	}
	return r.without(ctx, s.cyclic)
}

// warmUp runs a few random schedules. It returns stop if there is nothing more to do.
func (r *run) warmUp(ctx context.Context) (stop bool, err error) {
	if r.p.Outcomes() {
		return false, nil
	}
	s := newSampler(r.p, r.o.Seed)
	until := time.Now().Add(20 * time.Millisecond)
	for i := 0; i < 100 && time.Now().Before(until); i++ {
		if stop, err := r.sample(ctx, s, i); stop || err != nil {
			return true, err
		}
	}
	return false, nil
}

// searched is what a search has found out beside its result.
type searched struct {
	hit     *trace.Trace // a failure that a random schedule has found
	goesOn  repeats      // whether executions come to an end
	covered *covered     // a search with stored states that was done
	cyclic  bool         // states repeat
}

// searchBeside searches, with random schedules and a look at whether states repeat beside it. The
// search gets a part of the time; what is left goes to the bounds.
func (r *run) searchBeside(ctx context.Context) (searched, error) {
	var s searched
	searching, cancel := context.WithCancel(ctx)
	defer cancel()
	if r.o.Timeout > 0 {
		searching, cancel = context.WithDeadline(ctx, r.start.Add(r.o.Timeout*6/10))
		defer cancel()
	}
	if r.o.Share > 0 {
		searching, cancel = context.WithTimeout(searching, r.o.Share)
		defer cancel()
	}
	var out *stateless.Result
	hit, err := r.beside(searching, 1, func(ctx context.Context) (err error) {
		ctx, cancel := context.WithCancel(ctx)
		var probe sync.WaitGroup
		defer probe.Wait()
		defer cancel()
		probe.Go(func() {
			select {
			case <-ctx.Done():
			case <-time.After(probeAfter):
				if s.goesOn = r.comesAgain(ctx); s.goesOn == ends {
					s.covered = r.cover(ctx)
				}
				if s.goesOn != ends || s.covered != nil {
					cancel()
				}
			}
		})
		out, err = r.dpor(ctx, r.p)
		return err
	})
	s.hit = hit
	s.cyclic = s.goesOn == again || out != nil && strings.Contains(out.Reason, "cyclic")
	return s, err
}

// without continues without a search that covers everything: with stored states if they repeat,
// else with bounds.
func (r *run) without(ctx context.Context, cyclic bool) error {
	search := r.endless
	if !cyclic {
		search = func(ctx context.Context) error {
			if err := r.alarms(ctx, alarmShare); err != nil || r.res.Verdict != engine.Incomplete {
				return err
			}
			return r.bounds(ctx)
		}
	}
	hit, err := r.beside(ctx, 2, search)
	if err == nil && hit != nil && r.res.Verdict != engine.Violated {
		return r.fail(hit)
	}
	if r.res.Verdict == engine.Incomplete && r.covered != "" {
		r.res.Reason += "; " + r.covered
	}
	return err
}

// part returns a context that ends when so many percent of the time that is left are over.
func part(ctx context.Context, percent time.Duration) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, time.Now().Add(time.Until(end)*percent/100))
	}
	return context.WithCancel(ctx)
}

// probeAfter is how long the search without stored states may take before it is looked
// whether it will ever end.
const probeAfter = time.Second

// repeats says what executions at random do.
type repeats int

const (
	ends  repeats = iota // most of them end
	again                // a state comes twice in one, so that executions need not end
	grows                // the first ones do not end, timers go off, and no state comes twice
)

// At how many executions, of how many steps, one looks whether they end.
const (
	looks      = 100
	lookSteps  = 2000
	growsAfter = 5
)

// comesAgain tells what executions at random do.
func (r *run) comesAgain(ctx context.Context) repeats {
	p, err := r.p.WithoutRaces()
	if err != nil {
		return ends // the search says so
	}
	defer func() { _ = recover() }() // the search says so
	s := newSampler(p, r.o.Seed+4)
	seen := map[string]bool{}
	ended := false
	for i := 0; i < looks && ctx.Err() == nil; i++ {
		if i == growsAfter && !ended && p.Timed() && r.o.Timeout > 0 {
			return grows
		}
		clear(seen)
		s.begin(p)
		for len(s.steps) < lookSteps && ctx.Err() == nil {
			if s.step(false, false).Kind != system.Moved || s.m.(*machine.Machine).Over() {
				ended = true
				break
			}
			s.buf = s.m.Encode(s.buf)
			key := stateKey(s.buf, nil)
			if seen[string(key)] {
				return again
			}
			seen[string(key)] = true
		}
	}
	return ends
}

// beside runs a search, and random schedules beside it until it is done; one that
// fails ends the search and is returned.
func (r *run) beside(ctx context.Context, seed uint64,
	search func(context.Context) error) (*trace.Trace, error) {
	if r.p.Outcomes() {
		return nil, search(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := r.p // failIn takes another one for a while
	var g sync.WaitGroup
	var hit *trace.Trace
	var broken *workers.PanicError
	samples := uint64(0)
	g.Go(func() {
		defer func() {
			if v := recover(); v != nil {
				broken = &workers.PanicError{Value: v, Stack: debug.Stack()}
				cancel()
			}
		}()
		s := newSampler(p, r.o.Seed+seed)
		s.limit = max(s.limit, r.limit)
		for i := 0; ctx.Err() == nil; i++ {
			failed, _ := s.run(ctx, p, i)
			r.limit = s.limit
			if p.Unsupported() != nil || p.GaveUp() != "" {
				cancel()
				return
			}
			samples++
			if failed {
				hit = &trace.Trace{Steps: slices.Clone(s.steps)}
				cancel()
				return
			}
		}
	})
	err := search(ctx)
	cancel()
	g.Wait()
	r.res.Samples += samples
	if broken != nil {
		return nil, broken
	}
	return hit, err
}

// random runs random schedules until the time is over.
func (r *run) random(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok {
		return mistake("random schedules never end: set -timeout")
	}
	s := newSampler(r.p, r.o.Seed)
	for i := 0; ctx.Err() == nil; i++ {
		if stop, err := r.sample(ctx, s, i); stop || err != nil {
			return err
		}
	}
	r.res.Verdict, r.res.Reason = engine.Incomplete, "random schedules cover nothing"
	return nil
}

// sample runs one execution at random; stop tells whether that was enough.
func (r *run) sample(ctx context.Context, s *sampler, i int) (stop bool, err error) {
	failed, _ := s.run(ctx, r.p, i)
	r.limit = s.limit
	if r.p.Unsupported() != nil || r.p.GaveUp() != "" {
		return true, nil
	}
	r.res.Samples++
	if !failed {
		return false, nil
	}
	return true, r.fail(&trace.Trace{Steps: slices.Clone(s.steps)})
}

// fail makes a failing execution the result.
func (r *run) fail(t *trace.Trace) error {
	// What ends when computations are halted may have failed for no other reason.
	doubtful := r.p.Halted()
	r.stop(r.p)
	if doubtful && !breaksOff(r.p, time.Now().Add(overtime), func() {
		t.Violation = violationOf(r.p, t)
	}) {
		r.brokenOff = true
		return nil
	}
	f, err := explain(r.p, t, r.explained())
	if err != nil && doubtful {
		r.brokenOff = true
		return nil
	}
	if err != nil {
		return err
	}
	r.res.Verdict, r.res.Failure, r.res.Program, r.res.Reason = engine.Violated, f, r.p, ""
	return nil
}

// dpor searches a program with optimal dynamic reduction: that of the run, or one whose
// executions are some of its own.
func (r *run) dpor(ctx context.Context, p *gosrc.Program) (*stateless.Result, error) {
	var mu sync.Mutex
	outcomes := map[string]bool{}
	so := stateless.Options{Options: r.options(ctx), Reduction: stateless.DPOR}
	if p.Outcomes() {
		so.All = true
		so.Executed = func(m system.Machine) {
			s := Outcome(m.(*machine.Machine))
			mu.Lock()
			outcomes[s] = true
			mu.Unlock()
		}
	}
	if list := p.Explore().Scenarios; len(list) > 1 {
		searching, ended, done := watched(ctx, r.o.few)
		so.Executed = func(m system.Machine) { ended(m.(*machine.Machine)) }
		ctx = searching
		defer func() { r.res.done = done() }()
	}
	out, err := stateless.Run(ctx, p.System, so)
	if out == nil {
		return nil, err
	}
	r.res.Verdict, r.res.Reason = out.Verdict, r.why(ctx, out.Reason)
	r.res.Executions += out.Executions
	r.res.Transitions += out.Transitions
	r.res.Outcomes = slices.Sorted(maps.Keys(outcomes))
	if err == nil && len(out.Violations) > 0 && out.Violations[0].Trace != nil {
		t := out.Violations[0].Trace
		if list := p.Explore().Scenarios; len(list) > 1 {
			p = p.WithScenarios(list[t.Initial : t.Initial+1])
			t.Initial = 0
		}
		err = r.failIn(p, t)
	}
	return out, err
}

// why returns why a search did not cover everything: a part of the time that it was
// given is the user's time-out.
func (r *run) why(ctx context.Context, reason string) string {
	if reason != "" && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Sprintf("time-out after %v", cmp.Or(r.o.asked, r.o.Timeout))
	}
	return reason
}

// stateful searches with stored states.
func (r *run) stateful(ctx context.Context, e Engine) error {
	p, err := r.p.Stored()
	if err != nil {
		return err
	}
	factory := full.Factory(p.System)
	if e == Cartesian {
		factory = func() search.Expander { return cartesian.New(p.System, cartesian.Options{}) }
	}
	out, err := search.Run(ctx, p.System, factory, search.Options{Options: r.options(ctx)})
	if out == nil {
		return err
	}
	r.res.Verdict, r.res.Reason = out.Verdict, r.why(ctx, out.Reason)
	r.res.States, r.res.Transitions = out.States, r.res.Transitions+out.Transitions
	if u := p.Unsupported(); u != nil {
		return u
	}
	if err == nil && p.GaveUp() != "" && out.Verdict != engine.Violated {
		r.res.Verdict, r.res.Reason = engine.Incomplete, p.GaveUp()
	}
	if err == nil && len(out.Violations) > 0 && out.Violations[0].Trace != nil {
		old := r.p
		r.p = p
		err = r.fail(out.Violations[0].Trace)
		r.p = old
	}
	return err
}

// bounds explores with growing bounds on the preemptions until the time is over.
func (r *run) bounds(ctx context.Context) error {
	broken := func() bool { return r.p.Unsupported() != nil || r.p.GaveUp() != "" }
	b := &bounded{ctx: ctx, p: r.p, broken: broken, m: r.p.NewMachine()}
	covered := b.upward()
	if b.found {
		return r.fail(b.failing())
	}
	if !broken() {
		r.res.Verdict = engine.Incomplete
		r.res.Reason += preemptions(covered)
	}
	return nil
}

// How long it may take to look for a shorter schedule that fails, and how much of that may lie
// behind the user's time-out. A step that computes for long is broken off a little later.
const (
	shortening = 3 * time.Second
	overtime   = 400 * time.Millisecond
	reporting  = 300 * time.Millisecond
	breakOff   = 100 * time.Millisecond
)

// explained returns until when a failure may be made shorter.
func (r *run) explained() time.Time {
	until := time.Now().Add(shortening)
	if r.o.Timeout == 0 {
		return until
	}
	end := r.start.Add(r.o.Timeout)
	if now := time.Now(); end.Before(now) {
		end = now
	}
	if end = end.Add(overtime); end.Before(until) {
		return end
	}
	return until
}

// grace is for how long after the time-out a failure may still be looked at natively: a tenth of
// the time-out or a second, as promised, less the time for the report.
func (o Options) grace() time.Duration {
	return max(o.Timeout/10, time.Second) - reporting
}

// over returns a function that tells whether a moment has passed.
func over(until time.Time) func() bool {
	return func() bool { return !time.Now().Before(until) }
}

// minimizeScale divides the bounds of the search for a short failing schedule: a
// transition of a Go program takes much longer than one of a model.
const minimizeScale = 32

// Outcome says how the execution ended whose last state is the live one of m: what
// was printed and, in brackets, what went wrong.
func Outcome(m *machine.Machine) string {
	s := m.Output()
	for _, v := range m.Failed() {
		s += fmt.Sprintf("[%s: %s]", v.Kind, v.Message)
	}
	if some, first := m.Stuck(); first {
		s += "[deadlock]"
	} else if some {
		s += "[leak]"
	}
	return s
}

// Explain looks for a shorter execution that fails in the same way as the one that was
// found, and says what happened in it.
func Explain(p *gosrc.Program, t *trace.Trace) (*Failure, error) {
	return explain(p, t, time.Now().Add(shortening))
}

// explain is Explain, which looks for a shorter execution until then.
func explain(p *gosrc.Program, t *trace.Trace, until time.Time) (*Failure, error) {
	if t.Violation == nil {
		t.Violation = violationOf(p, t)
	}
	if t.Violation.Kind == system.Deadlock && goesOn(p, t.Steps) {
		// Time passes forever.
		short := t.Steps
		if !breaksOff(p, until, func() { short = shortenLost(p, t.Steps, over(until)) }) {
			short = t.Steps
		}
		return Repeat(p, &trace.Trace{Steps: short, Violation: t.Violation})
	}
	if len(t.Steps) < maxSteps {
		short := t
		whole := breaksOff(p, until, func() {
			short = trace.Shorten(p.System, []*trace.Trace{t}, trace.Shortening{
				Scale: minimizeScale, Expired: over(until)})[0].Trace
		})
		// States that were stored do not know what the clock shows and what happened
		// before: only what fails from the beginning counts.
		short = &trace.Trace{Initial: short.Initial, Steps: short.Steps, Violation: short.Violation}
		if v := violationOf(p, short); whole && v.Kind == t.Violation.Kind &&
			(v.Kind == system.Deadlock || v.Message == t.Violation.Message) {
			t = short
		}
	}
	f, err := Repeat(p, t)
	if err == nil && f.Note != "" {
		// This decides whether the failure counts, so it gets time of its own.
		if g, err := Repeat(p, unhurried(p, t, over(time.Now().Add(overtime)))); err == nil &&
			g.Note == "" && g.Kind == f.Kind && g.Message == f.Message {
			return g, nil
		}
	}
	return f, err
}

// breaksOff runs f, which is to end by itself when a moment has passed. Computations of p that
// still run a little later are halted; the result tells whether none was.
func breaksOff(p *gosrc.Program, until time.Time, f func()) (whole bool) {
	halted := make(chan struct{})
	alarm := time.AfterFunc(time.Until(until)+breakOff, func() {
		p.Halt(true)
		close(halted)
	})
	f()
	if alarm.Stop() {
		return true
	}
	<-halted
	p.Halt(false)
	return false
}

// unhurried returns an execution like t in which time passes only when nobody can run: the
// goroutines go on as there, and whoever else can run does so before time passes. It is cut off
// when the time is over.
func unhurried(p *gosrc.Program, t *trace.Trace, expired func() bool) *trace.Trace {
	m := p.NewMachine().(*machine.Machine)
	out := &trace.Trace{Initial: t.Initial}
	left := slices.Clone(t.Steps)
	failed := false
	step := func(s trace.Step) bool {
		if m.Early(s.Thread) {
			return false
		}
		got := m.Step(s.Thread, s.Alt)
		if got.Kind != system.Moved {
			return false
		}
		out.Steps = append(out.Steps, s)
		failed = got.Violation != nil
		return true
	}
	for limit := 2*len(t.Steps) + 100; limit > 0 && !failed && !expired(); limit-- {
		moved := false
		waiting := map[int]bool{} // goroutines that cannot take their next step
		for i, s := range left {
			if !waiting[s.Thread] && step(s) {
				left, moved = slices.Delete(left, i, i+1), true
				break
			}
			waiting[s.Thread] = true
		}
		for i := 0; i < m.NumThreads() && !moved; i++ {
			moved = step(trace.Step{Thread: i})
		}
		if !moved {
			break
		}
	}
	return out
}

// Repeat repeats a failing execution as it is, and says what happened. It is an error if a
// step cannot be taken, or if nothing fails.
func Repeat(p *gosrc.Program, t *trace.Trace) (*Failure, error) {
	if t.Violation == nil {
		t.Violation = violationOf(p, t)
	}
	var steps []machine.TraceStep
	for _, s := range t.Steps {
		steps = append(steps, machine.TraceStep{Thread: s.Thread, Alt: s.Alt})
	}
	e, err := p.Replay(steps)
	if err != nil {
		return nil, err
	}
	f := &Failure{Trace: t, late: e.Late}
	f.Output, f.History = trace.CutHistory(e.Output)
	for _, s := range e.Stacks {
		f.Stacks = append(f.Stacks, stackOf(s))
	}
	if e.Early {
		f.Slept = Frame{Func: e.Slept.Func, Pos: e.Slept.Pos}
		f.Note = "it needs time to pass while a goroutine could run"
	}
	if v := e.Violation; v != nil {
		f.Kind, f.Message, f.Pos = FailureKind(v.Kind), v.Message, v.Pos
		return f, nil
	}
	stuck := e.Stacks
	if e.GoesOn {
		// No engine takes this for the end of an execution.
		f.Trace = &trace.Trace{Steps: t.Steps}
		stuck, f.Stacks = e.Lost, f.Stacks[:0]
		for _, s := range stuck {
			f.Stacks = append(f.Stacks, stackOf(s))
		}
	}
	if len(stuck) == 0 {
		return nil, errors.New("nothing fails in this execution")
	}
	f.Kind = Deadlock
	if e.MainEnded {
		f.Kind = Leak
	}
	var names []string
	for _, s := range f.Stacks {
		names = append(names, s.Goroutine)
	}
	if len(f.Stacks) > 0 && len(f.Stacks[0].Frames) > 0 {
		f.Pos = f.Stacks[0].Frames[0].Pos
	}
	f.Message = waitForEver(f.Kind, names)
	if e.GoesOn {
		f.Message += ", whatever those do that go on"
	}
	return f, nil
}

// waitForEver is the message of a deadlock or a leak.
func waitForEver(kind FailureKind, names []string) string {
	what := "deadlock:"
	if kind == Leak {
		what = "leak: the test has ended, and"
	}
	verb := "wait"
	if len(names) == 1 {
		verb = "waits"
	}
	return fmt.Sprintf("%s %s %s forever", what, strings.Join(names, ", "), verb)
}

func stackOf(s machine.Stack) Stack {
	x := Stack{Goroutine: s.Goroutine, What: s.What}
	for _, c := range s.Frames {
		x.Frames = append(x.Frames, Frame{Func: c.Func, Pos: c.Pos})
	}
	return x.cut()
}

// violationOf returns what an execution violates at its end.
func violationOf(p system.System, t *trace.Trace) *system.Violation {
	m := p.NewMachine()
	m.Track(true)
	trace.Foresee(m, t.Steps)
	for i, s := range t.Steps {
		if out := m.Step(s.Thread, s.Alt); out.Violation != nil {
			t.Steps = t.Steps[:i+1]
			v := *out.Violation
			v.Also = nil
			return &v
		}
	}
	return &system.Violation{Kind: system.Deadlock, Message: "deadlock"}
}
