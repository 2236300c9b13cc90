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
	"cpor/examples/promela/corpus"
	"cpor/internal/human"
)

// corpusName is the argument that asks for the models of the Promela corpus only.
const corpusName = "corpus"

// corpusRows are runs of the corpus from tens of states to millions.
var corpusRows = []string{
	"mutex_peterson", "condition_variable", "rw_monitor", "mutex_bakery", "ring_hs N=4", "paxos",
	"raft_election", "window_selective", "mutex_mcs", "mutex_szymanski N=3", "lift FLOORS=7",
	"seqlock R=2",
	// Puzzles and plans: arrays, and many options in one process.
	"puzzle_tiles W=3", "puzzle_frogs N=8", "puzzle_lights W=4 H=4", "puzzle_pancakes N=8",
	"puzzle_solitaire", "puzzle_cube", "hanoi_stacks N=9", "plan_blocks N=7", "plan_logistics",
	"scheduler_resources",
	// Rendezvous and long buffers.
	"rendezvous_relay N=7 V=3", "rendezvous_ports N=4", "buffer_spool CAP=10", "queue_urgent CAP=7",
	"echo_wave N=4", "cache_directory N=4", "ring_election N=6",
	// Large states.
	"allocator_first_fit N=4", "cellular N=20", "routing_vectors N=5 F=6",
	// Processes that share arrays.
	"gridlock CARS=4 SIDE=5", "walkers N=4 CELLS=11", "mutex_levels N=4",
	"mine_pump H=40 P=60", "philosophers_mixed N=9", "recursion_fibonacci",
	// Many invalid end states.
	"dice N=5 S=10", "transfer_locks N=4",
}

// temporalRows are runs of the corpus that check temporal properties.
var temporalRows = []string{
	"philosophers_mixed N=9, ltl safe", "philosophers_mixed N=9, ltl together",
	"philosophers_mixed N=9, ltl fed", "mutex_levels N=4, ltl exclusive",
	"mutex_levels N=4, ltl waits", "ring_election N=6, ltl once", "ring_election N=6, ltl found",
	"mine_pump H=40 P=60, ltl dry", "mine_pump H=40 P=60, ltl bounded",
	"mine_pump H=40 P=60, ltl order",
}

// inCorpus tells measurements of the corpus from those of the benchmarks.
func inCorpus(m *Measurement) bool {
	_, err := corpus.Text(m.Benchmark)
	return err == nil
}

var (
	toolchain = benchmarks.Params{{Name: "mode", Value: "compile"}}
	// What people run: SPIN with its reduction, its options and its table as they are by
	// themselves.
	usual          = spinMode{name: "usual"}
	usualToolchain = benchmarks.Params{{Name: "mode", Value: "compile usual"}}
	// everyError makes cpor count everything there is, as SPIN does with -c0.
	everyError = []string{"-deadlock", "-all", "-minimize", "0"}
	corpusCPU  = func(m *Measurement) float64 { return m.CPU.Seconds() }
	corpusWall = func(m *Measurement) float64 { return m.Wall.Seconds() }
)

// runCorpus measures the rows of the corpus: SPIN with its compiler once, and its
// verifiers and cpor in turns.
func runCorpus(ctx context.Context, s *Session, sp *spin) error {
	runs, err := corpus.Runs()
	if err != nil {
		return err
	}
	rounds := s.Rounds(5)
	if err := eachRow(ctx, s, runs, corpusRows, func(r *corpus.Run) error {
		return runCorpusRow(ctx, s, sp, r, rounds)
	}); err != nil {
		return err
	}
	return runTemporal(ctx, s, sp, runs, rounds)
}

