package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cpor/system"
	"cpor/trace"
)

// Raw is a violation as an engine found it. Trace leads to it, in steps of the
// system that is passed to Finish; it is nil if Missing says why there is none.
type Raw struct {
	Violation system.Violation
	Trace     *trace.Trace
	Missing   error
}

// ErrOmitted is a reason for a trace to be missing that is no fault of the tool:
// the store took one state for another.
var ErrOmitted = errors.New("the store took one state for another on the way, so that the trace cannot be rebuilt")

// Finish makes findings of what an exploration found: each trace is replayed
// through the plain semantics, minimised unless o.KeepTraces, and a deadlock gets
// its description. They come ordered by place, kind, object and length. The error
// joins the faults of the tool: traces that do not replay or could not be made.
func Finish(sys system.System, raws []Raw, o *Options) ([]Finding, error) {
	var errs []error
	var fs []Finding
	for _, r := range raws {
		v, t, err := r.Violation, r.Trace, r.Missing
		if err == nil {
			t.Violation = &v
			err = t.Replay(sys)
		}
		f := Finding{Violation: &v}
		if err != nil {
			f.TraceMissing = err.Error()
			if !errors.Is(err, ErrOmitted) {
				errs = append(errs, fmt.Errorf("internal error: the trace of a violation (%s: %s): %w", v.Kind, v.Message, err))
			}
		} else {
			if !o.KeepTraces {
				t = t.Minimise(sys, trace.DefaultBudget/len(raws))
			}
			f.Trace = t
			if v.Kind == system.Deadlock {
				v.Message = DescribeDeadlock(sys, t)
			}
		}
		fs = append(fs, f)
	}
	length := func(f Finding) int {
		if f.Trace == nil {
			return 0
		}
		return len(f.Trace.Steps)
	}
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Object, b.Object), cmp.Compare(length(a), length(b)), cmp.Compare(a.Message, b.Message))
	})
	return fs, errors.Join(errs...)
}

// maxNames is the largest number of threads that a message names.
const maxNames = 4

// DescribeDeadlock says which threads cannot go on at the end of t.
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
		return fmt.Sprintf("deadlock: %s and %d more are blocked", strings.Join(names[:maxNames], ", "), n-maxNames)
	case n > 1:
		return fmt.Sprintf("deadlock: %s and %s are blocked", strings.Join(names[:n-1], ", "), names[n-1])
	}
	return "deadlock"
}
