package command

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"cpor/engine"
	"cpor/engine/checkpoint"
	"cpor/engine/cluster"
	"cpor/engine/temporal"
	"cpor/frontend"
	"cpor/internal/cliflag"
	"cpor/internal/layout"
	"cpor/internal/terminal"
	"cpor/system"
	"cpor/trace/draw"
)

// runConfig is what the flags of `cpor run` say.
type runConfig struct {
	file   string
	params map[string]string
	lang   string            // of the standard input, as an ending; may be empty
	own    map[string]string // the flags of the front ends

	search string // the mode that -search asks for; "" if it was not given
	por    string // the reduction; "" if it was not given
	ltl    string // the temporal property, or all

	mode   *engine.Mode
	entry  *engine.Entry // the mode's default if the user has not chosen
	values engine.Values // of the engines' own flags
	engine.Options
	deadlock *bool

	cluster bool
	left    error // this rank has left a search that the others are in

	checkpoint      string // the directory
	checkpointEvery time.Duration
	kept            []string           // the flags that say what is explored, as they were given
	from            *checkpoint.Reader // continue here
	parts, number   int                // of the checkpoint to continue from, see checkpointHeader
	json            bool
	trace           string
	traceStates     bool
	sarif           string // the file
	sarifFile       *traceFile
	coverage        string // the file
	quiet           bool
	color           terminal.When
	profile         string
}

// maxWorkers keeps a slip of the finger from starting a million goroutines,
// each with a machine of its own.
const maxWorkers = 4096

// define defines the flags of `cpor run`, with their defaults, on c.
func (c *runConfig) define() *cliflag.Set {
	f := cliflag.New("run")
	c.params = map[string]string{}
	defineParams(f, c.params)
	defineLanguage(f, &c.lang)
	f.Func("search", searchUsage(), func(s string) error {
		if m := engine.LookupMode(s); m == nil || m.Summary == "" {
			return errors.New("want " + inWords(searchNames(), "or"))
		}
		c.search = s
		return nil
	})
	f.Func("por", "the `reduction` (default "+engine.Names("")[0]+"), one of those in \"cpor help "+
		"run all\"",
		func(s string) error {
			if !slices.Contains(engine.Names(""), s) {
				return engine.Unknown("", s)
			}
			c.por = s // the last -por counts
			return nil
		})
	f.StringVar(&c.ltl, "ltl", "", "check the ltl property of this `name`, or all; instead of "+
		"searching for assertions, invariants and deadlocks")
	f.IntVar(&c.Workers, "workers", runtime.GOMAXPROCS(0),
		"the `number` of concurrent workers (default: the number of CPUs)")
	c.deadlock = f.Bool("deadlock", true, "report deadlocks; -deadlock=false ignores them")
	f.BoolVar(&c.All, "all", false, "report all distinct violations instead of stopping at the "+
		"first")
	f.BoolVar(&c.Validate, "validate", false, "check the reduction and the machine during the "+
		"search: execute each claimed independence in both orders, reload and rehash every "+
		"state; slow; a difference is an internal error")
	f.DurationVar(&c.Timeout, "timeout", 0,
		"end the search after this `time`, such as 90s or 1h30m")
	f.Uint64Var(&c.MaxStates, "max-states", 0, "end the search after this `number` of states")
	f.IntVar(&c.MaxDepth, "max-depth", 0, "with "+takers("max-depth")+
		": cut executions off after this `number` of transitions; finds every violation within "+
		"the bound, and the result is incomplete if an execution was cut off; with -por none or "+
		"sleep (the default with a bound)")
	f.Uint64Var(&c.MaxTransitions, "max-transitions", 0, "with "+takers("max-transitions")+
		": end the search after this `number` of transitions")
	f.Var((*cliflag.Size)(&c.MaxMemory), "max-memory",
		"end the search before the process takes more memory than this `size`, such as 500MB or "+
			"2GiB")
	f.StringVar(&c.Disk, "disk", "", "with -max-memory: continue beyond that memory with states "+
		"in this `directory` on a local disk; exact, but slower")
	f.BoolVar(&c.cluster, "cluster", false, "search together with the other processes started by "+
		"mpirun, mpiexec or srun (docs/cluster.md)")
	f.StringVar(&c.checkpoint, "checkpoint", "", "write checkpoints to this `directory`, so that "+
		"\"cpor resume\" can continue after a power cut, a limit or an interruption")
	f.DurationVar(&c.checkpointEvery, "checkpoint-interval", 10*time.Minute,
		"with -checkpoint: the `time` between checkpoints (default 10m)")
	f.BoolVar(&c.json, "json", false, "print the result as one JSON object")
	f.StringVar(&c.trace, "trace", "", "write the trace of a violation to this `file`: as a "+
		"table, or by its ending as JSON (.json), JSON with whole states (.states.json), ITF "+
		"(.itf.json), a message-sequence chart (.svg), or for Promela a trail that spin -t "+
		"replays (.trail); with -all, further traces go to file-2, file-3, ...")
	f.StringVar(&c.sarif, "sarif", "", "also write the violations to this `file` as SARIF, which "+
		"code hosts and editors show at the violating lines")
	f.BoolVar(&c.traceStates, "trace-states", false,
		"include the initial state and the state after each step in the JSON of -json and -trace "+
			"x.json")
	f.DurationVar(&c.MinimizeTime, "minimize", engine.DefaultMinimizeTime,
		"spend at most this `time` on shortening traces (default 30s); 0 shows them as found")
	f.Renamed("minimise", "minimize")
	f.StringVar(&c.coverage, "coverage", "", "write the source with the number of executions of "+
		"each line to this `file`, or - for the terminal")
	f.BoolVar(&c.quiet, "q", false, "print only the verdict and the violations, and no progress")
	f.Var(&c.color, "color", terminal.Usage)
	f.Func("profile", "write a profile of the search to the working directory; `what`: "+
		strings.Join(profileNames(), ", "), func(s string) error {
		c.profile = s
		return checkProfile(s)
	})
	c.defineEngineFlags(f)
	c.own = map[string]string{}
	defineFrontEndFlags(f, c.own)
	return f
}

