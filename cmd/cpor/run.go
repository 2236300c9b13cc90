package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"cpor/cartesian"
	"cpor/engine"
	"cpor/engine/search"
	"cpor/frontend"
	"cpor/internal/cliflag"
	"cpor/internal/human"
	"cpor/statestore"
	"cpor/trace"
)

// runConfig is what the flags of `cpor run` say.
type runConfig struct {
	file      string
	params    map[string]string
	reduction *reduction
	porGiven  bool // the user has chosen it
	order     cartesian.Order
	locks     lockConfig
	ltl       ltlConfig
	stateless statelessConfig

	workers   int
	store     statestore.Kind
	timeout   time.Duration
	maxStates uint64
	maxMemory uint64

	deadlock bool
	all      bool
	validate bool

	json    bool
	trace   string
	quiet   bool
	profile string
}

// maxWorkers keeps a slip of the finger from starting a million goroutines,
// each with a machine of its own.
const maxWorkers = 4096

// define defines the flags of `cpor run`, with their defaults, on c.
func (c *runConfig) define() *cliflag.Set {
	f := cliflag.New("run")
	c.params = map[string]string{}
	c.reduction = reductions[0]
	defineParams(f, c.params)
	f.Func("por", "the `reduction`, see below (default "+reductions[0].name+")", func(s string) (err error) {
		// The last -por counts.
		unstored, temporal := c.stateless.parse(s), c.ltl.parse(s)
		if unstored || temporal {
			return nil
		}
		c.reduction, err = parseReduction(s)
		return err
	})
	f.Func("cv-order", "the `order` in which -por cartesian extends the prefixes of a vector: "+strings.Join(cartesian.OrderNames(), ", ")+" (default "+cartesian.OrderNames()[0]+")", func(s string) (err error) {
		c.order, err = cartesian.ParseOrder(s)
		return err
	})
	f.IntVar(&c.workers, "workers", runtime.GOMAXPROCS(0), "the `number` of workers that search at the same time (default: the number of CPUs)")
	f.Func("store", "how the covered states are stored: the exact `store`s tree (compressed, the default) and plain, or compact (hash compaction) and bitstate, which can omit states: a search with them is never exhaustive", func(s string) (err error) {
		c.store, err = statestore.ParseKind(s)
		return err
	})
	f.BoolVar(&c.deadlock, "deadlock", true, "report deadlocks; -deadlock=false does not")
	f.BoolVar(&c.all, "all", false, "go on after a violation and report all distinct ones")
	f.BoolVar(&c.validate, "validate", false, "check the reduction and the machine while they run: every claimed independence is executed in both orders, every state is loaded and hashed anew; slow; a difference is an internal error")
	f.DurationVar(&c.timeout, "timeout", 0, "end the search after this `time`, such as 90s or 1h30m")
	f.Uint64Var(&c.maxStates, "max-states", 0, "end the search after this `number` of states")
	f.Var((*cliflag.Size)(&c.maxMemory), "max-memory", "end the search before the process takes more memory than this `size`, such as 500MB or 2GiB")
	f.BoolVar(&c.json, "json", false, "print the result as one JSON object")
	f.StringVar(&c.trace, "trace", "", "write the whole trace of a violation to this `file`, as a table, or as JSON if its name ends in .json; with -all the further ones to file-2, file-3, ...")
	f.BoolVar(&c.quiet, "q", false, "print no progress, and of the result only the verdict and the violations")
	f.Func("profile", "write a profile of the search to the working directory; `what`: "+strings.Join(profileNames(), ", "), func(s string) error {
		c.profile = s
		return checkProfile(s)
	})
	c.locks.define(f)
	c.ltl.define(f)
	c.stateless.define(f)
	f.Group("What is searched:", "D", "ltl", "fair", "por", "cv-order", "deadlock", "all")
	f.Group("How, and how far:", "workers", "store", "timeout", "max-states", "max-memory", "validate")
	f.Group("What is printed:", "json", "trace", "q", "profile")
	return f
}

