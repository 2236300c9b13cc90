package bench

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/perf/benchfmt"

	"cpor/benchmarks"
	"cpor/engine/temporal"
	"cpor/examples/promela/corpus"
	"cpor/testkit/sample"
)

var (
	update = flag.Bool("update", false, "write the golden files anew")
)

// fakeVariable makes the test binary behave as the command, in the way that
// its value names.
const fakeVariable = "CPOR_BENCH_FAKE"

func TestMain(m *testing.M) {
	if how := os.Getenv(fakeVariable); how != "" {
		fakeCommand(how)
	}
	os.Exit(m.Run())
}

// runnerFunc is a runner without a process.
type runnerFunc func(ctx context.Context, r Request) Outcome

func (f runnerFunc) Run(ctx context.Context, r Request) Outcome { return f(ctx, r) }

// fake answers requests from the reference and the paper's table, with times
// that depend on the counts only. Full searches above a million states do not
// fit.
func fake(_ context.Context, r Request) Outcome {
	row := rowName(r.Model, r.Params)
	var c *benchmarks.Counts
	ended := uint64(0)
	k := slices.IndexFunc(modes, func(m mode) bool { return m.por == r.POR })
	if ref := findReference(row); ref != nil {
		c = modes[k].ref(ref)
		if c != nil && ref.EndedLoops {
			ended = 100
		}
	}
	if c == nil {
		for _, p := range benchmarks.Table1() {
			if rowName(p.Benchmark, p.Params) == row {
				if f := modes[k].paper(&p); f != nil {
					c = &benchmarks.Counts{States: f.States, Transitions: f.Transitions,
						Attempts: f.Transitions}
				}
			}
		}
	}
	if c == nil || c.States > 1e6 {
		return Outcome{Status: Limited, Reason: "time-out after 1m0s", States: 12345,
			Transitions: 23456, Search: time.Minute}
	}
	steals, failed, idle := uint64(3*r.Workers), uint64(r.Workers), 0.01*float64(r.Workers)
	d := time.Duration(c.Transitions) * time.Microsecond / time.Duration(min(r.Workers, 2))
	o := Outcome{
		Status: Done, States: c.States, Transitions: c.Transitions - ended, EndedLoops: ended,
		Search: d, Wall: d + 7*time.Millisecond, StoreBytes: 12 * c.States,
		PeakRSS: 20e6 + 12*c.States,
		Steals:  &steals, FailedCAS: &failed, IdleShare: &idle,
	}
	if c.Attempts > 0 {
		o.Attempts = c.Attempts - ended
	} else {
		o.Attempts = o.Transitions
	}
	return o
}

// bench runs the command with a runner and returns what it said.
func bench(t *testing.T, ctx context.Context, r Runner, args ...string) (code int, stdout, stderr,
	dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "results")
	var o, e bytes.Buffer
	code = run(ctx, append(args, "-o", dir), &o, &e, r)
	return code, o.String(), e.String(), dir
}

// checkFiles checks that the files of a directory are valid and agree, and
// returns the results.
func checkFiles(t *testing.T, dir string) *Results {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, jsonFile))
	if err != nil {
		t.Fatal(err)
	}
	var rs Results
	if err := json.Unmarshal(b, &rs); err != nil {
		t.Fatalf("%s: %v", jsonFile, err)
	}
	f, err := os.Open(filepath.Join(dir, csvFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", csvFile, err)
	}
	if len(lines) != len(rs.Measurements)+1 {
		t.Errorf("%s has %d lines for %d measurements", csvFile, len(lines), len(rs.Measurements))
	}
	g, err := os.Open(filepath.Join(dir, benchFile))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	done := 0
	for _, m := range rs.Measurements {
		if m.Status == Done && m.Round > 0 {
			done++
		}
	}
	br := benchfmt.NewReader(g, benchFile)
	for br.Scan() {
		switch r := br.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Errorf("%s: %v", benchFile, r)
		case *benchfmt.Result:
			done--
			if _, ok := r.Value("sec/op"); !ok {
				t.Errorf("%s: %s has no time", benchFile, r.Name)
			}
		}
	}
	if br.Err() != nil || done != 0 {
		t.Errorf("%s: %v, %d results missing", benchFile, br.Err(), done)
	}
	page, err := os.ReadFile(filepath.Join(dir, htmlFile))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(bytes.TrimSpace(page), []byte("</html>")) {
		t.Errorf("%s is cut off", htmlFile)
	}
	for _, outside := range []string{"http://", "https://", "src=", "<script", "<link", "NaN"} {
		rest := strings.ReplaceAll(string(page), "http://www.w3.org/", "")
		if strings.Contains(rest, outside) {
			t.Errorf("%s contains %s", htmlFile, outside)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 4 {
		t.Errorf("%d files in the directory, want 4: %v", len(entries), entries)
	}
	return &rs
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (-update writes it anew); got:\n%s", file, got)
	}
}

