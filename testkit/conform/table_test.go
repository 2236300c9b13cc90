package conform

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"cpor/testkit/sample"

	"cpor/frontend/gosrc"
	"cpor/testkit/gotable"
)

var (
	only  = flag.String("only", "", "the programs of the table whose names contain this")
	limit = flag.Duration("limit", 5*time.Second, "for each search")
	every = flag.Int("every", 0, "take every n-th program of the table only")
)

// thin returns how many of a list represent one that is taken; -times does not multiply it.
func thin(short, usual, long int) int {
	switch {
	case testing.Short():
		return short
	case sample.Long():
		return long
	}
	return usual
}

// loadTable compiles the programs of the table.
func loadTable(t *testing.T) ([]gotable.Program, map[string]*Program) {
	all, err := gotable.Read("../../frontend/gosrc/testdata/outcomes")
	if err != nil {
		t.Fatal(err)
	}
	byVersion := map[string]map[string]string{}
	var chosen []gotable.Program
	n := cmp.Or(*every, thin(240, 72, 4))
	for i, p := range all {
		if !strings.Contains(p.Name, *only) || i%n != 0 {
			continue
		}
		chosen = append(chosen, p)
		if byVersion[p.GoVersion] == nil {
			byVersion[p.GoVersion] = map[string]string{}
		}
		byVersion[p.GoVersion][p.Name] = p.Source
	}
	loaded := map[string]*Program{}
	for v, sources := range byVersion {
		ps, err := Load(t.Context(), t.TempDir(), v, sources)
		if err != nil {
			t.Fatal(err)
		}
		for name, p := range ps {
			loaded[name] = p
		}
	}
	return chosen, loaded
}

func explore(p *gotable.Program) gosrc.Explore {
	e := gosrc.Explore{}
	for i := 0; i+1 < len(p.Flags); i += 2 {
		switch p.Flags[i] {
		case "-time":
			e.Time = gosrc.Time(p.Flags[i+1])
		case "-choices":
			e.Maps, e.Draws = p.Flags[i+1] == "map", p.Flags[i+1] == "rand"
		}
	}
	return e
}

// readList reads a list of programs that are known to end in another way than they should,
// or not to be explored, with the reasons.
func readList(t *testing.T, name string) map[string]string {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if name, why, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			m[name] = why
		}
	}
	return m
}

// TestTable explores each program of the table and compares the outcomes with those
// that are known.
func TestTable(t *testing.T) {
	programs, loaded := loadTable(t)
	count := map[string]int{}
	known := readList(t, "testdata/gaps.txt")
	var reasons []string
	for _, p := range programs {
		start := time.Now()
		what := compare(t, &p, loaded[p.Name])
		kind, reason, _ := strings.Cut(what, ": ")
		switch why, gap := known[p.Name]; {
		case gap && kind == "ok":
			t.Errorf("%s is not a gap any more (%s): take it out of testdata/gaps.txt", p.Name, why)
		case !gap && kind != "ok":
			t.Errorf("%s: %s: %s", p.Name, kind, reason)
		}
		count[kind]++
		if kind != "ok" {
			reasons = append(reasons, fmt.Sprintf("%s: %s: %s", kind, p.Name, reason))
		}
		if d := time.Since(start); d > time.Second {
			t.Logf("%s took %v", p.Name, d)
		}
	}
	slices.Sort(reasons)
	t.Logf("%v\n%s", count, strings.Join(reasons, "\n"))
}

func compare(t *testing.T, p *gotable.Program, prog *Program) (what string) {
	defer func() {
		if r := recover(); r != nil {
			what = fmt.Sprint("panic: ", r)
		}
	}()
	f, err := prog.Outcomes(t.Context(), Run{Mode: "stateless", Entry: "dpor", Explore: explore(p),
		Timeout: *limit})
	if err != nil {
		if no := new(gosrc.Unsupported); errors.As(err, &no) {
			return "refused: " + err.Error()
		}
		return "error: " + err.Error()
	}
	races := slices.ContainsFunc(p.Outcomes, func(o gotable.Outcome) bool {
		return o.Ending == "race"
	})
	// Behind a race anything may happen: of a program with one, the race counts.
	if races && slices.Contains(f.Outcomes, gotable.Outcome{Ending: "race"}) {
		return "ok"
	}
	if !f.Exhaustive { // stored states find the end of executions that have none
		e := explore(p)
		e.NoRaces = true
		if f, err = prog.Outcomes(t.Context(), Run{Mode: "stateful", Entry: "none", Explore: e,
			Timeout: *limit}); err != nil {
			return "error: " + err.Error()
		}
	}
	got, want := f.Outcomes, p.Outcomes
	if len(want) > 1 {
		got, want = endings(got), endings(want)
	}
	for _, o := range got {
		if !slices.Contains(want, o) {
			return fmt.Sprintf("wrong: the machine ends with %q; want %q", o, want)
		}
	}
	if !f.Exhaustive {
		return "incomplete: " + f.Reason
	}
	if len(got) != len(want) {
		return fmt.Sprintf("wrong: outcomes %q, want %q", got, want)
	}
	return "ok"
}

// endings drops the output of executions that a failure ends. In the machine the
// other goroutines continue after it (so that every engine agrees on what is
// reachable), and print what they would not have printed.
func endings(os []gotable.Outcome) []gotable.Outcome {
	var out []gotable.Outcome
	for _, o := range os {
		if o.Ending != "" && o.Ending != "deadlock" {
			o.Output = ""
		}
		if !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	return out
}

// TestMapOrder: all engines find the same outcomes of loops over maps in every order.
func TestMapOrder(t *testing.T) {
	programs, err := gotable.Read("../../frontend/gosrc/testdata/outcomes")
	if err != nil {
		t.Fatal(err)
	}
	programs = slices.DeleteFunc(programs, func(p gotable.Program) bool {
		return !strings.HasPrefix(p.Name, "maporder/")
	})
	sources := map[string]string{}
	for _, p := range programs {
		sources[p.Name] = p.Source
	}
	loaded, err := Load(t.Context(), t.TempDir(), gotable.DefaultGoVersion, sources)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		for _, e := range engines {
			stored := e.Explore.Stored
			e.Explore = explore(&p)
			e.Explore.Stored = stored
			e.Timeout = time.Minute
			f, err := loaded[p.Name].Outcomes(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			if !f.Exhaustive || !slices.Equal(f.Outcomes, p.Outcomes) {
				t.Errorf("%s, %s %s: %q (%s), want %q", p.Name, e.Mode, e.Entry, f.Outcomes,
					f.Reason, p.Outcomes)
			}
		}
	}
}
