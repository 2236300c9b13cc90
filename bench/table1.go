package bench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"cpor/benchmarks"
	"cpor/internal/human"
)

// table1 measures the rows of Table 1 of Gueta et al. 2007, full and cartesian,
// with one worker and with all, and puts the paper's figures beside them.
var table1 = Table{
	Name:       "table1",
	Summary:    "Table 1 of Gueta et al. 2007, full and cartesian, beside the paper",
	Run:        runTable1,
	Report:     reportTable1,
	Flags:      []string{"rounds", "workers", "D"},
	Benchmarks: benchmarks.Names,
}

// mode is one of the two searches of the table.
type mode struct {
	por   string
	title string
	paper func(*benchmarks.PaperRow) *benchmarks.PaperFigures
	ref   func(*benchmarks.ReferenceRow) *benchmarks.Counts
}

var modes = []mode{
	{
		"none", "full",
		func(r *benchmarks.PaperRow) *benchmarks.PaperFigures { return r.Standard },
		func(r *benchmarks.ReferenceRow) *benchmarks.Counts { return r.Full },
	},
	{
		"cartesian", "cartesian",
		func(r *benchmarks.PaperRow) *benchmarks.PaperFigures { return r.Cartesian },
		func(r *benchmarks.ReferenceRow) *benchmarks.Counts { return r.Cartesian },
	},
}

// config identifies how cpor ran.
func config(por string, workers int) benchmarks.Params {
	return benchmarks.Params{{Name: "por", Value: por},
		{Name: "workers", Value: strconv.Itoa(workers)}}
}

// rowName identifies a row as Measurement.row does.
func rowName(benchmark string, ps benchmarks.Params) string {
	return strings.TrimSpace(benchmark + " " + ps.String())
}

// findReference returns the reference row of a row, or nil.
func findReference(row string) *benchmarks.ReferenceRow {
	refs := benchmarks.Reference()
	for i := range refs {
		if rowName(refs[i].Benchmark, refs[i].Params) == row {
			return &refs[i]
		}
	}
	return nil
}

// selected reports whether the user asked for a row: by the benchmark's name, and by parameters,
// of which those that the row has must be equal.
func selected(s *Session, benchmark string, ps benchmarks.Params) bool {
	if len(s.Names) > 0 && !slices.Contains(s.Names, benchmark) {
		return false
	}
	have := ps.Map()
	for _, want := range s.Params {
		if have[want.Name] != want.Value {
			return false
		}
	}
	return true
}

// quick is the time up to which a run is repeated in the same row.
const quick = 2 * time.Second

