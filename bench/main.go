package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/agext/levenshtein"
	"github.com/shirou/gopsutil/v4/mem"

	"cpor/benchmarks"
	"cpor/engine"
	"cpor/internal/cliflag"
	"cpor/internal/sibling"
)

// The exit codes of the command.
const (
	// everything that was asked for was measured or has its reason in the report
	exitDone        = 0
	exitUnexpected  = 1 // a figure is wrong
	exitMistake     = 2 // a mistake in the command
	exitInterrupted = 3 // stopped, or nothing could be measured
)

// options are what the command line says.
type options struct {
	limit     time.Duration
	limited   bool // it was given
	rounds    int
	dir       string
	workers   int
	maxMemory uint64
	por       string
	params    benchmarks.Params
	large     bool
	simulate  int
	trans     uint64
	given     []string // of the flags that only some tables use
	args      []string
}

// Main is the sub-command `cpor bench`: args are its arguments. The report goes
// to stdout and to a directory, progress and what could not be measured to
// stderr. When ctx ends, Main ends soon and leaves valid files with what it
// has. It returns the exit code: 0 measured, 1 a figure is wrong,
// 2 a mistake in the command, 3 interrupted or nothing could be measured.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return run(ctx, args, stdout, stderr, nil)
}

// run is Main with a runner; nil means processes of the installed cpor.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, runner Runner) int {
	complain := func(format string, a ...any) int {
		fmt.Fprintf(stderr, "cpor bench: %s\n", fmt.Sprintf(format, a...))
		return exitMistake
	}
	o, err := parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return exitDone
	}
	if err != nil {
		return complain("%v (see \"cpor bench -h\")", err)
	}
	chosen, names, unknown := o.choose()
	code := exitDone
	for _, u := range unknown {
		code = complain("%s", u)
	}
	if len(chosen) == 0 {
		return exitMistake
	}
	if err := o.unused(chosen); err != nil {
		return complain("%v", err)
	}
	if runner == nil {
		exe, _, err := sibling.Path("cpor")
		if err != nil {
			return complain("%v", err)
		}
		p, err := newProcessRunner(exe)
		if err != nil {
			return complain("%v", err)
		}
		defer p.close()
		runner = p
	}
	if err := prepare(o.dir); err != nil {
		return complain("-o: %v", err)
	}
	s := &Session{
		Names: names, Params: o.params, POR: o.por, Workers: o.workers, Limit: o.limit,
		MaxMemory: o.memory(), Large: o.large, Transitions: o.trans, Simulate: o.simulate,
		rounds: o.rounds, limited: o.limited, runner: runner, dir: o.dir, stderr: stderr,
		results: &Results{
			Command:      args,
			Machine:      thisMachine(),
			Start:        time.Now(),
			Notes:        []string{},
			Unexpected:   []string{},
			Measurements: []Measurement{},
		},
		written: time.Now(),
	}
	s.sections = func(rs *Results) []Section {
		var all []Section
		for _, t := range chosen {
			all = append(all, t.Report(ofTable(rs, t.Name), rs.Machine)...)
		}
		return all
	}
	s.progress = newProgress(stderr)
	for _, t := range chosen {
		if ctx.Err() != nil {
			break
		}
		s.table = t.Name
		if err := t.Run(ctx, s); err != nil && ctx.Err() == nil {
			s.Note("%s: %v", t.Name, err)
		}
	}
	s.progress.close()
	s.results.Complete = ctx.Err() == nil
	s.write(true)
	for _, t := range chosen {
		writeSections(stdout, t.Report(ofTable(s.results, t.Name), s.results.Machine))
	}
	if s.err != nil {
		return complain("cannot write the results: %v", s.err)
	}
	return s.conclude(stdout, ctx.Err() != nil, code)
}

// conclude prints where the results are and what was not expected, and returns the exit code:
// code if all else is well.
func (s *Session) conclude(stdout io.Writer, stopped bool, code int) int {
	fmt.Fprintf(stdout, "\nThe results are in %s; open %s.\n", s.dir,
		filepath.Join(s.dir, htmlFile))
	for _, u := range s.results.Unexpected {
		fmt.Fprintf(stdout, "UNEXPECTED: %s\n", u)
	}
	measured := slices.ContainsFunc(s.results.Measurements, func(m Measurement) bool {
		return m.Status == Done
	})
	switch {
	case len(s.results.Unexpected) > 0:
		return exitUnexpected
	case stopped:
		fmt.Fprintln(stdout, "The run was stopped; the results are what was measured until then.")
		return exitInterrupted
	case code != exitDone:
		return code
	case !measured:
		return exitInterrupted
	}
	return exitDone
}

// ofTable returns the measurements of one table.
func ofTable(rs *Results, name string) []Measurement {
	var ms []Measurement
	for _, m := range rs.Measurements {
		if m.Table == name {
			ms = append(ms, m)
		}
	}
	return ms
}

