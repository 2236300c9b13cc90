package temporal

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"cpor/engine"
	"cpor/engine/checkpoint"
	"cpor/ltl"
	"cpor/ltl/buchi"
	"cpor/statestore"
	"cpor/system"
	"cpor/trace"
)

// Reduction says which transitions of a state belong to the graph.
type Reduction int

// The reductions.
const (
	None        Reduction = iota // all of them
	Invisible                    // ample sets whose transitions change no proposition
	Transparent                  // ample sets as in Siegel 2012
)

// String returns the name of the reduction.
func (r Reduction) String() string {
	if r < None || r > Transparent {
		return fmt.Sprintf("Reduction(%d)", int(r))
	}
	return [...]string{"none", "invisible", "transparent"}[r]
}

// Options say how to check. The zero value is ready to use: it checks without reduction, on all
// CPUs, without limits.
//
// MaxStates ends a search after more than this many program states; a counterexample found by then
// counts. Validate checks the condition C1 by brute force at each state with a proper ample set; it
// is for small systems. Options about violations and traces have no effect.
type Options struct {
	engine.Options
	Reduction Reduction
	// Fair ignores executions that are not weakly fair.
	Fair bool
	// Strong ignores executions that are not strongly fair, in which a thread is enabled
	// infinitely often but moves only finitely often. The product is built as a whole, by one
	// worker.
	Strong bool
	// MaxAutomaton limits the states of an automaton; 0 means buchi's default.
	MaxAutomaton int

	before *time.Duration // for the time of the searches that this one continues with
}

// heedsFairness reports whether executions that are not fair are ignored.
func (o *Options) heedsFairness() bool { return o.Fair || o.Strong }

// FormulaError says that a formula cannot be checked: it has a next operator under a
// reduction, or its automaton grows too large.
type FormulaError struct {
	Property string // its kind and name
	Pos      system.Pos
	Message  string
	TooLarge bool // its automaton
}

func (e *FormulaError) Error() string {
	where := trace.PosString(e.Pos)
	if where != "" {
		where += ": "
	}
	return fmt.Sprintf("%s%s: %s", where, e.Property, e.Message)
}

// Result is the result for one property.
type Result struct {
	Property engine.Property `json:"-"`
	Verdict  engine.Verdict
	// Reason says why the search is not complete; empty if it is, or if the
	// property is violated.
	Reason string
	// Trivial is set if the formula holds for every word (1) or for none (-1).
	Trivial int

	// States and Transitions of the program's (reduced) graph, as far as the search got; of
	// several conjuncts, those of the largest search.
	States      int
	Transitions int
	Reduced     uint64
	Automaton   int    // states of the largest automaton
	StoreBytes  uint64 // of the store, the colors and the stacks
	Time        time.Duration

	// Farthest is for a property that holds: within so many transitions, p can be reached from
	// every initial state (EF p), or from every state (AG EF p).
	Farthest int

	// Vacuous describes which parts of a formula that holds decide it alone, so that the rest
	// says nothing. Empty reports whether this applies to each conjunct.
	Vacuous []string
	Empty   bool

	// Counterexample is an execution that does not satisfy the formula.
	Counterexample *Counterexample `json:"-"`
	// Fault is an error that an execution runs into and the formula does not mention: a failed
	// assertion, a run-time error, or a proposition that cannot be evaluated. Only faults that
	// the search meets are known; a reduced graph can lack failed assertions and run-time errors
	// of threads.
	Fault *Fault `json:"-"`
}

// Fault is an error with an execution that leads to it.
type Fault struct {
	Violation system.Violation
	Trace     *trace.Trace // without a claim if the fault is a proposition's
}

