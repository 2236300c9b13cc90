package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"cpor/internal/spell"
	"cpor/system"
)

// Mode is a way in which the command works; it has one or more entries, from which
// -por chooses.
type Mode struct {
	Name string
	// Asked is what a user writes to select it: -search stateless.
	Asked string
	// Summary, if not empty, makes Name a value of -search and says what it is.
	Summary string
	// Temporal modes check temporal properties, and are selected by -ltl and by naming one of
	// their reductions.
	Temporal bool
	// Default is the mode that is used if none is selected.
	Default bool
	// Rank is the place in the help.
	Rank int
	// Of completes "a reduction of"; Lacks says what a reduction of another mode
	// does wrong here; Without, if not empty, completes "-ltl has no meaning with
	// this mode, which".
	Of, Lacks, Without string
	// Unkept, if not empty, says why its searches keep no checkpoints.
	Unkept string
	// Label is before the line that says how it was explored, and Prefix
	// begins that line.
	Label, Prefix string
	// Choose, if not nil, names the entry that is taken if the user has not chosen
	// one; empty for the entry with Default.
	Choose func(v *Values, o *Options) string
}

// Entry is an engine, or an engine with one of its reductions.
type Entry struct {
	Name    string // the value of -por
	Mode    string
	Summary string // what it is and what it preserves, for the help
	Rank    int    // the place among those of its mode in the help; the default is the first

	// Preserves says what an exhaustive exploration finds out that one which
	// leaves nothing out finds out.
	Preserves Preserved
	// Reduces reports whether it leaves something out, relying on the accesses of transitions
	// (see system.Irreducible).
	Reduces bool
	// Bounds reports whether it relies on bounds on what threads may still do (system.Futures, and
	// Conflicts of system.Temporal).
	Bounds bool
	// Needs says which systems it can explore.
	Needs []Need
	// Counts says which counters mean something, and which of them are the same
	// with any number of workers where the exploration is exhaustive.
	Counts, Stable CounterSet
	// Takes says for which options it has a use.
	Takes OptionSet
	// Flags are the engine's own options.
	Flags []Flag
	// Default marks the entry that its mode takes if the user does not choose.
	Default bool

	// Check says what is wrong with a combination of options; nil if there is nothing to check. It
	// may set defaults that depend on others.
	Check func(v *Values, o *Options) error
	// Run explores. The error is an *OptionError, a *Refusal, or a fault of the
	// tool; the result is nil then.
	Run func(ctx context.Context, t *Task) (*Result, error)
}

// Task is what an entry explores, and how.
type Task struct {
	System     system.System
	Properties []Property // to check, in a mode that is Temporal
	Options
	Flags *Values
}

// Preserved is a set of properties that a reduction preserves.
type Preserved uint8

// What a reduction can preserve.
const (
	// Violations: every violation of an assertion, an invariant or the run time,
	// by kind and place.
	Violations Preserved = 1 << iota
	// Deadlocks: every deadlocked state.
	Deadlocks
	// Locals: every local state of every thread.
	Locals
	// States: every state.
	States
	// Traces: every Mazurkiewicz trace.
	Traces
	// Formulas: temporal properties.
	Formulas
	// Steps: every transition that some thread takes in some execution, with what it
	// reads and writes there, is executed. So what was never executed cannot be.
	//
	// The full search executes every transition of every state. A search without
	// stored states executes an execution of each maximal Mazurkiewicz trace, with any
	// of its reductions, and every transition is on one of them, with the same values
	// in each. A complete prefix of the unfolding has an event for each transition of
	// each reachable marking. For cartesian vectors package cartesian has the argument.
	// The lock-based reduction follows transitions that only rest on a discipline, and
	// the check of temporal properties leaves executions out that no counterexample
	// begins with: they do not have it.
	Steps
	// Waits: every blocked transition is tried, too, with all the values that its
	// guard can read; by that every invariant is evaluated wherever it can be.
	Waits
)

// CounterSet is a set of counters.
type CounterSet uint16

// The counters.
const (
	CountStates CounterSet = 1 << iota
	CountTransitions
	CountAttempts
	CountExecutions // also those in vain
	CountDepth
	CountStore // bytes of the store and of the process
	CountLoops // EndedLoops, BlockedLoops
)

// OptionSet is a set of options, besides those that all engines support.
type OptionSet uint16

