package gotest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"cpor/engine"
	"cpor/frontend/gosrc/scenario"
)

func TestNewFirst(t *testing.T) {
	set := func(codes ...uint64) map[reached]bool {
		out := map[reached]bool{}
		for _, c := range codes {
			out[reached{code: c}] = true
		}
		return out
	}
	got := newFirst([]map[reached]bool{set(1), set(1, 2), nil, set(3), set(1, 2, 4), set(2)})
	if want := []int{4, 3, 0, 1, 2, 5}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestDrawnScenarios: of 55 scenarios 10 are explored, those that reach more first. -seed draws
// others, and the verdict names it.
func TestDrawnScenarios(t *testing.T) {
	described := []string{"0 10 2 1 2 0 10 1 false 0 1000 10"}
	draw := func(seed uint64, reach reacher) (texts []string, verdict string) {
		run := func(_ context.Context, _ scenario.Description, list []string, _ Options) (*Result,
			error) {
			texts = list
			return &Result{Verdict: engine.Pass}, nil
		}
		x := &exploring{ctx: t.Context(), o: Options{Seed: seed}, start: time.Now(),
			total: &Result{}, run: run, reach: reach}
		res, err := x.scenarios(described)
		if err != nil {
			t.Fatal(err)
		}
		return texts, res.Scenarios
	}
	first, verdict := draw(0, nil)
	if len(first) != 10 || !strings.Contains(verdict, "10 of 55 of 2 x 1 calls (seed 1)") {
		t.Errorf("%q; %s", first, verdict)
	}
	other, verdict := draw(7, nil)
	if slices.Equal(first, other) || !strings.Contains(verdict, "(seed 7)") {
		t.Errorf("%q and %q; %s", first, other, verdict)
	}
	asked := 0
	guided, verdict := draw(1, func(_ context.Context, texts []string) []map[reached]bool {
		asked = len(texts)
		out := make([]map[reached]bool, len(texts))
		out[asked-1] = map[reached]bool{{code: 1}: true}
		first = texts
		return out
	})
	if asked != 20 || len(guided) != 10 || guided[0] != first[19] || guided[1] != first[0] ||
		!strings.Contains(verdict, "10 of 55 of 2 x 1 calls (seed 1)") {
		t.Errorf("of %q: %q; %s", first, guided, verdict)
	}
}