func parse(args []string, stdout io.Writer) (*options, error) {
	o := &options{}
	f := cliflag.New("bench")
	f.DurationVar(&o.limit, "limit", 60*time.Second,
		"end a run after this `time`; its row then says so (in reduction 10s by itself)")
	f.IntVar(&o.rounds, "rounds", 0, "repeat each run `n` times (default: 3, in peers 5; in "+
		"table1 runs over 2 s only once)")
	f.StringVar(&o.dir, "o", "", "write the results to this new or empty `directory` (default "+
		"bench-results/DATE-TIME)")
	f.IntVar(&o.workers, "workers", runtime.NumCPU(), "the `number` of workers")
	f.Var((*cliflag.Size)(&o.maxMemory), "max-memory",
		"end a run before it takes more memory than this `size` (default: 80% of what is free)")
	f.StringVar(&o.por, "por", "", "the `reduction` of the runs of scale, or the only one of "+
		"compare and reduction, as in cpor run")
	f.Func("D", "take only rows with NAME=VALUE; in scale, compare and peers, run the model with "+
		"it: -D `NAME=VALUE`", func(s string) error {
		name, value, err := cliflag.Assignment(s)
		if err == nil {
			o.params = append(o.params, benchmarks.Param{Name: name, Value: value})
		}
		return err
	})
	f.BoolVar(&o.large, "large", false, "in peers, run also a model with 43 million states, "+
		"which takes minutes a run")
	f.IntVar(&o.simulate, "simulate", 0, "in scale, predict the speed-up with up to `n` workers, "+
		"2 to 64, by a model of the caches, and show which shared memory is hot")
	f.Uint64Var(&o.trans, "transitions", 1_000_000, "in siegel, let N grow while a graph has at "+
		"most this `number` of transitions")
	var err error
	if o.args, err = f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			usage(stdout, f)
		}
		return nil, err
	}
	o.limited = f.Given("limit")
	for _, name := range flagsOfSome() {
		if f.Given(name) {
			o.given = append(o.given, name)
		}
	}
	simulates := slices.Contains(o.given, "simulate")
	if o.por != "" && !slices.Contains(engine.Names(""), o.por) {
		return nil, fmt.Errorf("-por %s: %w", o.por, engine.Unknown("", o.por))
	}
	switch {
	case o.limit <= 0:
		return nil, fmt.Errorf("-limit %v: the time must be above 0", o.limit)
	case o.rounds < 0 || o.rounds > 1000:
		return nil, fmt.Errorf("-rounds %d: want 1 to 1000", o.rounds)
	case simulates && (o.simulate < 2 || o.simulate > mostWorkers):
		return nil, fmt.Errorf("-simulate %d: want 2 to %d", o.simulate, mostWorkers)
	case simulates && f.Given("workers"):
		return nil, errors.New("-workers has no effect with -simulate: write -simulate N")
	case o.workers < 1 || o.workers > 4096:
		return nil, fmt.Errorf("-workers %d: want 1 to 4096", o.workers)
	}
	if o.dir == "" {
		o.dir = filepath.Join("bench-results", time.Now().Format("2006-01-02-150405"))
	}
	return o, nil
}

