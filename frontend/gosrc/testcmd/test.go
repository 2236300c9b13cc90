package testcmd

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"cpor/engine"
	"cpor/engine/memory"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/gotest"
	"cpor/frontend/gosrc/machine"
	"cpor/internal/cliflag"
	"cpor/internal/human"
	"cpor/internal/sarif"
	"cpor/internal/terminal"
	"cpor/trace"
)

// The exit codes.
const (
	exitPass       = 0
	exitFailure    = 1
	exitMistake    = 2
	exitIncomplete = 3
)

// Test is `cpor test`; args are those after the name. It returns the exit code.
func Test(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return start(ctx, "test", args, stdout, stderr)
}

// Run is `cpor run` of a main package.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return start(ctx, "run", args, stdout, stderr)
}

func start(ctx context.Context, command string, args []string, stdout, stderr io.Writer) int {
	c := &config{command: command}
	mistake := func(format string, args ...any) int {
		fmt.Fprintf(stderr, "cpor %s: %s\n", command, fmt.Sprintf(format, args...))
		return exitMistake
	}
	err := c.parse(args)
	if errors.Is(err, flag.ErrHelp) {
		help(stdout, c, cliflag.WantsAll(args))
		return exitPass
	}
	if err != nil {
		return mistake("%v (see \"cpor help %s\")", err, command)
	}
	if len(c.unused) > 0 {
		fmt.Fprintf(stderr, "cpor %s: ignored, because every schedule is explored once (\"cpor "+
			"help %[1]s\" has the reasons): %s\n", command, strings.Join(c.unused, " "))
	}
	if !c.json {
		c.page = terminal.For(stdout, c.color)
	}
	s := &session{config: c, ctx: ctx, out: newPrinter(stdout, c), kept: c.openPasses()}
	memory.Patient(memory.Load)
	if c.replay != "" {
		if err := s.replayFile(stdout); err != nil {
			return mistake("-replay: %v", err)
		}
		return exitFailure // what was shown is a failure
	}
	if err := s.openSARIF(); err != nil {
		return mistake("-sarif: %v", err)
	}
	pkgs, err := gosrc.Load(ctx, c.patterns, gosrc.Options{Dir: c.dir, Tags: tagList(c.tags),
		Flags: c.goFlags(), Tests: command == "test"})
	if ctx.Err() != nil {
		fmt.Fprintf(stderr, "cpor %s: interrupted while loading packages; nothing was explored\n",
			command)
		return exitIncomplete
	}
	if err != nil {
		return mistake("%v", err)
	}
	if len(pkgs) == 0 {
		return mistake("no packages: %s", strings.Join(c.patterns, " "))
	}
	if err := c.runnable(pkgs); err != nil {
		return mistake("%v", err)
	}
	for _, p := range pkgs {
		if ctx.Err() != nil || c.failFast && s.failed > 0 {
			break
		}
		s.pkg(p)
	}
	if err := s.out.close(s); err != nil {
		return mistake("cannot write the result: %v", err)
	}
	if s.traceErr != nil {
		return mistake("-trace: %v", s.traceErr)
	}
	s.tellTrace(stderr)
	if err := s.writeSARIF(); err != nil {
		return mistake("-sarif: %v", err)
	}
	return s.exitCode()
}

// tellTrace says where the trace is, and what to do with it.
func (s *session) tellTrace(stderr io.Writer) {
	if s.traces == 0 {
		return
	}
	text := fmt.Sprintf("cpor %s: trace written to %s", s.command, s.trace)
	if name := strings.ToLower(s.trace); strings.HasSuffix(name, ".json") &&
		!trace.NeedsStates(name) {
		text += fmt.Sprintf("; \"cpor view %s\" shows it in the browser", s.trace)
	}
	fmt.Fprintln(stderr, text)
}

