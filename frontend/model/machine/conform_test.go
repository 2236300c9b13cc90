package machine_test

import (
	"testing"

	"cpor/frontend/model"
	"cpor/lockset"
	"cpor/oracle"
	"cpor/system"
	"cpor/system/systemtest"
)

// TestConform checks the contract of package system on generated models, and on
// the same ones in the wrapper that checks rules for locks.
func TestConform(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds = 12
	}
	for seed := range seeds {
		text := oracle.Generate(seed, oracle.Everything)
		m, err := model.Parse("generated.model", text, model.Options{})
		if err != nil {
			continue
		}
		check := func(sys system.System) {
			systemtest.Conform(t, sys, systemtest.Options{Seed: seed, MaxStates: 100, Walks: 8})
		}
		check(m.System())
		// With a rule a step's outcome depends on what others did or can do,
		// which no access shows; without one the wrapper adds nothing.
		sys, err := lockset.New(m.System(), lockset.Options{Rule: lockset.None})
		if err != nil {
			t.Fatal(err)
		}
		check(sys)
		if t.Failed() {
			t.Fatalf("seed %d\n%s", seed, text)
		}
	}
}
