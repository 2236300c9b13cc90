package cartesian

import (
	"testing"

	toy "cpor/testkit/toysystem"
)

// TestReferenceCounts compares the searches of the paper's benchmarks with the
// counts of a reference implementation of CalcCV; the full columns agree with
// the paper's Table 1. For sharedarray and sharedptr those counts include the
// self-loops of ended threads.
func TestReferenceCounts(t *testing.T) {
	type full struct{ states, transitions uint64 }
	type cart struct{ states, transitions, attempts uint64 }
	for _, tt := range []struct {
		name  string
		p     *toy.Program
		ended bool // the counts include the self-loops of ended threads
		full  full // zero: too long for an ordinary test
		cart  cart
	}{
		{"robots R=2", robots(2), false, full{4877, 9754}, cart{96, 3477, 3535}},
		{"robots R=3", robots(3), false, full{}, cart{96, 9909, 9967}},
		{"sharedarray", sharedArray(64), true, full{2276, 4552}, cart{132, 1448, 1450}},
		{"sharedptr", sharedPtr(100), true, full{32131, 64262}, cart{418, 12154, 12161}},
		{"indexer N=2", indexer(2), false, full{25, 40}, cart{1, 8, 8}},
		{"indexer N=8", indexer(8), false, full{}, cart{1, 32, 32}},
		{"indexer N=12", indexer(12), false, full{}, cart{9, 390, 394}},
		{"indexer N=13", indexer(13), false, full{}, cart{81, 3456, 3528}},
		{"indexer N=14", indexer(14), false, full{}, cart{729, 30618, 31590}},
		{"filesystem N=2", fileSystem(2), false, full{81, 144}, cart{1, 16, 16}},
		{"filesystem N=6", fileSystem(6), false, full{}, cart{1, 48, 48}},
		{"filesystem N=14", fileSystem(14), false, full{}, cart{5, 524, 524}},
		{"filesystem N=15", fileSystem(15), false, full{}, cart{25, 2640, 2640}},
		{"filesystem N=16", fileSystem(16), false, full{}, cart{125, 13300, 13300}},
		{"filesystem N=17", fileSystem(17), false, full{}, cart{625, 67000, 67000}},
		{"philosophers N=2", philosophers(2), false, full{10, 20}, cart{10, 24, 25}},
		{"philosophers N=3", philosophers(3), false, full{35, 105}, cart{35, 145, 153}},
		{"philosophers N=5", philosophers(5), false, full{392, 1960}, cart{392, 2666, 2868}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sys := build(t, tt.p)
			x := &explorer{}
			if tt.full.states > 0 {
				f := newFull(sys)
				x.run(sys, f)
				got := full{uint64(len(x.covered)), f.c.Transitions}
				if tt.ended {
					got.transitions += f.c.EndedLoops
				}
				if got != tt.full {
					t.Errorf("full search: got %v, want %v", got, tt.full)
				}
			}
			e := New(sys, Options{})
			x.run(sys, e)
			got := cart{uint64(len(x.covered)), e.counters.Transitions, e.counters.Attempts}
			if tt.ended {
				got.transitions += e.counters.EndedLoops
				got.attempts += e.counters.EndedLoops
			}
			if got != tt.cart {
				t.Errorf("cartesian search: got %v, want %v", got, tt.cart)
			}
			if len(x.violations) > 0 {
				t.Errorf("violations: %v", x.violations)
			}
		})
	}
}

// TestDeadlockOfPhilosophers counts the deadlocks of the philosophers: all
// have taken their left fork.
func TestDeadlockOfPhilosophers(t *testing.T) {
	sys := build(t, philosophers(5))
	found, _ := explore(sys, New(sys, Options{}), 0)
	if len(found.Deadlocks) != 1 {
		t.Errorf("got %d deadlocks, want 1", len(found.Deadlocks))
	}
}
