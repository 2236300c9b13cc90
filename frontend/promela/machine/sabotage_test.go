//go:build sabotage

package machine

import (
	"math/rand/v2"
	"testing"

	"cpor/engine/search/ample"
	"cpor/testkit/sabotage"
)

// finds holds that each fault of a list is found with one of the seeds up to last.
func finds(t *testing.T, list []struct{ Name, What string }, last uint64,
	found func(seed uint64) bool) {
	t.Helper()
	defer sabotage.Set("")
	for _, s := range list {
		sabotage.Set(s.Name)
		seed := uint64(0)
		for seed <= last && !found(seed) {
			seed++
		}
		if seed > last {
			t.Errorf("%s is not found: %s", s.Name, s.What)
			continue
		}
		t.Logf("%s: seed %d", s.Name, seed)
	}
}

// textOf returns the program of a seed: a written one, or a generated one behind these.
func textOf(seed uint64, written []string, generate func(r *rand.Rand) string) string {
	if seed < uint64(len(written)) {
		return written[seed]
	}
	return generate(rand.New(rand.NewPCG(1, seed)))
}

// TestSabotage holds that each fault that is built into the emitter is found by comparing its code
// with the machine.
func TestSabotage(t *testing.T) {
	finds(t, sabotage.Emitter, 200, func(seed uint64) bool {
		if seed == 0 || systemOf(seed) == nil {
			return false
		}
		_, err := compareCode(seed, false)
		if err == nil {
			_, err = compareCode(seed, true)
		}
		return err != nil
	})
}

// TestSabotageBounds holds that each fault that is built into the bounds on what processes may
// still do is found by comparing searches with ample sets with the full search.
func TestSabotageBounds(t *testing.T) {
	finds(t, sabotage.Bounds, 100, func(seed uint64) bool {
		diff, _ := unnumbered(t, textOf(seed, written, starting), seed)
		return diff != ""
	})
}

// TestSabotageMerging holds that each fault that is built into merged semantics is found by
// comparing it with pure semantics.
func TestSabotageMerging(t *testing.T) {
	finds(t, sabotage.Merging, 100, func(seed uint64) bool {
		diff, _, _ := unmerged(textOf(seed, writtenLocals, localSteps))
		return diff != ""
	})
}

// TestSabotageAsking holds that each fault that is built into what constructs that ask about all
// processes look at is found by comparing searches, or by brute force.
func TestSabotageAsking(t *testing.T) {
	finds(t, sabotage.Asking, 400, func(seed uint64) bool {
		what := int(seed) % askings
		if seed < uint64(len(writtenAsking)) {
			what = asksTimeout
		}
		text := textOf(seed, writtenAsking, func(r *rand.Rand) string { return asking(r, what) })
		s := askingSystem(text, what)
		if s == nil || manyWays(s) {
			return false
		}
		diff, c := reducedAlike(t, s, text, seed)
		found := diff != ""
		f, err := ample.Factory(s, func(error) { found = true })
		if err != nil {
			t.Fatal(err)
		}
		if c != nil {
			exploreAll(t, s, f, 1)
		}
		return found
	})
}

// TestSabotageClaims holds that each fault that is built into claims is found by comparing
// searches.
func TestSabotageClaims(t *testing.T) {
	finds(t, sabotage.Claims, 200, func(seed uint64) bool {
		diff, _ := claimsAlike(t, textOf(seed, writtenClaims, claiming), seed)
		return diff != ""
	})
}
