package structures

import (
	"sync"
	"sync/atomic"
)

// Counter: the bad one adds in two steps.
type Counter struct {
	bad bool
	n   atomic.Int64
}

func newCounter(bad bool) *Counter { return &Counter{bad: bad} }

func (c *Counter) Inc() int {
	if c.bad {
		n := c.n.Load() + 1
		c.n.Store(n)
		return int(n)
	}
	return int(c.n.Add(1))
}

func (c *Counter) Get() int { return int(c.n.Load()) }

// Bounded counts up to 2. The bad one looks first and adds then.
type Bounded struct {
	bad bool
	n   atomic.Int64
}

func newBounded(bad bool) *Bounded { return &Bounded{bad: bad} }

func (c *Bounded) Inc() bool {
	for {
		n := c.n.Load()
		if n == 2 {
			return false
		}
		if c.bad {
			c.n.Add(1)
			return true
		}
		if c.n.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Semaphore has two permits. TryAcquire of the bad one takes a permit and gives it back if there
// was none, so that others may see one too few.
type Semaphore struct {
	bad bool
	n   atomic.Int64
}

func newSemaphore(bad bool) *Semaphore {
	s := &Semaphore{bad: bad}
	s.n.Store(2)
	return s
}

func (s *Semaphore) TryAcquire(n int) bool {
	k := int64(n)
	if s.bad {
		if s.n.Add(-k) < 0 {
			s.n.Add(k)
			return false
		}
		return true
	}
	for {
		old := s.n.Load()
		if old < k {
			return false
		}
		if s.n.CompareAndSwap(old, old-k) {
			return true
		}
	}
}

// Permits is a semaphore that waits. Release of the bad one wakes nobody if two wait.
type Permits struct {
	bad     bool
	mu      sync.Mutex
	cond    sync.Cond
	n       int
	waiting int
}

func newPermits(bad bool) *Permits {
	p := &Permits{bad: bad, n: 1}
	p.cond.L = &p.mu
	return p
}

func (p *Permits) Acquire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.n == 0 {
		p.waiting++
		p.cond.Wait()
		p.waiting--
	}
	p.n--
}

func (p *Permits) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	if !p.bad || p.waiting < 2 {
		p.cond.Signal()
	}
}

// Rate allows two events a tick. The bad one begins a tick in two steps.
type Rate struct {
	bad     bool
	mu      sync.Mutex
	now, at int
	used    int
}

func newRate(bad bool) *Rate { return &Rate{bad: bad} }

func (r *Rate) Tick() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now++
}

func (r *Rate) Allow() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at != r.now {
		r.at = r.now
		if r.bad {
			r.mu.Unlock()
			r.mu.Lock()
		}
		r.used = 0
	}
	r.used++
	return r.used <= 2
}

// Pool hands out the numbers 1 and 2. The bad one may hand out one twice.
type Pool struct {
	bad  bool
	mu   sync.Mutex
	busy [3]bool
}

func newPool(bad bool) *Pool { return &Pool{bad: bad} }

func (p *Pool) Get() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := 1; i <= 2; i++ {
		if !p.busy[i] {
			if p.bad {
				p.mu.Unlock()
				p.mu.Lock()
			}
			p.busy[i] = true
			return i
		}
	}
	return 0
}

func (p *Pool) Put(i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy[i] = false
}

// Log is a log in order. The bad one reserves a place before it writes there.
type Log struct {
	bad bool
	mu  sync.Mutex
	n   atomic.Int64
	at  [16]atomic.Int64
}

func newLog(bad bool) *Log { return &Log{bad: bad} }

