package cartesian

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"cpor/testkit/sample"

	"github.com/google/go-cmp/cmp"

	"cpor/engine/search"
	"cpor/system"
	toy "cpor/testkit/toysystem"
)

// mixes are the settings of the program generator; a seed's setting is chosen
// by its remainder.
var mixes = []toy.Config{
	{},
	{Observer: true},
	{NoSpawns: true, NoChoices: true, Nodes: 6},
	{NoSpawns: true, Threads: 2, Nodes: 8, Cells: 2},
	{Threads: 4, Nodes: 3, Cells: 2, Values: 2},
	{NoLoops: true, Nodes: 6, Observer: true},
	{NoBlocking: true, NoSpawns: true},
	{NoSpawns: true, Observer: true, Threads: 4, Nodes: 3, Values: 2, NoAsserts: true},
	{Threads: 2, Nodes: 4, Cells: 1, Values: 2},
	{NoAsserts: true, NoChoices: true, Cells: 1, Threads: 4, Nodes: 3},
}

// program makes the seed's program.
func program(tb testing.TB, seed uint64) (*toy.Program, system.System) {
	p := toy.Random(rand.New(rand.NewPCG(seed, 0x5eed)), mixes[seed%uint64(len(mixes))])
	return p, build(tb, p)
}

// findings are what theorem 1 says that every cartesian search preserves.
type findings struct {
	Locals     map[string]bool // thread and local part
	Violations map[system.Violation]bool
	Deadlocks  map[string]bool // states, without the observers' local parts
}

// whole is a machine with its pieces.
type whole interface {
	system.Machine
	system.Pieces
}

// finder collects the findings of a search.
type finder struct {
	m   whole
	obs system.Observers
	buf []uint64
	findings
}

func newFinder(sys system.System) *finder {
	f := &finder{m: sys.NewMachine().(whole), obs: system.ObserversOf(sys)}
	f.Locals, f.Deadlocks = map[string]bool{}, map[string]bool{}
	f.look()
	return f
}

// look notes the local states of all threads.
func (f *finder) look() {
	for t := range f.m.NumThreads() {
		f.buf = f.m.Local(t, f.buf)
		f.Locals[key(append(f.buf, uint64(t)))] = true
	}
}

func (f *finder) onMove(from system.State, m *search.Move) {
	f.m.Load(from)
	for k, alt := 0, m.Alt; k < m.Len; k, alt = k+1, 0 {
		f.m.Step(m.Thread, alt)
		f.look()
	}
}

func (f *finder) onDeadlock(from system.State, tail []search.Step) {
	f.m.Load(from)
	for _, s := range tail {
		if f.m.Step(s.Thread, s.Alt).Kind != system.Moved {
			panic("a deadlock's trace has a self-loop")
		}
	}
	f.obs.Reset(f.m)
	f.Deadlocks[key(f.m.Encode(nil))] = true
}

// explore runs a search; ok is false if it met the limit.
func explore(sys system.System, e search.Expander, limit int) (found *findings, ok bool) {
	f := newFinder(sys)
	x := &explorer{onMove: f.onMove, onDeadlock: f.onDeadlock, limit: limit}
	ok = x.run(sys, e)
	f.Violations = x.violations
	return &f.findings, ok
}

// oracle compares a full search of a program with cartesian ones. It returns
// "" if they agree. ok is false if the program is too large.
func oracle(tb testing.TB, seed uint64, options ...Options) (diff string, ok bool) {
	p, sys := program(tb, seed)
	want, ok := explore(sys, newFull(sys), 4000)
	if !ok {
		return "", false
	}
	for _, o := range options {
		got, _ := explore(sys, New(sys, o), 0)
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Sprintf("seed %d: full search (-) and cartesian (+) "+
				"differ:\n%s\n%v", seed, diff, p), true
		}
	}
	return "", true
}

// TestTheorem1 is the oracle of theorem 1 on random programs: the reachable
// local states of each thread, the violations (those of the observers'
// invariants included) and the deadlocks of a cartesian search are those of the
// full search. A million programs take about ten minutes on two cores:
//
//	go test ./cartesian -run Theorem1 -long -times 25 -timeout 1h
func TestTheorem1(t *testing.T) {
	programs := sample.Of[uint64](200, 400, 40_000)
	const parts = 4
	for part := range uint64(parts) {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			skipped := 0
			for seed := part; seed < programs; seed += parts {
				diff, ok := oracle(t, seed, Options{}, Options{MaxLength: int(seed%8) + 1})
				if diff != "" {
					t.Fatal(diff)
				}
				if !ok {
					skipped++
				}
			}
			if skipped > int(programs/parts/5) {
				t.Errorf("%d of %d programs were too large", skipped, programs/parts)
			}
		})
	}
}

// loses reports whether a search without the self-loops of ended threads loses local states of a
// program.
func loses(sys system.System) bool {
	want, ok := explore(sys, newFull(sys), 4000)
	if !ok {
		return false
	}
	got, _ := explore(sys, New(sys, Options{noEndedLoops: true}), 0)
	return !maps.Equal(want.Locals, got.Locals)
}

// TestOracleBites leaves out the self-loop of ended threads. The oracle must
// notice: on the smallest program, on pinned seeds (to be chosen again from the
// log when the generator changes), and by itself.
func TestOracleBites(t *testing.T) {
	p := toy.NewProgram()
	x := p.Scalar("x", 0)
	p.Thread("W", 0, toy.Atomic(toy.Store(x, nil, num(1))))
	p.Thread("R", 1, toy.Atomic(), toy.Atomic(toy.Set(0, toy.Load(x, nil))))
	p.Start("W")
	p.Start("R")
	if !loses(build(t, p)) {
		t.Errorf("nothing is lost in\n%v", p)
	}

	for _, seed := range []uint64{53, 512, 2566} {
		if p, sys := program(t, seed); !loses(sys) {
			t.Errorf("nothing is lost in pinned seed %d\n%v", seed, p)
		}
	}

	var lost []uint64
	const first = uint64(3000)
	last := first + 2000
	if testing.Short() {
		last = first + 300
	}
	for seed := first; seed < last; seed++ {
		if _, sys := program(t, seed); loses(sys) {
			lost = append(lost, seed)
		}
	}
	t.Logf("of %d programs %d lose local states: seeds %v", last-first, len(lost), lost)
	if len(lost) == 0 {
		t.Error("the oracle does not notice that the self-loops of ended threads are missing")
	}
}
