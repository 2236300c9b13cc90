package explore

import (
	"context"
	"errors"

	"cpor/engine"
	"cpor/engine/unfolding"
)

// Prefix is the picture of a prefix of the program's unfolding.
type Prefix struct {
	*unfolding.Picture
	// Paths leads to the state after each event's history.
	Paths []Path `json:"paths"`
	// Complete reports whether the prefix is: nothing is missing behind the events.
	Complete bool `json:"complete"`
}

// Unfolds reports whether the program has an unfolding: nil, or why it has none.
func (x *Explorer) Unfolds() error { return unfolding.Pieces.Unmet(x.Program.System) }

// Prefix builds as much of the complete prefix of the program's unfolding as a picture
// shows. The error says that the program has none, or that ctx has ended.
func (x *Explorer) Prefix(ctx context.Context) (*Prefix, error) {
	if err := x.Unfolds(); err != nil {
		return nil, err
	}
	res, err := unfolding.Run(ctx, x.Program.System, engine.Options{Workers: 1, All: true,
		MaxTransitions: unfolding.MaxDrawn, IgnoreDeadlocks: true, KeepTraces: true})
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, errors.New("the drawing was stopped")
	}
	p := &Prefix{Picture: res.Picture(), Complete: res.Exhaustive}
	for i := range p.Events {
		e := &p.Events[i]
		p.Paths = append(p.Paths, pathOf(e.Initial, e.Steps))
	}
	return p, nil
}
