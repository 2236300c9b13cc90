package unfolding

import (
	"encoding/binary"
	"slices"

	"cpor/system"
)

// worker looks for the events that an event makes possible.
type worker struct {
	p     *prefix
	run   *runner
	c     *config
	c2    *config // for comparisons
	short *config // for histories of few events
	kept  *histories
	holds *kept // whose configuration c is, if it is one of those
	stop  func() bool
	past  past
	shown [64]shown // the markings of events that were compared with lately

	e     uint32 // the event
	found []*candidate
	seen  map[string]bool // events of further alternatives, and where they were looked for
	key   []byte

	// The transition that is being put together: its thread's condition, the
	// conditions of the locations that were asked for, and their values.
	thread uint32
	local  *local
	path   []uint32
	values []known

	others []uint32 // threads that may touch what e left behind

	// What is done with the ends of transitions.
	end func(l *leaf)
}

func newWorker(p *prefix, h *histories, stop func() bool) *worker {
	w := &worker{p: p, run: newRunner(p.program), c: newConfig(p), c2: newConfig(p), short: newConfig(p), kept: h, stop: stop}
	w.end = w.extend
	return w
}

// extensions returns the events that can be added to the prefix because of
// event e: those that touch something that e left behind, and nothing that a
// later event did. Of the local states of other threads those count that can
// touch it; with round not 0 only those of which that became known in that round.
func (w *worker) extensions(e, root, round uint32) []*candidate {
	p := w.p
	w.e, w.found = e, nil
	clear(w.seen)
	if p.isRoot(e) {
		w.c = w.short
		w.c.reset(root)
		// In the beginning every thread can do something, and touches what
		// nobody has touched: there is nothing to learn.
		if round > 0 {
			return nil
		}
		for i, x := range *p.comps.Load() {
			if x.thread && x.starts[root].local != nil {
				w.evaluate(p.startOf(root, uint32(i)))
			}
		}
		return w.found
	}
	w.c = w.history(e, root)
	defer w.release()
	ev, l := p.events.at(e), p.leafOf(e)
	if round == 0 {
		for i := range uint32(1 + len(l.children)) {
			w.evaluate(ev.post + i)
		}
	}
	w.others = w.others[:0]
	for _, a := range l.acc {
		x := p.comp(a.loc)
		users := x.users
		if !a.write {
			users = x.writers
		}
		for _, u := range users {
			if !slices.Contains(w.others, u) && p.cond(w.c.current(u)).event != e {
				w.others = append(w.others, u)
			}
		}
	}
	for _, u := range w.others {
		w.threads(w.c.current(u), round)
	}
	return w.found
}

// history returns the history of an event as a configuration. If it is long, the one
// of an event before it is gone on from, if that is kept.
func (w *worker) history(e, root uint32) *config {
	p := w.p
	ev := p.events.at(e)
	if ev.size > w.kept.short {
		w.c2.stack = w.c2.stack[:0]
		w.c2.pushPre(ev, p.leaf(ev.leaf))
		if k := w.kept.take(w, w.c2.stack, ev.size); k != nil {
			if len(k.chain) == 0 {
				k.c.reset(root)
			}
			k.c.mustJoin(e)
			w.kept.reach(w, k, e)
			w.holds = k
			return k.c
		}
	}
	w.short.reset(root)
	w.short.mustJoin(e)
	return w.short
}

// release gives the configuration back.
func (w *worker) release() {
	if w.holds != nil {
		w.kept.give(w.holds)
		w.holds = nil
	}
}

// concerned tells whether transitions of a local state can touch what event e
// left behind, and whether that became known in the round given.
func (w *worker) concerned(l *local, round uint32) bool {
	first := ^uint32(0)
	for _, u := range l.uses {
		for _, a := range w.p.leafOf(w.e).acc {
			if since := u.writes; u.loc == a.loc {
				if a.write {
					since = u.touch
				}
				if since != 0 {
					first = min(first, since)
				}
			}
		}
	}
	return first == round || round == 0 && first != ^uint32(0)
}

