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
	holds *kept // whose configuration c is, if it belongs to one
	stop  func() bool
	past  past
	shown [64]shown // the markings of events that were compared with lately

	e     uint32 // the event
	found []*candidate
	seen  map[string]bool // events of further alternatives, and where they were looked for
	key   []byte

	// The transition that is being put together: its thread's condition, the conditions of the
	// requested locations, and their values.
	thread uint32
	local  uint32
	path   []uint32
	values []known

	left    []access // what e touched
	touched []uint32 // room for what an event touches
	others  []uint32 // threads that may touch what e left behind

	// What to do at the ends of transitions.
	end func(leaf uint32)
}

func newWorker(p *prefix, h *histories, stop func() bool) *worker {
	w := &worker{p: p, run: newRunner(p.program), c: newConfig(p), c2: newConfig(p),
		short: newConfig(p), kept: h, stop: stop}
	w.end = w.extend
	return w
}

// extensions returns the events that can be added to the prefix because of
// event e: those that touch something that e left behind, and nothing that a
// later event did. Of the local states of other threads those count that can
// touch it; if this is done again only those of which that became known the last time.
func (w *worker) extensions(e, root uint32, again bool) []*candidate {
	p := w.p
	w.e, w.found = e, nil
	clear(w.seen)
	if p.isRoot(e) {
		w.c = w.short
		w.c.reset(root)
		// In the beginning every thread can do something, and touches what
		// nobody has touched: there is nothing to learn.
		if again {
			return nil
		}
		for i, x := range *p.comps.Load() {
			if x.thread && x.starts[root].value != nobody {
				w.evaluate(p.startOf(root, uint32(i)))
			}
		}
		return w.found
	}
	w.c = w.history(e, root)
	defer w.release()
	ev, s := p.events.at(e), p.shape(p.leafOf(e))
	w.left = s.acc()
	if !again {
		for i := range uint32(1 + len(s.kids())) {
			w.evaluate(ev.post + i)
		}
	}
	w.others = w.others[:0]
	for _, a := range w.left {
		x := p.comp(a >> 1)
		users := x.users
		if !isWrite(a) {
			users = x.writers
		}
		for _, u := range users {
			if !slices.Contains(w.others, u) && p.cond(w.c.current(u)).event != e {
				w.others = append(w.others, u)
			}
		}
	}
	for _, u := range w.others {
		w.threads(w.c.current(u), again)
	}
	return w.found
}

