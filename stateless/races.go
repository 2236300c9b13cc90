package stateless

import (
	"encoding/binary"
	"slices"

	"cpor/system"
)

// races finds out what has to be explored because of the execution that has
// ended: for each race, an execution in which it is the other way round.
//
// A race of two events that was there in the execution before has been dealt
// with then, so that only the events that are new are looked at as the later
// one of a race. A sequence that reverses a race of events f and e consists of
// all events of the execution that do not happen after f, and then e's thread.
func (w *worker) races(end end) {
	optimal := w.e.o.Reduction == DPOR
	for e := w.fresh; e < w.path.len(); e++ {
		limit := e + 1
		if optimal {
			limit = w.path.len()
		}
		q := int(w.events[e].thread)
		for i := range w.racesOf(e) {
			clear(w.memo)
			w.root[0] = w.racesOf(e)[i]
			w.reverse(w.root[:], q, e, limit)
		}
	}
	for e := range w.path.len() {
		if w.events[e].node.multi {
			w.otherAlternatives(e)
		}
	}
	if end == cut {
		w.cutRaces()
		return
	}
	// A blocked thread reads, and so it races with those who blocked it.
	for _, q := range w.stuck {
		if out := w.r.m.Step(q, 0); out.Kind != system.Blocked {
			continue
		}
		clear(w.memo)
		w.unblock(nil, q, w.path.len(), w.path.len(), w.r.m.Accesses())
	}
}

// cutRaces looks at the races that an execution which was cut off would have
// had with its next transition, whatever thread takes it: otherwise threads
// that never had a turn would be in no race.
func (w *worker) cutRaces() {
	k := w.path.len()
	sleep := w.asleep(k)
	x := &w.beyond
	x.parent = w.node(k)
	for q := range w.r.m.NumThreads() {
		for alt := uint64(0); ; {
			out := w.r.try(q, alt)
			if out.Kind == system.Ended {
				break
			}
			x.thread, x.alt, x.multi = int32(q), alt, alt != 0 || out.Next != 0
			x.acc = append(x.acc[:0], w.r.m.Accesses()...)
			if out.Kind == system.Moved {
				w.r.undo()
			}
			if sleeping(sleep, q, alt) == nil {
				w.push(x, false)
				for i := range w.racesOf(k) {
					clear(w.memo)
					w.root[0] = w.racesOf(k)[i]
					w.reverse(w.root[:], q, k, k+1)
				}
				w.path.truncate(k)
			}
			if out.Next == 0 {
				break
			}
			alt = out.Next
		}
	}
}

// prior returns the last event of thread q before event e, -1 if none.
func (w *worker) prior(q, e int) int {
	if e < w.path.len() {
		return int(w.events[e].prev)
	}
	if q < len(w.lastOf) {
		return int(w.lastOf[q])
	}
	return -1
}

// removed tells whether event j is one of the roots or happens after one.
func (w *worker) removed(roots []int32, j int) bool {
	for _, f := range roots {
		if w.before(int(f), j) {
			return true
		}
	}
	return false
}

// reverse inserts what has to be explored so that thread q takes its next
// transition, which in this execution is event e (or none: it stays blocked),
// without the roots and what happens after them. Only the events below limit
// are looked at.
func (w *worker) reverse(roots []int32, q, e, limit int) {
	i0 := int(slices.Min(roots))
	w.without(roots, i0, limit)
	v := w.v
	optimal := w.e.o.Reduction == DPOR
	if optimal && w.covered(i0, v, q) {
		return
	}
	if e < w.path.len() && len(roots) == 1 && !w.events[e].node.multi && !affects(w.events[roots[0]].node.acc, w.events[e].node.acc) {
		// Without f, e does the same.
		n := w.events[e].node
		last := step{thread: n.thread, alt: n.alt, acc: n.acc}
		switch {
		case optimal:
			w.insert(i0, last)
		case w.regular(q, e, n.acc):
			w.insertSource(i0, last)
		default:
			w.insertInitials(i0, q)
		}
		return
	}
	w.lookAhead(i0, v)
	if q >= w.ahead.m.NumThreads() {
		return // the thread does not exist without the roots
	}
	out := w.ahead.try(q, 0)
	switch out.Kind {
	case system.Blocked:
		w.unblock(roots, q, e, limit, slices.Clone(w.ahead.m.Accesses()))
	case system.Moved:
		w.insertAlternatives(i0, q, e, out)
	}
}

// affects tells whether a transition with accesses f can change what one with
// accesses e does.
func affects(f, e []system.Access) bool {
	for i := range f {
		if !f[i].Write {
			continue
		}
		for j := range e {
			if e[j].Loc == f[i].Loc {
				return true
			}
		}
	}
	return false
}

