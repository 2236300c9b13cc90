package full

import (
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
			return reduction.Compiled(func(sys system.System) (search.Factory, error) {
				return Factory(sys), nil
			})
		},
	})
}
