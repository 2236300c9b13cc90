package coherence

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"time"
	"unsafe"

	"cpor/internal/probe"
)

// Simulation runs the workers of a pool one at a time, in the order of their clocks. It is a
// [probe.Observer].
type Simulation struct {
	costs    Costs
	segments table[time.Duration]
	local    time.Duration // local work of all workers
	memory   *memory
	locks    map[uintptr]*lock
	hot      [probe.Sites]Hot
	lines    [probe.Sites]map[uintptr]struct{} // that were transferred

	mu      sync.Mutex // guards begun
	begun   int
	live    bool // all workers have begun, and one has not ended
	workers []*clock
	running int
	// horizon is the earliest time of the workers that could run instead.
	horizon time.Duration
}

var _ probe.Observer = (*Simulation)(nil)

// state is what a worker is doing.
type state uint8

const (
	ready state = iota // runs, or waits for its turn
	parked
	locked // waits for a lock
	ended
)

// clock is a worker's.
type clock struct {
	now   time.Duration
	state state
	woken bool // Unpark came before Park
	last  probe.Site
	locks int           // held
	turn  chan struct{} // a token lets the worker run
}

// lock is a lock and who waits for it.
type lock struct {
	held  bool
	queue []int
}

// Hot is what the accesses at a site cost all workers beyond local work.
type Hot struct {
	Site      string        `json:"site"`
	Accesses  uint64        `json:"accesses"`
	Transfers uint64        `json:"transfers"`
	Lines     int           `json:"lines"` // that were transferred
	Moving    time.Duration `json:"moving_ns"`
	Waiting   time.Duration `json:"waiting_ns"` // for a line that is busy, or for a lock
}

// Result is what a simulation predicts.
type Result struct {
	Time time.Duration `json:"time_ns"` // from the beginning to the end of the last worker
	// Local, Moving, Waiting and Idle are the shares of the workers' time: local work, transfers
	// of lines, waiting for lines and locks, and having no work. They add up to 1.
	Local   float64 `json:"local"`
	Moving  float64 `json:"moving"`
	Waiting float64 `json:"waiting"`
	Idle    float64 `json:"idle"`
	Hot     []Hot   `json:"hot"` // sites that cost something, the most costly first
}

// NewSimulation returns a simulation of 1 to 64 workers.
func NewSimulation(workers int, costs Costs, segments Segments) *Simulation {
	workers = min(max(workers, 1), mostWorkers)
	s := &Simulation{costs: costs, memory: newMemory(workers, costs), locks: map[uintptr]*lock{}}
	for k, d := range segments {
		locks := 0
		if k.Locked {
			locks = 1
		}
		*s.segments.at(k.From, k.To, locks) = d
	}
	for range workers {
		s.workers = append(s.workers, &clock{turn: make(chan struct{}, 1)})
	}
	return s
}

// Watch observes a search with as many workers as the simulation has. Nothing else that announces
// accesses may run meanwhile.
func (s *Simulation) Watch(search func()) {
	// The workers take turns. On one processor that is a switch between goroutines.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer probe.Install(s)()
	search()
}

// Begin implements [probe.Observer].
func (s *Simulation) Begin(worker int) {
	s.mu.Lock()
	s.begun++
	if s.begun == len(s.workers) {
		s.live = true
		s.dispatch()
	}
	s.mu.Unlock()
	<-s.workers[worker].turn
}

// dispatch lets the ready worker with the earliest clock run; false if there is none.
func (s *Simulation) dispatch() bool {
	next := -1
	s.horizon = 1<<63 - 1
	for i, c := range s.workers {
		switch {
		case c.state != ready:
		case next < 0:
			next = i
		case c.now < s.workers[next].now:
			s.horizon, next = s.workers[next].now, i
		default:
			s.horizon = min(s.horizon, c.now)
		}
	}
	if next < 0 {
		return false
	}
	s.running = next
	s.workers[next].turn <- struct{}{}
	return true
}

// yield lets another worker run, and returns when the one that runs may run again.
func (s *Simulation) yield() {
	c := s.workers[s.running]
	if !s.dispatch() {
		// All sleep: the pool ends, or is stopped from outside.
		s.UnparkAll()
		s.dispatch()
	}
	<-c.turn
}

// work lets the running worker's clock run for the local work up to an access.
func (s *Simulation) work(site probe.Site) *clock {
	c := s.workers[s.running]
	d := *s.segments.at(c.last, site, c.locks)
	c.now, c.last = c.now+d, site
	s.local += d
	if c.now > s.horizon {
		s.yield()
	}
	return c
}

// pay charges the running worker for an access.
func (s *Simulation) pay(site probe.Site, p unsafe.Pointer, write bool) {
	c, n := s.workers[s.running], at(p)
	by := s.memory.access(s.running, n, write, c.now)
	c.now += by.total()
	h := &s.hot[site]
	h.Accesses++
	h.Moving += by.transfer
	h.Waiting += by.wait
	if by.moved {
		s.moved(site, n)
	}
}

