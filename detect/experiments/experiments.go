// Package experiments repeats the measurements of section 7 of Stoller,
// Unnikrishnan and Liu (2000) on the simulators of package simulate: the table of
// explored transitions and states for the four levels of optimization, the
// growth with the number of processes, and figures 6 and 7.
//
// Run measures one example at one size; Paper holds what the paper says; Fit
// fits ln N_T to a line; Plot draws the figures with gonum/plot.
package experiments

import (
	"context"
	"fmt"
	"sync"
	"time"

	"cpor/detect"
	"cpor/detect/computation"
	"cpor/detect/predicate"
	"cpor/detect/simulate"

	"golang.org/x/sync/errgroup"
)

// Example is one of the paper's two examples.
type Example struct {
	Name      string
	Generate  func(n, s int, seed uint64) *computation.Computation
	Predicate func(n int) string
	N, S      int // the size in the table
}

// Examples are the paper's examples with the sizes of its table.
var Examples = []Example{
	{"database partition", simulate.DatabasePartition, simulate.NotIdb, 5, 80},
	{"primary-secondary", simulate.PrimarySecondary, func(int) string { return simulate.NotIpr }, 9,
		60},
}

// Levels are the paper's four levels of optimization, the last one also with the other order in
// a persistent set, and ours beyond them: sequences in one step (section 5), and the interval
// search on the part of the computation that matters.
var Levels = append(append([]detect.Level(nil), detect.Levels...),
	detect.Level{Name: reversed, Options: detect.Options{Algorithm: detect.PSPoss, Full: true,
		Whole: true, NoSequences: true, Reverse: true}},
	detect.Level{Name: "sequences", Options: detect.Options{Algorithm: detect.PSPoss, Full: true,
		Whole: true}},
	detect.Level{Name: "interval", Options: detect.Options{Algorithm: detect.Interval}},
)

const reversed = "both, reversed"

// Fit is a line fitted to ln N_T: N_T = exp(A*x + B), where x is N or, if Log,
// ln N.
type Fit struct {
	A        float64 `json:"a"`
	B        float64 `json:"b"`
	Residual float64 `json:"residual"` // sum of the squared differences
	Log      bool    `json:"log"`
}

// Growth is a measurement of the growth with N.
type Growth struct {
	Example int // index in Examples
	Level   string
	S       int
	From    int // N from From to To
	To      int
	Paper   Fit
}

// PaperCounts is a cell of the paper's table.
type PaperCounts struct{ Transitions, States int64 }

// PaperTable is the paper's table, by example and level.
var PaperTable = map[string]map[string]PaperCounts{
	"database partition": {"none": {343170, 88281}, "sleep": {88280, 88281}, "persistent": {
		640, 545}, "both": {443, 444}, reversed: {443, 444}},
	"primary-secondary": {"none": {3878663, 752035}, "sleep": {752034, 752035}, "persistent": {
		91874, 61773}, "both": {53585, 53586}, reversed: {53585, 53586}},
}

// PaperGrowth holds the paper's fits with the sizes that they were made from.
var PaperGrowth = []Growth{
	{0, "none", 25, 3, 6, Fit{A: 2.80, B: -2.57}},
	{0, "sleep", 25, 3, 6, Fit{A: 2.48, B: -2.26}},
	{0, "persistent", 50, 3, 8, Fit{A: 0.540, B: 3.35}},
	{0, "both", 50, 3, 8, Fit{A: 0.301, B: 4.06, Residual: 0.0173}},
	{1, "none", 60, 4, 9, Fit{A: 1.55, B: 1.12}},
	{1, "sleep", 60, 4, 9, Fit{A: 1.35, B: 1.20}},
	{1, "persistent", 60, 4, 9, Fit{A: 0.925, B: 3.07}},
	{1, "both", 60, 4, 9, Fit{A: 0.888, B: 2.85}},
}

// PaperFigure7 is the paper's fit of ln N_T to ln N for the database partition
// with persistent sets and sleep sets.
var PaperFigure7 = Fit{A: 1.54, B: 3.16, Residual: 0.0155, Log: true}

// Cell is the average over some runs of one example at one size and level.
type Cell struct {
	Example     string  `json:"example"`
	Level       string  `json:"level"`
	N           int     `json:"n"`
	S           int     `json:"s"`
	Runs        int     `json:"runs"`
	Transitions float64 `json:"transitions"` // N_T
	States      float64 `json:"states"`      // N_S
	Violations  int     `json:"violations"`  // runs in which the predicate was possible
	Seconds     float64 `json:"seconds"`     // of all runs together
	PerSecond   float64 `json:"transitions_per_second"`
}

