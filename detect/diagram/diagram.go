// Package diagram draws space-time diagrams of computations as SVG: a horizontal line for each
// process, a dot for each event, a line for each communication that the vector clocks show, and a
// cut.
//
// The events of the cut are on its left and the others on its right, each as far left as the events
// that it depends on allow, so the cut is a straight line. A dot's tooltip shows the event's text,
// clock and place in the log. At first the part around the cut is visible. In a browser, the wheel
// zooms, and dragging, the arrow keys, + and - move and zoom; a double click resets. If a
// computation has more than some ten thousand events, only those around the cut are drawn.
//
// The script in the picture is constant, and all text from a log is escaped, so nothing from a log
// becomes markup.
//
// The SVG is written with github.com/ajstarks/svgo. The layout is ours, because graph-drawing
// libraries do not know cuts.
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
	// Order, if it is not nil, is a linearization of all events; each event then
	// has a column of its own, in this order.
	Order []computation.Event
	// Labels are drawn at the cut, one for each process: what holds there.
	Labels []string
	// Columns is how many columns of events are drawn at most on each side of the
	// cut; 0 is as many as have maxEvents events.
	Columns int
}

const (
	columnWidth = 26
	rowHeight   = 54
	margin      = 16
	top         = 56
	charWidth   = 7
	viewWidth   = 1400   // of what is shown at first
	maxEvents   = 20_000 // that are drawn: more make a browser slow
)

// script zooms and moves the picture by its viewBox, and keeps the names of the processes at its
// left side. Without scripts, the picture shows its initial part.
const script = `(function () {
	var svg = document.currentScript.ownerSVGElement, box = svg.viewBox.baseVal;
	var names = svg.getElementById("names"), first = [box.x, box.y, box.width, box.height], drag = null;
	function view(x, y, w, h) {
		svg.setAttribute("viewBox", [x, y, w, h].join(" "));
		names.setAttribute("transform", "translate(" + x + " 0)");
	}
	function point(e) {
		var p = svg.createSVGPoint();
		p.x = e.clientX; p.y = e.clientY;
		return p.matrixTransform(svg.getScreenCTM().inverse());
	}
	function zoom(f, p) {
		if (box.width * f < 50 || box.width * f > 1e6) return;
		view(p.x - (p.x - box.x) * f, p.y - (p.y - box.y) * f, box.width * f, box.height * f);
	}
	svg.addEventListener("wheel", function (e) { e.preventDefault(); zoom(e.deltaY > 0 ? 1.2 : 1 / 1.2, point(e)); }, { passive: false });
	svg.addEventListener("pointerdown", function (e) { drag = point(e); });
	svg.addEventListener("pointermove", function (e) {
		if (!drag) return;
		var p = point(e);
		view(box.x + drag.x - p.x, box.y + drag.y - p.y, box.width, box.height);
	});
	["pointerup", "pointerleave"].forEach(function (n) { svg.addEventListener(n, function () { drag = null; }); });
	svg.addEventListener("dblclick", function () { view.apply(null, first); });
	window.addEventListener("keydown", function (e) {
		var middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 }, step = box.width / 10;
		switch (e.key) {
		case "+": zoom(1 / 1.2, middle); break;
		case "-": zoom(1.2, middle); break;
		case "0": view.apply(null, first); break;
		case "ArrowLeft": view(box.x - step, box.y, box.width, box.height); break;
		case "ArrowRight": view(box.x + step, box.y, box.width, box.height); break;
		case "ArrowUp": view(box.x, box.y - step, box.width, box.height); break;
		case "ArrowDown": view(box.x, box.y + step, box.width, box.height); break;
		default: return;
		}
		e.preventDefault();
	});
})();`

// Write draws the computation.
func Write(w io.Writer, c *computation.Computation, opt Options) error {
	d := &drawing{c: c, opt: opt}
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
	if d.opt.Columns == 0 {
		d.opt.Columns = d.columns()
	}
	d.from, d.to = max(0, d.cutAt-d.opt.Columns), min(d.width, d.cutAt+d.opt.Columns)
	if d.opt.Cut == nil {
		d.from, d.to = 0, min(d.width, 2*d.opt.Columns)
	}
}

// columns returns how many columns there may be on each side for maxEvents
// events.
func (d *drawing) columns() int {
	in := make([]int, d.width)
	for i := range d.col {
		for _, x := range d.col[i] {
			in[x]++
		}
	}
	at := d.cutAt
	if d.opt.Cut == nil {
		at = 0
	}
	n, events := 0, 0
	for ; n < d.width; n++ {
		for _, x := range []int{at - n - 1, at + n} {
			if x >= 0 && x < d.width {
				events += in[x]
			}
		}
		if events > maxEvents {
			break
		}
	}
	if d.opt.Cut == nil {
		n = (n + 1) / 2 // both sides are one
	}
	return max(n, 1)
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
	height := top + c.N()*rowHeight + margin + 20
	// What is shown at first: the cut in the middle.
	shown, at := min(width, viewWidth), 0
	if d.opt.Cut != nil && d.opt.Order == nil {
		at = min(max(0, d.x(d.cutAt)-shown/2), width-shown)
	}
	s.Startview(shown, height, at, 0, shown, height)
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
	s.Rect(0, 0, width, height, `fill="#fff"`)
	for i := range c.N() {
		s.Line(d.left(), d.y(i), right, d.y(i), `class="process"`)
	}
	d.messages(s)
	d.events(s)
	if d.opt.Cut != nil {
		d.cut(s)
	}
	s.Group(`id="names"`, fmt.Sprintf(`transform="translate(%d 0)"`, at))
	s.Rect(0, top, d.left()-6, c.N()*rowHeight, `fill="#fff"`)
	if d.opt.Title != "" {
		s.Text(margin, 24, d.opt.Title, `font-weight="bold"`)
	}
	for i := range c.N() {
		s.Text(margin, d.y(i)+4, c.Name(i))
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
	s.Gend()
	s.Script("application/ecmascript", script)
	s.End()
	return out.err
}

// messages draws an arrow for each message whose ends are shown.
func (d *drawing) messages(s *svg.SVG) {
	c := d.c
	for i := range c.N() {
		for k := int32(1); k <= c.Events(i); k++ {
			if !d.shown(d.col[i][k-1]) {
				continue
			}
			for _, m := range c.Messages(i, k) {
				from := d.col[m.From.Process][m.From.Index-1]
				if d.shown(from) {
					s.Line(d.x(from), d.y(m.From.Process), d.x(d.col[i][k-1]), d.y(i),
						`class="message"`, `marker-end="url(#arrow)"`)
				}
			}
		}
	}
}

// events draws a dot for each event; those after the cut are pale.
func (d *drawing) events(s *svg.SVG) {
	c := d.c
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
			s.Title(fmt.Sprintf("%s:%d %s\n%v at %v", c.Name(i), k, c.Text(i, k),
				[]int32(c.Clock(i, k)), c.Pos(i, k)))
			s.Circle(d.x(col), d.y(i), 4, class)
			s.Gend()
		}
	}
}

// cut draws the line between what is before and after the cut, and its labels.
func (d *drawing) cut(s *svg.SVG) {
	x := d.x(d.cutAt) - columnWidth
	s.Line(x, top-10, x, top+d.c.N()*rowHeight, `class="cut"`)
	for i, l := range d.opt.Labels {
		if l != "" {
			s.Text(x+6, d.y(i)-8, l, `class="label"`)
		}
	}
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
