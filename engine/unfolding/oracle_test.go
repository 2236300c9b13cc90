package unfolding

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"cpor/testkit/sample"

	"cpor/engine/search/full"
	"cpor/frontend/model"
	"cpor/system"
	"cpor/testkit/oracle"
	"cpor/testkit/toysystem"
	"cpor/trace"
)

var (
	first = flag.Uint64("first", 1, "the seed of the first model")
	seed  = flag.Uint64("seed", 0, "check this seed only, and print the model")
)

// maxStates bounds a model's full search; larger models are passed over.
const maxStates = 2500

// configs are the mixes of constructs that are drawn from in turn.
var configs = []oracle.Config{
	oracle.Everything,
	{Threads: 3, Statements: 5, Loops: true, Locks: true, Awaits: true, Choices: true,
		Selects: true},
	{Threads: 3, Statements: 4, Loops: true, Channels: true, Selects: true},
	{Threads: 2, Statements: 4, Loops: true, Channels: true, Rendezvous: true, Selects: true,
		Atomic: true},
	{Threads: 3, Statements: 5, Atomic: true, Awaits: true, Choices: true, Pointers: true,
		Functions: true},
	{Threads: 2, Statements: 4, Creation: true, Awaits: true, Locks: true, Loops: true},
	{Threads: 3, Statements: 4, Monitors: true, Data: true, Choices: true},
	{Threads: 2, Statements: 5, Invariants: true, Loops: true, Awaits: true, Atomic: true},
}

// keeps are the ways to keep histories that are tried in turn: none of these short
// ones, all, and no more than one.
var keeps = []string{"none", "all", "one"}

// reach builds the whole prefix and says what it shows; every violation and
// deadlock by a trace that was replayed.
func reach(sys system.System, workers int, keep string) (*oracle.Reach, *builder, error) {
	b, err := newBuilder(sys, workers)
	if err != nil {
		return nil, nil, err
	}
	switch keep {
	case "all":
		b.kept.short = 0
	case "one":
		b.kept.short, b.kept.room = 0, 1
	}
	r := &oracle.Reach{Locals: map[string]bool{}, Violations: map[string]bool{},
		Deadlocks: map[string]bool{}}
	local := func(n uint32) {
		l := b.local(n)
		k := binary.AppendUvarint(nil, uint64(b.comp(l.thread).number))
		for _, w := range b.partOf(l, nil) {
			k = binary.LittleEndian.AppendUint64(k, w)
		}
		r.Locals[string(k)] = true
	}
	for _, x := range *b.comps.Load() {
		for _, s := range x.starts {
			if x.thread && s.value != nobody {
				local(s.value)
			}
		}
	}
	obs := system.ObserversOf(sys)
	w := b.workers[0]
	b.onEvent = func(e uint32) bool {
		l := b.leafOf(e)
		local(l.after)
		for _, k := range b.kids(l) {
			local(k)
		}
		viol := b.extra(l).viol
		if viol == nil {
			return true
		}
		w.c2.load(b.candidateOf(e))
		tr := &trace.Trace{Initial: int(w.c2.root), Steps: w.c2.steps(l), Violation: viol}
		if e := tr.Replay(sys); e != nil && err == nil {
			err = e
		}
		for v := viol; v != nil; v = v.Also {
			r.Violations[fmt.Sprintf("%s at %d:%d", v.Kind, v.Pos.Line, v.Pos.Col)] = true
		}
		return true
	}
	b.build()
	if f := b.fault.Load(); f != nil {
		return nil, nil, *f
	}
	m := sys.NewMachine()
	w.searchDeadlocks(&obs, func(c *config) bool {
		m.Load(b.roots[c.root])
		tr := &trace.Trace{Initial: int(c.root), Steps: c.steps(nil), Violation: &system.Violation{
			Kind: system.Deadlock}}
		for _, s := range tr.Steps {
			if out := m.Step(s.Thread, s.Alt); out.Kind != system.Moved {
				err = fmt.Errorf("the trace of a deadlock has a step of a thread that is %v",
					out.Kind)
				return false
			}
		}
		obs.Reset(m)
		r.Deadlocks[fmt.Sprint(system.Bare(sys, m.Encode(nil)))] = true
		return true
	})
	return r, b, err
}

// checkModel compares the unfolding of a model with its full search. The
// result is empty if they agree; ok is false if the model was passed over.
func checkModel(text, keep string) (diff string, ok bool) {
	m, err := model.Parse("generated.model", text, model.Options{})
	if err != nil {
		if strings.Contains(err.Error(), "init") || oracle.LabelRefused(err) {
			return "", false // init fails or blocks, or a property cannot be checked
		}
		return "the generated model is refused: " + err.Error(), true
	}
	return check(m.System(), keep)
}

func check(sys system.System, keep string) (diff string, ok bool) {
	want, res, err := oracle.Explore(sys, full.Factory(sys), 1, maxStates)
	if err != nil {
		return "full search: " + err.Error(), true
	}
	if !res.Exhaustive {
		return "", false
	}
	got, b, err := reach(sys, 1, keep)
	if err != nil {
		return "unfolding: " + err.Error(), true
	}
	figures.states.Add(res.States)
	figures.events.Add(uint64(b.events.n))
	return oracle.Diff(want, got), true
}

var figures struct{ states, events atomic.Uint64 }

// TestModels: the prefix of a generated model shows exactly the local states,
// the violations and the deadlocks that the full search reaches.
func TestModels(t *testing.T) {
	one := func(seed uint64) (string, bool, string) {
		text := oracle.Generate(seed, configs[seed%uint64(len(configs))])
		d, ok := checkModel(text, keeps[seed/uint64(len(configs))%3])
		return d, ok, text
	}
	compare(t, sample.Of[uint64](50, 250, 5000), one)
}

// TestToys is the same on programs that are written down as data.
func TestToys(t *testing.T) {
	one := func(seed uint64) (string, bool, string) {
		p := toysystem.Random(rand.New(rand.NewPCG(seed, 1)), toysystem.Config{
			Observer: seed%3 == 0})
		sys, err := toysystem.New(p)
		if err != nil {
			return err.Error(), true, ""
		}
		d, ok := check(sys, keeps[seed%3])
		return d, ok, p.String()
	}
	compare(t, sample.Of[uint64](200, 800, 20_000), one)
}

// compare checks programs with different seeds until n were compared; those
// that are too large are passed over.
func compare(t *testing.T, n uint64, one func(seed uint64) (diff string, ok bool, text string)) {
	if *seed != 0 {
		d, _, text := one(*seed)
		t.Log("\n" + text)
		if d != "" {
			t.Fatal(d)
		}
		return
	}
	var next, done, passed atomic.Uint64
	var failed atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				k := next.Add(1)
				s := *first + k - 1
				if done.Load() >= n || k > 20*n+100 || failed.Load() > 3 {
					return
				}
				d, ok, text := one(s)
				if !ok {
					passed.Add(1)
					continue
				}
				if m := done.Add(1); m%50000 == 0 {
					fmt.Println(m, "programs agree, the last with seed", s)
				}
				if d != "" {
					failed.Add(1)
					t.Errorf("seed %d: %s\n%s", s, d, text)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d programs agree, %d were too large or not runnable; %.2f events a state", done.Load(),
		passed.Load(),
		float64(figures.events.Load())/float64(figures.states.Load()))
	if failed.Load() == 0 && done.Load() < n {
		t.Errorf("only %d programs were compared, want %d", done.Load(), n)
	}
}
