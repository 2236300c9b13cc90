package oracle_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"cpor/testkit/sample"

	"cpor/cartesian"
	"cpor/engine"
	_ "cpor/engine/all" // the engines
	"cpor/engine/lockset"
	"cpor/engine/search"
	"cpor/engine/search/ample"
	"cpor/engine/search/auto"
	"cpor/engine/search/composed"
	"cpor/engine/search/full"
	"cpor/engine/search/quotient"
	"cpor/engine/search/reduction"
	"cpor/engine/stateless"
	"cpor/engine/temporal"
	"cpor/statestore"
	"cpor/system"
	"cpor/testkit/oracle"
)

// subject is a way to explore a system, to be compared with brute force.
type subject struct {
	name string
	// most is the number of interleavings up to which it takes a program.
	most float64
	// run returns what is wrong, or why the program is skipped.
	run func(p *subjectProgram) (diff, over string)
}

// subjectProgram is a program with what brute force says of it.
type subjectProgram struct {
	sys   system.System
	reach *oracle.Reach
	most  uint64 // transitions of a stateless search
	// interleavings is the number of complete executions, NaN if it is not known.
	interleavings float64

	properties []engine.Property

	orbits int    // 0 if they were not counted yet, -1 if there are too many states
	wrong  string // with the representatives

	traces int // 0 if they were not counted yet, -1 if there are too many
	rule   string
	graph  *oracle.Graph
	races  map[string]bool
}

// maxOrbits bounds the states of programs whose orbits are counted.
const maxOrbits = 1000

// maxCounted bounds the executions of programs whose traces are counted.
const maxCounted = 1000

// numTraces counts the Mazurkiewicz traces, -1 if there are too many.
func (p *subjectProgram) numTraces() int {
	if p.traces == 0 {
		n, ok := 0, p.interleavings <= maxCounted
		if ok {
			n, ok = oracle.Traces(p.sys, maxCounted)
		}
		if p.traces = n; !ok {
			p.traces = -1
		}
	}
	return p.traces
}

// discipline reports whether executions break LD' on the way: "kept", "broken", or why it is not
// known.
func (p *subjectProgram) discipline() string {
	if p.rule == "" {
		_, res, err := lockset.Run(context.Background(), p.sys, lockset.Options{
			Rule: lockset.LDPrime}, func(sys system.System) (search.Factory, error) {
			return full.Factory(sys), nil
		}, search.Options{Options: engine.Options{Workers: 1, All: true, KeepTraces: true,
			MaxViolations: 1 << 20, MaxStates: 2 * maxReference}})
		switch {
		case err != nil:
			p.rule = err.Error()
		case !res.Exhaustive:
			p.rule = "too many states with locksets"
		default:
			p.rule = broken(res.Violations)
		}
	}
	return p.rule
}

// broken reports whether LD' is among violations.
func broken(vs []engine.Finding) string {
	for _, v := range vs {
		if v.Kind == lockset.Discipline {
			return "broken"
		}
	}
	return "kept"
}

// always is for engines whose work does not grow with the interleavings.
var always = math.Inf(1)

