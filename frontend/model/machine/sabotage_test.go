//go:build sabotage

package machine_test

import (
	"testing"

	"cpor/frontend/model"
	"cpor/system"
	"cpor/testkit/sabotage"
	"cpor/testkit/systemtest"
)

// TestSabotage holds that each fault that is built into the emitter is found by comparing the code
// with the machine, or what a search with either has executed.
func TestSabotage(t *testing.T) {
	defer sabotage.Set("")
	for _, s := range sabotage.ModelEmitter {
		found := false
		for seed := uint64(0); seed < 400 && !found; seed++ {
			text := compiledModel(seed)
			sabotage.Set(s.Name)
			_, _, err := compareCode(text, false)
			if err == nil {
				_, _, err = compareCode(text, true)
			}
			_, invalid := model.Parse("x.model", text, model.Options{})
			if err == nil && invalid == nil {
				_, err = systemtest.AmpleSets(func() system.System {
					m, _ := model.Parse("x.model", text, model.Options{})
					return m.System()
				}, 100)
			}
			if found = err != nil; found {
				t.Logf("%s: seed %d", s.Name, seed)
			}
			sabotage.Set("")
		}
		if !found {
			t.Errorf("%s is not found: %s", s.Name, s.What)
		}
	}
}
