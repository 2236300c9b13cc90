package search

import (
	"errors"
	"sync"

	"cpor/internal/probe"
	"cpor/statestore"
	"cpor/system"
	"cpor/testkit/sabotage"
	"cpor/workers"
)

// memoryPlace is the place of a search that keeps all it covers in memory.
type memoryPlace struct{ *run }

// join implements [place].
func (p memoryPlace) join(w *worker) destination {
	d := inMemory{w: w, session: p.store.NewSession()}
	if !p.store.Loadable() {
		return &carrying{inMemory: d}
	}
	session, ok := d.session.(statestore.Deferring)
	if !ok || sabotage.Is("search/queue") {
		return &d
	}
	x := &deferred{inMemory: d, session: session, patient: !p.again}
	x.arrive = w.arrived
	if w.hook == nil {
		x.numbering, _ = d.session.(statestore.Numbering)
	}
	return x
}

// search implements [place].
func (p memoryPlace) search(res *Result, fresh bool) (*Result, error) {
	return p.alone(res, fresh, p.explore)
}

// explore runs a pool, and another one if the states are moved to another store meanwhile.
func (p memoryPlace) explore(report func(queued int)) error {
	for {
		po := workers.Options{Report: report}
		if p.whole != nil {
			pause := make(chan struct{})
			p.whole.pause = sync.OnceFunc(func() { close(pause) })
			po.Pause = pause
		}
		err := p.work(p.watch.Context(), po)
		if p.whole == nil || !errors.Is(err, workers.ErrPaused) {
			return err
		}
		if err := p.full(p.moveStates()); err != nil {
			return err
		}
	}
}

// covered implements [place].
func (p memoryPlace) covered() uint64 { return p.store.Len() - p.copies }

// waiting implements [place].
func (p memoryPlace) waiting() int { return 0 }

// figures implements [place].
func (p memoryPlace) figures(*Result) {}

// past implements [place].
func (p memoryPlace) past() (history, func(*finding), func() error) {
	return p.store.NewSession(), func(*finding) {}, func() error { return nil }
}

// inMemory inserts the end of a move at once.
type inMemory struct {
	w       *worker
	session statestore.Session
}

// Take implements [destination]. An item that carries its state is not covered yet: another rank
// has sent it.
func (d *inMemory) Take(b *statestore.Batch, i int) (bool, error) {
	w := d.w
	if s := b.State(i); s != nil {
		return false, d.accept(b.Depth, b.Refs[i], s)
	}
	w.buf = d.session.Load(w.ref, w.buf)
	w.state = w.buf
	return true, nil
}

// accept covers a state that was found elsewhere, like the end of a move.
func (d *inMemory) accept(depth int, parent statestore.Ref, s system.State) error {
	d.w.depth = depth
	ref, added, err := d.session.Insert(s, parent)
	if added && err == nil {
		err = d.w.arrived(ref)
	}
	return err
}

// Cover implements [destination].
func (d *inMemory) Cover(m *Move) (statestore.Ref, outcome, error) {
	return inserted(d.session.Insert(m.End, d.w.ref))
}

// inserted returns the outcome of inserting a state into a store.
func inserted(ref statestore.Ref, added bool, err error) (statestore.Ref, outcome, error) {
	switch {
	case err != nil:
		return 0, isFull, err
	case added:
		return ref, isNew, nil
	}
	return ref, wasKnown, nil
}

// CoverNow implements [destination].
func (d *inMemory) CoverNow(m *Move) (statestore.Ref, outcome, error) {
	return inserted(d.session.Insert(m.End, d.w.ref))
}

// Initial implements [destination].
func (d *inMemory) Initial(s system.State) (statestore.Ref, outcome, error) {
	return inserted(d.session.Insert(s, 0))
}

// Flush implements [destination].
func (d *inMemory) Flush(bool) error { return nil }

// Queue implements [destination].
func (d *inMemory) Queue(ref statestore.Ref, _ *Move) { d.w.out.Add(d.w.depth, ref) }

// Idle implements [destination].
func (d *inMemory) Idle() {}

// Find implements [destination].
func (d *inMemory) Find(s system.State) (is, known bool) {
	_, is = d.session.Find(s)
	return is, true
}

// Parent implements [destination].
func (d *inMemory) Parent() uint64 { return uint64(d.w.ref) }

// Trail implements [destination].
func (d *inMemory) Trail() *statestore.Trail { return nil }

// Numbered implements [destination].
func (d *inMemory) Numbered() Numbered { return nil }

