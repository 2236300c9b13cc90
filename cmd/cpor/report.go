package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/frontend"
	"cpor/frontend/model/source"
	"cpor/internal/human"
	"cpor/system"
	"cpor/trace"
)

// report is the result of a search, ready to be printed.
type report struct {
	c       *runConfig
	params  map[string]any
	res     *search.Result
	found   []finding
	traces  []string // the files that traces were written to
	program *frontend.Program
	ltl     string // which temporal properties were not checked
}

// finding is a violation with its trace as people see it; record is nil if
// there is no trace.
type finding struct {
	engine.Finding
	record *trace.Record
}

// newReport prepares the result of a search. The error is one of the tool: a
// trace that does not replay.
func newReport(c *runConfig, m *frontend.Program, sys system.System, res *search.Result) (*report, error) {
	r := &report{c: c, params: m.Params, res: res, program: m, ltl: unchecked(m, c.file)}
	for _, v := range res.Violations {
		f := finding{Finding: v}
		if v.Trace != nil {
			var err error
			if f.record, err = v.Trace.Record(sys); err != nil {
				return nil, err
			}
		}
		r.found = append(r.found, f)
	}
	return r, nil
}

// records returns the traces that there are.
func (r *report) records() []*trace.Record {
	var rs []*trace.Record
	for _, f := range r.found {
		if f.record != nil {
			rs = append(rs, f.record)
		}
	}
	return rs
}

// verdict returns the verdict. Whatever the search says, one that did not cover
// everything is no pass.
func (r *report) verdict() engine.Verdict {
	if r.res.Verdict == engine.Pass && !r.res.Exhaustive {
		return engine.Incomplete
	}
	return r.res.Verdict
}

func (r *report) exitCode() int {
	switch r.verdict() {
	case engine.Pass:
		return exitPass
	case engine.Violated:
		return exitViolation
	}
	return exitIncomplete
}

// resultJSON is the object that -json prints. The names up to Violations are
// fixed; further ones may be added.
type resultJSON struct {
	Model                string          `json:"model"`
	Params               map[string]any  `json:"params"`
	POR                  string          `json:"por"`
	Workers              int             `json:"workers"`
	Verdict              engine.Verdict  `json:"verdict"`
	Exhaustive           bool            `json:"exhaustive"`
	Reason               string          `json:"reason"`
	States               uint64          `json:"states"`
	Transitions          uint64          `json:"transitions"`
	Attempts             uint64          `json:"attempts"`
	MaxDepth             int             `json:"max_depth"`
	DurationMS           float64         `json:"duration_ms"`
	StatesPerSecond      float64         `json:"states_per_second"`
	TransitionsPerSecond float64         `json:"transitions_per_second"`
	StoreBytes           uint64          `json:"store_bytes"`
	BytesPerState        float64         `json:"bytes_per_state"`
	PeakRSSBytes         uint64          `json:"peak_rss_bytes"`
	Violations           []violationJSON `json:"violations"`

	// What is added to the fixed names.
	MoreViolations      uint64  `json:"more_violations"`
	EndedLoops          uint64  `json:"ended_loops"`
	BlockedLoops        uint64  `json:"blocked_loops,omitempty"`
	CVOrder             string  `json:"cv_order,omitempty"`
	Races               string  `json:"races"`
	Select              string  `json:"select,omitempty"`
	InvisibleCuts       uint64  `json:"invisible_cuts,omitempty"`
	Store               string  `json:"store"`
	OmissionProbability float64 `json:"omission_probability"`
	Steals              uint64  `json:"steals"`
	FailedCAS           uint64  `json:"failed_cas"`
	IdleShare           float64 `json:"idle_share"`
	Deadlocks           bool    `json:"deadlocks_reported"`
	NotChecked          string  `json:"not_checked,omitempty"`
}

// violationJSON is a trace.Record as JSON, or what is known without one.
type violationJSON struct {
	finding finding
}

// MarshalJSON writes the record of the trace, and without one an object with
// the same names and the reason under trace_missing.
func (v violationJSON) MarshalJSON() ([]byte, error) {
	if v.finding.record != nil {
		return v.finding.record.MarshalJSON()
	}
	return json.Marshal(map[string]any{
		"kind": v.finding.Kind, "message": v.finding.Message, "pos": trace.PosString(v.finding.Pos),
		"trace": []any{}, "trace_missing": v.finding.TraceMissing,
	})
}