// RunFlags returns the flags of `cpor run`.
func RunFlags() *cliflag.Set { return new(runConfig).define() }

// defineFrontEndFlags defines the flags of the front ends, which are put into own, but
// those without.
func defineFrontEndFlags(f *cliflag.Set, own map[string]string, without ...string) {
	for _, fe := range frontend.FrontEnds() {
		var names []string
		for _, g := range fe.Flags {
			// another one has it, too
			if slices.Contains(without, g.Name) || f.Lookup(g.Name) != nil {
				continue
			}
			set := func(s string) error {
				if g.Bool && s == "false" {
					delete(own, g.Name)
					return nil
				}
				if old, ok := own[g.Name]; ok && g.Many {
					s = old + "\n" + s
				}
				own[g.Name] = s
				if g.Check != nil {
					return g.Check(s)
				}
				return nil
			}
			if g.Bool {
				f.BoolFunc(g.Name, g.Usage, func(s string) error {
					if _, err := engine.ParseBool(false, s); err != nil {
						return err
					}
					return set(s)
				})
			} else {
				f.Func(g.Name, g.Usage, set)
			}
			names = append(names, g.Name)
		}
		if names != nil {
			f.Group("Models in "+fe.Name+":", names...)
		}
	}
}

// defineParams defines -D, which collects NAME=VALUE. NAME alone is 1, as for a C compiler and
// SPIN.
func defineParams(f *cliflag.Set, params map[string]string) {
	f.Func("D", "`NAME=VALUE` sets a constant of the model; NAME alone sets it to 1; may be "+
		"repeated", func(s string) error {
		if s != "" && !strings.Contains(s, "=") {
			s += "=1"
		}
		name, value, err := cliflag.Assignment(s)
		if err == nil {
			params[name] = value
		}
		return err
	})
	f.Func("U", "undo an earlier -D of this `NAME`, as a C compiler does", func(s string) error {
		if s == "" || strings.Contains(s, "=") {
			return errors.New("want a name")
		}
		delete(params, s)
		return nil
	})
}

