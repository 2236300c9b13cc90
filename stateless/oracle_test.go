package stateless

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"cpor/model"
	"cpor/oracle"
	"cpor/system"
	toy "cpor/system/toysystem"
	"cpor/trace"
)

var (
	long = flag.Bool("long", false, "hold the reductions to every interleaving of a million programs")
	seed = flag.Uint64("seed", 0, "check this seed only, and print the program")
	from = flag.Uint64("from", 0, "begin with the seed after this one")
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(m.Run())
}

// mazurkiewicz names the Mazurkiewicz trace of an execution by its Foata
// normal form: the events by levels, where an event is one level above the
// highest on which it depends.
type mazurkiewicz struct {
	m     system.Machine
	parts system.Pieces
	acc   [][]system.Access
	level []int
	text  []string
}

func newMazurkiewicz(sys system.System) *mazurkiewicz {
	z := &mazurkiewicz{m: sys.NewMachine()}
	z.parts, _ = system.As[system.Pieces](z.m)
	z.m.Track(true)
	return z
}

func (z *mazurkiewicz) name(initial system.State, steps []trace.Step) string {
	z.m.Load(initial)
	z.acc, z.level, z.text = z.acc[:0], z.level[:0], z.text[:0]
	for i, s := range steps {
		if out := z.m.Step(s.Thread, s.Alt); out.Kind != system.Moved {
			panic(fmt.Sprintf("step %d of %v is %v", i, steps, out.Kind))
		}
		acc := slices.Clone(z.m.Accesses())
		level := 0
		for j := range i {
			if steps[j].Thread == s.Thread || conflict(z.acc[j], acc) {
				level = max(level, z.level[j]+1)
			}
		}
		z.acc, z.level = append(z.acc, acc), append(z.level, level)
		b := binary.BigEndian.AppendUint32(nil, uint32(level))
		b = binary.BigEndian.AppendUint32(b, uint32(s.Thread))
		b = binary.BigEndian.AppendUint64(b, s.Alt)
		for _, w := range z.parts.Local(s.Thread, nil) {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		for _, a := range acc {
			b = fmt.Appendf(b, ",%d%v=%d", a.Loc, a.Write, z.parts.Value(a.Loc))
		}
		z.text = append(z.text, string(b))
	}
	slices.Sort(z.text)
	return fmt.Sprint(initial) + strings.Join(z.text, ";")
}

// interleavings is what the plain semantics say of a system: the traces of all
// its complete executions, its violations and its deadlocked states.
type interleavings struct {
	traces     map[string][]trace.Step
	violations map[string]bool
	deadlocks  map[string]bool
	executions int
}

func deadlockKey(sys system.System, m system.Machine) string {
	mark := m.Mark()
	obs := system.ObserversOf(sys)
	obs.Reset(m)
	k := fmt.Sprint(system.Bare(sys, m.Encode(nil)))
	m.Rewind(mark)
	return k
}

// enumerate runs every interleaving, at most so many; ok is false if there are
// more, or executions longer than a hundred transitions.
func enumerate(sys system.System, most int) (r *interleavings, ok bool) {
	r = &interleavings{traces: map[string][]trace.Step{}, violations: map[string]bool{}, deadlocks: map[string]bool{}}
	z := newMazurkiewicz(sys)
	m := sys.NewMachine()
	work := 200 * most
	obs := system.ObserversOf(sys)
	var steps []trace.Step
	var initial system.State
	var visit func() bool
	visit = func() bool {
		if work--; len(steps) > 100 || work < 0 {
			return false
		}
		moved, stuck := false, false
		for t := range m.NumThreads() {
			for alt, more := uint64(0), true; more; {
				mark := m.Mark()
				out := m.Step(t, alt)
				if out.Kind == system.Moved {
					moved = true
					steps = append(steps, trace.Step{Thread: t, Alt: alt})
					for v := out.Violation; v != nil; v = v.Also {
						r.violations[fmt.Sprint(v.Kind, v.Pos, v.Object)] = true
					}
					good := visit()
					steps = steps[:len(steps)-1]
					m.Rewind(mark)
					if !good {
						return false
					}
				} else if out.Kind == system.Blocked && !out.AtEnd && !obs.Has(t) {
					stuck = true
				}
				alt, more = out.Next, out.Next != 0
			}
		}
		if !moved {
			if r.executions++; r.executions > most {
				return false
			}
			if stuck {
				r.deadlocks[deadlockKey(sys, m)] = true
			}
			r.traces[z.name(initial, steps)] = slices.Clone(steps)
		}
		return true
	}
	for _, s := range sys.Initial() {
		initial = s
		m.Load(s)
		if !visit() {
			return nil, false
		}
	}
	return r, true
}

// variant is a way to search that is compared with all interleavings.
type variant struct {
	Options
	name string
}

func variants() []variant {
	var vs []variant
	for _, red := range []Reduction{None, Sleep, Persistent, PersistentSleep, DPOR, SourceDPOR} {
		for _, workers := range []int{1, 3} {
			for _, undo := range []Undo{Log, Replay} {
				if undo == Replay && workers > 1 {
					continue
				}
				vs = append(vs, variant{Options{Reduction: red, Workers: workers, Undo: undo, All: true, MaxViolations: 1 << 20, KeepTraces: true},
					fmt.Sprintf("%v, %d workers, undo by %v", red, workers, undo)})
			}
		}
	}
	return vs
}

// compare holds every variant to all interleavings of a system: the violations
// and the deadlocks, and if exact the traces as well, of which optimal DPOR has
// to explore each once. The result says what is different; it is empty if
// nothing is.
func compare(sys system.System, want *interleavings, exact bool) string {
	var byLog *Result
	for _, v := range variants() {
		var mu sync.Mutex
		seen := map[string]int{}
		explored := 0
		v.onExecution = func(w *worker) {
			mu.Lock()
			defer mu.Unlock()
			explored++
			seen[newMazurkiewicz(sys).name(w.r.initial, w.r.steps)]++
		}
		res, err := Run(context.Background(), sys, v.Options)
		if err != nil {
			return fmt.Sprintf("%s: %v", v.name, err)
		}
		if !res.Exhaustive || res.Executions != uint64(explored) {
			return fmt.Sprintf("%s: %d executions of %d, exhaustive %v: %s", v.name, explored, res.Executions, res.Exhaustive, res.Reason)
		}
		violations, deadlocks := map[string]bool{}, map[string]bool{}
		for _, f := range res.Violations {
			if f.Kind != system.Deadlock {
				violations[fmt.Sprint(f.Kind, f.Pos, f.Object)] = true
				continue
			}
			m := sys.NewMachine()
			m.Load(sys.Initial()[f.Trace.Initial])
			for _, s := range f.Trace.Steps {
				m.Step(s.Thread, s.Alt)
			}
			deadlocks[deadlockKey(sys, m)] = true
		}
		if d := differ(want.violations, violations); d != "" {
			return fmt.Sprintf("%s: violations: %s", v.name, d)
		}
		if d := differ(want.deadlocks, deadlocks); d != "" {
			return fmt.Sprintf("%s: deadlocks: %s", v.name, d)
		}
		if v.Reduction == None && res.Executions != uint64(want.executions) {
			return fmt.Sprintf("%s: %d executions, want %d", v.name, res.Executions, want.executions)
		}
		if v.Workers == 1 {
			switch v.Undo {
			case Log:
				byLog = res
			case Replay:
				a, b := *byLog, *res
				if a.Executions != b.Executions || a.BlockedExecutions != b.BlockedExecutions || a.Transitions != b.Transitions || a.MaxDepth != b.MaxDepth {
					return fmt.Sprintf("%s: %+v, with the log %+v", v.name, b, a)
				}
			}
		}
		if !exact {
			continue
		}
		for z := range seen {
			if _, ok := want.traces[z]; !ok {
				return fmt.Sprintf("%s: an execution that is none", v.name)
			}
		}
		if v.Reduction.persistent() {
			continue // it leaves traces out, as it may
		}
		for z, steps := range want.traces {
			if seen[z] == 0 {
				return fmt.Sprintf("%s: %d of %d traces explored; not this one: %v", v.name, len(seen), len(want.traces), steps)
			}
		}
		if v.Reduction != None {
			if explored != len(want.traces) {
				return fmt.Sprintf("%s: %d executions explored for %d traces", v.name, explored, len(want.traces))
			}
			if v.Reduction == DPOR && res.BlockedExecutions > 0 {
				return fmt.Sprintf("%s: %d executions blocked by their sleep set (%d traces)", v.name, res.BlockedExecutions, len(want.traces))
			}
		}
	}
	return ""
}

func differ(want, got map[string]bool) string {
	for k := range want {
		if !got[k] {
			return fmt.Sprintf("%d of %d found; missing %s", len(got), len(want), k)
		}
	}
	for k := range got {
		if !want[k] {
			return "too many: " + k
		}
	}
	return ""
}

// check runs a test function over seeds, on all CPUs, until n of the programs
// were neither too large nor not runnable.
func check(t *testing.T, n uint64, f func(seed uint64) (text, diff string, ok bool)) {
	if *seed != 0 {
		text, diff, ok := f(*seed)
		t.Logf("%v\n%s", ok, text)
		if diff != "" {
			t.Fatal(diff)
		}
		return
	}
	var next, done atomic.Uint64
	next.Store(*from)
	var failures atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for done.Load() < n && failures.Load() <= 3 {
				s := next.Add(1)
				text, diff, ok := f(s)
				if !ok {
					if s-*from > 20*n+100 {
						t.Errorf("most programs are too large")
						return
					}
					continue
				}
				done.Add(1)
				if diff != "" {
					failures.Add(1)
					t.Errorf("seed %d: %s\n%s", s, diff, text)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d programs agree of %d", done.Load(), next.Load()-*from)
}

// mostExecutions bounds the interleavings of a program that is looked at.
func mostExecutions() int {
	if *long {
		return 3000
	}
	return 250
}

// TestToyPrograms holds every reduction to all interleavings of random acyclic
// programs.
func TestToyPrograms(t *testing.T) {
	n := uint64(2000)
	if *long {
		n = 1_000_000
	} else if raceEnabled {
		n = 100
	}
	check(t, n, func(s uint64) (string, string, bool) {
		r := rand.New(rand.NewPCG(s, 5))
		p := toy.Random(r, toy.Config{NoLoops: true, Observer: r.IntN(3) == 0, Threads: 2 + r.IntN(3), Nodes: 2 + r.IntN(4)})
		sys, err := toy.New(p)
		if err != nil {
			return p.String(), err.Error(), true
		}
		want, ok := enumerate(sys, mostExecutions())
		if !ok {
			return "", "", false
		}
		return p.String(), compare(sys, want, true), true
	})
}

// configs are mixes of constructs without loops.
var configs = []oracle.Config{
	{Threads: 3, Statements: 4, Locks: true, Awaits: true, Atomic: true, Choices: true, Selects: true, Channels: true,
		Rendezvous: true, Creation: true, Pointers: true, Functions: true, Invariants: true},
	{Threads: 3, Statements: 5, Locks: true, Awaits: true},
	{Threads: 3, Statements: 4, Channels: true, Selects: true},
	{Threads: 2, Statements: 5, Channels: true, Rendezvous: true, Selects: true},
	{Threads: 3, Statements: 4, Atomic: true, Awaits: true, Pointers: true, Functions: true},
	{Threads: 2, Statements: 4, Creation: true, Awaits: true, Locks: true},
	{Threads: 2, Statements: 5, Invariants: true, Awaits: true, Atomic: true, Choices: true},
	{Threads: 4, Statements: 2, Locks: true, Atomic: true, Awaits: true},
}

// TestModels does the same with random models of the language.
func TestModels(t *testing.T) {
	n := uint64(2000)
	if *long {
		n = 1_000_000
	} else if raceEnabled {
		n = 100
	}
	check(t, n, func(s uint64) (string, string, bool) {
		text := oracle.Generate(s, configs[s%uint64(len(configs))])
		m, err := model.Parse("generated.model", text, model.Options{})
		if err != nil {
			return text, err.Error(), !strings.Contains(err.Error(), "init")
		}
		sys := m.System()
		want, ok := enumerate(sys, mostExecutions())
		if !ok {
			return "", "", false
		}
		// An alternative that blocks behind a choice makes the others read
		// its guard only where it blocks, so that there is no telling what
		// one trace is.
		c := configs[s%uint64(len(configs))]
		return text, compare(sys, want, !(c.Atomic && c.Choices)), true
	})
}
