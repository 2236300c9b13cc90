package statestore

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"

	"cpor/internal/prefetch"
	"cpor/internal/probe"
)

// A table is a lock-free set of 64-bit entries that grows while it is used. It is the table of
// states of the Tree store and the index of the Plain store.
//
// # Entries
//
// An entry has a hash part, its high bits, and a low part, which is not 0. The hash part decides
// where the entry is stored; the low part is payload (a parent's fragment, an address). An empty
// slot is 0. The position of an entry shows its shard, so the bits of the hash that choose the
// shard are not stored, which leaves room for the payload (quotienting, Cleary 1984, as in LTSmin's
// compact tables, but by whole shards, so that an entry needs no bookkeeping of its displacement).
//
// # Places
//
// The table is split into shards. A shard is one slab: an array of lines of eight slots, 64 bytes,
// one cache line. The line of an entry is its hash part scaled to the number of lines, so a slab
// can have any number of lines, and the order of the entries by line is the same in slabs of all
// sizes. An entry goes to the first free slot from its line's first slot on, continuing over the
// next lines and from the last to the first. Entries are never removed. So an entry is in the set
// if and only if it is before the first free slot of its path.
//
// # Insertion
//
// Insertion is one compare-and-swap from 0 to the entry, which makes the entry complete: no worker
// ever sees a part of it. A worker that loses the compare-and-swap looks at the slot again. If it
// now holds an equal entry, the worker has found what it was looking for; if it holds another one,
// the path continues after it.
//
// # Growth
//
// A shard grows alone, when its slab is nine tenths full, by a factor of about growth, so little
// memory is free at any time; a smaller one grows by half, the smallest double. The sizes of the
// shards are staggered, so they do not all grow at the same moment: the load of the whole table is
// the average over a step, not its worst point.
//
//  1. A worker that finds the slab s too full takes the memory for a bigger one
//     from the ledger. If it does not get it, s stays and fills up further.
//  2. It freezes the lines of s in turn: it sets the first empty slot of a line to
//     frozen by a compare-and-swap, which fails if an entry gets there first; then
//     it tries the next slot. After that the line does not change any more: a path
//     gets to a slot only over the slots before it in the line, and ends at the
//     first that has no entry.
//  3. It copies the entries of each line that it has frozen to a new slab. No other
//     worker knows that slab yet, so this takes no atomic operations. The order of
//     the entries is nearly that of the new slab's lines, so this is a walk through
//     both.
//  4. It sets s.next to the new slab by a compare-and-swap from nil, and then
//     makes it the shard's slab.
//
// Meanwhile the others continue to use s. What is in s stays in s and is found there. A worker that
// meets a frozen slot knows that its entry is not in s and cannot get into s any more, because
// every worker that looks for it meets the same slot. So it continues in s.next, where the same
// rules hold. So of all workers that insert equal entries exactly one succeeds, at any time.
//
// If s.next is still nil then, the worker waits a little until the other one is done, which takes
// microseconds for a million states. If the operating system has stopped the other one, it does
// steps 2 to 4 itself: several workers can do that at once, because the compare-and-swap of step 4
// chooses one of the equal copies. So some worker makes progress at any time, whichever is stopped
// where.
type table struct {
	shards[uint64]
	lowBits int
	low     uint64 // mask of the low part
	// The memory for which huge pages have been requested, see advise: numbers of arenas and
	// pages.
	advised, collapsed sync.Map
}