// defineLanguage defines -lang, which says what the standard input holds.
func defineLanguage(f *cliflag.Set, lang *string) {
	f.Func("lang", "the `language` of standard input: promela, or a file name ending (default "+
		"model)", func(s string) error {
		ending := "." + strings.TrimPrefix(strings.ToLower(s), ".")
		for _, fe := range frontend.FrontEnds() {
			if strings.EqualFold(fe.Name, s) {
				ending = fe.Extensions[0]
			}
			if slices.Contains(fe.Extensions, ending) {
				*lang = ending
				return nil
			}
		}
		return errors.New("want model, promela, or a file name ending")
	})
}

// inLanguage returns the name of a file whose language is that of -lang, if it was given.
func inLanguage(file, lang string) (string, error) {
	switch {
	case lang == "":
		return file, nil
	case file != "-":
		return "", fmt.Errorf("-lang applies to standard input only; the language of %s follows "+
			"from its ending", file)
	}
	return stdin + lang, nil
}

// stdin is what the standard input is called, with the ending of its language behind it.
const stdin = "<stdin>"

// isStdin reports whether a file is the standard input, by the name that it gets.
func isStdin(name string) bool { return strings.HasPrefix(name, stdin) }

// parse reads the command line. It returns an error in words about the user's
// mistake, or flag.ErrHelp.
func (c *runConfig) parse(args []string) error {
	f := c.define()
	files, err := f.Parse(args)
	if err != nil {
		return err
	}
	if c.file, err = oneFile(files); err == nil {
		c.file, err = inLanguage(c.file, c.lang)
	}
	if err != nil {
		return err
	}
	if err := c.checkValues(f); err != nil {
		return err
	}
	if err := c.checkCoverage(f.Given("coverage")); err != nil {
		return err
	}
	c.KeepTraces = c.MinimizeTime == 0
	c.Dive = c.coverage == "" // dives would count what they execute
	c.kept, _ = split(args)
	c.IgnoreDeadlocks = !*c.deadlock
	formula := c.own[frontend.FormulaFlag.Name] != ""
	if formula {
		if f.Given("ltl") {
			return errors.New("-f and -ltl cannot be combined")
		}
		c.ltl = frontend.FormulaName
	}
	if c.own["replay"] != "" {
		if err := c.checkReplay(f); err != nil {
			return err
		}
	}
	if err := c.choose(f); err != nil {
		return err
	}
	if formula && !c.mode.Temporal {
		return fmt.Errorf("-f checks a formula over time, which %s does not", c.mode.Asked)
	}
	return nil
}

// checkValues refuses values that are out of range, empty names, and flags that need others.
func (c *runConfig) checkValues(f *cliflag.Set) error {
	switch {
	case c.Workers < 1:
		return fmt.Errorf("-workers %d: a search needs at least one worker", c.Workers)
	case c.Workers > maxWorkers:
		return fmt.Errorf("-workers %d: at most %d workers are possible", c.Workers, maxWorkers)
	case c.Timeout < 0, f.Given("timeout") && c.Timeout == 0:
		return fmt.Errorf("-timeout %v: the time must be above 0", c.Timeout)
	case f.Given("max-states") && c.MaxStates == 0:
		return errors.New("-max-states 0: the number must be above 0")
	case f.Given("sarif") && c.sarif == "":
		return errors.New("-sarif needs a file name")
	case f.Given("trace") && c.trace == "":
		return errors.New("-trace needs a file name")
	case c.trace != "" && c.trace == c.sarif:
		return errors.New("-trace and -sarif name the same file")
	case c.traceStates && !c.json && !strings.EqualFold(filepath.Ext(c.trace), ".json"):
		return errors.New("-trace-states adds states to JSON: add -json, or -trace with a name " +
			"ending in .json")
	case c.MinimizeTime < 0:
		return fmt.Errorf("-minimize %v: the time must not be below 0", c.MinimizeTime)
	case f.Given("checkpoint") && c.checkpoint == "":
		return errors.New("-checkpoint needs a directory name")
	case f.Given("checkpoint-interval") && c.checkpoint == "":
		return errors.New("-checkpoint-interval needs -checkpoint DIR")
	case c.checkpointEvery <= 0:
		return fmt.Errorf("-checkpoint-interval %v: the time must be above 0", c.checkpointEvery)
	}
	return nil
}

