package detect

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cpor/detect/computation"
	"cpor/detect/predicate"
)

// Modality is the question: Poss or Def of a predicate, or a pattern.
type Modality uint8

// The two modalities of Cooper and Marzullo (paper, section 2), and patterns.
const (
	// in some history, the system passes through a state that satisfies the predicate
	Poss    Modality = iota
	Def              // in every history
	Pattern          // a pattern with temporal operators holds in the initial state
	Chart            // a message sequence chart occurs; see FindChart, Detect does not take it
)

// String returns "poss", "def", "pattern" or "chart".
func (m Modality) String() string {
	return [...]string{"poss", "def", "pattern", "chart"}[m]
}

// The algorithms.
const (
	Auto     = "auto"     // the best that applies; of two, the first that answers
	Interval = "interval" // Poss: search over intervals of the lattice, our own
	PSPoss   = "psposs"   // Poss: the paper's, sections 4 and 5
	PSDef    = "psdef"    // Def: the paper's, section 6
	Lattice  = "lattice"  // both: Cooper and Marzullo 1991
	// both: Garg and Waldecker 1994, 1996; conjunctions of 1-local predicates only
	GargWaldecker = "gw"
	Slice         = "slice"  // patterns: the greatest and least cuts of boxes, see box
	Search        = "search" // patterns: state by state, with persistent sets under EF
)

// Algorithms returns the names of the algorithms for the modality, the default
// first.
func Algorithms(m Modality) []string {
	switch m {
	case Def:
		return []string{Auto, PSDef, GargWaldecker, Lattice}
	case Pattern:
		return []string{Auto, Slice, Search}
	case Chart:
		return []string{Auto}
	}
	return []string{Auto, Interval, PSPoss, GargWaldecker, Lattice}
}

// Options chooses how to search. The zero value is the default: the best
// algorithm with all optimizations on all processors, without limits.
type Options struct {
	Algorithm string // one of the constants above; "" is Auto

	// Full searches the whole computation, with the clocks as they were recorded,
	// instead of the part of it that the predicate depends on (weak vector clocks).
	Full bool
	// Whole keeps a disjunction together instead of detecting each part of it
	// separately (Poss only).
	Whole bool
	// NoPersistent makes PSPoss and PSDef explore all enabled transitions.
	NoPersistent bool
	// NoSleep makes PSPoss store the visited states instead of using sleep sets.
	NoSleep bool
	// Reverse makes PSPoss explore the transitions of a persistent set in reverse order, which
	// the paper leaves open. With sleep sets, it decides how many states are explored.
	Reverse bool
	// NoSequences makes PSPoss explore single transitions only (paper, without
	// section 5). Sequences need persistent and sleep sets.
	NoSequences bool
	// NoDominance makes PSDef explore only what the paper's does.
	NoDominance bool
	// Check stores the visited states beside the sleep sets, so that Stats.States
	// is counted and not inferred, and reports a state that is reached twice as
	// an error (for a search that must not).
	Check bool

	Workers   int   // goroutines; 0: as many as processors
	MaxStates int64 // stop after so many states; 0: no limit
	MaxBytes  int64 // stop when the visited states take more; 0: no limit

	// Progress is called about every Every with the counts so far, from another
	// goroutine. Every 0 means a second.
	Progress func(Stats)
	Every    time.Duration
}

// Stats counts what a search did.
type Stats struct {
	// States is the paper's N_S: the distinct global states explored.
	States int64 `json:"states"`
	// Transitions is the paper's N_T: the transitions explored; a sequence that
	// is explored in one step counts once.
	Transitions int64 `json:"transitions"`
	// Events is the number of single transitions in these.
	Events int64 `json:"events"`
	// StoreBytes is what the visited states took.
	StoreBytes int64 `json:"store_bytes"`
}

// Result is the answer of a search.
type Result struct {
	Modality  Modality
	Algorithm string // the one that answered
	// Holds is whether the computation satisfies Poss or Def of the predicate.
	// It means nothing when Exhaustive is unset.
	Holds bool
	// Exhaustive is unset when the search was stopped, for the Reason given,
	// before it had found the answer.
	Exhaustive bool
	Reason     string
	// Witness is, when Poss holds, a consistent global state that satisfies the
	// predicate.
	Witness computation.Cut
	// Observation is, when Def does not hold, an order of all events in which the
	// predicate is never true.
	Observation []computation.Event
	// Run is the evidence for the answer to a pattern, as far as one order of events can
	// show it; nil if none can.
	Run   *Run
	Stats Stats
	// Conjunctions are what was searched for: the predicate, or the parts of a
	// disjunction.
	Conjunctions []*predicate.Conjunction
	// LatticeBound is the product of the numbers of local states of all processes
	// of the computation, an upper bound of its consistent global states.
	LatticeBound float64
	// SearchedBound is the same for what was searched (with weak vector clocks).
	SearchedBound float64
}

