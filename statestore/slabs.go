package statestore

import (
	"math"
	"runtime"
	"sync/atomic"
	"unsafe"

	"cpor/internal/probe"
)

// slab is the storage of one shard. It is a cache line long: a look-up reads this
// line and one of the slots'.
type slab[T uint32 | uint64] struct {
	slots   []T
	limit   int64  // count at which it grows
	mask    uint32 // an insertion is counted if the masked hash bits are 0
	growing atomic.Bool
	// kept counts for each line the entries that are in a log, which come first in it (see
	// SaveStates); nil: none. It changes only while no session works.
	kept  *[]uint8
	count atomic.Int64
	next  atomic.Pointer[slab[T]]
}

// lineOf returns how many slots of a type make a line, which is a cache line.
func lineOf[T uint32 | uint64]() int {
	var slot T
	return 64 / int(unsafe.Sizeof(slot))
}

func (s *slab[T]) lines() uint64 { return uint64(len(s.slots)) / uint64(lineOf[T]()) }

func (s *slab[T]) bytes() int {
	return cap(s.slots)*64/lineOf[T]() + int(unsafe.Sizeof(*s)) + keptBytes(s.kept)
}

// sized sets what follows from the number of slots.
func (s *slab[T]) sized(slots int) {
	s.limit = int64(maxLoad * float64(slots))
	if slots >= sampleSlots {
		s.mask = sampleRate - 1
	}
}

// newSlab returns a slab of at least that many lines: as many as fit into the
// memory block which the allocator has for it.
func newSlab[T uint32 | uint64](lines int) *slab[T] {
	line := lineOf[T]()
	slots := append([]T(nil), make([]T, lines*line)...)
	s := &slab[T]{slots: slots[:cap(slots)/line*line]}
	s.sized(len(s.slots))
	return s
}

// nextLines returns the size for a shard that has outgrown a slab of that many lines: twice as
// many, or the next number of a geometric series, which is shifted from shard to shard by its
// phase, a number from 0 to 1. So the shards do not grow at the same time. The series of large ones
// has that factor.
func nextLines(phase, factor float64, lines uint64) int {
	if lines < doubling {
		return 2 * int(lines)
	}
	if lines < halving {
		factor = max(factor, 1.5)
	}
	lg := math.Log2(factor)
	j := math.Floor(math.Log2(float64(lines))/lg-phase) + 1
	n := int(math.Exp2((j + phase) * lg))
	// Never less than half a step, which the rounding of block sizes can cause.
	return max(n, int(lines)+1, int(float64(lines)*(1+(factor-1)/2)))
}

// shards are the slabs of a table, which grow one by one; [table] says how.
type shards[T uint32 | uint64] struct {
	dir    []atomic.Pointer[slab[T]] // one slab for each shard; nil: nothing inserted yet
	unit   float64                   // 1/len(dir)
	growth float64                   // the factor by which large slabs grow
	ledger *ledger
	// fill freezes s and copies its entries to ns, which no other worker knows yet. It returns
	// the number of entries.
	fill func(s, ns *slab[T]) int64
}

// newShards returns 1<<bits shards.
func newShards[T uint32 | uint64](bits int, l *ledger, fill func(s, ns *slab[T]) int64) shards[T] {
	l.take(8<<bits, true)
	dir := make([]atomic.Pointer[slab[T]], 1<<bits)
	return shards[T]{dir, 1 / float64(len(dir)), growth, l, fill}
}

// slabOf returns the shard's slab, which it makes if there is none. It returns
// nil if there is no memory for one.
func (t *shards[T]) slabOf(shard uint64, force bool) *slab[T] {
	if s := t.dir[shard].Load(); s != nil {
		return s
	}
	s := newSlab[T](1)
	if t.ledger.take(s.bytes(), force) && !t.dir[shard].CompareAndSwap(nil, s) {
		t.ledger.give(s.bytes())
	}
	return t.dir[shard].Load()
}

// latest returns the slab that a shard has, nil if it has none.
func (t *shards[T]) latest(shard uint64) *slab[T] {
	s := t.dir[shard].Load()
	if s != nil {
		for next := s.next.Load(); next != nil; next = s.next.Load() {
			s = next
		}
	}
	return s
}

// counted counts an insertion, or a sampled one for several, and makes the slab
// grow if that is due. Without memory it does not grow, and gets fuller.
func (t *shards[T]) counted(shard uint64, s *slab[T]) {
	probe.Write(probe.TableCount, unsafe.Pointer(&s.count))
	if s.count.Add(int64(s.mask)+1) > s.limit && s.growing.CompareAndSwap(false, true) {
		if !t.enlarge(shard, s, false) {
			s.growing.Store(false)
		}
	}
}

