package command

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cpor/engine"
	"cpor/engine/temporal"
	"cpor/frontend"
	"cpor/internal/human"
	"cpor/internal/terminal"
	"cpor/system"
	"cpor/trace"
	"cpor/trace/draw"
)

// replayed are the flags that mean something beside -replay, besides those of front
// ends.
var replayed = []string{"D", "U", "lang", "trace", "trace-states", "q", "fair", "strong-fair"}

// replay shows an execution that a flag of the front end has read.
func (e *env) replay(c *runConfig, m *frontend.Program) int {
	r := m.Replay
	f, shown, why, err := c.judged(m)
	if err != nil {
		e.internalError(err.Error())
		return ExitMistake
	}
	code := ExitViolation
	if f.Account == nil && r.Violation == nil {
		f.Violation, code = new(system.Violation), ExitIncomplete
	}
	var out traceFile
	var traceErr error
	if c.trace != "" {
		if out, err = openTrace(c.trace, c.file); err != nil {
			return e.mistake("run", "-trace: %v", err)
		}
		defer out.cleanUp()
		c.prepare(m, &out)
		_, traceErr = out.write([]finding{f})
	}
	return e.print(false, func(b *bytes.Buffer) error {
		p := &printer{w: b, Page: terminal.For(e.stdout, c.color)}
		rep := &report{c: c, program: m}
		switch {
		case f.Account != nil && c.quiet:
			p.printf("%s: the trail shows that %s\n", c.file, f.Violation.Message)
		case f.Account != nil:
			p.err = f.Account.WriteText(b, p.table())
		case why != "":
			p.printf("%s\n", p.wrap(fmt.Sprintf("%s: the trail shows no violation: %s", c.file,
				why), 2))
		case r.Violation == nil:
			p.printf("%s: the trail ends after %s, without a violation\n", c.file,
				human.Plural(len(r.Steps), "step"))
		default:
			p.printf("%s\n", rep.excerpt(f, trace.Headline(r.Violation)))
		}
		if !c.quiet && p.err == nil && f.Account == nil {
			p.printf("\n")
			all := p.table()
			all.MaxSteps, all.MaxThreads = 0, 0
			if shown != nil {
				p.err = shown.WriteTable(b, p.table())
			} else {
				p.err = draw.Table(b, f.record, all)
			}
		}
		if r.Note != "" && !c.quiet {
			p.printf("\n%s\n", p.wrap(r.Note, 0))
		}
		return p.err
	}, traceErr, code)
}

// judged returns what the execution violates, as a finding: its own violation, or the first of
// the temporal properties that it does not satisfy, which is executed and evaluated for that. If
// it violates none, shown is the execution beside the property, unless it has no loop, and why
// says what is missing.
func (c *runConfig) judged(m *frontend.Program) (f finding, shown *temporal.Counterexample,
	why string, err error) {
	r := m.Replay
	sys := r.System
	f = finding{Finding: engine.Finding{Violation: r.Violation, Trace: r.Trace}, system: sys}
	if f.record, err = c.record(r.Trace, sys); err != nil {
		return f, nil, "", err
	}
	f.record.Violation = r.Violation
	for i := range r.Properties {
		p := engineProperty(&r.Properties[i])
		t := &engine.Task{System: sys, Properties: []engine.Property{p}, Options: c.Options,
			Flags: &c.values}
		x, no, fault, err := temporal.Judge(t, r.Trace, r.Loop)
		if err != nil {
			return f, nil, "", err
		}
		if fault != nil {
			r.Violation, f.Violation, f.record.Violation = fault, fault, fault
			return f, nil, "", nil
		}
		if no == "" {
			f.Account = x
			f.Violation = &system.Violation{Kind: "ltl", Pos: p.Pos, Object: p.Name,
				Message: p.Called() + " does not hold"}
			return f, nil, "", nil
		}
		if why == "" {
			why = no
			if r.Loop >= 0 {
				shown = x
			}
		}
	}
	if r.Open != "" {
		why = r.Open
	}
	return f, shown, why, nil
}

// notKept are the front ends' flags that a trace does not need: they ask for an execution.
var notKept = []string{"replay", frontend.FormulaFlag.Name}

// prepare notes what a file of -trace says about the model. A file whose name ends in .trail is in
// the format of the language's own tool.
func (c *runConfig) prepare(m *frontend.Program, t *traceFile) {
	t.params, t.flags = map[string]string{}, maps.Clone(c.own)
	for name, v := range m.Params {
		t.params[name] = fmt.Sprint(v)
	}
	maps.Copy(t.params, c.params)
	maps.DeleteFunc(t.flags, func(name, _ string) bool { return slices.Contains(notKept, name) })
	if m.WriteTrail != nil && strings.EqualFold(filepath.Ext(c.trace), ".trail") {
		t.trail = m
	}
}

// trailWriter writes a trail.
type trailWriter struct {
	program *frontend.Program
	x       *frontend.Execution
}

// newTrail returns what writes a finding as a trail; nil if there is no execution to it.
func newTrail(m *frontend.Program, f *finding) *trailWriter {
	x := &frontend.Execution{Trace: f.Trace, System: f.system, Loop: -1}
	var about *engine.Property
	if l, ok := f.Account.(engine.Looping); ok {
		var p engine.Property
		p, x.Trace, x.Loop = l.Lasso()
		about = &p
	} else if x.Trace == nil {
		return nil
	}
	for _, p := range m.Properties {
		// What is found beside a property is an execution of the property's system.
		if about != nil && p.Name == about.Name || about == nil && p.System != nil &&
			p.System == x.System {
			x.Properties = []frontend.Property{p}
			break
		}
	}
	if x.Violation == nil && about == nil {
		t := *x.Trace
		t.Violation = f.Violation
		x.Trace = &t
	}
	return &trailWriter{m, x}
}

// WriteFile writes the trail to a file.
func (w *trailWriter) WriteFile(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	err = w.write(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (w *trailWriter) write(out io.Writer) error { return w.program.WriteTrail(out, w.x) }
