package testcmd

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"cpor/frontend/gosrc/gotest"
	"cpor/internal/terminal"
	"cpor/trace"
)

// printer reports results, as text or as events.
type printer interface {
	listed(pkg, test string)
	noTests(pkg string)
	broken(pkg string, errs []error)
	begin(pkg string)
	run(pkg, test string)
	done(o outcome)
	// end ends a package; left is how many tests an interruption has left out.
	end(pkg string, all []outcome, left int, how ending)
	close(s *session) error
}

// ending is how the exploration of a package ended.
type ending struct {
	elapsed time.Duration
	cached  bool // it was none: the package has passed before
}

// took is the time as go test shows it.
func (e ending) took() string {
	if e.cached {
		return "(cached)"
	}
	return fmt.Sprintf("%.3fs", e.elapsed.Seconds())
}

func newPrinter(w io.Writer, c *config) printer {
	if c.json {
		return &events{enc: json.NewEncoder(w)}
	}
	return &text{w: bufio.NewWriter(w), config: c}
}

// base is the prefix of the paths of files below the directory that was named.
func base(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "\x00"
	}
	return abs + string(os.PathSeparator)
}

// text prints as go test does.
type text struct {
	*config
	w   *bufio.Writer
	err error
	// last are reports that follow those of failures.
	last []string
}

func (t *text) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(t.w, format, args...); err != nil && t.err == nil {
		t.err = err
	}
}

func (t *text) flush() {
	if err := t.w.Flush(); err != nil && t.err == nil {
		t.err = err
	}
}

func (t *text) listed(_, test string) { t.printf("%s\n", test) }
func (t *text) noTests(pkg string)    { t.printf("?   \t%s\t[no test files]\n", pkg) }

func (t *text) broken(pkg string, errs []error) {
	t.printf("# %s\n", pkg)
	for _, err := range errs {
		t.printf("%v\n", err)
	}
	t.printf("FAIL\t%s [build failed]\n", pkg)
	t.flush()
}

func (t *text) begin(string) {}

func (t *text) run(_, test string) {
	if t.verbose && test != "" {
		t.printf("=== RUN   %s\n", test)
		t.flush()
	}
}

func (t *text) done(o outcome) {
	switch {
	case (o.verdict == passed || o.verdict == skipped) && !t.verbose && o.result.Slow == nil:
		return
	case o.verdict == timing:
		t.last = append(t.last, report(o, t.page)+t.subtests(o))
		return
	}
	t.printf("%s%s", report(o, t.page), t.subtests(o))
	t.flush()
}

// subtests are the lines about the subtests of a test: all with -v, otherwise those that failed.
func (t *text) subtests(o outcome) string {
	var b strings.Builder
	for _, s := range o.subtests {
		if t.verbose || s.verdict == failing {
			b.WriteString(s.line(o.test, t.page))
		}
	}
	return b.String()
}

// line is the line about a subtest of a test, as go test shows it.
func (s subtest) line(test string, page terminal.Page) string {
	indent := strings.Repeat("    ", strings.Count(s.name, "/")-strings.Count(test, "/"))
	line := fmt.Sprintf("%s--- %s: %s\n", indent, page.Paint(s.verdict.color(), string(s.verdict)),
		s.name)
	if s.note != "" {
		line += indent + "    " + s.note + "\n"
	}
	return line
}

// wrap breaks a line so that it fits into a report of this width. Words stay
// whole, so that paths can be followed, which layout.Wrap does not promise.
func wrap(line string, width int) string {
	var b strings.Builder
	n := 0
	for i, word := range strings.Split(line, " ") {
		w := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case n+1+w > width && n > 0:
			b.WriteString("\n  ")
			n = 2
		default:
			b.WriteString(" ")
			n++
		}
		b.WriteString(word)
		n += w
	}
	return b.String()
}

// inner is the width of what stands in a report, behind four columns.
func inner(page terminal.Page) int { return page.Columns() - 4 }

// color returns the color that a verdict is shown in.
func (v verdict) color() terminal.Color {
	switch v {
	case passed:
		return terminal.Good
	case failing:
		return terminal.Bad
	}
	return terminal.Unsure
}

