package cartesian

import (
	"strings"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/reduction"
	"cpor/system"
)

// OrderFlag chooses the order.
var OrderFlag = &engine.FlagOf[Order]{
	FlagInfo: engine.FlagInfo{
		Name: "cv-order", Group: "What is searched:",
		Usage: "the `order` in which the prefixes of a Cartesian vector grow: " +
			strings.Join(OrderNames(), ", ") + " (default " + OrderNames()[0] + ")",
		Values: OrderNames(),
		Try:    OrderNames()[1:],
	},
	Parse: func(_ Order, s string) (Order, error) { return ParseOrder(s) },
}

func init() {
	reduction.Register(reduction.Reduction{
		Entry: engine.Entry{
			Name: "cartesian",
			Summary: "Cartesian partial-order reduction; preserves every local state, " +
				"assertion, invariant and deadlock",
			Preserves: engine.Violations | engine.Deadlocks | engine.Locals | engine.Steps | engine.Waits,
			Reduces:   true,
			Stable:    engine.CountStates | engine.CountTransitions | engine.CountAttempts | engine.CountLoops,
			Flags:     []engine.Flag{OrderFlag},
		},
		Plan: func(t *engine.Task, report func(error)) *reduction.Plan {
			o := OptionsOf(t, report)
			return &reduction.Plan{
				Factory: func(sys system.System) (search.Factory, error) {
					return func() search.Expander { return New(sys, o) }, nil
				},
				How: func() []engine.Figure { return How(t) },
			}
		},
	})
}

// OptionsOf returns the options of vectors that a task asks for. report takes
// differences that were found in them; nil if they are not to be checked.
func OptionsOf(t *engine.Task, report func(error)) Options {
	return Options{Order: OrderFlag.Of(t.Flags), IgnoreDeadlocks: t.IgnoreDeadlocks, Check: report}
}

// How returns what is told of the vectors of a task.
func How(t *engine.Task) []engine.Figure {
	order := OrderFlag.Of(t.Flags)
	how := engine.Figure{Key: "cv_order", Value: order.String()}
	if order != 0 {
		how.Text = "order " + order.String()
	}
	return []engine.Figure{how}
}
