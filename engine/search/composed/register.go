package composed

import (
	"errors"
	"fmt"
	"sync/atomic"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/reduction"
	"cpor/system"
)

// selection is a value of -select: which of a state's composed transitions are
// explored.
type selection struct {
	name              string // "" is all
	persistent, sleep bool
}

// selections are the values of -select.
var selections = []selection{
	{name: "all"}, {name: "persistent", persistent: true}, {name: "sleep", sleep: true},
	{name: "persistent+sleep", persistent: true, sleep: true},
}

var maxInvisible = &engine.FlagOf[int]{
	FlagInfo: engine.FlagInfo{Name: "max-invisible", Group: "Locks and races:",
		Usage: "with -por locks, report the search as incomplete if a thread takes more than " +
			"this `number` of invisible transitions in a row; by default a move of more than " +
			"10,000 is cut in two"},
	Parse: engine.ParseInt,
}

var selectFlag = &engine.FlagOf[selection]{
	FlagInfo: engine.FlagInfo{Name: "select", Group: "Locks and races:",
		Usage: "with -por locks, `which` of a state's moves are explored: all (the default), " +
			"persistent (a persistent set, by Stoller's algorithm 2-LD), sleep (sleep sets) or " +
			"persistent+sleep; each preserves every assertion, deadlock and control point",
		Try: []string{"persistent", "sleep", "persistent+sleep"}},
	Parse: func(_ selection, s string) (selection, error) {
		for _, x := range selections {
			if x.name == s {
				return x, nil
			}
		}
		return selection{}, errors.New("want all, persistent, sleep or persistent+sleep")
	},
}

// locking is what the lock-based reductions need of a system.
var locking = engine.Need{What: "what locks protect", Unmet: func(sys system.System) error {
	if _, err := Factory(sys, Options{}); err != nil {
		return &engine.Refusal{Err: err}
	}
	return nil
}}

func init() {
	e := engine.Entry{
		Name: "locks", Rank: 2,
		Summary: "one move is a visible transition and the invisible ones that follow it " +
			"(accesses to data that locks protect, releases); checks that locks protect the data " +
			"(-races ld'); preserves every assertion, deadlock and control point",
		Preserves: engine.Violations | engine.Deadlocks,
		Reduces:   true,
		Bounds:    true,
		Needs:     []engine.Need{locking, engine.FiniteExecutions},
		Flags:     []engine.Flag{maxInvisible, selectFlag},
	}
	register(e, Options{})
	e.Name, e.Rank = "invisible-first", 3
	e.Summary = "the same classes as locks, but single transitions: an invisible one is explored " +
		"alone; for comparison"
	e.Flags = []engine.Flag{maxInvisible}
	register(e, Options{InvisibleFirst: true})
}

func register(e engine.Entry, base Options) {
	reduction.Register(reduction.Reduction{
		Entry:   e,
		OnLocks: true,
		Also: func(v *engine.Values, o *engine.Options) error {
			if sel := selectFlag.Of(v); sel.persistent || sel.sleep {
				switch {
				case o.Disk != "":
					return fmt.Errorf("-select %s keeps data about each state in memory and "+
						"cannot be combined with -disk", sel.name)
				case v.Given("cluster"):
					return fmt.Errorf("-select %s must know at once which threads sleep in a "+
						"state, which may belong to another rank, so it cannot be combined with "+
						"-cluster", sel.name)
				}
			}
			if n := maxInvisible.Of(v); v.Given("max-invisible") && n < 1 {
				return fmt.Errorf("-max-invisible %d: the number must be above 0", n)
			}
			return nil
		},
		Plan: func(t *engine.Task, _ func(error)) *reduction.Plan {
			cuts := new(atomic.Uint64)
			sel := selectFlag.Of(t.Flags)
			o := base
			o.MaxInvisible, o.Persistent, o.Sleep, o.Cuts = maxInvisible.Of(t.Flags),
				sel.persistent, sel.sleep, cuts
			return &reduction.Plan{
				Factory: func(sys system.System) (search.Factory, error) {
					cuts.Store(0)
					return Factory(sys, o)
				},
				Counts:      []*atomic.Uint64{cuts},
				Dependences: sel.persistent || sel.sleep,
				Gap: func() string {
					if !t.Flags.Given("max-invisible") || cuts.Load() == 0 {
						return ""
					}
					return fmt.Sprintf("possible violation of BoundedInvis: a thread can take "+
						"more than %d invisible transitions in a row (-max-invisible)",
						o.MaxInvisible)
				},
				How: func() []engine.Figure {
					if sel.name == "" {
						return nil
					}
					return []engine.Figure{{Key: "select", Value: sel.name, Label: "explored",
						Text: sel.name + " (-select)"}}
				},
				Figures: func() []engine.Figure {
					if cuts.Load() == 0 {
						return nil
					}
					return []engine.Figure{{Key: "invisible_cuts", Value: cuts.Load()}}
				},
			}
		},
	})
}
