package temporal

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"

	"cpor/engine"
	"cpor/engine/lockset/persistent"
	"cpor/ltl"
	"cpor/ltl/buchi"
	"cpor/statestore"
	"cpor/system"
	"cpor/testkit/sabotage"
)

var (
	errFault = errors.New("a proposition cannot be evaluated")
	// errPaused ends a search that continues when it has been saved.
	errPaused = errors.New("paused")
	// errThreads says that there are more threads than fairness counts.
	errThreads = errors.New("more threads")
)

// The bits of a state's entry in the colors: whether it has been claimed and, if
// the search is reduced, whether it is safe and which of its transitions belong to
// the graph.
const (
	bitClaimed = 0
	bitSafe    = 1
	bitAmple   = 2
	ampleWidth = 8
)

// The values at bitAmple: not decided yet, all enabled transitions, or those of the thread with
// the number less ampleFirst.
const (
	ampleNone  = 0
	ampleFull  = 1
	ampleFirst = 2
)

// mostAmple bounds the number of a thread whose transitions can be an ample set; further threads
// are never one, which reduces less and is just as sound.
const mostAmple = 1<<ampleWidth - ampleFirst

// vertex is a vertex of the product: a program state and, as one number, the state
// of the automaton and the level of the fairness counter.
type vertex struct {
	ref statestore.Ref
	at  uint32
}

// fault is an error met in a state, by a step or in a proposition.
type fault struct {
	path      []statestore.Ref // program states from an initial one on
	thread    int              // -1 if the last state itself has it
	alt       uint64
	violation system.Violation
}

// guard is a proposition that must be evaluable in every state, with its place in the formula.
type guard struct {
	prop int
	pos  system.Pos
}

// exploration is one search of the product of a program with one automaton.
type exploration struct {
	sys    system.System
	labels system.Temporal // for the names of the propositions
	obs    system.Observers
	o      *Options

	reduction Reduction
	props     []int  // the propositions of the formula
	pos, neg  []bool // by proposition of the system: how it occurs
	checks    []guard
	needed    []bool // by atom: that it cannot be evaluated is an error

	a       *buchi.Automaton
	atoms   []int  // by atom of the automaton: the proposition
	weak    []bool // by state of the automaton: every cycle through it is accepting
	loose   []bool // by state of the automaton: no cycle through it is accepting
	nested  bool   // some state is accepting and not weak: nested searches are needed
	places  []int  // instead of those: see slot
	threads int    // whose fairness counts; 0 without fairness
	least   int    // threads there are in the beginning
	levels  uint32

	store   statestore.Store
	colors  *colors
	workers []*worker
	budget  uint64       // bytes; 0: no limit
	stacks  atomic.Int64 // bytes
	count   atomic.Int64 // states that have been claimed
	undone  int64        // of them: those that do not count in a checkpoint

	watch   *engine.Watch
	atLimit atomic.Bool // of states

	plain atomic.Bool // ample sets are no longer sought: there are too few
	broad bool        // the driver of the full search takes over then, or after some states

	slots chan struct{} // one for each worker that may work; nil: all may
	pinks bool          // vertices can be pink

	stop   atomic.Bool
	gaveUp atomic.Bool // stop, and no lasso will be looked for or shown
	pool   *pool
	mu     sync.Mutex
	err    error
	lasso  *lasso
	whole  *whole     // what a search for strong fairness builds instead
	strong *execution // and finds
	led    *execution // what the driver of the full search finds
	beside uint64     // bytes of its store
	fault  *fault
}

// lasso is a path in the product that ends in an accepting cycle: its vertices.
type lasso struct{ path []vertex }

// polarities finds out how the propositions of a formula occur.
func (s *exploration) polarities(f ltl.Formula, both map[string]bool) error {
	s.pos, s.neg = make([]bool, s.labels.NumProps()), make([]bool, s.labels.NumProps())
	pol := f.Polarities()
	for name := range both {
		pol[name] |= ltl.Positive | ltl.Negative
	}
	for i := range s.labels.NumProps() {
		p := pol[s.labels.PropName(i)]
		if p == 0 {
			continue
		}
		delete(pol, s.labels.PropName(i))
		s.props = append(s.props, i)
		s.pos[i], s.neg[i] = p&ltl.Positive != 0, p&ltl.Negative != 0
	}
	for name := range pol {
		return fmt.Errorf("the system has no proposition %q", name)
	}
	return nil
}

