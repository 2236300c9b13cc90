package auto

import (
	"cpor/cartesian"
	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/reduction"
	"cpor/system"
)

// choose says how it is chosen.
var choose = &engine.FlagOf[Choice]{
	FlagInfo: engine.FlagInfo{
		Name: "choose", Group: "What is searched:",
		Usage: "`how` -por auto chooses between reduction and plain expansion: measured " +
			"(default); to check that every choice finds the same, early (too soon), mixed or " +
			"mixed:N (for each state by its hash)",
		Values: []string{"measured", "early", "mixed"},
		Try:    []string{"early", "mixed", "mixed:2"},
	},
	Parse: func(_ Choice, s string) (Choice, error) { return ParseChoice(s) },
}

func init() {
	reduction.Register(reduction.Reduction{
		Entry: engine.Entry{
			Name: "auto", Default: true,
			Summary: "ample sets where there are any, else Cartesian reduction, or none where " +
				"they cost more than they save, measured during the search; preserves what " +
				"cartesian preserves",
			Preserves: engine.Violations | engine.Deadlocks | engine.Locals | engine.Steps |
				engine.Waits,
			Reduces: true,
			Bounds:  true,
			Flags:   []engine.Flag{choose},
		},
		Plan: func(t *engine.Task, report func(error)) *reduction.Plan {
			o := Options{Vectors: cartesian.OptionsOf(t, report), Choice: choose.Of(t.Flags),
				NoSets: t.Disk != "" || t.Ranks != nil}
			chosen := func() Report { return Report{} }
			p := reduction.Compiled(func(sys system.System) (search.Factory, error) {
				var f search.Factory
				f, chosen = Factory(sys, o)
				return f, nil
			})
			p.How = func() []engine.Figure { return []engine.Figure{chosen().figure()} }
			return p
		},
	})
}
