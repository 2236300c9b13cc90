package detectcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"cpor/detect"
	"cpor/detect/computation"
	"cpor/detect/diagram"
	"cpor/detect/logs"
	"cpor/detect/predicate"
	_ "cpor/detect/view" // enters itself
	"cpor/internal/cliflag"
	"cpor/internal/human"
	"cpor/internal/terminal"

	"golang.org/x/term"
)

const detectUsage = `usage: cpor detect -poss EXPR | -def EXPR | -pattern EXPR | -chart CHART
                   [flags] LOG...

Reports whether the recorded system could have passed (-poss), or must have passed
(-def), through a global state that satisfies the predicate, whether a pattern
holds of all orders of its independent events (-pattern), or whether messages were
exchanged as a chart says (-chart). LOG is a log in the format of ShiViz and
GoVector or JSON lines, or a trace of OpenTelemetry (OTLP as JSON), Jaeger, or Go's
execution tracer. Several files are parts of one run, and "-" is standard input.
For example

	cpor detect -poss 'exists i < j: i.crit && j.crit' run.log
	cpor detect -pattern 'forall i: i.wants -> i.crit' run.log
	cpor detect -chart 'i -> j: "request"; j -> i: "grant"' run.log
`

const detectCodes = `
Exit codes: 0 not possible, definite, holds, or not found, 1 possible, not
definite, fails, or found, 2 a mistake, 3 no answer (a limit, a time-out, an
interruption).
`

type detectFlags struct {
	*flagSet
	modality  detect.Modality
	predicate string
	messages  *detect.MessageChart // of -chart
	logs      logs.Options
	trace     string
	opt       detect.Options
	timeout   time.Duration
	explain   bool
	json      bool
	quiet     bool
	color     terminal.When
	force     bool
	svg       string
	shiviz    string
	steps     int
	count     int64

	persistent, sleep, sequences, dominance, weak, split bool
}