// The options.
const (
	TakesAll OptionSet = 1 << iota // All, MaxViolations
	TakesDeadlocks
	TakesValidate
	TakesMaxStates
	TakesMaxTransitions
	TakesMaxDepth
	TakesRanks
	TakesCheckpoint
	TakesDisk
)

// Need is something that an entry needs of a system.
type Need struct {
	What string
	// Unmet returns why a system does not meet the need, or nil. It is nil for needs that only the
	// exploration can check, such as that all executions end.
	Unmet func(sys system.System) error
}

// FiniteExecutions is needed by engines that store no states: an execution that
// does not end is explored until a limit.
var FiniteExecutions = Need{What: "executions that end"}

// Propositions are needed by engines that check temporal properties.
var Propositions = Need{"propositions", func(sys system.System) error {
	if sys.NewMachine().Capabilities().Temporal == nil {
		return &OptionError{"temporal properties cannot be checked here: the system has no " +
			"propositions"}
	}
	return nil
}}

// Unmet returns why an entry cannot explore a system; nil if nothing is known
// against it.
func (e *Entry) Unmet(sys system.System) error {
	for _, n := range e.Needs {
		if n.Unmet != nil {
			if err := n.Unmet(sys); err != nil {
				return err
			}
		}
	}
	return nil
}

// Needed reports whether an entry has a need.
func (e *Entry) Needed(n Need) bool {
	return slices.ContainsFunc(e.Needs, func(m Need) bool { return m.What == n.What })
}

var (
	modes   []*Mode
	entries []*Entry
)

// RegisterMode enters a mode. It panics if there is one of that name, which any
// test of the command finds.
func RegisterMode(m Mode) {
	if LookupMode(m.Name) != nil {
		panic(fmt.Sprintf("engine: two modes are called %s", m.Name))
	}
	modes = append(modes, &m)
	slices.SortStableFunc(modes, func(a, b *Mode) int { return cmp.Compare(a.Rank, b.Rank) })
}

// Modes returns the modes in the order of the help.
func Modes() []*Mode { return modes }

// LookupMode returns the mode of that name, or nil.
func LookupMode(name string) *Mode {
	for _, m := range modes {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// Register enters an engine or a reduction. Its package calls it when it is
// initialized. It panics if the mode has one of that name.
func Register(e Entry) {
	for _, old := range entries {
		if old.Mode == e.Mode && (old.Name == e.Name || old.Default && e.Default) {
			panic(fmt.Sprintf("engine: %s, %s: two entries of one name, or two defaults", e.Mode,
				e.Name))
		}
	}
	if e.Bounds {
		e.Run = learning(e.Run)
	}
	entries = append(entries, &e)
}

// Entries returns the entries of a mode in the order of the help, the default
// first; of all modes for "".
func Entries(mode string) []*Entry {
	var es []*Entry
	for _, m := range modes {
		if mode != "" && m.Name != mode {
			continue
		}
		from := len(es)
		for _, e := range entries {
			if e.Mode == m.Name {
				es = append(es, e)
			}
		}
		slices.SortFunc(es[from:], func(a, b *Entry) int {
			if a.Default != b.Default {
				if a.Default {
					return -1
				}
				return 1
			}
			return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Name, b.Name))
		})
	}
	return es
}

// Names returns the names of the entries of a mode, each once, in the order of the
// help; of all modes for "".
func Names(mode string) []string {
	var names []string
	for _, e := range Entries(mode) {
		if !slices.Contains(names, e.Name) {
			names = append(names, e.Name)
		}
	}
	return names
}

// Lookup returns the entry of a mode of that name. The error lists the names.
func Lookup(mode, name string) (*Entry, error) {
	for _, e := range entries {
		if e.Mode == mode && e.Name == name {
			return e, nil
		}
	}
	return nil, Unknown(mode, name)
}

// Unknown returns the error for a name that no entry of the mode has, or for ""
// none at all.
func Unknown(mode, name string) error {
	names := Names(mode)
	return fmt.Errorf("unknown reduction; want %s%s", strings.Join(names, ", "),
		spell.DidYouMean(name, names, ""))
}

// Chosen returns the entry that a mode takes if the user has not chosen one.
func (m *Mode) Chosen(v *Values, o *Options) (*Entry, error) {
	if m.Choose != nil {
		if name := m.Choose(v, o); name != "" {
			return Lookup(m.Name, name)
		}
	}
	if es := Entries(m.Name); len(es) > 0 {
		return es[0], nil
	}
	return nil, fmt.Errorf("%s has no engine", m.Name)
}
