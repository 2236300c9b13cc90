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
	"cpor/engine"
	"cpor/engine/search/reduction"
	"cpor/engine/unfolding"
	"cpor/examples"
	"cpor/examples/promela/corpus"
	"cpor/internal/human"
)

// reductionTable puts every reduction on every model beside each other, and beside SPIN with
// and without its own.
var reductionTable = Table{
	Name: "reduction",
	Summary: "every reduction on all models of the project, or on yours, and SPIN's beside " +
		"them: states, time, verdicts",
	Run:        runReductions,
	Report:     reportReductions,
	Flags:      []string{"rounds", "por", "D"},
	Benchmarks: reductionNames,
	Files:      true,
	Asked:      true,
}

func init() { Register(reductionTable) }

// The runs of the Promela corpus with so many states are rows: fewer say little of a
// reduction, and more take too long.
const leastStates, mostStates = 1_000, 2_000_000

// reductionLimit ends a run unless -limit says when, so that the table takes a known time.
const reductionLimit = 10 * time.Second

// reductionEstimate is about the time of one run.
const reductionEstimate = 500 * time.Millisecond

// reductionRow is a model with constants.
type reductionRow struct {
	name   string
	params benchmarks.Params
	// file is what cpor searches: a name, to be written with this text, or the path of the
	// user's own.
	file string
	text []byte
	twin []byte // the same system in Promela, if file is in cpor's language; nil: there is none
	// deadlocks tells that deadlocks count as violations. The papers' systems have some that
	// their twins for SPIN have not.
	deadlocks bool
	// spin is what SPIN said in the corpus' table; nil: not known. Counts are 0 for a twin, whose
	// granularity is another.
	spin *corpus.Run
}

// isPromela reports whether cpor searches a Promela model, which has ways of its own.
func (r *reductionRow) isPromela() bool { return filepath.Ext(r.file) == ".pml" }

// promela is what SPIN gets; nil: nothing.
func (r *reductionRow) promela() []byte {
	if r.isPromela() {
		return r.text
	}
	return r.twin
}

// reductionRows returns all rows. The error is a fault of what is embedded.
func reductionRows() ([]reductionRow, error) {
	var rows []reductionRow
	var errs []error
	note := func(err error) { errs = append(errs, err) }
	params := func(s string) benchmarks.Params {
		ps, err := benchmarks.ParseParams(s)
		note(err)
		return ps
	}
	system := func(name, constants string) {
		text, err := anyModel(name)
		note(err)
		twin, _ := benchmarks.Promela(name) // nil: it has none
		rows = append(rows, reductionRow{name: name, params: params(constants),
			file: name + ".model", text: text, twin: twin})
	}
	for _, r := range peerRows {
		system(r.benchmark, r.params)
	}
	system("sharedarray", "")
	for _, r := range []systemRow{{"lastzero", "N=8"}, {"readers", "N=10"}, {"increments", "N=4"},
		{"m_ex", ""}, {"haltexception", "LOCAL=false ITEMS=2 SIZE=2"}, {"clean", ""},
		{"coordbarrier", ""}, {"dissbarrier", ""}, {"mpsc", ""}, {"prodcons", ""},
		{"pipeline", "N=4"}, {"election", "N=5"}, {"rwlock", "N=5"}, {"hashtable", "N=8"}} {
		system(r.benchmark, r.params)
	}
	files, err := examples.FS.ReadDir(".")
	note(err)
	twins, err := examples.FS.ReadDir("promela")
	note(err)
	for _, f := range append(files, twins...) {
		path, ext := f.Name(), filepath.Ext(f.Name())
		if ext == ".pml" {
			path = "promela/" + path
		} else if ext != ".model" {
			continue
		}
		text, err := examples.FS.ReadFile(path)
		note(err)
		rows = append(rows, reductionRow{name: "examples/" + strings.TrimSuffix(path, ext),
			file: f.Name(), text: text, deadlocks: true})
	}
	runs, err := corpus.Runs()
	note(err)
	for i := range runs {
		c := &runs[i]
		if c.Check != corpus.Safety || c.States < leastStates || c.States > mostStates {
			continue
		}
		text, err := corpus.Text(c.Model)
		note(err)
		rows = append(rows, reductionRow{name: c.Model,
			params: params(strings.Join(c.Defines, " ")), file: c.Model + ".pml", text: text,
			deadlocks: true, spin: c})
		if twin, err := corpus.Twin(c.Model); err == nil {
			rows = append(rows, reductionRow{name: "twins/" + c.Model,
				params: rows[len(rows)-1].params, file: c.Model + ".model", text: twin,
				deadlocks: true, spin: &corpus.Run{Violated: c.Violated}})
		}
	}
	return rows, errors.Join(errs...)
}

