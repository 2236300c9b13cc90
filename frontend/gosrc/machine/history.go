package machine

import (
	"math"
	"slices"

	"cpor/system"
)

// Happens-before as part of states.
//
// A search that stores states finds the races of all executions if after equal states the same
// future accesses race. Vector clocks are only compared: does that goroutine know this access?
// So the number of a tick does not matter, only the order of the ticks of accesses that may
// still be compared: each of these ticks is encoded as its rank among those of its goroutine,
// and each component of a clock as the rank of the last one that it covers. An access that all
// other living goroutines know can no longer race (a new goroutine knows what its creator
// knows), and is omitted; so are the clocks of goroutines that have ended. The rest is finite if
// the program's states are: for each word at most one last write, and a last read by each
// goroutine.
//
// Two states that are equal in this sense have the same futures, including races: every
// comparison by [Machine.before] has the same result in both, and joins, releases and new
// accesses preserve that.

// history reports whether happens-before is part of encoded states.
func (s *System) history() bool { return s.races && s.o.Stored && !s.o.Adjacent }

// Bare implements [system.Remembering]: happens-before is not part of the program's state.
func (s *System) Bare(st system.State) system.State {
	if !s.history() {
		return st
	}
	return st[:len(st)-1-int(st[len(st)-1])]
}

// Ordered implements [system.Remembering].
func (s *System) Ordered() bool { return s.history() }

// remember records that the shadow of a word of the initial memory is about to be set; the
// others are few enough to be searched.
func (m *Machine) remember(a uint32) {
	m.soil(a)
	if a < m.end && m.sys.history() {
		if s := &m.shadow[a]; s.w|s.r|uint64(s.s) == 0 {
			m.marked = append(m.marked, a)
		}
	}
}

// pastWord is a word whose shadow is set.
type pastWord struct {
	ref  uint64 // the word as it is encoded
	addr uint32
}

// rotated returns the offset that a word has in the encoding of its object: a channel
// begins with its oldest value.
func (m *Machine) rotated(id, off uint32, back bool) uint32 {
	o := &m.objs[id]
	if o.kind != chanObj || off < chanSlots {
		return off
	}
	n := uint32(m.mem[o.base+chanCap])
	if n == 0 {
		return off
	}
	head := uint32(m.mem[o.base+chanHead])
	if !back {
		head = n - head
	}
	size := uint32(1 + o.typ.Size)
	at := off - chanSlots
	return chanSlots + (at/size+head)%n*size + at%size
}

// pastWords returns the words whose shadows are set, in the order of their encoding.
func (e *encoder) pastWords() []pastWord {
	m := e.m
	var words []pastWord
	add := func(id, as, off uint32) {
		words = append(words, pastWord{uint64(as)<<32 | uint64(m.rotated(id, off, false)),
			m.objs[id].base + off})
	}
	for _, a := range m.marked {
		id, _ := slices.BinarySearchFunc(m.objs[1:e.first], a, func(o object, a uint32) int {
			if o.base+o.size <= a {
				return -1
			}
			return 1
		})
		add(uint32(id+1), uint32(id+1), a-m.objs[id+1].base)
	}
	for k, id := range e.list {
		o := &m.objs[id]
		for off := range o.size {
			if s := &m.shadow[o.base+off]; s.w|s.r|uint64(s.s) != 0 {
				add(id, uint32(e.first+k), off)
			}
		}
	}
	slices.SortFunc(words, func(x, y pastWord) int {
		if x.ref < y.ref {
			return -1
		}
		return 1
	})
	return words
}

