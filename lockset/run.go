package lockset

import (
	"context"
	"slices"
	"time"

	"cpor/engine"
	"cpor/engine/cluster"
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
//
// On several ranks each merges the histories of what it explores; when an attempt has
// ended, rank 0 joins them, and all begin anew or none does. See the package
// documentation.
func Run(ctx context.Context, sys system.System, o Options, newFactory func(system.System) (search.Factory, error), so search.Options) (*System, *search.Result, error) {
	begun := time.Now()
	start := begun
	inState := map[system.Loc]bool{}
	first, before := 0, (*kept)(nil)
	if c := so.Checkpoint; c != nil {
		if so.Ranks != nil || c.Parts != nil {
			return nil, nil, &engine.OptionError{Message: "-races keeps what the states speak of in one process: with -checkpoint it cannot be combined with -cluster"}
		}
		if c.From != nil {
			before = new(kept)
			if err := engine.ReadRecord(c.From, before); err != nil {
				return nil, nil, err
			}
			start = start.Add(-before.Elapsed)
			for _, l := range before.InState {
				inState[l] = true
			}
			if first = before.Attempt; len(before.Suspects) > 0 {
				// That attempt was over, and the next one had no checkpoint yet.
				for _, l := range before.Suspects {
					inState[l] = true
				}
				first, before = first+1, nil
			}
		}
	}
	ranks := so.Ranks != nil && so.Ranks.Size() > 1
	if _, ok := so.Ranks.(*cluster.Conn); ranks && !ok {
		so.Ranks = cluster.Connect(so.Ranks) // each attempt is a search
	}
	opened := false
	for attempt := first; ; attempt++ {
		var suspects suspicion
		run, cancel := context.WithCancel(ctx)
		opts := o
		opts.Merge = func(l system.Loc) bool { return attempt < 2 && !inState[l] }
		opts.Suspect = func(l system.Loc) {
			suspects.add(l)
			cancel()
		}
		limits := so
		if so.Timeout > 0 && attempt > first {
			limits.Timeout = max(so.Timeout-time.Since(begun), time.Nanosecond)
		}
		s, err := New(sys, opts)
		if err != nil {
			cancel()
			return nil, nil, err
		}
		if c := so.Checkpoint; c != nil {
			own := keeping(c, func() *kept {
				k := &kept{Attempt: attempt, Suspects: suspects.all(), Elapsed: time.Since(start)}
				for l := range inState {
					k.InState = append(k.InState, l)
				}
				slices.Sort(k.InState)
				s.keep(k)
				return k
			})
			own.Open = func() error {
				if opened || c.Open == nil {
					return nil
				}
				opened = true
				return c.Open()
			}
			if before != nil {
				if err := s.recall(before); err != nil {
					cancel()
					return nil, nil, engine.Unreadable(err)
				}
				own.From, before = c.From, nil
			}
			limits.Checkpoint = own
		}
		factory, err := newFactory(s)
		if err != nil {
			cancel()
			return nil, nil, err
		}
		all := &learning{s: s, suspects: suspects.all, over: func() bool { return ctx.Err() != nil }}
		if ranks {
			limits.Learning = all
		}
		res, err := search.Run(run, s, factory, limits)
		cancel()
		if !ranks {
			all.told = told{suspects.all(), ctx.Err() != nil || res != nil && len(res.Violations) > 0 && !so.All}
		}
		again := len(all.told.Suspects) > 0
		for _, l := range all.told.Suspects {
			inState[l] = true
		}
		if res != nil {
			res.Duration = time.Since(start)
		}
		if !again || err != nil || all.told.Over {
			if again && res != nil && (so.All || res.Verdict != engine.Violated) {
				// It may have come to its end before it heard of the suspicion.
				res.Doubt("interrupted")
			}
			return s, res, err
		}
	}
}
