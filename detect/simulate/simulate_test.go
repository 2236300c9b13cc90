package simulate

import (
	"context"
	"math/rand/v2"
	"testing"

	"cpor/detect"
	"cpor/detect/computation"
	"cpor/detect/predicate"
)

func possible(t *testing.T, c *computation.Computation, text string) bool {
	t.Helper()
	p, err := predicate.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	n, err := p.Expand(predicate.NamesOf(c))
	if err != nil {
		t.Fatal(err)
	}
	res, err := detect.Detect(context.Background(), c, n, detect.Poss, detect.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	return res.Holds
}

// TestInvariants: the protocols keep their invariants, make progress, and end
// when some process has executed S-1 events.
func TestInvariants(t *testing.T) {
	for seed := range uint64(40) {
		for n := 3; n <= 7; n += 2 {
			for _, s := range []int{2, 30, 60} {
				db, pr := DatabasePartition(n, s, seed), PrimarySecondary(n, s, seed)
				for _, c := range []*computation.Computation{db, pr} {
					if c.N() != n || int(c.MaxStates()) != s {
						t.Fatalf("N=%d S=%d: %d processes, %d states", n, s, c.N(), c.MaxStates())
					}
				}
				if s == 2 {
					continue // no process has assigned anything yet, maybe
				}
				if possible(t, db, NotIdb(n)) {
					t.Errorf("N=%d S=%d seed %d: the database can disagree", n, s, seed)
				}
				if possible(t, pr, NotIpr) {
					t.Errorf("N=%d S=%d seed %d: there can be no pair", n, s, seed)
				}
				if !possible(t, db, "exists i: i.chg") {
					t.Error("nobody suggested a partition")
				}
				if s == 60 && !possible(t, pr, "!p1.isPrimary || !p2.isSecondary") {
					t.Errorf("N=%d seed %d: the roles never changed", n, seed)
				}
			}
		}
	}
}

// TestSeeds: equal seeds give equal computations, others different ones.
func TestSeeds(t *testing.T) {
	text := func(c *computation.Computation) string {
		s := ""
		for _, e := range c.Linearise(c.Initial(), c.Final()) {
			s += c.Name(e.Process) + c.Text(e.Process, e.Index) + c.Describe(
				c.Clock(e.Process, e.Index)) + "\n"
		}
		return s
	}
	for _, gen := range []func(seed uint64) *computation.Computation{
		func(seed uint64) *computation.Computation { return DatabasePartition(4, 40, seed) },
		func(seed uint64) *computation.Computation { return PrimarySecondary(4, 40, seed) },
		func(seed uint64) *computation.Computation {
			return Random(rand.New(rand.NewPCG(seed, 1)), RandomConfig{Processes: 3, Events: 30,
				Messages: 0.5, Variables: 2, Values: 2, Assign: 0.5})
		},
	} {
		if first, again := text(gen(1)), text(gen(1)); first != again || first == text(gen(2)) {
			t.Error("the seed does not decide")
		}
	}
}
