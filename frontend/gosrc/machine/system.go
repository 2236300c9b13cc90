package machine

import (
	"errors"
	"fmt"
	"go/types"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v3"

	"cpor/frontend/gosrc/compile"
	"cpor/frontend/gosrc/loader"
	"cpor/system"
)

// stepBudget is the number of instructions after which a computation that does not synchronize
// is abandoned.
const stepBudget = 50_000_000

// setupBudget is the same for an initializer, which runs once for all executions.
const setupBudget = 10 * stepBudget

// outOfMemory is the budget of a computation that has taken too much memory: it is abandoned
// like an endless one.
const outOfMemory = -1 << 60

// Options say how a program is explored.
type Options struct {
	NoRaces bool // do not look for data races
	NoLeaks bool // goroutines may wait forever when the test has ended
	// Outcomes makes output part of the state.
	Outcomes bool
	// Idle lets time pass only when no goroutine can run. In a bubble of package
	// testing/synctest it always does.
	Idle bool
	// Patient is Idle for the sleeps of the test itself, see [Machine.testSleeps].
	Patient bool
	// Readings is how often a goroutine reads the clock in one place before time passes for
	// it; 0: 16.
	Readings int
	// NoFailed ends an execution quietly where the test fails, and where it panics when
	// its own time-out has expired.
	NoFailed bool
	// Short is what testing.Short returns.
	Short bool
	// Draws makes a random number below n, for n up to MaxPick, a choice.
	Draws bool
	// Dir is the working directory, an absolute path.
	Dir string
	// Args are the arguments of the program, without its name.
	Args []string
	// Stored: the search stores states. The vector clocks are part of them, and the clock that
	// the program reads advances only for alarms.
	Stored bool
	// Adjacent: a search with Stored looks for races of steps next to each other itself, so the
	// vector clocks are not part of states.
	Adjacent bool
	// Alarms is how many alarms may go off in an execution; 0: any number. An execution in
	// which another one would go off ends there quietly.
	Alarms int
	// Halted, once it is true, ends every computation: its result is meaningless. Nil: never.
	Halted *atomic.Bool
	// MaxMemory is how many bytes the process may take before an execution that needs more is
	// abandoned; 0: no limit.
	MaxMemory uint64
	// Scenarios are those of package check, each with an initial state of its own; none: check
	// says what it could generate.
	Scenarios []string
	// Seen collects what the program sees of the disk; nil: nothing does.
	Seen *Seen
	// Chosen reports whether a subtest is run; nil: all.
	Chosen func(name string) bool
}

// Unsupported is the error for a program that does what cannot be explored.
type Unsupported struct {
	What string
	Path []Place // the calls that lead there, the innermost first
}

// Place is a call with its place.
type Place struct {
	Func string
	Pos  system.Pos
}

func (u *Unsupported) Error() string { return u.What }

// System is a program: one test, or main.
type System struct {
	p     *compile.Program
	o     Options
	title string // the name of the first goroutine
	// runs is what goroutines run, for their names: by number, the function seen last.
	runs    sync.Map
	threads system.Names[threadName]
	locs    system.Names[locName]
	races   bool
	noLeaks bool
	ends    bool // the end of the first goroutine ends all
	// Some goroutines may run in a bubble of testing/synctest, or wait until nothing can run.
	bubbles bool
	counts  bool // the program asks how many goroutines there are
	polls   bool // the program has a select with a default
	old     bool // timers as before Go 1.23
	// nilPanics: panic(nil) is a panic with no value, as before Go 1.21.
	nilPanics bool

	crash                                 *compile.Func
	gopanic, goexit                       *compile.Func // of the run-time, for stacks
	runtimeError, plainError, assertError *compile.Type
	stringType, errorType, wordType       *compile.Type
	nilPanic                              *compile.Type

	zones zones
	disk  disk

	// readsClock: the program can read the clock.
	readsClock bool
	failures   system.Names[violationName]

	first   *Machine // in the initial state
	owners  map[uint32]uint32
	initial system.State
	// scenarios are the initial states if there are scenarios.
	scenarios []system.State
	// specs are their specifications, nil where histories are kept.
	specs []*spec

	timed   atomic.Bool  // an alarm has gone off
	cut     atomic.Bool  // one has not because of Options.Alarms
	drawn   atomic.Bool  // a random number was drawn
	pooled  atomic.Bool  // a value came out of a sync.Pool
	counted atomic.Bool  // goroutines were counted when some had ended
	growing atomic.Int64 // bytes that memories are about to grow by
	full    atomic.Bool  // the process may not take more memory
	waited  atomic.Bool  // time has passed for a loop that reads the clock
	ranged  atomic.Bool  // a map of several entries was ranged over
	raced   *xsync.MapOf[system.Loc, string]

	tests tests // those that ran, and how they ended

	// By object: why it was not set.
	poison map[uint32]poison

	mu          sync.Mutex
	described   []string
	unmerged    string // why histories must be kept
	unsupported *Unsupported
	gaveUp      string
}

