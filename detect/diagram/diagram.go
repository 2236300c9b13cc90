// Package diagram draws space-time diagrams of computations as SVG: a
// horizontal line for each process, a dot for each event, a line for each
// communication that the vector clocks show, and a cut.
//
// The events of the cut stand to the left of it and the others to the right,
// each as far left as the events that it depends on allow, so that the cut is a
// straight line. A dot's tooltip tells the event's text, clock and place in the
// log. A computation that is too wide is drawn around the cut only.
//
// The SVG itself is written with github.com/ajstarks/svgo; the layout is ours,
// as graph-drawing libraries know nothing of cuts.
package diagram

import (
	"fmt"
	"io"

	"cpor/detect/computation"

	svg "github.com/ajstarks/svgo"
)

// Options say what to draw.
type Options struct {
	Title string
	// Cut is drawn in, if it is not nil.
	Cut computation.Cut
	// Order, if it is not nil, is a linearisation of all events; each event then
	// has a column of its own, in this order.
	Order []computation.Event
	// Labels are drawn at the cut, one for each process: what holds there.
	Labels []string
	// Columns is how many columns of events are drawn at most on each side of the
	// cut; 0 is 60.
	Columns int
}

const (
	columnWidth = 26
	rowHeight   = 54
	margin      = 16
	top         = 56
	charWidth   = 7
)

// Write draws the computation.
func Write(w io.Writer, c *computation.Computation, opt Options) error {
	d := &drawing{c: c, opt: opt}
	if d.opt.Columns == 0 {
		d.opt.Columns = 60
	}
	d.place()
	return d.draw(w)
}

type drawing struct {
	c     *computation.Computation
	opt   Options
	col   [][]int // column of event k (from 1) of process i at [i][k-1]
	cutAt int     // the cut is between columns cutAt-1 and cutAt
	width int     // number of columns
	from  int     // first and last column drawn
	to    int
}

// place gives each event its column.
func (d *drawing) place() {
	c := d.c
	d.col = make([][]int, c.N())
	for i := range d.col {
		d.col[i] = make([]int, c.Events(i))
	}
	order := d.opt.Order
	if order == nil {
		cut := d.opt.Cut
		if cut == nil {
			cut = c.Final()
		}
		past := c.Linearise(c.Initial(), cut)
		for _, e := range past {
			d.setColumn(e, 0)
		}
		d.cutAt = d.width
		for _, e := range c.Linearise(cut, c.Final()) {
			d.setColumn(e, d.cutAt)
		}
	} else {
		for x, e := range order {
			d.col[e.Process][e.Index-1] = x
		}
		d.width = len(order)
		d.cutAt = d.width
	}
	d.from, d.to = max(0, d.cutAt-d.opt.Columns), min(d.width, d.cutAt+d.opt.Columns)
	if d.opt.Cut == nil {
		d.from, d.to = 0, min(d.width, 2*d.opt.Columns)
	}
}

func (d *drawing) setColumn(e computation.Event, least int) {
	x := least
	if e.Index > 1 {
		x = max(x, d.col[e.Process][e.Index-2]+1)
	}
	for j, m := range d.c.Clock(e.Process, e.Index) {
		if j != e.Process && m > 0 {
			x = max(x, d.col[j][m-1]+1)
		}
	}
	d.col[e.Process][e.Index-1] = x
	d.width = max(d.width, x+1)
}

// place on the paper
func (d *drawing) x(col int) int {
	x := d.left() + (col-d.from)*columnWidth + columnWidth/2
	if d.opt.Cut != nil && col >= d.cutAt {
		x += columnWidth
	}
	return x
}

func (d *drawing) y(i int) int { return top + i*rowHeight + rowHeight/2 }

func (d *drawing) left() int {
	longest := 0
	for i := range d.c.N() {
		longest = max(longest, len(d.c.Name(i)))
	}
	return margin + longest*charWidth + margin
}

