package lockset

import (
	"encoding/binary"
	"slices"

	"cpor/system"
	"cpor/testkit/sabotage"
)

// order is what HB remembers of the accesses to a location: an interned history,
// or one of the first two.
type order uint32

const (
	untouched order = iota
	raced           // a race was reported; nothing more is said about the location
)

// how is in which way a step accessed a location.
type how uint8

const (
	readIndivisibly how = iota
	reads
	writesIndivisibly
	writes
)

// conflicts reports whether two accesses of different threads to a location are a race if
// nothing orders them. Two indivisible ones are not.
func (h how) conflicts(o how) bool {
	write := h >= writesIndivisibly || o >= writesIndivisibly
	plain := h == reads || h == writes || o == reads || o == writes
	return write && plain
}

// covers reports whether whatever conflicts with o conflicts with h.
func (h how) covers(o how) bool {
	switch h {
	case writes:
		return true
	case reads, writesIndivisibly:
		return o == h || o == readIndivisibly
	}
	return o == h
}

// knower is a thread or an object: 2t, or 2(object+slot)+1.
type knower uint32

func threadKnower(t int) knower { return knower(t) << 1 }

func objectKnower(object system.Loc, slot int) knower {
	return knower(int(object)+slot)<<1 | 1
}

// known is an access, and which threads know of it: what they do from now on
// happens after it. An object knows of it if whoever acquires the object will.
// These are the locksets of Goldilocks (Elmas, Qadeer, Tasiran, PLDI 2007), and
// say the same as a vector clock of each thread and object compared with the
// access's, without numbers that grow.
type known struct {
	how how
	by  []knower // ascending
}

func (k *known) knows(x knower) bool {
	_, ok := slices.BinarySearch(k.by, x)
	return ok
}

// histories interns what is known of locations.
type histories struct{ interned[string, []known] }

func newHistories() *histories {
	h := new(histories)
	for _, key := range []string{"untouched", "raced"} { // no keys of others
		h.interned.of(key, func() []known { return nil })
	}
	return h
}

func (h *histories) get(o order) []known { return h.all()[o] }

// of returns the number of a history, which may be changed afterwards, but not
// what it points to.
func (h *histories) of(ks []known) order {
	if len(ks) == 0 {
		return untouched
	}
	slices.SortFunc(ks, func(a, b known) int {
		if a.how != b.how {
			return int(a.how) - int(b.how)
		}
		return slices.Compare(a.by, b.by)
	})
	ks = slices.CompactFunc(ks, func(a, b known) bool {
		return a.how == b.how && slices.Equal(a.by, b.by)
	})
	var key []byte
	for _, k := range ks {
		key = append(key, byte(k.how))
		key = binary.AppendUvarint(key, uint64(len(k.by)))
		for _, x := range k.by {
			key = binary.AppendUvarint(key, uint64(x))
		}
	}
	return order(h.interned.of(string(key), func() []known { return slices.Clone(ks) }))
}

// opKind is what happens to a history.
type opKind uint8

const (
	tell    opKind = iota // who knows what a knows, b knows now
	rotate                // slot i+1 of the channel at a, with b slots, is slot i now
	forget                // thread a has ended
	settle                // what all threads of the mask (a, b) know cannot race any more
	touched               // thread b accesses the location in way a, without a race
	test                  // whether that is a race
)

type op struct {
	kind    opKind
	a, b, c uint32
}

// orders is a machine's view of histories, with a memory of its own.
type orders struct {
	*histories
	memo map[memoKey]order
}

type memoKey struct {
	o order
	op
}

// apply returns what an operation makes of a history; of a test, raced or not.
func (c *orders) apply(o order, p op) order {
	if o <= raced && p.kind != touched || o == raced {
		return o
	}
	k := memoKey{o, p}
	if r, ok := c.memo[k]; ok {
		return r
	}
	r := c.compute(o, p)
	c.memo[k] = r
	return r
}

