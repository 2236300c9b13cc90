package gotest

import (
	"context"
	"slices"
	"time"

	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/machine"
	"cpor/system"
	"cpor/trace"
)

// The whole graph of an endless test may be large, and in an execution at random nobody
// is ever seen to wait forever while a ticker continues. But what is left when the
// test has ended, or after so many steps, has few states most of the time: the graph of what
// can still happen from there shows goroutines that never end. It is exact, since
// it is complete.
const (
	tailSteps  = 1000    // how long an execution may be before one looks
	tailBytes  = 4 << 20 // of the states of such a graph
	tails      = 300     // how often one looks
	tailsLarge = 3       // how many graphs may be too large before one gives up
	tailsTime  = 2 * time.Second
)

// tails looks what is left behind executions at random. A failure is the result.
func (r *run) tails(ctx context.Context, p *gosrc.Program) error {
	ctx, cancel := context.WithTimeout(ctx, tailsTime)
	defer cancel()
	s := newSampler(p, r.o.Seed+5)
	s.tail = true
	large := 0
	for i := 0; i < tails && large < tailsLarge && ctx.Err() == nil; i++ {
		s.limit = tailSteps
		failed, _ := s.run(ctx, p, i)
		if p.Unsupported() != nil || p.GaveUp() != "" {
			return nil
		}
		if failed {
			return r.failIn(p, &trace.Trace{Steps: slices.Clone(s.steps)})
		}
		m := s.m.(*machine.Machine)
		if m.Over() || ctx.Err() != nil {
			continue
		}
		g := newGraph(p)
		failing, reason := g.explore(ctx, m.Encode(nil), tailBytes)
		if failing != nil {
			return r.failIn(p, &trace.Trace{Steps: slices.Concat(s.steps, failing)})
		}
		if reason != "" {
			large++
			continue
		}
		if l := g.forever(); l != nil && (l.kind != Leak || p.Leaks()) {
			steps, at := g.shorten(slices.Concat(s.steps, g.path(l.at)), l, over(r.explained()))
			return r.lasts(p, steps, g.cycle(at, l.states), l)
		}
	}
	return nil
}

// lost returns who waits forever though others continue, if that is a failure: the test itself,
// or goroutines when the test has ended.
func lost(m *machine.Machine) []int {
	ts := m.Lost(nil)
	if m.Alive(0) && !slices.Contains(ts, 0) {
		return nil
	}
	return ts
}

// goesOn tells whether somebody can continue after an execution.
func goesOn(p *gosrc.Program, steps []trace.Step) bool {
	m := p.NewMachine().(*machine.Machine)
	for _, s := range steps {
		m.Step(s.Thread, s.Alt)
	}
	return slices.ContainsFunc(m.Living(nil), func(t int) bool {
		mark := m.Mark()
		out := m.Step(t, 0)
		m.Rewind(mark)
		return out.Kind == system.Moved
	})
}

// shortenLost leaves out steps of an execution in which some wait forever while others continue.
func shortenLost(p *gosrc.Program, steps []trace.Step, expired func() bool) []trace.Step {
	m := p.NewMachine().(*machine.Machine)
	for _, s := range steps {
		m.Step(s.Thread, s.Alt)
	}
	who, over := lost(m), !m.Alive(0)
	return leaveOut(p, m, steps, expired, func() bool {
		return !m.Alive(0) == over && slices.Equal(lost(m), who)
	})
}

// shorten leaves out steps of an execution that ends in a component, and returns where what
// is left ends.
func (g *graph) shorten(steps []trace.Step, l *lasting, expired func() bool) (short []trace.Step,
	at int32) {
	at = l.at
	short = leaveOut(g.p, g.m, steps, expired, func() bool {
		g.buf = g.m.Encode(g.buf)
		g.key = stateKey(g.buf, g.key)
		id, ok := g.ids[string(g.key)]
		if ok = ok && slices.Contains(l.states, id); ok {
			at = id
		}
		return ok
	})
	return short, at
}

// leaveOut leaves out steps of an execution as long as what is left ends well, for which
// m is its end, and until the time has expired.
func leaveOut(p *gosrc.Program, m *machine.Machine, steps []trace.Step, expired,
	well func() bool) []trace.Step {
	for size := len(steps) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(steps) && !expired(); {
			kept := without(p, m, steps, i, i+size)
			if kept != nil && len(kept) < len(steps) && well() {
				steps = kept
			} else {
				i += size
			}
		}
	}
	// Steps of one goroutine are drawn together.
	for i := 0; i+1 < len(steps) && !expired(); i++ {
		t := steps[i].Thread
		k := slices.IndexFunc(steps[i+1:], func(s trace.Step) bool { return s.Thread == t }) + i + 1
		if k <= i+1 {
			continue
		}
		drawn := slices.Concat(steps[:i+1], steps[k:k+1], steps[i+1:k], steps[k+1:])
		if switches(drawn) < switches(steps) && len(without(p, m, drawn, 0, 0)) == len(steps) &&
			well() {
			steps = drawn
		}
	}
	return steps
}

// switches counts how often another goroutine continues.
func switches(steps []trace.Step) (n int) {
	for i := range steps {
		if i > 0 && steps[i].Thread != steps[i-1].Thread {
			n++
		}
	}
	return n
}

// without takes those steps of an execution that can be taken without those from i to j, and
// returns them; nil if they fail.
func without(p *gosrc.Program, m *machine.Machine, steps []trace.Step, i, j int) []trace.Step {
	m.Load(p.Initial()[0])
	kept := []trace.Step{}
	for k, s := range steps {
		if k >= i && k < j || s.Thread >= m.NumThreads() {
			continue
		}
		mark := m.Mark()
		out := m.Step(s.Thread, s.Alt)
		if out.Violation != nil {
			return nil
		}
		if out.Kind != system.Moved {
			m.Rewind(mark)
			continue
		}
		kept = append(kept, s)
	}
	return kept
}