// Detect is `cpor detect`; args are those after the name. It returns the exit
// code.
func Detect(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	f := &detectFlags{flagSet: newFlagSet("detect", stderr)}
	var questions [len(modalities)]string
	var maxBytes cliflag.Size
	f.StringVar(&questions[detect.Poss], "poss", "", "the `predicate` that could have held")
	f.StringVar(&questions[detect.Def], "def", "", "the `predicate` that must have held")
	f.StringVar(&questions[detect.Pattern], "pattern", "", "the `pattern` that has to hold: "+
		"predicates with EF, AF, EG, AG, -> and sequences")
	f.StringVar(&questions[detect.Chart], "chart", "", "the message `chart` to look for")
	assign := DefineLog(f.Set, &f.logs)
	f.BoolVar(&f.force, "force", false,
		fmt.Sprintf("with -lenient, answer even if more than %d events had to be dropped",
			maxDropped))
	f.StringVar(&f.trace, "trace", "", "analyze only the execution with this `name` or number")
	f.StringVar(&f.opt.Algorithm, "algorithm", detect.Auto,
		"of -poss: "+strings.Join(detect.Algorithms(detect.Poss), ", ")+"; of -def: "+
			strings.Join(detect.Algorithms(detect.Def), ", ")+"; of -pattern: "+
			strings.Join(detect.Algorithms(detect.Pattern), ", "))
	f.BoolVar(&f.weak, "weak", true, "search only the events that can change the predicate (weak "+
		"vector clocks)")
	f.BoolVar(&f.split, "split", true, "search the parts of a disjunction separately (-poss)")
	f.BoolVar(&f.persistent, "persistent", true,
		"explore persistent sets, not all enabled transitions (psposs, psdef, search)")
	f.BoolVar(&f.sleep, "sleep", true, "use sleep sets, else store the visited states (psposs)")
	f.BoolVar(&f.sequences, "sequences", true, "explore sequences of transitions in one step "+
		"(psposs)")
	f.BoolVar(&f.dominance, "dominance", true, "explore a run that dominates alone (psdef)")
	f.IntVar(&f.opt.Workers, "workers", 0,
		"the `number` of goroutines (default: the number of CPUs)")
	f.DurationVar(&f.timeout, "timeout", 0, "stop after this `time`")
	f.Int64Var(&f.opt.MaxStates, "max-states", 0, "stop after this many explored states")
	f.Var(&maxBytes, "max-memory", "stop when the visited states take more than this `size`")
	f.BoolVar(&f.explain, "explain", false,
		"show the conjuncts of the predicate and their supports")
	f.BoolVar(&f.json, "json", false, "print one JSON object")
	f.BoolVar(&f.quiet, "q", false, "no progress on stderr")
	f.StringVar(&f.svg, "svg", "", "write a space-time diagram with the cut to `FILE`")
	f.StringVar(&f.shiviz, "shiviz", "", "write the log with the cut marked to `FILE`, for ShiViz")
	f.IntVar(&f.steps, "steps", 20, "print the last `n` events of the linearization or "+
		"observation, or as many around the points that matter to a pattern or chart; "+
		"0 is all of them")
	f.Int64Var(&f.count, "count", 100_000, "count the consistent global states if they are at "+
		"most `n`")
	f.Var(&f.color, "color", terminal.Usage)
	f.Renamed("quiet", "q")
	files, code, ok := f.parse(args, detectUsage, detectCodes, stdout)
	if !ok {
		return code
	}
	if !f.question(questions) {
		return f.mistake("want one of -poss EXPR, -def EXPR, -pattern EXPR and -chart CHART")
	}
	if name := f.idle(); name != "" {
		return f.mistake("-%s has no effect with -%v", name, f.modality)
	}
	if f.json && f.Given("color") {
		return f.mistake("-color is for text, and -json prints JSON; use only one of them")
	}
	if len(files) == 0 {
		return f.mistake("name the log: cpor detect -%v EXPR LOG", f.modality)
	}
	if f.force && !f.logs.Lenient {
		return f.mistake("-force needs -lenient")
	}
	f.opt.MaxBytes = int64(maxBytes)
	f.opt.Full, f.opt.Whole = !f.weak, !f.split
	f.opt.NoPersistent, f.opt.NoSleep, f.opt.NoSequences, f.opt.NoDominance = !f.persistent,
		!f.sleep, !f.sequences, !f.dominance
	if err := assign(); err != nil {
		return f.mistake("%v", err)
	}
	return f.run(ctx, files, stdin, stdout)
}

var modalities = [...]detect.Modality{detect.Poss, detect.Def, detect.Pattern, detect.Chart}

// question finds the only question that was given.
func (f *detectFlags) question(texts [len(modalities)]string) bool {
	given := 0
	for _, m := range modalities {
		if f.Given(m.String()) {
			given++
			f.modality, f.predicate = m, texts[m]
		}
	}
	return given == 1
}

// idle returns a flag that was given and has no effect on the answer to the question, "" for none.
func (f *detectFlags) idle() string {
	var idle []string
	switch f.modality {
	case detect.Pattern:
		idle = []string{"explain"}
	case detect.Chart:
		idle = []string{"explain", "algorithm", "weak", "split", "persistent", "sleep",
			"sequences", "dominance"}
	}
	if i := slices.IndexFunc(idle, f.Given); i >= 0 {
		return idle[i]
	}
	return ""
}

// parseQuestion reads the predicate or pattern. For a chart, which it keeps in f.messages, it
// returns the predicate true.
func (f *detectFlags) parseQuestion() (p *predicate.Predicate, err error) {
	switch f.modality {
	case detect.Pattern:
		return predicate.ParsePattern(f.predicate)
	case detect.Chart:
		if f.messages, err = detect.ParseChart(f.predicate); err != nil {
			return nil, err
		}
		return predicate.Parse("true")
	}
	return predicate.Parse(f.predicate)
}

