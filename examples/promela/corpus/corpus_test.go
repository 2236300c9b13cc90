package corpus

import (
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cpor/engine"
	_ "cpor/engine/all" // the engines
	"cpor/frontend"
	_ "cpor/frontend/model" // the languages
	_ "cpor/frontend/promela"
	"cpor/system"
)

var (
	update = flag.Bool(
		"update",
		false,
		"write runs.csv anew with what SPIN says; needs spin and a C compiler",
	)
	large = flag.Bool("large", false, "also the runs of more than 5,000 states")
	only  = flag.String("only", "", "only the `models` whose names contain this")
)

// bound returns how many states a run of this test may have.
func bound() uint64 {
	switch {
	case testing.Short():
		return 1_000
	case *large:
		return 1 << 62
	}
	return 5_000
}

func runs(t *testing.T) []Run {
	t.Helper()
	all, err := Runs()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(r Run) bool { return !strings.Contains(r.Model, *only) })
}

// weight is about how many states a run has. SPIN's counts of the checks of cycles say
// little; the model's safety check has as many within a small factor.
func weight(all []Run, r *Run) uint64 {
	if r.Check == Safety {
		return r.States
	}
	for _, s := range all {
		if s.Check == Safety && s.Model == r.Model && slices.Equal(s.Defines, r.Defines) {
			return 3 * s.States
		}
	}
	return 0
}

func load(r *Run) (*frontend.Program, error) { return loadAs(r, "pure") }

// loadTwin loads the twin of a model in cpor's language; nil: it has none.
func loadTwin(r *Run) (*frontend.Program, error) {
	if _, err := Twin(r.Model); err != nil {
		return nil, nil
	}
	return frontend.Load(r.Model+".model", frontend.Options{Params: r.constants()})
}

// constants are the macros of a run by name.
func (r *Run) constants() map[string]string {
	params := map[string]string{}
	for _, d := range r.Defines {
		name, value, _ := strings.Cut(d, "=")
		params[name] = value
	}
	return params
}

// loadAs loads a model with a way in which statements become steps.
func loadAs(r *Run, semantics string) (*frontend.Program, error) {
	return frontend.Load(
		r.Model+".pml",
		frontend.Options{Params: r.constants(), Flags: map[string]string{"semantics": semantics}},
	)
}

// TestRuns checks states, transitions and verdicts of the engines against SPIN's.
func TestRuns(t *testing.T) {
	all := runs(t)
	done, differ := 0, 0
	for i := range all {
		r := &all[i]
		if weight(all, r) > bound() {
			continue
		}
		done++
		if err := check(r, weight(all, r) <= 20_000); err != nil {
			differ++
			t.Errorf("%s: %v", r.Name(), err)
		}
	}
	t.Logf("%d of %d runs, %d differences", done, len(all), differ)
}

// check runs cpor, and returns how it differs from SPIN. If every is set, temporal properties are
// also checked with each reduction, which fairness forbids.
func check(r *Run, every bool) error {
	if err := checkAs(r, "none", 2); err != nil || r.Check == Safety || !every ||
		strings.HasSuffix(r.Check, " fair") {
		return err
	}
	for _, e := range engine.Entries("") {
		if !engine.LookupMode(e.Mode).Temporal || !e.Reduces {
			continue
		}
		for workers := 1; workers <= 2; workers++ {
			if err := checkAs(r, e.Name, workers); err != nil {
				return fmt.Errorf("%s, workers: %d: %w", e.Name, workers, err)
			}
		}
	}
	return nil
}

