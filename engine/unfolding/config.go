package unfolding

import (
	"slices"
	"sync/atomic"
)

// config is a configuration: a set of events that contains with each event all
// that it depends on, and no two that exclude each other. It is a history of
// the system: all orders of its events that respect causality lead to the same
// state, its marking. Events are added with their histories; what was added
// last can be taken back.
//
// It is a table of the conditions that the events touch, so that its size is
// that of the configuration and not that of the prefix.
type config struct {
	p    *prefix
	root uint32
	size uint32
	hash uint32 // startHash, and the exclusive or of what the events change

	slots []slot
	mask  uint32
	cur   []uint32 // by component: the condition that holds; 0 for the initial one
	log   []undo
	base  uint32   // how many entries of the log were forgotten
	keys  []uint32 // of the table, in the order of insertion

	// The conditions that nothing may take, the last pinned one last, and how many of
	// them have a number that ends so, which answers most questions.
	pinned []uint32
	pins   [64]uint16

	foe uint64 // why add said no, as event.foe

	stack   []uint32
	touched []uint32
	// What must not be added.
	forbidden []uint32
}

// slot says what became of a condition that an event of the configuration touches.
type slot struct {
	key   uint32 // the condition; 0: the slot is free
	by    uint32 // the event that took it, or 0; no event in the configuration has the number 0
	reads uint32 // how many events read it
	want  uint32 // how many of them are in the history of by
}

// undo is what an entry of the log takes back.
type undo struct {
	op  undoOp
	at  uint32
	old uint32
}

type undoOp uint8

const (
	undoKey  undoOp = iota // the last key was inserted
	undoBy                 // the condition at was taken
	undoRead               // the condition at was read
	undoCur                // component at had condition old
)

type checkpoint struct {
	log, size uint32
	hash      uint32
}

func newConfig(p *prefix) *config {
	return &config{p: p, slots: make([]slot, 64), mask: 63}
}

// reset empties the configuration.
func (c *config) reset(root uint32) {
	if len(c.slots) > 1024 && len(c.slots) > 16*len(c.keys) {
		c.slots = make([]slot, 64)
		c.mask = 63
	} else if len(c.keys)*4 > len(c.slots) {
		clear(c.slots)
	} else {
		for i := len(c.keys) - 1; i >= 0; i-- {
			*c.get(c.keys[i]) = slot{}
		}
	}
	c.keys, c.log, c.forbidden = c.keys[:0], c.log[:0], c.forbidden[:0]
	c.base, c.pinned, c.pins = 0, c.pinned[:0], [64]uint16{}
	n := len(*c.p.comps.Load())
	if len(c.cur) < n {
		c.cur = make([]uint32, n+n/2)
	} else {
		clear(c.cur)
	}
	c.root, c.size, c.hash = root, 0, startHash(root)
}

// startHash is where the hashes of markings begin: another number for each
// initial state, for markings are compared with those of the same one only.
// Initial states may differ in locations that nobody has touched so far.
func startHash(root uint32) uint32 { return uint32(mix(uint64(root), 0)) }

// get returns the slot of a condition, or a free one.
func (c *config) get(key uint32) *slot {
	i := key * 0x9e3779b1
	for i = (i ^ i>>15) & c.mask; ; i = (i + 1) & c.mask {
		if s := &c.slots[i]; s.key == key || s.key == 0 {
			return s
		}
	}
}

// slot returns the slot of a condition, which is inserted if need be.
func (c *config) slot(key uint32) *slot {
	s := c.get(key)
	if s.key != 0 {
		return s
	}
	if 4*len(c.keys) > 3*len(c.slots) {
		old := c.slots
		mask := c.mask
		c.slots = make([]slot, 2*len(old))
		c.mask = uint32(len(c.slots) - 1)
		// In the order of insertion, so that the last key can still be
		// removed without a gap in anybody's way.
		for _, k := range c.keys {
			i := k * 0x9e3779b1
			for i = (i ^ i>>15) & mask; old[i].key != k; i = (i + 1) & mask {
			}
			*c.get(k) = old[i]
		}
		s = c.get(key)
	}
	s.key = key
	c.keys = append(c.keys, key)
	c.log = append(c.log, undo{op: undoKey})
	return s
}

func (c *config) mark() checkpoint {
	return checkpoint{c.base + uint32(len(c.log)), c.size,
		c.hash}
}

func (c *config) rewind(m checkpoint) {
	for i := len(c.log) - 1; i >= int(m.log-c.base); i-- {
		u := c.log[i]
		switch u.op {
		case undoKey:
			n := len(c.keys) - 1
			*c.get(c.keys[n]) = slot{}
			c.keys = c.keys[:n]
		case undoBy:
			c.get(u.at).by = 0
		case undoRead:
			c.get(u.at).reads--
		case undoCur:
			c.cur[u.at] = u.old
		}
	}
	c.log = c.log[:m.log-c.base]
	c.size, c.hash = m.size, m.hash
}