// goldenReport holds a table's report to a file, and to the width of a terminal.
func goldenReport(t *testing.T, name string, table Table, ms []Measurement) {
	t.Helper()
	var b bytes.Buffer
	writeSections(&b, table.Report(ms, fixedMachine))
	for _, l := range strings.Split(b.String(), "\n") {
		if n := len([]rune(l)); n > columns {
			t.Errorf("%d columns: %s", n, l)
		}
	}
	golden(t, name, b.String())
}

// fixedMachine keeps golden files independent of where the tests run.
var fixedMachine = Machine{CPU: "Testium", Cores: 2, Memory: 8 << 30, OS: "linux", Arch: "amd64",
	Go: "go1.26"}

func TestTable1(t *testing.T) {
	code, stdout, stderr, dir := bench(t, context.Background(), runnerFunc(fake), "table1",
		"-workers", "2", "-rounds", "2")
	if code != exitDone {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	rs := checkFiles(t, dir)
	if !rs.Complete || len(rs.Unexpected) > 0 {
		t.Errorf("complete %v, unexpected %v", rs.Complete, rs.Unexpected)
	}
	for _, l := range strings.Split(stdout, "\n") {
		if n := len([]rune(l)); n > columns && !strings.Contains(l, dir) {
			t.Errorf("%d columns: %s", n, l)
		}
	}
	// Every row of the paper is there, full and cartesian.
	for _, r := range benchmarks.Table1() {
		for _, m := range modes {
			if !slices.ContainsFunc(rs.Measurements, func(x Measurement) bool {
				return x.Benchmark == r.Benchmark
			}) {
				t.Errorf("%s %s %s is missing", r.Benchmark, r.Params, m.title)
			}
		}
	}
	// The larger rows are not tried once one did not fit.
	var limited, skipped int
	for _, m := range rs.Measurements {
		switch m.Status {
		case Limited:
			limited++
		case Skipped:
			skipped++
			if m.Reason == "" {
				t.Errorf("%s: skipped without a reason", m.Benchmark)
			}
		}
	}
	if limited == 0 || limited > 10 || skipped < 20 {
		t.Errorf("%d runs limited, %d skipped", limited, skipped)
	}
	if !strings.Contains(stderr, "left)") || !strings.Contains(stderr, "does not fit") {
		t.Errorf("progress without an estimate or without the rows that do not fit:\n%s", stderr)
	}
}

// measurements runs a table with the fake runner and returns what it recorded.
func measurements(t *testing.T, args ...string) []Measurement {
	t.Helper()
	dir := t.TempDir()
	s := &Session{
		Workers: 2, Limit: time.Minute, rounds: 2, runner: runnerFunc(fake), dir: dir,
		stderr:   &bytes.Buffer{},
		results:  &Results{Start: time.Now()},
		sections: func(*Results) []Section { return nil },
		written:  time.Now(),
	}
	s.progress = newProgress(s.stderr)
	s.Names = args[1:]
	i := slices.IndexFunc(tables, func(x Table) bool { return x.Name == args[0] })
	s.table = args[0]
	if err := tables[i].Run(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	if len(s.results.Unexpected) > 0 {
		t.Fatal(s.results.Unexpected)
	}
	return s.results.Measurements
}

func TestGoldenReports(t *testing.T) {
	for _, c := range []struct {
		file   string
		table  Table
		args   []string
		noSpin bool
	}{
		{"table1.txt", table1, []string{"table1"}, false},
		{"scale.txt", scale, []string{"scale"}, false},
	} {
		if testing.Short() && c.file != "scale.txt" {
			continue
		}
		ms := measurements(t, c.args...)
		var b bytes.Buffer
		writeSections(&b, c.table.Report(ms, fixedMachine))
		golden(t, c.file, b.String())
	}
	// Peers without SPIN: its measurements are made up.
	var ms []Measurement
	for round := 1; round <= 3; round++ {
		for _, r := range peerRows {
			ps, err := benchmarks.ParseParams(r.params)
			if err != nil {
				t.Fatal(err)
			}
			for _, por := range []string{"none", "cartesian"} {
				for _, w := range []int{1, 2} {
					out := fake(context.Background(), Request{Model: r.benchmark, Params: ps,
						POR: por, Workers: w})
					out.Search += time.Duration(round) * time.Millisecond
					out.CPU = out.Wall
					ms = append(ms, Measurement{Benchmark: r.benchmark, Params: ps, Tool: "cpor",
						Config: config(por, w), Round: round, Outcome: out})
				}
			}
			for i, m := range spinModes {
				out := fake(context.Background(), Request{Model: r.benchmark, Params: ps,
					POR: "none", Workers: 1})
				out.Search = out.Search * time.Duration(i+2) / 2
				out.Wall = out.Search + time.Millisecond
				out.StoreBytes *= uint64(10 - i)
				ms = append(ms, Measurement{Benchmark: r.benchmark, Params: ps, Tool: "spin",
					Config: spinConfig(m), Round: round, Outcome: out})
			}
			for i, m := range moreSpinModes(2) {
				out := fake(context.Background(), Request{Model: r.benchmark, Params: ps,
					POR: "none", Workers: 1})
				out.Wall, out.CPU = out.Wall*time.Duration(i+1), out.Wall*2
				ms = append(ms, Measurement{Benchmark: r.benchmark, Params: ps, Tool: "spin",
					Config: spinConfig(m), Round: round, Outcome: out})
			}
			for _, n := range rumurThreads(&rumur{}, r.benchmark, 2) {
				out := fake(context.Background(), Request{Model: r.benchmark, Params: ps,
					POR: "none", Workers: n})
				out.Wall, out.CPU = out.Wall*10, out.Wall*9
				ms = append(ms, Measurement{Benchmark: r.benchmark, Params: ps, Tool: "rumur",
					Config: rumurConfig(n), Round: round, Outcome: out})
			}
		}
	}
	goldenReport(t, "peers.txt", peers, ms)
}

// TestReportsOfLess checks that reports can be made from any part of the
// measurements, as they are while runs continue.
func TestReportsOfLess(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a page of each part")
	}
	for _, table := range []Table{table1, scale} {
		ms := measurements(t, table.Name)
		for n := 0; n <= len(ms); n += 1 + len(ms)/sample.Of(1, 4, 12) {
			rs := &Results{Machine: fixedMachine, Measurements: ms[:n], Start: time.Now()}
			page, err := htmlReport(rs, table.Report(ms[:n], fixedMachine))
			if err != nil {
				t.Fatalf("%s, %d measurements: %v", table.Name, n, err)
			}
			if bytes.Contains(page, []byte("NaN")) || bytes.Contains(page, []byte("Inf")) {
				t.Errorf("%s, %d measurements: a figure is not a number", table.Name, n)
			}
		}
	}
}

func TestStoppedHalfWay(t *testing.T) {
	for _, table := range []string{"table1", "scale"} {
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		code, stdout, _, dir := bench(t, ctx,
			runnerFunc(func(ctx context.Context, r Request) Outcome {
				if n++; n == 10 {
					cancel()
					return Outcome{Status: Interrupted}
				}
				return fake(ctx, r)
			}), table)
		cancel()
		if code != exitInterrupted || !strings.Contains(stdout, "stopped") {
			t.Errorf("%s: exit code %d, want %d\n%s", table, code, exitInterrupted, stdout)
		}
		rs := checkFiles(t, dir)
		if rs.Complete || len(rs.Measurements) != 9 || n != 10 {
			t.Errorf("%s: complete %v, %d measurements of %d runs, want 9 of 10", table,
				rs.Complete, len(rs.Measurements), n)
		}
	}
}

// TestSystemsReport checks the report on the systems in both languages: the worst row first, the
// geometric means last, and two numbers of states where the languages differ.
func TestSystemsReport(t *testing.T) {
	var ms []Measurement
	record := func(r *benchmarks.SystemRun, tool string, config benchmarks.Params, states uint64,
		cpu time.Duration) {
		for round := 1; round <= 3; round++ {
			ms = append(ms, Measurement{Benchmark: systemPrefix + r.System, Params: r.Params,
				Tool: tool, Config: config, Round: round, Outcome: Outcome{Status: Done,
					States: states, CPU: cpu * time.Duration(round), Wall: cpu}})
		}
	}
	for i, r := range []benchmarks.SystemRun{
		{System: "fast", States: 100, Promela: 100},
		{System: "slow", States: 2000, Promela: 1000},
		{System: "slow", Check: "safe"},
		{System: "half", States: 10, Promela: 10},
	} {
		spin := []time.Duration{8, 1, 3, 4}[i] * time.Second
		record(&r, "spin", systemSpin(r.Check), r.Promela, spin)
		for k, language := range systemLanguages {
			if r.System == "half" && language == promelaLanguage {
				continue // it failed
			}
			c := ownSystem(&Session{}, &r, language, "", 1)
			record(&r, "cpor", c.config, systemStates(&r, &c), time.Duration(k+2)*time.Second)
			c = ownSystem(&Session{}, &r, language, "", 2)
			record(&r, "cpor", c.config, systemStates(&r, &c), time.Duration(k+1)*time.Second)
		}
	}
	goldenReport(t, "systems.txt", peers, ms)
}

// TestCorpusReport checks the report on the Promela corpus against a golden file.
func TestCorpusReport(t *testing.T) {
	runs, err := corpus.Runs()
	if err != nil {
		t.Fatal(err)
	}
	var ms []Measurement
	for _, name := range corpusRows {
		k := slices.IndexFunc(runs, func(r corpus.Run) bool { return r.Name() == name })
		if k < 0 {
			t.Errorf("%s: no such run", name)
			continue
		}
		r := runs[k]
		ps, err := benchmarks.ParseParams(strings.Join(r.Defines, " "))
		if err != nil {
			t.Fatal(err)
		}
		record := func(tool string, config benchmarks.Params, round, slow int) {
			cpu := time.Duration(slow)*time.Duration(
				r.Transitions)*time.Microsecond + time.Duration(round)*time.Millisecond
			ms = append(ms, Measurement{Benchmark: r.Model, Params: ps, Tool: tool, Config: config,
				Round: round, Outcome: Outcome{
					Status: Done, States: r.States, Transitions: r.Transitions, Search: cpu,
					Wall: cpu / 2, CPU: cpu, StoreBytes: r.States * uint64(slow),
				}})
		}
		record("spin", toolchain, 1, 10)
		record("spin", usualToolchain, 1, 9)
		for round := 1; round <= 3; round++ {
			record("cpor", config("none", 1), round, 2)
			record("cpor", config("none", 2), round, 3)
			record("spin", spinConfig(spinModes[0]), round, 4)
			record("spin", spinConfig(spinModes[1]), round, 6)
			record("cpor", config("auto", 2), round, 1)
			record("spin", spinConfig(usual), round, 5)
		}
	}
	for i, name := range temporalRows {
		k := slices.IndexFunc(runs, func(r corpus.Run) bool { return r.Name() == name })
		if k < 0 {
			t.Errorf("%s: no such run", name)
			continue
		}
		ps, err := benchmarks.ParseParams(strings.Join(runs[k].Defines, " "))
		if err != nil {
			t.Fatal(err)
		}
		property := strings.TrimPrefix(runs[k].Check, "ltl ")
		record := func(tool string, config benchmarks.Params, round, millis int) {
			cpu := time.Duration(millis+round) * time.Millisecond
			ms = append(ms, Measurement{Benchmark: runs[k].Model, Params: ps, Tool: tool,
				Config: temporalConfig(property, config), Round: round,
				Outcome: Outcome{Status: Done, States: uint64(100 * millis), Wall: cpu / 2,
					CPU: cpu}})
		}
		for round := 1; round <= 3; round++ {
			record("cpor", config("transparent", 1), round, 10+i%7)
			record("cpor", config("transparent", 2), round, 8)
			record("spin", acceptanceConfig, round, 20)
		}
	}
	goldenReport(t, "corpus.txt", peers, ms)
}

// TestFilesWhileRunning checks that the data is complete after every run, so
// that it survives whatever ends the process.
func TestFilesWhileRunning(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r")
	n := 0
	var o, e bytes.Buffer
	run(context.Background(), []string{"robots", "-rounds", "1", "-o", dir}, &o, &e,
		runnerFunc(func(ctx context.Context, r Request) Outcome {
			if n > 0 {
				b, err := os.ReadFile(filepath.Join(dir, jsonFile))
				if err != nil {
					t.Fatal(err)
				}
				var rs Results
				if err := json.Unmarshal(b, &rs); err != nil || len(rs.Measurements) != n ||
					rs.Complete {
					t.Errorf("after %d runs: %d measurements, %v", n, len(rs.Measurements), err)
				}
			}
			n++
			return fake(ctx, r)
		}))
	if n == 0 {
		t.Error("nothing ran")
	}
}

func TestUnexpected(t *testing.T) {
	for name, change := range map[string]func(r Request, o *Outcome){
		"a count is wrong": func(r Request, o *Outcome) { o.States++ },
		"runs disagree": func(r Request, o *Outcome) {
			o.Transitions += uint64(r.Workers)
		},
		"a run fails": func(r Request, o *Outcome) {
			o.Status, o.Reason = Failed,
				"no such thing"
		},
		"only the attempts differ": func(r Request, o *Outcome) { o.Attempts++ },
	} {
		code, stdout, _, dir := bench(t, context.Background(),
			runnerFunc(func(ctx context.Context, r Request) Outcome {
				o := fake(ctx, r)
				if r.Model == "indexer" && r.POR == "cartesian" {
					change(r, &o)
				}
				return o
			}), "indexer", "robots", "-D", "N=8", "-workers", "2")
		if code != exitUnexpected || !strings.Contains(stdout,
			"UNEXPECTED: indexer N=8, cartesian") {
			t.Errorf("%s: exit code %d\n%s", name, code, stdout)
		}
		if rs := checkFiles(t, dir); len(rs.Unexpected) == 0 || !rs.Complete {
			t.Errorf("%s: unexpected %v, complete %v", name, rs.Unexpected, rs.Complete)
		}
	}
}

func TestSelection(t *testing.T) {
	for _, c := range []struct {
		args []string
		rows []string
		code int
	}{
		{[]string{"robots"}, []string{"robots R=2", "robots R=3"}, 0},
		{[]string{"table1", "robots", "sharedptr"}, []string{"robots R=2", "robots R=3",
			"sharedptr N=100"}, 0},
		{[]string{"indexer", "-D", "N=5"}, []string{"indexer N=5"}, 0},
		{[]string{"-D", "N=5", "indexer"}, []string{"indexer N=5"}, 0},
		{[]string{"-D", "C=2"}, []string{"cmis C=2 N=8"}, 0},
		{[]string{"robot", "sharedptr"}, []string{"sharedptr N=100"}, exitMistake},
		{[]string{"nosuch.model", "sharedptr"}, []string{"sharedptr N=100"}, exitMistake},
		{[]string{"-D", "N=12345"}, nil, exitInterrupted},
	} {
		code, _, stderr, dir := bench(t, context.Background(), runnerFunc(fake), c.args...)
		if code != c.code {
			t.Errorf("%v: exit code %d, want %d\n%s", c.args, code, c.code, stderr)
		}
		var rows []string
		for _, m := range checkFiles(t, dir).Measurements {
			row := m.Benchmark
			if !slices.Contains(rows, row) {
				rows = append(rows, row)
			}
		}
		var want []string
		for _, r := range c.rows {
			if n, _, _ := strings.Cut(r, " "); !slices.Contains(want, n) {
				want = append(want, n)
			}
		}
		slices.Sort(rows)
		slices.Sort(want)
		if !slices.Equal(rows, want) {
			t.Errorf("%v: rows of %v, want %v", c.args, rows, want)
		}
	}
}

func TestMistakes(t *testing.T) {
	taken := t.TempDir()
	if err := os.WriteFile(filepath.Join(taken, jsonFile), []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(taken, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"tabel1"}, `unknown table or benchmark "tabel1"; did you mean table1?`},
		{[]string{"quux"}, `there are`},
		{[]string{"table1", filepath.Join("..", "benchmarks", "robots.model")},
			"table1 has rows of its own: models of yours are measured by cpor bench compare"},
		{[]string{"compare"}, "compare needs models"},
		{[]string{"nosuch.model"}, "nosuch.model: no such file"},
		{[]string{"-limit", "0"}, "must be above 0"},
		{[]string{"-limit", "soon"}, "limit"},
		{[]string{"-workers", "0"}, "-workers 0"},
		{[]string{"-rounds", "-1"}, "-rounds -1"},
		{[]string{"-D", "N"}, "NAME=VALUE"},
		{[]string{"-max-memory", "lots"}, "want a size"},
		{[]string{"-nosuchflag"}, "nosuchflag"},
		{[]string{"-large"}, "-large has no effect on table1: it is a flag of peers"},
		{[]string{"scale", "dpor", "-transitions", "9"},
			"-transitions has no effect on scale, dpor: it is a flag of siegel"},
		{[]string{"siegel", "-rounds", "3"}, "-rounds has no effect on siegel: it is a flag of "},
		{[]string{"dpor", "-por", "none"}, "-por has no effect on dpor: it is a flag of scale, "},
		{[]string{"robots", "-o", taken}, "has results already"},
		{[]string{"robots", "-o", file}, "-o: "},
	} {
		var o, e bytes.Buffer
		args := c.args
		if !slices.Contains(args, "-o") {
			args = append(args, "-o", filepath.Join(t.TempDir(), "r"))
		}
		code := run(context.Background(), args, &o, &e,
			runnerFunc(func(context.Context, Request) Outcome {
				t.Errorf("%v: a run was started", c.args)
				return Outcome{}
			}))
		if code != exitMistake || !strings.Contains(e.String(), c.says) {
			t.Errorf("%v: exit code %d, %q; want %d, %q", c.args, code, e.String(), exitMistake,
				c.says)
		}
	}
	var o, e bytes.Buffer
	if code := Main(context.Background(), []string{"-h"}, &o, &e); code != exitDone ||
		!strings.Contains(o.String(), "peers") || e.Len() > 0 {
		t.Errorf("-h: exit code %d\n%s%s", code, &o, &e)
	}
}

