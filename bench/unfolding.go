package bench

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"cpor/benchmarks"
	"cpor/engine/search/reduction"
	"cpor/engine/stateless"
	"cpor/engine/unfolding"
	"cpor/internal/human"
)

// unfoldingTable puts the unfolding beside searches that store states and one
// that stores nothing, on programs that grow in the number of their threads.
var unfoldingTable = Table{
	Name: "unfolding",
	Summary: "events beside states: full, cartesian, dpor and unfolding while threads are " +
		"added, each with the same time",
	Run:        runUnfolding,
	Report:     reportUnfolding,
	Flags:      []string{"rounds", "D"},
	Benchmarks: unfoldingNames,
}

func init() { Register(unfoldingTable) }

// unfoldingWay is a column: a way to search.
type unfoldingWay struct {
	name, mode, por string
	unit            string // of its size
}

var unfoldingWays = []unfoldingWay{
	{"full", reduction.Mode, "none", "states"},
	{"cartesian", reduction.Mode, "cartesian", "states"},
	{"dpor", stateless.Mode, "dpor", "executions"},
	{"unfolding", unfolding.Mode, "events", "events"},
}

// size returns how large the search was, in the way's unit.
func (w unfoldingWay) size(o *Outcome) uint64 {
	switch w.mode {
	case stateless.Mode:
		return o.Executions
	case unfolding.Mode:
		return o.Transitions
	}
	return o.States
}

// unfoldingSweep is a program with a growing constant. cyclic says that an
// execution can run forever, which a search without stored states cannot end.
type unfoldingSweep struct {
	model, name string
	values      []int
	cyclic      bool
	// Of a program's second sweep: what it is called, and constants that grow with the first.
	as    string
	grows func(n int) benchmarks.Params
}

// title is what the sweep is called in tables and plots.
func (s unfoldingSweep) title() string { return cmp.Or(s.as, s.model) }

// params are the constants for a value.
func (s unfoldingSweep) params(n int) benchmarks.Params {
	p := benchmarks.Params{{Name: s.name, Value: strconv.Itoa(n)}}
	if s.grows != nil {
		p = append(p, s.grows(n)...)
	}
	return p
}

var unfoldingSweeps = []unfoldingSweep{
	{model: "philosophers", name: "N", values: []int{4, 8, 12, 16, 32, 64, 100}, cyclic: true},
	{model: "indexer", name: "N", values: []int{8, 12, 16, 20, 24, 26, 27, 28}},
	{model: "hashtable", name: "N", values: []int{8, 16, 32, 64, 128}},
	{model: "filesystem", name: "N", values: []int{4, 8, 16, 20, 24, 26, 27}},
	// As many blocks for each inode as there are with the 32 and 26 of the source.
	{model: "filesystem", name: "N", values: []int{8, 16, 32, 64}, as: "filesystem with room",
		grows: func(n int) benchmarks.Params {
			return benchmarks.Params{{Name: "inodes", Value: strconv.Itoa(2 * n)},
				{Name: "blocks", Value: strconv.Itoa(2 * n * 26 / 32)}}
		}},
	{model: "pipeline", name: "N", values: []int{2, 4, 8, 16, 32, 64}},
	{model: "election", name: "N", values: []int{2, 4, 6, 8, 12, 16, 32}},
	{model: "rwlock", name: "N", values: []int{1, 2, 3, 4, 5, 6, 8}},
	{model: "readers", name: "N", values: []int{2, 4, 6, 8, 10, 12, 14}},
	{model: "robots", name: "R", values: []int{2, 3}, cyclic: true},
	{model: "cmis", name: "N", values: []int{64, 128, 256}},
	{model: "lastzero", name: "N", values: []int{5, 8, 10, 12}},
}

func unfoldingNames() []string {
	var names []string
	for _, s := range unfoldingSweeps {
		if !slices.Contains(names, s.model) {
			names = append(names, s.model)
		}
	}
	return names
}

