package draw

import (
	"fmt"
	"io"
	"slices"
	"strings"

	svg "github.com/ajstarks/svgo"
	"github.com/jedib0t/go-pretty/v6/text"

	"cpor/trace"
)

// The measures of a chart, in pixels.
const (
	chartLane   = 260 // from one thread to the next
	chartRow    = 18  // a line of text
	chartTop    = 48
	chartMargin = 20
	chartChars  = 34 // that fit beside a lifeline
)

// errSink keeps the first error of a writer, which svgo drops.
type errSink struct {
	w   io.Writer
	err error
}

func (s *errSink) Write(b []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(b)
	s.err = err
	return n, err
}

// Chart draws a record as a message-sequence chart in SVG: a lifeline for
// each thread that takes part, time running down, a dot for each step with what it
// did, and an arrow from where a message was sent to where it was received. A
// message that nobody received ends in a small circle. A dot's tooltip is the
// statement with its place. Above it stands the history, if there is one. All text is escaped.
func Chart(w io.Writer, r *trace.Record) error {
	sink := &errSink{w: w}
	c := svg.New(sink)
	file := fileOf(r)
	var threads []int
	names := map[int]string{}
	y := make([]int, len(r.Events)+1)
	y[0] = chartTop + chartRow
	rows := make([][]string, len(r.Events))
	for i, e := range r.Events {
		y[i+1] = y[i]
		if e.Observer {
			continue
		}
		if _, ok := names[e.Step.Thread]; !ok {
			threads = append(threads, e.Step.Thread)
			names[e.Step.Thread] = e.Thread
		}
		for _, m := range e.Messages {
			if _, ok := names[m.With]; m.Direct && !ok {
				threads = append(threads, m.With)
				names[m.With] = m.WithName
			}
		}
		for _, l := range lines(&e, file, false)[min(1, len(e.Deeds)):] {
			rows[i] = append(rows[i], strings.Split(wrap(l.text, chartChars, ""), "\n")...)
		}
		y[i+1] += max(1, len(rows[i]))*chartRow + chartRow/2
	}
	slices.Sort(threads)
	x := map[int]int{}
	for i, t := range threads {
		x[t] = chartMargin + i*chartLane + 10
	}
	height := y[len(r.Events)] + 2*chartRow
	width := 2*chartMargin + max(1, len(threads))*chartLane
	above, wide := 0, width
	var history *layout
	if r.History != nil {
		history = newLayout(r.History)
		above, wide = history.height(), max(width, history.width)
	}
	c.Start(wide, above+height, fmt.Sprintf(`viewBox="0 0 %d %d"`, wide, above+height),
		`font-family="sans-serif"`, `font-size="13"`)
	c.Title("message-sequence chart")
	c.Def()
	c.Marker("arrow", 9, 4, 10, 8, `orient="auto"`)
	c.Path("M0,0 L10,4 L0,8 z", `fill="#1f6feb"`)
	c.MarkerEnd()
	c.DefEnd()
	c.Rect(0, 0, wide, above+height, `fill="white"`)
	if r.History != nil {
		drawHistory(c, r.History, history)
	}
	c.Gtransform(fmt.Sprintf("translate(0 %d)", above))
	for _, t := range threads {
		c.Text(x[t]-6, chartTop-16, names[t], `font-weight="bold"`)
		c.Line(x[t], chartTop-8, x[t], height-chartRow, `stroke="#999"`)
	}
	g := &chart{c, r, x, y}
	for i, e := range r.Events {
		for _, m := range e.Messages {
			if !e.Observer {
				g.message(i, m)
			}
		}
	}
	for i, e := range r.Events {
		if e.Observer {
			continue
		}
		c.Group(`class="step"`)
		c.Title(fmt.Sprintf("step %d of %s: %s", i+1, e.Thread, statement(e.Pos, e.Text, file)))
		c.Circle(x[e.Step.Thread], y[i], 4)
		for k, l := range rows[i] {
			if k == 0 {
				l = fmt.Sprintf("%d. %s", i+1, strings.TrimSpace(l))
			}
			c.Text(x[e.Step.Thread]+10, y[i]+4+k*chartRow, text.Snip(l, chartChars+6, "…"),
				`stroke="white"`, `stroke-width="3"`, `paint-order="stroke"`)
		}
		c.Gend()
	}
	if v := r.Violation; v != nil {
		c.Text(chartMargin, height-4, trace.Headline(v), `fill="#b00020"`)
	}
	c.Gend()
	c.End()
	return sink.err
}

// chart is a message-sequence chart that is being drawn: x is where the lifeline of a thread is,
// y where a step is.
type chart struct {
	*svg.SVG
	r *trace.Record
	x map[int]int
	y []int
}

// message draws the arrow of a message of step i.
func (c *chart) message(i int, m trace.Message) {
	e := &c.r.Events[i]
	x, y := c.x, c.y
	switch {
	case m.Direct:
		from, to := x[e.Step.Thread], x[m.With]
		if !m.Sent {
			from, to = to, from
		}
		c.Group(`class="message"`)
		c.Title(fmt.Sprintf("%s: %s, from one thread to the other in step %d", m.Channel,
			m.Value, i+1))
		c.arrow(from, y[i], to, y[i])
		c.Gend()
	case !m.Sent: // drawn where it was sent
	case m.Other < 0:
		c.Line(x[e.Step.Thread], y[i], x[e.Step.Thread]+24, y[i]+8, `class="lost"`,
			`stroke="#1f6feb"`, `stroke-dasharray="3 2"`)
		c.Circle(x[e.Step.Thread]+26, y[i]+9, 3, `fill="none"`, `stroke="#1f6feb"`)
	default:
		c.Group(`class="message"`)
		c.Title(fmt.Sprintf("%s by %s: %s, step %d to step %d", m.Channel, e.Thread,
			m.Value, i+1, m.Other+1))
		c.arrow(x[e.Step.Thread], y[i], x[c.r.Events[m.Other].Step.Thread], y[m.Other])
		c.Gend()
	}
}

// arrow draws an arrow from one lifeline to another. It runs down at the left of the first, where
// no text is, and crosses over in the gap above the step at its end, so it crosses no text.
func (c *chart) arrow(x1, y1, x2, y2 int) {
	gap := y2 - chartRow*3/4
	d := fmt.Sprintf("M%d,%d h-8 V%d H%d V%d", x1, y1, gap, x2, y2-5)
	if y1 == y2 { // within a step
		d = fmt.Sprintf("M%d,%d V%d H%d V%d", x1, y1-4, gap, x2, y2)
	}
	c.Path(d, `fill="none"`, `stroke="#1f6feb"`, `stroke-width="1.5"`, `marker-end="url(#arrow)"`)
}