// defineParams defines -D, which collects NAME=VALUE.
func defineParams(f *cliflag.Set, params map[string]string) {
	f.Func("D", "`NAME=VALUE` gives a constant of the model another value; may be repeated", func(s string) error {
		name, value, err := cliflag.Assignment(s)
		if err == nil {
			params[name] = value
		}
		return err
	})
}

// parse reads the command line. It returns an error in words about the user's
// mistake, or flag.ErrHelp.
func (c *runConfig) parse(args []string) error {
	f := c.define()
	files, err := f.Parse(args)
	if err != nil {
		return err
	}
	if c.file, err = oneFile(files); err != nil {
		return err
	}
	switch {
	case c.workers < 1:
		return fmt.Errorf("-workers %d: a search needs at least one worker", c.workers)
	case c.workers > maxWorkers:
		return fmt.Errorf("-workers %d: at most %d workers are possible", c.workers, maxWorkers)
	case c.timeout < 0, f.Given("timeout") && c.timeout == 0:
		return fmt.Errorf("-timeout %v: the time must be above 0", c.timeout)
	case f.Given("max-states") && c.maxStates == 0:
		return errors.New("-max-states 0: the number must be above 0")
	case f.Given("trace") && c.trace == "":
		return errors.New("-trace needs the name of a file")
	}
	if err := c.checkModes(f); err != nil {
		return err
	}
	c.porGiven = f.Given("por")
	switch c.mode() {
	case unstored:
		err = c.stateless.validate(f, c)
	case overTime:
		err = c.ltl.validate(f, c)
	default:
		err = cmp.Or(c.stateless.unasked(f), c.locks.check(f, c.reduction.name))
	}
	if err != nil {
		return err
	}
	return c.checkReductions(f)
}

// oneFile returns the only file of the arguments.
func oneFile(files []string) (string, error) {
	for _, f := range files {
		if len(files) > 1 && (f == "true" || f == "false") {
			return "", fmt.Errorf("a flag that is on or off takes its value with an equals sign, as in -deadlock=%s", f)
		}
	}
	switch {
	case len(files) == 0:
		return "", errors.New("which model? Give a file: benchmarks/robots.model")
	case len(files) > 1:
		return "", fmt.Errorf("one model at a time, not %d: %s", len(files), commandLine(files))
	}
	return files[0], nil
}

func runHelp(w io.Writer) {
	f := new(runConfig).define()
	fmt.Fprintln(w, `usage: cpor run [flags] FILE.model

Searches the interleavings of a model for violated assertions and invariants,
run-time errors and deadlocks, until the first violation or until everything is
covered, and shows how a violation comes about. Flags may stand before or after
the file; the file - is the standard input.`)
	f.Describe(w)
	fmt.Fprintln(w, `
Reductions (-por):`)
	for _, r := range reductions {
		fmt.Fprintf(w, "  %-18s%s\n", r.name, human.Wrap(r.summary, 20))
	}
	for _, r := range append(ltlReductionHelp(), statelessReductionHelp()...) {
		fmt.Fprintf(w, "  %-18s%s\n", r[0], human.Wrap(r[1], 20))
	}
	fmt.Fprintln(w, `
Exit codes: 0 no violation and everything covered, 1 a violation, 2 a mistake in
the command, the file or the model, 3 incomplete. Ctrl-C ends the search with
the result so far and exit code 3; a second one ends the process.`)
}

