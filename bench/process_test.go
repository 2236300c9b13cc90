package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cpor/testkit/sample"

	"cpor/benchmarks"
)

// fakeCommand is what the test binary does in place of `cpor run`.
func fakeCommand(how string) {
	switch how {
	case "done":
		fmt.Println(
			`{"verdict":"pass","exhaustive":true,"states":5,"transitions":7,"attempts":8,"ended_loops":2,
			"duration_ms":1.5,"store_bytes":80,"peak_rss_bytes":123456789,"steals":4,"failed_cas":0,"idle_share":0.25}`)
		os.Exit(0)
	case "limited":
		fmt.Println(
			`{"verdict":"incomplete","exhaustive":false,"reason":"time-out after 1s","states":5}`)
		os.Exit(3)
	case "violation":
		fmt.Println(
			`{"verdict":"violation","exhaustive":false,"violations":[{"kind":"assertion","message":"robots meet","pos":"a:1:2"}]}`)
		os.Exit(1)
	case "cut":
		fmt.Println(
			`{"verdict":"violation","exhaustive":false,"reason":"time-out after 1s","violations":[{"kind":"assertion","message":"robots meet","pos":"a:1:2"}]}`)
		os.Exit(1)
	case "mistake":
		fmt.Fprintln(os.Stderr, "a.model:3:1: unexpected }\n  }\n  ^")
		fmt.Fprintln(os.Stderr, "a.model: 1 mistake")
		os.Exit(2)
	case "silent":
		os.Exit(0)
	case "arguments":
		fmt.Fprintln(os.Stderr, strings.Join(os.Args[1:], " "))
		os.Exit(2)
	case "endless":
		time.Sleep(time.Minute)
		os.Exit(0)
	}
	os.Exit(9)
}

