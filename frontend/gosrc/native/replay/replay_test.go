package replay

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"cpor/engine"
	"cpor/engine/stateless"
	"cpor/frontend/gosrc/native"
	"cpor/frontend/gosrc/native/replay/replaytest"
	"cpor/system"
	"cpor/testkit/toysystem"
)

// record makes the system of a system that is run as a process.
func record(t testing.TB, sys system.System, processes int) *System {
	s, err := New(t.Context(), func() (native.Process, error) { return replaytest.New(sys), nil },
		replaytest.Numbers{}, Options{Processes: processes})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// found is what a search finds, without the order of it.
func found(res *stateless.Result) string {
	deadlock := false
	var vs []string
	for _, v := range res.Violations {
		if v.Kind == system.Deadlock {
			deadlock = true
		} else {
			vs = append(vs, fmt.Sprint(v.Kind, v.Pos, v.Object))
		}
	}
	slices.Sort(vs)
	return fmt.Sprintf("%d executions, %d blocked, deadlock %v, %v", res.Executions,
		res.BlockedExecutions, deadlock, vs)
}

func explore(t testing.TB, sys system.System, workers int) (*stateless.Result, error) {
	return stateless.Run(t.Context(), sys, stateless.Options{
		Options:   engine.Options{Workers: workers, All: true, MaxTransitions: 50_000},
		Reduction: stateless.DPOR,
		Executed: func(m system.Machine) {
			if m, ok := m.(*Machine); ok {
				m.Verify()
			}
		},
	})
}

// A program that is run from its beginning for each execution has the same executions,
// violations and deadlocks as one that is stepped and taken back.
func TestToys(t *testing.T) {
	programs := *many
	var runs, executions uint64
	for seed := range uint64(programs) {
		p := toysystem.Random(rand.New(rand.NewPCG(seed, 27)), toysystem.Config{
			NoLoops: true, Threads: 4, Nodes: 4})
		sys, err := toysystem.New(p)
		if err != nil {
			t.Fatal(err)
		}
		want, err := explore(t, sys, 1)
		if err != nil {
			t.Fatal(err)
		}
		if want.Transitions >= 5_000 {
			continue
		}
		s := record(t, sys, 2)
		got, err := explore(t, s, 1+int(seed%2))
		if err != nil {
			t.Fatalf("seed %d: %v\n%v", seed, err, p)
		}
		if found(got) != found(want) {
			t.Fatalf("seed %d: %s, want %s\n%v", seed, found(got), found(want), p)
		}
		runs += s.Counts().Runs
		executions += got.Executions
	}
	t.Logf("%d programs, %d executions, %d runs", programs, executions, runs)
	if executions == 0 || runs > 2*executions {
		t.Errorf("%d runs for %d executions", runs, executions)
	}
}

// A program that does not depend on the choices alone is noticed.
func TestDiverging(t *testing.T) {
	p := toysystem.NewProgram()
	x := p.Scalar("x", 0)
	p.Scalar("y", 0)
	for _, name := range []string{"a", "b"} {
		p.Thread(name, 1, toysystem.Atomic(toysystem.Set(0, toysystem.Load(x, nil))),
			toysystem.Atomic(toysystem.Store(x, nil, toysystem.Const(1))))
		p.Start(name)
	}
	sys, err := toysystem.New(p)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(t.Context(), func() (native.Process, error) {
		return &fickle{Process: replaytest.New(sys)}, nil
	}, replaytest.Numbers{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = explore(t, s, 1)
	var d *native.Diverged
	if !errors.As(err, &d) {
		t.Errorf("%v", err)
	}
}

// fickle is a process in which the second step touches more from the third execution on.
type fickle struct{ *replaytest.Process }

func (p *fickle) Run(ctx context.Context, prefix []native.Choice,
	pol native.Policy) (*native.Execution, error) {
	x, err := p.Process.Run(ctx, prefix, pol)
	if err == nil && p.Runs > 2 {
		x.Steps[1].Accesses = append(x.Steps[1].Accesses, system.Access{Loc: 1})
	}
	return x, err
}

// TestOutside: an alarm that is to go off only when nobody can run does not while an answer from
// outside may come, and that is no deadlock.
func TestOutside(t *testing.T) {
	p := toysystem.NewProgram()
	x := p.Scalar("x", 0)
	p.Thread("alarm", 0, toysystem.Atomic(toysystem.Store(x, nil, toysystem.Const(1))))
	p.Thread("asks", 0, toysystem.Await(toysystem.Load(x, nil)))
	p.Start("alarm")
	p.Start("asks")
	sys, err := toysystem.New(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		view View
		op   native.Op
		want system.Outcome
	}{
		{View{}, native.OpOutside, system.Outcome{Kind: system.Moved}},
		{View{Time: Idle}, native.OpRecv, system.Outcome{Kind: system.Moved}},
		{View{Time: Idle}, native.OpOutside, system.Outcome{Kind: system.Blocked, AtEnd: true}},
	} {
		s, err := New(t.Context(), func() (native.Process, error) {
			return &clocked{replaytest.New(sys), tt.op}, nil
		}, replaytest.Numbers{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		m := s.With(tt.view).NewMachine()
		if got := m.Step(0, 0); got.Kind != tt.want.Kind || got.AtEnd != tt.want.AtEnd {
			t.Errorf("%+v: %+v", tt, got)
		}
	}
}

// TestClock: what the clock shows behind a step is what it shows in this execution, not in the one
// in which the step was first seen. So time that passes only when nobody can run does not pass
// because it has passed before that step elsewhere.
func TestClock(t *testing.T) {
	p := toysystem.NewProgram()
	x, y := p.Scalar("x", 0), p.Scalar("y", 0)
	set := toysystem.Atomic(toysystem.Store(x, nil, toysystem.Const(1)))
	p.Thread("alarm", 0, toysystem.Atomic(toysystem.Store(y, nil, toysystem.Const(1))))
	p.Thread("works", 0, set, set)
	p.Start("alarm")
	p.Start("works")
	sys, err := toysystem.New(p)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(t.Context(), func() (native.Process, error) {
		return &clocked{replaytest.New(sys), native.OpLock}, nil
	}, replaytest.Numbers{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		view View
		path []int
		can  bool // the alarm can go off now
	}{
		{View{}, []int{0, 1, 1}, false},
		{View{Time: Idle}, []int{1}, false},
		{View{Time: Idle}, []int{1, 1}, true},
	} {
		m := s.With(tt.view).NewMachine()
		for _, th := range tt.path {
			if out := m.Step(th, 0); out.Kind != system.Moved {
				t.Fatalf("%+v: %d is %v", tt, th, out.Kind)
			}
		}
		if out := m.Step(0, 0); (out.Kind == system.Moved) != tt.can {
			t.Errorf("%+v: the alarm is %v", tt, out.Kind)
		}
	}
}

// clocked is a process whose first thread waits for time to pass. The second one executes op.
type clocked struct {
	*replaytest.Process
	op native.Op
}

const due = 100

func (p *clocked) Run(ctx context.Context, prefix []native.Choice,
	pol native.Policy) (*native.Execution, error) {
	x, err := p.Process.Run(ctx, prefix, pol)
	if err != nil {
		return nil, err
	}
	set := func(ps []native.Pending) {
		for i := range ps {
			if ps[i].Thread == 0 && !ps[i].Ended {
				ps[i].Op, ps[i].Deadline = native.OpTimer, due
			} else {
				ps[i].Op = p.op
			}
		}
	}
	set(x.First)
	now := int64(0)
	for i := range x.Steps {
		st := &x.Steps[i]
		set(st.After)
		if st.Thread == 0 {
			st.Op, now = native.OpTimer, due
		}
		st.Now = now
	}
	return x, nil
}

// TestAlone: a thread that is alone may have a long loop, if it has an end.
func TestAlone(t *testing.T) {
	const limit = 50
	for _, c := range []struct {
		name  string
		steps int64
		more  toysystem.Node
		other bool // there is another thread
		alone bool
	}{
		{"long", 4 * limit, toysystem.Atomic(), false, true},
		{"endless", 1 << 20, toysystem.Atomic(), false, false},
		{"choice", 4 * limit, toysystem.Choose(1, 0, 1), false, false},
		{"fails", 4 * limit, toysystem.Atomic(toysystem.Assert(toysystem.Const(0), "no")), false,
			false},
		{"creates", 4 * limit, toysystem.Atomic(toysystem.Spawn("other")), false, false},
		{"other", 4 * limit, toysystem.Atomic(), true, false},
		{"short", limit / 2, toysystem.Atomic(), false, false},
	} {
		p := toysystem.NewProgram()
		x := p.Scalar("x", 0)
		p.MaxThreads = 2
		p.Thread("main", 2, toysystem.Atomic(
			toysystem.Set(0, toysystem.Bin("+", toysystem.Reg(0), toysystem.Const(1))),
			toysystem.Store(x, nil, toysystem.Reg(0)),
			toysystem.If(toysystem.Bin("<", toysystem.Reg(0), toysystem.Const(c.steps)),
				toysystem.Goto(0))), c.more)
		p.Thread("other", 1, toysystem.Atomic())
		p.Start("main")
		if c.other {
			p.Start("other")
		}
		sys, err := toysystem.New(p)
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(t.Context(), func() (native.Process, error) {
			return replaytest.New(sys), nil
		}, replaytest.Numbers{}, Options{MaxSteps: limit})
		if c.alone != (err == nil && s.Alone() == uint64(c.steps)+1) ||
			!c.alone && c.steps > limit && !errors.Is(err, ErrEndless) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
