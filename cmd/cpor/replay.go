package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"cpor/engine"
	"cpor/frontend"
	"cpor/system"
	"cpor/trace"
)

// replayed are the flags that mean something beside -replay, besides those of front
// ends.
var replayed = []string{"D", "trace", "trace-states", "q"}

// replay shows an execution that a flag of the front end has read.
func (e *env) replay(c *runConfig, m *frontend.Program) int {
	r := m.Replay
	record, err := c.record(r, m.System)
	if err != nil {
		e.internalError(err.Error())
		return exitMistake
	}
	record.Violation = r.Violation
	code := exitViolation
	f := finding{engine.Finding{Violation: r.Violation, Trace: r}, record}
	if r.Violation == nil {
		f.Violation, code = new(system.Violation), exitIncomplete
	}
	var out traceFile
	var traceErr error
	if c.trace != "" {
		if out, err = openTrace(c.trace, c.file); err != nil {
			return e.mistake("run", "-trace: %v", err)
		}
		defer out.cleanUp()
		if err := c.trailed(m, &out); err != nil {
			return e.mistake("run", "%v", err)
		}
		_, traceErr = out.write([]finding{f})
	}
	return e.print(false, func(b *bytes.Buffer) error {
		p := &printer{w: b, width: outputWidth(e.stdout)}
		rep := &report{c: c, program: m}
		if r.Violation == nil {
			p.printf("%s: the trail ends after %d steps, without a violation\n", c.file, len(r.Steps))
		} else {
			p.printf("%s\n", rep.excerpt(f, trace.Headline(r.Violation)))
		}
		if !c.quiet && p.err == nil {
			p.printf("\n")
			p.err = record.WriteTable(b, trace.TableOptions{Width: p.width, OmitViolation: true})
		}
		return p.err
	}, traceErr, code)
}

// trailed makes a file of -trace one in the format of the language's own tool if its
// name ends so.
func (c *runConfig) trailed(m *frontend.Program, t *traceFile) error {
	switch {
	case m.WriteTrail == nil || !strings.EqualFold(filepath.Ext(c.trace), ".trail"):
	case c.mode.Temporal:
		return errors.New("-trace: a trail cannot show what -ltl finds; give the file another name, for a table")
	default:
		t.trail = m.WriteTrail
	}
	return nil
}

// trailWriter writes a trail.
type trailWriter struct {
	write func(io.Writer, []trace.Step) error
	steps []trace.Step
}

// WriteFile writes the trail to a file.
func (w trailWriter) WriteFile(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	err = w.write(f, w.steps)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
