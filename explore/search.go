package explore

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"cpor/engine"
	"cpor/engine/forecast"
	"cpor/frontend"
	"cpor/internal/human"
	"cpor/system"
	"cpor/trace"
)

// Plan is a search that is ready to begin.
type Plan struct {
	// Name says what searches: the mode and the reduction.
	Name  string
	Entry *engine.Entry
	Task  *engine.Task
	// Program, if not nil, is what the search executes and nobody else does, so that
	// it is known what it has executed.
	Program *frontend.Program
	// Done, if not nil, is called when the search has ended.
	Done func()
}

// Search is a search that runs, or has run. Its methods may be called from many
// goroutines at once.
type Search struct {
	cancel context.CancelCauseFunc
	over   chan struct{}

	mu     sync.Mutex
	status Status
	found  []*Document
	p      *frontend.Program
	counts engine.CounterSet
	fore   forecast.Forecast
	every  int // of the reports, this many make one sample
	skip   int
}

// Status is what is to be told of a search.
type Status struct {
	Name    string `json:"name"`
	Running bool   `json:"running"`
	// From is the path to the state that it began in; nil for the beginning.
	From *Path `json:"from"`
	// Samples are what it has reported, the last one its newest: at most maxSamples,
	// evenly spread.
	Samples []Sample `json:"samples"`
	// Counts are the names of the samples' members that the engine counts.
	Counts []string `json:"counts"`
	// Forecast says how long it will take, while it runs, or that this is not known; "" before
	// the first report.
	Forecast string `json:"forecast"`
	// Verdict is pass, violation or incomplete; "" while it runs, and error where Error
	// says what is wrong.
	Verdict string   `json:"verdict"`
	Reason  string   `json:"reason"`
	Error   string   `json:"error"`
	Figures []Figure `json:"figures"`
	// Found are the headlines of what was found; the documents are requested separately.
	Found []string `json:"found"`
}

// Figure is a line of the result.
type Figure struct {
	Label string `json:"label"`
	Text  string `json:"text"`
}

// Sample is one report of a running search.
type Sample struct {
	Seconds     float64 `json:"seconds"`
	States      uint64  `json:"states"`
	Executions  uint64  `json:"executions"`
	Transitions uint64  `json:"transitions"`
	Queued      uint64  `json:"queued"`
	Depth       int     `json:"depth"`
	Memory      uint64  `json:"memory"`
	Violations  int     `json:"violations"`
}

// maxSamples bounds what is kept of the reports.
const maxSamples = 600

// reportEvery is the time between two reports of a search.
const reportEvery = 250 * time.Millisecond

// errStopped is why a search ended that was stopped by the user.
var errStopped = &engine.Stop{Reason: "stopped by the user"}

// Start begins a search. From is the path to the state in which the plan's system
// begins, nil if it is the program's own. The search ends with ctx at the latest.
func (x *Explorer) Start(ctx context.Context, p *Plan, at *Path) *Search {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &Search{cancel: cancel, over: make(chan struct{}), every: 1, p: p.Program,
		counts: p.Entry.Counts}
	s.status = Status{
		Name:    p.Name,
		Running: true,
		From:    at,
		Samples: []Sample{},
		Figures: []Figure{},
		Found:   []string{},
		Counts:  counted(p.Entry.Counts),
	}
	t := *p.Task
	t.Progress, t.ProgressInterval = s.report, reportEvery
	go func() {
		defer close(s.over)
		defer cancel(nil)
		if p.Done != nil {
			defer p.Done()
		}
		res, err := run(ctx, p.Entry, &t)
		if no := x.refused(); no != nil && err == nil {
			err = &engine.Refusal{Err: no}
		}
		s.end(x, p, res, err)
	}()
	return s
}

// run runs an engine; a panic is an error.
func run(ctx context.Context, e *engine.Entry, t *engine.Task) (res *engine.Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			res, err = nil, fmt.Errorf("internal error: %v\n%s", v, debug.Stack())
		}
	}()
	return e.Run(ctx, t)
}

func counted(c engine.CounterSet) []string {
	names := []string{}
	for _, n := range []struct {
		what engine.CounterSet
		name string
	}{
		{engine.CountStates, "states"}, {engine.CountExecutions, "executions"},
		{engine.CountTransitions, "transitions"}, {engine.CountDepth, "depth"},
	} {
		if c&n.what != 0 {
			names = append(names, n.name)
		}
	}
	return names
}

// report takes a report of the engine.
func (s *Search) report(p engine.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Forecast, _ = s.fore.Tell(p, s.counts)
	s.sample(Sample{
		Seconds: p.Elapsed.Seconds(), States: p.States, Executions: p.Executions,
		Transitions: p.Transitions,
		Queued:      p.Queued, Depth: p.MaxDepth, Memory: p.Memory, Violations: p.Violations,
	}, false)
}

