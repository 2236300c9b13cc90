package experiments

import (
	"fmt"
	"image/color"
	"math"
	"path/filepath"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// FitLine fits ln N_T to N, or to ln N, by least squares. Points where the
// average is 0 are left out.
func FitLine(points []Cell, log bool) Fit {
	f := Fit{Log: log}
	var xs, ys []float64
	for _, p := range points {
		if p.Transitions > 0 {
			xs = append(xs, f.x(float64(p.N)))
			ys = append(ys, math.Log(p.Transitions))
		}
	}
	if len(xs) < 2 {
		f.A, f.B = math.NaN(), math.NaN()
		return f
	}
	f.B, f.A = stat.LinearRegression(xs, ys, nil, false)
	for i := range xs {
		d := ys[i] - (f.A*xs[i] + f.B)
		f.Residual += d * d
	}
	return f
}

func (f Fit) x(n float64) float64 {
	if f.Log {
		return math.Log(n)
	}
	return n
}

// String prints the fit as the paper writes it.
func (f Fit) String() string {
	sign, b := '+', f.B
	if b < 0 {
		sign, b = '-', -b
	}
	if f.Log {
		return fmt.Sprintf("N^%.2f e^%.2f", f.A, f.B)
	}
	return fmt.Sprintf("e^(%.3gN%c%.2f)", f.A, sign, b)
}

// PlotFigures writes the paper's figures 6 (one file for each example) and 7
// into a directory, as SVG or PNG by the extension: our points and lines, and
// the paper's lines dashed. It returns the files' names.
func PlotFigures(dir, extension string, series []Series) ([]string, error) {
	var files []string
	save := func(p *plot.Plot, name string) error {
		path := filepath.Join(dir, name+extension)
		files = append(files, path)
		return p.Save(16*vg.Centimeter, 11*vg.Centimeter, path)
	}
	for e, ex := range Examples {
		p := plot.New()
		p.Title.Text = "Figure 6: " + ex.Name
		p.X.Label.Text, p.Y.Label.Text = "N", "ln N_T"
		p.Legend.Top, p.Legend.Left = true, true
		k := 0
		for _, s := range series {
			if s.Example != e {
				continue
			}
			if err := draw(p, s, s.Exp, s.Paper, k, s.Level); err != nil {
				return files, err
			}
			k++
		}
		if err := save(p,
			fmt.Sprintf("figure6-%s", map[int]string{0: "database", 1: "primary"}[e])); err != nil {
			return files, err
		}
	}
	for _, s := range series {
		if s.Example != 0 || s.Level != "both" {
			continue
		}
		p := plot.New()
		p.Title.Text = fmt.Sprintf("Figure 7: %s, persistent and sleep sets, S = %d",
			Examples[0].Name, s.S)
		p.X.Label.Text, p.Y.Label.Text = "ln N", "ln N_T"
		p.Legend.Top, p.Legend.Left = true, true
		if err := draw(p, s, s.Power, PaperFigure7, 0, "both"); err != nil {
			return files, err
		}
		if err := save(p, "figure7"); err != nil {
			return files, err
		}
	}
	return files, nil
}

// draw adds the points and the line of a series, and the paper's line if it has
// one.
func draw(p *plot.Plot, s Series, fit, paper Fit, k int, name string) error {
	var pts plotter.XYs
	for _, c := range s.Points {
		if c.Transitions > 0 {
			pts = append(pts, plotter.XY{X: fit.x(float64(c.N)), Y: math.Log(c.Transitions)})
		}
	}
	points, err := plotter.NewScatter(pts)
	if err != nil {
		return err
	}
	col := plotutil.Color(k)
	points.GlyphStyle.Color, points.GlyphStyle.Shape = col, plotutil.Shape(k)
	p.Add(points)
	add := func(f Fit, c color.Color, dashes []vg.Length) (*plotter.Line, error) {
		x0, x1 := f.x(float64(s.From)), f.x(float64(s.To))
		l, err := plotter.NewLine(plotter.XYs{{X: x0, Y: f.A*x0 + f.B}, {X: x1, Y: f.A*x1 + f.B}})
		if err != nil {
			return nil, err
		}
		l.Color, l.Dashes = c, dashes
		p.Add(l)
		return l, nil
	}
	l, err := add(fit, col, nil)
	if err != nil {
		return err
	}
	p.Legend.Add(name+": "+fit.String(), points, l)
	if paper.A == 0 {
		return nil
	}
	l, err = add(paper, col, []vg.Length{vg.Points(4), vg.Points(3)})
	if err != nil {
		return err
	}
	p.Legend.Add("paper: "+paper.String(), l)
	return nil
}
