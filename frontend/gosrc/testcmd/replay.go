package testcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"cpor/engine/memory"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/gotest"
	"cpor/internal/human"
	"cpor/trace"
	"cpor/trace/draw"
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

// Saved is a failing execution in a file that -trace FILE.json has written: what -replay
// and `cpor view` need, and the record for other readers.
type Saved struct {
	Package string `json:"package"`
	Test    string `json:"test,omitempty"` // empty: the main package
	// Dir is the directory of the package, and Base the one that the places are
	// relative to, both as absolute paths.
	Dir     string        `json:"dir"`
	Base    string        `json:"base"`
	Tags    string        `json:"tags,omitempty"`
	GoFlags []string      `json:"go_flags,omitempty"` // with which it was loaded
	Explore gosrc.Explore `json:"explore"`
	// Machine is "native" if the test ran natively; else it is empty.
	Machine string `json:"machine,omitempty"`
	// Failed describes the failure; the record has only its steps.
	Failed  savedFailure `json:"failure"`
	Initial int          `json:"initial"`
	// Threads are the goroutines by number: their creators, and their rank among those.
	Threads [][2]int32  `json:"threads"`
	Steps   []savedStep `json:"steps"`
	// Cycle are steps that return to where they begin, if the failure is that they may repeat
	// forever.
	Cycle  []savedStep     `json:"cycle,omitempty"`
	Record json.RawMessage `json:"record"`
}

