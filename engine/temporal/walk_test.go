package temporal_test

import (
	"context"
	"testing"

	"cpor/engine"
	"cpor/engine/temporal"
	"cpor/frontend/model"
)

// TestWalkUndefined has a random walk through a state where the formula cannot be evaluated. The
// cycle behind it must not be reported.
func TestWalkUndefined(t *testing.T) {
	defer temporal.Hurry(false)
	temporal.Hurry(true)
	m, err := model.Parse("walk", `
var n uint8
var x uint4 = 1
var y bool
thread P() { for { n = (n + 1) % 100 } }
thread Q() { x = 0; x = 3; y = true }
init { go P(); go Q() }
ltl p { [] (x != 3 && 4/x != 5) || [] !y }
`, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := temporal.Run(context.Background(), m.System(), properties(m),
		temporal.Options{Options: engine.Options{Workers: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if r[0].Fault == nil || r[0].Verdict == engine.Violated {
		t.Fatalf("%v, %v", r[0].Verdict, r[0].Fault)
	}
}
