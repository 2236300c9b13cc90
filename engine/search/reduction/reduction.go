// Package reduction registers expanders as engines: it turns an expander into what the command
// calls a reduction of the search with stored states. Stores, races, validation and the report
// of such a search are implemented here, once.
//
// A reduction is a package with an expander and a call of [Register]:
//
//	func init() {
//		reduction.Register(reduction.Reduction{
//			Entry: engine.Entry{Name: "none", Summary: "...", Preserves: ...},
//			Plan: func(t *engine.Task, report func(error)) *reduction.Plan {
//				return &reduction.Plan{Factory: func(sys system.System) (search.Factory, error) { ... }}
//			},
//		})
//	}
package reduction

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"cpor/engine"
	"cpor/engine/dive"
	"cpor/engine/lockset"
	"cpor/engine/search"
	"cpor/engine/search/quotient"
	"cpor/engine/search/validate"
	"cpor/internal/human"
	"cpor/statestore"
	"cpor/system"
)

// Mode is the name of the searches with stored states.
const Mode = "stateful"

// Store is the flag that chooses the store.
var Store = &engine.FlagOf[statestore.Kind]{
	FlagInfo: engine.FlagInfo{Name: "store", Group: "How, and how far:",
		Usage: "how the covered states are stored: the exact `store`s tree (compressed, the " +
			"default) and plain, or compact (hash compaction) and bitstate, which can omit " +
			"states, so a search with them is never exhaustive", Values: []string{"tree", "plain",
			"compact", "bitstate"}, Try: []string{"plain"}},
	Parse: func(_ statestore.Kind, s string) (statestore.Kind, error) {
		return statestore.ParseKind(s)
	},
}

// Symmetry is the flag that turns declared symmetries on or off.
var Symmetry = &engine.FlagOf[Use]{
	FlagInfo: engine.FlagInfo{
		Name: "symmetry", Group: "What is searched:",
		Usage: "`whether` states that differ only by a declared symmetry count as one: on (the " +
			"default if the model declares any, without -races and -validate) or off",
		Values: []string{"on", "off"},
		Try:    []string{"off"},
	},
	Parse: func(_ Use, s string) (Use, error) {
		switch s {
		case "on":
			return On, nil
		case "off":
			return Off, nil
		}
		return 0, errors.New("want on or off")
	},
}

// Use says whether something is used.
type Use uint8

// The values of -symmetry.
const (
	WhereItCan Use = iota // it was not given
	On
	Off
)

func init() {
	engine.RegisterMode(engine.Mode{
		Name: Mode, Asked: "-search " + Mode, Default: true, Rank: 1,
		Summary: "(the default) stores the covered states",
		Of:      "a search with stored states", Lacks: "stores no states",
		Label: "reduction",
		Choose: func(v *engine.Values, _ *engine.Options) string {
			if lockset.Races.Of(v) != lockset.None {
				return "none" // the one that checks every rule
			}
			return ""
		},
	})
}

// Reduction is an entry whose engine is package search with an expander. Mode, Counts, Takes,
// Check and Run of the entry are filled in, and so are the flags that all such searches have.
type Reduction struct {
	engine.Entry
	// OnLocks says that it relies on the locking discipline: -races ld' is then the default, and
	// an exploration that finds it broken is not exhaustive.
	OnLocks bool
	// NoSymmetry says that the reduction has no proof for orbits of states, so declared
	// symmetries are not used.
	NoSymmetry bool
	// Also checks further flags; nil if there are none.
	Also func(v *engine.Values, o *engine.Options) error
	// Plan prepares an exploration. report receives the claims of the reduction that do not
	// hold; it is nil without -validate.
	Plan func(t *engine.Task, report func(error)) *Plan
}

// Plan is how to explore one system.
type Plan struct {
	// Factory makes the factory of the expanders. The error says why the system cannot be
	// explored. It can be called several times, and Gap refers to the last call.
	Factory func(sys system.System) (search.Factory, error)
	// Dependences is lockset.Options.Dependences.
	Dependences bool
	// Gap says why a search that covered everything is not exhaustive, empty if it
	// is; nil if it always is.
	Gap func() string
	// Counts are the counts behind Gap, How and Figures, to be summed over ranks.
	Counts []*atomic.Uint64
	// How and Figures are those of the result, called at the end; nil for none.
	How, Figures func() []engine.Figure
}

