package racetest

import "slices"

// clock is a vector clock: how many steps of each thread are known of.
type clock []int

func join(a, b clock) clock {
	c := slices.Clone(a)
	for i, x := range b {
		c[i] = max(c[i], x)
	}
	return c
}

// pending is a statement that a thread still has to execute. again marks the
// second half of a wait.
type pending struct {
	stmt
	again bool
}

type thread struct {
	exists bool
	todo   []pending
	local  int
	notify bool // it waits and was notified, or signaled
	depth  [numMons]int
	saved  int
	clock  clock
	signal clock // of who has signaled it
}

type access struct {
	thread, time       int
	write, indivisible bool
}

type message struct{ clock clock }

// world is a state with the clocks of the execution that led there. It is
// copied for each step.
type world struct {
	threads []thread
	data    [numData]int
	past    [numData][]access
	comm    [numComm]int
	owner   [numLocks]int // thread + 1
	inside  [numMons]int
	sems    [numSems]int
	writer  bool // of the rwmutex
	readers int
	group   int
	queue   [numChans][]message
	closed  [numChans]bool

	// what has been released up to now
	dataClock  [numData]clock // by indivisible writes
	commClock  [numComm]clock
	lockClock  [numLocks]clock
	monClock   [numMons]clock
	semClock   [numSems]clock
	rwClock    [2]clock // by whom it had for writing, and for reading
	groupClock clock
	closeClock [numChans]clock
	received   [numChans][]clock // of the k-th receive
	sent       [numChans]int
}

func (w *world) clone() *world {
	c := *w
	c.threads = slices.Clone(w.threads)
	for i := range c.threads {
		c.threads[i].todo = slices.Clip(c.threads[i].todo)
	}
	for i := range c.past {
		c.past[i] = slices.Clip(w.past[i])
	}
	for i := range c.queue {
		c.queue[i] = slices.Clip(w.queue[i])
		c.received[i] = slices.Clip(w.received[i])
	}
	return &c
}

// Racy returns which data variables, x0 to x2, have a data race in some
// execution. ok is false if there are more than so many steps in all executions
// together.
func (p *Program) Racy(most int) (racy map[string]bool, ok bool) {
	n := len(p.threads)
	w := &world{sems: p.initial}
	zero := make(clock, n)
	for i := range n {
		t := thread{exists: i != p.created, clock: zero}
		for _, s := range p.threads[i] {
			t.todo = append(t.todo, pending{stmt: s})
		}
		w.threads = append(w.threads, t)
	}
	for i := range w.dataClock {
		w.dataClock[i] = zero
	}
	for i := range w.commClock {
		w.commClock[i] = zero
	}
	for i := range w.lockClock {
		w.lockClock[i] = zero
	}
	for i := range w.monClock {
		w.monClock[i] = zero
	}
	for i := range w.semClock {
		w.semClock[i] = zero
	}
	for i := range w.closeClock {
		w.closeClock[i] = zero
	}
	w.rwClock, w.groupClock = [2]clock{zero, zero}, zero
	e := &explorer{left: most, racy: map[string]bool{}}
	for t := range n {
		w.skipLocal(t)
	}
	e.explore(w)
	return e.racy, e.left >= 0
}

type explorer struct {
	left int
	racy map[string]bool
}

// explore runs all executions from w on.
func (e *explorer) explore(w *world) {
	if e.left--; e.left < 0 {
		return
	}
	for t := range w.threads {
		if !w.threads[t].exists || len(w.threads[t].todo) == 0 {
			continue
		}
		for _, next := range e.steps(w, t) {
			next.skipLocal(t)
			e.explore(next)
		}
	}
}

// skipLocal executes what is not a step.
func (w *world) skipLocal(t int) {
	th := &w.threads[t]
	for len(th.todo) > 0 && th.todo[0].kind == ifLocal {
		th.todo = w.unfold(th.todo[0].stmt, th.todo[1:], th.local)
	}
}

func (w *world) unfold(s stmt, rest []pending, local int) []pending {
	var todo []pending
	if local != 0 {
		for _, b := range s.body {
			todo = append(todo, pending{stmt: b})
		}
	}
	return append(todo, rest...)
}

// steps returns what thread t can do next: no world if it is blocked.
func (e *explorer) steps(w *world, t int) []*world {
	first := w.threads[t].todo[0]
	if first.kind == atomic {
		return e.block(w, t, first.body)
	}
	var all []*world
	for _, r := range e.step(w, t, first, false) {
		if !r.failed {
			th := &r.w.threads[t]
			th.todo = append(slices.Clone(r.instead), th.todo[1:]...)
		} else {
			r.w.threads[t].todo = nil
		}
		r.w.commit(e, t, &r)
		all = append(all, r.w)
	}
	return all
}