// Test makes the system of a test function; main is the package's TestMain, or nil.
func Test(l *compile.Program, fn, main *compile.Func, name string, o Options) (*System, error) {
	s, err := newSystem(l, o)
	if err != nil {
		return nil, err
	}
	s.title = name
	entry := l.Lookup("testing", "cporTest")
	args := []uint64{l.String(name), compile.StaticFunc | uint64(fn.Index), 0}
	if main != nil {
		args[2] = compile.StaticFunc | uint64(main.Index)
	}
	return s, s.begin(entry, args)
}

// Main makes the system of a main function.
func Main(l *compile.Program, fn *compile.Func, o Options) (*System, error) {
	s, err := newSystem(l, o)
	if err != nil {
		return nil, err
	}
	s.ends, s.title = true, "main"
	return s, s.begin(l.Lookup("internal/cpor", "runMain"),
		[]uint64{compile.StaticFunc | uint64(fn.Index)})
}

// Compile makes the program that systems are made of.
func Compile(l *loader.Program, mode compile.Mode) *compile.Program {
	return compile.New(l, mode, lookupNative)
}

func newSystem(p *compile.Program, o Options) (*System, error) {
	s := &System{p: p, o: o, races: !o.NoRaces, noLeaks: o.NoLeaks,
		raced: xsync.NewMapOf[system.Loc, string](), disk: disk{seen: o.Seen},
		zones: zones{seen: o.Seen}}
	s.bubbles = s.mayBubble()
	s.crash = p.Lookup("internal/cpor", "crash")
	s.gopanic, s.goexit = p.Lookup("runtime", "gopanic"), p.Lookup("runtime", "Goexit")
	for _, pkg := range p.All {
		if pkg.Pkg.Path() == "runtime" {
			s.nilPanic = p.TypeOf(types.NewPointer(pkg.Pkg.Scope().Lookup("PanicNilError").Type()))
			named := func(n string) *compile.Type {
				return p.TypeOf(pkg.Pkg.Scope().Lookup(n).Type())
			}
			s.runtimeError, s.plainError, s.assertError = named("runtimeError"),
				named("plainError"), named("assertError")
		}
	}
	for _, n := range []string{"time.Now", "time.Since", "time.Until", "context.WithTimeout",
		"context.WithDeadline", "context.WithTimeoutCause", "context.WithDeadlineCause"} {
		pkg, name, _ := strings.Cut(n, ".")
		s.readsClock = s.readsClock || p.Uses(pkg, name)
	}
	s.readsClock = s.readsClock || p.Links(nanotime)
	s.polls = p.Polls()
	s.old = p.Before("go1.23")
	s.nilPanics = p.Before("go1.21")
	s.counts = p.Uses("runtime", "NumGoroutine")
	s.stringType = p.TypeOf(types.Typ[types.String])
	s.wordType = p.TypeOf(types.Typ[types.Int])
	s.errorType = p.TypeOf(types.Universe.Lookup("error").Type())
	return s, nil
}

// command returns the name of the program, as the go command builds it.
func (s *System) command() string {
	if len(s.p.Roots) == 0 {
		return "program"
	}
	name := path.Base(s.p.Roots[0].Pkg.Path())
	if !s.ends {
		name += ".test"
	}
	return name
}