// registered are the reductions by name.
var registered = map[string]*Reduction{}

// Register registers a reduction. Its package calls it when it is initialized.
func Register(r Reduction) {
	engine.Register(r.entry())
	registered[r.Name] = &r
}

// Expanders returns the factory of a reduction's expanders, for callers that run the search
// themselves to watch it. The error says that there is no such reduction, or why it cannot
// explore the task's system.
func Expanders(name string, t *engine.Task) (search.Factory, error) {
	r := registered[name]
	if r == nil {
		return nil, engine.Unknown(Mode, name)
	}
	if r.OnLocks {
		return nil, &engine.OptionError{
			Message: "-por " + name + " rests on the locking discipline, which is checked only " +
				"with the whole search around it"}
	}
	return r.Plan(t, nil).Factory(t.System)
}

func (r Reduction) entry() engine.Entry {
	e := r.Entry
	e.Mode = Mode
	e.Counts =
		engine.CountStates | engine.CountTransitions | engine.CountAttempts | engine.CountDepth |
			engine.CountStore | engine.CountLoops
	e.Takes =
		engine.TakesAll | engine.TakesDeadlocks | engine.TakesValidate | engine.TakesMaxStates |
			engine.TakesDisk | engine.TakesCheckpoint | engine.TakesRanks
	e.Flags = append([]engine.Flag{Store, lockset.Races}, e.Flags...)
	if r.everyRule() || r.OnLocks {
		e.Flags = append(e.Flags, lockset.InitThread)
	}
	if !r.OnLocks && !r.NoSymmetry {
		e.Flags = append(e.Flags, Symmetry)
	}
	e.Check = r.check
	e.Run = r.run
	return e
}

// everyRule reports whether every rule for races can be checked: every order of the accesses is
// explored.
func (r *Reduction) everyRule() bool { return r.Preserves&engine.States != 0 }

func (r *Reduction) check(v *engine.Values, o *engine.Options) error {
	if r.OnLocks && !v.Given("races") {
		lockset.Races.Put(v, lockset.LDPrime)
	}
	if r.Also != nil {
		if err := r.Also(v, o); err != nil {
			return err
		}
	}
	rule := lockset.Races.Of(v)
	store := Store.Of(v)
	if o.Disk != "" && store != statestore.Tree && store != statestore.Plain {
		return fmt.Errorf("-disk requires -store tree or plain, from which states can be "+
			"recovered; -store %v cannot be combined with it", store)
	}
	if err := r.checkRaces(rule, Symmetry.Of(v), o.Validate); err != nil {
		return err
	}
	if Symmetry.Of(v) != WhereItCan && o.Validate {
		return errors.New("-symmetry cannot be combined with -validate, which repeats the " +
			"search's steps on the original states")
	}
	if r.OnLocks || r.everyRule() {
		return lockset.CheckInitThread(v)
	}
	return nil
}

// checkRaces refuses a rule of races that does not go with the reduction or other options.
func (r *Reduction) checkRaces(rule lockset.Rule, s Use, validate bool) error {
	switch {
	case r.OnLocks && (rule == lockset.LD || rule == lockset.HB):
		return fmt.Errorf("-races %v needs every interleaving, because it depends on the order "+
			"of the accesses: -por %s checks ld'; -por none checks %v, and so does -search "+
			"stateless with every reduction", rule, r.Name, rule)
	case !r.OnLocks && !r.everyRule() && rule != lockset.None:
		return fmt.Errorf("-races %v cannot be checked with -por %s, which skips the accesses it "+
			"looks for: use -por none, or -search stateless, or -por locks for ld'", rule, r.Name)
	case s != WhereItCan && rule != lockset.None && !r.OnLocks:
		return fmt.Errorf("-symmetry cannot be combined with -races %v, which records which "+
			"thread did what", rule)
	case rule != lockset.None && validate:
		return fmt.Errorf("-validate runs transitions on pieces of states, without the data of "+
			"-races %v: use -races none with it", rule)
	}
	return nil
}

