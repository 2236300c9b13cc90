package temporal

import (
	"sync"
	"sync/atomic"
)

// pool passes vertices from workers that have some to idle ones, and knows when all have
// finished.
type pool struct {
	mu      sync.Mutex
	changed sync.Cond
	workers int
	idle    int
	queue   []handed
	closed  bool // the search is over
	paused  atomic.Bool
	want    atomic.Int32 // idle workers less vertices in the queue
}

// handed is a vertex from which another worker continues.
type handed struct {
	v       vertex
	entered bool     // the giver has entered it
	prefix  *segment // the way to the vertex before it
}

func newPool() *pool {
	p := &pool{}
	p.changed.L = &p.mu
	return p
}

// open begins or continues, with that many workers.
func (p *pool) open(workers int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.workers = workers
	p.paused.Store(false)
}

// pause makes the workers stop soon, including those that wait for a vertex.
func (p *pool) pause() {
	p.mu.Lock()
	p.paused.Store(true)
	p.mu.Unlock()
	p.changed.Broadcast()
}

// retire says that a worker will take no more vertices.
func (p *pool) retire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.workers--
	p.changed.Broadcast()
}

// hungry reports whether a worker waits for a vertex.
func (p *pool) hungry() bool { return p.want.Load() > 0 }

// give hands a vertex over.
func (p *pool) give(h handed) {
	p.mu.Lock()
	p.queue = append(p.queue, h)
	p.want.Store(int32(p.idle - len(p.queue)))
	p.mu.Unlock()
	p.changed.Signal()
}

// take waits for a vertex. It returns false when the search is over or pauses.
func (p *pool) take() (handed, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle++
	for len(p.queue) == 0 && !p.closed && !p.paused.Load() {
		if p.idle == p.workers {
			p.closed = true
			p.changed.Broadcast()
			break
		}
		p.want.Store(int32(p.idle - len(p.queue)))
		p.changed.Wait()
	}
	if p.closed || p.paused.Load() {
		p.idle--
		p.want.Store(0)
		return handed{}, false
	}
	h := p.queue[len(p.queue)-1]
	p.queue = p.queue[:len(p.queue)-1]
	p.idle--
	p.want.Store(int32(p.idle - len(p.queue)))
	return h, true
}

// close ends the search for all.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.changed.Broadcast()
}

// segment is a piece of the path to a vertex that was handed over, after another piece. It does
// not change.
type segment struct {
	before *segment
	path   []vertex
}

// segmentSize bounds a piece, so that little is copied again after the stack has
// shrunk below its end.
const segmentSize = 512

// vertices returns the whole path.
func (g *segment) vertices() []vertex {
	n := 0
	for h := g; h != nil; h = h.before {
		n += len(h.path)
	}
	vs := make([]vertex, n)
	for h := g; h != nil; h = h.before {
		n -= len(h.path)
		copy(vs[n:], h.path)
	}
	return vs
}

// freeze returns the path to the vertex on top of the stack.
func (w *worker) freeze() *segment {
	if w.frozen == nil {
		w.frozen = w.prefix
	}
	for w.frozenAt < w.stack.n {
		n := min(segmentSize, w.stack.n-w.frozenAt)
		g := &segment{before: w.frozen, path: make([]vertex, n)}
		for i := range n {
			g.path[i] = w.stack.at(w.frozenAt + i).vertex()
		}
		w.frozen, w.frozenAt = g, w.frozenAt+n
	}
	return w.frozen
}

// thaw forgets the pieces that go beyond the top of the stack.
func (w *worker) thaw() {
	for w.frozenAt > w.stack.n {
		w.frozenAt -= len(w.frozen.path)
		w.frozen = w.frozen.before
	}
}
