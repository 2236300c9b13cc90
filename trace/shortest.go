package trace

import (
	"cmp"
	"container/heap"
	"hash/maphash"
	"math"
	"slices"
	"unsafe"

	"cpor/system"
)

// Which execution a search meets first depends on its reduction, and with several workers on
// timing. So [Shorten] replaces it by one that depends only on the system. It searches in the plain
// semantics, state by state.
//
// The first search is breadth-first, and finds a shortest trace. The second one goes by context
// switches, as iterative context bounding does (Musuvathi, Qadeer 2007): it reaches far where few
// switches are enough, which is the usual case. If both hit their bounds, the original execution is
// shortened: first steps are left out, then the executions in which no thread takes more steps are
// searched.
//
// The bounds are numbers of transitions, states and words, so they are the same on every machine.
const (
	searchTransitions = 500_000
	searchStates      = 1 << 17
	searchWords       = 1 << 22 // of the states that wait to be expanded
	// nearStates bounds the states of the searches around all traces.
	nearStates = 1 << 16
)

// Minimality says how short a trace is known to be.
type Minimality uint8

const (
	// AsFound means that the trace is as the search found it.
	AsFound Minimality = iota
	// Cut means that the time was up before nothing more could be left out.
	Cut
	// Local means that no step and no context switch can be left out of the trace
	// that the search found. Other executions may be shorter.
	Local
	// FewestSwitches means that every execution that shows the violation has at
	// least as many context switches, and those with as many at least as many steps.
	FewestSwitches
	// Shortest means that every execution that shows the violation has at least as
	// many steps.
	Shortest
)

// String returns the name used in JSON.
func (m Minimality) String() string {
	return [...]string{"as found", "cut", "local", "fewest switches", "shortest"}[m]
}

// Shortening configures [Shorten].
type Shortening struct {
	// Any lets any violation take the place of the only one that was found: which
	// one a search meets first can depend on timing. Deadlocks are among them
	// unless NoDeadlocks.
	Any, NoDeadlocks bool
	// Scale divides the bounds, for systems with slow transitions or if memory is short. 0 means 1.
	Scale int
	// Expired, if not nil, is asked from time to time whether to end at once.
	Expired func() bool
}

// Short is a trace with what is known about its length.
type Short struct {
	*Trace
	Minimal Minimality
}

// Shorten returns for each trace of sys the shortest one that it finds for the same violation (the
// same kind, place and object; a deadlock: the same deadlocked state). Among the shortest it
// prefers the fewest context switches, and then the first one in the order of initial states,
// threads and alternatives. Each trace must replay and claim a violation.
//
// If Minimal is Shortest or FewestSwitches, the result depends only on the system, the violations
// and the bounds; otherwise also on the traces.
func Shorten(sys system.System, ts []*Trace, o Shortening) []Short {
	out := make([]Short, len(ts))
	z := &shortener{sys: sys, o: o, obs: system.ObserversOf(sys), m: sys.NewMachine(),
		scale: max(1, o.Scale)}
	z.fixed = z.m.NumThreads()
	for i, t := range ts {
		z.goals = append(z.goals, z.goal(t))
		out[i] = Short{t, Cut}
	}
	z.any = o.Any && len(ts) == 1
	z.breadthFirst(searchStates/z.scale, nil)
	z.bySwitches()
	for i, g := range z.goals {
		if g.found != nil {
			out[i] = Short{g.found, g.minimal}
			continue
		}
		if z.expired() {
			continue
		}
		t := ts[i].minimize(sys, DefaultBudget/z.scale/len(ts), z.expired)
		out[i] = Short{t, Local}
		near := &shortener{sys: sys, o: o, obs: z.obs, m: z.m, fixed: z.fixed, scale: z.scale,
			goals: []goal{z.goal(t)}}
		near.breadthFirst(nearStates/z.scale/len(ts), t)
		if f := near.goals[0].found; f != nil && (len(f.Steps) < len(t.Steps) ||
			len(f.Steps) == len(t.Steps) && f.Switches() < t.Switches()) {
			out[i].Trace = f
		}
		if z.o.Expired != nil && z.o.Expired() {
			out[i].Minimal = Cut
		}
	}
	return out
}

