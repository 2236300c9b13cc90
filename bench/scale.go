package bench

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cpor/benchmarks"
	"cpor/engine"
	"cpor/engine/search/reduction"
	"cpor/internal/human"
)

// scale runs a model with 1, 2, 4, ... 64 workers.
var scale = Table{
	Name:       "scale",
	Summary:    "a model with 1, 2, 4, ... 64 workers: speed-up, steals, idle time",
	Run:        runScale,
	Report:     reportScale,
	Flags:      []string{"rounds", "workers", "por", "D", "simulate"},
	Benchmarks: benchmarks.Names,
	Files:      true,
}

// mostWorkers ends the sweep.
const mostWorkers = 64

// sweep is one model with one reduction.
type sweep struct {
	model  string
	params benchmarks.Params
	por    string
}

// ownSweeps are run when the user names no model: a full search with much to
// store and little to do for each state, and a cartesian one with the contrary.
var ownSweeps = []sweep{
	{"filesystem", benchmarks.Params{{Name: "N", Value: "6"}}, "none"},
	{"indexer", benchmarks.Params{{Name: "N", Value: "16"}}, "cartesian"},
}

// scaleSweeps returns what is measured: what was asked for, or the table's own rows.
func scaleSweeps(s *Session) []sweep {
	if len(s.Names) == 0 && len(s.Params) == 0 && s.POR == "" {
		return ownSweeps
	}
	names := s.Names
	if len(names) == 0 {
		names = []string{"filesystem"}
	}
	var sweeps []sweep
	for _, n := range names {
		sweeps = append(sweeps, sweep{n, s.Params, cmp.Or(s.POR, "none")})
	}
	return sweeps
}

func runScale(ctx context.Context, s *Session) error {
	if s.Simulate > 0 {
		return runPredicted(ctx, s)
	}
	sweeps := scaleSweeps(s)
	workers := doubling(mostWorkers)
	if !slices.Contains(workers, s.Workers) {
		workers = append(workers, s.Workers)
		slices.Sort(workers)
	}
	rounds := s.Rounds(3)
	const est = 2 * time.Second
	s.Plan(len(sweeps)*len(workers)*rounds, time.Duration(len(sweeps)*len(workers)*rounds)*est)
	for _, sw := range sweeps {
		var first *Outcome
		// Rounds outside, workers inside: the numbers of workers take turns,
		// so that what changes on the machine meanwhile meets them all.
		over := false
		for round := 1; round <= rounds; round++ {
			for i, w := range workers {
				if over {
					s.Drop(1, est)
					continue
				}
				label := fmt.Sprintf("%s %s, %s, %s", name(sw.model), sw.params, sw.por,
					human.Plural(w, "worker"))
				out := s.Run(ctx, Request{
					Model: sw.model, Params: sw.params, POR: sw.por, Workers: w, Limit: s.Limit,
					MaxMemory: s.MaxMemory,
				}, label, est)
				if out.Status == Interrupted {
					return nil
				}
				s.Record(Measurement{
					Benchmark: name(sw.model), Params: sw.params, Tool: "cpor",
					Config: config(sw.por, w), Round: round, Outcome: out,
				})
				if out.Status != Done {
					s.Note("%s: %s", label, out.Reason)
					over = i == 0 || out.Status == Failed
					continue
				}
				if first == nil {
					first = &out
				} else if e, err := engine.Lookup(reduction.Mode, sw.por); err == nil &&
					e.Stable&engine.CountStates != 0 && (out.States != first.States ||
					out.Transitions != first.Transitions) {
					s.Unexpected("%s: %d states and %d transitions, and %d and %d with other "+
						"workers",
						label, out.States, out.Transitions, first.States, first.Transitions)
				}
			}
		}
	}
	return nil
}

// name returns the name of a model as it appears in a report.
func name(model string) string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(model), ".model"), ".pml")
}