// automaton sets the automaton with which the product is taken.
func (s *exploration) automaton(a *buchi.Automaton, number map[string]int) error {
	s.a, s.levels = a, 1
	if s.threads > 0 {
		s.levels = uint32(s.threads) + 2
	}
	for _, name := range a.Atoms {
		i, ok := number[name]
		if !ok {
			return fmt.Errorf("the system has no proposition %q", name)
		}
		s.atoms = append(s.atoms, i)
	}
	s.weak, s.loose = make([]bool, a.States()), make([]bool, a.States())
	strengths := a.Strengths()
	for q := range s.weak {
		s.loose[q] = strengths[q] == buchi.Rejecting
		s.weak[q] = s.threads == 0 && strengths[q] >= buchi.Weak
		s.nested = s.nested || !s.loose[q] && !s.weak[q]
	}
	return nil
}

// The colors of a vertex: blue; red, if there are nested searches; cyan for each worker; pink
// for each worker, if there are nested searches and several workers. Pink is the set R of the
// algorithm, whose vertices become red together; a search that can continue with several workers
// has it, too.
func (s *exploration) bit(at uint32) int { return s.colors.fields + int(at)*s.colors.each }

const blue = 0

func (s *exploration) red() int { return 1 }

func (s *exploration) cyan(w int) int {
	if s.nested {
		return 2 + w
	}
	return 1 + w
}

func (s *exploration) pink(w int) int {
	if !s.pinks {
		return s.red()
	}
	return 2 + len(s.workers) + w
}

// vertices returns how many vertices a program state has.
func (s *exploration) vertices() int { return s.a.States() * int(s.levels) }

// eachOf returns how many bits the colors of a vertex take for n workers.
func (s *exploration) eachOf(n int) int {
	switch {
	case !s.nested:
		return 1 + n
	case !s.pinks:
		return 2 + n
	}
	return 2 + 2*n
}

// prepare makes n workers and the table of the colors.
func (s *exploration) prepare(n int) {
	s.pool = newPool()
	s.pinks = n > 1 || s.o.Checkpoint != nil
	fields := 1
	if s.reduction != None {
		fields = bitAmple + ampleWidth
	}
	numbers := 0
	if n == 1 && s.nested && s.threads == 0 && !s.o.Strong && s.o.Checkpoint == nil {
		numbers = s.assign()
	}
	s.colors = newColors(fields, s.vertices(), s.eachOf(n), numbers)
	s.workers = make([]*worker, n)
	for i := range s.workers {
		s.workers[i] = newWorker(s, i)
	}
	if s.o.Strong {
		s.whole = newWhole()
	}
	if n > s.o.Workers {
		s.slots = make(chan struct{}, s.o.Workers)
	}
}

// run searches for a reachable accepting cycle, and continues with that after a pause. It leaves
// what it found in s. The error is errPaused if the pool was paused.
func (s *exploration) run(watch *engine.Watch) error {
	s.watch = watch
	ctx := watch.Context()
	if ctx.Err() != nil {
		return context.Cause(ctx) // a search that is shorter than AfterFunc takes would pass
	}
	release := s.heed(ctx)
	defer release()
	if err := watch.Err(); err != nil {
		s.fail(err)
	}
	var wg sync.WaitGroup
	s.pool.open(len(s.workers))
	for _, w := range s.workers {
		wg.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					s.fail(fmt.Errorf("internal error: %v", r))
				}
			}()
			w.search()
		})
	}
	wg.Wait()
	release()
	if s.err == nil && s.lasso == nil && !s.pool.closed {
		return errPaused
	}
	return s.err
}

// heed ends the search when the context ends, until release is called (once or more). After
// release, nothing else writes to s.
func (s *exploration) heed(ctx context.Context) (release func()) {
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		s.fail(context.Cause(ctx))
	})
	return sync.OnceFunc(func() {
		if !stop() {
			<-ended
		}
	})
}

