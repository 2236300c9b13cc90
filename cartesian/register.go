package cartesian

import (
	"strings"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/reduction"
	"cpor/system"
)

// orderFlag chooses the order.
var orderFlag = &engine.FlagOf[Order]{
	FlagInfo: engine.FlagInfo{
		Name: "cv-order", Group: "What is searched:",
		Usage: "the `order` in which -por cartesian extends the prefixes of a vector: " + strings.Join(OrderNames(), ", ") + " (default " + OrderNames()[0] + ")",
		Try:   OrderNames()[1:],
	},
	Parse: func(_ Order, s string) (Order, error) { return ParseOrder(s) },
}

func init() {
	reduction.Register(reduction.Reduction{
		Entry: engine.Entry{
			Name: "cartesian", Default: true,
			Summary:   "cartesian partial-order reduction: keeps every local state, assertion, invariant and deadlock",
			Preserves: engine.Violations | engine.Deadlocks | engine.Locals | engine.Steps | engine.Waits,
			Reduces:   true,
			Stable:    engine.CountStates | engine.CountTransitions | engine.CountAttempts | engine.CountLoops,
			Flags:     []engine.Flag{orderFlag},
		},
		Plan: func(t *engine.Task, report func(error)) *reduction.Plan {
			order := orderFlag.Of(t.Flags)
			o := Options{Order: order, IgnoreDeadlocks: t.IgnoreDeadlocks, Check: report}
			how := engine.Figure{Key: "cv_order", Value: order.String()}
			if order != 0 {
				how.Text = "order " + order.String()
			}
			return &reduction.Plan{
				Factory: func(sys system.System) (search.Factory, error) {
					return func() search.Expander { return New(sys, o) }, nil
				},
				How: func() []engine.Figure { return []engine.Figure{how} },
			}
		},
	})
}
