package gotest

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cpor/engine"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/machine"
	"cpor/frontend/gosrc/scenario"
	"cpor/internal/human"
)

// scenarios explores what check.Linearizable has described, small scenarios first. It adds to the
// result of the test without scenarios.
func (x *exploring) scenarios(described []string) (*Result, error) {
	merged := x.merged
	for i, text := range described {
		d, err := scenario.Parse(text)
		if err != nil {
			return nil, err
		}
		d.Seed = cmp.Or(x.o.Seed, d.Seed)
		x.merged, x.many = merged, false
		if i == 0 && d.Progress != scenario.AnyProgress {
			x.total.Executions, x.total.Samples = 0, 0 // they made no call
		}
		sizes := d.Sizes()
		if d.Only {
			sizes = sizes[:1]
		}
		for _, s := range sizes {
			set := scenario.Set{Texts: []string{fmt.Sprintf("%d:", d.Plan)}, Total: big.NewInt(1)}
			if !d.Only {
				set = x.drawn(d, s)
			}
			if on, err := x.explore(set, d); !on || err != nil {
				if err == nil {
					err = x.shrink(d)
				}
				if f := x.total.Failure; f != nil && f.Kind == Deadlock &&
					d.Progress == scenario.AnyProgress {
					f.Output += mayWait
				}
				return x.total, err
			}
		}
		x.bound(d.Progress)
	}
	x.total.Scenarios = x.covered.String()
	x.total.Duration = time.Since(x.start)
	return x.total, nil
}

// mayWait is what to do about a deadlock that is none.
const mayWait = "if a call may wait forever, say so: check.Op(...).MayWait()\n"

// bound adds within how many steps calls end to the result.
func (x *exploring) bound(is scenario.Progress) {
	steps := human.Plural(uint64(x.total.steps), "step")
	switch is {
	case scenario.LockFree:
		x.total.Bound += "; whoever is suspended, a call of the others ends within " + steps
	case scenario.ObstructionFree:
		x.total.Bound += "; alone, a goroutine ends its call within " + steps
	}
	x.total.steps = 0
}

// exploring is an exploration of many scenarios.
type exploring struct {
	ctx     context.Context
	o       Options
	start   time.Time
	total   *Result
	covered coverage
	run     explorer
	// stored explores scenarios with stored states; nil: that cannot be.
	stored explorer
	reach  reacher
	slow   bool // a scenario has taken long without
	// merged explores scenarios with stored states that do not contain the histories; nil: that
	// cannot be, for these.
	merged explorer
	many   bool // a scenario has many executions
}

// reacher returns what one execution of each scenario reaches; nil: that is not known.
type reacher func(ctx context.Context, texts []string) []map[reached]bool

// explorer explores some scenarios of a description. An incomplete result says how many of them
// were covered before it stopped.
type explorer func(ctx context.Context, d scenario.Description, texts []string, o Options) (*Result,
	error)

// explore explores scenarios; on reports whether all have passed. Several together are searched
// without stored states until one has many executions. Then those that are left are searched with
// stored states that contain what matters of the histories: these are the fewest states, but a
// scenario of few executions takes longer. If histories must be kept, they are searched without
// stored states until one takes long, and then with them. A scenario that is not covered then, for
// instance because its executions need not end, is explored alone, like any other test.
func (x *exploring) explore(set scenario.Set, d scenario.Description) (on bool, err error) {
	for n := 0; n < len(set.Texts); {
		several := len(set.Texts)-n > 1
		first, alone := x.suited(several, d)
		o := x.left()
		if x.merged != nil && !x.many {
			o.few = manyExecutions
		}
		r, err := first(x.ctx, d, set.Texts[n:], o)
		if err != nil {
			return false, err
		}
		x.total = sum(x.total, r)
		if r.Verdict == engine.Pass {
			break
		}
		n += r.done
		if r.Verdict == engine.Incomplete && (several || alone) && x.changes(d, r) {
			continue
		}
		if r.Verdict == engine.Incomplete && (several || alone) && x.ctx.Err() == nil &&
			(x.o.Timeout == 0 || x.left().Timeout > quickly) {
			if r, err = x.run(x.ctx, d, set.Texts[n:n+1], x.left()); err != nil {
				return false, err
			}
			x.total = sum(x.total, r)
		}
		if r.Verdict == engine.Pass {
			n++
			continue
		}
		if r.Verdict == engine.Incomplete && !d.Only {
			x.total.Reason = fmt.Sprintf("in scenario %d of %d of %s: %s", n+1, len(set.Texts),
				set.Size, r.Reason)
		}
		x.total.Scenarios = x.covered.String()
		x.total.Duration = time.Since(x.start)
		return false, nil
	}
	x.covered.add(set, d)
	return true, nil
}