// engines is the table of all engines: below those with options that only tests
// set or of which also the local states are compared, and behind them everything
// else that is registered.
var engines = []subject{
	stateful("full, 1 worker", full.Factory, search.Options{Options: engine.Options{Workers: 1}}),
	stateful("full, 4 workers", full.Factory, search.Options{Options: engine.Options{Workers: 4}}),
	stateful("full, plain store", full.Factory, search.Options{Options: engine.Options{Workers: 2},
		Store: statestore.Plain}),
	stateful("full, on disk", full.Factory, search.Options{
		Options: engine.Options{Workers: 2}}.With(search.Sizes{SpillEvery: 400})),
	stateful("cartesian, on disk", reduced(cartesian.Options{}), search.Options{
		Options: engine.Options{Workers: 1}}.With(search.Sizes{SpillEvery: 150})),
	stateful("mixed, on disk", drawn(7), search.Options{Options: engine.Options{Workers: 3}}.With(
		search.Sizes{SpillEvery: 300})),
	stateful("full, compact store", full.Factory, search.Options{
		Options: engine.Options{Workers: 1}, Store: statestore.Compact}),
	stateful("cartesian, 1 worker", reduced(cartesian.Options{}), search.Options{
		Options: engine.Options{Workers: 1}}),
	stateful("cartesian, 4 workers", reduced(cartesian.Options{}), search.Options{
		Options: engine.Options{Workers: 4}}),
	stateful("cartesian, short prefixes", reduced(cartesian.Options{MaxLength: 2}), search.Options{
		Options: engine.Options{Workers: 1}}),
	stateful("cartesian, plain store", reduced(cartesian.Options{}), search.Options{
		Options: engine.Options{Workers: 1}, Store: statestore.Plain}),
	stateful("ample, 1 worker", alone, search.Options{Options: engine.Options{Workers: 1}}),
	stateful("ample, 4 workers", alone, search.Options{Options: engine.Options{Workers: 4}}),
	stateful("ample, plain store", alone, search.Options{Options: engine.Options{Workers: 2},
		Store: statestore.Plain}),
	stateful("mixed, 1 worker", chosen(3), search.Options{Options: engine.Options{Workers: 1}}),
	stateful("mixed, 4 workers", chosen(4), search.Options{Options: engine.Options{Workers: 4}}),
	stateful("mixed, plain store", chosen(5), search.Options{Options: engine.Options{Workers: 1},
		Store: statestore.Plain}),
	stateful("early choice, 1 worker", chosen(auto.Early), search.Options{
		Options: engine.Options{Workers: 1}}),
	stateful("early choice, 4 workers", chosen(auto.Early), search.Options{
		Options: engine.Options{Workers: 4}}),
	stateful("early choice, plain store", chosen(auto.Early), search.Options{
		Options: engine.Options{Workers: 1}, Store: statestore.Plain}),
	stateful("mixed, bits", chosen(6), search.Options{Options: engine.Options{Workers: 1},
		Store: statestore.Bitstate}),
	stateful("full, bits", full.Factory, search.Options{Options: engine.Options{Workers: 2},
		Store: statestore.Bitstate}),
	stateful("cartesian, bits", reduced(cartesian.Options{}), search.Options{
		Options: engine.Options{Workers: 1}, Store: statestore.Bitstate}),
	symmetric("symmetric full, 1 worker", full.Factory, search.Options{
		Options: engine.Options{Workers: 1}}),
	symmetric("symmetric full, 4 workers", full.Factory, search.Options{
		Options: engine.Options{Workers: 4}}),
	symmetric("symmetric full, on disk", full.Factory, search.Options{
		Options: engine.Options{Workers: 2}}.With(search.Sizes{SpillEvery: 100})),
	symmetric("symmetric full, compact store", full.Factory, search.Options{
		Options: engine.Options{Workers: 1}, Store: statestore.Compact}),
	symmetric("symmetric cartesian, 1 worker", reduced(cartesian.Options{}), search.Options{
		Options: engine.Options{Workers: 1}}),
	symmetric("symmetric cartesian, 4 workers", reduced(cartesian.Options{}), search.Options{
		Options: engine.Options{Workers: 4}}),
	symmetric("symmetric mixed", chosen(3), search.Options{Options: engine.Options{Workers: 2}}),
	locked("locks", composed.Options{}, 1),
	locked("locks, 4 workers", composed.Options{}, 4),
	locked("locks, invisible first", composed.Options{InvisibleFirst: true}, 1),
	locked("locks, persistent", composed.Options{Persistent: true}, 1),
	locked("locks, sleep", composed.Options{Sleep: true}, 1),
	locked("locks, persistent+sleep", composed.Options{Persistent: true, Sleep: true}, 1),
	locked("locks, persistent+sleep, 4 workers", composed.Options{Persistent: true, Sleep: true},
		4),
	lockedUnstored("stateless composed sleep", stateless.Options{
		Options: engine.Options{Workers: 1}, Reduction: stateless.Sleep, Composed: true}),
	lockedUnstored("stateless composed persistent+sleep", stateless.Options{
		Options: engine.Options{Workers: 1}, Reduction: stateless.PersistentSleep, Composed: true}),
	lockedUnstored("stateless composed dpor", stateless.Options{Options: engine.Options{Workers: 1},
		Reduction: stateless.DPOR, Composed: true}),
	lockedUnstored("stateless composed dpor, 3 workers", stateless.Options{
		Options: engine.Options{Workers: 3}, Reduction: stateless.DPOR, Composed: true}),
	lockedUnstored("stateless invisible first, sleep", stateless.Options{
		Options: engine.Options{Workers: 1}, Reduction: stateless.Sleep, InvisibleFirst: true}),
	lockedUnstored("stateless invisible first, persistent+sleep", stateless.Options{
		Options: engine.Options{Workers: 1}, Reduction: stateless.PersistentSleep,
		InvisibleFirst: true}),
	unstored("stateless none", 2e3, stateless.Options{Options: engine.Options{Workers: 1},
		Reduction: stateless.None}),
	unstored("stateless sleep", 1e6, stateless.Options{Options: engine.Options{Workers: 1},
		Reduction: stateless.Sleep}),
	unstored("stateless sleep, 3 workers", 1e6, stateless.Options{
		Options: engine.Options{Workers: 3}, Reduction: stateless.Sleep}),
	unstored("stateless sleep by replay", 1e4, stateless.Options{
		Options: engine.Options{Workers: 1}, Reduction: stateless.Sleep, Undo: stateless.Replay}),
	unstored("stateless dpor", 1e6, stateless.Options{Options: engine.Options{Workers: 1},
		Reduction: stateless.DPOR}),
	unstored("stateless dpor, 3 workers", 1e6, stateless.Options{
		Options: engine.Options{Workers: 3}, Reduction: stateless.DPOR}),
	unstored("stateless dpor, 16 workers", 1e4, stateless.Options{
		Options: engine.Options{Workers: 16}, Reduction: stateless.DPOR}),
	unstored("stateless persistent", 2e3, stateless.Options{Options: engine.Options{Workers: 1},
		Reduction: stateless.Persistent}),
	unstored("stateless persistent+sleep", 1e6, stateless.Options{
		Options: engine.Options{Workers: 1}, Reduction: stateless.PersistentSleep}),
}

