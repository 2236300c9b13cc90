// Package gotest runs one Go test, or one main package, under every schedule that
// matters. It combines random schedules and PCT, a systematic search beside them, and a
// search with stored states where one without them would not end.
//
//	res, err := gotest.Run(ctx, sys, gotest.Options{Timeout: 30 * time.Second})
//	switch res.Verdict { ... }
//
// An error is a *gosrc.Unsupported (the program does something that cannot be explored:
// exit code 2), a *engine.OptionError, or a fault of the tool itself.
package gotest

import (
	"slices"
	"time"

	"cpor/engine"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/machine"
	"cpor/frontend/gosrc/native"
	"cpor/system"
	"cpor/trace"
)

// Engine is the name of a way to search.
type Engine string

// The engines.
const (
	// Auto: optimal dynamic reduction, with stored states if executions do not
	// end, and sampled schedules beside it.
	Auto Engine = "auto"
	// DPOR: optimal dynamic reduction without stored states.
	DPOR Engine = "dpor"
	// Full: every transition, with stored states.
	Full Engine = "full"
	// Cartesian: cartesian reduction, with stored states.
	Cartesian Engine = "cartesian"
	// Random: random schedules, by PCT and by SURW, too, until the time is over.
	Random Engine = "random"
)

// Engines are all engines, the default first.
var Engines = []Engine{Auto, DPOR, Full, Cartesian, Random}

// Options say how to explore. The zero value is the default.
type Options struct {
	Engine    Engine        // empty: Auto
	Timeout   time.Duration // 0: none
	Start     time.Time     // from when on Timeout counts; zero: from the call of Run on
	Workers   int           // 0: one for each CPU
	Seed      uint64        // of sampled schedules
	MaxMemory uint64        // in bytes; 0: as much as there is
	// Share, if not 0, is how long Run may take, from its call on, if executions end. Where they
	// do not, Timeout counts alone. RunNative: the other way around.
	Share time.Duration

	few   int           // executions of one of several scenarios before it is given up; 0: any
	merge bool          // states of scenarios contain what matters of the histories only
	asked time.Duration // the time-out of the whole, of which Timeout is a part; 0: Timeout is it
}

// Result is what an exploration found out.
type Result struct {
	Verdict engine.Verdict
	// Reason says why the search is incomplete, or what it covered in spite of
	// that.
	Reason      string
	Executions  uint64 // of the systematic search, to their end
	Samples     uint64 // random schedules
	States      uint64 // stored
	Transitions uint64
	Duration    time.Duration
	// Fixed names choices of the run-time of which one alternative was
	// explored: map order, random numbers.
	Fixed []string
	// Raced names what there were data races on that are not failures
	// (gosrc.MemoryAccesses), as far as they were seen.
	Raced []string
	// Slow is a failure that a slow machine would see: a time-out of the test itself that
	// expires while somebody can run. It is not a verdict, see [Run].
	Slow *Failure
	// SlowProgram is what the trace of Slow belongs to.
	SlowProgram *gosrc.Program
	// Endless tells that executions need not end, as far as is known: only a search that stores
	// states can cover the test.
	Endless bool
	// Ticks tells that an execution that ran natively did not end, so that only executions were
	// explored in which a bounded number of timers goes off.
	Ticks bool
	// Diverges tells that the test depends on more than its schedule. Outside names what it used
	// that is not under control, such as real sockets. Only a test that runs natively does.
	Diverges bool
	Outside  []string
	// Tests are the test and its subtests, as far as they ran, in the order in which they began.
	// None for a main package.
	Tests []machine.TestRun
	// Parallel tells whether the test called t.Parallel, so that it may run beside others.
	Parallel bool
	// Scenarios says which scenarios of check.Linearizable were covered; empty if there are none.
	Scenarios string
	// Bound says within how many steps calls end, of such scenarios; empty if there are none.
	Bound string
	steps int
	// unmerged tells that the histories of scenarios must be kept.
	unmerged bool
	done     int // of several scenarios, how many were covered before the search has ended
	// Failure is the failure that was found, or nil.
	Failure *Failure
	// Once is a failure that was seen in a random schedule and did not come again when that was
	// repeated, because the test depends on more than its schedule. It is not a verdict.
	Once *Failure
	// Late: Once was not repeated, because the time was over.
	Late bool
	// Program is what the failure's trace belongs to: the program that was given, or the same
	// where time passes in another way. Nil if it ran natively.
	Program *gosrc.Program
	// Native is what the failure's trace, or that of Slow, belongs to if the test ran natively.
	Native *NativeSystem
	// Runs is how often the test ran natively, and Mode how these executions began equal; 0 if it
	// was interpreted.
	Runs uint64
	Mode native.Mode
	// Release, if not nil, ends the processes that Native needs. It is called once.
	Release func()
	// Outcomes are the ends of all executions if the program was made with
	// gosrc.Explore.Outcomes: what was printed, and the failure, each once and
	// sorted. They are all that there are if the verdict is not Incomplete.
	Outcomes []string
}

// FailureKind says what went wrong, as it stands in JSON.
type FailureKind string

// The kinds of failures.
const (
	Race     FailureKind = "race"
	Deadlock FailureKind = "deadlock" // the test itself waits forever
	Leak     FailureKind = "leak"     // the test has ended, others wait forever
	Panic    FailureKind = "panic"
	Failed   FailureKind = "failed" // t.Error, t.Fatal and friends
	Fatal    FailureKind = "fatal"  // unlock of unlocked mutex, concurrent map writes
	Exit     FailureKind = "exit"
	Livelock FailureKind = "livelock"
	// Progress: calls need not end if goroutines are suspended (check.LockFree and
	// check.ObstructionFree).
	Progress FailureKind = "progress"
)

// Failure is a failing execution.
type Failure struct {
	Kind    FailureKind
	Message string // the first line for people
	Pos     system.Pos
	Trace   *trace.Trace // the schedule
	// Cycle is what goes on forever behind the schedule: steps that lead back to the same
	// state. Without one the failure is what the schedule ends with.
	Cycle []trace.Step
	// Output is what the execution printed and logged.
	Output string
	// History is the calls that no order explains, if check.Linearizable has found the failure.
	History *trace.History
	// Stacks are those of the goroutines that matter: the two of a race, the one
	// that failed, those that wait forever with what they wait for.
	Stacks []Stack
	// Note is a further remark, such as that the failure needs time to pass while
	// somebody could run.
	Note string

	// Slept is where the test itself sleeps, if the failure needs that to end while somebody else
	// could run; without a function otherwise.
	Slept Frame

	late bool // a panic of the test itself, whose own time-out has expired too early
}

// Stack is where a goroutine was.
type Stack struct {
	Goroutine string // its name: function, place of creation, number
	What      string // "waits for Pool.mu", "read of x", "earlier write of x"
	Frames    []Frame
	// Omitted is how many calls are missing after the first [ShownFrames] of a deep stack.
	Omitted int
}

// ShownFrames is how many of the innermost calls of a stack are kept, and how many of the outermost
// ones: a stack that has overflowed has tens of thousands.
const ShownFrames = 20

// cut omits calls from the middle of a deep stack.
func (s Stack) cut() Stack {
	if n := len(s.Frames) - 2*ShownFrames; n > 0 {
		s.Frames, s.Omitted = slices.Delete(s.Frames, ShownFrames, ShownFrames+n), n
	}
	return s
}

// Frame is a call that has not returned.
type Frame struct {
	Func string
	Pos  system.Pos
}