func reductionNames() []string {
	rows, _ := reductionRows() // a fault shows when it is measured
	var names []string
	for i := range rows {
		if !slices.Contains(names, rows[i].name) {
			names = append(names, rows[i].name)
		}
	}
	return names
}

// reductionWay is a way to search.
type reductionWay struct {
	name      string
	entry     *engine.Entry // nil: SPIN
	flags     []string
	promela   bool // is only for models in Promela
	reduction bool // of SPIN: leaves its own on
}

// The names of the ways that others are compared with.
const (
	fullWay    = "none"
	panWay     = "pan, full"
	reducedWay = "pan"
)

// reductionWays returns the columns: every reduction of the search with stored states that
// preserves what the Cartesian one does, each also with the semantics of Promela that is not
// its default, the unfolding, and SPIN.
func reductionWays() []reductionWay {
	var ways, others []reductionWay
	for _, e := range engine.Entries(reduction.Mode) {
		if e.Preserves&(engine.Locals|engine.States) == 0 {
			continue
		}
		ways = append(ways, reductionWay{name: e.Name, entry: e})
		other := "merged"
		if e.Reduces {
			other = "pure"
		}
		others = append(others, reductionWay{name: e.Name + ", " + other, entry: e, promela: true,
			flags: []string{"-semantics", other}})
	}
	ways = append(ways, others...)
	for _, e := range engine.Entries(unfolding.Mode) {
		ways = append(ways, reductionWay{name: unfolding.Mode, entry: e})
	}
	return append(ways, reductionWay{name: panWay}, reductionWay{name: reducedWay, reduction: true})
}

func (w *reductionWay) config() benchmarks.Params {
	return benchmarks.Params{{Name: "search", Value: w.name}}
}

// request asks for a row to be searched in this way, with one worker.
func (w *reductionWay) request(s *Session, r *reductionRow, file string,
	limit time.Duration) Request {
	q := Request{Model: file, Params: r.params, Mode: w.entry.Mode, POR: w.entry.Name, Workers: 1,
		Limit: limit, MaxMemory: s.MaxMemory, Flags: slices.Clone(w.flags)}
	if w.entry.Takes&engine.TakesAll != 0 { // all of it, so that sizes compare
		q.Flags = append(q.Flags, "-all", "-minimize", "0")
	}
	if r.deadlocks && w.entry.Takes&engine.TakesDeadlocks != 0 {
		q.Flags = append(q.Flags, "-deadlock")
	}
	return q
}

// reductionsChosen returns the rows that the user asked for.
func reductionsChosen(s *Session) ([]reductionRow, error) {
	all, err := reductionRows()
	if err != nil {
		return nil, err
	}
	var rows []reductionRow
	for _, r := range all {
		if (len(s.Names) == 0 || slices.Contains(s.Names, r.name)) &&
			!slices.ContainsFunc(s.Params, func(p benchmarks.Param) bool {
				return r.params.Map()[p.Name] != p.Value
			}) {
			rows = append(rows, r)
		}
	}
	for _, n := range s.Names {
		if isFile(n) {
			text, err := os.ReadFile(n)
			if err != nil {
				return nil, err
			}
			rows = append(rows, reductionRow{name: name(n), params: s.Params, file: n, text: text,
				deadlocks: true})
		}
	}
	return rows, nil
}

// runReductions measures with one worker, so that times compare.
func runReductions(ctx context.Context, s *Session) error {
	rows, err := reductionsChosen(s)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "cpor-bench-reduction-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	sp, err := findSpin()
	if err != nil {
		s.Note("reduction: SPIN IS NOT MEASURED: %v", err)
	} else {
		defer sp.close()
	}
	limit, rounds := s.LimitOr(reductionLimit), s.Rounds(1)
	n := 0
	ways := reductionWays()
	for _, w := range ways {
		for i := range rows {
			if w.measures(s, &rows[i], sp) {
				n++
			}
		}
	}
	s.Plan(n*rounds, time.Duration(n*rounds)*reductionEstimate)
	refused := map[string]bool{}
	for i := range rows {
		r := &rows[i]
		file := r.file
		if filepath.Base(file) == file {
			file = filepath.Join(dir, file)
			if err := os.WriteFile(file, r.text, 0o666); err != nil {
				return err
			}
		}
		if !runReductionRow(ctx, s, sp, r, file, ways, refused, limit, rounds) {
			return nil
		}
	}
	return nil
}

