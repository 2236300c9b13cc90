package lockset_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"cpor/testkit/sample"

	"cpor/engine"
	"cpor/engine/lockset"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/engine/stateless"
	"cpor/frontend/model"
	"cpor/system"
	"cpor/testkit/oracle"
)

// breaking returns the variables that break a discipline.
func breaking(vs []engine.Finding) string {
	found := map[string]bool{}
	for _, v := range vs {
		if v.Kind == lockset.Discipline {
			found[v.Object] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), " ")
}

// inState searches all interleavings with the histories in the states.
func inState(t *testing.T, sys system.System, o lockset.Options, most uint64) (found string,
	ok bool) {
	t.Helper()
	wrapped, err := lockset.New(sys, o)
	if err != nil {
		t.Fatal(err)
	}
	res, err := search.Run(context.Background(), wrapped, full.Factory(wrapped), search.Options{
		Options: engine.Options{Workers: 1, All: true, IgnoreDeadlocks: true, KeepTraces: true,
			MaxViolations: 1 << 20, MaxStates: most}})
	if err != nil {
		t.Fatal(err)
	}
	return breaking(res.Violations), res.Exhaustive
}

// A guard that reads x only while a is true: whether it ever does depends on the
// order of steps that have no location in common.
const guardReadsInBetween = `
comm var a, go1 bool
var x int8
mutex m
thread Setter() { a = true; a = false }
thread Waiter() { skip; await(a && x == 7) }
thread Writer() { lock(m); x = 1; unlock(m) }
init { go Setter(); go Waiter(); go Writer() }
`

// TestStatelessDisciplines holds LD and LD' in stateless searches, with every
// reduction, to all interleavings: the same variables break them.
func TestStatelessDisciplines(t *testing.T) {
	configs := []oracle.LockConfig{
		{Threads: 3, Statements: 3, Conditions: true, Semaphores: true, Awaits: true, Choices: true,
			Creation: true, Atomic: true, Breach: 4},
		{Threads: 3, Statements: 3, Awaits: true, Breach: 5},
		{Threads: 2, Statements: 4, Awaits: true, Atomic: true, Breach: 5},
	}
	n := sample.Of(20, 20, 300)
	broken, kept := 0, 0
	for seed := -1; seed < n; seed++ {
		text := guardReadsInBetween
		if seed >= 0 {
			text = oracle.GenerateLocks(uint64(seed), configs[seed%len(configs)])
		}
		m, err := model.Parse("t.model", text, model.Options{})
		if err != nil {
			if strings.Contains(err.Error(), "init") {
				continue
			}
			t.Fatal(err)
		}
		for _, rule := range []lockset.Rule{lockset.LD, lockset.LDPrime} {
			o := lockset.Options{Rule: rule}
			if rule == lockset.LDPrime && seed%4 == 3 {
				o.InitThread = map[string]string{"x": "T0[0]"}
			}
			want, ok := inState(t, m.System(), o, 2000)
			if !ok {
				continue
			}
			if want != "" {
				broken++
			} else {
				kept++
			}
			o.Dependences = true
			sys, err := lockset.New(m.System(), o)
			if err != nil {
				t.Fatal(err)
			}
			for _, red := range statelessReductions {
				for _, workers := range []int{1, 3} {
					res, err := stateless.Run(context.Background(), sys, stateless.Options{
						Options: engine.Options{Workers: workers, All: true, IgnoreDeadlocks: true,
							KeepTraces: true, MaxViolations: 1 << 20, MaxTransitions: 20_000},
						Reduction: red})
					if err != nil {
						t.Fatalf("seed %d, %v, %v: %v\n%s", seed, rule, red, err, text)
					}
					if !res.Exhaustive {
						continue // cyclic, or too large
					}
					if got := breaking(res.Violations); got != want {
						t.Fatalf("seed %d: %v, %v, %d workers: %q break the rule, want %q\n%s",
							seed, rule, red, workers, got, want, text)
					}
				}
			}
		}
	}
	t.Logf("%d checks broke a rule, %d kept it", broken, kept)
	if broken < n/5 || kept < n/5 {
		t.Error("the generator does not test much")
	}
}
