package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cpor/benchmarks"
	"cpor/engine/search/reduction"
	"cpor/engine/stateless"
	"cpor/engine/stateless/classic"
	"cpor/frontend/model"
	"cpor/internal/human"
)

// dporTable puts dynamic partial-order reduction beside the cartesian one, as
// Gueta et al. do in words (2007, section 7): both find out about dependences
// while they run, one on executions and one on states.
var dporTable = Table{
	Name:       "dpor",
	Summary:    "stateless searches (dynamic reduction) and the Cartesian one, in transitions",
	Run:        runDPOR,
	Report:     reportDPOR,
	Flags:      []string{"rounds", "D"},
	Benchmarks: dporNames,
}

func init() { Register(dporTable) }

// dporWay is a column: a way to search.
type dporWay struct {
	name, mode, por string
}

func (w dporWay) stateless() bool { return w.mode == stateless.Mode || w.mode == classicMode }

var dporWays = []dporWay{
	{"full", reduction.Mode, "none"},
	{"cartesian", reduction.Mode, "cartesian"},
	{"dpor", stateless.Mode, "dpor"},
	{"persistent+sleep", stateless.Mode, "persistent+sleep"},
	{"classic", classicMode, "dpor"},
	{"classic+sleep", classicMode, classicSleep},
}

// classicMode is the mode of requests to package classic, which is not an engine, and classicSleep
// its reduction with sleep sets.
const (
	classicMode  = "classic"
	classicSleep = "dpor+sleep"
)

// runClassic explores a model in this process, because no command does.
func runClassic(ctx context.Context, r Request) Outcome {
	failed := func(err error) Outcome {
		return Outcome{Status: Failed, Reason: err.Error()}
	}
	text, err := os.ReadFile(r.Model)
	if err != nil {
		return failed(err)
	}
	m, err := model.Parse(r.Model, string(text), model.Options{Params: r.Params.Map()})
	if err != nil {
		return failed(err)
	}
	within, end := ctx, func() {}
	if r.Limit > 0 {
		within, end = context.WithTimeout(ctx, r.Limit)
	}
	defer end()
	start := time.Now()
	res, err := classic.Explore(within, m.System(), classic.Options{Sleep: r.POR == classicSleep})
	out := Outcome{Status: Done, Executions: res.Executions, Transitions: res.Transitions,
		Search: time.Since(start)}
	switch {
	case ctx.Err() != nil:
		return Outcome{Status: Interrupted, Reason: "interrupted"}
	case errors.Is(err, context.DeadlineExceeded):
		out.Status, out.Reason = Limited, fmt.Sprintf("time limit of %v", r.Limit)
	case err != nil:
		return failed(err)
	}
	return out
}

// dporRow is a program with constants. traces is the number of its Mazurkiewicz
// traces where that is known from theory or the literature, or because it is
// small enough to be counted by hand: an optimal dynamic reduction runs so many
// executions. 0 means that it is not known.
type dporRow struct {
	sweep
	traces uint64
}

func size(model, name string, n int, traces uint64) dporRow {
	return dporRow{sweep{model: model, params: benchmarks.Params{
		{Name: name, Value: strconv.Itoa(n)}}}, traces}
}

// dporRows are the programs that a stateless search can do: the acyclic ones.
// Those of dporCyclic are tried once each, so that the reason why they are left
// out is the search's own.
var (
	dporRows = []dporRow{
		size("lastzero", "N", 5, 64), size("lastzero", "N", 8, 704),
		size("lastzero", "N", 10, 3328), size("lastzero", "N", 12, 15360),
		size("readers", "N", 8, 256), size("readers", "N", 12, 4096),
		size("increments", "N", 3, 25), size("increments", "N", 4, 363),
		size("indexer", "N", 11, 1), size("indexer", "N", 13, 64), size("indexer", "N", 15, 4096),
		size("filesystem", "N", 13, 1), size("filesystem", "N", 14, 2),
		size("filesystem", "N", 17, 16), size("filesystem", "N", 20, 128),
		{sweep{model: "sharedarray"}, 66},
		{sweep{model: "sharedptr"}, 0},
		{sweep{model: "cmis"}, 1},
		{sweep{model: "m_ex"}, 3},
		{sweep{model: "haltexception", params: benchmarks.Params{{Name: "LOCAL", Value: "false"},
			{Name: "ITEMS", Value: "2"}, {Name: "SIZE", Value: "2"}}}, 0},
	}
	dporCyclic = []string{"robots", "philosophers", "clean", "coordbarrier", "dissbarrier", "mpsc",
		"prodcons"}
)

