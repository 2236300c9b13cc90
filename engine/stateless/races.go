package stateless

import (
	"bytes"
	"encoding/binary"
	"slices"

	"cpor/system"
	"cpor/testkit/sabotage"
)

// reversal is the search for what must be explored so that a thread takes its next transition
// without some events of an execution: the recursion of the package comment.
type reversal struct {
	thread int
	event  int             // the thread's event, or the length of the path if it stays blocked
	acc    []system.Access // of the event
	all    bool            // remove whatever the thread depends on
	// What the thread does does not depend on how the execution continues after the event,
	// unless varies is set. Whether the insertions in open were needed does.
	varies bool
	open   []insertion
}

// races finds out what must be explored because of the execution that has ended. A settled race
// needs no more work in executions that go through its later event; an undecided one does.
func (w *worker) races(end end) {
	for e := range w.path.len() {
		for i := range w.racesOf(e) {
			if r := &w.racesOf(e)[i]; r.state != settled {
				w.reverse(r, e)
			}
		}
		if ev := &w.events[e]; ev.node.multi && !ev.settled {
			w.otherAlternatives(e)
		}
	}
	if end != maximal {
		return
	}
	// A blocked thread reads, so it depends on the threads that blocked it.
	for _, q := range w.stuck {
		if out := w.r.m.Step(q, 0); out.Kind != system.Blocked {
			continue
		}
		n := w.path.len()
		w.rev = reversal{thread: q, event: n, all: w.r.can.Shape(q)&system.MayChoose != 0}
		w.forget()
		reads := slices.Clone(w.r.m.Accesses())
		w.without(nil, true, reads, reads)
	}
}

// reverse handles a race of event e.
func (w *worker) reverse(r *race, e int) {
	ev := &w.events[e]
	n := ev.node
	w.rev = reversal{thread: int(ev.thread), event: e, acc: n.acc,
		all: n.shape&system.MayChoose != 0, open: r.open[:0]}
	if r.state == undecided {
		for i := range r.open {
			w.insertWhole(&r.open[i])
		}
		return
	}
	w.root[0] = r.event
	created := ev.prev < 0 && int(ev.thread) >= w.threads
	if n.shape == 0 && !created || !affects(w.events[r.event].node.acc, n.acc) {
		// It does the same everywhere, or nothing that e read comes from there.
		w.insert(w.root[:], n.step)
	} else if n.shape&^system.MayVary != 0 || created || !w.explored() {
		w.forget()
		w.search(w.root[:], n.acc)
	}
	r.open = w.rev.open
	switch {
	case w.rev.varies:
	case len(r.open) > 0:
		r.state = undecided
	default:
		r.state = settled
	}
}

// explored reports whether the reversal of a race is explored already, whatever the thread does
// then, because of what precedes it. That ends the search only if the thread touches the same
// locations everywhere.
func (w *worker) explored() bool {
	first := int(w.root[0])
	w.sequence(w.root[:], first, true)
	is := func(x *node) bool {
		r := relate(x, &w.v)
		return r == initial || r == unrelated && int(x.thread) == w.rev.thread
	}
	cur := w.events[first].node
	for x := cur.parent.first; x != cur; x = x.next {
		if is(x) {
			return true
		}
	}
	return slices.ContainsFunc(w.asleep(first), is)
}

// otherAlternatives handles the other alternatives of event e.
func (w *worker) otherAlternatives(e int) {
	ev := &w.events[e]
	w.rev = reversal{thread: int(ev.thread), event: e, acc: ev.node.acc}
	w.forget()
	w.root[0] = int32(e)
	w.search(w.root[:], ev.node.acc)
	ev.settled = !w.rev.varies && len(w.rev.open) == 0
}

// alternative is what one alternative of a thread's next transition would do.
type alternative struct {
	number uint64
	acc    []system.Access
}

