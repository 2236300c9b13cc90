package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"cpor/engine"
)

// TestJudge is the table of the rules of honesty.
func TestJudge(t *testing.T) {
	boom := errors.New("boom")
	timeUp, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-timeUp.Done()
	for _, tt := range []struct {
		name       string
		err        error
		gap        string
		found      bool
		verdict    engine.Verdict
		exhaustive bool
		reason     string
		fault      bool
	}{
		{"all covered", nil, "", false, engine.Pass, true, "", false},
		{"all covered, a violation", nil, "", true, engine.Violated, true, "", false},
		{"an inexact store", nil, "the store is inexact", false, engine.Incomplete, false,
			"the store is inexact", false},
		{"an inexact store, a violation", nil, "the store is inexact", true, engine.Violated, false,
			"the store is inexact", false},
		{"the first violation", engine.AtViolation, "", true, engine.Violated, false,
			"stopped at the first violation", false},
		{"a limit", engine.StateLimit(12345), "", false, engine.Incomplete, false,
			"limit of 12,345 states", false},
		{"a limit, wrapped, and a gap", fmt.Errorf("worker 3: %w", engine.TransitionLimit(1000)),
			"cut", false, engine.Incomplete, false, "limit of 1,000 transitions", false},
		{"a limit, a violation before", engine.StateLimit(1), "", true, engine.Violated, false,
			"limit of 1 states", false},
		{"interrupted", context.Canceled, "", false, engine.Incomplete, false, "interrupted",
			false},
		{"interrupted by a deadline", timeUp.Err(), "", false, engine.Incomplete, false,
			"interrupted", false},
		{"a fault", boom, "", false, engine.Incomplete, false, "internal error", true},
		{"a fault, a violation before", boom, "", true, engine.Violated, false, "internal error",
			true},
	} {
		var r engine.Result
		fault := r.Judge(tt.err, tt.gap, tt.found)
		if r.Verdict != tt.verdict || r.Exhaustive != tt.exhaustive || r.Reason != tt.reason ||
			(fault != nil) != tt.fault {
			t.Errorf("%s: %s, exhaustive %v, %q, fault %v", tt.name, r.Verdict, r.Exhaustive,
				r.Reason, fault)
		}
		if r.Verdict == engine.Pass && !r.Exhaustive || r.Exhaustive == (r.Reason != "") {
			t.Errorf("%s: a dishonest result: %+v", tt.name, r)
		}
	}
}

// TestDoubt: a doubt takes a pass away, and no reason that is there already.
func TestDoubt(t *testing.T) {
	for _, tt := range []struct {
		before, after engine.Result
	}{
		{engine.Result{Verdict: engine.Pass, Exhaustive: true}, engine.Result{
			Verdict: engine.Incomplete, Reason: "doubt"}},
		{engine.Result{Verdict: engine.Violated, Exhaustive: true}, engine.Result{
			Verdict: engine.Violated, Reason: "doubt"}},
		{engine.Result{Verdict: engine.Incomplete, Reason: "limit"}, engine.Result{
			Verdict: engine.Incomplete, Reason: "limit"}},
	} {
		r := tt.before
		r.Doubt("doubt")
		if r.Verdict != tt.after.Verdict || r.Exhaustive != tt.after.Exhaustive ||
			r.Reason != tt.after.Reason {
			t.Errorf("%+v became %+v", tt.before, r)
		}
	}
}