// checkAs is check with one reduction.
func checkAs(r *Run, reduction string, workers int) error {
	p, err := load(r)
	if err != nil {
		return err
	}
	task := engine.Task{System: p.System}
	task.Workers = workers
	what, fair := strings.CutSuffix(r.Check, " fair")
	mode := ""
	if what == Safety {
		task.All = true
	} else {
		name, _ := strings.CutPrefix(what, "ltl ")
		if what == "acceptance" {
			name = "no-acceptance"
		}
		k := slices.IndexFunc(p.Properties,
			func(q frontend.Property) bool { return q.Name == name })
		if k < 0 {
			return fmt.Errorf("there is no property %s", name)
		}
		q := &p.Properties[k]
		prop := engine.Property{Name: q.Name, Formula: q.Formula, Pos: q.Pos, Text: q.Text,
			Kind: q.Kind, System: q.System}
		for _, x := range q.Predicates {
			prop.Predicates = append(prop.Predicates, engine.Predicate(x))
		}
		task.Properties = []engine.Property{prop}
	}
	for _, m := range engine.Modes() {
		if m.Temporal == (what != Safety) && (m.Temporal || m.Default) {
			mode = m.Name
		}
	}
	e, err := engine.Lookup(mode, reduction)
	if err != nil {
		return err
	}
	task.Flags = &engine.Values{}
	if k := slices.IndexFunc(e.Flags, func(f engine.Flag) bool {
		return f.About().Name == "fair"
	}); fair {
		if err := task.Flags.Set(e.Flags[k], "true"); err != nil {
			return err
		}
	}
	res, err := e.Run(context.Background(), &task)
	if err != nil {
		return err
	}
	if violated := res.Verdict == engine.Violated; violated != r.Violated ||
		!violated && res.Verdict != engine.Pass {
		return fmt.Errorf("verdict %s, SPIN's is violated: %v", res.Verdict, r.Violated)
	}
	if what != Safety {
		return nil
	}
	// Counts as the command prints them for languages that count edges.
	if transitions := res.Transitions - res.BlockedLoops + 1; res.States != r.States ||
		transitions != r.Transitions {
		return fmt.Errorf(
			"%d states and %d transitions, SPIN %d and %d",
			res.States,
			transitions,
			r.States,
			r.Transitions,
		)
	}
	return nil
}

// TestErrors counts errors as pan -c0 does, in a search of its own: one for each transition
// with a violation, and for each invalid end state.
func TestErrors(t *testing.T) {
	for _, r := range runs(t) {
		if r.Check != Safety || r.States > min(bound(), 20_000) {
			continue
		}
		p, err := load(&r)
		if err != nil {
			t.Errorf("%s: %v", r.Name(), err)
			continue
		}
		if got := countErrors(p.System); got != r.Errors {
			t.Errorf("%s: %d errors, SPIN %d", r.Name(), got, r.Errors)
		}
	}
}

// TestReductions holds the verdicts of all reductions to SPIN's: on models as they are, with
// merged steps, and on their twins, which all engines explore. It takes a fortieth of the runs, or
// with -large all of up to 50,000 states.
func TestReductions(t *testing.T) {
	all := runs(t)
	done := 0
	for i := range all {
		r := &all[i]
		if r.Check != Safety || r.States > 20_000 && !*large || r.States > 50_000 ||
			!*large && *only == "" && i%40 != 0 {
			continue
		}
		for what, load := range map[string]func() (*frontend.Program, error){
			"pure":   func() (*frontend.Program, error) { return loadAs(r, "pure") },
			"merged": func() (*frontend.Program, error) { return loadAs(r, "merged") },
			"twin":   func() (*frontend.Program, error) { return loadTwin(r) },
		} {
			p, err := load()
			if err != nil {
				t.Errorf("%s, %s: %v", r.Name(), what, err)
			}
			if p == nil {
				continue
			}
			whole := p.System.Capabilities().Irreducible
			for _, e := range engine.Entries("") {
				if e.Reduces && whole != nil && whole.Irreducible(false) != "" {
					continue // timeout and its like depend on all processes
				}
				switch m := engine.LookupMode(e.Mode); {
				case m.Temporal, what != "twin" && (!m.Default || !e.Reduces),
					e.Preserves&engine.Locals == 0, e.Unmet(p.System) != nil:
					continue
				}
				done++
				if err := sameVerdict(e, p.System, r); err != nil {
					t.Errorf("%s, %s, %s %s: %v", r.Name(), what, e.Mode, e.Name, err)
				}
			}
		}
	}
	t.Logf("%d searches", done)
}

// sameVerdict explores a run's system, and returns how the verdict differs from SPIN's.
func sameVerdict(e *engine.Entry, sys system.System, r *Run) error {
	task := engine.Task{System: sys, Flags: &engine.Values{}}
	task.Workers, task.All, task.MinimizeTime = 1, true, 1
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	res, err := e.Run(ctx, &task)
	var refusal *engine.Refusal
	if errors.As(err, &refusal) {
		return nil // it says why
	}
	if err != nil {
		return err
	}
	if violated := res.Verdict == engine.Violated; violated && !r.Violated ||
		res.Verdict == engine.Pass && r.Violated ||
		res.Verdict == engine.Incomplete && ctx.Err() == nil {
		return fmt.Errorf("verdict %s; SPIN's is violated: %v", res.Verdict, r.Violated)
	}
	return nil
}

