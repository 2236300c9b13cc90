package draw

import (
	"fmt"
	"strconv"
	"strings"

	svg "github.com/ajstarks/svgo"
	"github.com/jedib0t/go-pretty/v6/text"

	"cpor/trace"
)

// The colors of a call: in the order, what fits nowhere, and the others.
const (
	orderedFill, orderedLine = "#e8f3ea", "#1c6b3a"
	misfitFill, misfitLine   = "#fbe4e2", "#b00020"
	otherFill, otherLine     = "#f2f2f2", "#777777"
)

// layout is where the picture has what.
type layout struct {
	lanes, names int   // how many goroutines, and the row of their names
	rows         []int // by moment; the last one is that of calls that wait
	words        []string
	width        int
}

// newLayout lays the history out: a row for each moment, but one for each call before or after all
// others.
func newLayout(h *trace.History) *layout {
	l := &layout{lanes: 1, names: -1, words: words(h)}
	moments := 0
	for _, c := range h.Calls {
		l.lanes = max(l.lanes, c.Goroutine)
		moments = max(moments, c.Begin+1, c.End+1)
	}
	alone, first := make([]bool, moments), moments
	for _, c := range h.Calls {
		if c.Goroutine > 0 {
			first = min(first, c.Begin)
		} else if c.End > 0 {
			alone[c.End] = true
		}
	}
	row := 0
	for m := range moments {
		if m == first {
			row, l.names = row+1, row
		}
		if alone[m] {
			row--
		}
		l.rows = append(l.rows, row)
		row++
	}
	l.rows = append(l.rows, row)
	l.width = l.lanes * chartLane
	for _, line := range l.words {
		l.width = max(l.width, columnsOf(line)*8)
	}
	l.width += 2 * chartMargin
	return l
}

func (l *layout) top(row int) int { return chartTop/2 + row*chartRow }

// below is where the words begin.
func (l *layout) below() int { return l.top(l.rows[len(l.rows)-1] + 2) }

func (l *layout) height() int { return l.below() + (len(l.words)+1)*chartRow }

// words are the lines below the time line: the order, what does not fit, and the test.
func words(h *trace.History) (lines []string) {
	if order := h.Ordered(); len(order) == 0 {
		lines = append(lines, "No call can come first:")
	} else {
		lines = append(lines, "One after the other, the most that fit are")
		for _, c := range order {
			lines = append(lines, fmt.Sprintf("    %d. %s", c.Order, &c))
		}
		lines = append(lines, "After these, none of the others fits:")
	}
	for _, c := range h.Calls {
		if c.Misfit != "" {
			lines = append(lines, fmt.Sprintf("    ✗ %s (%s)", &c, c.Misfit))
		}
	}
	lines = append(lines, "")
	if h.Test == "" {
		return append(lines, "To run this scenario alone, add the option check.Only(`"+h.Scenario+
			"`)")
	}
	lines = append(lines, "A test of this scenario:")
	for line := range strings.Lines(h.Test) {
		lines = append(lines, "    "+strings.NewReplacer("\t", "    ", "\n", "").Replace(line))
	}
	return lines
}

// drawHistory draws the history: a lane for each goroutine, time running down, a bar for each call
// with its place in the order, and below what is said about them.
func drawHistory(c *svg.SVG, h *trace.History, l *layout) {
	c.Text(chartMargin, chartRow-4, fmt.Sprintf("%s is not %s", h.Type, h.Promise),
		`font-weight="bold"`, `fill="`+misfitLine+`"`)
	for g := 0; g < l.lanes && l.names >= 0; g++ {
		c.Text(chartMargin+g*chartLane, l.top(l.names+1)-5, fmt.Sprintf("goroutine %d", g+1),
			`font-weight="bold"`)
	}
	for i := range h.Calls {
		call := &h.Calls[i]
		x, w := chartMargin, l.lanes*chartLane-20
		if call.Goroutine > 0 {
			x, w = chartMargin+(call.Goroutine-1)*chartLane, chartLane-20
		}
		end := len(l.rows) - 1
		if call.End >= 0 {
			end = call.End
		}
		drawCall(c, call, x, l.top(l.rows[call.Begin]), w, l.top(l.rows[end]+1))
	}
	for i, line := range l.words {
		c.Text(chartMargin, l.below()+i*chartRow, line, `xml:space="preserve"`,
			`font-family="monospace"`)
	}
}

// drawCall draws the bar of a call.
func drawCall(s *svg.SVG, c *trace.HistoryCall, x, top, width, bottom int) {
	fill, line, mark := otherFill, otherLine, ""
	what := fmt.Sprintf("%s, not in the order", c)
	switch {
	case c.Misfit != "":
		fill, line, mark = misfitFill, misfitLine, "✗ "
		what = fmt.Sprintf("%s does not fit: %s", c, c.Misfit)
	case c.Order > 0:
		fill, line, mark = orderedFill, orderedLine, strconv.Itoa(c.Order)+". "
		what = fmt.Sprintf("%s is call %d of the order", c, c.Order)
	}
	begin, end := mark+c.Call, ""
	switch {
	case c.Goroutine == 0:
		begin = mark + c.String()
	case c.End < 0:
		end = "waits"
	case c.Result != "":
		end = "= " + c.Result
	}
	fits := width / 8
	s.Group(`class="call"`)
	s.Title(what)
	s.Roundrect(x, top+1, width, bottom-top-2, 4, 4, `fill="`+fill+`"`, `stroke="`+line+`"`)
	s.Text(x+8, top+chartRow-4, text.Snip(begin, fits, "…"))
	if end != "" {
		s.Text(x+8, bottom-6, text.Snip(end, fits, "…"))
	}
	s.Gend()
}
