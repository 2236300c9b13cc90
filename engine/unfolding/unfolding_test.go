package unfolding

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cpor/testkit/sample"

	"cpor/benchmarks"
	"cpor/engine"
	"cpor/frontend/model"
	"cpor/system"
	"cpor/testkit/oracle"
	"cpor/testkit/toysystem"
)

func parse(t testing.TB, text string, params ...string) system.System {
	t.Helper()
	ps := map[string]string{}
	for _, p := range params {
		name, value, _ := strings.Cut(p, "=")
		ps[name] = value
	}
	m, err := model.Parse("test.model", text, model.Options{Params: ps})
	if err != nil {
		t.Fatal(err)
	}
	return m.System()
}

func benchmark(t testing.TB, name string, params ...string) system.System {
	t.Helper()
	text, err := benchmarks.Model(name)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(text), params...)
}

func run(t testing.TB, sys system.System, o engine.Options) *Result {
	t.Helper()
	res, err := Run(context.Background(), sys, o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestCounts pins prefixes whose size can be counted by hand, or that were
// counted once.
func TestCounts(t *testing.T) {
	const independent = `
		var a [4]int
		thread T(i int) { a[i] = 1; a[i] = 2; a[i] = 3 }
		init { go T(0); go T(1); go T(2); go T(3) }`
	const readers = `
		var x int
		var out [3]int
		thread R(i int) { v := x; out[i] = v }
		thread W() { x = 1 }
		init { go R(0); go R(1); go R(2); go W() }`
	const choice = `
		var a [8]int
		thread T(i int) { choose { case: a[i] = 1
			case: a[i+1] = 1 } }
		init { go T(0); go T(2); go T(4) }`
	for _, c := range []struct {
		name            string
		sys             system.System
		events, cutoffs uint64
	}{
		{"independent threads add up", parse(t, independent), 12, 0},
		// The write has an instance for each set of readers before it: 8. Each reader
		// has one before it and one after each of those whose set it is not in:
		// 1 + 4. As many write what they read.
		{"readers are not ordered", parse(t, readers), 8 + 3*2*5, 0},
		{"alternatives", parse(t, choice), 3 * (2 + 2), 0},
		{"indexer 11", benchmark(t, "indexer", "N=11"), 44, 0},
		{"indexer 16", benchmark(t, "indexer", "N=16"), 139, 15},
		{"filesystem 13", benchmark(t, "filesystem", "N=13"), 13 * 8, 0},
		{"filesystem 17", benchmark(t, "filesystem", "N=17"), 208, 0},
		{"philosophers 9", benchmark(t, "philosophers", "N=9"), 297, 72},
		{"philosophers 30", benchmark(t, "philosophers", "N=30"), 3510, 870},
		{"robots 2", benchmark(t, "robots", "R=2"), 742, 70},
		{"robots 3", benchmark(t, "robots", "R=3"), 809, 71},
	} {
		for _, workers := range []int{1, 2, 7} {
			res := run(t, c.sys, engine.Options{Workers: workers, IgnoreDeadlocks: true, All: true})
			if res.Events != c.events || res.Cutoffs != c.cutoffs {
				t.Errorf("%s, %d workers: %d events, %d of them cut-off, want %d and %d", c.name,
					workers, res.Events, res.Cutoffs, c.events, c.cutoffs)
			}
		}
	}
}

// TestWorkers: the prefix is the same for any number of workers, event by event.
func TestWorkers(t *testing.T) {
	n := sample.Of[uint64](40, 75, 300)
	for seed := range n {
		var sys system.System
		if seed%2 == 0 {
			m, err := model.Parse("generated.model",
				oracle.Generate(seed, configs[seed/2%uint64(len(configs))]), model.Options{})
			if err != nil {
				continue
			}
			sys = m.System()
		} else {
			var err error
			if sys, err = toysystem.New(toysystem.Random(rand.New(rand.NewPCG(seed, 1)),
				toysystem.Config{Observer: seed%3 == 0})); err != nil {
				t.Fatal(err)
			}
		}
		want := ""
		for _, workers := range []int{1, 2, 5} {
			b, err := newBuilder(sys, workers)
			if err != nil {
				t.Fatal(err)
			}
			if workers > 1 {
				b.kept.short = 0
			}
			b.onLevel = func(uint32) {
				if b.events.n > 3000 {
					b.stopped.Store(true)
				}
			}
			b.build()
			got := dump(b)
			if want == "" {
				want = got
			}
			if got != want {
				t.Fatalf("seed %d: with %d workers the prefix is another one", seed, workers)
			}
		}
	}
}

// dump writes a prefix down without the numbers that depend on who came first.
func dump(b *builder) string {
	var s strings.Builder
	for e := uint32(len(b.roots)); e < b.events.n; e++ {
		ev, l := b.events.at(e), b.leafOf(e)
		form := b.shape(l)
		fmt.Fprintf(&s, "%d: thread %d %x alternative %d, size %d, cut %v, after", e,
			b.comp(form.thread()).number, b.partOf(b.local(b.cond(b.words.from(ev.pre)[0]).value),
				nil), b.extra(l).alt, ev.size(), b.isCut(e))
		for _, w := range b.words.from(ev.pre)[:form.numPre()] {
			fmt.Fprintf(&s, " %d", b.cond(w).event)
		}
		s.WriteString("\n")
	}
	return s.String()
}

// TestLimits: what was ended is never a pass.
func TestLimits(t *testing.T) {
	sys := benchmark(t, "philosophers", "N=30")
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		name   string
		ctx    context.Context
		o      engine.Options
		reason string
	}{
		{"events", context.Background(), engine.Options{MaxTransitions: 100},
			"limit of 100 events"},
		{"events, found one after the other", context.Background(), engine.Options{
			MaxTransitions: 1}, "limit of 1 events"},
		{"time", context.Background(), engine.Options{Timeout: time.Nanosecond},
			"time-out after 1ns"},
		{"interrupted", cancelled, engine.Options{}, "interrupted"},
		{"memory", context.Background(), engine.Options{MaxMemory: 1 << 20}, "memory"},
	} {
		res, err := Run(c.ctx, sys, c.o)
		var oerr *engine.OptionError
		if c.name == "memory" && errors.As(err, &oerr) {
			continue // the process has more already
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if res.Verdict != engine.Incomplete || res.Exhaustive || !strings.Contains(res.Reason,
			c.reason) {
			t.Errorf("%s: %s, exhaustive %v, %q; want incomplete because of %q", c.name,
				res.Verdict, res.Exhaustive, res.Reason, c.reason)
		}
	}
	if _, err := Run(context.Background(), sys, engine.Options{Workers: -1}); err == nil {
		t.Error("-1 workers are accepted")
	}
}

// TestViolations: one violation ends the run, All collects the distinct ones;
// traces are replayed by Finish.
func TestViolations(t *testing.T) {
	const text = `
		var x, y int
		mutex m, n
		invariant small { x < 3 }
		thread A() { lock(m); lock(n); x++; unlock(n); unlock(m); assert(x != 2, "two") }
		thread B() { lock(n); lock(m); x++; unlock(m); unlock(n); y = 1 / (x - 1) }
		init { go A(); go B(); go A() }`
	text2 := strings.Replace(text, "mutex m, n", "var m, n mutex", 1)
	sys := parse(t, text2)
	res := run(t, sys, engine.Options{All: true, Workers: 2})
	kinds := map[system.ViolationKind]int{}
	for _, v := range res.Violations {
		kinds[v.Kind]++
		if v.Trace == nil {
			t.Errorf("%s: no trace: %s", v.Message, v.TraceMissing)
		}
	}
	if kinds[system.Assertion] != 1 || kinds[system.Runtime] != 1 || kinds[system.Invariant] != 1 ||
		kinds[system.Deadlock] == 0 {
		t.Errorf("found %v", kinds)
	}
	if !res.Exhaustive || res.Verdict != engine.Violated {
		t.Errorf("%s, exhaustive %v", res.Verdict, res.Exhaustive)
	}
	if res := run(t, sys, engine.Options{}); len(res.Violations) != 1 || res.Exhaustive {
		t.Errorf("without All: %d violations, exhaustive %v", len(res.Violations), res.Exhaustive)
	}
}

// noPieces hides the pieces of a system.
type noPieces struct{ system.System }

// Capabilities implements system.System: there are none.
func (s noPieces) Capabilities() system.Capabilities { return system.Capabilities{} }

type wholeMachine struct{ system.Machine }

// Capabilities implements system.Machine: there are none.
func (wholeMachine) Capabilities() system.MachineCapabilities {
	return system.MachineCapabilities{}
}

func (s noPieces) NewMachine() system.Machine { return wholeMachine{s.System.NewMachine()} }

func TestRefusal(t *testing.T) {
	_, err := Run(context.Background(), noPieces{benchmark(t, "robots")}, engine.Options{})
	var r *engine.Refusal
	if !errors.As(err, &r) {
		t.Errorf("a system without pieces: %v", err)
	}
}

// TestManyAccesses: a transition may touch more than what one chunk of words holds.
func TestManyAccesses(t *testing.T) {
	sys := parse(t, `
		var a [5000]uint8
		var n int
		thread T() { atomic { for i := 0; i < 5000; i++ { a[i]++ } }; atomic { for i := 0; i < 5000; i++ { assert(a[i] < 2, "twice") } } }
		init { go T(); go T() }`)
	res := run(t, sys, engine.Options{})
	if res.Verdict != engine.Violated {
		t.Errorf("%s %s", res.Verdict, res.Reason)
	}
}

// TestWords: what a violation says of other threads is what they are called, also
// of one that did not exist at first; an event by itself knows none of them.
func TestWords(t *testing.T) {
	sys := parse(t, `
		mutex m
		var there bool
		thread A() { go Late() }
		thread Late() { lock(m); there = true }
		thread B() { await(there); unlock(m) }
		init { go A(); go B() }`)
	res := run(t, sys, engine.Options{All: true})
	var said []string
	for _, v := range res.Violations {
		if v.Kind == system.Runtime {
			said = append(said, v.Message)
		}
	}
	if want := []string{"unlock of m, which Late[0] holds"}; !slices.Equal(said, want) {
		t.Errorf("found %q, want %q", said, want)
	}
}

// TestCreationInChoice: the initial states have different numbers of threads, and a thread that is
// created takes the place of one that another initial state has.
func TestCreationInChoice(t *testing.T) {
	const text = `var x int
thread C() {}
thread A() {}
thread T() { go C() }
init {
	go T()
	choose {
	case:
		go T()
	case:
	}
}
invariant i { x == 0 }
invariant j { x == 0 }
`
	for _, workers := range []int{1, 3} {
		res := run(t, parse(t, text), engine.Options{Workers: workers, All: true})
		if len(res.Violations) > 0 || !res.Exhaustive {
			t.Errorf("%d workers: %+v", workers, res)
		}
	}
}
