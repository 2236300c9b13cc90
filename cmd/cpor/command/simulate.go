package command

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"

	"cpor/frontend"
	"cpor/internal/cliflag"
	"cpor/internal/human"
	"cpor/internal/terminal"
	"cpor/system"
	"cpor/trace"
)

// simulateConfig is what the flags of `cpor simulate` say.
type simulateConfig struct {
	params      map[string]string
	own         map[string]string // the flags of the front ends
	lang        string            // of the standard input
	seed        uint64
	steps       int
	show        bool
	interactive bool
	test        string // a Go test
	color       terminal.When
	set         *cliflag.Set
}

func (c *simulateConfig) define() *cliflag.Set {
	f := cliflag.New("simulate")
	c.params, c.own = map[string]string{}, map[string]string{}
	defineParams(f, c.params)
	defineLanguage(f, &c.lang)
	f.Uint64Var(&c.seed, "seed", 1, "draw with this `number`: the same execution each time")
	f.IntVar(&c.steps, "n", 10000, "stop after so many `steps`")
	f.BoolVar(&c.show, "p", false, "print each step, too")
	f.BoolVar(&c.interactive, "i", false, "ask for each step, on the standard input")
	f.Var(&c.color, "color", terminal.Usage)
	f.Group("Flags:", "D", "U", "lang", "seed", "n", "p", "i", "color")
	f.StringVar(&c.test, "test", "",
		"run this `test` of a Go package; the default is a main package")
	f.Group("Go packages:", "test")
	defineFrontEndFlags(f, c.own, "claim", frontend.FormulaFlag.Name)
	c.set = f
	return f
}

func simulateHelp(w io.Writer) {
	fmt.Fprintln(w, `usage: cpor simulate [flags] FILE.model
       cpor simulate [flags] FILE.pml
       cpor simulate -test NAME [flags] PACKAGE

Runs one execution of a model or of a Go program, and shows what the program prints.
In each state it chooses a thread that can move, and one of its alternatives, at
random. With -i it asks you. With -replay it first follows an execution: the JSON that
"cpor run -trace FILE.json" writes or, for Promela, a trail of SPIN or cpor. The output of a Promela process is indented by its number, as in SPIN.

A simulation proves nothing: "cpor run" searches all executions.`)
	new(simulateConfig).define().Describe(w)
	fmt.Fprintln(w, `
Exit codes: 0 the execution has ended or was stopped, 1 a violation, 2 a mistake.`)
}

// simulateCommand is `cpor simulate`.
func simulateCommand(e *env, args []string) int {
	c := new(simulateConfig)
	files, err := c.define().Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		simulateHelp(e.stdout)
		return ExitPass
	}
	var file string
	if err == nil {
		file, err = oneFile(files)
	}
	if err == nil {
		err = c.check(file)
	}
	if err != nil {
		return e.mistake("simulate", "%v (see \"cpor help simulate\")", err)
	}
	s := &simulation{c: c, e: e, page: terminal.For(e.stdout, c.color),
		in: bufio.NewScanner(e.stdin), rand: rand.New(rand.NewPCG(c.seed, 0))}
	if goPackage(files) {
		return s.runGo(file)
	}
	if c.test != "" {
		return e.mistake("simulate", "-test is for Go packages, and %s is none", file)
	}
	if file, err = inLanguage(file, c.lang); err != nil {
		return e.mistake("simulate", "%v", err)
	}
	recorded := c.own["replay"]
	if strings.HasSuffix(recorded, ".json") {
		delete(c.own, "replay")
	} else {
		recorded = ""
	}
	m, err := e.load(&file, frontend.Options{Params: c.params, Flags: c.own})
	if err != nil {
		return e.modelError(err)
	}
	s.indented = m.WriteTrail != nil
	if r := m.Replay; r != nil {
		return s.run(r.System, r.Trace)
	}
	if recorded != "" {
		t, err := readTrace(recorded, m.System)
		if err != nil {
			return e.mistake("simulate", "%v", err)
		}
		return s.run(m.System, t)
	}
	return s.run(m.System, nil)
}

// check refuses flags that do not go together.
func (c *simulateConfig) check(file string) error {
	switch {
	case c.steps < 1:
		return fmt.Errorf("-n %d: want at least 1 step", c.steps)
	case c.interactive && c.set.Given("seed"):
		return errors.New("-seed draws steps at random and -i asks for them; use only one of them")
	case c.interactive && file == "-":
		return errors.New("-i reads the standard input, so the model must be in a file")
	}
	return nil
}

