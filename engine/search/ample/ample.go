package ample

import (
	"io"
	"slices"
	"sync/atomic"

	"cpor/engine/lockset/persistent"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/statestore"
	"cpor/system"
	"cpor/testkit/sabotage"
)

// Expander is the expander with ample sets. It is made by a [search.Factory].
type Expander struct {
	m       system.Machine
	bounds  system.Temporal // of m
	futures system.Futures  // of m; nil if there are none
	// unnumbered of m; nil if there are none, or sets are checked: brute force compares states.
	unnumbered system.Unnumbered
	obs        system.Observers
	chains     *chains

	validator *persistent.Validator // nil unless sets are checked
	report    func(error)

	lazy bool // moves are made only of threads that belong to an ample set
	code code

	// Where sets are rare, states are expanded by it. It is nil if package auto decides that, or if
	// sets are checked: then none is left out.
	plain *full.Expander
	rest  Rest

	// Of the state that is expanded:
	state    system.State
	threads  []thread
	words    []uint64 // the ends of moves
	moves    []taken
	accesses []system.Access
	behind   []system.Access // of the transition that may follow
	answers  []answer        // by thread and another thread
	reached  []statestore.Ref
	inside   []bool // by thread: it belongs to the closure that is being computed
	best     []bool // likewise, of the best one so far
	tried    []bool // likewise: its closure is no smaller than the best one
	work     []int
	end      system.State

	mv       search.Move
	tail     []search.Step
	deadlock system.Violation
	counters search.Counters
	effort   Effort
}

// Effort says what the last [Expander.Reduce] took.
type Effort struct {
	// Steps are the transitions that were executed, Ends the moves that were made, Questions how
	// often it was asked what one thread may do to another.
	Steps, Ends, Questions int
	// FullSteps and FullEnds are those of a full expansion, extrapolated from the threads that
	// were looked at: the alternatives of all transitions, self-loops included, and those that
	// are none.
	FullSteps, FullEnds int
}

// thread is what is known of a thread's next transitions.
type thread struct {
	looked   bool        // what follows is known
	enabled  int         // alternatives
	kind     system.Kind // of the self-loop if there are none
	atEnd    bool
	late     bool
	from, to int // its accesses

	coded          bool // code has executed it, if it is looked at
	steps, stepsTo int  // in code.steps
	taken          bool
	first, last    int  // its moves, if they were taken
	covered        bool // the ends of these
}

// taken is a move that was executed and taken back.
type taken struct {
	thread    int
	alt       uint64 // of the first transition
	length    int
	from, to  int               // its end in words
	violation *system.Violation // of the last transition
}

// answer is what is known of a question.
type answer uint8

const (
	unasked answer = iota
	yes
	no
)

// Factory returns the factory of the expanders of one search. The error is a refusal of systems
// that do not bound what their threads may still do. report is called with an error for each set
// that is not persistent, which is checked by brute force; with nil it is not.
func Factory(sys system.System, report func(error)) (search.Factory, error) {
	sets, err := Sets(sys, report)
	if err != nil {
		return nil, err
	}
	return func() search.Expander {
		x := sets()
		x.lazy = false
		if report == nil && !sabotage.On {
			x.plain, x.rest = full.New(sys), Rest{tried: attempts - patient}
		}
		return x
	}, nil
}

// Resting is Factory for tests: the first states are expanded plainly, as if sets were rare.
func Resting(sys system.System) (search.Factory, error) {
	f, err := Factory(sys, nil)
	if err != nil {
		return nil, err
	}
	return func() search.Expander {
		x := f().(*Expander)
		x.rest = Rest{tried: attempts}
		return x
	}, nil
}

// Sets is Factory for a search that expands some states by ample sets ([Expander.Reduce]) and
// others otherwise.
func Sets(sys system.System, report func(error)) (func() *Expander, error) {
	if err := bounds.Unmet(sys); err != nil {
		return nil, err
	}
	c := newChains()
	return func() *Expander {
		m := sys.NewMachine()
		m.Track(true)
		x := &Expander{m: m, bounds: m.Capabilities().Temporal,
			futures: m.Capabilities().Futures, obs: system.ObserversOf(sys),
			chains: c, report: report, lazy: true}
		if !sabotage.On { // what is broken on purpose is not to be hidden
			x.code.Machine = m.Capabilities().Expanding
		}
		x.unnumbered = m.Capabilities().Unnumbered
		if report != nil {
			x.unnumbered = nil
			x.validator = persistent.NewValidator(sys)
		}
		return x
	}, nil
}

// CountCode implements [reduction.Compiling].
func (x *Expander) CountCode(states *atomic.Uint64) {
	x.code.used = states
	if x.plain != nil {
		x.plain.CountCode(states)
	}
}

