package cartesian

import (
	"slices"

	"cpor/engine/search"
	"cpor/system"
	"cpor/testkit/sabotage"
)

// Options say how vectors are computed. The zero value is CalcCV as the
// reference counts have it.
type Options struct {
	// IgnoreDeadlocks switches the search for deadlocks off.
	IgnoreDeadlocks bool
	// MaxDeadlocks bounds the deadlocks reported from one state; 0 means no
	// bound. With choices, one vector can have as many as the product of the
	// numbers of the threads' alternatives.
	MaxDeadlocks int
	// MaxLength bounds the transitions of a prefix; 0 means 262,144, and 1,024
	// with Check. A prefix
	// that is cut off is a shorter one, which definition 2 allows as well: its
	// end state is explored. Without a bound, a thread that counts up would
	// make one vector as long as its counter goes.
	MaxLength int
	// Check, if not nil, switches a slow mode on in which every vector is
	// verified against definition 2 by executing its transitions in both
	// orders (see check.go). It is called with a [*validate.Difference] for each
	// difference, which is a fault of the tool and not of what it explores.
	Check func(error)

	// noEndedLoops takes a prefix whose thread has ended for infinite without
	// adding the self-loop. It is wrong; a test shows that the oracle notices.
	noEndedLoops bool
}

// Expander computes cartesian vectors. It implements [search.Expander], and
// like every expander serves one goroutine.
type Expander struct {
	sys system.System
	o   Options
	obs system.Observers

	base     system.Machine   // its live state is the state that is expanded
	machines []system.Machine // of prefixes; the first `lent` are in use
	lent     int

	prefixes []*prefix // the vector, in the order of the threads
	spare    []*prefix
	table    table
	active   []int32 // the prefixes that are extendable

	visitor   search.Visitor // nil while Vector computes
	stopper   search.Stopper // the visitor, if it can say that the search is to end
	stopped   bool           // it has said so while the vector was computed
	recording bool           // prefixes keep their transitions
	counters  search.Counters

	move    search.Move
	tail    []search.Step
	encoded [2]system.State
	cyclic  *prefix // the prefix that same looks at
	same    func(index int) bool
	threads []choice // the deadlock search's working space

	effort Effort
	short  []bool // of each thread: its prefix had one transition in the last vector

	code   code
	start  system.State // that is expanded
	loaded bool         // into base
}

var _ search.Expander = (*Expander)(nil)

// prefix is one prefix of the vector under construction.
type prefix struct {
	thread     int32
	alt        uint64 // of the first transition
	length     int32  // transitions, the self-loop of a blocked or ended thread included
	extendable bool
	infinite   bool
	idle       bool // the first transition leaves the state as it is
	// What the last transition was: Moved, or a self-loop.
	kind  system.Kind
	atEnd bool

	machine system.Machine // nil while the prefix has only its first transition
	mark    system.Mark    // of the machine, after the last transition
	// What code has executed of it, in e.code.steps: those that were added, and those ahead.
	from, next, to int
	before         uint64          // the hash of the state that the machine has loaded
	tried, short   bool            // it was to be extended; the last one of the thread was short
	accesses       []system.Access // of the last transition
	own            []system.Access // them, if a machine has executed it
	states         hashSet         // of the states before the last one, the start included

	transitions []Transition // if recording

	// The state behind the first transition, if that was written down at once; empty
	// if not.
	end system.State
}

// Effort says what the last vector took, and what a full expansion of the same state
// would take.
type Effort struct {
	// Steps are the transitions that were executed, again and in vain included; Copies
	// the times that the state was loaded into the machine of a prefix; Ends the moves
	// whose ends are to be covered; Accesses those of the steps, which are compared.
	Steps, Copies, Ends, Accesses int
	// FullSteps and FullEnds are the same of a full expansion, which loads the state
	// once: the alternatives of all first transitions, and those that are not self-loops
	// of blocked or ended threads.
	FullSteps, FullEnds int
}

// moved is the number of transitions that are not the self-loop of a blocked
// or ended thread.
func (p *prefix) moved() int {
	if p.kind == system.Moved {
		return int(p.length)
	}
	return int(p.length) - 1
}

