package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cpor/benchmarks"
	"cpor/engine"
	"cpor/examples/promela/corpus"
)

// acceptanceConfig is SPIN as people check temporal properties: with its own reduction.
var acceptanceConfig = benchmarks.Params{{Name: "mode", Value: "acceptance"}}

// temporalConfig tells the runs that check a property from the others.
func temporalConfig(property string, rest benchmarks.Params) benchmarks.Params {
	return append(benchmarks.Params{{Name: "ltl", Value: property}}, rest...)
}

// temporalMode is the name of the mode that checks temporal properties.
func temporalMode() string {
	for _, m := range engine.Modes() {
		if m.Temporal {
			return m.Name
		}
	}
	return ""
}

// runTemporal measures the rows with temporal properties: both as people run them, each with
// its own reduction, until the property is violated or everything is covered.
func runTemporal(ctx context.Context, s *Session, sp *spin, runs []corpus.Run, rounds int) error {
	return eachRow(ctx, s, runs, temporalRows, func(r *corpus.Run) error {
		return runTemporalRow(ctx, s, sp, r, rounds)
	})
}

func runTemporalRow(ctx context.Context, s *Session, sp *spin, r *corpus.Run, rounds int) error {
	ps, text, file, err := sp.prepare(r)
	if err != nil {
		return err
	}
	property := strings.TrimPrefix(r.Check, "ltl ")
	v, out := ready(ctx, s, r.Name()+", SPIN", 3*time.Second,
		func(ctx context.Context) (*verifier, error) {
			v, _, err := sp.compile(ctx, r.Model, text, ps, nil, nil)
			if err == nil {
				v.search(property, r.Violated)
			}
			return v, err
		})
	if out.Status == Interrupted {
		return nil
	}
	if out.Status != Done {
		return fmt.Errorf("SPIN: %s", out.Reason)
	}
	own := func(workers int) contender {
		return cporContender(s, temporalConfig(property, config("transparent", workers)), false,
			Request{Model: file, Params: ps, Mode: temporalMode(), POR: "transparent",
				Workers: workers, Flags: []string{"-ltl", property}, Violated: r.Violated})
	}
	all := []contender{own(1),
		panContender(s, temporalConfig(property, acceptanceConfig), false, v)}
	if s.Workers > 1 {
		all = append(all, own(s.Workers))
	}
	s.Plan(rounds*len(all), time.Duration(rounds*len(all))*time.Second)
	takeTurns(ctx, s, all, rounds, r.Model, ps, r.Name(), time.Second,
		func(string, *contender, *Outcome) {})
	return nil
}

// isTemporal tells the runs that check a temporal property from the others.
func isTemporal(m *Measurement) bool { return m.Config.Map()["ltl"] != "" }

// checkedRow is a row with the property that was checked, "" if there was none.
type checkedRow struct{ row, property string }

// checkedRows returns the rows that were measured with their properties, in that order.
func checkedRows(ms []Measurement) []checkedRow {
	var rows []checkedRow
	for i := range ms {
		c := checkedRow{ms[i].row(), ms[i].Config.Map()["ltl"]}
		if !slices.Contains(rows, c) {
			rows = append(rows, c)
		}
	}
	return rows
}

// reportTemporal compares the checks of temporal properties.
func reportTemporal(ms []Measurement) []Section {
	if len(ms) == 0 {
		return nil
	}
	sec := Section{
		Title: "Temporal properties beside SPIN",
		Text: []string{
			"Temporal properties of models of examples/promela/corpus: cpor run -ltl with one " +
				"worker, and SPIN's verifier (spin -a, -O3, pan -a), each with its own " +
				"reduction, until a violation is found or everything is covered. Times are " +
				"processor time of the whole process. Ratios are medians over the rounds; " +
				"above 1 cpor is faster. The last column compares wall clocks, cpor with " +
				"several workers.",
		},
	}
	most := slices.Max(append(workerCounts(ms), 1))
	grid := Grid{Header: []string{"", "states", "SPIN's", "cpor", "SPIN", "ratio"}}
	if most > 1 {
		grid.Header = append(grid.Header, fmt.Sprintf("wall, %d", most))
	}
	type line struct {
		Line
		ratio float64
	}
	var lines []line
	var ratio []float64
	for _, c := range checkedRows(ms) {
		of := func(tool string, rest benchmarks.Params) []Measurement {
			return cell(ms, c.row, tool, temporalConfig(c.property, rest).String())
		}
		own := of("cpor", config("transparent", 1))
		sp := of("spin", acceptanceConfig)
		rs := ratios(sp, own, corpusCPU)
		l := line{Line{Cells: []string{c.row + ", " + c.property, stored(own), stored(sp),
			middleTime(own, cpuTime), middleTime(sp, cpuTime), middle(rs)}}, median(rs)}
		if most > 1 {
			l.Cells = append(l.Cells, middle(ratios(sp, of("cpor", config("transparent", most)),
				corpusWall)))
		}
		if len(rs) > 0 {
			ratio = append(ratio, median(rs))
		}
		lines = append(lines, l)
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.ratio, b.ratio) })
	for _, l := range lines {
		grid.Lines = append(grid.Lines, l.Line)
	}
	last := Line{Cells: []string{"geometric mean", "", "", "", "", mean(ratio)}}
	if most > 1 {
		last.Cells = append(last.Cells, "")
	}
	grid.Lines = append(grid.Lines, last)
	sec.Grids = []Grid{grid}
	return []Section{sec}
}
