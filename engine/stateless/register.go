package stateless

import (
	"context"
	"errors"
	"fmt"

	"cpor/engine"
	"cpor/engine/lockset"
	"cpor/engine/search/composed"
	"cpor/internal/human"
)

// Mode is the name of the searches without stored states.
const Mode = "stateless"

const flagGroup = "Search without stored states:"

// The values of -invisible: how the search treats transitions that only their thread can see.
const (
	invisibleFirst    = "first"
	invisibleComposed = "composed"
)

var (
	invisible = &engine.FlagOf[string]{
		FlagInfo: engine.FlagInfo{Name: "invisible", Group: flagGroup,
			Usage: "with -search stateless: `how` to exploit that locks protect data, as -por " +
				"locks does with stored states: first explores invisible transitions at once " +
				"(with -por persistent+sleep, the default then, persistent, sleep or none), " +
				"composed joins them with the preceding visible one (with any reduction); both " +
				"check -races ld'"},
		Parse: func(_, s string) (string, error) {
			if s != invisibleFirst && s != invisibleComposed {
				return "", errors.New("want first or composed")
			}
			return s, nil
		},
	}
	deepen = &engine.FlagOf[bool]{
		FlagInfo: engine.FlagInfo{Name: "deepen", Bool: true, Group: flagGroup,
			Usage: "with -search stateless: bound the length of executions, first by 8, and " +
				"double the bound (up to -max-depth) until no execution is cut off"},
		Parse: engine.ParseBool,
	}
	undo = &engine.FlagOf[Undo]{
		FlagInfo: engine.FlagInfo{Name: "undo", Group: flagGroup,
			Usage: "with -search stateless: `how` to undo transitions: log (the default), or " +
				"replay from the initial state", Try: []string{"replay"}},
		Parse: func(_ Undo, s string) (Undo, error) { return ParseUndo(s) },
	}
)

func init() {
	engine.RegisterMode(engine.Mode{
		Name: Mode, Asked: "-search " + Mode, Rank: 2,
		Summary: "runs one execution after another, for acyclic models",
		Of:      "a search without stored states", Lacks: "needs stored states",
		Without: "stores no states",
		Label:   "search", Prefix: "stateless, ",
		Choose: func(v *engine.Values, o *engine.Options) string {
			switch {
			case invisible.Of(v) == invisibleFirst:
				return PersistentSleep.String()
			case bounded(v, o):
				return Sleep.String()
			}
			return ""
		},
	})
	for i, r := range []struct {
		reduction Reduction
		summary   string
		preserves engine.Preserved
	}{
		{DPOR, "with -search stateless, the default there: optimal dynamic reduction, one " +
			"execution of each Mazurkiewicz trace; like all of these, preserves every assertion, " +
			"invariant and deadlock; not with a bound on the depth", engine.Traces},
		{None, "with -search stateless: every execution",
			engine.Locals | engine.States | engine.Traces},
		{Sleep, "with -search stateless: sleep sets",
			engine.Locals | engine.States | engine.Traces},
		{Persistent, "with -search stateless: persistent sets", 0},
		{PersistentSleep, "with -search stateless: both", 0},
	} {
		e := engine.Entry{
			Name: r.reduction.String(), Mode: Mode, Rank: i, Default: i == 0, Summary: r.summary,
			Preserves: engine.Violations | engine.Deadlocks | engine.Steps | r.preserves,
			Reduces:   r.reduction != None,
			Bounds:    r.reduction == Persistent || r.reduction == PersistentSleep,
			Needs:     []engine.Need{engine.FiniteExecutions},
			Counts:    engine.CountExecutions | engine.CountTransitions | engine.CountDepth,
			Takes: engine.TakesAll | engine.TakesDeadlocks | engine.TakesMaxTransitions |
				engine.TakesMaxDepth | engine.TakesCheckpoint,
			Flags: []engine.Flag{lockset.Races, lockset.InitThread, invisible, deepen, undo},
			Check: r.reduction.check,
			Run:   r.reduction.run,
		}
		if r.reduction == None || r.reduction == DPOR {
			e.Stable = engine.CountExecutions
		}
		engine.Register(e)
	}
}

// bounded reports whether the length of executions is bounded.
func bounded(v *engine.Values, o *engine.Options) bool { return o.MaxDepth != 0 || deepen.Of(v) }

// check is Entry.Check.
func (r Reduction) check(v *engine.Values, o *engine.Options) error {
	how := invisible.Of(v)
	if how != "" && !v.Given("races") {
		lockset.Races.Put(v, lockset.LDPrime)
	}
	rule := lockset.Races.Of(v)
	switch {
	case how == invisibleFirst && r == DPOR:
		return fmt.Errorf("-invisible first and -por %v cannot be combined: use -invisible "+
			"composed, or -por persistent+sleep", r)
	case how == invisibleFirst && bounded(v, o):
		return errors.New("-invisible first may miss violations within a bound on the depth: " +
			"remove -max-depth and -deepen, or use -invisible composed")
	case how != "" && (rule == lockset.LD || rule == lockset.HB):
		return fmt.Errorf("-races %v cannot be checked with -invisible %s, which rests on ld': "+
			"remove one of them", rule, how)
	case bounded(v, o) && !r.Bounded():
		return fmt.Errorf("-por %v may miss violations within a bound on the depth; with "+
			"-max-depth or -deepen use -por sleep (the default then) or none", r)
	}
	return lockset.CheckInitThread(v)
}

// run is Entry.Run.
func (r Reduction) run(ctx context.Context, t *engine.Task) (*engine.Result, error) {
	how := invisible.Of(t.Flags)
	if how != "" && t.System.NewMachine().Capabilities().Locking == nil {
		return nil, &engine.Refusal{Err: composed.ErrNoLocks}
	}
	sys, shown, err := lockset.Wrap(t.System, t.Flags)
	if err != nil {
		return nil, err
	}
	o := Options{
		Options: t.Options, Reduction: r, Undo: undo.Of(t.Flags), Deepen: deepen.Of(t.Flags),
		InvisibleFirst: how == invisibleFirst, Composed: how == invisibleComposed,
	}
	res, err := Run(ctx, sys, o)
	if err != nil {
		return nil, err
	}
	out := &res.Result
	undone := engine.Figure{Key: "undo", Value: o.Undo.String()}
	if o.Undo != Log {
		undone.Text = "undo by " + o.Undo.String()
	}
	out.How = append(out.How, undone)
	switch how {
	case invisibleFirst:
		out.How = append(out.How, engine.Figure{Key: "invisible", Value: how,
			Text: "invisible transitions first"})
	case invisibleComposed:
		out.How = append(out.How, engine.Figure{Key: "invisible", Value: how,
			Text: "composed transitions"})
	}
	rounds := engine.Figure{Key: "rounds", Value: res.Rounds, Label: "rounds"}
	if res.Rounds > 1 {
		rounds.Text = human.Count(res.Rounds)
	}
	out.Figures = append(out.Figures, rounds)
	lockset.Report(out, t.Flags, shown)
	if how != "" {
		lockset.Doubt(out, t.Flags, "-invisible "+how)
	}
	return out, nil
}
