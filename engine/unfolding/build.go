package unfolding

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"cpor/system"
)

var errNoPieces = errors.New("an unfolding needs states that split into the parts of single " +
	"threads and single locations, as those of the model language do, not those of Promela and " +
	"Go: use -search stateful or -search stateless")

// builder builds a prefix.
type builder struct {
	*prefix
	workers []*worker
	kept    *histories
	stopped atomic.Bool
	fault   atomic.Pointer[error] // a panic

	levels  map[uint32][]*candidate // by size
	pending int
	// For the report of progress: the events that are dealt with, cut-off or looked for what
	// follows them, and those that are not, in the prefix or candidates.
	done    atomic.Uint64
	waiting atomic.Int64
	turn    func()                     // see engine.Options.Turn
	onEvent func(e uint32) (goOn bool) // told of each event that was added
	onLevel func(size uint32)          // told of each size before its events are added
}

func newBuilder(sys system.System, workers int) (*builder, error) {
	prog, err := newProgram(sys)
	if err != nil {
		return nil, err
	}
	b := &builder{prefix: newPrefix(prog), kept: newHistories(), levels: map[uint32][]*candidate{}}
	for range max(1, workers) {
		b.workers = append(b.workers, newWorker(b.prefix, b.kept, b.stopped.Load))
	}
	return b, nil
}

// parallel calls f for the numbers from 0 to n-1, each on some worker. Each begins with a
// part of its own, so that what follows the events that it had in the last level is mostly
// its own, and then helps the others.
func (b *builder) parallel(n int, f func(w *worker, i int)) {
	var wg sync.WaitGroup
	parts := min(len(b.workers), max(1, (n+minShare-1)/minShare))
	next := make([]struct {
		i atomic.Int64
		_ [56]byte // a cache line each
	}, parts)
	begin := func(part int) int64 { return int64(n) * int64(part) / int64(parts) }
	for p := range next {
		next[p].i.Store(begin(p))
	}
	work := func(own int) {
		defer func() {
			if r := recover(); r != nil {
				err := fmt.Errorf("panic: %v\n%s", r, debug.Stack())
				b.fault.CompareAndSwap(nil, &err)
				b.stopped.Store(true)
			}
		}()
		for p := range parts {
			p = (own + p) % parts
			for end := begin(p + 1); !b.stopped.Load(); {
				i := next[p].i.Add(1) - 1
				if i >= end {
					break
				}
				if b.turn != nil {
					b.turn()
				}
				f(b.workers[own], int(i))
			}
		}
	}
	for own := 1; own < parts; own++ {
		wg.Go(func() { work(own) })
	}
	work(0)
	wg.Wait()
}

// minShare is how much work makes a further worker worthwhile.
const minShare = 4

// queue puts candidates into the level of their size.
func (b *builder) queue(cs []*candidate) {
	for _, c := range cs {
		b.levels[c.size] = append(b.levels[c.size], c)
	}
	b.pending += len(cs)
}

// expand looks for the extensions of events and queues them. What is found
// does not depend on the number of workers: each event sees those with smaller
// numbers, and the interests that were known when the round began.
func (b *builder) expand(es []uint32) {
	for again := false; ; {
		found := make([][]*candidate, len(es))
		b.parallel(len(es), func(w *worker, i int) {
			found[i] = w.extensions(es[i], b.rootOf(es[i]), again)
			n := len(found[i])
			if !again {
				n--
				b.done.Add(1)
			}
			b.waiting.Add(int64(n))
		})
		for _, cs := range found {
			b.queue(cs)
		}
		if !b.settle() || b.stopped.Load() {
			return
		}
		again = true
	}
}

// build adds events until there are no more, or stopped says so.
func (b *builder) build() {
	var roots []uint32
	for r := range b.roots {
		roots = append(roots, uint32(r))
		b.markings.add(startHash(uint32(r)), uint32(r))
	}
	b.waiting.Store(int64(len(roots)))
	// One after the other: the first finds the locations.
	b.expand(roots)
	defer func() {
		*b.kept = histories{}
	}()
	for size := uint32(1); b.pending > 0 && !b.stopped.Load(); size++ {
		level := b.levels[size]
		delete(b.levels, size)
		b.pending -= len(level)
		if b.onLevel != nil {
			b.onLevel(size)
		}
		if len(level) > 0 {
			b.expand(b.insert(level))
		}
	}
}

// insert adds the candidates of a level and returns the events that are not
// cut-off.
func (b *builder) insert(level []*candidate) []uint32 {
	// Those with the marking of an earlier event are cut-off.
	b.parallel(len(level), func(w *worker, i int) {
		if c := level[i]; c.twin == 0 {
			c.twin = w.twin(c, nil, c.seen)
		}
	})
	if b.stopped.Load() {
		return nil
	}
	// Of those of this level with equal markings the least is not.
	groups := map[uint32][]int{}
	for i, c := range level {
		if c.twin == 0 {
			groups[c.hash] = append(groups[c.hash], i)
		}
	}
	var meet [][]int
	for _, g := range groups {
		if len(g) > 1 {
			meet = append(meet, g)
		}
	}
	cut := make([]bool, len(level))
	b.parallel(len(meet), func(w *worker, i int) {
		for g := meet[i]; len(g) > 1; {
			// The least of those with the marking of the first, and the rest.
			first := w.markingAfter(level[g[0]])
			least := g[0]
			var rest []int
			for _, i := range g[1:] {
				if level[i].root != level[least].root || !w.sameMarking(level[i], first) {
					rest = append(rest, i)
					continue
				}
				if w.less(level[i], level[least]) {
					cut[least] = true
					least = i
				} else {
					cut[i] = true
				}
			}
			g = rest
		}
	})
	if b.stopped.Load() {
		return nil
	}
	var added []uint32
	for i, c := range level {
		isCut := cut[i] || c.twin != 0
		e := b.add(c, isCut)
		if !isCut {
			b.markings.add(c.hash, e)
			added = append(added, e)
		} else {
			b.waiting.Add(-1)
			b.done.Add(1)
		}
		if b.onEvent != nil && !b.onEvent(e) {
			b.stopped.Store(true)
			return nil
		}
	}
	return added
}

// markingAfter returns the marking that a candidate leads to.
func (w *worker) markingAfter(c *candidate) []uint32 {
	w.c2.load(c)
	return w.c2.marking(w.p.leaf(c.leaf), nil)
}

// sameMarking reports whether a candidate leads to a marking.
func (w *worker) sameMarking(c *candidate, marking []uint32) bool {
	w.c2.load(c)
	return w.c2.leadsTo(w.p.leaf(c.leaf), marking)
}
