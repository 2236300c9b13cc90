package gotest

import (
	"testing"

	"cpor/frontend/gosrc/machine"
	"cpor/system"
)

// TestDeepStack: of a deep stack the innermost calls and the outermost ones are kept.
func TestDeepStack(t *testing.T) {
	for _, tt := range []struct{ calls, kept, omitted int }{
		{40, 40, 0}, {41, 40, 1}, {100, 40, 60},
	} {
		var s machine.Stack
		for line := range tt.calls {
			s.Frames = append(s.Frames, machine.Place{Func: "f", Pos: system.Pos{Line: 1 + line}})
		}
		got := stackOf(s)
		if len(got.Frames) != tt.kept || got.Omitted != tt.omitted ||
			got.Frames[0].Pos.Line != 1 || got.Frames[ShownFrames-1].Pos.Line != ShownFrames ||
			got.Frames[tt.kept-1].Pos.Line != tt.calls {
			t.Errorf("%d calls: %+v", tt.calls, got)
		}
	}
}
