package system

// Step names one transition: a thread, and which alternative of its next transition it takes
// ([Machine.Step]).
type Step struct {
	Thread int
	Alt    uint64
}

// Merging is implemented by systems that join steps of another system, the plain one, to fewer
// and longer transitions. For example, a process that writes a global and then counts a local up
// does both at once. The same violations and deadlocks are reachable. Executions are shown to
// people in steps of the plain system.
type Merging interface {
	// Apart returns the plain system. It has as many initial states, in the same order.
	Apart() System
	// Separate returns the steps of the plain system that an execution consists of. If the last
	// transition violates something, it ends with the step that does.
	Separate(initial int, steps []Step) ([]Step, error)
}

// Apart returns the system in whose steps executions of sys are shown: sys itself, unless it is
// [Merging].
func Apart(sys System) System {
	if m := sys.Capabilities().Merging; m != nil {
		return m.Apart()
	}
	return sys
}