// Run checks properties one after another. The error is an *engine.OptionError, a *FormulaError, a
// *buchi.AtomsError, or an error of the tool itself. When ctx ends, Run returns what it knows, with
// unchecked properties as Incomplete.
func Run(ctx context.Context, sys system.System, props []engine.Property, o Options) ([]*Result,
	error) {
	m, labels, err := temporal(sys)
	if err != nil {
		return nil, err
	}
	watch, err := engine.NewWatch(ctx, &o.Options)
	if err != nil {
		return nil, err
	}
	defer watch.End()
	// The current exploration, for the progress.
	var current atomic.Pointer[exploration]
	watch.Go(func() engine.Progress {
		if s := current.Load(); s != nil {
			return engine.Progress{Counters: engine.Counters{States: uint64(s.count.Load())},
				StoreBytes: s.bytes()}
		}
		return engine.Progress{}
	})
	var k *keeping
	if o.Checkpoint != nil {
		if k, err = newKeeping(sys, props, o.Checkpoint, watch); err != nil {
			return nil, err
		}
		defer k.keep.Wait()
		if o.before != nil {
			*o.before = k.rest
		}
	}
	var results []*Result
	for i, p := range props {
		if p.Text == "" {
			p.Text = p.Formula.String()
		}
		sys, m, labels := sys, m, labels
		if p.System != nil {
			sys = p.System
			if m, labels, err = temporal(sys); err != nil {
				return results, err
			}
		}
		o := o
		if p.Whole {
			o.Reduction = None
		}
		c := &checker{sys: sys, m: m, labels: labels, o: o, p: p, r: &Result{Property: p},
			watch: watch, current: &current, number: numbers(labels), keeping: k}
		if k != nil && k.from != nil {
			done, err := c.recall(i)
			if err != nil {
				return nil, err
			}
			if done {
				results, k.done = append(results, c.r), append(k.done, c.r)
				continue
			}
		}
		if err := c.check(); err != nil {
			return results, err
		}
		results = append(results, c.r)
		if k != nil {
			k.done = append(k.done, c.r)
		}
	}
	return results, nil
}

// numbers returns the numbers of the atoms by name.
func numbers(labels system.Temporal) map[string]int {
	number := map[string]int{}
	for i := range labels.NumProps() {
		number[labels.PropName(i)] = i
	}
	return number
}

// recall restores what a checkpoint has of property i, and reports whether it was finished.
func (c *checker) recall(i int) (done bool, err error) {
	from := c.keeping.from
	kept := &from.Current
	if done = i < from.Property; done {
		kept = &from.Done[i]
	}
	c.r, err = kept.recall(c.p, c.sys, &c.o)
	return done, err
}

// temporal returns a machine of a system, which must know propositions.
func temporal(sys system.System) (system.Machine, system.Temporal, error) {
	m := sys.NewMachine()
	props := m.Capabilities().Temporal
	if props == nil {
		return nil, nil, &engine.OptionError{
			Message: "temporal properties cannot be checked here: the system has no propositions"}
	}
	return m, props, nil
}

// checker checks one property.
type checker struct {
	sys     system.System
	m       system.Machine
	labels  system.Temporal // of m
	o       Options
	p       engine.Property
	r       *Result
	watch   *engine.Watch
	current *atomic.Pointer[exploration]
	number  map[string]int // of the propositions
	store   statestore.Store
	mark    checkpoint.Mark // of its last checkpoint
	keeping *keeping        // nil: no checkpoints
	start   time.Time
	before  time.Duration // of the searches that this one continues with
}

// spent returns the time that the check has taken.
func (c *checker) spent() time.Duration { return c.before + time.Since(c.start) }

// pass is one search: an automaton for the negations of some conjuncts.
type pass struct {
	automaton *buchi.Automaton
	parts     []ltl.Formula
	both      map[string]bool // propositions that count as if they occurred both ways
}

// conjuncts splits a formula that is a conjunction, also below [].
func conjuncts(f ltl.Formula) []ltl.Formula {
	switch f.Op() {
	case ltl.OpAnd:
		var fs []ltl.Formula
		for _, g := range f.Operands() {
			fs = append(fs, conjuncts(g)...)
		}
		return fs
	case ltl.OpAlways:
		var fs []ltl.Formula
		for _, g := range conjuncts(f.Operands()[0]) {
			fs = append(fs, ltl.Always(g))
		}
		return fs
	}
	return []ltl.Formula{f}
}