// checkReplay refuses flags that have no effect with -replay.
func (c *runConfig) checkReplay(f *cliflag.Set) (err error) {
	if f.Given("fair") || f.Given("strong-fair") {
		c.ltl = "all" // fairness is a matter of temporal properties
	}
	f.Visit(func(fl *flag.Flag) {
		if !slices.Contains(replayed, fl.Name) && !OfFrontEnd(fl.Name) && err == nil {
			err = fmt.Errorf("-%s has no effect with -replay, which does not search", fl.Name)
		}
	})
	return err
}

// oneFile returns the only file of the arguments.
func oneFile(files []string) (string, error) {
	for _, f := range files {
		if len(files) > 1 && (f == "true" || f == "false") {
			return "", fmt.Errorf("a Boolean flag takes its value with an equals sign, as in "+
				"-deadlock=%s", f)
		}
	}
	switch {
	case len(files) == 0:
		return "", errors.New("no model given: name a file, such as benchmarks/robots.model")
	case len(files) > 1:
		return "", fmt.Errorf("one model at a time, not %d: %s", len(files), commandLine(files))
	}
	return files[0], nil
}

// runHelp prints the help; all of it, or the flags that most people need.
func runHelp(w io.Writer, all bool) {
	f := new(runConfig).define()
	fmt.Fprintln(w, `usage: cpor run [flags] FILE.model

Searches the interleavings of a model for violated assertions and invariants,
run-time errors and deadlocks, until it finds a violation or has covered
everything, and prints a trace of the violation. A search with stored states
also spends a small share of its work on random executions, to find deep
violations early. The file - is standard input. A directory with a Go program,
as in "cpor run ./cmd/worker", is explored as "cpor test" explores a test.`)
	if all {
		f.Describe(w)
		describeReductions(w)
	} else {
		f.DescribeCommon(w)
	}
	fmt.Fprintln(w, `
Exit codes: 0 no violation and everything covered, 1 a violation, 2 a mistake in
the command, the file or the model, 3 incomplete. Ctrl-C ends the search with
the result so far and exit code 3; a second one ends the process.`)
}

// describeReductions prints what each value of -por means.
func describeReductions(w io.Writer) {
	fmt.Fprintln(w, `
Reductions (-por):`)
	for _, name := range engine.Names("") {
		for _, r := range engine.Entries("") {
			if r.Name == name {
				fmt.Fprintf(w, "  %-18s%s\n", name, layout.Wrap(r.Summary, 20))
				break
			}
		}
	}
}

// runCommand is `cpor run`.
func runCommand(e *env, args []string) int {
	if goPackage(args) {
		return runGo(e, args)
	}
	var c runConfig
	if err := c.parse(args); errors.Is(err, flag.ErrHelp) {
		runHelp(e.stdout, cliflag.WantsAll(args))
		return ExitPass
	} else if err != nil {
		return e.mistake("run", "%v (see \"cpor help run\")", err)
	}
	if c.cluster {
		return e.runRank(&c)
	}
	m, err := e.load(&c.file, c.loading(nil))
	if err != nil {
		return e.modelError(err)
	}
	return e.run(&c, m)
}

// loading says how to load the model, from files if they are not nil.
func (c *runConfig) loading(files map[string]string) frontend.Options {
	return frontend.Options{Params: c.params, Flags: c.own, Files: files,
		Verdict: c.entry.Reduces && !c.mode.Temporal}
}

