package lockset

import (
	"context"
	"errors"
	"maps"
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
// without some of them. If not, the search begins again with the histories of
// the suspect locations in the state, and if others become suspect then, once
// more with all histories there. So the result is exact, and programs in which
// a variable has the same lock in all executions never pay for the states. The
// limits of the options hold for all searches together, but for MaxStates and
// MaxMemory, which hold for each.
//
// On several ranks each merges the histories of what it explores; when an attempt has
// ended, rank 0 joins them, and all begin again or none does. See the package
// documentation.
func Run(ctx context.Context, sys system.System, o Options,
	newFactory func(system.System) (search.Factory, error), so search.Options) (*System,
	*search.Result, error) {
	begun := time.Now()
	start := begun
	inState := map[system.Loc]bool{}
	first, before := 0, (*kept)(nil)
	var adopted *numbers
	goOn := func(p *progress) {
		first, start = p.Attempt, start.Add(-p.Elapsed)
		for _, l := range p.InState {
			inState[l] = true
		}
	}
	ranks := so.Ranks != nil && so.Ranks.Size() > 1
	switch c := so.Checkpoint; {
	case c == nil:
	case c.Parts != nil && c.Parts.From > 0:
		rank := 0
		if ranks {
			rank = so.Ranks.Rank()
		}
		// What is wrong with the part tells the search, which reads it again, to all ranks.
		if k, n, err := firstPart(c.Parts, rank); err == nil {
			goOn(&k.progress)
			adopted = n
		}
	case c.From != nil:
		before = new(kept)
		if err := engine.ReadRecord(c.From, before); err != nil {
			return nil, nil, err
		}
		if goOn(&before.progress); len(before.Suspects) > 0 {
			// That attempt was over, and the next one had no checkpoint yet.
			for _, l := range before.Suspects {
				inState[l] = true
			}
			first, before = first+1, nil
		}
	}
	if _, ok := so.Ranks.(*cluster.Conn); ranks && !ok {
		so.Ranks = cluster.Connect(so.Ranks) // each attempt is a search
	}
	opened, saves := false, 0
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
			now := func() progress {
				return progress{attempt, slices.Sorted(maps.Keys(inState)), suspects.all(),
					time.Since(start)}
			}
			var own *engine.Checkpoint
			if c.Parts == nil {
				own = keeping(c, func() *kept { return s.keep(now()) })
			} else {
				own = keepingParts(c, attempt > first, &saves, func() *keptPart {
					return &keptPart{now(), s.learned()}
				}, func(k *keptPart) error {
					if k.Attempt != attempt || !slices.Equal(k.InState,
						slices.Sorted(maps.Keys(inState))) {
						return engine.Unreadable(
							errors.New("its parts belong to different searches"))
					}
					// If that attempt was over, it is so at once, on all ranks.
					for _, l := range k.Suspects {
						opts.Suspect(l)
					}
					if err := s.learn(k.Merged, opts.Suspect); err != nil {
						return engine.Unreadable(err)
					}
					return nil
				})
			}
			own.Open = func() error {
				if opened || c.Open == nil {
					return nil
				}
				opened = true
				return c.Open()
			}
			if adopted != nil {
				// If it cannot be, the search refuses the part.
				_ = s.adopt(adopted)
				adopted = nil
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
		all := &learning{s: s, suspects: suspects.all, over: func() bool {
			return ctx.Err() != nil
		}}
		if ranks {
			limits.Learning = all
		}
		res, err := search.Run(run, s, factory, limits)
		cancel()
		if !ranks {
			all.told = told{suspects.all(), ctx.Err() != nil || res != nil &&
				len(res.Violations) > 0 && !so.All}
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
