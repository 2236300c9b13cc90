package experiments

import (
	"context"
	"math"
	"os"
	"testing"
)

// TestBelowThePaper: at the paper's sizes, fewer transitions than its best
// column, and the same order of magnitude without optimizations, so that the
// comparison means something.
func TestBelowThePaper(t *testing.T) {
	cfg := &Config{Runs: 3, Seed: 1, Workers: 2}
	if testing.Short() {
		cfg.Runs = 1
	}
	for _, ex := range Examples {
		paper := PaperTable[ex.Name]
		cells := map[string]Cell{}
		for _, l := range Levels {
			cell, err := Run(context.Background(), cfg, ex, l, ex.N, ex.S)
			if err != nil {
				t.Fatal(err)
			}
			cells[l.Name] = cell
			t.Logf("%+v", cell)
		}
		if best := float64(paper["both"].Transitions); cells["interval"].Transitions >= best ||
			cells["sequences"].Transitions >= best {
			t.Errorf("%s: intervals %.1f, sequences %.1f, the paper's best %.0f", ex.Name,
				cells["interval"].Transitions, cells["sequences"].Transitions, best)
		}
		if ratio := cells["none"].Transitions / float64(paper["none"].Transitions); ratio < 1./3 ||
			ratio > 3 {
			t.Errorf("%s: without optimisation %.2f times the paper's transitions", ex.Name, ratio)
		}
		if cells["none"].States != cells["sleep"].States {
			t.Errorf("%s: %.1f states without and %.1f with sleep sets", ex.Name,
				cells["none"].States, cells["sleep"].States)
		}
		for _, level := range []string{"sleep", "both", "sequences"} {
			if c := cells[level]; math.Abs(c.Transitions-(c.States-1)) > 1e-6 {
				t.Errorf("%s, %s: N_T = %.1f, N_S = %.1f", ex.Name, level, c.Transitions, c.States)
			}
		}
	}
}

func TestFitLine(t *testing.T) {
	var exp, power []Cell
	for n := 3; n <= 9; n++ {
		exp = append(exp, Cell{N: n, Transitions: math.Exp(0.7*float64(n) + 1.5)})
		power = append(power, Cell{N: n, Transitions: math.Pow(float64(n), 2.5) * math.Exp(0.5)})
	}
	for _, tt := range []struct {
		fit  Fit
		a, b float64
	}{{FitLine(exp, false), 0.7, 1.5}, {FitLine(power, true), 2.5, 0.5}} {
		if math.Abs(tt.fit.A-tt.a) > 1e-9 || math.Abs(tt.fit.B-tt.b) > 1e-9 ||
			tt.fit.Residual > 1e-12 {
			t.Errorf("%+v", tt.fit)
		}
	}
	if !math.IsNaN(FitLine(exp[:1], false).A) {
		t.Error("a line through one point")
	}
	if got := (Fit{A: 2.8, B: -2.57}).String(); got != "e^(2.8N-2.57)" {
		t.Error(got)
	}
	if got := (Fit{A: 1.54, B: 3.16, Log: true}).String(); got != "N^1.54 e^3.16" {
		t.Error(got)
	}
}

func TestPlots(t *testing.T) {
	cfg := &Config{Runs: 1, Seed: 1, Workers: 2}
	var series []Series
	for _, g := range []Growth{{Example: 0, Level: "both", S: 10, From: 3, To: 5,
		Paper: PaperGrowth[3].Paper}, {Example: 1, Level: "interval", S: 10, From: 3, To: 5}} {
		s, err := Grow(context.Background(), cfg, g)
		if err != nil {
			t.Fatal(err)
		}
		series = append(series, s)
	}
	files, err := PlotFigures(t.TempDir(), ".svg", series)
	if err != nil || len(files) != 3 {
		t.Fatalf("%v %v", files, err)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}
}