// report is the text about one test, as go test shows it with -v.
func report(o outcome, page terminal.Page) string {
	var b strings.Builder
	if o.test != "" {
		fmt.Fprintf(&b, "--- %s: %s (%.2fs)\n", page.Paint(o.verdict.color(),
			string(o.verdict)), o.test, o.elapsed.Seconds())
	}
	head, rest, _ := strings.Cut(o.summary, "\n")
	for _, part := range []string{wrap(head, inner(page)) + "\n", rest, o.details} {
		for line := range strings.Lines(part) {
			if line = strings.TrimRight(line, "\n"); line == "" && part == rest {
				continue // assertions of testify begin and end with one
			}
			b.WriteString("    " + line + "\n")
		}
	}
	return b.String()
}

func (t *text) end(pkg string, all []outcome, left int, how ending) {
	worst := sum(all, left)
	for _, r := range t.last {
		t.printf("%s", r)
	}
	t.last = nil
	if worst.verdict == failing || t.verbose {
		t.printf("%s\n", t.page.Paint(worst.verdict.color(), string(worst.verdict)))
	}
	word := "ok  "
	if worst.verdict != passed {
		word = string(worst.verdict)
	}
	t.printf("%s\t%s\t%s", t.page.Paint(worst.verdict.color(), word), pkg, how.took())
	switch {
	case left > 0:
		t.printf(" [%s]", interrupted(left))
	case len(all) == 0:
		t.printf(" [no tests to run]")
	case worst.verdict == passed:
		t.printf("\tevery schedule: %s", worst.summary)
	}
	t.printf("\n")
	if s := alone(all); s != "" {
		t.printf("%s\n", wrap("    "+s, inner(t.page)))
	}
	t.flush()
}

// sum reports a package: the worst result of its tests, and how many were left out.
func sum(all []outcome, left int) outcome {
	worst := outcome{verdict: passed}
	if left > 0 {
		worst.verdict = unfinished
	}
	rank := map[verdict]int{passed: 0, skipped: 0, timing: 1, unfinished: 2, unexplored: 3,
		failing: 4}
	var executions, states uint64
	for _, o := range all {
		if rank[o.verdict] > rank[worst.verdict] {
			worst.verdict = o.verdict
		}
		if o.result != nil {
			if o.result.States > 0 {
				states += o.result.States
			} else {
				executions += o.result.Executions
			}
		}
	}
	worst.summary = countBoth(executions, states)
	return worst
}

func (t *text) close(*session) error {
	t.flush()
	return t.err
}

// event is an event of test2json, with further fields.
type event struct {
	Time    time.Time
	Action  string
	Package string
	Test    string   `json:",omitempty"`
	Elapsed *float64 `json:",omitempty"`
	Output  string   `json:",omitempty"`

	// The fields below are cpor's own, in the events that end a test.
	Verdict    string   `json:",omitempty"` // pass, skip, timing, fail, incomplete, refused
	Exhaustive *bool    `json:",omitempty"`
	Reason     string   `json:",omitempty"` // why it is incomplete or refused
	Executions uint64   `json:",omitempty"`
	Machine    string   `json:",omitempty"` // interpreted or native: what ran it
	Runs       uint64   `json:",omitempty"` // how often it ran natively
	States     uint64   `json:",omitempty"`
	Samples    uint64   `json:",omitempty"`
	Outside    []string `json:",omitempty"` // what was used that is not under control
	Fixed      []string `json:",omitempty"` // choices of the run time that were not explored
	// targets of data races that are not failures
	Raced   []string     `json:",omitempty"`
	Failure *failureJSON `json:",omitempty"`
}

type failureJSON struct {
	Kind    string
	Message string
	Pos     string `json:",omitempty"`
	Note    string `json:",omitempty"`
	Output  string `json:",omitempty"` // what the execution printed
	Stacks  []stackJSON
}

// stackJSON is where a goroutine was.
type stackJSON struct {
	Goroutine, What string
	Frames          []frameJSON
	Omitted         int `json:",omitempty"` // calls in the middle of a deep stack
}

type frameJSON struct{ Func, Pos string }

func stackOf(s gotest.Stack) stackJSON {
	j := stackJSON{Goroutine: s.Goroutine, What: s.What, Frames: []frameJSON{}, Omitted: s.Omitted}
	for _, f := range s.Frames {
		j.Frames = append(j.Frames, frameJSON{f.Func, trace.PosString(f.Pos)})
	}
	return j
}

