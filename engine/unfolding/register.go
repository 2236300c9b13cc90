package unfolding

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"cpor/engine"
	"cpor/internal/human"
	"cpor/system"
)

// Mode is the name of the searches that build an unfolding.
const Mode = "unfolding"

const flagGroup = "Unfolding:"

var picture = &engine.FlagOf[string]{
	FlagInfo: engine.FlagInfo{Name: "prefix", Group: flagGroup,
		Usage: "with -search unfolding: draw the prefix to `FILE` in SVG"},
	Parse: func(_, s string) (string, error) {
		if !strings.HasSuffix(s, ".svg") {
			return "", errors.New("want a file name ending in .svg")
		}
		return s, nil
	},
}

// Pieces are needed by engines that put states together.
var Pieces = engine.Need{What: "states that come apart into pieces",
	Unmet: func(sys system.System) error {
		pieces := sys.NewMachine().Capabilities().Pieces
		if pieces == nil {
			return &engine.Refusal{Err: errNoPieces}
		}
		if why := pieces.Whole(); why != "" {
			return &engine.Refusal{Err: fmt.Errorf("an unfolding is not possible: %s; use "+
				"-search stateful or -search stateless", why)}
		}
		return nil
	}}

func init() {
	engine.RegisterMode(engine.Mode{
		Name: Mode, Asked: "-search " + Mode, Rank: 3,
		Summary: "stores events instead of states, for many threads that rarely interact",
		Of:      "an unfolding", Lacks: "is not for unfoldings", Without: "stores no states",
		Unkept: "an unfolding is kept in memory only; use -search stateless, which can be saved",
		Label:  "search", Prefix: "unfolding, ",
	})
	engine.Register(engine.Entry{
		Name: "events", Mode: Mode, Default: true,
		Summary: "with -search unfolding: one event for each transition in each causal past; " +
			"preserves every local state, assertion, invariant and deadlock",
		Preserves: engine.Violations | engine.Deadlocks | engine.Locals | engine.Steps,
		Reduces:   true,
		Needs:     []engine.Need{Pieces},
		Counts:    engine.CountTransitions | engine.CountDepth | engine.CountStore,
		Stable:    engine.CountTransitions | engine.CountDepth,
		Takes:     engine.TakesAll | engine.TakesDeadlocks | engine.TakesMaxTransitions,
		Flags:     []engine.Flag{picture},
		Run:       runEntry,
	})
}

// runEntry is Entry.Run.
func runEntry(ctx context.Context, t *engine.Task) (*engine.Result, error) {
	res, err := Run(ctx, t.System, t.Options)
	if err != nil {
		if res == nil {
			return nil, err
		}
		return &res.Result, err
	}
	per := uint64(0)
	if res.Events > 0 {
		per = res.StoreBytes / res.Events
	}
	res.Figures = append(res.Figures,
		engine.Figure{Key: "events", Value: res.Events, Label: "events",
			Text: fmt.Sprintf("%s, %s of them cut-off, %s conditions", human.Count(res.Events),
				human.Count(res.Cutoffs), human.Count(res.Conditions))},
		engine.Figure{Key: "cutoffs", Value: res.Cutoffs},
		engine.Figure{Key: "conditions", Value: res.Conditions},
		engine.Figure{Key: "bytes_per_event", Value: per},
	)
	if file := picture.Of(t.Flags); file != "" {
		note, err := res.Draw(file)
		if err != nil {
			return &res.Result, err
		}
		res.Notes = append(res.Notes, note)
	}
	return &res.Result, nil
}
