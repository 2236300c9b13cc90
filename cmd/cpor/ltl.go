package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"cpor/engine"
	"cpor/engine/temporal"
	"cpor/frontend"
	"cpor/internal/cliflag"
	"cpor/internal/human"
	"cpor/internal/spell"
	"cpor/ltl/buchi"
	"cpor/system"
	"cpor/trace"
)

// ltlConfig is what the flags say about temporal properties.
type ltlConfig struct {
	name      string // of the property, or all
	fair      bool
	reduction *temporal.Reduction // given by -por; nil if it was not, or is none of these
}

// asked tells whether temporal properties are to be checked.
func (c *ltlConfig) asked() bool { return c.name != "" || c.reduction != nil }

// define defines the flags.
func (c *ltlConfig) define(f *cliflag.Set) {
	f.StringVar(&c.name, "ltl", "", "check the ltl property of this `name`, or all; instead of searching for assertions, invariants and deadlocks")
	f.BoolVar(&c.fair, "fair", false, "with -ltl: only weakly fair executions count, in which no thread that stays enabled is left out forever; needs -por none")
}

// ltlReductions are the values of -por that stand for a check of temporal
// properties; none is one, too, if -ltl is given.
var ltlReductions = map[string]temporal.Reduction{"invisible": temporal.Invisible, "transparent": temporal.Transparent}

// ltlReductionHelp describes them.
func ltlReductionHelp() [][2]string {
	return [][2]string{
		{"transparent", "with -ltl, the default there: ample sets whose transitions change the formula's propositions in harmless directions only"},
		{"invisible", "with -ltl: ample sets whose transitions change no proposition of the formula"},
	}
}

// parse takes a value of -por; it returns false if it is none of ours.
func (c *ltlConfig) parse(s string) bool {
	c.reduction = nil
	r, ok := ltlReductions[s]
	if ok {
		c.reduction = &r
	}
	return ok
}

// validate checks the flags together.
func (c *ltlConfig) validate(f *cliflag.Set, run *runConfig) error {
	if c.reduction == nil {
		r := temporal.Transparent
		switch {
		case f.Given("por") && run.stateless.name == "" && run.reduction.name == "none":
			r = temporal.None
		case f.Given("por"):
			return fmt.Errorf("-por %s does not preserve temporal properties; with -ltl use transparent, invisible or none", cmp.Or(run.stateless.name, run.reduction.name))
		case c.fair:
			r = temporal.None
		}
		c.reduction = &r
	}
	if c.fair && *c.reduction != temporal.None {
		return fmt.Errorf("-fair and -por %s do not go together: reordering independent transitions changes which executions are fair; use -por none", *c.reduction)
	}
	if c.name == "" {
		c.name = "all"
	}
	return nil
}

// choose returns the properties that are to be checked.
func (c *ltlConfig) choose(m *frontend.Program) ([]engine.Property, error) {
	var ps []engine.Property
	var names []string
	for _, p := range m.Properties {
		names = append(names, p.Name)
		if c.name == "all" || c.name == p.Name {
			q := engine.Property{Name: p.Name, Formula: p.Formula, Pos: p.Pos, Text: p.Text}
			for _, x := range p.Predicates {
				q.Predicates = append(q.Predicates, engine.Predicate(x))
			}
			ps = append(ps, q)
		}
	}
	switch {
	case len(names) == 0:
		return nil, errors.New("the model has no ltl property; declare one: ltl name { [] (request -> <> reply) }")
	case len(ps) == 0:
		return nil, fmt.Errorf("-ltl %s: the model has no such property%s; it has %s", c.name, spell.DidYouMean(c.name, names, ""), strings.Join(names, ", "))
	}
	return ps, nil
}

