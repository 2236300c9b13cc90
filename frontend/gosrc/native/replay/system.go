package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cpor/frontend/gosrc/native"
	"cpor/system"
	"cpor/trace"
)

// Names says what threads are called.
type Names interface{ ThreadName(t int32) string }

// System is a program that is run again and again. Its methods may be called from many
// goroutines at once.
type System struct {
	*program
	view View
}

// View is which of a program's executions a system has.
type View struct {
	Time Time
	// NoFailed ends an execution quietly where the test calls t.Error or t.Fatal.
	NoFailed bool
	// NoLeaks accepts threads that wait forever when the test has ended.
	NoLeaks bool
	// Alarms is how many alarms may go off in an execution; 0: any number. Where another one
	// would go off, nobody waits in vain.
	Alarms int
}

// Time says when time passes.
type Time uint8

// The ways.
const (
	// Any: while somebody can run as well.
	Any Time = iota
	// Patient: as Any, except that it does not pass for the sleeps of the test itself.
	Patient
	// Idle: only when nobody can run.
	Idle
)

// With returns another view of the same program. What is known of it is shared.
func (s *System) With(v View) *System { return &System{s.program, v} }

// program is what all views share.
type program struct {
	ctx   context.Context
	open  func() (native.Process, error)
	names Names
	o     Options

	graph graph
	lines lines
	first []bool        // the threads of the beginning
	said  string        // what the first execution printed
	steps uint64        // see Alone
	exact atomic.Bool   // what threads are about to touch is what they touch
	idle  chan struct{} // a token for each process that may run
	mu    sync.Mutex
	free  []native.Process

	runs, looked, verified, events, ends atomic.Uint64

	longest atomic.Int64 // that it took to run it once, in nanoseconds

	raced atomic.Bool // there are data races in graph

	outside      atomic.Pointer[[]string]
	fixed        atomic.Pointer[[]string]
	wroteOutside atomic.Bool
	cut          atomic.Bool
	spent        atomic.Bool   // an alarm has not gone off because of View.Alarms
	mode         atomic.Uint32 // a native.Mode
	tests        tests
	broken       *native.Diverged
}

// Options say how programs are run.
type Options struct {
	Processes int // at most so many at once; 0: one
	// MaxSteps: after so many free steps an execution is cut off; 0: never. See [System.Alone].
	MaxSteps int
	Readings int // native.Policy.Readings
	Alarms   int // of the first execution: native.Policy.Alarms
}

// aloneFactor is how many times Options.MaxSteps a thread may take that is alone.
const aloneFactor = 10

// ErrEndless is the error for an execution that was cut off after Options.MaxSteps.
var ErrEndless = errors.New("an execution takes so many steps that it may have no end")

// ErrTooLarge is the error for an execution that took too much memory or time.
var ErrTooLarge = errors.New("an execution takes too much memory or time")