func init() {
	for _, red := range []temporal.Reduction{temporal.None, temporal.Invisible,
		temporal.Transparent} {
		name := fmt.Sprintf("temporal %v", red)
		engines = append(engines,
			live(name+", 1 worker", temporal.Options{Options: engine.Options{Workers: 1},
				Reduction: red}),
			live(name+", 3 workers", temporal.Options{Options: engine.Options{Workers: 3},
				Reduction: red}))
	}
	engines = append(engines,
		live("temporal transparent fair, 1 worker", temporal.Options{
			Options: engine.Options{Workers: 1}, Reduction: temporal.Transparent, Fair: true}),
		live("temporal transparent fair, 3 workers", temporal.Options{
			Options: engine.Options{Workers: 3}, Reduction: temporal.Transparent, Fair: true}),
		live("temporal fair, 1 worker", temporal.Options{Options: engine.Options{Workers: 1},
			Fair: true}),
		live("temporal fair, 3 workers", temporal.Options{Options: engine.Options{Workers: 3},
			Fair: true}),
		racing("races hb by full", func(sys system.System) ([]engine.Finding, bool, error) {
			res, err := search.Run(context.Background(), sys, full.Factory(sys), search.Options{
				Options: engine.Options{Workers: crowd(3), All: true, IgnoreDeadlocks: true,
					KeepTraces: true, MaxViolations: 1 << 20}})
			return res.Violations, res.Exhaustive, err
		}))
	inTable := []string{"stateful none", "stateful cartesian", "stateful ample"}
	for red := stateless.None; red <= stateless.DPOR; red++ {
		inTable = append(inTable, fmt.Sprintf("stateless %v", red))
		engines = append(engines, racing(fmt.Sprintf("races hb by %v", red),
			func(sys system.System) ([]engine.Finding, bool, error) {
				res, err := stateless.Run(context.Background(), sys, stateless.Options{
					Options: engine.Options{Workers: crowd(3), All: true, IgnoreDeadlocks: true,
						KeepTraces: true, MaxViolations: 1 << 20, MaxTransitions: *maxWork},
					Reduction: red})
				return res.Violations, res.Exhaustive, err
			}))
	}
	for _, e := range engine.Entries("") {
		finds := engine.Violations | engine.Deadlocks
		if e.Preserves&finds == finds && !slices.Contains(inTable, e.Mode+" "+e.Name) {
			engines = append(engines, registered(e))
		}
	}
}

