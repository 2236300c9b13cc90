package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"cpor/engine"
	"cpor/engine/lockset"
	"cpor/engine/search/reduction"
	"cpor/engine/stateless"
	"cpor/engine/unfolding"
	"cpor/frontend"
	"cpor/frontend/source"
	"cpor/internal/human"
	"cpor/internal/terminal"
	"cpor/system"
	"cpor/trace"
	"cpor/trace/draw"
)

// report is the result of an exploration, ready to be printed. Which of the figures
// it has follows from what the engine counts ([engine.Entry.Counts]), and from what
// else the engine tells.
type report struct {
	c       *runConfig
	res     *engine.Result
	found   []finding
	traces  []string // the files that traces were written to
	program *frontend.Program
	ltl     string // which temporal properties were not checked
	// coverage is what was executed; nil if the front end does not tell.
	coverage *frontend.Coverage
	// unreached is what cannot be executed; nil if that is not known.
	unreached []frontend.Never
}

// finding is a violation with its trace as people see it; record is nil if
// there is no trace, or an account instead.
type finding struct {
	engine.Finding
	record *trace.Record
	system system.System // of the trace
}

// newReport prepares a result. The error is one of the tool: a trace that does not
// replay.
func newReport(c *runConfig, m *frontend.Program, res *engine.Result) (*report, error) {
	r := &report{c: c, res: res, program: m}
	if !c.mode.Temporal {
		r.ltl = unchecked(m, c.file)
	}
	if m.Coverage != nil {
		r.coverage = m.Coverage()
	}
	if r.coverage != nil && c.executesAll() && res.Exhaustive {
		r.unreached = []frontend.Never{}
		for _, n := range r.coverage.Never {
			if !n.Waiting || c.entry.Preserves&engine.Waits != 0 {
				r.unreached = append(r.unreached, n)
			}
		}
	}
	sys := system.Apart(m.System)
	if res.System != nil {
		sys = res.System
	}
	for _, v := range res.Violations {
		f := finding{Finding: v, system: sys}
		if v.Trace != nil {
			var err error
			if f.record, err = c.record(v.Trace, sys); err != nil {
				return nil, err
			}
			if f.record.Violation == nil {
				f.record.Violation = v.Violation
			}
		}
		r.found = append(r.found, f)
	}
	return r, nil
}

// record writes down a trace, with its states if the file that it goes to shows them.
func (c *runConfig) record(t *trace.Trace, sys system.System) (*trace.Record, error) {
	if c.traceStates || trace.NeedsStates(c.trace) {
		return t.RecordStates(sys)
	}
	return t.Record(sys)
}

// counts reports whether the engine counts something.
func (r *report) counts(what engine.CounterSet) bool { return r.c.entry.Counts&what != 0 }

// takes reports whether the engine takes an option.
func (r *report) takes(what engine.OptionSet) bool { return r.c.entry.Takes&what != 0 }

// verdict returns the verdict. Whatever the engine says, one that did not cover
// everything is not a pass.
func (r *report) verdict() engine.Verdict {
	if r.res.Verdict == engine.Pass && !r.res.Exhaustive {
		return engine.Incomplete
	}
	return r.res.Verdict
}

func (r *report) exitCode() int {
	switch r.verdict() {
	case engine.Pass:
		return ExitPass
	case engine.Violated:
		return ExitViolation
	}
	return ExitIncomplete
}

// minimal returns how short each trace is known to be, in the order of the violations;
// nil if there is none, or one is shown by something else than a trace.
func (r *report) minimal() []string {
	var all []string
	for _, f := range r.found {
		switch {
		case f.Account != nil:
			return nil
		case f.record == nil:
			all = append(all, "")
		default:
			all = append(all, f.Minimal.String())
		}
	}
	return all
}

// lengths says in words how short the traces are known to be.
func (r *report) lengths() string {
	least := trace.Shortest
	n := 0
	for _, f := range r.found {
		if f.record != nil && f.Account == nil {
			n++
			least = min(least, f.Minimal)
		}
	}
	if n == 0 {
		return ""
	}
	s := map[trace.Minimality]string{
		trace.AsFound: "as found, not minimized",
		trace.Cut: fmt.Sprintf("not fully minimized in %v: raise -minimize",
			r.c.MinimizeTime),
		trace.Local: "irreducible; there may be shorter ones, " +
			"and other runs may show them",
		trace.FewestSwitches: "with the fewest context switches",
		trace.Shortest:       "as short as possible",
	}[least]
	if n > 1 && least != trace.Shortest {
		s = "of the traces at least one is " + s
	}
	return s
}