// threads evaluates the conditions of a thread that are concurrent with e,
// from one on that is in the configuration.
func (w *worker) threads(cond uint32, round uint32) {
	if w.stop() {
		return
	}
	p := w.p
	x := p.cond(cond)
	if w.matters(x, round) {
		w.evaluate(cond)
	}
	for k := x.kid; k != none; {
		x := p.cond(k)
		e, this := x.event, k
		k = x.sibling
		// What nothing was made from is of interest for itself only.
		if e > w.e || x.kid == none && !w.matters(x, round) {
			continue
		}
		m := w.c.mark()
		if w.c.join(e) {
			w.threads(this, round)
		}
		w.c.rewind(m)
	}
}

// matters tells whether a thread in a local state can touch what e left behind.
func (w *worker) matters(x *cond, round uint32) bool {
	return x.value != uint64(nobody) && w.concerned(w.localOf(x), round)
}

// localOf returns the local state that a thread's condition says.
func (w *worker) localOf(x *cond) *local {
	p := w.p
	if p.isRoot(x.event) {
		return p.comp(x.comp).starts[x.event].local
	}
	l := p.leafOf(x.event)
	if x.comp == l.before.thread {
		return l.after
	}
	for _, ch := range l.children {
		if ch.thread == x.comp {
			return ch
		}
	}
	panic("unfolding: a condition of a thread that its event did not touch")
}

// evaluate finds the transitions of a thread's condition that touch what e
// left behind.
func (w *worker) evaluate(cond uint32) {
	w.thread, w.local = cond, w.localOf(w.p.cond(cond))
	w.path, w.values = w.path[:0], w.values[:0]
	w.c.pin(cond)
	w.visit(&w.local.tree, &w.local.tree, 0, nil)
	w.c.unpin()
}

// visit goes on with a transition at a node of the tree that begins at root.
func (w *worker) visit(n, root *node, alt uint64, context []known) {
	if w.stop() {
		return
	}
	if n.leaf.Load() == nil && n.question.Load() == nil {
		w.execute(root, alt, context)
	}
	if l := n.leaf.Load(); l != nil {
		w.end(l)
		return
	}
	q := n.question.Load()
	w.ask(q, w.c.current(q.loc), root, alt, context)
}

// execute executes the transition with the values that it has, and all others as
// they are after the configuration, so that the tree grows to its end.
func (w *worker) execute(root *node, alt uint64, context []known) {
	w.run.run(w.local, root, alt, context, w.values, func(loc uint32) uint64 {
		return w.p.cond(w.c.current(loc)).value
	})
}

// ask answers a question with a condition of the location that is in the
// configuration, and with those that were made from it and are concurrent.
func (w *worker) ask(q *question, cond uint32, root *node, alt uint64, context []known) {
	p := w.p
	x := p.cond(cond)
	if v := x.value; !q.fixed || q.value == v {
		w.path = append(w.path, cond)
		w.values = append(w.values, known{q.loc, v})
		w.c.pin(cond)
		n := q.next(v)
		if n == nil {
			w.execute(root, alt, context)
			n = q.next(v)
		}
		w.visit(n, root, alt, context)
		w.c.unpin()
		w.path = w.path[:len(w.path)-1]
		w.values = w.values[:len(w.values)-1]
	}
	for k := x.kid; k != none; {
		x := p.cond(k)
		e, this := x.event, k
		k = x.sibling
		if e > w.e || x.kid == none && q.fixed && q.value != x.value {
			continue
		}
		m := w.c.mark()
		if w.c.join(e) {
			w.ask(q, this, root, alt, context)
		}
		w.c.rewind(m)
	}
}

// extend has come to the end of a transition, which may be a new event.
func (w *worker) extend(l *leaf) {
	if l.kind != system.Moved {
		return
	}
	if l.writes {
		w.readings(l, 0, 0, false)
	} else {
		w.emit(l)
	}
	if l.next != nil {
		w.alternative(l)
	}
}

