package check

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// bitset is a set of vertices that workers share.
type bitset []atomic.Uint64

func newBitset(n uint64) bitset { return make(bitset, (n+63)/64) }

func (b bitset) has(v uint64) bool { return b[v/64].Load()>>(v%64)&1 != 0 }
func (b bitset) set(v uint64)      { b[v/64].Or(1 << (v % 64)) }

// localSet is a set of vertices of one worker.
type localSet []uint64

func newLocalSet(n uint64) localSet { return make(localSet, (n+63)/64) }

func (b localSet) has(v uint64) bool { return b[v/64]>>(v%64)&1 != 0 }
func (b localSet) set(v uint64)      { b[v/64] |= 1 << (v % 64) }
func (b localSet) clear(v uint64)    { b[v/64] &^= 1 << (v % 64) }

// maxProduct bounds the bits that the search allocates, in bytes.
const maxProduct = 8 << 30

// tooLargeError says that the product does not fit.
type tooLargeError struct{ vertices uint64 }

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("the product of program and automaton has up to %d vertices, which is too many", e.vertices)
}

// search is a CNDFS (Evangelista et al. 2012, algorithm 2).
type search struct {
	p         *product
	ctx       context.Context
	blue, red bitset
	stop      atomic.Bool
	once      sync.Once
	found     bool
	cycle     uint64 // an accepting vertex on a cycle
}

// acceptingCycle searches the product for an accepting vertex on a cycle that
// an initial vertex reaches.
func acceptingCycle(ctx context.Context, p *product, workers int) (v uint64, found bool, err error) {
	n := p.size()
	if n/8*uint64(2+2*workers) > maxProduct {
		workers = 1
	}
	if n/8*4 > maxProduct {
		return 0, false, &tooLargeError{n}
	}
	s := &search{p: p, ctx: ctx, blue: newBitset(n), red: newBitset(n)}
	unwatch := context.AfterFunc(ctx, func() { s.stop.Store(true) })
	defer unwatch()
	var wg sync.WaitGroup
	panics := make(chan any, workers)
	for id := range workers {
		wg.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					s.stop.Store(true)
					panics <- r
				}
			}()
			w := &searcher{search: s, id: uint64(id), cyan: newLocalSet(n), inRed: newLocalSet(n)}
			for _, v := range p.initial() {
				if !s.blue.has(v) {
					w.dfsBlue(v)
				}
			}
		})
	}
	wg.Wait()
	select {
	case r := <-panics:
		return 0, false, fmt.Errorf("internal error: %v", r)
	default:
	}
	if !s.found && ctx.Err() != nil {
		return 0, false, context.Cause(ctx)
	}
	return s.cycle, s.found, nil
}

// searcher is one worker of a search.
type searcher struct {
	*search
	id    uint64
	cyan  localSet
	inRed localSet
	red   []uint64 // R: the vertices of the red search at hand

	succ  []uint64 // the successors of the vertices on the stack, one after the other
	stack []visit
}

// visit is a vertex on a stack with the successors that are left.
type visit struct {
	v          uint64
	start      int
	next, last int
}

// push enters a vertex. Each worker begins with another successor, so that
// they search different parts.
func (w *searcher) push(v uint64) {
	at := len(w.succ)
	w.p.successors(v, func(to uint64, _ int) { w.succ = append(w.succ, to) })
	if n := len(w.succ) - at; w.id > 0 && n > 1 {
		k := int((v*0x9e3779b97f4a7c15 ^ w.id*0xd6e8feb86659fd93) >> 33 % uint64(n))
		rotate(w.succ[at:], k)
	}
	w.stack = append(w.stack, visit{v, at, at, len(w.succ)})
}

func rotate(s []uint64, k int) {
	reverse := func(s []uint64) {
		for i, j := 0, len(s)-1; i < j; i, j = i+1, j-1 {
			s[i], s[j] = s[j], s[i]
		}
	}
	reverse(s[:k])
	reverse(s[k:])
	reverse(s)
}

// pop leaves the vertex on top.
func (w *searcher) pop() uint64 {
	top := w.stack[len(w.stack)-1]
	w.succ = w.succ[:top.start]
	w.stack = w.stack[:len(w.stack)-1]
	return top.v
}

// report ends the search with a cycle through v.
func (w *searcher) report(v uint64) {
	w.once.Do(func() {
		w.cycle, w.found = v, true
		w.stop.Store(true)
	})
}

// dfsBlue visits the vertices in depth-first order. It returns early when the
// search stops.
func (w *searcher) dfsBlue(root uint64) {
	w.cyan.set(root)
	w.push(root)
	for len(w.stack) > 0 {
		if w.stop.Load() {
			return
		}
		top := &w.stack[len(w.stack)-1]
		if top.next < top.last {
			to := w.succ[top.next]
			top.next++
			switch {
			case w.cyan.has(to):
				// A cycle on the stack; accepting at either end is cheap to see
				// (Schwoon, Esparza 2005).
				if w.p.accepting(to) {
					w.report(to)
				} else if w.p.accepting(top.v) {
					w.report(top.v)
				}
			case !w.blue.has(to):
				w.cyan.set(to)
				w.push(to)
			}
			continue
		}
		v := top.v
		w.blue.set(v)
		if w.p.accepting(v) && !w.dfsRed(v) {
			return
		}
		w.cyan.clear(v)
		w.pop()
	}
}

// dfsRed looks for a way from an accepting vertex back to the stack of the blue
// search, then makes what it visited red. It returns false if the search stops.
func (w *searcher) dfsRed(seed uint64) bool {
	base := len(w.stack)
	w.red = append(w.red[:0], seed)
	w.inRed.set(seed)
	w.push(seed)
	for len(w.stack) > base {
		if w.stop.Load() {
			return false
		}
		top := &w.stack[len(w.stack)-1]
		if top.next == top.last {
			w.pop()
			continue
		}
		to := w.succ[top.next]
		top.next++
		if w.cyan.has(to) {
			w.report(seed)
			return false
		}
		if !w.inRed.has(to) && !w.search.red.has(to) {
			w.inRed.set(to)
			w.red = append(w.red, to)
			w.push(to)
		}
	}
	// Another worker's red search may have been kept from a cycle by what this
	// one is about to make red; it waits for the accepting ones of it.
	for _, v := range w.red {
		if v == seed || !w.p.accepting(v) {
			continue
		}
		for !w.search.red.has(v) {
			if w.stop.Load() {
				return false
			}
			runtime.Gosched()
		}
	}
	for _, v := range w.red {
		w.search.red.set(v)
		w.inRed.clear(v)
	}
	return true
}