// Config says how much to measure.
type Config struct {
	Runs    int    // computations for each cell
	Seed    uint64 // of the first
	Workers int    // computations at the same time
	// Progress is called with what comes next.
	Progress func(string)

	mu    sync.Mutex
	cells map[string]Cell
}

// Run measures a cell. Every run with sleep sets is checked to reach no state
// twice, so that N_T = N_S - 1: the error says which one did. A run that ctx
// ends is an error, too.
func Run(ctx context.Context, cfg *Config, ex Example, level detect.Level, n, s int) (Cell, error) {
	key := fmt.Sprint(ex.Name, level.Name, n, s)
	cfg.mu.Lock()
	cell, ok := cfg.cells[key]
	cfg.mu.Unlock()
	if ok {
		return cell, nil
	}
	if cfg.Progress != nil {
		cfg.Progress(fmt.Sprintf("%s, %s, N=%d S=%d", ex.Name, level.Name, n, s))
	}
	pred, err := predicate.Parse(ex.Predicate(n))
	if err != nil {
		return Cell{}, err
	}
	cell = Cell{Example: ex.Name, Level: level.Name, N: n, S: s, Runs: cfg.Runs}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, cfg.Workers))
	for run := range cfg.Runs {
		g.Go(func() error {
			c := ex.Generate(n, s, cfg.Seed+uint64(run))
			node, err := pred.Expand(predicate.NamesOf(c))
			if err != nil {
				return err
			}
			opt := level.Options
			opt.Workers = 1
			start := time.Now()
			res, err := detect.Detect(ctx, c, node, detect.Poss, opt)
			elapsed := time.Since(start)
			if err != nil {
				return err
			}
			if !res.Exhaustive {
				return fmt.Errorf("%s, %s, N=%d: %s", ex.Name, level.Name, n, res.Reason)
			}
			if !opt.NoSleep {
				if err := checkSleep(ctx, c, node, opt, res); err != nil {
					return fmt.Errorf("%s, %s, N=%d S=%d, seed %d: %w", ex.Name, level.Name, n, s,
						cfg.Seed+uint64(run), err)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			cell.Transitions += float64(res.Stats.Transitions) / float64(cfg.Runs)
			cell.States += float64(res.Stats.States) / float64(cfg.Runs)
			cell.Seconds += elapsed.Seconds()
			if res.Holds {
				cell.Violations++
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return Cell{}, err
	}
	if cell.Seconds > 0 {
		cell.PerSecond = cell.Transitions * float64(cfg.Runs) / cell.Seconds
	}
	cfg.mu.Lock()
	if cfg.cells == nil {
		cfg.cells = map[string]Cell{}
	}
	cfg.cells[key] = cell
	cfg.mu.Unlock()
	return cell, nil
}

// checkSleep repeats a run with the visited states stored, so that the states
// are counted, and not inferred from the transitions.
func checkSleep(ctx context.Context, c *computation.Computation, node *predicate.Node,
	opt detect.Options, res *detect.Result) error {
	opt.Check = true
	checked, err := detect.Detect(ctx, c, node, detect.Poss, opt)
	if err != nil {
		return err
	}
	if s := checked.Stats; s.Transitions != s.States-1 || s.Transitions != res.Stats.Transitions {
		return fmt.Errorf("N_T = %d (%d when checked), N_S = %d", res.Stats.Transitions,
			s.Transitions, s.States)
	}
	return nil
}

// Series is the growth of a level with N, and the lines fitted to it.
type Series struct {
	Growth `json:"-"`
	Name   string  `json:"name"`
	Points []Cell  `json:"points"`
	Exp    Fit     `json:"exponential"`
	Power  Fit     `json:"polynomial"`
	PaperA float64 `json:"paper_a"`
}

// Grow measures a series.
func Grow(ctx context.Context, cfg *Config, g Growth) (Series, error) {
	s := Series{Growth: g, Name: Examples[g.Example].Name + ", " + g.Level, PaperA: g.Paper.A}
	for n := g.From; n <= g.To; n++ {
		cell, err := Run(ctx, cfg, Examples[g.Example], LevelNamed(g.Level), n, g.S)
		if err != nil {
			return s, err
		}
		s.Points = append(s.Points, cell)
	}
	s.Exp, s.Power = FitLine(s.Points, false), FitLine(s.Points, true)
	return s, nil
}

// LevelNamed returns the level of that name; it must exist.
func LevelNamed(name string) detect.Level {
	for _, l := range Levels {
		if l.Name == name {
			return l
		}
	}
	panic("experiments: no level " + name)
}
