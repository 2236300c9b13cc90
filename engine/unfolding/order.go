package unfolding

import (
	"cmp"
	"slices"
)

// load makes c the configuration that a candidate depends on.
func (c *config) load(x *candidate) {
	c.reset(x.root)
	c.stack = c.stack[:0]
	for _, w := range x.pre {
		c.stack = append(c.stack, c.p.cond(w).event)
	}
	for i := 0; i < len(x.readers); {
		n := int(x.readers[i+1])
		c.stack = append(c.stack, x.readers[i+2:i+2+n]...)
		i += 2 + n
	}
	if !c.add() {
		panic("unfolding: a candidate whose history is none")
	}
}

// candidateOf returns an event of the prefix as it was before it was added.
func (p *prefix) candidateOf(e uint32) *candidate {
	ev := p.events.at(e)
	x := &candidate{leaf: p.leaf(ev.leaf), root: ev.root, size: ev.size}
	x.pre = p.words.from(ev.pre)[:x.leaf.numPre()]
	if ev.readers != 0 {
		x.readers = p.words.from(ev.readers)
		n := uint32(0)
		for _, a := range x.leaf.acc {
			if a.write {
				n += 2 + x.readers[n+1]
			}
		}
		x.readers = x.readers[:n]
	}
	return x
}

// shown is the marking that an event's history leads to.
type shown struct {
	event   uint32
	marking []uint64
}

// markingOf returns the marking of an event's history, of all components that are known.
func (w *worker) markingOf(e uint32) []uint64 {
	x := &w.shown[e%uint32(len(w.shown))]
	if x.event == e && len(x.marking) == len(*w.p.comps.Load()) {
		return x.marking
	}
	x.event = e
	var ok bool
	if w.past.last, ok = w.kept.last(w, e, w.past.last); !ok {
		w.past.goThrough(w.p, e)
	}
	root := e
	if !w.p.isRoot(e) {
		root = w.p.events.at(e).root
	}
	x.marking = x.marking[:0]
	for i := range len(*w.p.comps.Load()) {
		c := w.p.startOf(root, uint32(i))
		if i < len(w.past.last) && w.past.last[i] != 0 {
			c = w.past.last[i]
		}
		x.marking = append(x.marking, w.p.cond(c).value)
	}
	return x.marking
}

// past goes through histories that are known to be some, where no more is asked than what holds
// behind them: without the table of a configuration.
type past struct {
	seen   []uint64 // the events, packed
	events []uint32
	last   []uint32 // by component its last condition; 0 for the initial one
}

// goThrough finds the last conditions of the history of an event.
func (x *past) goThrough(p *prefix, e uint32) {
	comps := len(*p.comps.Load())
	if n := int(p.events.n>>6) + 1; n > len(x.seen) {
		x.seen = append(x.seen, make([]uint64, n+n/2-len(x.seen))...)
	}
	if comps > len(x.last) {
		x.last = append(x.last, make([]uint32, comps+comps/2-len(x.last))...)
	}
	clear(x.last)
	x.events = x.events[:0]
	if !p.isRoot(e) {
		x.see(e)
	}
	// The list is what was seen and what is still to be looked at.
	for i := 0; i < len(x.events); i++ {
		e := x.events[i]
		ev := p.events.at(e)
		l := p.leaf(ev.leaf)
		pre := p.words.from(ev.pre)
		post := ev.post
		made := func(comp uint32) {
			x.last[comp] = max(x.last[comp], post)
			post++
		}
		made(l.before.thread)
		for _, ch := range l.children {
			made(ch.thread)
		}
		for i := range l.acc {
			if l.acc[i].write {
				made(l.acc[i].loc)
			}
		}
		for _, w := range pre[:l.numPre()] {
			if w&initial == 0 {
				x.see(p.conds.at(w).event)
			}
		}
		if ev.readers != 0 {
			readers := p.words.from(ev.readers)
			for i := range l.acc {
				if l.acc[i].write {
					n := 2 + readers[1]
					for _, r := range readers[2:n] {
						x.see(r)
					}
					readers = readers[n:]
				}
			}
		}
	}
	for _, e := range x.events {
		x.seen[e>>6] = 0
	}
}

func (x *past) see(e uint32) {
	if w := &x.seen[e>>6]; *w&(1<<(e&63)) == 0 {
		*w |= 1 << (e & 63)
		x.events = append(x.events, e)
	}
}

// twin returns 1 + the number of an event with the marking of a candidate, of those
// from a number on; 0 if there is none. c is the configuration that the candidate depends on,
// or nil. Components that become known meanwhile have nothing to do with either.
func (w *worker) twin(x *candidate, c *config, from uint32) uint32 {
	p := w.p
	for e, ok := p.markings[x.hash]; ok && e >= from; e, ok = p.older[e] {
		if p.events.at(e).root != x.root {
			continue
		}
		there := w.markingOf(e)
		if c == nil {
			w.c2.load(x)
		}
		if cmp.Or(c, w.c2).leadsTo(x.leaf, there) {
			return 1 + e
		}
	}
	return 0
}

