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

	"cpor/testkit/sample"

	"cpor/engine"
	"cpor/frontend/model"
	"cpor/system"
	"cpor/testkit/oracle"
	toy "cpor/testkit/toysystem"
	"cpor/trace"
)

var (
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
	z.parts = z.m.Capabilities().Pieces
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
			if steps[j].Thread == s.Thread || ordered(z.acc[j], acc) {
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

func deadlockKey(sys system.System, m system.Machine) string {
	mark := m.Mark()
	obs := system.ObserversOf(sys)
	obs.Reset(m)
	k := fmt.Sprint(system.Bare(sys, m.Encode(nil)))
	m.Rewind(mark)
	return k
}

// interleavings counts the complete executions of a system one by one, at most
// so many; it returns their traces by name.
func interleavings(sys system.System, most int) (names map[string]bool, n int, ok bool) {
	names = map[string]bool{}
	z := newMazurkiewicz(sys)
	m := sys.NewMachine()
	var steps []trace.Step
	var initial system.State
	var visit func() bool
	visit = func() bool {
		moved := false
		for t := range m.NumThreads() {
			for alt, more := uint64(0), true; more; {
				mark := m.Mark()
				out := m.Step(t, alt)
				if out.Kind == system.Moved {
					moved = true
					steps = append(steps, trace.Step{Thread: t, Alt: alt})
					good := visit()
					steps = steps[:len(steps)-1]
					m.Rewind(mark)
					if !good {
						return false
					}
				}
				alt, more = out.Next, out.Next != 0
			}
		}
		if !moved {
			if n++; n > most {
				return false
			}
			names[z.name(initial, steps)] = true
		}
		return true
	}
	for _, s := range sys.Initial() {
		initial = s
		m.Load(s)
		if !visit() {
			return nil, 0, false
		}
	}
	return names, n, true
}

// variant is a way to search that is compared with all interleavings.
type variant struct {
	Options
	name string
}

func variants(want *traces) []variant {
	var vs []variant
	add := func(red Reduction, workers int, undo Undo) {
		vs = append(vs, variant{
			Options{Options: engine.Options{Workers: workers, All: true, MaxViolations: 1 << 20,
				KeepTraces: true}, Reduction: red, Undo: undo},
			fmt.Sprintf("%v, %d workers, undo by %v", red, workers, undo)})
	}
	for _, red := range []Reduction{DPOR, Sleep, Persistent, PersistentSleep, None} {
		if red == None && want.interleavings > 3000 || red == Persistent &&
			want.interleavings > 100_000 {
			// None is there for the small ones, and persistent sets alone are hardly a reduction
			continue
		}
		add(red, 1, Log)
		if len(want.maximal) < 300 {
			add(red, 1, Replay)
		}
		add(red, 3, Log)
		if red == DPOR {
			add(red, 16, Log)
		}
	}
	return vs
}

// compare holds every variant to all interleavings of a system: the violations,
// the deadlocks and the traces, of which optimal dynamic reduction has to
// explore each once. The result says what is different; it is empty if nothing is.
func compare(sys system.System, want *traces) string {
	if want.interleavings <= 250 {
		names, n, _ := interleavings(sys, 1000)
		if float64(n) != want.interleavings || len(names) != len(want.maximal) {
			return fmt.Sprintf("brute force: %v interleavings of %d traces; one by one %d of %d",
				want.interleavings, len(want.maximal), n, len(names))
		}
	}
	var one *Result
	for _, v := range variants(want) {
		var mu sync.Mutex
		seen := map[string]int{}
		explored := 0
		v.onExecution = func(w *worker) {
			name := newMazurkiewicz(sys).name(w.r.initial, w.r.steps)
			mu.Lock()
			defer mu.Unlock()
			explored++
			seen[name]++
		}
		res, err := Run(context.Background(), sys, v.Options)
		if err != nil {
			return fmt.Sprintf("%s: %v", v.name, err)
		}
		if !res.Exhaustive || res.Executions != uint64(explored) {
			return fmt.Sprintf("%s: %d executions of %d, exhaustive %v: %s", v.name, explored,
				res.Executions, res.Exhaustive, res.Reason)
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
		if len(violations)+len(deadlocks) != len(res.Violations) {
			return fmt.Sprintf("%s: a violation is reported twice: %+v", v.name, res.Violations)
		}
		if d := differ(want.violations, violations); d != "" {
			return fmt.Sprintf("%s: violations: %s", v.name, d)
		}
		if d := differ(want.deadlocks, deadlocks); d != "" {
			return fmt.Sprintf("%s: deadlocks: %s", v.name, d)
		}
		if v.Reduction == None && float64(res.Executions) != want.interleavings {
			return fmt.Sprintf("%s: %d executions, want %v", v.name, res.Executions,
				want.interleavings)
		}
		switch {
		case one == nil || one.Executions == 0 || v.Workers == 1 && v.Undo == Log:
			one = res
		case res.Executions != one.Executions || res.BlockedExecutions != one.BlockedExecutions,
			(v.Workers == 1 || v.Reduction != DPOR) && (res.Transitions != one.Transitions ||
				res.MaxDepth != one.MaxDepth):
			return fmt.Sprintf("%s: %+v, with one worker and the log %+v", v.name, res, one)
		}
		for z := range seen {
			if _, ok := want.maximal[z]; !ok {
				return fmt.Sprintf("%s: an execution that is none", v.name)
			}
		}
		if v.Reduction.persistent() {
			continue // it leaves traces out, as it may
		}
		for z, steps := range want.maximal {
			if seen[z] == 0 {
				return fmt.Sprintf("%s: %d of %d traces explored; not this one: %v", v.name,
					len(seen), len(want.maximal), steps)
			}
		}
		if v.Reduction != None {
			if explored != len(want.maximal) {
				return fmt.Sprintf("%s: %d executions explored for %d traces", v.name, explored,
					len(want.maximal))
			}
			if v.Reduction == DPOR && res.BlockedExecutions > 0 {
				return fmt.Sprintf("%s: %d executions blocked by their sleep set (%d traces)",
					v.name, res.BlockedExecutions, len(want.maximal))
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

// figures of the programs that were compared.
type figures struct {
	mu            sync.Mutex
	programs      int
	tooLarge      int
	violated      int
	deadlocked    int
	traces        int
	interleavings float64
	most          float64
}

// check makes programs from seeds, on all CPUs, until n of them were compared.
func check(t *testing.T, n int, program func(seed uint64) (text string, sys system.System,
	err error)) {
	most := sample.Of(4000, 4000, 10_000)
	var f figures
	one := func(number uint64) bool {
		text, sys, err := program(number)
		if err != nil && strings.Contains(err.Error(), "init") {
			return true // an invariant names a thread that init does not create
		}
		if err != nil {
			t.Errorf("seed %d: %v\n%s", number, err, text)
			return false
		}
		want, ok, diff := bruteForce(sys, most)
		if diff == "" && ok {
			diff = compare(sys, want)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if diff != "" {
			t.Errorf("seed %d: %s\n%s", number, diff, text)
			return false
		}
		if !ok {
			f.tooLarge++
			return true
		}
		f.programs++
		f.traces += len(want.maximal)
		f.interleavings += want.interleavings
		f.most = max(f.most, want.interleavings)
		if len(want.violations) > 0 {
			f.violated++
		}
		if len(want.deadlocks) > 0 {
			f.deadlocked++
		}
		if *seed != 0 {
			t.Logf("%d traces\n%s", len(want.maximal), text)
		}
		return true
	}
	if *seed != 0 {
		one(*seed)
		return
	}
	var next atomic.Uint64
	next.Store(*from)
	var failures atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for failures.Load() < 3 {
				f.mu.Lock()
				enough := f.programs >= n
				f.mu.Unlock()
				if enough {
					return
				}
				if !one(next.Add(1)) {
					failures.Add(1)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d programs agree, %d too large; %d with violations, %d with deadlocks; %d traces, "+
		"%.3g interleavings, at most %.3g of one",
		f.programs, f.tooLarge, f.violated, f.deadlocked, f.traces, f.interleavings, f.most)
	if f.tooLarge > f.programs {
		t.Errorf("most programs are too large")
	}
}

// programs is how many programs a test compares that has n to itself.
func programs(n int) int {
	if sample.Race {
		n /= 2
	}
	return sample.Of(n/25, n/15, 5*n)
}

// TestToyPrograms holds every reduction to all interleavings of random acyclic
// programs.
func TestToyPrograms(t *testing.T) {
	check(t, programs(200), func(s uint64) (string, system.System, error) {
		r := rand.New(rand.NewPCG(s, 5))
		p := toy.Random(r, toy.Config{NoLoops: true, Observer: r.IntN(3) == 0,
			Threads: 2 + r.IntN(3), Nodes: 2 + r.IntN(4)})
		sys, err := toy.New(p)
		return p.String(), sys, err
	})
}

// configs are mixes of constructs without loops.
var configs = []oracle.Config{
	{Threads: 3, Statements: 4, Locks: true, Awaits: true, Atomic: true, Choices: true,
		Selects: true, Channels: true,
		Rendezvous: true, Creation: true, Pointers: true, Functions: true, Invariants: true},
	{Threads: 3, Statements: 5, Locks: true, Awaits: true},
	{Threads: 3, Statements: 4, Channels: true, Selects: true},
	{Threads: 2, Statements: 5, Channels: true, Rendezvous: true, Selects: true},
	{Threads: 3, Statements: 4, Atomic: true, Awaits: true, Pointers: true, Functions: true},
	{Threads: 2, Statements: 4, Creation: true, Awaits: true, Locks: true},
	{Threads: 2, Statements: 5, Invariants: true, Awaits: true, Atomic: true, Choices: true},
	{Threads: 4, Statements: 2, Locks: true, Atomic: true, Awaits: true},
}

// TestModels does the same with the models of package oracle.
func TestModels(t *testing.T) {
	check(t, programs(150), func(s uint64) (string, system.System, error) {
		text := oracle.Generate(s, configs[s%uint64(len(configs))])
		sys, err := parse(text)
		return text, sys, err
	})
}

// TestNastyModels does the same with models that are made to be hard.
func TestNastyModels(t *testing.T) {
	check(t, programs(200), func(s uint64) (string, system.System, error) {
		text := generate(s)
		sys, err := parse(text)
		return text, sys, err
	})
}

func parse(text string) (system.System, error) {
	m, err := model.Parse("generated.model", text, model.Options{})
	if err != nil {
		return nil, err
	}
	return m.System(), nil
}