// lastAt writes the current conditions at m over dst.
func (c *config) lastAt(m checkpoint, dst []uint32) []uint32 {
	dst = append(dst[:0], c.cur...)
	for _, u := range slices.Backward(c.log[m.log-c.base:]) {
		if u.op == undoCur {
			dst[u.at] = u.old
		}
	}
	return dst
}

// forget makes room: nothing before m will be taken back.
func (c *config) forget(m checkpoint) {
	n := copy(c.log, c.log[m.log-c.base:])
	c.log = c.log[:n]
	c.base = m.log
}

// bytes returns the memory of the configuration.
func (c *config) bytes() int {
	return cap(c.slots)*16 + (cap(c.cur)+cap(c.keys))*4 + cap(c.log)*12
}

// has reports whether an event is in the configuration.
func (c *config) has(e uint32) bool {
	if c.p.isRoot(e) {
		return e == c.root
	}
	s := c.get(c.p.words.from(c.p.events.at(e).pre)[0])
	return s.key != 0 && s.by == e
}

// current returns the condition that holds of a component.
func (c *config) current(comp uint32) uint32 {
	if int(comp) < len(c.cur) && c.cur[comp] != 0 {
		return c.cur[comp]
	}
	return c.p.startOf(c.root, comp)
}

// pin forbids that a condition be taken.
func (c *config) pin(cond uint32) {
	c.pinned = append(c.pinned, cond)
	c.pins[cond%64]++
}

// unpin allows the condition that was pinned last to be taken again.
func (c *config) unpin() {
	n := len(c.pinned) - 1
	c.pins[c.pinned[n]%64]--
	c.pinned = c.pinned[:n]
}

func (c *config) isPinned(cond uint32) bool {
	return c.pins[cond%64] > 0 && slices.Contains(c.pinned, cond)
}

// join adds an event with its history. If that excludes an event of the
// configuration, or takes a pinned condition, nothing is added.
func (c *config) join(e uint32) bool {
	if c.excludes(e) {
		return false
	}
	m := c.mark()
	c.stack = append(c.stack[:0], e)
	if c.add() {
		return true
	}
	c.rewind(m)
	if c.foe != 0 {
		atomic.StoreUint64(&c.p.events.at(e).foe, c.foe)
	}
	return false
}

func foeOf(cond, e uint32) uint64 { return uint64(cond)<<32 | uint64(e) }

// mustJoin adds an event, with its history, that is known to fit.
func (c *config) mustJoin(e uint32) {
	c.stack = append(c.stack[:0], e)
	if !c.add() {
		panic("unfolding: an event whose history is none")
	}
}

// probes is how many events of a history are looked at before it is added: most
// histories that do not fit show it near their end.
const probes = 16

// excludes reports whether an event cannot be added because of itself or one of the last events
// of its history: it takes what is pinned, or takes or reads what was taken, or takes what was
// read by others than those before it. It says no more than add does, but without a change to
// the table.
func (c *config) excludes(e uint32) bool {
	p := c.p
	if p.isRoot(e) {
		return e != c.root
	}
	top := p.events.at(e)
	if p.rootOf(e) != c.root {
		return true
	}
	if foe := atomic.LoadUint64(&top.foe); foe != 0 {
		if by := c.get(uint32(foe >> 32)).by; by != 0 && by != uint32(foe) {
			return true
		}
	}
	c.stack = append(c.stack[:0], e)
	for n := 0; len(c.stack) > 0 && n < probes; n++ {
		e := c.stack[len(c.stack)-1]
		c.stack = c.stack[:len(c.stack)-1]
		if p.isRoot(e) {
			continue
		}
		ev := p.events.at(e)
		s := p.shape(p.leaf(ev.leaf))
		pre := p.words.from(ev.pre)
		w := pre[0]
		if w != c.current(s.thread()) {
			if by := c.get(w).by; by == e {
				continue // it is there
			} else if by != 0 {
				atomic.StoreUint64(&top.foe, foeOf(w, e))
				return true
			}
			c.stack = append(c.stack, p.cond(w).event)
		}
		if c.isPinned(w) {
			return true
		}
		pre = pre[1:]
		kids := s.kids()
		for i, k := range kids {
			w := pre[i]
			if w != c.current(k) && c.get(w).by != 0 {
				atomic.StoreUint64(&top.foe, foeOf(w, e))
				return true
			}
			if c.isPinned(w) {
				return true
			}
		}
		pre = pre[len(kids):]
		readers := p.readers(ev, s)
		for i, a := range s.acc() {
			w := pre[i]
			now := w == c.current(a>>1)
			if !now {
				if c.get(w).by != 0 {
					if isWrite(a) {
						atomic.StoreUint64(&top.foe, foeOf(w, e))
					}
					return true
				}
				c.stack = append(c.stack, p.cond(w).event)
			}
			if !isWrite(a) {
				continue
			}
			var want uint32
			if readers != nil {
				want = readers[0]
				readers = readers[2+readers[1]:]
			}
			if now && c.get(w).reads > want || c.isPinned(w) {
				return true
			}
		}
	}
	return false
}

