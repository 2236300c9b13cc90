package machine

import (
	"slices"

	"cpor/system"
)

// Garbage of a long execution.
//
// An execution that allocates in a loop would need memory in proportion to its length, so a
// machine frees what is unreachable from the goroutines and from the undo log, which may restore
// any state since the last [Machine.Forget]. A word that could be a reference counts as one,
// wherever it stands, as in Boehm and Weiser, "Garbage collection in an uncooperative
// environment", Software: Practice and Experience 18 (9), 1988. So the types of registers and of
// old values need not be known. An integer that looks like a reference keeps an object alive,
// which is harmless.
//
// The roots are all registers (including those above the frames, because undoing a step may
// restore their frames), the values of panics, the changed pages of the initial memory, and the
// old values in the undo log. That suffices for going back: an object reachable in an earlier
// state is referred to by a word of that state, which still exists or whose old value is in the
// log, and so on along the path to the object.
//
// A reference is an object's number and an offset, so memory can move: the remaining objects are
// compacted in order, and the addresses in the log are adjusted. Numbers do not change. Those of
// freed objects are reused, by objects with their own names (creator and count); undoing such a
// step frees the number again. Addresses and object numbers are not part of encoded states or of
// the names of locations, so garbage collection does not affect the exploration.

// leastGarbage is the number of new words after which garbage is collected.
var leastGarbage = 1 << 20

// CollectAfter sets the number of new words after which garbage is collected, and returns the
// previous one: tests set few, to check that it makes no difference. No machine may run
// meanwhile.
func CollectAfter(words int) (before int) {
	before, leastGarbage = leastGarbage, words
	return before
}

// objectWords is about how many words an object costs besides its memory.
const objectWords = 2

// collector is what a machine knows about its garbage.
type collector struct {
	free    []uint32 // numbers that can be used again
	since   int      // words that were allocated since the last collection
	wait    int      // how many have to be
	overdue bool     // it is time to collect
	marks   []bool   // by object
	stack   []uint32 // objects that are to be looked through
	// How many records of the running step there were when they were last examined.
	shortened int
}

// allocated records the allocation of that many words, and makes the running computation collect
// garbage when there may be much.
func (m *Machine) allocated(words int) {
	m.since += words + objectWords
	if m.since >= max(m.wait, leastGarbage) && !m.overdue && m.sys.first != m {
		m.overdue = true
		// The next backward jump checks whether to continue.
		if m.budget >= 0 {
			m.left += m.budget + 1
			m.budget = -1
		}
	}
}

// dead is the object of a free number.
var dead = object{creator: nobody, seq: -1}

// reclaim frees the memory of unused objects. All references must be in the roots.
func (m *Machine) reclaim() {
	m.overdue, m.since = false, 0
	first := 1
	switch {
	case m.sys.first != nil:
		first = len(m.sys.first.objs)
	case m.setup:
		first = len(m.p.Globals) + 1
	}
	m.marks = slices.Grow(m.marks[:0], len(m.objs))[:len(m.objs)]
	clear(m.marks)
	m.stack = m.stack[:0]
	for _, g := range m.gors {
		if g.status == absent {
			continue
		}
		m.markWords(g.stack, first)
		m.markPanics(g.panics, first)
	}
	for i := range m.states {
		m.markPanics(m.states[i].panics, first)
	}
	m.markWords(m.words, first)
	for _, u := range m.log {
		if u.kind == undoWord {
			m.markWord(u.b, first)
		}
	}
	if m.setup {
		for id := 1; id < first; id++ {
			m.markObject(uint32(id), first)
		}
	}
	for _, p := range m.pages {
		from, to := m.span(p)
		m.markWords(m.mem[from:to], first)
	}
	for n := 0; len(m.stack) > 0; n++ {
		id := m.stack[len(m.stack)-1]
		m.stack = m.stack[:len(m.stack)-1]
		m.markObject(id, first)
		if n%1024 == 0 && m.sys.halted() {
			return // it means nothing any more
		}
	}
	m.compact(first)
	live := len(m.mem) - int(m.end)
	m.wait = live
}

func (m *Machine) markPanics(p *panicRec, first int) {
	for ; p != nil; p = p.next {
		m.markWord(p.value[1], first)
	}
}

func (m *Machine) markObject(id uint32, first int) {
	o := &m.objs[id]
	m.markWords(m.mem[o.base:o.base+o.size], first)
}

func (m *Machine) markWords(ws []uint64, first int) {
	n := uint64(len(m.marks))
	for _, w := range ws {
		if id := w >> 32; id >= uint64(first) && id < n && !m.marks[id] {
			m.marks[id] = true
			m.stack = append(m.stack, uint32(id))
		}
	}
}

func (m *Machine) markWord(w uint64, first int) { m.markWords([]uint64{w}, first) }

// block is a piece of memory that moves.
type block struct{ from, to, size, id uint32 }

