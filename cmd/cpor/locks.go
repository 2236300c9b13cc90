package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/composed"
	"cpor/internal/cliflag"
	"cpor/lockset"
	"cpor/system"
)

// lockConfig is what the flags of `cpor run` say about locks.
type lockConfig struct {
	races        lockset.Rule
	initThread   map[string]string
	maxInvisible int
	bounded      bool // -max-invisible was given
	selection    selection

	sys  *lockset.System // what is searched, if a rule is checked
	cuts atomic.Uint64
}

// selection is a value of -select: which of a state's composed transitions are
// explored.
type selection struct {
	name              string // "" is all
	persistent, sleep bool
}

// selections are the values of -select.
var selections = []selection{
	{name: "all"}, {name: "persistent", persistent: true}, {name: "sleep", sleep: true}, {name: "persistent+sleep", persistent: true, sleep: true},
}

// options returns the options of the expander of -por locks.
func (l *lockConfig) options() composed.Options {
	return composed.Options{MaxInvisible: l.maxInvisible, Persistent: l.selection.persistent, Sleep: l.selection.sleep, Cuts: &l.cuts}
}

// locksReduction is -por locks.
var locksReduction = &reduction{
	name:    "locks",
	summary: "one move is a visible transition and the invisible ones that follow it (accesses to data that locks protect, releases); checks that locks do protect the data (-races ld'); keeps every assertion, deadlock and control point",
	factory: func(sys system.System, c *runConfig, report func(error)) search.Factory {
		f, err := composed.Factory(sys, c.locks.options())
		if err != nil {
			panic(err) // search has refused the model
		}
		return f
	},
}

// invisibleFirst is -por invisible-first.
var invisibleFirst = &reduction{
	name:    "invisible-first",
	summary: "the same classes of transitions as locks, but single: an invisible transition is explored alone; for comparison",
	factory: func(sys system.System, c *runConfig, report func(error)) search.Factory {
		f, err := composed.Factory(sys, composed.Options{InvisibleFirst: true, MaxInvisible: c.locks.maxInvisible, Cuts: &c.locks.cuts})
		if err != nil {
			panic(err) // search has refused the model
		}
		return f
	},
}

func init() { reductions = append(reductions, locksReduction, invisibleFirst) }

// usesLocks tells whether a reduction rests on the locking discipline.
func usesLocks(por string) bool { return por == locksReduction.name || por == invisibleFirst.name }

// define defines the flags on l.
func (l *lockConfig) define(f *cliflag.Set) {
	l.initThread = map[string]string{}
	f.Func("races", "the `rule` for races: ld' (a lock protects what several threads write; the default of -por locks), ld (Eraser's, which lets the first thread initialise), hb (happens-before: no synchronisation orders two accesses) or none (the default otherwise). With stored states ld and hb need -por none; with -search stateless every reduction checks every rule", func(s string) (err error) {
		l.races, err = lockset.ParseRule(s)
		return err
	})
	f.Func("init-thread", "`VAR=THREAD` exempts the first access to each location of a variable, which must be that thread's, from -races ld' or ld; may be repeated", func(s string) error {
		v, t, ok := strings.Cut(s, "=")
		if !ok || v == "" || t == "" {
			return errors.New("want VAR=THREAD, such as -init-thread table=Main[0]")
		}
		l.initThread[v] = t
		return nil
	})
	f.IntVar(&l.maxInvisible, "max-invisible", 0, "with -por locks, report the search as incomplete if a thread takes more than this `number` of invisible transitions in a row; by default a move of more than 10,000 is cut in two")
	f.Func("select", "with -por locks, `which` of a state's moves are explored: all (the default), persistent (a persistent set, by Stoller's algorithm 2-LD), sleep (sleep sets) or persistent+sleep; none of them loses an assertion, a deadlock or a control point", func(s string) error {
		for _, x := range selections {
			if x.name == s {
				l.selection = x
				return nil
			}
		}
		return errors.New("want all, persistent, sleep or persistent+sleep")
	})
	f.Group("Locks and races:", "races", "init-thread", "max-invisible", "select")
}

// check says what is wrong with the flags, and sets the defaults.
func (l *lockConfig) check(f *cliflag.Set, por string) error {
	locks := usesLocks(por)
	if locks && !f.Given("races") {
		l.races = lockset.LDPrime
	}
	l.bounded = f.Given("max-invisible")
	switch {
	case locks && (l.races == lockset.LD || l.races == lockset.HB):
		return fmt.Errorf("-races %v needs every interleaving, because it depends on the order of the accesses: -por %s checks ld'; -por none checks %v, and so does -search stateless with every reduction", l.races, por, l.races)
	case !locks && por != "none" && l.races != lockset.None:
		return fmt.Errorf("-races %v cannot be checked with -por %s, which leaves out the accesses that it looks for: use -por none, or -search stateless, or -por locks for ld'", l.races, por)
	case l.bounded && locks && l.maxInvisible < 1:
		return fmt.Errorf("-max-invisible %d: the number must be above 0", l.maxInvisible)
	case l.races != lockset.None && f.Lookup("validate").Value.String() == "true":
		return fmt.Errorf("-validate runs transitions on pieces of states, to which the memory of -races %v does not belong: use -races none with it", l.races)
	case locks || por == "none":
		return l.checkInitThread()
	}
	return nil
}

