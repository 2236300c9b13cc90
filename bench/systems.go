package bench

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cpor/benchmarks"
)

// systemsName is the argument that asks for the systems in both languages only, and systemPrefix
// begins the name of one of them.
const (
	systemsName  = "systems"
	systemPrefix = systemsName + "/"
)

// systemNames are the names of the systems on the command line.
func systemNames() []string {
	names := benchmarks.SystemNames()
	for i := range names {
		names[i] = systemPrefix + names[i]
	}
	return names
}

// inSystems reports whether a measurement is of one of the systems.
func inSystems(m *Measurement) bool { return strings.HasPrefix(m.Benchmark, systemPrefix) }

// systemsChosen returns the runs to measure.
func systemsChosen(s *Session) []benchmarks.SystemRun {
	all := len(s.Names) == 0 || slices.Contains(s.Names, systemsName)
	return slices.DeleteFunc(benchmarks.SystemRuns(), func(r benchmarks.SystemRun) bool {
		return !r.Measured || !all && !slices.Contains(s.Names, systemPrefix+r.System)
	})
}

// The languages of the systems, by the endings of their files.
const modelLanguage, promelaLanguage = "model", "pml"

var systemLanguages = []string{modelLanguage, promelaLanguage}

// systemConfig describes a run: whose language, and how.
func systemConfig(language, check string, rest benchmarks.Params) benchmarks.Params {
	c := append(benchmarks.Params{{Name: "language", Value: language}}, rest...)
	if check != "" {
		return temporalConfig(check, c)
	}
	return c
}

// systemReduction is the reduction of cpor's runs: none for counts that SPIN has, too, and the
// default for properties, as people check them.
func systemReduction(check string) string {
	if check == "" {
		return "none"
	}
	return "transparent"
}

// systemSpin is SPIN's way: every interleaving, or with its own reduction for a property.
func systemSpin(check string) benchmarks.Params {
	if check == "" {
		return systemConfig(promelaLanguage, "", spinConfig(spinModes[0]))
	}
	return systemConfig(promelaLanguage, check, acceptanceConfig)
}

// systemEstimate guesses the time of one run: about 300 ns a transition and the time of a process.
func systemEstimate(r *benchmarks.SystemRun) time.Duration {
	if r.Check != "" {
		return time.Second
	}
	return 50*time.Millisecond + time.Duration(r.Transitions)*300*time.Nanosecond
}

// systemContenders returns how many ways take turns on a run.
func systemContenders(s *Session) int { return min(s.Workers, 2)*len(systemLanguages) + 1 }

// planSystems announces all runs of the systems.
func planSystems(s *Session, runs []benchmarks.SystemRun, rounds int) {
	n := rounds * systemContenders(s)
	for i := range runs {
		estimate := systemEstimate(&runs[i])
		s.Plan(n+1, time.Duration(n)*estimate+3*time.Second+estimate)
	}
}

// runSystems measures the systems. A row that fails becomes a note.
func runSystems(ctx context.Context, s *Session, sp *spin, runs []benchmarks.SystemRun,
	rounds int) {
	for i := range runs {
		if ctx.Err() != nil {
			return
		}
		if err := runSystem(ctx, s, sp, &runs[i], rounds); err != nil && ctx.Err() == nil {
			s.Note("peers, %s%s: %v", systemPrefix, runs[i].Name(), err)
		}
	}
}

// systemVerifier compiles SPIN's verifier of a run.
func (sp *spin) systemVerifier(ctx context.Context, r *benchmarks.SystemRun) (*verifier, error) {
	text, err := benchmarks.System(r.System, promelaLanguage)
	if err != nil {
		return nil, err
	}
	options, flags := []string{"-o1", "-o2", "-o3"}, []string{"-DSAFETY", "-DNOREDUCE", "-DNOCLAIM"}
	if r.Check != "" { // as people run it
		options, flags = nil, nil
	}
	// SPIN asks for more than its 1024 bytes if a state is larger.
	v, _, err := sp.compile(ctx, r.System, text, r.Params, options,
		append(flags, "-DVECTORSZ=4096"))
	if err == nil {
		v.search(r.Check, r.Violated)
	}
	return v, err
}

