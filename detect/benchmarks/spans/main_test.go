package main

import (
	"bytes"
	"context"
	"io"
	"testing"

	"cpor/detect"
	"cpor/detect/logs"
	"cpor/detect/predicate"
)

// TestSpans: both formats say the same, and what is known of the run.
func TestSpans(t *testing.T) {
	spans := simulate(config{orders: 8, shops: 2, skew: 50_000, seed: 3})
	for name, write := range map[string]func(io.Writer, []span) error{"otlp": writeOTLP,
		"jaeger": writeJaeger} {
		var buf bytes.Buffer
		if err := write(&buf, spans); err != nil {
			t.Fatal(err)
		}
		// recognized
		execs, err := logs.Read([]logs.Input{{Name: name, Data: buf.Bytes()}}, logs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c := execs[0].Computation
		if c.N() != 5 || c.TotalEvents() != 2*len(spans) || len(execs[0].Notes) > 0 {
			t.Errorf("%s: hosts %v, %d events, %v", name, c.Names(), c.TotalEvents(),
				execs[0].Notes)
		}
		for text, want := range map[string]bool{
			"exists i, j: i.open.reserve > 0 && j.open.mail > 0":                                   true,
			"mailer.open > 0 && client.open.order == 0 && mailer.order == 0 && client.order == 99": false,
			"warehouse.open > 8": false,
			// Before any order reached a shop, no goods were reserved.
			`warehouse.open > 0 && !defined("shop@1".open) && !defined("shop@2".open)`: false,
			`client.open > 0 && !defined("shop@1".open) && !defined("shop@2".open)`:    true,
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
			if err != nil || res.Holds != want {
				t.Errorf("%s: %s: %v %v", name, text, res.Holds, err)
			}
		}
	}
}
