package benchmarks

import (
	"embed"
	"encoding/csv"
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync"
)

// systemFS holds systems/NAME.model and systems/NAME.pml: known algorithms and puzzles in both
// languages, with the same steps, and the table of their runs.
//
//go:embed systems/*.model systems/*.pml systems/runs.csv
var systemFS embed.FS

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
func SystemRuns() []SystemRun { return append([]SystemRun(nil), systemRuns()...) }

// SystemNames returns the names of the systems in alphabetical order.
func SystemNames() []string {
	var names []string
	for _, r := range systemRuns() {
		if len(names) == 0 || names[len(names)-1] != r.System {
			names = append(names, r.System)
		}
	}
	return names
}

// SystemModel returns the text of a system in cpor's language. The error wraps fs.ErrNotExist if
// there is no system of that name.
func SystemModel(name string) ([]byte, error) { return readSystem(name, ".model") }

// SystemPromela returns the text of a system in Promela. The error wraps fs.ErrNotExist if there
// is no system of that name.
func SystemPromela(name string) ([]byte, error) { return readSystem(name, ".pml") }

func readSystem(name, ending string) ([]byte, error) {
	b, err := systemFS.ReadFile("systems/" + path.Base(name) + ending)
	if err != nil {
		return nil, fmt.Errorf("system %q: %w", name, err)
	}
	return b, nil
}

// The table is part of the program, so reading a malformed one panics; a test reads it.
var systemRuns = sync.OnceValue(func() []SystemRun {
	const file = "systems/runs.csv"
	b, err := systemFS.ReadFile(file)
	if err != nil {
		panic(err)
	}
	lines, err := csv.NewReader(strings.NewReader(string(b))).ReadAll()
	if err != nil {
		panic(file + ": " + err.Error())
	}
	var runs []SystemRun
	for _, l := range lines[1:] {
		r := SystemRun{System: l[0], Check: l[2], Violated: l[7] == "violated",
			Measured: l[8] == "measured", Note: l[9]}
		if r.Params, err = ParseParams(l[1]); err != nil {
			panic(file + ": " + err.Error())
		}
		for k, to := range []*uint64{&r.States, &r.Promela, &r.Transitions, &r.Errors} {
			if r.Check != "" {
				continue
			}
			if *to, err = strconv.ParseUint(l[3+k], 10, 64); err != nil {
				panic(file + ": " + err.Error())
			}
		}
		runs = append(runs, r)
	}
	return runs
})