// savedFailure is a failure in words: the place, separate from the headline, and lines for
// users.
type savedFailure struct {
	Kind     string   `json:"kind"`
	Headline string   `json:"headline"`
	Pos      string   `json:"pos,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	Message  string   `json:"message"`
}

type savedStep struct {
	Thread int    `json:"thread"`
	Alt    uint64 `json:"alt,omitempty"`
}

// writeTrace writes a failure to the file of -trace; further ones get a number in their names.
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
	if err := s.save(name, p, programOf(res), test, res.Failure); err != nil && s.traceErr == nil {
		s.traceErr = err
	}
}

func (s *session) save(name string, p *gosrc.Package, prog program, test string,
	f *gotest.Failure) error {
	lower := strings.ToLower(name)
	switch {
	case strings.HasSuffix(lower, ".svg"), trace.NeedsStates(name):
		rec, err := gotest.Record(prog, f.Trace, nil)
		if trace.NeedsStates(name) {
			rec, err = f.Trace.RecordStates(prog)
		}
		if err != nil {
			return err
		}
		rec.History = f.History
		return draw.File(name, rec)
	case !strings.HasSuffix(lower, ".json"):
		text := Headline(f) + "\n\n" + Describe(prog, f, trace.TableOptions{}, nil)
		return os.WriteFile(name, []byte(text), 0o666)
	}
	rec, err := gotest.Record(prog, f.Trace, nil)
	if err != nil {
		return err
	}
	rec.History = f.History
	record, err := rec.MarshalJSON()
	if err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	doc := Saved{
		Package: p.Path, Test: test, Dir: p.Dir, Base: here, Tags: s.tags, GoFlags: s.goFlags(),
		Explore: s.how(prog), Initial: f.Trace.Initial, Record: record,
		Failed: savedFailure{Kind: string(f.Kind), Headline: said(f), Pos: trace.PosString(f.Pos),
			Notes: notes(f), Message: f.Message},
	}
	threads := 0
	keep := func(steps []trace.Step) (out []savedStep) {
		for _, st := range steps {
			out = append(out, savedStep{st.Thread, st.Alt})
			threads = max(threads, st.Thread+1)
		}
		return out
	}
	doc.Steps, doc.Cycle = keep(f.Trace.Steps), keep(f.Cycle)
	doc.Threads = prog.ThreadNames(threads)
	if _, ok := prog.(*gotest.NativeSystem); ok {
		doc.Machine = nativeMachine
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o666)
}

// ReadSaved reads a file that -trace FILE.json has written.
func ReadSaved(name string) (*Saved, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	doc := new(Saved)
	if err := json.Unmarshal(text, doc); err != nil || doc.Package == "" {
		return nil, fmt.Errorf("%s is not a file written by -trace FILE.json", name)
	}
	return doc, nil
}

// Trace returns the schedule.
func (d *Saved) Trace() *trace.Trace {
	return &trace.Trace{Initial: d.Initial, Steps: stepsOf(d.Steps)}
}

func stepsOf(saved []savedStep) (steps []trace.Step) {
	for _, s := range saved {
		steps = append(steps, trace.Step{Thread: s.Thread, Alt: s.Alt})
	}
	return steps
}

// Program loads the program of the execution, by its import path, from a directory within its
// module. Its goroutines have the numbers that the schedule needs.
func (d *Saved) Program(ctx context.Context, dir string) (*gosrc.Program, error) {
	if d.Machine == nativeMachine {
		return nil, errors.New("the test ran natively, and cannot be gone through step by step " +
			"(cpor test -replay shows it once more)")
	}
	memory.Patient(memory.Load)
	pkgs, err := gosrc.Load(ctx, []string{d.Package}, gosrc.Options{Dir: dir, Tags: tagList(d.Tags),
		Flags: d.GoFlags, Tests: d.Test != ""})
	if err != nil {
		return nil, err
	}
	if len(pkgs) != 1 || len(pkgs[0].Errors) > 0 {
		return nil, fmt.Errorf("package %s cannot be loaded from here; name its directory (-C "+
			"DIR; for cpor view, after the file)", d.Package)
	}
	compiled, err := pkgs[0].Compile()
	if err != nil {
		return nil, err
	}
	prog, err := made(compiled, d.Test, d.Explore)
	if err != nil {
		return nil, err
	}
	return prog, d.Number(prog)
}

// Number gives the goroutines of a program the numbers that the schedule needs. No
// execution may have been explored before.
func (d *Saved) Number(prog *gosrc.Program) error {
	if err := prog.NameThreads(d.Threads); err != nil {
		return fmt.Errorf("the program has changed since: %w", err)
	}
	return nil
}

// replayFile shows the execution of a file.
func (s *session) replayFile(w io.Writer) error {
	doc, err := ReadSaved(s.replay)
	if err != nil {
		return err
	}
	if doc.Machine == nativeMachine {
		return s.replayNative(w, doc)
	}
	prog, err := doc.Program(s.ctx, s.dir)
	if err != nil {
		return err
	}
	var f *gotest.Failure
	if doc.Failed.Kind == string(gotest.Progress) {
		if f, err = gotest.ExplainStall(prog, doc.Trace(), stepsOf(doc.Cycle)); err == nil {
			f.Message = doc.Failed.Message
		}
	} else if len(doc.Cycle) == 0 {
		f, err = gotest.Repeat(prog, doc.Trace())
	} else if f, err = gotest.ExplainCycle(prog, doc.Trace(), stepsOf(doc.Cycle),
		gotest.FailureKind(doc.Failed.Kind)); err == nil {
		f.Message = doc.Failed.Message
	}
	if err != nil {
		return fmt.Errorf("%s: the program has changed since, or other flags were given: %w",
			s.replay, err)
	}
	return s.again(w, doc, prog, f)
}

// again shows the failure of a file.
func (s *session) again(w io.Writer, doc *Saved, prog program, f *gotest.Failure) error {
	name := doc.Test
	if name == "" {
		name = doc.Package
	}
	AddTest(f, doc.Dir, doc.Test)
	head, rest, more := strings.Cut(s.relative(Headline(f)), "\n")
	if more { // the lines of a message stay as they are
		rest += "\n"
	}
	_, err := fmt.Fprintf(w, "%s\n%s%s", wrap(name+": "+head, inner(s.page)), rest,
		s.relative(Describe(prog, f, s.table(), nil)))
	return err
}