func TestProcessRunner(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProcessRunner(exe)
	if err != nil {
		t.Fatal(err)
	}
	ps, err := benchmarks.ParseParams("N=4 R=3")
	if err != nil {
		t.Fatal(err)
	}
	req := Request{Model: "robots", Params: ps, POR: "none", Workers: 3, Limit: 2 * time.Second,
		MaxMemory: 1 << 20, Flags: []string{"-store", "plain"}}
	try := func(how string) Outcome {
		t.Setenv(fakeVariable, how)
		return p.Run(context.Background(), req)
	}
	if o := try("done"); o.Status != Done || o.States != 5 || o.Transitions != 7 ||
		o.Attempts != 8 || o.EndedLoops != 2 ||
		o.Search != 1500*time.Microsecond || o.Wall <= 0 || o.StoreBytes != 80 ||
		o.PeakRSS != 123456789 ||
		*o.Steals != 4 || *o.FailedCAS != 0 || *o.IdleShare != 0.25 || o.BytesPerState() != 16 {
		t.Errorf("done: %+v", o)
	}
	for how, want := range map[string]Outcome{
		"limited":   {Status: Limited, Reason: "time-out after 1s"},
		"violation": {Status: Failed, Reason: "assertion: robots meet (a:1:2)"},
		"cut": {Status: Failed, Reason: "time-out after 1s; it found assertion: robots " +
			"meet (a:1:2)"},
		"mistake": {Status: Failed, Reason: "a.model: 1 mistake"},
		"silent":  {Status: Failed, Reason: "no result (<nil>)"},
		"arguments": {Status: Failed, Reason: "run -json -deadlock=false -por none -workers 3 " +
			"-timeout 2s -max-memory 1048576 -D N=4 -D R=3 -store plain " + filepath.Join(p.dir,
			"robots.model")},
	} {
		if o := try(how); o.Status != want.Status || o.Reason != want.Reason {
			t.Errorf("%s: %s, %q; want %s, %q", how, o.Status, o.Reason, want.Status, want.Reason)
		}
	}
	t.Setenv(fakeVariable, "endless")
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	if o := p.Run(ctx, req); o.Status != Interrupted ||
		time.Since(start) > patience+10*time.Second {
		t.Errorf("interrupted: %+v after %v", o, time.Since(start))
	}
	for _, name := range benchmarks.Names() {
		if _, err := os.Stat(filepath.Join(p.dir, name+".model")); err != nil {
			t.Error(err)
		}
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(p.dir); !os.IsNotExist(err) {
		t.Errorf("the directory is still there: %v", err)
	}
	p.exe = filepath.Join(t.TempDir(), "gone")
	if o := p.Run(context.Background(), req); o.Status != Failed || o.Reason == "" {
		t.Errorf("no command: %+v", o)
	}
}

func TestParsePan(t *testing.T) {
	for _, c := range []struct {
		file        string
		status      Status
		states      uint64
		transitions uint64
		search      time.Duration
		perState    float64
		reason      string
	}{
		{"pan-philosophers.txt", Done, 46763, 304137, 40 * time.Millisecond, 69, ""},
		{"pan-deep.txt", Limited, 0, 0, 0, 0, tooDeep},
		{"pan-error.txt", Failed, 0, 0, 0, 0, "SPIN found an error"},
	} {
		b, err := os.ReadFile(filepath.Join("testdata", c.file))
		if err != nil {
			t.Fatal(err)
		}
		o, err := parsePan(b, false)
		if err != nil || o.Status != c.status || !strings.Contains(o.Reason, c.reason) {
			t.Errorf("%s: %+v, %v", c.file, o, err)
			continue
		}
		if c.status == Done && (o.States != c.states || o.Transitions != c.transitions ||
			o.Search != c.search ||
			o.BytesPerState() < c.perState-1 || o.BytesPerState() > c.perState+1) {
			t.Errorf("%s: %+v, %.1f bytes a state", c.file, o, o.BytesPerState())
		}
	}
	for _, s := range []string{"", "Segmentation fault", "12 states, stored\n"} {
		if o, err := parsePan([]byte(s), false); err == nil {
			t.Errorf("%q: %+v", s, o)
		}
	}
}

// TestTwins checks, where SPIN and a C compiler are installed, that the Promela
// twins have the reference's states and exactly the transitions that are not
// self-loops of blocked threads.
func TestTwins(t *testing.T) {
	sample.Skip(t) // SPIN's verifiers take seconds to compile
	sp, err := findSpin()
	if err != nil {
		t.Skip(err)
	}
	defer sp.close()
	for _, c := range []struct {
		model, params string
		states        uint64
		transitions   uint64 // 0: some of the reference's are self-loops
	}{
		{"philosophers", "N=3", 35, 0},
		{"indexer", "N=2", 25, 40},
		{"robots", "R=2", 4877, 9754},
		{"robots", "R=3", 326759, 980277},
		{"indexer", "N=8", 390625, 2500000},
		{"filesystem", "N=2", 81, 144},
		{"filesystem", "N=6", 531441, 2834352},
		{"philosophers", "N=9", 46763, 0},
		{"sharedarray", "N=64", 2276, 0},
		{"sharedptr", "N=100", 32131, 0},
		{"cmis", "C=2 N=8", 16430, 0},
		{"cmis", "C=4 N=16", 1014131, 0},
	} {
		ps, err := benchmarks.ParseParams(c.params)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range spinModes {
			if !m.exact {
				continue
			}
			v, err := sp.build(context.Background(), c.model, ps, m)
			if err != nil {
				t.Fatal(err)
			}
			o := v.calibrate(context.Background())
			if o.Status == Done {
				o = v.run(context.Background())
			}
			if o.Status != Done || o.States != c.states || c.transitions > 0 &&
				o.Transitions != c.transitions {
				t.Errorf("%s %s, %s: %s %s, %d states and %d transitions, want %d and %d",
					c.model, c.params, m.name, o.Status, o.Reason, o.States, o.Transitions,
					c.states, c.transitions)
			}
		}
	}
	if _, err := sp.build(context.Background(), "nosuch", nil, spinModes[0]); err == nil {
		t.Error("a model without a twin was built")
	}
	if _, err := sp.build(context.Background(), "robots", benchmarks.Params{
		{Name: "N", Value: ")"}}, spinModes[0]); err == nil {
		t.Error("nonsense was built")
	}
}

// TestSystemsSpin compares SPIN with the table of the systems in both languages: states,
// transitions and errors of a search of every interleaving, and the verdicts of properties.
func TestSystemsSpin(t *testing.T) {
	sample.Skip(t) // compilers take seconds
	sp, err := findSpin()
	if err != nil {
		t.Skipf("LEFT OUT: %v", err)
	}
	defer sp.close()
	built := map[string]*verifier{}
	for _, r := range benchmarks.SystemRuns() {
		key := fmt.Sprint(r.System, r.Params, r.Check != "")
		v := built[key]
		if v == nil {
			if v, err = sp.systemVerifier(context.Background(), &r); err != nil {
				t.Errorf("%s: %v", r.Name(), err)
				continue
			}
			built[key] = v
		}
		v.search(r.Check, r.Violated)
		o := v.calibrate(context.Background())
		if o.Status != Done || o.Violated != r.Violated || r.Check == "" &&
			(o.States != r.Promela || o.Transitions+1 != r.Transitions || o.Errors != r.Errors) {
			t.Errorf("%s: %s %s, %d states, %d transitions, %d errors, want %d, %d and %d; "+
				"violated: %v", r.Name(), o.Status, o.Reason, o.States, o.Transitions+1, o.Errors,
				r.Promela, r.Transitions, r.Errors, r.Violated)
		}
	}
}

// TestSpinMore: the further ways of SPIN find as many states and say what memory they take.
func TestSpinMore(t *testing.T) {
	sample.Skip(t) // compilers take seconds
	sp, err := findSpin()
	if err != nil {
		t.Skip(err)
	}
	defer sp.close()
	ps := benchmarks.Params{{Name: "N", Value: "4"}}
	for _, m := range moreSpinModes(2) {
		v, err := sp.build(context.Background(), "filesystem", ps, m)
		if err != nil {
			t.Fatal(err)
		}
		if o := v.calibrate(context.Background()); o.Status != Done || o.States != 6561 ||
			o.PeakRSS == 0 || o.StoreBytes == 0 {
			t.Errorf("%s: %s %s, %d states in %d bytes of %d, want 6561", m.name, o.Status,
				o.Reason, o.States, o.StoreBytes, o.PeakRSS)
		}
	}
}

// TestRumur: the twins in Murphi's language have as many states as the models, also
// with parameters and two threads.
func TestRumur(t *testing.T) {
	sample.Skip(t) // compilers take seconds
	ru, err := findRumur()
	if err != nil {
		t.Skip(err)
	}
	defer ru.close()
	for _, c := range []struct {
		model, params string
		threads       int
		states        uint64
	}{
		{"philosophers", "N=7", 1, 4286},
		{"indexer", "N=5", 2, 3125},
		{"filesystem", "N=4", 1, 6561},
		{"filesystem", "N=3 inodes=2 blocks=3", 2, 198},
	} {
		ps, err := benchmarks.ParseParams(c.params)
		if err != nil {
			t.Fatal(err)
		}
		path, err := ru.build(context.Background(), c.model, ps, c.threads)
		if err != nil {
			t.Fatal(err)
		}
		if o := runRumur(context.Background(), path); o.Status != Done || o.States != c.states ||
			o.Transitions == 0 || o.PeakRSS == 0 {
			t.Errorf("%s %s: %s %s, %d states, want %d", c.model, c.params, o.Status, o.Reason,
				o.States, c.states)
		}
	}
	for _, ps := range []string{"M=1", "N=)"} {
		p, err := benchmarks.ParseParams(ps)
		if err == nil {
			_, err = ru.build(context.Background(), "philosophers", p, 1)
		}
		if err == nil {
			t.Errorf("%s was built", ps)
		}
	}
	if _, err := parseRumur([]byte("nothing")); err == nil {
		t.Error("nothing was read as a result")
	}
}

func TestWithin(t *testing.T) {
	wait := func(ctx context.Context) Outcome {
		<-ctx.Done()
		return Outcome{Status: Interrupted}
	}
	if o := within(context.Background(), time.Millisecond, wait); o.Status != Limited ||
		o.Reason == "" {
		t.Errorf("at the limit: %+v", o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if o := within(ctx, time.Hour, wait); o.Status != Interrupted {
		t.Errorf("interrupted: %+v", o)
	}
	if o := within(context.Background(), time.Hour, func(context.Context) Outcome {
		return Outcome{Status: Done}
	}); o.Status != Done {
		t.Errorf("done: %+v", o)
	}
}

func TestRatios(t *testing.T) {
	m := func(round int, s Status, d time.Duration) Measurement {
		return Measurement{Round: round, Outcome: Outcome{Status: s, Search: d}}
	}
	over := []Measurement{m(1, Done, 4), m(2, Done, 6), m(3, Limited, 60), m(4, Done, 9),
		m(5, Done, 0)}
	under := []Measurement{m(2, Done, 2), m(1, Done, 2), m(3, Done, 2), m(5, Done, 1)}
	got := ratios(over, under, func(m *Measurement) float64 { return float64(m.Search) })
	if !slices.Equal(got, []float64{2, 3}) {
		t.Errorf("ratios %v, want [2 3]", got)
	}
	if s := spread(got); s != "2.50 (2.00–3.00)" {
		t.Errorf("spread %q", s)
	}
	if median(nil) != 0 || median([]float64{5}) != 5 || median([]float64{9, 1, 5}) != 5 {
		t.Error("median")
	}
}

func TestPlots(t *testing.T) {
	line := func(pts ...Point) Plot {
		return Plot{Title: "a <b>", Series: []Series{{Name: "s", Points: pts}}}
	}
	for name, p := range map[string]Plot{
		"one point":   line(Point{3, 4}),
		"all equal":   line(Point{1, 1}, Point{2, 1}),
		"with a zero": line(Point{0, 0}, Point{2, 5}),
		"large":       line(Point{1, 1}, Point{2, 1e18}),
		"bars": {Title: "a <b>", Bars: &Bars{Labels: []string{"x", "y"}, Parts: []Part{
			{Name: "p", Values: []float64{0, 0}}, {Name: "q", Values: []float64{0, 1}}}}},
	} {
		for _, log := range []bool{false, true} {
			p.LogX, p.LogY = log, log
			svg, err := p.svg()
			if err != nil {
				t.Errorf("%s, log %v: %v", name, log, err)
				continue
			}
			s := string(svg)
			if !strings.HasPrefix(s, "<svg ") || !strings.Contains(s, `viewBox="`) ||
				!strings.Contains(s, "</svg>") ||
				strings.Contains(s, "NaN") || strings.Contains(s, "Inf") ||
				strings.Contains(s, "<b>") {
				t.Errorf("%s, log %v: %.300s", name, log, s)
			}
		}
	}
	for name, p := range map[string]Plot{
		"nothing": {}, "no points": line(), "no bars": {Bars: &Bars{}},
		"nothing on a logarithmic axis": {LogY: true, Series: []Series{{Points: []Point{{1, 0}}}}},
	} {
		if svg, err := p.svg(); svg != "" || err != nil {
			t.Errorf("%s: %.80s %v", name, svg, err)
		}
	}
}

func TestFormats(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 500 * time.Nanosecond: "0.500µs", 12345 * time.Microsecond: "12.3ms",
		999600 * time.Microsecond: "1000ms",
		1500 * time.Millisecond:   "1.50s", 90 * time.Second: "90.0s", 20 * time.Minute: "20.0min",
	} {
		if got := duration(d); got != want {
			t.Errorf("duration(%d) = %q, want %q", d, got, want)
		}
	}
	for x, want := range map[float64]string{0: "0", 9999: "9999", 12345: "12.3k", 7098917: "7.10M",
		3.2e9: "3.20G"} {
		if got := short(x); got != want {
			t.Errorf("short(%g) = %q, want %q", x, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0 s", 61 * time.Second: "61 s",
		20 * time.Minute: "20 min", 3 * time.Hour: "3.0 h"} {
		if got := roughly(d); got != want {
			t.Errorf("roughly(%v) = %q, want %q", d, got, want)
		}
	}
}
