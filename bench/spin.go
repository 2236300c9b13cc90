package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cpor/benchmarks"
)

// spin drives SPIN: it makes verifiers from Promela files and runs them.
type spin struct {
	spin string // path of the program
	cc   string // path of a C compiler
	dir  string // for everything it writes; removed by close
}

// findSpin looks for SPIN and a C compiler on the PATH. The error says what is
// missing and how to get it.
func findSpin() (*spin, error) {
	path, err := exec.LookPath("spin")
	if err != nil {
		return nil, errors.New("spin is not on the PATH (on Debian: apt-get install spin)")
	}
	s := &spin{spin: path}
	if s.cc = findCC(); s.cc == "" {
		return nil, errors.New("there is spin, but no C compiler on the PATH (on Debian: apt-get " +
			"install gcc)")
	}
	s.dir, err = os.MkdirTemp("", "cpor-bench-spin-")
	return s, err
}

// findCC returns the path of a C compiler, or nothing.
func findCC() string {
	for _, cc := range []string{os.Getenv("CC"), "gcc", "cc", "clang"} {
		if cc == "" {
			continue
		}
		if path, err := exec.LookPath(cc); err == nil {
			return path
		}
	}
	return ""
}

func (s *spin) close() error { return os.RemoveAll(s.dir) }

// spinMode is one way to compile a verifier.
type spinMode struct {
	name  string
	flags []string
	exact bool     // explores exactly what cpor's full search explores
	args  []string // of the verifier
}

var spinModes = []spinMode{
	{name: "plain", flags: []string{"-DNOREDUCE"}, exact: true},
	{name: "collapse", flags: []string{"-DNOREDUCE", "-DCOLLAPSE"}, exact: true},
	{name: "reduced"},
}

// moreSpinModes are further ways: hash compaction, which may take two states for
// one, and those with several cores. Its breadth-first search with several cores always uses
// hash compaction.
func moreSpinModes(workers int) []spinMode {
	ms := []spinMode{{name: "hc4", flags: []string{"-DNOREDUCE", "-DHC4"}}}
	if n := strconv.Itoa(workers); workers > 1 {
		ms = append(ms,
			spinMode{name: "cores " + n, flags: []string{"-DNOREDUCE", "-DNCORE=" + n},
				exact: true},
			spinMode{name: "bfs " + n, flags: []string{"-DNOREDUCE", "-DBFS_PAR"}, args: []string{
				"-u" + n}})
	}
	return ms
}

// verifier is a compiled verifier with the limits that it needs.
type verifier struct {
	path  string
	depth int // -m, the length of the search's stack
	table int // -w, the logarithm of the length of the hash table; 0: what it has by itself
	args  []string
	check []string // what it looks for; nil: nothing but the assertions
	// Errors are no reason to distrust the figures: it ends at the first, or counts all.
	errors bool

	reached int // how long the stack became in the last run
}

// build makes a verifier. -o2 keeps SPIN from leaving variables out of the state
// that are never read, and -o3 from making one step of several local
// statements: both would change the number of states.
func (s *spin) build(ctx context.Context, model string, ps benchmarks.Params,
	m spinMode) (*verifier, error) {
	text, err := benchmarks.Promela(model)
	if err != nil {
		return nil, err
	}
	v, _, err := s.compile(ctx, model, text, ps, []string{"-o2", "-o3"},
		append([]string{"-DSAFETY"}, m.flags...))
	if v != nil {
		v.args = m.args
	}
	return v, err
}

// compile makes a verifier of a text, and returns how long SPIN and the compiler took
// together. flags are the compiler's besides -O3.
func (s *spin) compile(ctx context.Context, model string, text []byte, ps benchmarks.Params,
	options, flags []string) (*verifier, Outcome, error) {
	var out Outcome
	dir, err := os.MkdirTemp(s.dir, model+"-")
	if err != nil {
		return nil, out, err
	}
	if err := os.WriteFile(filepath.Join(dir, model+".pml"), text, 0o666); err != nil {
		return nil, out, err
	}
	args := slices.Clone(options)
	for _, p := range ps {
		args = append(args, "-D"+p.Name+"="+p.Value)
	}
	out, stdout, stderr, err := execute(ctx, dir, s.spin, append(args, "-a", model+".pml")...)
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, "pan.c"))
	}
	if err != nil {
		return nil, out, fmt.Errorf("spin: %s", lastLine(append(stdout, stderr...)))
	}
	args = append([]string{"-O3", "-w"}, flags...)
	cc, _, stderr, err := execute(ctx, dir, s.cc, append(args, "-o", "pan", "pan.c")...)
	if err != nil {
		return nil, out, fmt.Errorf("%s: %v: %s", s.cc, err, lastLine(stderr))
	}
	out.Status = Done
	out.Wall += cc.Wall
	out.CPU += cc.CPU
	out.PeakRSS = max(out.PeakRSS, cc.PeakRSS)
	return &verifier{path: filepath.Join(dir, "pan"), depth: 1 << 20, table: 20}, out, nil
}

