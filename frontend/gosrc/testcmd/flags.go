package testcmd

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/gotest"
	"cpor/internal/cliflag"
	"cpor/internal/terminal"
)

// config holds the flags of `cpor test` and `cpor run PACKAGE`.
type config struct {
	*cliflag.Set
	command string

	patterns []string
	dir      string
	tags     string
	run      string
	skip     string
	list     string
	verbose  bool
	json     bool
	color    terminal.When
	page     terminal.Page // what the output goes to
	failFast bool
	short    bool
	count    int
	mod      string
	modFile  string
	// unused are flags that were given and change nothing.
	unused []string

	timeout   time.Duration
	workers   int
	maxMemory uint64
	seed      uint64
	search    string
	machine   string
	trace     string
	replay    string
	sarif     string

	explore gosrc.Explore
	leaks   bool
	choices string
	time    string
	grain   string

	selected func(name string) bool // by -run and -skip
	listRE   *regexp.Regexp
}

// refused are flags of go test that have no meaning here, with the reason.
var refused = map[string]string{
	"fuzz":       "cpor explores schedules for given inputs; it does not generate inputs",
	"fuzztime":   "cpor explores schedules for given inputs; it does not generate inputs",
	"exec":       "cpor itself runs the tests",
	"c":          "no binary is kept",
	"o":          "no binary is kept",
	"n":          "the commands of a build are not shown",
	"x":          "the commands of a build are not shown",
	"work":       "there is no work directory",
	"cpuprofile": "profile the search with cpor run -profile",
	"memprofile": "profile the search with cpor run -profile",
}

// ignored are flags of go test that change nothing here, with the reason, so that a command line
// for go test works as it is. Those with a value name it.
var ignored = []struct{ name, value, why string }{
	{"race", "", "races are always checked"},
	{"cover", "", "what is covered here are schedules, and no profile is written"},
	{"covermode", "mode", "as -cover"},
	{"coverpkg", "packages", "as -cover"},
	{"coverprofile", "file", "as -cover: the file is not written"},
	{"shuffle", "order", "each test is explored alone, so the order of tests does not matter"},
	{"parallel", "number", "tests run one at a time; the search itself uses -workers"},
	{"p", "number", "packages are explored one after another; the search itself uses -workers"},
	{"cpu", "list", "every number of processors is covered by every schedule"},
	{"vet", "checks", "cpor does not run go vet"},
	{"fullpath", "", "places are shown with paths relative to the working directory"},
	{"bench", "regexp", "benchmarks measure time, and time is virtual here"},
	{"benchmem", "", "as -bench"},
	{"benchtime", "time", "as -bench"},
	{"trimpath", "", "no binary is kept"},
}

const maxWorkers = 4096

func (c *config) define() {
	f := cliflag.New(c.command)
	c.Set = f
	if c.command == "test" {
		f.StringVar(&c.run, "run", "", "explore the tests and subtests whose names match this "+
			"`regexp`, A/b as with go test")
		f.StringVar(&c.skip, "skip", "", "skip the tests and subtests that match this `regexp`")
		f.StringVar(&c.list, "list", "", "only list the tests that match this `regexp`")
		f.BoolVar(&c.short, "short", false, "testing.Short() returns true")
		f.BoolVar(&c.failFast, "failfast", false, "explore no further test after a failure")
		f.IntVar(&c.count, "count", 1, "explore also what has passed before and not changed "+
			"since; whatever the `number`, tests are explored once, because that covers every "+
			"schedule")
		f.BoolVar(&c.leaks, "leaks", true, "goroutines that wait forever after the end of the "+
			"test are a failure; -leaks=false accepts them")
	}
	f.BoolVar(&c.verbose, "v", false, "report each test, including those that pass")
	f.BoolVar(&c.json, "json", false, "print events as go test -json does, with further fields")
	f.Var(&c.color, "color", terminal.Usage)
	f.StringVar(&c.dir, "C", "", "change to this `dir` first")
	f.StringVar(&c.tags, "tags", "", "build tags: a comma-separated `list`")
	f.StringVar(&c.mod, "mod", "", "how modules are loaded, as for the go command: the `mode` "+
		"readonly, vendor or mod")
	f.StringVar(&c.modFile, "modfile", "", "use this `file` instead of go.mod, as the go command "+
		"does")
	f.DurationVar(&c.timeout, "timeout", 30*time.Second,
		"report a test as incomplete if it is not covered after this `time`; 0 is no limit")
	f.IntVar(&c.workers, "workers", runtime.GOMAXPROCS(0),
		"the `number` of concurrent workers (default: the number of CPUs)")
	f.Var((*cliflag.Size)(&c.maxMemory), "max-memory",
		"end the search before the process takes more memory than this `size`, such as 500MB or "+
			"2GiB (default: a quarter of the machine's memory, 4GiB at most)")
	f.StringVar(&c.time, "time", "auto", "`when` timers fire: any: time may pass at any point, "+
		"as on a slow machine; idle: only when no goroutine can run; auto: as any, but it is not "+
		"a failure if the test itself sleeps or waits too briefly (TIMING, or a note)")
	f.StringVar(&c.grain, "granularity", "sync", "`where` a goroutine may be interrupted: sync: "+
		"before synchronization, and a data race is a failure; memory: also before each access "+
		"to shared memory, and data races are not failures (for code that races on purpose)")
	f.StringVar(&c.choices, "choices", "", "`what` is explored besides schedules: map, every "+
		"order in which loops range over maps; rand, every value of rand.IntN(n) and its like "+
		"for n up to 100; or map,rand")
	f.StringVar(&c.search, "search", "auto", "`how`: "+searches()+
		"; full and cartesian store states")
	f.Uint64Var(&c.seed, "seed", 0, "the `number` that seeds the random schedules, and the "+
		"choice of scenarios if check.Linearizable has too many")
	if c.command == "test" {
		f.StringVar(&c.machine, "machine", autoMachine,
			"what runs the tests: the `machine` interpreted; native, which compiles the test and "+
				"controls its schedule (linux/amd64); or auto, which takes for each test the one "+
				"that can")
	}
	f.StringVar(&c.trace, "trace", "", "write the failing execution to this `file`, as a table; "+
		"as JSON for -replay and \"cpor view\" if its name ends in .json, as a chart if in .svg; "+
		"further ones to file-2, ...")
	f.StringVar(&c.sarif, "sarif", "", "also write the failures to this `file` as SARIF, which "+
		"code hosts and editors show at the failing lines")
	f.StringVar(&c.replay, "replay", "", "show the execution in this `file`, written by -trace, "+
		"again")

	if c.command == "test" {
		f.Group("What is explored:", "run", "skip", "list", "short", "failfast", "count", "leaks",
			"C", "tags", "mod", "modfile")
	} else {
		f.Group("What is explored:", "C", "tags", "mod", "modfile")
	}
	if c.command == "test" {
		f.Group("How it is explored:", "machine", "search", "time", "granularity", "choices",
			"seed", "workers")
	} else {
		f.Group("How it is explored:", "search", "time", "granularity", "choices", "seed",
			"workers")
	}
	f.Group("Limits:", "timeout", "max-memory")
	f.Group("What is shown:", "v", "json", "color", "trace", "sarif", "replay")
	f.Common("run", "v", "timeout", "max-memory", "workers", "search", "machine", "time", "trace",
		"replay", "json")
	if c.command == "test" {
		c.defineIgnored(f)
	}
}

