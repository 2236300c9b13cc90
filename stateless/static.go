package stateless

import (
	"cpor/system"
)

// option is a transition that is enabled in the present state.
type option struct {
	thread, acc0, acc1 int
	alt                uint64
	multi              bool
}

// staticChoice holds what is known of the present state: the enabled
// transitions, and each thread's next accesses, those of the guard if it is
// blocked.
type staticChoice struct {
	options []option
	acc     []system.Access
	from    []int // by thread: where its accesses begin
	chosen  []bool
	best    []bool
	work    []int
	enabled []int // by thread: how many alternatives
	owner   map[system.Loc]int
	locks   []system.Loc
}

// chooseStatic adds to c what is to be explored behind it, all at once:
// everything that is enabled, or a persistent set, without what is asleep.
func (w *worker) chooseStatic(c *node) (*node, end) {
	s := &w.static
	if w.visible != nil && w.path.len() > 0 && w.visible.InvisibleNext(w.r.m, w.last) {
		w.out = w.r.try(w.last, 0)
		w.taken = true
		c.add(w.newNode(w.last, 0, false))
		return c.takeChild(), 0
	}
	w.survey()
	if len(s.options) == 0 {
		return nil, maximal
	}
	if w.e.o.Reduction.persistent() {
		w.persistentSet()
	}
	var sleep []*node
	if w.e.o.Reduction.sleeps() {
		sleep = w.asleep(w.path.len())
	}
	for i := range s.options {
		op := &s.options[i]
		if w.e.o.Reduction.persistent() && !s.best[op.thread] || sleeping(sleep, op.thread, op.alt) != nil {
			continue
		}
		n := w.pool.get()
		n.thread, n.alt, n.multi = int32(op.thread), op.alt, op.multi
		n.acc = append(n.acc, s.acc[op.acc0:op.acc1]...)
		c.add(n)
	}
	if n := c.takeChild(); n != nil {
		return n, 0
	}
	return nil, asleep
}

// survey tries every alternative of every thread.
func (w *worker) survey() {
	s := &w.static
	s.options, s.acc, s.from, s.enabled = s.options[:0], s.acc[:0], s.from[:0], s.enabled[:0]
	w.stuck = w.stuck[:0]
	for t := range w.r.m.NumThreads() {
		s.from = append(s.from, len(s.acc))
		s.enabled = append(s.enabled, 0)
		for alt := uint64(0); ; {
			out := w.r.try(t, alt)
			at := len(s.acc)
			s.acc = append(s.acc, w.r.m.Accesses()...)
			if out.Kind != system.Moved {
				if out.Kind == system.Blocked {
					w.stuck = append(w.stuck, t)
				}
				break
			}
			w.r.undo()
			s.enabled[t]++
			s.options = append(s.options, option{thread: t, alt: alt, acc0: at, acc1: len(s.acc), multi: alt != 0 || out.Next != 0})
			if out.Next == 0 {
				break
			}
			alt = out.Next
		}
	}
	s.from = append(s.from, len(s.acc))
}

// persistentSet finds the threads whose enabled transitions are a persistent
// set, by Stoller's algorithm 2-LD (2002, section 6): beginning with an enabled
// thread, it takes in each thread that might be the first to interfere, in its
// future, with what a thread of the set does next, or waits for. The smallest
// result over all enabled threads counts.
//
// What the paper's algorithm bounds with the help of the lockset algorithm, the
// objects that a thread's next invisible transition may use, is known exactly
// here: the transition has been tried.
func (w *worker) persistentSet() {
	s := &w.static
	threads := len(s.enabled)
	if cap(s.chosen) < threads {
		s.chosen, s.best = make([]bool, 2*threads), make([]bool, 2*threads)
	}
	s.chosen, s.best = s.chosen[:threads], s.best[:threads]
	futures, ok := system.As[system.Futures](w.r.m)
	if !ok {
		for t := range s.best {
			s.best[t] = true
		}
		return
	}
	w.findOwners()
	size := 0
	for seed := range threads {
		if s.enabled[seed] == 0 {
			continue
		}
		clear(s.chosen)
		s.chosen[seed] = true
		s.work = append(s.work[:0], seed)
		n := s.enabled[seed]
		for len(s.work) > 0 && (size == 0 || n < size) {
			t := s.work[len(s.work)-1]
			s.work = s.work[:len(s.work)-1]
			for u := range threads {
				if s.chosen[u] || !w.interferes(futures.Future(u), u, t) {
					continue
				}
				s.chosen[u] = true
				n += s.enabled[u]
				s.work = append(s.work, u)
			}
		}
		if size == 0 || n < size {
			size = n
			s.chosen, s.best = s.best, s.chosen
		}
	}
}

// findOwners finds out who owns which locks in the present state.
func (w *worker) findOwners() {
	s := &w.static
	clear(s.owner)
	m, ok := system.As[system.Locking](w.r.m)
	if !ok {
		return
	}
	if s.owner == nil {
		s.owner = map[system.Loc]int{}
	}
	for t := range s.enabled {
		s.locks = m.Held(t, s.locks)
		for _, l := range s.locks {
			s.owner[l] = t
		}
	}
}

// interferes tells whether thread u, whose future is f, might be the first to
// do something that depends on what thread t does next.
//
// For the owner of a lock that is the paper's figure 3: while a thread owns the
// lock, nobody else can do anything with it, so that its owner's next operation
// has nothing to fear, and who waits for the lock has to fear its owner only.
func (w *worker) interferes(f *system.Footprint, u, t int) bool {
	s := &w.static
	for _, a := range s.acc[s.from[t]:s.from[t+1]] {
		if owner, ok := s.owner[a.Loc]; ok && owner != u && !w.e.obs.Has(u) {
			continue
		}
		if f.MayWrite(a.Loc) || a.Write && f.MayRead(a.Loc) {
			return true
		}
	}
	return false
}