// Counters returns the counts since the expander was made.
func (x *Expander) Counters() search.Counters {
	c := x.counters
	if x.plain != nil {
		c.Add(x.plain.Counters())
	}
	return c
}

// Effort returns what the last Reduce took.
func (x *Expander) Effort() Effort {
	e := x.effort
	e.Ends = len(x.moves)
	looked := 0
	for t := range x.threads {
		if y := &x.threads[t]; y.looked {
			looked++
			e.FullSteps += max(1, y.enabled)
			e.FullEnds += y.enabled
		}
	}
	if looked > 0 {
		e.FullSteps = e.FullSteps * len(x.threads) / looked
		e.FullEnds = e.FullEnds * len(x.threads) / looked
	}
	return e
}

// SaveMemory implements [search.Remembering].
func (x *Expander) SaveMemory(w io.Writer) error { return x.chains.save(w) }

// RestoreMemory implements [search.Remembering].
func (x *Expander) RestoreMemory(r io.Reader) error { return x.chains.restore(r) }

// Expand sends v the transitions of an ample set of s, or all.
func (x *Expander) Expand(s system.State, v search.Visitor) {
	stopper, _ := v.(search.Stopper)
	cover, searches := v.(search.Coverer)
	if !searches {
		// A trace is rebuilt, and nobody knows how s was expanded.
		x.prepare(s)
		x.all(v, stopper)
		if x.plain != nil {
			x.plain.Expand(s, v)
		}
		return
	}
	if x.plain != nil && !x.rest.Due() {
		x.plain.Expand(s, v)
		return
	}
	x.prepare(s)
	ref, _ := cover.Expanded()
	found := !x.chains.decided(ref) && x.reduce(ref, v, cover, stopper)
	if !found && x.all(v, stopper) {
		x.chains.expanded(ref)
	}
	x.rest.Told(x.saved(found))
	x.code.end()
}

// saved tells whether an expansion, by an ample set if one was found, may have saved any states: it
// has left out threads, or a move has several transitions.
func (x *Expander) saved(found bool) bool {
	return found && len(x.threads) > 1 ||
		slices.ContainsFunc(x.moves, func(mv taken) bool { return mv.length > 1 })
}

// Reduce expands s by an ample set, if there is one that stands. If not, s is to be expanded
// otherwise, by all transitions or by a vector of all threads. v is a [search.Coverer]. Transitions
// that were executed in vain do not count.
func (x *Expander) Reduce(s system.State, v search.Visitor) bool {
	stopper, _ := v.(search.Stopper)
	cover := v.(search.Coverer)
	x.prepare(s)
	before := x.counters
	if ref, _ := cover.Expanded(); !x.chains.decided(ref) && x.reduce(ref, v, cover, stopper) {
		x.code.end()
		return true
	}
	x.counters.Attempts = before.Attempts + x.counters.Transitions - before.Transitions
	return false
}

// reduce expands the live state by an ample set, if there is one that stands.
func (x *Expander) reduce(ref statestore.Ref, v search.Visitor, cover search.Coverer,
	stopper search.Stopper) bool {
	for _, late := range []bool{false, true} {
		for t := range x.threads {
			if !x.look(t, stopper) {
				return false
			}
			y := &x.threads[t]
			if y.enabled == 0 || y.late != late || !x.alone(t) {
				continue
			}
			x.reached = x.reached[:0]
			if x.take(t, stopper) && x.cover(t, v, cover) && x.chains.justify(ref, x.reached) {
				x.validate(func(u int) bool { return u == t })
				x.code.last = t
				return true
			}
		}
	}
	x.code.last = -1
	if !x.closure() {
		return false
	}
	x.reached = x.reached[:0]
	for t, in := range x.best {
		if in && (!x.take(t, stopper) || !x.threads[t].covered && !x.cover(t, v, cover)) {
			return false
		}
	}
	if !x.chains.justify(ref, x.reached) {
		return false
	}
	x.validate(func(t int) bool { return t < len(x.best) && x.best[t] })
	return true
}

// validate checks the set by which the live state is expanded, if somebody wants to know.
func (x *Expander) validate(in func(t int) bool) {
	if x.validator == nil {
		return
	}
	if err := x.validator.Check(x.state, in); err != nil {
		x.report(err)
	}
}