// eachRow measures the runs of the corpus with these names. A row that fails becomes a note.
func eachRow(ctx context.Context, s *Session, runs []corpus.Run, names []string,
	row func(*corpus.Run) error) error {
	for _, name := range names {
		k := slices.IndexFunc(runs, func(r corpus.Run) bool { return r.Name() == name })
		if k < 0 {
			return fmt.Errorf("the corpus has no run %s", name)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err := row(&runs[k]); err != nil {
			s.Note("peers, %s: %v", name, err)
		}
	}
	return nil
}

// prepare writes the model of a run to a file. It returns the constants, the text and the file.
func (sp *spin) prepare(r *corpus.Run) (ps benchmarks.Params, text []byte, file string,
	err error) {
	if ps, err = benchmarks.ParseParams(strings.Join(r.Defines, " ")); err != nil {
		return nil, nil, "", err
	}
	if text, err = corpus.Text(r.Model); err != nil {
		return nil, nil, "", err
	}
	file = filepath.Join(sp.dir, r.Model+".pml")
	return ps, text, file, os.WriteFile(file, text, 0o666)
}

func runCorpusRow(ctx context.Context, s *Session, sp *spin, r *corpus.Run, rounds int) error {
	ps, text, file, err := sp.prepare(r)
	if err != nil {
		return err
	}
	estimate := 50*time.Millisecond + time.Duration(r.Transitions)*time.Microsecond
	var flags []string
	if r.Violated {
		flags = everyError
	}
	own := func(por string, workers int) contender {
		return cporContender(s, config(por, workers), por == "none",
			Request{Model: file, Params: ps, POR: por, Workers: workers, Flags: flags})
	}
	all := []contender{own("none", 1), own("auto", s.Workers)}
	if s.Workers > 1 {
		all = append(all, own("none", s.Workers))
	}
	for _, m := range append(slices.Clone(spinModes), usual) {
		options, built := []string{"-o1", "-o2", "-o3"}, toolchain
		switch {
		case m.name == usual.name:
			options, built = nil, usualToolchain
		case !m.exact:
			continue
		}
		var compiled Outcome
		v, out := ready(ctx, s, r.Name()+", SPIN "+m.name, 3*time.Second,
			func(ctx context.Context) (v *verifier, err error) {
				v, compiled, err = sp.compile(ctx, r.Model, text, ps, options,
					append([]string{"-DSAFETY", "-DNOCLAIM"}, m.flags...))
				if err == nil {
					v.search("", r.Violated)
				}
				return v, err
			})
		if out.Status == Interrupted {
			return nil
		}
		if out.Status != Done {
			return fmt.Errorf("SPIN %s: %s", m.name, out.Reason)
		}
		if m.name == usual.name {
			v.table = 0
		}
		if m.name == spinModes[0].name || m.name == usual.name {
			s.Record(Measurement{Benchmark: r.Model, Params: ps, Tool: "spin", Config: built,
				Round: 1, Outcome: compiled})
		}
		all = append(all, panContender(s, spinConfig(m), m.exact, v))
	}
	s.Plan(rounds*len(all), time.Duration(rounds*len(all))*estimate)
	takeTurns(ctx, s, all, rounds, r.Model, ps, r.Name(), estimate,
		func(label string, c *contender, out *Outcome) {
			if c.exact && out.States != r.States {
				s.Unexpected("%s: %d states, and %d in the corpus' table", label, out.States,
					r.States)
			}
		})
	return nil
}

// reportCorpus compares processor time: what a busy machine disturbs least.
func reportCorpus(ms []Measurement) []Section {
	if len(ms) == 0 {
		return nil
	}
	sec := Section{
		Title: "Promela models beside SPIN",
		Text: []string{
			"Models of examples/promela/corpus as they are, in cpor and in SPIN (spin -o1 -o2 " +
				"-o3 -a, -O3 -DSAFETY -DNOREDUCE -DNOCLAIM), one worker, with the same number of " +
				"states, which is checked. All take turns, round by round. Times are processor " +
				"time of the whole process, user and system; verdict means with spin and " +
				"the C compiler, which are measured once a row. Ratios are medians over the " +
				"rounds, with the smallest and the largest; above 1 cpor is faster or smaller. " +
				"Rates are transitions that SPIN counts a second of processor time.",
		},
	}
	speed := Grid{Caption: "Processor time, one worker", Header: []string{"", "states", "cpor t/s",
		"SPIN t/s", "search", "verdict"}}
	memory := Grid{Caption: "Bytes a state against -DCOLLAPSE, and processor time against it",
		Header: []string{"", "cpor", "COLLAPSE", "ratio", "search, COLLAPSE"}}
	most := slices.Max(append(workerCounts(ms), 1)) // none yet while the first row is compiled
	if most > 1 {
		memory.Header = append(memory.Header, fmt.Sprintf("wall, %d workers", most))
	}
	clock := Grid{
		Caption: fmt.Sprintf("By the clock as people run both: `spin -a`, the compiler and a "+
			"verifier with SPIN's own reduction and table; `cpor run` with %s",
			human.Plural(most, "worker")),
		Header: []string{"", "states", "SPIN's", "cpor", "spin, cc", "verifier", "ratio"},
	}
	bars := Bars{Parts: []Part{{Name: "search, SPIN's processor time over cpor's", Color: 1}}}
	verdicts := Bars{Parts: []Part{{Name: "to the verdict, SPIN's processor time over cpor's",
		Color: 2}}}
	var searches, totals, clocks, sizes []float64
	took := func(seconds float64) string {
		return duration(time.Duration(seconds * float64(time.Second)))
	}
	speeds := map[string]float64{}
	for _, row := range rowNames(ms) {
		full := cell(ms, row, "cpor", config("none", 1).String())
		plain := cell(ms, row, "spin", spinConfig(spinModes[0]).String())
		collapse := cell(ms, row, "spin", spinConfig(spinModes[1]).String())
		compile := mid(cell(ms, row, "spin", toolchain.String()), corpusCPU)
		stored := mid(full, states)
		transitions := mid(plain, func(m *Measurement) float64 { return float64(m.Transitions) })
		rate := func(c []Measurement) string { return perSecond(transitions, mid(c, corpusCPU)) }
		search := ratios(plain, full, corpusCPU)
		var total []float64
		if compile > 0 {
			total = ratios(adding(compile, plain), full, corpusCPU)
		}
		auto := cell(ms, row, "cpor", config("auto", most).String())
		people := cell(ms, row, "spin", spinConfig(usual).String())
		if built := mid(cell(ms, row, "spin", usualToolchain.String()), corpusWall); built > 0 &&
			len(auto) > 0 {
			verdict := ratios(adding(built, people), auto, corpusWall)
			clock.Lines = append(clock.Lines, Line{Cells: []string{
				row, count(uint64(mid(auto, states))), count(uint64(mid(people, states))),
				took(mid(auto, corpusWall)), took(built), took(mid(people, corpusWall)),
				middle(verdict),
			}})
			if len(verdict) > 0 {
				clocks = append(clocks, median(verdict))
			}
		}
		speed.Lines = append(speed.Lines,
			Line{Cells: []string{row, count(uint64(stored)), rate(full), rate(plain),
				spread(search), middle(total)}})
		bytes := func(m *Measurement) float64 { return m.BytesPerState() }
		b, bc := mid(full, bytes), mid(collapse, bytes)
		cells := []string{row, some(b), some(bc), quotient(bc, b),
			spread(ratios(collapse, full, corpusCPU))}
		if most > 1 {
			cells = append(cells,
				spread(ratios(plain, cell(ms, row, "cpor", config("none", most).String()),
					corpusWall)))
		}
		memory.Lines = append(memory.Lines, Line{Cells: cells})
		if len(search) > 0 {
			speeds[row] = median(search)
			searches = append(searches, median(search))
			bars.Labels = append(bars.Labels, strings.Replace(row, " ", "\n", 1))
			bars.Parts[0].Values = append(bars.Parts[0].Values, median(search))
		}
		if len(total) > 0 {
			totals = append(totals, median(total))
			verdicts.Labels = append(verdicts.Labels, strings.Replace(row, " ", "\n", 1))
			verdicts.Parts[0].Values = append(verdicts.Parts[0].Values, median(total))
		}
		if b > 0 && bc > 0 && stored > 1e5 {
			sizes = append(sizes, bc/b)
		}
	}
	for _, f := range []struct {
		name string
		xs   []float64
	}{
		{"Processor time of the search, SPIN's over cpor's, median (range) of models", searches},
		{"From the command line to the verdict, compiling included", totals},
		{"The same by the clock, as people run both", clocks},
		{"Bytes a state, -DCOLLAPSE over cpor, above 100,000 states", sizes},
	} {
		if len(f.xs) > 0 {
			sec.Facts = append(sec.Facts, Fact{f.name, spread(f.xs)})
		}
	}
	if len(searches) > 0 {
		slices.SortStableFunc(speed.Lines, func(a, b Line) int {
			return cmp.Compare(speeds[a.Cells[0]], speeds[b.Cells[0]])
		})
		speed.Lines = append(speed.Lines, Line{Cells: []string{"geometric mean", "", "", "",
			mean(searches), mean(totals)}})
	}
	sec.Grids = []Grid{speed, memory}
	if len(clock.Lines) > 0 {
		sec.Grids = append(sec.Grids, clock)
	}
	if len(bars.Labels) > 0 {
		sec.Plots = append(sec.Plots, Plot{Title: "Search: processor time, SPIN over cpor",
			Y: "ratio", Bars: &bars})
	}
	if len(verdicts.Labels) > 0 {
		sec.Plots = append(sec.Plots,
			Plot{Title: "From the command line to the verdict: processor time, SPIN over cpor",
				Y: "ratio", Bars: &verdicts})
	}
	return []Section{sec}
}

// adding adds the time that SPIN and the compiler took to that of its verifier.
func adding(took float64, c []Measurement) []Measurement {
	c = slices.Clone(c)
	for i := range c {
		c[i].CPU += time.Duration(took * float64(time.Second))
		c[i].Wall += time.Duration(took * float64(time.Second))
	}
	return c
}
