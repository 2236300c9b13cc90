package cartesian

import (
	"math"
	"slices"
	"sync"
	"testing"

	"cpor/engine/search"
	"cpor/system"
	toy "cpor/testkit/toysystem"
)

// TestMoves replays the moves of random programs: each leads to its end, in so
// many steps, none of which is a self-loop unless the move is nothing else.
func TestMoves(t *testing.T) {
	moves := 0
	for seed := range uint64(500) {
		p, sys := program(t, seed)
		m := sys.NewMachine()
		x := &explorer{limit: 100}
		x.onMove = func(from system.State, mv *search.Move) {
			moves++
			m.Load(from)
			for k, alt := 0, mv.Alt; k < mv.Len; k, alt = k+1, 0 {
				out := m.Step(mv.Thread, alt)
				if out.Kind != system.Moved && mv.Len > 1 {
					t.Fatalf("seed %d: a self-loop on a path of %d\n%v", seed, mv.Len, p)
				}
			}
			if mv.Infinite != (mv.End == nil) {
				t.Fatalf("seed %d: infinite is %v, the end %v", seed, mv.Infinite, mv.End)
			}
			if !mv.Infinite && !slices.Equal(mv.End, m.Encode(nil)) {
				t.Fatalf("seed %d: a move does not end where it says\n%v", seed, p)
			}
		}
		x.run(sys, New(sys, Options{}))
	}
	if moves < 10000 {
		t.Errorf("only %d moves", moves)
	}
}

// TestGenerations lets the stamps of the table and of the sets wrap around.
func TestGenerations(t *testing.T) {
	sys := build(t, sharedPtr(40))
	var want search.Counters
	for i, generation := range []uint32{0, math.MaxUint32 - 1, math.MaxUint32 - 20} {
		e := New(sys, Options{})
		(&explorer{limit: 10}).run(sys, e) // fills everything with early stamps
		before := e.counters
		if i > 0 {
			e.table.generation = generation
			for _, p := range append(slices.Clone(e.prefixes), e.spare...) {
				p.states.generation = generation
			}
		}
		(&explorer{}).run(sys, e)
		got := search.Counters{Transitions: e.counters.Transitions - before.Transitions,
			Attempts: e.counters.Attempts - before.Attempts}
		if i == 0 {
			want = got
		} else if got != want {
			t.Errorf("from generation %d: got %v, want %v", generation, got, want)
		}
	}
}

// TestWorkers lets several expanders of one system run at once, each with the
// same result.
func TestWorkers(t *testing.T) {
	sys := build(t, robots(2))
	var wg sync.WaitGroup
	var c [8]search.Counters
	for w := range c {
		wg.Go(func() {
			e := New(sys, Options{})
			(&explorer{}).run(sys, e)
			c[w] = e.Counters()
		})
	}
	wg.Wait()
	for w := range c {
		if c[w] != c[0] || c[w].Transitions == 0 {
			t.Errorf("worker %d: %v, worker 0: %v", w, c[w], c[0])
		}
	}
}

// TestCreationEndsThePrefix: the creator may not run on, for the child's first
// transition can come between.
func TestCreationEndsThePrefix(t *testing.T) {
	p := toy.NewProgram()
	p.MaxThreads = 2
	x := p.Scalar("x", 0)
	p.Thread("Parent", 0, toy.Atomic(), toy.Atomic(toy.Spawn("Child")),
		toy.Atomic(toy.Store(x, nil, num(1))), toy.Atomic(toy.Store(x, nil, num(2))))
	p.Thread("Child", 1, toy.Atomic(toy.Set(0, toy.Load(x, nil))))
	p.Start("Parent")
	sys := build(t, p)
	v := New(sys, Options{}).Vector(sys.Initial()[0])
	if got := len(v.Prefixes[0].Transitions); got != 2 || v.Prefixes[0].Infinite {
		t.Errorf("the prefix has %d transitions, infinite %v, want 2, false", got,
			v.Prefixes[0].Infinite)
	}
	want, _ := explore(sys, newFull(sys), 0)
	got, _ := explore(sys, New(sys, Options{}), 0)
	if len(want.Locals) != len(got.Locals) {
		t.Errorf("%d local states, want %d", len(got.Locals), len(want.Locals))
	}
}

// TestInfiniteLoops: a thread that loops alone, from its first transition or
// later, is infinite, and the search ends.
func TestInfiniteLoops(t *testing.T) {
	p := toy.NewProgram()
	x := p.Scalar("x", 0)
	p.Thread("Spin", 0, toy.Atomic(toy.Goto(0)))
	p.Thread("Lasso", 0, toy.Atomic(toy.Store(x, nil, num(1))),
		toy.Atomic(toy.Store(x, nil, num(2))), toy.Atomic(toy.Goto(0)))
	p.Thread("End", 0)
	for _, name := range []string{"Spin", "Lasso", "End"} {
		p.Start(name)
	}
	sys := build(t, p)
	v := New(sys, Options{}).Vector(sys.Initial()[0])
	want := []int{1, 4, 1}
	for i, q := range v.Prefixes {
		if len(q.Transitions) != want[i] || !q.Infinite {
			t.Errorf("thread %d: %d transitions, infinite %v, want %d, true", i, len(q.Transitions),
				q.Infinite, want[i])
		}
	}
}