// fail ends the search with an error; the first one counts.
func (s *exploration) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && s.lasso == nil {
		s.err = err
		s.gaveUp.Store(true)
	}
	s.stop.Store(true)
	s.pool.close()
}

// early reports whether a vertex becomes blue as soon as it is seen, from a state all of whose
// transitions are taken. Where no cycle is accepting, the order of the search does not matter, so
// a vertex is never on a pile twice. While ample sets are sought the order matters: see the
// package documentation.
func (s *exploration) early(v vertex) bool {
	return s.loose[v.at/s.levels] && (s.reduction == None || s.plain.Load())
}

// bytes returns the memory that the search holds.
func (s *exploration) bytes() uint64 {
	return s.store.Bytes() + s.colors.bytes() + uint64(s.stacks.Load()) + s.beside
}

// move is an enabled transition from the state being expanded.
type move struct {
	thread   int
	alt      uint64
	from, to int    // its end state in the expander's words
	changed  uint64 // the words in which that can differ, as a set; 0: any
}

// candidate is a thread with enabled transitions.
type candidate struct {
	first, last            int // its moves
	acc                    []system.Access
	possible               bool // nothing but C1, C3 and C4 is left to decide
	invisible, transparent bool
	late                   bool
	conflict               int8 // 0: not known yet; 1: C1 and C4 hold; 2: they may not
}

// expander executes the transitions of a state, for one worker.
type expander struct {
	s       *exploration
	m       system.Machine
	labels  system.Temporal // of m
	futures system.Futures  // of m, with fairness and a reduction; nil if nothing is known
	session statestore.Grouping
	val     *persistent.Validator

	machine  system.Expanding // nil if there is no machine code, and will be none
	code     *system.Code     // nil if it is not ready
	next     system.Successor
	executed uint64 // transitions, by the machine
	trial    trial

	state         system.State
	changed       []int32
	letter        uint64 // of the state, for the automaton
	met           letters
	taken         bool // take has been called for the claim that follows
	mine          bool // this worker has expanded the state first
	seek          bool // and looks for an ample set
	undecided     bool // and was not able to decide on its ample set
	ample         uint32
	words         []uint64
	moves         []move
	enabled       []bool // by thread
	cands         []candidate
	before, after []int64
	end           system.State
}

func newExpander(s *exploration) *expander {
	m, labels, _ := temporal(s.sys)
	x := &expander{s: s, m: m, labels: labels, session: s.store.NewSession().(statestore.Grouping)}
	if !sabotage.On { // what is broken on purpose is not to be hidden
		x.machine = m.Capabilities().Expanding
	}
	if s.o.heedsFairness() {
		x.futures = m.Capabilities().Futures
	}
	if s.o.Validate {
		x.val = persistent.NewValidator(s.sys)
		x.val.Ignore, x.val.Waking = s.obs, s.o.heedsFairness()
	}
	return x
}

// load makes a stored state the live one and reads its letter. The violation says why a required
// proposition cannot be evaluated; all checks every one of them, not only the automaton's.
func (x *expander) load(state system.State, all bool) *system.Violation {
	s := x.s
	x.m.Track(false)
	x.m.Load(state)
	if all {
		for _, c := range s.checks {
			if _, v := x.labels.Eval(c.prop); v != nil {
				v = s.undefined(c.prop, v)
				v.Pos = c.pos
				return v
			}
		}
	}
	x.letter = 0
	for i, p := range s.atoms {
		holds, v := x.labels.Eval(p)
		if v != nil && s.needed[i] {
			return s.undefined(p, v)
		}
		if holds {
			x.letter |= 1 << i
		}
	}
	return nil
}

// undefined says that a proposition has no value.
func (s *exploration) undefined(p int, v *system.Violation) *system.Violation {
	u := *v
	u.Message = fmt.Sprintf("the proposition %s: %s", s.labels.PropName(p), v.Message)
	return &u
}

// threads counts the threads of the live state and makes room for them.
func (x *expander) threads() int {
	n := x.m.NumThreads()
	for len(x.enabled) < n {
		x.enabled = append(x.enabled, false)
		x.cands = append(x.cands, candidate{})
	}
	return n
}

