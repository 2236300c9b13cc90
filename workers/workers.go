// Package workers is the work-sharing pool of a parallel search: n goroutines
// that work through the batches of a [statestore.WorkSet] until nothing is left
// (Gueta, Flanagan, Yahav, Sagiv, SPIN 2007, figure 6, for any number of
// processors). What happens to an item is up to a [Worker]; the pool knows nothing about states
// and transitions, so every search can use it.
//
//	ws := statestore.NewWorkSet(n)
//	ws.Push(0, initialBatch)
//	stats, err := workers.Run(ctx, ws, workers.Options{Workers: n},
//		func(id int) workers.Worker { return newSearcher(id) })
//
// # How the work is shared
//
// A worker takes batches from its own queue, and steals from the others when
// that is empty. New items are collected in a batch that is queued when it is
// full; a worker with nothing else to do works on its unfinished one. When
// there are idle workers and a CPU for them, and nothing to steal, a worker
// gives away its unfinished batch or half of the batch it works on, at most
// every few microseconds, so that giving does not cost more than it gains.
//
// An idle worker sweeps the queues a few times and then sleeps until it is
// woken. Workers are woken only while fewer are active than there are CPUs, most recently asleep
// first, and those beyond the number of CPUs start asleep. So 64 workers on two CPUs do not
// compete, and the same few work, with warm caches.
//
// # Termination
//
// The pool counts the active workers. The search has ended when the count is
// 0. Proof: (1) Only an active worker holds items (a batch or an unfinished
// one), because a worker gives up its activity only when it holds none, and
// becomes active again before it takes one (a sleeping worker is made active by
// the one who wakes it). (2) The queue of a worker that has given up its
// activity is empty: after the start only the worker itself adds to it, while
// active, and it sees its queue empty before it gives up its activity; becoming
// active for a steal that fails adds nothing. (3) The queue of a worker that was
// never active is only taken from, and each worker that gives up its activity
// has found it empty in its sweep, or lost the last batch of it to a worker that
// is still active. So when the count is 0, no worker holds items and all queues
// are empty. And it stays so: a worker that becomes active later finds nothing
// to take.
//
// The workers run in an errgroup (golang.org/x/sync), which hands on the first
// error and cancels the others. We do not use a library because those for pools (pond, ants,
// tunny) run closures from one queue: they neither batch nor steal, and cannot tell when work
// that creates work is done.
package workers

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"cpor/internal/probe"
	"cpor/statestore"
)

// Worker handles the items in one goroutine of the pool.
type Worker interface {
	// Process works on item i of batch b, and hands the items that come of it
	// to out. It returns an error to end the whole pool; the item then counts
	// as not done. For a long item it asks out.Stopped now and then, and
	// returns ErrStopped if it broke the item off because of that.
	Process(b *statestore.Batch, i int, out *Out) error
}

// Options configure a pool.
type Options struct {
	// Workers is the number of workers, at least 1; it must be the number
	// that the work set was made for.
	Workers int
	// CPUs is how many workers can really run at a time; 0 means
	// runtime.GOMAXPROCS. Tests set it higher to have more workers in each
	// other's way.
	CPUs int
	// Check, if not nil, is called every CheckEvery (0 means 10 ms) while the
	// pool runs, from one goroutine. An error ends the pool.
	Check      func() error
	CheckEvery time.Duration
	// Report, if not nil, is called every ReportEvery (0 means a second)
	// while the pool runs, from the same goroutine as Check. queued is the
	// number of items that wait in full batches.
	Report      func(queued int)
	ReportEvery time.Duration
	// DepthFirst lets each worker keep the batches that it makes to itself, on
	// a stack, and give away the oldest when others are idle. The search is
	// then nearly depth-first: its frontier stays small, its paths get long.
	// Otherwise it is nearly breadth-first.
	DepthFirst bool
	// Pause, if not nil, pauses the pool when it is closed: each worker finishes
	// the item that it works on and gives back the others, and Run returns
	// ErrPaused. Another Run with the same work set continues.
	Pause <-chan struct{}
	// Gate, if not nil, lets somebody outside the pool bring items. The pool
	// then ends only when the gate is closed. The work set must have been made
	// for one worker more: the last queue is the gate's.
	Gate *Gate
}

