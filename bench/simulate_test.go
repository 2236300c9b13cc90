package bench

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"cpor/bench/coherence"
	"cpor/benchmarks"
)

// predicted is a runner that predicts without simulating: costs and times are made up.
func predicted(ctx context.Context, r Request) Outcome {
	if r.Mode != simulateMode {
		return Outcome{Status: Done, States: 1000, Transitions: 5000,
			Search: 100 * time.Millisecond / time.Duration(r.Workers),
			CPU:    110 * time.Millisecond}
	}
	p := &Prediction{Costs: coherence.Costs{Transfer: 60, Memory: 90, Pause: 80, Wake: 5000},
		Lost: 0.25, Law: coherence.Law{Contention: 0.05, Coherence: 0.001}}
	for _, n := range doubling(r.Workers) {
		d := time.Duration(98e6 / p.Law.Speedup(n))
		p.Runs = append(p.Runs, SimulatedRun{n, coherence.Result{Time: d, Local: 0.7, Moving: 0.1,
			Waiting: 0.15, Idle: 0.05, Hot: []coherence.Hot{
				{Site: "workers: active", Accesses: 123456, Transfers: 2345, Lines: 1,
					Moving: 2 * time.Millisecond, Waiting: 7 * time.Millisecond},
				{Site: "table: entries", Accesses: 1234567, Transfers: 234567, Lines: 34567,
					Moving: 3 * time.Millisecond},
			}}})
	}
	return Outcome{Status: Done, States: 1000, Transitions: 5000, Predicted: p,
		Search: p.Runs[len(p.Runs)-1].Time}
}

func TestSimulateReport(t *testing.T) {
	code, _, stderr, dir := bench(t, t.Context(), runnerFunc(predicted), "scale", "filesystem",
		"-D", "N=6", "-simulate", "12", "-rounds", "3")
	if code != exitDone {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	checkFiles(t, dir)
	s := &Session{Names: []string{"filesystem"}, Simulate: 12, rounds: 3, table: "scale",
		dir:    t.TempDir(),
		Params: benchmarks.Params{{Name: "N", Value: "6"}}, runner: runnerFunc(predicted),
		stderr: io.Discard, progress: newProgress(io.Discard), written: time.Now(),
		results:  &Results{Start: time.Now(), Machine: fixedMachine},
		sections: func(*Results) []Section { return nil }}
	if err := runScale(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	goldenReport(t, "simulate.txt", scale, s.results.Measurements)
}

// TestSimulateLimited reports a simulation that exceeded its limit before it predicted anything.
func TestSimulateLimited(t *testing.T) {
	secs := reportPredicted([]Measurement{{Benchmark: "indexer", Tool: simulator,
		Outcome: Outcome{Status: Limited, Predicted: &Prediction{}}}}, fixedMachine)
	if len(secs) != 1 || len(secs[0].Grids) != 0 {
		t.Errorf("the report is %+v, want no tables", secs)
	}
}

func TestSimulateRefused(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"scale -simulate 1", "-simulate 1: want 2 to 64"},
		{"scale -simulate 65", "-simulate 65: want 2 to 64"},
		{"scale -simulate 0", "-simulate 0: want 2 to 64"},
		{"table1 -simulate 4", "-simulate is a flag of scale: cpor bench scale -simulate 4"},
		{"-simulate 4", "-simulate is a flag of scale"},
		{"scale peers -simulate 4", "-simulate is a flag of scale"},
		{"scale -simulate 4 -workers 2", "-workers has no effect with -simulate"},
	} {
		code, _, stderr, _ := bench(t, t.Context(), runnerFunc(predicted),
			strings.Fields(tt.args)...)
		if code != exitMistake || !strings.Contains(stderr, tt.want) {
			t.Errorf("bench %s: exit code %d and %q, want %q", tt.args, code, stderr, tt.want)
		}
	}
}

// TestSimulate simulates a small search for real.
func TestSimulate(t *testing.T) {
	r := Request{Model: "philosophers", Params: benchmarks.Params{{Name: "N", Value: "7"}},
		POR: "none", Mode: simulateMode, Workers: 3}
	out := runSimulated(t.Context(), r)
	if out.Status != Done {
		t.Fatalf("%s: %s", out.Status, out.Reason)
	}
	p := out.Predicted
	if len(p.Runs) != 3 || p.run(3) == nil || p.run(1).Time <= 0 {
		t.Fatalf("the runs are %+v", p.Runs)
	}
	if one := p.run(1); p.speedup(3) <= 0 || one.Moving+one.Waiting > 0 {
		t.Errorf("the speed-up is %v, and one worker pays for others: %+v", p.speedup(3), one)
	}
	if r.POR = "dpor"; runSimulated(t.Context(), r).Status != Failed {
		t.Error("a search without stored states was simulated")
	}
}
