package machine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/frontend/promela/program"
	"cpor/system"
	"cpor/testkit/sample"
)

// needSpin skips a test that needs SPIN.
func needSpin(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs SPIN")
	}
	if _, err := exec.LookPath("spin"); err != nil {
		t.Skip("LEFT OUT: spin is not installed, so no trail is replayed by it here")
	}
}

// command runs a command and returns what it printed.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, _ := cmd.CombinedOutput() // spin's exit code says nothing
	return string(out)
}

var (
	reSettr = regexp.MustCompile(`settr\((\d+),\d+,\d+,\d+,\d+,"((?:[^"\\]|\\.)*)"`)
)

// TestElements compares the numbers of the statements with those that SPIN writes into
// its verifier, on all small models: the end of each process type has the number of
// SPIN's, which counts all that comes before.
func TestElements(t *testing.T) {
	needSpin(t)
	files, _ := filepath.Glob(filepath.Join(micro, "*.pml"))
	more, _ := filepath.Glob(filepath.Join("..", "..", "..", "examples", "promela", "*.pml"))
	compared := 0
	for i, f := range append(more, files...) {
		if i%4 != 0 && *spinModels <= 10 {
			continue // -spin 11 takes all
		}
		m, err := parseFile(f, nil)
		if err != nil {
			continue
		}
		p, err := program.Resolve(m)
		if err != nil || len(p.LTLs) > 0 {
			continue
		}
		dir := t.TempDir()
		text, _ := os.ReadFile(f)
		if err := os.WriteFile(filepath.Join(dir, "m.pml"), text, 0o666); err != nil {
			t.Fatal(err)
		}
		command(t, dir, "spin", "-o1", "-o2", "-o3", "-a", "m.pml")
		pan, err := os.ReadFile(filepath.Join(dir, "pan.t"))
		if err != nil {
			continue
		}
		ends := map[int]bool{}
		for _, x := range reSettr.FindAllStringSubmatch(string(pan), -1) {
			if x[2] == "-end-" {
				n, _ := strconv.Atoi(x[1])
				ends[n] = true
			}
		}
		for _, q := range p.Procs {
			if end := q.First + q.Elements - 1; !ends[end] {
				t.Errorf("%s: the end of %s is element %d, SPIN has %v", filepath.Base(f), q.Name,
					end, ends)
			}
			compared++
		}
	}
	if compared < 60 {
		t.Errorf("%d process types compared", compared)
	}
}

// violations are models with a way to a violation, and what spin -t says of it.
var violations = []struct{ name, text, says string }{
	{
		"assert",
		`byte x; active [2] proctype A() { byte t; t = x; t++; x = t; if :: _pid == 0 -> assert(x != 1 || _nr_pr < 2) :: else fi }
active proctype W() { x == 2; assert(false) }`, "assertion violated"},
	{
		"atomic",
		`byte x; chan c = [2] of { byte }; proctype P(byte n) { do :: n > 0 -> atomic { x++; if :: c!x :: skip fi; n-- } :: else -> break od; goto done; x = 9; done: skip }
init { byte i; for (i : 1 .. 2) { run P(2) } ; _nr_pr == 1; assert(len(c) != 2) }`,
		"assertion violated"},
	{"meet", `mtype = { ping, pong }; chan a = [0] of { mtype, byte }; chan b = [0] of { mtype };
active proctype A() { a!ping(3); b?pong; a!ping(4) }
active proctype B() { byte n; atomic { a?ping(n) -> n++ } d_step { n++; n-- } b!pong; assert(n == 3) }`, "assertion violated"},
	{
		"stuck",
		`chan c = [1] of { byte }; byte y; active proctype A() { c!1; { c!2; y = 1 } unless { y == 7 } } active proctype B() { byte i; select (i : 1 .. 3); c?eval(i); c?3 }`, "trail ends"},
	{
		"unless",
		`byte x; active proctype P() { d_step { x = 0; { x = 1 } unless { x = 2 } }; x = x + 2; assert(x != 3) }`, "assertion violated"},
	{"inline", `byte x; inline twice(v) { v++; if :: v > 1 -> v++ :: else fi; v-- }
active proctype A() { twice(x); twice(x); assert(x == 1) }`, "assertion violated"},
}

