package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cpor/internal/human"
)

// Stop is why an exploration ended before everything was covered, on purpose: it
// is the error of a worker that met a limit, or the cause of a context's end.
type Stop struct{ Reason string }

func (s *Stop) Error() string { return s.Reason }

// AtViolation ends an exploration that looks for one violation.
var AtViolation = &Stop{"stopped at the first violation"}

// StateLimit ends an exploration at Options.MaxStates.
func StateLimit(n uint64) *Stop {
	return &Stop{fmt.Sprintf("limit of %s states", human.Count(n))}
}

// TransitionLimit ends an exploration at Options.MaxTransitions.
func TransitionLimit(n uint64) *Stop {
	return &Stop{fmt.Sprintf("limit of %s transitions", human.Count(n))}
}

// timeUp ends an exploration at Options.Timeout.
func timeUp(d time.Duration) *Stop { return &Stop{fmt.Sprintf("time-out after %v", d)} }

// Judge has the rules of honesty. err is why the exploration ended, nil if it ran to its end;
// gap says why it has not covered everything although it did (an inexact store, executions that
// were cut off), empty if it has; found reports whether it found a violation.
//
// What found a violation is violated. What covered everything and found none is
// a pass. Everything else is incomplete, with the reason. fault is err if that is
// neither a [Stop] nor the end of a context: the tool itself went wrong.
func Judge(err error, gap string, found bool) (v Verdict, exhaustive bool, reason string,
	fault error) {
	var stop *Stop
	switch {
	case err == nil:
		reason = gap
	case errors.As(err, &stop):
		reason = stop.Reason
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		reason = "interrupted"
	default:
		reason, fault = "internal error", err
	}
	exhaustive = reason == ""
	switch {
	case found:
		v = Violated
	case exhaustive:
		v = Pass
	default:
		v = Incomplete
	}
	return v, exhaustive, reason, fault
}

// Judge writes the verdict of [Judge] into the result and returns its fault.
func (r *Result) Judge(err error, gap string, found bool) (fault error) {
	r.Verdict, r.Exhaustive, r.Reason, fault = Judge(err, gap, found)
	return fault
}
