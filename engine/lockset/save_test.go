package lockset

import (
	"io"
	"testing"

	"cpor/engine"
)

// TestAttemptsNumbered: a rank that cannot write its parts of a checkpoint counts it all the same.
// Otherwise the ranks would number the checkpoints of the next attempt differently.
func TestAttemptsNumbered(t *testing.T) {
	number := 0
	c := &engine.Checkpoint{Parts: &engine.Parts{
		Write: func(n, _ int, _ func(io.Writer) error) error {
			number = n
			return nil
		},
	}}
	last := 0
	attempt := func() *engine.Parts {
		return keepingParts(c, true, &last, nil, nil).Parts
	}
	attempt().Begin(1) // and its disk has failed
	second := attempt()
	second.Begin(1)
	if err := second.Write(1, 0, nil); err != nil || number != 2 {
		t.Errorf("the checkpoint after one that was not written has number %d: %v", number, err)
	}
}
