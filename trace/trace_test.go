package trace_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"cpor/testkit/sample"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/system"
	toy "cpor/testkit/toysystem"
	"cpor/trace"
	"cpor/trace/draw"
)

var (
	update = flag.Bool("update", false, "rewrite the golden files")
)

func mustNew(t testing.TB, p *toy.Program) system.System {
	t.Helper()
	sys, err := toy.New(p)
	if err != nil {
		t.Fatalf("%v\n%v", err, p)
	}
	return sys
}

// add is a node that adds d to a shared cell.
func add(v *toy.Var, idx toy.Expr, d int64) toy.Node {
	return toy.Atomic(toy.Store(v, idx, toy.Bin("+", toy.Load(v, idx), toy.Const(d))))
}

// lostUpdate has two threads that increment x without a lock, one that has
// nothing to do with it, and one that checks.
func lostUpdate() *toy.Program {
	p := toy.NewProgram()
	x := p.Scalar("x", 0)
	done := p.Scalar("done", 0)
	noise := p.Scalar("noise", 0)
	p.Thread("Inc", 1,
		toy.Atomic(toy.Set(0, toy.Load(x, nil))),
		toy.Atomic(toy.Store(x, nil, toy.Bin("+", toy.Reg(0), toy.Const(1)))),
		add(done, nil, 1))
	p.Thread("Noise", 0, add(noise, nil, 1), add(noise, nil, 1), add(noise, nil, 1))
	p.Thread("Check", 0,
		toy.AwaitDo(toy.Bin("==", toy.Load(done, nil), toy.Const(2)),
			toy.Assert(toy.Bin("==", toy.Load(x, nil), toy.Const(2)), "an update was lost")))
	p.Start("Inc")
	p.Start("Noise")
	p.Start("Inc")
	p.Start("Check")
	return p
}

// ring is n philosophers who all take the left fork first, and one idler who
// may wait forever.
func ring(n int) *toy.Program {
	p := toy.NewProgram()
	fork := p.Array("fork", make([]int64, n)...)
	never := p.Scalar("never", 0)
	left, right := toy.Reg(0), toy.Bin("%", toy.Bin("+", toy.Reg(0), toy.Const(1)),
		toy.Const(int64(n)))
	p.Thread("Philosopher", 1,
		toy.Lock(fork, left), toy.Lock(fork, right), toy.Unlock(fork, right),
		toy.Atomic(toy.Store(fork, left, toy.Const(0)), toy.Goto(0)))
	p.Thread("Idler", 0, toy.Node{Cases: []toy.Case{{Guard: toy.Load(never, nil)}}, AtEnd: true})
	p.Start("Idler")
	for i := range n {
		p.Start("Philosopher", int64(i))
	}
	return p
}

// crowd is n threads that each set a cell, and a check that comes when all
// have.
func crowd(n int) *toy.Program {
	p := toy.NewProgram()
	sum := p.Scalar("sum", 0)
	p.Thread("WorkerWithALongName", 1, add(sum, nil, 1))
	p.Thread("Check", 0, toy.AwaitDo(toy.Bin("==", toy.Load(sum, nil), toy.Const(int64(n))),
		toy.Assert(toy.Const(0), "everybody was there")))
	for i := range n {
		p.Start("WorkerWithALongName", int64(i))
	}
	p.Start("Check")
	return p
}

// find returns the first violation's trace as the search found it.
func find(t testing.TB, sys system.System) *trace.Trace {
	t.Helper()
	r, err := search.Run(context.Background(), sys, full.Factory(sys), search.Options{
		Options: engine.Options{Workers: 1, KeepTraces: true}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Violations) == 0 {
		t.Fatal("no violation")
	}
	return r.Violations[0].Trace
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ReplaceAll(string(want), "\r\n", "\n") != got {
		t.Errorf("%s differs (go test ./trace -update rewrites it); got:\n%s", file, got)
	}
}

// TestTable compares printed traces with golden files, and holds every line to
// the width.
func TestTable(t *testing.T) {
	tests := []struct {
		name string
		p    *toy.Program
		o    trace.TableOptions
	}{
		{"assertion", lostUpdate(), trace.TableOptions{}},
		{"assertion-narrow", lostUpdate(), trace.TableOptions{Width: 50}},
		{"deadlock", ring(3), trace.TableOptions{}},
		{"crowd", crowd(9), trace.TableOptions{}},
		{"elided", crowd(9), trace.TableOptions{MaxSteps: 4, MaxThreads: 3}},
		{"deadlock-many", ring(8), trace.TableOptions{MaxSteps: 6, MaxThreads: 4}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sys := mustNew(t, tt.p)
			rec, err := find(t, sys).Minimize(sys, trace.DefaultBudget).Record(sys)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			if err := draw.Table(&b, rec, tt.o); err != nil {
				t.Fatal(err)
			}
			width := tt.o.Width
			if width == 0 {
				width = 80
			}
			for line := range strings.Lines(b.String()) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
					t.Errorf("a line of %d columns: %q", n, line)
				}
			}
			golden(t, tt.name+".txt", b.String())
		})
	}
}

