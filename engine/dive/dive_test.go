package dive_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpor/engine"
	_ "cpor/engine/all"
	"cpor/engine/dive"
	"cpor/engine/search/reduction"
	"cpor/frontend"
	_ "cpor/frontend/model"
	_ "cpor/frontend/promela"
	"cpor/system"
)

// load loads a model in a language of that file ending.
func load(t *testing.T, name, text string) system.System {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	p, err := frontend.Load(path, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p.System
}

// forgot is deep: the assertion is at the end, and one worker of eight takes no lock.
const forgot = `
const N = 8
mutex m
var n int
waitgroup wg
thread Worker(me int) {
	for range 2 {
		if me != LOCKED {
			lock(m)
		}
		t := n
		n = t + 1
		if me != LOCKED {
			unlock(m)
		}
	}
	done(wg)
}
thread Main() {
	add(wg, N)
	for i := range N {
		go Worker(i)
	}
	wait(wg)
	assert(n == 2*N)
}
init { go Main() }
`

func TestFinds(t *testing.T) {
	for _, c := range []struct {
		name, file, text string
		ignore           bool
		kind             system.ViolationKind // empty: nothing is to be found
	}{
		{"assertion", "m.model", "const LOCKED = 3\n" + forgot, false, system.Assertion},
		{"none", "m.model", "const LOCKED = 8\n" + forgot, false, ""},
		{"deadlock", "m.model", `
mutex a, b
thread P() { lock(a); lock(b); unlock(b); unlock(a) }
thread Q() { lock(b); lock(a); unlock(a); unlock(b) }
init { go P(); go Q() }`, false, system.Deadlock},
		{"ignored deadlock", "m.model", `
mutex a, b
thread P() { lock(a); lock(b); unlock(b); unlock(a) }
thread Q() { lock(b); lock(a); unlock(a); unlock(b) }
init { go P(); go Q() }`, true, ""},
		{"invariant for one state", "m.model", `
comm var x int
thread P() { x = 1; x = 2; x = 0 }
invariant small { x < 2 }
init { go P() }`, false, system.Invariant},
		{"run-time error of one alternative", "m.model", `
var a [4]int
thread P() {
	choose {
	case:
		a[0] = 1
	case:
		i := 4
		a[i] = 1
	}
}
init { go P() }`, false, system.Runtime},
		{"an initial state", "m.model", `
comm var x int
thread P() { assert(x != 1) }
init {
	choose { 
	case: 
		x = 1
	case: 
		x = 2
	}
	go P()
}`, false, system.Assertion},
		{"threads without end", "m.model", `
comm var x bool
thread P() { for { x = !x } }
thread Q() { await(x); assert(!x) }
init { go P(); go Q() }`, false, system.Assertion},
		{"Promela", "m.pml", `
byte n, done;
active [4] proctype P() { byte t; t = n; n = t + 1; done++ }
active proctype M() { done == 4; assert(n == 4) }`, false, system.Assertion},
		{"a valid end state", "m.pml", `
chan c = [0] of { byte };
active proctype S() { byte x; end: do :: c?x od }
active proctype P() { c!1; c!2 }`, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			sys := load(t, c.file, c.text)
			stopped := 0
			d := dive.New(sys, &engine.Options{IgnoreDeadlocks: c.ignore}, func() { stopped++ })
			for i := 0; i < 20_000 && d.Found() == nil; i++ {
				d.Turn()
			}
			f := d.Found()
			if c.kind == "" {
				if f != nil {
					t.Fatalf("found %v", f.Trace.Violation)
				}
				return
			}
			if f == nil || stopped != 1 {
				t.Fatalf("found %v, stopped %d times", f, stopped)
			}
			if f.Trace.Violation.Kind != c.kind {
				t.Errorf("found %v, want %s", f.Trace.Violation, c.kind)
			}
			if err := f.Trace.Replay(sys); err != nil {
				t.Error(err)
			}
		})
	}
}

// A search that dives passes with the counts that it has without, and finds the same
// deep violation each time.
func TestBesideSearch(t *testing.T) {
	entry, err := engine.Lookup(reduction.Mode, "none")
	if err != nil {
		t.Fatal(err)
	}
	run := func(sys system.System, o engine.Options) *engine.Result {
		t.Helper()
		res, err := entry.Run(context.Background(), &engine.Task{System: sys, Options: o,
			Flags: new(engine.Values)})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	right := load(t, "m.model", strings.Replace("const LOCKED = 8\n"+forgot, "N = 8", "N = 6", 1))
	for _, workers := range []int{1, 3} {
		with, without := run(right, engine.Options{Workers: workers, Dive: true}),
			run(right, engine.Options{Workers: workers})
		if with.Verdict != engine.Pass || with.Counters != without.Counters ||
			with.States < 50_000 {
			t.Errorf("%d workers: %s with %+v, without dives %+v", workers, with.Verdict,
				with.Counters, without.Counters)
		}
	}
	wrong := load(t, "m.model", "const LOCKED = 3\n"+forgot)
	const states = 200_000 // breadth first, the assertion is millions away
	if res := run(wrong, engine.Options{
		Workers: 1, MaxStates: states}); res.Verdict != engine.Incomplete {
		t.Fatalf("the violation is no longer deep: %s", res.Verdict)
	}
	for _, workers := range []int{1, 3} {
		res := run(wrong, engine.Options{Workers: workers, MaxStates: states, Dive: true})
		if res.Verdict != engine.Violated || len(res.Violations) != 1 || res.Exhaustive {
			t.Fatalf("%d workers: %s, %d violations, exhaustive %v", workers, res.Verdict,
				len(res.Violations), res.Exhaustive)
		}
		v := res.Violations[0]
		if v.Kind != system.Assertion || v.Trace == nil || v.Trace.Replay(wrong) != nil {
			t.Errorf("%d workers: %v, trace %v", workers, v.Violation, v.Trace)
		}
	}
}