// search evaluates the thread without the roots and all that happens after them. If it is
// enabled there, that is inserted. Then it also removes what the thread depends on.
func (w *worker) search(roots []int32, base []system.Access) {
	if w.known(roots, base) || w.e.stopping.Load() {
		return
	}
	v := &w.rev
	first := int(slices.Min(roots))
	cut := v.event < w.path.len()
	w.sequence(roots, first, cut)
	alts, touched, shape, ok := w.evaluate(roots, first, cut)
	if !ok {
		return // the thread does not exist without the roots
	}
	if cut && !w.ruledOut(touched, roots) {
		// What follows the event may matter, too.
		v.varies = true
		w.sequence(roots, first, false)
		alts, touched, shape, ok = w.evaluate(roots, first, false)
		if !ok {
			return
		}
	}
	for _, a := range alts {
		w.insert(roots, step{thread: int32(v.thread), alt: a.number, touched: touch(a.acc),
			multi: len(alts) > 1, shape: shape})
	}
	w.without(roots, len(alts) == 0, touched, base)
}

// evaluate brings the look-ahead machine to the state after w.v, which is the execution without
// the roots and what happens after them; if cut, it ends before the reversal's event. It returns
// the enabled alternatives of the thread there, none if it is blocked, and all that they touch.
// ok is false if the thread does not exist, or the search should end before all were tried.
func (w *worker) evaluate(roots []int32, first int, cut bool) (alts []alternative,
	touched []system.Access, shape system.Shape, ok bool) {
	if w.r.costly != nil {
		if alts, touched, ok = w.glimpse(roots, cut); ok {
			return alts, touched, system.AnyShape, true
		}
		alts, touched = nil, nil
	}
	if alts, touched, shape, ok = w.evaluatePast(roots, first, cut); ok {
		return alts, touched, shape, true
	}
	w.lookAhead(first, w.v.steps)
	return w.tryAhead()
}

// evaluatePast is evaluate without the steps that neither the thread's last event depends on nor
// what the thread reads then: by L2 it does the same. ok is false if some of them matter, or
// perhaps do. If the thread may block, accesses to what it writes matter as well: an alarm goes off
// only if no earlier one is set, but shows that only by writing the clock, which whoever sets an
// alarm reads.
func (w *worker) evaluatePast(roots []int32, first int, cut bool) (alts []alternative,
	touched []system.Access, shape system.Shape, ok bool) {
	w.rest.w, w.rest.roots, w.rest.limit = w, roots, w.path.len()
	if cut {
		w.rest.limit = w.rev.event
	}
	prior := w.rest.lastOf(w.rev.thread)
	if prior < 0 {
		return nil, nil, 0, false
	}
	w.past = w.past[:0]
	for j := first; j <= prior; j++ {
		// What it depends on is no root and depends on none.
		if w.before(j, prior) {
			w.past = append(w.past, w.steps[j])
		}
	}
	if 2*len(w.past) > len(w.v.steps) { // too little to gain, for what may be done twice
		return nil, nil, 0, false
	}
	w.lookAhead(first, w.past)
	alts, touched, shape, ok = w.tryAhead()
	for _, a := range touched {
		if a.Op != 0 {
			return nil, nil, 0, false // what room there is depends on all of them
		}
		k := w.rest.written(a.Loc)
		if k < 0 {
			continue
		}
		g := int(w.recs[k].event)
		if w.recs[k].op != 0 || g >= first && !w.before(g, prior) {
			return nil, nil, 0, false // hard.models, elsewhere
		}
	}
	if shape&system.MayBlock != 0 && slices.ContainsFunc(touched, func(a system.Access) bool {
		return a.Write && w.rest.touchedSince(a.Loc, first, prior)
	}) {
		return nil, nil, 0, false
	}
	return alts, touched, shape, ok
}