// measures reports whether a way is for a row.
func (w *reductionWay) measures(s *Session, r *reductionRow, sp *spin) bool {
	if w.entry == nil {
		return sp != nil && r.promela() != nil
	}
	return (s.POR == "" || s.POR == w.entry.Name || w.name == fullWay) &&
		(!w.promela || r.isPromela())
}

// runReductionRow measures a row. It returns false if it was interrupted.
func runReductionRow(ctx context.Context, s *Session, sp *spin, r *reductionRow, file string,
	ways []reductionWay, refused map[string]bool, limit time.Duration, rounds int) bool {
	row := rowName(r.name, r.params)
	verifiers := map[string]*verifier{}
	tried := map[string]bool{} // in vain
	var verdict *bool          // SPIN's, or of the first that covered everything
	states := uint64(0)        // of a full search
	if r.spin != nil {
		verdict, states = &r.spin.Violated, r.spin.States
		if sp == nil && r.spin.Reduced > 0 { // better than nothing
			s.Record(Measurement{Benchmark: r.name, Params: r.params, Tool: "spin",
				Config: benchmarks.Params{{Name: "search", Value: reducedWay}},
				Outcome: Outcome{Status: Done, States: r.spin.Reduced,
					Violated: r.spin.Violated}})
		}
	}
	for round := 1; round <= rounds; round++ {
		for i := range ways {
			w := &ways[i]
			if !w.measures(s, r, sp) {
				continue
			}
			if tried[w.name] {
				s.Drop(1, reductionEstimate)
				continue
			}
			label := fmt.Sprintf("%s, %s", row, w.name)
			m := Measurement{Benchmark: r.name, Params: r.params, Tool: "cpor", Round: round,
				Config: w.config()}
			if w.entry == nil {
				m.Tool = "spin"
			}
			m.Outcome = s.Do(ctx, label, reductionEstimate, func(ctx context.Context) Outcome {
				if w.entry != nil {
					return s.runner.Run(ctx, w.request(s, r, file, limit))
				}
				if verifiers[w.name] == nil {
					v, built, err := sp.verifierOf(ctx, r, w)
					if err != nil {
						return Outcome{Status: Failed, Reason: err.Error()}
					}
					verifiers[w.name] = v
					if w.reduction { // the fewest states, and no table that was fitted
						m.Extra = map[string]float64{"built-sec": built.Wall.Seconds()}
					} else if out := within(ctx, limit, v.calibrate); out.Status != Done {
						return out
					}
				}
				return within(ctx, limit, verifiers[w.name].run)
			})
			if m.Status == Interrupted {
				return false
			}
			if m.Status == Failed && m.Violated && w.entry != nil {
				m.Status = Limited // all violations were asked for, so that a limit ended it
				if verdict != nil && !*verdict {
					s.Unexpected("%s: it found a violation, where there is none: %s", label,
						m.Reason)
				}
			}
			s.Record(m)
			if tried[w.name] = m.Status != Done; tried[w.name] {
				if m.Status == Limited || w.entry == nil || !refused[w.name] {
					s.Note("%s: %s", label, m.Reason)
				}
				refused[w.name] = true // the same will be said of many rows
				continue
			}
			if verdict == nil {
				verdict = &m.Violated
			} else if *verdict != m.Violated {
				s.Unexpected("%s: violated is %v, and %v before", label, m.Violated, *verdict)
			}
			if w.name == fullWay || w.name == panWay {
				if states == 0 {
					states = m.States
				} else if states != m.States {
					s.Unexpected("%s: %d states, and %d in another search of everything", label,
						m.States, states)
				}
			}
		}
	}
	return true
}

// verifierOf makes SPIN's verifier for a row.
func (sp *spin) verifierOf(ctx context.Context, r *reductionRow, w *reductionWay) (*verifier,
	Outcome, error) {
	mode, options := usual, []string(nil)
	if !w.reduction {
		mode, options = spinModes[0], []string{"-o1", "-o2", "-o3"}
	}
	model := strings.TrimSuffix(filepath.Base(r.file), filepath.Ext(r.file))
	v, built, err := sp.compile(ctx, model, r.promela(), r.params, options,
		append([]string{"-DSAFETY", "-DNOCLAIM"}, mode.flags...))
	if err != nil {
		return nil, built, err
	}
	v.errors = true
	if v.check = []string{"-c0"}; !r.deadlocks {
		v.check = append(v.check, "-E")
	}
	if w.reduction {
		v.table = 0
	}
	return v, built, nil
}

