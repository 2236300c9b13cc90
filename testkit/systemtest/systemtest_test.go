package systemtest_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cpor/testkit/sample"

	"cpor/system"
	"cpor/testkit/systemtest"
	"cpor/testkit/toysystem"
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
	return sample.Of(n/10, n/4, n)
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
		p := toysystem.Random(rand.New(rand.NewPCG(seed, 1)), toysystem.Config{
			Observer: seed%3 == 0})
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

// TestAgreeHeap runs every engine on systems that allocate; those that store states run with 1 and
// with 8 workers.
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
		compared += systemtest.Agree(t, sys, append(stateful[:1:1], stateless...), finite, 3000, 1,
			8)
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

// Capabilities implements system.System: those of the wrapped one.
func (f faulty) Capabilities() system.Capabilities {
	return f.System.Capabilities()
}

// byTouch numbers locations in the order in which a run touches them first.
type byTouch struct {
	system.Machine
	numbers map[system.Loc]system.Loc
}

// Capabilities implements system.Machine: those of the wrapped one.
func (m *byTouch) Capabilities() system.MachineCapabilities {
	return m.Machine.Capabilities()
}

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

// Capabilities implements system.Machine: those of the wrapped one.
func (m namesByMark) Capabilities() system.MachineCapabilities {
	return m.Machine.Capabilities()
}

func (m namesByMark) ThreadName(t int) string {
	return m.Machine.ThreadName(t) + "'"[:min(1, int(m.Mark()))]
}

// forgetsRenaming says that locations keep their names.
type forgetsRenaming struct{ system.Machine }

// Capabilities implements system.Machine: those of the wrapped one.
func (m forgetsRenaming) Capabilities() system.MachineCapabilities {
	can := m.Machine.Capabilities()
	can.Renaming = m
	return can
}

func (m forgetsRenaming) Renamed(l system.Loc) (system.Loc, bool) { return l, true }

// forgetsChanges says that nothing has changed.
type forgetsChanges struct{ system.Machine }

// Capabilities implements system.Machine: those of the wrapped one.
func (m forgetsChanges) Capabilities() system.MachineCapabilities {
	can := m.Machine.Capabilities()
	can.Changing = m
	return can
}

func (m forgetsChanges) Changed(dst []int32) ([]int32, bool) { return dst, true }

// operating says that the last step of m wrote by an operation wherever it wrote.
func operating(m system.Machine, op system.Op, room uint16) []system.Access {
	as := slices.Clone(m.Accesses())
	for i := range as {
		if as[i].Write {
			as[i].Op, as[i].Room = op, room
		}
	}
	return as
}

// liar is a machine that breaks one rule: the functions that are set replace the machine's.
type liar struct {
	system.Machine
	load     func(system.State)
	encode   func() system.State
	rewind   func(system.Mark)
	hash     func() uint64
	track    func(bool)
	threads  func() int
	name     func(t int) string
	step     func(t int, alt uint64) system.Outcome
	accesses func() []system.Access
}

// Capabilities implements system.Machine: those of the wrapped one.
func (m *liar) Capabilities() system.MachineCapabilities {
	return m.Machine.Capabilities()
}

func (m *liar) Load(s system.State) {
	if m.load != nil {
		m.load(s)
		return
	}
	m.Machine.Load(s)
}

func (m *liar) Encode(dst system.State) system.State {
	if m.encode != nil {
		return append(dst[:0], m.encode()...)
	}
	return m.Machine.Encode(dst)
}

func (m *liar) Rewind(mark system.Mark) {
	if m.rewind != nil {
		m.rewind(mark)
		return
	}
	m.Machine.Rewind(mark)
}

func (m *liar) Hash() uint64 {
	if m.hash != nil {
		return m.hash()
	}
	return m.Machine.Hash()
}

func (m *liar) Track(on bool) {
	if m.track != nil {
		m.track(on)
	}
	m.Machine.Track(on)
}

func (m *liar) NumThreads() int {
	if m.threads != nil {
		return m.threads()
	}
	return m.Machine.NumThreads()
}

func (m *liar) ThreadName(t int) string {
	if m.name != nil {
		return m.name(t)
	}
	return m.Machine.ThreadName(t)
}