// sample keeps a sample. When there are too many, every second one goes.
func (s *Search) sample(a Sample, last bool) {
	if s.skip++; s.skip < s.every && !last {
		return
	}
	s.skip = 0
	list := s.status.Samples
	if len(list) == maxSamples {
		for i := range maxSamples / 2 {
			list[i] = list[2*i+1]
		}
		list, s.every = list[:maxSamples/2], 2*s.every
	}
	s.status.Samples = append(list, a)
}

// end writes the result down.
func (s *Search) end(x *Explorer, p *Plan, res *engine.Result, err error) {
	var found []*Document
	if err == nil {
		found, err = documents(x, p, s.status.From, res)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.status
	st.Running, st.Forecast = false, ""
	if err != nil {
		st.Verdict, st.Error = "error", err.Error()
		if no := new(engine.Refusal); !errors.As(err, &no) &&
			!errors.As(err, new(*engine.OptionError)) && !strings.HasPrefix(st.Error,
			"internal error") {
			st.Error = "internal error: " + st.Error
		}
		return
	}
	st.Verdict, st.Reason = string(res.Verdict), res.Reason
	if res.Verdict == engine.Pass && !res.Exhaustive {
		st.Verdict = string(engine.Incomplete)
	}
	memory := res.PeakRSS
	if n := len(st.Samples); n > 0 && memory == 0 {
		memory = st.Samples[n-1].Memory
	}
	s.sample(Sample{
		Seconds: res.Duration.Seconds(), States: res.States, Executions: res.Executions,
		Transitions: res.Transitions,
		Depth:       res.MaxDepth, Memory: memory, Violations: len(res.Violations),
	}, true)
	st.Figures = append(st.Figures, Figure{"time", human.Duration(res.Duration)})
	for _, fs := range [][]engine.Figure{res.How, res.Figures} {
		for _, f := range fs {
			if f.Text != "" {
				label := f.Label
				if label == "" {
					label = "how"
				}
				st.Figures = append(st.Figures, Figure{label, f.Text})
			}
		}
	}
	for _, q := range res.Properties {
		verdict := "holds" + q.Among
		switch q.Verdict {
		case engine.Violated:
			verdict = "does not hold" + q.Among
		case engine.Incomplete:
			verdict = "incomplete: " + q.Reason
		}
		st.Figures = append(st.Figures, Figure{q.Property.Called(), verdict})
	}
	for _, n := range append(res.Warnings, res.Notes...) {
		st.Figures = append(st.Figures, Figure{"note", n})
	}
	s.found = found
	for _, d := range found {
		st.Found = append(st.Found, d.Title)
	}
}

// documents makes what the page shows of the findings. A search that did not begin at
// the beginning has the way there in front.
func documents(x *Explorer, p *Plan, at *Path, res *engine.Result) ([]*Document, error) {
	sys := p.Task.System
	if res.System != nil {
		sys = res.System
	}
	var ds []*Document
	for i := range res.Violations {
		f := &res.Violations[i]
		d, err := finding(x, sys, at, f)
		if err != nil {
			return nil, err
		}
		ds = append(ds, d)
	}
	return ds, nil
}

func finding(x *Explorer, sys system.System, at *Path, f *engine.Finding) (*Document, error) {
	if f.Account != nil {
		text, err := f.Account.MarshalJSON()
		if err != nil {
			return nil, err
		}
		d, _, err := parseTrace(text)
		return d, err
	}
	if f.Trace == nil {
		d := NewDocument()
		d.Kind, d.Message, d.Pos, d.Title = string(f.Kind), f.Message, placeOf(f.Pos),
			trace.Headline(f.Violation)
		d.Notes = append(d.Notes, "There is no trace: "+f.TraceMissing)
		return d, nil
	}
	t := *f.Trace
	t.Violation = f.Violation
	if at != nil {
		way := at.trace()
		t.Initial, t.Steps = way.Initial, append(way.Steps, t.Steps...)
		sys = x.Program.System
		// The program's own system does not know what a system that wraps it has found.
		if t.Replay(sys) != nil {
			t.Violation = nil
		}
	}
	obs := system.ObserversOf(sys)
	d, err := play(sys, &obs, &t)
	if err != nil {
		return nil, err
	}
	d.Kind, d.Message, d.Pos, d.Title = string(f.Kind), f.Message, placeOf(f.Pos),
		trace.Headline(f.Violation)
	return d, nil
}

// Stop ends the search; what it has found so far is its result.
func (s *Search) Stop() { s.cancel(errStopped) }

// Wait waits for the end of the search.
func (s *Search) Wait() { <-s.over }

// Status returns what is to be told.
func (s *Search) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.status
	st.Samples = append([]Sample{}, st.Samples...)
	return st
}

// Found returns finding number i of a search that has ended.
func (s *Search) Found(i int) (*Document, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i < 0 || i >= len(s.found) {
		return nil, errors.New("the search has no such finding")
	}
	return s.found[i], nil
}
