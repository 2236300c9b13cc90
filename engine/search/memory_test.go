package search_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"cpor/testkit/sample"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/statestore"
)

// TestMemoryLimit runs a search of far too many states under limits of memory,
// in a process of its own, and holds that process's peak to the limit and a
// twentieth: at the operating system's word, not at ours. That the search gets
// somewhere with what it has is checked, too.
func TestMemoryLimit(t *testing.T) {
	const env = "CPOR_TEST_MEMORY"
	if v := os.Getenv(env); v != "" {
		var limit uint64
		var workers int
		var kind string
		if _, err := fmt.Sscan(v, &limit, &workers, &kind); err != nil {
			t.Fatal(err)
		}
		k, err := statestore.ParseKind(kind)
		if err != nil {
			t.Fatal(err)
		}
		r := run(t, mustNew(t, counters(8, 9)), search.Options{
			Options: engine.Options{Workers: workers, MaxMemory: limit}, Store: k})
		js, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("result: %s\n", js)
		return
	}
	if testing.Short() || sample.Race {
		t.Skip("takes seconds, and the race detector's own memory counts as the process's")
	}
	type test struct {
		limit   uint64
		workers int
		kind    statestore.Kind
	}
	kinds := []statestore.Kind{statestore.Tree, statestore.Plain, statestore.Compact,
		statestore.Bitstate}
	var tests []test
	for _, kind := range kinds {
		if !sample.Long() && kind != statestore.Tree && kind != statestore.Bitstate {
			continue
		}
		limit := uint64(60e6)
		if kind == statestore.Tree || kind == statestore.Compact {
			limit = 42e6 // they take millions of states as it is
		}
		tests = append(tests, test{limit, 8, kind})
	}
	if sample.Long() {
		for _, limit := range []uint64{60e6, 200e6} {
			for _, workers := range []int{1, 16} {
				for _, kind := range kinds {
					tests = append(tests, test{limit, workers, kind})
				}
			}
		}
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%dMB/workers=%d/%v", tt.limit/1e6, tt.workers, tt.kind),
			func(t *testing.T) {
				cmd := exec.Command(os.Args[0], "-test.run", "^TestMemoryLimit$")
				cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %v", env, tt.limit, tt.workers,
					tt.kind))
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				_, js, ok := strings.Cut(string(out), "result: ")
				js, _, _ = strings.Cut(js, "\n")
				var r search.Result
				if err := json.Unmarshal([]byte(js), &r); err != nil || !ok {
					t.Fatalf("%v\n%s", err, out)
				}
				t.Logf("%d states, store %d MiB, peak %d MiB (%.0f %% of the limit): %s, %.1f s",
					r.States, r.StoreBytes>>20, r.PeakRSS>>20,
					100*float64(r.PeakRSS)/float64(tt.limit), r.Reason, r.Duration.Seconds())
				if r.Verdict != engine.Incomplete || !strings.Contains(r.Reason, "of memory") {
					t.Errorf("verdict %s: %s", r.Verdict, r.Reason)
				}
				if float64(r.PeakRSS) > 1.05*float64(tt.limit) {
					t.Errorf("peak %d at a limit of %d", r.PeakRSS, tt.limit)
				}
				if r.PeakRSS < tt.limit*4/5 {
					t.Errorf("peak of only %d at a limit of %d", r.PeakRSS, tt.limit)
				}
			})
	}
}