func (f *detectFlags) run(ctx context.Context, files []string, stdin io.Reader,
	stdout io.Writer) int {
	p, err := f.parseQuestion()
	if err != nil {
		return f.mistake("%v", err)
	}
	start := time.Now()
	execs, err := logs.ReadFiles(files, stdin, f.logs)
	if list := (*computation.IssueList)(nil); errors.As(err, &list) {
		fmt.Fprintln(f.stderr, list) // each has its place in the log in front
		return exitMistake
	}
	if err != nil {
		return f.mistake("%v", err)
	}
	read := time.Since(start)
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.timeout)
		defer cancel()
	}
	ignored := execs[0].Ignored
	f.tellIgnored(execs[0])
	if f.trace != "" {
		if execs = chooseTrace(execs, f.trace); execs == nil {
			return f.mistake("the log has no execution %q", f.trace)
		}
	}
	nodes, err := expandAll(p, execs)
	if err != nil {
		return f.mistake("%v", err)
	}
	var reports []*report
	drawn := false
	for k, x := range execs {
		r, err := f.report(ctx, p, nodes[k], x)
		if err != nil {
			return f.mistake("%v", err)
		}
		r.Log = strings.Join(files, " ")
		if r.res != nil {
			r.ReadMS = ms(read)
			if ignored != nil {
				r.IgnoredLines = ignored.Lines
			}
		}
		reports = append(reports, r)
		// With several executions, the pictures are of the first that answers
		// yes (or no, for Def), or of the first.
		if !drawn && r.code == exitAlarm {
			drawn = true
			if err := f.draw(r); err != nil {
				return f.mistake("%v", err)
			}
		}
	}
	if !drawn {
		if err := f.drawFirst(reports); err != nil {
			return f.mistake("%v", err)
		}
	}
	if err := f.printAll(stdout, reports); err != nil {
		return f.mistake("%v", err)
	}
	return worst(reports)
}

// tellIgnored tells what of a log was ignored, and what is to be known of it.
func (f *detectFlags) tellIgnored(x logs.Execution) {
	if ig := x.Ignored; ig != nil && !f.quiet {
		fmt.Fprintf(f.stderr, "ignored: %s without an event, the first at %v: %s\n",
			human.Plural(ig.Lines, "line"), ig.First, ig.Text)
	}
	for _, n := range x.Notes {
		fmt.Fprintf(f.stderr, "note: %s\n", n)
	}
}

// expandAll expands the predicate for each execution of a log, which may have different hosts and
// variables: nil where it makes no sense. It has to for one of them.
func expandAll(p *predicate.Predicate, execs []logs.Execution) ([]*predicate.Node, error) {
	nodes := make([]*predicate.Node, len(execs))
	var wrong error
	fits := false
	for x := range execs {
		n, err := p.Expand(predicate.NamesOf(execs[x].Computation))
		// A value of the wrong type does not mean that the predicate is about others.
		if bad := (*predicate.Error)(nil); errors.As(err, &bad) && bad.IllTyped {
			return nil, err
		}
		if err != nil && wrong == nil {
			wrong = err
		}
		nodes[x], fits = n, fits || err == nil
	}
	if !fits {
		return nil, wrong
	}
	return nodes, nil
}

// report answers for one execution. node is the predicate for it, nil if it makes no sense there.
func (f *detectFlags) report(ctx context.Context, p *predicate.Predicate, node *predicate.Node,
	x logs.Execution) (*report, error) {
	if err := f.repaired(x); err != nil {
		return nil, err
	}
	if node == nil {
		_, err := p.Expand(predicate.NamesOf(x.Computation))
		return &report{Trace: x.Label(), Hosts: x.Names(), Events: x.TotalEvents(),
			Modality: f.modality.String(), Predicate: f.predicate, Verdict: "does not apply",
			Reason: err.Error()}, nil
	}
	r, err := f.detect(ctx, node, x.Computation)
	if err != nil {
		return nil, err
	}
	r.Repairs = x.Repairs.Len()
	return r, nil
}

// drawFirst makes the pictures of the first report with an answer.
func (f *detectFlags) drawFirst(reports []*report) error {
	for _, r := range reports {
		if r.res != nil {
			return f.draw(r)
		}
	}
	return nil
}

// printAll prints all reports.
func (f *detectFlags) printAll(stdout io.Writer, reports []*report) error {
	if f.json {
		return writeJSON(stdout, reports, len(reports) > 1)
	}
	for i, r := range reports {
		if i > 0 {
			fmt.Fprintln(stdout)
		}
		if err := r.print(stdout, f); err != nil {
			return err
		}
	}
	return nil
}

