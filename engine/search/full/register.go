package full

import (
	"sync/atomic"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/reduction"
	"cpor/system"
)

func init() {
	reduction.Register(reduction.Reduction{
		Entry: engine.Entry{
			Name: "none", Rank: 1,
			Summary: "every interleaving: nothing is reduced",
			Preserves: engine.Violations | engine.Deadlocks | engine.Locals | engine.States |
				engine.Steps | engine.Waits,
			Stable: engine.CountStates | engine.CountTransitions | engine.CountAttempts |
				engine.CountLoops,
		},
		Plan: func(*engine.Task, func(error)) *reduction.Plan {
			used := new(atomic.Uint64)
			return &reduction.Plan{
				Factory: func(sys system.System) (search.Factory, error) {
					return func() search.Expander {
						x := New(sys)
						x.CountCode(used)
						return x
					}, nil
				},
				Counts:  []*atomic.Uint64{used},
				Figures: func() []engine.Figure { return search.Compiled(used.Load()) },
			}
		},
	})
}