// alternative looks for the next alternative, which exists because of the
// values that were read. It begins anew, for it may touch other locations.
func (w *worker) alternative(l *leaf) {
	w.key = binary.LittleEndian.AppendUint32(w.key[:0], w.thread)
	w.key = binary.LittleEndian.AppendUint32(w.key, l.id)
	if !w.once() {
		return
	}
	// Another configuration, that of e and the thread's condition alone.
	old, path, values := w.c, w.path, w.values
	w.c, w.path, w.values = newConfig(w.p), nil, nil
	w.c.reset(old.root)
	for _, e := range []uint32{w.e, w.p.cond(w.thread).event} {
		if !w.c.join(e) {
			panic("unfolding: an event that is not concurrent any more")
		}
	}
	w.c.pin(w.thread)
	w.visit(l.next, l.next, l.nextAlt, l.context)
	w.c, w.path, w.values = old, path, values
}

// once tells whether w.key is new.
func (w *worker) once() bool {
	if w.seen == nil {
		w.seen = map[string]bool{}
	}
	if w.seen[string(w.key)] {
		return false
	}
	w.seen[string(w.key)] = true
	return true
}

// readings goes through all sets of readings that may come before the event:
// each reading of what it takes, from a number on, comes before or never. list
// says that reading r of access i is the next.
func (w *worker) readings(l *leaf, i int, r uint32, list bool) {
	p := w.p
	for ; i < len(l.acc); i++ {
		if !l.acc[i].write {
			continue
		}
		if !list {
			r = p.cond(w.path[i]).readers
		}
		list = false
		for ; r != none; r = p.reads.at(r).next {
			e := p.reads.at(r).event
			if e > w.e || w.c.has(e) {
				continue
			}
			next := p.reads.at(r).next
			m := w.c.mark()
			if w.c.join(e) {
				w.readings(l, i, next, true)
				w.c.rewind(m)
				w.c.forbidden = append(w.c.forbidden, e)
				w.readings(l, i, next, true)
				w.c.forbidden = w.c.forbidden[:len(w.c.forbidden)-1]
				return
			}
			w.c.rewind(m)
		}
	}
	w.emit(l)
}

// emit adds the event that consists of the leaf on the conditions of the path,
// if it touches what e left behind.
func (w *worker) emit(l *leaf) {
	p := w.p
	touches := p.isRoot(w.e) || p.cond(w.thread).event == w.e
	pre := make([]uint32, 0, l.numPre())
	pre = append(pre, w.thread)
	for _, ch := range l.children {
		pre = append(pre, w.c.current(ch.thread))
	}
	pre = append(pre, w.path...)
	var readers []uint32
	some := false
	for i, a := range l.acc {
		x := p.cond(w.path[i])
		touches = touches || x.event == w.e && !p.isRoot(w.e)
		if !a.write {
			continue
		}
		// The readings in the configuration, of each thread the last.
		k := len(readers)
		readers = append(readers, 0, 0)
		for r := x.readers; r != none; r = p.reads.at(r).next {
			e := p.reads.at(r).event
			if e > w.e || !w.c.has(e) {
				continue
			}
			some = true
			touches = touches || e == w.e
			readers[k]++
			t := p.thread(e)
			last := t != w.local.thread
			for _, f := range readers[k+2:] {
				last = last && p.thread(f) != t
			}
			if last {
				readers = append(readers, e)
				readers[k+1]++
			}
		}
	}
	if !touches {
		return
	}
	if !some {
		readers = nil
	}
	if l.alt != 0 {
		w.key = binary.LittleEndian.AppendUint64(w.key[:0], l.alt)
		for _, x := range pre {
			w.key = binary.LittleEndian.AppendUint32(w.key, x)
		}
		for _, x := range readers {
			w.key = binary.LittleEndian.AppendUint32(w.key, x)
		}
		if !w.once() {
			return
		}
	}
	c := &candidate{leaf: l, root: w.c.root, size: w.c.size + 1, hash: w.c.hash ^ l.delta, pre: pre, readers: readers}
	c.seen = p.events.n
	c.twin = w.twin(c, w.c, 0)
	w.found = append(w.found, c)
}
