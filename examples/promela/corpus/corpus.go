// Package corpus holds Promela models of algorithms and protocols that people know, and
// what SPIN says about them.
//
// The models are files of this directory; the comment at the beginning of each says what it
// is, and which fault -D BUG brings in. runs.csv has a line for each run:
//
//   - model and defines: the file without its ending, and macros that are defined for it,
//     separated by spaces;
//   - check: safety (assertions and invalid end states), ltl NAME (an ltl block or a never
//     claim by its name), acceptance (no accept label again and again) or progress
//     (progress labels again and again), the last three followed by "fair" if only weakly
//     fair executions count;
//   - states, transitions, errors: what SPIN 6.5.2 printed for safety, with
//     spin -o1 -o2 -o3 -a, -DSAFETY -DNOREDUCE -DNOCLAIM, and pan -c0: states stored, and
//     transitions (stored and matched); empty for the other checks, whose counts depend on
//     the order of the search;
//   - reduced: how many states SPIN stored with its own reduction, and whatever else it does by
//     itself: spin -a, -DSAFETY -DNOCLAIM, and pan -c0;
//   - verdict: holds or violated.
//
// The first three columns are written by hand. The rest comes from
//
//	go test cpor/examples/promela/corpus -run Spin -update
//
// which runs SPIN. Everything is embedded, so that `cpor bench peers` can measure wherever
// it runs. The package imports nothing of the project.
package corpus

import (
	"embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Some models have a twin in cpor's language, NAME.model, of the same algorithm with the same
// constants at that language's granularity: SPIN's verdict is its own, and SPIN's counts are not.
//
// FS holds the models (NAME.pml), their twins (NAME.model) and runs.csv.
//
//go:embed *.pml *.model runs.csv
var FS embed.FS

// Run is one check of a model with SPIN's answer.
type Run struct {
	Model   string   // the file is Model.pml
	Defines []string // NAME=VALUE, in the order of the table
	Check   string   // safety, ltl NAME, acceptance or progress; with " fair" behind it
	// What SPIN counted; 0 if Check is not safety.
	States, Transitions, Errors uint64
	Reduced                     uint64 // states with SPIN's own reduction
	Violated                    bool
}

// Name identifies a run: the model, its macros, and the check unless it is safety.
func (r *Run) Name() string {
	name := strings.Join(append([]string{r.Model}, r.Defines...), " ")
	if r.Check != Safety {
		name += ", " + r.Check
	}
	return name
}

// Safety is the check for assertions and invalid end states.
const Safety = "safety"

// Header is the first line of runs.csv.
var Header = []string{"model", "defines", "check", "states", "transitions", "errors", "reduced",
	"verdict"}

var table = sync.OnceValues(func() ([]Run, error) {
	f, err := FS.Open("runs.csv")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord = len(Header)
	lines, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("runs.csv: %w", err)
	}
	var runs []Run
	for i, l := range lines[1:] {
		run := Run{
			Model:    l[0],
			Defines:  strings.Fields(l[1]),
			Check:    l[2],
			Violated: l[7] == "violated",
		}
		for k, to := range []*uint64{&run.States, &run.Transitions, &run.Errors, &run.Reduced} {
			if l[3+k] == "" {
				continue
			}
			if *to, err = strconv.ParseUint(l[3+k], 10, 64); err != nil {
				return nil, fmt.Errorf("runs.csv:%d: %w", i+2, err)
			}
		}
		runs = append(runs, run)
	}
	return runs, nil
})

// Runs returns the runs in the order of the table. The error is a fault of the embedded
// table.
func Runs() ([]Run, error) {
	runs, err := table()
	return append([]Run(nil), runs...), err
}

// Text returns the text of a model. The error wraps fs.ErrNotExist if there is none of
// that name.
func Text(model string) ([]byte, error) { return FS.ReadFile(model + ".pml") }

// Twin returns the text of a model's twin in cpor's language. The error wraps fs.ErrNotExist if
// there is none.
func Twin(model string) ([]byte, error) { return FS.ReadFile(model + ".model") }
