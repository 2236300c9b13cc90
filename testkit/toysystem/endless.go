package toysystem

import "cpor/system"

// Endless has no end of alternatives of each transition of a system, which all do the
// same as the first one: no search can go through them, nor wait for that.
type Endless struct{ system.System }

// NewMachine implements [system.System].
func (e Endless) NewMachine() system.Machine { return endlessMachine{e.System.NewMachine()} }

type endlessMachine struct{ system.Machine }

func (m endlessMachine) Step(t int, alt uint64) system.Outcome {
	out := m.Machine.Step(t, 0)
	if out.Kind == system.Moved {
		out.Next = alt + 1
	}
	return out
}