// await waits until a slab that is being frozen has a next one, or makes it.
func (t *shards[T]) await(shard uint64, s *slab[T]) {
	t.ledger.waits.Inc()
	for range patience + len(s.slots)/64 {
		if s.next.Load() != nil {
			return
		}
		probe.Pause()
		runtime.Gosched()
	}
	// Who has frozen it has taken the memory that it needs.
	t.enlarge(shard, s, true)
}

// enlarge gives s a next slab with all its entries, if it has none yet. It returns false if there
// is no memory.
func (t *shards[T]) enlarge(shard uint64, s *slab[T], force bool) bool {
	if s.next.Load() != nil {
		return true
	}
	ns := newSlab[T](nextLines(float64(shard)*t.unit, t.growth, s.lines()))
	if s.kept != nil {
		ns.kept = newKept(int(ns.lines()))
	}
	if !t.ledger.take(ns.bytes(), force) {
		return false
	}
	ns.count.Store(t.fill(s, ns))
	if !s.next.CompareAndSwap(nil, ns) {
		t.ledger.give(ns.bytes())
		return true
	}
	t.ledger.grows.Inc()
	// The shard's slab is s, or an older one if another worker has been stopped
	// just here.
	for {
		s := t.dir[shard].Load()
		next := s.next.Load()
		if next == nil {
			return true
		}
		if t.dir[shard].CompareAndSwap(s, next) {
			t.ledger.give(s.bytes())
		}
	}
}

// slots returns how many slots there are.
func (t *shards[T]) slots() (n uint64) {
	for i := range t.dir {
		if s := t.dir[i].Load(); s != nil {
			n += uint64(len(s.slots))
		}
	}
	return n
}

// bytes returns the memory that the slabs hold.
func (t *shards[T]) bytes() (n uint64) {
	n = uint64(8 * len(t.dir))
	for i := range t.dir {
		if s := t.dir[i].Load(); s != nil {
			n += uint64(s.bytes())
		}
	}
	return n
}

// archive reads or writes the sizes of all slabs, without their entries.
func (t *shards[T]) archive(a *archive) {
	line := lineOf[T]()
	for shard := range t.dir {
		n := 0
		if s := t.latest(uint64(shard)); s != nil {
			n = len(s.slots)
		}
		n = a.size(n, line)
		if !a.reading() || a.err != nil || n == 0 {
			continue
		}
		s := new(slab[T])
		s.sized(n)
		if !t.ledger.take(n*64/line+s.bytes(), false) {
			a.err = ErrFull
			return
		}
		s.kept = newKept(n / line)
		t.ledger.take(keptBytes(s.kept), true) // what fit before must fit again
		s.slots = make([]T, n)
		t.dir[shard].Store(s)
	}
}

// writeEntries writes the entries that are not in a log, or all, in sections of a kind.
func (t *shards[T]) writeEntries(w *stateWriter, kind byte, all bool) {
	var fresh []T
	for shard := range t.dir {
		s := t.latest(uint64(shard))
		if s == nil || w.err != nil {
			continue
		}
		fresh = appendNew(fresh[:0], s.slots, s.kept, lineOf[T](), all)
		if len(fresh) > 0 {
			w.section(kind, uint64(shard), uint64(len(fresh)))
			w.bytes(asBytes(fresh))
		}
	}
}

// keep notes that all entries are in a log.
func (t *shards[T]) keep() {
	for shard := range t.dir {
		s := t.latest(uint64(shard))
		if s == nil {
			continue
		}
		if s.kept == nil {
			s.kept = newKept(int(s.lines()))
			t.ledger.take(keptBytes(s.kept), true)
		}
		keepAll(s.slots, s.kept, lineOf[T]())
	}
}

// readEntries reads a section into buf, which it makes larger if need be, and puts its entries
// where place says, which reports whether they can be. It returns how many there are.
func (t *shards[T]) readEntries(r *stateReader, buf *[]T, place func(s *slab[T], e T) bool) uint64 {
	s := t.dir[r.number(uint64(len(t.dir)-1))].Load()
	if s == nil {
		r.wrong("a shard that cannot be")
		return 0
	}
	n := r.number(uint64(len(s.slots)))
	if uint64(cap(*buf)) < n {
		*buf = make([]T, n)
	}
	entries := (*buf)[:n]
	r.bytes(asBytes(entries))
	if r.err != nil {
		return 0
	}
	for _, e := range entries {
		if !place(s, e) {
			r.wrong("an entry that cannot be")
			return 0
		}
	}
	return n
}