// passes translates the negations of the conjuncts; those that every word satisfies are left
// out. Without a reduction, one automaton for all is used if it is small, because one search is
// cheaper. With one, fewer propositions mean more reduction.
func (c *checker) passes() ([]pass, error) {
	translate := func(f ltl.Formula, limit int) (*buchi.Automaton, error) {
		a, err := buchi.Translate(ltl.Not(f), buchi.Options{MaxStates: limit})
		var large *buchi.TooLargeError
		var atoms *buchi.AtomsError
		if errors.As(err, &large) || errors.As(err, &atoms) {
			return nil, &FormulaError{c.p.Called(), c.p.Pos, err.Error(), large != nil}
		}
		return a, err
	}
	var ps []pass
	total := 0
	var parts []ltl.Formula
	for _, f := range conjuncts(c.p.Formula) {
		a, err := translate(f, c.o.MaxAutomaton)
		if err != nil {
			return nil, err
		}
		if a.Empty() {
			continue
		}
		total += a.States()
		ps, parts = append(ps, pass{a, []ltl.Formula{f}, nil}), append(parts, f)
	}
	if len(ps) > 1 && c.o.Reduction == None {
		if a, err := translate(c.p.Formula, 4*total); err == nil && a.States() <= total {
			ps = []pass{{a, parts, nil}}
		}
	}
	if len(ps) == 0 {
		c.r.Trivial = 1
	} else if !someWord(c.p.Formula) {
		if a, err := buchi.Translate(c.p.Formula, buchi.Options{
			MaxStates: c.o.MaxAutomaton}); err == nil && a.Empty() {
			c.r.Trivial = -1
		}
	}
	both := map[string]bool{}
	for _, p := range c.p.Predicates {
		if !p.Initial {
			for _, name := range p.Atoms {
				both[name] = true
			}
		}
	}
	if len(ps) == 0 || len(both) > 0 {
		// All reachable states, to find what cannot be evaluated. An automaton's search skips
		// what its negated formula excludes.
		ps = append(ps, pass{&buchi.Automaton{Accepting: []bool{false}, Out: [][]buchi.Transition{
			{{}}}}, nil, both})
	}
	for _, p := range ps {
		c.r.Automaton = max(c.r.Automaton, p.automaton.States())
	}
	return ps, nil
}

// someWord reports whether a formula holds for a word that repeats one letter. For most satisfiable
// formulas that shows it without an automaton.
func someWord(f ltl.Formula) bool {
	const most = 1 << 6
	word := ltl.Lasso{Atoms: f.Atoms(), Loop: make([]uint64, 1)}
	for ; word.Loop[0] < most && word.Loop[0]>>len(word.Atoms) == 0; word.Loop[0]++ {
		if holds, err := f.Holds(word); err == nil && holds {
			return true
		}
	}
	return false
}

func (c *checker) check() error {
	if c.p.Modality != ltl.Linear {
		c.start = time.Now()
		return c.possibly()
	}
	if c.o.Reduction != None && !c.p.Formula.StutterInvariant() {
		return &FormulaError{c.p.Called(), c.p.Pos,
			"there is a next operator in the formula, which partial-order reduction does not " +
				"preserve; use -por none", false}
	}
	passes, err := c.passes()
	if err != nil {
		return err
	}
	c.start, c.before = time.Now(), c.r.Time
	defer func() { c.r.Time = c.spent() }()
	from, err := c.savedPass(len(passes))
	if err != nil {
		return err
	}
	if over, err := c.openStore(from); err != nil || over {
		return err
	}
	c.r.Verdict, c.r.Reason = engine.Pass, ""
	least := c.threads()
	threads := least
	var known []met
	first := 0
	if from != nil {
		first = from.Pass
	}
	for i := first; i < len(passes); i++ {
		p := passes[i]
		var s *exploration
		if s, threads, err = c.pass(p, i, least, threads); s == nil {
			return err
		}
		c.count(s)
		known = append(known, s.met())
		if err := c.explain(err); err != nil {
			return err
		}
		if err != nil {
			c.r.Verdict = engine.Incomplete
		}
		if err := c.findFault(s); err != nil {
			return err
		}
		if s.violated() {
			c.r.Counterexample, err = c.counterexample(s, p.parts)
			c.r.Verdict, c.r.Reason = engine.Violated, ""
			return err
		}
		if err != nil && !s.atLimit.Load() {
			break
		}
	}
	if c.r.Verdict == engine.Pass && c.r.Fault == nil {
		c.r.Vacuous, c.r.Empty = c.vacuous(known)
	}
	return nil
}