func (r *report) writeJSON(w io.Writer) error {
	res := r.res
	j := resultJSON{
		Model: r.c.file, Params: r.params, POR: r.c.reduction.name, Workers: res.Workers,
		Verdict: r.verdict(), Exhaustive: res.Exhaustive, Reason: res.Reason,
		States: res.States, Transitions: res.Transitions, Attempts: res.Attempts, MaxDepth: res.MaxDepth,
		DurationMS:           float64(res.Duration) / float64(time.Millisecond),
		StatesPerSecond:      res.StatesPerSecond(),
		TransitionsPerSecond: res.TransitionsPerSecond(),
		StoreBytes:           res.StoreBytes, BytesPerState: res.BytesPerState, PeakRSSBytes: res.PeakRSS,
		Violations:     []violationJSON{},
		MoreViolations: res.MoreViolations, EndedLoops: res.EndedLoops, BlockedLoops: res.BlockedLoops,
		Store: r.c.store.String(), OmissionProbability: res.OmissionProbability,
		Steals: res.Steals, FailedCAS: res.FailedCAS, IdleShare: res.IdleShare,
		Deadlocks: r.c.deadlock, NotChecked: r.ltl,
	}
	j.Select = r.c.locks.selection.name
	j.Races, j.InvisibleCuts = r.c.locks.races.String(), r.c.locks.cuts.Load()
	if j.Params == nil {
		j.Params = map[string]any{}
	}
	if r.c.reduction.name == "cartesian" {
		j.CVOrder = r.c.order.String()
	}
	for _, f := range r.found {
		j.Violations = append(j.Violations, violationJSON{f})
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(j)
}

// The longest table of a trace that is printed; -trace writes all of it.
const (
	maxSteps   = 60
	maxThreads = 16
)

// writeText prints the result for people, width columns wide: the violations
// with their traces first, so that the verdict and the figures stand at the end,
// where a terminal shows them.
func (r *report) writeText(w io.Writer, width int) error {
	p := &printer{w: w, width: width}
	for i, f := range r.found {
		r.writeViolation(p, i, f)
	}
	r.writeVerdict(p)
	if !r.c.quiet {
		r.writeFigures(p)
	}
	return p.err
}

func (r *report) writeViolation(p *printer, i int, f finding) {
	head := trace.Headline(f.Violation)
	if len(r.found) > 1 {
		head = fmt.Sprintf("[%d] %s", i+1, head)
	}
	p.printf("%s\n", r.excerpt(f, head))
	p.printf("\n")
	if f.record == nil {
		p.printf("%s\n\n", p.wrap("There is no trace: "+f.TraceMissing, 0))
		return
	}
	if p.err == nil {
		p.err = f.record.WriteTable(p.w, trace.TableOptions{
			Width: p.width, MaxSteps: maxSteps, MaxThreads: maxThreads, OmitViolation: true})
	}
	p.printf("\n")
	if n := len(f.record.Events); n > maxSteps && r.c.trace == "" {
		p.printf("%s\n\n", p.wrap(fmt.Sprintf("That is a part of the trace; -trace FILE writes all %d steps.", n), 0))
	}
}

// excerpt returns a message with its place, the source line and a caret.
func (r *report) excerpt(f finding, head string) string {
	if f.Pos.Line == 0 {
		return r.c.file + ": " + head
	}
	file := r.program.Source(f.Pos.File)
	if file == nil {
		return trace.PosString(f.Pos) + ": " + head
	}
	return file.Render(&source.Message{Pos: offset(file, f.Pos), End: source.NoPos, Text: head})
}

// offset returns the byte offset of a place.
func offset(f *source.File, p system.Pos) source.Pos {
	at := 0
	for range p.Line - 1 {
		n := strings.IndexByte(f.Text[at:], '\n')
		if n < 0 {
			break
		}
		at += n + 1
	}
	return source.Pos(min(at+p.Col-1, len(f.Text)))
}

// writeVerdict prints the verdict in one sentence.
func (r *report) writeVerdict(p *printer) {
	name := r.c.file
	var s string
	switch r.verdict() {
	case engine.Pass:
		s = "no violation; everything was covered"
	case engine.Violated:
		s = "violation found"
		if n := len(r.found); r.c.all {
			s = fmt.Sprintf("%d distinct violations found", n)
			if n == 1 {
				s = "1 violation found"
			}
			if r.res.MoreViolations > 0 {
				s += fmt.Sprintf(", and %s more that are not shown", human.Count(r.res.MoreViolations))
			}
			if !r.res.Exhaustive {
				s += "; not everything was covered (" + r.res.Reason + ")"
			}
		}
	default:
		s = "incomplete: " + r.res.Reason + "; no violation so far"
	}
	p.printf("%s\n", p.wrap(name+": "+s, 2))
	if r.ltl != "" {
		p.printf("%s\n", p.wrap("not checked: "+r.ltl, 2))
	}
	if r.c.quiet && !r.c.deadlock { // else it stands among the figures
		p.printf("%s\n", p.wrap("not checked: deadlocks (-deadlock=false)", 2))
	}
	if len(r.traces) > 0 {
		p.printf("%s\n", p.wrap("trace written to "+strings.Join(r.traces, ", "), 2))
	}
}

// fewStates is the number of states below which the store's bytes for each
// say nothing: most of them are there before the first state.
const fewStates = 1000

// writeFigures prints what was covered and what it took.
func (r *report) writeFigures(p *printer) {
	res := r.res
	p.printf("\n")
	how := fmt.Sprintf("%s, %d workers", r.c.reduction.name, res.Workers)
	if res.Workers == 1 {
		how = r.c.reduction.name + ", 1 worker"
	}
	if r.c.store != 0 {
		how += ", store " + r.c.store.String()
	}
	if r.c.reduction.name == "cartesian" && r.c.order != 0 {
		how += ", order " + r.c.order.String()
	}
	p.figure("reduction", how, "")
	if r.c.locks.selection.name != "" {
		p.figure("explored", r.c.locks.selection.name+" (-select)", "")
	}
	if r.c.locks.races != 0 {
		p.figure("races", "checked by "+r.c.locks.races.String(), "")
	}
	if ps := paramList(r.params); ps != "" {
		p.figure("constants", ps, "")
	}
	p.figure("states", human.Count(res.States), human.Short(uint64(res.StatesPerSecond()))+"/s")
	p.figure("transitions", human.Count(res.Transitions), human.Short(uint64(res.TransitionsPerSecond()))+"/s")
	if res.Attempts != res.Transitions {
		p.figure("attempts", human.Count(res.Attempts), "")
	}
	p.figure("depth", human.Count(uint64(res.MaxDepth)), "")
	p.figure("time", human.Duration(res.Duration), "")
	store := human.Size(res.StoreBytes)
	if res.States >= fewStates {
		store += fmt.Sprintf(", %.1f bytes a state", res.BytesPerState)
	}
	p.figure("store", store, "")
	if res.PeakRSS > 0 {
		p.figure("memory", human.Size(res.PeakRSS), "")
	}
	if res.OmissionProbability > 0 {
		p.figure("omissions", fmt.Sprintf("a reachable state was left out with a probability of %.2g", res.OmissionProbability), "")
	}
	if !r.c.deadlock {
		p.figure("deadlocks", "not reported (-deadlock=false)", "")
	}
	if r.c.validate {
		p.figure("validated", "no difference found", "")
	}
}

// printer writes to w until the first error.
type printer struct {
	w     io.Writer
	width int
	err   error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// wrap breaks a text at spaces and indents all lines but the first.
func (p *printer) wrap(s string, indent int) string {
	lines := strings.Split(text.WrapSoft(s, p.width-indent), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n"+strings.Repeat(" ", indent))
}

// figure prints a line of the figures.
func (p *printer) figure(name, value, rate string) {
	const column = 15
	line := fmt.Sprintf("  %-*s%s", column-2, name, p.wrap(value, column))
	if rate != "" {
		line = fmt.Sprintf("%-34s%s", line, rate)
	}
	p.printf("%s\n", line)
}

// paramList returns the constants as "N=12 R=2", in the order of their names.
func paramList(params map[string]any) string {
	var ps []string
	for name, v := range params {
		ps = append(ps, fmt.Sprintf("%s=%v", name, v))
	}
	slices.Sort(ps)
	return strings.Join(ps, " ")
}