// New returns an expander that computes the cartesian vectors of a system.
func New(sys system.System, o Options) *Expander {
	if o.MaxLength <= 0 {
		o.MaxLength = 1 << 18
		if o.Check != nil {
			o.MaxLength = 1 << 10 // pairs are executed in both orders
		}
	}
	e := &Expander{sys: sys, o: o, obs: system.ObserversOf(sys), base: sys.NewMachine()}
	e.base.Track(true)
	e.same = e.isSame
	if !sabotage.On && !o.noEndedLoops { // what is broken on purpose is not to be hidden
		e.code.Machine = e.base.Capabilities().Expanding
	}
	return e
}

// Counters returns the counts so far. Transitions are those added to
// prefixes, the self-loops of blocked threads included; Attempts are those and
// the rejected ones; a choice that ends a prefix is neither. The self-loops of
// ended threads are counted apart, in EndedLoops: the paper's table has them in
// its transitions for some programs (its full search for SharedArray and
// SharedPtr) and not for others. An observer's self-loops are not counted.
func (e *Expander) Counters() search.Counters { return e.counters }

// Effort returns what the vector of the last Expand took.
func (e *Expander) Effort() Effort { return e.effort }

// Expand computes the cartesian vector of state s and shows its prefixes to v as moves, in the
// order of the threads; a thread's alternatives are beside each other. A move's path leaves out a
// self-loop at the end of the prefix, unless the prefix is nothing else: it leads to the same
// state, and traces need no self-loops. Violations come before the moves, deadlocks after them.
func (e *Expander) Expand(s system.State, v search.Visitor) {
	e.visitor = v
	e.stopper, _ = v.(search.Stopper)
	e.recording = e.o.Check != nil
	e.calc(s)
	e.stopper = nil
	if e.stopped {
		e.visitor = nil
		return
	}
	for _, p := range e.prefixes {
		e.move = search.Move{Thread: int(p.thread), Alt: p.alt, Len: max(1, p.moved()),
			Infinite: p.infinite}
		if !p.infinite {
			e.move.End = e.endState(p, s)
			e.effort.Ends++
		}
		e.remember(p)
		v.Move(&e.move)
	}
	if !e.o.IgnoreDeadlocks {
		e.deadlocks(s, v)
	}
	if e.o.Check != nil {
		e.check(s)
	}
	e.visitor = nil
}

// remember keeps how long a prefix was.
func (e *Expander) remember(p *prefix) {
	t := int(p.thread)
	if t >= len(e.short) {
		e.short = append(e.short, make([]bool, t+1-len(e.short))...)
	}
	e.short[t] = p.length == 1
	if p.from < p.to {
		e.code.remember(p)
	}
}

// endState returns the state at the end of a prefix from s, in a buffer that the
// next call overwrites.
func (e *Expander) endState(p *prefix, s system.State) system.State {
	switch {
	case p.moved() == 0:
		return s
	case p.machine == nil && p.next > p.from:
		if p.length == 1 && !p.tried && !p.short {
			e.effort.Steps++ // as a machine: what it takes must not depend on who executes
		}
		return e.encode(&e.code.steps[p.from+p.moved()-1], &e.encoded[0])
	case p.length == 1 && len(p.end) > 0:
		return p.end
	case p.machine != nil:
		e.encoded[0] = p.machine.Encode(e.encoded[0])
	default: // a machine of its own was not worthwhile
		e.effort.Steps++
		e.load()
		mark := e.base.Mark()
		e.base.Step(int(p.thread), p.alt)
		e.encoded[0] = e.base.Encode(e.encoded[0])
		e.base.Rewind(mark)
	}
	return e.encoded[0]
}

// calc is CalcCV: it leaves the cartesian vector of s in e.prefixes.
func (e *Expander) calc(s system.State) {
	e.spare = append(e.spare, e.prefixes...)
	e.prefixes = e.prefixes[:0]
	e.lent = 0
	e.stopped = false
	if !sabotage.Is("cartesian/stale") || len(e.spare) == 0 {
		e.table.reset()
	}
	e.start, e.loaded = s, false
	e.effort = Effort{}
	if e.executed(s) {
		e.firsts(s)
	} else {
		e.load()
		for t := range e.base.NumThreads() {
			e.first(int32(t), s)
		}
	}
	if e.stopped {
		return
	}
	for _, p := range e.prefixes {
		if p.extendable && p.idle {
			p.infinite = true
			p.extendable = false
		}
	}
	e.extendAll(s)
}