// savedPass returns what a checkpoint has of this property, nil if there is none.
func (c *checker) savedPass(passes int) (*saved, error) {
	if c.keeping == nil || c.keeping.from == nil {
		return nil, nil
	}
	from := c.keeping.from
	if from.Pass < 0 || from.Pass >= passes {
		return nil, engine.Unreadable(errors.New("there is no such conjunct"))
	}
	return from, nil
}

func (c *checker) storeOptions() statestore.Options {
	return statestore.Options{Kind: statestore.Tree, Workers: c.o.Workers,
		MaxBytes: c.watch.Memory().ForStores()}
}

// openStore makes the store, or restores that of a checkpoint, if there is one. over says that
// the initial states already decide.
func (c *checker) openStore(from *saved) (over bool, err error) {
	if from == nil {
		c.mark = checkpoint.Mark{} // that of another store says nothing about this one
		if c.store, err = statestore.New(c.storeOptions()); err != nil {
			return false, err
		}
		return c.initialStates()
	}
	c.store, c.mark, err = checkpoint.RestoreStore(c.keeping.c.From, c.storeOptions())
	if errors.Is(err, statestore.ErrFull) {
		return false, errNoRoom
	}
	return false, err
}

// threads returns the number of threads that weak fairness begins with: those of the initial
// states. It is 0 if weak fairness is not required.
func (c *checker) threads() int {
	if !c.o.Fair || c.o.Strong {
		return 0
	}
	threads := 1
	for _, st := range c.sys.Initial() {
		c.m.Load(st)
		threads = max(threads, c.m.NumThreads())
	}
	return threads
}

// pass explores the product with the i-th automaton, again for more threads whenever a state has
// more than it allows for. It returns the exploration, nil if there is none, and the number of
// threads.
func (c *checker) pass(p pass, i, least, threads int) (*exploration, int, error) {
	for may := true; ; {
		var from *saved
		if c.keeping != nil {
			from = c.keeping.from
		}
		workers := c.o.Workers
		if from != nil {
			threads, workers = from.Threads, max(workers, len(from.Workers))
		}
		s, err := c.newSearch(p, threads, workers)
		if err != nil {
			return nil, threads, err
		}
		if from != nil {
			if err := c.resume(s); err != nil {
				return nil, threads, err
			}
			c.keeping.from = nil
		}
		s.least, s.broad = least, may && c.mayReach(s)
		c.current.Store(s)
		err = c.explore(s, i)
		if errors.Is(err, errBroad) {
			if s, err = c.reach(s, p, workers); errors.Is(err, errBack) {
				may = false
				continue
			}
		}
		if !errors.Is(err, errThreads) {
			return s, threads, err
		}
		threads = moreThreads(threads)
	}
}

// newSearch prepares a pass.
func (c *checker) newSearch(p pass, threads, workers int) (*exploration, error) {
	s := &exploration{sys: c.sys, labels: c.labels, obs: system.ObserversOf(c.sys), o: &c.o,
		reduction: c.o.Reduction, threads: threads, store: c.store,
		budget: c.watch.Memory().ForStores()}
	if err := s.polarities(ltl.And(p.parts...), p.both); err != nil {
		return nil, err
	}
	if err := s.automaton(p.automaton, c.number); err != nil {
		return nil, err
	}
	covered := map[string]bool{}
	for _, q := range c.p.Predicates {
		for _, name := range q.Atoms {
			covered[name] = true
		}
		i, ok := c.number[q.Prop]
		if !ok {
			return nil, fmt.Errorf("the system has no proposition %q", q.Prop)
		}
		if !q.Initial {
			s.checks = append(s.checks, guard{i, q.Pos})
		}
	}
	for _, name := range p.automaton.Atoms {
		s.needed = append(s.needed, !covered[name])
	}
	s.prepare(workers)
	return s, nil
}