// TestWidths prints with every width and every number of threads.
func TestWidths(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 5, 6, 9} {
		sys := mustNew(t, crowd(n))
		rec, err := find(t, sys).Record(sys)
		if err != nil {
			t.Fatal(err)
		}
		for width := 1; width < 140; width++ {
			var b strings.Builder
			if err := draw.Table(&b, rec, trace.TableOptions{Width: width}); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(b.String()) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > max(width, 40) {
					t.Fatalf("%d threads, width %d: a line of %d columns: %q", n, width, n, line)
				}
			}
		}
	}
}

func TestEmptyTrace(t *testing.T) {
	p := toy.NewProgram()
	x := p.Scalar("x", 0)
	p.Thread("T", 0, toy.Await(toy.Load(x, nil)))
	p.Start("T")
	sys := mustNew(t, p)
	rec, err := find(t, sys).Minimize(sys, trace.DefaultBudget).Record(sys)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := draw.Table(&b, rec, trace.TableOptions{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "empty.txt", b.String())
	js, err := json.Marshal(rec)
	if err != nil || !strings.Contains(string(js), `"trace":[]`) {
		t.Errorf("%s, %v", js, err)
	}
}

func TestJSON(t *testing.T) {
	for _, tt := range []struct {
		name string
		p    *toy.Program
	}{{"assertion", lostUpdate()}, {"deadlock", ring(2)}} {
		sys := mustNew(t, tt.p)
		rec, err := find(t, sys).Minimize(sys, trace.DefaultBudget).Record(sys)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := rec.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		golden(t, tt.name+".json", b.String())
		// The events as the command's JSON has them.
		var events []struct {
			Thread, Pos, Text string
			Accesses          []struct {
				Loc   string
				Write bool
				Value string
			}
			Locals map[string]string
		}
		js, err := json.Marshal(rec.Events)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(js, &events); err != nil {
			t.Fatal(err)
		}
		for i, e := range events {
			if e.Thread != rec.Events[i].Thread || e.Text != rec.Events[i].Text ||
				e.Locals == nil || e.Pos == "" {
				t.Errorf("event %d: %+v", i, e)
			}
		}
	}
}

func TestWriteFile(t *testing.T) {
	sys := mustNew(t, ring(2))
	rec, err := find(t, sys).Record(sys)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, start := range map[string]string{"t.json": "{\n", "t.txt": "Philosopher\n",
		"t": "Philosopher\n"} {
		file := filepath.Join(dir, name)
		if err := draw.File(file, rec); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(file)
		if err != nil || !(strings.HasPrefix(string(got), start) || name != "t.json" &&
			strings.Contains(string(got), "blocked")) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
	if err := draw.File(filepath.Join(dir, "no", "such", "folder"), rec); err == nil {
		t.Error("a file in a folder that does not exist was written")
	}
}

func TestReplayErrors(t *testing.T) {
	sys := mustNew(t, lostUpdate())
	good := find(t, sys)
	if err := good.Replay(sys); err != nil {
		t.Fatal(err)
	}
	other := *good.Violation
	other.Pos.Line++
	var ne *trace.NotEnabledError
	var mm *trace.MismatchError
	steps := good.Steps
	tests := []struct {
		name   string
		t      trace.Trace
		target any
	}{
		{"no such initial state", trace.Trace{Initial: 1}, nil},
		{"negative initial state", trace.Trace{Initial: -1}, nil},
		{"no such thread", trace.Trace{Steps: []trace.Step{{Thread: 4}}}, &ne},
		{"negative thread", trace.Trace{Steps: []trace.Step{{Thread: -1}}}, &ne},
		{"blocked thread", trace.Trace{Steps: []trace.Step{{Thread: 3}}}, &ne},
		{"ended thread", trace.Trace{Steps: []trace.Step{{Thread: 1}, {Thread: 1}, {Thread: 1},
			{Thread: 1}}}, &ne},
		{"no violation", trace.Trace{Steps: steps[:len(steps)-1], Violation: good.Violation}, &mm},
		{"another place", trace.Trace{Steps: steps, Violation: &other}, &mm},
		{"no deadlock", trace.Trace{Steps: steps[:1], Violation: &system.Violation{
			Kind: system.Deadlock}}, &mm},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.t.Replay(sys)
			if err == nil || tt.target != nil && !errors.As(err, tt.target) {
				t.Errorf("Replay: %v", err)
			}
			if trace.IsReplayError(err) != (tt.target != nil) {
				t.Errorf("IsReplayError(%v) = %v", err, !trace.IsReplayError(err))
			}
			if _, rerr := tt.t.Record(sys); rerr == nil || rerr.Error() != err.Error() {
				t.Errorf("Record: %v, Replay: %v", rerr, err)
			}
			if got := tt.t.Minimize(sys, trace.DefaultBudget); got != &tt.t {
				t.Error("a trace that does not replay was minimized")
			}
		})
	}
}

