package main

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"cpor/detect"
	"cpor/detect/logs"
	"cpor/detect/predicate"
)

// TestRun: the algorithm excludes, its log says so, and the log is one that
// package logs accepts.
func TestRun(t *testing.T) {
	for _, cfg := range []config{
		{nodes: 1, rounds: 2}, {nodes: 2, rounds: 2}, {nodes: 4, rounds: 3},
		{nodes: 4, rounds: 3, broken: true},
	} {
		t.Run(fmt.Sprintf("%+v", cfg), func(t *testing.T) {
			cfg.pause = 200 * time.Microsecond
			var out bytes.Buffer
			if err := run(context.Background(), cfg, &out); err != nil {
				t.Fatal(err)
			}
			execs, err := logs.Read([]logs.Input{{Name: "run.log", Data: out.Bytes()}},
				logs.Options{})
			if err != nil {
				t.Fatal(err)
			}
			c := execs[0].Computation
			if c.N() != cfg.nodes {
				t.Errorf("%d hosts", c.N())
			}
			poss := func(text string) bool {
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
				return res.Holds
			}
			if !cfg.broken && poss("exists i < j: i.crit && j.crit") {
				t.Error("two nodes could have been in their critical sections")
			}
			if !poss(fmt.Sprintf("forall i: i.round == %d && !i.crit && !i.wants", cfg.rounds)) {
				t.Error("not every node got through its rounds")
			}
		})
	}
}
