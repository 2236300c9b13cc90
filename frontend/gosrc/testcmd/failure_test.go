package testcmd

import (
	"fmt"
	"strings"
	"testing"

	"cpor/frontend/gosrc/gotest"
	"cpor/system"
	"cpor/trace"
)

func TestHeadline(t *testing.T) {
	at := system.Pos{File: "a_test.go", Line: 3}
	for _, tt := range []struct {
		kind          gotest.FailureKind
		message, want string
	}{
		{gotest.Failed, "want 1", "a_test.go:3: failed: want 1"},
		{gotest.Failed, "\n\tError Trace:\ta_test.go:3\n\tError:      \tNot equal",
			"a_test.go:3: failed: Error Trace:\ta_test.go:3\n\tError:      \tNot equal"},
		{gotest.Failed, " \r\n", "a_test.go:3: failed: "},
		{gotest.Panic, "panic: \nboom", "a_test.go:3: panic: \nboom"},
		{gotest.Exit, "\n\nos.Exit(2)", "a_test.go:3: os.Exit(2)"},
	} {
		if got := Headline(&gotest.Failure{Kind: tt.kind, Message: tt.message,
			Pos: at}); got != tt.want {
			t.Errorf("%s, %q: got %q, want %q", tt.kind, tt.message, got, tt.want)
		}
	}
}

func TestFold(t *testing.T) {
	event := func(thread int, text string) trace.Event {
		return trace.Event{Step: trace.Step{Thread: thread}, Pos: system.Pos{
			File: "a.go", Line: thread + 1}, Text: text}
	}
	var loop, varied []trace.Event
	for i := range 6 {
		loop = append(loop, event(0, fmt.Sprintf("send %d", i)), event(1, "goes on"))
		varied = append(varied, event(0, strings.Repeat("x", i)))
	}
	for _, tt := range []struct {
		name   string
		events []trace.Event
		want   string
	}{
		{"a loop", append([]trace.Event{event(0, "begins")}, append(loop, event(0, "ends"))...),
			"begins|send 0|goes on|... steps 2 to 3 again, 4 times|send 5|goes on|ends"},
		{"one step", []trace.Event{event(0, "a 1"), event(0, "a 2"), event(0, "a 3"),
			event(0, "a 4"), event(0, "a 5")},
			"a 1|... step 1 again, 3 times|a 5"},
		{"too few", loop[:6], "send 0|goes on|send 1|goes on|send 2|goes on"},
		{"others", varied, "|x|xx|xxx|xxxx|xxxxx"},
		{"none", nil, ""},
	} {
		var got []string
		for _, e := range fold(tt.events) {
			got = append(got, e.Text)
		}
		if g := strings.Join(got, "|"); g != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, g, tt.want)
		}
	}
}

// TestShorten: steps in one call of the library are one row, unless somebody else steps between
// them; further calls are further rows.
func TestShorten(t *testing.T) {
	step := func(thread, line int, within bool, text string) trace.Event {
		return trace.Event{Step: trace.Step{Thread: thread}, Pos: system.Pos{
			File: "a.go", Line: line}, Within: within, Text: text}
	}
	const call = "context.WithCancel(...)"
	for _, tt := range []struct {
		name   string
		events []trace.Event
		want   string
	}{
		{"one call", []trace.Event{step(0, 1, false, call), step(0, 1, true, call),
			step(0, 2, false, "close c")}, call + "|close c"},
		{"two calls", []trace.Event{step(0, 1, false, call), step(0, 1, false, call)},
			call + "|" + call},
		{"somebody between", []trace.Event{step(0, 1, false, call), step(1, 9, false, "close c"),
			step(0, 1, true, call)}, call + "|close c|" + call},
		{"called back", []trace.Event{step(0, 1, false, "Once.Do o"), step(0, 5, false, "lock m"),
			step(0, 1, true, "Once.Do o: done")},
			"Once.Do o|lock m|Once.Do o: done"},
		{"nothing called back", []trace.Event{step(0, 1, false, "Once.Do o"),
			step(0, 1, true, "Once.Do o: done")}, "Once.Do o"},
		{"different deeds", []trace.Event{step(0, 1, false, "WaitGroup.Add w 1"),
			step(0, 1, true, "go f #1")}, "WaitGroup.Add w 1, go f #1"},
	} {
		rec := &trace.Record{Events: tt.events}
		shorten(rec, len(tt.events))
		var got []string
		for _, e := range rec.Events {
			got = append(got, e.Text)
		}
		if g := strings.Join(got, "|"); g != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, g, tt.want)
		}
	}
}