// all executes the enabled transitions of the live state, of one thread or, with -1, of all
// threads. It calls done after each of them, since there can be very many alternatives.
func (x *expander) all(only int, done func() bool) {
	s := x.s
	m := x.m
	m.Track(false)
	mark := m.Mark()
	x.words, x.moves = x.words[:0], x.moves[:0]
	n := x.threads()
	for t := range n {
		x.enabled[t] = false
		if s.obs.Has(t) || only >= 0 && t != only {
			continue
		}
		for alt := uint64(0); ; {
			out := m.Step(t, alt)
			if out.Kind != system.Moved {
				break
			}
			x.enabled[t] = true
			x.keep(t, alt)
			m.Rewind(mark)
			if done() {
				return
			}
			if out.Next == 0 {
				break
			}
			alt = out.Next
		}
	}
	for t := n; t < len(x.enabled); t++ {
		x.enabled[t] = false
	}
}

// compiled reports whether there is machine code. Small searches end earlier.
func (x *expander) compiled() bool {
	if x.code == nil && x.machine != nil && x.executed >= pace.compile {
		code, gone := x.machine.Compiled(false)
		if x.code = code; gone {
			x.machine = nil
		}
	}
	return x.code != nil
}

// everything executes the enabled transitions of all threads of x.state, which is the live
// state, with machine code if there is any. path is called for the violations of the
// transitions. It is incomplete if the search has given up.
func (x *expander) everything(path func() []statestore.Ref) {
	m := x.m
	m.Track(false)
	mark := m.Mark()
	x.words, x.moves = x.words[:0], x.moves[:0]
	n := x.threads()
	clear(x.enabled)
	if !x.compiled() || !x.code.Expand(x.state) {
		for t := range n {
			x.steps(t, mark, path)
		}
		return
	}
	next := &x.next
	for x.code.Next(next) {
		switch {
		case next.Left:
			x.steps(next.Thread, mark, path)
		case next.Kind == system.Moved && !x.s.obs.Has(next.Thread):
			x.enabled[next.Thread] = true
			from := len(x.words)
			x.words = append(x.words, next.End...)
			x.moves = append(x.moves,
				move{next.Thread, next.Alt, from, len(x.words), next.Changed})
		}
		if x.s.gaveUp.Load() {
			return
		}
	}
}

// steps executes the enabled transitions of one thread for everything.
func (x *expander) steps(t int, mark system.Mark, path func() []statestore.Ref) {
	if x.s.obs.Has(t) {
		return
	}
	for alt := uint64(0); ; {
		out := x.m.Step(t, alt)
		if out.Kind != system.Moved {
			return
		}
		if out.Violation != nil {
			x.s.report(path, t, alt, out.Violation)
		}
		x.executed++
		x.enabled[t] = true
		x.keep(t, alt)
		x.m.Rewind(mark)
		if out.Next == 0 || x.s.gaveUp.Load() {
			return
		}
		alt = out.Next
	}
}

// keep records an executed transition.
func (x *expander) keep(t int, alt uint64) {
	from := len(x.words)
	x.end = x.m.Encode(x.end)
	x.words = append(x.words, x.end...)
	x.moves = append(x.moves, move{t, alt, from, len(x.words), 0})
}

// insert stores the ends of the moves from a state, and appends their references to refs.
func (x *expander) insert(from statestore.Ref, refs []statestore.Ref) ([]statestore.Ref, error) {
	return x.session.InsertAll(from, len(x.moves), func(i int) ([]uint64, []int32) {
		mv := &x.moves[i]
		x.changed = x.changed[:0]
		for set := mv.changed; set != 0; set &= set - 1 {
			x.changed = append(x.changed, int32(bits.TrailingZeros64(set)))
		}
		s := x.words[mv.from:mv.to]
		if len(x.changed) == 0 || len(s) != len(x.state) || len(s) > 64 {
			return s, nil
		}
		return s, x.changed
	}, refs)
}