// runUnfolding measures with one worker, so that times compare. What a way did not
// manage is not tried in a larger size.
func runUnfolding(ctx context.Context, s *Session) error {
	dir, err := os.MkdirTemp("", "cpor-bench-unfolding-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	const est = 500 * time.Millisecond
	rounds := s.Rounds(1)
	type run struct {
		sweep  unfoldingSweep
		params benchmarks.Params
		way    unfoldingWay
	}
	var runs []run
	for _, sw := range unfoldingSweeps {
		if len(s.Names) > 0 && !slices.Contains(s.Names, sw.model) {
			continue
		}
		text, err := anyModel(sw.model)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, sw.model+".model"), text, 0o666)
		}
		if err != nil {
			return err
		}
		for _, v := range sw.values {
			params := sw.params(v)
			if slices.ContainsFunc(s.Params, func(p benchmarks.Param) bool {
				return params.Map()[p.Name] != p.Value
			}) {
				continue
			}
			for _, w := range unfoldingWays {
				if w.mode != stateless.Mode || !sw.cyclic {
					runs = append(runs, run{sw, params, w})
				}
			}
		}
	}
	s.Plan(rounds*len(runs), est*time.Duration(rounds*len(runs)))
	over := map[string]bool{}
	for round := 1; round <= rounds; round++ {
		for _, r := range runs {
			key := r.sweep.title() + " " + r.way.name
			if over[key] {
				s.Drop(1, est)
				continue
			}
			label := rowName(r.sweep.title(), r.params) + ", " + r.way.name
			out := s.Run(ctx, Request{
				Model: filepath.Join(dir, r.sweep.model+".model"), Params: r.params,
				Mode: r.way.mode, POR: r.way.por, Workers: 1,
				Limit: s.Limit, MaxMemory: s.MaxMemory,
			}, label, est)
			if out.Status == Interrupted {
				return nil
			}
			if out.Status != Done {
				s.Note("%s: %s", label, out.Reason)
				over[key] = true
			}
			s.Record(Measurement{Benchmark: r.sweep.title(), Params: r.params, Tool: "cpor",
				Round: round, Outcome: out,
				Config: benchmarks.Params{{Name: "search", Value: r.way.name}},
				Extra:  map[string]float64{"size": float64(r.way.size(&out))}})
		}
	}
	return nil
}

// unfoldingRuns are the measurements of the table.
type unfoldingRuns []Measurement

func (ms unfoldingRuns) find(row, way string) []Measurement {
	var found []Measurement
	for _, m := range ms {
		if m.row() == row && m.Config.Map()["search"] == way && m.Status == Done {
			found = append(found, m)
		}
	}
	return found
}

// sizedModel is a model at one size.
type sizedModel struct {
	model string
	x     float64
}

// plots draws how much there is and the time over the size of a model; nothing if it was not
// measured.
func (ms unfoldingRuns) plots(model, size string, rows []string, at map[string]sizedModel) []Plot {
	sizes := Plot{Title: model + ": states, executions, events", X: size, Y: "how many",
		LogY: true}
	times := Plot{Title: model + ": time", X: size, Y: "seconds", LogY: true}
	for i, w := range unfoldingWays {
		size, took := Series{Name: w.name, Color: i}, Series{Name: w.name, Color: i}
		for _, row := range rows {
			p := at[row]
			got := ms.find(row, w.name)
			if p.model != model || len(got) == 0 {
				continue
			}
			size.Points = append(size.Points, Point{p.x, max(1, got[0].Extra["size"])})
			if d, ok := medianTime(got, searchTime); ok {
				took.Points = append(took.Points, Point{p.x, max(1e-6, d.Seconds())})
			}
		}
		if len(size.Points) > 0 {
			sizes.Series = append(sizes.Series, size)
			times.Series = append(times.Series, took)
		}
	}
	if len(sizes.Series) == 0 {
		return nil
	}
	return []Plot{sizes, times}
}

func reportUnfolding(ms []Measurement, machine Machine) []Section {
	if len(ms) == 0 {
		return nil
	}
	find := unfoldingRuns(ms).find
	g := Grid{
		Header: []string{""},
		Notes: []string{
			"states, executions, events: how many a search that covers everything has. An " +
				"execution of dpor has as many transitions as it is long, and an event is one " +
				"transition.",
			"MB: peak memory of the process.",
			"–: not within the time, or a smaller size was not; or, for dpor, a program whose " +
				"executions do not end.",
		},
	}
	for _, w := range unfoldingWays {
		g.Header = append(g.Header, w.name+" "+w.unit, "time", "MB")
	}
	sec := Section{
		Title: "Events beside states",
		Text: []string{fmt.Sprintf("Measured on %s (%s) with one worker; each way has the same "+
			"time for a program. Times are medians of the searches' own.",
			human.Plural(machine.Cores, "core"), machine.CPU)},
	}
	var rows []string
	at := map[string]sizedModel{}
	for i := range ms {
		row := ms[i].row()
		if slices.Contains(rows, row) || len(ms[i].Params) == 0 {
			continue
		}
		rows = append(rows, row)
		x, err := strconv.ParseFloat(ms[i].Params[0].Value, 64)
		if err != nil {
			continue
		}
		at[row] = sizedModel{ms[i].Benchmark, x}
	}
	for _, row := range rows {
		cells := []string{row}
		for _, w := range unfoldingWays {
			got := find(row, w.name)
			if len(got) == 0 {
				cells = append(cells, "–", "–", "–")
				continue
			}
			d, _ := medianTime(got, searchTime)
			cells = append(cells, count(uint64(got[0].Extra["size"])), duration(d),
				short(float64(got[0].PeakRSS)/1e6))
		}
		g.Lines = append(g.Lines, Line{Cells: cells})
	}
	sec.Grids = []Grid{g}
	for _, sw := range unfoldingSweeps {
		sec.Plots = append(sec.Plots, unfoldingRuns(ms).plots(sw.title(), sw.name, rows, at)...)
	}
	return []Section{sec}
}
