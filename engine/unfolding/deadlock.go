package unfolding

import (
	"slices"

	"cpor/system"
)

// deadlocks looks for the configurations of a complete prefix after which no
// thread can move and one is blocked that must not be. found is given each of
// them once, and returns whether to continue.
//
// A thread is blocked in a state because of the values that its guard read: of
// each thread one condition and the conditions that it reads, all concurrent,
// such that what the thread does on them is to be blocked. That is searched for
// thread by thread; what one has read is pinned and must hold for the others.
// The next thread is one that made what was read last, or may make something else
// of it, for it must be stuck itself before it does.
type deadlocks struct {
	w     *worker
	obs   *system.Observers
	first uint32   // the first thread, by component, that is blocked and must not be
	stuck []uint32 // the threads that have been dealt with
	blame []uint32 // conditions that were pinned
	done  bool
	found func(c *config) bool
}

// search goes through the deadlocks of the prefix.
func (w *worker) searchDeadlocks(obs *system.Observers, found func(c *config) bool) {
	p := w.p
	w.e, w.c = p.events.n, w.c2
	for r := range p.roots {
		for i, x := range *p.comps.Load() {
			if !x.thread || obs.Has(int(x.number)) {
				continue
			}
			d := &deadlocks{w: w, obs: obs, first: uint32(i), found: found}
			w.c.reset(uint32(r))
			d.choose(d.first)
			if d.done || w.stop() {
				return
			}
		}
	}
}

// next chooses a thread that has not been dealt with; ok is false if there is
// none, and the configuration leads to a deadlock.
func (d *deadlocks) next() (thread uint32, ok bool) {
	p, c := d.w.p, d.w.c
	open := func(t uint32) bool {
		return p.cond(c.current(t)).value != nobody && !slices.Contains(d.stuck, t) &&
			!d.obs.Has(int(p.comp(t).number))
	}
	for _, b := range slices.Backward(d.blame) {
		x := p.cond(b)
		if !p.isRoot(x.event) {
			if t := p.thread(x.event); open(t) {
				return t, true
			}
		}
		for _, t := range p.comp(p.compOf(b)).writers {
			if open(t) {
				return t, true
			}
		}
	}
	for i, x := range *p.comps.Load() {
		if t := uint32(i); x.thread && open(t) {
			return t, true
		}
	}
	return 0, false
}

// choose tries the conditions of a thread in which it is stuck.
func (d *deadlocks) choose(t uint32) {
	d.stuck = append(d.stuck, t)
	d.conditions(d.w.c.current(t))
	d.stuck = d.stuck[:len(d.stuck)-1]
}

// conditions tries a condition of a thread and those made from it.
func (d *deadlocks) conditions(cond uint32) {
	w, p := d.w, d.w.p
	if d.done || w.stop() {
		return
	}
	x := p.cond(cond)
	if x.value != nobody {
		thread, l, path, values, end := w.thread, w.local, w.path, w.values, w.end
		w.path, w.values, w.end = nil, nil, d.end
		w.evaluate(cond)
		w.thread, w.local, w.path, w.values, w.end = thread, l, path, values, end
	}
	for k := x.kid; k != none; k = p.cond(k).sibling {
		m := w.c.mark()
		if w.c.join(p.cond(k).event) {
			d.conditions(k)
		}
		w.c.rewind(m)
	}
}

// end is called where what a thread does ends.
func (d *deadlocks) end(leaf uint32) {
	s := d.w.p.shape(d.w.p.leaf(leaf))
	if d.done || s.kind() == system.Moved {
		return
	}
	guilty := s.kind() == system.Blocked && !s.atEnd()
	if t := s.thread(); t == d.first && !guilty || t < d.first && guilty {
		return
	}
	n := len(d.blame)
	d.blame = append(d.blame, d.w.path...)
	if t, ok := d.next(); ok {
		d.choose(t)
	} else {
		d.done = !d.found(d.w.c)
	}
	d.blame = d.blame[:n]
}
