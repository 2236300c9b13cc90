package detect

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"cpor/testkit/sample"

	"cpor/detect/computation"
	"cpor/detect/predicate"
	"cpor/detect/simulate"
)

func mustExpand(t testing.TB, text string, c *computation.Computation) *predicate.Node {
	t.Helper()
	p, err := predicate.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	names := predicate.NamesOf(c)
	names.Variables = nil // a random computation may never assign some variable
	n, err := p.Expand(names)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

type variant struct {
	name string
	m    Modality
	opt  Options
}

func variants() []variant {
	vs := []variant{
		{"auto", Poss, Options{}},
		{"one worker", Poss, Options{Workers: 1}},
		{"many workers", Poss, Options{Workers: 8}},
		{"whole", Poss, Options{Whole: true}},
		{"full", Poss, Options{Full: true}},
		{"whole, full", Poss, Options{Whole: true, Full: true, Check: true}},
		{"sequences", Poss, Options{Algorithm: PSPoss}},
		{"sequences, full, whole", Poss, Options{Algorithm: PSPoss, Full: true, Whole: true,
			Check: true}},
		{"lattice", Poss, Options{Algorithm: Lattice}},
		{"lattice, full", Poss, Options{Algorithm: Lattice, Full: true}},
		{"gw", Poss, Options{Algorithm: GargWaldecker}},
		{"gw, full", Poss, Options{Algorithm: GargWaldecker, Full: true}},
		{"auto", Def, Options{}},
		{"auto, full", Def, Options{Full: true}},
		{"gw", Def, Options{Algorithm: GargWaldecker}},
		{"gw, full", Def, Options{Algorithm: GargWaldecker, Full: true}},
		{"psdef", Def, Options{Algorithm: PSDef}},
		{"psdef, many workers", Def, Options{Algorithm: PSDef, Workers: 8, NoDominance: true}},
		{"psdef, full", Def, Options{Algorithm: PSDef, Full: true}},
		{"psdef, no dominance", Def, Options{Algorithm: PSDef, NoDominance: true}},
		{"psdef, no dominance, full", Def, Options{Algorithm: PSDef, NoDominance: true,
			Full: true}},
		{"psdef, no persistent sets", Def, Options{Algorithm: PSDef, NoPersistent: true}},
		{"lattice", Def, Options{Algorithm: Lattice}},
		{"lattice, full", Def, Options{Algorithm: Lattice, Full: true}},
		{"auto", Poss, Options{Workers: 2}}, // both, where that is what auto does
	}
	for _, level := range Levels {
		for _, full := range []bool{false, true} {
			opt := level.Options
			opt.Full = full
			opt.Check = true
			vs = append(vs, variant{fmt.Sprintf("psposs %s full=%v", level.Name, full), Poss, opt})
		}
	}
	return vs
}

// TestOracle: every algorithm agrees with brute force over all cuts and all
// observations.
func TestOracle(t *testing.T) {
	rounds := sample.Of(150, 600, 5000)
	defer func(table, next int, old time.Duration) {
		maxTable, maxNext, headStart = table, next,
			old
	}(maxTable, maxNext, headStart)
	vs := variants()
	stats := map[string]int{}
	for seed := range rounds {
		rng := rand.New(rand.NewPCG(uint64(seed), 6))
		c := randomComputation(rng)
		text := randomPredicate(rng, c.N(), rng.IntN(4), nil)
		if seed%3 == 0 {
			text = localPredicate(rng, c.N())
		}
		maxTable, maxNext = 1<<16, 64<<20
		headStart = []time.Duration{time.Hour, 0}[seed%2]
		if seed%5 == 0 { // no tables
			maxTable, maxNext = 0, 0
		}
		n := mustExpand(t, text, c)
		want := bruteForce(c, n)
		stats[fmt.Sprintf("poss %v", want.poss)]++
		stats[fmt.Sprintf("def %v", want.def)]++
		for _, v := range vs {
			res, err := Detect(context.Background(), c, n, v.m, v.opt)
			if err == ErrNotLocal {
				continue
			}
			if err != nil {
				t.Fatalf("seed %d, %s, %v %s: %v", seed, text, v.m, v.name, err)
			}
			holds := want.poss
			if v.m == Def {
				holds = want.def
			}
			if res.Holds != holds || !res.Exhaustive {
				t.Fatalf("seed %d, %v %s, %s: %v, brute force says %v\nconjunctions %v", seed, v.m,
					v.name, text, res.Holds, holds, res.Conjunctions)
			}
			if (res.Witness != nil) != (v.m == Poss && holds) ||
				(res.Observation != nil) != (v.m == Def && !holds && c.TotalEvents() > 0) {
				t.Fatalf("seed %d, %v %s, %s: the evidence does not go with the answer", seed, v.m,
					v.name, text)
			}
			// two searches add their counts
			if v.m == Poss && v.opt.Algorithm != Lattice && v.opt.Algorithm != GargWaldecker &&
				!v.opt.NoSleep && v.opt.Whole && (headStart > 0 || v.opt.Algorithm != "") {
				if s := res.Stats; !res.Holds && s.Transitions != s.States-1 {
					t.Fatalf("seed %d, %s, %s: N_T = %d, N_S = %d", seed, v.name, text,
						s.Transitions, s.States)
				}
			}
		}
	}
	for _, k := range []string{"poss true", "poss false", "def true", "def false"} {
		if stats[k] < rounds/20 {
			t.Errorf("the random cases are one-sided: %v", stats)
		}
	}
}

// TestStopped: every algorithm ends without an answer when its context has
// ended.
func TestStopped(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	c := simulate.Random(rng, simulate.RandomConfig{Processes: 6, Events: 20_000, Messages: 0.3,
		Variables: 3, Values: 50, Assign: 0.6})
	for _, text := range []string{"sum(i: i.y) == 301", "p1.y * p2.y + p3.y * p4.y == -7",
		"forall i: i.y > 60", "exists i < j: i.y == j.y + 100"} {
		n := mustExpand(t, text, c)
		for _, v := range variants() {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			res, err := Detect(ctx, c, n, v.m, v.opt)
			if err == ErrNotLocal {
				continue
			}
			if err != nil || res.Exhaustive || res.Reason != "interrupted" {
				t.Errorf("%s, %v %s: %+v %v", text, v.m, v.name, res, err)
			}
		}
	}
}
