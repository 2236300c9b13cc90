package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cpor/cmd/cpor/command"
	"cpor/testkit/sample"

	"github.com/google/go-cmp/cmp"

	"cpor/engine"
)

// everyFlag has models in which something is to be seen of every flag: races,
// several violations, a deadlock, a choice of orders, a spinning thread.
var everyFlag = map[string]string{
	// Two threads that can be exchanged.
	"twins.model": `const N = 2
var x int
symmetric thread T() { x = x + N; x = x + 1; assert(x != 6) }
ltl p { [] (x < 9) }
ltl q { <> (x == 6) }
init { go T(); go T() }
`,
	"violations.model": `const N = 2
var x, y [2]int
var done int
mutex m
thread T(i int) {
	x[i] = i
	y[i] = x[1-i]
	atomic { x[i] = N; done++ }
	if done == 2 {
		assert(y[0] != N)
		assert(y[1] == 77)
		assert(false)
	}
}
thread D() { lock(m); lock(m) }
ltl p { [] (done < 2) }
ltl q { <> (done == 2) }
init { go T(0); go T(1); go D() }
`,
	// The first access to x needs no lock if it initializes x.
	"locked.model": `const N = 2
var x int
mutex m
thread T(i int) {
	lock(m)
	x = x + N
	x = x + 1
	unlock(m)
}
thread Main() { x = 1; go T(0); go T(1) }
ltl p { [] (x < 90) }
ltl q { <> (x == 90) }
init { go Main() }
`,
	"race.model": `const N = 2
var x int
var b chan(0) int
thread T(i int) { x = N; x = 3; end_t: b <- 1 }
thread Spin() { for { x = x } }
ltl p { [] (x < N) }
ltl q { <> (x == 3) }
init { go T(0); go T(1) }
`,
	"spin.model": `const N = 2
var x, y int
var stop bool
thread T() { x = N; stop = true }
thread Spin() { for !stop { y = 1 - y } }
ltl p { [] (x < N) }
ltl q { <> (x == N) }
init { go T(); go Spin() }
`,
}

