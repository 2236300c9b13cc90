package bench

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestReductionRows makes sure that the embedded models are there, each row once.
func TestReductionRows(t *testing.T) {
	rows, err := reductionRows()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range rows {
		row := rowName(r.name, r.params)
		if seen[row] {
			t.Errorf("%s is there twice", row)
		}
		seen[row] = true
		if len(r.text) == 0 || isFile(r.name) {
			t.Errorf("%s: %d bytes", row, len(r.text))
		}
	}
	if len(rows) < 200 {
		t.Errorf("%d rows", len(rows))
	}
}

// TestReductions runs the table with made-up figures and without SPIN.
func TestReductions(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	rows := []string{"robots", "ring_dkr", "examples/peterson", "examples/promela/peterson"}
	for name, c := range map[string]struct {
		change func(r Request, o *Outcome)
		code   int
		says   []string
	}{
		"all agree": {func(Request, *Outcome) {}, exitDone,
			[]string{"SPIN WAS NOT MEASURED", "4845"}},
		"a verdict differs": {func(r Request, o *Outcome) {
			o.Violated = r.POR == "cartesian" && strings.HasSuffix(r.Model, "peterson.model")
		}, exitUnexpected, []string{"UNEXPECTED: examples/peterson, cartesian: violated is true"}},
		"a count differs": {func(r Request, o *Outcome) {
			if r.POR == "none" && strings.HasSuffix(r.Model, "ring_dkr.pml") {
				o.States = 4844
			}
		}, exitUnexpected, []string{"UNEXPECTED: ring_dkr, none: 4844 states, and 4845"}},
		"a run is cut after a violation": {func(r Request, o *Outcome) {
			if r.POR == "ample" && strings.HasSuffix(r.Model, "ring_dkr.pml") {
				o.Status, o.Violated, o.Reason = Failed, true, "time-out after 10s; it found x"
			}
		}, exitUnexpected, []string{"UNEXPECTED: ring_dkr, ample: it found a violation", ">4845"}},
		"a run is cut": {func(r Request, o *Outcome) {
			if r.POR == "none" {
				o.Status, o.Reason, o.States = Limited, "time-out after 10s", 1234
			}
		}, exitDone, []string{">1234", "time-out after 10s"}},
	} {
		code, stdout, stderr, dir := bench(t, context.Background(), runnerFunc(
			func(_ context.Context, r Request) Outcome {
				if r.Limit != reductionLimit {
					t.Errorf("%s: limit %v", r.Model, r.Limit)
				}
				o := Outcome{Status: Done, States: 4845, Transitions: 9, CPU: time.Second,
					Search: time.Second}
				if c.change(r, &o); o.States == 4845 && r.Params.Map()["N"] == "6" {
					o.States = 313478 // ring_dkr N=6
				}
				if slices.Contains(r.Flags, "merged") {
					o.States = 100
				}
				return o
			}), append(rows, "reduction")...)
		if code != c.code {
			t.Errorf("%s: exit code %d, want %d\n%s", name, code, c.code, stdout)
		}
		for _, s := range append(c.says, "spin is not on the PATH") {
			if !strings.Contains(stdout+stderr, s) {
				t.Errorf("%s: the report does not say %q:\n%s", name, s, stdout)
			}
		}
		checkFiles(t, dir)
	}
}

// TestReductionReport holds the report to a golden file: ratios, their means, what was cut
// and what was refused.
func TestReductionReport(t *testing.T) {
	var ms []Measurement
	for i, row := range []string{"bad", "good", "cut", "native"} {
		for k, w := range reductionWays() {
			if row == "native" && (w.entry == nil || w.promela) {
				continue
			}
			m := Measurement{Benchmark: row, Tool: "cpor", Round: 1, Config: w.config(),
				Outcome: Outcome{Status: Done, States: 1000, Transitions: uint64(50 + i),
					CPU: time.Duration(10+k) * time.Millisecond, Wall: 20 * time.Millisecond}}
			if w.entry == nil {
				m.Tool, m.Extra = "spin", map[string]float64{"built-sec": 2}
			}
			switch {
			case w.name == reducedWay:
				m.States = 200
			case w.name == "auto" && row == "good":
				m.States = 10
			case row == "cut" && w.name == fullWay:
				m.Status, m.Reason = Limited, "time-out after 10s"
			case w.name == "unfolding" && row != "native":
				m.Outcome = Outcome{Status: Failed, Reason: "refused"}
			}
			ms = append(ms, m)
		}
	}
	var b bytes.Buffer
	writeSections(&b, reportReductions(ms, fixedMachine))
	golden(t, "reduction.txt", b.String())
	for n := 0; n < len(ms); n += 6 {
		rs := &Results{Machine: fixedMachine, Measurements: ms[:n], Start: time.Now()}
		page, err := htmlReport(rs, reportReductions(ms[:n], fixedMachine))
		if err != nil || bytes.Contains(page, []byte("NaN")) ||
			bytes.Contains(page, []byte("Inf")) {
			t.Fatalf("%d measurements: %v, or a figure is not a number", n, err)
		}
	}
}
