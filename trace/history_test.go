package trace_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"cpor/trace"
	"cpor/trace/draw"
)

// queueHistory has all that a history can have: calls before, during and after the goroutines, one
// that waits, texts that need escapes, and a test.
func queueHistory() *trace.History {
	return &trace.History{Type: "*q.Queue[<-chan int]", Promise: "linearizable",
		Scenario: `Put("<&>") then Take(); Len() || Put("b")`,
		Test:     "func TestQueueScenario(t *testing.T) {\n\tcheck.Linearizable(t, q.New)\n}",
		Calls: []trace.HistoryCall{
			{Call: `Put("<&>")`, Begin: 0, End: 1, Order: 1},
			{Goroutine: 1, Call: "Take()", Result: `"<&>"`, Begin: 2, End: 4, Order: 2},
			{Goroutine: 1, Call: "Len()", Result: "7", Begin: 5, End: 7, Misfit: "here: 0"},
			{Goroutine: 2, Call: `Put("b")`, Begin: 3, End: -1},
			{Goroutine: 3, Call: strings.Repeat("Long", 20) + "()", Result: "true", Begin: 6,
				End: 8},
			{Call: "Len()", Result: "1", Begin: 9, End: 10, Misfit: "here: 0"},
		}}
}

// TestHistoryChart draws a history above an execution, and one without a test and an order.
func TestHistoryChart(t *testing.T) {
	waits, bare := queueHistory(), queueHistory()
	waits.Calls = waits.Calls[:5]
	bare.Test, bare.Calls = "", append(bare.Calls[2:3:3], bare.Calls[5])
	for name, h := range map[string]*trace.History{"history": waits, "history-bare": bare} {
		var b bytes.Buffer
		rec := &trace.Record{History: h, Events: []trace.Event{{Thread: "TestQueue",
			Text: "q := New()"}}}
		if err := draw.Chart(&b, rec); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".svg", b.String())
	}
}

func TestCutHistory(t *testing.T) {
	const line = `cpor calls: "T" "linearizable" "Put(1) || Len()" 1 "Put(1)" "" 0 2 1 "" ` +
		`2 "Len()" "\"é\x00\"" 1 -1 0 "here: 0"`
	want := &trace.History{Type: "T", Promise: "linearizable", Scenario: "Put(1) || Len()",
		Calls: []trace.HistoryCall{{Goroutine: 1, Call: "Put(1)", End: 2, Order: 1},
			{Goroutine: 2, Call: "Len()", Result: "\"é\x00\"", Begin: 1, End: -1,
				Misfit: "here: 0"}}}
	for _, tt := range []struct {
		output, rest string
		want         *trace.History
	}{
		{"", "", nil},
		{line, "", want},
		{"before\n" + line + "\nafter\n", "before\nafter\n", want},
		{"\n" + line, "", want},
		{"before\n\n" + line + "\n", "before\n", want},
		{"a word " + line, "a word " + line, nil},
		{"cpor calls: none", "cpor calls: none", nil},
		{strings.Replace(line, " 0 2 1", " 0 x 1", 1), strings.Replace(line, " 0 2 1", " 0 x 1", 1),
			nil},
		{`cpor calls: "T" "p" "s"`, `cpor calls: "T" "p" "s"`, nil},
		{line[:len(line)-3], line[:len(line)-3], nil},
	} {
		rest, h := trace.CutHistory(tt.output)
		if rest != tt.rest || !reflect.DeepEqual(h, tt.want) {
			t.Errorf("%q: %q, %+v", tt.output, rest, h)
		}
	}
}

// FuzzCutHistory: whatever a program prints, a history can be drawn.
func FuzzCutHistory(f *testing.F) {
	f.Add(`cpor calls: "T" "p" "s" 1 "Put(1)" "" 0 2 1 "" 2 "Len()" "0" 1 -1 0 "here: 0"`)
	f.Add(`cpor calls: "T" "p" "s" -5 "" "" 99 -7 1 ""`)
	f.Fuzz(func(t *testing.T, output string) {
		rest, h := trace.CutHistory(output)
		if h == nil {
			if rest != output {
				t.Errorf("%q became %q", output, rest)
			}
			return
		}
		if err := draw.Chart(new(bytes.Buffer), &trace.Record{History: h}); err != nil {
			t.Error(err)
		}
	})
}
