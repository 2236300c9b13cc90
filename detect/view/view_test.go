package view

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRecorded: the events of a cut are before it, each after what it depends on.
func TestRecorded(t *testing.T) {
	log, err := filepath.Abs("../benchmarks/mutex/testdata/majority.log")
	if err != nil {
		t.Fatal(err)
	}
	result :=
		`{"log": %q, "hosts": [], "modality": "poss", "predicate": "p", "verdict": "possible", "witness": {"cut": [
		{"host": "node1", "state": %d}, {"host": "node2", "state": 7}, {"host": "node3", "state": 11}, {"host": "node4", "state": 7}]}}`
	k, err := read([]byte(fmt.Sprintf(result, log, 10)), "")
	if err != nil {
		t.Fatal(err)
	}
	d := k.Documents[0]
	if d.Cut != 35 || len(d.Rows) != d.Total || len(d.Arrows) == 0 || d.Title != "possible: p" {
		t.Errorf("cut %d, %d rows of %d, %d messages, %s", d.Cut, len(d.Rows), d.Total,
			len(d.Arrows), d.Title)
	}
	before := map[int]int{}
	for i, r := range d.Rows {
		if i < d.Cut {
			before[r.Column]++
		}
		for _, f := range r.Depends {
			if f >= i {
				t.Errorf("event %d depends on %d", i, f)
			}
		}
	}
	if diff := cmp.Diff(map[int]int{0: 10, 1: 7, 2: 11, 3: 7}, before); diff != "" {
		t.Errorf("events before the cut (- want):\n%s", diff)
	}
	for _, state := range []int{99, 1} { // there is no such event; the cut is not consistent
		if _, err := read([]byte(fmt.Sprintf(result, log, state)), ""); err == nil ||
			!strings.Contains(err.Error(), "not the one that was analyzed") {
			t.Errorf("state %d: %v", state, err)
		}
	}
}

func TestNoLog(t *testing.T) {
	for text, want := range map[string]string{
		`{"modality": "poss", "hosts": [], "log": "nowhere.log"}`: "nowhere.log, which the " +
			"result is about, is not there",
		`{"modality": 1, "hosts": []}`: "damaged",
	} {
		if _, err := read([]byte(text), t.TempDir()); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}
