package monitor

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"cpor/detect"
	"cpor/detect/computation"
	"cpor/detect/predicate"
	"cpor/detect/simulate"
	"cpor/testkit/sample"
)

// plainAvoider makes a monitor explore without persistent sets, if plain, and returns its engine,
// nil if it has another one, or has the answer.
func plainAvoider(m *Monitor, plain bool) *avoider {
	if len(m.parts) == 0 {
		return nil
	}
	if a, ok := m.parts[0].(*avoider); ok {
		a.plain = plain
		return a
	}
	return nil
}

// TestPSDef: with persistent sets, Def is announced with the same event or an earlier one, the
// answer in the end is that of the off-line search, and less is explored.
func TestPSDef(t *testing.T) {
	n := sample.Of[uint64](100, 100, 10_000)
	var with, without uint64
	compared, definite, announced := 0, 0, 0
	for seed := range n {
		rng := rand.New(rand.NewPCG(seed, 11))
		c := randomComputation(rng)
		text := predicates[rng.IntN(len(predicates))]
		p, err := predicate.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		cfg := Config{Predicate: p, Modality: detect.Def, Hosts: c.Names(), Init: initial(c)}
		monitors := make([]*Monitor, 2)
		var engines [2]*avoider
		for k := range monitors {
			if monitors[k], err = New(cfg); err != nil {
				t.Fatal(err)
			}
			engines[k] = plainAvoider(monitors[k], k == 1)
		}
		if engines[0] == nil {
			continue
		}
		name := fmt.Sprintf("seed %d, %s", seed, text)
		for k, e := range events(rng, c) {
			for _, m := range monitors {
				if err := m.Add(e); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			if monitors[1].Detected() != nil && monitors[0].Detected() == nil {
				t.Fatalf("%s: not announced after %d events, as it is without persistent sets",
					name, k+1)
			}
		}
		if monitors[0].Detected() != nil {
			announced++
		}
		want := offline(t, c, p, detect.Def)
		for k, m := range monitors {
			got, err := m.End()
			if err != nil || got != want {
				t.Fatalf("%s, plain %v: in the end %v, %v, want %v", name, k == 1, got, err, want)
			}
		}
		compared++
		if want {
			definite++
		}
		with += engines[0].transitions
		without += engines[1].transitions
	}
	t.Logf("%d compared, %d definite, %d announced; transitions: %d with persistent sets, %d "+
		"without", compared, definite, announced, with, without)
	if compared < int(n)/8 || definite < compared/10 || announced == 0 || with >= without {
		t.Error("the computations test too little, or nothing is reduced")
	}
}

// TestPSDefPaper: Def of the negated invariants of the paper's two protocols, on line, on
// simulated computations. It logs the figures of docs/papers.md.
func TestPSDefPaper(t *testing.T) {
	for _, x := range []struct {
		name, text string
		of         func(n, s int, seed uint64) *computation.Computation
		n, s       int
	}{
		{"database partition", simulate.NotIdb(4), simulate.DatabasePartition, 4, 20},
		{"primary-secondary", simulate.NotIpr, simulate.PrimarySecondary, 5, 20},
	} {
		p, err := predicate.Parse(x.text)
		if err != nil {
			t.Fatal(err)
		}
		var transitions [2]uint64
		const computations = 5
		for seed := range uint64(computations) {
			c := x.of(x.n, x.s, seed+1)
			for k := range transitions {
				m, err := New(Config{Predicate: p, Modality: detect.Def, Hosts: c.Names(),
					Init: initial(c)})
				if err != nil {
					t.Fatal(err)
				}
				a := plainAvoider(m, k == 1)
				for _, e := range events(rand.New(rand.NewPCG(seed, 12)), c) {
					if err := m.Add(e); err != nil {
						t.Fatal(err)
					}
				}
				holds, err := m.End()
				if err != nil || holds != offline(t, c, p, detect.Def) {
					t.Errorf("%s, seed %d: %v, %v", x.name, seed, holds, err)
				}
				transitions[k] += a.transitions
			}
		}
		t.Logf("%s, N=%d S=%d: %d transitions with persistent sets, %d without (averages of %d)",
			x.name, x.n, x.s, transitions[0]/computations, transitions[1]/computations,
			computations)
		if transitions[0] >= transitions[1] {
			t.Errorf("%s: persistent sets reduce nothing", x.name)
		}
	}
}
