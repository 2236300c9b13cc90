//go:build sabotage

package machine

import (
	"testing"

	"cpor/testkit/sabotage"
)

// TestSabotage holds that each fault that is built into the emitter is found by comparing the code
// with the machine.
func TestSabotage(t *testing.T) {
	defer sabotage.Set("")
	for _, s := range sabotage.Emitter {
		sabotage.Set(s.Name)
		found := false
		for seed := uint64(1); seed <= 200 && !found; seed++ {
			sys := systemOf(seed)
			if sys == nil {
				continue
			}
			if _, _, err := compare("", sys, 300); err != nil {
				t.Logf("%s: seed %d", s.Name, seed)
				found = true
			}
		}
		if !found {
			t.Errorf("%s is not found: %s", s.Name, s.What)
		}
	}
}