// history writes happens-before, and its number of words.
func (e *encoder) history() {
	m := e.m
	from := len(e.dst)
	words := e.pastWords()
	known := m.knownToAll()
	ticks := make([][]uint32, len(m.gors))
	some := false
	epochs := func(r uint64, f func(u int, tick uint32)) {
		each := func(u int, tick uint32) {
			if tick > 0 && tick > known[u] {
				f(u, tick)
			}
		}
		switch {
		case r == 0:
		case r&manyReads == 0:
			each(int(r>>32)-1, uint32(r))
		default:
			for u, x := range m.clock(uint32(r)) {
				each(u, x)
			}
		}
	}
	note := func(u int, tick uint32) {
		ticks[u] = append(ticks[u], tick)
		some = true
	}
	for _, w := range words {
		s := &m.shadow[w.addr]
		epochs(s.w, note)
		epochs(s.r, note)
	}
	if !some {
		e.word(0)
		return
	}
	for u := range ticks {
		slices.Sort(ticks[u])
		ticks[u] = slices.Compact(ticks[u])
	}
	clock := func(h uint32, self int) {
		at := len(e.dst)
		e.word(0)
		c := m.clock(h)
		for _, n := range e.order {
			if int(n) == self || int(n) >= len(c) {
				continue
			}
			rank, same := slices.BinarySearch(ticks[n], c[n])
			if same {
				rank++
			}
			if rank > 0 {
				e.dst[at]++
				e.word(uint64(e.place[n])<<32 | uint64(rank))
			}
		}
	}
	for _, n := range e.order {
		if g := m.gors[n]; g.status == alive {
			clock(g.clock, int(n))
			clock(g.reset, -1)
		}
	}
	access := func(u int, tick uint32) {
		rank, _ := slices.BinarySearch(ticks[u], tick)
		e.word(uint64(e.place[int32(u)])<<32 | uint64(rank+1))
	}
	for _, w := range words {
		s := &m.shadow[w.addr]
		at := len(e.dst)
		e.word(w.ref, 0)
		epochs(s.w, access)
		writes := len(e.dst) - at - 2
		epochs(s.r, access)
		reads := len(e.dst) - at - 2 - writes
		e.dst[at+1] = uint64(writes)<<32 | uint64(reads)
		clock(s.s, -1)
		if len(e.dst) == at+3 {
			e.dst = e.dst[:at]
		}
	}
	e.word(uint64(len(e.dst) - from))
}

// knownToAll returns, by goroutine, its last tick that all other living ones know.
func (m *Machine) knownToAll() []uint32 {
	known := make([]uint32, len(m.gors))
	for u := range known {
		known[u] = math.MaxUint32
		for _, g := range m.gors {
			if g.status != alive || int(g.number) == u {
				continue
			}
			c := m.clock(g.clock)
			if u >= len(c) {
				known[u] = 0
				break
			}
			known[u] = min(known[u], c[u])
		}
	}
	return known
}

// history reads it; numbers are the goroutines.
func (d *decoder) history(numbers []int32) {
	m := d.m
	for _, g := range m.gors {
		g.tick = 1
	}
	end := len(d.s) - 1
	if d.s[end] == 0 {
		return
	}
	epoch := func() (u int32, rank uint32) {
		w := d.next()
		return numbers[w>>32], uint32(w)
	}
	clock := func() uint32 {
		n := d.next()
		if n == 0 {
			return 0
		}
		h, c := m.newClock(len(m.gors))
		for range n {
			u, rank := epoch()
			c[u] = rank
		}
		return h
	}
	for _, n := range numbers {
		if g := m.gors[n]; g.status == alive {
			g.gstate.clock, g.reset = clock(), clock()
		}
	}
	for d.at < end {
		ref, count := d.next(), d.next()
		id := uint32(ref >> 32)
		a := m.objs[id].base + m.rotated(id, uint32(ref), true)
		m.remember(a)
		last := func() uint64 {
			u, rank := epoch()
			g := m.gors[u]
			g.tick = max(g.tick, rank+1)
			return uint64(u+1)<<32 | uint64(rank)
		}
		w, r := uint64(0), uint64(0)
		if count>>32 > 0 {
			w = last()
		}
		switch reads := uint32(count); reads {
		case 0:
		case 1:
			r = last()
		default:
			h, c := m.newClock(len(m.gors))
			for range reads {
				x := last()
				c[x>>32-1] = uint32(x)
			}
			r = manyReads | uint64(h)
		}
		sync := clock()
		s := &m.shadow[a]
		s.w, s.r, s.s = w, r, sync
	}
}
