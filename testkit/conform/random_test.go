package conform

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cpor/testkit/sample"

	"cpor/frontend/gosrc"
	"cpor/testkit/gogen"
	"cpor/testkit/gotable"
)

var (
	sequential = flag.Int("sequential", 0, "number of random sequential programs")
	recursive  = flag.Int("recursive", 0, "number of random programs with recursive types")
	timed      = flag.Int("timed", 0, "number of random tests with timers")
	concurrent = flag.Int("concurrent", 0, "number of random concurrent programs")
	first      = flag.Uint64("first", 0, "the first seed")
)

// TestSequential runs random sequential programs in the machine and compiled by the
// real compiler: they must print the same.
func TestSequential(t *testing.T) {
	n := cmp.Or(*sequential, sample.Of(5, 7, 100))
	const batch = 100 // what is compiled together
	for from := 0; from < n; from += batch {
		sources := map[string]string{}
		for i := from; i < min(n, from+batch); i++ {
			seed := *first + uint64(i)
			sources[fmt.Sprint("seed ", seed)] = gogen.Sequential(rand.New(rand.NewPCG(seed, 2)),
				seed%4 == 0)
		}
		same(t, sources)
		t.Logf("%d programs", min(n, from+batch))
	}
}

// TestRecursive does the same with programs whose types refer to each other.
func TestRecursive(t *testing.T) {
	n := cmp.Or(*recursive, sample.Of(8, 10, 100))
	const batch = 100
	for from := 0; from < n; from += batch {
		sources := map[string]string{}
		for i := from; i < min(n, from+batch); i++ {
			seed := *first + uint64(i)
			sources[fmt.Sprint("seed ", seed)] = gogen.Recursive(rand.New(rand.NewPCG(seed, 3)))
		}
		same(t, sources)
		t.Logf("%d programs", min(n, from+batch))
	}
}

// same compares programs, which are compiled together: in the machine some after each
// other in one main package.
func same(t *testing.T, sources map[string]string) {
	const each = 20
	dir := t.TempDir()
	// which takes less time
	bin, err := gotable.Build(dir, gotable.DefaultGoVersion, sources, "-gcflags=-N -l")
	if err != nil {
		t.Fatal(err)
	}
	folders, err := bin.Rows(each)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]gotable.Outcome{}
	pkgs, err := gosrc.Load(t.Context(), folders, gosrc.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range pkgs {
		c, err := pkg.Compile()
		if err != nil {
			t.Fatal(err)
		}
		out, err := (&Program{Name: pkg.Path, compiled: c}).Once(10_000_000)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(parts, bin.Split(out.Output))
	}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		want, err := bin.Run(name, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if got := parts[name]; got != want {
			t.Errorf("%s: %s\n%s", name, difference(got, want), sources[name])
		}
	}
}

// difference shows where two outcomes begin to differ.
func difference(got, want gotable.Outcome) string {
	g, w := strings.Split(got.String(), " / "), strings.Split(want.String(), " / ")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d: the machine has %q, real Go %q", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("the machine prints %d lines, real Go %d: %q", len(g), len(w),
		append(g[min(len(g), len(w)):], w[min(len(g), len(w)):]...))
}

// engines are the searches that must agree.
var engines = []Run{
	{Mode: "stateless", Entry: "dpor"},
	{Mode: "stateless", Entry: "none"},
	{Mode: "stateless", Entry: "sleep"},
	{Mode: "stateful", Entry: "none", Explore: gosrc.Explore{Stored: true}},
	{Mode: "stateful", Entry: "cartesian", Explore: gosrc.Explore{Stored: true}},
}

// TestConcurrent compares the engines with the brute force of package gogen on
// random concurrent programs. Without a race each finds exactly the outcomes, and a
// race is reported if and only if some interleaving at the granularity of memory has
// two conflicting accesses next to each other.
func TestConcurrent(t *testing.T) {
	sources, brutes, loaded := concurrentPrograms(t, 1, 50_000, func(seed uint64) gogen.Shape {
		return gogen.Shape{Goroutines: 1 + int(seed%3)/2, Steps: 4, Vars: seed%2 == 0,
			Polls: seed%3 == 0, RW: seed%4 < 2, Groups: true}
	})
	count := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		for _, e := range engines {
			e.Timeout = *limit
			what := e.Mode + " " + e.Entry
			verdict := agree(t, name, sources[name], loaded[name], brutes[name], e)
			count[what+": "+verdict]++
		}
	}
	t.Log(count)
}

// concurrentPrograms generates programs whose interleavings the brute force can all
// try, at most so many of them for each, and returns their sources, what it found, and
// the programs, by name.
func concurrentPrograms(t *testing.T, stream uint64, most int,
	shape func(seed uint64) gogen.Shape) (map[string]string, map[string]gogen.Brute,
	map[string]*Program) {
	n := cmp.Or(*concurrent, sample.Of(5, 6, 30))
	sources := map[string]string{}
	brutes := map[string]gogen.Brute{}
	for i := range uint64(n) {
		seed := *first + i
		p := gogen.NewConcurrent(rand.New(rand.NewPCG(seed, stream)), shape(seed))
		b, ok := p.BruteForce(most)
		if !ok {
			continue
		}
		name := fmt.Sprint("seed ", seed)
		sources[name], brutes[name] = p.Source(), b
	}
	loaded, err := Load(t.Context(), t.TempDir(), gotable.DefaultGoVersion, sources)
	if err != nil {
		t.Fatal(err)
	}
	return sources, brutes, loaded
}