// failing returns the scenario that has failed; empty if none has.
func (x *exploring) failing() string {
	switch t := x.total; {
	case t.Failure == nil:
	case t.Native != nil:
		return t.Native.Scenario()
	case t.Program != nil && len(t.Program.Explore().Scenarios) == 1:
		return t.Program.Explore().Scenarios[0]
	}
	return ""
}

// suited is the search for several scenarios, or one. Other reports whether it is another one than
// that of any other test.
func (x *exploring) suited(several bool, d scenario.Description) (search explorer, other bool) {
	switch {
	case d.Progress != scenario.AnyProgress:
	case x.merged != nil && (x.many || !several):
		return x.merged, true
	case x.slow && several:
		return x.stored, true
	}
	return x.run, false
}

// changes reports whether another search is to continue: a scenario has many executions, histories
// must be kept, or a scenario has taken long.
func (x *exploring) changes(d scenario.Description, r *Result) bool {
	switch {
	case d.Progress != scenario.AnyProgress:
		return false // its search stores states, and asks more of them
	case x.merged != nil && !x.many:
		x.many = x.ctx.Err() == nil
		if r.unmerged {
			x.merged = nil
		}
		return x.many
	case x.merged != nil:
		if r.unmerged {
			x.merged = nil
		}
		return r.unmerged
	case x.slow: // so have stored states
		x.slow, x.stored = false, nil
		return false
	}
	x.slow = x.stored != nil && x.ctx.Err() == nil
	return x.slow
}

// shrink removes calls from a failing scenario, and makes their arguments simpler, while it
// still fails in the same way. A smaller one that takes long counts as one that does not fail.
func (x *exploring) shrink(d scenario.Description) error {
	for found := true; found && x.failing() != ""; {
		found = false
		for _, text := range d.Smaller(x.failing()) {
			o := x.left()
			o.Engine = DPOR
			if o.Timeout == 0 || o.Timeout > quickly {
				o.Timeout = quickly
			}
			r, err := x.run(x.ctx, d, []string{text}, o)
			if err != nil {
				return err
			}
			if r.Failure != nil && r.Failure.Kind == x.total.Failure.Kind {
				r.Scenarios = x.total.Scenarios
				x.total, found = sum(x.total, r), true
				break
			}
			x.total = sum(r, x.total)
		}
	}
	x.total.Duration = time.Since(x.start)
	return nil
}

// left are the options for what is left of the time.
func (x *exploring) left() Options {
	o := x.o
	if o.Timeout > 0 {
		o.asked = cmp.Or(o.asked, o.Timeout)
		o.Timeout = max(time.Millisecond, x.o.Timeout-time.Since(x.start))
		o.Start = time.Time{}
	}
	return o
}

// sum is the result of two explorations, the first of which has passed.
func sum(a, b *Result) *Result {
	if a.Release != nil && a != b {
		a.Release()
		a.Release = nil
	}
	b.Executions += a.Executions
	b.Samples += a.Samples
	b.States += a.States
	b.Transitions += a.Transitions
	b.Runs += a.Runs
	b.Bound, b.steps = a.Bound, max(a.steps, b.steps)
	b.Tests = union(a.Tests, b.Tests)
	b.Parallel = a.Parallel || b.Parallel
	if b.Slow == nil {
		b.Slow, b.SlowProgram = a.Slow, a.SlowProgram
	}
	return b
}

// coverage says which scenarios were covered.
type coverage struct {
	n     int
	whole []string // sizes of which all were
	drawn []string
}

func (c *coverage) add(set scenario.Set, d scenario.Description) {
	c.n += len(set.Texts)
	switch {
	case d.Only:
	case set.All():
		c.whole = append(c.whole, set.Size.String())
	default:
		c.drawn = append(c.drawn, fmt.Sprintf("%s of %s of %s (seed %d)",
			human.Count(uint64(len(set.Texts))), count(set), set.Size, d.Seed))
	}
}

func count(set scenario.Set) string {
	if set.Total.IsUint64() {
		return human.Count(set.Total.Uint64())
	}
	return set.Total.String()
}

func (c *coverage) String() string {
	if c.n == 0 {
		return ""
	}
	var parts []string
	if len(c.whole) > 0 {
		parts = append(parts, "all of "+strings.Join(c.whole, ", "))
	}
	parts = append(parts, c.drawn...)
	text := human.Plural(uint64(c.n), "scenario")
	if len(parts) > 0 {
		text += ", " + strings.Join(parts, ", ")
	}
	return text
}

