package search_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cpor/testkit/sample"

	"cpor/cartesian"
	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/statestore"
	"cpor/system"
	toy "cpor/testkit/toysystem"
	"cpor/trace"
	"cpor/workers"
)

func mustNew(t testing.TB, p *toy.Program) system.System {
	t.Helper()
	sys, err := toy.New(p)
	if err != nil {
		t.Fatalf("%v\n%v", err, p)
	}
	return sys
}

// counters is k threads that each write a cell of their own n times.
func counters(k, n int) *toy.Program {
	p := toy.NewProgram()
	x := p.Array("x", make([]int64, k)...)
	var code []toy.Node
	for range n {
		code = append(code,
			toy.Atomic(toy.Store(x, toy.Reg(0), toy.Bin("+", toy.Load(x, toy.Reg(0)),
				toy.Const(1)))))
	}
	p.Thread("Counter", 1, code...)
	for i := range k {
		p.Start("Counter", int64(i))
	}
	return p
}

// philosophers is n philosophers of four transitions who all take the left fork
// first.
func philosophers(n int) *toy.Program {
	p := toy.NewProgram()
	fork := p.Array("fork", make([]int64, n)...)
	left, right := toy.Reg(0), toy.Bin("%", toy.Bin("+", toy.Reg(0), toy.Const(1)),
		toy.Const(int64(n)))
	take := func(f toy.Expr) toy.Node {
		return toy.AwaitDo(toy.Not(toy.Load(fork, f)), toy.Store(fork, f, toy.Const(1)))
	}
	p.Thread("Philosopher", 1,
		take(left), take(right),
		toy.Atomic(toy.Store(fork, right, toy.Const(0))),
		toy.Atomic(toy.Store(fork, left, toy.Const(0)), toy.Goto(0)))
	for i := range n {
		p.Start("Philosopher", int64(i))
	}
	return p
}

// racy has two threads that increment x without a lock, and an assertion.
func racy() *toy.Program {
	p := toy.NewProgram()
	x := p.Scalar("x", 0)
	done := p.Scalar("done", 0)
	p.Thread("Inc", 1,
		toy.Atomic(toy.Set(0, toy.Load(x, nil))),
		toy.Atomic(toy.Store(x, nil, toy.Bin("+", toy.Reg(0), toy.Const(1)))),
		toy.Atomic(toy.Store(done, nil, toy.Bin("+", toy.Load(done, nil), toy.Const(1)))))
	p.Thread("Check", 0,
		toy.AwaitDo(toy.Bin("==", toy.Load(done, nil), toy.Const(2)),
			toy.Assert(toy.Bin("==", toy.Load(x, nil), toy.Const(2)), "lost update")))
	p.Start("Inc")
	p.Start("Inc")
	p.Start("Check")
	return p
}

