package main

import (
	"fmt"
	"strings"

	"cpor/cartesian"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/internal/spell"
	"cpor/system"
)

// reduction is a value of -por: a way to choose which moves a search takes
// from a state.
type reduction struct {
	name    string
	summary string // for the help: what it is, what it preserves
	// factory makes the expanders of a search. report takes the differences
	// that a checking mode finds (-validate); it is nil without one.
	factory func(sys system.System, c *runConfig, report func(error)) search.Factory
}

// reductions is the one place where a reduction is entered. The first is the
// default.
var reductions = []*reduction{
	{
		name:    "cartesian",
		summary: "cartesian partial-order reduction: keeps every local state, assertion, invariant and deadlock",
		factory: func(sys system.System, c *runConfig, report func(error)) search.Factory {
			o := cartesian.Options{Order: c.order, IgnoreDeadlocks: !c.deadlock, Check: report}
			return func() search.Expander { return cartesian.New(sys, o) }
		},
	},
	{
		name:    "none",
		summary: "every interleaving: nothing is reduced",
		factory: func(sys system.System, c *runConfig, report func(error)) search.Factory {
			return full.Factory(sys)
		},
	},
}

// parseReduction returns the reduction of that name. The error lists the names
// of all modes.
func parseReduction(name string) (*reduction, error) {
	for _, r := range reductions {
		if r.name == name {
			return r, nil
		}
	}
	return nil, fmt.Errorf("unknown reduction; want %s%s", strings.Join(reductionNames(), ", "), spell.DidYouMean(name, reductionNames(), ""))
}

// reductionNames returns the values of -por, in the order of the help.
func reductionNames() []string {
	var names []string
	for _, r := range reductions {
		names = append(names, r.name)
	}
	for _, r := range append(ltlReductionHelp(), statelessReductionHelp()...) {
		names = append(names, r[0])
	}
	return names
}