// TestMerged searches with merged semantics: the verdict is SPIN's, and there are not more
// states than it has.
func TestMerged(t *testing.T) {
	mode := ""
	for _, m := range engine.Modes() {
		if m.Default {
			mode = m.Name
		}
	}
	e, err := engine.Lookup(mode, "none")
	if err != nil {
		t.Fatal(err)
	}
	var pure, merged uint64
	for _, r := range runs(t) {
		if r.Check != Safety || r.States > min(bound(), 200_000) {
			continue
		}
		p, err := loadAs(&r, "merged")
		if err != nil {
			t.Errorf("%s: %v", r.Name(), err)
			continue
		}
		task := engine.Task{System: p.System, Flags: &engine.Values{}}
		task.Workers, task.All = 2, true
		res, err := e.Run(context.Background(), &task)
		if err != nil {
			t.Errorf("%s: %v", r.Name(), err)
			continue
		}
		if violated := res.Verdict == engine.Violated; violated != r.Violated ||
			!violated && res.Verdict != engine.Pass ||
			res.States > r.States {
			t.Errorf(
				"%s: verdict %s and %d states, SPIN's is violated: %v, and %d states",
				r.Name(),
				res.Verdict,
				res.States,
				r.Violated,
				r.States,
			)
		}
		t.Logf("%s: %d states instead of %d", r.Name(), res.States, r.States)
		pure, merged = pure+r.States, merged+res.States
	}
	if *only == "" && merged*10 > pure*9 {
		t.Errorf("%d states instead of %d", merged, pure)
	}
}

func countErrors(sys system.System) (errors uint64) {
	m := sys.NewMachine()
	seen := map[string]bool{}
	var work []system.State
	visit := func(s system.State) {
		if k := engine.StateString(s); !seen[k] {
			seen[k] = true
			work = append(work, slices.Clone(s))
		}
	}
	for _, s := range sys.Initial() {
		visit(s)
	}
	for len(work) > 0 {
		m.Load(work[len(work)-1])
		work = work[:len(work)-1]
		mark := m.Mark()
		moved, stuck := false, false
		for thread := range m.NumThreads() {
			for alt, more := uint64(0), true; more; {
				out := m.Step(thread, alt)
				if out.Kind == system.Moved {
					moved = true
					if out.Violation != nil {
						errors++
					}
					visit(m.Encode(nil))
				}
				stuck = stuck || out.Kind == system.Blocked && !out.AtEnd
				m.Rewind(mark)
				alt, more = out.Next, out.Next != 0
			}
		}
		if !moved && stuck {
			errors++
		}
	}
	return errors
}

// TestTable holds the table to what its readers rely on.
func TestTable(t *testing.T) {
	all, err := Runs()
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	names := map[string]bool{}
	for _, r := range all {
		used[r.Model+".pml"] = true
		if names[r.Name()] {
			t.Errorf("%s stands there twice", r.Name())
		}
		names[r.Name()] = true
		if r.Check == Safety && (r.States == 0 || r.Reduced == 0 ||
			r.Violated != (r.Errors > 0)) {
			t.Errorf("%s: %+v", r.Name(), r)
		}
	}
	files, err := filepath.Glob("*.pml")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !used[f] {
			t.Errorf("%s is not in the table", f)
		}
	}
	if len(files) < 60 || len(files) != len(used) {
		t.Errorf("%d files, %d models in the table", len(files), len(used))
	}
}

