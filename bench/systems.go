package bench

import (
	"cmp"
	"context"
	"errors"
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

// inSystems tells measurements of the systems from others.
func inSystems(m *Measurement) bool { return strings.HasPrefix(m.Benchmark, systemPrefix) }

// systemsChosen returns the runs to measure. With -D, the user's parameters replace the table's.
func systemsChosen(s *Session) []benchmarks.SystemRun {
	all := len(s.Names) == 0 || slices.Contains(s.Names, systemsName)
	return slices.DeleteFunc(benchmarks.SystemRuns(), func(r benchmarks.SystemRun) bool {
		return !r.Measured || !all && !slices.Contains(s.Names, systemPrefix+r.System)
	})
}

// The languages of the systems, by the endings of their files.
var systemLanguages = []string{"model", "promela"}

// systemConfig describes a run: whose language, and how.
func systemConfig(language, check string, rest benchmarks.Params) benchmarks.Params {
	c := benchmarks.Params{{Name: "language", Value: language}}
	if check != "" {
		c = temporalConfig(check, c)
	}
	return append(c, rest...)
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
		return systemConfig("promela", "", spinConfig(spinModes[0]))
	}
	return systemConfig("promela", check, benchmarks.Params{{Name: "mode", Value: acceptance}})
}

// systemEstimate guesses the time of one run: about 300 ns a transition and the time of a process.
func systemEstimate(r *benchmarks.SystemRun) time.Duration {
	if r.Check != "" {
		return time.Second
	}
	return 50*time.Millisecond + time.Duration(r.Transitions)*300*time.Nanosecond
}

// systemContenders returns how many ways take turns on a run.
func systemContenders(s *Session) int {
	if s.Workers > 1 {
		return 2*len(systemLanguages) + 1
	}
	return len(systemLanguages) + 1
}

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
	text, err := benchmarks.SystemPromela(r.System)
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
	if err != nil {
		return nil, err
	}
	v.search(r)
	return v, nil
}

// search lets a verifier look for what a run asks for.
func (v *verifier) search(r *benchmarks.SystemRun) {
	v.check, v.errors = nil, r.Violated
	switch {
	case r.Check != "":
		v.check = []string{"-a", "-N", r.Check}
	case r.Violated:
		v.check = []string{"-c0"}
	}
}

// systemFiles writes a system to files, by language.
func (sp *spin) systemFiles(system string) (map[string]string, error) {
	model, err := benchmarks.SystemModel(system)
	twin, twinErr := benchmarks.SystemPromela(system)
	if err = errors.Join(err, twinErr); err != nil {
		return nil, err
	}
	files := map[string]string{
		"model":   filepath.Join(sp.dir, system+".model"),
		"promela": filepath.Join(sp.dir, system+"-system.pml"),
	}
	return files, errors.Join(os.WriteFile(files["model"], model, 0o666),
		os.WriteFile(files["promela"], twin, 0o666))
}

// ownSystem is cpor on a system.
func ownSystem(s *Session, r *benchmarks.SystemRun, language, file string, workers int) contender {
	req := Request{Model: file, Params: r.Params, POR: systemReduction(r.Check), Workers: workers,
		MaxMemory: s.MaxMemory, Limit: s.Limit, Violated: r.Violated}
	switch {
	case r.Check != "":
		req.Mode, req.Flags = temporalMode(), []string{"-ltl", r.Check}
	case r.Violated: // both count everything there is
		req.Flags = []string{"-deadlock", "-all", "-minimize", "0"}
	}
	return contender{tool: "cpor", exact: r.Check == "",
		config: systemConfig(language, r.Check, config(req.POR, workers)),
		run:    func(ctx context.Context) Outcome { return s.runner.Run(ctx, req) }}
}

func runSystem(ctx context.Context, s *Session, sp *spin, r *benchmarks.SystemRun,
	rounds int) error {
	estimate := systemEstimate(r)
	files, err := sp.systemFiles(r.System)
	if err != nil {
		return err
	}
	var v *verifier
	out := s.Do(ctx, systemPrefix+r.Name()+", SPIN, compiling", 3*time.Second+estimate,
		func(ctx context.Context) Outcome {
			var err error
			if v, err = sp.systemVerifier(ctx, r); err != nil {
				return Outcome{Status: Failed, Reason: err.Error()}
			}
			return within(ctx, s.Limit, v.calibrate)
		})
	if out.Status == Interrupted {
		return nil
	}
	if out.Status != Done {
		n := rounds * systemContenders(s)
		s.Drop(n, time.Duration(n)*estimate)
		return fmt.Errorf("SPIN: %s", out.Reason)
	}
	all := []contender{{tool: "spin", exact: r.Check == "", config: systemSpin(r.Check),
		run: func(ctx context.Context) Outcome { return within(ctx, s.Limit, v.run) }}}
	for _, l := range systemLanguages {
		all = append(all, ownSystem(s, r, l, files[l], 1))
		if s.Workers > 1 {
			all = append(all, ownSystem(s, r, l, files[l], s.Workers))
		}
	}
	for round := 1; round <= rounds; round++ {
		for i := range all {
			c := &all[(i+round-1)%len(all)]
			label := fmt.Sprintf("%s%s, %s %s, round %d", systemPrefix, r.Name(), c.tool, c.config,
				round)
			out := s.Do(ctx, label, estimate, c.run)
			if out.Status == Interrupted {
				return nil
			}
			s.Record(Measurement{Benchmark: systemPrefix + r.System, Params: r.Params, Tool: c.tool,
				Config: c.config, Round: round, Outcome: out})
			if out.Status != Done {
				s.Note("peers, %s: %s", label, out.Reason)
			} else if want := systemStates(r, c); c.exact && out.States != want {
				s.Unexpected("%s: %d states, and %d in the table", label, out.States, want)
			} else if out.Violated != r.Violated {
				s.Unexpected("%s: violated is %v, and %v in the table", label, out.Violated,
					r.Violated)
			}
		}
	}
	return nil
}

