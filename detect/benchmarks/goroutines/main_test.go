package main

import (
	"bytes"
	"context"
	"testing"

	"cpor/detect"
	"cpor/detect/logs"
	"cpor/detect/predicate"
)

// TestTrace: what the program's channels and its wait group order is ordered in
// what is read from its trace.
func TestTrace(t *testing.T) {
	var buf bytes.Buffer
	if err := run(&buf, 3, 6, false); err != nil {
		t.Skip("another trace is being taken: ", err)
	}
	// recognized
	execs, err := logs.Read([]logs.Input{{Name: "run.trace", Data: buf.Bytes()}}, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := execs[0].Computation
	for text, want := range map[string]bool{
		"exists i: i.working": true,
		"exists i: i.done":    true,
		// A job is worked on after it was fed.
		"exists i, j: i.job == 5 && j.fed < 5": false,
		// The main goroutine waits for the last worker to end.
		"(exists i: i.done) && count(i: i.working) == 3": false,
	} {
		p, err := predicate.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		n, err := p.Expand(predicate.NamesOf(c))
		if err != nil {
			t.Fatal(err)
		}
		res, err := detect.Detect(context.Background(), c, n, detect.Poss, detect.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if res.Holds != want {
			t.Errorf("%s: %v, witness %v", text, res.Holds, res.Witness)
		}
	}
}
