package ltl

// Modality says what a property asks of the executions, besides that they satisfy a formula.
// Of the properties of branching time, there are the two that people ask of protocols, for
// formulas without temporal operators (Siegel 2012, section 5).
type Modality uint8

const (
	// Linear: all executions satisfy the formula.
	Linear Modality = iota
	// Possible is EF p: from each initial state, a state that satisfies p can be reached.
	Possible
	// AlwaysPossible is AG EF p: from each reachable state, a state that satisfies p can be
	// reached.
	AlwaysPossible
)

// String returns the operators as they are written before the formula.
func (m Modality) String() string { return [...]string{"", "EF", "AG EF"}[m] }
