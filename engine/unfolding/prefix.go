package unfolding

// cond is a condition: a component has a value, from the event on that gave it
// to it until one takes it. Conditions of one component form a tree: each was
// made by an event that took its parent.
type cond struct {
	event   uint32
	kid     uint32 // the newest condition that was made from this one
	sibling uint32 // an older one of the same parent
	readers uint32 // the newest reading of this condition
	value   uint32 // the number of a location's value; of a thread its local state
}

// Conditions of the initial states stand with their component; their number
// has the highest bit, then the component and the initial state.
const initial = 1 << 31

// none is the number of no condition, and of no reading.
const none = 0

// reading is an entry of the list of events that read a condition.
type reading struct {
	event uint32
	next  uint32
}

// event is an instance of a transition in one causal past.
type event struct {
	// A condition that its history takes, and which event of it does, in the upper and
	// the lower half: the last one that a configuration had taken otherwise, for
	// it may well be that again. 0 for none. Workers write it side by side.
	foe  uint64
	leaf uint32
	// How many events its history has, which counts itself, twice; and 1 more if
	// readings come before what it writes.
	sizes uint32
	// Where the conditions that it touches stand, in words: its thread's, its children's,
	// those of its accesses; then the readings that come before what it writes, if there are.
	pre uint32
	// its first condition, in the order of pre, but for what it only read; cut-off events have none
	post uint32
}

func (e *event) size() uint32 { return e.sizes >> 1 }

// prefix is a branching process of the system: events and conditions, numbered
// in the order in which they were added. An event has a larger number than all
// that it depends on. The first numbers represent the initial states.
type prefix struct {
	*program
	events chunks[event]
	conds  chunks[cond]
	reads  chunks[reading]
	words  pieces[uint32]
	// cut tells which events are cut-off, by number, packed.
	cut     chunks[uint64]
	cutoffs uint32

	// The initial states of the events, where there are several.
	origins chunks[uint32]
	// The events, or initial states, that are not cut-off, by the hashes of their
	// markings.
	markings index
}

func newPrefix(p *program) *prefix {
	x := &prefix{program: p}
	x.conds.add(cond{}) // none
	x.reads.add(reading{})
	x.words.add([]uint32{0})
	for r := range p.roots {
		x.events.add(event{})
		if len(p.roots) > 1 {
			x.origins.add(uint32(r))
		}
	}
	x.cut.add(0)
	return x
}

func (p *prefix) isCut(e uint32) bool { return *p.cut.at(e >> 6)&(1<<(e&63)) != 0 }

func (p *prefix) cond(c uint32) *cond {
	if c&initial == 0 {
		return p.conds.at(c)
	}
	n := uint32(len(p.roots))
	c &^= initial
	return &p.comp(c / n).starts[c%n]
}

// compOf returns the component of a condition.
func (p *prefix) compOf(c uint32) uint32 {
	if c&initial != 0 {
		return c &^ initial / uint32(len(p.roots))
	}
	ev := p.events.at(p.conds.at(c).event)
	s := p.shape(p.leaf(ev.leaf))
	i := c - ev.post
	if i == 0 {
		return s.thread()
	}
	kids := s.kids()
	if i--; i < uint32(len(kids)) {
		return kids[i]
	}
	i -= uint32(len(kids))
	for _, a := range s.acc() {
		if isWrite(a) {
			if i == 0 {
				return a >> 1
			}
			i--
		}
	}
	panic("unfolding: a condition that its event did not make")
}

// startOf returns the number of the condition of a component in an initial state.
func (p *prefix) startOf(root, comp uint32) uint32 {
	return initial | (comp*uint32(len(p.roots)) + root)
}

// isRoot reports whether an event represents an initial state.
func (p *prefix) isRoot(e uint32) bool { return e < uint32(len(p.roots)) }

// rootOf returns the initial state of an event.
func (p *prefix) rootOf(e uint32) uint32 {
	if len(p.roots) == 1 {
		return 0
	}
	return *p.origins.at(e)
}

func (p *prefix) leafOf(e uint32) *leaf { return p.leaf(p.events.at(e).leaf) }

// thread is the component of the thread that an event belongs to.
func (p *prefix) thread(e uint32) uint32 { return p.shape(p.leafOf(e)).thread() }

// readers returns where the readings that come before what an event writes are listed; nil if
// there are none. For each write it has how many read what is taken, how many of these
// events follow, and those: of each thread the last.
func (p *prefix) readers(ev *event, s shape) []uint32 {
	if ev.sizes&1 == 0 {
		return nil
	}
	return p.words.from(ev.pre)[s.numPre():]
}

// candidate is an event that was found and is not in the prefix yet.
type candidate struct {
	leaf    uint32
	root    uint32
	size    uint32
	twin    uint32 // 1 + an event of the same marking among the first so many
	seen    uint32
	numPre  uint32
	hash    uint32   // of the marking that its history leads to
	touched []uint32 // the conditions and readings as in event
}

func (c *candidate) pre() []uint32     { return c.touched[:c.numPre] }
func (c *candidate) readers() []uint32 { return c.touched[c.numPre:] }

// add adds an event. A cut-off event is not linked: nothing is looked for behind it.
func (p *prefix) add(c *candidate, cut bool) uint32 {
	e := event{leaf: c.leaf, sizes: 2 * c.size, pre: p.words.add(c.touched)}
	n := p.events.n
	if len(c.readers()) > 0 {
		e.sizes++
	}
	if len(p.roots) > 1 {
		p.origins.add(c.root)
	}
	if n>>6 == p.cut.n {
		p.cut.add(0)
	}
	if cut {
		*p.cut.at(n >> 6) |= 1 << (n & 63)
		p.cutoffs++
		return p.events.add(e)
	}
	e.post = p.conds.n
	make := func(parent, value uint32) {
		up := p.cond(parent)
		up.kid = p.conds.add(cond{event: n, sibling: up.kid, value: value})
	}
	l := p.leaf(c.leaf)
	s, pre := p.shape(l), c.pre()
	make(pre[0], l.after)
	kids, values := p.kids(l), p.known(l)
	for i, k := range kids {
		make(pre[1+i], k)
	}
	for i, a := range s.acc() {
		w := pre[1+len(kids)+i]
		values.next()
		if isWrite(a) {
			make(w, values.next())
			continue
		}
		x := p.cond(w)
		x.readers = p.reads.add(reading{event: n, next: x.readers})
	}
	return p.events.add(e)
}

// bytes returns the memory of the events and conditions, and of what was learned of the program.
func (p *prefix) bytes() uint64 {
	return uint64(p.events.n)*24 + uint64(p.conds.n)*20 + uint64(p.reads.n)*8 + uint64(
		p.words.n)*4 +
		uint64(p.cut.n)*8 + uint64(p.origins.n)*4 + uint64(len(p.markings.slots))*8 + p.learnt()
}

// maxNumber bounds all numbers.
const maxNumber = 1<<31 - 1<<16

// full reports whether the numbers for something are used up.
func (p *prefix) full() bool {
	return max(p.words.n, p.conds.n, p.reads.n, p.leaves.n, p.branches.n, p.locals.n, p.coded.n,
		p.uses.n) > maxNumber
}
