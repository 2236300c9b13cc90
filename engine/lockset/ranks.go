package lockset

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"cpor/system"
)

// errForeign says that words were not exported.
var errForeign = errors.New("the memory of locks in it cannot be read: do all ranks run the same " +
	"cpor?")

// A word of LD or LDPrime is exported as its state, the number of locks and the
// thread, and behind that the locks. One of HB is exported as untouched, raced, or two
// more than the number of its accesses, and for each of these its kind and the
// number of those who know of it, and behind that these.
const (
	exportedLocks  = 3 // where the number of locks begins
	exportedThread = 32
	exportedKnown  = 2 // where the number of knowers begins
)

// Export implements [system.Portable].
func (s *System) Export(dst, st system.State) system.State {
	n := len(st) - s.words
	dst = append(dst, st[:n]...)
	if s.words == 0 {
		return dst
	}
	own := st[n:]
	for slot := range s.slots {
		w := word(own[slot/2] >> (32 * (slot & 1)))
		if s.rule == HB {
			dst = s.exportOrder(dst, order(w))
		} else {
			dst = s.exportWord(dst, w)
		}
	}
	if s.rule == HB {
		dst = append(dst, own[s.words-1]) // which threads have ended
	}
	return append(dst, uint64(len(dst)-n))
}

// Import implements [system.Portable].
func (s *System) Import(dst, st system.State) (system.State, error) {
	if s.words == 0 {
		return append(dst, st...), nil
	}
	last := len(st) - 1
	if last < 0 || st[last] > uint64(last) {
		return nil, errForeign
	}
	n := last - int(st[last])
	dst = append(dst, st[:n]...)
	own := len(dst)
	dst = append(dst, make([]uint64, s.words)...)
	rest := st[n:last]
	for slot := range s.slots {
		var w word
		var err error
		if s.rule == HB {
			w, rest, err = s.importOrder(rest)
		} else {
			w, rest, err = s.importWord(rest)
		}
		if err != nil {
			return nil, err
		}
		dst[own+slot/2] |= uint64(w) << (32 * (slot & 1))
	}
	if s.rule == HB && len(rest) > 0 {
		dst[len(dst)-1], rest = rest[0], rest[1:]
	} else if s.rule == HB {
		return nil, errForeign
	}
	if len(rest) > 0 {
		return nil, errForeign
	}
	return dst, nil
}

// exportWord appends what a word of LD or LDPrime means.
func (s *System) exportWord(dst []uint64, w word) []uint64 {
	state := w & stateMask
	thread, held := 0, Set(0)
	switch state {
	case exclusiveR, exclusiveW:
		o := s.table.ownerOf(uint32(w & payload))
		thread, held = o.thread, o.held
	case sharedR, sharedW:
		held = Set(w & payload)
	}
	locks := s.table.Locks(held)
	dst = append(dst, uint64(state)>>29|uint64(len(locks))<<exportedLocks|uint64(
		thread)<<exportedThread)
	for _, l := range locks {
		dst = append(dst, uint64(l))
	}
	return dst
}

// importWord returns the word that begins from, and what follows it.
func (s *System) importWord(from []uint64) (w word, rest []uint64, err error) {
	if len(from) == 0 {
		return 0, nil, errForeign
	}
	head, rest := from[0], from[1:]
	state, n, thread := word(head&7)<<29, head>>exportedLocks&(1<<(exportedThread-exportedLocks)-1),
		head>>exportedThread
	if state > reported || n > uint64(len(rest)) {
		return 0, nil, errForeign
	}
	var locks []system.Loc
	for _, l := range rest[:n] {
		if len(locks) > 0 && l <= uint64(locks[len(locks)-1]) || l>>31 != 0 {
			return 0, nil, errForeign
		}
		locks = append(locks, system.Loc(l))
	}
	switch held := s.table.Of(locks); state {
	case exclusiveR, exclusiveW:
		state |= word(s.table.ownerNumber(owner{int(thread), held}))
	case sharedR, sharedW:
		state |= word(held)
	}
	return state, rest[n:], nil
}

// exportOrder appends what a word of HB means.
func (s *System) exportOrder(dst []uint64, o order) []uint64 {
	if o <= raced {
		return append(dst, uint64(o))
	}
	ks := s.histories.get(o)
	dst = append(dst, uint64(len(ks))+uint64(raced))
	for _, k := range ks {
		dst = append(dst, uint64(k.how)|uint64(len(k.by))<<exportedKnown)
		for _, x := range k.by {
			dst = append(dst, uint64(x))
		}
	}
	return dst
}