func shortest(t *testing.T, s *System) *search.Result {
	t.Helper()
	res, err := search.Run(context.Background(), s, full.Factory(s), search.Options{
		Options: engine.Options{Workers: 1}})
	if err != nil || len(res.Violations) == 0 {
		t.Fatalf("%v, %+v", err, res)
	}
	return res
}

// readTrail reads a trail and finds its execution.
func readTrail(s *System, text string) (*Followed, error) {
	t, err := ParseTrail(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	return s.Follow(t)
}

// TestWriteTrail writes trails and lets SPIN replay them.
func TestWriteTrail(t *testing.T) {
	for _, x := range violations {
		t.Run(x.name, func(t *testing.T) {
			s := parse(t, x.text)
			v := shortest(t, s).Violations[0]
			var b bytes.Buffer
			if err := s.WriteTrail(&b, v.Trace.Steps, -1, -1, v.Violation); err != nil {
				t.Fatal(err)
			}
			// What is written can be read.
			back, err := readTrail(s, b.String())
			if err != nil {
				t.Fatalf("%v\n%s", err, b.String())
			}
			if fmt.Sprint(back.Steps) != fmt.Sprint(v.Trace.Steps) || back.Violation == nil ||
				back.Violation.Kind != v.Kind || back.Violation.Pos != v.Violation.Pos {
				t.Errorf("read %v %+v, written %v %+v", back.Steps, back.Violation, v.Trace.Steps,
					v.Violation)
			}
			needSpin(t)
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "m.pml"), []byte(x.text), 0o666); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "x.trail"), b.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
			out := command(t, dir, "spin", "-t", "-k", "x.trail", "-p", "m.pml")
			if !strings.Contains(out, x.says) || strings.Contains(out, "transition failed") ||
				strings.Contains(out, "error: invalid statement") {
				t.Errorf("SPIN replays it so:\n%s\ntrail:\n%s", out, b.String())
			}
		})
	}
}

