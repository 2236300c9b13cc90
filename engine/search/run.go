package search

import (
	"time"

	"cpor/statestore"
	"cpor/system"
	"cpor/trace"
	"cpor/workers"
)

// Options say how far and how hard to search. The zero value is a search of
// everything, with a worker for each CPU, until the first violation.
type Options struct {
	// Workers is the number of workers; 0 means one for each CPU that the
	// process may use. More workers than CPUs are allowed.
	Workers int
	// Store selects how the covered states are stored; the default is exact.
	Store statestore.Kind
	// All lets the search go on after a violation and collects distinct
	// ones: by kind and place, deadlocks by state (without the observers).
	All bool
	// MaxViolations bounds the distinct violations that All keeps, with their
	// traces; 0 means 100. Further ones are counted in Result.MoreViolations.
	MaxViolations int
	// IgnoreDeadlocks switches the checking of deadlocks off.
	IgnoreDeadlocks bool
	// KeepTraces leaves traces as the search found them instead of minimising
	// them (see trace.Trace.Minimise).
	KeepTraces bool

	// MaxStates ends the search as incomplete once it has found more than
	// this many states; 0 means no limit.
	MaxStates uint64
	// MaxMemory ends the search as incomplete before the whole process uses
	// more than this many bytes; 0 means no limit. While the search runs, the
	// garbage collector of the process is told to keep within it, too.
	MaxMemory uint64
	// Timeout ends the search as incomplete after this time; 0 means never.
	Timeout time.Duration

	// Progress, if not nil, is called every ProgressInterval (0 means a
	// second) from one goroutine while the search runs.
	Progress         func(Progress)
	ProgressInterval time.Duration

	// Hook, if not nil, is called once for each worker before the search
	// starts. The hook that it returns (nil for none) is called by that worker
	// only.
	Hook func(worker int) Hook
}

// OptionError says what is wrong with options: the user's mistake.
type OptionError struct{ Message string }

func (e *OptionError) Error() string { return e.Message }

// Hook observes a worker's search, for tests and for checking modes. It slows
// the search down and must not change what it is shown.
type Hook interface {
	// Expand is called before state s is expanded. s is valid until the next
	// call of Expand.
	Expand(s system.State)
	// Move is called for each move from the state of the last Expand.
	Move(m *Move)
	// Violation is called for each violation found while the state of the
	// last Expand is expanded, also for those that the options ignore or that
	// were seen before.
	Violation(v *system.Violation, tail []Step)
}

// Progress is what a running search reports. Rates are the reporter's
// business: it may take them over the whole duration or since the last report.
type Progress struct {
	Elapsed     time.Duration
	States      uint64 // covered so far
	Queued      uint64 // covered, waiting in the work set to be expanded
	Transitions uint64
	Attempts    uint64
	MaxDepth    int
	Memory      uint64 // bytes that the process occupies at present
	StoreBytes  uint64
	Violations  int // distinct ones so far
}

// Verdict is the outcome of a search as it stands in the command's JSON.
type Verdict string

// The verdicts. A search that a limit, a time-out or an interruption ended is
// never a pass; one that found a violation before it ended is a violation.
const (
	Pass       Verdict = "pass"
	Violated   Verdict = "violation"
	Incomplete Verdict = "incomplete"
)

// Result is what a search found out.
type Result struct {
	Verdict Verdict
	// Exhaustive tells whether everything was covered: the search ran to its
	// end and the store is exact.
	Exhaustive bool
	// Reason says in words why the search is not exhaustive; empty if it is.
	// A search with an inexact store that ran to its end is incomplete, too.
	Reason string

	Workers int
	Counters
	States   uint64 // size of the covered set
	MaxDepth int    // the longest path of moves in the search's tree

	Duration      time.Duration
	StoreBytes    uint64
	BytesPerState float64
	PeakRSS       uint64 // bytes; 0 where the operating system does not tell
	// OmissionProbability estimates how likely it is that the store left out
	// at least one state; 0 for exact stores.
	OmissionProbability float64

	Steals    uint64  // batches that workers took from each other
	IdleShare float64 // of the time that the workers could have worked, 0 to 1
	FailedCAS uint64  // compare-and-swaps in the store lost to another worker
	Pool      workers.Stats
	Store     statestore.Stats

	// Violations are the distinct violations: at most one unless Options.All;
	// otherwise ordered by place, kind and the length of the trace.
	Violations []Violation
	// MoreViolations counts the findings beyond Options.MaxViolations that
	// equal none of those kept; they can equal each other.
	MoreViolations uint64
}

// Violation is a violation that the search found.
type Violation struct {
	*system.Violation
	// Trace leads from an initial state to the violation. It was replayed
	// through the plain semantics. It is nil if TraceMissing says why.
	Trace *trace.Trace
	// TraceMissing says why there is no trace; empty if there is one.
	TraceMissing string
}

// StatesPerSecond returns the rate of the whole search.
func (r *Result) StatesPerSecond() float64 { return rate(r.States, r.Duration) }

// TransitionsPerSecond returns the rate of the whole search.
func (r *Result) TransitionsPerSecond() float64 { return rate(r.Transitions, r.Duration) }

func rate(n uint64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}
