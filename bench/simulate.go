package bench

import (
	"bytes"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"cpor/bench/coherence"
	"cpor/benchmarks"
	"cpor/engine"
	"cpor/engine/search/reduction"
	"cpor/frontend"
	_ "cpor/frontend/promela" // models in both languages
	"cpor/internal/human"
)

// simulateMode is the mode of requests that predict how a search scales (-simulate). Workers is
// the largest number of workers.
const simulateMode = "simulate"

// simulator is the tool of such a measurement.
const simulator = "simulation"

// mostHot is how many shared places a report shows.
const mostHot = 8

// Prediction is what a simulation of a search says.
type Prediction struct {
	coherence.Costs // of the machine
	// Lost is the share of the time in which another program ran while local work was measured,
	// which does not count.
	Lost float64 `json:"lost"`
	// Runs are the simulated searches, with 1, 2, 4, ... workers.
	Runs []SimulatedRun `json:"runs"`
	// Law is fitted to their speed-ups.
	Law coherence.Law `json:"law"`
}

// SimulatedRun is a simulated search.
type SimulatedRun struct {
	Workers int `json:"workers"`
	coherence.Result
}

// run returns the simulated search with so many workers, nil if there is none.
func (p *Prediction) run(workers int) *SimulatedRun {
	i := slices.IndexFunc(p.Runs, func(r SimulatedRun) bool { return r.Workers == workers })
	if i < 0 {
		return nil
	}
	return &p.Runs[i]
}

// speedup returns the predicted speed-up with so many workers, 0 if unknown.
func (p *Prediction) speedup(workers int) float64 {
	one, n := p.run(1), p.run(workers)
	if one == nil || n == nil || n.Time <= 0 {
		return 0
	}
	return float64(one.Time) / float64(n.Time)
}

// doubling returns 1, 2, 4, ... up to most, and most.
func doubling(most int) (ns []int) {
	for n := 1; n < most; n *= 2 {
		ns = append(ns, n)
	}
	return append(ns, most)
}

// runSimulated simulates a search in this process, because the model of coherence sees accesses
// of its own process only.
func runSimulated(ctx context.Context, r Request) Outcome {
	start := time.Now()
	out := Outcome{Status: Done}
	p, err := simulate(ctx, &r, &out)
	switch {
	case ctx.Err() != nil:
		return Outcome{Status: Interrupted, Reason: "interrupted"}
	case err != nil:
		return Outcome{Status: Failed, Reason: err.Error()}
	}
	out.Wall = time.Since(start)
	out.Predicted = p
	if n := len(p.Runs); n > 0 {
		out.Search = p.Runs[n-1].Time
	}
	return out
}

// simulate measures the costs and the local work, and simulates the search with ever more workers.
func simulate(ctx context.Context, r *Request, out *Outcome) (*Prediction, error) {
	e, err := engine.Lookup(reduction.Mode, r.POR)
	if err != nil {
		return nil, err
	}
	search := func(workers int) error {
		sys, err := r.load(e)
		if err != nil {
			return err
		}
		debug.FreeOSMemory() // what a search before this one has left
		res, err := e.Run(ctx, &engine.Task{System: sys.System, Flags: &engine.Values{},
			Options: engine.Options{Workers: workers, IgnoreDeadlocks: true, Timeout: r.Limit,
				MaxMemory: r.MaxMemory}})
		if err != nil {
			return err
		}
		if !res.Exhaustive && out.Status == Done {
			out.Status = Limited
			out.Reason = fmt.Sprintf("%s: %s", human.Plural(workers, "worker"), res.Reason)
		}
		out.States, out.Transitions = res.States, res.Transitions
		return nil
	}
	p := &Prediction{Costs: coherence.Calibrate(ctx)}
	meter := coherence.NewMeter()
	const measured = 5 // searches; the first one meets cold code
	for range measured {
		meter.Watch(func() { err = search(1) })
		if err != nil || out.Status != Done {
			return p, err
		}
	}
	segments, lost := meter.Segments()
	p.Lost = lost
	speedups := map[int]float64{}
	for _, n := range doubling(r.Workers) {
		sim := coherence.NewSimulation(n, p.Costs, segments)
		sim.Watch(func() { err = search(n) })
		if err != nil || out.Status != Done {
			return p, err
		}
		p.Runs = append(p.Runs, SimulatedRun{n, sim.Result()})
		speedups[n] = p.speedup(n)
	}
	p.Law = coherence.Fit(speedups)
	return p, nil
}

// load compiles the model of a request in this process.
func (r *Request) load(e *engine.Entry) (*frontend.Program, error) {
	o := frontend.Options{Params: r.Params.Map(), Verdict: e.Reduces}
	if isFile(r.Model) {
		return frontend.Load(r.Model, o)
	}
	text, err := benchmarks.Model(r.Model)
	if err != nil {
		return nil, err
	}
	return frontend.Read(r.Model+".model", bytes.NewReader(text), o)
}