// Compare orders traces: nil comes first, then those with fewer steps, with fewer
// context switches, and then by initial state, threads and alternatives.
func (t *Trace) Compare(u *Trace) int {
	switch {
	case t == u:
		return 0
	case t == nil:
		return -1
	case u == nil:
		return 1
	}
	return cmp.Or(cmp.Compare(len(t.Steps), len(u.Steps)), cmp.Compare(t.Switches(), u.Switches()),
		cmp.Compare(t.Initial, u.Initial),
		slices.CompareFunc(t.Steps, u.Steps, func(a, b Step) int {
			return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Alt, b.Alt))
		}))
}

// goal is a violation that is looked for.
type goal struct {
	want    *system.Violation
	final   string // of a deadlock: its state
	found   *Trace
	minimal Minimality
}

// shortener is one call of Shorten.
type shortener struct {
	sys   system.System
	o     Shortening
	obs   system.Observers
	m     system.Machine
	goals []goal
	any   bool // the only goal is any violation
	scale int

	names       []string // of the threads, by number
	fixed       int      // how many threads there are from the beginning
	order       []int    // the threads in their order
	place       []int    // of each thread in it
	transitions int
	cut         bool
	buf         system.State
	seeds       [2]maphash.Seed
}

func (z *shortener) goal(t *Trace) goal {
	g := goal{want: t.Violation}
	if t.Violation.Kind == system.Deadlock {
		z.m.Load(z.sys.Initial()[t.Initial])
		Foresee(z.m, t.Steps)
		for _, s := range t.Steps {
			z.m.Step(s.Thread, s.Alt)
		}
		g.final = z.final()
	}
	return g
}

// final returns the live state without what became of the observers, which take no
// part in a deadlock.
func (z *shortener) final() string {
	mark := z.m.Mark()
	z.obs.Reset(z.m)
	z.buf = z.m.Encode(z.buf)
	z.m.Rewind(mark)
	return string(appendKey(nil, system.Bare(z.sys, z.buf)))
}

// expired reports whether the search has to end at once.
func (z *shortener) expired() bool {
	if !z.cut && z.o.Expired != nil && z.o.Expired() {
		z.cut = true
	}
	return z.cut
}

// missing reports whether a goal has not been found.
func (z *shortener) missing() bool {
	return slices.ContainsFunc(z.goals, func(g goal) bool { return g.found == nil })
}

// shows calls f for the goals that have not been found and that a violation shows.
func (z *shortener) shows(v *system.Violation, f func(g int, v *system.Violation)) {
	if z.any {
		for ; v != nil; v = v.Also {
			if v.Kind != system.Deadlock || !z.o.NoDeadlocks {
				f(0, v)
				return
			}
		}
		return
	}
	for i := range z.goals {
		if g := &z.goals[i]; g.found == nil && g.want.Kind != system.Deadlock {
			if w := v.Find(g.want); w != nil {
				f(i, w)
			}
		}
	}
}

// stuck calls f for the goals that the live state, a deadlock, shows.
func (z *shortener) stuck(f func(g int, v *system.Violation)) {
	if z.any {
		if !z.o.NoDeadlocks {
			f(0, &system.Violation{Kind: system.Deadlock, Message: "deadlock"})
		}
		return
	}
	final := ""
	for i := range z.goals {
		if g := &z.goals[i]; g.found == nil && g.want.Kind == system.Deadlock {
			if final == "" {
				final = z.final()
			}
			if g.final == final {
				f(i, g.want)
			}
		}
	}
}