// withScenarios explores a program and then, if package check asks for it, scenarios.
func withScenarios(ctx context.Context, p *gosrc.Program, o Options,
	run func(context.Context, *gosrc.Program, Options) (*Result, error)) (*Result, error) {
	start := cmp.Or(o.Start, time.Now())
	res, err := run(ctx, p, o)
	described := p.Described()
	if err != nil || res.Verdict != engine.Pass || len(described) == 0 ||
		len(p.Explore().Scenarios) > 0 {
		return res, err
	}
	x := explores(ctx, p, o, run)
	x.start, x.total, x.reach = start, res, reachOf(p)
	res, err = x.scenarios(described)
	switch {
	case res == nil || res.Failure == nil:
		p.SetScenarios(nil)
	case res.Program != nil:
		texts := res.Program.Explore().Scenarios // shrink has tried others
		p.SetScenarios(texts)
		res.Program.SetScenarios(texts)
	}
	return res, err
}

// Scenarios explores some scenarios of check.Linearizable, which are written as package scenario
// does it, until one does not pass. Run generates them, and makes the one that fails smaller.
func Scenarios(ctx context.Context, p *gosrc.Program, texts []string, o Options) (*Result, error) {
	x := explores(ctx, p, o, judged)
	x.start, x.total = cmp.Or(o.Start, time.Now()), &Result{Verdict: engine.Pass}
	_, err := x.explore(scenario.Set{Texts: texts, Total: big.NewInt(int64(len(texts)))},
		scenario.Description{})
	return x.total, err
}

// explores returns what explores scenarios of a program; run explores a program.
func explores(ctx context.Context, p *gosrc.Program, o Options,
	run func(context.Context, *gosrc.Program, Options) (*Result, error)) *exploring {
	alone := sync.OnceValues(p.StatesAlone)
	stored := func(merge bool) explorer {
		return func(ctx context.Context, d scenario.Description, texts []string, o Options) (
			*Result, error) {
			p, err := alone()
			if err != nil {
				return nil, err
			}
			o.merge = merge
			return advances(ctx, p, texts, d, o)
		}
	}
	auto := cmp.Or(o.Engine, Auto) == Auto
	x := &exploring{ctx: ctx, o: o}
	if auto {
		x.stored, x.merged = stored(false), stored(true)
	}
	x.run = func(ctx context.Context, d scenario.Description, texts []string, o Options) (*Result,
		error) {
		o.Share = 0 // other machines have nothing to add that is worth the time
		switch {
		case d.Progress != scenario.AnyProgress, o.Engine == Full:
			return stored(false)(ctx, d, texts, o)
		case o.Engine == Cartesian:
			return oneByOne(texts, o, func(text string, o Options) (*Result, error) {
				return run(ctx, p.WithScenarios([]string{text}), o)
			})
		case auto && len(texts) > 1:
			o.Engine = DPOR
		}
		return run(ctx, p.WithScenarios(texts), o)
	}
	return x
}

// oneByOne explores scenarios, each by itself, until one does not pass.
func oneByOne(texts []string, o Options, run func(text string, o Options) (*Result, error)) (
	total *Result, err error) {
	begin, all := time.Now(), o.Timeout
	for i, text := range texts {
		if all > 0 {
			o.Timeout = max(time.Millisecond, all-time.Since(begin))
		}
		r, err := run(text, o)
		if err != nil {
			return nil, err
		}
		if total != nil {
			r = sum(total, r)
		}
		total, r.done = r, i
		if r.Verdict != engine.Pass {
			return r, nil
		}
	}
	return total, nil
}

// quickly is how long a scenario may take among others.
const quickly = 2 * time.Second

// manyExecutions is how many executions a scenario may have among others before what matters of
// histories is stored: they take about as long as the states of a larger scenario.
const manyExecutions = 100

// watched ends a search of several scenarios if one takes too long, or has more than few
// executions (0: any number). Ended is called at the end of each execution. Done stops watching and
// returns how many were covered.
func watched(ctx context.Context, few int) (_ context.Context, ended func(*machine.Machine),
	done func() int) {
	ctx, cancel := context.WithCancel(ctx)
	var at, executions atomic.Int64
	timer := time.AfterFunc(quickly, cancel)
	return ctx, func(m *machine.Machine) {
			if n := int64(m.Scenario()); n > at.Load() {
				at.Store(n)
				executions.Store(0)
				timer.Reset(quickly)
			}
			if few > 0 && executions.Add(1) > int64(few) {
				cancel()
			}
		}, func() int {
			timer.Stop()
			cancel()
			return int(at.Load())
		}
}
