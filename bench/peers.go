package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cpor/benchmarks"
)

// peers runs the same systems in other checkers, taking turns.
var peers = Table{
	Name: "peers",
	Summary: "the same systems (systems: in both languages), and Promela models as they are " +
		"(corpus), in SPIN, taking turns",
	Run:        runPeers,
	Report:     reportPeers,
	Flags:      []string{"rounds", "workers", "D", "large"},
	Benchmarks: peerNames,
	Asked:      true,
}

// peerNames returns the names of what the table measures.
func peerNames() []string {
	return slices.Concat(benchmarks.Names(), []string{corpusName, systemsName}, systemNames())
}

// onlyPeers reports whether no other table has a name.
func onlyPeers(name string) bool {
	return name == corpusName || name == systemsName || strings.HasPrefix(name, systemPrefix)
}

// systemRow is a benchmark with its parameters.
type systemRow struct {
	benchmark string
	params    string
}

var peerRows = []systemRow{
	{"robots", "R=3"},
	{"indexer", "N=8"},
	{"filesystem", "N=6"},
	{"philosophers", "N=9"},
	{"sharedptr", "N=100"},
	{"cmis", "C=2 N=8"},
}

// largeRow has 43 million states.
var largeRow = systemRow{"filesystem", "N=8"}

// contender is one tool in one configuration.
type contender struct {
	tool   string
	config benchmarks.Params
	run    func(ctx context.Context) Outcome
	exact  bool // explores every interleaving: its states must be the others'
}

// cporContender is cpor on a request, within the session's limits.
func cporContender(s *Session, config benchmarks.Params, exact bool, req Request) contender {
	req.MaxMemory, req.Limit = s.MaxMemory, s.Limit
	return contender{tool: "cpor", config: config, exact: exact,
		run: func(ctx context.Context) Outcome { return s.runner.Run(ctx, req) }}
}

// panContender is a verifier of SPIN.
func panContender(s *Session, config benchmarks.Params, exact bool, v *verifier) contender {
	return contender{tool: "spin", config: config, exact: exact,
		run: func(ctx context.Context) Outcome { return within(ctx, s.Limit, v.run) }}
}

// ready compiles a verifier and calibrates it.
func ready(ctx context.Context, s *Session, label string, estimate time.Duration,
	compile func(context.Context) (*verifier, error)) (*verifier, Outcome) {
	var v *verifier
	out := s.Do(ctx, label+", compiling", estimate, func(ctx context.Context) Outcome {
		var err error
		if v, err = compile(ctx); err != nil {
			return Outcome{Status: Failed, Reason: err.Error()}
		}
		return within(ctx, s.Limit, v.calibrate)
	})
	return v, out
}

// takeTurns measures all contenders of a row, round by round; each round begins with another one.
// check sees the outcomes of the runs that ended.
func takeTurns(ctx context.Context, s *Session, all []contender, rounds int,
	benchmark string, ps benchmarks.Params, name string, estimate time.Duration,
	check func(label string, c *contender, out *Outcome)) {
	for round := 1; round <= rounds; round++ {
		for i := range all {
			c := &all[(i+round-1)%len(all)]
			label := fmt.Sprintf("%s, %s %s, round %d", name, c.tool, c.config, round)
			out := s.Do(ctx, label, estimate, c.run)
			if out.Status == Interrupted {
				return
			}
			s.Record(Measurement{Benchmark: benchmark, Params: ps, Tool: c.tool, Config: c.config,
				Round: round, Outcome: out})
			if out.Status != Done {
				s.Note("peers, %s: %s", label, out.Reason)
			} else {
				check(label, c, &out)
			}
		}
	}
}

func spinConfig(m spinMode) benchmarks.Params {
	return benchmarks.Params{{Name: "mode", Value: m.name}}
}