func reportScale(ms []Measurement, machine Machine) []Section {
	if len(ms) == 0 {
		return nil
	}
	if slices.ContainsFunc(ms, func(m Measurement) bool { return m.Tool == simulator }) {
		return reportPredicted(ms, machine)
	}
	sec := Section{
		Title: "Speed-up over the number of workers",
		Text: []string{fmt.Sprintf("Measured on %s (%s). With more workers than cores the best "+
			"possible is the speed-up of %s; "+
			"what counts there is that it does not fall. Efficiency is the speed-up over the "+
			"workers that can run at the same time. "+
			"The time is the median of the rounds, in which the numbers of workers take turns.",
			human.Plural(machine.Cores, "core"), machine.CPU,
			human.Plural(machine.Cores, "worker"))},
	}
	type key struct{ row, por string }
	var keys []key
	for _, m := range ms {
		if k := (key{m.row(), m.Config.Map()["por"]}); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	speed := Plot{Title: "speed-up", X: "workers", Y: "speed-up", LogX: true}
	for i, k := range keys {
		g := Grid{
			Caption: k.row + ", " + k.por,
			Header: []string{"workers", "time", "speed-up", "effic.", "trans./s", "B/state",
				"peak MB", "idle %", "steals", "failed CAS"},
		}
		bars := Bars{Parts: []Part{
			{Name: "searching", Color: 1}, {Name: "idle", Color: 3},
			{Name: "starting and ending the process", Color: grey},
		}}
		series := Series{Name: k.row + ", " + k.por, Color: i % grey}
		one, _ := medianTime(cell(ms, k.row, "cpor", config(k.por, 1).String()), searchTime)
		for _, w := range workerCounts(ms) {
			c := cell(ms, k.row, "cpor", config(k.por, w).String())
			d, ok := medianTime(c, searchTime)
			if !ok {
				if len(c) > 0 {
					g.Lines = append(g.Lines,
						Line{Cells: []string{strconv.Itoa(w), "–", "", "", "", "", "", "", "", ""}})
					g.Notes = append(g.Notes, fmt.Sprintf("– %s: %s", human.Plural(w, "worker"),
						c[0].Reason))
				}
				continue
			}
			line := []string{strconv.Itoa(w), duration(d), "", "", "", "", "", "", "", ""}
			if one > 0 {
				x := float64(one) / float64(d)
				line[2] = times(x)
				line[3] = percent(x / float64(min(w, machine.Cores)))
				series.Points = append(series.Points, Point{float64(w), x})
			}
			mid := func(of func(*Measurement) (float64, bool)) (float64, bool) {
				var xs []float64
				for j := range c {
					if v, ok := of(&c[j]); ok && c[j].Status == Done {
						xs = append(xs, v)
					}
				}
				return median(xs), len(xs) > 0
			}
			put := func(col int, format func(float64) string, of func(*Measurement) (float64,
				bool)) {
				if v, ok := mid(of); ok {
					line[col] = format(v)
				}
			}
			put(4, short, func(m *Measurement) (float64, bool) {
				return m.Rate(m.Transitions), true
			})
			put(5, digits, func(m *Measurement) (float64, bool) {
				return m.BytesPerState(), m.StoreBytes > 0
			})
			put(6, short, func(m *Measurement) (float64, bool) {
				return float64(m.PeakRSS) / 1e6, m.PeakRSS > 0
			})
			put(7, percent, idleShare)
			put(8, short, func(m *Measurement) (float64, bool) { return deref(m.Steals) })
			put(9, short, func(m *Measurement) (float64, bool) { return deref(m.FailedCAS) })
			g.Lines = append(g.Lines, Line{Cells: line})
			idle, _ := mid(idleShare)
			wall, _ := medianTime(c, wallTime)
			bars.Labels = append(bars.Labels, strconv.Itoa(w))
			for j, v := range []float64{d.Seconds() * (1 - idle), d.Seconds() * idle,
				max(0, (wall - d).Seconds())} {
				bars.Parts[j].Values = append(bars.Parts[j].Values, v)
			}
		}
		if len(g.Lines) > 0 {
			sec.Grids = append(sec.Grids, g)
		}
		if len(series.Points) > 0 {
			speed.Series = append(speed.Series, series)
		}
		sec.Plots = append(sec.Plots, Plot{Title: k.row + ", " + k.por + ": where the time goes",
			X: "workers", Y: "seconds", Bars: &bars})
	}
	if ws := workerCounts(ms); len(speed.Series) > 0 {
		ideal := Series{Name: "possible on " + human.Plural(machine.Cores, "core"), Color: grey,
			Paper: true}
		for _, w := range ws {
			ideal.Points = append(ideal.Points, Point{float64(w), float64(min(w, machine.Cores))})
		}
		speed.Series = append(speed.Series, ideal)
		sec.Plots = append([]Plot{speed}, sec.Plots...)
	}
	return []Section{sec}
}

func idleShare(m *Measurement) (float64, bool) {
	if m.IdleShare == nil {
		return 0, false
	}
	return *m.IdleShare, true
}

func deref(p *uint64) (float64, bool) {
	if p == nil {
		return 0, false
	}
	return float64(*p), true
}
