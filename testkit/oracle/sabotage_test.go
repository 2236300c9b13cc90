//go:build sabotage

package oracle_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"cpor/engine"
	"cpor/engine/lockset"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/engine/search/quotient"
	"cpor/frontend/model"
	"cpor/testkit/oracle"
	"cpor/testkit/racetest"
	"cpor/testkit/sabotage"
)

var (
	update    = flag.Bool("update", false, "write the table of sabotages into docs/oracle.md")
	saboteurs = flag.String("sabotage", "", "only the sabotages whose names begin so")
	by        = flag.String("by", "", "only tests whose names, as in the table, begin so")
)

// catcher is a check of the ordinary suite on generated programs, with the test that runs it,
// as many programs as it runs with -long, and what it knows best. What the table then names
// runs by default, too: see pinned.
type catcher struct {
	test     string
	programs uint64
	first    []string // the beginnings of the sabotages for which it is asked first
	check    func(seed uint64) (string, string)
}

func catchers(t *testing.T) []catcher {
	// Brute force is the same for all sabotages: it is done without any.
	known := map[string]*oracle.Semantics{}
	engine := func(prefix string, text func(seed uint64) string) func(seed uint64) (string,
		string) {
		var list []subject
		for _, e := range engines {
			if strings.HasPrefix(e.name, prefix) {
				list = append(list, e)
			}
		}
		return func(seed uint64) (string, string) {
			text := text(seed)
			want, ok := known[text]
			if !ok {
				on := sabotage.Now()
				sabotage.Set("")
				want, _, _ = oracle.Lockstep("generated.model", text, lockstepPairs)
				known[text] = want
				sabotage.Set(on)
			}
			if want == nil {
				return "", "refused"
			}
			m, err := model.Parse("generated.model", text, model.Options{})
			if err != nil {
				return err.Error(), ""
			}
			sabotaged := *want
			sabotaged.System = m.System()
			return against(list, &sabotaged, &tally{})
		}
	}
	drawn := func(seed uint64) string { return enginesProgram(seed, oracle.Sizes) }
	written := append(examples(t), chunks(t, "testdata/engines.models")...)
	structures, err := txtar.ParseFile("../../engine/search/quotient/testdata/isomorphism.txtar")
	if err != nil {
		t.Fatal(err)
	}
	return []catcher{
		{"TestLockstepExamples", uint64(len(written)), []string{"eval/", "sync/", "select/",
			"encode/"}, func(seed uint64) (string, string) {
			_, diff, _ := oracle.Lockstep("example.model", written[seed-1], 2000)
			return diff, ""
		}},
		{"TestEngines (full)", 700, []string{"full/", "search/", "store/"}, engine("full", drawn)},
		{"TestEngines (cartesian, -counts)", 700, []string{"cartesian/room", "cartesian/amount"},
			engine("cartesian", oracle.GenerateCounts)},
		{"TestEngines (stateless, -counts)", 700, []string{"commuting/"},
			engine("stateless", oracle.GenerateCounts)},
		{"TestEngines (cartesian)", 700, []string{"cartesian/", "access/"},
			engine("cartesian", drawn)},
		{"TestEngines (ample)", 700, []string{"ample/"}, engine("ample", drawn)},
		{"TestEngines (stateless)", 700, []string{"persistent/", "sleep/"},
			engine("stateless", drawn)},
		{"TestEnginesExamples", uint64(len(written)), nil, engine("", func(seed uint64) string {
			return written[seed-1]
		})},
		{"TestProgramLockstep", 1500, []string{"eval/", "sync/", "select/", "undo/", "encode/"},
			func(seed uint64) (string, string) {
				return walk(program(seed, oracle.Sizes), &tally{})
			}},
		{"TestVectorClocks", 1500, []string{"order/"}, func(seed uint64) (string, string) {
			return ordered(t, racetest.Generate(seed-1, 3, 4))
		}},
		{"TestIsomorphism", uint64(len(structures.Files)), []string{"names/"},
			func(seed uint64) (string, string) {
				file := structures.Files[seed-1]
				_, counts, _ := strings.Cut(file.Name, " ")
				for _, c := range strings.Fields(counts) {
					var n, orbits int
					if _, err := fmt.Sscanf(c, "%d:%d", &n, &orbits); err != nil {
						t.Fatal(file.Name, err)
					}
					m, err := model.Parse("structures.model", fmt.Sprintf("const N = %d\n%s", n,
						file.Data), model.Options{})
					if err != nil {
						t.Fatal(err)
					}
					q, err := quotient.New(m.System())
					if err != nil {
						t.Fatal(err)
					}
					if got := len(q.Initial()); got != orbits {
						return fmt.Sprintf("%d representatives, want %d", got, orbits), ""
					}
				}
				return "", ""
			}},
		{"TestTheorem1", 10_000, nil, func(seed uint64) (string, string) {
			return check(oracle.Generate(seed, configs[seed%uint64(len(configs))]))
		}},
	}
}