func (l *Log) Append(v int) int {
	if l.bad {
		i := l.n.Add(1) - 1
		l.at[i].Store(int64(v))
		return int(i)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.n.Load()
	l.at[i].Store(int64(v))
	l.n.Add(1)
	return int(i)
}

func (l *Log) Last() int {
	n := l.n.Load()
	if n == 0 {
		return 0
	}
	return int(l.at[n-1].Load())
}

// Latch lets its waiters continue after two calls of Down. The bad one counts in two steps.
type Latch struct {
	bad  bool
	n    atomic.Int64
	open chan struct{}
}

func newLatch(bad bool) *Latch {
	l := &Latch{bad: bad, open: make(chan struct{})}
	l.n.Store(2)
	return l
}

func (l *Latch) Down() {
	var n int64
	if l.bad {
		n = l.n.Load() - 1
		l.n.Store(n)
	} else {
		n = l.n.Add(-1)
	}
	if n == 0 {
		close(l.open)
	}
}

func (l *Latch) Wait() { <-l.open }

// Promise is set once. The bad one's Set looks and sets in two steps.
type Promise struct {
	bad bool
	set atomic.Int64
	mu  sync.Mutex
	out chan struct{}
}

func newPromise(bad bool) *Promise { return &Promise{bad: bad, out: make(chan struct{})} }

func (p *Promise) Set(v int) bool {
	if !p.bad {
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	if p.set.Load() != 0 {
		return false
	}
	p.set.Store(int64(v))
	if !p.bad {
		close(p.out)
		return true
	}
	select {
	case <-p.out:
	default:
		p.mu.Lock()
		defer p.mu.Unlock()
		select {
		case <-p.out:
		default:
			close(p.out)
		}
	}
	return true
}

func (p *Promise) Get() int {
	<-p.out
	return int(p.set.Load())
}

// Bank has two accounts. Total of the bad one adds them up without a lock for both.
type Bank struct {
	bad bool
	mu  [2]sync.Mutex
	n   [2]int
}

func newBank(bad bool) *Bank { return &Bank{bad: bad, n: [2]int{5, 5}} }

func (b *Bank) Move() {
	b.mu[0].Lock()
	b.mu[1].Lock()
	b.n[0]--
	b.n[1]++
	b.mu[1].Unlock()
	b.mu[0].Unlock()
}

func (b *Bank) Total() int {
	b.mu[0].Lock()
	n := b.n[0]
	if b.bad {
		b.mu[0].Unlock()
	}
	b.mu[1].Lock()
	n += b.n[1]
	b.mu[1].Unlock()
	if !b.bad {
		b.mu[0].Unlock()
	}
	return n
}

// Snapshot reads two registers as they were at one moment. The bad one reads them once.
type Snapshot struct {
	bad bool
	r   [2]atomic.Int64
	seq atomic.Int64
	mu  sync.Mutex
}

func newSnapshot(bad bool) *Snapshot { return &Snapshot{bad: bad} }

func (s *Snapshot) Set(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq.Add(1)
	s.r[i].Add(1)
	s.seq.Add(1)
}

func (s *Snapshot) Scan() (int, int) {
	if !s.bad {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	return int(s.r[0].Load()), int(s.r[1].Load())
}

// Versioned is a register with a version. The bad one writes the version later.
type Versioned struct {
	bad bool
	mu  sync.Mutex
	v   atomic.Int64
	ver atomic.Int64
	two atomic.Int64
}

func newVersioned(bad bool) *Versioned { return &Versioned{bad: bad} }

func (r *Versioned) Set(v int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bad {
		r.v.Store(int64(v))
		r.ver.Add(1)
		return
	}
	r.two.Store((r.two.Load()>>8+1)<<8 | int64(v))
}

func (r *Versioned) Get() (v, version int) {
	if r.bad {
		return int(r.v.Load()), int(r.ver.Load())
	}
	w := r.two.Load()
	return int(w & 255), int(w >> 8)
}

// IDs hands out numbers in blocks of two. The bad one begins a block in two steps.
type IDs struct {
	bad  bool
	mu   sync.Mutex
	next int
	left int
}

func newIDs(bad bool) *IDs { return &IDs{bad: bad} }

func (g *IDs) Next() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left == 0 {
		g.left = 2
		if g.bad {
			next := g.next
			g.mu.Unlock()
			g.mu.Lock()
			g.next = next
		}
	}
	g.left--
	g.next++
	return g.next
}

// Stats has a number and a sum. The bad one keeps them apart.
type Stats struct {
	bad    bool
	mu     sync.Mutex
	n, sum atomic.Int64
}

func newStats(bad bool) *Stats { return &Stats{bad: bad} }

func (s *Stats) Add(v int) {
	if !s.bad {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	s.n.Add(1)
	s.sum.Add(int64(v))
}

func (s *Stats) Mean() (n, sum int) {
	if !s.bad {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	return int(s.n.Load()), int(s.sum.Load())
}