// run explores a program and prints the result.
func (e *env) run(c *runConfig, m *frontend.Program) int {
	if m.Replay != nil {
		return e.replay(c, m)
	}
	task, err := c.task(m)
	if err != nil {
		return e.mistake("run", "%v", err)
	}
	var out traceFile
	if c.trace != "" {
		if out, err = openTrace(c.trace, c.file); err != nil {
			return e.mistake("run", "-trace: %v", err)
		}
		defer out.cleanUp()
		c.prepare(m, &out)
	}
	if c.sarif != "" {
		file, err := openTrace(c.sarif, c.file)
		if err != nil {
			return e.mistake("run", "-sarif: %v", err)
		}
		c.sarifFile = &file
		defer file.cleanUp()
	}
	if c.coverage != "" {
		if err := c.openCoverage(m); err != nil {
			return e.mistake("run", "-coverage: %v", err)
		}
	}
	if c.profile != "" {
		stop, err := startProfile(c.profile)
		if err != nil {
			return e.mistake("run", "-profile: %v", err)
		}
		defer func() {
			name, err := stop()
			if err != nil {
				fmt.Fprintf(e.stderr, "%s run: -profile: %v\n", Program, pathError(err))
			} else if !c.quiet {
				fmt.Fprintf(e.stderr, "profile: %s; look at it with: %s\n", name,
					profileViewer(c.profile, name))
			}
		}()
	}
	if c.checkpoint != "" {
		defer e.keepCheckpoints(c, m, task)()
	}
	return e.explore(c, m, task, &out)
}

// goPackage reports whether an argument names a Go package and not a file with a model: a file
// of Go, or a directory with one, written as a path as the go command wants it (./cmd/worker),
// since a bare word can be the value of a flag.
func goPackage(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		switch path := filepath.ToSlash(a); {
		case strings.HasPrefix(a, "-"):
			return false
		case strings.HasSuffix(a, ".go"):
			return true
		case a == "." || a == ".." || strings.HasPrefix(path, "./") ||
			strings.HasPrefix(path, "../") || filepath.IsAbs(a):
			return hasGo(a)
		}
		return false
	})
}

// hasGo reports whether there is a file of Go in a directory.
func hasGo(dir string) bool {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	return err == nil && len(files) > 0
}

// task returns what is to be explored. The error is the user's mistake.
func (c *runConfig) task(m *frontend.Program) (*engine.Task, error) {
	if err := c.reducible(m.System); err != nil {
		return nil, fmt.Errorf("%s: %v", c.file, err)
	}
	t := &engine.Task{System: m.System, Options: c.Options, Flags: &c.values}
	var err error
	if c.mode.Temporal {
		if t.Properties, err = c.properties(m); err != nil {
			return nil, err
		}
		if err := c.whole(t.Properties); err != nil {
			return nil, fmt.Errorf("%s: %v", c.file, err)
		}
	}
	err = c.entry.Unmet(m.System)
	if no := new(engine.Refusal); errors.As(err, &no) {
		err = fmt.Errorf("%s: %v", c.file, err)
	}
	return t, err
}

// whole marks the properties that no reduction preserves, and refuses one that the user has
// chosen by name.
func (c *runConfig) whole(props []engine.Property) error {
	for i := range props {
		p := &props[i]
		why := ""
		if p.System != nil {
			why = system.WhyIrreducible(p.System, true)
		}
		if why == "" && !p.Formula.StutterInvariant() && (c.por == "" || c.por == "auto") {
			// the engine refuses it otherwise, and says where
			why = "there is a next operator in the formula"
		}
		if why == "" || !c.entry.Reduces {
			continue
		}
		if c.por != "" && c.por != "auto" {
			return fmt.Errorf("-por %s: no reduction is sound for %s: %s; use -por none", c.por,
				p.Called(), why)
		}
		p.Whole = true
	}
	return nil
}

// reducible takes no reduction for a system of which none is sound, and refuses
// one that the user has chosen by name: auto leaves the choice to cpor.
func (c *runConfig) reducible(sys system.System) error {
	why := system.WhyIrreducible(sys, c.mode.Temporal)
	if why == "" || !c.entry.Reduces {
		return nil
	}
	if c.por != "" && c.por != "auto" {
		return fmt.Errorf("-por %s: no reduction is sound: %s; use -por none", c.por, why)
	}
	for _, e := range engine.Entries(c.mode.Name) {
		if !e.Reduces {
			c.entry = e
			return nil
		}
	}
	return fmt.Errorf("%s: no reduction is sound: %s", c.mode.Asked, why)
}

