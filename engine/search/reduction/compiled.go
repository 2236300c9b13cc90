package reduction

import (
	"sync/atomic"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/internal/human"
	"cpor/system"
)

// Compiling is implemented by expanders that use machine code.
type Compiling interface {
	search.Expander
	// CountCode has the states counted that machine code expands. It is called before the first
	// one.
	CountCode(states *atomic.Uint64)
}

// Compiled is the plan of a reduction whose expanders are [Compiling]: the result says how many
// states machine code expanded.
func Compiled(factory func(sys system.System) (search.Factory, error)) *Plan {
	states := new(atomic.Uint64)
	return &Plan{
		Factory: func(sys system.System) (search.Factory, error) {
			f, err := factory(sys)
			if err != nil {
				return nil, err
			}
			return func() search.Expander {
				x := f().(Compiling)
				x.CountCode(states)
				return x
			}, nil
		},
		Counts: []*atomic.Uint64{states},
		Figures: func() []engine.Figure {
			n := states.Load()
			if n == 0 {
				return nil
			}
			return []engine.Figure{{Key: "compiled_states", Value: n, Label: "machine code",
				Text: human.Count(n) + " states"}}
		},
	}
}