// load loads the state that is expanded into base.
func (e *Expander) load() {
	if !e.loaded {
		e.base.Load(e.start)
		e.loaded = true
	}
}

// first starts the prefixes of a thread, one for each alternative of its first
// transition.
func (e *Expander) first(t int32, s system.State) {
	begin := len(e.prefixes)
	mark := e.base.Mark()
	start := e.base.Hash()
	for alt, more := uint64(0), true; more; {
		out := e.base.Step(int(t), alt)
		e.effort.Steps++
		e.effort.FullSteps++
		if out.Kind == system.Ended && e.leavesEnded() {
			return
		}
		p := e.newPrefix(t, alt)
		i := int32(len(e.prefixes))
		e.prefixes = append(e.prefixes, p)
		p.states.add(start)
		p.keep(e.base)
		e.add(i, out, e.base.Hash())
		if e.base.Hash() == start {
			e.encoded[0] = e.base.Encode(e.encoded[0])
			p.idle = slices.Equal(e.encoded[0], s)
		}
		if out.Kind == system.Moved {
			e.effort.FullEnds++
			if int(t) < len(e.short) && e.short[t] {
				// It will hardly be extended this time, and need not be executed
				// again for its end.
				p.end = e.base.Encode(p.end)
			}
		}
		e.base.Rewind(mark)
		alt, more = out.Next, out.Next != 0
		if n := len(e.prefixes) - begin; n%stopInterval == 0 && e.stopper != nil &&
			e.stopper.Stopped() {
			e.stopped = true
			return
		}
	}
	e.limitWidth(begin)
}

// limitWidth leaves very many alternatives of a thread as short as they are, which definition 2
// allows: otherwise each would need a machine of its own.
func (e *Expander) limitWidth(begin int) {
	if len(e.prefixes)-begin > maxWide {
		for _, p := range e.prefixes[begin:] {
			p.extendable = false
		}
	}
}

// maxWide is how many alternatives a thread may have for its prefixes to be
// extended.
const maxWide = 1024

func (e *Expander) newPrefix(t int32, alt uint64) *prefix {
	var p *prefix
	if n := len(e.spare); n > 0 {
		p = e.spare[n-1]
		e.spare = e.spare[:n-1]
	} else {
		p = new(prefix)
	}
	p.thread, p.alt, p.length = t, alt, 0
	p.extendable, p.infinite, p.idle = true, false, false
	p.machine = nil
	p.accesses = nil
	p.states.reset()
	p.transitions = nil
	p.end = p.end[:0]
	p.from, p.next, p.to, p.before, p.tried, p.short = 0, 0, 0, 0, false, false
	return p
}

// run returns the machine of a prefix at the prefix's end. It is made when a
// prefix is extended for the first time.
func (e *Expander) run(p *prefix, s system.State) system.Machine {
	if p.machine == nil {
		if e.lent == len(e.machines) {
			m := e.sys.NewMachine()
			m.Track(true)
			e.machines = append(e.machines, m)
		}
		p.machine = e.machines[e.lent]
		e.lent++
		if p.next > p.from {
			last := &e.code.steps[p.next-1]
			p.machine.Load(last.End)
			p.before = last.hash
		} else {
			p.machine.Load(s)
			p.machine.Step(int(p.thread), p.alt)
			e.effort.Steps++
			e.effort.Copies++
		}
		p.mark = p.machine.Mark()
	}
	return p.machine
}

// stopInterval is after how many transitions of a prefix the visitor is asked
// whether the search is to end: often enough to be prompt, too rarely to cost.
const stopInterval = 1024

