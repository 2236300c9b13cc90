// Package engine defines the vocabulary of explorations: their [Options], their [Progress] while
// they run, their [Result], and the registry of engines and reductions ([Register], [Entries]). It
// also provides what every engine needs around its algorithm:
//
//   - [Watch] ends an exploration in time: time-out, memory, interruption; and
//     reports progress;
//   - [Collector] keeps distinct violations;
//   - [Judge] decides the verdict: a run that did not cover everything is never a pass;
//   - [Finish] replays and minimizes the traces, and describes deadlocks in words.
//
// An engine is a package below this one that explores, and a file that registers it. Everything
// else follows from its [Entry]: the command's flags and help, the errors for invalid combinations,
// and the tests of what an engine promises. Package engine/all imports them all.
package engine

import (
	"cmp"
	"encoding/json"
	"io"
	"time"

	"cpor/ltl"
	"cpor/system"
	"cpor/trace"
)

// Verdict is the outcome of an exploration as it appears in the command's JSON.
type Verdict string

// The verdicts. A run that a limit, a time-out or an interruption ended is never a pass; a run that
// found a violation before it ended is a violation.
const (
	Pass       Verdict = "pass"
	Violated   Verdict = "violation"
	Incomplete Verdict = "incomplete"
)

// Options say how far and how hard to explore. The zero value is an exploration
// of everything, with a worker for each CPU, until the first violation. Which of
// them an engine has a use for is in [Entry.Takes]; all keep to Workers,
// MaxMemory and Timeout, and report Progress.
type Options struct {
	// Workers is the number of workers; 0 means one for each CPU that the
	// process may use. More workers than CPUs are allowed.
	Workers int
	// All lets the search continue after a violation and collects distinct
	// ones: by kind and place, deadlocks by state (without the observers).
	All bool
	// MaxViolations bounds the distinct violations that All keeps, with their
	// traces; 0 means 100. Further ones are counted in Result.MoreViolations.
	MaxViolations int
	// IgnoreDeadlocks switches the checking of deadlocks off.
	IgnoreDeadlocks bool
	// KeepTraces leaves traces as the search found them instead of looking for
	// short ones (see [trace.Shorten]).
	KeepTraces bool
	// MinimizeTime bounds the time for minimizing; 0 means [DefaultMinimizeTime]. It only matters
	// for systems with slow transitions: the searches also have bounds that do not depend on the
	// machine.
	MinimizeTime time.Duration
	// Shared says that other explorations use the system at the same time, so that what it
	// counts ([system.Counting]) must not be read.
	Shared bool
	// Turn, if not nil, is called by each worker before it continues, after at most
	// [TurnStates] states or events. It can work on something else meanwhile, or keep the
	// worker waiting for another exploration's turn to be over. It does not wait once the
	// context of the exploration has ended. The searches with stored states and the
	// unfolding call it.
	Turn func()
	// Dive lets a search with stored states spend a small share of its work on random executions
	// (package dive). It finds some violations earlier, and changes nothing in a search that
	// passes, except the counts of [system.Counting]. It cannot be combined with All, Validate,
	// Checkpoint and Ranks.
	Dive bool
	// Validate checks the engine's own claims and the machine while it runs. A
	// difference is an error of the exploration.
	Validate bool

	// MaxStates ends the search as incomplete once it has found more than
	// this many states; 0 means no limit.
	MaxStates uint64
	// MaxTransitions ends the search as incomplete after so many
	// transitions; 0 means no limit.
	MaxTransitions uint64
	// MaxDepth cuts executions off after so many transitions; 0 means no bound.
	MaxDepth int
	// MaxMemory ends the search as incomplete before the whole process uses more than this many
	// bytes; 0 means no limit. While the search runs, the garbage collector keeps within it, too.
	MaxMemory uint64
	// Disk is a directory for the states for which MaxMemory leaves no room; if it is
	// empty the search ends there. It needs MaxMemory.
	Disk string
	// Timeout ends the search as incomplete after this time; 0 means never.
	Timeout time.Duration

	// Progress, if not nil, is called every ProgressInterval (0 means a
	// second) from one goroutine while the search runs.
	Progress         func(Progress)
	ProgressInterval time.Duration

	// Ranks, if not nil, connects this process with others that run the same exploration, each with
	// its part. Run must be called on all of them, from the goroutine that may use the connection.
	// Rank 0 returns the whole result; the others return its verdict and counts, without findings.
	// MaxMemory is for all ranks together.
	Ranks Comm

	// Checkpoint, if not nil, saves from time to time, and when the exploration ends as incomplete,
	// what is needed to continue.
	Checkpoint *Checkpoint
}

