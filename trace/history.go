package trace

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	svg "github.com/ajstarks/svgo"
	"github.com/jedib0t/go-pretty/v6/text"
)

// History is the calls of an execution of which no order explains what they return: what
// check.Linearizable reports.
type History struct {
	Type    string `json:"type"`    // *cache.Cache
	Promise string `json:"promise"` // what it is not: linearizable
	// Scenario is the option check.Only for these calls, and Test a Go test that has it; empty if
	// none could be made.
	Scenario string `json:"scenario"`
	Test     string `json:"test,omitempty"`
	// Calls are in the order of the scenario: those before all others, those of each goroutine,
	// and those after all others.
	Calls []HistoryCall `json:"calls"`
}

// HistoryCall is a call of a History.
type HistoryCall struct {
	// Goroutine is its number among those of the scenario, from 1; 0 for calls before and after
	// all others.
	Goroutine int    `json:"goroutine"`
	Call      string `json:"call"`             // PutIfAbsent("a", 1)
	Result    string `json:"result,omitempty"` // true; empty if it returns nothing
	// Begin and End are the moments at which it begins and returns. All moments of a history are
	// different, from 0 on. End is -1 if it has not returned.
	Begin int `json:"begin"`
	End   int `json:"end"`
	// Order is its place, from 1, in the longest order that explains what its calls return; 0 if
	// it is not in it. Misfit says why it cannot come after those; empty if it need not.
	Order  int    `json:"order,omitempty"`
	Misfit string `json:"misfit,omitempty"`
}

// String is the call with what it returned.
func (c *HistoryCall) String() string {
	switch {
	case c.End < 0:
		return c.Call + " waits"
	case c.Result == "":
		return c.Call
	}
	return c.Call + " = " + c.Result
}

// maxCalls bounds the goroutines and the moments of a history.
const maxCalls = 1000

// historyMark begins the line in which package check prints a history.
const historyMark = "cpor calls: "

// CutHistory returns what a program printed without the line in which package check prints a
// history, and the history; nil if there is no such line.
func CutHistory(output string) (rest string, h *History) {
	i := strings.LastIndex(output, historyMark)
	if i < 0 || i > 0 && output[i-1] != '\n' {
		return output, nil
	}
	line, after, _ := strings.Cut(output[i:], "\n")
	if h = parseHistory(strings.TrimPrefix(line, historyMark)); h == nil {
		return output, nil
	}
	rest = output[:i]
	if rest == "\n" || strings.HasSuffix(rest, "\n\n") { // that is to begin the line
		rest = rest[:len(rest)-1]
	}
	return rest + after, h
}

// parseHistory reads what package check writes: words in the syntax of Go. It returns nil if that
// does not fit.
func parseHistory(line string) *History {
	ok := true
	word := func() string {
		line = strings.TrimPrefix(line, " ")
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			ok = false
			return ""
		}
		line = line[len(quoted):]
		s, _ := strconv.Unquote(quoted) // it has been checked
		return s
	}
	number := func() int {
		digits, rest, _ := strings.Cut(strings.TrimPrefix(line, " "), " ")
		line = rest
		n, err := strconv.Atoi(digits)
		ok = ok && err == nil
		return n
	}
	h := &History{Type: word(), Promise: word(), Scenario: word()}
	for ok && line != "" {
		h.Calls = append(h.Calls, HistoryCall{Goroutine: number(), Call: word(), Result: word(),
			Begin: number(), End: number(), Order: number(), Misfit: word()})
	}
	if !ok || len(h.Calls) == 0 {
		return nil
	}
	for _, c := range h.Calls { // a program may print anything
		if c.Goroutine < 0 || c.Goroutine > maxCalls || c.Begin < 0 || c.Begin > maxCalls ||
			c.End > maxCalls || c.End >= 0 && c.End <= c.Begin {
			return nil
		}
	}
	return h
}

// Ordered returns the longest order of calls that explains what they return.
func (h *History) Ordered() (calls []HistoryCall) {
	for _, c := range h.Calls {
		if c.Order > 0 {
			calls = append(calls, c)
		}
	}
	slices.SortFunc(calls, func(a, b HistoryCall) int { return a.Order - b.Order })
	return calls
}

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

// layout lays the history out: a row for each moment, but one for each call before or after all
// others.
func (h *History) layout() *layout {
	l := &layout{lanes: 1, names: -1, words: h.words()}
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
		l.width = max(l.width, text.StringWidth(line)*8)
	}
	l.width += 2 * chartMargin
	return l
}

func (l *layout) top(row int) int { return chartTop/2 + row*chartRow }

// below is where the words begin.
func (l *layout) below() int { return l.top(l.rows[len(l.rows)-1] + 2) }

func (l *layout) height() int { return l.below() + (len(l.words)+1)*chartRow }

// words are the lines below the time line: the order, what does not fit, and the test.
func (h *History) words() (lines []string) {
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

// draw draws the history: a lane for each goroutine, time running down, a bar for each call with
// its place in the order, and below what is said about them.
func (h *History) draw(c *svg.SVG, l *layout) {
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
		call.draw(c, x, l.top(l.rows[call.Begin]), w, l.top(l.rows[end]+1))
	}
	for i, line := range l.words {
		c.Text(chartMargin, l.below()+i*chartRow, line, `xml:space="preserve"`,
			`font-family="monospace"`)
	}
}

// draw draws the bar of a call.
func (c *HistoryCall) draw(s *svg.SVG, x, top, width, bottom int) {
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