// leadsTo tells whether a transition after the configuration leads to a marking.
func (c *config) leadsTo(l *leaf, marking []uint64) bool {
	if marking[l.before.thread] != uint64(l.after.id) {
		return false
	}
	for _, ch := range l.children {
		if marking[ch.thread] != uint64(ch.id) {
			return false
		}
	}
	for _, a := range l.acc {
		if marking[a.loc] != a.new {
			return false
		}
	}
	for i, v := range marking {
		if c.p.cond(c.current(uint32(i))).value != v && !l.makes(uint32(i)) {
			return false
		}
	}
	return true
}

// makes tells whether a transition makes a condition of a component.
func (l *leaf) makes(comp uint32) bool {
	return comp == l.before.thread ||
		slices.ContainsFunc(l.children, func(ch *local) bool { return ch.thread == comp }) ||
		slices.ContainsFunc(l.acc, func(a access) bool { return a.write && a.loc == comp })
}

// marking writes the values of all components after a candidate over dst: for
// a thread the number of its local state. c is the configuration before it.
func (c *config) marking(l *leaf, dst []uint64) []uint64 {
	dst = dst[:0]
	for i := range len(*c.p.comps.Load()) {
		dst = append(dst, c.p.cond(c.current(uint32(i))).value)
	}
	if l == nil {
		return dst
	}
	dst[l.before.thread] = uint64(l.after.id)
	for _, ch := range l.children {
		dst[ch.thread] = uint64(ch.id)
	}
	for _, a := range l.acc {
		dst[a.loc] = a.new
	}
	return dst
}

// history is a configuration as the threads see it.
type history struct {
	// By thread number, the transitions of the thread.
	threads [][]*leaf
	// By location, the accesses in their order.
	accesses map[uint32][]touch
}

// touch is one access: who, and whether it wrote.
type touch struct {
	thread uint32
	write  bool
}

// events returns the events of the configuration, in the order of their numbers.
func (c *config) events() []uint32 {
	var es []uint32
	for _, k := range c.keys {
		s := c.get(k)
		if x := c.p.cond(k); s.by != 0 && c.p.comp(x.comp).thread && c.p.thread(s.by) == x.comp {
			es = append(es, s.by)
		}
	}
	slices.Sort(es)
	return es
}

// history returns the history of a candidate, which counts itself. c is the
// configuration before it.
func (c *config) history(last *leaf) *history {
	h := &history{accesses: map[uint32][]touch{}}
	add := func(l *leaf) {
		t := int(c.p.comp(l.before.thread).number)
		for len(h.threads) <= t {
			h.threads = append(h.threads, nil)
		}
		h.threads[t] = append(h.threads[t], l)
		for _, a := range l.acc {
			loc := c.p.comp(a.loc).number
			h.accesses[loc] = append(h.accesses[loc], touch{uint32(t), a.write})
		}
	}
	for _, e := range c.events() {
		add(c.p.leafOf(e))
	}
	add(last)
	return h
}

// less is the adequate total order on candidates of one size. See the package
// documentation.
func (w *worker) less(x, y *candidate) bool {
	w.c2.load(x)
	a := w.c2.history(x.leaf)
	w.c2.load(y)
	b := w.c2.history(y.leaf)
	if x.root != y.root {
		return x.root < y.root
	}
	// How many events each thread has.
	for t := range max(len(a.threads), len(b.threads)) {
		var m, n int
		if t < len(a.threads) {
			m = len(a.threads[t])
		}
		if t < len(b.threads) {
			n = len(b.threads[t])
		}
		if m != n {
			return m > n
		}
	}
	// What they did.
	for t := range a.threads {
		for i, l := range a.threads[t] {
			if d := w.p.compare(l, b.threads[t][i]); d != 0 {
				return d < 0
			}
		}
	}
	// Who came first to each location.
	var locs []uint32
	for l := range a.accesses {
		locs = append(locs, l)
	}
	slices.Sort(locs)
	for _, l := range locs {
		if d := slices.Compare(word(a.accesses[l]), word(b.accesses[l])); d != 0 {
			return d < 0
		}
	}
	return false
}

// compare compares two transitions of a thread by the thread's local state,
// the alternative, and the values that it saw.
func (p *program) compare(a, b *leaf) int {
	if d := slices.Compare(a.before.part, b.before.part); d != 0 {
		return d
	}
	if d := cmp.Compare(a.alt, b.alt); d != 0 {
		return d
	}
	for i := range min(len(a.acc), len(b.acc)) {
		x, y := a.acc[i], b.acc[i]
		if d := cmp.Compare(p.comp(x.loc).number, p.comp(y.loc).number); d != 0 {
			return d
		}
		if d := cmp.Compare(x.old, y.old); d != 0 {
			return d
		}
	}
	return cmp.Compare(len(a.acc), len(b.acc))
}

// word returns the accesses of a location as a sequence of numbers: before
// each write how often each thread has read since the last one, then who wrote.
// Readings in another order give the same word.
func word(ts []touch) []uint32 {
	threads := uint32(0)
	for _, t := range ts {
		threads = max(threads, t.thread+1)
	}
	var out []uint32
	at := -1 // where the counts of readings begin
	for _, t := range ts {
		if at < 0 {
			at = len(out)
			out = append(out, make([]uint32, threads)...)
		}
		if !t.write {
			out[at+int(t.thread)]++
			continue
		}
		out = append(out, t.thread)
		at = -1
	}
	return out
}