// result is what one way to execute a statement leads to, with what the step has
// acquired, accessed and released.
type result struct {
	w       *world
	failed  bool
	instead []pending // follows
	acquire clock
	access  []access // thread is the variable here
	// release is called with the step's clock.
	release []func(w *world, c clock)
}

// commit gives the step its clock, checks its accesses and releases.
func (w *world) commit(e *explorer, t int, r *result) {
	th := &w.threads[t]
	c := slices.Clone(th.clock)
	if r.acquire != nil {
		c = join(c, r.acquire)
	}
	c[t]++
	th.clock = c
	for _, a := range r.access {
		for _, old := range w.past[a.thread] {
			if old.thread != t && (old.write || a.write) && !(old.indivisible && a.indivisible) &&
				old.time > c[old.thread] {
				e.racy["x"+string(rune('0'+a.thread))] = true
			}
		}
	}
	for _, a := range r.access {
		w.past[a.thread] = append(w.past[a.thread], access{t, c[t], a.write, a.indivisible})
	}
	for _, f := range r.release {
		f(w, c)
	}
	if r.failed {
		// A thread that fails in a monitor leaves it.
		for m := range w.inside {
			if w.inside[m] == t+1 {
				w.inside[m] = 0
				th.depth[m] = 0
				w.monClock[m] = join(w.monClock[m], c)
			}
		}
	}
}

// block executes an atomic block as one step: each way through it.
func (e *explorer) block(w *world, t int, body []stmt) []*world {
	type partial struct {
		r    result
		todo []stmt
	}
	var all []*world
	open := []partial{{result{w: w.clone()}, body}}
	for len(open) > 0 {
		p := open[len(open)-1]
		open = open[:len(open)-1]
		if len(p.todo) == 0 || p.r.failed {
			if p.r.failed {
				p.r.w.threads[t].todo = nil
			} else {
				todo := p.r.w.threads[t].todo
				p.r.w.threads[t].todo = todo[1:]
			}
			p.r.w.commit(e, t, &p.r)
			all = append(all, p.r.w)
			continue
		}
		s := p.todo[0]
		if s.kind == ifLocal {
			if p.r.w.threads[t].local != 0 {
				p.todo = append(slices.Clone(s.body), p.todo[1:]...)
			} else {
				p.todo = p.todo[1:]
			}
			open = append(open, p)
			continue
		}
		for _, r := range e.step(p.r.w, t, pending{stmt: s}, true) {
			if r.acquire != nil && p.r.acquire != nil {
				r.acquire = join(r.acquire, p.r.acquire)
			} else if p.r.acquire != nil {
				r.acquire = p.r.acquire
			}
			r.access = append(slices.Clone(p.r.access), r.access...)
			r.release = append(slices.Clone(p.r.release), r.release...)
			open = append(open, partial{r, p.todo[1:]})
		}
	}
	return all
}

