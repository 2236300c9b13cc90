package conform

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/gogen"
	"cpor/frontend/gosrc/gotable"
	"cpor/system"
)

// event is a transition of an execution.
type event struct {
	thread   int
	alt      uint64
	accesses []system.Access
}

// dependent tells whether two transitions may not be exchanged.
func dependent(a, b *event) bool {
	if a.thread == b.thread {
		return true
	}
	for _, x := range a.accesses {
		for _, y := range b.accesses {
			if x.Loc == y.Loc && (x.Write || y.Write) {
				return true
			}
		}
	}
	return false
}

// foata names the Mazurkiewicz trace of an execution by its normal form: each event
// has the smallest level that is above those of the events before it that it depends
// on.
func foata(es []event) string {
	level := make([]int, len(es))
	order := make([]int, len(es))
	for i := range es {
		order[i] = i
		for j := range i {
			if level[j] >= level[i] && dependent(&es[j], &es[i]) {
				level[i] = level[j] + 1
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if level[a] != level[b] {
			return level[a] - level[b]
		}
		return es[a].thread - es[b].thread
	})
	var b strings.Builder
	for _, i := range order {
		fmt.Fprintf(&b, "%d:%d.%d ", level[i], es[i].thread, es[i].alt)
	}
	return b.String()
}

// allTraces enumerates all executions of a program and returns the number of their
// Mazurkiewicz traces; ok is false if there are more executions than the limit.
func allTraces(sys system.System, limit int) (traces, executions int, ok bool) {
	m := sys.NewMachine()
	m.Load(sys.Initial()[0])
	m.Track(true)
	names := map[string]bool{}
	var path []event
	var visit func() bool
	visit = func() bool {
		mark, moved := m.Mark(), false
		for t := 0; t < m.NumThreads(); t++ {
			for alt, more := uint64(0), true; more; {
				out := m.Step(t, alt)
				if out.Kind != system.Moved {
					m.Rewind(mark)
					break
				}
				moved = true
				path = append(path, event{t, alt, slices.Clone(m.Accesses())})
				goOn := visit()
				path = path[:len(path)-1]
				m.Rewind(mark)
				if !goOn {
					return false
				}
				alt, more = out.Next, out.Next != 0
			}
		}
		if !moved {
			executions++
			names[foata(path)] = true
		}
		return executions <= limit
	}
	ok = visit()
	return len(names), executions, ok
}

// TestExecutionsAreTraces: the optimal dynamic reduction explores each Mazurkiewicz
// trace once.
func TestExecutionsAreTraces(t *testing.T) {
	n := *concurrent
	if testing.Short() {
		n = min(n, 10)
	}
	sources := map[string]string{}
	for i := range uint64(n) {
		seed := *first + i
		r := rand.New(rand.NewPCG(seed, 3))
		p := gogen.NewConcurrent(r, gogen.Shape{Goroutines: 1 + int(seed%3)/2, Steps: 3, Polls: seed%3 == 0, RW: seed%4 < 2})
		sources[fmt.Sprint("seed ", seed)] = p.Source()
	}
	loaded, err := Load(t.Context(), t.TempDir(), gotable.DefaultGoVersion, sources)
	if err != nil {
		t.Fatal(err)
	}
	compared, sum := 0, 0
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		p := loaded[name]
		if p.broken != nil {
			t.Fatalf("%s: %v", name, p.broken)
		}
		sys, err := p.compiled.Main(gosrc.Explore{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		traces, _, ok := allTraces(sys, 20_000)
		if !ok {
			continue
		}
		f, err := p.Outcomes(t.Context(), Run{Mode: "stateless", Entry: "dpor", Timeout: *limit})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !f.Exhaustive {
			continue
		}
		compared++
		sum += traces
		if f.Executions != uint64(traces) || f.BlockedExecutions != 0 {
			t.Errorf("%s: %d executions and %d in vain, of %d Mazurkiewicz traces\n%s", name, f.Executions, f.BlockedExecutions, traces, sources[name])
		}
	}
	t.Logf("%d programs with %d traces", compared, sum)
}