// configurations are what the name of a subject ends with if it is an engine that
// stands in the table more than once.
var configurations = []string{
	", on disk", ", 1 worker", ", 3 workers", ", 4 workers", ", 16 workers", ", plain store",
	", compact store", ", bits",
	", short prefixes", ", reverse", ", depth first", ", reverse depth first", ", random",
	" by replay",
	" by full", " by none", " by sleep", " by persistent", " by persistent+sleep", " by dpor",
}

// turn returns one subject of each engine: its configurations take turns over the
// seeds.
func turn(list []subject, seed uint64) []subject {
	var names []string
	of := map[string][]subject{}
	for _, e := range list {
		name := e.name
		for _, c := range configurations {
			name = strings.TrimSuffix(name, c)
		}
		if of[name] == nil {
			names = append(names, name)
		}
		of[name] = append(of[name], e)
	}
	var now []subject
	for _, name := range names {
		now = append(now, of[name][seed/8%uint64(len(of[name]))]) // one seed in eight uses locks
	}
	return now
}

// registered is an engine as the registry has it.
func registered(e *engine.Entry) subject {
	return subject{e.Mode + " " + e.Name, 1e6, func(p *subjectProgram) (diff, over string) {
		if err := e.Unmet(p.sys); err != nil {
			return "", err.Error()
		}
		o := engine.Options{Workers: 1, All: true, KeepTraces: true, MaxViolations: 1 << 20,
			MaxStates: p.most, MaxTransitions: p.most}
		t := &engine.Task{System: p.sys, Options: o, Flags: new(engine.Values)}
		if slices.Contains(e.Flags, engine.Flag(reduction.Symmetry)) {
			reduction.Symmetry.Put(t.Flags, reduction.Off) // "symmetric" has it on
		}
		if e.Check != nil {
			if err := e.Check(t.Flags, &t.Options); err != nil {
				return err.Error(), ""
			}
		}
		res, err := e.Run(context.Background(), t)
		var no *engine.Refusal
		switch {
		case errors.As(err, &no):
			return "", err.Error()
		case err != nil:
			return err.Error(), ""
		case !res.Exhaustive:
			return "", res.Reason
		}
		return oracle.Diff(p.reach, oracle.Violated(p.sys, res.Violations)), ""
	}}
}

// reduced makes factories of cartesian expanders.
func reduced(o cartesian.Options) func(system.System) search.Factory {
	return func(sys system.System) search.Factory {
		return func() search.Expander { return cartesian.New(sys, o) }
	}
}

// alone makes factories of expanders with ample sets.
func alone(sys system.System) search.Factory {
	f, err := ample.Factory(sys, nil)
	if err != nil {
		panic(err)
	}
	return f
}

// chosen makes factories of expanders that choose between vectors and plain expansion.
func chosen(c auto.Choice) func(system.System) search.Factory {
	return mixed(auto.Options{Choice: c})
}

// drawn is chosen without ample sets.
func drawn(c auto.Choice) func(system.System) search.Factory {
	return mixed(auto.Options{Choice: c, NoSets: true})
}

func mixed(o auto.Options) func(system.System) search.Factory {
	return func(sys system.System) search.Factory {
		f, _ := auto.Factory(sys, o)
		return f
	}
}