// moved counts a transfer.
func (s *Simulation) moved(site probe.Site, n uintptr) {
	s.hot[site].Transfers++
	if s.lines[site] == nil {
		s.lines[site] = map[uintptr]struct{}{}
	}
	s.lines[site][n] = struct{}{}
}

// Access implements [probe.Observer].
func (s *Simulation) Access(site probe.Site, p unsafe.Pointer, write bool) {
	if !s.live { // before the workers begin, and after they have ended
		return
	}
	s.work(site)
	s.pay(site, p, write)
}

// Touch implements [probe.Observer].
func (s *Simulation) Touch(site probe.Site, p unsafe.Pointer) {
	if !s.live {
		return
	}
	c := s.work(site)
	if n := at(p); s.memory.touch(s.running, n, c.now) {
		s.moved(site, n)
	}
}

// Mark implements [probe.Observer].
func (s *Simulation) Mark(site probe.Site) {
	if s.live {
		s.work(site)
	}
}

// Lock implements [probe.Observer].
func (s *Simulation) Lock(site probe.Site, p unsafe.Pointer) {
	if !s.live {
		return
	}
	s.Access(site, p, true)
	k := uintptr(p)
	l := s.locks[k]
	if l == nil {
		l = &lock{}
		s.locks[k] = l
	}
	w := s.running
	c := s.workers[w]
	for l.held {
		from := c.now
		l.queue = append(l.queue, w)
		c.state = locked
		s.yield()
		s.hot[site].Waiting += c.now - from
		s.pay(site, p, true)
	}
	l.held = true
	c.locks++
}

// Unlock implements [probe.Observer].
func (s *Simulation) Unlock(site probe.Site, p unsafe.Pointer) {
	if !s.live {
		return
	}
	c := s.work(site)
	s.pay(site, p, true)
	c.last = probe.Unlocked // what comes now is not done with the lock held
	l := s.locks[uintptr(p)]
	l.held = false
	c.locks--
	if len(l.queue) > 0 {
		w := l.queue[0]
		l.queue = l.queue[1:]
		s.resume(w, c.now)
	}
}

// resume makes a worker ready at a time.
func (s *Simulation) resume(w int, now time.Duration) {
	c := s.workers[w]
	c.state = ready
	c.now = max(c.now, now)
	s.horizon = min(s.horizon, c.now)
}

// Pause implements [probe.Observer].
func (s *Simulation) Pause() {
	if !s.live {
		return
	}
	c := s.workers[s.running]
	c.now += s.costs.Pause
	c.last = probe.Start
	if c.now > s.horizon {
		s.yield()
	}
}

// Park implements [probe.Observer].
func (s *Simulation) Park(worker int) {
	c := s.workers[worker]
	if c.last = probe.Start; c.woken {
		c.woken = false
		return
	}
	c.state = parked
	s.yield()
	c.woken = false
}

// Unpark implements [probe.Observer].
func (s *Simulation) Unpark(worker int) {
	if s.workers[worker].state != parked {
		s.workers[worker].woken = true
		return
	}
	s.resume(worker, s.workers[s.running].now+s.costs.Wake)
}

// UnparkAll implements [probe.Observer].
func (s *Simulation) UnparkAll() {
	now := s.workers[s.running].now
	for w, c := range s.workers {
		if c.state == parked {
			s.resume(w, now)
		}
	}
}

// End implements [probe.Observer].
func (s *Simulation) End(worker int) {
	s.workers[worker].state = ended
	if s.dispatch() {
		return
	}
	s.UnparkAll()
	// Before the token is given away: from then on another worker decides.
	s.live = slices.ContainsFunc(s.workers, func(c *clock) bool { return c.state == ready })
	if s.live {
		s.dispatch()
	}
}

// Now implements [probe.Observer].
func (s *Simulation) Now() time.Duration { return s.workers[s.running].now }

// Result returns what was predicted, when the search has ended.
func (s *Simulation) Result() Result {
	var r Result
	for _, c := range s.workers {
		r.Time = max(r.Time, c.now)
	}
	var moving, waiting time.Duration
	for site, h := range s.hot {
		moving, waiting = moving+h.Moving, waiting+h.Waiting
		if h.Moving+h.Waiting > 0 {
			h.Site, h.Lines = probe.Site(site).String(), len(s.lines[site])
			r.Hot = append(r.Hot, h)
		}
	}
	if all := float64(r.Time) * float64(len(s.workers)); all > 0 {
		r.Local, r.Moving = float64(s.local)/all, float64(moving)/all
		r.Waiting = float64(waiting) / all
		r.Idle = 1 - r.Local - r.Moving - r.Waiting
	}
	slices.SortStableFunc(r.Hot, func(a, b Hot) int {
		return cmp.Compare(b.Moving+b.Waiting, a.Moving+a.Waiting)
	})
	return r
}
