package conform

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpor/testkit/sample"

	"cpor/engine"
	"cpor/engine/stateless"
	"cpor/frontend/gosrc"
	"cpor/system"
)

// lockFree returns a random test of goroutines that use atomic operations, whose values
// decide what comes next: further ones, channels, locks, plain variables, run-time errors.
func lockFree(r *rand.Rand, name string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("func %s(*testing.T) {\n\tvar a, b atomic.Int64\n\tvar mu sync.Mutex\n\tvar m "+
		"sync.Map\n\tc, d := make(chan int), make(chan int, 1)\n\tv, s := 0, []int{1, 2}", name)
	line("\t_, _, _, _, _, _, _, _ = &a, &b, &mu, &m, c, d, &v, s")
	var body func(in string, depth, n int)
	body = func(in string, depth, n int) {
		for range n {
			x := []string{"a", "b"}[r.IntN(2)]
			switch k := r.IntN(12); {
			case k < 3:
				line(in+"%s.Add(%d)", x, 1+r.IntN(2))
			case k < 4:
				line(in+"%s.Store(%d)", x, r.IntN(3))
			case k < 5:
				line(in+"%s.CompareAndSwap(%d, %d)", x, r.IntN(2), r.IntN(3))
			case k < 8 && depth < 2:
				line(in+"if %s.Load() %s %d {", x, []string{"==", ">", "<"}[r.IntN(3)], r.IntN(3))
				body(in+"\t", depth+1, 1)
				if r.IntN(2) == 0 {
					line(in + "} else {")
					body(in+"\t", depth+1, 1)
				}
				line(in + "}")
			case k < 9:
				line(in + []string{"d <- 1", "<-d", "c <- 1", "<-c"}[r.IntN(4)])
			case k < 10:
				line(in + []string{"mu.Lock()", "mu.Unlock()"}[r.IntN(2)])
			case k < 11:
				line(in+"m.Store(%d, 1)", r.IntN(2))
			default:
				line(in + []string{"v++", "s[a.Load()]++", "defer b.Add(1)"}[r.IntN(3)])
			}
		}
	}
	for range 2 {
		line("\tgo func() {")
		body("\t\t", 0, 1+r.IntN(3))
		line("\t}()")
	}
	body("\t", 0, r.IntN(3))
	line("}")
	return b.String()
}

// TestShapes: where a machine says that a goroutine's next transition is the same
// everywhere, it is; and the reduction, which asks it, explores each Mazurkiewicz trace
// once.
func TestShapes(t *testing.T) {
	n := 4 * cmp.Or(*concurrent, sample.Of(5, 6, 30))
	var src strings.Builder
	src.WriteString(
		"package m\n\nimport (\n\t\"sync\"\n\t\"sync/atomic\"\n\t\"testing\"\n)\n\nvar _ " +
			"atomic.Int64\nvar _ sync.Mutex\n\n")
	var names []string
	for i := range uint64(n) {
		name := fmt.Sprint("Test", *first+i)
		names = append(names, name)
		src.WriteString(lockFree(rand.New(rand.NewPCG(*first+i, 7)), name) + "\n")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.24\n",
		"a_test.go": src.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pkgs, err := gosrc.Load(t.Context(), []string{"."}, gosrc.Options{Dir: dir, Tests: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := pkgs[0].Compile()
	if err != nil {
		t.Fatalf("%v\n%s", err, src.String())
	}
	same, compared := 0, 0
	for i, name := range names {
		text := func() string { return lockFree(rand.New(rand.NewPCG(*first+uint64(i), 7)), name) }
		sys, err := c.Test(name, gosrc.Explore{NoLeaks: true})
		if err != nil {
			t.Fatal(err)
		}
		k, err := shapes(sys, 20_000)
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, text())
		}
		same += k
		traces, _, ok := allTraces(sys, 5_000)
		if !ok {
			continue
		}
		res, err := stateless.Run(t.Context(), sys.System, stateless.Options{
			Options: engine.Options{All: true, MaxViolations: 1000}, Reduction: stateless.DPOR})
		if err != nil {
			t.Fatal(err)
		}
		compared++
		if res.Executions != uint64(traces) || res.BlockedExecutions != 0 {
			t.Errorf("%s: %d executions and %d in vain, of %d Mazurkiewicz traces\n%s", name,
				res.Executions, res.BlockedExecutions, traces, text())
		}
	}
	t.Logf("%d programs, %d compared; %d transitions were said to be the same everywhere",
		len(names), compared, same)
	if same == 0 {
		t.Error("no transition was said to be the same everywhere")
	}
}

// shapes looks at all transitions of all executions, at most limit, and compares those of
// the same place that are said to be the same everywhere.
func shapes(sys system.System, limit int) (compared int, err error) {
	m := sys.NewMachine()
	can := m.Capabilities()
	m.Track(true)
	seen := map[string]string{}
	steps := 0
	var visit func()
	visit = func() {
		mark := m.Mark()
		for t := 0; t < m.NumThreads() && err == nil && steps < limit; t++ {
			for alt, more := uint64(0), true; more && err == nil && steps < limit; {
				promise := can.Shape(t)
				pos, what, _ := m.Next(t)
				steps++
				out := m.Step(t, alt)
				if promise&^system.MayVary == 0 {
					acc := slices.Clone(m.Accesses())
					for i := range acc {
						acc[i].Write = acc[i].Write && promise == 0
					}
					slices.SortFunc(acc, func(a, b system.Access) int {
						return int(a.Loc) - int(b.Loc)
					})
					is := fmt.Sprint(out.Kind, " ", out.Next, " ", acc)
					key := fmt.Sprint(t, " ", pos, " ", what)
					if was, ok := seen[key]; !ok {
						seen[key] = is
					} else if compared++; was != is {
						err = fmt.Errorf("%s is %s, and %s elsewhere", key, is, was)
					}
				}
				if out.Kind != system.Moved {
					break
				}
				visit()
				m.Rewind(mark)
				alt, more = out.Next, out.Next != 0
			}
		}
	}
	visit()
	return compared, err
}
