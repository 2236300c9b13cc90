package trace_test

import (
	"testing"

	toy "cpor/testkit/toysystem"
	"cpor/trace"
)

// TestRecordInTime: of a long execution, only what precedes the hurry and the end is described.
func TestRecordInTime(t *testing.T) {
	p := toy.NewProgram()
	x := p.Scalar("x", 0)
	var code []toy.Node
	for range 200 {
		code = append(code, add(x, nil, 1))
	}
	code = append(code, toy.Atomic(toy.Assert(toy.Const(0), "end")))
	p.Thread("T", 0, code...)
	p.Start("T")
	sys := mustNew(t, p)
	m := sys.NewMachine()
	tr := &trace.Trace{}
	for tr.Violation == nil {
		tr.Violation = m.Step(0, 0).Violation
		tr.Steps = append(tr.Steps, trace.Step{})
	}
	asked := 0
	rec, err := tr.RecordInTime(sys, func() bool { asked++; return asked > 10 })
	if err != nil {
		t.Fatal(err)
	}
	whole, err := tr.Record(sys)
	if err != nil {
		t.Fatal(err)
	}
	if len(rec.Events) != len(tr.Steps) {
		t.Fatalf("%d events of %d steps", len(rec.Events), len(tr.Steps))
	}
	untold := 0
	for i, e := range rec.Events {
		if e.Thread != whole.Events[i].Thread {
			t.Errorf("step %d is one of %q", i, e.Thread)
		}
		switch {
		case e.Text == "..." && len(e.Accesses) == 0:
			untold++
		case e.Text != whole.Events[i].Text || len(e.Accesses) != len(whole.Events[i].Accesses):
			t.Errorf("step %d: %+v, want %+v", i, e, whole.Events[i])
		}
	}
	if want := len(tr.Steps) - 10 - 50; untold != want {
		t.Errorf("%d steps are not told, want %d", untold, want)
	}
}
