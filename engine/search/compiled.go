package search

import (
	"cpor/engine"
	"cpor/internal/human"
)

// Compiled returns the figure of a result that says how many states machine code expanded.
func Compiled(states uint64) []engine.Figure {
	if states == 0 {
		return nil
	}
	return []engine.Figure{{Key: "compiled_states", Value: states, Label: "machine code",
		Text: human.Count(states) + " states"}}
}