func (m *liar) Step(t int, alt uint64) system.Outcome {
	if m.step != nil {
		return m.step(t, alt)
	}
	return m.Machine.Step(t, alt)
}

func (m *liar) Accesses() []system.Access {
	if m.accesses != nil {
		return m.accesses()
	}
	return m.Machine.Accesses()
}

// liarPieces is a liar about pieces.
type liarPieces struct {
	*liar
	system.Pieces
	local func(t int) []uint64
	value func(system.Loc) uint64
	ask   func(v uint64) uint64
}

// Capabilities implements system.Machine: its pieces are wrong.
func (m *liarPieces) Capabilities() system.MachineCapabilities {
	can := m.Machine.Capabilities()
	can.Pieces = m
	return can
}

func (m *liarPieces) Accesses() []system.Access { return m.liar.Accesses() }

func (m *liarPieces) Local(t int, dst []uint64) []uint64 {
	if m.local != nil {
		return append(dst[:0], m.local(t)...)
	}
	return m.Pieces.Local(t, dst)
}

func (m *liarPieces) Value(l system.Loc) uint64 {
	if m.value != nil {
		return m.value(l)
	}
	return m.Pieces.Value(l)
}

func (m *liarPieces) StepOn(t int, alt uint64, local []uint64,
	ask func(system.Loc) uint64) system.Outcome {
	return m.Pieces.StepOn(t, alt, local, func(l system.Loc) uint64 {
		if m.ask != nil {
			return m.ask(ask(l))
		}
		return ask(l)
	})
}

// filtered returns the accesses of m that keep says yes to.
func filtered(m system.Machine, keep func(system.Access) bool) []system.Access {
	return slices.DeleteFunc(slices.Clone(m.Accesses()), func(a system.Access) bool {
		return !keep(a)
	})
}

// wrongSystem is a system that breaks a rule about initial states or observers.
type wrongSystem struct {
	system.System
	initial  func() []system.State
	observer func(t int) bool
}

// Capabilities implements system.System: those of the wrapped one.
func (s wrongSystem) Capabilities() system.Capabilities {
	return s.System.Capabilities()
}

func (s wrongSystem) Initial() []system.State {
	if s.initial != nil {
		return s.initial()
	}
	return s.System.Initial()
}

// observing is a wrongSystem with observers.
type observing struct{ wrongSystem }

// Capabilities implements system.System: it has the observers that the test names.
func (s observing) Capabilities() system.Capabilities {
	can := s.System.Capabilities()
	can.Observing = s
	return can
}

func (s observing) Observer(t int) bool { return s.observer(t) }

// noPieces hides that a machine offers pieces.
type noPieces struct{ system.Machine }

// Capabilities implements system.Machine: there are none.
func (noPieces) Capabilities() system.MachineCapabilities { return system.MachineCapabilities{} }

// report records what a test would have reported.
type report struct {
	testing.TB
	text string
}

func (r *report) Helper()           {}
func (r *report) Error(args ...any) { r.text += fmt.Sprintln(args...) }