// errDifference ends a search in which a difference was found.
var errDifference = errors.New("the validation found a difference")

// run is Entry.Run.
func (r *Reduction) run(ctx context.Context, t *engine.Task) (*engine.Result, error) {
	begun := ctx
	o := search.Options{Options: t.Options, Store: Store.Of(t.Flags)}
	var report func(error)
	var mu sync.Mutex
	var difference error
	if t.Validate {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		report = func(err error) {
			mu.Lock()
			defer mu.Unlock()
			if difference == nil {
				difference = err
				cancel(errDifference)
			}
		}
		o.Hook = validate.Hook(t.System, report)
	}
	var diver *dive.Diver
	if r.dives(t) {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		diver = dive.New(t.System, &t.Options, func() { cancel(engine.AtViolation) })
		o.Turn = diver.Turn
		if turn := t.Turn; turn != nil {
			o.Turn = func() { turn(); diver.Turn() }
		}
	}
	plan := r.Plan(t, report)
	o.Counts = plan.Counts
	res, shown, err := r.search(ctx, t, plan, o)
	if difference != nil {
		return nil, difference
	}
	if err != nil {
		return nil, err
	}
	if diver != nil && diver.Found() != nil && len(res.Violations) == 0 {
		if err := surface(begun, t, &res.Result, diver.Found()); err != nil {
			return nil, err
		}
	}
	r.tell(&res.Result, res, t, plan)
	lockset.Report(&res.Result, t.Flags, shown)
	if r.OnLocks {
		lockset.Doubt(&res.Result, t.Flags, "-por "+r.Name)
	}
	if plan.Gap != nil {
		if gap := plan.Gap(); gap != "" {
			res.Doubt(gap)
		}
	}
	return &res.Result, nil
}

// dives reports whether random executions are followed beside the search. A search for races has
// none, because a race is not visible in the steps of one execution.
func (r *Reduction) dives(t *engine.Task) bool {
	return t.Dive && !t.All && !t.Validate && t.Checkpoint == nil && t.Ranks == nil &&
		lockset.Races.Of(t.Flags) == lockset.None
}

// surface makes the violation that a dive has found the result of the search, which it has
// ended.
func surface(ctx context.Context, t *engine.Task, res *engine.Result, f *dive.Found) (err error) {
	o := t.Options
	res.Violations, err = engine.Finish(ctx, t.System,
		[]engine.Raw{{Violation: *f.Trace.Violation, Trace: f.Trace}}, &o)
	if err != nil {
		return err
	}
	fault := res.Judge(engine.AtViolation, "", true)
	res.Figures = append(res.Figures, engine.Figure{
		Key: "dive", Value: f.Number, Label: "found by", Text: "random execution " +
			human.Count(f.Number) + " beside the search",
	})
	return fault
}

// search runs the search, with races if they are to be checked. It returns the system of its
// traces.
func (r *Reduction) search(ctx context.Context, t *engine.Task, plan *Plan,
	o search.Options) (*search.Result, *lockset.System, error) {
	factory := func(sys system.System) (search.Factory, error) {
		f, err := plan.Factory(sys)
		if err != nil {
			return nil, &engine.Refusal{Err: err}
		}
		return f, nil
	}
	ro := lockset.Given(t.Flags)
	if ro.Rule == lockset.None {
		sys := t.System
		if r.symmetric(t) {
			q, err := quotient.New(sys)
			if err != nil {
				return nil, nil, err
			}
			sys = q
		}
		f, err := factory(sys)
		if err != nil {
			return nil, nil, err
		}
		res, err := search.Run(ctx, sys, f, o)
		return res, nil, err
	}
	ro.Dependences = plan.Dependences
	if _, err := lockset.New(t.System, ro); err != nil {
		return nil, nil, &engine.Refusal{Err: err}
	}
	wrapped, res, err := lockset.Run(ctx, t.System, ro, factory, o)
	if wrapped != nil && ro.Dependences {
		// Users see only what the model accesses.
		ro.Dependences = false
		plain, perr := lockset.New(t.System, ro)
		wrapped, err = plain, errors.Join(err, perr)
	}
	return res, wrapped, err
}