// history returns the history of an event as a configuration. If it is long, the one
// of an event before it is gone on from, if that is kept.
func (w *worker) history(e, root uint32) *config {
	p := w.p
	ev := p.events.at(e)
	if ev.size() > w.kept.short {
		w.c2.stack = w.c2.stack[:0]
		w.c2.pushPre(ev, p.shape(p.leaf(ev.leaf)))
		if k := w.kept.take(w, w.c2.stack, ev.size()); k != nil {
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

// concerned reports whether transitions of a local state can touch what event e left behind, and
// whether that was learned in the last round.
func (w *worker) concerned(local uint32, again bool) bool {
	some := false
	for u := w.p.local(local).uses; u != 0; {
		x := w.p.uses.at(u)
		u = x.next
		for _, a := range w.left {
			// What was written concerns all threads, what was read only writers.
			if x.access>>1 != a>>1 || !isWrite(x.access) && !isWrite(a) {
				continue
			}
			if !again {
				return true
			}
			if !w.p.recent[interest{local, a >> 1, !isWrite(a)}] {
				return false
			}
			some = true
		}
	}
	return some
}

// threads evaluates the conditions of a thread that are concurrent with e,
// from one on that is in the configuration.
func (w *worker) threads(cond uint32, again bool) {
	if w.stop() {
		return
	}
	p := w.p
	x := p.cond(cond)
	if w.matters(x, again) {
		w.evaluate(cond)
	}
	for k := x.kid; k != none; {
		x := p.cond(k)
		e, this := x.event, k
		k = x.sibling
		// What nothing was made from is of interest for itself only.
		if e > w.e || x.kid == none && !w.matters(x, again) {
			continue
		}
		m := w.c.mark()
		if w.c.join(e) {
			w.threads(this, again)
		}
		w.c.rewind(m)
	}
}

// matters reports whether a thread in a local state can touch what e left behind.
func (w *worker) matters(x *cond, again bool) bool {
	return x.value != nobody && w.concerned(x.value, again)
}

// evaluate finds the transitions of a thread's condition that touch what e
// left behind.
func (w *worker) evaluate(cond uint32) {
	w.thread, w.local = cond, w.p.cond(cond).value
	w.path, w.values = w.path[:0], w.values[:0]
	w.c.pin(cond)
	tree := &w.p.local(w.local).tree
	w.visit(tree, tree, 0, nil)
	w.c.unpin()
}

// visit continues with a transition at a node of the tree that begins at root.
func (w *worker) visit(n, root *node, alt uint64, context []known) {
	if w.stop() {
		return
	}
	if n.Load() == 0 {
		w.execute(root, alt, context)
	}
	at := n.Load()
	if at >= atLeaf {
		w.end(at &^ atLeaf)
		return
	}
	w.ask(at, w.c.current(w.p.branches.at(at).loc>>1), root, alt, context)
}

// execute executes the transition with the values that it has, and all others as
// they are after the configuration, so that the tree grows to its end.
func (w *worker) execute(root *node, alt uint64, context []known) {
	w.run.run(w.local, root, alt, context, w.values, func(loc uint32) uint32 {
		return w.p.cond(w.c.current(loc)).value
	})
}

// ask answers a question with a condition of the location that is in the
// configuration, and with those that were made from it and are concurrent.
func (w *worker) ask(question, cond uint32, root *node, alt uint64, context []known) {
	p := w.p
	x, q := p.cond(cond), p.branches.at(question)
	loc, fixed, only := q.loc>>1, q.loc&1 != 0, q.value
	if v := x.value; !fixed || only == v {
		w.path = append(w.path, cond)
		w.values = append(w.values, known{loc, v})
		w.c.pin(cond)
		n := p.answer(question, v)
		if n == nil {
			w.execute(root, alt, context)
			n = p.answer(question, v)
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
		if e > w.e || x.kid == none && fixed && only != x.value {
			continue
		}
		m := w.c.mark()
		if w.c.join(e) {
			w.ask(question, this, root, alt, context)
		}
		w.c.rewind(m)
	}
}

// extend has come to the end of a transition, which may be a new event.
func (w *worker) extend(number uint32) {
	l := w.p.leaf(number)
	s := w.p.shape(l)
	if s.kind() != system.Moved {
		return
	}
	if s.writes() {
		w.readings(number, s.acc(), 0, 0, false)
	} else {
		w.emit(number)
	}
	if x := w.p.extra(l); x.next != nil {
		w.alternative(number, x)
	}
}

// alternative looks for the next alternative, which exists because of the
// values that were read. It begins again, for it may touch other locations.
func (w *worker) alternative(number uint32, x *extra) {
	w.key = binary.LittleEndian.AppendUint32(w.key[:0], w.thread)
	w.key = binary.LittleEndian.AppendUint32(w.key, number)
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
	w.visit(x.next, x.next, x.nextAlt, x.context)
	w.c, w.path, w.values = old, path, values
}

// once reports whether w.key is new.
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
func (w *worker) readings(leaf uint32, acc []access, i int, r uint32, list bool) {
	p := w.p
	for ; i < len(acc); i++ {
		if !isWrite(acc[i]) {
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
				w.readings(leaf, acc, i, next, true)
				w.c.rewind(m)
				w.c.forbidden = append(w.c.forbidden, e)
				w.readings(leaf, acc, i, next, true)
				w.c.forbidden = w.c.forbidden[:len(w.c.forbidden)-1]
				return
			}
			w.c.rewind(m)
		}
	}
	w.emit(leaf)
}

// emit adds the event that consists of the leaf on the conditions of the path,
// if it touches what e left behind.
func (w *worker) emit(number uint32) {
	p := w.p
	l := p.leaf(number)
	s := p.shape(l)
	touches := p.isRoot(w.e) || p.cond(w.thread).event == w.e
	all := append(w.touched[:0], w.thread)
	for _, k := range s.kids() {
		all = append(all, w.c.current(k))
	}
	all = append(all, w.path...)
	pre := len(all)
	some := false
	for i, a := range s.acc() {
		x := p.cond(w.path[i])
		touches = touches || x.event == w.e && !p.isRoot(w.e)
		if !isWrite(a) {
			continue
		}
		// The readings in the configuration, of each thread the last.
		all = append(all, 0, 0)
		k := len(all)
		for r := x.readers; r != none; r = p.reads.at(r).next {
			e := p.reads.at(r).event
			if e > w.e || !w.c.has(e) {
				continue
			}
			some = true
			touches = touches || e == w.e
			all[k-2]++
			t := p.thread(e)
			last := t != s.thread()
			for _, f := range all[k:] {
				last = last && p.thread(f) != t
			}
			if last {
				all = append(all, e)
				all[k-1]++
			}
		}
	}
	w.touched = all
	if !some {
		all = all[:pre]
	}
	if !touches {
		return
	}
	if alt := p.extra(l).alt; alt != 0 {
		w.key = binary.LittleEndian.AppendUint64(w.key[:0], alt)
		for _, x := range all {
			w.key = binary.LittleEndian.AppendUint32(w.key, x)
		}
		if !w.once() {
			return
		}
	}
	c := &candidate{leaf: number, root: w.c.root, size: w.c.size + 1, hash: w.c.hash ^ l.delta,
		touched: slices.Clone(all), numPre: uint32(pre)}
	c.seen = p.events.n
	c.twin = w.twin(c, w.c, 0)
	w.found = append(w.found, c)
}