// closure finds the smallest set of threads that begins with an enabled thread and has each
// thread that may interfere with one of the set. It is false if that is all that can be done.
func (x *Expander) closure() bool {
	all := 0
	for t := range x.threads {
		all += x.threads[t].enabled
	}
	least := all
	clear(x.tried)
	for seed := range x.threads {
		if y := &x.threads[seed]; y.enabled == 0 || y.covered {
			continue
		}
		clear(x.inside)
		x.inside[seed] = true
		x.work = append(x.work[:0], seed)
		cost := 0
		for len(x.work) > 0 && cost < least {
			t := x.work[len(x.work)-1]
			x.work = x.work[:len(x.work)-1]
			cost += x.threads[t].enabled
			if !x.spread(t) {
				cost = least
			}
		}
		x.tried[seed] = !x.lazy // the weights of package auto are for whole closures
		if cost < least {
			least = cost
			x.best, x.inside = x.inside, x.best
		}
	}
	return least < all
}

// spread adds the threads that may interfere with thread t to the closure. It is false if the
// closure of one of them is known: this one contains it, and so is no smaller than the best one.
func (x *Expander) spread(t int) bool {
	for u := range x.threads {
		if x.inside[u] || !x.conflict(t, u) {
			continue
		}
		if x.tried[u] {
			return false
		}
		x.inside[u] = true
		x.work = append(x.work, u)
	}
	return true
}

// all sends v all transitions of the live state but those that it has, and a deadlock if it is
// one. It tells whether that was not broken off.
func (x *Expander) all(v search.Visitor, stopper search.Stopper) bool {
	enabled, stuck := false, false
	for t := range x.threads {
		if !x.look(t, stopper) || !x.take(t, stopper) {
			return false
		}
		y := &x.threads[t]
		own := !x.obs.Has(t)
		enabled = enabled || own && y.enabled > 0
		if own && y.enabled == 0 {
			if y.kind == system.Ended {
				x.counters.EndedLoops++
			} else {
				x.counters.Transitions++
				x.counters.BlockedLoops++
				stuck = stuck || !y.atEnd
			}
		}
		for i := y.first; i < y.last && !y.covered; i++ {
			x.show(i, v)
			v.Move(&x.mv)
		}
	}
	if stuck && !enabled {
		x.deadlock = system.Violation{Kind: system.Deadlock, Message: "deadlock"}
		v.Violation(&x.deadlock, nil)
	}
	return stopper == nil || !stopper.Stopped()
}

// prepare begins the expansion of s.
func (x *Expander) prepare(s system.State) {
	x.state = s
	x.m.Load(s)
	x.code.begin(x.counters.Attempts)
	n := x.m.NumThreads()
	if cap(x.threads) < n {
		x.threads, x.answers = make([]thread, 2*n), make([]answer, 4*n*n)
	}
	x.threads, x.answers = x.threads[:n], x.answers[:n*n]
	clear(x.threads)
	clear(x.answers)
	x.inside, x.best = slices.Grow(x.inside[:0], n)[:n], slices.Grow(x.best[:0], n)[:n]
	x.tried = slices.Grow(x.tried[:0], n)[:n]
	x.effort = Effort{}
	x.words, x.moves, x.accesses = x.words[:0], x.moves[:0], x.accesses[:0]
}

// look makes known what all alternatives of a thread access. It is false if that was broken off.
func (x *Expander) look(t int, stopper search.Stopper) bool {
	return x.threads[t].looked || x.executed(t) || x.run(t, !x.lazy, stopper)
}

// take makes the moves of a thread. It is false if that was broken off.
func (x *Expander) take(t int, stopper search.Stopper) bool {
	y := &x.threads[t]
	if !y.taken && y.coded {
		x.moved(t)
	}
	return y.taken || x.run(t, true, stopper)
}

// run executes all alternatives of a thread and takes them back. With ends, their moves are made.
// It is false if that was broken off.
func (x *Expander) run(t int, ends bool, stopper search.Stopper) bool {
	x.home()
	m, y := x.m, &x.threads[t]
	*y = thread{first: len(x.moves), from: len(x.accesses)}
	mark := m.Mark()
	for alt := uint64(0); ; {
		out := m.Step(t, alt)
		x.counters.Attempts++
		x.effort.Steps++
		if out.Kind == system.Moved || !sabotage.Is("ample/blocked") {
			x.accesses = append(x.accesses, m.Accesses()...)
		}
		if out.Kind != system.Moved {
			y.kind, y.atEnd = out.Kind, out.AtEnd
			break
		}
		y.enabled++
		next, of := out.Next, x.accesses[len(x.accesses)-len(m.Accesses()):]
		if ends {
			x.move(t, alt, out)
		}
		m.Rewind(mark)
		y.late = y.late || x.bounds.Late(t, of)
		if next == 0 {
			break
		}
		if stopper != nil && stopper.Stopped() {
			return false
		}
		alt = next
	}
	y.last, y.to, y.looked, y.taken = len(x.moves), len(x.accesses), true, ends
	return true
}

