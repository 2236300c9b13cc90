package cartesian

import (
	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/reduction"
	"cpor/system"
)

func init() {
	reduction.Register(reduction.Reduction{
		Entry: engine.Entry{
			Name: "cartesian",
			Summary: "Cartesian partial-order reduction; preserves every local state, " +
				"assertion, invariant and deadlock",
			Preserves: engine.Violations | engine.Deadlocks | engine.Locals | engine.Steps |
				engine.Waits,
			Reduces: true,
			Stable: engine.CountStates | engine.CountTransitions | engine.CountAttempts |
				engine.CountLoops,
		},
		Plan: func(t *engine.Task, report func(error)) *reduction.Plan {
			o := OptionsOf(t, report)
			return reduction.Compiled(func(sys system.System) (search.Factory, error) {
				return func() search.Expander { return New(sys, o) }, nil
			})
		},
	})
}

// OptionsOf returns the options of vectors that a task asks for. report takes
// differences that were found in them; nil if they are not to be checked.
func OptionsOf(t *engine.Task, report func(error)) Options {
	return Options{IgnoreDeadlocks: t.IgnoreDeadlocks, Check: report}
}
