// Package check runs a Go test under every schedule from within go test:
//
//	func TestPool(t *testing.T) {
//		check.Every(t, func(t *testing.T) {
//			p := NewPool(2)
//			...
//		})
//	}
//
// go test does not run the function natively. [Every] reads the sources of the test's
// package, interprets the whole test function, and explores its schedules as the command
// `cpor test` does; there, Every only calls its argument. So code of the test outside of
// Every is explored, too, and everything it uses must be supported by cpor.
//
// [Linearizable] generates such tests for a type, from its operations alone, and checks that
// its calls are as if they happened one after the other:
//
//	func TestCache(t *testing.T) {
//		check.Linearizable(t, NewCache,
//			check.Op("Get", (*Cache).Get),
//			check.Op("Put", (*Cache).Put))
//	}
//
// [LockFree] and [ObstructionFree] check that calls end although other goroutines have stopped.
//
// The sources must be where they were when the test was compiled, as they are when go
// test runs it.
package check

import (
	"cmp"
	"errors"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cpor/engine"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/gotest"
	"cpor/frontend/gosrc/testcmd"
	"cpor/trace"
)

// Every explores the test function that calls it under every schedule that matters.
// If some schedule fails, t fails and its log shows the schedule. It also fails if not
// everything was covered, or if the test does something that cannot be explored.
func Every(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	Config{}.every(t, "check.Every", 2, nil)
}

// Every is the function [Every] with other limits.
func (c Config) Every(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	c.every(t, "check.Every", 2, nil)
}

// key names an exploration, so that a test that calls Every several times is
// explored once.
type key struct {
	dir, test string
	config    Config
}

type answer struct {
	res  *gotest.Result
	text string // of the failure
	err  error
}

var (
	mu      sync.Mutex
	answers = map[key]answer{}
)

// every explores a test for the function called what, which the caller skip above this one has
// called. If the test cannot be explored, instead says what else is known.
func (c Config) every(t *testing.T, what string, skip int, instead func(why error)) {
	t.Helper()
	a := answer{err: errors.New("the test's source files cannot be found; do not use -trimpath")}
	if _, file, _, ok := runtime.Caller(skip); ok && filepath.IsAbs(file) {
		name, _, _ := strings.Cut(t.Name(), "/")
		a = c.answer(t, key{filepath.Dir(file), name, c})
	}
	switch res := a.res; {
	case a.err != nil:
		if instead != nil {
			instead(a.err)
		}
		if no := new(gosrc.Unsupported); errors.As(a.err, &no) {
			t.Fatalf("%s: %v\n\t%s", what, a.err, gosrc.Natively)
		}
		t.Fatalf("%s: %v", what, a.err)
	case res.Failure != nil:
		t.Fatal(a.text)
	case res.Verdict != engine.Pass:
		t.Logf("incomplete: %s, no failure; %s%s", testcmd.Explored(res), res.Reason,
			testcmd.Covered(res))
		if !c.Incomplete {
			t.FailNow()
		}
	default:
		t.Logf("every schedule%s: %s%s", testcmd.OfScenarios(res), testcmd.Explored(res),
			res.Bound)
	}
}

// answer explores a test, if that was not done before.
func (c Config) answer(t *testing.T, k key) answer {
	mu.Lock()
	defer mu.Unlock()
	a, ok := answers[k]
	if !ok {
		a = c.explore(t, k)
		answers[k] = a
	}
	return a
}

func (c Config) explore(t *testing.T, k key) (a answer) {
	p, err := c.program(t, k)
	if err != nil {
		return answer{err: err}
	}
	o := gotest.Options{Timeout: c.Timeout, Workers: c.Workers, MaxMemory: c.MaxMemory}
	if o.Timeout == 0 || o.Timeout == manyTests {
		o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
		if d, ok := t.Deadline(); ok {
			o.Timeout = min(o.Timeout, max(time.Second, time.Until(d)*9/10))
		}
	}
	a.res, a.err = gotest.Run(t.Context(), p, o)
	if a.err == nil && a.res.Failure != nil {
		f := a.res.Failure
		testcmd.AddTest(f, k.dir, k.test)
		a.text = testcmd.Headline(f) + "\n" +
			testcmd.Describe(p, f, trace.TableOptions{Width: 100}, nil)
	}
	return a
}

func (c Config) program(t *testing.T, k key) (*gosrc.Program, error) {
	pkgs, err := gosrc.Load(t.Context(), []string{"."}, gosrc.Options{Dir: k.dir, Tags: tags(),
		Tests: true})
	if err != nil {
		return nil, err
	}
	if len(pkgs) != 1 {
		return nil, errors.New("there is no package in " + k.dir)
	}
	if errs := pkgs[0].Errors; len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	compiled, err := pkgs[0].Compile()
	if err != nil {
		return nil, err
	}
	e := gosrc.Explore{NoLeaks: c.Leaks, Halted: new(atomic.Bool), MaxMemory: c.MaxMemory}
	if c.TimeIdle {
		e.Time = gosrc.IdleTime
	}
	return compiled.Test(k.test, e)
}

// tags returns the build tags that the test was compiled with.
func tags() []string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "-tags" {
				return strings.Split(s.Value, ",")
			}
		}
	}
	return nil
}