// runGo simulates a Go package, for which the flags of models are refused.
func (s *simulation) runGo(pkg string) int {
	c, e := s.c, s.e
	wrong := ""
	c.set.Visit(func(f *flag.Flag) {
		if f.Name == "D" || f.Name == "U" || f.Name == "lang" || OfFrontEnd(f.Name) {
			wrong = f.Name
		}
	})
	if wrong != "" {
		return e.mistake("simulate", "-%s is for models, and %s is a Go package", wrong, pkg)
	}
	p, err := goPrinting(e.ctx, pkg, c.test)
	if err != nil {
		return e.mistake("simulate", "%v", err)
	}
	return s.run(p, nil)
}

// readTrace reads an execution of a system that was written as JSON: the steps of threads by
// their names. Those of invariants, which are not steps of the program, are left out.
func readTrace(name string, sys system.System) (*trace.Trace, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var rec trace.RecordJSON
	if err := json.Unmarshal(b, &rec); err != nil {
		return nil, fmt.Errorf("%s is not an execution as -trace FILE.json writes it: %w", name,
			err)
	}
	initial := sys.Initial()
	if rec.Initial < 0 || rec.Initial >= len(initial) {
		return nil, fmt.Errorf("%s begins in initial state %d, and the model has %d", name,
			rec.Initial+1, len(initial))
	}
	t := &trace.Trace{Initial: rec.Initial}
	m, obs := sys.NewMachine(), system.ObserversOf(sys)
	m.Load(initial[rec.Initial])
	for i, ev := range rec.Trace {
		thread := 0
		for thread < m.NumThreads() && m.ThreadName(thread) != ev.Thread {
			thread++
		}
		switch {
		case thread == m.NumThreads():
			return nil, fmt.Errorf("%s does not fit the model: there is no thread %q at step %d",
				name, ev.Thread, i+1)
		case obs.Has(thread):
			continue
		case m.Step(thread, ev.Alt).Kind != system.Moved:
			return nil, fmt.Errorf("%s does not fit the model: %s cannot move at step %d", name,
				ev.Thread, i+1)
		}
		t.Steps = append(t.Steps, trace.Step{Thread: thread, Alt: ev.Alt})
	}
	return t, nil
}

// simulation is one execution that is shown while it continues.
type simulation struct {
	c        *simulateConfig
	e        *env
	in       *bufio.Scanner
	rand     *rand.Rand
	indented bool // what a thread prints is indented by its number
	m        system.Machine
	obs      system.Observers
	printed  int    // how much of a Go program's output
	open     bool   // the last line that was printed has no end
	stopped  string // why -i ended it
	page     terminal.Page
}

// outputting is a machine whose state comprises what the program has printed.
type outputting interface{ Output() string }

// run follows the steps of t, if there are any, and continues from there.
func (s *simulation) run(sys system.System, t *trace.Trace) int {
	s.m, s.obs = sys.NewMachine(), system.ObserversOf(sys)
	initial := sys.Initial()
	at := 0
	if t != nil {
		at = t.Initial
	} else if !s.c.interactive {
		at = s.rand.IntN(len(initial))
	}
	s.m.Load(initial[at])
	s.m.Track(true)
	if n := s.m.Capabilities().Narrating; n != nil {
		n.Narrate(true)
	}
	if why := s.invariants(); why != "" {
		return s.end(0, why, ExitViolation)
	}
	for n := 0; ; n++ {
		if s.e.ctx.Err() != nil {
			return s.end(n, "interrupted", ExitPass)
		}
		var step trace.Step
		ok := t != nil && n < len(t.Steps)
		if ok {
			step = t.Steps[n]
		} else if step, ok = s.choose(n); !ok {
			return s.finish(n)
		} else if n >= s.c.steps {
			return s.end(n, "stopped by -n", ExitPass)
		}
		if v := s.take(n, step); v != nil {
			return s.end(n+1, trace.Headline(v), ExitViolation)
		}
		if why := s.invariants(); why != "" {
			return s.end(n+1, why, ExitViolation)
		}
	}
}

// choose draws a thread that can continue and one of its alternatives, or asks for it; false if
// none can, or nobody answers.
func (s *simulation) choose(n int) (trace.Step, bool) {
	var threads [][]trace.Step
	mark := s.m.Mark()
	for t := range s.m.NumThreads() {
		if s.obs.Has(t) {
			continue
		}
		var steps []trace.Step
		for alt, more := uint64(0), true; more; {
			out := s.m.Step(t, alt)
			s.m.Rewind(mark)
			if out.Kind == system.Moved {
				steps = append(steps, trace.Step{Thread: t, Alt: alt})
			}
			alt, more = out.Next, out.Next != 0
		}
		if len(steps) > 0 {
			threads = append(threads, steps)
		}
	}
	if len(threads) == 0 {
		return trace.Step{}, false
	}
	if s.c.interactive {
		return s.ask(n, slices.Concat(threads...))
	}
	steps := threads[s.rand.IntN(len(threads))]
	return steps[s.rand.IntN(len(steps))], true
}

