package lockset

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"cpor/engine"
	"cpor/system"
)

// kept is what a checkpoint of [Run] has besides that of the search: what the numbers in
// the states mean, and how far Run is.
type kept struct {
	Attempt  int
	InState  []system.Loc
	Suspects []system.Loc // found in this attempt, which then need not go on
	Elapsed  time.Duration

	Sets      [][]system.Loc
	Owners    []keptOwner
	Histories [][]keptKnown
	Merged    []uint32
}

type keptOwner struct {
	Thread int
	Held   Set
}

type keptKnown struct {
	How how
	By  []knower
}

// keep fills in what the system knows. No machine may step.
func (s *System) keep(k *kept) {
	k.Sets = s.table.sets
	for _, o := range s.table.owners {
		k.Owners = append(k.Owners, keptOwner{o.thread, o.held})
	}
	if s.histories != nil {
		for _, h := range s.histories.list[raced+1:] {
			var ks []keptKnown
			for _, x := range h {
				ks = append(ks, keptKnown{x.how, x.by})
			}
			k.Histories = append(k.Histories, ks)
		}
	}
	for i := range s.merged {
		k.Merged = append(k.Merged, s.merged[i].Load())
	}
}

// recall takes up what keep has written, in place of what the system knows. It comes before
// any machine is made. The error says that it is not of this system.
func (s *System) recall(k *kept) error {
	t := NewTable()
	for i, locks := range k.Sets {
		if !slices.IsSorted(locks) || t.Of(locks) != Set(i) {
			return errors.New("sets of locks that cannot be")
		}
	}
	for i, o := range k.Owners {
		if int(o.Held) >= len(t.sets) || t.ownerNumber(owner{o.Thread, o.Held}) != uint32(i) {
			return errors.New("owners of locations that cannot be")
		}
	}
	if len(k.Merged) != len(s.merged) || s.histories == nil && len(k.Histories) > 0 {
		return fmt.Errorf("%d locations, not %d", len(k.Merged), len(s.merged))
	}
	// The initial states name by numbers, too: these must be the ones that they had.
	if len(t.sets) < len(s.table.sets) || len(t.owners) < len(s.table.owners) {
		return errors.New("fewer sets of locks than the initial states have")
	}
	for i, locks := range s.table.sets {
		if !slices.Equal(locks, t.sets[i]) {
			return errors.New("other sets of locks than the initial states have")
		}
	}
	if !slices.Equal(s.table.owners, t.owners[:len(s.table.owners)]) {
		return errors.New("other owners than the initial states have")
	}
	s.table = t
	if s.histories != nil {
		h := newHistories()
		for i, ks := range k.Histories {
			var l []known
			for _, x := range ks {
				l = append(l, known{x.How, x.By})
			}
			if h.of(l) != order(i)+raced+1 {
				return errors.New("histories that cannot be")
			}
		}
		for i, l := range s.histories.list {
			if i > int(raced) && (i >= len(h.list) || !slices.EqualFunc(l, h.list[i], func(a, b known) bool { return a.how == b.how && slices.Equal(a.by, b.by) })) {
				return errors.New("other histories than the initial states have")
			}
		}
		s.histories = h
	}
	for i, m := range k.Merged {
		s.merged[i].Store(m)
	}
	return nil
}

// keeping returns the checkpoint to be given to a search of s: what it writes begins
// with what state returns.
func keeping(c *engine.Checkpoint, state func() *kept) *engine.Checkpoint {
	own := *c
	own.Interned, own.From = true, nil
	own.Write = func(save func(w io.Writer) error) func(error) bool {
		return c.Write(func(w io.Writer) error {
			if err := engine.WriteRecord(w, state()); err != nil {
				return err
			}
			return save(w)
		})
	}
	return &own
}