const (
	lineSlots = 8
	// growth is the factor by which a slab grows if nothing else is said. A small one keeps memory
	// tight and costs copying: an entry is copied 1/(growth-1) times in all.
	growth = 1.25
	// halving is the number of lines from which a slab grows by that factor. Smaller ones grow by
	// half: below about two million states, a byte a state is less than copying them costs.
	halving = 256
	// doubling is the number of lines below which a slab doubles: below about 60,000 states there
	// is no memory to be saved.
	doubling = 8
	// maxLoad is the share of slots in use at which a slab grows.
	maxLoad = 0.9
	// sampleSlots is the size from which a slab counts only every
	// sampleRate-th insertion, chosen by hash, to spare the workers a shared
	// counter; the error is below a percent or two there.
	sampleSlots = 4096
	sampleRate  = 8
	// farLines is the distance from its line at which no entry is put: the slab
	// has to grow, or, without memory, the table is full. So searches stay short.
	farLines = 16
	// hugeSlots is the size from which a table's slabs should be in huge pages. With a look-up in
	// each of many small ones the processor spends more time on finding pages than lines. To make a
	// huge page of small ones takes about a millisecond.
	hugeSlots = 1 << 17
	// patience is how often a worker lets others run before it takes over a
	// slab's growth, besides the time that the slab's size justifies.
	patience = 64
)

// newTable returns a table of 1<<shardBits shards whose entries have a low part
// of lowBits bits.
func newTable(shardBits, lowBits int, l *ledger) *table {
	t := &table{lowBits: lowBits, low: 1<<lowBits - 1}
	t.shards = newShards(shardBits, l, t.fill)
	return t
}

// insert adds entry e to a shard. It returns 0 if e was added, or else the entry that represents
// it: the one with the same hash part that was already there. full means that e was not there and
// that there is no memory for it, which does not happen with force.
//
// If m is not nil, an entry with the same hash part represents e only if m says so, and m is told
// before e is added.
func (t *table) insert(shard, e uint64, force bool, m *matcher) (old uint64, full bool) {
	probe.Read(probe.TableDir, unsafe.Pointer(&t.dir[shard]))
	s := t.dir[shard].Load()
	if s == nil {
		if s = t.slabOf(shard, force); s == nil {
			return 0, true
		}
	}
	low := t.low
	frozen := low + 1
	for {
		probe.Read(probe.TableHead, unsafe.Pointer(s))
		lines := s.lines()
		i, _ := bits.Mul64(e&^low, lines)
	path:
		for n := uint64(0); ; n++ {
			if n == farLines || n == lines {
				// Far from its line, or no free slot: the slab is too full.
				if t.enlarge(shard, s, force) {
					break path
				}
				// There is no memory. Is e there anyway?
				old, ok := t.find(shard, e, m)
				return old, !ok
			}
			line := (*[lineSlots]uint64)(s.slots[i*lineSlots:])
			probe.Read(probe.Table, unsafe.Pointer(line))
			for j := range line {
				v := atomic.LoadUint64(&line[j])
				if v == 0 {
					if m != nil {
						m.write()
					}
					probe.Write(probe.Table, unsafe.Pointer(line))
					if atomic.CompareAndSwapUint64(&line[j], 0, e) {
						// The high bits place the entry, so sample by the lowest.
						if uint32(e>>t.lowBits)&s.mask == 0 {
							t.counted(shard, s)
						}
						return 0, false
					}
					t.ledger.failedCAS.Inc()
					v = atomic.LoadUint64(&line[j])
				}
				if (v^e)&^low == 0 && v&low != 0 && (m == nil || m.is(v&low)) {
					return v, false
				}
				if v == frozen {
					t.await(shard, s)
					break path
				}
			}
			if i++; i == lines {
				i = 0
			}
		}
		s = s.next.Load()
	}
}

// approach begins to load a shard's slab into the cache.
func (t *table) approach(shard uint64) {
	if s := t.dir[shard].Load(); s != nil {
		probe.Touch(probe.TableHead, unsafe.Pointer(s))
		prefetch.Line(unsafe.Pointer(s))
	}
}

// touch begins to load the line where an entry belongs into the cache.
func (t *table) touch(shard, e uint64) {
	if s := t.dir[shard].Load(); s != nil {
		i, _ := bits.Mul64(e&^t.low, s.lines())
		probe.Touch(probe.Table, unsafe.Pointer(&s.slots[i*lineSlots]))
		prefetch.Line(unsafe.Pointer(&s.slots[i*lineSlots]))
	}
}