// tryAhead tries all alternatives of the thread where the look-ahead machine is.
func (w *worker) tryAhead() (alts []alternative, touched []system.Access, shape system.Shape,
	ok bool) {
	q := w.rev.thread
	if q >= w.ahead.m.NumThreads() {
		return nil, nil, 0, false
	}
	shape = w.ahead.can.Shape(q)
	for alt := uint64(0); ; {
		out, acc := w.ahead.peek(q, alt)
		if alt == 0 {
			touched = acc
		} else {
			touched = join(touched, acc)
		}
		if out.Kind == system.Moved {
			alts = append(alts, alternative{alt, acc})
		}
		if out.Next == 0 {
			return alts, touched, shape, true
		}
		if w.e.stopping.Load() {
			return nil, nil, 0, false
		}
		alt = out.Next
	}
}

// glimpse is evaluate for machines that may know the answer though nobody executes w.v. Their
// transitions have no operations that commute.
func (w *worker) glimpse(roots []int32, cut bool) (alts []alternative, touched []system.Access,
	ok bool) {
	w.rest.w, w.rest.roots, w.rest.limit = w, roots, w.path.len()
	if w.some.Has == nil {
		w.some = system.Some{Has: w.rest.has, LastOf: w.rest.lastOf, LastWrite: w.rest.lastWrite}
	}
	if cut {
		w.rest.limit = w.rev.event
	}
	w.alts = w.alts[:0]
	for alt := uint64(0); ; {
		out, ok := w.r.costly.After(w.rev.thread, alt, &w.some)
		if !ok {
			return nil, nil, false
		}
		from := len(w.accs)
		w.accs = append(w.accs, w.r.m.Accesses()...)
		acc := w.accs[from:len(w.accs):len(w.accs)]
		if alt == 0 {
			touched = acc
		} else {
			touched = join(touched, acc)
		}
		if out.Kind == system.Moved {
			w.alts = append(w.alts, alternative{alt, acc})
		}
		if out.Next == 0 {
			return w.alts, touched, true
		}
		alt = out.Next
	}
}

// rest is what remains of the path's first steps without the roots, for [system.Some].
type rest struct {
	w     *worker
	roots []int32
	limit int
}

func (r *rest) has(i int) bool { return i < r.limit && !r.w.removed(r.roots, i) }

func (r *rest) lastOf(t int) int {
	if t >= len(r.w.lastOf) {
		return -1
	}
	e := int(r.w.lastOf[t])
	for e >= 0 && !r.has(e) {
		e = int(r.w.events[e].prev)
	}
	return e
}

func (r *rest) lastWrite(l system.Loc) int {
	if k := r.written(l); k >= 0 {
		return int(r.w.recs[k].event)
	}
	return -1
}

// written returns the record of the last write of a location; -1 if there is none.
func (r *rest) written(l system.Loc) int32 {
	for k := r.w.headOf(l); k >= 0; k = r.w.recs[k].prev {
		if k = r.w.recs[k].lastWrite; k < 0 {
			break
		}
		if r.has(int(r.w.recs[k].event)) {
			return k
		}
	}
	return -1
}

// touchedSince tells whether an event from first on, which does not happen before prior, has
// accessed a location.
func (r *rest) touchedSince(l system.Loc, first, prior int) bool {
	for k := r.w.headOf(l); k >= 0; k = r.w.recs[k].prev {
		switch g := int(r.w.recs[k].event); {
		case g < first:
			return false
		case r.has(g) && !r.w.before(g, prior):
			return true
		}
	}
	return false
}