// explore runs the engine and prints the result.
func (e *env) explore(c *runConfig, m *frontend.Program, t *engine.Task, out *traceFile) int {
	p := newProgress(e, c)
	t.Progress, t.ProgressInterval = p.report, p.interval
	res, err := c.entry.Run(e.ctx, t)
	p.done()
	var no *engine.Refusal
	var oe *engine.OptionError
	var left *cluster.Left
	switch {
	case errors.As(err, &left):
		c.left = err
		return ExitMistake
	case errors.As(err, &no) && no.Located:
		return e.modelError(no.Err)
	case errors.As(err, &no):
		return e.mistake("run", "%s: %v", c.file, no.Err)
	case errors.As(err, &oe):
		return e.mistake("run", "%v", err)
	case err != nil:
		e.internalError(strings.TrimPrefix(err.Error(), "internal error: "))
		return ExitMistake
	}
	if m.Edges && !c.entry.Reduces && c.entry.Counts&engine.CountLoops != 0 &&
		c.entry.Counts&engine.CountStates != 0 {
		more := 1 - res.BlockedLoops - res.EndedLoops
		res.Transitions, res.Attempts = res.Transitions+more, res.Attempts+more
	}
	if c.checkpoint != "" {
		res.How = append(res.How, engine.Figure{Key: "checkpoint", Value: c.checkpoint,
			Text: "checkpoints in " + c.checkpoint})
		if _, err := os.Stat(filepath.Join(c.checkpoint, "checkpoint")); err == nil &&
			unfinished(res) {
			res.Figures = append(res.Figures, engine.Figure{Label: "resume with", Text: c.goOn("")})
		}
	}
	for _, w := range res.Warnings {
		fmt.Fprintln(e.stderr, printable(w))
	}
	rep, err := newReport(c, m, res)
	if err != nil {
		e.internalError(err.Error())
		return ExitMistake
	}
	var traceErr error
	rep.traces, traceErr = out.write(rep.found)
	code := e.print(c.json, func(b *bytes.Buffer) error {
		if c.json {
			return rep.writeJSON(b)
		}
		return rep.writeText(b, terminal.For(e.stdout, c.color))
	}, traceErr, rep.exitCode())
	if c.coverage != "" {
		if err := rep.writeCoverage(e); err != nil {
			return e.mistake("run", "-coverage: %v", err)
		}
	}
	if c.sarif != "" {
		if err := rep.writeSARIF(); err != nil {
			return e.mistake("run", "-sarif: %v", pathError(err))
		}
	}
	return code
}

// unfinished reports whether there is more to find out, of the whole or of a property.
func unfinished(res *engine.Result) bool {
	return res.Verdict == engine.Incomplete || slices.ContainsFunc(res.Properties,
		func(p engine.PropertyResult) bool { return p.Verdict == engine.Incomplete })
}

// load reads a model, and shows what it may not mean. The file - is the standard input, and gets
// another name.
func (e *env) load(file *string, o frontend.Options) (m *frontend.Program, err error) {
	if *file == "-" {
		*file = stdin
	}
	if isStdin(*file) {
		m, err = frontend.Read(*file, e.stdin, o)
	} else {
		m, err = frontend.Load(*file, o)
	}
	if err == nil && m.Warnings != "" {
		fmt.Fprintln(e.stderr, printable(m.Warnings))
	}
	return m, err
}

// modelError shows the mistakes in a model and returns the exit code.
func (e *env) modelError(err error) int {
	fmt.Fprintln(e.stderr, printable(err.Error()))
	return ExitMistake
}