// insertAlternatives inserts w.v with each alternative of thread q behind it.
// The machine that looks ahead has just executed the first of them, with the
// outcome out.
func (w *worker) insertAlternatives(i0, q, e int, out system.Outcome) {
	multi := out.Next != 0
	n := len(w.v)
	for alt := uint64(0); ; {
		w.accBuf = append(w.accBuf[:0], w.ahead.m.Accesses()...)
		w.ahead.undo()
		w.v, w.vAt = w.v[:n], w.vAt[:n]
		last := step{thread: int32(q), alt: alt, acc: w.accBuf, multi: multi}
		switch {
		case w.e.o.Reduction == DPOR:
			w.insert(i0, last)
		case w.regular(q, e, last.acc):
			w.insertSource(i0, last)
		default:
			w.insertInitials(i0, q)
			return
		}
		if out.Next == 0 {
			return
		}
		alt = out.Next
		if w.e.o.Reduction != DPOR {
			w.lookAhead(i0, w.v) // insertSource may have looked elsewhere
		}
		out = w.ahead.try(q, alt)
	}
}

// otherAlternatives inserts, for an event with alternatives, each of them
// behind all that does not happen after the event.
func (w *worker) otherAlternatives(e int) {
	q := int(w.events[e].thread)
	w.root[0] = int32(e)
	w.without(w.root[:], e, w.path.len())
	if w.e.o.Reduction == DPOR && w.covered(e, w.v, -1) {
		return
	}
	w.lookAhead(e, w.v)
	if out := w.ahead.try(q, 0); out.Kind == system.Moved {
		w.insertAlternatives(e, q, e, out)
	}
}

// without puts the events from i0 to limit into w.v, without the roots and
// what happens after them.
func (w *worker) without(roots []int32, i0, limit int) {
	w.v, w.vAt = w.v[:0], w.vAt[:0]
	for j := i0; j < limit; j++ {
		if !w.removed(roots, j) {
			n := w.events[j].node
			w.v = append(w.v, step{thread: n.thread, alt: n.alt, acc: n.acc, multi: n.multi})
			w.vAt = append(w.vAt, int32(j))
		}
	}
}

// unblock goes on where thread q is blocked without the roots: what it reads
// there has been written by events that block it, perhaps. They are left out
// as well, each on its own.
//
// Roots that have nothing to do with what the thread reads are brought back
// first, so that the same situation is not looked at in many guises.
func (w *worker) unblock(roots []int32, q, e, limit int, reads []system.Access) {
	if len(roots) > 0 {
		roots = w.relevant(roots, limit, reads)
		key := make([]byte, 0, 32)
		for _, f := range roots {
			key = binary.AppendUvarint(key, uint64(f))
		}
		if _, ok := w.memo[string(key)]; ok {
			return
		}
		if w.memo == nil {
			w.memo = map[string]struct{}{}
		}
		w.memo[string(key)] = struct{}{}
	}
	prior := w.prior(q, e)
	var cand []int32
	for _, a := range reads {
		for r := w.headOf(a.Loc); r >= 0; r = w.recs[r].prev {
			rec := &w.recs[r]
			if !rec.write || int(rec.event) >= limit || w.removed(roots, int(rec.event)) || int(rec.event) == e {
				continue
			}
			if int(w.events[rec.event].thread) != q && (prior < 0 || !w.before(int(rec.event), prior)) && !slices.Contains(cand, rec.event) {
				cand = append(cand, rec.event)
			}
			break
		}
	}
	for _, g := range cand {
		if slices.ContainsFunc(cand, func(h int32) bool { return h != g && w.before(int(g), int(h)) }) {
			continue
		}
		next := []int32{g}
		for _, f := range roots {
			if !w.before(int(g), int(f)) {
				next = append(next, f)
			}
		}
		slices.Sort(next)
		w.reverse(next, q, e, limit)
	}
}

// relevant returns the roots without which an event would be left out that
// writes what is in reads.
func (w *worker) relevant(roots []int32, limit int, reads []system.Access) []int32 {
	keep := slices.Clone(roots)
	for _, f := range roots {
		if len(keep) == 1 {
			break
		}
		others := slices.DeleteFunc(slices.Clone(keep), func(g int32) bool { return g == f })
		needed := false
		for j := int(f); j < limit && !needed; j++ {
			needed = w.before(int(f), j) && !w.removed(others, j) && affects(w.events[j].node.acc, reads)
		}
		if !needed {
			keep = others
		}
	}
	return keep
}

// covered tells whether what begins with v, and q's transition behind it, is
// explored anyway from the node at depth i0, as far as v alone decides. What
// q's transition decides is left in w.undecided.
func (w *worker) covered(i0 int, v []step, q int) bool {
	w.undecided = w.undecided[:0]
	for _, x := range w.asleep(i0) {
		if w.covers(x, v, q) {
			return true
		}
	}
	// To the right of the present child others may insert just now.
	cur := w.events[i0].node
	for x := cur.parent.first; x != cur; x = x.next {
		if w.covers(x, v, q) {
			return true
		}
	}
	return w.covers(cur, v, q)
}