// defineIgnored defines the flags that change nothing.
func (c *config) defineIgnored(f *cliflag.Set) {
	var names []string
	for _, g := range ignored {
		note := func(string) error {
			c.unused = append(c.unused, "-"+g.name)
			return nil
		}
		if g.value == "" {
			f.BoolFunc(g.name, "ignored: "+g.why, note)
		} else {
			f.Func(g.name, "ignored, with its `"+g.value+"`: "+g.why, note)
		}
		names = append(names, g.name)
	}
	f.Group("Accepted, because go test has them:", names...)
}

// goFlags returns the flags that the go command gets as they are.
func (c *config) goFlags() []string {
	var flags []string
	if c.mod != "" {
		flags = append(flags, "-mod="+c.mod)
	}
	if c.modFile != "" {
		flags = append(flags, "-modfile="+c.modFile)
	}
	return flags
}

// parse reads the command line. The error describes the user's mistake, or is flag.ErrHelp.
func (c *config) parse(args []string) error {
	c.define()
	if err := c.refuse(args); err != nil {
		return err
	}
	args, c.explore.Args = c.ofProgram(args)
	var err error
	if c.patterns, err = c.Parse(args); err != nil {
		return err
	}
	if len(c.patterns) == 0 {
		c.patterns = []string{"."}
	}
	if c.count > 1 {
		c.unused = append(c.unused, "-count")
	}
	for _, check := range []func() error{c.checkNumbers, c.takeModel, c.chooseMachine} {
		if err := check(); err != nil {
			return err
		}
	}
	if !slices.Contains(gotest.Engines, gotest.Engine(c.search)) {
		return fmt.Errorf("-search %s: want %s", c.search, searches())
	}
	c.explore.NoLeaks = c.command == "test" && !c.leaks
	if c.selected, err = gosrc.Selection(c.run, c.skip); err != nil {
		return err
	}
	c.explore.Run, c.explore.Skip, c.explore.Short = c.run, c.skip, c.short
	if c.list != "" {
		if c.listRE, err = regexp.Compile(c.list); err != nil {
			return fmt.Errorf("-list: %w", err)
		}
	}
	return nil
}

// refuse refuses the flags of go test that have no meaning here, with the reason.
func (c *config) refuse(args []string) error {
	for _, a := range args {
		if a == "--" || a == "-args" || a == "--args" {
			break
		}
		name, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
		name = strings.TrimPrefix(name, "test.")
		if why, ok := refused[name]; ok && strings.HasPrefix(a, "-") && c.Lookup(name) == nil {
			return fmt.Errorf("-%s is a flag of go test that has no meaning here: %s", name, why)
		}
	}
	return nil
}

