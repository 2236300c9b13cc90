package model_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/frontend/model"
)

// TestThreadLimit holds models against the largest number of threads, which
// includes the invariants.
func TestThreadLimit(t *testing.T) {
	for _, tt := range []struct {
		invariants, threads int
		want                string // "" if the model is accepted
	}{
		{0, 1023, ""},
		{0, 1024, "more than 1023 threads: a model can create at most that many"},
		{1000, 23, ""},
		{1000, 24, "more than 23 threads: a model can create at most 1023, and each of its 1000 " +
			"invariants counts as one"},
		{1023, 1, "1023 invariants: at most 1022 are possible"},
		{1024, 1, "1024 invariants: at most 1022 are possible"},
		{5000, 1, "5000 invariants: at most 1022 are possible"},
	} {
		var b strings.Builder
		b.WriteString("var x int8\n")
		for i := range tt.invariants {
			fmt.Fprintf(&b, "invariant i%d { x < %d }\n", i, i%100+1)
		}
		fmt.Fprintf(&b, "thread T() { x = 0 }\ninit { for i := 0; i < %d; i++ { go T() } }\n",
			tt.threads)
		_, err := model.Parse("test.model", b.String(), model.Options{})
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%d invariants and %d threads: %v", tt.invariants, tt.threads, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%d invariants and %d threads: %v; want %s", tt.invariants, tt.threads, err,
				tt.want)
		}
	}
}

// TestPassLimit holds a transition that would end some time, after more passes
// of loops than are allowed, to the limit and to the place of the outermost loop.
func TestPassLimit(t *testing.T) {
	const text = `thread T() {
	skip
	for i := int64(0); ; i++ {
		for range 7 { }
	}
}
init { go T() }`
	m, err := model.Parse("test.model", text, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sys := m.System()
	res, err := search.Run(context.Background(), sys, full.Factory(sys), search.Options{
		Options: engine.Options{Workers: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Violations) != 1 || !strings.Contains(res.Violations[0].Message,
		"more than 4194304 loop iterations in one transition") || res.Violations[0].Pos.Line != 3 {
		t.Errorf("violations %+v, want one for the limit in line 3", res.Violations)
	}
}

// TestInitRuns: many ways through the choices of init to few states end as well.
func TestInitRuns(t *testing.T) {
	const text = `
var x int8
thread T() { x = 1 }
init {
	for range 40 {
		x = int8(choose(0, 1))
	}
	go T()
}`
	if testing.Short() {
		t.Skip("goes through the choices until a limit")
	}
	_, err := model.Parse("test.model", text, model.Options{})
	if err == nil || !strings.Contains(err.Error(),
		"more than 262144 combinations of choices; make them in a thread") {
		t.Errorf("error %v", err)
	}
	_, err = model.Parse("test.model", strings.Replace(text, "for range 40 {",
		"for range 1 << 16 { x = 0 }\nfor range 12 {", 1), model.Options{})
	if err == nil || !strings.Contains(err.Error(), "more than 67108864 loop iterations over all "+
		"combinations of its choices; make them in a thread") {
		t.Errorf("error %v", err)
	}
	m, err := model.Parse("test.model", strings.Replace(text, "40", "10", 1), model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(m.System().Initial()); n != 2 {
		t.Errorf("%d initial states, want 2", n)
	}
}
