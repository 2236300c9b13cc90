package stateless

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"cpor/testkit/sample"

	"cpor/engine"
	"cpor/system"
	toy "cpor/testkit/toysystem"
)

// hardModels returns the models of testdata/hard.models.
func hardModels(t *testing.T) (models []struct {
	name, text                    string
	traces, violations, deadlocks int
}) {
	t.Helper()
	b, err := os.ReadFile("testdata/hard.models")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "\n-- ")
	for _, part := range strings.Split(rest, "\n-- ") {
		head, text, ok := strings.Cut(part, " --\n")
		models = append(models, struct {
			name, text                    string
			traces, violations, deadlocks int
		}{text: text})
		m := &models[len(models)-1]
		if n, err := fmt.Sscan(head, &m.name, &m.traces, &m.violations, &m.deadlocks); !ok ||
			n != 4 {
			t.Fatalf("%q: %v", head, err)
		}
	}
	return models
}

// TestHardModels holds every reduction to brute force on models that reductions
// were wrong about, in every order of creation.
func TestHardModels(t *testing.T) {
	for _, m := range hardModels(t) {
		t.Run(m.name, func(t *testing.T) {
			head, threads, ok := strings.Cut(m.text, "init { ")
			if !ok {
				t.Fatal("no init")
			}
			threads, _, _ = strings.Cut(threads, " }")
			permutations(strings.Split(threads, "; "), func(order []string) {
				text := head + "init { " + strings.Join(order, "; ") + " }\n"
				sys, err := parse(text)
				if err != nil {
					t.Fatal(err)
				}
				want, ok, broken := bruteForce(sys, 100_000)
				if !ok || broken != "" {
					t.Fatalf("%s\n%s", broken, text)
				}
				if len(want.maximal) != m.traces || len(want.violations) != m.violations ||
					len(want.deadlocks) != m.deadlocks {
					t.Errorf("%d traces, %d violations, %d deadlocks; want %d, %d, %d\n%s",
						len(want.maximal), len(want.violations), len(want.deadlocks), m.traces,
						m.violations, m.deadlocks, text)
				}
				if diff := compare(sys, want); diff != "" {
					t.Errorf("%s\n%s", diff, text)
				}
			})
		})
	}
}

// permutations calls f with every order of xs.
func permutations(xs []string, f func([]string)) {
	var from func(k int)
	from = func(k int) {
		if k == len(xs) {
			f(xs)
			return
		}
		for i := k; i < len(xs); i++ {
			xs[k], xs[i] = xs[i], xs[k]
			from(k + 1)
			xs[k], xs[i] = xs[i], xs[k]
		}
	}
	from(0)
}

// TestManyWorkers explores trees that many workers share, in which branches end
// and are taken over all the time. The number of executions must be that of the
// traces for every number of workers.
func TestManyWorkers(t *testing.T) {
	models := []struct {
		name, text string
		executions uint64
	}{
		{"stores", `
var x [2]int
thread T(i int) { x[0] = i; x[i & 1] = i; x[1] = i }
init { go T(0); go T(1); go T(2); go T(3) }`, 32400},
		{"conditions", `
comm var x, y uint2
thread T(i uint2) { atomic { if x != i { y = i } }; atomic { await(x == 0 || y != i); x = i } }
init { go T(0); go T(1); go T(2) }`, 0},
	}
	rounds := 1
	if sample.Race {
		rounds = 2
	}
	for _, m := range models {
		sys, err := parse(m.text)
		if err != nil {
			t.Fatal(err)
		}
		want := m.executions
		for _, red := range []Reduction{DPOR, Sleep, PersistentSleep} {
			for _, workers := range []int{1, 8, 64} {
				for range rounds {
					if sample.Race && workers == 1 {
						continue
					}
					res := explore(t, sys,
						Options{Options: engine.Options{Workers: workers, IgnoreDeadlocks: true},
							Reduction: red})
					if want == 0 {
						want = res.Executions
					}
					if res.Executions != want && red != PersistentSleep || !res.Exhaustive ||
						red == DPOR && res.BlockedExecutions > 0 {
						t.Errorf("%s, %v, %d workers: %d executions, want %d; %d blocked; %s",
							m.name, red, workers, res.Executions, want, res.BlockedExecutions,
							res.Reason)
					}
				}
			}
		}
	}
}