// minimal checks that a minimized trace shows the same and is not longer.
func minimal(t *testing.T, sys system.System, before *trace.Trace, p *toy.Program) *trace.Trace {
	t.Helper()
	after := before.Minimize(sys, trace.DefaultBudget)
	if err := after.Replay(sys); err != nil {
		t.Fatalf("the minimized trace: %v\n%v", err, p)
	}
	if len(after.Steps) > len(before.Steps) || len(after.Steps) == len(before.Steps) &&
		after.Switches() > before.Switches() {
		t.Fatalf("%d steps with %d switches became %d with %d\n%v", len(before.Steps),
			before.Switches(), len(after.Steps), after.Switches(), p)
	}
	if before.Violation == nil || before.Violation.Kind == system.Deadlock {
		if a, b := last(sys, before), last(sys, after); !slices.Equal(a, b) {
			t.Fatalf("the last state changed\n%v", p)
		}
	}
	return after
}

func last(sys system.System, tr *trace.Trace) system.State {
	m := sys.NewMachine()
	m.Load(sys.Initial()[tr.Initial])
	for _, s := range tr.Steps {
		m.Step(s.Thread, s.Alt)
	}
	return m.Encode(nil)
}

// TestMinimize minimizes the traces of long random walks over random programs:
// to their violations, to their deadlocks, and to wherever they end.
func TestMinimize(t *testing.T) {
	programs := sample.Of(300, 1500, 15_000)
	violations, shorter, fewer := 0, 0, 0
	for seed := range programs {
		r := rand.New(rand.NewPCG(uint64(seed), 11))
		p := toy.Random(r, toy.Config{Observer: r.IntN(2) == 0, Threads: 5})
		sys := mustNew(t, p)
		m := sys.NewMachine()
		m.Load(sys.Initial()[0])
		tr := &trace.Trace{}
		for range 1 + r.IntN(60) {
			th := r.IntN(m.NumThreads())
			out := m.Step(th, 0)
			s := trace.Step{Thread: th}
			for out.Next != 0 && r.IntN(2) == 0 {
				// Take a later alternative instead.
				m.Load(last(sys, tr))
				s.Alt = out.Next
				out = m.Step(th, s.Alt)
			}
			if out.Kind != system.Moved {
				continue
			}
			tr.Steps = append(tr.Steps, s)
			if out.Violation != nil {
				tr.Violation = out.Violation
				violations++
				break
			}
		}
		if tr.Violation == nil {
			d := &trace.Trace{Steps: tr.Steps, Violation: &system.Violation{Kind: system.Deadlock}}
			if d.Replay(sys) == nil {
				violations++
				tr = d
			}
		}
		got := minimal(t, sys, tr, p)
		if len(got.Steps) < len(tr.Steps) {
			shorter++
		}
		if got.Switches() < tr.Switches() {
			fewer++
		}
		again := minimal(t, sys, got, p)
		if len(again.Steps) != len(got.Steps) || again.Switches() != got.Switches() {
			t.Fatalf("seed %d: minimizing twice helps: %d steps, %d switches, then %d, %d", seed,
				len(got.Steps), got.Switches(), len(again.Steps), again.Switches())
		}
	}
	t.Logf("%d walks, %d violations; %d became shorter, %d have fewer switches", programs,
		violations, shorter, fewer)
	if violations < programs/20 || shorter < programs/4 || fewer < programs/4 {
		t.Errorf("%d walks, but only %d violations, %d shorter, %d with fewer switches", programs,
			violations, shorter, fewer)
	}
}