// Idler is optionally implemented by a [Worker]. Idle is called each time the worker has found
// nothing to do, before the pool counts it as idle, so that it can hand over what it keeps for
// others.
type Idler interface {
	Idle()
}

// Gate is the way into a pool for items from outside: a search on many machines
// has states that other machines found. Its methods are called from one goroutine,
// after Ready.
type Gate struct {
	pool  *pool
	ready chan struct{}
	open  bool
}

// NewGate returns the gate for one pool.
func NewGate() *Gate { return &Gate{ready: make(chan struct{}), open: true} }

// Ready is closed when the pool runs.
func (g *Gate) Ready() <-chan struct{} { return g.ready }

// Get returns an empty batch to be filled for Push.
func (g *Gate) Get() *statestore.Batch { return g.pool.ws.Get(len(g.pool.outs)) }

// Push gives a batch to the pool's workers; they take it before their own.
func (g *Gate) Push(b *statestore.Batch) {
	g.pool.ws.Push(len(g.pool.outs), b)
	g.pool.wakeOne()
}

// Queued returns how many items that came in wait for a worker.
func (g *Gate) Queued() int { return g.pool.ws.Queued(len(g.pool.outs)) }

// Passive reports whether no worker holds an item or looks for one and the work set is empty.
// Then it stays so until the next Push. Each worker has returned from its Idle.
//
// It is the proof of termination once more, with the gate as a member of the
// pool that is always active: when the count is 1, no worker holds an item and
// the workers' queues are empty. The gate's own queue was seen empty before that
// (in this order: a worker that takes the last batch from it is active first), and
// only the goroutine that asks could have added to it.
func (g *Gate) Passive() bool {
	return g.pool.ws.Len() == 0 && g.pool.active.Load() == 1
}

// Close lets the pool end when it is done.
func (g *Gate) Close() {
	if g.open {
		g.open = false
		g.pool.leave()
	}
}

// Stats tell how the work was shared.
type Stats struct {
	Workers int
	Items   uint64 // processed
	Batches uint64 // taken from the queues
	Steals  uint64 // of these, from the queue of another worker
	Misses  uint64 // sweeps of all queues that found nothing
	Shares  uint64 // batches given away early because others were idle
	Sleeps  uint64 // how often a worker slept until there was work
	// Duration is the wall time of the pool.
	Duration time.Duration
	// IdleShare is the share, from 0 to 1, of the time that the workers could
	// have worked (all of them, or as many as there are CPUs) in which they
	// had nothing to do.
	IdleShare float64
}

// Add adds the figures of another run with the same number of workers.
func (s *Stats) Add(t Stats) {
	s.Workers = t.Workers
	s.Items += t.Items
	s.Batches += t.Batches
	s.Steals += t.Steals
	s.Misses += t.Misses
	s.Shares += t.Shares
	s.Sleeps += t.Sleeps
	if both := s.Duration + t.Duration; both > 0 {
		s.IdleShare = (s.IdleShare*float64(s.Duration) + t.IdleShare*float64(t.Duration)) / float64(
			both)
		s.Duration = both
	}
}

// ErrStopped is returned by Worker.Process if it did not finish an item because the pool is ending.
// The item counts as not done.
var ErrStopped = errors.New("workers: the pool is to end")

// ErrPaused is the error of a pool that was paused before it had come to its end.
var ErrPaused = errors.New("workers: the pool was paused")

// PanicError is the error of a pool in which a worker panicked.
type PanicError struct {
	Value any    // of the panic
	Stack []byte // of the goroutine
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }

// Unwrap returns the value of the panic if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