func TestWatch(t *testing.T) {
	for _, tt := range []struct {
		o    engine.Options
		want string
	}{
		{engine.Options{Workers: -1}, "-1 workers"},
		{engine.Options{MaxDepth: -1}, "bound on the depth is negative"},
		{engine.Options{MaxMemory: 1000}, "too small"},
	} {
		var oe *engine.OptionError
		if _, err := engine.NewWatch(t.Context(), &tt.o); !errors.As(err, &oe) ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v", tt.o, err)
		}
	}
	reason := func(w *engine.Watch) string {
		<-w.Context().Done()
		_, _, reason, _ := engine.Judge(context.Cause(w.Context()), "", false)
		return reason
	}
	start := func(ctx context.Context, o engine.Options) *engine.Watch {
		w, err := engine.NewWatch(ctx, &o)
		if err != nil {
			t.Fatal(err)
		}
		if o.Workers < 1 {
			t.Errorf("%d workers by default", o.Workers)
		}
		return w
	}

	w := start(t.Context(), engine.Options{Timeout: time.Nanosecond})
	if w.Err() == nil {
		t.Error("the time is not up at once")
	}
	if got := reason(w); got != "time-out after 1ns" {
		t.Errorf("%q", got)
	}
	w.End()

	ctx, cancel := context.WithCancel(t.Context())
	w = start(ctx, engine.Options{Timeout: time.Hour})
	if err := w.Err(); err != nil {
		t.Error(err)
	}
	cancel()
	if got := reason(w); got != "interrupted" {
		t.Errorf("%q", got)
	}
	w.End()

	// The first cause counts.
	w = start(t.Context(), engine.Options{})
	w.Stop(engine.StateLimit(3))
	w.Stop(engine.AtViolation)
	if got := reason(w); got != "limit of 3 states" {
		t.Errorf("%q", got)
	}
	w.End()

	reports := make(chan engine.Progress, 1)
	w = start(t.Context(), engine.Options{ProgressInterval: time.Millisecond,
		Progress: func(p engine.Progress) {
			select {
			case reports <- p:
			default:
			}
		}})
	w.Go(func() engine.Progress { return engine.Progress{MaxDepth: 7} })
	if p := <-reports; p.MaxDepth != 7 || p.Elapsed <= 0 || p.Memory == 0 {
		t.Errorf("%+v", p)
	}
	w.End()
}

// TestWatchMemory fills the memory up to a limit.
func TestWatchMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes memory")
	}
	probe, err := engine.NewWatch(t.Context(), &engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	limit := probe.Memory().Peak() + 64<<20
	probe.End()
	w, err := engine.NewWatch(t.Context(), &engine.Options{MaxMemory: limit})
	if err != nil {
		t.Fatal(err)
	}
	defer w.End()
	w.Go(func() engine.Progress { return engine.Progress{} })
	var hold [][]byte
	for w.Context().Err() == nil && len(hold) < 1000 {
		b := make([]byte, 1<<20)
		for i := range b {
			b[i] = byte(i)
		}
		hold = append(hold, b)
		time.Sleep(time.Millisecond)
	}
	if err := context.Cause(w.Context()); err == nil || !strings.Contains(err.Error(),
		"of memory") {
		t.Errorf("%v after %d MiB", err, len(hold))
	}
}

// TestFlags: values, defaults, several times, mistakes.
func TestFlags(t *testing.T) {
	depth := &engine.FlagOf[int]{FlagInfo: engine.FlagInfo{Name: "depth"}, Parse: engine.ParseInt}
	on := &engine.FlagOf[bool]{FlagInfo: engine.FlagInfo{Name: "on", Bool: true},
		Parse: engine.ParseBool}
	list := &engine.FlagOf[[]string]{FlagInfo: engine.FlagInfo{Name: "list"},
		Parse: func(old []string, s string) ([]string, error) { return append(old, s), nil }}
	var none *engine.Values
	if depth.Of(none) != 0 || none.Given("depth") {
		t.Error("no values have a value")
	}
	v := new(engine.Values)
	for _, set := range []struct {
		f    engine.Flag
		s    string
		want string
	}{
		{depth, "12", ""}, {depth, "x", "want a number"}, {depth, "99999999999999999999",
			"value out of range"},
		{on, "true", ""}, {on, "perhaps", "want true or false"},
		{list, "a", ""}, {list, "b", ""},
	} {
		err := v.Set(set.f, set.s)
		if got := fmt.Sprint(err); err == nil && set.want != "" || err != nil && got != set.want {
			t.Errorf("-%s %s: %v, want %q", set.f.About().Name, set.s, err, set.want)
		}
	}
	if depth.Of(v) != 12 || !on.Of(v) || strings.Join(list.Of(v), "") != "ab" ||
		!v.Given("depth") || v.Given("other") {
		t.Errorf("%d %v %v", depth.Of(v), on.Of(v), list.Of(v))
	}
	other := new(engine.Values)
	depth.Put(other, 3)
	if depth.Of(other) != 3 || other.Given("depth") {
		t.Error("a default counts as given, or not at all")
	}
}
