package command

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cpor/engine"
	"cpor/frontend"
	"cpor/frontend/source"
	"cpor/internal/cliflag"
	"cpor/system"
	"cpor/testkit/toysystem"
)

// inProcess runs a command line in this process.
func inProcess(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	code = Run(t.Context(), args, strings.NewReader(""), &out, &err)
	return out.String(), err.String(), code
}

func writeModel(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "test.model")
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

const small = "var x int\nthread T() { x++ }\ninit { go T(); go T() }\n"

// TestHelpHasFlags makes sure that the help shows every flag, and fits the page.
func TestHelpHasFlags(t *testing.T) {
	for _, tt := range []struct {
		command []string
		flags   *cliflag.Set
	}{
		{[]string{"run", "all"}, new(runConfig).define()},
		{[]string{"check"}, new(checkConfig).define()},
	} {
		out, _, code := inProcess(t, append([]string{"help"}, tt.command...)...)
		if code != ExitPass {
			t.Errorf("help %s: exit code %d", tt.command, code)
		}
		tt.flags.VisitAll(func(f *flag.Flag) {
			if !strings.Contains(out, "\n  -"+f.Name+" ") && !strings.Contains(out,
				"\n  -"+f.Name+"\n") {
				t.Errorf("help %s does not show -%s", tt.command, f.Name)
			}
		})
		for _, l := range strings.Split(out, "\n") {
			if len(l) > pageWidth {
				t.Errorf("help %s: a line of %d columns: %s", tt.command, len(l), l)
			}
		}
	}
}

// faulty is a system with a fault; it stands behind files whose names end in
// .faulty, whose text says which.
type faulty struct {
	system.System
	fault string
}

func init() {
	frontend.Register(frontend.FrontEnd{Name: "faulty", Extensions: []string{".faulty"},
		Load: func(f *source.File, _ frontend.Options) (*frontend.Program, error) {
			p := toysystem.NewProgram()
			x := p.Scalar("x", 0)
			p.Thread("T", 0,
				toysystem.Atomic(toysystem.Store(x, nil, toysystem.Bin("+", toysystem.Load(x, nil),
					toysystem.Const(1)))), toysystem.Atomic())
			p.Thread("U", 0,
				toysystem.Atomic(toysystem.Store(x, nil, toysystem.Bin("*", toysystem.Load(x, nil),
					toysystem.Const(2)))), toysystem.Atomic())
			p.Start("T")
			p.Start("U")
			sys, err := toysystem.New(p)
			if err != nil {
				return nil, err
			}
			return &frontend.Program{System: &faulty{sys, strings.TrimSpace(f.Text)}}, nil
		}})
}

// Capabilities implements system.System: there are none.
func (f *faulty) Capabilities() system.Capabilities { return system.Capabilities{} }

func (f *faulty) Initial() []system.State {
	if f.fault == "before" {
		panic("before")
	}
	return f.System.Initial()
}

func (f *faulty) NewMachine() system.Machine {
	if f.fault == "early" {
		panic("early")
	}
	return &faultyMachine{f.System.NewMachine(), f.fault}
}

type faultyMachine struct {
	system.Machine
	fault string
}

// Capabilities implements system.Machine: there are none.
func (m *faultyMachine) Capabilities() system.MachineCapabilities {
	return system.MachineCapabilities{}
}

func (m *faultyMachine) Step(t int, alt uint64) system.Outcome {
	if m.fault == "step" {
		panic("in a worker")
	}
	return m.Machine.Step(t, alt)
}

// Accesses leaves out what was accessed.
func (m *faultyMachine) Accesses() []system.Access {
	if m.fault == "lies" {
		return nil
	}
	return m.Machine.Accesses()
}

// TestPanics makes sure that no panic reaches the user, wherever it happens.
func TestPanics(t *testing.T) {
	savedCommands := elsewhere
	defer func() { elsewhere = savedCommands }()
	elsewhere = append(elsewhere, &command{name: "panic", run: func(*env, []string) int {
		panic("command")
	}})
	for _, tt := range []struct {
		args  []string
		fault string
		want  string
	}{
		{[]string{"panic"}, "", "command"},
		{[]string{"run", "-workers", "4"}, "step", "in a worker"},
		{[]string{"run", "-por", "none", "-workers", "4"}, "step", "in a worker"},
		{[]string{"run", "-search", "stateless", "-workers", "4"}, "step", "in a worker"},
		{[]string{"run"}, "early", "early"},
		{[]string{"run", "-json"}, "before", "before"},
		{[]string{"run", "-search", "stateless"}, "before", "before"},
	} {
		if tt.fault != "" {
			tt.args = append(tt.args, faultyModel(t, tt.fault))
		}
		stdout, stderr, code := inProcess(t, tt.args...)
		if code != ExitMistake || stdout != "" {
			t.Errorf("%v: exit code %d, stdout %q", tt.args, code, stdout)
		}
		if !strings.Contains(stderr, "internal error: ") || !strings.Contains(stderr, tt.want) ||
			!strings.Contains(stderr, "Please report it") {
			t.Errorf("%v: %s", tt.args, stderr)
		}
	}
}