// threads updates the order of the threads to the live state: first those that exist from the
// beginning, by number, then the others by name, because their numbers can depend on what was
// executed before.
func (z *shortener) threads() []int {
	n := z.m.NumThreads()
	if n <= len(z.order) {
		return z.order
	}
	for t := len(z.names); t < n; t++ {
		z.names = append(z.names, "")
		z.order = append(z.order, t)
		z.place = append(z.place, 0)
	}
	for t := z.fixed; t < n; t++ {
		if z.names[t] == "" {
			z.names[t] = z.m.ThreadName(t)
		}
	}
	slices.SortFunc(z.order, func(a, b int) int {
		if a < z.fixed || b < z.fixed {
			return cmp.Compare(a, b)
		}
		return cmp.Or(cmp.Compare(len(z.names[a]), len(z.names[b])),
			cmp.Compare(z.names[a], z.names[b]), cmp.Compare(a, b))
	})
	for i, t := range z.order {
		z.place[t] = i
	}
	return z.order
}

// key is a state's hash, of 128 bits: that two states have the same one is less
// likely than that the machine fails, and would only make a trace longer.
type key [2]uint64

func (z *shortener) key(ws []uint64) key {
	if z.seeds[0] == (maphash.Seed{}) {
		z.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(ws))), 8*len(ws))
	return key{maphash.Bytes(z.seeds[0], b), maphash.Bytes(z.seeds[1], b)}
}

// steps returns the executions of the transitions of the live state, in order: f is called after
// each one, for observers too. It reports whether the state is a deadlock, and whether these are
// all: it ends early where the bounds are reached or the time is over.
func (z *shortener) steps(f func(t int, alt uint64, out *system.Outcome)) (deadlock, whole bool) {
	enabled, blocked := false, false
	mark := z.m.Mark()
	// A step does not create threads that the loop must see: it is undone.
	order := z.threads()
	n := z.m.NumThreads()
	for i := 0; i < len(order); i++ {
		t := order[i]
		if t >= n {
			continue
		}
		for alt := uint64(0); ; {
			// A thread can have any number of alternatives, and a state hundreds of threads;
			// each step can take long.
			if alt > 0 && z.transitions > searchTransitions/z.scale || z.transitions&15 == 0 &&
				z.expired() {
				return false, false
			}
			out := z.m.Step(t, alt)
			z.transitions++
			if !z.obs.Has(t) {
				enabled = enabled || out.Kind == system.Moved
				blocked = blocked || out.Kind == system.Blocked && !out.AtEnd
			}
			if out.Kind == system.Moved {
				f(t, alt, &out)
			}
			next := out.Next
			z.m.Rewind(mark)
			if next == 0 {
				break
			}
			alt = next
		}
	}
	return !enabled && blocked, true
}

// node is the end of the best execution that comes to a state by a step of a thread.
type node struct {
	parent   int32 // -1 in the beginning
	thread   int32 // -1 in the beginning
	alt      uint64
	switches int32
	rank     int32 // of the execution among those of its layer, in their order
}

// spot is a state of a layer.
type spot struct {
	from, to int     // its words
	nodes    []int32 // one for each thread that leads to it
}

// candidate is an execution that shows a goal: a node and a further step, or none.
type candidate struct {
	node, thread int32
	alt          uint64
	violation    *system.Violation
	switches     int32
	ok           bool
}

// breadthFirst looks for the shortest traces, among as many states. If near is not nil,
// only executions count in which no thread takes more steps than in that trace.
func (z *shortener) breadthFirst(states int, near *Trace) {
	z.transitions = 0
	l := newLayers(z, states, near)
	for len(l.cur) > 0 && z.missing() {
		bounded, expired := l.expand()
		if expired {
			return
		}
		l.report(bounded)
		if bounded {
			return
		}
		l.advance()
	}
}

