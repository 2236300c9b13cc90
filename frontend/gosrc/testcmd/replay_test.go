package testcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/gotest"
	"cpor/system"
	"cpor/trace"
)

// TestReplayNumbers: goroutines have numbers in the order in which the search met them, and a
// replay must not depend on that. Here an execution has made the child of first before that
// of second, while the failing one makes them in the other order.
// table is as wide as reports on a terminal of 80 columns.
var table = trace.TableOptions{Width: 76}

func TestReplayNumbers(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.24\n",
		"m_test.go": `package m

import (
	"sync"
	"testing"
)

func TestOrder(t *testing.T) {
	var mu sync.Mutex
	ran, early := false, false
	done := make(chan bool, 4)
	go func() { // first
		mu.Lock()
		ran = true
		mu.Unlock()
		go func() { done <- true }()
		done <- true
	}()
	go func() { // second
		go func() {
			mu.Lock()
			early = !ran
			mu.Unlock()
			done <- true
		}()
		done <- true
	}()
	for range 4 {
		<-done
	}
	if early {
		t.Error("the child of the second one was early")
	}
}
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	pkgs, err := gosrc.Load(t.Context(), []string{"."}, gosrc.Options{Dir: dir, Tests: true})
	if err != nil {
		t.Fatal(err)
	}
	fresh := func() *gosrc.Program {
		c, err := pkgs[0].Compile()
		if err != nil {
			t.Fatal(err)
		}
		prog, err := c.Test("TestOrder", gosrc.Explore{})
		if err != nil {
			t.Fatal(err)
		}
		return prog
	}
	prog := fresh()
	// The execution in which the lowest number continues makes the child of first first.
	m := prog.NewMachine()
	m.Load(prog.Initial()[0])
	for moved := true; moved; {
		moved = false
		for th := 0; th < m.NumThreads() && !moved; th++ {
			moved = m.Step(th, 0).Kind == system.Moved
		}
	}
	res, err := gotest.Run(t.Context(), prog, gotest.Options{Engine: gotest.DPOR, Workers: 1})
	if err != nil || res.Failure == nil {
		t.Fatalf("%+v, %v; want a failure", res, err)
	}
	want := Headline(res.Failure) + "\n" + Describe(res.Program, res.Failure, table, nil)

	follows := func(p *gosrc.Program) bool {
		m := p.NewMachine()
		m.Load(p.Initial()[0])
		for _, step := range res.Failure.Trace.Steps {
			if m.Step(step.Thread, step.Alt).Kind != system.Moved {
				return false
			}
		}
		return true
	}
	if follows(fresh()) {
		t.Fatal("the numbers are those of a fresh program, so that this test shows nothing")
	}

	file := filepath.Join(dir, "f.json")
	if err := (&session{config: &config{}}).save(file, pkgs[0], res.Program, "TestOrder",
		res.Failure); err != nil {
		t.Fatal(err)
	}
	doc, err := ReadSaved(file)
	if err != nil {
		t.Fatal(err)
	}
	again, err := doc.Program(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if !follows(again) {
		t.Error("the schedule is not that of the file's program")
	}
	f, err := gotest.Repeat(again, doc.Trace())
	if err != nil {
		t.Fatal(err)
	}
	if got := Headline(f) + "\n" + Describe(again, f, table, nil); got != want {
		t.Errorf("the replay shows\n%s\nwant\n%s", got, want)
	}
}

// TestReplayAsItIs: what is shown is the execution of the file, also if a shorter one fails,
// too; and if nothing fails in it, that is said.
func TestReplayAsItIs(t *testing.T) {
	dir := t.TempDir()
	write := func(op string) {
		for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.24\n",
			"m_test.go": `package m

import (
	"sync/atomic"
	"testing"
)

func TestLong(t *testing.T) {
	var n atomic.Int32
	done := make(chan bool, 2)
	for range 2 {
		go func() { n.Add(1); done <- true }()
	}
	if n.Load() ` + op + ` 1 {
		t.Error("bad")
	}
	<-done
	<-done
}
`} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	load := func() (*gosrc.Package, *gosrc.Program) {
		pkgs, err := gosrc.Load(t.Context(), []string{"."}, gosrc.Options{Dir: dir, Tests: true})
		if err != nil {
			t.Fatal(err)
		}
		c, err := pkgs[0].Compile()
		if err != nil {
			t.Fatal(err)
		}
		prog, err := c.Test("TestLong", gosrc.Explore{})
		if err != nil {
			t.Fatal(err)
		}
		return pkgs[0], prog
	}
	write("!=")
	pkg, prog := load()
	// All the others continue before the test does.
	m := prog.NewMachine()
	m.Load(prog.Initial()[0])
	tr := &trace.Trace{}
	for moved := true; moved; {
		moved = false
		for th := m.NumThreads() - 1; th >= 0 && !moved; th-- {
			out := m.Step(th, 0)
			if moved = out.Kind == system.Moved; moved {
				tr.Steps = append(tr.Steps, trace.Step{Thread: th})
			}
			if out.Violation != nil {
				moved = false
				break
			}
		}
	}
	f, err := gotest.Repeat(prog, tr)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "f.json")
	if err := (&session{config: &config{}}).save(file, pkg, prog, "TestLong", f); err != nil {
		t.Fatal(err)
	}
	show := func() (string, error) {
		var b strings.Builder
		err := (&session{config: &config{dir: dir, replay: file}, ctx: t.Context()}).replayFile(&b)
		return b.String(), err
	}
	got, err := show()
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.ReplaceAll(Describe(prog, f, table, nil), dir+string(filepath.Separator),
		""); !strings.Contains(got, want) {
		t.Errorf("the replay shows\n%s\nwant\n%s", got, want)
	}
	short, err := gotest.Explain(prog, tr)
	if err != nil || len(short.Trace.Steps) >= len(tr.Steps) {
		t.Fatalf("no shorter execution fails (%v), so that this test shows nothing", err)
	}
	write("<")
	if got, err := show(); err == nil || !strings.Contains(err.Error(), "nothing fails") {
		t.Errorf("the program was mended; the replay shows %q, %v", got, err)
	}
}