// symmetric reports whether the search covers orbits instead of states.
func (r *Reduction) symmetric(t *engine.Task) bool {
	switch Symmetry.Of(t.Flags) {
	case On:
		return true
	case Off:
		return false
	}
	return !r.OnLocks && !r.NoSymmetry && !t.Validate &&
		lockset.Races.Of(t.Flags) == lockset.None &&
		system.SymmetryOf(t.System) != ""
}

// fewStates is the number of states below which the store's bytes per state mean little: most of
// them exist before the first state.
const fewStates = 1000

// tell reports how the search was done, and what only such a search measures.
func (r *Reduction) tell(out *engine.Result, res *search.Result, t *engine.Task, plan *Plan) {
	kind := Store.Of(t.Flags)
	store := engine.Figure{Key: "store", Value: kind.String()}
	if kind != 0 {
		store.Text = "store " + kind.String()
	}
	out.How = append(out.How, store)
	if t.Ranks != nil {
		n := t.Ranks.Size()
		out.How = append(out.How, engine.Figure{Key: "ranks", Value: n,
			Text: fmt.Sprintf("on each of %d ranks", n)})
		sent := engine.Figure{Key: "traffic", Value: res.Traffic}
		if tr := res.Traffic; tr.States > 0 {
			sent.Label = "traffic"
			sent.Text = fmt.Sprintf("%s states in %s messages, %.1f bytes a state",
				human.Count(tr.States), human.Count(tr.Messages),
				float64(tr.Bytes)/float64(tr.States))
			sent.Text += fmt.Sprintf("; the largest rank has %.2f times the mean of the states",
				tr.Largest)
		}
		out.Figures = append(out.Figures, sent)
	}
	if plan.How != nil {
		out.How = append(out.How, plan.How()...)
	}
	if what := system.SymmetryOf(t.System); what != "" {
		used := engine.Figure{Key: "symmetry", Label: "symmetry", Value: r.symmetric(t),
			Text: "not used"}
		if r.symmetric(t) {
			used.Text = "one state for all that differ only by " + what
		}
		out.Figures = append(out.Figures, used)
	}
	if d := res.Disk; d != nil {
		out.How = append(out.How, engine.Figure{Key: "disk", Value: t.Disk,
			Text: "beyond memory, on disk in " + t.Disk})
		disk := human.Size(d.Most) + " at most, " + human.Size(d.Written) + " written, " +
			human.Size(d.Read) + " read"
		if d.Drops == 0 {
			disk += "; all was in memory, too"
		}
		out.Figures = append(out.Figures, engine.Figure{Key: "spilled", Value: d, Label: "disk",
			Text: disk})
	}
	if plan.Figures != nil {
		out.Figures = append(out.Figures, plan.Figures()...)
	}
	size := human.Size(res.StoreBytes)
	if res.States >= fewStates && res.Disk == nil {
		size += fmt.Sprintf(", %.1f bytes a state", res.BytesPerState)
	}
	memory, omissions := "", ""
	if res.PeakRSS > 0 {
		memory = human.Size(res.PeakRSS)
	}
	if res.OmissionProbability > 0 {
		omissions = fmt.Sprintf("a reachable state was omitted with probability %.2g",
			res.OmissionProbability)
	}
	out.Figures = append(out.Figures,
		engine.Figure{Key: "bytes_per_state", Value: res.BytesPerState, Label: "store", Text: size},
		engine.Figure{Label: "memory", Text: memory},
		engine.Figure{Key: "omission_probability", Value: res.OmissionProbability,
			Label: "omissions", Text: omissions},
		engine.Figure{Key: "steals", Value: res.Steals},
		engine.Figure{Key: "failed_cas", Value: res.FailedCAS},
		engine.Figure{Key: "idle_share", Value: res.IdleShare})
}