// object is a JSON object whose members have an order.
type object struct{ members []member }

type member struct {
	name  string
	value any
}

func (o *object) add(name string, value any) { o.members = append(o.members, member{name, value}) }

// figures adds those figures that have a name.
func (o *object) figures(fs []engine.Figure) {
	for _, f := range fs {
		if f.Key != "" {
			o.add(f.Key, f.Value)
		}
	}
}

// MarshalJSON writes the members in their order.
func (o *object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for i, m := range o.members {
		b.WriteByte("{,"[min(i, 1)])
		if err := enc.Encode(m.name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := enc.Encode(m.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
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

// writeJSON prints the result for programs. The names are fixed; further ones may
// be added.
func (r *report) writeJSON(w io.Writer) error {
	res := r.res
	ms := float64(res.Duration) / float64(time.Millisecond)
	params := r.program.Params
	if params == nil {
		params = map[string]any{}
	}
	j := new(object)
	j.add("model", r.c.file)
	j.add("params", params)
	if !r.c.mode.Default && !r.c.mode.Temporal {
		j.add("search", r.c.mode.Name)
	}
	j.add("por", r.c.entry.Name)
	if s := r.program.Semantics; s != "" {
		j.add("semantics", s)
	}
	j.add("workers", res.Workers)
	j.add("verdict", r.verdict())
	j.add("exhaustive", res.Exhaustive)
	j.add("reason", res.Reason)
	r.addCounts(j)
	j.add("duration_ms", ms)
	if r.counts(engine.CountStates) {
		j.add("states_per_second", res.StatesPerSecond())
	}
	if r.counts(engine.CountTransitions) {
		j.add("transitions_per_second", res.TransitionsPerSecond())
	}
	if r.counts(engine.CountStore) {
		j.add("store_bytes", res.StoreBytes)
		j.add("peak_rss_bytes", res.PeakRSS)
	}
	if r.c.mode.Temporal {
		j.add("properties", r.propertiesJSON())
	}
	if r.unreached != nil {
		j.add("unreached", r.unreachedJSON())
		j.add("vacuous", r.vacuous() != "")
	}
	violations := []any{}
	for _, f := range r.found {
		if f.Account != nil {
			violations = append(violations, f.Account)
		} else {
			violations = append(violations, violationJSON{f})
		}
	}
	j.add("violations", violations)
	if minimal := r.minimal(); minimal != nil {
		j.add("minimal", minimal)
	}
	if r.takes(engine.TakesAll) {
		j.add("more_violations", res.MoreViolations)
	}
	if r.counts(engine.CountLoops) {
		j.add("ended_loops", res.EndedLoops)
		if res.BlockedLoops > 0 {
			j.add("blocked_loops", res.BlockedLoops)
		}
	}
	j.figures(res.How)
	j.figures(res.Figures)
	if r.takes(engine.TakesDeadlocks) {
		j.add("deadlocks_reported", !r.c.IgnoreDeadlocks)
	}
	if r.ltl != "" {
		j.add("not_checked", r.ltl)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(j)
}

// addCounts adds how much was covered.
func (r *report) addCounts(j *object) {
	res := r.res
	if r.counts(engine.CountStates) {
		j.add("states", res.States)
	}
	if r.counts(engine.CountExecutions) {
		j.add("executions", res.Executions)
		j.add("blocked_executions", res.BlockedExecutions)
		j.add("cut_executions", res.CutExecutions)
	}
	if r.counts(engine.CountTransitions) {
		j.add("transitions", res.Transitions)
	}
	if r.counts(engine.CountAttempts) {
		j.add("attempts", res.Attempts)
	}
	if r.counts(engine.CountDepth) {
		j.add("max_depth", res.MaxDepth)
	}
	if r.takes(engine.TakesMaxDepth) {
		j.add("bound", res.Bound)
	}
}

// propertiesJSON lists the temporal properties with their verdicts.
func (r *report) propertiesJSON() []any {
	properties := []any{}
	for _, p := range r.res.Properties {
		o := new(object)
		o.add("name", p.Property.Name)
		o.add("formula", p.Property.Text)
		o.add("verdict", p.Verdict)
		o.add("reason", p.Reason)
		if p.Verdict == engine.Pass {
			o.add("vacuous", p.Vacuous != nil)
			if p.Vacuous != nil {
				o.add("because", p.Vacuous)
			}
		}
		o.figures(p.Figures)
		properties = append(properties, o)
	}
	return properties
}

// unreachedJSON lists the statements that are never executed.
func (r *report) unreachedJSON() []any {
	list := []any{}
	for _, s := range r.unreached {
		o := new(object)
		o.add("of", s.Of)
		o.add("pos", trace.PosString(s.Pos))
		o.add("statement", s.Text)
		if s.What != "" {
			o.add("what", s.What)
		}
		o.add("vacuous", s.Property)
		list = append(list, o)
	}
	return list
}

// The longest table of a trace that is printed; -trace writes all of it.
const (
	maxSteps   = 60
	maxThreads = 16
)

// writeText prints the result for people: the violations
// with their traces first, so that the verdict and the figures stand at the end,
// where a terminal shows them.
func (r *report) writeText(w io.Writer, page terminal.Page) error {
	p := &printer{w: w, Page: page}
	for i, f := range r.found {
		r.writeViolation(p, i, f)
	}
	if r.c.mode.Temporal {
		r.writeProperties(p)
	} else {
		r.writeVerdict(p)
	}
	for _, note := range r.res.Notes {
		p.printf("%s\n", p.wrap(note, 0))
	}
	switch {
	case r.c.quiet:
	case r.c.mode.Temporal:
		r.writeScope(p)
	default:
		r.writeFigures(p)
	}
	return p.err
}

// declarations are those of the variables of violated disciplines by which threads may use them
// without locks.
func (r *report) declarations() []string {
	var ds []string
	for _, f := range r.found {
		if f.Violation == nil || f.Kind != lockset.Discipline || r.program.Freely == nil {
			continue
		}
		if d := r.program.Freely(f.Object); d != "" && !slices.Contains(ds, d) {
			ds = append(ds, d)
		}
	}
	return ds
}

func (r *report) writeViolation(p *printer, i int, f finding) {
	if f.Account != nil {
		if p.err == nil {
			p.err = f.Account.WriteText(p.w, p.table())
		}
		p.printf("\n")
		return
	}
	head := trace.Headline(f.Violation)
	if len(r.found) > 1 && !r.c.mode.Temporal {
		head = fmt.Sprintf("[%d] %s", i+1, head)
	}
	p.printf("%s\n", r.excerpt(f, p.Paint(terminal.Bad, head)))
	p.printf("\n")
	if f.record == nil {
		p.printf("%s\n\n", p.wrap("There is no trace: "+f.TraceMissing, 0))
		return
	}
	if p.err == nil {
		p.err = draw.Table(p.w, f.record, p.table())
	}
	p.printf("\n")
	if n := len(f.record.Events); n > maxSteps && r.c.trace == "" {
		p.printf("%s\n\n",
			p.wrap(fmt.Sprintf("This is only part of the trace; -trace FILE writes all %d steps.",
				n), 0))
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
	color := map[engine.Verdict]terminal.Color{engine.Pass: terminal.Good,
		engine.Violated: terminal.Bad}[r.verdict()]
	if color == terminal.Plain {
		color = terminal.Unsure
	}
	switch r.verdict() {
	case engine.Pass:
		s = "no violation; everything was covered" + r.vacuous()
	case engine.Violated:
		s = "violation found"
		if n := len(r.found); r.c.All {
			s = fmt.Sprintf("%d distinct violations found", n)
			if n == 1 {
				s = "1 violation found"
			}
			if r.res.MoreViolations > 0 {
				s += fmt.Sprintf(", and %s more not shown", human.Count(r.res.MoreViolations))
			}
			if !r.res.Exhaustive {
				s += "; not everything was covered (" + r.res.Reason + ")"
			}
		}
	default:
		s = "incomplete: " + r.res.Reason + "; no violation so far"
	}
	p.verdict(color, name+": ", s)
	if next := r.next(); next != "" && !r.c.quiet {
		p.printf("%s\n", p.wrap("try next: "+next, 2))
		for _, d := range r.declarations() {
			p.printf("    %s\n", d) // to be copied as it is
		}
	}
	if r.ltl != "" {
		p.printf("%s\n", p.wrap("not checked: "+r.ltl, 2))
	}
	if r.c.quiet && r.c.IgnoreDeadlocks { // else it stands among the figures
		p.printf("%s\n", p.wrap("not checked: deadlocks (-deadlock=false)", 2))
	}
	if len(r.traces) > 0 {
		p.printf("%s\n", p.wrap("trace written to "+strings.Join(r.traces, ", "), 2))
	}
}

// next says what to try after an incomplete result or a broken locking discipline, and why. It is
// empty if there is nothing to say, or a checkpoint that says how to go on.
func (r *report) next() string {
	if r.verdict() == engine.Violated && slices.ContainsFunc(r.found, func(f finding) bool {
		return f.Kind == lockset.Discipline
	}) {
		return "a lock around every access; or, if the variable is meant to be used without one, " +
			"comm or atomic in its declaration (docs/locks.md)"
	}
	if r.verdict() == engine.Violated && !slices.ContainsFunc(r.found, func(f finding) bool {
		return f.Kind != system.Deadlock
	}) {
		return "a label that begins with end before each statement at which a thread may wait " +
			"forever; or -deadlock=false"
	}
	if r.verdict() != engine.Incomplete || r.c.mode.Temporal || r.c.cluster ||
		r.c.checkpoint != "" {
		return ""
	}
	inMemory := strings.Contains(r.res.Reason, "memory")
	switch store := reduction.Store.Of(&r.c.values); {
	case r.c.MaxDepth > 0 && r.res.CutExecutions > 0:
		return "a larger -max-depth, because executions were cut off"
	case r.c.mode.Name == stateless.Mode, r.c.mode.Name == unfolding.Mode:
		return "-search stateful, which covers each state once, however many executions lead to it"
	case r.c.mode.Name == reduction.Mode && store.Inexact() && !inMemory:
		return "-store tree, which omits no state"
	case r.c.mode.Name == reduction.Mode && inMemory && !store.Inexact() && r.c.Disk == "":
		return "-store compact, which takes a few bytes a state but can omit states, or -disk " +
			"DIR, which is slower but exact"
	case r.c.mode.Name == reduction.Mode && r.c.por == "" && r.c.Disk == "" &&
		system.WhyIrreducible(r.program.System, false) == "":
		return "-search auto, which also unfolds: exponentially smaller where threads rarely " +
			"interact"
	}
	return "smaller constants (-D NAME=VALUE), because most bugs show in small instances, or a " +
		"higher limit"
}

// writeProperties prints the verdict on each temporal property.
func (r *report) writeProperties(p *printer) {
	for _, prop := range r.res.Properties {
		verdict := "holds" + prop.Among
		switch prop.Verdict {
		case engine.Violated:
			verdict = "does not hold" + prop.Among
		case engine.Incomplete:
			verdict = "incomplete: " + prop.Reason + "; no violation so far"
		}
		if n := len(prop.Vacuous); n > 0 && prop.Verdict == engine.Pass {
			switch {
			case prop.Empty:
				verdict += ", but it is vacuous"
			case n == 1:
				verdict += ", but 1 part of it is vacuous"
			default:
				verdict += fmt.Sprintf(", but %d parts of it are vacuous", n)
			}
		}
		p.printf("%s: %s %s\n", r.c.file, prop.Property.Called(), verdict)
		if prop.Verdict == engine.Pass {
			for _, why := range prop.Vacuous {
				p.printf("  %s\n", p.wrap(why, 2))
			}
		}
		if r.c.quiet {
			continue
		}
		var figures []string
		for _, f := range prop.Figures {
			if f.Text != "" {
				figures = append(figures, f.Text)
			}
		}
		p.printf("  %s\n", strings.Join(figures, ", "))
	}
}

// writeScope prints what the check of temporal properties says nothing about, and
// where the counterexamples are.
func (r *report) writeScope(p *printer) {
	if r.c.Validate {
		p.printf("The reduction was checked while it ran: no difference found.\n")
	}
	p.printf("%s\n",
		p.wrap("Only ltl properties were checked; run without -ltl to check assertions, "+
			"invariants and deadlocks.", 0))
	for _, f := range r.res.Figures {
		if f.Label != "" && f.Text != "" {
			p.printf("%s %s\n", strings.ToUpper(f.Label[:1])+f.Label[1:], f.Text)
		}
	}
	for _, name := range r.traces {
		p.printf("The counterexample is in %s.\n", name)
	}
}

// writeFigures prints what was covered and what it took.
func (r *report) writeFigures(p *printer) {
	res := r.res
	p.printf("\n")
	how := fmt.Sprintf("%s%s, %d workers", r.c.mode.Prefix, r.c.entry.Name, res.Workers)
	if res.Workers == 1 {
		how = r.c.mode.Prefix + r.c.entry.Name + ", 1 worker"
	}
	for _, f := range res.How {
		if f.Label == "" && f.Text != "" {
			how += ", " + f.Text
		}
	}
	p.figure(r.c.mode.Label, how, "")
	for _, f := range res.How {
		if f.Label != "" && f.Text != "" {
			p.figure(f.Label, f.Text, "")
		}
	}
	if s := r.program.Semantics; s != "" {
		p.figure("semantics", s, "")
	}
	if ps := paramList(r.program.Params); ps != "" {
		p.figure("constants", ps, "")
	}
	r.writeCounts(p)
	p.figure("time", human.Duration(res.Duration), "")
	for _, f := range res.Figures {
		if f.Text != "" {
			p.figure(f.Label, f.Text, "")
		}
	}
	if s := r.lengths(); s != "" {
		p.figure("trace", s, "")
	}
	if r.c.IgnoreDeadlocks {
		p.figure("deadlocks", "not reported (-deadlock=false)", "")
	}
	if r.c.Validate {
		p.figure("validated", "no difference found", "")
	}
	if r.unreached == nil && r.coverage != nil && r.verdict() == engine.Pass {
		p.figure("not known", "what is never executed, since "+r.c.whyNotAll(), "")
	}
	r.writeUnreached(p)
}

// writeCounts prints how much was covered.
func (r *report) writeCounts(p *printer) {
	res := r.res
	perSecond := func(n uint64) string {
		return human.Short(uint64(float64(n)/max(res.Duration.Seconds(), 1e-9))) + "/s"
	}
	if r.counts(engine.CountStates) {
		p.figure("states", human.Count(res.States), perSecond(res.States))
	}
	if r.counts(engine.CountExecutions) {
		p.figure("executions", human.Count(res.Executions), perSecond(res.Executions))
		if res.BlockedExecutions > 0 {
			p.figure("", human.Count(res.BlockedExecutions)+" more that a sleep set blocked", "")
		}
		if res.CutExecutions > 0 {
			p.figure("", fmt.Sprintf("%s more cut off after %d transitions",
				human.Count(res.CutExecutions), res.Bound), "")
		}
	}
	if r.counts(engine.CountTransitions) {
		p.figure("transitions", human.Count(res.Transitions), perSecond(res.Transitions))
	}
	if r.counts(engine.CountAttempts) && res.Attempts != res.Transitions {
		p.figure("attempts", human.Count(res.Attempts), "")
	}
	if r.counts(engine.CountDepth) {
		p.figure("depth", human.Count(res.MaxDepth), "")
	}
}

// printer writes to w until the first error.
type printer struct {
	w io.Writer
	terminal.Page
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// wrap breaks a text at spaces and indents all lines but the first.
func (p *printer) wrap(s string, indent int) string {
	lines := strings.Split(text.WrapSoft(s, p.Columns()-indent), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n"+strings.Repeat(" ", indent))
}

// table returns how to print a trace.
func (p *printer) table() trace.TableOptions {
	return trace.TableOptions{Width: p.Columns(), Color: p.Color, MaxSteps: maxSteps,
		MaxThreads: maxThreads, OmitViolation: true}
}

// verdict prints a verdict behind what it is about.
func (p *printer) verdict(color terminal.Color, about, verdict string) {
	text := p.wrap(about+verdict, 2)
	if rest, ok := strings.CutPrefix(text, about); ok {
		p.printf("%s%s\n", about, p.Paint(color, rest))
	} else {
		p.printf("%s\n", p.Paint(color, text))
	}
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
