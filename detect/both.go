package detect

import (
	"context"
	"time"

	"cpor/detect/computation"
	"cpor/detect/predicate"
)

// headStart is how long the interval search runs alone before psposs joins it;
// a variable for the tests.
var headStart = 500 * time.Millisecond

// both answers Poss with the interval search. If that has not answered soon, PSPoss runs beside it
// on another goroutine, and the first answer counts. The interval search jumps where it can see
// that a clause stays false. A joint literal that is not linear lets it see little; then a step
// costs much more than one of PSPoss, which may find a witness first.
func (r *run) both(c *computation.Computation, parts []*predicate.Conjunction) {
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	start := func(algorithm string, workers int) (*run, chan struct{}) {
		opt := *r.opt
		opt.Algorithm, opt.Workers = algorithm, workers
		sub := &run{ctx: ctx, opt: &opt, res: &Result{Algorithm: algorithm}, parent: r}
		done := make(chan struct{})
		go func() {
			defer close(done)
			stop := context.AfterFunc(ctx, sub.timeout)
			defer stop()
			if algorithm == Interval {
				sub.interval(c, parts)
			} else {
				sub.simple(c, parts)
			}
		}()
		return sub, done
	}
	first, firstDone := start(Interval, max(1, r.opt.Workers-1))
	var second *run
	var secondDone chan struct{}
	won := first
	select {
	case <-firstDone:
	case <-time.After(headStart):
		second, secondDone = start(PSPoss, 1)
		second.opt.NoSequences = true
		select {
		case <-firstDone:
		case <-secondDone:
			won = second
		}
		if won.incomplete() {
			// It ran into a limit or an error: the other one may still answer.
			<-firstDone
			<-secondDone
			if won = first; first.incomplete() && !second.incomplete() {
				won = second
			}
		}
		cancel()
		<-firstDone
		<-secondDone
	}
	r.res.Algorithm = won.res.Algorithm
	r.res.SearchedBound = first.res.SearchedBound
	if won.bug != nil {
		r.fail(won.bug)
		return
	}
	if won.incomplete() {
		r.halt(won.why)
		return
	}
	r.answer(func(res *Result) { res.Holds, res.Witness = won.res.Holds, won.res.Witness })
}

// incomplete reports whether the run, which has ended, has no answer.
func (r *run) incomplete() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bug != nil || r.why != ""
}

// blind reports whether some clause has joint literals of which the interval
// search sees nothing but their values: by their form, for that is known before
// anything is compiled.
func blind(parts []*predicate.Conjunction) bool {
	for _, part := range parts {
		for _, cl := range part.Clauses {
			if len(cl.Joint) == 0 {
				continue
			}
			if len(cl.Joint) > 1 || len(cl.Local) > 0 || !isLinear(cl.Joint[0]) {
				return true
			}
		}
	}
	return false
}