// initialStates evaluates the predicates that the formula needs in the initial state only.
func (c *checker) initialStates() (found bool, err error) {
	for k, st := range c.sys.Initial() {
		c.m.Load(st)
		for _, p := range c.p.Predicates {
			if !p.Initial {
				continue
			}
			i, ok := c.number[p.Prop]
			if !ok {
				return false, fmt.Errorf("the system has no proposition %q", p.Prop)
			}
			if _, v := c.labels.Eval(i); v != nil {
				c.r.Verdict, c.r.Reason = engine.Incomplete, errFault.Error()
				u := *v
				u.Pos = p.Pos
				u.Message = fmt.Sprintf("the proposition %s: %s", p.Prop, v.Message)
				c.r.Fault = &Fault{u, &trace.Trace{Initial: k}}
				return true, c.r.Fault.Trace.Replay(c.sys)
			}
		}
	}
	return false, nil
}

// count adds a search's figures to the result: those of the largest one count.
func (c *checker) count(s *exploration) {
	if n := int(s.count.Load()); n >= c.r.States {
		c.r.States, c.r.Transitions, c.r.Reduced = n, 0, 0
		for _, w := range s.workers {
			c.r.Transitions += int(w.transitions)
			c.r.Reduced += w.reduced
		}
	}
	c.r.StoreBytes = max(c.r.StoreBytes, s.bytes())
}

// explain writes the reason why a graph is not complete to the result; it returns errors of
// the tool. A later graph that is complete leaves the reason.
func (c *checker) explain(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, errFault) {
		c.r.Reason = errFault.Error()
		return nil
	}
	_, _, reason, fault := engine.Judge(err, "", false)
	c.r.Reason = reason
	return fault
}

// findFault makes an execution that leads to the fault, if there is one.
func (c *checker) findFault(s *exploration) error {
	f := s.fault
	if f == nil || c.r.Fault != nil {
		return nil
	}
	t, err := s.trace(f.path)
	if err != nil {
		return err
	}
	v := f.violation
	if f.thread >= 0 {
		t.Steps = append(t.Steps, trace.Step{Thread: f.thread, Alt: f.alt})
		t.Violation = &v
	}
	if err := t.Replay(c.sys); err != nil {
		return fmt.Errorf("internal error: the trace of a violation: %w", err)
	}
	if t.Violation != nil && !c.o.KeepTraces {
		t = c.o.Shorten(c.watch.From(), c.sys, []*trace.Trace{t}, false)[0].Trace
	}
	c.r.Fault = &Fault{v, t}
	return nil
}

// trace finds the steps from one program state to the next on a path.
func (s *exploration) trace(path []statestore.Ref) (*trace.Trace, error) {
	x := s.workers[0].x
	t := &trace.Trace{}
	for i, st := range s.sys.Initial() {
		if ref, ok := x.session.Find(st); ok && ref == path[0] {
			t.Initial = i
			break
		}
	}
	for i, ref := range path[1:] {
		x.state = x.session.Load(path[i], x.state)
		x.m.Load(x.state)
		found := false
		x.all(-1, func() bool {
			mv := x.moves[len(x.moves)-1]
			to, ok := x.session.Find(x.words[mv.from:mv.to])
			if found = ok && to == ref; found {
				t.Steps = append(t.Steps, trace.Step{Thread: mv.thread, Alt: mv.alt})
			}
			return found
		})
		if !found {
			return nil, fmt.Errorf("internal error: there is no step between two states of a path")
		}
	}
	return t, nil
}