// step executes one statement of thread t on copies of w: one for each way.
func (e *explorer) step(w *world, t int, s pending, inAtomic bool) []result {
	r := result{w: w.clone()}
	n := r.w
	th := &n.threads[t]
	a := s.arg
	data := func(write, indivisible bool) {
		indivisible = indivisible || inAtomic
		r.access = append(r.access, access{thread: a, write: write, indivisible: indivisible})
		if !indivisible {
			return
		}
		if write {
			r.release = append(r.release, func(w *world, c clock) {
				w.dataClock[a] = join(w.dataClock[a], c)
			})
		}
	}
	acquire := func(c clock) {
		if r.acquire == nil {
			r.acquire = c
		} else {
			r.acquire = join(r.acquire, c)
		}
	}
	release := func(f func(w *world, c clock)) { r.release = append(r.release, f) }
	releaseComm := func() {
		release(func(w *world, c clock) { w.commClock[a] = join(w.commClock[a], c) })
	}
	releaseMon := func(m int) {
		release(func(w *world, c clock) { w.monClock[m] = join(w.monClock[m], c) })
	}
	switch s.kind {
	case read:
		th.local = n.data[a]
		data(false, false)
		if inAtomic {
			acquire(w.dataClock[a])
		}
	case write:
		n.data[a] = 1
		data(true, false)
	case swapData:
		th.local = 1 - n.data[a]
		data(n.data[a] == 0, true)
		n.data[a] = 1
		acquire(w.dataClock[a])
	case load:
		th.local = n.comm[a]
		acquire(w.commClock[a])
	case store:
		n.comm[a] = 1
		releaseComm()
	case swap:
		th.local = 1 - n.comm[a]
		acquire(w.commClock[a])
		if n.comm[a] == 0 {
			n.comm[a] = 1
			releaseComm()
		}
	case lock:
		if n.owner[a] != 0 {
			return nil
		}
		n.owner[a] = t + 1
		acquire(w.lockClock[a])
	case unlock:
		n.owner[a] = 0
		release(func(w *world, c clock) { w.lockClock[a] = join(w.lockClock[a], c) })
	case tryLock, tryWLock, tryRLock:
		th.local = 0
		switch {
		case s.kind == tryLock && n.owner[a] == 0:
			n.owner[a] = t + 1
			acquire(w.lockClock[a])
		case s.kind == tryWLock && !n.writer && n.readers == 0:
			n.writer = true
			acquire(w.rwClock[0])
			acquire(w.rwClock[1])
		case s.kind == tryRLock && !n.writer:
			n.readers++
			acquire(w.rwClock[0])
		default:
			return []result{r}
		}
		th.local = 1
	case wlock:
		if n.writer || n.readers > 0 {
			return nil
		}
		n.writer = true
		acquire(w.rwClock[0])
		acquire(w.rwClock[1])
	case rlock:
		if n.writer {
			return nil
		}
		n.readers++
		acquire(w.rwClock[0])
	case wunlock:
		n.writer = false
		release(func(w *world, c clock) { w.rwClock[0] = join(w.rwClock[0], c) })
	case runlock:
		n.readers--
		release(func(w *world, c clock) { w.rwClock[1] = join(w.rwClock[1], c) })
	case addGroup, doneGroup:
		by := 1
		if s.kind == doneGroup {
			by = -1
		}
		if n.group+by < 0 {
			r.failed = true
			break
		}
		n.group += by
		release(func(w *world, c clock) { w.groupClock = join(w.groupClock, c) })
	case waitGroup:
		if n.group != 0 {
			return nil
		}
		acquire(w.groupClock)
	case waitCond:
		if !s.again {
			n.owner[a], th.notify = 0, false
			r.instead = []pending{{s.stmt, true}}
			release(func(w *world, c clock) { w.lockClock[a] = join(w.lockClock[a], c) })
			break
		}
		if !th.notify || n.owner[a] != 0 {
			return nil
		}
		n.owner[a] = t + 1
		acquire(w.lockClock[a])
		acquire(w.threads[t].signal)
	case signal, broadcast:
		var woken []result
		all := r
		all.w = n.clone()
		for u := range n.threads {
			x := &n.threads[u]
			if len(x.todo) == 0 || x.todo[0].kind != waitCond || !x.todo[0].again || x.notify {
				continue
			}
			tells := func(w *world, c clock) { w.threads[u].signal = c }
			one := r
			one.w = n.clone()
			one.w.threads[u].notify = true
			one.release = append(slices.Clone(r.release), tells)
			woken = append(woken, one)
			all.w.threads[u].notify = true
			all.release = append(slices.Clone(all.release), tells)
		}
		if s.kind == broadcast || len(woken) == 0 {
			return []result{all}
		}
		return woken
	case enter:
		switch n.inside[a] {
		case 0:
			acquire(w.monClock[a])
		case t + 1:
		default:
			return nil
		}
		n.inside[a] = t + 1
		th.depth[a]++
	case exit:
		if th.depth[a]--; th.depth[a] == 0 {
			n.inside[a] = 0
			releaseMon(a)
		}
	case waitFor:
		if !s.again {
			th.saved, th.depth[a], n.inside[a], th.notify = th.depth[a], 0, 0, false
			r.instead = []pending{{s.stmt, true}}
			releaseMon(a)
			break
		}
		if !th.notify || n.inside[a] != 0 {
			return nil
		}
		th.depth[a], n.inside[a] = th.saved, t+1
		acquire(w.monClock[a])
	case notify, notifyAll:
		var waiting []int
		for u := range n.threads {
			x := &n.threads[u]
			if len(x.todo) > 0 && x.todo[0].kind == waitFor && x.todo[0].again && !x.notify {
				waiting = append(waiting, u)
			}
		}
		if s.kind == notifyAll {
			for _, u := range waiting {
				n.threads[u].notify = true
			}
			break
		}
		if len(waiting) == 0 {
			break
		}
		var one []result
		for _, u := range waiting {
			c := r
			c.w = n.clone()
			c.w.threads[u].notify = true
			one = append(one, c)
		}
		return one
	case up:
		n.sems[a]++
		release(func(w *world, c clock) { w.semClock[a] = join(w.semClock[a], c) })
	case down:
		if n.sems[a] == 0 {
			return nil
		}
		n.sems[a]--
		acquire(w.semClock[a])
	case await:
		if n.comm[a] == 0 {
			return nil
		}
		acquire(w.commClock[a])
	case awaitData:
		if n.data[a] == 0 {
			return nil
		}
		data(false, false)
		if inAtomic {
			acquire(w.dataClock[a])
		}
	case create:
		n.threads[a].exists = true
		release(func(w *world, c clock) { w.threads[a].clock = c })
	case closing:
		if n.closed[a] {
			r.failed = true
			break
		}
		n.closed[a] = true
		release(func(w *world, c clock) { w.closeClock[a] = join(w.closeClock[a], c) })
	case send:
		return e.sends(w, t, a)
	case receive:
		return e.receives(w, t, a)
	case selecting:
		return append(e.receives(w, t, a), e.receives(w, t, s.other)...)
	case selectSend, tryReceive:
		var rs []result
		if s.kind == selectSend {
			rs = e.sends(w, t, a)
		} else {
			rs = e.receives(w, t, a)
		}
		if len(rs) == 0 || capacity[a] == 0 && !n.closed[a] {
			// There is no partner, or not yet: default.
			rs = append(rs, r)
		}
		return rs
	}
	return []result{r}
}

