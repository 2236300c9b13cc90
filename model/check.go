package model

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	_ "cpor/cartesian" // the reduction
	"cpor/engine"
	"cpor/engine/search/reduction"
	"cpor/engine/temporal"
	"cpor/internal/human"
	"cpor/ltl"
	"cpor/trace"
	"cpor/trace/draw"
)

// Options say how to explore a model. The zero value explores everything, with the Cartesian
// reduction and a worker for each CPU.
type Options struct {
	// Workers is the number of concurrent workers; 0 means one for each CPU.
	Workers int
	// Reduction is the name of a reduction, as for -por: "cartesian" if empty. The others, such as
	// "none" and "auto", are available once the program imports cpor/engine/all.
	Reduction string
	// Search is the way to search, as for -search: "stateful" if empty. The others are
	// available once the program imports cpor/engine/all.
	Search string
	// Fair restricts temporal properties to weakly fair executions: no process that stays
	// enabled is ignored forever.
	Fair bool
	// IgnoreDeadlocks does not report deadlocks.
	IgnoreDeadlocks bool
	// All looks for all violations instead of the first one.
	All bool
	// Validate checks the reduction and the model during the search: it executes independent
	// steps in both orders and reloads every state. It is slow.
	Validate bool
	// Timeout, MaxStates and MaxMemory (in bytes) bound the exploration; 0 means no bound. A
	// bounded one is incomplete, and never a pass.
	Timeout   time.Duration
	MaxStates uint64
	MaxMemory uint64
}

// Result is what an exploration has found out.
type Result struct {
	// Search is the result for invariants, assertions and deadlocks, and Temporal that for temporal
	// properties; nil if the model has none.
	Search, Temporal *engine.Result
	// Warnings says which invariants leave no room for a reduction; it may be empty.
	Warnings string
	system   *System
}

// Verdict returns the verdict of the whole. What did not cover everything is not a pass.
func (r *Result) Verdict() engine.Verdict {
	v := r.Search.Verdict
	if v == engine.Pass && r.Temporal != nil {
		v = r.Temporal.Verdict
	}
	return v
}

// String says in words what was found, with an execution for each violation.
func (r *Result) String() string {
	var b strings.Builder
	if r.Warnings != "" {
		fmt.Fprintln(&b, r.Warnings)
	}
	for _, res := range []*engine.Result{r.Search, r.Temporal} {
		if res == nil {
			continue
		}
		for i := range res.Violations {
			r.finding(&b, &res.Violations[i])
		}
		if res.Verdict == engine.Incomplete {
			fmt.Fprintf(&b, "incomplete: %s\n", res.Reason)
		}
	}
	if r.Verdict() == engine.Pass {
		fmt.Fprintf(&b, "no violation: %s, %s\n", human.Plural(r.Search.States, "state"),
			human.Plural(r.Search.Transitions, "transition"))
	}
	return b.String()
}

func (r *Result) finding(b *strings.Builder, f *engine.Finding) {
	if f.Pos.Line > 0 {
		fmt.Fprintf(b, "%s:%d: ", f.Pos.File, f.Pos.Line)
	}
	o := trace.TableOptions{Width: 100, OmitViolation: true}
	var err error
	switch {
	case f.Account != nil: // it begins with what is violated
		err = f.Account.WriteText(b, o)
	case f.Trace != nil:
		fmt.Fprintln(b, trace.Headline(f.Violation))
		var rec *trace.Record
		if rec, err = f.Trace.Record(r.system); err == nil {
			err = draw.Table(b, rec, o)
		}
	default:
		fmt.Fprintf(b, "%s\n%s\n", trace.Headline(f.Violation), f.TraceMissing)
	}
	if err != nil {
		fmt.Fprintln(b, err)
	}
}

