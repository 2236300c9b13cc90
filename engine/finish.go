package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cpor/system"
	"cpor/trace"
)

// Raw is a violation as an engine found it. Trace leads to it, in steps of the
// system that is passed to Finish; it is nil if Missing says why there is none: a fault
// of the tool, unless it is ErrOmitted or a [Stop].
type Raw struct {
	Violation system.Violation
	Trace     *trace.Trace
	Missing   error
}

// ErrOmitted is a reason for a trace to be missing that is not a fault of the tool:
// the store took one state for another.
var ErrOmitted = errors.New("the store confused two states on the way, so the trace cannot be " +
	"rebuilt")

// Finish makes findings of what an exploration found: each trace is replayed
// through the plain semantics, then a short one takes its place unless o.KeepTraces
// ([trace.Shorten]), and a deadlock gets its description. Without o.All, it may be
// one of another violation: which one an exploration meets first depends on timing.
// They come ordered by place, kind, object and trace. The error joins the faults of
// the tool: traces that do not replay or could not be made. Once ctx has ended, the
// traces stay as they are. If sys joins steps, the traces are executions of the system
// of these steps ([system.Apart]).
func Finish(ctx context.Context, sys system.System, raws []Raw, o *Options) ([]Finding, error) {
	var errs []error
	merging := sys.Capabilities().Merging
	sys = system.Apart(sys)
	fs := make([]Finding, len(raws))
	var traces []*trace.Trace
	var of []int // the findings that have them
	for i, r := range raws {
		v, t, err := r.Violation, r.Trace, r.Missing
		if err == nil {
			t.Violation = &v
			if merging != nil {
				t.Steps, err = merging.Separate(t.Initial, t.Steps)
			}
			if err == nil {
				err = t.Replay(sys)
			}
		}
		fs[i] = Finding{Violation: &v}
		if err != nil {
			fs[i].TraceMissing = err.Error()
			if stop := new(Stop); !errors.Is(err, ErrOmitted) && !errors.As(err, &stop) {
				errs = append(errs,
					fmt.Errorf("internal error: the trace of a violation (%s: %s): %w", v.Kind,
						v.Message, err))
			}
			continue
		}
		fs[i].Trace = t
		traces, of = append(traces, t), append(of, i)
	}
	if !o.KeepTraces {
		for i, s := range o.Shorten(ctx, sys, traces, !o.All) {
			f := &fs[of[i]]
			f.Trace, f.Minimal, f.Violation = s.Trace, s.Minimal, s.Violation
		}
	}
	for i := range fs {
		if f := &fs[i]; f.Trace != nil && f.Kind == system.Deadlock {
			f.Message = DescribeDeadlock(sys, f.Trace)
		}
	}
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Col, b.Pos.Col),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Object, b.Object), a.Trace.Compare(b.Trace),
			cmp.Compare(a.Message, b.Message))
	})
	return fs, errors.Join(errs...)
}

// DefaultMinimizeTime is Options.MinimizeTime if that is 0.
const DefaultMinimizeTime = 30 * time.Second

// Shorten is [trace.Shorten] within the limits of o, until ctx ends. What it executes
// does not count as executed ([system.Counting]).
func (o *Options) Shorten(ctx context.Context, sys system.System, ts []*trace.Trace,
	anyViolation bool) []trace.Short {
	if counts := sys.Capabilities().Counting; counts != nil && !o.Shared {
		before := counts.Executed()
		defer func() {
			back := counts.Executed()
			for i := range back {
				back[i] = before[i] - back[i] // modulo 2^64, as sums are
			}
			counts.AddExecuted(back)
		}()
	}
	end := time.Now().Add(cmp.Or(o.MinimizeTime, DefaultMinimizeTime))
	s := trace.Shortening{Any: anyViolation, NoDeadlocks: o.IgnoreDeadlocks, Scale: 1,
		Expired: func() bool { return ctx.Err() != nil || time.Now().After(end) }}
	if o.MaxMemory > 0 {
		s.Scale += int(min(memoryOfShortening/o.MaxMemory, 1<<10))
	}
	return trace.Shorten(sys, ts, s)
}

// memoryOfShortening is a limit of memory from which on the bounds of the search for
// short traces need not be smaller: its searches take an eighth of that.
const memoryOfShortening = 1 << 30

// maxNames is the largest number of threads that a message names.
const maxNames = 4

// DescribeDeadlock says which threads cannot continue at the end of t.
func DescribeDeadlock(sys system.System, t *trace.Trace) string {
	m := sys.NewMachine()
	m.Load(sys.Initial()[t.Initial])
	for _, s := range t.Steps {
		m.Step(s.Thread, s.Alt)
	}
	obs := system.ObserversOf(sys)
	_, blocked := obs.Deadlock(m)
	var names []string
	for _, t := range blocked {
		names = append(names, m.ThreadName(t))
	}
	switch n := len(names); {
	case n == 1:
		return fmt.Sprintf("deadlock: %s is blocked", names[0])
	case n > maxNames:
		return fmt.Sprintf("deadlock: %s and %d more are blocked", strings.Join(names[:maxNames],
			", "), n-maxNames)
	case n > 1:
		return fmt.Sprintf("deadlock: %s and %s are blocked", strings.Join(names[:n-1], ", "),
			names[n-1])
	}
	return "deadlock"
}