// sends returns the ways to send to channel q.
func (e *explorer) sends(w *world, t, q int) []result {
	r := result{w: w.clone()}
	n := r.w
	if n.closed[q] {
		r.failed = true
		return []result{r}
	}
	if capacity[q] == 0 {
		return e.meet(w, t, q, func(s stmt) bool {
			return s.kind == receive && s.arg == q || s.kind == selecting &&
				(s.arg == q || s.other == q)
		}, false)
	}
	if len(n.queue[q]) == capacity[q] {
		return nil
	}
	k := n.sent[q]
	n.sent[q]++
	if before := k - capacity[q]; before >= 0 {
		r.acquire = n.received[q][before]
	}
	n.queue[q] = append(n.queue[q], message{})
	r.release = append(r.release, func(w *world, c clock) {
		w.queue[q] = slices.Clone(w.queue[q])
		// In an atomic block, it may have been received again.
		if i := k - len(w.received[q]); i >= 0 && i < len(w.queue[q]) {
			w.queue[q][i].clock = c
		}
	})
	return []result{r}
}

// receives returns the ways to receive from channel q.
func (e *explorer) receives(w *world, t, q int) []result {
	r := result{w: w.clone()}
	n := r.w
	if capacity[q] == 0 {
		if n.closed[q] {
			n.threads[t].local = 0
			r.acquire = n.closeClock[q]
			return []result{r}
		}
		return e.meet(w, t, q, func(s stmt) bool {
			return (s.kind == send || s.kind == selectSend) && s.arg == q
		}, true)
	}
	if len(n.queue[q]) == 0 {
		if !n.closed[q] {
			return nil
		}
		n.threads[t].local = 0
		r.acquire = n.closeClock[q]
		return []result{r}
	}
	r.acquire = n.queue[q][0].clock
	n.queue[q] = n.queue[q][1:]
	n.threads[t].local = 1
	k := len(n.received[q])
	n.received[q] = append(n.received[q], nil)
	r.release = append(r.release, func(w *world, c clock) {
		w.received[q] = slices.Clone(w.received[q])
		w.received[q][k] = c
	})
	return []result{r}
}

// meet returns the ways to meet a thread at the other side of a channel without
// a buffer. Both take their step at once; who has a default cannot be parked
// there.
func (e *explorer) meet(w *world, t, q int, other func(s stmt) bool, receives bool) []result {
	var all []result
	for u := range w.threads {
		if u == t || !w.threads[u].exists || len(w.threads[u].todo) == 0 {
			continue
		}
		s := w.threads[u].todo[0].stmt
		if !other(s) || s.kind == selectSend || s.kind == tryReceive {
			continue
		}
		r := result{w: w.clone()}
		n := r.w
		r.acquire = n.threads[u].clock
		n.threads[u].todo = n.threads[u].todo[1:]
		if receives {
			n.threads[t].local = 1
		} else {
			n.threads[u].local = 1
		}
		r.release = append(r.release, func(w *world, c clock) {
			w.threads[u].clock = join(w.threads[u].clock, c)
			w.skipLocal(u)
		})
		all = append(all, r)
	}
	return all
}
