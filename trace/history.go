package trace

import (
	"slices"
	"strconv"
	"strings"
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
