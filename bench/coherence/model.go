// Package coherence predicts how a parallel search scales on a machine with more processors than
// this one. It runs the real search with N workers, one of them at a time, each with a clock of
// its own, and charges what the workers cost each other:
//
//	costs := coherence.Calibrate(ctx)
//	meter := coherence.NewMeter()
//	meter.Watch(func() { search(1) })          // how long a worker works between accesses
//	segments, _ := meter.Segments()
//	sim := coherence.NewSimulation(64, costs, segments)
//	sim.Watch(func() { search(64) })
//	fmt.Println(sim.Result().Time)
//
// # Local work
//
// The search announces each access to shared memory (package internal/probe). What a worker does
// from one access to the next is local work. A [Meter] times it in a search with one worker, by
// the two sites and by whether it holds a lock: a segment. In a simulation, each segment takes the
// mean time of its kind. This includes the first access itself, with the cache misses that a single
// worker also has. So the simulation charges only what other workers add.
//
// How often a worker looks into the store's tables while it expands a state depends on what it has
// looked up before, and so on the number of workers. If the long work of expanding were part of the
// segments that end there, their mean times would be charged too often or too rarely. So the search
// also announces where it calls the store and where it continues, without an access. Every search
// with the same states and moves is charged the same work of expanding.
//
// # Coherence
//
// A processor can read a cache line that it has a copy of, and write one of which it has the only
// copy. Otherwise the line comes from another processor's cache, or other copies become invalid,
// and the line is busy meanwhile (protocol MESI; Papamarcos and Patel, ISCA 1984):
//
//   - A read of a line of which the worker has a copy, and a write of a line of which it has the
//     only one, cost nothing, but a write waits until the line is not busy.
//   - A read of a line that another worker has written takes [Costs].Transfer, and so does each
//     write of a line of which others have copies. Such accesses wait for each other.
//   - A read of a line that others have only read takes as long, but does not wait.
//   - If [Costs].CacheLines accesses to other lines have come since the last access to the line,
//     a single worker would also have missed it. Then the charge is what a transfer takes longer
//     than memory.
//   - A line that was prefetched is charged what is left of the transfer.
//   - A lock is a line, and whoever finds it taken waits for its holder.
//
// # Order
//
// The worker whose clock is the earliest goes next, so accesses happen in the order of the
// simulated time, in the model as in the search. The search is the real one: which worker finds a
// state first, who steals what, and who waits for whom follow from the clocks.
//
// # What is not modeled
//
// The memory's bandwidth, the garbage collector and allocator, distances between processors, and
// processors that slow down when all are busy. Accesses that are not announced count as local work.
// Where these matter, the predicted speed-up is too high.
package coherence

import (
	"time"
	"unsafe"

	"cpor/internal/probe"
)

// Costs are a machine's.
type Costs struct {
	// Transfer is how long a line takes from one processor's cache to another's, or to make
	// other copies invalid.
	Transfer time.Duration `json:"transfer_ns"`
	// Memory is how long a line takes from memory, or a cache that all share.
	Memory time.Duration `json:"memory_ns"`
	// Pause is how long runtime.Gosched takes, and Wake how long a goroutine that slept takes
	// to run.
	Pause time.Duration `json:"pause_ns"`
	Wake  time.Duration `json:"wake_ns"`
	// CacheLines is how many lines the processor's own cache holds.
	CacheLines int `json:"-"`
}

// lineSize is what processors transfer at a time, in bytes.
const lineSize = 64

// mostWorkers is how many workers a set of copies has room for.
const mostWorkers = 64

// line is a cache line.
type line struct {
	copies  uint64 // the workers that have one
	written bool   // since the last read of another worker: the copy is the only right one
	used    uint64 // when it was last accessed, counting accesses
	free    time.Duration
}

// memory is all cache lines, by number.
type memory struct {
	costs Costs
	place map[uintptr]uint32 // of a line in lines
	lines []line
	count uint64 // accesses so far
	// arriving says for each worker when the lines arrive that it has asked for.
	arriving []map[uintptr]time.Duration
}

func newMemory(workers int, costs Costs) *memory {
	m := &memory{costs: costs, place: map[uintptr]uint32{}}
	for range workers {
		m.arriving = append(m.arriving, map[uintptr]time.Duration{})
	}
	return m
}

// charge is what an access costs a worker beyond local work.
type charge struct {
	transfer time.Duration // for the line to come, or other copies to go
	wait     time.Duration // until the line was not busy
	moved    bool          // there was a transfer
}

func (c charge) total() time.Duration { return c.transfer + c.wait }

// at returns the number of the line that holds p.
func at(p unsafe.Pointer) uintptr { return uintptr(p) / lineSize }

// access is worker w's access to a line at a time. Times must not decrease.
func (m *memory) access(w int, n uintptr, write bool, now time.Duration) charge {
	if when, ok := m.arriving[w][n]; ok {
		delete(m.arriving[w], n)
		if l := &m.lines[m.place[n]]; l.copies&(1<<w) != 0 && !write {
			// It is on its way, unless somebody has written it since.
			m.count++
			l.used = m.count
			return charge{transfer: max(0, when-now)}
		}
	}
	return m.move(w, n, write, now)
}

// touch is worker w's request for a line that it will access later. It reports whether there is a
// transfer.
func (m *memory) touch(w int, n uintptr, now time.Duration) bool {
	c := m.move(w, n, false, now)
	if c.total() > 0 {
		m.arriving[w][n] = now + c.total()
	}
	return c.moved
}

// move brings a line to where worker w can access it.
func (m *memory) move(w int, n uintptr, write bool, now time.Duration) charge {
	m.count++
	i, ok := m.place[n]
	if !ok {
		// Nobody has used it. A single worker would fetch it as well.
		m.place[n] = uint32(len(m.lines))
		m.lines = append(m.lines, line{copies: 1 << w, written: write, used: m.count})
		return charge{}
	}
	l := &m.lines[i]
	cost := m.costs.Transfer
	if m.count-l.used > uint64(m.costs.CacheLines) {
		cost = max(0, cost-m.costs.Memory)
	}
	l.used = m.count
	own, others := l.copies&(1<<w) != 0, l.copies&^(1<<w) != 0
	var c charge
	switch {
	case own && !write:
		return c
	case own && !others:
		c.wait = max(0, l.free-now)
		l.written = true
		return c
	case write || l.written:
		c = charge{transfer: cost, wait: max(0, l.free-now), moved: true}
		l.free = now + c.total()
	default:
		c = charge{transfer: cost, moved: true}
	}
	if l.written = write; write {
		l.copies = 0
	}
	l.copies |= 1 << w
	return c
}

// Segment is the local work between two accesses in a row, with a lock held or not: the same
// accesses come from different places then.
type Segment struct {
	From, To probe.Site
	Locked   bool
}

// Segments are the mean times of local work. The time of a segment that is not there is 0.
type Segments map[Segment]time.Duration

// table has something for each segment.
type table[T any] [2][probe.Sites][probe.Sites]T

// at returns the entry of a segment with that many locks held.
func (t *table[T]) at(from, to probe.Site, locks int) *T { return &t[min(locks, 1)][from][to] }
