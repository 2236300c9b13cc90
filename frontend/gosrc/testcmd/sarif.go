package testcmd

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"cpor/frontend/gosrc/gotest"
	"cpor/internal/sarif"
	"cpor/internal/version"
	"cpor/system"
)

// openSARIF makes sure, before a search that may take long, that its file can be written.
func (s *session) openSARIF() error {
	if s.sarif == "" {
		return nil
	}
	f, err := os.OpenFile(s.sarif, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	s.found = &sarif.Log{Version: version.String(), Done: true}
	return f.Close()
}

// writeSARIF writes the file of -sarif.
func (s *session) writeSARIF() error {
	if s.found == nil {
		return nil
	}
	if s.ctx.Err() != nil {
		s.found.Note("interrupted before all tests were explored")
	}
	return s.found.WriteFile(s.sarif)
}

// broken reports a package that cannot be explored.
func (s *session) broken(pkg string, errs []error) {
	s.refused++
	s.out.broken(pkg, errs)
	if s.found != nil {
		for _, err := range errs {
			s.found.Note(fmt.Sprintf("%s: %v", pkg, err))
		}
	}
}

// report adds a failure to the file of -sarif.
func (s *session) report(res *gotest.Result, begin time.Time) {
	if s.found == nil {
		return
	}
	f := res.Failure
	found := sarif.Finding{Rule: string(f.Kind), Message: said(f), At: place(f.Pos)}
	for _, st := range f.Stacks { // where a test waits, if the failure has no place
		if found.At.File == "" && len(st.Frames) > 0 {
			found.At = place(st.Frames[0].Pos)
		}
	}
	if f.Trace != nil {
		t := *f.Trace
		t.Steps = slices.Concat(t.Steps, f.Cycle)
		rec, err := gotest.Record(programOf(res), &t, s.hurry(begin))
		if err == nil {
			for _, e := range rec.Events {
				if e.Pos.Line > 0 { // not one of the run time
					found.Steps = append(found.Steps, sarif.Step{Thread: e.Thread, Text: e.Text,
						At: place(e.Pos)})
				}
			}
		}
	}
	s.found.Add(found)
}

// noteOpen adds to the file of -sarif what is not known of a test, and what is a failure only on a
// slow machine.
func (s *session) noteOpen(o outcome) {
	if s.found == nil {
		return
	}
	switch o.verdict {
	case unfinished, unexplored:
		s.found.Note(fmt.Sprintf("%s: %s of %s: %s", o.verdict, o.test, o.pkg,
			lines.ReplaceAllString(strings.TrimSpace(o.summary), " ")))
	case timing:
		f := o.result.Slow
		s.found.Add(sarif.Finding{Rule: "timing", Warning: true, At: place(f.Slept.Pos),
			Message: "the test sleeps where it should synchronize: if that is not long enough, " +
				lines.ReplaceAllString(Headline(f), " ")})
	}
}

func place(p system.Pos) sarif.Place { return sarif.Place{File: p.File, Line: p.Line, Col: p.Col} }
