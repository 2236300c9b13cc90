package lockset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/system"
)

// progress is how far Run is.
type progress struct {
	Attempt  int
	InState  []system.Loc
	Suspects []system.Loc // found in this attempt, which then need not continue
	Elapsed  time.Duration
}

// numbers are what the numbers in states mean.
type numbers struct {
	Sets      [][]system.Loc
	Owners    []keptOwner
	Histories [][]keptKnown
}

// kept is what a checkpoint of [Run] has besides that of the search, in one process.
type kept struct {
	progress
	numbers
	Merged []uint32
}

// keptPart is what a part of a checkpoint has besides that of the search, of the rank that
// wrote it. What the numbers in its states mean the search keeps itself.
type keptPart struct {
	progress
	Merged map[system.Loc][]uint64 // see learned
}

type keptOwner struct {
	Thread int
	Held   Set
}

type keptKnown struct {
	How how
	By  []knower
}

// numbers returns what the numbers mean. No machine may step.
func (s *System) numbers() (n numbers) {
	n.Sets = s.table.sets.all()
	for _, o := range s.table.owners.all() {
		n.Owners = append(n.Owners, keptOwner{o.thread, o.held})
	}
	if s.histories != nil {
		for _, h := range s.histories.all()[raced+1:] {
			var ks []keptKnown
			for _, x := range h {
				ks = append(ks, keptKnown{x.how, x.by})
			}
			n.Histories = append(n.Histories, ks)
		}
	}
	return n
}

// keep returns what the system knows. No machine may step.
func (s *System) keep(p progress) *kept {
	k := &kept{progress: p, numbers: s.numbers()}
	for i := range s.merged {
		k.Merged = append(k.Merged, s.merged[i].Load())
	}
	return k
}

// speaking returns the system with other numbers. The error says that they are not of this
// system.
func (s *System) speaking(n *numbers) (*System, error) {
	t := NewTable()
	for i, locks := range n.Sets {
		if !slices.IsSorted(locks) || t.Of(locks) != Set(i) {
			return nil, errors.New("impossible sets of locks")
		}
	}
	for i, o := range n.Owners {
		if int(o.Held) >= len(t.sets.all()) || t.ownerNumber(owner{o.Thread, o.Held}) != uint32(i) {
			return nil, errors.New("impossible owners of locations")
		}
	}
	if s.histories == nil && len(n.Histories) > 0 {
		return nil, errors.New("unexpected histories")
	}
	other := *s
	other.table = t
	if s.histories != nil {
		h := newHistories()
		for i, ks := range n.Histories {
			var l []known
			for _, x := range ks {
				l = append(l, known{x.How, x.By})
			}
			if h.of(l) != order(i)+raced+1 {
				return nil, errors.New("impossible histories")
			}
		}
		other.histories = h
	}
	return &other, nil
}

// includes reports whether all numbers of another system mean the same in this one.
func (s *System) includes(o *System) bool {
	sameSet := func(a, b []system.Loc) bool { return slices.Equal(a, b) }
	sameOwner := func(a, b owner) bool { return a == b }
	if !begins(s.table.sets.all(), o.table.sets.all(), sameSet) ||
		!begins(s.table.owners.all(), o.table.owners.all(), sameOwner) {
		return false
	}
	sameAccess := func(a, b known) bool { return a.how == b.how && slices.Equal(a.by, b.by) }
	sameHistory := func(a, b []known) bool { return slices.EqualFunc(a, b, sameAccess) }
	return s.histories == nil || begins(s.histories.all(), o.histories.all(), sameHistory)
}

// begins reports whether a begins with b.
func begins[V any](a, b []V, same func(a, b V) bool) bool {
	return len(a) >= len(b) && slices.EqualFunc(a[:len(b)], b, same)
}

// adopt takes numbers in place of those that the system has. It comes before any machine is
// made. The error says that they are not of this system.
func (s *System) adopt(n *numbers) error {
	o, err := s.speaking(n)
	if err != nil {
		return err
	}
	// The initial states name by numbers, too: these must be the ones that they had.
	if !o.includes(s) {
		return errors.New("sets of locks, owners or histories that the initial states do not have")
	}
	s.table, s.histories = o.table, o.histories
	return nil
}

// recall restores what keep has returned, in place of what the system knows. It comes before any
// machine is made. The error says that it is not of this system.
func (s *System) recall(k *kept) error {
	if len(k.Merged) != len(s.merged) {
		return fmt.Errorf("%d locations, not %d", len(k.Merged), len(s.merged))
	}
	if err := s.adopt(&k.numbers); err != nil {
		return err
	}
	for i, m := range k.Merged {
		s.merged[i].Store(m)
	}
	return nil
}

