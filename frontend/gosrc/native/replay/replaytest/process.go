// Package replaytest runs systems as if they were programs that can only be run from their
// beginning, for tests of what runs such programs.
package replaytest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"cpor/frontend/gosrc/native"
	"cpor/system"
)

// Process is a [native.Process] whose program is a system: it is stepped by a machine of that, and
// all that is told of it is what a process tells.
type Process struct {
	Runs int // executions so far

	sys system.System
	m   system.Machine
}

// New returns a process of a system, whose first initial state is the beginning.
func New(sys system.System) *Process {
	p := &Process{sys: sys, m: sys.NewMachine()}
	p.m.Track(true)
	return p
}

// Mode implements [native.Process].
func (p *Process) Mode() native.Mode { return native.Repeat }

// Expect implements [native.Process].
func (p *Process) Expect([]native.Choice, native.Policy) {}

// Close implements [native.Process].
func (p *Process) Close() error { return nil }

// pending returns what a thread does next.
func (p *Process) pending(t int) native.Pending {
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
func (p *Process) alternative(t int, n int32) uint64 {
	alt := uint64(0)
	for range n {
		mark := p.m.Mark()
		out := p.m.Step(t, alt)
		p.m.Rewind(mark)
		alt = out.Next
	}
	return alt
}

// Run implements [native.Process].
func (p *Process) Run(ctx context.Context, prefix []native.Choice,
	pol native.Policy) (*native.Execution, error) {
	p.Runs++
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
	most := pol.MaxSteps
	if most == 0 {
		most = 1_000_000
	}
	random := rand.New(rand.NewPCG(pol.Seed, 1))
	for i := 0; ; i++ {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if i >= len(prefix) && i >= most {
			x.End = native.Cut
			return x, nil
		}
		var c native.Choice
		switch {
		case i < len(prefix):
			if c = prefix[i]; int(c.Thread) >= len(now) || now[c.Thread].Enabled <= c.Alt {
				return nil, &native.Diverged{At: i, What: "not enabled"}
			}
		case pol.Kind == native.Straight:
			c = straight(now, last)
		default:
			c = drawn(now, random)
		}
		if c.Thread < 0 {
			stuck(x, now)
			return x, nil
		}
		last = c.Thread
		out := p.m.Step(int(c.Thread), p.alternative(int(c.Thread), c.Alt))
		st := native.Step{Choice: c, Accesses: slices.Clone(p.m.Accesses()), Created: out.Created}
		if v := out.Violation; v != nil {
			st.Failure = &native.Failure{Kind: v.Kind, Message: v.Message, Pos: v.Pos,
				Object: v.Object}
		}
		st.After = look()
		x.Steps = append(x.Steps, st)
	}
}

// straight chooses the thread that moved last, or the first one that can; thread -1 if none can.
func straight(now []native.Pending, last int32) native.Choice {
	can := func(q native.Pending) bool { return q.Enabled > 0 }
	if last >= 0 && can(now[last]) {
		return native.Choice{Thread: last}
	}
	return native.Choice{Thread: int32(slices.IndexFunc(now, can))}
}

// drawn draws a choice; thread -1 if there is none.
func drawn(now []native.Pending, random *rand.Rand) native.Choice {
	var all []native.Choice
	for _, q := range now {
		for alt := range q.Enabled {
			all = append(all, native.Choice{Thread: q.Thread, Alt: alt})
		}
	}
	if len(all) == 0 {
		return native.Choice{Thread: -1}
	}
	return all[random.IntN(len(all))]
}

// stuck ends an execution in which nobody can move: with a deadlock or a leak if somebody waits.
func stuck(x *native.Execution, now []native.Pending) {
	for _, q := range now {
		if !q.Ended && !q.AtEnd {
			if x.Failure == nil {
				x.End, x.Failure = native.Leak, &native.Failure{Kind: system.Deadlock,
					Message: "deadlock"}
			}
			if q.Thread == 0 {
				x.End = native.Deadlock
			}
			x.Failure.Stacks = append(x.Failure.Stacks, native.Stack{Thread: q.Thread,
				What: "waits"})
		}
	}
}

// Numbers names threads and locations by their numbers.
type Numbers struct{}

// ThreadName implements replay.Names.
func (Numbers) ThreadName(t int32) string { return fmt.Sprint("T", t) }