const (
	// shareEvery is the shortest time between two batches that a worker gives
	// away early. Waking a sleeping worker costs a few microseconds, so that
	// this bounds the loss to some percent.
	shareEvery = 30 * time.Microsecond
	// sweeps is how often an idle worker looks for work before it sleeps.
	sweeps = 4
)

// cacheLine is the distance that keeps two workers' counters from sharing a
// cache line; processors fetch lines in pairs of 64 bytes.
const cacheLine = 128

// Run runs a pool on the work set until it is empty and no worker is active. It returns nil then;
// otherwise the first error of a worker or of Options.Check, a *PanicError among them, or the cause
// of ctx's end. In the latter cases the work set holds every item that was not done, so the search
// can be resumed. newWorker is called for each worker from 0 to Workers-1, before any starts.
func Run(ctx context.Context, ws *statestore.WorkSet, o Options,
	newWorker func(id int) Worker) (Stats, error) {
	if o.Workers < 1 {
		return Stats{}, fmt.Errorf("workers: a pool of %d workers", o.Workers)
	}
	if o.CPUs <= 0 {
		o.CPUs = runtime.GOMAXPROCS(0)
	}
	g, gctx := errgroup.WithContext(ctx)
	if probe.On {
		o.CPUs = o.Workers // those of the machine that is simulated
	}
	p := &pool{ws: ws, o: o, ctx: gctx, start: time.Now(), done: make(chan struct{})}
	p.mu.Site = probe.Sleepers
	defer context.AfterFunc(gctx, func() { p.stop.Store(true) })()
	if o.Pause != nil {
		g.Go(func() error {
			select {
			case <-o.Pause:
				p.paused.Store(true)
			case <-p.done:
			case <-gctx.Done():
			}
			return nil
		})
	}
	p.active.Store(int64(min(o.Workers, o.CPUs)))
	if o.Gate != nil {
		p.gates = 1
		p.active.Add(1)
	}
	all := make([]Worker, o.Workers)
	for id := range o.Workers {
		p.outs = append(p.outs, &Out{pool: p, id: id, wake: make(chan struct{}, 1)})
		all[id] = newWorker(id)
	}
	for id := o.Workers - 1; id >= o.CPUs; id-- {
		p.goToSleep(p.outs[id])
	}
	if o.Gate != nil {
		o.Gate.pool = p
		close(o.Gate.ready)
	}
	for id := range o.Workers {
		g.Go(func() (err error) {
			defer func() {
				if v := recover(); v != nil {
					err = &PanicError{Value: v, Stack: debug.Stack()}
				}
			}()
			if probe.On {
				probe.Begin(id)
				defer probe.End(id)
			}
			return p.outs[id].run(all[id])
		})
	}
	if o.Check != nil || o.Report != nil {
		g.Go(p.monitor)
	}
	err := g.Wait()
	if err == nil && !p.terminated.Load() {
		if err = context.Cause(ctx); err == nil {
			err = ErrPaused
		}
	}
	return p.stats(), err
}

type pool struct {
	ws    *statestore.WorkSet
	o     Options
	ctx   context.Context // of the errgroup: ends at the first error
	start time.Time
	done  chan struct{} // closed at termination
	once  sync.Once
	outs  []*Out
	gates int64 // 1 if there is a gate, which counts as active until it is closed

	mu       probe.Mutex
	sleepers []*Out // a stack of sleepers that have not been sent a token

	_          [cacheLine]byte
	active     atomic.Int64 // workers that hold items or look for some
	_          [cacheLine]byte
	sleeping   atomic.Int64 // len(sleepers)
	_          [cacheLine]byte
	stop       atomic.Bool // read for every item, written once
	paused     atomic.Bool // as stop, but no item is broken off
	terminated atomic.Bool
	_          [cacheLine]byte
}

// leave gives up a worker's activity; the last one ends the pool.
func (p *pool) leave() {
	if p.join(-1) == 0 {
		p.terminated.Store(true)
		p.once.Do(func() { close(p.done) })
		probe.UnparkAll()
	}
}

