package composed_test

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"

	"cpor/testkit/sample"

	"cpor/engine"
	"cpor/engine/lockset"
	"cpor/engine/search"
	"cpor/engine/search/composed"
	"cpor/engine/search/full"
	"cpor/frontend/model"
	"cpor/system"
	"cpor/testkit/oracle"
)

var (
	seed = flag.Int("seed", -1, "check this seed only, and print the model")
)

// maxStates bounds a model's full search; larger models are passed over.
const maxStates = 20_000

var everything = oracle.LockConfig{
	Threads: 3, Statements: 5, Loops: true, Conditions: true, Semaphores: true, Awaits: true,
	Choices: true, Creation: true, Atomic: true,
}

func breach(c oracle.LockConfig, n int) oracle.LockConfig {
	c.Breach = n
	return c
}

var configs = []oracle.LockConfig{
	everything,
	breach(everything, 3),
	{Threads: 3, Statements: 4, Conditions: true},
	breach(oracle.LockConfig{Threads: 3, Statements: 4}, 4),
	{Threads: 2, Statements: 7, Loops: true, Conditions: true, Semaphores: true},
	breach(oracle.LockConfig{Threads: 2, Statements: 6, Semaphores: true, Awaits: true}, 5),
}

// variants are the ways to search each model, selections those of which each
// model gets one, in turn.
var (
	variants = []composed.Options{
		{},
		{MaxInvisible: 4}, // cuts moves off
		{InvisibleFirst: true},
		{InvisibleFirst: true, MaxInvisible: 3},
	}
	selections = []composed.Options{
		{Sleep: true},
		{Persistent: true},
		{Persistent: true, Sleep: true},
		{Sleep: true, MaxInvisible: 3},
		{Persistent: true, MaxInvisible: 2},
		{Persistent: true, Sleep: true, MaxInvisible: 1},
		{Persistent: true, Sleep: true},
	}
)

// outcome counts what became of the generated models.
type outcome struct{ checked, passed, clean, broken, full, composed int }

func (o *outcome) check(text string) string {
	m, err := model.Parse("generated.model", text, model.Options{})
	if err != nil {
		if strings.Contains(err.Error(), "init") {
			o.passed++
			return ""
		}
		return "the generated model is refused: " + err.Error()
	}
	sys, err := lockset.New(m.System(), lockset.Options{Rule: lockset.LDPrime})
	if err != nil {
		return err.Error()
	}
	dependent, err := lockset.New(m.System(), lockset.Options{Rule: lockset.LDPrime,
		Dependences: true})
	if err != nil {
		return err.Error()
	}
	want, res, err := oracle.Explore(sys, full.Factory(sys), 1, maxStates)
	if err != nil {
		return "full search: " + err.Error()
	}
	if !res.Exhaustive {
		o.passed++
		return ""
	}
	o.checked++
	for k, opts := range append(variants[:4:4], selections[o.checked%len(selections)]) {
		workers := 1 + k%2*2
		searched := sys
		if opts.Sleep || opts.Persistent {
			searched = dependent
		}
		f, err := composed.Factory(searched, opts)
		if err != nil {
			return err.Error()
		}
		got, r, err := oracle.Explore(searched, f, workers, 0)
		if err != nil {
			return "composed search: " + err.Error()
		}
		if !r.Exhaustive {
			return "the composed search is not exhaustive: " + r.Reason
		}
		if broken(want) {
			if k == 0 {
				o.broken++
			}
			if !broken(got) {
				return "the composed search misses that the discipline is violated"
			}
			for v := range got.Violations {
				if !want.Violations[v] {
					return "the composed search makes a violation up: " + v
				}
			}
			for v := range got.Deadlocks {
				if !want.Deadlocks[v] {
					return "the composed search makes a deadlock up: " + v
				}
			}
			continue
		}
		if d := oracle.Diff(want, got); d != "" {
			return fmt.Sprintf("composed search %+v, %d workers:\n%s", opts, workers, d)
		}
		if k == 0 {
			o.clean++
			o.full += int(res.States)
			o.composed += int(r.States)
		}
	}
	// Merged histories first must come to the same judgement.
	_, r, err := lockset.Run(context.Background(), m.System(), lockset.Options{
		Rule: lockset.LDPrime}, func(sys system.System) (search.Factory, error) {
		return composed.Factory(sys, composed.Options{})
	}, search.Options{Options: engine.Options{Workers: 2, All: true, KeepTraces: true}})
	if err != nil {
		return err.Error()
	}
	found := false
	for _, v := range r.Violations {
		found = found || v.Kind == lockset.Discipline
	}
	if !r.Exhaustive || found != broken(want) {
		return fmt.Sprintf("with merged histories: exhaustive %v, violates the discipline: %v; "+
			"otherwise %v", r.Exhaustive, found, broken(want))
	}
	return ""
}

func broken(r *oracle.Reach) bool {
	for v := range r.Violations {
		if strings.HasPrefix(v, string(lockset.Discipline)) {
			return true
		}
	}
	return false
}

// TestTheorems holds theorems 4, 5 and 9 against generated models: where the
// discipline holds, the composed search reaches the same local states,
// violations and deadlocks as the full one, and where it does not, both find
// that out.
func TestTheorems(t *testing.T) {
	n := sample.Of(80, 100, 3000)
	if *seed >= 0 {
		text := oracle.GenerateLocks(uint64(*seed), configs[*seed%len(configs)])
		t.Log("\n" + text)
		if d := new(outcome).check(text); d != "" {
			t.Error(d)
		}
		return
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var all outcome
	for part := range 2 {
		wg.Go(func() {
			var o outcome
			for i := part; i < n && !t.Failed(); i += 2 {
				text := oracle.GenerateLocks(uint64(i), configs[i%len(configs)])
				if d := o.check(text); d != "" {
					t.Errorf("seed %d: %s\n%s", i, d, text)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all.passed += o.passed
			all.clean += o.clean
			all.broken += o.broken
			all.full += o.full
			all.composed += o.composed
		})
	}
	wg.Wait()
	t.Logf("%d models keep the discipline, with %d states in the full search and %d in the "+
		"composed one; %d searches of models that do not; %d models passed over",
		all.clean, all.full, all.composed, all.broken, all.passed)
	if !t.Failed() && (all.clean < n/5 || all.broken < n/10) {
		t.Error("the generator does not test much")
	}
}