// search tells a verifier what to look for: a property, or assertions, and if there are
// violations, all of them and invalid end states.
func (v *verifier) search(property string, violated bool) {
	v.check, v.errors = nil, violated
	switch {
	case property != "":
		v.check = []string{"-a", "-N", property}
	case violated:
		v.check = []string{"-c0"}
	}
}

// calibrate runs a verifier without measuring it, until its stack is long
// enough, and fits stack and hash table to what it needed: SPIN's speed and
// memory depend on both, and a user would do the same.
func (v *verifier) calibrate(ctx context.Context) Outcome {
	v.table = 24
	for {
		out := v.run(ctx)
		if out.Status == Limited && out.Reason == tooDeep && v.depth < 1<<30 {
			v.depth *= 8
			continue
		}
		if out.Status == Done {
			v.table = max(16, bits.Len64(out.States)+1)
			v.depth = v.reached + 1000
		}
		return out
	}
}

const tooDeep = "the search's stack is too short"

// run runs a verifier. -E leaves deadlocks out, as most of cpor's runs do.
func (v *verifier) run(ctx context.Context) Outcome {
	args := append([]string{"-n", "-m" + strconv.Itoa(v.depth)}, v.check...)
	if v.check == nil {
		args = append(args, "-E")
	}
	if v.table > 0 {
		args = append(args, "-w"+strconv.Itoa(v.table))
	}
	out, stdout, stderr, err := execute(ctx, filepath.Dir(v.path), v.path,
		append(args, v.args...)...)
	if out.Status == Interrupted {
		return out
	}
	if m := panDepth().FindSubmatch(stdout); m != nil {
		v.reached, _ = strconv.Atoi(string(m[1]))
	}
	parsed, perr := parsePan(stdout, v.errors)
	if perr != nil {
		out.Status, out.Reason = Failed, fmt.Sprintf("%v: %s (%v)", perr,
			lastLine(append(stdout, stderr...)), err)
		return out
	}
	parsed.Wall, parsed.CPU = out.Wall, out.CPU
	if parsed.Search < coarse {
		// SPIN's own clock ticks in hundredths of a second. Its process starts
		// in one or two milliseconds, so the whole of it is nearer.
		parsed.Search = out.Wall
	}
	return parsed
}

// coarse is the time below which SPIN's clock is too coarse.
const coarse = 500 * time.Millisecond

var panFigures = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(?m)^\s*([0-9.e+]+)\s+(states, stored|transitions \(|actual memory usage|equivalent memory usage|(?:shared )?memory used for hash table|total actual memory usage|total shared memory usage)`)
})
var panElapsed = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)elapsed time ([0-9.e+]+) seconds`)
})
var panDepth = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`depth reached ([0-9]+)`)
})
var panErrors = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`errors: ([0-9]+)`)
})

// parsePan reads what a verifier printed. Transitions do not count the one with
// which SPIN enters the initial state.
func parsePan(b []byte, errorsToo bool) (Outcome, error) {
	var o Outcome
	f := map[string]float64{}
	for _, m := range panFigures().FindAllSubmatch(b, -1) {
		x, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			return o, err
		}
		f[string(m[2])] = x
	}
	states, ok := f["states, stored"]
	elapsed := panElapsed().FindSubmatch(b)
	errs := panErrors().FindSubmatch(b)
	if !ok || elapsed == nil || errs == nil {
		return o, errors.New("no statistics in what SPIN's verifier printed")
	}
	seconds, err := strconv.ParseFloat(string(elapsed[1]), 64)
	if err != nil {
		return o, err
	}
	o.States = uint64(states)
	if o.Errors, err = strconv.ParseUint(string(errs[1]), 10, 64); err != nil {
		return o, err
	}
	o.Violated = o.Errors > 0
	if t := f["transitions ("]; t > 0 {
		o.Transitions = uint64(t) - 1
	}
	o.Search = time.Duration(seconds * float64(time.Second))
	stored, ok := f["actual memory usage"]
	if !ok {
		stored = f["equivalent memory usage"]
	}
	const mb = 1 << 20
	o.StoreBytes = uint64((stored + f["memory used for hash table"]) * mb)
	o.PeakRSS = uint64(f["total actual memory usage"] * mb)
	if shared, ok := f["total shared memory usage"]; ok { // breadth-first, with several cores
		o.StoreBytes = uint64(f["shared memory used for hash table"] * mb)
		o.PeakRSS = uint64(shared * mb)
	}
	switch {
	case bytes.Contains(b, []byte("max search depth too small")):
		o.Status, o.Reason = Limited, tooDeep
	case o.Violated && errorsToo:
		o.Status = Done
	case o.Violated:
		o.Status, o.Reason = Failed, "SPIN found an error: "+
			strings.TrimSpace(string(bytes.SplitN(b, []byte("\n"), 2)[0]))
	case bytes.Contains(b, []byte("Search not completed")):
		o.Status, o.Reason = Failed, "SPIN's search was not completed"
	default:
		o.Status = Done
	}
	return o, nil
}
