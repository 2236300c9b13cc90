package bench

import (
	"bytes"
	"html/template"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Plot is a figure: series of points, or stacked bars.
type Plot struct {
	Title      string
	X, Y       string // labels of the axes
	LogX, LogY bool
	Series     []Series
	// Bars, if not nil, is drawn instead of the series.
	Bars *Bars
}

// Series is a line with its points.
type Series struct {
	Name   string
	Color  int  // a number; equal ones look alike
	Paper  bool // figures that were not measured here: dashed and hollow
	Points []Point
}

// Point is a point of a series.
type Point struct{ X, Y float64 }

// Bars are bars of parts that stand on each other.
type Bars struct {
	Labels []string // one for each bar
	Parts  []Part
}

// Part is one part of each bar.
type Part struct {
	Name   string
	Color  int
	Values []float64 // one for each bar
}

// palette is Okabe and Ito's, which the color-blind can tell apart, and which differs in
// lightness when it is printed in gray.
var palette = []color.NRGBA{
	{0xD5, 0x5E, 0x00, 0xFF}, // vermilion
	{0x00, 0x72, 0xB2, 0xFF}, // blue
	{0x00, 0x9E, 0x73, 0xFF}, // green
	{0xE6, 0x9F, 0x00, 0xFF}, // orange
	{0x56, 0xB4, 0xE9, 0xFF}, // sky blue
	{0xCC, 0x79, 0xA7, 0xFF}, // purple
	{0x99, 0x99, 0x99, 0xFF}, // grey
}

// grey is the number of the palette's gray.
const grey = 6

var (
	ink  = color.NRGBA{0x33, 0x33, 0x33, 0xFF}
	thin = color.NRGBA{0xE4, 0xE4, 0xE4, 0xFF}
)

// The size of a plot before the page scales it.
const (
	plotWidth  = 4.4 * vg.Inch
	plotHeight = 3.0 * vg.Inch
)

// svg draws the plot. It returns "" if there is nothing to draw.
func (p *Plot) svg() (template.HTML, error) {
	g := plot.New()
	g.Title.Text, g.X.Label.Text, g.Y.Label.Text = p.Title, p.X, p.Y
	for _, s := range []*text.Style{
		&g.Title.TextStyle, &g.X.Label.TextStyle, &g.Y.Label.TextStyle,
		&g.X.Tick.Label, &g.Y.Tick.Label, &g.Legend.TextStyle,
	} {
		s.Font.Variant = "Sans"
		s.Font.Size = 9
		s.Color = ink
	}
	g.Title.TextStyle.Font.Size = 10.5
	g.Title.Padding = 6
	g.X.Label.Padding, g.Y.Label.Padding = 3, 3
	for _, a := range []*plot.Axis{&g.X, &g.Y} {
		a.LineStyle.Color, a.Tick.LineStyle.Color = ink, ink
		a.LineStyle.Width, a.Tick.LineStyle.Width = 0.6, 0.6
		a.Tick.Length = 4
	}
	g.BackgroundColor = color.Transparent
	// The legend stands below the picture, where it covers nothing.
	legend := plot.NewLegend()
	legend.TextStyle = g.Legend.TextStyle
	legend.Left = true
	legend.ThumbnailWidth = 20
	legend.Padding = 2
	legend.XOffs = 4
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Horizontal.Width = thin, 0.5
	grid.Vertical.Color, grid.Vertical.Width = thin, 0.5
	if p.Bars != nil {
		grid.Vertical.Color = nil // not drawn
	}
	g.Add(grid)
	var err error
	empty := true
	if p.Bars != nil {
		empty, err = p.Bars.add(g, &legend)
	} else {
		empty, err = p.add(g, &legend)
	}
	if err != nil || empty {
		return "", err
	}
	below := legend.Rectangle(draw.New(vgsvg.NewWith(vgsvg.UseWH(plotWidth, plotHeight)))).
		Size().
		Y + 4
	c := vgsvg.NewWith(vgsvg.UseWH(plotWidth, plotHeight+below))
	// Room at the right, for the last tick's label reaches over the edge.
	g.Draw(draw.Crop(draw.New(c), 2, -8, 2+below, -2))
	legend.Draw(draw.Crop(draw.New(c), 2, -8, 2, -2-plotHeight))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return "", err
	}
	return inline(b.String(), p.Title), nil
}

// inline makes a picture that scales from a file: the prologue goes, the size
// is left to the page, and the fonts are those of the page.
func inline(s, title string) template.HTML {
	if i := strings.Index(s, "<svg"); i >= 0 {
		s = s[i:]
	}
	head, rest, ok := strings.Cut(s, ">")
	if !ok {
		return ""
	}
	keep := "<svg"
	for _, f := range []string{"viewBox", "xmlns"} {
		if i := strings.Index(head, f+`="`); i >= 0 {
			if end := strings.Index(head[i+len(f)+2:], `"`); end >= 0 {
				keep += " " + head[i:i+len(f)+2+end+1]
			}
		}
	}
	keep += ` role="img" aria-label="` + template.HTMLEscapeString(title) + `">`
	return template.HTML(keep + rest)
}

