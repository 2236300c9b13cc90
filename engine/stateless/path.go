package stateless

import (
	"cpor/system"
	"cpor/testkit/sabotage"
)

// event is a transition on a worker's path, with its place in the
// happens-before order of the execution.
type event struct {
	node    *node // belongs to others once the path is to go back before it
	thread  int32
	prev    int32 // the thread's event before, -1 if it is the first
	idx     int32 // counts the thread's events, from 1
	recs    int32 // where its records begin
	races   int32 // where its races begin
	settled bool  // its other alternatives are, as a race is
	// serial identifies executed transitions, so that another machine can find out how much of
	// its path is still the same.
	serial uint64
}

// race is a race of an event with an earlier one.
type race struct {
	event int32
	state raceState
	open  []insertion // if undecided
}

// raceState is what the executions with a race have shown about it, for all executions that go
// through its later event and then continue differently.
type raceState uint8

const (
	unsettled raceState = iota // nothing
	undecided                  // what to insert, but not whether it is explored anyway
	settled                    // what reverses it is explored
)

// insertion is something to insert: the execution without the roots, and then
// an alternative of the later event's thread.
type insertion struct {
	roots []int32
	last  step
}

// record is an access of an event on the path. The records of a location are
// chained from the newest on.
type record struct {
	loc       system.Loc
	write     bool
	op        system.Op
	event     int32
	prev      int32 // the location's record before, -1 if none
	lastWrite int32 // the location's newest record that is a write, this one included; -1
	before    int32 // of an operation: the record before it and the like ones just before it; -1
}

// path is the current execution of a worker: the transitions from the root, their sleep sets,
// and, for dynamic partial-order reduction, the happens-before order: the vector clocks of the
// events, and the earlier events that each one races with (Flanagan and Godefroid 2005, section
// 4; Abdulla et al. 2017, section 3).
//
// Everything is a stack, so going back costs as much as going forward, and nothing is allocated
// once the stacks have grown.
type path struct {
	root    *node
	events  []event
	steps   []step  // of the events
	sleep   []*node // the sleep sets, one after another
	sleepAt []int32 // by depth: where the sleep set begins

	hb     bool // keep the happens-before order
	stride int  // threads that a clock has room for
	// by event and thread: how many of the thread's events happen before (or are) it
	clocks   []int32
	lastOf   []int32 // by thread: its last event, -1
	recs     []record
	head     []int32 // by location: its newest record, -1
	raceList []race
	serial   uint64
	lowest   int // the shortest that it was since somebody asked
	cand     []int32
}

func (p *path) reset(root *node, hb bool) {
	p.truncate(0)
	p.root = root
	p.hb = hb
	p.sleep = p.sleep[:0]
	p.sleepAt = append(p.sleepAt[:0], 0)
}

func (p *path) len() int { return len(p.events) }

// node returns the node at a depth.
func (p *path) node(depth int) *node {
	if depth == 0 {
		return p.root
	}
	return p.events[depth-1].node
}

// asleep returns the sleep set at a depth without the left siblings.
func (p *path) asleep(depth int) []*node {
	if depth+1 < len(p.sleepAt) {
		return p.sleep[p.sleepAt[depth]:p.sleepAt[depth+1]]
	}
	return p.sleep[p.sleepAt[depth]:]
}

// push puts a transition onto the path. useSleep says to keep sleep sets: sleeping transitions
// and left siblings that are independent of it stay asleep.
func (p *path) push(c *node, useSleep bool) {
	from, to := p.sleepAt[len(p.events)], len(p.sleep)
	p.sleepAt = append(p.sleepAt, int32(to))
	if useSleep {
		for i := from; i < int32(to); i++ {
			p.sleepOn(p.sleep[i], c)
		}
		for x := c.parent.first; x != c; x = x.next {
			p.sleepOn(x, c)
		}
	}
	p.serial++
	p.steps = append(p.steps, c.step)
	p.events = append(p.events, event{node: c, thread: c.thread, serial: p.serial,
		recs: int32(len(p.recs)), races: int32(len(p.raceList))})
	if p.hb {
		p.order(c)
	}
}

// sleepOn keeps a transition x that sleeps before c asleep after c, if they are independent.
func (p *path) sleepOn(x, c *node) {
	if x.thread == c.thread || conflict(&x.touched, &c.touched) &&
		!sabotage.Is("sleep/never woken") {
		return
	}
	if x.operates && c.operates {
		if left := spent(x.acc, c.acc); &left[0] != &x.acc[0] {
			x = &node{step: x.step}
			x.acc = left
		}
	}
	p.sleep = append(p.sleep, x)
}

// truncate undoes all but the first n transitions.
func (p *path) truncate(n int) {
	p.lowest = min(p.lowest, n)
	for k := len(p.events) - 1; k >= n; k-- {
		ev := &p.events[k]
		if p.hb {
			for i := len(p.recs) - 1; i >= int(ev.recs); i-- {
				p.head[p.recs[i].loc] = p.recs[i].prev
			}
			p.recs = p.recs[:ev.recs]
			p.raceList = p.raceList[:ev.races]
			p.lastOf[ev.thread] = ev.prev
		}
	}
	if n < len(p.events) {
		p.events, p.steps = p.events[:n], p.steps[:n]
		p.sleep = p.sleep[:p.sleepAt[n+1]]
		p.sleepAt = p.sleepAt[:n+1]
		p.clocks = p.clocks[:n*p.stride]
	}
}

