package stateless

import (
	"cpor/engine/lockset/persistent"
	"cpor/system"
)

// option is an enabled transition in the current state.
type option struct {
	thread, acc0, acc1 int
	alt                uint64
	multi              bool
}

// staticChoice holds the enabled transitions in the current state, and each thread's next
// accesses (of its guard, if it is blocked).
type staticChoice struct {
	options []option
	acc     []system.Access
	from    []int // by thread: where its accesses begin
	enabled []int // by thread: how many alternatives
	chooser *persistent.Chooser
	next    []persistent.Thread
	best    []bool // by thread: it belongs to the persistent set
}

// chooseStatic adds to c everything to be explored after it: all enabled transitions, or a
// persistent set, without those asleep.
func (w *worker) chooseStatic(c *node) (*node, end) {
	s := &w.static
	if w.visible != nil && w.path.len() > 0 && w.visible.InvisibleNext(w.r.m, w.last) {
		w.out = w.r.try(w.last, 0)
		w.taken = true
		c.add(w.newNode(w.last, 0, false))
		return c.takeChild(), 0
	}
	if !w.survey() {
		return nil, aborted
	}
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
		if w.e.o.Reduction.persistent() && !s.best[op.thread] || sleeping(sleep, op.thread,
			op.alt) != nil {
			continue
		}
		n := w.pool.get()
		n.thread, n.alt, n.multi = int32(op.thread), op.alt, op.multi
		n.touched = touch(append(n.acc, s.acc[op.acc0:op.acc1]...))
		c.add(n)
	}
	if n := c.takeChild(); n != nil {
		return n, 0
	}
	return nil, asleep
}

// survey tries every alternative of every thread. It returns false if the search should end
// first: there can be any number of them.
func (w *worker) survey() bool {
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
			s.options = append(s.options, option{thread: t, alt: alt, acc0: at, acc1: len(s.acc),
				multi: alt != 0 || out.Next != 0})
			if out.Next == 0 {
				break
			}
			if w.e.stopping.Load() {
				return false
			}
			alt = out.Next
		}
	}
	s.from = append(s.from, len(s.acc))
	return true
}

// persistentSet finds the threads whose enabled transitions are a persistent set. A thread's
// next transition is known exactly, because it has been tried.
func (w *worker) persistentSet() {
	s := &w.static
	if s.chooser == nil {
		s.chooser = persistent.NewChooser(w.e.sys)
	}
	s.next = s.next[:0]
	for t, n := range s.enabled {
		s.next = append(s.next, persistent.Thread{Accesses: s.acc[s.from[t]:s.from[t+1]],
			Weight: n})
	}
	s.best = s.chooser.Choose(w.r.m, s.next)
}