// TestConformBites breaks each rule of Conform, one at a time. The check for that rule must notice
// it.
func TestConformBites(t *testing.T) {
	moves := func(m system.Machine) bool {
		for th := range m.NumThreads() {
			if m.Step(th, 0).Kind == system.Moved {
				return true
			}
		}
		return false
	}
	machines := func(lie func(m system.Machine) system.Machine) func(system.System) system.System {
		return func(s system.System) system.System { return faulty{s, lie} }
	}
	simple := func(lie func(m system.Machine, l *liar)) func(system.System) system.System {
		return machines(func(m system.Machine) system.Machine {
			l := &liar{Machine: m}
			lie(m, l)
			return l
		})
	}
	pieces := func(lie func(m system.Pieces, l *liarPieces)) func(system.System) system.System {
		return machines(func(m system.Machine) system.Machine {
			p := m.Capabilities().Pieces
			l := &liarPieces{liar: &liar{Machine: m}, Pieces: p}
			lie(p, l)
			return l
		})
	}
	const toys, heaps = "toy", "heap"
	for _, tt := range []struct {
		rule string
		on   string
		lie  func(system.System) system.System
		want string
	}{
		{"an initial state", toys, func(s system.System) system.System {
			return wrongSystem{System: s, initial: func() []system.State { return nil }}
		}, "no initial state"},
		{"initial states differ", toys, func(s system.System) system.System {
			return wrongSystem{System: s, initial: func() []system.State {
				return append(s.Initial(), s.Initial()[0])
			}}
		}, "two initial states are equal"},
		{"a new machine is in the first", toys, machines(func(m system.Machine) system.Machine {
			moves(m)
			return m
		}), "a new machine is not in the first initial state"},
		{"load and encode", toys, simple(func(m system.Machine, l *liar) {
			l.load = func(s system.State) { m.Load(s); moves(m) }
		}), "changed when it was loaded"},
		{"undo", toys, simple(func(_ system.Machine, l *liar) { l.rewind = func(system.Mark) {} }),
			"the undo log does not restore the state"},
		{"undo of the hash", toys, simple(func(m system.Machine, l *liar) {
			rewound := uint64(0)
			l.load = func(s system.State) { rewound = 0; m.Load(s) }
			l.rewind = func(k system.Mark) { rewound++; m.Rewind(k) }
			l.hash = func() uint64 { return m.Hash() + rewound }
		}), "after undoing"},
		{"self-loops change nothing", toys, simple(func(m system.Machine, l *liar) {
			l.step = func(t int, alt uint64) system.Outcome {
				out := m.Step(t, alt)
				if out.Kind == system.Blocked {
					moves(m)
				}
				return out
			}
		}), "changes the state"},
		{"self-loops read", toys, simple(func(m system.Machine, l *liar) {
			blocked := false
			l.step = func(t int, alt uint64) system.Outcome {
				out := m.Step(t, alt)
				blocked = out.Kind == system.Blocked
				return out
			}
			l.accesses = func() []system.Access {
				as := slices.Clone(m.Accesses())
				for i := range as {
					as[i].Write = as[i].Write || blocked
				}
				return as
			}
		}), "the self-loop of a thread that is blocked writes"},
		{"tracking", toys, simple(func(m system.Machine, l *liar) {
			tracking := false
			l.track = func(on bool) { tracking = on }
			l.step = func(t int, alt uint64) system.Outcome {
				if !tracking {
					return system.Outcome{Kind: system.Blocked}
				}
				return m.Step(t, alt)
			}
		}), "without tracking"},
		{"writes are accesses", toys, simple(func(m system.Machine, l *liar) {
			l.accesses = func() []system.Access {
				return filtered(m, func(a system.Access) bool {
					return !a.Write
				})
			}
		}), "did not say so"},
		{"reads are accesses", toys, simple(func(m system.Machine, l *liar) {
			l.accesses = func() []system.Access {
				return filtered(m, func(a system.Access) bool {
					return a.Write
				})
			}
		}), "independent"},
		{"a write is not a read", toys, simple(func(m system.Machine, l *liar) {
			l.accesses = func() []system.Access {
				as := slices.Clone(m.Accesses())
				for i := range as {
					as[i].Write = false
				}
				return as
			}
		}), "did not say so"},
		{"stores of different numbers do not commute", toys,
			pieces(func(_ system.Pieces, l *liarPieces) {
				l.accesses = func() []system.Access {
					return operating(l.Machine, system.Store(0), system.Unlimited)
				}
			}), "independent"},
		{"what is not an addition does not commute with additions", toys,
			pieces(func(_ system.Pieces, l *liarPieces) {
				l.accesses = func() []system.Access {
					return operating(l.Machine, system.Addition(1), 9)
				}
			}), "independent"},
		{"independent transitions have the same hash", toys,
			simple(func(m system.Machine, l *liar) {
				last := 0
				l.load = func(s system.State) { last = 0; m.Load(s) }
				l.step = func(t int, alt uint64) system.Outcome {
					out := m.Step(t, alt)
					if out.Kind == system.Moved {
						last = t + 1
					}
					return out
				}
				l.rewind = func(k system.Mark) { last = 0; m.Rewind(k) }
				l.hash = func() uint64 { return m.Hash() + uint64(last) }
			}), "leads to the same state with the hash"},
		{"other local parts stay", toys, simple(func(m system.Machine, l *liar) {
			l.step = func(t int, alt uint64) system.Outcome {
				out := m.Step(t, alt)
				if n := m.NumThreads(); n > 1 && out.Kind == system.Moved {
					p := m.Capabilities().Pieces
					p.SetLocal((t+1)%n, p.Local(t, nil))
				}
				return out
			}
		}), "changed the local part"},
		{"pieces: what is asked for", toys, pieces(func(_ system.Pieces, l *liarPieces) {
			l.ask = func(v uint64) uint64 { return v ^ 1 }
		}), "on pieces"},
		{"pieces: local parts", toys, pieces(func(m system.Pieces, l *liarPieces) {
			asked := uint64(0)
			l.local = func(t int) []uint64 { asked++; return append(m.Local(t, nil), asked) }
		}), "local"},
		{"pieces: values", toys, pieces(func(m system.Pieces, l *liarPieces) {
			asked := uint64(0)
			l.value = func(l system.Loc) uint64 { asked++; return m.Value(l) + asked }
		}), " from "},
		{"locations mean the same in every order", heaps,
			machines(func(m system.Machine) system.Machine {
				return &byTouch{m, map[system.Loc]system.Loc{}}
			}), "accesses"},
		{"names mean the same in every order", heaps,
			machines(func(m system.Machine) system.Machine { return namesByMark{m} }),
			"when the state is loaded"},
		{"locations mean the same after a load", heaps,
			machines(func(m system.Machine) system.Machine { return forgetsRenaming{m} }),
			"when the state is loaded"},
		{"changes are named", heaps, machines(func(m system.Machine) system.Machine {
			return forgetsChanges{m}
		}), "is not among the words that have changed"},
		{"threads stay after a load", heaps, simple(func(m system.Machine, l *liar) {
			steps := 0
			l.load = func(s system.State) { steps = 0; m.Load(s) }
			l.step = func(t int, alt uint64) system.Outcome { steps++; return m.Step(t, alt) }
			l.threads = func() int { return m.NumThreads() - min(1, steps/40) }
		}), "threads"},
		{"threads wait for their creation", heaps, simple(func(m system.Machine, l *liar) {
			waits := false
			l.step = func(t int, alt uint64) system.Outcome {
				out := m.Step(t, alt)
				waits = out.Kind == system.Blocked && out.AtEnd
				return out
			}
			l.accesses = func() []system.Access {
				return filtered(m, func(system.Access) bool { return !waits })
			}
		}), "independent"},
		{"violations are the same in every order", toys, simple(func(m system.Machine, l *liar) {
			last := 0
			l.load = func(s system.State) { last = 0; m.Load(s) }
			l.rewind = func(k system.Mark) { last = 0; m.Rewind(k) }
			l.step = func(t int, alt uint64) system.Outcome {
				out := m.Step(t, alt)
				if out.Kind == system.Moved {
					if out.Violation == nil && t < last {
						out.Violation = &system.Violation{Kind: system.Assertion, Message: "order"}
					}
					last = t
				}
				return out
			}
		}), "but differs after it"},
		{"observers are blocked or violate", toys, func(s system.System) system.System {
			return observing{wrongSystem{System: s, observer: func(t int) bool { return true }}}
		}, "takes a step and violates nothing"},
		{"observers want pieces", toys, func(s system.System) system.System {
			return observing{wrongSystem{System: faulty{s, func(m system.Machine) system.Machine {
				return noPieces{m}
			}}, observer: func(t int) bool { return true }}}
		}, "offers no pieces"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			last := ""
			for seed := range uint64(100) {
				var sys system.System
				if tt.on == heaps {
					sys, _ = heap(t, seed, false)
				} else {
					var err error
					if sys, err = toysystem.New(toysystem.Random(rand.New(rand.NewPCG(seed, 1)),
						toysystem.Config{})); err != nil {
						t.Fatal(err)
					}
				}
				r := &report{TB: t}
				systemtest.Conform(r, tt.lie(sys), systemtest.Options{Seed: seed})
				if r.text != "" && strings.Contains(r.text, tt.want) {
					t.Log(strings.SplitN(r.text, "\n", 2)[0])
					return
				}
				last = cmp.Or(r.text, last)
			}
			t.Errorf("nothing is noticed; the last error: %s", last)
		})
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
			renaming := m.Capabilities().Renaming
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
		t.Errorf("%d threads that do not exist yet, %d renamed locations, %d that are garbage",
			gaps, renamed, garbage)
	}
}
