package machine_test

import (
	"cmp"
	"flag"
	"testing"

	"cpor/testkit/sample"

	"cpor/engine/lockset"
	"cpor/frontend/model"
	"cpor/system"
	"cpor/testkit/oracle"
	"cpor/testkit/systemtest"
)

// TestConform checks the contract of package system on generated models, and on
// the same ones in the wrapper that checks rules for locks, with every rule. A step
// under a rule depends on what others did or will do, so that the wrapper has to say
// that it accesses more; happens-before needs that not.
func TestConform(t *testing.T) {
	seeds := sample.Of[uint64](12, 15, 60)
	for seed := range seeds {
		config := oracle.Everything
		if seed%2 == 1 {
			config = oracle.Config{Threads: 3, Statements: 5, Loops: true, Locks: true,
				Awaits: true, Choices: true, Selects: true}
		}
		text := oracle.Generate(seed, config)
		m, err := model.Parse("generated.model", text, model.Options{})
		if err != nil {
			continue
		}
		check := func(sys system.System) {
			systemtest.Conform(t, sys, systemtest.Options{Seed: seed, MaxStates: 100, Walks: 8})
		}
		check(m.System())
		for _, o := range []lockset.Options{
			{Rule: lockset.None}, {Rule: lockset.LD, Dependences: true},
			{Rule: lockset.LDPrime, Dependences: true},
			{Rule: lockset.HB}, {Rule: lockset.HB, Dependences: true},
		} {
			sys, err := lockset.New(m.System(), o)
			if err != nil {
				t.Fatal(err)
			}
			check(sys)
			if t.Failed() {
				t.Fatalf("seed %d, rule %v, dependences %v\n%s", seed, o.Rule, o.Dependences, text)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d\n%s", seed, text)
		}
	}
}

var remembered = flag.Int("remembered", 0, "how many generated models are searched with steps "+
	"remembered and executed")

// TestRemember holds on generated models, with every construct and with the shapes that the
// oracles are fed with, that a search which remembers steps finds what one finds that
// executes them.
func TestRemember(t *testing.T) {
	n := cmp.Or(*remembered, sample.Of(30, 60, 600))
	compared, states := 0, uint64(0)
	for seed := range uint64(n) {
		text := oracle.Generate(seed, oracle.Everything)
		switch seed % 3 {
		case 1:
			text = oracle.Program(seed, oracle.SizesNamed["tiny"][seed/3%6])
		case 2:
			text = oracle.Program(seed, oracle.Sizes[seed/3%uint64(len(oracle.Sizes))])
		}
		if _, err := model.Parse("generated.model", text, model.Options{}); err != nil {
			continue
		}
		s := systemtest.Remember(t, func() system.System {
			m, err := model.Parse("generated.model", text, model.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return m.System()
		}, 20_000)
		if s > 0 {
			compared++
			states += s
		}
		if t.Failed() {
			t.Fatalf("seed %d\n%s", seed, text)
		}
	}
	if compared < n/3 || states < 20*uint64(n) {
		t.Errorf("%d of %d models were compared, with %d states", compared, n, states)
	}
	t.Logf("%d of %d models, %d states", compared, n, states)
}