// peersChosen returns the rows to measure.
func peersChosen(s *Session) []systemRow {
	rows := peerRows
	if s.Large {
		rows = append(slices.Clone(rows), largeRow)
	}
	if len(s.Names) == 0 {
		if len(s.Params) > 0 {
			s.Note("peers: -D needs the name of a benchmark; its own rows are measured")
		}
		return rows
	}
	var chosen []systemRow
	for _, r := range rows {
		if slices.Contains(s.Names, r.benchmark) && len(s.Params) == 0 {
			chosen = append(chosen, r)
		}
	}
	for _, n := range s.Names {
		switch {
		case onlyPeers(n):
			if len(s.Params) > 0 {
				s.Note("peers: -D has no effect on %s, which has rows of its own", n)
			}
		case isFile(n):
			s.Note("peers: %s has no Promela twin", n)
		case !slices.ContainsFunc(chosen, func(r systemRow) bool { return r.benchmark == n }):
			chosen = append(chosen, systemRow{n, s.Params.String()})
		}
	}
	return chosen
}

func runPeers(ctx context.Context, s *Session) error {
	rows := peersChosen(s)
	sp, err := findSpin()
	if err != nil {
		return fmt.Errorf("SPIN cannot be measured: %w", err)
	}
	defer sp.close()
	ru, err := findRumur()
	if err != nil {
		s.Note("peers: Rumur is left out: %v", err)
	} else {
		defer ru.close()
	}
	rounds := s.Rounds(5)
	modes := append(slices.Clone(spinModes), moreSpinModes(s.Workers)...)
	perRound := len(modes) + 2
	if s.Workers > 1 {
		perRound++
	}
	for _, r := range rows {
		runs, builds := perRound, len(modes)
		if threads := rumurThreads(ru, r.benchmark, s.Workers); len(threads) > 0 {
			runs += len(threads)
			builds += len(threads)
		}
		s.Plan(runs*rounds+builds, time.Duration(runs*rounds)*peerEstimate(r)+time.Duration(
			builds)*compiling(r))
	}
	systems := systemsChosen(s)
	planSystems(s, systems, rounds)
	for _, r := range rows {
		if ctx.Err() != nil {
			return nil
		}
		if err := runPeerRow(ctx, s, sp, ru, modes, r, rounds); err != nil && ctx.Err() == nil {
			s.Note("peers, %s %s: %v", r.benchmark, r.params, err)
		}
	}
	runSystems(ctx, s, sp, systems, rounds)
	if len(s.Names) == 0 || slices.Contains(s.Names, corpusName) {
		return runCorpus(ctx, s, sp)
	}
	return nil
}

// peerEstimate guesses the time of one run of a row.
func peerEstimate(r systemRow) time.Duration {
	if r == largeRow {
		return 2 * time.Minute
	}
	if ref := findReference(strings.TrimSpace(r.benchmark + " " + r.params)); ref != nil &&
		ref.Full != nil {
		return time.Duration(float64(ref.Full.Transitions) / 2e6 * float64(time.Second))
	}
	return 100 * time.Millisecond
}

// compiling guesses the time of compiling a verifier and running it once.
func compiling(r systemRow) time.Duration { return 2*time.Second + peerEstimate(r) }

// rumurThreads returns with how many threads Rumur is run on a benchmark: not at all if it or
// the twin is missing.
func rumurThreads(ru *rumur, benchmark string, workers int) []int {
	if ru == nil {
		return nil
	}
	if _, err := benchmarks.Murphi(benchmark); err != nil {
		return nil
	}
	if workers > 1 {
		return []int{1, workers}
	}
	return []int{1}
}

func rumurConfig(threads int) benchmarks.Params {
	return benchmarks.Params{{Name: "threads", Value: strconv.Itoa(threads)}}
}

