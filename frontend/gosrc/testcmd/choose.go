package testcmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cpor/engine"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/gotest"
	"cpor/frontend/gosrc/native"
)

// work is a package whose tests are explored.
type work struct {
	p *gosrc.Package
	// for the interpreter; nil: it cannot load the package, or is not used
	compiled *gosrc.Compiled
	native   bool // the native machine goes first
	lacking  bool // there is no native machine
}

// settle is how long the interpreter may take for a test, where it goes first, before the native
// machine gets the remaining time; settleShare divides the user's time-out.
const (
	settle      = 10 * time.Second
	settleShare = 3
)

// either explores a test with the machine that can.
//
// The interpreter goes first: it needs no build, stores states, and is exact about what it
// refuses. As soon as it leaves a test of a package open (refused, or too large), the native
// machine gets that test, and goes first for the rest of the package, because the tests of a
// package are alike. A test that the native machine leaves open although the time is not over
// (it depends on more than its schedule, or its executions do not end, which leaves half of the
// time) goes back to the interpreter.
func (s *session) either(w *work, test string) (res *gotest.Result, machine string, err error) {
	a := &attempts{session: s, w: w, test: test, begin: time.Now(), refused: w.compiled == nil}
	if !a.interpretFirst() && !a.natively() && !a.refused && !a.over() {
		// With all the remaining time.
		r, e := s.interpret(w.compiled, test, a.used(), 0)
		if settled(r, e) || a.res == nil || a.err != nil {
			a.keep(r, interpreted, e)
		}
	}
	return a.res, a.machine, a.err
}

// attempts are the explorations of a test by both machines.
type attempts struct {
	*session
	w       *work
	test    string
	begin   time.Time
	refused bool // by the interpreter
	// What is known of the test, and from which machine.
	res     *gotest.Result
	machine string
	err     error
}

func (a *attempts) used() time.Duration { return time.Since(a.begin) - a.building }

func (a *attempts) over() bool {
	return a.ctx.Err() != nil || a.timeout > 0 && a.used() >= a.timeout
}

func (a *attempts) keep(r *gotest.Result, by string, err error) {
	if a.res != nil && a.res.Release != nil {
		a.res.Release()
	}
	a.res, a.machine, a.err = r, by, err
}

// interpretFirst explores with the interpreter for a while, unless another test of the package has
// needed the native machine. It returns true if that settles the test or the time is over.
func (a *attempts) interpretFirst() bool {
	if a.refused || a.w.native {
		return false
	}
	share := settle
	if a.timeout > 0 {
		share = min(share, a.timeout/settleShare)
	}
	a.keep(a.interpretedFor(share))
	if settled(a.res, a.err) || a.over() {
		return true
	}
	a.refused = a.err != nil
	return false
}

func (a *attempts) interpretedFor(share time.Duration) (*gotest.Result, string, error) {
	r, err := a.interpret(a.w.compiled, a.test, 0, share)
	return r, interpreted, err
}

// natively explores with the native machine. It returns true if the interpreter could add nothing.
func (a *attempts) natively() bool {
	if a.w.lacking {
		return false
	}
	r, err := a.native(a.w.p, a.test, a.used(), !a.refused)
	needs, none := new(gotest.NeedsInterpreter), new(noMachine)
	switch {
	case errors.As(err, &none):
		a.w.lacking = true
		if a.refused {
			a.err = alsoNative(a.err, err)
		}
		return false
	case errors.As(err, &needs):
		if a.res == nil {
			r = &gotest.Result{Verdict: engine.Incomplete, Reason: needs.Why}
			a.keep(r, nativeMachine, nil)
		}
		return false
	}
	if err == nil && !a.refused && a.res != nil && skips(r) {
		return false // the interpreter, which has another environment, has run it
	}
	a.w.native = true
	if err == nil || a.refused {
		err = alsoNative(a.err, err)
		a.keep(r, nativeMachine, err)
	}
	return settled(r, err) || r != nil && !r.Diverges && !r.Ticks
}

// skips reports whether the test skips itself in every execution.
func skips(r *gotest.Result) bool {
	return r.Verdict == engine.Pass && len(r.Tests) > 0 && r.Tests[0].Skipped && !r.Tests[0].Ended
}

// alsoNative returns the error of the native machine, with that of the interpreter before it.
func alsoNative(interpreted, native error) error {
	if interpreted == nil || native == nil {
		return native
	}
	return fmt.Errorf("%w; natively: %w", interpreted, native)
}

// settled reports whether the other machine is not needed: there is a verdict, or only stored
// states help, which the interpreter has.
func settled(r *gotest.Result, err error) bool {
	switch option := new(engine.OptionError); {
	case err != nil:
		return errors.As(err, &option)
	default:
		return r.Verdict != engine.Incomplete || r.Endless
	}
}

// interpret explores a test, or the main package if it has no name, which has already used some
// time. A share bounds how long it may take, unless it is clear by then that states must be
// stored.
func (s *session) interpret(c *gosrc.Compiled, test string, used, share time.Duration) (
	*gotest.Result, error,
) {
	o := s.options()
	o.Start, o.Share = time.Now().Add(-used), share
	ctx, cancel := s.ctx, context.CancelFunc(func() {})
	if share > 0 {
		ctx, cancel = context.WithTimeout(ctx, share)
	} else if s.timeout > 0 {
		ctx, cancel = context.WithDeadline(ctx, o.Start.Add(s.timeout))
	}
	defer cancel()
	prog, over, err := s.prepare(ctx, c, test)
	if over != "" {
		return &gotest.Result{Verdict: engine.Incomplete,
			Reason: over + " in the initialization of the program"}, nil
	}
	if err != nil {
		return nil, err
	}
	return gotest.Run(s.ctx, prog, o)
}

// noMachine is the error of a package that the native machine cannot build.
type noMachine struct{ err error }

func (n *noMachine) Error() string {
	if u := new(native.Unsupported); errors.As(n.err, &u) {
		return n.err.Error()
	}
	return "it cannot be built for the native machine: " + n.err.Error()
}

func (n *noMachine) Unwrap() error { return n.err }