// clock returns the vector clock of an event.
func (p *path) clock(e int) []int32 { return p.clocks[e*p.stride : (e+1)*p.stride] }

// before reports whether event f happens before event e or is e.
func (p *path) before(f, e int) bool {
	ev := &p.events[f]
	return f <= e && p.clocks[e*p.stride+int(ev.thread)] >= ev.idx
}

// widen makes room for more threads.
func (p *path) widen(threads int) {
	n := max(8, p.stride)
	for n < threads {
		n *= 2
	}
	clocks := make([]int32, len(p.events)*n, max(64, 2*len(p.events))*n)
	for e := range len(p.events) - 1 {
		copy(clocks[e*n:], p.clock(e))
	}
	p.clocks, p.stride = clocks[:(len(p.events)-1)*n], n
	for len(p.lastOf) < n {
		p.lastOf = append(p.lastOf, -1)
	}
}

// order gives the last event of the path its clock, its races and its records.
func (p *path) order(c *node) {
	e := len(p.events) - 1
	ev := &p.events[e]
	t := int(c.thread)
	if t >= p.stride {
		p.widen(t + 1)
	}
	at := len(p.clocks)
	if at+p.stride <= cap(p.clocks) {
		p.clocks = p.clocks[:at+p.stride]
	} else {
		p.clocks = append(p.clocks, make([]int32, p.stride)...)
	}
	clock := p.clocks[at:]
	ev.prev = p.lastOf[t]
	if ev.prev >= 0 {
		copy(clock, p.clock(int(ev.prev)))
		ev.idx = p.events[ev.prev].idx + 1
	} else {
		clear(clock)
		ev.idx = 1
	}
	p.lastOf[t] = int32(e)

	// The newest conflicting events first: an event is a race if no later one that was joined
	// happens after it.
	p.cand = p.cand[:0]
	for _, a := range c.acc {
		h := p.headOf(a.Loc)
		p.candidates(h, a)
		lastWrite, before := int32(-1), h
		if h >= 0 {
			lastWrite = p.recs[h].lastWrite
			if a.Op != 0 && p.recs[h].is(a.Op) {
				before = p.recs[h].before
			}
		}
		r := int32(len(p.recs))
		if a.Write {
			lastWrite = r
		}
		p.recs = append(p.recs, record{loc: a.Loc, write: a.Write, op: a.Op, event: int32(e),
			prev: h, lastWrite: lastWrite, before: before})
		p.head[a.Loc] = r
	}
	for _, f := range p.cand {
		fe := &p.events[f]
		if clock[fe.thread] >= fe.idx {
			continue
		}
		p.addRace(f)
		for i, v := range p.clock(int(f)) {
			clock[i] = max(clock[i], v)
		}
	}
	clock[t] = ev.idx
}

// addRace adds a race with an event to those of the last event.
func (p *path) addRace(f int32) {
	n := len(p.raceList)
	if n == cap(p.raceList) {
		p.raceList = append(p.raceList, race{event: f})
		return
	}
	p.raceList = p.raceList[:n+1]
	r := &p.raceList[n]
	r.event, r.state, r.open = f, unsettled, r.open[:0]
}

// is reports whether the record is of an operation like op that was executed.
func (r *record) is(op system.Op) bool { return r.write && r.op.Like(op) }

// candidates inserts into cand the events that an access depends on, from the record h on,
// except those that happen before another one of them: the newest write of a location and the
// later reads. If that write is an operation, it is all like ones of its row. Operations like
// that of the access itself are left out.
func (p *path) candidates(h int32, a system.Access) {
	if a.Op != 0 && h >= 0 && p.recs[h].is(a.Op) {
		h = p.recs[h].before
	}
	for r := h; r >= 0; r = p.recs[r].prev {
		x := &p.recs[r]
		if !x.write {
			if a.Write {
				p.candidate(x.event)
			}
			continue
		}
		if x.op.Like(a.Op) {
			// Only a read gets here with nothing found: a read in between would order them.
			if a.Write {
				return
			}
			continue
		}
		p.candidate(x.event)
		if x.op != 0 {
			for r = x.prev; r >= 0 && p.recs[r].is(x.op); r = p.recs[r].prev {
				p.candidate(p.recs[r].event)
			}
		}
		return
	}
}

// candidate inserts an event into cand, which is kept in descending order.
func (p *path) candidate(f int32) {
	i := len(p.cand)
	for i > 0 && p.cand[i-1] <= f {
		if p.cand[i-1] == f {
			return
		}
		i--
	}
	p.cand = append(p.cand, 0)
	copy(p.cand[i+1:], p.cand[i:])
	p.cand[i] = f
}

// recordOf returns the record of an event's access to a location; -1 if it has none.
func (p *path) recordOf(e int32, l system.Loc) int32 {
	end := int32(len(p.recs))
	if int(e)+1 < len(p.events) {
		end = p.events[e+1].recs
	}
	for r := p.events[e].recs; r < end; r++ {
		if p.recs[r].loc == l {
			return r
		}
	}
	return -1
}

func (p *path) headOf(l system.Loc) int32 {
	for int(l) >= len(p.head) {
		p.head = append(p.head, -1)
	}
	return p.head[l]
}

// racesOf returns the events that event e races with: those of other threads that it depends on,
// with nothing between them.
func (p *path) racesOf(e int) []race {
	to := len(p.raceList)
	if e+1 < len(p.events) {
		to = int(p.events[e+1].races)
	}
	return p.raceList[p.events[e].races:to]
}
