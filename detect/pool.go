package detect

import "sync"

// pool shares the items of a depth-first search among workers. Each has its own stack, and hands
// over the older half of it when another worker is idle. It is not package workers' pool, because
// its items are not encoded states of a system and there is no covered set: the searches that use
// it never see an item twice.
type pool[T any] struct {
	mu      sync.Mutex
	wake    *sync.Cond
	shared  []T
	idle    int
	workers int
	hungry  chan struct{} // has an element while somebody is idle; read without the lock
	stopped bool
}

// worker is the pool as the function that processes items sees it.
type worker[T any] struct {
	id    int
	pool  *pool[T]
	stack []T
}

// push adds an item to be processed by this worker or another.
func (w *worker[T]) push(item T) {
	w.stack = append(w.stack, item)
	if len(w.stack) > 1 && len(w.pool.hungry) > 0 {
		w.share()
	}
}

// give hands items to the workers that are idle.
func (w *worker[T]) give(items []T) {
	w.pool.mu.Lock()
	w.pool.shared = append(w.pool.shared, items...)
	w.pool.mu.Unlock()
	w.pool.wake.Broadcast()
}

func (w *worker[T]) share() {
	p := w.pool
	p.mu.Lock()
	half := len(w.stack) / 2
	p.shared = append(p.shared, w.stack[:half]...)
	w.stack = append(w.stack[:0], w.stack[half:]...)
	p.mu.Unlock()
	p.wake.Broadcast()
}

// runPool processes the items and everything that f pushes; it returns when all
// is processed or when stop, called between items, returned true for a worker.
func runPool[T any](workers int, items []T, stop func() bool, f func(w *worker[T], item T)) {
	p := &pool[T]{workers: workers, shared: items, hungry: make(chan struct{}, 1)}
	p.wake = sync.NewCond(&p.mu)
	var wg sync.WaitGroup
	for id := range workers {
		wg.Go(func() { p.work(&worker[T]{id: id, pool: p}, stop, f) })
	}
	wg.Wait()
}

func (p *pool[T]) work(w *worker[T], stop func() bool, f func(w *worker[T], item T)) {
	for {
		for len(w.stack) > 0 {
			if stop() {
				p.halt()
				return
			}
			item := w.stack[len(w.stack)-1]
			w.stack = w.stack[:len(w.stack)-1]
			f(w, item)
		}
		if stop() {
			p.halt()
			return
		}
		p.mu.Lock()
		for len(p.shared) == 0 && !p.stopped {
			if p.idle++; p.idle == p.workers {
				p.stopped = true
				p.mu.Unlock()
				p.wake.Broadcast()
				return
			}
			select {
			case p.hungry <- struct{}{}:
			default:
			}
			p.wake.Wait()
			p.idle--
			if p.idle == 0 {
				select {
				case <-p.hungry:
				default:
				}
			}
		}
		if p.stopped {
			p.mu.Unlock()
			return
		}
		// One item only: the rest is for the other waiting workers.
		w.stack = append(w.stack, p.shared[len(p.shared)-1])
		p.shared = p.shared[:len(p.shared)-1]
		p.mu.Unlock()
	}
}

func (p *pool[T]) halt() {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	p.wake.Broadcast()
}
