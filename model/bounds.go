package model

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"cpor/system"
)

// Bounds on what processes may still do. They are the [system.Futures] of a model, and what
// [system.Temporal].Conflicts and Change know.
//
// A step is a Go function, which does not tell what it will do. So samples show what the step of
// each place of a process has done: what it has read and written, how it has used channels, and
// which places came next. The bound of a place is all of that, at the place and at those that
// can follow. Samples may not show everything, so in a search that relies on bounds, machines
// compare each step with them ([System.Begin]). If it does more, that is learned, and the search is
// void: it begins again (package engine).
//
// # Why a search in which no step did more is right
//
// Let B be the bounds and M the model. The model M/B is M in which a process ends, with a
// violation, at the first thing that it does beyond B, before it does it. B bounds every
// execution of M/B, because nothing beyond B is ever done there. So a reduction that relies on
// bounds is sound for M/B, and a reduction that preserves violations finds one of these if one is
// reachable in M/B. Before the first of them, M/B does what M does. So as long as no step did
// more, the search was one of M/B. It has not found such a violation, so none is reachable, so M
// and M/B have the same executions, and what was found out about M/B is true of M.
//
// So it does not matter that a reduction leaves steps out, which are never compared then. It may
// put off a thread because B lacks what the thread does two steps later. But it must not put off a
// violation forever, and in M/B that later step is one. TestGenerated checks this: after a search
// that counts, all reachable states are tried, and nothing is done beyond B.
//
// Reductions for temporal properties preserve these violations, too, in a search that covers the
// whole reduced graph: C1 and C3 imply that every transition is taken in it. Package temporal
// makes such a search beside that of the automaton, because propositions may fail. A single atom,
// for which it makes none, speaks of the initial states only. Reading beyond B in a proposition is
// a violation in this sense, too.
//
// It does not matter which thread of the search saw it, and what the search did afterwards, because
// nothing that it found out is used, but for violations, which are executions.
type bounds struct {
	did        [kinds][]set // by place
	future     []*system.Footprint
	futureUses []set
}

// The kinds of what is done at a place.
const (
	reading = iota // locations
	writing        // locations
	using          // channels: one of the uses below, plus their number times the channel's
	going          // to places
	kinds
)

// The uses of a channel.
const (
	sends = iota
	receives
	looks // anything else, such as Len, and what follows another use in the same step
	uses
)

// set is a set of numbers.
type set []uint64

func (s set) has(i int) bool { return s[i>>6]>>(i&63)&1 != 0 }

func (s set) add(i int) { s[i>>6] |= 1 << (i & 63) }

// join adds the elements of o, and reports whether there were others.
func (s set) join(o set) (grown bool) {
	for i, w := range o {
		grown = grown || w&^s[i] != 0
		s[i] |= w
	}
	return grown
}

// ranges returns the elements as ranges.
func (s set) ranges() []system.LocRange {
	var rs []system.LocRange
	for i := range len(s) * 64 {
		if s.has(i) {
			rs = append(rs, system.LocRange{First: system.Loc(i), Last: system.Loc(i)})
		}
	}
	return system.JoinRanges(rs)
}

func newBounds(m *machine) *bounds {
	b := &bounds{}
	for kind, n := range [kinds]int{len(m.locs), len(m.locs), uses * len(m.queues), m.places()} {
		for range m.places() {
			b.did[kind] = append(b.did[kind], make(set, (n+63)/64))
		}
	}
	return b
}

// whole returns a copy with the bounds of all that can follow.
func (b *bounds) whole(m *machine) *bounds {
	c := &bounds{}
	var all [kinds][]set
	for kind, sets := range b.did {
		for _, s := range sets {
			s = slices.Clone(s)
			if kind == reading || kind == writing {
				for _, q := range m.queues {
					if s.has(int(q.slot)) {
						q.each(func(l system.Loc) { s.add(int(l)) })
					}
				}
			}
			c.did[kind] = append(c.did[kind], s)
			all[kind] = append(all[kind], slices.Clone(s))
		}
	}
	for grown := true; grown; {
		grown = false
		for from := len(all[going]) - 1; from >= 0; from-- {
			for to := range all[going] {
				if b.did[going][from].has(to) {
					for kind := range going {
						grown = all[kind][from].join(all[kind][to]) || grown
					}
				}
			}
		}
	}
	c.futureUses = all[using]
	for p := range all[reading] {
		c.future = append(c.future, &system.Footprint{Reads: all[reading][p].ranges(),
			Writes: all[writing][p].ranges()})
	}
	return c
}

// places returns how many places there are: those of processes, 0 being the end of each, one of
// each observer, and one for each proposition.
func (m *machine) places() int { return m.firstProp() + len(m.props) }

func (m *machine) firstProp() int { return m.observersFrom + len(m.observers) }

// numberPlaces numbers the places, and the channels.
func (m *machine) numberPlaces() {
	n := 0
	for _, p := range m.procs {
		p.place = n
		n += len(p.steps) + 1
	}
	m.observersFrom = n
	m.byLoc = make([]*queue, len(m.locs))
	for i, q := range m.queues {
		q.number = i
		q.each(func(l system.Loc) { m.byLoc[l] = q })
	}
}

// each calls f for each location of a channel.
func (q *queue) each(f func(system.Loc)) {
	for i := range q.n * q.per {
		f(q.slot + system.Loc(i))
	}
	if q.n > 1 {
		f(q.head)
		f(q.tail)
	}
}

