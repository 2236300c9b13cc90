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
	"cpor/system"
	"cpor/testkit/toysystem"
)

// recorded is a process whose program is another system: it is stepped by its own machine, and
// all that is told of it is what a process tells.
type recorded struct {
	sys  system.System
	m    system.Machine
	runs int
}

func newRecorded(sys system.System) *recorded {
	p := &recorded{sys: sys, m: sys.NewMachine()}
	p.m.Track(true)
	return p
}

func (p *recorded) Mode() native.Mode { return native.Repeat }
func (p *recorded) Close() error      { return nil }

// pending returns what a thread does next.
func (p *recorded) pending(t int) native.Pending {
	x := native.Pending{Thread: int32(t)}
	for alt := uint64(0); ; {
		mark := p.m.Mark()
		out := p.m.Step(t, alt)
		acc := slices.Clone(p.m.Accesses())
		p.m.Rewind(mark)
		switch {
		case out.Kind == system.Ended:
			x.Ended = true
		case alt == 0:
			x.Accesses = acc
			x.AtEnd = out.AtEnd
		case out.Kind == system.Moved:
			x.Alts = append(x.Alts, acc)
		}
		if out.Kind == system.Moved {
			x.Enabled++
		}
		if out.Next == 0 {
			return x
		}
		alt = out.Next
	}
}

// alternative returns the number of an alternative on the machine.
func (p *recorded) alternative(t int, n int32) uint64 {
	alt := uint64(0)
	for range n {
		mark := p.m.Mark()
		out := p.m.Step(t, alt)
		p.m.Rewind(mark)
		alt = out.Next
	}
	return alt
}

func (p *recorded) Run(ctx context.Context, prefix []native.Choice, pol native.Policy) (*native.Execution, error) {
	p.runs++
	p.m.Load(p.sys.Initial()[0])
	x := &native.Execution{}
	var now []native.Pending
	look := func() (changed []native.Pending) {
		for t := range p.m.NumThreads() {
			q := p.pending(t)
			if t == len(now) {
				now = append(now, q)
			} else if fmt.Sprint(now[t]) == fmt.Sprint(q) {
				continue
			}
			now[t] = q
			changed = append(changed, q)
		}
		return changed
	}
	x.First = look()
	last := int32(-1)
	for i := 0; ; i++ {
		c := native.Choice{Thread: -1}
		if i < len(prefix) {
			if c = prefix[i]; int(c.Thread) >= len(now) || now[c.Thread].Enabled <= c.Alt {
				return nil, &native.Diverged{At: i, What: "not enabled"}
			}
		} else if last >= 0 && now[last].Enabled > 0 {
			c.Thread = last
		} else if k := slices.IndexFunc(now, func(q native.Pending) bool { return q.Enabled > 0 }); k >= 0 {
			c.Thread = int32(k)
		}
		if c.Thread < 0 {
			return x, nil
		}
		last = c.Thread
		out := p.m.Step(int(c.Thread), p.alternative(int(c.Thread), c.Alt))
		st := native.Step{Choice: c, Accesses: slices.Clone(p.m.Accesses()), Created: out.Created}
		if v := out.Violation; v != nil {
			st.Failure = &native.Failure{Kind: v.Kind, Message: v.Message, Pos: v.Pos, Object: v.Object}
		}
		st.After = look()
		x.Steps = append(x.Steps, st)
	}
}

type numbers struct{}

func (numbers) ThreadName(t int) string     { return fmt.Sprint("T", t) }
func (numbers) LocName(l system.Loc) string { return fmt.Sprint("x", l) }

// record makes the system of a system that is run as a process.
func record(t testing.TB, sys system.System, processes int) *System {
	s, err := New(t.Context(), func() (native.Process, error) { return newRecorded(sys), nil }, numbers{}, Options{Processes: processes})
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
	return fmt.Sprintf("%d executions, %d blocked, deadlock %v, %v", res.Executions, res.BlockedExecutions, deadlock, vs)
}

func explore(t testing.TB, sys system.System, workers int) (*stateless.Result, error) {
	return stateless.Run(t.Context(), sys, stateless.Options{
		Options: engine.Options{Workers: workers, All: true, MaxTransitions: 5_000}, Reduction: stateless.DPOR,
	})
}

// A program that is run from its beginning for each execution has the same executions, violations and
// deadlocks as one that is stepped and taken back.
func TestToys(t *testing.T) {
	programs := *many
	var runs, executions uint64
	for seed := range uint64(programs) {
		p := toysystem.Random(rand.New(rand.NewPCG(seed, 27)), toysystem.Config{NoLoops: true, Threads: 4, Nodes: 4})
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
		p.Thread(name, 1, toysystem.Atomic(toysystem.Set(0, toysystem.Load(x, nil))), toysystem.Atomic(toysystem.Store(x, nil, toysystem.Const(1))))
		p.Start(name)
	}
	sys, err := toysystem.New(p)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(t.Context(), func() (native.Process, error) { return &fickle{recorded: newRecorded(sys)}, nil }, numbers{}, Options{})
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
type fickle struct{ *recorded }

func (p *fickle) Run(ctx context.Context, prefix []native.Choice, pol native.Policy) (*native.Execution, error) {
	x, err := p.recorded.Run(ctx, prefix, pol)
	if err == nil && p.runs > 2 {
		x.Steps[1].Accesses = append(x.Steps[1].Accesses, system.Access{Loc: 1})
	}
	return x, err
}