// print writes a result to stdout, and then tells what went wrong with the file
// of -trace: what was found must not be lost with it. It returns the exit code.
func (e *env) print(asJSON bool, write func(b *bytes.Buffer) error, traceErr error, code int) int {
	var b bytes.Buffer
	err := write(&b)
	if err == nil {
		text := b.String()
		if !asJSON {
			text = printable(text)
		}
		_, err = io.WriteString(e.stdout, text)
	}
	if err != nil {
		code = e.mistake("run", "cannot write the result: %v", err)
	}
	if traceErr != nil {
		code = e.mistake("run", "-trace: %v", traceErr)
	}
	return code
}

// printable quotes the characters that would do something to a terminal, except change colors: a
// model's messages and comments are anybody's.
func printable(s string) string {
	harmless := func(r rune) bool {
		return r == '\n' || r == '\t' || strconv.IsPrint(r) &&
			r != utf8.RuneError
	}
	if strings.IndexFunc(s, func(r rune) bool { return !harmless(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for i, n := 0, 0; i < len(s); i += n {
		if n = terminal.Sequence(s[i:]); n > 0 {
			b.WriteString(s[i : i+n])
			continue
		}
		var r rune
		if r, n = utf8.DecodeRuneInString(s[i:]); harmless(r) {
			b.WriteRune(r)
		} else {
			q := strconv.Quote(s[i : i+n])
			b.WriteString(q[1 : len(q)-1])
		}
	}
	return b.String()
}

// traceFile is the file of -trace. The zero value takes no traces.
type traceFile struct {
	name    string
	created bool // by us, and empty
	// trail is whose traces are written in the format of the language's own tool; nil for others.
	trail *frontend.Program
	// params and flags are what the model was loaded with; they are part of the file.
	params, flags map[string]string
}

// openTrace makes sure, before a search that may take long, that the trace can
// be written afterwards. What is in the file stays until then.
func openTrace(name, model string) (traceFile, error) {
	if a, err := os.Stat(name); err == nil {
		if b, err := os.Stat(model); err == nil && os.SameFile(a, b) {
			return traceFile{}, fmt.Errorf("%s is the model itself", name)
		}
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	created := err == nil
	if errors.Is(err, os.ErrExist) {
		f, err = os.OpenFile(name, os.O_WRONLY, 0)
	}
	if err != nil {
		return traceFile{}, pathError(err)
	}
	return traceFile{name: name, created: created}, f.Close()
}

// write writes the traces and returns the names of the files.
func (t *traceFile) write(found []finding) ([]string, error) {
	if t.name == "" {
		return nil, nil
	}
	var names []string
	for _, f := range found {
		var write func(name string) error
		switch {
		case t.trail != nil:
			trail := newTrail(t.trail, &f)
			if trail == nil {
				continue
			}
			write = trail.WriteFile
		case f.Account != nil:
			if x, ok := f.Account.(*temporal.Counterexample); ok {
				x.Record.Params, x.Record.Flags = t.params, t.flags
			}
			write = f.Account.WriteFile
		case f.record != nil:
			f.record.Params, f.record.Flags = t.params, t.flags
			write = func(name string) error { return draw.File(name, f.record) }
		default:
			continue
		}
		name := t.numbered(len(names))
		if err := write(name); err != nil {
			return names, pathError(err)
		}
		t.created = false
		names = append(names, name)
	}
	return names, nil
}

// numbered returns the name of the file for trace i, from 0.
func (t *traceFile) numbered(i int) string {
	name := t.name
	if i == 0 {
		return name
	}
	dot := strings.LastIndexByte(name, '.')
	for _, ending := range []string{".itf.json", ".states.json"} {
		if strings.HasSuffix(name, ending) {
			dot = len(name) - len(ending)
		}
	}
	if dot <= strings.LastIndexAny(name, `/\`) {
		dot = len(name)
	}
	return name[:dot] + "-" + strconv.Itoa(i+1) + name[dot:]
}

// cleanUp removes the file if it is new and there was nothing to write.
func (t *traceFile) cleanUp() {
	if t.created {
		os.Remove(t.name)
	}
}

// pathError puts the name of the file first, as in other messages.
func pathError(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return fmt.Errorf("%s: %v", pe.Path, pe.Err)
	}
	return err
}