// ErrNotLocal is returned when Garg and Waldecker's algorithm is given a predicate that is no
// conjunction of 1-local predicates.
var ErrNotLocal = errors.New("the predicate is not a conjunction of 1-local predicates, which " +
	"Garg and Waldecker's algorithm needs")

// ErrNotSliceable is returned when Slice is given a pattern that it cannot decide.
var ErrNotSliceable = errors.New("slice needs 1-local predicates, without joint ones, bounds or " +
	"disjunctions of several hosts under EG and AG")

// Detect answers the question for the predicate, which must have been expanded
// for the computation. The error is about the options (ErrNotLocal among them);
// a search that ctx or a limit stops returns a Result that is not Exhaustive.
func Detect(ctx context.Context, c *computation.Computation, n *predicate.Node, m Modality,
	opt Options) (*Result, error) {
	return ask(ctx, c, n, m, opt, func(r *run) error { return r.detect(c, n, m) })
}

// ask runs a search and verifies its evidence. n is nil for a chart.
func ask(ctx context.Context, c *computation.Computation, n *predicate.Node, m Modality,
	opt Options, search func(r *run) error) (*Result, error) {
	if opt.Workers <= 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	if opt.Algorithm == "" {
		opt.Algorithm = Auto
	}
	if !slices.Contains(Algorithms(m), opt.Algorithm) {
		return nil, fmt.Errorf("there is no algorithm %q for %v; there are %v", opt.Algorithm, m,
			Algorithms(m))
	}
	r := &run{ctx: ctx, opt: &opt, res: &Result{Modality: m, Algorithm: opt.Algorithm,
		LatticeBound: 1}}
	for i := range c.N() {
		r.res.LatticeBound *= float64(c.States(i))
	}
	stopProgress := r.progress()
	// The end of ctx is noticed at once, however long a step takes: every loop that
	// may be long looks at stopped.
	stop := context.AfterFunc(ctx, r.timeout)
	if ctx.Err() != nil {
		r.timeout()
	}
	err := search(r)
	stop()
	stopProgress()
	if err != nil {
		return nil, err
	}
	r.res.Stats = r.stats()
	r.res.Reason = r.why
	r.res.Exhaustive = r.why == ""
	if err := errors.Join(verify(c, n, r.res), verifyRun(c, r.res)); err != nil {
		return nil, err
	}
	return r.res, nil
}

// run is one call of Detect.
type run struct {
	ctx context.Context
	opt *Options
	res *Result

	states, transitions, events, bytes atomic.Int64

	parent *run // whose counts these are, too; nil for none

	stopped atomic.Bool
	mu      sync.Mutex
	why     string // the reason why it was stopped without an answer
	bug     error
}

// timeout halts the run because of its ctx.
func (r *run) timeout() {
	if errors.Is(r.ctx.Err(), context.DeadlineExceeded) {
		r.halt("time-out")
	} else {
		r.halt("interrupted")
	}
}

func (r *run) stats() Stats {
	return Stats{States: r.states.Load(), Transitions: r.transitions.Load(),
		Events: r.events.Load(), StoreBytes: r.bytes.Load()}
}

