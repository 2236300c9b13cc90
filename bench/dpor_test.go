package bench

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cpor/benchmarks"
	"cpor/engine/stateless"
)

// TestDPOR runs the table with made-up figures: its ratios must be theirs, the
// number of traces is checked, and cyclic programs stand apart with the reason.
func TestDPOR(t *testing.T) {
	for _, wrong := range []bool{false, true} {
		runner := runnerFunc(func(_ context.Context, r Request) Outcome {
			o := Outcome{Status: Done, States: 5000, Transitions: 3000, Search: time.Millisecond}
			name := strings.TrimSuffix(filepath.Base(r.Model), ".model")
			if slices.Contains(dporCyclic, name) {
				return Outcome{Status: Limited, Reason: "the system is cyclic: it never ends; " +
					"bound it"}
			}
			if r.Mode == classicMode {
				o.States, o.Transitions = 0, 76543
				if r.POR != classicSleep {
					o.Status, o.Reason = Limited, "time limit of 1s"
				}
			}
			if r.Mode == stateless.Mode {
				o.States, o.Transitions = 0, 400
				for _, x := range dporRows {
					if x.model == name && x.params.String() == r.Params.String() {
						o.Executions = x.traces
					}
				}
				if wrong && name == "indexer" {
					o.Executions++
				}
			}
			if r.POR == "none" && name == "filesystem" {
				return Outcome{Status: Limited, Reason: "time-out"}
			}
			return o
		})
		var out, errs bytes.Buffer
		code := run(context.Background(), []string{"dpor", "-rounds", "2", "-o", t.TempDir()}, &out,
			&errs, runner)
		want := exitDone
		if wrong {
			want = exitUnexpected
		}
		if code != want {
			t.Errorf("exit code %d, want %d\n%s%s", code, want, &out, &errs)
		}
		for _, s := range []string{"7.50", "lastzero N=12", "15360",
			"the system is cyclic: it never ends", "robots", "–", ">76543"} {
			if !strings.Contains(out.String(), s) {
				t.Errorf("the report has no %s:\n%s", s, &out)
			}
		}
		if strings.Contains(out.String(), "bound it") {
			t.Errorf("advice for a user of cpor run:\n%s", &out)
		}
	}
}

// TestClassic: classic reduction runs without a command, with its count of traces and its limits.
func TestClassic(t *testing.T) {
	dir := t.TempDir()
	if err := writeModels(dir, []string{"increments"}, anyModel); err != nil {
		t.Fatal(err)
	}
	var p processRunner
	r := Request{Model: filepath.Join(dir, "increments.model"), Mode: classicMode,
		POR: classicSleep, Params: benchmarks.Params{{Name: "N", Value: "3"}}}
	// Unlike optimal reduction, it lets stores of equal numbers conflict.
	if o := p.Run(context.Background(), r); o.Status != Done || o.Executions != 36 {
		t.Errorf("%+v", o)
	}
	r.Limit = 1
	if o := p.Run(context.Background(), r); o.Status != Limited || o.Reason == "" {
		t.Errorf("with a time limit of 1 ns: %+v", o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if o := p.Run(ctx, r); o.Status != Interrupted {
		t.Errorf("interrupted: %+v", o)
	}
	r.Model = filepath.Join(dir, "nosuch.model")
	if o := p.Run(context.Background(), r); o.Status != Failed || o.Reason == "" {
		t.Errorf("without a model: %+v", o)
	}
}

// TestDPORModels makes sure that each program of the table exists, and that its
// constants do.
func TestDPORModels(t *testing.T) {
	for _, r := range dporRows {
		text, err := anyModel(r.model)
		if err != nil {
			t.Error(err)
		}
		for _, p := range r.params {
			if !bytes.Contains(text, []byte("const "+p.Name+" = ")) {
				t.Errorf("%s has no constant %s", r.model, p.Name)
			}
		}
	}
	for _, name := range dporCyclic {
		if _, err := anyModel(name); err != nil {
			t.Error(err)
		}
	}
}