// pushPre puts the events that an event depends on onto the stack.
func (c *config) pushPre(ev *event, s shape) {
	p := c.p
	for _, w := range p.words.from(ev.pre)[:s.numPre()] {
		c.stack = append(c.stack, p.cond(w).event)
	}
	c.pushReaders(p.readers(ev, s), s)
}

// pushReaders puts the events of a list of readings onto the stack.
func (c *config) pushReaders(readers []uint32, s shape) {
	if len(readers) == 0 {
		return
	}
	for _, a := range s.acc() {
		if isWrite(a) {
			n := 2 + readers[1]
			c.stack = append(c.stack, readers[2:n]...)
			readers = readers[n:]
		}
	}
}

// add adds the events on the stack with their histories. It returns false, and may leave some of
// them added, if the result would not be a configuration.
func (c *config) add() bool {
	p := c.p
	c.touched, c.foe = c.touched[:0], 0
	for len(c.stack) > 0 {
		e := c.stack[len(c.stack)-1]
		c.stack = c.stack[:len(c.stack)-1]
		if p.isRoot(e) {
			if e != c.root {
				return false
			}
			continue
		}
		ev := p.events.at(e)
		pre := p.words.from(ev.pre)
		s := c.slot(pre[0])
		if s.by == e {
			continue
		}
		if s.by != 0 {
			c.foe = foeOf(pre[0], e)
			return false
		}
		if c.isPinned(pre[0]) || slices.Contains(c.forbidden, e) {
			return false
		}
		l := p.leaf(ev.leaf)
		c.take(s, e, 0)
		form := p.shape(l)
		c.push(pre[0], form.thread())
		c.now(form.thread(), ev.post)
		post := ev.post + 1
		pre = pre[1:]
		kids := form.kids()
		for i, k := range kids {
			s := c.slot(pre[i])
			if s.by != 0 {
				c.foe = foeOf(pre[i], e)
				return false
			}
			if c.isPinned(pre[i]) {
				return false
			}
			c.take(s, e, 0)
			c.push(pre[i], k)
			c.now(k, post)
			post++
		}
		pre = pre[len(kids):]
		readers := p.readers(ev, form)
		for i, a := range form.acc() {
			w := pre[i]
			s := c.slot(w)
			c.touched = append(c.touched, w)
			if !isWrite(a) {
				s.reads++
				c.log = append(c.log, undo{op: undoRead, at: w})
				c.push(w, a>>1)
				continue
			}
			if s.by != 0 {
				c.foe = foeOf(w, e)
				return false
			}
			if c.isPinned(w) {
				return false
			}
			var want uint32
			if readers != nil {
				want = readers[0]
				n := 2 + readers[1]
				c.stack = append(c.stack, readers[2:n]...)
				readers = readers[n:]
			}
			c.take(s, e, want)
			c.push(w, a>>1)
			c.now(a>>1, post)
			post++
		}
		c.size++
		c.hash ^= l.delta
	}
	// Whatever read a condition did so before it was taken.
	for _, w := range c.touched {
		if s := c.get(w); s.by != 0 && s.reads != s.want {
			return false
		}
	}
	return true
}

// push puts the event that made a condition of a component onto the stack, unless the
// condition is the current one and its event therefore there already.
func (c *config) push(cond, comp uint32) {
	if cond == c.current(comp) {
		return
	}
	if cond&initial == 0 {
		c.stack = append(c.stack, c.p.conds.at(cond).event)
	} else if r := cond &^ initial % uint32(len(c.p.roots)); r != c.root {
		c.stack = append(c.stack, r) // which add refuses
	}
}

func (c *config) take(s *slot, by, want uint32) {
	s.by, s.want = by, want
	c.log = append(c.log, undo{op: undoBy, at: s.key})
}

// now makes a condition the current one of its component unless a later one is;
// later conditions have larger numbers.
func (c *config) now(comp, cond uint32) {
	if int(comp) >= len(c.cur) {
		c.cur = append(c.cur, make([]uint32, int(comp)+1-len(c.cur))...)
	}
	old := c.cur[comp]
	if old > cond {
		return
	}
	c.cur[comp] = cond
	c.log = append(c.log, undo{op: undoCur, at: comp, old: old})
}