// without continues, for each location, without the last event that wrote what the thread
// touches: touched, without the roots. What writes a location of base stays if the thread is
// enabled.
func (w *worker) without(roots []int32, blocked bool, touched, base []system.Access) {
	v := &w.rev
	prior := -1
	if v.event < w.path.len() {
		prior = int(w.events[v.event].prev)
	} else if v.thread < len(w.lastOf) {
		prior = int(w.lastOf[v.thread])
	}
	from := len(w.ints)
	for _, a := range touched {
		w.writes = w.lastWrites(roots, a, w.writes[:0])
		for _, r := range w.writes {
			g := w.recs[r].event
			if int(w.events[g].thread) != v.thread && (prior < 0 || !w.before(int(g), prior)) &&
				!slices.Contains(w.ints[from:], g) &&
				(blocked || v.all || !affects(w.events[g].node.acc, base)) {
				w.ints = append(w.ints, g)
			}
		}
	}
	cand := w.ints[from:len(w.ints):len(w.ints)]
	for _, g := range cand {
		if slices.ContainsFunc(cand, func(h int32) bool {
			return h != g && w.before(int(g), int(h))
		}) {
			continue
		}
		next := base
		switch {
		case v.all:
			next = nil
		case !blocked:
		case affects(w.events[g].node.acc, base):
			next = touched
		default:
			next = meet(base, touched)
		}
		at := len(w.ints)
		w.ints = append(w.ints, g)
		for _, f := range roots {
			if !w.before(int(g), int(f)) {
				w.ints = append(w.ints, f)
			}
		}
		rest := w.ints[at:len(w.ints):len(w.ints)]
		slices.Sort(rest)
		w.search(rest, next)
	}
}

// forget ends what lasts until the end of a reversal.
func (w *worker) forget() {
	w.memo.clear()
	w.accs, w.ints = w.accs[:0], w.ints[:0]
}

// known reports whether the same search has been made in this reversal.
func (w *worker) known(roots []int32, base []system.Access) bool {
	key := w.key[:0]
	for _, f := range roots {
		key = binary.AppendUvarint(key, uint64(f)+1)
	}
	key = append(key, 0)
	for _, a := range base {
		x := uint64(a.Loc) << 1
		if a.Write {
			x |= 1
		}
		key = append(binary.AppendUvarint(key, x), byte(a.Op))
	}
	w.key = key
	return w.memo.has(key)
}

// memo is a set of keys. Mostly there are few.
type memo struct {
	keys []byte // one after another
	ends []int
	many map[string]struct{} // what is more than fewKeys
}

const fewKeys = 16

func (s *memo) clear() {
	s.keys, s.ends = s.keys[:0], s.ends[:0]
	clear(s.many)
}

// has tells whether a key is in the set, and adds it.
func (s *memo) has(key []byte) bool {
	from := 0
	for _, end := range s.ends {
		if bytes.Equal(s.keys[from:end], key) {
			return true
		}
		from = end
	}
	if len(s.ends) < fewKeys {
		s.keys = append(s.keys, key...)
		s.ends = append(s.ends, len(s.keys))
		return false
	}
	if _, ok := s.many[string(key)]; ok {
		return true
	}
	if s.many == nil {
		s.many = map[string]struct{}{}
	}
	s.many[string(key)] = struct{}{}
	return false
}

// removed reports whether event j is one of the roots or happens after one.
func (w *worker) removed(roots []int32, j int) bool {
	for _, f := range roots {
		if w.before(int(f), j) {
			return true
		}
	}
	return false
}

// lastWrite returns the record of the last remaining write to a location; -1 if there is none.
// Writes after a root that touches the location happen after that root, so the search begins
// before the first of these, instead of at the end of the execution. Operations like the root's do
// not.
func (w *worker) lastWrite(roots []int32, l system.Loc) int32 {
	r := w.headOf(l)
	for _, f := range roots {
		if k := w.recordOf(f, l); k >= 0 && k <= r && w.recs[k].op == 0 {
			r = w.recs[k].prev
		}
	}
	for ; r >= 0; r = w.recs[r].prev {
		if r = w.recs[r].lastWrite; r < 0 || !w.removed(roots, int(w.recs[r].event)) {
			return r
		}
	}
	return -1
}

