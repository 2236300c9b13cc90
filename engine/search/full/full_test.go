package full

import (
	"testing"

	"cpor/engine/search"
	"cpor/system"
)

// endless is a system with the machine wide.
type endless struct {
	system.System
	m *wide
}

func (e endless) NewMachine() system.Machine        { return e.m }
func (e endless) Capabilities() system.Capabilities { return system.Capabilities{} }

// wide is one thread with alternatives without end.
type wide struct {
	system.Machine
	steps int
}

func (w *wide) Capabilities() system.MachineCapabilities {
	return system.MachineCapabilities{}
}
func (w *wide) Load(system.State)                    {}
func (w *wide) Mark() system.Mark                    { return 0 }
func (w *wide) Rewind(system.Mark)                   {}
func (w *wide) NumThreads() int                      { return 1 }
func (w *wide) Encode(dst system.State) system.State { return append(dst[:0], 1) }
func (w *wide) Step(_ int, alt uint64) system.Outcome {
	w.steps++
	return system.Outcome{Kind: system.Moved, Next: alt + 1}
}

// stopped is a search that is to end.
type stopped struct{ moves int }

func (s *stopped) Move(*search.Move)                          { s.moves++ }
func (s *stopped) Violation(*system.Violation, []search.Step) {}
func (s *stopped) Stopped() bool                              { return s.moves > 2 }

// TestStopped holds that a search which is to end does not wait for the other
// alternatives of a transition.
func TestStopped(t *testing.T) {
	w, v := &wide{}, &stopped{}
	New(endless{m: w}).Expand(system.State{0}, v)
	if v.moves != 3 || w.steps != 3 {
		t.Errorf("%d moves, %d steps", v.moves, w.steps)
	}
}