// add adds the series, and reports whether there were none.
func (p *Plot) add(g *plot.Plot, legend *plot.Legend) (empty bool, err error) {
	empty = true
	var xs []float64
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, s := range p.Series {
		pts := make(plotter.XYs, 0, len(s.Points))
		for _, q := range s.Points {
			if p.LogX && q.X <= 0 || p.LogY && q.Y <= 0 {
				continue // not on a logarithmic axis
			}
			pts = append(pts, plotter.XY{X: q.X, Y: q.Y})
			xs = append(xs, q.X)
			lo, hi = min(lo, q.Y), max(hi, q.Y)
		}
		if len(pts) == 0 {
			continue
		}
		line, dots, err := plotter.NewLinePoints(pts)
		if err != nil {
			return false, err
		}
		c := palette[s.Color%len(palette)]
		line.Color, dots.Color = c, c
		line.Width = 1.6
		dots.Radius = 2.2
		dots.Shape = draw.CircleGlyph{}
		if s.Paper {
			line.Width = 1
			line.Dashes = []vg.Length{4, 3}
			dots.Shape = draw.RingGlyph{}
			dots.Radius = 3.4
		}
		g.Add(line, dots)
		legend.Add(s.Name, line, dots)
		empty = false
	}
	if empty {
		return true, nil
	}
	slices.Sort(xs)
	xs = slices.Compact(xs)
	g.X.Tick.Marker = plot.ConstantTicks(ticksAt(xs, p.LogX))
	if p.LogX {
		g.X.Scale = plot.LogScale{}
		g.X.Min, g.X.Max = xs[0]/1.1, xs[len(xs)-1]*1.1
	} else {
		g.X.Min, g.X.Max = xs[0], xs[len(xs)-1]
		if len(xs) == 1 {
			g.X.Min, g.X.Max = xs[0]-1, xs[0]+1
		}
	}
	if p.LogY {
		g.Y.Scale = plot.LogScale{}
		g.Y.Min, g.Y.Max = max(lo/1.6, math.SmallestNonzeroFloat32), hi*1.6
		g.Y.Tick.Marker = plot.TickerFunc(powersOfTen)
	} else {
		g.Y.Min, g.Y.Max = 0, hi*1.05
		g.Y.Tick.Marker = plot.TickerFunc(shortTicks)
	}
	return false, nil
}

// ticksAt puts ticks at the values that occur, from the least on, and numbers those between
// which there is room.
func ticksAt(xs []float64, logarithmic bool) []plot.Tick {
	place := func(x float64) float64 { return x }
	if logarithmic {
		place = math.Log
	}
	var ts []plot.Tick
	const room = 0.08 // of the axis, for a number
	least := room * (place(xs[len(xs)-1]) - place(xs[0]))
	next := math.Inf(1) // the numbered one to the right
	for _, x := range slices.Backward(xs) {
		label := ""
		if len(ts) == 0 || next-place(x) >= least {
			label = strconv.FormatFloat(x, 'g', 4, 64)
			next = place(x)
		}
		ts = append(ts, plot.Tick{Value: x, Label: label})
	}
	slices.Reverse(ts)
	return ts
}

// shortTicks writes the large numbers of an axis as 20k and 3M.
func shortTicks(lo, hi float64) []plot.Tick {
	ts := plot.DefaultTicks{}.Ticks(lo, hi)
	for i := range ts {
		if ts[i].Label != "" && ts[i].Value >= 10_000 {
			ts[i].Label = short(ts[i].Value)
		}
	}
	return ts
}

// powersOfTen puts numbered ticks at powers of ten and small ones between, which have
// numbers, too, where there are few of these.
func powersOfTen(lo, hi float64) []plot.Tick {
	var ts []plot.Tick
	first, last := int(math.Floor(math.Log10(lo))), int(math.Ceil(math.Log10(hi)))
	every := (last - first + 7) / 8
	few := hi/lo < 100 // one power of ten at most would have a number
	for e := first; e <= last; e++ {
		v := math.Pow(10, float64(e))
		label := ""
		if e%every == 0 {
			label = power(e)
		}
		ts = append(ts, plot.Tick{Value: v, Label: label})
		for d := 2.0; d < 10 && every == 1; d++ {
			label := ""
			if few && (d == 2 || d == 5) {
				label = strconv.FormatFloat(v*d, 'g', 4, 64)
			}
			ts = append(ts, plot.Tick{Value: v * d, Label: label})
		}
	}
	// Ticks beyond the axis are not drawn where they belong.
	return slices.DeleteFunc(ts, func(t plot.Tick) bool { return t.Value < lo || t.Value > hi })
}

// power returns 10^e in few places: 1, 10, 1k, 1M.
func power(e int) string {
	if e < 0 || e > 14 {
		return "1e" + strconv.Itoa(e)
	}
	return "1" + strings.Repeat("0", e%3) + []string{"", "k", "M", "G", "T"}[e/3]
}

// add adds the bars, and reports whether there were none.
func (b *Bars) add(g *plot.Plot, legend *plot.Legend) (empty bool, err error) {
	if len(b.Labels) == 0 || len(b.Parts) == 0 {
		return true, nil
	}
	width := vg.Length(min(28, 240/float64(len(b.Labels))))
	var below *plotter.BarChart
	for _, p := range b.Parts {
		c, err := plotter.NewBarChart(plotter.Values(p.Values), width)
		if err != nil {
			return false, err
		}
		c.Color = palette[p.Color%len(palette)]
		c.LineStyle.Width = 0
		if below != nil {
			c.StackOn(below)
		}
		below = c
		g.Add(c)
		if len(b.Parts) > 1 {
			legend.Add(p.Name, c)
		}
	}
	g.NominalX(b.Labels...)
	g.Y.Min = 0
	g.Y.Tick.Marker = plot.TickerFunc(shortTicks)
	return false, nil
}
