package stateless

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cpor/engine"
	"cpor/engine/lockset"
	"cpor/engine/search/composed"
	"cpor/engine/search/full"
	"cpor/frontend/model"
	"cpor/system"
	"cpor/testkit/oracle"
)

var lockConfigs = []oracle.LockConfig{
	{Threads: 3, Statements: 3, Conditions: true, Semaphores: true, Awaits: true, Choices: true,
		Creation: true, Atomic: true},
	{Threads: 3, Statements: 3, Conditions: true, Semaphores: true, Awaits: true, Choices: true,
		Creation: true, Atomic: true, Breach: 6},
	{Threads: 3, Statements: 3, Conditions: true},
	{Threads: 3, Statements: 3, Breach: 6},
	{Threads: 2, Statements: 5, Conditions: true, Semaphores: true},
	{Threads: 2, Statements: 5, Semaphores: true, Awaits: true, Breach: 5},
	{Threads: 3, Statements: 2, Counts: true, Awaits: true},
	{Threads: 3, Statements: 3, Counts: true, Semaphores: true, Atomic: true},
	{Threads: 3, Statements: 3, Counts: true, Conditions: true, Choices: true, Breach: 8},
}

// lockVariants are the ways to search a lock-based system without stored
// states, which all have to agree with the full search.
func lockVariants() []variant {
	vs := variants(&traces{})
	for _, red := range []Reduction{None, Sleep, Persistent, PersistentSleep} {
		for _, workers := range []int{1, 3} {
			vs = append(vs, variant{
				Options{Options: engine.Options{Workers: workers, All: true, MaxViolations: 1 << 20,
					KeepTraces: true}, Reduction: red, InvisibleFirst: true},
				fmt.Sprintf("invisible first, %v, %d workers", red, workers)})
		}
	}
	for _, red := range []Reduction{None, Sleep, Persistent, PersistentSleep, DPOR} {
		for _, workers := range []int{1, 3} {
			vs = append(vs, variant{
				Options{Options: engine.Options{Workers: workers, All: true, MaxViolations: 1 << 20,
					KeepTraces: true}, Reduction: red, Composed: true},
				fmt.Sprintf("composed, %v, %d workers", red, workers)})
		}
	}
	return vs
}

// outcome is what the searches of a lock-based system must agree on: control
// points are told by the assertions and errors there.
type outcome struct {
	discipline bool // it is violated
	violations map[string]bool
	deadlocks  map[string]bool
}

func outcomeOf(sys system.System, res *Result) outcome {
	o := outcome{violations: map[string]bool{}, deadlocks: map[string]bool{}}
	for _, v := range res.Violations {
		switch v.Kind {
		case lockset.Discipline:
			o.discipline = true
		case system.Deadlock:
			m := sys.NewMachine()
			m.Load(sys.Initial()[v.Trace.Initial])
			for _, s := range v.Trace.Steps {
				m.Step(s.Thread, s.Alt)
			}
			o.deadlocks[fmt.Sprint(system.Bare(sys, m.Encode(nil)))] = true
		default:
			o.violations[fmt.Sprintf("%s at %d:%d", v.Kind, v.Pos.Line, v.Pos.Col)] = true
		}
	}
	return o
}

// agree compares the stateless searches with the full search of a system that
// checks LD'. Where the discipline is violated, all must find that out.
func agree(sys system.System) (diff string, ok bool) {
	if _, _, ok := interleavings(sys, 400); !ok {
		return "", false
	}
	reach, res, err := oracle.Explore(sys, full.Factory(sys), 1, 100_000)
	if err != nil || !res.Exhaustive {
		return fmt.Sprintf("full search: %v %s", err, res.Reason), true
	}
	want := outcome{violations: map[string]bool{}, deadlocks: reach.Deadlocks}
	for v := range reach.Violations {
		if strings.HasPrefix(v, string(lockset.Discipline)) {
			want.discipline = true
		} else {
			want.violations[v] = true
		}
	}
	for _, v := range lockVariants() {
		res, err := Run(context.Background(), sys, v.Options)
		if err != nil {
			return fmt.Sprintf("%s: %v", v.name, err), true
		}
		got := outcomeOf(sys, res)
		if !res.Exhaustive || got.discipline != want.discipline {
			return fmt.Sprintf("%s: exhaustive %v, the discipline is violated: %v, want %v", v.name,
				res.Exhaustive, got.discipline, want.discipline), true
		}
		if want.discipline {
			continue
		}
		if d := differ(want.violations, got.violations); d != "" {
			return fmt.Sprintf("%s: violations: %s", v.name, d), true
		}
		if d := differ(want.deadlocks, got.deadlocks); d != "" {
			return fmt.Sprintf("%s: deadlocks: %s", v.name, d), true
		}
	}
	return "", true
}

