package testcmd

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"cpor/frontend/gosrc"
	"cpor/gotest"
	"cpor/internal/human"
	"cpor/trace"
)

func countBoth(executions, states uint64) string {
	switch {
	case states == 0:
		return human.Plural(executions, "execution")
	case executions == 0:
		return human.Plural(states, "state")
	}
	return human.Plural(executions, "execution") + ", " + human.Plural(states, "state")
}

// saved is a failing execution in a file: what -replay needs, and the record for
// other readers.
type saved struct {
	Package string        `json:"package"`
	Test    string        `json:"test,omitempty"` // empty: the main package
	Tags    string        `json:"tags,omitempty"`
	Explore gosrc.Explore `json:"explore"`
	Initial int           `json:"initial"`
	// Threads are the goroutines by number: who created them, and as which.
	Threads [][2]int32  `json:"threads"`
	Steps   []savedStep `json:"steps"`
	Record  any         `json:"record"`
}

type savedStep struct {
	Thread int    `json:"thread"`
	Alt    uint64 `json:"alt,omitempty"`
}

// writeTrace writes a failure to the file of -trace; of further ones the names
// get a number.
func (s *session) writeTrace(p *gosrc.Package, test string, res *gotest.Result) {
	if s.trace == "" || res.Failure.Trace == nil {
		return
	}
	s.traces++
	name := s.trace
	if s.traces > 1 {
		ext := filepath.Ext(name)
		name = strings.TrimSuffix(name, ext) + "-" + strconv.Itoa(s.traces) + ext
	}
	if err := s.save(name, p, res.Program, test, res.Failure); err != nil && s.traceErr == nil {
		s.traceErr = err
	}
}

func (s *session) save(name string, p *gosrc.Package, prog *gosrc.Program, test string, f *gotest.Failure) error {
	if filepath.Ext(name) != ".json" {
		return os.WriteFile(name, []byte(Headline(f)+"\n\n"+Describe(prog, f, textWidth)), 0o666)
	}
	rec, err := f.Trace.Record(prog)
	if err != nil {
		return err
	}
	doc := saved{Package: p.Path, Test: test, Tags: s.tags, Explore: prog.Explore(), Initial: f.Trace.Initial, Record: rec}
	threads := 0
	for _, st := range f.Trace.Steps {
		doc.Steps = append(doc.Steps, savedStep{st.Thread, st.Alt})
		threads = max(threads, st.Thread+1)
	}
	doc.Threads = prog.ThreadNames(threads)
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o666)
}

// replayFile shows the execution of a file.
func (s *session) replayFile(w io.Writer) error {
	text, err := os.ReadFile(s.replay)
	if err != nil {
		return err
	}
	var doc saved
	if err := json.Unmarshal(text, &doc); err != nil || doc.Package == "" {
		return fmt.Errorf("%s is no file that -trace FILE.json has written", s.replay)
	}
	pkgs, err := gosrc.Load(s.ctx, []string{doc.Package}, gosrc.Options{Dir: s.dir, Tags: tagList(doc.Tags), Tests: doc.Test != ""})
	if err != nil {
		return err
	}
	if len(pkgs) != 1 || len(pkgs[0].Errors) > 0 {
		return fmt.Errorf("package %s cannot be loaded from here (use -C)", doc.Package)
	}
	compiled, err := pkgs[0].Compile()
	if err != nil {
		return err
	}
	t := &trace.Trace{Initial: doc.Initial}
	for _, st := range doc.Steps {
		t.Steps = append(t.Steps, trace.Step{Thread: st.Thread, Alt: st.Alt})
	}
	prog, err := program(compiled, doc.Test, doc.Explore)
	if err != nil {
		return err
	}
	var f *gotest.Failure
	if err = prog.NameThreads(doc.Threads); err == nil {
		f, err = gotest.Explain(prog, t)
	}
	if err != nil {
		return fmt.Errorf("%s: the program has changed since, or other flags were given: %w", s.replay, err)
	}
	name := doc.Test
	if name == "" {
		name = doc.Package
	}
	_, err = fmt.Fprintf(w, "%s: %s\n%s", name, s.relative(Headline(f)), s.relative(Describe(prog, f, textWidth)))
	return err
}
