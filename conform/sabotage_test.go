//go:build sabotage

package conform_test

import (
	"testing"

	"cpor/testkit/sabotage"
)

// TestSabotage holds that each fault that is built into the reduction is found.
func TestSabotage(t *testing.T) {
	for _, s := range sabotage.Conform {
		t.Run(s.Name, func(t *testing.T) {
			sabotage.Set(s.Name)
			defer sabotage.Set("")
			if !followed(t, silentLoop, silentLog) {
				return
			}
			for seed := range uint64(5000) {
				if compare(t, seed).diff != "" {
					return
				}
			}
			t.Errorf("nobody noticed that %s", s.What)
		})
	}
}
