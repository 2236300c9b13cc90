package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cpor/benchmarks"
	"cpor/engine"
	"cpor/engine/temporal"
)

// siegelTable is Siegel, "Transparent partial order reduction" (2012), figure 4.
var siegelTable = Table{
	Name:       "siegel",
	Summary:    "temporal properties: transitions with invisible and transparent ample sets",
	Run:        runSiegel,
	Report:     reportSiegel,
	Flags:      []string{"por", "transitions"},
	Benchmarks: benchmarks.SiegelNames,
}

// siegelExperiment is one graph of the figure, or a further property of its program.
type siegelExperiment struct {
	model    string
	property string
	graph    string // in the figure; "" if the paper only says that it looks alike
	from     int
	title    string
}

var siegelExperiments = []siegelExperiment{
	{"coordbarrier", "p1_whole", "a", 1, "coordinator barrier"},
	{"coordbarrier", "p2_whole", "", 1, "coordinator barrier"},
	{"coordbarrier", "p3", "", 1, "coordinator barrier"},
	{"dissbarrier", "p3", "b", 2, "dissemination barrier"},
	{"mpsc", "unblocked_whole", "c", 1, "multiple producers, single consumer"},
	{"prodcons", "read_whole", "d", 1, "shared-memory producer-consumer"},
}

// siegelReductions are the columns, as in -por, with the paper's words.
var siegelReductions = []struct{ por, name string }{
	{"none", "full"}, {"invisible", "invisible"}, {"transparent", "transparent"},
}

// mostSiegel ends a sweep whose transitions do not grow beyond the limit: a
// linear function would need too many threads.
const mostSiegel = 16

func runSiegel(ctx context.Context, s *Session) error {
	dir, err := os.MkdirTemp("", "cpor-siegel-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, name := range benchmarks.SiegelNames() {
		text, err := benchmarks.Siegel(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name+".model"), text, 0o666)
		}
		if err != nil {
			return errors.Join(err)
		}
	}
	const est = 2 * time.Second
	for _, x := range siegelExperiments {
		if len(s.Names) > 0 && !slices.Contains(s.Names, x.model) {
			continue
		}
		for _, red := range siegelReductions {
			if s.POR != "" && s.POR != red.por {
				continue
			}
			s.Plan(mostSiegel-x.from+1, time.Duration(mostSiegel-x.from+1)*est)
			for n := x.from; n <= mostSiegel; n++ {
				ps := benchmarks.Params{{Name: "N", Value: strconv.Itoa(n)}}
				label := fmt.Sprintf("%s %s, N=%d, %s", x.model, x.property, n, red.name)
				r := Request{
					Model: filepath.Join(dir, x.model+".model"), Params: ps, Mode: temporal.Mode,
					POR: red.por, Workers: 1, Limit: s.Limit, MaxMemory: s.MaxMemory,
					Flags: []string{"-ltl", x.property, "-max-states",
						strconv.FormatUint(s.Transitions, 10)},
				}
				out := s.Run(ctx, r, label, est)
				if out.Status == Interrupted {
					return nil
				}
				if out.Status == Failed && tooLarge(ctx, &r, x.property) {
					out.Status = Limited
				}
				if out.Status == Failed {
					s.Unexpected("%s: %s", label, out.Reason)
				}
				over := out.Status != Done || out.Transitions > s.Transitions
				if over && out.Status == Done {
					out.Status, out.Reason = Limited, "more transitions than the limit"
				}
				s.Record(Measurement{
					Benchmark: x.model, Params: ps, Tool: "cpor", Round: 1, Outcome: out,
					Config: benchmarks.Params{{Name: "ltl", Value: x.property},
						{Name: "por", Value: red.por}},
				})
				if over {
					s.Drop(mostSiegel-n, time.Duration(mostSiegel-n)*est)
					break
				}
			}
		}
	}
	return nil
}

// tooLarge reports whether a run failed because the automaton of its property grows too large. The
// run itself can say that only in words.
func tooLarge(ctx context.Context, r *Request, property string) bool {
	e, err := r.entry()
	if err != nil {
		return false
	}
	p, err := r.load(e)
	if err != nil {
		return false
	}
	for _, x := range p.Properties {
		if x.Name != property {
			continue
		}
		_, err = temporal.Run(ctx, p.System, []engine.Property{{Name: x.Name, Formula: x.Formula}},
			temporal.Options{Options: engine.Options{Workers: 1, MaxStates: 1}})
		var wrong *temporal.FormulaError
		return errors.As(err, &wrong) && wrong.TooLarge
	}
	return false
}