// TurnStates is how many states a worker expands at most before it calls [Options.Turn].
const TurnStates = 16

// OptionError says what is wrong with options: the user's mistake.
type OptionError struct{ Message string }

func (e *OptionError) Error() string { return e.Message }

// Refusal says why a system cannot be explored as asked: the user's mistake. Err
// begins with its place if Located.
type Refusal struct {
	Err     error
	Located bool
}

func (e *Refusal) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *Refusal) Unwrap() error { return e.Err }

// Counters are what explorations count. Which of them mean something for an
// engine is in [Entry.Counts]; the others are 0.
type Counters struct {
	// States is how many different states were found.
	States uint64
	// Transitions counts the transitions explored; where states are stored and
	// nothing is reduced, self-loops of blocked threads included.
	Transitions uint64
	// Attempts counts the transitions that were tried, whether explored or not.
	Attempts uint64
	// EndedLoops counts the self-loops of ended threads; some tables of Gueta et
	// al. 2007 include them. They are not in Transitions or Attempts.
	EndedLoops uint64
	// BlockedLoops counts the self-loops of blocked threads that are in
	// Transitions. Checkers that do not count them (SPIN) have fewer.
	BlockedLoops uint64
	// Executions counts the explored executions in which at the end no thread is
	// enabled.
	Executions uint64
	// BlockedExecutions counts those that ended because everything enabled had been explored
	// elsewhere: they were explored in vain.
	BlockedExecutions uint64
	// CutExecutions counts those that a bound on the depth cut off.
	CutExecutions uint64
}

// Progress is the report of a running exploration. The reader computes rates, over the whole
// duration or since the last report.
type Progress struct {
	Elapsed time.Duration
	Counters
	Queued     uint64 // states that wait to be expanded
	MaxDepth   int
	Memory     uint64 // bytes that the process occupies at present
	StoreBytes uint64
	Violations int // distinct ones so far
}

// Result is what an exploration found out.
type Result struct {
	Verdict Verdict
	// Exhaustive reports whether everything was explored that has to be.
	Exhaustive bool
	// Reason says in words why it was not; empty if it was.
	Reason string

	Workers int
	Counters
	MaxDepth   int // the longest path explored; its unit is the engine's
	Bound      int // on the depth of executions, the last of several; 0: none
	Duration   time.Duration
	StoreBytes uint64
	PeakRSS    uint64 // bytes; 0 where the operating system does not tell

	// Violations are the distinct violations: at most one unless Options.All;
	// otherwise ordered by place, kind and the length of the trace.
	Violations []Finding
	// MoreViolations counts the distinct violations beyond Options.MaxViolations. It is
	// an upper bound beyond 262,144 of them, on several ranks, and after a checkpoint.
	MoreViolations uint64

	// Properties has the result for each temporal property that was checked.
	Properties []PropertyResult
	// System is the system of the traces, if it wraps the given one. It knows more about what their
	// steps do.
	System system.System
	// How says how it was explored, Figures what else was measured. Both are for
	// people and for programs.
	How, Figures []Figure
	// Warnings are always shown, Notes after the verdict.
	Warnings, Notes []string
}