// TestSpin runs SPIN on the table: on small runs, to see that the table is right; on all,
// and writes them, with -update.
func TestSpin(t *testing.T) {
	if testing.Short() && !*update {
		t.Skip("compiles SPIN's verifiers")
	}
	cc := ""
	for _, c := range []string{"tcc", "gcc", "cc"} {
		if path, err := exec.LookPath(c); err == nil && cc == "" {
			cc = path
		}
	}
	if _, err := exec.LookPath("spin"); err != nil || cc == "" {
		if *update {
			t.Fatal("spin and a C compiler are needed (on Debian: apt-get install spin gcc)")
		}
		t.Skip("LEFT OUT: spin or a C compiler is not installed, so the table is not compared " +
			"with SPIN here")
	}
	all, err := Runs()
	if err != nil {
		t.Fatal(err)
	}
	step := 200 // the compiler takes seconds
	if *large {
		step = 25
	}
	lines := [][]string{Header}
	for i := range all {
		r := &all[i]
		switch chosen := strings.Contains(r.Model, *only); {
		case *update && chosen && (r.States == 0 || r.Reduced == 0 || *large ||
			r.States <= bound()):
			got, err := askSpin(t, cc, r)
			if err != nil {
				t.Errorf("%s: %v", r.Name(), err)
			} else {
				*r = *got
			}
		case !*update && chosen && i%step == 0 && weight(all, r) <= 20_000:
			if got, err := askSpin(t, cc, r); err != nil || got.line() != r.line() {
				t.Errorf("%s: %v, SPIN %+v %v", r.Name(), r, got, err)
			}
		}
		lines = append(lines, strings.Split(r.line(), "|"))
	}
	if !*update {
		return
	}
	f, err := os.Create("runs.csv")
	if err != nil {
		t.Fatal(err)
	}
	if err := csv.NewWriter(f).WriteAll(lines); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// line returns the fields of a run.
func (r *Run) line() string {
	fields := []string{r.Model, strings.Join(r.Defines, " "), r.Check, "", "", "", "", "holds"}
	if r.Check == Safety {
		for i, n := range []uint64{r.States, r.Transitions, r.Errors, r.Reduced} {
			fields[3+i] = strconv.FormatUint(n, 10)
		}
	}
	if r.Violated {
		fields[7] = "violated"
	}
	return strings.Join(fields, "|")
}

var (
	stored      = regexp.MustCompile(`(?m)^\s*(\d+) states, stored`)
	transitions = regexp.MustCompile(`(?m)^\s*(\d+) transitions \(`)
	errorCount  = regexp.MustCompile(`errors: (\d+)`)
)

// askSpin runs SPIN, the compiler and the verifier.
func askSpin(t *testing.T, cc string, r *Run) (*Run, error) {
	dir := t.TempDir()
	text, err := Text(r.Model)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "m.pml"), text, 0o666); err != nil {
		return nil, err
	}
	run := func(name string, args ...string) (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	// verify makes a verifier and runs it.
	verify := func(options, flags, pan []string) (string, error) {
		for _, d := range r.Defines {
			options = append(options, "-D"+d)
		}
		os.Remove(filepath.Join(dir, "pan.c"))
		out, err := run("spin", append(options, "-a", "m.pml")...)
		if _, statErr := os.Stat(filepath.Join(dir, "pan.c")); err != nil || statErr != nil {
			return "", fmt.Errorf("spin: %v: %s", err, out)
		}
		flags = append(flags, "-DVECTORSZ=8192", "-w", "-o", "pan", "pan.c")
		if out, err := run(cc, flags...); err != nil {
			return "", fmt.Errorf("%s: %v: %s", cc, err, out)
		}
		out, err = run("./pan", append(pan, "-m2000000", "-w22")...)
		if errorCount.FindString(out) == "" || strings.Contains(out, "max search depth") ||
			strings.Contains(out, "aborting") {
			return "", fmt.Errorf("pan: %v: %s", err, out)
		}
		return out, nil
	}
	what, fair := strings.CutSuffix(r.Check, " fair")
	flags := []string{"-DNOREDUCE"}
	var pan []string
	switch {
	case what == Safety:
		flags = append(flags, "-DSAFETY", "-DNOCLAIM")
		pan = []string{"-n", "-c0"}
	case what == "progress":
		flags = append(flags, "-DNP", "-DNOCLAIM")
		pan = []string{"-l"}
	case what == "acceptance":
		flags = append(flags, "-DNOCLAIM")
		pan = []string{"-a"}
	default:
		pan = []string{"-a", "-N", strings.TrimPrefix(what, "ltl ")}
	}
	if fair {
		flags = append(flags, "-DNFAIR=4")
		pan = append(pan, "-f")
	}
	out, err := verify([]string{"-o1", "-o2", "-o3"}, flags, pan)
	if err != nil {
		return nil, err
	}
	figure := func(re *regexp.Regexp) uint64 {
		if m := re.FindStringSubmatch(out); m != nil {
			n, _ := strconv.ParseUint(m[1], 10, 64)
			return n
		}
		return 0
	}
	got := *r
	got.Errors = figure(errorCount)
	got.Violated = got.Errors > 0
	if what == Safety {
		got.States, got.Transitions = figure(stored), figure(transitions)
		if out, err = verify(nil, []string{"-DSAFETY", "-DNOCLAIM"}, pan); err != nil {
			return nil, err
		}
		if got.Reduced = figure(stored); got.Violated != (figure(errorCount) > 0) {
			return nil, fmt.Errorf("SPIN's own reduction changes the verdict: %s", out)
		}
	} else {
		got.Errors = 0
	}
	return &got, nil
}