// TestFewestSwitches pins the numbers of steps and of context switches of
// traces whose least numbers can be seen by thinking.
func TestFewestSwitches(t *testing.T) {
	tests := []struct {
		name            string
		p               *toy.Program
		steps, switches int
	}{
		// Both read x before either writes it: one has to be interrupted, and
		// the check comes last.
		{"lost update", lostUpdate(), 7, 3},
		// Each takes one fork.
		{"ring 2", ring(2), 2, 1},
		{"ring 6", ring(6), 6, 5},
		{"crowd", crowd(5), 6, 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sys := mustNew(t, tt.p)
			got := minimal(t, sys, find(t, sys), tt.p)
			if len(got.Steps) != tt.steps || got.Switches() != tt.switches {
				t.Errorf("%d steps with %d switches, want %d with %d: %v", len(got.Steps),
					got.Switches(), tt.steps, tt.switches, got.Steps)
			}
		})
	}
}

// TestLongTrace minimizes a trace that is too long for the exact search.
func TestLongTrace(t *testing.T) {
	p := toy.NewProgram()
	const threads = 12
	x := p.Array("x", make([]int64, threads)...)
	barrier := p.Scalar("barrier", 0)
	n := toy.Bin("%", toy.Bin("+", toy.Reg(0), toy.Const(1)), toy.Const(threads))
	var code []toy.Node
	for range 20 {
		code = append(code, add(x, toy.Reg(0), 1), add(x, n, 1))
	}
	code = append(code, add(barrier, nil, 1))
	p.Thread("T", 1, code...)
	p.Thread("Check", 0, toy.AwaitDo(toy.Bin("==", toy.Load(barrier, nil), toy.Const(threads)),
		toy.Assert(toy.Const(0), "end")))
	for i := range threads {
		p.Start("T", int64(i))
	}
	p.Start("Check")
	sys := mustNew(t, p)
	r := rand.New(rand.NewPCG(1, 1))
	m := sys.NewMachine()
	tr := &trace.Trace{}
	for tr.Violation == nil {
		th := r.IntN(threads + 1)
		if out := m.Step(th, 0); out.Kind == system.Moved {
			tr.Steps = append(tr.Steps, trace.Step{Thread: th})
			tr.Violation = out.Violation
		}
	}
	got := minimal(t, sys, tr, nil)
	// Additions conflict, but each is its own transition, so that only the
	// order on each cell must stay as it was.
	t.Logf("%d switches of %d", got.Switches(), tr.Switches())
	if got.Switches() > tr.Switches()*2/3 {
		t.Errorf("%d switches of %d are left", got.Switches(), tr.Switches())
	}
}

func ExampleTrace_Record() {
	p := toy.NewProgram()
	x := p.Scalar("x", 0)
	p.Thread("Writer", 0, toy.Atomic(toy.Store(x, nil, toy.Const(1))))
	p.Thread("Reader", 0, toy.Atomic(toy.Assert(toy.Not(toy.Load(x, nil)), "too late")))
	p.Start("Writer")
	p.Start("Reader")
	sys, err := toy.New(p)
	if err != nil {
		fmt.Println(err)
		return
	}
	tr := &trace.Trace{Steps: []trace.Step{{Thread: 0}, {Thread: 1}}}
	rec, err := tr.Record(sys)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range rec.Events {
		for _, a := range e.Accesses {
			fmt.Println(e.Thread, a.Loc, a.Write, a.Value)
		}
	}
	// Output:
	// Writer[0] x true 1
	// Reader[0] x false 1
}
