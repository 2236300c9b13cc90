package unfolding

// cond is a condition: a component has a value, from the event on that gave it
// to it until one takes it. Conditions of one component form a tree: each was
// made by an event that took its parent.
type cond struct {
	event   uint32
	comp    uint32
	kid     uint32 // the newest condition that was made from this one
	sibling uint32 // an older one of the same parent
	readers uint32 // the newest reading of this condition
	value   uint64 // of a location; of a thread the number of its local state
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
	leaf uint32
	size uint32 // of its history, which counts itself
	pre  uint32 // conditions that it touches, in words: its thread's, its children's, those of its accesses
	post uint32 // its first condition, in the order of pre, but for what it only read; cut-off events have none
	// readers is where the words begin that say which readings come before
	// what it writes; 0 if there are none.
	readers uint32
	root    uint32 // the initial state
	// A condition that its history takes, and which event of it does, in the upper and
	// the lower half: the last one that a configuration had taken otherwise, for
	// it may well be that again. 0 for none. Workers write it side by side.
	foe uint64
}

// chunks is a long slice that grows without being copied. It grows in one
// goroutine, while no other looks.
type chunks[T any] struct {
	c [][]T
	n uint32
}

const chunkBits = 10

func (x *chunks[T]) at(i uint32) *T { return &x.c[i>>chunkBits][i&(1<<chunkBits-1)] }

func (x *chunks[T]) add(v T) uint32 {
	i := x.n
	if i>>chunkBits == uint32(len(x.c)) {
		x.c = append(x.c, make([]T, 1<<chunkBits))
	}
	x.n++
	*x.at(i) = v
	return i
}

// words is a long slice of numbers that is written in pieces; none is cut in two.
type words struct {
	c [][]uint32
	n uint32
}

const wordBits = 12

// add appends a piece and returns where it begins.
func (x *words) add(piece []uint32) uint32 {
	const size = 1 << wordBits
	if room := uint32(len(x.c))<<wordBits - x.n; int(room) < len(piece) {
		// A long piece gets more, in one go.
		more := make([]uint32, (len(piece)+size-1)/size*size)
		x.n = uint32(len(x.c)) << wordBits
		for i := 0; i < max(1, len(more)); i += size {
			x.c = append(x.c, more[i:])
		}
	}
	at := x.n
	copy(x.c[at>>wordBits][at&(size-1):], piece)
	x.n += uint32(len(piece))
	return at
}

// from returns what begins at a place.
func (x *words) from(at uint32) []uint32 { return x.c[at>>wordBits][at&(1<<wordBits-1):] }

// prefix is a branching process of the system: events and conditions, numbered
// in the order in which they were added. An event has a larger number than all
// that it depends on. The first numbers stand for the initial states.
type prefix struct {
	*program
	events chunks[event]
	conds  chunks[cond]
	reads  chunks[reading]
	words  words
	// cut tells which events are cut-off, by number, packed.
	cut     chunks[uint64]
	cutoffs uint32

	// The events, or initial states, that are not cut-off, by the hash of their
	// markings, and of those of equal hash the one before.
	markings map[uint64]uint32
	older    map[uint32]uint32
}

func newPrefix(p *program) *prefix {
	x := &prefix{program: p, markings: map[uint64]uint32{}, older: map[uint32]uint32{}}
	x.conds.add(cond{}) // none
	x.reads.add(reading{})
	x.words.add([]uint32{0})
	for range p.roots {
		x.events.add(event{})
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
	return &p.comp(c / n).starts[c%n].cond
}

// startOf returns the number of the condition of a component in an initial state.
func (p *prefix) startOf(root, comp uint32) uint32 {
	return initial | (comp*uint32(len(p.roots)) + root)
}

// isRoot tells whether an event stands for an initial state.
func (p *prefix) isRoot(e uint32) bool { return e < uint32(len(p.roots)) }

func (p *prefix) leafOf(e uint32) *leaf { return p.leaf(p.events.at(e).leaf) }

// thread is the component of the thread that an event belongs to.
func (p *prefix) thread(e uint32) uint32 { return p.leafOf(e).before.thread }

// candidate is an event that was found and is not in the prefix yet.
type candidate struct {
	leaf    *leaf
	root    uint32
	size    uint32
	hash    uint64 // of the marking that its history leads to
	pre     []uint32
	readers []uint32
	twin    uint32 // 1 + an event of the same marking among the first so many
	seen    uint32
}

// numPre returns how many words pre has.
func (l *leaf) numPre() uint32 { return uint32(1 + len(l.children) + len(l.acc)) }

// add adds an event. A cut-off event is not linked: nothing is looked for behind it.
func (p *prefix) add(c *candidate, cut bool) uint32 {
	e := event{leaf: c.leaf.id, size: c.size, pre: p.words.add(c.pre), root: c.root}
	n := p.events.n
	if len(c.readers) > 0 {
		e.readers = p.words.add(c.readers)
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
	make := func(parent, comp uint32, value uint64) {
		up := p.cond(parent)
		up.kid = p.conds.add(cond{event: n, comp: comp, sibling: up.kid, value: value})
	}
	l := c.leaf
	make(c.pre[0], l.before.thread, uint64(l.after.id))
	for i, ch := range l.children {
		make(c.pre[1+i], ch.thread, uint64(ch.id))
	}
	for i, a := range l.acc {
		w := c.pre[1+len(l.children)+i]
		if a.write {
			make(w, a.loc, a.new)
			continue
		}
		x := p.cond(w)
		x.readers = p.reads.add(reading{event: n, next: x.readers})
	}
	return p.events.add(e)
}