func (c *orders) compute(o order, p op) order {
	from := c.get(o)
	switch p.kind {
	case tell:
		return c.of(informed(from, knower(p.a), knower(p.b)))
	case rotate:
		return c.of(rotated(from, objectKnower(system.Loc(p.a), 0), knower(p.b), knower(p.c)))
	case forget:
		return c.of(forgotten(from, threadKnower(int(p.a))))
	case settle:
		return c.of(unsettled(from, uint64(p.a)|uint64(p.b)<<32))
	case touched:
		return c.of(accessed(from, how(p.a), threadKnower(int(p.b))))
	}
	return tested(from, how(p.a), threadKnower(int(p.b))) // p.kind is test
}

// informed returns a history after b got to know what a knows.
func informed(from []known, a, b knower) []known {
	to := make([]known, 0, len(from)+1)
	for _, k := range from {
		if k.knows(a) && !k.knows(b) {
			at, _ := slices.BinarySearch(k.by, b)
			k.by = slices.Insert(slices.Clone(k.by), at, b)
		}
		to = append(to, k)
	}
	return to
}

// rotated returns a history after the slots of a channel, the first of which is first, have moved:
// slot out is slot in now, and those between have moved up by one.
func rotated(from []known, first, out, in knower) []known {
	to := make([]known, 0, len(from)+1)
	for _, k := range from {
		by := slices.Clone(k.by)
		for i, x := range by {
			if x&1 == 0 || x < first {
				continue
			}
			switch slot := (x - first) / 2; {
			case slot == out:
				by[i] = first + 2*in
			case out < slot && slot <= in:
				by[i] -= 2
			case in <= slot && slot < out:
				by[i] += 2
			}
		}
		slices.Sort(by)
		to = append(to, known{k.how, by})
	}
	return to
}

// forgotten returns a history after a thread has ended.
func forgotten(from []known, thread knower) []known {
	to := make([]known, 0, len(from)+1)
	for _, k := range from {
		by := slices.DeleteFunc(slices.Clone(k.by), func(x knower) bool { return x == thread })
		to = append(to, known{k.how, by})
	}
	return to
}

// unsettled returns what is left of a history without what all threads of a mask know.
func unsettled(from []known, mask uint64) []known {
	to := make([]known, 0, len(from)+1)
	for _, k := range from {
		left := mask
		for _, x := range k.by {
			if x&1 == 0 && x>>1 < 64 {
				left &^= 1 << (x >> 1)
			}
		}
		if left != 0 {
			to = append(to, k)
		}
	}
	return to
}

// accessed returns a history after an access of a thread that does not race.
func accessed(from []known, way how, thread knower) []known {
	to := make([]known, 0, len(from)+1)
	for _, k := range from {
		// An access after k that covers it races with whatever k does.
		if !way.covers(k.how) || !k.knows(thread) {
			to = append(to, k)
		}
	}
	return append(to, known{way, []knower{thread}})
}

// tested returns raced if an access of a thread races with one of a history, otherwise untouched.
func tested(from []known, way how, thread knower) order {
	for _, k := range from {
		if way.conflicts(k.how) && !k.knows(thread) {
			return raced
		}
	}
	return untouched
}

// ordering is what a machine needs to check HB.
type ordering struct {
	orders
	syncs         system.Synchronising
	before, after []op
	// by object with shifts: which slot a slot was when the step began
	shifts map[system.Loc][]int
	// pasts holds the accesses to one location, each with a history of its
	// own, while a trace is explained.
	pasts    []pastOrder
	watch    system.Loc
	watching bool
}

type pastOrder struct {
	past
	how how
	o   order
}

// live returns the threads that exist, have not ended and are not observers; ok
// is false if their numbers do not fit.
func (m *Machine) live() (mask uint64, ok bool) {
	n := m.inner.NumThreads()
	if n > 64 {
		return 0, false
	}
	ended := m.words[len(m.words)-1]
	for t := range n {
		if ended>>t&1 == 0 && !m.sys.obs.Has(t) {
			mask |= 1 << t
		}
	}
	return mask, true
}