// begin runs the initializers and puts the first goroutine before its first step.
func (s *System) begin(fn *compile.Func, args []uint64) error {
	m := &Machine{sys: s, p: s.p, setup: true, collect: true}
	m.objs = append(m.objs, object{})
	for _, g := range s.p.Globals {
		m.newObject(nil, plainObj, g.Type, g.Type.Size)
	}
	n := s.threads.Number(threadName{-1, 0})
	g := m.goroutine(int(n))
	g.status = alive
	for _, pkg := range append(slices.Clone(s.p.Always()), s.p.Roots...) {
		if err := m.initialise(g, s.p.FuncOf(pkg.Func("init"))); err != nil {
			return err
		}
	}
	for i := range m.objs {
		m.objs[i].shared = i > 0
	}
	clear(m.shadow)
	for _, x := range m.gors {
		x.gstate.clock, x.tick = 0, 0
	}
	m.clocks = m.clocks[:0]
	m.log, m.words, m.frames, m.states, m.tops = nil, nil, nil, nil, nil
	m.setup = false
	if s.o.Outcomes {
		m.outText = m.str(string(m.output))
	}
	g.gstate = gstate{status: alive, unstarted: true, children: g.children}
	copy(m.push(g, fn, -1), args)
	s.first = m
	s.owners = m.owners()
	s.initial = m.Encode(nil)
	return nil
}

// halted reports whether computations have to end.
func (s *System) halted() bool { return s.o.Halted != nil && s.o.Halted.Load() }

// stepBudget is the number of instructions after which a computation is abandoned.
func (m *Machine) stepBudget() int64 {
	if m.setup {
		return setupBudget
	}
	return stepBudget
}

// initialise calls an initializer; other goroutines run when it waits for them.
func (m *Machine) initialise(g *goroutine, fn *compile.Func) error {
	m.push(g, fn, -1)
	for {
		m.budget, m.left, m.met = slice, m.stepBudget()-slice, false
		moved := false
		g.status = alive
		if i := g.pending(); i != nil && !i.Op.Synchronises() {
			m.cur = g
			func() {
				var out system.Outcome
				defer m.caught(&out)
				m.finish(g)
			}()
			g.status = alive
			moved = true
		}
		for t := 0; t < len(m.gors) && len(g.frames) > 0; t++ {
			if out := m.Step(t, 0); out.Kind == system.Moved {
				moved = true
				break
			}
		}
		if u := m.sys.unsupported; u != nil {
			if !m.giveUp(g, u) {
				return u
			}
			moved = true
		}
		if m.sys.gaveUp != "" {
			return errors.New(m.sys.gaveUp)
		}
		if v := m.out.Violation; v != nil {
			return fmt.Errorf("%s:%d: an initializer fails: %s", v.Pos.File, v.Pos.Line, v.Message)
		}
		if len(g.frames) == 0 {
			g.status = alive
			return nil
		}
		if !moved {
			return fmt.Errorf("%s: the package initializers wait forever",
				m.userPos(m.stackOf(g)).File)
		}
	}
}

// Initial implements [system.System].
func (s *System) Initial() []system.State {
	if len(s.scenarios) > 0 {
		return s.scenarios
	}
	return []system.State{slices.Clone(s.initial)}
}

// NewMachine implements [system.System].
func (s *System) NewMachine() system.Machine {
	m := &Machine{sys: s, p: s.p}
	m.Load(s.Initial()[0])
	return m
}

