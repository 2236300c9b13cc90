package lockset_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"cpor/engine"
	"cpor/engine/lockset"
	"cpor/engine/search"
	"cpor/engine/search/composed"
	"cpor/engine/search/full"
	"cpor/engine/stateless"
	"cpor/frontend/model"
	"cpor/system"
	"cpor/testkit/toysystem"
)

// lockless returns a system that knows nothing of locks.
func lockless(t *testing.T) system.System {
	p := toysystem.NewProgram()
	p.Thread("T", 0, toysystem.Atomic())
	p.Start("T")
	sys, err := toysystem.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return sys
}

// how a test searches
const (
	byFull = iota
	byComposed
)

// run searches a model and returns the violations as "KIND LINE: MESSAGE", with
// the earlier access in the message.
func run(t *testing.T, text string, o lockset.Options, how int) []string {
	t.Helper()
	m, err := model.Parse("t.model", text, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sys, err := lockset.New(m.System(), o)
	if err != nil {
		t.Fatal(err)
	}
	f := full.Factory(sys)
	if how == byComposed {
		if f, err = composed.Factory(sys, composed.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := search.Run(context.Background(), sys, f, search.Options{
		Options: engine.Options{Workers: 2, All: true, IgnoreDeadlocks: true}})
	if err != nil {
		t.Fatal(err)
	}
	vs := messages(t, sys, r)
	if o.Rule != lockset.LDPrime {
		return vs
	}
	// Run, which merges histories first, must find the same out.
	searched, merged, err := lockset.Run(context.Background(), m.System(), o,
		func(sys system.System) (search.Factory, error) {
			if how == byComposed {
				return composed.Factory(sys, composed.Options{})
			}
			return full.Factory(sys), nil
		}, search.Options{Options: engine.Options{Workers: 2, All: true, IgnoreDeadlocks: true}})
	if err != nil {
		t.Fatal(err)
	}
	if !merged.Exhaustive || merged.States > r.States {
		t.Errorf("exhaustive: %v, with %d states, and %d if all histories are in the state",
			merged.Exhaustive, merged.States, r.States)
	}
	if got := messages(t, searched, merged); len(got) != len(vs) {
		t.Errorf("merged: %q, otherwise %q", got, vs)
	}
	return vs
}

func messages(t *testing.T, sys *lockset.System, r *search.Result) []string {
	t.Helper()
	var vs []string
	for _, v := range r.Violations {
		if v.Trace == nil {
			t.Fatalf("no trace: %s", v.TraceMissing)
		}
		vs = append(vs, string(v.Kind)+" "+lockset.Explain(sys, v.Trace))
	}
	slices.Sort(vs)
	return vs
}

// The example of section 7 of Stoller's paper: Eraser's treatment of initialization lets the
// reduced search miss that v is not protected.
const eraserMisses = `
comm var dummy bool
semaphore sem
var v int8
monitor o
thread T1() {
	up(sem)
	v = 1
}
thread T2() {
	down(sem)
	synchronized (o) {
		v = 2
	}
}
init { go T1(); go T2() }
`

func TestPaperExample(t *testing.T) {
	for _, tt := range []struct {
		rule lockset.Rule
		how  int
		want bool
	}{
		{lockset.LD, byFull, true},
		{lockset.LD, byComposed, false}, // this is why the rule exists that is LD'
		{lockset.LDPrime, byFull, true},
		{lockset.LDPrime, byComposed, true},
	} {
		got := run(t, eraserMisses, lockset.Options{Rule: tt.rule}, tt.how)
		if (len(got) > 0) != tt.want {
			t.Errorf("rule %v, search %d: %q", tt.rule, tt.how, got)
		}
	}
}

func TestMessages(t *testing.T) {
	got := run(t, eraserMisses, lockset.Options{Rule: lockset.LDPrime}, byComposed)
	want := "locking discipline v is written by T2[0], holding o: no lock protects it; before, " +
		"T1[0] wrote it at 8:2, holding no lock"
	if !slices.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// header declares what the bodies in TestRules use.
const header = `
monitor m, k
mutex q
semaphore s = 1
semaphore go1; rwmutex rw; waitgroup wg; cond cv
var x, y uint4
unshared var u uint4
comm var c uint4
var ch = make(chan uint4, 1)
`

func TestRules(t *testing.T) {
	const (
		ok   = ""
		disc = "locking discipline"
		race = "data race"
	)
	for _, tt := range []struct {
		name        string
		one, two    string
		ld, ldp, hb string
	}{
		{"both under one monitor", "synchronized (m) { x++ }", "synchronized (m) { x++ }", ok, ok,
			ok},
		{"both under one mutex", "lock(q); x++; unlock(q)", "lock(q); x++; unlock(q)", ok, ok, ok},
		{"two of two locks, one in common", "synchronized (m) { synchronized (k) { x++ } }",
			"synchronized (k) { x++ }", ok, ok, ok},
		{"different locks", "synchronized (m) { x++ }", "synchronized (k) { x++ }", disc, disc,
			race},
		{"one without a lock", "synchronized (m) { x++ }", "x = 1", disc, disc, race},
		{"only read", "c = x", "c = x", ok, ok, ok},
		{"one writes, one reads", "x = 1", "c = x", disc, disc, race},
		{"only one thread uses it", "x = 1; x = 2", "c = 1", ok, ok, ok},
		{"ordered by a channel", "x = 1; ch <- 1", "c = <-ch; x = 2", disc, disc, ok},
		{"ordered by a semaphore", "x = 1; up(go1)", "down(go1); x = 2", disc, disc, ok},
		{"a semaphore as a lock", "down(s); x++; up(s)", "down(s); x++; up(s)", disc, disc, ok},
		{"a rwmutex, and both write", "lock(rw); x++; unlock(rw)", "lock(rw); x++; unlock(rw)",
			disc, disc, ok},
		{"a rwmutex, and one reads", "lock(rw); x++; unlock(rw)", "rlock(rw); c = x; runlock(rw)",
			disc, disc, ok},
		{"a rwmutex, and both who read write", "rlock(rw); x++; runlock(rw)",
			"rlock(rw); x++; runlock(rw)", disc, disc, race},
		{"readers of a rwmutex order nothing", "x = 1; rlock(rw); runlock(rw)",
			"rlock(rw); runlock(rw); x = 2", disc, disc, race},
		{"a reader before the writer", "x = 1; rlock(rw); c = 1; runlock(rw)",
			"lock(rw); g = c == 1; unlock(rw); if g { x = 2 }", disc, disc, ok},
		{"ordered by a waitgroup", "add(wg, 1); c = 1; x = 1; done(wg)",
			"await(c == 1); wait(wg); x = 2", disc, disc, ok},
		{"a waitgroup that nobody waits for", "add(wg, 1); c = 1; x = 1; done(wg)",
			"await(c == 1); x = 2", disc, disc, race},
		{"ordered by a signal", "await(c == 1); x = 1; signal(cv)",
			"lock(q); c = 1; wait(cv, q); unlock(q); x = 2", disc, disc, ok},
		{"a signal that comes before the access", "await(c == 1); signal(cv); x = 1",
			"lock(q); c = 1; wait(cv, q); unlock(q); x = 2", disc, disc, race},
		{"a trylock that succeeds", "lock(q); x = 1; unlock(q)",
			"if trylock(q) { x = 2; unlock(q) }", ok, ok, ok},
		{"a trylock that fails orders nothing", "x = 1; trylock(q)", "if !trylock(q) { x = 2 }",
			disc, disc, race},
		{"a communication variable", "c = 1; c = 2", "c = 3", ok, ok, ok},
		{"unshared, and it is", "u = 1", "c = 1", ok, ok, ok},
		{"unshared, and it is not", "synchronized (m) { u = 1 }", "synchronized (m) { u = 2 }",
			disc, disc, ok},
		{"unshared, and two read it", "c = u", "c = u", disc, disc, ok},
		{"a lock released in between", "synchronized (m) { x = 1 }; x = 2",
			"synchronized (m) { c = x }", disc, disc, race},
		{"a guard", "await(x == 1)", "synchronized (m) { x = 1 }", disc, disc, race},
		{"a guard of a communication variable", "x = 1; c = 1", "await(c == 1); x = 2", disc, disc,
			ok},
		{"an atomic block holds no lock", "atomic { x++ }", "atomic { x++ }", disc, disc, ok},
		{"an atomic block and a plain access", "atomic { x++ }", "x = 2", disc, disc, race},
		{"atomic blocks order each other", "x = 1; atomic { y = 1 }",
			"atomic { if y == 1 { g = true } }; if g { x = 2 }", disc, disc, ok},
		{"an atomic block takes a lock", "atomic { lock(q); x++; unlock(q) }",
			"lock(q); x++; unlock(q)", ok, ok, ok},
		{"two atomic blocks take a lock", "atomic { lock(q); x++; unlock(q) }",
			"atomic { lock(q); x++; unlock(q) }", ok, ok, ok},
		{"an atomic block releases a lock", "lock(q); atomic { unlock(q); x++ }",
			"lock(q); x++; unlock(q)", ok, ok, ok},
		{"an atomic block with a semaphore", "atomic { down(s); x++; up(s) }",
			"atomic { down(s); x++; up(s) }", disc, disc, ok},
		{"one thread, inside and outside a lock", "lock(q); x++; unlock(q); x++", "c = 1", ok, ok,
			ok},
		{"another one reads what one used without a lock", "lock(q); x++; unlock(q); x++",
			"lock(q); c = x; unlock(q)", disc, disc, race},
		{"a release in between", "x = 1; synchronized (m) { c = 1 }",
			"synchronized (m) { g = c == 1 }; if g { x = 2 }", disc, disc, ok},
		{"a race behind a race", "x = 1; y = 1", "g = y == 1; if g { x = 2 }", disc, disc, race},
		{"a compare-and-swap of data", "if cas(y, 0, 1) { x = 1; y = 0 }",
			"if cas(y, 0, 1) { x = 2; y = 0 }", disc, disc, race},
		{"a compare-and-swap of a communication variable", "if cas(c, 0, 1) { x = 1; c = 0 }",
			"if cas(c, 0, 1) { x = 2; c = 0 }", disc, disc, ok},

		{"entered twice", "synchronized (m) { synchronized (m) { x++ }; x++ }",
			"synchronized (m) { x++ }", ok, ok, ok},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := header + "thread T1() {\ng := false\n" + tt.one +
				"\n}\nthread T2() {\ng := false\n" + tt.two + "\n}\ninit { go T1(); go T2() }\n"
			check := func(what string, got []string, want string) {
				if want == ok && len(got) > 0 || want != ok &&
					(len(got) == 0 || !strings.HasPrefix(got[0], want)) {
					t.Errorf("%s: got %q, want %q", what, got, want)
				}
			}
			check("ld, full", run(t, text, lockset.Options{Rule: lockset.LD}, byFull), tt.ld)
			check("ld', full", run(t, text, lockset.Options{Rule: lockset.LDPrime}, byFull), tt.ldp)
			check("ld', composed", run(t, text, lockset.Options{Rule: lockset.LDPrime}, byComposed),
				tt.ldp)
			check("hb", run(t, text, lockset.Options{Rule: lockset.HB}, byFull), tt.hb)
			check("none", run(t, text, lockset.Options{Rule: lockset.None}, byFull), ok)
		})
	}
}

// A guard that is true only between two invisible transitions: the composed
// search never sees it hold, so it has to notice that the guard reads at all.
func TestGuardBetweenInvisible(t *testing.T) {
	const text = header + `
thread T1() {
	await(x == 1)
	assert(false)
}
thread T2() {
	synchronized (m) {
		x = 1
		x = 0
	}
}
init { go T1(); go T2() }
`
	got := run(t, text, lockset.Options{Rule: lockset.LDPrime}, byComposed)
	if len(got) == 0 || !strings.Contains(got[0], "x is ") {
		t.Errorf("got %q", got)
	}
}

func TestInitThread(t *testing.T) {
	const text = header + `
thread T1() {
	x = 3
	up(go1)
	synchronized (m) { x++ }
}
thread T2() {
	down(go1)
	synchronized (m) { x++ }
}
init { go T1(); go T2() }
`
	with := func(init map[string]string) lockset.Options {
		return lockset.Options{Rule: lockset.LDPrime, InitThread: init}
	}
	for _, how := range []int{byFull, byComposed} {
		if got := run(t, text, with(nil), how); len(got) == 0 {
			t.Error("x = 3 is not protected, but nobody says so")
		}
		if got := run(t, text, with(map[string]string{"x": "T1[0]"}), how); len(got) > 0 {
			t.Errorf("T1 initialises x: %q", got)
		}
		if got := run(t, text, with(map[string]string{"x": "T2[0]"}), how); len(got) == 0 ||
			!strings.Contains(got[0], "before T2[0], which should initialize it") {
			t.Errorf("T2 does not initialise x: %q", got)
		}
	}
}

func TestOptions(t *testing.T) {
	m, err := model.Parse(
		"t.model",
		header+"thread T() { x = 1 }\ninit { go T() }",
		model.Options{},
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		rule     lockset.Rule
		variable string
		thread   string
		want     string
	}{
		{lockset.LDPrime, "x", "U[0]", "U[0], which should initialize x, is not a thread of the " +
			"initial state; there are T[0]"},
		{lockset.LDPrime, "nix", "T[0]", "nix, which T[0] should initialize, is not a variable " +
			"that locks protect"},
		{lockset.LDPrime, "m", "T[0]", "m, which T[0] should initialize, is not a variable that " +
			"locks protect"},
		{lockset.LDPrime, "c", "T[0]", "c, which T[0] should initialize, is not a variable that " +
			"locks protect"},
		{lockset.LDPrime, "u", "T[0]", "u is declared unshared: an initializing thread " +
			"contradicts that"},
		{lockset.HB, "x", "T[0]", "matters only for the rules ld and ld', not for hb"},
	} {
		_, err := lockset.New(m.System(), lockset.Options{
			Rule: tt.rule, InitThread: map[string]string{tt.variable: tt.thread}})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s by %s: %v", tt.variable, tt.thread, err)
		}
	}
	if _, err := lockset.New(lockless(t), lockset.Options{}); err == nil {
		t.Error("a system without locks is accepted")
	}
	for rule := lockset.None; rule <= lockset.HB; rule++ {
		if r, err := lockset.ParseRule(rule.String()); err != nil || r != rule {
			t.Errorf("%s: %v, %v", rule, r, err)
		}
	}
	if _, err := lockset.ParseRule("lockset"); err == nil {
		t.Error("an unknown rule is accepted")
	}
}

// What the reduction does not preserve, or cannot know, is refused.
func TestRefusals(t *testing.T) {
	m, err := model.Parse("t.model", header+"thread T() { x = 1 }\ninit { go T() }\ninvariant i "+
		"{ x < 2 }", model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := composed.Factory(m.System(), composed.Options{}); err != composed.ErrObservers {
		t.Errorf("invariants: %v", err)
	}
	if _, err := composed.Factory(lockless(t), composed.Options{}); err != composed.ErrNoLocks {
		t.Errorf("no locks: %v", err)
	}
}

func TestTable(t *testing.T) {
	table := lockset.NewTable()
	set := rapid.Custom(func(t *rapid.T) []system.Loc {
		s := rapid.SliceOfDistinct(rapid.Uint32Range(0, 9), rapid.ID).Draw(t, "locks")
		slices.Sort(s)
		locs := make([]system.Loc, len(s))
		for i, l := range s {
			locs[i] = system.Loc(l)
		}
		return locs
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := set.Draw(t, "a"), set.Draw(t, "b")
		x, y := table.Of(a), table.Of(b)
		if (x == y) != slices.Equal(a, b) || !slices.Equal(table.Locks(x), a) {
			t.Fatalf("%v and %v are %d and %d", a, b, x, y)
		}
		var both []system.Loc
		for _, l := range a {
			if slices.Contains(b, l) {
				both = append(both, l)
			}
		}
		for range 2 {
			if got := table.Intersect(x, y); got != table.Of(both) || got != table.Intersect(y, x) {
				t.Fatalf("%v and %v have %v in common", a, b, table.Locks(got))
			}
		}
	})
}

// Executions may have different locks: merged histories make x suspect, and the
// search with its history in the state clears it. y is another suspect, which
// comes up only behind x's first accesses.
func TestDifferentLocksInDifferentExecutions(t *testing.T) {
	const text = header + `
thread T() {
	if c == 0 {
		synchronized (m) { x++ }
		synchronized (k) { y++ }
	} else {
		synchronized (k) { x++ }
		synchronized (m) { y++ }
	}
}
init {
	c = uint4(choose(0, 1))
	go T()
	go T()
}
`
	for _, how := range []int{byFull, byComposed} {
		if got := run(t, text, lockset.Options{Rule: lockset.LDPrime}, how); len(got) > 0 {
			t.Errorf("search %d: %q", how, got)
		}
	}
	// Without the choice made once and for all, it is a violation.
	broken := strings.Replace(text, "if c == 0 {", "if choose(0, 1) == 0 {", 1)
	for _, how := range []int{byFull, byComposed} {
		if got := run(t, broken, lockset.Options{Rule: lockset.LDPrime}, how); len(got) == 0 {
			t.Errorf("search %d finds nothing", how)
		}
	}
}

// A deadlocked state is one finding, however many histories lead to it.
func TestDeadlockCountsOnce(t *testing.T) {
	const text = header + `
mutex p
thread A() { lock(q); x = 1; lock(p); lock(q) }
thread B() { lock(p); x = 1; unlock(p) }
init { go A(); go B() }
`
	m, err := model.Parse("t.model", text, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	count := func(sys system.System) (n int, states uint64) {
		r, err := search.Run(context.Background(), sys, full.Factory(sys), search.Options{
			Options: engine.Options{Workers: 1, All: true}})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range r.Violations {
			if v.Kind == system.Deadlock {
				n++
			}
		}
		return n, r.States
	}
	plain, states := count(m.System())
	sys, err := lockset.New(m.System(), lockset.Options{Rule: lockset.LD})
	if err != nil {
		t.Fatal(err)
	}
	checked, more := count(sys)
	if plain != checked || more == states {
		t.Errorf("%d deadlocks in %d states, %d in %d with locksets", plain, states, checked, more)
	}
}

// Distinct variables at one place are distinct findings.
func TestTwoRacesAtOnePlace(t *testing.T) {
	const text = header + `
var A [2]uint4
thread T1() { atomic { x++; y++; A[0]++; A[1]++ } }
thread T2() { x = 1; y = 1; A[0] = 1; A[1] = 1 }
init { go T1(); go T2() }
`
	for _, rule := range []lockset.Rule{lockset.HB, lockset.LD, lockset.LDPrime} {
		m, err := model.Parse("t.model", text, model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		sys, err := lockset.New(m.System(), lockset.Options{Rule: rule})
		if err != nil {
			t.Fatal(err)
		}
		r, err := search.Run(context.Background(), sys, full.Factory(sys), search.Options{
			Options: engine.Options{Workers: 2, All: true}})
		if err != nil {
			t.Fatal(err)
		}
		places := map[string][]string{}
		for _, v := range r.Violations {
			at := places[v.Object]
			places[v.Object] = append(at, fmt.Sprint(v.Pos.Line))
		}
		for _, name := range []string{"x", "y", "A[]"} {
			if !slices.Contains(places[name], "12") {
				t.Errorf("%v: %s is not reported at the atomic block: %v", rule, name, places)
			}
		}
	}
}

// A thread that fails in a monitor leaves it, as in Java; a mutex stays locked,
// as in Go.
func TestFailingLeavesMonitors(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		deadlock   bool
	}{
		{"a monitor", "synchronized (m) { c = 1 / c }", false},
		{"entered twice", "synchronized (m) { synchronized (m) { assert(c == 1) } }", false},
		{"two monitors", "synchronized (k) { synchronized (m) { for { c = 1 / c } } }", false},
		{"in an atomic block", "synchronized (k) { atomic { synchronized (m) { c = 1 / c } } }",
			false},
		{"a mutex", "lock(q); c = 1 / c; unlock(q)", true},
	} {
		text := header + "thread T1() { " + tt.body + " }\nthread T2() { synchronized (k) { " +
			"synchronized (m) { lock(q); unlock(q) } } }\ninit { go T1(); go T2() }\n"
		m, err := model.Parse("t.model", text, model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		sys := m.System()
		for name, run := range map[string]func() ([]engine.Finding, error){
			"full": func() ([]engine.Finding, error) {
				r, err := search.Run(context.Background(), sys, full.Factory(sys), search.Options{
					Options: engine.Options{Workers: 1, All: true}})
				return r.Violations, err
			},
			"persistent": func() ([]engine.Finding, error) {
				r, err := stateless.Run(context.Background(), sys, stateless.Options{
					Options:   engine.Options{Workers: 1, All: true},
					Reduction: stateless.Persistent})
				return r.Violations, err
			},
		} {
			vs, err := run()
			if err != nil {
				t.Fatal(err)
			}
			failed, deadlock := false, false
			for _, v := range vs {
				deadlock = deadlock || v.Kind == system.Deadlock
				failed = failed || v.Kind == system.Runtime || v.Kind == system.Assertion
			}
			if !failed || deadlock != tt.deadlock {
				t.Errorf("%s, %s: fails %v, deadlock %v", tt.name, name, failed, deadlock)
			}
		}
	}
}
