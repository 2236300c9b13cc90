package cartesian

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"cpor/testkit/sample"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"cpor/engine/search"
	"cpor/engine/search/validate"
	"cpor/system"
	toy "cpor/testkit/toysystem"
)

// TestAgainstNaive compares every vector of the searches of random programs
// with the one that a transcription of the paper's pseudo-code computes.
func TestAgainstNaive(t *testing.T) {
	vectors, created, choices, observed := 0, 0, 0, 0
	seeds := sample.Of[uint64](30, 30, 500)
	for seed := range seeds {
		p, sys := program(t, seed)
		obs := system.ObserversOf(sys)
		e := New(sys, Options{})
		f := New(sys, Options{})
		x := &explorer{limit: 100}
		x.onMove = func(from system.State, m *search.Move) {
			if m.Thread != 0 || m.Alt != 0 {
				return // once for each state
			}
			got, want := e.Vector(from), naive(sys, from)
			vectors++
			for _, q := range got.Prefixes {
				if q.Transitions[len(q.Transitions)-1].Outcome.Created {
					created++
				}
				if q.Alt != 0 {
					choices++
				}
				if obs.Has(q.Thread) {
					observed++
				}
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf(
					"seed %d: the paper's pseudo-code (-) and the expander (+) differ:\n%s\n%v",
					seed, diff, p)
			}
		}
		x.run(sys, f)
		if e.Counters() != (search.Counters{}) {
			t.Fatal("Vector counts")
		}
	}
	t.Logf("%d vectors", vectors)
	if vectors < 8*int(seeds) || created == 0 || choices == 0 || observed == 0 {
		t.Errorf("%d vectors, %d creations, %d choices, %d observers", vectors, created, choices,
			observed)
	}
}

// wrapped is a system whose machines are changed by a function.
type wrapped struct {
	system.System
	wrap func(system.Machine) system.Machine
}

func (w wrapped) NewMachine() system.Machine { return w.wrap(w.System.NewMachine()) }

// Capabilities implements system.System: those of the wrapped one.
func (w wrapped) Capabilities() system.Capabilities {
	return w.System.Capabilities()
}

// constantHash gives all states the same hash.
type constantHash struct{ system.Machine }

func (constantHash) Hash() uint64 { return 42 }

// Capabilities implements system.Machine: those of the wrapped one.
func (c constantHash) Capabilities() system.MachineCapabilities {
	return c.Machine.Capabilities()
}

// TestHashIsNotTrusted runs with a hash that tells no states apart. The search
// must be the same.
func TestHashIsNotTrusted(t *testing.T) {
	programs := []*toy.Program{robots(2), sharedPtr(40), indexer(12), philosophers(4)}
	for seed := range uint64(300) {
		p, _ := program(t, seed)
		programs = append(programs, p)
	}
	for i, p := range programs {
		sys := build(t, p)
		bad := wrapped{sys, func(m system.Machine) system.Machine { return constantHash{m} }}
		var c [2]search.Counters
		var states [2]int
		for k, s := range []system.System{sys, bad} {
			x := &explorer{}
			e := New(s, Options{})
			x.run(s, e)
			c[k], states[k] = e.Counters(), len(x.covered)
		}
		if c[0] != c[1] || states[0] != states[1] {
			t.Errorf("program %d: %v with good hashes, %v with bad ones", i, c[0], c[1])
		}
	}
}

// TestCheckAccepts verifies the vectors of random programs and benchmarks.
func TestCheckAccepts(t *testing.T) {
	check := func(name string, sys system.System, o Options) {
		t.Helper()
		o.Check = func(err error) { t.Errorf("%s: %v", name, err) }
		(&explorer{limit: 100}).run(sys, New(sys, o))
	}
	for seed := range uint64(500) {
		p, sys := program(t, seed)
		check(p.String(), sys, Options{MaxLength: int(seed % 8)})
	}
	check("robots", build(t, robots(3)), Options{})
	check("philosophers", build(t, philosophers(4)), Options{})
	check("filesystem", build(t, fileSystem(14)), Options{})
	check("indexer", build(t, indexer(12)), Options{})
}

// liar leaves the writes to a location out of the accesses.
type liar struct {
	system.Machine
	loc system.Loc
}