// lastWrites appends to dst the records of the writes of a location that an access depends on
// and that happen before no other such write, without what is left out with the roots: the last
// write, or all operations of the last row of like ones that are not like the access.
func (w *worker) lastWrites(roots []int32, a system.Access, dst []int32) []int32 {
	r := w.lastWrite(roots, a.Loc)
	if a.Op != 0 {
		for r >= 0 && (!w.recs[r].is(a.Op) && !w.recs[r].write || w.recs[r].is(a.Op) ||
			w.removed(roots, int(w.recs[r].event))) {
			r = w.recs[r].prev
		}
	}
	if r < 0 {
		return dst
	}
	dst = append(dst, r)
	if op := w.recs[r].op; op != 0 && !sabotage.Is("commuting/row") {
		for r = w.recs[r].prev; r >= 0; r = w.recs[r].prev {
			if w.removed(roots, int(w.recs[r].event)) {
				continue
			}
			if !w.recs[r].is(op) {
				break
			}
			dst = append(dst, r)
		}
	}
	return dst
}

// sequence writes to w.v the events from the first root on, without the roots and what happens
// after them; if cut, only those before the reversal's event.
func (w *worker) sequence(roots []int32, first int, cut bool) {
	limit := w.path.len()
	if cut {
		limit = w.rev.event
	}
	v := sequence{steps: w.v.steps[:0]}
	if len(roots) == 1 {
		root := &w.events[first]
		at := first*w.stride + int(root.thread)
		for j := first; j < limit; j++ {
			if w.clocks[at] < root.idx {
				v.add(&w.steps[j])
			}
			at += w.stride
		}
	} else {
		for j := first; j < limit; j++ {
			if !w.removed(roots, j) {
				v.add(&w.steps[j])
			}
		}
	}
	w.v = v
}

// insert inserts the remaining sequence, followed by a step of the thread, unless that is
// explored already.
//
// It first leaves out what follows the event, if that does not matter to the thread. If the rest
// decides, it does so for every continuation; otherwise the whole execution decides.
func (w *worker) insert(roots []int32, last step) {
	if w.rev.event < w.path.len() && w.ruledOut(last.acc, roots) {
		first := int(slices.Min(roots))
		w.sequence(roots, first, true)
		if w.insertAt(first, last, true) {
			return
		}
	}
	i := insertion{roots, last}
	if !w.rev.varies {
		kept := last
		kept.acc = slices.Clone(last.acc)
		w.rev.open = append(w.rev.open, insertion{slices.Clone(roots), kept})
	}
	w.insertWhole(&i)
}

func (w *worker) insertWhole(i *insertion) {
	first := int(slices.Min(i.roots))
	w.sequence(i.roots, first, false)
	w.insertAt(first, i.last, false)
}

// insertAt inserts w.v and a last step at a depth. If more may follow and that decides, it
// inserts nothing and returns false.
func (w *worker) insertAt(depth int, last step, more bool) bool {
	w.v.add(&last)
	rest := w.v // insert shortens it
	u := &rest
	w.measure(depth, u)
	undecided := false
	for _, x := range w.asleep(depth) {
		switch r := relate(x, u); {
		case r == initial || r == unrelated && !more:
			return true
		case r == unrelated:
			undecided = true
		}
	}
	// Other workers may be inserting to the right of the current child.
	cur := w.events[depth].node
	for x := cur.parent.first; x != cur; x = x.next {
		switch r := relate(x, u); {
		case r == initial || r == unrelated && !more:
			return true
		case r == unrelated:
			undecided = true
		}
	}
	// The rest of the execution does not depend on the current child.
	if relate(cur, u) != dependent {
		return true
	}
	if undecided {
		return false
	}
	w.tree.lock()
	defer w.tree.unlock()
	return insert(cur.parent, cur, u, more, &w.pool)
}