// unchecked says which temporal properties a search leaves unchecked; "" if
// the model has none.
func unchecked(m *frontend.Program, file string) string {
	var names []string
	for _, p := range m.Properties {
		names = append(names, p.Name)
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("ltl %s (cpor run -ltl all %s)", strings.Join(names, ", "), file)
}

// runLTL checks temporal properties and prints the result.
func runLTL(e *env, c *runConfig, m *frontend.Program, out *traceFile) int {
	props, err := c.ltl.choose(m)
	if err != nil {
		return e.mistake("run", "%v", err)
	}
	ctx := e.ctx
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	sys := m.System
	start := time.Now()
	p := newProgress(e, c)
	o := temporal.Options{Options: engine.Options{Workers: c.workers, Validate: c.validate, MaxStates: c.maxStates, MaxMemory: c.maxMemory, ProgressInterval: p.interval}, Reduction: *c.ltl.reduction, Fair: c.ltl.fair}
	if p.report != nil {
		o.Progress = func(q engine.Progress) {
			p.report(q)
		}
	}
	results, err := temporal.Run(ctx, sys, props, o)
	p.done()
	var fe *temporal.FormulaError
	var oe *engine.OptionError
	var ae *buchi.AtomsError
	switch {
	case errors.As(err, &fe):
		fmt.Fprintln(e.stderr, printable(err.Error()))
		return exitMistake
	case errors.As(err, &oe), errors.As(err, &ae):
		return e.mistake("run", "%v", err)
	case err != nil:
		e.internalError(strings.TrimPrefix(err.Error(), "internal error: "))
		return exitMistake
	}
	for _, r := range results {
		if r.Trivial != 0 {
			what := "holds whatever the model does: the formula is a tautology"
			if r.Trivial < 0 {
				what = "cannot hold whatever the model does: the formula is a contradiction"
			}
			fmt.Fprintf(e.stderr, "%s: warning: ltl %s %s\n", trace.PosString(r.Property.Pos), r.Property.Name, what)
		}
	}
	rep := &ltlReport{c: c, m: m, sys: sys, results: results, duration: time.Since(start)}
	var traceErr error
	rep.files, traceErr = out.writeLTL(results)
	return e.print(c.json, func(b *bytes.Buffer) error {
		if c.json {
			return rep.writeJSON(b)
		}
		return rep.writeText(b, outputWidth(e.stdout))
	}, traceErr, rep.exitCode())
}

// writeLTL writes the counterexamples and returns the names of the files.
func (t *traceFile) writeLTL(rs []*temporal.Result) ([]string, error) {
	if t.name == "" {
		return nil, nil
	}
	var names []string
	for _, r := range rs {
		if r.Counterexample == nil {
			continue
		}
		name := t.numbered(len(names))
		if err := r.Counterexample.WriteFile(name); err != nil {
			return names, pathError(err)
		}
		t.created = false
		names = append(names, name)
	}
	return names, nil
}

// ltlReport is the result of a check, ready to be printed.
type ltlReport struct {
	c        *runConfig
	m        *frontend.Program
	sys      system.System
	results  []*temporal.Result
	duration time.Duration
	files    []string
}

// verdict is the worst one: a violation, then incomplete.
func (r *ltlReport) verdict() engine.Verdict {
	v := engine.Pass
	for _, res := range r.results {
		switch {
		case res.Verdict == engine.Violated || res.Fault != nil:
			return engine.Violated
		case res.Verdict != engine.Pass:
			v = engine.Incomplete
		}
	}
	return v
}

func (r *ltlReport) exitCode() int {
	switch r.verdict() {
	case engine.Pass:
		return exitPass
	case engine.Violated:
		return exitViolation
	}
	return exitIncomplete
}

// fault returns the first error that executions ran into, with its record.
func (r *ltlReport) fault() (*temporal.Fault, *trace.Record, error) {
	for _, res := range r.results {
		if res.Fault != nil {
			rec, err := res.Fault.Trace.Record(r.sys)
			if rec != nil {
				rec.Violation = &res.Fault.Violation
			}
			return res.Fault, rec, err
		}
	}
	return nil, nil, nil
}

func (r *ltlReport) writeText(w *bytes.Buffer, width int) error {
	p := &printer{w: w, width: width}
	for _, res := range r.results {
		if res.Counterexample == nil {
			continue
		}
		if err := res.Counterexample.WriteText(w, width); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	f, rec, err := r.fault()
	if err != nil {
		return err
	}
	if f != nil {
		p.printf("%s: %s\n\n", trace.PosString(f.Violation.Pos), trace.Headline(&f.Violation))
		if err := rec.WriteTable(w, trace.TableOptions{Width: width, MaxSteps: maxSteps, MaxThreads: maxThreads, OmitViolation: true}); err != nil {
			return err
		}
		p.printf("\n")
	}
	mode := ""
	if r.c.ltl.fair {
		mode = " on weakly fair executions"
	}
	for _, res := range r.results {
		verdict := "holds" + mode
		switch res.Verdict {
		case engine.Violated:
			verdict = "does not hold" + mode
		case engine.Incomplete:
			verdict = "incomplete: " + res.Reason + "; no violation so far"
		}
		p.printf("%s: ltl %s %s\n", r.c.file, res.Property.Name, verdict)
		if !r.c.quiet {
			p.printf("  %s states, %s transitions (-por %s), automaton %d states, %s\n",
				human.Count(res.States), human.Count(res.Transitions), *r.c.ltl.reduction, res.Automaton,
				res.Time.Round(time.Millisecond))
		}
	}
	if f != nil {
		text := "An execution runs into an error that the formula does not speak of; it is shown above."
		if f.Trace.Violation == nil {
			text = "A part of the formula has no value in a state that an execution comes to, shown above. " +
				"Each part without temporal operators is evaluated in every state, && and || from left to right: guard it where it stands, as in <> (p != nil && p.v == 1)."
		}
		p.printf("%s\n", p.wrap(text, 0))
	}
	if !r.c.quiet {
		if r.c.validate {
			p.printf("The reduction was checked while it ran: no difference found.\n")
		}
		p.printf("%s\n", p.wrap("Only ltl properties were checked; assertions, invariants and deadlocks are for cpor run without -ltl.", 0))
		for _, name := range r.files {
			p.printf("The counterexample is in %s.\n", name)
		}
	}
	return p.err
}

// ltlJSON is the object that -json prints; the names of resultJSON that make
// sense are the same.
type ltlJSON struct {
	Model       string         `json:"model"`
	Params      map[string]any `json:"params"`
	POR         string         `json:"por"`
	Workers     int            `json:"workers"`
	Fair        bool           `json:"fair"`
	Verdict     engine.Verdict `json:"verdict"`
	Exhaustive  bool           `json:"exhaustive"`
	Reason      string         `json:"reason"`
	States      int            `json:"states"`
	Transitions int            `json:"transitions"`
	DurationMS  float64        `json:"duration_ms"`
	StoreBytes  uint64         `json:"store_bytes"`
	Properties  []ltlPropJSON  `json:"properties"`
	Violations  []any          `json:"violations"`
}

type ltlPropJSON struct {
	Name        string         `json:"name"`
	Formula     string         `json:"formula"`
	Verdict     engine.Verdict `json:"verdict"`
	Reason      string         `json:"reason"`
	Trivial     int            `json:"trivial,omitempty"`
	States      int            `json:"states"`
	Transitions int            `json:"transitions"`
	Reduced     uint64         `json:"reduced_states"`
	Automaton   int            `json:"automaton_states"`
	SearchMS    float64        `json:"search_ms"`
}

func (r *ltlReport) writeJSON(w *bytes.Buffer) error {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	j := ltlJSON{
		Model: r.c.file, Params: r.m.Params, POR: r.c.ltl.reduction.String(), Workers: r.c.workers, Fair: r.c.ltl.fair,
		Verdict: r.verdict(), DurationMS: ms(r.duration), Violations: []any{}, Properties: []ltlPropJSON{}, Exhaustive: true,
	}
	for _, res := range r.results {
		if res.Reason != "" {
			j.Exhaustive, j.Reason = false, res.Reason
		}
		j.States, j.Transitions = max(j.States, res.States), max(j.Transitions, res.Transitions)
		j.StoreBytes = max(j.StoreBytes, res.StoreBytes)
		j.Properties = append(j.Properties, ltlPropJSON{
			res.Property.Name, res.Property.Text, res.Verdict, res.Reason, res.Trivial,
			res.States, res.Transitions, res.Reduced, res.Automaton, ms(res.Time),
		})
		if res.Counterexample != nil {
			j.Violations = append(j.Violations, res.Counterexample)
		}
	}
	_, rec, err := r.fault()
	if err != nil {
		return err
	}
	if rec != nil {
		j.Violations = append(j.Violations, rec)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(j)
}