func stateful(name string, factory func(system.System) search.Factory, o search.Options) subject {
	return subject{name, always, func(p *subjectProgram) (string, string) {
		o := o // checks run at the same time
		o.Workers = crowd(o.Workers)
		if o.Sizes().SpillEvery > 0 {
			// With less all workers are stopped, and the disk is read, for each state.
			o.Sizes().SpillEvery = max(o.Sizes().SpillEvery, 16*uint64(o.Workers))
		}
		if o.Store == statestore.Bitstate && len(p.reach.Locals)%16 != 0 {
			return "", "only one program in 16, for the size of the store"
		}
		if o.Sizes().SpillEvery > 0 {
			dir, err := os.MkdirTemp("", "spilled")
			if err != nil {
				return err.Error(), ""
			}
			defer os.RemoveAll(dir)
			o.Disk = dir
		}
		r, res, err := oracle.ExploreWith(p.sys, factory(p.sys), o)
		switch {
		case err != nil:
			return err.Error(), ""
		case o.Store == statestore.Bitstate && res.Exhaustive:
			return "a bit for each state, and everything was covered", ""
		case o.Store == statestore.Bitstate:
			return oracle.Invented(p.reach, r), ""
		case !res.Exhaustive && o.Store != statestore.Compact:
			return "the search is not exhaustive: " + res.Reason, ""
		}
		return oracle.Diff(p.reach, r), ""
	}}
}

// symmetric is a search of orbits: it finds every violation, and each orbit of
// deadlocks, with traces of the system itself; and where nothing is reduced as many
// states as there are orbits.
func symmetric(name string, factory func(system.System) search.Factory, o search.Options) subject {
	return subject{name, always, func(p *subjectProgram) (string, string) {
		if system.SymmetryOf(p.sys) == "" {
			return "", "declares no symmetry"
		}
		o := o // checks run at the same time
		o.Workers = crowd(o.Workers)
		if o.Sizes().SpillEvery > 0 {
			dir, err := os.MkdirTemp("", "spilled")
			if err != nil {
				return err.Error(), ""
			}
			defer os.RemoveAll(dir)
			o.Disk = dir
		}
		q, err := quotient.New(p.sys)
		if err != nil {
			return err.Error(), ""
		}
		if p.orbits == 0 {
			p.orbits, p.wrong = oracle.OrbitsOf(p.sys, maxOrbits)
		}
		if p.wrong != "" {
			return p.wrong, ""
		}
		o.MaxStates = 2 * maxReference
		o.All, o.KeepTraces, o.MaxViolations = true, true, 1<<20
		res, err := search.Run(context.Background(), q, factory(q), o)
		if err != nil {
			return err.Error(), ""
		}
		if !res.Exhaustive && o.Store != statestore.Compact {
			return "", res.Reason
		}
		if p.orbits > 0 && strings.Contains(name, "full") && res.States != uint64(p.orbits) &&
			o.Store != statestore.Compact {
			return fmt.Sprintf("%d states, and there are %d orbits", res.States, p.orbits), ""
		}
		got := oracle.Violated(p.sys, res.Violations)
		return oracle.Diff(oracle.Orbits(p.sys, p.reach), oracle.Orbits(p.sys, got)), ""
	}}
}

// locked is a search of composed transitions, or of invisible ones first. Both
// keep what the programs that obey LD' reach, and find out which do not.
func locked(name string, c composed.Options, workers int) subject {
	return subject{name, always, func(p *subjectProgram) (string, string) {
		if obs := system.ObserversOf(p.sys); obs.Any() {
			return "", "has invariants"
		}
		want := p.discipline()
		if want != "kept" && want != "broken" {
			return "", want
		}
		_, res, err := lockset.Run(context.Background(), p.sys, lockset.Options{
			Rule: lockset.LDPrime, Dependences: c.Persistent || c.Sleep},
			func(sys system.System) (search.Factory, error) {
				return composed.Factory(sys, c)
			}, search.Options{Options: engine.Options{Workers: crowd(workers), All: true,
				KeepTraces: true, MaxViolations: 1 << 20}})
		switch {
		case err != nil:
			return err.Error(), ""
		case !res.Exhaustive:
			return "", res.Reason
		}
		return p.disciplined(want, res.Violations)
	}}
}