// ordered holds the races of the full search to vector clocks, as TestVectorClocks
// of package lockset does.
func ordered(t *testing.T, p *racetest.Program) (diff, over string) {
	want, ok := p.Racy(3000)
	if !ok {
		return "", "too large"
	}
	m, err := model.Parse("generated.model", p.Text(), model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sys, err := lockset.New(m.System(), lockset.Options{Rule: lockset.HB})
	if err != nil {
		t.Fatal(err)
	}
	res, err := search.Run(context.Background(), sys, full.Factory(sys), search.Options{
		Options: engine.Options{Workers: 1, All: true, IgnoreDeadlocks: true, KeepTraces: true,
			MaxViolations: 1 << 20}})
	if err != nil {
		return err.Error(), ""
	}
	got := map[string]bool{}
	for _, v := range res.Violations {
		if v.Kind == lockset.Race {
			got[v.Object] = true
		}
	}
	if !maps.Equal(got, want) {
		return fmt.Sprintf("races on %v, want %v", got, want), ""
	}
	return "", ""
}

// TestSabotage switches one sabotage on after the other and sees that a test catches it: on
// the program that the table names, or if that does not catch it any more, on any other.
func TestSabotage(t *testing.T) {
	const file, begin, end = "../../docs/oracle.md", "<!-- sabotages -->\n", "<!-- end -->\n"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	all, known := catchers(t), tableRows(string(b))
	for _, s := range sabotage.List {
		if !strings.HasPrefix(s.Name, *saboteurs) {
			continue
		}
		knows := func(c catcher) bool {
			return slices.ContainsFunc(c.first, func(p string) bool {
				return strings.HasPrefix(s.Name, p)
			})
		}
		order := slices.Clone(all)
		slices.SortStableFunc(order, func(a, b catcher) int {
			switch {
			case knows(a) && !knows(b):
				return -1
			case knows(b) && !knows(a):
				return 1
			}
			return 0
		})
		old := known[s.Name]
		holds := false
		for _, c := range all {
			if c.test == old.test && strings.HasPrefix(c.test, *by) {
				sabotage.Set(s.Name)
				holds = guarded(c.check, old.seed) != ""
				sabotage.Set("")
			}
		}
		row := ""
		for _, c := range order {
			if !strings.HasPrefix(c.test, *by) || holds && c.test != old.test {
				continue
			}
			sabotage.Set(s.Name)
			caught := uint64(0)
			if holds {
				caught = old.seed
			}
			for seed := uint64(1); seed <= c.programs && caught == 0; seed++ {
				if d := guarded(c.check, seed); d != "" {
					caught = seed
				}
			}
			sabotage.Set("")
			if caught > 0 {
				row = fmt.Sprintf("| %s | %s | %s | %d |", s.Name, s.What, c.test, caught)
				break
			}
		}
		if row == "" {
			t.Errorf("%s survives: %s", s.Name, s.What)
			row = fmt.Sprintf("| %s | %s | none | |", s.Name, s.What)
		}
		t.Log(row)
		rows = append(rows, row)
	}
	if *saboteurs != "" || *by != "" {
		return
	}
	table := strings.Join(rows, "\n") + "\n"
	head, rest, ok1 := strings.Cut(string(b), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the table", file)
	}
	text := head + begin + "| sabotage | what is broken | caught by | at program " +
		"|\n|---|---|---|---|\n" + table + end + tail
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	for i, s := range sabotage.List {
		if !strings.Contains(rest, rows[i]+"\n") {
			t.Errorf("the table in %s has another row for %s; run with -update", file, s.Name)
		}
	}
}

// guarded runs a check; a panic is a difference as well.
func guarded(check func(uint64) (string, string), seed uint64) (diff string) {
	defer func() {
		if r := recover(); r != nil {
			diff = fmt.Sprint("panic: ", r)
		}
	}()
	diff, _ = check(seed)
	return diff
}