// TestLockPrograms holds SSS with each reduction, IF-SSS and DPOR to the full
// search on random acyclic lock-based models (Stoller 2002, theorems 1, 3, 8).
func TestLockPrograms(t *testing.T) {
	n := programs(300)
	compared := 0
	for seed := *from + 1; compared < n; seed++ {
		text := oracle.GenerateLocks(seed, lockConfigs[seed%uint64(len(lockConfigs))])
		inner, err := parse(text)
		if err != nil && strings.Contains(err.Error(), "init") {
			continue // init violates something
		}
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		sys, err := lockset.New(inner, lockset.Options{Rule: lockset.LDPrime,
			Dependences: seed%4 > 0})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		diff, ok := agree(sys)
		if diff != "" {
			t.Fatalf("seed %d: %s\n%s", seed, diff, text)
		}
		if ok {
			compared++
		}
	}
}

// TestEraserMisses is the paper's example (Stoller 2002, section 7) of a
// violation that LD' finds in an invisible-first search, and LD does not.
func TestEraserMisses(t *testing.T) {
	m, err := model.Parse("eraser.model", `
comm var turn bool
var o mutex
var v uint8

thread Setter() {
	turn = true
	v = 1
}

thread Locker() {
	await(turn)
	lock(o)
	v = 2
	unlock(o)
}

init {
	go Setter()
	go Locker()
}
`, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for rule, want := range map[lockset.Rule]bool{lockset.LD: false, lockset.LDPrime: true} {
		sys, err := lockset.New(m.System(), lockset.Options{Rule: rule})
		if err != nil {
			t.Fatal(err)
		}
		for _, red := range []Reduction{None, Sleep, Persistent, PersistentSleep} {
			res := explore(t, sys, Options{Options: engine.Options{All: true}, Reduction: red,
				InvisibleFirst: true})
			if got := outcomeOf(sys, res).discipline; got != want {
				t.Errorf("%v, %v: violated %v, want %v", rule, red, got, want)
			}
		}
	}
}

// TestInvisibleFirstReduces compares the executions that are explored.
func TestInvisibleFirstReduces(t *testing.T) {
	m, err := model.Parse("test.model", `
const N = 3
var m [2]mutex
var x [2]uint8
thread T(i int) {
	lock(m[i%2])
	x[i%2]++
	x[i%2]++
	unlock(m[i%2])
}
init { for i := 0; i < N; i++ { go T(i) } }
`, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sys, err := lockset.New(m.System(), lockset.Options{Rule: lockset.LDPrime})
	if err != nil {
		t.Fatal(err)
	}
	every := explore(t, sys, Options{Options: engine.Options{Workers: 1}, Reduction: None})
	first := explore(t, sys, Options{Options: engine.Options{Workers: 1}, Reduction: None,
		InvisibleFirst: true})
	best := explore(t, sys, Options{Options: engine.Options{Workers: 1}, Reduction: PersistentSleep,
		InvisibleFirst: true})
	if every.Verdict != engine.Pass || first.Verdict != engine.Pass || best.Verdict != engine.Pass {
		t.Fatalf("%s %s %s", every.Verdict, first.Verdict, best.Verdict)
	}
	// Whole critical sections interleave: 3! orders; what matters is who of
	// the two threads with the same lock comes first.
	if first.Executions != 6 || every.Executions < 100*first.Executions || best.Executions != 2 {
		t.Errorf("%d executions, invisible first %d, with persistent and sleep sets %d",
			every.Executions, first.Executions, best.Executions)
	}
}

// TestOptionErrors tries options that make no sense.
func TestOptionErrors(t *testing.T) {
	sys := load(t, "increments", "N=2")
	observed, err := model.Parse("test.model", "var x bool\nthread T() { x = true }\ninvariant i "+
		"{ !x || x }\ninit { go T() }", model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		sys  system.System
		o    Options
		want string
	}{
		{sys, Options{Options: engine.Options{Workers: -1}}, "-1 workers"},
		{sys, Options{Options: engine.Options{Workers: 1 << 20}}, "workers"},
		{sys, Options{Reduction: 77}, "reduction 77"},
		{sys, Options{Undo: 7}, "invalid undo mode 7"},
		{sys, Options{Options: engine.Options{MaxDepth: -3}}, "bound on the depth is negative"},
		{sys, Options{FirstDepth: -3}, "bound on the depth is negative"},
		{sys, Options{InvisibleFirst: true, Reduction: DPOR}, "no dynamic reduction"},
		{sys, Options{InvisibleFirst: true, Composed: true}, "not both"},
		{observed.System(), Options{Composed: true}, composed.ErrObservers.Error()},
		{observed.System(), Options{InvisibleFirst: true}, composed.ErrObservers.Error()},
	}
	for _, tt := range tests {
		res, err := Run(context.Background(), tt.sys, tt.o)
		if _, ok := err.(*engine.OptionError); !ok || res != nil || !strings.Contains(err.Error(),
			tt.want) {
			t.Errorf("%+v: %v, want %q", tt.o, err, tt.want)
		}
	}
}

// TestComposedReduces is the paper's comparison (Stoller 2002, section 5.3):
// threads that read what one lock protects. Single transitions that take the lock
// are dependent, so that invisible-first search explores every order of N
// critical sections; composed ones leave the lock as it was, and are independent.
func TestComposedReduces(t *testing.T) {
	const text = `
const N = 5
var m mutex
var x uint8
thread T() {
	lock(m)
	v := x
	unlock(m)
	_ = v
}
thread W() {
	lock(m)
	x = 1
	unlock(m)
}
`
	tests := []struct {
		init               string
		composed, explored uint64 // executions
	}{
		{"for range N { go T() }", 1, 120},
		// Who reads before the writer: 2^5. The others' order is free.
		{"go W(); for range N { go T() }", 32, 720},
	}
	for _, tt := range tests {
		m, err := model.Parse("test.model", text+"init { "+tt.init+" }", model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		sys, err := lockset.New(m.System(), lockset.Options{Rule: lockset.LDPrime,
			Dependences: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, red := range []Reduction{Sleep, PersistentSleep, DPOR} {
			for _, workers := range []int{1, 3} {
				res := explore(t, sys, Options{Options: engine.Options{Workers: workers},
					Reduction: red, Composed: true})
				if res.Verdict != engine.Pass || res.Executions != tt.composed {
					t.Errorf("%s, %v, %d workers: %s, %d executions, want %d", tt.init, red,
						workers, res.Verdict, res.Executions, tt.composed)
				}
			}
		}
		for _, red := range []Reduction{Sleep, PersistentSleep} {
			res := explore(t, sys, Options{Reduction: red, InvisibleFirst: true})
			if res.Verdict != engine.Pass || res.Executions != tt.explored {
				t.Errorf("%s, %v, invisible first: %s, %d executions, want %d", tt.init, red,
					res.Verdict, res.Executions, tt.explored)
			}
		}
	}
}

// TestComposedTraces makes sure that traces are in single transitions, and end
// where the property is violated, in the middle of a composed one as well.
func TestComposedTraces(t *testing.T) {
	m, err := model.Parse("test.model", `
var m mutex
var x uint8
thread T() {
	lock(m)
	x = 1
	assert(x == 2)
	x = 3
	unlock(m)
}
init { go T(); go T() }
`, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sys, err := lockset.New(m.System(), lockset.Options{Rule: lockset.LDPrime, Dependences: true})
	if err != nil {
		t.Fatal(err)
	}
	res := explore(t, sys, Options{Options: engine.Options{All: true}, Reduction: DPOR,
		Composed: true})
	var kinds []system.ViolationKind
	for _, v := range res.Violations {
		kinds = append(kinds, v.Kind)
		if err := v.Trace.Replay(sys); err != nil {
			t.Error(err)
		}
		if v.Kind == system.Assertion && len(v.Trace.Steps) != 3 {
			t.Errorf("%d steps: %v", len(v.Trace.Steps), v.Trace.Steps)
		}
	}
	// Whoever fails keeps the lock.
	if !slices.Contains(kinds, system.Assertion) || !slices.Contains(kinds, system.Deadlock) {
		t.Errorf("found %v", kinds)
	}
	// One that goes round invisibly is cyclic.
	m, err = model.Parse("spin.model", "unshared var u bool\nthread T() { for { u = !u } }\ninit "+
		"{ go T() }", model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	res, err = Run(context.Background(), m.System(), Options{Reduction: DPOR, Composed: true})
	if err != nil || res.Exhaustive || !strings.Contains(res.Reason, "cyclic") {
		t.Errorf("%v, %+v", err, res)
	}
}