// TestReadTrail reads the trails of SPIN's verifier, with and without merged statements.
func TestReadTrail(t *testing.T) {
	needSpin(t)
	for i, x := range violations {
		for k, args := range [][]string{{"-o1", "-o2", "-o3", "-a", "m.pml"}, {"-a", "m.pml"}} {
			if !sample.Long() && (i+k)%16 != 0 {
				continue // compilers take seconds
			}
			t.Run(fmt.Sprint(x.name, args), func(t *testing.T) {
				s := parse(t, x.text)
				want := shortest(t, s).Violations[0]
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, "m.pml"), []byte(x.text),
					0o666); err != nil {
					t.Fatal(err)
				}
				out := command(t, dir, "spin", args...)
				out += command(t, dir, "cc", "-w", "-DSAFETY", "-o", "pan", "pan.c")
				out += command(t, dir, "./pan", "-n")
				f, err := os.ReadFile(filepath.Join(dir, "m.pml.trail"))
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				got, err := readTrail(s, string(f))
				if err != nil {
					t.Fatalf("%v\n%s", err, f)
				}
				if got.Violation == nil || got.Violation.Kind != want.Kind ||
					want.Kind != system.Deadlock && len(shortestPlaces(t, s, got.Violation)) == 0 {
					t.Errorf("%+v, want %+v", got.Violation, want.Violation)
				}
				if err := got.Replay(s); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// shortestPlaces returns the violations of a system at a violation's place.
func shortestPlaces(t *testing.T, s *System, v *system.Violation) (at []system.Pos) {
	res, err := search.Run(context.Background(), s, full.Factory(s), search.Options{
		Options: engine.Options{Workers: 1, All: true}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range res.Violations {
		if f.Violation.Pos == v.Pos {
			at = append(at, f.Violation.Pos)
		}
	}
	return at
}

// TestBadTrails: a trail that is none, or another model's, is refused with its line.
func TestBadTrails(t *testing.T) {
	s := parse(t, violations[0].text)
	for _, x := range []struct{ text, want string }{
		{"nonsense", `line 1: this is not a step of a trail, depth:process:statement, but "nonsense"`},
		{"1:0:0\n2:0\n", "line 2: this is not a step"},
		{"1:0:0:0\n", "line 1: this is not a step"},
		{"1:0:0x\n", "line 1: this is not a step"},
		{"1:0:99999999999999999999\n", "line 1: this is not a step"},
		{"1:0:0", `line 1: there is no end of line after "1:0:0": the trail is cut off`},
		{"1:0:0\n-1:-1:-1\n-1:-1:-1\n", "line 3: a second cycle"},
		{"-2:1:-2\n-2:1:-2\n", "line 2: a second claim"},
		{"1:0:0\n-2:1:-2\n", "line 2: the claim is named after the first step"},
		{"-2:300:-2\n", "line 1: there is no process type with the number 300"},
		{"-3:0:0\n", "line 1: a mark with the number -3 is not known"},
		{"1:7:0\n", "line 1: step 1 of the trail, statement 0 of process 7, cannot be taken, so " +
			"it is of another model: there is no such process"},
		{"1:0:1\n", "line 1: step 1 of the trail, statement 1 of process 0, cannot be taken, so " +
			"it is of another model: A[0] is at: t = x"},
		{"1:0:0\n2:0:0\n",
			"line 2: step 2 of the trail, statement 0 of process 0, cannot be taken"},
		{"1:-3:1\n", "line 1: processes and statements have numbers from 0 on"},
		{"1:0:-3\n", "line 1: processes and statements have numbers from 0 on"},
		{"1:255:0\n", "line 1: there is no process with the number 255"},
		{"1:0:0\n2:0:12345\n", "line 2: the model has no statement with the number 12345"},
	} {
		if _, err := readTrail(s, x.text); err == nil || !strings.HasPrefix(err.Error(), x.want) {
			t.Errorf("%q: %v, want %q", x.text, err, x.want)
		}
	}
}

// FuzzTrails: whatever a trail says, it is refused, or shows an execution.
func FuzzTrails(f *testing.F) {
	texts := []string{
		violations[1].text,
		"byte x; short n; active [2] proctype A() { do :: x = 1 - x :: atomic { x++; if :: n++ " +
			":: n-- fi; x-- } :: d_step { x == 1; x = 0 } od }\nnever { do :: true :: x == 1 -> " +
			"break od; accept: do :: x < 3 od }",
		violations[2].text,
	}
	var systems []*System
	for _, text := range texts {
		p, err := parseText(text)
		if err != nil {
			f.Fatal(err)
		}
		var o Options
		if len(p.Claims) > 0 {
			o.Claim = p.Claims[0]
		}
		s, err := New(p, o)
		if err != nil {
			f.Fatal(err)
		}
		systems = append(systems, s)
	}
	f.Add(uint8(0), "1:0:0\n2:0:1\n")
	f.Add(uint8(1), "-2:1:-2\n-4:-4:-4\n1:0:20\n2:1:0\n-1:-1:-1\n3:0:20\n4:1:0\n")
	f.Add(uint8(1), "1:0:2\n-1:-1:-1\n3:0:3\n")
	f.Add(uint8(2), "-5:0:2\n1:0:0\n1:1:6\n")
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		s := systems[int(which)%len(systems)]
		x, err := readTrail(s, text)
		if err != nil || x.Aside {
			return
		}
		m := s.newMachine()
		for i, st := range x.Steps {
			if out := m.Step(st.Thread, st.Alt); out.Kind != system.Moved {
				t.Fatalf("step %d of %v cannot be taken", i+1, x.Steps)
			}
		}
		if x.Loop > len(x.Steps) || x.Loop < -1 {
			t.Fatalf("the loop begins with step %d of %d", x.Loop, len(x.Steps))
		}
	})
}

// TestTold: a step is told with the messages by name, with their values where the text
// leaves them open, and with what a select has taken.
func TestTold(t *testing.T) {
	s := parse(t, `mtype = { ping, pong };
chan a = [0] of { mtype, byte }; chan b = [2] of { mtype };
active proctype A() { byte x; mtype what = pong; select (x : 4 .. 5); a!ping(x); b!what; b!ping }
active proctype B() { byte n; mtype m; a?m,n; b?m; b?ping }`)
	m := s.newMachine()
	m.Track(true)
	for _, x := range []struct {
		process int
		want    string
	}{
		{0, "select (x : 4 .. 5) = 5"},
		{0, "a!ping(x) → (ping,5); B[1]: a?m,n ← (ping,5)"}, {0, "b!what → pong"}, {0, "b!ping"},
		{1, "b?m ← pong"}, {1, "b?ping"},
	} {
		alt := uint64(0)
		if strings.HasPrefix(x.want, "select") {
			alt = 1
		}
		m.Load(m.Encode(nil))
		m.Step(x.process, alt)
		if _, got := m.Told(); got != x.want {
			t.Errorf("told as %q, want %q", got, x.want)
		}
	}
}