// join adds n to the active workers, and returns how many there are.
func (p *pool) join(n int64) int64 {
	probe.Write(probe.Active, unsafe.Pointer(&p.active))
	return p.active.Add(n)
}

// observe announces a call of hungry.
func (p *pool) observe() {
	probe.Read(probe.Active, unsafe.Pointer(&p.active))
}

// hungry reports whether there are idle workers that a CPU could run.
func (p *pool) hungry() bool {
	a := p.active.Load() - p.gates
	return a < int64(p.o.CPUs) && a < int64(p.o.Workers)
}

// wakeOne wakes a worker if that is of use. It is called after a push. The
// woken worker is active from here on, so that two pushes in a row do not wake
// more workers than there are CPUs. No wake-up is lost: a worker that goes to
// sleep first gives up its activity and then looks at the work set once more,
// so that either it sees the push, or the pusher sees that it sleeps.
func (p *pool) wakeOne() {
	probe.Read(probe.Sleeping, unsafe.Pointer(&p.sleeping))
	p.observe()
	if p.sleeping.Load() == 0 || !p.hungry() {
		return
	}
	p.mu.Lock()
	var o *Out
	if n := len(p.sleepers); n > 0 {
		o = p.sleepers[n-1]
		p.sleepers = p.sleepers[:n-1]
		p.sleeps(n - 1)
		p.join(1)
	}
	p.mu.Unlock()
	if o != nil {
		probe.Unpark(o.id)
		o.wake <- struct{}{} // has room: o is not on the stack again before it took the token
	}
}

// goToSleep announces that a worker is about to sleep.
func (p *pool) goToSleep(o *Out) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sleepers = append(p.sleepers, o)
	p.sleeps(len(p.sleepers))
}

// stayAwake takes a worker back that has announced its sleep, and makes it
// active; false if a token for it is under way, with which it will be active.
func (p *pool) stayAwake(o *Out) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.sleepers, o)
	if i < 0 {
		return false
	}
	p.sleepers = slices.Delete(p.sleepers, i, i+1)
	p.sleeps(len(p.sleepers))
	p.join(1)
	return true
}

// sleeps notes how many workers sleep.
func (p *pool) sleeps(n int) {
	probe.Write(probe.Sleeping, unsafe.Pointer(&p.sleeping))
	p.sleeping.Store(int64(n))
}