// layers is a search layer by layer: those states that are reached by as many steps. Of the
// executions that lead to a state by a last step of one thread, it keeps the best one: that with
// the fewest context switches, and of these the first.
type layers struct {
	z      *shortener
	states int      // so many at most
	nodes  []node   // the executions
	limits []uint64 // of the steps of each thread; nil if there are none
	counts []uint64 // of the steps of each thread, to the state that is expanded
	seen   map[key]int32

	cur, next           []spot
	curWords, nextWords []uint64

	fresh       int         // the first node of the next layer
	found, dead []candidate // by goal, of the layer: those by a step, and deadlocks
}

// newLayers begins a search with the initial states.
func newLayers(z *shortener, states int, near *Trace) *layers {
	l := &layers{z: z, states: states, seen: map[key]int32{}} // index in the next layer, or -1
	if near != nil {
		l.limits = []uint64{}
		for _, s := range near.Steps {
			for len(l.limits) <= s.Thread {
				l.limits = append(l.limits, 0)
			}
			l.limits[s.Thread]++
		}
	}
	l.counts = make([]uint64, len(l.limits)) // they stand behind a state
	for i, s := range z.sys.Initial() {
		if near != nil && i != near.Initial {
			continue
		}
		l.nodes = append(l.nodes, node{parent: -1, thread: -1, alt: uint64(i), rank: int32(i)})
		from := len(l.curWords)
		l.curWords = append(append(l.curWords, s...), l.counts...)
		l.seen[z.key(l.curWords[from:])] = -1
		l.cur = append(l.cur, spot{from, len(l.curWords), []int32{int32(len(l.nodes) - 1)}})
	}
	return l
}

// full reports whether a bound of the search is reached.
func (l *layers) full() bool {
	return len(l.seen) > l.states || l.z.transitions > searchTransitions/l.z.scale ||
		len(l.nextWords) > searchWords/l.z.scale
}

// expand expands the states of the current layer. bounded tells that it broke off at a bound,
// expired that the time is over.
func (l *layers) expand() (bounded, expired bool) {
	z := l.z
	l.fresh = len(l.nodes)
	l.found, l.dead = make([]candidate, len(z.goals)), make([]candidate, len(z.goals))
	for at := range l.cur {
		if l.full() {
			return true, false
		}
		s := &l.cur[at]
		ws := l.curWords[s.from:s.to]
		z.m.Load(ws[:len(ws)-len(l.counts)])
		copy(l.counts, ws[len(ws)-len(l.counts):])
		deadlock, whole := z.steps(func(t int, alt uint64, out *system.Outcome) {
			if l.limits != nil {
				if t >= len(l.limits) || l.counts[t] >= l.limits[t] {
					return
				}
				l.counts[t]++
				defer func() { l.counts[t]-- }()
			}
			l.step(s, int32(t), alt, out)
		})
		if !whole {
			return true, z.expired()
		}
		if deadlock {
			z.stuck(func(g int, v *system.Violation) {
				for _, k := range s.nodes {
					n := &l.nodes[k]
					if c := &l.dead[g]; l.better(c, n, -1, 0) {
						*c = candidate{k, -1, 0, v, n.switches, true}
					}
				}
			})
		}
	}
	return false, false
}

// better reports whether the execution to n followed by a step is better than a candidate, or
// the first one. Thread -1 means no step.
func (l *layers) better(c *candidate, n *node, thread int32, alt uint64) bool {
	if !c.ok {
		return true
	}
	var place int
	if thread >= 0 {
		place = l.z.place[thread] - l.z.place[c.thread]
	}
	return cmp.Or(cmp.Compare(switched(n, thread), c.switches),
		cmp.Compare(n.rank, l.nodes[c.node].rank), place, cmp.Compare(alt, c.alt)) < 0
}

// bestTo returns the best execution to a state that continues with a step of a thread.
func (l *layers) bestTo(s *spot, thread int32) int32 {
	best := s.nodes[0]
	for _, k := range s.nodes[1:] {
		a, b := &l.nodes[k], &l.nodes[best]
		if cmp.Or(cmp.Compare(switched(a, thread), switched(b, thread)),
			cmp.Compare(a.rank, b.rank)) < 0 {
			best = k
		}
	}
	return best
}

