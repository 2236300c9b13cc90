package gosrc

import (
	"fmt"
	"strings"
	"sync/atomic"

	"cpor/frontend/gosrc/machine"
	"cpor/system"
)

// Time says when timers fire.
type Time string

// The values of Time.
const (
	// AutoTime is AnyTime, except that a test that fails because it sleeps or waits too briefly
	// has not failed.
	AutoTime Time = "auto"
	// AnyTime: an armed timer may fire at any later step, in the order of the
	// deadlines, equal ones in every order.
	AnyTime Time = "any"
	// IdleTime: time passes only when no goroutine can run.
	IdleTime Time = "idle"
)

// Granularity says where one goroutine may be interrupted by another one.
type Granularity string

// The granularities.
const (
	// Synchronisation: before each operation that synchronizes. A data race is a failure;
	// without one, finer interruptions make no difference.
	Synchronisation Granularity = "sync"
	// MemoryAccesses: also before each access to memory that several goroutines can reach, for
	// programs that race on purpose. A data race is not a failure, and each access is one
	// indivisible step that all others see at once (sequential consistency), whatever the size
	// of the value.
	MemoryAccesses Granularity = "memory"
)

// Explore says how a program is explored. The zero value is the default.
type Explore struct {
	Time        Time        // empty: AutoTime
	Granularity Granularity `json:",omitempty"` // empty: Synchronisation
	NoRaces     bool        // leave out the check for data races
	// Stored is needed by searches that store states and look for data races: happens-before is
	// then part of the states, and the clock that the program reads advances only for timers.
	Stored bool `json:",omitempty"`
	// Adjacent, with Stored, leaves happens-before out of the states: the search must look for
	// races of steps next to each other itself.
	Adjacent bool `json:",omitempty"`
	// NoLeaks accepts goroutines that wait forever after the end of the test.
	NoLeaks bool
	// Maps explores every order in which loops range over maps; otherwise it is that
	// of insertion.
	Maps bool
	// Draws explores every number that rand.IntN(n) and its like may return, for n up to
	// [machine.MaxPick]; otherwise random numbers are always the same.
	Draws bool
	// Run and Skip choose subtests, as the flags of go test do.
	Run, Skip string
	Short     bool // what testing.Short returns
	// Halted, once it is true, ends every computation of the program, its initializers too:
	// their results are then meaningless. Nil: never.
	Halted *atomic.Bool `json:"-"`
	// MaxMemory is how many bytes the process may take before an execution that needs more is
	// abandoned; 0: no limit.
	MaxMemory uint64 `json:"-"`
	// Seen collects what the program sees of the disk; nil: nothing does.
	Seen *machine.Seen `json:"-"`
	// Dir is the working directory of the program; empty: that of the package for tests, and
	// where patterns are relative to for a main package.
	Dir string `json:",omitempty"`
	// Args are the arguments of the program, as in os.Args after its name.
	Args []string `json:",omitempty"`
	// Patient lets time pass only when no other goroutine can run where the test function, or
	// that of a subtest, calls time.Sleep in a _test.go file. Other timers are as Time says.
	Patient bool `json:",omitempty"`
	// Readings is how often a goroutine reads the clock in one place before time passes for it;
	// 0: 16. See [Program.Steady].
	Readings int `json:",omitempty"`
	// NoFailed ends an execution quietly where the test calls t.Error or t.Fatal.
	NoFailed bool `json:",omitempty"`
	// Alarms is how many timers may fire, including sleeps and time-outs, before an execution
	// ends quietly; 0: any number.
	Alarms int `json:",omitempty"`
	// Scenarios are those of package check that are explored, each from an initial state of its
	// own; none: check says what it could generate ([machine.System.Described]).
	Scenarios []string `json:",omitempty"`
	// Outcomes makes output part of the state: prints of different goroutines are explored in
	// every order, and each execution's output is known.
	Outcomes bool
}

// Unsupported is the error for a program that does what cannot be explored.
type Unsupported struct {
	What string // "calls net.Dial: programs that use the network cannot be explored"
	// Path is the calls that lead there, the innermost first.
	Path []Call
}

// Call is a call that leads to what is not supported.
type Call struct {
	Func string
	Pos  system.Pos
}

// Natively says what may explore a program that the interpreter refuses.
const Natively = "the native machine may run this: cpor test -machine native, on linux/amd64"

// Error gives the place, what is not supported and the calls that lead there.
func (u *Unsupported) Error() string {
	var b strings.Builder
	for i, c := range u.Path {
		if i == 0 {
			fmt.Fprintf(&b, "%s:%d: %s %s", c.Pos.File, c.Pos.Line, c.Func, u.What)
		} else {
			fmt.Fprintf(&b, "\n\tcalled from %s (%s:%d)", c.Func, c.Pos.File, c.Pos.Line)
		}
	}
	if len(u.Path) == 0 {
		return u.What
	}
	return b.String()
}