// New returns the system of a program of which open makes processes. It runs it once, or more often
// if one thread takes many steps ([System.Alone]). If what that tells does not fit together, there
// is nothing to search, see [System.Broken]. Close ends the processes. When ctx is canceled, a step
// that needs an execution panics with a *[Stop].
func New(ctx context.Context, open func() (native.Process, error), names Names, o Options) (*System,
	error) {
	s := &System{program: &program{ctx: ctx, open: open, names: names, o: o,
		idle: make(chan struct{}, max(1, o.Processes))}}
	s.exact.Store(true)
	for range cap(s.idle) {
		s.idle <- struct{}{}
	}
	s.graph.places = map[string][]*event{}
	s.graph.races = map[string]*system.Violation{}
	s.graph.complete = map[string]bool{}
	long := false
	first := native.Policy{Alarms: o.Alarms}
	err := s.execute(nil, first, func(x *native.Execution) error {
		if long = x.End == native.Cut && o.Readings == 0 && alone(x); long {
			return nil
		}
		return s.begin(x)
	})
	if err == nil && long {
		err = s.runAlone()
	}
	if err != nil && !errors.As(err, &s.broken) {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// begin makes the first execution known.
func (s *System) begin(x *native.Execution) error {
	for i := range x.First {
		t := int(x.First[i].Thread)
		for t >= len(s.first) {
			s.first = append(s.first, false)
		}
		s.first[t] = true
	}
	m := &Machine{s: s, threads: len(s.first)}
	s.said = string(x.Output)
	sc := &script{}
	if err := m.absorb(x, 0, sc); err != nil {
		return err
	}
	m.drop(sc)
	return nil
}

// alone tells whether one thread has run, has created no other one, had no choice, and has not
// failed. Then there is no other execution.
func alone(x *native.Execution) bool {
	chooses := func(p native.Pending) bool { return p.Enabled > 1 }
	return len(x.First) == 1 && !chooses(x.First[0]) &&
		!slices.ContainsFunc(x.Steps, func(st native.Step) bool {
			return st.Created || st.Failure != nil || st.Thread != x.First[0].Thread ||
				slices.ContainsFunc(st.After, chooses)
		})
}

// runAlone runs a program with one thread that takes more than Options.MaxSteps steps, perhaps
// only because it has a long loop. It does so twice, with more steps, to see whether that gives the
// same.
func (s *program) runAlone() error {
	var hash uint64
	for i := range 2 {
		err := s.execute(nil, native.Policy{MaxSteps: aloneFactor * s.o.MaxSteps},
			func(x *native.Execution) error {
				switch {
				case x.End == native.TooLarge:
					return ErrTooLarge
				case x.End != native.Passed && x.End != native.Skipped || !alone(x):
					return ErrEndless
				case i == 0:
					hash, s.said, s.steps = x.Hash, string(x.Output), uint64(len(x.Steps))
				case hash != x.Hash:
					return &native.Diverged{What: "the same program does something else"}
				}
				return nil
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// Alone returns the number of steps of a program that has one thread, takes more than
// Options.MaxSteps steps, and passes: it has only this execution, so there is nothing to search.
// For other programs it returns 0.
func (s *program) Alone() uint64 { return s.steps }

// Said returns what the first execution printed.
func (s *program) Said() string { return s.said }

// Broken returns in which way the first execution shows that the program depends on more than its
// choices; nil if it does not. Such a system can be sampled only.
func (s *program) Broken() *native.Diverged { return s.broken }

// Close ends the processes.
func (s *program) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, p := range s.free {
		errs = append(errs, p.Close())
	}
	s.free = nil
	return errors.Join(errs...)
}

// Initial implements [system.System].
func (s *System) Initial() []system.State { return []system.State{{0}} }

// NewMachine implements [system.System].
func (s *System) NewMachine() system.Machine {
	return &Machine{s: s, threads: len(s.first)}
}

// execute runs the program once, and gives f what happened.
func (s *program) execute(prefix []native.Choice, p native.Policy,
	f func(*native.Execution) error) (err error) {
	entered := s.enter(func(process native.Process) (broken bool) {
		broken, err = s.runOnce(process, prefix, p, f)
		return broken
	})
	return errors.Join(entered, err)
}

// enter calls f with a process when one may run. If f says that it is broken, it is closed.
func (s *program) enter(f func(process native.Process) (broken bool)) error {
	select {
	case <-s.idle:
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
	defer func() { s.idle <- struct{}{} }()
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	process, err := s.take()
	if err != nil {
		return err
	}
	if f(process) {
		return process.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, process)
	return nil
}

// runOnce runs the program once, and gives f what happened. It tells whether the process is broken.
func (s *program) runOnce(process native.Process, prefix []native.Choice, p native.Policy,
	f func(*native.Execution) error) (broken bool, err error) {
	begin := time.Now()
	x, err := s.run(process, prefix, p)
	if err != nil {
		return !errors.As(err, new(*native.Diverged)), err
	}
	err = f(x)
	s.took(time.Since(begin))
	return false, err
}

// deliver runs the program for each order, and then for what those have planned, all in one
// exchange with the process. That costs less than to run it later. What is not done is to be
// ordered again.
func (s *program) deliver(orders []*order) {
	err := s.enter(func(process native.Process) (broken bool) {
		for _, o := range orders[1:] {
			process.Expect(o.prefix, s.policy(o.prefix, o.m.policy(o.known)))
		}
		for _, o := range orders {
			for _, pl := range o.plans {
				prefix := o.m.prefixOf(pl)
				process.Expect(prefix, s.policy(prefix, o.m.policy(pl.depth)))
			}
		}
		for _, o := range orders {
			o.done = true
			broken, o.err = s.runOnce(process, o.prefix, o.m.policy(o.known), o.f)
			if broken {
				return true
			}
		}
		for _, o := range orders {
			for _, pl := range o.plans {
				if o.err != nil {
					break
				}
				x, err := s.run(process, o.m.prefixOf(pl), o.m.policy(pl.depth))
				switch {
				case err == nil:
					o.err = o.m.absorbPlan(x, pl)
				case !errors.As(err, new(*native.Diverged)):
					return true // the engine will see the error when it gets there
				}
			}
		}
		return false
	})
	for _, o := range orders {
		if err != nil && !o.done {
			o.done, o.err = true, err
		}
	}
}

// took notes how long it has taken to run the program once.
func (s *program) took(d time.Duration) {
	for {
		old := s.longest.Load()
		if int64(d) <= old || s.longest.CompareAndSwap(old, int64(d)) {
			return
		}
	}
}

// Longest returns how long it has taken at most to run the program once.
func (s *program) Longest() time.Duration { return time.Duration(s.longest.Load()) }

// Stopped returns why the program is not run any more; nil if it is.
func (s *program) Stopped() error { return context.Cause(s.ctx) }

// run runs the program once.
func (s *program) run(process native.Process, prefix []native.Choice,
	p native.Policy) (*native.Execution, error) {
	s.runs.Add(1)
	x, err := process.Run(s.ctx, prefix, s.policy(prefix, p))
	s.mode.Store(uint32(process.Mode()))
	if err == nil {
		s.note(x)
	}
	return x, err
}

// policy completes a policy.
func (s *program) policy(prefix []native.Choice, p native.Policy) native.Policy {
	if p.MaxSteps == 0 && s.o.MaxSteps > 0 {
		p.MaxSteps = len(prefix) + s.o.MaxSteps
	}
	p.Readings = s.o.Readings
	return p
}

func (s *program) take() (native.Process, error) {
	s.mu.Lock()
	if n := len(s.free); n > 0 {
		p := s.free[n-1]
		s.free = s.free[:n-1]
		s.mu.Unlock()
		return p, nil
	}
	s.mu.Unlock()
	return s.open()
}

// note notes what matters for the verdict.
func (s *program) note(x *native.Execution) {
	if x.WroteOutside {
		s.wroteOutside.Store(true)
	}
	if x.End == native.TooLarge {
		s.cut.Store(true)
	}
	s.tests.note(x.Tests)
	collect(&s.outside, x.Outside)
	collect(&s.fixed, x.Fixed)
}

// collect adds to a list what is not there.
func collect(to *atomic.Pointer[[]string], names []string) {
	for _, name := range names {
		for {
			old := to.Load()
			var list []string
			if old != nil {
				list = *old
			}
			if slices.Contains(list, name) {
				break
			}
			list = append(slices.Clone(list), name)
			if to.CompareAndSwap(old, &list) {
				break
			}
		}
	}
}

// same tells whether a step is an event.
func (s *program) same(ev *event, st *native.Step) bool {
	if ev.thread != st.Thread || ev.alt != st.Alt || (ev.fault != nil) != (st.Failure != nil &&
		st.Failure.Kind != raced) {
		return false
	}
	if st.Hash != 0 && (len(st.Accesses) == 0 || ev.told != 0) {
		return st.Hash == ev.told // which covers what the step has seen of files
	}
	for i, a := range st.Accesses {
		if i >= len(ev.acc) || ev.acc[i].Loc != located(a.Loc) || ev.acc[i].Write != a.Write {
			// Their order is that in which threads were made.
			return sameAccesses(relocated(st.Accesses), ev.acc)
		}
	}
	return len(st.Accesses) == len(ev.acc) || ev.acc[len(st.Accesses)].Loc%3 == 1
}

// remember notes what leads to an encoded state.
func (s *program) remember(state system.State, path []*event) {
	s.graph.mu.Lock()
	defer s.graph.mu.Unlock()
	if k := key(state); s.graph.places[k] == nil {
		s.graph.places[k] = slices.Clone(path)
	}
}

// placeOf returns what leads to an encoded state.
func (s *program) placeOf(state system.State) []*event {
	s.graph.mu.Lock()
	defer s.graph.mu.Unlock()
	return s.graph.places[key(state)]
}

// Counts is what a search has cost.
type Counts struct {
	Runs   uint64 // executions of the program
	Looked uint64 // of these, those to find out what a thread would do
	// Verified counts those of executions all of whose events were known.
	Verified uint64
	Events   uint64 // transitions with different pasts
}

// Counts returns what it has cost so far.
func (s *program) Counts() Counts {
	return Counts{Runs: s.runs.Load(), Looked: s.looked.Load(), Verified: s.verified.Load(),
		Events: s.events.Load()}
}

// Outside names what executions used that is not under control.
func (s *program) Outside() []string { return collected(&s.outside) }

// Fixed names choices of the run-time of which one alternative was taken.
func (s *program) Fixed() []string { return collected(&s.fixed) }

func collected(from *atomic.Pointer[[]string]) []string {
	if l := from.Load(); l != nil {
		return *l
	}
	return nil
}

// Cut tells whether an execution was cut off because it takes too much memory or time.
func (s *program) Cut() bool { return s.cut.Load() }

// Title returns the name of a thread, with a number among those of the same name: worker #2
// (made pool.go:18). That of a test or subtest is the test's name.
func (s *program) Title(t int32) string {
	if name := s.tests.of(t); name != "" {
		return name
	}
	name := s.names.ThreadName(t)
	what, where, ok := strings.Cut(name, " (made ")
	if !ok {
		return name
	}
	n := 1
	for x := range t {
		if s.names.ThreadName(x) == name {
			n++
		}
	}
	return fmt.Sprintf("%s #%d (made %s", what, n, where)
}

// Mode tells how executions begin equal.
func (s *program) Mode() native.Mode { return native.Mode(s.mode.Load()) }

// Spent tells whether an alarm that was due has not gone off because of [View.Alarms].
func (s *program) Spent() bool { return s.spent.Load() }

// ForgetSpent makes Spent tell of executions from now on.
func (s *program) ForgetSpent() { s.spent.Store(false) }

// Sample runs the program once by a policy. It returns the steps, up to the first failure, and
// whether there was one; f is given what happened, and the same, if the execution has ended or
// failed.
func (s *program) Sample(p native.Policy, f func(x *native.Execution, failed bool)) (
	steps []trace.Step, failed, ended bool, err error,
) {
	err = s.execute(nil, p, func(x *native.Execution) error {
		for i := range x.Steps {
			st := &x.Steps[i]
			steps = append(steps, trace.Step{Thread: int(st.Thread), Alt: uint64(st.Alt)})
			if failed = st.Failure != nil; failed {
				break
			}
		}
		ended = x.End != native.Cut && x.End != native.Spent && x.End != native.TooLarge
		failed = (ended || x.End == native.Spent) && (failed || x.Failure != nil)
		if ended || failed {
			f(x, failed)
		}
		return nil
	})
	return steps, failed, ended, err
}

// Repeat runs the program once, with these steps and so many further ones, and gives f what
// happened. That is valid until f returns.
func (s *program) Repeat(steps []trace.Step, further int, f func(*native.Execution)) error {
	prefix := make([]native.Choice, len(steps))
	for i, st := range steps {
		prefix[i] = native.Choice{Thread: int32(st.Thread), Alt: int32(st.Alt)}
	}
	return s.execute(prefix, native.Policy{MaxSteps: max(1, len(steps)+further)},
		func(x *native.Execution) error {
			f(x)
			return nil
		})
}

// lines are the lines of source files.
type lines struct {
	mu    sync.Mutex
	files map[string][]string
}

// at returns the line of a place without what surrounds it; empty if it cannot be read.
func (l *lines) at(p system.Pos) string {
	if p.Line == 0 {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	text, ok := l.files[p.File]
	if !ok {
		if b, err := os.ReadFile(p.File); err == nil {
			text = strings.Split(string(b), "\n")
		}
		if l.files == nil {
			l.files = map[string][]string{}
		}
		l.files[p.File] = text
	}
	if p.Line > len(text) {
		return ""
	}
	return strings.TrimSpace(text[p.Line-1])
}