// ownSystem is cpor on a system. Counterexamples are not shortened, for SPIN does not do it.
func ownSystem(s *Session, r *benchmarks.SystemRun, language, file string, workers int) contender {
	req := Request{Model: file, Params: r.Params, POR: systemReduction(r.Check), Workers: workers,
		Violated: r.Violated}
	switch {
	case r.Check != "":
		req.Mode, req.Flags = temporalMode(), []string{"-ltl", r.Check, "-minimize", "0"}
	case r.Violated:
		req.Flags = everyError
	}
	return cporContender(s, systemConfig(language, r.Check, config(req.POR, workers)),
		r.Check == "", req)
}

func runSystem(ctx context.Context, s *Session, sp *spin, r *benchmarks.SystemRun,
	rounds int) error {
	estimate, name := systemEstimate(r), systemPrefix+r.Name()
	v, out := ready(ctx, s, name+", SPIN", 3*time.Second+estimate,
		func(ctx context.Context) (*verifier, error) { return sp.systemVerifier(ctx, r) })
	if out.Status == Interrupted {
		return nil
	}
	if out.Status != Done {
		n := rounds * systemContenders(s)
		s.Drop(n, time.Duration(n)*estimate)
		return fmt.Errorf("SPIN: %s", out.Reason)
	}
	all := []contender{panContender(s, systemSpin(r.Check), r.Check == "", v)}
	for _, l := range systemLanguages {
		text, err := benchmarks.System(r.System, l)
		if err != nil {
			return err
		}
		file := filepath.Join(sp.dir, r.System+"-system."+l)
		if err := os.WriteFile(file, text, 0o666); err != nil {
			return err
		}
		all = append(all, ownSystem(s, r, l, file, 1))
		if s.Workers > 1 {
			all = append(all, ownSystem(s, r, l, file, s.Workers))
		}
	}
	takeTurns(ctx, s, all, rounds, systemPrefix+r.System, r.Params, name, estimate,
		func(label string, c *contender, out *Outcome) {
			if want := systemStates(r, c); c.exact && out.States != want {
				s.Unexpected("%s: %d states, and %d in the table", label, out.States, want)
			} else if out.Violated != r.Violated {
				s.Unexpected("%s: violated is %v, and %v in the table", label, out.Violated,
					r.Violated)
			}
		})
	return nil
}

// systemStates returns the states that the table has for a contender.
func systemStates(r *benchmarks.SystemRun, c *contender) uint64 {
	if c.config.Map()["language"] == modelLanguage {
		return r.States
	}
	return r.Promela
}

// reportSystems compares processor time, in both languages, the worst first.
func reportSystems(ms []Measurement) []Section {
	if len(ms) == 0 {
		return nil
	}
	sec := Section{
		Title: "Systems in both languages beside SPIN",
		Text: []string{
			"Systems of benchmarks/systems in cpor's model language (model), in Promela (pml), " +
				"and in SPIN, with the same numbers of states, which are checked (no ratio " +
				"where the table shows two). All take turns, round by round. Times are " +
				"processor time of the whole process, cpor with one worker. Ratios are SPIN's " +
				"time over cpor's, medians over the rounds; above 1 cpor is faster. The worst " +
				"row comes first.",
		},
	}
	var safety, temporal []Measurement
	for _, m := range ms {
		if isTemporal(&m) {
			temporal = append(temporal, m)
		} else {
			safety = append(safety, m)
		}
	}
	if len(safety) > 0 {
		sec.Grids = append(sec.Grids, systemGrid(safety, "Every interleaving: cpor run -por none, "+
			"and spin -o1 -o2 -o3 -a, -O3 -DSAFETY -DNOREDUCE -DNOCLAIM"))
	}
	if len(temporal) > 0 {
		sec.Grids = append(sec.Grids, systemGrid(temporal, "Temporal properties, each with "+
			"its own reduction: cpor run -ltl -minimize 0, and spin -a, -O3, pan -a"))
	}
	if most := slices.Max(append(workerCounts(ms), 1)); most > 1 {
		sec.Grids = append(sec.Grids, systemSpeedups(ms, most))
	}
	return []Section{sec}
}

