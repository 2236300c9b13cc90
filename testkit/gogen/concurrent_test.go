package gogen

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"cpor/testkit/sample"

	"cpor/testkit/gotable"
)

var (
	concurrent = flag.Int("concurrent", 0, "number of random concurrent programs that real Go runs")
	rounds     = flag.Int("rounds", 5, "how often it runs each")
)

// TestBruteForceContainsReality compares the model with the real compiler: what is
// observed is among the outcomes.
func TestBruteForceContainsReality(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles and runs programs")
	}
	sources := map[string]string{}
	sets := map[string]Brute{}
	kinds := map[string]int{}
	for seed := range uint64(cmp.Or(*concurrent, sample.Of(20, 20, 200))) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := NewConcurrent(r, Shape{Goroutines: 1 + int(seed%2), Steps: 4, Vars: seed%5 == 0,
			Polls: seed%3 == 0, RW: seed%2 == 0})
		b, ok := p.BruteForce(300_000)
		if !ok {
			continue
		}
		name := fmt.Sprint(seed)
		sources[name], sets[name] = p.Source(), b
		if b.Race {
			kinds["race"]++
		}
		if len(b.Outcomes) > 1 {
			kinds["several outcomes"]++
		}
		for o := range b.Outcomes {
			kinds[o.Ending]++
		}
	}
	t.Logf("%d programs: %v", len(sources), kinds)
	bin, err := gotable.Build(t.TempDir(), gotable.DefaultGoVersion, sources)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range sets {
		if b.Race {
			continue
		}
		for range *rounds {
			got, err := bin.Run(name, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if !b.Outcomes[got] {
				t.Errorf("program %s ended with %q; the model says %v\n%s", name, got, b.Outcomes,
					sources[name])
				break
			}
		}
	}
}