// worst returns the exit code of all reports together.
func worst(reports []*report) int {
	code := exitFine
	for _, r := range reports {
		switch {
		case r.code == exitAlarm:
			return exitAlarm
		case r.code == exitIncomplete:
			code = exitIncomplete
		}
	}
	return code
}

// maxDropped is how many events a repair may leave out before the answer needs
// -force: a verdict on a log that has lost more than a few is about another run.
const maxDropped = 3

// repaired tells what was repaired, and what was ignored, and refuses a log that
// lost too much by it.
func (f *detectFlags) repaired(x logs.Execution) error {
	for _, is := range x.Repairs.Issues {
		fmt.Fprintf(f.stderr, "repaired: %v\n", is)
	}
	if x.Repairs.More > 0 {
		fmt.Fprintf(f.stderr, "repaired: and %d more\n", x.Repairs.More)
	}
	if n := x.Repairs.Dropped; n > maxDropped && !f.force {
		return fmt.Errorf("the repair dropped %d events, so the rest may be a different run; "+
			"-force answers anyway", n)
	}
	return nil
}

func chooseTrace(execs []logs.Execution, name string) []logs.Execution {
	for i, x := range execs {
		if x.Label() == name || fmt.Sprint(i+1) == name {
			return execs[i : i+1]
		}
	}
	return nil
}

func (f *detectFlags) detect(ctx context.Context, n *predicate.Node,
	c *computation.Computation) (*report, error) {
	opt := f.opt
	stop := f.progress(&opt)
	start := time.Now()
	var res *detect.Result
	var err error
	if f.modality == detect.Chart {
		res, err = detect.FindChart(ctx, c, f.messages, opt)
	} else {
		res, err = detect.Detect(ctx, c, n, f.modality, opt)
	}
	elapsed := time.Since(start)
	stop()
	if err != nil {
		if errors.Is(err, detect.ErrNotLocal) {
			return nil, fmt.Errorf("-algorithm gw: %w; with -explain, another algorithm shows "+
				"its conjuncts", err)
		}
		return nil, err
	}
	r := newReport(f, c, n, res, elapsed)
	if f.count > 0 {
		r.LatticeStates, r.LatticeExact = detect.CountStates(ctx, c, f.count)
	}
	return r, nil
}

// lineEvery is how often a line of progress is printed where it cannot be
// overwritten.
const lineEvery = 10 * time.Second

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// progress sets up the reports on stderr: one live line on a terminal, else a
// line every ten seconds.
func (f *detectFlags) progress(opt *detect.Options) (stop func()) {
	if f.quiet {
		return func() {}
	}
	start := time.Now()
	live := isTerminal(f.stderr)
	opt.Every = lineEvery
	if live {
		opt.Every = 200 * time.Millisecond
	}
	opt.Progress = func(s detect.Stats) {
		line := fmt.Sprintf("%s  %s states  %s transitions  %s",
			time.Since(start).Round(time.Second),
			human.Count(s.States), human.Count(s.Transitions), human.Size(uint64(s.StoreBytes)))
		if live {
			fmt.Fprintf(f.stderr, "\r\x1b[K%s", line)
		} else {
			fmt.Fprintln(f.stderr, line)
		}
	}
	return func() {
		if live {
			fmt.Fprint(f.stderr, "\r\x1b[K")
		}
	}
}

// draw writes the files that -svg and -shiviz ask for.
func (f *detectFlags) draw(r *report) error {
	if f.svg != "" {
		opt := diagram.Options{Title: r.title(), Cut: r.cut, Labels: r.labels()}
		if r.res.Observation != nil {
			opt.Order = r.res.Observation
		}
		if err := writeFile(f.svg, func(w io.Writer) error {
			return diagram.Write(w, r.c, opt)
		}); err != nil {
			return err
		}
	}
	if f.shiviz != "" {
		return writeFile(f.shiviz, func(w io.Writer) error { return r.shiviz(w) })
	}
	return nil
}

func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(file); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
