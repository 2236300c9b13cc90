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

// acceptance is SPIN as people check temporal properties: with its own reduction.
const acceptance = "acceptance"

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
	var v *verifier
	out := s.Do(ctx, r.Name()+", SPIN, compiling", 3*time.Second,
		func(ctx context.Context) Outcome {
			var err error
			if v, _, err = sp.compile(ctx, r.Model, text, ps, nil, nil); err != nil {
				return Outcome{Status: Failed, Reason: err.Error()}
			}
			v.check, v.errors = []string{"-a", "-N", property}, r.Violated
			return within(ctx, s.Limit, v.calibrate)
		})
	if out.Status == Interrupted {
		return nil
	}
	if out.Status != Done {
		return fmt.Errorf("SPIN: %s", out.Reason)
	}
	own := func(workers int) contender {
		return contender{tool: "cpor",
			config: temporalConfig(property, config("transparent", workers)),
			run: func(ctx context.Context) Outcome {
				return s.runner.Run(ctx, Request{Model: file, Params: ps, Mode: temporalMode(),
					POR: "transparent", Workers: workers, MaxMemory: s.MaxMemory, Limit: s.Limit,
					Flags: []string{"-ltl", property}, Violated: r.Violated})
			}}
	}
	all := []contender{own(1), {tool: "spin",
		config: temporalConfig(property, benchmarks.Params{{Name: "mode", Value: acceptance}}),
		run:    func(ctx context.Context) Outcome { return within(ctx, s.Limit, v.run) }}}
	if s.Workers > 1 {
		all = append(all, own(s.Workers))
	}
	s.Plan(rounds*len(all), time.Duration(rounds*len(all))*time.Second)
	for round := 1; round <= rounds; round++ {
		for i := range all {
			c := &all[(i+round-1)%len(all)]
			label := fmt.Sprintf("%s, %s %s, round %d", r.Name(), c.tool, c.config, round)
			out := s.Do(ctx, label, time.Second, c.run)
			if out.Status == Interrupted {
				return nil
			}
			s.Record(Measurement{Benchmark: r.Model, Params: ps, Tool: c.tool, Config: c.config,
				Round: round, Outcome: out})
			if out.Status != Done {
				s.Note("peers, %s: %s", label, out.Reason)
			}
		}
	}
	return nil
}

// isTemporal tells the runs that check a temporal property from the others.
func isTemporal(m *Measurement) bool { return m.Config.Map()["ltl"] != "" }

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
	type check struct{ row, property string }
	var checks []check
	for i := range ms {
		c := check{ms[i].row(), ms[i].Config.Map()["ltl"]}
		if !slices.Contains(checks, c) {
			checks = append(checks, c)
		}
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
	for _, c := range checks {
		of := func(tool string, rest benchmarks.Params) []Measurement {
			return cell(ms, c.row, tool, temporalConfig(c.property, rest).String())
		}
		own := of("cpor", config("transparent", 1))
		sp := of("spin", benchmarks.Params{{Name: "mode", Value: acceptance}})
		took := func(c []Measurement) string {
			d, ok := medianTime(c, func(m *Measurement) time.Duration { return m.CPU })
			if !ok {
				return "–"
			}
			return duration(d)
		}
		states := func(c []Measurement) string {
			var xs []float64
			for i := range c {
				if c[i].Status == Done {
					xs = append(xs, float64(c[i].States))
				}
			}
			return count(uint64(median(xs)))
		}
		rs := ratios(sp, own, corpusCPU)
		l := line{Line{Cells: []string{c.row + ", " + c.property, states(own), states(sp),
			took(own),
			took(sp), middle(rs)}}, median(rs)}
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