// runCommand is `cpor run`.
func runCommand(e *env, args []string) int {
	var c runConfig
	if err := c.parse(args); errors.Is(err, flag.ErrHelp) {
		runHelp(e.stdout)
		return exitPass
	} else if err != nil {
		return e.mistake("run", "%v (\"cpor help run\" tells more)", err)
	}
	m, err := e.load(&c.file, c.params)
	if err != nil {
		return e.modelError(err)
	}
	if err := c.reducible(m.System); err != nil {
		return e.mistake("run", "%s: %v", c.file, err)
	}
	var out traceFile
	if c.trace != "" {
		if out, err = openTrace(c.trace, c.file); err != nil {
			return e.mistake("run", "-trace: %v", err)
		}
		defer out.cleanUp()
	}
	if c.profile != "" {
		stop, err := startProfile(c.profile)
		if err != nil {
			return e.mistake("run", "-profile: %v", err)
		}
		defer func() {
			name := stop()
			if !c.quiet {
				fmt.Fprintf(e.stderr, "profile: %s; look at it with: %s\n", name, profileViewer(c.profile, name))
			}
		}()
	}
	switch {
	case c.stateless.on:
		return runStateless(e, &c, m, &out)
	case c.ltl.asked():
		return runLTL(e, &c, m, &out)
	}
	return runModel(e, &c, m, &out)
}

// load reads a model. The file - is the standard input, and gets another name.
func (e *env) load(file *string, params map[string]string) (*frontend.Program, error) {
	o := frontend.Options{Params: params}
	if *file == "-" {
		*file = "<stdin>"
		return frontend.Read(*file, e.stdin, o)
	}
	return frontend.Load(*file, o)
}

// modelError shows the mistakes in a model and returns the exit code.
func (e *env) modelError(err error) int {
	fmt.Fprintln(e.stderr, printable(err.Error()))
	return exitMistake
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

// printable quotes the characters that would do something to a terminal: a
// model's messages and comments are anybody's.
func printable(s string) string {
	harmless := func(r rune) bool { return r == '\n' || r == '\t' || strconv.IsPrint(r) && r != utf8.RuneError }
	if strings.IndexFunc(s, func(r rune) bool { return !harmless(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for i, n := 0, 0; i < len(s); i += n {
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

// runModel searches a model and prints the result.
func runModel(e *env, c *runConfig, m *frontend.Program, out *traceFile) int {
	ctx, cancel := context.WithCancelCause(e.ctx)
	defer cancel(nil)
	sys := m.System
	o := search.Options{Options: engine.Options{Workers: c.workers, All: c.all, IgnoreDeadlocks: !c.deadlock, MaxStates: c.maxStates, MaxMemory: c.maxMemory, Timeout: c.timeout}, Store: c.store}
	var v *validation
	if c.validate {
		v = newValidation(sys, cancel)
		o.Hook = v.hook
	}
	p := newProgress(e, c)
	o.Progress, o.ProgressInterval = p.report, p.interval
	sys, res, err := c.search(ctx, sys, v.reporter(), o)
	p.done()
	if res != nil {
		c.locks.judge(res, rests(c.reduction.name))
	}
	var no *refusal
	var oe *engine.OptionError
	switch {
	case v.difference() != nil:
		e.internalError(v.difference().Error())
		return exitMistake
	case errors.As(err, &no):
		return e.mistake("run", "%s: %v", c.file, no.error)
	case errors.As(err, &oe):
		return e.mistake("run", "%v", err)
	case err != nil:
		e.internalError(strings.TrimPrefix(err.Error(), "internal error: "))
		return exitMistake
	}
	rep, err := newReport(c, m, sys, res)
	if err != nil {
		e.internalError(err.Error())
		return exitMistake
	}
	var traceErr error
	rep.traces, traceErr = out.write(rep.records())
	return e.print(c.json, func(b *bytes.Buffer) error {
		if c.json {
			return rep.writeJSON(b)
		}
		return rep.writeText(b, outputWidth(e.stdout))
	}, traceErr, rep.exitCode())
}

// traceFile is the file of -trace. The zero value takes no traces.
type traceFile struct {
	name    string
	created bool // by us, and empty
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
func (t *traceFile) write(records []*trace.Record) ([]string, error) {
	if t.name == "" {
		return nil, nil
	}
	var names []string
	for i, r := range records {
		name := t.numbered(i)
		if err := r.WriteFile(name); err != nil {
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
	if strings.HasSuffix(name, ".itf.json") {
		dot = len(name) - len(".itf.json")
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