// carrying is inMemory for a store from which states cannot be loaded. An item of the work set
// carries its state and its trail.
type carrying struct {
	inMemory
	parent *statestore.Trail
	trail  *statestore.Trail // parent with the state that is expanded; made on demand
}

// Take implements [destination].
func (d *carrying) Take(b *statestore.Batch, i int) (bool, error) {
	d.w.state, d.parent, d.trail = b.State(i), b.Trail(i), nil
	return true, nil
}

// Queue implements [destination].
func (d *carrying) Queue(ref statestore.Ref, m *Move) {
	d.w.out.AddState(d.w.depth, ref, m.End, d.Trail())
}

// Trail implements [destination].
func (d *carrying) Trail() *statestore.Trail {
	if d.trail == nil {
		d.trail = &statestore.Trail{Parent: d.parent, Ref: d.w.ref}
	}
	return d.trail
}

// settleAt is how many moves may be deferred before they are settled, if they may wait for those
// of other states. With more of them, memory has more time to answer, but they may have left the
// caches.
const settleAt = 32

// deferred begins many insertions before it completes them, so that the memory each one needs
// has been prefetched.
type deferred struct {
	inMemory
	session   statestore.Deferring
	numbering statestore.Numbering // session, if it is one and no one else asks for moves
	arrive    func(statestore.Ref) error
	open      int // moves that are to be settled
	// patient: they may wait until other states of the batch are expanded. Not in a search that
	// can be interrupted and continue, where an end that waits could be lost.
	patient bool
}

// Take implements [destination].
func (d *deferred) Take(b *statestore.Batch, i int) (bool, error) {
	s := b.State(i)
	if s == nil {
		return d.inMemory.Take(b, i)
	}
	d.w.depth = b.Depth
	ok, err := d.session.Defer(s, b.Refs[i], nil)
	if ok {
		d.open++
	} else if err == nil {
		err = d.accept(b.Depth, b.Refs[i], s)
	}
	if err == nil {
		err = d.Flush(i == b.Len()-1)
	}
	return false, err
}

// Cover implements [destination].
func (d *deferred) Cover(m *Move) (statestore.Ref, outcome, error) {
	ok, err := d.session.Defer(m.End, d.w.ref, m.Changed)
	switch {
	case !ok:
		return d.inMemory.Cover(m)
	case err != nil:
		return 0, isFull, err
	}
	d.open++
	return 0, isElsewhere, nil
}

// Flush implements [destination].
func (d *deferred) Flush(last bool) error {
	if d.open > 0 && (!d.patient || d.open >= settleAt || last) {
		return d.settle()
	}
	return nil
}

// settle covers the ends of the deferred moves.
func (d *deferred) settle() error {
	d.open = 0
	return d.session.Settle(d.arrive)
}

// settleInto is settle when no pool runs.
func (d *deferred) settleInto(ws *statestore.WorkSet) error {
	w := d.w
	b := ws.Get(w.id)
	b.Depth = w.depth
	d.open = 0
	err := d.session.Settle(func(ref statestore.Ref) error {
		w.maxDepth = max(w.maxDepth, w.depth)
		b.Add(ref)
		w.count()
		return w.err
	})
	ws.Push(w.id, b)
	return err
}

// Find implements [destination].
func (d *deferred) Find(s system.State) (is, known bool) {
	if d.open > 0 { // of other states
		d.w.fail(d.settle())
	}
	return d.inMemory.Find(s)
}

// Numbered implements [destination].
func (d *deferred) Numbered() Numbered {
	if d.numbering == nil {
		return nil
	}
	return d
}

// Numbers implements [Numbered].
func (d *deferred) Numbers() []uint32 { return d.numbering.Numbers(d.w.ref, len(d.w.state)) }

// Parts implements [Numbered].
func (d *deferred) Parts(word int32, mask uint64) uint32 {
	return d.numbering.Parts(len(d.w.state), word, mask)
}

// Ended implements [Numbered].
func (d *deferred) Ended() []uint32 { return d.numbering.Deferred(len(d.w.state)) }

// Stays implements [Numbered].
func (d *deferred) Stays([]int32) bool { return true }

// MoveNumbers implements [Numbered].
func (d *deferred) MoveNumbers(parts uint32, numbers *[statestore.MaxNumbers]uint32) {
	if d.w.err != nil {
		return
	}
	probe.Mark(probe.Covering)
	d.w.err = d.numbering.DeferNumbers(d.w.ref, parts, numbers)
	d.open++
	probe.Mark(probe.Expanding)
}