func faultyModel(t *testing.T, fault string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "test.faulty")
	if err := os.WriteFile(name, []byte(fault), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestValidation makes sure that a difference is an internal error.
func TestValidation(t *testing.T) {
	for _, por := range []string{"cartesian", "none"} {
		_, stderr, code := inProcess(t, "run", "-validate", "-por", por, faultyModel(t, "lies"))
		if code != ExitMistake || !strings.Contains(stderr, "internal error: validation: ") {
			t.Errorf("%s: exit code %d: %s", por, code, stderr)
		}
		if _, _, code := inProcess(t, "run", "-validate", "-por", por,
			faultyModel(t, "none")); code != ExitPass {
			t.Errorf("%s without a fault: exit code %d", por, code)
		}
	}
}

// brokenWriter is a full disk.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestFullDisk(t *testing.T) {
	model := writeModel(t, small)
	for _, args := range [][]string{{"run", model}, {"run", "-json", model}} {
		var stderr bytes.Buffer
		code := Run(t.Context(), args, nil, brokenWriter{}, &stderr)
		if code != ExitMistake || !strings.Contains(stderr.String(),
			"cannot write the result: no space left on device") {
			t.Errorf("%v: exit code %d: %s", args, code, stderr.String())
		}
	}
}

// TestVerdict makes sure that only an exhaustive search passes, whatever the
// search calls it.
func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		verdict    engine.Verdict
		exhaustive bool
		want       int
	}{
		{engine.Pass, true, ExitPass},
		{engine.Pass, false, ExitIncomplete},
		{engine.Violated, true, ExitViolation},
		{engine.Violated, false, ExitViolation},
		{engine.Incomplete, false, ExitIncomplete},
	} {
		r := &report{res: &engine.Result{Verdict: tt.verdict, Exhaustive: tt.exhaustive}}
		if got := r.exitCode(); got != tt.want {
			t.Errorf("%s, exhaustive %v: exit code %d, want %d", tt.verdict, tt.exhaustive, got,
				tt.want)
		}
	}
}

func TestProgress(t *testing.T) {
	first := engine.Progress{Elapsed: 9 * time.Second, Counters: engine.Counters{
		States: 900, Transitions: 4000}, Queued: 12, MaxDepth: 7, Memory: 64 << 20}
	second := engine.Progress{Elapsed: 3665 * time.Second, Counters: engine.Counters{
		States: 12_000_900, Transitions: 40_004_000}, Queued: 123_456, MaxDepth: 70,
		Memory: 3 << 30, Violations: 1}
	want := []string{
		"0:09  900 states (100/s)  4,000 transitions (444/s)  12 queued  depth 7  64 MiB  no " +
			"forecast yet",
		"1:01:05  1 violation  12.0M states (3,282/s)  40.0M transitions (10.9k/s)  123k queued  " +
			"depth 70  3.0 GiB  no forecast yet",
	}
	stored := engine.Entries("stateful")[0]
	p := &progress{counts: stored.Counts}
	got := []string{p.text(first, 0), p.text(second, 0)}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for width := narrowest - 6; width < 140; width++ {
		p.last = first
		if line := p.text(second, width); len(line) > width || !strings.HasPrefix(want[1], line) {
			t.Errorf("width %d: %q", width, line)
		}
	}
	var b bytes.Buffer
	quiet := newProgress(&env{stderr: &b}, &runConfig{quiet: true, entry: stored})
	if quiet.report != nil {
		t.Error("-q reports progress")
	}
	lines := newProgress(&env{stderr: &b}, &runConfig{entry: stored})
	lines.report(first)
	lines.done()
	if b.String() != want[0]+"\n" || lines.interval != lineEvery {
		t.Errorf("printed %q every %v", b.String(), lines.interval)
	}
}

func TestCommandLine(t *testing.T) {
	got := commandLine([]string{"run", "-D", "N=1", "a b.model", "", "it's"})
	if want := `run -D N=1 'a b.model' '' 'it'\''s'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestFlagValues: the words by which a flag's value is completed are values that it takes.
func TestFlagValues(t *testing.T) {
	n := 0
	for _, e := range engine.Entries("") {
		for _, f := range e.Flags {
			for _, v := range f.About().Values {
				n++
				if err := new(engine.Values).Set(f, v); err != nil {
					t.Errorf("-%s %s: %v", f.About().Name, v, err)
				}
			}
		}
	}
	if n == 0 {
		t.Error("no flag has any")
	}
}
