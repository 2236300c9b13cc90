package view

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"cpor/explore"

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

// TestConformed: the page shows where a log and a model part, and what either could do there.
func TestConformed(t *testing.T) {
	log, err := filepath.Abs("../../examples/conform/bad.log")
	if err != nil {
		t.Fatal(err)
	}
	const result = `{"verdict": "rejected", "model": "lock.model", "logs": [%q], "followed": 2,
		"cut": {"node0": 1, "server": %d}, "next": [
		{"host": "server", "index": 2, "event": "grants node1"},
		{"host": "node0", "index": 2, "event": "leaves", "after": [{"host": "server", "index": 2,
		"event": "grants node1"}]}], "offers": [
		{"thread": "Node[1]", "host": "node1", "pos": "lock.model:20:8", "text": "<-grants[i]",
		"why": "waits for a message"},
		{"thread": "Server[0]", "host": "server", "pos": "lock.model:34:3", "text": "<-releases",
		"why": "waits for a message in releases, which is empty"}]}`
	k, err := readConform([]byte(fmt.Sprintf(result, log, 1)), "")
	if err != nil {
		t.Fatal(err)
	}
	d := k.Documents[0]
	if d.Cut != 2 || d.Kind != "conform" || d.Rows[2].Violation == "" ||
		d.Rows[3].Violation != "" {
		t.Errorf("%+v", d)
	}
	want := &explore.Parting{Next: []explore.Coming{
		{Column: 2, Row: 2, Text: "grants node1", After: []string{}},
		{Row: 4, Text: "leaves", After: []string{"server: grants node1"}}},
		Offers: []explore.Offer{
			{Thread: "Server[0]", Host: "server", Pos: explore.Place{File: "lock.model", Line: 34,
				Col: 3}, Text: "<-releases",
				Why: "waits for a message in releases, which is empty"},
			{Thread: "Node[1]", Host: "node1", Pos: explore.Place{File: "lock.model", Line: 20,
				Col: 8}, Text: "<-grants[i]", Why: "waits for a message"}}}
	if diff := cmp.Diff(want, d.Parting); diff != "" {
		t.Errorf("(- want):\n%s", diff)
	}
	const where = "begin in the directory where cpor conform ran"
	badAssign := fmt.Sprintf(`{"logs": [%q], "reading": {"assign": "("}}`, log)
	for text, want := range map[string]string{
		fmt.Sprintf(result, log, 9):             "it has no event 9 of server",
		fmt.Sprintf(result, "nowhere.log", 1):   where,
		badAssign:                               "damaged",
		`{"logs": 1, "cut": {}, "followed": 1}`: "damaged",
	} {
		if _, err := readConform([]byte(text), t.TempDir()); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}
