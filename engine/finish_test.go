package engine_test

import (
	"errors"
	"strings"
	"testing"

	"cpor/engine"
	"cpor/system"
	"cpor/testkit/toysystem"
	"cpor/trace"
)

// stuck returns a system of n threads that wait forever, one step after the
// beginning of another that ends.
func stuck(t *testing.T, n int) system.System {
	t.Helper()
	p := toysystem.NewProgram()
	x := p.Scalar("x", 0)
	p.Thread("W", 0, toysystem.Await(toysystem.Bin("==", toysystem.Load(x, nil),
		toysystem.Const(2))))
	p.Thread("E", 0, toysystem.Atomic(toysystem.Store(x, nil, toysystem.Const(1))))
	for range n {
		p.Start("W")
	}
	p.Start("E")
	sys, err := toysystem.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return sys
}

func TestDescribeDeadlock(t *testing.T) {
	for _, tt := range []struct {
		threads int
		want    string
	}{
		{1, "deadlock: W[0] is blocked"},
		{2, "deadlock: W[0] and W[1] are blocked"},
		{4, "deadlock: W[0], W[1], W[2] and W[3] are blocked"},
		{6, "deadlock: W[0], W[1], W[2], W[3] and 2 more are blocked"},
	} {
		end := &trace.Trace{Steps: []trace.Step{{Thread: tt.threads}}}
		got := engine.DescribeDeadlock(stuck(t, tt.threads), end)
		if got != tt.want {
			t.Errorf("%d threads: %s, want %s", tt.threads, got, tt.want)
		}
	}
}

// TestFinish: traces that show what they claim get their message, those that do
// not are faults, and those that the store lost are none.
func TestFinish(t *testing.T) {
	sys := stuck(t, 2)
	deadlock := system.Violation{Kind: system.Deadlock, Message: "deadlock"}
	assertion := system.Violation{Kind: system.Assertion, Pos: system.Pos{File: "a", Line: 1}}
	good := &trace.Trace{Steps: []trace.Step{{Thread: 2}}}
	fs, err := engine.Finish(t.Context(), sys, []engine.Raw{
		{Violation: deadlock, Trace: good},
		{Violation: assertion, Missing: engine.ErrOmitted},
	}, new(engine.Options))
	if err != nil || len(fs) != 2 {
		t.Fatalf("%v, %v", fs, err)
	}
	if f := fs[0]; f.Trace == nil || f.Message != "deadlock: W[0] and W[1] are blocked" ||
		f.TraceMissing != "" {
		t.Errorf("%+v", f)
	}
	if f := fs[1]; f.Trace != nil || f.TraceMissing != engine.ErrOmitted.Error() {
		t.Errorf("%+v", f)
	}
	for _, raw := range []engine.Raw{
		// E can continue
		{Violation: deadlock, Trace: &trace.Trace{}},
		// no such violation
		{Violation: assertion, Trace: &trace.Trace{Steps: []trace.Step{{Thread: 2}}}},
		// a step that is not enabled
		{Violation: deadlock, Trace: &trace.Trace{Steps: []trace.Step{{Thread: 0}}}},
		{Violation: deadlock, Missing: errors.New("lost")},
	} {
		fs, err := engine.Finish(t.Context(), sys, []engine.Raw{raw}, new(engine.Options))
		if err == nil || !strings.Contains(err.Error(),
			"internal error: the trace of a violation") || len(fs) != 1 || fs[0].Trace != nil ||
			fs[0].TraceMissing == "" {
			t.Errorf("%+v: %v, %v", raw, fs, err)
		}
	}
}