// ownRuns returns cpor's runs of a row.
func ownRuns(ms []Measurement, c checkedRow, language string, workers int) []Measurement {
	return cell(ms, c.row, "cpor", systemConfig(language, c.property,
		config(systemReduction(c.property), workers)).String())
}

// systemLine is a line of a table with a ratio for each language.
type systemLine struct {
	cells  []string
	ratios [][]float64 // by language and round
}

// worst is the smaller of the two medians, or a large number if there are none.
func (l *systemLine) worst() float64 {
	worst := 1e9
	for _, rs := range l.ratios {
		if len(rs) > 0 {
			worst = min(worst, median(rs))
		}
	}
	return worst
}

// systemLines makes a line for each row, the worst first, with its name before the cells and the
// ratios behind them, and a last line with the geometric means.
func systemLines(ms []Measurement, of func(c checkedRow) systemLine) []Line {
	var lines []systemLine
	for _, c := range checkedRows(ms) {
		l, name := of(c), strings.TrimPrefix(c.row, systemPrefix)
		if c.property != "" {
			name += ", " + c.property
		}
		l.cells = slices.Insert(l.cells, 0, name)
		lines = append(lines, l)
	}
	slices.SortStableFunc(lines, func(a, b systemLine) int {
		return cmp.Compare(a.worst(), b.worst())
	})
	last := make([]string, len(lines[0].cells))
	last[0] = fmt.Sprintf("geometric mean of %d", len(lines))
	means := make([][]float64, len(systemLanguages))
	var out []Line
	for _, l := range lines {
		for k, rs := range l.ratios {
			l.cells = append(l.cells, middle(rs))
			if len(rs) > 0 {
				means[k] = append(means[k], median(rs))
			}
		}
		out = append(out, Line{Cells: l.cells})
	}
	for _, xs := range means {
		last = append(last, mean(xs))
	}
	return append(out, Line{Cells: last})
}

// systemGrid compares processor time. The numbers of states are shown where all tools
// search all of them.
func systemGrid(ms []Measurement, caption string) Grid {
	counted := !isTemporal(&ms[0])
	grid := Grid{Caption: caption, Header: []string{"", "model", "pml", "SPIN", "SPIN/model",
		"SPIN/pml"}}
	if counted {
		grid.Header = slices.Insert(grid.Header, 1, "states")
	}
	grid.Lines = systemLines(ms, func(c checkedRow) (l systemLine) {
		sp := cell(ms, c.row, "spin", systemSpin(c.property).String())
		var counts []string
		for _, language := range systemLanguages {
			own := ownRuns(ms, c, language, 1)
			l.cells = append(l.cells, middleTime(own, cpuTime))
			n := stored(own)
			if !slices.Contains(append(counts, "–"), n) {
				counts = append(counts, n)
			}
			if counted && n != stored(sp) {
				own = nil // no ratio
			}
			l.ratios = append(l.ratios, ratios(sp, own, corpusCPU))
		}
		l.cells = append(l.cells, middleTime(sp, cpuTime))
		if counted {
			l.cells = slices.Insert(l.cells, 0, strings.Join(counts, "; "))
		}
		return l
	})
	return grid
}

// systemSpeedups compares several workers with one, by the clock.
func systemSpeedups(ms []Measurement, workers int) Grid {
	return Grid{Caption: fmt.Sprintf("How many times as fast by the clock %d workers are as one",
		workers), Header: []string{"", "one, model", "one, pml", "ratio, model", "ratio, pml"},
		Lines: systemLines(ms, func(c checkedRow) (l systemLine) {
			for _, language := range systemLanguages {
				one := ownRuns(ms, c, language, 1)
				l.cells = append(l.cells, middleTime(one, wallTime))
				l.ratios = append(l.ratios,
					ratios(one, ownRuns(ms, c, language, workers), corpusWall))
			}
			return l
		})}
}