// compact frees all objects from the first one on that are not marked.
func (m *Machine) compact(first int) {
	var live []block
	freed := 0
	for id := first; id < len(m.objs); id++ {
		switch o := &m.objs[id]; {
		case m.marks[id]:
			live = append(live, block{from: o.base, size: o.size, id: uint32(id)})
		case o.creator != nobody:
			freed += int(o.size)
			*o = dead
			m.naming.replaced(uint32(id), o)
			if !m.setup {
				m.free = append(m.free, uint32(id))
			}
		}
	}
	if freed == 0 {
		return
	}
	if !m.setup { // else they are sorted
		slices.SortFunc(live, func(a, b block) int { return int(a.from) - int(b.from) })
	}
	// Memory between initial objects does not move.
	at := uint32(0)
	for id := range first {
		o := &m.objs[id]
		at = max(at, o.base+o.size)
	}
	start := at
	for i := range live {
		b := &live[i]
		b.to = at
		if b.from != b.to {
			copy(m.mem[b.to:b.to+b.size], m.mem[b.from:b.from+b.size])
			copy(m.shadow[b.to:b.to+b.size], m.shadow[b.from:b.from+b.size])
			m.objs[b.id].base = b.to
		}
		at += b.size
	}
	if m.setup {
		// Initial ones are found by their addresses.
		end := start
		for id := first; id < len(m.objs); id++ {
			if o := &m.objs[id]; o.creator == nobody {
				o.base = end
			} else {
				end = o.base + o.size
			}
		}
	}
	c := &compaction{live, start, at}
	for i := range m.log {
		switch u := &m.log[i]; u.kind {
		case undoWord, undoShadowW, undoShadowR, undoShadowS:
			a, ok := c.moved(u.a, false)
			if !ok { // of an object that is in no state that can come back
				u.kind = undoNothing
				continue
			}
			u.a = a
		}
	}
	for i := range m.tops {
		a, _ := c.moved(uint32(m.tops[i].mem), true)
		m.tops[i].mem = int(a)
	}
	m.fresh, _ = c.moved(m.fresh, true)
	m.mem, m.shadow = m.mem[:at], m.shadow[:at]
	if m.roomy() {
		m.mem, m.shadow = slices.Clone(m.mem), slices.Clone(m.shadow)
	}
}

// compaction is where the live blocks of memory went: those from start on, up to end now.
type compaction struct {
	live       []block
	start, end uint32
}

// moved returns the new address of one; edge: or of what follows it.
func (c *compaction) moved(a uint32, edge bool) (uint32, bool) {
	live := c.live
	if a < c.start {
		return a, true
	}
	i, exact := slices.BinarySearchFunc(live, a, func(b block, a uint32) int {
		return int(b.from) - int(a)
	})
	if !exact && i > 0 && !edge {
		i--
	}
	switch {
	case i == len(live):
		return c.end, edge
	case edge:
		return live[i].to, true
	case a < live[i].from || a >= live[i].from+live[i].size:
		return 0, false
	}
	return live[i].to + a - live[i].from, true
}

// roomy reports whether a large, mostly unused amount of memory is reserved.
func (m *Machine) roomy() bool {
	return cap(m.mem) > 1<<23 && len(m.mem) < cap(m.mem)/4
}

// number returns the number of a new object.
func (m *Machine) number(o object) uint32 {
	if n := len(m.free); n > 0 {
		id := m.free[n-1]
		m.free = m.free[:n-1]
		if int(id) < m.freshObj && !m.setup {
			m.log = append(m.log, undo{kind: undoReuse, a: id})
		}
		if o.creator == loadedBy {
			o.seq = int32(id)
		}
		m.objs[id] = o
		m.naming.replaced(id, &o)
		return id
	}
	m.objs = append(m.objs, o)
	return uint32(len(m.objs) - 1)
}

// forget drops free numbers that no object has.
func (c *collector) forget(objs int) {
	c.free = slices.DeleteFunc(c.free, func(id uint32) bool { return int(id) >= objs })
}

// aborted is the panic of a computation that gets no memory, or must end in the middle of an
// operation; see [Machine.finish].
type aborted struct{}

// chunk is how many words are copied between two checks whether to continue.
const chunk = 1 << 18

// grown returns s followed by n zeros. It panics if the computation must end.
func grown[T any](s []T, n int, halted func() bool) []T {
	l := len(s)
	if l+n <= cap(s) {
		s = s[:l+n]
		for from := l; from < len(s); from += chunk {
			clear(s[from:min(len(s), from+chunk)])
			if from > l && halted() {
				panic(aborted{})
			}
		}
		return s
	}
	room := 2 * l
	if l >= 1<<16 {
		room = l + l/4
	}
	to := make([]T, l+n, max(l+n, room, 64))
	for from := 0; from < l; from += chunk {
		copy(to[from:], s[from:min(l, from+chunk)])
		if from > 0 && halted() {
			panic(aborted{})
		}
	}
	return to
}

// goesOn panics if a long operation on memory must end; i is how many words it has done.
func (m *Machine) goesOn(i int) {
	if i%chunk == chunk-1 && m.sys.halted() {
		panic(aborted{})
	}
}

// caught makes an aborted operation end its computation. It is deferred.
func (m *Machine) caught(out *system.Outcome) {
	v := recover()
	if v == nil {
		return
	}
	if _, ok := v.(aborted); !ok {
		panic(v)
	}
	g := m.cur
	if g.status != failed { // else it was refused
		m.exhausted(g)
	}
	g.frames = g.frames[:0]
	m.out.Kind = system.Moved
	*out = m.out
}

// longLog is how many records a step may have in the log before repeated changes of a word are
// merged.
const longLog = 1 << 21

// shorten drops redundant records of the running step: undoing it ends with the first record of
// a word.
func (m *Machine) shorten() {
	if len(m.log)-m.began < max(longLog, 2*m.shortened) {
		return
	}
	type key struct {
		kind undoKind
		a    uint32
	}
	seen := map[key]bool{}
	left := m.log[:m.began]
	for _, u := range m.log[m.began:] {
		switch u.kind {
		case undoWord, undoShadowW, undoShadowR, undoShadowS:
			if k := (key{u.kind, u.a}); seen[k] {
				continue
			} else {
				seen[k] = true
			}
		}
		left = append(left, u)
	}
	m.log = left
	m.shortened = len(m.log) - m.began
}