// placeOf returns where a thread is.
func (m *machine) placeOf(t int) int {
	switch {
	case t >= len(m.procs):
		return m.observersFrom + t - len(m.procs)
	case m.words[m.size+t] != 0:
		return m.procs[t].place
	}
	return m.procs[t].place + int(m.procs[t].pc.get(m.words))
}

// does compares something that is done at the current place with the bounds.
func (m *machine) does(kind, n int) {
	if s := m.bound.did[kind][m.place]; !s.has(n) {
		if m.search == nil {
			s.add(n)
			return
		}
		m.search.outgrown(m.place, kind, n)
	}
}

// touches compares an access with the bounds. All locations of a channel count as one, since the
// slots that a step touches depend on what happened since the last Load.
func (m *machine) touches(l system.Loc, write bool) {
	kind := reading
	if write {
		kind = writing
	}
	if q := m.byLoc[l]; q != nil {
		l = q.slot
	}
	m.does(kind, int(l))
}

// uses compares a use of a channel with the bounds. A second one in a step could meet what others
// did in between, so it is not merely a send or a receive.
func (m *machine) uses(q *queue, how int) {
	if m.bound == nil || m.place < 0 {
		return
	}
	m.does(using, q.number*uses+how)
	if slices.Contains(m.inUse, q) {
		m.does(using, q.number*uses+looks)
	}
	m.inUse = append(m.inUse, q)
}

// knowledge is what is known about what processes do.
type knowledge struct {
	mu     sync.Mutex
	first  *bounds // from samples alone
	latest *bounds // that grow
	seed   uint64  // of the samples
}

// bounded is a system for one search that relies on bounds. No other search has its machines, so
// all steps of the search are compared with the same bounds.
type bounded struct {
	sys   *System
	bound *bounds
	stop  func()
	void  atomic.Bool
}

// Begin implements [system.Learning].
func (s *System) Begin(fixed bool, stop func()) (system.System, func() (void bool)) {
	k := &s.knowledge
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.latest == nil {
		k.latest = newBounds(s.made)
		s.learn(k.latest, 0)
		k.first = k.latest.whole(s.made)
	}
	b := &bounded{sys: s, bound: k.first, stop: stop}
	if !fixed {
		b.bound = k.latest.whole(s.made)
	}
	return b, func() bool {
		void := b.void.Load()
		if void { // there may be more of it
			k.mu.Lock()
			defer k.mu.Unlock()
			k.seed++
			s.learn(k.latest, k.seed)
		}
		return void
	}
}

// outgrown says that something was done beyond the bounds.
func (b *bounded) outgrown(place, kind, n int) {
	k := &b.sys.knowledge
	k.mu.Lock()
	k.latest.did[kind][place].add(n)
	k.mu.Unlock()
	b.void.Store(true)
	b.stop()
}

// Initial implements [system.System].
func (b *bounded) Initial() []system.State { return b.sys.Initial() }

// NewMachine implements [system.System].
func (b *bounded) NewMachine() system.Machine {
	m := b.sys.newMachine()
	m.bound, m.search = b.bound, b
	m.setMode(idle)
	return m
}

// Capabilities implements [system.System].
func (b *bounded) Capabilities() system.Capabilities {
	c := b.sys.Capabilities()
	return system.Capabilities{
		Observing:   c.Observing,
		Irreducible: c.Irreducible,
		Symmetric:   c.Symmetric,
		Beginning:   c.Beginning,
		Counting:    c.Counting,
		Remembering: c.Remembering,
		Interning:   c.Interning,
		Portable:    c.Portable,
		Merging:     c.Merging,
		Learning:    nil,
	}
}

// samples says how much is tried: so many states from the beginning, in breadth, and so many of
// executions that begin in random ones of these.
var samples = struct{ breadth, length, depth int }{1000, 200, 2000}

// learn lets the bounds grow by samples. They are the same in each process that runs the program.
func (s *System) learn(b *bounds, seed uint64) {
	m, err := s.build()
	if err != nil {
		return // the first builds had none
	}
	m.bound = b
	r := rand.New(rand.NewPCG(seed, 1))
	seen := map[string]bool{}
	var states []system.State
	var key []byte
	keep := func(state system.State) {
		key = key[:0]
		for _, w := range state {
			key = binary.LittleEndian.AppendUint64(key, w)
		}
		if !seen[string(key)] && len(states) < samples.breadth {
			seen[string(key)] = true
			states = append(states, slices.Clone(state))
		}
	}
	for _, state := range s.initial {
		keep(state)
	}
	for i := 0; i < len(states); i++ { // more are found on the way
		m.everyStep(states[i], keep)
	}
	if len(states) < samples.breadth {
		return // these are all
	}
	var next []system.State
	for n := 0; n < samples.depth; {
		at := states[r.IntN(len(states))]
		for range samples.length {
			n++
			next = next[:0]
			m.everyStep(at, func(end system.State) { next = append(next, slices.Clone(end)) })
			if len(next) == 0 {
				break
			}
			at = next[r.IntN(len(next))]
		}
	}
}

// everyStep takes each step of a state, and shows where they lead.
func (m *machine) everyStep(state system.State, end func(system.State)) {
	for t := range m.threads() {
		for alt, more := uint64(0), true; more; {
			m.Load(state)
			out := m.Step(t, alt)
			if out.Kind == system.Moved {
				end(m.Encode(nil))
			}
			alt, more = out.Next, out.Next != 0
		}
	}
	m.Load(state)
	for i := range m.props {
		m.Eval(i)
	}
}

// Future implements [system.Futures].
func (m *machine) Future(t int) *system.Footprint {
	if m.bound == nil {
		return nil
	}
	return m.bound.future[m.placeOf(t)]
}