// Numbers implements [system.Portable].
func (s *System) Numbers() ([]byte, error) { return json.Marshal(s.numbers()) }

// Foreign implements [system.Portable].
func (s *System) Foreign(b []byte) (system.Portable, error) {
	var n numbers
	if err := json.Unmarshal(b, &n); err != nil {
		return nil, err
	}
	o, err := s.speaking(&n)
	if err != nil || s.includes(o) {
		return nil, err
	}
	return o, nil
}

// Translator implements [system.Portable].
func (s *System) Translator(to system.Portable) func(dst, st system.State) system.State {
	o := to.(*System) // of Foreign
	known := map[word]word{}
	var buf []uint64
	translate := func(w word) (t word) {
		t, ok := known[w]
		if ok {
			return t
		}
		var err error
		if s.rule == HB {
			buf = s.exportOrder(buf[:0], order(w))
			t, _, err = o.importOrder(buf)
		} else {
			buf = s.exportWord(buf[:0], w)
			t, _, err = o.importWord(buf)
		}
		if err != nil {
			panic(err) // it has just been exported
		}
		known[w] = t
		return t
	}
	return func(dst, st system.State) system.State {
		own := len(dst) + len(st) - s.words
		dst = append(dst, st...)
		for slot := range s.slots {
			w, sh := &dst[own+slot/2], 32*(slot&1)
			*w = *w&^(uint64(1<<32-1)<<sh) | uint64(translate(word(*w>>sh)))<<sh
		}
		return dst
	}
}

// learned returns the merged histories as they go to other ranks.
func (s *System) learned() map[system.Loc][]uint64 {
	all := map[system.Loc][]uint64{}
	for loc := range s.merged {
		if w := word(s.merged[loc].Load()); w != virgin {
			all[system.Loc(loc)] = s.exportWord(nil, w)
		}
	}
	return all
}

// learn joins histories that learned has returned, and calls suspect for those that
// break the rule by that.
func (s *System) learn(all map[system.Loc][]uint64, suspect func(system.Loc)) error {
	c := newCache(s.table)
	for loc, words := range all {
		if int(loc) >= len(s.merged) {
			return errForeign
		}
		w, rest, err := s.importWord(words)
		if err != nil || len(rest) > 0 {
			return errForeign
		}
		now, problem := c.join(s.class[loc], word(s.merged[loc].Load()), w)
		if s.merged[loc].Store(uint32(now)); problem != fine {
			suspect(loc)
		}
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

// firstPart returns the content of the first part that a rank restores.
func firstPart(from *engine.Parts, rank int) (*keptPart, *numbers, error) {
	f, err := from.Open(search.FirstPart(rank, from.From))
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	var k keptPart
	if err := engine.ReadRecord(f, &k); err != nil {
		return nil, nil, err
	}
	b, err := search.NumbersOf(f)
	if err != nil {
		return nil, nil, err
	}
	var n numbers
	if err := json.Unmarshal(b, &n); err != nil {
		return nil, nil, engine.Unreadable(err)
	}
	return &k, &n, nil
}

// keepingParts is keeping for a search that is divided among ranks: each part begins with what
// state returns, and take is given that of each part that is read, unless the attempt is a new
// one. The checkpoints of all attempts are numbered together, by last, which is the same on all
// ranks.
func keepingParts(c *engine.Checkpoint, anew bool, last *int, state func() *keptPart,
	take func(*keptPart) error) *engine.Checkpoint {
	own, parts := *c, *c.Parts
	own.Interned, own.Parts = true, &parts
	if anew {
		parts.From = 0
	}
	before := *last
	parts.Open = func(part int) (io.ReadCloser, error) {
		f, err := c.Parts.Open(part)
		if err != nil {
			return nil, err
		}
		var k keptPart
		if err = engine.ReadRecord(f, &k); err == nil {
			err = take(&k)
		}
		if err != nil {
			f.Close()
			return nil, err
		}
		return f, nil
	}
	parts.Begin = func(n int) {
		*last = before + n
		if c.Parts.Begin != nil {
			c.Parts.Begin(before + n)
		}
	}
	parts.Write = func(n, part int, save func(io.Writer) error) error {
		return c.Parts.Write(before+n, part, func(w io.Writer) error {
			if err := engine.WriteRecord(w, state()); err != nil {
				return err
			}
			return save(w)
		})
	}
	parts.Commit = func(n, count int, err error) bool {
		return c.Parts.Commit(before+n, count, err)
	}
	return &own
}