// decide executes all enabled transitions of the live state and chooses those that belong to the
// graph: all, or the candidate that it returns as the value for bitAmple. path is called for the
// violations of the transitions.
func (x *expander) decide(path func() []statestore.Ref) (ample uint32, err error) {
	s, m := x.s, x.m
	n := x.threads()
	mark := m.Mark()
	m.Track(true)
	x.before = x.labels.Terms(x.before)
	x.words, x.moves = x.words[:0], x.moves[:0]
	enabled := 0
	for t := range n {
		c := &x.cands[t]
		*c = candidate{first: len(x.moves), acc: c.acc[:0]}
		if !s.obs.Has(t) {
			x.alternatives(t, c, mark, path)
		}
		c.last = len(x.moves)
		x.enabled[t] = c.last > c.first
		if x.enabled[t] {
			enabled++
		}
	}
	for t := n; t < len(x.enabled); t++ {
		x.enabled[t] = false
	}
	x.executed += uint64(len(x.moves))
	if enabled <= 1 {
		return ampleFull, nil
	}
	c := x.choose(n)
	over := x.trial.told(c != nil, s.broad)
	if s.broad && x.trial.rare > 0 {
		s.fail(errBroad)
	} else if over {
		s.plain.Store(true)
	}
	if c == nil {
		return ampleFull, nil
	}
	t := x.moves[c.first].thread
	if x.val != nil {
		if err := x.val.Check(x.state, func(u int) bool { return u == t }); err != nil {
			return 0, err
		}
	}
	x.moves = x.moves[c.first:c.last]
	return ampleFirst + uint32(t), nil
}

// alternatives executes the enabled transitions of a thread and finds out what
// they change.
func (x *expander) alternatives(t int, c *candidate, mark system.Mark,
	path func() []statestore.Ref) {
	s, m := x.s, x.m
	c.possible, c.invisible, c.transparent = t < mostAmple, true, true
	for alt := uint64(0); ; {
		out := m.Step(t, alt)
		if out.Kind == system.Blocked {
			c.acc = append(c.acc, m.Accesses()...)
		}
		if out.Kind != system.Moved {
			return
		}
		if out.Violation != nil {
			x.s.report(path, t, alt, out.Violation)
			c.possible = false
		}
		x.keep(t, alt)
		if out.Created {
			c.possible = false
		}
		acc := m.Accesses()
		c.acc = append(c.acc, acc...)
		if c.possible && c.transparent {
			x.after = x.labels.Terms(x.after)
			for _, p := range s.props {
				rise, fall := x.labels.Change(p, acc, x.before, x.after)
				if rise || fall {
					c.invisible = false
				}
				if rise && s.pos[p] || fall && s.neg[p] {
					c.transparent = false
				}
			}
		}
		m.Rewind(mark)
		c.late = c.late || x.labels.Late(t, c.acc[len(c.acc)-len(acc):])
		if out.Next == 0 || s.gaveUp.Load() { // see all
			return
		}
		alt = out.Next
	}
}

// choose returns the first candidate, in the paper's order, that is an ample set.
func (x *expander) choose(n int) *candidate {
	for pass := range 4 {
		if pass == 2 && x.s.reduction != Transparent {
			break
		}
		for t := range n {
			c := &x.cands[t]
			if c.first == c.last || !c.possible || c.late != (pass%2 == 1) {
				continue
			}
			if pass < 2 && !c.invisible || pass >= 2 && (c.invisible || !c.transparent) {
				continue
			}
			if x.conflicts(t, n) || x.closes(c) {
				continue
			}
			return c
		}
	}
	return nil
}

// conflicts reports whether C1 or C4 may not hold for the candidate of thread t, of n.
func (x *expander) conflicts(t, n int) bool {
	c := &x.cands[t]
	// First what the next transitions of the others tell, which often spares all analyses.
	for u := 0; u < n && c.conflict == 0; u++ {
		if u != t && !x.s.obs.Has(u) && x.labels.Clash(c.acc, x.cands[u].acc) {
			c.conflict = 2
		}
	}
	for u := 0; u < n && c.conflict == 0; u++ {
		if u != t && !x.s.obs.Has(u) && (x.labels.Conflicts(t, c.acc, u) || x.wakes(c, u)) {
			c.conflict = 2
		}
	}
	c.conflict = max(c.conflict, 1)
	return c.conflict == 2
}

