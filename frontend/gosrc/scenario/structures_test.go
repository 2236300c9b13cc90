package scenario_test

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"cpor/engine"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/gotest"
	"cpor/frontend/gosrc/native"
	"cpor/testkit/sample"
)

// compiled loads and compiles the tests of a package in testdata.
func compiled(t *testing.T, name string) (*gosrc.Package, *gosrc.Compiled) {
	t.Helper()
	pkgs, err := gosrc.Load(t.Context(), []string{"."}, gosrc.Options{Tests: true,
		Dir: filepath.Join("testdata", name)})
	if err != nil {
		t.Fatal(err)
	}
	if errs := pkgs[0].Errors; len(errs) > 0 {
		t.Fatal(errors.Join(errs...))
	}
	c, err := pkgs[0].Compile()
	if err != nil {
		t.Fatal(err)
	}
	return pkgs[0], c
}

// TestStructures explores concurrent data structures, each right and with a fault: no right one
// fails, and all faults are found. Some of them by default.
func TestStructures(t *testing.T) {
	pkg, c := compiled(t, "structures")
	n, wrong := sample.Of(1, 1, 1000), 0
	tests := pkg.Tests()
	rand.New(rand.NewPCG(1, 0)).Shuffle(len(tests), func(i, j int) {
		tests[i], tests[j] = tests[j], tests[i]
	})
	for i, f := range tests {
		right := strings.HasSuffix(f.Name, "Right")
		if i >= n && (right || sample.Long() || i > 2*n) {
			continue
		}
		p, err := c.Test(f.Name, gosrc.Explore{})
		if err != nil {
			t.Fatal(err)
		}
		o := gotest.Options{}
		if right { // what it has not covered by then is not what this tests
			o.Timeout = time.Duration(sample.Of(1, 1, 5)) * time.Second
		}
		res, err := gotest.Run(t.Context(), p, o)
		switch {
		case err != nil:
			t.Errorf("%s: %v", f.Name, err)
		case right && res.Failure != nil:
			t.Errorf("%s: %s", f.Name, res.Failure.Message)
		case !right && res.Failure == nil:
			t.Errorf("%s: %v, %s; %s", f.Name, res.Verdict, res.Reason, res.Scenarios)
		case right:
			t.Logf("%s: %v, %d executions in %v; %s", f.Name, res.Verdict, res.Executions,
				res.Duration, res.Scenarios)
		default:
			wrong++
		}
	}
	t.Logf("%d faults found", wrong)
}