// TestFlagsOfTables holds that tables name flags that there are.
func TestFlagsOfTables(t *testing.T) {
	values := map[string]string{"D": "N=1", "large": "true", "por": "none"}
	for _, name := range flagsOfSome() {
		o, err := parse([]string{fmt.Sprintf("-%s=%s", name, cmp.Or(values[name], "2"))},
			io.Discard)
		if err != nil || !slices.Equal(o.given, []string{name}) {
			t.Errorf("-%s: %v", name, err)
		}
	}
}

// TestMissingPeer checks that the rest continues where SPIN is missing.
func TestMissingPeer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	code, stdout, stderr, dir := bench(t, context.Background(), runnerFunc(fake), "peers", "table1",
		"sharedptr")
	if code != exitDone || !strings.Contains(stderr, "spin is not on the PATH") ||
		!strings.Contains(stdout, "sharedptr") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if rs := checkFiles(t, dir); len(rs.Notes) != 1 {
		t.Errorf("notes: %v", rs.Notes)
	}
	if code, _, _, _ := bench(t, context.Background(), runnerFunc(fake),
		"peers"); code != exitInterrupted {
		t.Errorf("nothing measured: exit code %d, want %d", code, exitInterrupted)
	}
}

func TestRegister(t *testing.T) {
	before := tables
	defer func() { tables = before }()
	tables = slices.Clone(tables)
	Register(Table{
		Name: "mine",
		Run: func(ctx context.Context, s *Session) error {
			s.Plan(1, time.Second)
			out := s.Do(ctx, "mine", time.Second, func(context.Context) Outcome {
				return Outcome{Status: Done, States: 3, Search: time.Second}
			})
			s.Record(Measurement{Benchmark: "own", Tool: "cpor", Round: 1, Outcome: out,
				Extra: map[string]float64{"apples": 7}})
			return fmt.Errorf("the pears are missing")
		},
		Report: func(ms []Measurement, _ Machine) []Section {
			return []Section{
				{Title: "Mine", Grids: []Grid{
					{Header: []string{"", "apples"}, Lines: []Line{
						{Cells: []string{"own", digits(ms[0].Extra["apples"])}}}}}}}
		},
	})
	code, stdout, stderr, dir := bench(t, context.Background(), runnerFunc(fake), "mine")
	if code != exitDone || !strings.Contains(stdout, "7.00") || !strings.Contains(stderr,
		"mine: the pears are missing") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	checkFiles(t, dir)
	b, err := os.ReadFile(filepath.Join(dir, csvFile))
	if err != nil || !bytes.Contains(b, []byte("apples")) {
		t.Errorf("%s has no apples: %v", csvFile, err)
	}
	for _, bad := range []Table{{}, {Name: "table1", Run: table1.Run, Report: table1.Report},
		{Name: "x", Run: table1.Run}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("table %q was registered", bad.Name)
				}
			}()
			Register(bad)
		}()
	}
}