// archive is [shards.archive], with huge pages.
func (t *table) archive(a *archive) {
	t.shards.archive(a)
	for i := range t.dir {
		if s := t.dir[i].Load(); a.reading() && s != nil && t.wantsHuge(s) {
			t.advise(unsafe.Pointer(&s.slots[0]))
		}
	}
}

// wantsHuge reports whether a slab should be in huge pages, if the others are as large.
func (t *table) wantsHuge(s *slab[uint64]) bool { return len(s.slots)*len(t.dir) >= hugeSlots }

// fill is the table's [shards.fill]. In each line of ns the kept entries come first, as in s.
func (t *table) fill(s, ns *slab[uint64]) (n int64) {
	if t.wantsHuge(ns) {
		t.advise(unsafe.Pointer(&ns.slots[0]))
	}
	frozen := t.low + 1
	lines := ns.lines()
	taken := make([]uint8, lines) // slots, in the lines of ns
	for k := uint64(0); k < uint64(len(s.slots)); k += lineSlots {
		line := (*[lineSlots]uint64)(s.slots[k:])
		probe.Write(probe.Table, unsafe.Pointer(line))
		for j := range line {
			e := atomic.LoadUint64(&line[j])
			if e == 0 && !atomic.CompareAndSwapUint64(&line[j], 0, frozen) {
				e = atomic.LoadUint64(&line[j])
			}
			if e == 0 || e == frozen {
				break
			}
			i, _ := bits.Mul64(e&^t.low, lines)
			for taken[i] == lineSlots {
				if i++; i == lines {
					i = 0
				}
			}
			at := i*lineSlots + uint64(taken[i])
			taken[i]++
			n++
			if s.kept != nil && j < int((*s.kept)[k/lineSlots]) {
				at = keepFirst(ns.slots, ns.kept, i, lineSlots, at)
			}
			ns.slots[at] = e
		}
	}
	return n
}

// find returns the entry with e's hash part that m, if not nil, accepts.
func (t *table) find(shard, e uint64, m *matcher) (uint64, bool) {
	low := t.low
	frozen := low + 1
	for s := t.dir[shard].Load(); s != nil; s = s.next.Load() {
		lines := s.lines()
		i, _ := bits.Mul64(e&^low, lines)
	path:
		for n := uint64(0); n < lines; n++ {
			line := (*[lineSlots]uint64)(s.slots[i*lineSlots:])
			for j := range line {
				v := atomic.LoadUint64(&line[j])
				if v == 0 {
					return 0, false
				}
				if (v^e)&^low == 0 && v&low != 0 && (m == nil || m.is(v&low)) {
					return v, true
				}
				if v == frozen {
					break path
				}
			}
			if i++; i == lines {
				i = 0
			}
		}
	}
	return 0, false
}

// scan calls yield for the entries of a shard whose hash part is at least lo and
// at most hi, until it returns false. While the shard grows it can yield an
// entry twice.
func (t *table) scan(shard, lo, hi uint64, yield func(e uint64) bool) {
	frozen := t.low + 1
	for s := t.dir[shard].Load(); s != nil; s = s.next.Load() {
		lines := s.lines()
		i, _ := bits.Mul64(lo&^t.low, lines)
		last, _ := bits.Mul64(hi&^t.low, lines)
		// Entries that did not fit into the last line follow it, up to the first free slot.
		behind := last - i
	path:
		for n := uint64(0); n < lines; n++ {
			for j := range uint64(lineSlots) {
				v := atomic.LoadUint64(&s.slots[i*lineSlots+j])
				if v == 0 || v == frozen {
					if n >= behind {
						break path
					}
					break // the rest of this line is free, too
				}
				if h := v &^ t.low; h >= lo&^t.low && h <= hi&^t.low {
					if !yield(v) {
						return
					}
				}
			}
			if i++; i == lines {
				i = 0
			}
		}
	}
}

// stats adds the table's figures.
func (t *table) stats(s *Stats) {
	s.Slots += t.slots()
	t.ledger.events(s)
	if s.Slots > 0 {
		s.Load = float64(s.States) / float64(s.Slots)
	}
}
