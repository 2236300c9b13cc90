package check

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

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

// Property is a formula with a name. Its atoms are names of the system's
// propositions.
type Property struct {
	Name    string
	Formula ltl.Formula
	Pos     system.Pos
	Text    string // of the formula, for people; Formula.String() if empty
}

// Options say how to check. The zero value checks without reduction, on all
// CPUs, without limits.
type Options struct {
	Reduction Reduction
	// Fair leaves out executions that are not weakly fair. It does not go
	// together with a reduction.
	Fair bool
	// Workers is the number of workers; 0 means one for each CPU.
	Workers int
	// MaxStates ends the construction of the graph once it has more than this
	// many states; 0 means no limit. A counterexample in what is there counts.
	MaxStates uint64
	// MaxMemory limits what the store of the states may take, in bytes; 0
	// means no limit.
	MaxMemory uint64
	// MaxAutomaton limits the states of an automaton; 0 means buchi's default.
	MaxAutomaton int
	// Validate checks the condition C1 by brute force at each state with a
	// proper ample set. It is for small systems.
	Validate bool
	// Progress, if not nil, is called about every ProgressInterval (0 means a
	// second) while a graph is built.
	Progress         func(Progress)
	ProgressInterval time.Duration
}

func (o *Options) interval() time.Duration {
	if o.ProgressInterval > 0 {
		return o.ProgressInterval
	}
	return time.Second
}

// Progress is what a running check reports.
type Progress struct {
	Property   string
	Elapsed    time.Duration
	States     uint64
	Queued     uint64
	StoreBytes uint64
}

// OptionError says what is wrong with options: the user's mistake.
type OptionError struct{ Message string }

func (e *OptionError) Error() string { return e.Message }

// FormulaError says that a formula cannot be checked: it has a next operator, or
// its automaton grows too large.
type FormulaError struct {
	Property string
	Pos      system.Pos
	Message  string
}

func (e *FormulaError) Error() string {
	where := trace.PosString(e.Pos)
	if where != "" {
		where += ": "
	}
	return fmt.Sprintf("%sltl %s: %s", where, e.Property, e.Message)
}

// Verdict is the outcome as it stands in the command's JSON.
type Verdict string

// The verdicts.
const (
	Pass       Verdict = "pass"
	Violated   Verdict = "violation"
	Incomplete Verdict = "incomplete"
)

// Result is what was found out about a property.
type Result struct {
	Property Property
	Verdict  Verdict
	// Reason says why the graph is not complete; empty if it is.
	Reason string
	// Trivial is set if the formula holds for every word (1) or for none (-1).
	Trivial int

	States      int // of the (reduced) graph
	Transitions int // its edges
	Reduced     uint64
	Automaton   int // states of the largest automaton
	Product     uint64
	StoreBytes  uint64
	BuildTime   time.Duration
	SearchTime  time.Duration

	// Counterexample is an execution that does not satisfy the formula.
	Counterexample *Counterexample
	// Fault is an error that an execution runs into, which is not what the
	// formula speaks of: a failed assertion, a run-time error, or a proposition
	// that cannot be evaluated. Only faults met while the graph was built are
	// known; a reduced graph can lack some.
	Fault *Fault
}

// Fault is an error with an execution that leads to it.
type Fault struct {
	Violation system.Violation
	Trace     *trace.Trace // without a claim if the fault is a proposition's
}

// Run checks properties one after the other. The error is an *OptionError, a
// *FormulaError, a *buchi.AtomsError, or an error of the tool itself. When ctx
// ends, Run returns what it knows by then, with properties that were not checked
// as Incomplete.
func Run(ctx context.Context, sys system.System, props []Property, o Options) ([]*Result, error) {
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	switch {
	case o.Workers < 0:
		return nil, &OptionError{fmt.Sprintf("%d workers", o.Workers)}
	case o.Fair && o.Reduction != None:
		return nil, &OptionError{fmt.Sprintf("weak fairness and the reduction %s do not go together: reordering independent transitions can remove the state in which a thread was disabled and so change which executions are fair; check without a reduction", o.Reduction)}
	}
	var results []*Result
	var shared *builder // without a reduction all properties have the same graph
	for _, p := range props {
		if p.Text == "" {
			p.Text = p.Formula.String()
		}
		c := &checker{sys: sys, o: o, p: p, r: &Result{Property: p}}
		if o.Reduction == None {
			c.b = shared
			c.all = props
		}
		if err := c.check(ctx); err != nil {
			return results, err
		}
		if o.Reduction == None {
			shared = c.b
		}
		results = append(results, c.r)
	}
	return results, nil
}

// temporal returns a machine of a system, which must know propositions.
func temporal(sys system.System) (system.Temporal, error) {
	m, ok := system.As[system.Temporal](sys.NewMachine())
	if !ok {
		return nil, &OptionError{"temporal properties cannot be checked here: the system has no propositions"}
	}
	return m, nil
}

