package lockset_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"cpor/testkit/sample"

	"cpor/engine"
	"cpor/engine/lockset"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/engine/stateless"
	"cpor/frontend/model"
	"cpor/system"
	"cpor/testkit/racetest"
)

var (
	hbFirst = flag.Uint64("first", 0, "the first seed")
)

// racy returns the variables of the races among violations.
func racy(vs []engine.Finding) string {
	found := map[string]bool{}
	for _, v := range vs {
		if v.Kind == lockset.Race {
			found[v.Object] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), " ")
}

// engines runs every search that claims to decide HB.
func engines(t *testing.T, sys system.System, o lockset.Options, report func(name, found string)) {
	t.Helper()
	for _, workers := range []int{1, 3} {
		wrapped, err := lockset.New(sys, o)
		if err != nil {
			t.Fatal(err)
		}
		res, err := search.Run(context.Background(), wrapped, full.Factory(wrapped), search.Options{
			Options: engine.Options{Workers: workers, All: true, IgnoreDeadlocks: true,
				KeepTraces: true, MaxViolations: 1 << 20}})
		if err != nil || !res.Exhaustive {
			t.Fatalf("full search: %v %+v", err, res)
		}
		report(fmt.Sprintf("full search, %d workers", workers), racy(res.Violations))
		for _, red := range statelessReductions {
			res, err := stateless.Run(context.Background(), wrapped, stateless.Options{
				Options: engine.Options{Workers: workers, All: true, IgnoreDeadlocks: true,
					KeepTraces: true, MaxViolations: 1 << 20}, Reduction: red})
			if err != nil || !res.Exhaustive {
				t.Fatalf("%v: %v %+v", red, err, res)
			}
			report(fmt.Sprintf("%v, %d workers", red, workers), racy(res.Violations))
		}
	}
}

// statelessReductions are all there are.
var statelessReductions = func() (rs []stateless.Reduction) {
	for r := stateless.None; r <= stateless.DPOR; r++ {
		rs = append(rs, r)
	}
	return rs
}()

// TestVectorClocks holds HB, in every engine, to vector clocks along all
// executions of random programs: the same variables have a race.
func TestVectorClocks(t *testing.T) {
	n := sample.Of[uint64](100, 350, 6000) // seed 335 catches a sabotage
	races, clean, passed := 0, 0, 0
	for seed := *hbFirst; seed < *hbFirst+n; seed++ {
		p := racetest.Generate(seed, 3, 4)
		want, ok := p.Racy(3000)
		if !ok {
			passed++
			continue
		}
		names := strings.Join(slices.Sorted(maps.Keys(want)), " ")
		if len(want) > 0 {
			races++
		} else {
			clean++
		}
		m, err := model.Parse("generated.model", p.Text(), model.Options{})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, p.Text())
		}
		engines(t, m.System(), lockset.Options{Rule: lockset.HB}, func(name, found string) {
			if found != names {
				t.Errorf("seed %d: %s: races on %q, vector clocks on %q\n%s", seed, name, found,
					names, p.Text())
			}
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("%d programs with a race, %d without any, %d too large", races, clean, passed)
	if uint64(races) < n/5 || uint64(clean) < n/8 {
		t.Error("the generator does not test much")
	}
}