// reductionCell is what one way said of one row.
type reductionCell struct {
	known  bool   // there is a measurement
	status Status // of the last
	size   float64
	cpu    float64 // seconds
	wall   float64 // seconds; of SPIN's usual verifier with spin and the compiler
}

// text shows the size, and of a search that a limit ended how far it came.
func (c *reductionCell) text() string {
	switch {
	case c.known && c.status == Done:
		return count(uint64(c.size))
	case c.known && c.status == Limited && c.size > 0:
		return ">" + count(uint64(c.size))
	case c.known && c.status == Limited:
		return "cut"
	}
	return "–"
}

func (c *reductionCell) done() bool { return c.known && c.status == Done }

func reductionCellOf(ms []Measurement, row string, w *reductionWay) reductionCell {
	tool := "cpor"
	if w.entry == nil {
		tool = "spin"
	}
	var c reductionCell
	var cpu, wall []float64
	built := 0.0
	for _, m := range cell(ms, row, tool, w.config().String()) {
		c.known, c.status, c.size = true, m.Status, float64(m.States)
		if w.name == unfolding.Mode {
			c.size = float64(m.Transitions)
		}
		cpu, wall = append(cpu, m.CPU.Seconds()), append(wall, m.Wall.Seconds())
		built = max(built, m.Extra["built-sec"])
	}
	c.cpu, c.wall = median(cpu), median(wall)+built
	return c
}

func reportReductions(ms []Measurement, machine Machine) []Section {
	if len(ms) == 0 {
		return nil
	}
	var rows []string
	for i := range ms {
		if r := ms[i].row(); !slices.Contains(rows, r) {
			rows = append(rows, r)
		}
	}
	ways := reductionWays()
	at := map[string][]reductionCell{} // in the order of the ways
	for _, row := range rows {
		for i := range ways {
			at[row] = append(at[row], reductionCellOf(ms, row, &ways[i]))
		}
	}
	place := func(name string) int {
		return slices.IndexFunc(ways, func(w reductionWay) bool { return w.name == name })
	}
	full, pan := place(fullWay), place(reducedWay)
	auto := place("auto")
	sec := Section{
		Title: "Reductions beside each other and beside SPIN's",
		Text: []string{fmt.Sprintf("Measured on %s (%s) with one worker. All violations are "+
			"collected, so that every search covers everything. pan is SPIN's verifier as people "+
			"build it (spin -a, -O3 -DSAFETY), with its reduction; pan, full has -o1 -o2 -o3 and "+
			"-DNOREDUCE, and as many states as none. Means are geometric, over the rows in which "+
			"both searches covered everything; a search that a limit ended is in no mean, and "+
			"counts as cut. Models in Promela are searched with merged steps where there is a "+
			"reduction, and with SPIN's steps (-semantics pure) where there is none, or as the "+
			"column says. Below a tenth of a second, pan mostly makes the hash table that it has "+
			"by itself.",
			human.Plural(machine.Cores, "core"), machine.CPU)},
	}
	if !slices.ContainsFunc(ms, func(m Measurement) bool {
		return m.Tool == "spin" && m.Round > 0
	}) {
		sec.Text = append(sec.Text, "SPIN WAS NOT MEASURED: its times are missing, and its states "+
			"are those of the corpus' table (examples/promela/corpus/runs.csv).")
	}
	sec.Grids = append(sec.Grids, reductionSummary(rows, ways, at, full, pan))
	// The worst rows first: by states of auto over pan's, and then over all.
	slices.SortStableFunc(rows, func(a, b string) int {
		worst := func(row string) float64 {
			c := at[row]
			switch {
			case c[auto].done() && c[pan].done():
				return 1 + c[auto].size/c[pan].size
			case c[auto].done() && c[full].done():
				return c[auto].size / c[full].size / 2
			}
			return 0
		}
		return cmp.Compare(worst(b), worst(a))
	})
	for _, g := range reductionColumns(ways) {
		states := Grid{Caption: "States (events of the unfolding), the worst for auto beside pan " +
			"first; >: a limit ended it; –: refused, or not for this model", Header: []string{""}}
		for _, i := range g {
			states.Header = append(states.Header, ways[i].name)
		}
		times := Grid{Caption: "Processor time of the whole process",
			Header: slices.Clone(states.Header)}
		for _, row := range rows {
			sizes, took := []string{row}, []string{row}
			for _, i := range g {
				c := &at[row][i]
				sizes = append(sizes, c.text())
				t := "–"
				if c.done() && c.cpu > 0 {
					t = duration(seconds(c.cpu))
				}
				took = append(took, t)
			}
			states.Lines = append(states.Lines, Line{Cells: sizes})
			times.Lines = append(times.Lines, Line{Cells: took})
		}
		sec.Grids = append(sec.Grids, states, times)
	}
	if p, ok := reductionPlot(rows, ways, at, pan); ok {
		sec.Plots = []Plot{p}
	}
	return []Section{sec}
}