// collect sorts what the last step, of thread t, does to histories: the step as
// a whole comes after all that it acquires and before all that it releases.
func (m *Machine) collect(t int) {
	h := m.hb
	self := uint32(threadKnower(t))
	h.before, h.after = h.before[:0], h.after[:0]
	clear(h.shifts)
	for _, s := range h.syncs.Syncs() {
		var object uint32
		if s.Kind == system.Acquire || s.Kind == system.Release {
			slot := s.Slot
			if now := h.shifts[s.Object]; now != nil && !sabotage.Is("order/shifted") {
				slot = now[slot] // as it was numbered when the step began
			}
			object = uint32(objectKnower(s.Object, slot))
		}
		switch s.Kind {
		case system.Acquire:
			h.before = append(h.before, op{kind: tell, a: object, b: self})
		case system.Release:
			h.after = append(h.after, op{kind: tell, a: self, b: object})
		case system.Meet:
			other := uint32(threadKnower(s.Thread))
			h.before = append(h.before, op{kind: tell, a: other, b: self})
			h.after = append(h.after, op{kind: tell, a: self, b: other})
		case system.Create, system.Wake:
			h.after = append(h.after, op{kind: tell, a: self, b: uint32(threadKnower(s.Thread))})
		case system.Shift:
			now := h.shifts[s.Object]
			for len(now) < s.Slots {
				now = append(now, len(now))
			}
			moved := now[s.Slot]
			h.shifts[s.Object] = slices.Insert(slices.Delete(now, s.Slot, s.Slot+1), s.To, moved)
		}
	}
	for _, s := range h.syncs.Syncs() {
		if s.Kind == system.Shift {
			h.after = append(h.after, op{rotate, uint32(s.Object), uint32(s.Slot), uint32(s.To)})
		}
	}
	if _, _, goes := m.inner.Next(t); !goes && t < 64 {
		h.after = append(h.after, op{kind: forget, a: uint32(t), b: 0})
		last := int32(len(m.words) - 1)
		m.log = append(m.log, undo{last, m.words[last]})
		m.put(last, m.words[last]|1<<t)
	}
	if mask, ok := m.live(); ok {
		h.after = append(h.after, op{kind: settle, a: uint32(mask), b: uint32(mask >> 32)})
	}
}

// all applies operations to every history.
func (m *Machine) all(ops []op) {
	if len(ops) == 0 {
		return
	}
	for slot := range m.sys.slots {
		was := order(m.get(int32(slot)))
		if was <= raced {
			continue
		}
		now := was
		for _, p := range ops {
			now = m.hb.apply(now, p)
		}
		if now != was {
			m.set(int32(slot), word(now))
		}
	}
	for i := range m.hb.pasts {
		for _, p := range ops {
			if p.kind != settle && p.kind != forget {
				m.hb.pasts[i].o = m.hb.apply(m.hb.pasts[i].o, p)
			}
		}
	}
}

// inOrder checks the accesses of the last step, of thread t, against what
// happened before it.
func (m *Machine) inOrder(t int) {
	h := m.hb
	m.collect(t)
	m.all(h.before)
	data, indivisible := h.syncs.DataAccesses()
	for _, a := range data {
		if int(a.Loc) >= len(m.sys.slot) || m.sys.slot[a.Loc] < 0 {
			continue
		}
		slot := m.sys.slot[a.Loc]
		was := order(m.get(slot))
		if was == raced {
			continue
		}
		way := reads
		switch {
		case a.Write && indivisible:
			way = writesIndivisibly
		case a.Write:
			way = writes
		case indivisible:
			way = readIndivisibly
		}
		race := h.apply(was, op{kind: test, a: uint32(way), b: uint32(t)}) == raced
		now := raced
		if !race {
			now = h.apply(was, op{kind: touched, a: uint32(way), b: uint32(t)})
		}
		if now != was {
			m.set(slot, word(now))
		}
		if race {
			m.findings = append(m.findings, finding{
				access:  access{thread: t, loc: a.Loc, write: a.Write, held: m.heldIn(t)},
				problem: unordered, how: way})
		}
		if m.record != nil {
			m.record(access{thread: t, loc: a.Loc, write: a.Write, held: m.heldIn(t)}, false)
			if h.watching && a.Loc == h.watch {
				p := &h.pasts[len(h.pasts)-1]
				p.how, p.o = way, h.of([]known{{way, []knower{threadKnower(t)}}})
			}
		}
	}
	m.all(h.after)
}