// step takes the end of a step from a state, which the machine is in: what it violates is a
// candidate, and a state that was not reached by fewer steps is one of the next layer.
func (l *layers) step(s *spot, thread int32, alt uint64, out *system.Outcome) {
	z := l.z
	best := l.bestTo(s, thread)
	from := &l.nodes[best]
	if out.Violation != nil {
		z.shows(out.Violation, func(g int, v *system.Violation) {
			if c := &l.found[g]; l.better(c, from, thread, alt) {
				*c = candidate{best, thread, alt, v, switched(from, thread), true}
			}
		})
	}
	z.buf = append(z.m.Encode(z.buf), l.counts...)
	k := z.key(z.buf)
	j, ok := l.seen[k]
	switch {
	case !ok:
		j = int32(len(l.next))
		l.seen[k] = j
		begin := len(l.nextWords)
		l.nextWords = append(l.nextWords, z.buf...)
		l.next = append(l.next, spot{from: begin, to: len(l.nextWords)})
	case j < 0:
		return // reached by fewer steps
	}
	n := node{parent: best, thread: thread, alt: alt, switches: switched(from, thread)}
	for _, o := range l.next[j].nodes {
		if old := &l.nodes[o]; old.thread == thread {
			if cmp.Or(cmp.Compare(n.switches, old.switches),
				cmp.Compare(from.rank, l.nodes[old.parent].rank),
				cmp.Compare(n.alt, old.alt)) < 0 {
				*old = n
			}
			return
		}
	}
	l.nodes = append(l.nodes, n)
	l.next[j].nodes = append(l.next[j].nodes, int32(len(l.nodes)-1))
}

// report gives the goals the best executions of the layer.
func (l *layers) report(bounded bool) {
	z := l.z
	for g := range z.goals {
		c := &l.dead[g]
		if !c.ok {
			c = &l.found[g]
		}
		if c.ok && z.goals[g].found == nil {
			z.goals[g].found, z.goals[g].minimal = execution(l.nodes, c), Shortest
			if bounded {
				// The rest of the layer may have one with fewer switches.
				z.goals[g].found = z.goals[g].found.minimize(z.sys, 0, z.expired)
			}
		}
	}
}

// advance orders the executions to the next layer, and makes it the current one.
func (l *layers) advance() {
	nodes, place := l.nodes, l.z.place
	sorted := make([]int32, 0, len(nodes)-l.fresh)
	for k := l.fresh; k < len(nodes); k++ {
		sorted = append(sorted, int32(k))
	}
	slices.SortFunc(sorted, func(a, b int32) int {
		x, y := &nodes[a], &nodes[b]
		return cmp.Or(cmp.Compare(nodes[x.parent].rank, nodes[y.parent].rank),
			cmp.Compare(place[x.thread], place[y.thread]), cmp.Compare(x.alt, y.alt))
	})
	for r, k := range sorted {
		nodes[k].rank = int32(r)
	}
	for i := range l.next {
		l.seen[l.z.key(l.nextWords[l.next[i].from:l.next[i].to])] = -1
	}
	l.cur, l.next = l.next, l.cur[:0]
	l.curWords, l.nextWords = l.nextWords, l.curWords[:0]
}

// switched returns the context switches of the execution to n followed by a step of a thread; -1
// means no step.
func switched(n *node, thread int32) int32 {
	if thread >= 0 && n.thread >= 0 && n.thread != thread {
		return n.switches + 1
	}
	return n.switches
}

// execution returns the trace of a candidate.
func execution(nodes []node, c *candidate) *Trace {
	v := *c.violation
	v.Also = nil
	t := &Trace{Violation: &v}
	if c.thread >= 0 {
		t.Steps = append(t.Steps, Step{Thread: int(c.thread), Alt: c.alt})
	}
	for k := c.node; ; k = nodes[k].parent {
		n := &nodes[k]
		if n.parent < 0 {
			t.Initial = int(n.alt)
			break
		}
		t.Steps = append(t.Steps, Step{Thread: int(n.thread), Alt: n.alt})
	}
	slices.Reverse(t.Steps)
	return t
}