// disciplined compares what a search found that checks LD' with brute force.
func (p *subjectProgram) disciplined(want string, vs []engine.Finding) (diff, over string) {
	if got := broken(vs); got != want {
		return fmt.Sprintf("LD' is %s, in all executions %s", got, want), ""
	}
	if want == "broken" {
		return "", "LD' is broken: nothing else is promised"
	}
	return oracle.Diff(p.reach, oracle.Violated(p.sys, vs)), ""
}

// lockedUnstored is the same without stored states.
func lockedUnstored(name string, o stateless.Options) subject {
	return subject{name, 1e6, func(p *subjectProgram) (string, string) {
		if obs := system.ObserversOf(p.sys); obs.Any() {
			return "", "has invariants"
		}
		want := p.discipline()
		if want != "kept" && want != "broken" {
			return "", want
		}
		sys, err := lockset.New(p.sys, lockset.Options{Rule: lockset.LDPrime, Dependences: true})
		if err != nil {
			return err.Error(), ""
		}
		o := o
		o.Workers = crowd(o.Workers)
		o.All, o.KeepTraces, o.MaxViolations, o.MaxTransitions = true, true, 1<<20, p.most
		res, err := stateless.Run(context.Background(), sys, o)
		switch {
		case err != nil:
			return err.Error(), ""
		case !res.Exhaustive:
			return "", res.Reason
		}
		return p.disciplined(want, res.Violations)
	}}
}

// live holds a temporal check to brute force on the full graph: the verdict on each
// property of the program.
func live(name string, o temporal.Options) subject {
	return subject{name, always, func(p *subjectProgram) (string, string) {
		if len(p.properties) == 0 {
			return "", "has no temporal property"
		}
		if p.graph == nil {
			g, ok := oracle.NewGraph(p.sys, maxGraph)
			if !ok {
				return "", fmt.Sprintf("more than %d states", maxGraph)
			}
			p.graph = g
		}
		o := o
		o.Workers = crowd(o.Workers)
		for _, prop := range p.properties {
			want, ok := p.graph.Violated(prop.Formula, o.Fair)
			if !ok {
				return "", "the formula is too large"
			}
			res, err := temporal.Run(context.Background(), p.sys, []engine.Property{prop}, o)
			if err != nil {
				return err.Error(), ""
			}
			got := res[0]
			switch undefined := p.graph.Undefined(prop); {
			case undefined && got.Verdict == engine.Pass:
				return prop.Name + " passes; there is a state without a value", ""
			case !undefined && (got.Reason != "" || (got.Verdict == engine.Violated) != want):
				return fmt.Sprintf("%s is %s (%s), want violated %v", prop.Name, got.Verdict,
					got.Reason, want), ""
			case got.Verdict == engine.Violated && got.Counterexample == nil && !undefined:
				return prop.Name + " is violated without a counterexample", ""
			}
		}
		return "", ""
	}}
}

// racing holds -races hb to vector clocks along all executions: the same variables
// have a race.
func racing(name string, run func(system.System) ([]engine.Finding, bool, error)) subject {
	return subject{name, maxCounted, func(p *subjectProgram) (string, string) {
		if !(p.interleavings <= maxCounted) { // or it is not known
			return "", "too many executions"
		}
		if p.races == nil {
			races, ok := oracle.Races(p.sys, maxCounted)
			if !ok {
				return "", "too many executions"
			}
			p.races = races
		}
		sys, err := lockset.New(p.sys, lockset.Options{Rule: lockset.HB})
		if err != nil {
			return err.Error(), ""
		}
		vs, exhaustive, err := run(sys)
		switch {
		case err != nil:
			return err.Error(), ""
		case !exhaustive:
			return "", "limit of transitions"
		}
		found := map[string]bool{}
		for _, v := range vs {
			if v.Kind == lockset.Race {
				found[v.Object] = true
			}
		}
		if !maps.Equal(found, p.races) {
			return fmt.Sprintf("races on %v, vector clocks on %v", slices.Sorted(maps.Keys(found)),
				slices.Sorted(maps.Keys(p.races))), ""
		}
		return "", ""
	}}
}