// events prints one JSON object for each event.
type events struct {
	enc *json.Encoder
	err error
}

func (e *events) put(v event) {
	v.Time = time.Now()
	if err := e.enc.Encode(v); err != nil && e.err == nil {
		e.err = err
	}
}

func (e *events) output(pkg, test, text string) {
	for line := range strings.Lines(text) {
		e.put(event{Action: "output", Package: pkg, Test: test, Output: line})
	}
}

func (e *events) listed(pkg, test string) { e.output(pkg, "", test+"\n") }

func (e *events) noTests(pkg string) {
	e.put(event{Action: "start", Package: pkg})
	e.output(pkg, "", fmt.Sprintf("?   \t%s\t[no test files]\n", pkg))
	e.put(event{Action: "skip", Package: pkg, Elapsed: new(float64)})
}

func (e *events) broken(pkg string, errs []error) {
	var b strings.Builder
	for _, err := range errs {
		fmt.Fprintln(&b, err)
	}
	e.output(pkg, "", b.String())
	e.output(pkg, "", fmt.Sprintf("FAIL\t%s [build failed]\n", pkg))
	e.put(event{Action: "fail", Package: pkg, Elapsed: new(float64), Verdict: "refused",
		Reason: strings.TrimSpace(b.String())})
}

func (e *events) begin(pkg string) { e.put(event{Action: "start", Package: pkg}) }

func (e *events) run(pkg, test string) {
	if test != "" {
		e.put(event{Action: "run", Package: pkg, Test: test})
		e.output(pkg, test, "=== RUN   "+test+"\n")
	}
}

func (e *events) done(o outcome) {
	e.output(o.pkg, o.test, report(o, terminal.Page{}))
	ev := event{Action: action(o.verdict), Package: o.pkg, Test: o.test, Machine: o.machine,
		Verdict: strings.ToLower(string(o.verdict))}
	s := o.elapsed.Seconds()
	ev.Elapsed = &s
	if o.verdict == unfinished || o.verdict == unexplored {
		ev.Reason = o.summary
	}
	if r := o.result; r != nil {
		exhaustive := o.verdict == passed || o.verdict == skipped
		ev.Exhaustive, ev.Executions, ev.States, ev.Samples, ev.Fixed, ev.Raced = &exhaustive,
			r.Executions, r.States, r.Samples, r.Fixed, r.Raced
		ev.Runs, ev.Outside = r.Runs, r.Outside
		if f := r.Failure; f != nil {
			ev.Failure = &failureJSON{Kind: string(f.Kind), Message: f.Message,
				Pos: trace.PosString(f.Pos), Note: f.Note, Output: f.Output}
			for _, st := range f.Stacks {
				ev.Failure.Stacks = append(ev.Failure.Stacks, stackOf(st))
			}
		}
	}
	for _, s := range o.subtests {
		e.put(event{Action: "run", Package: o.pkg, Test: s.name})
		e.output(o.pkg, s.name, "=== RUN   "+s.name+"\n")
		e.output(o.pkg, s.name, s.line(o.test, terminal.Page{}))
		e.put(event{Action: action(s.verdict), Package: o.pkg, Test: s.name, Elapsed: new(float64),
			Verdict: strings.ToLower(string(s.verdict))})
	}
	if o.test != "" {
		e.put(ev)
	}
}

// action is what readers of test2json understand. Anything but a pass is a fail to them; Verdict
// is exact.
func action(v verdict) string {
	switch v {
	case passed, timing:
		return "pass"
	case skipped:
		return "skip"
	}
	return "fail"
}

func (e *events) end(pkg string, all []outcome, left int, how ending) {
	worst := sum(all, left)
	s := how.elapsed.Seconds()
	e.output(pkg, "", fmt.Sprintf("%s\t%s\t%s\n", map[bool]string{
		true: "ok  ", false: string(worst.verdict)}[worst.verdict == passed], pkg, how.took()))
	if s := alone(all); s != "" {
		e.output(pkg, "", s+"\n")
	}
	ev := event{Action: action(worst.verdict), Package: pkg, Elapsed: &s,
		Verdict: strings.ToLower(string(worst.verdict))}
	if left > 0 {
		ev.Reason = interrupted(left)
	}
	e.put(ev)
}

func (e *events) close(*session) error { return e.err }