// flagsOfSome returns the flags that tables name as theirs.
func flagsOfSome() []string {
	var names []string
	for _, t := range tables {
		names = append(names, t.Flags...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// unused says which flag was given and is not used by any of the chosen tables.
func (o *options) unused(chosen []Table) error {
	if o.simulate > 0 && (len(chosen) > 1 || chosen[0].Name != scale.Name) {
		return fmt.Errorf("-simulate is a flag of scale: cpor bench scale -simulate %d", o.simulate)
	}
	for _, name := range o.given {
		uses := func(t Table) bool { return slices.Contains(t.Flags, name) }
		if slices.ContainsFunc(chosen, uses) {
			continue
		}
		var theirs, others []string
		for _, t := range chosen {
			theirs = append(theirs, t.Name)
		}
		for _, t := range tables {
			if uses(t) {
				others = append(others, t.Name)
			}
		}
		return fmt.Errorf("-%s has no effect on %s: it is a flag of %s", name,
			strings.Join(theirs, ", "), strings.Join(others, ", "))
	}
	return nil
}

func usage(w io.Writer, f *cliflag.Set) {
	fmt.Fprintln(w, `usage: cpor bench [TABLE...] [NAME...] [flags]

Measures tables, and shows the papers' or other tools' figures beside them. The
default table is table1. Names select rows of these benchmarks; compare and scale
also take model files.

Tables:`)
	for _, t := range tables {
		fmt.Fprintf(w, "  %-12s%s\n", t.Name, t.Summary)
	}
	var names []string
	for _, t := range tables {
		for _, n := range t.Benchmarks() {
			if t.Name != reductionTable.Name && !strings.HasPrefix(n, systemPrefix) &&
				!slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	fmt.Fprintf(w, "\n%s\n", wrapNames("Names: "+strings.Join(names, ", ")+"; in "+
		"peers also systems/NAME for one of the systems of benchmarks/systems, in "+
		"reduction also examples/NAME and examples/promela/NAME for the models of examples, "+
		"the names of the models of examples/promela/corpus, and twins/NAME for their twins in "+
		"cpor's language."))
	f.Describe(w)
	fmt.Fprintln(w, `
The results go to a directory: results.json, results.csv, benchmarks.txt for
benchstat, and report.html, a page with tables and plots.

Exit codes: 0 measured, 1 a figure is wrong, 2 a mistake in the
command, 3 interrupted, or nothing could be measured.`)
}

func wrapNames(names string) string { return strings.ReplaceAll(wrap(names), "\n", "\n  ") }

// known returns the names of the benchmarks of all tables.
func known() []string {
	var names []string
	for _, t := range tables {
		for _, n := range t.Benchmarks() {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}

// sort sorts the arguments into tables and names, and says what is neither.
func (o *options) sort() (chosen []Table, names, unknown []string) {
	for _, a := range o.args {
		if i := slices.IndexFunc(tables, func(t Table) bool { return t.Name == a }); i >= 0 {
			if !slices.ContainsFunc(chosen, func(t Table) bool { return t.Name == a }) {
				chosen = append(chosen, tables[i])
			}
			continue
		}
		if isFile(a) {
			if _, err := os.Stat(a); err != nil {
				unknown = append(unknown, fmt.Sprintf("%s: no such file", a))
				continue
			}
			names = append(names, a)
			continue
		}
		if slices.Contains(known(), a) {
			names = append(names, a)
			continue
		}
		candidates := slices.DeleteFunc(known(), func(n string) bool {
			return strings.HasPrefix(n, systemPrefix) && !strings.HasPrefix(a, systemPrefix)
		})
		for _, t := range tables {
			candidates = append(candidates, t.Name)
		}
		unknown = append(unknown, fmt.Sprintf("unknown table or benchmark %q%s", a,
			didYouMean(a, candidates)))
	}
	return chosen, names, unknown
}

// defaultTables returns the tables that know the names: table1 before others.
func defaultTables(names []string) []Table {
	var chosen []Table
	for _, t := range tables {
		ok := len(names) == 0 && t.Name == table1.Name
		for _, n := range names {
			ok = ok || slices.Contains(t.Benchmarks(), n) && !t.Files && !t.Asked ||
				onlyPeers(n) && t.Name == peers.Name || isFile(n) && t.Name == scale.Name
		}
		if ok {
			chosen = append(chosen, t)
		}
	}
	return chosen
}

// choose chooses the tables and the models, and says what is neither.
// Names without a table choose the tables that know them.
func (o *options) choose() (chosen []Table, names, unknown []string) {
	chosen, names, unknown = o.sort()
	if i := slices.IndexFunc(names, isFile); i >= 0 {
		chosen = slices.DeleteFunc(chosen, func(t Table) bool {
			if t.Files {
				return false
			}
			unknown = append(unknown,
				fmt.Sprintf("%s has rows of its own: models of yours are measured by cpor bench "+
					"%s %s", t.Name, compare.Name, names[i]))
			return true
		})
		if len(unknown) > 0 {
			return chosen, names, unknown
		}
	}
	for _, t := range chosen {
		if t.Named && len(names) == 0 {
			unknown = append(unknown, fmt.Sprintf("%s needs models: cpor bench %s my.model", t.Name,
				t.Name))
			return nil, nil, unknown
		}
	}
	if len(chosen) > 0 || len(unknown) > 0 && len(names) == 0 {
		return chosen, names, unknown
	}
	return defaultTables(names), names, unknown
}

// didYouMean returns a hint at the nearest candidate, or the candidates if none
// is near.
func didYouMean(name string, candidates []string) string {
	best, at := 3, ""
	for _, c := range candidates {
		if d := levenshtein.Distance(strings.ToLower(name), c, nil); d < best &&
			d < max(len(name), len(c)) {
			best, at = d, c
		}
	}
	if at == "" {
		return "; there are " + strings.Join(candidates, ", ")
	}
	return "; did you mean " + at + "?"
}

// memory returns what a run may take: as the user said, or most of what is free.
func (o *options) memory() uint64 {
	if o.maxMemory > 0 {
		return o.maxMemory
	}
	v, err := mem.VirtualMemory()
	if err != nil {
		return 0
	}
	return v.Available / 10 * 8
}

// prepare makes the directory of the results. It must be new or empty, so that
// nothing that took hours is overwritten.
func prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == jsonFile {
			return fmt.Errorf("%s has results already; choose another directory", dir)
		}
	}
	probe, err := os.CreateTemp(dir, ".probe-")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}
