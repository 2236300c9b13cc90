package oracle

import (
	"encoding/binary"
	"slices"

	"cpor/system"
)

// Traces counts the Mazurkiewicz traces of the complete executions of a system:
// executions are equivalent if one becomes the other by exchanging neighbors of
// different threads that have no location in common which one of them writes. It
// executes every interleaving and compares partial orders, so it is for few of them;
// ok is false if there are more than most, or one is longer than 1000 transitions.
func Traces(sys system.System, most int) (n int, ok bool) {
	c := &tracer{m: sys.NewMachine(), most: most, seen: map[string]bool{}}
	c.m.Track(true)
	for i, s := range sys.Initial() {
		c.m.Load(s)
		c.initial = i
		if !c.explore() {
			return 0, false
		}
	}
	return len(c.seen), true
}

// event is a transition of the execution that is being counted, with how many
// events of each thread happened before it, itself included.
type event struct {
	thread int
	alt    uint64
	acc    []system.Access
	clock  []int
}

type tracer struct {
	m       system.Machine
	initial int
	most    int // executions that are left
	seen    map[string]bool
	path    []event
}

func (c *tracer) explore() bool {
	if len(c.path) > 1000 {
		return false
	}
	moved := false
	for t := range c.m.NumThreads() {
		for alt, more := uint64(0), true; more; {
			mark := c.m.Mark()
			out := c.m.Step(t, alt)
			if out.Kind == system.Moved {
				moved = true
				c.path = append(c.path, c.event(t, alt))
				if !c.explore() {
					return false
				}
				c.path = c.path[:len(c.path)-1]
			}
			c.m.Rewind(mark)
			alt, more = out.Next, out.Next != 0
		}
	}
	if !moved {
		c.most--
		c.seen[c.name()] = true
	}
	return c.most >= 0
}

// event returns the event of the step that was just taken.
func (c *tracer) event(t int, alt uint64) event {
	e := event{thread: t, alt: alt, acc: slices.Clone(c.m.Accesses()),
		clock: make([]int, c.m.NumThreads())}
	for i := range c.path {
		p := &c.path[i]
		if p.thread != t && !conflict(p.acc, e.acc) {
			continue
		}
		for u, k := range p.clock {
			e.clock[u] = max(e.clock[u], k)
		}
	}
	e.clock[t]++
	return e
}

func conflict(a, b []system.Access) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Orders(y) {
				return true
			}
		}
	}
	return false
}

// name returns a text that is equal for equal traces: the events in an order of
// their own, each with what happened before it.
func (c *tracer) name() string {
	order := slices.Clone(c.path)
	slices.SortFunc(order, func(a, b event) int {
		if a.thread != b.thread {
			return a.thread - b.thread
		}
		return a.clock[a.thread] - b.clock[b.thread]
	})
	b := binary.AppendUvarint(nil, uint64(c.initial))
	for _, e := range order {
		b = binary.AppendUvarint(b, uint64(e.thread))
		b = binary.AppendUvarint(b, e.alt)
		last := 0 // threads that do not exist yet count nothing
		for u, k := range e.clock {
			if k > 0 {
				last = u + 1
			}
		}
		b = binary.AppendUvarint(b, uint64(last))
		for _, k := range e.clock[:last] {
			b = binary.AppendUvarint(b, uint64(k))
		}
	}
	return string(b)
}