// TestInterrupted stops searches with many workers, most of which wait for
// work.
func TestInterrupted(t *testing.T) {
	sys, err := parse(`
comm var x uint8
thread T() { for i := 0; i < 30; i++ { x = x } }
init { go T(); go T(); go T() }`)
	if err != nil {
		t.Fatal(err)
	}
	for _, red := range []Reduction{DPOR, Sleep, None} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		res, err := Run(ctx, sys, Options{Options: engine.Options{Workers: 64}, Reduction: red})
		cancel()
		if err != nil || res.Exhaustive || res.Verdict != engine.Incomplete {
			t.Errorf("%v: %+v, %v", red, res, err)
		}
	}
}

// TestBounds holds the reductions that go with a bound to brute force: every
// violation and deadlock that can be reached within the bound is found, and no
// other.
func TestBounds(t *testing.T) {
	for seed := range uint64(programs(200)) {
		text := generate(seed + 1)
		sys, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, bound := range []int{1, 2, 3, 5} {
			want := map[string]bool{}
			m := sys.NewMachine()
			obs := system.ObserversOf(sys)
			var visit func(depth int)
			visit = func(depth int) {
				moved, stuck := false, false
				for _, mv := range moves(&obs, m) {
					stuck = stuck || mv.stuck
					for _, alt := range mv.alts {
						moved = true
						if depth == bound {
							continue
						}
						mark := m.Mark()
						for v := m.Step(mv.thread, alt).Violation; v != nil; v = v.Also {
							want[fmt.Sprint(v.Kind, v.Pos, v.Object)] = true
						}
						visit(depth + 1)
						m.Rewind(mark)
					}
				}
				if !moved && stuck {
					want[deadlockKey(sys, m)] = true
				}
			}
			visit(0)
			for _, red := range []Reduction{None, Sleep} {
				for _, deepen := range []bool{false, true} {
					res := explore(t, sys,
						Options{Options: engine.Options{MaxDepth: bound, Workers: 1, All: true,
							MaxViolations: 1 << 20, KeepTraces: true}, Reduction: red,
							Deepen: deepen, FirstDepth: 1})
					got := map[string]bool{}
					for _, v := range res.Violations {
						if v.Kind != system.Deadlock {
							got[fmt.Sprint(v.Kind, v.Pos, v.Object)] = true
							continue
						}
						m := sys.NewMachine()
						m.Load(sys.Initial()[0])
						for _, s := range v.Trace.Steps {
							m.Step(s.Thread, s.Alt)
						}
						got[deadlockKey(sys, m)] = true
					}
					if d := differ(want, got); d != "" {
						t.Fatalf("seed %d, %v, bound %d: %s\n%s", seed+1, red, bound, d, text)
					}
				}
			}
		}
	}
}

// TestBoundsRefused checks that a bound is refused where it would hide.
func TestBoundsRefused(t *testing.T) {
	sys := load(t, "lastzero", "N=3")
	for _, o := range []Options{
		{Options: engine.Options{MaxDepth: 9}, Reduction: DPOR}, {Reduction: DPOR, Deepen: true},
		{Options: engine.Options{MaxDepth: 9}, Reduction: Persistent},
		{Reduction: PersistentSleep, Deepen: true}, {Options: engine.Options{MaxDepth: 9},
			Reduction: Sleep, InvisibleFirst: true},
	} {
		if _, err := Run(t.Context(), sys, o); err == nil || !strings.Contains(err.Error(),
			"bound") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestObserverAnywhere has an observer between and behind the other threads: what
// became of it must not tell deadlocks apart.
func TestObserverAnywhere(t *testing.T) {
	for place := range 3 {
		p := toy.NewProgram()
		x := p.Scalar("x", 0)
		p.Thread("A", 0, toy.Atomic(toy.Store(x, nil, toy.Const(1))),
			toy.Atomic(toy.Store(x, nil, toy.Const(0))), toy.Await(toy.Load(x, nil)))
		p.Thread("B", 0, toy.Await(toy.Bin("==", toy.Load(x, nil), toy.Const(2))))
		p.Invariant("inv", toy.Bin("!=", toy.Load(x, nil), toy.Const(1)))
		for i, name := range []string{"A", "B"} {
			if i == place {
				p.Start("inv")
			}
			p.Start(name)
		}
		if place == 2 {
			p.Start("inv")
		}
		sys, err := toy.New(p)
		if err != nil {
			t.Fatal(err)
		}
		for red := range Reduction(len(reductionNames)) {
			res := explore(t, sys, Options{Options: engine.Options{Workers: 1, All: true},
				Reduction: red})
			kinds := map[system.ViolationKind]int{}
			for _, v := range res.Violations {
				kinds[v.Kind]++
			}
			if len(res.Violations) != 2 || kinds[system.Deadlock] != 1 ||
				kinds[system.Invariant] != 1 {
				t.Errorf("observer at %d, %v: %+v", place, red, res.Violations)
			}
		}
	}
}