// runPredicted is runScale with -simulate: it predicts each sweep, and measures it by the clock
// with as many workers as there are processors to compare.
func runPredicted(ctx context.Context, s *Session) error {
	const est = 2 * time.Second
	rounds := s.Rounds(5)
	clock := []int{1}
	if s.results.Machine.Cores > 1 {
		clock = append(clock, 2)
	}
	sweeps := scaleSweeps(s)
	s.Plan(len(sweeps)*(1+len(clock)*rounds), est*time.Duration(len(sweeps)*(10+2*rounds)))
	for _, sw := range sweeps {
		label := fmt.Sprintf("%s %s, %s", name(sw.model), sw.params, sw.por)
		measure := func(tool, mode string, workers, round int, label string, est time.Duration) {
			out := s.Run(ctx, Request{Model: sw.model, Params: sw.params, Mode: mode, POR: sw.por,
				Workers: workers, Limit: s.Limit, MaxMemory: s.MaxMemory}, label, est)
			if out.Status != Done && out.Status != Interrupted {
				s.Note("%s: %s", label, out.Reason)
			}
			s.Record(Measurement{Benchmark: name(sw.model), Params: sw.params, Tool: tool,
				Config: config(sw.por, workers), Round: round, Outcome: out})
		}
		for round := 1; round <= rounds; round++ {
			for _, w := range clock {
				measure("cpor", "", w, round, label+", "+human.Plural(w, "worker"), est)
			}
		}
		measure(simulator, simulateMode, s.Simulate, 1, label+", simulated", 10*est)
	}
	return nil
}

// reportPredicted is the section for -simulate.
func reportPredicted(ms []Measurement, machine Machine) []Section {
	sec := Section{
		Title: "Predicted speed-up",
		Text: []string{fmt.Sprintf("Each search really ran with each number of workers, one "+
			"worker at a time. What a worker does between two accesses to shared memory takes as "+
			"long as in a search with one worker on this machine (%s). A model of the caches adds "+
			"what the workers cost each other. It ignores memory bandwidth and the garbage "+
			"collector.", machine.CPU)},
	}
	speed := Plot{Title: "predicted speed-up", X: "workers", Y: "speed-up", LogX: true}
	for i := range ms {
		m := &ms[i]
		p := m.Predicted
		if p == nil || len(p.Runs) == 0 { // the search exceeded a limit
			continue
		}
		title := m.row() + ", " + m.Config.Map()["por"]
		grids, series := p.grids(title, ms, m)
		sec.Grids = append(sec.Grids, grids...)
		series.Color = len(speed.Series) % grey
		speed.Series = append(speed.Series, series)
	}
	sec.Plots = append(sec.Plots, speed)
	return []Section{sec}
}

// grids are the tables of a prediction, and its curve.
func (p *Prediction) grids(title string, ms []Measurement, of *Measurement) (gs []Grid, s Series) {
	g := Grid{Caption: title, Header: []string{"workers", "time", "speed-up", "law", "effic.",
		"local %", "transfers %", "waiting %", "idle %"}}
	s.Name = title
	for _, r := range p.Runs {
		x := p.speedup(r.Workers)
		s.Points = append(s.Points, Point{float64(r.Workers), x})
		g.Lines = append(g.Lines, Line{Cells: []string{strconv.Itoa(r.Workers), duration(r.Time),
			times(x), times(p.Law.Speedup(r.Workers)), percent(x / float64(r.Workers)),
			percent(r.Local), percent(r.Moving), percent(r.Waiting), percent(r.Idle)}})
	}
	peak := "no peak"
	if n := p.Law.Peak(); n > 0 {
		peak = "peak at " + human.Plural(n, "worker")
	}
	g.Notes = append(g.Notes, fmt.Sprintf("Gunther's law: contention %s, coherence %s, %s.",
		coefficient(p.Law.Contention), coefficient(p.Law.Coherence), peak),
		fmt.Sprintf("Charged: %v for a line from another processor's cache (%v from memory), %v "+
			"for a pause, %v to wake a worker.", p.Transfer, p.Memory, p.Pause, p.Wake))
	gs = append(gs, g)
	if v := p.validation(ms, of); len(v.Lines) > 0 {
		gs = append(gs, v)
	}
	if h := p.hot(); len(h.Lines) > 0 {
		gs = append(gs, h)
	}
	return gs, s
}

// coefficient formats one of Gunther's.
func coefficient(x float64) string { return strconv.FormatFloat(x, 'g', 2, 64) }

// validation compares the prediction with the clock.
func (p *Prediction) validation(ms []Measurement, of *Measurement) Grid {
	g := Grid{Caption: "Prediction and clock (medians)", Header: []string{"workers", "predicted",
		"clock", "CPU", "predicted/clock", "speed-up predicted", "by the clock"}}
	por := of.Config.Map()["por"]
	var one time.Duration
	for _, r := range p.Runs {
		c := cell(ms, of.row(), "cpor", config(por, r.Workers).String())
		d, ok := medianTime(c, searchTime)
		if !ok {
			continue
		}
		if r.Workers == 1 {
			one = d
		}
		clock := ""
		if one > 0 {
			clock = times(float64(one) / float64(d))
		}
		used, _ := medianTime(c, func(m *Measurement) time.Duration { return m.CPU })
		g.Lines = append(g.Lines, Line{Cells: []string{strconv.Itoa(r.Workers), duration(r.Time),
			duration(d), duration(used), times(float64(r.Time) / float64(d)),
			times(p.speedup(r.Workers)), clock}})
	}
	return g
}

// hot shows what costs most with the most workers.
func (p *Prediction) hot() Grid {
	r := p.Runs[len(p.Runs)-1]
	g := Grid{Caption: "Shared memory that costs most with " + human.Plural(r.Workers, "worker") +
		", in % of the workers' time",
		Header: []string{"what", "accesses", "transfers", "lines", "transfers %", "waiting %"}}
	all := float64(r.Time) * float64(r.Workers)
	for _, h := range r.Hot[:min(len(r.Hot), mostHot)] {
		g.Lines = append(g.Lines, Line{Cells: []string{h.Site, short(float64(h.Accesses)),
			short(float64(h.Transfers)), short(float64(h.Lines)),
			fmt.Sprintf("%.2f", 100*float64(h.Moving)/all),
			fmt.Sprintf("%.2f", 100*float64(h.Waiting)/all)}})
	}
	return g
}
