package portfolio

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"cpor/engine"
)

const (
	// shortest is the length of the first slice, longest of the last. Between them a
	// slice is a twentieth of the time so far, which the winner loses at most at its end.
	shortest = 2 * time.Millisecond
	longest  = 100 * time.Millisecond
	// sampleEvery is how often the ways tell how far they are.
	sampleEvery = 5 * time.Millisecond
	// leastStates is how many states or events a forecast needs.
	leastStates = 1000
	// patience is by how much a forecast may be short of the truth for its way to continue
	// alone.
	patience = 1.5
	// maxLead is how many times as much a way may have used as the other one because of what
	// waits there.
	maxLead = 8
)

// turns lets the ways explore in turns, each with all workers. The next is the one that will at
// least have used less time when it ends: what it has used, and for each state or event that
// waits what one took lately. Where a frontier explodes from the beginning, that is many times
// what it has used, and the other way has nearly all of the time. What has to be done is no more
// than what will have been done, so that the other one has used no more when a way ends than
// that way, as long as what waits is not cheaper than what was done; and it never gets more than
// maxLead times as much on that ground.
//
// When one of them can be seen to end soon, it continues alone: its frontier shrinks, so that what
// is left is a sum of a geometric series; it has done half of it or more by that forecast; and
// the other one can not be seen to end in twice that time. It does for the time that was
// forecast and half as much again. Has it not ended by then, or is no longer seen to end, the
// other one catches up before there is another such turn.
type turns struct {
	mu   sync.Mutex
	cond *sync.Cond
	now  atomic.Int32 // the way whose turn it is, everybody for all ways
	ways []*course
}

const everybody = -1

// course is what is known of a way.
type course struct {
	used    time.Duration // its turns
	samples []sample
	last    atomic.Pointer[engine.Progress]
	ended   atomic.Bool
}

// sample is how far a way was.
type sample struct {
	used        time.Duration
	found, done float64 // states or events, and those of them that are expanded
	queued      float64
}

func newTurns(ways int) *turns {
	t := &turns{ways: make([]*course, ways)}
	t.cond = sync.NewCond(&t.mu)
	for i := range t.ways {
		t.ways[i] = &course{}
	}
	t.now.Store(everybody)
	return t
}

// wait returns when it is the turn of a way.
func (t *turns) wait(way int) {
	if now := t.now.Load(); now == everybody || now == int32(way) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for now := t.now.Load(); now != everybody && now != int32(way); now = t.now.Load() {
		t.cond.Wait()
	}
}

// let says whose turn it is.
func (t *turns) let(way int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now.Store(int32(way))
	t.cond.Broadcast()
}

// end says that a way has ended: the others need not wait for it.
func (t *turns) end(way int) {
	t.ways[way].ended.Store(true)
	t.let(everybody)
}

// run gives two ways their turns until one has ended or ctx has.
func (t *turns) run(ctx context.Context) {
	defer t.let(everybody)
	tick := time.NewTimer(0)
	<-tick.C
	alone, until := -1, time.Duration(0) // the way that continues alone, until it has used so much
	for way := 0; ; {
		slice := min(max(shortest, (t.ways[0].used+t.ways[1].used)/20), longest)
		t.mu.Lock()
		if t.ways[0].ended.Load() || t.ways[1].ended.Load() {
			t.mu.Unlock()
			return
		}
		t.now.Store(int32(way))
		t.cond.Broadcast()
		t.mu.Unlock()
		from := time.Now()
		tick.Reset(slice)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		c := t.ways[way]
		c.used += time.Since(from)
		c.sample()
		way, alone, until = t.next(slice, alone, until)
	}
}

// next chooses the next way, and whether it continues alone.
func (t *turns) next(slice time.Duration, alone int, until time.Duration) (int, int,
	time.Duration) {
	a, b := t.ways[0], t.ways[1]
	if alone >= 0 {
		c := t.ways[alone]
		if c.used < until && c.left() < c.used {
			return alone, alone, until
		}
	}
	least := [2]time.Duration{a.least(), b.least()}
	for i, c := range t.ways {
		if least[i] > least[1-i]+slice {
			continue
		}
		left := c.left()
		if left <= c.used && 2*left <= t.ways[1-i].left() {
			return i, i, c.used + max(slice, time.Duration(patience*float64(left)))
		}
	}
	if least[1] < least[0] {
		return 1, -1, 0
	}
	return 0, -1, 0
}

// sample notes how far the way is.
func (c *course) sample() {
	p := c.last.Load()
	if p == nil {
		return
	}
	s := sample{used: c.used, queued: float64(p.Queued)}
	if p.States > 0 {
		s.found = float64(p.States)
		s.done = s.found - s.queued
	} else { // events
		s.done = float64(p.Transitions)
		s.found = s.done + s.queued
	}
	c.samples = append(c.samples, s)
}

// never is the time that is left where no end is to be seen.
const never = time.Duration(math.MaxInt64 / 4)

// lately returns the way's last sample, and the one when it had done two thirds of that; ok is
// false if there are none to tell anything by.
func (c *course) lately() (then, now sample, ok bool) {
	n := len(c.samples)
	if n < 2 || c.samples[n-1].found < leastStates {
		return then, now, false
	}
	now = c.samples[n-1]
	i := n - 2
	for i > 0 && c.samples[i].done > now.done*2/3 {
		i--
	}
	then = c.samples[i]
	return then, now, now.done > then.done
}

// least returns the least time that the way will have used when it ends, by what waits.
func (c *course) least() time.Duration {
	then, now, ok := c.lately()
	if !ok {
		return c.used
	}
	each := float64(now.used-then.used) / (now.done - then.done)
	return time.Duration(min(float64(c.used)+now.queued*each, maxLead*float64(c.used)))
}

// left forecasts how much time the way still takes.
func (c *course) left() time.Duration {
	then, now, ok := c.lately()
	if !ok {
		return never
	}
	done, found := now.done-then.done, now.found-then.found
	if found >= 0.9*done {
		return never
	}
	left := now.queued / (1 - found/done) / done * float64(now.used-then.used)
	return time.Duration(min(left, float64(never)))
}
