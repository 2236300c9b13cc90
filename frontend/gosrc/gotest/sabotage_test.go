//go:build sabotage

package gotest

import (
	"math/rand/v2"
	"testing"

	"cpor/frontend/gosrc"
	"cpor/testkit/gogen"
	"cpor/testkit/sabotage"
)

// TestSabotage holds that each fault that is built into stored states without histories is found by
// comparing searches.
func TestSabotage(t *testing.T) {
	x, joined := newStoring(t, "micro", "TestMicro"), newStoring(t, "merging", "TestPlans")
	defer sabotage.Set("")
	for _, s := range sabotage.Histories {
		sabotage.Set(s.Name)
		if s.Name == "histories/adjacent" {
			if f := hiddenRace(t, joined).Failure; f != nil {
				t.Errorf("%s is not found: %s", s.Name, s.What)
			}
			continue
		}
		r := rand.New(rand.NewPCG(1, 4))
		diff, n := "", 0
		for ; diff == "" && n < 300; n++ {
			diff, _ = x.differ(t, r, true)
		}
		if diff == "" {
			t.Errorf("%s is not found: %s", s.Name, s.What)
		}
		t.Logf("%s: scenario %d", s.Name, n)
	}
}

// TestSabotageSURW holds that each fault that is built into SURW makes orders uneven.
func TestSabotageSURW(t *testing.T) {
	p, err := load(t, gogen.Uneven).Test("TestObject", gosrc.Explore{})
	if err != nil {
		t.Fatal(err)
	}
	defer sabotage.Set("")
	for _, s := range sabotage.Sampling {
		sabotage.Set(s.Name)
		o := sampled(t, p, true, 5, 1000)
		o.want = 10
		if chi, bound := gogen.ChiSquared(o.seen, o.want); chi < bound {
			t.Errorf("%s is not found: %s", s.Name, s.What)
		}
	}
}
