package gosrc

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/tools/go/ssa"

	"cpor/frontend/gosrc/compile"
	"cpor/frontend/gosrc/loader"
	"cpor/frontend/gosrc/machine"
	"cpor/system"
)

// Compiled is a package that was type-checked with everything it imports. Its methods may be
// called from many goroutines at once.
type Compiled struct {
	loaded   *loader.Program
	dir      string // the directory of the package, where tests run
	from     string // where patterns are relative to, where a main package runs
	mu       sync.Mutex
	programs map[compile.Mode]*compile.Program
}

func (c *Compiled) program(e Explore) *compile.Program {
	c.mu.Lock()
	defer c.mu.Unlock()
	mode := compile.Mode{AnyOrder: e.Maps, Memory: e.Granularity == MemoryAccesses}
	p := c.programs[mode]
	if p == nil {
		p = machine.Compile(c.loaded, mode)
		c.programs[mode] = p
	}
	return p
}

// largeTexts is how many bytes the possibly unused strings of a program may have.
const largeTexts = 32 << 20

// Tidy frees what earlier tests have left behind, if it is much: strings that an execution has
// made are kept, because other executions may make them again. No program returned by Test may
// be in use.
func (c *Compiled) Tidy() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for mode, p := range c.programs {
		n := 0
		for i := range p.Strings.Len() {
			n += len(p.Text(uint64(i)))
		}
		if n > largeTexts {
			delete(c.programs, mode)
		}
	}
}

// Compile type-checks the package, with its tests if it was loaded with them. The error lists
// the mistakes.
func (p *Package) Compile() (*Compiled, error) {
	l, err := p.loaded.Compile(p.tests)
	if err != nil {
		return nil, err
	}
	return &Compiled{loaded: l, dir: p.Dir, from: p.from,
		programs: map[compile.Mode]*compile.Program{}}, nil
}

// Program is one test, or a main package, as a system.
type Program struct {
	*machine.System
	Name string

	again func(Explore) (*Program, error)
	how   Explore
}

// Stored returns the same program for searches that store states.
func (p *Program) Stored() (*Program, error) {
	if p.how.Stored || p.how.NoRaces {
		return p, nil
	}
	e := p.how
	if e.Stored = true; !p.Races() {
		e.NoRaces = true // states need not say what happened before
	}
	return p.again(e)
}

// StatesAlone returns the same program for searches that store states and look for races of steps
// next to each other themselves: states do not say what happened before.
func (p *Program) StatesAlone() (*Program, error) {
	if p.how.Adjacent || p.how.NoRaces {
		return p.Stored()
	}
	e := p.how
	e.Stored, e.Adjacent = true, true
	return p.again(e)
}

// WithoutRaces returns the same program without the check for data races.
func (p *Program) WithoutRaces() (*Program, error) {
	e := p.how
	e.NoRaces = true
	return p.again(e)
}

// Halt makes all computations of the program end soon, if it was made with [Explore.Halted];
// false lets new ones run.
func (p *Program) Halt(is bool) {
	if p.how.Halted != nil {
		p.how.Halted.Store(is)
	}
}

// Halted reports whether computations must end.
func (p *Program) Halted() bool { return p.how.Halted != nil && p.how.Halted.Load() }

// Explore returns how the program is explored.
func (p *Program) Explore() Explore { return p.how }

// SlowAllowed reports whether a test may call t.Error or t.Fatal because time has passed while a
// goroutine could run.
func (p *Program) SlowAllowed() bool { return p.how.Time == "" || p.how.Time == AutoTime }

// Idle returns the same program, whose time passes only when no goroutine can run.
func (p *Program) Idle() (*Program, error) {
	e := p.how
	e.Time = IdleTime
	return p.again(e)
}

// Patient returns the same program; where the test function itself sleeps, time passes only when
// no other goroutine can run.
func (p *Program) Patient() (*Program, error) {
	e := p.how
	e.Patient = true
	return p.again(e)
}

// ManyReadings is how often a goroutine reads the clock in one place before time passes for it,
// where a loop that calls time.Now is not taken for one that waits.
const ManyReadings = 10_000

// Hurried reports whether time has passed only because a loop has read the clock several times. A
// test that fails then may have measured how long a loop takes that does not wait at all.
func (p *Program) Hurried() bool { return p.how.Readings == 0 && p.Waited() }

// Steady returns the same program; time passes for a loop only if it reads the clock more than
// [ManyReadings] times.
func (p *Program) Steady() (*Program, error) {
	e := p.how
	e.Readings = ManyReadings
	return p.again(e)
}