// systemStates returns the states that the table has for a contender.
func systemStates(r *benchmarks.SystemRun, c *contender) uint64 {
	if c.config.Map()["language"] == "model" {
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
		sec.Grids = append(sec.Grids, systemGrid(temporal, "Temporal properties, each tool with "+
			"its own reduction: cpor run -ltl, and spin -a, -O3, pan -a"))
	}
	if most := slices.Max(append(workerCounts(ms), 1)); most > 1 {
		sec.Grids = append(sec.Grids, systemSpeedups(ms, most))
	}
	return []Section{sec}
}

// ownRuns returns cpor's runs of a row.
func ownRuns(ms []Measurement, c systemCheck, language string, workers int) []Measurement {
	return cell(ms, c.row, "cpor", systemConfig(language, c.check,
		config(systemReduction(c.check), workers)).String())
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

// systemLines sorts lines, the worst first, adds the ratios to them, and a last line with the
// geometric means.
func systemLines(lines []systemLine) []Line {
	slices.SortStableFunc(lines, func(a, b systemLine) int {
		return cmp.Compare(a.worst(), b.worst())
	})
	var out []Line
	means := make([][]float64, len(systemLanguages))
	for _, l := range lines {
		for k, rs := range l.ratios {
			l.cells = append(l.cells, middle(rs))
			if len(rs) > 0 {
				means[k] = append(means[k], median(rs))
			}
		}
		out = append(out, Line{Cells: l.cells})
	}
	last := make([]string, len(out[0].Cells)-len(means))
	last[0] = fmt.Sprintf("geometric mean of %d", len(lines))
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
	var lines []systemLine
	for _, c := range systemChecks(ms) {
		sp := cell(ms, c.row, "spin", systemSpin(c.check).String())
		var l systemLine
		var counts, times []string
		for _, language := range systemLanguages {
			own := ownRuns(ms, c, language, 1)
			if n := stored(own); !slices.Contains(append(counts, "–"), n) {
				counts = append(counts, n)
			}
			times = append(times, tookCPU(own))
			if counted && stored(own) != stored(sp) {
				l.ratios = append(l.ratios, nil) // of other states
				continue
			}
			l.ratios = append(l.ratios, ratios(sp, own, corpusCPU))
		}
		l.cells = []string{c.name()}
		if counted {
			l.cells = append(l.cells, strings.Join(counts, "; "))
		}
		l.cells = slices.Concat(l.cells, times, []string{tookCPU(sp)})
		lines = append(lines, l)
	}
	grid.Lines = systemLines(lines)
	return grid
}

// systemSpeedups compares several workers with one, by the clock.
func systemSpeedups(ms []Measurement, workers int) Grid {
	grid := Grid{Caption: fmt.Sprintf("How many times as fast by the clock %d workers are as one",
		workers), Header: []string{"", "one, model", "one, pml", "ratio, model", "ratio, pml"}}
	var lines []systemLine
	for _, c := range systemChecks(ms) {
		l := systemLine{cells: []string{c.name()}}
		for _, language := range systemLanguages {
			one := ownRuns(ms, c, language, 1)
			took, ok := medianTime(one, wallTime)
			if !ok {
				l.cells = append(l.cells, "–")
			} else {
				l.cells = append(l.cells, duration(took))
			}
			l.ratios = append(l.ratios, ratios(one, ownRuns(ms, c, language, workers), corpusWall))
		}
		lines = append(lines, l)
	}
	grid.Lines = systemLines(lines)
	return grid
}

// systemCheck is a row, with a property or none.
type systemCheck struct{ row, check string }

func (c systemCheck) name() string {
	name := strings.TrimPrefix(c.row, systemPrefix)
	if c.check != "" {
		name += ", " + c.check
	}
	return name
}

func systemChecks(ms []Measurement) []systemCheck {
	var checks []systemCheck
	for i := range ms {
		c := systemCheck{ms[i].row(), ms[i].Config.Map()["ltl"]}
		if !slices.Contains(checks, c) {
			checks = append(checks, c)
		}
	}
	return checks
}

// tookCPU formats the median of the processor time, or a dash.
func tookCPU(c []Measurement) string {
	d, ok := medianTime(c, func(m *Measurement) time.Duration { return m.CPU })
	if !ok {
		return "–"
	}
	return duration(d)
}