func run(t testing.TB, sys system.System, o search.Options) *search.Result {
	t.Helper()
	r, err := search.Run(context.Background(), sys, full.Factory(sys), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCounts pins the counts of the full search of systems whose counts are
// known: counters by a formula, philosophers from a reference implementation.
func TestCounts(t *testing.T) {
	pow := func(b, e int) uint64 {
		n := uint64(1)
		for range e {
			n *= uint64(b)
		}
		return n
	}
	type counts struct{ states, transitions, ended uint64 }
	tests := []struct {
		name      string
		p         *toy.Program
		want      counts
		depth     int // with one worker; -1 if it is not known
		deadlocks int
	}{
		{"counters 1,1", counters(1, 1), counts{2, 1, 1}, 1, 0},
		{"counters 3,4", counters(3, 4), counts{pow(5, 3), 3 * 4 * pow(5, 2), 3 * pow(5, 2)}, 12,
			0},
		{"counters 5,3", counters(5, 3), counts{pow(4, 5), 5 * 3 * pow(4, 4), 5 * pow(4, 4)}, 15,
			0},
		{"philosophers 2", philosophers(2), counts{10, 20, 0}, -1, 1},
		{"philosophers 3", philosophers(3), counts{35, 105, 0}, -1, 1},
		{"philosophers 5", philosophers(5), counts{392, 1960, 0}, -1, 1},
		{"philosophers 9", philosophers(9), counts{46763, 420867, 0}, -1, 1},
	}
	for _, tt := range tests {
		for _, n := range []int{1, 2, 4, 64} {
			t.Run(fmt.Sprintf("%s/workers=%d", tt.name, n), func(t *testing.T) {
				if sample.Race && tt.want.states > 10_000 {
					t.Skip("too slow with the race detector")
				}
				r := run(t, mustNew(t, tt.p), search.Options{
					Options: engine.Options{Workers: n, All: true}})
				if got := (counts{r.States, r.Transitions, r.EndedLoops}); got != tt.want {
					t.Errorf("got %+v, want %+v", got, tt.want)
				}
				if r.Attempts != r.Transitions {
					t.Errorf("%d attempts, %d transitions", r.Attempts, r.Transitions)
				}
				if !r.Exhaustive || r.Reason != "" || len(r.Violations) != tt.deadlocks {
					t.Errorf("exhaustive %v %q, %d violations", r.Exhaustive, r.Reason,
						len(r.Violations))
				}
				if tt.depth >= 0 && (n == 1 && r.MaxDepth != tt.depth || r.MaxDepth < tt.depth) {
					t.Errorf("depth %d, want %d", r.MaxDepth, tt.depth)
				}
				if r.Workers != n || r.Pool.Items != r.States || r.StoreBytes == 0 ||
					r.PeakRSS == 0 || r.BytesPerState <= 0 ||
					r.StatesPerSecond() <= 0 || r.TransitionsPerSecond() <= 0 {
					t.Errorf("figures of %+v", r)
				}
			})
		}
	}
}

// deadlockKey tells deadlocks apart: by the local parts of all threads but the
// observers and the values of the cells.
func deadlockKey(sys system.System, m system.Machine) string {
	obs := system.ObserversOf(sys)
	pieces := m.Capabilities().Pieces
	var k []any
	for t := range m.NumThreads() {
		if !obs.Has(t) {
			k = append(k, pieces.Local(t, nil))
		}
	}
	for l := system.Loc(0); !strings.HasPrefix(m.LocName(l), "threads"); l++ {
		k = append(k, pieces.Value(l))
	}
	return fmt.Sprint(k...)
}

// reference is the simplest full search there is.
type reference struct {
	states      map[string]bool
	transitions uint64
	ended       uint64
	violations  map[string]bool // kind and place
	deadlocks   map[string]bool // states
}

func key(s system.State) string { return fmt.Sprint(s) }

func refer(sys system.System) *reference {
	r := &reference{states: map[string]bool{}, violations: map[string]bool{},
		deadlocks: map[string]bool{}}
	obs := system.ObserversOf(sys)
	m := sys.NewMachine()
	var work []system.State
	add := func(s system.State) {
		if k := key(s); !r.states[k] {
			r.states[k] = true
			work = append(work, s)
		}
	}
	for _, s := range sys.Initial() {
		add(s)
	}
	for len(work) > 0 {
		s := work[len(work)-1]
		work = work[:len(work)-1]
		m.Load(s)
		moved, stuck := false, false
		for t := range m.NumThreads() {
			for alt, more := uint64(0), true; more; {
				m.Load(s)
				out := m.Step(t, alt)
				switch {
				case out.Kind == system.Moved:
					r.transitions++
					moved = moved || !obs.Has(t)
					add(m.Encode(nil))
				case obs.Has(t):
				case out.Kind == system.Ended:
					r.ended++
				default:
					r.transitions++
					stuck = stuck || !out.AtEnd
				}
				if v := out.Violation; v != nil {
					r.violations[fmt.Sprint(v.Kind, v.Pos)] = true
				}
				alt, more = out.Next, out.Next != 0
			}
		}
		if stuck && !moved {
			m.Load(s)
			r.deadlocks[deadlockKey(sys, m)] = true
		}
	}
	return r
}

// TestAgainstReference compares the driver and the full expander with the
// reference on random programs, for several numbers of workers, and checks and
// minimizes every trace.
func TestAgainstReference(t *testing.T) {
	programs := sample.Of(50, 100, 5000)
	if sample.Race {
		programs = 50
	}
	found := 0
	for seed := range programs {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		p := toy.Random(r, toy.Config{Observer: r.IntN(2) == 0})
		sys := mustNew(t, p)
		ref := refer(sys)
		for _, n := range []int{1, 3, 16} {
			res := run(t, sys, search.Options{Options: engine.Options{Workers: n, All: true,
				MaxViolations: 1 << 20, KeepTraces: n > 1}})
			if res.States != uint64(len(ref.states)) || res.Transitions != ref.transitions ||
				res.EndedLoops != ref.ended {
				t.Fatalf("seed %d, %d workers: %d states, %d transitions, %d ended loops, want "+
					"%d, %d, %d\n%v", seed, n,
					res.States, res.Transitions, res.EndedLoops, len(ref.states), ref.transitions,
					ref.ended, p)
			}
			var violations, deadlocks int
			for _, v := range res.Violations {
				found++
				if v.Kind == system.Deadlock {
					deadlocks++
				} else {
					violations++
					if !ref.violations[fmt.Sprint(v.Kind, v.Pos)] {
						t.Fatalf("seed %d: a violation that is none: %v", seed, v.Violation)
					}
				}
				checkTrace(t, sys, v, ref)
			}
			if violations != len(ref.violations) || deadlocks != len(ref.deadlocks) {
				t.Fatalf("seed %d, %d workers: %d violations and %d deadlocks, want %d and %d\n%v",
					seed, n,
					violations, deadlocks, len(ref.violations), len(ref.deadlocks), p)
			}
			first := run(t, sys, search.Options{
				Options: engine.Options{Workers: n, IgnoreDeadlocks: seed%2 == 0}})
			want := engine.Pass
			if len(ref.violations) > 0 || len(ref.deadlocks) > 0 && seed%2 == 1 {
				want = engine.Violated
			}
			if first.Verdict != want || first.Exhaustive != (want == engine.Pass) {
				t.Fatalf("seed %d, %d workers: verdict %s, want %s", seed, n, first.Verdict, want)
			}
			if want == engine.Violated {
				checkTrace(t, sys, first.Violations[0], ref)
			}
		}
	}
	if found < programs {
		t.Errorf("only %d violations in %d programs: the test shows little", found, programs)
	}
}

// checkTrace replays a trace with code of its own.
func checkTrace(t *testing.T, sys system.System, v engine.Finding, ref *reference) {
	t.Helper()
	if v.Trace == nil {
		t.Fatalf("no trace for %v: %s", v.Violation, v.TraceMissing)
	}
	m := sys.NewMachine()
	m.Load(sys.Initial()[v.Trace.Initial])
	var last *system.Violation
	for _, s := range v.Trace.Steps {
		out := m.Step(s.Thread, s.Alt)
		if out.Kind != system.Moved {
			t.Fatalf("the trace of %v does not replay", v.Violation)
		}
		last = out.Violation
	}
	if v.Kind == system.Deadlock {
		if !ref.deadlocks[deadlockKey(sys, m)] {
			t.Fatalf("the trace of %v ends in no deadlock", v.Violation)
		}
		if !strings.HasPrefix(v.Message, "deadlock: ") || !strings.Contains(v.Message, "blocked") {
			t.Fatalf("message of a deadlock: %q", v.Message)
		}
	} else if last == nil || last.Kind != v.Kind || last.Pos != v.Pos {
		t.Fatalf("the trace of %v shows %v", v.Violation, last)
	}
}

// TestCartesianTraces compares the cartesian search's findings with the
// reference: the same violations and deadlocks, and each with a trace that
// shows it, although the paths that led there are moves of many transitions.
func TestCartesianTraces(t *testing.T) {
	programs := sample.Of(50, 100, 5000)
	if sample.Race {
		programs = 50
	}
	for seed := range programs {
		r := rand.New(rand.NewPCG(uint64(seed), 4))
		p := toy.Random(r, toy.Config{Observer: r.IntN(2) == 0})
		sys := mustNew(t, p)
		ref := refer(sys)
		res, err := search.Run(context.Background(), sys, func() search.Expander {
			return cartesian.New(sys, cartesian.Options{})
		},
			search.Options{Options: engine.Options{Workers: 1 + seed%3, All: true,
				MaxViolations: 1 << 20, KeepTraces: seed%2 == 0}})
		if err != nil {
			t.Fatalf("seed %d: %v\n%v", seed, err, p)
		}
		deadlocks := 0
		for _, v := range res.Violations {
			checkTrace(t, sys, v, ref)
			if v.Kind == system.Deadlock {
				deadlocks++
			}
		}
		if len(res.Violations)-deadlocks != len(ref.violations) || deadlocks != len(ref.deadlocks) {
			t.Fatalf("seed %d: %d violations and %d deadlocks, want %d and %d\n%v", seed,
				len(res.Violations)-deadlocks, deadlocks, len(ref.violations), len(ref.deadlocks),
				p)
		}
	}
}

func TestFirstViolation(t *testing.T) {
	for _, kind := range []statestore.Kind{statestore.Tree, statestore.Plain, statestore.Compact,
		statestore.Bitstate} {
		t.Run(kind.String(), func(t *testing.T) {
			sys := mustNew(t, racy())
			r := run(t, sys, search.Options{Options: engine.Options{Workers: 2}, Store: kind})
			if r.Verdict != engine.Violated || r.Exhaustive || len(r.Violations) != 1 ||
				r.Reason == "" {
				t.Fatalf("got %+v", r)
			}
			v := r.Violations[0]
			if v.Kind != system.Assertion || v.Trace == nil {
				t.Fatalf("got %+v", v)
			}
			// Both threads read before either writes, and the check comes
			// last: seven steps. Thread 0 or 1 has to be interrupted once.
			if n := len(v.Trace.Steps); n != 7 {
				t.Errorf("%d steps, want 7", n)
			}
			if n := v.Trace.Switches(); n != 3 {
				t.Errorf("%d context switches, want 3", n)
			}
		})
	}
}

func TestInexactStores(t *testing.T) {
	for _, kind := range []statestore.Kind{statestore.Compact, statestore.Bitstate} {
		t.Run(kind.String(), func(t *testing.T) {
			if s, err := statestore.New(statestore.Options{
				Kind: kind, MaxBytes: 1 << 20}); err != nil || s.Loadable() {
				t.Skip("the store is an exact one")
			}
			sys := mustNew(t, philosophers(7))
			r := run(t, sys, search.Options{
				Options: engine.Options{Workers: 3, IgnoreDeadlocks: true}, Store: kind})
			if r.Verdict != engine.Incomplete || r.Exhaustive || r.Reason == "" ||
				r.States > 4286 || r.States < 4200 {
				t.Errorf("got %+v", r)
			}
			r = run(t, sys, search.Options{Options: engine.Options{Workers: 3}, Store: kind})
			if r.Verdict != engine.Violated || r.Violations[0].Trace == nil {
				t.Fatalf("got %+v", r)
			}
			if n := len(r.Violations[0].Trace.Steps); n != 7 {
				t.Errorf("the deadlock's trace has %d steps, want 7", n)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	sys := mustNew(t, counters(8, 12))
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	tests := []struct {
		name   string
		ctx    context.Context
		o      search.Options
		reason string
	}{
		{"states", context.Background(), search.Options{Options: engine.Options{MaxStates: 1000}},
			"limit of 1,000 states"},
		{"time", context.Background(), search.Options{
			Options: engine.Options{Timeout: 10 * time.Millisecond}}, "time-out after 10ms"},
		{"interrupt", cancelled, search.Options{}, "interrupted"},
	}
	for _, tt := range tests {
		for _, n := range []int{1, 2, 16} {
			t.Run(fmt.Sprintf("%s/workers=%d", tt.name, n), func(t *testing.T) {
				tt.o.Workers = n
				r, err := search.Run(tt.ctx, sys, full.Factory(sys), tt.o)
				if err != nil {
					t.Fatal(err)
				}
				if r.Verdict != engine.Incomplete || r.Exhaustive || r.Reason != tt.reason {
					t.Errorf("%s, exhaustive %v, %q", r.Verdict, r.Exhaustive, r.Reason)
				}
				if tt.o.MaxStates > 0 && (r.States <= 1000 || r.States > 1000+uint64(n)) {
					t.Errorf("%d states at a limit of 1000", r.States)
				}
			})
		}
	}
	// A limit that is not reached does not matter.
	small := mustNew(t, counters(3, 4))
	r := run(t, small, search.Options{Options: engine.Options{Workers: 4, MaxStates: 125,
		Timeout: time.Hour, MaxMemory: 1 << 40}})
	if r.Verdict != engine.Pass || !r.Exhaustive {
		t.Errorf("limits that were not reached: %+v", r)
	}
	var oe *engine.OptionError
	for _, o := range []search.Options{{Options: engine.Options{Workers: -1}},
		{Options: engine.Options{MaxMemory: 1000}}, {Store: 99}} {
		if _, err := search.Run(context.Background(), small, full.Factory(small), o); !errors.As(
			err, &oe) {
			t.Errorf("options %+v: error %v", o, err)
		}
	}
}

func TestMoreViolations(t *testing.T) {
	// Two threads choose one of 20 values each and then wait forever.
	p := toy.NewProgram()
	x := p.Scalar("x", 0)
	p.Thread("T", 1, toy.Choose(0, 0, 19), toy.Await(toy.Load(x, nil)))
	p.Start("T")
	p.Start("T")
	sys := mustNew(t, p)
	r := run(t, sys, search.Options{Options: engine.Options{Workers: 2, All: true,
		MaxViolations: 30}})
	if len(r.Violations) != 30 || r.MoreViolations != 370 || !r.Exhaustive ||
		r.Verdict != engine.Violated {
		t.Errorf("%d violations and %d more, %+v", len(r.Violations), r.MoreViolations, r)
	}
}

func TestProgress(t *testing.T) {
	sys := mustNew(t, counters(8, 12))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var calls int
	var last engine.Progress
	r, err := search.Run(ctx, sys, full.Factory(sys), search.Options{
		Options: engine.Options{Workers: 2, ProgressInterval: time.Millisecond,
			Progress: func(p engine.Progress) {
				if p.States < last.States || p.Transitions < last.Transitions ||
					p.Elapsed <= last.Elapsed || p.Memory == 0 {
					t.Errorf("progress went from %+v to %+v", last, p)
				}
				last = p
				if calls++; calls == 20 {
					cancel()
				}
			}}})
	if err != nil || calls < 20 || last.States > r.States || last.Transitions > r.Transitions ||
		r.Verdict != engine.Incomplete {
		t.Errorf("%d calls, last %+v, result %+v, error %v", calls, last, r, err)
	}
}

type hook struct {
	mu     *sync.Mutex
	states map[string]int
	moves  *atomic.Int64
	found  *atomic.Int64
}

func (h hook) Expand(s system.State) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.states[key(s)]++
}
func (h hook) Move(m *search.Move)                        { h.moves.Add(1) }
func (h hook) Violation(*system.Violation, []search.Step) { h.found.Add(1) }

func TestHook(t *testing.T) {
	sys := mustNew(t, philosophers(4))
	var mu sync.Mutex
	var moves, found atomic.Int64
	states := map[string]int{}
	r := run(t, sys, search.Options{Options: engine.Options{Workers: 4, IgnoreDeadlocks: true},
		Hook: func(int) search.Hook {
			return hook{&mu, states, &moves, &found}
		}})
	for s, n := range states {
		if n != 1 {
			t.Errorf("state %s was expanded %d times", s, n)
		}
	}
	if uint64(len(states)) != r.States || found.Load() != 1 ||
		uint64(moves.Load()) >= r.Transitions || moves.Load() == 0 {
		t.Errorf("%d states, %d moves, %d violations: %+v", len(states), moves.Load(), found.Load(),
			r)
	}
}

// faulty is an expander that goes wrong.
type faulty struct {
	*full.Expander
	claim bool
}

func (f *faulty) Expand(s system.State, v search.Visitor) {
	if !f.claim {
		panic("faulty")
	}
	f.Expander.Expand(s, v)
	v.Violation(&system.Violation{Kind: system.Assertion, Message: "invented"}, []search.Step{
		{Thread: 0}})
}

func TestInternalErrors(t *testing.T) {
	sys := mustNew(t, counters(2, 2))
	for _, n := range []int{1, 4} {
		_, err := search.Run(context.Background(), sys, func() search.Expander {
			return &faulty{full.New(sys), false}
		}, search.Options{Options: engine.Options{Workers: n}})
		var pe *workers.PanicError
		if !errors.As(err, &pe) {
			t.Errorf("a panic in an expander: error %v", err)
		}
		r, err := search.Run(context.Background(), sys, func() search.Expander {
			return &faulty{full.New(sys), true}
		}, search.Options{Options: engine.Options{Workers: n}})
		if !trace.IsReplayError(err) || r == nil || r.Verdict != engine.Violated ||
			r.Violations[0].Trace != nil {
			t.Errorf("an invented violation: error %v, result %+v", err, r)
		}
	}
}

// endless is an expander that is never done with a state.
type endless struct{ search.Expander }

func (endless) Expand(_ system.State, v search.Visitor) {
	for s := v.(search.Stopper); !s.Stopped(); {
	}
}

// TestStopper ends searches while an expander is busy with a single state.
func TestStopper(t *testing.T) {
	sys := mustNew(t, counters(2, 2))
	r, err := search.Run(context.Background(), sys, func() search.Expander {
		return endless{full.New(sys)}
	},
		search.Options{Options: engine.Options{Workers: 2, Timeout: 20 * time.Millisecond}})
	if err != nil || r.Verdict != engine.Incomplete || r.Pool.Items != 0 {
		t.Errorf("error %v, result %+v", err, r)
	}
}

// TestStress runs many more workers than CPUs, mainly for the race detector.
func TestStress(t *testing.T) {
	rounds := sample.Of(3, 3, 20)
	sys := mustNew(t, counters(5, 4))
	for range rounds {
		r := run(t, sys, search.Options{Options: engine.Options{Workers: 64}})
		if r.States != 3125 || r.Transitions != 12500 {
			t.Fatalf("%d states, %d transitions", r.States, r.Transitions)
		}
	}
}

// TestAllocations checks that the full expander allocates nothing in the
// steady state.
func TestAllocations(t *testing.T) {
	sys := mustNew(t, counters(4, 4))
	x := full.New(sys)
	v := &ends{}
	states := sys.Initial()
	x.Expand(states[0], v)
	states = append(states, v.ends...)
	quiet := quietVisitor{}
	if n := testing.AllocsPerRun(100, func() {
		for _, s := range states {
			x.Expand(s, quiet)
		}
	}); n != 0 {
		t.Errorf("the full expander allocates %v times", n)
	}

	// The whole search: the shards of the store's tables and the batches grow
	// now and then, nothing else allocates.
	if sample.Race {
		return
	}
	sys = mustNew(t, philosophers(9))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := run(t, sys, search.Options{Options: engine.Options{Workers: 1, IgnoreDeadlocks: true}})
	runtime.ReadMemStats(&after)
	if n := after.Mallocs - before.Mallocs; n > r.Transitions/20 {
		t.Errorf("%d allocations for %d transitions and %d states", n, r.Transitions, r.States)
	} else {
		t.Logf("%d allocations for %d transitions and %d states", n, r.Transitions, r.States)
	}
}

func Example() {
	p := toy.NewProgram()
	x := p.Scalar("x", 0)
	p.Thread("Writer", 0, toy.Atomic(toy.Store(x, nil, toy.Const(1))))
	p.Thread("Reader", 0, toy.Atomic(toy.Assert(toy.Not(toy.Load(x, nil)), "too late")))
	p.Start("Writer")
	p.Start("Reader")
	sys, err := toy.New(p)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := search.Run(context.Background(), sys, full.Factory(sys), search.Options{
		Options: engine.Options{Workers: 2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Verdict)
	for _, v := range r.Violations {
		fmt.Println(v.Kind, v.Message, v.Trace.Steps)
	}
	// Output:
	// violation
	// assertion too late [{0 0} {1 0}]
}

type quietVisitor struct{}

func (quietVisitor) Move(*search.Move)                          {}
func (quietVisitor) Violation(*system.Violation, []search.Step) {}

type ends struct {
	quietVisitor
	ends []system.State
}

func (e *ends) Move(m *search.Move) { e.ends = append(e.ends, slices.Clone(m.End)) }

// BenchmarkFull measures the full search on the toy system; the driver's own
// share is what remains beside the toy machine's and the store's:
//
//	go test ./search -bench Full -benchtime 3x -cpu 2
func BenchmarkFull(b *testing.B) {
	sys := mustNew(b, counters(6, 6))
	for _, n := range []int{1, 2, 64} {
		b.Run(fmt.Sprintf("workers=%d", n), func(b *testing.B) {
			var transitions uint64
			for range b.N {
				transitions += run(b, sys, search.Options{
					Options: engine.Options{Workers: n}}).Transitions
			}
			b.ReportMetric(float64(transitions)/b.Elapsed().Seconds(), "transitions/s")
		})
	}
}