// importOrder returns the word that begins from, and what follows it.
func (s *System) importOrder(from []uint64) (w word, rest []uint64, err error) {
	if len(from) == 0 {
		return 0, nil, errForeign
	}
	head, rest := from[0], from[1:]
	if head <= uint64(raced) {
		return word(head), rest, nil
	}
	var ks []known
	for range head - uint64(raced) {
		if len(rest) == 0 || rest[0]>>exportedKnown > uint64(len(rest)-1) {
			return 0, nil, errForeign
		}
		k := known{how: how(rest[0] & (1<<exportedKnown - 1))}
		n := rest[0] >> exportedKnown
		for _, x := range rest[1 : 1+n] {
			k.by = append(k.by, knower(x))
		}
		ks, rest = append(ks, k), rest[1+n:]
	}
	return word(s.histories.of(ks)), rest, nil
}

// join returns the history of all accesses of which a and b are the histories, by
// LDPrime without an initThread, and whether only both together break the rule. What
// LDPrime makes of a set of accesses depends on three things: whether no, one or several
// threads made them, which locks they have in common, and whether one is a write. Each
// history has these of its set, and they join.
func (c *cache) join(class system.Class, a, b word) (word, problem) {
	state := func(w word) word { return w & stateMask }
	switch {
	case state(b) == virgin || state(a) == reported:
		return a, fine
	case state(a) == virgin:
		return b, fine
	case state(b) == exclusiveR || state(b) == exclusiveW:
		// It is the history of one access.
		o := c.ownerOf(b)
		return c.next(LDPrime, class, noInitThread, a,
			access{thread: o.thread, write: state(b) == exclusiveW, held: o.held})
	case state(a) == exclusiveR || state(a) == exclusiveW:
		return c.join(class, b, a)
	case state(b) == reported:
		return b, fine
	}
	return c.shared(c.intersect(Set(a&payload), Set(b&payload)), state(a) == sharedW ||
		state(b) == sharedW)
}

// learned is what a rank has learned in an attempt.
type learned struct {
	Merged   map[system.Loc][]uint64 // exported, without those that are virgin
	Suspects []system.Loc
	Over     bool // it has been told to end
}

// told is what rank 0 makes of that.
type told struct {
	Suspects []system.Loc // of all ranks, and of all together
	Over     bool         // no attempt follows
}

// learning is an attempt on several ranks. It implements [search.Learning].
type learning struct {
	s        *System
	suspects func() []system.Loc
	over     func() bool
	told     told
}

// Learned implements [search.Learning].
func (x *learning) Learned() []byte {
	l := learned{Merged: x.s.learned(), Suspects: x.suspects(), Over: x.over()}
	m, err := json.Marshal(&l)
	if err != nil {
		panic(err) // numbers only
	}
	return m
}

// Join implements [search.Learning].
func (x *learning) Join(all [][]byte, over bool) ([]byte, error) {
	sum := told{Suspects: x.suspects(), Over: over}
	merged := make([]word, len(x.s.merged))
	c := newCache(x.s.table)
	for rank, m := range all {
		var l learned
		if err := json.Unmarshal(m, &l); err != nil {
			return nil, fmt.Errorf("what rank %d has learned of locks cannot be read: %w", rank,
				err)
		}
		sum.Suspects = append(sum.Suspects, l.Suspects...)
		sum.Over = sum.Over || l.Over
		for loc, words := range l.Merged {
			w, rest, err := x.s.importWord(words)
			if err != nil || len(rest) > 0 || int(loc) >= len(merged) {
				return nil, fmt.Errorf("what rank %d has learned of locks: %w", rank, errForeign)
			}
			now, problem := c.join(x.s.class[loc], merged[loc], w)
			if merged[loc] = now; problem != fine {
				sum.Suspects = append(sum.Suspects, loc)
			}
		}
	}
	slices.Sort(sum.Suspects)
	sum.Suspects = slices.Compact(sum.Suspects)
	return json.Marshal(&sum)
}

// Told implements [search.Learning].
func (x *learning) Told(m []byte) error { return json.Unmarshal(m, &x.told) }

// suspicion collects the locations whose merged histories break the rule.
type suspicion struct {
	mu   sync.Mutex
	locs []system.Loc
}

func (s *suspicion) add(l system.Loc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.locs = append(s.locs, l)
}

func (s *suspicion) all() []system.Loc {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.locs)
}
