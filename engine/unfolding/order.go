package unfolding

import (
	"cmp"
	"slices"
)

// load makes c the configuration that a candidate depends on.
func (c *config) load(x *candidate) {
	c.reset(x.root)
	c.stack = c.stack[:0]
	for _, w := range x.pre() {
		c.stack = append(c.stack, c.p.cond(w).event)
	}
	c.pushReaders(x.readers(), c.p.shape(c.p.leaf(x.leaf)))
	if !c.add() {
		panic("unfolding: a candidate whose history is none")
	}
}

// candidateOf returns an event of the prefix as it was before it was added.
func (p *prefix) candidateOf(e uint32) *candidate {
	ev := p.events.at(e)
	s := p.shape(p.leaf(ev.leaf))
	n := s.numPre()
	x := &candidate{leaf: ev.leaf, root: p.rootOf(e), size: ev.size(), numPre: n}
	if readers := p.readers(ev, s); readers != nil {
		for _, a := range s.acc() {
			if isWrite(a) {
				k := 2 + readers[1]
				readers = readers[k:]
				n += k
			}
		}
	}
	x.touched = p.words.from(ev.pre)[:n]
	return x
}

// shown is the marking that an event's history leads to.
type shown struct {
	event   uint32
	marking []uint32
}

// markingOf returns the marking of an event's history, of all components that are known.
func (w *worker) markingOf(e uint32) []uint32 {
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
		root = w.p.rootOf(e)
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
		s := p.shape(p.leaf(ev.leaf))
		post := ev.post
		made := func(comp uint32) {
			x.last[comp] = max(x.last[comp], post)
			post++
		}
		made(s.thread())
		for _, k := range s.kids() {
			made(k)
		}
		for _, a := range s.acc() {
			if isWrite(a) {
				made(a >> 1)
			}
		}
		for _, w := range p.words.from(ev.pre)[:s.numPre()] {
			if w&initial == 0 {
				x.see(p.conds.at(w).event)
			}
		}
		if readers := p.readers(ev, s); readers != nil {
			for _, a := range s.acc() {
				if isWrite(a) {
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
	for e := range p.markings.all(x.hash) {
		if e < from || p.rootOf(e) != x.root {
			continue
		}
		there := w.markingOf(e)
		if c == nil {
			w.c2.load(x)
		}
		if cmp.Or(c, w.c2).leadsTo(p.leaf(x.leaf), there) {
			return 1 + e
		}
	}
	return 0
}

// leadsTo reports whether a transition after the configuration leads to a marking.
func (c *config) leadsTo(l *leaf, marking []uint32) bool {
	s, values := c.p.shape(l), c.p.known(l)
	if marking[s.thread()] != l.after {
		return false
	}
	kids := s.kids()
	for i, k := range c.p.kids(l) {
		if marking[kids[i]] != k {
			return false
		}
	}
	for _, a := range s.acc() {
		v := values.next()
		if isWrite(a) {
			v = values.next()
		}
		if marking[a>>1] != v {
			return false
		}
	}
	for i, v := range marking {
		if c.p.cond(c.current(uint32(i))).value != v && !s.makes(uint32(i)) {
			return false
		}
	}
	return true
}

// makes reports whether a transition makes a condition of a component.
func (s shape) makes(comp uint32) bool {
	return comp == s.thread() || slices.Contains(s.kids(), comp) || slices.Contains(s.acc(),
		accessOf(comp, true))
}

// marking writes the values of all components after a candidate over dst: for
// a thread the number of its local state. c is the configuration before it.
func (c *config) marking(l *leaf, dst []uint32) []uint32 {
	dst = dst[:0]
	for i := range len(*c.p.comps.Load()) {
		dst = append(dst, c.p.cond(c.current(uint32(i))).value)
	}
	s, values := c.p.shape(l), c.p.known(l)
	dst[s.thread()] = l.after
	kids := s.kids()
	for i, k := range c.p.kids(l) {
		dst[kids[i]] = k
	}
	for _, a := range s.acc() {
		values.next()
		if isWrite(a) {
			dst[a>>1] = values.next()
		}
	}
	return dst
}

// history is a configuration as the threads see it.
type history struct {
	// By thread number, the transitions of the thread.
	threads [][]move
	// By location, the accesses in their order.
	accesses map[uint32][]touch
}

// move is a transition from a local state.
type move struct {
	before uint32
	leaf   *leaf
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
		if s.by != 0 && c.p.words.from(c.p.events.at(s.by).pre)[0] == k {
			es = append(es, s.by)
		}
	}
	slices.Sort(es)
	return es
}

// history returns the history of a candidate, which counts itself. c is the
// configuration before it.
func (c *config) history(x *candidate) *history {
	p := c.p
	h := &history{accesses: map[uint32][]touch{}}
	add := func(taken uint32, l *leaf) {
		s := p.shape(l)
		t := int(p.comp(s.thread()).number)
		for len(h.threads) <= t {
			h.threads = append(h.threads, nil)
		}
		h.threads[t] = append(h.threads[t], move{p.cond(taken).value, l})
		for _, a := range s.acc() {
			loc := p.comp(a >> 1).number
			h.accesses[loc] = append(h.accesses[loc], touch{uint32(t), isWrite(a)})
		}
	}
	for _, e := range c.events() {
		ev := p.events.at(e)
		add(p.words.from(ev.pre)[0], p.leaf(ev.leaf))
	}
	add(x.touched[0], p.leaf(x.leaf))
	return h
}

// less is the adequate total order on candidates of one size. See the package
// documentation.
func (w *worker) less(x, y *candidate) bool {
	w.c2.load(x)
	a := w.c2.history(x)
	w.c2.load(y)
	b := w.c2.history(y)
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
func (p *program) compare(x, y move) int {
	a, b := x.leaf, y.leaf
	if a == b {
		return 0
	}
	if x.before != y.before {
		if d := slices.Compare(p.partOf(p.local(x.before), nil),
			p.partOf(p.local(y.before), nil)); d != 0 {
			return d
		}
	}
	if d := cmp.Compare(p.extra(a).alt, p.extra(b).alt); d != 0 {
		return d
	}
	s, t := p.shape(a).acc(), p.shape(b).acc()
	v, w := p.known(a), p.known(b)
	for i := range min(len(s), len(t)) {
		x, y := s[i], t[i]
		if d := cmp.Compare(p.comp(x>>1).number, p.comp(y>>1).number); d != 0 {
			return d
		}
		if d := cmp.Compare(p.value(v.next()), p.value(w.next())); d != 0 {
			return d
		}
		v.skip(x & 1)
		w.skip(y & 1)
	}
	return cmp.Compare(len(s), len(t))
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
