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
	a := &attempts{sys: sys, o: o, so: so, newFactory: newFactory, begun: begun, start: begun,
		inState: map[system.Loc]bool{}, ranks: so.Ranks != nil && so.Ranks.Size() > 1}
	if err := a.resume(); err != nil {
		return nil, nil, err
	}
	if _, ok := so.Ranks.(*cluster.Conn); a.ranks && !ok {
		a.so.Ranks = cluster.Connect(so.Ranks) // each attempt is a search
	}
	for a.number = a.first; ; a.number++ {
		s, res, again, err := a.search(ctx)
		if !again {
			return s, res, err
		}
	}
}

// attempts is the searches of a Run, one after the other.
type attempts struct {
	sys        system.System
	o          Options
	so         search.Options
	newFactory func(system.System) (search.Factory, error)
	ranks      bool      // there are several
	begun      time.Time // when Run was called
	start      time.Time // the same, less the time before an interruption

	first, number int
	inState       map[system.Loc]bool // the locations whose histories are in the state

	// Of a checkpoint, until the first attempt has taken it.
	before  *kept
	adopted *numbers

	opened bool // the checkpoint was
	saves  int
}

// resume takes from a checkpoint which attempt it is of.
func (a *attempts) resume() error {
	goOn := func(p *progress) {
		a.first, a.start = p.Attempt, a.start.Add(-p.Elapsed)
		a.keep(p.InState)
	}
	switch c := a.so.Checkpoint; {
	case c == nil:
	case c.Parts != nil && c.Parts.From > 0:
		rank := 0
		if a.ranks {
			rank = a.so.Ranks.Rank()
		}
		// What is wrong with the part tells the search, which reads it again, to all ranks.
		if k, n, err := firstPart(c.Parts, rank); err == nil {
			goOn(&k.progress)
			a.adopted = n
		}
	case c.From != nil:
		before := new(kept)
		if err := engine.ReadRecord(c.From, before); err != nil {
			return err
		}
		a.before = before
		if goOn(&before.progress); len(before.Suspects) > 0 {
			// That attempt was over, and the next one had no checkpoint yet.
			a.keep(before.Suspects)
			a.first, a.before = a.first+1, nil
		}
	}
	return nil
}

// keep puts the histories of locations into the state from now on.
func (a *attempts) keep(locs []system.Loc) {
	for _, l := range locs {
		a.inState[l] = true
	}
}

// search makes one attempt. again tells that it was not the last one.
func (a *attempts) search(ctx context.Context) (s *System, res *search.Result, again bool,
	err error) {
	var suspects suspicion
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	number := a.number
	opts := a.o
	opts.Merge = func(l system.Loc) bool { return number < 2 && !a.inState[l] }
	opts.Suspect = func(l system.Loc) {
		suspects.add(l)
		cancel()
	}
	if s, err = New(a.sys, opts); err != nil {
		return nil, nil, false, err
	}
	limits, err := a.limits(s, &suspects, opts.Suspect)
	if err != nil {
		return nil, nil, false, err
	}
	factory, err := a.newFactory(s)
	if err != nil {
		return nil, nil, false, err
	}
	all := &learning{s: s, suspects: suspects.all, over: func() bool { return ctx.Err() != nil }}
	if a.ranks {
		limits.Learning = all
	}
	res, err = search.Run(run, s, factory, limits)
	cancel()
	if !a.ranks {
		all.told = told{suspects.all(), ctx.Err() != nil || res != nil &&
			len(res.Violations) > 0 && !a.so.All}
	}
	suspected := len(all.told.Suspects) > 0
	a.keep(all.told.Suspects)
	if res != nil {
		res.Duration = time.Since(a.start)
	}
	if suspected && err == nil && !all.told.Over {
		return s, res, true, nil
	}
	if suspected && res != nil && (a.so.All || res.Verdict != engine.Violated) {
		// It may have come to its end before it heard of the suspicion.
		res.Doubt("interrupted")
	}
	return s, res, false, err
}

// limits returns the options of the attempt, whose checkpoints keep what the attempts have
// learned.
func (a *attempts) limits(s *System, suspects *suspicion, suspect func(system.Loc)) (
	limits search.Options, err error) {
	limits = a.so
	if limits.Timeout > 0 && a.number > a.first {
		limits.Timeout = max(limits.Timeout-time.Since(a.begun), time.Nanosecond)
	}
	if limits.Checkpoint != nil {
		limits.Checkpoint, err = a.checkpoint(s, suspects, suspect)
	}
	return limits, err
}

// checkpoint returns the checkpoint of an attempt, and takes what one from before an
// interruption has for its system.
func (a *attempts) checkpoint(s *System, suspects *suspicion, suspect func(system.Loc)) (
	*engine.Checkpoint, error) {
	c, number := a.so.Checkpoint, a.number
	now := func() progress {
		return progress{number, slices.Sorted(maps.Keys(a.inState)), suspects.all(),
			time.Since(a.start)}
	}
	var own *engine.Checkpoint
	if c.Parts == nil {
		own = keeping(c, func() *kept { return s.keep(now()) })
	} else {
		own = keepingParts(c, number > a.first, &a.saves,
			func() *keptPart { return &keptPart{now(), s.learned()} },
			func(k *keptPart) error { return a.takePart(s, k, suspect) })
	}
	own.Open = func() error {
		if a.opened || c.Open == nil {
			return nil
		}
		a.opened = true
		return c.Open()
	}
	if a.adopted != nil {
		// If it cannot be, the search refuses the part.
		_ = s.adopt(a.adopted)
		a.adopted = nil
	}
	if a.before != nil {
		if err := s.recall(a.before); err != nil {
			return nil, engine.Unreadable(err)
		}
		own.From, a.before = c.From, nil
	}
	return own, nil
}

// takePart takes a part of a checkpoint.
func (a *attempts) takePart(s *System, k *keptPart, suspect func(system.Loc)) error {
	if k.Attempt != a.number || !slices.Equal(k.InState, slices.Sorted(maps.Keys(a.inState))) {
		return engine.Unreadable(errors.New("its parts belong to different searches"))
	}
	// If that attempt was over, it is so at once, on all ranks.
	for _, l := range k.Suspects {
		suspect(l)
	}
	if err := s.learn(k.Merged, suspect); err != nil {
		return engine.Unreadable(err)
	}
	return nil
}