func (w *worker) covers(x *node, v []step, q int) bool {
	for i := range v {
		if v[i].thread == x.thread {
			return v[i].alt == x.alt
		}
		if conflict(v[i].acc, x.acc) {
			return false
		}
	}
	if int(x.thread) == q && !x.multi {
		return true
	}
	w.undecided = append(w.undecided, x)
	return false
}

// regular tells whether thread q, with the accesses acc behind w.v, would do
// the same without those events of w.v that need not come before it: then
// source sets need one initial of the sequence only. It is always so if every
// transition has one access. One with several may do something else, or be
// blocked, because of events that the sequence has by chance.
func (w *worker) regular(q, e int, acc []system.Access) bool {
	prior := w.prior(q, e)
	for i, j := range w.vAt {
		if int(w.v[i].thread) != q && (prior < 0 || !w.before(int(j), prior)) && affects(w.v[i].acc, acc) {
			return false
		}
	}
	return true
}

// insertSource adds an initial of w.v and a last step to what is explored at
// depth i0, unless one is there (Abdulla et al. 2017, algorithm 1).
func (w *worker) insertSource(i0 int, last step) {
	v := append(append(w.u[:0], w.v...), last)
	w.u = v
	for _, x := range w.asleep(i0) {
		if initial(x, v) {
			return
		}
	}
	e := w.node(i0)
	w.tree.lock()
	for c := e.first; c != nil; c = c.next {
		if initial(c, v) {
			w.tree.unlock()
			return
		}
	}
	if !v[0].multi {
		e.add(w.pool.of(&v[0]))
		e.reopen()
	}
	w.tree.unlock()
	if v[0].multi {
		w.addThread(i0, int(v[0].thread))
	}
}

// insertInitials adds all initials of w.v to what is explored at depth i0, and
// thread q if it is enabled there.
func (w *worker) insertInitials(i0, q int) {
	v := slices.Clone(w.v)
	for i := range v {
		if v[i].first(v[:i]) {
			w.addThread(i0, int(v[i].thread))
		}
	}
	if !slices.ContainsFunc(v, func(s step) bool { return int(s.thread) == q }) {
		w.addThread(i0, q)
	}
}

// first tells whether a step depends on none of those before it.
func (s *step) first(before []step) bool {
	for i := range before {
		if before[i].thread == s.thread || conflict(before[i].acc, s.acc) {
			return false
		}
	}
	return true
}

// addThread adds every alternative of a thread to what is explored at depth i0
// that is neither there nor asleep.
func (w *worker) addThread(i0, t int) {
	w.lookAhead(i0, nil)
	if t >= w.ahead.m.NumThreads() {
		return
	}
	e := w.node(i0)
	for alt := uint64(0); ; {
		out := w.ahead.try(t, alt)
		if out.Kind != system.Moved {
			return
		}
		s := step{thread: int32(t), alt: alt, acc: w.ahead.m.Accesses(), multi: alt != 0 || out.Next != 0}
		if sleeping(w.asleep(i0), t, alt) == nil {
			w.tree.lock()
			if !known(e, t, alt) {
				e.add(w.pool.of(&s))
				e.reopen()
			}
			w.tree.unlock()
		}
		w.ahead.undo()
		if out.Next == 0 {
			return
		}
		alt = out.Next
	}
}

// insert inserts w.v and a last step at depth i0, unless it is covered.
func (w *worker) insert(i0 int, last step) {
	for _, x := range w.undecided {
		if x.thread == last.thread {
			if x.alt == last.alt {
				return
			}
		} else if !conflict(x.acc, last.acc) {
			return
		}
	}
	u := append(append(w.u[:0], w.v...), last)
	w.u = u
	w.tree.lock()
	insert(w.node(i0), w.events[i0].node, u, &w.pool)
	w.tree.unlock()
}

// lookAhead brings the machine that looks ahead to the state behind the first
// i0 events of the path and then v.
func (w *worker) lookAhead(i0 int, v []step) {
	if w.ahead == nil {
		w.ahead = newRunner(w.e.sys, w.r.initial, w.e.o.Undo == Replay, true)
	}
	k := 0
	for k < i0 && k < len(w.aheadAt) && w.aheadAt[k] == w.events[k].serial {
		k++
	}
	w.ahead.truncate(k)
	w.aheadAt = w.aheadAt[:k]
	for ; k < i0; k++ {
		w.ahead.step(int(w.events[k].thread), w.events[k].node.alt)
		w.aheadAt = append(w.aheadAt, w.events[k].serial)
	}
	for i := range v {
		w.ahead.step(int(v[i].thread), v[i].alt)
	}
}
