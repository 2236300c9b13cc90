package portfolio_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"cpor/testkit/sample"

	"cpor/benchmarks"
	"cpor/engine"
	_ "cpor/engine/all"
	"cpor/engine/portfolio"
	"cpor/frontend/model"
	"cpor/system"
	"cpor/testkit/toysystem"
)

func explore(t *testing.T, sys system.System, o engine.Options) (*engine.Result, error) {
	t.Helper()
	e, err := engine.Lookup(portfolio.Mode, "portfolio")
	if err != nil {
		t.Fatal(err)
	}
	return e.Run(
		context.Background(),
		&engine.Task{System: sys, Options: o, Flags: &engine.Values{}},
	)
}

func figure(res *engine.Result, key string) any {
	for _, f := range append(res.How, res.Figures...) {
		if f.Key == key {
			return f.Value
		}
	}
	return nil
}

// TestAnswers: whoever has the answer, it is that of a full search. A program that
// only one of the two can explore in its time is answered by that one.
func TestAnswers(t *testing.T) {
	parse := func(text string, params map[string]string) system.System {
		m, err := model.Parse("test.model", text, model.Options{Params: params})
		if err != nil {
			t.Fatal(err)
		}
		return m.System()
	}
	filesystem, err := benchmarks.Model("filesystem")
	if err != nil {
		t.Fatal(err)
	}
	// An event for each set of those that came before; a state for each number of them.
	const readers = `
		var x, done int
		thread R() { v := x; atomic { done += v + 1 } }
		init { for i := 0; i < 18; i++ { go R() } }`
	for _, c := range []struct {
		name    string
		sys     system.System
		o       engine.Options
		verdict engine.Verdict
		by      any
	}{
		{"linear in threads", parse(string(filesystem), map[string]string{"N": "26"}),
			engine.Options{}, engine.Pass, "unfolding"},
		{"violation", parse(`var x int
			thread T() { x = 1; assert(x == 2, "two") }
			init { go T() }`, nil), engine.Options{Workers: 3}, engine.Violated, nil},
		{"time", parse(readers, nil), engine.Options{Timeout: time.Nanosecond}, engine.Incomplete,
			nil},
		{"no pieces", heap(t), engine.Options{Workers: 1, All: true}, "", "stateful"},
	} {
		res, err := explore(t, c.sys, c.o)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if c.verdict != "" && res.Verdict != c.verdict || c.by != nil &&
			figure(res, "answered_by") != c.by {
			t.Errorf("%s: %s (%s) by %v, want %s by %v", c.name, res.Verdict, res.Reason,
				figure(res, "answered_by"), c.verdict, c.by)
		}
		if c.verdict == engine.Incomplete && (res.Exhaustive || !strings.Contains(res.Reason,
			"time-out")) {
			t.Errorf("%s: exhaustive %v, because of %q", c.name, res.Exhaustive, res.Reason)
		}
	}
}

func heap(t *testing.T) system.System {
	sys, err := toysystem.NewHeap(toysystem.RandomHeap(rand.New(rand.NewPCG(1, 1)), false))
	if err != nil {
		t.Fatal(err)
	}
	return sys
}

// TestToys: the verdict is that of the full search, and so is the number of
// distinct violations.
func TestToys(t *testing.T) {
	full, err := engine.Lookup("stateful", "none")
	if err != nil {
		t.Fatal(err)
	}
	n := sample.Of[uint64](15, 37, 150)
	o := engine.Options{All: true, MaxViolations: 1 << 20, KeepTraces: true}
	for seed := range n {
		sys, err := toysystem.New(toysystem.Random(rand.New(rand.NewPCG(seed, 1)), toysystem.Config{
			Observer: seed%3 == 0}))
		if err != nil {
			t.Fatal(err)
		}
		task := &engine.Task{System: sys, Options: o, Flags: &engine.Values{}}
		want, err := full.Run(context.Background(), task)
		if err != nil {
			t.Fatal(err)
		}
		got, err := explore(t, sys, o)
		if err != nil {
			t.Fatal(err)
		}
		if got.Verdict != want.Verdict || !got.Exhaustive ||
			len(got.Violations) != len(want.Violations) {
			t.Errorf("seed %d: %s with %d violations, want %s with %d", seed, got.Verdict,
				len(got.Violations), want.Verdict, len(want.Violations))
		}
	}
}