// Explore explores the model: first its invariants, assertions and deadlocks, and if these hold
// its temporal properties. The error says what is wrong with the model or the options.
func (m *Model) Explore(ctx context.Context, o Options) (*Result, error) {
	s, err := m.System()
	if err != nil {
		return nil, err
	}
	r := &Result{system: s, Warnings: s.warnings}
	mode, por := cmp.Or(o.Search, reduction.Mode), o.Reduction
	if por == "" && mode == reduction.Mode {
		por = "cartesian"
	}
	var e *engine.Entry
	if engine.LookupMode(mode) == nil {
		return nil, fmt.Errorf("there is no search %q here; is cpor/engine/all imported?", mode)
	}
	if por == "" {
		e = engine.Entries(mode)[0]
	} else if e, err = engine.Lookup(mode, por); err != nil {
		return nil, fmt.Errorf("%q: %w (is cpor/engine/all imported?)", por, err)
	}
	if r.Search, err = o.run(ctx, e, s, nil); err != nil || r.Search.Verdict != engine.Pass {
		return r, err
	}
	ps := s.Properties()
	if len(ps) == 0 {
		return r, nil
	}
	e, err = engine.Lookup(temporal.Mode, temporal.Transparent.String())
	if err != nil {
		return nil, err
	}
	r.Temporal, err = o.run(ctx, e, s, ps)
	return r, err
}

// Properties returns the temporal properties.
func (s *System) Properties() []engine.Property {
	var ps []engine.Property
	for _, p := range s.made.properties {
		if !p.temporal {
			continue
		}
		q := engine.Property{Name: p.name, Formula: p.formula, Pos: p.pos, Modality: p.modality,
			Text: strings.TrimSpace(fmt.Sprint(p.modality, " ", p.formula))}
		for _, x := range s.made.props {
			if slices.Contains(p.formula.Atoms(), x.name) {
				q.Predicates = append(q.Predicates, engine.Predicate{Pos: x.pos, Prop: x.name,
					Atoms: []string{x.name}, Initial: p.formula == ltl.Atom(x.name) &&
						p.modality == ltl.Linear})
			}
		}
		ps = append(ps, q)
	}
	return ps
}

// run runs an engine.
func (o Options) run(ctx context.Context, e *engine.Entry, s *System,
	ps []engine.Property) (*engine.Result, error) {
	t := &engine.Task{System: s, Properties: ps, Flags: new(engine.Values)}
	t.Options = engine.Options{Workers: o.Workers, Timeout: o.Timeout, MaxMemory: o.MaxMemory}
	if t.Workers == 0 {
		t.Workers = runtime.GOMAXPROCS(0)
	}
	if ps == nil {
		t.All, t.IgnoreDeadlocks = o.All, o.IgnoreDeadlocks
	}
	for _, x := range []struct {
		takes engine.OptionSet
		set   bool
		put   func()
		name  string
	}{
		{engine.TakesValidate, o.Validate, func() { t.Validate = true }, "Validate"},
		{engine.TakesMaxStates, o.MaxStates > 0, func() { t.MaxStates = o.MaxStates }, "MaxStates"},
	} {
		switch {
		case !x.set:
		case e.Takes&x.takes != 0:
			x.put()
		case ps == nil:
			return nil, fmt.Errorf("%s has no effect with %s", x.name, e.Name)
		}
	}
	for _, f := range e.Flags {
		if f.About().Name == "fair" && o.Fair {
			if err := t.Flags.Set(f, "true"); err != nil {
				return nil, err
			}
		}
	}
	if e.Check != nil {
		if err := e.Check(t.Flags, &t.Options); err != nil {
			return nil, err
		}
	}
	if err := e.Unmet(s); err != nil {
		return nil, err
	}
	return e.Run(ctx, t)
}

// Check explores a model in a test, which fails if a property does not hold, if there is a
// deadlock, or if not everything was explored. Its log shows an execution that leads there.
func Check(t testing.TB, m *Model, o ...Options) {
	t.Helper()
	var with Options
	if len(o) > 0 {
		with = o[0]
	}
	r, err := m.Explore(t.Context(), with)
	if err != nil {
		t.Fatalf("%s: %v", m.name, err)
	}
	if r.Verdict() != engine.Pass {
		t.Fatalf("%s: %s\n%v", m.name, r.Verdict(), r)
	}
	t.Logf("%s: %v", m.name, r)
}
