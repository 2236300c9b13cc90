package ample

import (
	"errors"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/reduction"
	"cpor/system"
)

// bounds is what ample sets need of a system.
var bounds = engine.Need{What: "bounds on what threads may still do",
	Unmet: func(sys system.System) error {
		if sys.NewMachine().Capabilities().Temporal == nil {
			return &engine.Refusal{Err: errors.New("ample sets need a system that bounds what " +
				"its threads may still do: use -por cartesian")}
		}
		return nil
	}}

func init() {
	reduction.Register(reduction.Reduction{
		Entry: engine.Entry{
			Name: "ample", Rank: 1,
			Summary: "only the transitions of threads that nobody else can interfere with, where " +
				"there are such; preserves what cartesian preserves",
			Preserves: engine.Violations | engine.Deadlocks | engine.Locals | engine.Steps |
				engine.Waits,
			Reduces: true,
			Bounds:  true,
			Needs:   []engine.Need{bounds},
		},
		NoSymmetry: true,
		Also: func(v *engine.Values, o *engine.Options) error {
			switch {
			case o.Disk != "":
				return errors.New(
					"-por ample keeps data about each state in memory and cannot be " +
						"combined with -disk",
				)
			case v.Given("cluster"):
				return errors.New("-por ample must know at once which state a move leads to, " +
					"which may belong to another rank, so it cannot be combined with -cluster")
			}
			return nil
		},
		Plan: func(_ *engine.Task, report func(error)) *reduction.Plan {
			return reduction.Compiled(func(sys system.System) (search.Factory, error) {
				return Factory(sys, report)
			})
		},
	})
}