// reductionColumns divides the ways into tables that fit a terminal.
func reductionColumns(ways []reductionWay) [][]int {
	var plain, others []int
	for i := range ways {
		if ways[i].promela {
			others = append(others, i)
		} else {
			plain = append(plain, i)
		}
	}
	return [][]int{plain, others}
}

// reductionSummary is a line for each way: its means.
func reductionSummary(rows []string, ways []reductionWay, at map[string][]reductionCell,
	full, pan int) Grid {
	g := Grid{
		Caption: "Geometric means, states and processor time, over those of none and of pan",
		Header: []string{"", "rows", "cut", "of none", "time", "rows", "of pan", ">2", ">10",
			"worst", "time", "wall"},
		Notes: []string{"rows: how many the means to their right are of. >2, >10: rows with " +
			"more than so many times pan's states. wall: the process's by the clock over that " +
			"of spin, the C compiler and pan together, the worst row."},
	}
	for i := range ways {
		var none, noneTime, of, ofTime []float64
		cut, two, ten, slowest := 0, 0, 0, 0.0
		for _, row := range rows {
			c, f, p := &at[row][i], &at[row][full], &at[row][pan]
			if c.known && c.status == Limited {
				cut++
			}
			if !c.done() {
				continue
			}
			if f.done() && c.size > 0 && f.size > 0 {
				none = append(none, c.size/f.size)
				if c.cpu > 0 && f.cpu > 0 {
					noneTime = append(noneTime, c.cpu/f.cpu)
				}
			}
			if p.done() && c.size > 0 && p.size > 0 {
				of = append(of, c.size/p.size)
				if c.size > 2*p.size {
					two++
				}
				if c.size > 10*p.size {
					ten++
				}
				if c.cpu > 0 && p.cpu > 0 {
					ofTime = append(ofTime, c.cpu/p.cpu)
				}
				if c.wall > 0 && p.wall > 0 && ways[i].entry != nil {
					slowest = max(slowest, c.wall/p.wall)
				}
			}
		}
		cells := []string{ways[i].name, count(uint64(len(none))), count(uint64(cut)), factor(none),
			factor(noneTime), count(uint64(len(of))), factor(of), count(uint64(two)),
			count(uint64(ten)), "–", factor(ofTime), some(slowest)}
		if len(of) > 0 {
			cells[9] = places(slices.Max(of))
		}
		g.Lines = append(g.Lines, Line{Cells: cells})
	}
	return g
}

// factor formats the geometric mean of ratios that may be far below 1.
func factor(xs []float64) string { return some(geometric(xs)) }

// reductionPlot draws how the rows are distributed: for each way the ratios to pan's states in
// order, so that a curve further below is a better reduction.
func reductionPlot(rows []string, ways []reductionWay, at map[string][]reductionCell,
	pan int) (Plot, bool) {
	p := Plot{Title: "States over pan's with its reduction, rows in order", X: "rows", Y: "ratio",
		LogY: true}
	for i := range ways {
		if i == pan || ways[i].promela && ways[i].name != "auto, pure" {
			continue
		}
		var xs []float64
		for _, row := range rows {
			if c, q := &at[row][i], &at[row][pan]; c.done() && q.done() && c.size > 0 &&
				q.size > 0 {
				xs = append(xs, c.size/q.size)
			}
		}
		slices.Sort(xs)
		s := Series{Name: ways[i].name, Color: len(p.Series)}
		for k, x := range xs {
			s.Points = append(s.Points, Point{float64(k + 1), x})
		}
		if len(xs) > 0 {
			p.Series = append(p.Series, s)
		}
	}
	return p, len(p.Series) > 0
}
