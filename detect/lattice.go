package detect

import (
	"context"

	"cpor/detect/computation"
	"cpor/detect/predicate"
)

// latticeSearch is Cooper and Marzullo's: the lattice of consistent global
// states level by level, a level being the states with the same number of
// events. Only the current level has to be kept apart; for Def, the levels stay
// in memory to find the observation.
type latticeSearch struct {
	r    *run
	p    *problem
	d    *psposs // evaluates states and knows which transitions are enabled
	pack *packer
	tally
}

func newLattice(r *run, p *problem) *latticeSearch {
	return &latticeSearch{r: r, p: p, d: newPSPoss(r, p), pack: newPacker(p)}
}

// load makes s the state that d evaluates.
func (l *latticeSearch) load(key []uint64) {
	l.pack.unpack(key, l.d.s)
}

func (l *latticeSearch) enabled(i int) bool {
	s := l.d.s
	k := s[i] + 1
	if k > l.p.procs[i].last {
		return false
	}
	for j, x := range l.p.row(i, k) {
		if x > s[j] && j != i {
			return false
		}
	}
	return true
}

// successors adds the successors of the loaded state to the next level.
func (l *latticeSearch) successors(set *keySet, next []uint64) []uint64 {
	key := make([]uint64, l.pack.words)
	for i := range l.d.s {
		if !l.enabled(i) {
			continue
		}
		l.transitions++
		l.events++
		l.d.s[i]++
		l.pack.pack(l.d.s, key)
		l.d.s[i]--
		if set.insert(key) {
			next = append(next, key...)
		}
	}
	return next
}

func (r *run) latticePoss(p *problem) {
	l := newLattice(r, p)
	defer func() { r.add(&l.tally) }()
	w := l.pack.words
	level := make([]uint64, w)
	for len(level) > 0 {
		set := newKeySet(w)
		var next []uint64
		for at := 0; at < len(level); at += w {
			l.load(level[at : at+w])
			l.states++
			if r.tick(&l.tally) {
				return
			}
			if l.d.falseClause() < 0 {
				r.found(p, l.d.s)
				return
			}
			next = l.successors(set, next)
		}
		r.bytes.Store(max(r.bytes.Load(), set.bytes()+int64(len(next)+len(level))*8))
		level = next
	}
}

func (r *run) latticeDef(p *problem) {
	l := newLattice(r, p)
	defer func() { r.add(&l.tally) }()
	w := l.pack.words
	final := make([]uint64, w)
	l.pack.pack(p.lastState(), final)
	levels := [][]uint64{make([]uint64, w)}
	stored := int64(0)
	for {
		level := levels[len(levels)-1]
		set := newKeySet(w)
		var next []uint64
		kept := level[:0] // of the level, the states that do not satisfy the predicate
		for at := 0; at < len(level); at += w {
			key := level[at : at+w]
			l.load(key)
			l.states++
			if r.tick(&l.tally) {
				return
			}
			if l.d.falseClause() < 0 {
				continue
			}
			next = l.successors(set, next)
			kept = append(kept, key...)
		}
		levels[len(levels)-1] = kept
		stored += int64(len(kept)) * 8
		r.bytes.Store(stored + set.bytes())
		if len(next) == 0 {
			// The only state without successors is the final one.
			if len(kept) > 0 {
				r.avoided(p, l.pathTo(final, levels))
			}
			return
		}
		levels = append(levels, next)
	}
}

// pathTo follows the levels backwards from the final state.
func (l *latticeSearch) pathTo(final []uint64, levels [][]uint64) []int {
	w := l.pack.words
	path := make([]int, len(levels)-1)
	l.load(final)
	key := make([]uint64, w)
	for d := len(levels) - 1; d > 0; d-- {
		set := newKeySet(w)
		for at := 0; at < len(levels[d-1]); at += w {
			set.insert(levels[d-1][at : at+w])
		}
		for i := range l.d.s {
			if l.d.s[i] == 0 {
				continue
			}
			l.d.s[i]--
			l.pack.pack(l.d.s, key)
			if l.enabled(i) && !set.insert(key) {
				path[d-1] = i
				break
			}
			l.d.s[i]++
		}
	}
	return path
}

// CountStates counts the consistent global states of the computation, all of
// them, as far as limit; exact is unset if there are more.
func CountStates(ctx context.Context, c *computation.Computation, limit int64) (n int64,
	exact bool) {
	p := compile(c, &predicate.Conjunction{}, false, func() bool { return false })
	l := newLattice(&run{ctx: ctx, opt: &Options{}, res: &Result{}}, p)
	w := l.pack.words
	level := make([]uint64, w)
	for len(level) > 0 {
		set := newKeySet(w)
		var next []uint64
		for at := 0; at < len(level); at += w {
			if n++; n > limit || n%flushEvery == 0 && ctx.Err() != nil {
				return n - 1, false
			}
			l.load(level[at : at+w])
			next = l.successors(set, next)
		}
		level = next
	}
	return n, true
}