// ask shows the steps and reads which one to take.
func (s *simulation) ask(n int, steps []trace.Step) (trace.Step, bool) {
	s.newline()
	fmt.Fprintf(s.e.stdout, "step %d:\n", n+1)
	mark := s.m.Mark()
	for i, step := range steps {
		name := s.name(step.Thread)
		pos, text := s.text(step)
		s.m.Rewind(mark)
		fmt.Fprintf(s.e.stdout, "  %d: %s\n", i+1, line(name, pos, text))
	}
	for {
		fmt.Fprintf(s.e.stdout, "which? (1-%d, or q) ", len(steps))
		if !s.in.Scan() {
			fmt.Fprintln(s.e.stdout)
			s.stopped = "end of standard input"
			return trace.Step{}, false
		}
		answer := strings.TrimSpace(s.in.Text())
		if answer == "q" {
			s.stopped = "stopped"
			return trace.Step{}, false
		}
		if i, err := strconv.Atoi(answer); err == nil && i >= 1 && i <= len(steps) {
			return steps[i-1], true
		}
		fmt.Fprintf(s.e.stdout, "%q is not a number from 1 to %d\n", answer, len(steps))
	}
}

// text takes a step and returns its place and its text.
func (s *simulation) text(step trace.Step) (system.Pos, string) {
	pos, text, _ := s.m.Next(step.Thread)
	s.m.Step(step.Thread, step.Alt)
	if t := s.m.Capabilities().Telling; t != nil {
		pos, text = t.Told()
	}
	return pos, text
}

// name returns the name of a thread, in its color.
func (s *simulation) name(t int) string {
	return s.page.Paint(terminal.Thread(t), s.m.ThreadName(t))
}

func line(name string, pos system.Pos, text string) string {
	if pos.File == "" {
		return name + ": " + text
	}
	return fmt.Sprintf("%s %s:%d: %s", name, pos.File, pos.Line, text)
}

// take takes a step and shows it; the result is what it violates.
func (s *simulation) take(n int, step trace.Step) *system.Violation {
	name := s.name(step.Thread)
	if s.c.show {
		mark := s.m.Mark()
		pos, text := s.text(step)
		s.m.Rewind(mark)
		s.newline()
		fmt.Fprintf(s.e.stdout, "%3d: %s\n", n+1, line(name, pos, text))
	}
	out := s.m.Step(step.Thread, step.Alt)
	if t := s.m.Capabilities().Narrating; t != nil {
		for _, d := range t.Story().Deeds {
			if d.Kind == system.Print {
				s.print(step.Thread, d.Value)
			}
		}
	}
	if o, ok := s.m.(outputting); ok {
		all := o.Output()
		s.print(step.Thread, all[min(s.printed, len(all)):])
		s.printed = len(all)
	}
	return out.Violation
}

// print prints what a thread prints.
func (s *simulation) print(t int, text string) {
	if text == "" {
		return
	}
	if s.indented {
		text = strings.Repeat(" ", 6+4*t) + text
	}
	io.WriteString(s.e.stdout, text)
	s.open = !strings.HasSuffix(text, "\n")
}

func (s *simulation) newline() {
	if s.open {
		fmt.Fprintln(s.e.stdout)
		s.open = false
	}
}

// invariants says which invariant does not hold.
func (s *simulation) invariants() string {
	mark := s.m.Mark()
	for t := range s.m.NumThreads() {
		if s.obs.Has(t) {
			v := s.m.Step(t, 0).Violation
			s.m.Rewind(mark)
			if v != nil {
				return trace.Headline(v)
			}
		}
	}
	return ""
}

// finish says how an execution ends in which nobody can continue, or nobody wants to.
func (s *simulation) finish(n int) int {
	if s.stopped != "" {
		return s.end(n, s.stopped, ExitPass)
	}
	if _, blocked := s.obs.Deadlock(s.m); len(blocked) > 0 {
		var names []string
		for _, t := range blocked {
			names = append(names, s.m.ThreadName(t))
		}
		return s.end(n, "deadlock: "+strings.Join(names, ", ")+" cannot move", ExitViolation)
	}
	return s.end(n, "no thread can move", ExitPass)
}

func (s *simulation) end(n int, why string, code int) int {
	s.newline()
	why = printable(why)
	if code == ExitViolation {
		why = s.page.Paint(terminal.Bad, why)
	}
	fmt.Fprintf(s.e.stdout, "after %s: %s\n", human.Plural(n, "step"), why)
	return code
}
