package validate_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"cpor/cartesian"
	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/engine/search/validate"
	"cpor/system"
	"cpor/testkit/toysystem"
)

// collect takes differences from many goroutines.
type collect struct {
	mu    sync.Mutex
	first error
}

func (c *collect) report(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first == nil {
		c.first = err
	}
}

// run searches sys, and returns the first difference that the hook found in sys.
func run(t *testing.T, sys system.System, f search.Factory) error {
	t.Helper()
	var c collect
	_, err := search.Run(context.Background(), sys, f, search.Options{
		Options: engine.Options{Workers: 2, All: true, KeepTraces: true, MaxStates: 3000},
		Hook:    validate.Hook(sys, c.report)})
	if err != nil && c.first == nil {
		t.Fatal(err)
	}
	return c.first
}

func random(t *testing.T, seed uint64) (system.System, *toysystem.Program) {
	t.Helper()
	p := toysystem.Random(rand.New(rand.NewPCG(seed, 1)), toysystem.Config{Observer: seed%4 == 0})
	sys, err := toysystem.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return sys, p
}

// TestNoDifference searches random programs, full and cartesian.
func TestNoDifference(t *testing.T) {
	for seed := range uint64(300) {
		sys, p := random(t, seed)
		for name, f := range map[string]search.Factory{
			"full":      full.Factory(sys),
			"cartesian": func() search.Expander { return cartesian.New(sys, cartesian.Options{}) },
		} {
			if err := run(t, sys, f); err != nil {
				t.Fatalf("seed %d, %s: %v\n%v", seed, name, err, p)
			}
		}
	}
}

// faulty is a system whose machines lie in one way.
type faulty struct {
	system.System
	fault func(m system.Machine) system.Machine
}

// Capabilities implements system.System: those of the wrapped one.
func (f *faulty) Capabilities() system.Capabilities {
	return f.System.Capabilities()
}

func (f *faulty) NewMachine() system.Machine { return f.fault(f.System.NewMachine()) }

// The faults.
type (
	forgetsWrites struct{ system.Machine }
	forgetsReads  struct{ system.Machine }
	wrongHash     struct {
		system.Machine
		last int
	}
	noUndo      struct{ system.Machine }
	wrongPieces struct {
		system.Machine
		system.Pieces
	}
	untrackedIsIdle struct {
		system.Machine
		tracking bool
	}
	movesOthers struct{ system.Machine }
)

func (m *forgetsWrites) Accesses() []system.Access {
	var as []system.Access
	for _, a := range m.Machine.Accesses() {
		if !a.Write {
			as = append(as, a)
		}
	}
	return as
}

func (m *forgetsReads) Accesses() []system.Access {
	var as []system.Access
	for _, a := range m.Machine.Accesses() {
		if a.Write {
			as = append(as, a)
		}
	}
	return as
}

// Hash depends on how the machine came to its state.
func (m *wrongHash) Hash() uint64 { return m.Machine.Hash() + uint64(m.last) }

func (m *wrongHash) Step(t int, alt uint64) system.Outcome {
	m.last = t
	return m.Machine.Step(t, alt)
}

func (m *noUndo) Rewind(system.Mark) {}

func (m *wrongPieces) Accesses() []system.Access { return m.Machine.Accesses() }

func (m *wrongPieces) StepOn(t int, alt uint64, local []uint64,
	ask func(system.Loc) uint64) system.Outcome {
	return m.Pieces.StepOn(t, alt, local, func(l system.Loc) uint64 { return ask(l) ^ 1 })
}

func (m *untrackedIsIdle) Track(on bool) { m.tracking = on; m.Machine.Track(on) }

func (m *untrackedIsIdle) Step(t int, alt uint64) system.Outcome {
	if !m.tracking {
		return system.Outcome{Kind: system.Blocked}
	}
	return m.Machine.Step(t, alt)
}

func (m *movesOthers) Step(t int, alt uint64) system.Outcome {
	out := m.Machine.Step(t, alt)
	if n := m.NumThreads(); n > 1 && out.Kind == system.Moved {
		p := m.Machine.Capabilities().Pieces
		p.SetLocal((t+1)%n, p.Local(t, nil))
	}
	return out
}

// Capabilities implements system.Machine: steps on pieces are wrong.
func (m *wrongPieces) Capabilities() system.MachineCapabilities {
	can := m.Machine.Capabilities()
	can.Pieces = m
	return can
}

