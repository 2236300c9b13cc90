package validate_test

import (
	"context"
	"testing"

	"cpor/testkit/sample"

	"cpor/cartesian"
	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/engine/search/validate"
	"cpor/frontend/model"
	"cpor/testkit/oracle"
)

// TestModels validates searches of random models in the language, with the
// cartesian search's own checks switched on, too.
func TestModels(t *testing.T) {
	n := sample.Of[uint64](40, 120, 1500)
	refused := uint64(0)
	for seed := range n {
		text := oracle.Generate(seed, oracle.Everything)
		m, err := model.Parse("random.model", text, model.Options{})
		if err != nil {
			// what init does has no end, or a property names a thread that it does not create
			refused++
			continue
		}
		sys := m.System()
		var c collect
		o := cartesian.Options{Check: c.report, MaxLength: 60}
		if seed%100 == 84 {
			// A thread that goes round by itself has prefixes as long as the
			// bound, and what is checked of one grows with the square.
			o.MaxLength = 0
		}
		for name, f := range map[string]search.Factory{
			"full": full.Factory(sys),
			"cartesian": func() search.Expander {
				return cartesian.New(sys, o)
			},
		} {
			_, err := search.Run(context.Background(), sys, f, search.Options{
				Options: engine.Options{Workers: 2, All: true, KeepTraces: true, MaxStates: 300},
				Hook:    validate.Hook(sys, c.report)})
			if c.first != nil {
				t.Fatalf("seed %d, %s: %v\n%s", seed, name, c.first, text)
			}
			if err != nil {
				t.Fatalf("seed %d, %s: %v\n%s", seed, name, err, text)
			}
		}
	}
	if refused > n/5 {
		t.Errorf("%d of %d models were refused", refused, n)
	}
}
