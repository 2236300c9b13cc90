package native_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cpor/frontend/gosrc/native"
	"cpor/testkit/gotable"
)

var (
	long = flag.Bool("long", false, "compile and run programs")
	only = flag.String("only", "", "run only the programs whose name contains this")
)

func needLong(t *testing.T) {
	if !*long {
		t.Skip("compiles Go's library once: -long")
	}
}

// module writes a module and returns its directory.
func module(t *testing.T, goVersion string, files map[string]string) string {
	dir := t.TempDir()
	files["go.mod"] = "module m\n\ngo " + goVersion + "\n"
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func build(t *testing.T, o native.BuildOptions) *native.Binary {
	b, err := native.Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func start(t *testing.T, b *native.Binary, test string, mode native.Mode) native.Process {
	p, err := b.Start(test, mode, native.Limits{Step: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// all calls f for the executions that differ in a choice, at most max of them, and tells
// whether these were all.
func all(t *testing.T, p native.Process, max int, f func(x *native.Execution)) (complete bool) {
	type point struct {
		choices []native.Choice
		next    int
	}
	var path []point
	for n := 0; ; n++ {
		if n == max {
			return false
		}
		prefix := make([]native.Choice, len(path))
		for i, q := range path {
			prefix[i] = q.choices[q.next]
		}
		x, err := p.Run(t.Context(), prefix, native.Policy{MaxSteps: 400})
		if err != nil {
			t.Errorf("%v with %v", err, prefix)
			return false
		}
		f(x)
		if x.End == native.TooLarge {
			return false
		}
		// Who could run at each point behind the prefix.
		now := map[int32]int32{}
		note := func(ps []native.Pending) {
			for _, q := range ps {
				now[q.Thread] = q.Enabled
			}
		}
		note(x.First)
		for i, s := range x.Steps {
			if i >= len(prefix) {
				q := point{choices: []native.Choice{s.Choice}}
				for _, th := range slices.Sorted(maps.Keys(now)) {
					for alt := range now[th] {
						if c := (native.Choice{Thread: th, Alt: alt}); c != s.Choice {
							q.choices = append(q.choices, c)
						}
					}
				}
				path = append(path, q)
			}
			note(s.After)
		}
		for len(path) > 0 && path[len(path)-1].next+1 == len(path[len(path)-1].choices) {
			path = path[:len(path)-1]
		}
		if len(path) == 0 {
			return true
		}
		path[len(path)-1].next++
	}
}

// outcome returns what a table says of such an end.
func outcome(x *native.Execution) gotable.Outcome {
	ending := ""
	switch {
	case x.Failure != nil && x.Failure.Kind == "panic", x.Failure != nil && x.Failure.Kind == "fatal":
		line, _, _ := strings.Cut(x.Failure.Message, "\n")
		ending = string(x.Failure.Kind) + ": " + line
	case x.Failure != nil && x.Failure.Kind == "race":
		ending = "race"
	case x.End == native.Exited && x.Failure != nil:
		ending = "exit " + strings.TrimSuffix(strings.TrimPrefix(x.Failure.Message, "os.Exit("), ")")
	case x.End == native.Deadlock:
		ending = "deadlock"
	case x.End == native.Cut:
		ending = "livelock"
	case x.End != native.Passed && x.End != native.Exited:
		ending = fmt.Sprintf("end %d %v", x.End, x.Failure)
	}
	if ending == "exit 0" {
		ending = ""
	}
	return gotable.NewOutcome(string(x.Output), ending)
}

// TestOutcomes: the outcomes of the programs of the tables, under all schedules or many of them,
// are those that stand there.
func TestOutcomes(t *testing.T) {
	needLong(t)
	programs, err := gotable.Read("../testdata/outcomes")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	var tests strings.Builder
	var imports strings.Builder
	var run []gotable.Program
	for _, p := range programs {
		if p.GoVersion != gotable.DefaultGoVersion || len(p.Flags) > 0 || *only != "" && !strings.Contains(p.Name, *only) {
			continue
		}
		pkg := fmt.Sprintf("p%d", len(run))
		src := strings.Replace(p.Source, "package main", "package "+pkg, 1)
		src = strings.Replace(src, "func main()", "func Main()", 1)
		files[pkg+"/p.go"] = src
		fmt.Fprintf(&imports, "import %q\n", "m/"+pkg)
		fmt.Fprintf(&tests, "func Test_%s(t *testing.T) { %s.Main() }\n", pkg, pkg)
		run = append(run, p)
	}
	files["all_test.go"] = "package m\n\nimport \"testing\"\n" + imports.String() + tests.String()
	b := build(t, native.BuildOptions{Dir: module(t, gotable.DefaultGoVersion, files), Package: ".", Main: true})
	found, expected, complete := 0, 0, 0
	for i, prog := range run {
		t.Run(prog.Name, func(t *testing.T) {
			p := start(t, b, fmt.Sprintf("Test_p%d", i), native.Auto)
			got := map[gotable.Outcome]bool{}
			see := func(x *native.Execution) {
				o := outcome(x)
				if o.Ending == "livelock" && !slices.Contains(prog.Outcomes, o) {
					return
				}
				if !got[o] && !slices.Contains(prog.Outcomes, o) {
					var frames []native.Stack
					if x.Failure != nil {
						frames = x.Failure.Stacks
					}
					t.Errorf("%v is no outcome of the program %v", o, frames)
				}
				got[o] = true
			}
			for seed := range uint64(100) {
				x, err := p.Run(t.Context(), nil, native.Policy{Kind: native.Random, Seed: seed, MaxSteps: 2000})
				if err != nil {
					t.Fatal(err)
				}
				see(x)
				if x.End == native.TooLarge {
					return
				}
			}
			done := all(t, p, 1500, see)
			if done {
				complete++
			}
			expected += len(prog.Outcomes)
			for _, o := range prog.Outcomes {
				if got[o] {
					found++
				} else if done {
					t.Errorf("%v is not found", o)
				}
			}
		})
	}
	t.Logf("%d of %d outcomes of %d programs found, %d programs covered", found, expected, len(run), complete)
}

// TestDiverged: choices that cannot be followed.
func TestDiverged(t *testing.T) {
	needLong(t)
	b := build(t, native.BuildOptions{Package: ".", Dir: module(t, "1.26", map[string]string{
		"a_test.go": "package a\nimport \"testing\"\nfunc TestA(t *testing.T) {}\n"})})
	p := start(t, b, "TestA", native.Auto)
	var d *native.Diverged
	for _, prefix := range [][]native.Choice{{{Thread: 7}}, {{Thread: 0, Alt: 3}}} {
		if _, err := p.Run(context.Background(), prefix, native.Policy{}); !errors.As(err, &d) {
			t.Errorf("%v: %v", prefix, err)
		}
	}
	if x, err := p.Run(context.Background(), []native.Choice{{}}, native.Policy{}); err != nil || x.End != native.Passed {
		t.Errorf("%v, %v", x, err)
	}
}
