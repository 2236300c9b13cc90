package systemtest_test

import (
	"math/rand/v2"
	"testing"

	"cpor/system"
	"cpor/system/systemtest"
	"cpor/system/toysystem"
)

// heap returns a random system with a heap.
func heap(t *testing.T, seed uint64, loops bool) (system.System, *toysystem.Heap) {
	t.Helper()
	p := toysystem.RandomHeap(rand.New(rand.NewPCG(seed, 1)), loops)
	sys, err := toysystem.NewHeap(p)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	return sys, p
}

func rounds(n uint64) uint64 {
	if testing.Short() {
		return n / 10
	}
	return n
}

// TestConformHeap checks the contract on systems that allocate.
func TestConformHeap(t *testing.T) {
	for seed := range rounds(200) {
		sys, p := heap(t, seed, seed%2 == 0)
		systemtest.Conform(t, sys, systemtest.Options{Seed: seed})
		if t.Failed() {
			t.Fatalf("seed %d\n%v", seed, p)
		}
	}
}

// TestConformToy checks the contract on systems of a fixed size.
func TestConformToy(t *testing.T) {
	for seed := range rounds(200) {
		p := toysystem.Random(rand.New(rand.NewPCG(seed, 1)), toysystem.Config{Observer: seed%3 == 0})
		sys, err := toysystem.New(p)
		if err != nil {
			t.Fatal(err)
		}
		systemtest.Conform(t, sys, systemtest.Options{Seed: seed})
		if t.Failed() {
			t.Fatalf("seed %d\n%v", seed, p)
		}
	}
}

// TestAgreeHeap runs every engine on systems that allocate, those that store
// states with 1 and with 8 workers.
func TestAgreeHeap(t *testing.T) {
	var stateful, stateless []systemtest.Engine
	for _, e := range systemtest.Engines() {
		if e.Finite {
			stateless = append(stateless, e)
		} else {
			stateful = append(stateful, e)
		}
	}
	compared := 0
	for seed := range rounds(120) {
		finite := seed%3 > 0
		sys, p := heap(t, seed, !finite)
		compared += systemtest.Agree(t, sys, stateful, finite, 3000, 1, 8)
		compared += systemtest.Agree(t, sys, append(stateful[:1:1], stateless...), finite, 3000, 1, 8)
		if t.Failed() {
			t.Fatalf("seed %d\n%v", seed, p)
		}
	}
	if compared < int(rounds(1000)) {
		t.Errorf("only %d runs were compared", compared)
	}
}

// faulty is a system whose machines lie.
type faulty struct {
	system.System
	lie func(system.Machine) system.Machine
}

func (f faulty) NewMachine() system.Machine { return f.lie(f.System.NewMachine()) }
func (f faulty) Unwrap() system.System      { return f.System }

// byTouch numbers locations in the order in which a run touches them first.
type byTouch struct {
	system.Machine
	numbers map[system.Loc]system.Loc
}

func (m *byTouch) Unwrap() system.Machine { return m.Machine }

func (m *byTouch) Accesses() []system.Access {
	var as []system.Access
	for _, a := range m.Machine.Accesses() {
		n, ok := m.numbers[a.Loc]
		if !ok {
			n = system.Loc(len(m.numbers))
			m.numbers[a.Loc] = n
		}
		as = append(as, system.Access{Loc: n, Write: a.Write})
	}
	return as
}

// namesByMark names threads by how many steps were taken.
type namesByMark struct{ system.Machine }

func (m namesByMark) Unwrap() system.Machine { return m.Machine }

func (m namesByMark) ThreadName(t int) string {
	return m.Machine.ThreadName(t) + "'"[:min(1, int(m.Mark()))]
}

// forgetsRenaming says that locations keep their names.
type forgetsRenaming struct{ system.Machine }

func (m forgetsRenaming) Unwrap() system.Machine { return m.Machine }

func (m forgetsRenaming) Renamed(l system.Loc) (system.Loc, bool) { return l, true }

// errors counts what a test would have reported.
type errors struct {
	testing.TB
	n int
}

func (e *errors) Helper()      {}
func (e *errors) Error(...any) { e.n++ }

// TestConformBites makes sure that faults are noticed.
func TestConformBites(t *testing.T) {
	for name, lie := range map[string]func(system.Machine) system.Machine{
		"locations in the order of allocation": func(m system.Machine) system.Machine {
			return &byTouch{m, map[system.Loc]system.Loc{}}
		},
		"names that change": func(m system.Machine) system.Machine { return namesByMark{m} },
		"renaming":          func(m system.Machine) system.Machine { return forgetsRenaming{m} },
	} {
		e := &errors{TB: t}
		for seed := uint64(0); e.n == 0 && seed < 50; seed++ {
			sys, _ := heap(t, seed, false)
			systemtest.Conform(e, faulty{sys, lie}, systemtest.Options{Seed: seed})
		}
		if e.n == 0 {
			t.Errorf("%s: nothing is noticed", name)
		}
	}
}

// TestHeapForms makes sure that the programs have what they are for: threads
// that come into being in different orders, garbage, deadlocks, violations.
func TestHeapForms(t *testing.T) {
	gaps, renamed, garbage := 0, 0, 0
	for seed := range uint64(40) {
		sys, _ := heap(t, seed, false)
		r := rand.New(rand.NewPCG(seed, 2))
		for range 10 {
			m := sys.NewMachine()
			m.Track(true)
			renaming := m.(system.Renaming)
			seen := map[system.Loc]bool{}
			for range 30 {
				th := r.IntN(m.NumThreads())
				m.Step(th, 0)
				for _, a := range m.Accesses() {
					seen[a.Loc] = true
				}
			}
			for l := range seen {
				switch now, ok := renaming.Renamed(l); {
				case !ok:
					garbage++
				case now != l:
					renamed++
				}
			}
			for th := range m.NumThreads() {
				if out := m.Step(th, 0); out.Kind == system.Blocked && out.AtEnd {
					gaps++
				}
			}
		}
	}
	if gaps == 0 || renamed == 0 || garbage == 0 {
		t.Errorf("%d threads that do not exist yet, %d renamed locations, %d that are garbage", gaps, renamed, garbage)
	}
}