func (l liar) Accesses() []system.Access {
	return slices.DeleteFunc(slices.Clone(l.Machine.Accesses()), func(a system.Access) bool {
		return a.Loc == l.loc && a.Write
	})
}

// pathHash tells apart how a state was reached.
type pathHash struct {
	system.Machine
	hash uint64
}

func (p *pathHash) Load(s system.State)     { p.Machine.Load(s); p.hash = 0 }
func (p *pathHash) Hash() uint64            { return p.hash }
func (p *pathHash) Rewind(mark system.Mark) { p.Machine.Rewind(mark); p.hash = 0 }
func (p *pathHash) Step(t int, alt uint64) system.Outcome {
	p.hash = p.hash*31 + uint64(t) + 1
	return p.Machine.Step(t, alt)
}

// fickle does something else at every other step of thread 1.
type fickle struct {
	system.Machine
	n *int
}

func (f fickle) Step(t int, alt uint64) system.Outcome {
	out := f.Machine.Step(t, alt)
	if *f.n++; t == 1 && *f.n%2 == 0 {
		out.AtEnd = !out.AtEnd
	}
	return out
}

// Capabilities implements system.Machine: those of the wrapped one.
func (l liar) Capabilities() system.MachineCapabilities {
	return l.Machine.Capabilities()
}

// Capabilities implements system.Machine: those of the wrapped one.
func (p *pathHash) Capabilities() system.MachineCapabilities {
	return p.Machine.Capabilities()
}

// Capabilities implements system.Machine: those of the wrapped one.
func (f fickle) Capabilities() system.MachineCapabilities {
	return f.Machine.Capabilities()
}

// TestCheckRejects lets machines lie in several ways.
func TestCheckRejects(t *testing.T) {
	p := toy.NewProgram()
	x := p.Scalar("x", 0)
	y := p.Scalar("y", 0)
	p.Thread("W", 0, toy.Atomic(toy.Store(y, nil, num(1))), toy.Atomic(toy.Store(x, nil, num(1))),
		toy.Atomic(toy.Store(x, nil, num(2))))
	p.Thread("R", 2, toy.Atomic(toy.Set(1, num(7))), toy.Atomic(toy.Set(0, toy.Load(x, nil))),
		toy.Atomic(toy.Set(1, num(2))))
	p.Start("W")
	p.Start("R")
	sys := build(t, p)
	steps := 0
	for _, tt := range []struct {
		name, want string
		wrap       func(system.Machine) system.Machine
	}{
		{"a hidden write", "not independent", func(m system.Machine) system.Machine {
			return liar{m, 0}
		}},
		{"a hash that is not the state's", "hash", func(m system.Machine) system.Machine {
			return &pathHash{Machine: m}
		}},
		{"a step that does not repeat", "does not repeat", func(m system.Machine) system.Machine {
			return fickle{m, &steps}
		}},
	} {
		var found []error
		bad := wrapped{sys, tt.wrap}
		e := New(bad, Options{Check: func(err error) { found = append(found, err) }})
		(&explorer{limit: 50}).run(bad, e)
		if len(found) == 0 || !strings.Contains(found[0].Error(), tt.want) {
			t.Errorf("%s: got %v", tt.name, found)
			continue
		}
		var ce *validate.Difference
		if !errors.As(found[0], &ce) || ce.State == nil {
			t.Errorf("%s: no reproducer in %v", tt.name, found[0])
		}
	}
}

// TestDefinition2IsChecked gives the check a vector that is not cartesian.
func TestDefinition2IsChecked(t *testing.T) {
	p := toy.NewProgram()
	x := p.Scalar("x", 0)
	p.Thread("W", 1, toy.Atomic(toy.Store(x, nil, num(1))), toy.Atomic())
	p.Start("W")
	p.Start("W")
	sys := build(t, p)
	e := New(sys, Options{})
	v := e.Vector(sys.Initial()[0])
	for i := range v.Prefixes { // both write x, and continue
		v.Prefixes[i].Transitions = append(v.Prefixes[i].Transitions, Transition{})
	}
	c := &checker{e: e, v: v}
	c.conflicts(&v.Prefixes[0], &v.Prefixes[1])
	if c.report == nil || !strings.Contains(c.report.Error(), "conflict at x") {
		t.Errorf("got %v", c.report)
	}
}
