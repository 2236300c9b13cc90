package structures

import (
	"sync"
	"sync/atomic"
)

type item struct {
	key  int
	mu   sync.Mutex
	gone atomic.Bool
	next atomic.Pointer[item]
}

// LazyList is the lazy list of Heller et al. The bad one does not check under the locks that both
// items are still there.
type LazyList struct {
	bad  bool
	head *item
}

func newLazyList(bad bool) *LazyList {
	l := &LazyList{bad: bad, head: &item{}}
	l.head.next.Store(&item{key: 100})
	return l
}

func (l *LazyList) find(k int) (pred, cur *item) {
	pred = l.head
	cur = pred.next.Load()
	for cur.key < k {
		pred, cur = cur, cur.next.Load()
	}
	return pred, cur
}

func (l *LazyList) valid(pred, cur *item) bool {
	return l.bad || !pred.gone.Load() && !cur.gone.Load() && pred.next.Load() == cur
}

func (l *LazyList) Add(k int) bool {
	for {
		pred, cur := l.find(k)
		pred.mu.Lock()
		cur.mu.Lock()
		if l.valid(pred, cur) {
			ok := cur.key != k
			if ok {
				n := &item{key: k}
				n.next.Store(cur)
				pred.next.Store(n)
			}
			cur.mu.Unlock()
			pred.mu.Unlock()
			return ok
		}
		cur.mu.Unlock()
		pred.mu.Unlock()
	}
}

func (l *LazyList) Remove(k int) bool {
	for {
		pred, cur := l.find(k)
		pred.mu.Lock()
		cur.mu.Lock()
		if l.valid(pred, cur) {
			ok := cur.key == k
			if ok {
				cur.gone.Store(true)
				pred.next.Store(cur.next.Load())
			}
			cur.mu.Unlock()
			pred.mu.Unlock()
			return ok
		}
		cur.mu.Unlock()
		pred.mu.Unlock()
	}
}

func (l *LazyList) Contains(k int) bool {
	_, cur := l.find(k)
	return cur.key == k && !cur.gone.Load()
}

// Skip is a skip list of two levels with a lock for writers: odd keys are on the upper one, too.
// Add of the bad one looks for the key before it has the lock.
type Skip struct {
	bad          bool
	mu           sync.Mutex
	upper, lower [4]atomic.Bool
}

func newSkip(bad bool) *Skip { return &Skip{bad: bad} }

func (s *Skip) Add(k int) bool {
	was := s.bad && s.lower[k].Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.bad {
		was = s.lower[k].Load()
	}
	s.lower[k].Store(true)
	s.upper[k].Store(k%2 == 1)
	return !was
}

func (s *Skip) Remove(k int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.upper[k].Store(false)
	return s.lower[k].Swap(false)
}

func (s *Skip) Contains(k int) bool { return s.upper[k].Load() || s.lower[k].Load() }

// Bits is a set of small numbers in a word. The bad one sets a bit in two steps.
type Bits struct {
	bad bool
	w   atomic.Uint32
}

func newBits(bad bool) *Bits { return &Bits{bad: bad} }

func (b *Bits) Add(k int) {
	if b.bad {
		b.w.Store(b.w.Load() | 1<<k)
	} else {
		b.w.Or(1 << k)
	}
}

func (b *Bits) Contains(k int) bool { return b.w.Load()>>k&1 == 1 }

// RW is a set with a lock for readers and writers. AddAll of the bad one has the lock for one
// key at a time.
type RW struct {
	bad bool
	mu  sync.RWMutex
	m   map[int]bool
}

func newRW(bad bool) *RW { return &RW{bad: bad, m: map[int]bool{}} }

func (s *RW) AddAll() {
	s.mu.Lock()
	s.m[1] = true
	if s.bad {
		s.mu.Unlock()
		s.mu.Lock()
	}
	s.m[2] = true
	s.mu.Unlock()
}

func (s *RW) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.m)
}