// wakes reports whether a candidate may enable thread u, now or after steps of others, in a search
// that heeds fairness: it writes something that u may look at. Conflicts is not enough, because
// it takes a send for independent of the receive that it enables.
func (x *expander) wakes(c *candidate, u int) bool {
	if !x.s.o.heedsFairness() || sabotage.Is("fair/wakes") {
		return false
	}
	if x.futures == nil {
		return true
	}
	future := x.futures.Future(u)
	for _, a := range c.acc {
		if a.Write && (future.MayRead(a.Loc) || future.MayWrite(a.Loc)) {
			return true
		}
	}
	return false
}

// closes reports whether a candidate may close a cycle (C3): one of its transitions leads to a
// state that has been claimed and is not known to be safe.
func (x *expander) closes(c *candidate) bool {
	for _, mv := range x.moves[c.first:c.last] {
		ref, ok := x.session.Find(x.words[mv.from:mv.to])
		if !ok {
			continue
		}
		e, ok := x.s.colors.look(ref)
		if !ok {
			continue
		}
		bad := e.has(bitClaimed) && !e.has(bitSafe)
		e.unlock()
		if bad {
			return true
		}
	}
	return false
}

// enabledFrom returns an enabled thread with at least this number, -1 if there is none.
func (x *expander) enabledFrom(t int) int {
	for ; t < len(x.enabled); t++ {
		if x.enabled[t] {
			return t
		}
	}
	return -1
}

// moreThreads returns the number of threads to count after n were too few.
func moreThreads(n int) int { return n + n/2 + 1 }

// level moves the fairness counter past all conditions that are met by a
// transition of thread t (-1 if the state is repeated) from the live state: level 0
// waits for the automaton, level i for thread i-1 to move or be disabled.
func (x *expander) level(q int, level uint32, t int) uint32 {
	s := x.s
	if s.threads == 0 {
		return 0
	}
	last := s.levels - 1
	if level == last {
		level = 0
	}
	for level < last {
		if level == 0 {
			if !s.a.Accepting[q] {
				break
			}
		} else if u := int(level - 1); u != t && u < len(x.enabled) && x.enabled[u] {
			break
		}
		level++
	}
	return level
}

// accepting reports whether a vertex is accepting. With fairness the last level is: it is
// reached when the automaton's condition and that of each thread, in this order, have been met
// since the last time.
func (s *exploration) accepting(at uint32) bool {
	if s.threads == 0 {
		return s.a.Accepting[at]
	}
	return at%s.levels == s.levels-1
}

// take is the part of claim that needs the state's entry, which is locked. Who has it locked
// before the claim takes the state along.
func (x *expander) take(e *entry) {
	s := x.s
	mine := !e.has(bitClaimed)
	e.mark(bitClaimed)
	x.ample, x.seek = ampleFull, false
	if s.reduction != None {
		// It can be decided already, if the claim was given back before a checkpoint.
		x.ample = e.get(bitAmple, ampleWidth)
		x.seek = mine && x.ample == ampleNone && !s.plain.Load() && x.trial.next()
		if mine && !x.seek {
			x.ample = ampleFull
			e.mark(bitAmple)
			e.mark(bitSafe)
		}
	}
	x.mine, x.undecided, x.taken = mine, mine, true
}

// another counts a state that has been claimed. It returns false if the search must stop.
func (s *exploration) another() bool {
	n := s.count.Add(1)
	if limit := s.o.MaxStates; limit > 0 && uint64(n) > limit {
		s.atLimit.Store(true)
		s.fail(&engine.Stop{Reason: fmt.Sprintf("limit of %d states", limit)})
		return false
	}
	if s.broad && s.reduction == None && int(n) > pace.window/hasty {
		s.fail(errBroad)
		return false
	}
	return true
}

// violated reports whether the search has found an execution that the automaton accepts.
func (s *exploration) violated() bool {
	return s.lasso != nil || s.strong != nil || s.led != nil
}

