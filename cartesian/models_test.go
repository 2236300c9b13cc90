package cartesian

import (
	"testing"

	"cpor/testkit/sample"

	"cpor/engine/search"
	fullsearch "cpor/engine/search/full"
	"cpor/frontend/model"
	generated "cpor/testkit/oracle"
)

// TestModelOracleBites leaves the self-loops of ended threads out and holds
// the result to the full search on generated models of the language: the
// oracle must find lost local states, and none with the self-loops.
func TestModelOracleBites(t *testing.T) {
	lost := map[bool]int{}
	c := generated.Config{Threads: 3, Statements: 6, Awaits: true, Atomic: true, Locks: true,
		Choices: true}
	seeds := sample.Of[uint64](300, 300, 6000)
	for seed := uint64(1); seed <= seeds; seed++ {
		m, err := model.Parse("generated.model", generated.Generate(seed, c), model.Options{})
		if err != nil {
			continue // its init fails or blocks
		}
		sys := m.System()
		want, res, err := generated.Explore(sys, fullsearch.Factory(sys), 1, 2000)
		if err != nil || !res.Exhaustive {
			continue
		}
		for _, without := range []bool{true, false} {
			f := func() search.Expander { return New(sys, Options{noEndedLoops: without}) }
			got, _, err := generated.Explore(sys, f, 1, 0)
			if err != nil {
				t.Fatal(err)
			}
			for k := range want.Locals {
				if !got.Locals[k] {
					lost[without]++
				}
			}
		}
	}
	t.Logf("%d local states lost without the self-loops, %d with them", lost[true], lost[false])
	if lost[true] == 0 {
		t.Error("the oracle does not notice that the self-loops of ended threads are left out")
	}
	if lost[false] != 0 {
		t.Error("local states lost")
	}
}