// maxGraph bounds the states of a graph on which a temporal property is decided by
// brute force.
const maxGraph = 1000

const (
	// maxWorkUnknown bounds the transitions of one stateless search if it is not
	// known how many interleavings there are.
	maxWorkUnknown = 10_000
	// maxReference bounds the states of the full search that takes the place of
	// brute force where that is too much.
	maxReference = 20_000
)

func unstored(name string, most float64, o stateless.Options) subject {
	return subject{name, most, func(p *subjectProgram) (string, string) {
		o := o
		o.Workers = crowd(o.Workers)
		o.All, o.KeepTraces, o.MaxViolations, o.MaxTransitions = true, true, 1<<20, p.most
		res, err := stateless.Run(context.Background(), p.sys, o)
		if err != nil {
			return err.Error(), ""
		}
		if !res.Exhaustive {
			return "", fmt.Sprintf("more than %d transitions", p.most)
		}
		switch n := p.numTraces(); {
		case n < 0:
		case o.Reduction == stateless.None && float64(res.Executions) != p.interleavings:
			return fmt.Sprintf("%d executions of %g", res.Executions, p.interleavings), ""
		case o.Reduction == stateless.DPOR && (res.Executions != uint64(n) ||
			res.BlockedExecutions > 0):
			return fmt.Sprintf("%d executions and %d in vain for %d traces", res.Executions,
				res.BlockedExecutions, n), ""
		// those in vain are counted apart
		case o.Reduction == stateless.Sleep && res.Executions != uint64(n):
			return fmt.Sprintf("%d executions for %d traces", res.Executions, n), ""
		}
		return oracle.Diff(p.reach, oracle.Violated(p.sys, res.Violations)), ""
	}}
}

// crowd returns a number of workers: those of the flag where there is more than one.
func crowd(n int) int {
	if n > 1 && *many > 0 {
		return *many
	}
	return n
}

// hold compares engines with brute force on one model. The first result is
// empty if they agree; the second says why the model was passed over.
func hold(engines []subject, text string, c *tally) (diff, over string) {
	want, diff, err := oracle.Lockstep("generated.model", text, lockstepPairs)
	switch {
	case diff != "":
		return diff, ""
	case err != nil:
		return "", refusal(err)
	}
	return against(engines, want, c)
}

// against compares engines with brute force on a model. If brute force is too expensive, they are
// compared with the plain full search.
func against(engines []subject, want *oracle.Semantics, c *tally) (diff, over string) {
	reach, work := want.Reach, *maxWork
	if !want.Complete {
		r, res, err := oracle.Explore(want.System, full.Factory(want.System), 1, maxReference)
		switch {
		case err != nil:
			return "full search: " + err.Error(), ""
		case !res.Exhaustive:
			return "", fmt.Sprintf("more than %d states", maxReference)
		}
		for k := range want.Violations {
			if !r.Violations[k] {
				return "full search: the walker has violation " + k, ""
			}
		}
		c.note("brute force incomplete, the full search in its place")
		reach, work = r, min(maxWorkUnknown, *maxWork)
	}
	p := &subjectProgram{sys: want.System, reach: reach, most: work,
		interleavings: want.Interleavings, properties: want.Properties}
	for _, e := range engines {
		if want.Interleavings > e.most {
			c.note("%s: more than %g interleavings", e.name, e.most)
			continue
		}
		diff, over := e.run(p)
		if diff != "" {
			return fmt.Sprintf("%s: %s", e.name, diff), ""
		}
		if over != "" {
			c.note("%s: %s", e.name, over)
		}
	}
	return "", ""
}

// lockConfigs are mixes of constructs of programs that use locks as LD' wants it,
// which programs over the whole grammar rarely do, or nearly so.
var lockConfigs = []oracle.LockConfig{
	{Threads: 2, Statements: 4, Conditions: true, Semaphores: true, Awaits: true},
	{Threads: 3, Statements: 3, Conditions: true, Choices: true, Creation: true, Atomic: true,
		Loops: true},
	{Threads: 3, Statements: 3, Awaits: true, Semaphores: true, Breach: 6},
}

