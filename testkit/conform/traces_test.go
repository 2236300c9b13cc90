package conform

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"cpor/testkit/sample"

	"cpor/frontend/gosrc"
	"cpor/system"
	"cpor/testkit/gogen"
	"cpor/testkit/gotable"
)

// event is a transition of an execution.
type event struct {
	thread   int
	alt      uint64
	accesses []system.Access
}

// dependent reports whether two transitions may not be exchanged.
func dependent(a, b *event) bool {
	if a.thread == b.thread {
		return true
	}
	for _, x := range a.accesses {
		for _, y := range b.accesses {
			if x.Orders(y) {
				return true
			}
		}
	}
	return false
}

// classes counts the Mazurkiewicz traces among all executions of a program: two are
// one trace if one becomes the other by exchanging neighbors that are independent.
// It is enough that they are independent in one of the two orders. (Who looks at
// all readers of a lock looks at the goroutines that there are, and at whether a
// further one is created. So it depends on the creation if it is first, and not if
// it is second, when it looks at the new one; what both do is the same.)
func classes(paths [][]event) int {
	number := map[string]int{}
	for i, es := range paths {
		number[pathKey(es)] = i
	}
	parent := make([]int, len(paths))
	for i := range parent {
		parent[i] = i
	}
	find := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for i, es := range paths {
		for k := 0; k+1 < len(es); k++ {
			if dependent(&es[k], &es[k+1]) {
				continue
			}
			es[k], es[k+1] = es[k+1], es[k]
			if j, ok := number[pathKey(es)]; ok {
				parent[find(i)] = find(j)
			}
			es[k], es[k+1] = es[k+1], es[k]
		}
	}
	n := 0
	for i := range parent {
		if find(i) == i {
			n++
		}
	}
	return n
}

func pathKey(es []event) string {
	b := make([]byte, 0, 2*len(es))
	for _, e := range es {
		b = append(b, byte(e.thread), byte(e.alt))
	}
	return string(b)
}

// allTraces enumerates all executions of a program and returns the number of their
// Mazurkiewicz traces; ok is false if there are more executions than the limit.
func allTraces(sys system.System, limit int) (traces, executions int, ok bool) {
	m := sys.NewMachine()
	m.Load(sys.Initial()[0])
	m.Track(true)
	var paths [][]event
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
			paths = append(paths, slices.Clone(path))
		}
		return executions <= limit
	}
	ok = visit()
	if !ok {
		return 0, executions, false
	}
	return classes(paths), executions, true
}

// TestExecutionsAreTraces: the optimal dynamic reduction explores each Mazurkiewicz
// trace once.
func TestExecutionsAreTraces(t *testing.T) {
	n := cmp.Or(*concurrent, sample.Of(10, 10, 30))
	sources := map[string]string{}
	for i := range uint64(n) {
		seed := *first + i
		r := rand.New(rand.NewPCG(seed, 3))
		p := gogen.NewConcurrent(r, gogen.Shape{Goroutines: 1 + int(seed%3)/2, Steps: 3,
			Polls: seed%3 == 0, RW: seed%4 < 2})
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
			t.Errorf("%s: %d executions and %d in vain, of %d Mazurkiewicz traces\n%s", name,
				f.Executions, f.BlockedExecutions, traces, sources[name])
		}
	}
	t.Logf("%d programs with %d traces", compared, sum)
}
