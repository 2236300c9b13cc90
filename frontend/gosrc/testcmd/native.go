package testcmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"cpor/engine"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/gotest"
	"cpor/frontend/gosrc/native"
	"cpor/internal/human"
	"cpor/system"
)

// The machines, as -machine names them.
const (
	interpreted   = "interpreted"
	nativeMachine = "native"
	autoMachine   = "auto"
)

// program is what traces belong to: an interpreted program, or one that runs natively.
type program interface {
	system.System
	ThreadNames(n int) [][2]int32
}

// programOf returns what the trace of a failure belongs to.
func programOf(r *gotest.Result) program {
	if r.Program != nil {
		return r.Program
	}
	return r.Native
}

// slowProgramOf returns what the trace of Slow belongs to.
func slowProgramOf(r *gotest.Result) program {
	if r.SlowProgram != nil {
		return r.SlowProgram
	}
	return r.Native
}

// binary is the test binary of a package, or why there is none.
type binary struct {
	*native.Binary
	err error
}

// build compiles the tests of a package, once.
func (s *session) build(p *gosrc.Package) (*native.Binary, error) {
	if s.binary == nil {
		begin := time.Now()
		defer func() { s.building += time.Since(begin) }()
		s.binary = new(binary)
		s.binary.Binary, s.binary.err = native.Build(s.ctx, s.buildOptions(p.Dir, s.explore))
	}
	return s.binary.Binary, s.binary.err
}

func (s *session) buildOptions(dir string, e gosrc.Explore) native.BuildOptions {
	o := native.BuildOptions{Dir: dir, Package: ".", Tags: tagList(s.tags)}
	if flags := s.goFlags(); len(flags) > 0 {
		o.Env = append(o.Env, "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" "+
			strings.Join(flags, " ")))
	}
	if e.Short {
		o.Args = append(o.Args, "-test.short")
	}
	o.Args = append(o.Args, e.Args...)
	return o
}

// removeBinary removes the test binary of the package that was explored.
func (s *session) removeBinary() {
	if s.binary != nil && s.binary.err == nil {
		_ = s.binary.Close() // below the directory for temporary files
	}
	s.binary = nil
}

// native explores a test natively, which has already used some time. If its executions do not end,
// half of the rest is left to others.
func (s *session) native(p *gosrc.Package, test string, used time.Duration, others bool) (
	*gotest.Result, error,
) {
	b, err := s.build(p)
	if s.ctx.Err() != nil {
		return &gotest.Result{Verdict: engine.Incomplete, Reason: s.reason()}, nil
	}
	if err != nil {
		return nil, &noMachine{err}
	}
	o := s.options()
	o.Start = time.Now().Add(-used)
	if others && s.timeout > 0 {
		o.Share = (s.timeout - used) / 2
	}
	return gotest.RunNative(s.ctx, gotest.Native{Test: test, Open: s.open(b, test, ""), Names: b,
		Time: s.explore.Time, NoLeaks: s.explore.NoLeaks,
		Scenario: func(text string) (native.Process, error) { return s.open(b, test, text)() }}, o)
}

// open returns what starts processes for a test, with a scenario of package check if it has one.
func (s *session) open(b *native.Binary, test, scenario string) func() (native.Process, error) {
	return func() (native.Process, error) {
		return b.Start(test, native.Auto, native.Limits{Memory: s.options().MaxMemory},
			"CPOR_SCENARIO="+scenario)
	}
}

// natively says how a test ran natively; empty if it did not.
func natively(r *gotest.Result) string {
	if r.Runs == 0 {
		return ""
	}
	how := map[native.Mode]string{
		native.Repeat: "in one process", native.Fork: "each in a child of its own",
		native.Fresh: "each in a process of its own",
	}[r.Mode]
	if how != "" {
		how = ", " + how
	}
	return "; ran natively " + human.Plural(r.Runs, "time") + how
}

// replayNative shows the execution of a file that ran natively.
func (s *session) replayNative(w io.Writer, doc *Saved) error {
	pkgs, err := gosrc.Load(s.ctx, []string{doc.Package}, gosrc.Options{
		Dir: s.dir, Tags: tagList(doc.Tags), Flags: doc.GoFlags, Tests: true})
	if err != nil {
		return err
	}
	if len(pkgs) != 1 || len(pkgs[0].Errors) > 0 {
		return fmt.Errorf("package %s cannot be loaded from here; name its directory (-C DIR)",
			doc.Package)
	}
	s.tags = doc.Tags
	b, err := native.Build(s.ctx, s.buildOptions(pkgs[0].Dir, doc.Explore))
	if err != nil {
		return err
	}
	defer b.Close()
	if err := b.NameThreads(doc.Threads); err != nil {
		return fmt.Errorf("the program has changed since: %w", err)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	scenario := strings.Join(doc.Explore.Scenarios, "")
	sys, f, err := gotest.RepeatNative(ctx, gotest.Native{Test: doc.Test,
		Open:  s.open(b, doc.Test, scenario),
		Names: b, Time: doc.Explore.Time, NoLeaks: doc.Explore.NoLeaks,
		Readings: doc.Explore.Readings}, doc.Trace(),
		doc.Failed.Kind)
	if err != nil {
		return fmt.Errorf("%s: the program has changed since, or other flags were given: %w",
			s.replay, err)
	}
	defer sys.Close()
	return s.again(w, doc, sys, f)
}

// how returns how a program is explored.
func (s *session) how(p program) gosrc.Explore {
	if q, ok := p.(*gosrc.Program); ok {
		return q.Explore()
	}
	e := s.explore
	if q, ok := p.(*gotest.NativeSystem); ok {
		e.Readings = q.Readings()
		if q.Scenario() != "" {
			e.Scenarios = []string{q.Scenario()}
		}
	}
	return e
}