// ofProgram divides the arguments into ours and those of the program, which follow -args or, for
// a main package, --.
func (c *config) ofProgram(args []string) (ours, program []string) {
	i := slices.IndexFunc(args, func(a string) bool {
		if c.command != "test" {
			return a == "--"
		}
		return a == "-args" || a == "--args"
	})
	if i < 0 {
		return args, nil
	}
	return args[:i], args[i+1:]
}

// checkNumbers refuses values that are out of range, and empty file names.
func (c *config) checkNumbers() error {
	switch {
	case c.count < 1 && c.command == "test":
		return fmt.Errorf("-count %d: want at least 1", c.count)
	case c.workers < 1 || c.workers > maxWorkers:
		return fmt.Errorf("-workers %d: want 1 to %d", c.workers, maxWorkers)
	case c.timeout < 0:
		return fmt.Errorf("-timeout %v: the time must not be negative", c.timeout)
	case c.Given("trace") && c.trace == "":
		return errors.New("-trace needs a file name")
	case c.Given("replay") && c.replay == "":
		return errors.New("-replay needs a file name")
	case c.Given("sarif") && c.sarif == "":
		return errors.New("-sarif needs a file name")
	case c.sarif != "" && c.sarif == c.trace:
		return errors.New("-sarif and -trace name the same file")
	case c.sarif != "" && (c.replay != "" || c.list != ""):
		return errors.New("-sarif reports a search, but -replay and -list make none")
	}
	return nil
}

// takeModel reads the flags that say how a program is explored: time, granularity, choices.
func (c *config) takeModel() error {
	switch c.time {
	case "auto", "any", "idle":
		c.explore.Time = gosrc.Time(c.time)
	default:
		return fmt.Errorf("-time %s: want auto, any or idle", c.time)
	}
	switch g := gosrc.Granularity(c.grain); g {
	case gosrc.Synchronisation, gosrc.MemoryAccesses:
		c.explore.Granularity = g
	default:
		return fmt.Errorf("-granularity %s: want sync or memory", c.grain)
	}
	for what := range strings.SplitSeq(c.choices, ",") {
		switch what {
		case "map":
			c.explore.Maps = true
		case "rand":
			c.explore.Draws = true
		default:
			if c.choices != "" {
				return fmt.Errorf("-choices %s: want map, rand, or map,rand", c.choices)
			}
		}
	}
	return nil
}

// chooseMachine chooses the machine. The native one cannot do everything.
func (c *config) chooseMachine() error {
	why := c.needsInterpreter()
	switch {
	case c.command != "test", c.machine == autoMachine && why != "":
		c.machine = interpreted
	case c.machine == nativeMachine && why != "":
		return fmt.Errorf("%s (-machine interpreted)", why)
	case !slices.Contains([]string{autoMachine, interpreted, nativeMachine}, c.machine):
		return fmt.Errorf("-machine %s: want auto, interpreted or native", c.machine)
	}
	return nil
}

// needsInterpreter says why the tests have to be interpreted; empty if they need not.
func (c *config) needsInterpreter() string {
	switch {
	case c.choices != "":
		return "-choices is for the interpreter: natively, loops range over maps in one order, " +
			"and random numbers are always the same"
	case c.explore.Granularity != gosrc.Synchronisation:
		return "-granularity memory is for the interpreter: natively, goroutines are interrupted " +
			"before what synchronizes"
	case c.search == string(gotest.Full) || c.search == string(gotest.Cartesian):
		return "-search " + c.search + " stores states, which only the interpreter can"
	case strings.Contains(c.run, "/") || strings.Contains(c.skip, "/"):
		return "-run and -skip of subtests are for the interpreter: natively, a test runs with " +
			"all its subtests"
	}
	return ""
}

// searches lists the engines.
func searches() string {
	names := make([]string, len(gotest.Engines))
	for i, e := range gotest.Engines {
		names[i] = string(e)
	}
	return strings.Join(names, ", ")
}

// help prints the help of the command: all of it, or the most common flags.
func help(w io.Writer, c *config, all bool) {
	if c.command == "test" {
		fmt.Fprintln(w, `usage: cpor test [flags] [packages] [-args ...]

Explores Go tests under every schedule that matters. It finds packages and tests
as go test does. Each test either passes under every schedule, or fails with a
schedule that deadlocks, races, panics, leaks a goroutine or fails. Flags may
come before or after the packages. Arguments after -args go to the tests.`)
	} else {
		fmt.Fprintln(w, `usage: cpor run [flags] PACKAGE [-- arguments of the program]

Explores a Go main package (a directory such as ./cmd/worker) under every
schedule that matters.`)
	}
	if all || c.command != "test" {
		c.Describe(w)
	} else {
		c.DescribeCommon(w)
	}
	if c.command == "test" {
		fmt.Fprintln(w, `
A package that has passed is not explored again until something changes: this is
"(cached)", as with go test. CPORCACHE names the directory that keeps the
passes; CPORCACHE=off keeps none. Tests that ran natively are always explored
again.`)
	}
	fmt.Fprintln(w, `
Exit codes: 0 every schedule of every test was covered, 1 a failure, 2 a mistake
in the command or the package, or a program that cannot be explored, 3
incomplete.`)
}