func runPeerRow(ctx context.Context, s *Session, sp *spin, ru *rumur, modes []spinMode, r systemRow,
	rounds int) error {
	ps, err := benchmarks.ParseParams(r.params)
	if err != nil {
		return err
	}
	row := rowName(r.benchmark, ps)
	own := func(por string, workers int) contender {
		return cporContender(s, config(por, workers), por == "none",
			Request{Model: r.benchmark, Params: ps, POR: por, Workers: workers})
	}
	all := []contender{own("none", 1)}
	for _, m := range modes {
		v, out := ready(ctx, s, row+", SPIN "+m.name, compiling(r),
			func(ctx context.Context) (*verifier, error) {
				return sp.build(ctx, r.benchmark, ps, m)
			})
		if out.Status == Interrupted {
			return nil
		}
		if out.Status != Done {
			s.Note("peers, %s, SPIN %s: %s", row, m.name, out.Reason)
			continue
		}
		all = append(all, panContender(s, spinConfig(m), m.exact, v))
	}
	for _, n := range rumurThreads(ru, r.benchmark, s.Workers) {
		var path string
		out := s.Do(ctx, row+", Rumur, compiling", compiling(r), func(ctx context.Context) Outcome {
			var err error
			if path, err = ru.build(ctx, r.benchmark, ps, n); err != nil {
				return Outcome{Status: Failed, Reason: err.Error()}
			}
			return Outcome{Status: Done}
		})
		if out.Status == Interrupted {
			return nil
		}
		if out.Status != Done {
			s.Note("peers, %s, Rumur: %s", row, out.Reason)
			continue
		}
		all = append(all, contender{tool: "rumur", config: rumurConfig(n), exact: true,
			run: func(ctx context.Context) Outcome {
				return within(ctx, s.Limit, func(ctx context.Context) Outcome {
					return runRumur(ctx, path)
				})
			}})
	}
	all = append(all, own("cartesian", 1))
	if s.Workers > 1 {
		all = append(all, own("none", s.Workers))
	}
	var states uint64
	takeTurns(ctx, s, all, rounds, r.benchmark, ps, row, peerEstimate(r),
		func(label string, c *contender, out *Outcome) {
			switch {
			case !c.exact:
			case states == 0:
				states = out.States
			case states != out.States:
				s.Unexpected("%s: %d states, and %d in another exact search of the same system",
					label, out.States, states)
			}
		})
	return nil
}

var errLimit = errors.New("the time limit was reached")

// within runs something that knows no time limit with one.
func within(ctx context.Context, limit time.Duration, run func(context.Context) Outcome) Outcome {
	limited, cancel := context.WithTimeoutCause(ctx, limit, errLimit)
	defer cancel()
	out := run(limited)
	if out.Status == Interrupted && ctx.Err() == nil {
		out.Status, out.Reason = Limited, errLimit.Error()
	}
	return out
}

// ratios returns, round by round, the quotient of a figure of two contenders.
// Rounds that either did not finish are left out.
func ratios(over, under []Measurement, of func(*Measurement) float64) []float64 {
	var xs []float64
	for i := range over {
		for j := range under {
			if over[i].Round != under[j].Round || over[i].Status != Done ||
				under[j].Status != Done {
				continue
			}
			if a, b := of(&over[i]), of(&under[j]); a > 0 && b > 0 {
				xs = append(xs, a/b)
			}
		}
	}
	return xs
}

// spread formats ratios: the median with the smallest and the largest.
func spread(xs []float64) string {
	if len(xs) == 0 {
		return "–"
	}
	return fmt.Sprintf("%s (%s–%s)", places(median(xs)), places(slices.Min(xs)),
		places(slices.Max(xs)))
}

// some formats a figure with three digits, or a dash if there is none.
func some(x float64) string {
	if x == 0 {
		return "–"
	}
	return digits(x)
}

