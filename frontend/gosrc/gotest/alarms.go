package gotest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"cpor/engine"
	"cpor/engine/memory"
)

// The executions of a test with a ticker, or with a time-out that is set again and again, have
// no bound on their length, and if it reads the clock no state comes twice. But bugs need few
// timers to go off. So the program in which at most n timers go off is searched with n = 1,
// 2, 3, ... by the reduction without stored states: it has finitely many executions if
// the rest of the program ends, and what has been covered can be said. When no timer
// was kept from going off the search has covered everything.

// alarmShare is how much of the time that is left the search with a bound on timers gets before
// that with a bound on preemptions, in percent.
const alarmShare = 60

// alarms explores with growing bounds on how many timers go off until its part of the time is
// over, or until a bound keeps no timer from going off.
func (r *run) alarms(ctx context.Context, percent time.Duration) error {
	r.alarmed = true
	if _, ok := ctx.Deadline(); !ok || !r.p.Timed() || r.p.Outcomes() {
		return nil
	}
	ctx, cancel := part(ctx, percent)
	defer cancel()
	reason := r.res.Reason
	covered := 0
	for ctx.Err() == nil {
		done, err := r.upTo(ctx, covered+1)
		if err != nil || r.res.Verdict == engine.Violated || r.res.Verdict == engine.Pass {
			return err
		}
		if !done {
			break
		}
		covered++
	}
	r.res.Verdict, r.res.Reason = engine.Incomplete, reason
	switch covered {
	case 0:
	case 1:
		r.covered = "every schedule in which at most 1 timer goes off was covered"
	default:
		r.covered = fmt.Sprintf("every schedule in which at most %d timers go off was covered",
			covered)
	}
	return nil
}

// upTo explores the executions in which at most n timers go off. It tells whether it covered
// them; the verdict is Pass only if there are no others.
func (r *run) upTo(ctx context.Context, n int) (done bool, err error) {
	p, err := r.p.WithAlarms(n)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { watch(ctx, p, &memory.Limit{}, cancel) }) // that of the run is watched
	defer watching.Wait()
	defer cancel()
	if _, err = r.dpor(ctx, p); err != nil || r.res.Verdict == engine.Violated {
		return false, err
	}
	if u := p.Unsupported(); u != nil {
		return false, u
	}
	done = r.res.Verdict == engine.Pass && p.GaveUp() == ""
	if !done || p.Cut() {
		r.res.Verdict = engine.Incomplete
	}
	return done, nil
}