// claim expands a program state: the first worker that reaches it decides which of its
// transitions belong to the graph, and all others use the same. It leaves the transitions in
// x.moves and the letter in x.letter. Transitions that the automaton cannot follow from the
// vertex need not be executed, and are missing then. path is called if an error is found. It
// returns false if the search must stop.
func (x *expander) claim(v vertex, path func() []statestore.Ref) bool {
	s, ref := x.s, v.ref
	if !x.taken {
		e := s.colors.lock(ref)
		x.take(&e)
		e.unlock()
	}
	x.taken = false
	mine, ample, seek := x.mine, x.ample, x.seek
	if mine && !s.another() {
		return false
	}
	for !mine && ample == ampleNone {
		// Another worker is deciding.
		if s.stop.Load() {
			return false
		}
		runtime.Gosched()
		e := s.colors.lock(ref)
		ample = e.get(bitAmple, ampleWidth)
		e.unlock()
	}
	x.state = x.session.Load(ref, x.state)
	if v := x.load(x.state, mine); v != nil {
		s.report(path, -1, 0, v)
		s.fail(errFault)
		return false
	}
	x.met.add(x.letter)
	if (!seek || x.trial.sampling) && !x.follows(v.at) {
		// Where ample sets are sought, the worker that claims a state must decide.
		x.moves = x.moves[:0]
		if seek {
			x.settle(ref, ampleFull)
		}
		x.ample, x.undecided = max(ample, ampleFull), false
		return true
	}
	if seek {
		var err error
		if ample, err = x.decide(path); err != nil {
			s.fail(err)
			return false
		}
	} else {
		x.known(ample, path)
	}
	if s.gaveUp.Load() {
		return false
	}
	if seek {
		x.settle(ref, ample)
	}
	if s.threads > 0 && x.enabledFrom(s.threads) >= 0 {
		s.fail(errThreads)
		return false
	}
	x.ample, x.undecided = ample, false
	return true
}

// known executes the transitions that belong to the graph, which is decided.
func (x *expander) known(ample uint32, path func() []statestore.Ref) {
	if ample == ampleFull {
		x.everything(path)
		return
	}
	t := int(ample - ampleFirst)
	x.all(t, x.s.gaveUp.Load)
	if !x.s.o.heedsFairness() || sabotage.Is("fair/known") {
		return
	}
	mark := x.m.Mark()
	for u := range x.m.NumThreads() { // fairness asks who else is enabled
		if u != t && !x.s.obs.Has(u) {
			x.enabled[u] = x.m.Step(u, 0).Kind == system.Moved
			x.m.Rewind(mark)
		}
	}
}

// settle stores which of a state's transitions belong to the graph.
func (x *expander) settle(ref statestore.Ref, ample uint32) {
	e := x.s.colors.lock(ref)
	e.set(bitAmple, ampleWidth, ample)
	if ample == ampleFull {
		e.mark(bitSafe)
	}
	e.unlock()
}

// follows reports whether the automaton has a transition from a vertex of the live state, whose
// letter has been read.
func (x *expander) follows(at uint32) bool {
	for _, t := range x.s.a.Out[at/x.s.levels] {
		if t.Label.Matches(x.letter) {
			return true
		}
	}
	return false
}

// report keeps the first fault. path returns the states on the path to it.
func (s *exploration) report(path func() []statestore.Ref, t int, alt uint64, v *system.Violation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == nil {
		s.fault = &fault{path(), t, alt, *v}
	}
}

// arcs calls yield for the transitions of the product from the live state, whose
// letter has been read and whose transitions are in x.moves: the vertex's number
// there, and the transition, -1 if no thread is enabled and the state is repeated.
func (x *expander) arcs(at uint32, yield func(to uint32, mv int)) {
	s := x.s
	q, level := int(at/s.levels), at%s.levels
	for _, t := range s.a.Out[q] {
		if !t.Label.Matches(x.letter) {
			continue
		}
		if len(x.moves) == 0 {
			yield(uint32(t.Dst)*s.levels+x.level(q, level, -1), -1)
			continue
		}
		for i := range x.moves {
			yield(uint32(t.Dst)*s.levels+x.level(q, level, x.moves[i].thread), i)
		}
	}
}