// measure finds out how much room there is for the operations of a sequence at the depth where
// it is inserted. In the execution, events that are now left out may have preceded them.
func (w *worker) measure(depth int, u *sequence) {
	v := u.steps
	last := len(v) - 1
	for last >= 0 && !(v[last].operates && slices.ContainsFunc(v[last].acc,
		func(a system.Access) bool { return a.Op != 0 && a.Room != system.Unlimited })) {
		last--
	}
	if last < 0 {
		return
	}
	w.lookAhead(depth, nil)
	for i := range v[:last+1] {
		w.ahead.step(int(v[i].thread), v[i].alt)
		if v[i].operates {
			v[i].touched = touch(slices.Clone(w.ahead.m.Accesses()))
			u.all, u.written = u.all|v[i].all, u.written|v[i].written
		}
	}
}

// lookAhead brings the look-ahead machine to the state after the first depth events of the path
// and then v.
func (w *worker) lookAhead(depth int, v []step) {
	if w.ahead == nil {
		w.ahead = newRunner(w.e.sys, w.r.initial, w.e.o.Undo == Replay, true)
	}
	// What was equal the last time is still equal, as far as the path was not shortened since.
	k := min(depth, w.same, w.lowest, len(w.aheadAt))
	for k < depth && k < len(w.aheadAt) && w.aheadAt[k] == w.events[k].serial {
		k++
	}
	w.same, w.lowest = depth, len(w.events)
	w.ahead.truncate(k)
	w.aheadAt = w.aheadAt[:k]
	for ; k < depth; k++ {
		w.ahead.step(int(w.events[k].thread), w.events[k].node.alt)
		w.aheadAt = append(w.aheadAt, w.events[k].serial)
	}
	for i := range v {
		w.ahead.step(int(v[i].thread), v[i].alt)
	}
}

// affects reports whether a transition with accesses f can change what one with accesses e does.
func affects(f, e []system.Access) bool {
	for i := range f {
		if !f[i].Write {
			continue
		}
		for j := range e {
			if e[j].Loc == f[i].Loc && e[j].Orders(f[i]) {
				return true
			}
		}
	}
	return false
}

// ruledOut reports whether nothing that remains after the event can conflict with accesses,
// because it would also conflict with the event or an earlier root, and so happen after that. A
// root after the event rules out nothing: what conflicts with it may come between the two.
func (w *worker) ruledOut(acc []system.Access, roots []int32) bool {
	for _, a := range acc {
		if covers(w.rev.acc, a) || slices.ContainsFunc(roots, func(f int32) bool {
			return int(f) <= w.rev.event && covers(w.events[f].node.acc, a)
		}) {
			continue
		}
		return false
	}
	return true
}

// covers reports whether what conflicts with a conflicts with one of acc. An operation is
// covered by one like it only if there is room for any number of them.
func covers(acc []system.Access, a system.Access) bool {
	for i := range acc {
		if acc[i].Loc == a.Loc && (acc[i].Write || !a.Write) &&
			(acc[i].Op == 0 || acc[i].Op.Like(a.Op) && a.Room == system.Unlimited) {
			return true
		}
	}
	return false
}

// meet returns the accesses that are in both: what depends on one of the result depends on both.
// Of an operation and an ordinary access that is the operation, and of two operations that are not
// alike nothing.
func meet(a, b []system.Access) []system.Access {
	var c []system.Access
	for _, x := range a {
		for _, y := range b {
			if x.Loc == y.Loc && (x.Op == 0 || y.Op == 0 || x.Op.Like(y.Op)) {
				c = append(c, system.Access{Loc: x.Loc, Write: x.Write && y.Write,
					Op: max(x.Op, y.Op)})
			}
		}
	}
	return c
}

// join returns the accesses that are in one of the two. What is in both is ordinary.
func join(a, b []system.Access) []system.Access {
	c := slices.Clone(a)
	for _, x := range b {
		if i := slices.IndexFunc(c, func(y system.Access) bool { return y.Loc == x.Loc }); i >= 0 {
			c[i] = system.Access{Loc: x.Loc, Write: c[i].Write || x.Write}
		} else {
			c = append(c, x)
		}
	}
	return c
}
