// Package structures has concurrent data structures, each as it should be and, if bad is set,
// with a fault that needs a rare schedule.
package structures

import (
	"maps"
	"sync"
	"sync/atomic"
)

// Sharded is a map in two parts. The bad one counts one part after the other.
type Sharded struct {
	bad    bool
	shards [2]struct {
		mu sync.Mutex
		m  map[int]int
	}
}

func newSharded(bad bool) *Sharded {
	s := &Sharded{bad: bad}
	for i := range s.shards {
		s.shards[i].m = map[int]int{}
	}
	return s
}

func (s *Sharded) Put(k int) {
	p := &s.shards[k%2]
	p.mu.Lock()
	defer p.mu.Unlock()
	p.m[k] = 1
}

func (s *Sharded) Delete(k int) {
	p := &s.shards[k%2]
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.m, k)
}

func (s *Sharded) Len() (n int) {
	for i := range s.shards {
		s.shards[i].mu.Lock()
		if s.bad {
			n += len(s.shards[i].m)
			s.shards[i].mu.Unlock()
		}
	}
	if !s.bad {
		for i := range s.shards {
			n += len(s.shards[i].m)
			s.shards[i].mu.Unlock()
		}
	}
	return n
}

// CopyOnWrite is a map that is copied. Writers of the bad one do not look whether another has
// been faster.
type CopyOnWrite struct {
	bad bool
	m   atomic.Pointer[map[string]int]
}

func newCopyOnWrite(bad bool) *CopyOnWrite {
	c := &CopyOnWrite{bad: bad}
	c.m.Store(&map[string]int{})
	return c
}

func (c *CopyOnWrite) Get(k string) int { return (*c.m.Load())[k] }

func (c *CopyOnWrite) Put(k string, v int) {
	for {
		old := c.m.Load()
		next := maps.Clone(*old)
		next[k] = v
		if c.bad {
			c.m.Store(&next)
			return
		}
		if c.m.CompareAndSwap(old, &next) {
			return
		}
	}
}

// Lazy is a map that is made when it is needed. The bad one looks for it before it has the lock.
type Lazy struct {
	bad bool
	mu  sync.Mutex
	m   atomic.Pointer[map[string]int]
}

func newLazy(bad bool) *Lazy { return &Lazy{bad: bad} }

func (l *Lazy) Put(k string) bool {
	m := l.m.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.bad {
		m = l.m.Load()
	}
	if m == nil {
		m = &map[string]int{}
		l.m.Store(m)
	}
	_, was := (*m)[k]
	(*m)[k] = 1
	return was
}

// LRU keeps the two keys that were used last. The bad one moves a key to the front in a second
// step.
type LRU struct {
	bad  bool
	mu   sync.Mutex
	keys []string
}

func newLRU(bad bool) *LRU { return &LRU{bad: bad} }

func (c *LRU) front(k string) {
	for i, x := range c.keys {
		if x == k {
			c.keys = append(c.keys[:i:i], c.keys[i+1:]...)
			break
		}
	}
	c.keys = append([]string{k}, c.keys...)
	if len(c.keys) > 2 {
		c.keys = c.keys[:2]
	}
}

func (c *LRU) has(k string) bool {
	for _, x := range c.keys {
		if x == k {
			return true
		}
	}
	return false
}

func (c *LRU) Put(k string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.front(k)
}

func (c *LRU) Get(k string) bool {
	c.mu.Lock()
	ok := c.has(k)
	if c.bad {
		c.mu.Unlock()
		c.mu.Lock()
	}
	if ok {
		c.front(k)
	}
	c.mu.Unlock()
	return ok
}

// TTL is a cache whose entries last one tick. Get of the bad one removes an entry that has
// expired although somebody may have renewed it.
type TTL struct {
	bad bool
	mu  sync.Mutex
	now int
	at  map[string]int
}

func newTTL(bad bool) *TTL { return &TTL{bad: bad, at: map[string]int{}} }

func (c *TTL) Tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now++
}

func (c *TTL) Put(k string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at[k] = c.now
}

func (c *TTL) Get(k string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.at[k]
	if !ok || at == c.now {
		return ok
	}
	if c.bad {
		c.mu.Unlock()
		c.mu.Lock()
	}
	delete(c.at, k)
	return false
}

// Flight makes a value once. The bad one makes it without the lock, and forgets to look again.
type Flight struct {
	bad  bool
	mu   sync.Mutex
	m    map[string]int
	made int
}

func newFlight(bad bool) *Flight { return &Flight{bad: bad, m: map[string]int{}} }

func (f *Flight) Get(k string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if v, ok := f.m[k]; ok {
		return v
	}
	if f.bad {
		f.mu.Unlock()
		f.mu.Lock()
	}
	f.made++
	f.m[k] = f.made
	return f.made
}

func (f *Flight) Forget(k string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.m, k)
}