func dporNames() []string {
	var names []string
	for _, r := range dporRows {
		if !slices.Contains(names, r.model) {
			names = append(names, r.model)
		}
	}
	return append(names, dporCyclic...)
}

// anyModel returns the text of a benchmark of any of the papers.
func anyModel(name string) ([]byte, error) {
	var errs []error
	for _, text := range []func(string) ([]byte, error){benchmarks.Model, benchmarks.DPORModel,
		benchmarks.LockModel, benchmarks.Siegel, benchmarks.UnfoldingModel} {
		b, err := text(name)
		if err == nil {
			return b, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// writeModels writes each model into a file of its own.
func writeModels(dir string, names []string, model func(string) ([]byte, error)) error {
	for _, name := range names {
		text, err := model(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name+".model"), text, 0o666)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// runDPOR measures with one worker, so that times compare.
func runDPOR(ctx context.Context, s *Session) error {
	dir, err := os.MkdirTemp("", "cpor-bench-dpor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := writeModels(dir, dporNames(), anyModel); err != nil {
		return err
	}
	const est = 300 * time.Millisecond
	run := func(r sweep, w dporWay, label string) Outcome {
		return s.Run(ctx, Request{
			Model: filepath.Join(dir, r.model+".model"), Params: r.params, Mode: w.mode, POR: w.por,
			Workers: 1,
			Limit:   s.Limit, MaxMemory: s.MaxMemory,
		}, label, est)
	}
	rounds := s.Rounds(3)
	var rows []dporRow
	for _, r := range dporRows {
		if selected(s, r.model, r.params) {
			rows = append(rows, r)
		}
	}
	s.Plan(rounds*len(rows)*len(dporWays), est*time.Duration(rounds*len(rows)*len(dporWays)))
	// Rounds outside: what changes on the machine meanwhile meets all.
	long := map[string]bool{}
	for round := 1; round <= rounds; round++ {
		for _, r := range rows {
			for _, w := range dporWays {
				label := rowName(r.model, r.params) + ", " + w.name
				if long[label] {
					s.Drop(1, est) // it did not end in the first round
					continue
				}
				out := run(r.sweep, w, label)
				switch {
				case out.Status == Interrupted:
					return nil
				case out.Status != Done:
					long[label] = true
					s.Note("%s: %s", label, out.Reason)
				case w.name == "dpor" && r.traces > 0 && out.Executions != r.traces:
					s.Unexpected("%s: %d executions, and the program has %d Mazurkiewicz traces",
						label, out.Executions, r.traces)
				}
				m := Measurement{Benchmark: r.model, Params: r.params, Tool: "cpor", Round: round,
					Outcome: out, Config: benchmarks.Params{{Name: "search", Value: w.name}}}
				if w.stateless() {
					m.Extra = map[string]float64{"executions": float64(out.Executions)}
				}
				s.Record(m)
			}
		}
	}
	for _, name := range dporCyclic {
		r := sweep{model: name}
		if !selected(s, r.model, r.params) {
			continue
		}
		s.Plan(1, est)
		w := dporWays[2]
		label := name + ", " + w.name
		out := run(r, w, label)
		switch {
		case out.Status == Interrupted:
			return nil
		case out.Status == Done:
			s.Unexpected("%s: the program is thought to be cyclic, and a stateless search has "+
				"done all of it", label)
		}
		reason, _, _ := strings.Cut(out.Reason, ";")
		s.Record(Measurement{Benchmark: name, Tool: "cpor", Round: 0, Outcome: Outcome{
			Status: Skipped, Reason: reason}, Config: benchmarks.Params{
			{Name: "search", Value: w.name}}})
	}
	return nil
}

// classicCell is the number of transitions of a classic search, or how many it had made at the
// limit.
func classicCell(ms []Measurement, row, way string) string {
	for _, m := range ms {
		if m.row() == row && m.Config.Map()["search"] == way {
			switch m.Status {
			case Done:
				return count(m.Transitions)
			case Limited:
				return ">" + count(m.Transitions)
			}
		}
	}
	return "–"
}

func reportDPOR(ms []Measurement, machine Machine) []Section {
	if len(ms) == 0 {
		return nil
	}
	find := func(row, way string) []Measurement {
		var found []Measurement
		for _, m := range ms {
			if m.row() == row && m.Config.Map()["search"] == way && m.Status == Done {
				found = append(found, m)
			}
		}
		return found
	}
	g := Grid{
		Header: []string{"", "full states", "transitions", "cartesian states", "transitions",
			"time", "dpor executions", "transitions", "time", "p+s executions", "transitions",
			"time", "FG", "FG + sleep", "cartesian / dpor"},
		Notes: []string{
			"transitions: of the cartesian search, those added to prefixes; of a stateless one, " +
				"those executed to explore, each as often as an execution comes through it, not " +
				"those executed to go back or to look ahead.",
			"executions of dpor: one for each Mazurkiewicz trace; where their number is known, " +
				"it is checked. p+s: persistent and sleep sets without stored states.",
			"FG, FG + sleep: transitions of classic dynamic reduction (Flanagan and Godefroid " +
				"2005), without and with sleep sets, with which the paper compares in words; > " +
				"if the limit came first.",
			"cartesian / dpor: transitions of the one by those of the other. Above 1 dpor " +
				"explores less. A cartesian search meets each of its states once, however many " +
				"executions lead there, and a stateless one does not know that it has been there.",
			"–: not within the limit.",
		},
	}
	out := Grid{Header: []string{"left out", "what the stateless search says"}}
	var rows []string
	for i := range ms {
		row := ms[i].row()
		if ms[i].Status == Skipped {
			out.Lines = append(out.Lines, Line{Cells: []string{ms[i].Benchmark, ms[i].Reason}})
			continue
		}
		if slices.Contains(rows, row) {
			continue
		}
		rows = append(rows, row)
		cells := []string{row}
		var cart, dynamic uint64
		for _, w := range dporWays {
			if w.mode == classicMode {
				cells = append(cells, classicCell(ms, row, w.name))
				continue
			}
			got := find(row, w.name)
			columns := 3
			if w.name == "full" {
				columns = 2
			}
			if len(got) == 0 {
				cells = append(cells, slices.Repeat([]string{"–"}, columns)...)
				continue
			}
			m := &got[0]
			first := m.States
			if w.stateless() {
				first = uint64(m.Extra["executions"])
			}
			cells = append(cells, count(first), count(m.Transitions))
			if columns == 3 {
				d, _ := medianTime(got, searchTime)
				cells = append(cells, duration(d))
			}
			switch w.name {
			case "cartesian":
				cart = m.Transitions
			case "dpor":
				dynamic = m.Transitions
			}
		}
		ratio := ""
		if cart > 0 && dynamic > 0 {
			ratio = times(float64(cart) / float64(dynamic))
		}
		g.Lines = append(g.Lines, Line{Cells: append(cells, ratio)})
	}
	sec := Section{
		Title: "Dynamic partial-order reduction beside the cartesian one",
		Text: []string{fmt.Sprintf("Measured on %s (%s) with one worker; times are medians of "+
			"the searches' own. The programs are acyclic: a stateless search of others never ends.",
			human.Plural(machine.Cores, "core"), machine.CPU)},
	}
	if len(g.Lines) > 0 {
		sec.Grids = []Grid{g}
	}
	if len(out.Lines) > 0 {
		sec.Grids = append(sec.Grids, out)
	}
	return []Section{sec}
}
