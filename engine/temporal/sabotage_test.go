//go:build sabotage

package temporal_test

import (
	"testing"

	"cpor/engine/temporal"
	"cpor/testkit/sabotage"
)

// TestSabotage holds that each fault that is built into the search is found by comparing verdicts
// with brute force.
func TestSabotage(t *testing.T) {
	defer sabotage.Set("")
	const last = 300
	for _, s := range sabotage.Temporal {
		sabotage.Set(s.Name)
		seed, diff := uint64(0), unfairly(temporal.Transparent)
		for ; diff == "" && seed < last; seed++ {
			if diff = wander(seed, &tally{}); diff == "" {
				diff = compare(seed, &tally{})
			}
		}
		if diff == "" {
			t.Errorf("%s is not found: %s", s.Name, s.What)
			continue
		}
		t.Logf("%s: seed %d", s.Name, seed)
	}
}
