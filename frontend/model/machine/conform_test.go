package machine_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"cpor/testkit/sample"

	"cpor/engine/lockset"
	"cpor/engine/search/validate"
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
	n := cmp.Or(*remembered, sample.Of(30, 30, 600))
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

// choosing are models whose threads choose among alternatives that may block: which of them are
// enabled differs from thread to thread, and from state to state. The second one asks timeout().
var choosing = []string{`var g, h int8
thread T(k int8) {
	for {
		atomic {
			var x = int8(choose(0, 2))
			await(x != g && (x != 1 || h == k))
			g = x
			if x == 1 { h = 1 - k }
		}
	}
}
init { go T(0); go T(1) }
`, `var g int8
thread T(k int8) {
	for {
		atomic {
			var x = int8(choose(0, 2))
			await(x == 2 && timeout() || x != 2 && g != k)
			g = x
		}
	}
}
init { go T(0); go T(1) }
`}

// TestHistory holds that a step does not depend on what its machine did before: machines that take
// many steps, of whole states and of pieces, do what new ones do.
func TestHistory(t *testing.T) {
	n := sample.Of(50, 50, 2000)
	steps := 0
	for seed := range n {
		text := compiledModel(uint64(seed))
		if seed < len(choosing) {
			text = choosing[seed]
		}
		m, err := model.Parse("generated.model", text, model.Options{})
		if err != nil {
			if seed < len(choosing) {
				t.Fatal(err)
			}
			continue
		}
		sys := m.System()
		h := history{sys: sys, old: sys.NewMachine(), parts: sys.NewMachine(),
			states: slices.Clone(sys.Initial()), rand: rand.New(rand.NewPCG(uint64(seed), 0))}
		h.old.Track(true)
		h.parts.Track(true)
		for range 80 {
			if err := h.check(h.states[h.rand.IntN(len(h.states))]); err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
		}
		steps += h.steps
	}
	t.Logf("%d steps", steps)
	if steps < 40*n {
		t.Errorf("only %d steps are compared", steps)
	}
}

type history struct {
	sys        system.System
	old, parts system.Machine
	states     []system.State
	rand       *rand.Rand
	steps      int
}

// check compares the steps of a thread of a state.
func (h *history) check(s system.State) error {
	h.old.Load(s)
	t := h.rand.IntN(h.old.NumThreads())
	for alt, more := uint64(0), true; more; h.steps++ {
		fresh := h.sys.NewMachine()
		fresh.Track(true)
		fresh.Load(s)
		pieces := fresh.Capabilities().Pieces
		local := pieces.Local(t, nil)
		want := fresh.Step(t, alt)
		same := func(m system.Machine, got system.Outcome) error {
			if !validate.Same(got, want) || got.Next != want.Next ||
				!validate.SameAccesses(m.Accesses(), fresh.Accesses()) {
				return fmt.Errorf("%s, alternative %d: %+v with %v, and %+v with %v by a new "+
					"machine", m.ThreadName(t), alt, got, m.Accesses(), want, fresh.Accesses())
			}
			return nil
		}
		if h.rand.IntN(4) == 0 {
			h.old.Track(false)
			h.old.Load(s)
			h.old.Step(t, alt)
			h.old.Track(true)
		}
		h.old.Load(s)
		if err := same(h.old, h.old.Step(t, alt)); err != nil {
			return err
		}
		end := fresh.Encode(nil)
		if !slices.Equal(end, h.old.Encode(nil)) {
			return fmt.Errorf("%s leads to another state than by a new machine",
				h.old.ThreadName(t))
		}
		if pieces.Whole() == "" {
			fresh := h.sys.NewMachine()
			fresh.Load(s)
			h.parts.Load(h.sys.Initial()[0])
			got := h.parts.Capabilities().Pieces.StepOn(t, alt, local,
				fresh.Capabilities().Pieces.Value)
			if err := same(h.parts, got); err != nil {
				return fmt.Errorf("on pieces: %w", err)
			}
		}
		if want.Kind == system.Moved && len(h.states) < 50 {
			h.states = append(h.states, end)
		}
		alt, more = want.Next, want.Next != 0
	}
	return nil
}
