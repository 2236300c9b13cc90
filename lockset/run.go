package lockset

import (
	"context"
	"sync"
	"time"

	"cpor/engine/search"
	"cpor/system"
)

// Run searches sys with the expanders that newFactory makes for the wrapped
// system, and checks a rule. It returns what [search.Run] returns, and the
// system that was searched last, which [Explain] needs.
//
// With LDPrime it first merges the histories of each location's accesses over
// all executions, which costs no states at all. If the merged ones keep the
// discipline, each single one does: a set of accesses that keeps it does so
// without some of them. If not, the search begins anew with the histories of
// the suspect locations in the state, and if others become suspect then, once
// more with all histories there. So the result is exact, and programs in which
// a variable has the same lock in all executions never pay for the states. The
// limits of the options hold for all searches together, but for MaxStates and
// MaxMemory, which hold for each.
func Run(ctx context.Context, sys system.System, o Options, newFactory func(system.System) (search.Factory, error), so search.Options) (*System, *search.Result, error) {
	start := time.Now()
	inState := map[system.Loc]bool{}
	for attempt := 0; ; attempt++ {
		var mu sync.Mutex
		var suspects []system.Loc
		run, cancel := context.WithCancel(ctx)
		opts := o
		opts.Merge = func(l system.Loc) bool { return attempt < 2 && !inState[l] }
		opts.Suspect = func(l system.Loc) {
			mu.Lock()
			defer mu.Unlock()
			suspects = append(suspects, l)
			cancel()
		}
		limits := so
		if so.Timeout > 0 && attempt > 0 {
			limits.Timeout = max(so.Timeout-time.Since(start), time.Nanosecond)
		}
		s, err := New(sys, opts)
		if err != nil {
			cancel()
			return nil, nil, err
		}
		factory, err := newFactory(s)
		if err != nil {
			cancel()
			return nil, nil, err
		}
		res, err := search.Run(run, s, factory, limits)
		cancel()
		mu.Lock()
		again := len(suspects) > 0
		for _, l := range suspects {
			inState[l] = true
		}
		mu.Unlock()
		if res != nil {
			res.Duration = time.Since(start)
		}
		found := res != nil && len(res.Violations) > 0 && !so.All
		if !again || err != nil || found || ctx.Err() != nil {
			return s, res, err
		}
	}
}
