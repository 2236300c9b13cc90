package trace_test

import (
	"strings"
	"testing"

	"cpor/system"
	"cpor/trace"
	"cpor/trace/draw"
)

func TestHeadline(t *testing.T) {
	for _, tt := range []struct {
		kind          system.ViolationKind
		message, want string
	}{
		{system.Assertion, "x is too small", "assertion: x is too small"},
		{system.Assertion, "assertion", "assertion"},
		{system.Invariant, "invariant safe does not hold", "invariant safe does not hold"},
		{system.Deadlock, "deadlock: A is blocked", "deadlock: A is blocked"},
		{system.Deadlock, "deadlocked", "deadlock: deadlocked"},
	} {
		if got := trace.Headline(&system.Violation{
			Kind: tt.kind, Message: tt.message}); got != tt.want {
			t.Errorf("%s, %q: got %q, want %q", tt.kind, tt.message, got, tt.want)
		}
	}
}

// TestObserverColumn makes sure that an observer has no column of its own.
func TestObserverColumn(t *testing.T) {
	r := &trace.Record{
		Events: []trace.Event{
			{Step: trace.Step{Thread: 1}, Thread: "Worker[0]", Text: "x = 1"},
			{Step: trace.Step{Thread: 0}, Thread: "invariant small", Text: "x < 1", Observer: true},
		},
		Violation: &system.Violation{Kind: system.Invariant,
			Message: "invariant small does not hold"},
	}
	for _, width := range []int{40, 100} {
		var b strings.Builder
		if err := draw.Table(&b, r, trace.TableOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		if s := b.String(); !strings.Contains(s, "Worker[0]") || strings.Contains(s, "x < 1") ||
			strings.Count(s, "invariant small") != 1 {
			t.Errorf("width %d:\n%s", width, s)
		}
	}
	r.Events = r.Events[1:]
	var b strings.Builder
	if err := draw.Table(&b, r, trace.TableOptions{}); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); !strings.Contains(s, "no step") {
		t.Errorf("a trace with nothing but the observer's step:\n%s", s)
	}
}