// restore makes the initial state the live one.
func (m *Machine) restore() {
	f := m.sys.first
	m.clean(f)
	m.free, m.since, m.overdue = m.free[:0], 0, false
	m.clocks = append(m.clocks[:0], f.clocks...)
	m.marked = m.marked[:0]
	m.log, m.words, m.frames, m.states, m.tops = m.log[:0], m.words[:0], m.frames[:0], m.states[:0],
		m.tops[:0]
	m.now, m.fired, m.exited, m.clockWasRead, m.outText = f.now, f.fired, f.exited, f.clockWasRead,
		f.outText
	m.clockBegan, m.scenario, m.monitor = f.clockBegan, 0, 0
	m.output = m.output[:0]
	for _, g := range m.gors {
		g.gstate = gstate{}
		g.frames = g.frames[:0]
	}
	m.gors = m.gors[:0]
	for i, x := range f.gors {
		g := m.goroutine(i)
		g.gstate = x.gstate
		g.frames = append(g.frames[:0], x.frames...)
		g.grow(len(x.stack))
		copy(g.stack, x.stack)
		g.made = x.made
	}
}

// refuse records that the program does what cannot be explored.
func (s *System) refuse(what string, stack []token, m *Machine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unsupported != nil {
		return
	}
	u := &Unsupported{What: what}
	for _, t := range stack {
		if pos := m.posOf(t); pos.Line > 0 && !t.fn.Hidden {
			u.Path = append(u.Path, Place{t.fn.Name, pos})
		}
	}
	if len(u.Path) == 0 { // the library's own initializers and goroutines
		for _, t := range stack {
			if pos := m.posOf(t); pos.Line > 0 && t.fn.Name != "cpor.Refuse" {
				u.Path = append(u.Path, Place{t.fn.Name, pos})
			}
		}
	}
	s.unsupported = u
}

func (s *System) giveUp(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gaveUp == "" {
		s.gaveUp = why
	}
}

// Unsupported returns what the program did that cannot be explored, as far as it ran; nil if
// nothing.
func (s *System) Unsupported() *Unsupported {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unsupported
}

// GaveUp says why a computation was abandoned; empty if none was.
func (s *System) GaveUp() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gaveUp
}

// Waits is what [System.Fixed] says if time has passed for a loop that reads the clock.
const Waits = "how often a loop reads the clock before time passes"

// Fixed names the choices of the run time of which only one alternative was explored.
func (s *System) Fixed() []string {
	var f []string
	if s.ranged.Load() {
		f = append(f, "the order in which maps are ranged over")
	}
	if s.drawn.Load() {
		f = append(f, "random numbers")
	}
	if s.pooled.Load() {
		f = append(f, "what sync.Pool keeps (all)")
	}
	if s.counted.Load() {
		f = append(f, "when a goroutine that has nothing left to do is gone (at once)")
	}
	if s.waited.Load() {
		f = append(f, Waits)
	}
	return f
}

// Waited reports whether time has passed for a loop that reads the clock.
func (s *System) Waited() bool { return s.waited.Load() }

// Timed reports whether an alarm has gone off.
func (s *System) Timed() bool { return s.timed.Load() }

// Cut reports whether an alarm that was due has not gone off because of [Options.Alarms]: if
// not, the executions are those without that bound.
func (s *System) Cut() bool { return s.cut.Load() }

// IsMain reports whether the program is a main package, not a test.
func (s *System) IsMain() bool { return s.ends }

// Leaks reports whether goroutines that never end are a failure.
func (s *System) Leaks() bool { return !s.noLeaks }

// Races reports whether a data race is a failure.
func (s *System) Races() bool { return s.races && !s.p.Memory }

// Raced names the targets of data races that are not failures, sorted, as far as they were
// looked for.
func (s *System) Raced() []string {
	var names []string
	s.raced.Range(func(_ system.Loc, name string) bool {
		names = append(names, name)
		return true
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// Outcomes reports whether output is part of the state.
func (s *System) Outcomes() bool { return s.o.Outcomes }

// violationName is a violation as it appears in encoded states.
type violationName struct {
	kind    system.ViolationKind
	message string
	pos     system.Pos
	object  string
}

func (s *System) failureNumber(v *system.Violation) uint64 {
	return uint64(s.failures.Number(violationName{v.Kind, v.Message, v.Pos, v.Object})) + 1
}

func (s *System) failure(n uint64) *system.Violation {
	v := s.failures.Name(uint32(n - 1))
	return &system.Violation{Kind: v.kind, Message: v.message, Pos: v.pos, Object: v.object}
}