// move makes a move that begins with the transition just taken.
func (x *Expander) move(t int, alt uint64, out system.Outcome) {
	mv := taken{thread: t, alt: alt, length: 1, from: len(x.words), violation: kept(out.Violation)}
	if mv.violation == nil && !x.obs.Has(t) {
		x.follow(&mv)
	}
	x.end = x.m.Encode(x.end)
	x.words = append(x.words, x.end...)
	mv.to = len(x.words)
	x.moves = append(x.moves, mv)
}

// maxLength bounds the transitions of a move, for threads that go round without end.
const maxLength = 100

// follow takes the transitions behind a move, which has been taken, as long as they are ample sets.
// It tells whether the move ends where its thread has several alternatives.
func (x *Expander) follow(mv *taken) (several bool) {
	m, t := x.m, mv.thread
	for mv.length < maxLength && mv.violation == nil {
		mark := m.Mark()
		out := m.Step(t, 0)
		x.counters.Attempts++
		x.effort.Steps++
		if out.Kind != system.Moved {
			return false
		}
		x.behind = append(x.behind[:0], m.Accesses()...)
		m.Rewind(mark)
		if out.Next != 0 {
			return true
		}
		if x.disturbed(t, x.behind) {
			return false
		}
		m.Step(t, 0)
		mv.length++
		mv.violation = kept(out.Violation)
	}
	return false
}

// disturbed tells whether some thread may interfere, where the machine is, with a transition of t
// with these accesses.
func (x *Expander) disturbed(t int, accesses []system.Access) bool {
	for u := range x.m.NumThreads() {
		if u != t && x.conflicts(t, accesses, u) && !(u > t && sabotage.Is("ample/behind")) {
			return true
		}
	}
	return false
}

// kept returns a copy of a violation, which is valid until the machine's next step.
func kept(v *system.Violation) *system.Violation {
	if v == nil {
		return nil
	}
	k := *v
	return &k
}

// conflict tells whether what thread u may do, as long as t does not move, may be dependent on
// what t does next.
func (x *Expander) conflict(t, u int) bool {
	a := &x.answers[t*len(x.threads)+u]
	if *a == unasked {
		x.effort.Questions++
		x.home()
		y := &x.threads[t]
		*a = no
		if x.conflicts(t, x.accesses[y.from:y.to], u) {
			*a = yes
		}
	}
	return *a == yes
}

// conflicts tells whether what thread u may do, as long as t does not move, may be dependent on
// accesses of t. Formulas leave observers out, and so do the bounds that are made for them: what
// observers read, and what they depend on, is compared location by location.
func (x *Expander) conflicts(t int, accesses []system.Access, u int) bool {
	if !x.obs.Has(t) && !x.obs.Has(u) || sabotage.Is("ample/observers") {
		if x.unnumbered != nil {
			return x.unnumbered.ConflictsUnnumbered(t, accesses, u)
		}
		return x.bounds.Conflicts(t, accesses, u)
	}
	if x.futures == nil {
		return true
	}
	f := x.futures.Future(u)
	for _, a := range accesses {
		if f.MayWrite(a.Loc) || a.Write && f.MayRead(a.Loc) {
			return true
		}
	}
	return false
}

// alone tells whether the transitions of t are an ample set.
func (x *Expander) alone(t int) bool {
	for u := range x.threads {
		if u != t && x.conflict(t, u) && !(u > t && sabotage.Is("ample/younger")) {
			return false
		}
	}
	return true
}

// cover covers the ends of a thread's transitions. It is false if the search is to end.
func (x *Expander) cover(t int, v search.Visitor, cover search.Coverer) bool {
	y := &x.threads[t]
	for i := y.first; i < y.last; i++ {
		arrived := false
		x.show(i, v)
		cover.Cover(&x.mv, func(ref statestore.Ref, fresh bool) bool {
			arrived = true
			x.reached = append(x.reached, ref)
			return fresh
		})
		if !arrived {
			return false
		}
	}
	y.covered = true
	return true
}

// show makes transition i the move, counts it and sends v its violation.
func (x *Expander) show(i int, v search.Visitor) {
	y := &x.moves[i]
	x.counters.Transitions += uint64(y.length)
	x.mv = search.Move{Thread: y.thread, Alt: y.alt, Len: y.length, End: x.words[y.from:y.to]}
	if y.violation != nil {
		x.tail = append(x.tail[:0], search.Step{Thread: y.thread, Alt: y.alt})
		for len(x.tail) < y.length {
			x.tail = append(x.tail, search.Step{Thread: y.thread})
		}
		v.Violation(y.violation, x.tail)
	}
}