// siegelCurve is the transitions of one reduction by N, from the first N on.
func siegelCurve(ms []Measurement, x siegelExperiment, por string) map[int]float64 {
	c := map[int]float64{}
	for _, m := range ms {
		if m.Benchmark != x.model || m.Status != Done || m.Config.Map()["ltl"] != x.property ||
			m.Config.Map()["por"] != por {
			continue
		}
		if n, err := strconv.Atoi(m.Params.Map()["N"]); err == nil {
			c[n] = float64(m.Transitions)
		}
	}
	return c
}

// growth is the factor by which a curve grows from one N to the next over its
// last three steps, as the geometric mean; ok is false with fewer points.
func growth(c map[int]float64) (factor float64, ok bool) {
	last := 0
	for n := range c {
		last = max(last, n)
	}
	if c[last-3] == 0 {
		return 0, false
	}
	return math.Cbrt(c[last] / c[last-3]), true
}

// linear reports whether the differences of a curve are constant from its second point on.
func linear(c map[int]float64) bool {
	if len(c) < 5 {
		return false
	}
	var ns []int
	for n := range c {
		ns = append(ns, n)
	}
	slices.Sort(ns)
	d := c[ns[2]] - c[ns[1]]
	for i := 3; i < len(ns); i++ {
		if e := c[ns[i]] - c[ns[i-1]]; math.Abs(e-d) > 0.01*d {
			return false
		}
	}
	return true
}

func reportSiegel(ms []Measurement, _ Machine) []Section {
	if len(ms) == 0 {
		return nil
	}
	sec := Section{
		Title: "Transparent partial-order reduction (Siegel 2012, figure 4)",
		Text: []string{"Transitions in the graph of the program without reduction, with ample " +
			"sets whose transitions are invisible to the property, and with transparent ones, " +
			"while they stay within the limit. The graphs are built by one worker, depth-first, " +
			"and for the whole formula, as in the paper."},
	}
	for _, x := range siegelExperiments {
		curves := map[string]map[int]float64{}
		seen := map[int]bool{}
		for _, red := range siegelReductions {
			curves[red.por] = siegelCurve(ms, x, red.por)
			for n := range curves[red.por] {
				seen[n] = true
			}
		}
		if len(seen) == 0 {
			continue
		}
		var ns []int
		for n := range seen {
			ns = append(ns, n)
		}
		slices.Sort(ns)
		title := x.title + ", " + x.property
		if x.graph != "" {
			title = "(" + x.graph + ") " + title
		}
		g := Grid{Caption: title, Header: []string{"N", "full", "invisible", "transparent",
			"full/inv.", "inv./transp."}}
		for _, n := range ns {
			cell := func(por string) string {
				if v := curves[por][n]; v > 0 {
					return count(uint64(v))
				}
				return "–"
			}
			ratio := func(a, b string) string {
				if curves[a][n] > 0 && curves[b][n] > 0 {
					return times(curves[a][n] / curves[b][n])
				}
				return ""
			}
			g.Lines = append(g.Lines, Line{Cells: []string{
				strconv.Itoa(n), cell("none"), cell("invisible"), cell("transparent"),
				ratio("none", "invisible"), ratio("invisible", "transparent"),
			}})
		}
		if n := siegelGrowth(curves); n != "" {
			g.Notes = append(g.Notes, n)
		}
		for _, red := range siegelReductions {
			if len(curves[red.por]) < len(ns) {
				g.Notes = append(g.Notes, "– "+red.name+": beyond the limit.")
			}
		}
		sec.Grids = append(sec.Grids, g)
		if x.graph == "" {
			continue
		}
		sec.Plots = append(sec.Plots, siegelPlot(title, ns, curves))
	}
	return []Section{sec}
}

// siegelGrowth says how the curves grow, "" if that cannot be told.
func siegelGrowth(curves map[string]map[int]float64) string {
	var parts []string
	for _, red := range siegelReductions {
		switch f, ok := growth(curves[red.por]); {
		case linear(curves[red.por]):
			parts = append(parts, red.name+" linear")
		case ok:
			parts = append(parts, fmt.Sprintf("%s ×%s", red.name, times(f)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Growth from one N to the next at the end: " + strings.Join(parts, ", ") + "."
}

func siegelPlot(title string, ns []int, curves map[string]map[int]float64) Plot {
	p := Plot{Title: title, X: "N", Y: "transitions", LogY: true}
	for i, red := range siegelReductions {
		sr := Series{Name: red.name, Color: i}
		for _, n := range ns {
			if v := curves[red.por][n]; v > 0 {
				sr.Points = append(sr.Points, Point{float64(n), v})
			}
		}
		p.Series = append(p.Series, sr)
	}
	return p
}
