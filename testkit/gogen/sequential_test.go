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

var sequential = flag.Int("sequential", 0, "number of random sequential programs that are compiled")

// TestSequentialCompiles checks the generator: its programs compile and end, and print the same in
// two runs.
func TestSequentialCompiles(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles and runs programs")
	}
	sources := map[string]string{}
	for seed := range uint64(cmp.Or(*sequential, sample.Of(10, 10, 100))) {
		r := rand.New(rand.NewPCG(seed, 2))
		sources[fmt.Sprint(seed)] = Sequential(r, seed%2 == 0)
	}
	bin, err := gotable.Build(t.TempDir(), gotable.DefaultGoVersion, sources)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for name := range sources {
		a, err := bin.Run(name, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := bin.Run(name, time.Minute)
		if a != b {
			t.Errorf("program %s is not deterministic: %q and %q\n%s", name, a, b, sources[name])
		}
		if a.Ending == "livelock" {
			t.Errorf("program %s does not end\n%s", name, sources[name])
		}
		kinds[a.Ending]++
	}
	t.Log(kinds)
}