// TestShrink: of two goroutines with two calls each, three calls are enough to fail. The output
// says which, and the failure can be replayed.
func TestShrink(t *testing.T) {
	_, c := compiled(t, "micro")
	p, err := c.Test("TestSlot", gosrc.Explore{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := gotest.Run(t.Context(), p, gotest.Options{})
	if err != nil || res.Failure == nil {
		t.Fatalf("%+v, %v", res, err)
	}
	calls := regexp.MustCompile("check.Only(.*)").FindString(res.Failure.Output)
	if n := strings.Count(calls, "()"); n != 3 {
		t.Errorf("%d calls: %s", n, calls)
	}
	if !strings.Contains(res.Failure.Message, calls) {
		t.Errorf("%s\ndoes not name %s", res.Failure.Message, calls)
	}
	rec, err := res.Failure.Trace.Record(res.Program.System)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range rec.Events {
		if len(e.Accesses) > 1 { // the specification uses more, on values of its own
			t.Errorf("step %d: %+v", i+1, e.Accesses)
		}
	}
}

// TestForgotten: a deadlock says how to allow calls that wait.
func TestForgotten(t *testing.T) {
	_, c := compiled(t, "micro")
	p, err := c.Test("TestForgotten", gosrc.Explore{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := gotest.Run(t.Context(), p, gotest.Options{})
	if err != nil || res.Failure == nil || res.Failure.Kind != gotest.Deadlock ||
		!strings.Contains(res.Failure.Output, "MayWait") {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestProgress explores types whose calls end whoever is suspended, or not.
func TestProgress(t *testing.T) {
	pkg, c := compiled(t, "progress")
	quick := []string{"TestAbortBlocks", "TestCounter", "TestForgetAloneBlocks", "TestLockedBlocks"}
	for _, f := range pkg.Tests() {
		if !slices.Contains(quick, f.Name) && !sample.Long() || f.Name == "TestTiny" {
			continue
		}
		p, err := c.Test(f.Name, gosrc.Explore{NoLeaks: f.Name == "TestServedBlocks"})
		if err != nil {
			t.Fatal(err)
		}
		res, err := gotest.Run(t.Context(), p, gotest.Options{})
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		blocks := strings.HasSuffix(f.Name, "Blocks")
		t.Logf("%s: %v, %d states in %v; %s%s", f.Name, res.Verdict, res.States, res.Duration,
			res.Scenarios, res.Bound)
		if !blocks {
			if res.Verdict != engine.Pass || res.Bound == "" {
				t.Errorf("%s: %v; %s; %+v", f.Name, res.Verdict, res.Reason, res.Failure)
			}
			continue
		}
		want := "not lock-free: "
		if strings.HasSuffix(f.Name, "AloneBlocks") {
			want = "not obstruction-free: "
		}
		if g := res.Failure; g == nil || g.Kind != gotest.Progress ||
			!strings.HasPrefix(g.Message, want) {
			t.Errorf("%s: %v, %s; %+v", f.Name, res.Verdict, res.Scenarios, res.Failure)
		} else if again, err := gotest.ExplainStall(res.Program, g.Trace, g.Cycle); err != nil ||
			!reflect.DeepEqual(again.Stacks, g.Stacks) {
			t.Errorf("%s: once more: %+v, %v, want %+v", f.Name, again, err, g)
		}
	}
}

// TestShrinkNatively does the same natively, where the output has what the test logs, too.
func TestShrinkNatively(t *testing.T) {
	sample.Skip(t)
	if runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" {
		t.Skip("there is no native machine")
	}
	b, err := native.Build(t.Context(), native.BuildOptions{Package: ".",
		Dir: filepath.Join("testdata", "micro")})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	open := func(text string) (native.Process, error) {
		return b.Start("TestSlot", native.Auto, native.Limits{}, "CPOR_SCENARIO="+text)
	}
	res, err := gotest.RunNative(t.Context(), gotest.Native{Test: "TestSlot", Names: b,
		Open: func() (native.Process, error) { return open("") }, Scenario: open}, gotest.Options{})
	if err != nil || res.Failure == nil || res.Failure.History == nil {
		t.Fatalf("%+v, %v", res, err)
	}
	defer res.Release()
	f := res.Failure
	if n := strings.Count(f.History.Scenario, "()"); n != 3 {
		t.Errorf("%d calls: %s", n, f.History.Scenario)
	}
	if !strings.Contains(f.Output, "it may be taken twice\n") ||
		!strings.Contains(f.Output, f.History.Scenario) {
		t.Errorf("output %q", f.Output)
	}
	if !strings.HasSuffix(f.Pos.File, "micro_test.go") {
		t.Errorf("it fails at %v, not in the test", f.Pos)
	}
}

// TestLincheck finds what docs/linearizability.md says about examples of Lincheck.
func TestLincheck(t *testing.T) {
	sample.Skip(t)
	_, c := compiled(t, "lincheck")
	for name, want := range map[string]string{
		"TestPlain":         "data race on Plain.n",
		"TestTable":         "data race on Table.m",
		"TestSwitches":      "Even() = true (here: false)",
		"TestClocks":        "Late() = 0 (here: 1)",
		"TestSegmentsWrong": "Segments is not linearizable",
		"TestSegmentsRight": "",
	} {
		p, err := c.Test(name, gosrc.Explore{})
		if err != nil {
			t.Fatal(err)
		}
		res, err := gotest.Run(t.Context(), p, gotest.Options{})
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case want == "" && res.Verdict != engine.Pass,
			want != "" && (res.Failure == nil || !strings.Contains(res.Failure.Message, want)):
			t.Errorf("%s: %v, %+v, want %q", name, res.Verdict, res.Failure, want)
		}
	}
}