// enginesProgram is the program of a seed for TestEngines.
func enginesProgram(seed uint64, of []oracle.Size) string {
	if *counts {
		return oracle.GenerateCounts(seed)
	}
	if seed%8 == 0 {
		return oracle.GenerateLocks(seed, lockConfigs[seed/8%uint64(len(lockConfigs))])
	}
	switch seed % 16 {
	case 2:
		return oracle.GenerateCounts(seed)
	case 10:
		return oracle.GenerateFailures(seed)
	}
	return program(seed, of)
}

// TestEngines holds every engine to brute force over the tree walker, on
// programs over the whole grammar, one in eight that uses locks with discipline, and one in
// sixteen each whose threads count, and whose threads fail inside of monitors.
func TestEngines(t *testing.T) {
	list := engines
	if *only != "" {
		list = nil
		for _, e := range engines {
			if e.name == *only {
				list = append(list, e)
			}
		}
		if list == nil {
			t.Fatalf("there is no engine %q", *only)
		}
	}
	c, of := &tally{}, sizes(t)
	campaign(t, models(15, 30, 700), c, func(seed uint64) (string, string) {
		text := show(t, enginesProgram(seed, of))
		list := list
		if *turns {
			list = turn(list, seed)
		}
		d, over := hold(list, text, c)
		if d != "" && c.room() {
			d += "\n" + oracle.Report(*failures, fmt.Sprintf("engines-%d.model", seed), text,
				func(text string) bool {
					d, _ := hold(list, text, &tally{})
					return d != ""
				})
		}
		return d, over
	})
}

// TestEnginesExamples does the same on models written by people: those of the documentation and of
// the language's tests, and some in testdata for cases that the generator rarely reaches.
func TestEnginesExamples(t *testing.T) {
	c := &tally{}
	special := chunks(t, "testdata/engines.models")
	if testing.Short() {
		special = special[len(special)-4:]
	}
	for i, text := range special {
		if !sample.Long() && i%8 != 0 {
			continue
		}
		if d, over := hold(engines, text, c); d != "" || over != "" {
			t.Errorf("%s%s\n%s", d, over, text)
		}
	}
	if testing.Short() {
		return
	}
	compared, tried, of := 0, 0, pinned(t)
	for i, text := range examples(t) {
		if !sample.Long() && i%20 != 0 && !slices.Contains(of, uint64(i+1)) {
			continue
		}
		tried++
		d, over := hold(engines, text, c)
		if d != "" {
			t.Errorf("%s\n%s", d, text)
		}
		if over == "" {
			compared++
		}
	}
	t.Logf("%d models compared; %v", compared, c)
	if compared < tried/3 {
		t.Errorf("only %d models of %d were compared", compared, tried)
	}
}

// TestShrink shrinks models with a known fault to the few lines that matter.
func TestShrink(t *testing.T) {
	found := 0
	for seed := uint64(1); seed < 400 && found < 5; seed++ {
		text := program(seed, oracle.Sizes)
		fails := func(text string) bool {
			sem, diff, err := oracle.Lockstep("generated.model", text, 300)
			return err == nil && diff == "" && len(sem.Deadlocks) > 0 && len(sem.Violations) > 0
		}
		if !fails(text) {
			continue
		}
		found++
		small := oracle.Shrink(text, fails)
		if !fails(small) || len(small) > len(text) {
			t.Errorf("seed %d: shrunk to what does not fail:\n%s", seed, small)
		}
		if len(small) > 400 {
			t.Errorf("seed %d: still %d bytes:\n%s", seed, len(small), small)
		}
		if again := oracle.Shrink(small, fails); again != small {
			t.Errorf("seed %d: not minimal:\n%s\n%s", seed, small, again)
		}
	}
	if found < 5 {
		t.Errorf("only %d models to shrink", found)
	}
}