// TestMemory compares the engines, with a transition for each access to memory, with the
// brute force: each finds exactly the outcomes, those of programs that race included. And
// it holds the races that are reported otherwise against the states in which two
// goroutines are about to access the same, one of them writing.
func TestMemory(t *testing.T) {
	sources, brutes, loaded := concurrentPrograms(t, 6, 20_000, func(seed uint64) gogen.Shape {
		return gogen.Shape{Goroutines: 1 + int(seed%3)/2, Steps: 3, Vars: true, Plain: seed%4 > 0,
			Polls: seed%3 == 0, RW: seed%4 < 2}
	})
	count := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		b := brutes[name]
		race, complete, err := loaded[name].adjacentRace(20_000)
		switch {
		case err != nil:
			t.Fatalf("%s: %v", name, err)
		case !complete && !race:
			count["adjacent: incomplete"]++
		case race != b.Race:
			t.Errorf("%s: the machine has two accesses next to each other that race: %v, the "+
				"brute force: %v\n%s", name, race, b.Race, sources[name])
		default:
			count[fmt.Sprint("race ", race)]++
			e := engines[0]
			e.Timeout = *limit
			if verdict := agree(t, name, sources[name], loaded[name], b,
				e); verdict != "race" == race {
				t.Errorf("%s: %s\n%s", name, verdict, sources[name])
			}
		}
		b.Race = false // is no failure
		for _, e := range engines {
			e.Timeout = *limit
			e.Explore = gosrc.Explore{Granularity: gosrc.MemoryAccesses,
				NoRaces: e.Mode == "stateful"}
			what := e.Mode + " " + e.Entry
			verdict := agree(t, name, sources[name], loaded[name], b, e)
			count[what+": "+verdict]++
		}
	}
	t.Log(count)
}

// TestTimed holds the engines to the brute force on tests that sleep, start timers and wait with
// time-outs: every other one in a bubble of testing/synctest, and the others beside it in the
// same package.
func TestTimed(t *testing.T) {
	n := cmp.Or(*timed, sample.Of(10, 12, 100))
	var src strings.Builder
	src.WriteString("package m\n\nimport (\n\t\"sync\"\n\t\"sync/atomic\"\n\t\"testing\"\n" +
		"\t\"testing/synctest\"\n\t\"time\"\n)\n\nvar _ = synctest.Wait\n")
	sources, brutes := map[string]string{}, map[string]gogen.Brute{}
	for i := range uint64(n) {
		seed := *first + i
		r := rand.New(rand.NewPCG(seed, 8))
		p := gogen.NewTimed(r, seed%2 == 0, 1+int(seed%5)/2, 3)
		b, ok := p.BruteForce(30_000)
		if !ok {
			continue
		}
		name := fmt.Sprint("Test", seed)
		sources[name], brutes[name] = p.Source(name), b
		src.WriteString("\n" + sources[name])
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module m\n\ngo 1.25\n", "a_test.go": src.String(),
	} {
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
	count := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		for _, e := range engines {
			if e.Entry == "none" && e.Mode == "stateless" {
				continue // too many interleavings
			}
			e.Timeout, e.Explore.Time, e.Explore.NoLeaks = *limit, gosrc.AnyTime, true
			p := &Program{Name: name, compiled: c, test: name}
			verdict := agree(t, name, sources[name], p, brutes[name], e)
			count[e.Mode+" "+e.Entry+": "+verdict]++
		}
	}
	t.Log(count)
}

func agree(t *testing.T, name, source string, p *Program, b gogen.Brute, e Run) (verdict string) {
	what := e.Mode + " " + e.Entry
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("%s, %s: cpor panics: %v\n%s", name, what, r, source)
			verdict = "panic"
		}
	}()
	f, err := p.Outcomes(t.Context(), e)
	if err != nil {
		if no := new(gosrc.Unsupported); errors.As(err, &no) {
			return "refused"
		}
		t.Errorf("%s, %s: %v", name, what, err)
		return "error"
	}
	race := slices.Contains(f.Outcomes, gotable.Outcome{Ending: "race"})
	switch {
	case race && !b.Race:
		t.Errorf("%s, %s: a race is reported that there is not: %v\n%s", name, what,
			f.Violations[0].Violation, source)
		return "wrong"
	case race:
		return "race"
	case !f.Exhaustive:
		return "incomplete"
	case b.Race:
		t.Errorf("%s, %s: the race is not reported\n%s", name, what, source)
		return "wrong"
	}
	want := slices.SortedFunc(maps.Keys(b.Outcomes), gotable.Compare)
	if !slices.Equal(f.Outcomes, want) {
		t.Errorf("%s, %s: outcomes %q, want %q\n%s", name, what, f.Outcomes, want, source)
		return "wrong"
	}
	return "ok"
}