func (d *drawing) shown(col int) bool { return col >= d.from && col < d.to }

func (d *drawing) draw(w io.Writer) error {
	out := &errWriter{w: w}
	s := svg.New(out)
	c := d.c
	right := d.x(max(d.to-1, d.from)) + columnWidth
	width := right + margin
	for _, l := range d.opt.Labels {
		width = max(width, d.x(d.cutAt)+len(l)*charWidth+margin)
	}
	width = max(width, margin*2+len(d.opt.Title)*charWidth)
	s.Start(width, top+c.N()*rowHeight+margin+20)
	s.Style("text/css", `text { font-family: sans-serif; font-size: 12px; fill: #222 }
.process { stroke: #999; stroke-width: 1 }
.message { stroke: #4477aa; stroke-width: 1.2 }
.event { fill: #222 }
.after { fill: #aaa }
.cut { stroke: #cc3311; stroke-width: 2; stroke-dasharray: 6 3 }
.label { fill: #cc3311; font-size: 11px; paint-order: stroke; stroke: #fff; stroke-width: 3px }`)
	s.Def()
	s.Marker("arrow", 11, 3, 7, 7, `orient="auto"`, `viewBox="0 0 7 6"`)
	s.Path("M0,0 L7,3 L0,6 z", `fill="#4477aa"`)
	s.MarkerEnd()
	s.DefEnd()
	s.Rect(0, 0, width, top+c.N()*rowHeight+margin+20, `fill="#fff"`)
	if d.opt.Title != "" {
		s.Text(margin, 24, d.opt.Title, `font-weight="bold"`)
	}
	for i := range c.N() {
		s.Text(margin, d.y(i)+4, c.Name(i))
		s.Line(d.left(), d.y(i), right, d.y(i), `class="process"`)
	}
	for i := range c.N() {
		for k := int32(1); k <= c.Events(i); k++ {
			if !d.shown(d.col[i][k-1]) {
				continue
			}
			for _, m := range c.Messages(i, k) {
				from := d.col[m.From.Process][m.From.Index-1]
				if d.shown(from) {
					s.Line(d.x(from), d.y(m.From.Process), d.x(d.col[i][k-1]), d.y(i), `class="message"`, `marker-end="url(#arrow)"`)
				}
			}
		}
	}
	for i := range c.N() {
		for k := int32(1); k <= c.Events(i); k++ {
			col := d.col[i][k-1]
			if !d.shown(col) {
				continue
			}
			class := `class="event"`
			if d.opt.Cut != nil && k > d.opt.Cut[i] {
				class = `class="event after"`
			}
			s.Group()
			s.Title(fmt.Sprintf("%s:%d %s\n%v at %v", c.Name(i), k, c.Text(i, k), []int32(c.Clock(i, k)), c.Pos(i, k)))
			s.Circle(d.x(col), d.y(i), 4, class)
			s.Gend()
		}
	}
	if d.opt.Cut != nil {
		x := d.x(d.cutAt) - columnWidth
		s.Line(x, top-10, x, top+c.N()*rowHeight, `class="cut"`)
		for i, l := range d.opt.Labels {
			if l != "" {
				s.Text(x+6, d.y(i)-8, l, `class="label"`)
			}
		}
	}
	note := ""
	if d.from > 0 {
		note = fmt.Sprintf("%d earlier columns are left out. ", d.from)
	}
	if d.to < d.width {
		note += fmt.Sprintf("%d later columns are left out.", d.width-d.to)
	}
	if note != "" {
		s.Text(margin, top+c.N()*rowHeight+margin+8, note)
	}
	s.End()
	return out.err
}

// errWriter keeps the first error: svgo drops them.
type errWriter struct {
	w   io.Writer
	err error
}

func (e *errWriter) Write(p []byte) (int, error) {
	if e.err == nil {
		_, e.err = e.w.Write(p)
	}
	return len(p), nil
}