// monitor calls Check and Report until the pool ends.
func (p *pool) monitor() error {
	every := p.o.CheckEvery
	if every <= 0 {
		every = 10 * time.Millisecond
	}
	report := p.o.ReportEvery
	if report <= 0 {
		report = time.Second
	}
	if p.o.Check == nil {
		every = report
	} else if p.o.Report != nil {
		every = min(every, report)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	last := p.start
	for {
		select {
		case <-p.done:
			return nil
		case <-p.ctx.Done():
			return nil
		case <-p.o.Pause:
			return nil
		case now := <-tick.C:
			if p.o.Check != nil {
				if err := p.o.Check(); err != nil {
					return err
				}
			}
			if p.o.Report != nil && now.Sub(last) >= report {
				last = now
				queued := p.ws.Len()
				for _, o := range p.outs {
					queued += int(o.stacked.Load())
				}
				p.o.Report(queued)
			}
		}
	}
}

func (p *pool) stats() Stats {
	s := Stats{Workers: len(p.outs), Duration: time.Since(p.start)}
	var busy time.Duration
	for _, o := range p.outs {
		s.Items += o.items
		s.Batches += o.batches
		s.Steals += o.steals
		s.Misses += o.misses
		s.Shares += o.shares
		s.Sleeps += o.sleeps
		busy += s.Duration - min(o.idle, s.Duration)
	}
	if could := s.Duration * time.Duration(min(len(p.outs), p.o.CPUs)); could > 0 {
		s.IdleShare = max(0, 1-float64(busy)/float64(could))
	}
	return s
}

// Out takes the new items of one worker. Its methods are called from
// [Worker.Process] only.
type Out struct {
	_    [cacheLine]byte
	pool *pool
	id   int
	wake chan struct{}     // a token wakes the worker, which is active with it
	next *statestore.Batch // the unfinished batch, nil or not empty
	last time.Duration     // when the last batch was given away, since the start

	idler Idler // the worker, if it is one

	stack   []*statestore.Batch // Options.DepthFirst: the batches to come
	stacked atomic.Int64        // items on the stack, for the reporter

	// Counters, written by this worker only and read after its end.
	items, batches, steals, misses, shares, sleeps uint64

	idle time.Duration
	_    [cacheLine]byte
}

// Add queues an item that is a Ref only, at a depth.
func (o *Out) Add(depth int, ref statestore.Ref) {
	b := o.next
	if b == nil || b.Depth != depth || b.Full() {
		b = o.fresh(depth)
	}
	b.Add(ref)
}

// AddState queues an item with its encoded state, which is copied, and its
// trail, for stores from which states cannot be loaded.
func (o *Out) AddState(depth int, ref statestore.Ref, s []uint64, t *statestore.Trail) {
	b := o.next
	if b == nil || b.Depth != depth || b.Full() {
		b = o.fresh(depth)
	}
	b.AddState(ref, s, t)
}

// Stopped reports whether the pool is ending: after an error, at a limit, or because the context
// is canceled.
func (o *Out) Stopped() bool { return o.pool.stop.Load() }

// Pause lets all workers pause as soon as they have finished their items. A worker calls it in
// addition to closing Options.Pause, which alone takes effect only when the scheduler gets to it.
func (o *Out) Pause() { o.pool.paused.Store(true) }

// fresh queues the unfinished batch and begins a new one.
func (o *Out) fresh(depth int) *statestore.Batch {
	if o.next != nil {
		o.push(o.next)
	}
	o.next = o.pool.ws.Get(o.id)
	o.next.Depth = depth
	return o.next
}

// push queues a batch: for everybody, or on the worker's own stack.
func (o *Out) push(b *statestore.Batch) {
	if o.pool.o.DepthFirst {
		o.stack = append(o.stack, b)
		o.stacked.Add(int64(b.Len()))
		return
	}
	o.give(b)
}

// give queues a batch for everybody.
func (o *Out) give(b *statestore.Batch) {
	o.pool.ws.Push(o.id, b)
	o.pool.wakeOne()
}

// run is the life of a worker.
func (o *Out) run(w Worker) error {
	p := o.pool
	if o.id >= p.o.CPUs {
		from := time.Now()
		more := o.sleep()
		o.idle += time.Since(from)
		if !more {
			return nil
		}
	}
	o.idler, _ = w.(Idler)
	for {
		b := o.take()
		if b == nil {
			return nil
		}
		for i := 0; i < b.Len(); i++ {
			if p.stop.Load() || p.paused.Load() {
				o.putBack(b, i)
				return nil
			}
			if err := w.Process(b, i, o); err != nil {
				o.putBack(b, i)
				if err == ErrStopped && p.stop.Load() {
					return nil
				}
				return err
			}
			o.items++
			p.observe()
			if p.hungry() {
				o.share(b, i+1)
			}
		}
		p.ws.Put(o.id, b)
	}
}

// take returns the next batch to work on; nil when the pool ends.
func (o *Out) take() *statestore.Batch {
	p := o.pool
	if p.gates > 0 {
		if b := p.ws.Pop(len(p.outs)); b != nil {
			o.batches++
			return b
		}
	}
	if b := o.next; b != nil && p.o.DepthFirst {
		o.next = nil
		return b
	}
	if n := len(o.stack); n > 0 {
		b := o.stack[n-1]
		o.stack[n-1] = nil
		o.stack = o.stack[:n-1]
		o.stacked.Add(-int64(b.Len()))
		return b
	}
	if b := p.ws.Pop(o.id); b != nil {
		o.batches++
		return b
	}
	if b := o.next; b != nil {
		o.next = nil
		return b
	}
	if p.stop.Load() || p.paused.Load() {
		return nil
	}
	if b := o.steal(); b != nil {
		return b
	}
	if o.idler != nil {
		o.idler.Idle()
	}
	from := time.Now()
	b := o.wait()
	o.idle += time.Since(from)
	return b
}

func (o *Out) steal() *statestore.Batch {
	b := o.pool.ws.Steal(o.id)
	if b == nil {
		o.misses++
		return nil
	}
	o.batches++
	o.steals++
	return b
}

// wait is the life of an idle worker. It returns a batch, and the worker is
// active again; or nil at the end of the pool.
func (o *Out) wait() *statestore.Batch {
	p := o.pool
	for {
		p.leave()
		for range sweeps {
			if p.stop.Load() || p.paused.Load() || p.terminated.Load() {
				return nil
			}
			if p.ws.Len() > 0 {
				p.join(1)
				if b := o.steal(); b != nil {
					return b
				}
				p.leave()
			}
			probe.Pause()
			runtime.Gosched()
		}
		p.goToSleep(o)
		if p.ws.Len() > 0 && p.stayAwake(o) {
			// There is work after all.
		} else if !o.sleep() {
			return nil
		}
		if b := o.steal(); b != nil {
			return b
		}
	}
}

// sleep waits for a token, with which the worker is active; false at the end
// of the pool.
func (o *Out) sleep() bool {
	o.sleeps++
	probe.Park(o.id)
	select {
	case <-o.wake:
		return true
	case <-o.pool.done:
	case <-o.pool.ctx.Done():
	case <-o.pool.o.Pause:
	}
	return false
}

// share gives work away because other workers are idle: the oldest batch of
// the stack, or the unfinished batch if this worker has something else to do,
// or half of what is left of b from item i on. There is nothing to do if
// something can be stolen.
func (o *Out) share(b *statestore.Batch, i int) {
	p := o.pool
	left := b.Len() - i
	if len(o.stack) == 0 && (left == 0 || o.next == nil && left < 2) {
		return
	}
	now := time.Since(p.start)
	if probe.On {
		now = probe.Now()
	}
	if now-o.last < shareEvery || p.ws.Len() > 0 {
		return
	}
	o.last = now
	o.shares++
	switch half := o.next; {
	case len(o.stack) > 0:
		oldest := o.stack[0]
		o.stack = slices.Delete(o.stack, 0, 1)
		o.stacked.Add(-int64(oldest.Len()))
		o.give(oldest)
	case half != nil:
		o.next = nil
		o.give(half)
	default:
		half = p.ws.Get(o.id)
		half.Depth = b.Depth
		moveTail(b, i+(left+1)/2, half)
		o.give(half)
	}
}

// moveTail moves the items of b from the given one on to the batch to.
func moveTail(b *statestore.Batch, from int, to *statestore.Batch) {
	for i := from; i < b.Len(); i++ {
		if s := b.State(i); s != nil {
			to.AddState(b.Refs[i], s, b.Trail(i))
		} else {
			to.Add(b.Refs[i])
		}
	}
	b.Refs = b.Refs[:from]
}

// putBack returns unfinished items to the work set.
func (o *Out) putBack(b *statestore.Batch, i int) {
	if i < b.Len() {
		rest := o.pool.ws.Get(o.id)
		rest.Depth = b.Depth
		moveTail(b, i, rest)
		o.pool.ws.Push(o.id, rest)
	}
	o.pool.ws.Put(o.id, b)
	if o.next != nil {
		o.pool.ws.Push(o.id, o.next)
		o.next = nil
	}
	for _, b := range o.stack {
		o.pool.ws.Push(o.id, b)
	}
	o.stack = nil
	o.stacked.Store(0)
}
