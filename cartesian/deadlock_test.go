package cartesian

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cpor/engine/search"
	"cpor/system"
	toy "cpor/testkit/toysystem"
)

// collector counts what an expansion reports.
type collector struct {
	null
	deadlocks [][]search.Step
}

func (c *collector) Violation(v *system.Violation, tail []search.Step) {
	if v.Kind == system.Deadlock {
		c.deadlocks = append(c.deadlocks, append([]search.Step{}, tail...))
	}
}

// twoWays is a program whose threads each choose one of two ways and then meet
// the last node.
func twoWays(threads int, last func(i int) toy.Node) *toy.Program {
	p := toy.NewProgram()
	for i := range threads {
		name := string(rune('A' + i))
		p.Thread(name, 1, toy.Choose(0, 0, 1), last(i))
		p.Start(name)
	}
	return p
}

// TestDeadlockCombinations counts the deadlocks of one vector with choices, and
// shows that the search for them goes only where there are some: it would not
// end otherwise.
func TestDeadlockCombinations(t *testing.T) {
	never := toy.Await(num(0))
	atEnd := toy.Node{Cases: never.Cases, AtEnd: true}
	only0 := toy.Await(toy.Not(reg(0))) // blocked after choosing 1
	ends := toy.Atomic()
	for _, tt := range []struct {
		name    string
		threads int
		last    func(i int) toy.Node
		max     int
		want    int
	}{
		{"all blocked", 8, func(int) toy.Node { return never }, 0, 256},
		{"all blocked, some are enough", 24, func(int) toy.Node { return never }, 5, 5},
		{"all end", 24, func(int) toy.Node { return ends }, 0, 0},
		{"all blocked at their end", 24, func(int) toy.Node { return atEnd }, 0, 0},
		{"one way of the first is blocked", 6, func(i int) toy.Node {
			if i == 0 {
				return only0
			}
			return atEnd
		}, 0, 32},
		{"one way of the last is blocked", 24, func(i int) toy.Node {
			if i == 23 {
				return only0
			}
			return ends
		}, 3, 3},
		{"one goes on forever", 24, func(i int) toy.Node {
			if i == 23 {
				return toy.Atomic(toy.Goto(1))
			}
			return never
		}, 0, 0},
	} {
		sys := build(t, twoWays(tt.threads, tt.last))
		var c collector
		New(sys, Options{MaxDeadlocks: tt.max, Check: func(err error) {
			t.Errorf("%s: %v", tt.name, err)
		}}).Expand(sys.Initial()[0], &c)
		if len(c.deadlocks) != tt.want {
			t.Errorf("%s: got %d deadlocks, want %d", tt.name, len(c.deadlocks), tt.want)
		}
		var none collector
		New(sys, Options{IgnoreDeadlocks: true}).Expand(sys.Initial()[0], &none)
		if len(none.deadlocks) != 0 {
			t.Errorf("%s: deadlocks are reported although they are ignored", tt.name)
		}
	}
}

// TestObserverDoesNotVeto: the observer reads x, which the only thread has
// written before it is blocked forever. The deadlock is found whether the
// invariant holds or is violated, and also where the observer has ended.
func TestObserverDoesNotVeto(t *testing.T) {
	for _, tt := range []struct{ start, below int64 }{
		{0, 9}, // the invariant holds
		{0, 1}, // T violates it
		{1, 1}, // it is violated from the start
	} {
		p := toy.NewProgram()
		x := p.Scalar("x", tt.start)
		holds := toy.Bin("<", toy.Load(x, nil), num(tt.below))
		p.Thread("T", 0, toy.Atomic(toy.Store(x, nil, num(1))),
			toy.Await(toy.Bin("==", toy.Load(x, nil), num(7))))
		p.Invariant("inv", holds)
		p.Start("T")
		p.Start("inv")
		sys := build(t, p)
		want, _ := explore(sys, newFull(sys), 0)
		got, _ := explore(sys, New(sys, Options{}), 0)
		if diff := cmp.Diff(want, got); diff != "" || len(got.Deadlocks) != 1 {
			t.Errorf("full (-) and cartesian (+) differ:\n%s\n%v", diff, p)
		}
	}
}

// TestObserverHidesNoDeadlock compares the deadlocks of random programs
// without an observer with those that a cartesian search of the same programs
// with an observer finds.
func TestObserverHidesNoDeadlock(t *testing.T) {
	deadlocks, seeds, enough := 0, uint64(1500), 300
	if testing.Short() {
		seeds, enough = 400, 80
	}
	for seed := range seeds {
		// The generator draws the observer last, so the programs are equal
		// but for it; without creation its record is the last one.
		mix := toy.Config{NoSpawns: true, Threads: 3, Nodes: 4, Values: 2}
		bare := build(t, toy.Random(rand.New(rand.NewPCG(seed, 3)), mix))
		mix.Observer = true
		p := toy.Random(rand.New(rand.NewPCG(seed, 3)), mix)
		observed := build(t, p)
		want, ok := explore(bare, newFull(bare), 2000)
		if !ok {
			continue
		}
		got, _ := explore(observed, New(observed, Options{}), 0)
		cut := len(bare.Initial()[0])
		stripped := map[string]bool{}
		for k := range got.Deadlocks {
			stripped[k[8:8*cut]] = true // without the number of threads
		}
		expected := map[string]bool{}
		for k := range want.Deadlocks {
			expected[k[8:]] = true
		}
		deadlocks += len(expected)
		if diff := cmp.Diff(expected, stripped); diff != "" {
			t.Fatalf("seed %d: without observer (-) and with (+):\n%s\n%v", seed, diff, p)
		}
	}
	if deadlocks < enough {
		t.Errorf("only %d deadlocks", deadlocks)
	}
}
