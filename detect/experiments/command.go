package experiments

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strings"
	"time"

	"cpor/internal/cliflag"
	"cpor/internal/human"
	"cpor/internal/layout"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/table"
	"golang.org/x/term"
)

const usage = `usage: cpor bench detect [flags]

Repeats the measurements of Stoller, Unnikrishnan and Liu (2000), section 7: the
explored transitions and states of the two examples for the four levels of
optimization, averaged over simulated computations, and their growth with the
number of processes, beside the paper's figures. In every run with sleep sets it
checks that N_T = N_S - 1.
`

// benchResult is what -json prints.
type benchResult struct {
	Runs   int      `json:"runs"`
	Table  []Cell   `json:"table"`
	Growth []Series `json:"growth"`
	Plots  []string `json:"plots,omitempty"`
}

// Main is `cpor bench detect`; args are those after the name. It returns the
// exit code: 0, 2 for a mistake or a failed check, 3 when it was interrupted.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := cliflag.New("bench detect")
	mistake := func(format string, args ...any) int {
		fmt.Fprintf(stderr, "cpor bench detect: %s\n", fmt.Sprintf(format, args...))
		return 2
	}
	cfg := &Config{}
	f.IntVar(&cfg.Runs, "runs", 100, "the `number` of computations for each figure")
	f.Uint64Var(&cfg.Seed, "seed", 1, "the `seed` of the first computation")
	f.IntVar(&cfg.Workers, "workers", runtime.GOMAXPROCS(0),
		"the `number` of computations at the same time")
	plots := f.String("plots", "", "draw figures 6 and 7 in this `directory`")
	extension := f.String("plot-format", "svg", "svg, png or pdf")
	growth := f.Bool("growth", true, "measure the growth with N")
	asJSON := f.Bool("json", false, "print one JSON object")
	quiet := f.Bool("q", false, "no progress on stderr")
	f.Renamed("quiet", "q")
	rest, err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		f.Describe(stdout)
		return 0
	case err != nil:
		return mistake("%v", err)
	case len(rest) > 0:
		return mistake("unexpected argument %s", rest[0])
	case cfg.Runs < 1:
		return mistake("-runs %d: want at least one", cfg.Runs)
	case *extension != "svg" && *extension != "png" && *extension != "pdf":
		return mistake("-plot-format %s: want svg, png or pdf", *extension)
	case *plots != "" && !*growth:
		return mistake("-plots needs -growth")
	}
	if !*quiet {
		cfg.Progress = progressLine(stderr)
	}
	res := &benchResult{Runs: cfg.Runs}
	err = bench(ctx, cfg, res, *growth)
	if err == nil && *plots != "" {
		if err = os.MkdirAll(*plots, 0o777); err == nil {
			res.Plots, err = PlotFigures(*plots, "."+*extension, res.Growth)
		}
	}
	if !*quiet {
		cfg.Progress("")
	}
	if ctx.Err() != nil {
		mistake("interrupted")
		return 3
	}
	if err != nil {
		return mistake("%v", err)
	}
	if *asJSON {
		err = res.writeJSON(stdout)
	} else {
		_, err = io.WriteString(stdout, res.String())
	}
	if err != nil && !errors.Is(err, os.ErrClosed) {
		return mistake("%v", err)
	}
	return 0
}

// writeJSON writes the result as one JSON object. JSON knows no NaN, so a fit that failed has no
// figures.
func (res *benchResult) writeJSON(w io.Writer) error {
	for i := range res.Growth {
		s := &res.Growth[i]
		for _, fit := range []*Fit{&s.Exp, &s.Power} {
			if math.IsNaN(fit.A) {
				*fit = Fit{Log: fit.Log}
			}
		}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(res)
}

// progressLine shows what is being done: on a terminal in one line that is
// overwritten, and removed by "", else in a line every ten seconds.
func progressLine(w io.Writer) func(what string) {
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return func(what string) { fmt.Fprintf(w, "\r\x1b[K%s", what) }
	}
	last := time.Now()
	return func(what string) {
		if what != "" && time.Since(last) >= 10*time.Second {
			last = time.Now()
			fmt.Fprintln(w, what)
		}
	}
}

func bench(ctx context.Context, cfg *Config, res *benchResult, growth bool) error {
	for _, ex := range Examples {
		for _, level := range Levels {
			cell, err := Run(ctx, cfg, ex, level, ex.N, ex.S)
			if err != nil {
				return err
			}
			res.Table = append(res.Table, cell)
		}
	}
	if !growth {
		return nil
	}
	list := PaperGrowth
	for _, level := range []string{"sequences", "interval"} {
		list = append(list,
			Growth{Example: 0, Level: level, S: 50, From: 3, To: 8},
			Growth{Example: 1, Level: level, S: 60, From: 4, To: 9})
	}
	for _, g := range list {
		s, err := Grow(ctx, cfg, g)
		if err != nil {
			return err
		}
		res.Growth = append(res.Growth, s)
	}
	return nil
}

// String prints the tables.
func (b *benchResult) String() string {
	var out strings.Builder
	count := func(x float64) string { return humanize.CommafWithDigits(x, 1) }
	fmt.Fprintf(&out, "explored transitions N_T and states N_S, averages over %d computations\n",
		b.Runs)
	t := layout.NewTable(2, 3, 5, 6, 7, 8, 9, 10)
	t.AppendHeader(table.Row{"example", "N", "S", "level", "N_T", "N_S", "paper N_T", "paper N_S",
		"violations", "transitions/s"})
	for _, c := range b.Table {
		row := table.Row{c.Example, c.N, c.S, c.Level, count(c.Transitions), count(c.States), "",
			"", c.Violations, human.Count(int64(c.PerSecond))}
		if p, ok := PaperTable[c.Example][c.Level]; ok {
			row[6], row[7] = human.Count(p.Transitions), human.Count(p.States)
		}
		t.AppendRow(row)
	}
	fmt.Fprintln(&out, t.Render())
	fmt.Fprintln(&out, "In every run with sleep sets, N_T = N_S - 1.")
	if len(b.Growth) == 0 {
		return out.String()
	}
	fmt.Fprintln(&out, "\ngrowth of N_T with N, fitted")
	t = layout.NewTable(3, 6, 9)
	t.AppendHeader(table.Row{"example", "level", "S", "N", "N_T", "residual", "paper N_T",
		"polynomial", "residual", "paper"})
	for _, s := range b.Growth {
		row := table.Row{Examples[s.Example].Name, s.Level, s.S,
			fmt.Sprintf("%d..%d", s.From, s.To),
			s.Exp.String(), fmt.Sprintf("%.3f", s.Exp.Residual), "", s.Power.String(),
			fmt.Sprintf("%.3f", s.Power.Residual), ""}
		if s.Paper.A != 0 {
			row[6] = s.Paper.String()
		}
		if s.Example == 0 && s.Level == "both" {
			row[9] = PaperFigure7.String()
		}
		t.AppendRow(row)
	}
	fmt.Fprintln(&out, t.Render())
	for _, p := range b.Plots {
		fmt.Fprintln(&out, "plot", p)
	}
	return out.String()
}