func runTable1(ctx context.Context, s *Session) error {
	var rows []benchmarks.PaperRow
	for _, r := range benchmarks.Table1() {
		if selected(s, r.Benchmark, r.Params) {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		s.Note("table1 has no row for %s", strings.TrimSpace(strings.Join(s.Names, " ")+" "+
			s.Params.String()))
		return nil
	}
	workers := []int{1}
	if s.Workers > 1 {
		workers = []int{s.Workers, 1}
	}
	rounds := s.Rounds(3)
	// A row without the paper's figure is expected not to fit, and the rows
	// after it are then not tried.
	estimates := make([][2]time.Duration, len(rows))
	seen := map[string]bool{}
	for i, r := range rows {
		for k, m := range modes {
			est := estimate(s, &r, m)
			if m.paper(&r) == nil {
				if seen[r.Benchmark] {
					est = 0
				}
				seen[r.Benchmark] = true
			}
			estimates[i][k] = est
			s.Plan(len(workers)*rounds, time.Duration(len(workers)*planned(est, rounds)))
		}
	}
	tooLarge := map[string]string{} // benchmark and mode -> the row that did not fit
	for i := range rows {
		for k, m := range modes {
			if ctx.Err() != nil {
				return nil
			}
			est := estimates[i][k]
			key := rows[i].Benchmark + " " + m.por
			if row := tooLarge[key]; row != "" && m.paper(&rows[i]) == nil {
				s.Drop(len(workers)*rounds, time.Duration(len(workers)*planned(est, rounds)))
				for _, w := range workers {
					s.Record(Measurement{
						Benchmark: rows[i].Benchmark, Params: rows[i].Params, Tool: "cpor",
						Config: config(m.por, w),
						Outcome: Outcome{Status: Skipped, Reason: "not tried: " + row +
							" did not fit"},
					})
				}
				continue
			}
			if !runRow(ctx, s, &rows[i], m, workers, rounds, est) {
				tooLarge[key] = rows[i].Params.String()
			}
		}
	}
	return nil
}

// planned returns the estimated time of all rounds of one run, in nanoseconds.
func planned(est time.Duration, rounds int) int {
	if est > quick {
		return int(est)
	}
	return int(est) * rounds
}

// estimate guesses the time of a run: from the paper's transitions if it has
// any, at a rate that an ordinary machine reaches; else the limit.
func estimate(s *Session, r *benchmarks.PaperRow, m mode) time.Duration {
	f := m.paper(r)
	if f == nil {
		if m.por == "cartesian" {
			return 0 // only rows of one thread have none
		}
		return s.Limit
	}
	return min(time.Duration(float64(f.Transitions)/1.5e6*float64(time.Second)), s.Limit)
}

// runRow runs one search of a row with each number of workers, and returns
// whether it fits.
func runRow(ctx context.Context, s *Session, r *benchmarks.PaperRow, m mode, workers []int,
	rounds int, est time.Duration) bool {
	fits := true
	var first *Outcome
	long := false // enough to be measured once with each number of workers
	for round := 1; round <= rounds; round++ {
		for _, w := range workers {
			if !fits || long && round > 1 {
				s.Drop(1, time.Duration(planned(est, rounds)/rounds))
				if round == 1 {
					s.Record(Measurement{
						Benchmark: r.Benchmark, Params: r.Params, Tool: "cpor",
						Config: config(m.por, w),
						Outcome: Outcome{Status: Skipped,
							Reason: "not tried: more workers did not fit either"},
					})
				}
				continue
			}
			req := Request{Model: r.Benchmark, Params: r.Params, POR: m.por, Workers: w,
				Limit: s.Limit, MaxMemory: s.MaxMemory}
			label := fmt.Sprintf("%s %s, %s, %s", r.Benchmark, r.Params, m.title,
				human.Plural(w, "worker"))
			out := s.Run(ctx, req, label, time.Duration(planned(est, rounds)/rounds))
			if out.Status == Interrupted {
				return true
			}
			s.Record(Measurement{
				Benchmark: r.Benchmark, Params: r.Params, Tool: "cpor", Config: config(m.por, w),
				Round: round, Outcome: out,
			})
			switch out.Status {
			case Limited:
				fits = false
				s.Note("%s does not fit: %s", label, out.Reason)
				continue
			case Failed:
				fits = false
				s.Unexpected("%s failed: %s", label, out.Reason)
				continue
			}
			if first == nil {
				first = &out
				checkReference(s, r, m, &out)
			} else if out.States != first.States || out.Transitions != first.Transitions ||
				out.Attempts != first.Attempts {
				s.Unexpected("%s: %d states and %d transitions, and %d and %d in another run",
					label, out.States, out.Transitions, first.States, first.Transitions)
			}
			long = long || out.Search > quick
		}
	}
	return fits
}

// checkReference compares a run with the reference implementation's counts.
func checkReference(s *Session, r *benchmarks.PaperRow, m mode, out *Outcome) {
	ref := findReference(rowName(r.Benchmark, r.Params))
	if ref == nil || m.ref(ref) == nil {
		return
	}
	want, got := *m.ref(ref), benchmarks.Counts{States: out.States, Transitions: out.Transitions,
		Attempts: out.Attempts}
	if ref.EndedLoops {
		got.Transitions += out.EndedLoops
		got.Attempts += out.EndedLoops
	}
	if m.por == "none" {
		got.Attempts = 0
	}
	if got != want {
		s.Unexpected("%s %s, %s: %d states, %d transitions, %d attempts; the reference "+
			"implementation has %d, %d, %d",
			r.Benchmark, r.Params, m.title, got.States, got.Transitions, got.Attempts, want.States,
			want.Transitions, want.Attempts)
	}
}

// row1 is what the report knows about one row.
type row1 struct {
	paper benchmarks.PaperRow
	// by mode: the counts of the finished runs, the times by number of
	// workers, and why there are none.
	counts [2]*Outcome
	times  [2]map[int]time.Duration
	why    [2]string
}

// loops reports whether the self-loops of ended threads are to be counted, as the paper did in
// some rows: its full figure tells.
func (r *row1) loops() bool {
	o, p := r.counts[0], r.paper.Standard
	return o != nil && p != nil && p.Transitions != o.Transitions &&
		p.Transitions == o.Transitions+o.EndedLoops
}

// transitions returns the counted transitions as the paper counts them: in a
// cartesian search these are the attempts.
func (r *row1) transitions(mode int) uint64 {
	o := r.counts[mode]
	n := o.Transitions
	if mode == 1 {
		n = o.Attempts
	}
	if r.loops() {
		n += o.EndedLoops
	}
	return n
}

// workerCounts returns the numbers of workers that occur, ascending.
func workerCounts(ms []Measurement) []int {
	var ws []int
	for _, m := range ms {
		if w := m.Config.Int("workers"); w > 0 && !slices.Contains(ws, w) {
			ws = append(ws, w)
		}
	}
	slices.Sort(ws)
	return ws
}

func collect1(ms []Measurement) []row1 {
	var rows []row1
	for _, p := range benchmarks.Table1() {
		r := row1{paper: p}
		any := false
		for i, m := range modes {
			r.times[i] = map[int]time.Duration{}
			for _, w := range workerCounts(ms) {
				c := cell(ms, rowName(p.Benchmark, p.Params), "cpor", config(m.por, w).String())
				any = any || len(c) > 0
				if d, ok := medianTime(c, searchTime); ok {
					r.times[i][w] = d
				}
				for j := range c {
					if c[j].Status == Done {
						r.counts[i] = &c[j].Outcome
					} else if r.why[i] == "" || c[j].Status != Skipped {
						r.why[i] = c[j].Reason
					}
				}
			}
		}
		if any {
			rows = append(rows, r)
		}
	}
	return rows
}

// mark compares a figure with the paper's: equal or not, or "" if the paper has none.
func mark(ours, paper uint64) string {
	if ours == paper {
		return "="
	}
	return "≠"
}

func reportTable1(ms []Measurement, machine Machine) []Section {
	rows := collect1(ms)
	ws := workerCounts(ms)
	if len(rows) == 0 {
		return nil
	}
	most := ws[len(ws)-1]
	sec := Section{
		Title: "Table 1: full and cartesian search beside the paper",
		Text: []string{
			"Every row of Table 1 of Gueta, Flanagan, Yahav, Sagiv, SPIN 2007, measured here, " +
				"beside the paper's figure. = marks figures that agree with the paper exactly, ≠ " +
				"those that differ; docs/benchmarks.md gives the reason of each difference. " +
				"Times are medians of the search's own time; the paper's are of a machine of 2007.",
		},
	}
	var counts [2]Grid
	var agree [2]agreement
	counts[0] = Grid{Caption: "Full search", Header: []string{"", "states", "paper", "",
		"transitions", "paper", ""}}
	counts[1] = Grid{Caption: "Cartesian search", Header: []string{"", "states", "paper", "",
		"transitions", "attempts", "paper", ""}}
	times := Grid{
		Caption: fmt.Sprintf("Time of the search with 1 worker and with %d, on %s", most,
			human.Plural(machine.Cores, "core")),
		Header: []string{"", "full 1", fmt.Sprintf("full %d", most), "×", "paper", "cart. 1",
			fmt.Sprintf("cart. %d", most), "×", "paper", "on 4"},
	}
	if most == 1 {
		times.Caption = "Time of the search with 1 worker"
		times.Header = []string{"", "full 1", "paper", "cart. 1", "paper", "on 4"}
	}
	saving := Grid{
		Caption: "Saving of the cartesian search in per cent: states, transitions (attempts), " +
			"time with 1 worker, and time of more workers against one",
		Header: []string{"", "states", "paper", "trans.", "paper", "time", "paper", "workers",
			"paper"},
	}
	ended := false
	why := map[string][]string{} // reason -> rows
	for i := range rows {
		r := &rows[i]
		name := r.paper.Params.String()
		for k := range modes {
			line := r.countsLine(k)
			if line == nil {
				continue // nothing yet
			}
			if r.counts[k] == nil {
				reason := r.why[k]
				if strings.HasPrefix(reason, "not tried") {
					reason = "not tried, after a smaller one did not fit"
				}
				key := reason + " (" + modes[k].title + ")"
				why[key] = append(why[key], rowName(r.paper.Benchmark, r.paper.Params))
			} else {
				ended = ended || r.loops()
				agree[k].add(r, k)
			}
			counts[k].Lines = append(counts[k].Lines, Line{r.paper.Benchmark, line})
		}
		times.Lines = append(times.Lines, Line{r.paper.Benchmark, r.timeLine(name, most)})
		if l := r.savingLine(name, most); l != nil {
			saving.Lines = append(saving.Lines, Line{r.paper.Benchmark, l})
		}
	}
	if ended {
		for k := range counts {
			counts[k].Notes = append(counts[k].Notes,
				"e: with the self-loops of ended threads, which the paper counts in this row and "+
					"cpor reports apart.")
		}
	}
	counts[1].Notes = append(counts[1].Notes, "The paper's transitions are attempts: those added "+
		"to a prefix and those tried and rejected.")
	for _, reason := range slices.Sorted(maps.Keys(why)) {
		times.Notes = append(times.Notes, "– "+reason+": "+strings.Join(ranges(why[reason]), "; ")+
			".")
	}
	times.Notes = append(times.Notes, "×: the time of 1 worker over that of more, for runs above "+
		"100ms. on 4: the paper's concurrent variant with four processors.")
	for k := range counts {
		if a := agree[k]; a.compared > 0 {
			sec.Facts = append(sec.Facts, Fact{
				"Rows with the paper's figures, " + modes[k].title,
				fmt.Sprintf("states %d of %d, transitions %d of %d", a.states, a.compared,
					a.transitions, a.compared),
			})
		}
	}
	if speed := speedUps(rows, most); len(speed) > 0 {
		sec.Facts = append(sec.Facts, Fact{
			fmt.Sprintf("Median speed-up of %d workers", most),
			fmt.Sprintf("%s (%s over half a second)", times2(median(speed)),
				human.Plural(len(speed), "run")),
		})
	}
	for _, g := range []Grid{counts[0], counts[1], times, saving} {
		if len(g.Lines) > 0 {
			sec.Grids = append(sec.Grids, g)
		}
	}
	sec.Plots = plots1(rows)
	return []Section{sec}
}

// countsLine is the line of a row in the table of counts of a mode, nil if nothing is known of it.
func (r *row1) countsLine(k int) []string {
	paper := modes[k].paper(&r.paper)
	line := []string{r.paper.Params.String()}
	o := r.counts[k]
	if o == nil {
		if r.why[k] == "" {
			return nil
		}
		line = append(line, "–", paperStates(paper), "", "–")
		if k == 1 {
			line = append(line, "–")
		}
		return append(line, paperTransitions(paper), "")
	}
	n := r.transitions(k)
	text := count(n)
	added := count(o.Transitions)
	if r.loops() {
		text += " e"
		added = count(o.Transitions+o.EndedLoops) + " e"
	}
	line = append(line, count(o.States), paperStates(paper), "")
	if k == 1 {
		line = append(line, added)
	}
	line = append(line, text, paperTransitions(paper), "")
	if paper != nil {
		line[3] = mark(o.States, paper.States)
		line[len(line)-1] = mark(n, paper.Transitions)
	}
	return line
}

// agreement counts the rows that the paper has, too, and those with its figures.
type agreement struct{ compared, states, transitions int }

func (a *agreement) add(r *row1, k int) {
	paper := modes[k].paper(&r.paper)
	if paper == nil {
		return
	}
	a.compared++
	if r.counts[k].States == paper.States {
		a.states++
	}
	if r.transitions(k) == paper.Transitions {
		a.transitions++
	}
}

// speedUps returns the time of one worker over that of so many, of the searches that take more
// than half a second.
func speedUps(rows []row1, most int) []float64 {
	var speed []float64
	for i := range rows {
		for k := range modes {
			one, more := rows[i].times[k][1], rows[i].times[k][most]
			if most > 1 && one > 500*time.Millisecond && more > 0 {
				speed = append(speed, float64(one)/float64(more))
			}
		}
	}
	return speed
}

// ranges joins neighboring rows of the same benchmark: filesystem N=9 to N=17.
func ranges(rows []string) []string {
	var rs []string
	first := ""
	for _, r := range rows {
		name, params, _ := strings.Cut(r, " ")
		if name != first {
			first = name
			rs = append(rs, r)
			continue
		}
		last := &rs[len(rs)-1]
		from, _, _ := strings.Cut(*last, " to ")
		*last = from + " to " + params
	}
	return rs
}

func times2(x float64) string { return times(x) + " ×" }

func paperStates(p *benchmarks.PaperFigures) string {
	if p == nil {
		return ""
	}
	return count(p.States)
}

func paperTransitions(p *benchmarks.PaperFigures) string {
	if p == nil {
		return ""
	}
	return count(p.Transitions)
}

// measurable is the time below which a factor says nothing.
const measurable = 100 * time.Millisecond

func (r *row1) timeLine(name string, most int) []string {
	line := []string{name}
	for k, m := range modes {
		one, ok := r.times[k][1]
		line = append(line, orDash(one, ok))
		if most > 1 {
			more, okMore := r.times[k][most]
			line = append(line, orDash(more, okMore))
			if ok && okMore && one > measurable {
				line = append(line, times(float64(one)/float64(more)))
			} else {
				line = append(line, "")
			}
		}
		if p := m.paper(&r.paper); p != nil {
			line = append(line, duration(p.Time))
		} else {
			line = append(line, "")
		}
		if k == 1 {
			if r.paper.Cartesian != nil {
				line = append(line, duration(r.paper.Concurrent))
			} else {
				line = append(line, "")
			}
		}
	}
	return line
}

func orDash(d time.Duration, ok bool) string {
	if !ok {
		return "–"
	}
	return duration(d)
}

// savingLine returns the percentages of saving, or nil if there are none.
func (r *row1) savingLine(name string, most int) []string {
	save := func(cart, full float64) string {
		if full == 0 {
			return ""
		}
		return percent(1 - cart/full)
	}
	line := []string{name, "", "", "", "", "", "", "", ""}
	has := false
	if f, c := r.counts[0], r.counts[1]; f != nil && c != nil {
		has = true
		line[1] = save(float64(c.States), float64(f.States))
		line[3] = save(float64(r.transitions(1)), float64(r.transitions(0)))
		if r.times[0][1] > measurable/10 {
			line[5] = save(float64(r.times[1][1]), float64(r.times[0][1]))
		}
	}
	if most > 1 && r.times[1][1] > measurable && r.times[1][most] > 0 {
		has = true
		line[7] = save(float64(r.times[1][most]), float64(r.times[1][1]))
	}
	if p, q := r.paper.Standard, r.paper.Cartesian; p != nil && q != nil {
		line[2] = save(float64(q.States), float64(p.States))
		line[4] = save(float64(q.Transitions), float64(p.Transitions))
		if p.Time > measurable/10 {
			line[6] = save(float64(q.Time), float64(p.Time))
		}
	}
	if q := r.paper.Cartesian; q != nil && q.Time > measurable/10 {
		line[8] = save(float64(r.paper.Concurrent), float64(q.Time))
	}
	if !has {
		return nil
	}
	return line
}

// plots1 draws states and transitions against size for every benchmark with
// several sizes. The size is the last parameter; rows at which it does not grow
// (another shape of the same size) are left out.
func plots1(rows []row1) []Plot {
	var plots []Plot
	for _, name := range benchmarks.Names() {
		var same []row1
		size := 0
		param := ""
		for _, r := range rows {
			if r.paper.Benchmark != name {
				continue
			}
			p := r.paper.Params[len(r.paper.Params)-1]
			if n := r.paper.Params.Int(p.Name); n > size {
				size, param = n, p.Name
				same = append(same, r)
			}
		}
		if len(same) < 2 {
			continue
		}
		for _, what := range []string{"states", "transitions"} {
			p := Plot{Title: name + ": " + what, X: param, Y: what, LogY: true}
			// Sizes that double want a logarithmic axis too.
			if first := same[0].paper.Params.Int(param); size >= 16*first && len(same) < 8 {
				p.LogX = true
			}
			for k, m := range modes {
				ours := Series{Name: m.title, Color: k}
				paper := Series{Name: m.title + ", paper", Color: k, Paper: true}
				for i := range same {
					r := &same[i]
					x := float64(r.paper.Params.Int(param))
					if o := r.counts[k]; o != nil {
						y := o.States
						if what == "transitions" {
							y = r.transitions(k)
						}
						ours.Points = append(ours.Points, Point{x, float64(y)})
					}
					if f := m.paper(&r.paper); f != nil {
						y := f.States
						if what == "transitions" {
							y = f.Transitions
						}
						paper.Points = append(paper.Points, Point{x, float64(y)})
					}
				}
				p.Series = append(p.Series, ours, paper)
			}
			plots = append(plots, p)
		}
	}
	return plots
}