// checker checks one property.
type checker struct {
	sys system.System
	o   Options
	p   Property
	all []Property // whose propositions the graph is labelled with
	r   *Result
	b   *builder
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

// automata translates the negations of the conjuncts; those that every word
// satisfies are left out.
func (c *checker) automata() ([]*buchi.Automaton, []ltl.Formula, error) {
	var as []*buchi.Automaton
	var fs []ltl.Formula
	for _, f := range conjuncts(c.p.Formula) {
		a, err := buchi.Translate(ltl.Not(f), buchi.Options{MaxStates: c.o.MaxAutomaton})
		if err != nil {
			var large *buchi.TooLargeError
			var atoms *buchi.AtomsError
			if errors.As(err, &large) || errors.As(err, &atoms) {
				return nil, nil, &FormulaError{c.p.Name, c.p.Pos, err.Error()}
			}
			return nil, nil, err
		}
		if a.Empty() {
			continue
		}
		c.r.Automaton = max(c.r.Automaton, a.States())
		as, fs = append(as, a), append(fs, f)
	}
	if len(as) == 0 {
		c.r.Trivial = 1
		return as, fs, nil
	}
	if a, err := buchi.Translate(c.p.Formula, buchi.Options{MaxStates: c.o.MaxAutomaton}); err == nil && a.Empty() {
		c.r.Trivial = -1
	}
	return as, fs, nil
}

func (c *checker) check(ctx context.Context) error {
	if !c.p.Formula.StutterInvariant() {
		return &FormulaError{c.p.Name, c.p.Pos, "there is a next operator in the formula, which partial-order reduction does not preserve"}
	}
	automata, parts, err := c.automata()
	if err != nil {
		return err
	}
	var incomplete error
	if c.b == nil {
		fs := []ltl.Formula{c.p.Formula}
		for _, p := range c.all {
			fs = append(fs, p.Formula)
		}
		if c.b, err = newBuilder(c.sys, fs, &c.o); err != nil {
			return err
		}
		if pf := c.o.Progress; pf != nil {
			c.b.o = &Options{}
			*c.b.o = c.o
			c.b.o.Progress = func(p Progress) {
				p.Property = c.p.Name
				pf(p)
			}
		}
		start := time.Now()
		c.b.err = c.b.run(ctx)
		c.r.BuildTime = time.Since(start)
	}
	incomplete = c.b.err
	if err := c.explain(incomplete); err != nil {
		return err
	}
	g := c.b.graph
	c.r.States, c.r.Transitions, c.r.StoreBytes = g.States(), g.Transitions(), c.b.store.Bytes()
	for _, n := range c.b.reduced {
		c.r.Reduced += n
	}
	if err := c.findFault(); err != nil {
		return err
	}
	start := time.Now()
	defer func() { c.r.SearchTime = time.Since(start) }()
	number := map[string]int{}
	for i := range c.b.t.NumProps() {
		number[c.b.t.PropName(i)] = i
	}
	threads := 0
	if c.o.Fair {
		for id := range g.count.Load() {
			for _, e := range g.node(id).edges {
				threads = max(threads, int(e.thread)+1)
			}
		}
		if threads == 0 {
			threads = 1
		}
	}
	c.r.Verdict = Pass
	if c.r.Reason != "" {
		c.r.Verdict = Incomplete
	}
	for i, a := range automata {
		atoms := make([]int, len(a.Atoms))
		for k, name := range a.Atoms {
			atoms[k] = number[name]
		}
		p := newProduct(g, a, atoms, threads)
		c.r.Product = max(c.r.Product, p.size())
		v, found, err := acceptingCycle(ctx, p, c.o.Workers)
		if err != nil {
			var large *tooLargeError
			if !errors.As(err, &large) && ctx.Err() == nil {
				return err
			}
			c.r.Verdict, c.r.Reason = Incomplete, reason(err)
			continue
		}
		if found {
			c.r.Counterexample, err = c.counterexample(p, v, parts[i])
			if err != nil {
				return err
			}
			c.r.Verdict = Violated
			return nil
		}
	}
	return nil
}

// reason says in words why something ended early.
func reason(err error) string {
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "time-out"
	}
	return err.Error()
}

// explain writes why the graph is not complete into the result; errors of the
// tool are returned.
func (c *checker) explain(err error) error {
	switch {
	case err == nil:
	case errors.Is(err, errStates):
		c.r.Reason = fmt.Sprintf("limit of %d states", c.o.MaxStates)
	case errors.Is(err, statestore.ErrFull):
		c.r.Reason = "limit of memory"
	case errors.Is(err, errFault):
		c.r.Reason = errFault.Error()
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		c.r.Reason = reason(err)
	default:
		return err
	}
	return nil
}

// findFault finds an execution that leads to the fault that was met, if any.
func (c *checker) findFault() error {
	f := c.b.fault
	if f == nil {
		return nil
	}
	steps, initial, err := c.stemTo(f.node)
	if err != nil {
		return err
	}
	t := &trace.Trace{Initial: initial, Steps: steps}
	v := f.violation
	if f.thread >= 0 {
		t.Steps = append(t.Steps, trace.Step{Thread: f.thread, Alt: f.alt})
		t.Violation = &v
	}
	if err := t.Replay(c.sys); err != nil {
		return fmt.Errorf("internal error: the trace of a violation: %w", err)
	}
	if t.Violation != nil {
		t = t.Minimise(c.sys, trace.DefaultBudget)
	}
	c.r.Fault = &Fault{v, t}
	return nil
}