// checkInitThread refuses -init-thread where no rule knows it.
func (l *lockConfig) checkInitThread() error {
	if len(l.initThread) > 0 && l.races != lockset.LDPrime && l.races != lockset.LD {
		return errors.New("-init-thread means nothing without -races ld' or ld")
	}
	return nil
}

// search searches a system, with races checked if they are to be. It returns the
// system that knows the traces. A refusal is the user's mistake.
func (c *runConfig) search(ctx context.Context, sys system.System, report func(error), o search.Options) (system.System, *search.Result, error) {
	l := &c.locks
	factory := func(sys system.System) (search.Factory, error) {
		if usesLocks(c.reduction.name) {
			if _, err := composed.Factory(sys, l.options()); err != nil {
				return nil, &refusal{err}
			}
		}
		l.cuts.Store(0)
		return c.reduction.factory(sys, c, report), nil
	}
	if l.races == lockset.None {
		f, err := factory(sys)
		if err != nil {
			return nil, nil, err
		}
		res, err := search.Run(ctx, sys, f, o)
		return sys, res, err
	}
	ro := lockset.Options{Rule: l.races, InitThread: l.initThread, Dependences: l.selection.persistent || l.selection.sleep}
	if _, err := lockset.New(sys, ro); err != nil {
		return nil, nil, &refusal{err}
	}
	wrapped, res, err := lockset.Run(ctx, sys, ro, factory, o)
	if wrapped == nil {
		return nil, res, err
	}
	if ro.Dependences {
		// People are shown what the model accesses, no more.
		ro.Dependences = false
		plain, perr := lockset.New(sys, ro)
		wrapped, err = plain, errors.Join(err, perr)
	}
	l.sys = wrapped
	return wrapped, res, err
}

// refusal is a model, or a flag about it, that cannot be searched as asked.
type refusal struct{ error }

// explain completes the messages of what broke a rule.
func (l *lockConfig) explain(vs []engine.Finding) {
	for _, v := range vs {
		if (v.Kind == lockset.Discipline || v.Kind == lockset.Race) && l.sys != nil && v.Trace != nil {
			v.Violation.Message = lockset.Explain(l.sys, v.Trace)
			v.Trace.Violation.Message = v.Violation.Message
		}
	}
}

// wrapStateless returns the system that a search without stored states checks
// the rule on, and the one to show its traces with, whose steps access what they
// really do. An error is the user's mistake.
func (l *lockConfig) wrapStateless(sys system.System) (searched, shown system.System, err error) {
	if l.races == lockset.None {
		return sys, sys, nil
	}
	o := lockset.Options{Rule: l.races, InitThread: l.initThread}
	if l.sys, err = lockset.New(sys, o); err != nil {
		return nil, nil, err
	}
	o.Dependences = true
	if searched, err = lockset.New(sys, o); err != nil {
		return nil, nil, err
	}
	return searched, l.sys, nil
}

// rests names what a search with a reduction rests on locks by; "" if it does not.
func rests(por string) string {
	if usesLocks(por) {
		return "-por " + por
	}
	return ""
}

// judge completes the messages, and corrects the verdict of a search that ended
// with everything covered under an assumption: rests names the flag that makes
// it rest on the locking discipline, "" if it does not.
func (l *lockConfig) judge(res *search.Result, rests string) {
	l.explain(res.Violations)
	broken := slices.ContainsFunc(res.Violations, func(v engine.Finding) bool { return v.Kind == lockset.Discipline })
	if rests == "" || !res.Exhaustive {
		return
	}
	switch {
	case l.races == lockset.None:
		res.Reason = "the locking discipline, on which " + rests + " rests, was assumed and not checked (-races none)"
	case broken:
		res.Reason = "the locking discipline is violated, so " + rests + " may have missed other violations"
	case l.bounded && l.cuts.Load() > 0:
		res.Reason = fmt.Sprintf("possible violation of BoundedInvis: a thread can take more than %d invisible transitions in a row (-max-invisible)", l.maxInvisible)
	default:
		return
	}
	res.Exhaustive = false
	if res.Verdict == engine.Pass {
		res.Verdict = engine.Incomplete
	}
}
