package benchmarks_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpor/benchmarks"
	"cpor/engine"
	_ "cpor/engine/all" // the engines
	"cpor/frontend"
	_ "cpor/frontend/model" // the languages
	_ "cpor/frontend/promela"
	"cpor/testkit/sample"
)

// TestSystemFiles checks that the table has each system, in both languages, with a small run for
// tests and one that is measured, and that their parameters are those of both programs.
func TestSystemFiles(t *testing.T) {
	names := benchmarks.SystemNames()
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Error("the table is not in alphabetical order of the systems")
	}
	for _, ending := range []string{".model", ".pml"} {
		files, err := filepath.Glob("systems/*" + ending)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range files {
			files[i] = strings.TrimSuffix(filepath.Base(f), ending)
		}
		if !slices.Equal(files, names) {
			t.Errorf("files %v, in the table %v", files, names)
		}
	}
	small, measured, seen := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, r := range benchmarks.SystemRuns() {
		if seen[r.Name()] {
			t.Errorf("%s: twice", r.Name())
		}
		seen[r.Name()] = true
		small[r.System] = small[r.System] || r.Check == "" && r.States <= fewStates
		measured[r.System] = measured[r.System] || r.Check == "" && r.Measured
		model, err := benchmarks.System(r.System, "model")
		if err != nil {
			t.Error(err)
		}
		twin, err := benchmarks.System(r.System, "pml")
		if err != nil {
			t.Error(err)
		}
		for _, p := range r.Params {
			if !strings.Contains(string(model), "const "+p.Name+" = ") ||
				!strings.Contains(string(twin), "#define "+p.Name+" ") {
				t.Errorf("%s: %s is not a constant of both programs", r.Name(), p.Name)
			}
		}
		if r.Check == "" && r.Promela != r.States && r.Note == "" {
			t.Errorf("%s: nothing says why the numbers of states differ", r.Name())
		}
	}
	for _, n := range names {
		if !small[n] || !measured[n] {
			t.Errorf("%s: a small run %v, a measured one %v", n, small[n], measured[n])
		}
	}
	for _, n := range []string{"nosuch", "", "../robots"} {
		if _, err := benchmarks.System(n, "model"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", n, err)
		}
	}
}

// fewStates bounds the runs that are not left to -long.
const fewStates = 3000

// TestSystems pins states, transitions and verdicts of the systems in both languages. SPIN's are
// compared with the same table in package bench.
func TestSystems(t *testing.T) {
	runs := benchmarks.SystemRuns()
	for i := range runs {
		r := &runs[i]
		if systemWeight(runs, r) > sample.Of[uint64](fewStates/3, fewStates, 1<<62) {
			continue
		}
		t.Run(r.Name(), func(t *testing.T) {
			for _, ending := range []string{".model", ".pml"} {
				if err := checkSystem(r, ending); err != nil {
					t.Errorf("%s: %v", ending, err)
				}
			}
		})
	}
}

// systemWeight is about how many states a run has.
func systemWeight(runs []benchmarks.SystemRun, r *benchmarks.SystemRun) uint64 {
	for i := range runs {
		if s := &runs[i]; s.Check == "" && s.System == r.System &&
			s.Params.String() == r.Params.String() {
			return s.States
		}
	}
	return 1 << 62
}

// checkSystem runs a system in the language with this ending, and returns how it differs from the
// table.
func checkSystem(r *benchmarks.SystemRun, ending string) error {
	options := frontend.Options{Params: r.Params.Map()}
	if ending == ".pml" {
		options.Flags = map[string]string{"semantics": "pure"}
	}
	p, err := frontend.Load("systems/"+r.System+ending, options)
	if err != nil {
		return err
	}
	task := engine.Task{System: p.System, Flags: &engine.Values{}}
	task.Workers, task.All = 2, r.Check == ""
	reduction := "none"
	if r.Check != "" {
		reduction = "transparent"
		k := slices.IndexFunc(p.Properties,
			func(q frontend.Property) bool { return q.Name == r.Check })
		if k < 0 {
			return fmt.Errorf("there is no property %s", r.Check)
		}
		q := &p.Properties[k]
		prop := engine.Property{Name: q.Name, Formula: q.Formula, Pos: q.Pos, Text: q.Text,
			Kind: q.Kind, System: q.System}
		for _, x := range q.Predicates {
			prop.Predicates = append(prop.Predicates, engine.Predicate(x))
		}
		task.Properties = []engine.Property{prop}
	}
	var e *engine.Entry
	for _, m := range engine.Modes() {
		if m.Temporal == (r.Check != "") && (m.Temporal || m.Default) {
			if e, err = engine.Lookup(m.Name, reduction); err != nil {
				return err
			}
		}
	}
	res, err := e.Run(context.Background(), &task)
	if err != nil {
		return err
	}
	if violated := res.Verdict == engine.Violated; violated != r.Violated ||
		!violated && res.Verdict != engine.Pass {
		return fmt.Errorf("verdict %s, want violated: %v", res.Verdict, r.Violated)
	}
	switch edges := res.Transitions - res.BlockedLoops + 1; {
	case r.Check != "":
	case ending == ".model" && res.States != r.States:
		return fmt.Errorf("%d states, want %d", res.States, r.States)
	case ending == ".pml" && (res.States != r.Promela || edges != r.Transitions):
		return fmt.Errorf("%d states and %d transitions, want %d and %d", res.States, edges,
			r.Promela, r.Transitions)
	}
	return nil
}