// places formats a ratio with two places, or fewer where it is large.
func places(x float64) string {
	if x < 10 {
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return digits(x)
}

func reportPeers(all []Measurement, machine Machine) []Section {
	var ms, systems, promela, temporal []Measurement
	for _, m := range all {
		if inSystems(&m) {
			systems = append(systems, m)
		} else if isTemporal(&m) {
			temporal = append(temporal, m)
		} else if inCorpus(&m) {
			promela = append(promela, m)
		} else {
			ms = append(ms, m)
		}
	}
	return slices.Concat(reportTwins(ms), reportSystems(systems), reportCorpus(promela),
		reportTemporal(temporal))
}

// peerWay is a way to check that was measured, besides those that have columns of their own.
type peerWay struct{ name, tool, config string }

func peerWays(ms []Measurement) []peerWay {
	var ways []peerWay
	for _, m := range ms {
		w := peerWay{tool: m.Tool, config: m.Config.String()}
		switch mode := m.Config.Map()["mode"]; {
		case m.Tool == "rumur":
			w.name = "Rumur " + m.Config.Map()["threads"]
		case m.Tool == "spin" && !slices.ContainsFunc(spinModes, func(m spinMode) bool {
			return m.name == mode
		}):
			w.name = "SPIN " + mode
		default:
			continue
		}
		if !slices.Contains(ways, w) {
			ways = append(ways, w)
		}
	}
	return ways
}

// reportTwins reports on the benchmarks and their twins in Promela.
func reportTwins(ms []Measurement) []Section {
	if len(ms) == 0 {
		return nil
	}
	sec := Section{
		Title: "Beside SPIN",
		Text: []string{
			"The same systems in cpor and in SPIN's compiled verifier (-O3 -DSAFETY), at the " +
				"same granularity and with the same number of states, which is checked. All take " +
				"turns, round by round, on the same machine. Ratios are medians over the rounds, " +
				"with the smallest and the largest; above 1 cpor is faster or smaller. Rates are " +
				"transitions that SPIN counts, for both, over the search's own time: cpor also " +
				"counts the self-loops of blocked threads, which SPIN has not. Wall is the whole " +
				"process, from outside, without compiling. Searches below a tenth of a second " +
				"mostly measure how a process starts.",
		},
	}
	plain, collapse, reduced := spinConfig(spinModes[0]).String(),
		spinConfig(spinModes[1]).String(), spinConfig(spinModes[2]).String()
	speed := Grid{
		Caption: "Full search, one worker, against SPIN -DNOREDUCE",
		Header:  []string{"", "states", "cpor t/s", "SPIN t/s", "rate", "wall"},
	}
	comp := Grid{
		Caption: "Full search, one worker, against SPIN -DNOREDUCE -DCOLLAPSE; and all workers " +
			"against SPIN -DNOREDUCE",
		Header: []string{"", "rate, COLLAPSE", "wall, COLLAPSE", "wall, all workers"},
	}
	memory := Grid{
		Caption: "Memory of the store in bytes a state, links and hash tables included; peak of " +
			"the process in MB",
		Header: []string{"", "cpor", "SPIN", "ratio", "COLLAPSE", "ratio", "cpor MB", "SPIN MB",
			"COLL. MB"},
	}
	reduction := Grid{
		Caption: "Each with its own reduction: cartesian, one worker, against SPIN without " +
			"-DNOREDUCE",
		Header: []string{"", "full", "cpor states", "SPIN states", "wall"},
	}
	others := Grid{
		Caption: "Each way beside cpor's full search with one worker: ratios of wall and of " +
			"processor time (CPU), above 1 cpor is faster; peak of the process in MB",
		Header: []string{"", "states", "wall", "CPU", "MB"},
		Notes: []string{
			"The number behind a name is that of the cores or threads. HC4 and SPIN's " +
				"breadth-first search with several cores store hashes of states and may take two " +
				"for one.",
			"Rumur's time is that of its process, for its own clock knows seconds only. It has " +
				"the systems that benchmarks/murphi has.",
			"SPIN's memory is what it says itself; that of a multi-core search has its work " +
				"queues in it.",
		},
	}
	var rates, collRates, walls, mems, collMems []float64
	bars := Bars{Parts: []Part{{Name: "rate of transitions, cpor over SPIN", Color: 1}}}
	most := workerCounts(ms)[len(workerCounts(ms))-1]
	ways := peerWays(ms)
	for _, row := range rowNames(ms) {
		full := cell(ms, row, "cpor", config("none", 1).String())
		cart := cell(ms, row, "cpor", config("cartesian", 1).String())
		sp := cell(ms, row, "spin", plain)
		sc := cell(ms, row, "spin", collapse)
		sr := cell(ms, row, "spin", reduced)
		seconds := func(m *Measurement) float64 { return m.Search.Seconds() }
		wall := func(m *Measurement) float64 { return m.Wall.Seconds() }
		bytes := func(m *Measurement) float64 { return m.BytesPerState() }
		states := mid(full, func(m *Measurement) float64 { return float64(m.States) })
		transitions := mid(sp, func(m *Measurement) float64 { return float64(m.Transitions) })
		perSecond := func(c []Measurement) string { return perSecond(transitions, mid(c, seconds)) }
		rate, wallRatio := ratios(sp, full, seconds), ratios(sp, full, wall)
		speed.Lines = append(speed.Lines, Line{Cells: []string{
			row, stored(full), perSecond(full), perSecond(sp), spread(rate), spread(wallRatio),
		}})
		collRate := ratios(sc, full, seconds)
		allWall := "–"
		if most > 1 {
			allWall = spread(ratios(sp, cell(ms, row, "cpor", config("none", most).String()), wall))
		}
		comp.Lines = append(comp.Lines,
			Line{Cells: []string{row, spread(collRate), spread(ratios(sc, full, wall)), allWall}})
		b, bp, bc := mid(full, bytes), mid(sp, bytes), mid(sc, bytes)
		rss := func(c []Measurement) string { return positive(mid(c, peakMB), short) }
		processor := func(m *Measurement) float64 { return m.CPU.Seconds() }
		memory.Lines = append(memory.Lines, Line{Cells: []string{
			row, some(b), some(bp), quotient(bp, b), some(bc), quotient(bc, b), rss(full), rss(sp),
			rss(sc),
		}})
		for _, w := range ways {
			if c := cell(ms, row, w.tool, w.config); len(c) > 0 && mid(c, peakMB) > 0 {
				others.Lines = append(others.Lines, Line{Cells: []string{
					row + ", " + w.name, stored(c), spread(ratios(c, full, wall)),
					spread(ratios(c, full, processor)), short(mid(c, peakMB)),
				}})
			}
		}
		reduction.Lines = append(reduction.Lines,
			Line{Cells: []string{row, stored(full), stored(cart), stored(sr),
				spread(ratios(sr, cart, wall))}})
		if len(rate) > 0 {
			rates = append(rates, median(rate))
			walls = append(walls, median(wallRatio))
			bars.Labels = append(bars.Labels, strings.Replace(row, " ", "\n", 1))
			bars.Parts[0].Values = append(bars.Parts[0].Values, median(rate))
		}
		if len(collRate) > 0 {
			collRates = append(collRates, median(collRate))
		}
		if b > 0 && bp > 0 && states > 1e5 {
			mems = append(mems, bp/b)
		}
		if b > 0 && bc > 0 && states > 1e5 {
			collMems = append(collMems, bc/b)
		}
	}
	fact := func(name string, xs []float64) {
		if len(xs) > 0 {
			sec.Facts = append(sec.Facts, Fact{name, spread(xs)})
		}
	}
	fact("Rate of transitions over SPIN's, median (range) of models", rates)
	fact("The same against -DCOLLAPSE", collRates)
	fact("Wall time, SPIN's over cpor's", walls)
	fact("Bytes a state, SPIN's over cpor's, above 100,000 states", mems)
	fact("The same against -DCOLLAPSE", collMems)
	sec.Grids = []Grid{speed, comp, memory, reduction}
	if len(others.Lines) > 0 {
		sec.Grids = append(sec.Grids, others)
	}
	if len(bars.Labels) > 0 {
		sec.Plots = []Plot{{Title: "Transitions per second, cpor over SPIN (one core each)",
			Y: "ratio", Bars: &bars}}
	}
	return []Section{sec}
}

// mid returns the median of a figure over the runs that ended, 0 if there are none.
func mid(c []Measurement, of func(*Measurement) float64) float64 {
	var xs []float64
	for i := range c {
		if c[i].Status == Done {
			xs = append(xs, of(&c[i]))
		}
	}
	return median(xs)
}

// positive formats a figure, or a dash if there is none.
func positive(x float64, format func(float64) string) string {
	if x <= 0 {
		return "–"
	}
	return format(x)
}

// quotient formats a ratio, or a dash if a side is missing.
func quotient(a, b float64) string {
	if a == 0 || b == 0 {
		return "–"
	}
	return times(a / b)
}

// perSecond formats a rate, or a dash if there is none.
func perSecond(n, seconds float64) string {
	if n <= 0 || seconds <= 0 {
		return "–"
	}
	return short(n / seconds)
}

// stored formats the number of states that were stored.
func stored(c []Measurement) string {
	return positive(mid(c, states), func(x float64) string { return count(uint64(x)) })
}

func states(m *Measurement) float64 { return float64(m.States) }

func peakMB(m *Measurement) float64 { return float64(m.PeakRSS) / 1e6 }