// Doubt makes a result that counts as exhaustive one that is not.
func (r *Result) Doubt(reason string) {
	if !r.Exhaustive {
		return
	}
	r.Exhaustive, r.Reason = false, reason
	if r.Verdict == Pass {
		r.Verdict = Incomplete
	}
}

// StatesPerSecond returns the rate of the whole exploration.
func (r *Result) StatesPerSecond() float64 { return rate(r.States, r.Duration) }

// TransitionsPerSecond returns the rate of the whole exploration.
func (r *Result) TransitionsPerSecond() float64 { return rate(r.Transitions, r.Duration) }

func rate(n uint64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

// Finding is a violation that an exploration found.
type Finding struct {
	*system.Violation
	// Trace leads from an initial state to the violation. It was replayed
	// through the plain semantics. It is nil if TraceMissing says why.
	Trace *trace.Trace
	// Minimal says how short it is known to be.
	Minimal trace.Minimality
	// TraceMissing says why there is no trace; empty if there is one.
	TraceMissing string
	// Account, if not nil, is how the violation is shown, instead of the trace.
	Account Account
}

// Account is an execution as shown to people and programs, for violations that are not about a
// single step, such as a loop that is repeated forever.
type Account interface {
	json.Marshaler
	// WriteText writes it for people.
	WriteText(w io.Writer, o trace.TableOptions) error
	// WriteFile writes the whole of it to a file, in the form that the file's
	// name asks for.
	WriteFile(name string) error
}

// Looping is implemented by accounts of an execution that violates a temporal property.
type Looping interface {
	Account
	// Lasso returns the property, the steps, and the index of the first step that is repeated
	// forever: the number of steps if the last state is repeated, -1 if what follows the steps does
	// not matter.
	Lasso() (p Property, t *trace.Trace, loop int)
}

// Figure is something that only some engines tell.
type Figure struct {
	Key   string // in the JSON object; empty: not there
	Value any    // under Key
	Label string // of the line for people
	// Text is the text of that line; empty: there is none. Without a label it is added to the line
	// that says how it was explored.
	Text string
}

// Property is a temporal property to check. The atoms of its formula are names of
// the system's propositions ([system.Temporal]).
type Property struct {
	Name    string
	Formula ltl.Formula
	Pos     system.Pos
	Text    string // of the formula, for people; Formula.String() if empty
	// Modality says what the formula has to do with the executions; if it is not Linear, the
	// formula has no temporal operator.
	Modality ltl.Modality
	// Kind is what people call it: ltl if empty.
	Kind string
	// System, if not nil, is the system in which it is checked, instead of the task's.
	System system.System
	// Predicates are the state predicates of the formula that an error can end.
	// A proposition of the formula that none of them has must be evaluable in
	// every state that a search comes to.
	Predicates []Predicate
	// Whole makes a search take all transitions for it, whatever the reduction is.
	Whole bool
}

// Called returns the kind and the name of the property.
func (p *Property) Called() string { return cmp.Or(p.Kind, "ltl") + " " + p.Name }

// Predicate is a part of a formula without temporal operators that an error can end:
// an index out of bounds, a nil pointer. It is evaluated as a whole, as an invariant
// is, so that && and || ask for the right side only where it matters. That is done in
// every state, or only in the initial ones if the predicate is under no temporal
// operator; an error is a violation.
type Predicate struct {
	Pos     system.Pos
	Prop    string   // the proposition of the system that is the whole predicate
	Atoms   []string // the propositions of the formula that it is made of
	Initial bool
}

// PropertyResult is the result for a temporal property. A violation of it is among
// Result.Violations.
type PropertyResult struct {
	Property Property
	Verdict  Verdict
	Reason   string // why it is incomplete
	// Among says which executions count, in words that follow "holds"; empty if
	// all do.
	Among string
	// Vacuous says in words why a property that holds, or a part of it, says nothing; Empty
	// reports whether that is so of all of it.
	Vacuous []string
	Empty   bool
	// Figures are for programs and, as one line, for people.
	Figures []Figure
}