// runnable refuses what cpor run cannot run.
func (c *config) runnable(pkgs []*gosrc.Package) error {
	if c.command != "run" {
		return nil
	}
	if len(pkgs) > 1 {
		return fmt.Errorf("one main package at a time, not %d", len(pkgs))
	}
	if p := pkgs[0]; p.Name != "main" && len(p.Errors) == 0 {
		return fmt.Errorf("%s is package %s; want a package main (cpor test explores the tests "+
			"of others)", p.Path, p.Name)
	}
	return nil
}

// exitCode returns the exit code: the worst of the tests'.
func (s *session) exitCode() int {
	switch {
	case s.failed > 0:
		return exitFailure
	case s.refused > 0:
		return exitMistake
	case s.incomplete > 0 || s.ctx.Err() != nil:
		return exitIncomplete
	}
	return exitPass
}

func tagList(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// session is one run of the command.
type session struct {
	*config
	ctx context.Context
	out printer

	failed, refused, incomplete, traces int
	traceErr                            error

	found *sarif.Log // for -sarif; nil without
	kept  *passes    // nil: none are kept

	binary   *binary       // of the package that is explored, if something of it runs natively
	building time.Duration // how long it took to build it, since the current test was begun
}

// outcome is the result of one test.
type outcome struct {
	pkg, test string
	machine   string // that ran it
	verdict   verdict
	summary   string // one line
	details   string // lines, such as the trace
	result    *gotest.Result
	subtests  []subtest
	elapsed   time.Duration
}

// subtest is the result of a subtest.
type subtest struct {
	name    string
	verdict verdict
	note    string // one line; may be empty
}

type verdict string

const (
	passed     verdict = "PASS"
	skipped    verdict = "SKIP"
	timing     verdict = "TIMING" // it fails only if a sleep of the test is too short
	failing    verdict = "FAIL"
	unfinished verdict = "INCOMPLETE"
	unexplored verdict = "REFUSED"
)

// pkg explores the tests of one package.
func (s *session) pkg(p *gosrc.Package) {
	begin := time.Now()
	if s.command == "test" && len(p.Errors) == 0 && !p.HasTests() {
		if s.listRE == nil {
			s.out.noTests(p.Path)
		}
		return
	}
	tests, only := s.chosen(p)
	if only {
		return
	}
	if len(p.Errors) > 0 {
		s.broken(p.Path, p.Errors)
		return
	}
	s.out.begin(p.Path)
	if s.command == "test" && len(tests) == 0 {
		s.out.end(p.Path, nil, 0, ending{elapsed: time.Since(begin)})
		return
	}
	key := ""
	if s.kept != nil {
		key = s.key(p, tests)
		if s.fromKept(key, p.Path, begin) {
			return
		}
		s.explore.Seen = new(machine.Seen)
	}
	defer s.removeBinary()
	w := &work{p: p, lacking: s.machine == interpreted}
	var err error
	if s.machine != nativeMachine {
		w.compiled, err = s.compile(p)
	}
	if err != nil && s.machine == autoMachine && s.ctx.Err() == nil {
		if _, no := s.build(p); no == nil {
			err = nil
		}
	}
	if s.ctx.Err() != nil {
		s.out.end(p.Path, nil, max(1, len(tests)), ending{elapsed: time.Since(begin)})
		return
	}
	if err != nil {
		s.broken(p.Path, []error{err})
		return
	}
	done, left := s.each(w, tests)
	s.keep(key, p, tests, done)
	s.out.end(p.Path, done, left, ending{elapsed: time.Since(begin)})
}

// chosen returns the tests to explore; listed: they were only to be listed, which is done.
func (s *session) chosen(p *gosrc.Package) (tests []gosrc.TestFunc, listed bool) {
	if s.command != "test" {
		return nil, false
	}
	for _, t := range p.Tests() {
		switch {
		case s.listRE != nil:
			if s.listRE.MatchString(t.Name) {
				s.out.listed(p.Path, t.Name)
			}
		case s.selected(t.Name):
			tests = append(tests, t)
		}
	}
	return tests, s.listRE != nil
}

// each explores tests, or a main function, one after another. It returns how many were left when
// the session was interrupted.
func (s *session) each(w *work, tests []gosrc.TestFunc) (done []outcome, left int) {
	if s.command == "run" {
		done = append(done, s.one(w, ""))
	}
	for i, t := range tests {
		if s.ctx.Err() != nil {
			return done, len(tests) - i
		}
		if s.failFast && s.failed > 0 {
			break
		}
		done = append(done, s.one(w, t.Name))
		if w.compiled != nil {
			w.compiled.Tidy()
		}
	}
	return done, 0
}

// compile compiles a package. An interruption does not wait for it, because the command is about
// to end.
func (s *session) compile(p *gosrc.Package) (*gosrc.Compiled, error) {
	type result struct {
		compiled *gosrc.Compiled
		err      error
	}
	done := make(chan result, 1)
	go func() {
		c, err := p.Compile()
		done <- result{c, err}
	}()
	select {
	case r := <-done:
		return r.compiled, r.err
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

// interrupted says how many tests were not started.
func interrupted(left int) string {
	return fmt.Sprintf("interrupted, %s not begun", human.Plural(uint64(left), "test"))
}

// alone says that parallel tests did not run together; empty if there are fewer than two.
func alone(all []outcome) string {
	n := 0
	for _, o := range all {
		if o.result != nil && o.result.Parallel {
			n++
		}
	}
	if n < 2 {
		return ""
	}
	return fmt.Sprintf("%d tests that call t.Parallel were explored one by one, not concurrently",
		n)
}

// one explores one test, or the main package if it has no name.
func (s *session) one(w *work, test string) outcome {
	s.out.run(w.p.Path, test)
	begin := time.Now()
	s.building = 0
	var res *gotest.Result
	var err error
	o := outcome{pkg: w.p.Path, test: test, machine: s.machine}
	switch s.machine {
	case nativeMachine:
		res, err = s.native(w.p, test, 0, false)
		if needs := new(gotest.NeedsInterpreter); errors.As(err, &needs) {
			res, err = &gotest.Result{Verdict: engine.Incomplete,
				Reason: needs.Error()}, nil
		}
	case autoMachine:
		res, o.machine, err = s.either(w, test)
	default:
		res, err = s.interpret(w.compiled, test, 0, 0)
	}
	return s.judge(w.p, o, res, err, begin.Add(s.building))
}

// hurry reports whether it is time to finish: the command was interrupted, or the time of a test
// that began then is over, with half a second for reporting.
func (s *session) hurry(begin time.Time) func() bool {
	return func() bool {
		return s.ctx.Err() != nil || s.timeout > 0 && time.Since(begin) > s.timeout+time.Second/2
	}
}

// elsewhere says what may explore a test that the interpreter refuses, unless it was tried.
func (s *session) elsewhere(err error) string {
	if none := new(noMachine); s.machine == autoMachine && !errors.As(err, &none) {
		return ""
	}
	return "\n\t" + gosrc.Natively
}

// judge decides the result of a test.
func (s *session) judge(p *gosrc.Package, o outcome, res *gotest.Result, err error,
	begin time.Time) outcome {
	test := o.test
	if res != nil && res.Release != nil {
		defer res.Release()
	}
	o.result, o.elapsed = res, time.Since(begin)
	switch no := new(gosrc.Unsupported); {
	case errors.As(err, &no):
		o.verdict, o.summary = unexplored, s.relative(no.Error())+s.elsewhere(err)
	case err != nil:
		o.verdict, o.summary = unexplored, err.Error()
	case res.Failure != nil:
		o.verdict = failing
		AddTest(res.Failure, p.Dir, test)
		head, rest, _ := strings.Cut(s.relative(Headline(res.Failure)), "\n")
		o.summary = fmt.Sprintf("%s (%s explored%s)\n%s", head, Explored(res), natively(res), rest)
		o.details = s.relative(Describe(programOf(res), res.Failure, s.table(), s.hurry(begin)))
		s.writeTrace(p, test, res)
		s.report(res, begin)
	case res.Verdict == engine.Violated: // without an account of it
		o.verdict, o.summary = failing, res.Reason
	case res.Verdict == engine.Pass:
		o.verdict = passed
		o.summary = "every schedule" + OfScenarios(res) + ": " + Explored(res) + res.Bound +
			fixed(res) + natively(res)
		if skips(res) {
			o.verdict, o.summary = skipped, cmp.Or(strings.TrimSpace(res.Tests[0].Why), "skipped")
		}
	case res.Once != nil:
		head, rest, _ := strings.Cut(s.relative(Headline(res.Once)), "\n")
		why := "seen once, and not again when the execution was repeated"
		if res.Late {
			why = fmt.Sprintf("seen when the time of %v was over, too late to repeat the execution",
				s.timeout)
		}
		o.verdict, o.summary = unfinished, fmt.Sprintf("%s: %s (%s explored%s)\n%s", why, head,
			Explored(res), natively(res), rest)
		o.details = s.relative(Describe(programOf(res), res.Once, s.table(), s.hurry(begin)))
	default:
		o.verdict, o.summary = unfinished, Explored(res)+", no failure; "+
			res.Reason+Covered(res)+fixed(res)+natively(res)
	}
	switch {
	case err != nil || res.Slow == nil:
	case res.Slow.Slept.Func != "":
		f := res.Slow
		note := s.relative(fmt.Sprintf("the test sleeps at %s where it should synchronize: if "+
			"that is not long enough, %s", trace.PosString(f.Slept.Pos),
			lines.ReplaceAllString(Headline(f), " ")))
		if o.verdict != passed {
			o.summary += "; " + note
			break
		}
		o.verdict = timing
		o.summary = note + " (-time any makes it a failure; without it, " + o.summary + ")"
		o.details = s.relative(Describe(slowProgramOf(res), f, s.table(), s.hurry(begin)))
	default:
		does := "say"
		if res.Slow.Kind == gotest.Panic {
			does = "panic:"
		}
		said := strings.TrimSpace(strings.TrimPrefix(res.Slow.Message, "panic: "))
		o.summary += "; " +
			s.relative(fmt.Sprintf("on a slow machine the test itself may %s %q (%s:%d): %s "+
				"(-time any shows it)", does, lines.ReplaceAllString(said, " "), res.Slow.Pos.File,
				res.Slow.Pos.Line, res.Slow.Note))
	}
	o.subtests = subtests(o)
	s.noteOpen(o)
	switch o.verdict {
	case failing:
		s.failed++
	case unexplored:
		s.refused++
	case unfinished:
		s.incomplete++
	}
	s.out.done(o)
	if o.result != nil {
		// What was explored may be large, and is not needed any more.
		told := *o.result
		told.Program, told.SlowProgram, told.Native, told.Release = nil, nil, nil, nil
		o.result = &told
	}
	return o
}

// subtests returns the results of the subtests of a test. A failure ends the exploration, so the
// other subtests of a failed test are incomplete.
func subtests(o outcome) (out []subtest) {
	r := o.result
	if r == nil || len(r.Tests) == 0 || o.verdict == unexplored {
		return nil
	}
	for _, t := range r.Tests[1:] {
		sub := subtest{name: t.Name, verdict: o.verdict}
		switch {
		case r.Failure != nil && inside(r.Failure, t.Name):
			sub.note, _, _ = strings.Cut(said(r.Failure), "\n")
		case o.verdict == failing:
			sub.verdict = unfinished
		case o.verdict == timing:
			sub.verdict = passed
		case o.verdict == passed && t.Skipped && !t.Ended:
			sub.verdict, sub.note = skipped, lines.ReplaceAllString(strings.TrimSpace(t.Why), " ")
		}
		out = append(out, sub)
	}
	return out
}

// inside reports whether a failure is that of a subtest or of one within it.
func inside(f *gotest.Failure, name string) bool {
	rest, ok := strings.CutPrefix(f.Message, name)
	return ok && f.Kind == gotest.Failed && (strings.HasPrefix(rest, ":") ||
		strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, " failed"))
}

// prepare makes the program of a test, which executes its initializers; over says why that was
// cut short, and is empty if they have ended.
func (s *session) prepare(ctx context.Context, c *gosrc.Compiled, test string) (
	prog *gosrc.Program, over string, err error,
) {
	e := s.explore
	e.Halted, e.MaxMemory = new(atomic.Bool), s.options().MaxMemory
	limit, err := memory.New(e.MaxMemory)
	if err != nil {
		return nil, "", err
	}
	defer limit.Release()
	type result struct {
		prog *gosrc.Program
		err  error
	}
	done := make(chan result, 1)
	go func() {
		prog, err := made(c, test, e)
		done <- result{prog, err}
	}()
	t := time.NewTicker(memory.CheckEvery)
	defer t.Stop()
	for over == "" {
		select {
		case r := <-done:
			return r.prog, "", r.err
		case <-ctx.Done():
			over = s.reason()
		case <-t.C:
			if limit.Check() != nil {
				over = limit.Reason()
			}
		}
	}
	// Initializers end soon, but compiling a large package may take long, so it is not waited
	// for.
	e.Halted.Store(true)
	select {
	case <-done:
	case <-time.After(grace):
	}
	return nil, over, nil
}

// grace is how long to wait for initializers that must end.
const grace = 200 * time.Millisecond

// reason says why the exploration of a test ended early.
func (s *session) reason() string {
	if s.ctx.Err() != nil {
		return "interrupted"
	}
	return fmt.Sprintf("time-out after %v", s.timeout)
}

// table returns how to print executions in a report.
func (s *session) table() trace.TableOptions {
	return trace.TableOptions{Width: inner(s.page), Color: s.page.Color}
}

// lines are the ends of lines with surrounding white space.
var lines = regexp.MustCompile(`\s*\n\s*`)

func made(c *gosrc.Compiled, test string, e gosrc.Explore) (*gosrc.Program, error) {
	if test == "" {
		return c.Main(e)
	}
	return c.Test(test, e)
}

func (s *session) options() gotest.Options {
	return gotest.Options{
		Engine: gotest.Engine(s.search), Timeout: s.timeout, Workers: s.workers, Seed: s.seed,
		MaxMemory: cmp.Or(s.maxMemory, memory.Default()),
	}
}

// Explored says how much was explored.
func Explored(r *gotest.Result) string {
	random := human.Plural(r.Samples, "random schedule")
	switch {
	case r.Samples == 0:
		return countBoth(r.Executions, r.States)
	case r.Executions == 0 && r.States == 0:
		return random
	}
	return countBoth(r.Executions, r.States) + ", " + random
}

// OfScenarios says which scenarios were covered, for the middle of a sentence; empty if the test
// has none.
func OfScenarios(r *gotest.Result) string {
	if r.Scenarios == "" {
		return ""
	}
	return " of " + r.Scenarios
}

// Covered says which scenarios an incomplete exploration has covered; empty if none.
func Covered(r *gotest.Result) string {
	if r.Scenarios == "" {
		return ""
	}
	return "; every schedule was covered of " + r.Scenarios
}

// fixed says which choices of the run time were not explored, and which races were not failures.
func fixed(r *gotest.Result) string {
	s := ""
	if len(r.Fixed) > 0 {
		s = "; fixed: " + strings.Join(r.Fixed, ", ")
	}
	if len(r.Raced) > 0 {
		s += "; accepted: data races on " + strings.Join(r.Raced, ", ")
	}
	return s
}

// relative shortens the paths of files below the directory that was named.
func (s *session) relative(text string) string {
	return strings.ReplaceAll(text, base(s.dir), "")
}