func (r *run) progress() (stop func()) {
	if r.opt.Progress == nil {
		return func() {}
	}
	every := r.opt.Every
	if every == 0 {
		every = time.Second
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				r.opt.Progress(r.stats())
			case <-done:
				return
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

// halt stops the search; the first reason counts, "" is an answer.
func (r *run) halt(why string) {
	r.mu.Lock()
	if !r.stopped.Load() {
		r.why = why
		r.stopped.Store(true)
	}
	r.mu.Unlock()
}

// answer stops the search with a result; only the first is taken.
func (r *run) answer(set func(*Result)) {
	r.mu.Lock()
	if !r.stopped.Load() {
		set(r.res)
		r.stopped.Store(true)
	}
	r.mu.Unlock()
}

func (r *run) fail(err error) {
	r.mu.Lock()
	r.bug = err
	r.mu.Unlock()
	r.halt("internal error")
}

// tally holds one goroutine's counts until flush adds them to the run's.
type tally struct {
	states, transitions, events int64
	ticks                       int
}

// flushEvery is how many states a goroutine explores between two looks at the
// limits, which take a lock in the worst case.
const flushEvery = 1024

// tick is called once for each state; it reports whether to stop.
func (r *run) tick(t *tally) bool {
	if t.ticks++; t.ticks < flushEvery {
		return r.stopped.Load()
	}
	r.flush(t)
	return r.stopped.Load()
}

// add adds the tally to the run's counts and clears it.
func (r *run) add(t *tally) {
	r.states.Add(t.states)
	r.transitions.Add(t.transitions)
	r.events.Add(t.events)
	if r.parent != nil {
		r.parent.add(&tally{states: t.states, transitions: t.transitions, events: t.events})
	}
	*t = tally{}
}

// flush adds the tally and stops the run if it is beyond a limit.
func (r *run) flush(t *tally) {
	r.add(t)
	if r.stopped.Load() {
		return
	}
	states := r.states.Load()
	if r.opt.MaxStates > 0 && states >= r.opt.MaxStates {
		r.halt(fmt.Sprintf("limit of %d states", r.opt.MaxStates))
	}
	if r.opt.MaxBytes > 0 && r.bytes.Load() > r.opt.MaxBytes {
		r.halt(fmt.Sprintf("limit of %d bytes", r.opt.MaxBytes))
	}
}

func (r *run) detect(c *computation.Computation, n *predicate.Node, m Modality) error {
	switch m {
	case Def:
		r.def(c, n)
	case Pattern:
		if r.opt.Algorithm == Auto {
			r.res.Algorithm = Slice
		}
		r.pattern(c, n)
	default:
		r.poss(c, n)
	}
	return r.bug
}

func (r *run) poss(c *computation.Computation, n *predicate.Node) {
	var parts []*predicate.Conjunction
	if r.opt.Whole {
		parts = []*predicate.Conjunction{predicate.Normalise(n)}
	} else {
		parts = predicate.Disjuncts(n)
	}
	r.res.Conjunctions = parts
	if r.opt.Algorithm == Auto {
		if blind(parts) {
			r.both(c, parts)
			return
		}
		r.opt.Algorithm = Interval
	}
	r.res.Algorithm = r.opt.Algorithm
	if r.opt.Algorithm == GargWaldecker {
		for _, part := range parts {
			if !part.IsLocal() {
				r.bug = ErrNotLocal
				return
			}
		}
	}
	if r.opt.Algorithm == Interval || r.opt.Algorithm == PSPoss && r.sequences() {
		r.interval(c, parts)
		return
	}
	r.simple(c, parts)
}

// simple searches the parts one after another, by an algorithm that runs on
// one goroutine.
func (r *run) simple(c *computation.Computation, parts []*predicate.Conjunction) {
	for _, part := range parts {
		p := compile(c, part, !r.opt.Full, r.stopped.Load)
		if p == nil {
			return
		}
		r.res.SearchedBound += p.size()
		switch r.opt.Algorithm {
		case PSPoss:
			r.psposs(p)
		case Lattice:
			r.latticePoss(p)
		case GargWaldecker:
			r.gwPoss(p)
		}
		if r.stopped.Load() {
			return
		}
	}
}

// sequences reports whether PSPoss explores sequences in one step.
func (r *run) sequences() bool {
	return !r.opt.NoSequences && !r.opt.NoPersistent && !r.opt.NoSleep
}

func (r *run) def(c *computation.Computation, n *predicate.Node) {
	conj := predicate.Normalise(n)
	r.res.Conjunctions = []*predicate.Conjunction{conj}
	p := compile(c, conj, !r.opt.Full, r.stopped.Load)
	if p == nil {
		return
	}
	r.res.SearchedBound = p.size()
	algorithm := r.opt.Algorithm
	if algorithm == GargWaldecker && !conj.IsLocal() {
		r.bug = ErrNotLocal
		return
	}
	if algorithm == Auto {
		if conj.IsLocal() {
			algorithm = GargWaldecker
		} else {
			algorithm = PSDef
			// Who can avoid the 1-local part can avoid the whole.
			if local := localPart(conj); len(local.Clauses) > 0 {
				r.res.Algorithm = GargWaldecker
				if q := compile(c, local, !r.opt.Full, r.stopped.Load); q != nil {
					r.gwDef(q)
				}
				if r.stopped.Load() {
					return
				}
			}
		}
	}
	r.res.Algorithm = algorithm
	switch algorithm {
	case GargWaldecker:
		r.gwDef(p)
	case PSDef:
		r.psdef(p)
	case Lattice:
		r.latticeDef(p)
	}
	if !r.stopped.Load() {
		r.res.Holds = true // no observation avoids the predicate
	}
}

func localPart(conj *predicate.Conjunction) *predicate.Conjunction {
	local := &predicate.Conjunction{}
	for _, cl := range conj.Clauses {
		if cl.IsLocal() {
			local.Clauses = append(local.Clauses, cl)
		}
	}
	return local
}

func (r *run) found(p *problem, s []int32) {
	r.answer(func(res *Result) {
		res.Holds = true
		res.Witness = p.cut(s)
	})
}

func (r *run) avoided(p *problem, path []int) {
	r.answer(func(res *Result) {
		res.Holds = false
		res.Observation = p.observation(path)
	})
}

// Holds evaluates the predicate in a global state, plainly.
func Holds(c *computation.Computation, n *predicate.Node, cut computation.Cut) bool {
	return n.Eval(func(v *predicate.Node) computation.Value {
		return c.Value(v.Process, cut[v.Process], v.Name)
	}).IsTrue()
}

// verify replays an answer on the computation before it is shown: the witness
// is consistent and satisfies the predicate, the observation is a linearization
// of all events in which no state satisfies it. An error is a mistake in this
// package.
func verify(c *computation.Computation, n *predicate.Node, res *Result) error {
	if res.Witness != nil {
		if !c.Consistent(res.Witness) || !Holds(c, n, res.Witness) {
			return fmt.Errorf("internal error: %s: the witness %s is none", res.Algorithm,
				c.Describe(res.Witness))
		}
	}
	if res.Observation == nil {
		return nil
	}
	if at, ok := satisfied(c, n, res.Observation); ok {
		return fmt.Errorf("internal error: %s: the observation passes through %s, which "+
			"satisfies the predicate", res.Algorithm, c.Describe(at))
	}
	cut := c.Initial()
	for _, e := range res.Observation {
		if cut[e.Process]+1 != e.Index || !c.Enabled(cut, e.Process) {
			return fmt.Errorf("internal error: %s: event %d of %s is not enabled in the "+
				"observation at %s", res.Algorithm, e.Index, c.Name(e.Process), c.Describe(cut))
		}
		cut[e.Process]++
	}
	if !c.Final().Leq(cut) {
		return fmt.Errorf("internal error: %s: the observation ends early, at %s", res.Algorithm,
			c.Describe(cut))
	}
	return nil
}

// satisfied returns the first cut of the observation that satisfies the
// predicate. It evaluates the predicate only where one of its variables changes.
func satisfied(c *computation.Computation, n *predicate.Node,
	events []computation.Event) (computation.Cut, bool) {
	type column struct {
		v    *computation.Variable
		next int
	}
	cols := make([][]*column, c.N())
	values := map[string]computation.ValueID{}
	key := func(v *predicate.Node) string { return fmt.Sprint(v.Process, ".", v.Name) }
	keys := map[*computation.Variable]string{}
	collect(n, func(v *predicate.Node) {
		k := key(v)
		if _, ok := values[k]; ok {
			return
		}
		values[k] = 0
		if x := c.Variable(v.Process, v.Name); x != nil {
			keys[x] = k
			cols[v.Process] = append(cols[v.Process], &column{v: x})
		}
	})
	advance := func(i int, k int32) (changed bool) {
		for _, col := range cols[i] {
			for col.next < len(col.v.Changes) && col.v.Changes[col.next].State <= k {
				values[keys[col.v]] = col.v.Changes[col.next].Value
				col.next++
				changed = true
			}
		}
		return changed
	}
	names := map[*predicate.Node]string{}
	collect(n, func(v *predicate.Node) { names[v] = key(v) })
	holds := func() bool {
		return n.Eval(func(v *predicate.Node) computation.Value {
			return c.Values().Value(values[names[v]])
		}).IsTrue()
	}
	cut := c.Initial()
	for i := range cut {
		advance(i, 0)
	}
	if holds() {
		return cut, true
	}
	for _, e := range events {
		cut[e.Process] = e.Index
		if advance(e.Process, e.Index) && holds() {
			return cut, true
		}
	}
	return nil, false
}