// TestCompare: every engine has a line or a reason, the winner is named, and what makes times
// meaningless is said.
func TestCompare(t *testing.T) {
	var ms []Measurement
	for round := 1; round <= 3; round++ {
		for i, e := range compared("") {
			out := Outcome{Status: Done, States: uint64(100 * (i + 1)),
				Transitions: uint64(1000 * (i + 1)),
				Search:      time.Duration(20+10*i+round) * time.Millisecond,
				PeakRSS:     uint64(90-i) << 20}
			switch e.Name {
			case "locks":
				out = Outcome{Status: Failed, Reason: "locking discipline: x is written by two " +
					"threads, holding no lock"}
			case "events":
				out = Outcome{Status: Limited, Reason: "time-out after 1s"}
			}
			for _, m := range []struct {
				name  string
				shift time.Duration
				load  float64
			}{{"mine", 0, 1.2}, {"short", -18 * time.Millisecond, 7}} {
				o := out
				if o.Status == Done {
					o.Search += m.shift
				}
				ms = append(ms, Measurement{Benchmark: m.name, Tool: "cpor", Round: round,
					Outcome: o, Load: m.load,
					Config: benchmarks.Params{{Name: "search", Value: e.Mode},
						{Name: "por", Value: e.Name}}})
			}
		}
	}
	ms = append(ms, Measurement{Benchmark: "never", Tool: "cpor", Round: 1, Outcome: Outcome{
		Status: Limited, Reason: "time-out after 1s"},
		Config: benchmarks.Params{{Name: "search", Value: "stateful"},
			{Name: "por", Value: "none"}}})
	goldenReport(t, "compare.txt", compare, ms)
}

// TestTooLarge tells a property whose automaton grows too large from one that can be checked.
func TestTooLarge(t *testing.T) {
	model := filepath.Join(t.TempDir(), "large.model")
	if err := os.WriteFile(model, []byte(`const N = 14
var r, a [N]bool
thread T() { for i := range N { r[i] = true } }
init { go T() }
ltl large { exists i in 0..N-1 { [] (r[i] -> <> a[i]) } }
ltl small { [] (r[0] -> <> a[0]) }
`), 0o666); err != nil {
		t.Fatal(err)
	}
	r := &Request{Model: model, Mode: temporal.Mode, POR: "none"}
	if !tooLarge(t.Context(), r, "large") || tooLarge(t.Context(), r, "small") ||
		tooLarge(t.Context(), r, "missing") {
		t.Error("large is too large, small is not")
	}
}