// extend tries to extend prefix i from s by its next transition.
func (e *Expander) extend(i int32, s system.State) {
	p := e.prefixes[i]
	if p.length%stopInterval == 0 && e.stopper != nil && e.stopper.Stopped() {
		e.stopped = true
	}
	if e.stopped || int(p.length) >= e.o.MaxLength {
		p.extendable = false
		return
	}
	e.effort.Steps++
	if p.next > p.from && !p.tried {
		p.tried = true
		e.effort.Steps++ // as by run
		e.effort.Copies++
	}
	if p.machine == nil && p.next < p.to {
		e.extendByCode(i)
		return
	}
	m := e.run(p, s)
	out := m.Step(int(p.thread), 0)
	if out.Kind == system.Ended && e.leavesEnded() {
		p.infinite = true
		p.extendable = false
		return
	}
	if out.Next != 0 && !sabotage.Is("cartesian/choice") {
		// The prefix ends before a choice: each alternative will start a
		// prefix of its own.
		m.Rewind(p.mark)
		p.extendable = false
		return
	}
	if !e.fits(p, out, m.Accesses()) {
		m.Rewind(p.mark)
		return
	}
	p.keep(m)
	e.add(i, out, p.before^m.Hash())
	p.mark = m.Mark()
}

// keep keeps what a machine's last step has accessed as that of the last transition.
func (p *prefix) keep(m system.Machine) {
	p.own = append(p.own[:0], m.Accesses()...)
	p.accesses = p.own
}

// fits reports whether a transition of its thread can be added to a prefix. If so, what was the
// last transition until now is none; if not, the prefix ends before it.
func (e *Expander) fits(p *prefix, out system.Outcome, accesses []system.Access) bool {
	for _, a := range accesses {
		if e.table.inside(p.thread, a) {
			p.extendable = false
			if e.counted(p, out) {
				e.counters.Attempts++
			}
			return false
		}
	}
	for _, a := range p.accesses {
		if sabotage.Is("cartesian/bury") {
			break
		}
		e.table.bury(p.thread, a)
	}
	return true
}

// counted reports whether a transition counts.
func (e *Expander) counted(p *prefix, out system.Outcome) bool {
	return out.Kind != system.Ended && !(out.Kind == system.Blocked && e.obs.Has(int(p.thread)))
}

// add makes the transition with the accesses of prefix i its last one. hash is that of the state
// behind it.
func (e *Expander) add(i int32, out system.Outcome, hash uint64) {
	p := e.prefixes[i]
	p.length++
	p.kind, p.atEnd = out.Kind, out.AtEnd
	e.effort.Accesses += len(p.accesses)
	if e.counted(p, out) {
		e.counters.Attempts++
		e.counters.Transitions++
	} else if out.Kind == system.Ended {
		e.counters.EndedLoops++
	}
	if e.recording {
		p.record(out)
	}
	if out.Violation != nil && e.visitor != nil {
		e.tail = p.appendSteps(e.tail[:0])
		e.visitor.Violation(out.Violation, e.tail)
	}

	// A creation is dependent with the self-loop of the unborn child, which
	// reads the child's existence and is the whole prefix of that thread.
	conflict := out.Created
	for _, a := range p.accesses {
		if e.touch(i, p.thread, a) {
			conflict = true
		}
	}
	switch {
	case conflict:
		p.extendable = false
		p.infinite = sabotage.Is("cartesian/conflict") && p.length > 2
	case p.length == 1:
		// The other threads' first transitions may yet conflict with it, so
		// calc decides later whether it is infinite.
		p.states.add(hash)
	case out.Kind != system.Moved || e.onPrefix(p, hash):
		p.infinite = true
		p.extendable = false
	default:
		p.states.add(hash)
	}
}

// appendSteps appends the transitions of the prefix that are not self-loops.
func (p *prefix) appendSteps(steps []search.Step) []search.Step {
	for k, alt := 0, p.alt; k < p.moved(); k, alt = k+1, 0 {
		steps = append(steps, search.Step{Thread: int(p.thread), Alt: alt})
	}
	return steps
}

// leavesEnded reports whether the self-loops of ended threads are left out, which a test does to
// show that local states are lost.
func (e *Expander) leavesEnded() bool {
	return e.o.noEndedLoops || sabotage.Is("cartesian/ended")
}
