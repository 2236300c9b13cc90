package ample_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/ample"
	"cpor/engine/search/full"
	"cpor/frontend/model"
	"cpor/statestore"
	"cpor/system"
	"cpor/testkit/oracle"
	"cpor/testkit/resumetest"
	"cpor/testkit/sample"
)

func factory(t *testing.T, sys system.System) search.Factory {
	t.Helper()
	f, err := ample.Factory(sys, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// found lists what a search has found.
func found(r *search.Result) []string {
	var all []string
	for _, v := range r.Violations {
		all = append(all, fmt.Sprintf("%s %v %s", v.Kind, v.Pos, v.Object))
	}
	slices.Sort(all)
	return all
}

// TestResume interrupts searches again and again and continues with other numbers of workers:
// they find what the full search finds. Each set of threads is checked by brute force, or, every
// third time, looked for in some states only.
func TestResume(t *testing.T) {
	compared, interrupted := 0, 0
	for seed := range sample.Of[uint64](12, 60, 600) {
		m, err := model.Parse("generated.model", oracle.Generate(seed, oracle.Everything),
			model.Options{})
		if err != nil {
			continue
		}
		sys := m.System()
		o := search.Options{Store: []statestore.Kind{statestore.Tree, statestore.Plain}[seed%2],
			Options: engine.Options{Workers: 1, All: true, MaxViolations: 1000, MaxStates: 2000}}
		want, err := search.Run(context.Background(), sys, full.Factory(sys), o)
		if err != nil {
			t.Fatal(err)
		}
		if !want.Exhaustive {
			continue
		}
		compared++
		o.MaxStates = 0
		c := resumetest.Chain{R: rand.New(rand.NewPCG(seed, 3)), Options: o.Options, Workers: 3}
		limit := uint64(0)
		c.Limit = func(e *engine.Options) {
			limit += 1 + c.R.Uint64N(1+want.States/4)
			e.MaxStates = limit
		}
		var got *search.Result
		begun := false
		c.Run = func(ctx context.Context, e engine.Options) (*engine.Result, error) {
			o := o
			o.Options = e
			if !begun { // the first search ends at the second state, if there is one
				o.MaxStates, begun = 1, true
			}
			f := factory(t, sys)
			if seed%3 == 0 {
				f, err = ample.Resting(sys)
			}
			if err == nil {
				got, err = search.Run(ctx, sys, f, o)
			}
			if err != nil {
				return nil, err
			}
			return &got.Result, nil
		}
		n := c.Explore(t)
		if n == 0 && got.States > 1 {
			t.Errorf("seed %d: the search was not interrupted", seed)
		}
		interrupted += n
		if !slices.Equal(found(got), found(want)) || got.States > want.States {
			t.Errorf("seed %d: %d states, %v, want %d, %v", seed, got.States, found(got),
				want.States, found(want))
		}
	}
	if compared < 5 || interrupted < compared/2 {
		t.Errorf("only %d systems were compared, after %d interruptions", compared, interrupted)
	}
}

// TestResting holds that a search finds what the full search finds where it looks for ample sets in
// some states only, with one worker and with several.
func TestResting(t *testing.T) {
	compared, fewer := 0, 0
	for seed := range sample.Of[uint64](40, 300, 6000) {
		m, err := model.Parse("generated.model", oracle.Generate(seed, oracle.Everything),
			model.Options{})
		if err != nil {
			continue
		}
		sys := m.System()
		o := search.Options{Options: engine.Options{Workers: 1, All: true, MaxViolations: 1000,
			MaxStates: 3000}}
		want, err := search.Run(context.Background(), sys, full.Factory(sys), o)
		if err != nil {
			t.Fatal(err)
		}
		if !want.Exhaustive || want.States < 100 {
			continue
		}
		compared++
		for _, workers := range []int{1, 3} {
			f, err := ample.Resting(sys)
			if err != nil {
				t.Fatal(err)
			}
			o.Workers = workers
			got, err := search.Run(context.Background(), sys, f, o)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(found(got), found(want)) || got.States > want.States {
				t.Errorf("seed %d, %d workers: %d states, %v, want %d, %v", seed, workers,
					got.States, found(got), want.States, found(want))
			}
			if got.States < want.States {
				fewer++
			}
		}
	}
	t.Logf("%d systems, %d searches with fewer states", compared, fewer)
	if compared < 5 || fewer < compared/2 {
		t.Errorf("only %d systems were compared, and only %d searches had fewer states", compared,
			fewer)
	}
}

// TestCounts holds the reduction to what theory gives.
func TestCounts(t *testing.T) {
	for _, c := range []struct {
		name, text string
		states     uint64
	}{
		// One thread after the other, each at once: its states do not multiply.
		{"strangers", `var x [4]int8
			thread T(me int8) { for i := int8(0); i < 5; i++ { x[me] = i } }
			init { for i := 0; i < 4; i++ { go T(int8(i)) } }`, 5},
		// A circle of ample sets: the others are not ignored.
		{"circle", `var x, y bool
			thread T() { for { x = !x } }
			thread U() { y = true; assert(!y) }
			init { go T(); go U() }`, 8},
		{"channel", `var c chan(2) int8
			thread P() { for i := int8(0); i < 8; i++ { c <- i } }
			thread Q() { for i := int8(0); i < 8; i++ { x := <-c; assert(x == i) } }
			init { go P(); go Q() }`, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := model.Parse(c.name+".model", c.text, model.Options{})
			if err != nil {
				t.Fatal(err)
			}
			sys := m.System()
			o := search.Options{Options: engine.Options{Workers: 1, All: true}}
			want, err := search.Run(context.Background(), sys, full.Factory(sys), o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := search.Run(context.Background(), sys, factory(t, sys), o)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(found(got), found(want)) || got.States > c.states {
				t.Errorf("%d states, %v; the full search %d, %v", got.States, found(got),
					want.States, found(want))
			}
		})
	}
}

// TestCountCode: each state that code expands counts once.
func TestCountCode(t *testing.T) {
	m, err := model.Parse("counted.model", `var x [3]int8
		thread T(me int8) { for i := int8(0); i < 3; i++ { x[me] = i; x[(me + 1) % 3] = i } }
		init { for i := 0; i < 3; i++ { go T(int8(i)) } }`, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := ample.Coded(m.System(), false)
	if err != nil {
		t.Fatal(err)
	}
	var counted atomic.Uint64
	r, err := search.Run(context.Background(), m.System(), func() search.Expander {
		x := f().(*ample.Expander)
		x.CountCode(&counted)
		return x
	}, search.Options{Options: engine.Options{Workers: 2}})
	if err != nil {
		t.Fatal(err)
	}
	if n := counted.Load(); n != r.States || n < 100 {
		t.Errorf("code has expanded %d of %d states", n, r.States)
	}
}
