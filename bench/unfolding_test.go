package bench

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cpor/engine/stateless"
	"cpor/engine/unfolding"
)

// TestUnfolding runs the table with made-up figures: each way's size is in its
// own unit, what did not end is not tried again in a larger size, and programs
// whose executions do not end are not given to dpor.
func TestUnfolding(t *testing.T) {
	tried := map[string]int{}
	runner := runnerFunc(func(_ context.Context, r Request) Outcome {
		name := strings.TrimSuffix(filepath.Base(r.Model), ".model")
		tried[name+" "+r.Mode+" "+r.POR]++
		switch {
		case r.POR == "none" && name == "filesystem":
			return Outcome{Status: Limited, Reason: "time-out"}
		case r.Mode == stateless.Mode:
			return Outcome{Status: Done, Executions: 77, Transitions: 1, Search: time.Millisecond}
		case r.Mode == unfolding.Mode:
			return Outcome{Status: Done, Transitions: 4242, Search: time.Millisecond}
		}
		return Outcome{Status: Done, States: 5151, Transitions: 1, Search: time.Millisecond}
	})
	var out, errs bytes.Buffer
	if code := run(context.Background(), []string{"unfolding", "philosophers", "filesystem", "-o",
		t.TempDir()}, &out, &errs, runner); code != exitDone {
		t.Fatalf("exit code %d\n%s%s", code, &out, &errs)
	}
	for _, s := range []string{"philosophers N=100", "4242", "77", "5151", "–"} {
		if !strings.Contains(out.String(), s) {
			t.Errorf("the report has no %s:\n%s", s, &out)
		}
	}
	for key, want := range map[string]int{"filesystem stateful none": 2,
		"philosophers stateless dpor": 0, "philosophers unfolding events": 7} {
		if tried[key] != want {
			t.Errorf("%s was tried %d times, want %d", key, tried[key], want)
		}
	}
}

// TestUnfoldingModels makes sure that each program of the table exists, and that
// its constant does.
func TestUnfoldingModels(t *testing.T) {
	for _, s := range unfoldingSweeps {
		text, err := anyModel(s.model)
		if err != nil {
			t.Error(err)
		}
		for _, p := range s.params(s.values[0]) {
			if !bytes.Contains(text, []byte("const "+p.Name+" = ")) {
				t.Errorf("%s has no constant %s", s.model, p.Name)
			}
		}
	}
}
