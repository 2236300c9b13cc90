//go:build sabotage

package machine

import (
	"math/rand/v2"
	"testing"

	"cpor/engine/search/ample"
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
			if systemOf(seed) == nil {
				continue
			}
			if _, err := compareCode(seed); err != nil {
				t.Logf("%s: seed %d", s.Name, seed)
				found = true
			}
		}
		if !found {
			t.Errorf("%s is not found: %s", s.Name, s.What)
		}
	}
}

// TestSabotageBounds holds that each fault that is built into the bounds on what processes may
// still do is found by comparing searches with ample sets with the full search.
func TestSabotageBounds(t *testing.T) {
	defer sabotage.Set("")
	for _, b := range sabotage.Bounds {
		found := false
		for seed := uint64(0); seed <= 100 && !found; seed++ {
			text := starting(rand.New(rand.NewPCG(1, seed)))
			if seed < uint64(len(written)) {
				text = written[seed]
			}
			sabotage.Set(b.Name)
			if diff, _ := unnumbered(t, text, seed); diff != "" {
				t.Logf("%s: seed %d", b.Name, seed)
				found = true
			}
		}
		if !found {
			t.Errorf("%s is not found: %s", b.Name, b.What)
		}
	}
}

// TestSabotageMerging holds that each fault that is built into merged semantics is found by
// comparing it with pure semantics.
func TestSabotageMerging(t *testing.T) {
	defer sabotage.Set("")
	for _, b := range sabotage.Merging {
		found := false
		for seed := uint64(0); seed <= 100 && !found; seed++ {
			text := localSteps(rand.New(rand.NewPCG(1, seed)))
			if seed < uint64(len(writtenLocals)) {
				text = writtenLocals[seed]
			}
			sabotage.Set(b.Name)
			if diff, _, _ := unmerged(text); diff != "" {
				t.Logf("%s: seed %d", b.Name, seed)
				found = true
			}
		}
		if !found {
			t.Errorf("%s is not found: %s", b.Name, b.What)
		}
	}
}

// TestSabotageAsking holds that each fault that is built into what constructs that ask about all
// processes look at is found by comparing searches, or by brute force.
func TestSabotageAsking(t *testing.T) {
	defer sabotage.Set("")
	for _, b := range sabotage.Asking {
		found := false
		for seed := uint64(0); seed <= 400 && !found; seed++ {
			what := int(seed) % askings
			text := asking(rand.New(rand.NewPCG(1, seed)), what)
			if seed < uint64(len(writtenAsking)) {
				what, text = asksTimeout, writtenAsking[seed]
			}
			sabotage.Set(b.Name)
			s := askingSystem(text, what)
			if s == nil || manyWays(s) {
				continue
			}
			diff, c := reducedAlike(t, s, text, seed)
			found = diff != ""
			f, err := ample.Factory(s, func(error) { found = true })
			if err != nil {
				t.Fatal(err)
			}
			if c != nil {
				exploreAll(t, s, f, 1)
			}
			if found {
				t.Logf("%s: seed %d", b.Name, seed)
			}
		}
		if !found {
			t.Errorf("%s is not found: %s", b.Name, b.What)
		}
	}
}

// TestSabotageClaims holds that each fault that is built into claims is found by comparing
// searches.
func TestSabotageClaims(t *testing.T) {
	defer sabotage.Set("")
	for _, b := range sabotage.Claims {
		found := false
		for seed := uint64(0); seed <= 200 && !found; seed++ {
			text := claiming(rand.New(rand.NewPCG(1, seed)))
			if seed < uint64(len(writtenClaims)) {
				text = writtenClaims[seed]
			}
			sabotage.Set(b.Name)
			diff, _ := claimsAlike(t, text, seed)
			if found = diff != ""; found {
				t.Logf("%s: seed %d", b.Name, seed)
			}
		}
		if !found {
			t.Errorf("%s is not found: %s", b.Name, b.What)
		}
	}
}
