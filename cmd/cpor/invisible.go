package main

import (
	"errors"
	"fmt"

	"cpor/engine/search"
	"cpor/engine/stateless"
	"cpor/internal/cliflag"
	"cpor/lockset"
)

// The values of -invisible: what a state-less search makes of the transitions
// that only their thread can see.
const (
	invisibleExplored = "first"
	invisibleComposed = "composed"
)

// defineInvisible defines -invisible.
func (c *statelessConfig) defineInvisible(f *cliflag.Set) {
	f.Func("invisible", "with -search stateless: `how` to use that locks protect data, as -por locks does with stored states: first explores invisible transitions at once (with -por persistent+sleep, the default then, persistent, sleep or none), composed joins them with the visible one before (with any reduction); both check -races ld'", func(s string) error {
		if s != invisibleExplored && s != invisibleComposed {
			return errors.New("want first or composed")
		}
		c.invisible = s
		return nil
	})
}

// checkInvisible checks -invisible together with the reduction, the bounds and
// -races, and sets the defaults.
func (c *statelessConfig) checkInvisible(f *cliflag.Set, l *lockConfig) error {
	if c.invisible == "" {
		return nil
	}
	if c.invisible == invisibleExplored && !f.Given("por") {
		c.reduction = stateless.PersistentSleep
	}
	if !f.Given("races") {
		l.races = lockset.LDPrime
	}
	switch {
	case c.invisible == invisibleExplored && c.reduction == stateless.DPOR:
		return fmt.Errorf("-invisible first and -por %v do not go together: use -invisible composed, or -por persistent+sleep", c.reduction)
	case c.invisible == invisibleExplored && c.bounded():
		return errors.New("-invisible first may miss violations within a bound on the depth: leave -max-depth and -deepen out, or use -invisible composed")
	case l.races == lockset.LD || l.races == lockset.HB:
		return fmt.Errorf("-races %v cannot be checked with -invisible %s, which rests on ld': leave one of them out", l.races, c.invisible)
	}
	return nil
}

// judgeLocks completes the messages of a state-less search, and corrects its
// verdict if it rests on the locking discipline.
func (c *statelessConfig) judgeLocks(res *stateless.Result, l *lockConfig) {
	rests := ""
	if c.invisible != "" {
		rests = "-invisible " + c.invisible
	}
	r := &search.Result{Result: res.Result}
	l.judge(r, rests)
	res.Verdict, res.Exhaustive, res.Reason = r.Verdict, r.Exhaustive, r.Reason
}
