package gotest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"cpor/engine"
	"cpor/engine/stateless"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/machine"
	"cpor/system"
	"cpor/trace"
)

// Run explores a program.
func Run(ctx context.Context, p *gosrc.Program, o Options) (*Result, error) {
	start := time.Now()
	res := &Result{Fixed: []string{"the order in which maps are ranged over", "random numbers"}}
	if o.Engine == "" {
		o.Engine = Auto
	}
	if !slices.Contains(Engines, o.Engine) {
		return nil, &engine.OptionError{Message: fmt.Sprintf("there is no engine %s", o.Engine)}
	}
	err := explore(ctx, p, o, res)
	res.Duration = time.Since(start)
	if u := p.Unsupported(); u != nil {
		return nil, u
	}
	if err == nil && p.GaveUp() != "" && res.Verdict != engine.Violated {
		res.Verdict, res.Reason = engine.Incomplete, p.GaveUp()
	}
	return res, err
}

func explore(ctx context.Context, p *gosrc.Program, o Options, res *Result) error {
	switch o.Engine {
	case Auto, DPOR:
		return dpor(ctx, p, o, res)
	}
	return &engine.OptionError{Message: fmt.Sprintf("the engine %s is not there yet; use auto or dpor", o.Engine)}
}

func dpor(ctx context.Context, p *gosrc.Program, o Options, res *Result) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	outcomes := map[string]bool{}
	so := stateless.Options{
		Options:   engine.Options{Workers: o.Workers, Timeout: o.Timeout, MaxMemory: o.MaxMemory},
		Reduction: stateless.DPOR,
	}
	if p.Outcomes() {
		so.All = true
		so.Executed = func(m system.Machine) {
			s := Outcome(m.(*machine.Machine))
			mu.Lock()
			outcomes[s] = true
			mu.Unlock()
		}
	}
	r, err := stateless.Run(ctx, p.System, so)
	if r != nil {
		res.Verdict, res.Reason = r.Verdict, r.Reason
		res.Executions, res.Transitions = r.Executions, r.Transitions
		res.Outcomes = slices.Sorted(maps.Keys(outcomes))
		if len(r.Violations) > 0 && r.Violations[0].Trace != nil {
			f, ferr := Explain(p, r.Violations[0].Trace)
			if ferr != nil {
				return errors.Join(err, ferr)
			}
			res.Failure = f
		}
	}
	return err
}

// Outcome says how the execution ended whose last state is the live one of m: what
// was printed and, in brackets, what went wrong.
func Outcome(m *machine.Machine) string {
	s := m.Output()
	for _, v := range m.Failed() {
		s += fmt.Sprintf("[%s: %s]", v.Kind, v.Message)
	}
	if some, first := m.Stuck(); first {
		s += "[deadlock]"
	} else if some {
		s += "[leak]"
	}
	return s
}

// Explain repeats a failing execution and says what happened.
func Explain(p *gosrc.Program, t *trace.Trace) (*Failure, error) {
	var steps []machine.TraceStep
	for _, s := range t.Steps {
		steps = append(steps, machine.TraceStep{Thread: s.Thread, Alt: s.Alt})
	}
	e, err := p.Replay(steps)
	if err != nil {
		return nil, err
	}
	f := &Failure{Trace: t, Output: e.Output}
	for _, s := range e.Stacks {
		x := Stack{Goroutine: s.Goroutine, What: s.What}
		for _, c := range s.Frames {
			x.Frames = append(x.Frames, Frame{Func: c.Func, Pos: c.Pos})
		}
		f.Stacks = append(f.Stacks, x)
	}
	if e.Early {
		f.Note = "it needs time to pass while somebody could run"
	}
	if v := e.Violation; v != nil {
		f.Kind, f.Message, f.Pos = FailureKind(v.Kind), v.Message, v.Pos
		return f, nil
	}
	f.Kind = Deadlock
	if e.MainEnded {
		f.Kind = Leak
	}
	var names []string
	for _, s := range f.Stacks {
		names = append(names, s.Goroutine)
	}
	if len(f.Stacks) > 0 && len(f.Stacks[0].Frames) > 0 {
		f.Pos = f.Stacks[0].Frames[0].Pos
	}
	what := "deadlock"
	if f.Kind == Leak {
		what = "leak: the test has ended, and"
	} else {
		what += ":"
	}
	verb := "wait"
	if len(names) == 1 {
		verb = "waits"
	}
	f.Message = fmt.Sprintf("%s %s %s for ever", what, strings.Join(names, ", "), verb)
	return f, nil
}
