package benchmarks

import (
	"slices"
	"strings"
	"sync"
)

// SystemRun is one check of a system that exists in both languages, with the known answer. The
// header of systems/runs.csv names the columns.
type SystemRun struct {
	System string
	Params Params
	// Check is the name of a temporal property; "": assertions and deadlocks.
	Check string
	// States of a full search of the program in cpor's language; 0 if Check is not "".
	States uint64
	// States, transitions and errors as SPIN counts them in the program in Promela
	// (spin -o1 -o2 -o3, -DSAFETY -DNOREDUCE -DNOCLAIM, pan -c0); 0 if Check is not "".
	Promela, Transitions, Errors uint64
	Violated                     bool
	Measured                     bool // by cpor bench peers; the others are for tests
	// Note says which theory gives the number of states, or why the two programs differ.
	Note string
}

// Name identifies a run: the system, its parameters, and the property if there is one.
func (r *SystemRun) Name() string {
	name := strings.TrimSpace(r.System + " " + r.Params.String())
	if r.Check != "" {
		name += ", ltl " + r.Check
	}
	return name
}

// SystemRuns returns the runs in the order of the table.
func SystemRuns() []SystemRun { return slices.Clone(systemRuns()) }

// SystemNames returns the names of the systems in alphabetical order.
func SystemNames() []string {
	var names []string
	for _, r := range systemRuns() {
		names = append(names, r.System)
	}
	return slices.Compact(names)
}

// System returns the text of a system in the language with this ending, model or pml. The error
// wraps fs.ErrNotExist if there is none.
func System(name, ending string) ([]byte, error) {
	return read(name, "systems/"+name+"."+ending)
}

var systemRuns = sync.OnceValue(func() []SystemRun {
	var runs []SystemRun
	for _, l := range records("systems/runs.csv") {
		r := SystemRun{System: l.text("system"), Params: l.params(), Check: l.text("check"),
			Violated: l.text("verdict") == "violated", Measured: l.text("use") == "measured",
			Note: l.text("note")}
		if r.Check == "" {
			r.States, r.Promela = l.num("states"), l.num("promela")
			r.Transitions, r.Errors = l.num("transitions"), l.num("errors")
		}
		runs = append(runs, r)
	}
	return runs
})