// TestFlagUse runs every flag in every mode and with every reduction and store:
// either something is to be seen of it, or it is refused with the name of what
// it cannot go with.
func TestFlagUse(t *testing.T) {
	// What each flag is tried with. One of the arguments must show in one of
	// the models.
	tries := map[string][]string{
		"D":          {"N=1"},
		"por":        nil, // below: a mode
		"workers":    {"3"},
		"timeout":    {"1ns"},
		"max-memory": {"1kB"},
		"max-states": {"3"},
		"json":       {""},
		"trace":      {"trace.json"},
		"sarif":      {"found.sarif"},
		// refused without JSON; testdata/script/trace.txtar has the rest
		"trace-states": {""},
		"minimize":     {"0"},
		"coverage":     {"coverage.txt"},
		"color":        {"always"},
		"q":            {""},
		"profile":      {"mem"},
		"search":       nil, // below: a mode
		"all":          {""},
		"deadlock":     {"false"},
		"validate":     {""},
		"store":        {"plain", "compact"},
		"choose":       {"early", "mixed"},
		// shows in twins.model; testdata/script/symmetry.txtar has the rest
		"symmetry":      {"off"},
		"races":         {"none", "ld'", "ld", "hb"},
		"init-thread":   {"x=Main[0]"},
		"max-invisible": {"2"},
		"select":        {"persistent", "persistent+sleep"},
		"invisible":     {"first", "composed"},
		"max-depth":     {"4"},
		"deepen":        {""},
		"U":             nil, // takes back an earlier -D; testdata/script/promela.txtar
		// refused with a file; testdata/script/promela.txtar has the rest
		"lang":            nil,
		"undo":            {"replay"},
		"max-transitions": {"3"},
		"ltl":             {"p"},
		"fair":            {""},
		"strong-fair":     {""},
		"prefix":          {"prefix.svg"},
		// refused without -max-memory; testdata/script/disk.txtar has the rest
		"disk":                {"spilled"},
		"checkpoint":          {"checkpoints"},
		"checkpoint-interval": {"1m"}, // refused without -checkpoint
		"cluster":             {""},   // where no launcher is, refused; TestCluster has the rest
	}
	var names []string
	command.RunFlags().VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	for _, name := range names {
		if !slices.ContainsFunc(engine.Entries(""), func(e *engine.Entry) bool {
			return command.Uses(e, name)
		}) {
			t.Errorf("no engine has a use for -%s", name)
		}
		// those of front ends: testdata/script/promela.txtar
		if _, ok := tries[name]; !ok && !command.OfFrontEnd(name) {
			t.Errorf("-%s is not tried", name)
		}
	}
	t.Chdir(t.TempDir())
	for name, text := range everyFlag {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var bases [][]string
	for _, e := range engine.Entries("") {
		base := []string{"-por", e.Name}
		if m := engine.LookupMode(e.Mode); m.Temporal {
			base = append([]string{"-ltl", "all"}, base...)
		} else if !m.Default {
			base = append([]string{"-search", m.Name}, base...)
		}
		bases = append(bases, base)
	}
	bases = append(bases,
		[]string{"-ltl", "all", "-por", "none", "-fair"},
		[]string{"-por", "none", "-races", "hb"}, []string{"-por", "none", "-races", "ld"},
		[]string{"-por", "none", "-races", "ld'"},
		[]string{"-por", "locks", "-races", "none"},
		[]string{"-por", "none", "-store", "plain"}, []string{"-store", "compact"},
		[]string{"-search", "stateless", "-deepen"}, []string{"-search", "stateless", "-undo",
			"replay"},
		[]string{"-search", "stateless", "-invisible", "first"}, []string{"-search", "stateless",
			"-invisible", "composed"},
		[]string{"-search", "stateless", "-max-depth", "20"},
	)
	if testing.Short() {
		bases = [][]string{bases[0], bases[2], bases[4], bases[9]}
	}
	for i, base := range bases {
		if !sample.Long() && !testing.Short() && i%5 != 0 {
			continue
		}
		t.Run(strings.Join(base, " "), func(t *testing.T) {
			without := map[string]string{}
			models := slices.Sorted(maps.Keys(everyFlag))
			if slices.Contains(base, "stateless") {
				// its executions have no end
				models = slices.DeleteFunc(models, func(m string) bool { return m == "spin.model" })
			}
			for _, model := range models {
				without[model], _ = shown(t, append(slices.Clone(base), "-workers", "1", model))
			}
			for _, name := range names {
				if slices.Contains(base, "-"+name) {
					continue
				}
				used, refused := false, true
				for _, value := range tries[name] {
					arg := "-" + name
					if value != "" {
						arg += "=" + value
					}
					for _, model := range models {
						args := append(slices.Clone(base), "-workers", "1", arg, model)
						got, code := shown(t, args)
						if code != command.ExitMistake {
							// To say what is done anyway changes nothing.
							refused = refused && arg == "-races=none"
							used = used || cmp.Diff(without[model], got) != ""
						} else if strings.Contains(got, "internal error") {
							t.Errorf("%v: %s", args, got)
						} else if !namesBoth(got, name, base) && !strings.Contains(got,
							"is not a thread of the initial state") && !strings.Contains(got,
							"too small") {
							t.Errorf("%v: refused with %q, which does not name both flags", args,
								got)
						} else {
							used = used || strings.Contains(got, "too small") ||
								strings.Contains(got, "is not a thread of the initial state")
						}
					}
				}
				if tries[name] != nil && !used && !refused {
					t.Errorf("%v -%s: nothing is to be seen of it", base, name)
				}
			}
		})
	}
}

// namesBoth reports whether a message names a flag and one of those in base, or one without
// which the flag has no meaning.
func namesBoth(message, name string, base []string) bool {
	other := regexp.MustCompile(`(^|[ (])-[a-z]+`)
	n := 0
	for _, f := range other.FindAllString(message, -1) {
		if strings.Trim(f, " (-") != name {
			n++
		}
	}
	return n > 0 && regexp.MustCompile(`(^|[ (])-`+regexp.QuoteMeta(name)+`\b`).MatchString(message)
}

// changing matches what differs from run to run, and what only repeats the
// flags.
var changing = regexp.MustCompile(
	`(?m)^  (time|memory|store|deadlocks) .*$|\s+[0-9.,]+[a-zA-Z]*/s$|, [0-9.]+(ms|µs|s)$| +$`)

// shown runs a command line and returns all that a user sees of it, without
// times and rates.
func shown(t *testing.T, args []string) (string, int) {
	t.Helper()
	stdout, stderr, code := inProcess(t, append([]string{"run"}, args...)...)
	s := fmt.Sprintf("exit code %d\n%s%s", code, changing.ReplaceAllString(stdout, ""), stderr)
	files, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if everyFlag[f] == "" {
			s += "file " + f + "\n"
			if err := os.RemoveAll(f); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s, code
}
