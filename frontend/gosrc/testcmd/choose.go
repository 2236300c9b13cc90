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
	// for the interpreter; nil: it cannot load the package, or is not asked
	compiled *gosrc.Compiled
	native   bool // the native machine goes first
	lacking  bool // there is no native machine
}

// settle is how long the interpreter, where it goes first, may take for a test before the native
// machine gets the rest of the time; settleShare divides the user's time-out.
const (
	settle      = 10 * time.Second
	settleShare = 3
)

// either explores a test with the machine that can.
//
// The interpreter goes first: it needs no build, stores states, and is exact about what it
// refuses. As soon as it leaves a test of a package open (refused, or too large) the native
// machine gets that test, and goes first for the rest of the package, because what the tests of a
// package import and do is alike. A test that the native machine leaves open although the time is
// not over (its executions do not end, or depend on more than their schedule) goes back to the
// interpreter.
func (s *session) either(w *work, test string) (res *gotest.Result, machine string, err error) {
	begin := time.Now()
	used := func() time.Duration { return time.Since(begin) - s.building }
	over := func() bool { return s.ctx.Err() != nil || s.timeout > 0 && used() >= s.timeout }
	keep := func(r *gotest.Result, by string, e error) {
		if res != nil && res.Release != nil {
			res.Release()
		}
		res, machine, err = r, by, e
	}
	refused := w.compiled == nil
	if !refused && !w.native {
		share := settle
		if s.timeout > 0 {
			share = min(share, s.timeout/settleShare)
		}
		r, e := s.interpret(w.compiled, test, 0, share)
		if keep(r, interpreted, e); settled(res, err) || over() {
			return res, machine, err
		}
		refused = err != nil
	}
	if !w.lacking {
		r, e := s.native(w.p, test, used())
		needs, none := new(gotest.NeedsInterpreter), new(noMachine)
		switch {
		case errors.As(e, &none):
			w.lacking = true
			if refused && err != nil {
				err = fmt.Errorf("%w; natively: %w", err, e)
			} else if refused {
				err = e
			}
		case errors.As(e, &needs):
			if res == nil {
				keep(&gotest.Result{Verdict: engine.Incomplete, Reason: needs.Why}, nativeMachine,
					nil)
			}
		default:
			w.native = true
			if e == nil || refused {
				if e != nil && err != nil {
					e = fmt.Errorf("%w; natively: %w", err, e)
				}
				keep(r, nativeMachine, e)
			}
			if settled(r, e) || r != nil && !r.Diverges {
				return res, machine, err
			}
		}
	}
	if refused || over() {
		return res, machine, err
	}
	// With all the time that is left.
	if r, e := s.interpret(w.compiled, test, used(), 0); settled(r, e) || res == nil || err != nil {
		keep(r, interpreted, e)
	}
	return res, machine, err
}

// settled tells whether no other machine has to be asked: there is a verdict, or only states that
// are stored help, as the interpreter does.
func settled(r *gotest.Result, err error) bool {
	switch option := new(engine.OptionError); {
	case err != nil:
		return errors.As(err, &option)
	default:
		return r.Verdict != engine.Incomplete || r.Endless
	}
}

// interpret explores a test, or the main package if it has no name, of which the time used is
// over. A share bounds how long it may take unless it is clear by then that states have to be
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
