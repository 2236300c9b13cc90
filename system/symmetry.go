package system

// Symmetric is implemented by systems that may know symmetries of themselves:
// permutations of their states that map transitions to transitions, violations to
// violations of the same kind at the same place, and deadlocks to deadlocks. The
// states that such permutations make of one state are its orbit; the initial
// states need not be closed under them.
type Symmetric interface {
	// Symmetry says what can be exchanged, in words; it is empty if nothing can.
	Symmetry() string

	// Representatives returns a function that replaces an encoded state, in place, by the
	// representative of its orbit: the same element for all states of the orbit. The function is
	// for one goroutine.
	Representatives() func(s State)
}