// Capabilities implements system.Machine: those of the wrapped one.
func (m *forgetsWrites) Capabilities() system.MachineCapabilities {
	return m.Machine.Capabilities()
}

// Capabilities implements system.Machine: those of the wrapped one.
func (m *forgetsReads) Capabilities() system.MachineCapabilities {
	return m.Machine.Capabilities()
}

// Capabilities implements system.Machine: those of the wrapped one.
func (m *wrongHash) Capabilities() system.MachineCapabilities {
	return m.Machine.Capabilities()
}

// Capabilities implements system.Machine: those of the wrapped one.
func (m *noUndo) Capabilities() system.MachineCapabilities {
	return m.Machine.Capabilities()
}

// Capabilities implements system.Machine: those of the wrapped one.
func (m *untrackedIsIdle) Capabilities() system.MachineCapabilities {
	return m.Machine.Capabilities()
}

// Capabilities implements system.Machine: those of the wrapped one.
func (m *movesOthers) Capabilities() system.MachineCapabilities {
	return m.Machine.Capabilities()
}

// TestBites makes sure that each kind of fault is noticed.
func TestBites(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault func(m system.Machine) system.Machine
		want  string
	}{
		{"writes", func(m system.Machine) system.Machine { return &forgetsWrites{m} }, ""},
		{"reads", func(m system.Machine) system.Machine { return &forgetsReads{m} }, "independent"},
		{"hash", func(m system.Machine) system.Machine { return &wrongHash{Machine: m} }, "hash"},
		{"undo", func(m system.Machine) system.Machine { return &noUndo{m} }, "undo log"},
		{"pieces", func(m system.Machine) system.Machine {
			return &wrongPieces{m, m.Capabilities().Pieces}
		}, "on pieces"},
		{"tracking", func(m system.Machine) system.Machine { return &untrackedIsIdle{Machine: m} },
			"without tracking"},
		{"locals", func(m system.Machine) system.Machine { return &movesOthers{m} }, "local part"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// Not every program shows every fault, but nearly all of a
			// hundred should give some that do.
			for seed := range uint64(100) {
				sys, _ := random(t, seed)
				lying := &faulty{System: sys, fault: tt.fault}
				// The search itself runs on the true machine.
				var c collect
				_, err := search.Run(context.Background(), sys, full.Factory(sys), search.Options{
					Options: engine.Options{Workers: 1, All: true, KeepTraces: true,
						MaxStates: 1000}, Hook: validate.Hook(lying, c.report)})
				if err != nil {
					t.Fatal(err)
				}
				if c.first != nil && strings.Contains(c.first.Error(), tt.want) {
					return
				}
			}
			t.Errorf("the fault was not noticed")
		})
	}
}

// lies is an expander that lies about one thing.
type lies struct {
	search.Expander
	visitor search.Visitor
	how     string
}

func (l *lies) Expand(s system.State, v search.Visitor) {
	l.visitor = v
	l.Expander.Expand(s, l)
}

func (l *lies) Move(m *search.Move) {
	c := *m
	switch l.how {
	case "longer":
		c.Len += 3
	case "elsewhere":
		if !m.Infinite {
			c.End = append(system.State(nil), m.End...)
			c.Thread = (m.Thread + 1) % 2
		}
	}
	l.visitor.Move(&c)
}

func (l *lies) Violation(v *system.Violation, tail []search.Step) { l.visitor.Violation(v, tail) }

// TestMoves makes sure that false moves and false deadlocks are noticed.
func TestMoves(t *testing.T) {
	for how, want := range map[string]string{"longer": "a move", "elsewhere": "lead where"} {
		t.Run(how, func(t *testing.T) {
			for seed := range uint64(100) {
				sys, _ := random(t, seed)
				var c collect
				// The search may stumble over the lies, too.
				_, _ = search.Run(context.Background(), sys, func() search.Expander {
					return &lies{Expander: full.New(sys), how: how}
				}, search.Options{Options: engine.Options{Workers: 1, All: true, KeepTraces: true,
					MaxStates: 1000}, Hook: validate.Hook(sys, c.report)})
				if c.first != nil && strings.Contains(c.first.Error(), want) {
					return
				}
			}
			t.Errorf("the lie was not noticed")
		})
	}
}