// arrival is a state that waits to be expanded, with the thread that took the last step.
type arrival struct {
	cost  uint64 // the switches, and below them the steps
	node  int32
	words []uint64
}

type arrivals []arrival

func (q arrivals) Len() int { return len(q) }
func (q arrivals) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[i].cost, q[j].cost), cmp.Compare(q[i].node, q[j].node)) < 0
}
func (q arrivals) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *arrivals) Push(x any)   { *q = append(*q, x.(arrival)) }
func (q *arrivals) Pop() any {
	x := (*q)[len(*q)-1]
	(*q)[len(*q)-1] = arrival{}
	*q = (*q)[:len(*q)-1]
	return x
}

// bySwitches looks for the traces with the fewest context switches of the goals that have not been
// found.
func (z *shortener) bySwitches() {
	if !z.missing() || z.cut {
		return
	}
	const one = 1 << 32 // a switch
	var nodes []node
	var q arrivals
	waiting := 0 // words
	cost := map[key]uint64{}
	push := func(n node, c uint64, ws []uint64) {
		k := z.key(append(ws, uint64(n.thread)))
		if old, ok := cost[k]; ok && old <= c {
			return
		}
		cost[k] = c
		nodes = append(nodes, n)
		heap.Push(&q, arrival{c, int32(len(nodes) - 1), slices.Clone(ws)})
		waiting += len(ws)
	}
	best := make([]candidate, len(z.goals))
	costs := slices.Repeat([]uint64{math.MaxUint64}, len(z.goals))
	z.transitions = 0
	for i, s := range z.sys.Initial() {
		z.buf = append(z.buf[:0], s...)
		push(node{parent: -1, thread: -1, alt: uint64(i)}, 0, z.buf)
	}
	for len(q) > 0 {
		a := heap.Pop(&q).(arrival)
		waiting -= len(a.words)
		z.settle(nodes, best, costs, a.cost)
		if !z.missing() || len(cost) > searchStates/z.scale ||
			z.transitions > searchTransitions/z.scale || waiting > searchWords/z.scale {
			return
		}
		at := nodes[a.node]
		z.buf = append(z.buf[:0], a.words...)
		if cost[z.key(append(z.buf, uint64(at.thread)))] < a.cost {
			continue // a better way was found since
		}
		z.m.Load(a.words)
		offer := func(g int, c uint64, x candidate) {
			if c < costs[g] {
				costs[g], best[g] = c, x
			}
		}
		deadlock, whole := z.steps(func(t int, alt uint64, out *system.Outcome) {
			c := a.cost + 1
			if at.thread >= 0 && int(at.thread) != t {
				c += one
			}
			if out.Violation != nil {
				z.shows(out.Violation, func(g int, v *system.Violation) {
					offer(g, c, candidate{node: a.node, thread: int32(t), alt: alt, violation: v})
				})
			}
			z.buf = z.m.Encode(z.buf)
			push(node{parent: a.node, thread: int32(t), alt: alt}, c, z.buf)
		})
		if !whole {
			return
		}
		if deadlock {
			z.stuck(func(g int, v *system.Violation) {
				offer(g, a.cost, candidate{node: a.node, thread: -1, violation: v})
			})
		}
	}
	// All executions were looked at.
	z.settle(nodes, best, costs, math.MaxUint64-1)
}

// settle finds the goals whose best candidate costs at most so much: nothing cheaper can come.
func (z *shortener) settle(nodes []node, best []candidate, costs []uint64, most uint64) {
	for g := range z.goals {
		if z.goals[g].found == nil && costs[g] <= most {
			z.goals[g].found, z.goals[g].minimal = execution(nodes, &best[g]), FewestSwitches
		}
	}
}