// WithoutSlow returns the same program; executions end quietly where the test calls
// t.Error or t.Fatal.
func (p *Program) WithoutSlow() (*Program, error) {
	e := p.how
	e.NoFailed = true
	return p.again(e)
}

// WithScenarios returns the same program, which explores scenarios of package check. It shares
// everything else with p, so only one of them can be explored at a time.
func (p *Program) WithScenarios(texts []string) *Program {
	q := *p
	q.how.Scenarios = texts
	q.SetScenarios(texts)
	return &q
}

// WithAlarms returns the same program; executions end quietly where more than n timers would
// fire.
func (p *Program) WithAlarms(n int) (*Program, error) {
	e := p.how
	e.Alarms = n
	return p.again(e)
}

// Test makes a system of a test function.
func (c *Compiled) Test(name string, e Explore) (*Program, error) {
	p := c.program(e)
	for _, r := range p.Roots {
		if fn := r.Func(name); fn != nil {
			if e.Dir == "" {
				e.Dir = c.dir
			}
			o, err := e.options()
			if err != nil {
				return nil, err
			}
			var main *compile.Func
			for _, r := range p.Roots {
				if m := r.Func("TestMain"); m != nil && isMain(m) {
					main = p.FuncOf(m)
				}
			}
			s, err := machine.Test(p, p.FuncOf(fn), main, name, o)
			q, err := program(s, name, err)
			if err != nil {
				return nil, err
			}
			q.SetScenarios(e.Scenarios)
			q.how, q.again = e, func(e Explore) (*Program, error) { return c.Test(name, e) }
			return q, nil
		}
	}
	return nil, fmt.Errorf("there is no test %s", name)
}

// isMain reports whether a function called TestMain is one.
func isMain(f *ssa.Function) bool {
	p := f.Signature.Params() // the function's own are there when it is built
	return p.Len() == 1 && p.At(0).Type().String() == "*testing.M"
}

// Main makes a system of a main package.
func (c *Compiled) Main(e Explore) (*Program, error) {
	p := c.program(e)
	for _, r := range p.Roots {
		if fn := r.Func("main"); fn != nil && r.Pkg.Name() == "main" {
			if e.Dir == "" {
				e.Dir = c.from
			}
			o, err := e.options()
			if err != nil {
				return nil, err
			}
			s, err := machine.Main(p, p.FuncOf(fn), o)
			q, err := program(s, r.Pkg.Path(), err)
			if err != nil {
				return nil, err
			}
			q.how, q.again = e, c.Main
			return q, nil
		}
	}
	return nil, errors.New("this is not a main package")
}

func program(s *machine.System, name string, err error) (*Program, error) {
	if err != nil {
		var u *machine.Unsupported
		if errors.As(err, &u) {
			return nil, unsupported(u)
		}
		return nil, err
	}
	return &Program{System: s, Name: name}, nil
}

func (e Explore) options() (machine.Options, error) {
	switch e.Time {
	case "", AutoTime, AnyTime, IdleTime:
	default:
		return machine.Options{}, fmt.Errorf("-time %s: want auto, any or idle", e.Time)
	}
	switch e.Granularity {
	case "", Synchronisation, MemoryAccesses:
	default:
		return machine.Options{}, fmt.Errorf("-granularity %s: want sync or memory", e.Granularity)
	}
	chosen, err := Selection(e.Run, e.Skip)
	if err != nil {
		return machine.Options{}, err
	}
	return machine.Options{NoRaces: e.NoRaces, Stored: e.Stored, Adjacent: e.Adjacent,
		NoLeaks:  e.NoLeaks,
		Outcomes: e.Outcomes, Idle: e.Time == IdleTime, Patient: e.Patient,
		Readings: e.Readings, Short: e.Short, Draws: e.Draws,
		Args: e.Args, Dir: e.Dir, NoFailed: e.NoFailed, Alarms: e.Alarms,
		Chosen: chosen, Halted: e.Halted, MaxMemory: e.MaxMemory, Seen: e.Seen}, nil
}

func unsupported(u *machine.Unsupported) *Unsupported {
	out := &Unsupported{What: u.What}
	for _, p := range u.Path {
		out.Path = append(out.Path, Call{p.Func, p.Pos})
	}
	return out
}

// Unsupported returns what the program did that cannot be explored, as far as it ran; nil if
// nothing.
func (p *Program) Unsupported() *Unsupported {
	if u := p.System.Unsupported(); u != nil {
		return unsupported(u)
	}
	return nil
}

var _ system.System = (*Program)(nil)
